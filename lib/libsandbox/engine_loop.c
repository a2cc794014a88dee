/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the engine wants of libuv: jobs in threads, descriptors to watch and
 * alarms.  Each counts as long as libuv knows of it, so that the engine ends
 * only when nothing of it is left on the loop.
 */

#include <sys/time.h>

#include <poll.h>
#include <stdlib.h>

#include "engine_internal.h"

struct job {
	uv_work_t	 work;
	struct engine	*en;
	void		(*fn)(void *);
	void		(*after)(void *);
	void		*arg;
};

static void
job_work(uv_work_t *w)
{
	struct job *j = w->data;

	j->fn(j->arg);
}

static void
job_after(uv_work_t *w, int status)
{
	struct job *j = w->data;
	struct engine *en = j->en;

	(void)status;
	j->after(j->arg);
	free(j);
	engine_unbusy(en);
}

void
job_start(struct engine *en, void (*fn)(void *), void (*after)(void *),
    void *arg)
{
	struct job *j;

	en->busy++;
	j = calloc(1, sizeof(*j));
	if (j != NULL) {
		j->work.data = j;
		j->en = en;
		j->fn = fn;
		j->after = after;
		j->arg = arg;
		if (uv_queue_work(en->loop, &j->work, job_work,
		    job_after) == 0)
			return;
		free(j);
	}
	/* Slow, but right. */
	fn(arg);
	after(arg);
	engine_unbusy(en);
}

struct watch {
	uv_poll_t	 poll;
	struct engine	*en;
	void		(*fn)(void *, int);
	void		*arg;
	int		 want;
};

static void
watch_ready(uv_poll_t *p, int status, int events)
{
	struct watch *w = p->data;
	int revents = 0;

	if (status != 0)
		revents = POLLERR | POLLIN;
	if ((events & UV_READABLE) != 0)
		revents |= POLLIN;
	if ((events & UV_WRITABLE) != 0)
		revents |= POLLOUT;
	w->fn(w->arg, revents);
}

struct watch *
watch_new(struct engine *en, int fd, void (*fn)(void *, int), void *arg)
{
	struct watch *w;

	w = calloc(1, sizeof(*w));
	if (w == NULL)
		return (NULL);
	w->poll.data = w;
	w->en = en;
	w->fn = fn;
	w->arg = arg;
	if (uv_poll_init(en->loop, &w->poll, fd) != 0) {
		free(w);
		return (NULL);
	}
	en->busy++;
	return (w);
}

void
watch_want(struct watch *w, int want)
{
	int events = 0;

	if (w == NULL || want == w->want)
		return;
	w->want = want;
	if ((want & POLLIN) != 0)
		events |= UV_READABLE;
	if ((want & POLLOUT) != 0)
		events |= UV_WRITABLE;
	if (events == 0)
		(void)uv_poll_stop(&w->poll);
	else
		(void)uv_poll_start(&w->poll, events, watch_ready);
}

static void
watch_closed(uv_handle_t *h)
{
	struct watch *w = h->data;
	struct engine *en = w->en;

	free(w);
	engine_unbusy(en);
}

void
watch_free(struct watch *w)
{

	if (w != NULL)
		uv_close((uv_handle_t *)&w->poll, watch_closed);
}

struct alarm {
	uv_timer_t	 timer;
	struct engine	*en;
	void		(*fn)(void *);
	void		*arg;
};

static void
alarm_rings(uv_timer_t *t)
{
	struct alarm *a = t->data;

	a->fn(a->arg);
}

struct alarm *
alarm_new(struct engine *en, int64_t ms, void (*fn)(void *), void *arg)
{
	struct alarm *a;

	a = calloc(1, sizeof(*a));
	if (a == NULL)
		return (NULL);
	a->timer.data = a;
	a->en = en;
	a->fn = fn;
	a->arg = arg;
	(void)uv_timer_init(en->loop, &a->timer);
	/* The loop's own idea of now may be old. */
	uv_update_time(en->loop);
	(void)uv_timer_start(&a->timer, alarm_rings,
	    ms > 0 ? (uint64_t)ms : 0, 0);
	en->busy++;
	return (a);
}

static void
alarm_closed(uv_handle_t *h)
{
	struct alarm *a = h->data;
	struct engine *en = a->en;

	free(a);
	engine_unbusy(en);
}

void
alarm_free(struct alarm *a)
{

	if (a != NULL)
		uv_close((uv_handle_t *)&a->timer, alarm_closed);
}

int64_t
engine_wall(void)
{
	struct timeval tv;

	(void)gettimeofday(&tv, NULL);
	return ((int64_t)tv.tv_sec * 1000 + tv.tv_usec / 1000);
}
