/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * FreeBSD: watching by kqueue(2).  A directory only tells that something in
 * it changed, so it is read again and held against what was known; every
 * file is watched for itself.
 */

#include <sys/types.h>
#include <sys/event.h>
#include <sys/resource.h>
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
#define	MAXNODES	8192
#define	NOTES		(NOTE_WRITE | NOTE_EXTEND | NOTE_ATTRIB | \
			    NOTE_DELETE | NOTE_RENAME)

/* A file or directory that is known, relative to the top, which is "". */
struct node {
	struct node	*next;
	struct node	*parent;
	char		*path;
	ino_t		 ino;
	int		 fd;
	bool		 dir;
	bool		 seen;
	bool		 fresh;
};

struct watch {
	struct file	*f;
	const char	*top;
	struct node	*nodes;
	size_t		 n;
	int		 kq;
	bool		 recursive;
};

static struct node *
find(struct watch *w, const char *path)
{
	struct node *n;

	for (n = w->nodes; n != NULL && strcmp(n->path, path) != 0;
	    n = n->next)
		;
	return (n);
}

static void
forget(struct watch *w, struct node *n)
{
	struct node **at;

	for (at = &w->nodes; *at != n; at = &(*at)->next)
		;
	*at = n->next;
	w->n--;
	close(n->fd);
	free(n->path);
	free(n);
}

/* Forget what is below a directory, then itself. */
static void
forget_tree(struct watch *w, struct node *dir)
{
	struct node *n;

	do {
		for (n = w->nodes; n != NULL && n->parent != dir; n = n->next)
			;
		if (n != NULL)
			forget_tree(w, n);
	} while (n != NULL);
	forget(w, dir);
}

/* Begin to watch what is named name at at; NULL with errno on failure. */
static struct node *
add(struct watch *w, struct node *parent, int at, const char *name,
    const char *path, int flags)
{
	struct kevent ke;
	struct stat st;
	struct node *n;

	if (w->n == MAXNODES) {
		errno = ENOSPC;
		return (NULL);
	}
	if ((n = calloc(1, sizeof(*n))) == NULL)
		return (NULL);
	n->fd = openat(at, name, O_PATH | O_CLOEXEC | flags);
	if (n->fd == -1 || fstat(n->fd, &st) != 0 ||
	    (n->path = strdup(path)) == NULL)
		goto err0;
	n->parent = parent;
	n->ino = st.st_ino;
	n->dir = S_ISDIR(st.st_mode);
	EV_SET(&ke, (uintptr_t)n->fd, EVFILT_VNODE, EV_ADD | EV_CLEAR, NOTES,
	    0, n);
	/* What can't be watched is still known by name. */
	(void)kevent(w->kq, &ke, 1, NULL, 0, NULL);
	n->next = w->nodes;
	w->nodes = n;
	w->n++;
	return (n);

err0:
	if (n->fd != -1)
		close(n->fd);
	free(n->path);
	free(n);
	return (NULL);
}

static int scan(struct watch *, struct node *, bool);

/* An entry of a directory: known, or new. */
static int
meet(struct watch *w, struct node *dir, const struct dirent *de, bool tell)
{
	char path[MAXPATH];
	struct node *n;

	if (snprintf(path, sizeof(path), "%s%s%s", dir->path,
	    dir->path[0] != '\0' ? "/" : "", de->d_name) >= MAXPATH)
		return (0);
	n = find(w, path);
	if (n != NULL && n->ino == de->d_fileno) {
		n->seen = true;
		return (0);
	}
	if (n != NULL)
		forget_tree(w, n);
	if ((n = add(w, dir, dir->fd, de->d_name, path, O_NOFOLLOW)) == NULL)
		return (errno == ENOENT ? 0 : errno);
	n->seen = n->fresh = true;
	if (tell)
		file_event(w->f, WE_CREATE, path);
	return (n->dir && w->recursive ? scan(w, n, tell) : 0);
}

/* Gone from here: renamed if the same file just turned up, or removed. */
static void
lose(struct watch *w, struct node *gone)
{
	enum sw_event event = WE_REMOVE;

	for (struct node *n = w->nodes; n != NULL; n = n->next)
		if (n->fresh && n->ino == gone->ino)
			event = WE_RENAME;
	file_event(w->f, event, gone->path);
	forget_tree(w, gone);
}

/* Read a directory and hold it against what was known of it. */
static int
scan(struct watch *w, struct node *dir, bool tell)
{
	struct dirent *de;
	struct node *n;
	int fd, error = 0;
	DIR *d;

	fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1 || (d = fdopendir(fd)) == NULL) {
		if (fd != -1)
			close(fd);
		return (0);
	}
	for (n = w->nodes; n != NULL; n = n->next)
		if (n->parent == dir)
			n->seen = n->fresh = false;
	while (error == 0 && (de = readdir(d)) != NULL)
		if (strcmp(de->d_name, ".") != 0 &&
		    strcmp(de->d_name, "..") != 0)
			error = meet(w, dir, de, tell);
	closedir(d);
	while (error == 0) {
		for (n = w->nodes; n != NULL && (n->parent != dir || n->seen);
		    n = n->next)
			;
		if (n == NULL)
			break;
		lose(w, n);
	}
	return (error);
}

static int
event(struct watch *w)
{
	struct node *n;
	struct kevent ke;

	/* One at a time: handling one may forget the next one's node. */
	if (kevent(w->kq, NULL, 0, &ke, 1, NULL) != 1)
		return (errno == EINTR ? 0 : errno);
	n = ke.udata;
	if (n->parent == NULL && (ke.fflags & (NOTE_DELETE |
	    NOTE_RENAME)) != 0) {
		file_event(w->f, WE_REMOVE, "");
		return (ENOENT);
	}
	if ((ke.fflags & NOTE_ATTRIB) != 0 && (ke.fflags & NOTE_DELETE) == 0)
		file_event(w->f, WE_CHMOD, n->path);
	if (n->dir && (n->parent == NULL || w->recursive))
		return ((ke.fflags & (NOTE_WRITE | NOTE_EXTEND)) != 0 ?
		    scan(w, n, true) : 0);
	if (!n->dir && (ke.fflags & (NOTE_WRITE | NOTE_EXTEND)) != 0)
		file_event(w->f, WE_WRITE, n->path);
	return (0);
}

int
file_watch(struct file *f)
{
	struct watch w = { .f = f, .top = sw_str(f->m, F_PATH, ""),
	    .recursive = sw_num(f->m, F_RECURSIVE, 0) != 0 };
	struct rlimit rl;
	struct node *top;
	struct stat st;
	int error;

	if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		rl.rlim_cur = rl.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &rl);
	}
	if ((w.kq = kqueue()) == -1)
		return (errno);
	if ((top = add(&w, NULL, AT_FDCWD, w.top, "", 0)) == NULL)
		return (errno);
	if (top->dir && (error = scan(&w, top, false)) != 0)
		return (error);
	if (stat(w.top, &st) != 0)
		return (errno);
	/* The entry of what is watched says that the watch is on. */
	file_entry(f, AT_FDCWD, w.top, w.top, &st);
	while ((error = event(&w)) == 0)
		;
	return (error);
}
