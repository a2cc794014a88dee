/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Requests to coppiced.  They share a few connections, as one takes only so
 * many at a time; answers are always read, so that a client that is slow
 * holds up nobody but itself (streams are held by their windows).
 */

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gw.h"

#define	CALLS_EACH	200		/* on one connection */

struct call {
	TAILQ_ENTRY(call) entry;
	struct link	*link;
	uint64_t	 req;
	call_event_fn	*fn;
	call_done_fn	*done;
	void		*arg;
	struct call	**slot;		/* that points here, or NULL */
};

struct link {
	TAILQ_ENTRY(link) entry;
	struct gw	*gw;
	struct ctl	*ctl;
	uv_poll_t	 poll;
	TAILQ_HEAD(, call) calls;
	size_t		 ncalls;
	int		 want;
	bool		 dead;
};

static void ready(uv_poll_t *, int, int);

nvlist_t *
question(const char *op, const char *id, const char *as)
{
	nvlist_t *nv = nvlist_create(0);

	nvlist_add_string(nv, "op", op);
	if (id != NULL && *id != '\0')
		nvlist_add_string(nv, "id", id);
	if (as != NULL && *as != '\0')
		nvlist_add_string(nv, "as", as);
	return (nv);
}

static void
finish(struct call *c, const nvlist_t *nv, int fd, const struct co_error *e)
{
	call_done_fn *done = c->done;
	void *arg = c->arg;

	TAILQ_REMOVE(&c->link->calls, c, entry);
	c->link->ncalls--;
	if (c->slot != NULL)
		*c->slot = NULL;
	free(c);
	if (done != NULL)
		done(arg, nv, fd, e);
}

static void
gone(uv_handle_t *h)
{
	struct link *l = h->data;

	ctl_free(l->ctl);
	free(l);
}

static void
lost(struct link *l, const struct co_error *why)
{
	struct co_error e = { .code = CO_ESYS_CANCELLED };
	struct call *c, *next;

	if (l->dead)
		return;
	l->dead = true;
	(void)co_error_set(&e, CO_ESYS_CANCELLED, NULL,
	    "coppiced hung up%s%s", why->code != CO_OK ? ": " : "",
	    why->code != CO_OK ? why->message : "");
	co_log(l->gw->log, CO_WARN, "control", NULL, "%s", e.message);
	TAILQ_REMOVE(&l->gw->links, l, entry);
	uv_close((uv_handle_t *)&l->poll, gone);
	for (c = TAILQ_FIRST(&l->calls); c != NULL; c = next) {
		next = TAILQ_NEXT(c, entry);
		finish(c, NULL, -1, &e);
	}
}

static void
watch(struct link *l)
{
	int want, events = 0;

	if (l->dead)
		return;
	ctl_flush(l->ctl);
	want = ctl_want(l->ctl);
	if (want == l->want)
		return;
	l->want = want;
	if ((want & POLLIN) != 0)
		events |= UV_READABLE;
	if ((want & POLLOUT) != 0)
		events |= UV_WRITABLE;
	(void)uv_poll_start(&l->poll, events, ready);
}

static struct call *
find(struct link *l, uint64_t req)
{
	struct call *c;

	TAILQ_FOREACH(c, &l->calls, entry)
		if (c->req == req)
			return (c);
	return (NULL);
}

static void
on_message(void *arg, nvlist_t *nv, int *fds, size_t nfds)
{
	struct link *l = arg;
	struct call *c = find(l, ctl_uint(nv, "req", 0));
	struct co_error e = { 0 };
	int fd = -1;

	if (nfds > 0 && c != NULL && c->done != NULL &&
	    ctl_flag(nv, "done", false)) {
		fd = fds[0];
		ctl_close_fds(fds + 1, nfds - 1);
	} else
		ctl_close_fds(fds, nfds);
	if (c == NULL)
		;
	else if (!ctl_flag(nv, "done", false)) {
		if (c->fn != NULL)
			c->fn(c->arg, nv);
	} else if (ctl_error_get(nv, &e)) {
		ctl_close_fds(&fd, fd != -1 ? 1 : 0);
		finish(c, NULL, -1, &e);
	} else
		finish(c, nv, fd, NULL);
	nvlist_destroy(nv);
}

static void
ready(uv_poll_t *h, int status, int events)
{
	struct link *l = h->data;
	struct co_error e = { 0 };
	int revents = 0;

	if (status != 0 || (events & UV_READABLE) != 0)
		revents |= POLLIN;
	if ((events & UV_WRITABLE) != 0)
		revents |= POLLOUT;
	if (ctl_dispatch(l->ctl, revents, on_message, l, &e) != 0)
		lost(l, &e);
	else
		watch(l);
}

static struct link *
link_new(struct gw *gw, struct co_error *e)
{
	struct link *l;

	l = calloc(1, sizeof(*l));
	if (l == NULL) {
		(void)co_error_set(e, CO_ESYS_NOMEM, NULL, "out of memory");
		return (NULL);
	}
	if (ctl_connect(gw->s.control, &l->ctl, e) != 0) {
		e->code = CO_ESYS_CANCELLED;
		free(l);
		return (NULL);
	}
	l->gw = gw;
	TAILQ_INIT(&l->calls);
	l->poll.data = l;
	(void)uv_poll_init(gw->loop, &l->poll, ctl_fd(l->ctl));
	TAILQ_INSERT_TAIL(&gw->links, l, entry);
	return (l);
}

struct call *
call_start(struct gw *gw, nvlist_t *nv, int fd, call_event_fn *fn,
    call_done_fn *done, void *arg, struct co_error *e)
{
	struct link *l;
	struct call *c;

	TAILQ_FOREACH(l, &gw->links, entry)
		if (l->ncalls < CALLS_EACH)
			break;
	c = calloc(1, sizeof(*c));
	if (c == NULL || (l == NULL && (l = link_new(gw, e)) == NULL)) {
		free(c);
		nvlist_destroy(nv);
		return (NULL);
	}
	*c = (struct call){ .link = l, .req = ctl_number(l->ctl), .fn = fn,
	    .done = done, .arg = arg };
	nvlist_add_number(nv, "req", c->req);
	if (nvlist_error(nv) != 0 || ctl_send(l->ctl, nv, &fd, fd != -1,
	    e) != 0) {
		if (nvlist_error(nv) != 0)
			(void)co_error_set(e, CO_EPROTO_ARGUMENT, NULL,
			    "the request can't be passed on");
		free(c);
		c = NULL;
	} else {
		TAILQ_INSERT_TAIL(&l->calls, c, entry);
		l->ncalls++;
	}
	nvlist_destroy(nv);
	watch(l);
	return (c);
}

void
call_tell(struct call *c, nvlist_t *nv)
{
	struct co_error e;

	nvlist_add_number(nv, "to", c->req);
	(void)ctl_send(c->link->ctl, nv, NULL, 0, &e);
	nvlist_destroy(nv);
	watch(c->link);
}

void
call_ack(struct call *c, size_t n)
{
	nvlist_t *nv;

	if (n == 0)
		return;
	nv = question("ack", NULL, NULL);
	nvlist_add_number(nv, "bytes", n);
	call_tell(c, nv);
}

void
call_forget(struct call *c)
{

	if (c == NULL)
		return;
	c->fn = NULL;
	c->done = NULL;
	if (c->slot != NULL)
		*c->slot = NULL;
	c->slot = NULL;
}

void
call_cancel(struct call *c)
{

	if (c == NULL)
		return;
	call_forget(c);
	call_tell(c, question("cancel", NULL, NULL));
}

size_t
call_backlog(const struct call *c)
{

	return (ctl_backlog(c->link->ctl));
}

int
ask(struct req *r, nvlist_t *nv, call_event_fn *fn, call_done_fn *done)
{

	return (ask_fd(r, nv, -1, fn, done));
}

int
ask_fd(struct req *r, nvlist_t *nv, int fd, call_event_fn *fn,
    call_done_fn *done)
{
	struct co_error e = { 0 };

	nvlist_add_string(nv, "request_id", r->id);
	r->call = call_start(r->gw, nv, fd, fn, done, r, &e);
	if (r->call != NULL) {
		r->call->slot = &r->call;
		return (0);
	}
	reply_failure(r, &e);
	return (-1);
}
