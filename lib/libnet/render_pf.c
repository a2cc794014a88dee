/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Plans as pf text: the anchor of one sandbox, the anchor that all share and
 * the one that is evaluated last.  Pure.  Every rule of a sandbox names its
 * address or its own interface, so that an anchor can't touch anybody else.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net_internal.h"
#include "pf_internal.h"

/* Within an anchor a set needs no tag in its name. */
void
net_pf_table(const struct net_plan *pl, const struct net_set *s, char *buf,
    size_t size)
{
	const char *at = strstr(s->name, pl->tag);
	int head = at == NULL ? (int)strlen(s->name) : (int)(at - s->name);

	snprintf(buf, size, "%.*s%s", head, s->name,
	    at == NULL ? "" : at + strlen(pl->tag) + 1);
}

/* The dummynet pipe of one direction; unique below 16384 sandboxes. */
unsigned
net_pf_pipe(const struct net_lease *l, bool up)
{

	return ((net_addr4_get(&l->addr) & 0x3fff) << 2 |
	    (unsigned)l->kind << 1 | (up ? 1 : 0));
}

static const struct net_addr *
pf_source(const struct net_plan *pl, uint8_t family)
{

	return (family == 6 ? &pl->lease.addr6 : &pl->lease.addr);
}

static void
pf_tables(struct co_buf *b, const struct net_plan *pl,
    const struct net_rules *r, bool passonly)
{
	const struct net_set *s;
	char name[NET_SETNAME];
	size_t i, k;

	for (i = 0; i < r->n; i++) {
		if (r->rule[i].match != NET_M_SET &&
		    r->rule[i].match != NET_M_LEARNT)
			continue;
		if (passonly && !r->rule[i].pass)
			continue;
		s = &pl->set[r->rule[i].set];
		net_pf_table(pl, s, name, sizeof(name));
		if (s->learnt) {
			co_buf_printf(b, "table <%s> persist\n", name);
			continue;
		}
		co_buf_printf(b, "table <%s> const {", name);
		for (k = 0; k < s->nprefix; k++) {
			co_buf_printf(b, "%s", k == 0 ? " " : ", ");
			net_prefix_print(b, &s->prefix[k]);
		}
		co_buf_printf(b, " }\n");
	}
}

static void
pf_special(struct co_buf *b)
{
	const struct net_prefix *p;
	size_t i, n;

	p = net_special_list(&n);
	co_buf_printf(b, "table <special> const {");
	for (i = 0; i < n; i++) {
		co_buf_printf(b, "%s", i == 0 ? " " : ", ");
		net_prefix_print(b, &p[i]);
	}
	co_buf_printf(b, " }\n");
}

static void
pf_own(struct co_buf *b, const struct net_plan *pl)
{
	char s[NET_ADDRSTR];
	struct net_addr ll;

	co_buf_printf(b, "table <own> const { %s",
	    net_addr_print(&pl->lease.addr, s));
	if (pl->lease.addr6.family != 0) {
		co_buf_printf(b, ", %s",
		    net_addr_print(&pl->lease.addr6, s));
		net_linklocal_of(pl->lease.mac, &ll);
		co_buf_printf(b, ", %s", net_addr_print(&ll, s));
	}
	co_buf_printf(b, " }\n");
}

static void
pf_flow_proto(struct co_buf *b, const struct net_flow *f)
{
	char buf[8];

	if (f->proto == 58)
		co_buf_printf(b, " proto icmp6");
	else if (f->proto != 0)
		co_buf_printf(b, " proto %s", net_proto_name(f->proto, buf));
}

static void
pf_flow_ports(struct co_buf *b, const struct net_flow *f)
{

	if (f->lo == 0 && f->hi == UINT16_MAX)
		return;
	if (f->lo == f->hi)
		co_buf_printf(b, " port = %u", f->lo);
	else
		co_buf_printf(b, " port %u:%u", f->lo, f->hi);
}

static void
pf_pipes(struct co_buf *b, const struct net_plan *pl)
{

	if (pl->up == 0 && pl->down == 0)
		return;
	co_buf_printf(b, " dnpipe (%u, %u)", net_pf_pipe(&pl->lease, true),
	    net_pf_pipe(&pl->lease, false));
}

static void
pf_rule_family(struct co_buf *b, const struct net_plan *pl,
    const struct net_rule *r, uint8_t family)
{
	const struct net_addr *src = pf_source(pl, family);
	char s[NET_ADDRSTR], name[NET_SETNAME];

	if (src->family == 0)
		return;
	co_buf_printf(b, "%s quick %s", r->pass ? "pass" : "block drop",
	    family == 6 ? "inet6" : "inet");
	pf_flow_proto(b, &r->flow);
	co_buf_printf(b, " from %s to ", net_addr_print(src, s));
	switch (r->match) {
	case NET_M_SET:
	case NET_M_LEARNT:
		net_pf_table(pl, &pl->set[r->set], name, sizeof(name));
		co_buf_printf(b, "<%s>", name);
		break;
	case NET_M_PREFIX:
		net_prefix_print(b, &r->prefix);
		break;
	case NET_M_SPECIAL:
		co_buf_printf(b, "<special>");
		break;
	default:
		co_buf_printf(b, "any");
		break;
	}
	pf_flow_ports(b, &r->flow);
	if (r->pass) {
		co_buf_printf(b, " keep state");
		co_buf_printf(b, " tag coppice");
		pf_pipes(b, pl);
	}
	co_buf_printf(b, "\n");
}

static void
pf_rule(struct co_buf *b, const struct net_plan *pl,
    const struct net_rule *r)
{

	if (r->family == 0 || r->family == 4)
		pf_rule_family(b, pl, r, 4);
	if (r->family == 0 || r->family == 6)
		pf_rule_family(b, pl, r, 6);
}

/* The gateway's services, and neighbour discovery to find it. */
static void
pf_gateway(struct co_buf *b, const struct net_conf *c,
    const struct net_plan *pl)
{
	const struct net_lease *l = &pl->lease;
	char s[NET_ADDRSTR], g[NET_ADDRSTR], p[8];
	size_t i;
	int f;

	for (f = 4; f <= 6; f += 2) {
		if (f == 6 && l->addr6.family == 0)
			break;
		net_addr_print(f == 4 ? &l->addr : &l->addr6, s);
		net_addr_print(f == 4 ? &l->gateway : &l->gateway6, g);
		for (i = 0; i < c->nservice; i++)
			co_buf_printf(b, "pass in quick inet%s proto %s "
			    "from %s to %s port = %u keep state\n",
			    f == 6 ? "6" : "",
			    net_proto_name(c->service[i].proto, p), s, g,
			    c->service[i].port);
		co_buf_printf(b, "pass in quick inet%s proto icmp%s from %s "
		    "to %s icmp%s-type echoreq keep state\n",
		    f == 6 ? "6" : "", f == 6 ? "6" : "", s, g,
		    f == 6 ? "6" : "");
	}
	if (l->addr6.family == 0)
		return;
	co_buf_printf(b, "pass in quick inet6 proto icmp6 from <own> to any "
	    "icmp6-type neighbrsol no state\n"
	    "pass in quick inet6 proto icmp6 from <own> to any "
	    "icmp6-type neighbradv no state\n"
	    "pass out quick inet6 proto icmp6 from any to <own> "
	    "icmp6-type neighbrsol no state\n"
	    "pass out quick inet6 proto icmp6 from any to <own> "
	    "icmp6-type neighbradv no state\n");
}

/* Other sandboxes, whatever the lists say. */
static void
pf_neighbours(struct co_buf *b, const struct net_conf *c,
    const struct net_plan *pl)
{
	struct net_range r;
	char s[NET_ADDRSTR];
	int i;

	for (i = 0; i < 2; i++) {
		if (net_range_parse(c, (enum net_kind)i, &r, NULL) != 0)
			continue;
		co_buf_printf(b, "block drop quick inet from %s to ",
		    net_addr_print(&pl->lease.addr, s));
		net_prefix_print(b, &r.net);
		co_buf_printf(b, "\n");
		if (pl->lease.addr6.family == 0 || r.net6.addr.family == 0)
			continue;
		co_buf_printf(b, "block drop quick inet6 from %s to ",
		    net_addr_print(&pl->lease.addr6, s));
		net_prefix_print(b, &r.net6);
		co_buf_printf(b, "\n");
	}
}

/* Deny first, then single addresses of the host, then the rest. */
static void
pf_lists(struct co_buf *b, const struct net_plan *pl)
{
	const struct net_rules *r = &pl->through;
	char s[NET_ADDRSTR];
	size_t i, k;

	for (i = 0; i < r->n; i++) {
		if (r->rule[i].pass || (r->rule[i].match != NET_M_SET &&
		    r->rule[i].match != NET_M_PREFIX))
			break;
		pf_rule(b, pl, &r->rule[i]);
	}
	for (k = 0; k < pl->host.n; k++)
		if (pl->host.rule[k].pass)
			pf_rule(b, pl, &pl->host.rule[k]);
	co_buf_printf(b, "block drop quick inet from %s to (self)\n",
	    net_addr_print(&pl->lease.addr, s));
	if (pl->lease.addr6.family != 0)
		co_buf_printf(b, "block drop quick inet6 from %s to "
		    "(self)\n", net_addr_print(&pl->lease.addr6, s));
	for (; i < r->n; i++)
		pf_rule(b, pl, &r->rule[i]);
}

/* What may reach the sandbox: the host and, if permitted, forwards. */
static void
pf_inward(struct co_buf *b, const struct net_plan *pl)
{

	if (pl->forwards)
		co_buf_printf(b, "pass out quick from any to <own> keep "
		    "state\n");
	else
		co_buf_printf(b, "pass out quick from (self) to <own> keep "
		    "state\nblock drop quick from any to <own>\n");
}

/*
 * Take out lines that stand there before.  All rules are quick, so the
 * second of two decides nothing; and newer kernels don't keep it.
 */
static char *
pf_once(char *text)
{
	char *from, *line, *to;
	size_t k, n;

	if (text == NULL)
		return (NULL);
	for (from = to = text; *from != '\0'; from += n) {
		n = strcspn(from, "\n");
		n += from[n] == '\n';
		for (line = text; line < to; line += k) {
			k = strcspn(line, "\n") + 1;
			if (k == n && memcmp(line, from, n) == 0)
				break;
		}
		if (line < to)
			continue;
		memmove(to, from, n);
		to += n;
	}
	*to = '\0';
	return (text);
}

char *
net_render_pf_plan(const struct net_conf *c, const struct net_plan *pl)
{
	struct co_buf b = { 0 };

	co_buf_printf(&b, "# %s/sandbox-%s: %s, %s\n", c->anchor, pl->tag,
	    pl->lease.id, net_mode_name(pl->mode));
	pf_own(&b, pl);
	if (pl->live) {
		pf_special(&b);
		pf_tables(&b, pl, &pl->through, false);
		pf_tables(&b, pl, &pl->host, true);
	}
	co_buf_printf(&b, "block drop in quick on %s from ! <own> to any\n",
	    pl->lease.ifname);
	if (!pl->live) {
		co_buf_printf(&b, "block drop quick from <own> to any\n"
		    "block drop quick from any to <own>\n");
		return (co_buf_take(&b));
	}
	pf_gateway(&b, c, pl);
	pf_neighbours(&b, c, pl);
	pf_lists(&b, pl);
	pf_inward(&b, pl);
	return (pf_once(co_buf_take(&b)));
}

char *
net_render_pf(const struct net_conf *c, const struct net_lease *l,
    const struct net_policy *p)
{
	struct net_plan *pl;
	char *text;

	if ((pl = net_plan_new(l, p)) == NULL)
		return (NULL);
	text = net_render_pf_plan(c, pl);
	net_plan_free(pl);
	return (text);
}

/*
 * Translation happens on the interface that carries the uplink, and only
 * there: on one that pf skips it would never fire.  What a sandbox's anchor
 * has passed is tagged and leaves whatever the main rules say.
 */
char *
net_render_pf_base(const struct net_conf *c, const char *uplink)
{
	struct co_buf b = { 0 };
	struct net_range r;
	int i;

	for (i = 0; i < 2; i++) {
		if (net_range_parse(c, (enum net_kind)i, &r, NULL) != 0)
			return (NULL);
		co_buf_printf(&b, "nat on %s inet from ", uplink);
		net_prefix_print(&b, &r.net);
		co_buf_printf(&b, " to any -> (%s)\n", uplink);
		if (r.net6.addr.family == 0)
			continue;
		co_buf_printf(&b, "nat on %s inet6 from ", uplink);
		net_prefix_print(&b, &r.net6);
		co_buf_printf(&b, " to any -> (%s)\n", uplink);
	}
	co_buf_printf(&b, "pass out quick on %s all keep state tagged "
	    "coppice\n", uplink);
	return (co_buf_take(&b));
}

/*
 * The anchor whose name sorts behind all others: what no sandbox's rules
 * have decided does not pass.
 */
char *
net_render_pf_last(const struct net_conf *c)
{
	struct co_buf b = { 0 };
	int i;

	for (i = 0; i < 2; i++)
		co_buf_printf(&b, "block drop in quick on %s all\n",
		    c->subnet[i].bridge);
	return (co_buf_take(&b));
}
