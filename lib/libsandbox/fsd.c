/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The connections to the file servers of a sandbox: requests on behalf of
 * calls, steps, and what the servers have to tell.
 */

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_internal.h"

#define	GUARDS_MAX	64
#define	FINAL_MS	1000	/* then nobody waits any longer */

struct fsd_ask {
	LIST_ENTRY(fsd_ask) link;
	uint64_t	 req;
	fsd_event_fn	*event;
	fsd_done_fn	*done;		/* NULL: nobody waits */
	void		*arg;
	bool		 forever;	/* events come after the answer */
};

/* Whoever waits for a step to become final. */
struct waiter {
	LIST_ENTRY(waiter) link;
	void		(*fn)(void *);
	void		*arg;
};

struct fsd {
	struct sandbox	*sb;
	struct engine	*en;
	char		*label;
	bool		 readonly;
	struct ctl	*ctl;
	struct watch	*watch;
	bool		 busy;		/* within ctl_dispatch() */
	bool		 closed;
	LIST_HEAD(, fsd_ask) asks;
	int64_t		 expected;	/* to become final; 0: none */
	struct alarm	*alarm;
	LIST_HEAD(, waiter) waiters;
	nvlist_t	*guard[GUARDS_MAX];	/* that wait for an answer */
	size_t		 nguards;
};

bool
fsd_alive(const struct fsd *f)
{

	return (f != NULL && f->ctl != NULL && !f->closed);
}

bool
fsd_writable(const struct fsd *f)
{

	return (fsd_alive(f) && !f->readonly);
}

const char *
fsd_label(const struct fsd *f)
{

	return (f->label);
}

const nvlist_t *const *
fsd_guards(const struct fsd *f, size_t *n)
{

	*n = f->nguards;
	return ((const nvlist_t *const *)f->guard);
}

struct fsd *
fsd_find(struct sandbox *sb, const char *label, struct co_error *e)
{
	struct fsd *f;

	for (size_t i = 0; i < sb->nfsd; i++) {
		f = sb->fsd[i];
		if (*label == '\0' ? f->readonly :
		    strcmp(label, f->label) != 0)
			continue;
		if (fsd_alive(f))
			return (f);
		(void)co_error_set(e, CO_ESHARE_MOUNT, f->label,
		    "the file server of share \"%s\" is gone; stop and start "
		    "the sandbox", f->label);
		return (NULL);
	}
	if (*label != '\0')
		(void)co_error_set(e, CO_ESHARE_ROOT, label,
		    "the sandbox has no share \"%s\"", label);
	else
		(void)co_error_set(e, CO_EUNDO_NOSTEP, sb->id,
		    "the sandbox has no share that could be undone; create "
		    "one with -w");
	return (NULL);
}

static void
guard_forget(struct fsd *f, const char *id)
{

	for (size_t i = 0; i < f->nguards; i++) {
		if (strcmp(ctl_string(f->guard[i], "safeguard", ""), id) != 0)
			continue;
		nvlist_destroy(f->guard[i]);
		memmove(&f->guard[i], &f->guard[i + 1],
		    (f->nguards - i - 1) * sizeof(f->guard[0]));
		f->nguards--;
		return;
	}
}

static void
guard_keep(struct fsd *f, const nvlist_t *nv)
{

	if (f->nguards == GUARDS_MAX)
		guard_forget(f, ctl_string(f->guard[0], "safeguard", ""));
	f->guard[f->nguards++] = nvlist_clone(nv);
}

static void
fsd_settled(struct fsd *f)
{
	struct waiter *w;

	f->expected = 0;
	alarm_free(f->alarm);
	f->alarm = NULL;
	while ((w = LIST_FIRST(&f->waiters)) != NULL) {
		LIST_REMOVE(w, link);
		w->fn(w->arg);
		free(w);
	}
}

static void
fsd_rings(void *arg)
{

	fsd_settled(arg);
}

void
fsd_expect(struct fsd *f, int64_t step)
{

	f->expected = step;
	alarm_free(f->alarm);
	f->alarm = alarm_new(f->en, FINAL_MS, fsd_rings, f);
}

void
fsd_wait(struct fsd *f, void (*fn)(void *), void *arg)
{
	struct waiter *w;

	w = f->expected != 0 ? calloc(1, sizeof(*w)) : NULL;
	if (w == NULL) {
		fn(arg);
		return;
	}
	w->fn = fn;
	w->arg = arg;
	LIST_INSERT_HEAD(&f->waiters, w, link);
}

void
fsd_unwait(struct fsd *f, void *arg)
{
	struct waiter *w;

	LIST_FOREACH(w, &f->waiters, link)
		if (w->arg == arg) {
			LIST_REMOVE(w, link);
			free(w);
			return;
		}
}

/* Names by which the engine tells what a server does. */
static const struct {
	const char	*from, *to;
} names[] = {
	{ "step", "step" }, { "rollback", "undo" }, { "redo", "redo" },
	{ "safeguard", "safeguard" }, { "barrier", "barrier" }
};

static void
tell(struct fsd *f, const nvlist_t *in)
{
	const char *kind = ctl_string(in, "event", ""), *to = "notice";
	const char *const *paths;
	nvlist_t *nv;
	size_t n;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i].from, kind) == 0)
			to = names[i].to;
	nv = box_event(f->sb, to);
	nvlist_add_string(nv, "share", f->label);
	rec_copy(nv, in, "step");
	rec_copy(nv, in, "count");
	rec_copy(nv, in, "message");
	if (strcmp(to, "safeguard") == 0) {
		nvlist_add_string(nv, "safeguard", ctl_string(in, "id", ""));
		nvlist_add_string(nv, "kind", ctl_string(in, "guard", ""));
		rec_copy(nv, in, "timeout_ms");
		if (nvlist_exists_string_array(in, "paths")) {
			paths = nvlist_get_string_array(in, "paths", &n);
			nvlist_add_string(nv, "path", paths[0]);
		}
		guard_keep(f, nv);
	} else if (strcmp(to, "notice") == 0)
		nvlist_add_string(nv, "kind", kind);
	box_tell(f->sb, nv);
	if (f->expected != 0 && strcmp(to, "step") == 0 &&
	    (int64_t)ctl_uint(in, "step", 0) == f->expected)
		fsd_settled(f);
}

static struct fsd_ask *
found(struct fsd *f, uint64_t req)
{
	struct fsd_ask *a;

	LIST_FOREACH(a, &f->asks, link)
		if (a->req == req)
			return (a);
	return (NULL);
}

static void
on_message(void *arg, nvlist_t *nv, int *fds, size_t nfds)
{
	struct fsd *f = arg;
	struct co_error e;
	struct fsd_ask *a;

	ctl_close_fds(fds, nfds);
	a = f->closed ? NULL : found(f, ctl_uint(nv, "req", 0));
	if (a == NULL) {
		nvlist_destroy(nv);
		return;
	}
	if (!ctl_flag(nv, "done", false)) {
		if (a->event != NULL && (a->done != NULL || a->forever))
			a->event(a->arg, nv);
		else
			nvlist_destroy(nv);
		return;
	}
	if (!a->forever) {
		LIST_REMOVE(a, link);
		if (a->done != NULL)
			a->done(a->arg, nv, ctl_error_get(nv, &e) ? &e :
			    NULL);
		free(a);
	}
	nvlist_destroy(nv);
}

static void
fsd_free(struct fsd *f)
{

	watch_free(f->watch);
	ctl_free(f->ctl);
	for (size_t i = 0; i < f->nguards; i++)
		nvlist_destroy(f->guard[i]);
	free(f->label);
	free(f);
}

/* Whatever was asked has no answer any more. */
static void
fsd_cut(struct fsd *f)
{
	struct co_error e;
	struct fsd_ask *a;

	if (f->closed)
		return;
	f->closed = true;
	watch_want(f->watch, 0);
	fsd_settled(f);
	(void)co_error_set(&e, CO_ESHARE_MOUNT, f->label,
	    "the file server of share \"%s\" is gone", f->label);
	while ((a = LIST_FIRST(&f->asks)) != NULL) {
		LIST_REMOVE(a, link);
		if (a->done != NULL)
			a->done(a->arg, NULL, &e);
		free(a);
	}
}

static void
fsd_event(void *arg, int revents)
{
	struct fsd *f = arg;
	struct co_error e;
	nvlist_t *nv;
	int ret;

	f->busy = true;
	ret = ctl_dispatch(f->ctl, revents, on_message, f, &e);
	f->busy = false;
	if (f->sb == NULL) {
		fsd_free(f);
		return;
	}
	if (ret == 0) {
		watch_want(f->watch, ctl_want(f->ctl));
		return;
	}
	fsd_cut(f);
	nv = box_event(f->sb, "notice");
	nvlist_add_string(nv, "share", f->label);
	nvlist_add_string(nv, "kind", "gone");
	nvlist_add_string(nv, "message", "the file server is gone");
	box_tell(f->sb, nv);
}

static void
on_subscribed(void *arg, nvlist_t *nv)
{
	struct fsd *f = arg;

	if (strcmp(ctl_string(nv, "event", ""), "subscribed") != 0)
		tell(f, nv);
	nvlist_destroy(nv);
}

static struct fsd_ask *
asking(struct fsd *f, nvlist_t *nv, const int *fds, size_t nfds,
    struct co_error *e)
{
	struct fsd_ask *a;

	a = calloc(1, sizeof(*a));
	if (a == NULL) {
		(void)co_error_set(e, CO_ESYS_NOMEM, f->label,
		    "out of memory");
		return (NULL);
	}
	a->req = ctl_number(f->ctl);
	if (nvlist_exists(nv, "req"))
		nvlist_free(nv, "req");
	nvlist_add_number(nv, "req", a->req);
	if (ctl_send(f->ctl, nv, fds, nfds, e) != 0) {
		free(a);
		return (NULL);
	}
	LIST_INSERT_HEAD(&f->asks, a, link);
	if (!f->busy)
		watch_want(f->watch, ctl_want(f->ctl));
	return (a);
}

struct fsd_ask *
fsd_request(struct fsd *f, nvlist_t *nv, const int *fds, size_t nfds,
    fsd_event_fn *event, fsd_done_fn *done, void *arg)
{
	struct fsd_ask *a = NULL;
	struct co_error e;

	if (fsd_alive(f))
		a = asking(f, nv, fds, nfds, &e);
	else
		(void)co_error_set(&e, CO_ESHARE_MOUNT, f->label,
		    "the file server of share \"%s\" is gone", f->label);
	if (a != NULL && strcmp(ctl_string(nv, "op", ""),
	    "safeguard.answer") == 0)
		guard_forget(f, ctl_string(nv, "id", ""));
	nvlist_destroy(nv);
	if (a == NULL) {
		done(arg, NULL, &e);
		return (NULL);
	}
	a->event = event;
	a->done = done;
	a->arg = arg;
	return (a);
}

void
fsd_forget(struct fsd_ask *a)
{

	a->done = NULL;
}

static void
subscribe(struct fsd *f)
{
	struct co_error e;
	struct fsd_ask *a;
	nvlist_t *nv;

	nv = nvlist_create(0);
	nvlist_add_string(nv, "op", "events");
	a = asking(f, nv, NULL, 0, &e);
	nvlist_destroy(nv);
	if (a == NULL)
		return;
	a->event = on_subscribed;
	a->arg = f;
	a->forever = true;
}

static struct fsd *
fsd_open(struct sandbox *sb, const nvlist_t *share)
{
	struct co_ids ids = { .sandbox_id = sb->id };
	struct co_error e;
	char path[512];
	struct fsd *f;

	f = calloc(1, sizeof(*f));
	if (f == NULL)
		return (NULL);
	f->sb = sb;
	f->en = sb->en;
	f->readonly = ctl_flag(share, "readonly", false);
	f->label = strdup(ctl_string(share, "label", ""));
	(void)snprintf(path, sizeof(path), "%s/fs.%s", sb->run,
	    f->label != NULL ? f->label : "");
	if (ctl_connect(path, &f->ctl, &e) != 0) {
		co_log(sb->en->c.log, CO_WARN, "share", &ids, "%s",
		    e.message);
		f->ctl = NULL;
		f->closed = true;
		return (f);
	}
	f->watch = watch_new(sb->en, ctl_fd(f->ctl), fsd_event, f);
	watch_want(f->watch, ctl_want(f->ctl));
	subscribe(f);
	return (f);
}

void
fsds_open(struct sandbox *sb)
{
	const nvlist_t *const *v;
	size_t n;

	if (sb->nfsd > 0 || !nvlist_exists_nvlist_array(sb->rec, "shares"))
		return;
	v = nvlist_get_nvlist_array(sb->rec, "shares", &n);
	for (size_t i = 0; i < n && i < SANDBOX_SHARES; i++) {
		sb->fsd[sb->nfsd] = fsd_open(sb, v[i]);
		if (sb->fsd[sb->nfsd] != NULL)
			sb->nfsd++;
	}
}

void
fsds_close(struct sandbox *sb)
{
	struct fsd *f;

	for (size_t i = 0; i < sb->nfsd; i++) {
		f = sb->fsd[i];
		fsd_cut(f);
		f->sb = NULL;
		if (!f->busy)
			fsd_free(f);
	}
	sb->nfsd = 0;
}
