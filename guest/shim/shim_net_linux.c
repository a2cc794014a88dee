/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Linux: an interface with its address and default route by rtnetlink(7),
 * without any program of the sandbox.
 */

#include <sys/socket.h>

#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <arpa/inet.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "sys.h"

struct request {
	struct nlmsghdr	nh;
	union {
		struct ifinfomsg	link;
		struct ifaddrmsg	addr;
		struct rtmsg		route;
		char			room[256];
	};
};

static void
add(struct request *r, unsigned short type, const void *data, size_t len)
{
	struct rtattr a = { .rta_type = type,
	    .rta_len = (unsigned short)RTA_LENGTH(len) };
	char *at = (char *)r + NLMSG_ALIGN(r->nh.nlmsg_len);

	memcpy(at, &a, sizeof(a));
	memcpy(at + RTA_LENGTH(0), data, len);
	r->nh.nlmsg_len = (uint32_t)(NLMSG_ALIGN(r->nh.nlmsg_len) +
	    RTA_SPACE(len));
}

/* Send, and read the kernel's answer. */
static int
ask(int fd, struct request *r)
{
	union {
		struct nlmsghdr	nh;
		char		buf[4096];
	} reply;
	struct nlmsgerr err;
	ssize_t n;

	r->nh.nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
	if (send(fd, r, r->nh.nlmsg_len, 0) == -1)
		return (errno);
	do
		n = recv(fd, &reply, sizeof(reply), 0);
	while (n == -1 && errno == EINTR);
	if (n == -1)
		return (errno);
	if ((size_t)n < NLMSG_LENGTH(sizeof(err)) ||
	    reply.nh.nlmsg_type != NLMSG_ERROR)
		return (EPROTO);
	memcpy(&err, NLMSG_DATA(&reply.nh), sizeof(err));
	return (-err.error);
}

static int
link_up(int fd, unsigned index, int mtu)
{
	struct request r = { .nh.nlmsg_type = RTM_NEWLINK,
	    .nh.nlmsg_len = NLMSG_LENGTH(sizeof(r.link)) };
	uint32_t m = (uint32_t)mtu;

	r.link.ifi_family = AF_UNSPEC;
	r.link.ifi_index = (int)index;
	r.link.ifi_flags = IFF_UP;
	r.link.ifi_change = IFF_UP;
	if (mtu > 0)
		add(&r, IFLA_MTU, &m, sizeof(m));
	return (ask(fd, &r));
}

static int
set_addr(int fd, unsigned index, const struct sys_net *n)
{
	struct request r = { .nh.nlmsg_type = RTM_NEWADDR,
	    .nh.nlmsg_len = NLMSG_LENGTH(sizeof(r.addr)),
	    .nh.nlmsg_flags = NLM_F_CREATE | NLM_F_REPLACE };
	uint32_t host = n->prefix == 0 ? UINT32_MAX :
	    htonl((uint32_t)(((uint64_t)1 << (32 - n->prefix)) - 1));
	uint32_t broadcast = n->ip | host;

	r.addr.ifa_family = AF_INET;
	r.addr.ifa_prefixlen = (uint8_t)n->prefix;
	r.addr.ifa_index = index;
	add(&r, IFA_LOCAL, &n->ip, sizeof(n->ip));
	add(&r, IFA_ADDRESS, &n->ip, sizeof(n->ip));
	if (n->prefix < 31)
		add(&r, IFA_BROADCAST, &broadcast, sizeof(broadcast));
	return (ask(fd, &r));
}

static int
set_route(int fd, unsigned index, uint32_t gw)
{
	struct request r = { .nh.nlmsg_type = RTM_NEWROUTE,
	    .nh.nlmsg_len = NLMSG_LENGTH(sizeof(r.route)),
	    .nh.nlmsg_flags = NLM_F_CREATE | NLM_F_REPLACE };

	r.route.rtm_family = AF_INET;
	r.route.rtm_table = RT_TABLE_MAIN;
	r.route.rtm_protocol = RTPROT_BOOT;
	r.route.rtm_scope = RT_SCOPE_UNIVERSE;
	r.route.rtm_type = RTN_UNICAST;
	add(&r, RTA_GATEWAY, &gw, sizeof(gw));
	add(&r, RTA_OIF, &index, sizeof(index));
	return (ask(fd, &r));
}

/* The interface by name, or the first that is not loopback. */
static unsigned
find(const char *name)
{
	struct if_nameindex *all;
	unsigned index = 0;

	if (name[0] != '\0')
		return (if_nametoindex(name));
	if ((all = if_nameindex()) == NULL)
		return (0);
	for (size_t i = 0; all[i].if_index != 0 && index == 0; i++)
		if (strcmp(all[i].if_name, "lo") != 0 &&
		    strncmp(all[i].if_name, "sit", 3) != 0 &&
		    strncmp(all[i].if_name, "tunl", 4) != 0)
			index = all[i].if_index;
	if_freenameindex(all);
	return (index);
}

static int
configure(int fd, const struct sys_net *n, const char **what)
{
	unsigned index;
	int error;

	*what = "interface";
	if ((index = find(n->interface)) == 0)
		return (ENXIO);
	*what = "address";
	if ((error = set_addr(fd, index, n)) != 0)
		return (error);
	*what = "link";
	if ((error = link_up(fd, index, n->mtu)) != 0)
		return (error);
	*what = "default route";
	if (n->gw != 0 && (error = set_route(fd, index, n->gw)) != 0)
		return (error);
	return (0);
}

int
sys_net_up(const struct sys_net *n, const char **what)
{
	int fd, error;

	*what = "rtnetlink";
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd == -1)
		return (errno);
	*what = "loopback";
	error = link_up(fd, if_nametoindex("lo"), 0);
	if (error == 0 && n->ip != 0)
		error = configure(fd, n, what);
	close(fd);
	return (error);
}
