/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The DNS relay: a process of its own, without privileges, between the
 * sandboxes and unbound.  It applies the policy of whoever asks, and has the
 * daemon admit the addresses of allowed names before it tells them.  It ends
 * when the daemon does.
 */

#include <sys/resource.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dnsd.h"

void
dnsd_forget(struct dnsd *d, struct dnsd_pending *p)
{

	if (!p->used)
		return;
	if (p->up != NULL) {
		p->up->pending = NULL;
		dnsd_conn_close(d, p->up);
	}
	if (p->conn != NULL)
		p->conn->pending = NULL;
	free(p->answer);
	memset(p, 0, sizeof(*p));
	d->npending--;
}

/* The answer is ready: let it go the way the query came. */
void
dnsd_give(struct dnsd *d, struct dnsd_pending *p, const uint8_t *m, size_t n)
{

	if (n > 0 && p->conn != NULL)
		dnsd_conn_send(d, p->conn, m, n);
	else if (n > 0 && p->udp >= 0)
		(void)sendto(d->udp[p->udp], m, n, MSG_DONTWAIT,
		    (struct sockaddr *)&p->peer, p->peerlen);
	dnsd_forget(d, p);
}

static void
give_code(struct dnsd *d, struct dnsd_pending *p, int rcode)
{
	uint8_t m[600];

	dnsd_give(d, p, m, net_dns_reply(&p->q, rcode, NULL, 0, m,
	    sizeof(m)));
}

static void
give_gateway(struct dnsd *d, struct dnsd_pending *p,
    const struct dnsd_box *b)
{
	const struct net_addr *a = NULL;
	uint8_t m[600];

	if (p->q.type == DNS_A)
		a = &b->who.gateway;
	else if (p->q.type == DNS_AAAA && b->who.gateway6.family != 0)
		a = &b->who.gateway6;
	dnsd_give(d, p, m, net_dns_reply(&p->q, DNS_NOERROR, a, 60, m,
	    sizeof(m)));
}

/* Its number is the place where it is kept; the rest is chance. */
static struct dnsd_pending *
pending_new(struct dnsd *d)
{
	struct dnsd_pending *p;
	unsigned i;
	uint8_t r;

	if (d->npending == DNSD_PENDING)
		return (NULL);
	for (i = d->next; d->pending[i % DNSD_PENDING].used; i++)
		;
	i %= DNSD_PENDING;
	d->next = i + 1;
	p = &d->pending[i];
	memset(p, 0, sizeof(*p));
	co_random(&r, 1);
	p->used = true;
	p->id = (uint16_t)((r & 63u) << 10 | i);
	p->until = co_after(DNSD_WAIT);
	d->npending++;
	return (p);
}

static void
forward(struct dnsd *d, struct dnsd_pending *p)
{
	uint8_t m[600];
	size_t n = net_dns_ask(&p->q, p->id, m, sizeof(m));

	if (n == 0 || send(d->upfd, m, n, MSG_DONTWAIT) != (ssize_t)n)
		give_code(d, p, DNS_SERVFAIL);
}

void
dnsd_query(struct dnsd *d, const uint8_t *m, size_t n,
    const struct net_addr *from, int udp, const struct sockaddr_storage *peer,
    socklen_t peerlen, struct dnsd_conn *c)
{
	struct dnsd_box *b = dnsd_find(d, from);
	struct dnsd_pending *p;
	struct net_dnsq q;
	int rc;

	if (b == NULL || !dnsd_may(&b->all, 400, 200) ||
	    (rc = net_dns_parse(m, n, &q)) < 0 ||
	    (p = pending_new(d)) == NULL) {
		if (c != NULL)
			dnsd_conn_close(d, c);
		return;
	}
	p->q = q;
	p->from = *from;
	p->udp = udp;
	if (peer != NULL) {
		memcpy(&p->peer, peer, peerlen);
		p->peerlen = peerlen;
	}
	if ((p->conn = c) != NULL)
		c->pending = p;
	if (rc > 0) {
		give_code(d, p, rc);
		return;
	}
	switch (net_dns_decide(b->policy, &p->q)) {
	case DNS_V_GATEWAY:
		give_gateway(d, p, b);
		break;
	case DNS_V_NXDOMAIN:
		give_code(d, p, DNS_NXDOMAIN);
		break;
	case DNS_V_REFUSED:
		give_code(d, p, DNS_REFUSED);
		break;
	case DNS_V_FORWARD:
		if (p->q.type == DNS_TXT && !dnsd_may(&b->txt, 10, 0.5))
			give_code(d, p, DNS_REFUSED);
		else
			forward(d, p);
		break;
	}
}

static bool
tellable(void *arg, const struct net_addr *a)
{

	return (net_dns_tellable(arg, a));
}

/* Have the daemon admit what the answer says, then give it. */
static void
learn(struct dnsd *d, struct dnsd_pending *p, const uint8_t *m, size_t n,
    const struct net_dnsaddr *got, size_t ngot)
{
	struct ctl_learn l;

	memset(&l, 0, sizeof(l));
	if ((p->answer = malloc(n)) == NULL) {
		give_code(d, p, DNS_SERVFAIL);
		return;
	}
	memcpy(p->answer, m, n);
	p->alen = n;
	if (++d->serial == 0)
		d->serial = 1;
	l.serial = p->serial = d->serial;
	l.sandbox = p->from;
	memcpy(l.name, p->q.name, sizeof(l.name));
	l.n = (uint32_t)ngot;
	memcpy(l.got, got, ngot * sizeof(got[0]));
	if (net_ctl_send(d->ctl.fd, CTL_LEARN, &l, sizeof(l), NULL, 0) != 0)
		give_code(d, p, DNS_SERVFAIL);
}

void
dnsd_answer(struct dnsd *d, struct dnsd_pending *p, const uint8_t *m,
    size_t n)
{
	static uint8_t out[DNS_MAXMSG];
	struct net_dnsaddr got[DNS_MAXLEARN];
	struct dnsd_box *b = dnsd_find(d, &p->from);
	bool tc = false;
	size_t len, ngot, cap = p->conn != NULL ? DNS_MAXMSG : p->q.size;

	if (b == NULL) {
		dnsd_forget(d, p);
		return;
	}
	len = net_dns_rebuild(m, n, &p->q, p->id, tellable, b->policy, out,
	    cap, got, &ngot, &tc);
	if (len == 0) {
		give_code(d, p, DNS_SERVFAIL);
		return;
	}
	if (tc && !p->again) {
		p->again = true;
		if (dnsd_conn_up(d, p) != 0)
			give_code(d, p, DNS_SERVFAIL);
		return;
	}
	if (b->policy->mode == NET_ALLOWLIST && ngot > 0)
		learn(d, p, out, len, got, ngot);
	else
		dnsd_give(d, p, out, len);
}

static void
learnt(struct dnsd *d, const char *data, size_t len)
{
	struct dnsd_pending *p;
	struct ctl_learnt l;
	unsigned i;

	if (len != sizeof(l))
		return;
	memcpy(&l, data, sizeof(l));
	for (i = 0; i < DNSD_PENDING; i++) {
		p = &d->pending[i];
		if (!p->used || p->serial != l.serial || l.serial == 0)
			continue;
		if (l.ok)
			dnsd_give(d, p, p->answer, p->alen);
		else
			give_code(d, p, DNS_SERVFAIL);
		return;
	}
}

/* What the daemon says; -1 when it is gone. */
static int
control(struct dnsd *d)
{
	struct net_addr a;
	struct ctl_head h;
	const char *data;
	int type;

	if (net_ctl_fill(&d->ctl) != 0)
		return (-1);
	while ((type = net_ctl_next(&d->ctl, &h, &data)) > 0) {
		if (type == CTL_SET)
			(void)dnsd_set(d, data, h.len);
		else if (type == CTL_LEARNT)
			learnt(d, data, h.len);
		else if (type == CTL_DROP && h.len == sizeof(a)) {
			memcpy(&a, data, sizeof(a));
			dnsd_drop(d, &a);
		}
		net_ctl_done(&d->ctl, &h);
	}
	return (type);
}

static void
hear_udp(struct dnsd *d, int i)
{
	struct sockaddr_storage ss;
	struct net_addr a;
	uint8_t m[DNS_UDPSIZE];
	socklen_t len;
	ssize_t n;
	int turn;

	for (turn = 0; turn < 32; turn++) {
		len = sizeof(ss);
		n = recvfrom(d->udp[i], m, sizeof(m), MSG_DONTWAIT,
		    (struct sockaddr *)&ss, &len);
		if (n < 0)
			return;
		if (dnsd_addr(&ss, &a))
			dnsd_query(d, m, (size_t)n, &a, i, &ss, len, NULL);
	}
}

static void
hear_up(struct dnsd *d)
{
	struct dnsd_pending *p;
	uint8_t m[4096];
	ssize_t n;
	int turn;

	for (turn = 0; turn < 64; turn++) {
		n = recv(d->upfd, m, sizeof(m), MSG_DONTWAIT);
		if (n < 2)
			return;
		p = &d->pending[(m[0] << 8 | m[1]) % DNSD_PENDING];
		if (p->used && p->id == (m[0] << 8 | m[1]) &&
		    p->up == NULL && p->answer == NULL)
			dnsd_answer(d, p, m, (size_t)n);
	}
}

static void
expire(struct dnsd *d)
{
	co_moment now = co_now();
	unsigned i;

	for (i = 0; i < DNSD_PENDING; i++)
		if (d->pending[i].used && d->pending[i].until <= now)
			give_code(d, &d->pending[i], DNS_SERVFAIL);
	for (i = 0; i < DNSD_CONNS; i++)
		if (d->conn[i].fd >= 0 && d->conn[i].until <= now)
			dnsd_conn_close(d, &d->conn[i]);
	/* What was learnt has to be forgotten some time. */
	if (d->serial != 0 && now >= d->tick) {
		d->tick = co_after(1000);
		(void)net_ctl_send(d->ctl.fd, CTL_TICK, NULL, 0, NULL, 0);
	}
}

#define	NPOLL	(2 + 2 * DNSD_LISTEN + DNSD_CONNS)

static int
turn(struct dnsd *d)
{
	struct pollfd pfd[NPOLL];
	struct dnsd_conn *conn[NPOLL];
	int i, n = 0, first;

	pfd[n++] = (struct pollfd){ .fd = d->ctl.fd, .events = POLLIN };
	pfd[n++] = (struct pollfd){ .fd = d->upfd, .events = POLLIN };
	for (i = 0; i < d->nudp; i++)
		pfd[n++] = (struct pollfd){ d->udp[i], POLLIN, 0 };
	for (i = 0; i < d->ntcp; i++)
		pfd[n++] = (struct pollfd){ d->tcp[i], POLLIN, 0 };
	first = n;
	for (i = 0; i < DNSD_CONNS; i++) {
		if (d->conn[i].fd < 0)
			continue;
		conn[n] = &d->conn[i];
		pfd[n++] = (struct pollfd){ d->conn[i].fd,
		    dnsd_conn_wants(&d->conn[i]), 0 };
	}
	if (poll(pfd, (nfds_t)n, 1000) < 0)
		return (errno == EINTR ? 0 : -1);
	if (pfd[0].revents != 0 && control(d) < 0)
		return (-1);
	if (pfd[1].revents != 0)
		hear_up(d);
	for (i = first; i < n; i++)
		if (pfd[i].revents != 0 && conn[i]->fd == pfd[i].fd)
			dnsd_conn_event(d, conn[i], pfd[i].revents);
	for (i = 0; i < d->nudp; i++)
		if (pfd[2 + i].revents != 0)
			hear_udp(d, i);
	for (i = 0; i < d->ntcp; i++)
		if (pfd[2 + d->nudp + i].revents != 0)
			dnsd_conn_accept(d, d->tcp[i]);
	expire(d);
	return (0);
}

static int
drop_privileges(const char *user)
{
	struct rlimit nocore = { 0, 0 };
	struct passwd *pw;

	setrlimit(RLIMIT_CORE, &nocore);
	if (strcmp(user, "-") == 0)
		return (0);
	if ((pw = getpwnam(user)) == NULL ||
	    setgroups(1, &pw->pw_gid) != 0 || setgid(pw->pw_gid) != 0 ||
	    setuid(pw->pw_uid) != 0 || setuid(0) == 0)
		return (-1);
	return (0);
}

static int
connect_up(struct dnsd *d, const char *addr, const char *port)
{
	struct sockaddr_in *in = (void *)&d->up;
	struct sockaddr_in6 *in6 = (void *)&d->up;
	struct net_addr a;

	if (net_addr_parse(addr, &a) != 0)
		return (-1);
	if (a.family == 4) {
		in->sin_family = AF_INET;
		in->sin_port = htons((uint16_t)atoi(port));
		memcpy(&in->sin_addr, a.b, 4);
		d->uplen = sizeof(*in);
	} else {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons((uint16_t)atoi(port));
		memcpy(&in6->sin6_addr, a.b, 16);
		d->uplen = sizeof(*in6);
	}
	if ((d->upfd = socket(d->up.ss_family, SOCK_DGRAM, 0)) < 0)
		return (-1);
	return (connect(d->upfd, (struct sockaddr *)&d->up, d->uplen));
}

/*
 * dns ADDRESS PORT USER UDP TCP: unbound's address and port, whom to become,
 * and how many sockets of each kind follow the control socket, 3.
 */
int
net_dnsd_main(int argc, char **argv)
{
	struct dnsd *d;
	int i;

	if (argc != 6 || (d = calloc(1, sizeof(*d))) == NULL)
		return (64);
	signal(SIGPIPE, SIG_IGN);
	d->ctl.fd = 3;
	d->nudp = atoi(argv[4]);
	d->ntcp = atoi(argv[5]);
	if (d->nudp < 0 || d->nudp > DNSD_LISTEN || d->ntcp < 0 ||
	    d->ntcp > DNSD_LISTEN) {
		free(d);
		return (64);
	}
	for (i = 0; i < d->nudp; i++)
		d->udp[i] = 4 + i;
	for (i = 0; i < d->ntcp; i++)
		d->tcp[i] = 4 + d->nudp + i;
	for (i = 0; i < DNSD_CONNS; i++)
		d->conn[i].fd = -1;
	if (connect_up(d, argv[1], argv[2]) != 0 ||
	    drop_privileges(argv[3]) != 0)
		return (1);
	while (turn(d) == 0)
		;
	return (0);
}
