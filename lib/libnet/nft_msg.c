/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Single nf_tables messages, appended to a transaction.  A transaction is
 * one batch: the kernel takes all of it or nothing.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdio.h>
#include <string.h>

#include <libnftnl/chain.h>
#include <libnftnl/object.h>

#include "nft_linux.h"

static void
nft_edge(struct net_loader *ld, uint16_t type)
{
	struct nlmsghdr *h = net_nl_msg(ld->nl, type, 0);
	struct nfgenmsg *g = mnl_nlmsg_put_extra_header(h, sizeof(*g));

	g->nfgen_family = AF_UNSPEC;
	g->version = NFNETLINK_V0;
	g->res_id = htons(NFNL_SUBSYS_NFTABLES);
	net_nl_end(ld->nl, h);
}

void
net_nft_begin(struct net_loader *ld)
{

	net_nl_begin(ld->nl);
	nft_edge(ld, NFNL_MSG_BATCH_BEGIN);
}

struct nlmsghdr *
net_nft_msg(struct net_loader *ld, int type, uint8_t family, uint16_t flags)
{
	struct nlmsghdr *h = net_nl_msg(ld->nl,
	    (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), flags);
	struct nfgenmsg *g = mnl_nlmsg_put_extra_header(h, sizeof(*g));

	g->nfgen_family = family;
	g->version = NFNETLINK_V0;
	g->res_id = 0;
	return (h);
}

int
net_nft_commit(struct net_loader *ld)
{

	nft_edge(ld, NFNL_MSG_BATCH_END);
	return (net_nl_commit(ld->nl));
}

void
net_nft_put_elem(struct net_loader *ld, int type, uint16_t flags,
    const struct nft_elem *el, uint64_t timeout)
{
	struct nftnl_set_elem *x;
	struct nftnl_set *s;
	struct nlmsghdr *h;

	if ((s = nftnl_set_alloc()) == NULL)
		return;
	nftnl_set_set_u32(s, NFTNL_SET_FAMILY, el->family);
	nftnl_set_set_str(s, NFTNL_SET_TABLE, ld->conf->instance);
	nftnl_set_set_str(s, NFTNL_SET_NAME, el->set);
	if ((x = nftnl_set_elem_alloc()) != NULL) {
		nftnl_set_elem_set(x, NFTNL_SET_ELEM_KEY, el->key,
		    el->keylen);
		if (el->verdict != 0) {
			nftnl_set_elem_set_u32(x, NFTNL_SET_ELEM_VERDICT,
			    (uint32_t)el->verdict);
			nftnl_set_elem_set_str(x, NFTNL_SET_ELEM_CHAIN,
			    el->chain);
		}
		if (timeout != 0)
			nftnl_set_elem_set_u64(x, NFTNL_SET_ELEM_TIMEOUT,
			    timeout);
		nftnl_set_elem_add(s, x);
	}
	h = net_nft_msg(ld, type, el->family, flags);
	nftnl_set_elems_nlmsg_build_payload(h, s);
	net_nl_end(ld->nl, h);
	nftnl_set_free(s);
}

void
net_nft_put_chain(struct net_loader *ld, int type, const char *name)
{
	struct nlmsghdr *h;

	h = net_nft_msg(ld, type, NFPROTO_INET,
	    type == NFT_MSG_NEWCHAIN ? NLM_F_CREATE | NLM_F_EXCL : 0);
	mnl_attr_put_strz(h, NFTA_CHAIN_TABLE, ld->conf->instance);
	mnl_attr_put_strz(h, NFTA_CHAIN_NAME, name);
	net_nl_end(ld->nl, h);
}

void
net_nft_flush_chain(struct net_loader *ld, const char *name)
{
	struct nlmsghdr *h;

	h = net_nft_msg(ld, NFT_MSG_DELRULE, NFPROTO_INET, 0);
	mnl_attr_put_strz(h, NFTA_RULE_TABLE, ld->conf->instance);
	mnl_attr_put_strz(h, NFTA_RULE_CHAIN, name);
	net_nl_end(ld->nl, h);
}

void
net_nft_put_set(struct net_loader *ld, int type, const char *name)
{
	struct nlmsghdr *h;

	h = net_nft_msg(ld, type, NFPROTO_INET, 0);
	mnl_attr_put_strz(h, NFTA_SET_TABLE, ld->conf->instance);
	mnl_attr_put_strz(h, NFTA_SET_NAME, name);
	net_nl_end(ld->nl, h);
}

void
net_nft_put_counter(struct net_loader *ld, int type, const char *name)
{
	struct nlattr *data;
	struct nlmsghdr *h;

	h = net_nft_msg(ld, type, NFPROTO_INET,
	    type == NFT_MSG_NEWOBJ ? NLM_F_CREATE | NLM_F_EXCL : 0);
	mnl_attr_put_strz(h, NFTA_OBJ_TABLE, ld->conf->instance);
	mnl_attr_put_strz(h, NFTA_OBJ_NAME, name);
	mnl_attr_put_u32(h, NFTA_OBJ_TYPE, htonl(NFT_OBJECT_COUNTER));
	if (type == NFT_MSG_NEWOBJ) {
		data = mnl_attr_nest_start(h, NFTA_OBJ_DATA);
		mnl_attr_nest_end(h, data);
	}
	net_nl_end(ld->nl, h);
}

int
net_nft_error(const struct net_loader *ld, int err, const char *what,
    const char *doing, struct co_error *e)
{

	co_error_set(e, CO_ENET_RULES, what, "%s %s: %s (message %d of the "
	    "transaction%s%s)%s", doing, what, strerror(err),
	    ld->nl->failed, ld->nl->why[0] != '\0' ? ": " : "", ld->nl->why,
	    err == ENOENT ? "; run \"coppicectl net setup\"" :
	    "; see \"coppicectl doctor\"");
	if (e != NULL)
		e->errnum = err;
	return (-1);
}
