/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The end of a mutation: learn what it made, or void what it did not do,
 * and let the next one go.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "hook.h"

/* Which inode did the server make?  Without the lock. */
static bool
made_stat(struct undo *u, const struct slot *s, struct stat *st)
{

	if (s->dir >= 0)
		return (sys_fstatat(s->dir, s->name, st) == 0);
	return (path_stat(u, s->name, st) == 0);
}

/*
 * Take a displaced file out of the store again.  If that fails its record
 * must stay, as it is the only one to know where the file is.
 */
static bool
undisplace(struct undo *u, struct slot *s)
{
	char name[OBJ_NAMESIZE];
	int dir, error;

	obj_name(name, s->obj);
	if (!s->moved) {
		(void)sys_unlinkat(u->wal->ofd, name, 0);
		return (true);
	}
	if (s->objname == NULL)
		return (false);
	dir = s->objdir;
	if (dir == -1 && path_open(u, s->objname, path_parent(s->objname,
	    strlen(s->objname)), O_RDONLY | O_DIRECTORY, &dir) != 0)
		return (false);
	error = sys_renameat(u->wal->ofd, name, dir,
	    s->objdir == -1 ? path_name(s->objname) : s->objname);
	if (s->objdir == -1)
		sys_close(dir);
	if (error != 0)
		return (false);
	kept_del(&u->kept, norm_dev(u, s->objst.st_dev),
	    (uint64_t)s->objst.st_ino, u->wal->place, s->obj);
	return (true);
}

static void
done_well(struct undo *u, struct slot *s, const struct stat *st)
{
	uint64_t dev;

	if (st != NULL) {
		dev = norm_dev(u, st->st_dev);
		if (!u->wal->a.lost)
			journal_later(&u->wal->j, s->newrec,
			    (uint64_t)st->st_ino);
		/* The number may have been another file's before. */
		inotab_del(&u->wal->tab, dev, (uint64_t)st->st_ino);
		(void)inotab_add(&u->wal->tab, dev, (uint64_t)st->st_ino,
		    INO_FRESH);
	}
	if (s->dropino != 0) {
		inotab_del(&u->wal->tab, s->dropdev, s->dropino);
		inotab_del(&u->wal->dirs, s->dropdev, s->dropino);
		forget_dir(u, s->dropdev, s->dropino);
	}
	if (s->unmade && u->wal->a.paths > 0)
		u->wal->a.paths--;
	if (s->obj != 0 && !s->moved && !u->wal->a.lost)
		(void)keep_now(u, &s->objst, s->obj);
	if (s->alone)
		u->epoch++;
}

void
undo_done(struct undo *u, struct undo_op *op, int error)
{
	struct slot *s;
	struct stat st;
	bool made;

	if ((op->flags & OP_FLIGHT) == 0)
		return;
	atomic_store(&u->last, os_clock_ms());
	if ((op->flags & OP_SLOT) != 0) {
		(void)pthread_mutex_lock(&u->lock);
		s = slot_of(u, op);
		made = error == 0 && s->made;
		(void)pthread_mutex_unlock(&u->lock);
		if (made)
			made = made_stat(u, s, &st);
		(void)pthread_mutex_lock(&u->lock);
		if (error == 0)
			done_well(u, s, made ? &st : NULL);
		else {
			if (s->obj != 0 && !undisplace(u, s))
				s->rec[0] = s->rec[--s->nrecs];
			hook_void(u, s);
		}
		slot_drop(u, op);
		(void)pthread_mutex_unlock(&u->lock);
	}
	flight_leave(u, op);
	if (atomic_load(&u->pending) != 0)
		event_fire(u);
}

uint32_t
undo_kept_links(struct undo *u, uint64_t dev, uint64_t ino)
{
	uint32_t n;

	(void)pthread_mutex_lock(&u->lock);
	n = kept_count(&u->kept, norm_dev(u, (dev_t)dev), ino);
	(void)pthread_mutex_unlock(&u->lock);
	return (n);
}
