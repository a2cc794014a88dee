/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Requests about open directories: entries, packed as many as fit.
 */

#include <errno.h>
#include <string.h>

#include "fused_internal.h"

int
fused_opendir(struct fused_req *r)
{
	struct fw_open_out *out;
	struct share_dir *dir;
	int error;

	if ((error = share_opendir(r->s, &r->cred, r->node, &dir)) != 0)
		return (error);
	out = fused_out(r, sizeof(*out));
	out->fh = r->call->dir = share_dir_number(dir);
	if (r->f->o.cache == FUSED_ALWAYS)
		out->open_flags = FW_FOPEN_KEEP_CACHE | FW_FOPEN_CACHE_DIR;
	share_dir_put(r->s, dir);
	return (0);
}

int
fused_releasedir(struct fused_req *r)
{
	struct share_dir *dir;

	if ((dir = share_dir_find(r->s, r->a.release.fh)) == NULL)
		return (EBADF);
	share_dir_close(r->s, dir);
	return (0);
}

int
fused_fsyncdir(struct fused_req *r)
{
	struct share_dir *dir;
	int error;

	if ((dir = share_dir_find(r->s, r->a.fsync.fh)) == NULL)
		return (EBADF);
	error = share_fsyncdir(r->s, dir,
	    (r->a.fsync.flags & FW_FSYNC_DATA) != 0);
	share_dir_put(r->s, dir);
	return (error);
}

/* A page being filled with entries. */
struct page {
	struct fused	*f;
	char		*buf;
	size_t		 size;
	size_t		 len;
	bool		 plus;
};

static void
put_dirent(struct page *p, const struct share_dirent *de, size_t at)
{
	struct fw_dirent out;

	out.ino = de->ino;
	out.off = de->cookie;
	out.namelen = de->namelen;
	out.type = de->type;
	memcpy(p->buf + at, &out, sizeof(out));
	memcpy(p->buf + at + sizeof(out), de->name, de->namelen);
}

static bool
put_entry(void *arg, const struct share_dirent *de, struct share_node *n,
    const struct share_attr *a)
{
	struct fw_entry_out eo;
	struct page *p = arg;
	size_t head, size;

	head = p->plus ? sizeof(eo) : 0;
	size = (head + sizeof(struct fw_dirent) + de->namelen + 7) &
	    ~(size_t)7;
	if (size > p->size - p->len)
		return (false);
	memset(p->buf + p->len, 0, size);
	if (p->plus) {
		if (n != NULL)
			fused_entry(p->f, n, a, &eo);
		else {
			memset(&eo, 0, sizeof(eo));
			eo.attr.ino = de->ino;
			eo.attr.mode = de->type << 12;
		}
		memcpy(p->buf + p->len, &eo, sizeof(eo));
	}
	put_dirent(p, de, p->len + head);
	p->len += size;
	return (true);
}

static int
read_entries(struct fused_req *r, bool plus)
{
	const struct fw_read_in *in = &r->a.read;
	struct page p = { .f = r->f, .buf = r->body, .plus = plus };
	struct share_dir *dir;
	int error;

	if ((dir = share_dir_find(r->s, in->fh)) == NULL)
		return (EBADF);
	p.size = in->size < r->room ? in->size : r->room;
	error = plus ? share_readdirplus(r->s, &r->cred, dir, in->offset,
	    put_entry, &p) : share_readdir(r->s, dir, in->offset, put_entry,
	    &p);
	share_dir_put(r->s, dir);
	/* What is packed is the client's; the error will come again. */
	if (error != 0 && p.len == 0)
		return (error);
	r->len = p.len;
	return (0);
}

int
fused_readdir(struct fused_req *r)
{

	return (read_entries(r, false));
}

int
fused_readdirplus(struct fused_req *r)
{

	return (read_entries(r, true));
}
