/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Requests to a port of a sandbox.  Each has a connection of its own, by
 * way of the shim to the sandbox's loopback address.  Heads are read and
 * written anew in both directions, so that both sides agree on where a
 * message ends.
 */

#include <sys/socket.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "gw.h"

#define	HIGH	(256 * 1024)
#define	LOW	(64 * 1024)
#define	CHUNK	(64 * 1024)

struct proxy {
	struct req	*req;		/* NULL: gone */
	union {
		uv_stream_t	 stream;
		uv_tcp_t	 tcp;
		uv_pipe_t	 pipe;
	} u;
	int		 port;
	struct buf	 in;		/* of a head that is not complete */
	struct http_head head;
	struct http_body body;
	size_t		 out;		/* queued towards the sandbox */
	bool		 open, closing, headed, reading, body_end;
};

struct piece {
	uv_write_t	 w;
	struct proxy	*p;
	size_t		 len;
	char		 data[];
};

static char chunk[CHUNK];

static void read_on(struct proxy *);

static void
closed(uv_handle_t *h)
{
	struct proxy *p = h->data;

	http_head_free(&p->head);
	buf_free(&p->in);
	free(p);
}

static void
proxy_gone(struct req *r)
{
	struct proxy *p = r->data;

	r->data = NULL;
	p->req = NULL;
	if (p->open && !p->closing) {
		p->closing = true;
		uv_close((uv_handle_t *)&p->u.stream, closed);
	} else if (!p->open) {
		http_head_free(&p->head);
		buf_free(&p->in);
		free(p);
	}
}

static void
refuse(struct req *r, int port, const char *why)
{
	char fields[1] = "";
	json_t *j;
	char *text;

	j = json_pack("{s:s, s:s, s:i, s:i}", "sandboxId", r->box, "message",
	    why, "port", port, "code", 502);
	text = json_dumps(j, JSON_COMPACT);
	json_decref(j);
	r->discard = true;
	reply(r, 502, "application/json", fields, text, strlen(text));
	free(text);
}

/* The server broke off: say so if that can still be said. */
static void
broken(struct proxy *p)
{
	struct req *r = p->req;

	if (r == NULL)
		return;
	if (r->status == 0)
		refuse(r, p->port, "the server on that port hung up");
	else
		conn_drop(r->conn);
}

/*
 * Towards the sandbox.
 */
static void
wrote(uv_write_t *w, int status)
{
	struct piece *o = (struct piece *)(void *)w;
	struct proxy *p = o->p;

	p->out -= o->len;
	free(o);
	if (p->req == NULL || status != 0)
		return;
	if (p->out < LOW && p->req->paused) {
		p->req->paused = false;
		conn_soon(p->req->conn);
	}
}

static void
send_up(struct proxy *p, const char *data, size_t len)
{
	struct piece *o;
	uv_buf_t b;

	if (p->closing || len == 0)
		return;
	o = malloc(sizeof(*o) + len);
	if (o == NULL)
		return;
	o->p = p;
	o->len = len;
	memcpy(o->data, data, len);
	b = uv_buf_init(o->data, (unsigned)len);
	if (uv_write(&o->w, &p->u.stream, &b, 1, wrote) != 0) {
		free(o);
		return;
	}
	p->out += len;
	if (p->out > HIGH)
		p->req->paused = true;
}

static void
shut(uv_shutdown_t *s, int status)
{

	(void)status;
	free(s);
}

static void
proxy_body(struct req *r, const char *data, size_t len)
{
	struct proxy *p = r->data;
	struct buf b = { 0 };

	if (r->tunnel || r->head.framing != HTTP_CHUNKED) {
		send_up(p, data, len);
		return;
	}
	buf_fmt(&b, "%zx\r\n", len);
	buf_add(&b, data, len);
	buf_add(&b, "\r\n", 2);
	if (!b.failed)
		send_up(p, b.p, b.len);
	buf_free(&b);
}

static void
proxy_body_end(struct req *r)
{
	struct proxy *p = r->data;
	uv_shutdown_t *s;

	if (!r->tunnel) {
		if (r->head.framing == HTTP_CHUNKED)
			send_up(p, "0\r\n\r\n", 5);
		return;
	}
	s = malloc(sizeof(*s));
	if (s != NULL && uv_shutdown(s, &p->u.stream, shut) != 0)
		free(s);
}

static void
proxy_drain(struct req *r)
{

	read_on(r->data);
}

static const struct req_ops proxy_ops = { .body = proxy_body,
    .end = proxy_body_end, .drain = proxy_drain, .gone = proxy_gone };

/* What is between two neighbours only, or for us. */
static bool
ours(const char *name)
{
	static const char *const names[] = { "connection", "keep-alive",
	    "proxy-connection", "proxy-authorization", "te", "trailer",
	    "transfer-encoding", "upgrade", "expect", "e2b-sandbox-id",
	    "e2b-sandbox-port", "e2b-traffic-access-token" };

	for (size_t i = 0; i < COUNT(names); i++)
		if (strcmp(names[i], name) == 0)
			return (true);
	return (false);
}

static void
send_head(struct proxy *p, const char *mask)
{
	struct req *r = p->req;
	const struct http_head *h = &r->head;
	const char *host = http_field(h, "host");
	struct buf b = { 0 };

	buf_fmt(&b, "%s %s HTTP/1.1\r\n", h->method, h->target);
	for (size_t i = 0; i < h->nfields; i++)
		if (!ours(h->field[i].name) && (mask == NULL ||
		    strcmp(h->field[i].name, "host") != 0) &&
		    strncmp(h->field[i].name, "x-forwarded-", 12) != 0)
			buf_fmt(&b, "%s: %s\r\n", h->field[i].name,
			    h->field[i].value);
	if (mask != NULL)
		buf_fmt(&b, "host: %s\r\n", mask);
	buf_fmt(&b, "x-forwarded-for: %s\r\nx-forwarded-proto: %s\r\n",
	    conn_peer(r->conn), conn_secure(r->conn) ? "https" : "http");
	if (host != NULL)
		buf_fmt(&b, "x-forwarded-host: %s\r\n", host);
	if (h->framing == HTTP_CHUNKED)
		buf_str(&b, "transfer-encoding: chunked\r\n");
	if (h->upgrade)
		buf_fmt(&b, "connection: upgrade\r\nupgrade: %s\r\n\r\n",
		    http_field(h, "upgrade"));
	else
		buf_str(&b, "connection: close\r\n\r\n");
	send_up(p, b.p, b.len);
	buf_free(&b);
}

/*
 * From the sandbox.
 */
static void
answer_head(struct proxy *p)
{
	struct req *r = p->req;
	const struct http_head *h = &p->head;
	struct buf b = { 0 };

	r->status = h->status;
	r->bare = strcmp(r->head.method, "HEAD") == 0;
	r->tunnel = h->status == 101 && r->head.upgrade;
	/* Whose end nobody could tell comes in chunks, if they know them. */
	r->chunked = h->framing == HTTP_CHUNKED || (h->framing == HTTP_EOF &&
	    r->head.minor > 0);
	if (r->chunked && r->head.minor == 0) {
		r->chunked = false;
		r->head.keep = false;
	}
	if (h->framing == HTTP_EOF && !r->chunked)
		r->head.keep = false;
	buf_fmt(&b, "HTTP/1.1 %d %s\r\n", h->status, h->status == 101 ?
	    "Switching Protocols" : "-");
	for (size_t i = 0; i < h->nfields; i++)
		if (!ours(h->field[i].name))
			buf_fmt(&b, "%s: %s\r\n", h->field[i].name,
			    h->field[i].value);
	if (r->tunnel)
		buf_fmt(&b, "connection: upgrade\r\nupgrade: %s\r\n",
		    http_field(h, "upgrade") != NULL ? http_field(h,
		    "upgrade") : "websocket");
	else {
		if (r->chunked)
			buf_str(&b, "transfer-encoding: chunked\r\n");
		if (!r->head.keep)
			buf_str(&b, "connection: close\r\n");
	}
	buf_str(&b, "\r\n");
	conn_send(r->conn, b.p, b.len);
	buf_free(&b);
}

static void
done(struct proxy *p)
{
	struct req *r = p->req;

	if (p->body_end)
		return;
	p->body_end = true;
	r->discard = true;
	reply_end(r);
}

/* Content of the answer; false if it is malformed. */
static bool
pass(struct proxy *p, const char *data, size_t len)
{
	const char *piece;
	size_t n;

	if (p->req->tunnel) {
		p->req->sent += len;
		conn_send(p->req->conn, data, len);
		return (true);
	}
	while (len > 0 && !p->body.done) {
		if (http_body_next(&p->body, &data, &len, &piece, &n) != 0)
			return (false);
		reply_data(p->req, piece, n);
	}
	if (p->body.done)
		done(p);
	return (true);
}

/* Read the head; -1: malformed, 0: not all there, 1: done. */
static int
take_head(struct proxy *p)
{
	size_t n;

	for (;;) {
		n = http_head_end(p->in.p, p->in.len);
		if (n == 0)
			return (p->in.len > HTTP_HEAD_MAX ? -1 : 0);
		if (http_response_parse(&p->head, p->in.p, n, strcmp(
		    p->req->head.method, "HEAD") == 0) != 0)
			return (-1);
		buf_take(&p->in, n);
		if (p->head.status >= 200 || p->head.status == 101)
			break;
		http_head_free(&p->head);
		if (p->in.len == 0)
			return (0);
	}
	if (p->head.status == 101 && !p->req->head.upgrade)
		return (-1);
	p->headed = true;
	http_body_init(&p->body, &p->head);
	answer_head(p);
	return (1);
}

static bool
take(struct proxy *p, const char *data, size_t len)
{
	struct buf rest;
	bool ok;

	if (p->headed)
		return (pass(p, data, len));
	buf_add(&p->in, data, len);
	switch (take_head(p)) {
	case -1:
		return (false);
	case 0:
		return (true);
	default:
		break;
	}
	rest = p->in;
	p->in = (struct buf){ 0 };
	ok = pass(p, rest.p, rest.len);
	buf_free(&rest);
	return (ok);
}

static void
got_room(uv_handle_t *h, size_t n, uv_buf_t *b)
{

	(void)h;
	(void)n;
	*b = uv_buf_init(chunk, CHUNK);
}

static void
got_data(uv_stream_t *s, ssize_t n, const uv_buf_t *b)
{
	struct proxy *p = s->data;
	struct req *r = p->req;

	if (n == 0 || r == NULL || p->body_end)
		return;
	if (n > 0) {
		if (!take(p, b->base, (size_t)n))
			broken(p);
		else if (p->req != NULL && !p->body_end && reply_full(r)) {
			p->reading = false;
			(void)uv_read_stop(s);
		} else if (p->req != NULL && r->tunnel)
			conn_soon(r->conn);
		return;
	}
	(void)uv_read_stop(s);
	p->reading = false;
	if (r->tunnel)
		conn_close(r->conn);
	else if (p->headed && p->body.framing == HTTP_EOF)
		done(p);
	else
		broken(p);
}

static void
read_on(struct proxy *p)
{

	if (p->reading || p->closing || p->body_end)
		return;
	p->reading = true;
	(void)uv_read_start(&p->u.stream, got_room, got_data);
}

/*
 * Getting there.
 */
static void
dialled(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct proxy *p = r->data;
	const struct box *b = box_known(r->gw, r->box);
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof(ss);
	int error;

	(void)nv;
	if (e != NULL || fd == -1) {
		co_log(r->gw->log, CO_DEBUG, "proxy", NULL, "port %d: %s",
		    p->port, e != NULL ? e->message : "no descriptor");
		r->paused = false;
		refuse(r, p->port, "the sandbox runs, but nobody listens on "
		    "that port");
		return;
	}
	if (getsockname(fd, (struct sockaddr *)&ss, &len) == 0 &&
	    ss.ss_family == AF_UNIX) {
		(void)uv_pipe_init(r->gw->loop, &p->u.pipe, 0);
		error = uv_pipe_open(&p->u.pipe, fd);
	} else {
		(void)uv_tcp_init(r->gw->loop, &p->u.tcp);
		error = uv_tcp_open(&p->u.tcp, fd);
		if (error == 0)
			(void)uv_tcp_nodelay(&p->u.tcp, 1);
	}
	p->u.stream.data = p;
	p->open = true;
	r->paused = false;
	if (error != 0) {
		(void)close(fd);
		refuse(r, p->port, uv_strerror(error));
		return;
	}
	send_head(p, b != NULL ? b->mask : NULL);
	if (r->head.expect && !r->body.done)
		conn_send(r->conn, "HTTP/1.1 100 Continue\r\n\r\n", 25);
	read_on(p);
	conn_soon(r->conn);
}

static void
awake(struct req *r)
{
	struct proxy *p = calloc(1, sizeof(*p));
	nvlist_t *nv;

	if (p == NULL) {
		reply_error(r, 500, "out of memory");
		return;
	}
	p->req = r;
	p->port = r->port;
	r->data = p;
	r->ops = &proxy_ops;
	r->paused = true;
	nv = question("dial", r->box, r->as);
	nvlist_add_number(nv, "port", (uint64_t)p->port);
	(void)ask(r, nv, NULL, dialled);
}

static void
known(struct req *r, struct box *b)
{
	const char *token = http_field(&r->head, "e2b-traffic-access-token");

	(void)snprintf(r->as, sizeof(r->as), "%s", b->owner);
	if (b->traffic != NULL && (token == NULL || !same_secret(token,
	    b->traffic)))
		reply_error(r, 403, "the sandbox is private: the traffic "
		    "access token is missing or not right");
	else
		box_awake(r, b, true, awake);
}

void
proxy_run(struct req *r, int port)
{

	r->port = port;
	box_find(r, r->box, known);
}
