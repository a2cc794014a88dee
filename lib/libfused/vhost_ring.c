/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Split virtqueues: the one place that reads descriptors.  A descriptor is
 * copied before it is looked at; a chain has an end, since it may have no
 * more parts than its table; its addresses are in the guest's memory; what
 * the device reads comes before what it writes.
 */

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "vhost_ring.h"

/*
 * Indices are shared with the guest.  Each side stores its own, then looks
 * at the other's; neither may see both as they were before, or a kick or a
 * call is lost.
 */
static uint16_t
load(const uint16_t *p)
{

	return (__atomic_load_n(p, __ATOMIC_SEQ_CST));
}

static void
store(uint16_t *p, uint16_t v)
{

	__atomic_store_n(p, v, __ATOMIC_SEQ_CST);
}

static uint16_t *
used_event(const struct vring *r)
{

	return (&r->avail->ring[r->num]);
}

static uint16_t *
avail_event(const struct vring *r)
{

	return ((uint16_t *)(void *)&r->used->ring[r->num]);
}

int
vring_map(struct vring *r, const struct vmem *m, const struct vw_addr *a)
{
	uint64_t n = r->num;

	if (n == 0 || n > VW_NUM_MAX || (n & (n - 1)) != 0)
		return (EINVAL);
	r->desc = vmem_user(m, a->desc, n * sizeof(struct vw_desc));
	r->avail = vmem_user(m, a->avail, sizeof(struct vw_avail) +
	    n * sizeof(uint16_t) + sizeof(uint16_t));
	r->used = vmem_user(m, a->used, sizeof(struct vw_used) +
	    n * sizeof(struct vw_used_elem) + sizeof(uint16_t));
	if (r->desc == NULL || r->avail == NULL || r->used == NULL ||
	    (uintptr_t)r->desc % 16 != 0 || (uintptr_t)r->avail % 2 != 0 ||
	    (uintptr_t)r->used % 4 != 0)
		return (EINVAL);
	return (0);
}

void
vring_begin(struct vring *r)
{

	r->done = r->told = load(&r->used->idx);
}

bool
vring_same(const struct vring *r)
{

	return (load(&r->used->idx) == r->done);
}

/* Fetch a descriptor of an indirect table, wherever its bytes are. */
static int
fetch(const struct vmem *m, uint64_t addr, struct vw_desc *d)
{
	char *to = (char *)d;
	uint64_t left, n;
	const void *p;

	for (left = sizeof(*d); left > 0; left -= n) {
		n = left;
		if ((p = vmem_at(m, addr, &n)) == NULL)
			return (EPROTO);
		memcpy(to, p, (size_t)n);
		to += n;
		addr += n;
	}
	/* What was copied counts, whatever is there now. */
	atomic_signal_fence(memory_order_seq_cst);
	return (0);
}

static int
segment(struct vchain *c, void *p, uint64_t n, bool write)
{

	if (c->nin + c->nout == VCHAIN_MAX)
		return (EPROTO);
	c->iov[c->nin + c->nout].iov_base = p;
	c->iov[c->nin + c->nout].iov_len = (size_t)n;
	if (write) {
		c->nout++;
		c->outlen += (size_t)n;
	} else {
		c->nin++;
		c->inlen += (size_t)n;
	}
	return (0);
}

/* A buffer, which may lie in more than one region. */
static int
buffer(const struct vmem *m, const struct vw_desc *d, struct vchain *c)
{
	bool write = (d->flags & VW_D_WRITE) != 0;
	uint64_t addr = d->addr, left, n;
	void *p;

	if (!write && c->nout > 0)
		return (EPROTO);
	if (c->inlen + c->outlen + d->len > UINT32_MAX)
		return (EPROTO);
	for (left = d->len; left > 0; left -= n) {
		n = left;
		if ((p = vmem_at(m, addr, &n)) == NULL ||
		    segment(c, p, n, write) != 0)
			return (EPROTO);
		addr += n;
	}
	return (0);
}

static int
indirect(const struct vmem *m, const struct vw_desc *table, struct vchain *c)
{
	uint32_t at, count, n;
	struct vw_desc d;

	n = table->len / (uint32_t)sizeof(d);
	if (n == 0 || n > VW_NUM_MAX || table->len % sizeof(d) != 0 ||
	    table->addr > UINT64_MAX - table->len)
		return (EPROTO);
	for (at = 0, count = 0; at < n && count < n; count++) {
		if (fetch(m, table->addr + (uint64_t)at * sizeof(d), &d) != 0 ||
		    (d.flags & VW_D_INDIRECT) != 0 || buffer(m, &d, c) != 0)
			return (EPROTO);
		if ((d.flags & VW_D_NEXT) == 0)
			return (0);
		at = d.next;
	}
	return (EPROTO);
}

int
vring_again(const struct vring *r, const struct vmem *m, uint16_t head,
    struct vchain *c)
{
	uint16_t at = head;
	struct vw_desc d;
	uint32_t count;

	c->head = head;
	c->nin = c->nout = 0;
	c->inlen = c->outlen = 0;
	for (count = 0; at < r->num && count < r->num; count++) {
		memcpy(&d, &r->desc[at], sizeof(d));
		atomic_signal_fence(memory_order_seq_cst);
		if ((d.flags & VW_D_INDIRECT) != 0) {
			if (!r->indirect || (d.flags & VW_D_NEXT) != 0)
				return (EPROTO);
			return (indirect(m, &d, c));
		}
		if (buffer(m, &d, c) != 0)
			return (EPROTO);
		if ((d.flags & VW_D_NEXT) == 0)
			return (0);
		at = d.next;
	}
	return (EPROTO);
}

int
vring_next(struct vring *r, const struct vmem *m, struct vchain *c)
{
	uint16_t head, n;
	int error;

	n = (uint16_t)(load(&r->avail->idx) - r->next);
	if (n == 0)
		return (EAGAIN);
	if (n > r->num)
		return (EPROTO);
	head = __atomic_load_n(&r->avail->ring[r->next & (r->num - 1)],
	    __ATOMIC_RELAXED);
	if (head >= r->num)
		return (EPROTO);
	if ((error = vring_again(r, m, head, c)) != 0)
		return (error);
	if (r->inflight != NULL) {
		r->inflight->desc[head].counter = ++r->counter;
		__atomic_store_n(&r->inflight->desc[head].inflight, 1,
		    __ATOMIC_RELEASE);
	}
	r->next++;
	return (0);
}

/* Has the index ${event} been passed between ${old} and ${new}? */
static bool
passed(uint16_t event, uint16_t new, uint16_t old)
{

	return ((uint16_t)(new - event - 1) < (uint16_t)(new - old));
}

static bool
wants_call(struct vring *r)
{
	uint16_t old = r->told;

	if (!r->event_idx)
		return ((load(&r->avail->flags) & VW_A_NO_INTERRUPT) == 0);
	r->told = r->done;
	return (passed(load(used_event(r)), r->done, old));
}

bool
vring_push(struct vring *r, uint16_t head, uint32_t len)
{
	struct vw_used_elem e = { .id = head, .len = len };
	struct vw_inflight_queue *q = r->inflight;

	if (q != NULL) {
		q->desc[head].next = q->last;
		store(&q->last, head);
	}
	memcpy(&r->used->ring[r->done & (r->num - 1)], &e, sizeof(e));
	r->done++;
	store(&r->used->idx, r->done);
	if (q != NULL) {
		__atomic_store_n(&q->desc[head].inflight, 0,
		    __ATOMIC_RELEASE);
		store(&q->used, r->done);
	}
	return (wants_call(r));
}

bool
vring_quiet(struct vring *r, bool on)
{

	if (!r->event_idx)
		store(&r->used->flags, on ? VW_U_NO_NOTIFY : 0);
	else if (!on)
		store(avail_event(r), r->next);
	if (on)
		return (false);
	return (load(&r->avail->idx) != r->next);
}

size_t
vring_inflight_size(uint16_t num)
{
	size_t n;

	n = sizeof(struct vw_inflight_queue) +
	    (size_t)num * sizeof(struct vw_inflight_desc);
	return ((n + 63) & ~(size_t)63);
}

void
vring_inflight_init(struct vw_inflight_queue *q, uint16_t num)
{

	memset(q, 0, vring_inflight_size(num));
	q->version = VW_INFLIGHT_VERSION;
	q->num = num;
}

struct left {
	uint16_t	head;
	uint64_t	counter;
};

static int
older(const void *va, const void *vb)
{
	const struct left *a = va, *b = vb;

	return (a->counter < b->counter ? -1 : a->counter > b->counter);
}

unsigned int
vring_inflight_left(struct vring *r, uint16_t *heads, unsigned int max)
{
	struct vw_inflight_queue *q = r->inflight;
	uint16_t last = load(&q->last);
	struct left *left;
	unsigned int i, n;

	/* The end came between an answer and the note of it. */
	if (load(&q->used) != r->done && last < r->num)
		q->desc[last].inflight = 0;
	store(&q->used, r->done);
	if ((left = calloc(r->num, sizeof(*left))) == NULL)
		return (0);
	for (i = 0, n = 0; i < r->num; i++)
		if (q->desc[i].inflight != 0) {
			left[n].head = (uint16_t)i;
			left[n].counter = q->desc[i].counter;
			if (left[n].counter > r->counter)
				r->counter = left[n].counter;
			n++;
		}
	qsort(left, n, sizeof(*left), older);
	if (n > max)
		n = max;
	for (i = 0; i < n; i++)
		heads[i] = left[i].head;
	free(left);
	return (n);
}
