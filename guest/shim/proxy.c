/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The port proxy: for each exposed port that a program offers on loopback
 * only, listen on the sandbox's own address and relay.  Listens only while
 * such a program does and nobody has the address itself, so that a program
 * which wants the port for all addresses finds it free.
 */

#include <sys/socket.h>

#include <arpa/inet.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"
#include "sys.h"
#include "tcp.h"

#define	SCAN_MS		500
#define	BUFFER		16384

struct port {
	struct proxy	*x;
	uint16_t	 num;
	struct ev_src	 listen;
	bool		 loop4;		/* offered on 127.0.0.1 */
	bool		 loop6;		/* offered on ::1 */
	bool		 taken;		/* offered where we would listen */
};

/* One way of a relayed connection. */
struct half {
	char		*buf;		/* only while there is something */
	size_t		 start;
	size_t		 len;
	bool		 eof;		/* nothing more comes in */
	bool		 shut;		/* and the other side knows */
};

struct relay {
	struct relay	*next;
	struct proxy	*x;
	struct ev_src	 end[2];	/* client, program */
	struct half	 half[2];	/* from end[i] to end[!i] */
	uint16_t	 port;
	bool		 connected;
};

struct proxy {
	struct guest	*g;
	struct port	 port[MAXPORTS];
	size_t		 nports;
	struct relay	*relays;
	size_t		 nrelays;
	struct ev_timer	 scan;
	uint32_t	 ip;
};

static void
destroy(struct relay *r)
{
	struct relay **at;

	for (at = &r->x->relays; *at != r; at = &(*at)->next)
		;
	*at = r->next;
	r->x->nrelays--;
	for (int i = 0; i < 2; i++) {
		ev_close(r->x->g->ev, &r->end[i]);
		free(r->half[i].buf);
	}
	free(r);
}

static void
want(struct relay *r)
{
	unsigned w;

	for (int i = 0; i < 2; i++) {
		w = 0;
		if (r->connected && !r->half[i].eof && r->half[i].len == 0)
			w |= EV_IN;
		if (r->half[!i].len > 0 || (i == 1 && !r->connected))
			w |= EV_OUT;
		(void)ev_want(r->x->g->ev, &r->end[i], w);
	}
}

/* Move bytes from end i to the other; false when the connection broke. */
static bool
move(struct relay *r, int i)
{
	struct half *h = &r->half[i];
	ssize_t n;

	if (h->len == 0 && !h->eof) {
		if (h->buf == NULL && (h->buf = malloc(BUFFER)) == NULL)
			return (false);
		n = read(r->end[i].fd, h->buf, BUFFER);
		if (n == -1 && errno != EAGAIN && errno != EINTR)
			return (false);
		h->eof = n == 0;
		h->start = 0;
		h->len = n > 0 ? (size_t)n : 0;
		r->x->g->activity += n > 0 ? n : 0;
	}
	if (h->len > 0) {
		n = send(r->end[!i].fd, h->buf + h->start, h->len,
		    MSG_NOSIGNAL);
		if (n == -1 && errno != EAGAIN && errno != EINTR)
			return (false);
		if (n > 0) {
			h->start += (size_t)n;
			h->len -= (size_t)n;
		}
	}
	if (h->len == 0) {
		free(h->buf);
		h->buf = NULL;
	}
	if (h->len == 0 && h->eof && !h->shut) {
		h->shut = true;
		(void)shutdown(r->end[!i].fd, SHUT_WR);
	}
	return (true);
}

/* Nobody is there any more: don't wait for the next scan to say so. */
static void
refused(struct proxy *x, uint16_t num)
{

	for (size_t i = 0; i < x->nports; i++)
		if (x->port[i].num == num)
			ev_close(x->g->ev, &x->port[i].listen);
}

static void
on_relay(struct relay *r, int i, unsigned got)
{
	bool ok = true;

	if (!r->connected) {
		ok = tcp_result(r->end[1].fd) == 0;
		r->connected = ok;
		if (!ok)
			refused(r->x, r->port);
	} else {
		if ((got & EV_IN) != 0)
			ok = move(r, i);
		if (ok && (got & EV_OUT) != 0)
			ok = move(r, !i);
	}
	if (!ok || (r->half[0].shut && r->half[1].shut))
		destroy(r);
	else
		want(r);
}

static void
on_client(void *arg, unsigned got)
{

	on_relay(arg, 0, got);
}

static void
on_program(void *arg, unsigned got)
{

	on_relay(arg, 1, got);
}

static void
on_accept(void *arg, unsigned got)
{
	struct port *p = arg;
	struct proxy *x = p->x;
	struct relay *r;
	int fd, to;

	(void)got;
	if ((fd = tcp_accept(p->listen.fd)) == -1)
		return;
	if (x->nrelays == MAXRELAYS ||
	    (r = calloc(1, sizeof(*r))) == NULL) {
		close(fd);
		return;
	}
	if ((to = tcp_dial(p->num, !p->loop4)) == -1) {
		refused(x, p->num);
		close(fd);
		free(r);
		return;
	}
	r->x = x;
	r->port = p->num;
	ev_init(&r->end[0], fd, on_client, r);
	ev_init(&r->end[1], to, on_program, r);
	r->next = x->relays;
	x->relays = r;
	x->nrelays++;
	want(r);
}

static void
look(const struct sys_tcp *t, void *arg)
{
	struct proxy *x = arg;

	if (!t->listening)
		return;
	for (size_t i = 0; i < x->nports; i++) {
		struct port *p = &x->port[i];

		if (p->num != t->port)
			continue;
		if (t->loopback && t->six)
			p->loop6 = true;
		else if (t->loopback)
			p->loop4 = true;
		else if (t->any)
			p->taken = true;
		else if (!t->six && t->addr == x->ip && p->listen.fd == -1)
			p->taken = true;
	}
}

static void
on_scan(void *arg)
{
	struct proxy *x = arg;
	struct ev *ev = x->g->ev;
	struct port *p;
	int fd;

	for (size_t i = 0; i < x->nports; i++)
		x->port[i].loop4 = x->port[i].loop6 = x->port[i].taken =
		    false;
	(void)sys_tcp_each(look, x);
	for (size_t i = 0; i < x->nports; i++) {
		p = &x->port[i];
		if (p->taken || (!p->loop4 && !p->loop6)) {
			ev_close(ev, &p->listen);
		} else if (p->listen.fd == -1 &&
		    (fd = tcp_listen(x->ip, p->num)) != -1) {
			ev_init(&p->listen, fd, on_accept, p);
			(void)ev_want(ev, &p->listen, EV_IN);
		}
	}
	if (x->nports > 0)
		ev_start(ev, &x->scan, SCAN_MS);
}

/* The exposed ports are these from now on; connections there stay. */
int
proxy_set(struct guest *g, const struct sw_list *l)
{
	struct proxy *x = g->proxy;
	struct in_addr in;

	if (l->n > MAXPORTS)
		return (E2BIG);
	if (inet_pton(AF_INET, g->conf.ip, &in) != 1)
		return (EADDRNOTAVAIL);
	if (x == NULL && (x = g->proxy = calloc(1, sizeof(*x))) == NULL)
		return (ENOMEM);
	x->g = g;
	x->ip = in.s_addr;
	x->scan.fn = on_scan;
	x->scan.arg = x;
	for (size_t i = 0; i < x->nports; i++)
		ev_close(g->ev, &x->port[i].listen);
	x->nports = l->n;
	for (size_t i = 0; i < l->n; i++) {
		x->port[i].x = x;
		x->port[i].num = (uint16_t)l->val[i].num;
		x->port[i].listen.fd = -1;
	}
	ev_stop(g->ev, &x->scan);
	on_scan(x);
	return (0);
}
