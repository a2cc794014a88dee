/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Linux: watching a file or directory, or a whole tree, by inotify(7).
 */

#include <sys/inotify.h>
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
#define	MASK		(IN_CREATE | IN_MODIFY | IN_ATTRIB | IN_DELETE | \
			    IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | \
			    IN_MOVE_SELF)

/* Directories by watch descriptor, which inotify counts from 1. */
struct watch {
	struct file	*f;
	const char	*top;
	char		**path;		/* relative to top; "" is top */
	int		 n;
	int		 fd;
	bool		 recursive;
};

static int
remember(struct watch *w, int wd, const char *path)
{
	char **grown, *copy;

	while (wd >= w->n) {
		grown = realloc(w->path, 2 * (size_t)w->n * sizeof(*grown));
		if (grown == NULL)
			return (ENOMEM);
		memset(grown + w->n, 0, (size_t)w->n * sizeof(*grown));
		w->path = grown;
		w->n *= 2;
	}
	if ((copy = strdup(path)) == NULL)
		return (ENOMEM);
	free(w->path[wd]);
	w->path[wd] = copy;
	return (0);
}

static bool
join(char *to, const char *dir, const char *name)
{

	return (snprintf(to, MAXPATH, "%s%s%s", dir,
	    dir[0] != '\0' && name[0] != '\0' ? "/" : "", name) < MAXPATH);
}

static int watch_dir(struct watch *, const char *, bool);

/* Watch the directories below one; announce what a new one already has. */
static int
watch_below(struct watch *w, const char *rel, const char *full, bool fresh)
{
	char sub[MAXPATH];
	struct dirent *de;
	struct stat st;
	int error = 0;
	DIR *d;

	if ((d = opendir(full)) == NULL)
		return (0);
	while (error == 0 && (de = readdir(d)) != NULL) {
		if (strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0 ||
		    !join(sub, rel, de->d_name) ||
		    fstatat(dirfd(d), de->d_name, &st,
		    AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		if (fresh)
			file_event(w->f, WE_CREATE, sub);
		if (S_ISDIR(st.st_mode))
			error = watch_dir(w, sub, fresh);
	}
	closedir(d);
	return (error);
}

static int
watch_dir(struct watch *w, const char *rel, bool fresh)
{
	char full[2 * MAXPATH];
	int wd, error;

	(void)snprintf(full, sizeof(full), "%s%s%s", w->top,
	    rel[0] != '\0' ? "/" : "", rel);
	wd = inotify_add_watch(w->fd, full, MASK |
	    (rel[0] != '\0' ? IN_ONLYDIR | IN_DONT_FOLLOW : 0));
	if (wd == -1)
		return (rel[0] != '\0' && errno == ENOENT ? 0 : errno);
	if ((error = remember(w, wd, rel)) != 0)
		return (error);
	return (w->recursive ? watch_below(w, rel, full, fresh) : 0);
}

static int
translate(struct watch *w, const struct inotify_event *ie)
{
	static const struct {
		uint32_t	bits;
		enum sw_event	event;
	} map[] = {
		{ IN_CREATE | IN_MOVED_TO, WE_CREATE },
		{ IN_MODIFY, WE_WRITE },
		{ IN_DELETE, WE_REMOVE },
		{ IN_MOVED_FROM, WE_RENAME },
		{ IN_ATTRIB, WE_CHMOD },
	};
	const char *dir, *name = ie->len > 0 ? ie->name : "";
	char path[MAXPATH];

	if ((ie->mask & IN_Q_OVERFLOW) != 0) {
		file_event(w->f, WE_OVERFLOW, "");
		return (0);
	}
	if (ie->wd < 0 || ie->wd >= w->n || (dir = w->path[ie->wd]) == NULL)
		return (0);
	if ((ie->mask & (IN_DELETE_SELF | IN_MOVE_SELF)) != 0) {
		/* Of a directory below, its parent tells. */
		if (dir[0] == '\0')
			file_event(w->f, WE_REMOVE, "");
		return (dir[0] == '\0' ? ENOENT : 0);
	}
	if (!join(path, dir, name))
		return (0);
	for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		if ((ie->mask & map[i].bits) != 0)
			file_event(w->f, map[i].event, path);
	if (w->recursive && (ie->mask & (IN_CREATE | IN_MOVED_TO)) != 0 &&
	    (ie->mask & IN_ISDIR) != 0)
		return (watch_dir(w, path, true));
	return (0);
}

static int
events(struct watch *w)
{
	union {
		struct inotify_event	ie;
		char			buf[16384];
	} u;
	struct inotify_event ie;
	ssize_t n;
	int error = 0;

	if ((n = read(w->fd, u.buf, sizeof(u.buf))) <= 0)
		return (n == -1 ? errno : EIO);
	for (ssize_t at = 0; at < n && error == 0;
	    at += (ssize_t)(sizeof(ie) + ie.len)) {
		const void *p = u.buf + at;

		memcpy(&ie, p, sizeof(ie));
		error = translate(w, p);
	}
	return (error);
}

/* Until the end, which is that of this process. */
static int
watch_all(struct watch *w)
{
	struct stat st;
	int error;

	if ((w->fd = inotify_init1(IN_CLOEXEC)) == -1)
		return (errno);
	if ((error = watch_dir(w, "", false)) != 0)
		return (error);
	if (stat(w->top, &st) != 0)
		return (errno);
	/* The entry of what is watched says that the watch is on. */
	file_entry(w->f, AT_FDCWD, w->top, w->top, &st);
	while ((error = events(w)) == 0)
		;
	return (error);
}

int
file_watch(struct file *f)
{
	struct watch w = { .f = f, .top = sw_str(f->m, F_PATH, ""),
	    .recursive = sw_num(f->m, F_RECURSIVE, 0) != 0, .n = 64 };
	int error;

	if ((w.path = calloc((size_t)w.n, sizeof(*w.path))) == NULL)
		return (ENOMEM);
	error = watch_all(&w);
	for (int i = 0; i < w.n; i++)
		free(w.path[i]);
	free(w.path);
	return (error);
}
