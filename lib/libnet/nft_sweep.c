/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * After a restart: remove from our tables whatever belongs to no sandbox of
 * the list, in one transaction.  This is the only place that looks at all
 * sandboxes at once.
 */

#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libnftnl/chain.h>
#include <libnftnl/object.h>

#include "nft_linux.h"

struct names {
	char		(*name)[NET_SETNAME];
	size_t		 n;
};

struct sweep {
	struct net_loader *ld;
	const struct net_plan *const *keep;
	size_t		 nkeep;
	struct nft_elem	*good;		/* sorted elements of kept plans */
	size_t		 ngood;
	char		(*tag)[CO_SHORTID + 1];	/* sorted tags of kept plans */
	struct nft_elem	*bad;
	size_t		 nbad;
	struct names	 chain, set, counter;
	const char	*dumping;	/* set whose elements are listed */
	uint8_t		 family;
	bool		 nomem;
};

static const char *const shared[] = {
	"sandbox4", "sandbox6", "host4", "host6", "up4", "up6", "down4",
	"down6", "live4", "live6", "inbound4", "inbound6",
};

static int
elem_cmp(const void *va, const void *vb)
{
	const struct nft_elem *a = va, *b = vb;
	int c;

	if ((c = strcmp(a->set, b->set)) != 0)
		return (c);
	return (memcmp(a->key, b->key, NFT_KEYMAX));
}

static int
tag_cmp(const void *a, const void *b)
{

	return (strcmp(a, b));
}

/* The tag in a name such as deny4-0123456789ab-0; false if it has none. */
static bool
name_tag(const char *name, char tag[CO_SHORTID + 1])
{
	const char *p = strchr(name, '-');

	if (p == NULL || strspn(p + 1, "0123456789abcdef") < CO_SHORTID ||
	    (p[1 + CO_SHORTID] != '\0' && p[1 + CO_SHORTID] != '-'))
		return (false);
	memcpy(tag, p + 1, CO_SHORTID);
	tag[CO_SHORTID] = '\0';
	return (true);
}

/* Remember ${name} unless it belongs to a kept sandbox or to the base. */
static void
names_add(struct sweep *s, struct names *list, const char *name)
{
	char tag[CO_SHORTID + 1];
	void *a;

	if (name == NULL || strlen(name) >= NET_SETNAME ||
	    !name_tag(name, tag) || (s->nkeep > 0 && bsearch(tag, s->tag,
	    s->nkeep, sizeof(s->tag[0]), tag_cmp) != NULL))
		return;
	a = realloc(list->name, (list->n + 1) * sizeof(list->name[0]));
	if (a == NULL) {
		s->nomem = true;
		return;
	}
	list->name = a;
	strcpy(list->name[list->n++], name);
}

static int
chain_cb(const struct nlmsghdr *h, void *arg)
{
	struct sweep *s = arg;
	struct nftnl_chain *c;

	if ((c = nftnl_chain_alloc()) == NULL)
		return (MNL_CB_ERROR);
	if (nftnl_chain_nlmsg_parse(h, c) == 0 &&
	    strcmp(nftnl_chain_get_str(c, NFTNL_CHAIN_TABLE),
	    s->ld->conf->instance) == 0)
		names_add(s, &s->chain,
		    nftnl_chain_get_str(c, NFTNL_CHAIN_NAME));
	nftnl_chain_free(c);
	return (MNL_CB_OK);
}

static int
set_cb(const struct nlmsghdr *h, void *arg)
{
	struct sweep *s = arg;
	struct nftnl_set *x;

	if ((x = nftnl_set_alloc()) == NULL)
		return (MNL_CB_ERROR);
	if (nftnl_set_nlmsg_parse(h, x) == 0 &&
	    strcmp(nftnl_set_get_str(x, NFTNL_SET_TABLE),
	    s->ld->conf->instance) == 0)
		names_add(s, &s->set, nftnl_set_get_str(x, NFTNL_SET_NAME));
	nftnl_set_free(x);
	return (MNL_CB_OK);
}

static int
counter_cb(const struct nlmsghdr *h, void *arg)
{
	struct sweep *s = arg;
	struct nftnl_obj *o;

	if ((o = nftnl_obj_alloc()) == NULL)
		return (MNL_CB_ERROR);
	if (nftnl_obj_nlmsg_parse(h, o) == 0 &&
	    strcmp(nftnl_obj_get_str(o, NFTNL_OBJ_TABLE),
	    s->ld->conf->instance) == 0)
		names_add(s, &s->counter,
		    nftnl_obj_get_str(o, NFTNL_OBJ_NAME));
	nftnl_obj_free(o);
	return (MNL_CB_OK);
}

static int
elem_each(struct nftnl_set_elem *x, void *arg)
{
	struct sweep *s = arg;
	struct nft_elem el, *a;
	const void *key;
	uint32_t len;

	memset(&el, 0, sizeof(el));
	key = nftnl_set_elem_get(x, NFTNL_SET_ELEM_KEY, &len);
	if (key == NULL || len > sizeof(el.key))
		return (0);
	el.family = s->family;
	snprintf(el.set, sizeof(el.set), "%s", s->dumping);
	memcpy(el.key, key, len);
	el.keylen = len;
	if (s->ngood > 0 && bsearch(&el, s->good, s->ngood, sizeof(el),
	    elem_cmp) != NULL)
		return (0);
	if ((a = realloc(s->bad, (s->nbad + 1) * sizeof(*a))) == NULL) {
		s->nomem = true;
		return (0);
	}
	s->bad = a;
	a[s->nbad++] = el;
	return (0);
}

static int
elem_cb(const struct nlmsghdr *h, void *arg)
{
	struct nftnl_set *x;

	if ((x = nftnl_set_alloc()) == NULL)
		return (MNL_CB_ERROR);
	if (nftnl_set_elems_nlmsg_parse(h, x) == 0)
		nftnl_set_elem_foreach(x, elem_each, arg);
	nftnl_set_free(x);
	return (MNL_CB_OK);
}

static int
sweep_elems(struct sweep *s, uint8_t family, const char *set)
{
	struct nlmsghdr *h;

	s->family = family;
	s->dumping = set;
	net_nl_begin(s->ld->nl);
	h = net_nft_msg(s->ld, NFT_MSG_GETSETELEM, family, NLM_F_DUMP);
	mnl_attr_put_strz(h, NFTA_SET_ELEM_LIST_TABLE, s->ld->conf->instance);
	mnl_attr_put_strz(h, NFTA_SET_ELEM_LIST_SET, set);
	net_nl_end(s->ld->nl, h);
	return (net_nl_query(s->ld->nl, elem_cb, s));
}

static int
sweep_names(struct sweep *s, int type, int attr, mnl_cb_t cb)
{
	struct nlmsghdr *h;

	net_nl_begin(s->ld->nl);
	h = net_nft_msg(s->ld, type, NFPROTO_INET, NLM_F_DUMP);
	mnl_attr_put_strz(h, (uint16_t)attr, s->ld->conf->instance);
	net_nl_end(s->ld->nl, h);
	return (net_nl_query(s->ld->nl, cb, s));
}

static int
sweep_look(struct sweep *s)
{
	size_t i;
	int err;

	if ((err = sweep_names(s, NFT_MSG_GETCHAIN, NFTA_CHAIN_TABLE,
	    chain_cb)) != 0 ||
	    (err = sweep_names(s, NFT_MSG_GETSET, NFTA_SET_TABLE,
	    set_cb)) != 0 ||
	    (err = sweep_names(s, NFT_MSG_GETOBJ, NFTA_OBJ_TABLE,
	    counter_cb)) != 0)
		return (err);
	for (i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
		if ((err = sweep_elems(s, NFPROTO_INET, shared[i])) != 0)
			return (err);
	if ((err = sweep_elems(s, NFPROTO_BRIDGE, "pin4")) != 0 ||
	    (err = sweep_elems(s, NFPROTO_BRIDGE, "pin6")) != 0)
		return (err);
	return (s->nomem ? ENOMEM : 0);
}

static int
sweep_good(struct sweep *s)
{
	size_t i;

	if (s->nkeep == 0)
		return (0);
	s->good = calloc(s->nkeep * NFT_MAXELEMS, sizeof(*s->good));
	s->tag = calloc(s->nkeep, sizeof(s->tag[0]));
	if (s->good == NULL || s->tag == NULL)
		return (ENOMEM);
	for (i = 0; i < s->nkeep; i++) {
		s->ngood += net_nft_elems(s->keep[i], s->good + s->ngood);
		strcpy(s->tag[i], s->keep[i]->tag);
	}
	qsort(s->good, s->ngood, sizeof(*s->good), elem_cmp);
	qsort(s->tag, s->nkeep, sizeof(s->tag[0]), tag_cmp);
	return (0);
}

static int
sweep_remove(struct sweep *s)
{
	size_t i;

	net_nft_begin(s->ld);
	for (i = 0; i < s->nbad; i++)
		net_nft_put_elem(s->ld, NFT_MSG_DELSETELEM, 0, &s->bad[i], 0);
	for (i = 0; i < s->chain.n; i++)
		net_nft_flush_chain(s->ld, s->chain.name[i]);
	for (i = 0; i < s->chain.n; i++)
		net_nft_put_chain(s->ld, NFT_MSG_DELCHAIN, s->chain.name[i]);
	for (i = 0; i < s->set.n; i++)
		net_nft_put_set(s->ld, NFT_MSG_DELSET, s->set.name[i]);
	for (i = 0; i < s->counter.n; i++)
		net_nft_put_counter(s->ld, NFT_MSG_DELOBJ,
		    s->counter.name[i]);
	return (net_nft_commit(s->ld));
}

int
net_rules_sweep(struct net_loader *ld, const struct net_plan *const *keep,
    size_t nkeep, unsigned *removed, struct co_error *e)
{
	struct sweep s = { .ld = ld, .keep = keep, .nkeep = nkeep };
	int err;

	if ((err = sweep_good(&s)) == 0)
		err = sweep_look(&s);
	if (err == 0 && s.nbad + s.chain.n + s.set.n + s.counter.n > 0)
		err = sweep_remove(&s);
	if (err == 0)
		*removed = (unsigned)s.counter.n;
	if (err == 0 && s.counter.n == 0 && s.nbad > 0)
		*removed = 1;
	free(s.good);
	free(s.tag);
	free(s.bad);
	free(s.chain.name);
	free(s.set.name);
	free(s.counter.name);
	/* No table, no rules: there is nothing to sweep. */
	if (err == ENOENT && nkeep == 0)
		return (0);
	if (err != 0)
		return (net_nft_error(ld, err, ld->conf->instance,
		    "can't sweep the table", e));
	return (0);
}
