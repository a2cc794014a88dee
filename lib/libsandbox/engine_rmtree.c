/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Removing a tree that others may have filled: by openat(2) alone, never
 * through a symbolic link, and however deep it is.
 */

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"

#define	DEPTH_MAX	32

/* What lies deeper is moved up, so that descriptors and stack suffice. */
struct removal {
	int		 top;
	dev_t		 dev;		/* never beyond a mount point */
	unsigned int	 moved;
	bool		 again;
};

static int remove_in(struct removal *, int, int);

static int
remove_dir(struct removal *r, int dirfd, const char *name, int depth)
{
	struct stat st;
	char deep[32];
	int error, fd;

	if (depth >= DEPTH_MAX) {
		(void)snprintf(deep, sizeof(deep), ".deep-%u", r->moved++);
		if (renameat(dirfd, name, r->top, deep) != 0)
			return (errno);
		r->again = true;
		return (0);
	}
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (fd == -1)
		return (errno);
	if (fstat(fd, &st) != 0 || st.st_dev != r->dev) {
		(void)close(fd);
		return (EBUSY);
	}
	error = remove_in(r, fd, depth + 1);
	if (error == 0 && unlinkat(dirfd, name, AT_REMOVEDIR) != 0)
		error = errno;
	return (error == ENOENT ? 0 : error);
}

static int
remove_one(struct removal *r, int dirfd, const char *name, int depth)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return (errno == ENOENT ? 0 : errno);
	if (S_ISDIR(st.st_mode))
		return (remove_dir(r, dirfd, name, depth));
	if (unlinkat(dirfd, name, 0) != 0 && errno != ENOENT)
		return (errno);
	return (0);
}

/* Take ${fd}; return the first errno, having removed what could be. */
static int
remove_in(struct removal *r, int fd, int depth)
{
	struct dirent *de;
	int error = 0, one;
	DIR *d;

	d = fdopendir(fd);
	if (d == NULL) {
		error = errno;
		(void)close(fd);
		return (error);
	}
	if (r->top == -1)
		r->top = dirfd(d);
	while ((de = readdir(d)) != NULL) {
		if (strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0)
			continue;
		one = remove_one(r, dirfd(d), de->d_name, depth);
		if (one != 0 && error == 0)
			error = one;
	}
	(void)closedir(d);
	return (error);
}

int
engine_rmtree(int dirfd, const char *name)
{
	struct removal r = { .moved = 0 };
	struct stat st;
	int error;

	if (fstat(dirfd, &st) != 0)
		return (-1);
	r.dev = st.st_dev;
	do {
		r.top = -1;
		r.again = false;
		error = remove_one(&r, dirfd, name, 0);
	} while (r.again && (error == 0 || error == ENOTEMPTY));
	if (error != 0) {
		errno = error;
		return (-1);
	}
	return (0);
}
