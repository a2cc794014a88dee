/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Words of the cases: FreeBSD.  What it has not, fails, here and in a mount.
 */

#include <sys/types.h>
#include <sys/extattr.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
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

	return (setgroups(n, groups));
}

/* Linux's "user." is a namespace here; nothing else is used. */
static const char *
strip(const char *name)
{

	return (strncmp(name, "user.", 5) == 0 ? name + 5 : name);
}

#define	SPACE	EXTATTR_NAMESPACE_USER

int
os_setx(char **a, int n)
{
	bool there;

	if (strncmp(a[1], "user.", 5) != 0)
		return (EOPNOTSUPP);
	there = extattr_get_link(a[0], SPACE, strip(a[1]), NULL, 0) != -1;
	if (n > 3 && a[3][0] == 'c' && there)
		return (EEXIST);
	if (n > 3 && a[3][0] == 'r' && !there)
		return (ENOATTR);
	return (OK(extattr_set_link(a[0], SPACE, strip(a[1]), a[2],
	    strlen(a[2]))));
}

int
os_getx(char **a, int n)
{
	char buf[65536];
	ssize_t r;

	(void)n;
	r = extattr_get_link(a[0], SPACE, strip(a[1]), buf, sizeof(buf));
	if (r == -1)
		return (errno);
	return ((size_t)r == strlen(a[2]) &&
	    memcmp(buf, a[2], (size_t)r) == 0 ? 0 : NO);
}

int
os_rmx(char **a, int n)
{

	(void)n;
	return (OK(extattr_delete_link(a[0], SPACE, strip(a[1]))));
}

static int
by_name(const void *a, const void *b)
{

	return (strcmp(a, b));
}

int
os_listx(char **a, int n)
{
	char have[8192], name[64][256];
	unsigned char buf[8192];
	size_t i, k, l, len;
	ssize_t r;

	if ((r = extattr_list_link(a[0], SPACE, buf, sizeof(buf))) == -1)
		return (errno);
	k = len = 0;
	for (i = 0; i < (size_t)r && k < 64; i += l + 1) {
		l = buf[i];
		(void)snprintf(name[k++], sizeof(name[0]), "user.%.*s",
		    (int)l, (const char *)buf + i + 1);
	}
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

	(void)a;
	(void)n;
	return (ENOSYS);
}

static int
w_falloc(char **a, int n)
{
	struct spacectl_range r;

	(void)n;
	if (strcmp(a[1], "-") == 0)
		return (posix_fallocate(word_fd(a[0]), (off_t)atoll(a[2]),
		    (off_t)atoll(a[3])));
	if (strcmp(a[1], "kp") != 0)
		return (ENOSYS);
	r.r_offset = (off_t)atoll(a[2]);
	r.r_len = (off_t)atoll(a[3]);
	return (OK(fspacectl(word_fd(a[0]), SPACECTL_DEALLOC, &r, 0, NULL)));
}

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
w_none(char **a, int n)
{

	(void)a;
	(void)n;
	return (ENOSYS);
}

static const struct word more[] = {
	{ "falloc", 4, w_falloc }, { "copy", 6, w_copy },
	{ "tmpfile", 3, w_none }, { "linkfd", 2, w_none },
	{ "statx", 1, w_none }, { "acl", 3, w_none },
	{ "hasacl", 3, w_none }, { NULL, 0, NULL }
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
		E(ENOTEMPTY), E(ELOOP), E(EOPNOTSUPP), E(E2BIG),
		E(EOVERFLOW), E(ESTALE), E(EADDRINUSE),
		{ "ENODATA", ENOATTR }
#undef E
	};
	size_t i;

	for (i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		if (strcmp(map[i].name, name) == 0)
			return (map[i].n);
	fail("no errno %s", name);
}
