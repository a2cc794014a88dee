/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Streams between the host and ports that programs offer on 127.0.0.1 or
 * ::1: relayed over the channel, or the socket itself handed to the host
 * where the channel can carry it.
 */

#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "feed.h"
#include "guest.h"
#include "tcp.h"

struct dial {
	struct dial	*next;
	struct guest	*g;
	int64_t		 req;
	struct ev_src	 src;
	struct feed	 feed;		/* from the host */
	uint64_t	 sent;		/* to the host */
	uint64_t	 acked;
	uint16_t	 port;
	bool		 six;
	bool		 hand_over;
	bool		 connected;
	bool		 readable;
	bool		 ended;		/* the program says no more */
	bool		 shut;		/* and it was told that we don't */
};

static struct dial *
find(const struct guest *g, const struct sw_msg *m)
{
	int64_t req = sw_num(m, F_REQ, 0);
	struct dial *d;

	for (d = g->dials; d != NULL && d->req != req; d = d->next)
		;
	return (d);
}

bool
dial_busy(const struct guest *g, int64_t req)
{

	for (struct dial *d = g->dials; d != NULL; d = d->next)
		if (d->req == req)
			return (true);
	return (false);
}

static void
destroy(struct dial *d)
{
	struct guest *g = d->g;
	struct dial **at;

	for (at = &g->dials; *at != d; at = &(*at)->next)
		;
	*at = d->next;
	g->ndials--;
	ev_close(g->ev, &d->src);
	feed_kill(&d->feed);
	free(d);
}

static void
finish(struct dial *d, int error)
{

	session_reply(d->g, d->req, error, NULL);
	destroy(d);
}

static void
want(struct dial *d)
{
	unsigned w = 0;

	if (!d->connected || d->feed.len > 0)
		w |= EV_OUT;
	if (d->connected && !d->ended && !d->readable &&
	    d->sent < d->acked + SW_STREAM)
		w |= EV_IN;
	(void)ev_want(d->g->ev, &d->src, w);
}

/* Pass on what came from the host, and its end. */
static int
flush(struct dial *d)
{
	int error;

	if (!d->connected)
		return (0);
	error = feed_flush(&d->feed, d->src.fd);
	if (error == EAGAIN)
		return (0);
	if (error == 0 && d->feed.eof && !d->shut) {
		d->shut = true;
		(void)shutdown(d->src.fd, SHUT_WR);
	}
	return (error);
}

static void on_ready(void *, unsigned);

static int
begin(struct dial *d)
{
	int fd;

	if ((fd = tcp_dial(d->port, d->six)) == -1)
		return (errno);
	ev_init(&d->src, fd, on_ready, d);
	want(d);
	return (0);
}

/* Connected: say so, or give the socket away. */
static void
established(struct dial *d)
{
	struct sw_msg m;
	int fd;

	d->connected = true;
	sw_init(&m, W_CONNECTED);
	sw_set_num(&m, F_REQ, d->req);
	if (!d->hand_over) {
		chan_send(d->g, &m);
		if (flush(d) == 0)
			want(d);
		else
			finish(d, EPIPE);
		return;
	}
	sw_set_num(&m, F_FDS, 1);
	if ((fd = dup(d->src.fd)) == -1) {
		finish(d, errno);
		return;
	}
	if (chan_send_fd(d->g, &m, fd) != 0) {
		close(fd);
		finish(d, EOPNOTSUPP);
		return;
	}
	finish(d, 0);
}

static void
on_ready(void *arg, unsigned got)
{
	struct dial *d = arg;
	int error;

	if (!d->connected) {
		error = tcp_result(d->src.fd);
		if (error != 0 && !d->six) {
			ev_close(d->g->ev, &d->src);
			d->six = true;
			/* What matters is that nobody was on the first. */
			if (begin(d) == 0)
				return;
		}
		if (error != 0)
			finish(d, error);
		else
			established(d);
		return;
	}
	if ((got & EV_OUT) != 0 && flush(d) != 0) {
		finish(d, ECONNRESET);
		return;
	}
	if ((got & EV_IN) != 0)
		d->readable = true;
	want(d);
}

void
dial_start(struct guest *g, const struct sw_msg *m)
{
	int64_t req = sw_num(m, F_REQ, 0);
	struct dial *d;
	int error;

	if (g->ndials == MAXDIALS) {
		session_reply(g, req, EAGAIN, "too many streams");
		return;
	}
	if ((d = calloc(1, sizeof(*d))) == NULL) {
		session_reply(g, req, ENOMEM, NULL);
		return;
	}
	d->g = g;
	d->req = req;
	d->src.fd = -1;
	d->port = (uint16_t)sw_num(m, F_PORT, 0);
	d->hand_over = sw_num(m, F_FDS, 0) != 0;
	d->next = g->dials;
	g->dials = d;
	g->ndials++;
	if ((error = begin(d)) != 0)
		finish(d, error);
}

bool
dial_data(struct guest *g, const struct sw_msg *m, const char *data,
    size_t len)
{
	struct dial *d;

	if ((d = find(g, m)) == NULL)
		return (false);
	if (feed_put(&d->feed, (uint64_t)sw_num(m, F_OFFSET, 0), data, len,
	    sw_num(m, F_EOF, 0) != 0) == EPROTO) {
		chan_refuse(g, 0, "data", "more than was granted");
		return (true);
	}
	g->activity += (int64_t)len;
	if (flush(d) != 0)
		finish(d, ECONNRESET);
	else
		want(d);
	return (true);
}

bool
dial_ack(struct guest *g, const struct sw_msg *m)
{
	uint64_t offset = (uint64_t)sw_num(m, F_OFFSET, 0);
	struct dial *d;

	if ((d = find(g, m)) == NULL)
		return (false);
	if (offset > d->sent) {
		chan_refuse(g, 0, "ack", "of what was not sent");
	} else if (offset > d->acked) {
		d->acked = offset;
		want(d);
	}
	return (true);
}

bool
dial_close(struct guest *g, const struct sw_msg *m)
{
	struct dial *d;

	if ((d = find(g, m)) == NULL)
		return (false);
	finish(d, ECANCELED);
	return (true);
}

void
dial_detach(struct guest *g)
{

	while (g->dials != NULL)
		destroy(g->dials);
}

/* Read once and pass it on; true if there may be more. */
static bool
pull(struct dial *d)
{
	size_t chunk = chan_chunk(d->g);
	uint64_t left = d->acked + SW_STREAM - d->sent;
	struct sw_msg m;
	char buf[CHUNK];
	ssize_t n;

	if (!d->readable || left == 0)
		return (false);
	n = read(d->src.fd, buf, left < chunk ? (size_t)left : chunk);
	if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
		d->readable = false;
		want(d);
		return (false);
	}
	sw_init(&m, W_DATA);
	sw_set_num(&m, F_REQ, d->req);
	sw_set_num(&m, F_OFFSET, (int64_t)d->sent);
	if (n <= 0) {
		d->ended = true;
		d->readable = false;
		sw_set_num(&m, F_EOF, 1);
		chan_send(d->g, &m);
		want(d);
		return (false);
	}
	d->sent += (uint64_t)n;
	chan_bulk(d->g, &m, buf, (size_t)n);
	return (true);
}

bool
dial_pump(struct guest *g)
{
	struct dial *d, *next;
	struct sw_msg m;
	uint64_t offset;
	bool more = false;

	for (d = g->dials; d != NULL && chan_room(g); d = next) {
		next = d->next;
		if (feed_tell(&d->feed, &offset)) {
			sw_init(&m, W_ACK);
			sw_set_num(&m, F_REQ, d->req);
			sw_set_num(&m, F_OFFSET, (int64_t)offset);
			chan_send(g, &m);
		}
		more = pull(d) || more;
		if (d->ended && d->shut)
			finish(d, 0);
	}
	return (more);
}
