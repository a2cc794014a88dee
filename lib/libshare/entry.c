/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Names in directories: finding, making and removing them.  Each function
 * works in the one directory whose descriptor it holds, with one component;
 * "." and ".." never reach the system.
 */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "share_internal.h"

bool
share_name_dots(const char *name)
{

	return (strcmp(name, ".") == 0 || strcmp(name, "..") == 0);
}

/* A directory and a component that is to be made or removed there. */
int
share_entry_begin(struct share *s, struct share_node *dir, const char *name,
    int dots, int *fdp)
{
	int error;

	if (dir->type != S_IFDIR)
		return (ENOTDIR);
	if ((error = share_name_check(name)) != 0)
		return (error);
	if (share_name_dots(name))
		return (dots);
	if (atomic_load(&s->readonly))
		return (EROFS);
	return (share_fd_get(s, dir, fdp));
}

static int
lookup_dots(struct share *s, struct share_node *dir, const char *name,
    struct share_node **np, struct share_attr *a)
{
	char ignore[SHARE_NAME_MAX + 1];
	struct share_node *n;
	int error;

	n = dir;
	if (strcmp(name, "..") == 0 && dir != s->root) {
		if (share_name(s, dir, &n, ignore) != 0)
			return (ESTALE);
	} else
		share_hold(n);
	if ((error = share_getattr(s, n, NULL, a)) != 0) {
		share_put(s, n);
		return (error);
	}
	*np = n;
	return (0);
}

/* A node for what is there now, whatever was there before. */
int
share_entry_node(struct share *s, struct share_node *dir, int dirfd,
    const char *name, struct share_node **np, struct host_stat *st)
{
	int error, fd;

	if ((error = host_node_open(&s->host, dirfd, name, &fd)) != 0)
		return (error);
	if ((error = host_stat_fd(&s->host, fd, st)) != 0) {
		(void)close(fd);
		return (error);
	}
	return (share_node_get(s, st, fd, dir, name, np));
}

int
share_lookup(struct share *s, const struct share_cred *c,
    struct share_node *dir, const char *name, struct share_node **np,
    struct share_attr *a)
{
	struct host_saved saved;
	struct host_stat st;
	struct share_node *n;
	int error, fd;

	if (dir->type != S_IFDIR)
		return (ENOTDIR);
	if ((error = share_name_check(name)) != 0)
		return (error);
	if (share_name_dots(name))
		return (lookup_dots(s, dir, name, np, a));
	if ((error = share_fd_get(s, dir, &fd)) != 0)
		return (error);
	if ((error = share_enter(s, c, false, &saved)) != 0)
		goto out;
	error = host_stat_name(&s->host, fd, name, &st);
	n = NULL;
	if (error == 0 && (n = share_node_known(s, &st)) != NULL)
		share_name_seen(s, n, dir, name);
	else if (error == 0)
		error = share_entry_node(s, dir, fd, name, &n, &st);
	share_leave(s, &saved);
	if (error == 0) {
		share_attr_fill(s, n, &st, a);
		*np = n;
	}
out:
	share_fd_put(dir);
	return (error);
}

/* What is to be made; mode with its S_IFMT tells which. */
struct made {
	uint32_t	 mode;
	uint32_t	 major;
	uint32_t	 minor;
	const char	*target;
};

static int
make_announce(struct share *s, struct change *ch, const struct made *m,
    int dirfd, const char *name)
{
	struct undo_ref ref = { .path = ch->path, .dirfd = dirfd,
	    .name = name, .fd = -1 };
	int error;

	if (s->undo == NULL)
		return (0);
	switch (m->mode & S_IFMT) {
	case S_IFDIR:
		error = undo_pre_mkdir(s->undo, &ch->op, &ref);
		break;
	case S_IFLNK:
		error = undo_pre_symlink(s->undo, &ch->op, &ref);
		break;
	case S_IFREG:
		error = undo_pre_create(s->undo, &ch->op, &ref);
		break;
	default:
		error = undo_pre_mknod(s->undo, &ch->op, &ref);
		break;
	}
	ch->announced = error == 0;
	return (error);
}

static int
make_do(struct share *s, const struct made *m, int dirfd, const char *name)
{

	switch (m->mode & S_IFMT) {
	case S_IFDIR:
		return (host_mkdir(&s->host, dirfd, name, m->mode & 07777));
	case S_IFLNK:
		return (host_symlink(&s->host, m->target, dirfd, name));
	default:
		return (host_mknod(&s->host, dirfd, name, m->mode, m->major,
		    m->minor));
	}
}

static int
make(struct share *s, const struct share_cred *c, struct share_node *dir,
    const char *name, const struct made *m, struct share_node **np,
    struct share_attr *a)
{
	struct host_saved saved;
	struct share_node *n;
	struct host_stat st;
	struct change ch;
	int error, fd;

	if ((error = share_entry_begin(s, dir, name, EEXIST, &fd)) != 0)
		return (error);
	n = NULL;
	if ((error = share_change_name(s, &ch, dir, name,
	    SHARE_CH_CREATE)) != 0 ||
	    (error = make_announce(s, &ch, m, fd, name)) != 0)
		goto out;
	if ((error = share_enter(s, c, true, &saved)) == 0) {
		error = make_do(s, m, fd, name);
		share_leave(s, &saved);
	}
	if (error != 0) {
		(void)share_change_end(&ch, error);
		goto out;
	}
	if ((error = share_entry_node(s, dir, fd, name, &n, &st)) == 0)
		error = share_give(s, c, n, m->mode, &st);
	(void)share_change_end(&ch, 0);
out:
	share_fd_put(dir);
	if (error != 0) {
		share_put(s, n);
		return (error);
	}
	share_attr_fill(s, n, &st, a);
	*np = n;
	return (0);
}

int
share_mkdir(struct share *s, const struct share_cred *c,
    struct share_node *dir, const char *name, uint32_t mode,
    struct share_node **np, struct share_attr *a)
{
	struct made m = { .mode = S_IFDIR | (mode & 07777) };

	return (make(s, c, dir, name, &m, np, a));
}

int
share_mknod(struct share *s, const struct share_cred *c,
    struct share_node *dir, const char *name, uint32_t mode, uint32_t major,
    uint32_t minor, struct share_node **np, struct share_attr *a)
{
	struct made m = { .mode = share_file_mode(s, mode & (S_IFMT | 07777)),
	    .major = major, .minor = minor };

	switch (mode & S_IFMT) {
	case S_IFREG:
	case S_IFIFO:
	case S_IFSOCK:
		m.major = m.minor = 0;
		break;
	case S_IFCHR:
	case S_IFBLK:
		if (!s->o.devices)
			return (EPERM);
		break;
	default:
		return (EINVAL);
	}
	return (make(s, c, dir, name, &m, np, a));
}

int
share_symlink(struct share *s, const struct share_cred *c,
    struct share_node *dir, const char *name, const char *target,
    struct share_node **np, struct share_attr *a)
{
	struct made m = { .mode = S_IFLNK | 0777, .target = target };

	return (make(s, c, dir, name, &m, np, a));
}

static int
link_at(struct share *s, const struct share_cred *c, struct share_node *n,
    int fd, struct share_node *dir, int dirfd, const char *name)
{
	struct undo_ref ref = { .dirfd = dirfd, .name = name, .fd = -1 };
	struct undo_ref to = { .dirfd = -1, .fd = fd };
	char path[SHARE_PATH_MAX];
	struct host_saved saved;
	struct change ch;
	int error;

	if ((error = share_change_name(s, &ch, dir, name,
	    SHARE_CH_CREATE)) != 0)
		return (error);
	if (s->undo != NULL) {
		ref.path = ch.path;
		if (share_path(s, n, path, sizeof(path)) == 0)
			to.path = path;
		to.seen = &n->seen;
		error = undo_pre_link(s->undo, &ch.op, &ref, &to);
		if (error != 0)
			return (error);
		ch.announced = true;
	}
	if ((error = share_enter(s, c, false, &saved)) == 0) {
		error = host_link(&s->host, fd, dirfd, name);
		share_leave(s, &saved);
	}
	return (share_change_end(&ch, error));
}

int
share_link(struct share *s, const struct share_cred *c, struct share_node *n,
    struct share_node *dir, const char *name, struct share_attr *a)
{
	int dirfd, error, fd;

	if (n->type == S_IFDIR)
		return (EPERM);
	if ((error = share_entry_begin(s, dir, name, EEXIST, &dirfd)) != 0)
		return (error);
	if ((error = share_fd_get(s, n, &fd)) != 0)
		goto err0;
	/* What only libundo still has is gone for the client. */
	if (atomic_load(&n->unlinked) &&
	    (error = share_getattr(s, n, NULL, a)) == 0 && a->nlink == 0)
		error = ENOENT;
	if (error == 0)
		error = link_at(s, c, n, fd, dir, dirfd, name);
	if (error == 0) {
		share_name_seen(s, n, dir, name);
		error = share_getattr(s, n, NULL, a);
	}
	if (error == 0)
		share_hold(n);
	share_fd_put(n);
err0:
	share_fd_put(dir);
	return (error);
}

/*
 * What is about to lose a name.  If it may be its last, its node, when there
 * is one, keeps its descriptor from now on: there may be no way back to it.
 */
struct share_node *
share_doomed(struct share *s, const struct host_stat *st, bool *pinned)
{
	struct share_node *n;
	int fd;

	if ((n = share_node_known(s, st)) == NULL)
		return (NULL);
	if (share_fd_get(s, n, &fd) != 0) {
		share_put(s, n);
		return (NULL);
	}
	*pinned = (st->nlink <= 1 || n->type == S_IFDIR ||
	    !s->host.handles) && !atomic_exchange(&n->pinned, true);
	share_fd_put(n);
	return (n);
}

/* It has lost it, or not. */
void
share_doom(struct share *s, struct share_node *n, bool pinned, int error)
{

	if (n == NULL)
		return;
	if (error == 0)
		atomic_store(&n->unlinked, true);
	else if (pinned)
		atomic_store(&n->pinned, false);
	share_put(s, n);
}

/*
 * May the caller remove this name?  libundo takes files by the server's
 * rights, so the kernel must be asked before, in the caller's name.
 */
static int
may_remove(struct share *s, const struct share_cred *c, int dirfd,
    const struct host_stat *st)
{
	struct host_saved saved;
	struct host_stat dst;
	uint32_t uid;
	int error, fd;

	if (s->o.checks != SHARE_CHECK_HERE || c->uid == 0)
		return (0);
	if ((error = host_stat_fd(&s->host, dirfd, &dst)) != 0 ||
	    (error = share_uid_in(s, c->uid, &uid)) != 0 ||
	    (error = host_node_dup(&s->host, dirfd, &fd)) != 0)
		return (error);
	if ((error = share_enter(s, c, false, &saved)) == 0) {
		error = host_access(&s->host, fd, 3);
		share_leave(s, &saved);
	}
	(void)close(fd);
	if (error == 0 && (dst.mode & S_ISVTX) != 0 && st->uid != uid &&
	    dst.uid != uid)
		error = EPERM;
	return (error);
}

static int
remove_at(struct share *s, const struct share_cred *c, struct share_node *dir,
    int dirfd, const char *name, bool isdir)
{
	struct undo_ref ref = { .dirfd = dirfd, .name = name, .fd = -1 };
	struct host_saved saved;
	struct change ch;
	bool taken;
	int error;

	if ((error = share_change_name(s, &ch, dir, name,
	    SHARE_CH_REMOVE)) != 0)
		return (error);
	taken = false;
	if (s->undo != NULL) {
		ref.path = ch.path;
		error = isdir ? undo_pre_rmdir(s->undo, &ch.op, &ref) :
		    undo_pre_unlink(s->undo, &ch.op, &ref, &taken);
		if (error != 0)
			return (error);
		ch.announced = true;
	}
	if (!taken && (error = share_enter(s, c, false, &saved)) == 0) {
		if (unlinkat(dirfd, name, isdir ? AT_REMOVEDIR : 0) == -1)
			error = errno;
		share_leave(s, &saved);
	}
	return (share_change_end(&ch, error));
}

static int
remove_name(struct share *s, const struct share_cred *c,
    struct share_node *dir, const char *name, bool isdir)
{
	struct host_stat st;
	struct share_node *n;
	bool pinned;
	int dots, error, fd;

	dots = !isdir ? EISDIR : strcmp(name, ".") == 0 ? EINVAL : ENOTEMPTY;
	if ((error = share_entry_begin(s, dir, name, dots, &fd)) != 0)
		return (error);
	n = NULL;
	pinned = false;
	if ((error = host_stat_name(&s->host, fd, name, &st)) != 0)
		error = error == EXDEV ? EBUSY : error;
	else if (isdir && !S_ISDIR(st.mode))
		error = ENOTDIR;
	else if (!isdir && S_ISDIR(st.mode))
		error = EISDIR;
	else if ((error = may_remove(s, c, fd, &st)) == 0) {
		n = share_doomed(s, &st, &pinned);
		error = remove_at(s, c, dir, fd, name, isdir);
	}
	if (error == 0 && n != NULL)
		share_name_gone(s, n, dir, name);
	share_doom(s, n, pinned, error);
	share_fd_put(dir);
	return (error);
}

int
share_unlink(struct share *s, const struct share_cred *c,
    struct share_node *dir, const char *name)
{

	return (remove_name(s, c, dir, name, false));
}

int
share_rmdir(struct share *s, const struct share_cred *c,
    struct share_node *dir, const char *name)
{

	return (remove_name(s, c, dir, name, true));
}
