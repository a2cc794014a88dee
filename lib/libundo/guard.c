/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Safeguards: counters of what a step destroys.  The operation that would
 * reach a threshold is held, and all after it, until somebody answers or the
 * time is up, which means no.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "undo_internal.h"

#define	TIMEOUT		30000
#define	MAXHELD		10000

static uint32_t
threshold(const struct undo *u, enum undo_guard g)
{

	switch (g) {
	case UNDO_GUARD_DELETE:
		return (u->o.safeguards.deletes);
	case UNDO_GUARD_OVERWRITE:
		return (u->o.safeguards.overwrites);
	default:
		return (u->o.safeguards.renames_over);
	}
}

static const char *
deed(enum undo_guard g)
{

	switch (g) {
	case UNDO_GUARD_DELETE:
		return ("delete");
	case UNDO_GUARD_OVERWRITE:
		return ("overwrite");
	default:
		return ("rename over");
	}
}

static void
sample(struct guard *g, const char *path)
{

	if (g->nsamples < SAMPLES - 1 && path != NULL &&
	    (g->sample[g->nsamples] = strdup(path)) != NULL)
		g->nsamples++;
}

void
guard_reset(struct undo *u)
{
	size_t i, k;

	for (i = 0; i < GUARDS; i++) {
		for (k = 0; k < u->guard[i].nsamples; k++)
			free(u->guard[i].sample[k]);
		memset(&u->guard[i], 0, sizeof(u->guard[i]));
	}
}

static void
ask(struct undo *u, enum undo_guard guard, const char *path)
{
	const char *paths[SAMPLES];
	struct guard *g;
	size_t i, n;
	uint32_t ms;

	g = &u->guard[guard];
	ms = u->o.safeguards.timeout_ms;
	u->q.guard = guard;
	u->q.deadline = os_clock_ms() + (ms == 0 ? TIMEOUT : ms);
	u->q.number++;
	u->q.no = false;
	(void)snprintf(u->q.id, sizeof(u->q.id), "sg_%03u", u->q.number);
	atomic_fetch_or(&u->gate, GATE_GUARD);
	for (i = n = 0; i < g->nsamples; i++)
		paths[n++] = g->sample[i];
	paths[n++] = path == NULL ? "" : path;
	event_post(u, UNDO_EV_SAFEGUARD, u->open_id, g->count + 1,
	    "step %lld is about to %s %u files; it is held until safeguard "
	    "%s is answered", (long long)u->open_id, deed(guard),
	    g->count + 1, u->q.id);
	event_guard(u, guard);
	event_paths(u, paths, n);
}

/*
 * Count one deed.  ${op} is in flight and may hold a slot; when it has to
 * wait it gives up both, and the caller begins again on EAGAIN.
 */
int
guard_check(struct undo *u, struct undo_op *op, enum undo_guard guard,
    const char *path)
{
	struct guard *g;
	uint32_t t;
	int error;

	(void)pthread_mutex_lock(&u->lock);
	g = &u->guard[guard];
	t = threshold(u, guard);
	if (t == 0 || g->allowed || g->count + 1 < t) {
		g->count++;
		sample(g, path);
		(void)pthread_mutex_unlock(&u->lock);
		return (0);
	}
	slot_drop(u, op);
	flight_pause(u, op);
	if (u->q.id[0] == '\0')
		ask(u, guard, path);
	(void)pthread_mutex_unlock(&u->lock);
	event_fire(u);
	(void)pthread_mutex_lock(&u->lock);
	error = guard_wait(u);
	(void)pthread_mutex_unlock(&u->lock);
	return (error == 0 ? EAGAIN : error);
}

/* Sleep until something happens, at most until ${deadline}. */
static void
doze(struct undo *u, int64_t deadline)
{
	struct timespec ts;
	int64_t ms;

	ms = deadline - os_clock_ms();
	if (ms <= 0)
		return;
	if (ms > 1000)
		ms = 1000;
	(void)clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += (time_t)(ms / 1000);
	ts.tv_nsec += (long)(ms % 1000) * 1000000;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_sec++;
		ts.tv_nsec -= 1000000000;
	}
	(void)pthread_cond_timedwait(&u->cond, &u->lock, &ts);
}

/*
 * Be held, with the lock, until the question is answered: 0 for allowed.
 */
int
guard_wait(struct undo *u)
{
	uint32_t max, number;

	if (u->q.id[0] == '\0')
		return (u->q.no ? EPERM : 0);
	max = u->o.safeguards.max_held;
	if (u->q.held >= (max == 0 ? MAXHELD : max))
		return (ENOSPC);
	number = u->q.number;
	u->q.held++;
	while (u->q.id[0] != '\0' && u->q.number == number) {
		if (os_clock_ms() < u->q.deadline) {
			doze(u, u->q.deadline);
			continue;
		}
		(void)pthread_mutex_unlock(&u->lock);
		guard_deny(u, number);
		(void)pthread_mutex_lock(&u->lock);
	}
	u->q.held--;
	return (u->q.no ? EPERM : 0);
}

/*
 * No.  Roll the step back, and refuse what it still wants to do.
 */
void
guard_deny(struct undo *u, uint32_t number)
{
	struct co_error e;
	uint64_t paths;
	struct wal *w;
	int64_t id;
	int error;

	(void)pthread_mutex_lock(&u->lock);
	if (u->q.id[0] == '\0' || u->q.number != number) {
		(void)pthread_mutex_unlock(&u->lock);
		return;
	}
	u->q.id[0] = '\0';
	u->q.no = true;
	u->denied = true;
	u->denied_at = os_clock_ms();
	/* The denied step is over for whoever comes next. */
	while ((atomic_load(&u->gate) & GATE_SHUT) != 0)
		(void)pthread_cond_wait(&u->cond, &u->lock);
	atomic_fetch_or(&u->gate, GATE_SHUT);
	atomic_fetch_and(&u->gate, ~GATE_GUARD);
	(void)pthread_cond_broadcast(&u->cond);
	while (atomic_load(&u->inflight) != 0)
		(void)pthread_cond_wait(&u->cond, &u->lock);
	id = u->open_id;
	w = u->wal;
	atomic_fetch_add(&u->gen, 1);
	(void)pthread_mutex_unlock(&u->lock);
	paths = 0;
	memset(&e, 0, sizeof(e));
	error = w == NULL ? 0 : rollback_wal(u, w, &paths, &e);
	(void)pthread_mutex_lock(&u->lock);
	if (w != NULL && error == 0)
		event_post(u, UNDO_EV_ROLLBACK, id, paths,
		    "step %lld was denied by a safeguard and rolled back",
		    (long long)id);
	else if (w != NULL)
		event_post(u, UNDO_EV_DAMAGE, id, 0,
		    "step %lld was denied but can't be rolled back: %s",
		    (long long)id, e.message);
	(void)pthread_mutex_unlock(&u->lock);
	gate_open(u);
	event_fire(u);
}

int
undo_safeguard_answer(struct undo *u, const char *id, bool allow,
    struct co_error *e)
{
	uint32_t number;

	(void)pthread_mutex_lock(&u->lock);
	if (u->q.id[0] == '\0' || strcmp(u->q.id, id) != 0) {
		(void)pthread_mutex_unlock(&u->lock);
		return (co_error_set(e, CO_ESAFEGUARD_UNKNOWN, id,
		    "no operation is held by safeguard %s; it was answered "
		    "before, or its time was up", id));
	}
	number = u->q.number;
	if (allow) {
		u->guard[u->q.guard].allowed = true;
		u->q.no = false;
		u->q.id[0] = '\0';
		atomic_fetch_and(&u->gate, ~GATE_GUARD);
		(void)pthread_cond_broadcast(&u->cond);
	}
	(void)pthread_mutex_unlock(&u->lock);
	if (!allow)
		guard_deny(u, number);
	return (0);
}
