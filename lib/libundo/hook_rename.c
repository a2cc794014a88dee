/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The hook for rename, in all its forms.  What the rename displaces is kept
 * first, so that the rename itself stays the server's one atomic call.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hook.h"
#include "record.h"

struct pair {
	struct loc	 from;
	struct loc	 to;
	unsigned int	 flags;
	bool		 swap;
};

static int
pair_stat(struct undo *u, struct pair *p)
{
	int error;

	if ((error = loc_stat(&p->from)) != 0 ||
	    (error = loc_stat(&p->to)) != 0 ||
	    (error = loc_verify(u, &p->from)) != 0)
		return (error);
	return (loc_verify(u, &p->to));
}

static bool
moves_directory(const struct pair *p)
{

	return ((p->from.exists && S_ISDIR(p->from.st.st_mode)) ||
	    (p->swap && p->to.exists && S_ISDIR(p->to.st.st_mode)));
}

/* Take both names; all of them if a directory is to move. */
static int
pair_take(struct undo *u, struct undo_op *op, struct pair *p)
{
	struct slot *s;
	int error;

	(void)pthread_mutex_lock(&u->lock);
	if ((s = slot_take(u, op)) == NULL) {
		(void)pthread_mutex_unlock(&u->lock);
		return (ENOMEM);
	}
	hook_key(u, s, 0, &p->from);
	hook_key(u, s, 1, &p->to);
	slot_keys(u, s);
	(void)pthread_mutex_unlock(&u->lock);
	if ((error = pair_stat(u, p)) != 0 || !moves_directory(p))
		return (error);
	(void)pthread_mutex_lock(&u->lock);
	slot_alone(u, s);
	(void)pthread_mutex_unlock(&u->lock);
	return (pair_stat(u, p));
}

static bool
lies_below(const struct loc *l, const struct loc *dir)
{

	return (l->pathlen > dir->pathlen && l->path[dir->pathlen] == '/' &&
	    memcmp(l->path, dir->path, dir->pathlen) == 0);
}

/* What the system would refuse: that needs no record. */
static int
pair_check(const struct pair *p)
{

	if (!p->from.exists || (p->swap && !p->to.exists))
		return (ENOENT);
	if ((p->flags & UNDO_NOREPLACE) != 0 && p->to.exists)
		return (EEXIST);
	if (lies_below(&p->to, &p->from))
		return (EINVAL);
	if (lies_below(&p->from, &p->to))
		return (p->swap ? EINVAL : ENOTEMPTY);
	if (p->swap || !p->to.exists)
		return (0);
	if (S_ISDIR(p->to.st.st_mode) && !S_ISDIR(p->from.st.st_mode))
		return (EISDIR);
	if (!S_ISDIR(p->to.st.st_mode) && S_ISDIR(p->from.st.st_mode))
		return (ENOTDIR);
	return (0);
}

static bool
same(const struct stat *a, const struct stat *b)
{

	return (a->st_ino == b->st_ino && a->st_dev == b->st_dev);
}

/* Link the displaced file into the store, then say so. */
static int
displace_link(struct undo *u, struct undo_op *op, struct loc *l,
    uint32_t obj)
{
	char name[OBJ_NAMESIZE];
	struct slot *s;
	bool lost;
	int error;

	obj_name(name, obj);
	if (sys_linkat(l->dir, l->name, u->wal->ofd, name) == -1)
		return (errno);
	(void)pthread_mutex_lock(&u->lock);
	s = slot_of(u, op);
	error = keep_gone(u, s, l, obj, 0);
	lost = u->wal->a.lost;
	if (error == 0 && !lost) {
		s->obj = obj;
		s->objst = l->st;
	}
	(void)pthread_mutex_unlock(&u->lock);
	if (error != 0 || lost)
		hook_scrap(u, obj);
	return (error);
}

/* Should the rename fail, it has to go back where it was. */
static void
displaced_moved(struct undo *u, struct undo_op *op, const struct loc *l,
    uint32_t obj)
{
	struct slot *s;

	(void)pthread_mutex_lock(&u->lock);
	s = slot_of(u, op);
	s->obj = obj;
	s->moved = true;
	s->objst = l->st;
	s->objdir = l->own ? -1 : l->dir;
	s->objname = strdup(l->own ? l->path : l->name);
	(void)pthread_mutex_unlock(&u->lock);
}

/*
 * Keep what is at the destination.  A link of it leaves the name in place;
 * where links are refused it is moved away a moment early.
 */
static int
displace(struct undo *u, struct undo_op *op, struct pair *p)
{
	enum fate fate;
	uint32_t obj;
	int error;

	if (S_ISDIR(p->to.st.st_mode))
		return (keep_rmdir(u, op, &p->to));
	if ((error = keep_decide(u, op, &p->to, &fate, &obj)) != 0)
		return (error);
	if (fate == FATE_MOVE) {
		error = displace_link(u, op, &p->to, obj);
		if (error == EPERM || error == EMLINK || error == ENOTSUP) {
			error = keep_move(u, op, &p->to, obj, 0);
			if (error == 0)
				displaced_moved(u, op, &p->to, obj);
			if (error == EFBIG)
				return (0);
		}
		if (error != EXDEV)
			return (error);
		fate = FATE_COPY;
	}
	return (fate == FATE_COPY ? keep_copy(u, op, &p->to, obj) : 0);
}

/* A directory that gets another parent has its ".." rewritten. */
static int
touch_moved(struct undo *u, const struct loc *l, const struct loc *other)
{

	if (!S_ISDIR(l->st.st_mode) || same(&l->dst, &other->dst))
		return (0);
	return (wal_touch(u, u->wal, &l->st, l->path, l->pathlen));
}

static int
record_rename(struct undo *u, struct undo_op *op, struct pair *p)
{
	struct slot *s;
	struct rec r;
	uint8_t other[REC_OTHER];
	int error;

	s = slot_of(u, op);
	if (s->alone)
		u->epoch++;
	if (u->wal->a.lost)
		return (0);
	if ((error = hook_touch(u, &p->from)) != 0 ||
	    (error = hook_touch(u, &p->to)) != 0 ||
	    (error = touch_moved(u, &p->from, &p->to)) != 0 ||
	    (p->swap && (error = touch_moved(u, &p->to, &p->from)) != 0))
		return (error);
	hook_rec(&r, REC_RENAME, &p->from);
	r.path2 = p->to.path;
	r.path2len = p->to.pathlen;
	meta_set(u, &r.m, &p->from.st);
	if (p->swap) {
		struct meta m;

		r.flags = REC_SWAP;
		meta_set(u, &m, &p->to.st);
		record_other(other, &m);
		r.extra = other;
		r.extralen = sizeof(other);
	}
	if ((error = wal_append(u, u->wal, &r)) != 0 || u->wal->a.lost)
		return (error);
	hook_slot_rec(s, &r);
	s->count++;
	u->wal->a.paths++;
	return (0);
}

static int
rename_pair(struct undo *u, struct undo_op *op, struct pair *p)
{
	int error;

	if ((error = pair_take(u, op, p)) != 0 ||
	    (error = pair_check(p)) != 0)
		return (error);
	/* Two names of one file: the system does nothing, and so do we. */
	if (p->to.exists && same(&p->from.st, &p->to.st))
		return (0);
	if (p->to.exists && !p->swap && !S_ISDIR(p->to.st.st_mode) &&
	    (error = guard_check(u, op, UNDO_GUARD_RENAME, p->to.path)) != 0)
		return (error);
	(void)pthread_mutex_lock(&u->lock);
	hook_whos(u, slot_of(u, op), &p->from.st,
	    p->to.exists ? &p->to.st : NULL);
	(void)pthread_mutex_unlock(&u->lock);
	if (p->to.exists && !p->swap && (error = displace(u, op, p)) != 0)
		return (error);
	(void)pthread_mutex_lock(&u->lock);
	error = record_rename(u, op, p);
	(void)pthread_mutex_unlock(&u->lock);
	return (error == 0 ? wal_sync(u, u->wal) : error);
}

int
undo_pre_rename(struct undo *u, struct undo_op *op,
    const struct undo_ref *from, const struct undo_ref *to,
    unsigned int flags)
{
	struct pair p;
	int error;

	memset(&p, 0, sizeof(p));
	p.flags = flags;
	p.swap = (flags & UNDO_EXCHANGE) != 0;
	if ((flags & ~(unsigned int)(UNDO_NOREPLACE | UNDO_EXCHANGE)) != 0 ||
	    flags == (UNDO_NOREPLACE | UNDO_EXCHANGE))
		return (EINVAL);
again:
	if ((error = flight_enter(u, op)) != 0 || u->foreign)
		return (error);
	if ((error = loc_open(u, from, &p.from)) == 0) {
		if ((error = loc_open(u, to, &p.to)) == 0) {
			error = rename_pair(u, op, &p);
			loc_close(&p.to);
		}
		loc_close(&p.from);
	}
	if (error == EAGAIN && (op->flags & OP_FLIGHT) == 0)
		goto again;
	return (error == 0 ? 0 : hook_fail(u, op, error));
}
