/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The table of requests, and the small things that their handlers share.
 */

#include <sys/stat.h>

#include <errno.h>
#include <string.h>

#include "p9_internal.h"

const struct p9_op p9_ops[P9_TYPES] = {
	[P9_TSTATFS] = { p9_op_statfs, P9_AT_ONCE },
	[P9_TLOPEN] = { p9_op_lopen, P9_AT_ONCE },
	[P9_TLCREATE] = { p9_op_lcreate, P9_ADAPT },
	[P9_TSYMLINK] = { p9_op_symlink, P9_ADAPT },
	[P9_TMKNOD] = { p9_op_mknod, P9_ADAPT },
	[P9_TRENAME] = { p9_op_rename, P9_ADAPT },
	[P9_TREADLINK] = { p9_op_readlink, P9_AT_ONCE },
	[P9_TGETATTR] = { p9_op_getattr, P9_AT_ONCE },
	[P9_TSETATTR] = { p9_op_setattr, P9_ADAPT },
	[P9_TXATTRWALK] = { p9_op_xattrwalk, P9_AT_ONCE },
	[P9_TXATTRCREATE] = { p9_op_xattrcreate, P9_AT_ONCE },
	[P9_TREADDIR] = { p9_op_readdir, P9_ADAPT },
	[P9_TFSYNC] = { p9_op_fsync, P9_APART },
	[P9_TLOCK] = { p9_op_lock, P9_APART },
	[P9_TGETLOCK] = { p9_op_getlock, P9_AT_ONCE },
	[P9_TLINK] = { p9_op_link, P9_ADAPT },
	[P9_TMKDIR] = { p9_op_mkdir, P9_ADAPT },
	[P9_TRENAMEAT] = { p9_op_renameat, P9_ADAPT },
	[P9_TUNLINKAT] = { p9_op_unlinkat, P9_ADAPT },
	[P9_TAUTH] = { p9_op_auth, P9_AT_ONCE },
	[P9_TATTACH] = { p9_op_attach, P9_AT_ONCE },
	[P9_TWALK] = { p9_op_walk, P9_AT_ONCE },
	[P9_TREAD] = { p9_op_read, P9_ADAPT },
	[P9_TWRITE] = { p9_op_write, P9_ADAPT },
	[P9_TCLUNK] = { p9_op_clunk, P9_AT_ONCE },
	[P9_TREMOVE] = { p9_op_remove, P9_ADAPT },
};

int
p9_name(const struct p9_str *s, char name[SHARE_NAME_MAX + 1])
{

	if (s->len == 0)
		return (EINVAL);
	if (s->len > SHARE_NAME_MAX)
		return (ENAMETOOLONG);
	if (memchr(s->s, '\0', s->len) != NULL ||
	    memchr(s->s, '/', s->len) != NULL)
		return (EINVAL);
	memcpy(name, s->s, s->len);
	name[s->len] = '\0';
	return (0);
}

void
p9_qid_of(const struct share_attr *a, struct p9_qid *q)
{

	q->type = S_ISDIR(a->mode) ? P9_QTDIR :
	    S_ISLNK(a->mode) ? P9_QTSYMLINK : P9_QTFILE;
	q->version = (uint32_t)(a->version ^ a->version >> 32);
	q->path = a->ino;
}

/*
 * The protocol tells the user, by the attach, but no group; that of a new
 * object comes with the request.  The mode has been masked by the client.
 */
struct share_cred
p9_cred_gid(const struct p9_fid *f, uint32_t gid)
{

	return ((struct share_cred){ .uid = f->uid, .gid = gid });
}

struct share_cred
p9_cred(const struct p9_fid *f)
{

	return (p9_cred_gid(f, f->uid));
}

int
p9_room(struct p9 *p, struct p9_req *r, size_t need)
{
	int error;

	if (need <= r->cap)
		return (0);
	if (need > p->msize)
		return (EMSGSIZE);
	if (r->big == NULL) {
		error = p9_buf_take(p, &r->big);
		if (error != 0)
			return (error);
	}
	r->reply = r->big->mem + P9_PAGE - P9_RREAD_DATA;
	r->cap = r->big->cap;
	return (0);
}
