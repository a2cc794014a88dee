/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The crew that serves a transport.  There is always one more thread than
 * are busy, up to a limit, so that a request that waits (for a lock, for the
 * owner's answer) does not keep others waiting.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coppice.h"

#include "fused_internal.h"

#define	ALIGN	4096

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
	_Atomic int		 idle;		/* waiting for a request */
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
	more = w->nhands < w->f->o.max_threads &&
	    atomic_load(&w->idle) == 0 && !atomic_load(&w->f->stopping);
	if (more)
		w->nhands++;
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
	(void)pthread_cond_broadcast(&w->cond);
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
	atomic_fetch_add(&w->idle, 1);
	while (!atomic_load(&w->f->stopping)) {
		if ((error = hand_receive(c, &call)) == EINTR)
			continue;
		if (error != 0)
			break;
		if (atomic_fetch_sub(&w->idle, 1) == 1)
			crew_help(w, c);
		fused_handle(w->f, &call);
		if (call.replen > 0 && c->transport->send(c, &call) != 0)
			fused_unsent(w->f, &call);
		atomic_fetch_add(&w->idle, 1);
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

static void
crew_wait(struct crew *w)
{
	struct hand *h;

	(void)pthread_mutex_lock(&w->lock);
	while (w->working > 0)
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
	struct crew w = { .f = f, .nhands = 1 };
	int error;

	(void)pthread_mutex_init(&w.lock, NULL);
	(void)pthread_cond_init(&w.cond, NULL);
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
	(void)pthread_cond_destroy(&w.cond);
	(void)pthread_mutex_destroy(&w.lock);
	if (error != 0)
		return (co_error_errno(e, error, NULL,
		    "cannot start a thread to serve"));
	return (0);
}
