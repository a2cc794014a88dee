/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Between the files that talk to nf_tables: nft_encode.c makes objects from
 * plans, rules_nft.c loads and verifies them, nft_sweep.c removes what
 * belongs to nobody, nft_base.c has the part that all sandboxes share.
 */

#ifndef NET_NFT_LINUX_H
#define NET_NFT_LINUX_H

#include <libnftnl/rule.h>
#include <libnftnl/set.h>

#include "nl_linux.h"

#define	NFT_KEYMAX	40

/* One element of a set or map: a key and, for a map, a chain. */
struct nft_elem {
	uint8_t		 family;	/* of the table: NFPROTO_* */
	char		 set[NET_SETNAME];
	uint8_t		 key[NFT_KEYMAX];
	uint32_t	 keylen;
	int		 verdict;	/* NFT_GOTO, NFT_JUMP, or 0 */
	char		 chain[32];
};

#define	NFT_MAXELEMS	16

struct net_loader {
	const struct net_conf *conf;
	struct net_nl	*nl;
	char		*expected;	/* listing of the base, once known */
};

/* All elements that a plan has in shared sets and maps; returns how many. */
size_t net_nft_elems(const struct net_plan *, struct nft_elem[NFT_MAXELEMS]);
uint32_t net_nft_pinkey(uint8_t *, const char *ifname, const uint8_t *mac,
    const struct net_addr *);

/* Rules of a plan's chain, in order; the caller frees them. */
struct nftnl_rule *net_nft_rule(const struct net_loader *,
    const struct net_plan *, const char *chain, const struct net_rule *);
struct nftnl_rule *net_nft_limit(const struct net_loader *,
    const struct net_plan *, const char *chain, uint64_t rate);
struct nftnl_set *net_nft_set(const struct net_loader *,
    const struct net_set *, uint32_t id);
/* The interval elements of a set: keys and whether each ends one. */
struct nft_bound {
	uint8_t		key[16];
	bool		end;
};
struct nft_bound *net_nft_bounds(const struct net_set *, size_t *);

/* Messages, appended to the batch. */
void net_nft_begin(struct net_loader *);
struct nlmsghdr *net_nft_msg(struct net_loader *, int type, uint8_t family,
    uint16_t flags);
int net_nft_commit(struct net_loader *);
void net_nft_put_elem(struct net_loader *, int type, uint16_t flags,
    const struct nft_elem *, uint64_t timeout);
void net_nft_put_chain(struct net_loader *, int type, const char *name);
void net_nft_flush_chain(struct net_loader *, const char *name);
void net_nft_put_set(struct net_loader *, int type, const char *name);
void net_nft_put_counter(struct net_loader *, int type, const char *name);
int net_nft_error(const struct net_loader *, int err, const char *what,
    const char *doing, struct co_error *);

/* nft_base.c */
int net_nft_run(const char *commands, char **out, struct co_error *);

#endif
