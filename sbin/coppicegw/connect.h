/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The Connect protocol's codes and envelopes, as functions of bytes.
 */

#ifndef CONNECT_H
#define CONNECT_H

#include <stddef.h>
#include <stdint.h>

struct buf;

enum connect_code {
	CONNECT_OK, CONNECT_CANCELED, CONNECT_UNKNOWN, CONNECT_INVALID,
	CONNECT_DEADLINE, CONNECT_NOTFOUND, CONNECT_EXISTS, CONNECT_DENIED,
	CONNECT_EXHAUSTED, CONNECT_PRECONDITION, CONNECT_ABORTED,
	CONNECT_RANGE, CONNECT_UNIMPLEMENTED, CONNECT_INTERNAL,
	CONNECT_UNAVAILABLE, CONNECT_DATALOSS, CONNECT_UNAUTHENTICATED
};

#define	CONNECT_COMPRESSED	1	/* flags of an envelope */
#define	CONNECT_END		2

#define	CONNECT_MAX	(4 * 1024 * 1024)	/* of a message */

const char *connect_name(enum connect_code);
int connect_status(enum connect_code);

/**
 * connect_next(in, flags, data, len):
 * Look for a whole envelope at the beginning of ${in}.  Return 1 with its
 * flags and content (which lives until ${in} changes; 5 + ${len} bytes are
 * then to be taken from it), 0 if more is needed, -1 if it is too long or
 * compressed.
 */
int connect_next(const struct buf *, unsigned int *, const char **,
    size_t *);

/**
 * connect_add(b, flags, data, len):
 * Append an envelope.
 */
void connect_add(struct buf *, unsigned int, const void *, size_t);

#endif /* CONNECT_H */
