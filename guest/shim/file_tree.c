/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Requests about whole trees: listing to a depth, and removing.  Trees are
 * walked by descriptor and symbolic links in them are never followed, as
 * programs may change them underneath.
 */

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"

#define	MAXPATH		4096
#define	MAXDEPTH	512		/* of a tree to be removed */

static bool
dots(const char *s)
{

	return (strcmp(s, ".") == 0 || strcmp(s, "..") == 0);
}

static DIR *
open_dir(int at, const char *name, int flags)
{
	DIR *d;
	int fd;

	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	if (fd == -1)
		return (NULL);
	if ((d = fdopendir(fd)) == NULL)
		close(fd);
	return (d);
}

static int list_dir(struct file *, DIR *, char *, size_t, int64_t);

/* One entry, and what is below it if that is wanted. */
static int
list_entry(struct file *f, int dirfd, const char *name, char *path,
    size_t len, int64_t depth)
{
	size_t n = strlen(name);
	struct stat st;
	DIR *d;

	if (len + n + 1 > MAXPATH)
		return (ENAMETOOLONG);
	memcpy(path + len, name, n + 1);
	/* What vanished in the meantime is not there. */
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return (0);
	file_entry(f, dirfd, name, path, &st);
	if (depth <= 1 || !S_ISDIR(st.st_mode))
		return (0);
	if ((d = open_dir(dirfd, name, O_NOFOLLOW)) == NULL)
		return (0);
	path[len + n] = '/';
	return (list_dir(f, d, path, len + n + 1, depth - 1));
}

/* All of d, which is closed; path begins with its name. */
static int
list_dir(struct file *f, DIR *d, char *path, size_t len, int64_t depth)
{
	struct dirent *de;
	int error = 0;

	for (;;) {
		errno = 0;
		if ((de = readdir(d)) == NULL) {
			error = errno;
			break;
		}
		if (dots(de->d_name))
			continue;
		error = list_entry(f, dirfd(d), de->d_name, path, len, depth);
		if (error != 0)
			break;
	}
	closedir(d);
	return (error);
}

int
file_list(struct file *f)
{
	char path[MAXPATH + 2];
	DIR *d;

	d = open_dir(AT_FDCWD, sw_str(f->m, F_PATH, ""), 0);
	if (d == NULL)
		return (errno);
	return (list_dir(f, d, path, 0, sw_num(f->m, F_DEPTH, 1)));
}

/* Everything in d, which is closed. */
static int
empty_dir(DIR *d, int depth)
{
	int error = 0, fd = dirfd(d);
	struct dirent *de;
	DIR *sub;

	if (depth > MAXDEPTH)
		error = ELOOP;
	while (error == 0) {
		errno = 0;
		if ((de = readdir(d)) == NULL) {
			error = errno;
			break;
		}
		if (dots(de->d_name) || unlinkat(fd, de->d_name, 0) == 0)
			continue;
		if (errno != EISDIR && errno != EPERM && errno != ENOENT) {
			error = errno;
		} else if (errno != ENOENT) {
			error = errno;
			if ((sub = open_dir(fd, de->d_name,
			    O_NOFOLLOW)) == NULL)
				break;
			error = empty_dir(sub, depth + 1);
			if (error == 0 && unlinkat(fd, de->d_name,
			    AT_REMOVEDIR) != 0)
				error = errno;
		}
	}
	closedir(d);
	return (error);
}

int
file_remove(struct file *f)
{
	const char *path = sw_str(f->m, F_PATH, "");
	int error;
	DIR *d;

	if (unlink(path) == 0)
		return (0);
	error = errno;
	/* Which of the two a directory gets depends on the system. */
	if (error != EISDIR && error != EPERM)
		return (error);
	if (rmdir(path) == 0)
		return (0);
	if (errno == ENOTDIR)
		return (error);
	if (sw_num(f->m, F_RECURSIVE, 0) == 0 ||
	    (errno != ENOTEMPTY && errno != EEXIST))
		return (errno);
	if ((d = open_dir(AT_FDCWD, path, O_NOFOLLOW)) == NULL)
		return (errno);
	if ((error = empty_dir(d, 0)) != 0)
		return (error);
	return (rmdir(path) == 0 ? 0 : errno);
}
