/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Rollback, redo and recovery: what journal is played back into what.
 *
 * Rolling step S back plays steps/S and records into wal/in_progress, which
 * says so in its first record.  When all is undone, steps/S goes to the
 * trash and wal/in_progress becomes redo/S.  So whatever is found after a
 * crash tells what is left to do: with steps/S there, play on; without, only
 * the last rename is missing.  Redo is the same with the names exchanged.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "undo_internal.h"

static int
failed(struct undo *u, const struct apply *a, int error, struct co_error *e)
{

	return (co_error_errno(e, error, a->where,
	    "step %lld could not be undone completely, it stopped at \"%s\"; "
	    "try again, or reopen the undo store %s, to finish it",
	    (long long)a->id, a->where, u->store));
}

/*
 * Roll the step that is being recorded back, and forget it.  The gate is
 * shut.  On success the wal is gone; after a failure too, and the handle is
 * stuck until somebody finishes the work.
 */
int
rollback_wal(struct undo *u, struct wal *w, uint64_t *paths,
    struct co_error *e)
{
	struct apply a;
	int error;

	if (w->a.lost)
		return (co_error_set(e, CO_EUNDO_UNPROTECTED, NULL,
		    "step %lld grew larger than max_single_step_size and "
		    "can't be rolled back", (long long)w->a.id));
	apply_init(&a, u);
	a.j = &w->j;
	a.ofd = w->ofd;
	a.place = w->place;
	a.id = w->a.id;
	error = apply_run(&a);
	*paths = a.paths;
	(void)pthread_mutex_lock(&u->lock);
	if (error == 0)
		error = store_trash(u, u->walfd, "in_progress");
	u->wal = NULL;
	wal_forget(u, w);
	wal_close(u, w);
	if (error != 0)
		u->stuck = true;
	u->epoch++;
	(void)pthread_mutex_unlock(&u->lock);
	if (error == 0 && u->o.durability == UNDO_POWER)
		(void)sys_fsync(u->walfd);
	return (error == 0 ? 0 : failed(u, &a, error, e));
}

/* All of ${s} is undone: it goes, and what was recorded takes its place. */
int
exchange_step(struct undo *u, struct step *s, struct wal *k)
{
	char name[32];
	int error;

	(void)pthread_mutex_lock(&u->lock);
	error = 0;
	if (k != NULL && !k->a.lost) {
		/* So that nothing can fail for space when s is gone. */
		error = manifest_write(u, k->dirfd, &k->a);
	} else if (k == NULL || k->purpose == FOR_ROLLBACK) {
		/* What was rolled back before can't follow on this. */
		error = store_drop_redo(u);
	}
	if (error == 0 && s != NULL) {
		step_dirname(name, s->a.id);
		error = store_trash(u, s->redo ? u->redofd : u->stepsfd,
		    name);
		if (error == 0) {
			step_remove(u, s);
			step_free(s);
		}
	}
	if (error == 0 && k != NULL) {
		if (k->a.lost && k->purpose == FOR_ROLLBACK) {
			error = store_trash(u, u->walfd, "in_progress");
			if (error == 0)
				wal_close(u, k);
		} else
			error = store_promote(u, k,
			    k->purpose == FOR_ROLLBACK);
	}
	(void)pthread_mutex_unlock(&u->lock);
	return (error);
}

/* Nothing but the journal itself tells that it is being undone. */
static int
mark_begun(struct undo *u, struct journal *j)
{
	int error;

	error = journal_set_state(j, JOURNAL_BEGUN);
	if (error == 0 && u->o.durability == UNDO_POWER)
		error = journal_sync(j);
	return (error);
}

/* Play ${s} back, recording into ${k}, which may be NULL. */
int
play_step(struct undo *u, struct step *s, struct wal *k, struct apply *a)
{
	struct journal j;
	bool damage;
	int dir, error;

	if ((dir = step_dir(u, s)) == -1)
		return (errno);
	error = journal_open(&j, dir, true, &damage);
	if (error == 0) {
		a->ofd = sys_openat(dir, "o", O_RDONLY | O_DIRECTORY |
		    O_NOFOLLOW, 0);
		if (a->ofd == -1)
			error = errno;
		else {
			a->j = &j;
			a->place = s->place;
			a->k = k;
			a->id = s->a.id;
			if (k == NULL)
				error = mark_begun(u, &j);
			if (error == 0)
				error = apply_run(a);
			sys_close(a->ofd);
			a->ofd = -1;
			a->j = NULL;
		}
		journal_close(&j);
	}
	sys_close(dir);
	return (error);
}

/* The redo of ${j} never was. */
static int
not_redone(struct undo *u, struct journal *j)
{
	int error;

	if (u->o.durability == UNDO_POWER)
		journal_power(j);
	error = journal_set_undone(j, j->count, true);
	if (error == 0 && u->o.durability == UNDO_POWER)
		error = journal_sync(j);
	return (error);
}

/*
 * A redo failed: play back what it recorded, ${k}, so that the folder and
 * ${s} are as they were.  On success ${k} is gone.
 */
int
take_back(struct undo *u, struct step *s, struct wal *k)
{
	struct apply a;
	struct journal j;
	bool damage;
	int dir, error;

	apply_init(&a, u);
	if ((dir = step_dir(u, s)) == -1)
		return (errno);
	if ((error = journal_open(&j, dir, true, &damage)) != 0)
		goto err0;
	a.back = sys_openat(dir, "o", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (a.back == -1) {
		error = errno;
		goto err1;
	}
	a.backplace = s->place;
	a.j = &k->j;
	a.ofd = k->ofd;
	a.place = k->place;
	a.id = s->a.id;
	if ((error = mark_begun(u, &k->j)) == 0 &&
	    (error = apply_run(&a)) == 0 &&
	    (error = not_redone(u, &j)) == 0) {
		(void)pthread_mutex_lock(&u->lock);
		error = store_trash(u, u->walfd, "in_progress");
		if (error == 0) {
			wal_forget(u, k);
			wal_close(u, k);
		}
		u->epoch++;
		(void)pthread_mutex_unlock(&u->lock);
	}
	sys_close(a.back);
err1:
	journal_close(&j);
err0:
	sys_close(dir);
	return (error);
}

/* Give up for now; the next recovery goes on. */
void
stick(struct undo *u, struct wal *k)
{

	(void)pthread_mutex_lock(&u->lock);
	u->stuck = true;
	if (k != NULL) {
		wal_forget(u, k);
		wal_close(u, k);
	}
	(void)pthread_mutex_unlock(&u->lock);
}

static void
report(struct undo *u, const struct about *a, const struct apply *ap,
    bool redo)
{

	event_post(u, redo ? UNDO_EV_REDO : UNDO_EV_ROLLBACK, a->id,
	    ap->paths, "step %lld was %s%s", (long long)a->id,
	    redo ? "applied again" : "rolled back",
	    ap->conflicts == 0 ? "" :
	    "; what had been changed from outside was kept aside");
}

static int
one_step(struct undo *u, struct step *s, undo_progress_fn *progress,
    void *arg, struct co_error *e)
{
	struct apply a;
	struct about about;
	struct wal *k;
	bool redo;
	int error;

	apply_init(&a, u);
	a.progress = progress;
	a.arg = arg;
	redo = s->redo;
	about = s->a;
	about.command = NULL;
	k = NULL;
	(void)pthread_mutex_lock(&u->lock);
	error = wal_create(u, &s->a, redo ? FOR_REDO : FOR_ROLLBACK, &k);
	(void)pthread_mutex_unlock(&u->lock);
	/* A full disk must not keep anybody from going back. */
	if (error != 0 && (redo || (error != ENOSPC && error != EDQUOT)))
		return (co_error_errno(e, error, u->store,
		    "can't begin to %s step %lld in the undo store %s",
		    redo ? "redo" : "roll back", (long long)s->a.id,
		    u->store));
	a.id = s->a.id;
	error = play_step(u, s, k, &a);
	if (error != 0 && redo && take_back(u, s, k) == 0)
		return (co_error_errno(e, error, a.where,
		    "step %lld can't be applied again, it failed at \"%s\"; "
		    "nothing was changed", (long long)a.id, a.where));
	if (error != 0 || (error = exchange_step(u, s, k)) != 0) {
		stick(u, k);
		return (failed(u, &a, error, e));
	}
	(void)pthread_mutex_lock(&u->lock);
	u->epoch++;
	report(u, &about, &a, redo);
	(void)pthread_mutex_unlock(&u->lock);
	return (0);
}

/* What stands against rolling ${n} steps back? */
static int
check_rollback(struct undo *u, unsigned int n, bool force,
    struct co_error *e)
{
	const struct stamp *b;
	struct step *s;
	unsigned int i;

	s = TAILQ_LAST(&u->steps, steplist);
	for (i = 0; i < n; i++, s = TAILQ_PREV(s, steplist, link)) {
		if (s == NULL)
			return (co_error_set(e, CO_EUNDO_NOSTEP, NULL,
			    "there are only %u steps to undo, not %u", i,
			    n));
		if (s->a.lost)
			return (co_error_set(e, CO_EUNDO_UNPROTECTED, NULL,
			    "step %lld is not protected and can't be rolled "
			    "back, nor can the steps before it",
			    (long long)s->a.id));
		b = force ? NULL : barrier_over(u, s->a.seq);
		if (b != NULL) {
			char when[32];

			co_time_iso(when, sizeof(when), b->at / 1000000,
			    (int32_t)(b->at % 1000000));
			return (co_error_set(e, CO_EUNDO_BARRIER,
			    b->npaths > 0 ? b->paths[0] : NULL,
			    "%zu paths were changed from outside at %s%s%s; "
			    "force the rollback of step %lld to go over that",
			    b->npaths, when, b->npaths > 0 ? ", such as " :
			    "", b->npaths > 0 ? b->paths[0] : "",
			    (long long)s->a.id));
		}
	}
	return (0);
}

/* A damaged journal is found before anything is changed by it. */
static int
check_journal(struct undo *u, struct step *s, struct co_error *e)
{
	struct journal j;
	bool damage;
	int dir, error;

	damage = false;
	if ((dir = step_dir(u, s)) == -1)
		error = errno;
	else {
		error = journal_open(&j, dir, false, &damage);
		sys_close(dir);
		if (error == 0) {
			damage = damage || j.count != s->a.records;
			journal_close(&j);
		}
	}
	if (error == 0 && !damage)
		return (0);
	if (error != 0 && error != EINVAL && error != ENOENT)
		return (co_error_errno(e, error, NULL,
		    "can't read the journal of step %lld",
		    (long long)s->a.id));
	return (co_error_set(e, CO_EUNDO_CORRUPT, NULL,
	    "the journal of step %lld in the undo store %s is damaged; "
	    "nothing was changed", (long long)s->a.id, u->store));
}

static int
version_error(struct undo *u, struct co_error *e)
{

	return (co_error_set(e, CO_EUNDO_VERSION, u->store,
	    "the undo store %s was written by another version; discard its "
	    "history to use undo again", u->store));
}

static int
rollback(struct undo *u, unsigned int n, bool force,
    undo_progress_fn *progress, void *arg, struct co_error *e)
{
	struct step *s;
	unsigned int i;
	int error;

	if (u->foreign)
		return (version_error(u, e));
	if (step_settle(u, e) != 0)
		return (-1);
	(void)pthread_mutex_lock(&u->lock);
	if (u->doomed)
		(void)store_drop_redo(u);
	error = check_rollback(u, n, force, e);
	(void)pthread_mutex_unlock(&u->lock);
	s = TAILQ_LAST(&u->steps, steplist);
	for (i = 0; error == 0 && i < n; i++) {
		error = check_journal(u, s, e);
		s = TAILQ_PREV(s, steplist, link);
	}
	for (i = 0; error == 0 && i < n; i++)
		error = one_step(u, TAILQ_LAST(&u->steps, steplist),
		    progress, arg, e);
	return (error);
}

int
undo_rollback(struct undo *u, unsigned int n, bool force,
    undo_progress_fn *progress, void *arg, struct co_error *e)
{
	int error;

	gate_shut(u);
	error = rollback(u, n, force, progress, arg, e);
	gate_open(u);
	event_fire(u);
	return (error);
}

static int
redo(struct undo *u, unsigned int n, undo_progress_fn *progress, void *arg,
    struct co_error *e)
{
	struct step *s;
	unsigned int i;
	int error;

	if (u->foreign)
		return (version_error(u, e));
	if (step_settle(u, e) != 0)
		return (-1);
	(void)pthread_mutex_lock(&u->lock);
	if (u->doomed)
		(void)store_drop_redo(u);
	(void)pthread_mutex_unlock(&u->lock);
	i = 0;
	error = 0;
	TAILQ_FOREACH(s, &u->redo, link) {
		if (i++ == n)
			break;
		if (error == 0)
			error = check_journal(u, s, e);
	}
	if (error == 0 && i < n)
		return (co_error_set(e, CO_EUNDO_NOREDO, NULL,
		    "there are only %u steps to redo, not %u; a change of "
		    "the folder after a rollback ends the possibility", i,
		    n));
	for (i = 0; error == 0 && i < n; i++)
		error = one_step(u, TAILQ_FIRST(&u->redo), progress, arg, e);
	if (error == 0) {
		(void)pthread_mutex_lock(&u->lock);
		store_evict(u);
		(void)pthread_mutex_unlock(&u->lock);
	}
	return (error);
}

int
undo_redo(struct undo *u, unsigned int n, undo_progress_fn *progress,
    void *arg, struct co_error *e)
{
	int error;

	gate_shut(u);
	error = redo(u, n, progress, arg, e);
	gate_open(u);
	event_fire(u);
	return (error);
}
