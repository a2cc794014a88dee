/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Bytes that grow.  A buffer that ran out of memory stays as it was and says
 * so by its flag; whoever hands it on looks there once.
 */

#ifndef BUF_H
#define BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "coppice.h"

struct buf {
	char	*p;
	size_t	 len, cap;
	bool	 failed;
};

/**
 * buf_add(b, data, len), buf_str(b, s), buf_fmt(b, fmt, ...):
 * Append bytes, a string, formatted text.  There is always a NUL after the
 * last byte that len does not count, once something was appended.
 */
void buf_add(struct buf *, const void *, size_t);
void buf_str(struct buf *, const char *);
void buf_fmt(struct buf *, const char *, ...) CO_PRINTF(2, 3);

/**
 * buf_base64(b, data, len):
 * Append ${len} bytes of ${data} as base64, with padding.
 */
void buf_base64(struct buf *, const void *, size_t);

/**
 * buf_take(b, n):
 * Remove the first ${n} bytes; an empty buffer gives its memory back.
 */
void buf_take(struct buf *, size_t);

void buf_free(struct buf *);

/**
 * base64_decode(s, len, out, outlen):
 * Decode ${len} characters, padded or not, of the usual or the URL's
 * alphabet, into memory that the caller frees.  Return 0, or -1.
 */
int base64_decode(const char *, size_t, char **, size_t *);

#endif /* BUF_H */
