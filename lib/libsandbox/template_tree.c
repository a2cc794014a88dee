/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Walking, removing and finding one's way in trees that others filled.
 * Nothing here follows a link out of the tree.
 */

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "template_internal.h"

#define	MAXLINKS	32		/* followed on the way of one name */
#define	SHALLOW		64		/* levels that a removal descends */

struct walk {
	template_walk_fn *fn;
	void		*arg;
	struct co_error	*e;
	char		 path[PATH_MAX];
};

static int
open_dir(int dir, const char *name)
{

	return (openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC));
}

static int
compare(const void *a, const void *b)
{

	return (strcmp(*(char *const *)a, *(char *const *)b));
}

/* All names in a directory but "." and "..", sorted; NULL with errno. */
static char **
names(int dir)
{
	char **list = NULL, **p;
	size_t n = 0, room = 0;
	struct dirent *d;
	int fd, error = 0;
	DIR *dp;

	fd = open_dir(dir, ".");
	if (fd == -1)
		return (NULL);
	dp = fdopendir(fd);
	if (dp == NULL) {
		error = errno;
		close(fd);
		errno = error;
		return (NULL);
	}
	for (;;) {
		if (n + 1 >= room) {
			room = room == 0 ? 64 : room * 2;
			p = realloc(list, room * sizeof(*list));
			if (p == NULL) {
				error = ENOMEM;
				break;
			}
			list = p;
		}
		list[n] = NULL;
		errno = 0;
		d = readdir(dp);
		if (d == NULL) {
			error = errno;
			break;
		}
		if (strcmp(d->d_name, ".") == 0 ||
		    strcmp(d->d_name, "..") == 0)
			continue;
		list[n] = strdup(d->d_name);
		if (list[n] == NULL) {
			error = ENOMEM;
			break;
		}
		n++;
	}
	closedir(dp);
	if (error != 0) {
		template_list_free(list);
		errno = error;
		return (NULL);
	}
	qsort(list, n, sizeof(*list), compare);
	return (list);
}

static int walk_dir(struct walk *, int, size_t, int);

/* One name in a directory, whose path has len bytes. */
static int
walk_name(struct walk *w, int dir, const char *name, size_t len, int depth)
{
	struct stat st;
	int n, fd, ret;

	n = snprintf(w->path + len, sizeof(w->path) - len, "%s%s",
	    len > 0 ? "/" : "", name);
	if (n < 0 || (size_t)n >= sizeof(w->path) - len)
		return (co_error_set(w->e, CO_ETEMPLATE_BAD, name,
		    "the tree has a path longer than %d bytes", PATH_MAX));
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return (co_error_errno(w->e, errno, w->path,
		    "can't look at \"%s\"", w->path));
	if (w->fn(w->arg, dir, name, w->path, &st, w->e) != 0)
		return (-1);
	if (!S_ISDIR(st.st_mode))
		return (0);
	fd = open_dir(dir, name);
	if (fd == -1)
		return (co_error_errno(w->e, errno, w->path,
		    "can't open \"%s\"", w->path));
	ret = walk_dir(w, fd, len + (size_t)n, depth + 1);
	close(fd);
	return (ret);
}

static int
walk_dir(struct walk *w, int dir, size_t len, int depth)
{
	char **list;
	int ret = 0;

	if (depth > TEMPLATE_DEPTH)
		return (co_error_set(w->e, CO_ETEMPLATE_BAD, w->path,
		    "the tree is more than %d directories deep",
		    TEMPLATE_DEPTH));
	list = names(dir);
	if (list == NULL)
		return (co_error_errno(w->e, errno, w->path,
		    "can't read the directory \"%s\"", w->path));
	for (size_t i = 0; list[i] != NULL && ret == 0; i++)
		ret = walk_name(w, dir, list[i], len, depth);
	template_list_free(list);
	return (ret);
}

int
template_walk(int root, template_walk_fn *fn, void *arg, struct co_error *e)
{
	struct walk *w;
	struct stat st;
	int ret;

	if (fstat(root, &st) != 0)
		return (co_error_errno(e, errno, NULL, "can't look at a tree"));
	w = calloc(1, sizeof(*w));
	if (w == NULL)
		return (co_error_set(e, CO_ESYS_NOMEM, NULL,
		    "out of memory"));
	w->fn = fn;
	w->arg = arg;
	w->e = e;
	ret = fn(arg, root, ".", ".", &st, e);
	if (ret == 0)
		ret = walk_dir(w, root, 0, 0);
	free(w);
	return (ret);
}

/*
 * Remove a name.  What is nested deeper than we want to have descriptors is
 * moved up to top, whose loop finds it there.
 */
static int
remove_name(int top, int dir, const char *name, int depth)
{
	char moved[CO_IDSIZE], **list;
	int fd, error = 0;

	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return (0);
	if (errno != EISDIR && errno != EPERM)
		return (errno);
	if (depth > SHALLOW) {
		co_id_make(moved);
		return (renameat(dir, name, top, moved) == 0 ? 0 : errno);
	}
	fd = open_dir(dir, name);
	if (fd == -1)
		return (errno);
	list = names(fd);
	if (list == NULL)
		error = errno;
	for (char **p = list; p != NULL && *p != NULL && error == 0; p++)
		error = remove_name(top, fd, *p, depth + 1);
	template_list_free(list);
	close(fd);
	if (error == 0 && unlinkat(dir, name, AT_REMOVEDIR) != 0 &&
	    errno != ENOENT)
		error = errno;
	return (error);
}

int
template_empty(int dir)
{
	char **list;
	int error = 0;

	for (;;) {
		list = names(dir);
		if (list == NULL)
			return (errno);
		if (list[0] == NULL)
			break;
		for (size_t i = 0; error == 0 && list[i] != NULL; i++)
			error = remove_name(dir, dir, list[i], 0);
		template_list_free(list);
		if (error != 0)
			return (error);
	}
	template_list_free(list);
	return (0);
}

int
template_remove_at(int dir, const char *name)
{
	int error, fd;

	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return (0);
	fd = open_dir(dir, name);
	if (fd == -1)
		return (errno);
	error = template_empty(fd);
	close(fd);
	if (error == 0 && unlinkat(dir, name, AT_REMOVEDIR) != 0)
		error = errno;
	return (error);
}

/* A way through a tree: what is left of it and where we are. */
struct way {
	const char	*path;		/* as given, for messages */
	char		 rest[2 * PATH_MAX];
	int		 dir;
	int		 links;
	int		 depth;
	bool		 make;
	struct co_error	*e;
};

/* Take the next component of the way; false at its end. */
static bool
next(struct way *w, char *name, size_t size, bool *toolong)
{
	char *p = w->rest;
	size_t n;

	do {
		p += strspn(p, "/");
		n = strcspn(p, "/");
		*toolong = n >= size;
		if (n == 0 || *toolong)
			return (false);
		memcpy(name, p, n);
		name[n] = '\0';
		p += n;
	} while (strcmp(name, ".") == 0);
	p += strspn(p, "/");
	memmove(w->rest, p, strlen(p) + 1);
	return (true);
}

static int
bad_way(struct way *w, const char *why)
{

	return (co_error_set(w->e, CO_ETEMPLATE_BAD, w->path,
	    "\"%s\" %s; refused", w->path, why));
}

/* Put the target of the link name before the rest of the way. */
static int
follow(struct way *w, const char *name)
{
	char target[PATH_MAX], rest[2 * PATH_MAX];
	ssize_t n;
	int len;

	n = readlinkat(w->dir, name, target, sizeof(target) - 1);
	if (n < 0)
		return (co_error_errno(w->e, errno, w->path,
		    "\"%s\" has \"%s\" on its way, which can't be entered",
		    w->path, name));
	target[n] = '\0';
	if (target[0] == '/')
		return (bad_way(w, "goes through an absolute link"));
	if (++w->links > MAXLINKS)
		return (bad_way(w, "goes through too many links"));
	len = snprintf(rest, sizeof(rest), "%s/%s", target, w->rest);
	if (len < 0 || (size_t)len >= sizeof(rest))
		return (bad_way(w, "is too long"));
	memcpy(w->rest, rest, (size_t)len + 1);
	return (0);
}

static int
enter(struct way *w, const char *name)
{
	int fd;

	fd = open_dir(w->dir, name);
	if (fd == -1 && errno == ENOENT && w->make) {
		if (mkdirat(w->dir, name, 0755) != 0 && errno != EEXIST)
			return (co_error_errno(w->e, errno, w->path,
			    "can't make \"%s\" for \"%s\"", name, w->path));
		fd = open_dir(w->dir, name);
	}
	/* What refuses to be opened as a directory may be a link. */
	if (fd == -1 && (errno == ELOOP || errno == EMLINK ||
	    errno == ENOTDIR))
		return (follow(w, name));
	if (fd == -1)
		return (co_error_errno(w->e, errno, w->path,
		    "can't enter \"%s\" for \"%s\"", name, w->path));
	close(w->dir);
	w->dir = fd;
	if (++w->depth > TEMPLATE_DEPTH)
		return (bad_way(w, "is too deep"));
	return (0);
}

static int
go(struct way *w, char name[256])
{
	bool toolong;

	name[0] = '\0';
	while (next(w, name, 256, &toolong)) {
		if (strcmp(name, "..") == 0)
			return (bad_way(w, "leads outside"));
		if (w->rest[0] == '\0')
			break;
		if (enter(w, name) != 0)
			return (-1);
		name[0] = '\0';
	}
	if (toolong)
		return (bad_way(w, "has a name longer than 255 bytes"));
	return (0);
}

int
template_parent(int root, const char *path, bool make, int *dir,
    char name[256], struct co_error *e)
{
	struct way w = { .path = path, .make = make, .e = e };

	if (strlen(path) >= PATH_MAX)
		return (bad_way(&w, "is too long"));
	strcpy(w.rest, path);
	w.dir = open_dir(root, ".");
	if (w.dir == -1)
		return (co_error_errno(e, errno, path, "can't open the tree"));
	if (go(&w, name) != 0) {
		close(w.dir);
		return (-1);
	}
	*dir = w.dir;
	return (0);
}
