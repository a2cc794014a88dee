/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Which system calls a sandbox has, whatever their arguments.  What is not
 * here is refused, or decided upon in ns_seccomp_linux.c.
 */

#include "ns_calls.h"

const char *const ns_allowed[] = {
	/* files */
	"access", "chdir", "chmod", "chown", "chown32", "close",
	"close_range", "copy_file_range", "creat", "dup", "dup2", "dup3",
	"epoll_create", "epoll_create1", "epoll_ctl", "epoll_ctl_old",
	"epoll_pwait", "epoll_pwait2", "epoll_wait", "epoll_wait_old",
	"eventfd", "eventfd2", "faccessat", "faccessat2", "fadvise64",
	"fallocate", "fchdir", "fchmod", "fchmodat", "fchmodat2", "fchown",
	"fchownat", "fcntl", "fdatasync", "fgetxattr", "flistxattr", "flock",
	"fremovexattr", "fsetxattr", "fstat", "fstatfs", "fsync",
	"ftruncate", "futimesat", "getcwd", "getdents", "getdents64",
	"getxattr", "inotify_add_watch", "inotify_init", "inotify_init1",
	"inotify_rm_watch", "ioctl", "lchown", "lgetxattr", "link", "linkat",
	"listxattr", "llistxattr", "lremovexattr", "lseek", "lsetxattr",
	"lstat", "mkdir", "mkdirat", "name_to_handle_at", "newfstatat",
	"open", "openat", "openat2", "pipe", "pipe2", "poll", "ppoll",
	"pread64", "preadv", "preadv2", "pselect6", "pwrite64", "pwritev",
	"pwritev2", "read", "readahead", "readlink", "readlinkat", "readv",
	"removexattr", "rename", "renameat", "renameat2", "rmdir", "select",
	"sendfile", "setxattr", "signalfd", "signalfd4", "splice", "stat",
	"statfs", "statx", "symlink", "symlinkat", "sync",
	"sync_file_range", "syncfs", "tee", "timerfd_create",
	"timerfd_gettime", "timerfd_settime", "truncate", "umask", "unlink",
	"unlinkat", "utime", "utimensat", "utimes", "vmsplice", "write",
	"writev", "chroot",
	/* memory */
	"brk", "get_mempolicy", "madvise", "mbind", "membarrier",
	"memfd_create", "memfd_secret", "mincore", "mlock", "mlock2",
	"mlockall", "mmap", "mprotect", "mremap", "mseal", "msync",
	"munlock", "munlockall", "munmap", "pkey_alloc", "pkey_free",
	"pkey_mprotect", "process_madvise", "process_mrelease",
	"process_vm_readv", "process_vm_writev", "remap_file_pages",
	"set_mempolicy", "set_mempolicy_home_node", "cachestat",
	"map_shadow_stack",
	/* processes and signals */
	"alarm", "arch_prctl", "capget", "capset", "execve", "execveat",
	"exit", "exit_group", "fork", "futex", "futex_waitv", "getegid",
	"geteuid", "getgid", "getgroups", "getitimer", "getpgid", "getpgrp",
	"getpid", "getppid", "getpriority", "getresgid", "getresuid",
	"getrlimit", "prlimit64", "setrlimit", "getrusage", "getsid",
	"gettid", "getuid",
	"get_robust_list", "get_thread_area", "ioprio_get", "ioprio_set",
	"kill", "landlock_add_rule", "landlock_create_ruleset",
	"landlock_restrict_self", "nanosleep", "pause", "pidfd_getfd",
	"pidfd_open", "pidfd_send_signal", "prctl", "ptrace",
	"restart_syscall", "rseq", "rt_sigaction", "rt_sigpending",
	"rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn",
	"rt_sigsuspend", "rt_sigtimedwait", "rt_tgsigqueueinfo",
	"sched_getaffinity", "sched_getattr", "sched_getparam",
	"sched_get_priority_max", "sched_get_priority_min",
	"sched_getscheduler", "sched_rr_get_interval", "sched_setaffinity",
	"sched_setattr", "sched_setparam", "sched_setscheduler",
	"sched_yield", "seccomp", "setfsgid", "setfsuid", "setgid",
	"setgroups", "setitimer", "setpgid", "setpriority", "setregid",
	"setresgid", "setresuid", "setreuid", "set_robust_list", "setsid",
	"set_thread_area", "set_tid_address", "setuid", "sigaltstack",
	"tgkill", "tkill", "vfork", "wait4", "waitid",
	/* time and the system */
	"clock_getres", "clock_gettime", "clock_nanosleep", "getcpu",
	"getrandom", "gettimeofday", "sysinfo", "time", "timer_create",
	"timer_delete", "timer_getoverrun", "timer_gettime",
	"timer_settime", "times", "uname",
	/* talking to each other */
	"accept", "accept4", "bind", "connect", "getpeername",
	"getsockname", "getsockopt", "listen", "mq_getsetattr", "mq_notify",
	"mq_open", "mq_timedreceive", "mq_timedsend", "mq_unlink", "msgctl",
	"msgget", "msgrcv", "msgsnd", "recvfrom", "recvmmsg", "recvmsg",
	"semctl", "semget", "semop", "semtimedop", "sendmmsg", "sendmsg",
	"sendto", "setsockopt", "shmat", "shmctl", "shmdt", "shmget",
	"shutdown",
	/* asynchronous i/o of old */
	"io_cancel", "io_destroy", "io_getevents", "io_pgetevents",
	"io_setup", "io_submit",
	NULL
};
