/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Timers and the order in which things are called.
 */

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "ev_internal.h"

struct ev {
	int		 fd;
	struct ev_timer	*timers;
	struct ev_ready	 ready[EV_BATCH];
	int		 nready;
};

struct ev *
ev_new(void)
{
	struct ev *e;

	if ((e = calloc(1, sizeof(*e))) == NULL)
		return (NULL);
	if ((e->fd = ev_kernel_open()) == -1) {
		free(e);
		return (NULL);
	}
	return (e);
}

int64_t
ev_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000 + 1);
}

void
ev_init(struct ev_src *s, int fd, void (*fn)(void *, unsigned), void *arg)
{

	s->fd = fd;
	s->want = 0;
	s->fn = fn;
	s->arg = arg;
}

int
ev_want(struct ev *e, struct ev_src *s, unsigned want)
{
	int error;

	if (s->fd == -1 || s->want == want)
		return (0);
	if ((error = ev_kernel_want(e->fd, s, want)) == 0)
		s->want = want;
	return (error);
}

void
ev_close(struct ev *e, struct ev_src *s)
{

	if (s->fd == -1)
		return;
	(void)ev_want(e, s, 0);
	close(s->fd);
	s->fd = -1;
	s->want = 0;
	for (int i = 0; i < e->nready; i++)
		if (e->ready[i].src == s)
			e->ready[i].src = NULL;
}

void
ev_stop(struct ev *e, struct ev_timer *t)
{
	struct ev_timer **p;

	if (t->at == 0)
		return;
	t->at = 0;
	for (p = &e->timers; *p != NULL; p = &(*p)->next)
		if (*p == t) {
			*p = t->next;
			return;
		}
}

void
ev_start(struct ev *e, struct ev_timer *t, int64_t ms)
{

	ev_stop(e, t);
	t->at = ev_now() + ms;
	t->next = e->timers;
	e->timers = t;
}

static int
next_timeout(const struct ev *e)
{
	int64_t at = INT64_MAX, left;

	for (const struct ev_timer *t = e->timers; t != NULL; t = t->next)
		if (t->at < at)
			at = t->at;
	if (at == INT64_MAX)
		return (-1);
	left = at - ev_now();
	if (left < 0)
		return (0);
	return (left < INT_MAX ? (int)left : INT_MAX);
}

/* A timer's function may stop and start any other: begin again each time. */
static void
run_timers(struct ev *e)
{
	int64_t now = ev_now();
	struct ev_timer *t;

	do {
		for (t = e->timers; t != NULL && t->at > now; t = t->next)
			;
		if (t != NULL) {
			ev_stop(e, t);
			t->fn(t->arg);
		}
	} while (t != NULL);
}

int
ev_run(struct ev *e)
{
	struct ev_src *s;
	unsigned got;
	int n;

	n = ev_kernel_wait(e->fd, e->ready, next_timeout(e));
	if (n == -1 && errno != EINTR)
		return (errno);
	e->nready = n > 0 ? n : 0;
	for (int i = 0; i < e->nready; i++) {
		if ((s = e->ready[i].src) == NULL)
			continue;
		/* An earlier function may have lost interest. */
		if ((got = e->ready[i].got & s->want) != 0)
			s->fn(s->arg, got);
	}
	e->nready = 0;
	run_timers(e);
	return (0);
}
