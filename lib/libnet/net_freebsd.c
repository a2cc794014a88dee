/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Interfaces on FreeBSD, by ioctls: bridges, epairs and taps.  The host's
 * end of a pair becomes a private member of the bridge, the other one is
 * handed to the sandbox's jail and configured in there; nothing of it ever
 * touches the host's addresses or routes.
 */

#include <sys/param.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/sockio.h>
#include <sys/stat.h>

#include <errno.h>
#include <ifaddrs.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <net/if_bridgevar.h>
#include <net/if_dl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "links_freebsd.h"

int
net_links_open(const struct net_conf *c, const struct net_range *r,
    struct net_links **out, struct co_error *e)
{
	struct net_links *k;

	if ((k = calloc(1, sizeof(*k))) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "links"));
	k->conf = c;
	k->range = r;
	if ((k->s4 = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) < 0) {
		co_error_errno(e, errno, NULL, "links");
		free(k);
		return (-1);
	}
	k->s6 = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	*out = k;
	return (0);
}

void
net_links_close(struct net_links *k)
{

	if (k == NULL)
		return;
	close(k->s4);
	if (k->s6 >= 0)
		close(k->s6);
	free(k);
}

static int
link_error(int err, const char *what, const char *doing, struct co_error *e)
{

	co_error_set(e, CO_ENET_LINK, what, "%s %s: %s; see \"ifconfig\" and "
	    "\"coppicectl doctor\"", doing, what, strerror(err));
	if (e != NULL)
		e->errnum = err;
	return (-1);
}

/*
 * Making and labelling.
 */
static int
link_clone(int s, char name[IFNAMSIZ])
{
	struct ifreq ifr;

	memset(&ifr, 0, sizeof(ifr));
	strlcpy(ifr.ifr_name, name, sizeof(ifr.ifr_name));
	if (ioctl(s, SIOCIFCREATE2, &ifr) != 0)
		return (errno);
	strlcpy(name, ifr.ifr_name, IFNAMSIZ);
	return (0);
}

/* One whose unit tells that it is ours, or any if that one is taken. */
static int
link_create(int s, const char *type, const struct net_addr *a,
    char name[IFNAMSIZ])
{
	int err;

	snprintf(name, IFNAMSIZ, "%s%u", type, net_link_unit(a));
	if ((err = link_clone(s, name)) != EEXIST)
		return (err);
	strlcpy(name, type, IFNAMSIZ);
	return (link_clone(s, name));
}

static int
link_describe(int s, const char *ifname, const char *label)
{
	struct ifreq ifr;
	char buf[NET_LABEL];

	strlcpy(buf, label, sizeof(buf));
	memset(&ifr, 0, sizeof(ifr));
	strlcpy(ifr.ifr_name, ifname, sizeof(ifr.ifr_name));
	ifr.ifr_buffer.length = strlen(buf) + 1;
	ifr.ifr_buffer.buffer = buf;
	return (ioctl(s, SIOCSIFDESCR, &ifr) == 0 ? 0 : errno);
}

static int
link_destroy(int s, const char *ifname)
{
	struct ifreq ifr;

	memset(&ifr, 0, sizeof(ifr));
	strlcpy(ifr.ifr_name, ifname, sizeof(ifr.ifr_name));
	return (ioctl(s, SIOCIFDESTROY, &ifr) == 0 ? 0 : errno);
}

/* SIOCGHWADDR knows cards only, not bridges. */
static int
link_mac_get(const char *ifname, uint8_t mac[NET_MACLEN])
{
	const struct sockaddr_dl *dl;
	struct ifaddrs *list, *i;
	int err = ENXIO;

	if (getifaddrs(&list) != 0)
		return (errno);
	for (i = list; i != NULL && err != 0; i = i->ifa_next) {
		dl = (const void *)i->ifa_addr;
		if (strcmp(i->ifa_name, ifname) != 0 || dl == NULL ||
		    dl->sdl_family != AF_LINK || dl->sdl_alen != NET_MACLEN)
			continue;
		memcpy(mac, dl->sdl_data + dl->sdl_nlen, NET_MACLEN);
		err = 0;
	}
	freeifaddrs(list);
	return (err);
}

/*
 * Ports of the bridge.
 */
static int
bridge_cmd(int s, const char *bridge, unsigned long cmd, void *arg,
    size_t len)
{
	struct ifdrv ifd;

	memset(&ifd, 0, sizeof(ifd));
	strlcpy(ifd.ifd_name, bridge, sizeof(ifd.ifd_name));
	ifd.ifd_cmd = cmd;
	ifd.ifd_len = len;
	ifd.ifd_data = arg;
	return (ioctl(s, SIOCSDRVSPEC, &ifd) == 0 ? 0 : errno);
}

/* Its only hardware address, fixed; nothing learnt, nothing unknown sent. */
static int
port_join(struct net_links *k, const char *bridge, const struct net_lease *l)
{
	struct ifbreq req;
	struct ifbareq fix;
	int err;

	memset(&req, 0, sizeof(req));
	strlcpy(req.ifbr_ifsname, l->ifname, sizeof(req.ifbr_ifsname));
	err = bridge_cmd(k->s4, bridge, BRDGADD, &req, sizeof(req));
	if (err != 0)
		return (err);
	req.ifbr_ifsflags = IFBIF_PRIVATE;
	err = bridge_cmd(k->s4, bridge, BRDGSIFFLGS, &req, sizeof(req));
	if (err != 0)
		return (err);
	memset(&fix, 0, sizeof(fix));
	strlcpy(fix.ifba_ifsname, l->ifname, sizeof(fix.ifba_ifsname));
	fix.ifba_flags = IFBAF_STATIC;
	memcpy(fix.ifba_dst, l->mac, NET_MACLEN);
	/* Frames without a tag were of VLAN 1 once. */
	fix.ifba_vlan = getosreldate() < 1500000 ? 1 : 0;
	return (bridge_cmd(k->s4, bridge, BRDGSADDR, &fix, sizeof(fix)));
}

static void
link_name(const struct net_conf *c, const struct net_lease *l, char *buf)
{
	char s[NET_ADDRSTR];

	snprintf(buf, NET_LABEL, "coppice:%s:%s:%s", c->instance, l->id,
	    net_addr_print(&l->addr, s));
}

/*
 * Label and name at once, so that an orphan can be told; then, with the
 * bridge's own hardware address so that whatever is sent to this host comes
 * in by the bridge and its rules, into the bridge and up.
 */
static int
link_port(struct net_links *k, const char *made, const char *bridge,
    const uint8_t *mac, const struct net_lease *l, const char **doing)
{
	char label[NET_LABEL];
	int err;

	link_name(k->conf, l, label);
	*doing = "can't label";
	if ((err = link_describe(k->s4, made, label)) != 0)
		return (err);
	net_point("link-described");
	*doing = "can't name";
	if ((err = net_if_rename(k->s4, made, l->ifname)) != 0)
		return (err);
	net_point("link-labelled");
	*doing = "can't set the hardware address of";
	if ((err = net_if_mac(k->s4, l->ifname, mac)) != 0)
		return (err);
	*doing = "can't make a port of the bridge of";
	if ((err = port_join(k, bridge, l)) != 0)
		return (err);
	*doing = "can't bring up";
	return (net_if_up(k->s4, l->ifname, IFF_UP, 0));
}

/* The host knows where the sandbox is, and need not believe anybody. */
static int
link_known(const char *bridge, const struct net_lease *l, const char **doing)
{
	unsigned index = if_nametoindex(bridge);
	int err;

	*doing = "can't fix the address of";
	err = net_if_neighbour(true, index, &l->addr, l->mac);
	if (err == EEXIST) {
		(void)net_if_neighbour(false, index, &l->addr, NULL);
		err = net_if_neighbour(true, index, &l->addr, l->mac);
	}
	if (err != 0 || l->addr6.family == 0)
		return (err);
	*doing = "can't fix the IPv6 address of";
	err = net_if_neighbour(true, index, &l->addr6, l->mac);
	if (err == EEXIST) {
		(void)net_if_neighbour(false, index, &l->addr6, NULL);
		err = net_if_neighbour(true, index, &l->addr6, l->mac);
	}
	return (err);
}

static int
link_handoff(struct net_links *k, const char *name, const struct net_attach *a,
    const struct net_lease *l, const char **doing)
{
	struct ifreq ifr;
	int err;

	*doing = "can't set the hardware address inside of";
	if ((err = net_if_mac(k->s4, name, l->mac)) != 0)
		return (err);
	*doing = "can't hand the other end to the jail of";
	memset(&ifr, 0, sizeof(ifr));
	strlcpy(ifr.ifr_name, name, sizeof(ifr.ifr_name));
	ifr.ifr_jid = a->jid;
	return (ioctl(k->s4, SIOCSIFVNET, &ifr) == 0 ? 0 : errno);
}

static int
tap_device(const struct net_attach *a, struct net_lease *l,
    const char *made, const char **doing)
{
	char path[IFNAMSIZ + 8];

	*doing = "can't give away the device of";
	strlcpy(l->device, made, sizeof(l->device));
	snprintf(path, sizeof(path), "/dev/%s", made);
	if (chown(path, a->owner, (gid_t)-1) != 0 || chmod(path, 0600) != 0)
		return (errno);
	return (0);
}

int
net_links_attach(struct net_links *k, const struct net_attach *a,
    struct net_lease *l, struct co_error *e)
{
	const char *bridge = k->range[l->kind].bridge, *doing = "can't make";
	char made[IFNAMSIZ], other[IFNAMSIZ];
	uint8_t mac[NET_MACLEN];
	int err;

	if (link_mac_get(bridge, mac) != 0)
		return (co_error_set(e, CO_ENET_LINK, bridge,
		    "there is no bridge %s; run \"coppicectl net setup\"",
		    bridge));
	err = link_create(k->s4, l->kind == NET_PAIR ? "epair" : "tap",
	    &l->addr, made);
	if (err != 0)
		return (link_error(err, l->ifname, doing, e));
	net_point("link-made");
	strlcpy(other, made, sizeof(other));
	other[strlen(other) - 1] = 'b';
	if ((err = link_port(k, made, bridge, mac, l, &doing)) != 0)
		goto err0;
	net_point("link-up");
	if ((err = link_known(bridge, l, &doing)) != 0)
		goto err0;
	net_point("link-known");
	if (l->kind == NET_TAP) {
		if ((err = tap_device(a, l, made, &doing)) != 0)
			goto err0;
		return (0);
	}
	strlcpy(l->device, l->ifname, sizeof(l->device));
	if ((err = link_handoff(k, other, a, l, &doing)) != 0)
		goto err0;
	net_point("link-handed");
	if (net_inside(a->jid, other, l, mac, e) != 0)
		goto err1;
	net_point("link-inside");
	return (0);
err0:
	link_error(err, l->ifname, doing, e);
err1:
	(void)link_destroy(k->s4, made);
	(void)net_links_detach(k, l->ifname, l, NULL);
	return (-1);
}

void
net_links_forget(struct net_links *k, const struct net_lease *l)
{
	unsigned index = if_nametoindex(k->range[l->kind].bridge);

	if (index == 0)
		return;
	(void)net_if_neighbour(false, index, &l->addr, NULL);
	if (l->addr6.family != 0)
		(void)net_if_neighbour(false, index, &l->addr6, NULL);
}

/* Both ends of a pair die together, wherever the other one is. */
int
net_links_detach(struct net_links *k, const char *ifname,
    const struct net_lease *l, struct co_error *e)
{
	int err;

	if (l != NULL)
		net_links_forget(k, l);
	err = link_destroy(k->s4, ifname);
	if (err != 0 && err != ENXIO)
		return (link_error(err, ifname, "can't remove", e));
	return (0);
}

/* Down it carries nothing; to destroy it takes the kernel longer. */
int
net_links_doom(struct net_links *k, const struct net_lease *l,
    struct co_error *e)
{
	int err;

	net_links_forget(k, l);
	err = net_if_up(k->s4, l->ifname, 0, IFF_UP);
	if (err != 0 && err != ENXIO)
		return (link_error(err, l->ifname, "can't take down", e));
	return (0);
}

int
net_links_reap(struct net_links *k, const struct net_lease *const *l,
    size_t n, struct co_error *e)
{
	size_t i;
	int r = 0;

	for (i = 0; i < n; i++)
		if (net_links_detach(k, l[i]->ifname, NULL, e) != 0)
			r = -1;
	return (r);
}

/*
 * Bridges.
 */
static int
bridge_make(struct net_links *k, const struct net_range *r)
{
	char label[NET_LABEL], name[IFNAMSIZ];
	int err;

	snprintf(name, sizeof(name), "bridge%u", net_link_unit(&r->gateway));
	err = link_clone(k->s4, name);
	/* One of that unit without a label is left from a killed run. */
	if (err == EEXIST && (if_nametoindex(name) == 0 ||
	    net_link_label(k->s4, name, label))) {
		strlcpy(name, "bridge", sizeof(name));
		err = link_clone(k->s4, name);
	}
	if (err != 0 && err != EEXIST)
		return (err);
	net_point("bridge-cloned");
	snprintf(label, sizeof(label), "coppice:%.40s:bridge",
	    k->conf->instance);
	if ((err = net_if_mac(k->s4, name, r->mac)) != 0 ||
	    (err = net_if_rename(k->s4, name, r->bridge)) != 0)
		return (err);
	/* Sandboxes are entered by us; nobody claims an address by ARP. */
	if ((err = net_if_up(k->s4, r->bridge, IFF_STATICARP, 0)) != 0)
		return (err);
	return (link_describe(k->s4, r->bridge, label));
}

int
net_links_bridge(struct net_links *k, enum net_kind kind, bool *changed,
    struct co_error *e)
{
	const struct net_range *r = &k->range[kind];
	int err;

	if (net_links_ready(k, kind))
		return (0);
	*changed = true;
	if (if_nametoindex(r->bridge) == 0 && (err = bridge_make(k, r)) != 0)
		return (link_error(err, r->bridge, "can't make the bridge",
		    e));
	net_point("bridge-made");
	err = net_if_addr(k->s4, k->s6, r->bridge, &r->gateway, r->net.plen);
	if (err == 0 && r->net6.addr.family != 0)
		err = net_if_addr(k->s4, k->s6, r->bridge, &r->gateway6,
		    r->net6.plen);
	if (err == 0)
		err = net_if_up(k->s4, r->bridge, IFF_UP, 0);
	if (err != 0)
		return (link_error(err, r->bridge,
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
