/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The seccomp filter, made by libseccomp once in a process and kept as a
 * program, since making it takes longer than starting a sandbox.
 */

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <seccomp.h>

#include "ns.h"
#include "ns_calls.h"

#define	NEWNS		(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | \
			CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
			CLONE_NEWNET)
#define	LOW		0xffffffffU	/* the kernel looks at 32 bits */

static struct sock_fprog prog;
static int failed;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int
rule(scmp_filter_ctx f, uint32_t act, const char *name, unsigned n,
    const struct scmp_arg_cmp *args)
{
	int nr = seccomp_syscall_resolve_name(name);

	/* Not on this machine, or too new for the library. */
	if (nr < 0)
		return (0);
	return (seccomp_rule_add_array(f, act, nr, n, args));
}

/* Those of the list; also tell the highest number among them. */
static int
plain(scmp_filter_ctx f, uint32_t *newest)
{
	int error = 0, nr;

	for (size_t i = 0; error == 0 && ns_allowed[i] != NULL; i++) {
		error = rule(f, SCMP_ACT_ALLOW, ns_allowed[i], 0, NULL);
		nr = seccomp_syscall_resolve_name(ns_allowed[i]);
		if (nr >= 0 && (uint32_t)nr > *newest)
			*newest = (uint32_t)nr;
	}
	return (error);
}

/* One call, allowed when one argument has a value under a mask. */
static int
when(scmp_filter_ctx f, const char *name, unsigned arg, uint64_t mask,
    uint64_t value)
{
	struct scmp_arg_cmp a = { .arg = arg, .op = SCMP_CMP_MASKED_EQ,
	    .datum_a = mask, .datum_b = value };

	return (rule(f, SCMP_ACT_ALLOW, name, 1, &a));
}

/*
 * Namespaces are the way to most of what a kernel does wrong.  clone3 has
 * its flags in memory, out of a filter's sight; libc falls back to clone.
 * The time namespace can't be had by clone: its bit is the exit signal's.
 */
static int
namespaces(scmp_filter_ctx f)
{
	int error;

	if ((error = when(f, "clone", 0, NEWNS, 0)) != 0 ||
	    (error = when(f, "unshare", 0, NEWNS | CLONE_NEWTIME, 0)) != 0)
		return (error);
	return (rule(f, SCMP_ACT_ERRNO(ENOSYS), "clone3", 0, NULL));
}

static int
sockets(scmp_filter_ctx f)
{
	static const int families[] = { AF_UNIX, AF_INET, AF_INET6 };
	const struct scmp_arg_cmp route[] = {
		SCMP_A0(SCMP_CMP_MASKED_EQ, LOW, AF_NETLINK),
		SCMP_A2(SCMP_CMP_MASKED_EQ, LOW, NETLINK_ROUTE),
	};
	int error;

	for (size_t i = 0; i < sizeof(families) / sizeof(int); i++)
		if ((error = when(f, "socket", 0, LOW,
		    (uint64_t)families[i])) != 0)
			return (error);
	if ((error = when(f, "socketpair", 0, LOW, AF_UNIX)) != 0)
		return (error);
	return (rule(f, SCMP_ACT_ALLOW, "socket", 2, route));
}

static int
nodes(scmp_filter_ctx f)
{
	static const unsigned kinds[] = { 0, S_IFREG, S_IFIFO, S_IFSOCK };
	int error;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if ((error = when(f, "mknod", 1, S_IFMT, kinds[i])) != 0 ||
		    (error = when(f, "mknodat", 2, S_IFMT, kinds[i])) != 0)
			return (error);
	return (0);
}

static int
personalities(scmp_filter_ctx f)
{
	static const unsigned kinds[] = { 0, ADDR_NO_RANDOMIZE, LOW };
	int error;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if ((error = when(f, "personality", 0, LOW, kinds[i])) != 0)
			return (error);
	return (0);
}

/*
 * What libseccomp can't say: a call is refused for one argument, allowed for
 * all others.  This runs before its program.
 *
 * Putting words into a terminal's mouth is refused.  The limit of 1 on core
 * files keeps the host from running its core_pattern helper for a sandbox; 0
 * would not.  Whoever sets it is told that it worked, as there will be no
 * core file either way.  Calls newer than all those that are allowed do not
 * exist, so that programs fall back.
 */
#define	LOAD(off)	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(off))
#define	NR		LOAD(offsetof(struct seccomp_data, nr))
#define	ARG(n)		LOAD(offsetof(struct seccomp_data, args[n]) + HALF)
#define	ARGHIGH(n)	LOAD(offsetof(struct seccomp_data, args[n]) + 4 - \
			HALF)
#define	IF(k, yes, no)	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (k), (yes), (no))
#define	ERRNO(n)	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (n))
#define	HALF		(__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0)

static int
before(int fd, uint32_t newest)
{
	const struct sock_filter code[] = {
		/* 0 */ LOAD(offsetof(struct seccomp_data, arch)),
		/* 1 */ IF(seccomp_arch_native(), 0, 19),
		/* 2 */ NR,
		/* 3 */ BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, newest, 14, 0),
		/* 4 */ IF(__NR_ioctl, 0, 3),
		/* 5 */ ARG(1),
		/* 6 */ IF(TIOCSTI, 12, 0),
		/* 7 */ IF(TIOCLINUX, 11, 13),
		/* 8 */ IF(__NR_setrlimit, 0, 2),
		/* 9 */ ARG(0),
		/* 10 */ IF(RLIMIT_CORE, 9, 10),
		/* 11 */ IF(__NR_prlimit64, 0, 9),
		/* 12 */ ARG(1),
		/* 13 */ IF(RLIMIT_CORE, 0, 7),
		/* 14: only asked for when both halves of the pointer are 0 */
		ARG(2),
		/* 15 */ IF(0, 0, 4),
		/* 16 */ ARGHIGH(2),
		/* 17 */ IF(0, 3, 2),
		/* 18 */ ERRNO(ENOSYS),
		/* 19 */ ERRNO(EPERM),
		/* 20 */ ERRNO(0),
	};

	return (write(fd, code, sizeof(code)) == sizeof(code) ? 0 : -EIO);
}

static int
keep(int fd)
{
	struct stat st;
	void *p;

	if (fstat(fd, &st) != 0 || (p = malloc((size_t)st.st_size)) == NULL)
		return (-errno);
	if (pread(fd, p, (size_t)st.st_size, 0) != st.st_size) {
		free(p);
		return (-EIO);
	}
	prog.filter = p;
	prog.len = (unsigned short)((size_t)st.st_size /
	    sizeof(struct sock_filter));
	return (0);
}

static int
export(scmp_filter_ctx f, uint32_t newest)
{
	int fd, error;

	if ((fd = memfd_create("seccomp", MFD_CLOEXEC)) == -1)
		return (-errno);
	if ((error = before(fd, newest)) == 0 &&
	    (error = seccomp_export_bpf(f, fd)) == 0)
		error = keep(fd);
	close(fd);
	return (error);
}

static void
make(void)
{
	uint32_t newest = 0;
	scmp_filter_ctx f;

	if ((f = seccomp_init(SCMP_ACT_ERRNO(EPERM))) == NULL) {
		failed = -ENOMEM;
		return;
	}
	/* A tree instead of a list; older libraries do without. */
	(void)seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if ((failed = seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH,
	    SCMP_ACT_KILL_PROCESS)) == 0 &&
	    (failed = plain(f, &newest)) == 0 &&
	    (failed = namespaces(f)) == 0 && (failed = sockets(f)) == 0 &&
	    (failed = nodes(f)) == 0 && (failed = personalities(f)) == 0)
		failed = export(f, newest);
	seccomp_release(f);
}

const struct sock_fprog *
ns_seccomp(struct co_error *e)
{

	pthread_once(&once, make);
	if (failed != 0) {
		(void)co_error_errno(e, -failed, "seccomp",
		    "can't make the filter of system calls");
		return (NULL);
	}
	return (&prog);
}
