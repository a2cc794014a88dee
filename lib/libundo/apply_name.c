/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Undoing what happened to names.  What stands in the way and was not there
 * by the journal is somebody else's: it is moved aside, never removed.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "undo_internal.h"

static void
rec_init(struct rec *r, enum rec_type type, const char *path, size_t len)
{

	memset(r, 0, sizeof(*r));
	r->type = type;
	r->path = path;
	r->pathlen = len;
}

static int
name_stat(struct apply *a, const char *name, struct stat *st)
{

	return (sys_fstatat(a->dir, name, st) == -1 ? errno : 0);
}

/* Copy a file that can't be moved to the store of k, and remove it. */
static int
take_copy(struct apply *a, const char *path, size_t len, const char *name,
    const struct stat *st)
{
	struct os_object o = { -1, a->dir, name, st->st_mode };
	struct rec r;
	char target[4096], *other;
	uint8_t *xattrs;
	uint64_t bytes;
	ssize_t n;
	int error;

	if (S_ISDIR(st->st_mode))
		return (EXDEV);
	rec_init(&r, REC_COPY, path, len);
	meta_set(a->u, &r.m, st);
	r.flags = REC_XATTRS;
	error = 0;
	if (S_ISREG(st->st_mode)) {
		o.fd = sys_openat(a->dir, name, O_RDONLY | O_NOFOLLOW, 0);
		if (o.fd == -1)
			return (errno);
		if (st->st_size > 0) {
			r.obj = a->k->nextobj++;
			error = content_capture(a->u, a->k->ofd, r.obj, o.fd,
			    st, &bytes, &r.flags);
			if (error == 0)
				a->k->a.bytes += bytes;
		}
	} else if (S_ISLNK(st->st_mode)) {
		n = sys_readlinkat(a->dir, name, target, sizeof(target));
		if (n == -1)
			return (errno);
		r.extra = (uint8_t *)target;
		r.extralen = (size_t)n;
	}
	xattrs = NULL;
	if (error == 0)
		error = meta_xattrs(&o, &xattrs, &r.m.xlen);
	r.m.xattrs = xattrs;
	other = NULL;
	if (error == 0)
		error = tree_other(a->u, st, path, &other);
	if (other != NULL) {
		r.path2 = other;
		r.path2len = strlen(other);
	}
	if (error == 0)
		error = apply_record(a, &r);
	if (error == 0 && sys_unlinkat(a->dir, name, 0) == -1)
		error = errno;
	if (o.fd != -1)
		sys_close(o.fd);
	free(xattrs);
	free(other);
	return (error);
}

/*
 * Take the name away, keeping the file in k for a redo.  Parent in a->dir.
 */
int
apply_take(struct apply *a, const char *path, size_t len, const char *name,
    const struct stat *st)
{
	char obj[OBJ_NAMESIZE];
	struct rec r;
	uint64_t dev;
	int error;

	if ((error = apply_touch(a)) != 0)
		return (error);
	dev = norm_dev(a->u, st->st_dev);
	if (!apply_keeps(a) && S_ISDIR(st->st_mode))
		return (store_aside(a->u, a->dir, name));
	rec_init(&r, REC_GONE, path, len);
	meta_set(a->u, &r.m, st);
	if (!S_ISDIR(st->st_mode) && (!apply_keeps(a) ||
	    (inotab_get(&a->k->tab, dev, (uint64_t)st->st_ino) &
	    INO_FRESH) != 0)) {
		/* k has made it itself, or nobody wants it back. */
		r.type = REC_DROP;
		if ((error = apply_record(a, &r)) != 0)
			return (error);
		return (sys_unlinkat(a->dir, name, 0) == -1 ? errno : 0);
	}
	r.obj = a->k->nextobj++;
	obj_name(obj, r.obj);
	if ((error = apply_record(a, &r)) != 0)
		return (error);
	if (!apply_keeps(a))
		return (apply_take(a, path, len, name, st));
	if (sys_renameat(a->dir, name, a->k->ofd, obj) == -1) {
		error = errno;
		journal_void(&a->k->j, r.off);
		if (error != EXDEV)
			return (error);
		return (take_copy(a, path, len, name, st));
	}
	if (S_ISDIR(st->st_mode))
		apply_forget(a);
	if (st->st_nlink == 1)
		a->k->a.kept += (uint64_t)st->st_blocks * 512;
	(void)pthread_mutex_lock(&a->u->lock);
	error = kept_add(&a->u->kept, dev, (uint64_t)st->st_ino, a->k->place,
	    r.obj);
	(void)pthread_mutex_unlock(&a->u->lock);
	return (error);
}

/*
 * Something else is where it should not be: keep it, in k or aside.
 */
int
apply_away(struct apply *a, const char *path, size_t len, const char *name,
    const struct stat *st)
{

	a->conflicts++;
	if (apply_keeps(a))
		return (apply_take(a, path, len, name, st));
	return (store_aside(a->u, a->dir, name));
}

/* Taking a redo back: what it brought out of the store goes there again. */
static int
put_back(struct apply *a, const struct rec *r, const char *name,
    const struct stat *st)
{
	char obj[OBJ_NAMESIZE];
	int error;

	obj_name(obj, r->obj);
	if (sys_renameat(a->dir, name, a->back, obj) == -1)
		return (errno);
	if (S_ISDIR(st->st_mode))
		apply_forget(a);
	(void)pthread_mutex_lock(&a->u->lock);
	error = kept_add(&a->u->kept, norm_dev(a->u, st->st_dev),
	    (uint64_t)st->st_ino, a->backplace, r->obj);
	(void)pthread_mutex_unlock(&a->u->lock);
	return (error);
}

int
apply_new(struct apply *a, const struct rec *r)
{
	const char *name;
	struct stat st;
	uint64_t ino;
	bool dropped, ours;
	int error;

	ino = r->later != 0 ? r->later : r->m.ino;
	dropped = (r->flags & REC_FRESH) != 0 &&
	    inotab_get(&a->dropped, r->m.dev, ino) != 0;
	error = apply_parent(a, r->path, r->pathlen, &name);
	if (error == 0)
		error = name_stat(a, name, &st);
	/*
	 * The number of what is no more may have become that of this one, if
	 * another thread recorded its removal after we recorded that this is
	 * to be made.  Then this one is there.
	 */
	if (dropped && (error != 0 || !apply_is(a, r->m.dev, ino, &st))) {
		inotab_del(&a->dropped, r->m.dev, ino);
		return (0);
	}
	if (error == ENOENT || error == ENOTDIR)
		return (0);
	if (error != 0)
		return (error);
	ours = (ino == 0 || apply_is(a, r->m.dev, ino, &st)) &&
	    S_ISDIR(st.st_mode) == S_ISDIR(r->m.mode);
	if (ours && a->back != -1 && r->obj != 0)
		return (put_back(a, r, name, &st));
	if (ours)
		return (apply_take(a, r->path, r->pathlen, name, &st));
	if (apply_keeps(a))
		return (apply_away(a, r->path, r->pathlen, name, &st));
	/* Not what the step made; whoever did shall keep it. */
	a->conflicts++;
	return (0);
}

/* The attributes of the directory at a->dir/name, for k. */
static int
record_dir(struct apply *a, const struct rec *r, const char *name,
    const struct stat *st, struct rec *n)
{
	struct os_object o = { -1, a->dir, name, S_IFDIR };
	uint8_t *xattrs;
	size_t xlen;
	int error;

	rec_init(n, REC_RMDIR, r->path, r->pathlen);
	if (!apply_keeps(a))
		return (0);
	o.fd = sys_openat(a->dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
	    0);
	error = meta_xattrs(&o, &xattrs, &xlen);
	if (o.fd != -1)
		sys_close(o.fd);
	if (error != 0)
		return (error);
	meta_set(a->u, &n->m, st);
	n->flags = REC_XATTRS;
	n->m.xattrs = xattrs;
	n->m.xlen = xlen;
	error = apply_record(a, n);
	free(xattrs);
	return (error);
}

int
apply_mkdir(struct apply *a, const struct rec *r)
{
	const char *name;
	struct stat st;
	struct rec n;
	int error;

	error = apply_parent(a, r->path, r->pathlen, &name);
	if (error == 0)
		error = name_stat(a, name, &st);
	if (error == ENOENT || error == ENOTDIR)
		return (0);
	if (error != 0)
		return (error);
	if (!S_ISDIR(st.st_mode)) {
		a->conflicts++;
		return (0);
	}
	if ((error = apply_touch(a)) != 0 ||
	    (error = record_dir(a, r, name, &st, &n)) != 0)
		return (error);
	if (sys_unlinkat(a->dir, name, AT_REMOVEDIR) == 0)
		return (0);
	error = errno;
	if (apply_keeps(a))
		journal_void(&a->k->j, n.off);
	if (error != ENOTEMPTY && error != EEXIST)
		return (error);
	/* Somebody put something there. */
	a->conflicts++;
	if (!apply_keeps(a))
		return (0);
	return (apply_take(a, r->path, r->pathlen, name, &st));
}

/* Rename, and never over something that came in between. */
static int
move(int dir, const char *name, int todir, const char *to)
{
	int error;

	error = os_rename_new(dir, name, todir, to);
	if (error == EOPNOTSUPP)
		error = sys_renameat(dir, name, todir, to) == -1 ? errno : 0;
	return (error);
}

static void
kept_gone(struct apply *a, const struct rec *r)
{

	(void)pthread_mutex_lock(&a->u->lock);
	kept_del(&a->u->kept, r->m.dev, r->m.ino, a->place, r->obj);
	(void)pthread_mutex_unlock(&a->u->lock);
}

/* Something is at the name; EALREADY: the file itself. */
static int
make_way(struct apply *a, const struct rec *r, const char **name,
    const struct stat *self)
{
	struct stat st;
	int error;

	error = name_stat(a, *name, &st);
	if (error != 0)
		return (error == ENOENT ? 0 : error);
	if (st.st_ino == self->st_ino && st.st_dev == self->st_dev)
		return (EALREADY);
	error = apply_away(a, r->path, r->pathlen, *name, &st);
	if (error == 0)
		error = apply_parents(a, r->path, r->pathlen, name);
	return (error);
}

/* Say that the object comes back, and bring it. */
static int
bring_back(struct apply *a, const struct rec *r, const char *obj,
    const char *name, const struct stat *st)
{
	struct rec n;
	int error;

	rec_init(&n, REC_NEW, r->path, r->pathlen);
	meta_set(a->u, &n.m, st);
	n.obj = r->obj;
	if (st->st_nlink == 1)
		n.flags = REC_FRESH;
	if ((error = apply_touch(a)) != 0 ||
	    (error = apply_record(a, &n)) != 0)
		return (error);
	error = os_rename_new(a->ofd, obj, a->dir, name);
	if (error == EEXIST) {
		if (apply_keeps(a))
			journal_void(&a->k->j, n.off);
		return (EEXIST);
	}
	if (error == EOPNOTSUPP)
		error = sys_renameat(a->ofd, obj, a->dir, name) == -1 ?
		    errno : 0;
	if (error == 0)
		apply_fresh(a, &n, st);
	return (error);
}

int
apply_gone(struct apply *a, const struct rec *r)
{
	char obj[OBJ_PATHSIZE];
	const char *name;
	struct stat st;
	int error;

	if (!obj_of(obj, r))
		return (EIO);
	if (sys_fstatat(a->ofd, obj, &st) == -1) {
		if (errno != ENOENT)
			return (errno);
		kept_gone(a, r);
		return (0);
	}
	error = apply_parents(a, r->path, r->pathlen, &name);
	if (error != 0)
		return (error);
	/* Where a rename spares what is there, it tells; else we look. */
	error = EEXIST;
	if (a->u->spares)
		error = bring_back(a, r, obj, name, &st);
	if (error == EEXIST) {
		error = make_way(a, r, &name, &st);
		if (error == EALREADY) {
			/* Two links; rename(2) would leave both. */
			if (sys_unlinkat(a->ofd, obj, 0) == -1)
				return (errno);
		} else if (error != 0 || (error = bring_back(a, r, obj, name,
		    &st)) != 0)
			return (error);
	}
	if (error != 0 && error != EALREADY)
		return (error);
	kept_gone(a, r);
	return (0);
}

/*
 * A file that was copied had another name: link to that.  ENOENT: it has
 * not, and must be made anew.
 */
static int
copy_link(struct apply *a, const struct rec *r, const char *tmp)
{
	struct stat st;
	int dir, error;

	if (r->path2len == 0)
		return (ENOENT);
	error = path_open(a->u, r->path2, path_parent(r->path2,
	    r->path2len), O_RDONLY | O_DIRECTORY, &dir);
	if (error != 0)
		return (error == ENOTDIR ? ENOENT : error);
	if (sys_fstatat(dir, path_name(r->path2), &st) == -1)
		error = errno;
	else if ((st.st_mode & S_IFMT) != (r->m.mode & S_IFMT))
		error = ENOENT;
	else if (sys_linkat(dir, path_name(r->path2), a->dir, tmp) == -1)
		error = errno;
	sys_close(dir);
	return (error);
}

static int
copy_regular(struct apply *a, const struct rec *r, const char *tmp)
{
	struct os_object o = { -1, a->dir, tmp, S_IFREG };
	int error;

	o.fd = sys_openat(a->dir, tmp, O_RDWR | O_CREAT | O_EXCL |
	    O_NOFOLLOW, 0600);
	if (o.fd == -1)
		return (errno);
	error = content_restore(a->u, a->ofd, r->obj, o.fd, r->m.size);
	if (error == 0)
		error = meta_apply(&o, &r->m, r->flags);
	sys_close(o.fd);
	return (error);
}

static int
copy_special(struct apply *a, const struct rec *r, const char *tmp)
{
	struct os_object o = { -1, a->dir, tmp, (mode_t)r->m.mode & S_IFMT };
	char *target;
	int error, n;

	if (S_ISLNK(r->m.mode)) {
		if ((target = malloc(r->extralen + 1)) == NULL)
			return (ENOMEM);
		if (r->extralen > 0)
			memcpy(target, r->extra, r->extralen);
		target[r->extralen] = '\0';
		n = sys_symlinkat(target, a->dir, tmp);
		error = n == -1 ? errno : 0;
		free(target);
	} else
		error = sys_mknodat(a->dir, tmp, (mode_t)r->m.mode,
		    (dev_t)r->m.rdev) == -1 ? errno : 0;
	return (error == 0 ? meta_apply(&o, &r->m, r->flags) : error);
}

int
apply_copy(struct apply *a, const struct rec *r)
{
	const char *name;
	struct stat st;
	struct rec n;
	char tmp[40];
	int error;

	error = apply_parents(a, r->path, r->pathlen, &name);
	if (error != 0)
		return (error);
	error = name_stat(a, name, &st);
	if (error == 0 && ((uint64_t)st.st_ino == r->later ||
	    ((uint64_t)st.st_ino == r->m.ino &&
	    norm_dev(a->u, st.st_dev) == r->m.dev)))
		return (0);
	if (error != 0 && error != ENOENT)
		return (error);
	if (error == 0 && ((error = apply_away(a, r->path, r->pathlen, name,
	    &st)) != 0 || (error = apply_parents(a, r->path, r->pathlen,
	    &name)) != 0))
		return (error);
	if ((error = apply_touch(a)) != 0)
		return (error);
	(void)snprintf(tmp, sizeof(tmp), ".coppice-undo-%x", r->no);
	(void)sys_unlinkat(a->dir, tmp, 0);
	error = copy_link(a, r, tmp);
	if (error == ENOENT)
		error = S_ISREG(r->m.mode) ? copy_regular(a, r, tmp) :
		    copy_special(a, r, tmp);
	if (error != 0 || (error = name_stat(a, tmp, &st)) != 0) {
		(void)sys_unlinkat(a->dir, tmp, 0);
		return (error);
	}
	journal_later(a->j, r->off, (uint64_t)st.st_ino);
	rec_init(&n, REC_NEW, r->path, r->pathlen);
	meta_set(a->u, &n.m, &st);
	if (st.st_nlink == 1)
		n.flags = REC_FRESH;
	if ((error = apply_record(a, &n)) != 0 ||
	    (error = move(a->dir, tmp, a->dir, name)) != 0) {
		(void)sys_unlinkat(a->dir, tmp, 0);
		return (error);
	}
	apply_fresh(a, &n, &st);
	return (0);
}

static int
dir_meta(struct apply *a, const struct rec *r, const char *name,
    struct stat *st)
{
	struct os_object o = { -1, a->dir, name, S_IFDIR };
	int error;

	o.fd = sys_openat(a->dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
	    0);
	if (o.fd == -1 && errno != EACCES)
		return (errno);
	error = meta_apply(&o, &r->m, r->flags);
	if (error == 0)
		error = name_stat(a, name, st);
	if (o.fd != -1)
		sys_close(o.fd);
	return (error);
}

/*
 * Say that a file comes back with the directory of ${r}, whose path need not
 * be the one that it had when the file went.
 */
static int
record_along(struct apply *a, const struct rec *r, const struct rec *g)
{
	const char *name;
	struct rec n;
	size_t len;
	char *path;
	int error;

	if (!apply_keeps(a))
		return (0);
	name = path_name(g->path);
	len = r->pathlen + 1 + strlen(name);
	if ((path = malloc(len + 1)) == NULL)
		return (ENOMEM);
	(void)snprintf(path, len + 1, "%s/%s", r->path, name);
	rec_init(&n, REC_NEW, path, len);
	n.m = g->m;
	if (g->m.nlink == 1 && !a->links)
		n.flags = REC_FRESH;
	error = apply_record(a, &n);
	free(path);
	return (error);
}

/* Say of what is in the folder of ${r} that it comes back, or did. */
static int
whole_files(struct apply *a, const struct rec *r, bool back)
{
	struct rec g;
	uint32_t i;
	int error;

	for (i = inotab_get(&a->first, 0, r->obj); i != 0;
	    i = a->chain[i]) {
		if ((error = journal_read(a->j, a->offs[i], &g)) != 0)
			return (error);
		if (!back) {
			if ((error = record_along(a, r, &g)) != 0)
				return (error);
			continue;
		}
		if (apply_keeps(a) && g.m.nlink == 1 && !a->links)
			(void)inotab_add(&a->k->tab, g.m.dev, g.m.ino,
			    INO_FRESH);
		kept_gone(a, &g);
	}
	return (0);
}

/*
 * The folder of what went from a directory becomes that directory.  ENOENT:
 * it has none, or can't.
 */
static int
whole_dir(struct apply *a, const struct rec *r, const char *name)
{
	char obj[OBJ_NAMESIZE];
	struct stat st;
	struct rec n;
	int error;

	/* With power durability, all since a sync may be done again. */
	if (r->obj == 0 || a->nameless || !a->u->spares ||
	    a->u->o.durability == UNDO_POWER)
		return (ENOENT);
	obj_name(obj, r->obj);
	if (sys_fstatat(a->ofd, obj, &st) == -1)
		return (errno);
	if (!S_ISDIR(st.st_mode))
		return (ENOENT);
	rec_init(&n, REC_MKDIR, r->path, r->pathlen);
	n.flags = REC_FRESH;
	meta_set(a->u, &n.m, &st);
	if ((error = apply_touch(a)) != 0 ||
	    (error = apply_record(a, &n)) != 0 ||
	    (error = whole_files(a, r, false)) != 0)
		return (error);
	error = os_rename_new(a->ofd, obj, a->dir, name);
	if (error != 0)
		return (error == EXDEV || error == EOPNOTSUPP ? ENOENT :
		    error);
	apply_fresh(a, &n, &st);
	(void)inotab_add(&a->whole, 0, r->obj, INO_META);
	if ((error = whole_files(a, r, true)) != 0)
		return (error);
	return (dir_meta(a, r, name, &st));
}

int
apply_rmdir(struct apply *a, const struct rec *r)
{
	const char *name;
	struct stat st;
	struct rec n;
	int error;

	error = apply_parents(a, r->path, r->pathlen, &name);
	if (error != 0)
		return (error);
	error = name_stat(a, name, &st);
	if (error == 0 && S_ISDIR(st.st_mode))
		return (dir_meta(a, r, name, &st));
	if (error == 0 && ((error = apply_away(a, r->path, r->pathlen, name,
	    &st)) != 0 || (error = apply_parents(a, r->path, r->pathlen,
	    &name)) != 0))
		return (error);
	if (error != 0 && error != ENOENT)
		return (error);
	if ((error = whole_dir(a, r, name)) != ENOENT)
		return (error);
	rec_init(&n, REC_MKDIR, r->path, r->pathlen);
	n.flags = REC_FRESH;
	n.m.mode = S_IFDIR;
	if ((error = apply_touch(a)) != 0 ||
	    (error = apply_record(a, &n)) != 0)
		return (error);
	if (sys_mkdirat(a->dir, name, 0700) == -1)
		return (errno);
	if ((error = dir_meta(a, r, name, &st)) != 0)
		return (error);
	n.m.dev = norm_dev(a->u, st.st_dev);
	apply_fresh(a, &n, &st);
	return (0);
}
