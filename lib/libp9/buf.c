/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Buffers for long messages.  A connection has as many as it has threads for
 * work, made when first needed; who wants one more waits until a request is
 * done.  The last one given back is the next one taken, as it is in cache.
 */

#include <errno.h>
#include <stdlib.h>

#include "p9_internal.h"

static struct p9_buf *
make(size_t cap)
{
	struct p9_buf *b;
	size_t size = (cap + 2 * P9_PAGE - 1) / P9_PAGE * P9_PAGE;

	b = malloc(sizeof(*b));
	if (b == NULL)
		return (NULL);
	b->mem = aligned_alloc(P9_PAGE, size);
	if (b->mem == NULL) {
		free(b);
		return (NULL);
	}
	b->cap = cap;
	return (b);
}

static void
unmake(struct p9_buf *b)
{

	free(b->mem);
	free(b);
}

int
p9_buf_take(struct p9 *p, struct p9_buf **buf)
{
	size_t cap = p->msize;
	struct p9_buf *b;

	pthread_mutex_lock(&p->buf_lock);
	while (p->bufs == NULL && p->nbufs >= p->o.threads)
		pthread_cond_wait(&p->buf_free, &p->buf_lock);
	b = p->bufs;
	if (b != NULL)
		p->bufs = b->next;
	else
		p->nbufs++;
	pthread_mutex_unlock(&p->buf_lock);

	/* The last session's may have been shorter. */
	if (b != NULL && b->cap < cap) {
		unmake(b);
		b = NULL;
	}
	if (b == NULL)
		b = make(cap);
	if (b == NULL) {
		pthread_mutex_lock(&p->buf_lock);
		p->nbufs--;
		pthread_cond_signal(&p->buf_free);
		pthread_mutex_unlock(&p->buf_lock);
		return (ENOMEM);
	}
	*buf = b;
	return (0);
}

void
p9_buf_give(struct p9 *p, struct p9_buf *b)
{

	if (b == NULL)
		return;
	pthread_mutex_lock(&p->buf_lock);
	b->next = p->bufs;
	p->bufs = b;
	pthread_cond_signal(&p->buf_free);
	pthread_mutex_unlock(&p->buf_lock);
}

void
p9_buf_fini(struct p9 *p)
{
	struct p9_buf *b;

	while ((b = p->bufs) != NULL) {
		p->bufs = b->next;
		unmake(b);
	}
}
