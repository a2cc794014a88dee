/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Attacks by namespaces, mounts and cgroups.
 */

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/sched.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ns_attack.h"

static int
cloned(long pid)
{

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		(void)waitpid((pid_t)pid, NULL, 0);
	return (outcome(pid));
}

int
a_userns_clone(void)
{

	return (cloned(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL,
	    NULL, NULL)));
}

int
a_userns_clone3(void)
{
	struct clone_args ca = { .flags = CLONE_NEWUSER,
	    .exit_signal = SIGCHLD };

	return (cloned(syscall(SYS_clone3, &ca, sizeof(ca))));
}

int
a_userns_unshare(void)
{

	return (outcome(unshare(CLONE_NEWUSER)));
}

int
a_mountns(void)
{

	return (outcome(unshare(CLONE_NEWNS)));
}

int
a_netns(void)
{

	return (outcome(unshare(CLONE_NEWNET)));
}

int
a_pidns(void)
{

	return (outcome(unshare(CLONE_NEWPID)));
}

int
a_setns(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt",
	    bait_number("TARGET"));
	if ((fd = open(path, O_RDONLY)) == -1)
		return (errno);
	return (outcome(setns(fd, CLONE_NEWNS)));
}

int
a_setns_pidfd(void)
{
	int fd;

	fd = (int)syscall(SYS_pidfd_open, bait_number("TARGET"), 0);
	if (fd == -1)
		return (errno);
	return (outcome(setns(fd, CLONE_NEWNET | CLONE_NEWNS)));
}

static int
mount_here(const char *type, const char *opts)
{

	(void)mkdir("/tmp/.attack", 0700);
	if (mount("x", "/tmp/.attack", type, 0, opts) != 0)
		return (errno);
	(void)umount2("/tmp/.attack", MNT_DETACH);
	return (0);
}

int
a_mount_tmpfs(void)
{

	return (mount_here("tmpfs", NULL));
}

int
a_mount_proc(void)
{

	return (mount_here("proc", NULL));
}

int
a_mount_sysfs(void)
{

	return (mount_here("sysfs", NULL));
}

int
a_mount_debugfs(void)
{

	return (mount_here("debugfs", NULL));
}

int
a_umount_mask(void)
{

	return (outcome(umount2("/proc/kcore", MNT_DETACH)) == 0 ||
	    outcome(umount2("/proc/sys", 0)) == 0 ? 0 : errno);
}

int
a_remount(void)
{

	return (outcome(mount(NULL, "/proc/sys", NULL, MS_REMOUNT | MS_BIND,
	    NULL)));
}

int
a_fsopen(void)
{

	return (outcome(fsopen("tmpfs", 0)));
}

int
a_open_tree(void)
{

	return (outcome(open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE)));
}

int
a_mount_setattr(void)
{
	struct mount_attr ma = { .attr_clr = MOUNT_ATTR_RDONLY };

	return (outcome(mount_setattr(AT_FDCWD, "/proc", 0, &ma,
	    sizeof(ma))));
}

int
a_pivot_root(void)
{

	return (outcome(syscall(SYS_pivot_root, "/tmp", "/tmp")));
}

/* Whoever mounts a hierarchy can have the host run a program. */
int
a_release_agent(void)
{

	if (mount_here("cgroup", "memory") == 0 ||
	    mount_here("cgroup", "pids") == 0)
		return (0);
	return (mount_here("cgroup2", NULL));
}

int
a_cgroup_leave(void)
{
	static const char *const procs[] = { "/sys/fs/cgroup/cgroup.procs",
	    "/sys/fs/cgroup/memory/cgroup.procs",
	    "/sys/fs/cgroup/pids/cgroup.procs",
	    "/sys/fs/cgroup/unified/cgroup.procs" };

	for (size_t i = 0; i < sizeof(procs) / sizeof(procs[0]); i++)
		if (open(procs[i], O_WRONLY) != -1)
			return (0);
	return (errno);
}

int
a_hostname(void)
{

	return (outcome(sethostname("owned", 5)));
}

/* The calls of another ABI have other numbers than those filtered. */
static int
int80(void)
{
#ifdef __x86_64__
	long r;

	__asm__ volatile ("int $0x80" : "=a" (r) : "a" (20) : "memory",
	    "r8", "r9", "r10", "r11");
	return (r > 0 ? 0 : ENOSYS);
#else
	return (ENOSYS);
#endif
}

int
a_int80(void)
{

	return (in_child(int80));
}
