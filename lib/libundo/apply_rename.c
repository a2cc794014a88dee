/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Undoing a rename or an exchange.
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "record.h"
#include "undo_internal.h"

struct back {
	int		 todir;		/* where it is now */
	const char	*topath;
	const char	*to;
	struct stat	 tost;
	bool		 isto;
	const char	*from;		/* where it was, in a->dir */
	struct stat	 fromst;
	bool		 isfrom;
};

static int
look(int dir, const char *name, struct stat *st, bool *is)
{

	*is = sys_fstatat(dir, name, st) == 0;
	return (*is || errno == ENOENT || errno == ENOTDIR ? 0 : errno);
}

static bool
is_it(struct apply *a, const struct rec *r, const struct stat *st)
{

	return (apply_is(a, r->m.dev, r->m.ino, st));
}

static int
touch_at(struct apply *a, int fd, const struct stat *st, const char *path,
    size_t len)
{
	struct stat now;
	int error;

	if (!apply_keeps(a))
		return (0);
	if (st == NULL) {
		if (sys_fstat(fd, &now) == -1)
			return (errno);
		st = &now;
	}
	(void)pthread_mutex_lock(&a->u->lock);
	error = wal_touch(a->u, a->k, st, path, len);
	error = apply_lose(a, error);
	(void)pthread_mutex_unlock(&a->u->lock);
	return (error);
}

/* Everything whose mtime the rename will change, and the rename. */
static int
record_back(struct apply *a, const struct rec *r, const struct back *b)
{
	struct rec n;
	uint8_t other[REC_OTHER];
	struct meta m;
	struct stat here, there;
	bool far;
	int error;

	if (!apply_keeps(a))
		return (0);
	if (sys_fstat(a->dir, &here) == -1 || sys_fstat(b->todir, &there) == -1)
		return (errno);
	far = here.st_ino != there.st_ino || here.st_dev != there.st_dev;
	if ((error = apply_touch(a)) != 0 ||
	    (error = touch_at(a, b->todir, &there, b->topath,
	    path_parent(b->topath, strlen(b->topath)))) != 0)
		return (error);
	if (far && S_ISDIR(b->tost.st_mode) && (error = touch_at(a, -1,
	    &b->tost, r->path2, r->path2len)) != 0)
		return (error);
	if (far && b->isfrom && S_ISDIR(b->fromst.st_mode) &&
	    (error = touch_at(a, -1, &b->fromst, r->path, r->pathlen)) != 0)
		return (error);
	memset(&n, 0, sizeof(n));
	n.type = REC_RENAME;
	n.path = r->path2;
	n.pathlen = r->path2len;
	n.path2 = r->path;
	n.path2len = r->pathlen;
	meta_set(a->u, &n.m, &b->tost);
	if ((r->flags & REC_SWAP) != 0) {
		n.flags = REC_SWAP;
		meta_set(a->u, &m, &b->fromst);
		record_other(other, &m);
		n.extra = other;
		n.extralen = sizeof(other);
	}
	return (apply_record(a, &n));
}

static int
move(int dir, const char *name, int todir, const char *to)
{
	int error;

	error = os_rename_new(dir, name, todir, to);
	if (error == EOPNOTSUPP)
		error = sys_renameat(dir, name, todir, to) == -1 ? errno : 0;
	return (error);
}

/*
 * One of the two was made in the step, and is no more: what is left goes
 * where it was.
 */
static int
swap_half(struct apply *a, const struct rec *r, struct back *b)
{
	struct back half;
	struct rec n;
	uint64_t dev, ino;
	int error;

	dev = r->extralen == REC_OTHER ? get64(r->extra) : 0;
	ino = r->extralen == REC_OTHER ? get64(r->extra + 8) : 0;
	if (b->isto && (is_it(a, r, &b->tost) ||
	    inotab_get(&a->dropped, dev, ino) != 0)) {
		n = *r;
		n.flags &= ~(uint32_t)REC_SWAP;
		if ((error = record_back(a, &n, b)) != 0)
			return (error);
		return (move(b->todir, b->to, a->dir, b->from));
	}
	if (!b->isfrom || (!apply_is(a, dev, ino, &b->fromst) &&
	    inotab_get(&a->dropped, r->m.dev, r->m.ino) == 0)) {
		a->conflicts++;
		return (0);
	}
	/* The other way round: from the first name to the second. */
	n = *r;
	n.flags &= ~(uint32_t)REC_SWAP;
	n.path = r->path2;
	n.pathlen = r->path2len;
	n.path2 = r->path;
	n.path2len = r->pathlen;
	half = *b;
	half.tost = b->fromst;
	half.isfrom = false;
	if ((error = record_back(a, &n, &half)) != 0)
		return (error);
	return (move(a->dir, b->from, b->todir, b->to));
}

static int
swap_back(struct apply *a, const struct rec *r, struct back *b)
{
	int error;

	/* What was at the first name is there: it never happened, or is
	   undone. */
	if (b->isfrom && is_it(a, r, &b->fromst))
		return (0);
	if (!b->isfrom && !b->isto)
		return (0);
	if (!b->isfrom || !b->isto)
		return (swap_half(a, r, b));
	if ((error = record_back(a, r, b)) != 0)
		return (error);
	return (os_rename_swap(b->todir, b->to, a->dir, b->from));
}

static int
rename_back(struct apply *a, const struct rec *r, struct back *b)
{
	int error;

	if (b->isfrom && is_it(a, r, &b->fromst))
		return (0);
	if (!b->isto || inotab_get(&a->dropped, r->m.dev, r->m.ino) != 0)
		return (0);
	/*
	 * It may have been made again since, under another number: then the
	 * path decides.  With something at both ends it is somebody else's.
	 */
	if (!is_it(a, r, &b->tost) && (b->isfrom ||
	    S_ISDIR(b->tost.st_mode) != S_ISDIR(r->m.mode))) {
		a->conflicts++;
		return (0);
	}
	if (b->isfrom) {
		error = apply_away(a, r->path, r->pathlen, b->from,
		    &b->fromst);
		if (error == 0)
			error = apply_parents(a, r->path, r->pathlen,
			    &b->from);
		if (error != 0)
			return (error);
		b->isfrom = false;
	}
	if ((error = record_back(a, r, b)) != 0)
		return (error);
	return (move(b->todir, b->to, a->dir, b->from));
}

/*
 * Where it was may be no more.  Only if the very file is at the other name
 * somebody removed that; else the rename never happened, and neither did
 * what made that place.
 */
static int
from_parent(struct apply *a, const struct rec *r, struct back *b,
    bool *never)
{
	int error;

	*never = false;
	if (b->isto && is_it(a, r, &b->tost))
		return (apply_parents(a, r->path, r->pathlen, &b->from));
	error = apply_parent(a, r->path, r->pathlen, &b->from);
	*never = error == ENOENT || error == ENOTDIR;
	return (*never ? 0 : error);
}

int
apply_rename(struct apply *a, const struct rec *r)
{
	struct back b;
	bool never;
	int error;

	memset(&b, 0, sizeof(b));
	b.topath = r->path2;
	b.to = path_name(r->path2);
	error = path_open(a->u, r->path2, path_parent(r->path2, r->path2len),
	    O_RDONLY | O_DIRECTORY, &b.todir);
	if (error == ENOENT || error == ENOTDIR)
		return (0);
	if (error != 0)
		return (error);
	if ((error = look(b.todir, b.to, &b.tost, &b.isto)) == 0 &&
	    (error = from_parent(a, r, &b, &never)) == 0 && !never &&
	    (error = look(a->dir, b.from, &b.fromst, &b.isfrom)) == 0) {
		if ((r->flags & REC_SWAP) != 0)
			error = swap_back(a, r, &b);
		else
			error = rename_back(a, r, &b);
	}
	sys_close(b.todir);
	if (S_ISDIR(r->m.mode) || (r->flags & REC_SWAP) != 0)
		apply_forget(a);
	return (error);
}
