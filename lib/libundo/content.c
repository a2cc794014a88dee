/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The bytes of files: taken into the store, and put back into the very
 * inode they came from.  Clones where the filesystem has them, copies that
 * keep holes where not.  Which it is is found by trying, per filesystem.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "undo_internal.h"

#define	BUFSIZE		((size_t)64 << 10)
#define	CHUNK		((size_t)64 << 20)
/* Up to this size a copy is quicker than asking for a clone. */
#define	CLONE_MIN	((off_t)16 << 10)
/* Up to this size a copy through memory beats one in the kernel. */
#define	KERNEL_MIN	((off_t)256 << 10)

/*
 * A filesystem searches a block of a directory from its start for each name
 * that is added, three times for a rename.  Long names are few to a block:
 * with short ones, removing a large tree takes a third longer.
 */
void
obj_name(char name[OBJ_NAMESIZE], uint32_t obj)
{

	(void)snprintf(name, OBJ_NAMESIZE, "%028x", obj);
}

/*
 * Where in the store a file is that was kept by its name in a folder; false
 * when the name is too long for that.
 */
bool
obj_path(char path[OBJ_PATHSIZE], uint32_t obj, const char *name)
{
	char dir[OBJ_NAMESIZE];
	int n;

	obj_name(dir, obj);
	n = snprintf(path, OBJ_PATHSIZE, "%s/%s", dir, name);
	return (n > 0 && n < OBJ_PATHSIZE);
}

/* Where the object of ${r} is; false when it can be nowhere. */
bool
obj_of(char path[OBJ_PATHSIZE], const struct rec *r)
{

	if ((r->flags & REC_INDIR) != 0)
		return (obj_path(path, r->obj, path_name(r->path)));
	obj_name(path, r->obj);
	return (true);
}

/* What a copy of the file takes: holes do not count. */
uint64_t
content_size(const struct stat *st)
{
	uint64_t blocks;

	blocks = (uint64_t)st->st_blocks * 512;
	return (blocks < (uint64_t)st->st_size ? blocks :
	    (uint64_t)st->st_size);
}

/* With the lock held.  When there are too many, the last one is shared. */
struct fsinfo *
fs_info(struct undo *u, uint64_t dev)
{
	size_t i;

	for (i = 0; i < FS_SLOTS - 1; i++)
		if (!u->fs[i].used || u->fs[i].dev == dev)
			break;
	if (!u->fs[i].used || u->fs[i].dev != dev) {
		memset(&u->fs[i], 0, sizeof(u->fs[i]));
		u->fs[i].used = true;
		u->fs[i].dev = dev;
	}
	return (&u->fs[i]);
}

/* Copy [off, end) through memory. */
static int
copy_range(int in, int out, off_t off, off_t end)
{
	uint8_t *buf;
	size_t len, want;
	ssize_t n;
	int error;

	len = (uint64_t)(end - off) < BUFSIZE ? (size_t)(end - off) : BUFSIZE;
	if ((buf = malloc(len)) == NULL)
		return (ENOMEM);
	for (error = 0; error == 0 && off < end; off += n) {
		want = (uint64_t)(end - off) < len ? (size_t)(end - off) :
		    len;
		if ((n = sys_pread(in, buf, want, off)) == -1)
			error = errno;
		else if (n == 0)
			break;
		else
			error = sys_pwrite_all(out, buf, (size_t)n, off);
	}
	free(buf);
	return (error);
}

/*
 * Copy the data of ${in} to the same places of ${out}, which has none there,
 * leaving holes.  The sizes are the caller's business.
 */
int
copy_sparse(int in, int out, off_t size, bool dense)
{
	off_t end, off, start;
	ssize_t n;
	bool kernel;
	int error;

	kernel = size >= KERNEL_MIN;
	for (off = 0; off < size; off = end) {
		if (dense) {
			start = off;
			end = size;
		} else if ((error = os_extent(in, size, off, &start,
		    &end)) != 0)
			return (error);
		if (start >= size)
			break;
		while (kernel && start < end) {
			n = os_copy(in, out, start, (uint64_t)(end - start) <
			    CHUNK ? (size_t)(end - start) : CHUNK);
			if (n == -1 && errno != EOPNOTSUPP)
				return (errno);
			if (n <= 0)
				kernel = false;
			else
				start += n;
		}
		if (start < end &&
		    (error = copy_range(in, out, start, end)) != 0)
			return (error);
	}
	return (0);
}

/*
 * Has the file no holes?  Blocks alone do not tell, since they may lie past
 * the end.
 */
bool
content_dense(int fd, const struct stat *st)
{

	return ((uint64_t)st->st_blocks * 512 >= (uint64_t)st->st_size &&
	    sys_lseek(fd, 0, SEEK_HOLE) >= st->st_size);
}

static int
capture_copy(int ofd, const char *name, int fd, const struct stat *st)
{
	bool dense;
	int error, out;

	out = sys_openat(ofd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
	    0600);
	if (out == -1)
		return (errno);
	dense = content_dense(fd, st);
	error = copy_sparse(fd, out, st->st_size, dense);
	if (error == 0 && !dense && sys_ftruncate(out, st->st_size) == -1)
		error = errno;
	sys_close(out);
	if (error != 0)
		(void)sys_unlinkat(ofd, name, 0);
	return (error);
}

static int
capture_clone(struct undo *u, int ofd, const char *name, int fd,
    const struct stat *st)
{
	struct fsinfo *fs;
	bool no;
	int error, out;

	if (st->st_size < CLONE_MIN)
		return (EOPNOTSUPP);
	(void)pthread_mutex_lock(&u->lock);
	no = fs_info(u, (uint64_t)st->st_dev)->noclone;
	(void)pthread_mutex_unlock(&u->lock);
	if (no)
		return (EOPNOTSUPP);
	out = -1;
	error = os_clone_new(fd, ofd, name, &out);
	if (out != -1)
		sys_close(out);
	if (error != 0 && error != EOPNOTSUPP)
		return (error);
	(void)pthread_mutex_lock(&u->lock);
	fs = fs_info(u, (uint64_t)st->st_dev);
	if (error == 0) {
		fs->clones = true;
		u->stats.cloned++;
		if (norm_dev(u, st->st_dev) == 0)
			u->stats.reflinks = true;
	} else if (!fs->clones)
		fs->noclone = true;
	(void)pthread_mutex_unlock(&u->lock);
	return (error);
}

/*
 * Take the content of ${fd}, described by ${st}, into the object ${obj};
 * ${bytes} is what it takes, ${flags} gets REC_CLONE if it is one.
 */
int
content_capture(struct undo *u, int ofd, uint32_t obj, int fd,
    const struct stat *st, uint64_t *bytes, uint32_t *flags)
{
	char name[OBJ_NAMESIZE];
	int dir, error;

	obj_name(name, obj);
	*bytes = content_size(st);
	error = capture_clone(u, ofd, name, fd, st);
	if (error == 0)
		*flags |= REC_CLONE;
	else if (error == EOPNOTSUPP) {
		error = capture_copy(ofd, name, fd, st);
		if (error == 0) {
			(void)pthread_mutex_lock(&u->lock);
			u->stats.copied++;
			(void)pthread_mutex_unlock(&u->lock);
		}
	}
	if (error != 0 || u->o.durability != UNDO_POWER)
		return (error);
	if ((dir = sys_openat(ofd, name, O_RDONLY, 0)) == -1)
		return (errno);
	if (sys_fsync(dir) == -1 || sys_fsync(ofd) == -1)
		error = errno;
	sys_close(dir);
	return (error);
}

/* A packed object is unpacked into a file that has no name. */
int
content_open(int ofd, int tmpdir, uint32_t obj, uint64_t size, int *fdp)
{
	char name[OBJ_NAMESIZE], tmp[OBJ_NAMESIZE + 2];
	int error, fd;

	obj_name(name, obj);
	fd = sys_openat(ofd, name, O_RDONLY | O_NOFOLLOW, 0);
	if (fd != -1 || errno != ENOENT) {
		*fdp = fd;
		return (fd == -1 ? errno : 0);
	}
	(void)snprintf(tmp, sizeof(tmp), "%s.u", name);
	fd = sys_openat(tmpdir, tmp, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW,
	    0600);
	if (fd == -1)
		return (errno);
	error = unpack_object(ofd, obj, fd);
	if (error == 0 && sys_ftruncate(fd, (off_t)size) == -1)
		error = errno;
	(void)sys_unlinkat(tmpdir, tmp, 0);
	if (error != 0) {
		sys_close(fd);
		return (error);
	}
	*fdp = fd;
	return (0);
}

/*
 * Make ${fd} hold the content of the object again.  To be repeated, after a
 * crash, until it succeeds.
 */
int
content_restore(struct undo *u, int ofd, uint32_t obj, int fd, uint64_t size)
{
	char name[OBJ_NAMESIZE];
	struct stat st;
	int error, src;

	/* Nothing is given up before its replacement is at hand. */
	src = -1;
	if (obj != 0 && size != 0) {
		obj_name(name, obj);
		src = sys_openat(ofd, name, O_RDONLY | O_NOFOLLOW, 0);
		if (src == -1 && errno != ENOENT)
			return (errno);
		if (src == -1 && (error = unpack_check(ofd, obj)) != 0)
			return (error);
	}
	if (sys_ftruncate(fd, 0) == -1) {
		error = errno;
		if (src != -1)
			sys_close(src);
		return (error);
	}
	error = 0;
	if (obj == 0 || size == 0)
		goto out;
	if (src == -1) {
		error = unpack_object(ofd, obj, fd);
		goto out;
	}
	if (sys_fstat(src, &st) == -1)
		error = errno;
	else if ((uint64_t)st.st_size != size)
		error = EIO;
	else {
		error = EOPNOTSUPP;
		if (u->stats.reflinks)
			error = os_clone_into(src, fd);
		if (error == EOPNOTSUPP)
			error = copy_sparse(src, fd, st.st_size,
			    content_dense(src, &st));
	}
	sys_close(src);
out:
	if (error == 0 && sys_ftruncate(fd, (off_t)size) == -1)
		error = errno;
	return (error);
}
