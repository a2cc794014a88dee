/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Metrics and logs of sandboxes.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gw.h"

#define	BATCH_MAX	100
#define	LOG_MAX		(1024 * 1024)
#define	LINES_MAX	1000

struct looking {
	json_t		*all;		/* of a batch */
	char		*ids, *next;	/* that are left of it */
	char		 id[CO_IDSIZE];
	uint64_t	 memory, cpu;	/* limits */
	uint64_t	 cpu_us, at;	/* a first look, and when */
	struct buf	 log;
	bool		 v2;
};

static void next_box(struct req *);

static void
looking_gone(struct req *r)
{
	struct looking *l = r->data;

	json_decref(l->all);
	free(l->ids);
	buf_free(&l->log);
	free(l);
	r->data = NULL;
}

static const struct req_ops looking_ops = { .gone = looking_gone };

static struct looking *
looking_new(struct req *r)
{
	struct looking *l = calloc(1, sizeof(*l));

	if (l == NULL) {
		reply_error(r, 500, "out of memory");
		return (NULL);
	}
	r->data = l;
	r->ops = &looking_ops;
	return (l);
}

static uint64_t
wall_ms(void)
{
	uv_timeval64_t tv;

	(void)uv_gettimeofday(&tv);
	return ((uint64_t)tv.tv_sec * 1000 + (uint64_t)tv.tv_usec / 1000);
}

/* How busy it was on average since its start, in parts of its processors. */
static double
cpu_percent(const nvlist_t *nv, uint64_t cpus)
{
	double up = (double)ctl_uint(nv, "uptime_ms", 0) * 1000;

	return (up > 0 ? 100.0 * (double)ctl_uint(nv, "cpu_us", 0) / up /
	    (double)cpus : 0);
}

static json_t *
metric_of(const struct looking *l, const nvlist_t *nv)
{
	uint64_t cpus = l->cpu != 0 ? (l->cpu + 999) / 1000 : ctl_uint(nv,
	    "cpus", 1);
	uint64_t now = wall_ms();
	char when[32];

	iso_time(when, now);
	if (cpus == 0)
		cpus = 1;
	return (json_pack("{s:s, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I}",
	    "timestamp", when, "timestampUnix", (json_int_t)(now / 1000),
	    "cpuCount", (json_int_t)cpus, "cpuUsedPct", cpu_percent(nv, cpus),
	    "memUsed", (json_int_t)ctl_uint(nv, "memory", 0), "memTotal",
	    (json_int_t)(l->memory != 0 ? l->memory : ctl_uint(nv,
	    "mem_total", 0)), "memCache", (json_int_t)0, "diskUsed",
	    (json_int_t)ctl_uint(nv, "disk", 0), "diskTotal",
	    (json_int_t)ctl_uint(nv, "disk_total", 0)));
}

static void
measured(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct looking *l = r->data;

	(void)fd;
	if (l->all != NULL) {
		if (e == NULL)
			(void)json_object_set_new(l->all, l->id,
			    metric_of(l, nv));
		next_box(r);
	} else if (e != NULL)
		reply_failure(r, e);
	else
		reply_json(r, 200, json_pack("[o]", metric_of(l, nv)));
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
	(void)ask(r, question("stats", l->id, r->as), NULL, measured);
}

void
api_metrics(struct req *r)
{
	struct looking *l;

	if (!co_id_valid(r->param[0])) {
		reply_error(r, 404, "there is no such sandbox");
		return;
	}
	if ((l = looking_new(r)) == NULL)
		return;
	(void)snprintf(l->id, sizeof(l->id), "%s", r->param[0]);
	(void)snprintf(r->box, sizeof(r->box), "%s", l->id);
	(void)ask(r, question("show", l->id, r->as), NULL, limits_known);
}

static void
next_box(struct req *r)
{
	struct looking *l = r->data;
	char *id = l->next;

	if (id == NULL) {
		reply_json(r, 200, json_pack("{s:O}", "sandboxes", l->all));
		return;
	}
	l->next = strchr(id, ',');
	if (l->next != NULL)
		*l->next++ = '\0';
	if (!co_id_valid(id)) {
		reply_error(r, 400, "\"sandbox_ids\" must be a list of ids");
		return;
	}
	(void)snprintf(l->id, sizeof(l->id), "%s", id);
	(void)ask(r, question("show", l->id, r->as), NULL, limits_known);
}

void
api_metrics_all(struct req *r)
{
	const char *ids = http_param(&r->url, "sandbox_ids");
	struct looking *l;

	if (ids == NULL || strlen(ids) > BATCH_MAX * (CO_IDLEN + 1)) {
		reply_error(r, 400, "\"sandbox_ids\" must be a list of at "
		    "most %d ids", BATCH_MAX);
		return;
	}
	if ((l = looking_new(r)) == NULL)
		return;
	l->all = json_object();
	l->ids = l->next = strdup(ids);
	next_box(r);
}

/*
 * Logs: lines of what the sandbox's first processes wrote.
 */
static void
on_log(void *arg, const nvlist_t *nv)
{
	struct req *r = arg;
	struct looking *l = r->data;
	const void *data;
	size_t len;

	if (!nvlist_exists_binary(nv, "data"))
		return;
	data = nvlist_get_binary(nv, "data", &len);
	if (r->call != NULL)
		call_ack(r->call, len);
	buf_add(&l->log, data, len);
	if (l->log.len > LOG_MAX)
		buf_take(&l->log, l->log.len - LOG_MAX);
}

static json_t *
line_of(const char *s, size_t len)
{
	json_t *j = json_stringn(s, len);

	return (j != NULL ? j : json_string("(bytes that are no text)"));
}

static void
logged(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct looking *l = r->data;
	json_t *lines = json_array(), *entries = json_array();
	const char *p = l->log.p, *end, *nl;
	char when[32];
	json_t *s;

	(void)nv;
	(void)fd;
	if (e != NULL) {
		json_decref(lines);
		json_decref(entries);
		reply_failure(r, e);
		return;
	}
	iso_time(when, wall_ms());
	end = p + l->log.len;
	for (; p != NULL && p < end && json_array_size(lines) < LINES_MAX;
	    p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (nl == NULL)
			nl = end;
		s = line_of(p, (size_t)(nl - p));
		(void)json_array_append_new(lines, json_pack("{s:s, s:O}",
		    "timestamp", when, "line", s));
		(void)json_array_append_new(entries, json_pack("{s:s, s:s, "
		    "s:o, s:{}}", "timestamp", when, "level", "info",
		    "message", s, "fields"));
	}
	if (l->v2) {
		json_decref(lines);
		reply_json(r, 200, json_pack("{s:o}", "logs", entries));
	} else
		reply_json(r, 200, json_pack("{s:o, s:o}", "logs", lines,
		    "logEntries", entries));
}

static void
logs(struct req *r, bool v2)
{
	struct looking *l;

	if (!co_id_valid(r->param[0])) {
		reply_error(r, 404, "there is no such sandbox");
		return;
	}
	if ((l = looking_new(r)) == NULL)
		return;
	l->v2 = v2;
	(void)snprintf(r->box, sizeof(r->box), "%s", r->param[0]);
	(void)ask(r, question("logs", r->box, r->as), on_log, logged);
}

void
api_logs(struct req *r)
{

	logs(r, false);
}

void
api_logs_v2(struct req *r)
{

	logs(r, true);
}
