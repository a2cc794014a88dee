/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Who may go when.  A mutation in flight is counted; the gate, when shut,
 * lets no new one in, and whoever shut it waits for the count to reach
 * zero.  Slots order mutations among each other: from its record in the
 * journal to the deed, nothing else may touch the same name or inode, since
 * the journal is played back in the order of its records.
 *
 * Slots are taken in two rounds, all names at once and then all inodes at
 * once, so that no two can wait for each other.  The move of a directory
 * changes the path of everything below, and is therefore alone.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "undo_internal.h"

/* The common case: nothing stands in the way, and no lock is needed. */
bool
flight_fast(struct undo *u, struct undo_op *op)
{

	atomic_fetch_add(&u->inflight, 1);
	if (atomic_load(&u->gate) == 0) {
		op->flags |= OP_FLIGHT;
		return (true);
	}
	flight_leave(u, op);
	return (false);
}

/* Find out what keeps us; 0 with the lock held: nothing more. */
static int
flight_wait(struct undo *u)
{
	uint32_t gate;
	int error;

	for (;;) {
		gate = atomic_load(&u->gate);
		if ((gate & GATE_SHUT) != 0) {
			(void)pthread_cond_wait(&u->cond, &u->lock);
		} else if (u->foreign) {
			return (0);
		} else if (u->stuck) {
			return (EIO);
		} else if ((gate & GATE_GUARD) != 0) {
			if ((error = guard_wait(u)) != 0)
				return (error);
		} else if (step_due(u)) {
			(void)pthread_mutex_unlock(&u->lock);
			step_finish_due(u);
			(void)pthread_mutex_lock(&u->lock);
		} else if (u->denied) {
			return (EPERM);
		} else if (u->wal == NULL) {
			if ((error = step_ambient(u)) != 0)
				return (error);
		} else
			return (0);
	}
}

int
flight_enter(struct undo *u, struct undo_op *op)
{
	int error;

	memset(op, 0, sizeof(*op));
	event_fire(u);
	(void)pthread_mutex_lock(&u->lock);
	error = flight_wait(u);
	if (error == 0) {
		atomic_fetch_add(&u->inflight, 1);
		op->flags = OP_FLIGHT;
		op->step = u->open_id;
		if (u->wal != NULL)
			u->wal->tried = true;
	}
	(void)pthread_mutex_unlock(&u->lock);
	return (error);
}

static void
flight_end(struct undo *u, struct undo_op *op, bool locked)
{

	op->flags &= ~OP_FLIGHT;
	if (atomic_fetch_sub(&u->inflight, 1) != 1 ||
	    atomic_load(&u->gate) == 0)
		return;
	if (!locked)
		(void)pthread_mutex_lock(&u->lock);
	(void)pthread_cond_broadcast(&u->cond);
	if (!locked)
		(void)pthread_mutex_unlock(&u->lock);
}

void
flight_leave(struct undo *u, struct undo_op *op)
{

	flight_end(u, op, false);
}

void
flight_pause(struct undo *u, struct undo_op *op)
{

	flight_end(u, op, true);
}

/*
 * Have the folder for oneself.  Not to be called with anything in flight.
 */
void
gate_shut(struct undo *u)
{

	(void)pthread_mutex_lock(&u->lock);
	while ((atomic_load(&u->gate) & GATE_SHUT) != 0)
		(void)pthread_cond_wait(&u->cond, &u->lock);
	atomic_fetch_or(&u->gate, GATE_SHUT);
	while (atomic_load(&u->inflight) != 0)
		(void)pthread_cond_wait(&u->cond, &u->lock);
	(void)pthread_mutex_unlock(&u->lock);
}

void
gate_open(struct undo *u)
{

	(void)pthread_mutex_lock(&u->lock);
	atomic_fetch_and(&u->gate, ~GATE_SHUT);
	(void)pthread_cond_broadcast(&u->cond);
	(void)pthread_mutex_unlock(&u->lock);
}

/*
 * Slots, with the lock held.
 */
struct slot *
slot_of(struct undo *u, const struct undo_op *op)
{

	return ((op->flags & OP_SLOT) != 0 ? u->slots[op->record] : NULL);
}

/* A slot that holds nothing yet; NULL when out of memory. */
struct slot *
slot_take(struct undo *u, struct undo_op *op)
{
	struct slot **n, *s;
	unsigned int i;

	for (i = 0; i < u->nslots; i++)
		if (!u->slots[i]->busy)
			break;
	if (i == u->nslots) {
		if ((n = realloc(u->slots, (i + 1) * sizeof(*n))) == NULL)
			return (NULL);
		u->slots = n;
		if ((n[i] = malloc(sizeof(**n))) == NULL)
			return (NULL);
		u->nslots++;
	}
	s = u->slots[i];
	memset(s, 0, sizeof(*s));
	s->busy = true;
	s->dir = s->objdir = -1;
	op->record = i;
	op->flags |= OP_SLOT;
	u->busy++;
	return (s);
}

static bool
in(const uint64_t *v, unsigned int n, uint64_t x)
{

	return ((n > 0 && v[0] == x) || (n > 1 && v[1] == x));
}

static bool
keys_clash(const struct slot *a, const struct slot *b)
{
	unsigned int i;

	for (i = 0; i < a->nkeys; i++)
		if (in(b->key, b->nkeys, a->key[i]) ||
		    in(b->who, b->nwho, a->par[i]))
			return (true);
	return (false);
}

static bool
whos_clash(const struct slot *a, const struct slot *b)
{
	unsigned int i;

	for (i = 0; i < a->nwho; i++)
		if (in(b->who, b->nwho, a->who[i]) ||
		    in(b->par, b->nkeys, a->who[i]))
			return (true);
	return (false);
}

static bool
clash(const struct undo *u, const struct slot *s,
    bool (*test)(const struct slot *, const struct slot *))
{
	unsigned int i;

	for (i = 0; i < u->nslots; i++)
		if (u->slots[i] != s && u->slots[i]->busy &&
		    test(s, u->slots[i]))
			return (true);
	return (false);
}

/*
 * Wait for the names of ${s}, which others see from now on.  While a
 * directory is moved, or is waiting to be, nobody gets names.
 */
void
slot_keys(struct undo *u, struct slot *s)
{
	unsigned int nkeys;

	nkeys = s->nkeys;
	s->nkeys = 0;
	u->busy--;
	for (;;) {
		s->nkeys = nkeys;
		if (!u->alone && u->lonely == 0 && !clash(u, s, keys_clash))
			break;
		s->nkeys = 0;
		(void)pthread_cond_wait(&u->slotcond, &u->lock);
	}
	u->busy++;
}

/* Wait for the inodes of ${s}, whose names it has. */
void
slot_whos(struct undo *u, struct slot *s)
{
	unsigned int nwho;

	nwho = s->nwho;
	for (;;) {
		s->nwho = nwho;
		if (!clash(u, s, whos_clash))
			return;
		s->nwho = 0;
		(void)pthread_cond_wait(&u->slotcond, &u->lock);
	}
}

/*
 * Give the names up, wait until nobody has any, and have all of them.  What
 * was seen before must be looked at again.
 */
void
slot_alone(struct undo *u, struct slot *s)
{
	unsigned int nkeys;

	nkeys = s->nkeys;
	s->nkeys = 0;
	s->nwho = 0;
	u->busy--;
	u->lonely++;
	(void)pthread_cond_broadcast(&u->slotcond);
	while (u->alone || u->busy != 0)
		(void)pthread_cond_wait(&u->slotcond, &u->lock);
	u->lonely--;
	u->busy++;
	u->alone = true;
	s->alone = true;
	s->nkeys = nkeys;
}

void
slot_drop(struct undo *u, struct undo_op *op)
{
	struct slot *s;

	if ((s = slot_of(u, op)) == NULL)
		return;
	op->flags &= ~OP_SLOT;
	if (s->alone)
		u->alone = false;
	free(s->name);
	free(s->objname);
	s->name = s->objname = NULL;
	s->busy = false;
	u->busy--;
	(void)pthread_cond_broadcast(&u->slotcond);
}
