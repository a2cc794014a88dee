/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Starting a command, moving its bytes between descriptors and buffers, and
 * ending it.  A command whose output nobody takes is not read from, so that
 * it stops by itself.
 */

#include <sys/ioctl.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "proc.h"
#include "sys.h"

/* A terminal's last bytes may take a while, but not for ever. */
#define	DRAIN_MS	100
#define	DRAIN_MAX_MS	2000
#define	CHECK_MS	20

/* The descriptors of a command: ours and the child's. */
struct stdio {
	int	ours[3];
	int	theirs[3];
	int	status[2];
};

static void
close_fds(int *fd, int n)
{

	for (int i = 0; i < n; i++)
		if (fd[i] != -1)
			close(fd[i]);
}

static int
nonblock(int fd)
{

	return (fcntl(fd, F_SETFL, O_NONBLOCK) == 0 ? 0 : errno);
}

/* One of stdin, stdout and stderr by what exec said about it. */
static int
make_stream(struct stdio *io, int i, enum sw_stdio how, int *passed)
{
	int p[2], mine = i == 0;

	switch (how) {
	case WI_FD:
		io->theirs[i] = *passed;
		*passed = -1;
		return (0);
	case WI_NULL:
		io->theirs[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
		return (io->theirs[i] != -1 ? 0 : errno);
	case WI_STDOUT:
		io->theirs[i] = fcntl(io->theirs[1], F_DUPFD_CLOEXEC, 3);
		return (io->theirs[i] != -1 ? 0 : errno);
	case WI_PIPE:
		if (pipe2(p, O_CLOEXEC) != 0)
			return (errno);
		io->ours[i] = p[mine];
		io->theirs[i] = p[!mine];
		return (nonblock(io->ours[i]));
	}
	return (EINVAL);
}

static int
make_streams(struct stdio *io, const struct sw_msg *m, int *fds)
{
	static const enum sw_field field[3] = { F_STDIN, F_STDOUT,
	    F_STDERR };
	int error, next = 0;

	for (int i = 0; i < 3; i++) {
		enum sw_stdio how = (enum sw_stdio)sw_num(m, field[i],
		    i == 0 ? WI_NULL : WI_PIPE);

		if (how == WI_FD && fds[next] == -1)
			return (EINVAL);
		error = make_stream(io, i, how, &fds[next]);
		if (error != 0)
			return (error);
		next += how == WI_FD;
	}
	return (0);
}

static int
make_terminal(struct stdio *io, const struct sw_msg *m)
{
	struct winsize ws = {
		.ws_row = (unsigned short)sw_num(m, F_ROWS, 24),
		.ws_col = (unsigned short)sw_num(m, F_COLS, 80)
	};
	const char *name;
	int master;

	if ((master = posix_openpt(O_RDWR | O_NOCTTY)) == -1)
		return (errno);
	io->ours[1] = master;
	(void)fcntl(master, F_SETFD, FD_CLOEXEC);
	if (grantpt(master) != 0 || unlockpt(master) != 0 ||
	    (name = ptsname(master)) == NULL)
		return (errno);
	io->theirs[0] = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (io->theirs[0] == -1 || ioctl(master, TIOCSWINSZ, &ws) != 0)
		return (errno);
	for (int i = 1; i < 3; i++)
		if ((io->theirs[i] = fcntl(io->theirs[0], F_DUPFD_CLOEXEC,
		    3)) == -1)
			return (errno);
	return (nonblock(master));
}

static void
close_stream(struct proc *p, int i)
{

	ev_close(p->g->ev, &p->out[i]);
	if (p->pty)
		feed_kill(&p->feed);
}

/* After the exit only what was written before counts. */
static bool
drained(struct proc *p, int i, size_t got)
{

	if (!p->exited)
		return (false);
	if (p->pty && got > 0 && ev_now() < p->drain_limit)
		ev_start(p->g->ev, &p->drain, DRAIN_MS);
	if (p->left[i] > 0)
		p->left[i] -= (int64_t)got;
	return (p->left[i] == 0);
}

/* Read what there is room for; false when no more is to be had now. */
static bool
read_stream(struct proc *p, int i)
{
	size_t n;
	ssize_t got;
	char *to;

	if (drained(p, i, 0)) {
		close_stream(p, i);
		return (false);
	}
	if ((to = ring_space(&p->ring, i, &n)) == NULL)
		return (false);
	if (p->exited && p->left[i] > 0 && n > (size_t)p->left[i])
		n = (size_t)p->left[i];
	got = read(p->out[i].fd, to, n);
	if (got == -1 && (errno == EAGAIN || errno == EINTR))
		return (false);
	if (got > 0)
		ring_added(&p->ring, i, (size_t)got);
	/* A terminal whose last user left says EIO. */
	if (got <= 0 || drained(p, i, (size_t)got)) {
		close_stream(p, i);
		return (false);
	}
	return (true);
}

/* Pass stdin on; its end closes a pipe and is typed into a terminal. */
void
proc_flush(struct proc *p)
{
	struct ev_src *s = p->pty ? &p->out[0] : &p->in;
	int error;

	if (s->fd == -1 || p->feed.dead) {
		feed_kill(&p->feed);
		return;
	}
	error = feed_flush(&p->feed, s->fd);
	if (error == EAGAIN || (error == 0 && !p->feed.eof))
		return;
	if (p->pty && error == 0)
		(void)!write(s->fd, "\004", 1);
	if (p->pty)
		feed_kill(&p->feed);
	else
		ev_close(p->g->ev, s);
}

/* What descriptors are watched follows from the buffers. */
void
proc_want(struct proc *p)
{
	unsigned want;
	size_t n;

	for (int i = 0; i < 2; i++) {
		want = ring_space(&p->ring, i, &n) != NULL ? EV_IN : 0;
		if (i == 0 && p->pty && p->feed.len > 0)
			want |= EV_OUT;
		(void)ev_want(p->g->ev, &p->out[i], want);
	}
	(void)ev_want(p->g->ev, &p->in, p->feed.len > 0 ? EV_OUT : 0);
}

static void
on_out(struct proc *p, int i, unsigned got)
{

	if ((got & EV_OUT) != 0)
		proc_flush(p);
	if ((got & EV_IN) != 0)
		(void)read_stream(p, i);
	proc_want(p);
}

static void
on_stdout(void *arg, unsigned got)
{

	on_out(arg, 0, got);
}

static void
on_stderr(void *arg, unsigned got)
{

	on_out(arg, 1, got);
}

static void
on_stdin(void *arg, unsigned got)
{
	struct proc *p = arg;

	(void)got;
	proc_flush(p);
	proc_want(p);
}

/* The child's end of this closes when the program begins. */
static void
on_status(void *arg, unsigned got)
{
	struct proc *p = arg;
	ssize_t n;

	(void)got;
	n = read(p->status.fd, &p->failure, sizeof(p->failure));
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != (ssize_t)sizeof(p->failure))
		p->failure.error = 0;
	p->running = p->failure.error == 0;
	ev_close(p->g->ev, &p->status);
}

static void
on_timeout(void *arg)
{
	struct proc *p = arg;

	p->timed_out = true;
	proc_kill(p, p->grace);
}

static void
on_kill(void *arg)
{
	struct proc *p = arg;

	proc_kill(p, 0);
}

/* A cancelled command has ended when all that it left behind has. */
static void
on_check(void *arg)
{
	struct proc *p = arg;

	if (!p->ending)
		return;
	if (sys_session_alive(p->pid)) {
		ev_start(p->g->ev, &p->check, CHECK_MS);
		return;
	}
	p->ending = false;
	ev_stop(p->g->ev, &p->kill);
}

/* The last bytes of a terminal that somebody still has open. */
static void
on_drain(void *arg)
{
	struct proc *p = arg;
	size_t n;

	if (p->out[0].fd == -1)
		return;
	if (ring_space(&p->ring, 0, &n) == NULL)
		ev_start(p->g->ev, &p->drain, DRAIN_MS);
	else
		ev_close(p->g->ev, &p->out[0]);
}

static void
sources(struct proc *p, const struct stdio *io)
{

	ev_init(&p->in, io->ours[0], on_stdin, p);
	ev_init(&p->out[0], io->ours[1], on_stdout, p);
	ev_init(&p->out[1], io->ours[2], on_stderr, p);
	ev_init(&p->status, io->status[0], on_status, p);
	(void)ev_want(p->g->ev, &p->status, EV_IN);
	p->timeout = (struct ev_timer){ .fn = on_timeout, .arg = p };
	p->kill = (struct ev_timer){ .fn = on_kill, .arg = p };
	p->drain = (struct ev_timer){ .fn = on_drain, .arg = p };
	p->check = (struct ev_timer){ .fn = on_check, .arg = p };
	if (p->in.fd == -1 && !p->pty)
		feed_kill(&p->feed);
	proc_want(p);
}

/*
 * Start p as m says, with the descriptors that came with it, which are
 * taken from fds as they are used.
 */
int
proc_start(struct proc *p, const struct sw_msg *m, int *fds)
{
	struct stdio io = { { -1, -1, -1 }, { -1, -1, -1 }, { -1, -1 } };
	struct spawn sp = { .g = p->g, .m = m, .pty = p->pty };
	int error;

	if (pipe2(io.status, O_CLOEXEC) != 0)
		return (errno);
	if ((error = nonblock(io.status[0])) != 0)
		goto err0;
	error = p->pty ? make_terminal(&io, m) : make_streams(&io, m, fds);
	if (error != 0)
		goto err0;
	memcpy(sp.io, io.theirs, sizeof(sp.io));
	sp.status = io.status[1];
	if ((p->pid = spawn_fork()) == -1) {
		error = errno;
		goto err0;
	}
	if (p->pid == 0)
		spawn_exec(&sp);
	close_fds(io.theirs, 3);
	close(io.status[1]);
	sources(p, &io);
	if (sw_num(m, F_TIMEOUT_MS, 0) > 0)
		ev_start(p->g->ev, &p->timeout, sw_num(m, F_TIMEOUT_MS, 0));
	return (0);

err0:
	close_fds(io.ours, 3);
	close_fds(io.theirs, 3);
	close_fds(io.status, 2);
	return (error);
}

/* The process is gone; what it wrote before is still in the pipes. */
void
proc_exited(struct proc *p)
{
	int n;

	p->exited = true;
	ev_stop(p->g->ev, &p->timeout);
	/* Pending bytes were written before it ended, if ever it began. */
	if (p->status.fd != -1)
		on_status(p, EV_IN);
	p->left[0] = p->left[1] = -1;
	p->drain_limit = ev_now() + DRAIN_MAX_MS;
	if (p->kill.at != 0) {
		p->ending = true;
		on_check(p);
	}
	if (p->wait == WW_EOF)
		return;
	for (int i = 0; i < 2; i++) {
		if (p->out[i].fd == -1)
			continue;
		if (p->pty) {
			ev_start(p->g->ev, &p->drain, DRAIN_MS);
			continue;
		}
		n = 0;
		(void)ioctl(p->out[i].fd, FIONREAD, &n);
		p->left[i] = n;
		while (read_stream(p, i))
			;
	}
	ev_close(p->g->ev, &p->in);
	feed_kill(&p->feed);
	proc_want(p);
}

/* Everything there was to read was read. */
bool
proc_done(const struct proc *p)
{

	return (p->exited && !p->ending && p->status.fd == -1 &&
	    p->out[0].fd == -1 && p->out[1].fd == -1);
}

/* Signal its group and, of its session, all other groups. */
void
proc_signal_all(struct proc *p, int sig)
{

	/* There is no group yet in the first moments of a child. */
	if (kill(-p->pid, sig) != 0 && errno == ESRCH && !p->exited)
		(void)kill(p->pid, sig);
	sys_signal_session(p->pid, sig);
}

/* Ask it to end, and make it after a grace. */
void
proc_kill(struct proc *p, int64_t grace)
{

	if (proc_done(p))
		return;
	if (grace > 0) {
		proc_signal_all(p, SIGTERM);
		ev_start(p->g->ev, &p->kill, grace);
		return;
	}
	ev_stop(p->g->ev, &p->kill);
	proc_signal_all(p, SIGKILL);
	p->ending = false;
	/* Whoever has left the session keeps its life, not our attention. */
	if (p->exited) {
		ev_close(p->g->ev, &p->out[0]);
		ev_close(p->g->ev, &p->out[1]);
	}
	p->wait = WW_EXIT;
}

void
proc_free(struct proc *p)
{
	struct ev *ev = p->g->ev;

	ev_close(ev, &p->status);
	ev_close(ev, &p->out[0]);
	ev_close(ev, &p->out[1]);
	ev_close(ev, &p->in);
	ev_stop(ev, &p->timeout);
	ev_stop(ev, &p->kill);
	ev_stop(ev, &p->drain);
	ev_stop(ev, &p->check);
	ring_free(&p->ring);
	feed_kill(&p->feed);
	free(p);
}
