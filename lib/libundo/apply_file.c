/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Undoing what happened to content and attributes, in the inode that has
 * them, so that its other names and whoever has it open see it too.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "undo_internal.h"

/* Look for the file in the folder ${n}; ${obj} becomes its path. */
static int
kept_in(const struct rec *r, int ofd, char obj[OBJ_PATHSIZE], uint32_t n,
    struct stat *st)
{
	struct dirent *de;
	DIR *d;
	int error;

	if ((d = sys_opendirat(ofd, obj)) == NULL)
		return (errno);
	while ((de = sys_readdir(d)) != NULL)
		if (obj_path(obj, n, de->d_name) &&
		    sys_fstatat(ofd, obj, st) == 0 &&
		    (uint64_t)st->st_ino == r->m.ino)
			break;
	error = de != NULL ? 0 : errno != 0 ? errno : ENOENT;
	sys_closedir(d);
	return (error);
}

/*
 * Open the object ${n} in ${ofd}, which becomes ${o}'s if it is of a kind
 * that is not opened, or may not be.  ESTALE: it is another file.
 */
static int
kept_object(struct apply *a, const struct rec *r, int flags, int ofd,
    char obj[OBJ_PATHSIZE], uint32_t n, struct os_object *o)
{
	struct stat st;
	int error;

	obj_name(obj, n);
	if (sys_fstatat(ofd, obj, &st) == -1)
		return (errno);
	if (S_ISDIR(st.st_mode) && !S_ISDIR(r->m.mode) &&
	    (error = kept_in(r, ofd, obj, n, &st)) != 0)
		return (error);
	if ((uint64_t)st.st_ino != r->m.ino ||
	    norm_dev(a->u, st.st_dev) != r->m.dev ||
	    (st.st_mode & S_IFMT) != (r->m.mode & S_IFMT))
		return (ESTALE);
	o->type = st.st_mode;
	if (S_ISREG(st.st_mode)) {
		o->fd = sys_openat(ofd, obj, flags | O_NOFOLLOW, 0);
		if (o->fd == -1 && (errno != EACCES || flags == O_RDWR))
			return (errno);
	}
	if (o->fd == -1) {
		o->dir = ofd;
		o->name = obj;
	}
	return (0);
}

/*
 * A file that has no name, but a link in the store; ${obj} is for its name
 * there.  ENOENT only if it has none there either.
 */
static int
open_kept(struct apply *a, const struct rec *r, int flags,
    char obj[OBJ_PATHSIZE], struct os_object *o)
{
	uint64_t place;
	uint32_t i, n;
	bool found;
	int error, last, ofd;

	last = ENOENT;
	for (i = 0;; i++) {
		(void)pthread_mutex_lock(&a->u->lock);
		found = kept_find(&a->u->kept, r->m.dev, r->m.ino, i, &place,
		    &n);
		(void)pthread_mutex_unlock(&a->u->lock);
		if (!found)
			return (last);
		if ((ofd = place_ofd(a->u, place)) == -1)
			error = errno;
		else {
			error = kept_object(a, r, flags, ofd, obj, n, o);
			if (o->dir != ofd)
				sys_close(ofd);
		}
		if (error == 0)
			return (0);
		/* A place that is no more may be taken for another's. */
		if (error != ENOENT && error != ESTALE)
			last = error;
	}
}

/* Open the file for writing, also when its mode is against it. */
static int
open_named(struct apply *a, const struct rec *r, int *fdp)
{
	const char *name;
	struct stat st;
	int error;

	error = apply_parent(a, r->path, r->pathlen, &name);
	if (error != 0)
		return (error);
	if (sys_fstatat(a->dir, name, &st) == -1)
		return (errno);
	if (!S_ISREG(st.st_mode))
		return (EISDIR);
	*fdp = sys_openat(a->dir, name, O_RDWR | O_NOFOLLOW, 0);
	if (*fdp != -1)
		return (0);
	if (errno != EACCES)
		return (errno);
	if (sys_fchmodat(a->dir, name, (st.st_mode & 07777) | 0600) == -1)
		return (EACCES);
	*fdp = sys_openat(a->dir, name, O_RDWR | O_NOFOLLOW, 0);
	return (*fdp == -1 ? errno : 0);
}

/* Somebody removed the file: it comes back with what it had. */
static int
create_named(struct apply *a, const struct rec *r, int *fdp)
{
	const char *name;
	struct stat st;
	struct rec n;
	int error;

	a->conflicts++;
	error = apply_parents(a, r->path, r->pathlen, &name);
	if (error != 0 || (error = apply_touch(a)) != 0)
		return (error);
	memset(&n, 0, sizeof(n));
	n.type = REC_NEW;
	n.flags = REC_FRESH;
	n.m.mode = S_IFREG;
	n.path = r->path;
	n.pathlen = r->pathlen;
	if ((error = apply_record(a, &n)) != 0)
		return (error);
	*fdp = sys_openat(a->dir, name, O_RDWR | O_CREAT | O_EXCL |
	    O_NOFOLLOW, 0600);
	if (*fdp == -1)
		return (errno);
	if (sys_fstat(*fdp, &st) == 0)
		apply_fresh(a, &n, &st);
	return (0);
}

/*
 * Capture the present state into k, unless it has it.
 */
static int
capture_now(struct apply *a, const struct rec *r, const struct os_object *o,
    enum rec_type type)
{
	struct stat st;
	struct rec n;
	uint8_t *tail, *xattrs;
	uint64_t bytes, dev;
	uint32_t have, want;
	size_t xlen;
	int error;

	if (!apply_keeps(a))
		return (0);
	if ((o->fd >= 0 ? sys_fstat(o->fd, &st) :
	    sys_fstatat(o->dir, o->name, &st)) == -1)
		return (errno);
	dev = norm_dev(a->u, st.st_dev);
	have = inotab_get(&a->k->tab, dev, (uint64_t)st.st_ino);
	want = type == REC_CONTENT ? INO_CONTENT : INO_META;
	if ((have & (INO_FRESH | want)) != 0)
		return (0);
	memset(&n, 0, sizeof(n));
	n.type = type;
	n.path = r->path;
	n.pathlen = r->pathlen;
	n.flags = (r->flags & REC_KEPT) | REC_XATTRS;
	meta_set(a->u, &n.m, &st);
	bytes = 0;
	tail = NULL;
	if (type == REC_CONTENT && st.st_size > 0) {
		if (heap_takes(o->fd, &st)) {
			error = heap_put(a->u, a->k, o->fd, &st, &n, &tail);
			bytes = heap_part(&n);
		} else {
			n.obj = a->k->nextobj++;
			error = content_capture(a->u, a->k->ofd, n.obj,
			    o->fd, &st, &bytes, &n.flags);
		}
		if (error != 0) {
			free(tail);
			(void)pthread_mutex_lock(&a->u->lock);
			error = apply_lose(a, error);
			(void)pthread_mutex_unlock(&a->u->lock);
			return (error);
		}
	}
	if ((error = meta_xattrs(o, &xattrs, &xlen)) == 0) {
		n.m.xattrs = xattrs;
		n.m.xlen = xlen;
		error = apply_record(a, &n);
		free(xattrs);
	}
	free(tail);
	if (error != 0 || !apply_keeps(a))
		return (error);
	a->k->a.bytes += bytes;
	return (inotab_add(&a->k->tab, dev, (uint64_t)st.st_ino,
	    want | INO_META));
}

static int
restore_heap(struct apply *a, const struct rec *r, int fd)
{
	uint8_t *buf;
	int error;

	if (r->m.size == 0 || r->m.size > HEAP_MAX)
		return (EIO);
	if (!a->hasheap && (error = heap_open(&a->heap, a->ofd)) != 0)
		return (error == ENOENT ? EIO : error);
	a->hasheap = true;
	if ((buf = malloc(r->m.size)) == NULL)
		return (ENOMEM);
	error = heap_get(&a->heap, r, buf);
	if (error == 0)
		error = sys_pwrite_all(fd, buf, r->m.size, 0);
	if (error == 0 && sys_ftruncate(fd, (off_t)r->m.size) == -1)
		error = errno;
	free(buf);
	return (error);
}

static int
restore(struct apply *a, const struct rec *r, int fd)
{
	struct os_object o = { fd, -1, NULL, S_IFREG };
	int error;

	if ((r->flags & REC_HEAP) != 0)
		error = restore_heap(a, r, fd);
	else if ((r->flags & REC_INLINE) != 0) {
		if (r->extralen != r->m.size)
			return (EIO);
		error = sys_pwrite_all(fd, r->extra, r->extralen, 0);
		if (error == 0 && sys_ftruncate(fd, (off_t)r->m.size) == -1)
			error = errno;
	} else
		error = content_restore(a->u, a->ofd, r->obj, fd, r->m.size);
	return (error == 0 ? meta_apply(&o, &r->m, r->flags) : error);
}

int
apply_content(struct apply *a, const struct rec *r)
{
	struct os_object o = { -1, -1, NULL, S_IFREG };
	char obj[OBJ_PATHSIZE];
	bool again;
	int error;

	again = false;
	if ((r->flags & REC_KEPT) != 0) {
		error = open_kept(a, r, O_RDWR, obj, &o);
		if (error == ENOENT)
			return (0);
	} else {
		error = open_named(a, r, &o.fd);
		if (error == EISDIR) {
			a->conflicts++;
			return (0);
		}
		if (error == ENOENT || error == ENOTDIR) {
			error = create_named(a, r, &o.fd);
			again = true;
		}
	}
	if (error != 0)
		return (error);
	if (!again)
		error = capture_now(a, r, &o, REC_CONTENT);
	if (error == 0)
		error = restore(a, r, o.fd);
	sys_close(o.fd);
	return (error);
}

/*
 * Open what may be opened: files and directories, for their attributes.
 * What is kept is in a folder of ${o}'s own, by the name ${obj}.
 */
static int
open_object(struct apply *a, const struct rec *r, char obj[OBJ_PATHSIZE],
    struct os_object *o)
{
	struct stat st;
	int error;

	memset(o, 0, sizeof(*o));
	o->fd = o->dir = -1;
	if ((r->flags & REC_KEPT) != 0)
		return (open_kept(a, r, O_RDONLY | O_NONBLOCK, obj, o));
	if (r->pathlen == 0)
		return (path_open(a->u, "", 0, O_RDONLY | O_DIRECTORY,
		    &o->fd));
	error = apply_parent(a, r->path, r->pathlen, &o->name);
	if (error != 0)
		return (error);
	o->dir = a->dir;
	if (sys_fstatat(o->dir, o->name, &st) == -1)
		return (errno);
	o->type = st.st_mode;
	if ((st.st_mode & S_IFMT) != (r->m.mode & S_IFMT))
		return (ENOENT);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return (0);
	o->fd = sys_openat(o->dir, o->name, O_RDONLY | O_NOFOLLOW |
	    O_NONBLOCK, 0);
	return (o->fd == -1 && errno != EACCES ? errno : 0);
}

int
apply_meta(struct apply *a, const struct rec *r)
{
	struct os_object o;
	char obj[OBJ_PATHSIZE];
	int error;

	error = open_object(a, r, obj, &o);
	if (error == ENOENT || error == ENOTDIR) {
		if ((r->flags & REC_KEPT) == 0)
			a->conflicts++;
		return (0);
	}
	if (error != 0)
		return (error);
	if ((error = capture_now(a, r, &o, REC_META)) == 0)
		error = meta_apply(&o, &r->m, r->flags);
	if (o.fd != -1)
		sys_close(o.fd);
	if ((r->flags & REC_KEPT) != 0 && o.dir != -1)
		sys_close(o.dir);
	return (error);
}

int
apply_time(struct apply *a, const struct rec *r)
{
	struct timespec ts[2];
	struct stat st;
	int error, fd;

	error = path_open(a->u, r->path, r->pathlen, O_RDONLY | O_DIRECTORY,
	    &fd);
	if (error == ENOENT || error == ENOTDIR)
		return (0);
	if (error != 0)
		return (error);
	if (sys_fstat(fd, &st) == -1)
		error = errno;
	else if (apply_keeps(a)) {
		(void)pthread_mutex_lock(&a->u->lock);
		error = wal_touch(a->u, a->k, &st, r->path, r->pathlen);
		error = apply_lose(a, error);
		(void)pthread_mutex_unlock(&a->u->lock);
	}
	if (error == 0 && (st.st_mtim.tv_sec != (time_t)r->m.mtime ||
	    st.st_mtim.tv_nsec != (long)r->m.mtime_ns)) {
		memset(ts, 0, sizeof(ts));
		ts[0].tv_nsec = UTIME_OMIT;
		ts[1].tv_sec = (time_t)r->m.mtime;
		ts[1].tv_nsec = (long)r->m.mtime_ns;
		if (sys_futimens(fd, ts) == -1 && errno != EPERM)
			error = errno;
	}
	sys_close(fd);
	return (error);
}
