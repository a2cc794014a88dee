/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One request: out of the guest's memory, once, and its answer back.  Only
 * the data of reads and writes is not copied.
 */

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "vhost.h"

#define	OUT_HEAD	sizeof(struct fw_out_header)
#define	NUDGE_NS	10000000L

union head {
	struct fw_in_header	h;
	struct {
		struct fw_in_header	h;
		struct fw_read_in	a;
	} read;
	struct {
		struct fw_in_header	h;
		struct fw_write_in	a;
	} write;
};

/* Copy the first ${len} bytes of the pieces. */
static void
copy_from(void *to, const struct iovec *iov, size_t len)
{
	char *p = to;
	size_t n;

	for (; len > 0; iov++, p += n, len -= n) {
		n = len < iov->iov_len ? len : iov->iov_len;
		memcpy(p, iov->iov_base, n);
	}
	/* The copy counts, whatever becomes of the original. */
	atomic_signal_fence(memory_order_seq_cst);
}

static void
copy_to(const struct iovec *iov, const void *from, size_t len)
{
	const char *p = from;
	size_t n;

	for (; len > 0; iov++, p += n, len -= n) {
		n = len < iov->iov_len ? len : iov->iov_len;
		memcpy(iov->iov_base, p, n);
	}
}

/* Store the pieces of ${len} bytes after the first ${skip}; as many exist. */
static int
part(const struct iovec *iov, size_t skip, size_t len, struct iovec *to)
{
	size_t n;
	int count;

	for (; skip > 0 && skip >= iov->iov_len; iov++)
		skip -= iov->iov_len;
	for (count = 0; len > 0; iov++, count++, len -= n) {
		n = iov->iov_len - skip;
		if (n > len)
			n = len;
		to[count].iov_base = (char *)iov->iov_base + skip;
		to[count].iov_len = n;
		skip = 0;
	}
	return (count);
}

/* Requests that reset the share have it for themselves. */
static void
gate_enter(struct fused_vhost *v, bool alone)
{
	struct timespec ts;

	(void)pthread_mutex_lock(&v->gate);
	while (v->alone)
		(void)pthread_cond_wait(&v->gate_cond, &v->gate);
	v->alone = alone;
	while (alone && v->inside > 0) {
		/* Also those that only now begin to wait for a lock. */
		fused_cancel_all(v->f);
		(void)clock_gettime(CLOCK_MONOTONIC, &ts);
		ts.tv_nsec += NUDGE_NS;
		if (ts.tv_nsec >= 1000000000L) {
			ts.tv_nsec -= 1000000000L;
			ts.tv_sec++;
		}
		(void)pthread_cond_timedwait(&v->gate_cond, &v->gate, &ts);
	}
	if (!alone)
		v->inside++;
	(void)pthread_mutex_unlock(&v->gate);
}

static void
gate_leave(struct fused_vhost *v, bool alone)
{

	(void)pthread_mutex_lock(&v->gate);
	if (alone)
		v->alone = false;
	else
		v->inside--;
	if (alone || (v->alone && v->inside == 0))
		(void)pthread_cond_broadcast(&v->gate_cond);
	(void)pthread_mutex_unlock(&v->gate);
}

/* May data go straight to the guest?  Not once the ring was stopped. */
static bool
read_begin(struct vworker *w)
{
	struct vqueue *q = w->q;

	(void)pthread_mutex_lock(&q->lock);
	w->reading = q->started && q->gen == w->gen;
	if (w->reading)
		q->reading++;
	(void)pthread_mutex_unlock(&q->lock);
	return (w->reading);
}

/* A write's data stays where it is. */
static void
gather_write(struct vworker *w, struct fused_call *call)
{
	union head *u = (union head *)(void *)w->in;
	const struct vchain *c = &w->chain;
	size_t copied = sizeof(u->write), size = u->write.a.size;

	call->reqlen = copied;
	if (size > w->q->v->f->o.max_write || size > c->inlen - copied ||
	    u->h.len > c->inlen) {
		u->h.len = UINT32_MAX;		/* the codec refuses that */
		return;
	}
	u->h.len = (uint32_t)copied;
	if (size > 0) {
		call->nwdata = part(c->iov, copied, size, w->data);
		call->wdata = w->data;
	}
}

static void
gather_read(struct vworker *w, struct fused_call *call)
{
	const union head *u = (const union head *)(const void *)w->in;
	const struct vchain *c = &w->chain;
	size_t size = u->read.a.size;

	if (c->outlen <= OUT_HEAD || size == 0 || !read_begin(w))
		return;
	if (size > c->outlen - OUT_HEAD)
		size = c->outlen - OUT_HEAD;
	if (size > w->q->v->f->o.max_write)
		size = w->q->v->f->o.max_write;
	call->nrdata = part(&c->iov[c->nin], OUT_HEAD, size, w->data);
	call->rdata = w->data;
}

/* The request as the codec wants it; false: not even a header. */
static bool
gather(struct vworker *w, struct fused_call *call)
{
	union head *u = (union head *)(void *)w->in;
	const struct vchain *c = &w->chain;
	size_t n, max = fused_bufsize(w->q->v->f);

	memset(call, 0, sizeof(*call));
	if (c->inlen < FUSED_HEAD)
		return (false);
	n = c->inlen < sizeof(*u) ? c->inlen : sizeof(*u);
	copy_from(u, c->iov, n);
	call->req = w->in;
	call->rep = w->out;
	call->repsize = max;
	if (u->h.opcode == FW_WRITE && u->h.extlen == 0 &&
	    n == sizeof(u->write)) {
		gather_write(w, call);
		return (true);
	}
	call->reqlen = c->inlen < max ? c->inlen : max;
	if (part(c->iov, n, call->reqlen - n, w->data) > 0)
		copy_from(w->in + n, w->data, call->reqlen - n);
	if (u->h.opcode == FW_READ && u->h.extlen == 0 &&
	    call->reqlen == sizeof(u->read))
		gather_read(w, call);
	return (true);
}

/* An answer of nothing but an error. */
static void
only_error(struct fused_call *call, int error)
{
	struct fw_out_header *out = call->rep;

	out->len = OUT_HEAD;
	out->error = -error;
	call->replen = OUT_HEAD;
	call->rdatalen = 0;
}

/* A lock that another has: others must not wait with us. */
static void
wait_lock(struct vworker *w, struct fused_call *call)
{
	struct fused_vhost *v = w->q->v;
	struct vqueue *q = w->q;

	if (atomic_fetch_add(&v->waiters, 1) >= v->f->o.max_threads / 2) {
		only_error(call, ENOLCK);
	} else {
		(void)pthread_mutex_lock(&q->lock);
		if (q->popper == w) {
			q->popper = NULL;
			atomic_store(&q->busy, false);
			(void)vwork_help(q);
		}
		(void)pthread_mutex_unlock(&q->lock);
		((struct fw_in_header *)(void *)w->in)->opcode = FW_SETLKW;
		fused_handle(v->f, call);
	}
	atomic_fetch_sub(&v->waiters, 1);
}

static void
handle(struct vworker *w, struct fused_call *call)
{
	struct fw_in_header *h = (struct fw_in_header *)(void *)w->in;
	const struct fw_out_header *out = call->rep;
	struct fused_vhost *v = w->q->v;
	bool alone, wait;

	alone = h->opcode == FW_INIT || h->opcode == FW_DESTROY;
	wait = h->opcode == FW_SETLKW;
	if (wait)
		h->opcode = FW_SETLK;
	gate_enter(v, alone);
	fused_handle(v->f, call);
	if (wait && call->replen > 0 && out->error == -EAGAIN)
		wait_lock(w, call);
	gate_leave(v, alone);
}

/* Put the answer into the guest's memory; how long it is. */
static size_t
scatter(struct vworker *w, struct fused_call *call)
{
	const struct vchain *c = &w->chain;

	if (call->replen == 0)
		return (0);
	if (call->replen + call->rdatalen > c->outlen) {
		fused_unsent(w->q->v->f, call);
		if (c->outlen < OUT_HEAD)
			return (0);
		only_error(call, EIO);
	}
	copy_to(&c->iov[c->nin], call->rep, call->replen);
	return (call->replen + call->rdatalen);
}

/*
 * Give the chain back.  A ring that the VMM stopped, as it does when the
 * machine is paused, gets it when it runs again.
 */
static void
answer(struct vworker *w, struct fused_call *call)
{
	static const uint64_t one = 1;
	struct vqueue *q = w->q;
	size_t len;

	(void)pthread_mutex_lock(&q->lock);
	if (w->reading)
		q->reading--;
	w->reading = false;
	while (!q->started && q->gen == w->gen && !q->end)
		(void)pthread_cond_wait(&q->cond, &q->lock);
	if (!q->started || q->gen != w->gen || q->broken) {
		(void)pthread_mutex_unlock(&q->lock);
		if (call->replen > 0)
			fused_unsent(q->v->f, call);
		return;
	}
	len = scatter(w, call);
	if (vring_push(&q->ring, w->chain.head, (uint32_t)len) &&
	    q->call != -1)
		(void)!write(q->call, &one, sizeof(one));
	(void)pthread_mutex_unlock(&q->lock);
}

void
vcall_run(struct vworker *w)
{
	struct fused_call call;

	w->reading = false;
	if (gather(w, &call))
		handle(w, &call);
	answer(w, &call);
}

void
vcall_reset(struct fused_vhost *v)
{
	_Alignas(8) char rep[FUSED_REPLY_MIN];
	struct fw_in_header h = { .len = sizeof(h), .opcode = FW_DESTROY };
	struct fused_call call = { .req = &h, .reqlen = sizeof(h),
	    .rep = rep, .repsize = sizeof(rep) };

	gate_enter(v, true);
	fused_handle(v->f, &call);
	gate_leave(v, true);
}
