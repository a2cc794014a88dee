/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Advisory locks.  The client's owners are kept apart here; towards the host
 * all of them are one, whose locks are set on a descriptor that each locked
 * node has for this.  Waiting is done here too, so that it can be ended; for
 * a lock that a process of the host has, by asking again now and then.
 *
 * One lock for all: none of this is on the way of reads and writes.
 */

#include <sys/file.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "share_internal.h"

#define	WAITERS_MAX	1024
#define	RANGES_MAX	(1U << 20)
#define	POLL_MIN_MS	2
#define	POLL_MAX_MS	100

struct range {
	struct range		*next;
	uint64_t		 owner;
	struct share_file	*file;	/* through which it was set */
	struct share_lock	 l;
};

/* What is locked of one node. */
struct lockhead {
	struct range	*ranges;	/* record locks, in no order */
	struct range	*flocks;	/* one per owner */
	int		 fd;		/* for the host, or -1 */
	unsigned int	 users;		/* waiting; it must not go away */
};

/* Who waits for whom, to find circles. */
struct waiter {
	struct waiter	*next;
	uint64_t	 owner;
	uint64_t	 blocker;
};

struct locks {
	pthread_mutex_t	 lock;
	pthread_cond_t	 cond;
	struct waiter	*waiters;
	uint64_t	 nranges;
	uint64_t	 nwaiters;
};

int
share_locks_init(struct share *s)
{
	pthread_condattr_t ca;

	if ((s->locks = calloc(1, sizeof(*s->locks))) == NULL)
		return (ENOMEM);
	(void)pthread_mutex_init(&s->locks->lock, NULL);
	(void)pthread_condattr_init(&ca);
	(void)pthread_condattr_setclock(&ca, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&s->locks->cond, &ca);
	(void)pthread_condattr_destroy(&ca);
	return (0);
}

void
share_locks_fini(struct share *s)
{

	if (s->locks == NULL)
		return;
	(void)pthread_cond_destroy(&s->locks->cond);
	(void)pthread_mutex_destroy(&s->locks->lock);
	free(s->locks);
}

void
share_locks_stats(struct share *s, struct share_stats *st)
{

	(void)pthread_mutex_lock(&s->locks->lock);
	st->locks = s->locks->nranges;
	st->waiters = s->locks->nwaiters;
	(void)pthread_mutex_unlock(&s->locks->lock);
}

/* The node's head, made when first needed.  Locked. */
static int
head_get(struct share *s, struct share_node *n, struct lockhead **hp)
{
	struct lockhead *h;
	int fd;

	if ((h = atomic_load(&n->locks)) != NULL) {
		*hp = h;
		return (0);
	}
	if ((h = calloc(1, sizeof(*h))) == NULL)
		return (ENOLCK);
	h->fd = -1;
	if (share_open_reserve(s) == 0) {
		if (share_fd_get(s, n, &fd) == 0) {
			if (host_reopen(&s->host, fd, O_RDWR, &h->fd) != 0 &&
			    host_reopen(&s->host, fd, O_RDONLY, &h->fd) != 0)
				h->fd = -1;
			share_fd_put(n);
		}
		if (h->fd == -1)
			share_open_release(s);
	}
	atomic_store(&n->locks, h);
	*hp = h;
	return (0);
}

/* Nothing is locked and nobody waits: the node needs none.  Locked. */
static void
head_trim(struct share *s, struct share_node *n)
{
	struct lockhead *h;

	h = atomic_load(&n->locks);
	if (h == NULL || h->ranges != NULL || h->flocks != NULL ||
	    h->users > 0)
		return;
	atomic_store(&n->locks, NULL);
	if (h->fd != -1) {
		(void)close(h->fd);
		share_open_release(s);
	}
	free(h);
}

static bool
overlap(const struct share_lock *a, const struct share_lock *b)
{

	return (a->start <= b->end && b->start <= a->end);
}

static bool
exclude(const struct share_lock *a, const struct share_lock *b)
{

	return ((a->type == SHARE_WRLOCK || b->type == SHARE_WRLOCK) &&
	    overlap(a, b));
}

/* A lock of another that stops this one. */
static struct range *
conflict(struct range *list, uint64_t owner, const struct share_lock *l)
{
	struct range *r;

	if (l->type == SHARE_UNLOCK)
		return (NULL);
	for (r = list; r != NULL; r = r->next)
		if (r->owner != owner && exclude(&r->l, l))
			return (r);
	return (NULL);
}

/*
 * The owner's locks: cut ${l} out of them, then put it in.  Room for both
 * new pieces is allocated before anything is changed.
 */
static struct range *
range_new(struct share *s, uint64_t owner, struct share_file *f)
{
	struct range *r;

	if (s->locks->nranges >= RANGES_MAX ||
	    (r = calloc(1, sizeof(*r))) == NULL)
		return (NULL);
	r->owner = owner;
	r->file = f;
	s->locks->nranges++;
	return (r);
}

static void
range_free(struct share *s, struct range *r)
{

	if (r == NULL)
		return;
	s->locks->nranges--;
	free(r);
}

static void
range_cut(struct share *s, struct range **list, uint64_t owner,
    const struct share_lock *l, struct range **spare)
{
	struct range *r, **rp, *tail;

	for (rp = list; (r = *rp) != NULL;) {
		if (r->owner != owner || !overlap(&r->l, l)) {
			rp = &r->next;
			continue;
		}
		if (r->l.start < l->start && r->l.end > l->end &&
		    *spare != NULL) {
			tail = *spare;
			*spare = NULL;
			tail->file = r->file;
			tail->l = r->l;
			tail->l.start = l->end + 1;
			r->l.end = l->start - 1;
			tail->next = r->next;
			r->next = tail;
			return;
		}
		if (r->l.start < l->start)
			r->l.end = l->start - 1;
		else if (r->l.end > l->end)
			r->l.start = l->end + 1;
		else {
			*rp = r->next;
			range_free(s, r);
			continue;
		}
		rp = &r->next;
	}
}

/* Join the new lock with neighbours of its kind. */
static void
range_join(struct share *s, struct range **list, struct range *new)
{
	struct range *r, **rp;

	for (rp = list; (r = *rp) != NULL;) {
		if (r == new || r->owner != new->owner ||
		    r->l.type != new->l.type || r->file != new->file ||
		    !((r->l.end != UINT64_MAX &&
		    r->l.end + 1 == new->l.start) ||
		    (new->l.end != UINT64_MAX &&
		    new->l.end + 1 == r->l.start))) {
			rp = &r->next;
			continue;
		}
		if (r->l.start < new->l.start)
			new->l.start = r->l.start;
		if (r->l.end > new->l.end)
			new->l.end = r->l.end;
		*rp = r->next;
		range_free(s, r);
	}
}

static int
range_set(struct share *s, struct range **list, uint64_t owner,
    struct share_file *f, const struct share_lock *l)
{
	struct range *new, *spare;

	new = NULL;
	if ((spare = range_new(s, owner, f)) == NULL ||
	    (l->type != SHARE_UNLOCK &&
	    (new = range_new(s, owner, f)) == NULL)) {
		range_free(s, spare);
		return (ENOLCK);
	}
	range_cut(s, list, owner, l, &spare);
	range_free(s, spare);
	if (new != NULL) {
		new->l = *l;
		new->next = *list;
		*list = new;
		range_join(s, list, new);
	}
	return (0);
}

/*
 * Towards the host.  A lock that is set holds for all owners together; of
 * what is unlocked, the host gets back what no other owner has.
 */
static int
host_unlock(const struct lockhead *h, uint64_t owner,
    const struct share_lock *l)
{
	const struct range *r;
	uint64_t at, end;
	bool covered;

	for (at = l->start;; at = end + 1) {
		covered = false;
		end = l->end;
		for (r = h->ranges; r != NULL; r = r->next) {
			if (r->owner == owner || r->l.end < at)
				continue;
			if (r->l.start <= at) {
				covered = true;
				if (r->l.end < end)
					end = r->l.end;
			} else if (r->l.start - 1 < end)
				end = r->l.start - 1;
		}
		if (!covered)
			(void)host_rlock(h->fd, SHARE_UNLOCK, at, end);
		if (end >= l->end)
			return (0);
	}
}

static int
host_record(const struct lockhead *h, uint64_t owner,
    const struct share_lock *l)
{
	int error;

	if (h->fd == -1)
		return (0);
	if (l->type == SHARE_UNLOCK)
		return (host_unlock(h, owner, l));
	error = host_rlock(h->fd, l->type, l->start, l->end);
	return (error == EAGAIN ? EAGAIN : 0);
}

/* The strongest of what the owners will have, with ${owner} having ${type}. */
static int
host_flock(const struct lockhead *h, uint64_t owner, enum share_lock_type type)
{
	const struct range *r;
	int op;

	if (h->fd == -1)
		return (0);
	for (r = h->flocks; r != NULL; r = r->next)
		if (r->owner != owner && r->l.type > type)
			type = r->l.type;
	op = type == SHARE_WRLOCK ? LOCK_EX : type == SHARE_RDLOCK ? LOCK_SH :
	    LOCK_UN;
	if (flock(h->fd, op | LOCK_NB) == -1 && errno == EWOULDBLOCK)
		return (EAGAIN);
	return (0);
}

/* Does waiting for ${blocker} close a circle back to ${owner}? */
static bool
deadlock(const struct locks *ls, uint64_t owner, uint64_t blocker)
{
	const struct waiter *w;
	unsigned int i;

	for (i = 0; i < WAITERS_MAX; i++) {
		if (blocker == owner)
			return (true);
		for (w = ls->waiters; w != NULL; w = w->next)
			if (w->owner == blocker)
				break;
		if (w == NULL)
			return (false);
		blocker = w->blocker;
	}
	return (false);
}

static void
sleep_for(struct locks *ls, unsigned int ms)
{
	struct timespec ts;

	if (ms == 0) {
		(void)pthread_cond_wait(&ls->cond, &ls->lock);
		return;
	}
	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_nsec += (long)ms * 1000000L;
	if (ts.tv_nsec >= 1000000000L) {
		ts.tv_nsec -= 1000000000L;
		ts.tv_sec++;
	}
	(void)pthread_cond_timedwait(&ls->cond, &ls->lock, &ts);
}

/* Wait until something changed; ${r} is in the way, or the host (NULL). */
static int
wait_once(struct locks *ls, uint64_t owner, const struct range *r,
    bool circles, struct share_wait *w, unsigned int *ms)
{
	struct waiter me, **wp;

	if (w == NULL)
		return (EAGAIN);
	if (atomic_load(&w->cancelled))
		return (EINTR);
	if (ls->nwaiters >= WAITERS_MAX)
		return (ENOLCK);
	if (r != NULL && circles && deadlock(ls, owner, r->owner))
		return (EDEADLK);
	me.owner = owner;
	me.blocker = r != NULL ? r->owner : owner + 1;
	if (r != NULL && circles) {
		me.next = ls->waiters;
		ls->waiters = &me;
	}
	ls->nwaiters++;
	if (r != NULL)
		sleep_for(ls, 0);
	else {
		*ms = *ms == 0 ? POLL_MIN_MS : *ms * 2;
		*ms = *ms > POLL_MAX_MS ? POLL_MAX_MS : *ms;
		sleep_for(ls, *ms);
	}
	ls->nwaiters--;
	for (wp = &ls->waiters; *wp != NULL; wp = &(*wp)->next)
		if (*wp == &me) {
			*wp = me.next;
			break;
		}
	return (atomic_load(&w->cancelled) ? EINTR : 0);
}

static int
lock_set(struct share *s, struct share_file *f, uint64_t owner,
    const struct share_lock *l, bool record, struct share_wait *w)
{
	struct range *r, **list;
	struct lockhead *h;
	unsigned int ms;
	int error;

	if ((error = head_get(s, f->node, &h)) != 0)
		return (error);
	h->users++;
	list = record ? &h->ranges : &h->flocks;
	/* Before closed is read; who closes sets and reads the other way. */
	if (l->type != SHARE_UNLOCK)
		atomic_store(&f->locked, true);
	for (ms = 0; error == 0;) {
		if (l->type != SHARE_UNLOCK && atomic_load(&f->closed)) {
			error = EBADF;
			break;
		}
		r = conflict(*list, owner, l);
		if (r == NULL) {
			error = record ? host_record(h, owner, l) :
			    host_flock(h, owner, l->type);
			if (error == 0)
				break;
		}
		error = wait_once(s->locks, owner, r, record, w, &ms);
	}
	if (error == 0)
		error = range_set(s, list, owner, f, l);
	h->users--;
	(void)pthread_cond_broadcast(&s->locks->cond);
	return (error);
}

int
share_lock(struct share *s, struct share_file *f, uint64_t owner,
    const struct share_lock *l, struct share_wait *w)
{
	int error;

	if (l->end < l->start || l->type > SHARE_WRLOCK)
		return (EINVAL);
	if ((l->type == SHARE_RDLOCK && (f->flags & SHARE_O_READ) == 0) ||
	    (l->type == SHARE_WRLOCK && (f->flags & SHARE_O_WRITE) == 0))
		return (EBADF);
	(void)pthread_mutex_lock(&s->locks->lock);
	error = lock_set(s, f, owner, l, true, w);
	head_trim(s, f->node);
	(void)pthread_mutex_unlock(&s->locks->lock);
	return (error);
}

int
share_flock(struct share *s, struct share_file *f, uint64_t owner,
    enum share_lock_type type, struct share_wait *w)
{
	struct share_lock l = { .type = type, .start = 0,
	    .end = UINT64_MAX };
	int error;

	if (type > SHARE_WRLOCK)
		return (EINVAL);
	(void)pthread_mutex_lock(&s->locks->lock);
	error = lock_set(s, f, owner, &l, false, w);
	head_trim(s, f->node);
	(void)pthread_mutex_unlock(&s->locks->lock);
	return (error == EAGAIN ? EWOULDBLOCK : error);
}

int
share_getlock(struct share *s, struct share_file *f, uint64_t owner,
    struct share_lock *l)
{
	struct lockhead *h;
	struct range *r;
	int error;

	if (l->end < l->start || l->type > SHARE_WRLOCK ||
	    l->type == SHARE_UNLOCK)
		return (EINVAL);
	(void)pthread_mutex_lock(&s->locks->lock);
	h = atomic_load(&f->node->locks);
	r = h != NULL ? conflict(h->ranges, owner, l) : NULL;
	if (r != NULL)
		*l = r->l;
	else {
		error = host_rlock_get(h != NULL && h->fd != -1 ? h->fd :
		    f->fd, l);
		if (error != 0)
			l->type = SHARE_UNLOCK;
	}
	(void)pthread_mutex_unlock(&s->locks->lock);
	return (0);
}

/* Drop the locks of an owner, or (file not NULL) those set through a file. */
static void
drop(struct share *s, struct lockhead *h, bool record,
    const struct share_file *f, uint64_t owner)
{
	struct range **list, *none = NULL, *r;
	struct share_lock l;

	list = record ? &h->ranges : &h->flocks;
	for (r = *list; r != NULL;) {
		if (f != NULL ? r->file != f : r->owner != owner) {
			r = r->next;
			continue;
		}
		l = r->l;
		l.type = SHARE_UNLOCK;
		if (record)
			(void)host_record(h, r->owner, &l);
		else
			(void)host_flock(h, r->owner, SHARE_UNLOCK);
		/* It covers the lock exactly: no spare piece is needed. */
		range_cut(s, list, r->owner, &l, &none);
		r = *list;
	}
}

void
share_unlock_owner(struct share *s, struct share_file *f, uint64_t owner)
{
	struct lockhead *h;

	if (atomic_load(&f->node->locks) == NULL)
		return;
	(void)pthread_mutex_lock(&s->locks->lock);
	if ((h = atomic_load(&f->node->locks)) != NULL) {
		drop(s, h, true, NULL, owner);
		head_trim(s, f->node);
	}
	(void)pthread_cond_broadcast(&s->locks->cond);
	(void)pthread_mutex_unlock(&s->locks->lock);
}

void
share_locks_drop(struct share *s, struct share_file *f)
{
	struct lockhead *h;

	if (!atomic_load(&f->locked))
		return;
	(void)pthread_mutex_lock(&s->locks->lock);
	if ((h = atomic_load(&f->node->locks)) != NULL) {
		drop(s, h, true, f, 0);
		drop(s, h, false, f, 0);
		head_trim(s, f->node);
	}
	(void)pthread_cond_broadcast(&s->locks->cond);
	(void)pthread_mutex_unlock(&s->locks->lock);
}

/* The node goes away; files keep nodes, so only a closing share has any. */
void
share_locks_node(struct share *s, struct share_node *n)
{
	struct lockhead *h;
	struct range *r;

	if ((h = atomic_load(&n->locks)) == NULL)
		return;
	while ((r = h->ranges) != NULL || (r = h->flocks) != NULL) {
		if (r == h->ranges)
			h->ranges = r->next;
		else
			h->flocks = r->next;
		range_free(s, r);
	}
	head_trim(s, n);
}

void
share_cancel(struct share *s, struct share_wait *w)
{

	(void)pthread_mutex_lock(&s->locks->lock);
	atomic_store(&w->cancelled, 1);
	(void)pthread_cond_broadcast(&s->locks->cond);
	(void)pthread_mutex_unlock(&s->locks->lock);
}
