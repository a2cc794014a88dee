/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Requests about names.  Each node that a reply names is one more reference
 * of the client's, until it forgets it.
 */

#include <sys/stat.h>

#include <errno.h>
#include <string.h>

#include "fused_internal.h"
#include "mount.h"

/* The caller's reference becomes the client's. */
void
fused_entry(struct fused *f, struct share_node *n, const struct share_attr *a,
    struct fw_entry_out *out)
{

	memset(out, 0, sizeof(*out));
	out->nodeid = share_number(n);
	out->entry_valid = out->attr_valid = f->valid_sec;
	fused_attr(a, &out->attr);
	share_keep(n);
}

static void
reply_entry(struct fused_req *r, struct share_node *n,
    const struct share_attr *a)
{

	fused_entry(r->f, n, a, fused_out(r, sizeof(struct fw_entry_out)));
	r->call->node = share_number(n);
}

/* An absence, where the client may remember that. */
static void
reply_nothing(struct fused_req *r)
{
	struct fw_entry_out *out;

	out = fused_out(r, sizeof(*out));
	out->entry_valid = r->f->valid_sec;
}

int
fused_lookup(struct fused_req *r)
{
	struct share_node *n;
	struct share_attr a;
	int error;

	error = share_lookup(r->s, &r->cred, r->node, r->name[0], &n, &a);
	if (error == 0)
		reply_entry(r, n, &a);
	else if (error == ENOENT && r->f->o.cache == FUSED_ALWAYS) {
		reply_nothing(r);
		error = 0;
	}
	return (error);
}

int
fused_forget(struct fused_req *r)
{

	share_forget(r->s, r->h.nodeid, r->a.forget.nlookup);
	return (0);
}

int
fused_batch_forget(struct fused_req *r)
{
	struct fw_forget_one one;
	uint32_t i;

	for (i = 0; i < r->a.batch.count; i++) {
		memcpy(&one, r->data + i * sizeof(one), sizeof(one));
		share_forget(r->s, one.nodeid, one.nlookup);
	}
	return (0);
}

int
fused_mknod(struct fused_req *r)
{
	const struct fw_mknod_in *in = &r->a.mknod;
	struct share_node *n;
	struct share_attr a;
	uint32_t major, minor;
	int error;

	r->cred.umask = in->umask;
	fused_rdev_split(in->rdev, &major, &minor);
	error = share_mknod(r->s, &r->cred, r->node, r->name[0], in->mode,
	    major, minor, &n, &a);
	if (error == 0)
		reply_entry(r, n, &a);
	return (error);
}

int
fused_mkdir(struct fused_req *r)
{
	struct share_node *n;
	struct share_attr a;
	int error;

	r->cred.umask = r->a.mkdir.umask;
	error = share_mkdir(r->s, &r->cred, r->node, r->name[0],
	    r->a.mkdir.mode, &n, &a);
	if (error == 0)
		reply_entry(r, n, &a);
	return (error);
}

int
fused_symlink(struct fused_req *r)
{
	struct share_node *n;
	struct share_attr a;
	int error;

	error = share_symlink(r->s, &r->cred, r->node, r->name[0],
	    r->name[1], &n, &a);
	if (error == 0)
		reply_entry(r, n, &a);
	return (error);
}

int
fused_link(struct fused_req *r)
{
	struct share_node *n;
	struct share_attr a;
	int error;

	if ((n = share_find(r->s, r->a.link.oldnodeid)) == NULL)
		return (ESTALE);
	error = share_link(r->s, &r->cred, n, r->node, r->name[0], &a);
	if (error == 0)
		reply_entry(r, n, &a);
	share_put(r->s, n);
	return (error);
}

int
fused_unlink(struct fused_req *r)
{

	return (share_unlink(r->s, &r->cred, r->node, r->name[0]));
}

int
fused_rmdir(struct fused_req *r)
{

	return (share_rmdir(r->s, &r->cred, r->node, r->name[0]));
}

static int
rename_to(struct fused_req *r, uint64_t newdir, uint32_t flags)
{
	struct share_node *to;
	int error;

	if ((to = share_find(r->s, newdir)) == NULL)
		return (ESTALE);
	error = share_rename(r->s, &r->cred, r->node, r->name[0], to,
	    r->name[1], flags);
	share_put(r->s, to);
	return (error);
}

int
fused_rename(struct fused_req *r)
{

	return (rename_to(r, r->a.rename.newdir, 0));
}

int
fused_rename2(struct fused_req *r)
{
	/* The wire's numbers are those of Linux, and ours. */
	return (rename_to(r, r->a.rename2.newdir, r->a.rename2.flags));
}

static void
reply_created(struct fused_req *r, struct share_node *n,
    const struct share_attr *a, struct share_file *file)
{
	struct {
		struct fw_entry_out	entry;
		struct fw_open_out	open;
	} *out;

	out = fused_out(r, sizeof(*out));
	fused_entry(r->f, n, a, &out->entry);
	out->open.fh = share_file_number(file);
	out->open.open_flags = fused_fopen(r->f);
	r->call->node = share_number(n);
	r->call->file = share_file_number(file);
	share_file_put(r->s, file);
}

int
fused_create(struct fused_req *r)
{
	const struct fw_create_in *in = &r->a.create;
	struct share_file *file;
	struct share_node *n;
	struct share_attr a;
	int error;

	r->cred.umask = in->umask;
	error = share_create(r->s, &r->cred, r->node, r->name[0],
	    fused_open_flags(r->f, in->flags, in->open_flags), in->mode, &n,
	    &a, &file);
	if (error == 0)
		reply_created(r, n, &a, file);
	return (error);
}

int
fused_tmpfile(struct fused_req *r)
{
	const struct fw_create_in *in = &r->a.create;
	struct share_file *file;
	struct share_node *n;
	struct share_attr a;
	int error;

	r->cred.umask = in->umask;
	error = share_tmpfile(r->s, &r->cred, r->node,
	    fused_open_flags(r->f, in->flags, in->open_flags), in->mode, &n,
	    &a, &file);
	if (error == 0)
		reply_created(r, n, &a, file);
	return (error);
}
