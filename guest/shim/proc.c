/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The commands of the sandbox as the host sees them.  A command lives until
 * the host said "forget": its output stays until acknowledged, its exit
 * until known, whoever comes and goes in between.
 */

#include <sys/ioctl.h>
#include <sys/wait.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "proc.h"
#include "sys.h"

static struct proc *
find(const struct guest *g, int64_t id)
{
	struct proc *p;

	for (p = g->procs; p != NULL && p->id != id; p = p->next)
		;
	return (p);
}

static struct proc *
find_msg(const struct guest *g, const struct sw_msg *m)
{

	return (find(g, sw_num(m, F_ID, 0)));
}

/* Add to the end: whoever had a turn goes there as well. */
static void
append(struct guest *g, struct proc *p)
{
	struct proc **at;

	for (at = &g->procs; *at != NULL; at = &(*at)->next)
		;
	*at = p;
	p->next = NULL;
}

static void
take_out(struct guest *g, struct proc *p)
{
	struct proc **at;

	for (at = &g->procs; *at != p; at = &(*at)->next)
		;
	*at = p->next;
}

/* A command in words, for those who list it. */
static void
name(struct proc *p, const struct sw_msg *m)
{
	struct sw_list l = sw_list(m, F_ARGV);
	size_t n = 0;

	if (sw_has(m, F_COMMAND)) {
		(void)snprintf(p->name, sizeof(p->name), "%s",
		    sw_str(m, F_COMMAND, ""));
		return;
	}
	for (size_t i = 0; i < l.n && n < sizeof(p->name) - 1; i++)
		n += (size_t)snprintf(p->name + n, sizeof(p->name) - n,
		    "%s%s", i > 0 ? " " : "", l.val[i].str);
}

static struct proc *
make(struct guest *g, const struct sw_msg *m)
{
	size_t window = (size_t)sw_num(m, F_WINDOW, SW_WINDOW);
	struct proc *p;

	if (g->nprocs == MAXPROCS || g->rings + window > MAXRINGS)
		return (NULL);
	if ((p = calloc(1, sizeof(*p))) == NULL)
		return (NULL);
	p->g = g;
	p->id = sw_num(m, F_ID, 0);
	p->started = ev_now();
	p->pty = sw_num(m, F_PTY, 0) != 0;
	p->wait = (enum sw_wait)sw_num(m, F_WAIT, WW_EXIT);
	p->grace = sw_num(m, F_GRACE_MS, GRACE_MS);
	p->attached = true;
	p->status.fd = p->out[0].fd = p->out[1].fd = p->in.fd = -1;
	ring_init(&p->ring, window);
	(void)snprintf(p->tag, sizeof(p->tag), "%s", sw_str(m, F_TAG, ""));
	name(p, m);
	g->rings += window;
	g->nprocs++;
	append(g, p);
	return (p);
}

static void
refuse_exec(struct guest *g, int64_t id, int error, const char *message)
{
	struct sw_msg m;

	sw_init(&m, W_STEP_COMPLETED);
	sw_set_num(&m, F_ID, id);
	sw_set_num(&m, F_EXIT_CODE, 126);
	sw_set_num(&m, F_OFFSET, 0);
	sw_set_str(&m, F_ERROR, sw_errname(error));
	sw_set_str(&m, F_MESSAGE, message);
	chan_send(g, &m);
}

void
proc_exec(struct guest *g, const struct sw_msg *m)
{
	int fds[SW_FDS] = { -1, -1, -1 }, error;
	int64_t id = sw_num(m, F_ID, 0);
	struct proc *p;

	if (sf_claim(&g->chan.in, fds, (int)sw_num(m, F_FDS, 0)) != 0) {
		chan_refuse(g, id, "fds", "not there");
		return;
	}
	if (find(g, id) != NULL)
		chan_refuse(g, id, "id", "in use");
	else if (sw_has(m, F_COMMAND) ? sw_has(m, F_ARGV) :
	    sw_list(m, F_ARGV).n == 0)
		refuse_exec(g, id, EINVAL, "one of command and argv");
	else if (g->shutdown)
		refuse_exec(g, id, ECANCELED, "shutting down");
	else if ((p = make(g, m)) == NULL)
		refuse_exec(g, id, EAGAIN, "too many commands");
	else if ((error = proc_start(p, m, fds)) != 0) {
		p->failure = (struct spawn_failure){ SPAWN_SETUP, error };
		p->exited = true;
	}
	for (int i = 0; i < SW_FDS; i++)
		if (fds[i] != -1)
			close(fds[i]);
}

void
proc_cancel(struct guest *g, const struct sw_msg *m)
{
	struct proc *p;

	if ((p = find_msg(g, m)) != NULL && p->pid > 0)
		proc_kill(p, sw_num(m, F_GRACE_MS, GRACE_MS));
}

void
proc_signal(struct guest *g, const struct sw_msg *m)
{
	int sig = (int)sw_num(m, F_SIGNAL, SIGTERM);
	struct proc *p;

	if ((p = find_msg(g, m)) == NULL || p->exited || p->pid <= 0)
		return;
	if (sw_num(m, F_GROUP, 1) != 0)
		proc_signal_all(p, sig);
	else
		(void)kill(p->pid, sig);
}

void
proc_resize(struct guest *g, const struct sw_msg *m)
{
	struct winsize ws = {
		.ws_row = (unsigned short)sw_num(m, F_ROWS, 24),
		.ws_col = (unsigned short)sw_num(m, F_COLS, 80)
	};
	struct proc *p;

	if ((p = find_msg(g, m)) != NULL && p->pty && p->out[0].fd != -1)
		(void)ioctl(p->out[0].fd, TIOCSWINSZ, &ws);
}

void
proc_stdin(struct guest *g, const struct sw_msg *m, const char *data,
    size_t len)
{
	struct proc *p;
	int error;

	if ((p = find_msg(g, m)) == NULL)
		return;
	error = feed_put(&p->feed, (uint64_t)sw_num(m, F_OFFSET, 0), data,
	    len, sw_num(m, F_EOF, 0) != 0);
	if (error == EPROTO) {
		chan_refuse(g, p->id, "stdin", "more than was granted");
		return;
	}
	g->activity += (int64_t)len;
	proc_flush(p);
	proc_want(p);
}

void
proc_ack(struct guest *g, const struct sw_msg *m)
{
	struct proc *p;

	if ((p = find_msg(g, m)) == NULL)
		return;
	if (!ring_ack(&p->ring, (uint64_t)sw_num(m, F_OFFSET, 0)))
		chan_refuse(g, p->id, "ack", "of what was not sent");
	else
		proc_want(p);
}

static void
describe(struct proc *p, int64_t req)
{
	struct sw_msg m;

	sw_init(&m, W_PROCESS);
	sw_set_num(&m, F_ID, p->id);
	sw_set_num(&m, F_OFFSET, (int64_t)(req != 0 ? p->ring.acked :
	    p->ring.sent));
	sw_set_num(&m, F_RUNNING, !proc_done(p));
	if (req != 0)
		sw_set_num(&m, F_REQ, req);
	if (p->pid > 0)
		sw_set_num(&m, F_PID, p->pid);
	sw_set_str(&m, F_COMMAND, p->name);
	sw_set_str(&m, F_TAG, p->tag);
	sw_set_num(&m, F_PTY, p->pty);
	sw_set_num(&m, F_WINDOW, (int64_t)p->ring.cap);
	sw_set_num(&m, F_STDIN_OFFSET, (int64_t)p->feed.total);
	sw_set_num(&m, F_UPTIME_MS, ev_now() - p->started);
	chan_send(p->g, &m);
}

static void
ack_stdin(struct proc *p, uint64_t offset)
{
	struct sw_msg m;

	sw_init(&m, W_ACK);
	sw_set_num(&m, F_ID, p->id);
	sw_set_num(&m, F_OFFSET, (int64_t)offset);
	chan_send(p->g, &m);
}

void
proc_attach(struct guest *g, const struct sw_msg *m)
{
	struct proc *p = find_msg(g, m);
	struct sw_msg r;

	if (p == NULL || !ring_rewind(&p->ring, (uint64_t)sw_num(m,
	    F_OFFSET, (int64_t)p->ring.acked))) {
		sw_init(&r, W_ERROR);
		sw_set_num(&r, F_ID, sw_num(m, F_ID, 0));
		sw_set_str(&r, F_ERROR, p == NULL ? "ESRCH" : "ERANGE");
		sw_set_str(&r, F_MESSAGE, p == NULL ? "no such command" :
		    "that output is not there");
		chan_send(g, &r);
		return;
	}
	p->attached = true;
	p->reported = false;
	/* The answer says that it was started. */
	p->announced = p->running;
	describe(p, 0);
	ack_stdin(p, p->feed.told);
	proc_want(p);
}

void
proc_forget(struct guest *g, const struct sw_msg *m)
{
	struct proc *p;

	if ((p = find_msg(g, m)) == NULL || !p->reported)
		return;
	take_out(g, p);
	g->nprocs--;
	g->rings -= p->ring.cap;
	proc_free(p);
}

void
proc_list(struct guest *g, const struct sw_msg *m)
{
	int64_t req = sw_num(m, F_REQ, 0);

	for (struct proc *p = g->procs; p != NULL; p = p->next)
		describe(p, req);
	session_reply(g, req, 0, NULL);
}

bool
proc_reaped(struct guest *g, pid_t pid, int wstatus, int64_t cpu_ms,
    int64_t maxrss)
{
	struct proc *p;

	for (p = g->procs; p != NULL; p = p->next)
		if (p->pid == pid && !p->exited)
			break;
	if (p == NULL)
		return (false);
	p->wstatus = wstatus;
	p->cpu_ms = cpu_ms;
	p->maxrss = maxrss;
	proc_exited(p);
	return (true);
}

void
proc_detach(struct guest *g)
{

	for (struct proc *p = g->procs; p != NULL; p = p->next)
		p->attached = p->announced = p->reported = false;
}

int
proc_running(const struct guest *g)
{
	int n = 0;

	for (const struct proc *p = g->procs; p != NULL; p = p->next)
		n += !proc_done(p);
	return (n);
}

static void
started(struct proc *p)
{
	struct sw_msg m;

	p->announced = true;
	sw_init(&m, W_STEP_STARTED);
	sw_set_num(&m, F_ID, p->id);
	sw_set_num(&m, F_PID, p->pid);
	chan_send(p->g, &m);
}

static void
explain(const struct proc *p, struct sw_msg *m)
{
	static const char *const what[] = {
		[SPAWN_SETUP] = "cannot set up the command",
		[SPAWN_USER] = "no such user, or not allowed to be that user",
		[SPAWN_CWD] = "cannot enter the working directory",
		[SPAWN_EXEC] = "cannot run the program",
	};
	int stage = p->failure.stage;

	sw_set_num(m, F_EXIT_CODE,
	    stage == SPAWN_EXEC && p->failure.error == ENOENT ? 127 : 126);
	sw_set_str(m, F_ERROR, sw_errname(p->failure.error));
	sw_set_str(m, F_MESSAGE, stage >= SPAWN_SETUP &&
	    stage <= SPAWN_EXEC ? what[stage] : what[SPAWN_SETUP]);
}

static void
completed(struct proc *p)
{
	struct sw_msg m;
	int sig;

	p->reported = true;
	sw_init(&m, W_STEP_COMPLETED);
	sw_set_num(&m, F_ID, p->id);
	sw_set_num(&m, F_OFFSET, (int64_t)p->ring.tail);
	sw_set_num(&m, F_CPU_MS, p->cpu_ms);
	sw_set_num(&m, F_MEM_USED, p->maxrss);
	if (p->timed_out)
		sw_set_num(&m, F_TIMED_OUT, 1);
	if (p->failure.error != 0) {
		explain(p, &m);
	} else if (WIFSIGNALED(p->wstatus)) {
		sig = WTERMSIG(p->wstatus);
		sw_set_num(&m, F_EXIT_CODE, 128 + sig);
		sw_set_num(&m, F_SIGNAL, sig);
	} else {
		sw_set_num(&m, F_EXIT_CODE, WEXITSTATUS(p->wstatus));
	}
	chan_send(p->g, &m);
}

/* Say what there is to say about p, at most one chunk of it. */
static bool
pump(struct proc *p)
{
	uint64_t offset;
	size_t n = chan_chunk(p->g);
	const char *bytes;
	struct sw_msg m;
	int stream;

	if (!p->attached || p->reported)
		return (false);
	if (p->running && !p->announced)
		started(p);
	if (feed_tell(&p->feed, &offset))
		ack_stdin(p, offset);
	if (p->announced &&
	    (bytes = ring_peek(&p->ring, &stream, &n)) != NULL) {
		sw_init(&m, W_OUTPUT);
		sw_set_num(&m, F_ID, p->id);
		sw_set_num(&m, F_STREAM, stream);
		sw_set_num(&m, F_OFFSET, (int64_t)p->ring.sent);
		chan_bulk(p->g, &m, bytes, n);
		ring_sent(&p->ring, n);
		return (true);
	}
	if (proc_done(p) && (p->ring.sent == p->ring.tail || !p->running))
		completed(p);
	return (false);
}

bool
proc_pump(struct guest *g)
{
	struct proc *p, *next, *last;
	bool more = false;

	for (last = g->procs; last != NULL && last->next != NULL;
	    last = last->next)
		;
	for (p = g->procs; p != NULL && chan_room(g); p = next) {
		next = p == last ? NULL : p->next;
		if (pump(p)) {
			more = true;
			take_out(g, p);
			append(g, p);
		}
	}
	return (more);
}
