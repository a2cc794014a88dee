/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Can this host run the ns backend?  What can be tried is tried: a process
 * in all the namespaces, with mapped ids, and a mount mapped as it.
 */

#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <linux/sched.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ns.h"

struct report {
	backend_finding_fn *fn;
	void		*arg;
	bool		 works;
};

static void
finding(struct report *r, const char *what, bool ok, const char *advice)
{

	r->works = r->works && ok;
	r->fn(r->arg, what, ok, advice);
}

static bool
filesystem(const char *name)
{
	char line[128], want[64];
	bool found = false;
	FILE *fp;

	(void)snprintf(want, sizeof(want), "\t%s\n", name);
	if ((fp = fopen("/proc/filesystems", "re")) == NULL)
		return (false);
	while (!found && fgets(line, sizeof(line), fp) != NULL)
		found = strstr(line, want) != NULL;
	fclose(fp);
	return (found);
}

static bool
map(pid_t pid, const char *file)
{
	static const char line[] = "0 1879048192 65536\n";
	char path[64];
	bool ok;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	if ((fd = open(path, O_WRONLY | O_CLOEXEC)) == -1)
		return (false);
	ok = write(fd, line, sizeof(line) - 1) == sizeof(line) - 1;
	close(fd);
	return (ok);
}

static bool
map_mount(pid_t pid)
{
	struct mount_attr ma = { .attr_set = MOUNT_ATTR_IDMAP };
	char path[64];
	int tree, userns;
	bool ok = false;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	userns = open(path, O_RDONLY | O_CLOEXEC);
	tree = open_tree(AT_FDCWD, "/var", OPEN_TREE_CLONE |
	    OPEN_TREE_CLOEXEC);
	if (userns != -1 && tree != -1) {
		ma.userns_fd = (unsigned)userns;
		ok = mount_setattr(tree, "", AT_EMPTY_PATH, &ma,
		    sizeof(ma)) == 0;
	}
	if (userns != -1)
		close(userns);
	if (tree != -1)
		close(tree);
	return (ok);
}

/* A child that waits for its end or ours. */
static void wait_for_end(const int[2]) __attribute__((__noreturn__));

static void
wait_for_end(const int alive[2])
{
	char c;

	close(alive[1]);
	while (read(alive[0], &c, 1) == -1 && errno == EINTR)
		continue;
	_exit(0);
}

static void
try(struct report *r)
{
	int alive[2], pidfd = -1;
	struct clone_args ca = { .flags = CLONE_NEWUSER | CLONE_NEWNS |
	    CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
	    CLONE_NEWTIME | CLONE_PIDFD, .pidfd = (uintptr_t)&pidfd,
	    .exit_signal = SIGCHLD };
	long pid;

	if (pipe2(alive, O_CLOEXEC) != 0) {
		finding(r, "descriptors", false, "raise the limit of files");
		return;
	}
	if ((pid = syscall(SYS_clone3, &ca, sizeof(ca))) == 0)
		wait_for_end(alive);
	close(alive[0]);
	close(alive[1]);
	finding(r, "namespaces", pid > 0,
	    "raise /proc/sys/user/max_*_namespaces; Linux 5.19 or newer");
	if (pid == -1)
		return;
	finding(r, "user id maps", map((pid_t)pid, "uid_map") &&
	    map((pid_t)pid, "gid_map"), "run as root");
	finding(r, "mapped mounts", map_mount((pid_t)pid),
	    "Linux 5.19 or newer, and ext4, xfs or btrfs for the state");
	ns_reap(pidfd);
	close(pidfd);
}

int
ns_probe(backend_finding_fn *fn, void *arg, struct co_error *e)
{
	struct report r = { .fn = fn, .arg = arg, .works = true };

	finding(&r, "root", geteuid() == 0, "run as root");
	try(&r);
	finding(&r, "overlayfs", filesystem("overlay"),
	    "load the kernel module \"overlay\"");
	finding(&r, "seccomp", prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0 &&
	    ns_seccomp(NULL) != NULL, "a kernel with CONFIG_SECCOMP_FILTER");
	ns_cgroup_probe(fn, arg);
	/* Only disk limits need these. */
	fn(arg, "loop devices", access("/dev/loop-control", W_OK) == 0,
	    "load the kernel module \"loop\", or set no disk limit");
	fn(arg, "mke2fs", access("/sbin/mke2fs", X_OK) == 0 ||
	    access("/usr/sbin/mke2fs", X_OK) == 0,
	    "install e2fsprogs, or set no disk limit");
	if (!r.works)
		return (co_error_set(e, CO_ESYS_UNSUPPORTED, "ns",
		    "this host can't run sandboxes in namespaces; "
		    "\"coppicectl doctor\" tells why"));
	return (0);
}
