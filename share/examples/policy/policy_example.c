/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How one policy becomes rules of two packet filters: reads a policy, and
 * prints what would be loaded for a sandbox at 10.78.0.42.  Nothing is
 * loaded.  Run by "make run".
 */

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"

static const char text[] =
    "mode allowlist\n"
    "allow 198.51.100.0/24:443/tcp\n"
    "allow *.example.org:443/tcp\n"
    "deny 198.51.100.66\n";

int
main(void)
{
	struct net_lease l = { .kind = NET_PAIR, .plen = 24,
	    .mac = { 0x02, 0x63, 10, 78, 0, 42 }, .ifname = "cp0123456789ab" };
	struct net_policy *p;
	struct net_conf c;
	struct co_error e;
	char *pf, *nft;

	net_conf_default(&c);
	c.ip6 = false;
	strcpy(l.id, "0123456789abcdef0123456789abcdef");
	if (net_addr_parse("10.78.0.42", &l.addr) != 0 ||
	    net_addr_parse("10.78.0.1", &l.gateway) != 0)
		errx(1, "not an address");
	if (net_policy_parse(text, sizeof(text) - 1, &p, &e) != 0)
		errx(1, "%s", e.message);
	pf = net_render_pf(&c, &l, p);
	nft = net_render_nft(&c, &l, p);
	if (pf == NULL || nft == NULL)
		errx(1, "out of memory");
	printf("a policy:\n%s\nas a pf anchor:\n%s\nas nftables rules:\n%s",
	    text, pf, nft);
	free(pf);
	free(nft);
	net_policy_free(p);
	return (0);
}
