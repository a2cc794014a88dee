/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The transport of /dev/fuse: a read is a request, a write a reply.
 */

#include <sys/uio.h>

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"

#include "fused_internal.h"
#include "mount.h"

/*
 * Where requests and replies begin, so that the data of a write or a read,
 * which comes behind the headers, begins with a page: the kernel copies it
 * page by page, and from one page, rather than two, each time.
 */
#define	PAGE		4096
#define	IN_AT		(PAGE - sizeof(struct fw_in_header) -		\
	sizeof(struct fw_write_in))
#define	OUT_AT		(PAGE - sizeof(struct fw_out_header))

static int
dev_receive(struct fused_channel *c, struct fused_call *call)
{
	char *in = (char *)c->in + IN_AT, *out = (char *)c->out + OUT_AT;
	ssize_t n;

	n = read(c->fd, in, c->bufsize - IN_AT);
	if (n == -1) {
		/* ENOENT: it was interrupted before we had it. */
		if (errno == ENOENT || errno == EAGAIN || errno == EINTR)
			return (EINTR);
		return (ENODEV);
	}
	if (n == 0)
		return (ENODEV);
	memset(call, 0, sizeof(*call));
	call->req = in;
	call->reqlen = (size_t)n;
	call->rep = out;
	call->repsize = c->bufsize - OUT_AT;
	return (0);
}

static bool
dev_pending(const struct fused_channel *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };

	return (poll(&p, 1, 0) > 0);
}

static int
dev_send(struct fused_channel *c, const struct fused_call *call)
{
	ssize_t n;

	do
		n = write(c->fd, call->rep, call->replen);
	while (n == -1 && errno == EINTR);
	return (n == -1 ? errno : 0);
}

static int
dev_clone(struct fused_channel *c, struct fused_channel **np)
{
	int error, fd;

	if ((error = fused_os_clone(c->fd, &fd)) != 0)
		return (error);
	if ((error = fused_channel_new(c->transport, c->bufsize, fd,
	    np)) != 0)
		(void)close(fd);
	return (error);
}

static void
dev_close(struct fused_channel *c)
{

	(void)close(c->fd);
	fused_channel_free(c);
}

static const struct fused_transport dev = {
	.name = "fuse",
	.clone = dev_clone,
	.receive = dev_receive,
	.pending = dev_pending,
	.send = dev_send,
	.close = dev_close
};

int
fused_attach(struct fused *f, int fd, struct fused_channel **cp,
    struct co_error *e)
{
	int error;

	error = fused_channel_new(&dev, fused_bufsize(f), fd, cp);
	if (error == 0)
		return (0);
	(void)close(fd);
	return (co_error_errno(e, error, NULL, "cannot serve"));
}

int
fused_mount(struct fused *f, const char *path,
    const struct fused_mount_options *o, struct fused_channel **cp,
    struct co_error *e)
{
	static const struct fused_mount_options none;
	int fd;

	if (fused_os_mount(path, o != NULL ? o : &none, f->o.max_write, &fd,
	    e) == -1)
		return (-1);
	if (fused_attach(f, fd, cp, e) == 0)
		return (0);
	(void)fused_os_unmount(path, NULL);
	return (-1);
}

int
fused_unmount(const char *path, struct co_error *e)
{

	return (fused_os_unmount(path, e));
}
