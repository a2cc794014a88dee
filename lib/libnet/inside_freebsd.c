/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The sandbox's end of a pair, configured in its jail after the hand-off by
 * a child that enters the jail and ends there.  Also the steps themselves,
 * which work on whatever network stack the caller is in; only the child and
 * the bridges' owner call them.
 */

#include <sys/param.h>
#include <sys/ioctl.h>
#include <sys/jail.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <net/if_dl.h>
#include <net/if_types.h>
#include <net/route.h>
#include <netinet/in.h>
#include <netinet/in_var.h>
#include <netinet6/in6_var.h>
#include <netinet6/nd6.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "links_freebsd.h"

int
net_if_up(int s, const char *ifname, unsigned set, unsigned clear)
{
	struct ifreq ifr;
	unsigned flags;

	if (!net_link_flags(s, ifname, &flags))
		return (errno);
	flags = (flags | set) & ~clear;
	memset(&ifr, 0, sizeof(ifr));
	strlcpy(ifr.ifr_name, ifname, sizeof(ifr.ifr_name));
	ifr.ifr_flags = (short)(flags & 0xffff);
	ifr.ifr_flagshigh = (short)(flags >> 16);
	return (ioctl(s, SIOCSIFFLAGS, &ifr) == 0 ? 0 : errno);
}

int
net_if_rename(int s, const char *from, const char *to)
{
	struct ifreq ifr;
	char name[IFNAMSIZ];

	if (strcmp(from, to) == 0)
		return (0);
	memset(&ifr, 0, sizeof(ifr));
	memset(name, 0, sizeof(name));
	strlcpy(name, to, sizeof(name));
	strlcpy(ifr.ifr_name, from, sizeof(ifr.ifr_name));
	ifr.ifr_data = name;
	return (ioctl(s, SIOCSIFNAME, &ifr) == 0 ? 0 : errno);
}

int
net_if_mac(int s, const char *ifname, const uint8_t *mac)
{
	struct ifreq ifr;

	memset(&ifr, 0, sizeof(ifr));
	strlcpy(ifr.ifr_name, ifname, sizeof(ifr.ifr_name));
	ifr.ifr_addr.sa_len = NET_MACLEN;
	ifr.ifr_addr.sa_family = AF_LINK;
	memcpy(ifr.ifr_addr.sa_data, mac, NET_MACLEN);
	return (ioctl(s, SIOCSIFLLADDR, &ifr) == 0 ? 0 : errno);
}

static void
sin_of(struct sockaddr_in *sin, uint32_t host)
{

	memset(sin, 0, sizeof(*sin));
	sin->sin_len = sizeof(*sin);
	sin->sin_family = AF_INET;
	sin->sin_addr.s_addr = htonl(host);
}

static void
sin6_of(struct sockaddr_in6 *sin, const uint8_t *b)
{

	memset(sin, 0, sizeof(*sin));
	sin->sin6_len = sizeof(*sin);
	sin->sin6_family = AF_INET6;
	memcpy(&sin->sin6_addr, b, 16);
}

static int
addr4(int s, const char *ifname, const struct net_addr *a, unsigned plen)
{
	uint32_t host = net_addr4_get(a), mask = plen == 0 ? 0 :
	    UINT32_MAX << (32 - plen);
	struct in_aliasreq r;

	memset(&r, 0, sizeof(r));
	strlcpy(r.ifra_name, ifname, sizeof(r.ifra_name));
	sin_of(&r.ifra_addr, host);
	sin_of(&r.ifra_mask, mask);
	sin_of(&r.ifra_broadaddr, host | ~mask);
	return (ioctl(s, SIOCAIFADDR, &r) == 0 ? 0 : errno);
}

static int
addr6(int s, const char *ifname, const struct net_addr *a, unsigned plen)
{
	struct in6_aliasreq r;
	uint8_t mask[16] = { 0 };
	unsigned i;

	if (s < 0)
		return (EAFNOSUPPORT);
	for (i = 0; i < plen; i++)
		mask[i / 8] |= (uint8_t)(0x80 >> i % 8);
	memset(&r, 0, sizeof(r));
	strlcpy(r.ifra_name, ifname, sizeof(r.ifra_name));
	sin6_of(&r.ifra_addr, a->b);
	sin6_of(&r.ifra_prefixmask, mask);
	r.ifra_flags = IN6_IFF_NODAD;
	r.ifra_lifetime.ia6t_vltime = ND6_INFINITE_LIFETIME;
	r.ifra_lifetime.ia6t_pltime = ND6_INFINITE_LIFETIME;
	return (ioctl(s, SIOCAIFADDR_IN6, &r) == 0 ? 0 : errno);
}

int
net_if_addr(int s4, int s6, const char *ifname, const struct net_addr *a,
    unsigned plen)
{

	return (a->family == 4 ? addr4(s4, ifname, a, plen) :
	    addr6(s6, ifname, a, plen));
}

/*
 * Messages to the routing socket.
 */
struct rtbuf {
	union {
		struct rt_msghdr h;
		char	data[512];
	} u;
	size_t	 len;
};

static void
rt_begin(struct rtbuf *b, int type, int flags, int addrs, unsigned index)
{

	memset(b, 0, sizeof(*b));
	b->u.h.rtm_version = RTM_VERSION;
	b->u.h.rtm_type = (u_char)type;
	b->u.h.rtm_flags = flags;
	b->u.h.rtm_addrs = addrs;
	b->u.h.rtm_index = (u_short)index;
	b->u.h.rtm_seq = 1;
	b->len = sizeof(b->u.h);
}

static void
rt_put(struct rtbuf *b, const void *sa, size_t len)
{

	memcpy(b->u.data + b->len, sa, len);
	b->len += roundup2(len, sizeof(long));
}

static void
rt_addr(struct rtbuf *b, const struct net_addr *a)
{
	struct sockaddr_in sin;
	struct sockaddr_in6 sin6;

	if (a->family == 4) {
		sin_of(&sin, net_addr4_get(a));
		rt_put(b, &sin, sizeof(sin));
	} else {
		sin6_of(&sin6, a->b);
		rt_put(b, &sin6, sizeof(sin6));
	}
}

static int
rt_send(struct rtbuf *b, int family)
{
	int err = 0, fd;

	if ((fd = socket(PF_ROUTE, SOCK_RAW | SOCK_CLOEXEC, family)) < 0)
		return (errno);
	(void)shutdown(fd, SHUT_RD);
	b->u.h.rtm_msglen = (u_short)b->len;
	if (write(fd, b->u.data, b->len) < 0)
		err = errno;
	close(fd);
	return (err);
}

int
net_if_neighbour(bool add, unsigned index, const struct net_addr *a,
    const uint8_t *mac)
{
	struct sockaddr_dl sdl;
	struct rtbuf b;

	memset(&sdl, 0, sizeof(sdl));
	sdl.sdl_len = sizeof(sdl);
	sdl.sdl_family = AF_LINK;
	sdl.sdl_index = (u_short)index;
	sdl.sdl_type = IFT_ETHER;
	if (mac != NULL) {
		sdl.sdl_alen = NET_MACLEN;
		memcpy(LLADDR(&sdl), mac, NET_MACLEN);
	}
	rt_begin(&b, add ? RTM_ADD : RTM_DELETE, RTF_HOST | RTF_STATIC |
	    RTF_LLDATA, RTA_DST | RTA_GATEWAY, index);
	b.u.h.rtm_inits = RTV_EXPIRE;
	rt_addr(&b, a);
	rt_put(&b, &sdl, sizeof(sdl));
	return (rt_send(&b, a->family == 4 ? AF_INET : AF_INET6));
}

int
net_if_default(const struct net_addr *gw)
{
	struct net_addr any;
	struct rtbuf b;

	memset(&any, 0, sizeof(any));
	any.family = gw->family;
	rt_begin(&b, RTM_ADD, RTF_UP | RTF_GATEWAY | RTF_STATIC,
	    RTA_DST | RTA_GATEWAY | RTA_NETMASK, 0);
	rt_addr(&b, &any);
	rt_addr(&b, gw);
	rt_addr(&b, &any);
	return (rt_send(&b, gw->family == 4 ? AF_INET : AF_INET6));
}

/*
 * The child.
 */
struct step {
	int		 err;
	char		 doing[60];
};

static bool
step(struct step *st, int err, const char *doing)
{

	if (err == 0)
		return (true);
	st->err = err;
	strlcpy(st->doing, doing, sizeof(st->doing));
	return (false);
}

static void
inside_family(struct step *st, int s4, int s6, const struct net_lease *l,
    unsigned index, const uint8_t *gwmac, bool six)
{
	const struct net_addr *a = six ? &l->addr6 : &l->addr;
	const struct net_addr *gw = six ? &l->gateway6 : &l->gateway;

	if (step(st, net_if_addr(s4, s6, l->inner, a, six ? l->plen6 :
	    l->plen), "set the address") &&
	    step(st, net_if_neighbour(true, index, gw, gwmac),
	    "enter the gateway"))
		(void)step(st, net_if_default(gw), "add the default route");
}

static void
inside(struct step *st, int jid, const char *name, const struct net_lease *l,
    const uint8_t *gwmac)
{
	struct net_addr lo = net_addr4(INADDR_LOOPBACK);
	int s4, s6;

	if (!step(st, jail_attach(jid) == 0 ? 0 : errno, "enter the jail"))
		return;
	if ((s4 = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) < 0) {
		(void)step(st, errno, "open a socket");
		return;
	}
	s6 = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (!step(st, net_if_rename(s4, name, l->inner), "rename") ||
	    !step(st, net_if_addr(s4, s6, "lo0", &lo, 8), "set lo0") ||
	    !step(st, net_if_up(s4, "lo0", IFF_UP, 0), "bring up lo0") ||
	    !step(st, net_if_up(s4, l->inner, IFF_UP, 0), "bring up"))
		return;
	inside_family(st, s4, s6, l, if_nametoindex(l->inner), gwmac, false);
	if (st->err == 0 && l->addr6.family != 0)
		inside_family(st, s4, s6, l, if_nametoindex(l->inner), gwmac,
		    true);
}

int
net_inside(int jid, const char *name, const struct net_lease *l,
    const uint8_t *gwmac, struct co_error *e)
{
	struct step st = { 0 };
	ssize_t n;
	pid_t pid;
	int p[2];

	if (pipe2(p, O_CLOEXEC) != 0)
		return (co_error_errno(e, errno, l->id, "pipe"));
	if ((pid = fork()) < 0) {
		close(p[0]);
		close(p[1]);
		return (co_error_errno(e, errno, l->id, "fork"));
	}
	if (pid == 0) {
		/* A jail admits nobody who holds a directory open. */
		if (p[1] != 3)
			(void)dup2(p[1], 3);
		closefrom(4);
		inside(&st, jid, name, l, gwmac);
		(void)!write(3, &st, sizeof(st));
		_exit(0);
	}
	close(p[1]);
	while ((n = read(p[0], &st, sizeof(st))) < 0 && errno == EINTR)
		;
	close(p[0]);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (n != (ssize_t)sizeof(st))
		step(&st, ECHILD, "configure");
	st.doing[sizeof(st.doing) - 1] = '\0';
	if (st.err != 0) {
		co_error_set(e, CO_ENET_LINK, l->id, "can't %s of the "
		    "sandbox's %s in jail %d: %s", st.doing, l->inner, jid,
		    strerror(st.err));
		if (e != NULL)
			e->errnum = st.err;
		return (-1);
	}
	return (0);
}
