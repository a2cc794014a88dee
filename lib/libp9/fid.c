/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Fids: the client's names for objects.  Handlers get a reference, use the
 * fid without a lock and put it back; the last one to do so releases what it
 * stands for, outside of the table's lock.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "p9_internal.h"

#define	BUCKETS_MIN	64

static struct p9_fid **
slot(struct p9_fids *t, uint32_t num)
{
	struct p9_fid **f;

	f = &t->bucket[(num * 2654435769u >> 7) & (t->nbuckets - 1)];
	while (*f != NULL && (*f)->num != num)
		f = &(*f)->next;
	return (f);
}

/* A table that can't grow gets slower, nothing else. */
static void
grow(struct p9_fids *t)
{
	struct p9_fids bigger = *t;
	struct p9_fid *f, **to;

	bigger.nbuckets = t->nbuckets * 2;
	bigger.bucket = calloc(bigger.nbuckets, sizeof(*bigger.bucket));
	if (bigger.bucket == NULL)
		return;
	for (uint32_t i = 0; i < t->nbuckets; i++)
		while ((f = t->bucket[i]) != NULL) {
			t->bucket[i] = f->next;
			to = slot(&bigger, f->num);
			f->next = *to;
			*to = f;
		}
	free(t->bucket);
	t->bucket = bigger.bucket;
	t->nbuckets = bigger.nbuckets;
}

int
p9_fids_init(struct p9_fids *t, uint32_t max)
{

	t->bucket = calloc(BUCKETS_MIN, sizeof(*t->bucket));
	if (t->bucket == NULL)
		return (ENOMEM);
	t->nbuckets = BUCKETS_MIN;
	t->n = 0;
	t->max = max;
	pthread_mutex_init(&t->lock, NULL);
	return (0);
}

void
p9_fids_fini(struct p9_fids *t)
{

	pthread_mutex_destroy(&t->lock);
	free(t->bucket);
}

void
p9_fid_clear(struct p9 *p)
{
	struct p9_fids *t = &p->fids;
	struct p9_fid *f, *all = NULL;

	pthread_mutex_lock(&t->lock);
	for (uint32_t i = 0; i < t->nbuckets; i++)
		while ((f = t->bucket[i]) != NULL) {
			t->bucket[i] = f->next;
			f->next = all;
			all = f;
		}
	t->n = 0;
	pthread_mutex_unlock(&t->lock);
	while ((f = all) != NULL) {
		all = f->next;
		p9_fid_put(p, f);
	}
}

int
p9_fid_new(uint32_t num, uint32_t uid, uint64_t root, struct share_node *node,
    struct share_node *dir, const char *name, struct p9_fid **fid)
{
	size_t len = dir == NULL ? 0 : strlen(name);
	struct p9_fid *f;

	f = malloc(sizeof(*f) + len + 1);
	if (f == NULL)
		return (ENOMEM);
	memset(f, 0, sizeof(*f));
	atomic_init(&f->refs, 1);
	f->num = num;
	f->uid = uid;
	f->root = root;
	f->node = node;
	share_hold(node);
	f->dir = dir;
	if (dir != NULL) {
		share_hold(dir);
		memcpy(f->name, name, len);
	}
	f->name[len] = '\0';
	*fid = f;
	return (0);
}

int
p9_fid_get(struct p9 *p, uint32_t num, struct p9_fid **fid)
{
	struct p9_fid *f;

	pthread_mutex_lock(&p->fids.lock);
	f = *slot(&p->fids, num);
	if (f != NULL)
		atomic_fetch_add(&f->refs, 1);
	pthread_mutex_unlock(&p->fids.lock);
	*fid = f;
	return (f == NULL ? EBADF : 0);
}

int
p9_fid_object(struct p9 *p, uint32_t num, struct p9_fid **fid)
{
	int error;

	error = p9_fid_get(p, num, fid);
	if (error == 0 && (*fid)->use >= P9_XREAD) {
		p9_fid_put(p, *fid);
		error = EBADF;
	}
	return (error);
}

void
p9_fid_put(struct p9 *p, struct p9_fid *f)
{

	if (f == NULL || atomic_fetch_sub(&f->refs, 1) != 1)
		return;
	switch (f->use) {
	case P9_PLAIN:
		break;
	case P9_FILE:
		share_file_close(p->share, f->file);
		break;
	case P9_DIR:
		share_dir_close(p->share, f->stream);
		break;
	case P9_XREAD:
	case P9_XWRITE:
		p9_xattr_free(p, f->xattr);
		break;
	}
	share_put(p->share, f->node);
	share_put(p->share, f->dir);
	free(f);
}

int
p9_fid_add(struct p9 *p, struct p9_fid *f)
{
	struct p9_fids *t = &p->fids;
	struct p9_fid **s;
	int error = 0;

	pthread_mutex_lock(&t->lock);
	s = slot(t, f->num);
	if (*s != NULL || f->num == P9_NOFID)
		error = EBADF;
	else if (t->n >= t->max)
		error = ENFILE;
	else {
		atomic_fetch_add(&f->refs, 1);
		f->next = NULL;
		*s = f;
		if (++t->n > t->nbuckets * 2)
			grow(t);
	}
	pthread_mutex_unlock(&t->lock);
	return (error);
}

int
p9_fid_replace(struct p9 *p, struct p9_fid *old, struct p9_fid *f)
{
	struct p9_fid **s;
	int error = 0;

	pthread_mutex_lock(&p->fids.lock);
	s = slot(&p->fids, old->num);
	if (*s != old)
		error = EBADF;
	else {
		atomic_fetch_add(&f->refs, 1);
		f->next = old->next;
		*s = f;
	}
	pthread_mutex_unlock(&p->fids.lock);
	if (error == 0)
		p9_fid_put(p, old);
	return (error);
}

int
p9_fid_take(struct p9 *p, uint32_t num, struct p9_fid **fid)
{
	struct p9_fid **s, *f;

	pthread_mutex_lock(&p->fids.lock);
	s = slot(&p->fids, num);
	f = *s;
	if (f != NULL) {
		*s = f->next;
		p->fids.n--;
	}
	pthread_mutex_unlock(&p->fids.lock);
	*fid = f;
	return (f == NULL ? EBADF : 0);
}

bool
p9_fid_known(struct p9 *p, uint32_t num)
{
	bool known;

	pthread_mutex_lock(&p->fids.lock);
	known = *slot(&p->fids, num) != NULL;
	pthread_mutex_unlock(&p->fids.lock);
	return (known);
}
