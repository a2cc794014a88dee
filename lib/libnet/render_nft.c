/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Plans as nftables text.  Pure: a plan and the configuration go in, text
 * comes out.  The base is loaded from this text; a sandbox's part is loaded
 * by rules_nft.c from the same plan, and a test compares both in the kernel.
 *
 * Cost per packet does not depend on the number of sandboxes: a source
 * address leads to its chain by one lookup in a hashed map.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net_internal.h"

static void
nft_prefixes(struct co_buf *b, const struct net_prefix *p, size_t n,
    uint8_t family)
{
	const char *sep = "";
	size_t i;

	for (i = 0; i < n; i++) {
		if (p[i].addr.family != family)
			continue;
		co_buf_printf(b, "%s", sep);
		net_prefix_print(b, &p[i]);
		sep = ", ";
	}
}

static void
nft_set(struct co_buf *b, const struct net_set *s)
{

	co_buf_printf(b, "\tset %s {\n\t\ttype ipv%u_addr\n\t\tflags %s\n",
	    s->name, s->family, s->learnt ? "timeout" : "interval");
	if (s->nprefix > 0) {
		co_buf_printf(b, "\t\telements = { ");
		nft_prefixes(b, s->prefix, s->nprefix, s->family);
		co_buf_printf(b, " }\n");
	}
	co_buf_printf(b, "\t}\n");
}

static void
nft_flow(struct co_buf *b, const struct net_flow *f)
{
	bool ports = f->lo != 0 || f->hi != UINT16_MAX;

	if (f->proto == 0)
		return;
	if (!ports)
		co_buf_printf(b, "meta l4proto %u ", f->proto);
	else if (f->lo == f->hi)
		co_buf_printf(b, "meta l4proto %u th dport %u ", f->proto,
		    f->lo);
	else
		co_buf_printf(b, "meta l4proto %u th dport %u-%u ",
		    f->proto, f->lo, f->hi);
}

static void
nft_rule(struct co_buf *b, const struct net_plan *pl,
    const struct net_rule *r)
{
	const char *ip = r->family == 6 ? "ip6" : "ip";

	co_buf_printf(b, "\t\t");
	if (r->match == NET_M_PREFIX && r->prefix.plen == 0)
		co_buf_printf(b, "meta nfproto ipv%u ", r->family);
	else if (r->match == NET_M_PREFIX) {
		co_buf_printf(b, "%s daddr ", ip);
		net_prefix_print(b, &r->prefix);
		co_buf_printf(b, " ");
	} else if (r->match == NET_M_SET || r->match == NET_M_LEARNT)
		co_buf_printf(b, "%s daddr @%s ", ip, pl->set[r->set].name);
	else if (r->match == NET_M_SPECIAL)
		co_buf_printf(b, "%s daddr @special%u ", ip, r->family);
	nft_flow(b, &r->flow);
	if (r->pass)
		co_buf_printf(b, "accept\n");
	else
		co_buf_printf(b, "counter name \"blocked-%s\" drop\n",
		    pl->tag);
}

/* The rules of one family; it has a chain of its own. */
static void
nft_chain(struct co_buf *b, const char *name, const struct net_plan *pl,
    const struct net_rules *r, uint8_t family)
{
	size_t i;

	if (r->n == 0 || (family == 6 && pl->lease.addr6.family == 0))
		return;
	co_buf_printf(b, "\tchain %s%s-%s {\n", name, family == 6 ? "6" : "",
	    pl->tag);
	for (i = 0; i < r->n; i++)
		if (r->rule[i].family == 0 || r->rule[i].family == family)
			nft_rule(b, pl, &r->rule[i]);
	co_buf_printf(b, "\t}\n");
}

/* What may burst: a tenth of a second, but a window at least. */
static void
nft_limit(struct co_buf *b, const char *name, const struct net_plan *pl,
    uint64_t rate)
{
	uint64_t burst = rate / 10 < 65536 ? 65536 : rate / 10;

	if (rate == 0)
		return;
	co_buf_printf(b, "\tchain %s-%s {\n\t\tlimit rate over %llu "
	    "bytes/second burst %llu bytes counter name \"blocked-%s\" "
	    "drop\n\t}\n", name, pl->tag, (unsigned long long)rate,
	    (unsigned long long)burst, pl->tag);
}

static void
nft_elements(struct co_buf *b, const char *table, const struct net_plan *pl,
    const struct net_addr *a)
{
	const char *six = a->family == 6 ? "6" : "";
	char s[NET_ADDRSTR];
	unsigned f = a->family;

	if (f == 0)
		return;
	net_addr_print(a, s);
	co_buf_printf(b, "add element inet %s sandbox%u { %s : goto "
	    "sandbox%s-%s }\n", table, f, s, six, pl->tag);
	if (pl->host.n > 0)
		co_buf_printf(b, "add element inet %s host%u { %s : goto "
		    "host%s-%s }\n", table, f, s, six, pl->tag);
	if (pl->live)
		co_buf_printf(b, "add element inet %s live%u { %s }\n",
		    table, f, s);
	if (pl->forwards)
		co_buf_printf(b, "add element inet %s inbound%u { %s }\n",
		    table, f, s);
	if (pl->up != 0)
		co_buf_printf(b, "add element inet %s up%u { %s : jump "
		    "up-%s }\n", table, f, s, pl->tag);
	if (pl->down != 0)
		co_buf_printf(b, "add element inet %s down%u { %s : jump "
		    "down-%s }\n", table, f, s, pl->tag);
}

static void
nft_pin(struct co_buf *b, const char *table, const struct net_lease *l,
    const struct net_addr *a)
{
	char s[NET_ADDRSTR];

	co_buf_printf(b, "add element bridge %s pin%u { \"%s\" . "
	    "%02x:%02x:%02x:%02x:%02x:%02x . %s }\n", table, a->family,
	    l->ifname, l->mac[0], l->mac[1], l->mac[2], l->mac[3], l->mac[4],
	    l->mac[5], net_addr_print(a, s));
}

char *
net_render_nft_plan(const struct net_conf *c, const struct net_plan *pl)
{
	struct co_buf b = { 0 };
	struct net_addr ll;
	size_t i;

	co_buf_printf(&b, "# sandbox %s, %s\ntable inet %s {\n",
	    pl->lease.id, net_mode_name(pl->mode), c->instance);
	co_buf_printf(&b, "\tcounter blocked-%s {\n\t}\n", pl->tag);
	for (i = 0; i < pl->nset; i++)
		nft_set(&b, &pl->set[i]);
	nft_chain(&b, "sandbox", pl, &pl->through, 4);
	nft_chain(&b, "sandbox", pl, &pl->through, 6);
	nft_chain(&b, "host", pl, &pl->host, 4);
	nft_chain(&b, "host", pl, &pl->host, 6);
	nft_limit(&b, "up", pl, pl->up);
	nft_limit(&b, "down", pl, pl->down);
	co_buf_printf(&b, "}\n");
	nft_elements(&b, c->instance, pl, &pl->lease.addr);
	nft_elements(&b, c->instance, pl, &pl->lease.addr6);
	nft_pin(&b, c->instance, &pl->lease, &pl->lease.addr);
	if (pl->lease.addr6.family != 0) {
		nft_pin(&b, c->instance, &pl->lease, &pl->lease.addr6);
		net_linklocal_of(pl->lease.mac, &ll);
		nft_pin(&b, c->instance, &pl->lease, &ll);
	}
	return (co_buf_take(&b));
}

char *
net_render_nft(const struct net_conf *c, const struct net_lease *l,
    const struct net_policy *p)
{
	struct net_plan *pl;
	char *text;

	if ((pl = net_plan_new(l, p)) == NULL)
		return (NULL);
	text = net_render_nft_plan(c, pl);
	net_plan_free(pl);
	return (text);
}

static void
base_sets(struct co_buf *b, const struct net_conf *c,
    const struct net_range r[2])
{
	const struct net_prefix *sp;
	char s[NET_ADDRSTR], t[NET_ADDRSTR];
	size_t i, n;
	unsigned f;

	co_buf_printf(b, "\tset bridges {\n\t\ttype ifname\n"
	    "\t\telements = { \"%s\", \"%s\" }\n\t}\n", r[0].bridge,
	    r[1].bridge);
	co_buf_printf(b, "\tset gateway4 {\n\t\ttype ifname . ipv4_addr\n"
	    "\t\telements = { \"%s\" . %s, \"%s\" . %s }\n\t}\n", r[0].bridge,
	    net_addr_print(&r[0].gateway, s), r[1].bridge,
	    net_addr_print(&r[1].gateway, t));
	co_buf_printf(b, "\tset gateway6 {\n\t\ttype ifname . ipv6_addr\n");
	if (r[0].net6.addr.family != 0 && r[1].net6.addr.family != 0)
		co_buf_printf(b, "\t\telements = { \"%s\" . %s, \"%s\" . "
		    "%s }\n", r[0].bridge, net_addr_print(&r[0].gateway6, s),
		    r[1].bridge, net_addr_print(&r[1].gateway6, t));
	co_buf_printf(b, "\t}\n\tset service {\n"
	    "\t\ttype inet_proto . inet_service\n");
	for (i = 0; i < c->nservice; i++)
		co_buf_printf(b, "%s%u . %u", i == 0 ?
		    "\t\telements = { " : ", ", c->service[i].proto,
		    c->service[i].port);
	co_buf_printf(b, "%s\t}\n", c->nservice > 0 ? " }\n" : "");
	sp = net_special_list(&n);
	for (f = 4; f <= 6; f += 2) {
		co_buf_printf(b, "\tset special%u {\n\t\ttype ipv%u_addr\n"
		    "\t\tflags interval\n\t\telements = { ", f, f);
		nft_prefixes(b, sp, n, (uint8_t)f);
		co_buf_printf(b, " }\n\t}\n");
	}
}

/* Where sandboxes come and go: one element each. */
static void
base_maps(struct co_buf *b)
{
	static const char *const maps[] = { "sandbox", "host", "up", "down" };
	static const char *const sets[] = { "live", "inbound" };
	size_t i;
	int f;

	for (f = 4; f <= 6; f += 2) {
		for (i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
			co_buf_printf(b, "\tmap %s%d {\n\t\ttype ipv%d_addr "
			    ": verdict\n\t}\n", maps[i], f, f);
		for (i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
			co_buf_printf(b, "\tset %s%d {\n\t\ttype "
			    "ipv%d_addr\n\t}\n", sets[i], f, f);
	}
}

static const char base_chains[] =
    /* From or to a sandbox, through the host. */
    "\tchain through {\n"
    "\t\ttype filter hook forward priority filter - 5; policy accept;\n"
    "\t\tiifname @bridges goto outward\n"
    "\t\toifname @bridges goto inward\n"
    "\t}\n"
    "\tchain outward {\n"
    "\t\toifname @bridges counter name \"neighbours\" drop\n"
    "\t\tip saddr vmap @up4\n"
    "\t\tip6 saddr vmap @up6\n"
    "\t\tct state established accept\n"
    "\t\tct state related meta l4proto { 1, 58 } accept\n"
    "\t\tct state invalid drop\n"
    "\t\tip saddr vmap @sandbox4\n"
    "\t\tip6 saddr vmap @sandbox6\n"
    "\t\tcounter name \"strangers\" drop\n"
    "\t}\n"
    "\tchain inward {\n"
    "\t\tip daddr vmap @down4\n"
    "\t\tip6 daddr vmap @down6\n"
    "\t\tct state established accept\n"
    "\t\tct state related meta l4proto { 1, 58 } accept\n"
    "\t\tct status dnat ip daddr @inbound4 accept\n"
    "\t\tct status dnat ip6 daddr @inbound6 accept\n"
    "\t\tcounter name \"uninvited\" drop\n"
    "\t}\n"
    /* From a sandbox to the host itself. */
    "\tchain arriving {\n"
    "\t\ttype filter hook input priority filter - 5; policy accept;\n"
    "\t\tiifname @bridges goto tohost\n"
    "\t}\n"
    "\tchain tohost {\n"
    "\t\tip saddr != @live4 drop\n"
    "\t\tct state established accept\n"
    "\t\tct state related meta l4proto { 1, 58 } accept\n"
    "\t\ticmpv6 type nd-neighbor-solicit accept\n"
    "\t\tip6 saddr != @live6 drop\n"
    "\t\tiifname . ip daddr @gateway4 meta l4proto . th dport @service "
    "accept\n"
    "\t\tiifname . ip6 daddr @gateway6 meta l4proto . th dport @service "
    "accept\n"
    "\t\tiifname . ip daddr @gateway4 icmp type echo-request accept\n"
    "\t\tiifname . ip6 daddr @gateway6 icmpv6 type echo-request accept\n"
    "\t\tip saddr vmap @host4\n"
    "\t\tip6 saddr vmap @host6\n"
    "\t\tcounter name \"intruders\" drop\n"
    "\t}\n"
    /* From the host to a sandbox. */
    "\tchain leaving {\n"
    "\t\ttype filter hook output priority filter - 5; policy accept;\n"
    "\t\toifname @bridges goto fromhost\n"
    "\t}\n"
    "\tchain fromhost {\n"
    "\t\tip daddr @live4 accept\n"
    "\t\tip6 daddr @live6 accept\n"
    "\t\ticmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept\n"
    "\t\tip daddr != @live4 drop\n"
    "\t\tip6 daddr != @live6 drop\n"
    "\t}\n";

/* Only what came from a sandbox: the host talks to itself as it is. */
static void
base_nat(struct co_buf *b, const struct net_range r[2])
{
	static const char masquerade[] =
	    " iifname @bridges oifname != @bridges masquerade\n";
	int i;

	co_buf_printf(b, "\tchain translate {\n\t\ttype nat hook "
	    "postrouting priority srcnat; policy accept;\n");
	for (i = 0; i < 2; i++) {
		co_buf_printf(b, "\t\tip saddr ");
		net_prefix_print(b, &r[i].net);
		co_buf_printf(b, "%s", masquerade);
		if (r[i].net6.addr.family == 0)
			continue;
		co_buf_printf(b, "\t\tip6 saddr ");
		net_prefix_print(b, &r[i].net6);
		co_buf_printf(b, "%s", masquerade);
	}
	co_buf_printf(b, "\t}\n");
}

/*
 * Every frame of our ports must come from the hardware and network address
 * that belong to the port.  A port that has no entry yet says nothing.
 */
static void
base_bridge(struct co_buf *b, const struct net_conf *c)
{

	co_buf_printf(b, "table bridge %s {\n\tcounter spoofed {\n\t}\n"
	    "\tset pin4 {\n\t\ttype ifname . ether_addr . ipv4_addr\n\t}\n"
	    "\tset pin6 {\n\t\ttype ifname . ether_addr . ipv6_addr\n\t}\n",
	    c->instance);
	co_buf_printf(b, "\tchain ports {\n\t\ttype filter hook prerouting "
	    "priority -300; policy accept;\n"
	    "\t\tiifname != \"%s*\" accept\n"
	    "\t\tudp sport { 67, 547 } counter name \"spoofed\" drop\n"
	    "\t\ticmpv6 type { nd-router-advert, nd-neighbor-advert, "
	    "nd-redirect } counter name \"spoofed\" drop\n"
	    "\t\tiifname . ether saddr . ip saddr @pin4 accept\n"
	    "\t\tiifname . ether saddr . ip6 saddr @pin6 accept\n"
	    "\t\tiifname . ether saddr . arp saddr ip @pin4 "
	    "iifname . arp saddr ether . arp saddr ip @pin4 accept\n"
	    "\t\tcounter name \"spoofed\" drop\n\t}\n", c->prefix);
	co_buf_printf(b, "\tchain between {\n\t\ttype filter hook forward "
	    "priority -200; policy accept;\n"
	    "\t\tiifname \"%s*\" oifname \"%s*\" drop\n\t}\n}\n", c->prefix,
	    c->prefix);
}

char *
net_render_nft_base(const struct net_conf *c)
{
	struct net_range r[2];
	struct co_buf b = { 0 };
	static const char *const counters[] = {
		"neighbours", "strangers", "uninvited", "intruders"
	};
	size_t i;

	if (net_range_parse(c, NET_PAIR, &r[0], NULL) != 0 ||
	    net_range_parse(c, NET_TAP, &r[1], NULL) != 0)
		return (NULL);
	co_buf_printf(&b, "table inet %s {\n", c->instance);
	for (i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		co_buf_printf(&b, "\tcounter %s {\n\t}\n", counters[i]);
	base_sets(&b, c, r);
	base_maps(&b);
	co_buf_add(&b, base_chains, sizeof(base_chains) - 1);
	base_nat(&b, r);
	co_buf_printf(&b, "}\n");
	base_bridge(&b, c);
	return (co_buf_take(&b));
}
