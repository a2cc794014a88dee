/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a policy means for names, for the relay and, again, for the daemon
 * that checks what the relay asks for; and the stream between the two.
 */

#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dns_internal.h"

enum net_dns_verdict
net_dns_decide(const struct net_policy *p, const struct net_dnsq *q)
{

	if (strcmp(q->name, "gateway.internal") == 0 ||
	    strcmp(q->name, "proxy.internal") == 0)
		return (DNS_V_GATEWAY);
	if (!net_policy_resolves(p, q->name))
		return (DNS_V_NXDOMAIN);
	if (!net_dns_type_ok(q->type))
		return (DNS_V_REFUSED);
	return (DNS_V_FORWARD);
}

/* Private and loopback addresses, only if the allow list has them. */
bool
net_dns_tellable(const struct net_policy *p, const struct net_addr *a)
{
	const struct net_dest *d;
	size_t i;

	if (!net_special(a, net_addr_bits(a)))
		return (true);
	for (i = 0; i < p->ndest[NET_ALLOW]; i++) {
		d = &p->dest[NET_ALLOW][i];
		if (net_special(&d->addr, d->plen) &&
		    net_prefix_has(&d->addr, d->plen, a))
			return (true);
	}
	return (false);
}

int
net_ctl_fill(struct net_ctl *c)
{
	ssize_t n;
	size_t cap;
	char *p;

	for (;;) {
		if (c->cap - c->len < 4096) {
			cap = c->cap == 0 ? 16384 : c->cap * 2;
			if (cap > 2 * CTL_MAX ||
			    (p = realloc(c->buf, cap)) == NULL)
				return (-1);
			c->buf = p;
			c->cap = cap;
		}
		n = recv(c->fd, c->buf + c->len, c->cap - c->len,
		    MSG_DONTWAIT);
		if (n > 0) {
			c->len += (size_t)n;
			return (0);
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return (0);
		return (-1);
	}
}

int
net_ctl_next(struct net_ctl *c, struct ctl_head *h, const char **data)
{

	if (c->len < sizeof(*h))
		return (0);
	memcpy(h, c->buf, sizeof(*h));
	if (h->len > CTL_MAX || h->type < CTL_SET || h->type > CTL_TICK)
		return (-1);
	if (c->len - sizeof(*h) < h->len)
		return (0);
	*data = c->buf + sizeof(*h);
	return ((int)h->type);
}

void
net_ctl_done(struct net_ctl *c, const struct ctl_head *h)
{
	size_t n = sizeof(*h) + h->len;

	memmove(c->buf, c->buf + n, c->len - n);
	c->len -= n;
}

int
net_ctl_send(int fd, uint32_t type, const void *a, size_t an, const void *b,
    size_t bn)
{
	struct ctl_head h = { (uint32_t)(an + bn), type };
	char *buf;
	size_t at = 0, len = sizeof(h) + an + bn;
	ssize_t n;

	if (an + bn > CTL_MAX || (buf = malloc(len)) == NULL)
		return (-1);
	memcpy(buf, &h, sizeof(h));
	if (an > 0)
		memcpy(buf + sizeof(h), a, an);
	if (bn > 0)
		memcpy(buf + sizeof(h) + an, b, bn);
	while (at < len) {
		n = send(fd, buf + at, len - at, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	free(buf);
	return (at == len ? 0 : -1);
}

void
net_ctl_free(struct net_ctl *c)
{

	free(c->buf);
	memset(c, 0, sizeof(*c));
	c->fd = -1;
}
