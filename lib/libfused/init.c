/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A codec's beginning and end, and what it agrees on with a client.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coppice.h"

#include "fused_internal.h"

#define	PAGE		4096
#define	MAX_WRITE	(1U << 20)
#define	MAX_THREADS	64
#define	BACKGROUND	64
#define	DAY		86400

/* All that we can, whatever the client's kernel remembers. */
#define	FLAGS_ALWAYS	(FW_ASYNC_READ | FW_POSIX_LOCKS |		  \
	FW_ATOMIC_O_TRUNC | FW_BIG_WRITES | FW_DONT_MASK |		  \
	FW_FLOCK_LOCKS | FW_ASYNC_DIO | FW_PARALLEL_DIROPS |		  \
	FW_POSIX_ACL | FW_MAX_PAGES | FW_HANDLE_KILLPRIV_V2 |		  \
	FW_SETXATTR_EXT | FW_INIT_EXT)
#define	FLAGS_NONE	FW_DIRECT_IO_MMAP
#define	FLAGS_AUTO	(FW_AUTO_INVAL_DATA | FW_DO_READDIRPLUS |	  \
	FW_READDIRPLUS_AUTO)

int
fused_new(struct share *s, const struct fused_options *o, struct fused **fp,
    struct co_error *e)
{
	struct fused *f;

	if ((f = calloc(1, sizeof(*f))) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "cannot serve"));
	f->share = s;
	if (o != NULL)
		f->o = *o;
	if (f->o.max_write == 0 || f->o.max_write > MAX_WRITE)
		f->o.max_write = MAX_WRITE;
	if (f->o.max_write < PAGE)
		f->o.max_write = PAGE;
	if (f->o.max_threads == 0)
		f->o.max_threads = MAX_THREADS;
	f->valid_sec = f->o.cache == FUSED_NONE ? 0 :
	    f->o.cache == FUSED_AUTO ? 1 : DAY;
	(void)pthread_mutex_init(&f->lock, NULL);
	*fp = f;
	return (0);
}

void
fused_free(struct fused *f)
{

	if (f == NULL)
		return;
	(void)pthread_mutex_destroy(&f->lock);
	free(f);
}

size_t
fused_bufsize(const struct fused *f)
{

	return ((size_t)f->o.max_write + PAGE);
}

bool
fused_destroyed(const struct fused *f)
{

	return (atomic_load(&f->destroyed));
}

static uint64_t
flags_of(const struct fused *f)
{

	return (FLAGS_ALWAYS | (f->o.cache == FUSED_NONE ? FLAGS_NONE :
	    FLAGS_AUTO));
}

int
fused_init(struct fused_req *r)
{
	const struct fw_init_in *in = &r->a.init;
	struct fused *f = r->f;
	struct fw_init_out *out;
	uint64_t flags;

	out = fused_out(r, sizeof(*out));
	out->major = FW_MAJOR;
	out->minor = FW_MINOR;
	/* A newer client asks again, in our version. */
	if (in->major > FW_MAJOR)
		return (0);
	if (in->major < FW_MAJOR || in->minor < FW_MINOR_MIN)
		return (EPROTO);
	if (atomic_exchange(&f->up, true))
		share_reset(r->s);
	flags = in->flags;
	if ((flags & FW_INIT_EXT) != 0)
		flags |= (uint64_t)in->flags2 << 32;
	flags &= flags_of(f);
	f->minor = in->minor;
	atomic_store(&f->flags, flags);
	atomic_store(&f->destroyed, false);
	if (in->minor < FW_MINOR)
		out->minor = in->minor;
	out->max_readahead = in->max_readahead;
	out->flags = (uint32_t)flags;
	out->flags2 = (uint32_t)(flags >> 32);
	out->max_background = BACKGROUND;
	out->congestion_threshold = BACKGROUND * 3 / 4;
	out->max_write = f->o.max_write;
	out->time_gran = 1;
	if ((flags & FW_MAX_PAGES) != 0)
		out->max_pages = (uint16_t)(f->o.max_write / PAGE);
	return (0);
}

int
fused_destroy(struct fused_req *r)
{

	atomic_store(&r->f->up, false);
	atomic_store(&r->f->destroyed, true);
	share_reset(r->s);
	return (0);
}

/* Take back what a reply gave to a client that did not get it. */
void
fused_unsent(struct fused *f, struct fused_call *call)
{
	struct share_file *file;
	struct share_dir *dir;
	struct fw_entry_out eo;
	struct fw_dirent de;
	const char *p;
	size_t left, n;

	if (call->node != 0)
		share_forget(f->share, call->node, 1);
	if (call->file != 0 &&
	    (file = share_file_find(f->share, call->file)) != NULL)
		share_file_close(f->share, file);
	if (call->dir != 0 &&
	    (dir = share_dir_find(f->share, call->dir)) != NULL)
		share_dir_close(f->share, dir);
	if (call->opcode != FW_READDIRPLUS ||
	    call->replen < sizeof(struct fw_out_header))
		return;
	p = (const char *)call->rep + sizeof(struct fw_out_header);
	left = call->replen - sizeof(struct fw_out_header);
	for (; left >= sizeof(eo) + sizeof(de); p += n, left -= n) {
		memcpy(&eo, p, sizeof(eo));
		memcpy(&de, p + sizeof(eo), sizeof(de));
		if (eo.nodeid != 0)
			share_forget(f->share, eo.nodeid, 1);
		n = (sizeof(eo) + sizeof(de) + de.namelen + 7) & ~(size_t)7;
		if (n > left)
			break;
	}
}
