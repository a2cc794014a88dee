/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Requests in flight, found by tag, and what ends them early: Tflush, a
 * clunk of the fid that they wait for, a new session, the end.  Only waiting
 * for a lock is ended early; whatever else has begun is brought to its end,
 * and a Tflush is answered then.
 */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "p9_internal.h"

#define	OVERLAP	64	/* requests that one overlap predicts more for */

static struct p9_tag **
slot(struct p9 *p, uint16_t tag)
{
	struct p9_tag **t = &p->tags[tag % P9_TAG_HASH];

	while (*t != NULL && (*t)->tag != tag)
		t = &(*t)->next;
	return (t);
}

static void
unlink_tag(struct p9 *p, struct p9_tag *t)
{
	struct p9_tag **s = slot(p, t->tag);

	assert(*s == t);
	*s = t->next;
}

int
p9_tag_begin(struct p9 *p, struct p9_req *r)
{
	struct p9_tag **s;
	int error = 0;

	pthread_mutex_lock(&p->lock);
	s = slot(p, r->in.tag);
	if (*s != NULL)
		error = EINVAL;
	else {
		r->tag = (struct p9_tag){ .req = r, .tag = r->in.tag };
		r->flush_end = &r->tag.flush;
		r->active = true;
		r->flushed = false;
		r->waiting = NULL;
		memset(&r->wait, 0, sizeof(r->wait));
		r->session = p->session;
		*s = &r->tag;
		p->in_flight++;
		if (p->in_flight - p->waiting > 1)
			p->overlap = OVERLAP;
	}
	pthread_mutex_unlock(&p->lock);
	return (error);
}

static void
free_flushes(struct p9_tag *t)
{
	struct p9_tag *next;

	for (; t != NULL; t = next) {
		next = t->flush;
		free(t);
	}
}

struct p9_tag *
p9_tag_end(struct p9 *p, struct p9_req *r, int error, bool *answer)
{
	struct p9_tag *flushes, *t;

	pthread_mutex_lock(&p->lock);
	unlink_tag(p, &r->tag);
	flushes = r->tag.flush;
	for (t = flushes; t != NULL; t = t->flush)
		unlink_tag(p, t);
	*answer = !(r->flushed && error == EINTR);
	if (r->session != p->session) {
		*answer = false;
		free_flushes(flushes);
		flushes = NULL;
	}
	r->active = false;
	if (--p->in_flight == 0)
		pthread_cond_broadcast(&p->drained);
	pthread_mutex_unlock(&p->lock);
	return (flushes);
}

int
p9_tag_flush(struct p9 *p, uint16_t tag, uint16_t old, bool *wait)
{
	struct p9_tag *t, **s;
	struct p9_req *r;
	int error = 0;

	*wait = false;
	pthread_mutex_lock(&p->lock);
	s = slot(p, tag);
	t = *slot(p, old);
	if (*s != NULL)
		error = EINVAL;
	else if (t != NULL) {
		r = t->req;
		t = calloc(1, sizeof(*t));
		if (t == NULL)
			error = ENOMEM;
		else {
			t->tag = tag;
			t->req = r;
			*s = t;
			*r->flush_end = t;
			r->flush_end = &t->flush;
			r->flushed = true;
			share_cancel(p->share, &r->wait);
			*wait = true;
		}
	}
	pthread_mutex_unlock(&p->lock);
	return (error);
}

static void
cancel_all(struct p9 *p)
{

	for (uint32_t i = 0; i < p->nworkers; i++)
		if (p->worker[i]->r.active)
			share_cancel(p->share, &p->worker[i]->r.wait);
}

void
p9_tag_cancel(struct p9 *p)
{

	pthread_mutex_lock(&p->lock);
	cancel_all(p);
	pthread_mutex_unlock(&p->lock);
}

void
p9_tag_reset(struct p9 *p)
{

	pthread_mutex_lock(&p->lock);
	p->session++;
	cancel_all(p);
	while (p->in_flight > 0)
		pthread_cond_wait(&p->drained, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

void
p9_tag_clunk(struct p9 *p, const struct p9_fid *f)
{

	pthread_mutex_lock(&p->lock);
	for (uint32_t i = 0; p->waiting > 0 && i < p->nworkers; i++)
		if (p->worker[i]->r.active && p->worker[i]->r.waiting == f)
			share_cancel(p->share, &p->worker[i]->r.wait);
	pthread_mutex_unlock(&p->lock);
}

bool
p9_wait_begin(struct p9 *p, struct p9_req *r, const struct p9_fid *f)
{
	bool may;

	pthread_mutex_lock(&p->lock);
	may = p->waiting < p->o.waiters;
	if (may) {
		p->waiting++;
		r->waiting = f;
	}
	pthread_mutex_unlock(&p->lock);
	return (may);
}

void
p9_wait_end(struct p9 *p, struct p9_req *r)
{

	pthread_mutex_lock(&p->lock);
	p->waiting--;
	r->waiting = NULL;
	pthread_mutex_unlock(&p->lock);
}
