/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * FreeBSD: reaping orphans by procctl(2), sessions and figures by
 * sysctl(3), the end of the machine.
 */

#include <sys/types.h>
#include <sys/param.h>
#include <sys/procctl.h>
#include <sys/random.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/sysctl.h>
#include <sys/user.h>

#include <net/if.h>

#include <errno.h>
#include <ifaddrs.h>
#include <kenv.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys.h"

const char *
sys_platform(void)
{

	return ("freebsd");
}

void
sys_become_init(void)
{
	int protect = PPROT_SET;

	(void)procctl(P_PID, getpid(), PROC_REAP_ACQUIRE, NULL);
	/* When memory runs out, the sandbox's programs go first. */
	(void)procctl(P_PID, getpid(), PROC_SPROTECT, &protect);
}

void
sys_before_exec(void)
{
	int on = PROC_NO_NEW_PRIVS_ENABLE, protect = PPROT_CLEAR;

	(void)procctl(P_PID, getpid(), PROC_SPROTECT, &protect);
	(void)procctl(P_PID, getpid(), PROC_NO_NEW_PRIVS_CTL, &on);
}

void
sys_close_from(int first)
{

	closefrom(first);
}

int
sys_set_groups(const gid_t *groups, int n)
{

	return (setgroups(n, groups) == 0 ? 0 : errno);
}

int
sys_set_hostname(const char *name)
{

	return (sethostname(name, (int)strlen(name)) == 0 ? 0 : errno);
}

/* Signal, or with 0 only count, who lives in a session. */
static int
session_each(pid_t sid, int sig)
{
	int mib[4] = { CTL_KERN, KERN_PROC, KERN_PROC_SESSION, sid };
	struct kinfo_proc *kp;
	size_t len = 0;
	int n = 0;

	if (sysctl(mib, 4, NULL, &len, NULL, 0) != 0 || len == 0)
		return (0);
	len += len / 2;
	if ((kp = malloc(len)) == NULL)
		return (0);
	if (sysctl(mib, 4, kp, &len, NULL, 0) != 0)
		len = 0;
	for (size_t i = 0; i < len / sizeof(*kp); i++) {
		if (kp[i].ki_sid != sid || kp[i].ki_stat == SZOMB)
			continue;
		n++;
		if (sig != 0 && kp[i].ki_pgid != sid)
			(void)kill(kp[i].ki_pid, sig);
	}
	free(kp);
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

void
sys_signal_all(int sig)
{
	struct procctl_reaper_kill rk;

	memset(&rk, 0, sizeof(rk));
	rk.rk_sig = sig;
	(void)procctl(P_PID, getpid(), PROC_REAP_KILL, &rk);
}

static int64_t
number(const char *name)
{
	union {
		uint64_t	l;
		uint32_t	i;
	} v = { .l = 0 };
	size_t len = sizeof(v);

	if (sysctlbyname(name, &v, &len, NULL, 0) != 0)
		return (0);
	return (len == sizeof(v.i) ? (int64_t)v.i : (int64_t)v.l);
}

static void
interfaces(struct sys_stats *st)
{
	struct ifaddrs *all, *p;
	struct if_data d;

	if (getifaddrs(&all) != 0)
		return;
	for (p = all; p != NULL; p = p->ifa_next) {
		if (p->ifa_addr == NULL || p->ifa_data == NULL ||
		    p->ifa_addr->sa_family != AF_LINK ||
		    (p->ifa_flags & IFF_LOOPBACK) != 0)
			continue;
		memcpy(&d, p->ifa_data, sizeof(d));
		st->rx_bytes += (int64_t)d.ifi_ibytes;
		st->tx_bytes += (int64_t)d.ifi_obytes;
	}
	freeifaddrs(all);
}

void
sys_stats(struct sys_stats *st)
{
	long ticks[CPUSTATES], busy = 0;
	size_t len = sizeof(ticks);
	struct clockinfo ci;
	int64_t free_pages;

	st->cpus = number("hw.ncpu");
	st->mem_total = number("hw.physmem");
	free_pages = number("vm.stats.vm.v_free_count") +
	    number("vm.stats.vm.v_inactive_count");
	st->mem_used = st->mem_total - free_pages * getpagesize();
	if (st->mem_used < 0)
		st->mem_used = 0;
	if (sysctlbyname("kern.cp_time", ticks, &len, NULL, 0) == 0) {
		for (int i = 0; i < CPUSTATES; i++)
			busy += i != CP_IDLE ? ticks[i] : 0;
		len = sizeof(ci);
		if (sysctlbyname("kern.clockrate", &ci, &len, NULL, 0) == 0 &&
		    ci.stathz > 0)
			st->cpu_ms = (int64_t)busy * 1000 / ci.stathz;
	}
	interfaces(st);
}

void
sys_random(void *buf, size_t len)
{

	if (getrandom(buf, len, 0) != (ssize_t)len)
		abort();
}

/* The kernel's environment, as if it was a line. */
bool
sys_cmdline(char *buf, size_t size)
{
	int n;

	n = kenv(KENV_DUMP, NULL, buf, (int)size - 1);
	if (n <= 0)
		return (false);
	if ((size_t)n > size - 1)
		n = (int)size - 1;
	for (int i = 0; i < n; i++)
		if (buf[i] == '\0')
			buf[i] = ' ';
	buf[n] = '\0';
	return (true);
}

/* The kernel itself mounts /dev; nothing else is expected everywhere. */
void
sys_boot(void)
{
}

void
sys_poweroff(bool again)
{

	(void)reboot(again ? RB_AUTOBOOT : RB_POWEROFF);
}
