/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Watching by kqueue: a descriptor for every directory, whose names are
 * compared with what they were, and for as many files as a bound allows.
 * What changes in files beyond it stays unseen until their names do.
 */

#include <sys/types.h>
#include <sys/event.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "coppicefsd.h"
#include "watch.h"
#include "watch_kqueue.h"

#define	EVENTS		256	/* in one go */
#define	FILES_MAX	16384
#define	BUCKETS		4096
#define	NOTES		(NOTE_WRITE | NOTE_EXTEND | NOTE_ATTRIB | \
	NOTE_DELETE | NOTE_RENAME | NOTE_LINK)

/* A name in a directory, and the file there if it is watched. */
struct entry {
	LIST_ENTRY(entry) link;
	struct item	*file;		/* NULL: only its name is */
	uint64_t	 ino;
	bool		 dir;
	bool		 seen;
	char		 name[];
};

/* What has a descriptor. */
struct item {
	LIST_ENTRY(item) hash;		/* directories only */
	LIST_HEAD(, entry) entries;
	uint64_t	 key;		/* of the directory */
	struct entry	*entry;		/* a file's */
	int		 fd;
};

struct kq {
	LIST_HEAD(, item) bucket[BUCKETS];
	unsigned int	 nfiles;
	unsigned int	 maxfiles;
};

static struct item *
item_new(struct watch *w, int fd, uint64_t key)
{
	struct kevent ev;
	struct item *it;

	if ((it = calloc(1, sizeof(*it))) == NULL)
		return (NULL);
	it->fd = fd;
	it->key = key;
	LIST_INIT(&it->entries);
	EV_SET(&ev, fd, EVFILT_VNODE, EV_ADD | EV_CLEAR, NOTES, 0, it);
	if (kevent(w->fd, &ev, 1, NULL, 0, NULL) == -1) {
		free(it);
		return (NULL);
	}
	return (it);
}

/* The bound is on descriptors; links and devices have nothing to say. */
static void
file_watch(struct watch *w, struct item *dir, struct entry *en)
{
	struct kq *k = w->priv;
	int fd;

	if (k->nfiles >= k->maxfiles || (fd = openat(dir->fd, en->name,
	    O_PATH | O_NOFOLLOW | O_CLOEXEC)) == -1)
		return;
	if ((en->file = item_new(w, fd, dir->key)) == NULL) {
		(void)close(fd);
		return;
	}
	en->file->entry = en;
	k->nfiles++;
}

static void
file_unwatch(struct watch *w, struct entry *en)
{
	struct kq *k = w->priv;

	if (en->file == NULL)
		return;
	(void)close(en->file->fd);
	free(en->file);
	en->file = NULL;
	k->nfiles--;
}

static void
entry_tell(struct watch *w, const struct item *dir, const struct entry *en)
{

	watch_event(w, dir->key, en->name, en->dir ? WATCH_DIRECTORY :
	    WATCH_ENTRY, false);
}

static void
entry_see(struct watch *w, struct item *dir, const struct dirent *de,
    bool tell)
{
	struct entry *en;
	size_t len;

	LIST_FOREACH(en, &dir->entries, link)
		if (strcmp(en->name, de->d_name) == 0)
			break;
	if (en != NULL && en->ino == de->d_fileno) {
		en->seen = true;
		return;
	}
	if (en == NULL) {
		len = strlen(de->d_name) + 1;
		if ((en = calloc(1, sizeof(*en) + len)) == NULL)
			return;
		memcpy(en->name, de->d_name, len);
		LIST_INSERT_HEAD(&dir->entries, en, link);
	} else
		file_unwatch(w, en);
	en->ino = de->d_fileno;
	en->dir = de->d_type == DT_DIR;
	en->seen = true;
	if (de->d_type == DT_REG)
		file_watch(w, dir, en);
	if (tell)
		entry_tell(w, dir, en);
}

/* Compare what is there with what was, and tell the difference. */
static void
dir_compare(struct watch *w, struct item *dir, bool tell)
{
	struct entry *en, *next;
	struct dirent *de;
	DIR *dp;
	int fd;

	fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1 || (dp = fdopendir(fd)) == NULL) {
		if (fd != -1)
			(void)close(fd);
		return;
	}
	LIST_FOREACH(en, &dir->entries, link)
		en->seen = false;
	while ((de = readdir(dp)) != NULL)
		if (strcmp(de->d_name, ".") != 0 &&
		    strcmp(de->d_name, "..") != 0)
			entry_see(w, dir, de, tell);
	(void)closedir(dp);
	for (en = LIST_FIRST(&dir->entries); en != NULL; en = next) {
		next = LIST_NEXT(en, link);
		if (en->seen)
			continue;
		LIST_REMOVE(en, link);
		file_unwatch(w, en);
		if (tell)
			entry_tell(w, dir, en);
		free(en);
	}
}

static struct item *
dir_item(struct kq *k, uint64_t key)
{
	struct item *it;

	LIST_FOREACH(it, &k->bucket[key % BUCKETS], hash)
		if (it->key == key)
			return (it);
	return (NULL);
}

static int
kq_open(struct watch *w)
{
	struct rlimit rl;
	struct kq *k;

	if ((w->fd = kqueue()) == -1)
		return (errno);
	if ((k = calloc(1, sizeof(*k))) == NULL) {
		(void)close(w->fd);
		return (ENOMEM);
	}
	k->maxfiles = FILES_MAX;
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0 &&
	    rl.rlim_cur / 4 < FILES_MAX)
		k->maxfiles = (unsigned int)(rl.rlim_cur / 4);
	w->priv = k;
	return (0);
}

static int
kq_add(struct watch *w, int dirfd, uint64_t *key)
{
	struct { uint64_t dev, ino; } id;
	struct kq *k = w->priv;
	struct item *it;
	struct stat st;
	int fd;

	if (fstat(dirfd, &st) == -1)
		return (errno);
	id.dev = (uint64_t)st.st_dev;
	id.ino = (uint64_t)st.st_ino;
	*key = ledger_hash(&id, sizeof(id));
	if (dir_item(k, *key) != NULL)
		return (0);
	fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		return (errno);
	if ((it = item_new(w, fd, *key)) == NULL) {
		(void)close(fd);
		return (ENOMEM);
	}
	LIST_INSERT_HEAD(&k->bucket[*key % BUCKETS], it, hash);
	dir_compare(w, it, false);
	return (0);
}

static void
kq_drop(struct watch *w, uint64_t key)
{
	struct item *it;
	struct entry *en;

	if ((it = dir_item(w->priv, key)) == NULL)
		return;
	LIST_REMOVE(it, hash);
	while ((en = LIST_FIRST(&it->entries)) != NULL) {
		LIST_REMOVE(en, link);
		file_unwatch(w, en);
		free(en);
	}
	(void)close(it->fd);
	free(it);
}

/* Its attributes are news of its name in its parent. */
static void
dir_attributes(struct watch *w, const struct item *it)
{
	struct wdir *d;

	if ((d = watch_find(w, it->key)) == NULL)
		return;
	if (d->parent == NULL)
		watch_event(w, it->key, "", WATCH_ENTRY, false);
	else
		watch_event(w, d->parent->key, d->name, WATCH_ENTRY, false);
}

static void
kq_event(struct watch *w, const struct kevent *ev)
{
	struct item *it = ev->udata;

	if (it->entry != NULL) {
		if ((ev->fflags & (NOTE_WRITE | NOTE_EXTEND |
		    NOTE_ATTRIB)) != 0)
			watch_event(w, it->key, it->entry->name, WATCH_ENTRY,
			    false);
		return;
	}
	if ((ev->fflags & (NOTE_WRITE | NOTE_EXTEND | NOTE_LINK)) != 0)
		dir_compare(w, it, true);
	else if ((ev->fflags & NOTE_ATTRIB) != 0)
		dir_attributes(w, it);
}

/*
 * Files first: what is told of a directory may do away with files that have
 * news of their own in the same batch.
 */
static int
kq_take(struct watch *w, int wait)
{
	struct timespec ts = { .tv_sec = wait / 1000,
	    .tv_nsec = (long)(wait % 1000) * 1000000 };
	struct kevent ev[EVENTS];
	struct kq *k = w->priv;
	int i, n;
	uint64_t keys[EVENTS];
	struct item *it;

	if ((n = kevent(w->fd, NULL, 0, ev, EVENTS, &ts)) <= 0)
		return (0);
	for (i = 0; i < n; i++) {
		it = ev[i].udata;
		keys[i] = it->entry == NULL ? it->key : 0;
		if (it->entry != NULL)
			kq_event(w, &ev[i]);
	}
	for (i = 0; i < n; i++)
		if (keys[i] != 0 && (it = dir_item(k, keys[i])) != NULL &&
		    it == ev[i].udata)
			kq_event(w, &ev[i]);
	return (n);
}

static void
kq_close(struct watch *w)
{
	struct kq *k = w->priv;
	unsigned int i;

	for (i = 0; i < BUCKETS; i++)
		while (!LIST_EMPTY(&k->bucket[i]))
			kq_drop(w, LIST_FIRST(&k->bucket[i])->key);
	(void)close(w->fd);
	free(k);
	w->fd = -1;
}

const struct watcher watch_kqueue = {
	.name = "kqueue",
	.author = false,
	.open = kq_open,
	.add = kq_add,
	.drop = kq_drop,
	.take = kq_take,
	.close = kq_close
};
