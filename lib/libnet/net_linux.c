/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Links on Linux: bridges, veth pairs and taps by rtnetlink, one batch per
 * step.  The sandbox's end of a pair is born in its namespace and configured
 * there; nothing of it ever touches the host's addresses or routes.
 */

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/if_addr.h>
#include <linux/if_bridge.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "links_linux.h"

int
net_links_open(const struct net_conf *c, const struct net_range *r,
    struct net_links **out, struct co_error *e)
{
	struct net_links *k;

	if ((k = calloc(1, sizeof(*k))) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "links"));
	k->conf = c;
	k->range = r;
	if ((k->nl = net_nl_open(NETLINK_ROUTE, -1, e)) == NULL) {
		free(k);
		return (-1);
	}
	*out = k;
	return (0);
}

void
net_links_close(struct net_links *k)
{

	if (k == NULL)
		return;
	net_nl_close(k->nl);
	free(k);
}

struct nlmsghdr *
net_link_msg(struct net_nl *nl, uint16_t type, uint16_t flags,
    const char *name, int index, unsigned up)
{
	struct nlmsghdr *h = net_nl_msg(nl, type, flags | NLM_F_ACK);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(h, sizeof(*ifi));

	ifi->ifi_family = AF_UNSPEC;
	ifi->ifi_index = index;
	ifi->ifi_change = ifi->ifi_flags = up;
	if (name != NULL)
		mnl_attr_put_strz(h, IFLA_IFNAME, name);
	return (h);
}

static void
link_addr(struct net_nl *nl, uint16_t flags, int index,
    const struct net_addr *a, unsigned plen)
{
	struct nlmsghdr *h = net_nl_msg(nl, RTM_NEWADDR,
	    flags | NLM_F_ACK | NLM_F_CREATE);
	struct ifaddrmsg *ifa = mnl_nlmsg_put_extra_header(h, sizeof(*ifa));
	struct net_addr bc = *a;
	uint32_t host;

	ifa->ifa_family = a->family == 4 ? AF_INET : AF_INET6;
	ifa->ifa_prefixlen = (uint8_t)plen;
	ifa->ifa_index = (uint32_t)index;
	ifa->ifa_flags = a->family == 6 ? IFA_F_NODAD | IFA_F_PERMANENT :
	    IFA_F_PERMANENT;
	mnl_attr_put(h, IFA_LOCAL, net_addr_len(a), a->b);
	mnl_attr_put(h, IFA_ADDRESS, net_addr_len(a), a->b);
	if (a->family == 4) {
		host = net_addr4_get(a) | (UINT32_MAX >> plen);
		bc = net_addr4(host);
		mnl_attr_put(h, IFA_BROADCAST, 4, bc.b);
	}
	net_nl_end(nl, h);
}

static void
link_neigh(struct net_nl *nl, bool add, int index, const struct net_addr *a,
    const uint8_t *mac)
{
	struct nlmsghdr *h = net_nl_msg(nl, add ? RTM_NEWNEIGH : RTM_DELNEIGH,
	    NLM_F_ACK | (add ? NLM_F_CREATE | NLM_F_REPLACE : 0));
	struct ndmsg *nd = mnl_nlmsg_put_extra_header(h, sizeof(*nd));

	nd->ndm_family = a->family == 4 ? AF_INET : AF_INET6;
	nd->ndm_ifindex = index;
	nd->ndm_state = NUD_PERMANENT;
	mnl_attr_put(h, NDA_DST, net_addr_len(a), a->b);
	if (mac != NULL)
		mnl_attr_put(h, NDA_LLADDR, NET_MACLEN, mac);
	net_nl_end(nl, h);
}

/* The port's only hardware address, fixed in the bridge's table. */
static void
link_fdb(struct net_nl *nl, int index, const uint8_t *mac)
{
	struct nlmsghdr *h = net_nl_msg(nl, RTM_NEWNEIGH, NLM_F_ACK |
	    NLM_F_CREATE | NLM_F_REPLACE);
	struct ndmsg *nd = mnl_nlmsg_put_extra_header(h, sizeof(*nd));

	nd->ndm_family = AF_BRIDGE;
	nd->ndm_ifindex = index;
	nd->ndm_state = NUD_NOARP;
	nd->ndm_flags = NTF_MASTER;
	mnl_attr_put(h, NDA_LLADDR, NET_MACLEN, mac);
	net_nl_end(nl, h);
}

static void
link_default(struct net_nl *nl, int index, const struct net_addr *gw)
{
	struct nlmsghdr *h = net_nl_msg(nl, RTM_NEWROUTE, NLM_F_ACK |
	    NLM_F_CREATE | NLM_F_EXCL);
	struct rtmsg *rt = mnl_nlmsg_put_extra_header(h, sizeof(*rt));

	rt->rtm_family = gw->family == 4 ? AF_INET : AF_INET6;
	rt->rtm_table = RT_TABLE_MAIN;
	rt->rtm_protocol = RTPROT_STATIC;
	rt->rtm_scope = RT_SCOPE_UNIVERSE;
	rt->rtm_type = RTN_UNICAST;
	mnl_attr_put(h, RTA_GATEWAY, net_addr_len(gw), gw->b);
	mnl_attr_put_u32(h, RTA_OIF, (uint32_t)index);
	net_nl_end(nl, h);
}

static int
link_error(const struct net_nl *nl, int err, const char *what,
    const char *doing, struct co_error *e)
{
	char text[sizeof(e->message)];

	snprintf(text, sizeof(text), "%s %s: %s%s%s%s; see \"ip -d link\" and "
	    "\"coppicectl doctor\"", doing, what, strerror(err),
	    nl->why[0] != '\0' ? " (" : "", nl->why,
	    nl->why[0] != '\0' ? ")" : "");
	co_error_set(e, CO_ENET_LINK, what, "%s", text);
	if (e != NULL)
		e->errnum = err;
	return (-1);
}

/*
 * Names, labels.
 */
void
net_link_label(const struct net_conf *c, const struct net_lease *l,
    char *buf, size_t size)
{
	char s[NET_ADDRSTR];

	snprintf(buf, size, "coppice:%s:%s:%s", c->instance, l->id,
	    net_addr_print(&l->addr, s));
}

/*
 * Label and isolation of a port that exists, no addresses of its own, and
 * only then up.
 */
static void
link_port(struct net_links *k, const struct net_lease *l)
{
	struct nlattr *info, *data, *spec, *inet6;
	struct nlmsghdr *h;
	char label[256];

	h = net_link_msg(k->nl, RTM_NEWLINK, 0, l->ifname, 0, 0);
	spec = mnl_attr_nest_start(h, IFLA_AF_SPEC);
	inet6 = mnl_attr_nest_start(h, AF_INET6);
	mnl_attr_put_u8(h, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
	mnl_attr_nest_end(h, inet6);
	mnl_attr_nest_end(h, spec);
	net_link_label(k->conf, l, label, sizeof(label));
	mnl_attr_put_strz(h, IFLA_IFALIAS, label);
	info = mnl_attr_nest_start(h, IFLA_LINKINFO);
	mnl_attr_put_str(h, IFLA_INFO_SLAVE_KIND, "bridge");
	data = mnl_attr_nest_start(h, IFLA_INFO_SLAVE_DATA);
	mnl_attr_put_u8(h, IFLA_BRPORT_ISOLATED, 1);
	mnl_attr_put_u8(h, IFLA_BRPORT_GUARD, 1);
	mnl_attr_put_u8(h, IFLA_BRPORT_LEARNING, 0);
	mnl_attr_put_u8(h, IFLA_BRPORT_UNICAST_FLOOD, 0);
	mnl_attr_put_u8(h, IFLA_BRPORT_MCAST_FLOOD, 0);
	mnl_attr_put_u8(h, IFLA_BRPORT_BCAST_FLOOD, 0);
	mnl_attr_nest_end(h, data);
	mnl_attr_nest_end(h, info);
	net_nl_end(k->nl, h);
	h = net_link_msg(k->nl, RTM_NEWLINK, 0, l->ifname, 0, IFF_UP);
	net_nl_end(k->nl, h);
}

static void
link_veth(struct net_links *k, const struct net_attach *a,
    const struct net_lease *l, int master)
{
	struct nlattr *info, *data, *peer;
	struct ifinfomsg *ifi;
	struct nlmsghdr *h;

	h = net_link_msg(k->nl, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL,
	    l->ifname, 0, 0);
	mnl_attr_put_u32(h, IFLA_MASTER, (uint32_t)master);
	info = mnl_attr_nest_start(h, IFLA_LINKINFO);
	mnl_attr_put_str(h, IFLA_INFO_KIND, "veth");
	data = mnl_attr_nest_start(h, IFLA_INFO_DATA);
	peer = mnl_attr_nest_start(h, VETH_INFO_PEER);
	ifi = mnl_nlmsg_put_extra_header(h, sizeof(*ifi));
	ifi->ifi_family = AF_UNSPEC;
	mnl_attr_put_strz(h, IFLA_IFNAME, l->inner);
	mnl_attr_put(h, IFLA_ADDRESS, NET_MACLEN, l->mac);
	mnl_attr_put_u32(h, IFLA_NET_NS_FD, (uint32_t)a->netns);
	mnl_attr_nest_end(h, peer);
	mnl_attr_nest_end(h, data);
	mnl_attr_nest_end(h, info);
	net_nl_end(k->nl, h);
}

static int
link_index(struct net_nl *nl, const char *name)
{
	struct nlmsghdr *h;
	int index = 0;

	net_nl_begin(nl);
	h = net_link_msg(nl, RTM_GETLINK, 0, name, 0, 0);
	h->nlmsg_flags = NLM_F_REQUEST;
	mnl_attr_put_u32(h, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	net_nl_end(nl, h);
	if (net_nl_query(nl, net_link_index_cb, &index) != 0)
		return (0);
	return (index);
}

/* Configure the sandbox's end, inside. */
static int
link_inside(struct net_links *k, const struct net_attach *a,
    const struct net_lease *l, struct co_error *e)
{
	const struct net_range *r = &k->range[l->kind];
	struct nlmsghdr *h;
	struct net_nl *nl;
	int err, index;

	if ((nl = net_nl_open(NETLINK_ROUTE, a->netns, e)) == NULL)
		return (-1);
	index = link_index(nl, l->inner);
	net_nl_begin(nl);
	h = net_link_msg(nl, RTM_NEWLINK, 0, NULL, 1, IFF_UP);
	net_nl_end(nl, h);
	h = net_link_msg(nl, RTM_NEWLINK, 0, NULL, index, IFF_UP);
	net_nl_end(nl, h);
	link_addr(nl, NLM_F_EXCL, index, &l->addr, l->plen);
	link_neigh(nl, true, index, &l->gateway, r->mac);
	link_default(nl, index, &l->gateway);
	if (l->addr6.family != 0) {
		link_addr(nl, NLM_F_EXCL, index, &l->addr6, l->plen6);
		link_neigh(nl, true, index, &l->gateway6, r->mac);
		link_default(nl, index, &l->gateway6);
	}
	if ((err = net_nl_commit(nl)) != 0)
		link_error(nl, err, l->inner, "can't configure the sandbox's",
		    e);
	net_nl_close(nl);
	return (err == 0 ? 0 : -1);
}

/*
 * Taps vanish with their last descriptor until they are made persistent,
 * which comes last: a killed daemon leaves a complete one or none.
 */
static int
link_tap(const struct net_attach *a, const struct net_lease *l,
    struct co_error *e)
{
	struct ifreq ifr;
	int fd;

	if ((fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC)) < 0)
		return (co_error_errno(e, errno, "/dev/net/tun",
		    "can't open /dev/net/tun; load the module \"tun\""));
	memset(&ifr, 0, sizeof(ifr));
	strcpy(ifr.ifr_name, l->ifname);
	ifr.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
	if (ioctl(fd, TUNSETIFF, &ifr) != 0 ||
	    (a->owner != 0 && ioctl(fd, TUNSETOWNER,
	    (unsigned long)a->owner) != 0)) {
		co_error_errno(e, errno, l->ifname, "can't make the tap %s",
		    l->ifname);
		close(fd);
		return (-1);
	}
	return (fd);
}

static int
link_make(struct net_links *k, const struct net_attach *a,
    struct net_lease *l, int master, struct co_error *e)
{
	struct nlmsghdr *h;
	int err, fd = -1;

	if (l->kind == NET_TAP && (fd = link_tap(a, l, e)) < 0)
		return (-1);
	net_point("link-made");
	net_nl_begin(k->nl);
	if (l->kind == NET_PAIR)
		link_veth(k, a, l, master);
	else {
		h = net_link_msg(k->nl, RTM_NEWLINK, 0, l->ifname, 0, 0);
		mnl_attr_put_u32(h, IFLA_MASTER, (uint32_t)master);
		net_nl_end(k->nl, h);
	}
	link_port(k, l);
	if ((err = net_nl_commit(k->nl)) != 0) {
		link_error(k->nl, err, l->ifname, "can't make the port", e);
		if (fd >= 0)
			close(fd);
		if (err != EEXIST)
			net_links_detach(k, l->ifname, NULL, NULL);
		return (-1);
	}
	net_point("link-labelled");
	if (fd >= 0 && ioctl(fd, TUNSETPERSIST, 1UL) != 0) {
		co_error_errno(e, errno, l->ifname, "can't keep the tap");
		close(fd);
		return (-1);
	}
	if (fd >= 0)
		close(fd);
	return (0);
}

/* From now on the host and the bridge know where it is, and need not ask. */
static int
link_known(struct net_links *k, const struct net_lease *l, int master,
    struct co_error *e)
{
	int err, index = link_index(k->nl, l->ifname);

	net_nl_begin(k->nl);
	link_fdb(k->nl, index, l->mac);
	link_neigh(k->nl, true, master, &l->addr, l->mac);
	if (l->addr6.family != 0)
		link_neigh(k->nl, true, master, &l->addr6, l->mac);
	if ((err = net_nl_commit(k->nl)) != 0)
		return (link_error(k->nl, err, l->ifname,
		    "can't fix the address of", e));
	return (0);
}

int
net_links_attach(struct net_links *k, const struct net_attach *a,
    struct net_lease *l, struct co_error *e)
{
	const char *bridge = k->range[l->kind].bridge;
	int master = (int)if_nametoindex(bridge);

	if (master == 0)
		return (co_error_set(e, CO_ENET_LINK, bridge,
		    "there is no bridge %s; run \"coppicectl net setup\"",
		    bridge));
	if (link_make(k, a, l, master, e) != 0)
		return (-1);
	net_point("link-up");
	if (link_known(k, l, master, e) != 0)
		goto err0;
	net_point("link-known");
	if (l->kind == NET_PAIR && link_inside(k, a, l, e) != 0)
		goto err0;
	/*
	 * A query makes the kernel act on the new carrier at once; otherwise
	 * the bridge's first port may be dead for as long as a second.
	 */
	(void)link_index(k->nl, l->ifname);
	(void)link_index(k->nl, bridge);
	net_point("link-inside");
	strcpy(l->device, l->ifname);
	return (0);
err0:
	net_links_detach(k, l->ifname, l, NULL);
	return (-1);
}

void
net_links_forget(struct net_links *k, const struct net_lease *l)
{
	int master = (int)if_nametoindex(k->range[l->kind].bridge);

	if (master == 0)
		return;
	net_nl_begin(k->nl);
	link_neigh(k->nl, false, master, &l->addr, NULL);
	if (l->addr6.family != 0)
		link_neigh(k->nl, false, master, &l->addr6, NULL);
	(void)net_nl_commit(k->nl);
}

int
net_links_detach(struct net_links *k, const char *ifname,
    const struct net_lease *l, struct co_error *e)
{
	struct nlmsghdr *h;
	int err;

	if (l != NULL)
		net_links_forget(k, l);
	net_nl_begin(k->nl);
	h = net_link_msg(k->nl, RTM_DELLINK, 0, ifname, 0, 0);
	net_nl_end(k->nl, h);
	err = net_nl_commit(k->nl);
	if (err != 0 && err != ENODEV)
		return (link_error(k->nl, err, ifname, "can't remove", e));
	return (0);
}

/*
 * Removing an interface takes the kernel some tens of milliseconds, whether
 * it is one or many.  So they are gathered in a group of interfaces and go
 * together.  Zero, the group of everything, must never be asked for.
 */
#define	DOOMED	0x63707063u

int
net_links_doom(struct net_links *k, const struct net_lease *l,
    struct co_error *e)
{
	struct nlmsghdr *h;
	int err;

	net_links_forget(k, l);
	net_nl_begin(k->nl);
	h = net_link_msg(k->nl, RTM_SETLINK, 0, l->ifname, 0, 0);
	mnl_attr_put_u32(h, IFLA_GROUP, DOOMED);
	net_nl_end(k->nl, h);
	err = net_nl_commit(k->nl);
	if (err != 0 && err != ENODEV)
		return (link_error(k->nl, err, l->ifname, "can't remove", e));
	return (0);
}

int
net_links_reap(struct net_links *k, const struct net_lease *const *l,
    size_t n, struct co_error *e)
{
	struct nlmsghdr *h;
	int err;

	(void)l;
	(void)n;
	net_nl_begin(k->nl);
	h = net_link_msg(k->nl, RTM_DELLINK, 0, NULL, 0, 0);
	mnl_attr_put_u32(h, IFLA_GROUP, DOOMED);
	net_nl_end(k->nl, h);
	err = net_nl_commit(k->nl);
	if (err != 0 && err != ENODEV)
		return (link_error(k->nl, err, "detached interfaces",
		    "can't remove", e));
	return (0);
}

/*
 * Bridges.
 */
static int
link_sysctl(const char *family, const char *dev, const char *key,
    const char *value)
{
	char path[128];
	int err, fd;

	snprintf(path, sizeof(path), "/proc/sys/net/%s/conf/%s/%s", family,
	    dev, key);
	if ((fd = open(path, O_WRONLY | O_CLOEXEC)) < 0)
		return (errno);
	err = co_write_all(fd, value, strlen(value));
	close(fd);
	return (err);
}

static void
bridge_make(struct net_links *k, const struct net_range *r)
{
	struct nlattr *info, *data;
	struct nlmsghdr *h;
	char label[64];

	h = net_link_msg(k->nl, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL,
	    r->bridge, 0, 0);
	mnl_attr_put(h, IFLA_ADDRESS, NET_MACLEN, r->mac);
	info = mnl_attr_nest_start(h, IFLA_LINKINFO);
	mnl_attr_put_str(h, IFLA_INFO_KIND, "bridge");
	data = mnl_attr_nest_start(h, IFLA_INFO_DATA);
	mnl_attr_put_u32(h, IFLA_BR_STP_STATE, 0);
	mnl_attr_put_u8(h, IFLA_BR_MCAST_SNOOPING, 0);
	mnl_attr_nest_end(h, data);
	mnl_attr_nest_end(h, info);
	net_nl_end(k->nl, h);
	h = net_link_msg(k->nl, RTM_NEWLINK, 0, r->bridge, 0, 0);
	snprintf(label, sizeof(label), "coppice:%.40s:bridge",
	    k->conf->instance);
	mnl_attr_put_strz(h, IFLA_IFALIAS, label);
	net_nl_end(k->nl, h);
}

int
net_links_bridge(struct net_links *k, enum net_kind kind, bool *changed,
    struct co_error *e)
{
	const struct net_range *r = &k->range[kind];
	struct nlmsghdr *h;
	int err, index;

	if (net_links_ready(k, kind))
		return (0);
	*changed = true;
	net_nl_begin(k->nl);
	bridge_make(k, r);
	err = net_nl_commit(k->nl);
	if (err != 0 && err != EEXIST)
		return (link_error(k->nl, err, r->bridge,
		    "can't make the bridge", e));
	net_point("bridge-made");
	(void)link_sysctl("ipv6", r->bridge, "accept_ra", "0");
	(void)link_sysctl("ipv6", r->bridge, "autoconf", "0");
	(void)link_sysctl("ipv4", r->bridge, "send_redirects", "0");
	(void)link_sysctl("ipv4", r->bridge, "rp_filter", "1");
	index = (int)if_nametoindex(r->bridge);
	net_nl_begin(k->nl);
	h = net_link_msg(k->nl, RTM_NEWLINK, 0, r->bridge, 0, IFF_UP);
	mnl_attr_put(h, IFLA_ADDRESS, NET_MACLEN, r->mac);
	net_nl_end(k->nl, h);
	link_addr(k->nl, NLM_F_REPLACE, index, &r->gateway, r->net.plen);
	if (r->net6.addr.family != 0)
		link_addr(k->nl, NLM_F_REPLACE, index, &r->gateway6,
		    r->net6.plen);
	if ((err = net_nl_commit(k->nl)) != 0)
		return (link_error(k->nl, err, r->bridge,
		    "can't configure the bridge", e));
	return (0);
}

/* Remove our bridge; one of that name without our label stays. */
int
net_links_unbridge(struct net_links *k, enum net_kind kind,
    struct co_error *e)
{

	if (!net_bridge_ours(k, kind))
		return (0);
	return (net_links_detach(k, k->range[kind].bridge, NULL, e));
}
