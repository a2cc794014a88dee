/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Between fork and exec: a session of its own, the user, the directory, the
 * environment, no descriptor but its own three.  Runs in a child that has
 * one thread and may take its time.
 */

#include <sys/ioctl.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "guest.h"
#include "sys.h"

#define	PATH \
	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

extern char **environ;

/* A child must not run our handlers, not even for a moment. */
pid_t
spawn_fork(void)
{
	struct sigaction sa = { .sa_handler = SIG_DFL };
	sigset_t all, old;
	pid_t pid;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	if ((pid = fork()) == 0) {
		for (int i = 1; i < NSIG; i++)
			if (i != SIGKILL && i != SIGSTOP)
				(void)sigaction(i, &sa, NULL);
		sigemptyset(&old);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	return (pid);
}

static void fail(const struct spawn *, enum spawn_stage, int)
    __attribute__((__noreturn__));

static void
fail(const struct spawn *sp, enum spawn_stage stage, int error)
{
	struct spawn_failure f = { .stage = (int)stage, .error = error };

	(void)!write(sp->status, &f, sizeof(f));
	_exit(126);
}

/* Who the command or request is to be: asked for, configured, or as we. */
int
spawn_user(const struct guest *g, const struct sw_msg *m, struct user *u)
{
	const char *spec = sw_str(m, F_USER, g->conf.user);
	char self[16];

	(void)snprintf(self, sizeof(self), "%u", (unsigned)geteuid());
	return (user_find(spec[0] != '\0' ? spec : self, u));
}

int
spawn_become(const struct user *u)
{
	int error;

	if (geteuid() != 0)
		return (u->uid == geteuid() ? 0 : EPERM);
	if ((error = sys_set_groups(u->groups, u->ngroups)) != 0)
		return (error);
	if (setgid(u->gid) != 0 || setuid(u->uid) != 0)
		return (errno);
	return (0);
}

static void
terminal(const struct spawn *sp, const struct user *u)
{
	struct stat st;

	if (ioctl(sp->io[0], TIOCSCTTY, 0) != 0)
		fail(sp, SPAWN_SETUP, errno);
	if (fstat(sp->io[0], &st) == 0 && st.st_uid != u->uid &&
	    geteuid() == 0 && fchown(sp->io[0], u->uid, (gid_t)-1) != 0)
		fail(sp, SPAWN_USER, errno);
}

/* The three descriptors to their places, the status after them. */
static void
place(struct spawn *sp)
{
	int fd;

	for (int i = 0; i < 3; i++) {
		fd = fcntl(sp->io[i], F_DUPFD_CLOEXEC, 10);
		if (fd == -1)
			fail(sp, SPAWN_SETUP, errno);
		sp->io[i] = fd;
	}
	if ((fd = fcntl(sp->status, F_DUPFD_CLOEXEC, 10)) == -1)
		fail(sp, SPAWN_SETUP, errno);
	sp->status = fd;
	for (int i = 0; i < 3; i++)
		if (dup2(sp->io[i], i) == -1)
			fail(sp, SPAWN_SETUP, errno);
	if (dup2(sp->status, 3) == -1 ||
	    fcntl(3, F_SETFD, FD_CLOEXEC) != 0)
		fail(sp, SPAWN_SETUP, errno);
	sp->status = 3;
	sys_close_from(4);
}

/* What was set later wins. */
static void
set_env(const struct spawn *sp, const struct user *u)
{
	struct sw_list l = sw_list(sp->m, F_ENV);

	environ = calloc(1, sizeof(*environ));
	if (environ == NULL || setenv("PATH", PATH, 1) != 0 ||
	    setenv("HOME", u->home, 1) != 0 ||
	    setenv("USER", u->name, 1) != 0 ||
	    setenv("LOGNAME", u->name, 1) != 0 ||
	    setenv("SHELL", u->shell[0] != '\0' ? u->shell : "/bin/sh",
	    1) != 0 ||
	    (sp->pty && setenv("TERM", "xterm-256color", 1) != 0))
		fail(sp, SPAWN_SETUP, ENOMEM);
	for (size_t i = 0; i < sp->g->conf.nenv; i++)
		if (putenv(sp->g->conf.env[i]) != 0)
			fail(sp, SPAWN_SETUP, errno);
	for (size_t i = 0; i < l.n; i++)
		if (setenv(l.val[2 * i].str, l.val[2 * i + 1].str, 1) != 0)
			fail(sp, SPAWN_SETUP, errno);
}

static char *
copy(const struct spawn *sp, const char *s)
{
	char *p;

	if ((p = strdup(s)) == NULL)
		fail(sp, SPAWN_SETUP, ENOMEM);
	return (p);
}

static char **
arguments(const struct spawn *sp)
{
	struct sw_list l = sw_list(sp->m, F_ARGV);
	char **argv;

	if ((argv = calloc(l.n + 4, sizeof(*argv))) == NULL)
		fail(sp, SPAWN_SETUP, ENOMEM);
	if (sw_has(sp->m, F_COMMAND)) {
		argv[0] = copy(sp, "/bin/sh");
		argv[1] = copy(sp, "-c");
		argv[2] = copy(sp, sw_str(sp->m, F_COMMAND, ""));
		return (argv);
	}
	argv[0] = copy(sp, l.n > 0 ? l.val[0].str : "");
	for (size_t i = 1; i < l.n; i++)
		argv[i] = copy(sp, l.val[i].str);
	return (argv);
}

/* A directory that was asked for must be there; a home need not. */
static void
enter(const struct spawn *sp, const struct user *u)
{
	const char *cwd = sw_str(sp->m, F_CWD, sp->g->conf.cwd);

	if (cwd[0] == '\0') {
		if (chdir(u->home) != 0 && chdir("/") != 0)
			fail(sp, SPAWN_CWD, errno);
		return;
	}
	if (cwd[0] != '/')
		(void)!chdir(u->home);
	if (chdir(cwd) != 0)
		fail(sp, SPAWN_CWD, errno);
}

void
spawn_exec(const struct spawn *given)
{
	struct spawn sp = *given;
	struct user u;
	char **argv;
	int error;

	place(&sp);
	if (setsid() == -1)
		fail(&sp, SPAWN_SETUP, errno);
	sp.io[0] = 0;
	umask(022);
	sys_before_exec();
	if ((error = spawn_user(sp.g, sp.m, &u)) != 0)
		fail(&sp, SPAWN_USER, error);
	/* Only root may give a terminal away. */
	if (sp.pty)
		terminal(&sp, &u);
	if ((error = spawn_become(&u)) != 0)
		fail(&sp, SPAWN_USER, error);
	set_env(&sp, &u);
	argv = arguments(&sp);
	enter(&sp, &u);
	(void)execvp(argv[0], argv);
	if (errno == ENOENT && sw_has(sp.m, F_FALLBACK)) {
		argv[0] = copy(&sp, sw_str(sp.m, F_FALLBACK, ""));
		(void)execvp(argv[0], argv);
	}
	fail(&sp, SPAWN_EXEC, errno);
}
