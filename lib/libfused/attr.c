/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Requests about attributes.
 */

#include <errno.h>
#include <string.h>

#include "fused_internal.h"
#include "mount.h"

void
fused_attr(const struct share_attr *a, struct fw_attr *out)
{

	out->ino = a->ino;
	out->size = a->size;
	out->blocks = a->blocks;
	out->atime = (uint64_t)a->atime.tv_sec;
	out->mtime = (uint64_t)a->mtime.tv_sec;
	out->ctime = (uint64_t)a->ctime.tv_sec;
	out->atimensec = (uint32_t)a->atime.tv_nsec;
	out->mtimensec = (uint32_t)a->mtime.tv_nsec;
	out->ctimensec = (uint32_t)a->ctime.tv_nsec;
	out->mode = a->mode;
	out->nlink = a->nlink;
	out->uid = a->uid;
	out->gid = a->gid;
	out->rdev = fused_rdev(a->rdev_major, a->rdev_minor);
	out->blksize = a->blksize;
}

static void
reply_attr(struct fused_req *r, const struct share_attr *a)
{
	struct fw_attr_out *out;

	out = fused_out(r, sizeof(*out));
	out->attr_valid = r->f->valid_sec;
	fused_attr(a, &out->attr);
}

/* The open file that a request may name; one of another node is not it. */
static struct share_file *
file_of(struct fused_req *r, bool named, uint64_t fh)
{
	struct share_file *file;

	if (!named || (file = share_file_find(r->s, fh)) == NULL)
		return (NULL);
	if (share_file_node(file) != r->node) {
		share_file_put(r->s, file);
		return (NULL);
	}
	return (file);
}

int
fused_getattr(struct fused_req *r)
{
	struct share_file *file;
	struct share_attr a;
	int error;

	file = file_of(r, (r->a.getattr.flags & FW_GETATTR_FH) != 0,
	    r->a.getattr.fh);
	error = share_getattr(r->s, r->node, file, &a);
	share_file_put(r->s, file);
	if (error == 0)
		reply_attr(r, &a);
	return (error);
}

static uint32_t
set_flags(uint32_t valid)
{
	static const struct {
		uint32_t	wire;
		uint32_t	set;
	} map[] = {
		{ FW_FATTR_MODE, SHARE_SET_MODE },
		{ FW_FATTR_UID, SHARE_SET_UID },
		{ FW_FATTR_GID, SHARE_SET_GID },
		{ FW_FATTR_SIZE, SHARE_SET_SIZE },
		{ FW_FATTR_ATIME, SHARE_SET_ATIME },
		{ FW_FATTR_MTIME, SHARE_SET_MTIME },
		{ FW_FATTR_ATIME_NOW, SHARE_SET_ATIME_NOW },
		{ FW_FATTR_MTIME_NOW, SHARE_SET_MTIME_NOW },
		{ FW_FATTR_CTIME, SHARE_SET_CTIME },
		{ FW_FATTR_KILL_SUIDGID, SHARE_SET_KILL }
	};
	uint32_t set;
	size_t i;

	set = 0;
	for (i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		if ((valid & map[i].wire) != 0)
			set |= map[i].set;
	return (set);
}

int
fused_setattr(struct fused_req *r)
{
	const struct fw_setattr_in *in = &r->a.setattr;
	struct share_setattr set = { 0 };
	struct share_file *file;
	struct share_attr a;
	int error;

	if (in->atimensec >= 1000000000 || in->mtimensec >= 1000000000)
		return (EINVAL);
	set.set = set_flags(in->valid);
	set.mode = in->mode & 07777;
	set.uid = in->uid;
	set.gid = in->gid;
	set.size = in->size;
	set.atime.tv_sec = (time_t)in->atime;
	set.atime.tv_nsec = (long)in->atimensec;
	set.mtime.tv_sec = (time_t)in->mtime;
	set.mtime.tv_nsec = (long)in->mtimensec;
	file = file_of(r, (in->valid & FW_FATTR_FH) != 0, in->fh);
	error = share_setattr(r->s, &r->cred, r->node, file, &set, &a);
	share_file_put(r->s, file);
	if (error == 0)
		reply_attr(r, &a);
	return (error);
}

int
fused_access(struct fused_req *r)
{

	return (share_access(r->s, &r->cred, r->node, r->a.access.mask));
}

int
fused_readlink(struct fused_req *r)
{
	size_t len;
	int error;

	error = share_readlink(r->s, r->node, r->body, r->room < 4096 ?
	    r->room : 4096, &len);
	if (error == 0)
		r->len = len;
	return (error);
}

int
fused_statfs(struct fused_req *r)
{
	struct fw_statfs_out *out;
	struct share_statfs st;
	int error;

	if ((error = share_statfs(r->s, r->node, &st)) != 0)
		return (error);
	out = fused_out(r, sizeof(*out));
	out->blocks = st.blocks;
	out->bfree = st.bfree;
	out->bavail = st.bavail;
	out->files = st.files;
	out->ffree = st.ffree;
	out->bsize = st.bsize;
	out->namelen = st.namelen;
	out->frsize = st.frsize;
	return (0);
}

int
fused_syncfs(struct fused_req *r)
{

	return (share_syncfs(r->s));
}
