/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the host asks, sorted out; and how the sandbox ends.  A request has
 * exactly one reply, which is the last that is said about it.
 */

#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"
#include "sys.h"

void
session_reply(struct guest *g, int64_t req, int error, const char *message)
{
	struct sw_msg m;

	sw_init(&m, W_REPLY);
	sw_set_num(&m, F_REQ, req);
	if (error != 0) {
		sw_set_str(&m, F_ERROR, sw_errname(error));
		sw_set_str(&m, F_MESSAGE,
		    message != NULL ? message : strerror(error));
	}
	chan_send(g, &m);
}

static void
hello(struct guest *g, const struct sw_msg *m)
{
	struct sw_msg r;
	struct chan *c = &g->chan;

	/* A host that came back without our noticing. */
	if (c->greeted)
		session_end(g);
	c->greeted = true;
	c->in.sync = false;
	c->out.raw = sw_num(m, F_RAW, 0) != 0;
	/* Whatever was half sent before ends here. */
	chan_relay(g, "\n", 1);
	sw_init(&r, W_HELLO);
	sw_set_num(&r, F_VERSION, SW_VERSION);
	sw_set_str(&r, F_NONCE, sw_str(m, F_NONCE, ""));
	sw_set_str(&r, F_INSTANCE, g->instance);
	sw_set_str(&r, F_PLATFORM, sys_platform());
	sw_set_num(&r, F_PID, getpid());
	chan_send(g, &r);
	beat_start(g, sw_num(m, F_HEARTBEAT_MS, 0));
}

/* Programs inside that care watch this file. */
static void
rollback(struct guest *g, const struct sw_msg *m)
{
	char tmp[256], path[256], text[96];
	int fd, n;

	(void)mkdir(g->rundir, 0755);
	(void)snprintf(path, sizeof(path), "%s/rollback", g->rundir);
	(void)snprintf(tmp, sizeof(tmp), "%s/.rollback", g->rundir);
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
	    0644);
	if (fd == -1)
		return;
	n = snprintf(text, sizeof(text), "{\"step_id\":%lld,\"count\":%u}\n",
	    (long long)sw_num(m, F_STEP_ID, 0), ++g->rollbacks);
	if (write(fd, text, (size_t)n) == n)
		(void)rename(tmp, path);
	close(fd);
}

static void
configure(struct guest *g, const struct sw_msg *m)
{
	const char *what = NULL;
	char text[256];
	int error;

	error = conf_message(g, m, &what);
	if (what != NULL)
		(void)snprintf(text, sizeof(text), "%s: %s", what,
		    strerror(error));
	session_reply(g, sw_num(m, F_REQ, 0), error,
	    what != NULL ? text : NULL);
}

static void
ports(struct guest *g, const struct sw_msg *m)
{
	struct sw_list l = sw_list(m, F_PORTS);

	session_reply(g, sw_num(m, F_REQ, 0), proxy_set(g, &l), NULL);
}

static void
stats(struct guest *g, const struct sw_msg *m)
{
	int64_t req = sw_num(m, F_REQ, 0);

	beat_stats(g, req);
	session_reply(g, req, 0, NULL);
}

static void
do_shutdown(struct guest *g, const struct sw_msg *m)
{

	session_shutdown(g, sw_num(m, F_GRACE_MS, GRACE_MS),
	    (enum sw_how)sw_num(m, F_HOW,
	    g->init ? WH_POWEROFF : WH_EXIT));
}

static void
ack(struct guest *g, const struct sw_msg *m)
{

	if (sw_has(m, F_ID))
		proc_ack(g, m);
	else if (!work_ack(g, m))
		(void)dial_ack(g, m);
}

static void
close_request(struct guest *g, const struct sw_msg *m)
{

	if (!work_close(g, m))
		(void)dial_close(g, m);
}

static void (*const handlers[W_MAX])(struct guest *,
    const struct sw_msg *) = {
	[W_EXEC] = proc_exec,
	[W_CANCEL] = proc_cancel,
	[W_ROLLBACK_NOTIFY] = rollback,
	[W_SIGNAL] = proc_signal,
	[W_RESIZE] = proc_resize,
	[W_ATTACH] = proc_attach,
	[W_FORGET] = proc_forget,
	[W_CONFIGURE] = configure,
	[W_PORTS] = ports,
	[W_PS] = proc_list,
	[W_STATS] = stats,
	[W_STAT] = work_start,
	[W_LIST] = work_start,
	[W_READ] = work_start,
	[W_WRITE] = work_start,
	[W_MKDIR] = work_start,
	[W_MOVE] = work_start,
	[W_REMOVE] = work_start,
	[W_CHMOD] = work_start,
	[W_WATCH] = work_start,
	[W_DIAL] = dial_start,
	[W_CLOSE] = close_request,
	[W_SHUTDOWN] = do_shutdown,
	[W_HELLO] = hello,
	[W_ACK] = ack,
};

/* Tell whether a new request's number is that of one under way. */
static bool
taken(const struct guest *g, const struct sw_msg *m)
{
	int64_t req = sw_num(m, F_REQ, 0);

	if (req == 0 || m->type == W_ACK || m->type == W_DATA ||
	    m->type == W_CLOSE)
		return (false);
	return (work_busy(g, req) || dial_busy(g, req));
}

void
session_message(struct guest *g, const struct sw_msg *m, const char *data,
    size_t len)
{

	if (!g->chan.greeted && m->type != W_HELLO)
		chan_refuse(g, 0, "", "no hello");
	else if (m->type == W_HELLO && sw_num(m, F_VERSION, 0) <
	    SW_VERSION)
		chan_refuse(g, 0, "version", "too old");
	else if (taken(g, m))
		chan_refuse(g, 0, "req", "in use");
	else if (m->type == W_STDIN)
		proc_stdin(g, m, data, len);
	else if (m->type != W_DATA)
		handlers[m->type](g, m);
	else if (!work_data(g, m, data, len))
		(void)dial_data(g, m, data, len);
}

/* The host went away: what it asked for ends, what it started goes on. */
void
session_end(struct guest *g)
{

	beat_start(g, 0);
	proc_detach(g);
	work_detach(g);
	dial_detach(g);
}

/*
 * Everybody who has something to say gets a turn while there is room.
 * Return whether somebody may have more.
 */
bool
session_pump(struct guest *g)
{
	bool more = true;

	while (more && chan_room(g)) {
		more = proc_pump(g);
		more = work_pump(g) || more;
		more = dial_pump(g) || more;
	}
	return (more && g->chan.greeted && !g->chan.failing);
}

static void
on_dying(void *arg)
{
	struct timespec pause = { .tv_nsec = 10000000 };
	struct guest *g = arg;

	/* A child that was just being born did not hear it the first time. */
	for (int i = 0; i < 100; i++) {
		sys_signal_all(SIGKILL);
		if (reap_all(g))
			break;
		nanosleep(&pause, NULL);
	}
	session_leave(g);
}

void
session_shutdown(struct guest *g, int64_t grace, enum sw_how how)
{
	siginfo_t si;

	if (g->shutdown)
		return;
	g->shutdown = true;
	g->how = how;
	g->dying.fn = on_dying;
	g->dying.arg = g;
	if (grace > 0)
		sys_signal_all(SIGTERM);
	if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) != 0)
		grace = 0;
	ev_start(g->ev, &g->dying, grace > 0 ? grace : 1);
}

/* Nobody is left, or nobody is to be left. */
void
session_leave(struct guest *g)
{
	struct timespec pause = { .tv_nsec = 10000000 };

	for (int i = 0; i < 50 && g->chan.src.fd != -1; i++) {
		chan_flush(g, session_pump(g));
		if (g->chan.out.len == 0)
			break;
		nanosleep(&pause, NULL);
	}
	sync();
	if (g->how != WH_EXIT)
		sys_poweroff(g->how == WH_REBOOT);
	exit(0);
}
