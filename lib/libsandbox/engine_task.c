/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Tasks: blocking work for one call, with events on the way.
 */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"

#define	TASK_EVENTS	(sizeof(((struct task *)0)->events) / sizeof(void *))

static void
task_cancel(struct engine_call *c)
{
	struct task *t = c->data;

	t->call = NULL;
}

static void
task_deliver(struct task *t)
{
	nvlist_t *events[TASK_EVENTS];
	size_t n;

	uv_mutex_lock(&t->lock);
	n = t->nevents;
	memcpy(events, t->events, n * sizeof(events[0]));
	t->nevents = 0;
	uv_mutex_unlock(&t->lock);
	for (size_t i = 0; i < n; i++)
		call_event(t->call, events[i]);
}

static void
task_async(uv_async_t *a)
{

	task_deliver(a->data);
}

/* Many findings wait for the loop; progress may be dropped instead. */
void
task_event(struct task *t, nvlist_t *nv)
{
	bool full;

	for (;;) {
		uv_mutex_lock(&t->lock);
		full = t->nevents == TASK_EVENTS;
		if (!full)
			t->events[t->nevents++] = nv;
		uv_mutex_unlock(&t->lock);
		(void)uv_async_send(&t->async);
		if (!full)
			return;
		(void)usleep(1000);
	}
}

void
task_progress(void *arg, const char *message, int percent)
{
	nvlist_t *nv;

	nv = event_new("progress");
	nvlist_add_string(nv, "message", message);
	nvlist_add_number(nv, "percent", (uint64_t)(int64_t)percent);
	task_event(arg, nv);
}

static void
task_work(void *arg)
{
	struct task *t = arg;

	t->failed = t->work(t, &t->e) != 0;
}

static void
task_closed(uv_handle_t *h)
{
	struct task *t = h->data;
	struct engine *en = t->en;

	uv_mutex_destroy(&t->lock);
	if (t->fd != -1)
		(void)close(t->fd);
	nvlist_destroy(t->req);
	nvlist_destroy(t->answer);
	free(t);
	engine_unbusy(en);
}

void
task_end(struct task *t)
{
	struct engine_call *c = t->call;
	nvlist_t *answer = t->answer;

	if (c != NULL) {
		c->cancel = NULL;
		if (t->failed)
			call_fail(c, &t->e);
		else {
			t->answer = NULL;
			call_done(c, answer);
		}
	}
	uv_close((uv_handle_t *)&t->async, task_closed);
}

static void
task_after(void *arg)
{
	struct task *t = arg;

	task_deliver(t);
	if (t->after != NULL)
		t->after(t);
	else
		task_end(t);
}

void
task_start(struct engine_call *c, int fd, void *data,
    int (*work)(struct task *, struct co_error *),
    void (*after)(struct task *))
{
	struct task *t;

	t = calloc(1, sizeof(*t));
	if (t == NULL || uv_mutex_init(&t->lock) != 0) {
		free(t);
		if (fd != -1)
			(void)close(fd);
		free(data);
		call_fault(c, CO_ESYS_NOMEM, NULL, "out of memory");
		return;
	}
	t->en = c->en;
	t->call = c;
	t->req = nvlist_clone(c->req);
	t->answer = nvlist_create(0);
	t->fd = fd;
	t->data = data;
	t->work = work;
	t->after = after;
	t->async.data = t;
	(void)uv_async_init(t->en->loop, &t->async, task_async);
	t->en->busy++;
	c->data = t;
	c->cancel = task_cancel;
	job_start(t->en, task_work, task_after, t);
}
