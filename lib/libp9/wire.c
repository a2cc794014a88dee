/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The codec: one table of fields for all messages, and one loop each that
 * reads and writes by it.  Every length that a peer sends is checked here,
 * in the cursor, and nowhere else.  Must stay free of system calls.
 */

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "p9_wire.h"

enum kind {
	END, EMPTY, U8, U16, U32, U64, OPT32, STR, DATA, QID, NAMES, QIDS
};

struct field {
	uint8_t		kind;
	uint16_t	off;
};

#define	FIELDS_MAX	21
#define	F(k, m)		{ (k), offsetof(struct p9_msg, m) }
#define	NOTHING		{ { EMPTY, 0 } }
#define	ONE_QID		{ F(QID, rqid.qid) }
#define	ONE_FID(m)	{ F(U32, m.fid) }

static const struct field layout[P9_TYPES][FIELDS_MAX] = {
	[P9_RLERROR] = { F(U32, rlerror.ecode) },
	[P9_TSTATFS] = ONE_FID(tstatfs),
	[P9_RSTATFS] = { F(U32, rstatfs.type), F(U32, rstatfs.bsize),
	    F(U64, rstatfs.blocks), F(U64, rstatfs.bfree),
	    F(U64, rstatfs.bavail), F(U64, rstatfs.files),
	    F(U64, rstatfs.ffree), F(U64, rstatfs.fsid),
	    F(U32, rstatfs.namelen) },
	[P9_TLOPEN] = { F(U32, tlopen.fid), F(U32, tlopen.flags) },
	[P9_RLOPEN] = { F(QID, rlopen.qid), F(U32, rlopen.iounit) },
	[P9_TLCREATE] = { F(U32, tlcreate.fid), F(STR, tlcreate.name),
	    F(U32, tlcreate.flags), F(U32, tlcreate.mode),
	    F(U32, tlcreate.gid) },
	[P9_RLCREATE] = { F(QID, rlopen.qid), F(U32, rlopen.iounit) },
	[P9_TSYMLINK] = { F(U32, tsymlink.fid), F(STR, tsymlink.name),
	    F(STR, tsymlink.symtgt), F(U32, tsymlink.gid) },
	[P9_RSYMLINK] = ONE_QID,
	[P9_TMKNOD] = { F(U32, tmknod.dfid), F(STR, tmknod.name),
	    F(U32, tmknod.mode), F(U32, tmknod.major), F(U32, tmknod.minor),
	    F(U32, tmknod.gid) },
	[P9_RMKNOD] = ONE_QID,
	[P9_TRENAME] = { F(U32, trename.fid), F(U32, trename.dfid),
	    F(STR, trename.name) },
	[P9_RRENAME] = NOTHING,
	[P9_TREADLINK] = ONE_FID(treadlink),
	[P9_RREADLINK] = { F(STR, rreadlink.target) },
	[P9_TGETATTR] = { F(U32, tgetattr.fid),
	    F(U64, tgetattr.request_mask) },
	[P9_RGETATTR] = { F(U64, rgetattr.valid), F(QID, rgetattr.qid),
	    F(U32, rgetattr.mode), F(U32, rgetattr.uid),
	    F(U32, rgetattr.gid), F(U64, rgetattr.nlink),
	    F(U64, rgetattr.rdev), F(U64, rgetattr.size),
	    F(U64, rgetattr.blksize), F(U64, rgetattr.blocks),
	    F(U64, rgetattr.atime_sec), F(U64, rgetattr.atime_nsec),
	    F(U64, rgetattr.mtime_sec), F(U64, rgetattr.mtime_nsec),
	    F(U64, rgetattr.ctime_sec), F(U64, rgetattr.ctime_nsec),
	    F(U64, rgetattr.btime_sec), F(U64, rgetattr.btime_nsec),
	    F(U64, rgetattr.gen), F(U64, rgetattr.data_version) },
	[P9_TSETATTR] = { F(U32, tsetattr.fid), F(U32, tsetattr.valid),
	    F(U32, tsetattr.mode), F(U32, tsetattr.uid),
	    F(U32, tsetattr.gid), F(U64, tsetattr.size),
	    F(U64, tsetattr.atime_sec), F(U64, tsetattr.atime_nsec),
	    F(U64, tsetattr.mtime_sec), F(U64, tsetattr.mtime_nsec) },
	[P9_RSETATTR] = NOTHING,
	[P9_TXATTRWALK] = { F(U32, txattrwalk.fid),
	    F(U32, txattrwalk.newfid), F(STR, txattrwalk.name) },
	[P9_RXATTRWALK] = { F(U64, rxattrwalk.size) },
	[P9_TXATTRCREATE] = { F(U32, txattrcreate.fid),
	    F(STR, txattrcreate.name), F(U64, txattrcreate.attr_size),
	    F(U32, txattrcreate.flags) },
	[P9_RXATTRCREATE] = NOTHING,
	[P9_TREADDIR] = { F(U32, tread.fid), F(U64, tread.offset),
	    F(U32, tread.count) },
	[P9_RREADDIR] = { F(DATA, rread.data) },
	[P9_TFSYNC] = { F(U32, tfsync.fid), F(OPT32, tfsync.datasync) },
	[P9_RFSYNC] = NOTHING,
	[P9_TLOCK] = { F(U32, tlock.fid), F(U8, tlock.type),
	    F(U32, tlock.flags), F(U64, tlock.start), F(U64, tlock.length),
	    F(U32, tlock.proc_id), F(STR, tlock.client_id) },
	[P9_RLOCK] = { F(U8, rlock.status) },
	[P9_TGETLOCK] = { F(U32, getlock.fid), F(U8, getlock.type),
	    F(U64, getlock.start), F(U64, getlock.length),
	    F(U32, getlock.proc_id), F(STR, getlock.client_id) },
	[P9_RGETLOCK] = { F(U8, getlock.type), F(U64, getlock.start),
	    F(U64, getlock.length), F(U32, getlock.proc_id),
	    F(STR, getlock.client_id) },
	[P9_TLINK] = { F(U32, tlink.dfid), F(U32, tlink.fid),
	    F(STR, tlink.name) },
	[P9_RLINK] = NOTHING,
	[P9_TMKDIR] = { F(U32, tmkdir.dfid), F(STR, tmkdir.name),
	    F(U32, tmkdir.mode), F(U32, tmkdir.gid) },
	[P9_RMKDIR] = ONE_QID,
	[P9_TRENAMEAT] = { F(U32, trenameat.olddirfid),
	    F(STR, trenameat.oldname), F(U32, trenameat.newdirfid),
	    F(STR, trenameat.newname) },
	[P9_RRENAMEAT] = NOTHING,
	[P9_TUNLINKAT] = { F(U32, tunlinkat.dirfid),
	    F(STR, tunlinkat.name), F(U32, tunlinkat.flags) },
	[P9_RUNLINKAT] = NOTHING,
	[P9_TVERSION] = { F(U32, version.msize), F(STR, version.version) },
	[P9_RVERSION] = { F(U32, version.msize), F(STR, version.version) },
	[P9_TAUTH] = { F(U32, tattach.afid), F(STR, tattach.uname),
	    F(STR, tattach.aname), F(U32, tattach.n_uname) },
	[P9_RAUTH] = ONE_QID,
	[P9_TATTACH] = { F(U32, tattach.fid), F(U32, tattach.afid),
	    F(STR, tattach.uname), F(STR, tattach.aname),
	    F(U32, tattach.n_uname) },
	[P9_RATTACH] = ONE_QID,
	[P9_TFLUSH] = { F(U16, tflush.oldtag) },
	[P9_RFLUSH] = NOTHING,
	[P9_TWALK] = { F(U32, twalk.fid), F(U32, twalk.newfid),
	    F(NAMES, twalk.wname) },
	[P9_RWALK] = { F(QIDS, rwalk.wqid) },
	[P9_TREAD] = { F(U32, tread.fid), F(U64, tread.offset),
	    F(U32, tread.count) },
	[P9_RREAD] = { F(DATA, rread.data) },
	[P9_TWRITE] = { F(U32, twrite.fid), F(U64, twrite.offset),
	    F(DATA, twrite.data) },
	[P9_RWRITE] = { F(U32, rwrite.count) },
	[P9_TCLUNK] = ONE_FID(tclunk),
	[P9_RCLUNK] = NOTHING,
	[P9_TREMOVE] = ONE_FID(tremove),
	[P9_RREMOVE] = NOTHING,
};

/* What is left of a message to read; bad stays set. */
struct reader {
	const uint8_t	*p;
	size_t		 left;
	int		 bad;
};

/* What is left of a buffer to write to. */
struct writer {
	uint8_t	*p;
	size_t	 left;
	int	 bad;
};

static const uint8_t *
take(struct reader *r, size_t n)
{
	const uint8_t *p = r->p;

	if (n > r->left) {
		r->bad = 1;
		r->left = 0;
		return (NULL);
	}
	r->p += n;
	r->left -= n;
	return (p);
}

static uint64_t
get(struct reader *r, unsigned n)
{
	const uint8_t *p = take(r, n);
	uint64_t v = 0;

	if (p == NULL)
		return (0);
	while (n-- > 0)
		v = v << 8 | p[n];
	return (v);
}

static void
get_str(struct reader *r, struct p9_str *s)
{

	s->len = (uint16_t)get(r, 2);
	s->s = (const char *)take(r, s->len);
}

static void
get_qid(struct reader *r, struct p9_qid *q)
{

	q->type = (uint8_t)get(r, 1);
	q->version = (uint32_t)get(r, 4);
	q->path = get(r, 8);
}

static void
get_names(struct reader *r, struct p9_names *l)
{

	l->n = (uint16_t)get(r, 2);
	if (l->n > P9_WALK_MAX) {
		r->bad = 1;
		l->n = 0;
	}
	for (uint16_t i = 0; i < l->n; i++)
		get_str(r, &l->name[i]);
}

static void
get_qids(struct reader *r, struct p9_qids *l)
{

	l->n = (uint16_t)get(r, 2);
	if (l->n > P9_WALK_MAX) {
		r->bad = 1;
		l->n = 0;
	}
	for (uint16_t i = 0; i < l->n; i++)
		get_qid(r, &l->qid[i]);
}

static void
get_field(struct reader *r, uint8_t kind, void *to)
{
	struct p9_data *d = to;

	switch (kind) {
	case U8:
		*(uint8_t *)to = (uint8_t)get(r, 1);
		break;
	case U16:
		*(uint16_t *)to = (uint16_t)get(r, 2);
		break;
	case U32:
		*(uint32_t *)to = (uint32_t)get(r, 4);
		break;
	case OPT32:
		*(uint32_t *)to = r->left == 0 ? 0 : (uint32_t)get(r, 4);
		break;
	case U64:
		*(uint64_t *)to = get(r, 8);
		break;
	case STR:
		get_str(r, to);
		break;
	case DATA:
		d->len = (uint32_t)get(r, 4);
		d->p = take(r, d->len);
		break;
	case QID:
		get_qid(r, to);
		break;
	case NAMES:
		get_names(r, to);
		break;
	case QIDS:
		get_qids(r, to);
		break;
	}
}

uint32_t
p9_size(const void *buf)
{
	struct reader r = { buf, 4, 0 };

	return ((uint32_t)get(&r, 4));
}

int
p9_decode(const void *buf, size_t len, struct p9_msg *m)
{
	struct reader r = { buf, len, 0 };
	const struct field *f;
	uint64_t size;

	size = get(&r, 4);
	m->type = (uint8_t)get(&r, 1);
	m->tag = (uint16_t)get(&r, 2);
	if (r.bad || size != len)
		return (EINVAL);
	if (m->type >= P9_TYPES || layout[m->type][0].kind == END)
		return (EOPNOTSUPP);
	for (f = layout[m->type]; f->kind != END; f++)
		get_field(&r, f->kind, (char *)m + f->off);
	return (r.bad || r.left != 0 ? EINVAL : 0);
}

static uint8_t *
room(struct writer *w, size_t n)
{
	uint8_t *p = w->p;

	if (n > w->left) {
		w->bad = 1;
		w->left = 0;
		return (NULL);
	}
	w->p += n;
	w->left -= n;
	return (p);
}

static void
put(struct writer *w, uint64_t v, unsigned n)
{
	uint8_t *p = room(w, n);

	for (unsigned i = 0; p != NULL && i < n; i++, v >>= 8)
		p[i] = (uint8_t)v;
}

static void
put_bytes(struct writer *w, const void *from, size_t n)
{
	uint8_t *p = room(w, n);

	if (p != NULL && n != 0 && p != from)
		memmove(p, from, n);
}

static void
put_str(struct writer *w, const struct p9_str *s)
{

	put(w, s->len, 2);
	put_bytes(w, s->s, s->len);
}

static void
put_qid(struct writer *w, const struct p9_qid *q)
{

	put(w, q->type, 1);
	put(w, q->version, 4);
	put(w, q->path, 8);
}

static void
put_names(struct writer *w, const struct p9_names *l)
{

	assert(l->n <= P9_WALK_MAX);
	put(w, l->n, 2);
	for (uint16_t i = 0; i < l->n; i++)
		put_str(w, &l->name[i]);
}

static void
put_qids(struct writer *w, const struct p9_qids *l)
{

	assert(l->n <= P9_WALK_MAX);
	put(w, l->n, 2);
	for (uint16_t i = 0; i < l->n; i++)
		put_qid(w, &l->qid[i]);
}

static void
put_field(struct writer *w, uint8_t kind, const void *from)
{
	const struct p9_data *d = from;

	switch (kind) {
	case U8:
		put(w, *(const uint8_t *)from, 1);
		break;
	case U16:
		put(w, *(const uint16_t *)from, 2);
		break;
	case U32:
	case OPT32:
		put(w, *(const uint32_t *)from, 4);
		break;
	case U64:
		put(w, *(const uint64_t *)from, 8);
		break;
	case STR:
		put_str(w, from);
		break;
	case DATA:
		put(w, d->len, 4);
		put_bytes(w, d->p, d->len);
		break;
	case QID:
		put_qid(w, from);
		break;
	case NAMES:
		put_names(w, from);
		break;
	case QIDS:
		put_qids(w, from);
		break;
	}
}

int
p9_encode(const struct p9_msg *m, void *buf, size_t cap, size_t *len)
{
	struct writer w = { buf, cap, 0 }, size = { buf, 4, 0 };
	const struct field *f;

	if (m->type >= P9_TYPES || layout[m->type][0].kind == END)
		return (EOPNOTSUPP);
	put(&w, 0, 4);
	put(&w, m->type, 1);
	put(&w, m->tag, 2);
	for (f = layout[m->type]; f->kind != END; f++)
		put_field(&w, f->kind, (const char *)m + f->off);
	if (w.bad || (size_t)(w.p - (uint8_t *)buf) > UINT32_MAX)
		return (EMSGSIZE);
	*len = (size_t)(w.p - (uint8_t *)buf);
	put(&size, *len, 4);
	return (0);
}

size_t
p9_dirent_put(const struct p9_dirent *d, void *buf, size_t cap)
{
	struct writer w = { buf, cap, 0 };

	if (24 + (size_t)d->name.len > cap)
		return (0);
	put_qid(&w, &d->qid);
	put(&w, d->offset, 8);
	put(&w, d->type, 1);
	put_str(&w, &d->name);
	return (24 + (size_t)d->name.len);
}

size_t
p9_dirent_get(const void *buf, size_t len, struct p9_dirent *d)
{
	struct reader r = { buf, len, 0 };

	get_qid(&r, &d->qid);
	d->offset = get(&r, 8);
	d->type = (uint8_t)get(&r, 1);
	get_str(&r, &d->name);
	return (r.bad ? 0 : 24 + (size_t)d->name.len);
}
