/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Bytes on their way from the host to a descriptor: the standard input of a
 * command, a file that is being written, a dialled port.  Holds at most
 * SW_STREAM bytes; the host learns how many were passed on and may then
 * send as many more.
 */

#ifndef FEED_H
#define	FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct feed {
	char		*buf;		/* only while there is something */
	size_t		 start;
	size_t		 len;
	uint64_t	 total;		/* bytes that came */
	uint64_t	 told;		/* bytes the host knows passed on */
	bool		 eof;		/* no more will come */
	bool		 dead;		/* nobody reads: drop it all */
};

/**
 * feed_put(f, offset, data, len, eof):
 * Take ${len} bytes; what comes after the end is dropped.  Return 0, EPROTO
 * if they do not follow what came before or are more than was granted, or
 * ENOMEM.
 */
int feed_put(struct feed *, uint64_t, const char *, size_t, bool);

/**
 * feed_flush(f, fd):
 * Write what ${fd} takes.  Return 0 when nothing is left, EAGAIN, or another
 * errno, after which the feed is dead.
 */
int feed_flush(struct feed *, int);

/* Drop what is there and what will come. */
void feed_kill(struct feed *);

/**
 * feed_tell(f, offset):
 * Tell whether the host should hear how far the feed got, which is
 * ${offset}; it is then taken as told.
 */
bool feed_tell(struct feed *, uint64_t *);

#endif /* FEED_H */
