/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Lists of sandboxes: filters, order and pages.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gw.h"

#define	LIMIT_MAX	100
#define	FILTERS		32

struct item {
	uint64_t	 started;
	char		 id[CO_IDSIZE];
	json_t		*j;
};

struct listing {
	struct item	*items;
	size_t		 n;
	size_t		 limit;
	size_t		 running;
	char		*text;		/* what names and values point into */
	const char	*name[FILTERS], *value[FILTERS];
	size_t		 nfilters;
	bool		 all, asc, want_running, want_paused;
	uint64_t	 after;		/* ms */
	const char	*template;
	uint64_t	 cursor;
	char		 cursor_id[CO_IDSIZE];
};

static void
listing_gone(struct req *r)
{
	struct listing *l = r->data;

	for (size_t i = 0; i < l->n; i++)
		json_decref(l->items[i].j);
	free(l->items);
	free(l->text);
	free(l);
	r->data = NULL;
}

static const struct req_ops listing_ops = { .gone = listing_gone };

static bool
has_metadata(const struct listing *l, const json_t *j)
{
	const json_t *m = json_object_get(j, "metadata");
	const char *s;

	for (size_t i = 0; i < l->nfilters; i++) {
		s = json_string_value(json_object_get(m, l->name[i]));
		if (s == NULL || strcmp(s, l->value[i]) != 0)
			return (false);
	}
	return (true);
}

static bool
past_cursor(const struct listing *l, const struct item *i)
{
	int c;

	if (l->cursor_id[0] == '\0')
		return (true);
	c = i->started != l->cursor ? (i->started < l->cursor ? -1 : 1) :
	    strcmp(i->id, l->cursor_id);
	return (l->asc ? c > 0 : c < 0);
}

static bool
wanted(struct listing *l, const nvlist_t *nv, const struct item *i)
{
	const char *state = ctl_string(nv, "state", "");
	bool paused = strcmp(state, "paused") == 0;
	const char *template = json_string_value(json_object_get(i->j,
	    "templateID"));

	if (strcmp(state, "stopped") == 0 || strcmp(state, "failed") == 0 ||
	    strcmp(state, "stopping") == 0)
		return (false);
	l->running += !paused;
	if (!(paused ? l->want_paused : l->want_running) ||
	    !has_metadata(l, i->j) || i->started <= l->after ||
	    !past_cursor(l, i))
		return (false);
	return (l->template == NULL || (template != NULL &&
	    strcmp(template, l->template) == 0) ||
	    strcmp(ctl_string(nv, "template", ""), l->template) == 0);
}

static void
on_sandbox(void *arg, const nvlist_t *nv)
{
	struct req *r = arg;
	struct listing *l = r->data;
	struct item i = { .started = ctl_uint(nv, "started", ctl_uint(nv,
	    "created", 0)) }, *items;

	(void)snprintf(i.id, sizeof(i.id), "%s", ctl_string(nv, "id", ""));
	i.j = sandbox_brief(r->gw, nv);
	if (i.j == NULL || !wanted(l, nv, &i) || (items = realloc(l->items,
	    (l->n + 1) * sizeof(*items))) == NULL) {
		json_decref(i.j);
		return;
	}
	l->items = items;
	l->items[l->n++] = i;
}

static int
older(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->started != y->started)
		return (x->started < y->started ? -1 : 1);
	return (strcmp(x->id, y->id));
}

static int
newer(const void *a, const void *b)
{

	return (older(b, a));
}

static void
listed(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct listing *l = r->data;
	json_t *array;
	char fields[256] = "", *text;
	size_t n;

	(void)nv;
	(void)fd;
	if (e != NULL) {
		reply_failure(r, e);
		return;
	}
	if (l->n > 0)
		qsort(l->items, l->n, sizeof(*l->items), l->asc ? older :
		    newer);
	n = l->all || l->n < l->limit ? l->n : l->limit;
	array = json_array();
	for (size_t i = 0; i < n; i++)
		(void)json_array_append(array, l->items[i].j);
	(void)snprintf(fields, sizeof(fields), "X-Total-Running: %zu\r\n",
	    l->running);
	if (n < l->n)
		(void)snprintf(fields + strlen(fields), sizeof(fields) -
		    strlen(fields), "X-Next-Token: %ju_%s\r\n",
		    (uintmax_t)l->items[n - 1].started, l->items[n - 1].id);
	text = json_dumps(array, JSON_COMPACT);
	json_decref(array);
	if (text == NULL)
		reply_error(r, 500, "out of memory");
	else
		reply(r, 200, "application/json", fields, text,
		    strlen(text));
	free(text);
}

/* "a=b&c=d", escaped once more by the SDK. */
static int
take_metadata(struct listing *l, const char *s)
{
	char *p, *next, *eq;

	if (s == NULL || *s == '\0')
		return (0);
	p = l->text = strdup(s);
	for (; p != NULL; p = next) {
		next = strchr(p, '&');
		if (next != NULL)
			*next++ = '\0';
		eq = strchr(p, '=');
		if (eq == NULL || l->nfilters == FILTERS)
			return (-1);
		*eq++ = '\0';
		if (http_unescape(p, true) != 0 ||
		    http_unescape(p, false) != 0 ||
		    http_unescape(eq, true) != 0 ||
		    http_unescape(eq, false) != 0)
			return (-1);
		l->name[l->nfilters] = p;
		l->value[l->nfilters++] = eq;
	}
	return (0);
}

static int
take_cursor(struct listing *l, const char *s)
{
	char *end;

	if (s == NULL || *s == '\0')
		return (0);
	if (strlen(s) > 64)
		return (-1);
	l->cursor = strtoull(s, &end, 10);
	if (end == s || *end != '_' || !co_id_valid(end + 1))
		return (-1);
	(void)snprintf(l->cursor_id, sizeof(l->cursor_id), "%s", end + 1);
	return (0);
}

static int
take_limit(struct listing *l, const char *s)
{
	char *end;
	unsigned long v;

	l->limit = LIMIT_MAX;
	if (s == NULL || *s == '\0')
		return (0);
	v = strtoul(s, &end, 10);
	if (*s < '0' || *s > '9' || *end != '\0' || v < 1 || v > LIMIT_MAX)
		return (-1);
	l->limit = v;
	return (0);
}

static int
take_after(struct listing *l, const char *s)
{
	struct tm tm = { 0 };
	const char *end;

	if (s == NULL || *s == '\0')
		return (0);
	end = strptime(s, "%Y-%m-%dT%H:%M:%S", &tm);
	if (end == NULL)
		return (-1);
	l->after = (uint64_t)timegm(&tm) * 1000;
	if (*end == '.')
		l->after += strtoul(end + 1, NULL, 10) % 1000;
	return (0);
}

static int
take_filters(struct req *r, struct listing *l)
{
	const char *state = http_param(&r->url, "state");
	const char *order = http_param(&r->url, "order");

	if (state == NULL && l->all)
		state = "running";
	l->want_running = state == NULL || strstr(state, "running") != NULL;
	l->want_paused = state == NULL || strstr(state, "paused") != NULL;
	l->asc = order != NULL && strcmp(order, "asc") == 0;
	l->template = http_param(&r->url, "template");
	if (take_metadata(l, http_param(&r->url, "metadata")) != 0 ||
	    take_limit(l, http_param(&r->url, "limit")) != 0 ||
	    take_cursor(l, http_param(&r->url, "nextToken")) != 0 ||
	    take_after(l, http_param(&r->url, "startedAfter")) != 0 ||
	    !(l->want_running || l->want_paused)) {
		reply_error(r, 400, "metadata, state, limit (1 to %d), "
		    "nextToken or startedAfter is malformed", LIMIT_MAX);
		return (-1);
	}
	return (0);
}

static void
list(struct req *r, bool all)
{
	struct listing *l = calloc(1, sizeof(*l));

	if (l == NULL) {
		reply_error(r, 500, "out of memory");
		return;
	}
	l->all = all;
	r->data = l;
	r->ops = &listing_ops;
	if (take_filters(r, l) == 0)
		(void)ask(r, question("list", NULL, r->as), on_sandbox,
		    listed);
}

void
api_list(struct req *r)
{

	list(r, true);
}

void
api_list_v2(struct req *r)
{

	list(r, false);
}
