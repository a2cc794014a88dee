/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The guest's memory and the rings in it.  Whatever is read there may be a
 * lie and may change at any time: it is fetched once and checked here, and
 * what comes out is safe to use.
 */

#ifndef VHOST_RING_H
#define VHOST_RING_H

#include <sys/uio.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vhost_wire.h"

/*
 * Memory: a set of regions that never changes.  Another set is made when the
 * VMM changes it, and shares what stays; each lives while someone uses it.
 */
struct vmem;

/**
 * vmem_new(old, del, add, fd, m):
 * A set like ${old} (NULL: empty), without the region ${del} and with ${add}
 * (each may be NULL), which is mapped from ${fd}; the descriptor stays the
 * caller's.  Return 0 or an errno: EINVAL for a region that overlaps, is not
 * there or not all in the file, E2BIG for too many.
 */
int vmem_new(const struct vmem *, const struct vw_region *,
    const struct vw_region *, int, struct vmem **);
struct vmem *vmem_hold(struct vmem *);
void vmem_put(struct vmem *);

/**
 * vmem_at(m, addr, len):
 * Where ${len} bytes at the guest's ${addr} are, and how many of them are
 * in one piece, stored through ${len}; NULL if not even one is.
 */
void *vmem_at(const struct vmem *, uint64_t, uint64_t *);

/* The same by the VMM's address, for all of ${len} bytes, or NULL. */
void *vmem_user(const struct vmem *, uint64_t, uint64_t);

/* A chain of descriptors: what the guest sends, then room for the answer. */
#define	VCHAIN_MAX	1024
struct vchain {
	uint16_t	head;
	int		nin;
	int		nout;
	size_t		inlen;
	size_t		outlen;
	struct iovec	iov[VCHAIN_MAX];	/* nin, then nout */
};

struct vring {
	uint16_t		 num;
	bool			 event_idx;
	bool			 indirect;	/* is allowed */
	const struct vw_desc	*desc;
	struct vw_avail		*avail;
	struct vw_used		*used;
	uint16_t		 next;		/* of avail, to be taken */
	uint16_t		 done;		/* of used, to be filled */
	uint16_t		 told;		/* used, at the last call */
	struct vw_inflight_queue *inflight;	/* NULL: not kept */
	uint64_t		 counter;
};

/**
 * vring_map(r, m, a):
 * Find the ring's parts, at the addresses ${a} in the VMM; r->num is set.
 * EINVAL: they are not where a ring can be.
 */
int vring_map(struct vring *, const struct vmem *, const struct vw_addr *);

/**
 * vring_begin(r):
 * A ring that has not run yet: its indices are in the memory.
 */
void vring_begin(struct vring *);

/**
 * vring_next(r, m, c):
 * Take the next chain: 0, EAGAIN (there is none) or EPROTO: what the guest
 * wrote makes no sense, and the ring must not be used any more.
 */
int vring_next(struct vring *, const struct vmem *, struct vchain *);

/**
 * vring_again(r, m, head, c):
 * The chain that begins at ${head}, taken once before.
 */
int vring_again(const struct vring *, const struct vmem *, uint16_t,
    struct vchain *);

/**
 * vring_push(r, head, len):
 * Give a chain back, with ${len} bytes written.  True: tell the guest.
 */
bool vring_push(struct vring *, uint16_t, uint32_t);

/**
 * vring_quiet(r, on):
 * Want no kicks, or want them again; then true if something came meanwhile.
 */
bool vring_quiet(struct vring *, bool);

/* Has the memory the indices that the ring has? */
bool vring_same(const struct vring *);

/*
 * What is in flight.  The room that a queue of ${num} entries needs there;
 * prepare it; find what was not answered, oldest first, return how many of
 * at most ${max} were stored.
 */
size_t vring_inflight_size(uint16_t);
void vring_inflight_init(struct vw_inflight_queue *, uint16_t);
unsigned int vring_inflight_left(struct vring *, uint16_t *, unsigned int);

#endif /* VHOST_RING_H */
