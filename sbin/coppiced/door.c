/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The control socket.  Who is at the other end is what the kernel says;
 * what they send may be anything.  A client that does not read is held back
 * and in the end hung up on, and nobody else notices.
 */

#include <sys/queue.h>
#include <sys/socket.h>

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"
#include "coppiced.h"
#include "ctl.h"
#include "sandbox.h"

#define	CLIENTS_MAX	512
#define	CLIENTS_EACH	64		/* of one user but root */
#define	CALLS_MAX	256		/* of one client at a time */
#define	BACKLOG_HOLD	(512 * 1024)	/* then data is held back, */
#define	BACKLOG_PAUSE	(4 * 1024 * 1024)	/* and requests too */
#define	GROUP		"coppice"

/* A request under way. */
struct pending {
	LIST_ENTRY(pending) link;
	struct client	*client;
	uint64_t	 req;
	struct engine_call *call;
	bool		 submitting;
};

struct client {
	LIST_ENTRY(client) link;
	struct door	*door;
	struct ctl	*ctl;
	uv_poll_t	 poll;
	uv_timer_t	 end;		/* hang up when nobody is within */
	unsigned int	 handles;
	int		 want;
	bool		 doomed, held, paused;
	uid_t		 uid;
	bool		 admin;
	char		 name[64], owner[32];
	LIST_HEAD(, pending) calls;
	unsigned int	 ncalls;
};

struct door {
	uv_loop_t	*loop;
	struct engine	*en;
	struct co_log	*log;
	char		*path;
	int		 fd;
	gid_t		 group;
	uv_poll_t	 poll;
	LIST_HEAD(, client) clients;
	unsigned int	 nclients;
};

static void client_ready(uv_poll_t *, int, int);
static void client_watch(struct client *);

/*
 * The end of a client.
 */
static void
client_closed(uv_handle_t *h)
{
	struct client *c = h->data;

	if (--c->handles > 0)
		return;
	ctl_free(c->ctl);
	free(c);
}

static void
client_end(uv_timer_t *t)
{
	struct client *c = t->data;
	struct pending *p;

	while ((p = LIST_FIRST(&c->calls)) != NULL)
		engine_cancel(p->call);
	LIST_REMOVE(c, link);
	c->door->nclients--;
	uv_close((uv_handle_t *)&c->poll, client_closed);
	uv_close((uv_handle_t *)&c->end, client_closed);
}

/* Not now: we may be within one of its calls. */
static void
client_doom(struct client *c, const char *why)
{

	if (c->doomed)
		return;
	c->doomed = true;
	if (why != NULL)
		co_log(c->door->log, CO_WARN, "control", NULL,
		    "%s is hung up on: %s", c->name, why);
	(void)uv_poll_stop(&c->poll);
	(void)uv_timer_start(&c->end, client_end, 0, 0);
}

/*
 * Answers.
 */
static void
pending_free(struct pending *p)
{

	LIST_REMOVE(p, link);
	p->client->ncalls--;
	free(p);
}

static void
client_hold(struct client *c)
{
	size_t n = ctl_backlog(c->ctl);
	bool hold = n > BACKLOG_HOLD;
	struct pending *p, *next;

	if (c->paused != (n > BACKLOG_PAUSE)) {
		c->paused = n > BACKLOG_PAUSE;
		ctl_pause(c->ctl, c->paused);
	}
	if (hold == c->held)
		return;
	c->held = hold;
	for (p = LIST_FIRST(&c->calls); p != NULL; p = next) {
		next = LIST_NEXT(p, link);
		if (c->held != hold)
			return;
		if (p->call != NULL)
			engine_hold(p->call, hold);
	}
}

static void
on_answer(void *arg, nvlist_t *nv, const int *fds, size_t nfds)
{
	struct pending *p = arg;
	struct client *c = p->client;
	struct co_error e;

	if (!c->doomed) {
		nvlist_add_number(nv, "req", p->req);
		if (nvlist_error(nv) != 0)
			client_doom(c, "out of memory");
		else if (ctl_send(c->ctl, nv, fds, nfds, &e) != 0)
			client_doom(c, e.message);
	}
	if (ctl_flag(nv, "done", false)) {
		if (p->submitting)
			p->call = NULL;
		else
			pending_free(p);
	}
	nvlist_destroy(nv);
	ctl_close_fds(fds, nfds);
	if (!c->doomed)
		client_watch(c);
}

/* What the client does not take now is sent by the loop. */
static void
client_watch(struct client *c)
{
	int events = 0, want;

	ctl_flush(c->ctl);
	client_hold(c);
	if (c->doomed)
		return;
	want = ctl_want(c->ctl);
	if (want == c->want)
		return;
	c->want = want;
	if ((want & POLLIN) != 0)
		events |= UV_READABLE;
	if ((want & POLLOUT) != 0)
		events |= UV_WRITABLE;
	(void)uv_poll_start(&c->poll, events, client_ready);
}

/*
 * Requests.
 */
static struct pending *
pending_find(const struct client *c, uint64_t req)
{
	struct pending *p;

	LIST_FOREACH(p, &c->calls, link)
		if (p->req == req)
			return (p);
	return (NULL);
}

static void
on_input(struct client *c, const nvlist_t *nv)
{
	struct pending *p;

	p = pending_find(c, ctl_uint(nv, "to", 0));
	if (p == NULL || p->call == NULL)
		return;
	if (strcmp(ctl_string(nv, "op", ""), "cancel") == 0)
		engine_cancel(p->call);
	else
		engine_input(p->call, nv);
}

/* A trusted client, such as the gateway, may ask for somebody else. */
static void
caller_of(const struct client *c, const nvlist_t *nv,
    struct engine_caller *who)
{
	const char *as = ctl_string(nv, "as", NULL);

	who->uid = c->uid;
	who->admin = c->admin;
	who->name = c->name;
	who->owner = c->owner;
	if (c->admin && as != NULL) {
		who->admin = false;
		who->owner = as;
	}
}

static void
submit(struct client *c, const nvlist_t *nv, const int *fds, size_t nfds)
{
	struct engine_caller who;
	struct engine_call *call;
	struct pending *p;

	p = calloc(1, sizeof(*p));
	if (p == NULL) {
		ctl_close_fds(fds, nfds);
		client_doom(c, "out of memory");
		return;
	}
	p->client = c;
	p->req = ctl_uint(nv, "req", 0);
	p->submitting = true;
	LIST_INSERT_HEAD(&c->calls, p, link);
	c->ncalls++;
	caller_of(c, nv, &who);
	call = engine_submit(c->door->en, &who, nv, fds, nfds, on_answer, p);
	p->submitting = false;
	p->call = call;
	if (call == NULL)
		pending_free(p);
	else if (c->held)
		engine_hold(call, true);
}

static void
on_message(void *arg, nvlist_t *nv, int *fds, size_t nfds)
{
	struct client *c = arg;

	if (!c->doomed && nvlist_exists_number(nv, "to")) {
		ctl_close_fds(fds, nfds);
		on_input(c, nv);
	} else if (c->doomed || !nvlist_exists_number(nv, "req") ||
	    pending_find(c, ctl_uint(nv, "req", 0)) != NULL) {
		ctl_close_fds(fds, nfds);
		client_doom(c, "a request without a number of its own");
	} else if (c->ncalls >= CALLS_MAX) {
		ctl_close_fds(fds, nfds);
		client_doom(c, "too many requests at once");
	} else
		submit(c, nv, fds, nfds);
	nvlist_destroy(nv);
}

static void
client_ready(uv_poll_t *h, int status, int events)
{
	struct client *c = h->data;
	struct co_error e;
	int revents = 0;

	if (c->doomed)
		return;
	if (status != 0 || (events & UV_READABLE) != 0)
		revents |= POLLIN;
	if ((events & UV_WRITABLE) != 0)
		revents |= POLLOUT;
	if (ctl_dispatch(c->ctl, revents, on_message, c, &e) != 0)
		client_doom(c, e.code != CO_OK ? e.message : NULL);
	else if (!c->doomed)
		client_watch(c);
}

/*
 * Newcomers.
 */
static bool
is_admin(const struct door *d, const struct ctl_peer *peer)
{

	if (peer->uid == 0)
		return (true);
	if (d->group == (gid_t)-1)
		return (false);
	if (peer->gid == d->group)
		return (true);
	for (int i = 0; i < peer->ngroups; i++)
		if (peer->groups[i] == d->group)
			return (true);
	return (false);
}

static bool
crowded(const struct door *d, uid_t uid)
{
	const struct client *c;
	unsigned int n = 0;

	if (uid == 0)
		return (d->nclients >= 2 * CLIENTS_MAX);
	LIST_FOREACH(c, &d->clients, link)
		if (c->uid == uid)
			n++;
	return (d->nclients >= CLIENTS_MAX || n >= CLIENTS_EACH);
}

static int
client_introduce(struct client *c, struct co_error *e)
{
	struct ctl_peer peer;

	if (ctl_peer(c->ctl, &peer, e) != 0)
		return (-1);
	c->uid = peer.uid;
	c->admin = is_admin(c->door, &peer);
	(void)snprintf(c->name, sizeof(c->name), "uid:%u pid:%d",
	    (unsigned)peer.uid, (int)peer.pid);
	(void)snprintf(c->owner, sizeof(c->owner), "uid:%u",
	    (unsigned)peer.uid);
	if (crowded(c->door, peer.uid))
		return (co_error_set(e, CO_ESANDBOX_LIMIT, c->name,
		    "too many connections"));
	return (0);
}

static void
client_new(struct door *d, int fd)
{
	struct client *c;
	struct co_error e;

	c = calloc(1, sizeof(*c));
	if (c == NULL || ctl_new(fd, &c->ctl, &e) != 0) {
		(void)close(fd);
		free(c);
		return;
	}
	c->door = d;
	LIST_INIT(&c->calls);
	if (client_introduce(c, &e) != 0 ||
	    uv_poll_init(d->loop, &c->poll, ctl_fd(c->ctl)) != 0) {
		co_log(d->log, CO_WARN, "control", NULL,
		    "%s is turned away: %s", c->name, e.message);
		ctl_free(c->ctl);
		free(c);
		return;
	}
	c->poll.data = c;
	c->end.data = c;
	(void)uv_timer_init(d->loop, &c->end);
	c->handles = 2;
	LIST_INSERT_HEAD(&d->clients, c, link);
	d->nclients++;
	client_watch(c);
}

static void
door_ready(uv_poll_t *h, int status, int events)
{
	struct door *d = h->data;
	int fd;

	(void)status;
	(void)events;
	fd = accept4(d->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd != -1)
		client_new(d, fd);
}

int
door_open(uv_loop_t *loop, struct engine *en, const char *path, bool all,
    struct co_log *log, struct door **dp, struct co_error *e)
{
	struct group *gr;
	struct door *d;

	d = calloc(1, sizeof(*d));
	if (d == NULL || (d->path = strdup(path)) == NULL) {
		free(d);
		return (co_error_set(e, CO_ESYS_NOMEM, NULL,
		    "out of memory"));
	}
	d->loop = loop;
	d->en = en;
	d->log = log;
	gr = getgrnam(GROUP);
	d->group = gr != NULL ? gr->gr_gid : (gid_t)-1;
	LIST_INIT(&d->clients);
	if (ctl_listen(path, all ? 0666 : 0660, d->group, &d->fd, e) != 0) {
		free(d->path);
		free(d);
		return (-1);
	}
	d->poll.data = d;
	(void)uv_poll_init(loop, &d->poll, d->fd);
	(void)uv_poll_start(&d->poll, UV_READABLE, door_ready);
	*dp = d;
	return (0);
}

static void
door_closed(uv_handle_t *h)
{
	struct door *d = h->data;

	(void)close(d->fd);
	free(d->path);
	free(d);
}

void
door_close(struct door *d)
{
	struct client *c, *next;

	(void)unlink(d->path);
	for (c = LIST_FIRST(&d->clients); c != NULL; c = next) {
		next = LIST_NEXT(c, link);
		c->doomed = true;
		(void)uv_timer_stop(&c->end);
		client_end(&c->end);
	}
	uv_close((uv_handle_t *)&d->poll, door_closed);
}
