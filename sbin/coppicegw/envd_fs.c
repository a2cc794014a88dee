/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * filesystem.Filesystem: what is asked and changed at once.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc.h"

#define	DEPTH_MAX	64
#define	ENTRIES_MAX	100000

static void
permissions(char out[11], const char *kind, uint64_t mode)
{
	static const char letters[] = "rwxrwxrwx";

	out[0] = strcmp(kind, "dir") == 0 ? 'd' : strcmp(kind, "link") == 0 ?
	    'L' : '-';
	for (int i = 0; i < 9; i++)
		out[1 + i] = (mode >> (8 - i) & 1) != 0 ? letters[i] : '-';
	out[10] = '\0';
}

/* A name that is not text is shown with marks in place of its bytes. */
static json_t *
text(const char *s)
{
	json_t *j = json_string(s);
	struct buf b = { 0 };

	if (j != NULL)
		return (j);
	for (; *s != '\0'; s++)
		buf_add(&b, (unsigned char)*s < 128 ? s : "?", 1);
	j = json_string(b.p != NULL ? b.p : "");
	buf_free(&b);
	return (j);
}

json_t *
entry_json(const nvlist_t *nv)
{
	const char *path = ctl_string(nv, "path", "");
	const char *kind = ctl_string(nv, "kind", "");
	const char *slash = strrchr(path, '/');
	const char *target = ctl_string(nv, "target", "");
	uint64_t ns = ctl_uint(nv, "mtime_ns", 0);
	uint64_t mode = ctl_uint(nv, "mode", 0);
	char perm[11], size[24], when[32];
	json_t *j;

	permissions(perm, kind, mode);
	co_time_iso(when, sizeof(when), (int64_t)(ns / 1000000000),
	    (int32_t)(ns % 1000000000 / 1000));
	(void)snprintf(size, sizeof(size), "%ju", (uintmax_t)ctl_uint(nv,
	    "size", 0));
	j = json_pack("{s:o, s:s, s:o, s:s, s:I, s:s, s:o, s:o, s:s}",
	    "name", text(slash != NULL && slash[1] != '\0' ? slash + 1 :
	    path), "type", strcmp(kind, "dir") == 0 ? "FILE_TYPE_DIRECTORY" :
	    strcmp(kind, "link") == 0 ? "FILE_TYPE_SYMLINK" :
	    "FILE_TYPE_FILE", "path", text(path), "size", size, "mode",
	    (json_int_t)(mode & 07777), "permissions", perm, "owner",
	    text(ctl_string(nv, "owner", "")), "group", text(ctl_string(nv,
	    "group", "")), "modifiedTime", when);
	if (*target != '\0')
		(void)json_object_set_new(j, "symlinkTarget", text(target));
	return (j);
}

static nvlist_t *
file_question(struct req *r, const char *op, const json_t *in,
    const char *name)
{
	const json_t *v = json_object_get(in, name);
	const char *path = json_string_value(v), *user = envd_user(r);
	nvlist_t *nv;

	if (path == NULL || *path == '\0' ||
	    strlen(path) != json_string_length(v)) {
		rpc_error(r, CONNECT_INVALID, "\"%s\" must be a path", name);
		return (NULL);
	}
	nv = question(op, r->box, r->as);
	nvlist_add_string(nv, "path", path);
	if (user != NULL)
		nvlist_add_string(nv, "user", user);
	return (nv);
}

static void
failed(struct req *r, const struct co_error *e)
{

	rpc_failure(r, e);
}

/*
 * Stat, and what ends with it.
 */
static void
stated(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;

	(void)fd;
	if (e != NULL)
		failed(r, e);
	else {
		metric_add(r->gw, METRIC_FILE, uv_hrtime() - r->began);
		rpc_reply(r, json_pack("{s:o}", "entry", entry_json(nv)));
	}
}

static void
stat_path(struct req *r, const char *path)
{
	const char *user = envd_user(r);
	nvlist_t *nv = question("file.stat", r->box, r->as);

	nvlist_add_string(nv, "path", path);
	if (user != NULL)
		nvlist_add_string(nv, "user", user);
	(void)ask(r, nv, NULL, stated);
}

void
rpc_stat(struct req *r, const json_t *in)
{
	nvlist_t *nv = file_question(r, "file.stat", in, "path");

	if (nv != NULL)
		(void)ask(r, nv, NULL, stated);
}

/* The path to look at when the change was made is kept meanwhile. */
static void
path_gone(struct req *r)
{

	free(rpc_of(r)->data);
	rpc_of(r)->data = NULL;
}

static void
keep_path(struct req *r, const json_t *in, const char *name)
{
	const char *path = json_string_value(json_object_get(in, name));

	rpc_of(r)->data = strdup(path != NULL ? path : "");
	rpc_of(r)->gone = path_gone;
}

static void
changed(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;

	(void)nv;
	(void)fd;
	if (e != NULL)
		failed(r, e);
	else
		stat_path(r, rpc_of(r)->data);
}

static void
no_entry(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct co_error there = { .code = CO_ESYS_ERRNO, .errnum = EEXIST };
	nvlist_t *q;

	(void)fd;
	if (e == NULL) {
		there.errnum = strcmp(ctl_string(nv, "kind", ""), "dir") == 0 ?
		    EEXIST : EINVAL;
		(void)snprintf(there.message, sizeof(there.message), "%s",
		    there.errnum == EEXIST ? "the directory exists already" :
		    "there is something else of that name");
		failed(r, &there);
		return;
	}
	if (e->errnum != ENOENT) {
		failed(r, e);
		return;
	}
	q = question("file.mkdir", r->box, r->as);
	nvlist_add_string(q, "path", rpc_of(r)->data);
	nvlist_add_bool(q, "parents", true);
	nvlist_add_number(q, "mode", 0755);
	if (envd_user(r) != NULL)
		nvlist_add_string(q, "user", envd_user(r));
	(void)ask(r, q, NULL, changed);
}

/* With its parents, but not if it is there: first we look. */
void
rpc_mkdir(struct req *r, const json_t *in)
{
	nvlist_t *nv = file_question(r, "file.stat", in, "path");

	if (nv == NULL)
		return;
	keep_path(r, in, "path");
	nvlist_add_bool(nv, "follow", true);
	(void)ask(r, nv, NULL, no_entry);
}

void
rpc_move(struct req *r, const json_t *in)
{
	nvlist_t *nv = file_question(r, "file.move", in, "source");
	const char *to = json_string_value(json_object_get(in,
	    "destination"));

	if (nv == NULL)
		return;
	if (to == NULL || *to == '\0') {
		nvlist_destroy(nv);
		rpc_error(r, CONNECT_INVALID, "\"destination\" must be a "
		    "path");
		return;
	}
	nvlist_add_string(nv, "to", to);
	keep_path(r, in, "destination");
	(void)ask(r, nv, NULL, changed);
}

/* Removing what is not there is no error. */
static void
removed(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;

	(void)nv;
	(void)fd;
	if (e != NULL && e->errnum != ENOENT)
		failed(r, e);
	else
		rpc_reply(r, json_object());
}

void
rpc_remove(struct req *r, const json_t *in)
{
	nvlist_t *nv = file_question(r, "file.remove", in, "path");

	if (nv == NULL)
		return;
	nvlist_add_bool(nv, "recursive", true);
	(void)ask(r, nv, NULL, removed);
}

/*
 * ListDir: entries are named from the directory on, whose own name comes
 * first.
 */
struct listing {
	char		*root;
	json_t		*list;
};

static void
list_gone(struct req *r)
{
	struct listing *l = rpc_of(r)->data;

	free(l->root);
	json_decref(l->list);
	free(l);
	rpc_of(r)->data = NULL;
}

static void
on_entry(void *arg, const nvlist_t *nv)
{
	struct req *r = arg;
	struct listing *l = rpc_of(r)->data;
	const char *path = ctl_string(nv, "path", "");
	struct buf b = { 0 };
	json_t *j;

	if (json_array_size(l->list) >= ENTRIES_MAX)
		return;
	j = entry_json(nv);
	if (path[0] != '/') {
		buf_fmt(&b, "%s%s%s", l->root, l->root[strlen(l->root) -
		    1] == '/' ? "" : "/", path);
		(void)json_object_set_new(j, "path", text(b.p));
		buf_free(&b);
	}
	(void)json_array_append_new(l->list, j);
}

static int
by_path(const void *a, const void *b)
{
	json_t *const *x = a, *const *y = b;

	return (strcmp(json_string_value(json_object_get(*x, "path")),
	    json_string_value(json_object_get(*y, "path"))));
}

static json_t *
sorted(json_t *list)
{
	size_t n = json_array_size(list);
	json_t **v = calloc(n + 1, sizeof(json_t *)), *to = json_array();

	for (size_t i = 0; v != NULL && i < n; i++)
		v[i] = json_array_get(list, i);
	if (v != NULL && n > 0)
		qsort(v, n, sizeof(json_t *), by_path);
	for (size_t i = 0; v != NULL && i < n; i++)
		(void)json_array_append(to, v[i]);
	free(v);
	return (to);
}

static void
listed(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct listing *l = rpc_of(r)->data;

	(void)nv;
	(void)fd;
	if (e != NULL)
		failed(r, e);
	else {
		metric_add(r->gw, METRIC_FILE, uv_hrtime() - r->began);
		rpc_reply(r, json_pack("{s:o}", "entries", sorted(l->list)));
	}
}

static void
list_root(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct listing *l = rpc_of(r)->data;
	const char *user = envd_user(r);
	nvlist_t *q;

	(void)fd;
	if (e != NULL) {
		failed(r, e);
		return;
	}
	if (strcmp(ctl_string(nv, "kind", ""), "dir") != 0) {
		rpc_error(r, CONNECT_INVALID, "it is not a directory");
		return;
	}
	l->root = strdup(ctl_string(nv, "path", "/"));
	q = question("file.list", r->box, r->as);
	nvlist_add_string(q, "path", l->root);
	nvlist_add_number(q, "depth", rpc_of(r)->number[0]);
	if (user != NULL)
		nvlist_add_string(q, "user", user);
	(void)ask(r, q, on_entry, listed);
}

void
rpc_list_dir(struct req *r, const json_t *in)
{
	nvlist_t *nv = file_question(r, "file.stat", in, "path");
	struct listing *l;
	json_int_t depth = json_integer_value(json_object_get(in, "depth"));

	if (nv == NULL)
		return;
	if (depth < 0 || depth > DEPTH_MAX) {
		nvlist_destroy(nv);
		rpc_error(r, CONNECT_INVALID, "\"depth\" must be from 1 to "
		    "%d", DEPTH_MAX);
		return;
	}
	l = calloc(1, sizeof(*l));
	if (l == NULL) {
		nvlist_destroy(nv);
		rpc_error(r, CONNECT_INTERNAL, "out of memory");
		return;
	}
	l->list = json_array();
	rpc_of(r)->data = l;
	rpc_of(r)->gone = list_gone;
	rpc_of(r)->number[0] = depth == 0 ? 1 : (uint64_t)depth;
	nvlist_add_bool(nv, "follow", true);
	(void)ask(r, nv, NULL, list_root);
}
