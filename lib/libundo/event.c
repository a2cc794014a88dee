/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Events: made with the lock held, queued, and handed to the caller's
 * function without it, at moments when the thread has nothing in flight.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "undo_internal.h"

static void
one_free(struct event *ev)
{
	size_t i;

	for (i = 0; i < ev->e.npaths; i++)
		free(ev->paths[i]);
	free(ev->message);
	free(ev->safeguard);
	free(ev);
}

/* An event that memory does not suffice for is lost, nothing else. */
void
event_post(struct undo *u, enum undo_event_type type, int64_t step,
    uint64_t count, const char *fmt, ...)
{
	struct event *ev;
	char buf[512];
	va_list ap;

	if (u->o.event == NULL || (ev = calloc(1, sizeof(*ev))) == NULL)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	if ((ev->message = strdup(buf)) == NULL) {
		free(ev);
		return;
	}
	ev->e.type = type;
	ev->e.step = step;
	ev->e.count = count;
	ev->e.message = ev->message;
	TAILQ_INSERT_TAIL(&u->events, ev, link);
	atomic_fetch_add(&u->pending, 1);
}

/* Add to the event posted last: paths, as samples. */
void
event_paths(struct undo *u, const char *const *paths, size_t n)
{
	struct event *ev;
	size_t i;

	if ((ev = TAILQ_LAST(&u->events, eventlist)) == NULL)
		return;
	for (i = 0; i < n && i < SAMPLES; i++) {
		if ((ev->paths[i] = strdup(paths[i])) == NULL)
			break;
		ev->e.npaths = i + 1;
	}
	ev->e.paths = (const char *const *)ev->paths;
}

/* Add to the event posted last: the question of a safeguard. */
void
event_guard(struct undo *u, enum undo_guard guard)
{
	struct event *ev;

	if ((ev = TAILQ_LAST(&u->events, eventlist)) == NULL ||
	    ev->e.type != UNDO_EV_SAFEGUARD)
		return;
	ev->e.guard = guard;
	ev->safeguard = strdup(u->q.id);
	ev->e.safeguard = ev->safeguard;
}

void
event_fire(struct undo *u)
{
	struct event *ev;

	while (atomic_load(&u->pending) != 0) {
		(void)pthread_mutex_lock(&u->lock);
		if ((ev = TAILQ_FIRST(&u->events)) != NULL) {
			TAILQ_REMOVE(&u->events, ev, link);
			atomic_fetch_sub(&u->pending, 1);
		}
		(void)pthread_mutex_unlock(&u->lock);
		if (ev == NULL)
			return;
		u->o.event(u->o.event_arg, &ev->e);
		one_free(ev);
	}
}

void
event_free(struct undo *u)
{
	struct event *ev;

	while ((ev = TAILQ_FIRST(&u->events)) != NULL) {
		TAILQ_REMOVE(&u->events, ev, link);
		one_free(ev);
	}
}
