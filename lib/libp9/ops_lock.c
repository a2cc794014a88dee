/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Record locks: Tlock, Tgetlock.  A client that wants to wait does so here,
 * in a thread that is there for it, and gets the lock when it is free; only
 * when all such threads wait is it told that the lock is taken.
 */

#include <errno.h>

#include "p9_internal.h"

static uint64_t
mix(uint64_t h)
{

	h ^= h >> 30;
	h *= 0xbf58476d1ce4e5b9;
	h ^= h >> 27;
	h *= 0x94d049bb133111eb;
	return (h ^ h >> 31);
}

/* An owner for one process of one client of this connection. */
static uint64_t
owner(const struct p9 *p, uint32_t proc, const struct p9_str *client)
{
	uint64_t h = mix(p->lock_key ^ proc);

	for (uint16_t i = 0; i < client->len; i++)
		h = mix(h + (uint8_t)client->s[i] + 1);
	return (h);
}

/* A length of 0 is up to the end of all files. */
static int
range(uint64_t start, uint64_t length, struct share_lock *l)
{

	if (start > INT64_MAX)
		return (EINVAL);
	l->start = start;
	l->end = UINT64_MAX;
	if (length == 0)
		return (0);
	if (length - 1 > INT64_MAX - start)
		return (EOVERFLOW);
	if (length - 1 < INT64_MAX - start)
		l->end = start + length - 1;
	return (0);
}

static int
lock_type(uint8_t wire, struct share_lock *l)
{

	switch (wire) {
	case P9_LOCK_RDLCK:
		l->type = SHARE_RDLOCK;
		return (0);
	case P9_LOCK_WRLCK:
		l->type = SHARE_WRLOCK;
		return (0);
	case P9_LOCK_UNLCK:
		l->type = SHARE_UNLOCK;
		return (0);
	default:
		return (EINVAL);
	}
}

static int
lock_fid(struct p9 *p, uint32_t num, struct p9_fid **f)
{
	int error;

	error = p9_fid_object(p, num, f);
	if (error == 0 && (*f)->use != P9_FILE) {
		p9_fid_put(p, *f);
		error = EBADF;
	}
	return (error);
}

/* Wait for a lock; a fid that was clunked meanwhile is not waited for. */
static int
lock_wait(struct p9 *p, struct p9_req *r, struct p9_fid *f, uint64_t who,
    const struct share_lock *l)
{
	struct p9_fid *now;
	int error;

	if (!p9_wait_begin(p, r, f))
		return (share_lock(p->share, f->file, who, l, NULL));
	error = p9_fid_get(p, f->num, &now);
	if (error == 0 && now != f)
		error = EBADF;
	if (error == 0)
		error = share_lock(p->share, f->file, who, l, &r->wait);
	p9_fid_put(p, now);
	p9_wait_end(p, r);
	return (error);
}

int
p9_op_lock(struct p9 *p, struct p9_req *r)
{
	const struct p9_msg *m = &r->in;
	struct share_lock l = { .pid = m->tlock.proc_id };
	struct p9_fid *f;
	uint64_t who;
	int error;

	error = lock_type(m->tlock.type, &l);
	if (error == 0)
		error = range(m->tlock.start, m->tlock.length, &l);
	if (error == 0 && (m->tlock.flags &
	    ~(uint32_t)(P9_LOCK_BLOCK | P9_LOCK_RECLAIM)))
		error = EINVAL;
	if (error == 0)
		error = lock_fid(p, m->tlock.fid, &f);
	if (error != 0)
		return (error);
	who = owner(p, m->tlock.proc_id, &m->tlock.client_id);
	if ((m->tlock.flags & P9_LOCK_BLOCK) && l.type != SHARE_UNLOCK)
		error = lock_wait(p, r, f, who, &l);
	else
		error = share_lock(p->share, f->file, who, &l, NULL);
	p9_fid_put(p, f);
	r->out.rlock.status = P9_LOCK_SUCCESS;
	if (error == EAGAIN || error == EACCES) {
		r->out.rlock.status = P9_LOCK_BLOCKED;
		error = 0;
	}
	return (error);
}

int
p9_op_getlock(struct p9 *p, struct p9_req *r)
{
	const struct p9_msg *m = &r->in;
	struct share_lock l = { .pid = m->getlock.proc_id };
	struct p9_fid *f;
	int error;

	error = lock_type(m->getlock.type, &l);
	if (error == 0)
		error = range(m->getlock.start, m->getlock.length, &l);
	if (error == 0)
		error = lock_fid(p, m->getlock.fid, &f);
	if (error != 0)
		return (error);
	error = share_getlock(p->share, f->file,
	    owner(p, m->getlock.proc_id, &m->getlock.client_id), &l);
	p9_fid_put(p, f);
	if (error != 0)
		return (error);
	r->out.getlock = m->getlock;
	if (l.type == SHARE_UNLOCK) {
		r->out.getlock.type = P9_LOCK_UNLCK;
		return (0);
	}
	r->out.getlock.type = l.type == SHARE_RDLOCK ? P9_LOCK_RDLCK :
	    P9_LOCK_WRLCK;
	r->out.getlock.start = l.start;
	r->out.getlock.length = l.end == UINT64_MAX ? 0 :
	    l.end - l.start + 1;
	r->out.getlock.proc_id = l.pid;
	return (0);
}
