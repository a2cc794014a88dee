/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Between net_linux.c, which changes links, and scan_linux.c, which looks at
 * them.
 */

#ifndef NET_LINKS_LINUX_H
#define NET_LINKS_LINUX_H

#include "nl_linux.h"

struct net_links {
	const struct net_conf *conf;
	const struct net_range *range;
	struct net_nl	*nl;
};

struct nlmsghdr *net_link_msg(struct net_nl *, uint16_t type, uint16_t flags,
    const char *name, int index, unsigned up);
void net_link_label(const struct net_conf *, const struct net_lease *,
    char *, size_t);
int net_link_index_cb(const struct nlmsghdr *, void *);
bool net_bridge_ours(struct net_links *, enum net_kind);

#endif
