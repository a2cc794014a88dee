/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Processes of a jail, as sysctl(3) tells them.  Nothing here waits.
 */

#include <sys/param.h>
#include <sys/sysctl.h>
#include <sys/user.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "jail_internal.h"

static int
all_procs(struct kinfo_proc **kp, size_t *n)
{
	static const int mib[3] = { CTL_KERN, KERN_PROC, KERN_PROC_PROC };
	struct kinfo_proc *p;
	size_t len;

	for (;;) {
		if (sysctl(mib, 3, NULL, &len, NULL, 0) != 0)
			return (errno);
		len += len / 8 + sizeof(*p);
		if ((p = malloc(len)) == NULL)
			return (ENOMEM);
		if (sysctl(mib, 3, p, &len, NULL, 0) == 0)
			break;
		free(p);
		if (errno != ENOMEM)
			return (errno);
	}
	*kp = p;
	*n = len / sizeof(*p);
	return (0);
}

/* How many processes the jail ${jid} has that are not dead; -1: unknown. */
int
jail_proc_count(int jid)
{
	struct kinfo_proc *kp;
	size_t n;
	int count;

	if (all_procs(&kp, &n) != 0)
		return (-1);
	count = 0;
	for (size_t i = 0; i < n; i++)
		if (kp[i].ki_jid == jid && kp[i].ki_stat != SZOMB)
			count++;
	free(kp);
	return (count);
}

/*
 * Send ${sig} to all of them.  With ${stopped}, leave out those that are
 * stopped already and tell whether all were.
 */
int
jail_proc_signal(int jid, int sig, bool *stopped)
{
	struct kinfo_proc *kp;
	size_t n;
	int error;

	if ((error = all_procs(&kp, &n)) != 0)
		return (error);
	if (stopped != NULL)
		*stopped = true;
	for (size_t i = 0; i < n; i++) {
		if (kp[i].ki_jid != jid || kp[i].ki_stat == SZOMB)
			continue;
		if (stopped != NULL) {
			if (kp[i].ki_stat == SSTOP)
				continue;
			*stopped = false;
		}
		if (kill(kp[i].ki_pid, sig) != 0 && errno != ESRCH)
			error = errno;
	}
	free(kp);
	return (error);
}

/* When the process began, in microseconds; 0: it is not in the jail. */
uint64_t
jail_proc_birth(pid_t pid, int jid)
{
	int mib[4] = { CTL_KERN, KERN_PROC, KERN_PROC_PID, (int)pid };
	struct kinfo_proc kp;
	size_t len;

	len = sizeof(kp);
	if (sysctl(mib, 4, &kp, &len, NULL, 0) != 0 || len != sizeof(kp) ||
	    kp.ki_stat == SZOMB || kp.ki_jid != jid)
		return (0);
	return ((uint64_t)kp.ki_start.tv_sec * 1000000 +
	    (uint64_t)kp.ki_start.tv_usec);
}
