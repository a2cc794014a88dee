/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * os.h for macOS.  Access control lists are an attribute "acl.extended", in
 * the native external form.
 */

#include <sys/types.h>
#include <sys/acl.h>
#include <sys/attr.h>
#include <sys/clonefile.h>
#include <sys/mman.h>
#include <sys/stdio.h>
#include <sys/sysctl.h>
#include <sys/time.h>
#include <sys/xattr.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "os.h"
#include "sys.h"

#define	ACL_NAME	"acl.extended"

int
os_open_beneath(int dir, const char *path, int flags)
{
#ifdef O_NOFOLLOW_ANY
	return (sys_openat(dir, path, flags | O_NOFOLLOW_ANY, 0));
#else
	return (os_open_walk(dir, path, flags));
#endif
}

int
os_reopen(int fd, int flags)
{
	char path[40];

	(void)snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	return (sys_openat(AT_FDCWD, path, flags, 0));
}

static int
renamex(int dir, const char *name, int todir, const char *to,
    unsigned int flags)
{
	int r;

	SYS_CALL(r, "renameatx_np",
	    renameatx_np(dir, name, todir, to, flags));
	if (r == 0)
		return (0);
	return (errno == ENOTSUP || errno == EINVAL ? EOPNOTSUPP : errno);
}

int
os_rename_new(int dir, const char *name, int todir, const char *to)
{

	return (renamex(dir, name, todir, to, RENAME_EXCL));
}

int
os_rename_swap(int dir, const char *name, int todir, const char *to)
{

	return (renamex(dir, name, todir, to, RENAME_SWAP));
}

/* A clone is always another file. */
int
os_clone_into(int src, int dst)
{

	(void)src;
	(void)dst;
	return (EOPNOTSUPP);
}

int
os_clone_range(int src, int dst, off_t off, size_t len)
{

	(void)src;
	(void)dst;
	(void)off;
	(void)len;
	return (EOPNOTSUPP);
}

bool
os_clean(int fd, size_t len)
{

	(void)fd;
	(void)len;
	return (false);
}

int
os_clone_new(int src, int dir, const char *name, int *fdp)
{
	int r;

	*fdp = -1;
	SYS_CALL(r, "fclonefileat", fclonefileat(src, dir, name, 0));
	if (r == 0)
		return (0);
	return (errno == ENOTSUP || errno == EXDEV || errno == EINVAL ?
	    EOPNOTSUPP : errno);
}

ssize_t
os_copy(int in, int out, off_t off, size_t len)
{

	(void)in;
	(void)out;
	(void)off;
	(void)len;
	errno = EOPNOTSUPP;
	return (-1);
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
		else if (errno != EINVAL && errno != ENOTTY)
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

/* APFS never writes in place, so that space can't be promised. */
bool
os_in_place(int fd)
{

	(void)fd;
	return (false);
}

int
os_preallocate(int fd, off_t off, off_t len)
{

	(void)fd;
	(void)off;
	(void)len;
	return (EOPNOTSUPP);
}

void
os_forget(void *p, size_t len)
{

	(void)madvise(p, len, MADV_DONTNEED);
}

int
os_fdpath(int root, int fd, char *buf, size_t size)
{
	char top[PATH_MAX], path[PATH_MAX];
	size_t n;

	if (fcntl(root, F_GETPATH, top) == -1 ||
	    fcntl(fd, F_GETPATH, path) == -1)
		return (EOPNOTSUPP);
	n = strlen(top);
	if (n == 1)
		n = 0;
	if (strncmp(path, top, n) != 0 ||
	    (path[n] != '/' && path[n] != '\0'))
		return (ENOENT);
	if (strlcpy(buf, path + n + (path[n] == '/'), size) >= size)
		return (EOPNOTSUPP);
	return (0);
}

int
os_datasync(int fd)
{

	return (fcntl(fd, F_FULLFSYNC));
}

int
os_sync(int fd)
{

	sync();
	return (fcntl(fd, F_FULLFSYNC) == -1 ? errno : 0);
}

uint64_t
os_boot(void)
{
	struct timeval tv;
	size_t len;

	len = sizeof(tv);
	if (sysctlbyname("kern.boottime", &tv, &len, NULL, 0) == -1)
		return (0);
	return ((uint64_t)tv.tv_sec);
}

int64_t
os_clock_ms(void)
{

	return ((int64_t)(clock_gettime_nsec_np(
	    CLOCK_MONOTONIC_RAW_APPROX) / 1000000));
}

/*
 * Attributes.
 */
static int
result(ssize_t n, size_t size, size_t *len)
{

	*len = n < 0 ? 0 : (size_t)n;
	if (n < 0)
		return (errno);
	return (size == 0 && n > 0 ? ERANGE : 0);
}

static bool
has_acl(int fd)
{
	acl_entry_t entry;
	acl_t acl;
	bool has;

	if ((acl = acl_get_fd_np(fd, ACL_TYPE_EXTENDED)) == NULL)
		return (false);
	has = acl_get_entry(acl, ACL_FIRST_ENTRY, &entry) == 0;
	(void)acl_free(acl);
	return (has);
}

int
os_xattr_list(const struct os_object *o, char *buf, size_t size, size_t *len)
{
	ssize_t n;
	int error;

	*len = 0;
	if (o->fd < 0)
		return (0);
	SYS_CALL(n, "flistxattr", flistxattr(o->fd, buf, size, 0));
	error = result(n, size, len);
	if (error == ENOTSUP || error == EPERM || error == EACCES)
		error = 0;
	if (error != 0 || !has_acl(o->fd))
		return (error);
	if (*len + sizeof(ACL_NAME) > size)
		return (ERANGE);
	memcpy(buf + *len, ACL_NAME, sizeof(ACL_NAME));
	*len += sizeof(ACL_NAME);
	return (0);
}

static int
get_acl(int fd, void *buf, size_t size, size_t *len)
{
	acl_t acl;
	ssize_t n;
	int error;

	if ((acl = acl_get_fd_np(fd, ACL_TYPE_EXTENDED)) == NULL)
		return (ENOATTR);
	n = acl_size(acl);
	error = n < 0 ? errno : (size_t)n > size ? ERANGE : 0;
	if (error == 0 && acl_copy_ext_native(buf, acl, (ssize_t)size) == -1)
		error = errno;
	*len = n < 0 ? 0 : (size_t)n;
	(void)acl_free(acl);
	return (error);
}

int
os_xattr_get(const struct os_object *o, const char *name, void *buf,
    size_t size, size_t *len)
{
	ssize_t n;

	*len = 0;
	if (o->fd < 0)
		return (ENOATTR);
	if (strcmp(name, ACL_NAME) == 0)
		return (get_acl(o->fd, buf, size, len));
	SYS_CALL(n, "fgetxattr", fgetxattr(o->fd, name, buf, size, 0, 0));
	return (result(n, size, len));
}

static int
set_acl(int fd, const void *value)
{
	acl_t acl;
	int error;

	acl = value == NULL ? acl_init(0) : acl_copy_int_native(value);
	if (acl == NULL)
		return (errno);
	error = acl_set_fd_np(fd, acl, ACL_TYPE_EXTENDED) == -1 ? errno : 0;
	(void)acl_free(acl);
	return (error);
}

int
os_xattr_set(const struct os_object *o, const char *name, const void *value,
    size_t len)
{
	int r;

	if (o->fd < 0)
		return (EOPNOTSUPP);
	if (strcmp(name, ACL_NAME) == 0)
		return (set_acl(o->fd, value));
	SYS_CALL(r, "fsetxattr", fsetxattr(o->fd, name, value, len, 0, 0));
	return (r == -1 ? errno : 0);
}

int
os_xattr_remove(const struct os_object *o, const char *name)
{
	int r;

	if (o->fd < 0)
		return (EOPNOTSUPP);
	if (strcmp(name, ACL_NAME) == 0)
		return (set_acl(o->fd, NULL));
	SYS_CALL(r, "fremovexattr", fremovexattr(o->fd, name, 0));
	return (r == -1 && errno != ENOATTR ? errno : 0);
}
