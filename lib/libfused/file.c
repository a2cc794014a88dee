/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Requests about open files.
 */

#include <sys/uio.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fused_internal.h"

/* How Linux tells that a program is opened to be run. */
#ifndef O_EXEC
#define	O_EXEC		0x20
#endif
#ifndef O_NOATIME
#define	O_NOATIME	0
#endif

#define	COPY_MAX	(UINT32_C(1) << 30)

uint32_t
fused_open_flags(const struct fused *f, uint32_t flags, uint32_t open_flags)
{
	static const struct {
		int		host;
		uint32_t	share;
	} map[] = {
		{ O_TRUNC, SHARE_O_TRUNC }, { O_APPEND, SHARE_O_APPEND },
		{ O_EXCL, SHARE_O_EXCL }, { O_DIRECT, SHARE_O_DIRECT },
		{ O_SYNC, SHARE_O_SYNC }, { O_DSYNC, SHARE_O_DSYNC },
		{ O_NOATIME, SHARE_O_NOATIME }, { O_EXEC, SHARE_O_EXEC }
	};
	uint32_t out;
	size_t i;

	(void)f;
	switch (flags & O_ACCMODE) {
	case O_WRONLY:
		out = SHARE_O_WRITE;
		break;
	case O_RDWR:
		out = SHARE_O_READ | SHARE_O_WRITE;
		break;
	default:
		out = SHARE_O_READ;
		break;
	}
	for (i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		if (map[i].host != 0 &&
		    ((int)flags & map[i].host) == map[i].host)
			out |= map[i].share;
	if ((open_flags & FW_OPEN_KILL_SUIDGID) != 0)
		out |= SHARE_O_KILL;
	return (out);
}

/* What a reply to an open says about caching. */
uint32_t
fused_fopen(const struct fused *f)
{

	switch (f->o.cache) {
	case FUSED_NONE:
		return (FW_FOPEN_DIRECT_IO | FW_FOPEN_PARALLEL_WRITES);
	case FUSED_ALWAYS:
		return (FW_FOPEN_KEEP_CACHE);
	default:
		return (0);
	}
}

int
fused_open(struct fused_req *r)
{
	struct fw_open_out *out;
	struct share_file *file;
	int error;

	error = share_file_open(r->s, &r->cred, r->node, fused_open_flags(
	    r->f, r->a.open.flags, r->a.open.open_flags) &
	    ~(uint32_t)SHARE_O_EXCL, &file);
	if (error != 0)
		return (error);
	out = fused_out(r, sizeof(*out));
	out->fh = r->call->file = share_file_number(file);
	out->open_flags = fused_fopen(r->f);
	share_file_put(r->s, file);
	return (0);
}

int
fused_release(struct fused_req *r)
{
	struct share_file *file;

	if ((file = share_file_find(r->s, r->a.release.fh)) == NULL)
		return (EBADF);
	share_file_close(r->s, file);
	return (0);
}

int
fused_flush(struct fused_req *r)
{
	struct share_file *file;
	int error;

	if ((file = share_file_find(r->s, r->a.flush.fh)) == NULL)
		return (EBADF);
	share_unlock_owner(r->s, file, r->a.flush.lock_owner);
	error = share_flush(r->s, file);
	share_file_put(r->s, file);
	return (error);
}

int
fused_fsync(struct fused_req *r)
{
	struct share_file *file;
	int error;

	if ((file = share_file_find(r->s, r->a.fsync.fh)) == NULL)
		return (EBADF);
	error = share_fsync(r->s, file,
	    (r->a.fsync.flags & FW_FSYNC_DATA) != 0);
	share_file_put(r->s, file);
	return (error);
}

int
fused_read(struct fused_req *r)
{
	const struct fw_read_in *in = &r->a.read;
	struct share_file *file;
	size_t n;
	int error;

	if ((file = share_file_find(r->s, in->fh)) == NULL)
		return (EBADF);
	if (r->call->rdata != NULL) {
		error = share_readv(r->s, file, r->call->rdata,
		    r->call->nrdata, in->offset, &r->call->rdatalen);
	} else {
		error = share_read(r->s, file, r->body, in->size < r->room ?
		    in->size : r->room, in->offset, &n);
		if (error == 0)
			r->len = n;
	}
	share_file_put(r->s, file);
	return (error);
}

int
fused_write(struct fused_req *r)
{
	const struct fw_write_in *in = &r->a.write;
	struct fw_write_out *out;
	struct share_file *file;
	uint32_t flags;
	size_t n;
	int error;

	if ((file = share_file_find(r->s, in->fh)) == NULL)
		return (EBADF);
	flags = (in->write_flags & FW_WRITE_KILL_SUIDGID) != 0 ?
	    SHARE_W_KILL : 0;
	if (r->call->wdata != NULL)
		error = share_writev(r->s, file, r->call->wdata,
		    r->call->nwdata, in->offset, flags, &n);
	else
		error = share_write(r->s, file, r->data, in->size, in->offset,
		    flags, &n);
	share_file_put(r->s, file);
	if (error != 0)
		return (error);
	out = fused_out(r, sizeof(*out));
	out->size = (uint32_t)n;
	return (0);
}

int
fused_fallocate(struct fused_req *r)
{
	const struct fw_fallocate_in *in = &r->a.fallocate;
	struct share_file *file;
	int error;

	if ((file = share_file_find(r->s, in->fh)) == NULL)
		return (EBADF);
	/* The wire's modes are those of Linux, and ours. */
	error = share_fallocate(r->s, file, in->mode, in->offset,
	    in->length);
	share_file_put(r->s, file);
	return (error);
}

int
fused_lseek(struct fused_req *r)
{
	const struct fw_lseek_in *in = &r->a.lseek;
	struct fw_lseek_out *out;
	struct share_file *file;
	uint64_t off;
	int error;

	if (in->whence != SEEK_DATA && in->whence != SEEK_HOLE)
		return (EINVAL);
	if ((file = share_file_find(r->s, in->fh)) == NULL)
		return (EBADF);
	error = share_seek(r->s, file, in->offset, in->whence == SEEK_DATA ?
	    SHARE_SEEK_DATA : SHARE_SEEK_HOLE, &off);
	share_file_put(r->s, file);
	if (error != 0)
		return (error);
	out = fused_out(r, sizeof(*out));
	out->offset = off;
	return (0);
}

static int
copy(struct fused_req *r, uint64_t *np)
{
	const struct fw_copy_in *in = &r->a.copy;
	struct share_file *from, *to;
	int error;

	if (in->flags != 0)
		return (EINVAL);
	if ((from = share_file_find(r->s, in->fh_in)) == NULL)
		return (EBADF);
	if ((to = share_file_find(r->s, in->fh_out)) == NULL)
		error = EBADF;
	else
		error = share_copy(r->s, from, in->off_in, to, in->off_out,
		    in->len < COPY_MAX ? in->len : COPY_MAX, np);
	share_file_put(r->s, from);
	share_file_put(r->s, to);
	return (error);
}

int
fused_copy(struct fused_req *r)
{
	struct fw_write_out *out;
	uint64_t n;
	int error;

	if ((error = copy(r, &n)) != 0)
		return (error);
	out = fused_out(r, sizeof(*out));
	out->size = (uint32_t)n;
	return (0);
}

int
fused_copy64(struct fused_req *r)
{
	struct fw_copy_out *out;
	uint64_t n;
	int error;

	if ((error = copy(r, &n)) != 0)
		return (error);
	out = fused_out(r, sizeof(*out));
	out->bytes = n;
	return (0);
}
