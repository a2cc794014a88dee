/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Recovery: what a killed process left half done is finished, or undone.
 * It may be killed itself, any number of times.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "undo_internal.h"

static int
trouble(struct undo *u, int error, struct co_error *e)
{

	return (co_error_errno(e, error, u->store,
	    "can't recover the unfinished step in the undo store %s",
	    u->store));
}

/* A step was being recorded: take it back. */
static int
recover_step(struct undo *u, struct wal *w, struct co_error *e)
{
	uint64_t paths;
	int64_t id;
	int error;

	id = w->a.id;
	if (w->a.lost) {
		w->a.ended = now_us();
		paths = w->a.paths;
		if ((error = store_promote(u, w, false)) != 0) {
			wal_forget(u, w);
			wal_close(u, w);
			return (trouble(u, error, e));
		}
		event_post(u, UNDO_EV_RECOVERY, id, 0,
		    "step %lld was unfinished, but is not protected and was "
		    "left as it is", (long long)id);
		return (0);
	}
	if (w->ofd == -1) {
		wal_close(u, w);
		return (trouble(u, ENOENT, e));
	}
	paths = 0;
	if (rollback_wal(u, w, &paths, e) != 0)
		return (-1);
	event_post(u, UNDO_EV_RECOVERY, id, paths,
	    "step %lld was unfinished and has been rolled back, %llu paths",
	    (long long)id, (unsigned long long)paths);
	return (0);
}

static struct step *
find_source(struct undo *u, const struct wal *k)
{
	struct step *s;

	TAILQ_FOREACH(s, k->purpose == FOR_REDO ? &u->redo : &u->steps, link)
		if (s->a.id == k->a.id && s->a.seq == k->a.seq)
			return (s);
	return (NULL);
}

/* A rollback or redo was going on: finish it. */
static int
recover_play(struct undo *u, struct wal *k, struct co_error *e)
{
	struct apply a;
	struct step *s;
	bool redo;
	int64_t id;
	int error;

	apply_init(&a, u);
	id = k->a.id;
	redo = k->purpose == FOR_REDO;
	a.id = id;
	s = find_source(u, k);
	error = 0;
	/* A redo that was being taken back is not to be finished. */
	if (redo && s != NULL && journal_state(&k->j, JOURNAL_BEGUN)) {
		error = take_back(u, s, k);
		goto out;
	}
	if (s != NULL)
		error = play_step(u, s, k, &a);
	if (error == 0)
		error = exchange_step(u, s, k);
	else if (redo && take_back(u, s, k) == 0) {
		error = 0;
		goto out;
	}
out:
	if (error != 0) {
		stick(u, k);
		return (trouble(u, error, e));
	}
	event_post(u, UNDO_EV_RECOVERY, id, a.paths,
	    "the unfinished %s of step %lld has been finished, or taken back",
	    redo ? "redo" : "rollback", (long long)id);
	return (0);
}

/*
 * A rollback that had no room to record itself shows only in its journal.
 */
static int
recover_bare(struct undo *u, struct co_error *e)
{
	struct journal j;
	struct apply a;
	struct step *s;
	bool begun, damage;
	int64_t id;
	int dir, error;

	s = TAILQ_LAST(&u->steps, steplist);
	if (s == NULL || s->a.lost)
		return (0);
	if ((dir = step_dir(u, s)) == -1)
		return (trouble(u, errno, e));
	begun = false;
	if ((error = journal_open(&j, dir, false, &damage)) == 0) {
		begun = journal_state(&j, JOURNAL_BEGUN);
		journal_close(&j);
	}
	sys_close(dir);
	/* A damaged one is found when it is to be rolled back. */
	if (error != 0 && error != EINVAL && error != ENOENT)
		return (trouble(u, error, e));
	if (!begun)
		return (0);
	apply_init(&a, u);
	a.id = id = s->a.id;
	if ((error = play_step(u, s, NULL, &a)) != 0 ||
	    (error = exchange_step(u, s, NULL)) != 0) {
		stick(u, NULL);
		return (trouble(u, error, e));
	}
	event_post(u, UNDO_EV_RECOVERY, id, a.paths,
	    "the unfinished rollback of step %lld has been finished",
	    (long long)id);
	return (0);
}

int
recover(struct undo *u, struct co_error *e)
{
	struct wal *w;
	bool damage;
	int error;

	u->stuck = false;
	damage = false;
	error = wal_open(u, &w, &damage);
	if (error == ENOENT)
		return (recover_bare(u, e));
	if (error == EINVAL) {
		/* It never began, so nothing was let through. */
		if ((error = store_trash(u, u->walfd, "in_progress")) != 0)
			return (trouble(u, error, e));
		return (recover_bare(u, e));
	}
	if (error != 0)
		return (trouble(u, error, e));
	if (w->a.seq > u->seq)
		u->seq = w->a.seq;
	if (damage)
		event_post(u, UNDO_EV_DAMAGE, w->a.id, w->j.count,
		    "the journal of step %lld is damaged after %u records; "
		    "what those tell is undone", (long long)w->a.id,
		    w->j.count);
	if (w->purpose == FOR_STEP)
		return (recover_step(u, w, e));
	if (damage)
		wal_lost(u, w);
	return (recover_play(u, w, e));
}

/* Finish in this process what failed before. */
int
unstick(struct undo *u, struct co_error *e)
{

	if (recover(u, e) != 0) {
		u->stuck = true;
		return (-1);
	}
	(void)pthread_mutex_lock(&u->lock);
	step_close(u);
	(void)pthread_mutex_unlock(&u->lock);
	return (0);
}
