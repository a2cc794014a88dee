/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Addresses and prefixes, what is derived from them (hardware and
 * link-local addresses) and which of them are not the internet.
 */

#include <sys/socket.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net_internal.h"

int
net_addr_parse(const char *s, struct net_addr *a)
{
	struct net_addr r;

	memset(&r, 0, sizeof(r));
	if (inet_pton(AF_INET, s, r.b) == 1)
		r.family = 4;
	else if (inet_pton(AF_INET6, s, r.b) == 1)
		r.family = 6;
	else
		return (-1);
	*a = r;
	return (0);
}

const char *
net_addr_print(const struct net_addr *a, char buf[NET_ADDRSTR])
{

	if (a->family == 0 ||
	    inet_ntop(a->family == 4 ? AF_INET : AF_INET6, a->b, buf,
	    NET_ADDRSTR) == NULL)
		strcpy(buf, "-");
	return (buf);
}

int
net_addr_cmp(const struct net_addr *a, const struct net_addr *b)
{

	if (a->family != b->family)
		return (a->family < b->family ? -1 : 1);
	return (memcmp(a->b, b->b, net_addr_len(a)));
}

struct net_addr
net_addr4(uint32_t host)
{
	struct net_addr a;

	memset(&a, 0, sizeof(a));
	a.family = 4;
	a.b[0] = (uint8_t)(host >> 24);
	a.b[1] = (uint8_t)(host >> 16);
	a.b[2] = (uint8_t)(host >> 8);
	a.b[3] = (uint8_t)host;
	return (a);
}

uint32_t
net_addr4_get(const struct net_addr *a)
{

	return ((uint32_t)a->b[0] << 24 | (uint32_t)a->b[1] << 16 |
	    (uint32_t)a->b[2] << 8 | a->b[3]);
}

/* Whether the prefix net/plen contains the address. */
bool
net_prefix_has(const struct net_addr *net, unsigned plen,
    const struct net_addr *a)
{
	unsigned whole, rest;
	uint8_t mask;

	if (net->family != a->family)
		return (false);
	whole = plen / 8;
	rest = plen % 8;
	if (memcmp(net->b, a->b, whole) != 0)
		return (false);
	if (rest == 0)
		return (true);
	mask = (uint8_t)(0xff00 >> rest);
	return (((net->b[whole] ^ a->b[whole]) & mask) == 0);
}

static bool
prefix_clean(const struct net_prefix *p)
{
	unsigned i;

	for (i = p->plen; i < net_addr_bits(&p->addr); i++)
		if (p->addr.b[i / 8] & (0x80 >> (i % 8)))
			return (false);
	return (true);
}

/*
 * Read "address/len" or an address alone.  Return 0, -1 when it is neither,
 * -2 when bits behind the prefix are set.
 */
int
net_prefix_parse(const char *s, struct net_prefix *p)
{
	char buf[NET_ADDRSTR + 8], *slash, *end;
	unsigned long n;

	if (strlen(s) >= sizeof(buf))
		return (-1);
	strcpy(buf, s);
	if ((slash = strchr(buf, '/')) != NULL)
		*slash++ = '\0';
	if (net_addr_parse(buf, &p->addr) != 0)
		return (-1);
	p->plen = (uint8_t)net_addr_bits(&p->addr);
	if (slash == NULL)
		return (0);
	if (*slash < '0' || *slash > '9' || strlen(slash) > 3)
		return (-1);
	n = strtoul(slash, &end, 10);
	if (*end != '\0' || n > p->plen)
		return (-1);
	p->plen = (uint8_t)n;
	return (prefix_clean(p) ? 0 : -2);
}

void
net_prefix_print(struct co_buf *b, const struct net_prefix *p)
{
	char s[NET_ADDRSTR];

	net_addr_print(&p->addr, s);
	if (p->plen == net_addr_bits(&p->addr))
		co_buf_printf(b, "%s", s);
	else
		co_buf_printf(b, "%s/%u", s, p->plen);
}

/*
 * What is not the internet: private, local, shared, reserved.  Ranges that
 * embed IPv4 addresses are here as well, as they lead back to the first
 * kind.  Documentation ranges are not: they harm nobody.
 */
#define	V4(a, b, c, d, n)	{ { 4, { a, b, c, d } }, n }
#define	V6(n, ...)		{ { 6, { __VA_ARGS__ } }, n }

static const struct net_prefix special[] = {
	V4(0, 0, 0, 0, 8),
	V4(10, 0, 0, 0, 8),
	V4(100, 64, 0, 0, 10),
	V4(127, 0, 0, 0, 8),
	V4(169, 254, 0, 0, 16),
	V4(172, 16, 0, 0, 12),
	V4(192, 0, 0, 0, 24),
	V4(192, 88, 99, 0, 24),
	V4(192, 168, 0, 0, 16),
	V4(198, 18, 0, 0, 15),
	V4(224, 0, 0, 0, 4),
	V4(240, 0, 0, 0, 4),
	V6(8, 0x00),			/* ::1, IPv4-mapped, NAT64 */
	V6(64, 0x01, 0x00),			/* discard-only */
	V6(32, 0x20, 0x01, 0x00, 0x00),		/* Teredo */
	V6(16, 0x20, 0x02),			/* 6to4 */
	V6(7, 0xfc),				/* unique local */
	V6(10, 0xfe, 0x80),			/* link-local */
	V6(10, 0xfe, 0xc0),			/* site-local */
	V6(8, 0xff),				/* multicast */
};

const struct net_prefix *
net_special_list(size_t *n)
{

	*n = sizeof(special) / sizeof(special[0]);
	return (special);
}

/* Whether the whole prefix a/plen lies in a range that is special. */
bool
net_special(const struct net_addr *a, unsigned plen)
{
	size_t i;

	for (i = 0; i < sizeof(special) / sizeof(special[0]); i++)
		if (special[i].plen <= plen &&
		    net_prefix_has(&special[i].addr, special[i].plen, a))
			return (true);
	return (false);
}

/* A locally administered address that says which IPv4 address it has. */
void
net_mac_of(const struct net_addr *a, uint8_t mac[NET_MACLEN])
{

	mac[0] = 0x06;
	mac[1] = 0x00;
	memcpy(mac + 2, a->b, 4);
}

void
net_linklocal_of(const uint8_t mac[NET_MACLEN], struct net_addr *a)
{

	memset(a, 0, sizeof(*a));
	a->family = 6;
	a->b[0] = 0xfe;
	a->b[1] = 0x80;
	a->b[8] = mac[0] ^ 0x02;
	a->b[9] = mac[1];
	a->b[10] = mac[2];
	a->b[11] = 0xff;
	a->b[12] = 0xfe;
	memcpy(a->b + 13, mac + 3, 3);
}
