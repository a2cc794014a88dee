/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Rings in a guest's memory, as the device walks them.  The input is two
 * bytes, then the memory from its beginning on:
 *
 *	byte 0	bits 0-2 log2 of the entries (at most 64), bit 3 event index,
 *		bit 4 indirect tables, bit 5 keep what is in flight
 *	byte 1	where the device is in the ring
 *	0	descriptors;  1024 avail;  1280 used;  2048 what is in flight
 *	4096	anything
 *
 * Addresses in the guest begin with 0, so that small numbers are good ones.
 * Whatever comes out must lie in the memory, and be touched without harm.
 */

#include <sys/types.h>
#include <sys/mman.h>

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/libfused/vhost_ring.h"

#define	FIRST	UINT64_C(65536)		/* bytes of two regions */
#define	SECOND	UINT64_C(16384)
#define	USER	UINT64_C(0x100000000)
#define	ROUNDS	256

static struct vmem *mem;
static char *base[2];

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);
int LLVMFuzzerInitialize(int *, char ***);

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct vw_region a = { .guest = 0, .size = FIRST, .user = USER };
	struct vw_region b = { .guest = FIRST, .size = SECOND,
	    .user = USER + 2 * FIRST, .offset = FIRST };
	uint64_t len;
	struct vmem *one;
	int fd;

	(void)argc;
	(void)argv;
	if ((fd = memfd_create("virtq", 0)) == -1 ||
	    ftruncate(fd, (off_t)(FIRST + SECOND)) == -1 ||
	    vmem_new(NULL, NULL, &a, fd, &one) != 0 ||
	    vmem_new(one, NULL, &b, fd, &mem) != 0)
		abort();
	vmem_put(one);
	(void)close(fd);
	len = 1;
	base[0] = vmem_at(mem, 0, &len);
	base[1] = vmem_at(mem, FIRST, &len);
	return (0);
}

static bool
inside(const struct iovec *v)
{
	const char *p = v->iov_base;

	if (p >= base[0] && p < base[0] + FIRST)
		return (v->iov_len <= (size_t)(base[0] + FIRST - p));
	if (p >= base[1] && p < base[1] + SECOND)
		return (v->iov_len <= (size_t)(base[1] + SECOND - p));
	return (false);
}

/* Check what was found; answer, also over the ring itself. */
static uint32_t
touch(const struct vring *r, const struct vchain *c)
{
	volatile char sum = 0;
	size_t in = 0, out = 0;
	char *p;
	int i;

	if (c->head >= r->num || c->nin < 0 || c->nout < 0 ||
	    c->nin + c->nout > VCHAIN_MAX)
		abort();
	for (i = 0; i < c->nin + c->nout; i++) {
		if (c->iov[i].iov_len == 0 || !inside(&c->iov[i]))
			abort();
		p = c->iov[i].iov_base;
		if (i < c->nin) {
			in += c->iov[i].iov_len;
			sum = (char)(sum + p[0] + p[c->iov[i].iov_len - 1]);
		} else {
			out += c->iov[i].iov_len;
			p[0] = p[c->iov[i].iov_len - 1] = (char)i;
		}
	}
	if (in != c->inlen || out != c->outlen || in + out > UINT32_MAX)
		abort();
	return ((uint32_t)out);
}

static void
walk(struct vring *r)
{
	static struct vchain c;
	uint16_t heads[64];
	unsigned int i, n;

	vring_begin(r);
	if (r->inflight != NULL) {
		n = vring_inflight_left(r, heads, r->num);
		if (n > r->num)
			abort();
		for (i = 0; i < n; i++)
			if (heads[i] >= r->num)
				abort();
			else if (vring_again(r, mem, heads[i], &c) == 0)
				(void)vring_push(r, c.head, touch(r, &c));
	}
	(void)vring_quiet(r, true);
	for (i = 0; i < ROUNDS; i++) {
		if (vring_next(r, mem, &c) != 0)
			break;
		(void)vring_push(r, c.head, touch(r, &c));
		if (i % 3 == 0)
			(void)vring_quiet(r, i % 2 == 0);
	}
	(void)vring_quiet(r, false);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vw_addr a = { .desc = USER, .avail = USER + 1024,
	    .used = USER + 1280 };
	struct vring r = { .num = 0 };
	size_t n;

	if (size < 2)
		return (0);
	r.num = (uint16_t)(1U << (data[0] & 7U) % 7);
	r.event_idx = (data[0] & 8) != 0;
	r.indirect = (data[0] & 16) != 0;
	r.next = data[1];
	memset(base[0], 0, FIRST);
	memset(base[1], 0, SECOND);
	n = size - 2 < FIRST ? size - 2 : FIRST;
	memcpy(base[0], data + 2, n);
	if (vring_map(&r, mem, &a) != 0)
		abort();
	if ((data[0] & 32) != 0)
		r.inflight = (struct vw_inflight_queue *)(void *)(base[0] +
		    2048);
	walk(&r);
	return (0);
}
