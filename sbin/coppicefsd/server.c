/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The server's life: open, confine, serve, end.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "coppicefsd.h"
#include "server.h"
#include "watch.h"

#define	TICK_MS		1000	/* when libundo has no wish */
#define	BUSY_MS		5000	/* for a predecessor to let go */
#define	BUSY_STEP_MS	50

void
server_log(struct server *s, enum co_level level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	co_vlog(s->log, level, "fsd", NULL, fmt, ap);
	va_end(ap);
}

static void
tell_keeper(struct server *s, const char *what)
{

	(void)!write(s->keeper, what, 1);
}

void
server_stop(struct server *s)
{
	int no = 0;

	if (!atomic_compare_exchange_strong(&s->stopping, &no, 1))
		return;
	server_log(s, CO_INFO, "ending");
	/* New requests shall find nobody, rather than no answer. */
	tell_keeper(s, KEEPER_CLEAN);
	s->transport->stop(s);
	if (s->undo != NULL)
		event_deny_all(s);
	server_poke(s);
}

void
server_poke(struct server *s)
{

	(void)pthread_mutex_lock(&s->ticklock);
	s->ticked = true;
	(void)pthread_cond_signal(&s->tickcond);
	(void)pthread_mutex_unlock(&s->ticklock);
}

void
server_external(struct server *s, const char *const *paths, size_t n)
{
	struct co_error e;

	server_log(s, CO_INFO, "%zu path%s changed from outside, \"%s\" "
	    "among them", n, n == 1 ? "" : "s", paths[0]);
	if (s->undo == NULL)
		return;
	if (s->conf->undo.policy == UNDO_LOCK) {
		share_readonly(s->share, true);
		s->locked = 1;
	}
	if (undo_barrier(s->undo, paths, n, &e) == -1)
		server_log(s, CO_ERROR, "no barrier: %s", e.message);
}

/*
 * Time passes for libundo.
 */
static void
tick_wait(struct server *s, int ms)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += ms / 1000;
	ts.tv_nsec += (long)(ms % 1000) * 1000000;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_sec++;
		ts.tv_nsec -= 1000000000;
	}
	(void)pthread_mutex_lock(&s->ticklock);
	while (!s->ticked)
		if (pthread_cond_timedwait(&s->tickcond, &s->ticklock,
		    &ts) != 0)
			break;
	s->ticked = false;
	(void)pthread_mutex_unlock(&s->ticklock);
}

static void *
tick_main(void *arg)
{
	struct undo_stats st;
	struct server *s = arg;
	bool held;
	int ms;

	while (s->stopping < 2) {
		/* Denying what nobody answers rolls a step back. */
		undo_stats(s->undo, &st);
		if ((held = st.held > 0))
			watch_mute(s->watch, true);
		ms = undo_tick(s->undo);
		if (held)
			watch_mute(s->watch, false);
		if (ms < 0 || ms > TICK_MS)
			ms = TICK_MS;
		tick_wait(s, ms > 0 ? ms : 1);
	}
	return (NULL);
}

static void *
signal_main(void *arg)
{
	struct server *s = arg;
	sigset_t set;
	int sig;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	(void)sigwait(&set, &sig);
	server_stop(s);
	return (NULL);
}

/*
 * Opening.
 */

/* A predecessor that was killed may need a moment to be gone. */
static int
open_undo(struct server *s, int root, struct co_error *e)
{
	const struct timespec ts = { .tv_nsec = BUSY_STEP_MS * 1000000L };
	struct undo_options o = s->conf->undo;
	int ret = -1, tries;

	if (s->conf->store == NULL || s->conf->share.readonly)
		return (0);
	o.event = event_undo;
	o.event_arg = s;
	if (sandbox_as(s->conf, true, e) == -1)
		return (-1);
	for (tries = BUSY_MS / BUSY_STEP_MS; tries > 0; tries--) {
		ret = undo_open(root, s->conf->store, &o, &s->undo, e);
		if (ret == 0 || e->code != CO_EUNDO_BUSY)
			break;
		(void)nanosleep(&ts, NULL);
	}
	if (ret == 0)
		return (sandbox_as(s->conf, false, e));
	(void)sandbox_as(s->conf, false, NULL);
	return (-1);
}

static int
open_watch(struct server *s, int root, struct co_error *e)
{

	if (s->undo == NULL || (s->conf->watcher != NULL &&
	    strcmp(s->conf->watcher, "none") == 0))
		return (0);
	return (watch_new(s, root, s->conf->watcher, &s->watch, e));
}

static int
open_all(struct server *s, struct co_error *e)
{
	struct share_options o = s->conf->share;
	int ret, root;

	root = open(s->conf->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root == -1)
		return (co_error_errno(e, errno, s->conf->root,
		    "cannot open the folder"));
	ret = control_new(s, &s->control, e);
	if (ret == 0)
		ret = open_undo(s, root, e);
	if (ret == 0)
		ret = open_watch(s, root, e);
	if (s->watch != NULL) {
		o.change = watch_own;
		o.change_arg = s->watch;
	}
	if (ret == 0)
		ret = share_open(root, s->undo, &o, &s->share, e);
	(void)close(root);
	if (ret == 0)
		ret = s->transport->open(s, s->arg, e);
	return (ret);
}

static void
close_all(struct server *s)
{

	s->transport->close(s);
	share_close(s->share);
	watch_free(s->watch);
	undo_close(s->undo);
	control_free(s->control);
}

static int
start_threads(struct server *s, pthread_t *tick, pthread_t *sig,
    struct co_error *e)
{
	int error;

	if ((error = pthread_create(sig, NULL, signal_main, s)) != 0)
		return (co_error_errno(e, error, NULL, "no thread"));
	if (s->undo != NULL &&
	    (error = pthread_create(tick, NULL, tick_main, s)) != 0)
		return (co_error_errno(e, error, NULL, "no thread"));
	if (s->watch != NULL && watch_start(s->watch, e) == -1)
		return (-1);
	return (control_start(s->control, e));
}

/* With all open and nothing to lose. */
static int
serve(struct server *s, struct co_error *e)
{
	pthread_t sig, tick;
	int ret;

	memset(&tick, 0, sizeof(tick));
	if (start_threads(s, &tick, &sig, e) == -1)
		return (-1);
	tell_keeper(s, KEEPER_READY);
	server_log(s, CO_INFO, "serving %s by %s", s->conf->root,
	    s->conf->transport);
	ret = s->transport->serve(s, e);
	/* It may have ended by itself: unmounted, or the client left. */
	if (s->stopping == 0) {
		tell_keeper(s, KEEPER_CLEAN);
		s->stopping = 1;
	}
	(void)pthread_kill(sig, SIGHUP);
	watch_stop(s->watch);
	control_stop(s->control);
	s->stopping = 2;
	(void)pthread_join(sig, NULL);
	if (s->undo != NULL) {
		server_poke(s);
		(void)pthread_join(tick, NULL);
	}
	return (ret);
}

static void
block_signals(void)
{
	sigset_t set;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int
server_run(const struct config *c, const struct transport *t,
    const char *arg, struct co_log *log, int keeper)
{
	struct server s = {
		.conf = c, .log = log, .transport = t, .arg = arg,
		.owner = getuid(), .keeper = keeper
	};
	struct co_error e;
	int ret = 1;

	memset(&e, 0, sizeof(e));
	block_signals();
	(void)pthread_mutex_init(&s.ticklock, NULL);
	(void)pthread_cond_init(&s.tickcond, NULL);
	if (open_all(&s, &e) == 0) {
		tell_keeper(&s, KEEPER_OPENED);
		if (sandbox_enter(&s, &e) == 0 && serve(&s, &e) == 0)
			ret = 0;
	}
	if (ret != 0)
		server_log(&s, CO_ERROR, "%s%s%s", e.what,
		    e.what[0] != '\0' ? ": " : "", e.message);
	close_all(&s);
	(void)pthread_cond_destroy(&s.tickcond);
	(void)pthread_mutex_destroy(&s.ticklock);
	return (ret);
}
