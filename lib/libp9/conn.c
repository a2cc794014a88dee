/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A connection: its threads, their turns at reading, and the messages that
 * are about the connection itself (Tversion, Tflush).  Everything about
 * files is in ops_*.c.
 */

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "p9_internal.h"

#define	THREADS		8
#define	PROBE		32
#define	MAX_FIDS	262144
#define	MAX_XATTR	(16 * 1024 * 1024)

/* Nobody reads any more; who waits for a lock need not. */
static void
finish(struct p9 *p, struct p9_worker *w)
{

	p9_turn_end(&p->t, w);
	p9_tag_cancel(p);
}

/*
 * Tversion begins a new session: what was in flight is not answered, all
 * fids are gone.
 */
static void
version(struct p9 *p, const struct p9_msg *m)
{
	static const char mine[] = P9_VERSION;
	struct p9_msg out = { .type = P9_RVERSION, .tag = m->tag };
	uint32_t msize = m->version.msize;
	bool known;

	p9_tag_reset(p);
	p9_fid_clear(p);
	p->msize = 0;
	if (msize < P9_MSIZE_MIN) {
		out.type = P9_RLERROR;
		out.rlerror.ecode = p9_errno(EMSGSIZE);
		p9_send(p, &out);
		return;
	}
	known = m->version.version.len == sizeof(mine) - 1 &&
	    memcmp(m->version.version.s, mine, sizeof(mine) - 1) == 0;
	out.version.msize = msize < p->o.msize ? msize : p->o.msize;
	out.version.version.s = known ? mine : "unknown";
	out.version.version.len = (uint16_t)strlen(out.version.version.s);
	if (known)
		p->msize = out.version.msize;
	p9_send(p, &out);
}

static void
flush(struct p9 *p, const struct p9_msg *m)
{
	struct p9_msg out = { .type = P9_RFLUSH, .tag = m->tag };
	bool wait;
	int error;

	p->flushes++;
	error = p9_tag_flush(p, m->tag, m->tflush.oldtag, &wait);
	if (error != 0) {
		out.type = P9_RLERROR;
		out.rlerror.ecode = p9_errno(error);
	}
	if (!wait)
		p9_send(p, &out);
}

static void
refuse(struct p9 *p, struct p9_req *r, int error)
{
	struct p9_msg out = { .type = P9_RLERROR, .tag = r->in.tag };

	out.rlerror.ecode = p9_errno(error);
	p9_send(p, &out);
	p9_buf_give(p, r->big);
	r->big = NULL;
}

/* What can be decided before a request gets its tag; -1: go on. */
static int
admit(struct p9 *p, struct p9_req *r)
{
	int error;

	error = p9_decode(r->msg, r->len, &r->in);
	p->requests++;
	if (error != 0) {
		p->malformed++;
		return (error);
	}
	if (r->in.type == P9_TVERSION || r->in.type == P9_TFLUSH)
		return (-1);
	if (p9_ops[r->in.type].fn == NULL)
		return (EOPNOTSUPP);
	if (p->msize == 0)
		return (EPROTO);
	error = p9_tag_begin(p, r);
	return (error != 0 ? error : -1);
}

/*
 * Let another read before this request is done?  One that was read together
 * with more is not alone; otherwise try now and then whether there would be
 * more.
 */
static bool
pass_first(struct p9 *p, const struct p9_op *op)
{

	if (op->pace != P9_ADAPT)
		return (op->pace == P9_APART);
	if (p->in.len > 0)
		return (true);
	if (p->overlap > 0) {
		p->overlap--;
		return (true);
	}
	return (++p->probe % PROBE == 0);
}

/* One message, which has been read; the turn may be another's afterwards. */
static void
message(struct p9 *p, struct p9_worker *w)
{
	struct p9_req *r = &w->r;
	const struct p9_op *op;
	int error;

	error = admit(p, r);
	if (error >= 0) {
		refuse(p, r, error);
		return;
	}
	if (r->in.type == P9_TVERSION || r->in.type == P9_TFLUSH) {
		if (r->in.type == P9_TVERSION)
			version(p, &r->in);
		else
			flush(p, &r->in);
		p9_buf_give(p, r->big);
		r->big = NULL;
		return;
	}
	op = &p9_ops[r->in.type];
	if (pass_first(p, op))
		p9_turn_pass(&p->t, w);
	else
		p9_turn_enter(&p->t);
	error = op->fn(p, r);
	p9_reply(p, w, error);
	if (w->leading)
		p9_turn_leave(&p->t, w);
}

static void *
work(void *arg)
{
	struct p9_worker *w = arg;
	struct p9 *p = w->p;

	while (p9_turn_take(&p->t, w)) {
		while (w->leading) {
			if (!p9_input(p, w)) {
				finish(p, w);
				return (NULL);
			}
			message(p, w);
		}
	}
	return (NULL);
}

static void
set_options(struct p9 *p, const struct p9_options *o)
{
	struct p9_options *to = &p->o;

	if (o != NULL)
		*to = *o;
	if (to->msize == 0 || to->msize > P9_MSIZE_MAX)
		to->msize = P9_MSIZE_MAX;
	if (to->msize < P9_MSIZE_MIN)
		to->msize = P9_MSIZE_MIN;
	if (to->threads == 0)
		to->threads = THREADS;
	if (to->threads > P9_THREADS_MAX)
		to->threads = P9_THREADS_MAX;
	if (to->threads == 1)
		to->waiters = 0;
	else if (to->waiters == 0)
		to->waiters = to->threads;
	if (to->waiters > P9_THREADS_MAX)
		to->waiters = P9_THREADS_MAX;
	if (to->max_fids == 0)
		to->max_fids = MAX_FIDS;
	if (to->max_xattr == 0)
		to->max_xattr = MAX_XATTR;
}

static int
make_workers(struct p9 *p)
{
	uint32_t n = p->o.threads + p->o.waiters;

	for (; p->nworkers < n; p->nworkers++) {
		p->worker[p->nworkers] = calloc(1, sizeof(struct p9_worker));
		if (p->worker[p->nworkers] == NULL)
			return (ENOMEM);
		p->worker[p->nworkers]->p = p;
	}
	return (0);
}

static void
free_workers(struct p9 *p)
{

	for (uint32_t i = 0; i < p->nworkers; i++)
		free(p->worker[i]);
}

int
p9_new(struct share *s, const struct p9_options *o,
    const struct p9_stream *st, struct p9 **pp, struct co_error *e)
{
	struct p9 *p;

	p = calloc(1, sizeof(*p));
	if (p == NULL)
		goto err0;
	p->share = s;
	p->stream = *st;
	set_options(p, o);
	if (make_workers(p) != 0)
		goto err1;
	if (p9_fids_init(&p->fids, p->o.max_fids) != 0)
		goto err1;
	co_random(&p->lock_key, sizeof(p->lock_key));
	p9_turn_init(&p->t);
	pthread_mutex_init(&p->out_lock, NULL);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->drained, NULL);
	pthread_mutex_init(&p->buf_lock, NULL);
	pthread_cond_init(&p->buf_free, NULL);
	*pp = p;
	return (0);
err1:
	free_workers(p);
	free(p);
err0:
	return (co_error_errno(e, ENOMEM, "9p", "make a connection"));
}

/* Threads for all workers but the first; return how many there are. */
static int
start(struct p9 *p, uint32_t *n)
{
	sigset_t all, old;
	int error = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (*n = 1; *n < p->nworkers; ++*n) {
		error = pthread_create(&p->worker[*n]->thread, NULL, work,
		    p->worker[*n]);
		if (error != 0)
			break;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return (error);
}

int
p9_serve(struct p9 *p, struct co_error *e)
{
	uint32_t n;
	int error;

	error = start(p, &n);
	if (error != 0) {
		p9_fail(p, CO_ESYS_ERRNO, error, "start a thread");
		p9_stop(p, true);
	}
	work(p->worker[0]);
	while (n-- > 1)
		pthread_join(p->worker[n]->thread, NULL);
	p9_fid_clear(p);
	/* The end is the client's to see as soon as all is done. */
	p->stream.stop(p->stream.arg, true);
	if (!p->failed)
		return (0);
	if (e != NULL)
		*e = p->error;
	return (-1);
}

void
p9_stop(struct p9 *p, bool now)
{

	p->stopping = true;
	if (now)
		p->dead = true;
	p->stream.stop(p->stream.arg, now);
}

void
p9_free(struct p9 *p)
{

	if (p == NULL)
		return;
	if (p->stream.free != NULL)
		p->stream.free(p->stream.arg);
	p9_buf_fini(p);
	p9_fids_fini(&p->fids);
	free_workers(p);
	pthread_cond_destroy(&p->buf_free);
	pthread_mutex_destroy(&p->buf_lock);
	pthread_cond_destroy(&p->drained);
	pthread_mutex_destroy(&p->lock);
	pthread_mutex_destroy(&p->out_lock);
	p9_turn_fini(&p->t);
	free(p);
}

void
p9_stats(struct p9 *p, struct p9_stats *st)
{

	st->requests = p->requests;
	st->errors = p->errors;
	st->malformed = p->malformed;
	st->flushes = p->flushes;
	st->in_bytes = p->in_bytes;
	st->out_bytes = p->out_bytes;
	st->msize = p->msize;
	pthread_mutex_lock(&p->fids.lock);
	st->fids = p->fids.n;
	pthread_mutex_unlock(&p->fids.lock);
	pthread_mutex_lock(&p->lock);
	st->in_flight = p->in_flight;
	st->waiting = p->waiting;
	pthread_mutex_unlock(&p->lock);
}
