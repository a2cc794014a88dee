/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What is known of sandboxes.  Requests for envd and ports need to know a
 * sandbox's token and state; asking each time would double their latency, so
 * it is kept until an event of coppiced says that something changed.  What
 * we must remember of a sandbox is kept with it, as labels "gw.NAME=VALUE",
 * so that a restart of the gateway loses nothing.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gw.h"

#define	DEBUG_NAME	"e2b-debug"

struct finding {
	struct req	*req;
	void		(*then)(struct req *, struct box *);
	struct box	*found;		/* by its signature */
	bool		 making;
};

static const struct req_ops finding_ops;

const char *
label(const nvlist_t *nv, const char *name)
{
	const char *const *v;
	size_t n, len = strlen(name);

	if (!nvlist_exists_string_array(nv, "labels"))
		return (NULL);
	v = nvlist_get_string_array(nv, "labels", &n);
	for (size_t i = 0; i < n; i++)
		if (strncmp(v[i], "gw.", 3) == 0 &&
		    strncmp(v[i] + 3, name, len) == 0 && v[i][3 + len] == '=')
			return (v[i] + 4 + len);
	return (NULL);
}

static void
box_free(struct box *b)
{

	if (b == NULL)
		return;
	free(b->owner);
	free(b->state);
	free(b->token);
	free(b->traffic);
	free(b->mask);
	free(b->env);
	free(b);
}

static unsigned int
slot(const char *id)
{
	char two[3] = { id[0], id[1], '\0' };

	return ((unsigned)strtoul(two, NULL, 16) & 255);
}

struct box *
box_known(struct gw *gw, const char *id)
{
	struct box *b;

	LIST_FOREACH(b, &gw->boxes[slot(id)], link)
		if (strcmp(b->id, id) == 0)
			return (b);
	return (NULL);
}

static void
box_drop(struct gw *gw, const char *id)
{
	struct box *b = co_id_valid(id) ? box_known(gw, id) : NULL;

	if (b == NULL)
		return;
	LIST_REMOVE(b, link);
	box_free(b);
}

void
box_flush(struct gw *gw)
{
	struct box *b;

	for (size_t i = 0; i < COUNT(gw->boxes); i++)
		while ((b = LIST_FIRST(&gw->boxes[i])) != NULL) {
			LIST_REMOVE(b, link);
			box_free(b);
		}
}

static char *
copy(const char *s)
{

	return (s != NULL ? strdup(s) : NULL);
}

static char *
env_of(const nvlist_t *nv)
{
	const char *const *v;
	const char *eq;
	json_t *j = json_object();
	char *text;
	size_t n = 0;

	v = nvlist_exists_string_array(nv, "env") ?
	    nvlist_get_string_array(nv, "env", &n) : NULL;
	for (size_t i = 0; i < n; i++) {
		eq = strchr(v[i], '=');
		if (eq != NULL)
			(void)json_object_setn_new(j, v[i], (size_t)(eq -
			    v[i]), json_string(eq + 1));
	}
	text = json_dumps(j, JSON_COMPACT);
	json_decref(j);
	return (text);
}

static struct box *
box_make(const nvlist_t *nv)
{
	const char *wakes = label(nv, "wakes");
	const char *timeout = label(nv, "timeout");
	struct box *b = calloc(1, sizeof(*b));

	if (b == NULL)
		return (NULL);
	(void)snprintf(b->id, sizeof(b->id), "%s", ctl_string(nv, "id", ""));
	b->owner = copy(ctl_string(nv, "owner", ""));
	b->state = copy(ctl_string(nv, "state", ""));
	b->token = copy(label(nv, "token"));
	b->traffic = copy(label(nv, "traffic"));
	b->mask = copy(label(nv, "mask"));
	b->env = env_of(nv);
	b->direct = ctl_flag(nv, "direct", false);
	b->wakes = wakes != NULL && *wakes == '1';
	b->sleeps = wakes != NULL && *wakes == '0';
	b->timeout_ms = timeout != NULL ? strtoull(timeout, NULL, 10) : 0;
	if (b->owner != NULL && b->state != NULL && co_id_valid(b->id))
		return (b);
	box_free(b);
	return (NULL);
}

static struct box *
box_learn(struct gw *gw, const nvlist_t *nv)
{
	struct box *b = box_make(nv);

	if (b == NULL)
		return (NULL);
	box_drop(gw, b->id);
	/* Without events nobody would tell us of changes. */
	LIST_INSERT_HEAD(&gw->boxes[slot(b->id)], b, link);
	return (b);
}

void
box_met(struct gw *gw, const nvlist_t *nv)
{

	if (gw->events != NULL)
		(void)box_learn(gw, nv);
}

/*
 * Events.
 */
static void
on_event(void *arg, const nvlist_t *nv)
{
	struct gw *gw = arg;
	const char *event = ctl_string(nv, "event", "");

	if (strcmp(event, "lost") == 0)
		box_flush(gw);
	else
		box_drop(gw, ctl_string(nv, "id", ""));
}

static void
events_done(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct gw *gw = arg;

	(void)nv;
	(void)fd;
	(void)e;
	gw->events = NULL;
	box_flush(gw);
}

void
box_start(struct gw *gw)
{
	struct co_error e;
	nvlist_t *nv;

	if (gw->events != NULL)
		return;
	nv = question("events", NULL, NULL);
	nvlist_add_bool(nv, "commands", false);
	gw->events = call_start(gw, nv, -1, on_event, events_done, gw, &e);
}

/*
 * Looking one up.
 */
static void
finding_gone(struct req *r)
{

	free(r->data);
	r->data = NULL;
}

static const struct req_ops finding_ops = { .gone = finding_gone };

static void
settle(struct req *r, struct box *b)
{
	struct finding *f = r->data;
	void (*then)(struct req *, struct box *) = f->then;

	free(f);
	r->data = NULL;
	r->ops = NULL;
	r->paused = false;
	then(r, b);
	/* Not kept when changes of it would not be heard of. */
	conn_soon(r->conn);
}

static void
not_there(struct req *r)
{

	r->ops = NULL;
	free(r->data);
	r->data = NULL;
	r->paused = false;
	reply_error(r, 502, "the sandbox was not found");
}

static void make_debug(struct req *);

static void
shown(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct finding *f = r->data;
	struct box *b;

	(void)fd;
	if (e != NULL && e->code == CO_ESYS_CANCELLED) {
		r->paused = false;
		reply_failure(r, e);
	} else if (e != NULL && f->making)
		make_debug(r);
	else if (e != NULL || (b = box_learn(r->gw, nv)) == NULL)
		not_there(r);
	else
		settle(r, b);
}

static void
look(struct req *r, const char *id)
{

	(void)ask(r, question("show", id, NULL), NULL, shown);
}

/* The sandbox of the debug mode is made when it is first asked for. */
static void
make_debug(struct req *r)
{
	struct finding *f = r->data;
	nvlist_t *nv = question("create", NULL, "key:local");

	f->making = false;
	nvlist_add_string(nv, "name", DEBUG_NAME);
	nvlist_add_string(nv, "template", r->gw->s.template);
	(void)ask(r, nv, NULL, shown);
}

static void
listed(void *arg, const nvlist_t *nv)
{
	struct req *r = arg;
	struct finding *f = r->data;
	struct box *b;

	if (f->found != NULL || label(nv, "token") == NULL ||
	    (b = box_make(nv)) == NULL)
		return;
	if (sign_valid(r, b->token, r->route->run == envd_upload))
		f->found = box_learn(r->gw, nv);
	box_free(b);
}

static void
list_done(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct finding *f = r->data;

	(void)nv;
	(void)fd;
	if (e != NULL) {
		r->paused = false;
		reply_failure(r, e);
	} else if (f->found != NULL)
		settle(r, f->found);
	else {
		r->paused = false;
		reply_error(r, 401, "the signature is of no sandbox");
	}
}

void
box_find(struct req *r, const char *id,
    void (*then)(struct req *, struct box *))
{
	struct finding *f;
	struct box *b;

	box_start(r->gw);
	b = id != NULL ? box_known(r->gw, id) : NULL;
	if (b != NULL && r->gw->events != NULL) {
		then(r, b);
		return;
	}
	f = calloc(1, sizeof(*f));
	if (f == NULL) {
		reply_error(r, 500, "out of memory");
		return;
	}
	f->then = then;
	r->data = f;
	r->ops = &finding_ops;
	r->paused = true;
	if (id != NULL)
		look(r, id);
	else if (http_param(&r->url, "signature") != NULL)
		(void)ask(r, question("list", NULL, NULL), listed, list_done);
	else {
		f->making = true;
		look(r, DEBUG_NAME);
	}
}

/*
 * Waking up.
 */
struct waking {
	void		(*then)(struct req *);
	uint64_t	 timeout_ms;
};

static void
woken(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct waking *w = r->data;
	void (*then)(struct req *) = w->then;

	(void)nv;
	(void)fd;
	free(w);
	r->data = NULL;
	r->ops = NULL;
	r->paused = false;
	if (e != NULL)
		reply_error(r, 502, "the sandbox can't be woken up: %s",
		    e->message);
	else
		then(r);
	conn_soon(r->conn);
}

/* It is given its time again, lest it falls asleep at once. */
static void
resumed(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct waking *w = r->data;
	nvlist_t *q;

	if (e != NULL || w->timeout_ms == 0) {
		woken(arg, nv, fd, e);
		return;
	}
	q = question("timeout", r->box, NULL);
	nvlist_add_number(q, "timeout_ms", w->timeout_ms);
	(void)ask(r, q, NULL, woken);
}

void
box_awake(struct req *r, const struct box *b, bool traffic,
    void (*then)(struct req *))
{
	struct waking *w;

	if (strcmp(b->state, "running") == 0) {
		then(r);
		return;
	}
	if (strcmp(b->state, "paused") != 0 ||
	    !(b->wakes || (traffic && !b->sleeps)) ||
	    (w = calloc(1, sizeof(*w))) == NULL) {
		reply_error(r, 502, "the sandbox is %s", b->state);
		return;
	}
	w->then = then;
	w->timeout_ms = b->timeout_ms;
	r->data = w;
	r->ops = &finding_ops;
	r->paused = true;
	(void)ask(r, question("resume", b->id, NULL), NULL, resumed);
}
