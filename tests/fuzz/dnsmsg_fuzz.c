/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * DNS messages from sandboxes and from the internet.  The first bytes are a
 * query, the rest an answer to it; what the relay would send on must never
 * be longer than allowed, nor tell a private address.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dns_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static bool
public_only(void *arg, const struct net_addr *a)
{

	(void)arg;
	return (!net_special(a, net_addr_bits(a)));
}

static void
answer(const struct net_dnsq *q, const uint8_t *p, size_t n, size_t cap)
{
	static uint8_t out[DNS_MAXMSG];
	struct net_dnsaddr got[DNS_MAXLEARN];
	size_t len, i, ngot;
	uint16_t id = n < 2 ? 0 : (uint16_t)(p[0] << 8 | p[1]);
	bool tc = false;

	len = net_dns_rebuild(p, n, q, id, public_only, NULL, out, cap, got,
	    &ngot, &tc);
	if (len > cap || ngot > DNS_MAXLEARN)
		abort();
	for (i = 0; i < ngot; i++)
		if (net_special(&got[i].addr, net_addr_bits(&got[i].addr)))
			abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct net_dnsq q;
	uint8_t out[600];
	uint8_t reply[2048];
	size_t cut, n;
	int r;

	if (size < 1)
		return (0);
	cut = data[0];
	data++;
	size--;
	if (cut > size)
		cut = size;
	if ((r = net_dns_parse(data, cut, &q)) < 0)
		return (0);
	if (strlen(q.name) >= NET_NAMELEN ||
	    net_dns_ask(&q, 1, out, sizeof(out)) == 0 ||
	    net_dns_reply(&q, r, NULL, 0, out, sizeof(out)) == 0)
		abort();
	answer(&q, data + cut, size - cut, 512);
	/* The same bytes behind a header and question that fit. */
	n = size - cut;
	if (n > 1500)
		n = 1500;
	memcpy(reply, "\0\0\x81\x80\0\1\0\4\0\1\0\0", DNS_HEADER);
	memcpy(reply + DNS_HEADER, q.question, q.qlen);
	memcpy(reply + DNS_HEADER + q.qlen, data + cut, n);
	answer(&q, reply, DNS_HEADER + q.qlen + n, 512);
	answer(&q, reply, DNS_HEADER + q.qlen + n, DNS_MAXMSG);
	return (0);
}
