/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * os.h for Linux.
 */

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/openat2.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "os.h"
#include "sys.h"

#ifndef XFS_SUPER_MAGIC
#define	XFS_SUPER_MAGIC	0x58465342
#endif
#ifndef SYS_cachestat
#define	SYS_cachestat	451	/* the same everywhere */
#endif
#ifndef FICLONE
#define	FICLONE	_IOW(0x94, 9, int)
#endif
#ifndef RENAME_NOREPLACE
#define	RENAME_NOREPLACE	1
#define	RENAME_EXCHANGE		2
#endif

int
os_open_beneath(int dir, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned int)(flags | O_CLOEXEC |
		    O_NOFOLLOW),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
		    RESOLVE_NO_MAGICLINKS
	};
	int r;

	do
		SYS_CALL(r, "openat2", (int)syscall(SYS_openat2, dir, path,
		    &how, sizeof(how)));
	while (r == -1 && errno == EAGAIN);
	if (r == -1 && (errno == ENOSYS || errno == EPERM))
		return (os_open_walk(dir, path, flags));
	return (r);
}

int
os_reopen(int fd, int flags)
{
	char path[40];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return (sys_openat(AT_FDCWD, path, flags, 0));
}

static int
rename2(int dir, const char *name, int todir, const char *to,
    unsigned int flags)
{
	int r;

	SYS_CALL(r, "renameat2",
	    (int)syscall(SYS_renameat2, dir, name, todir, to, flags));
	if (r == 0)
		return (0);
	return (errno == EINVAL || errno == ENOSYS ? EOPNOTSUPP : errno);
}

int
os_rename_new(int dir, const char *name, int todir, const char *to)
{

	return (rename2(dir, name, todir, to, RENAME_NOREPLACE));
}

int
os_rename_swap(int dir, const char *name, int todir, const char *to)
{

	return (rename2(dir, name, todir, to, RENAME_EXCHANGE));
}

static int
clone_error(void)
{

	switch (errno) {
	case EXDEV:
	case EINVAL:
	case ENOTTY:
	case ENOSYS:
	case EPERM:
	case ETXTBSY:
		return (EOPNOTSUPP);
	}
	return (errno);
}

int
os_clone_into(int src, int dst)
{
	int r;

	SYS_CALL(r, "ficlone", ioctl(dst, FICLONE, src));
	return (r == 0 ? 0 : clone_error());
}

int
os_clone_range(int src, int dst, off_t off, size_t len)
{
	struct file_clone_range range = {
		.src_fd = src, .src_length = len, .dest_offset = (uint64_t)off
	};
	int r;

	SYS_CALL(r, "ficlonerange", ioctl(dst, FICLONERANGE, &range));
	return (r == 0 ? 0 : clone_error());
}

bool
os_clean(int fd, size_t len)
{
	struct {
		uint64_t	 off;
		uint64_t	 len;
	} range = { 0, len };
	struct {
		uint64_t	 cached;
		uint64_t	 dirty;
		uint64_t	 writeback;
		uint64_t	 evicted;
		uint64_t	 recent;
	} stat;
	int r;

	SYS_CALL(r, "cachestat", (int)syscall(SYS_cachestat, fd, &range,
	    &stat, 0));
	return (r == 0 && stat.dirty == 0 && stat.writeback == 0);
}

int
os_clone_new(int src, int dir, const char *name, int *fdp)
{
	int error, fd;

	fd = sys_openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
	    0600);
	if (fd == -1)
		return (errno);
	if ((error = os_clone_into(src, fd)) != 0) {
		sys_close(fd);
		(void)sys_unlinkat(dir, name, 0);
		return (error);
	}
	*fdp = fd;
	return (0);
}

ssize_t
os_copy(int in, int out, off_t off, size_t len)
{
	off_t inoff, outoff;
	ssize_t r;

	inoff = outoff = off;
	SYS_CALL(r, "copy_file_range",
	    copy_file_range(in, &inoff, out, &outoff, len, 0));
	if (r == -1 && (errno == EXDEV || errno == EINVAL ||
	    errno == ENOSYS || errno == EBADF || errno == EPERM))
		errno = EOPNOTSUPP;
	return (r);
}

int
os_extent(int fd, off_t size, off_t off, off_t *start, off_t *end)
{

	*start = *end = size;
	if (off >= size)
		return (0);
	if ((*start = sys_lseek(fd, off, SEEK_DATA)) == -1) {
		*start = off;
		if (errno == ENXIO)
			*start = size;
		else if (errno != EINVAL)
			return (errno);
		return (0);
	}
	if (*start >= size) {
		*start = size;
		return (0);
	}
	if ((*end = sys_lseek(fd, *start, SEEK_HOLE)) == -1)
		return (errno);
	if (*end > size)
		*end = size;
	return (0);
}

bool
os_in_place(int fd)
{
	struct statfs fs;
	int r;

	SYS_CALL(r, "fstatfs", fstatfs(fd, &fs));
	if (r == -1)
		return (false);
	switch ((unsigned long)fs.f_type) {
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
	case TMPFS_MAGIC:
		return (true);
	}
	return (false);
}

int
os_preallocate(int fd, off_t off, off_t len)
{
	int r;

	if (!os_in_place(fd))
		return (EOPNOTSUPP);
	SYS_CALL(r, "fallocate", fallocate(fd, 0, off, len));
	if (r == 0)
		return (0);
	return (errno == ENOSYS ? EOPNOTSUPP : errno);
}

void
os_forget(void *p, size_t len)
{

	(void)madvise(p, len, MADV_DONTNEED);
}

int
os_fdpath(int root, int fd, char *buf, size_t size)
{
	char link[40], top[PATH_MAX], path[PATH_MAX];
	ssize_t n, m;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", root);
	if ((n = sys_readlinkat(AT_FDCWD, link, top, sizeof(top) - 1)) == -1)
		return (EOPNOTSUPP);
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if ((m = sys_readlinkat(AT_FDCWD, link, path, sizeof(path) - 1)) ==
	    -1)
		return (EOPNOTSUPP);
	if (n == (ssize_t)sizeof(top) - 1 || m == (ssize_t)sizeof(path) - 1)
		return (EOPNOTSUPP);
	path[m] = '\0';
	if (n == 1)
		n = 0;
	if (m < n || memcmp(path, top, (size_t)n) != 0 ||
	    (path[n] != '/' && path[n] != '\0'))
		return (ENOENT);
	if ((size_t)(m - n) >= size)
		return (EOPNOTSUPP);
	(void)snprintf(buf, size, "%s", path + n + (path[n] == '/'));
	return (0);
}

int
os_datasync(int fd)
{

	return (fdatasync(fd));
}

int
os_sync(int fd)
{
	int r;

	SYS_CALL(r, "syncfs", syncfs(fd));
	return (r == -1 ? errno : 0);
}

uint64_t
os_boot(void)
{
	char buf[64];
	uint64_t h;
	ssize_t i, n;
	int fd;

	fd = sys_openat(AT_FDCWD, "/proc/sys/kernel/random/boot_id",
	    O_RDONLY, 0);
	if (fd == -1)
		return (0);
	n = sys_read(fd, buf, sizeof(buf));
	sys_close(fd);
	for (h = 0, i = 0; i < n; i++)
		h = (h ^ (uint8_t)buf[i]) * UINT64_C(0x100000001b3);
	return (h);
}

int64_t
os_clock_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ((int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
}

/*
 * There are no calls relative to a directory before Linux 6.13, so what may
 * not be opened is reached through /proc, and has no attributes without it.
 */
static int
proc_path(const struct os_object *o, char *buf, size_t size)
{
	int n;

	n = snprintf(buf, size, "/proc/self/fd/%d/%s", o->dir, o->name);
	return (n < 0 || (size_t)n >= size ? ENAMETOOLONG : 0);
}

static int
xattr_result(ssize_t n, size_t size, size_t *len)
{

	if (n >= 0) {
		*len = (size_t)n;
		return (size == 0 && n > 0 ? ERANGE : 0);
	}
	*len = 0;
	return (errno);
}

int
os_xattr_list(const struct os_object *o, char *buf, size_t size, size_t *len)
{
	char path[NAME_MAX + 40];
	ssize_t n;
	int error;

	*len = 0;
	if (o->fd >= 0)
		SYS_CALL(n, "flistxattr", flistxattr(o->fd, buf, size));
	else {
		if (proc_path(o, path, sizeof(path)) != 0)
			return (0);
		SYS_CALL(n, "llistxattr", llistxattr(path, buf, size));
	}
	error = xattr_result(n, size, len);
	if (error == EOPNOTSUPP || error == ENOENT || error == EACCES ||
	    error == EPERM || error == ENOSYS)
		return (0);
	return (error);
}

int
os_xattr_get(const struct os_object *o, const char *name, void *buf,
    size_t size, size_t *len)
{
	char path[NAME_MAX + 40];
	ssize_t n;

	*len = 0;
	if (o->fd >= 0)
		SYS_CALL(n, "fgetxattr", fgetxattr(o->fd, name, buf, size));
	else {
		if (proc_path(o, path, sizeof(path)) != 0)
			return (ENODATA);
		SYS_CALL(n, "lgetxattr", lgetxattr(path, name, buf, size));
	}
	return (xattr_result(n, size, len));
}

int
os_xattr_set(const struct os_object *o, const char *name, const void *value,
    size_t len)
{
	char path[NAME_MAX + 40];
	int error, r;

	if (o->fd >= 0)
		SYS_CALL(r, "fsetxattr",
		    fsetxattr(o->fd, name, value, len, 0));
	else {
		if ((error = proc_path(o, path, sizeof(path))) != 0)
			return (error);
		SYS_CALL(r, "lsetxattr",
		    lsetxattr(path, name, value, len, 0));
	}
	return (r == -1 ? errno : 0);
}

int
os_xattr_remove(const struct os_object *o, const char *name)
{
	char path[NAME_MAX + 40];
	int error, r;

	if (o->fd >= 0)
		SYS_CALL(r, "fremovexattr", fremovexattr(o->fd, name));
	else {
		if ((error = proc_path(o, path, sizeof(path))) != 0)
			return (error);
		SYS_CALL(r, "lremovexattr", lremovexattr(path, name));
	}
	if (r == -1 && errno != ENODATA)
		return (errno);
	return (0);
}
