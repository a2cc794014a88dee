/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * FreeBSD: an interface with its address by netintro(4) ioctls and the
 * default route by route(4), in the shim's own network stack.
 */

#include <sys/types.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/sockio.h>

#include <net/if.h>
#include <net/route.h>
#include <netinet/in.h>
#include <netinet/in_var.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "sys.h"

static void
set_in(struct sockaddr_in *sin, uint32_t addr)
{

	memset(sin, 0, sizeof(*sin));
	sin->sin_len = sizeof(*sin);
	sin->sin_family = AF_INET;
	sin->sin_addr.s_addr = addr;
}

static int
link_up(int fd, const char *name, int mtu)
{
	struct ifreq ifr;

	memset(&ifr, 0, sizeof(ifr));
	strlcpy(ifr.ifr_name, name, sizeof(ifr.ifr_name));
	if (mtu > 0) {
		ifr.ifr_mtu = mtu;
		if (ioctl(fd, SIOCSIFMTU, &ifr) != 0)
			return (errno);
	}
	if (ioctl(fd, SIOCGIFFLAGS, &ifr) != 0)
		return (errno);
	ifr.ifr_flags |= IFF_UP;
	return (ioctl(fd, SIOCSIFFLAGS, &ifr) == 0 ? 0 : errno);
}

static int
set_addr(int fd, const char *name, uint32_t ip, int prefix, bool broadcast)
{
	uint32_t mask = prefix == 0 ? 0 : htonl(UINT32_MAX << (32 - prefix));
	struct in_aliasreq ia;

	memset(&ia, 0, sizeof(ia));
	strlcpy(ia.ifra_name, name, sizeof(ia.ifra_name));
	set_in(&ia.ifra_addr, ip);
	set_in(&ia.ifra_mask, mask);
	if (broadcast)
		set_in(&ia.ifra_broadaddr, ip | ~mask);
	return (ioctl(fd, SIOCAIFADDR, &ia) == 0 ? 0 : errno);
}

static int
route(int fd, int type, uint32_t gw)
{
	struct {
		struct rt_msghdr	h;
		struct sockaddr_in	dst, gw, mask;
	} m;

	memset(&m, 0, sizeof(m));
	m.h.rtm_msglen = sizeof(m);
	m.h.rtm_version = RTM_VERSION;
	m.h.rtm_type = (u_char)type;
	m.h.rtm_flags = RTF_UP | RTF_GATEWAY | RTF_STATIC;
	m.h.rtm_addrs = RTA_DST | RTA_GATEWAY | RTA_NETMASK;
	m.h.rtm_seq = 1;
	set_in(&m.dst, INADDR_ANY);
	set_in(&m.gw, gw);
	set_in(&m.mask, INADDR_ANY);
	return (write(fd, &m, sizeof(m)) == (ssize_t)sizeof(m) ? 0 : errno);
}

static int
set_route(uint32_t gw)
{
	int fd, error;

	if ((fd = socket(PF_ROUTE, SOCK_RAW | SOCK_CLOEXEC, AF_INET)) == -1)
		return (errno);
	error = route(fd, RTM_ADD, gw);
	if (error == EEXIST)
		error = route(fd, RTM_CHANGE, gw);
	close(fd);
	return (error);
}

/* The interface by name, or the first that is not the system's own. */
static bool
find(const char *name, char *to, size_t size)
{
	static const char *const skip[] = { "lo", "pflog", "pfsync", "enc",
	    "gif", "stf" };
	struct if_nameindex *all;
	bool found = false;

	if (name[0] != '\0')
		return (strlcpy(to, name, size) < size &&
		    if_nametoindex(name) != 0);
	if ((all = if_nameindex()) == NULL)
		return (false);
	for (size_t i = 0; all[i].if_index != 0 && !found; i++) {
		found = true;
		for (size_t k = 0; k < sizeof(skip) / sizeof(skip[0]); k++)
			if (strncmp(all[i].if_name, skip[k],
			    strlen(skip[k])) == 0)
				found = false;
		if (found)
			strlcpy(to, all[i].if_name, size);
	}
	if_freenameindex(all);
	return (found);
}

static int
configure(int fd, const struct sys_net *n, const char **what)
{
	char name[IFNAMSIZ];
	int error;

	*what = "interface";
	if (!find(n->interface, name, sizeof(name)))
		return (ENXIO);
	*what = "address";
	error = set_addr(fd, name, n->ip, n->prefix, n->prefix < 31 &&
	    strncmp(name, "lo", 2) != 0);
	if (error != 0 && error != EEXIST)
		return (error);
	*what = "link";
	if ((error = link_up(fd, name, n->mtu)) != 0)
		return (error);
	*what = "default route";
	return (n->gw != 0 ? set_route(n->gw) : 0);
}

int
sys_net_up(const struct sys_net *n, const char **what)
{
	int fd, error;

	*what = "socket";
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return (errno);
	*what = "loopback";
	if ((error = link_up(fd, "lo0", 0)) == 0)
		error = set_addr(fd, "lo0", htonl(INADDR_LOOPBACK), 8, false);
	if (error == EEXIST)
		error = 0;
	if (error == 0 && n->ip != 0)
		error = configure(fd, n, what);
	close(fd);
	return (error);
}
