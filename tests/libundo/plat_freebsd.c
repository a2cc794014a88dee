/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The FreeBSD side of plat.h.  Attributes go by descriptor, so that objects
 * which can't be opened have none.  There are no renames with flags and no
 * files born without a name.
 */

#include <sys/types.h>
#include <sys/extattr.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plat.h"

/* The namespace of ${attr}, and the name without it. */
static int
space_of(const char **attr)
{

	if (strncmp(*attr, "user.", 5) == 0) {
		*attr += 5;
		return (EXTATTR_NAMESPACE_USER);
	}
	if (strncmp(*attr, "trusted.", 8) == 0) {
		*attr += 8;
		return (EXTATTR_NAMESPACE_SYSTEM);
	}
	return (EXTATTR_NAMESPACE_EMPTY);
}

static int
object_open(int dirfd, const char *name)
{
	struct stat sb;

	if (*name == '\0')
		name = ".";
	if (fstatat(dirfd, name, &sb, AT_SYMLINK_NOFOLLOW) == -1)
		return (-1);
	if (!S_ISREG(sb.st_mode) && !S_ISDIR(sb.st_mode)) {
		errno = EOPNOTSUPP;
		return (-1);
	}
	return (openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
}

/* Turn the list of counted names into one of strings with a prefix. */
static ssize_t
list_space(int fd, int space, const char *prefix, char *buf, size_t size)
{
	unsigned char raw[8192];
	ssize_t i, n;
	size_t len, o;

	n = extattr_list_fd(fd, space, raw, sizeof(raw));
	if (n == -1)
		return (errno == EPERM || errno == EOPNOTSUPP ? 0 : -1);
	for (i = 0, o = 0; i < n; i += 1 + raw[i]) {
		len = strlen(prefix) + raw[i] + 1;
		if (o + len > size) {
			errno = ERANGE;
			return (-1);
		}
		(void)snprintf(buf + o, len, "%s%.*s", prefix, (int)raw[i],
		    (const char *)&raw[i + 1]);
		o += len;
	}
	return ((ssize_t)o);
}

ssize_t
plat_xattr_list(int dirfd, const char *name, char *buf, size_t size)
{
	ssize_t m, n;
	int fd;

	if ((fd = object_open(dirfd, name)) == -1)
		return (errno == EOPNOTSUPP ? 0 : -1);
	n = list_space(fd, EXTATTR_NAMESPACE_USER, "user.", buf, size);
	m = n == -1 ? -1 : list_space(fd, EXTATTR_NAMESPACE_SYSTEM,
	    "trusted.", buf + n, size - (size_t)n);
	(void)close(fd);
	return (m == -1 ? -1 : n + m);
}

ssize_t
plat_xattr_get(int dirfd, const char *name, const char *attr, void *buf,
    size_t size)
{
	ssize_t n;
	int fd, space;

	space = space_of(&attr);
	if ((fd = object_open(dirfd, name)) == -1)
		return (-1);
	n = extattr_get_fd(fd, space, attr, buf, size);
	(void)close(fd);
	return (n);
}

int
plat_xattr_set(int dirfd, const char *name, const char *attr, const void *buf,
    size_t size)
{
	ssize_t n;
	int fd, space;

	space = space_of(&attr);
	if ((fd = object_open(dirfd, name)) == -1)
		return (-1);
	n = extattr_set_fd(fd, space, attr, buf, size);
	(void)close(fd);
	return (n == -1 ? -1 : 0);
}

int
plat_xattr_remove(int dirfd, const char *name, const char *attr)
{
	int error, fd, space;

	space = space_of(&attr);
	if ((fd = object_open(dirfd, name)) == -1)
		return (-1);
	error = extattr_delete_fd(fd, space, attr);
	(void)close(fd);
	return (error);
}

bool
plat_xattr_special(bool dir, unsigned int i, const char **attr, void *val,
    size_t *len)
{

	(void)dir;
	(void)i;
	(void)attr;
	(void)val;
	(void)len;
	return (false);
}

int
plat_rename(int fromfd, const char *from, int tofd, const char *to,
    unsigned int flags)
{

	if (flags != 0) {
		errno = EOPNOTSUPP;
		return (-1);
	}
	return (renameat(fromfd, from, tofd, to));
}

int
plat_linkfd(int fd, int dirfd, const char *name)
{

	return (linkat(fd, "", dirfd, name, AT_EMPTY_PATH));
}

int
plat_tmpfile(int dirfd, mode_t mode)
{

	(void)dirfd;
	(void)mode;
	errno = EOPNOTSUPP;
	return (-1);
}

int
plat_allocate(int fd, enum plat_alloc how, off_t off, off_t len)
{
	struct spacectl_range r = { .r_offset = off, .r_len = len };

	switch (how) {
	case PLAT_EXTEND:
		errno = posix_fallocate(fd, off, len);
		return (errno == 0 ? 0 : -1);
	case PLAT_PUNCH:
		return (fspacectl(fd, SPACECTL_DEALLOC, &r, 0, NULL));
	default:
		errno = EOPNOTSUPP;
		return (-1);
	}
}

dev_t
plat_dev(unsigned int major, unsigned int minor)
{

	return (makedev(major, minor));
}

int
plat_name(int dirfd, const char *name)
{

	return (openat(dirfd, *name == '\0' ? "." : name,
	    O_PATH | O_NOFOLLOW | O_CLOEXEC));
}
