/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The daemon's side of a start: the layers as detached mounts, a process in
 * new namespaces, its ids mapped to a range of their own, also on the
 * layers, and then a word from the pipe that the shim's exec closes.
 */

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <linux/sched.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ns.h"

#define	START_MS	60000
#define	NAMESPACES	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | \
			CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
			CLONE_NEWTIME)

/* One end of each pipe is the child's. */
struct start {
	struct ns_child	 child;
	int		 go;
	int		 status;
	int		 pidfd;
	int		 proc;		/* its folder below /proc */
	pid_t		 pid;
	uid_t		 base;
};

static void
shut(int *fd)
{

	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

static void
close_child(struct ns_child *c)
{

	ns_cgroup_close(&c->cgroup);
	shut(&c->go);
	shut(&c->status);
	shut(&c->template);
	shut(&c->disk);
	shut(&c->shim);
	for (size_t i = 0; i < SANDBOX_SHARES; i++)
		shut(&c->share[i]);
}

static void
close_all(struct start *st)
{

	close_child(&st->child);
	shut(&st->go);
	shut(&st->status);
	shut(&st->pidfd);
	shut(&st->proc);
}

static void
init(struct start *st, const struct sandbox_spec *s)
{
	uint64_t shm = s->limits.memory / 2;

	memset(st, 0, sizeof(*st));
	st->go = st->status = st->pidfd = st->proc = -1;
	st->child.spec = s;
	st->child.cgroup.into = -1;
	st->child.go = st->child.status = st->child.template = -1;
	st->child.disk = st->child.shim = -1;
	for (size_t i = 0; i < SANDBOX_SHARES; i++)
		st->child.share[i] = -1;
	if (shm == 0)
		shm = 256U << 20;
	(void)snprintf(st->child.shm, sizeof(st->child.shm),
	    "mode=1777,size=%" PRIu64 ",nr_inodes=65536", shm);
}

/* A detached copy of the mount that ${path} is in, from there on. */
static int
detach(const char *path, uint64_t attr, int *fd, struct co_error *e)
{
	struct mount_attr ma = { .attr_set = attr };

	*fd = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (*fd == -1)
		return (co_error_errno(e, errno, path, "can't open it"));
	if (mount_setattr(*fd, "", AT_EMPTY_PATH, &ma, sizeof(ma)) != 0)
		return (co_error_errno(e, errno, path, "can't protect it"));
	return (0);
}

static bool
label_fine(const char *label)
{

	return (label != NULL && label[0] != '\0' &&
	    strcmp(label, ".") != 0 && strcmp(label, "..") != 0 &&
	    strchr(label, '/') == NULL);
}

static int
layers(struct ns_child *c, struct co_error *e)
{
	const struct sandbox_spec *s = c->spec;
	const uint64_t safe = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	const struct sandbox_share *sh;

	if ((c->disk = ns_disk_open(s, e)) == -1 ||
	    detach(s->template, safe | MOUNT_ATTR_RDONLY, &c->template,
	    e) != 0 ||
	    detach(s->shim, safe | MOUNT_ATTR_RDONLY, &c->shim, e) != 0)
		return (-1);
	ns_disk_forgive(c->disk);
	for (size_t i = 0; i < s->nshares; i++) {
		sh = &s->share[i];
		if (!label_fine(sh->label))
			return (co_error_set(e, CO_EPROTO_ARGUMENT, "label",
			    "a share can't have this label"));
		if (detach(sh->source, safe | (sh->readonly ?
		    MOUNT_ATTR_RDONLY : 0), &c->share[i], e) != 0)
			return (-1);
	}
	return (0);
}

static int
pipes(struct start *st, struct co_error *e)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) != 0)
		return (co_error_errno(e, errno, NULL, "no pipe"));
	st->child.go = p[0];
	st->go = p[1];
	if (pipe2(p, O_CLOEXEC) != 0)
		return (co_error_errno(e, errno, NULL, "no pipe"));
	st->status = p[0];
	st->child.status = p[1];
	return (0);
}

/* The limit on open files can't be above the daemon's own. */
static void
file_limit(struct ns_child *c)
{
	struct rlimit r;

	c->files = c->spec->limits.files;
	if (c->files != 0 && getrlimit(RLIMIT_NOFILE, &r) == 0 &&
	    c->files > r.rlim_max)
		c->files = r.rlim_max;
}

/* No handler of the daemon may run in the new process. */
static int
spawn(struct start *st, struct co_error *e)
{
	struct clone_args ca = { .flags = NAMESPACES | CLONE_PIDFD,
	    .pidfd = (uintptr_t)&st->pidfd, .exit_signal = SIGCHLD };
	sigset_t all, old;
	long pid;

	if (st->child.cgroup.into != -1) {
		ca.flags |= CLONE_INTO_CGROUP;
		ca.cgroup = (unsigned)st->child.cgroup.into;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	pid = syscall(SYS_clone3, &ca, sizeof(ca));
	if (pid == 0)
		ns_child(&st->child);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (pid == -1)
		return (co_error_errno(e, errno, "namespaces",
		    "can't make a process in new namespaces; is "
		    "/proc/sys/user/max_user_namespaces high enough?"));
	st->pid = (pid_t)pid;
	return (0);
}

static int
map(struct start *st, const char *file)
{
	char line[64];
	int fd, n, error = 0;

	n = snprintf(line, sizeof(line), "0 %u %d\n", (unsigned)st->base,
	    NS_IDS);
	if ((fd = openat(st->proc, file, O_WRONLY | O_CLOEXEC)) == -1)
		return (errno);
	if (write(fd, line, (size_t)n) != n)
		error = errno;
	close(fd);
	return (error);
}

/*
 * Ids of the range are those of the template and the disk.  A share whose
 * file system has no such mapping has a server that does without.
 */
static int
map_mounts(struct start *st, int userns, struct co_error *e)
{
	struct ns_child *c = &st->child;
	struct mount_attr ma = { .attr_set = MOUNT_ATTR_IDMAP,
	    .userns_fd = (unsigned)userns };

	if (mount_setattr(c->template, "", AT_EMPTY_PATH, &ma,
	    sizeof(ma)) != 0)
		return (co_error_errno(e, errno, c->spec->template,
		    "its file system can't map user ids; keep templates on "
		    "ext4, xfs or btrfs"));
	if (mount_setattr(c->disk, "", AT_EMPTY_PATH, &ma, sizeof(ma)) != 0)
		return (co_error_errno(e, errno, c->spec->dir,
		    "its file system can't map user ids; keep the state on "
		    "ext4, xfs or btrfs"));
	for (size_t i = 0; i < c->spec->nshares; i++)
		(void)mount_setattr(c->share[i], "", AT_EMPTY_PATH, &ma,
		    sizeof(ma));
	return (0);
}

static int
introduce(struct start *st, struct sandbox_run *run, struct co_error *e)
{
	int userns, error;
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/%d", (int)st->pid);
	st->proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (st->proc == -1)
		return (co_error_errno(e, errno, path, "can't open it"));
	if ((error = map(st, "uid_map")) != 0 ||
	    (error = map(st, "gid_map")) != 0)
		return (co_error_errno(e, error, path, "can't map user ids"));
	if ((userns = openat(st->proc, "ns/user", O_RDONLY |
	    O_CLOEXEC)) == -1 ||
	    (run->netns = openat(st->proc, "ns/net", O_RDONLY |
	    O_CLOEXEC)) == -1) {
		(void)co_error_errno(e, errno, path,
		    "can't open its namespaces");
		if (userns != -1)
			close(userns);
		return (-1);
	}
	error = map_mounts(st, userns, e);
	close(userns);
	run->pid = st->pid;
	run->birth = ns_birth(st->pid, NULL);
	return (error);
}

/* Nothing more on the pipe: the shim runs. */
static int
outcome(struct start *st, struct co_error *e)
{
	struct pollfd p = { .fd = st->status, .events = POLLIN };
	struct ns_failure f;
	ssize_t n;
	int ready;

	while ((ready = poll(&p, 1, START_MS)) == -1 && errno == EINTR)
		;
	if (ready != 1)
		return (co_error_set(e, CO_ESANDBOX_TIMEOUT,
		    st->child.spec->id, "the sandbox does not start"));
	while ((n = read(st->status, &f, sizeof(f))) == -1 && errno == EINTR)
		;
	if (n == 0 && poll(&(struct pollfd){ .fd = st->pidfd,
	    .events = POLLIN }, 1, 0) == 0)
		return (0);
	if (n != sizeof(f))
		return (co_error_set(e, CO_ESANDBOX_START,
		    st->child.spec->id, "the sandbox ended as it started"));
	f.what[sizeof(f.what) - 1] = '\0';
	(void)co_error_errno(e, f.errnum, st->child.spec->id,
	    "can't start the sandbox: %s", f.what);
	if (e != NULL && e->code == CO_ESYS_ERRNO)
		e->code = CO_ESANDBOX_START;
	return (-1);
}

static int
run_child(struct start *st, struct sandbox_run *run, struct co_error *e)
{

	if (spawn(st, e) != 0)
		return (-1);
	if (introduce(st, run, e) != 0)
		return (-1);
	close_child(&st->child);
	if (write(st->go, "", 1) != 1)
		return (co_error_set(e, CO_ESANDBOX_START, st->child.spec->id,
		    "the sandbox ended as it started"));
	return (outcome(st, e));
}

static void
undo(struct start *st, struct sandbox_run *run)
{

	if (st->pidfd != -1)
		ns_reap(st->pidfd);
	close_all(st);
	shut(&run->netns);
	(void)ns_cgroup_remove(st->child.spec->id, NULL);
	ns_slot_drop(st->child.spec->id);
}

int
ns_start(const struct sandbox_spec *s, struct sandbox_run *run,
    struct co_error *e)
{
	struct start st;

	memset(run, 0, sizeof(*run));
	run->netns = -1;
	init(&st, s);
	file_limit(&st.child);
	if ((st.child.filter = ns_seccomp(e)) == NULL ||
	    layers(&st.child, e) != 0 || pipes(&st, e) != 0 ||
	    ns_slot_take(s->id, &st.base, e) != 0 ||
	    ns_cgroup_make(s, &st.child.cgroup, e) != 0 ||
	    run_child(&st, run, e) != 0) {
		undo(&st, run);
		return (-1);
	}
	close_all(&st);
	return (0);
}
