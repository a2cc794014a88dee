/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Requests that make and end fids: Tattach, Tauth, Twalk, Tclunk.
 */

#include <sys/stat.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "p9_internal.h"

/*
 * There is nobody to authenticate to: who has the stream has the folder.
 * This error is how diod's clients are told to go on without.
 */
int
p9_op_auth(struct p9 *p, struct p9_req *r)
{

	(void)p;
	(void)r;
	return (ENOENT);
}

/* The number of a user; names mean nothing here but root's. */
static uint32_t
user(const struct p9_msg *m)
{
	const struct p9_str *s = &m->tattach.uname;
	uint64_t n = 0;

	if (m->tattach.n_uname != P9_NOUID)
		return (m->tattach.n_uname);
	if (s->len == 4 && memcmp(s->s, "root", 4) == 0)
		return (0);
	for (uint16_t i = 0; i < s->len; i++) {
		if (s->s[i] < '0' || s->s[i] > '9')
			return (SHARE_ID_NOBODY);
		n = n * 10 + (uint64_t)(s->s[i] - '0');
		if (n >= UINT32_MAX)
			return (SHARE_ID_NOBODY);
	}
	return (s->len == 0 ? SHARE_ID_NOBODY : (uint32_t)n);
}

/* One step down the path of an attach, which is plain names only. */
static int
descend(struct p9 *p, const struct share_cred *c, const struct p9_str *s,
    struct share_node **n, struct share_attr *a)
{
	char name[SHARE_NAME_MAX + 1];
	struct share_node *next;
	int error;

	error = p9_name(s, name);
	if (error == 0 && (strcmp(name, ".") == 0 || strcmp(name, "..") == 0))
		error = EINVAL;
	if (error == 0)
		error = share_lookup(p->share, c, *n, name, &next, a);
	if (error != 0)
		return (error);
	share_put(p->share, *n);
	*n = next;
	return (S_ISDIR(a->mode) ? 0 : ENOTDIR);
}

/* The directory that aname names: "", "/" or a path below the root. */
static int
find_root(struct p9 *p, const struct share_cred *c,
    const struct p9_str *aname, struct share_node **node,
    struct share_attr *a)
{
	const char *s = aname->s, *end = aname->s + aname->len;
	struct share_node *n = share_root(p->share);
	struct p9_str part;
	const char *slash;
	int error;

	error = share_getattr(p->share, n, NULL, a);
	while (error == 0 && s < end) {
		slash = memchr(s, '/', (size_t)(end - s));
		if (slash == NULL)
			slash = end;
		part.s = s;
		part.len = (uint16_t)(slash - s);
		if (part.len > 0)
			error = descend(p, c, &part, &n, a);
		s = slash == end ? end : slash + 1;
	}
	if (error != 0)
		share_put(p->share, n);
	else
		*node = n;
	return (error);
}

int
p9_op_attach(struct p9 *p, struct p9_req *r)
{
	const struct p9_msg *m = &r->in;
	struct share_cred c = { .uid = user(m), .gid = user(m) };
	struct share_node *n;
	struct share_attr a;
	struct p9_fid *f;
	int error;

	if (m->tattach.afid != P9_NOFID)
		return (EINVAL);
	error = find_root(p, &c, &m->tattach.aname, &n, &a);
	if (error != 0)
		return (error);
	error = p9_fid_new(m->tattach.fid, c.uid, share_number(n), n, NULL,
	    NULL, &f);
	share_put(p->share, n);
	if (error != 0)
		return (error);
	error = p9_fid_add(p, f);
	p9_fid_put(p, f);
	if (error == 0)
		p9_qid_of(&a, &r->out.rqid.qid);
	return (error);
}

/* Where a walk has come to: a node, and where that was found. */
struct place {
	struct share_node	*node;
	struct share_node	*dir;
	char			 name[SHARE_NAME_MAX + 1];
};

static void
leave(struct p9 *p, struct place *w)
{

	share_put(p->share, w->node);
	share_put(p->share, w->dir);
}

static int
step(struct p9 *p, const struct p9_fid *from, const struct p9_str *s,
    struct place *w, struct p9_qid *qid)
{
	struct share_cred c = p9_cred(from);
	char name[SHARE_NAME_MAX + 1];
	struct share_node *next;
	struct share_attr a;
	int error;

	error = p9_name(s, name);
	if (error != 0)
		return (error);
	if (strcmp(name, "..") == 0 && share_number(w->node) == from->root)
		strcpy(name, ".");
	error = share_lookup(p->share, &c, w->node, name, &next, &a);
	if (error != 0)
		return (error);
	p9_qid_of(&a, qid);
	share_put(p->share, w->dir);
	if (name[0] == '.' && (name[1] == '\0' || strcmp(name, "..") == 0)) {
		share_put(p->share, w->node);
		w->dir = NULL;
	} else {
		w->dir = w->node;
		memcpy(w->name, name, sizeof(name));
	}
	w->node = next;
	return (0);
}

/* Enter the end of a walk as newfid. */
static int
arrive(struct p9 *p, struct p9_fid *from, uint32_t newfid,
    const struct place *w)
{
	struct p9_fid *f;
	int error;

	error = p9_fid_new(newfid, from->uid, from->root, w->node, w->dir,
	    w->name, &f);
	if (error != 0)
		return (error);
	if (newfid == from->num)
		error = p9_fid_replace(p, from, f);
	else
		error = p9_fid_add(p, f);
	p9_fid_put(p, f);
	return (error);
}

static int
walk(struct p9 *p, struct p9_fid *from, const struct p9_msg *m,
    struct p9_qids *qids)
{
	const struct p9_names *names = &m->twalk.wname;
	struct place w = { .node = from->node, .dir = from->dir };
	int error = 0;

	if (from->use != P9_PLAIN && m->twalk.newfid == m->twalk.fid)
		return (EBADF);
	if (m->twalk.newfid != m->twalk.fid &&
	    p9_fid_known(p, m->twalk.newfid))
		return (EBADF);
	share_hold(w.node);
	if (w.dir != NULL) {
		share_hold(w.dir);
		strcpy(w.name, from->name);
	}
	qids->n = 0;
	while (error == 0 && qids->n < names->n) {
		error = step(p, from, &names->name[qids->n], &w,
		    &qids->qid[qids->n]);
		if (error == 0)
			qids->n++;
	}
	if (error == 0)
		error = arrive(p, from, m->twalk.newfid, &w);
	else if (qids->n > 0)
		error = 0;	/* a partial walk makes no fid */
	leave(p, &w);
	return (error);
}

int
p9_op_walk(struct p9 *p, struct p9_req *r)
{
	struct p9_fid *from;
	int error;

	error = p9_fid_object(p, r->in.twalk.fid, &from);
	if (error != 0)
		return (error);
	error = walk(p, from, &r->in, &r->out.rwalk.wqid);
	p9_fid_put(p, from);
	return (error);
}

/* Also ends what waits for a lock by this fid. */
int
p9_op_clunk(struct p9 *p, struct p9_req *r)
{
	struct p9_fid *f;
	int error;

	error = p9_fid_take(p, r->in.tclunk.fid, &f);
	if (error != 0)
		return (error);
	p9_tag_clunk(p, f);
	if (f->use == P9_XWRITE)
		error = p9_xattr_commit(p, f);
	p9_fid_put(p, f);
	return (error);
}
