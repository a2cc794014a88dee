/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A VMM and its guest, as far as a virtio-fs device can tell: memory of two
 * regions, rings made by hand, and a server of our own at the other end.
 * All of it fails the test when something is not as it should be.
 */

#ifndef VHOST_MASTER_H
#define VHOST_MASTER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coppice.h"
#include "fused.h"
#include "share.h"

#include "../../lib/libfused/vhost_wire.h"
#include "../../lib/libfused/wire.h"

#define	M_REGION	UINT64_C(0x400000)	/* of each of the two */
#define	M_SIZE		(2 * M_REGION)
#define	M_GUEST		UINT64_C(0x10000000)	/* where they are there */
#define	M_USER		UINT64_C(0x7f0000000000) /* ... and in the VMM */
#define	M_NUM		64		/* entries of a ring */
#define	M_QUEUES	4
#define	M_SLOT		UINT64_C(0x8000)	/* for a request; so much
						   for its answer */
#define	M_DATA		UINT64_C(0x100000)	/* where slots begin */

struct server {
	struct share		*s;
	struct fused		*f;
	struct fused_vhost	*v;
	pthread_t		 thread;
	pthread_mutex_t		 lock;
	pthread_cond_t		 cond;
	unsigned int		 ended;		/* connections */
	struct co_error		 last;		/* why */
};

struct mqueue {
	struct vw_desc	*desc;
	struct vw_avail	*avail;
	struct vw_used	*used;
	uint16_t	 free;		/* next slot to be used */
	uint16_t	 seen;		/* of used */
	int		 kick;
	int		 call;
	int		 err;
};

struct master {
	int		 fd;
	int		 memfd[2];
	char		*mem;
	uint64_t	 features;
	_Atomic uint64_t unique;
	struct mqueue	 q[M_QUEUES];
	struct vw_inflight inflight;
	int		 inflight_fd;	/* -1: none */
};

void server_start(struct server *, uint32_t threads);
void server_stop(struct server *);
void server_wait_end(struct server *, unsigned int);

/* Messages. */
void master_connect(struct master *, uint64_t features, bool inflight);
void master_hello(struct master *);
void master_close(struct master *);
void master_free(struct master *);
void master_memory(struct master *, unsigned int regions);
void master_start(struct master *, unsigned int, uint16_t base);
uint16_t master_pause(struct master *, unsigned int);
void master_send(struct master *, uint32_t, const void *, size_t, int);
uint64_t master_ack(struct master *, uint32_t, const void *, size_t, int);
size_t master_ask(struct master *, uint32_t, const void *, size_t,
    union vw_body *, int *);

/* Rings. */
uint64_t m_addr(const struct master *, const void *);
char *m_in(struct master *, unsigned int, uint16_t);
char *m_out(struct master *, unsigned int, uint16_t);
void m_post(struct master *, unsigned int, uint16_t head);
void m_kick(struct master *, unsigned int);
bool m_called(struct master *, unsigned int, int ms);
bool m_used(struct master *, unsigned int, struct vw_used_elem *, int ms);

/* Requests, in a slot of their own; the head is returned. */
uint16_t m_send(struct master *, unsigned int, uint32_t opcode,
    uint64_t node, const void *, size_t, const void *, size_t, size_t room);
int m_wait(struct master *, unsigned int, uint16_t, void *, size_t);
int m_do(struct master *, unsigned int, uint32_t, uint64_t, const void *,
    size_t, const void *, size_t, void *, size_t);
void m_init(struct master *);
uint64_t m_create(struct master *, unsigned int, const char *, uint64_t *);

#endif /* VHOST_MASTER_H */
