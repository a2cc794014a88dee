/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Looking at Linux's links without changing any: our ports and their labels,
 * addresses that others use on our bridges, counters, the uplink.
 */

#include <sys/socket.h>

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "links_linux.h"

int
net_link_index_cb(const struct nlmsghdr *h, void *arg)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(h);

	if (h->nlmsg_type == RTM_NEWLINK)
		*(int *)arg = ifi->ifi_index;
	return (MNL_CB_STOP);
}

/* The attributes of a link that we look at. */
struct view {
	const char	*name, *alias;
	uint32_t	 master;
	struct rtnl_link_stats64 stats;
	bool		 up, found;
};

static int
view_attr(const struct nlattr *a, void *arg)
{
	struct view *v = arg;

	switch (mnl_attr_get_type(a)) {
	case IFLA_IFNAME:
		v->name = mnl_attr_get_str(a);
		break;
	case IFLA_IFALIAS:
		v->alias = mnl_attr_get_str(a);
		break;
	case IFLA_MASTER:
		v->master = mnl_attr_get_u32(a);
		break;
	case IFLA_STATS64:
		if (mnl_attr_get_payload_len(a) >= 24 * 8)
			memcpy(&v->stats, mnl_attr_get_payload(a), 24 * 8);
		break;
	}
	return (MNL_CB_OK);
}

static void
view_read(const struct nlmsghdr *h, struct view *v)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(h);

	memset(v, 0, sizeof(*v));
	mnl_attr_parse(h, sizeof(*ifi), view_attr, v);
	v->up = (ifi->ifi_flags & IFF_UP) != 0;
	v->found = true;
}

static int
view_cb(const struct nlmsghdr *h, void *arg)
{

	view_read(h, arg);
	((struct view *)arg)->name = NULL;
	return (MNL_CB_STOP);
}

static int
link_get(struct net_links *k, const char *name, mnl_cb_t cb, void *arg)
{
	struct nlmsghdr *h;

	net_nl_begin(k->nl);
	h = net_link_msg(k->nl, RTM_GETLINK, 0, name, 0, 0);
	h->nlmsg_flags = NLM_F_REQUEST;
	net_nl_end(k->nl, h);
	return (net_nl_query(k->nl, cb, arg));
}

int
net_links_counters(struct net_links *k, const struct net_lease *l,
    struct net_counters *c, struct co_error *e)
{
	struct view v;
	int err;

	memset(&v, 0, sizeof(v));
	if ((err = link_get(k, l->ifname, view_cb, &v)) != 0)
		return (co_error_errno(e, err, l->ifname,
		    "can't read the counters of %s", l->ifname));
	/* What the host's end receives is what the sandbox has sent. */
	c->in_packets = v.stats.tx_packets;
	c->in_bytes = v.stats.tx_bytes;
	c->out_packets = v.stats.rx_packets;
	c->out_bytes = v.stats.rx_bytes;
	return (0);
}

bool
net_links_present(struct net_links *k, const struct net_lease *l)
{
	struct view v;
	unsigned master = if_nametoindex(k->range[l->kind].bridge);

	memset(&v, 0, sizeof(v));
	return (link_get(k, l->ifname, view_cb, &v) == 0 && v.found && v.up &&
	    v.master == master);
}

/*
 * Bridges.
 */
static int
ours_cb(const struct nlmsghdr *h, void *arg)
{
	struct view v;

	view_read(h, &v);
	if (v.alias != NULL && strncmp(v.alias, "coppice:", 8) == 0)
		*(bool *)arg = true;
	return (MNL_CB_STOP);
}

bool
net_bridge_ours(struct net_links *k, enum net_kind kind)
{
	bool ours = false;

	return (link_get(k, k->range[kind].bridge, ours_cb, &ours) == 0 &&
	    ours);
}

struct has {
	uint32_t	 index;
	const struct net_addr *want;
	bool		 found;
};

static int
has_attr(const struct nlattr *a, void *arg)
{
	struct has *s = arg;

	if ((mnl_attr_get_type(a) == IFA_ADDRESS) &&
	    mnl_attr_get_payload_len(a) == net_addr_len(s->want) &&
	    memcmp(mnl_attr_get_payload(a), s->want->b,
	    net_addr_len(s->want)) == 0)
		s->found = true;
	return (MNL_CB_OK);
}

static int
has_cb(const struct nlmsghdr *h, void *arg)
{
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(h);
	struct has *s = arg;

	if (ifa->ifa_index == s->index)
		mnl_attr_parse(h, sizeof(*ifa), has_attr, s);
	return (MNL_CB_OK);
}

static bool
link_has(struct net_links *k, unsigned index, const struct net_addr *a)
{
	struct has s = { index, a, false };
	struct ifaddrmsg *ifa;
	struct nlmsghdr *h;

	net_nl_begin(k->nl);
	h = net_nl_msg(k->nl, RTM_GETADDR, NLM_F_DUMP);
	ifa = mnl_nlmsg_put_extra_header(h, sizeof(*ifa));
	ifa->ifa_family = a->family == 4 ? AF_INET : AF_INET6;
	net_nl_end(k->nl, h);
	return (net_nl_query(k->nl, has_cb, &s) == 0 && s.found);
}

bool
net_links_ready(struct net_links *k, enum net_kind kind)
{
	const struct net_range *r = &k->range[kind];
	unsigned index = if_nametoindex(r->bridge);
	struct view v;

	memset(&v, 0, sizeof(v));
	return (index != 0 && link_get(k, r->bridge, view_cb, &v) == 0 &&
	    v.up && link_has(k, index, &r->gateway) &&
	    (r->net6.addr.family == 0 || link_has(k, index, &r->gateway6)));
}

/*
 * Everything of ours.
 */
struct scan {
	struct net_links *k;
	struct net_seen	*seen;
	unsigned	 bridge[2];
	int		 err;
};

static bool
scan_name(const struct net_conf *c, const char *name, char *tag)
{
	size_t n = strlen(c->prefix);

	if (strncmp(name, c->prefix, n) != 0 ||
	    strspn(name + n, "0123456789abcdef") != CO_SHORTID ||
	    name[n + CO_SHORTID] != '\0')
		return (false);
	memcpy(tag, name + n, CO_SHORTID + 1);
	return (true);
}

static bool
scan_label(const struct net_conf *c, const char *label, struct net_found *f)
{
	char buf[256], *id, *addr;
	size_t n = strlen(c->instance);

	if (strlen(label) >= sizeof(buf) ||
	    strncmp(label, "coppice:", 8) != 0 ||
	    strncmp(label + 8, c->instance, n) != 0 || label[8 + n] != ':')
		return (false);
	strcpy(buf, label + 9 + n);
	id = buf;
	if ((addr = strchr(id, ':')) == NULL)
		return (false);
	*addr++ = '\0';
	if (!co_id_valid(id) || net_addr_parse(addr, &f->addr) != 0)
		return (false);
	strcpy(f->id, id);
	return (true);
}

/* Ours by its label; or by its name, when it was never labelled. */
static int
scan_link(const struct nlmsghdr *h, void *arg)
{
	struct scan *s = arg;
	struct net_found f, *a;
	struct view v;

	view_read(h, &v);
	memset(&f, 0, sizeof(f));
	if (v.name == NULL || !scan_name(s->k->conf, v.name, f.tag))
		return (MNL_CB_OK);
	if (v.alias != NULL && !scan_label(s->k->conf, v.alias, &f))
		return (MNL_CB_OK);
	strcpy(f.ifname, v.name);
	f.kind = v.master == s->bridge[NET_TAP] ? NET_TAP : NET_PAIR;
	a = realloc(s->seen->found, (s->seen->nfound + 1) * sizeof(*a));
	if (a == NULL) {
		s->err = ENOMEM;
		return (MNL_CB_OK);
	}
	s->seen->found = a;
	a[s->seen->nfound++] = f;
	return (MNL_CB_OK);
}

struct neigh {
	struct net_addr	dst;
	uint8_t		mac[NET_MACLEN];
};

static int
neigh_attr(const struct nlattr *a, void *arg)
{
	struct neigh *n = arg;

	if (mnl_attr_get_type(a) == NDA_DST &&
	    mnl_attr_get_payload_len(a) == 4) {
		n->dst.family = 4;
		memcpy(n->dst.b, mnl_attr_get_payload(a), 4);
	}
	if (mnl_attr_get_type(a) == NDA_LLADDR &&
	    mnl_attr_get_payload_len(a) == NET_MACLEN)
		memcpy(n->mac, mnl_attr_get_payload(a), NET_MACLEN);
	return (MNL_CB_OK);
}

#define	NUD_THERE	(NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | \
			    NUD_PERMANENT | NUD_NOARP)

static int
scan_neigh(const struct nlmsghdr *h, void *arg)
{
	const struct ndmsg *nd = mnl_nlmsg_get_payload(h);
	struct scan *s = arg;
	struct net_neighbour *a;
	struct neigh n;
	uint8_t mac[NET_MACLEN];
	int kind;

	memset(&n, 0, sizeof(n));
	for (kind = 0; kind < 2; kind++)
		if (s->bridge[kind] == (unsigned)nd->ndm_ifindex)
			break;
	if (kind == 2 || !(nd->ndm_state & NUD_THERE))
		return (MNL_CB_OK);
	mnl_attr_parse(h, sizeof(*nd), neigh_attr, &n);
	if (n.dst.family != 4)
		return (MNL_CB_OK);
	a = realloc(s->seen->neighbour, (s->seen->nneighbour + 1) *
	    sizeof(*a));
	if (a == NULL) {
		s->err = ENOMEM;
		return (MNL_CB_OK);
	}
	s->seen->neighbour = a;
	a += s->seen->nneighbour++;
	a->kind = (enum net_kind)kind;
	a->addr = n.dst;
	net_mac_of(&n.dst, mac);
	a->ours = nd->ndm_state == NUD_PERMANENT &&
	    memcmp(mac, n.mac, NET_MACLEN) == 0;
	return (MNL_CB_OK);
}

int
net_links_scan(struct net_links *k, struct net_seen *seen,
    struct co_error *e)
{
	struct scan s = { .k = k, .seen = seen };
	struct nlmsghdr *h;
	struct ndmsg *nd;
	int err;

	memset(seen, 0, sizeof(*seen));
	s.bridge[0] = if_nametoindex(k->range[0].bridge);
	s.bridge[1] = if_nametoindex(k->range[1].bridge);
	net_nl_begin(k->nl);
	h = net_link_msg(k->nl, RTM_GETLINK, 0, NULL, 0, 0);
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	net_nl_end(k->nl, h);
	if ((err = net_nl_query(k->nl, scan_link, &s)) != 0)
		goto err0;
	net_nl_begin(k->nl);
	h = net_nl_msg(k->nl, RTM_GETNEIGH, NLM_F_DUMP);
	nd = mnl_nlmsg_put_extra_header(h, sizeof(*nd));
	nd->ndm_family = AF_INET;
	net_nl_end(k->nl, h);
	if ((err = net_nl_query(k->nl, scan_neigh, &s)) != 0 ||
	    (err = s.err) != 0)
		goto err0;
	return (0);
err0:
	net_seen_free(seen);
	return (co_error_errno(e, err, NULL, "can't list the interfaces"));
}

static int
busy_cb(const struct nlmsghdr *h, void *arg)
{
	const struct ndmsg *nd = mnl_nlmsg_get_payload(h);

	if (nd->ndm_state & NUD_THERE)
		*(bool *)arg = true;
	return (MNL_CB_STOP);
}

static int
local_cb(const struct nlmsghdr *h, void *arg)
{
	const struct rtmsg *rt = mnl_nlmsg_get_payload(h);

	if (rt->rtm_type == RTN_LOCAL)
		*(bool *)arg = true;
	return (MNL_CB_STOP);
}

/* Whether the host itself has this address, on whatever interface. */
static bool
busy_here(struct net_links *k, const struct net_addr *a)
{
	struct nlmsghdr *h;
	struct rtmsg *rt;
	bool busy = false;

	net_nl_begin(k->nl);
	h = net_nl_msg(k->nl, RTM_GETROUTE, 0);
	rt = mnl_nlmsg_put_extra_header(h, sizeof(*rt));
	rt->rtm_family = AF_INET;
	rt->rtm_dst_len = 32;
	mnl_attr_put(h, RTA_DST, 4, a->b);
	net_nl_end(k->nl, h);
	return (net_nl_query(k->nl, local_cb, &busy) == 0 && busy);
}

/* Whether somebody has been heard on the bridge with this address. */
bool
net_links_busy(struct net_links *k, enum net_kind kind,
    const struct net_addr *a)
{
	struct nlmsghdr *h;
	struct ndmsg *nd;
	bool busy = false;

	if (busy_here(k, a))
		return (true);
	net_nl_begin(k->nl);
	h = net_nl_msg(k->nl, RTM_GETNEIGH, 0);
	nd = mnl_nlmsg_put_extra_header(h, sizeof(*nd));
	nd->ndm_family = AF_INET;
	nd->ndm_ifindex = (int)if_nametoindex(k->range[kind].bridge);
	mnl_attr_put(h, NDA_DST, 4, a->b);
	net_nl_end(k->nl, h);
	return (net_nl_query(k->nl, busy_cb, &busy) == 0 && busy);
}

/*
 * The uplink.
 */
struct uplink {
	uint32_t	oif, metric;
	bool		found;
};

static int
uplink_attr(const struct nlattr *a, void *arg)
{
	const struct rtnexthop *hop;
	struct uplink *u = arg;

	switch (mnl_attr_get_type(a)) {
	case RTA_OIF:
		u->oif = mnl_attr_get_u32(a);
		break;
	case RTA_PRIORITY:
		u->metric = mnl_attr_get_u32(a);
		break;
	case RTA_MULTIPATH:
		hop = mnl_attr_get_payload(a);
		if (mnl_attr_get_payload_len(a) >= sizeof(*hop))
			u->oif = (uint32_t)hop->rtnh_ifindex;
		break;
	}
	return (MNL_CB_OK);
}

static int
uplink_cb(const struct nlmsghdr *h, void *arg)
{
	const struct rtmsg *rt = mnl_nlmsg_get_payload(h);
	struct uplink *best = arg, u = { 0, 0, true };

	if (rt->rtm_dst_len != 0 || rt->rtm_table != RT_TABLE_MAIN ||
	    rt->rtm_type != RTN_UNICAST)
		return (MNL_CB_OK);
	mnl_attr_parse(h, sizeof(*rt), uplink_attr, &u);
	if (u.oif != 0 && (!best->found || u.metric < best->metric))
		*best = u;
	return (MNL_CB_OK);
}

int
net_links_uplink(struct net_links *k, char name[NET_IFNAME],
    struct co_error *e)
{
	struct uplink u = { 0, 0, false };
	struct nlmsghdr *h;
	struct rtmsg *rt;
	int err, family;

	for (family = 0; family < 2 && !u.found; family++) {
		net_nl_begin(k->nl);
		h = net_nl_msg(k->nl, RTM_GETROUTE, NLM_F_DUMP);
		rt = mnl_nlmsg_put_extra_header(h, sizeof(*rt));
		rt->rtm_family = family == 0 ? AF_INET : AF_INET6;
		net_nl_end(k->nl, h);
		if ((err = net_nl_query(k->nl, uplink_cb, &u)) != 0)
			return (co_error_errno(e, err, NULL,
			    "can't list the routes"));
	}
	if (!u.found || if_indextoname(u.oif, name) == NULL)
		return (co_error_set(e, CO_ENET_UPLINK, NULL,
		    "there is no default route, so sandboxes would reach "
		    "nothing; add one or set \"net.uplink\" in coppice.conf"));
	return (0);
}

void
net_seen_free(struct net_seen *s)
{

	free(s->found);
	free(s->neighbour);
	memset(s, 0, sizeof(*s));
}
