/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Running a program by argv: clean environment, closed descriptors, default
 * signals, a process group of its own, bounded output and a deadline.
 */

#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"

#define	MAXOUT	(64 * 1024)
#define	SAFEPATH \
	"/sbin:/bin:/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin"

static const char *const clean_env[] = {
	"PATH=" SAFEPATH, "LANG=C", "TZ=UTC", NULL
};

struct child {
	pid_t		 pid;
	int		 in;		/* we write its stdin; -1: closed */
	int		 out;		/* we read its stdout and stderr */
	const char	*input;
	size_t		 inputlen;
	char		*buf;
	size_t		 len;
	size_t		 max;
	bool		 cut;
};

static void
shut(int *fd)
{

	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

/* A pipe whose ends are above the standard descriptors. */
static int
make_pipe(int fds[2])
{
	int raw[2], error;

	fds[0] = fds[1] = -1;
	if (pipe(raw) != 0)
		return (errno);
	fds[0] = fcntl(raw[0], F_DUPFD_CLOEXEC, 3);
	fds[1] = fcntl(raw[1], F_DUPFD_CLOEXEC, 3);
	error = fds[0] == -1 || fds[1] == -1 ? errno : 0;
	close(raw[0]);
	close(raw[1]);
	if (error != 0) {
		shut(&fds[0]);
		shut(&fds[1]);
	}
	return (error);
}

/* Find a program without a slash in the safe path. */
static int
find(const char *name, char *path, size_t size)
{
	const char *p;
	size_t n;

	if (strchr(name, '/') != NULL) {
		if (strlen(name) >= size)
			return (ENAMETOOLONG);
		strcpy(path, name);
		return (0);
	}
	for (p = SAFEPATH; *p != '\0'; p += n + (p[n] == ':')) {
		n = strcspn(p, ":");
		if ((size_t)snprintf(path, size, "%.*s/%s", (int)n, p,
		    name) < size && access(path, X_OK) == 0)
			return (0);
	}
	return (ENOENT);
}

/* What the child does between the fork and the program. */
static int
actions(posix_spawn_file_actions_t *fa, posix_spawnattr_t *at,
    const struct co_run *r, int in, int out)
{
	sigset_t all, none;
	short flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
	    POSIX_SPAWN_SETSIGMASK;
	int error;

	sigfillset(&all);
	sigemptyset(&none);
	if ((error = posix_spawn_file_actions_adddup2(fa, in, 0)) != 0 ||
	    (error = posix_spawn_file_actions_adddup2(fa, out, 1)) != 0 ||
	    (error = posix_spawn_file_actions_adddup2(fa, out, 2)) != 0)
		return (error);
	if (r->dir > 0)
		error = posix_spawn_file_actions_addfchdir_np(fa, r->dir);
	else
		error = posix_spawn_file_actions_addchdir_np(fa, "/");
	if (error != 0)
		return (error);
#ifdef POSIX_SPAWN_CLOEXEC_DEFAULT
	flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
#else
	error = posix_spawn_file_actions_addclosefrom_np(fa, 3);
	if (error != 0)
		return (error);
#endif
	if ((error = posix_spawnattr_setflags(at, flags)) != 0 ||
	    (error = posix_spawnattr_setpgroup(at, 0)) != 0 ||
	    (error = posix_spawnattr_setsigdefault(at, &all)) != 0 ||
	    (error = posix_spawnattr_setsigmask(at, &none)) != 0)
		return (error);
	return (0);
}

static int
spawn(const struct co_run *r, struct child *c, int in, int out)
{
	const char *const *env = r->env != NULL ? r->env : clean_env;
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	char path[PATH_MAX];
	int error;

	error = find(r->argv[0], path, sizeof(path));
	if (error != 0)
		return (error);
	error = posix_spawn_file_actions_init(&fa);
	if (error != 0)
		return (error);
	error = posix_spawnattr_init(&at);
	if (error != 0)
		goto out;
	error = actions(&fa, &at, r, in, out);
	if (error == 0)
		error = posix_spawn(&c->pid, path, &fa, &at,
		    (char *const *)(uintptr_t)r->argv,
		    (char *const *)(uintptr_t)env);
	posix_spawnattr_destroy(&at);
out:
	posix_spawn_file_actions_destroy(&fa);
	return (error);
}

static int
start(const struct co_run *r, struct child *c)
{
	int in[2], out[2], error;

	error = make_pipe(in);
	if (error != 0)
		return (error);
	error = make_pipe(out);
	if (error == 0)
		error = spawn(r, c, in[0], out[1]);
	shut(&in[0]);
	shut(&out[1]);
	if (error != 0) {
		shut(&in[1]);
		shut(&out[0]);
		return (error);
	}
	c->in = in[1];
	c->out = out[0];
	(void)fcntl(c->in, F_SETFL, O_NONBLOCK);
	(void)fcntl(c->out, F_SETFL, O_NONBLOCK);
	return (0);
}

/* Write what the pipe takes; a program that closed its stdin is fine. */
static void
feed(struct child *c)
{
	ssize_t n;

	if (c->inputlen > 0) {
		n = write(c->in, c->input, c->inputlen);
		if (n > 0) {
			c->input += n;
			c->inputlen -= (size_t)n;
		} else if (n < 0 && errno != EAGAIN && errno != EINTR)
			c->inputlen = 0;
	}
	if (c->inputlen == 0)
		shut(&c->in);
}

static void
drain(struct child *c)
{
	char buf[4096];
	ssize_t n;
	size_t fit;

	n = read(c->out, buf, sizeof(buf));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		shut(&c->out);
		return;
	}
	fit = c->max - c->len < (size_t)n ? c->max - c->len : (size_t)n;
	memcpy(c->buf + c->len, buf, fit);
	c->len += fit;
	c->cut = c->cut || fit < (size_t)n;
}

/* Tell whether the child has ended, and keep its status. */
static bool
ended(struct child *c, int *status)
{
	pid_t p;

	do
		p = waitpid(c->pid, status, WNOHANG);
	while (p == -1 && errno == EINTR);
	return (p != 0);
}

/*
 * Talk to the child until it has ended and its output is read, or the
 * deadline passed.  A grandchild that keeps the pipe open does not hold us:
 * once the child has ended, what is there is read and no more.
 */
static bool
converse(struct child *c, co_moment deadline, int *status)
{
	struct pollfd fds[2];
	bool gone = false;
	int left, wait;

	for (;;) {
		if (!gone)
			gone = ended(c, status);
		if (gone && c->out == -1)
			return (true);
		left = co_left(deadline);
		if (left == 0)
			return (gone);
		/* Without SIGCHLD to wake us, look again every so often. */
		wait = gone ? 0 : c->out == -1 ? 1 : 50;
		if (left != -1 && left < wait)
			wait = left;
		fds[0] = (struct pollfd){ .fd = c->out, .events = POLLIN };
		fds[1] = (struct pollfd){ .fd = c->in, .events = POLLOUT };
		if (poll(fds, 2, wait) <= 0) {
			if (gone)
				return (true);
			continue;
		}
		if (fds[1].revents != 0)
			feed(c);
		if (fds[0].revents != 0)
			drain(c);
	}
}

int
co_run(const struct co_run *r, struct co_result *res, struct co_error *e)
{
	struct child c = { .in = -1, .out = -1, .input = r->input,
	    .inputlen = r->input != NULL ? r->inputlen : 0,
	    .max = r->maxout != 0 ? r->maxout : MAXOUT };
	sigset_t pipes, old;
	int error, status = 0;

	memset(res, 0, sizeof(*res));
	c.buf = malloc(c.max + 1);
	if (c.buf == NULL)
		return (co_error_set(e, CO_ESYS_NOMEM, r->argv[0],
		    "out of memory"));
	error = start(r, &c);
	if (error != 0) {
		free(c.buf);
		return (co_error_errno(e, error, r->argv[0],
		    "can't run \"%s\"", r->argv[0]));
	}
	/* A write to a program that is gone must not kill us. */
	sigemptyset(&pipes);
	sigaddset(&pipes, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipes, &old);
	if (!converse(&c, r->deadline == 0 ? CO_NEVER : r->deadline,
	    &status)) {
		res->timedout = true;
		(void)kill(-c.pid, SIGKILL);
		while (waitpid(c.pid, &status, 0) == -1 && errno == EINTR)
			;
	}
	if (!sigismember(&old, SIGPIPE)) {
		sigset_t pending;

		sigpending(&pending);
		if (sigismember(&pending, SIGPIPE)) {
			int sig;

			sigwait(&pipes, &sig);
		}
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	shut(&c.in);
	shut(&c.out);
	res->status = WIFEXITED(status) ? WEXITSTATUS(status) :
	    128 + WTERMSIG(status);
	c.buf[c.len] = '\0';
	res->out = c.buf;
	res->outlen = c.len;
	res->cut = c.cut;
	return (0);
}
