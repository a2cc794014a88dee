/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A stream of descriptors.  Sockets block and are ended by shutdown(2), so
 * that a request costs two system calls; for pipes and terminals, which know
 * no such thing, poll(2) watches a pipe of our own beside them.
 */

#include <sys/types.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "coppice.h"
#include "p9.h"

#define	UNIX_BUFFER	(1024 * 1024)

#ifndef MSG_NOSIGNAL
#define	MSG_NOSIGNAL	0	/* SO_NOSIGPIPE instead */
#endif

struct fds {
	int		rfd;
	int		wfd;
	int		stop[2];	/* read end for reads, write end kept
					   open until the stop */
	int		abort[2];	/* the same for writes */
	bool		socket;
	_Atomic bool	stopped;
	_Atomic bool	aborted;
};

/* Wait for fd; false if the other descriptor says stop. */
static bool
ready(int fd, short events, int stop)
{
	struct pollfd pfd[2] = {
		{ .fd = fd, .events = events },
		{ .fd = stop, .events = POLLIN }
	};

	for (;;) {
		if (poll(pfd, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			return (false);
		}
		if (pfd[1].revents != 0) {
			errno = ECANCELED;
			return (false);
		}
		return (true);
	}
}

static ssize_t
socket_readv(void *arg, const struct iovec *iov, int n)
{
	struct fds *f = arg;
	ssize_t got;

	do
		got = readv(f->rfd, iov, n);
	while (got < 0 && errno == EINTR && !f->stopped);
	return (got);
}

static ssize_t
socket_writev(void *arg, const struct iovec *iov, int n)
{
	struct fds *f = arg;
	struct msghdr msg = {
		.msg_iov = (struct iovec *)(uintptr_t)iov
	};
	ssize_t put;

	msg.msg_iovlen = (__typeof__(msg.msg_iovlen))n;
	do
		put = sendmsg(f->wfd, &msg, MSG_NOSIGNAL);
	while (put < 0 && errno == EINTR && !f->aborted);
	return (put);
}

static void
socket_stop(void *arg, bool now)
{
	struct fds *f = arg;

	f->stopped = true;
	if (now)
		f->aborted = true;
	shutdown(f->rfd, now ? SHUT_RDWR : SHUT_RD);
	if (now && f->wfd != f->rfd)
		shutdown(f->wfd, SHUT_RDWR);
}

static ssize_t
file_readv(void *arg, const struct iovec *iov, int n)
{
	struct fds *f = arg;
	ssize_t got;

	for (;;) {
		if (f->stopped)
			return (0);
		got = readv(f->rfd, iov, n);
		if (got >= 0)
			return (got);
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN && errno != EWOULDBLOCK)
			return (-1);
		if (!ready(f->rfd, POLLIN, f->stop[0]))
			return (errno == ECANCELED ? 0 : -1);
	}
}

static ssize_t
file_writev(void *arg, const struct iovec *iov, int n)
{
	struct fds *f = arg;
	ssize_t put;

	for (;;) {
		put = writev(f->wfd, iov, n);
		if (put >= 0 || (errno != EINTR && errno != EAGAIN &&
		    errno != EWOULDBLOCK))
			return (put);
		if (errno != EINTR && !ready(f->wfd, POLLOUT, f->abort[0]))
			return (-1);
	}
}

/* A byte, never read, makes the pipe readable for good. */
static void
file_stop(void *arg, bool now)
{
	struct fds *f = arg;

	if (!atomic_exchange(&f->stopped, true))
		(void)!write(f->stop[1], "", 1);
	if (now && !atomic_exchange(&f->aborted, true))
		(void)!write(f->abort[1], "", 1);
}

static void
close_pair(const int pair[2])
{

	for (int i = 0; i < 2; i++)
		if (pair[i] != -1)
			close(pair[i]);
}

static void
fds_free(void *arg)
{
	struct fds *f = arg;

	close(f->rfd);
	if (f->wfd != f->rfd)
		close(f->wfd);
	close_pair(f->stop);
	close_pair(f->abort);
	free(f);
}

static bool
is_socket(int fd)
{
	struct stat st;

	return (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode));
}

static int
set_blocking(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags == -1)
		return (-1);
	flags = on ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
	return (fcntl(fd, F_SETFL, flags));
}

/*
 * What makes a socket fast; none of it is needed.  TCP finds the sizes of its
 * buffers better than we would.
 */
static void
tune(int fd)
{
	int on = 1, size = UNIX_BUFFER;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0) {
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	}
#ifdef SO_NOSIGPIPE
	setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof(on));
#endif
}

static int
make_pair(int pair[2])
{

	if (pipe(pair) != 0)
		return (-1);
	for (int i = 0; i < 2; i++)
		if (fcntl(pair[i], F_SETFD, FD_CLOEXEC) == -1)
			return (-1);
	return (0);
}

int
p9_stream_fd(int rfd, int wfd, struct p9_stream *st, struct co_error *e)
{
	struct fds *f;
	int saved;

	f = calloc(1, sizeof(*f));
	if (f == NULL)
		return (co_error_errno(e, ENOMEM, "9p", "make a stream"));
	f->rfd = rfd;
	f->wfd = wfd;
	f->stop[0] = f->stop[1] = f->abort[0] = f->abort[1] = -1;
	f->socket = is_socket(rfd) && is_socket(wfd);
	if (set_blocking(rfd, f->socket) != 0 ||
	    set_blocking(wfd, f->socket) != 0)
		goto err0;
	if (f->socket) {
		tune(rfd);
		if (wfd != rfd)
			tune(wfd);
		*st = (struct p9_stream){ socket_readv, socket_writev,
		    socket_stop, fds_free, f };
		return (0);
	}
	if (make_pair(f->stop) != 0 || make_pair(f->abort) != 0)
		goto err0;
	*st = (struct p9_stream){ file_readv, file_writev, file_stop,
	    fds_free, f };
	return (0);
err0:
	saved = errno;
	close_pair(f->stop);
	close_pair(f->abort);
	free(f);
	return (co_error_errno(e, saved, "9p", "prepare the descriptors"));
}
