/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Requests about extended attributes.
 */

#include <errno.h>

#include "fused_internal.h"

/* A size of 0 asks for the size; else for the bytes. */
static int
reply_size(struct fused_req *r, uint32_t size, size_t len)
{
	struct fw_getxattr_out *out;

	if (size > 0) {
		r->len = len;
		return (0);
	}
	out = fused_out(r, sizeof(*out));
	out->size = (uint32_t)len;
	return (0);
}

int
fused_getxattr(struct fused_req *r)
{
	uint32_t size;
	size_t len;
	int error;

	size = r->a.getxattr.size;
	if (size > r->room)
		size = (uint32_t)r->room;
	error = share_getxattr(r->s, &r->cred, r->node, r->name[0], r->body,
	    size, &len);
	return (error != 0 ? error : reply_size(r, size, len));
}

int
fused_listxattr(struct fused_req *r)
{
	uint32_t size;
	size_t len;
	int error;

	size = r->a.getxattr.size;
	if (size > r->room)
		size = (uint32_t)r->room;
	error = share_listxattr(r->s, &r->cred, r->node, r->body, size,
	    &len);
	return (error != 0 ? error : reply_size(r, size, len));
}

int
fused_setxattr(struct fused_req *r)
{
	const struct fw_setxattr_in *in = &r->a.setxattr;
	uint32_t flags;

	/* 1 creates and 2 replaces, for Linux and for us. */
	if ((in->flags & ~UINT32_C(3)) != 0)
		return (EINVAL);
	flags = in->flags;
	if ((in->setxattr_flags & FW_SETXATTR_ACL_KILL_SGID) != 0)
		flags |= SHARE_X_KILL_SGID;
	return (share_setxattr(r->s, &r->cred, r->node, r->name[0], r->data,
	    in->size, flags));
}

int
fused_removexattr(struct fused_req *r)
{

	return (share_removexattr(r->s, &r->cred, r->node, r->name[0]));
}
