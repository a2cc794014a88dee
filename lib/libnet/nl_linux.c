/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Netlink in batches.  The kernel works a batch off within sendmsg(2), so
 * when that returns all answers wait in the socket, and a killed sender has
 * sent all or nothing.
 */

#include <sys/socket.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nl_linux.h"

#define	NL_BATCH	(2 * 1024 * 1024)
#define	NL_SLACK	(128 * 1024)

struct opening {
	int		 bus, netns, err;
	struct mnl_socket *sock;
};

static void *
nl_open_there(void *arg)
{
	struct opening *o = arg;

	if (setns(o->netns, CLONE_NEWNET) != 0 ||
	    (o->sock = mnl_socket_open2(o->bus, SOCK_CLOEXEC)) == NULL)
		o->err = errno;
	return (NULL);
}

/*
 * A socket belongs to the namespace in which it was made.  A thread that is
 * thrown away goes there, so that none of the daemon's ever leaves home.
 */
static int
nl_socket(struct opening *o)
{
	pthread_t t;

	if (o->netns < 0) {
		o->sock = mnl_socket_open2(o->bus, SOCK_CLOEXEC);
		return (o->sock == NULL ? errno : 0);
	}
	if ((o->err = pthread_create(&t, NULL, nl_open_there, o)) != 0)
		return (o->err);
	pthread_join(t, NULL);
	return (o->err);
}

struct net_nl *
net_nl_open(int bus, int netns, struct co_error *e)
{
	struct opening o = { bus, netns, 0, NULL };
	struct net_nl *nl;
	int err, one = 1, size = NL_BATCH + NL_SLACK;

	if ((nl = calloc(1, sizeof(*nl))) == NULL) {
		err = ENOMEM;
		goto err0;
	}
	nl->cap = NL_BATCH;
	if ((nl->buf = malloc(nl->cap)) == NULL) {
		err = ENOMEM;
		goto err1;
	}
	if ((err = nl_socket(&o)) != 0)
		goto err2;
	nl->sock = o.sock;
	(void)setsockopt(mnl_socket_get_fd(nl->sock), SOL_SOCKET,
	    SO_SNDBUFFORCE, &size, sizeof(size));
	(void)setsockopt(mnl_socket_get_fd(nl->sock), SOL_SOCKET,
	    SO_RCVBUFFORCE, &size, sizeof(size));
	(void)mnl_socket_setsockopt(nl->sock, NETLINK_EXT_ACK, &one,
	    sizeof(one));
	(void)mnl_socket_setsockopt(nl->sock, NETLINK_CAP_ACK, &one,
	    sizeof(one));
	if (mnl_socket_bind(nl->sock, 0, MNL_SOCKET_AUTOPID) != 0) {
		err = errno;
		goto err3;
	}
	nl->portid = mnl_socket_get_portid(nl->sock);
	nl->seq = (uint32_t)time(NULL);
	return (nl);
err3:
	mnl_socket_close(nl->sock);
err2:
	free(nl->buf);
err1:
	free(nl);
err0:
	co_error_errno(e, err, "netlink", "can't open a netlink socket");
	return (NULL);
}

void
net_nl_close(struct net_nl *nl)
{

	if (nl == NULL)
		return;
	mnl_socket_close(nl->sock);
	free(nl->buf);
	free(nl);
}

void
net_nl_begin(struct net_nl *nl)
{

	nl->len = 0;
	nl->first = nl->seq + 1;
	nl->failed = -1;
	nl->why[0] = '\0';
}

size_t
net_nl_room(const struct net_nl *nl)
{

	return (nl->cap - nl->len);
}

/*
 * One message of ours is far below the slack; a batch that would not fit is
 * cut short and fails with ENOBUFS when committed.
 */
struct nlmsghdr *
net_nl_msg(struct net_nl *nl, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *h;

	if (net_nl_room(nl) < NL_SLACK)
		nl->failed = -2;
	h = mnl_nlmsg_put_header(nl->buf +
	    (nl->failed == -2 ? 0 : nl->len));
	h->nlmsg_type = type;
	h->nlmsg_flags = NLM_F_REQUEST | flags;
	h->nlmsg_seq = ++nl->seq;
	return (h);
}

void
net_nl_end(struct net_nl *nl, struct nlmsghdr *h)
{

	if (nl->failed != -2)
		nl->len += NLMSG_ALIGN(h->nlmsg_len);
}

static int
nl_why(const struct nlattr *a, void *arg)
{
	struct net_nl *nl = arg;

	if (mnl_attr_get_type(a) == NLMSGERR_ATTR_MSG &&
	    mnl_attr_validate(a, MNL_TYPE_NUL_STRING) == 0 &&
	    strlen(mnl_attr_get_str(a)) < sizeof(nl->why))
		strcpy(nl->why, mnl_attr_get_str(a));
	return (MNL_CB_OK);
}

static int
nl_error(struct net_nl *nl, const struct nlmsghdr *h)
{
	const struct nlmsgerr *er = mnl_nlmsg_get_payload(h);
	size_t off = sizeof(*er);

	if (h->nlmsg_len < mnl_nlmsg_size(sizeof(*er)))
		return (EBADMSG);
	if (er->error == 0)
		return (0);
	nl->failed = (int)(h->nlmsg_seq - nl->first);
	nl->why[0] = '\0';
	if (h->nlmsg_flags & NLM_F_ACK_TLVS) {
		if (!(h->nlmsg_flags & NLM_F_CAPPED))
			off += ((er->msg.nlmsg_len + 3u) & ~3u) -
			    sizeof(struct nlmsghdr);
		mnl_attr_parse(h, (unsigned)off, nl_why, nl);
	}
	return (er->error < 0 ? -er->error : er->error);
}

int
net_nl_commit(struct net_nl *nl)
{
	char buf[32768] __attribute__((__aligned__(8)));
	const struct nlmsghdr *h;
	int err = 0, one, len;
	ssize_t n;

	if (nl->failed == -2)
		return (ENOBUFS);
	if (mnl_socket_sendto(nl->sock, nl->buf, nl->len) < 0)
		return (errno);
	for (;;) {
		n = recv(mnl_socket_get_fd(nl->sock), buf, sizeof(buf),
		    MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return (err);
		if (n <= 0)
			return (err != 0 ? err : errno);
		len = (int)n;
		for (h = (const void *)buf; mnl_nlmsg_ok(h, len);
		    h = mnl_nlmsg_next(h, &len)) {
			if (h->nlmsg_type != NLMSG_ERROR || err != 0)
				continue;
			if ((one = nl_error(nl, h)) != 0)
				err = one;
		}
	}
}

int
net_nl_query(struct net_nl *nl, mnl_cb_t cb, void *arg)
{
	char buf[65536] __attribute__((__aligned__(8)));
	ssize_t n;
	int r;

	if (mnl_socket_sendto(nl->sock, nl->buf, nl->len) < 0)
		return (errno);
	for (;;) {
		n = mnl_socket_recvfrom(nl->sock, buf, sizeof(buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return (errno);
		r = mnl_cb_run(buf, (size_t)n, nl->seq, nl->portid, cb, arg);
		if (r == MNL_CB_STOP)
			return (0);
		if (r < 0)
			return (errno);
	}
}
