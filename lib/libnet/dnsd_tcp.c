/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Connections of the relay: from sandboxes, one query at a time, and to
 * unbound, for answers that did not fit into a datagram.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dnsd.h"

#define	INMAX	(DNS_MAXMSG + 2)
#define	QUERYMAX 1024		/* no honest query is longer */

static struct dnsd_conn *
conn_new(struct dnsd *d, int fd)
{
	struct dnsd_conn *c;
	int i;

	for (i = 0; i < DNSD_CONNS; i++)
		if (d->conn[i].fd < 0)
			break;
	if (i == DNSD_CONNS)
		return (NULL);
	c = &d->conn[i];
	memset(c, 0, sizeof(*c));
	c->fd = fd;
	c->until = co_after(DNSD_IDLE);
	return (c);
}

void
dnsd_conn_close(struct dnsd *d, struct dnsd_conn *c)
{
	struct dnsd_box *b;

	if (c->fd < 0)
		return;
	close(c->fd);
	free(c->in);
	free(c->out);
	if (!c->up && (b = dnsd_find(d, &c->from)) != NULL && b->conns > 0)
		b->conns--;
	if (c->pending != NULL && c->up)
		c->pending->up = NULL;
	else if (c->pending != NULL) {
		c->pending->conn = NULL;
		dnsd_forget(d, c->pending);
	}
	memset(c, 0, sizeof(*c));
	c->fd = -1;
}

void
dnsd_conn_accept(struct dnsd *d, int lfd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	struct net_addr a;
	struct dnsd_conn *c;
	struct dnsd_box *b;
	int fd;

	if ((fd = accept(lfd, (struct sockaddr *)&ss, &len)) < 0)
		return;
	if (!dnsd_addr(&ss, &a) || (b = dnsd_find(d, &a)) == NULL ||
	    b->conns >= DNSD_PERBOX ||
	    fcntl(fd, F_SETFL, O_NONBLOCK) != 0 ||
	    (c = conn_new(d, fd)) == NULL) {
		close(fd);
		return;
	}
	c->from = a;
	b->conns++;
	if ((c->in = malloc(QUERYMAX + 2)) == NULL)
		dnsd_conn_close(d, c);
}

/* Ask unbound again, by a connection. */
int
dnsd_conn_up(struct dnsd *d, struct dnsd_pending *p)
{
	struct dnsd_conn *c;
	uint8_t q[600];
	size_t n;
	int fd;

	n = net_dns_ask(&p->q, p->id, q + 2, sizeof(q) - 2);
	fd = socket(d->up.ss_family, SOCK_STREAM, 0);
	if (n == 0 || fd < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0 ||
	    (connect(fd, (struct sockaddr *)&d->up, d->uplen) != 0 &&
	    errno != EINPROGRESS) || (c = conn_new(d, fd)) == NULL) {
		if (fd >= 0)
			close(fd);
		return (-1);
	}
	c->up = c->connecting = true;
	c->pending = p;
	p->up = c;
	if ((c->in = malloc(INMAX)) == NULL) {
		dnsd_conn_close(d, c);
		return (-1);
	}
	dnsd_conn_send(d, c, q + 2, n);
	return (0);
}

short
dnsd_conn_wants(const struct dnsd_conn *c)
{

	if (c->outat < c->outlen)
		return (POLLOUT);
	/* A sandbox is heard again when it has its answer. */
	return (!c->up && c->pending != NULL ? 0 : POLLIN);
}

void
dnsd_conn_send(struct dnsd *d, struct dnsd_conn *c, const uint8_t *p,
    size_t n)
{

	free(c->out);
	if ((c->out = malloc(n + 2)) == NULL) {
		dnsd_conn_close(d, c);
		return;
	}
	c->out[0] = (uint8_t)(n >> 8);
	c->out[1] = (uint8_t)n;
	memcpy(c->out + 2, p, n);
	c->outlen = n + 2;
	c->outat = 0;
	c->until = co_after(DNSD_IDLE);
}

static void
conn_write(struct dnsd *d, struct dnsd_conn *c)
{
	ssize_t n;

	n = send(c->fd, c->out + c->outat, c->outlen - c->outat,
	    MSG_NOSIGNAL);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		dnsd_conn_close(d, c);
		return;
	}
	c->connecting = false;
	c->outat += (size_t)n;
}

/* A whole message has come in: an answer, or a query. */
static void
conn_message(struct dnsd *d, struct dnsd_conn *c, const uint8_t *p, size_t n)
{
	struct dnsd_pending *pe = c->pending;

	if (c->up) {
		c->pending = NULL;
		pe->up = NULL;
		dnsd_answer(d, pe, p, n);
		dnsd_conn_close(d, c);
		return;
	}
	dnsd_query(d, p, n, &c->from, -1, NULL, 0, c);
}

static void
conn_read(struct dnsd *d, struct dnsd_conn *c)
{
	size_t max = c->up ? INMAX : QUERYMAX + 2, want;
	uint8_t msg[QUERYMAX];
	ssize_t n;

	want = c->inlen < 2 ? 2 : 2 + ((size_t)c->in[0] << 8 | c->in[1]);
	if (want > max) {
		dnsd_conn_close(d, c);
		return;
	}
	n = recv(c->fd, c->in + c->inlen, want - c->inlen, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		dnsd_conn_close(d, c);
		return;
	}
	c->inlen += (size_t)n;
	if (c->inlen < want || c->inlen < 3)
		return;
	if (c->inlen != 2 + ((size_t)c->in[0] << 8 | c->in[1]))
		return;
	if (c->up) {
		conn_message(d, c, c->in + 2, c->inlen - 2);
		return;
	}
	want = c->inlen - 2;
	memcpy(msg, c->in + 2, want);
	c->inlen = 0;
	conn_message(d, c, msg, want);
}

void
dnsd_conn_event(struct dnsd *d, struct dnsd_conn *c, short ev)
{

	if (ev & POLLOUT)
		conn_write(d, c);
	else if (ev & POLLIN)
		conn_read(d, c);
	else if (ev & (POLLERR | POLLHUP | POLLNVAL))
		dnsd_conn_close(d, c);
}
