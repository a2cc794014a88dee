/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * From a policy and a lease to the plan that renderers and loaders share:
 * sets of prefixes and an ordered list of matches of which the first
 * decides.  The order here is the meaning of a policy; net_policy_permits()
 * says the same in other words, and tests hold the two together.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net_internal.h"

static const struct net_flow anyflow = { 0, 0, UINT16_MAX };

void
net_tag(const char *id, char tag[CO_SHORTID + 1])
{

	memcpy(tag, id, CO_SHORTID);
	tag[CO_SHORTID] = '\0';
}

/*
 * The sets that the resolver fills are named by what they permit, so that a
 * change of policy keeps what it still permits.
 */
void
net_learnt_name(char *buf, size_t size, const char *tag, uint8_t family,
    const struct net_flow *f)
{

	snprintf(buf, size, "learnt%u-%s-%u-%u-%u", family, tag, f->proto,
	    f->lo, f->hi);
}

/*
 * Copy the ${i}th distinct flow of the allowed names to ${f} (NULL: just
 * count); return how many there are.
 */
unsigned
net_plan_learnt(const struct net_policy *p, unsigned i, struct net_flow *f)
{
	const struct net_name *n = p->name[NET_ALLOW];
	unsigned count = 0;
	size_t k;

	for (k = 0; k < p->nname[NET_ALLOW]; k++) {
		if (k > 0 && net_flow_equal(&n[k].flow, &n[k - 1].flow))
			continue;
		if (f != NULL && count == i)
			*f = n[k].flow;
		count++;
	}
	return (count);
}

static int
plan_rule(struct net_rules *r, enum net_match m, size_t set, uint8_t family,
    const struct net_flow *f, bool pass)
{
	struct net_rule *a;

	if ((a = realloc(r->rule, (r->n + 1) * sizeof(*a))) == NULL)
		return (-1);
	r->rule = a;
	a += r->n++;
	memset(a, 0, sizeof(*a));
	a->match = m;
	a->set = set;
	a->family = family;
	a->flow = *f;
	a->pass = pass;
	return (0);
}

static struct net_set *
plan_set(struct net_plan *pl, const char *word, uint8_t family)
{
	struct net_set *s;

	if ((s = realloc(pl->set, (pl->nset + 1) * sizeof(*s))) == NULL)
		return (NULL);
	pl->set = s;
	s += pl->nset;
	memset(s, 0, sizeof(*s));
	s->family = family;
	snprintf(s->name, sizeof(s->name), "%s%u-%s-%zu", word, family,
	    pl->tag, pl->nset);
	pl->nset++;
	return (s);
}

/* Leave out a prefix that the last one contains; they come sorted. */
static int
set_add(struct net_set *s, const struct net_dest *d)
{
	struct net_prefix *p = s->prefix;

	if (s->nprefix > 0) {
		p += s->nprefix - 1;
		if (p->plen <= d->plen &&
		    net_prefix_has(&p->addr, p->plen, &d->addr))
			return (0);
	}
	if ((p = realloc(s->prefix, (s->nprefix + 1) * sizeof(*p))) == NULL)
		return (-1);
	s->prefix = p;
	p += s->nprefix++;
	p->addr = d->addr;
	p->plen = d->plen;
	return (0);
}

enum part { PART_ALL, PART_SPECIAL, PART_PUBLIC, PART_SINGLE };

static bool
part_has(enum part part, const struct net_dest *d)
{

	switch (part) {
	case PART_SPECIAL:
		return (net_special(&d->addr, d->plen));
	case PART_PUBLIC:
		return (!net_special(&d->addr, d->plen));
	case PART_SINGLE:
		return (d->plen == net_addr_bits(&d->addr));
	default:
		return (true);
	}
}

/*
 * One rule for every family and flow among those entries of a list that are
 * in ${part}: with a set, unless it would be so small that looking it up
 * (and keeping it) costs more than a rule for each of its prefixes.
 */
#define	SMALL	3

static int
plan_group(struct net_plan *pl, struct net_rules *r, const char *word,
    const struct net_flow *f, const struct net_set *g, bool pass)
{
	struct net_set *s;
	size_t i;

	if (g->nprefix > SMALL) {
		if ((s = plan_set(pl, word, g->family)) == NULL)
			return (-1);
		s->prefix = calloc(g->nprefix, sizeof(*s->prefix));
		if (s->prefix == NULL)
			return (-1);
		memcpy(s->prefix, g->prefix, g->nprefix * sizeof(*s->prefix));
		s->nprefix = g->nprefix;
		return (plan_rule(r, NET_M_SET, pl->nset - 1, g->family, f,
		    pass));
	}
	for (i = 0; i < g->nprefix; i++) {
		if (plan_rule(r, NET_M_PREFIX, 0, g->family, f, pass) != 0)
			return (-1);
		r->rule[r->n - 1].prefix = g->prefix[i];
	}
	return (0);
}

static bool
same_group(const struct net_dest *a, const struct net_dest *b)
{

	return (a->addr.family == b->addr.family &&
	    net_flow_equal(&a->flow, &b->flow));
}

static int
plan_list(struct net_plan *pl, struct net_rules *r, const char *word,
    const struct net_policy *p, enum net_list l, enum part part)
{
	const struct net_dest *d = p->dest[l], *end, *first;
	struct net_set g;
	int err = 0;

	if (p->ndest[l] == 0)
		return (0);
	end = d + p->ndest[l];
	while (d < end && err == 0) {
		memset(&g, 0, sizeof(g));
		g.family = d->addr.family;
		for (first = d; d < end && same_group(first, d) && err == 0;
		    d++)
			if (part_has(part, d) && (g.family == 4 ||
			    pl->lease.addr6.family != 0))
				err = set_add(&g, d);
		if (err == 0)
			err = plan_group(pl, r, word, &first->flow, &g,
			    l == NET_ALLOW);
		free(g.prefix);
	}
	return (err);
}

static int
plan_names(struct net_plan *pl, const struct net_policy *p)
{
	unsigned i, n = net_plan_learnt(p, 0, NULL);
	struct net_flow f, ff;
	struct net_set *s;
	uint8_t family;

	for (i = 0; i < n; i++) {
		net_plan_learnt(p, i, &f);
		for (family = 4; family <= 6; family += 2) {
			if (family == 6 && pl->lease.addr6.family == 0)
				continue;
			if ((s = plan_set(pl, "learnt", family)) == NULL)
				return (-1);
			s->learnt = true;
			net_learnt_name(s->name, sizeof(s->name), pl->tag,
			    family, &f);
			ff = f;
			if (family == 6 && ff.proto == 1)
				ff.proto = 58;
			if (plan_rule(&pl->through, NET_M_LEARNT,
			    pl->nset - 1, family, &ff, true) != 0)
				return (-1);
		}
	}
	return (0);
}

static int
plan_through(struct net_plan *pl, const struct net_policy *p)
{
	struct net_rules *r = &pl->through;

	if (plan_list(pl, r, "deny", p, NET_DENY, PART_ALL) != 0 ||
	    plan_list(pl, r, "local", p, NET_ALLOW, PART_SPECIAL) != 0 ||
	    plan_rule(r, NET_M_SPECIAL, 0, 4, &anyflow, false) != 0)
		return (-1);
	if (pl->lease.addr6.family != 0 &&
	    plan_rule(r, NET_M_SPECIAL, 0, 6, &anyflow, false) != 0)
		return (-1);
	if (p->mode == NET_OPEN)
		return (plan_rule(r, NET_M_ANY, 0, 0, &anyflow, true));
	if (plan_list(pl, r, "allow", p, NET_ALLOW, PART_PUBLIC) != 0)
		return (-1);
	return (plan_names(pl, p));
}

/*
 * Only entries that name one address open one of the host's own.  Denied is
 * what is denied elsewhere, by the same sets.
 */
static int
plan_host(struct net_plan *pl, const struct net_policy *p)
{
	const struct net_rule *d;
	size_t i;

	for (i = 0; i < p->ndest[NET_ALLOW]; i++)
		if (part_has(PART_SINGLE, &p->dest[NET_ALLOW][i]))
			break;
	if (i == p->ndest[NET_ALLOW])
		return (0);
	for (i = 0; i < pl->through.n && !pl->through.rule[i].pass; i++) {
		d = &pl->through.rule[i];
		if (d->match != NET_M_SET && d->match != NET_M_PREFIX)
			break;
		if (plan_rule(&pl->host, d->match, d->set, d->family,
		    &d->flow, false) != 0)
			return (-1);
		pl->host.rule[pl->host.n - 1].prefix = d->prefix;
	}
	return (plan_list(pl, &pl->host, "host", p, NET_ALLOW, PART_SINGLE));
}

struct net_plan *
net_plan_new(const struct net_lease *l, const struct net_policy *p)
{
	struct net_plan *pl;

	if ((pl = calloc(1, sizeof(*pl))) == NULL)
		return (NULL);
	pl->lease = *l;
	pl->mode = p->mode;
	pl->live = p->mode != NET_DISABLED;
	pl->forwards = p->forwards && pl->live;
	pl->up = p->up / 8;
	pl->down = p->down / 8;
	net_tag(l->id, pl->tag);
	if (p->mode == NET_OPEN || p->mode == NET_ALLOWLIST) {
		if (plan_through(pl, p) != 0 || plan_host(pl, p) != 0)
			goto err0;
	}
	if (p->mode != NET_OPEN &&
	    plan_rule(&pl->through, NET_M_ANY, 0, 0, &anyflow, false) != 0)
		goto err0;
	if (pl->host.n > 0 &&
	    plan_rule(&pl->host, NET_M_ANY, 0, 0, &anyflow, false) != 0)
		goto err0;
	return (pl);
err0:
	net_plan_free(pl);
	return (NULL);
}

void
net_plan_free(struct net_plan *pl)
{
	size_t i;

	if (pl == NULL)
		return;
	for (i = 0; i < pl->nset; i++)
		free(pl->set[i].prefix);
	free(pl->set);
	free(pl->through.rule);
	free(pl->host.rule);
	free(pl);
}
