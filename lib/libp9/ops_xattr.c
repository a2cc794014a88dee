/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Extended attributes.  A Txattrwalk reads a value, or the list of names, at
 * once, and its fid gives it out; a Txattrcreate collects one in its fid,
 * and the clunk sets it.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "p9_internal.h"

/* Memory for a value, as far as the connection may have it. */
static int
xattr_new(struct p9 *p, uint32_t size, const char *name,
    struct p9_xattr **xattr)
{
	uint32_t cost = size + (uint32_t)sizeof(struct p9_xattr);
	struct p9_xattr *x;

	if (atomic_fetch_add(&p->xattr_bytes, cost) + cost > p->o.max_xattr)
		goto err0;
	x = calloc(1, sizeof(*x) + size);
	if (x == NULL)
		goto err0;
	pthread_mutex_init(&x->lock, NULL);
	x->size = size;
	strcpy(x->name, name);
	*xattr = x;
	return (0);
err0:
	atomic_fetch_sub(&p->xattr_bytes, cost);
	return (ENOMEM);
}

void
p9_xattr_free(struct p9 *p, struct p9_xattr *x)
{

	if (x == NULL)
		return;
	atomic_fetch_sub(&p->xattr_bytes,
	    x->size + (uint32_t)sizeof(struct p9_xattr));
	pthread_mutex_destroy(&x->lock);
	free(x);
}

/* The name of an attribute has no slash to fear, but is one string. */
static int
xattr_name(const struct p9_str *s, char name[SHARE_NAME_MAX + 1])
{

	if (s->len > SHARE_NAME_MAX)
		return (ERANGE);
	if (s->len > 0 && memchr(s->s, '\0', s->len) != NULL)
		return (EINVAL);
	if (s->len > 0)
		memcpy(name, s->s, s->len);
	name[s->len] = '\0';
	return (0);
}

/* No name: the list of names. */
static int
ask(struct p9 *p, const struct p9_fid *f, const char *name, void *to,
    size_t size, size_t *len)
{
	struct share_cred c = p9_cred(f);

	if (name[0] == '\0')
		return (share_listxattr(p->share, &c, f->node, to, size,
		    len));
	return (share_getxattr(p->share, &c, f->node, name, to, size, len));
}

/* It may grow between the two questions, but not for ever. */
static int
xattr_get(struct p9 *p, const struct p9_fid *f, const char *name,
    struct p9_xattr **xattr)
{
	struct p9_xattr *x;
	size_t len;
	int error = ERANGE;

	for (int i = 0; error == ERANGE && i < 8; i++) {
		error = ask(p, f, name, NULL, 0, &len);
		if (error != 0)
			return (error);
		if (len > P9_XATTR_MAX)
			return (E2BIG);
		error = xattr_new(p, (uint32_t)len, name, &x);
		if (error != 0)
			return (error);
		if (len > 0)
			error = ask(p, f, name, x->data, len, &len);
		if (error == 0) {
			x->done = (uint32_t)len;
			*xattr = x;
		} else
			p9_xattr_free(p, x);
	}
	return (error);
}

static int
xattrwalk(struct p9 *p, struct p9_fid *f, const struct p9_msg *m,
    uint64_t *size)
{
	char name[SHARE_NAME_MAX + 1];
	struct p9_xattr *x;
	struct p9_fid *to;
	int error;

	if (p9_fid_known(p, m->txattrwalk.newfid))
		return (EBADF);
	error = xattr_name(&m->txattrwalk.name, name);
	if (error == 0)
		error = xattr_get(p, f, name, &x);
	if (error != 0)
		return (error);
	error = p9_fid_new(m->txattrwalk.newfid, f->uid, f->root, f->node,
	    NULL, NULL, &to);
	if (error != 0) {
		p9_xattr_free(p, x);
		return (error);
	}
	*size = x->done;
	to->use = P9_XREAD;
	to->xattr = x;
	error = p9_fid_add(p, to);
	p9_fid_put(p, to);
	return (error);
}

int
p9_op_xattrwalk(struct p9 *p, struct p9_req *r)
{
	struct p9_fid *f;
	int error;

	error = p9_fid_object(p, r->in.txattrwalk.fid, &f);
	if (error != 0)
		return (error);
	error = xattrwalk(p, f, &r->in, &r->out.rxattrwalk.size);
	p9_fid_put(p, f);
	return (error);
}

static int
xattrcreate(struct p9 *p, struct p9_fid *f, const struct p9_msg *m)
{
	char name[SHARE_NAME_MAX + 1];
	struct p9_xattr *x;
	struct p9_fid *to;
	int error;

	if (f->use != P9_PLAIN)
		return (EBADF);
	if (m->txattrcreate.attr_size > P9_XATTR_MAX)
		return (E2BIG);
	if (m->txattrcreate.name.len == 0 || (m->txattrcreate.flags &
	    ~(uint32_t)(P9_XATTR_CREATE | P9_XATTR_REPLACE)))
		return (EINVAL);
	error = xattr_name(&m->txattrcreate.name, name);
	if (error == 0)
		error = xattr_new(p, (uint32_t)m->txattrcreate.attr_size,
		    name, &x);
	if (error != 0)
		return (error);
	x->flags = m->txattrcreate.flags;
	error = p9_fid_new(f->num, f->uid, f->root, f->node, NULL, NULL, &to);
	if (error != 0) {
		p9_xattr_free(p, x);
		return (error);
	}
	to->use = P9_XWRITE;
	to->xattr = x;
	error = p9_fid_replace(p, f, to);
	p9_fid_put(p, to);
	return (error);
}

int
p9_op_xattrcreate(struct p9 *p, struct p9_req *r)
{
	struct p9_fid *f;
	int error;

	error = p9_fid_object(p, r->in.txattrcreate.fid, &f);
	if (error != 0)
		return (error);
	error = xattrcreate(p, f, &r->in);
	p9_fid_put(p, f);
	return (error);
}

int
p9_xattr_read(struct p9_fid *f, uint64_t off, uint8_t *to, uint32_t want,
    uint32_t *count)
{
	const struct p9_xattr *x = f->xattr;
	uint32_t n = 0;

	if (off < x->done) {
		n = x->done - (uint32_t)off;
		if (n > want)
			n = want;
		memcpy(to, x->data + off, n);
	}
	*count = n;
	return (0);
}

/* Pieces come in order, as a client has no reason to do otherwise. */
int
p9_xattr_write(struct p9_fid *f, uint64_t off, const void *from, uint32_t n)
{
	struct p9_xattr *x = f->xattr;
	int error = 0;

	pthread_mutex_lock(&x->lock);
	if (off > x->size || n > x->size - off)
		error = ENOSPC;
	else if (off > x->done)
		error = EINVAL;
	else {
		if (n > 0)
			memcpy(x->data + off, from, n);
		if (off + n > x->done)
			x->done = (uint32_t)off + n;
	}
	pthread_mutex_unlock(&x->lock);
	return (error);
}

/*
 * Linux removes an attribute by replacing it with nothing; nothing without
 * that flag is an empty value.
 */
int
p9_xattr_commit(struct p9 *p, struct p9_fid *f)
{
	struct share_cred c = p9_cred(f);
	struct p9_xattr *x = f->xattr;
	uint32_t flags = 0;
	int error;

	pthread_mutex_lock(&x->lock);
	if (x->done != x->size)
		error = EINVAL;
	else if (x->size == 0 && (x->flags & P9_XATTR_REPLACE))
		error = share_removexattr(p->share, &c, f->node, x->name);
	else {
		if (x->flags & P9_XATTR_CREATE)
			flags |= SHARE_X_CREATE;
		if (x->flags & P9_XATTR_REPLACE)
			flags |= SHARE_X_REPLACE;
		error = share_setxattr(p->share, &c, f->node, x->name,
		    x->data, x->size, flags);
	}
	pthread_mutex_unlock(&x->lock);
	return (error);
}
