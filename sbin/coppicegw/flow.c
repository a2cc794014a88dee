/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The bytes of a file on their way to or from a sandbox: a pipe, of which a
 * process in there has the other end.  What is in it may be anything, come
 * at any pace or not at all; nothing here ever waits for it.
 */

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "gw.h"

struct flow {
	uv_poll_t	 poll;
	int		 fd;
	int		 events;
	bool		 waiting;
	void		(*fn)(void *);
	void		*arg;
};

static void
ready(uv_poll_t *h, int status, int events)
{
	struct flow *f = h->data;

	(void)status;
	(void)events;
	f->fn(f->arg);
}

struct flow *
flow_new(struct gw *gw, bool reads, int *theirs, void (*fn)(void *),
    void *arg)
{
	struct flow *f;
	int p[2];

	if (pipe2(p, O_CLOEXEC) != 0)
		return (NULL);
	f = calloc(1, sizeof(*f));
	if (f == NULL || fcntl(p[!reads], F_SETFL, O_NONBLOCK) != 0 ||
	    uv_poll_init(gw->loop, &f->poll, p[!reads]) != 0) {
		(void)close(p[0]);
		(void)close(p[1]);
		free(f);
		return (NULL);
	}
	flow_widen(p[0]);
	f->fd = p[!reads];
	f->events = reads ? UV_READABLE : UV_WRITABLE;
	f->fn = fn;
	f->arg = arg;
	f->poll.data = f;
	*theirs = p[reads];
	return (f);
}

int
flow_fd(const struct flow *f)
{

	return (f->fd);
}

void
flow_wait(struct flow *f, bool on)
{

	if (on == f->waiting)
		return;
	f->waiting = on;
	if (on)
		(void)uv_poll_start(&f->poll, f->events, ready);
	else
		(void)uv_poll_stop(&f->poll);
}

static void
gone(uv_handle_t *h)
{

	free(h->data);
}

void
flow_free(struct flow *f)
{

	if (f == NULL)
		return;
	uv_close((uv_handle_t *)&f->poll, gone);
	(void)close(f->fd);
}
