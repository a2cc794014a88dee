/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Requests to coppiced: the connection, waiting for an answer, and what is
 * said when there is an error.
 */

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libxo/xo.h>

#include "coppicectl.h"

const char *control_socket = CONTROL_SOCKET;

struct call {
	uint64_t	 req;
	event_fn	*fn;
	feed_fn		*feed;
	void		*arg;
	nvlist_t	*answer;
};

#define	BACKLOG	(512 * 1024)	/* feed no more while so much is queued */

struct ctl *
connection(void)
{
	static struct ctl *c;
	struct co_error e = { 0 };

	if (c == NULL && ctl_connect(control_socket, &c, &e) != 0)
		fail("%s: %s (-s or COPPICE_SOCKET name another socket)",
		    control_socket, e.message);
	return (c);
}

nvlist_t *
request(const char *op, const char *id)
{
	nvlist_t *nv;

	nv = nvlist_create(0);
	if (nv == NULL)
		fail("out of memory");
	nvlist_add_string(nv, "op", op);
	if (id != NULL)
		nvlist_add_string(nv, "id", id);
	return (nv);
}

static void
on_message(void *arg, nvlist_t *nv, int *fds, size_t nfds)
{
	struct call *call = arg;

	ctl_close_fds(fds, nfds);
	if (ctl_uint(nv, "req", 0) == call->req && call->answer == NULL) {
		if (ctl_flag(nv, "done", false)) {
			call->answer = nv;
			return;
		}
		if (call->fn != NULL)
			call->fn(call->arg, nv);
	}
	nvlist_destroy(nv);
}

static int
wait_for(struct ctl *c, struct call *call, struct co_error *e)
{
	struct pollfd pfd = { .fd = ctl_fd(c) };
	bool fed;

	while (call->answer == NULL) {
		fed = call->feed != NULL && ctl_backlog(c) < BACKLOG &&
		    call->feed(call->arg, call->req);
		pfd.events = (short)ctl_want(c);
		if (poll(&pfd, 1, fed ? 0 : -1) == -1 && errno != EINTR)
			return (co_error_errno(e, errno, NULL, "poll"));
		if (ctl_dispatch(c, pfd.revents, on_message, call, e) == 0 ||
		    call->answer != NULL)
			continue;
		if (e->code == CO_OK)
			co_error_set(e, CO_ESYS_CANCELLED, NULL,
			    "coppiced hung up before it answered; it may "
			    "have been stopped");
		return (-1);
	}
	return (ctl_error_get(call->answer, e) ? -1 : 0);
}

static int
perform(nvlist_t *nv, int fd, feed_fn *feed, event_fn *fn, void *arg,
    nvlist_t **answer, struct co_error *e)
{
	struct ctl *c = connection();
	struct call call = { .req = ctl_number(c), .fn = fn, .feed = feed,
	    .arg = arg };
	int ret;

	*e = (struct co_error){ 0 };
	nvlist_add_number(nv, "req", call.req);
	ret = ctl_send(c, nv, &fd, fd != -1 ? 1 : 0, e);
	nvlist_destroy(nv);
	if (ret == 0)
		ret = wait_for(c, &call, e);
	progress_end();
	if (ret == 0 && answer != NULL)
		*answer = call.answer;
	else if (call.answer != NULL)
		nvlist_destroy(call.answer);
	return (ret);
}

int
ask_quietly(nvlist_t *nv, event_fn *fn, void *arg, nvlist_t **answer,
    struct co_error *e)
{

	return (perform(nv, -1, NULL, fn, arg, answer, e));
}

/* perform(), and print what went wrong. */
static int
perform_aloud(nvlist_t *nv, int fd, feed_fn *feed, event_fn *fn, void *arg,
    nvlist_t **answer)
{
	struct co_error e;
	char *id = NULL;
	int ret;

	if (nvlist_exists_string(nv, "id"))
		id = strdup(nvlist_get_string(nv, "id"));
	ret = perform(nv, fd, feed, fn, arg, answer, &e);
	if (ret != 0)
		complain(id, &e);
	free(id);
	return (ret);
}

int
ask(nvlist_t *nv, event_fn *fn, void *arg, nvlist_t **answer)
{

	return (perform_aloud(nv, -1, NULL, fn, arg, answer));
}

int
ask_with(nvlist_t *nv, int fd, event_fn *fn, void *arg, nvlist_t **answer)
{

	return (perform_aloud(nv, fd, NULL, fn, arg, answer));
}

int
ask_feeding(nvlist_t *nv, feed_fn *feed, event_fn *fn, void *arg)
{

	return (perform_aloud(nv, -1, feed, fn, arg, NULL));
}

void
tell(nvlist_t *nv, uint64_t to)
{

	nvlist_add_number(nv, "to", to);
	(void)ctl_send(connection(), nv, NULL, 0, NULL);
	nvlist_destroy(nv);
}

void
acknowledge(const nvlist_t *event, size_t len)
{
	nvlist_t *nv = request("ack", NULL);

	nvlist_add_number(nv, "bytes", len);
	tell(nv, ctl_uint(event, "req", 0));
}

/* What to do next, where the message may leave it open. */
static const struct hint {
	enum co_code	 code;
	const char	*text;
} hints[] = {
	{ CO_ESANDBOX_NOTFOUND, "\"coppicectl list\" shows those there are" },
	{ CO_ESANDBOX_STATE, "\"coppicectl show\" tells its state" },
	{ CO_ESANDBOX_LOST, "\"coppicectl start\" starts it again" },
	{ CO_EUNDO_BARRIER, "\"coppicectl history\" shows what was changed "
	    "from outside; \"undo -f\" overwrites that" },
	{ CO_EUNDO_NOSTEP, "\"coppicectl history\" lists the steps" },
	{ CO_EUNDO_NOREDO, "\"coppicectl history -r\" lists what can be "
	    "done again" },
	{ CO_EUNDO_BUSY, "wait until its commands ended, or end them by "
	    "\"coppicectl kill\"" },
	{ CO_ESAFEGUARD_DENIED, "\"coppicectl safeguard set\" changes what "
	    "is asked about" },
	{ CO_ESAFEGUARD_UNKNOWN, "\"coppicectl safeguard list\" lists those "
	    "that wait" },
	{ CO_ETEMPLATE_NOTFOUND, "\"coppicectl template list\" shows those "
	    "there are" },
	{ CO_EPROTO_DENIED, "ask root to add you to group coppice" },
	{ CO_EPROTO_UNKNOWN, "is coppiced older than coppicectl?  Compare "
	    "them by \"coppicectl version\"" },
};

static const char *
hint(const struct co_error *e)
{

	if (strchr(e->message, ';') != NULL)
		return (NULL);
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
		if (hints[i].code == e->code)
			return (hints[i].text);
	return (NULL);
}

void
complain(const char *id, const struct co_error *e)
{
	const char *next = hint(e);

	term_restore();
	progress_end();
	(void)xo_flush();
	fprintf(stderr, "coppicectl: %s%s%s%s%s%s\n",
	    id != NULL ? "sandbox " : "", id != NULL ? safe(id) : "",
	    id != NULL ? ": " : "", safe(e->message),
	    next != NULL ? "; " : "", next != NULL ? next : "");
	if (xo_get_style(NULL) == XO_STYLE_TEXT)
		return;
	xo_open_container("error");
	xo_emit("{e:code/%d}{e:symbol/%s}{e:message/%s}{e:what/%s}",
	    (int)e->code, co_error_symbol(e->code), safe(e->message),
	    safe(e->what));
	xo_close_container("error");
}

void
strings(const char ***list, size_t *n, const char *s)
{
	const char **p;

	p = realloc(*list, (*n + 1) * sizeof(*p));
	if (p == NULL)
		fail("out of memory");
	p[(*n)++] = s;
	*list = p;
}

void
add_strings(nvlist_t *nv, const char *name, const char **list, size_t n)
{

	if (n > 0)
		nvlist_add_string_array(nv, name, list, n);
	free(list);
}
