/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Lists over sockets: the packed bytes first, then the descriptors, in
 * packages of at most FDS_PER_PACKAGE, each with a byte that means nothing.
 * Whatever arrives and cannot be used is closed again.
 */

#include <sys/types.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "nv_internal.h"

/* What FreeBSD puts into one message; both sides must agree. */
#define	FDS_PER_PACKAGE		85

#ifdef MSG_NOSIGNAL
#define	SEND_FLAGS	MSG_NOSIGNAL
#else
#define	SEND_FLAGS	0
#endif
#ifdef MSG_CMSG_CLOEXEC
#define	RECV_FLAGS	MSG_CMSG_CLOEXEC
#else
#define	RECV_FLAGS	0
#endif

/* How long the socket's owner wants to wait, in milliseconds; -1: ever. */
static int
patience(int sock, bool reading)
{
	struct timeval tv;
	socklen_t len;
	long long ms;

	len = sizeof(tv);
	if (getsockopt(sock, SOL_SOCKET, reading ? SO_RCVTIMEO : SO_SNDTIMEO,
	    &tv, &len) != 0 || (tv.tv_sec == 0 && tv.tv_usec == 0))
		return (-1);
	ms = (long long)tv.tv_sec * 1000 + tv.tv_usec / 1000;
	return (ms < 1 ? 1 : ms > INT_MAX ? INT_MAX : (int)ms);
}

/*
 * After a failed call: true if it is worth another try.  A blocking socket
 * that says EAGAIN has waited for as long as it was told to.
 */
static bool
again(int sock, bool reading)
{
	struct pollfd pfd;
	int flags, n;

	if (errno == EINTR)
		return (true);
	if (errno != EAGAIN && errno != EWOULDBLOCK)
		return (false);
	if ((flags = fcntl(sock, F_GETFL)) == -1 || (flags & O_NONBLOCK) == 0) {
		errno = EAGAIN;
		return (false);
	}
	pfd.fd = sock;
	pfd.events = reading ? POLLIN : POLLOUT;
	pfd.revents = 0;
	n = poll(&pfd, 1, patience(sock, reading));
	if (n > 0 || (n == -1 && errno == EINTR))
		return (true);
	if (n == 0)
		errno = EAGAIN;
	return (false);
}

static int
send_bytes(int sock, const unsigned char *p, size_t n)
{
	ssize_t done;

	while (n > 0) {
		done = send(sock, p, n, SEND_FLAGS);
		if (done == -1) {
			if (!again(sock, false))
				return (-1);
			continue;
		}
		if (done == 0) {
			errno = ENOTCONN;
			return (-1);
		}
		p += done;
		n -= (size_t)done;
	}
	return (0);
}

static int
recv_bytes(int sock, unsigned char *p, size_t n, int flags)
{
	ssize_t done;

	while (n > 0) {
		done = recv(sock, p, n, flags);
		if (done == -1) {
			if (!again(sock, true))
				return (-1);
			continue;
		}
		if (done == 0) {
			errno = ENOTCONN;
			return (-1);
		}
		p += done;
		n -= (size_t)done;
	}
	return (0);
}

/*
 * Room for the control messages of a package, aligned as they must be, also
 * if the peer sends one for each descriptor.
 */
union package {
	struct cmsghdr	align;
	char		room[FDS_PER_PACKAGE * CMSG_SPACE(sizeof(int))];
};
#define	FDS_MAX		(sizeof(union package) / sizeof(int))

static void
package_init(struct msghdr *msg, struct iovec *iov, char *byte,
    union package *pkg, size_t room)
{
	memset(pkg, 0, sizeof(*pkg));
	memset(msg, 0, sizeof(*msg));
	iov->iov_base = byte;
	iov->iov_len = 1;
	msg->msg_iov = iov;
	msg->msg_iovlen = 1;
	msg->msg_control = pkg->room;
	msg->msg_controllen = (socklen_t)room;
}

static int
send_package(int sock, int *fds, size_t nfds)
{
	union package pkg;
	struct cmsghdr *cmsg;
	struct msghdr msg;
	struct iovec iov;
	ssize_t done;
	char byte;

	byte = 0;
	package_init(&msg, &iov, &byte, &pkg,
	    CMSG_SPACE(nfds * sizeof(int)));
	cmsg = CMSG_FIRSTHDR(&msg);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = (socklen_t)CMSG_LEN(nfds * sizeof(int));
	memcpy(CMSG_DATA(cmsg), fds, nfds * sizeof(int));
	do {
		done = sendmsg(sock, &msg, SEND_FLAGS);
	} while (done == -1 && again(sock, false));
	return (done == -1 ? -1 : 0);
}

/* Every descriptor of a message into fds, which has room for FDS_MAX. */
static size_t
unwrap(struct msghdr *msg, int *fds)
{
	struct cmsghdr *cmsg;
	size_t n, total;

	total = 0;
	for (cmsg = CMSG_FIRSTHDR(msg); cmsg != NULL;
	    cmsg = CMSG_NXTHDR(msg, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET ||
		    cmsg->cmsg_type != SCM_RIGHTS ||
		    cmsg->cmsg_len < CMSG_LEN(0))
			continue;
		n = (size_t)(cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		if (n > FDS_MAX - total)
			n = FDS_MAX - total;
		memcpy(fds + total, CMSG_DATA(cmsg), n * sizeof(int));
		total += n;
	}
	return (total);
}

static void
set_cloexec(const int *fds, size_t n)
{
#ifdef MSG_CMSG_CLOEXEC
	(void)fds;
	(void)n;
#else
	size_t i;

	for (i = 0; i < n; i++)
		(void)fcntl(fds[i], F_SETFD, FD_CLOEXEC);
#endif
}

static int
recv_package(int sock, int *fds, size_t nfds)
{
	int got[FDS_MAX];
	union package pkg;
	struct msghdr msg;
	struct iovec iov;
	size_t i, n;
	ssize_t done;
	char byte;

	do {
		package_init(&msg, &iov, &byte, &pkg, sizeof(pkg.room));
		done = recvmsg(sock, &msg, RECV_FLAGS);
	} while (done == -1 && again(sock, true));
	if (done == -1)
		return (-1);
	n = unwrap(&msg, got);
	if (done == 1 && n == nfds && (msg.msg_flags & MSG_CTRUNC) == 0) {
		set_cloexec(got, n);
		memcpy(fds, got, n * sizeof(int));
		return (0);
	}
	for (i = 0; i < n; i++)
		nv_fd_close(got[i]);
	errno = done == 0 ? ENOTCONN : EINVAL;
	return (-1);
}

/* Send or receive nfds descriptors, package by package. */
static int
packages(int sock, int *fds, size_t nfds,
    int (*one)(int sock, int *fds, size_t nfds), size_t *donep)
{
	size_t n;

	for (*donep = 0; *donep < nfds; *donep += n) {
		n = nfds - *donep;
		if (n > FDS_PER_PACKAGE)
			n = FDS_PER_PACKAGE;
		if (one(sock, fds + *donep, n) != 0)
			return (-1);
	}
	return (0);
}

/* A peer that went away is an error, not a signal. */
static void
no_sigpipe(int sock)
{
#ifdef SO_NOSIGPIPE
	int on = 1;

	(void)setsockopt(sock, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof(on));
#else
	(void)sock;
#endif
}

int
nvlist_send(int sock, const nvlist_t *nvl)
{
	unsigned char *buf;
	size_t done, i, nfds, size;
	int error, *fds;

	if ((error = nvlist_error(nvl)) != 0)
		goto err0;
	if ((fds = nv_descriptors(nvl, &nfds)) == NULL) {
		error = ENOMEM;
		goto err0;
	}
	for (i = 0; i < nfds; i++) {
		if (fds[i] == -1) {
			error = EBADF;
			goto err1;
		}
	}
	if (nfds > NV_MAX_DESCRIPTORS || nvlist_size(nvl) > NV_MAX_SIZE) {
		error = EMSGSIZE;
		goto err1;
	}
	if ((buf = nv_pack(nvl, &size)) == NULL) {
		error = errno;
		goto err1;
	}
	no_sigpipe(sock);
	if (send_bytes(sock, buf, size) != 0 ||
	    packages(sock, fds, nfds, send_package, &done) != 0)
		error = errno;
	free(buf);
err1:
	free(fds);
err0:
	if (error != 0)
		errno = error;
	return (error == 0 ? 0 : -1);
}

/* The whole of a message whose header says that it has size bytes. */
static unsigned char *
recv_message(int sock, const unsigned char hdr[NV_WIRE_LIST], bool datagram,
    size_t size)
{
	unsigned char *buf;
	ssize_t n;
	int error;

	if ((buf = malloc(size)) == NULL)
		return (NULL);
	if (!datagram) {
		memcpy(buf, hdr, NV_WIRE_LIST);
		if (recv_bytes(sock, buf + NV_WIRE_LIST, size - NV_WIRE_LIST,
		    0) == 0)
			return (buf);
	} else {
		/* The header was only looked at. */
		do {
			n = recv(sock, buf, size, 0);
		} while (n == -1 && again(sock, true));
		if (n == (ssize_t)size)
			return (buf);
		if (n >= 0)
			errno = EINVAL;
	}
	error = errno;
	free(buf);
	errno = error;
	return (NULL);
}

nvlist_t *
nvlist_recv(int sock, int flags)
{
	unsigned char hdr[NV_WIRE_LIST], *buf;
	int error, *fds, type;
	size_t done, i, nfds, size;
	socklen_t len;
	nvlist_t *nvl;

	nvl = NULL;
	len = sizeof(type);
	if (getsockopt(sock, SOL_SOCKET, SO_TYPE, &type, &len) != 0 ||
	    recv_bytes(sock, hdr, sizeof(hdr),
	    type == SOCK_STREAM ? 0 : MSG_PEEK) != 0)
		return (NULL);
	if ((error = nv_unpack_header(hdr, &size, &nfds)) != 0)
		goto err0;
	buf = recv_message(sock, hdr, type != SOCK_STREAM, size);
	if (buf == NULL) {
		error = errno;
		goto err0;
	}
	if ((fds = calloc(nfds + 1, sizeof(fds[0]))) == NULL) {
		error = ENOMEM;
		goto err1;
	}
	if (packages(sock, fds, nfds, recv_package, &done) != 0 ||
	    (nvl = nv_unpack(buf, size, fds, nfds, flags)) == NULL)
		error = errno;
	/* Those that are in the list are -1 by now. */
	for (i = 0; i < done; i++)
		nv_fd_close(fds[i]);
	free(fds);
err1:
	free(buf);
err0:
	if (error != 0)
		errno = error;
	return (nvl);
}

nvlist_t *
nvlist_xfer(int sock, nvlist_t *nvl, int flags)
{
	int rc;

	rc = nvlist_send(sock, nvl);
	nvlist_destroy(nvl);
	return (rc < 0 ? NULL : nvlist_recv(sock, flags));
}
