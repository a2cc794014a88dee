/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first process of a sandbox, from its birth to the shim: it lets go of
 * the daemon's descriptors, enters its cgroups, becomes root of its user
 * namespace, makes its root, and gives up what it must not keep.  It is the
 * copy of a program with threads: nothing here may allocate, lock or print.
 */

#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>

#include <net/if.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "ns.h"

#define	BIT(c)	(1ULL << (c))

/* What root of a sandbox may do, to what belongs to the sandbox. */
static const uint64_t kept = BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) |
    BIT(CAP_FOWNER) | BIT(CAP_FSETID) | BIT(CAP_KILL) | BIT(CAP_SETGID) |
    BIT(CAP_SETUID) | BIT(CAP_NET_BIND_SERVICE) | BIT(CAP_SYS_CHROOT);

void
ns_fail(const struct ns_child *c, const char *what)
{
	struct ns_failure f = { .errnum = errno };
	size_t n = strlen(what);

	if (n > sizeof(f.what) - 1)
		n = sizeof(f.what) - 1;
	memcpy(f.what, what, n);
	(void)!write(c->status, &f, sizeof(f));
	_exit(1);
}

/* Not to hold another sandbox's pipes, nor anything of the daemon. */
static void
close_others(const struct ns_child *c)
{
	int keep[8 + SANDBOX_SHARES + NS_MAXTASKS], n = 0, next = 3, t;

	keep[n++] = c->go;
	keep[n++] = c->status;
	keep[n++] = c->template;
	keep[n++] = c->disk;
	keep[n++] = c->shim;
	keep[n++] = c->spec->listenfd;
	for (size_t i = 0; i < c->spec->nshares; i++)
		keep[n++] = c->share[i];
	for (size_t i = 0; i < c->cgroup.ntasks; i++)
		keep[n++] = c->cgroup.tasks[i];
	for (int i = 1; i < n; i++)
		for (int j = i; j > 0 && keep[j - 1] > keep[j]; j--) {
			t = keep[j];
			keep[j] = keep[j - 1];
			keep[j - 1] = t;
		}
	for (int i = 0; i < n; i++) {
		if (keep[i] > next)
			(void)syscall(SYS_close_range, (unsigned)next,
			    (unsigned)keep[i] - 1, 0U);
		if (keep[i] >= next)
			next = keep[i] + 1;
	}
	(void)syscall(SYS_close_range, (unsigned)next, ~0U, 0U);
}

/*
 * A thread that moves itself takes no lock that others of the host wait
 * for; whoever moves another process does.
 */
static void
enter_cgroups(const struct ns_child *c)
{

	for (size_t i = 0; i < c->cgroup.ntasks; i++)
		if (write(c->cgroup.tasks[i], "0", 1) != 1)
			ns_fail(c, "cgroup");
}

/* Until the daemon has mapped our ids; or for ever gone. */
static void
await(const struct ns_child *c)
{
	ssize_t n;
	char b;

	while ((n = read(c->go, &b, 1)) == -1 && errno == EINTR)
		;
	if (n != 1)
		_exit(1);
}

static void
become_root(const struct ns_child *c)
{

	if (syscall(SYS_setgroups, 0, NULL) != 0 ||
	    syscall(SYS_setresgid, 0, 0, 0) != 0 ||
	    syscall(SYS_setresuid, 0, 0, 0) != 0)
		ns_fail(c, "user ids");
	/* The root of this namespace is where we are now. */
	if (unshare(CLONE_NEWCGROUP) != 0)
		ns_fail(c, "cgroup namespace");
}

static void
names(const struct ns_child *c)
{
	struct ifreq ifr = { .ifr_flags = IFF_UP | IFF_RUNNING };
	size_t len = strnlen(c->spec->name, HOST_NAME_MAX);
	int fd;

	if (sethostname(c->spec->name, len) != 0)
		ns_fail(c, "hostname");
	memcpy(ifr.ifr_name, "lo", 3);
	if ((fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) == -1 ||
	    ioctl(fd, SIOCSIFFLAGS, &ifr) != 0)
		ns_fail(c, "loopback");
	close(fd);
}

static void
limits(const struct ns_child *c)
{
	/* 1, not 0: with 0 the host would still run a core_pattern helper. */
	struct rlimit core = { .rlim_cur = 1, .rlim_max = 1 };
	struct rlimit files = { .rlim_cur = c->files,
	    .rlim_max = c->files };

	if (setrlimit(RLIMIT_CORE, &core) != 0)
		ns_fail(c, "core limit");
	if (c->files != 0 && setrlimit(RLIMIT_NOFILE, &files) != 0)
		ns_fail(c, "file limit");
}

/* Descriptors 0 to 2 lead nowhere, 3 is the shim's socket, no others. */
static void
descriptors(struct ns_child *c)
{
	int listenfd, fd;

	if ((c->status = fcntl(c->status, F_DUPFD_CLOEXEC, 16)) == -1 ||
	    (c->shim = fcntl(c->shim, F_DUPFD_CLOEXEC, 16)) == -1 ||
	    (listenfd = fcntl(c->spec->listenfd, F_DUPFD_CLOEXEC, 16)) == -1)
		ns_fail(c, "descriptors");
	/* The sandbox's own node, not the daemon's descriptor. */
	if ((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) == -1)
		ns_fail(c, "/dev/null");
	if (dup2(fd, 0) == -1 || dup2(fd, 1) == -1 || dup2(fd, 2) == -1 ||
	    dup2(listenfd, 3) == -1 || syscall(SYS_close_range, 4U, ~0U,
	    CLOSE_RANGE_CLOEXEC) != 0)
		ns_fail(c, "descriptors");
}

static void
drop(const struct ns_child *c)
{
	struct __user_cap_header_struct h = {
		.version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2];

	for (unsigned cap = 0; cap < 64; cap++)
		if ((kept & BIT(cap)) == 0 &&
		    prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0) {
			if (errno == EINVAL && cap > CAP_AUDIT_READ)
				break;
			ns_fail(c, "bounding set");
		}
	memset(d, 0, sizeof(d));
	d[0].effective = d[0].permitted = (uint32_t)kept;
	d[1].effective = d[1].permitted = (uint32_t)(kept >> 32);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &h, d) != 0)
		ns_fail(c, "capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		ns_fail(c, "no_new_privs");
}

void
ns_child(struct ns_child *c)
{
	static char *const env[] = { NULL };
	char name[] = "coppice-shim", opt[] = "--listen", fd[] = "3";
	char *const argv[] = { name, opt, fd, NULL };
	sigset_t none;

	(void)setsid();
	close_others(c);
	enter_cgroups(c);
	await(c);
	become_root(c);
	(void)umask(0);
	ns_root(c);
	(void)umask(022);
	names(c);
	limits(c);
	descriptors(c);
	/* A keyring that nobody else has; kernels need not have any. */
	(void)syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	drop(c);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0,
	    c->filter) != 0)
		ns_fail(c, "seccomp");
	(void)syscall(SYS_execveat, c->shim, "", argv, env, AT_EMPTY_PATH);
	ns_fail(c, "shim");
}
