/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The connection to the shim of a sandbox.  When it is lost, the backend is
 * asked whether the sandbox still runs; then it is made again, or the
 * sandbox has failed.
 */

#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"
#include "engine_link.h"

#define	HEARTBEAT_MS	30000
#define	HELLO_MS	10000
#define	ATTEMPTS_MAX	5
#define	RETRY_MS	100

static int
connect_unix(const char *run, int *fdp, struct co_error *e)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int error, fd, n;

	n = snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/shim", run);
	if (n < 0 || (size_t)n >= sizeof(sun.sun_path))
		return (co_error_set(e, CO_ESYS_CONFIG, run,
		    "\"%s/shim\" is too long for a socket; choose a shorter "
		    "\"run\" in coppice.conf", run));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1)
		return (co_error_errno(e, errno, run, "no socket"));
	if (connect(fd, (struct sockaddr *)&sun, sizeof(sun)) != 0) {
		error = errno;
		(void)close(fd);
		return (co_error_errno(e, error, run,
		    "can't connect to the shim"));
	}
	*fdp = fd;
	return (0);
}

static void
link_connect(void *arg)
{
	struct link *l = arg;
	int ret;

	l->e.code = CO_OK;
	do {
		l->fd = -1;
		if (l->be->connect != NULL)
			ret = l->be->connect(&l->spec->s, &l->r, &l->fd,
			    &l->e);
		else
			ret = connect_unix(l->spec->s.run, &l->fd, &l->e);
		if (ret == 0) {
			l->e.code = CO_OK;
			return;
		}
		(void)usleep(20000);
	} while (l->be->connect != NULL && co_left(l->deadline) > 0);
}

static void
link_free(struct link *l)
{

	alarm_free(l->alarm);
	watch_free(l->watch);
	shim_free(l->shim);
	spec_free(l->spec);
	free(l);
}

/* No more events of this one; it is freed when nobody is within it. */
static void
link_cut(struct link *l)
{

	if (l->sb != NULL)
		l->sb->shim = NULL;
	l->sb = NULL;
	watch_want(l->watch, 0);
	if (!l->connecting && !l->dispatching)
		link_free(l);
}

static void
link_answer(struct link *l, const struct co_error *e)
{
	void (*then)(void *, const struct co_error *) = l->then;

	l->then = NULL;
	alarm_free(l->alarm);
	l->alarm = NULL;
	if (then != NULL)
		then(l->arg, e);
}

/* It ends, for the reason ${e}. */
static void
link_fail(struct link *l, const struct co_error *e)
{
	struct sandbox *sb = l->sb;
	struct co_error copy = *e;
	bool was = l->ready;

	if (sb == NULL) {
		link_cut(l);
		return;
	}
	if (!was) {
		/* Whoever waits decides what becomes of it. */
		void (*then)(void *, const struct co_error *) = l->then;
		void *arg = l->arg;

		link_cut(l);
		if (then != NULL)
			then(arg, &copy);
		return;
	}
	link_cut(l);
	asks_lost(sb);
	if (sb->state == BOX_CREATING)
		commands_lost(sb, &copy);
	else if (sb->parted != NULL)
		sb->parted(sb);
	else
		link_revive(sb);
}

static void
link_event(void *arg, int revents)
{
	struct link *l = arg;
	struct co_error e;
	int ret;

	l->dispatching = true;
	ret = shim_dispatch(l->shim, revents, &e);
	l->dispatching = false;
	if (l->sb == NULL)
		link_free(l);
	else if (ret != 0)
		link_fail(l, &e);
	else
		watch_want(l->watch, shim_want(l->shim));
}

static void
link_late(void *arg)
{
	struct link *l = arg;
	struct co_error e;

	(void)co_error_set(&e, CO_ESANDBOX_TIMEOUT, l->sb->id,
	    "the shim did not say hello in time");
	link_fail(l, &e);
}

static void
link_connected(void *arg)
{
	struct link *l = arg;

	l->connecting = false;
	if (l->sb == NULL) {
		if (l->fd != -1)
			(void)close(l->fd);
		link_free(l);
		return;
	}
	if (l->e.code == CO_OK && (l->shim = shim_new(l->fd, HEARTBEAT_MS,
	    &link_handlers, l, &l->e)) == NULL)
		(void)close(l->fd);
	if (l->shim == NULL) {
		link_fail(l, &l->e);
		return;
	}
	l->watch = watch_new(l->en, shim_fd(l->shim), link_event, l);
	l->alarm = alarm_new(l->en, co_left(l->deadline), link_late, l);
	if (l->watch == NULL || l->alarm == NULL) {
		(void)co_error_set(&l->e, CO_ESYS_NOMEM, l->sb->id,
		    "out of memory");
		link_fail(l, &l->e);
		return;
	}
	watch_want(l->watch, shim_want(l->shim));
}

void
link_hello(void *arg, const struct shim_hello *h)
{
	struct link *l = arg;

	(void)h;
	if (l->sb == NULL)
		return;
	l->ready = true;
	l->sb->attempts = 0;
	link_answer(l, NULL);
}

void
link_open(struct sandbox *sb, int64_t timeout,
    void (*then)(void *, const struct co_error *), void *arg)
{
	struct co_error e;
	struct link *l;

	link_close(sb, NULL);
	l = calloc(1, sizeof(*l));
	if (l == NULL || (l->spec = spec_new(sb, &e)) == NULL) {
		free(l);
		(void)co_error_set(&e, CO_ESYS_NOMEM, sb->id,
		    "out of memory");
		then(arg, &e);
		return;
	}
	l->sb = sb;
	l->en = sb->en;
	l->be = sb->be;
	l->r = sb->r;
	l->then = then;
	l->arg = arg;
	l->fd = -1;
	l->deadline = co_after(timeout > 0 ? timeout : HELLO_MS);
	l->connecting = true;
	sb->shim = l;
	job_start(sb->en, link_connect, link_connected, l);
}

void
link_close(struct sandbox *sb, const struct co_error *e)
{

	(void)e;
	alarm_free(sb->retry);
	sb->retry = NULL;
	if (sb->shim == NULL)
		return;
	link_cut(sb->shim);
	asks_lost(sb);
}

void
link_kick(struct sandbox *sb)
{
	struct link *l = sb->shim;

	if (l == NULL || l->shim == NULL || l->dispatching)
		return;
	shim_flush(l->shim);
	watch_want(l->watch, shim_want(l->shim));
}

bool
link_up(const struct sandbox *sb)
{

	return (sb->shim != NULL && sb->shim->ready);
}

struct shim *
link_shim(struct sandbox *sb, struct co_error *e)
{

	if (link_up(sb))
		return (sb->shim->shim);
	(void)co_error_set(e, CO_ESANDBOX_LOST, sb->id,
	    "the shim of the sandbox does not answer");
	return (NULL);
}

/*
 * Reconnecting.
 */
struct check {
	struct sandbox	*sb;
	struct turn	*turn;
	struct box_spec	*spec;
	struct sandbox_run r;
	struct co_error	 e;
};

static void
check_work(void *arg)
{
	struct check *k = arg;

	if (k->sb->be->adopt(&k->spec->s, &k->r, &k->e) == 0)
		k->e.code = CO_OK;
	if (k->r.netns != -1)
		(void)close(k->r.netns);
}

static void revived(void *, const struct co_error *);

static void
revive_rings(void *arg)
{
	struct sandbox *sb = arg;

	alarm_free(sb->retry);
	sb->retry = NULL;
	link_open(sb, HELLO_MS, revived, sb);
}

static void
check_after(void *arg)
{
	struct check *k = arg;
	struct sandbox *sb = k->sb;
	struct turn *t = k->turn;
	bool lost = k->e.code != CO_OK;

	if (!lost && sb->attempts >= ATTEMPTS_MAX) {
		(void)co_error_set(&k->e, CO_ESANDBOX_LOST, sb->id,
		    "its shim does not answer any more");
		lost = true;
	}
	t->e = k->e;
	spec_free(k->spec);
	free(k);
	if (lost) {
		down_turn_lost(t);
		return;
	}
	if (!sb->en->closing && sb->shim == NULL && sb->retry == NULL &&
	    sb->state == BOX_RUNNING)
		sb->retry = alarm_new(sb->en, (int64_t)RETRY_MS <<
		    sb->attempts, revive_rings, sb);
	sb->attempts++;
	turn_done(t, NULL);
}

/* Its turn came: what was to be stopped, is. */
static void
check_turn(struct turn *t)
{
	struct sandbox *sb = t->sb;
	struct check *k;

	if ((sb->state != BOX_RUNNING && sb->state != BOX_PAUSED) ||
	    sb->shim != NULL) {
		turn_done(t, NULL);
		return;
	}
	k = calloc(1, sizeof(*k));
	if (k == NULL || (k->spec = spec_new(sb, &t->e)) == NULL) {
		free(k);
		turn_fail(t, &t->e);
		return;
	}
	k->sb = sb;
	k->turn = t;
	k->r = sb->r;
	k->r.netns = -1;
	job_start(sb->en, check_work, check_after, k);
}

static void
revived(void *arg, const struct co_error *e)
{
	struct sandbox *sb = arg;

	if (e == NULL)
		adopt_commands(sb);
	else
		link_revive(sb);
}

void
link_revive(struct sandbox *sb)
{

	if (!sb->en->closing && !sb->gone)
		(void)turn_add(sb, NULL, "reconnect", check_turn);
}
