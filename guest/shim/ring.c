/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A ring that starts over at its first page whenever it is empty, so that a
 * host that keeps up costs little memory.
 */

#include <stdlib.h>
#include <string.h>

#include "ring.h"

void
ring_init(struct ring *r, size_t cap)
{

	memset(r, 0, sizeof(*r));
	r->cap = cap;
}

void
ring_free(struct ring *r)
{

	free(r->buf);
	r->buf = NULL;
}

static struct ring_seg *
seg_at(struct ring *r, unsigned i)
{

	return (&r->seg[(r->first + i) % RING_SEGS]);
}

char *
ring_space(struct ring *r, int stream, size_t *n)
{
	size_t at, used = (size_t)(r->tail - r->acked);

	if (used == r->cap || (r->nseg == RING_SEGS &&
	    seg_at(r, r->nseg - 1)->stream != stream))
		return (NULL);
	if (r->buf == NULL && (r->buf = malloc(r->cap)) == NULL)
		return (NULL);
	at = (size_t)((r->tail - r->base) % r->cap);
	*n = r->cap - used;
	if (*n > r->cap - at)
		*n = r->cap - at;
	return (r->buf + at);
}

void
ring_added(struct ring *r, int stream, size_t n)
{

	r->tail += n;
	if (r->nseg == 0 || seg_at(r, r->nseg - 1)->stream != stream)
		seg_at(r, r->nseg++)->stream = stream;
	seg_at(r, r->nseg - 1)->end = r->tail;
}

const char *
ring_peek(const struct ring *r, int *stream, size_t *n)
{
	const struct ring_seg *s = NULL;
	size_t at, len;

	if (r->sent == r->tail)
		return (NULL);
	for (unsigned i = 0; i < r->nseg; i++) {
		s = &r->seg[(r->first + i) % RING_SEGS];
		if (s->end > r->sent)
			break;
	}
	if (s == NULL)
		return (NULL);
	at = (size_t)((r->sent - r->base) % r->cap);
	len = (size_t)(s->end - r->sent);
	if (len > r->cap - at)
		len = r->cap - at;
	if (*n > len)
		*n = len;
	*stream = s->stream;
	return (r->buf + at);
}

void
ring_sent(struct ring *r, size_t n)
{

	r->sent += n;
}

bool
ring_ack(struct ring *r, uint64_t offset)
{

	if (offset > r->sent)
		return (false);
	if (offset <= r->acked)
		return (true);
	r->acked = offset;
	while (r->nseg > 0 && seg_at(r, 0)->end <= offset) {
		r->first = (r->first + 1) % RING_SEGS;
		r->nseg--;
	}
	if (r->acked == r->tail)
		r->base = r->tail;
	return (true);
}

bool
ring_rewind(struct ring *r, uint64_t offset)
{

	if (offset < r->acked || offset > r->tail)
		return (false);
	/* What the host has, it has acknowledged, said or not. */
	r->sent = offset;
	return (ring_ack(r, offset));
}
