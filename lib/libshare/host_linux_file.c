/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Linux: open files and directories, record locks that belong to an open
 * file, and extended attributes.
 */

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host.h"
#include "host_linux.h"

#define	OFF_MAX		INT64_MAX

int
host_fallocate(int fd, uint32_t flags, uint64_t off, uint64_t len)
{
	static const struct {
		uint32_t	share;
		int		mode;
	} map[] = {
		{ SHARE_F_KEEP_SIZE, FALLOC_FL_KEEP_SIZE },
		{ SHARE_F_PUNCH_HOLE, FALLOC_FL_PUNCH_HOLE },
		{ SHARE_F_COLLAPSE, FALLOC_FL_COLLAPSE_RANGE },
		{ SHARE_F_ZERO, FALLOC_FL_ZERO_RANGE },
		{ SHARE_F_INSERT, FALLOC_FL_INSERT_RANGE },
		{ SHARE_F_UNSHARE, FALLOC_FL_UNSHARE_RANGE }
	};
	size_t i;
	int mode;

	mode = 0;
	for (i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		if ((flags & map[i].share) != 0) {
			mode |= map[i].mode;
			flags &= ~map[i].share;
		}
	if (flags != 0)
		return (EOPNOTSUPP);
	if (off > OFF_MAX || len > OFF_MAX)
		return (EFBIG);
	return (fallocate(fd, mode, (off_t)off, (off_t)len) == -1 ?
	    errno : 0);
}

int
host_copy(int in, uint64_t inoff, int out, uint64_t outoff, uint64_t len,
    uint64_t *np)
{
	off_t from, to;
	ssize_t n;

	if (inoff > OFF_MAX || outoff > OFF_MAX)
		return (EINVAL);
	from = (off_t)inoff;
	to = (off_t)outoff;
	if (len > OFF_MAX)
		len = OFF_MAX;
	if ((n = copy_file_range(in, &from, out, &to, len, 0)) == -1)
		return (errno);
	*np = (uint64_t)n;
	return (0);
}

/* Moves the descriptor's own place, which nothing else uses. */
int
host_seek(int fd, uint64_t off, enum share_whence whence, uint64_t *np)
{
	off_t n;

	if (off > OFF_MAX)
		return (ENXIO);
	n = lseek(fd, (off_t)off, whence == SHARE_SEEK_DATA ? SEEK_DATA :
	    SEEK_HOLE);
	if (n == -1)
		return (errno);
	*np = (uint64_t)n;
	return (0);
}

int
host_datasync(int fd)
{

	return (fdatasync(fd) == -1 ? errno : 0);
}

int
host_syncfs(int fd)
{

	return (syncfs(fd) == -1 ? errno : 0);
}

static void
lock_to(struct flock *fl, enum share_lock_type type, uint64_t start,
    uint64_t end)
{

	memset(fl, 0, sizeof(*fl));
	fl->l_type = type == SHARE_RDLOCK ? F_RDLCK :
	    type == SHARE_WRLOCK ? F_WRLCK : F_UNLCK;
	fl->l_whence = SEEK_SET;
	fl->l_start = (off_t)start;
	fl->l_len = end >= OFF_MAX ? 0 : (off_t)(end - start + 1);
}

int
host_rlock(int fd, enum share_lock_type type, uint64_t start, uint64_t end)
{
	struct flock fl;

	if (start > OFF_MAX)
		return (EOVERFLOW);
	lock_to(&fl, type, start, end);
	if (fcntl(fd, F_OFD_SETLK, &fl) == -1)
		return (errno == EACCES ? EAGAIN : errno);
	return (0);
}

int
host_rlock_get(int fd, struct share_lock *l)
{
	struct flock fl;

	if (l->start > OFF_MAX)
		return (EOVERFLOW);
	lock_to(&fl, l->type, l->start, l->end);
	if (fcntl(fd, F_OFD_GETLK, &fl) == -1)
		return (errno);
	l->type = fl.l_type == F_RDLCK ? SHARE_RDLOCK :
	    fl.l_type == F_WRLCK ? SHARE_WRLOCK : SHARE_UNLOCK;
	if (l->type == SHARE_UNLOCK)
		return (0);
	l->start = (uint64_t)fl.l_start;
	l->end = fl.l_len == 0 ? UINT64_MAX :
	    l->start + (uint64_t)fl.l_len - 1;
	l->pid = fl.l_pid > 0 ? (uint32_t)fl.l_pid : 0;
	return (0);
}

int
host_getdents(int fd, void *buf, size_t size, size_t *len)
{
	ssize_t n;

	if ((n = getdents64(fd, buf, size)) == -1)
		return (errno);
	*len = (size_t)n;
	return (0);
}

size_t
host_dirent(const void *buf, size_t len, size_t off, struct share_dirent *de)
{
	const struct dirent64 *d;

	if (off >= len)
		return (0);
	d = (const void *)((const char *)buf + off);
	de->ino = d->d_ino;
	de->cookie = (uint64_t)d->d_off;
	de->type = d->d_type;
	de->name = d->d_name;
	de->namelen = (uint32_t)strlen(d->d_name);
	return (off + d->d_reclen);
}

/*
 * Extended attributes.  The calls that take a directory came with Linux
 * 6.13; before, a file or directory is opened, and anything else is reached
 * through the mounted /proc.
 */
#ifndef SYS_setxattrat
#define	SYS_setxattrat		463
#define	SYS_getxattrat		464
#define	SYS_listxattrat		465
#define	SYS_removexattrat	466
#endif

struct xattr_arg {
	uint64_t	value;
	uint32_t	size;
	uint32_t	flags;
};

bool
host_has_xattrat(const struct host *h)
{

	return (syscall(SYS_listxattrat, h->rootfd, ".", 0, NULL,
	    (size_t)0) != -1 || errno != ENOSYS);
}

/* Open it to get at its attributes, or tell its name in /proc. */
struct xattr_way {
	int	fd;
	char	path[32];
};

static int
way_open(const struct host *h, int fd, uint32_t type, struct xattr_way *w)
{

	w->fd = -1;
	if (type == S_IFREG || type == S_IFDIR)
		return (host_reopen(h, fd, O_RDONLY, &w->fd));
	(void)snprintf(w->path, sizeof(w->path), "/proc/self/fd/%d", fd);
	return (0);
}

static int
way_close(struct xattr_way *w, ssize_t n, size_t *len)
{
	int error;

	error = n == -1 ? errno : 0;
	if (w->fd != -1)
		(void)close(w->fd);
	if (error == 0 && len != NULL)
		*len = (size_t)n;
	return (error);
}

int
host_getxattr(const struct host *h, int fd, uint32_t type, const char *name,
    void *buf, size_t size, size_t *len)
{
	char pn[HOST_PROC_NAME];
	struct xattr_arg a = { (uintptr_t)buf, (uint32_t)size, 0 };
	struct xattr_way w = { .fd = -1 };
	int error;

	if (h->xattrat) {
		host_proc_name(fd, pn);
		return (way_close(&w, syscall(SYS_getxattrat, h->procfd, pn,
		    0, name, &a, sizeof(a)), len));
	}
	if ((error = way_open(h, fd, type, &w)) != 0)
		return (error);
	return (way_close(&w, w.fd != -1 ? fgetxattr(w.fd, name, buf, size) :
	    getxattr(w.path, name, buf, size), len));
}

int
host_listxattr(const struct host *h, int fd, uint32_t type, char *buf,
    size_t size, size_t *len)
{
	char pn[HOST_PROC_NAME];
	struct xattr_way w = { .fd = -1 };
	int error;

	if (h->xattrat) {
		host_proc_name(fd, pn);
		return (way_close(&w, syscall(SYS_listxattrat, h->procfd, pn,
		    0, buf, size), len));
	}
	if ((error = way_open(h, fd, type, &w)) != 0)
		return (error);
	return (way_close(&w, w.fd != -1 ? flistxattr(w.fd, buf, size) :
	    listxattr(w.path, buf, size), len));
}

int
host_setxattr(const struct host *h, int fd, uint32_t type, const char *name,
    const void *value, size_t size, uint32_t flags)
{
	char pn[HOST_PROC_NAME];
	struct xattr_arg a = { (uintptr_t)value, (uint32_t)size, 0 };
	struct xattr_way w = { .fd = -1 };
	int error, f;

	f = (flags & SHARE_X_CREATE) != 0 ? XATTR_CREATE : 0;
	f |= (flags & SHARE_X_REPLACE) != 0 ? XATTR_REPLACE : 0;
	if (h->xattrat) {
		a.flags = (uint32_t)f;
		host_proc_name(fd, pn);
		return (way_close(&w, syscall(SYS_setxattrat, h->procfd, pn,
		    0, name, &a, sizeof(a)), NULL));
	}
	if ((error = way_open(h, fd, type, &w)) != 0)
		return (error);
	return (way_close(&w, w.fd != -1 ?
	    fsetxattr(w.fd, name, value, size, f) :
	    setxattr(w.path, name, value, size, f), NULL));
}

int
host_removexattr(const struct host *h, int fd, uint32_t type,
    const char *name)
{
	char pn[HOST_PROC_NAME];
	struct xattr_way w = { .fd = -1 };
	int error;

	if (h->xattrat) {
		host_proc_name(fd, pn);
		return (way_close(&w, syscall(SYS_removexattrat, h->procfd,
		    pn, 0, name), NULL));
	}
	if ((error = way_open(h, fd, type, &w)) != 0)
		return (error);
	return (way_close(&w, w.fd != -1 ? fremovexattr(w.fd, name) :
	    removexattr(w.path, name), NULL));
}

int
host_nodata(void)
{

	return (ENODATA);
}
