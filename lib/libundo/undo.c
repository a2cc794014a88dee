/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The handle: opening, closing, configuring, discarding, statistics.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "undo_internal.h"

static struct undo *
handle_new(const char *store, const struct undo_options *o)
{
	struct undo *u;

	if ((u = calloc(1, sizeof(*u))) == NULL)
		return (NULL);
	if ((u->store = strdup(store)) == NULL) {
		free(u);
		return (NULL);
	}
	(void)pthread_mutex_init(&u->lock, NULL);
	(void)pthread_mutex_init(&u->synclock, NULL);
	(void)pthread_mutex_init(&u->namelock, NULL);
	(void)pthread_cond_init(&u->cond, NULL);
	(void)pthread_cond_init(&u->slotcond, NULL);
	u->rootfd = u->storefd = u->walfd = u->stepsfd = -1;
	u->redofd = u->trashfd = -1;
	if (o != NULL)
		u->o = *o;
	u->epoch = 1;
	atomic_init(&u->gen, 1);
	TAILQ_INIT(&u->steps);
	TAILQ_INIT(&u->redo);
	TAILQ_INIT(&u->stamps);
	TAILQ_INIT(&u->events);
	return (u);
}

static void
close_fd(int *fd)
{

	if (*fd != -1)
		sys_close(*fd);
	*fd = -1;
}

static void
drop_history(struct undo *u)
{
	struct step *s;

	while ((s = TAILQ_FIRST(&u->steps)) != NULL ||
	    (s = TAILQ_FIRST(&u->redo)) != NULL) {
		step_remove(u, s);
		step_free(s);
	}
	stamps_free(&u->stamps);
	kept_free(&u->kept);
}

static void
handle_free(struct undo *u)
{
	unsigned int i;

	drop_history(u);
	event_free(u);
	guard_reset(u);
	for (i = 0; i < u->nslots; i++)
		free(u->slots[i]);
	free(u->slots);
	close_fd(&u->trashfd);
	close_fd(&u->redofd);
	close_fd(&u->stepsfd);
	close_fd(&u->walfd);
	close_fd(&u->storefd);
	close_fd(&u->rootfd);
	(void)pthread_cond_destroy(&u->slotcond);
	(void)pthread_cond_destroy(&u->cond);
	tree_forget(u);
	(void)pthread_mutex_destroy(&u->namelock);
	(void)pthread_mutex_destroy(&u->synclock);
	(void)pthread_mutex_destroy(&u->lock);
	free(u->store);
	free(u);
}

/* Does the directory ${fd} lie in, or is it, the one that is ${top}? */
static int
lies_in(int fd, const struct stat *top, bool *in)
{
	struct stat st, up;
	int at, next;

	*in = false;
	if ((at = sys_openat(fd, ".", O_RDONLY | O_DIRECTORY, 0)) == -1 ||
	    sys_fstat(at, &st) == -1)
		goto err;
	for (;;) {
		*in = st.st_ino == top->st_ino && st.st_dev == top->st_dev;
		if (*in)
			break;
		next = sys_openat(at, "..", O_RDONLY | O_DIRECTORY, 0);
		if (next == -1 && errno == EACCES)
			break;
		if (next == -1)
			goto err;
		sys_close(at);
		at = next;
		if (sys_fstat(at, &up) == -1)
			goto err;
		if (up.st_ino == st.st_ino && up.st_dev == st.st_dev)
			break;
		st = up;
	}
	sys_close(at);
	return (0);
err:
	if (at != -1)
		sys_close(at);
	return (errno);
}

static int
open_store(struct undo *u, struct co_error *e)
{
	struct stat root, st;
	bool inside, outside;
	int error;

	u->storefd = co_mkdirs(u->store, 0700, e);
	if (u->storefd == -1)
		return (-1);
	if (sys_fstat(u->rootfd, &root) == -1 ||
	    sys_fstat(u->storefd, &st) == -1)
		return (co_error_errno(e, errno, u->store,
		    "can't look at the undo store %s", u->store));
	u->rootdev = (uint64_t)root.st_dev;
	u->same_fs = st.st_dev == root.st_dev;
	if ((error = lies_in(u->storefd, &root, &inside)) != 0 ||
	    (error = lies_in(u->rootfd, &st, &outside)) != 0)
		return (co_error_errno(e, error, u->store,
		    "can't tell where the undo store %s is", u->store));
	if (inside || outside)
		return (co_error_set(e, CO_EUNDO_STORE, u->store,
		    "the undo store %s and the folder lie inside one "
		    "another; choose a store beside the folder", u->store));
	if (sys_flock(u->storefd) == -1) {
		if (errno == EWOULDBLOCK)
			return (co_error_set(e, CO_EUNDO_BUSY, u->store,
			    "another process has the undo store %s open",
			    u->store));
		return (co_error_errno(e, errno, u->store,
		    "can't lock the undo store %s", u->store));
	}
	return (0);
}

int
undo_open(int rootfd, const char *store, const struct undo_options *o,
    struct undo **up, struct co_error *e)
{
	struct undo *u;

	if ((u = handle_new(store, o)) == NULL)
		return (co_error_errno(e, ENOMEM, store,
		    "can't open the undo store %s", store));
	u->rootfd = sys_openat(rootfd, ".", O_RDONLY | O_DIRECTORY, 0);
	if (u->rootfd == -1) {
		(void)co_error_errno(e, errno, store,
		    "can't open the folder of the undo store %s", store);
		goto err;
	}
	if (open_store(u, e) != 0 || store_layout(u, e) != 0)
		goto err;
	if (!u->foreign && (store_history(u, e) != 0 || recover(u, e) != 0))
		goto err;
	if (!u->foreign)
		store_evict(u);
	event_fire(u);
	*up = u;
	return (0);
err:
	event_fire(u);
	handle_free(u);
	return (-1);
}

void
undo_close(struct undo *u)
{
	struct co_error e;

	if (u == NULL)
		return;
	gate_shut(u);
	if (!u->stuck)
		(void)step_settle(u, &e);
	if (u->wal != NULL)
		wal_close(u, u->wal);
	event_fire(u);
	handle_free(u);
}

void
undo_configure(struct undo *u, const struct undo_limits *limits,
    const struct undo_safeguards *safeguards)
{

	(void)pthread_mutex_lock(&u->lock);
	if (limits != NULL)
		u->o.limits = *limits;
	if (safeguards != NULL)
		u->o.safeguards = *safeguards;
	if (limits != NULL && !u->foreign &&
	    (atomic_load(&u->gate) & GATE_SHUT) == 0)
		store_evict(u);
	(void)pthread_mutex_unlock(&u->lock);
	event_fire(u);
}

/*
 * Everything in the store goes to the trash, whatever it is; the version
 * stays until the end, so that a crash leaves the question open.
 */
static int
discard_all(struct undo *u)
{
	struct dirent *de;
	char name[256];
	DIR *d;
	int error;

	error = 0;
	do {
		if ((d = sys_opendirat(u->storefd, ".")) == NULL)
			return (errno);
		while ((de = sys_readdir(d)) != NULL)
			if (strcmp(de->d_name, "trash") != 0 &&
			    strcmp(de->d_name, "aside") != 0 &&
			    strncmp(de->d_name, "version", 7) != 0)
				break;
		if (de != NULL) {
			(void)snprintf(name, sizeof(name), "%s", de->d_name);
			error = store_trash(u, u->storefd, name);
		} else
			error = errno;
		sys_closedir(d);
	} while (de != NULL && error == 0);
	return (error);
}

static int
discard(struct undo *u, struct co_error *e)
{
	int error;

	if (u->open_id > 0 && !u->ended && !u->foreign)
		return (co_error_set(e, CO_EUNDO_BUSY, NULL,
		    "step %lld is open; complete or abandon it first",
		    (long long)u->open_id));
	if (!u->foreign && step_settle(u, e) != 0)
		return (-1);
	if (sys_mkdirat(u->storefd, "trash", 0700) == -1 && errno != EEXIST)
		return (co_error_errno(e, errno, u->store,
		    "can't discard the undo store %s", u->store));
	if (u->trashfd == -1 && (u->trashfd = sys_openat(u->storefd, "trash",
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)) == -1)
		return (co_error_errno(e, errno, u->store,
		    "can't discard the undo store %s", u->store));
	u->rubbish = true;
	(void)store_sweep(u, UINT_MAX);
	close_fd(&u->walfd);
	close_fd(&u->stepsfd);
	close_fd(&u->redofd);
	if ((error = discard_all(u)) != 0)
		(void)co_error_errno(e, error, u->store,
		    "can't discard the undo store %s", u->store);
	if (store_init(u, error == 0 ? e : NULL) != 0 || error != 0)
		return (-1);
	drop_history(u);
	u->foreign = false;
	if (u->open_id > 0) {
		/* Begun while nothing was recorded; now it can be. */
		u->open_id = 0;
	}
	return (0);
}

int
undo_discard(struct undo *u, struct co_error *e)
{
	int error;

	gate_shut(u);
	error = discard(u, e);
	atomic_fetch_add(&u->gen, 1);
	gate_open(u);
	event_fire(u);
	(void)store_sweep(u, UINT_MAX);
	return (error);
}

void
undo_stats(struct undo *u, struct undo_stats *st)
{

	(void)pthread_mutex_lock(&u->lock);
	*st = u->stats;
	st->steps = u->nsteps;
	st->store_bytes = u->total;
	if (u->wal != NULL)
		st->store_bytes += u->wal->a.bytes + u->wal->a.kept +
		    u->wal->j.end;
	st->inflight = atomic_load(&u->inflight);
	st->held = u->q.held;
	st->same_fs = u->same_fs;
	(void)pthread_mutex_unlock(&u->lock);
}
