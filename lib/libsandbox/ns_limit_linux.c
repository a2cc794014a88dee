/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Limits and figures of a sandbox, by its cgroups.  A limit that the host's
 * kernel has no controller for is an error, not a wish.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ns.h"

#define	PERIOD		100000		/* of cpu time, in microseconds */

static void
number(char buf[32], uint64_t n, const char *none)
{

	if (n == 0)
		(void)snprintf(buf, 32, "%s", none);
	else
		(void)snprintf(buf, 32, "%" PRIu64, n);
}

static int
memory(const char *id, uint64_t n)
{
	char buf[32];
	int error;

	if (ns_cgroup_v2(CG_MEMORY)) {
		number(buf, n, "max");
		error = ns_cgroup_write(id, CG_MEMORY, "memory.max", buf);
		/* Without swap there is nothing to write. */
		(void)ns_cgroup_write(id, CG_MEMORY, "memory.swap.max",
		    n == 0 ? "max" : "0");
		return (error);
	}
	number(buf, n, "-1");
	/* The two may only be changed in the order that keeps them so. */
	error = ns_cgroup_write(id, CG_MEMORY, "memory.limit_in_bytes", buf);
	(void)ns_cgroup_write(id, CG_MEMORY, "memory.memsw.limit_in_bytes",
	    buf);
	if (error != 0)
		error = ns_cgroup_write(id, CG_MEMORY,
		    "memory.limit_in_bytes", buf);
	return (error);
}

static int
cpu(const char *id, uint64_t n)
{
	char buf[32], line[64];
	uint64_t us = n * (PERIOD / 1000);

	/* The kernel knows no less than a millisecond. */
	number(buf, n != 0 && us < 1000 ? 1000 : us,
	    ns_cgroup_v2(CG_CPU) ? "max" : "-1");
	if (!ns_cgroup_v2(CG_CPU))
		return (ns_cgroup_write(id, CG_CPU, "cpu.cfs_quota_us", buf));
	(void)snprintf(line, sizeof(line), "%s %d", buf, PERIOD);
	return (ns_cgroup_write(id, CG_CPU, "cpu.max", line));
}

static int
procs(const char *id, uint64_t n)
{
	char buf[32];

	number(buf, n, "max");
	return (ns_cgroup_write(id, CG_PIDS, "pids.max", buf));
}

/* With ${all}, also take away limits that are no more. */
int
ns_limit_set(const struct sandbox_spec *s, bool all, struct co_error *e)
{
	const struct {
		const char	*what;
		enum ns_controller c;
		uint64_t	 n;
		int		(*set)(const char *, uint64_t);
	} limits[] = {
		{ "memory", CG_MEMORY, s->limits.memory, memory },
		{ "cpu", CG_CPU, s->limits.cpu, cpu },
		{ "procs", CG_PIDS, s->limits.procs, procs },
	};
	int error;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (limits[i].n == 0 && !all)
			continue;
		error = ENODEV;
		if (ns_cgroup_there(limits[i].c))
			error = limits[i].set(s->id, limits[i].n);
		if (error != 0 && limits[i].n != 0)
			return (co_error_errno(e, error, limits[i].what,
			    "can't limit the sandbox to %" PRIu64,
			    limits[i].n));
	}
	return (0);
}

static uint64_t
figure(const char *id, enum ns_controller c, const char *file,
    const char *key)
{
	char buf[4096];
	const char *p = buf;

	if (!ns_cgroup_there(c) ||
	    ns_cgroup_read(id, c, file, buf, sizeof(buf)) <= 0)
		return (0);
	if (key[0] != '\0') {
		if ((p = strstr(buf, key)) == NULL)
			return (0);
		p += strlen(key);
	}
	return (strtoull(p, NULL, 10));
}

void
ns_limit_usage(const char *id, struct sandbox_usage *u)
{
	bool v2 = ns_cgroup_v2(CG_MEMORY);

	u->memory = figure(id, CG_MEMORY,
	    v2 ? "memory.current" : "memory.usage_in_bytes", "");
	u->memory_peak = figure(id, CG_MEMORY,
	    v2 ? "memory.peak" : "memory.max_usage_in_bytes", "");
	u->oom_kills = figure(id, CG_MEMORY,
	    v2 ? "memory.events" : "memory.oom_control", "oom_kill ");
	u->procs = figure(id, CG_PIDS, "pids.current", "");
	if (ns_cgroup_v2(CG_CPUACCT))
		u->cpu_us = figure(id, CG_CPUACCT, "cpu.stat", "usage_usec ");
	else
		u->cpu_us = figure(id, CG_CPUACCT, "cpuacct.usage", "") /
		    1000;
}
