/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Linux: reaping orphans, sessions by way of /proc, figures, the end of the
 * machine.
 */

#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys.h"

const char *
sys_platform(void)
{

	return ("linux");
}

static void
write_file(const char *path, const char *text)
{
	int fd;

	if ((fd = open(path, O_WRONLY | O_CLOEXEC)) == -1)
		return;
	(void)!write(fd, text, strlen(text));
	close(fd);
}

/* Read a small file; its length, or -1. */
static ssize_t
read_file(const char *path, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n = 0;
	int fd;

	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return (-1);
	while (len < size - 1 && (n = read(fd, buf + len,
	    size - 1 - len)) > 0)
		len += (size_t)n;
	close(fd);
	buf[len] = '\0';
	return (n == -1 ? -1 : (ssize_t)len);
}

void
sys_become_init(void)
{

	if (getpid() != 1)
		(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	/* When memory runs out, the sandbox's programs go first. */
	write_file("/proc/self/oom_score_adj", "-1000");
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

void
sys_before_exec(void)
{

	write_file("/proc/self/oom_score_adj", "0");
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

void
sys_close_from(int first)
{

#ifdef SYS_close_range
	if (syscall(SYS_close_range, (unsigned)first, ~0U, 0U) == 0)
		return;
#endif
	for (int fd = first; fd < (int)sysconf(_SC_OPEN_MAX); fd++)
		close(fd);
}

int
sys_set_groups(const gid_t *groups, int n)
{

	return (setgroups((size_t)n, groups) == 0 ? 0 : errno);
}

int
sys_set_hostname(const char *name)
{

	return (sethostname(name, strlen(name)) == 0 ? 0 : errno);
}

/* Fields of /proc/PID/stat after the name in parentheses. */
static bool
session_of(const char *pid, char *state, int *pgrp, int *sid)
{
	char path[64], buf[1024], *p;

	(void)snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	if (read_file(path, buf, sizeof(buf)) <= 0 ||
	    (p = strrchr(buf, ')')) == NULL || strlen(p) < 3)
		return (false);
	*state = p[2];
	/* ") S ppid pgrp session": numbers of the kernel's own making. */
	for (int i = 0; i < 3; i++)
		if ((p = strchr(p + 1, ' ')) == NULL)
			return (false);
	*pgrp = (int)strtol(p, &p, 10);
	*sid = (int)strtol(p, NULL, 10);
	return (true);
}

/* Signal, or with 0 only count, who lives in a session. */
static int
session_each(pid_t wanted, int sig)
{
	struct dirent *de;
	int pgrp, sid, n = 0;
	char state;
	DIR *d;

	if ((d = opendir("/proc")) == NULL)
		return (0);
	while ((de = readdir(d)) != NULL) {
		if (de->d_name[0] < '1' || de->d_name[0] > '9' ||
		    !session_of(de->d_name, &state, &pgrp, &sid) ||
		    sid != wanted || state == 'Z' || state == 'X')
			continue;
		n++;
		if (sig != 0 && pgrp != wanted)
			(void)kill((pid_t)strtol(de->d_name, NULL, 10), sig);
	}
	closedir(d);
	return (n);
}

void
sys_signal_session(pid_t sid, int sig)
{

	(void)session_each(sid, sig);
}

bool
sys_session_alive(pid_t sid)
{

	return (session_each(sid, 0) > 0);
}

/* Our own children, when the rest of the world is not ours to signal. */
static void
signal_children(int sig)
{
	char path[64], buf[16384], *p, *end;
	long pid;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children",
	    (int)getpid());
	if (read_file(path, buf, sizeof(buf)) <= 0)
		return;
	for (p = buf; (pid = strtol(p, &end, 10)) > 0; p = end)
		if (kill((pid_t)-pid, sig) != 0)
			(void)kill((pid_t)pid, sig);
}

void
sys_signal_all(int sig)
{

	if (getpid() == 1)
		(void)kill(-1, sig);
	else
		signal_children(sig);
}

static int64_t
meminfo(const char *buf, const char *key)
{
	const char *p;

	if ((p = strstr(buf, key)) == NULL)
		return (0);
	return (strtoll(p + strlen(key), NULL, 10) * 1024);
}

/* Bytes of all interfaces: "name: rx 7 others tx ..." */
static void
interfaces(struct sys_stats *st)
{
	char buf[16384], *line, *save, *p;

	if (read_file("/proc/net/dev", buf, sizeof(buf)) <= 0)
		return;
	for (line = strtok_r(buf, "\n", &save); line != NULL;
	    line = strtok_r(NULL, "\n", &save)) {
		line += strspn(line, " ");
		if ((p = strchr(line, ':')) == NULL ||
		    strncmp(line, "lo:", 3) == 0)
			continue;
		st->rx_bytes += strtoll(p + 1, &p, 10);
		for (int i = 0; i < 7; i++)
			(void)strtoll(p, &p, 10);
		st->tx_bytes += strtoll(p, &p, 10);
	}
}

void
sys_stats(struct sys_stats *st)
{
	char buf[8192], *p;
	long hz = sysconf(_SC_CLK_TCK);
	int64_t busy = 0, t;
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		st->cpus = CPU_COUNT(&set);
	if (read_file("/proc/meminfo", buf, sizeof(buf)) > 0) {
		st->mem_total = meminfo(buf, "MemTotal:");
		st->mem_used = st->mem_total - meminfo(buf, "MemAvailable:");
	}
	/* "cpu user nice system idle iowait irq softirq ..." */
	if (read_file("/proc/stat", buf, sizeof(buf)) > 0 &&
	    strncmp(buf, "cpu ", 4) == 0) {
		p = buf + 4;
		for (int i = 0; i < 7; i++) {
			t = strtoll(p, &p, 10);
			if (i != 3 && i != 4)
				busy += t;
		}
		st->cpu_ms = busy * 1000 / (hz > 0 ? hz : 100);
	}
	interfaces(st);
}

void
sys_random(void *buf, size_t len)
{

	if (getrandom(buf, len, 0) != (ssize_t)len)
		abort();
}

bool
sys_cmdline(char *buf, size_t size)
{

	return (read_file("/proc/cmdline", buf, size) > 0);
}

void
sys_boot(void)
{
	static const struct {
		const char	*type, *where, *data;
		unsigned long	 flags;
	} mounts[] = {
		{ "proc", "/proc", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC },
		{ "sysfs", "/sys", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC },
		{ "devtmpfs", "/dev", "mode=0755", MS_NOSUID },
		{ "devpts", "/dev/pts", "ptmxmode=0666,mode=0620,gid=5",
		    MS_NOSUID | MS_NOEXEC },
		{ "tmpfs", "/dev/shm", "mode=1777", MS_NOSUID | MS_NODEV },
		{ "tmpfs", "/run", "mode=0755", MS_NOSUID | MS_NODEV },
		{ "tmpfs", "/tmp", "mode=1777", MS_NOSUID | MS_NODEV },
	};
	char probe[64];

	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		/* What somebody mounted already is as they want it. */
		struct stat st, up;

		(void)mkdir(mounts[i].where, 0755);
		(void)snprintf(probe, sizeof(probe), "%s/..",
		    mounts[i].where);
		if (stat(mounts[i].where, &st) == 0 &&
		    stat(probe, &up) == 0 && st.st_dev != up.st_dev)
			continue;
		(void)mount(mounts[i].type, mounts[i].where, mounts[i].type,
		    mounts[i].flags, mounts[i].data);
	}
	(void)!symlink("/proc/self/fd", "/dev/fd");
	(void)!symlink("/proc/self/fd/0", "/dev/stdin");
	(void)!symlink("/proc/self/fd/1", "/dev/stdout");
	(void)!symlink("/proc/self/fd/2", "/dev/stderr");
	/* The keys that would reset the machine end it in good order. */
	(void)reboot(RB_DISABLE_CAD);
}

void
sys_poweroff(bool again)
{

	(void)reboot(again ? RB_AUTOBOOT : RB_POWER_OFF);
}
