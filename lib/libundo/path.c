/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * From paths to directories and back.  Nothing here follows a symbolic
 * link, and nothing believes the path that a caller gave before it has seen
 * that the path leads where the caller's descriptors are: a server may have
 * computed it before another thread renamed a directory.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "undo_internal.h"

/* Device numbers change over a reboot; the folder's own is always 0. */
uint64_t
norm_dev(const struct undo *u, dev_t dev)
{

	return ((uint64_t)dev == u->rootdev ? 0 : (uint64_t)dev);
}

uint64_t
hash_ino(uint64_t dev, uint64_t ino)
{

	return ((ino + 1) * UINT64_C(0x9E3779B97F4A7C15) ^
	    dev * UINT64_C(0xC2B2AE3D27D4EB4F));
}

/* The length of the parent's path; 0 for an entry of the root. */
size_t
path_parent(const char *path, size_t len)
{

	while (len > 0 && path[len - 1] != '/')
		len--;
	return (len > 0 ? len - 1 : 0);
}

const char *
path_name(const char *path)
{
	const char *slash;

	slash = strrchr(path, '/');
	return (slash == NULL ? path : slash + 1);
}

/*
 * Open the first ${len} bytes of ${path} below the root, in as few calls as
 * PATH_MAX allows.  A descriptor of its own also for "".
 */
int
path_open(const struct undo *u, const char *path, size_t len, int flags,
    int *fdp)
{
	char buf[PATH_MAX];
	size_t n;
	int at, fd;

	if (len == 0) {
		*fdp = sys_openat(u->rootfd, ".", flags, 0);
		return (*fdp == -1 ? errno : 0);
	}
	for (at = u->rootfd; len > 0; at = fd) {
		n = len;
		if (n >= sizeof(buf))
			for (n = sizeof(buf) - 1; n > 0 && path[n] != '/';)
				n--;
		if (n == 0)
			n = sizeof(buf) - 1;
		memcpy(buf, path, n);
		buf[n] = '\0';
		fd = os_open_beneath(at, buf, n == len ? flags :
		    O_RDONLY | O_DIRECTORY);
		if (at != u->rootfd)
			sys_close(at);
		if (fd == -1)
			return (errno);
		path += n;
		len -= n;
		if (len > 0) {
			path++;
			len--;
		}
	}
	*fdp = at;
	return (0);
}

int
path_stat(const struct undo *u, const char *path, struct stat *st)
{
	size_t len, plen;
	int dir, error, r;

	len = strlen(path);
	if (len == 0)
		return (sys_fstat(u->rootfd, st) == -1 ? errno : 0);
	if (len < PATH_MAX)
		return (sys_fstatat(u->rootfd, path, st) == -1 ? errno : 0);
	plen = path_parent(path, len);
	dir = -1;
	error = path_open(u, path, plen, O_RDONLY | O_DIRECTORY, &dir);
	if (error != 0)
		return (error);
	r = sys_fstatat(dir, path_name(path), st);
	error = r == -1 ? errno : 0;
	sys_close(dir);
	return (error);
}

/*
 * Open where a name is, or is to be.
 */
int
loc_open(struct undo *u, const struct undo_ref *ref, struct loc *l)
{
	size_t plen;
	int error;

	memset(l, 0, sizeof(*l));
	l->dir = -1;
	if (ref->path == NULL)
		return (EINVAL);
	l->path = ref->path;
	l->pathlen = strlen(ref->path);
	if (l->pathlen == 0 || l->pathlen > JOURNAL_PATHMAX ||
	    !record_path_ok(l->path, l->pathlen))
		return (l->pathlen > JOURNAL_PATHMAX ? ENAMETOOLONG : EINVAL);
	if (ref->dirfd >= 0) {
		l->dir = ref->dirfd;
		l->name = ref->name != NULL ? ref->name : path_name(l->path);
	} else {
		plen = path_parent(l->path, l->pathlen);
		error = path_open(u, l->path, plen, O_RDONLY | O_DIRECTORY,
		    &l->dir);
		if (error != 0)
			return (error);
		l->own = true;
		l->name = path_name(l->path);
	}
	if (sys_fstat(l->dir, &l->dst) == -1) {
		error = errno;
		loc_close(l);
		return (error);
	}
	return (0);
}

int
loc_stat(struct loc *l)
{

	l->exists = false;
	if (sys_fstatat(l->dir, l->name, &l->st) == 0)
		l->exists = true;
	else if (errno != ENOENT)
		return (errno);
	return (0);
}

void
loc_close(struct loc *l)
{

	if (l->own && l->dir >= 0)
		sys_close(l->dir);
	free(l->fixed);
	l->fixed = NULL;
	l->own = false;
	l->dir = -1;
}

static struct verified *
verified_slot(struct undo *u, uint64_t dev, uint64_t ino)
{

	return (&u->verified[(hash_ino(dev, ino) >> 32) % VERIFIED]);
}

/* The directory is no more, or not where it was. */
void
forget_dir(struct undo *u, uint64_t dev, uint64_t ino)
{
	struct verified *v;

	v = verified_slot(u, dev, ino);
	if (v->dev == dev && v->ino == ino)
		v->epoch = 0;
}

/* Ask where the directory of ${l} really is. */
static int
loc_fix(struct undo *u, struct loc *l)
{
	char buf[PATH_MAX], *dir;
	struct stat st;
	size_t size;
	int error;

	dir = buf;
	error = os_fdpath(u->rootfd, l->dir, buf, sizeof(buf));
	if (error == 0 && (path_stat(u, buf, &st) != 0 ||
	    st.st_ino != l->dst.st_ino || st.st_dev != l->dst.st_dev))
		error = EOPNOTSUPP;
	if (error != 0) {
		error = tree_find(u, norm_dev(u, l->dst.st_dev),
		    (uint64_t)l->dst.st_ino, &dir);
		if (error != 0)
			return (error);
	}
	size = strlen(dir) + strlen(l->name) + 2;
	if ((l->fixed = malloc(size)) == NULL)
		error = ENOMEM;
	else {
		(void)snprintf(l->fixed, size, "%s%s%s", dir,
		    *dir == '\0' ? "" : "/", l->name);
		l->path = l->fixed;
		l->pathlen = strlen(l->fixed);
	}
	if (dir != buf)
		free(dir);
	return (error);
}

/*
 * Make sure that path and directory agree.  What was checked since the last
 * move of a directory is remembered.  Call without the lock, with the names
 * taken by a slot.
 */
int
loc_verify(struct undo *u, struct loc *l)
{
	struct verified *v;
	struct stat st;
	char parent[PATH_MAX];
	uint64_t dev, epoch, h, ino;
	size_t plen;
	int error;

	if (l->own)
		return (0);
	plen = path_parent(l->path, l->pathlen);
	dev = norm_dev(u, l->dst.st_dev);
	ino = (uint64_t)l->dst.st_ino;
	h = journal_hash(l->path, plen, 1);
	(void)pthread_mutex_lock(&u->lock);
	epoch = u->epoch;
	v = verified_slot(u, dev, ino);
	error = v->epoch == epoch && v->dev == dev && v->ino == ino &&
	    v->hash == h && strcmp(l->path + plen + (plen > 0),
	    l->name) == 0 ? 0 : ENOENT;
	(void)pthread_mutex_unlock(&u->lock);
	if (error == 0)
		return (0);
	if (plen < sizeof(parent)) {
		memcpy(parent, l->path, plen);
		parent[plen] = '\0';
		error = path_stat(u, parent, &st);
	} else
		error = EOPNOTSUPP;
	if (error != 0 || st.st_ino != l->dst.st_ino ||
	    st.st_dev != l->dst.st_dev ||
	    strcmp(l->path + plen + (plen > 0), l->name) != 0)
		return (loc_fix(u, l));
	(void)pthread_mutex_lock(&u->lock);
	v->dev = dev;
	v->ino = ino;
	v->hash = h;
	v->epoch = epoch;
	(void)pthread_mutex_unlock(&u->lock);
	return (0);
}

static bool
same_file(const struct stat *a, const struct stat *b)
{

	return (a->st_ino == b->st_ino && a->st_dev == b->st_dev);
}

int
file_path(struct undo *u, const struct undo_ref *ref, const struct stat *st,
    const char **pathp, char **mem)
{
	struct stat now;
	uint64_t dev;
	uint32_t kept;
	char buf[PATH_MAX];
	size_t len;
	int error;

	*pathp = NULL;
	*mem = NULL;
	if (ref->path == NULL)
		return (0);
	len = strlen(ref->path);
	if (len > JOURNAL_PATHMAX)
		return (ENAMETOOLONG);
	if (!record_path_ok(ref->path, len))
		return (EINVAL);
	if (path_stat(u, ref->path, &now) == 0 && same_file(st, &now)) {
		*pathp = ref->path;
		return (0);
	}
	dev = norm_dev(u, st->st_dev);
	(void)pthread_mutex_lock(&u->lock);
	kept = kept_count(&u->kept, dev, (uint64_t)st->st_ino);
	(void)pthread_mutex_unlock(&u->lock);
	if (st->st_nlink <= kept)
		return (0);
	if (ref->fd >= 0 &&
	    os_fdpath(u->rootfd, ref->fd, buf, sizeof(buf)) == 0 &&
	    path_stat(u, buf, &now) == 0 && same_file(st, &now)) {
		*pathp = *mem = strdup(buf);
		return (*mem == NULL ? ENOMEM : 0);
	}
	error = tree_find(u, dev, (uint64_t)st->st_ino, mem);
	*pathp = *mem;
	return (error == ENOENT ? 0 : error);
}
