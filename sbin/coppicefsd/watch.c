/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The watcher's thread and what it knows: the directories, as a tree that
 * follows renames, so that an event has a path; and the changes of others,
 * gathered for a moment and told together.
 *
 * A directory is looked at again whenever one came to or left its name:
 * what is there now counts, not the order in which the system tells.
 */

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

#define	PATH_LEN	SHARE_PATH_MAX
#define	GATHER_MS	100	/* how long changes are gathered */
#define	REST_MS		20	/* between looks, when much is going on */
#define	IDLE_MS		500
/* How long after its announcement a change may be made, and heard. */
#define	OWN_NS		((co_moment)2 * 1000000000)

struct wdir *
watch_find(struct watch *w, uint64_t key)
{
	struct wdir *d;

	LIST_FOREACH(d, &w->buckets[key % WATCH_BUCKETS], hash)
		if (d->key == key)
			return (d);
	return (NULL);
}

bool
watch_path(const struct wdir *d, const char *name, char *buf, size_t size)
{
	size_t at, len;

	at = size - 1;
	buf[at] = '\0';
	for (;;) {
		len = strlen(name);
		if (len + 1 > at)
			return (false);
		if (len > 0) {
			if (buf[at] != '\0')
				buf[--at] = '/';
			at -= len;
			memcpy(buf + at, name, len);
		}
		if (d->parent == NULL)
			break;
		name = d->name;
		d = d->parent;
	}
	/* Only the root has neither parent nor name. */
	if (d->name[0] != '\0')
		return (false);
	memmove(buf, buf + at, size - at);
	return (true);
}

/*
 * The tree.
 */
static struct wdir *
dir_new(struct watch *w, struct wdir *parent, const char *name, uint64_t key)
{
	struct wdir *d;
	size_t len;

	len = strlen(name) + 1;
	if ((d = calloc(1, sizeof(*d) + len)) == NULL)
		return (NULL);
	memcpy(d->name, name, len);
	d->key = key;
	d->parent = parent;
	LIST_INIT(&d->children);
	if (parent != NULL)
		LIST_INSERT_HEAD(&parent->children, d, sibling);
	LIST_INSERT_HEAD(&w->buckets[key % WATCH_BUCKETS], d, hash);
	w->directories++;
	return (d);
}

static void
dir_forget(struct watch *w, struct wdir *d)
{
	struct wdir *c;

	/* Depth first, without recursion: trees may be very deep. */
	for (;;) {
		while ((c = LIST_FIRST(&d->children)) != NULL)
			d = c;
		c = d->parent;
		LIST_REMOVE(d, sibling);
		LIST_REMOVE(d, hash);
		if (d->queued)
			STAILQ_REMOVE(&w->work, d, wdir, work);
		w->by->drop(w, d->key);
		w->directories--;
		free(d);
		if (c == NULL)
			return;
		d = c;
	}
}

static void
dir_orphan(struct watch *w, struct wdir *d)
{

	LIST_REMOVE(d, sibling);
	d->parent = NULL;
	LIST_INSERT_HEAD(&w->orphans, d, sibling);
}

static void
dir_queue(struct watch *w, struct wdir *d)
{

	if (!d->queued) {
		d->queued = true;
		STAILQ_INSERT_TAIL(&w->work, d, work);
	}
}

static struct wdir *
dir_child(struct wdir *d, const char *name)
{
	struct wdir *c;

	LIST_FOREACH(c, &d->children, sibling)
		if (strcmp(c->name, name) == 0)
			return (c);
	return (NULL);
}

static bool
dir_within(const struct wdir *d, const struct wdir *top)
{

	for (; d != NULL; d = d->parent)
		if (d == top)
			return (true);
	return (false);
}

/* A known directory is at another place now; its name is part of it. */
static void
dir_move(struct watch *w, struct wdir *d, struct wdir *parent,
    const char *name)
{
	struct wdir *c, *n;

	if (d->parent == parent && strcmp(d->name, name) == 0)
		return;
	if (dir_within(parent, d))
		return;
	LIST_REMOVE(d, sibling);
	LIST_REMOVE(d, hash);
	if ((n = dir_new(w, parent, name, d->key)) == NULL) {
		LIST_INSERT_HEAD(&w->orphans, d, sibling);
		LIST_INSERT_HEAD(&w->buckets[d->key % WATCH_BUCKETS], d,
		    hash);
		d->parent = NULL;
		return;
	}
	w->directories--;
	n->priv = d->priv;
	while ((c = LIST_FIRST(&d->children)) != NULL) {
		LIST_REMOVE(c, sibling);
		c->parent = n;
		LIST_INSERT_HEAD(&n->children, c, sibling);
	}
	if (d->queued) {
		STAILQ_REMOVE(&w->work, d, wdir, work);
		dir_queue(w, n);
	}
	free(d);
}

/* The directory ${fd} is at ${name} in ${parent}. */
static void
dir_seen(struct watch *w, struct wdir *parent, const char *name, int fd)
{
	struct wdir *d, *old;
	uint64_t key;

	if (w->by->add(w, fd, &key) != 0)
		return;
	d = watch_find(w, key);
	old = dir_child(parent, name);
	if (old != NULL && old != d)
		dir_orphan(w, old);
	if (d != NULL)
		dir_move(w, d, parent, name);
	else if ((d = dir_new(w, parent, name, key)) != NULL)
		dir_queue(w, d);
}

static void
dir_scan(struct watch *w, struct wdir *d)
{
	char path[PATH_LEN];
	struct dirent *de;
	struct stat st;
	DIR *dp;
	int fd;

	if (!watch_path(d, "", path, sizeof(path)) ||
	    (fd = watch_os_open(w->rootfd, path)) == -1)
		return;
	if ((dp = fdopendir(fd)) == NULL) {
		(void)close(fd);
		return;
	}
	while ((de = readdir(dp)) != NULL) {
		if (strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0 ||
		    (de->d_type != DT_DIR && de->d_type != DT_UNKNOWN) ||
		    (de->d_type == DT_UNKNOWN && (fstatat(dirfd(dp),
		    de->d_name, &st, AT_SYMLINK_NOFOLLOW) == -1 ||
		    !S_ISDIR(st.st_mode))))
			continue;
		if ((fd = watch_os_open(dirfd(dp), de->d_name)) == -1)
			continue;
		dir_seen(w, d, de->d_name, fd);
		(void)close(fd);
	}
	(void)closedir(dp);
}

static void
work_do(struct watch *w)
{
	struct wdir *d;

	while (!w->stopping && (d = STAILQ_FIRST(&w->work)) != NULL) {
		STAILQ_REMOVE_HEAD(&w->work, work);
		d->queued = false;
		dir_scan(w, d);
	}
}

static void
dir_look(struct watch *w, struct wdir *parent, const char *name,
    const char *path)
{
	struct wdir *d;
	int fd;

	if ((fd = watch_os_open(w->rootfd, path)) == -1) {
		if ((d = dir_child(parent, name)) != NULL)
			dir_orphan(w, d);
		return;
	}
	dir_seen(w, parent, name, fd);
	(void)close(fd);
	work_do(w);
}

/*
 * Events.
 */
static void
batch_tell(struct watch *w)
{
	size_t i;

	if (w->nbatch == 0)
		return;
	server_external(w->server, (const char *const *)w->batch, w->nbatch);
	for (i = 0; i < w->nbatch; i++)
		free(w->batch[i]);
	w->nbatch = 0;
}

static void
batch_add(struct watch *w, const char *path)
{
	size_t i;

	w->external++;
	for (i = 0; i < w->nbatch; i++)
		if (strcmp(w->batch[i], path) == 0)
			return;
	if (w->nbatch == WATCH_BATCH)
		return;
	if ((w->batch[w->nbatch] = strdup(path)) == NULL)
		return;
	if (w->nbatch++ == 0)
		w->since = co_now();
}

/*
 * A file of several names may be changed by one and announced by another:
 * store a hash of the file itself, if it is one.  No link leads the way.
 */
static bool
linked(struct watch *w, const char *path, uint64_t *hash)
{
	struct { uint64_t dev, ino; } id;
	char dir[PATH_LEN];
	const char *name;
	struct stat st;
	int fd, ret;

	if ((name = strrchr(path, '/')) == NULL)
		ret = fstatat(w->rootfd, path, &st, AT_SYMLINK_NOFOLLOW);
	else {
		memcpy(dir, path, (size_t)(name - path));
		dir[name - path] = '\0';
		if ((fd = watch_os_open(w->rootfd, dir)) == -1)
			return (false);
		ret = fstatat(fd, name + 1, &st, AT_SYMLINK_NOFOLLOW);
		(void)close(fd);
	}
	if (ret == -1 || S_ISDIR(st.st_mode) || st.st_nlink < 2)
		return (false);
	id.dev = (uint64_t)st.st_dev;
	id.ino = (uint64_t)st.st_ino;
	*hash = ledger_hash(&id, sizeof(id));
	return (true);
}

static bool
is_own(struct watch *w, const char *path)
{
	uint64_t hash;

	return (w->muted != 0 || w->was_muted != 0 ||
	    ledger_has(w->ledger, ledger_hash(path, strlen(path))) ||
	    (linked(w, path, &hash) && ledger_has(w->ledger, hash)));
}

void
watch_event(struct watch *w, uint64_t key, const char *name,
    enum watch_what what, bool own)
{
	char path[PATH_LEN];
	struct wdir *d;

	w->events++;
	if (own)
		w->own++;
	if ((own && what != WATCH_DIRECTORY) ||
	    (d = watch_find(w, key)) == NULL)
		return;
	/* A directory's own news come from its parent too. */
	if (name[0] == '\0' && d != w->root)
		return;
	if (!watch_path(d, name, path, sizeof(path)))
		return;
	if (!own && !w->by->author && is_own(w, path)) {
		own = true;
		w->own++;
	}
	if (!own)
		batch_add(w, path);
	if (what == WATCH_DIRECTORY && name[0] != '\0')
		dir_look(w, d, name, path);
}

void
watch_gone(struct watch *w, uint64_t key)
{
	struct wdir *d;

	if ((d = watch_find(w, key)) == NULL || d == w->root)
		return;
	dir_orphan(w, d);
}

void
watch_overflow(struct watch *w)
{

	w->overflows++;
	batch_add(w, "");
	/* What came meanwhile is not known: look at everything again. */
	dir_queue(w, w->root);
	work_do(w);
}

void
watch_own(void *arg, const struct share_change *c)
{
	struct watch *w = arg;
	uint64_t hash;

	if (w == NULL || w->by->author || c->path == NULL)
		return;
	ledger_add(w->ledger, ledger_hash(c->path, strlen(c->path)));
	if (c->to != NULL)
		ledger_add(w->ledger, ledger_hash(c->to, strlen(c->to)));
	if ((c->kind == SHARE_CH_DATA || c->kind == SHARE_CH_ATTR) &&
	    linked(w, c->path, &hash))
		ledger_add(w->ledger, hash);
}

void
watch_mute(struct watch *w, bool on)
{

	if (w == NULL || w->by->author)
		return;
	if (on) {
		w->muted++;
		w->was_muted++;
	} else
		w->muted--;
}

/*
 * All that happened before ${now} was heard.  What was announced may be long
 * in coming, though, while a safeguard or a rollback keeps it waiting.
 */
static void
all_heard(struct watch *w, co_moment now)
{
	struct undo_stats st;
	struct wdir *d;

	while ((d = LIST_FIRST(&w->orphans)) != NULL)
		dir_forget(w, d);
	if (w->by->author)
		return;
	undo_stats(w->server->undo, &st);
	if (st.held > 0 || w->muted != 0)
		w->held = now;
	if (now - w->held > OWN_NS)
		ledger_expire(w->ledger, now - OWN_NS);
}

static void *
watch_main(void *arg)
{
	const struct timespec rest = { .tv_nsec = REST_MS * 1000000L };
	struct watch *w = arg;
	co_moment now;
	int muted, n, wait;

	work_do(w);
	while (!w->stopping) {
		wait = w->nbatch > 0 || w->was_muted != 0 ? GATHER_MS / 2 :
		    IDLE_MS;
		now = co_now();
		muted = w->muted != 0 ? 0 : w->was_muted;
		n = w->by->take(w, wait);
		if (w->nbatch > 0 && (w->nbatch == WATCH_BATCH ||
		    co_now() - w->since >= (co_moment)GATHER_MS * 1000000))
			batch_tell(w);
		if (n == 0) {
			all_heard(w, now);
			w->was_muted -= muted;
		} else
			(void)nanosleep(&rest, NULL);
	}
	batch_tell(w);
	return (NULL);
}

/*
 * Beginning and end.
 */
static int
choose(struct watch *w, const char *kind, struct co_error *e)
{
	const struct watcher *const *wp;
	int error = ENOSYS;

	for (wp = watchers; *wp != NULL; wp++) {
		if (kind != NULL && strcmp(kind, (*wp)->name) != 0)
			continue;
		w->by = *wp;
		if ((error = w->by->open(w)) != 0)
			continue;
		if ((error = w->by->add(w, w->rootfd, &w->root->key)) == 0)
			return (0);
		w->by->close(w);
	}
	if (error == ENOSYS && kind != NULL)
		return (co_error_set(e, CO_ESYS_UNSUPPORTED, kind,
		    "this system has no such way to watch a folder"));
	return (co_error_errno(e, error, NULL,
	    "cannot watch the folder; -o watch=none does without"));
}

int
watch_new(struct server *s, int rootfd, const char *kind, struct watch **wp,
    struct co_error *e)
{
	struct watch *w;

	if ((w = calloc(1, sizeof(*w))) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "no watcher"));
	w->server = s;
	w->fd = -1;
	LIST_INIT(&w->orphans);
	STAILQ_INIT(&w->work);
	w->buckets = calloc(WATCH_BUCKETS, sizeof(*w->buckets));
	w->ledger = ledger_new();
	w->root = calloc(1, sizeof(*w->root) + 1);
	w->rootfd = watch_os_open(rootfd, "");
	if (w->buckets == NULL || w->ledger == NULL || w->root == NULL ||
	    w->rootfd == -1) {
		(void)co_error_errno(e, errno, NULL, "cannot watch");
		goto err0;
	}
	if (choose(w, kind, e) == -1)
		goto err0;
	LIST_INSERT_HEAD(&w->buckets[w->root->key % WATCH_BUCKETS], w->root,
	    hash);
	w->directories = 1;
	dir_queue(w, w->root);
	*wp = w;
	return (0);
err0:
	if (w->rootfd != -1)
		(void)close(w->rootfd);
	free(w->root);
	ledger_free(w->ledger);
	free(w->buckets);
	free(w);
	return (-1);
}

int
watch_start(struct watch *w, struct co_error *e)
{
	int error;

	if ((error = pthread_create(&w->thread, NULL, watch_main, w)) != 0)
		return (co_error_errno(e, error, NULL, "no thread"));
	w->running = true;
	return (0);
}

void
watch_stop(struct watch *w)
{

	if (w == NULL || !w->running)
		return;
	w->stopping = 1;
	(void)pthread_join(w->thread, NULL);
	w->running = false;
}

void
watch_free(struct watch *w)
{
	struct wdir *d;

	if (w == NULL)
		return;
	watch_stop(w);
	while ((d = LIST_FIRST(&w->orphans)) != NULL)
		dir_forget(w, d);
	LIST_INSERT_HEAD(&w->orphans, w->root, sibling);
	dir_forget(w, w->root);
	w->by->close(w);
	(void)close(w->rootfd);
	ledger_free(w->ledger);
	free(w->buckets);
	free(w);
}

void
watch_stats(struct watch *w, struct watch_stats *st)
{

	st->kind = w->by->name;
	st->directories = w->directories;
	st->events = w->events;
	st->own = w->own;
	st->external = w->external;
	st->overflows = w->overflows;
}
