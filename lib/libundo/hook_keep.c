/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How what goes away is kept: by a rename or link into the store where the
 * filesystem allows that, by a copy where not, and not at all when the step
 * itself has made it.
 *
 * Files that go from one directory share a folder of the store, by their
 * names, from the fourth on.  If the directory goes too, and nobody put a
 * name into it since that folder was made, a rollback makes the folder the
 * directory, by one rename.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "hook.h"

/* What dirs of a wal says of a directory; a number above that. */
#define	DIR_COUNT	0x1u	/* so many files went from it */
#define	DIR_KEPT	0x2u	/* the folder of what went from it */
#define	DIR_MIXED	0x3u	/* names came, too: no folder any more */
#define	DIR_KIND	0x3u
#define	DIR_SHIFT	2
#define	DIR_ALONE	3	/* files that are kept without a folder */

static uint32_t
dir_get(struct undo *u, const struct stat *st)
{

	return (inotab_get(&u->wal->dirs, norm_dev(u, st->st_dev),
	    (uint64_t)st->st_ino));
}

static void
dir_set(struct undo *u, const struct stat *st, uint32_t word)
{
	uint64_t dev;

	dev = norm_dev(u, st->st_dev);
	inotab_del(&u->wal->dirs, dev, (uint64_t)st->st_ino);
	/* Without memory for it there is no folder. */
	(void)inotab_add(&u->wal->dirs, dev, (uint64_t)st->st_ino, word);
}

/* The parent of ${l} gets a name.  Locked. */
void
keep_mixed(struct undo *u, const struct loc *l)
{

	if ((dir_get(u, &l->dst) & DIR_KIND) == DIR_KEPT)
		dir_set(u, &l->dst, DIR_MIXED);
}

/* The folder for what goes from the parent of ${l}; 0: none.  Locked. */
static uint32_t
keep_folder(struct undo *u, const struct loc *l)
{
	char name[OBJ_NAMESIZE];
	uint32_t obj, word;

	/* The root does not go; and each folder would want a sync. */
	if (path_parent(l->path, l->pathlen) == 0 || !u->spares ||
	    u->o.durability == UNDO_POWER)
		return (0);
	word = dir_get(u, &l->dst);
	if ((word & DIR_KIND) == DIR_KEPT)
		return (word >> DIR_SHIFT);
	if ((word & DIR_KIND) == DIR_MIXED)
		return (0);
	if (word >> DIR_SHIFT < DIR_ALONE) {
		dir_set(u, &l->dst, ((word >> DIR_SHIFT) + 1) << DIR_SHIFT |
		    DIR_COUNT);
		return (0);
	}
	obj = u->wal->nextobj++;
	obj_name(name, obj);
	if (obj > UINT32_MAX >> DIR_SHIFT ||
	    sys_mkdirat(u->wal->ofd, name, 0700) == -1) {
		dir_set(u, &l->dst, DIR_MIXED);
		return (0);
	}
	dir_set(u, &l->dst, obj << DIR_SHIFT | DIR_KEPT);
	return (obj);
}

/* A name goes: what the parent has otherwise stays as it is.  Locked. */
static int
keep_touch(struct undo *u, const struct loc *l)
{

	return (wal_touch(u, u->wal, &l->dst, l->path,
	    path_parent(l->path, l->pathlen)));
}

/*
 * Keep the file at ${l}, which goes away: move (or link) it into the store
 * as an object, or copy it when that is not possible.
 */
int
keep_copy(struct undo *u, struct undo_op *op, struct loc *l, uint32_t obj)
{
	struct os_object o = { -1, l->dir, l->name, l->st.st_mode };
	char target[PATH_MAX], *other;
	struct slot *s;
	struct rec r;
	uint8_t *xattrs;
	uint64_t bytes;
	ssize_t n;
	int error;

	hook_rec(&r, REC_COPY, l);
	meta_set(u, &r.m, &l->st);
	r.flags = REC_XATTRS;
	xattrs = NULL;
	bytes = 0;
	error = 0;
	if (S_ISREG(l->st.st_mode)) {
		o.fd = sys_openat(l->dir, l->name, O_RDONLY | O_NOFOLLOW, 0);
		if (o.fd == -1)
			return (errno);
		if (l->st.st_size > 0 &&
		    hook_fits(u, content_size(&l->st))) {
			r.obj = obj;
			error = content_capture(u, u->wal->ofd, obj, o.fd,
			    &l->st, &bytes, &r.flags);
		}
	} else if (S_ISLNK(l->st.st_mode)) {
		n = sys_readlinkat(l->dir, l->name, target, sizeof(target));
		if (n == -1)
			return (errno);
		r.extra = (uint8_t *)target;
		r.extralen = (size_t)n;
	}
	if (error == 0)
		error = meta_xattrs(&o, &xattrs, &r.m.xlen);
	r.m.xattrs = xattrs;
	other = NULL;
	if (error == 0)
		error = tree_other(u, &l->st, l->path, &other);
	if (other != NULL) {
		r.path2 = other;
		r.path2len = strlen(other);
	}
	if (error == 0) {
		(void)pthread_mutex_lock(&u->lock);
		error = wal_append(u, u->wal, &r);
		s = slot_of(u, op);
		if (error == 0 && !u->wal->a.lost) {
			hook_slot_rec(s, &r);
			s->count++;
			u->wal->a.paths++;
			u->wal->a.bytes += bytes;
			u->stats.captured_bytes += bytes;
		}
		(void)pthread_mutex_unlock(&u->lock);
	}
	if (o.fd != -1)
		sys_close(o.fd);
	free(xattrs);
	free(other);
	if (error != 0 && r.obj != 0)
		hook_scrap(u, r.obj);
	return (error);
}

/* The name at ${l} is to be moved into the store: record it.  Locked. */
int
keep_gone(struct undo *u, struct slot *s, const struct loc *l, uint32_t obj,
    uint32_t flags)
{
	struct rec r;
	int error;

	hook_rec(&r, REC_GONE, l);
	meta_set(u, &r.m, &l->st);
	r.obj = obj;
	r.flags = flags;
	if ((error = wal_append(u, u->wal, &r)) != 0 || u->wal->a.lost)
		return (error);
	hook_slot_rec(s, &r);
	s->count++;
	u->wal->a.paths++;
	return (0);
}

/* The name is in the store now.  Locked. */
int
keep_now(struct undo *u, const struct stat *st, uint32_t obj)
{

	u->stats.kept++;
	if (st->st_nlink == 1)
		u->wal->a.kept += (uint64_t)st->st_blocks * 512;
	return (kept_add(&u->kept, norm_dev(u, st->st_dev),
	    (uint64_t)st->st_ino, u->wal->place, obj));
}

/* This filesystem can't give its files to the store.  Locked. */
bool
keep_not(struct undo *u, const struct stat *st, int error)
{

	if (error != EXDEV && error != EOPNOTSUPP)
		return (false);
	fs_info(u, (uint64_t)st->st_dev)->nokeep = true;
	return (true);
}

/*
 * Move the name at ${l} into the store, with REC_INDIR into the folder
 * ${obj}; recorded first.  EXDEV: it has to be copied; EFBIG: the step is
 * not recorded any more; EEXIST: the folder has such a name.
 */
int
keep_move(struct undo *u, struct undo_op *op, struct loc *l, uint32_t obj,
    uint32_t flags)
{
	char name[OBJ_PATHSIZE];
	struct slot *s;
	bool lost;
	int error;

	if ((flags & REC_INDIR) == 0)
		obj_name(name, obj);
	else if (!obj_path(name, obj, path_name(l->path)))
		return (EEXIST);
	(void)pthread_mutex_lock(&u->lock);
	s = slot_of(u, op);
	error = keep_gone(u, s, l, obj, flags);
	lost = u->wal->a.lost;
	(void)pthread_mutex_unlock(&u->lock);
	if (error == 0)
		error = wal_sync(u, u->wal);
	if (error != 0 || lost)
		return (error == 0 ? EFBIG : error);
	if ((flags & REC_INDIR) != 0) {
		error = os_rename_new(l->dir, l->name, u->wal->ofd, name);
		if (error == EOPNOTSUPP)
			error = EEXIST;
	} else if (sys_renameat(l->dir, l->name, u->wal->ofd, name) == -1)
		error = errno;
	(void)pthread_mutex_lock(&u->lock);
	if (error != 0) {
		hook_void(u, s);
		if (keep_not(u, &l->st, error))
			error = EXDEV;
	} else
		(void)keep_now(u, &l->st, obj);
	(void)pthread_mutex_unlock(&u->lock);
	return (error);
}

/*
 * What is to become of a file that goes?  FRESH: nothing; LOST: nothing is
 * recorded; MOVE or COPY.
 */
int
keep_decide(struct undo *u, struct undo_op *op, const struct loc *l,
    enum fate *fate, uint32_t *obj)
{
	struct slot *s;
	struct rec r;
	uint64_t dev;
	int error;

	error = 0;
	(void)pthread_mutex_lock(&u->lock);
	s = slot_of(u, op);
	dev = norm_dev(u, l->st.st_dev);
	*obj = 0;
	if (u->wal->a.lost)
		*fate = FATE_LOST;
	else if ((error = keep_touch(u, l)) != 0)
		;
	else if ((inotab_get(&u->wal->tab, dev, (uint64_t)l->st.st_ino) &
	    INO_FRESH) != 0) {
		*fate = FATE_FRESH;
		if (l->st.st_nlink == 1) {
			s->dropdev = dev;
			s->dropino = (uint64_t)l->st.st_ino;
		}
		hook_rec(&r, REC_DROP, l);
		meta_set(u, &r.m, &l->st);
		error = wal_append(u, u->wal, &r);
		if (error == 0 && !u->wal->a.lost) {
			hook_slot_rec(s, &r);
			s->unmade = true;
		}
	} else {
		*obj = u->wal->nextobj++;
		*fate = fs_info(u, (uint64_t)l->st.st_dev)->nokeep ?
		    FATE_COPY : FATE_MOVE;
	}
	(void)pthread_mutex_unlock(&u->lock);
	return (error);
}

/* Move it to a folder with others, or else to an object of its own. */
static int
move_away(struct undo *u, struct undo_op *op, struct loc *l, uint32_t obj)
{
	uint32_t folder;
	int error;

	(void)pthread_mutex_lock(&u->lock);
	folder = keep_folder(u, l);
	(void)pthread_mutex_unlock(&u->lock);
	if (folder == 0)
		return (keep_move(u, op, l, obj, 0));
	error = keep_move(u, op, l, folder, REC_INDIR);
	if (error != EEXIST)
		return (error);
	(void)pthread_mutex_lock(&u->lock);
	dir_set(u, &l->dst, DIR_MIXED);
	(void)pthread_mutex_unlock(&u->lock);
	return (keep_move(u, op, l, obj, 0));
}

int
keep_unlink(struct undo *u, struct undo_op *op, struct loc *l, bool *taken)
{
	enum fate fate;
	uint32_t obj;
	int error;

	if ((error = keep_decide(u, op, l, &fate, &obj)) != 0)
		return (error);
	if (fate == FATE_MOVE) {
		error = move_away(u, op, l, obj);
		if (error == 0)
			*taken = true;
		if (error != EXDEV)
			return (error == EFBIG ? 0 : error);
		fate = FATE_COPY;
	}
	if (fate == FATE_COPY)
		error = keep_copy(u, op, l, obj);
	return (error == 0 ? wal_sync(u, u->wal) : error);
}

/* Record a directory that goes, with all its attributes. */
int
keep_rmdir(struct undo *u, struct undo_op *op, struct loc *l)
{
	struct os_object o = { -1, l->dir, l->name, S_IFDIR };
	struct slot *s;
	struct rec r;
	uint8_t *xattrs;
	uint32_t word;
	int error;

	o.fd = sys_openat(l->dir, l->name, O_RDONLY | O_DIRECTORY |
	    O_NOFOLLOW, 0);
	error = meta_xattrs(&o, &xattrs, &r.m.xlen);
	if (o.fd != -1)
		sys_close(o.fd);
	if (error != 0)
		return (error);
	(void)pthread_mutex_lock(&u->lock);
	s = slot_of(u, op);
	if (!u->wal->a.lost && (error = keep_touch(u, l)) == 0) {
		size_t xlen = r.m.xlen;

		hook_rec(&r, REC_RMDIR, l);
		meta_set(u, &r.m, &l->st);
		r.flags = REC_XATTRS;
		r.m.xattrs = xattrs;
		r.m.xlen = xlen;
		word = dir_get(u, &l->st);
		if ((word & DIR_KIND) == DIR_KEPT)
			r.obj = word >> DIR_SHIFT;
		error = wal_append(u, u->wal, &r);
		if (error == 0 && !u->wal->a.lost) {
			hook_slot_rec(s, &r);
			s->count++;
			u->wal->a.paths++;
			s->dropdev = norm_dev(u, l->st.st_dev);
			s->dropino = (uint64_t)l->st.st_ino;
		}
	}
	(void)pthread_mutex_unlock(&u->lock);
	free(xattrs);
	return (error);
}

