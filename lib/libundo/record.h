/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The bytes of one journal record.  The decoder is the only place that
 * trusts nothing; what it returns may be used as it is.
 */

#ifndef RECORD_H
#define RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "journal.h"

/* Where the fields that change after the append are. */
#define	RECORD_LATER	16
#define	RECORD_STATE	24
#define	RECORD_VOID	0x1u

size_t record_size(const struct rec *);
void record_encode(const struct rec *, uint8_t *, size_t);

/**
 * record_decode(buf, avail, r, len):
 * Check and decode the record at ${buf}.  ENOENT: the journal ends here;
 * EINVAL: this is no record.
 */
int record_decode(const uint8_t *, uint64_t, struct rec *, uint32_t *);

/* The same for what was checked before: without the checksum. */
int record_decode_trusted(const uint8_t *, uint64_t, struct rec *,
    uint32_t *);

/* extra of an exchange: device, inode, size and mode of the second. */
#define	REC_OTHER	32
void record_other(uint8_t[REC_OTHER], const struct meta *);

uint32_t record_state(const uint8_t *);
uint32_t record_later_sum(uint64_t);

/**
 * record_path_ok(path, len):
 * Tell whether ${path} is relative, without "", "." and ".." in it; ""
 * itself is fine.
 */
bool record_path_ok(const char *, size_t);

static inline void
put32(uint8_t *p, uint32_t v)
{

	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)(v >> 16);
	p[3] = (uint8_t)(v >> 24);
}

static inline void
put64(uint8_t *p, uint64_t v)
{

	put32(p, (uint32_t)v);
	put32(p + 4, (uint32_t)(v >> 32));
}

static inline uint32_t
get32(const uint8_t *p)
{

	return ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
	    (uint32_t)p[3] << 24);
}

static inline uint64_t
get64(const uint8_t *p)
{

	return (get32(p) | (uint64_t)get32(p + 4) << 32);
}

#endif /* RECORD_H */
