/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Walks of the whole folder: slow, and only for what was lost sight of, or
 * for other names of a file whose inode can't be kept.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "undo_internal.h"

/* One descriptor is open per level. */
#define	MAXDEPTH	512

struct walk {
	char		*path;
	size_t		 len;
	size_t		 size;
	unsigned int	 depth;
	int		(*fn)(void *, const char *, const struct stat *);
	void		*arg;
};

static int
push(struct walk *w, const char *name)
{
	size_t need;
	char *n;

	need = w->len + strlen(name) + 2;
	if (need > w->size) {
		if ((n = realloc(w->path, need * 2)) == NULL)
			return (ENOMEM);
		w->path = n;
		w->size = need * 2;
	}
	w->len += (size_t)snprintf(w->path + w->len, w->size - w->len,
	    "%s%s", w->len == 0 ? "" : "/", name);
	return (0);
}

/* What is not for us to read, or has just gone, is passed over. */
static bool
passed_over(int error)
{

	return (error == ENOENT || error == EACCES || error == EPERM ||
	    error == ENOTDIR || error == ELOOP);
}

static int
walk_in(struct walk *w, int at, const char *dirname)
{
	struct dirent *de;
	struct stat st;
	size_t len;
	DIR *d;
	int r;

	de = NULL;
	if (w->depth > MAXDEPTH)
		return (0);
	if ((d = sys_opendirat(at, dirname)) == NULL)
		return (passed_over(errno) ? 0 : errno);
	w->depth++;
	r = 0;
	while (r == 0 && (de = sys_readdir(d)) != NULL) {
		if (sys_fstatat(dirfd(d), de->d_name, &st) == -1) {
			if (passed_over(errno))
				continue;
			r = errno;
			break;
		}
		len = w->len;
		if ((r = push(w, de->d_name)) == 0 &&
		    (r = w->fn(w->arg, w->path, &st)) == 0 &&
		    S_ISDIR(st.st_mode))
			r = walk_in(w, dirfd(d), de->d_name);
		w->len = len;
		if (w->path != NULL)
			w->path[len] = '\0';
	}
	if (r == 0 && de == NULL)
		r = errno;
	w->depth--;
	sys_closedir(d);
	return (r);
}

static int
walk(const struct undo *u, int (*fn)(void *, const char *,
    const struct stat *), void *arg)
{
	struct walk w = { .fn = fn, .arg = arg };
	int r;

	r = walk_in(&w, u->rootfd, ".");
	free(w.path);
	return (r);
}

/*
 * Where is this inode?
 */
struct finder {
	const struct undo *u;
	uint64_t	 dev;
	uint64_t	 ino;
	char		*path;
};

static int
found(void *arg, const char *path, const struct stat *st)
{
	struct finder *f = arg;

	if ((uint64_t)st->st_ino != f->ino ||
	    norm_dev(f->u, st->st_dev) != f->dev)
		return (0);
	return ((f->path = strdup(path)) == NULL ? ENOMEM : EEXIST);
}

int
tree_find(const struct undo *u, uint64_t dev, uint64_t ino, char **pathp)
{
	struct finder f = { u, dev, ino, NULL };
	struct stat st;
	int r;

	*pathp = NULL;
	if (sys_fstat(u->rootfd, &st) == -1)
		return (errno);
	if ((uint64_t)st.st_ino == ino && dev == 0)
		return ((*pathp = strdup("")) == NULL ? ENOMEM : 0);
	r = walk(u, found, &f);
	*pathp = f.path;
	return (r == EEXIST ? 0 : r == 0 ? ENOENT : r);
}

/*
 * Names of files that have several, as they were at the last walk.
 */
static void
names_clear(struct undo *u)
{
	size_t i;

	for (i = 0; i < u->nnames; i++)
		free(u->names[i].path);
	free(u->names);
	u->names = NULL;
	u->nnames = 0;
}

void
tree_forget(struct undo *u)
{

	(void)pthread_mutex_lock(&u->namelock);
	names_clear(u);
	(void)pthread_mutex_unlock(&u->namelock);
}

static int
gather(void *arg, const char *path, const struct stat *st)
{
	struct undo *u = arg;
	struct name *n;

	if (S_ISDIR(st->st_mode) || st->st_nlink < 2)
		return (0);
	if ((u->nnames & (u->nnames + 1)) == 0) {
		n = realloc(u->names, (2 * u->nnames + 2) * sizeof(*n));
		if (n == NULL)
			return (ENOMEM);
		u->names = n;
	}
	n = &u->names[u->nnames];
	n->dev = norm_dev(u, st->st_dev);
	n->ino = (uint64_t)st->st_ino;
	if ((n->path = strdup(path)) == NULL)
		return (ENOMEM);
	u->nnames++;
	return (0);
}

static int
by_inode(const void *a, const void *b)
{
	const struct name *x, *y;

	x = a;
	y = b;
	if (x->ino != y->ino)
		return (x->ino < y->ino ? -1 : 1);
	return (x->dev < y->dev ? -1 : x->dev > y->dev);
}

/* Among the names known, one that is still true and not ${path}. */
static int
known_name(struct undo *u, const struct stat *st, const char *path,
    char **other)
{
	struct stat now;
	struct name key, *n;
	int error;

	key.dev = norm_dev(u, st->st_dev);
	key.ino = (uint64_t)st->st_ino;
	if (u->nnames == 0 || (n = bsearch(&key, u->names, u->nnames,
	    sizeof(*n), by_inode)) == NULL)
		return (ENOENT);
	while (n > u->names && by_inode(n - 1, &key) == 0)
		n--;
	for (; n < u->names + u->nnames && by_inode(n, &key) == 0; n++) {
		if (strcmp(n->path, path) == 0)
			continue;
		error = path_stat(u, n->path, &now);
		if (error != 0 && !passed_over(error))
			return (error);
		if (error == 0 && now.st_ino == st->st_ino &&
		    now.st_dev == st->st_dev)
			return ((*other = strdup(n->path)) == NULL ?
			    ENOMEM : 0);
	}
	return (ENOENT);
}

/*
 * Find another name of the file ${st} at ${path}; *${other} is NULL when it
 * has none in the folder.
 */
int
tree_other(struct undo *u, const struct stat *st, const char *path,
    char **other)
{
	int error;

	*other = NULL;
	if (st->st_nlink < 2)
		return (0);
	(void)pthread_mutex_lock(&u->namelock);
	error = known_name(u, st, path, other);
	if (error == ENOENT) {
		names_clear(u);
		error = walk(u, gather, u);
		if (error != 0)
			names_clear(u);
		if (u->nnames > 0)
			qsort(u->names, u->nnames, sizeof(*u->names),
			    by_inode);
		if (error == 0)
			error = known_name(u, st, path, other);
	}
	(void)pthread_mutex_unlock(&u->namelock);
	return (error == ENOENT ? 0 : error);
}
