/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Barriers: stamps of changes that came from outside, in the file
 * "barriers", which only grows until all of it is history.
 *
 * A stamp is: length of the rest (4), checksum of the rest (4), number (8),
 * time (8), newest step then (8), how many paths (4), zero (4), and the
 * paths, each with its NUL.  A stamp with the number of the one before it
 * adds to that.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "undo_internal.h"

#define	FIXED		40
#define	FILE_MAX	((off_t)64 << 20)
#define	PATHS_MAX	1000

static void
stamp_free(struct stamp *s)
{
	size_t i;

	for (i = 0; i < s->npaths; i++)
		free(s->paths[i]);
	free(s->paths);
	free(s);
}

void
stamps_free(struct stamplist *l)
{
	struct stamp *s;

	while ((s = TAILQ_FIRST(l)) != NULL) {
		TAILQ_REMOVE(l, s, link);
		stamp_free(s);
	}
}

static int
stamp_path(struct stamp *s, const char *path)
{
	char **n;
	size_t i;

	for (i = 0; i < s->npaths; i++)
		if (strcmp(s->paths[i], path) == 0)
			return (0);
	if (s->npaths >= PATHS_MAX)
		return (0);
	if ((n = realloc(s->paths, (s->npaths + 1) * sizeof(*n))) == NULL)
		return (ENOMEM);
	s->paths = n;
	if ((n[s->npaths] = strdup(path)) == NULL)
		return (ENOMEM);
	s->npaths++;
	return (0);
}

/* The stamp of this number, new at the end of the list if need be. */
static struct stamp *
stamp_get(struct stamplist *l, uint64_t id, int64_t at, uint64_t after)
{
	struct stamp *s;

	s = TAILQ_LAST(l, stamplist);
	if (s != NULL && s->id == id)
		return (s);
	if ((s = calloc(1, sizeof(*s))) == NULL)
		return (NULL);
	s->id = id;
	s->at = at;
	s->after = after;
	TAILQ_INSERT_TAIL(l, s, link);
	return (s);
}

static int
parse_one(struct stamplist *l, const uint8_t *p, size_t len)
{
	const uint8_t *end, *nul;
	struct stamp *s;
	uint32_t n;

	s = stamp_get(l, get64(p + 8), (int64_t)get64(p + 16),
	    get64(p + 24));
	if (s == NULL)
		return (ENOMEM);
	end = p + len;
	n = get32(p + 32);
	for (p += FIXED; n > 0; n--, p = nul + 1) {
		if (p >= end || (nul = memchr(p, 0, (size_t)(end - p))) ==
		    NULL)
			return (EINVAL);
		if (stamp_path(s, (const char *)p) != 0)
			return (ENOMEM);
	}
	return (0);
}

int
barrier_parse(struct stamplist *l, const uint8_t *buf, size_t len,
    bool *damage)
{
	uint32_t n;
	size_t at;
	int error;

	*damage = false;
	for (at = 0; len - at >= FIXED; at += 8 + n) {
		n = get32(buf + at);
		if (n < FIXED - 8 || n > len - at - 8 ||
		    get32(buf + at + 4) != (uint32_t)journal_hash(buf + at +
		    8, n, 0))
			break;
		error = parse_one(l, buf + at, n + 8);
		if (error == ENOMEM)
			return (error);
		if (error != 0)
			break;
	}
	*damage = at != len;
	return (0);
}

int
barrier_load(struct undo *u)
{
	struct stamp *s;
	struct stat st;
	uint8_t *buf;
	bool damage;
	int error, fd;

	fd = sys_openat(u->storefd, "barriers", O_RDONLY | O_NOFOLLOW, 0);
	if (fd == -1)
		return (errno == ENOENT ? 0 : errno);
	buf = NULL;
	damage = false;
	if (sys_fstat(fd, &st) == -1)
		error = errno;
	else if (st.st_size > FILE_MAX || !S_ISREG(st.st_mode)) {
		damage = true;
		error = 0;
	} else if ((buf = malloc((size_t)st.st_size + 1)) == NULL)
		error = ENOMEM;
	else {
		error = sys_pread_all(fd, buf, (size_t)st.st_size, 0);
		if (error == 0)
			error = barrier_parse(&u->stamps, buf,
			    (size_t)st.st_size, &damage);
	}
	free(buf);
	sys_close(fd);
	if (damage)
		event_post(u, UNDO_EV_DAMAGE, 0, 0,
		    "the end of the file \"barriers\" in the undo store is "
		    "damaged; barriers in it may be missing");
	TAILQ_FOREACH(s, &u->stamps, link) {
		if (s->after > u->seq)
			u->seq = s->after;
		if (s->id > u->stampid)
			u->stampid = s->id;
	}
	return (error);
}

/* Barriers older than all steps keep nobody from anything. */
void
barrier_prune(struct undo *u)
{
	struct stamp *next, *s;
	struct step *first;
	bool any;

	if ((first = TAILQ_FIRST(&u->steps)) == NULL)
		return;
	any = false;
	for (s = TAILQ_FIRST(&u->stamps); s != NULL &&
	    s->after < first->a.seq; s = next) {
		next = TAILQ_NEXT(s, link);
		TAILQ_REMOVE(&u->stamps, s, link);
		stamp_free(s);
		any = true;
	}
	if (any && TAILQ_EMPTY(&u->stamps))
		(void)sys_unlinkat(u->storefd, "barriers", 0);
}

/* The newest barrier above the step ${seq}, or NULL. */
const struct stamp *
barrier_over(struct undo *u, uint64_t seq)
{
	struct stamp *s;

	s = TAILQ_LAST(&u->stamps, stamplist);
	return (s != NULL && s->after >= seq ? s : NULL);
}

static int
stamp_write(struct undo *u, const struct stamp *s, const char *const *paths,
    size_t n)
{
	struct stat st;
	uint8_t *buf, *p;
	size_t i, len;
	int error, fd;

	for (len = FIXED, i = 0; i < n; i++)
		len += strlen(paths[i]) + 1;
	if ((buf = calloc(1, len)) == NULL)
		return (ENOMEM);
	put32(buf, (uint32_t)(len - 8));
	put64(buf + 8, s->id);
	put64(buf + 16, (uint64_t)s->at);
	put64(buf + 24, s->after);
	put32(buf + 32, (uint32_t)n);
	for (p = buf + FIXED, i = 0; i < n; i++) {
		memcpy(p, paths[i], strlen(paths[i]) + 1);
		p += strlen(paths[i]) + 1;
	}
	put32(buf + 4, (uint32_t)journal_hash(buf + 8, len - 8, 0));
	fd = sys_openat(u->storefd, "barriers", O_WRONLY | O_CREAT |
	    O_NOFOLLOW, 0600);
	if (fd == -1)
		error = errno;
	else {
		error = sys_fstat(fd, &st) == -1 ? errno : 0;
		if (error == 0)
			error = sys_pwrite_all(fd, buf, len, st.st_size);
		if (error != 0)
			(void)sys_ftruncate(fd, st.st_size);
		else if (u->o.durability == UNDO_POWER &&
		    sys_fdatasync(fd) == -1)
			error = errno;
		sys_close(fd);
	}
	free(buf);
	return (error);
}

/* With the lock held. */
static int
stamp_add(struct undo *u, const char *const *paths, size_t n)
{
	struct stamp *s, fresh;
	size_t i;
	int error;

	if (n > PATHS_MAX)
		n = PATHS_MAX;
	memset(&fresh, 0, sizeof(fresh));
	s = TAILQ_LAST(&u->stamps, stamplist);
	if (s != NULL && s->after == u->seq)
		fresh = *s;
	else {
		fresh.id = u->stampid + 1;
		fresh.at = now_us();
		fresh.after = u->seq;
	}
	if ((error = stamp_write(u, &fresh, paths, n)) != 0)
		return (error);
	u->stampid = fresh.id;
	if ((s = stamp_get(&u->stamps, fresh.id, fresh.at, fresh.after)) ==
	    NULL)
		return (ENOMEM);
	for (i = 0; error == 0 && i < n; i++)
		error = stamp_path(s, paths[i]);
	return (error);
}

int
undo_barrier(struct undo *u, const char *const *paths, size_t n,
    struct co_error *e)
{
	int error;

	(void)pthread_mutex_lock(&u->lock);
	error = 0;
	/* Directories may be elsewhere now. */
	u->epoch++;
	if (!u->foreign && u->o.policy != UNDO_WARN) {
		error = stamp_add(u, paths, n);
		if (error == 0)
			error = store_drop_redo(u);
	}
	if (error == 0) {
		event_post(u, UNDO_EV_BARRIER, u->open_id, n,
		    u->o.policy == UNDO_WARN ?
		    "%zu paths were changed from outside; a rollback may "
		    "overwrite that" :
		    "%zu paths were changed from outside; a rollback across "
		    "that has to be forced", n);
		event_paths(u, paths, n);
	}
	(void)pthread_mutex_unlock(&u->lock);
	event_fire(u);
	if (error != 0)
		return (co_error_errno(e, error, u->store,
		    "can't write a barrier to the undo store %s", u->store));
	return (0);
}
