/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * FreeBSD: open files and directories, and extended attributes, which have
 * two namespaces: "user." and, for root, "system.".  There are no record
 * locks that belong to an open file, so the host's processes do not see
 * those of the client.
 */

#include <sys/types.h>
#include <sys/extattr.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "host.h"

#define	OFF_MAX		INT64_MAX

int
host_fallocate(int fd, uint32_t flags, uint64_t off, uint64_t len)
{
	struct spacectl_range r;

	if (off > OFF_MAX || len > OFF_MAX)
		return (EFBIG);
	if (flags == 0)
		return (posix_fallocate(fd, (off_t)off, (off_t)len));
	if (flags != (SHARE_F_KEEP_SIZE | SHARE_F_PUNCH_HOLE))
		return (EOPNOTSUPP);
	r.r_offset = (off_t)off;
	r.r_len = (off_t)len;
	return (fspacectl(fd, SPACECTL_DEALLOC, &r, 0, NULL) == -1 ?
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

	sync();
	return (fsync(fd) == -1 ? errno : 0);
}

int
host_rlock(int fd, enum share_lock_type type, uint64_t start, uint64_t end)
{

	(void)fd;
	(void)type;
	(void)start;
	(void)end;
	return (EOPNOTSUPP);
}

int
host_rlock_get(int fd, struct share_lock *l)
{

	(void)fd;
	(void)l;
	return (EOPNOTSUPP);
}

int
host_getdents(int fd, void *buf, size_t size, size_t *len)
{
	ssize_t n;
	off_t base;

	if ((n = getdirentries(fd, buf, size, &base)) == -1)
		return (errno);
	*len = (size_t)n;
	return (0);
}

size_t
host_dirent(const void *buf, size_t len, size_t off, struct share_dirent *de)
{
	const struct dirent *d;

	do {
		if (off >= len)
			return (0);
		d = (const void *)((const char *)buf + off);
		off += d->d_reclen;
	} while (d->d_fileno == 0);
	de->ino = d->d_fileno;
	de->cookie = (uint64_t)d->d_off;
	de->type = d->d_type;
	de->name = d->d_name;
	de->namelen = d->d_namlen;
	return (off);
}

/* The namespace that a Linux name means, and what is left of the name. */
static int
space_of(const char *name, int *space, const char **rest)
{

	if (strncmp(name, "user.", 5) == 0) {
		*space = EXTATTR_NAMESPACE_USER;
		*rest = name + 5;
		return (0);
	}
	if (strncmp(name, "system.", 7) == 0 &&
	    strncmp(name + 7, "posix_acl_", 10) != 0) {
		*space = EXTATTR_NAMESPACE_SYSTEM;
		*rest = name + 7;
		return (0);
	}
	return (EOPNOTSUPP);
}

int
host_getxattr(const struct host *h, int fd, uint32_t type, const char *name,
    void *buf, size_t size, size_t *len)
{
	const char *rest;
	ssize_t have, n;
	int error, space;

	(void)h;
	(void)type;
	if ((error = space_of(name, &space, &rest)) != 0)
		return (error);
	if ((have = extattr_get_fd(fd, space, rest, NULL, 0)) == -1)
		return (errno);
	*len = (size_t)have;
	if (size == 0)
		return (0);
	if ((size_t)have > size)
		return (ERANGE);
	if ((n = extattr_get_fd(fd, space, rest, buf, size)) == -1)
		return (errno);
	*len = (size_t)n;
	return (0);
}

/* Append one namespace's names, each with its prefix, to ${buf}. */
static int
list_space(int fd, int space, const char *prefix, char *buf, size_t size,
    size_t *len)
{
	unsigned char list[16384];
	size_t i, l, plen;
	ssize_t n;

	if ((n = extattr_list_fd(fd, space, list, sizeof(list))) == -1)
		return (errno == EPERM || errno == EOPNOTSUPP ? 0 : errno);
	plen = strlen(prefix);
	for (i = 0; i < (size_t)n; i += l + 1) {
		l = list[i];
		if (i + 1 + l > (size_t)n)
			break;
		if (*len + plen + l + 1 > size)
			return (ERANGE);
		memcpy(buf + *len, prefix, plen);
		memcpy(buf + *len + plen, list + i + 1, l);
		buf[*len + plen + l] = '\0';
		*len += plen + l + 1;
	}
	return (0);
}

int
host_listxattr(const struct host *h, int fd, uint32_t type, char *buf,
    size_t size, size_t *len)
{
	int error;

	(void)h;
	(void)type;
	*len = 0;
	error = list_space(fd, EXTATTR_NAMESPACE_USER, "user.", buf, size,
	    len);
	return (error);
}

int
host_setxattr(const struct host *h, int fd, uint32_t type, const char *name,
    const void *value, size_t size, uint32_t flags)
{
	const char *rest;
	int error, space;
	bool there;

	(void)h;
	(void)type;
	if ((error = space_of(name, &space, &rest)) != 0)
		return (error);
	if ((flags & (SHARE_X_CREATE | SHARE_X_REPLACE)) != 0) {
		there = extattr_get_fd(fd, space, rest, NULL, 0) != -1;
		if (there && (flags & SHARE_X_CREATE) != 0)
			return (EEXIST);
		if (!there && (flags & SHARE_X_REPLACE) != 0)
			return (ENOATTR);
	}
	return (extattr_set_fd(fd, space, rest, value, size) == -1 ?
	    errno : 0);
}

int
host_removexattr(const struct host *h, int fd, uint32_t type,
    const char *name)
{
	const char *rest;
	int error, space;

	(void)h;
	(void)type;
	if ((error = space_of(name, &space, &rest)) != 0)
		return (error);
	return (extattr_delete_fd(fd, space, rest) == -1 ? errno : 0);
}

int
host_nodata(void)
{

	return (ENOATTR);
}
