/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The configuration of the network: defaults, and the reading of a subnet's
 * strings into numbers, once, with messages that name the key.
 */

#include <stdio.h>
#include <string.h>

#include "net_internal.h"

static const struct net_service services[] = {
	{ 17, 53 }, { 6, 53 },		/* the resolver */
	{ 6, 49983 },			/* envd */
	{ 6, 49982 },			/* metadata */
};

static const struct net_subnet subnets[2] = {
	[NET_PAIR] = {
		.bridge = "coppicenet0", .range = "10.78.0.0/24",
		.range6 = "fd63:6f70:7069:4e::/64", .key = "net.jail",
	},
	[NET_TAP] = {
		.bridge = "cubenet0", .range = "10.77.0.0/24",
		.range6 = "fd63:6f70:7069:4d::/64", .key = "net.vm",
	},
};

void
net_conf_default(struct net_conf *c)
{

	memset(c, 0, sizeof(*c));
	c->instance = "coppice";
	c->anchor = "cube";
	c->prefix = "cp";
	c->statedir = "/var/db/coppice/net";
	c->subnet[NET_PAIR] = subnets[NET_PAIR];
	c->subnet[NET_TAP] = subnets[NET_TAP];
	c->ip6 = true;
	c->quarantine_ms = 5000;
	c->service = services;
	c->nservice = sizeof(services) / sizeof(services[0]);
	c->unbound_port = 5335;
	c->dns_floor_ms = 5000;
	c->pf_conf = "/etc/pf.conf";
	c->deadman_ms = 30000;
	net_conf_platform(c);
}

static int
range_bad(const struct net_subnet *s, const char *key, const char *value,
    const char *want, struct co_error *e)
{

	return (co_error_set(e, CO_ESYS_CONFIG, value,
	    "\"%s.%s\" is \"%s\", but must be %s; correct it in coppice.conf",
	    s->key, key, value, want));
}

static int
range_host(const struct net_subnet *s, const char *key, const char *value,
    const struct net_prefix *net, uint32_t *host, struct co_error *e)
{
	struct net_addr a;

	if (net_addr_parse(value, &a) != 0 ||
	    !net_prefix_has(&net->addr, net->plen, &a))
		return (range_bad(s, key, value, "an address of the range",
		    e));
	*host = net_addr4_get(&a);
	return (0);
}

static int
range_hosts(const struct net_subnet *s, struct net_range *r,
    struct co_error *e)
{
	uint32_t base, size, gw;

	base = net_addr4_get(&r->net.addr);
	size = (uint32_t)1 << (32 - r->net.plen);
	gw = base + 1;
	if (s->gateway != NULL &&
	    range_host(s, "gateway", s->gateway, &r->net, &gw, e) != 0)
		return (-1);
	r->gateway = net_addr4(gw);
	/* A /24 keeps .2-.9 and .251-.254; wider and narrower ones likewise. */
	r->first = base + (size >= 64 ? 10 : 2);
	r->last = base + size - (size >= 64 ? 6 : 2);
	if (s->first != NULL &&
	    range_host(s, "first", s->first, &r->net, &r->first, e) != 0)
		return (-1);
	if (s->last != NULL &&
	    range_host(s, "last", s->last, &r->net, &r->last, e) != 0)
		return (-1);
	if (r->first > r->last || r->first == base ||
	    r->last == base + size - 1)
		return (range_bad(s, "first", s->first != NULL ? s->first :
		    s->range, "before \"last\" and inside the range", e));
	return (0);
}

int
net_range_parse(const struct net_conf *c, enum net_kind kind,
    struct net_range *r, struct co_error *e)
{
	const struct net_subnet *s = &c->subnet[kind];

	memset(r, 0, sizeof(*r));
	r->kind = kind;
	r->bridge = s->bridge;
	r->key = s->key;
	if (s->bridge == NULL || strlen(s->bridge) >= NET_IFNAME ||
	    strlen(s->bridge) == 0)
		return (range_bad(s, "bridge", s->bridge ? s->bridge : "",
		    "an interface name of at most 15 bytes", e));
	if (net_prefix_parse(s->range, &r->net) != 0 ||
	    r->net.addr.family != 4 || r->net.plen < 16 || r->net.plen > 29)
		return (range_bad(s, "range", s->range,
		    "an IPv4 range from /16 to /29 without host bits", e));
	if (range_hosts(s, r, e) != 0)
		return (-1);
	net_mac_of(&r->gateway, r->mac);
	if (!c->ip6 || s->range6 == NULL)
		return (0);
	if (net_prefix_parse(s->range6, &r->net6) != 0 ||
	    r->net6.addr.family != 6 || r->net6.plen != 64)
		return (range_bad(s, "range6", s->range6,
		    "an IPv6 range of /64 without host bits", e));
	r->gateway6 = r->net6.addr;
	r->gateway6.b[15] = 1;
	return (0);
}
