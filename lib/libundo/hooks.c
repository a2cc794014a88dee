/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Hooks for what changes names: create, link, unlink, rmdir, rename.  Each
 * one takes its names, looks at what is there, asks the safeguards, records,
 * and leaves the deed to the server (or, to unlink, does it itself).  The
 * names stay taken until undo_done().
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hook.h"
#include "record.h"
#include "undo_internal.h"

/* The mutation will not happen, or did not.  With the lock held. */
void
hook_void(struct undo *u, struct slot *s)
{
	unsigned int i;

	if (u->wal == NULL || u->wal->a.lost)
		return;
	for (i = 0; i < s->nrecs; i++)
		journal_void(&u->wal->j, s->rec[i]);
	u->wal->a.paths -= s->count < u->wal->a.paths ? s->count :
	    u->wal->a.paths;
	s->nrecs = s->count = 0;
}

/* Leave with an error; what was recorded does not count. */
int
hook_fail(struct undo *u, struct undo_op *op, int error)
{
	struct slot *s;

	(void)pthread_mutex_lock(&u->lock);
	if ((s = slot_of(u, op)) != NULL)
		hook_void(u, s);
	slot_drop(u, op);
	(void)pthread_mutex_unlock(&u->lock);
	if ((op->flags & OP_FLIGHT) != 0)
		flight_leave(u, op);
	return (error);
}

void
hook_key(struct undo *u, struct slot *s, unsigned int i, const struct loc *l)
{

	s->par[i] = hash_ino(norm_dev(u, l->dst.st_dev),
	    (uint64_t)l->dst.st_ino);
	s->key[i] = journal_hash(l->name, strlen(l->name), s->par[i]);
	s->nkeys = i + 1;
}

/* Wait for one or two inodes. */
void
hook_whos(struct undo *u, struct slot *s, const struct stat *a,
    const struct stat *b)
{

	s->who[0] = hash_ino(norm_dev(u, a->st_dev), (uint64_t)a->st_ino);
	s->nwho = 1;
	if (b != NULL) {
		s->who[1] = hash_ino(norm_dev(u, b->st_dev),
		    (uint64_t)b->st_ino);
		s->nwho = 2;
	}
	slot_whos(u, s);
}

/*
 * Come in with one name: in flight, located, its name taken, looked at.
 * OP_SLOT is not set when nothing is recorded in this store.
 */
static int
hook_name(struct undo *u, struct undo_op *op, const struct undo_ref *ref,
    struct loc *l)
{
	struct slot *s;
	int error;

	if ((error = flight_enter(u, op)) != 0)
		return (error);
	if (u->foreign) {
		l->dir = -1;
		l->own = false;
		l->fixed = NULL;
		return (0);
	}
	if ((error = loc_open(u, ref, l)) != 0)
		return (hook_fail(u, op, error));
	(void)pthread_mutex_lock(&u->lock);
	if ((s = slot_take(u, op)) == NULL)
		error = ENOMEM;
	else {
		hook_key(u, s, 0, l);
		slot_keys(u, s);
	}
	(void)pthread_mutex_unlock(&u->lock);
	if (error == 0 && (error = loc_stat(l)) == 0)
		error = loc_verify(u, l);
	if (error == 0)
		return (0);
	loc_close(l);
	return (hook_fail(u, op, error));
}

/* A record about the name at ${l}. */
void
hook_rec(struct rec *r, enum rec_type type, const struct loc *l)
{

	memset(r, 0, sizeof(*r));
	r->type = type;
	r->path = l->path;
	r->pathlen = l->pathlen;
}

/*
 * With the lock held: the parent of ${l} will have another mtime, and a name
 * in it that it may have had before.
 */
int
hook_touch(struct undo *u, const struct loc *l)
{

	keep_mixed(u, l);
	return (wal_touch(u, u->wal, &l->dst, l->path,
	    path_parent(l->path, l->pathlen)));
}

void
hook_slot_rec(struct slot *s, const struct rec *r)
{

	s->rec[s->nrecs++] = r->off;
}

/* Remember where the new name will be, to learn its inode when done. */
static int
slot_made(struct slot *s, const struct undo_ref *ref, const struct loc *l,
    uint64_t off)
{

	s->newrec = off;
	s->made = true;
	if (ref->dirfd >= 0) {
		s->dir = ref->dirfd;
		s->name = strdup(l->name);
	} else
		s->name = strdup(l->path);
	return (s->name == NULL ? ENOMEM : 0);
}

static int
new_name(struct undo *u, struct undo_op *op, const struct undo_ref *ref,
    enum rec_type type, mode_t mode)
{
	struct slot *s;
	struct loc l;
	struct rec r;
	int error;

	if ((error = hook_name(u, op, ref, &l)) != 0 || u->foreign)
		return (error);
	if (l.exists) {
		loc_close(&l);
		return (hook_fail(u, op, EEXIST));
	}
	hook_rec(&r, type, &l);
	r.flags = REC_FRESH;
	r.m.mode = (uint32_t)mode;
	r.m.dev = norm_dev(u, l.dst.st_dev);
	(void)pthread_mutex_lock(&u->lock);
	s = slot_of(u, op);
	if (!u->wal->a.lost && (error = hook_touch(u, &l)) == 0 &&
	    (error = wal_append(u, u->wal, &r)) == 0 && !u->wal->a.lost) {
		hook_slot_rec(s, &r);
		s->count = 1;
		u->wal->a.paths++;
		s->mkdir = type == REC_MKDIR;
		error = slot_made(s, ref, &l, r.off);
	}
	(void)pthread_mutex_unlock(&u->lock);
	if (error == 0)
		error = wal_sync(u, u->wal);
	loc_close(&l);
	return (error == 0 ? 0 : hook_fail(u, op, error));
}

int
undo_pre_create(struct undo *u, struct undo_op *op,
    const struct undo_ref *ref)
{

	return (new_name(u, op, ref, REC_NEW, S_IFREG));
}

int
undo_pre_mkdir(struct undo *u, struct undo_op *op,
    const struct undo_ref *ref)
{

	return (new_name(u, op, ref, REC_MKDIR, S_IFDIR));
}

int
undo_pre_mknod(struct undo *u, struct undo_op *op,
    const struct undo_ref *ref)
{

	return (new_name(u, op, ref, REC_NEW, 0));
}

int
undo_pre_symlink(struct undo *u, struct undo_op *op,
    const struct undo_ref *ref)
{

	return (new_name(u, op, ref, REC_NEW, S_IFLNK));
}

/* Is there room for so many bytes?  If not, the step is lost. */
bool
hook_fits(struct undo *u, uint64_t bytes)
{
	bool lost;

	(void)pthread_mutex_lock(&u->lock);
	if (!wal_fits(u, u->wal, bytes))
		wal_lost(u, u->wal);
	lost = u->wal->a.lost;
	(void)pthread_mutex_unlock(&u->lock);
	return (!lost);
}

/* Remove an object that no record names. */
void
hook_scrap(struct undo *u, uint32_t obj)
{
	char name[OBJ_NAMESIZE];

	obj_name(name, obj);
	(void)sys_unlinkat(u->wal->ofd, name, 0);
}

/* What a reference with a descriptor or a name leads to. */
int
ref_stat(struct undo *u, const struct undo_ref *ref, struct stat *st)
{

	if (ref->fd >= 0)
		return (sys_fstat(ref->fd, st) == -1 ? errno : 0);
	if (ref->dirfd >= 0 && ref->name != NULL)
		return (sys_fstatat(ref->dirfd, ref->name, st) == -1 ?
		    errno : 0);
	if (ref->path == NULL)
		return (EBADF);
	return (path_stat(u, ref->path, st));
}

static int
record_link(struct undo *u, struct undo_op *op, const struct loc *l,
    const struct stat *st)
{
	struct slot *s;
	struct rec r;
	uint64_t dev;
	int error;

	s = slot_of(u, op);
	hook_whos(u, s, st, NULL);
	if (u->wal->a.lost)
		return (0);
	dev = norm_dev(u, st->st_dev);
	hook_rec(&r, REC_NEW, l);
	meta_set(u, &r.m, st);
	/* An inode without any name is as good as new. */
	if (st->st_nlink == 0)
		r.flags = REC_FRESH;
	if ((error = hook_touch(u, l)) != 0 ||
	    (error = wal_append(u, u->wal, &r)) != 0 || u->wal->a.lost)
		return (error);
	if (st->st_nlink == 0)
		error = inotab_add(&u->wal->tab, dev, (uint64_t)st->st_ino,
		    INO_FRESH);
	hook_slot_rec(s, &r);
	s->count = 1;
	u->wal->a.paths++;
	return (error);
}

int
undo_pre_link(struct undo *u, struct undo_op *op, const struct undo_ref *ref,
    const struct undo_ref *target)
{
	struct stat st;
	struct loc l;
	int error;

	if ((error = hook_name(u, op, ref, &l)) != 0 || u->foreign)
		return (error);
	error = l.exists ? EEXIST : ref_stat(u, target, &st);
	if (error == 0) {
		(void)pthread_mutex_lock(&u->lock);
		error = record_link(u, op, &l, &st);
		(void)pthread_mutex_unlock(&u->lock);
	}
	if (error == 0)
		error = wal_sync(u, u->wal);
	loc_close(&l);
	return (error == 0 ? 0 : hook_fail(u, op, error));
}

/* Wait for the inode of the name that goes. */
static void
hook_take(struct undo *u, struct undo_op *op, const struct loc *l)
{

	(void)pthread_mutex_lock(&u->lock);
	hook_whos(u, slot_of(u, op), &l->st, NULL);
	(void)pthread_mutex_unlock(&u->lock);
}

int
undo_pre_unlink(struct undo *u, struct undo_op *op,
    const struct undo_ref *ref, bool *taken)
{
	struct loc l;
	int error;

	*taken = false;
again:
	if ((error = hook_name(u, op, ref, &l)) != 0 || u->foreign)
		return (error);
	if (!l.exists)
		error = ENOENT;
	else if (S_ISDIR(l.st.st_mode))
		error = EISDIR;
	else if ((error = guard_check(u, op, UNDO_GUARD_DELETE,
	    l.path)) == 0) {
		hook_take(u, op, &l);
		error = keep_unlink(u, op, &l, taken);
	}
	loc_close(&l);
	if (error == EAGAIN && (op->flags & OP_FLIGHT) == 0)
		goto again;
	return (error == 0 ? 0 : hook_fail(u, op, error));
}

int
undo_pre_rmdir(struct undo *u, struct undo_op *op, const struct undo_ref *ref)
{
	struct loc l;
	int error;

again:
	if ((error = hook_name(u, op, ref, &l)) != 0 || u->foreign)
		return (error);
	if (!l.exists)
		error = ENOENT;
	else if (!S_ISDIR(l.st.st_mode))
		error = ENOTDIR;
	else if ((error = guard_check(u, op, UNDO_GUARD_DELETE,
	    l.path)) == 0) {
		hook_take(u, op, &l);
		if ((error = keep_rmdir(u, op, &l)) == 0)
			error = wal_sync(u, u->wal);
	}
	loc_close(&l);
	if (error == EAGAIN && (op->flags & OP_FLIGHT) == 0)
		goto again;
	return (error == 0 ? 0 : hook_fail(u, op, error));
}
