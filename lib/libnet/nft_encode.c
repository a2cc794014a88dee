/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Plans as nf_tables objects: the same rules that render_nft.c writes as
 * text, expression by expression, so that attaching a sandbox needs neither
 * a parser nor a listing of what others have.
 */

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libnftnl/expr.h>

#include "nft_linux.h"

/* Numbers of nft(8)'s data types, by which it lists a set. */
#define	TYPE_IPADDR	7
#define	TYPE_IP6ADDR	8

static struct nftnl_expr *
expr_add(struct nftnl_rule *r, const char *name)
{
	struct nftnl_expr *x = nftnl_expr_alloc(name);

	if (x != NULL)
		nftnl_rule_add_expr(r, x);
	return (x);
}

static void
expr_meta(struct nftnl_rule *r, uint32_t key)
{
	struct nftnl_expr *x;

	if ((x = expr_add(r, "meta")) == NULL)
		return;
	nftnl_expr_set_u32(x, NFTNL_EXPR_META_KEY, key);
	nftnl_expr_set_u32(x, NFTNL_EXPR_META_DREG, NFT_REG_1);
}

static void
expr_cmp(struct nftnl_rule *r, uint32_t op, const void *data, uint32_t len)
{
	struct nftnl_expr *x;

	if ((x = expr_add(r, "cmp")) == NULL)
		return;
	nftnl_expr_set_u32(x, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
	nftnl_expr_set_u32(x, NFTNL_EXPR_CMP_OP, op);
	nftnl_expr_set(x, NFTNL_EXPR_CMP_DATA, data, len);
}

static void
expr_payload(struct nftnl_rule *r, uint32_t base, uint32_t off, uint32_t len)
{
	struct nftnl_expr *x;

	if ((x = expr_add(r, "payload")) == NULL)
		return;
	nftnl_expr_set_u32(x, NFTNL_EXPR_PAYLOAD_BASE, base);
	nftnl_expr_set_u32(x, NFTNL_EXPR_PAYLOAD_OFFSET, off);
	nftnl_expr_set_u32(x, NFTNL_EXPR_PAYLOAD_LEN, len);
	nftnl_expr_set_u32(x, NFTNL_EXPR_PAYLOAD_DREG, NFT_REG_1);
}

static void
expr_lookup(struct nftnl_rule *r, const char *set)
{
	struct nftnl_expr *x;

	if ((x = expr_add(r, "lookup")) == NULL)
		return;
	nftnl_expr_set_u32(x, NFTNL_EXPR_LOOKUP_SREG, NFT_REG_1);
	nftnl_expr_set_str(x, NFTNL_EXPR_LOOKUP_SET, set);
	nftnl_expr_set_u32(x, NFTNL_EXPR_LOOKUP_FLAGS, 0);
}

static void
expr_verdict(struct nftnl_rule *r, int verdict)
{
	struct nftnl_expr *x;

	if ((x = expr_add(r, "immediate")) == NULL)
		return;
	nftnl_expr_set_u32(x, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
	nftnl_expr_set_u32(x, NFTNL_EXPR_IMM_VERDICT, (uint32_t)verdict);
}

static void
expr_counted(struct nftnl_rule *r, const char *tag)
{
	struct nftnl_expr *x;
	char name[32];

	if ((x = expr_add(r, "objref")) == NULL)
		return;
	snprintf(name, sizeof(name), "blocked-%s", tag);
	nftnl_expr_set_u32(x, NFTNL_EXPR_OBJREF_IMM_TYPE, NFT_OBJECT_COUNTER);
	nftnl_expr_set_str(x, NFTNL_EXPR_OBJREF_IMM_NAME, name);
}

static void
expr_daddr(struct nftnl_rule *r, uint8_t family, const char *set)
{
	uint8_t proto = family == 4 ? NFPROTO_IPV4 : NFPROTO_IPV6;

	expr_meta(r, NFT_META_NFPROTO);
	expr_cmp(r, NFT_CMP_EQ, &proto, 1);
	expr_payload(r, NFT_PAYLOAD_NETWORK_HEADER, family == 4 ? 16 : 24,
	    family == 4 ? 4 : 16);
	expr_lookup(r, set);
}

/* As nft(8) writes it: whole bytes without a mask. */
static void
expr_prefix(struct nftnl_rule *r, const struct net_prefix *p)
{
	uint8_t proto = p->addr.family == 4 ? NFPROTO_IPV4 : NFPROTO_IPV6;
	uint32_t off = p->addr.family == 4 ? 16 : 24;
	uint32_t len = (uint32_t)net_addr_len(&p->addr);
	uint8_t mask[16] = { 0 }, none[16] = { 0 };
	struct nftnl_expr *x;
	unsigned i;

	expr_meta(r, NFT_META_NFPROTO);
	expr_cmp(r, NFT_CMP_EQ, &proto, 1);
	if (p->plen == 0)
		return;
	if (p->plen % 8 == 0) {
		expr_payload(r, NFT_PAYLOAD_NETWORK_HEADER, off,
		    p->plen / 8u);
		expr_cmp(r, NFT_CMP_EQ, p->addr.b, p->plen / 8u);
		return;
	}
	for (i = 0; i < p->plen; i++)
		mask[i / 8] |= (uint8_t)(0x80 >> (i % 8));
	expr_payload(r, NFT_PAYLOAD_NETWORK_HEADER, off, len);
	if ((x = expr_add(r, "bitwise")) == NULL)
		return;
	nftnl_expr_set_u32(x, NFTNL_EXPR_BITWISE_SREG, NFT_REG_1);
	nftnl_expr_set_u32(x, NFTNL_EXPR_BITWISE_DREG, NFT_REG_1);
	nftnl_expr_set_u32(x, NFTNL_EXPR_BITWISE_OP, NFT_BITWISE_BOOL);
	nftnl_expr_set_u32(x, NFTNL_EXPR_BITWISE_LEN, len);
	nftnl_expr_set(x, NFTNL_EXPR_BITWISE_MASK, mask, len);
	nftnl_expr_set(x, NFTNL_EXPR_BITWISE_XOR, none, len);
	expr_cmp(r, NFT_CMP_EQ, p->addr.b, len);
}

static void
expr_flow(struct nftnl_rule *r, const struct net_flow *f)
{
	uint16_t lo = htons(f->lo), hi = htons(f->hi);

	if (f->proto == 0)
		return;
	expr_meta(r, NFT_META_L4PROTO);
	expr_cmp(r, NFT_CMP_EQ, &f->proto, 1);
	if (f->lo == 0 && f->hi == UINT16_MAX)
		return;
	expr_payload(r, NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2);
	if (f->lo == f->hi) {
		expr_cmp(r, NFT_CMP_EQ, &lo, 2);
		return;
	}
	expr_cmp(r, NFT_CMP_GTE, &lo, 2);
	expr_cmp(r, NFT_CMP_LTE, &hi, 2);
}

static struct nftnl_rule *
rule_new(const struct net_loader *ld, const struct net_plan *pl,
    const char *chain)
{
	struct nftnl_rule *r;
	char name[32];

	if ((r = nftnl_rule_alloc()) == NULL)
		return (NULL);
	snprintf(name, sizeof(name), "%s-%s", chain, pl->tag);
	nftnl_rule_set_u32(r, NFTNL_RULE_FAMILY, NFPROTO_INET);
	nftnl_rule_set_str(r, NFTNL_RULE_TABLE, ld->conf->instance);
	nftnl_rule_set_str(r, NFTNL_RULE_CHAIN, name);
	return (r);
}

struct nftnl_rule *
net_nft_rule(const struct net_loader *ld, const struct net_plan *pl,
    const char *chain, const struct net_rule *rule)
{
	struct nftnl_rule *r;

	if ((r = rule_new(ld, pl, chain)) == NULL)
		return (NULL);
	if (rule->match == NET_M_SET || rule->match == NET_M_LEARNT)
		expr_daddr(r, rule->family, pl->set[rule->set].name);
	else if (rule->match == NET_M_PREFIX)
		expr_prefix(r, &rule->prefix);
	else if (rule->match == NET_M_SPECIAL)
		expr_daddr(r, rule->family, rule->family == 4 ? "special4" :
		    "special6");
	expr_flow(r, &rule->flow);
	if (!rule->pass)
		expr_counted(r, pl->tag);
	expr_verdict(r, rule->pass ? NF_ACCEPT : NF_DROP);
	return (r);
}

struct nftnl_rule *
net_nft_limit(const struct net_loader *ld, const struct net_plan *pl,
    const char *chain, uint64_t rate)
{
	uint32_t burst = rate / 10 < 65536 ? 65536 : (uint32_t)(rate / 10);
	struct nftnl_expr *x;
	struct nftnl_rule *r;

	if ((r = rule_new(ld, pl, chain)) == NULL)
		return (NULL);
	if ((x = expr_add(r, "limit")) != NULL) {
		nftnl_expr_set_u64(x, NFTNL_EXPR_LIMIT_RATE, rate);
		nftnl_expr_set_u64(x, NFTNL_EXPR_LIMIT_UNIT, 1);
		nftnl_expr_set_u32(x, NFTNL_EXPR_LIMIT_BURST, burst);
		nftnl_expr_set_u32(x, NFTNL_EXPR_LIMIT_TYPE,
		    NFT_LIMIT_PKT_BYTES);
		nftnl_expr_set_u32(x, NFTNL_EXPR_LIMIT_FLAGS,
		    NFT_LIMIT_F_INV);
	}
	expr_counted(r, pl->tag);
	expr_verdict(r, NF_DROP);
	return (r);
}

struct nftnl_set *
net_nft_set(const struct net_loader *ld, const struct net_set *s,
    uint32_t id)
{
	struct nftnl_set *n;

	if ((n = nftnl_set_alloc()) == NULL)
		return (NULL);
	nftnl_set_set_u32(n, NFTNL_SET_FAMILY, NFPROTO_INET);
	nftnl_set_set_str(n, NFTNL_SET_TABLE, ld->conf->instance);
	nftnl_set_set_str(n, NFTNL_SET_NAME, s->name);
	nftnl_set_set_u32(n, NFTNL_SET_FLAGS, s->learnt ? NFT_SET_TIMEOUT :
	    NFT_SET_INTERVAL);
	nftnl_set_set_u32(n, NFTNL_SET_KEY_TYPE, s->family == 4 ?
	    TYPE_IPADDR : TYPE_IP6ADDR);
	nftnl_set_set_u32(n, NFTNL_SET_KEY_LEN, s->family == 4 ? 4 : 16);
	nftnl_set_set_u32(n, NFTNL_SET_ID, id);
	return (n);
}

/* The address behind the last one of a prefix; false if there is none. */
static bool
prefix_behind(const struct net_prefix *p, uint8_t key[16])
{
	int i = p->plen / 8, bit = p->plen % 8;
	unsigned sum;

	memcpy(key, p->addr.b, 16);
	if (p->plen == 0)
		return (false);
	if (bit == 0) {
		i--;
		bit = 8;
	}
	sum = key[i] + (1u << (8 - bit));
	key[i] = (uint8_t)sum;
	while (sum > 255 && i > 0) {
		sum = key[--i] + 1u;
		key[i] = (uint8_t)sum;
	}
	return (sum <= 255);
}

/*
 * A set of intervals is a list of bounds: where one begins and, behind its
 * last address, where it ends.  nft(8) begins the list with an end at zero.
 */
struct nft_bound *
net_nft_bounds(const struct net_set *s, size_t *n)
{
	static const uint8_t zero[16];
	struct nft_bound *b;
	size_t i;

	*n = 0;
	if ((b = calloc(2 * s->nprefix + 1, sizeof(*b))) == NULL)
		return (NULL);
	if (s->nprefix > 0 &&
	    memcmp(s->prefix[0].addr.b, zero, sizeof(zero)) != 0)
		b[(*n)++].end = true;
	for (i = 0; i < s->nprefix; i++) {
		memcpy(b[(*n)++].key, s->prefix[i].addr.b, 16);
		if (!prefix_behind(&s->prefix[i], b[*n].key))
			break;
		b[(*n)++].end = true;
	}
	return (b);
}

static struct nft_elem *
elem_add(struct nft_elem *el, size_t *n, const char *set,
    const struct net_addr *a)
{

	el += (*n)++;
	memset(el, 0, sizeof(*el));
	el->family = NFPROTO_INET;
	snprintf(el->set, sizeof(el->set), "%s%u", set, a->family);
	el->keylen = (uint32_t)net_addr_len(a);
	memcpy(el->key, a->b, el->keylen);
	return (el);
}

static void
elem_map(struct nft_elem *el, size_t *n, const char *map, int verdict,
    const struct net_plan *pl, const struct net_addr *a)
{
	bool six = verdict == NFT_GOTO && a->family == 6;

	el = elem_add(el, n, map, a);
	el->verdict = verdict;
	snprintf(el->chain, sizeof(el->chain), "%s%s-%s", map, six ? "6" : "",
	    pl->tag);
}

/* ifname . ether_addr . address, each padded to four bytes. */
uint32_t
net_nft_pinkey(uint8_t *key, const char *ifname, const uint8_t *mac,
    const struct net_addr *a)
{

	memset(key, 0, NFT_KEYMAX);
	memcpy(key, ifname, strlen(ifname));
	memcpy(key + 16, mac, NET_MACLEN);
	memcpy(key + 24, a->b, net_addr_len(a));
	return ((uint32_t)(24 + net_addr_len(a)));
}

static void
elem_pin(struct nft_elem *el, size_t *n, const struct net_plan *pl,
    const struct net_addr *a)
{

	el = elem_add(el, n, "pin", a);
	el->family = NFPROTO_BRIDGE;
	el->keylen = net_nft_pinkey(el->key, pl->lease.ifname, pl->lease.mac,
	    a);
}

size_t
net_nft_elems(const struct net_plan *pl, struct nft_elem el[NFT_MAXELEMS])
{
	const struct net_addr *a[2] = { &pl->lease.addr, &pl->lease.addr6 };
	struct net_addr ll;
	size_t n = 0;
	int i;

	for (i = 0; i < 2 && a[i]->family != 0; i++) {
		elem_map(el, &n, "sandbox", NFT_GOTO, pl, a[i]);
		if (pl->host.n > 0)
			elem_map(el, &n, "host", NFT_GOTO, pl, a[i]);
		if (pl->live)
			elem_add(el, &n, "live", a[i]);
		if (pl->forwards)
			elem_add(el, &n, "inbound", a[i]);
		if (pl->up != 0)
			elem_map(el, &n, "up", NFT_JUMP, pl, a[i]);
		if (pl->down != 0)
			elem_map(el, &n, "down", NFT_JUMP, pl, a[i]);
		elem_pin(el, &n, pl, a[i]);
	}
	if (pl->lease.addr6.family != 0) {
		net_linklocal_of(pl->lease.mac, &ll);
		elem_pin(el, &n, pl, &ll);
	}
	return (n);
}
