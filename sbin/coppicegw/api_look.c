/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Metrics of sandboxes.  How busy one is takes two looks, a moment apart.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gw.h"

#define	BATCH_MAX	100
#define	MOMENT_MS	100

struct one {
	char		 id[CO_IDSIZE];
	uint64_t	 cpu_us, at;	/* the first look, and when (ns) */
};

struct looking {
	struct one	*one;
	size_t		 n, i;
	json_t		*all;		/* of a batch */
	uint64_t	 memory, cpu;	/* limits of this one */
	bool		 second, envd;
	struct req	*req;		/* NULL: it is gone */
	uv_timer_t	 timer;
};

static void next_box(struct req *);
static void measured(void *, const nvlist_t *, int, const struct co_error *);

static void
timer_gone(uv_handle_t *h)
{
	struct looking *l = h->data;

	json_decref(l->all);
	free(l->one);
	free(l);
}

static void
looking_gone(struct req *r)
{
	struct looking *l = r->data;

	l->req = NULL;
	r->data = NULL;
	uv_close((uv_handle_t *)&l->timer, timer_gone);
}

static const struct req_ops looking_ops = { .gone = looking_gone };

static struct looking *
looking_new(struct req *r, size_t n)
{
	struct looking *l = calloc(1, sizeof(*l));

	if (l == NULL || (l->one = calloc(n, sizeof(*l->one))) == NULL) {
		free(l);
		reply_error(r, 500, "out of memory");
		return (NULL);
	}
	(void)uv_timer_init(r->gw->loop, &l->timer);
	l->timer.data = l;
	l->req = r;
	r->data = l;
	r->ops = &looking_ops;
	return (l);
}

static double
cpu_percent(const struct one *o, const nvlist_t *nv, uint64_t cpus)
{
	uint64_t cpu_us = ctl_uint(nv, "cpu_us", 0);
	double us = (double)(uv_hrtime() - o->at) / 1000;

	if (cpu_us <= o->cpu_us || us <= 0)
		return (0);
	return (100.0 * (double)(cpu_us - o->cpu_us) / us / (double)cpus);
}

static json_t *
metric_of(const struct looking *l, const nvlist_t *nv)
{
	const struct one *o = &l->one[l->i];
	uint64_t cpus = l->cpu != 0 ? (l->cpu + 999) / 1000 : ctl_uint(nv,
	    "cpus", 1);
	json_int_t total = (json_int_t)(l->memory != 0 ? l->memory :
	    ctl_uint(nv, "mem_total", 0));
	json_int_t used = (json_int_t)ctl_uint(nv, "memory", 0);
	json_int_t disk = (json_int_t)ctl_uint(nv, "disk", 0);
	json_int_t disks = (json_int_t)ctl_uint(nv, "disk_total", 0);
	uint64_t now = wall_ms();
	double percent;
	char when[32];

	if (cpus == 0)
		cpus = 1;
	percent = cpu_percent(o, nv, cpus);
	iso_time(when, now);
	if (l->envd)
		return (json_pack("{s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I}",
		    "ts", (json_int_t)(now / 1000), "cpu_count",
		    (json_int_t)cpus, "cpu_used_pct", percent, "mem_total",
		    total, "mem_used", used, "mem_cache", (json_int_t)0,
		    "disk_total", disks, "disk_used", disk));
	return (json_pack("{s:s, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I}",
	    "timestamp", when, "timestampUnix", (json_int_t)(now / 1000),
	    "cpuCount", (json_int_t)cpus, "cpuUsedPct", percent, "memUsed",
	    used, "memTotal", total, "memCache", (json_int_t)0, "diskUsed",
	    disk, "diskTotal", disks));
}

/* The first look, or the one that counts. */
static void
measured(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct looking *l = r->data;
	struct one *o = &l->one[l->i];

	(void)fd;
	if (e != NULL && l->all == NULL) {
		reply_failure(r, e);
		return;
	}
	if (e != NULL)
		o->at = 0;
	else if (!l->second) {
		o->cpu_us = ctl_uint(nv, "cpu_us", 0);
		o->at = uv_hrtime();
	} else if (l->envd)
		reply_json(r, 200, metric_of(l, nv));
	else if (l->all == NULL)
		reply_json(r, 200, json_pack("[o]", metric_of(l, nv)));
	else
		(void)json_object_set_new(l->all, o->id, metric_of(l, nv));
	l->i++;
	if (!r->finished)
		next_box(r);
}

static void
limits_known(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct looking *l = r->data;

	if (e != NULL) {
		measured(arg, nv, fd, e);
		return;
	}
	l->memory = ctl_uint(nv, "memory", 0);
	l->cpu = ctl_uint(nv, "cpu", 0);
	(void)ask(r, question("stats", l->one[l->i].id, r->as), NULL,
	    measured);
}

static void
moment_over(uv_timer_t *t)
{
	struct looking *l = t->data;

	if (l->req != NULL)
		next_box(l->req);
}

static void
next_box(struct req *r)
{
	struct looking *l = r->data;
	const char *id;

	/* Those that were not there the first time are left out. */
	while (l->second && l->i < l->n && l->one[l->i].at == 0)
		l->i++;
	if (l->i == l->n && l->second) {
		reply_json(r, 200, json_pack("{s:O}", "sandboxes", l->all));
		return;
	}
	if (l->i == l->n) {
		l->second = true;
		l->i = 0;
		(void)uv_timer_start(&l->timer, moment_over, MOMENT_MS, 0);
		return;
	}
	id = l->one[l->i].id;
	if (l->second)
		(void)ask(r, question("show", id, r->as), NULL, limits_known);
	else
		(void)ask(r, question("stats", id, r->as), NULL, measured);
}

static void
look_at(struct req *r, const char *id, bool envd)
{
	struct looking *l = looking_new(r, 1);

	if (l == NULL)
		return;
	l->n = 1;
	l->envd = envd;
	(void)snprintf(l->one[0].id, sizeof(l->one[0].id), "%s", id);
	next_box(r);
}

void
api_metrics(struct req *r)
{

	if (!co_id_valid(r->param[0])) {
		reply_error(r, 404, "there is no such sandbox");
		return;
	}
	(void)snprintf(r->box, sizeof(r->box), "%s", r->param[0]);
	look_at(r, r->box, false);
}

void
envd_metrics(struct req *r)
{

	look_at(r, r->box, true);
}

void
api_metrics_all(struct req *r)
{
	const char *ids = http_param(&r->url, "sandbox_ids");
	struct looking *l;
	size_t len;

	if (ids == NULL || strlen(ids) > BATCH_MAX * (CO_IDLEN + 1)) {
		reply_error(r, 400, "\"sandbox_ids\" must be a list of at "
		    "most %d ids", BATCH_MAX);
		return;
	}
	if ((l = looking_new(r, BATCH_MAX + 1)) == NULL)
		return;
	l->all = json_object();
	for (; *ids != '\0'; ids += len + (ids[len] == ',')) {
		len = strcspn(ids, ",");
		if (l->n > BATCH_MAX || !host_id(ids, len, l->one[l->n].id)) {
			reply_error(r, 400, "\"sandbox_ids\" must be a list "
			    "of ids");
			return;
		}
		l->n++;
	}
	next_box(r);
}
