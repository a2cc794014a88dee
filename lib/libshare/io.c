/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Bytes: the data path.  Reads touch nothing but the open file; writes tell
 * libundo first.  No lock of the share is held around either.
 */

#include <sys/stat.h>
#include <sys/uio.h>

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "share_internal.h"

#ifndef IOV_MAX
#define	IOV_MAX	1024
#endif

int
share_readv(struct share *s, struct share_file *f, const struct iovec *iov,
    int count, uint64_t off, size_t *np)
{
	ssize_t n;

	if ((f->flags & (SHARE_O_READ | SHARE_O_EXEC)) == 0)
		return (EBADF);
	if (off > INT64_MAX || count < 0)
		return (EINVAL);
	do
		n = preadv(f->fd, iov, count < IOV_MAX ? count : IOV_MAX,
		    (off_t)off);
	while (n == -1 && errno == EINTR);
	if (n == -1)
		return (errno);
	atomic_fetch_add_explicit(&s->read_bytes, (uint64_t)n,
	    memory_order_relaxed);
	*np = (size_t)n;
	return (0);
}

int
share_read(struct share *s, struct share_file *f, void *buf, size_t len,
    uint64_t off, size_t *np)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };

	return (share_readv(s, f, &iov, 1, off, np));
}

/* Tell libundo that the bytes of ${f} will change. */
typedef int pre_fn(struct undo *, struct undo_op *, const struct undo_ref *);

static int
data_begin(struct share *s, struct share_file *f, struct change *ch,
    pre_fn *pre)
{
	struct undo_ref ref = { .dirfd = -1, .fd = f->fd,
	    .seen = &f->node->seen };
	int error;

	error = share_change_node(s, ch, f->node, SHARE_CH_DATA);
	if (error != 0 || s->undo == NULL)
		return (error);
	ref.path = ch->named ? ch->path : NULL;
	if ((error = pre(s->undo, &ch->op, &ref)) == 0)
		ch->announced = true;
	return (error);
}

/* After bytes were written: what the rights of a program lose by it. */
static int
data_end(struct share *s, struct share_file *f, bool kill)
{
	int error;

	error = share_kill_caps(s, f->node);
	if (error == 0 && kill)
		error = share_kill_suid(s, f->node, f->fd);
	return (error);
}

int
share_writev(struct share *s, struct share_file *f, const struct iovec *iov,
    int count, uint64_t off, uint32_t flags, size_t *np)
{
	struct change ch;
	ssize_t n;
	int error;

	if ((f->flags & SHARE_O_WRITE) == 0)
		return (EBADF);
	if (off > INT64_MAX || count < 0)
		return (EINVAL);
	if ((error = data_begin(s, f, &ch, undo_pre_write)) != 0)
		return (error);
	do
		n = pwritev(f->fd, iov, count < IOV_MAX ? count : IOV_MAX,
		    (off_t)off);
	while (n == -1 && errno == EINTR);
	error = share_change_end(&ch, n == -1 ? errno : 0);
	if (error != 0)
		return (error);
	if (!atomic_load_explicit(&f->written, memory_order_relaxed))
		atomic_store(&f->written, true);
	atomic_fetch_add_explicit(&s->written_bytes, (uint64_t)n,
	    memory_order_relaxed);
	*np = (size_t)n;
	return (n == 0 ? 0 : data_end(s, f, (flags & SHARE_W_KILL) != 0));
}

int
share_write(struct share *s, struct share_file *f, const void *buf,
    size_t len, uint64_t off, uint32_t flags, size_t *np)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf,
	    .iov_len = len };

	return (share_writev(s, f, &iov, 1, off, flags, np));
}

/* Closing a copy of the descriptor reports what closing it would. */
int
share_flush(struct share *s, struct share_file *f)
{
	int fd;

	if (!atomic_exchange(&f->written, false) ||
	    (!s->host.flushes && f->node->dev == s->device[0]))
		return (0);
	if ((fd = dup(f->fd)) == -1)
		return (errno);
	return (close(fd) == -1 && errno != EINTR ? errno : 0);
}

int
share_fsync(struct share *s, struct share_file *f, bool data)
{

	(void)s;
	if (data)
		return (host_datasync(f->fd));
	return (fsync(f->fd) == -1 ? errno : 0);
}

int
share_fallocate(struct share *s, struct share_file *f, uint32_t mode,
    uint64_t off, uint64_t len)
{
	struct change ch;
	int error;

	if ((f->flags & SHARE_O_WRITE) == 0)
		return (EBADF);
	if ((error = data_begin(s, f, &ch, undo_pre_fallocate)) != 0)
		return (error);
	return (share_change_end(&ch, host_fallocate(f->fd, mode, off,
	    len)));
}

int
share_copy(struct share *s, struct share_file *in, uint64_t inoff,
    struct share_file *out, uint64_t outoff, uint64_t len, uint64_t *np)
{
	struct change ch;
	int error;

	if ((in->flags & SHARE_O_READ) == 0 ||
	    (out->flags & SHARE_O_WRITE) == 0 ||
	    (out->flags & SHARE_O_APPEND) != 0)
		return (EBADF);
	if ((error = data_begin(s, out, &ch, undo_pre_copy_range)) != 0)
		return (error);
	error = share_change_end(&ch, host_copy(in->fd, inoff, out->fd,
	    outoff, len, np));
	if (error != 0)
		return (error);
	atomic_fetch_add_explicit(&s->written_bytes, *np,
	    memory_order_relaxed);
	atomic_store(&out->written, true);
	return (data_end(s, out, false));
}

int
share_seek(struct share *s, struct share_file *f, uint64_t off,
    enum share_whence whence, uint64_t *np)
{

	(void)s;
	return (host_seek(f->fd, off, whence, np));
}
