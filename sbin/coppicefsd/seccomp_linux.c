/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Linux: the system calls that serving needs.  Nothing here opens a socket,
 * runs a program, mounts, traces or sends a signal to another process.
 */

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <linux/fs.h>
#include <linux/mount.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <unistd.h>

#include "coppicefsd.h"

#define	FUSE_CLONE	_IOR(229, 0, uint32_t)

static const char *const allowed[] = {
	/* Files, from descriptors. */
	"openat", "openat2", "close", "close_range", "read", "write",
	"readv", "writev", "pread64", "pwrite64", "preadv", "pwritev",
	"preadv2", "pwritev2", "lseek", "fstat", "newfstatat", "statx",
	"stat", "lstat", "fstatfs", "statfs", "getdents64", "readlinkat",
	"readlink", "access", "faccessat", "faccessat2", "mkdirat",
	"mknodat", "symlinkat", "linkat", "unlinkat", "renameat",
	"renameat2", "fchmod", "fchmodat", "fchmodat2", "fchown", "fchownat",
	"utimensat", "ftruncate", "fallocate", "copy_file_range",
	"sendfile", "splice", "fsync", "fdatasync", "syncfs",
	"sync_file_range", "fadvise64", "flock", "fcntl", "dup", "dup3",
	"umask", "name_to_handle_at", "open_by_handle_at",
	"fgetxattr", "flistxattr", "fsetxattr", "fremovexattr",
	"getxattr", "listxattr", "setxattr", "removexattr",
	"lgetxattr", "llistxattr", "lsetxattr", "lremovexattr",
	"getxattrat", "listxattrat", "setxattrat", "removexattrat",
	"memfd_create", "pipe2", "eventfd2",
	/* Watching. */
	"fanotify_mark", "inotify_add_watch", "inotify_rm_watch",
	/* Sockets that are open, and those that come. */
	"accept4", "accept", "recvmsg", "recvfrom", "sendmsg", "sendto",
	"shutdown", "getsockopt", "setsockopt", "getsockname",
	"getpeername", "poll", "ppoll", "pselect6",
	"epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait",
	/* Memory, threads, time. */
	"munmap", "mremap", "madvise", "brk", "membarrier",
	"futex", "set_robust_list", "get_robust_list", "rseq",
	"sched_yield", "sched_getaffinity", "clock_gettime",
	"clock_nanosleep", "nanosleep", "gettimeofday", "getrandom",
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn",
	"rt_sigtimedwait", "restart_syscall", "sigaltstack", "exit",
	"exit_group", "gettid", "getpid", "getppid", "getuid", "geteuid",
	"getgid", "getegid", "getgroups", "getrlimit", "getrusage",
	"sysinfo", "uname", "getcwd",
	NULL
};

/* Only to act as the caller, in one thread. */
static const char *const personas[] = {
	"setfsuid", "setfsgid", "setgroups", "capget", "capset", NULL
};

static int
allow_all(scmp_filter_ctx f, const char *const *names)
{
	int error, nr;

	for (; *names != NULL; names++) {
		/* Names that this library is too old or new for. */
		nr = seccomp_syscall_resolve_name(*names);
		if (nr == __NR_SCMP_ERROR)
			continue;
		error = seccomp_rule_add(f, SCMP_ACT_ALLOW, nr, 0);
		if (error != 0 && error != -EDOM)
			return (-error);
	}
	return (0);
}

/* Numbers that came after the library's table. */
static int
allow_new(scmp_filter_ctx f)
{
	static const int nrs[] = { 452 /* fchmodat2 */,
	    463 /* setxattrat */, 464, 465, 466 /* removexattrat */ };
	size_t i;
	int error;

	for (i = 0; i < sizeof(nrs) / sizeof(nrs[0]); i++) {
		error = seccomp_rule_add(f, SCMP_ACT_ALLOW, nrs[i], 0);
		if (error != 0 && error != -EDOM && error != -EEXIST)
			return (-error);
	}
	return (0);
}

/*
 * Calls that are fine with some arguments only: threads, no processes (the
 * newer call hides its flags); signals to our own threads; no copy of a
 * mount; no memory that is made executable; a look at limits.
 */
static int
allow_some(scmp_filter_ctx f)
{
	const uint64_t thread = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND;
	const struct {
		int			nr;
		struct scmp_arg_cmp	arg;
	} some[] = {
		{ SCMP_SYS(ioctl), { 1, SCMP_CMP_MASKED_EQ, UINT32_MAX,
		    FICLONE } },
		{ SCMP_SYS(ioctl), { 1, SCMP_CMP_MASKED_EQ, UINT32_MAX,
		    FICLONERANGE } },
		{ SCMP_SYS(ioctl), { 1, SCMP_CMP_MASKED_EQ, UINT32_MAX,
		    FUSE_CLONE } },
		{ SCMP_SYS(clone), { 0, SCMP_CMP_MASKED_EQ, thread,
		    thread } },
		{ SCMP_SYS(tgkill), { 0, SCMP_CMP_EQ,
		    (scmp_datum_t)getpid(), 0 } },
		{ SCMP_SYS(open_tree), { 2, SCMP_CMP_MASKED_EQ,
		    OPEN_TREE_CLONE, 0 } },
		{ SCMP_SYS(unshare), { 0, SCMP_CMP_EQ, CLONE_FS, 0 } },
		{ SCMP_SYS(prctl), { 0, SCMP_CMP_EQ, PR_SET_NAME, 0 } },
		{ SCMP_SYS(mmap), { 2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0 } },
		{ SCMP_SYS(mprotect), { 2, SCMP_CMP_MASKED_EQ, PROT_EXEC,
		    0 } },
		{ SCMP_SYS(prlimit64), { 2, SCMP_CMP_EQ, 0, 0 } }
	};
	size_t i;
	int error;

	for (i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		error = seccomp_rule_add_array(f, SCMP_ACT_ALLOW, some[i].nr,
		    1, &some[i].arg);
		if (error != 0)
			return (-error);
	}
	return (-seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS),
	    SCMP_SYS(clone3), 0));
}

int
seccomp_enter(struct server *s, struct co_error *e)
{
	scmp_filter_ctx f;
	int error;

	f = seccomp_init(s->conf->seccomp == SECCOMP_KILL ?
	    SCMP_ACT_KILL_PROCESS : SCMP_ACT_ERRNO(EPERM));
	if (f == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "no filter"));
	(void)seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if ((error = allow_all(f, allowed)) == 0 &&
	    (error = allow_new(f)) == 0 &&
	    (error = allow_some(f)) == 0 &&
	    (s->conf->share.identity != SHARE_CALLER ||
	    (error = allow_all(f, personas)) == 0))
		error = -seccomp_load(f);
	seccomp_release(f);
	if (error != 0)
		return (co_error_errno(e, error, NULL,
		    "cannot filter system calls; -o seccomp=off does "
		    "without"));
	return (0);
}
