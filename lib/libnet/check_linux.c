/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What on this Linux host would keep sandboxes from working, in words that
 * name the rule.  Looks, never touches.
 */

#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libnftnl/chain.h>

#include "deadman.h"
#include "nft_linux.h"

#define	MAXCHAINS	64

/* A chain of somebody else's at the forward hook. */
struct foreign {
	char		family[8], table[64], chain[64];
	bool		drops;		/* by its policy */
};

struct look {
	const char	*instance;
	struct foreign	 f[MAXCHAINS];
	size_t		 n;
};

static const char *
family_name(uint32_t f)
{

	switch (f) {
	case NFPROTO_IPV4:
		return ("ip");
	case NFPROTO_IPV6:
		return ("ip6");
	case NFPROTO_INET:
		return ("inet");
	default:
		return (NULL);
	}
}

static int
chain_cb(const struct nlmsghdr *h, void *arg)
{
	const char *table, *name, *family;
	struct look *l = arg;
	struct nftnl_chain *c;
	struct foreign *f;

	if ((c = nftnl_chain_alloc()) == NULL)
		return (MNL_CB_ERROR);
	if (nftnl_chain_nlmsg_parse(h, c) != 0 || l->n == MAXCHAINS ||
	    !nftnl_chain_is_set(c, NFTNL_CHAIN_HOOKNUM) ||
	    nftnl_chain_get_u32(c, NFTNL_CHAIN_HOOKNUM) != NF_INET_FORWARD)
		goto out;
	family = family_name(nftnl_chain_get_u32(c, NFTNL_CHAIN_FAMILY));
	table = nftnl_chain_get_str(c, NFTNL_CHAIN_TABLE);
	name = nftnl_chain_get_str(c, NFTNL_CHAIN_NAME);
	if (family == NULL || strcmp(table, l->instance) == 0)
		goto out;
	f = &l->f[l->n++];
	snprintf(f->family, sizeof(f->family), "%s", family);
	snprintf(f->table, sizeof(f->table), "%s", table);
	snprintf(f->chain, sizeof(f->chain), "%s", name);
	f->drops = nftnl_chain_is_set(c, NFTNL_CHAIN_POLICY) &&
	    nftnl_chain_get_u32(c, NFTNL_CHAIN_POLICY) == NF_DROP;
out:
	nftnl_chain_free(c);
	return (MNL_CB_OK);
}

static int
look_chains(struct net *n, struct look *l)
{

	net_nl_begin(n->rules->nl);
	net_nl_end(n->rules->nl, net_nft_msg(n->rules, NFT_MSG_GETCHAIN,
	    NFPROTO_UNSPEC, NLM_F_DUMP));
	return (net_nl_query(n->rules->nl, chain_cb, l));
}

/* The first rule of a listing that stops everything; NULL if there is none. */
static const char *
stops_all(char *listing)
{
	char *line, *save = NULL;

	for (line = strtok_r(listing, "\n", &save); line != NULL;
	    line = strtok_r(NULL, "\n", &save)) {
		line += strspn(line, " \t");
		if (strncmp(line, "counter ", 8) == 0)
			line += 8;
		if (strcmp(line, "drop") == 0 ||
		    strncmp(line, "reject", 6) == 0)
			return (line);
	}
	return (NULL);
}

/* Whose filter this is and what its owner would type. */
static void
advise(const struct foreign *f, const char *listing, const char *bridge,
    char *buf, size_t size)
{

	if (strstr(listing, "DOCKER-USER") != NULL)
		snprintf(buf, size, "Docker's: run \"iptables -I DOCKER-USER "
		    "-i %s -j ACCEPT\" and \"iptables -I DOCKER-USER -o %s "
		    "-j ACCEPT\"", bridge, bridge);
	else if (strstr(listing, "ufw-") != NULL)
		snprintf(buf, size, "ufw's: run \"ufw route allow in on %s\" "
		    "and \"ufw route allow out on %s\"", bridge, bridge);
	else if (strcmp(f->table, "firewalld") == 0)
		snprintf(buf, size, "firewalld's: run \"firewall-cmd "
		    "--permanent --zone=trusted --add-interface=%s\" and "
		    "\"firewall-cmd --reload\"", bridge);
	else
		snprintf(buf, size, "run \"nft insert rule %s %s %s iifname "
		    "%s accept\" and \"nft insert rule %s %s %s oifname %s "
		    "accept\"", f->family, f->table, f->chain, bridge,
		    f->family, f->table, f->chain, bridge);
}

static void
check_chain(struct net *n, const struct foreign *f, net_finding *report,
    void *arg)
{
	char cmd[192], advice[320], text[640], *listing = NULL;
	const char *rule, *bridge;
	int i;

	/* The whole table: what accepts may stand in a chain it jumps to. */
	snprintf(cmd, sizeof(cmd), "list table %s %s", f->family, f->table);
	if (net_nft_run(cmd, &listing, NULL) != 0)
		return;
	for (i = 0; i < 2; i++) {
		bridge = n->range[i].bridge;
		if (strstr(listing, bridge) != NULL)
			continue;
		snprintf(cmd, sizeof(cmd), "list chain %s %s %s", f->family,
		    f->table, f->chain);
		advise(f, listing, bridge, advice, sizeof(advice));
		if (f->drops)
			rule = "policy drop";
		else {
			char *one = NULL;

			if (net_nft_run(cmd, &one, NULL) != 0)
				break;
			rule = stops_all(one) == NULL ? NULL :
			    "its unconditional drop or reject";
			free(one);
		}
		if (rule == NULL)
			break;
		snprintf(text, sizeof(text), "%s of chain \"%s %s %s\" stops "
		    "what %s forwards; %s", rule, f->family, f->table,
		    f->chain, bridge, advice);
		report(arg, NET_BAD, "filter", text);
	}
	free(listing);
}

static void
check_others(struct net *n, net_finding *f, void *arg)
{
	struct look l = { .instance = n->conf.instance };
	char *text;
	size_t i, len;

	if (look_chains(n, &l) != 0)
		return;
	for (i = 0; i < l.n; i++)
		check_chain(n, &l.f[i], f, arg);
	/* The old iptables has no names that we could ask for. */
	if (co_file_read(-100, "/proc/net/ip_tables_names", 4096, &text, &len,
	    NULL) != 0)
		return;
	if (strstr(text, "filter") != NULL)
		f(arg, NET_WARN, "filter", "iptables-legacy has rules of its "
		    "own; see \"iptables-legacy -S FORWARD\"");
	free(text);
}

void
net_host_check(struct net *n, net_finding *f, void *arg)
{
	struct co_error e;
	bool ready;
	int r;

	if ((r = net_rules_base_ok(n->rules, &e)) < 0)
		f(arg, NET_BAD, "rules", e.message);
	else if (r == 0)
		f(arg, NET_BAD, "rules", "our tables are missing or were "
		    "changed by somebody; run \"coppicectl net setup\"");
	else
		f(arg, NET_GOOD, "rules", "our tables are as they should be");
	if (net_host_ready(n, &ready, &e) == 0 && !ready && r == 1)
		f(arg, NET_BAD, "forwarding", "the kernel does not forward; "
		    "run \"coppicectl net setup\"");
	check_others(n, f, arg);
}
