/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The file server of the tests: operations on names and on attributes.
 */

#include <sys/types.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "fsops_internal.h"

/*
 * Names.
 */
typedef int hook_fn(struct undo *, struct undo_op *, const struct undo_ref *);

/* What a new name will be. */
struct make {
	mode_t		 mode;
	dev_t		 dev;
	const char	*target;
};

static int
make_call(const struct place *p, const struct make *m)
{

	if (m->target != NULL)
		return (symlinkat(m->target, p->dirfd, p->name));
	if (S_ISDIR(m->mode))
		return (mkdirat(p->dirfd, p->name, m->mode & 07777));
	return (mknodat(p->dirfd, p->name, m->mode, m->dev));
}

static int
make(struct fsops *fs, const char *path, hook_fn *hook, const struct make *m)
{
	struct undo_op op;
	struct undo_ref r;
	struct place p;
	int error;

	if ((error = srv_place_want(fs, path, false, &p)) != 0)
		return (error);
	r = srv_place_name(fs, &p);
	if (fs->undo == NULL ||
	    (error = said(fs, hook(fs->undo, &op, &r))) == 0)
		error = came_to(fs, &op, make_call(&p, m));
	srv_place_put(fs, &p);
	return (error);
}

int
fsops_mkdir(struct fsops *fs, const char *path, mode_t mode)
{
	struct make m = { .mode = S_IFDIR | mode };

	return (make(fs, path, undo_pre_mkdir, &m));
}

int
fsops_mknod(struct fsops *fs, const char *path, mode_t mode, dev_t dev)
{
	struct make m = { .mode = mode, .dev = dev };

	return (make(fs, path, undo_pre_mknod, &m));
}

int
fsops_symlink(struct fsops *fs, const char *target, const char *path)
{
	struct make m = { .target = target };

	return (make(fs, path, undo_pre_symlink, &m));
}

int
fsops_link(struct fsops *fs, const char *from, const char *to)
{
	struct undo_op op;
	struct undo_ref r, target;
	struct place p, q;
	int error;

	if ((error = srv_place_want(fs, from, true, &p)) != 0)
		return (error);
	if (S_ISDIR(p.sb.st_mode) && (fs->how & FSOPS_UNCHECKED) == 0) {
		error = EPERM;
		goto err0;
	}
	if ((error = srv_place_want(fs, to, false, &q)) != 0)
		goto err0;
	target = srv_place_ref(fs, &p, p.obj != NULL ? p.obj->fd : -1);
	r = srv_place_name(fs, &q);
	if (fs->undo == NULL ||
	    (error = said(fs, undo_pre_link(fs->undo, &op, &r, &target))) == 0)
		error = came_to(fs, &op, srv_still(&p) == -1 ? -1 :
		    linkat(p.dirfd, p.name, q.dirfd, q.name, 0));
	srv_place_put(fs, &q);
err0:
	srv_place_put(fs, &p);
	return (error);
}

int
fsops_relink(struct fsops *fs, struct fsops_file *f, const char *to)
{
	struct undo_op op;
	struct undo_ref r, target;
	struct place p, q;
	int error;

	if ((error = srv_place_want(fs, to, false, &q)) != 0)
		return (error);
	target = srv_file_ref(fs, f, &p);
	r = srv_place_name(fs, &q);
	if (fs->undo == NULL ||
	    (error = said(fs, undo_pre_link(fs->undo, &op, &r, &target))) == 0)
		error = came_to(fs, &op, plat_linkfd(f->fd, q.dirfd, q.name));
	srv_place_put(fs, &p);
	srv_place_put(fs, &q);
	return (error);
}

int
fsops_unlink(struct fsops *fs, const char *path)
{
	struct undo_op op;
	struct undo_ref r;
	struct place p;
	bool taken;
	int error;

	if ((error = srv_place_want(fs, path, true, &p)) != 0)
		return (error);
	taken = false;
	r = srv_place_ref(fs, &p, p.obj != NULL ? p.obj->fd : -1);
	if (S_ISDIR(p.sb.st_mode) && (fs->how & FSOPS_UNCHECKED) == 0)
		error = EISDIR;
	else if (fs->undo == NULL ||
	    (error = said(fs, undo_pre_unlink(fs->undo, &op, &r, &taken))) == 0)
		error = came_to(fs, &op,
		    taken ? 0 : unlinkat(p.dirfd, p.name, 0));
	srv_place_put(fs, &p);
	return (error);
}

int
fsops_rmdir(struct fsops *fs, const char *path)
{
	struct undo_op op;
	struct undo_ref r;
	struct place p;
	int error;

	if ((error = srv_place_want(fs, path, true, &p)) != 0)
		return (error);
	r = srv_place_ref(fs, &p, p.obj != NULL ? p.obj->fd : -1);
	if (!S_ISDIR(p.sb.st_mode) && (fs->how & FSOPS_UNCHECKED) == 0)
		error = ENOTDIR;
	else if (fs->undo == NULL ||
	    (error = said(fs, undo_pre_rmdir(fs->undo, &op, &r))) == 0)
		error = came_to(fs, &op,
		    unlinkat(p.dirfd, p.name, AT_REMOVEDIR));
	srv_place_put(fs, &p);
	return (error);
}

int
fsops_rename(struct fsops *fs, const char *from, const char *to,
    unsigned int flags)
{
	struct undo_op op;
	struct undo_ref r, s;
	struct place p, q;
	int error;

	if ((error = srv_place_want(fs, from, true, &p)) != 0)
		return (error);
	if ((error = srv_place_get(fs, to, &q)) != 0)
		goto err0;
	if ((fs->how & FSOPS_UNCHECKED) == 0) {
		if (flags & UNDO_NOREPLACE && q.there)
			error = EEXIST;
		else if (flags & UNDO_EXCHANGE && !q.there)
			error = ENOENT;
		if (error != 0)
			goto err1;
	}
	r = srv_place_ref(fs, &p, p.obj != NULL ? p.obj->fd : -1);
	s = srv_place_name(fs, &q);
	if (fs->undo == NULL ||
	    (error = said(fs, undo_pre_rename(fs->undo, &op, &r, &s,
	    flags))) == 0)
		error = came_to(fs, &op, plat_rename(p.dirfd, p.name, q.dirfd,
		    q.name, flags));
err1:
	srv_place_put(fs, &q);
err0:
	srv_place_put(fs, &p);
	return (error);
}

/*
 * Attributes.
 */

/* Begin a change of ${path}'s attributes; on success the place is open. */
static int
attr_begin(struct fsops *fs, const char *path, bool trunc, struct place *p,
    struct undo_op *op)
{
	struct undo_ref r;
	int error;

	if ((error = srv_place_want(fs, path, true, p)) != 0)
		return (error);
	r = srv_place_ref(fs, p, p->obj != NULL && !trunc ? p->obj->fd : -1);
	if (fs->undo != NULL &&
	    (error = said(fs, undo_pre_setattr(fs->undo, op, &r, trunc))) != 0)
		srv_place_put(fs, p);
	return (error);
}

int
fsops_truncate(struct fsops *fs, const char *path, off_t size)
{
	struct undo_op op;
	struct place p;
	int error, fd;

	if ((error = attr_begin(fs, path, true, &p, &op)) != 0)
		return (error);
	fd = srv_still(&p) == -1 ? -1 : openat(p.dirfd, p.name,
	    O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	error = came_to(fs, &op, fd == -1 ? -1 : ftruncate(fd, size));
	if (fd != -1)
		(void)close(fd);
	srv_place_put(fs, &p);
	return (error);
}

int
fsops_chmod(struct fsops *fs, const char *path, mode_t mode)
{
	struct undo_op op;
	struct place p;
	int error;

	if ((error = srv_place_get(fs, path, &p)) != 0)
		return (error);
	error = p.there && S_ISLNK(p.sb.st_mode) ? EOPNOTSUPP : 0;
	srv_place_put(fs, &p);
	if (error != 0 ||
	    (error = attr_begin(fs, path, false, &p, &op)) != 0)
		return (error);
	error = came_to(fs, &op, srv_still(&p) == -1 ? -1 :
	    *p.name == '\0' ? fchmod(p.dirfd, mode) :
	    fchmodat(p.dirfd, p.name, mode, 0));
	srv_place_put(fs, &p);
	return (error);
}

int
fsops_chown(struct fsops *fs, const char *path, uid_t uid, gid_t gid)
{
	struct undo_op op;
	struct place p;
	int error;

	if ((error = attr_begin(fs, path, false, &p, &op)) != 0)
		return (error);
	error = came_to(fs, &op, srv_still(&p) == -1 ? -1 :
	    *p.name == '\0' ? fchown(p.dirfd, uid, gid) :
	    fchownat(p.dirfd, p.name, uid, gid, AT_SYMLINK_NOFOLLOW));
	srv_place_put(fs, &p);
	return (error);
}

int
fsops_utimens(struct fsops *fs, const char *path, const struct timespec t[2])
{
	struct undo_op op;
	struct place p;
	int error;

	if ((error = attr_begin(fs, path, false, &p, &op)) != 0)
		return (error);
	error = came_to(fs, &op, srv_still(&p) == -1 ? -1 :
	    *p.name == '\0' ? futimens(p.dirfd, t) :
	    utimensat(p.dirfd, p.name, t, AT_SYMLINK_NOFOLLOW));
	srv_place_put(fs, &p);
	return (error);
}

/* Set an attribute, or with ${val} NULL remove it. */
static int
xattr_change(struct fsops *fs, const char *path, const char *attr,
    const void *val, size_t len)
{
	struct undo_op op;
	struct undo_ref r;
	struct place p;
	int error;

	if ((error = srv_place_want(fs, path, true, &p)) != 0)
		return (error);
	r = srv_place_ref(fs, &p, p.obj != NULL ? p.obj->fd : -1);
	if (fs->undo == NULL ||
	    (error = said(fs, undo_pre_xattr(fs->undo, &op, &r))) == 0)
		error = came_to(fs, &op, srv_still(&p) == -1 ? -1 :
		    val == NULL ? plat_xattr_remove(p.dirfd, p.name, attr) :
		    plat_xattr_set(p.dirfd, p.name, attr, val, len));
	srv_place_put(fs, &p);
	return (error);
}

int
fsops_setxattr(struct fsops *fs, const char *path, const char *attr,
    const void *val, size_t len)
{

	return (xattr_change(fs, path, attr, val, len));
}

int
fsops_removexattr(struct fsops *fs, const char *path, const char *attr)
{

	return (xattr_change(fs, path, attr, NULL, 0));
}
