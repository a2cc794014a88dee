/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Playing a journal back, last record first.  One engine serves rollback,
 * redo (both record what they do into another journal, k), recovery and
 * abandonment (which do not).
 *
 * The number of the record that is undone last is stored in the journal
 * after each one.  After a crash at most one record is applied again (with
 * power durability: the ones since the last sync), and each kind of record
 * sees from what it finds whether it is done.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "undo_internal.h"

/* With power durability: how many records between two syncs, at most. */
#define	SYNC_EVERY	1000

void
apply_init(struct apply *a, struct undo *u)
{

	memset(a, 0, sizeof(*a));
	a->u = u;
	a->ofd = a->dir = a->back = -1;
}

void
apply_forget(struct apply *a)
{

	if (a->dir != -1)
		sys_close(a->dir);
	free(a->dirpath);
	a->dir = -1;
	a->dirpath = NULL;
	a->touched = false;
}

/*
 * Open the parent of ${path}, in a->dir, and point ${name} to its last
 * component.  The last parent stays open for the next record.
 */
int
apply_parent(struct apply *a, const char *path, size_t len,
    const char **name)
{
	size_t plen;
	int error;

	plen = path_parent(path, len);
	*name = path + plen + (plen > 0);
	if (a->dir != -1 && a->dirlen == plen &&
	    memcmp(a->dirpath, path, plen) == 0)
		return (0);
	apply_forget(a);
	if ((a->dirpath = malloc(plen + 1)) == NULL)
		return (ENOMEM);
	memcpy(a->dirpath, path, plen);
	a->dirpath[plen] = '\0';
	a->dirlen = plen;
	error = path_open(a->u, path, plen, O_RDONLY | O_DIRECTORY, &a->dir);
	if (error != 0) {
		a->dir = -1;
		apply_forget(a);
	}
	return (error);
}

/* Is what goes away still kept for a redo? */
bool
apply_keeps(const struct apply *a)
{

	return (a->k != NULL && !a->k->a.lost);
}

/* Recording failed: for want of space, or for good?  Locked. */
int
apply_lose(struct apply *a, int error)
{

	/* A redo that can't be undone again is not worth it. */
	if ((error != ENOSPC && error != EDQUOT && error != EFBIG) ||
	    a->k->purpose == FOR_REDO)
		return (error);
	wal_lost(a->u, a->k);
	return (a->k->a.lost ? 0 : error);
}

/*
 * Append to k.  When there is no room for that the rollback goes on, and
 * only the possibility to redo it is lost.
 */
int
apply_record(struct apply *a, struct rec *r)
{
	int error;

	if (!apply_keeps(a))
		return (0);
	(void)pthread_mutex_lock(&a->u->lock);
	error = wal_append(a->u, a->k, r);
	error = apply_lose(a, error);
	(void)pthread_mutex_unlock(&a->u->lock);
	if (error == 0 && !a->k->a.lost)
		error = wal_sync(a->u, a->k);
	return (error);
}

/* The entries of a->dir are about to change. */
int
apply_touch(struct apply *a)
{
	struct stat st;
	int error;

	if (a->touched || !apply_keeps(a))
		return (0);
	if (sys_fstat(a->dir, &st) == -1)
		return (errno);
	(void)pthread_mutex_lock(&a->u->lock);
	error = wal_touch(a->u, a->k, &st, a->dirpath, a->dirlen);
	error = apply_lose(a, error);
	(void)pthread_mutex_unlock(&a->u->lock);
	a->touched = error == 0;
	return (error);
}

/* k has made this inode itself, and need not keep it. */
void
apply_fresh(struct apply *a, const struct rec *r, const struct stat *st)
{

	if (!apply_keeps(a) || (r->flags & REC_FRESH) == 0)
		return;
	if (r->m.ino == 0)
		journal_later(&a->k->j, r->off, (uint64_t)st->st_ino);
	(void)inotab_add(&a->k->tab, norm_dev(a->u, st->st_dev),
	    (uint64_t)st->st_ino, INO_FRESH);
}

/*
 * Open the parent of ${path} even if it and those above it are no more,
 * which somebody else must have done.
 */
int
apply_parents(struct apply *a, const char *path, size_t len,
    const char **name)
{
	const char *last;
	struct stat st;
	struct rec r;
	size_t plen;
	int error;

	error = apply_parent(a, path, len, name);
	if (error != ENOENT && error != ENOTDIR)
		return (error);
	plen = path_parent(path, len);
	if (plen == 0)
		return (error);
	if ((error = apply_parents(a, path, plen, &last)) != 0)
		return (error);
	a->conflicts++;
	/* last is not terminated: it goes on after the slash. */
	memset(&r, 0, sizeof(r));
	r.type = REC_MKDIR;
	r.flags = REC_FRESH;
	r.m.mode = S_IFDIR;
	r.path = path;
	r.pathlen = plen;
	{
		char buf[256];
		size_t n = (size_t)(path + plen - last);

		if (n >= sizeof(buf))
			return (ENAMETOOLONG);
		memcpy(buf, last, n);
		buf[n] = '\0';
		if (sys_fstatat(a->dir, buf, &st) == 0)
			error = apply_away(a, path, plen, buf, &st);
		else if (errno != ENOENT)
			error = errno;
		if (error != 0)
			return (error);
		if ((error = apply_touch(a)) != 0 ||
		    (error = apply_record(a, &r)) != 0)
			return (error);
		if (sys_mkdirat(a->dir, buf, 0755) == -1 && errno != EEXIST)
			return (errno);
	}
	return (apply_parent(a, path, len, name));
}

/*
 * Is ${st} the file that the journal knows by this number?  Copies that had
 * to be made anew have another one.
 */
bool
apply_is(struct apply *a, uint64_t dev, uint64_t ino, const struct stat *st)
{
	struct rec r;
	uint64_t off;

	if ((uint64_t)st->st_ino == ino && norm_dev(a->u, st->st_dev) == dev)
		return (true);
	if (!a->copies)
		return (false);
	for (off = 0; journal_next(a->j, &off, &r);)
		if (r.type == REC_COPY && r.m.ino == ino && r.m.dev == dev &&
		    r.later == (uint64_t)st->st_ino)
			return (true);
	return (false);
}

/*
 * Nothing comes back, but what older records say of this inode is void: it
 * is not there, and what has its name now is another.
 */
int
apply_drop(struct apply *a, const struct rec *r)
{
	const char *name;
	struct stat st;
	int error;

	/* Other names of it are still there. */
	if (r->m.nlink > 1)
		return (0);
	error = apply_parent(a, r->path, r->pathlen, &name);
	if (error == 0 && sys_fstatat(a->dir, name, &st) == -1)
		error = errno;
	if (error == 0 && apply_is(a, r->m.dev, r->m.ino, &st))
		return (0);
	if (error != 0 && error != ENOENT && error != ENOTDIR)
		return (error);
	return (inotab_add(&a->dropped, r->m.dev, r->m.ino, INO_FRESH));
}

/* Put record ${i} in front of the others in its folder. */
static int
chain(struct apply *a, const struct rec *r, uint32_t i)
{

	if (a->chain == NULL && (a->chain = calloc((size_t)a->j->count,
	    sizeof(*a->chain))) == NULL)
		return (ENOMEM);
	a->chain[i] = inotab_get(&a->first, 0, r->obj);
	inotab_del(&a->first, 0, r->obj);
	return (inotab_add(&a->first, 0, r->obj, i));
}

/*
 * What the records before this run, undone already, have to say; and which
 * of the others belong together.
 */
static int
look_ahead(struct apply *a, uint32_t undone)
{
	struct rec r;
	uint32_t i;
	int error;

	for (i = a->j->count; i > 1; i--) {
		if ((error = journal_read(a->j, a->offs[i - 1], &r)) != 0)
			return (error);
		if (r.type == REC_COPY)
			a->copies = true;
		if ((r.flags & REC_KEPT) != 0)
			a->nameless = true;
		if (r.type == REC_NEW && (r.flags & REC_FRESH) == 0)
			a->links = true;
		if (!r.is_void && i - 1 < undone && r.type == REC_GONE &&
		    (r.flags & REC_INDIR) != 0 &&
		    (error = chain(a, &r, i - 1)) != 0)
			return (error);
		if (r.is_void || i - 1 < undone)
			continue;
		if (r.type == REC_DROP && (error = apply_drop(a, &r)) != 0)
			return (error);
		if (r.type == REC_NEW && (r.flags & REC_FRESH) != 0)
			inotab_del(&a->dropped, r.m.dev, r.later != 0 ?
			    r.later : r.m.ino);
	}
	return (0);
}

static int
apply_one(struct apply *a, const struct rec *r)
{

	switch (r->type) {
	case REC_NEW:
		return (apply_new(a, r));
	case REC_MKDIR:
		return (apply_mkdir(a, r));
	case REC_GONE:
		return (apply_gone(a, r));
	case REC_COPY:
		return (apply_copy(a, r));
	case REC_RMDIR:
		return (apply_rmdir(a, r));
	case REC_RENAME:
		return (apply_rename(a, r));
	case REC_CONTENT:
		return (apply_content(a, r));
	case REC_META:
		return (apply_meta(a, r));
	case REC_TIME:
		return (apply_time(a, r));
	case REC_DROP:
		return (apply_drop(a, r));
	default:
		return (0);
	}
}

/*
 * With power durability all since the last sync may have to be done again.
 * That does no harm as long as it touches no name twice, and moves no
 * directory.
 */
static bool
needs_sync(struct apply *a, const struct rec *r)
{

	if (a->since >= SYNC_EVERY)
		return (true);
	switch (r->type) {
	case REC_NEW:
	case REC_MKDIR:
	case REC_GONE:
	case REC_COPY:
	case REC_RMDIR:
		return (inotab_get(&a->names, 0, journal_hash(r->path,
		    r->pathlen, 0)) != 0);
	case REC_RENAME:
		return (true);
	default:
		return (false);
	}
}

static int
sync_all(struct apply *a, uint32_t n)
{
	int error;

	if ((error = os_sync(a->u->rootfd)) != 0 ||
	    (error = os_sync(a->u->storefd)) != 0)
		return (error);
	if ((error = journal_set_undone(a->j, n, true)) != 0)
		return (error);
	inotab_free(&a->names);
	a->since = 0;
	return (journal_sync(a->j));
}

/* Before record n - 1 is applied. */
static int
before_one(struct apply *a, const struct rec *r, uint32_t n)
{
	int error;

	if (a->u->o.durability != UNDO_POWER)
		return (0);
	if (needs_sync(a, r) && (error = sync_all(a, n)) != 0)
		return (error);
	a->since++;
	return (inotab_add(&a->names, 0, journal_hash(r->path, r->pathlen,
	    0), INO_META));
}

/*
 * Remember how far it came.  If that is not possible it must not go further:
 * one record may be applied twice, a row of them not.
 */
static int
after_one(struct apply *a, const struct rec *r, uint32_t n)
{
	int error;

	error = journal_set_undone(a->j, n,
	    a->u->o.durability != UNDO_POWER);
	if (error != 0 || a->u->o.durability != UNDO_POWER)
		return (error);
	return (n == 1 || r->type == REC_RENAME ? sync_all(a, n) : 0);
}

static void
tell(struct apply *a, uint32_t done, uint32_t total)
{
	struct undo_progress p;

	if (a->progress == NULL)
		return;
	p.step = a->id;
	p.done = done;
	p.total = total;
	a->progress(a->arg, &p);
}

/* Did it come back with the folder that it was in? */
static bool
came_along(const struct apply *a, const struct rec *r)
{

	return (r->type == REC_GONE && (r->flags & REC_INDIR) != 0 &&
	    !r->is_void && inotab_get(&a->whole, 0, r->obj) != 0);
}

int
apply_run(struct apply *a)
{
	struct rec r;
	uint32_t *offs, i, n;
	int error;

	a->dir = -1;
	if (a->u->o.durability == UNDO_POWER)
		journal_power(a->j);
	if ((error = journal_index(a->j, &offs)) != 0)
		return (error);
	n = journal_undone(a->j);
	a->offs = offs;
	error = look_ahead(a, n);
	for (i = n; error == 0 && i > 1; i--) {
		if ((error = journal_read(a->j, offs[i - 1], &r)) != 0)
			break;
		/* Found done by whoever looks again, so need not be noted. */
		if (came_along(a, &r)) {
			a->paths++;
			tell(a, a->j->count - i + 1, a->j->count - 1);
			continue;
		}
		if ((error = before_one(a, &r, i)) != 0)
			break;
		r.off = offs[i - 1];
		if (!r.is_void && (error = apply_one(a, &r)) == 0 &&
		    r.type != REC_TIME && r.type != REC_DROP)
			a->paths++;
		if (error == 0)
			error = after_one(a, &r, i - 1);
		if (error != 0)
			(void)snprintf(a->where, sizeof(a->where), "%s",
			    r.path);
		tell(a, a->j->count - i + 1, a->j->count - 1);
	}
	apply_forget(a);
	inotab_free(&a->dropped);
	inotab_free(&a->names);
	inotab_free(&a->first);
	inotab_free(&a->whole);
	free(a->chain);
	a->chain = NULL;
	a->offs = NULL;
	if (a->hasheap)
		heap_close(&a->heap);
	a->hasheap = false;
	free(offs);
	return (error);
}
