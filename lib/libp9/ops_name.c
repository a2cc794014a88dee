/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Requests that make, move and remove names: Tmkdir, Tmknod, Tsymlink, Tlink,
 * Trename, Trenameat, Tunlinkat, Tremove.
 */

#include <sys/stat.h>

#include <errno.h>
#include <string.h>

#include "p9_internal.h"

/* A directory's fid and a name in it, as most of these requests have. */
static int
dir_name(struct p9 *p, uint32_t fid, const struct p9_str *s,
    struct p9_fid **f, char name[SHARE_NAME_MAX + 1])
{
	int error;

	error = p9_name(s, name);
	if (error == 0)
		error = p9_fid_object(p, fid, f);
	return (error);
}

/* After something was made: its qid, and no reference. */
static int
made(struct p9 *p, struct p9_req *r, struct p9_fid *dir, int error,
    struct share_node *n, const struct share_attr *a)
{

	if (error == 0) {
		p9_qid_of(a, &r->out.rqid.qid);
		share_put(p->share, n);
	}
	p9_fid_put(p, dir);
	return (error);
}

int
p9_op_mkdir(struct p9 *p, struct p9_req *r)
{
	const struct p9_msg *m = &r->in;
	char name[SHARE_NAME_MAX + 1];
	struct share_node *n = NULL;
	struct share_attr a;
	struct share_cred c;
	struct p9_fid *dir;
	int error;

	error = dir_name(p, m->tmkdir.dfid, &m->tmkdir.name, &dir, name);
	if (error != 0)
		return (error);
	c = p9_cred_gid(dir, m->tmkdir.gid);
	error = share_mkdir(p->share, &c, dir->node, name,
	    m->tmkdir.mode & 07777, &n, &a);
	return (made(p, r, dir, error, n, &a));
}

int
p9_op_mknod(struct p9 *p, struct p9_req *r)
{
	const struct p9_msg *m = &r->in;
	char name[SHARE_NAME_MAX + 1];
	struct share_node *n = NULL;
	struct share_attr a;
	struct share_cred c;
	struct p9_fid *dir;
	int error;

	error = dir_name(p, m->tmknod.dfid, &m->tmknod.name, &dir, name);
	if (error != 0)
		return (error);
	c = p9_cred_gid(dir, m->tmknod.gid);
	error = share_mknod(p->share, &c, dir->node, name, m->tmknod.mode,
	    m->tmknod.major, m->tmknod.minor, &n, &a);
	return (made(p, r, dir, error, n, &a));
}

static int
target_of(const struct p9_str *s, char target[P9_TARGET_MAX])
{

	if (s->len == 0)
		return (ENOENT);
	if (s->len >= P9_TARGET_MAX)
		return (ENAMETOOLONG);
	if (memchr(s->s, '\0', s->len) != NULL)
		return (EINVAL);
	memcpy(target, s->s, s->len);
	target[s->len] = '\0';
	return (0);
}

int
p9_op_symlink(struct p9 *p, struct p9_req *r)
{
	const struct p9_msg *m = &r->in;
	char name[SHARE_NAME_MAX + 1], target[P9_TARGET_MAX];
	struct share_node *n = NULL;
	struct share_attr a;
	struct share_cred c;
	struct p9_fid *dir;
	int error;

	error = target_of(&m->tsymlink.symtgt, target);
	if (error == 0)
		error = dir_name(p, m->tsymlink.fid, &m->tsymlink.name, &dir,
		    name);
	if (error != 0)
		return (error);
	c = p9_cred_gid(dir, m->tsymlink.gid);
	error = share_symlink(p->share, &c, dir->node, name, target, &n, &a);
	return (made(p, r, dir, error, n, &a));
}

int
p9_op_link(struct p9 *p, struct p9_req *r)
{
	const struct p9_msg *m = &r->in;
	char name[SHARE_NAME_MAX + 1];
	struct p9_fid *dir, *f;
	struct share_attr a;
	struct share_cred c;
	int error;

	error = dir_name(p, m->tlink.dfid, &m->tlink.name, &dir, name);
	if (error != 0)
		return (error);
	error = p9_fid_object(p, m->tlink.fid, &f);
	if (error != 0)
		goto out0;
	c = p9_cred(dir);
	error = share_link(p->share, &c, f->node, dir->node, name, &a);
	if (error == 0)
		share_put(p->share, f->node);
	p9_fid_put(p, f);
out0:
	p9_fid_put(p, dir);
	return (error);
}

int
p9_op_renameat(struct p9 *p, struct p9_req *r)
{
	const struct p9_msg *m = &r->in;
	char name[SHARE_NAME_MAX + 1], toname[SHARE_NAME_MAX + 1];
	struct p9_fid *dir, *todir;
	struct share_cred c;
	int error;

	error = dir_name(p, m->trenameat.olddirfid, &m->trenameat.oldname,
	    &dir, name);
	if (error != 0)
		return (error);
	error = dir_name(p, m->trenameat.newdirfid, &m->trenameat.newname,
	    &todir, toname);
	if (error != 0)
		goto out0;
	c = p9_cred(dir);
	error = share_rename(p->share, &c, dir->node, name, todir->node,
	    toname, 0);
	p9_fid_put(p, todir);
out0:
	p9_fid_put(p, dir);
	return (error);
}

int
p9_op_unlinkat(struct p9 *p, struct p9_req *r)
{
	const struct p9_msg *m = &r->in;
	char name[SHARE_NAME_MAX + 1];
	struct share_cred c;
	struct p9_fid *dir;
	int error;

	if (m->tunlinkat.flags & ~(uint32_t)P9_AT_REMOVEDIR)
		return (EINVAL);
	error = dir_name(p, m->tunlinkat.dirfid, &m->tunlinkat.name, &dir,
	    name);
	if (error != 0)
		return (error);
	c = p9_cred(dir);
	if (m->tunlinkat.flags & P9_AT_REMOVEDIR)
		error = share_rmdir(p->share, &c, dir->node, name);
	else
		error = share_unlink(p->share, &c, dir->node, name);
	p9_fid_put(p, dir);
	return (error);
}

/*
 * The name of a fid's object: the one it was walked to by, if that still is
 * its name, else the one that it was seen by last.
 */
static int
name_of(struct p9 *p, const struct p9_fid *f, struct share_node **dir,
    char name[SHARE_NAME_MAX + 1])
{
	struct share_cred c = p9_cred(f);
	struct share_node *n;
	struct share_attr a;

	if (f->dir != NULL && share_lookup(p->share, &c, f->dir, f->name, &n,
	    &a) == 0) {
		share_put(p->share, n);
		if (n == f->node) {
			share_hold(f->dir);
			*dir = f->dir;
			strcpy(name, f->name);
			return (0);
		}
	}
	return (share_name(p->share, f->node, dir, name));
}

int
p9_op_rename(struct p9 *p, struct p9_req *r)
{
	const struct p9_msg *m = &r->in;
	char name[SHARE_NAME_MAX + 1], toname[SHARE_NAME_MAX + 1];
	struct p9_fid *f, *todir;
	struct share_node *dir;
	struct share_cred c;
	int error;

	error = dir_name(p, m->trename.dfid, &m->trename.name, &todir,
	    toname);
	if (error != 0)
		return (error);
	error = p9_fid_object(p, m->trename.fid, &f);
	if (error != 0)
		goto out0;
	c = p9_cred(f);
	error = name_of(p, f, &dir, name);
	if (error != 0)
		goto out1;
	error = share_rename(p->share, &c, dir, name, todir->node, toname, 0);
	share_put(p->share, dir);
out1:
	p9_fid_put(p, f);
out0:
	p9_fid_put(p, todir);
	return (error);
}

/* The fid is gone in any case. */
int
p9_op_remove(struct p9 *p, struct p9_req *r)
{
	char name[SHARE_NAME_MAX + 1];
	struct share_node *dir;
	struct share_cred c;
	struct p9_fid *f;
	int error;

	error = p9_fid_take(p, r->in.tremove.fid, &f);
	if (error != 0)
		return (error);
	p9_tag_clunk(p, f);
	c = p9_cred(f);
	error = f->use >= P9_XREAD ? EBADF : name_of(p, f, &dir, name);
	if (error == 0) {
		if (S_ISDIR(share_type(f->node)))
			error = share_rmdir(p->share, &c, dir, name);
		else
			error = share_unlink(p->share, &c, dir, name);
		share_put(p->share, dir);
	}
	p9_fid_put(p, f);
	return (error);
}
