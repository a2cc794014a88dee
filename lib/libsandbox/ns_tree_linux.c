/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Trees that a sandbox wrote, from the host's side: removed, measured, and
 * files copied with their holes.  Names, depths and kinds of files are a
 * stranger's choice; nothing is opened but directories, and no link is
 * followed.
 */

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ns.h"

#define	DEEP		64		/* levels that are held open */
#define	ENOUGH		20000		/* files that are counted */

struct removal {
	int		 top;
	unsigned	 moved;
};

static DIR *
enter(int dir, const char *name)
{
	DIR *d;
	int fd;

	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (fd == -1)
		return (NULL);
	if ((d = fdopendir(fd)) == NULL)
		close(fd);
	return (d);
}

static bool
dots(const char *name)
{

	return (name[0] == '.' && (name[1] == '\0' ||
	    (name[1] == '.' && name[2] == '\0')));
}

static int empty(struct removal *, int, const char *, int);

/* What is too deep is moved to the top, and comes round again. */
static int
take_dir(struct removal *r, int dir, const char *name, int depth)
{
	char to[32];

	if (depth < DEEP)
		return (empty(r, dir, name, depth + 1));
	do {
		(void)snprintf(to, sizeof(to), ".deep.%u", r->moved++);
		if (renameat(dir, name, r->top, to) == 0)
			return (0);
	} while (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR);
	return (errno);
}

static int
take(struct removal *r, int dir, const struct dirent *de, int depth)
{

	if (de->d_type == DT_DIR)
		return (take_dir(r, dir, de->d_name, depth));
	if (unlinkat(dir, de->d_name, 0) == 0 || errno == ENOENT)
		return (0);
	/* The file system does not tell kinds. */
	if (errno == EISDIR)
		return (take_dir(r, dir, de->d_name, depth));
	return (errno);
}

static int
empty(struct removal *r, int dir, const char *name, int depth)
{
	struct dirent *de;
	int error = 0;
	DIR *d;

	if ((d = enter(dir, name)) == NULL)
		return (errno);
	if (depth == 0)
		r->top = dirfd(d);
	/* Again, if a look missed something, or it came from below. */
	do {
		while (error == 0 && (de = readdir(d)) != NULL)
			if (!dots(de->d_name))
				error = take(r, dirfd(d), de, depth);
		if (error != 0 || unlinkat(dir, name, AT_REMOVEDIR) == 0 ||
		    errno == ENOENT)
			break;
		if (errno != ENOTEMPTY && errno != EEXIST)
			error = errno;
		rewinddir(d);
	} while (error == 0);
	closedir(d);
	return (error);
}

int
ns_tree_remove(int dir, const char *name, struct co_error *e)
{
	struct removal r = { .moved = 0 };
	int error;

	if ((error = empty(&r, dir, name, 0)) != 0 && error != ENOENT)
		return (co_error_errno(e, error, name,
		    "can't remove the sandbox's disk"));
	return (0);
}

static uint64_t
measure(int dir, const char *name, int depth, unsigned *left)
{
	struct dirent *de;
	struct stat st;
	uint64_t sum = 0;
	DIR *d;

	if ((d = enter(dir, name)) == NULL)
		return (0);
	while (*left > 0 && (de = readdir(d)) != NULL) {
		if (dots(de->d_name) || fstatat(dirfd(d), de->d_name, &st,
		    AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		(*left)--;
		sum += (uint64_t)st.st_blocks * 512;
		if (S_ISDIR(st.st_mode) && depth < DEEP)
			sum += measure(dirfd(d), de->d_name, depth + 1,
			    left);
	}
	closedir(d);
	return (sum);
}

uint64_t
ns_tree_usage(int dir, const char *name)
{
	unsigned left = ENOUGH;

	return (measure(dir, name, 0, &left));
}

/* Copy what is not a hole; ${to} is new.  Return 0 or an errno. */
int
ns_tree_copy_file(int from, int to, off_t size)
{
	char buf[65536];
	off_t at = 0, end;
	ssize_t n;

	if (ftruncate(to, size) != 0)
		return (errno);
	while (at < size && (at = lseek(from, at, SEEK_DATA)) != -1) {
		if ((end = lseek(from, at, SEEK_HOLE)) == -1)
			return (errno);
		while (at < end) {
			size_t want = sizeof(buf);

			if ((off_t)want > end - at)
				want = (size_t)(end - at);
			if ((n = pread(from, buf, want, at)) <= 0)
				return (n == 0 ? 0 : errno);
			if (pwrite(to, buf, (size_t)n, at) != n)
				return (errno != 0 ? errno : ENOSPC);
			at += n;
		}
	}
	return (at == -1 && errno != ENXIO ? errno : 0);
}
