/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Clients' connections: reading requests one after the other, writing
 * answers, and hanging up on who is too slow.
 */

#include <sys/socket.h>

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gw.h"

#define	CHUNK		(64 * 1024)
#define	IN_MAX		(128 * 1024)	/* read ahead, then we wait */
#define	LOW		(64 * 1024)	/* below this more may be sent */
#define	LITTLE		4096		/* that several writes may make one */
#define	DISCARD_MAX	(1024 * 1024)	/* of a body that nobody wants */
#define	BACKLOG		511

struct conn {
	TAILQ_ENTRY(conn) link;
	TAILQ_ENTRY(conn) soon;
	struct gw	*gw;
	uv_tcp_t	 tcp;
	struct tls	*tls;
	struct req	*req;
	struct buf	 in;
	struct buf	 little;	/* sent when this turn is over */
	size_t		 out;		/* queued, not yet taken */
	uint64_t	 since;		/* ms: last progress */
	uint64_t	 head_since;	/* ms: the head began */
	uint64_t	 discarded;
	char		 peer[48];
	bool		 envd, reading, running, again, closing, dead, due;
};

struct listener {
	uv_tcp_t	 tcp;
	struct gw	*gw;
	bool		 envd;
};

struct out {
	uv_write_t	 w;
	struct conn	*conn;
	size_t		 len;
	char		 data[];
};

static char chunk[CHUNK];

static void flush(struct conn *);

bool
conn_envd(const struct conn *c)
{

	return (c->envd);
}

bool
conn_secure(const struct conn *c)
{

	return (c->tls != NULL);
}

const char *
conn_peer(const struct conn *c)
{

	return (c->peer);
}

size_t
conn_backlog(const struct conn *c)
{

	return (c->out + c->little.len);
}

/*
 * The end.
 */
static void
log_access(const struct req *r)
{
	struct co_ids ids = { .request_id = r->id,
	    .sandbox_id = r->box[0] != '\0' ? r->box : NULL };

	r->gw->requests[r->status >= 100 && r->status < 600 ?
	    r->status / 100 : 0]++;
	co_log(r->gw->log, CO_INFO, "access", &ids,
	    "%s %.200s %d %ju bytes %ju us %s %s", r->head.method,
	    r->head.target, r->status, (uintmax_t)r->sent,
	    (uintmax_t)((uv_hrtime() - r->began) / 1000), r->conn->peer,
	    r->as[0] != '\0' ? r->as : "-");
}

static void
req_free(struct req *r)
{

	if (r->ops != NULL && r->ops->gone != NULL)
		r->ops->gone(r);
	call_forget(r->call);
	if (r->head.target != NULL && r->head.method != NULL)
		log_access(r);
	http_head_free(&r->head);
	http_url_free(&r->url);
	buf_free(&r->text);
	free(r);
}

static void
closed(uv_handle_t *h)
{
	struct conn *c = h->data;

	tls_free(c->tls);
	buf_free(&c->in);
	buf_free(&c->little);
	free(c);
}

void
conn_drop(struct conn *c)
{
	struct req *r = c->req;

	if (c->dead)
		return;
	flush(c);
	c->dead = true;
	c->req = NULL;
	TAILQ_REMOVE(&c->gw->conns, c, link);
	if (c->due)
		TAILQ_REMOVE(&c->gw->due, c, soon);
	c->gw->nconns--;
	uv_close((uv_handle_t *)&c->tcp, closed);
	if (r != NULL)
		req_free(r);
}

static void
shut(uv_shutdown_t *s, int status)
{
	struct conn *c = s->data;

	(void)status;
	free(s);
	c->since = uv_now(c->gw->loop);
}

/* Half, so that what is on its way arrives; the tick does the rest. */
void
conn_close(struct conn *c)
{
	uv_shutdown_t *s;

	if (c->dead || c->closing)
		return;
	flush(c);
	c->closing = true;
	c->since = uv_now(c->gw->loop);
	s = malloc(sizeof(*s));
	if (s == NULL) {
		conn_drop(c);
		return;
	}
	s->data = c;
	if (uv_shutdown(s, (uv_stream_t *)&c->tcp, shut) != 0) {
		free(s);
		conn_drop(c);
	}
}

/*
 * Writing.
 */
static void
written(uv_write_t *w, int status)
{
	struct out *o = (struct out *)(void *)w;
	struct conn *c = o->conn;
	struct req *r;

	c->out -= o->len;
	free(o);
	if (c->dead)
		return;
	if (status != 0) {
		conn_drop(c);
		return;
	}
	c->since = uv_now(c->gw->loop);
	r = c->req;
	if (r != NULL && r->blocked && c->out < LOW) {
		r->blocked = false;
		if (r->ops != NULL && r->ops->drain != NULL)
			r->ops->drain(r);
	}
}

static void
send_now(struct conn *c, const char *data, size_t len)
{
	uv_buf_t b;
	struct out *o;
	int n;

	if (c->out == 0 && len > 0) {
		b = uv_buf_init((char *)(uintptr_t)data, (unsigned)len);
		n = uv_try_write((uv_stream_t *)&c->tcp, &b, 1);
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
	}
	if (len == 0)
		return;
	o = malloc(sizeof(*o) + len);
	if (o == NULL)
		return;
	o->conn = c;
	o->len = len;
	memcpy(o->data, data, len);
	b = uv_buf_init(o->data, (unsigned)len);
	if (uv_write(&o->w, (uv_stream_t *)&c->tcp, &b, 1, written) != 0) {
		free(o);
		return;
	}
	c->out += len;
}

static void
flush(struct conn *c)
{
	struct buf b = c->little;

	c->little = (struct buf){ 0 };
	if (!b.failed)
		send_now(c, b.p, b.len);
	buf_free(&b);
}

/* What one turn of the loop says in many words goes out as one. */
static void
send_raw(struct conn *c, const char *data, size_t len)
{

	if (len < LITTLE) {
		buf_add(&c->little, data, len);
		conn_soon(c);
	}
	if (len >= LITTLE || c->little.len >= LITTLE)
		flush(c);
	if (len >= LITTLE)
		send_now(c, data, len);
}

void
conn_send(struct conn *c, const void *data, size_t len)
{
	struct buf cipher = { 0 };

	if (c->dead || len == 0)
		return;
	c->gw->bytes_out += len;
	c->since = uv_now(c->gw->loop);
	if (c->tls == NULL) {
		send_raw(c, data, len);
		return;
	}
	if (tls_output(c->tls, data, len, &cipher) == 0 && !cipher.failed)
		send_raw(c, cipher.p, cipher.len);
	buf_free(&cipher);
}

static ssize_t
by_hand(struct conn *c, int fd, size_t max)
{
	ssize_t n;

	do
		n = read(fd, chunk, max);
	while (n == -1 && errno == EINTR);
	if (n > 0) {
		conn_send(c, chunk, (size_t)n);
		flush(c);
	}
	return (n);
}

ssize_t
conn_pour(struct conn *c, int fd, size_t max)
{
	size_t little = max < LITTLE ? max : LITTLE;
	uv_os_fd_t to;
	ssize_t n;

	if (!c->dead)
		flush(c);
	if (c->dead || c->out > 0) {
		if (c->req != NULL)
			c->req->blocked = true;
		errno = EBUSY;
		return (-1);
	}
	if (uv_fileno((uv_handle_t *)&c->tcp, &to) != 0)
		return (-1);
	errno = EINVAL;
	n = c->tls == NULL ? flow_splice(fd, to, max) : -1;
	if (n == -1 && errno == EINVAL)
		return (by_hand(c, fd, max < CHUNK ? max : CHUNK));
	/* Whichever is the reason, this tells, and when it is over. */
	if (n == -1 && errno == EAGAIN)
		return (by_hand(c, fd, little));
	if (n > 0) {
		c->gw->bytes_out += (size_t)n;
		c->since = uv_now(c->gw->loop);
	}
	return (n);
}

/*
 * Reading.
 */
static void
got_room(uv_handle_t *h, size_t n, uv_buf_t *b)
{

	(void)h;
	(void)n;
	*b = uv_buf_init(chunk, CHUNK);
}

static int
take_raw(struct conn *c, const char *data, size_t len)
{
	struct buf cipher = { 0 };
	int ret;

	if (c->tls == NULL) {
		buf_add(&c->in, data, len);
		return (c->in.failed ? -1 : 0);
	}
	ret = tls_input(c->tls, data, len, &c->in, &cipher);
	if (cipher.len > 0)
		send_raw(c, cipher.p, cipher.len);
	buf_free(&cipher);
	return (c->in.failed ? -1 : ret);
}

static void
got_data(uv_stream_t *s, ssize_t n, const uv_buf_t *b)
{
	struct conn *c = s->data;

	if (n == 0 || c->dead)
		return;
	c->since = uv_now(c->gw->loop);
	if (n > 0 && c->closing)
		return;
	if (n > 0) {
		c->gw->bytes_in += (uint64_t)n;
		if (c->in.len == 0 && c->req == NULL)
			c->head_since = c->since;
		if (take_raw(c, b->base, (size_t)n) == 0) {
			conn_run(c);
			return;
		}
	}
	/* A tunnel's other half may still have something to say. */
	if (n == UV_EOF && c->req != NULL && c->req->tunnel &&
	    c->req->ops->end != NULL) {
		(void)uv_read_stop((uv_stream_t *)&c->tcp);
		c->reading = false;
		c->req->ops->end(c->req);
		return;
	}
	conn_drop(c);
}

static void
refuse(struct conn *c, int status)
{
	char text[256];
	int n;

	n = snprintf(text, sizeof(text), "HTTP/1.1 %d Refused\r\n"
	    "Content-Type: application/json\r\nConnection: close\r\n"
	    "Content-Length: %d\r\n\r\n"
	    "{\"code\":%d,\"message\":\"malformed request\"}", status,
	    snprintf(NULL, 0, "{\"code\":%d,\"message\":"
	    "\"malformed request\"}", status), status);
	c->gw->requests[4]++;
	conn_send(c, text, (size_t)n);
	conn_close(c);
}

/* A head is complete: make a request of it. */
static int
begin(struct conn *c, size_t len)
{
	struct req *r;
	unsigned char id[8];
	int status;

	r = calloc(1, sizeof(*r));
	if (r == NULL) {
		conn_drop(c);
		return (-1);
	}
	status = http_request_parse(&r->head, c->in.p, len);
	if (status == 0 && http_url_parse(&r->url, r->head.target) != 0)
		status = 400;
	if (status != 0) {
		http_head_free(&r->head);
		http_url_free(&r->url);
		free(r);
		refuse(c, status);
		return (-1);
	}
	buf_take(&c->in, len);
	r->conn = c;
	r->gw = c->gw;
	r->began = uv_hrtime();
	co_random(id, sizeof(id));
	for (size_t i = 0; i < sizeof(id); i++)
		(void)snprintf(r->id + 2 * i, 3, "%02x", id[i]);
	http_body_init(&r->body, &r->head);
	c->req = r;
	c->discarded = 0;
	dispatch(r);
	return (0);
}

/* Hand on what there is of the body; false if it is not one. */
static bool
feed(struct conn *c, struct req *r)
{
	const char *p = c->in.p, *piece;
	size_t len = c->in.len, n;

	while (len > 0 && !r->body.done && !r->paused && !c->dead) {
		if (http_body_next(&r->body, &p, &len, &piece, &n) != 0)
			return (false);
		if (r->discard || r->finished) {
			c->discarded += n;
			if (c->discarded > DISCARD_MAX)
				return (false);
		} else if (n > 0 && r->ops != NULL && r->ops->body != NULL)
			r->ops->body(r, piece, n);
	}
	if (!c->dead)
		buf_take(&c->in, c->in.len - len);
	return (true);
}

/* Bytes of a tunnel. */
static void
pour(struct conn *c, struct req *r)
{
	struct buf in = c->in;

	if (in.len == 0 || r->paused)
		return;
	c->in = (struct buf){ 0 };
	r->ops->body(r, in.p, in.len);
	buf_free(&in);
}

/* One step; true if there may be another one. */
static bool
step(struct conn *c)
{
	struct req *r = c->req;
	size_t n;

	if (r == NULL) {
		n = c->in.len > 0 ? http_head_end(c->in.p, c->in.len) : 0;
		if (n == 0 && c->in.len <= HTTP_HEAD_MAX)
			return (false);
		if (n == 0) {
			refuse(c, 431);
			return (false);
		}
		return (begin(c, n) == 0);
	}
	if (r->tunnel) {
		pour(c, r);
		return (false);
	}
	if (!r->body.done && !feed(c, r)) {
		if (r->status == 0)
			refuse(c, 400);
		else
			conn_close(c);
		return (false);
	}
	if (c->dead)
		return (false);
	if (r->body.done && !r->told && !r->paused) {
		r->told = true;
		if (!r->finished && r->ops != NULL && r->ops->end != NULL) {
			r->ops->end(r);
			return (true);
		}
	}
	if (!r->finished || !r->body.done)
		return (false);
	if (!r->head.keep) {
		c->req = NULL;
		req_free(r);
		conn_close(c);
		return (false);
	}
	c->req = NULL;
	req_free(r);
	c->head_since = c->since;
	return (true);
}

static void
watch(struct conn *c)
{
	struct req *r = c->req;
	bool want;

	if (c->dead)
		return;
	want = c->closing || (c->in.len < IN_MAX && !(r != NULL &&
	    r->paused && (r->tunnel || !r->body.done)));
	if (want == c->reading)
		return;
	c->reading = want;
	if (want)
		(void)uv_read_start((uv_stream_t *)&c->tcp, got_room,
		    got_data);
	else
		(void)uv_read_stop((uv_stream_t *)&c->tcp);
}

void
conn_run(struct conn *c)
{

	if (c->running || c->dead) {
		c->again = true;
		return;
	}
	c->running = true;
	do {
		c->again = false;
		while (!c->dead && !c->closing && step(c))
			;
	} while (c->again && !c->dead && !c->closing);
	c->running = false;
	watch(c);
}

/* Those that are due, when nobody is within one of their requests. */
static void
run_due(uv_idle_t *h)
{
	struct gw *gw = h->data;
	struct conn *c;

	while ((c = TAILQ_FIRST(&gw->due)) != NULL) {
		TAILQ_REMOVE(&gw->due, c, soon);
		c->due = false;
		conn_run(c);
		if (!c->dead)
			flush(c);
	}
	(void)uv_idle_stop(h);
}

void
conn_soon(struct conn *c)
{

	if (c->dead || c->due)
		return;
	c->due = true;
	TAILQ_INSERT_TAIL(&c->gw->due, c, soon);
	(void)uv_idle_start(&c->gw->idle, run_due);
}

/*
 * Time.
 */
static bool
overdue(const struct conn *c, uint64_t now)
{
	const struct settings *s = &c->gw->s;
	uint64_t idle = now - c->since;
	const struct req *r = c->req;

	if (c->closing)
		return (idle > 2000);
	if (c->out > 0)
		return (idle > (uint64_t)s->stall_ms);
	if (r == NULL && c->in.len > 0)
		return (now - c->head_since > (uint64_t)s->head_ms);
	if (r == NULL)
		return (idle > (uint64_t)s->idle_ms);
	if (!r->tunnel && !r->body.done && !r->paused)
		return (idle > (uint64_t)s->stall_ms);
	return (false);
}

void
conn_tick(struct gw *gw)
{
	struct conn *c, *next;
	uint64_t now = uv_now(gw->loop);

	for (c = TAILQ_FIRST(&gw->conns); c != NULL; c = next) {
		next = TAILQ_NEXT(c, link);
		if (overdue(c, now))
			conn_drop(c);
	}
}

/*
 * Newcomers.
 */
static void
turned_away(uv_handle_t *h)
{

	free(h->data);
}

static void
name_peer(struct conn *c)
{
	struct sockaddr_storage ss;
	int len = sizeof(ss);

	if (uv_tcp_getpeername(&c->tcp, (struct sockaddr *)&ss, &len) != 0 ||
	    (ss.ss_family == AF_INET6 ? uv_ip6_name((void *)&ss, c->peer,
	    sizeof(c->peer)) : uv_ip4_name((void *)&ss, c->peer,
	    sizeof(c->peer))) != 0)
		(void)snprintf(c->peer, sizeof(c->peer), "-");
}

static void
came(uv_stream_t *server, int status)
{
	struct listener *l = server->data;
	struct gw *gw = l->gw;
	struct conn *c;

	if (status != 0 || (c = calloc(1, sizeof(*c))) == NULL)
		return;
	(void)uv_tcp_init(gw->loop, &c->tcp);
	c->tcp.data = c;
	if (uv_accept(server, (uv_stream_t *)&c->tcp) != 0 ||
	    gw->nconns >= (size_t)gw->s.connections ||
	    (gw->tls != NULL && (c->tls = tls_new(gw->tls)) == NULL)) {
		uv_close((uv_handle_t *)&c->tcp, turned_away);
		return;
	}
	(void)uv_tcp_nodelay(&c->tcp, 1);
	c->gw = gw;
	c->envd = l->envd;
	c->since = c->head_since = uv_now(gw->loop);
	name_peer(c);
	TAILQ_INSERT_TAIL(&gw->conns, c, link);
	gw->nconns++;
	watch(c);
}

static bool
loopback(const struct sockaddr *sa)
{
	const struct sockaddr_in6 *s6 = (const void *)sa;
	const struct sockaddr_in *s4 = (const void *)sa;

	if (sa->sa_family == AF_INET6)
		return (IN6_IS_ADDR_LOOPBACK(&s6->sin6_addr));
	return (ntohl(s4->sin_addr.s_addr) >> 24 == 127);
}

static int
resolve(const char *address, struct sockaddr_storage *ss, bool *local,
    struct co_error *e)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC,
	    .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE |
	    AI_NUMERICHOST | AI_NUMERICSERV }, *ai;
	char host[64];
	const char *colon = strrchr(address, ':');
	size_t n = colon != NULL ? (size_t)(colon - address) : 0;

	if (colon == NULL || n >= sizeof(host))
		return (co_error_set(e, CO_ESYS_CONFIG, address,
		    "\"%s\" is no address:port", address));
	if (n >= 2 && address[0] == '[' && address[n - 1] == ']')
		(void)snprintf(host, sizeof(host), "%.*s", (int)n - 2,
		    address + 1);
	else
		(void)snprintf(host, sizeof(host), "%.*s", (int)n, address);
	if (getaddrinfo(host, colon + 1, &hints, &ai) != 0)
		return (co_error_set(e, CO_ESYS_CONFIG, address,
		    "\"%s\" is no address:port", address));
	memcpy(ss, ai->ai_addr, ai->ai_addrlen);
	*local = loopback(ai->ai_addr);
	freeaddrinfo(ai);
	return (0);
}

int
conn_listen(struct gw *gw, const char *address, bool envd,
    struct co_error *e)
{
	struct sockaddr_storage ss = { 0 };
	struct listener *l;
	bool local = false;
	int error;

	if (resolve(address, &ss, &local, e) != 0)
		return (-1);
	if (keys_none(gw->keys) && !local)
		return (co_error_set(e, CO_ESYS_CONFIG, address,
		    "without any key only loopback addresses are served, and "
		    "\"%s\" is none; make one by \"coppicectl key create\"",
		    address));
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return (co_error_set(e, CO_ESYS_NOMEM, NULL,
		    "out of memory"));
	l->gw = gw;
	l->envd = envd;
	(void)uv_tcp_init(gw->loop, &l->tcp);
	l->tcp.data = l;
	error = uv_tcp_bind(&l->tcp, (struct sockaddr *)&ss, 0);
	if (error == 0)
		error = uv_listen((uv_stream_t *)&l->tcp, BACKLOG, came);
	if (error != 0)
		return (co_error_set(e, CO_ESYS_ERRNO, address,
		    "can't listen at \"%s\": %s", address,
		    uv_strerror(error)));
	return (0);
}
