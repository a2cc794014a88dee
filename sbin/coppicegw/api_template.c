/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Templates and snapshots.  A snapshot is a template; whose it is and of
 * what sandbox is in its name, "snap.KEY.SANDBOX.NUMBER" or
 * "snap.KEY.SANDBOX.NUMBER.NAME", so that a key sees only its own.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gw.h"

#define	PREFIX		"snap."
#define	NAME_PART	24		/* of what the user calls it */
#define	LIMIT_MAX	100

struct templates {
	json_t		*list;
	const char	*want;		/* a name or hash, or NULL */
	char		 mine[32];	/* how the names of snapshots begin */
	const char	*box, *name;	/* filters of snapshots */
	size_t		 limit, skip;
	bool		 snapshots, more;
	char		*found;		/* the name that was wanted */
};

static void
templates_gone(struct req *r)
{
	struct templates *t = r->data;

	json_decref(t->list);
	free(t->found);
	free(t);
	r->data = NULL;
}

static const struct req_ops templates_ops = { .gone = templates_gone };

static struct templates *
templates_new(struct req *r)
{
	struct templates *t = calloc(1, sizeof(*t));

	if (t == NULL || (t->list = json_array()) == NULL) {
		free(t);
		reply_error(r, 500, "out of memory");
		return (NULL);
	}
	(void)snprintf(t->mine, sizeof(t->mine), PREFIX "%s.",
	    key_id(r->key));
	r->data = t;
	r->ops = &templates_ops;
	return (t);
}

/* Others' snapshots are not there. */
static bool
visible(const struct req *r, const struct templates *t, const char *name)
{

	return (strncmp(name, PREFIX, strlen(PREFIX)) != 0 ||
	    (r->key != NULL && key_may(r->key, SCOPE_ADMIN)) ||
	    strncmp(name, t->mine, strlen(t->mine)) == 0);
}

static json_t *
names_of(const struct req *r, const struct templates *t, const nvlist_t *nv)
{
	json_t *names = json_array();
	const char *const *v;
	size_t n = 0;

	v = nvlist_exists_string_array(nv, "names") ?
	    nvlist_get_string_array(nv, "names", &n) : NULL;
	for (size_t i = 0; i < n; i++)
		if (visible(r, t, v[i]))
			(void)json_array_append_new(names,
			    json_string(v[i]));
	return (names);
}

static bool
is_wanted(struct templates *t, const json_t *names, const char *hash)
{
	const char *s;
	const json_t *v;
	size_t i;

	if (t->want == NULL)
		return (true);
	json_array_foreach((json_t *)(uintptr_t)names, i, v) {
		s = json_string_value(v);
		if (strcmp(s, t->want) == 0 || strcmp(hash, t->want) == 0) {
			free(t->found);
			t->found = strdup(s);
			return (true);
		}
	}
	return (false);
}

static json_t *
template_json(const nvlist_t *nv, json_t *names)
{
	char when[32];

	iso_time(when, ctl_uint(nv, "created", 0) * 1000);
	return (json_pack("{s:s, s:s, s:s, s:i, s:i, s:I, s:b, s:O, s:o, s:s,"
	    " s:s, s:n, s:n, s:i, s:i, s:s}", "templateID",
	    json_string_value(json_array_get(names, 0)), "buildID",
	    ctl_string(nv, "hash", ""), "buildStatus", "ready", "cpuCount", 1,
	    "memoryMB", 0, "diskSizeMB", (json_int_t)(ctl_uint(nv, "size",
	    0) >> 20), "public", 1, "aliases", names, "names", names,
	    "createdAt", when, "updatedAt", when, "createdBy",
	    "lastSpawnedAt", "spawnCount", 0, "buildCount", 1, "envdVersion",
	    ENVD_VERSION));
}

/* snap.KEY.BOX.NUMBER[.NAME]: is it of that sandbox, by that name? */
static bool
snapshot_matches(const struct templates *t, const char *name)
{
	const char *p = name + strlen(PREFIX), *dot;

	p = strchr(p, '.');
	if (p == NULL)
		return (false);
	p++;
	if (t->box != NULL && strncmp(p, t->box, CO_SHORTID) != 0)
		return (false);
	if (t->name == NULL)
		return (true);
	dot = strchr(p, '.');
	dot = dot != NULL ? strchr(dot + 1, '.') : NULL;
	return (dot != NULL && strcmp(dot + 1, t->name) == 0);
}

static void
add_snapshots(struct templates *t, const json_t *names)
{
	const char *s, *dot;
	const json_t *v;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)names, i, v) {
		s = json_string_value(v);
		if (strncmp(s, PREFIX, strlen(PREFIX)) != 0 ||
		    !snapshot_matches(t, s))
			continue;
		if (t->skip > 0) {
			t->skip--;
			continue;
		}
		if (json_array_size(t->list) == t->limit) {
			t->more = true;
			return;
		}
		dot = strrchr(s, '.');
		(void)json_array_append_new(t->list, json_pack("{s:s, s:[s]}",
		    "snapshotID", s, "names", dot != NULL ? dot + 1 : s));
	}
}

static void
on_template(void *arg, const nvlist_t *nv)
{
	struct req *r = arg;
	struct templates *t = r->data;
	json_t *names = names_of(r, t, nv);

	if (json_array_size(names) == 0 || !is_wanted(t, names,
	    ctl_string(nv, "hash", ""))) {
		json_decref(names);
		return;
	}
	if (t->snapshots) {
		add_snapshots(t, names);
		json_decref(names);
	} else
		(void)json_array_append_new(t->list, template_json(nv,
		    names));
}

static void
listed(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct templates *t = r->data;

	(void)nv;
	(void)fd;
	if (e != NULL)
		reply_failure(r, e);
	else
		reply_json(r, 200, json_incref(t->list));
}

void
api_templates(struct req *r)
{

	if (templates_new(r) != NULL)
		(void)ask(r, question("template.list", NULL, r->as),
		    on_template, listed);
}

static void
got(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct templates *t = r->data;
	json_t *j;

	(void)nv;
	(void)fd;
	if (e != NULL) {
		reply_failure(r, e);
		return;
	}
	if (json_array_size(t->list) == 0) {
		reply_error(r, 404, "there is no template \"%.64s\"",
		    t->want);
		return;
	}
	j = json_deep_copy(json_array_get(t->list, 0));
	(void)json_object_set_new(j, "builds", json_pack("[{s:O, s:s, s:O, "
	    "s:O, s:O, s:i, s:i}]", "buildID", json_object_get(j, "buildID"),
	    "status", "ready", "createdAt", json_object_get(j, "createdAt"),
	    "updatedAt", json_object_get(j, "updatedAt"), "finishedAt",
	    json_object_get(j, "updatedAt"), "cpuCount", 1, "memoryMB", 0));
	reply_json(r, 200, j);
}

static void
wanted(struct req *r, call_done_fn *done)
{
	struct templates *t = templates_new(r);

	if (t == NULL)
		return;
	t->want = strcmp(r->param[0], "base") == 0 ? r->gw->s.template :
	    r->param[0];
	(void)ask(r, question("template.list", NULL, r->as), on_template,
	    done);
}

void
api_template_get(struct req *r)
{

	wanted(r, got);
}

static void
alias_known(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct templates *t = r->data;

	(void)nv;
	(void)fd;
	if (e != NULL)
		reply_failure(r, e);
	else if (t->found == NULL)
		reply_error(r, 404, "there is no template \"%.64s\"",
		    t->want);
	else
		reply_json(r, 200, json_pack("{s:s, s:b}", "templateID",
		    t->found, "public", 1));
}

void
api_template_alias(struct req *r)
{

	wanted(r, alias_known);
}

/*
 * Delete: a key may its own snapshots; the rest is an administrator's.
 */
static void
deleted(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;

	(void)nv;
	(void)fd;
	if (e != NULL)
		reply_failure(r, e);
	else
		reply_empty(r, 204);
}

static void
delete_known(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct templates *t = r->data;
	nvlist_t *q;

	(void)nv;
	(void)fd;
	if (e != NULL)
		reply_failure(r, e);
	else if (t->found == NULL)
		reply_error(r, 404, "there is no template \"%.64s\"",
		    t->want);
	else if (strncmp(t->found, t->mine, strlen(t->mine)) != 0 &&
	    !(r->key != NULL && key_may(r->key, SCOPE_ADMIN)))
		reply_error(r, 403, "only a key of scope admin may delete "
		    "templates");
	else {
		q = question("template.remove", NULL, NULL);
		nvlist_add_string(q, "template", t->found);
		(void)ask(r, q, NULL, deleted);
	}
}

void
api_template_delete(struct req *r)
{

	wanted(r, delete_known);
}

/*
 * Snapshots.
 */
static void
taken(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct templates *t = r->data;
	const char *dot;

	(void)nv;
	(void)fd;
	if (e != NULL) {
		reply_failure(r, e);
		return;
	}
	dot = strrchr(t->found, '.');
	reply_json(r, 201, json_pack("{s:s, s:[s]}", "snapshotID", t->found,
	    "names", dot + 1));
}

static bool
good_name(const char *s)
{

	return (strlen(s) <= NAME_PART && strspn(s, "abcdefghijklmnopqrstuvw"
	    "xyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == strlen(s));
}

void
api_snapshot(struct req *r)
{
	struct templates *t;
	const char *name;
	struct buf b = { 0 };
	json_t *j;
	nvlist_t *nv;
	uint32_t number;

	if (!co_id_valid(r->param[0])) {
		reply_error(r, 404, "there is no such sandbox");
		return;
	}
	if ((j = body_object(r)) == NULL)
		return;
	name = json_string_value(json_object_get(j, "name"));
	if (name != NULL && !good_name(name)) {
		reply_error(r, 400, "\"name\" must be at most %d letters, "
		    "digits, _ and -", NAME_PART);
		json_decref(j);
		return;
	}
	(void)snprintf(r->box, sizeof(r->box), "%s", r->param[0]);
	if ((t = templates_new(r)) != NULL) {
		co_random(&number, sizeof(number));
		buf_fmt(&b, "%s%.12s.%08x%s%s", t->mine, r->box,
		    (unsigned)number, name != NULL ? "." : "", name != NULL ?
		    name : "");
		t->found = b.p;
		nv = question("snapshot", r->box, r->as);
		nvlist_add_string(nv, "name", t->found);
		(void)ask(r, nv, NULL, taken);
	}
	json_decref(j);
}

static void
snapshots_listed(void *arg, const nvlist_t *nv, int fd,
    const struct co_error *e)
{
	struct req *r = arg;
	struct templates *t = r->data;
	const char *token = http_param(&r->url, "nextToken");
	char fields[64] = "", *text;
	size_t at = token != NULL ? strtoul(token, NULL, 10) : 0;

	(void)nv;
	(void)fd;
	if (e != NULL) {
		reply_failure(r, e);
		return;
	}
	if (t->more)
		(void)snprintf(fields, sizeof(fields), "X-Next-Token: %zu\r\n",
		    at + t->limit);
	text = json_dumps(t->list, JSON_COMPACT);
	reply(r, 200, "application/json", fields, text != NULL ? text : "[]",
	    text != NULL ? strlen(text) : 2);
	free(text);
}

void
api_snapshots(struct req *r)
{
	const char *limit = http_param(&r->url, "limit");
	const char *token = http_param(&r->url, "nextToken");
	struct templates *t = templates_new(r);

	if (t == NULL)
		return;
	t->snapshots = true;
	t->box = http_param(&r->url, "sandboxID");
	t->name = http_param(&r->url, "name");
	t->limit = limit != NULL ? strtoul(limit, NULL, 10) : LIMIT_MAX;
	t->skip = token != NULL ? strtoul(token, NULL, 10) : 0;
	if (t->limit < 1 || t->limit > LIMIT_MAX || (t->box != NULL &&
	    strlen(t->box) < CO_SHORTID)) {
		reply_error(r, 400, "\"limit\" must be from 1 to %d, "
		    "\"sandboxID\" an id", LIMIT_MAX);
		return;
	}
	(void)ask(r, question("template.list", NULL, r->as), on_template,
	    snapshots_listed);
}
