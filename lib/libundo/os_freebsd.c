/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * os.h for FreeBSD.  Extended attributes are named after their namespace,
 * "user." or "system."; access control lists have names of their own,
 * "acl." and the kind, and are kept as text with numeric ids.
 */

#include <sys/param.h>
#include <sys/acl.h>
#include <sys/extattr.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sysctl.h>
#include <sys/time.h>
#include <sys/user.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "os.h"
#include "sys.h"

int
os_open_beneath(int dir, const char *path, int flags)
{
	int fd;

	fd = os_open_walk(dir, path, flags);
	/* What other systems say of a symbolic link in the way. */
	if (fd == -1 && errno == EMLINK)
		errno = ENOTDIR;
	return (fd);
}

int
os_reopen(int fd, int flags)
{

	return (sys_openat(fd, "", flags | O_EMPTY_PATH, 0));
}

/* There is no rename that spares what is in its way, and no exchange. */
int
os_rename_new(int dir, const char *name, int todir, const char *to)
{

	(void)dir;
	(void)name;
	(void)todir;
	(void)to;
	return (EOPNOTSUPP);
}

int
os_rename_swap(int dir, const char *name, int todir, const char *to)
{

	return (os_rename_new(dir, name, todir, to));
}

static bool
cannot(int error)
{

	return (error == EXDEV || error == EINVAL || error == ENOSYS ||
	    error == EOPNOTSUPP || error == EBADF || error == EPERM);
}

#ifdef COPY_FILE_RANGE_CLONE
int
os_clone_into(int src, int dst)
{
	off_t in, out;
	ssize_t r;

	in = out = 0;
	do {
		SYS_CALL(r, "copy_file_range", copy_file_range(src, &in, dst,
		    &out, SSIZE_MAX, COPY_FILE_RANGE_CLONE));
	} while (r > 0);
	if (r == 0)
		return (0);
	return (cannot(errno) ? EOPNOTSUPP : errno);
}
#else
int
os_clone_into(int src, int dst)
{

	(void)src;
	(void)dst;
	return (EOPNOTSUPP);
}
#endif

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
	if (r == -1 && cannot(errno))
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

/* ZFS, which never writes in place, says EINVAL. */
bool
os_in_place(int fd)
{
	struct statfs fs;
	int r;

	SYS_CALL(r, "fstatfs", fstatfs(fd, &fs));
	return (r == 0 && (strcmp(fs.f_fstypename, "ufs") == 0 ||
	    strcmp(fs.f_fstypename, "tmpfs") == 0));
}

int
os_preallocate(int fd, off_t off, off_t len)
{
	int fault, r;

	if (!os_in_place(fd))
		return (EOPNOTSUPP);
	if ((fault = SYS_BEFORE("posix_fallocate")) > 0)
		return (fault);
	do
		r = posix_fallocate(fd, off, len);
	while (r == EINTR);
	SYS_AFTER("posix_fallocate");
	return (r == EINVAL || r == ENODEV || r == ENOSYS ? EOPNOTSUPP : r);
}

void
os_forget(void *p, size_t len)
{

	(void)madvise(p, len, MADV_DONTNEED);
}

static int
path_of(int fd, struct kinfo_file *kf)
{
	int r;

	memset(kf, 0, sizeof(*kf));
	kf->kf_structsize = (int)sizeof(*kf);
	SYS_CALL(r, "fcntl", fcntl(fd, F_KINFO, kf));
	return (r == -1 || kf->kf_path[0] != '/' ? EOPNOTSUPP : 0);
}

int
os_fdpath(int root, int fd, char *buf, size_t size)
{
	struct kinfo_file *kf;
	char top[PATH_MAX];
	size_t n;
	int error;

	if ((kf = malloc(sizeof(*kf))) == NULL)
		return (ENOMEM);
	if ((error = path_of(root, kf)) == 0) {
		n = strlcpy(top, kf->kf_path, sizeof(top));
		error = n >= sizeof(top) ? EOPNOTSUPP : path_of(fd, kf);
	} else
		n = 0;
	if (error == 0) {
		if (n == 1)
			n = 0;
		if (strncmp(kf->kf_path, top, n) != 0 ||
		    (kf->kf_path[n] != '/' && kf->kf_path[n] != '\0'))
			error = ENOENT;
		else if (strlcpy(buf, kf->kf_path + n +
		    (kf->kf_path[n] == '/'), size) >= size)
			error = EOPNOTSUPP;
	}
	free(kf);
	return (error);
}

int
os_datasync(int fd)
{

	return (fdatasync(fd));
}

/* There is no call for one filesystem that waits. */
int
os_sync(int fd)
{

	sync();
	return (sys_fsync(fd) == -1 ? errno : 0);
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
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC_FAST, &ts);
	return ((int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
}

/*
 * Access control lists.
 */
static const struct {
	const char	*name;
	acl_type_t	 type;
	int		 can;		/* pathconf(2) */
	bool		 dironly;
} acls[] = {
	{ "acl.nfs4", ACL_TYPE_NFS4, _PC_ACL_NFS4, false },
	{ "acl.access", ACL_TYPE_ACCESS, _PC_ACL_EXTENDED, false },
	{ "acl.default", ACL_TYPE_DEFAULT, _PC_ACL_EXTENDED, true }
};
#define	NACLS	(sizeof(acls) / sizeof(acls[0]))

static size_t
acl_index(const char *name)
{
	size_t i;

	for (i = 0; i < NACLS; i++)
		if (strcmp(acls[i].name, name) == 0)
			break;
	return (i);
}

/* The text of a list that says more than the mode does; else NULL. */
static char *
acl_text(int fd, mode_t type, size_t i)
{
	acl_t acl;
	char *text;
	int trivial;

	if ((acls[i].dironly && !S_ISDIR(type)) ||
	    fpathconf(fd, acls[i].can) <= 0)
		return (NULL);
	if ((acl = acl_get_fd_np(fd, acls[i].type)) == NULL)
		return (NULL);
	text = NULL;
	if (acls[i].dironly) {
		acl_entry_t entry;

		trivial = acl_get_entry(acl, ACL_FIRST_ENTRY, &entry) != 1;
	} else if (acl_is_trivial_np(acl, &trivial) == -1)
		trivial = 1;
	if (!trivial)
		text = acl_to_text_np(acl, NULL, ACL_TEXT_NUMERIC_IDS);
	(void)acl_free(acl);
	return (text);
}

static int
acl_put(int fd, size_t i, const char *text)
{
	acl_t acl;
	int error;

	if ((acl = acl_from_text(text)) == NULL)
		return (errno);
	error = acl_set_fd_np(fd, acl, acls[i].type) == -1 ? errno : 0;
	(void)acl_free(acl);
	return (error);
}

static int
acl_clear(int fd, size_t i)
{
	acl_t acl, bare;
	int error;

	if (acls[i].dironly)
		return (acl_delete_fd_np(fd, acls[i].type) == -1 ? errno : 0);
	if ((acl = acl_get_fd_np(fd, acls[i].type)) == NULL)
		return (errno);
	error = 0;
	if ((bare = acl_strip_np(acl, 0)) == NULL ||
	    acl_set_fd_np(fd, bare, acls[i].type) == -1)
		error = errno;
	if (bare != NULL)
		(void)acl_free(bare);
	(void)acl_free(acl);
	return (error);
}

/*
 * Attributes proper.
 */
static const struct {
	const char	*prefix;
	int		 space;
} spaces[] = {
	{ "user.", EXTATTR_NAMESPACE_USER },
	{ "system.", EXTATTR_NAMESPACE_SYSTEM }
};
#define	NSPACES	(sizeof(spaces) / sizeof(spaces[0]))

static size_t
space_of(const char *name, const char **rest)
{
	size_t i;

	for (i = 0; i < NSPACES; i++)
		if (strncmp(name, spaces[i].prefix,
		    strlen(spaces[i].prefix)) == 0) {
			*rest = name + strlen(spaces[i].prefix);
			break;
		}
	return (i);
}

struct names {
	char		*buf;
	size_t		 size;
	size_t		 len;
};

static void
names_add(struct names *n, const char *prefix, const char *name, size_t len)
{
	size_t plen;

	plen = strlen(prefix);
	if (n->len + plen + len + 1 <= n->size) {
		memcpy(n->buf + n->len, prefix, plen);
		memcpy(n->buf + n->len + plen, name, len);
		n->buf[n->len + plen + len] = '\0';
	}
	n->len += plen + len + 1;
}

/* Where the system keeps lists that have names of their own here. */
static bool
is_acl(const char *name, size_t len)
{

	return ((len > 12 && memcmp(name, "posix1e.acl_", 12) == 0) ||
	    (len == 8 && memcmp(name, "nfs4.acl", 8) == 0));
}

static int
list_space(int fd, size_t i, struct names *n)
{
	uint8_t *buf, *p;
	ssize_t len, size;

	SYS_CALL(size, "extattr_list_fd",
	    extattr_list_fd(fd, spaces[i].space, NULL, 0));
	if (size == -1)
		return (errno == EOPNOTSUPP || errno == EPERM ||
		    errno == EACCES || errno == EINVAL ? 0 : errno);
	if (size == 0)
		return (0);
	if ((buf = malloc((size_t)size)) == NULL)
		return (ENOMEM);
	SYS_CALL(len, "extattr_list_fd",
	    extattr_list_fd(fd, spaces[i].space, buf, (size_t)size));
	/* Each name has its length before it. */
	for (p = buf; len > 0 && p < buf + len && p + 1 + *p <= buf + len;
	    p += 1 + *p)
		if (!is_acl((char *)p + 1, *p))
			names_add(n, spaces[i].prefix, (char *)p + 1, *p);
	free(buf);
	return (len == -1 ? errno : 0);
}

int
os_xattr_list(const struct os_object *o, char *buf, size_t size, size_t *len)
{
	struct names n = { buf, size, 0 };
	char *text;
	size_t i;
	int error;

	*len = 0;
	/* Nothing by name alone; links and devices have none in practice. */
	if (o->fd < 0)
		return (0);
	for (i = 0; i < NSPACES; i++)
		if ((error = list_space(o->fd, i, &n)) != 0)
			return (error);
	for (i = 0; i < NACLS; i++)
		if ((text = acl_text(o->fd, o->type, i)) != NULL) {
			names_add(&n, "", acls[i].name,
			    strlen(acls[i].name));
			(void)acl_free(text);
		}
	*len = n.len;
	return (n.len > size ? ERANGE : 0);
}

static int
get_acl(const struct os_object *o, size_t i, void *buf, size_t size,
    size_t *len)
{
	char *text;
	int error;

	if ((text = acl_text(o->fd, o->type, i)) == NULL)
		return (ENOATTR);
	*len = strlen(text) + 1;
	error = *len > size ? ERANGE : 0;
	if (error == 0)
		memcpy(buf, text, *len);
	(void)acl_free(text);
	return (error);
}

int
os_xattr_get(const struct os_object *o, const char *name, void *buf,
    size_t size, size_t *len)
{
	const char *rest;
	ssize_t n;
	size_t i;

	*len = 0;
	if (o->fd < 0)
		return (ENOATTR);
	if ((i = acl_index(name)) < NACLS)
		return (get_acl(o, i, buf, size, len));
	if ((i = space_of(name, &rest)) == NSPACES)
		return (ENOATTR);
	SYS_CALL(n, "extattr_get_fd",
	    extattr_get_fd(o->fd, spaces[i].space, rest, NULL, 0));
	if (n == -1)
		return (errno);
	*len = (size_t)n;
	if ((size_t)n > size)
		return (ERANGE);
	SYS_CALL(n, "extattr_get_fd",
	    extattr_get_fd(o->fd, spaces[i].space, rest, buf, size));
	if (n == -1)
		return (errno);
	*len = (size_t)n;
	return (0);
}

int
os_xattr_set(const struct os_object *o, const char *name, const void *value,
    size_t len)
{
	const char *rest;
	ssize_t n;
	size_t i;

	if (o->fd < 0)
		return (EOPNOTSUPP);
	if ((i = acl_index(name)) < NACLS) {
		if (len == 0 || ((const char *)value)[len - 1] != '\0')
			return (EINVAL);
		return (acl_put(o->fd, i, value));
	}
	if ((i = space_of(name, &rest)) == NSPACES)
		return (EOPNOTSUPP);
	SYS_CALL(n, "extattr_set_fd",
	    extattr_set_fd(o->fd, spaces[i].space, rest, value, len));
	return (n == -1 ? errno : 0);
}

int
os_xattr_remove(const struct os_object *o, const char *name)
{
	const char *rest;
	size_t i;
	int r;

	if (o->fd < 0)
		return (EOPNOTSUPP);
	if ((i = acl_index(name)) < NACLS)
		return (acl_clear(o->fd, i));
	if ((i = space_of(name, &rest)) == NSPACES)
		return (EOPNOTSUPP);
	SYS_CALL(r, "extattr_delete_fd",
	    extattr_delete_fd(o->fd, spaces[i].space, rest));
	return (r == -1 && errno != ENOATTR ? errno : 0);
}
