/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The folders of the store and the steps in them: promotion, eviction, the
 * trash.  A step enters or leaves a folder by one rename; what is in trash/
 * is nobody's any more and is deleted bit by bit.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "undo_internal.h"

#define	MAXLOG		((uint64_t)1 << 30)
#define	MAXSTEPS	100

void
about_free(struct about *a)
{

	free(a->command);
	a->command = NULL;
}

int
about_copy(struct about *to, const struct about *from)
{

	*to = *from;
	to->command = strdup(from->command == NULL ? "" : from->command);
	return (to->command == NULL ? ENOMEM : 0);
}

void
step_dirname(char name[32], int64_t id)
{

	(void)snprintf(name, 32, "%lld", (long long)id);
}

struct step *
step_new(struct undo *u, const struct about *a, bool redo)
{
	struct step *s;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		return (NULL);
	if (about_copy(&s->a, a) != 0) {
		free(s);
		return (NULL);
	}
	s->redo = redo;
	s->place = ++u->places;
	return (s);
}

void
step_free(struct step *s)
{

	if (s == NULL)
		return;
	about_free(&s->a);
	free(s);
}

void
step_insert(struct undo *u, struct step *s)
{
	struct steplist *list;
	struct step *t;

	list = s->redo ? &u->redo : &u->steps;
	TAILQ_FOREACH(t, list, link)
		if (t->a.seq > s->a.seq)
			break;
	if (t != NULL)
		TAILQ_INSERT_BEFORE(t, s, link);
	else
		TAILQ_INSERT_TAIL(list, s, link);
	if (!s->redo)
		u->nsteps++;
	u->total += s->a.bytes + s->a.kept;
	if (s->a.seq > u->seq)
		u->seq = s->a.seq;
	if (s->a.id < u->ambient)
		u->ambient = s->a.id;
}

void
step_remove(struct undo *u, struct step *s)
{

	TAILQ_REMOVE(s->redo ? &u->redo : &u->steps, s, link);
	if (!s->redo)
		u->nsteps--;
	u->total -= s->a.bytes + s->a.kept;
}

struct step *
step_find(struct undo *u, int64_t id)
{
	struct step *s;

	TAILQ_FOREACH(s, &u->steps, link)
		if (s->a.id == id)
			return (s);
	return (NULL);
}

/* A descriptor of the step's folder, or -1. */
int
step_dir(struct undo *u, const struct step *s)
{
	char name[32];

	step_dirname(name, s->a.id);
	return (sys_openat(s->redo ? u->redofd : u->stepsfd, name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0));
}

/* Learn what links a step keeps; EINVAL when its journal is not whole. */
int
step_load(struct undo *u, struct step *s)
{
	struct journal j;
	struct rec r;
	uint64_t off;
	uint32_t undone;
	bool damage;
	int dir, error;

	if ((dir = step_dir(u, s)) == -1)
		return (errno);
	error = journal_open(&j, dir, false, &damage);
	sys_close(dir);
	if (error != 0)
		return (error);
	if (damage || j.count != s->a.records)
		error = EINVAL;
	if (journal_state(&j, JOURNAL_LOST))
		s->a.lost = true;
	undone = journal_undone(&j);
	for (off = 0; error == 0 && journal_next(&j, &off, &r);)
		if (r.type == REC_GONE && !r.is_void && !s->a.lost &&
		    r.no < undone)
			error = kept_add(&u->kept, r.m.dev, r.m.ino,
			    s->place, r.obj);
	journal_close(&j);
	return (error);
}

/* A descriptor of the objects of a place, or -1. */
int
place_ofd(struct undo *u, uint64_t place)
{
	struct step *s;
	int dir, fd;

	TAILQ_FOREACH(s, &u->steps, link)
		if (s->place == place)
			break;
	if (s == NULL)
		TAILQ_FOREACH(s, &u->redo, link)
			if (s->place == place)
				break;
	if (s == NULL)
		return (sys_openat(u->walfd, "in_progress/o", O_RDONLY |
		    O_DIRECTORY | O_NOFOLLOW, 0));
	if ((dir = step_dir(u, s)) == -1)
		return (-1);
	fd = sys_openat(dir, "o", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	sys_close(dir);
	return (fd);
}

static int
promote_sync(struct undo *u, struct wal *w)
{
	int error;

	if (u->o.durability != UNDO_POWER)
		return (0);
	if ((error = journal_sync(&w->j)) != 0)
		return (error);
	if (sys_fsync(w->ofd) == -1 || sys_fsync(w->dirfd) == -1)
		return (errno);
	return (os_sync(u->rootfd));
}

/*
 * Make the wal a step of the history (or of what can be redone), by one
 * rename.  On success the wal is closed.  With the lock held, or alone.
 */
int
store_promote(struct undo *u, struct wal *w, bool redo)
{
	struct step *s;
	struct stat st;
	char name[32];
	int error, to;

	w->a.records = w->j.count;
	w->a.lost = w->a.lost || journal_state(&w->j, JOURNAL_LOST);
	if ((error = journal_trim(&w->j)) != 0)
		return (error);
	if ((s = step_new(u, &w->a, redo)) == NULL)
		return (ENOMEM);
	s->a.bytes += w->j.end;
	s->place = w->place;
	to = redo ? u->redofd : u->stepsfd;
	step_dirname(name, w->a.id);
	if ((error = manifest_write(u, w->dirfd, &s->a)) != 0 ||
	    (error = promote_sync(u, w)) != 0)
		goto err;
	if (sys_fstatat(to, name, &st) == 0 &&
	    (error = store_trash(u, to, name)) != 0)
		goto err;
	if (sys_renameat(u->walfd, "in_progress", to, name) == -1) {
		error = errno;
		goto err;
	}
	if (u->o.durability == UNDO_POWER) {
		(void)sys_fsync(to);
		(void)sys_fsync(u->walfd);
	}
	step_insert(u, s);
	wal_close(u, w);
	return (0);
err:
	step_free(s);
	return (error);
}

/*
 * Throw something away.  Its name in trash/ is a number, after a letter if
 * it has kept links of ${place}: 's' for a step, 'o' for objects alone.
 */
static int
to_trash(struct undo *u, int dir, const char *name, char letter,
    uint64_t number)
{
	char to[32];

	(void)snprintf(to, sizeof(to), "%c%llu", letter,
	    (unsigned long long)number);
	if (sys_renameat(dir, name, u->trashfd, to) == -1)
		return (errno == ENOENT ? 0 : errno);
	u->rubbish = true;
	return (0);
}

int
store_trash(struct undo *u, int dir, const char *name)
{

	return (to_trash(u, dir, name, 't', ++u->trash));
}

int
store_trash_objects(struct undo *u, const struct wal *w)
{

	return (to_trash(u, w->dirfd, "o", 'o', w->place));
}

/* A step leaves the store; what it kept counts until it is deleted. */
static int
trash_step(struct undo *u, struct step *s)
{
	char name[32];
	int error;

	step_dirname(name, s->a.id);
	error = to_trash(u, s->redo ? u->redofd : u->stepsfd, name, 's',
	    s->place);
	if (error == 0)
		step_remove(u, s);
	return (error);
}

/* A mutation after a rollback: what was rolled back is history no more. */
int
store_drop_redo(struct undo *u)
{
	struct step *s;
	int error;

	while ((s = TAILQ_LAST(&u->redo, steplist)) != NULL) {
		if ((error = trash_step(u, s)) != 0)
			return (error);
		/* Should the next one fail, it is to go all the same. */
		u->doomed = true;
		step_free(s);
	}
	u->doomed = false;
	return (0);
}

static bool
over(const struct undo *u)
{
	uint64_t max;
	uint32_t steps;

	max = u->o.limits.max_log_size;
	steps = u->o.limits.max_step_count;
	return (u->total > (max == 0 ? MAXLOG : max) ||
	    u->nsteps > (steps == 0 ? MAXSTEPS : steps));
}

/* Drop the oldest steps until the log is within its limits, but never the
   newest: what was done last can always be undone.  With the lock held. */
void
store_evict(struct undo *u)
{
	struct step *s;

	while (over(u) && (s = TAILQ_FIRST(&u->steps)) != NULL &&
	    TAILQ_NEXT(s, link) != NULL) {
		if (trash_step(u, s) != 0)
			return;
		event_post(u, UNDO_EV_EVICTED, s->a.id, s->a.paths,
		    "step %lld was dropped from the undo log for space; "
		    "raise max_log_size or max_step_count to keep more",
		    (long long)s->a.id);
		step_free(s);
	}
	barrier_prune(u);
}

/*
 * Keep something that is in the way of a recovery and that nobody recorded:
 * move it to aside/, for a person to look at.
 */
int
store_aside(struct undo *u, int dir, const char *name)
{
	struct stat st;
	char to[32];
	unsigned int n;
	int error, fd;

	if (sys_mkdirat(u->storefd, "aside", 0700) == -1 && errno != EEXIST)
		return (errno);
	fd = sys_openat(u->storefd, "aside", O_RDONLY | O_DIRECTORY |
	    O_NOFOLLOW, 0);
	if (fd == -1)
		return (errno);
	for (n = 1;; n++) {
		(void)snprintf(to, sizeof(to), "%u", n);
		if (sys_fstatat(fd, to, &st) == -1)
			break;
	}
	error = errno;
	if (error == ENOENT)
		error = sys_renameat(dir, name, fd, to) == -1 ? errno : 0;
	sys_close(fd);
	return (error);
}

/*
 * Delete below ${dir}, at most ${budget} entries; true when all went.
 */
static bool
sweep(int dir, const char *name, unsigned int *budget)
{
	struct dirent *de;
	DIR *d;
	bool all;

	if (*budget == 0)
		return (false);
	(*budget)--;
	if (sys_unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return (true);
	if ((d = sys_opendirat(dir, name)) == NULL) {
		if (errno != EACCES ||
		    sys_fchmodat(dir, name, 0700) == -1 ||
		    (d = sys_opendirat(dir, name)) == NULL)
			return (false);
	}
	(void)sys_fchmod(dirfd(d), 0700);
	all = true;
	while (all && (de = sys_readdir(d)) != NULL)
		all = sweep(dirfd(d), de->d_name, budget);
	sys_closedir(d);
	return (all && sys_unlinkat(dir, name, AT_REMOVEDIR) == 0);
}

/*
 * Delete objects, or what a folder among them has, and count kept links out
 * as they go.
 */
static bool
sweep_objects(struct undo *u, int dir, const char *name, uint64_t place,
    uint32_t folder, unsigned int *budget)
{
	struct dirent *de;
	struct stat st;
	uint32_t obj;
	bool all, is;
	DIR *d;

	if ((d = sys_opendirat(dir, name)) == NULL)
		return (true);
	all = true;
	while (all && (de = sys_readdir(d)) != NULL) {
		is = sys_fstatat(dirfd(d), de->d_name, &st) == 0;
		obj = folder != 0 ? folder :
		    (uint32_t)strtoul(de->d_name, NULL, 16);
		if (is && S_ISDIR(st.st_mode) && folder == 0)
			all = sweep_objects(u, dirfd(d), de->d_name, place,
			    obj, budget);
		all = all && sweep(dirfd(d), de->d_name, budget);
		if (!all || !is)
			continue;
		(void)pthread_mutex_lock(&u->lock);
		kept_del(&u->kept, norm_dev(u, st.st_dev),
		    (uint64_t)st.st_ino, place, obj);
		(void)pthread_mutex_unlock(&u->lock);
	}
	sys_closedir(d);
	return (all);
}

static bool
sweep_item(struct undo *u, const char *name, unsigned int *budget)
{
	uint64_t place;
	bool all;
	int dir;

	place = strtoull(name + 1, NULL, 10);
	all = true;
	if (name[0] == 'o')
		all = sweep_objects(u, u->trashfd, name, place, 0, budget);
	else if (name[0] == 's') {
		dir = sys_openat(u->trashfd, name, O_RDONLY | O_DIRECTORY |
		    O_NOFOLLOW, 0);
		if (dir != -1) {
			all = sweep_objects(u, dir, "o", place, 0, budget);
			sys_close(dir);
		}
	}
	return (all && sweep(u->trashfd, name, budget));
}

/* Return whether there is more.  Without the lock. */
bool
store_sweep(struct undo *u, unsigned int budget)
{
	struct dirent *de;
	bool all, go;
	DIR *d;

	(void)pthread_mutex_lock(&u->lock);
	go = u->rubbish && !u->sweeping;
	if (go) {
		u->sweeping = true;
		u->rubbish = false;
	}
	(void)pthread_mutex_unlock(&u->lock);
	if (!go)
		return (false);
	all = true;
	if ((d = sys_opendirat(u->trashfd, ".")) != NULL) {
		while (all && (de = sys_readdir(d)) != NULL)
			all = sweep_item(u, de->d_name, &budget);
		sys_closedir(d);
	}
	/* What can't be deleted now waits for the next open. */
	all = all || budget > 0;
	(void)pthread_mutex_lock(&u->lock);
	u->sweeping = false;
	if (!all)
		u->rubbish = true;
	(void)pthread_mutex_unlock(&u->lock);
	return (!all);
}
