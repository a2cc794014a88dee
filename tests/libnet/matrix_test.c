/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Who reaches whom, mode by mode, with real packets.
 */

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "world.h"

/* What a mode lets through; the columns of the matrix. */
struct row {
	const char	*policy;
	bool		 inet_tcp, inet_udp, inet_ping, inet_big, inet6;
	bool		 lan, gateway, gateway6;
};

static const uint16_t host_ports[] = { 22, 111, 5335, W_PORT, 49983, 53 };

static void
check_row(struct world *w, const struct row *r)
{
	struct wbox a, b;
	char ip[NET_ADDRSTR], six[NET_ADDRSTR], gw[NET_ADDRSTR];
	char gw6[NET_ADDRSTR];
	const char *name = r->policy;

	w_box(w, &a, r->policy);
	w_box(w, &b, "mode open\n");
	net_addr_print(&b.lease.addr, ip);
	net_addr_print(&b.lease.addr6, six);
	net_addr_print(&a.lease.gateway, gw);
	net_addr_print(&a.lease.gateway6, gw6);
	/* The internet. */
	ATF_CHECK_EQ_MSG(r->inet_tcp, w_tcp(w, a.ns, W_INET4, W_PORT), "%s",
	    name);
	ATF_CHECK_EQ_MSG(r->inet_udp, w_udp(w, a.ns, W_INET4, W_PORT), "%s",
	    name);
	ATF_CHECK_EQ_MSG(r->inet_big, w_udp_big(w, a.ns, W_INET4, W_PORT),
	    "%s", name);
	ATF_CHECK_EQ_MSG(r->inet_ping, w_ping(w, a.ns, W_INET4), "%s", name);
	ATF_CHECK_EQ_MSG(r->inet6, w_tcp(w, a.ns, W_INET6, W_PORT), "%s",
	    name);
	/* The LAN, and the host under all its names. */
	ATF_CHECK_EQ_MSG(r->lan, w_tcp(w, a.ns, W_LAN4, W_PORT), "%s", name);
	ATF_CHECK_MSG(!w_udp(w, a.ns, W_LAN4, W_PORT2), "%s", name);
	ATF_CHECK_MSG(!w_tcp(w, a.ns, W_HOSTLAN4, W_PORT), "%s", name);
	ATF_CHECK_MSG(!w_tcp(w, a.ns, W_HOST4, W_PORT), "%s", name);
	ATF_CHECK_MSG(!w_tcp(w, a.ns, W_HOST6, W_PORT), "%s", name);
	ATF_CHECK_MSG(!w_ping(w, a.ns, W_HOST4), "%s", name);
	/* The gateway: its services and an echo, nothing else. */
	ATF_CHECK_EQ_MSG(r->gateway, w_ping(w, a.ns, gw), "%s", name);
	ATF_CHECK_EQ_MSG(r->gateway, w_tcp(w, a.ns, gw, 49983), "%s", name);
	ATF_CHECK_EQ_MSG(r->gateway, w_udp(w, a.ns, gw, 53), "%s", name);
	ATF_CHECK_EQ_MSG(r->gateway6, w_tcp(w, a.ns, gw6, 49983), "%s", name);
	ATF_CHECK_MSG(!w_tcp(w, a.ns, gw, 22), "%s", name);
	ATF_CHECK_MSG(!w_tcp(w, a.ns, gw, 5335), "%s", name);
	ATF_CHECK_MSG(!w_udp(w, a.ns, gw, 111), "%s", name);
	ATF_CHECK_MSG(!w_tcp(w, a.ns, gw6, 22), "%s", name);
	/* The other bridge's gateway is an address of the host's. */
	ATF_CHECK_MSG(!w_tcp(w, a.ns, "10.77.0.1", 49983), "%s", name);
	/* Another sandbox, at all its ports' layers. */
	ATF_CHECK_MSG(!w_tcp(w, a.ns, ip, W_PORT), "%s", name);
	ATF_CHECK_MSG(!w_udp(w, a.ns, ip, W_PORT), "%s", name);
	ATF_CHECK_MSG(!w_ping(w, a.ns, ip), "%s", name);
	ATF_CHECK_MSG(!w_ping(w, a.ns, six), "%s", name);
	/* The host reaches it, unless it is shut off. */
	net_addr_print(&a.lease.addr, ip);
	ATF_CHECK_EQ_MSG(r->gateway, w_ping(w, w->home, ip), "%s", name);
	/* From outside nobody does, even who knows the way. */
	ATF_CHECK_MSG(!w_ping(w, w->lan, ip), "%s", name);
	w_unbox(w, &a);
	w_unbox(w, &b);
}

static void
matrix(const struct row *r)
{
	struct world w;

	w_open(&w, true);
	w_echo(&w, w.home, NULL, host_ports, 6);
	check_row(&w, r);
	w_close(&w);
}

#define	ROW(name, ...)							\
ATF_TC(name);								\
ATF_TC_HEAD(name, tc)							\
{									\
									\
	atf_tc_set_md_var(tc, "require.user", "root");			\
	atf_tc_set_md_var(tc, "require.progs", "ip nft ss");		\
}									\
ATF_TC_BODY(name, tc)							\
{									\
	static const struct row r = { __VA_ARGS__ };			\
									\
	matrix(&r);							\
}

ROW(open_, .policy = "mode open\n", .inet_tcp = true, .inet_udp = true,
    .inet_ping = true, .inet_big = true, .inet6 = true, .gateway = true,
    .gateway6 = true)
ROW(allowlist, .policy = "mode allowlist\nallow " W_INET4 ":8080/tcp\n",
    .inet_tcp = true, .gateway = true, .gateway6 = true)
ROW(allowlist_udp, .policy = "mode allowlist\nallow 198.51.100.0/30:8080/udp\n"
    "allow [2001:db8:1::/64]:8080/tcp\n", .inet_udp = true, .inet_big = true,
    .inet6 = true, .gateway = true, .gateway6 = true)
ROW(allowlist_all, .policy = "mode allowlist\nallow 0.0.0.0/0\n"
    "allow ::/0\n", .inet_tcp = true, .inet_udp = true, .inet_ping = true,
    .inet_big = true, .inet6 = true, .gateway = true, .gateway6 = true)
ROW(open_lan, .policy = "mode open\nallow 192.168.7.2:8080/tcp\n"
    "deny " W_INET4 ":8080/udp\n", .inet_tcp = true, .inet_ping = true,
    .inet6 = true, .lan = true, .gateway = true, .gateway6 = true)
ROW(deny_wins, .policy = "mode allowlist\nallow 198.51.100.0/24\n"
    "deny 198.51.100.1\n", .gateway = true, .gateway6 = true)
ROW(airgap, .policy = "mode airgap\nallow 198.51.100.0/24\n",
    .gateway = true, .gateway6 = true)
ROW(disabled, .policy = "mode disabled\n")

/*
 * The host's own address, named alone, is the one exception.
 */
ATF_TC(host_allowed);
ATF_TC_HEAD(host_allowed, tc)
{

	atf_tc_set_md_var(tc, "require.user", "root");
	atf_tc_set_md_var(tc, "require.progs", "ip nft ss");
}
ATF_TC_BODY(host_allowed, tc)
{
	struct world w;
	struct wbox a;

	w_open(&w, true);
	w_echo(&w, w.home, NULL, host_ports, 6);
	w_box(&w, &a, "mode open\nallow " W_HOSTLAN4 ":22/tcp\n"
	    "allow 192.168.0.0/16:111/tcp\n");
	ATF_CHECK(w_tcp(&w, a.ns, W_HOSTLAN4, 22));
	ATF_CHECK(!w_tcp(&w, a.ns, W_HOSTLAN4, W_PORT));
	/* A range does not name an address of the host's. */
	ATF_CHECK(!w_tcp(&w, a.ns, W_HOSTLAN4, 111));
	ATF_CHECK(!w_tcp(&w, a.ns, W_HOST4, 22));
	w_set(&w, &a, "mode airgap\nallow " W_HOSTLAN4 ":22/tcp\n");
	ATF_CHECK(!w_tcp(&w, a.ns, W_HOSTLAN4, 22));
	w_close(&w);
}

/*
 * Every port of the gateway, by TCP, with raw packets.
 */
struct scan {
	struct net_addr	 src, dst;
	uint8_t		*hit;		/* shared: ports that answered */
};

static uint16_t
tcp_sum(const uint8_t *ip4src, const uint8_t *ip4dst, const uint8_t *p,
    size_t n)
{
	uint32_t s = 6 + (uint32_t)n;
	size_t i;

	for (i = 0; i < 4; i += 2)
		s += (uint32_t)(ip4src[i] << 8 | ip4src[i + 1]) +
		    (uint32_t)(ip4dst[i] << 8 | ip4dst[i + 1]);
	for (i = 0; i < n; i += 2)
		s += (uint32_t)(p[i] << 8 | p[i + 1]);
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return ((uint16_t)~s);
}

static void
scan_drain(int fd, const struct scan *s, int ms)
{
	struct pollfd pfd = { fd, POLLIN, 0 };
	uint8_t in[256];
	ssize_t n;

	while (poll(&pfd, 1, ms) == 1) {
		n = recv(fd, in, sizeof(in), 0);
		if (n >= 40 && memcmp(in + 12, s->dst.b, 4) == 0)
			s->hit[in[20] << 8 | in[21]] = 1;
	}
}

static int
scan_all(void *arg)
{
	const struct scan *s = arg;
	struct sockaddr_in to = { .sin_family = AF_INET };
	uint8_t p[20];
	uint16_t sum;
	unsigned port;
	int fd = socket(AF_INET, SOCK_RAW, IPPROTO_TCP), big = 4 << 20;

	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &big, sizeof(big));
	memcpy(&to.sin_addr, s->dst.b, 4);
	for (port = 1; port <= 65535; port++) {
		memset(p, 0, sizeof(p));
		p[0] = 0x9c;
		p[1] = 0x40;
		p[2] = (uint8_t)(port >> 8);
		p[3] = (uint8_t)port;
		p[12] = 0x50;
		p[13] = 2;			/* SYN */
		p[14] = 0x10;
		sum = tcp_sum(s->src.b, s->dst.b, p, sizeof(p));
		p[16] = (uint8_t)(sum >> 8);
		p[17] = (uint8_t)sum;
		(void)sendto(fd, p, sizeof(p), 0, (void *)&to, sizeof(to));
		if (port % 256 == 0)
			scan_drain(fd, s, 0);
	}
	scan_drain(fd, s, 500);
	return (0);
}

/* By UDP: an answer or an "unreachable" has been there and back. */
static int
scan_udp(void *arg)
{
	const struct scan *s = arg;
	struct sockaddr_in to = { .sin_family = AF_INET };
	uint8_t in[256];
	unsigned port;
	int fd = socket(AF_INET, SOCK_DGRAM, 0), icmp, big = 4 << 20;
	ssize_t n;
	struct sockaddr_in from;
	socklen_t len;

	icmp = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &big, sizeof(big));
	memcpy(&to.sin_addr, s->dst.b, 4);
	for (port = 1; port <= 65535; port++) {
		to.sin_port = htons((uint16_t)port);
		(void)sendto(fd, "probe", 5, 0, (void *)&to, sizeof(to));
	}
	usleep(500000);
	len = sizeof(from);
	while (recvfrom(fd, in, sizeof(in), MSG_DONTWAIT, (void *)&from,
	    &len) >= 0)
		s->hit[ntohs(from.sin_port)] = 1;
	/* type 3, and in it the head of what we sent */
	while ((n = recv(icmp, in, sizeof(in), MSG_DONTWAIT)) > 0)
		if (n >= 52 && in[20] == 3)
			s->hit[in[50] << 8 | in[51]] = 1;
	return (0);
}

static void
check_ports(struct world *w, struct wbox *b, int (*fn)(void *),
    const uint16_t *want, unsigned nwant)
{
	struct scan s = { .src = b->lease.addr, .dst = b->lease.gateway };
	unsigned port, i, n = 0;

	s.hit = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED |
	    MAP_ANONYMOUS, -1, 0);
	ATF_REQUIRE(s.hit != MAP_FAILED);
	ATF_REQUIRE_EQ(0, w_in(w, b->ns, fn, &s));
	for (port = 0; port < 65536; port++) {
		if (s.hit[port] == 0)
			continue;
		for (i = 0; i < nwant && want[i] != port; i++)
			;
		ATF_CHECK_MSG(i < nwant, "port %u answered", port);
		n++;
	}
	ATF_CHECK_EQ(nwant, n);
	munmap(s.hit, 65536);
}

static void
every_port(const char *policy, bool gateway)
{
	static const uint16_t tcp[] = { 53, 49982, 49983 };
	struct world w;
	struct wbox a;

	w_open(&w, true);
	w_echo(&w, w.home, NULL, host_ports, 6);
	w_box(&w, &a, policy);
	check_ports(&w, &a, scan_all, tcp, gateway ? 3 : 0);
	check_ports(&w, &a, scan_udp, tcp, gateway ? 1 : 0);
	w_close(&w);
}

#define	PORTS(name, policy, gateway)					\
ATF_TC(name);								\
ATF_TC_HEAD(name, tc)							\
{									\
									\
	atf_tc_set_md_var(tc, "require.user", "root");			\
	atf_tc_set_md_var(tc, "require.progs", "ip nft ss");		\
}									\
ATF_TC_BODY(name, tc)							\
{									\
									\
	every_port(policy, gateway);					\
}

PORTS(ports_open, "mode open\n", true)
PORTS(ports_allowlist, "mode allowlist\nallow 0.0.0.0/0\n", true)
PORTS(ports_airgap, "mode airgap\n", true)
PORTS(ports_disabled, "mode disabled\n", false)

/*
 * Frames made by hand.
 */
struct frame {
	const char	*ifname;
	uint8_t		 data[256];
	size_t		 len;
};

static int
frame_send(void *arg)
{
	struct frame *f = arg;
	struct sockaddr_ll ll = { .sll_family = AF_PACKET, .sll_halen = 6 };
	int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)), i;

	ll.sll_ifindex = (int)if_nametoindex(f->ifname);
	memcpy(ll.sll_addr, f->data, 6);
	for (i = 0; i < 5; i++)
		if (sendto(fd, f->data, f->len, 0, (void *)&ll,
		    sizeof(ll)) < 0)
			return (1);
	usleep(50000);
	return (0);
}

static void
ip_sum(uint8_t *ip)
{
	uint32_t s = 0;
	int i;

	ip[10] = ip[11] = 0;
	for (i = 0; i < 20; i += 2)
		s += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	ip[10] = (uint8_t)(~s >> 8);
	ip[11] = (uint8_t)~s;
}

/* An Ethernet frame with a UDP datagram. */
static void
frame_udp(struct frame *f, const uint8_t *dmac, const uint8_t *smac,
    const char *src, const char *dst, uint16_t sport, uint16_t dport)
{
	uint8_t *ip = f->data + 14, *udp = ip + 20;

	memset(f->data, 0, sizeof(f->data));
	f->ifname = "eth0";
	memcpy(f->data, dmac, 6);
	memcpy(f->data + 6, smac, 6);
	f->data[12] = 8;
	ip[0] = 0x45;
	ip[3] = 20 + 8 + 8;
	ip[8] = 64;
	ip[9] = 17;
	inet_pton(AF_INET, src, ip + 12);
	inet_pton(AF_INET, dst, ip + 16);
	ip_sum(ip);
	udp[0] = (uint8_t)(sport >> 8);
	udp[1] = (uint8_t)sport;
	udp[2] = (uint8_t)(dport >> 8);
	udp[3] = (uint8_t)dport;
	udp[5] = 16;
	memcpy(udp + 8, "MAGIC!!", 8);
	f->len = 14 + 36;
}

/* Counts datagrams and frames that carry the mark, wherever they arrive. */
struct sniff {
	volatile int	*count;
	volatile int	*ready;
};

static void
sniffer(void *arg)
{
	struct sniff *s = arg;
	int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
	int big = 8 << 20;
	uint8_t in[2048];
	struct sockaddr_ll from;
	socklen_t len;
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &big, sizeof(big));
	*s->ready = 1;
	for (;;) {
		len = sizeof(from);
		n = recvfrom(fd, in, sizeof(in), 0, (void *)&from, &len);
		if (n > 0 && from.sll_pkttype != PACKET_OUTGOING &&
		    memmem(in, (size_t)n, "MAGIC!!", 7) != NULL)
			++*s->count;
	}
}

static volatile int *
sniff(struct world *w, int ns)
{
	struct sniff s;
	volatile int *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int i;

	ATF_REQUIRE(m != MAP_FAILED);
	s.count = m;
	s.ready = m + 1;
	w_serve(w, ns, sniffer, &s);
	for (i = 0; i < 500 && !*s.ready; i++)
		usleep(10000);
	usleep(50000);
	return (m);
}

/* A listener on the host's loopback that counts what it gets. */
static void
loopback_server(void *arg)
{
	volatile int *m = arg;
	struct sockaddr_in6 in = { .sin6_family = AF_INET6 };
	int fd = socket(AF_INET6, SOCK_DGRAM, 0), zero = 0;
	char buf[64];

	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	in.sin6_port = htons(7777);
	if (bind(fd, (void *)&in, sizeof(in)) != 0)
		_exit(98);
	m[1] = 1;
	while (recv(fd, buf, sizeof(buf), 0) >= 0)
		m[0]++;
}

/* The same by IPv6; the next header's checksum is in order. */
static void
frame_six(struct frame *f, const uint8_t *dmac, const uint8_t *smac,
    const char *src, const char *dst, uint8_t next, const uint8_t *body,
    size_t len)
{
	uint8_t *ip = f->data + 14, *p = ip + 40;
	uint32_t sum = next + (uint32_t)len;
	size_t i, at = next == 17 ? 6 : 2;

	memset(f->data, 0, sizeof(f->data));
	f->ifname = "eth0";
	memcpy(f->data, dmac, 6);
	memcpy(f->data + 6, smac, 6);
	f->data[12] = 0x86;
	f->data[13] = 0xdd;
	ip[0] = 0x60;
	ip[5] = (uint8_t)len;
	ip[6] = next;
	ip[7] = 255;
	inet_pton(AF_INET6, src, ip + 8);
	inet_pton(AF_INET6, dst, ip + 24);
	memcpy(p, body, len);
	p[at] = p[at + 1] = 0;
	for (i = 8; i < 40; i += 2)
		sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	for (i = 0; i < len; i += 2)
		sum += (uint32_t)(p[i] << 8 | p[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	p[at] = (uint8_t)(~sum >> 8);
	p[at + 1] = (uint8_t)~sum;
	f->len = 54 + len;
}

static void
frame_udp6(struct frame *f, const uint8_t *dmac, const uint8_t *smac,
    const char *src, const char *dst, uint16_t sport, uint16_t dport)
{
	uint8_t udp[16] = { (uint8_t)(sport >> 8), (uint8_t)sport,
	    (uint8_t)(dport >> 8), (uint8_t)dport, 0, 16, 0, 0, 'M', 'A', 'G',
	    'I', 'C', '!', '!', 0 };

	frame_six(f, dmac, smac, src, dst, 17, udp, sizeof(udp));
}

struct lies {
	struct world	 w;
	struct wbox	 a, b;
	struct frame	 f;
	volatile int	*inet, *box, *local;
	char		 mine[NET_ADDRSTR], theirs[NET_ADDRSTR];
	char		 mine6[NET_ADDRSTR], theirs6[NET_ADDRSTR];
};

static const uint8_t gwmac[6] = { 6, 0, 10, 78, 0, 1 };
static const uint8_t all[6] = { 255, 255, 255, 255, 255, 255 };

#define	UDP(dmac, smac, src, dst, sport, dport)	do {			\
	frame_udp(&l->f, dmac, smac, src, dst, sport, dport);		\
	ATF_REQUIRE_EQ(0, w_in(&l->w, l->a.ns, frame_send, &l->f));	\
} while (0)
#define	UDP6(dmac, smac, src, dst, sport, dport) do {			\
	frame_udp6(&l->f, dmac, smac, src, dst, sport, dport);		\
	ATF_REQUIRE_EQ(0, w_in(&l->w, l->a.ns, frame_send, &l->f));	\
} while (0)

static void
lies_open(struct lies *l, const char *policy)
{
	int i;

	w_open(&l->w, true);
	w_box(&l->w, &l->a, policy);
	w_box(&l->w, &l->b, "mode open\n");
	net_addr_print(&l->a.lease.addr, l->mine);
	net_addr_print(&l->b.lease.addr, l->theirs);
	net_addr_print(&l->a.lease.addr6, l->mine6);
	net_addr_print(&l->b.lease.addr6, l->theirs6);
	l->inet = sniff(&l->w, l->w.inet);
	l->box = sniff(&l->w, l->b.ns);
	l->local = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED |
	    MAP_ANONYMOUS, -1, 0);
	w_serve(&l->w, l->w.home, loopback_server,
	    (void *)(uintptr_t)l->local);
	for (i = 0; i < 500 && !l->local[1]; i++)
		usleep(10000);
}

/* Another's address; another's hardware address; nobody's. */
static void
lies_source(struct lies *l)
{
	uint8_t other[6] = { 6, 0, 10, 78, 0, 99 };
	const uint8_t *mac = l->a.lease.mac;

	UDP(gwmac, mac, l->theirs, W_INET4, 1001, W_PORT);
	UDP(gwmac, l->b.lease.mac, l->theirs, W_INET4, 1002, W_PORT);
	UDP(gwmac, other, l->mine, W_INET4, 1003, W_PORT);
	UDP(gwmac, mac, "203.0.113.9", W_INET4, 1004, W_PORT);
	UDP(gwmac, mac, "127.0.0.1", W_INET4, 1005, W_PORT);
	UDP(gwmac, mac, "10.78.0.1", W_INET4, 1006, W_PORT);
	UDP6(gwmac, mac, l->theirs6, W_INET6, 1007, W_PORT);
	UDP6(gwmac, other, l->mine6, W_INET6, 1008, W_PORT);
	UDP6(gwmac, mac, "2001:db8:9::9", W_INET6, 1009, W_PORT);
	/* A piece without a beginning, from the right address. */
	frame_udp(&l->f, gwmac, mac, l->mine, W_INET4, 1010, W_PORT);
	l->f.data[14 + 7] = 185;
	ip_sum(l->f.data + 14);
	ATF_REQUIRE_EQ(0, w_in(&l->w, l->a.ns, frame_send, &l->f));
}

/* Straight to the neighbour, to all, as a server of addresses. */
static void
lies_neighbour(struct lies *l)
{
	static const uint8_t all6[6] = { 0x33, 0x33, 0, 0, 0, 1 };
	const uint8_t *mac = l->a.lease.mac;

	UDP(l->b.lease.mac, mac, l->mine, l->theirs, 1011, W_PORT);
	UDP(all, mac, l->mine, "255.255.255.255", 67, 68);
	UDP(all, mac, l->mine, "10.78.0.255", 1012, W_PORT);
	UDP(gwmac, mac, l->mine, l->theirs, 1013, W_PORT);
	UDP6(l->b.lease.mac, mac, l->mine6, l->theirs6, 1014, W_PORT);
	UDP6(gwmac, mac, l->mine6, l->theirs6, 1015, W_PORT);
	UDP6(all6, mac, l->mine6, "ff02::1", 547, 546);
	UDP6(all6, mac, l->mine6, "ff02::1", 1016, W_PORT);
}

/* The host's loopback and its other addresses, by the gateway. */
static void
lies_host(struct lies *l)
{
	const uint8_t *mac = l->a.lease.mac;

	UDP(gwmac, mac, l->mine, "127.0.0.1", 1017, 7777);
	UDP(gwmac, mac, l->mine, W_HOST4, 1018, 7777);
	UDP(gwmac, mac, l->mine, "10.78.0.1", 1019, 7777);
	UDP(gwmac, mac, l->mine, "10.77.0.1", 1020, 7777);
	UDP(gwmac, mac, "127.0.0.1", "127.0.0.1", 1021, 7777);
	UDP6(gwmac, mac, l->mine6, "::1", 1022, 7777);
	UDP6(gwmac, mac, "::1", "::1", 1023, 7777);
	UDP6(gwmac, mac, l->mine6, W_HOST6, 1024, 7777);
}

static void
spoofing(const char *policy, bool honest, bool odd)
{
	struct lies *l, lies;
	int seen;

	l = &lies;
	lies_open(l, policy);
	/* Honest frames arrive where they may (nobody answers there). */
	UDP(gwmac, l->a.lease.mac, l->mine, W_INET4, 1000, 7);
	ATF_CHECK_EQ_MSG(honest ? 5 : 0, *l->inet, "%d", *l->inet);
	seen = *l->inet;
	UDP6(gwmac, l->a.lease.mac, l->mine6, W_INET6, 1000, 7);
	ATF_CHECK_EQ_MSG(seen + (honest ? 5 : 0), *l->inet, "%d", *l->inet);
	seen = *l->inet;
	/* A protocol that has no name. */
	frame_udp(&l->f, gwmac, l->a.lease.mac, l->mine, W_INET4, 1000,
	    7);
	l->f.data[14 + 9] = 253;
	ip_sum(l->f.data + 14);
	ATF_REQUIRE_EQ(0, w_in(&l->w, l->a.ns, frame_send, &l->f));
	ATF_CHECK_EQ_MSG(seen + (odd ? 5 : 0), *l->inet, "%d", *l->inet);
	seen = *l->inet;
	lies_source(l);
	ATF_CHECK_EQ(seen, *l->inet);
	lies_neighbour(l);
	ATF_CHECK_EQ(0, *l->box);
	lies_host(l);
	ATF_CHECK_EQ(0, l->local[0]);
	w_close(&l->w);
}

#define	SPOOF(name, policy, honest, odd)				\
ATF_TC(name);								\
ATF_TC_HEAD(name, tc)							\
{									\
									\
	atf_tc_set_md_var(tc, "require.user", "root");			\
	atf_tc_set_md_var(tc, "require.progs", "ip nft ss");		\
}									\
ATF_TC_BODY(name, tc)							\
{									\
									\
	spoofing(policy, honest, odd);					\
}

SPOOF(spoof_open, "mode open\n", true, true)
SPOOF(spoof_allowlist, "mode allowlist\nallow " W_INET4 "/32:7/udp\n"
    "allow [" W_INET6 "]:7/udp\n", true, false)
SPOOF(spoof_airgap, "mode airgap\n", false, false)
SPOOF(spoof_disabled, "mode disabled\n", false, false)

/* The gateway's own neighbour table must not believe a liar. */
static void
frame_arp(struct frame *f, const uint8_t *smac, const uint8_t *claim_mac,
    const char *claim_ip, const char *target, int op)
{

	memset(f->data, 0, sizeof(f->data));
	f->ifname = "eth0";
	memset(f->data, 255, 6);
	memcpy(f->data + 6, smac, 6);
	memcpy(f->data + 12, "\x08\x06\x00\x01\x08\x00\x06\x04\x00", 9);
	f->data[21] = (uint8_t)op;
	memcpy(f->data + 22, claim_mac, 6);
	inet_pton(AF_INET, claim_ip, f->data + 28);
	inet_pton(AF_INET, target, f->data + 38);
	memcpy(f->data + 42, "MAGIC!!", 7);
	f->len = 60;
}

ATF_TC(arp);
ATF_TC_HEAD(arp, tc)
{

	atf_tc_set_md_var(tc, "require.user", "root");
	atf_tc_set_md_var(tc, "require.progs", "ip nft ss");
}
ATF_TC_BODY(arp, tc)
{
	struct world w;
	struct wbox a, b;
	struct frame f;
	volatile int *box;
	char mine[NET_ADDRSTR], theirs[NET_ADDRSTR], out[4096], want[128];

	w_open(&w, true);
	w_box(&w, &a, "mode open\n");
	w_box(&w, &b, "mode open\n");
	box = sniff(&w, b.ns);
	net_addr_print(&a.lease.addr, mine);
	net_addr_print(&b.lease.addr, theirs);
	/* "I am the neighbour", "I am the gateway", a stranger. */
	frame_arp(&f, a.lease.mac, a.lease.mac, theirs, "10.78.0.1", 2);
	ATF_REQUIRE_EQ(0, w_in(&w, a.ns, frame_send, &f));
	frame_arp(&f, a.lease.mac, a.lease.mac, "10.78.0.1", theirs, 2);
	ATF_REQUIRE_EQ(0, w_in(&w, a.ns, frame_send, &f));
	frame_arp(&f, a.lease.mac, a.lease.mac, "10.78.0.200", theirs, 1);
	ATF_REQUIRE_EQ(0, w_in(&w, a.ns, frame_send, &f));
	frame_arp(&f, a.lease.mac, b.lease.mac, mine, "10.78.0.1", 1);
	ATF_REQUIRE_EQ(0, w_in(&w, a.ns, frame_send, &f));
	ATF_CHECK_EQ(0, *box);
	ATF_REQUIRE_EQ(0, w_run(&w, w.home, out, sizeof(out), "ip", "neigh",
	    NULL));
	snprintf(want, sizeof(want), "%s dev coppicenet0 lladdr "
	    "06:00:0a:4e:00:%02x PERMANENT", theirs, b.lease.addr.b[3]);
	ATF_CHECK_MSG(strstr(out, want) != NULL, "%s", out);
	ATF_CHECK_MSG(strstr(out, "10.78.0.200") == NULL, "%s", out);
	/* It still works for the honest. */
	ATF_CHECK(w_tcp(&w, b.ns, W_INET4, W_PORT));
	w_close(&w);
}

/* The same for IPv6: advertisements, routers, redirects. */
ATF_TC(nd);
ATF_TC_HEAD(nd, tc)
{

	atf_tc_set_md_var(tc, "require.user", "root");
	atf_tc_set_md_var(tc, "require.progs", "ip nft ss");
}
ATF_TC_BODY(nd, tc)
{
	static const uint8_t all6[6] = { 0x33, 0x33, 0, 0, 0, 1 };
	static const uint8_t types[] = { 134, 136, 137 };
	uint8_t body[40];
	struct lies *l, lies;
	char out[8192], want[128], route[8192];
	const char *claims[3];
	size_t i, k;

	l = &lies;
	lies_open(l, "mode open\n");
	claims[0] = l->theirs6;
	claims[1] = "fd63:6f70:7069:4e::1";
	claims[2] = "fd63:6f70:7069:4e::200";
	ATF_REQUIRE_EQ(0, w_run(&l->w, l->b.ns, route, sizeof(route), "ip",
	    "-6", "route", NULL));
	for (i = 0; i < sizeof(types); i++)
		for (k = 0; k < 3; k++) {
			memset(body, 0, sizeof(body));
			body[0] = types[i];
			body[4] = types[i] == 136 ? 0x60 : 64;
			body[6] = 7;	/* a router's lifetime */
			inet_pton(AF_INET6, claims[k], body + 8);
			body[24] = types[i] == 134 ? 1 : 2;
			body[25] = 1;
			memcpy(body + 26, l->a.lease.mac, 6);
			memcpy(body + 32, "MAGIC!!", 7);
			frame_six(&l->f, all6, l->a.lease.mac, l->mine6,
			    "ff02::1", 58, body, sizeof(body));
			ATF_REQUIRE_EQ(0, w_in(&l->w, l->a.ns, frame_send,
			    &l->f));
		}
	ATF_CHECK_EQ(0, *l->box);
	ATF_REQUIRE_EQ(0, w_run(&l->w, l->b.ns, out, sizeof(out), "ip", "-6",
	    "route", NULL));
	ATF_CHECK_STREQ(route, out);
	ATF_REQUIRE_EQ(0, w_run(&l->w, l->w.home, out, sizeof(out), "ip",
	    "-6", "neigh", NULL));
	snprintf(want, sizeof(want), "%s dev coppicenet0 lladdr "
	    "06:00:0a:4e:00:%02x PERMANENT", l->theirs6,
	    l->b.lease.addr.b[3]);
	ATF_CHECK_MSG(strstr(out, want) != NULL, "%s", out);
	ATF_CHECK_MSG(strstr(out, "4e::200") == NULL, "%s", out);
	ATF_CHECK(w_tcp(&l->w, l->b.ns, W_INET6, W_PORT));
	w_close(&l->w);
}

/*
 * A virtual machine's end: frames written to the tap by hand.
 */
static int
tap_open(const char *ifname)
{
	struct ifreq r;
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);

	memset(&r, 0, sizeof(r));
	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", ifname);
	r.ifr_flags = IFF_TAP | IFF_NO_PI;
	ATF_REQUIRE(fd >= 0);
	ATF_REQUIRE_EQ(0, ioctl(fd, TUNSETIFF, &r));
	return (fd);
}

static void
tap_send(int fd, const struct frame *f)
{
	int i;

	for (i = 0; i < 5; i++)
		ATF_REQUIRE_EQ((ssize_t)f->len, write(fd, f->data, f->len));
	usleep(50000);
}

ATF_TC(machine);
ATF_TC_HEAD(machine, tc)
{

	atf_tc_set_md_var(tc, "require.user", "root");
	atf_tc_set_md_var(tc, "require.progs", "ip nft ss");
	atf_tc_set_md_var(tc, "require.files", "/dev/net/tun");
}
ATF_TC_BODY(machine, tc)
{
	static const uint8_t gw[6] = { 6, 0, 10, 77, 0, 1 };
	struct net_attach a = { .kind = NET_TAP };
	struct net_policy *p = w_policy("mode open\n");
	struct net_lease vm;
	struct co_error e;
	struct lies *l, lies;
	char id[CO_IDSIZE], mine[NET_ADDRSTR];
	int fd, i;

	l = &lies;
	lies_open(l, "mode open\n");
	co_id_make(id);
	a.id = id;
	a.policy = p;
	ATF_REQUIRE_EQ_MSG(0, net_attach(l->w.net, &a, &vm, &e), "%s",
	    e.message);
	net_addr_print(&vm.addr, mine);
	fd = tap_open(vm.ifname);
	/* A port takes a moment from its carrier to forwarding. */
	frame_udp(&l->f, gw, vm.mac, mine, W_INET4, 1000, W_PORT);
	for (i = 0; i < 50 && *l->inet == 0; i++) {
		usleep(100000);
		tap_send(fd, &l->f);
	}
	ATF_CHECK(*l->inet >= 5);
	*l->inet = 0;
	frame_udp(&l->f, gw, vm.mac, "10.77.0.99", W_INET4, 1001, W_PORT);
	tap_send(fd, &l->f);
	frame_udp(&l->f, gw, vm.mac, l->mine, W_INET4, 1002, W_PORT);
	tap_send(fd, &l->f);
	frame_udp(&l->f, gw, l->a.lease.mac, mine, W_INET4, 1003, W_PORT);
	tap_send(fd, &l->f);
	ATF_CHECK_EQ(0, *l->inet);
	/* The other bridge's sandboxes, and the host. */
	frame_udp(&l->f, gw, vm.mac, mine, l->theirs, 1004, W_PORT);
	tap_send(fd, &l->f);
	ATF_CHECK_EQ(0, *l->box);
	frame_udp(&l->f, gw, vm.mac, mine, "10.77.0.1", 1005, 7777);
	tap_send(fd, &l->f);
	frame_udp(&l->f, gw, vm.mac, mine, "10.78.0.1", 1006, 7777);
	tap_send(fd, &l->f);
	ATF_CHECK_EQ(0, l->local[0]);
	ATF_CHECK(!w_ping(&l->w, l->a.ns, mine));
	close(fd);
	ATF_REQUIRE_EQ(0, net_detach(l->w.net, id, &e));
	net_policy_free(p);
	w_close(&l->w);
}

/*
 * A change of policy while flows are open.
 */
static int
stream_open(const char *addr, uint16_t port)
{
	struct sockaddr_in6 in = { .sin6_family = AF_INET6 };
	char mapped[64];
	int fd = socket(AF_INET6, SOCK_STREAM, 0), zero = 0;

	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	snprintf(mapped, sizeof(mapped), "%s%s", strchr(addr, ':') == NULL ?
	    "::ffff:" : "", addr);
	in.sin6_port = htons(port);
	inet_pton(AF_INET6, mapped, &in.sin6_addr);
	return (connect(fd, (void *)&in, sizeof(in)) == 0 ? fd : -1);
}

static bool
stream_alive(int fd)
{
	struct pollfd pfd = { fd, POLLIN, 0 };
	char c = 'x';

	return (send(fd, &c, 1, MSG_NOSIGNAL) == 1 &&
	    poll(&pfd, 1, 600) == 1 && recv(fd, &c, 1, 0) == 1);
}

static int
live_child(void *arg)
{
	int *pipes = arg, one, two, six, r = 0;
	char c;

	one = stream_open(W_INET4, W_PORT);
	two = stream_open(W_INET4B, W_PORT);
	six = stream_open(W_INET6, W_PORT);
	if (one < 0 || two < 0 || six < 0 || !stream_alive(one) ||
	    !stream_alive(two) || !stream_alive(six))
		return (64);
	(void)!write(pipes[1], "r", 1);
	(void)!read(pipes[2], &c, 1);
	r |= stream_alive(one) ? 1 : 0;
	r |= stream_alive(two) ? 2 : 0;
	r |= stream_alive(six) ? 8 : 0;
	(void)!write(pipes[1], "r", 1);
	(void)!read(pipes[2], &c, 1);
	r |= stream_alive(one) ? 4 : 0;
	return (r);
}

struct live {
	int		 to[2], from[2];
	volatile int	*result;
};

static void
live_serve(void *arg)
{
	struct live *l = arg;
	int p[4] = { -1, l->from[1], l->to[0], -1 };

	*l->result = live_child(p);
	(void)!write(l->from[1], "r", 1);
}

ATF_TC(live_change);
ATF_TC_HEAD(live_change, tc)
{

	atf_tc_set_md_var(tc, "require.user", "root");
	atf_tc_set_md_var(tc, "require.progs", "ip nft ss");
}
ATF_TC_BODY(live_change, tc)
{
	struct world w;
	struct wbox a;
	struct live l;
	char c;

	w_open(&w, true);
	w_box(&w, &a, "mode open\n");
	ATF_REQUIRE_EQ(0, pipe(l.to));
	ATF_REQUIRE_EQ(0, pipe(l.from));
	l.result = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED |
	    MAP_ANONYMOUS, -1, 0);
	w_serve(&w, a.ns, live_serve, &l);
	ATF_REQUIRE_EQ(1, read(l.from[0], &c, 1));
	w_set(&w, &a, "mode allowlist\nallow " W_INET4 ":8080/tcp\n");
	ATF_REQUIRE_EQ(1, write(l.to[1], "g", 1));
	ATF_REQUIRE_EQ(1, read(l.from[0], &c, 1));
	w_set(&w, &a, "mode airgap\n");
	ATF_REQUIRE_EQ(1, write(l.to[1], "g", 1));
	ATF_REQUIRE_EQ(1, read(l.from[0], &c, 1));
	/* The first went on, the others ended; then it did, too. */
	ATF_CHECK_EQ(1, *l.result);
	w_close(&w);
}

ATF_TC(counters);
ATF_TC_HEAD(counters, tc)
{

	atf_tc_set_md_var(tc, "require.user", "root");
	atf_tc_set_md_var(tc, "require.progs", "ip nft ss");
}
ATF_TC_BODY(counters, tc)
{
	struct net_counters k;
	struct world w;
	struct wbox a, b;
	struct co_error e;

	w_open(&w, true);
	w_box(&w, &a, "mode allowlist\nallow " W_INET4 ":8080/udp\n");
	w_box(&w, &b, "mode open\n");
	ATF_CHECK(w_udp(&w, a.ns, W_INET4, W_PORT));
	ATF_REQUIRE_EQ(0, net_counters(w.net, a.id, &k, &e));
	ATF_CHECK(k.in_packets >= 1 && k.out_packets >= 1);
	ATF_CHECK(k.out_bytes >= 34);
	ATF_CHECK_EQ(0, k.blocked_packets);
	ATF_CHECK(!w_udp(&w, a.ns, W_INET4, W_PORT2));
	ATF_REQUIRE_EQ(0, net_counters(w.net, a.id, &k, &e));
	ATF_CHECK_EQ(1, k.blocked_packets);
	ATF_CHECK_EQ(34, k.blocked_bytes);
	/* They survive a change of policy, and are not the neighbour's. */
	w_set(&w, &a, "mode open\n");
	ATF_REQUIRE_EQ(0, net_counters(w.net, a.id, &k, &e));
	ATF_CHECK_EQ(1, k.blocked_packets);
	ATF_REQUIRE_EQ(0, net_counters(w.net, b.id, &k, &e));
	ATF_CHECK_EQ(0, k.blocked_packets);
	ATF_CHECK_EQ(-1, net_counters(w.net,
	    "00000000000000000000000000000000", &k, &e));
	ATF_CHECK_EQ(CO_ESANDBOX_NOTFOUND, e.code);
	w_close(&w);
}

/* A forward of the operator's works only where it is permitted. */
ATF_TC(forwards);
ATF_TC_HEAD(forwards, tc)
{

	atf_tc_set_md_var(tc, "require.user", "root");
	atf_tc_set_md_var(tc, "require.progs", "ip nft ss");
}
ATF_TC_BODY(forwards, tc)
{
	static const uint16_t ports[] = { 3000 };
	struct world w;
	struct wbox a;
	char rule[128], ip[NET_ADDRSTR];

	w_open(&w, true);
	w_box(&w, &a, "mode airgap\n");
	w_echo(&w, a.ns, NULL, ports, 1);
	net_addr_print(&a.lease.addr, ip);
	ATF_REQUIRE_EQ(0, w_run(&w, w.home, NULL, 0, "nft",
	    "add table ip mine; add chain ip mine pre { type nat hook "
	    "prerouting priority -100; }", NULL));
	snprintf(rule, sizeof(rule), "add rule ip mine pre tcp dport 3333 "
	    "dnat to %s:3000", ip);
	ATF_REQUIRE_EQ(0, w_run(&w, w.home, NULL, 0, "nft", rule, NULL));
	ATF_CHECK(!w_tcp(&w, w.inet, W_HOST4, 3333));
	w_set(&w, &a, "mode airgap\nforwards yes\n");
	ATF_CHECK(w_tcp(&w, w.inet, W_HOST4, 3333));
	/* The address itself stays out of reach. */
	ATF_CHECK(!w_tcp(&w, w.lan, ip, 3000));
	w_set(&w, &a, "mode airgap\n");
	ATF_CHECK(!w_tcp(&w, w.inet, W_HOST4, 3333));
	w_close(&w);
}

/* A limit drops what exceeds it, and only that. */
static int
flood(void *arg)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), i;
	char buf[1400] = "MAGIC!!";

	(void)arg;
	in.sin_port = htons(1);
	inet_pton(AF_INET, W_INET4, &in.sin_addr);
	for (i = 0; i < 400; i++)
		(void)sendto(fd, buf, sizeof(buf), 0, (void *)&in,
		    sizeof(in));
	usleep(100000);
	return (0);
}

/* Have as much echoed; tell whether (nearly) all of it came back. */
static int
flood_back(void *arg)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), i, got = 0, big = 4 << 20;
	struct pollfd pfd = { fd, POLLIN, 0 };
	char buf[1400] = "MAGIC!!";

	(void)arg;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &big, sizeof(big));
	in.sin_port = htons(W_PORT);
	inet_pton(AF_INET, W_INET4, &in.sin_addr);
	for (i = 0; i < 400; i++) {
		(void)sendto(fd, buf, sizeof(buf), 0, (void *)&in,
		    sizeof(in));
		if (i % 20 == 19)
			usleep(2000);
	}
	while (poll(&pfd, 1, 300) == 1 && recv(fd, buf, sizeof(buf), 0) > 0)
		got++;
	return (got >= 40 && got < 300 ? 0 : got >= 390 ? 1 : 2);
}

ATF_TC(limits);
ATF_TC_HEAD(limits, tc)
{

	atf_tc_set_md_var(tc, "require.user", "root");
	atf_tc_set_md_var(tc, "require.progs", "ip nft ss");
}
ATF_TC_BODY(limits, tc)
{
	struct world w;
	struct wbox a;
	volatile int *inet;

	w_open(&w, true);
	inet = sniff(&w, w.inet);
	w_box(&w, &a, "mode open\n");
	ATF_REQUIRE_EQ(0, w_in(&w, a.ns, flood, NULL));
	ATF_CHECK_MSG(*inet == 400, "%d", *inet);
	*inet = 0;
	/* 64 KiB at once, then 100 kB a second. */
	w_set(&w, &a, "mode open\nup 800k\n");
	ATF_REQUIRE_EQ(0, w_in(&w, a.ns, flood, NULL));
	ATF_CHECK_MSG(*inet >= 40 && *inet < 300, "%d", *inet);
	/* The other way: what comes back is cut, what goes is not. */
	*inet = 0;
	w_set(&w, &a, "mode open\ndown 800k\n");
	ATF_CHECK_EQ(0, w_in(&w, a.ns, flood_back, NULL));
	ATF_CHECK_MSG(*inet == 400, "%d", *inet);
	w_set(&w, &a, "mode open\n");
	ATF_CHECK_EQ(1, w_in(&w, a.ns, flood_back, NULL));
	w_close(&w);
}

static atf_error_t
add(atf_tp_t *tp)
{

	ATF_TP_ADD_TC(tp, open_);
	ATF_TP_ADD_TC(tp, allowlist);
	ATF_TP_ADD_TC(tp, allowlist_udp);
	ATF_TP_ADD_TC(tp, allowlist_all);
	ATF_TP_ADD_TC(tp, open_lan);
	ATF_TP_ADD_TC(tp, deny_wins);
	ATF_TP_ADD_TC(tp, airgap);
	ATF_TP_ADD_TC(tp, disabled);
	ATF_TP_ADD_TC(tp, host_allowed);
	ATF_TP_ADD_TC(tp, ports_open);
	ATF_TP_ADD_TC(tp, ports_allowlist);
	ATF_TP_ADD_TC(tp, ports_airgap);
	ATF_TP_ADD_TC(tp, ports_disabled);
	ATF_TP_ADD_TC(tp, spoof_open);
	ATF_TP_ADD_TC(tp, spoof_allowlist);
	ATF_TP_ADD_TC(tp, spoof_airgap);
	ATF_TP_ADD_TC(tp, spoof_disabled);
	ATF_TP_ADD_TC(tp, arp);
	ATF_TP_ADD_TC(tp, nd);
	ATF_TP_ADD_TC(tp, machine);
	ATF_TP_ADD_TC(tp, live_change);
	ATF_TP_ADD_TC(tp, counters);
	ATF_TP_ADD_TC(tp, forwards);
	ATF_TP_ADD_TC(tp, limits);
	return (atf_no_error());
}

W_MAIN(add)
