/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A connection: what goes over its socket, and when.
 */

#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl_internal.h"

#ifndef MSG_CMSG_CLOEXEC
#define	MSG_CMSG_CLOEXEC	0	/* set one by one, below */
#endif
#ifndef MSG_NOSIGNAL
#define	MSG_NOSIGNAL		0	/* SO_NOSIGPIPE does it */
#endif

#define	TURN	(256 * 1024)	/* bytes that one dispatch receives */

/* Room for the descriptors of one message, aligned as the kernel wants. */
union control {
	struct cmsghdr	hdr;
	char		buf[CMSG_SPACE(CTL_MAX_FDS * sizeof(int))];
};

int
ctl_new(int fd, struct ctl **cp, struct co_error *e)
{
	struct ctl *c;
	int flags;

	if ((flags = fcntl(fd, F_GETFL)) == -1 ||
	    fcntl(fd, F_SETFL, flags | O_NONBLOCK) == -1)
		return (co_error_errno(e, errno, "control socket",
		    "can't use it"));
	if ((c = calloc(1, sizeof(*c))) == NULL)
		return (co_error_errno(e, ENOMEM, "control socket",
		    "can't use it"));
#ifdef SO_NOSIGPIPE
	flags = 1;
	(void)setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &flags, sizeof(flags));
#endif
	c->fd = fd;
	c->tail = &c->head;
	*cp = c;
	return (0);
}

void
ctl_free(struct ctl *c)
{
	struct ctl_out *o;

	if (c == NULL)
		return;
	while ((o = c->head) != NULL) {
		c->head = o->next;
		ctl_out_free(o);
	}
	ctl_in_free(&c->in);
	(void)close(c->fd);
	free(c);
}

int
ctl_connect(const char *path, struct ctl **cp, struct co_error *e)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int error, fd;

	if (strlen(path) >= sizeof(sun.sun_path))
		return (co_error_errno(e, ENAMETOOLONG, path, "socket"));
	memcpy(sun.sun_path, path, strlen(path) + 1);
	if ((fd = socket(AF_UNIX, SOCK_STREAM, 0)) == -1)
		return (co_error_errno(e, errno, path, "socket"));
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0) {
		if (ctl_new(fd, cp, e) == 0)
			return (0);
		(void)close(fd);
		return (-1);
	}
	error = errno;
	(void)close(fd);
	if (error == ENOENT || error == ECONNREFUSED)
		return (co_error_errno(e, error, path, "nobody serves this "
		    "socket; start coppiced(8)"));
	return (co_error_errno(e, error, path, "can't connect"));
}

int
ctl_fd(const struct ctl *c)
{

	return (c->fd);
}

int
ctl_want(const struct ctl *c)
{

	return ((c->paused || c->ended ? 0 : POLLIN) |
	    (c->head != NULL ? POLLOUT : 0));
}

void
ctl_pause(struct ctl *c, bool on)
{

	c->paused = on;
}

size_t
ctl_backlog(const struct ctl *c)
{

	return (c->backlog);
}

uint64_t
ctl_number(struct ctl *c)
{

	return (++c->number);
}

int
ctl_send(struct ctl *c, const nvlist_t *nv, const int *fds, size_t nfds,
    struct co_error *e)
{
	struct ctl_out *o;
	int error;

	if (c->backlog > CTL_MAX_BACKLOG || (nfds > 0 &&
	    c->queued + CTL_MAX_FDS > CTL_MAX_QUEUED))
		return (co_error_set(e, CO_ESYS_NOSPACE, "control socket",
		    "the peer does not take what it was sent"));
	if ((error = ctl_out_make(nv, fds, nfds, &o)) == EMSGSIZE)
		return (co_error_set(e, CO_EPROTO_TOOBIG, "message",
		    "it is longer than %d bytes, or has more than %d "
		    "descriptors", CTL_MAX_MESSAGE, CTL_MAX_FDS));
	if (error != 0)
		return (co_error_errno(e, error, "message", "can't send it"));
	*c->tail = o;
	c->tail = &o->next;
	c->backlog += o->len;
	c->queued += o->nfds;
	return (0);
}

static ssize_t
send_some(struct ctl *c, struct ctl_out *o)
{
	struct iovec iov = { o->data + o->off, o->len - o->off };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *h;
	union control u;

	if (o->nfds > 0) {
		memset(&u, 0, sizeof(u));
		m.msg_control = u.buf;
		m.msg_controllen = (socklen_t)CMSG_SPACE(o->nfds *
		    sizeof(int));
		h = CMSG_FIRSTHDR(&m);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = (socklen_t)CMSG_LEN(o->nfds * sizeof(int));
		memcpy(CMSG_DATA(h), o->fds, o->nfds * sizeof(int));
	}
	return (sendmsg(c->fd, &m, MSG_NOSIGNAL));
}

/* Send what the peer takes. */
static int
flush(struct ctl *c)
{
	struct ctl_out *o;
	ssize_t n;

	while ((o = c->head) != NULL) {
		if ((n = send_some(c, o)) == -1) {
			if (errno == EINTR)
				continue;
			/* Many descriptors in flight: try again later. */
			if (errno == EAGAIN || errno == EWOULDBLOCK ||
			    errno == ENOBUFS || errno == ETOOMANYREFS)
				return (0);
			return (errno);
		}
		/* Descriptors go with the first byte. */
		ctl_close_fds(o->fds, o->nfds);
		c->queued -= o->nfds;
		o->nfds = 0;
		o->off += (size_t)n;
		c->backlog -= (size_t)n;
		if (o->off < o->len)
			continue;
		if ((c->head = o->next) == NULL)
			c->tail = &c->head;
		ctl_out_free(o);
	}
	return (0);
}

void
ctl_flush(struct ctl *c)
{

	(void)flush(c);
}

/* Keep the descriptors of one received message; EPROTO: too many. */
static int
take_fds(struct ctl_in *in, struct msghdr *m)
{
	struct cmsghdr *h;
	size_t n;
	int error, fd;

	error = (m->msg_flags & MSG_CTRUNC) != 0 ? EPROTO : 0;
	for (h = CMSG_FIRSTHDR(m); h != NULL; h = CMSG_NXTHDR(m, h)) {
		if (h->cmsg_level != SOL_SOCKET ||
		    h->cmsg_type != SCM_RIGHTS)
			continue;
		n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(h) + i * sizeof(int),
			    sizeof(fd));
			(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
			if (in->nfds < CTL_FDQUEUE) {
				in->fds[in->nfds++] = fd;
			} else {
				(void)close(fd);
				error = EPROTO;
			}
		}
	}
	return (error);
}

/* Receive once; store how many bytes came. */
static int
receive(struct ctl *c, size_t *got)
{
	struct msghdr m = { .msg_iovlen = 1 };
	struct iovec iov;
	union control u;
	uint8_t *p;
	ssize_t n;
	size_t room;
	int error;

	*got = 0;
	if ((error = ctl_in_room(&c->in, &p, &room)) != 0)
		return (error);
	iov.iov_base = p;
	iov.iov_len = room;
	m.msg_iov = &iov;
	m.msg_control = u.buf;
	m.msg_controllen = sizeof(u.buf);
	do
		n = recvmsg(c->fd, &m, MSG_CMSG_CLOEXEC);
	while (n == -1 && errno == EINTR);
	if (n == -1)
		return (errno);
	c->in.len += (size_t)n;
	c->ended = n == 0;
	*got = (size_t)n;
	return (take_fds(&c->in, &m));
}

/* Hand over what is complete. */
static int
deliver(struct ctl *c, ctl_message_fn *fn, void *arg, struct co_error *e)
{
	const char *why;
	nvlist_t *nv;
	size_t nfds;
	int fds[CTL_MAX_FDS];
	int error;

	while (!c->paused) {
		error = ctl_in_take(&c->in, &nv, fds, &nfds, &why);
		if (error == EAGAIN && ctl_in_settled(&c->in))
			return (0);
		if (error == EAGAIN)
			why = "descriptors that no message announces";
		if (error != 0)
			return (co_error_set(e, CO_EPROTO_MALFORMED,
			    "control socket", "the peer sent %s", why));
		fn(arg, nv, fds, nfds);
	}
	return (0);
}

static int
hung_up(const struct ctl *c, struct co_error *e)
{

	if (c->in.len != c->in.off)
		return (co_error_set(e, CO_EPROTO_MALFORMED, "control socket",
		    "the peer hung up within a message"));
	if (e != NULL)
		memset(e, 0, sizeof(*e));
	return (-1);
}

int
ctl_dispatch(struct ctl *c, int revents, ctl_message_fn *fn, void *arg,
    struct co_error *e)
{
	size_t got, sum;
	int error;

	if ((error = flush(c)) != 0 && error != EPIPE && error != ECONNRESET)
		return (co_error_errno(e, error, "control socket", "send"));
	if (deliver(c, fn, arg, e) != 0)
		return (-1);
	/* Nobody is there to be answered, and poll(2) would not rest. */
	if (c->paused && (revents & (POLLHUP | POLLERR)) != 0) {
		if (e != NULL)
			memset(e, 0, sizeof(*e));
		return (-1);
	}
	sum = 0;
	while ((revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !c->paused &&
	    !c->ended && sum < TURN) {
		if ((error = receive(c, &got)) == EAGAIN)
			break;
		if (error == EPROTO)
			return (co_error_set(e, CO_EPROTO_MALFORMED,
			    "control socket", "too many descriptors"));
		if (error == ECONNRESET)
			c->ended = true;
		else if (error != 0)
			return (co_error_errno(e, error, "control socket",
			    "receive"));
		else
			sum += got;
		if (deliver(c, fn, arg, e) != 0)
			return (-1);
	}
	if (c->ended && !c->paused)
		return (hung_up(c, e));
	/* What the messages made us answer. */
	(void)flush(c);
	return (0);
}
