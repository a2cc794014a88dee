/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Logs of sandboxes: lines of what their first processes wrote, and when.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gw.h"

#define	LINE_MAX_	(64 * 1024)
#define	LINES_MAX	1000

struct logging {
	json_t		*lines;		/* with "timestamp" and "line" */
	struct buf	 line;		/* that has not ended yet, */
	uint64_t	 at;		/* and when it began, ms */
	uint64_t	 from, to;	/* those that are wanted, ms */
	size_t		 limit;
	bool		 v2, backward;
};

static void
logging_gone(struct req *r)
{
	struct logging *l = r->data;

	json_decref(l->lines);
	buf_free(&l->line);
	free(l);
	r->data = NULL;
}

static const struct req_ops logging_ops = { .gone = logging_gone };

/* The line is complete.  From the end, only the last ones matter. */
static void
add_line(struct logging *l)
{
	json_t *s = json_stringn(l->line.p != NULL ? l->line.p : "",
	    l->line.len);
	char when[32];

	buf_free(&l->line);
	if (s == NULL)
		s = json_string("(bytes that are no text)");
	if (l->at < l->from || l->at > l->to || (!l->backward &&
	    json_array_size(l->lines) >= l->limit)) {
		json_decref(s);
		return;
	}
	iso_time(when, l->at);
	(void)json_array_append_new(l->lines, json_pack("{s:s, s:o}",
	    "timestamp", when, "line", s));
	if (json_array_size(l->lines) > l->limit)
		(void)json_array_remove(l->lines, 0);
}

static void
on_log(void *arg, const nvlist_t *nv)
{
	struct req *r = arg;
	struct logging *l = r->data;
	uint64_t time = ctl_uint(nv, "time", 0);
	const char *p, *nl;
	size_t len, n;

	if (!nvlist_exists_binary(nv, "data"))
		return;
	p = nvlist_get_binary(nv, "data", &len);
	if (r->call != NULL)
		call_ack(r->call, len);
	for (; len > 0; p += n, len -= n) {
		nl = memchr(p, '\n', len);
		n = nl != NULL ? (size_t)(nl - p) + 1 : len;
		if (l->line.len == 0)
			l->at = time;
		buf_add(&l->line, p, nl != NULL ? n - 1 : n);
		if (nl != NULL || l->line.len > LINE_MAX_)
			add_line(l);
	}
}

static json_t *
entries_of(const struct logging *l)
{
	json_t *all = json_array(), *line;
	size_t i;

	json_array_foreach(l->lines, i, line)
		(void)json_array_append_new(all, json_pack("{s:O, s:s, s:O, "
		    "s:{}}", "timestamp", json_object_get(line, "timestamp"),
		    "level", "info", "message", json_object_get(line, "line"),
		    "fields"));
	return (all);
}

static void
logged(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct logging *l = r->data;
	json_t *lines;

	(void)nv;
	(void)fd;
	if (e != NULL) {
		reply_failure(r, e);
		return;
	}
	if (l->line.len > 0)
		add_line(l);
	if (l->backward) {
		lines = json_array();
		for (size_t i = json_array_size(l->lines); i > 0; i--)
			(void)json_array_append(lines, json_array_get(
			    l->lines, i - 1));
		json_decref(l->lines);
		l->lines = lines;
	}
	if (l->v2)
		reply_json(r, 200, json_pack("{s:o}", "logs", entries_of(l)));
	else
		reply_json(r, 200, json_pack("{s:O, s:o}", "logs", l->lines,
		    "logEntries", entries_of(l)));
}

static bool
number(struct req *r, const char *name, uint64_t max, uint64_t *v)
{
	const char *s = http_param(&r->url, name);

	if (s == NULL)
		return (true);
	if (*s == '\0' || strlen(s) > 15 || strspn(s, "0123456789") !=
	    strlen(s) || strtoull(s, NULL, 10) > max) {
		reply_error(r, 400, "\"%s\" must be a number up to %ju", name,
		    (uintmax_t)max);
		return (false);
	}
	*v = strtoull(s, NULL, 10);
	return (true);
}

static void
logs(struct req *r, bool v2)
{
	const char *direction = http_param(&r->url, "direction");
	uint64_t at = 0, limit = LINES_MAX;
	struct logging *l;

	if (!co_id_valid(r->param[0])) {
		reply_error(r, 404, "there is no such sandbox");
		return;
	}
	if (!number(r, v2 ? "cursor" : "start", UINT64_MAX >> 1, &at) ||
	    !number(r, "limit", LINES_MAX, &limit))
		return;
	l = calloc(1, sizeof(*l));
	if (l == NULL) {
		reply_error(r, 500, "out of memory");
		return;
	}
	r->data = l;
	r->ops = &logging_ops;
	l->lines = json_array();
	l->v2 = v2;
	l->backward = v2 && direction != NULL &&
	    strcmp(direction, "backward") == 0;
	l->limit = limit;
	l->from = l->backward ? 0 : at;
	l->to = l->backward && at != 0 ? at : UINT64_MAX;
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
