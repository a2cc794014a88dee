/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * From bytes to a request: the only place that looks at lengths.  Each
 * operation is a row: what follows the header, and who handles it.
 */

#include <sys/uio.h>

#include <errno.h>
#include <string.h>

#include "fused_internal.h"

#define	OP_NODE		0x01	/* the header names a node that must exist */
#define	OP_SILENT	0x02	/* has no reply */
#define	OP_ANYTIME	0x04	/* also before FW_INIT */

struct op {
	fused_op	*fn;
	uint16_t	 arg;		/* bytes of arguments */
	uint8_t		 names;		/* strings that follow */
	uint8_t		 flags;
};

#define	ARG(type)	((uint16_t)sizeof(struct type))

static const struct op ops[FW_OPCODES] = {
	[FW_LOOKUP] = { fused_lookup, 0, 1, OP_NODE },
	[FW_FORGET] = { fused_forget, ARG(fw_forget_in), 0, OP_SILENT },
	[FW_GETATTR] = { fused_getattr, ARG(fw_getattr_in), 0, OP_NODE },
	[FW_SETATTR] = { fused_setattr, ARG(fw_setattr_in), 0, OP_NODE },
	[FW_READLINK] = { fused_readlink, 0, 0, OP_NODE },
	[FW_SYMLINK] = { fused_symlink, 0, 2, OP_NODE },
	[FW_MKNOD] = { fused_mknod, ARG(fw_mknod_in), 1, OP_NODE },
	[FW_MKDIR] = { fused_mkdir, ARG(fw_mkdir_in), 1, OP_NODE },
	[FW_UNLINK] = { fused_unlink, 0, 1, OP_NODE },
	[FW_RMDIR] = { fused_rmdir, 0, 1, OP_NODE },
	[FW_RENAME] = { fused_rename, ARG(fw_rename_in), 2, OP_NODE },
	[FW_LINK] = { fused_link, ARG(fw_link_in), 1, OP_NODE },
	[FW_OPEN] = { fused_open, ARG(fw_open_in), 0, OP_NODE },
	[FW_READ] = { fused_read, ARG(fw_read_in), 0, 0 },
	[FW_WRITE] = { fused_write, ARG(fw_write_in), 0, 0 },
	[FW_STATFS] = { fused_statfs, 0, 0, OP_NODE },
	[FW_RELEASE] = { fused_release, ARG(fw_release_in), 0, 0 },
	[FW_FSYNC] = { fused_fsync, ARG(fw_fsync_in), 0, 0 },
	[FW_SETXATTR] = { fused_setxattr, FW_SETXATTR_IN_OLD, 1, OP_NODE },
	[FW_GETXATTR] = { fused_getxattr, ARG(fw_getxattr_in), 1, OP_NODE },
	[FW_LISTXATTR] = { fused_listxattr, ARG(fw_getxattr_in), 0, OP_NODE },
	[FW_REMOVEXATTR] = { fused_removexattr, 0, 1, OP_NODE },
	[FW_FLUSH] = { fused_flush, ARG(fw_flush_in), 0, 0 },
	[FW_INIT] = { fused_init, FW_INIT_IN_OLD, 0, OP_ANYTIME },
	[FW_OPENDIR] = { fused_opendir, ARG(fw_open_in), 0, OP_NODE },
	[FW_READDIR] = { fused_readdir, ARG(fw_read_in), 0, 0 },
	[FW_RELEASEDIR] = { fused_releasedir, ARG(fw_release_in), 0, 0 },
	[FW_FSYNCDIR] = { fused_fsyncdir, ARG(fw_fsync_in), 0, 0 },
	[FW_GETLK] = { fused_getlk, ARG(fw_lk_in), 0, 0 },
	[FW_SETLK] = { fused_setlk, ARG(fw_lk_in), 0, 0 },
	[FW_SETLKW] = { fused_setlkw, ARG(fw_lk_in), 0, 0 },
	[FW_ACCESS] = { fused_access, ARG(fw_access_in), 0, OP_NODE },
	[FW_CREATE] = { fused_create, ARG(fw_create_in), 1, OP_NODE },
	[FW_INTERRUPT] = { fused_interrupt, ARG(fw_interrupt_in), 0,
	    OP_SILENT },
	[FW_DESTROY] = { fused_destroy, 0, 0, OP_ANYTIME },
	[FW_BATCH_FORGET] = { fused_batch_forget, ARG(fw_batch_forget_in), 0,
	    OP_SILENT },
	[FW_FALLOCATE] = { fused_fallocate, ARG(fw_fallocate_in), 0, 0 },
	[FW_READDIRPLUS] = { fused_readdirplus, ARG(fw_read_in), 0, 0 },
	[FW_RENAME2] = { fused_rename2, ARG(fw_rename2_in), 2, OP_NODE },
	[FW_LSEEK] = { fused_lseek, ARG(fw_lseek_in), 0, 0 },
	[FW_COPY_FILE_RANGE] = { fused_copy, ARG(fw_copy_in), 0, 0 },
	[FW_SYNCFS] = { fused_syncfs, 0, 0, 0 },
	[FW_TMPFILE] = { fused_tmpfile, ARG(fw_create_in), 1, OP_NODE },
	[FW_COPY_FILE_RANGE_64] = { fused_copy64, ARG(fw_copy_in), 0, 0 }
};

/* Arguments that grew with the protocol. */
static size_t
arg_size(const struct fused_req *r, const struct op *op, size_t len)
{

	if (r->h.opcode == FW_INIT && len >= sizeof(struct fw_init_in))
		return (sizeof(struct fw_init_in));
	if (r->h.opcode == FW_SETXATTR &&
	    (atomic_load(&r->f->flags) & FW_SETXATTR_EXT) != 0)
		return (sizeof(struct fw_setxattr_in));
	return (op->arg);
}

static bool
payload_fits(const struct fused_req *r)
{
	uint64_t have;
	int i;

	switch (r->h.opcode) {
	case FW_WRITE:
		if (r->call->wdata == NULL)
			return (r->datalen >= r->a.write.size);
		for (have = 0, i = 0; i < r->call->nwdata; i++)
			have += r->call->wdata[i].iov_len;
		return (have == r->a.write.size);
	case FW_SETXATTR:
		return (r->datalen >= r->a.setxattr.size);
	case FW_BATCH_FORGET:
		return (r->datalen / sizeof(struct fw_forget_one) >=
		    r->a.batch.count);
	default:
		return (true);
	}
}

/* Take the request apart after its header. */
static int
decode(struct fused_req *r, const struct op *op, const char *p, size_t len)
{
	const char *end;
	size_t n;
	int i;

	n = (size_t)r->h.extlen * 8;
	if (n > len)
		return (EINVAL);
	len -= n;
	n = arg_size(r, op, len);
	if (n > len)
		return (EINVAL);
	memset(&r->a, 0, sizeof(r->a));
	memcpy(&r->a, p, n);
	p += n;
	len -= n;
	for (i = 0; i < op->names; i++) {
		if ((end = memchr(p, '\0', len)) == NULL)
			return (EINVAL);
		r->name[i] = p;
		n = (size_t)(end - p) + 1;
		p += n;
		len -= n;
	}
	r->data = p;
	r->datalen = len;
	return (payload_fits(r) ? 0 : EINVAL);
}

void *
fused_out(struct fused_req *r, size_t size)
{

	memset(r->body, 0, size);
	r->len = size;
	return (r->body);
}

static int
run(struct fused_req *r, const struct op *op)
{
	int error;

	error = decode(r, op, (const char *)r->call->req + FUSED_HEAD,
	    r->h.len - FUSED_HEAD);
	if (error != 0)
		return (error);
	if (!atomic_load(&r->f->up) && (op->flags & OP_ANYTIME) == 0)
		return (EIO);
	if ((op->flags & OP_NODE) != 0 &&
	    (r->node = share_find(r->s, r->h.nodeid)) == NULL)
		return (ESTALE);
	r->cred.uid = r->h.uid;
	r->cred.gid = r->h.gid;
	error = op->fn(r);
	share_put(r->s, r->node);
	return (error);
}

/* Errors that a kernel would not take from a server. */
static int
clean_error(int error)
{

	return (error > 0 && error < 512 ? error : EIO);
}

void
fused_handle(struct fused *f, struct fused_call *call)
{
	struct fused_req r = { .f = f, .s = f->share, .call = call };
	struct fw_out_header *out = call->rep;
	const struct op *op;
	int error;

	call->replen = call->rdatalen = 0;
	call->node = call->file = call->dir = 0;
	call->opcode = 0;
	if (call->reqlen < FUSED_HEAD || call->repsize < FUSED_REPLY_MIN)
		return;
	memcpy(&r.h, call->req, FUSED_HEAD);
	call->opcode = r.h.opcode;
	r.body = (char *)call->rep + sizeof(*out);
	r.room = call->repsize - sizeof(*out);
	op = NULL;
	if (r.h.len < FUSED_HEAD || r.h.len > call->reqlen)
		error = EINVAL;
	else if (r.h.opcode >= FW_OPCODES ||
	    (op = &ops[r.h.opcode])->fn == NULL)
		error = ENOSYS;
	else
		error = run(&r, op);
	if (op != NULL && (op->flags & OP_SILENT) != 0)
		return;
	if (error != 0)
		r.len = call->rdatalen = 0;
	memset(out, 0, sizeof(*out));
	out->len = (uint32_t)(sizeof(*out) + r.len + call->rdatalen);
	out->error = error == 0 ? 0 : -clean_error(error);
	out->unique = r.h.unique;
	call->replen = sizeof(*out) + r.len;
}
