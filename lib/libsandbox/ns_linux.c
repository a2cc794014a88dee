/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The ns backend: its row of the table.
 */

#include <string.h>

#include "ns.h"

static int
freeze(const struct sandbox_spec *s, const struct sandbox_run *run, bool on,
    struct co_error *e)
{

	(void)run;
	return (ns_cgroup_freeze(s->id, on, e));
}

/* The disk has the size it was made with; open files, as processes began. */
static int
limit(const struct sandbox_spec *s, const struct sandbox_run *run,
    struct co_error *e)
{

	(void)run;
	return (ns_limit_set(s, true, e));
}

static int
usage(const struct sandbox_spec *s, const struct sandbox_run *run,
    struct sandbox_usage *u, struct co_error *e)
{

	(void)run;
	(void)e;
	memset(u, 0, sizeof(*u));
	ns_limit_usage(s->id, u);
	u->disk = ns_disk_usage(s);
	return (0);
}

static int
ids(const struct sandbox_spec *s, uid_t *root, struct co_error *e)
{

	return (ns_slot_take(s->id, root, e));
}

const struct backend backend_ns = {
	.name = "ns",
	.summary = "Linux namespaces",
	.kind = NET_PAIR,
	.probe = ns_probe,
	.prepare = ns_disk_prepare,
	.ids = ids,
	.start = ns_start,
	.adopt = ns_adopt,
	.freeze = freeze,
	.limit = limit,
	.usage = usage,
	.stop = ns_stop,
	.remove = ns_disk_remove,
	.capture = ns_capture,
};
