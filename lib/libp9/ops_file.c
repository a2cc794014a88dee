/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Requests on open files and directories: Tlopen, Tlcreate, Tread, Twrite,
 * Treaddir, Tfsync.
 */

#include <sys/stat.h>

#include <errno.h>
#include <string.h>

#include "p9_internal.h"

/*
 * O_DIRECT is left out, as the lengths that clients send are multiples of no
 * block size.  O_CREAT means nothing to a fid that exists.
 */
static uint32_t
open_flags(uint32_t wire)
{
	static const struct {
		uint32_t	wire;
		uint32_t	ours;
	} bits[] = {
		{ P9_O_TRUNC, SHARE_O_TRUNC }, { P9_O_APPEND, SHARE_O_APPEND },
		{ P9_O_EXCL, SHARE_O_EXCL }, { P9_O_DSYNC, SHARE_O_DSYNC },
		{ P9_O_SYNC, SHARE_O_SYNC }, { P9_O_NOATIME, SHARE_O_NOATIME },
	};
	uint32_t flags;

	switch (wire & P9_O_ACCMODE) {
	case P9_O_RDONLY:
		flags = SHARE_O_READ;
		break;
	case P9_O_WRONLY:
		flags = SHARE_O_WRITE;
		break;
	default:
		flags = SHARE_O_READ | SHARE_O_WRITE;
		break;
	}
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		if (wire & bits[i].wire)
			flags |= bits[i].ours;
	return (flags);
}

/* The longest payload, whole pages where it can be. */
static uint32_t
iounit(const struct p9 *p)
{
	uint32_t n = p->msize - P9_IOHEADER;

	return (n < P9_PAGE ? n : n - n % P9_PAGE);
}

/* Open what the fid stands for, for its successor. */
static int
open_object(struct p9 *p, const struct p9_fid *f, uint32_t flags,
    struct p9_fid *to)
{
	struct share_cred c = p9_cred(f);
	uint32_t ours;
	int error;

	if (S_ISDIR(share_type(f->node))) {
		if ((flags & P9_O_ACCMODE) != P9_O_RDONLY)
			return (EISDIR);
		error = share_opendir(p->share, &c, f->node, &to->stream);
		if (error == 0)
			to->use = P9_DIR;
		return (error);
	}
	if (flags & P9_O_DIRECTORY)
		return (ENOTDIR);
	ours = open_flags(flags) & ~(uint32_t)SHARE_O_EXCL;
	if (c.uid != 0)
		ours |= SHARE_O_KILL;
	error = share_file_open(p->share, &c, f->node, ours, &to->file);
	if (error == 0)
		to->use = P9_FILE;
	return (error);
}

static int
lopen(struct p9 *p, struct p9_fid *f, struct p9_req *r)
{
	struct share_attr a;
	struct p9_fid *to;
	int error;

	if (f->use != P9_PLAIN)
		return (EBADF);
	error = p9_fid_new(f->num, f->uid, f->root, f->node, f->dir, f->name,
	    &to);
	if (error != 0)
		return (error);
	error = open_object(p, f, r->in.tlopen.flags, to);
	if (error == 0)
		error = share_getattr(p->share, f->node,
		    to->use == P9_FILE ? to->file : NULL, &a);
	if (error == 0)
		error = p9_fid_replace(p, f, to);
	if (error == 0) {
		p9_qid_of(&a, &r->out.rlopen.qid);
		r->out.rlopen.iounit = iounit(p);
	}
	p9_fid_put(p, to);
	return (error);
}

int
p9_op_lopen(struct p9 *p, struct p9_req *r)
{
	struct p9_fid *f;
	int error;

	error = p9_fid_object(p, r->in.tlopen.fid, &f);
	if (error != 0)
		return (error);
	error = lopen(p, f, r);
	p9_fid_put(p, f);
	return (error);
}

/* The fid of a directory becomes that of the new file, open. */
static int
lcreate(struct p9 *p, struct p9_fid *f, struct p9_req *r)
{
	const struct p9_msg *m = &r->in;
	struct share_cred c = p9_cred_gid(f, m->tlcreate.gid);
	char name[SHARE_NAME_MAX + 1];
	struct share_file *file;
	struct share_node *n;
	struct share_attr a;
	struct p9_fid *to;
	uint32_t flags;
	int error;

	if (f->use != P9_PLAIN)
		return (EBADF);
	error = p9_name(&m->tlcreate.name, name);
	if (error != 0)
		return (error);
	flags = open_flags(m->tlcreate.flags);
	if (c.uid != 0)
		flags |= SHARE_O_KILL;
	error = share_create(p->share, &c, f->node, name, flags,
	    m->tlcreate.mode & 07777, &n, &a, &file);
	if (error != 0)
		return (error);
	error = p9_fid_new(f->num, f->uid, f->root, n, f->node, name, &to);
	share_put(p->share, n);
	if (error != 0) {
		share_file_close(p->share, file);
		return (error);
	}
	to->use = P9_FILE;
	to->file = file;
	error = p9_fid_replace(p, f, to);
	p9_fid_put(p, to);
	p9_qid_of(&a, &r->out.rlopen.qid);
	r->out.rlopen.iounit = iounit(p);
	return (error);
}

int
p9_op_lcreate(struct p9 *p, struct p9_req *r)
{
	struct p9_fid *f;
	int error;

	error = p9_fid_object(p, r->in.tlcreate.fid, &f);
	if (error != 0)
		return (error);
	error = lcreate(p, f, r);
	p9_fid_put(p, f);
	return (error);
}

static int
read_fid(struct p9 *p, struct p9_fid *f, uint64_t off, uint8_t *to,
    uint32_t *count)
{
	size_t n;
	int error;

	switch (f->use) {
	case P9_FILE:
		if (off > INT64_MAX)
			return (EINVAL);
		if ((share_file_flags(f->file) & SHARE_O_READ) == 0)
			return (EBADF);
		error = share_read(p->share, f->file, to, *count, off, &n);
		if (error == 0)
			*count = (uint32_t)n;
		return (error);
	case P9_XREAD:
		return (p9_xattr_read(f, off, to, *count, count));
	case P9_DIR:
		return (EISDIR);
	default:
		return (EBADF);
	}
}

/* Room for the data of a reply, as many as were asked for and may be. */
static int
data_room(struct p9 *p, struct p9_req *r, uint32_t *count)
{
	uint32_t most = p->msize - P9_RREAD_DATA;

	*count = r->in.tread.count < most ? r->in.tread.count : most;
	return (p9_room(p, r, P9_RREAD_DATA + (size_t)*count));
}

int
p9_op_read(struct p9 *p, struct p9_req *r)
{
	struct p9_fid *f;
	uint32_t count;
	int error;

	error = p9_fid_get(p, r->in.tread.fid, &f);
	if (error != 0)
		return (error);
	error = data_room(p, r, &count);
	if (error == 0)
		error = read_fid(p, f, r->in.tread.offset,
		    r->reply + P9_RREAD_DATA, &count);
	p9_fid_put(p, f);
	r->out.rread.data.p = r->reply + P9_RREAD_DATA;
	r->out.rread.data.len = count;
	return (error);
}

static int
write_fid(struct p9 *p, struct p9_fid *f, const struct p9_msg *m,
    uint32_t *count)
{
	const struct p9_data *d = &m->twrite.data;
	size_t n;
	int error;

	if (f->use == P9_XWRITE) {
		*count = d->len;
		return (p9_xattr_write(f, m->twrite.offset, d->p, d->len));
	}
	if (f->use != P9_FILE ||
	    (share_file_flags(f->file) & SHARE_O_WRITE) == 0)
		return (EBADF);
	if (m->twrite.offset > INT64_MAX ||
	    m->twrite.offset > INT64_MAX - (uint64_t)d->len)
		return (EFBIG);
	error = share_write(p->share, f->file, d->p, d->len,
	    m->twrite.offset, f->uid == 0 ? 0 : SHARE_W_KILL, &n);
	if (error == 0)
		*count = (uint32_t)n;
	return (error);
}

int
p9_op_write(struct p9 *p, struct p9_req *r)
{
	struct p9_fid *f;
	int error;

	error = p9_fid_get(p, r->in.twrite.fid, &f);
	if (error != 0)
		return (error);
	error = write_fid(p, f, &r->in, &r->out.rwrite.count);
	p9_fid_put(p, f);
	return (error);
}

/* Entries on their way into a reply. */
struct pack {
	uint8_t	*at;
	size_t	 left;
	bool	 full;
};

static bool
pack_entry(void *arg, const struct share_dirent *e, struct share_node *n,
    const struct share_attr *a)
{
	struct pack *k = arg;
	struct p9_dirent d = {
		.offset = e->cookie, .type = (uint8_t)e->type,
		.name = { (uint16_t)e->namelen, e->name }
	};
	size_t len;

	(void)n;
	(void)a;
	/* DT_* are the bits of S_IFMT, moved. */
	d.qid.type = e->type == S_IFDIR >> 12 ? P9_QTDIR :
	    e->type == S_IFLNK >> 12 ? P9_QTSYMLINK : P9_QTFILE;
	d.qid.path = e->ino;
	len = p9_dirent_put(&d, k->at, k->left);
	k->full = len == 0;
	k->at += len;
	k->left -= len;
	return (!k->full);
}

int
p9_op_readdir(struct p9 *p, struct p9_req *r)
{
	struct p9_fid *f;
	struct pack k;
	uint32_t count;
	int error;

	error = p9_fid_get(p, r->in.tread.fid, &f);
	if (error != 0)
		return (error);
	if (f->use != P9_DIR)
		error = f->use == P9_FILE ? ENOTDIR : EBADF;
	if (error == 0)
		error = data_room(p, r, &count);
	if (error == 0) {
		k = (struct pack){ r->reply + P9_RREAD_DATA, count, false };
		error = share_readdir(p->share, f->stream,
		    r->in.tread.offset, pack_entry, &k);
		r->out.rread.data.p = r->reply + P9_RREAD_DATA;
		r->out.rread.data.len = count - (uint32_t)k.left;
		if (error == 0 && k.full && k.left == count)
			error = EINVAL;
	}
	p9_fid_put(p, f);
	return (error);
}

int
p9_op_fsync(struct p9 *p, struct p9_req *r)
{
	bool data = r->in.tfsync.datasync != 0;
	struct p9_fid *f;
	int error;

	error = p9_fid_get(p, r->in.tfsync.fid, &f);
	if (error != 0)
		return (error);
	if (f->use == P9_FILE)
		error = share_fsync(p->share, f->file, data);
	else if (f->use == P9_DIR)
		error = share_fsyncdir(p->share, f->stream, data);
	else
		error = EBADF;
	p9_fid_put(p, f);
	return (error);
}
