/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Attacks on processes: the shim, those of the host, and what we are
 * ourselves allowed.
 */

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <linux/capability.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ns_attack.h"

static int
proc_file(const char *name, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", bait_number("TARGET"),
	    name);
	return (open(path, flags | O_CLOEXEC));
}

int
a_mem(void)
{

	return (outcome(proc_file("mem", O_RDWR)));
}

int
a_environ(void)
{

	return (outcome(proc_file("environ", O_RDONLY)));
}

/* To have the host run our code as the shim of the next sandbox. */
int
a_exe(void)
{
	char path[64];
	int fd;

	if (proc_file("exe", O_WRONLY) != -1 ||
	    proc_file("exe", O_RDWR | O_APPEND) != -1)
		return (0);
	if ((fd = proc_file("exe", O_PATH)) == -1)
		return (errno);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (chmod(path, 0777) == 0 || truncate(path, 0) == 0)
		return (0);
	return (outcome(open(path, O_WRONLY)));
}

int
a_fd_steal(void)
{
	int pidfd;

	pidfd = (int)syscall(SYS_pidfd_open, bait_number("TARGET"), 0);
	if (pidfd == -1)
		return (errno);
	for (int fd = 0; fd < 16; fd++)
		if (syscall(SYS_pidfd_getfd, pidfd, fd, 0) != -1)
			return (0);
	return (errno);
}

/* Or to reach the socket that the host commands it by. */
int
a_shim_socket(void)
{
	char path[64];
	struct dirent *de;
	int error = ENOENT;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", bait_number("TARGET"));
	if ((d = opendir(path)) == NULL)
		return (errno);
	while ((de = readdir(d)) != NULL)
		if (de->d_name[0] != '.')
			error = outcome(openat(dirfd(d), de->d_name,
			    O_RDONLY)) == 0 ? 0 : error;
	closedir(d);
	return (error);
}

int
a_ptrace(void)
{
	pid_t pid = bait_number("TARGET");

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) != 0)
		return (errno);
	(void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
	return (0);
}

int
a_vm_read(void)
{
	static char page[64];
	struct iovec here = { page, sizeof(page) }, there;
	unsigned long from;
	char line[256];
	FILE *fp;

	snprintf(line, sizeof(line), "/proc/%d/maps", bait_number("TARGET"));
	if ((fp = fopen(line, "r")) == NULL)
		return (errno);
	if (fgets(line, sizeof(line), fp) == NULL) {
		fclose(fp);
		return (EPERM);
	}
	fclose(fp);
	from = strtoul(line, NULL, 16);
	memcpy(&there.iov_base, &from, sizeof(from));
	there.iov_len = sizeof(page);
	return (outcome(process_vm_readv(bait_number("TARGET"), &here, 1,
	    &there, 1, 0)));
}

int
a_signal(void)
{

	return (outcome(kill(bait_number("BAIT_PID"), 0)));
}

int
a_prlimit(void)
{
	struct rlimit r;

	return (outcome(prlimit(bait_number("BAIT_PID"), RLIMIT_NOFILE, NULL,
	    &r)));
}

/* Nothing is open but three, and what looks. */
int
a_leaked(void)
{
	struct dirent *de;
	int error = EBADF;
	DIR *d;

	if ((d = opendir("/proc/self/fd")) == NULL)
		return (errno);
	while ((de = readdir(d)) != NULL)
		if (de->d_name[0] != '.' && strtol(de->d_name, NULL, 10) > 2 &&
		    strtol(de->d_name, NULL, 10) != dirfd(d))
			error = 0;
	closedir(d);
	return (error);
}

int
a_capset(void)
{
	struct __user_cap_header_struct h = {
		.version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2];

	memset(d, 0, sizeof(d));
	d[0].permitted = d[0].effective = 1U << CAP_SYS_ADMIN;
	return (outcome(syscall(SYS_capset, &h, d)));
}

int
a_new_privs(void)
{

	return (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0 ? 0 : EPERM);
}

int
a_no_filter(void)
{

	return (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0 ? 0 : EPERM);
}

static int
core_is_zero(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_CORE, &r) != 0)
		return (errno);
	return (r.rlim_cur == 0 ? 0 : EPERM);
}

/* A limit of 0 has the host's core_pattern helper run for us. */
int
a_core_limit(void)
{
	struct rlimit r = { 0, 1 };

	(void)setrlimit(RLIMIT_CORE, &r);
	(void)syscall(SYS_prlimit64, 0, RLIMIT_CORE, &r, NULL);
#ifdef SYS_setrlimit
	(void)syscall(SYS_setrlimit, RLIMIT_CORE, &r);
	(void)syscall(SYS_setrlimit, RLIMIT_CORE | 1L << 32, &r);
#endif
	return (core_is_zero());
}

/* A filter that looks at half of a pointer takes this one for NULL. */
int
a_core_trick(void)
{
	struct rlimit64 *r;
	void *at;
	uint64_t want = 1ULL << 33;

	memcpy(&at, &want, sizeof(at));
	r = mmap(at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE |
	    MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (r == MAP_FAILED)
		return (errno);
	r->rlim_cur = 0;
	r->rlim_max = 1;
	(void)syscall(SYS_prlimit64, 0, RLIMIT_CORE, r, NULL);
	return (core_is_zero());
}

static int
become(void)
{

	return (outcome(setuid(70000)));
}

int
a_uid_outside(void)
{

	return (in_child(become));
}

int
a_nice(void)
{

	return (outcome(setpriority(PRIO_PROCESS, 0, -20)));
}

int
a_realtime(void)
{
	struct sched_param sp = { .sched_priority = 50 };

	return (outcome(sched_setscheduler(0, SCHED_FIFO, &sp)));
}

int
a_oom_adj(void)
{
	int fd, error;

	if ((fd = open("/proc/self/oom_score_adj", O_WRONLY)) == -1)
		return (errno);
	error = outcome(write(fd, "-1000", 5));
	close(fd);
	return (error);
}

static int tty_request;

static int
on_tty(void)
{
	int m, s;
	char c = 'x';

	if ((m = posix_openpt(O_RDWR | O_NOCTTY)) == -1 ||
	    grantpt(m) != 0 || unlockpt(m) != 0)
		return (errno);
	(void)setsid();
	if ((s = ioctl(m, TIOCGPTPEER, O_RDWR | O_NOCTTY)) == -1 ||
	    ioctl(s, TIOCSCTTY, 0) != 0)
		return (errno);
	return (outcome(ioctl(s, (unsigned long)tty_request, &c)));
}

int
a_tiocsti(void)
{

	tty_request = TIOCSTI;
	return (in_child(on_tty));
}

int
a_tioclinux(void)
{

	tty_request = TIOCLINUX;
	return (in_child(on_tty));
}

int
a_personality(void)
{

	return (outcome(personality(READ_IMPLIES_EXEC)));
}
