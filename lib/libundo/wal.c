/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The step that is being recorded: wal/in_progress with its journal and
 * objects.  Hooks and rollbacks append to it; nothing here changes the
 * folder.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "undo_internal.h"

#define	INPROGRESS	"in_progress"
#define	MAXSTEP		((uint64_t)200 << 20)

/*
 * The BEGIN record carries what the manifest will: command as the path, the
 * rest in fields that mean something else elsewhere.
 */
static int
begin_append(struct wal *w)
{
	uint8_t extra[16];
	struct rec r;

	memset(&r, 0, sizeof(r));
	r.type = REC_BEGIN;
	r.path = w->a.command == NULL ? "" : w->a.command;
	r.pathlen = strlen(r.path);
	if (r.pathlen > JOURNAL_PATHMAX)
		r.pathlen = JOURNAL_PATHMAX;
	r.m.ino = (uint64_t)w->a.id;
	r.m.size = w->a.seq;
	r.m.mtime = w->a.began;
	r.m.mode = (uint32_t)w->a.kind;
	r.m.uid = (uint32_t)w->purpose;
	put64(extra, (uint64_t)w->a.ended);
	put32(extra + 8, (uint32_t)w->a.exit);
	put32(extra + 12, (uint32_t)w->a.paths);
	r.extra = extra;
	r.extralen = sizeof(extra);
	return (journal_append(&w->j, &r));
}

int
begin_decode(const struct rec *r, struct about *a, enum purpose *purpose)
{

	memset(a, 0, sizeof(*a));
	if (r->type != REC_BEGIN || r->extralen != 16 ||
	    r->m.mode > UNDO_API || r->m.uid > FOR_REDO)
		return (EINVAL);
	if ((a->command = strdup(r->path)) == NULL)
		return (ENOMEM);
	a->id = (int64_t)r->m.ino;
	a->seq = r->m.size;
	a->began = r->m.mtime;
	a->kind = (enum undo_kind)r->m.mode;
	*purpose = (enum purpose)r->m.uid;
	a->ended = (int64_t)get64(r->extra);
	a->exit = (int)get32(r->extra + 8);
	a->paths = get32(r->extra + 12);
	return (0);
}

static int
open_folders(struct undo *u, struct wal *w)
{

	w->dirfd = sys_openat(u->walfd, INPROGRESS, O_RDONLY | O_DIRECTORY |
	    O_NOFOLLOW, 0);
	if (w->dirfd == -1)
		return (errno);
	w->ofd = sys_openat(w->dirfd, "o", O_RDONLY | O_DIRECTORY |
	    O_NOFOLLOW, 0);
	return (w->ofd == -1 ? errno : 0);
}

static int
make_folders(struct undo *u, struct wal *w)
{
	int dir, error;

	if (sys_mkdirat(u->walfd, INPROGRESS, 0700) == -1) {
		if (errno != EEXIST)
			return (errno);
		/* What a failure left behind; nothing was let through. */
		if ((error = store_trash(u, u->walfd, INPROGRESS)) != 0)
			return (error);
		if (sys_mkdirat(u->walfd, INPROGRESS, 0700) == -1)
			return (errno);
	}
	dir = sys_openat(u->walfd, INPROGRESS, O_RDONLY | O_DIRECTORY, 0);
	if (dir == -1)
		return (errno);
	error = sys_mkdirat(dir, "o", 0700) == -1 ? errno : 0;
	sys_close(dir);
	return (error == 0 ? open_folders(u, w) : error);
}

int
wal_create(struct undo *u, const struct about *a, enum purpose purpose,
    struct wal **wp)
{
	struct wal *w;
	int error;

	if ((w = calloc(1, sizeof(*w))) == NULL)
		return (ENOMEM);
	w->dirfd = w->ofd = w->j.fd = w->heapfd = -1;
	w->purpose = purpose;
	w->place = ++u->places;
	w->nextobj = 1;
	if ((error = about_copy(&w->a, a)) != 0)
		goto err;
	w->a.bytes = w->a.kept = 0;
	w->a.records = 0;
	if (purpose == FOR_STEP)
		w->a.paths = 0;
	if ((error = make_folders(u, w)) != 0)
		goto err;
	if ((error = journal_create(&w->j, w->dirfd)) != 0 ||
	    (error = begin_append(w)) != 0)
		goto err;
	if (u->o.durability == UNDO_POWER) {
		if ((error = journal_sync(&w->j)) != 0)
			goto err;
		if (sys_fsync(w->dirfd) == -1 || sys_fsync(u->walfd) == -1) {
			error = errno;
			goto err;
		}
	}
	*wp = w;
	return (0);
err:
	wal_close(u, w);
	(void)store_trash(u, u->walfd, INPROGRESS);
	return (error);
}

/* What of a record the tables in memory remember. */
static int
relearn(struct undo *u, struct wal *w, const struct rec *r, uint32_t undone)
{
	uint64_t ino;

	if (r->obj >= w->nextobj)
		w->nextobj = r->obj + 1;
	if (r->is_void || r->no >= undone)
		return (0);
	switch (r->type) {
	case REC_NEW:
	case REC_MKDIR:
		ino = r->later != 0 ? r->later : r->m.ino;
		if ((r->flags & REC_FRESH) != 0 && ino != 0)
			return (inotab_add(&w->tab, r->m.dev, ino,
			    INO_FRESH));
		return (0);
	case REC_GONE:
		return (kept_add(&u->kept, r->m.dev, r->m.ino, w->place,
		    r->obj));
	case REC_CONTENT:
		return (inotab_add(&w->tab, r->m.dev, r->m.ino,
		    INO_CONTENT | INO_META));
	case REC_META:
		return (inotab_add(&w->tab, r->m.dev, r->m.ino, INO_META));
	case REC_TIME:
		return (inotab_add(&w->tab, r->m.dev, r->m.ino, INO_TIME));
	default:
		return (0);
	}
}

/* An object whose record was never made must not be in the way. */
static int
skip_objects(struct wal *w)
{
	struct dirent *de;
	struct stat st;
	unsigned long n;
	DIR *d;
	int error;

	if (w->ofd == -1)
		return (0);
	if (sys_fstatat(w->ofd, "heap", &st) == 0)
		w->heapend = (uint64_t)st.st_size;
	else if (errno != ENOENT)
		return (errno);
	if ((d = sys_opendirat(w->dirfd, "o")) == NULL)
		return (errno);
	while ((de = sys_readdir(d)) != NULL) {
		n = strtoul(de->d_name, NULL, 16);
		if (n >= w->nextobj && n < UINT32_MAX)
			w->nextobj = (uint32_t)n + 1;
	}
	error = errno;
	sys_closedir(d);
	return (error);
}

/*
 * Open what a former process left.  ENOENT: there is none; EINVAL: it has
 * no good beginning, so that nothing can have happened under it.
 */
int
wal_open(struct undo *u, struct wal **wp, bool *damage)
{
	struct wal *w;
	struct rec r;
	uint64_t off;
	uint32_t undone;
	int error;

	if ((w = calloc(1, sizeof(*w))) == NULL)
		return (ENOMEM);
	w->dirfd = w->ofd = w->j.fd = w->heapfd = -1;
	w->place = ++u->places;
	w->nextobj = 1;
	w->dirfd = sys_openat(u->walfd, INPROGRESS, O_RDONLY | O_DIRECTORY |
	    O_NOFOLLOW, 0);
	if (w->dirfd == -1) {
		error = errno;
		goto err;
	}
	w->ofd = sys_openat(w->dirfd, "o", O_RDONLY | O_DIRECTORY |
	    O_NOFOLLOW, 0);
	error = journal_open(&w->j, w->dirfd, true, damage);
	if (error != 0 || w->j.count == 0) {
		/* Other failures are not a missing beginning. */
		if (error == ENOENT || error == 0)
			error = EINVAL;
		goto err;
	}
	off = 0;
	if (!journal_next(&w->j, &off, &r)) {
		error = EINVAL;
		goto err;
	}
	if ((error = begin_decode(&r, &w->a, &w->purpose)) != 0)
		goto err;
	w->a.lost = journal_state(&w->j, JOURNAL_LOST);
	undone = journal_undone(&w->j);
	while (journal_next(&w->j, &off, &r))
		if ((error = relearn(u, w, &r, undone)) != 0)
			goto err;
	if ((error = skip_objects(w)) != 0)
		goto err;
	*wp = w;
	return (0);
err:
	wal_close(u, w);
	return (error);
}

void
wal_close(struct undo *u, struct wal *w)
{

	(void)u;
	if (w == NULL)
		return;
	if (w->j.fd != -1)
		journal_close(&w->j);
	if (w->heapfd != -1)
		sys_close(w->heapfd);
	if (w->ofd != -1)
		sys_close(w->ofd);
	if (w->dirfd != -1)
		sys_close(w->dirfd);
	inotab_free(&w->tab);
	inotab_free(&w->dirs);
	about_free(&w->a);
	free(w);
}

/* Its kept links are not ours any more. */
void
wal_forget(struct undo *u, struct wal *w)
{
	struct rec r;
	uint64_t off;

	for (off = 0; journal_next(&w->j, &off, &r);)
		if (r.type == REC_GONE)
			kept_del(&u->kept, r.m.dev, r.m.ino, w->place, r.obj);
}

bool
wal_fits(struct undo *u, const struct wal *w, uint64_t more)
{
	uint64_t max;

	if (w->purpose != FOR_STEP)
		return (true);
	max = u->o.limits.max_single_step_size;
	if (max == 0)
		max = MAXSTEP;
	return (w->a.bytes + w->j.end + more <= max);
}

/*
 * The step is too large to be undone.  That is said in the journal before
 * anything goes unrecorded, and what was captured is given back.
 */
void
wal_lost(struct undo *u, struct wal *w)
{

	if (w->a.lost)
		return;
	if (journal_set_state(&w->j, JOURNAL_LOST) != 0)
		return;
	w->a.lost = true;
	w->a.bytes = w->a.kept = 0;
	(void)store_trash_objects(u, w);
	atomic_fetch_add(&u->gen, 1);
	if (w->purpose == FOR_STEP)
		event_post(u, UNDO_EV_UNPROTECTED, w->a.id, w->a.paths,
		    "step %lld is larger than max_single_step_size; it goes "
		    "on, but can't be rolled back", (long long)w->a.id);
}

int
wal_append(struct undo *u, struct wal *w, struct rec *r)
{
	int error;

	if (w->a.lost)
		return (0);
	if (w->purpose == FOR_STEP && w->j.count == 1 &&
	    (error = store_drop_redo(u)) != 0)
		return (error);
	if (!wal_fits(u, w, r->extralen)) {
		wal_lost(u, w);
		return (w->a.lost ? 0 : ENOSPC);
	}
	error = journal_append(&w->j, r);
	if (error == EFBIG) {
		wal_lost(u, w);
		return (w->a.lost ? 0 : ENOSPC);
	}
	return (error);
}

/*
 * The entries of a directory are about to change: remember its mtime, once.
 */
int
wal_touch(struct undo *u, struct wal *w, const struct stat *st,
    const char *path, size_t len)
{
	struct rec r;
	uint64_t dev;
	int error;

	dev = norm_dev(u, st->st_dev);
	if ((inotab_get(&w->tab, dev, (uint64_t)st->st_ino) &
	    (INO_FRESH | INO_META | INO_TIME)) != 0)
		return (0);
	memset(&r, 0, sizeof(r));
	r.type = REC_TIME;
	r.path = path;
	r.pathlen = len;
	meta_set(u, &r.m, st);
	if ((error = wal_append(u, w, &r)) != 0)
		return (error);
	return (inotab_add(&w->tab, dev, (uint64_t)st->st_ino, INO_TIME));
}

/*
 * With power durability, wait until the journal is on the disk; whoever
 * comes meanwhile is served by the next sync.  Without the lock.
 */
int
wal_sync(struct undo *u, struct wal *w)
{
	uint64_t end, want;
	int error;

	if (u->o.durability != UNDO_POWER)
		return (0);
	(void)pthread_mutex_lock(&u->lock);
	want = w->j.end;
	(void)pthread_mutex_unlock(&u->lock);
	(void)pthread_mutex_lock(&u->synclock);
	error = 0;
	if (w->j.synced < want) {
		(void)pthread_mutex_lock(&u->lock);
		end = w->j.end;
		(void)pthread_mutex_unlock(&u->lock);
		if (!w->j.direct && sys_msync(w->j.map, end) == -1)
			error = errno;
		/*
		 * Not fdatasync(2): the times of the journal bring changes
		 * of names before this one to the disk with them, so that
		 * no record is there without those that it builds upon.
		 */
		if (error == 0 && sys_fsync(w->j.fd) == -1)
			error = errno;
		if (error == 0)
			w->j.synced = end;
	}
	(void)pthread_mutex_unlock(&u->synclock);
	return (error);
}
