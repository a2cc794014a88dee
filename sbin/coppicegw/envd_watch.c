/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * filesystem.Filesystem: watching a directory, by a stream or by a watcher
 * whose events are fetched.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc.h"

#define	WATCHERS_MAX	256
#define	EVENTS_MAX	4096		/* kept by a watcher */
#define	UNUSED_MS	(600 * 1000)	/* then it is ended */

struct watcher {
	LIST_ENTRY(watcher) link;
	struct gw	*gw;
	struct req	*req;		/* a stream's; NULL: fetched */
	struct call	*call;
	char		 box[CO_IDSIZE];
	char		 id[CO_IDSIZE];
	char		*user, *path;
	char		 as[48];
	char		*root;		/* as the sandbox says it */
	json_t		*events;
	uint64_t	 used;
	LIST_HEAD(, glance) glances;
	bool		 started, entries, overflow;
};

/* A look at what changed, for who wants entries with events. */
struct glance {
	LIST_ENTRY(glance) link;
	struct watcher	*w;
	struct call	*call;
	json_t		*event;
};

static const char *const kinds[][2] = {
	{ "create", "EVENT_TYPE_CREATE" }, { "write", "EVENT_TYPE_WRITE" },
	{ "remove", "EVENT_TYPE_REMOVE" }, { "rename", "EVENT_TYPE_RENAME" },
	{ "chmod", "EVENT_TYPE_CHMOD" },
};

static void
glance_free(struct glance *g)
{

	call_forget(g->call);
	json_decref(g->event);
	free(g);
}

static void
watcher_free(struct watcher *w)
{
	struct glance *g, *next;

	for (g = LIST_FIRST(&w->glances); g != NULL; g = next) {
		next = LIST_NEXT(g, link);
		glance_free(g);
	}
	LIST_REMOVE(w, link);
	call_cancel(w->call);
	free(w->user);
	free(w->path);
	free(w->root);
	json_decref(w->events);
	free(w);
}

static void
deliver(struct watcher *w, json_t *event)
{

	if (w->req != NULL) {
		rpc_reply(w->req, json_pack("{s:o}", "filesystem", event));
		return;
	}
	if (json_array_size(w->events) < EVENTS_MAX)
		(void)json_array_append_new(w->events, event);
	else {
		w->overflow = true;
		json_decref(event);
	}
}

static const char *
relative(const struct watcher *w, const char *path)
{
	const char *roots[] = { w->root, w->path };
	size_t n;

	for (size_t i = 0; i < COUNT(roots); i++) {
		n = roots[i] != NULL ? strlen(roots[i]) : 0;
		while (n > 0 && roots[i][n - 1] == '/')
			n--;
		if (n > 0 && strncmp(path, roots[i], n) == 0 &&
		    path[n] == '/')
			return (path + n + 1);
	}
	return (path[0] == '/' ? path + 1 : path);
}

static void
glanced(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct glance *g = arg;
	struct watcher *w = g->w;
	json_t *event = json_incref(g->event);

	(void)fd;
	g->call = NULL;
	LIST_REMOVE(g, link);
	glance_free(g);
	if (e == NULL)
		(void)json_object_set_new(event, "entry", entry_json(nv));
	deliver(w, event);
}

static void
glance(struct watcher *w, json_t *event, const char *path)
{
	struct glance *g = calloc(1, sizeof(*g));
	struct buf b = { 0 };
	struct co_error e;
	nvlist_t *nv;

	if (g == NULL) {
		deliver(w, event);
		return;
	}
	g->w = w;
	g->event = event;
	LIST_INSERT_HEAD(&w->glances, g, link);
	nv = question("file.stat", w->box, w->as);
	if (path[0] != '/')
		buf_fmt(&b, "%s/", w->path);
	buf_str(&b, path);
	nvlist_add_string(nv, "path", b.p);
	buf_free(&b);
	if (w->user != NULL)
		nvlist_add_string(nv, "user", w->user);
	g->call = call_start(w->gw, nv, -1, NULL, glanced, g, &e);
	if (g->call == NULL)
		glanced(g, NULL, -1, &e);
}

static void
on_change(struct watcher *w, const nvlist_t *nv)
{
	const char *kind = ctl_string(nv, "kind", "");
	const char *path = ctl_string(nv, "path", "");
	json_t *name = json_string(relative(w, path)), *event;
	size_t i = 0;

	while (i < COUNT(kinds) && strcmp(kind, kinds[i][0]) != 0)
		i++;
	if (name == NULL || i == COUNT(kinds)) {
		json_decref(name);
		return;
	}
	event = json_pack("{s:o, s:s}", "name", name, "type", kinds[i][1]);
	if (w->entries)
		glance(w, event, path);
	else
		deliver(w, event);
}

static void
on_event(void *arg, const nvlist_t *nv)
{
	struct watcher *w = arg;
	const char *event = ctl_string(nv, "event", "");

	if (strcmp(event, "change") == 0)
		on_change(w, nv);
	else if (strcmp(event, "entry") == 0 && !w->started) {
		w->started = true;
		free(w->root);
		w->root = strdup(ctl_string(nv, "path", ""));
		if (w->req != NULL)
			rpc_reply(w->req, json_pack("{s:{}}", "start"));
	}
}

static void
on_done(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct watcher *w = arg;
	struct req *r = w->req;

	(void)nv;
	(void)fd;
	w->call = NULL;
	if (r == NULL)
		return;
	rpc_of(r)->data = NULL;
	rpc_of(r)->gone = NULL;
	watcher_free(w);
	if (e != NULL)
		rpc_failure(r, e);
	else
		rpc_end(r);
}

static struct watcher *
watcher_new(struct req *r, const json_t *in)
{
	const char *path = json_string_value(json_object_get(in, "path"));
	const char *user = envd_user(r);
	struct watcher *w;

	if (path == NULL || *path == '\0') {
		rpc_error(r, CONNECT_INVALID, "\"path\" must be a path");
		return (NULL);
	}
	w = calloc(1, sizeof(*w));
	if (w == NULL) {
		rpc_error(r, CONNECT_INTERNAL, "out of memory");
		return (NULL);
	}
	w->gw = r->gw;
	w->path = strdup(path);
	if (w->path == NULL) {
		free(w);
		rpc_error(r, CONNECT_INTERNAL, "out of memory");
		return (NULL);
	}
	w->user = user != NULL ? strdup(user) : NULL;
	w->events = json_array();
	w->used = uv_now(r->gw->loop);
	w->entries = json_is_true(json_object_get(in, "includeEntry"));
	co_id_make(w->id);
	(void)snprintf(w->box, sizeof(w->box), "%s", r->box);
	(void)snprintf(w->as, sizeof(w->as), "%s", r->as);
	LIST_INSERT_HEAD(&r->gw->watchers, w, link);
	return (w);
}

static nvlist_t *
watch_question(const struct watcher *w, const json_t *in)
{
	nvlist_t *nv = question("file.watch", w->box, w->as);

	nvlist_add_string(nv, "path", w->path);
	if (w->user != NULL)
		nvlist_add_string(nv, "user", w->user);
	nvlist_add_bool(nv, "recursive", json_is_true(json_object_get(in,
	    "recursive")));
	return (nv);
}

static void
stream_gone(struct req *r)
{

	watcher_free(rpc_of(r)->data);
	rpc_of(r)->data = NULL;
}

void
rpc_watch_dir(struct req *r, const json_t *in)
{
	struct watcher *w = watcher_new(r, in);
	struct co_error e;

	if (w == NULL)
		return;
	w->req = r;
	rpc_of(r)->data = w;
	rpc_of(r)->gone = stream_gone;
	w->call = call_start(r->gw, watch_question(w, in), -1, on_event,
	    on_done, w, &e);
	if (w->call == NULL)
		rpc_failure(r, &e);
}

/*
 * Watchers.
 */
static struct watcher *
find(struct req *r, const json_t *in)
{
	const char *id = json_string_value(json_object_get(in, "watcherId"));
	struct watcher *w;

	LIST_FOREACH(w, &r->gw->watchers, link)
		if (id != NULL && w->req == NULL && strcmp(w->id, id) == 0 &&
		    strcmp(w->box, r->box) == 0)
			return (w);
	rpc_error(r, CONNECT_NOTFOUND, "there is no such watcher");
	return (NULL);
}

/* It is begun when the sandbox says so, so that nothing is missed. */
static void
begin_gone(struct req *r)
{

	watcher_free(rpc_of(r)->data);
	rpc_of(r)->data = NULL;
}

static void
begin_event(void *arg, const nvlist_t *nv)
{
	struct watcher *w = arg;
	struct req *r = w->req;

	if (w->started || strcmp(ctl_string(nv, "event", ""), "entry") != 0) {
		on_event(arg, nv);
		return;
	}
	w->req = NULL;
	on_event(arg, nv);
	rpc_of(r)->data = NULL;
	rpc_of(r)->gone = NULL;
	rpc_reply(r, json_pack("{s:s}", "watcherId", w->id));
}

void
rpc_create_watcher(struct req *r, const json_t *in)
{
	struct watcher *w;
	struct co_error e;
	size_t n = 0;

	LIST_FOREACH(w, &r->gw->watchers, link)
		n += strcmp(w->box, r->box) == 0;
	if (n >= WATCHERS_MAX) {
		rpc_error(r, CONNECT_EXHAUSTED, "the sandbox has %d watchers "
		    "already", WATCHERS_MAX);
		return;
	}
	if ((w = watcher_new(r, in)) == NULL)
		return;
	w->req = r;
	rpc_of(r)->data = w;
	rpc_of(r)->gone = begin_gone;
	w->call = call_start(r->gw, watch_question(w, in), -1, begin_event,
	    on_done, w, &e);
	if (w->call == NULL)
		rpc_failure(r, &e);
}

void
rpc_watcher_events(struct req *r, const json_t *in)
{
	struct watcher *w = find(r, in);
	json_t *events;

	if (w == NULL)
		return;
	w->used = uv_now(r->gw->loop);
	events = w->events;
	w->events = json_array();
	w->overflow = false;
	rpc_reply(r, json_pack("{s:o}", "events", events));
}

void
rpc_remove_watcher(struct req *r, const json_t *in)
{
	struct watcher *w = find(r, in);

	if (w == NULL)
		return;
	watcher_free(w);
	rpc_reply(r, json_object());
}

void
watch_tick(struct gw *gw)
{
	uint64_t now = uv_now(gw->loop);
	struct watcher *w, *next;
	struct rpc *c;

	for (w = LIST_FIRST(&gw->watchers); w != NULL; w = next) {
		next = LIST_NEXT(w, link);
		if (w->req == NULL) {
			if (now - w->used > UNUSED_MS)
				watcher_free(w);
			continue;
		}
		c = rpc_of(w->req);
		if (c->deadline != 0 && now > c->deadline)
			rpc_error(w->req, CONNECT_DEADLINE,
			    "the time to watch is over");
		else if (c->begun && now - c->last >= c->keepalive_ms)
			rpc_reply(w->req, json_pack("{s:{}}", "keepalive"));
	}
}
