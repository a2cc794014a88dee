/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The crew that serves a transport.  One thread takes requests and does them,
 * for as long as that is enough: the kernel wakes all who wait for requests in
 * turn, and each has to be fetched into a processor's caches.  When it is at
 * one request for long (which waits for a lock, or for the owner's answer),
 * another is called, up to a limit, so that others do not wait with it; and
 * when requests are always seen to wait, a few may take them at a time.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coppice.h"

#include "fused_internal.h"

#define	ALIGN	4096
#define	IDLEMAX	4		/* may wait for requests, others rest */
#define	TICK_NS	2000000L	/* "long" is one to two of these */
#define	LASTING	16		/* of these: all are busy, or some idle */

struct hand {
	struct hand		*next;
	struct crew		*crew;
	struct fused_channel	*channel;
	pthread_t		 thread;
};

struct crew {
	struct fused		*f;
	pthread_mutex_t		 lock;
	pthread_cond_t		 cond;
	struct hand		*hands;		/* all that ever were */
	unsigned int		 nhands;
	unsigned int		 working;	/* not ended */
	unsigned int		 resting;
	unsigned int		 called;	/* of those, to work again */
	bool			 over;		/* the connection has ended */
	pthread_cond_t		 rest;
	_Atomic int		 most;		/* may wait for requests */
	_Atomic bool		 watched;	/* by who waits for the end */
	_Atomic uint64_t	 seq;		/* requests taken */
	_Atomic int		 idle;		/* waiting for a request, or
						   about to */
};

int
fused_channel_new(const struct fused_transport *t, size_t size, int fd,
    struct fused_channel **cp)
{
	struct fused_channel *c;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		return (ENOMEM);
	size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	c->transport = t;
	c->bufsize = size;
	c->fd = fd;
	c->in = aligned_alloc(ALIGN, size);
	c->out = aligned_alloc(ALIGN, size);
	if (c->in == NULL || c->out == NULL) {
		fused_channel_free(c);
		return (ENOMEM);
	}
	*cp = c;
	return (0);
}

void
fused_channel_free(struct fused_channel *c)
{

	if (c == NULL)
		return;
	free(c->in);
	free(c->out);
	free(c);
}

static int hand_start(struct crew *, struct fused_channel *);

/* Nobody is left to take the next request: get help, if there may be. */
static void
crew_help(struct crew *w, struct fused_channel *c)
{
	struct fused_channel *clone;
	bool more;

	(void)pthread_mutex_lock(&w->lock);
	more = atomic_load(&w->idle) == 0 && !atomic_load(&w->f->stopping);
	if (more && w->called < w->resting) {
		w->called++;
		atomic_fetch_add(&w->idle, 1);
		(void)pthread_cond_signal(&w->rest);
		more = false;
	}
	more = more && w->nhands < w->f->o.max_threads;
	if (more) {
		w->nhands++;
		atomic_fetch_add(&w->idle, 1);
	}
	(void)pthread_mutex_unlock(&w->lock);
	if (!more)
		return;
	if (c->transport->clone(c, &clone) == 0) {
		if (hand_start(w, clone) == 0)
			return;
		clone->transport->close(clone);
	}
	(void)pthread_mutex_lock(&w->lock);
	w->nhands--;
	atomic_fetch_sub(&w->idle, 1);
	(void)pthread_mutex_unlock(&w->lock);
}

/* All are busy: have an eye on how long that lasts. */
static void
crew_short(struct crew *w)
{

	if (atomic_load(&w->watched))
		return;
	(void)pthread_mutex_lock(&w->lock);
	atomic_store(&w->watched, true);
	(void)pthread_cond_broadcast(&w->cond);
	(void)pthread_mutex_unlock(&w->lock);
}

/* One more waits for requests; if that is too many, only when called. */
static void
crew_rest(struct crew *w)
{

	if (atomic_fetch_add(&w->idle, 1) < atomic_load(&w->most))
		return;
	(void)pthread_mutex_lock(&w->lock);
	if (atomic_fetch_sub(&w->idle, 1) > atomic_load(&w->most)) {
		w->resting++;
		while (w->called == 0 && !w->over &&
		    !atomic_load(&w->f->stopping))
			(void)pthread_cond_wait(&w->rest, &w->lock);
		w->resting--;
		/* Who called has counted us. */
		if (w->called > 0)
			w->called--;
	} else
		atomic_fetch_add(&w->idle, 1);
	(void)pthread_mutex_unlock(&w->lock);
}

/*
 * A thread may be cancelled while it waits for a request and at no other
 * time: what was received is finished and answered.
 */
static int
hand_receive(struct fused_channel *c, struct fused_call *call)
{
	int error, old;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
	error = c->transport->receive(c, call);
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	return (error);
}

static void
hand_gone(void *arg)
{
	struct hand *h = arg;
	struct crew *w = h->crew;

	(void)pthread_mutex_lock(&w->lock);
	w->working--;
	w->over = true;
	(void)pthread_cond_broadcast(&w->cond);
	(void)pthread_cond_broadcast(&w->rest);
	(void)pthread_mutex_unlock(&w->lock);
}

static void *
hand_main(void *arg)
{
	struct hand *h = arg;
	struct fused_channel *c = h->channel;
	struct crew *w = h->crew;
	struct fused_call call;
	int error, old;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	pthread_cleanup_push(hand_gone, h);
	while (!atomic_load(&w->f->stopping)) {
		if ((error = hand_receive(c, &call)) == EINTR)
			continue;
		if (error != 0)
			break;
		atomic_fetch_add(&w->seq, 1);
		if (atomic_fetch_sub(&w->idle, 1) == 1)
			crew_short(w);
		fused_handle(w->f, &call);
		if (call.replen > 0 && c->transport->send(c, &call) != 0)
			fused_unsent(w->f, &call);
		crew_rest(w);
	}
	pthread_cleanup_pop(1);
	return (NULL);
}

/* The hand owns the channel from here on. */
static int
hand_start(struct crew *w, struct fused_channel *c)
{
	struct hand *h;
	int error;

	if ((h = calloc(1, sizeof(*h))) == NULL)
		return (ENOMEM);
	h->crew = w;
	h->channel = c;
	(void)pthread_mutex_lock(&w->lock);
	if ((error = pthread_create(&h->thread, NULL, hand_main, h)) == 0) {
		h->next = w->hands;
		w->hands = h;
		w->working++;
	}
	(void)pthread_mutex_unlock(&w->lock);
	if (error != 0)
		free(h);
	return (error);
}

void
fused_stop(struct fused *f)
{
	struct crew *w;
	struct hand *h;

	atomic_store(&f->stopping, true);
	fused_cancel_all(f);
	(void)pthread_mutex_lock(&f->lock);
	if ((w = f->crew) != NULL) {
		(void)pthread_mutex_lock(&w->lock);
		for (h = w->hands; h != NULL; h = h->next)
			(void)pthread_cancel(h->thread);
		(void)pthread_cond_broadcast(&w->rest);
		(void)pthread_mutex_unlock(&w->lock);
	}
	(void)pthread_mutex_unlock(&f->lock);
}

static void
crew_publish(struct fused *f, struct crew *w)
{

	(void)pthread_mutex_lock(&f->lock);
	f->crew = w;
	(void)pthread_mutex_unlock(&f->lock);
}

/* What the watch has seen. */
struct watch {
	uint64_t	seq;
	unsigned int	full;		/* ticks in a row, too busy */
	unsigned int	lazy;		/* and not */
};

static void
crew_tick(struct crew *w)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_nsec += TICK_NS;
	if (ts.tv_nsec >= 1000000000L) {
		ts.tv_nsec -= 1000000000L;
		ts.tv_sec++;
	}
	(void)pthread_cond_timedwait(&w->cond, &w->lock, &ts);
}

/* A moment later: are all busy, and still with the same? */
static void
crew_watch(struct crew *w, struct watch *seen)
{
	struct fused_channel *c = w->hands->channel;
	bool help;

	crew_tick(w);
	if (atomic_load(&w->idle) > 0) {
		seen->full = 0;
		if (++seen->lazy < LASTING)
			return;
		seen->lazy = 0;
		atomic_store(&w->most, 1);
		atomic_store(&w->watched, false);
		/* Who ran short meanwhile may not have told. */
		if (atomic_load(&w->idle) == 0)
			atomic_store(&w->watched, true);
		return;
	}
	seen->lazy = 0;
	help = atomic_load(&w->seq) == seen->seq;
	/* Busy with the only client's requests is not too busy. */
	seen->full = c->transport->pending(c) ? seen->full + 1 : 0;
	if (seen->full == LASTING) {
		seen->full = 0;
		help = true;
		if (atomic_load(&w->most) < IDLEMAX)
			atomic_fetch_add(&w->most, 1);
	}
	if (help && w->working > 0) {
		(void)pthread_mutex_unlock(&w->lock);
		crew_help(w, c);
		(void)pthread_mutex_lock(&w->lock);
	}
	seen->seq = atomic_load(&w->seq);
}

static void
crew_wait(struct crew *w)
{
	struct watch seen = { 0 };
	struct hand *h;

	(void)pthread_mutex_lock(&w->lock);
	while (w->working > 0)
		if (atomic_load(&w->watched))
			crew_watch(w, &seen);
		else
			(void)pthread_cond_wait(&w->cond, &w->lock);
	(void)pthread_mutex_unlock(&w->lock);
	crew_publish(w->f, NULL);
	while ((h = w->hands) != NULL) {
		w->hands = h->next;
		(void)pthread_join(h->thread, NULL);
		h->channel->transport->close(h->channel);
		free(h);
	}
}

int
fused_serve(struct fused *f, struct fused_channel *c, struct co_error *e)
{
	struct crew w = { .f = f, .nhands = 1, .idle = 1,
	    .most = 1 };
	pthread_condattr_t a;
	int error;

	(void)pthread_mutex_init(&w.lock, NULL);
	(void)pthread_condattr_init(&a);
	(void)pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&w.cond, &a);
	(void)pthread_cond_init(&w.rest, NULL);
	(void)pthread_condattr_destroy(&a);
	crew_publish(f, &w);
	if ((error = hand_start(&w, c)) != 0) {
		crew_publish(f, NULL);
		c->transport->close(c);
	} else {
		/* A stop that came before the hand was known. */
		if (atomic_load(&f->stopping))
			fused_stop(f);
		crew_wait(&w);
	}
	(void)pthread_cond_destroy(&w.rest);
	(void)pthread_cond_destroy(&w.cond);
	(void)pthread_mutex_destroy(&w.lock);
	if (error != 0)
		return (co_error_errno(e, error, NULL,
		    "cannot start a thread to serve"));
	return (0);
}
