/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Limits and use of a jail by rctl(4), which counts for the outer jail
 * whatever runs in the inner one, and pausing, which FreeBSD has no freezer
 * for: every process is stopped until no one is left that runs.
 */

#include <sys/param.h>
#include <sys/rctl.h>

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jail_internal.h"

/* How often to look for one that still runs; each look is a few ms. */
#define	ROUNDS		500

static int
add_rule(const char *jail, const char *resource, uint64_t amount,
    struct co_error *e)
{
	char rule[160];

	if (amount == 0)
		return (0);
	(void)snprintf(rule, sizeof(rule), "jail:%s:%s:deny=%" PRIu64, jail,
	    resource, amount);
	if (rctl_add_rule(rule, strlen(rule) + 1, NULL, 0) == 0)
		return (0);
	if (errno == ENOSYS)
		return (co_error_set(e, CO_ESYS_UNSUPPORTED, resource,
		    "limits need kern.racct.enable=1; set it in "
		    "/boot/loader.conf and restart the machine"));
	return (co_error_errno(e, errno, resource, "can't limit %s", resource));
}

void
jail_limit_clear(const char *jail)
{
	char filter[160];

	(void)snprintf(filter, sizeof(filter), "jail:%s", jail);
	(void)rctl_remove_rule(filter, strlen(filter) + 1, NULL, 0);
}

int
jail_limit(const struct sandbox_spec *s, const struct sandbox_run *run,
    struct co_error *e)
{
	char jail[JAIL_NAMESIZE];

	(void)run;
	(void)snprintf(jail, sizeof(jail), JAIL_OUTER, s->id);
	jail_limit_clear(jail);
	if (add_rule(jail, "memoryuse", s->limits.memory, e) != 0 ||
	    add_rule(jail, "swapuse", s->limits.memory, e) != 0 ||
	    add_rule(jail, "pcpu", (s->limits.cpu + 9) / 10, e) != 0 ||
	    add_rule(jail, "maxproc", s->limits.procs, e) != 0 ||
	    add_rule(jail, "nthr", s->limits.procs, e) != 0)
		return (-1);
	return (0);
}

/* The number behind "${key}=" in a list such as "cputime=3,memoryuse=8". */
static uint64_t
figure(const char *list, const char *key)
{
	const char *p;
	size_t n;

	n = strlen(key);
	for (p = list; p != NULL; p = strchr(p, ',')) {
		if (*p == ',')
			p++;
		if (strncmp(p, key, n) == 0 && p[n] == '=')
			return (strtoull(p + n + 1, NULL, 10));
	}
	return (0);
}

int
jail_usage(const struct sandbox_spec *s, const struct sandbox_run *run,
    struct sandbox_usage *u, struct co_error *e)
{
	char filter[JAIL_NAMESIZE + 8], out[4096];

	memset(u, 0, sizeof(*u));
	(void)snprintf(filter, sizeof(filter), "jail:" JAIL_OUTER, s->id);
	if (rctl_get_racct(filter, strlen(filter) + 1, out,
	    sizeof(out)) != 0) {
		if (errno != ENOSYS)
			return (co_error_errno(e, errno, s->id,
			    "can't read what the sandbox uses"));
		u->procs = (uint64_t)MAX(jail_proc_count(jail_find(s->id,
		    JAIL_INNER)), 0);
		return (0);
	}
	(void)run;
	out[sizeof(out) - 1] = '\0';
	u->memory = figure(out, "memoryuse");
	u->memory_peak = u->memory;
	u->cpu_us = figure(out, "cputime") * 1000000;
	u->procs = figure(out, "maxproc");
	return (0);
}

int
jail_freeze(const struct sandbox_spec *s, const struct sandbox_run *run,
    bool on, struct co_error *e)
{
	const struct timespec nap = { 0, 2000000 };
	bool stopped;
	int error, jid;

	(void)run;
	if ((jid = jail_find(s->id, JAIL_INNER)) == -1)
		return (co_error_set(e, CO_ESANDBOX_LOST, s->id,
		    "its jail is gone"));
	if (!on) {
		if ((error = jail_proc_signal(jid, SIGCONT, NULL)) != 0)
			return (co_error_errno(e, error, s->id,
			    "can't resume"));
		return (0);
	}
	/* One that forks may leave a child behind: look again until quiet. */
	for (int i = 0; i < ROUNDS; i++) {
		error = jail_proc_signal(jid, SIGSTOP, &stopped);
		if (error != 0)
			break;
		if (stopped)
			return (0);
		(void)nanosleep(&nap, NULL);
	}
	(void)jail_proc_signal(jid, SIGCONT, NULL);
	return (co_error_errno(e, error != 0 ? error : ETIMEDOUT, s->id,
	    "can't pause"));
}
