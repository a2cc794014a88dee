/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * crun(1) with the root of the template "tiny", and bare namespaces.
 *
 * crun takes cgroups of version 1 or of version 2, not both: it runs in a
 * mount namespace that lacks the latter where the host has both.
 */

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/sched.h>

#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine.h"

/* What "crun spec" writes, but for the program and the root. */
static const char config[] =
    "{ \"ociVersion\": \"1.0.0\", \"process\": { \"terminal\": false,\n"
    "  \"user\": { \"uid\": 0, \"gid\": 0 }, \"args\": [ %s ],\n"
    "  \"env\": [ \"PATH=/bin\" ], \"cwd\": \"/\", \"capabilities\": {\n"
    "  \"bounding\": [ \"CAP_KILL\" ], \"effective\": [ \"CAP_KILL\" ],\n"
    "  \"permitted\": [ \"CAP_KILL\" ] },\n"
    "  \"rlimits\": [ { \"type\": \"RLIMIT_NOFILE\", \"hard\": 1024,\n"
    "  \"soft\": 1024 } ], \"noNewPrivileges\": true },\n"
    "  \"root\": { \"path\": \"%s\", \"readonly\": true },\n"
    "  \"hostname\": \"crun\", \"mounts\": [\n"
    "  { \"destination\": \"/proc\", \"type\": \"proc\",\n"
    "    \"source\": \"proc\" },\n"
    "  { \"destination\": \"/dev\", \"type\": \"tmpfs\",\n"
    "    \"source\": \"tmpfs\", \"options\": [ \"nosuid\",\n"
    "    \"strictatime\", \"mode=755\", \"size=65536k\" ] },\n"
    "  { \"destination\": \"/dev/pts\", \"type\": \"devpts\",\n"
    "    \"source\": \"devpts\", \"options\": [ \"nosuid\", \"noexec\",\n"
    "    \"newinstance\", \"ptmxmode=0666\", \"mode=0620\", \"gid=5\" ] },\n"
    "  { \"destination\": \"/dev/shm\", \"type\": \"tmpfs\",\n"
    "    \"source\": \"shm\", \"options\": [ \"nosuid\", \"noexec\",\n"
    "    \"nodev\", \"mode=1777\", \"size=65536k\" ] } ],\n"
    "  \"linux\": { \"resources\": { \"devices\": [ { \"allow\": false,\n"
    "    \"access\": \"rwm\" } ], \"pids\": { \"limit\": 1024 } },\n"
    "  \"namespaces\": [ { \"type\": \"pid\" }, { \"type\": \"network\" },\n"
    "    { \"type\": \"ipc\" }, { \"type\": \"uts\" },\n"
    "    { \"type\": \"cgroup\" }, { \"type\": \"mount\" } ],\n"
    "  \"maskedPaths\": [ \"/proc/kcore\", \"/proc/keys\",\n"
    "    \"/proc/timer_list\", \"/proc/scsi\" ],\n"
    "  \"readonlyPaths\": [ \"/proc/bus\", \"/proc/fs\", \"/proc/irq\",\n"
    "    \"/proc/sys\", \"/proc/sysrq-trigger\" ] } }\n";

static void
write_bundle(const char *dir, const char *args, const char *root)
{
	char path[160];
	FILE *fp;

	(void)snprintf(path, sizeof(path), "%s/config.json", dir);
	if (mkdir(dir, 0700) != 0 || (fp = fopen(path, "w")) == NULL)
		err(2, "%s", path);
	(void)fprintf(fp, config, args, root);
	if (fclose(fp) != 0)
		err(2, "%s", path);
}

static int
mount_namespace(void)
{
	int fd, home;

	home = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (home == -1 || unshare(CLONE_NEWNS) != 0)
		err(2, "mount namespace");
	if (access("/sys/fs/cgroup/unified", F_OK) == 0 &&
	    umount2("/sys/fs/cgroup/unified", MNT_DETACH) != 0)
		err(2, "/sys/fs/cgroup/unified");
	fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (fd == -1 || setns(home, CLONE_NEWNS) != 0)
		err(2, "mount namespace");
	(void)close(home);
	return (fd);
}

void
peer_open(struct peer *p, const struct host *h)
{
	char stays[160];

	(void)snprintf(p->bundle, sizeof(p->bundle), "%s/crun", h->dir);
	write_bundle(p->bundle, "\"/bin/true\"", h->root);
	(void)snprintf(stays, sizeof(stays), "%s/crun.stays", h->dir);
	write_bundle(stays, "\"/bin/sleep\", \"3600\"", h->root);
	(void)snprintf(p->id, sizeof(p->id), "coppice-bench-%d", getpid());
	p->mountns = mount_namespace();
}

int
peer_run(struct peer *p)
{
	const char *argv[] = { "crun", "run", "-b", p->bundle, p->id, NULL };

	return (host_run(argv, p->mountns));
}

int
peer_start(struct peer *p)
{
	char stays[160];
	const char *argv[] = { "crun", "run", "-d", "-b", stays, p->id,
	    NULL };

	(void)snprintf(stays, sizeof(stays), "%s.stays", p->bundle);
	return (host_run(argv, p->mountns));
}

int
peer_exec(struct peer *p)
{
	const char *argv[] = { "crun", "exec", p->id, "/bin/true", NULL };

	return (host_run(argv, p->mountns));
}

void
peer_stop(struct peer *p)
{
	const char *argv[] = { "crun", "delete", "-f", p->id, NULL };

	(void)host_run(argv, p->mountns);
}

int
peer_unshare(void)
{
	struct clone_args ca = { .flags = CLONE_NEWUSER | CLONE_NEWNS |
	    CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
	    CLONE_NEWCGROUP | CLONE_NEWTIME, .exit_signal = SIGCHLD };
	long pid;

	pid = syscall(SYS_clone3, &ca, sizeof(ca));
	if (pid == 0) {
		(void)execlp("busybox", "sleep", "3600", (char *)NULL);
		_exit(127);
	}
	if (pid == -1)
		err(2, "clone3");
	return ((int)pid);
}
