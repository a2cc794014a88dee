/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The connection to the host, of which there is one at a time: an inherited
 * descriptor, one accepted from an inherited listening socket, a
 * virtio-serial port or a vsock.  The newest connection is the host.  The
 * host speaks first; until it said hello, nothing is sent.
 */

#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"

#define	OUTCAP		(1 << 20)	/* all that may wait to be sent */
#define	HIGH		(128 * 1024)	/* no more requests are read */
#define	BULK		(64 * 1024)	/* no more bulk data is sent */
#define	READS		8		/* before others get their turn */
#define	RETRY_MS	200
#define	STALL_MS	500

static void on_io(void *, unsigned);

static void
begin(struct guest *g, int fd)
{
	struct chan *c = &g->chan;
	bool sock = sf_is_socket(fd);
	int flags;

	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	if ((flags = fcntl(fd, F_GETFL)) != -1)
		(void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	sf_in_reset(&c->in, sock);
	sf_out_reset(&c->out, sock);
	c->greeted = c->failing = c->paused = false;
	ev_init(&c->src, fd, on_io, g);
	(void)ev_want(g->ev, &c->src, EV_IN);
}

/* The host is gone; wait for another one, if one can come. */
static void
end(struct guest *g)
{
	struct chan *c = &g->chan;
	bool greeted = c->greeted;

	c->greeted = c->failing = false;
	if (c->kind == CHAN_SERIAL && !isatty(c->src.fd))
		(void)ev_want(g->ev, &c->src, 0);
	else
		ev_close(g->ev, &c->src);
	sf_in_reset(&c->in, false);
	sf_out_reset(&c->out, false);
	if (greeted)
		session_end(g);
	if (c->kind != CHAN_FD)
		ev_start(g->ev, &c->retry, RETRY_MS);
	else if (c->listen.fd == -1 && c->src.fd == -1)
		session_shutdown(g, 0, g->init ? WH_POWEROFF : WH_EXIT);
}

/* After a host that broke the protocol. */
static void
hang_up(struct guest *g)
{
	struct chan *c = &g->chan;

	end(g);
	/* A port can't be closed: wait for the next hello on it at once. */
	if (c->kind == CHAN_SERIAL && c->src.fd != -1) {
		ev_stop(g->ev, &c->retry);
		begin(g, c->src.fd);
	}
}

/*
 * A port says that the host went, and may be late: the next host's hello
 * comes by another queue, and we may have read it already.  Between two
 * messages, see first whether somebody is there.
 */
static void
lost(struct guest *g)
{
	struct chan *c = &g->chan;

	if (c->kind != CHAN_SERIAL || !c->greeted || c->in.len != c->in.start +
	    c->in.used || isatty(c->src.fd)) {
		end(g);
		return;
	}
	(void)ev_want(g->ev, &c->src, 0);
	ev_start(g->ev, &c->retry, RETRY_MS);
}

/* Handle what was read, until the answers pile up. */
static bool
process(struct guest *g)
{
	struct chan *c = &g->chan;
	struct sw_msg *m;
	const char *data;
	size_t len;
	int error;

	c->paused = false;
	while (!c->failing && c->src.fd != -1 && c->out.len < HIGH) {
		error = sf_next(&c->in, &m, &data, &len);
		if (error == EAGAIN)
			return (true);
		if (error != 0) {
			chan_refuse(g, 0, sw_field_name(m->which),
			    m->why != NULL ? m->why : "line too long");
			return (false);
		}
		session_message(g, m, data, len);
	}
	c->paused = !c->failing && c->src.fd != -1;
	return (false);
}

static void
on_io(void *arg, unsigned got)
{
	struct guest *g = arg;
	struct chan *c = &g->chan;
	int error;

	if ((got & EV_IN) != 0) {
		for (int i = 0; i < READS && process(g); i++) {
			error = sf_read(&c->in, c->src.fd);
			if (error == EAGAIN)
				return;
			if (error != 0) {
				lost(g);
				return;
			}
		}
		(void)process(g);
	}
}

static void
on_listen(void *arg, unsigned got)
{
	struct guest *g = arg;
	int fd;

	(void)got;
	if ((fd = accept(g->chan.listen.fd, NULL, NULL)) == -1)
		return;
	if (!chan_peer_ok(fd)) {
		close(fd);
		return;
	}
	if (g->chan.src.fd != -1) {
		enum chan_kind kind = g->chan.kind;

		g->chan.kind = CHAN_FD;
		end(g);
		g->chan.kind = kind;
	}
	begin(g, fd);
}

/* The loop flushes after every round, and this makes for one. */
static void
on_stall(void *arg)
{

	(void)arg;
}

static void
on_retry(void *arg)
{
	struct guest *g = arg;
	struct chan *c = &g->chan;
	struct pollfd pfd = { .fd = c->src.fd, .events = POLLIN };
	int fd = c->src.fd;

	if (c->kind == CHAN_SERIAL && fd != -1) {
		/* The port says hang-up for as long as nobody is there. */
		if (poll(&pfd, 1, 0) == 1 && (pfd.revents & POLLHUP) != 0)
			fd = -1;
		if (c->greeted && fd == -1) {
			end(g);
			return;
		}
		if (c->greeted) {
			(void)ev_want(g->ev, &c->src, EV_IN);
			return;
		}
	} else if (c->kind == CHAN_SERIAL) {
		fd = chan_serial_open(c->path);
	} else {
		fd = chan_vsock_connect(c->cid, c->port);
	}
	if (fd == -1)
		ev_start(g->ev, &c->retry, RETRY_MS);
	else
		begin(g, fd);
}

int
chan_open(struct guest *g)
{
	struct chan *c = &g->chan;
	int fd = c->src.fd, error;

	if ((error = sf_in_init(&c->in, SW_HOST)) != 0 ||
	    (error = sf_out_init(&c->out, SW_SHIM, OUTCAP)) != 0)
		return (error);
	c->retry = (struct ev_timer){ .fn = on_retry, .arg = g };
	c->stall = (struct ev_timer){ .fn = on_stall, .arg = g };
	if (c->listen.fd != -1) {
		(void)fcntl(c->listen.fd, F_SETFD, FD_CLOEXEC);
		(void)fcntl(c->listen.fd, F_SETFL, O_NONBLOCK);
		ev_init(&c->listen, c->listen.fd, on_listen, g);
		if ((error = ev_want(g->ev, &c->listen, EV_IN)) != 0)
			return (error);
	}
	ev_init(&c->src, -1, on_io, g);
	if (c->kind != CHAN_FD)
		ev_start(g->ev, &c->retry, 1);
	else if (fd != -1)
		begin(g, fd);
	return (0);
}

void
chan_send(struct guest *g, struct sw_msg *m)
{
	struct chan *c = &g->chan;

	if (!c->greeted || c->failing)
		return;
	if (sf_put(&c->out, m, NULL, 0, NULL, 0) != 0)
		c->failing = true;
}

int
chan_send_fd(struct guest *g, struct sw_msg *m, int fd)
{
	struct chan *c = &g->chan;

	if (!c->greeted || c->failing)
		return (ENOTCONN);
	return (sf_put(&c->out, m, NULL, 0, &fd, 1));
}

size_t
chan_chunk(const struct guest *g)
{

	return (g->chan.out.raw ? CHUNK : SW_TEXT);
}

bool
chan_room(const struct guest *g)
{

	return (g->chan.greeted && !g->chan.failing &&
	    g->chan.out.len < BULK);
}

void
chan_bulk(struct guest *g, struct sw_msg *m, const void *data, size_t len)
{
	struct chan *c = &g->chan;

	g->activity += (int64_t)len;
	if (sf_put(&c->out, m, data, len, NULL, 0) != 0)
		c->failing = true;
}

void
chan_relay(struct guest *g, const void *bytes, size_t len)
{

	if (sf_put_raw(&g->chan.out, bytes, len) != 0)
		g->chan.failing = true;
}

void
chan_refuse(struct guest *g, int64_t id, const char *what, const char *why)
{
	struct chan *c = &g->chan;
	struct sw_msg m;
	char text[256];
	size_t n;

	sw_init(&m, W_ERROR);
	sw_set_str(&m, F_ERROR, "EPROTO");
	if (id > 0)
		sw_set_num(&m, F_ID, id);
	n = strlen(what);
	if (n > 64)
		n = 64;
	memcpy(text, what, n);
	if (n > 0)
		text[n++] = ':', text[n++] = ' ';
	memcpy(text + n, why, strlen(why));
	sw_set_bytes(&m, F_MESSAGE, text, n + strlen(why));
	chan_send(g, &m);
	c->failing = true;
}

void
chan_flush(struct guest *g, bool more)
{
	struct chan *c = &g->chan;
	unsigned want = 0;
	int error;

	if (c->src.fd == -1 || c->retry.at != 0)
		return;
	/* Requests that waited for room may fill it again, but not for ever. */
	do
		error = sf_write(&c->out, c->src.fd);
	while (error == 0 && c->paused && (process(g), c->out.len > 0));
	if (error != 0 && error != EAGAIN) {
		end(g);
		return;
	}
	if (c->failing && error == 0) {
		hang_up(g);
		return;
	}
	/* When all has gone that there was room for, there is room again. */
	if (error == EAGAIN || more)
		want |= EV_OUT;
	if (!c->failing && c->out.len < HIGH)
		want |= EV_IN;
	(void)ev_want(g->ev, &c->src, want);
	/* Not every system says that a reader went; writing tells. */
	if ((want & EV_IN) == 0)
		ev_start(g->ev, &c->stall, STALL_MS);
	else
		ev_stop(g->ev, &c->stall);
}
