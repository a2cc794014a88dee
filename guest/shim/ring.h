/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The output of one command that the host did not acknowledge yet, so that
 * it can be sent again.  Bytes are counted from the beginning of the
 * command over both streams; a segment remembers which stream they are of.
 */

#ifndef RING_H
#define	RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sw.h"

#define	RING_SEGS	SW_SEGS

struct ring_seg {
	uint64_t	end;
	int		stream;
};

struct ring {
	char		*buf;		/* made when first needed */
	size_t		 cap;
	uint64_t	 base;		/* the byte that is at buf[0] */
	uint64_t	 acked;		/* <= sent <= tail */
	uint64_t	 sent;
	uint64_t	 tail;
	struct ring_seg	 seg[RING_SEGS];
	unsigned	 first;
	unsigned	 nseg;
};

void ring_init(struct ring *, size_t);
void ring_free(struct ring *);

/**
 * ring_space(r, stream, n):
 * Return where bytes of ${stream} may be put, and how many in ${n}; NULL if
 * it is full, which it also is when there is no memory.
 */
char *ring_space(struct ring *, int, size_t *);
void ring_added(struct ring *, int, size_t);

/**
 * ring_peek(r, stream, n):
 * Return the next bytes to be sent, at most ${n} on entry, all of one
 * stream; store their number and stream.  NULL if all were sent.
 */
const char *ring_peek(const struct ring *, int *, size_t *);
void ring_sent(struct ring *, size_t);

/**
 * ring_ack(r, offset):
 * Let go of what is before ${offset}.  Return false if that was never sent.
 */
bool ring_ack(struct ring *, uint64_t);

/**
 * ring_rewind(r, offset):
 * Send again from ${offset}.  Return false if it is gone or not there yet.
 */
bool ring_rewind(struct ring *, uint64_t);

#endif /* RING_H */
