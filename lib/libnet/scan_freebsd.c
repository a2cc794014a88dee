/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Looking at FreeBSD's interfaces without changing any: our ports and their
 * labels, addresses that others use on our bridges, counters, the uplink.
 */

#include <sys/param.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/sockio.h>
#include <sys/sysctl.h>

#include <errno.h>
#include <ifaddrs.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <net/if_bridgevar.h>
#include <net/if_dl.h>
#include <net/if_mib.h>
#include <net/route.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "links_freebsd.h"
#include "pf_freebsd.h"

unsigned
net_link_unit(const struct net_addr *a)
{
	uint32_t host = net_addr4_get(a);

	return (NET_UNIT + (host ^ host >> 13) % NET_UNITS);
}

/* The description; false when there is none. */
bool
net_link_label(int s, const char *ifname, char label[NET_LABEL])
{
	struct ifreq ifr;

	memset(&ifr, 0, sizeof(ifr));
	memset(label, 0, NET_LABEL);
	strlcpy(ifr.ifr_name, ifname, sizeof(ifr.ifr_name));
	ifr.ifr_buffer.length = NET_LABEL - 1;
	ifr.ifr_buffer.buffer = label;
	if (ioctl(s, SIOCGIFDESCR, &ifr) != 0)
		return (false);
	/* The kernel takes the buffer away when it is too small. */
	return (ifr.ifr_buffer.buffer == NULL || label[0] != '\0');
}

bool
net_link_flags(int s, const char *ifname, unsigned *flags)
{
	struct ifreq ifr;

	memset(&ifr, 0, sizeof(ifr));
	strlcpy(ifr.ifr_name, ifname, sizeof(ifr.ifr_name));
	if (ioctl(s, SIOCGIFFLAGS, &ifr) != 0)
		return (false);
	*flags = (unsigned)(uint16_t)ifr.ifr_flags |
	    (unsigned)(uint16_t)ifr.ifr_flagshigh << 16;
	return (true);
}

int
net_links_counters(struct net_links *k, const struct net_lease *l,
    struct net_counters *c, struct co_error *e)
{
	int mib[6] = { CTL_NET, PF_LINK, NETLINK_GENERIC, IFMIB_IFDATA, 0,
	    IFDATA_GENERAL };
	struct ifmibdata d;
	size_t len = sizeof(d);

	(void)k;
	mib[4] = (int)if_nametoindex(l->ifname);
	if (mib[4] == 0 || sysctl(mib, 6, &d, &len, NULL, 0) != 0)
		return (co_error_errno(e, errno, l->ifname,
		    "can't read the counters of %s", l->ifname));
	/* What the host's end receives is what the sandbox has sent. */
	c->in_packets = d.ifmd_data.ifi_opackets;
	c->in_bytes = d.ifmd_data.ifi_obytes;
	c->out_packets = d.ifmd_data.ifi_ipackets;
	c->out_bytes = d.ifmd_data.ifi_ibytes;
	return (0);
}

bool
net_bridge_has(struct net_links *k, enum net_kind kind, const char *ifname)
{
	struct ifbreq req;
	struct ifdrv ifd;

	memset(&req, 0, sizeof(req));
	memset(&ifd, 0, sizeof(ifd));
	strlcpy(req.ifbr_ifsname, ifname, sizeof(req.ifbr_ifsname));
	strlcpy(ifd.ifd_name, k->range[kind].bridge, sizeof(ifd.ifd_name));
	ifd.ifd_cmd = BRDGGIFFLGS;
	ifd.ifd_len = sizeof(req);
	ifd.ifd_data = &req;
	return (ioctl(k->s4, SIOCGDRVSPEC, &ifd) == 0);
}

bool
net_links_present(struct net_links *k, const struct net_lease *l)
{
	unsigned flags;

	return (net_link_flags(k->s4, l->ifname, &flags) &&
	    (flags & IFF_UP) != 0 && net_bridge_has(k, l->kind, l->ifname));
}

bool
net_bridge_ours(struct net_links *k, enum net_kind kind)
{
	char label[NET_LABEL];

	return (net_link_label(k->s4, k->range[kind].bridge, label) &&
	    strncmp(label, "coppice:", 8) == 0);
}

static bool
addr_is(const struct sockaddr *sa, const struct net_addr *a)
{
	const struct sockaddr_in *in = (const void *)sa;
	const struct sockaddr_in6 *in6 = (const void *)sa;

	if (sa == NULL)
		return (false);
	if (a->family == 4)
		return (sa->sa_family == AF_INET &&
		    memcmp(&in->sin_addr, a->b, 4) == 0);
	return (sa->sa_family == AF_INET6 &&
	    memcmp(&in6->sin6_addr, a->b, 16) == 0);
}

bool
net_links_ready(struct net_links *k, enum net_kind kind)
{
	const struct net_range *r = &k->range[kind];
	struct ifaddrs *list, *i;
	bool four = false, six = r->net6.addr.family == 0;
	unsigned flags;

	if (!net_link_flags(k->s4, r->bridge, &flags) ||
	    (flags & IFF_UP) == 0 || getifaddrs(&list) != 0)
		return (false);
	for (i = list; i != NULL; i = i->ifa_next) {
		if (strcmp(i->ifa_name, r->bridge) != 0)
			continue;
		four = four || addr_is(i->ifa_addr, &r->gateway);
		six = six || addr_is(i->ifa_addr, &r->gateway6);
	}
	freeifaddrs(list);
	return (four && six);
}

/*
 * Everything of ours.
 */
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
	char buf[NET_LABEL], *id, *addr;
	size_t n = strlen(c->instance);

	if (strncmp(label, "coppice:", 8) != 0 ||
	    strncmp(label + 8, c->instance, n) != 0 || label[8 + n] != ':')
		return (false);
	strlcpy(buf, label + 9 + n, sizeof(buf));
	id = buf;
	if ((addr = strchr(id, ':')) == NULL)
		return (false);
	*addr++ = '\0';
	if (!co_id_valid(id) || net_addr_parse(addr, &f->addr) != 0)
		return (false);
	strcpy(f->id, id);
	net_tag(id, f->tag);
	return (true);
}

/* A pair or tap of one of our units, never labelled. */
static bool
scan_unit(const struct net_links *k, const char *name, enum net_kind *kind)
{
	const char *type[2] = { "epair", "tap" };
	struct net_addr a;
	unsigned unit;
	uint32_t host;
	int end, i;

	for (i = 0; i < 2; i++) {
		const struct net_range *r = &k->range[i];
		size_t n = strlen(type[i]);

		if (strncmp(name, type[i], n) != 0 ||
		    sscanf(name + n, "%u%n", &unit, &end) != 1 ||
		    strcmp(name + n + end, i == NET_PAIR ? "a" : "") != 0)
			continue;
		*kind = (enum net_kind)i;
		for (host = r->first; host <= r->last; host++) {
			a = net_addr4(host);
			if (net_link_unit(&a) == unit)
				return (true);
		}
	}
	return (false);
}

/* Ours by its label; or by name or unit, when it was never labelled. */
static int
scan_link(struct net_links *k, const char *name, struct net_seen *seen)
{
	struct net_found f, *a;
	char label[NET_LABEL];
	enum net_kind kind;

	memset(&f, 0, sizeof(f));
	f.kind = NET_PAIR;
	if (net_link_label(k->s4, name, label)) {
		if (!scan_label(k->conf, label, &f))
			return (0);
		if (net_prefix_has(&k->range[NET_TAP].net.addr,
		    k->range[NET_TAP].net.plen, &f.addr))
			f.kind = NET_TAP;
	} else if (scan_unit(k, name, &kind))
		f.kind = kind;
	else if (!scan_name(k->conf, name, f.tag))
		return (0);
	strlcpy(f.ifname, name, sizeof(f.ifname));
	a = realloc(seen->found, (seen->nfound + 1) * sizeof(*a));
	if (a == NULL)
		return (ENOMEM);
	seen->found = a;
	a[seen->nfound++] = f;
	return (0);
}

static int
scan_links(struct net_links *k, struct net_seen *seen)
{
	struct ifaddrs *list, *i;
	int err = 0;

	if (getifaddrs(&list) != 0)
		return (errno);
	for (i = list; i != NULL && err == 0; i = i->ifa_next)
		if (i->ifa_addr != NULL && i->ifa_addr->sa_family == AF_LINK)
			err = scan_link(k, i->ifa_name, seen);
	freeifaddrs(list);
	return (err);
}

/*
 * Tables of the routing code.
 */
static int
route_table(int family, int what, int flags, char **out, size_t *len)
{
	int mib[6] = { CTL_NET, PF_ROUTE, 0, family, what, flags };
	char *buf = NULL, *more;
	size_t n;
	int tries;

	for (tries = 0; tries < 16; tries++) {
		if (sysctl(mib, 6, NULL, &n, NULL, 0) != 0)
			break;
		n += n / 4 + 4096;
		if ((more = realloc(buf, n)) == NULL) {
			errno = ENOMEM;
			break;
		}
		buf = more;
		if (sysctl(mib, 6, buf, &n, NULL, 0) == 0) {
			*out = buf;
			*len = n;
			return (0);
		}
		if (errno != ENOMEM)
			break;
	}
	n = (size_t)errno;
	free(buf);
	return ((int)n);
}

static const struct sockaddr *
route_next(const struct sockaddr *sa)
{
	size_t n = sa->sa_len == 0 ? sizeof(long) :
	    roundup2((size_t)sa->sa_len, sizeof(long));

	return ((const void *)((const char *)sa + n));
}

struct neighbour {
	struct net_addr	addr;
	uint8_t		mac[NET_MACLEN];
	unsigned	index;
	bool		fixed, known;
};

/* Call ${f} for each entry of the ARP table until it returns non-zero. */
static int
neighbours(int (*f)(void *, const struct neighbour *), void *arg)
{
	const struct sockaddr_in *in;
	const struct sockaddr_dl *dl;
	const struct rt_msghdr *h;
	struct neighbour n;
	char *buf, *p;
	size_t len;
	int err;

	if ((err = route_table(AF_INET, NET_RT_FLAGS, RTF_LLINFO, &buf,
	    &len)) != 0)
		return (err);
	for (p = buf; p < buf + len && err == 0; p += h->rtm_msglen) {
		h = (const void *)p;
		in = (const void *)(h + 1);
		dl = (const void *)route_next((const void *)in);
		memset(&n, 0, sizeof(n));
		n.addr.family = 4;
		memcpy(n.addr.b, &in->sin_addr, 4);
		n.index = dl->sdl_index;
		n.known = dl->sdl_alen == NET_MACLEN;
		if (n.known)
			memcpy(n.mac, dl->sdl_data + dl->sdl_nlen, NET_MACLEN);
		n.fixed = h->rtm_rmx.rmx_expire == 0;
		err = f(arg, &n);
	}
	free(buf);
	return (err);
}

struct scan {
	struct net_links *k;
	struct net_seen	*seen;
	unsigned	 bridge[2];
};

static int
scan_neighbour(void *arg, const struct neighbour *n)
{
	struct scan *s = arg;
	struct net_neighbour *a;
	uint8_t mac[NET_MACLEN];
	int kind;

	for (kind = 0; kind < 2; kind++)
		if (n->index != 0 && s->bridge[kind] == n->index)
			break;
	/* The bridge's own address has an entry, too. */
	if (kind == 2 || !n->known ||
	    net_addr_cmp(&n->addr, &s->k->range[kind].gateway) == 0)
		return (0);
	a = realloc(s->seen->neighbour, (s->seen->nneighbour + 1) *
	    sizeof(*a));
	if (a == NULL)
		return (ENOMEM);
	s->seen->neighbour = a;
	a += s->seen->nneighbour++;
	a->kind = (enum net_kind)kind;
	a->addr = n->addr;
	net_mac_of(&n->addr, mac);
	a->ours = n->fixed && memcmp(mac, n->mac, NET_MACLEN) == 0;
	return (0);
}

int
net_links_scan(struct net_links *k, struct net_seen *seen,
    struct co_error *e)
{
	struct scan s = { .k = k, .seen = seen };
	int err;

	memset(seen, 0, sizeof(*seen));
	s.bridge[0] = if_nametoindex(k->range[0].bridge);
	s.bridge[1] = if_nametoindex(k->range[1].bridge);
	if ((err = scan_links(k, seen)) == 0)
		err = neighbours(scan_neighbour, &s);
	if (err == 0)
		return (0);
	net_seen_free(seen);
	return (co_error_errno(e, err, NULL, "can't list the interfaces"));
}

void
net_seen_free(struct net_seen *s)
{

	free(s->found);
	free(s->neighbour);
	memset(s, 0, sizeof(*s));
}

struct busy {
	const struct net_addr *addr;
	unsigned	 index;
	bool		 found;
};

static int
busy_one(void *arg, const struct neighbour *n)
{
	struct busy *b = arg;

	if (n->index == b->index && n->known &&
	    net_addr_cmp(&n->addr, b->addr) == 0)
		b->found = true;
	return (0);
}

/* Whether the host itself has this address, on whatever interface. */
static bool
busy_here(const struct net_addr *a)
{
	const struct sockaddr_in *in;
	struct ifaddrs *list, *i;
	bool busy = false;

	if (getifaddrs(&list) != 0)
		return (false);
	for (i = list; i != NULL && !busy; i = i->ifa_next) {
		in = (const void *)i->ifa_addr;
		busy = in != NULL && in->sin_family == AF_INET &&
		    memcmp(&in->sin_addr, a->b, 4) == 0;
	}
	freeifaddrs(list);
	return (busy);
}

/* Whether somebody has been heard on the bridge with this address. */
bool
net_links_busy(struct net_links *k, enum net_kind kind,
    const struct net_addr *a)
{
	struct busy b = { a, if_nametoindex(k->range[kind].bridge), false };

	if (busy_here(a))
		return (true);
	return (b.index != 0 && neighbours(busy_one, &b) == 0 && b.found);
}

/*
 * The uplink.
 */
static bool
is_default(const struct rt_msghdr *h)
{
	const struct sockaddr *dst = (const void *)(h + 1), *mask;
	const struct sockaddr_in *in = (const void *)dst;
	const struct sockaddr_in6 *in6 = (const void *)dst;
	size_t i;

	if (!(h->rtm_flags & RTF_UP) || (h->rtm_flags & (RTF_HOST |
	    RTF_REJECT | RTF_BLACKHOLE)) || !(h->rtm_addrs & RTA_NETMASK))
		return (false);
	if (dst->sa_family == AF_INET ? in->sin_addr.s_addr != 0 :
	    !IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr))
		return (false);
	mask = route_next(dst);
	if (h->rtm_addrs & RTA_GATEWAY)
		mask = route_next(mask);
	for (i = 4; i < mask->sa_len; i++)
		if (((const uint8_t *)mask)[i] != 0)
			return (false);
	return (true);
}

static unsigned
uplink_index(int family)
{
	const struct rt_msghdr *h;
	unsigned index = 0;
	char *buf, *p;
	size_t len;

	if (route_table(family, NET_RT_DUMP, 0, &buf, &len) != 0)
		return (0);
	for (p = buf; p < buf + len && index == 0; p += h->rtm_msglen) {
		h = (const void *)p;
		if (is_default(h))
			index = h->rtm_index;
	}
	free(buf);
	return (index);
}

static int
uplink_find(char name[NET_IFNAME], struct co_error *e)
{
	unsigned index = uplink_index(AF_INET);

	if (index == 0)
		index = uplink_index(AF_INET6);
	if (index == 0 || if_indextoname(index, name) == NULL)
		return (co_error_set(e, CO_ENET_UPLINK, NULL,
		    "there is no default route, so sandboxes would reach "
		    "nothing; add one or set \"net.uplink\" in coppice.conf"));
	return (0);
}

int
net_links_uplink(struct net_links *k, char name[NET_IFNAME],
    struct co_error *e)
{

	(void)k;
	return (uplink_find(name, e));
}

int
net_pf_uplink(const struct net_conf *c, char name[NET_IFNAME],
    struct co_error *e)
{

	if (c->uplink == NULL)
		return (uplink_find(name, e));
	strlcpy(name, c->uplink, NET_IFNAME);
	return (0);
}
