/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Attributes: asking for them, changing them, and what the client is shown
 * instead of the host's numbers.
 */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "share_internal.h"

#define	SET_TIMES	(SHARE_SET_ATIME | SHARE_SET_MTIME | \
	SHARE_SET_ATIME_NOW | SHARE_SET_MTIME_NOW)
/* What depends on how it was before. */
#define	SET_LOOK	(SHARE_SET_UID | SHARE_SET_GID | SHARE_SET_CTIME)

/*
 * Inode numbers of the root's filesystem are shown as they are; those of
 * others, entered through mounts, get the order of their appearance on top.
 */
uint64_t
share_ino(struct share *s, uint64_t dev, uint64_t ino)
{
	uint32_t i, n;

	if (dev == s->device[0])
		return (ino);
	n = atomic_load(&s->ndevices);
	for (i = 1; i < n && s->device[i] != dev; i++)
		;
	if (i == n) {
		(void)pthread_mutex_lock(&s->devlock);
		n = atomic_load(&s->ndevices);
		for (; i < n && s->device[i] != dev; i++)
			;
		if (i == n && n < DEVICES_MAX) {
			s->device[n] = dev;
			atomic_store(&s->ndevices, n + 1);
		}
		(void)pthread_mutex_unlock(&s->devlock);
	}
	return (ino ^ (uint64_t)i << 48);
}

void
share_attr_fill(struct share *s, struct share_node *n,
    const struct host_stat *st, struct share_attr *a)
{
	uint32_t kept;

	memset(a, 0, sizeof(*a));
	a->ino = share_ino(s, st->dev, st->ino);
	a->size = st->size;
	a->blocks = st->blocks;
	a->blksize = st->blksize;
	a->mode = st->mode;
	a->nlink = st->nlink;
	if (s->undo != NULL && n->type != S_IFDIR &&
	    (st->nlink > 1 || atomic_load(&n->unlinked))) {
		kept = undo_kept_links(s->undo, st->dev, st->ino);
		a->nlink -= kept < a->nlink ? kept : a->nlink;
	}
	a->uid = share_uid_out(s, st->uid);
	a->gid = share_gid_out(s, st->gid);
	a->rdev_major = st->rdev_major;
	a->rdev_minor = st->rdev_minor;
	a->btime_valid = st->btime_valid;
	a->atime = st->atime;
	a->mtime = st->mtime;
	a->ctime = st->ctime;
	a->btime = st->btime;
	a->version = (uint64_t)st->ctime.tv_sec * 1000000000U +
	    (uint64_t)st->ctime.tv_nsec;
}

int
share_getattr(struct share *s, struct share_node *n, struct share_file *f,
    struct share_attr *a)
{
	struct host_stat st;
	int error, fd;

	if (f != NULL)
		error = host_stat_fd(&s->host, f->fd, &st);
	else if ((error = share_fd_get(s, n, &fd)) == 0) {
		error = host_stat_fd(&s->host, fd, &st);
		share_fd_put(n);
	}
	if (error == 0)
		share_attr_fill(s, n, &st, a);
	return (error);
}

/* A place to change attributes: descriptors of one node. */
struct place {
	struct share_node	*n;
	int			 fd;	/* node descriptor */
	int			 wfd;	/* for the size, or -1 */
	bool			 own;	/* wfd is to be closed */
};

/* ids as the host has them; UINT32_MAX keeps. */
static int
want_owner(struct share *s, const struct share_setattr *set,
    const struct host_stat *st, uint32_t *uid, uint32_t *gid)
{
	int error;

	*uid = *gid = UINT32_MAX;
	if (s->o.owned)
		return (0);
	if ((set->set & SHARE_SET_UID) != 0 &&
	    set->uid != share_uid_out(s, st->uid)) {
		if (s->o.identity == SHARE_SELF)
			return (EPERM);
		if ((error = share_uid_in(s, set->uid, uid)) != 0)
			return (error);
	} else if ((set->set & SHARE_SET_UID) != 0)
		*uid = st->uid;
	if ((set->set & SHARE_SET_GID) != 0 &&
	    set->gid != share_gid_out(s, st->gid)) {
		if (s->o.identity == SHARE_SELF)
			return (EPERM);
		if ((error = share_gid_in(s, set->gid, gid)) != 0)
			return (error);
	} else if ((set->set & SHARE_SET_GID) != 0)
		*gid = st->gid;
	return (0);
}

static void
want_times(const struct share_setattr *set, struct timespec ts[2])
{

	ts[0].tv_sec = ts[1].tv_sec = 0;
	ts[0].tv_nsec = ts[1].tv_nsec = UTIME_OMIT;
	if ((set->set & SHARE_SET_ATIME) != 0)
		ts[0] = set->atime;
	if ((set->set & SHARE_SET_ATIME_NOW) != 0)
		ts[0].tv_nsec = UTIME_NOW;
	if ((set->set & SHARE_SET_MTIME) != 0)
		ts[1] = set->mtime;
	if ((set->set & SHARE_SET_MTIME_NOW) != 0)
		ts[1].tv_nsec = UTIME_NOW;
}

/* Whether anything was changed is told through ${changed}. */
static int
apply(struct share *s, const struct place *p, const struct share_setattr *set,
    const struct host_stat *st, uint32_t uid, uint32_t gid, bool *changed)
{
	struct timespec ts[2];
	uint32_t mode = set->mode & 07777;
	int error;

	if (p->n->type != S_IFDIR)
		mode = share_file_mode(s, mode);
	if (uid != UINT32_MAX || gid != UINT32_MAX) {
		if ((error = host_chown(&s->host, p->fd, uid, gid)) != 0)
			return (error);
		*changed = true;
	}
	if ((set->set & SHARE_SET_MODE) != 0) {
		if ((error = host_chmod(&s->host, p->fd, mode)) != 0)
			return (error);
		*changed = true;
	} else if ((set->set & SHARE_SET_CTIME) != 0 && !*changed &&
	    (set->set & (SET_TIMES | SHARE_SET_SIZE)) == 0 &&
	    p->n->type != S_IFLNK)
		return (host_chmod(&s->host, p->fd, st->mode & 07777));
	if ((set->set & SHARE_SET_SIZE) != 0) {
		if (ftruncate(p->wfd, (off_t)set->size) == -1)
			return (errno);
		*changed = true;
	}
	if ((set->set & SET_TIMES) != 0) {
		want_times(set, ts);
		return (host_utimens(&s->host, p->fd, ts));
	}
	return (0);
}

/* A new size needs an open file: the client's, or one by its rights. */
static int
place_open(struct share *s, const struct share_cred *c, struct share_file *f,
    const struct share_setattr *set, struct place *p)
{
	struct host_saved saved;
	int error;

	p->wfd = -1;
	p->own = false;
	if ((set->set & SHARE_SET_SIZE) == 0)
		return (0);
	if (p->n->type != S_IFREG)
		return (p->n->type == S_IFDIR ? EISDIR : EINVAL);
	if (set->size > INT64_MAX)
		return (EFBIG);
	if (f != NULL) {
		p->wfd = f->fd;
		return ((f->flags & SHARE_O_WRITE) != 0 ? 0 : EINVAL);
	}
	if ((error = share_enter(s, c, false, &saved)) != 0)
		return (error);
	error = host_reopen(&s->host, p->fd, O_WRONLY, &p->wfd);
	share_leave(s, &saved);
	p->own = error == 0;
	return (error);
}

static int
setattr_at(struct share *s, const struct share_cred *c, struct place *p,
    const struct share_setattr *set)
{
	struct undo_ref ref = { .dirfd = -1, .fd = p->fd };
	struct host_saved saved;
	struct host_stat st = { 0 };
	struct change ch;
	uint32_t gid, uid;
	bool changed;
	int error;

	if ((set->set & SET_LOOK) != 0 &&
	    (error = host_stat_fd(&s->host, p->fd, &st)) != 0)
		return (error);
	if ((error = want_owner(s, set, &st, &uid, &gid)) != 0 ||
	    (error = share_change_node(s, &ch, p->n,
	    (set->set & SHARE_SET_SIZE) != 0 ? SHARE_CH_DATA :
	    SHARE_CH_ATTR)) != 0)
		return (error);
	if (s->undo != NULL) {
		ref.path = ch.named ? ch.path : NULL;
		ref.seen = &p->n->seen;
		error = undo_pre_setattr(s->undo, &ch.op, &ref,
		    (set->set & SHARE_SET_SIZE) != 0);
		if (error != 0)
			return (error);
		ch.announced = true;
	}
	changed = false;
	if ((error = share_enter(s, c, false, &saved)) == 0) {
		error = apply(s, p, set, &st, uid, gid, &changed);
		share_leave(s, &saved);
	}
	(void)share_change_end(&ch, changed ? 0 : error);
	if (error == 0 && (set->set & SHARE_SET_KILL) != 0)
		error = share_kill_suid(s, p->n, p->fd);
	return (error);
}

int
share_setattr(struct share *s, const struct share_cred *c,
    struct share_node *n, struct share_file *f,
    const struct share_setattr *set, struct share_attr *a)
{
	struct place p = { .n = n };
	int error;

	if (atomic_load(&s->readonly))
		return (EROFS);
	if ((error = share_fd_get(s, n, &p.fd)) != 0)
		return (error);
	if ((set->set & ~(uint32_t)SHARE_SET_KILL) != 0) {
		if ((error = place_open(s, c, f, set, &p)) == 0)
			error = setattr_at(s, c, &p, set);
		if (p.own)
			(void)close(p.wfd);
	}
	share_fd_put(n);
	if (error == 0 && (set->set & SHARE_SET_SIZE) != 0)
		(void)share_kill_caps(s, n);
	return (error != 0 || a == NULL ? error : share_getattr(s, n, f, a));
}

/* What a write by an unprivileged user does to a program's mode. */
int
share_kill_suid(struct share *s, struct share_node *n, int fd)
{
	struct undo_ref ref = { .dirfd = -1, .fd = fd };
	struct host_stat st;
	struct change ch;
	uint32_t mode;
	int error;

	if ((error = host_stat_fd(&s->host, fd, &st)) != 0)
		return (error);
	mode = st.mode & ~(uint32_t)S_ISUID;
	if ((st.mode & S_IXGRP) != 0)
		mode &= ~(uint32_t)S_ISGID;
	if (n->type != S_IFREG || mode == st.mode)
		return (0);
	if ((error = share_change_node(s, &ch, n, SHARE_CH_ATTR)) != 0)
		return (error);
	if (s->undo != NULL) {
		ref.path = ch.named ? ch.path : NULL;
		ref.seen = &n->seen;
		error = undo_pre_setattr(s->undo, &ch.op, &ref, false);
		if (error != 0)
			return (error);
		ch.announced = true;
	}
	return (share_change_end(&ch,
	    host_chmod(&s->host, fd, mode & 07777)));
}

int
share_access(struct share *s, const struct share_cred *c,
    struct share_node *n, uint32_t mask)
{
	struct host_saved saved;
	int error, fd;

	if (mask > 7)
		return (EINVAL);
	if ((mask & 2) != 0 && atomic_load(&s->readonly) &&
	    (n->type == S_IFREG || n->type == S_IFDIR ||
	    n->type == S_IFLNK))
		return (EROFS);
	if ((error = share_fd_get(s, n, &fd)) != 0)
		return (error);
	if ((error = share_enter(s, c, false, &saved)) == 0) {
		error = host_access(&s->host, fd, mask);
		share_leave(s, &saved);
	}
	share_fd_put(n);
	return (error);
}

int
share_readlink(struct share *s, struct share_node *n, char *buf, size_t size,
    size_t *len)
{
	int error, fd;

	if (n->type != S_IFLNK)
		return (EINVAL);
	if ((error = share_fd_get(s, n, &fd)) != 0)
		return (error);
	error = host_readlink(&s->host, fd, buf, size, len);
	share_fd_put(n);
	return (error);
}

int
share_statfs(struct share *s, struct share_node *n, struct share_statfs *st)
{
	int error, fd;

	if ((error = share_fd_get(s, n, &fd)) != 0)
		return (error);
	error = host_statfs(fd, st);
	share_fd_put(n);
	return (error);
}

int
share_syncfs(struct share *s)
{

	return (host_syncfs(s->host.rootfd));
}
