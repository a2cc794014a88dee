/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Requests about locks, and the end of those that wait.  An interrupt may
 * overtake the request that it is about; it is remembered then.
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "fused_internal.h"

static int
lock_in(const struct fw_lock *in, struct share_lock *l)
{

	switch (in->type) {
	case F_RDLCK:
		l->type = SHARE_RDLOCK;
		break;
	case F_WRLCK:
		l->type = SHARE_WRLOCK;
		break;
	case F_UNLCK:
		l->type = SHARE_UNLOCK;
		break;
	default:
		return (EINVAL);
	}
	l->start = in->start;
	l->end = in->end >= INT64_MAX ? UINT64_MAX : in->end;
	l->pid = in->pid;
	return (l->end < l->start ? EINVAL : 0);
}

int
fused_getlk(struct fused_req *r)
{
	const struct fw_lk_in *in = &r->a.lk;
	struct share_file *file;
	struct share_lock l;
	struct fw_lock *out;
	int error;

	if ((error = lock_in(&in->lk, &l)) != 0)
		return (error);
	if ((file = share_file_find(r->s, in->fh)) == NULL)
		return (EBADF);
	error = share_getlock(r->s, file, in->owner, &l);
	share_file_put(r->s, file);
	if (error != 0)
		return (error);
	out = fused_out(r, sizeof(*out));
	out->type = l.type == SHARE_RDLOCK ? F_RDLCK :
	    l.type == SHARE_WRLOCK ? F_WRLCK : F_UNLCK;
	out->start = l.start;
	out->end = l.end > INT64_MAX ? INT64_MAX : l.end;
	out->pid = l.pid;
	return (0);
}

/* Be known as waiting, unless the interrupt is here already. */
static int
waiting_add(struct fused *f, struct fused_waiting *w, uint64_t unique)
{
	unsigned int i;

	memset(w, 0, sizeof(*w));
	w->unique = unique;
	(void)pthread_mutex_lock(&f->lock);
	for (i = 0; i < FUSED_EARLY; i++)
		if (f->early[i] == unique && unique != 0) {
			f->early[i] = 0;
			(void)pthread_mutex_unlock(&f->lock);
			return (EINTR);
		}
	w->next = f->waiting;
	f->waiting = w;
	(void)pthread_mutex_unlock(&f->lock);
	return (0);
}

static void
waiting_remove(struct fused *f, struct fused_waiting *w)
{
	struct fused_waiting **wp;

	(void)pthread_mutex_lock(&f->lock);
	for (wp = &f->waiting; *wp != w; wp = &(*wp)->next)
		;
	*wp = w->next;
	(void)pthread_mutex_unlock(&f->lock);
}

static int
set_lock(struct fused_req *r, struct share_wait *wait)
{
	const struct fw_lk_in *in = &r->a.lk;
	struct share_file *file;
	struct share_lock l;
	int error;

	if ((error = lock_in(&in->lk, &l)) != 0)
		return (error);
	if ((file = share_file_find(r->s, in->fh)) == NULL)
		return (EBADF);
	if ((in->lk_flags & FW_LK_FLOCK) != 0)
		error = share_flock(r->s, file, in->owner, l.type, wait);
	else
		error = share_lock(r->s, file, in->owner, &l, wait);
	share_file_put(r->s, file);
	return (error);
}

int
fused_setlk(struct fused_req *r)
{

	return (set_lock(r, NULL));
}

int
fused_setlkw(struct fused_req *r)
{
	struct fused_waiting w;
	int error;

	if ((error = waiting_add(r->f, &w, r->h.unique)) != 0)
		return (error);
	error = set_lock(r, &w.wait);
	waiting_remove(r->f, &w);
	return (error);
}

int
fused_interrupt(struct fused_req *r)
{
	struct fused *f = r->f;
	struct fused_waiting *w;

	(void)pthread_mutex_lock(&f->lock);
	for (w = f->waiting; w != NULL; w = w->next)
		if (w->unique == r->a.interrupt.unique)
			break;
	if (w != NULL)
		share_cancel(r->s, &w->wait);
	else
		f->early[f->nearly++ % FUSED_EARLY] = r->a.interrupt.unique;
	(void)pthread_mutex_unlock(&f->lock);
	return (0);
}

/* Let go of everything that waits: the server is to end. */
void
fused_cancel_all(struct fused *f)
{
	struct fused_waiting *w;

	(void)pthread_mutex_lock(&f->lock);
	for (w = f->waiting; w != NULL; w = w->next)
		share_cancel(f->share, &w->wait);
	(void)pthread_mutex_unlock(&f->lock);
}
