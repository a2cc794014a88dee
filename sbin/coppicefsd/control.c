/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The control socket: one thread that polls, and one for each request in
 * progress, as any of them may have to wait for mutations in flight.  A
 * connection that has too many, or does not take its answers, is not read
 * from; nobody else notices.
 */

#include <sys/queue.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppicefsd.h"
#include "ctl.h"

#define	CONNS_MAX	32
#define	REQUESTS_MAX	16		/* in progress, of one connection */
#define	BACKLOG_HIGH	(1024 * 1024)
#define	EVENTS_MAX	1024		/* kept for the next subscriber */

struct conn {
	LIST_ENTRY(conn) link;
	struct control	*control;
	struct ctl	*ctl;
	pthread_mutex_t	 lock;		/* of ctl, and what follows */
	pthread_cond_t	 cond;		/* the backlog went down, or gone */
	unsigned int	 requests;
	bool		 paused;
	bool		 subscribed;
	uint64_t	 subscription;
	bool		 gone;		/* nobody is there any more */
	unsigned int	 refs;		/* under control->lock */
};

struct event {
	STAILQ_ENTRY(event) link;
	nvlist_t	*nv;
};

struct control {
	struct server	*server;
	int		 fd;		/* it listens; -1: nobody can come */
	int		 wake[2];
	pthread_t	 thread;
	bool		 running;
	pthread_mutex_t	 lock;
	LIST_HEAD(, conn) conns;
	unsigned int	 nconns;
	unsigned int	 requests;
	STAILQ_HEAD(, event) events;	/* to be told */
	STAILQ_HEAD(, event) kept;	/* from before anyone listened */
	unsigned int	 nevents;
	unsigned int	 nkept;
	uint64_t	 lost;
	bool		 heard;		/* somebody ever subscribed */
	_Atomic bool	 stopping;
};

static void
wake(struct control *c)
{

	(void)!write(c->wake[1], "", 1);
}

static void
conn_put(struct conn *n)
{
	struct control *c = n->control;
	bool last;

	(void)pthread_mutex_lock(&c->lock);
	last = --n->refs == 0;
	if (last)
		c->nconns--;
	(void)pthread_mutex_unlock(&c->lock);
	if (!last)
		return;
	ctl_free(n->ctl);
	(void)pthread_cond_destroy(&n->cond);
	(void)pthread_mutex_destroy(&n->lock);
	free(n);
}

static void
conn_drop(struct conn *n)
{

	(void)pthread_mutex_lock(&n->lock);
	n->gone = true;
	(void)shutdown(ctl_fd(n->ctl), SHUT_RDWR);
	(void)pthread_cond_broadcast(&n->cond);
	(void)pthread_mutex_unlock(&n->lock);
	(void)pthread_mutex_lock(&n->control->lock);
	LIST_REMOVE(n, link);
	(void)pthread_mutex_unlock(&n->control->lock);
	conn_put(n);
}

/* With the connection's lock held. */
static bool
conn_send(struct conn *n, const nvlist_t *nv)
{
	struct co_error e;

	if (n->gone)
		return (false);
	if (ctl_send(n->ctl, nv, NULL, 0, &e) == -1) {
		server_log(n->control->server, CO_WARN,
		    "a control connection is dropped: %s", e.message);
		n->gone = true;
		(void)pthread_cond_broadcast(&n->cond);
	}
	wake(n->control);
	return (!n->gone);
}

/*
 * Requests.
 */
struct task {
	struct request	 r;
	nvlist_t	*nv;
	int		 fds[CTL_MAX_FDS];
};

static void
request_answer(const struct request *r, nvlist_t *out, int ret,
    const struct co_error *e)
{

	if (ret == -1)
		ctl_error_add(out, e);
	nvlist_add_number(out, "req", r->req);
	nvlist_add_bool(out, "done", true);
	(void)pthread_mutex_lock(&r->conn->lock);
	(void)conn_send(r->conn, out);
	(void)pthread_mutex_unlock(&r->conn->lock);
}

/* ${open} tells that there is no answer yet. */
static int
request_do(const struct request *r, nvlist_t *out, bool *open,
    struct co_error *e)
{
	const struct op *op;
	const char *name;
	int ret;

	name = ctl_string(r->in, "op", "");
	if ((op = op_find(name)) == NULL)
		return (co_error_set(e, CO_EPROTO_UNKNOWN, name,
		    "there is no such operation; coppicefsd(8) lists them"));
	if (op->undo && r->server->undo == NULL)
		return (co_error_set(e, CO_ESYS_UNSUPPORTED, name,
		    "this share keeps no undo history; start coppicefsd with "
		    "-u and without -o ro"));
	ret = op->run(r, out, e);
	*open = ret == 0 && op->open;
	return (ret);
}

static void
task_end(struct task *t)
{
	struct conn *n = t->r.conn;
	struct control *c = n->control;

	nvlist_destroy(t->nv);
	ctl_close_fds(t->fds, t->r.nfds);
	free(t);
	(void)pthread_mutex_lock(&n->lock);
	n->requests--;
	(void)pthread_mutex_unlock(&n->lock);
	conn_put(n);
	/* The last moment at which there is a control socket for sure. */
	(void)pthread_mutex_lock(&c->lock);
	c->requests--;
	wake(c);
	(void)pthread_mutex_unlock(&c->lock);
}

static void *
task_main(void *arg)
{
	struct task *t = arg;
	struct co_error e;
	bool open = false;
	nvlist_t *out;
	int ret;

	memset(&e, 0, sizeof(e));
	if ((out = nvlist_create(0)) != NULL) {
		ret = request_do(&t->r, out, &open, &e);
		if (!open)
			request_answer(&t->r, out, ret, &e);
		nvlist_destroy(out);
	}
	task_end(t);
	return (NULL);
}

static int
task_start(struct task *t)
{
	pthread_attr_t a;
	pthread_t thread;
	int error;

	(void)pthread_attr_init(&a);
	(void)pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &a, task_main, t);
	(void)pthread_attr_destroy(&a);
	return (error);
}

/* From within ctl_dispatch(), with the connection's lock held. */
static void
on_message(void *arg, nvlist_t *nv, int *fds, size_t nfds)
{
	struct conn *n = arg;
	struct control *c = n->control;
	struct task *t;

	if (n->gone || (t = calloc(1, sizeof(*t))) == NULL) {
		nvlist_destroy(nv);
		ctl_close_fds(fds, nfds);
		return;
	}
	t->nv = nv;
	if (nfds > 0)
		memcpy(t->fds, fds, nfds * sizeof(*fds));
	t->r = (struct request){ .server = c->server, .conn = n, .in = nv,
	    .fds = t->fds, .nfds = nfds, .req = ctl_uint(nv, "req", 0) };
	n->requests++;
	if (n->requests >= REQUESTS_MAX) {
		n->paused = true;
		ctl_pause(n->ctl, true);
	}
	(void)pthread_mutex_lock(&c->lock);
	n->refs++;
	c->requests++;
	(void)pthread_mutex_unlock(&c->lock);
	if (task_start(t) != 0) {
		(void)pthread_mutex_unlock(&n->lock);
		(void)task_main(t);
		(void)pthread_mutex_lock(&n->lock);
	}
}

bool
request_event(const struct request *r, nvlist_t *nv, bool block)
{
	struct conn *n = r->conn;
	bool ok;

	if (nv == NULL)
		return (false);
	nvlist_add_number(nv, "req", r->req);
	(void)pthread_mutex_lock(&n->lock);
	while (block && !n->gone && !n->control->stopping &&
	    ctl_backlog(n->ctl) > BACKLOG_HIGH)
		(void)pthread_cond_wait(&n->cond, &n->lock);
	ok = !n->gone;
	if (ok && ctl_backlog(n->ctl) <= BACKLOG_HIGH)
		ok = conn_send(n, nv);
	(void)pthread_mutex_unlock(&n->lock);
	nvlist_destroy(nv);
	return (ok);
}

bool
request_gone(const struct request *r)
{
	bool gone;

	(void)pthread_mutex_lock(&r->conn->lock);
	gone = r->conn->gone || r->conn->control->stopping;
	(void)pthread_mutex_unlock(&r->conn->lock);
	return (gone);
}

/*
 * Events.
 */
static void
event_send(struct conn *n, nvlist_t *nv)
{

	if (!n->subscribed)
		return;
	if (nvlist_exists(nv, "req"))
		nvlist_free_number(nv, "req");
	nvlist_add_number(nv, "req", n->subscription);
	(void)conn_send(n, nv);
}

void
request_subscribe(const struct request *r)
{
	struct control *c = r->server->control;
	struct conn *n = r->conn;
	struct event *ev;

	(void)pthread_mutex_lock(&n->lock);
	(void)pthread_mutex_lock(&c->lock);
	n->subscribed = true;
	n->subscription = r->req;
	c->heard = true;
	STAILQ_FOREACH(ev, &c->kept, link)
		event_send(n, ev->nv);
	(void)pthread_mutex_unlock(&c->lock);
	(void)pthread_mutex_unlock(&n->lock);
}

void
control_event(struct control *c, nvlist_t *nv)
{
	struct event *ev;

	if (nv == NULL)
		return;
	if (c == NULL || (ev = calloc(1, sizeof(*ev))) == NULL) {
		nvlist_destroy(nv);
		return;
	}
	ev->nv = nv;
	(void)pthread_mutex_lock(&c->lock);
	if ((c->heard ? c->nevents : c->nkept) >= EVENTS_MAX) {
		c->lost++;
		nvlist_destroy(nv);
		free(ev);
	} else if (c->heard) {
		STAILQ_INSERT_TAIL(&c->events, ev, link);
		c->nevents++;
	} else {
		STAILQ_INSERT_TAIL(&c->kept, ev, link);
		c->nkept++;
	}
	(void)pthread_mutex_unlock(&c->lock);
	wake(c);
}

static struct event *
event_take(struct control *c)
{
	struct event *ev;

	(void)pthread_mutex_lock(&c->lock);
	if ((ev = STAILQ_FIRST(&c->events)) != NULL) {
		STAILQ_REMOVE_HEAD(&c->events, link);
		c->nevents--;
	} else if (c->lost > 0 && c->heard &&
	    (ev = calloc(1, sizeof(*ev))) != NULL) {
		if ((ev->nv = event_new("lost")) != NULL)
			nvlist_add_number(ev->nv, "count", c->lost);
		c->lost = 0;
	}
	(void)pthread_mutex_unlock(&c->lock);
	return (ev);
}

/* Only the thread that polls adds and drops connections. */
static void
events_tell(struct control *c)
{
	struct event *ev;
	struct conn *n;

	while ((ev = event_take(c)) != NULL) {
		LIST_FOREACH(n, &c->conns, link) {
			if (ev->nv == NULL)
				break;
			(void)pthread_mutex_lock(&n->lock);
			event_send(n, ev->nv);
			(void)pthread_mutex_unlock(&n->lock);
		}
		nvlist_destroy(ev->nv);
		free(ev);
	}
}

/*
 * Connections.
 */
int
control_adopt(struct control *c, int fd, struct co_error *e)
{
	struct conn *n;

	if ((n = calloc(1, sizeof(*n))) == NULL) {
		(void)close(fd);
		return (co_error_errno(e, ENOMEM, NULL, "no connection"));
	}
	if (ctl_new(fd, &n->ctl, e) == -1) {
		(void)close(fd);
		free(n);
		return (-1);
	}
	n->control = c;
	n->refs = 1;
	(void)pthread_mutex_init(&n->lock, NULL);
	(void)pthread_cond_init(&n->cond, NULL);
	(void)pthread_mutex_lock(&c->lock);
	LIST_INSERT_HEAD(&c->conns, n, link);
	c->nconns++;
	(void)pthread_mutex_unlock(&c->lock);
	return (0);
}

static void
control_accept(struct control *c)
{
	struct co_error e;
	struct conn *n;
	uid_t uid;
	int fd;

	if ((fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC)) == -1)
		return;
	if (c->nconns >= CONNS_MAX) {
		server_log(c->server, CO_WARN, "a control connection was "
		    "turned away: %d are open", CONNS_MAX);
		(void)close(fd);
		return;
	}
	if (control_adopt(c, fd, &e) == -1)
		return;
	n = LIST_FIRST(&c->conns);
	if (sandbox_peer(ctl_fd(n->ctl), &uid) == 0 && (uid == 0 ||
	    uid == c->server->owner))
		return;
	server_log(c->server, CO_WARN, "a control connection was refused: "
	    "only root and the user %u may", (unsigned)c->server->owner);
	conn_drop(n);
}

/* Return whether the connection is to be kept. */
static bool
conn_serve(struct conn *n, int revents)
{
	struct co_error e;
	bool keep;
	int events;

	(void)pthread_mutex_lock(&n->lock);
	events = revents;
	if (n->paused && n->requests < REQUESTS_MAX) {
		n->paused = false;
		ctl_pause(n->ctl, false);
		events |= POLLIN;
	}
	if (!n->gone && (events != 0 || (ctl_want(n->ctl) & POLLOUT) != 0) &&
	    ctl_dispatch(n->ctl, events, on_message, n, &e) == -1) {
		if (e.code != CO_OK)
			server_log(n->control->server, CO_WARN,
			    "a control connection is dropped: %s", e.message);
		n->gone = true;
	}
	keep = !n->gone;
	(void)pthread_cond_broadcast(&n->cond);
	(void)pthread_mutex_unlock(&n->lock);
	return (keep);
}

/* Put all into ${p}; return how many there are. */
static nfds_t
poll_set(struct control *c, struct pollfd *p, struct conn **conns)
{
	struct conn *n;
	nfds_t i = 2;

	p[0] = (struct pollfd){ .fd = c->wake[0], .events = POLLIN };
	p[1] = (struct pollfd){ .fd = c->fd, .events = POLLIN };
	LIST_FOREACH(n, &c->conns, link) {
		(void)pthread_mutex_lock(&n->lock);
		conns[i] = n;
		p[i++] = (struct pollfd){ .fd = ctl_fd(n->ctl),
		    .events = (short)ctl_want(n->ctl) };
		(void)pthread_mutex_unlock(&n->lock);
	}
	return (i);
}

static void *
control_main(void *arg)
{
	struct conn *conns[CONNS_MAX + 2];
	struct pollfd p[CONNS_MAX + 2];
	struct control *c = arg;
	char drain[256];
	nfds_t i, n;

	for (;;) {
		n = poll_set(c, p, conns);
		if (poll(p, n, -1) == -1)
			continue;
		if (p[0].revents != 0)
			(void)!read(c->wake[0], drain, sizeof(drain));
		events_tell(c);
		for (i = 2; i < n; i++)
			if (!conn_serve(conns[i], p[i].revents))
				conn_drop(conns[i]);
		if (p[1].revents != 0)
			control_accept(c);
		(void)pthread_mutex_lock(&c->lock);
		i = c->stopping && c->requests == 0 &&
		    STAILQ_EMPTY(&c->events);
		(void)pthread_mutex_unlock(&c->lock);
		if (i != 0)
			return (NULL);
	}
}

int
control_new(struct server *s, struct control **cp, struct co_error *e)
{
	struct control *c;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "no control socket"));
	c->server = s;
	c->fd = -1;
	LIST_INIT(&c->conns);
	STAILQ_INIT(&c->events);
	STAILQ_INIT(&c->kept);
	if (pipe2(c->wake, O_CLOEXEC | O_NONBLOCK) == -1) {
		free(c);
		return (co_error_errno(e, errno, NULL, "no control socket"));
	}
	if (s->conf->control != NULL && ctl_listen(s->conf->control, 0600,
	    (gid_t)-1, &c->fd, e) == -1) {
		(void)close(c->wake[0]);
		(void)close(c->wake[1]);
		free(c);
		return (-1);
	}
	(void)pthread_mutex_init(&c->lock, NULL);
	*cp = c;
	return (0);
}

int
control_start(struct control *c, struct co_error *e)
{
	int error;

	if ((error = pthread_create(&c->thread, NULL, control_main, c)) != 0)
		return (co_error_errno(e, error, NULL, "no thread"));
	c->running = true;
	return (0);
}

/* Those who wait for a client that reads nothing must not wait for ever. */
static void
conns_flush(struct control *c)
{
	struct conn *n, *next;
	struct co_error e;
	int i;

	for (n = LIST_FIRST(&c->conns); n != NULL; n = next) {
		next = LIST_NEXT(n, link);
		(void)pthread_mutex_lock(&n->lock);
		for (i = 0; i < 10 && !n->gone &&
		    (ctl_want(n->ctl) & POLLOUT) != 0; i++) {
			struct pollfd p = { .fd = ctl_fd(n->ctl),
			    .events = POLLOUT };

			if (poll(&p, 1, 100) > 0 && ctl_dispatch(n->ctl, 0,
			    on_message, n, &e) == -1)
				break;
		}
		(void)pthread_mutex_unlock(&n->lock);
		conn_drop(n);
	}
}

void
control_stop(struct control *c)
{

	if (c == NULL || !c->running)
		return;
	/* The loop wakes those who wait for a client to read. */
	c->stopping = true;
	wake(c);
	(void)pthread_join(c->thread, NULL);
	c->running = false;
	conns_flush(c);
}

void
control_free(struct control *c)
{
	struct event *ev;

	if (c == NULL)
		return;
	conns_flush(c);
	STAILQ_CONCAT(&c->events, &c->kept);
	while ((ev = STAILQ_FIRST(&c->events)) != NULL) {
		STAILQ_REMOVE_HEAD(&c->events, link);
		nvlist_destroy(ev->nv);
		free(ev);
	}
	if (c->fd != -1)
		(void)close(c->fd);
	(void)close(c->wake[0]);
	(void)close(c->wake[1]);
	(void)pthread_mutex_destroy(&c->lock);
	free(c);
}
