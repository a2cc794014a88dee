/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The threads of a queue.  One of them, the popper, waits for kicks, takes a
 * request and does it; nothing is handed over as long as requests are short.
 * When one takes long (it waits for a lock, or libundo asks its owner), the
 * watch makes another thread the popper.  There are at most as many threads
 * as the codec's options say, and one for each queue.
 */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "vhost.h"

#define	ALIGN		4096
#define	TICK_NS		4000000L	/* "long" is one to two of these */
#define	TICKS_AWAKE	25		/* without work, then sleep */
#define	NO_KICK_MS	1		/* a VMM that does not kick */

static void *worker_main(void *);

static void
worker_free(struct vworker *w)
{

	free(w->in);
	free(w->out);
	free(w);
}

/* Start a thread, which takes no signals. */
static int
thread(pthread_t *t, void *(*fn)(void *), void *arg)
{
	sigset_t all, old;
	int error;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(t, NULL, fn, arg);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return (error);
}

static bool
worker_new(struct vqueue *q)
{
	size_t size = (fused_bufsize(q->v->f) + ALIGN - 1) & ~(size_t)
	    (ALIGN - 1);
	struct vworker *w;

	if ((w = calloc(1, sizeof(*w))) == NULL)
		return (false);
	w->q = q;
	w->in = aligned_alloc(ALIGN, size);
	w->out = aligned_alloc(ALIGN, size);
	if (w->in == NULL || w->out == NULL ||
	    thread(&w->thread, worker_main, w) != 0) {
		worker_free(w);
		return (false);
	}
	w->next = q->workers;
	q->workers = w;
	return (true);
}

bool
vwork_help(struct vqueue *q)
{
	struct fused_vhost *v = q->v;

	if (q->idle > 0 || q->end) {
		(void)pthread_cond_broadcast(&q->cond);
		return (true);
	}
	/* The first of a queue always may. */
	if (atomic_fetch_add(&v->threads, 1) >= v->f->o.max_threads &&
	    q->workers != NULL) {
		atomic_fetch_sub(&v->threads, 1);
		return (false);
	}
	if (worker_new(q))
		return (true);
	atomic_fetch_sub(&v->threads, 1);
	return (false);
}

/* End a wait for kicks. */
void
vwork_wake(struct vqueue *q)
{

	if (q->polling)
		(void)!write(q->wake[1], "", 1);
}

/* Wait for a kick, or for news from the VMM.  The lock is let go. */
static void
wait_kick(struct vqueue *q)
{
	struct pollfd p[2] = {
		{ .fd = q->wake[0], .events = POLLIN },
		{ .fd = q->kick, .events = POLLIN }
	};
	char buf[64];
	int n;

	q->quiet = false;
	if (vring_quiet(&q->ring, false))
		return;
	q->polling = true;
	(void)pthread_mutex_unlock(&q->lock);
	n = poll(p, 2, p[1].fd == -1 ? NO_KICK_MS : -1);
	if (n > 0 && (p[1].revents & POLLIN) != 0)
		(void)!read(p[1].fd, buf, 8);
	(void)pthread_mutex_lock(&q->lock);
	q->polling = false;
	if (n > 0 && p[0].revents != 0)
		(void)!read(q->wake[0], buf, sizeof(buf));
	/* Nobody will ever kick there again. */
	if (n > 0 && (p[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0 &&
	    (p[1].revents & POLLIN) == 0)
		q->stopping = true;
	(void)pthread_cond_broadcast(&q->cond);
}

static void
broken(struct vqueue *q)
{
	static const uint64_t one = 1;

	q->broken = true;
	if (q->err != -1)
		(void)!write(q->err, &one, sizeof(one));
	(void)pthread_cond_broadcast(&q->cond);
}

static int
next(struct vqueue *q, struct vchain *c)
{

	if (q->agained < q->nagain)
		return (vring_again(&q->ring, q->mem, q->again[q->agained++],
		    c));
	return (vring_next(&q->ring, q->mem, c));
}

/* Take one request and do it, or wait for one. */
static void
pop(struct vworker *w)
{
	struct vqueue *q = w->q;
	int error;

	if (!q->quiet) {
		q->quiet = true;
		(void)vring_quiet(&q->ring, true);
	}
	if ((error = next(q, &w->chain)) == EAGAIN) {
		wait_kick(q);
		return;
	}
	if (error != 0) {
		broken(q);
		return;
	}
	q->seq++;
	q->pending++;
	w->gen = q->gen;
	w->mem = vmem_hold(q->mem);
	atomic_store(&q->busy, true);
	(void)pthread_mutex_unlock(&q->lock);
	if (atomic_load(&q->v->watch_asleep))
		vwatch_poke(q->v);
	vcall_run(w);
	vmem_put(w->mem);
	(void)pthread_mutex_lock(&q->lock);
	q->pending--;
	if (q->popper == w)
		atomic_store(&q->busy, false);
	if (q->stopping || q->end)
		(void)pthread_cond_broadcast(&q->cond);
}

static void *
worker_main(void *arg)
{
	struct vworker *w = arg;
	struct vqueue *q = w->q;

	(void)pthread_mutex_lock(&q->lock);
	while (!q->end) {
		if ((q->popper != NULL && q->popper != w) || !q->started ||
		    !q->enabled || q->stopping || q->broken) {
			q->idle++;
			(void)pthread_cond_wait(&q->cond, &q->lock);
			q->idle--;
			continue;
		}
		q->popper = w;
		pop(w);
	}
	(void)pthread_mutex_unlock(&q->lock);
	atomic_fetch_sub(&q->v->threads, 1);
	return (NULL);
}

/* Is the popper still at what it was at the last time? */
static bool
look_after(struct vqueue *q)
{
	bool busy;

	if (!(busy = atomic_load(&q->busy)))
		return (false);
	(void)pthread_mutex_lock(&q->lock);
	if (atomic_load(&q->busy) && q->seq == q->seen) {
		q->popper = NULL;
		atomic_store(&q->busy, false);
		(void)vwork_help(q);
	}
	q->seen = q->seq;
	(void)pthread_mutex_unlock(&q->lock);
	return (busy);
}

static bool
any_busy(struct fused_vhost *v)
{
	unsigned int i;

	for (i = 0; i < v->nqueues; i++)
		if (atomic_load(&v->q[i].busy))
			return (true);
	return (false);
}

/* Sleep until there is work, or the end; false at the end. */
static bool
watch_sleep(struct fused_vhost *v)
{
	bool end;

	(void)pthread_mutex_lock(&v->watch_lock);
	atomic_store(&v->watch_asleep, true);
	while (!any_busy(v) && !atomic_load(&v->watch_end))
		(void)pthread_cond_wait(&v->watch_cond, &v->watch_lock);
	atomic_store(&v->watch_asleep, false);
	end = atomic_load(&v->watch_end);
	(void)pthread_mutex_unlock(&v->watch_lock);
	return (!end);
}

static void *
watch_main(void *arg)
{
	const struct timespec tick = { 0, TICK_NS };
	struct fused_vhost *v = arg;
	unsigned int i, lazy;
	bool busy;

	while (watch_sleep(v))
		for (lazy = 0; lazy < TICKS_AWAKE &&
		    !atomic_load(&v->watch_end);
		    lazy = busy ? 0 : lazy + 1) {
			(void)nanosleep(&tick, NULL);
			for (busy = false, i = 0; i < v->nqueues; i++)
				busy |= look_after(&v->q[i]);
		}
	return (NULL);
}

void
vwatch_poke(struct fused_vhost *v)
{

	(void)pthread_mutex_lock(&v->watch_lock);
	(void)pthread_cond_signal(&v->watch_cond);
	(void)pthread_mutex_unlock(&v->watch_lock);
}

int
vwatch_start(struct fused_vhost *v)
{

	atomic_store(&v->watch_end, false);
	return (thread(&v->watch, watch_main, v));
}

void
vwatch_stop(struct fused_vhost *v)
{

	(void)pthread_mutex_lock(&v->watch_lock);
	atomic_store(&v->watch_end, true);
	(void)pthread_cond_signal(&v->watch_cond);
	(void)pthread_mutex_unlock(&v->watch_lock);
	(void)pthread_join(v->watch, NULL);
}
