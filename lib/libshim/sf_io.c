/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Bytes and descriptors to and from a POSIX descriptor, be it a socket, a
 * character device or a pipe.
 */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sf.h"

#ifndef MSG_NOSIGNAL
#define	MSG_NOSIGNAL	0		/* SO_NOSIGPIPE is set instead */
#endif
#ifndef MSG_CMSG_CLOEXEC
#define	MSG_CMSG_CLOEXEC 0
#endif

#define	MAXFDS		32

union control {
	struct cmsghdr	align;
	char		buf[CMSG_SPACE(MAXFDS * sizeof(int))];
};

bool
sf_is_socket(int fd)
{
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISSOCK(st.st_mode))
		return (false);
#ifdef SO_NOSIGPIPE
	(void)setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &(int){ 1 },
	    sizeof(int));
#endif
	return (true);
}

void
sf_io_close(int fd)
{

	close(fd);
}

/* Hand over what came; what is more than max is closed, and counted. */
static void
take_fds(struct msghdr *mh, int *fds, int max, int *nfds)
{
	struct cmsghdr *c;
	int fd;

	for (c = CMSG_FIRSTHDR(mh); c != NULL; c = CMSG_NXTHDR(mh, c)) {
		if (c->cmsg_level != SOL_SOCKET ||
		    c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = CMSG_LEN(0); at + sizeof(fd) <= c->cmsg_len;
		    at += sizeof(fd)) {
			memcpy(&fd, (char *)c + at, sizeof(fd));
			(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
			if (*nfds < max)
				fds[(*nfds)++] = fd;
			else
				close(fd);
		}
	}
}

long
sf_io_recv(int fd, bool sock, void *buf, size_t len, int *fds, int max,
    int *nfds)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	union control ctl;
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1,
	    .msg_control = &ctl, .msg_controllen = sizeof(ctl) };
	ssize_t n;

	*nfds = 0;
	do {
		n = sock ? recvmsg(fd, &mh, MSG_CMSG_CLOEXEC) :
		    read(fd, buf, len);
	} while (n == -1 && errno == EINTR);
	if (sock && n != -1)
		take_fds(&mh, fds, max, nfds);
	return (n);
}

long
sf_io_send(int fd, bool sock, const void *buf, size_t len, const int *fds,
    int nfds)
{
	struct iovec iov = { .iov_len = len };
	union control ctl;
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (!sock)
		return (write(fd, buf, len));
	if (nfds == 0)
		return (send(fd, buf, len, MSG_NOSIGNAL));
	/* The interface is older than const. */
	memcpy(&iov.iov_base, &buf, sizeof(buf));
	memset(&ctl, 0, sizeof(ctl));
	mh.msg_control = &ctl;
	mh.msg_controllen = (socklen_t)CMSG_SPACE((size_t)nfds * sizeof(int));
	ctl.align.cmsg_level = SOL_SOCKET;
	ctl.align.cmsg_type = SCM_RIGHTS;
	ctl.align.cmsg_len = (socklen_t)CMSG_LEN((size_t)nfds * sizeof(int));
	memcpy(CMSG_DATA(&ctl.align), fds, (size_t)nfds * sizeof(int));
	return (sendmsg(fd, &mh, MSG_NOSIGNAL));
}

int
sf_nonblock(int fd)
{
	int flags;

	if ((flags = fcntl(fd, F_GETFL)) == -1 ||
	    fcntl(fd, F_SETFL, flags | O_NONBLOCK) == -1)
		return (errno);
	return (0);
}
