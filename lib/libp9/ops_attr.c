/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Requests about attributes: Tgetattr, Tsetattr, Tstatfs, Treadlink.
 */

#include <errno.h>
#include <string.h>

#include "p9_internal.h"

#define	V9FS_MAGIC	0x01021997	/* for hosts without f_type */

/* Linux's own encoding of a device number, in which clients read it. */
static uint64_t
encode_dev(uint32_t maj, uint32_t min)
{

	return ((min & 0xff) | (uint64_t)(maj & 0xfff) << 8 |
	    (uint64_t)(min & ~0xffu) << 12);
}

static struct share_file *
file_of(const struct p9_fid *f)
{

	return (f->use == P9_FILE ? f->file : NULL);
}

static void
fill_times(const struct share_attr *a, struct p9_msg *m)
{

	m->rgetattr.atime_sec = (uint64_t)a->atime.tv_sec;
	m->rgetattr.atime_nsec = (uint64_t)a->atime.tv_nsec;
	m->rgetattr.mtime_sec = (uint64_t)a->mtime.tv_sec;
	m->rgetattr.mtime_nsec = (uint64_t)a->mtime.tv_nsec;
	m->rgetattr.ctime_sec = (uint64_t)a->ctime.tv_sec;
	m->rgetattr.ctime_nsec = (uint64_t)a->ctime.tv_nsec;
	if (a->btime_valid) {
		m->rgetattr.btime_sec = (uint64_t)a->btime.tv_sec;
		m->rgetattr.btime_nsec = (uint64_t)a->btime.tv_nsec;
	}
}

static void
fill_attr(const struct share_attr *a, uint64_t mask, struct p9_msg *m)
{

	memset(&m->rgetattr, 0, sizeof(m->rgetattr));
	m->rgetattr.valid = P9_GETATTR_BASIC;
	if (a->btime_valid)
		m->rgetattr.valid |= mask & P9_GETATTR_BTIME;
	m->rgetattr.valid |= mask & P9_GETATTR_DATA_VERSION;
	p9_qid_of(a, &m->rgetattr.qid);
	m->rgetattr.mode = a->mode;
	m->rgetattr.uid = a->uid;
	m->rgetattr.gid = a->gid;
	m->rgetattr.nlink = a->nlink;
	m->rgetattr.rdev = encode_dev(a->rdev_major, a->rdev_minor);
	m->rgetattr.size = a->size;
	m->rgetattr.blksize = a->blksize;
	m->rgetattr.blocks = a->blocks;
	m->rgetattr.data_version = a->version;
	fill_times(a, m);
}

int
p9_op_getattr(struct p9 *p, struct p9_req *r)
{
	struct share_attr a;
	struct p9_fid *f;
	int error;

	error = p9_fid_object(p, r->in.tgetattr.fid, &f);
	if (error != 0)
		return (error);
	error = share_getattr(p->share, f->node, file_of(f), &a);
	p9_fid_put(p, f);
	if (error == 0)
		fill_attr(&a, r->in.tgetattr.request_mask, &r->out);
	return (error);
}

static int
set_time(uint32_t valid, uint32_t now, uint32_t given, uint64_t sec,
    uint64_t nsec, uint32_t set_now, uint32_t set, struct timespec *ts,
    uint32_t *flags)
{

	if ((valid & now) == 0)
		return (0);
	if ((valid & given) == 0) {
		*flags |= set_now;
		return (0);
	}
	if (nsec > 999999999)
		return (EINVAL);
	ts->tv_sec = (time_t)sec;
	ts->tv_nsec = (long)nsec;
	*flags |= set;
	return (0);
}

static int
decode_setattr(const struct p9_msg *m, struct share_setattr *s)
{
	uint32_t v = m->tsetattr.valid;
	int error;

	memset(s, 0, sizeof(*s));
	if (v & ~(uint32_t)P9_SETATTR_ALL)
		return (EINVAL);
	if ((v & P9_SETATTR_SIZE) && m->tsetattr.size > INT64_MAX)
		return (EFBIG);
	s->set = (v & P9_SETATTR_MODE ? SHARE_SET_MODE : 0u) |
	    (v & P9_SETATTR_UID ? SHARE_SET_UID : 0u) |
	    (v & P9_SETATTR_GID ? SHARE_SET_GID : 0u) |
	    (v & P9_SETATTR_SIZE ? SHARE_SET_SIZE : 0u) |
	    (v & P9_SETATTR_CTIME ? SHARE_SET_CTIME : 0u);
	s->mode = m->tsetattr.mode & 07777;
	s->uid = m->tsetattr.uid;
	s->gid = m->tsetattr.gid;
	s->size = m->tsetattr.size;
	error = set_time(v, P9_SETATTR_ATIME, P9_SETATTR_ATIME_SET,
	    m->tsetattr.atime_sec, m->tsetattr.atime_nsec,
	    SHARE_SET_ATIME_NOW, SHARE_SET_ATIME, &s->atime, &s->set);
	if (error == 0)
		error = set_time(v, P9_SETATTR_MTIME, P9_SETATTR_MTIME_SET,
		    m->tsetattr.mtime_sec, m->tsetattr.mtime_nsec,
		    SHARE_SET_MTIME_NOW, SHARE_SET_MTIME, &s->mtime,
		    &s->set);
	return (error);
}

int
p9_op_setattr(struct p9 *p, struct p9_req *r)
{
	struct share_setattr s;
	struct share_cred c;
	struct share_file *file;
	struct p9_fid *f;
	int error;

	error = decode_setattr(&r->in, &s);
	if (error == 0)
		error = p9_fid_object(p, r->in.tsetattr.fid, &f);
	if (error != 0)
		return (error);
	c = p9_cred(f);
	/* A size goes through the file only if that is open for it. */
	file = file_of(f);
	if (file != NULL && (share_file_flags(file) & SHARE_O_WRITE) == 0)
		file = NULL;
	if ((s.set & SHARE_SET_SIZE) && c.uid != 0)
		s.set |= SHARE_SET_KILL;
	error = share_setattr(p->share, &c, f->node, file, &s, NULL);
	p9_fid_put(p, f);
	return (error);
}

int
p9_op_statfs(struct p9 *p, struct p9_req *r)
{
	struct p9_msg *m = &r->out;
	struct share_statfs s;
	struct p9_fid *f;
	int error;

	error = p9_fid_object(p, r->in.tstatfs.fid, &f);
	if (error != 0)
		return (error);
	error = share_statfs(p->share, f->node, &s);
	p9_fid_put(p, f);
	if (error != 0)
		return (error);
	m->rstatfs.type = s.type != 0 ? s.type : V9FS_MAGIC;
	/* The protocol has one size, and counts blocks in it. */
	m->rstatfs.bsize = s.frsize != 0 ? s.frsize : s.bsize;
	m->rstatfs.blocks = s.blocks;
	m->rstatfs.bfree = s.bfree;
	m->rstatfs.bavail = s.bavail;
	m->rstatfs.files = s.files;
	m->rstatfs.ffree = s.ffree;
	m->rstatfs.fsid = s.fsid;
	m->rstatfs.namelen = s.namelen;
	return (0);
}

int
p9_op_readlink(struct p9 *p, struct p9_req *r)
{
	/* Behind where the header will be, so that it need not move. */
	char *to = (char *)r->reply + P9_HEADER + 2;
	struct p9_fid *f;
	size_t len;
	int error;

	error = p9_fid_object(p, r->in.treadlink.fid, &f);
	if (error != 0)
		return (error);
	error = share_readlink(p->share, f->node, to, P9_TARGET_MAX, &len);
	p9_fid_put(p, f);
	if (error != 0)
		return (error);
	r->out.rreadlink.target.s = to;
	r->out.rreadlink.target.len = (uint16_t)len;
	return (P9_HEADER + 2 + len > p->msize ? ENAMETOOLONG : 0);
}
