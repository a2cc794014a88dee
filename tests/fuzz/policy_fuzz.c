/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Policies from clients: whatever is accepted must print to text that reads
 * back as the same policy, and render.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
render(const struct net_policy *p)
{
	struct net_conf c;
	struct net_lease l;

	net_conf_default(&c);
	memset(&l, 0, sizeof(l));
	strcpy(l.id, "0123456789abcdef0123456789abcdef");
	strcpy(l.ifname, "cp0123456789ab");
	net_addr_parse("10.78.0.42", &l.addr);
	net_addr_parse("10.78.0.1", &l.gateway);
	net_addr_parse("fd63::2a", &l.addr6);
	net_addr_parse("fd63::1", &l.gateway6);
	free(net_render_nft(&c, &l, p));
	free(net_render_pf(&c, &l, p));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct net_policy *p, *q;
	struct co_error e;
	char *text, *again;

	if (net_policy_parse((const char *)data, size, &p, &e) != 0) {
		if (e.message[0] == '\0')
			abort();
		return (0);
	}
	if ((text = net_policy_print(p)) == NULL)
		abort();
	if (net_policy_parse(text, strlen(text), &q, &e) != 0 ||
	    !net_policy_equal(p, q))
		abort();
	if ((again = net_policy_print(q)) == NULL || strcmp(text, again) != 0)
		abort();
	render(p);
	free(again);
	free(text);
	net_policy_free(q);
	net_policy_free(p);
	return (0);
}
