/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One request and its answer, for programs that do nothing else meanwhile.
 */

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "ctl_internal.h"

struct call {
	uint64_t	 number;
	ctl_message_fn	*fn;
	void		*arg;
	nvlist_t	*answer;
};

static void
on_message(void *arg, nvlist_t *nv, int *fds, size_t nfds)
{
	struct call *call = arg;

	if (ctl_uint(nv, "req", 0) != call->number || call->answer != NULL) {
		nvlist_destroy(nv);
		ctl_close_fds(fds, nfds);
	} else if (ctl_flag(nv, "done", false)) {
		call->answer = nv;
		ctl_close_fds(fds, nfds);
	} else if (call->fn != NULL) {
		call->fn(call->arg, nv, fds, nfds);
	} else {
		nvlist_destroy(nv);
		ctl_close_fds(fds, nfds);
	}
}

static int
wait_for(struct ctl *c, struct call *call, int64_t deadline,
    struct co_error *e)
{
	struct pollfd pfd = { .fd = c->fd };
	int n;

	if (ctl_dispatch(c, 0, on_message, call, e) != 0)
		return (-1);
	while (call->answer == NULL) {
		/* Also while events keep coming. */
		if (co_left(deadline) == 0)
			return (co_error_set(e, CO_ESYS_DEADLINE,
			    "control socket", "no answer in time"));
		pfd.events = (short)ctl_want(c);
		n = poll(&pfd, 1, co_left(deadline));
		if (n == -1 && errno != EINTR)
			return (co_error_errno(e, errno, "control socket",
			    "poll"));
		if (n > 0 && ctl_dispatch(c, pfd.revents, on_message, call,
		    e) != 0)
			return (call->answer != NULL ? 0 : -1);
	}
	return (0);
}

int
ctl_call(struct ctl *c, nvlist_t *request, ctl_message_fn *fn, void *arg,
    int64_t deadline, nvlist_t **answer, struct co_error *e)
{
	struct call call = { .fn = fn, .arg = arg };
	struct co_error mine;
	int ret;

	if (e == NULL)
		e = &mine;
	call.number = ctl_number(c);
	if (nvlist_exists(request, "req"))
		nvlist_free(request, "req");
	nvlist_add_number(request, "req", call.number);
	if (ctl_send(c, request, NULL, 0, e) != 0)
		return (-1);
	if (wait_for(c, &call, deadline, e) != 0) {
		if (e->code == CO_OK)
			(void)co_error_set(e, CO_ESESSION_NONE,
			    "control socket", "the server hung up; see its "
			    "log");
		return (-1);
	}
	ret = ctl_error_get(call.answer, e) ? -1 : 0;
	if (ret == 0 && answer != NULL)
		*answer = call.answer;
	else
		nvlist_destroy(call.answer);
	return (ret);
}
