/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The starter of a sandbox is killed at each of its system calls, and at
 * random times; stop() and remove(), which know nothing but the id, leave
 * nothing.
 */

#include <sys/ptrace.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ns_box.h"

static struct box box;

/* What a daemon does until the record has it. */
static void
live(bool stop)
{
	struct co_error e;

	if (backend_ns.prepare(&box.spec, &e) != 0 || box_try(&box) != 0)
		_exit(1);
	if (stop && (backend_ns.stop(&box.spec, &box.run, &e) != 0 ||
	    backend_ns.remove(&box.spec, &e) != 0))
		_exit(1);
	_exit(0);
}

/* Whether it was killed, and did not get to its end, at this call. */
static bool
killed_at(int n, bool stop)
{
	int status;
	pid_t pid;

	if ((pid = fork()) == 0) {
		(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		(void)raise(SIGSTOP);
		live(stop);
	}
	ATF_REQUIRE(pid != -1);
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	/* Each call stops it twice, before and after. */
	for (int i = 0; i < n; i++) {
		int sig = WSTOPSIG(status) == SIGCHLD ? SIGCHLD : 0;

		ATF_REQUIRE_EQ(0, ptrace(PTRACE_SYSCALL, pid, NULL,
		    (void *)(intptr_t)sig));
		ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
		if (WIFEXITED(status)) {
			ATF_CHECK_EQ(0, WEXITSTATUS(status));
			return (false);
		}
		ATF_REQUIRE(WIFSTOPPED(status));
	}
	(void)kill(pid, SIGKILL);
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	return (true);
}

static void
sweep(void)
{

	/* No record has what it started. */
	box.run = (struct sandbox_run){ .netns = -1 };
	box_stop(&box);
	box_remove(&box);
	box_gone(&box);
}

static void
everywhere(bool stop, uint64_t disk)
{
	int n;

	box_init(&box);
	box.spec.limits = (struct sandbox_limits){ .memory = 64 << 20,
	    .procs = 20, .disk = disk };
	for (n = 0; killed_at(n, stop); n++)
		sweep();
	ATF_CHECK_MSG(n > 100, "only %d points", n);
	printf("%d points\n", n);
	sweep();
}

BOX_TC(start, "killed at each call of a start")
{

	everywhere(false, 0);
}

BOX_TC(start_image, "likewise with a limited disk")
{

	everywhere(false, 8 << 20);
}

BOX_TC(stop, "killed at each call of a start and a stop")
{

	everywhere(true, 0);
}

BOX_TC(anytime, "killed at random, while the sandbox itself goes on")
{
	int status;
	pid_t pid;

	box_init(&box);
	for (int i = 0; i < 100; i++) {
		if ((pid = fork()) == 0)
			live(i % 2 == 0);
		usleep((useconds_t)(rand() % 20000));
		(void)kill(pid, SIGKILL);
		ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
		sweep();
	}
}

static void
die(void *arg, const char *what, bool ok, const char *advice)
{

	(void)arg;
	(void)ok;
	(void)advice;
	if (strcmp(what, "namespaces") == 0)
		(void)raise(SIGKILL);
}

BOX_TC(probe, "who asks whether it works is killed: nobody stays behind")
{
	struct pollfd pfd = { .events = POLLIN };
	struct co_error e;
	int p[2], status;
	pid_t pid;

	ATF_REQUIRE_EQ(0, pipe(p));
	if ((pid = fork()) == 0) {
		(void)backend_ns.probe(die, NULL, &e);
		_exit(0);
	}
	(void)close(p[1]);
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	ATF_REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	/* Whoever is left holds the other end. */
	pfd.fd = p[0];
	ATF_REQUIRE_EQ(1, poll(&pfd, 1, 10000));
	ATF_CHECK((pfd.revents & POLLHUP) != 0);
	(void)close(p[0]);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, start);
	ATF_TP_ADD_TC(tp, start_image);
	ATF_TP_ADD_TC(tp, stop);
	ATF_TP_ADD_TC(tp, anytime);
	ATF_TP_ADD_TC(tp, probe);
	return (atf_no_error());
}
