/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Finding the first process of a sandbox again, and ending everything.
 * When it ends the kernel ends the others, and the mounts go with the last.
 */

#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ns.h"

/* When the process began, in clock ticks, and its state; 0: it is gone. */
uint64_t
ns_birth(pid_t pid, char *state)
{
	char path[64], buf[1024], *p;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return (0);
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n <= 0)
		return (0);
	buf[n] = '\0';
	/* The name may have anything in it; the last parenthesis ends it. */
	if ((p = strrchr(buf, ')')) == NULL || strlen(p) < 3)
		return (0);
	if (state != NULL)
		*state = p[2];
	/* starttime is the 22nd field, the state after the name the 3rd. */
	for (int i = 0; i < 20; i++)
		if ((p = strchr(p + 1, ' ')) == NULL)
			return (0);
	return (strtoull(p, NULL, 10));
}

static int
handle(const struct sandbox_run *run, char *state)
{
	int fd;

	if (run == NULL || run->pid <= 0)
		return (-1);
	fd = (int)syscall(SYS_pidfd_open, run->pid, 0U);
	if (fd == -1)
		return (-1);
	/* Looked at after it was opened, so that it can't be another. */
	if (ns_birth(run->pid, state) != run->birth) {
		close(fd);
		return (-1);
	}
	return (fd);
}

int
ns_adopt(const struct sandbox_spec *s, struct sandbox_run *run,
    struct co_error *e)
{
	char path[64], state = 'Z';
	int fd;

	run->netns = -1;
	if ((fd = handle(run, &state)) == -1 || state == 'Z' ||
	    state == 'X' || !ns_cgroup_has(s->id, run->pid)) {
		if (fd != -1)
			close(fd);
		return (co_error_set(e, CO_ESANDBOX_LOST, s->id,
		    "the sandbox does not run any more"));
	}
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)run->pid);
	run->netns = open(path, O_RDONLY | O_CLOEXEC);
	/* It may have ended, and its number been used, since we looked. */
	if (run->netns == -1 ||
	    syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0U) != 0) {
		if (run->netns != -1)
			close(run->netns);
		run->netns = -1;
		close(fd);
		return (co_error_set(e, CO_ESANDBOX_LOST, s->id,
		    "the sandbox has just ended"));
	}
	close(fd);
	return (0);
}

/* Kill, and wait until nothing of it is left but a number. */
void
ns_reap(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	siginfo_t si;

	(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0U);
	while (poll(&p, 1, NS_STOP_MS) == -1 && errno == EINTR)
		;
	/* It is our child unless the daemon was restarted. */
	(void)waitid(P_PIDFD, (id_t)pidfd, &si, WEXITED | WNOHANG);
}

int
ns_stop(const struct sandbox_spec *s, const struct sandbox_run *run,
    struct co_error *e)
{
	int pidfd, error;

	/* Frozen by cgroups v1, it would not even die. */
	(void)ns_cgroup_freeze(s->id, false, NULL);
	pidfd = handle(run, NULL);
	ns_cgroup_kill(s->id);
	if (pidfd != -1) {
		ns_reap(pidfd);
		close(pidfd);
	}
	error = ns_cgroup_remove(s->id, e);
	ns_slot_drop(s->id);
	return (error);
}
