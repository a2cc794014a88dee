/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The file server of the tests.  Each operation finds its objects, tells the
 * library, does the work and tells what came of it, and nothing else: no
 * result is made prettier for the library's sake.
 */

#include <sys/types.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fsops_internal.h"
#include "snap.h"

struct fsops *
fsops_new(int rootfd, struct undo *u)
{
	struct fsops *fs;

	if ((fs = calloc(1, sizeof(*fs))) == NULL)
		return (NULL);
	fs->rootfd = rootfd;
	fs->undo = u;
	(void)pthread_mutex_init(&fs->lock, NULL);
	return (fs);
}

void
fsops_undo(struct fsops *fs, struct undo *u)
{
	size_t i;

	fs->undo = u;
	for (i = 0; i < NOBJECTS; i++)
		if (fs->objects[i] != NULL)
			fs->objects[i]->seen = 0;
}

void
fsops_how(struct fsops *fs, unsigned int how)
{

	fs->how = how;
}

uint64_t
fsops_mutations(struct fsops *fs)
{

	return (fs->mutations);
}

uint64_t
fsops_refused(struct fsops *fs, int *errnum)
{

	*errnum = fs->errnum;
	return (fs->refused);
}

/* Remember that a hook said no, for whoever asks why an operation failed. */
int
said(struct fsops *fs, int error)
{

	if (error != 0 && (fs->how & FSOPS_UNCHECKED) == 0) {
		fs->errnum = error;
		fs->refused++;
	}
	return (error);
}

/*
 * Inode objects.
 */
static void
object_free(struct object *o)
{

	(void)close(o->fd);
	free(o);
}

void
fsops_forget(struct fsops *fs)
{
	size_t i;

	(void)pthread_mutex_lock(&fs->lock);
	for (i = 0; i < NOBJECTS; i++)
		if (fs->objects[i] != NULL && fs->objects[i]->refs == 0) {
			object_free(fs->objects[i]);
			fs->objects[i] = NULL;
		}
	(void)pthread_mutex_unlock(&fs->lock);
}

void
fsops_free(struct fsops *fs)
{

	if (fs == NULL)
		return;
	fsops_forget(fs);
	(void)pthread_mutex_destroy(&fs->lock);
	free(fs);
}

/* A free slot, or that of an object that nobody uses; NULL if all are. */
static struct object **
object_slot(struct fsops *fs)
{
	unsigned int i;

	for (i = 0; i < NOBJECTS; i++)
		if (fs->objects[i] == NULL)
			return (&fs->objects[i]);
	for (i = 0; i < NOBJECTS; i++) {
		fs->hand = (fs->hand + 1) % NOBJECTS;
		if (fs->objects[fs->hand]->refs == 0) {
			object_free(fs->objects[fs->hand]);
			fs->objects[fs->hand] = NULL;
			return (&fs->objects[fs->hand]);
		}
	}
	return (NULL);
}

/* The object of ${sb}, which ${dirfd} and ${name} name, with a reference. */
static struct object *
object_get(struct fsops *fs, const struct stat *sb, int dirfd,
    const char *name)
{
	struct object **slot, *o;
	unsigned int i;

	(void)pthread_mutex_lock(&fs->lock);
	for (i = 0, o = NULL; i < NOBJECTS && o == NULL; i++)
		if (fs->objects[i] != NULL &&
		    fs->objects[i]->dev == (uint64_t)sb->st_dev &&
		    fs->objects[i]->ino == (uint64_t)sb->st_ino)
			o = fs->objects[i];
	if (o == NULL && (slot = object_slot(fs)) != NULL &&
	    (o = calloc(1, sizeof(*o))) != NULL) {
		o->dev = (uint64_t)sb->st_dev;
		o->ino = (uint64_t)sb->st_ino;
		o->fd = name != NULL ? plat_name(dirfd, name) :
		    fcntl(dirfd, F_DUPFD_CLOEXEC, 0);
		if (o->fd == -1) {
			free(o);
			o = NULL;
		} else
			*slot = o;
	}
	if (o != NULL)
		o->refs++;
	(void)pthread_mutex_unlock(&fs->lock);
	return (o);
}

static void
object_put(struct fsops *fs, struct object *o)
{

	if (o == NULL)
		return;
	(void)pthread_mutex_lock(&fs->lock);
	o->refs--;
	(void)pthread_mutex_unlock(&fs->lock);
}

/*
 * Places.
 */
void
srv_place_put(struct fsops *fs, struct place *p)
{
	int error;

	error = errno;
	object_put(fs, p->obj);
	if (p->owned)
		(void)close(p->dirfd);
	errno = error;
}

/* Walk to the parent of ${path}, one component at a time. */
static int
place_walk(struct fsops *fs, const char *path, struct place *p)
{
	char name[256];
	const char *q;
	int fd;

	memset(p, 0, sizeof(*p));
	p->path = p->name = path;
	p->dirfd = fs->rootfd;
	while ((q = strchr(p->name, '/')) != NULL) {
		if ((size_t)(q - p->name) >= sizeof(name)) {
			errno = ENAMETOOLONG;
			goto err0;
		}
		memcpy(name, p->name, (size_t)(q - p->name));
		name[q - p->name] = '\0';
		fd = openat(p->dirfd, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd == -1)
			goto err0;
		if (p->owned)
			(void)close(p->dirfd);
		p->dirfd = fd;
		p->owned = true;
		p->name = q + 1;
	}
	return (0);

err0:
	srv_place_put(fs, p);
	return (errno);
}

/* Also look at what is there, if anything. */
int
srv_place_get(struct fsops *fs, const char *path, struct place *p)
{
	int error;

	if ((error = place_walk(fs, path, p)) != 0)
		return (error);
	if (*p->name == '\0')
		p->there = fstat(p->dirfd, &p->sb) == 0;
	else
		p->there = fstatat(p->dirfd, p->name, &p->sb,
		    AT_SYMLINK_NOFOLLOW) == 0;
	if (p->there)
		p->obj = object_get(fs, &p->sb, p->dirfd, p->name);
	else if (errno != ENOENT) {
		error = errno;
		srv_place_put(fs, p);
	}
	return (error);
}

/*
 * While a hook waited, a rollback may have put another file there than the
 * one that was captured.
 */
int
srv_still(const struct place *p)
{
	struct stat sb;

	if (*p->name == '\0')
		return (0);
	if (fstatat(p->dirfd, p->name, &sb, AT_SYMLINK_NOFOLLOW) == -1)
		return (-1);
	if (sb.st_ino == p->sb.st_ino && sb.st_dev == p->sb.st_dev)
		return (0);
	errno = ESTALE;
	return (-1);
}

/* A place where something must be; or, with ${there} false, must not. */
int
srv_place_want(struct fsops *fs, const char *path, bool there, struct place *p)
{
	int error;

	if ((error = srv_place_get(fs, path, p)) != 0)
		return (error);
	if (p->there == there || (!there && fs->how & FSOPS_UNCHECKED))
		return (0);
	srv_place_put(fs, p);
	return (there ? ENOENT : EEXIST);
}

struct undo_ref
srv_place_ref(const struct fsops *fs, const struct place *p, int fd)
{
	struct undo_ref r = {
		.path = p->path, .dirfd = p->dirfd, .name = p->name, .fd = fd
	};

	if (fs->how & FSOPS_BYPATH || *p->name == '\0') {
		r.dirfd = -1;
		r.name = NULL;
	}
	if (fs->how & FSOPS_NOFD)
		r.fd = -1;
	if ((fs->how & FSOPS_NOSEEN) == 0 && p->obj != NULL)
		r.seen = &p->obj->seen;
	return (r);
}

/* A name to be made or replaced has nothing open. */
struct undo_ref
srv_place_name(const struct fsops *fs, const struct place *p)
{
	struct undo_ref r;

	r = srv_place_ref(fs, p, -1);
	r.fd = -1;
	return (r);
}

/* Report the outcome of a system call to the library and the caller. */
int
came_to(struct fsops *fs, struct undo_op *op, int r)
{
	int error;

	error = r == -1 ? errno : 0;
	if (error == 0)
		fs->mutations++;
	if (fs->undo != NULL)
		undo_done(fs->undo, op, error);
	return (error);
}

/*
 * Open files.
 */
static int
file_new(struct fsops *fs, int fd, const char *path, struct fsops_file **fp)
{
	struct fsops_file *f;
	struct stat sb;

	if (fp == NULL) {
		(void)close(fd);
		return (0);
	}
	if ((f = calloc(1, sizeof(*f))) == NULL)
		abort();
	f->fd = fd;
	if (path != NULL && (f->path = strdup(path)) == NULL)
		abort();
	if (fstat(fd, &sb) == -1)
		abort();
	f->obj = object_get(fs, &sb, fd, NULL);
	*fp = f;
	return (0);
}

void
fsops_close(struct fsops *fs, struct fsops_file *f)
{

	if (f == NULL)
		return;
	object_put(fs, f->obj);
	(void)close(f->fd);
	free(f->path);
	free(f);
}

/* Find the file's name of now; its place has path NULL if it has none. */
static void
file_place(struct fsops *fs, struct fsops_file *f, struct place *p)
{
	struct stat sb;
	struct snap *t;
	const char *path;
	unsigned int i;

	if (fstat(f->fd, &sb) == -1)
		abort();
	if (f->path != NULL && srv_place_get(fs, f->path, p) == 0) {
		if (p->there && p->sb.st_ino == sb.st_ino &&
		    p->sb.st_dev == sb.st_dev)
			return;
		srv_place_put(fs, p);
	}
	free(f->path);
	f->path = NULL;
	/* Other threads may pull away what the walk stands on. */
	for (i = 0, t = NULL; i < 1000 && t == NULL; i++)
		t = snap_names(fs->rootfd);
	if (t == NULL)
		abort();
	path = snap_path(t, (uint64_t)sb.st_dev, (uint64_t)sb.st_ino);
	if (path != NULL && (f->path = strdup(path)) == NULL)
		abort();
	snap_free(t);
	if (f->path != NULL && srv_place_get(fs, f->path, p) == 0)
		return;
	memset(p, 0, sizeof(*p));
	p->dirfd = -1;
}

struct undo_ref
srv_file_ref(struct fsops *fs, struct fsops_file *f, struct place *p)
{
	struct undo_ref r;

	file_place(fs, f, p);
	if (p->path != NULL)
		return (srv_place_ref(fs, p, f->fd));
	memset(&r, 0, sizeof(r));
	r.dirfd = -1;
	r.fd = f->fd;
	if ((fs->how & FSOPS_NOSEEN) == 0 && f->obj != NULL)
		r.seen = &f->obj->seen;
	return (r);
}

int
fsops_open(struct fsops *fs, const char *path, struct fsops_file **fp)
{
	struct place p;
	int error, fd;

	if ((error = place_walk(fs, path, &p)) != 0)
		return (error);
	fd = openat(p.dirfd, p.name,
	    O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	error = fd == -1 ? errno : 0;
	srv_place_put(fs, &p);
	return (error != 0 ? error : file_new(fs, fd, path, fp));
}

int
fsops_open_trunc(struct fsops *fs, const char *path, struct fsops_file **fp)
{
	struct undo_op op;
	struct undo_ref r;
	struct place p;
	int error, fd, rd;

	if ((error = srv_place_want(fs, path, true, &p)) != 0)
		return (error);
	rd = -1;
	if (!S_ISREG(p.sb.st_mode)) {
		error = EINVAL;
		goto out;
	}
	rd = openat(p.dirfd, p.name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	r = srv_place_ref(fs, &p, rd);
	if (fs->undo != NULL &&
	    (error = said(fs, undo_pre_open_trunc(fs->undo, &op, &r))) != 0)
		goto out;
	fd = srv_still(&p) == -1 ? -1 : openat(p.dirfd, p.name,
	    O_RDWR | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
	if ((error = came_to(fs, &op, fd)) == 0)
		error = file_new(fs, fd, path, fp);
out:
	if (rd != -1)
		(void)close(rd);
	srv_place_put(fs, &p);
	return (error);
}

int
fsops_create(struct fsops *fs, const char *path, mode_t mode,
    struct fsops_file **fp)
{
	struct undo_op op;
	struct undo_ref r;
	struct place p;
	int error, fd;

	if ((error = srv_place_want(fs, path, false, &p)) != 0)
		return (error);
	r = srv_place_name(fs, &p);
	if (fs->undo != NULL &&
	    (error = said(fs, undo_pre_create(fs->undo, &op, &r))) != 0)
		goto out;
	fd = openat(p.dirfd, p.name,
	    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if ((error = came_to(fs, &op, fd)) == 0)
		error = file_new(fs, fd, path, fp);
out:
	srv_place_put(fs, &p);
	return (error);
}

int
fsops_tmpfile(struct fsops *fs, const char *dir, mode_t mode,
    struct fsops_file **fp)
{
	struct place p;
	int dirfd, error, fd;

	if ((error = place_walk(fs, dir, &p)) != 0)
		return (error);
	dirfd = openat(p.dirfd, *p.name == '\0' ? "." : p.name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dirfd == -1)
		error = errno;
	else {
		if ((fd = plat_tmpfile(dirfd, mode)) == -1)
			error = errno;
		else
			error = file_new(fs, fd, NULL, fp);
		(void)close(dirfd);
	}
	srv_place_put(fs, &p);
	return (error);
}

int
fsops_write(struct fsops *fs, struct fsops_file *f, const void *buf,
    size_t len, off_t off)
{
	struct undo_op op;
	struct undo_ref r;
	struct place p;
	int error;

	r = srv_file_ref(fs, f, &p);
	error = 0;
	if (fs->undo == NULL ||
	    (error = said(fs, undo_pre_write(fs->undo, &op, &r))) == 0)
		error = came_to(fs, &op,
		    pwrite(f->fd, buf, len, off) == -1 ? -1 : 0);
	srv_place_put(fs, &p);
	return (error);
}

int
fsops_ftruncate(struct fsops *fs, struct fsops_file *f, off_t size)
{
	struct undo_op op;
	struct undo_ref r;
	struct place p;
	int error;

	r = srv_file_ref(fs, f, &p);
	error = 0;
	if (fs->undo == NULL ||
	    (error = said(fs, undo_pre_setattr(fs->undo, &op, &r, true))) == 0)
		error = came_to(fs, &op, ftruncate(f->fd, size));
	srv_place_put(fs, &p);
	return (error);
}

int
fsops_allocate(struct fsops *fs, struct fsops_file *f, enum plat_alloc how,
    off_t off, off_t len)
{
	struct undo_op op;
	struct undo_ref r;
	struct place p;
	int error;

	r = srv_file_ref(fs, f, &p);
	error = 0;
	if (fs->undo == NULL ||
	    (error = said(fs, undo_pre_fallocate(fs->undo, &op, &r))) == 0)
		error = came_to(fs, &op, plat_allocate(f->fd, how, off, len));
	srv_place_put(fs, &p);
	return (error);
}

int
fsops_copy(struct fsops *fs, struct fsops_file *from, off_t fromoff,
    struct fsops_file *to, off_t tooff, size_t len)
{
	struct undo_op op;
	struct undo_ref r;
	struct place p;
	int error;

	r = srv_file_ref(fs, to, &p);
	error = 0;
	if (fs->undo == NULL ||
	    (error = said(fs, undo_pre_copy_range(fs->undo, &op, &r))) == 0)
		error = came_to(fs, &op, copy_file_range(from->fd, &fromoff,
		    to->fd, &tooff, len, 0) == -1 ? -1 : 0);
	srv_place_put(fs, &p);
	return (error);
}

int
fsops_fchmod(struct fsops *fs, struct fsops_file *f, mode_t mode)
{
	struct undo_op op;
	struct undo_ref r;
	struct place p;
	int error;

	r = srv_file_ref(fs, f, &p);
	error = 0;
	if (fs->undo == NULL ||
	    (error = said(fs, undo_pre_setattr(fs->undo, &op, &r, false))) == 0)
		error = came_to(fs, &op, fchmod(f->fd, mode));
	srv_place_put(fs, &p);
	return (error);
}

