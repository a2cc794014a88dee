/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Journal records to bytes and back; see coppice-undo(5).
 *
 *	 0  length, a multiple of 8     40  size        88  nlink
 *	 4  checksum                    48  mtime       92  object
 *	 8  type (1), flags (3)         56  device      96  path length
 *	12  number                      64  inode      100  path2 length
 *	16  later: inode  (unsummed)    72  mtime_ns   104  attributes length
 *	24  state         (unsummed)    76  mode       108  extra length
 *	32  raw device                  80  uid, gid   112  the four, in order
 *
 * All numbers are little-endian.  Each path ends in a NUL that its length
 * does not count.
 */

#include <errno.h>

#include "record.h"

#define	FIXED		112
#define	LATER_SET	0x2u

/*
 * XXH64, as its specification defines it.
 */
#define	P1	UINT64_C(0x9E3779B185EBCA87)
#define	P2	UINT64_C(0xC2B2AE3D27D4EB4F)
#define	P3	UINT64_C(0x165667B19E3779F9)
#define	P4	UINT64_C(0x85EBCA77C2B2AE63)
#define	P5	UINT64_C(0x27D4EB2F165667C5)

static inline uint64_t
rotl(uint64_t v, int n)
{

	return (v << n | v >> (64 - n));
}

static inline uint64_t
lane(uint64_t acc, uint64_t in)
{

	return (rotl(acc + in * P2, 31) * P1);
}

static uint64_t
tail(uint64_t h, const uint8_t *p, size_t len)
{

	for (; len >= 8; p += 8, len -= 8)
		h = rotl(h ^ lane(0, get64(p)), 27) * P1 + P4;
	if (len >= 4) {
		h = rotl(h ^ (uint64_t)get32(p) * P1, 23) * P2 + P3;
		p += 4;
		len -= 4;
	}
	for (; len > 0; p++, len--)
		h = rotl(h ^ *p * P5, 11) * P1;
	h = (h ^ h >> 33) * P2;
	h = (h ^ h >> 29) * P3;
	return (h ^ h >> 32);
}

uint64_t
journal_hash(const void *data, size_t len, uint64_t seed)
{
	const uint8_t *p;
	uint64_t v[4], h;
	size_t left;
	int i;

	p = data;
	left = len;
	if (len < 32)
		return (tail(seed + P5 + len, p, len));
	v[0] = seed + P1 + P2;
	v[1] = seed + P2;
	v[2] = seed;
	v[3] = seed - P1;
	for (; left >= 32; p += 32, left -= 32)
		for (i = 0; i < 4; i++)
			v[i] = lane(v[i], get64(p + 8 * i));
	h = rotl(v[0], 1) + rotl(v[1], 7) + rotl(v[2], 12) + rotl(v[3], 18);
	for (i = 0; i < 4; i++)
		h = (h ^ lane(0, v[i])) * P1 + P4;
	return (tail(h + len, p, left));
}

/* Over all but the length, the sum itself and what changes later. */
static uint32_t
checksum(const uint8_t *buf, uint32_t len)
{
	uint64_t h;

	h = journal_hash(buf + 8, 8, len);
	h = journal_hash(buf + 32, len - 32, h);
	/* Never zero, so that an empty place is told from a record. */
	return ((uint32_t)h | 1);
}

size_t
record_size(const struct rec *r)
{

	return ((FIXED + r->pathlen + 1 + r->path2len + 1 + r->m.xlen +
	    r->extralen + 7) & ~(size_t)7);
}

static uint8_t *
put_bytes(uint8_t *p, const void *data, size_t len)
{

	if (len > 0)
		memcpy(p, data, len);
	return (p + len);
}

void
record_encode(const struct rec *r, uint8_t *buf, size_t len)
{
	uint8_t *p;

	memset(buf, 0, FIXED);
	put32(buf, (uint32_t)len);
	put32(buf + 8, (uint32_t)r->type | r->flags << 8);
	put32(buf + 12, r->no);
	put64(buf + 32, r->m.rdev);
	put64(buf + 40, r->m.size);
	put64(buf + 48, (uint64_t)r->m.mtime);
	put64(buf + 56, r->m.dev);
	put64(buf + 64, r->m.ino);
	put32(buf + 72, r->m.mtime_ns);
	put32(buf + 76, r->m.mode);
	put32(buf + 80, r->m.uid);
	put32(buf + 84, r->m.gid);
	put32(buf + 88, r->m.nlink);
	put32(buf + 92, r->obj);
	put32(buf + 96, (uint32_t)r->pathlen);
	put32(buf + 100, (uint32_t)r->path2len);
	put32(buf + 104, (uint32_t)r->m.xlen);
	put32(buf + 108, (uint32_t)r->extralen);
	p = put_bytes(buf + FIXED, r->path, r->pathlen);
	*p++ = '\0';
	p = put_bytes(p, r->path2, r->path2len);
	*p++ = '\0';
	p = put_bytes(p, r->m.xattrs, r->m.xlen);
	p = put_bytes(p, r->extra, r->extralen);
	memset(p, 0, (size_t)(buf + len - p));
	put32(buf + 4, checksum(buf, (uint32_t)len));
}

void
record_other(uint8_t buf[REC_OTHER], const struct meta *m)
{

	put64(buf, m->dev);
	put64(buf + 8, m->ino);
	put64(buf + 16, m->size);
	put64(buf + 24, m->mode);
}

bool
record_path_ok(const char *path, size_t len)
{
	size_t i, start;

	if (len == 0)
		return (true);
	for (i = start = 0; i <= len; i++) {
		if (i < len && path[i] == '\0')
			return (false);
		if (i < len && path[i] != '/')
			continue;
		if (i == start || (i - start == 1 && path[start] == '.') ||
		    (i - start == 2 && path[start] == '.' &&
		    path[start + 1] == '.'))
			return (false);
		start = i + 1;
	}
	return (true);
}

uint32_t
record_state(const uint8_t *buf)
{

	return (get32(buf + RECORD_STATE));
}

/* The state word that vouches for a later inode. */
uint32_t
record_later_sum(uint64_t ino)
{
	uint8_t b[8];

	put64(b, ino);
	return (LATER_SET | (uint32_t)(journal_hash(b, 8, 0) << 16));
}

static void
decode_fixed(const uint8_t *buf, struct rec *r)
{
	uint32_t state;

	memset(r, 0, sizeof(*r));
	r->type = (enum rec_type)buf[8];
	r->flags = get32(buf + 8) >> 8;
	r->no = get32(buf + 12);
	state = record_state(buf);
	r->is_void = (state & RECORD_VOID) != 0;
	r->later = get64(buf + RECORD_LATER);
	if ((state & ~RECORD_VOID) != record_later_sum(r->later))
		r->later = 0;
	r->m.rdev = get64(buf + 32);
	r->m.size = get64(buf + 40);
	r->m.mtime = (int64_t)get64(buf + 48);
	r->m.dev = get64(buf + 56);
	r->m.ino = get64(buf + 64);
	r->m.mtime_ns = get32(buf + 72);
	r->m.mode = get32(buf + 76);
	r->m.uid = get32(buf + 80);
	r->m.gid = get32(buf + 84);
	r->m.nlink = get32(buf + 88);
	r->obj = get32(buf + 92);
	r->pathlen = get32(buf + 96);
	r->path2len = get32(buf + 100);
	r->m.xlen = get32(buf + 104);
	r->extralen = get32(buf + 108);
}

/* Lengths must add up, and strings be what they claim. */
static int
decode_rest(const uint8_t *buf, uint32_t len, struct rec *r)
{
	const uint8_t *p;

	if ((uint64_t)FIXED + r->pathlen + 1 + r->path2len + 1 + r->m.xlen +
	    r->extralen > len)
		return (EINVAL);
	p = buf + FIXED;
	r->path = (const char *)p;
	p += r->pathlen;
	if (*p++ != '\0')
		return (EINVAL);
	r->path2 = (const char *)p;
	p += r->path2len;
	if (*p++ != '\0')
		return (EINVAL);
	r->m.xattrs = r->m.xlen == 0 ? NULL : p;
	p += r->m.xlen;
	r->extra = r->extralen == 0 ? NULL : p;
	return (0);
}

int
record_decode_trusted(const uint8_t *buf, uint64_t avail, struct rec *r,
    uint32_t *len)
{

	if (avail < 8 || get64(buf) == 0)
		return (ENOENT);
	*len = get32(buf);
	if (*len < FIXED || *len % 8 != 0 || *len > avail)
		return (EINVAL);
	decode_fixed(buf, r);
	return (decode_rest(buf, *len, r));
}

/* Is one path the other, or below it? */
static bool
nested(const char *a, size_t alen, const char *b, size_t blen)
{

	if (alen > blen)
		return (nested(b, blen, a, alen));
	return (memcmp(a, b, alen) == 0 && (alen == blen || alen == 0 ||
	    b[alen] == '/'));
}

int
record_decode(const uint8_t *buf, uint64_t avail, struct rec *r,
    uint32_t *len)
{
	int error;

	if ((error = record_decode_trusted(buf, avail, r, len)) != 0)
		return (error);
	if (get32(buf + 4) != checksum(buf, *len))
		return (EINVAL);
	if (r->type < REC_BEGIN || r->type >= REC_MAX)
		return (EINVAL);
	if (r->type != REC_BEGIN && (r->pathlen > JOURNAL_PATHMAX ||
	    r->path2len > JOURNAL_PATHMAX ||
	    !record_path_ok(r->path, r->pathlen) ||
	    !record_path_ok(r->path2, r->path2len)))
		return (EINVAL);
	if (r->type == REC_RENAME && nested(r->path, r->pathlen, r->path2,
	    r->path2len))
		return (EINVAL);
	if (r->type == REC_BEGIN && strlen(r->path) != r->pathlen)
		return (EINVAL);
	if (r->m.mtime_ns >= 1000000000)
		return (EINVAL);
	return (0);
}
