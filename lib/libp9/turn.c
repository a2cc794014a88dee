/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Whose turn it is to read.  The turn is passed on before a request that may
 * take long, and kept over one that should not.  No request can hold it up
 * for good: a deputy takes it from a leader that is inside one for too long.
 */

#include "p9_internal.h"

#define	LOOK_MS		5	/* between two looks of the deputy */

void
p9_turn_init(struct p9_turn *t)
{

	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->free, NULL);
	p9_cond_init(&t->look);
}

void
p9_turn_fini(struct p9_turn *t)
{

	pthread_cond_destroy(&t->look);
	pthread_cond_destroy(&t->free);
	pthread_mutex_destroy(&t->lock);
}

/* Somebody in line should look again; with the lock held. */
static void
wake_one(struct p9_turn *t)
{

	if (t->in_line > 0)
		pthread_cond_signal(&t->free);
	else if (t->deputy)
		pthread_cond_signal(&t->look);
}

/* Be the deputy until the turn is free; with the lock held. */
static void
watch(struct p9_turn *t)
{
	bool quiet = false;
	uint64_t seen;

	t->deputy = true;
	while (t->leader != NULL && !t->over) {
		seen = t->rounds;
		if (quiet) {
			t->asleep = true;
			pthread_cond_wait(&t->look, &t->lock);
			t->asleep = false;
			quiet = false;
			continue;
		}
		p9_cond_wait(&t->look, &t->lock, LOOK_MS);
		if (t->rounds != seen)
			continue;
		if (t->inside) {
			t->inside = false;
			t->leader = NULL;
		} else
			quiet = true;
	}
	t->deputy = false;
	/* The next deputy. */
	wake_one(t);
}

bool
p9_turn_take(struct p9_turn *t, struct p9_worker *w)
{

	pthread_mutex_lock(&t->lock);
	while (t->leader != NULL && !t->over) {
		if (!t->deputy) {
			watch(t);
			continue;
		}
		t->in_line++;
		pthread_cond_wait(&t->free, &t->lock);
		t->in_line--;
	}
	w->leading = !t->over;
	if (w->leading)
		t->leader = w;
	pthread_mutex_unlock(&t->lock);
	return (w->leading);
}

void
p9_turn_pass(struct p9_turn *t, struct p9_worker *w)
{

	w->leading = false;
	pthread_mutex_lock(&t->lock);
	t->leader = NULL;
	wake_one(t);
	pthread_mutex_unlock(&t->lock);
}

void
p9_turn_end(struct p9_turn *t, struct p9_worker *w)
{

	w->leading = false;
	pthread_mutex_lock(&t->lock);
	t->over = true;
	t->leader = NULL;
	pthread_cond_broadcast(&t->free);
	pthread_cond_broadcast(&t->look);
	pthread_mutex_unlock(&t->lock);
}

void
p9_turn_enter(struct p9_turn *t)
{

	pthread_mutex_lock(&t->lock);
	t->inside = true;
	t->rounds++;
	if (t->asleep)
		pthread_cond_signal(&t->look);
	pthread_mutex_unlock(&t->lock);
}

void
p9_turn_leave(struct p9_turn *t, struct p9_worker *w)
{

	pthread_mutex_lock(&t->lock);
	w->leading = t->leader == w;
	if (w->leading)
		t->inside = false;
	pthread_mutex_unlock(&t->lock);
}
