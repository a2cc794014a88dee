/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The life of a step: begun, completed, and final when nothing moved for a
 * while.  What happens outside of any becomes an ambient step.
 */

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "undo_internal.h"

#define	QUIET		100
#define	AMBIENT		5000

/* What tick does at a time, so that nobody waits for it for long. */
#define	SWEEP		256

int64_t
now_us(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return ((int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000);
}

static int64_t
quiet_ms(const struct undo *u)
{

	if (u->open_id < 0)
		return (u->o.ambient_ms == 0 ? AMBIENT : u->o.ambient_ms);
	return (u->o.quiet_ms == 0 ? QUIET : u->o.quiet_ms);
}

/* Milliseconds until the open step may end; INT_MAX: not by itself. */
static int64_t
step_left(struct undo *u)
{
	int64_t left, since;

	if (u->open_id == 0 || (u->open_id > 0 && !u->ended) ||
	    u->q.id[0] != '\0' || atomic_load(&u->inflight) != 0)
		return (INT_MAX);
	since = atomic_load(&u->last);
	if (u->denied && u->denied_at > since)
		since = u->denied_at;
	left = since + quiet_ms(u) - os_clock_ms();
	return (left < 0 ? 0 : left);
}

/* With the lock held. */
bool
step_due(struct undo *u)
{

	return (step_left(u) == 0);
}

/* Nothing is open any more.  With the lock held. */
void
step_close(struct undo *u)
{

	u->open_id = 0;
	u->ended = false;
	u->denied = false;
	u->wal = NULL;
	guard_reset(u);
	tree_forget(u);
	atomic_fetch_and(&u->gate, ~GATE_ENDED);
	atomic_fetch_add(&u->gen, 1);
}

/*
 * Make the open step final.  The gate is shut, the lock held.
 */
int
step_finish(struct undo *u, struct co_error *e)
{
	struct about a;
	struct wal *w;
	int error;

	if ((w = u->wal) == NULL) {
		step_close(u);
		return (0);
	}
	if (w->a.ended == 0)
		w->a.ended = now_us();
	if (w->j.count == 1 && !w->a.lost && (u->open_id < 0 || !w->tried)) {
		/*
		 * An ambient step in which nothing came about, or a command
		 * that did not even try.  Kept, it would push out one that
		 * can be undone, and be what the next rollback takes back.
		 */
		error = store_trash(u, u->walfd, "in_progress");
		if (error == 0) {
			if (u->open_id > 0)
				event_post(u, UNDO_EV_STEP, u->open_id, 0,
				    "step %lld changed nothing",
				    (long long)u->open_id);
			wal_close(u, w);
		}
		goto out;
	}
	a = w->a;
	a.command = NULL;
	if (u->doomed && (error = store_drop_redo(u)) != 0)
		goto out;
	if ((error = store_promote(u, w, false)) == 0) {
		event_post(u, UNDO_EV_STEP, a.id, a.paths,
		    "step %lld is recorded", (long long)a.id);
		store_evict(u);
	}
out:
	if (error != 0)
		return (co_error_errno(e, error, u->store,
		    "can't make step %lld final in the undo store %s",
		    (long long)u->open_id, u->store));
	step_close(u);
	return (0);
}

/*
 * With the gate shut: see to it that no step is open, or say which one is.
 */
int
step_settle(struct undo *u, struct co_error *e)
{
	int error;

	if (u->stuck && unstick(u, e) != 0)
		return (-1);
	(void)pthread_mutex_lock(&u->lock);
	error = 0;
	if (u->q.id[0] != '\0')
		error = co_error_set(e, CO_EUNDO_BUSY, u->q.id,
		    "safeguard %s waits for an answer; allow or deny it "
		    "first", u->q.id);
	else if (u->open_id > 0 && !u->ended)
		error = co_error_set(e, CO_EUNDO_BUSY, NULL,
		    "step %lld is open; complete or abandon it first",
		    (long long)u->open_id);
	else if (u->open_id != 0)
		error = step_finish(u, e);
	(void)pthread_mutex_unlock(&u->lock);
	return (error);
}

static int
open_step(struct undo *u, int64_t id, enum undo_kind kind,
    const char *command)
{
	struct about a;
	char *mem;
	int error;

	memset(&a, 0, sizeof(a));
	mem = strdup(command == NULL ? "" : command);
	if (mem == NULL)
		return (ENOMEM);
	a.id = id;
	a.seq = u->seq + 1;
	a.kind = kind;
	a.command = mem;
	a.began = now_us();
	error = wal_create(u, &a, FOR_STEP, &u->wal);
	free(mem);
	if (error != 0)
		return (error);
	u->seq++;
	u->open_id = id;
	u->ended = u->denied = false;
	atomic_fetch_add(&u->gen, 1);
	atomic_store(&u->last, os_clock_ms());
	return (0);
}

/* With the lock held. */
int
step_ambient(struct undo *u)
{
	int error;

	error = open_step(u, u->ambient - 1, UNDO_AMBIENT, "");
	if (error == 0)
		u->ambient--;
	return (error);
}

static int
begin_checked(struct undo *u, int64_t id, enum undo_kind kind,
    const char *command, struct co_error *e)
{
	struct step *s;
	int error;

	if (u->foreign) {
		u->open_id = id;
		u->ended = false;
		return (0);
	}
	if (step_find(u, id) != NULL)
		return (co_error_set(e, CO_EPROTO_ARGUMENT, NULL,
		    "step %lld is in the undo history already; ids must "
		    "grow", (long long)id));
	error = 0;
	TAILQ_FOREACH(s, &u->redo, link)
		if (s->a.id == id) {
			error = store_drop_redo(u);
			break;
		}
	if (error == 0)
		error = open_step(u, id, kind, command);
	if (error != 0)
		return (co_error_errno(e, error, u->store,
		    "can't begin step %lld in the undo store %s",
		    (long long)id, u->store));
	return (0);
}

int
undo_step_begin(struct undo *u, int64_t id, enum undo_kind kind,
    const char *command, struct co_error *e)
{
	int error;

	if (id <= 0 || kind == UNDO_AMBIENT)
		return (co_error_set(e, CO_EPROTO_ARGUMENT, NULL,
		    "a step needs a positive id and a kind other than "
		    "ambient"));
	gate_shut(u);
	if ((error = step_settle(u, e)) == 0) {
		(void)pthread_mutex_lock(&u->lock);
		error = begin_checked(u, id, kind, command, e);
		(void)pthread_mutex_unlock(&u->lock);
	}
	gate_open(u);
	event_fire(u);
	(void)store_sweep(u, SWEEP);
	return (error);
}

static int
not_open(struct undo *u, int64_t id, struct co_error *e)
{

	return (co_error_set(e, CO_EUNDO_NOSTEP, NULL,
	    "step %lld is not open (%lld is)", (long long)id,
	    (long long)u->open_id));
}

int
undo_step_complete(struct undo *u, int64_t id, int code, struct co_error *e)
{
	int error;

	error = 0;
	(void)pthread_mutex_lock(&u->lock);
	if (id <= 0 || u->open_id != id || u->ended)
		error = not_open(u, id, e);
	else if (u->wal == NULL && u->q.id[0] == '\0')
		step_close(u);
	else {
		u->ended = true;
		if (u->wal != NULL) {
			u->wal->a.ended = now_us();
			u->wal->a.exit = code;
		}
		atomic_store(&u->last, os_clock_ms());
		atomic_fetch_or(&u->gate, GATE_ENDED);
	}
	(void)pthread_mutex_unlock(&u->lock);
	event_fire(u);
	return (error);
}

/* The gate is shut. */
static int
abandon(struct undo *u, int64_t id, struct co_error *e)
{
	uint64_t paths;
	struct wal *w;

	if (u->stuck && unstick(u, e) != 0)
		return (-1);
	(void)pthread_mutex_lock(&u->lock);
	if (id == 0 || u->open_id != id) {
		(void)not_open(u, id, e);
		(void)pthread_mutex_unlock(&u->lock);
		return (-1);
	}
	if (u->q.id[0] != '\0') {
		u->q.id[0] = '\0';
		u->q.no = true;
		atomic_fetch_and(&u->gate, ~GATE_GUARD);
		(void)pthread_cond_broadcast(&u->cond);
	}
	w = u->wal;
	(void)pthread_mutex_unlock(&u->lock);
	paths = 0;
	if (w != NULL && rollback_wal(u, w, &paths, e) != 0)
		return (-1);
	(void)pthread_mutex_lock(&u->lock);
	step_close(u);
	if (w != NULL)
		event_post(u, UNDO_EV_ROLLBACK, id, paths,
		    "step %lld was abandoned and rolled back",
		    (long long)id);
	(void)pthread_mutex_unlock(&u->lock);
	return (0);
}

int
undo_step_abandon(struct undo *u, int64_t id, struct co_error *e)
{
	int error;

	gate_shut(u);
	error = abandon(u, id, e);
	gate_open(u);
	event_fire(u);
	return (error);
}

int64_t
undo_step_current(struct undo *u)
{
	int64_t id;

	(void)pthread_mutex_lock(&u->lock);
	id = u->open_id;
	(void)pthread_mutex_unlock(&u->lock);
	return (id);
}

/* Compress a bit of the step in ${dir}; more to do? */
static bool
pack_step(struct undo *u, int dir, bool again, uint64_t *sum)
{
	struct journal j;
	struct rec r;
	uint64_t off, saved;
	int64_t until;
	bool damage, more, sync;
	int ofd;

	if ((ofd = sys_openat(dir, "o", 0, 0)) == -1)
		return (false);
	more = false;
	sync = u->o.durability == UNDO_POWER;
	until = os_clock_ms() + 20;
	if (journal_open(&j, dir, false, &damage) == 0) {
		for (off = 0; !more && journal_next(&j, &off, &r);) {
			if ((r.type != REC_CONTENT && r.type != REC_COPY) ||
			    r.obj == 0 || r.is_void ||
			    (r.flags & REC_CLONE) != 0)
				continue;
			more = pack_object(u, ofd, r.obj, &saved) == EAGAIN;
			*sum += saved;
			if (saved != 0 && os_clock_ms() >= until)
				more = true;
		}
		if (!more) {
			more = heap_pack(ofd, &j, again, sync, until,
			    &saved) == EAGAIN;
			*sum += saved;
		}
		journal_close(&j);
	}
	sys_close(ofd);
	return (more);
}

/* Compress a bit of the oldest step that is not; more to do? */
static bool
pack_some(struct undo *u)
{
	struct step *s;
	uint64_t place, sum;
	bool again, more;
	int dir;

	(void)pthread_mutex_lock(&u->lock);
	TAILQ_FOREACH(s, &u->steps, link)
		if (!s->packed && !s->a.lost)
			break;
	dir = -1;
	place = 0;
	again = false;
	if (s != NULL && (atomic_load(&u->gate) & GATE_SHUT) == 0 &&
	    !pack_yields(u)) {
		s->packed = true;
		again = s->packing;
		place = s->place;
		dir = step_dir(u, s);
	}
	(void)pthread_mutex_unlock(&u->lock);
	if (dir == -1)
		return (s != NULL);
	sum = 0;
	more = pack_step(u, dir, again, &sum);
	sys_close(dir);
	(void)pthread_mutex_lock(&u->lock);
	TAILQ_FOREACH(s, &u->steps, link)
		if (s->place == place) {
			s->packed = !more;
			s->packing = more;
			/* Room is counted in blocks, captures in bytes. */
			if (sum > s->a.bytes)
				sum = s->a.bytes;
			s->a.bytes -= sum;
			u->total -= sum;
		}
	(void)pthread_mutex_unlock(&u->lock);
	return (true);
}

void
step_finish_due(struct undo *u)
{

	gate_shut(u);
	(void)pthread_mutex_lock(&u->lock);
	if (step_due(u) && step_finish(u, NULL) != 0) {
		/* Again after another such while. */
		atomic_store(&u->last, os_clock_ms());
	}
	(void)pthread_mutex_unlock(&u->lock);
	gate_open(u);
	event_fire(u);
}

int
undo_tick(struct undo *u)
{
	int64_t left, ms;
	uint32_t number;
	bool due, late, more;

	(void)pthread_mutex_lock(&u->lock);
	late = u->q.id[0] != '\0' && os_clock_ms() >= u->q.deadline;
	number = u->q.number;
	due = step_due(u);
	(void)pthread_mutex_unlock(&u->lock);
	if (late)
		guard_deny(u, number);
	if (due)
		step_finish_due(u);
	more = store_sweep(u, SWEEP);
	if (!u->foreign && atomic_load(&u->inflight) == 0)
		more = pack_some(u) || more;
	(void)pthread_mutex_lock(&u->lock);
	left = step_left(u);
	if (u->open_id != 0 && left == INT_MAX &&
	    atomic_load(&u->inflight) != 0)
		left = quiet_ms(u);
	if (u->q.id[0] != '\0') {
		ms = u->q.deadline - os_clock_ms();
		if (ms < left)
			left = ms < 0 ? 0 : ms;
	}
	(void)pthread_mutex_unlock(&u->lock);
	event_fire(u);
	if (more && left > 10)
		left = 10;
	return (left >= INT_MAX ? -1 : (int)left + (left > 0));
}
