/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The life of a queue, as the VMM wants it: started, stopped, moved in
 * memory, ended.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "vhost.h"

#define	GRACE_MS	250	/* for requests, when a ring is stopped */

static void
fd_close(int *fd)
{

	if (*fd != -1)
		(void)close(*fd);
	*fd = -1;
}

int
vqueue_cond(pthread_cond_t *c)
{
	pthread_condattr_t a;
	int error;

	if ((error = pthread_condattr_init(&a)) != 0)
		return (error);
	(void)pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	error = pthread_cond_init(c, &a);
	(void)pthread_condattr_destroy(&a);
	return (error);
}

int
vqueue_init(struct vqueue *q, struct fused_vhost *v, unsigned int index)
{

	memset(q, 0, sizeof(*q));
	q->v = v;
	q->index = index;
	q->kick = q->call = q->err = -1;
	q->wake[0] = q->wake[1] = -1;
	(void)pthread_mutex_init(&q->lock, NULL);
	(void)vqueue_cond(&q->cond);
	if (pipe2(q->wake, O_CLOEXEC | O_NONBLOCK) == -1)
		return (errno);
	return (0);
}

void
vqueue_free(struct vqueue *q)
{

	fd_close(&q->wake[0]);
	fd_close(&q->wake[1]);
	(void)pthread_cond_destroy(&q->cond);
	(void)pthread_mutex_destroy(&q->lock);
}

static void
after_ms(struct timespec *ts, long ms)
{

	(void)clock_gettime(CLOCK_MONOTONIC, ts);
	ts->tv_nsec += ms * 1000000L;
	ts->tv_sec += ts->tv_nsec / 1000000000L;
	ts->tv_nsec %= 1000000000L;
}

/* Nobody looks at descriptors of the VMM after this; locked. */
static void
leave_kick(struct vqueue *q)
{

	while (q->polling) {
		vwork_wake(q);
		(void)pthread_cond_wait(&q->cond, &q->lock);
	}
}

void
vqueue_set_fd(struct vqueue *q, int *which, int fd)
{
	static const uint64_t one = 1;

	(void)pthread_mutex_lock(&q->lock);
	if (which == &q->kick) {
		q->stopping = true;
		leave_kick(q);
		q->stopping = false;
	}
	fd_close(which);
	*which = fd;
	/* What was answered meanwhile was told to nobody. */
	if (which == &q->call && fd != -1 && q->started)
		(void)!write(fd, &one, sizeof(one));
	(void)pthread_cond_broadcast(&q->cond);
	(void)pthread_mutex_unlock(&q->lock);
}

/* The part of the memory of what is in flight that is this queue's. */
static struct vw_inflight_queue *
inflight_of(const struct vqueue *q)
{
	const struct vinflight *i = &q->v->inflight;
	struct vw_inflight_queue *p;

	if (i->map == NULL || q->index >= i->queues || q->num > i->num)
		return (NULL);
	p = (struct vw_inflight_queue *)(void *)((char *)i->map +
	    q->index * vring_inflight_size(i->num));
	if (p->version != VW_INFLIGHT_VERSION || !q->v->inflight_new)
		vring_inflight_init(p, i->num);
	return (p);
}

/* A ring that is not the one that was stopped: old answers are void. */
static int
ring_fresh(struct vqueue *q, struct vring *r)
{

	q->gen++;
	free(q->again);
	q->again = NULL;
	q->nagain = q->agained = 0;
	vring_begin(r);
	r->next = (uint16_t)q->base;
	if ((r->inflight = inflight_of(q)) == NULL)
		return (0);
	if ((q->again = calloc(r->num, sizeof(*q->again))) == NULL)
		return (ENOMEM);
	q->nagain = vring_inflight_left(r, q->again, r->num);
	r->next = (uint16_t)(r->done + q->nagain);
	return (0);
}

/* Is this the ring that was stopped, just as it was? */
static bool
ring_resumed(const struct vqueue *q, const struct vring *r)
{
	const struct vring *old = &q->ring;

	return (q->pending > 0 && !q->broken && r->num == old->num &&
	    r->desc == old->desc && r->avail == old->avail &&
	    r->used == old->used && r->event_idx == old->event_idx &&
	    (uint16_t)q->base == old->next && vring_same(old));
}

int
vqueue_start(struct vqueue *q)
{
	struct fused_vhost *v = q->v;
	struct vring r = { .num = (uint16_t)q->num,
	    .event_idx = (v->features & VW_F_EVENT_IDX) != 0,
	    .indirect = (v->features & VW_F_INDIRECT) != 0 };
	int error = 0;

	(void)pthread_mutex_lock(&q->lock);
	if (q->mem != v->mem) {
		vmem_put(q->mem);
		q->mem = vmem_hold(v->mem);
	}
	if (!q->have_addr || vring_map(&r, q->mem, &q->addr) != 0) {
		error = EINVAL;
	} else if (!q->started) {
		if (!ring_resumed(q, &r)) {
			error = ring_fresh(q, &r);
			q->ring = r;
		}
		q->started = error == 0;
		q->stopping = q->broken = q->quiet = false;
	}
	if (error == 0 && !vwork_help(q) && q->workers == NULL)
		error = EAGAIN;
	(void)pthread_cond_broadcast(&q->cond);
	(void)pthread_mutex_unlock(&q->lock);
	return (error);
}

/*
 * Take no more requests, and wait for those that read into the guest's
 * memory; for the others a moment, as what they wait for may be that the
 * machine is paused.
 */
void
vqueue_stop(struct vqueue *q, uint32_t *base)
{
	struct timespec end;
	int error = 0;

	after_ms(&end, GRACE_MS);
	(void)pthread_mutex_lock(&q->lock);
	q->stopping = true;
	leave_kick(q);
	while (q->pending > 0 && error == 0 && q->started)
		error = pthread_cond_timedwait(&q->cond, &q->lock, &end);
	while (q->reading > 0)
		(void)pthread_cond_wait(&q->cond, &q->lock);
	q->started = q->stopping = false;
	if (base != NULL)
		*base = q->ring.next;
	q->base = q->ring.next;
	fd_close(&q->kick);
	(void)pthread_cond_broadcast(&q->cond);
	(void)pthread_mutex_unlock(&q->lock);
}

void
vqueue_enable(struct vqueue *q, bool on)
{

	(void)pthread_mutex_lock(&q->lock);
	q->enabled = on;
	if (!on) {
		vwork_wake(q);
	} else {
		(void)pthread_cond_broadcast(&q->cond);
	}
	(void)pthread_mutex_unlock(&q->lock);
}

void
vqueue_remap(struct vqueue *q, struct vmem *m)
{

	(void)pthread_mutex_lock(&q->lock);
	vmem_put(q->mem);
	q->mem = vmem_hold(m);
	if (q->started && vring_map(&q->ring, m, &q->addr) != 0) {
		q->started = false;
		q->gen++;
		vwork_wake(q);
	}
	(void)pthread_cond_broadcast(&q->cond);
	(void)pthread_mutex_unlock(&q->lock);
}

void
vqueue_end(struct vqueue *q)
{

	(void)pthread_mutex_lock(&q->lock);
	q->end = true;
	vwork_wake(q);
	(void)pthread_cond_broadcast(&q->cond);
	(void)pthread_mutex_unlock(&q->lock);
}

void
vqueue_reset(struct vqueue *q)
{
	struct vworker *w;

	while ((w = q->workers) != NULL) {
		q->workers = w->next;
		(void)pthread_join(w->thread, NULL);
		free(w->in);
		free(w->out);
		free(w);
	}
	fd_close(&q->kick);
	fd_close(&q->call);
	fd_close(&q->err);
	vmem_put(q->mem);
	free(q->again);
	q->mem = NULL;
	q->again = NULL;
	q->popper = NULL;
	q->num = q->base = 0;
	q->nagain = q->agained = 0;
	q->have_addr = q->enabled = q->started = q->stopping = false;
	q->broken = q->end = false;
	q->gen++;
}
