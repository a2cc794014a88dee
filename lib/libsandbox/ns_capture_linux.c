/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The tree of a sandbox as it is now, written out whole: what its disk has,
 * and from the template what the disk neither has nor hides.  The layers are
 * merged here instead of by a mount, as the sandbox's own mount may have them.
 */

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ns.h"

#define	DEEPEST		256		/* each level has three open */
#define	OURS		"user.overlay."
#define	NAMES		65536

/* A file with more names than one, and the first that it got. */
struct link {
	dev_t		 dev;
	ino_t		 ino;
	char		*path;
};

struct capture {
	int		 top;		/* what is written */
	void		*links;
	char		 path[PATH_MAX];
	size_t		 len;
	int		 error;
	char		*names;		/* room for names of attributes */
	char		*value;
};

static int merge(struct capture *, int, int, int, int);

static int
compare(const void *a, const void *b)
{
	const struct link *x = a, *y = b;

	if (x->dev != y->dev)
		return (x->dev < y->dev ? -1 : 1);
	if (x->ino != y->ino)
		return (x->ino < y->ino ? -1 : 1);
	return (0);
}

static void
free_link(void *p)
{
	struct link *l = p;

	free(l->path);
	free(l);
}

/* Was it copied under another name?  If not, remember this one. */
static int
linked(struct capture *c, const struct stat *st, bool *done)
{
	struct link key = { .dev = st->st_dev, .ino = st->st_ino }, *l;
	void *found;

	*done = false;
	if (st->st_nlink < 2 || S_ISDIR(st->st_mode))
		return (0);
	if ((found = tfind(&key, &c->links, compare)) != NULL) {
		l = *(struct link **)found;
		if (linkat(c->top, l->path, c->top, c->path, 0) != 0)
			return (errno);
		*done = true;
		return (0);
	}
	if ((l = malloc(sizeof(*l))) == NULL)
		return (ENOMEM);
	*l = key;
	if ((l->path = strdup(c->path)) == NULL ||
	    tsearch(l, &c->links, compare) == NULL) {
		free_link(l);
		return (ENOMEM);
	}
	return (0);
}

/* Attributes but overlayfs's own, between files that are open. */
static int
attributes(struct capture *c, const char *from, const char *to)
{
	ssize_t n, len;

	n = llistxattr(from, c->names, NAMES);
	if (n == -1)
		return (errno == ENOTSUP ? 0 : errno);
	for (char *p = c->names; p < c->names + n; p += strlen(p) + 1) {
		if (strncmp(p, OURS, sizeof(OURS) - 1) == 0 ||
		    strncmp(p, "trusted.", 8) == 0)
			continue;
		if ((len = lgetxattr(from, p, c->value, NAMES)) == -1 ||
		    (lsetxattr(to, p, c->value, (size_t)len, 0) != 0 &&
		    errno != ENOTSUP))
			return (errno);
	}
	return (0);
}

/* Owner, mode, attributes and times, in the order that keeps them. */
static int
dress(struct capture *c, int dir, int out, const char *name,
    const struct stat *st)
{
	const struct timespec t[2] = { st->st_atim, st->st_mtim };
	char from[64 + NAME_MAX], to[64 + NAME_MAX];
	int error;

	(void)snprintf(from, sizeof(from), "/proc/self/fd/%d/%.255s", dir,
	    name);
	(void)snprintf(to, sizeof(to), "/proc/self/fd/%d/%.255s", out, name);
	if (fchownat(out, name, st->st_uid, st->st_gid,
	    AT_SYMLINK_NOFOLLOW) != 0)
		return (errno);
	if (!S_ISLNK(st->st_mode) &&
	    fchmodat(out, name, st->st_mode & 07777, 0) != 0)
		return (errno);
	if ((error = attributes(c, from, to)) != 0)
		return (error);
	if (utimensat(out, name, t, AT_SYMLINK_NOFOLLOW) != 0)
		return (errno);
	return (0);
}

static int
regular(int dir, int out, const char *name, const struct stat *st)
{
	int from, to, error;

	from = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
	    O_CLOEXEC);
	if (from == -1)
		return (errno);
	to = openat(out, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	error = to == -1 ? errno : ns_tree_copy_file(from, to, st->st_size);
	close(from);
	if (to != -1)
		close(to);
	return (error);
}

/* Sockets are of processes, and devices of the host. */
static int
single(struct capture *c, int dir, int out, const char *name,
    const struct stat *st)
{
	char target[PATH_MAX];
	bool done;
	ssize_t n;
	int error;

	if (!S_ISREG(st->st_mode) && !S_ISLNK(st->st_mode) &&
	    !S_ISFIFO(st->st_mode))
		return (0);
	if ((error = linked(c, st, &done)) != 0 || done)
		return (error);
	if (S_ISREG(st->st_mode)) {
		error = regular(dir, out, name, st);
	} else if (S_ISLNK(st->st_mode)) {
		n = readlinkat(dir, name, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		if (n == -1 || symlinkat(target, out, name) != 0)
			error = errno;
	} else if (mkfifoat(out, name, 0600) != 0) {
		error = errno;
	}
	return (error != 0 ? error : dress(c, dir, out, name, st));
}

static int
enter(int dir, const char *name)
{

	return (openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC));
}

static bool
opaque(int fd)
{
	char v;

	return (fgetxattr(fd, OURS "opaque", &v, 1) == 1 && v == 'y');
}

/* A directory of the upper layer, the lower, or both. */
static int
directory(struct capture *c, int upper, int lower, int out,
    const char *name, const struct stat *st, int depth)
{
	int u = -1, l = -1, o, error;

	if (depth == DEEPEST)
		return (ELOOP);
	if (mkdirat(out, name, 0700) != 0)
		return (errno);
	if ((o = enter(out, name)) == -1)
		return (errno);
	if (upper != -1)
		u = enter(upper, name);
	if (lower != -1 && (u == -1 || !opaque(u)))
		l = enter(lower, name);
	error = merge(c, u, l, o, depth + 1);
	if (u != -1)
		close(u);
	if (l != -1)
		close(l);
	close(o);
	return (error != 0 ? error :
	    dress(c, upper != -1 ? upper : lower, out, name, st));
}

static int
entry(struct capture *c, int upper, int lower, int out, const char *name,
    int depth)
{
	int from = upper != -1 ? upper : lower, error;
	size_t len = c->len, n = strlen(name);
	struct stat st;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return (errno == ENOENT ? 0 : errno);
	/* What overlayfs puts where the template's file was removed. */
	if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(0, 0))
		return (0);
	if (len + n + 2 > sizeof(c->path))
		return (ENAMETOOLONG);
	if (len > 0)
		c->path[c->len++] = '/';
	memcpy(c->path + c->len, name, n + 1);
	c->len += n;
	error = S_ISDIR(st.st_mode) ?
	    directory(c, upper, lower, out, name, &st, depth) :
	    single(c, from, out, name, &st);
	/* What failed stays, to be told. */
	if (error == 0) {
		c->len = len;
		c->path[len] = '\0';
	}
	return (error);
}

static DIR *
listing(int fd)
{
	DIR *d = NULL;
	int own;

	if ((own = enter(fd, ".")) != -1 && (d = fdopendir(own)) == NULL)
		close(own);
	return (d);
}

/* All of one layer; of the lower one, what the upper one has no word on. */
static int
layer(struct capture *c, int upper, int lower, int out, int depth,
    bool lower_only)
{
	struct dirent *de;
	struct stat st;
	int error = 0;
	DIR *d;

	if ((d = listing(lower_only ? lower : upper)) == NULL)
		return (errno);
	while (error == 0 && (de = readdir(d)) != NULL) {
		if (strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0)
			continue;
		if (lower_only && upper != -1 && fstatat(upper, de->d_name,
		    &st, AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		error = entry(c, lower_only ? -1 : upper, lower, out,
		    de->d_name, depth);
	}
	closedir(d);
	return (error);
}

static int
merge(struct capture *c, int upper, int lower, int out, int depth)
{
	int error = 0;

	if (upper != -1)
		error = layer(c, upper, lower, out, depth, false);
	if (error == 0 && lower != -1)
		error = layer(c, upper, lower, out, depth, true);
	return (error);
}

/* The root itself has attributes as well. */
static int
root(struct capture *c, int upper, int lower, int fd)
{
	struct stat st;
	int error;

	if ((error = merge(c, upper, lower, fd, 0)) != 0)
		return (error);
	if (fstat(upper, &st) != 0 ||
	    fchown(fd, st.st_uid, st.st_gid) != 0 ||
	    fchmod(fd, st.st_mode & 07777) != 0)
		return (errno);
	return (0);
}

int
ns_capture(const struct sandbox_spec *s, int fd, struct co_error *e)
{
	struct capture c = { .top = fd };
	int disk, upper, lower, error;

	if ((disk = ns_disk_open(s, e)) == -1)
		return (-1);
	upper = enter(disk, "upper");
	lower = open(s->template, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	c.names = malloc(NAMES);
	c.value = malloc(NAMES);
	if (upper == -1 || lower == -1)
		error = errno;
	else if (c.names == NULL || c.value == NULL)
		error = ENOMEM;
	else
		error = root(&c, upper, lower, fd);
	tdestroy(c.links, free_link);
	free(c.names);
	free(c.value);
	if (upper != -1)
		close(upper);
	if (lower != -1)
		close(lower);
	close(disk);
	if (error != 0)
		return (co_error_errno(e, error, c.path[0] != '\0' ? c.path :
		    s->id, "can't write the sandbox's tree"));
	return (0);
}
