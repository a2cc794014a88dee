/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of the vhost-user transport have in common.  Read fused.h
 * and vhost_ring.h first.
 *
 * One thread, that of fused_vhost_serve(), speaks with the VMM.  Each queue
 * has a thread that takes requests and does them itself; while it is at one
 * for long, another takes the next.
 */

#ifndef VHOST_H
#define VHOST_H

#include <pthread.h>
#include <stdatomic.h>

#include "fused_internal.h"
#include "vhost_ring.h"

#define	VHOST_FDS	8	/* descriptors that a message may carry */

/* A thread of a queue, with what one request needs. */
struct vworker {
	struct vworker		*next;
	struct vqueue		*q;
	pthread_t		 thread;
	struct vmem		*mem;		/* that the chain is in */
	uint64_t		 gen;		/* of the ring it came from */
	bool			 reading;	/* straight into the guest */
	char			*in;
	char			*out;
	struct vchain		 chain;
	struct iovec		 data[VCHAIN_MAX];	/* a part of it */
};

struct vqueue {
	struct fused_vhost	*v;
	unsigned int		 index;
	pthread_mutex_t		 lock;		/* of all that follows */
	pthread_cond_t		 cond;		/* something changed */

	/* What the VMM said. */
	struct vw_addr		 addr;
	uint32_t		 num;
	uint32_t		 base;
	int			 kick;
	int			 call;
	int			 err;
	bool			 have_addr;
	bool			 enabled;

	struct vring		 ring;
	struct vmem		*mem;
	uint64_t		 gen;		/* of the ring: answers to an
						   older one are dropped */
	bool			 started;
	bool			 stopping;	/* no more requests are taken */
	bool			 broken;	/* by the guest */
	bool			 quiet;		/* no kicks are wanted */
	bool			 end;		/* of all its threads */
	uint16_t		*again;		/* heads to be done again */
	unsigned int		 nagain;
	unsigned int		 agained;

	struct vworker		*workers;
	struct vworker		*popper;	/* takes the next request */
	unsigned int		 idle;		/* workers that wait for that */
	unsigned int		 pending;	/* taken, not given back */
	unsigned int		 reading;
	bool			 polling;	/* the popper waits for kicks */
	int			 wake[2];	/* a pipe, to end that */
	_Atomic bool		 busy;		/* the popper is at a request */
	uint64_t		 seq;		/* requests taken */
	uint64_t		 seen;		/* ... when last looked at */
};

struct vinflight {
	void			*map;
	size_t			 len;
	uint16_t		 queues;
	uint16_t		 num;
};

struct fused_vhost {
	struct fused		*f;
	struct fused_vhost_options o;
	char			 tag[VW_TAG_MAX];
	int			 listen;
	int			 fd;		/* the VMM, or -1 */
	int			 stop[2];
	_Atomic bool		 stopping;

	unsigned int		 nqueues;
	struct vqueue		*q;
	struct vmem		*mem;
	uint64_t		 features;
	uint64_t		 protocol;
	struct vinflight	 inflight;
	bool			 inflight_new;
	bool			 kept;		/* the last VMM's state */

	_Atomic unsigned int	 threads;
	_Atomic unsigned int	 waiters;	/* for locks */

	/* Requests go in together; those that reset, alone. */
	pthread_mutex_t		 gate;
	pthread_cond_t		 gate_cond;
	unsigned int		 inside;
	bool			 alone;

	/* Looks after queues whose threads are at work for long. */
	pthread_t		 watch;
	pthread_mutex_t		 watch_lock;
	pthread_cond_t		 watch_cond;
	_Atomic bool		 watch_asleep;
	_Atomic bool		 watch_end;
};

/* vhost_queue.c: the life of a queue.  Called by the VMM's thread. */
int vqueue_cond(pthread_cond_t *);		/* of CLOCK_MONOTONIC */
int vqueue_init(struct vqueue *, struct fused_vhost *, unsigned int);
void vqueue_free(struct vqueue *);
int vqueue_start(struct vqueue *);
void vqueue_stop(struct vqueue *, uint32_t *);
void vqueue_enable(struct vqueue *, bool);
void vqueue_set_fd(struct vqueue *, int *, int);
void vqueue_remap(struct vqueue *, struct vmem *);
void vqueue_end(struct vqueue *);		/* begin to end */
void vqueue_reset(struct vqueue *);		/* wait, forget it all */

/* vhost_work.c: its threads. */
bool vwork_help(struct vqueue *);		/* locked: someone must pop */
void vwork_wake(struct vqueue *);		/* locked */
int vwatch_start(struct fused_vhost *);
void vwatch_stop(struct fused_vhost *);
void vwatch_poke(struct fused_vhost *);

/* vhost_call.c: one request, in the worker's chain. */
void vcall_run(struct vworker *);
void vcall_reset(struct fused_vhost *);		/* the client is gone */

/* vhost_msg.c: take one message.  0 or an errno: the end. */
struct co_error;
int vmsg_next(struct fused_vhost *, struct co_error *);
void vmsg_reset(struct fused_vhost *);		/* forget the VMM */

#endif /* VHOST_H */
