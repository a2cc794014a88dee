/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Turns: whatever changes a sandbox waits until the change before is
 * complete, on disk and in the kernel.
 */

#include <stdlib.h>
#include <string.h>

#include "engine_internal.h"

static void
turn_free(struct turn *t)
{

	nvlist_destroy(t->req);
	free(t);
}

/* The caller went away; what has begun goes on by itself. */
static void
turn_cancel(struct engine_call *c)
{
	struct turn *t = c->data;

	t->call = NULL;
	t->cancelled = true;
	if (t->begun)
		return;
	STAILQ_REMOVE(&t->sb->turns, t, turn, link);
	turn_free(t);
}

/* Those that wait for what will not come. */
static void
turn_refuse(struct sandbox *sb, struct turn *t)
{
	struct engine_call *c = t->call;
	struct co_error e;

	STAILQ_REMOVE_HEAD(&sb->turns, link);
	turn_free(t);
	if (c == NULL)
		return;
	c->cancel = NULL;
	(void)co_error_set(&e, sb->gone ? CO_ESANDBOX_NOTFOUND :
	    CO_ESYS_CANCELLED, sb->id, "%s", sb->gone ?
	    "the sandbox is gone" : "the engine is closing");
	call_fail(c, &e);
}

static void
turn_next(struct sandbox *sb)
{
	struct turn *t;

	while ((t = STAILQ_FIRST(&sb->turns)) != NULL && !t->begun &&
	    (sb->gone || sb->en->closing))
		turn_refuse(sb, t);
	if (t == NULL && sb->gone)
		box_free(sb);
	if (t == NULL || t->begun)
		return;
	t->begun = true;
	/* The sandbox may be gone when this returns. */
	t->run(t);
}

struct turn *
turn_add(struct sandbox *sb, struct engine_call *call, const char *what,
    void (*run)(struct turn *))
{
	struct turn *t;

	t = calloc(1, sizeof(*t));
	if (t == NULL) {
		call_fault(call, CO_ESYS_NOMEM, what, "out of memory");
		return (NULL);
	}
	t->sb = sb;
	t->call = call;
	t->what = what;
	t->run = run;
	t->req = call != NULL ? nvlist_clone(call->req) : nvlist_create(0);
	if (call != NULL) {
		call->data = t;
		call->cancel = turn_cancel;
	}
	STAILQ_INSERT_TAIL(&sb->turns, t, link);
	if (STAILQ_FIRST(&sb->turns) == t)
		turn_next(sb);
	return (t);
}

static void
turn_end(struct turn *t, nvlist_t *nv, const struct co_error *e)
{
	struct engine_call *c = t->call;
	struct sandbox *sb = t->sb;
	struct co_ids ids = { .sandbox_id = sb->id };

	STAILQ_REMOVE_HEAD(&sb->turns, link);
	if (c == NULL && e != NULL)
		co_log(sb->en->c.log, CO_WARN, "engine", &ids, "%s: %s",
		    t->what, e->message);
	else if (c == NULL)
		co_log(sb->en->c.log, CO_INFO, "engine", &ids, "%s: done",
		    t->what);
	turn_free(t);
	if (c != NULL)
		c->cancel = NULL;
	if (e != NULL)
		call_fail(c, e);
	else
		call_done(c, nv);
	turn_next(sb);
}

void
turn_done(struct turn *t, nvlist_t *nv)
{

	if (t->call == NULL) {
		nvlist_destroy(nv);
		nv = NULL;
	}
	turn_end(t, nv, NULL);
}

void
turn_fail(struct turn *t, const struct co_error *e)
{
	struct co_error copy = *e;

	turn_end(t, NULL, &copy);
}

void
turn_progress(struct turn *t, const char *stage)
{
	nvlist_t *nv;

	if (t->call == NULL)
		return;
	nv = event_new("progress");
	nvlist_add_string(nv, "stage", stage);
	call_event(t->call, nv);
}

static void
save_work(void *arg)
{
	struct turn *t = arg;

	if (t->buf == NULL)
		(void)co_error_set(&t->e, CO_ESYS_NOMEM, t->sb->id,
		    "out of memory");
	else
		(void)record_write(t->sb->dir, t->buf, t->len, true, &t->e);
}

static void
save_after(void *arg)
{
	struct turn *t = arg;

	free(t->buf);
	t->buf = NULL;
	t->saved(t);
}

void
turn_save(struct turn *t, void (*then)(struct turn *))
{

	t->e.code = CO_OK;
	t->saved = then;
	t->buf = record_pack(t->sb, &t->len);
	job_start(t->sb->en, save_work, save_after, t);
}

/* The engine closes: those that wait end now. */
void
turns_cancel(struct sandbox *sb)
{
	struct turn *t, *next;
	struct engine_call *c;

	for (t = STAILQ_FIRST(&sb->turns); t != NULL; t = next) {
		next = STAILQ_NEXT(t, link);
		c = t->call;
		t->cancelled = true;
		if (c != NULL)
			engine_cancel(c);
		else if (!t->begun) {
			STAILQ_REMOVE(&sb->turns, t, turn, link);
			turn_free(t);
		}
	}
}
