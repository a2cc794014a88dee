/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Between net_freebsd.c, which changes interfaces, scan_freebsd.c, which
 * looks at them, and inside_freebsd.c, which configures the sandbox's end.
 */

#ifndef NET_LINKS_FREEBSD_H
#define NET_LINKS_FREEBSD_H

#include "net_internal.h"

#define	NET_LABEL	128

struct net_links {
	const struct net_conf *conf;
	const struct net_range *range;
	int		 s4, s6;	/* sockets for ioctls; s6 may be -1 */
};

/*
 * The unit of an interface that has no label yet tells whose it is: those
 * from NET_UNIT upwards are ours, by the bits of the address.
 */
#define	NET_UNIT	16384u
#define	NET_UNITS	8192u

unsigned net_link_unit(const struct net_addr *);
bool net_link_label(int s, const char *ifname, char[NET_LABEL]);
bool net_link_flags(int s, const char *ifname, unsigned *);
bool net_bridge_ours(struct net_links *, enum net_kind);
bool net_bridge_has(struct net_links *, enum net_kind, const char *ifname);

/* Steps that work in any vnet, on the caller's sockets; errno or 0. */
int net_if_up(int s, const char *ifname, unsigned set, unsigned clear);
int net_if_addr(int s4, int s6, const char *ifname, const struct net_addr *,
    unsigned plen);
int net_if_rename(int s, const char *from, const char *to);
int net_if_mac(int s, const char *ifname, const uint8_t *);
int net_if_neighbour(bool add, unsigned index, const struct net_addr *,
    const uint8_t *mac);
int net_if_default(const struct net_addr *gw);

/* Configure the sandbox's end, which is ${name} in jail ${jid} by now. */
int net_inside(int jid, const char *name, const struct net_lease *,
    const uint8_t *gwmac, struct co_error *);

#endif
