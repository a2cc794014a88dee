/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Open files: from a node, from a name, from nothing; and their end.  Only
 * regular files are ever opened.
 */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "share_internal.h"

#define	CREATE_TRIES	16

static void
hold_file(void *object)
{
	struct share_file *f = object;

	atomic_fetch_add(&f->refs, 1);
}

/* Takes over the descriptor, a reserved place, and a new reference. */
static int
file_new(struct share *s, struct share_node *n, int fd, uint32_t flags,
    struct share_file **fp)
{
	struct share_file *f;
	int error;

	if ((f = calloc(1, sizeof(*f))) == NULL) {
		error = ENOMEM;
		goto err0;
	}
	atomic_init(&f->refs, 2);
	f->node = n;
	f->fd = fd;
	f->flags = flags;
	if ((error = share_table_add(&s->files, f, &f->number)) != 0)
		goto err1;
	share_hold(n);
	*fp = f;
	return (0);
err1:
	free(f);
err0:
	(void)close(fd);
	share_open_release(s);
	return (error);
}

static int
type_error(uint32_t type)
{

	switch (type) {
	case S_IFREG:
		return (0);
	case S_IFDIR:
		return (EISDIR);
	case S_IFLNK:
		return (ELOOP);
	default:
		return (ENXIO);
	}
}

/* Empty it, through a descriptor that may write. */
static int
empty(struct share *s, struct share_node *n, int fd, uint32_t flags)
{
	struct undo_ref ref = { .dirfd = -1, .fd = fd };
	struct change ch;
	int error;

	if ((error = share_change_node(s, &ch, n, SHARE_CH_DATA)) != 0)
		return (error);
	if (s->undo != NULL) {
		ref.path = ch.named ? ch.path : NULL;
		ref.seen = &n->seen;
		error = undo_pre_open_trunc(s->undo, &ch.op, &ref);
		if (error != 0)
			return (error);
		ch.announced = true;
	}
	error = share_change_end(&ch, ftruncate(fd, 0) == -1 ? errno : 0);
	if (error == 0 && (flags & SHARE_O_KILL) != 0)
		error = share_kill_suid(s, n, fd);
	if (error == 0)
		error = share_kill_caps(s, n);
	return (error);
}

static int
open_node(struct share *s, const struct share_cred *c, struct share_node *n,
    uint32_t flags, int *fdp)
{
	struct host_saved saved;
	int error, fd, nfd;

	if ((error = share_fd_get(s, n, &nfd)) != 0)
		return (error);
	/* A program may be run without being read. */
	if ((error = share_enter(s, c, false, &saved)) == 0) {
		if ((flags & SHARE_O_EXEC) != 0)
			error = host_access(&s->host, nfd, 1);
		else
			error = host_reopen(&s->host, nfd,
			    host_open_flags(flags & ~(uint32_t)
			    SHARE_O_TRUNC), &fd);
		share_leave(s, &saved);
	}
	if (error == 0 && (flags & SHARE_O_EXEC) != 0)
		error = host_reopen(&s->host, nfd, host_open_flags(0), &fd);
	share_fd_put(n);
	if (error == 0)
		*fdp = fd;
	return (error);
}

int
share_file_open(struct share *s, const struct share_cred *c,
    struct share_node *n, uint32_t flags, struct share_file **fp)
{
	int error, fd;

	if ((error = type_error(n->type)) != 0)
		return (error);
	if ((flags & SHARE_O_TRUNC) != 0 && (flags & SHARE_O_WRITE) == 0)
		return (EINVAL);
	if ((flags & SHARE_O_WRITE) != 0 && atomic_load(&s->readonly))
		return (EROFS);
	if ((error = share_open_reserve(s)) != 0)
		return (error);
	if ((error = open_node(s, c, n, flags, &fd)) != 0) {
		share_open_release(s);
		return (error);
	}
	if ((flags & SHARE_O_TRUNC) != 0 &&
	    (error = empty(s, n, fd, flags)) != 0) {
		(void)close(fd);
		share_open_release(s);
		return (error);
	}
	return (file_new(s, n, fd, flags, fp));
}

/* From a new file's descriptor to a node, the attributes and a file. */
static int
new_opened(struct share *s, const struct share_cred *c, int fd,
    struct share_node *dir, const char *name, uint32_t flags, uint32_t mode,
    struct share_node **np, struct share_attr *a, struct share_file **fp)
{
	struct host_stat st;
	int error, nfd;

	if ((error = host_node_dup(&s->host, fd, &nfd)) != 0)
		goto err0;
	if ((error = host_stat_fd(&s->host, nfd, &st)) != 0) {
		(void)close(nfd);
		goto err0;
	}
	if ((error = share_node_get(s, &st, nfd, dir, name, np)) != 0)
		goto err0;
	if ((error = share_give(s, c, *np, S_IFREG | mode, &st)) != 0)
		goto err1;
	share_attr_fill(s, *np, &st, a);
	if ((error = file_new(s, *np, fd, flags, fp)) == 0)
		return (0);
	share_put(s, *np);
	return (error);
err1:
	share_put(s, *np);
err0:
	(void)close(fd);
	share_open_release(s);
	return (error);
}

static int
create_new(struct share *s, const struct share_cred *c,
    struct share_node *dir, int dirfd, const char *name, uint32_t flags,
    uint32_t mode, struct share_node **np, struct share_attr *a,
    struct share_file **fp)
{
	struct undo_ref ref = { .dirfd = dirfd, .name = name, .fd = -1 };
	struct host_saved saved;
	struct change ch;
	int error, fd;

	if ((error = share_open_reserve(s)) != 0)
		return (error);
	if ((error = share_change_name(s, &ch, dir, name,
	    SHARE_CH_CREATE)) != 0)
		goto err0;
	if (s->undo != NULL) {
		ref.path = ch.path;
		if ((error = undo_pre_create(s->undo, &ch.op, &ref)) != 0)
			goto err0;
		ch.announced = true;
	}
	if ((error = share_enter(s, c, true, &saved)) == 0) {
		error = host_create(&s->host, dirfd, name, host_open_flags(
		    flags & ~(uint32_t)SHARE_O_TRUNC), mode & 07777, &fd);
		share_leave(s, &saved);
	}
	if (error != 0) {
		(void)share_change_end(&ch, error);
		goto err0;
	}
	error = new_opened(s, c, fd, dir, name, flags, mode & 07777, np, a,
	    fp);
	(void)share_change_end(&ch, 0);
	return (error);
err0:
	share_open_release(s);
	return (error);
}

static int
create_there(struct share *s, const struct share_cred *c,
    struct share_node *dir, const char *name, uint32_t flags,
    struct share_node **np, struct share_attr *a, struct share_file **fp)
{
	struct share_node *n;
	int error;

	if ((error = share_lookup(s, c, dir, name, &n, a)) != 0)
		return (error);
	if ((error = share_file_open(s, c, n, flags, fp)) == 0 &&
	    (error = share_getattr(s, n, *fp, a)) != 0)
		share_file_close(s, *fp);
	if (error != 0) {
		share_put(s, n);
		return (error);
	}
	*np = n;
	return (0);
}

int
share_create(struct share *s, const struct share_cred *c,
    struct share_node *dir, const char *name, uint32_t flags, uint32_t mode,
    struct share_node **np, struct share_attr *a, struct share_file **fp)
{
	int error, fd, i;

	mode = share_file_mode(s, mode);
	if ((error = share_entry_begin(s, dir, name,
	    (flags & SHARE_O_EXCL) != 0 ? EEXIST : EISDIR, &fd)) != 0)
		return (error);
	for (i = 0; i < CREATE_TRIES; i++) {
		error = create_new(s, c, dir, fd, name, flags, mode, np, a,
		    fp);
		if (error != EEXIST || (flags & SHARE_O_EXCL) != 0)
			break;
		error = create_there(s, c, dir, name, flags, np, a, fp);
		if (error != ENOENT)
			break;
	}
	share_fd_put(dir);
	return (error);
}

int
share_tmpfile(struct share *s, const struct share_cred *c,
    struct share_node *dir, uint32_t flags, uint32_t mode,
    struct share_node **np, struct share_attr *a, struct share_file **fp)
{
	struct host_saved saved;
	int error, dirfd, fd;

	if (dir->type != S_IFDIR)
		return (ENOTDIR);
	if (atomic_load(&s->readonly))
		return (EROFS);
	mode = share_file_mode(s, mode);
	if ((error = share_fd_get(s, dir, &dirfd)) != 0)
		return (error);
	if ((error = share_open_reserve(s)) != 0)
		goto out;
	if ((error = share_enter(s, c, true, &saved)) == 0) {
		error = host_tmpfile(&s->host, dirfd, host_open_flags(flags &
		    ~(uint32_t)SHARE_O_TRUNC), mode & 07777, &fd);
		share_leave(s, &saved);
	}
	if (error != 0) {
		share_open_release(s);
		goto out;
	}
	error = new_opened(s, c, fd, NULL, NULL, flags, mode & 07777, np, a,
	    fp);
	if (error == 0)
		atomic_store(&(*np)->pinned, true);
out:
	share_fd_put(dir);
	return (error);
}

struct share_file *
share_file_find(struct share *s, uint64_t number)
{

	return (share_table_find(&s->files, number, hold_file));
}

uint64_t
share_file_number(const struct share_file *f)
{

	return (f->number);
}

struct share_node *
share_file_node(const struct share_file *f)
{

	return (f->node);
}

uint32_t
share_file_flags(const struct share_file *f)
{

	return (f->flags);
}

int
share_file_fd(const struct share_file *f)
{

	return (f->fd);
}

/* Take ${n} references back. */
static void
file_drop(struct share *s, struct share_file *f, uint32_t n)
{

	if (atomic_fetch_sub(&f->refs, n) != n)
		return;
	(void)close(f->fd);
	share_open_release(s);
	share_put(s, f->node);
	free(f);
}

void
share_file_put(struct share *s, struct share_file *f)
{

	if (f != NULL)
		file_drop(s, f, 1);
}

/* The first to close it also gives back the table's reference. */
void
share_file_close(struct share *s, struct share_file *f)
{
	uint32_t n;

	n = 1;
	if (!atomic_exchange(&f->closed, true)) {
		(void)share_table_remove(&s->files, f->number, NULL);
		share_locks_drop(s, f);
		n = 2;
	}
	file_drop(s, f, n);
}

void
share_file_reset(struct share *s)
{
	struct share_file *f;
	uint32_t i;

	for (i = 0; i < atomic_load(&s->files.nslots); i++)
		if ((f = share_table_at(&s->files, i, hold_file)) != NULL)
			share_file_close(s, f);
}
