/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Linux: children in namespaces.
 */

#include <sys/mount.h>
#include <sys/syscall.h>

#include <atf-c.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "plat.h"

pid_t
plat_fork(int want)
{
	unsigned long flags = SIGCHLD;
	pid_t pid;

	if ((want & PLAT_PID) != 0)
		flags |= CLONE_NEWPID | CLONE_NEWNS;
	if ((want & PLAT_NET) != 0)
		flags |= CLONE_NEWNET | CLONE_NEWUTS;
	if ((want & PLAT_MOUNT) != 0)
		flags |= CLONE_NEWNS;
	pid = (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
	if (pid != 0)
		return (pid);
	if ((flags & CLONE_NEWNS) != 0)
		(void)mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	if ((want & PLAT_PID) != 0)
		(void)mount("proc", "/proc", "proc", 0, NULL);
	return (0);
}

void
plat_exec(const char *prog, const char *const *argv, const char *const *env)
{
	char *a[32], *e[32];
	size_t n;

	/* The interface is older than const. */
	for (n = 0; argv[n] != NULL && n < 31; n++)
		a[n] = strdup(argv[n]);
	a[n] = NULL;
	for (n = 0; env[n] != NULL && n < 31; n++)
		e[n] = strdup(env[n]);
	e[n] = NULL;
	execve(prog, a, e);
}

long
plat_rss(pid_t pid)
{
	char path[64], line[256];
	long kib = 0;
	FILE *fp;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if ((fp = fopen(path, "r")) == NULL)
		return (0);
	while (fgets(line, sizeof(line), fp) != NULL)
		if (strncmp(line, "VmRSS:", 6) == 0)
			kib = strtol(line + 6, NULL, 10);
	fclose(fp);
	return (kib);
}

const char *
plat_self(void)
{
	static char path[4096];
	ssize_t n;

	n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	return (path);
}

bool
plat_sanitized(void)
{

#if defined(__SANITIZE_ADDRESS__)
	return (true);
#else
	return (false);
#endif
}

bool
plat_namespaces(void)
{

	return (true);
}

void
plat_make_interface(pid_t pid)
{
	static const char *const argv[] = { "ip", "link", "add", "eth0",
	    "type", "veth", "peer", "name", "far0", NULL };
	struct co_run run = { .argv = argv };
	struct co_result res;
	struct co_error e;
	char path[64];
	int ours, theirs;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	ours = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	theirs = open(path, O_RDONLY | O_CLOEXEC);
	ATF_REQUIRE(ours != -1 && theirs != -1);
	ATF_REQUIRE(setns(theirs, CLONE_NEWNET) == 0);
	ATF_REQUIRE_MSG(co_run(&run, &res, &e) == 0, "%s", e.message);
	ATF_REQUIRE_EQ_MSG(0, res.status, "%s", res.out);
	ATF_REQUIRE(setns(ours, CLONE_NEWNET) == 0);
	free(res.out);
	close(ours);
	close(theirs);
}

const char *
plat_show_network(void)
{

	return ("ip addr; ip route");
}
