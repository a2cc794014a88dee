/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Words of the cases: Linux.
 */

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <linux/falloc.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "posix_cases.h"
#include "posix_os.h"

#define	NO	(-2)
#define	OK(r)	((r) == -1 ? errno : 0)

dev_t
os_makedev(unsigned int major, unsigned int minor)
{

	return (makedev(major, minor));
}

int
os_setgroups(int n, const gid_t *groups)
{

	return (setgroups((size_t)n, groups));
}

int
os_setx(char **a, int n)
{
	int f;

	f = n > 3 && a[3][0] == 'c' ? XATTR_CREATE :
	    n > 3 && a[3][0] == 'r' ? XATTR_REPLACE : 0;
	return (OK(lsetxattr(a[0], a[1], a[2], strlen(a[2]), f)));
}

int
os_getx(char **a, int n)
{
	char buf[65536];
	ssize_t r;

	(void)n;
	if ((r = lgetxattr(a[0], a[1], buf, sizeof(buf))) == -1)
		return (errno);
	return ((size_t)r == strlen(a[2]) &&
	    memcmp(buf, a[2], (size_t)r) == 0 ? 0 : NO);
}

int
os_rmx(char **a, int n)
{

	(void)n;
	return (OK(lremovexattr(a[0], a[1])));
}

static int
by_name(const void *a, const void *b)
{

	return (strcmp(*(const char *const *)a, *(const char *const *)b));
}

/* Only user.*, which no policy of the host's adds to. */
int
os_listx(char **a, int n)
{
	char buf[8192], have[8192], *name[256];
	size_t i, k, len;
	ssize_t r;

	if ((r = llistxattr(a[0], buf, sizeof(buf))) == -1)
		return (errno);
	k = len = 0;
	for (i = 0; i < (size_t)r && k < 256; i += strlen(buf + i) + 1)
		if (strncmp(buf + i, "user.", 5) == 0)
			name[k++] = buf + i;
	qsort(name, k, sizeof(name[0]), by_name);
	have[0] = '\0';
	for (i = 0; i < k; i++)
		len += (size_t)snprintf(have + len, sizeof(have) - len,
		    "%s%s", i > 0 ? "," : "", name[i]);
	return (strcmp(have, n > 1 ? a[1] : "") == 0 ? 0 : NO);
}

int
os_rename2(char **a, int n)
{

	(void)n;
	return (OK(renameat2(AT_FDCWD, a[0], AT_FDCWD, a[1],
	    (a[2][0] == 'n' || a[2][1] == 'n' ? RENAME_NOREPLACE : 0U) |
	    (a[2][0] == 'x' || a[2][1] == 'x' ? RENAME_EXCHANGE : 0U))));
}

/* falloc S letters off len: keep, punch, collapse, zero, insert. */
static int
w_falloc(char **a, int n)
{
	int m;

	(void)n;
	m = (strchr(a[1], 'k') != NULL ? FALLOC_FL_KEEP_SIZE : 0) |
	    (strchr(a[1], 'p') != NULL ? FALLOC_FL_PUNCH_HOLE : 0) |
	    (strchr(a[1], 'c') != NULL ? FALLOC_FL_COLLAPSE_RANGE : 0) |
	    (strchr(a[1], 'z') != NULL ? FALLOC_FL_ZERO_RANGE : 0) |
	    (strchr(a[1], 'i') != NULL ? FALLOC_FL_INSERT_RANGE : 0);
	return (OK(fallocate(word_fd(a[0]), m, (off_t)atoll(a[2]),
	    (off_t)atoll(a[3]))));
}

/* copy S off S off len how-many */
static int
w_copy(char **a, int n)
{
	off_t from, to;
	ssize_t r;

	(void)n;
	from = (off_t)atoll(a[1]);
	to = (off_t)atoll(a[3]);
	r = copy_file_range(word_fd(a[0]), &from, word_fd(a[2]), &to,
	    (size_t)atoll(a[4]), 0);
	return (r == -1 ? errno : r == (ssize_t)atoll(a[5]) ? 0 : NO);
}

static int
w_tmpfile(char **a, int n)
{
	int fd;

	(void)n;
	fd = open(a[1], O_TMPFILE | O_RDWR,
	    (mode_t)strtoul(a[2], NULL, 8));
	if (fd == -1)
		return (errno);
	word_slot(a[0], fd);
	return (0);
}

static int
w_linkfd(char **a, int n)
{
	char path[64];

	(void)n;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d",
	    word_fd(a[0]));
	return (OK(linkat(AT_FDCWD, path, AT_FDCWD, a[1],
	    AT_SYMLINK_FOLLOW)));
}

static int
w_statx(char **a, int n)
{
	struct statx x;

	(void)n;
	if (statx(AT_FDCWD, a[0], AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS,
	    &x) == -1)
		return (errno);
	return ((x.stx_mask & STATX_BASIC_STATS) == STATX_BASIC_STATS &&
	    x.stx_nlink > 0 ? 0 : NO);
}

/* A minimal ACL with one named user: version, then (tag, perm, id)... */
static int
w_acl(char **a, int n)
{
	unsigned char acl[4 + 5 * 8];
	uint32_t id;

	(void)n;
	memset(acl, 0, sizeof(acl));
	acl[0] = 2;
	id = (uint32_t)atoll(a[2]);
	memcpy(acl + 4, "\x01\x00\x06\x00\xff\xff\xff\xff", 8);
	memcpy(acl + 12, "\x02\x00\x06\x00", 4);
	memcpy(acl + 16, &id, 4);
	memcpy(acl + 20, "\x04\x00\x04\x00\xff\xff\xff\xff", 8);
	memcpy(acl + 28, "\x10\x00\x06\x00\xff\xff\xff\xff", 8);
	memcpy(acl + 36, "\x20\x00\x00\x00\xff\xff\xff\xff", 8);
	return (OK(setxattr(a[0], a[1][0] == 'd' ?
	    "system.posix_acl_default" : "system.posix_acl_access", acl,
	    sizeof(acl), 0)));
}

/* hasacl path a|d size */
static int
w_hasacl(char **a, int n)
{
	ssize_t r;

	(void)n;
	r = getxattr(a[0], a[1][0] == 'd' ? "system.posix_acl_default" :
	    "system.posix_acl_access", NULL, 0);
	return (r == -1 ? errno : r == (ssize_t)atoll(a[2]) ? 0 : NO);
}

static const struct word more[] = {
	{ "falloc", 4, w_falloc }, { "copy", 6, w_copy },
	{ "tmpfile", 3, w_tmpfile }, { "linkfd", 2, w_linkfd },
	{ "statx", 1, w_statx }, { "acl", 3, w_acl },
	{ "hasacl", 3, w_hasacl }, { NULL, 0, NULL }
};

const struct word *
os_words(const char *name)
{
	const struct word *w;

	for (w = more; w->name != NULL; w++)
		if (strcmp(w->name, name) == 0)
			return (w);
	return (NULL);
}

int
os_errno(const char *name)
{
	static const struct {
		const char	*name;
		int		 n;
	} map[] = {
#define	E(x)	{ #x, x }
		E(EPERM), E(ENOENT), E(EINTR), E(EIO), E(ENXIO), E(EBADF),
		E(EAGAIN), E(EACCES), E(EBUSY), E(EEXIST), E(EXDEV),
		E(ENOTDIR), E(EISDIR), E(EINVAL), E(ETXTBSY), E(EFBIG),
		E(EROFS), E(EMLINK), E(ERANGE), E(ENAMETOOLONG),
		E(ENOTEMPTY), E(ELOOP), E(ENODATA), E(EOPNOTSUPP),
		E(E2BIG), E(EOVERFLOW), E(ESTALE),
		E(EADDRINUSE)
#undef E
	};
	size_t i;

	for (i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		if (strcmp(map[i].name, name) == 0)
			return (map[i].n);
	fail("no errno %s", name);
}
