/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Rules of sandboxes in nf_tables: load, replace and remove in one
 * transaction each, and read back what the kernel has made of it.  None of
 * this looks at what other sandboxes have, so its cost does not depend on
 * how many there are.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libnftnl/expr.h>
#include <libnftnl/object.h>

#include "nft_linux.h"

int
net_rules_open(const struct net_conf *c, struct net_loader **out,
    struct co_error *e)
{
	struct net_loader *ld;

	if ((ld = calloc(1, sizeof(*ld))) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "rules"));
	ld->conf = c;
	if ((ld->nl = net_nl_open(NETLINK_NETFILTER, -1, e)) == NULL) {
		free(ld);
		return (-1);
	}
	*out = ld;
	return (0);
}

void
net_rules_close(struct net_loader *ld)
{

	if (ld == NULL)
		return;
	net_nl_close(ld->nl);
	free(ld->expected);
	free(ld);
}

static void
tagged(char *buf, size_t size, const char *word, const struct net_plan *pl)
{

	snprintf(buf, size, "%s-%s", word, pl->tag);
}

/* Few enough elements for the length field of one attribute. */
#define	CHUNK	256

static void
put_bounds(struct net_loader *ld, const struct net_set *s)
{
	struct nftnl_set_elem *x;
	struct nft_bound *b;
	struct nftnl_set *set;
	struct nlmsghdr *h;
	size_t i, k, n;

	if ((b = net_nft_bounds(s, &n)) == NULL)
		return;
	for (i = 0; i < n; i += CHUNK) {
		if ((set = net_nft_set(ld, s, 0)) == NULL)
			break;
		for (k = i; k < n && k < i + CHUNK; k++) {
			if ((x = nftnl_set_elem_alloc()) == NULL)
				break;
			nftnl_set_elem_set(x, NFTNL_SET_ELEM_KEY, b[k].key,
			    s->family == 4 ? 4 : 16);
			if (b[k].end)
				nftnl_set_elem_set_u32(x,
				    NFTNL_SET_ELEM_FLAGS,
				    NFT_SET_ELEM_INTERVAL_END);
			nftnl_set_elem_add(set, x);
		}
		nftnl_set_unset(set, NFTNL_SET_ID);
		h = net_nft_msg(ld, NFT_MSG_NEWSETELEM, NFPROTO_INET,
		    NLM_F_CREATE);
		nftnl_set_elems_nlmsg_build_payload(h, set);
		net_nl_end(ld->nl, h);
		nftnl_set_free(set);
	}
	free(b);
}

static void
put_set(struct net_loader *ld, const struct net_set *s, uint32_t id)
{
	struct nftnl_set *set;
	struct nlmsghdr *h;

	if ((set = net_nft_set(ld, s, id)) == NULL)
		return;
	h = net_nft_msg(ld, NFT_MSG_NEWSET, NFPROTO_INET,
	    NLM_F_CREATE | (s->learnt ? 0 : NLM_F_EXCL));
	nftnl_set_nlmsg_build_payload(h, set);
	net_nl_end(ld->nl, h);
	nftnl_set_free(set);
	if (!s->learnt)
		put_bounds(ld, s);
}

static void
put_rule(struct net_loader *ld, struct nftnl_rule *r)
{
	struct nlmsghdr *h;

	if (r == NULL)
		return;
	h = net_nft_msg(ld, NFT_MSG_NEWRULE, NFPROTO_INET,
	    NLM_F_CREATE | NLM_F_APPEND);
	nftnl_rule_nlmsg_build_payload(h, r);
	net_nl_end(ld->nl, h);
	nftnl_rule_free(r);
}

/* The chains that a plan has: lists per family, limits for both. */
#define	MAXCHAINS	6

struct chain {
	const char	*word;
	const struct net_rules *rules;	/* NULL: a limit of this rate */
	uint8_t		 family;
	uint64_t	 rate;
};

static size_t
plan_chains(const struct net_plan *pl, struct chain c[MAXCHAINS])
{
	bool six = pl->lease.addr6.family != 0;
	size_t n = 0;

	c[n++] = (struct chain){ "sandbox", &pl->through, 4, 0 };
	if (six)
		c[n++] = (struct chain){ "sandbox6", &pl->through, 6, 0 };
	if (pl->host.n > 0)
		c[n++] = (struct chain){ "host", &pl->host, 4, 0 };
	if (pl->host.n > 0 && six)
		c[n++] = (struct chain){ "host6", &pl->host, 6, 0 };
	if (pl->up != 0)
		c[n++] = (struct chain){ "up", NULL, 0, pl->up };
	if (pl->down != 0)
		c[n++] = (struct chain){ "down", NULL, 0, pl->down };
	return (n);
}

static bool
chain_wants(const struct chain *c, const struct net_rule *r)
{

	return (r->family == 0 || r->family == c->family);
}

static bool
has_chain(const struct chain *c, size_t n, const char *word)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(c[i].word, word) == 0)
			return (true);
	return (false);
}

static bool
has_set(const struct net_plan *pl, const char *name)
{
	size_t i;

	for (i = 0; i < pl->nset; i++)
		if (strcmp(pl->set[i].name, name) == 0)
			return (true);
	return (false);
}

static bool
has_elem(const struct nft_elem *el, size_t n, const struct nft_elem *x)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(el[i].set, x->set) == 0 &&
		    el[i].family == x->family && el[i].keylen == x->keylen &&
		    memcmp(el[i].key, x->key, x->keylen) == 0)
			return (true);
	return (false);
}

static void
put_rules(struct net_loader *ld, const struct net_plan *pl,
    const struct chain *c)
{
	size_t i;

	if (c->rules == NULL) {
		put_rule(ld, net_nft_limit(ld, pl, c->word, c->rate));
		return;
	}
	for (i = 0; i < c->rules->n; i++)
		if (chain_wants(c, &c->rules->rule[i]))
			put_rule(ld, net_nft_rule(ld, pl, c->word,
			    &c->rules->rule[i]));
}

/* Take away what ${old} has and ${new} (which may be NULL) has not. */
static void
put_removal(struct net_loader *ld, const struct net_plan *old,
    const struct net_plan *new)
{
	struct nft_elem oe[NFT_MAXELEMS], ne[NFT_MAXELEMS];
	struct chain oc[MAXCHAINS], nc[MAXCHAINS];
	size_t i, noe, nne = 0, noc, nnc = 0;
	char name[32];

	noe = net_nft_elems(old, oe);
	noc = plan_chains(old, oc);
	if (new != NULL) {
		nne = net_nft_elems(new, ne);
		nnc = plan_chains(new, nc);
	}
	for (i = 0; i < noe; i++)
		if (!has_elem(ne, nne, &oe[i]))
			net_nft_put_elem(ld, NFT_MSG_DELSETELEM, 0, &oe[i], 0);
	for (i = 0; i < noc; i++) {
		tagged(name, sizeof(name), oc[i].word, old);
		net_nft_flush_chain(ld, name);
		if (!has_chain(nc, nnc, oc[i].word))
			net_nft_put_chain(ld, NFT_MSG_DELCHAIN, name);
	}
	for (i = 0; i < old->nset; i++)
		if (new == NULL || !old->set[i].learnt ||
		    !has_set(new, old->set[i].name))
			net_nft_put_set(ld, NFT_MSG_DELSET, old->set[i].name);
	if (new == NULL) {
		tagged(name, sizeof(name), "blocked", old);
		net_nft_put_counter(ld, NFT_MSG_DELOBJ, name);
	}
}

static void
put_plan(struct net_loader *ld, const struct net_plan *new,
    const struct net_plan *old)
{
	struct nft_elem oe[NFT_MAXELEMS], ne[NFT_MAXELEMS];
	struct chain oc[MAXCHAINS], nc[MAXCHAINS];
	size_t i, noe = 0, nne, noc = 0, nnc;
	char name[32];

	nne = net_nft_elems(new, ne);
	nnc = plan_chains(new, nc);
	if (old != NULL) {
		noe = net_nft_elems(old, oe);
		noc = plan_chains(old, oc);
	} else {
		tagged(name, sizeof(name), "blocked", new);
		net_nft_put_counter(ld, NFT_MSG_NEWOBJ, name);
	}
	for (i = 0; i < new->nset; i++)
		put_set(ld, &new->set[i], (uint32_t)i + 1);
	for (i = 0; i < nnc; i++) {
		tagged(name, sizeof(name), nc[i].word, new);
		if (!has_chain(oc, noc, nc[i].word))
			net_nft_put_chain(ld, NFT_MSG_NEWCHAIN, name);
		put_rules(ld, new, &nc[i]);
	}
	for (i = 0; i < nne; i++)
		if (!has_elem(oe, noe, &ne[i]))
			net_nft_put_elem(ld, NFT_MSG_NEWSETELEM,
			    NLM_F_CREATE | NLM_F_EXCL, &ne[i], 0);
}

int
net_rules_load(struct net_loader *ld, const struct net_plan *new,
    const struct net_plan *old, struct co_error *e)
{
	int err;

	net_nft_begin(ld);
	if (old != NULL)
		put_removal(ld, old, new);
	put_plan(ld, new, old);
	net_point("rules-built");
	if ((err = net_nft_commit(ld)) != 0)
		return (net_nft_error(ld, err, new->lease.id,
		    "can't load the rules of sandbox", e));
	net_point("rules-loaded");
	if ((err = net_rules_verify(ld, new, e)) == 0)
		co_error_set(e, CO_ENET_VERIFY, new->lease.id,
		    "the rules read back for sandbox %s differ from those "
		    "loaded; see \"coppicectl doctor\"", new->lease.id);
	return (err == 1 ? 0 : -1);
}

int
net_rules_unload(struct net_loader *ld, const struct net_plan *pl,
    struct co_error *e)
{
	int err;

	net_nft_begin(ld);
	put_removal(ld, pl, NULL);
	if ((err = net_nft_commit(ld)) != 0)
		return (net_nft_error(ld, err, pl->lease.id,
		    "can't remove the rules of sandbox", e));
	net_point("rules-unloaded");
	return (0);
}

/*
 * Reading back: rules are compared expression by expression.
 */
struct readback {
	struct nftnl_rule **rule;	/* as sent, in order */
	size_t		 n, at;
	bool		 differs;
};

static bool
rule_same(struct nftnl_rule *a, struct nftnl_rule *b)
{
	struct nftnl_expr_iter *ia = nftnl_expr_iter_create(a);
	struct nftnl_expr_iter *ib = nftnl_expr_iter_create(b);
	struct nftnl_expr *x, *y;
	char sx[512], sy[512];
	bool same = ia != NULL && ib != NULL;

	while (same) {
		x = nftnl_expr_iter_next(ia);
		y = nftnl_expr_iter_next(ib);
		if (x == NULL || y == NULL) {
			same = x == y;
			break;
		}
		sx[0] = sy[0] = '\0';
		nftnl_expr_snprintf(sx, sizeof(sx), x, 0, 0);
		nftnl_expr_snprintf(sy, sizeof(sy), y, 0, 0);
		same = strcmp(nftnl_expr_get_str(x, NFTNL_EXPR_NAME),
		    nftnl_expr_get_str(y, NFTNL_EXPR_NAME)) == 0 &&
		    strcmp(sx, sy) == 0;
	}
	if (ia != NULL)
		nftnl_expr_iter_destroy(ia);
	if (ib != NULL)
		nftnl_expr_iter_destroy(ib);
	return (same);
}

static int
readback_rule(const struct nlmsghdr *h, void *arg)
{
	struct readback *rb = arg;
	struct nftnl_rule *r;

	if (rb->at >= rb->n || (r = nftnl_rule_alloc()) == NULL) {
		rb->differs = true;
		return (MNL_CB_OK);
	}
	if (nftnl_rule_nlmsg_parse(h, r) != 0 ||
	    !rule_same(r, rb->rule[rb->at]))
		rb->differs = true;
	rb->at++;
	nftnl_rule_free(r);
	return (MNL_CB_OK);
}

static int
verify_chain(struct net_loader *ld, const struct net_plan *pl,
    const struct chain *c, bool *same)
{
	struct readback rb = { 0 };
	struct nlmsghdr *h;
	char name[32];
	size_t i, n;
	int err = ENOMEM;

	n = c->rules == NULL ? 1 : c->rules->n;
	if ((rb.rule = calloc(n, sizeof(struct nftnl_rule *))) == NULL)
		return (ENOMEM);
	for (i = 0; i < n; i++) {
		if (c->rules != NULL && !chain_wants(c, &c->rules->rule[i]))
			continue;
		rb.rule[rb.n] = c->rules == NULL ?
		    net_nft_limit(ld, pl, c->word, c->rate) :
		    net_nft_rule(ld, pl, c->word, &c->rules->rule[i]);
		if (rb.rule[rb.n] == NULL)
			goto out;
		rb.n++;
	}
	tagged(name, sizeof(name), c->word, pl);
	net_nl_begin(ld->nl);
	h = net_nft_msg(ld, NFT_MSG_GETRULE, NFPROTO_INET, NLM_F_DUMP);
	mnl_attr_put_strz(h, NFTA_RULE_TABLE, ld->conf->instance);
	mnl_attr_put_strz(h, NFTA_RULE_CHAIN, name);
	net_nl_end(ld->nl, h);
	err = net_nl_query(ld->nl, readback_rule, &rb);
	if (err == 0)
		*same = !rb.differs && rb.at == rb.n;
out:
	for (i = 0; i < rb.n; i++)
		nftnl_rule_free(rb.rule[i]);
	free(rb.rule);
	return (err);
}

static int
ignore_cb(const struct nlmsghdr *h, void *arg)
{

	(void)h;
	(void)arg;
	return (MNL_CB_STOP);
}

/* Ask for one element; 0 when it is there, ENOENT when not. */
static int
get_elem(struct net_loader *ld, const struct nft_elem *el)
{

	net_nl_begin(ld->nl);
	net_nft_put_elem(ld, NFT_MSG_GETSETELEM, 0, el, 0);
	return (net_nl_query(ld->nl, ignore_cb, NULL));
}

struct boundback {
	const struct net_set *set;
	struct nft_bound *b;
	size_t		 n, seen;
	bool		 differs;
};

static int
bound_each(struct nftnl_set_elem *x, void *arg)
{
	struct boundback *bb = arg;
	uint32_t len, flags = 0;
	const void *key = nftnl_set_elem_get(x, NFTNL_SET_ELEM_KEY, &len);
	size_t i;

	if (nftnl_set_elem_is_set(x, NFTNL_SET_ELEM_FLAGS))
		flags = nftnl_set_elem_get_u32(x, NFTNL_SET_ELEM_FLAGS);
	for (i = 0; i < bb->n; i++)
		if (key != NULL && memcmp(bb->b[i].key, key, len) == 0 &&
		    bb->b[i].end == !!(flags & NFT_SET_ELEM_INTERVAL_END))
			break;
	if (i == bb->n)
		bb->differs = true;
	bb->seen++;
	return (0);
}

static int
bound_cb(const struct nlmsghdr *h, void *arg)
{
	struct boundback *bb = arg;
	struct nftnl_set *s;

	if ((s = nftnl_set_alloc()) == NULL) {
		bb->differs = true;
		return (MNL_CB_OK);
	}
	if (nftnl_set_elems_nlmsg_parse(h, s) != 0)
		bb->differs = true;
	else
		nftnl_set_elem_foreach(s, bound_each, bb);
	nftnl_set_free(s);
	return (MNL_CB_OK);
}

static int
verify_set(struct net_loader *ld, const struct net_set *s, bool *same)
{
	struct boundback bb = { .set = s };
	struct nlmsghdr *h;
	int err;

	if (!s->learnt && (bb.b = net_nft_bounds(s, &bb.n)) == NULL)
		return (ENOMEM);
	net_nl_begin(ld->nl);
	h = net_nft_msg(ld, NFT_MSG_GETSETELEM, NFPROTO_INET, NLM_F_DUMP);
	mnl_attr_put_strz(h, NFTA_SET_ELEM_LIST_TABLE, ld->conf->instance);
	mnl_attr_put_strz(h, NFTA_SET_ELEM_LIST_SET, s->name);
	net_nl_end(ld->nl, h);
	err = net_nl_query(ld->nl, bound_cb, &bb);
	if (err == 0)
		*same = s->learnt || (!bb.differs && bb.seen == bb.n);
	free(bb.b);
	return (err);
}

int
net_rules_verify(struct net_loader *ld, const struct net_plan *pl,
    struct co_error *e)
{
	struct nft_elem el[NFT_MAXELEMS];
	struct chain c[MAXCHAINS];
	bool same = true;
	size_t i, n;
	int err = 0;

	n = plan_chains(pl, c);
	for (i = 0; i < n && same && err == 0; i++)
		err = verify_chain(ld, pl, &c[i], &same);
	for (i = 0; i < pl->nset && same && err == 0; i++)
		err = verify_set(ld, &pl->set[i], &same);
	n = net_nft_elems(pl, el);
	for (i = 0; i < n && same && err == 0; i++)
		err = get_elem(ld, &el[i]);
	if (err == ENOENT)
		return (0);
	if (err != 0)
		return (net_nft_error(ld, err, pl->lease.id,
		    "can't read back the rules of sandbox", e));
	return (same ? 1 : 0);
}

/*
 * Learnt addresses.
 */
static void
learnt_elem(struct nft_elem *el, const struct net_plan *pl,
    const struct net_flow *f, const struct net_addr *a, char *name,
    size_t size)
{

	memset(el, 0, sizeof(*el));
	el->family = NFPROTO_INET;
	net_learnt_name(name, size, pl->tag, a->family, f);
	el->keylen = (uint32_t)net_addr_len(a);
	memcpy(el->key, a->b, el->keylen);
}

static int
learn_once(struct net_loader *ld, const struct nft_elem *el, uint64_t ms,
    bool renew)
{

	net_nft_begin(ld);
	if (renew)
		net_nft_put_elem(ld, NFT_MSG_DELSETELEM, 0, el, 0);
	net_nft_put_elem(ld, NFT_MSG_NEWSETELEM, NLM_F_CREATE | NLM_F_EXCL,
	    el, ms);
	return (net_nft_commit(ld));
}

/*
 * An element keeps its first timeout when it is added again, so it is
 * replaced; it may expire between two attempts.
 */
int
net_rules_learn(struct net_loader *ld, const struct net_plan *pl,
    const struct net_flow *f, const struct net_addr *a, uint64_t ms,
    struct co_error *e)
{
	struct nft_elem el;
	char name[NET_SETNAME];
	int err, turn;

	learnt_elem(&el, pl, f, a, name, sizeof(name));
	if (strlen(name) >= sizeof(el.set))
		return (co_error_set(e, CO_ENET_RULES, name, "name too long"));
	strcpy(el.set, name);
	err = EEXIST;
	for (turn = 0; turn < 3 && (err == EEXIST || err == ENOENT); turn++)
		err = learn_once(ld, &el, ms, turn % 2 == 1);
	if (err != 0)
		return (net_nft_error(ld, err, pl->lease.id,
		    "can't admit a resolved address for sandbox", e));
	return (0);
}

bool
net_rules_learnt(struct net_loader *ld, const struct net_plan *pl,
    const struct net_flow *f, const struct net_addr *a)
{
	struct nft_elem el;
	char name[NET_SETNAME];

	learnt_elem(&el, pl, f, a, name, sizeof(name));
	if (strlen(name) >= sizeof(el.set))
		return (false);
	strcpy(el.set, name);
	return (get_elem(ld, &el) == 0);
}

/* The kernel does it by itself. */
void
net_rules_expire(struct net_loader *ld)
{

	(void)ld;
}

static int
counter_cb(const struct nlmsghdr *h, void *arg)
{
	struct net_counters *c = arg;
	struct nftnl_obj *o;

	if ((o = nftnl_obj_alloc()) == NULL)
		return (MNL_CB_ERROR);
	if (nftnl_obj_nlmsg_parse(h, o) == 0) {
		c->blocked_packets = nftnl_obj_get_u64(o, NFTNL_OBJ_CTR_PKTS);
		c->blocked_bytes = nftnl_obj_get_u64(o, NFTNL_OBJ_CTR_BYTES);
	}
	nftnl_obj_free(o);
	return (MNL_CB_STOP);
}

int
net_rules_blocked(struct net_loader *ld, const struct net_plan *pl,
    struct net_counters *c, struct co_error *e)
{
	char name[32];
	int err;

	tagged(name, sizeof(name), "blocked", pl);
	net_nl_begin(ld->nl);
	net_nft_put_counter(ld, NFT_MSG_GETOBJ, name);
	if ((err = net_nl_query(ld->nl, counter_cb, c)) != 0)
		return (net_nft_error(ld, err, pl->lease.id,
		    "can't read the counters of sandbox", e));
	return (0);
}
