/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The gateway's own health and numbers.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gw.h"

/* Milliseconds. */
static const unsigned int bounds[METRIC_BUCKETS] = { 1, 2, 5, 10, 25, 50,
    100, 250, 500, 1000, 5000, 30000 };

static const char *const names[METRICS] = {
	[METRIC_CREATE] = "create", [METRIC_EXEC] = "exec",
	[METRIC_FILE] = "file"
};

void
metric_add(struct gw *gw, enum metric m, uint64_t ns)
{
	struct histogram *h = &gw->hist[m];
	size_t i = 0;

	while (i < METRIC_BUCKETS && ns > (uint64_t)bounds[i] * 1000000)
		i++;
	h->bucket[i]++;
	h->count++;
	h->sum_us += ns / 1000;
}

void
gw_health(struct req *r)
{

	reply_empty(r, 204);
}

static void
add_histogram(struct buf *b, const struct histogram *h, const char *name)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < METRIC_BUCKETS; i++) {
		sum += h->bucket[i];
		buf_fmt(b, "coppicegw_%s_seconds_bucket{le=\"%g\"} %ju\n",
		    name, bounds[i] / 1000.0, (uintmax_t)sum);
	}
	buf_fmt(b, "coppicegw_%s_seconds_bucket{le=\"+Inf\"} %ju\n"
	    "coppicegw_%s_seconds_sum %g\ncoppicegw_%s_seconds_count %ju\n",
	    name, (uintmax_t)h->count, name, (double)h->sum_us / 1e6, name,
	    (uintmax_t)h->count);
}

static void
add_gateway(struct gw *gw, struct buf *b)
{

	buf_str(b, "# TYPE coppicegw_requests_total counter\n");
	for (size_t i = 1; i < COUNT(gw->requests); i++)
		buf_fmt(b, "coppicegw_requests_total{status=\"%zuxx\"} %ju\n",
		    i, (uintmax_t)gw->requests[i]);
	buf_fmt(b, "# TYPE coppicegw_connections gauge\n"
	    "coppicegw_connections %zu\n"
	    "# TYPE coppicegw_received_bytes_total counter\n"
	    "coppicegw_received_bytes_total %ju\n"
	    "# TYPE coppicegw_sent_bytes_total counter\n"
	    "coppicegw_sent_bytes_total %ju\n", gw->nconns,
	    (uintmax_t)gw->bytes_in, (uintmax_t)gw->bytes_out);
	for (size_t i = 0; i < METRICS; i++) {
		buf_fmt(b, "# TYPE coppicegw_%s_seconds histogram\n",
		    names[i]);
		add_histogram(b, &gw->hist[i], names[i]);
	}
}

/* How many sandboxes are in which state. */
static const char *const states[] = { "creating", "running", "paused",
    "stopping", "stopped", "failed" };

struct counting {
	uint64_t	 n[COUNT(states)];
	struct buf	 text;
};

static void
counting_gone(struct req *r)
{
	struct counting *c = r->data;

	buf_free(&c->text);
	free(c);
	r->data = NULL;
}

static const struct req_ops counting_ops = { .gone = counting_gone };

static void
on_sandbox(void *arg, const nvlist_t *nv)
{
	struct req *r = arg;
	struct counting *c = r->data;

	for (size_t i = 0; i < COUNT(states); i++)
		if (strcmp(ctl_string(nv, "state", ""), states[i]) == 0)
			c->n[i]++;
}

static void
add_pools(struct buf *b, const nvlist_t *nv)
{
	static const char *const fields[] = { "total", "live", "quarantined",
	    "foreign" };
	const nvlist_t *const *v;
	size_t n;

	if (!nvlist_exists_nvlist_array(nv, "pools"))
		return;
	v = nvlist_get_nvlist_array(nv, "pools", &n);
	buf_str(b, "# TYPE coppicegw_addresses gauge\n");
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < COUNT(fields); j++)
			buf_fmt(b, "coppicegw_addresses{pool=\"%s\",state="
			    "\"%s\"} %ju\n", ctl_string(v[i], "kind", ""),
			    fields[j],
			    (uintmax_t)ctl_uint(v[i], fields[j], 0));
}

/* Without a network there are no pools, and that is fine. */
static void
surveyed(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct counting *c = r->data;

	(void)fd;
	if (e == NULL)
		add_pools(&c->text, nv);
	reply(r, 200, "text/plain; version=0.0.4", NULL, c->text.p,
	    c->text.len);
}

static void
listed(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct counting *c = r->data;

	(void)nv;
	(void)fd;
	add_gateway(r->gw, &c->text);
	buf_fmt(&c->text, "# TYPE coppicegw_up gauge\ncoppicegw_up %d\n",
	    e == NULL);
	if (e != NULL) {
		surveyed(r, NULL, -1, e);
		return;
	}
	buf_str(&c->text, "# TYPE coppicegw_sandboxes gauge\n");
	for (size_t i = 0; i < COUNT(states); i++)
		buf_fmt(&c->text, "coppicegw_sandboxes{state=\"%s\"} %ju\n",
		    states[i], (uintmax_t)c->n[i]);
	(void)ask(r, question("net.show", NULL, NULL), NULL, surveyed);
}

void
gw_metrics(struct req *r)
{

	r->data = calloc(1, sizeof(struct counting));
	if (r->data == NULL) {
		reply_error(r, 500, "out of memory");
		return;
	}
	r->ops = &counting_ops;
	(void)ask(r, question("list", NULL, NULL), on_sandbox, listed);
}
