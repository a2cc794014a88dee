/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Everybody who dies in the sandbox, ours or not, is waited for here.
 */

#include <sys/types.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <errno.h>

#include "guest.h"

bool
reap_all(struct guest *g)
{
	struct rusage ru;
	int64_t cpu;
	int wstatus;
	pid_t pid;

	while ((pid = wait4(-1, &wstatus, WNOHANG, &ru)) > 0) {
		cpu = (int64_t)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) *
		    1000 + (ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1000;
		if (!work_reaped(g, pid))
			(void)proc_reaped(g, pid, wstatus, cpu,
			    (int64_t)ru.ru_maxrss * 1024);
	}
	return (pid == -1 && errno == ECHILD);
}
