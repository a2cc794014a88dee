/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The smoke test that confirms a change: real packets from inside a sandbox
 * made for the purpose, through the bridge, the filter, NAT and DNS, and
 * from the host back to the operator.
 */

#include <sys/socket.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deadman.h"

static socklen_t
smoke_sockaddr(const struct net_addr *a, uint16_t port,
    struct sockaddr_storage *ss)
{
	struct sockaddr_in *in = (void *)ss;
	struct sockaddr_in6 *in6 = (void *)ss;

	memset(ss, 0, sizeof(*ss));
	if (a->family == 4) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, a->b, 4);
		return (sizeof(*in));
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	memcpy(&in6->sin6_addr, a->b, 16);
	return (sizeof(*in6));
}

int
net_smoke_ms(const struct net_smoke *s)
{

	return (s->timeout_ms > 0 ? s->timeout_ms : 3000);
}

static uint16_t
checksum(const uint8_t *p, size_t n)
{
	uint32_t sum = 0;

	for (; n > 1; p += 2, n -= 2)
		sum += (uint32_t)p[0] << 8 | p[1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ((uint16_t)~sum);
}

/* An echo request and its reply, by a raw socket. */
bool
net_smoke_ping(const struct net_addr *a, int ms)
{
	struct sockaddr_storage ss;
	struct pollfd pfd;
	co_moment until = co_after(ms);
	uint8_t out[16] = { 0 }, in[256];
	uint16_t sum;
	socklen_t len = smoke_sockaddr(a, 0, &ss);
	ssize_t n;
	bool four = a->family == 4, ok = false;
	int fd, head;

	fd = socket(four ? AF_INET : AF_INET6, SOCK_RAW | SOCK_CLOEXEC,
	    four ? IPPROTO_ICMP : IPPROTO_ICMPV6);
	if (fd < 0)
		return (false);
	out[0] = four ? 8 : 128;
	co_random(out + 4, 12);
	if (four) {
		sum = checksum(out, sizeof(out));
		out[2] = (uint8_t)(sum >> 8);
		out[3] = (uint8_t)sum;
	}
	pfd.fd = fd;
	pfd.events = POLLIN;
	if (sendto(fd, out, sizeof(out), 0, (struct sockaddr *)&ss, len) ==
	    sizeof(out))
		while (!ok && poll(&pfd, 1, co_left(until)) == 1) {
			n = recv(fd, in, sizeof(in), 0);
			head = four && n > 0 ? (in[0] & 15) * 4 : 0;
			ok = n == head + (ssize_t)sizeof(out) &&
			    in[head] == (four ? 0 : 129) &&
			    memcmp(in + head + 4, out + 4, 12) == 0;
		}
	close(fd);
	return (ok);
}

/* A handshake; a refusal went there and back as well. */
static bool
smoke_connect(const struct net_addr *a, uint16_t port, int ms)
{
	struct sockaddr_storage ss;
	struct pollfd pfd;
	socklen_t len = smoke_sockaddr(a, port, &ss), elen = sizeof(int);
	int err = 0, fd;

	if ((fd = socket(a->family == 4 ? AF_INET : AF_INET6,
	    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) < 0)
		return (false);
	if (connect(fd, (struct sockaddr *)&ss, len) != 0)
		err = errno;
	if (err == EINPROGRESS) {
		pfd.fd = fd;
		pfd.events = POLLOUT;
		err = ETIMEDOUT;
		if (poll(&pfd, 1, ms) == 1 && getsockopt(fd, SOL_SOCKET,
		    SO_ERROR, &err, &elen) != 0)
			err = errno;
	}
	close(fd);
	return (err == 0 || err == ECONNREFUSED);
}

/* Ask the gateway for the address of a name. */
static bool
smoke_resolve(const struct net_addr *gw, const char *name, int ms)
{
	uint8_t q[300] = { 0 }, r[1500];
	struct sockaddr_storage ss;
	socklen_t len = smoke_sockaddr(gw, 53, &ss);
	struct pollfd pfd;
	size_t n = 12, label;
	ssize_t got;
	bool ok = false;
	int fd;

	co_random(q, 2);
	q[2] = 1;			/* recursion desired */
	q[5] = 1;
	for (; *name != '\0'; name += label + (name[label] == '.')) {
		label = strcspn(name, ".");
		if (label == 0 || label > 63 || n + label + 6 > sizeof(q))
			return (false);
		q[n++] = (uint8_t)label;
		memcpy(q + n, name, label);
		n += label;
	}
	n++;
	q[n + 1] = 1;
	q[n + 3] = 1;
	n += 4;
	if ((fd = socket(gw->family == 4 ? AF_INET : AF_INET6,
	    SOCK_DGRAM | SOCK_CLOEXEC, 0)) < 0)
		return (false);
	pfd.fd = fd;
	pfd.events = POLLIN;
	if (connect(fd, (struct sockaddr *)&ss, len) == 0 &&
	    send(fd, q, n, 0) == (ssize_t)n && poll(&pfd, 1, ms) == 1) {
		got = recv(fd, r, sizeof(r), 0);
		ok = got >= 12 && memcmp(q, r, 2) == 0 && (r[3] & 15) == 0 &&
		    (r[6] != 0 || r[7] != 0);
	}
	close(fd);
	return (ok);
}

static int
smoke_target(const char *s, struct net_addr *a, uint16_t *port)
{
	char buf[NET_ADDRSTR + 8], *colon;
	int n;

	if (strlen(s) >= sizeof(buf) || (colon = strrchr(s, ':')) == NULL)
		return (-1);
	strcpy(buf, s);
	buf[colon - s] = '\0';
	n = atoi(colon + 1);
	if (n <= 0 || n > 65535 ||
	    net_addr_parse(buf[0] == '[' ? (buf[colon - s - 1] = '\0',
	    buf + 1) : buf, a) != 0)
		return (-1);
	*port = (uint16_t)n;
	return (0);
}

/* Runs inside the sandbox. */
int
net_smoke_probe(const struct net_lease *l, const struct net_smoke *s,
    struct co_error *e)
{
	struct net_addr a;
	uint16_t port;
	char g[NET_ADDRSTR];
	int ms = net_smoke_ms(s);

	net_addr_print(&l->gateway, g);
	/* The first one may be lost while the bridge wakes up. */
	if (!net_smoke_ping(&l->gateway, ms / 3) &&
	    !net_smoke_ping(&l->gateway, ms / 3) &&
	    !net_smoke_ping(&l->gateway, ms / 3))
		return (co_error_set(e, CO_ENET_RULES, g,
		    "smoke test: a sandbox gets no echo from its gateway %s",
		    g));
	if (s->name != NULL && !smoke_resolve(&l->gateway, s->name, ms))
		return (co_error_set(e, CO_ENET_DNS, s->name,
		    "smoke test: a sandbox can't resolve %s at %s", s->name,
		    g));
	if (s->target == NULL)
		return (0);
	if (smoke_target(s->target, &a, &port) != 0)
		return (co_error_set(e, CO_ESYS_CONFIG, s->target,
		    "smoke test: \"%s\" is not an address with a port",
		    s->target));
	if (!smoke_connect(&a, port, ms))
		return (co_error_set(e, CO_ENET_UPLINK, s->target,
		    "smoke test: a sandbox can't reach %s through NAT",
		    s->target));
	return (0);
}

int
net_smoke_operator(const struct net_smoke *s, struct co_error *e)
{
	struct net_addr a;

	if (net_addr_parse(s->operator, &a) == 0 &&
	    net_smoke_ping(&a, net_smoke_ms(s)))
		return (0);
	return (co_error_set(e, CO_ENET_UPLINK, s->operator,
	    "smoke test: %s, from where the operator works, no longer "
	    "answers", s->operator));
}

int
net_smoke_run(struct net *n, const struct net_smoke *s, bool operator,
    struct co_error *e)
{

	if (operator && net_smoke_operator(s, e) != 0)
		return (-1);
	return (net_smoke_inside(n, s, e));
}
