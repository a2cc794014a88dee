/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * After a restart: make the pools and the kernel agree with the records.
 * Every step can be interrupted and repeated; nothing is removed that a
 * record that is alive still wants.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net_internal.h"
#include "sandbox_internal.h"

struct reconcile {
	struct net	*n;
	struct net_report *rep;
	struct net_seen	 seen;
	struct net_sandbox **live;	/* those that are to be kept */
	bool		*good;		/* whose rules are as they should be */
	size_t		 nlive;
};

/* Records that are alive take their addresses, before anybody else can. */
static int
reconcile_records(struct reconcile *rc, const struct net_record *r,
    size_t nr, struct co_error *e)
{
	struct net_lease l;
	struct net *n = rc->n;
	uint32_t host;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (!r[i].alive)
			continue;
		if (!co_id_valid(r[i].lease.id) ||
		    (unsigned)r[i].lease.kind > NET_TAP ||
		    r[i].lease.addr.family != 4 || r[i].policy == NULL)
			return (co_error_set(e, CO_EPROTO_ARGUMENT,
			    r[i].lease.id, "the record of sandbox %.32s has "
			    "no id, address or policy", r[i].lease.id));
		host = net_addr4_get(&r[i].lease.addr);
		if (net_pool_take(n->pool[r[i].lease.kind], host, e) != 0)
			return (-1);
		net_lease_fill(n, &l, r[i].lease.id, r[i].lease.kind, host);
		memcpy(l.device, r[i].lease.device, sizeof(l.device));
		if (l.device[0] == '\0')
			strcpy(l.device, l.ifname);
		rc->live[rc->nlive] = net_sandbox_new(&l, r[i].policy);
		if (rc->live[rc->nlive] == NULL)
			return (co_error_errno(e, ENOMEM, l.id, "reconcile"));
		net_insert(n, rc->live[rc->nlive++]);
	}
	return (0);
}

static struct net_sandbox *
wanted(const struct reconcile *rc, const struct net_found *f)
{
	size_t i;

	for (i = 0; i < rc->nlive; i++)
		if (strncmp(rc->live[i]->lease.id, f->tag, CO_SHORTID) == 0 &&
		    (f->id[0] == '\0' ||
		    strcmp(rc->live[i]->lease.id, f->id) == 0) &&
		    (f->addr.family == 0 ||
		    net_addr_cmp(&rc->live[i]->lease.addr, &f->addr) == 0))
			return (rc->live[i]);
	return (NULL);
}

/* Interfaces of nobody go, with their flows and neighbour entries. */
static int
reconcile_links(struct reconcile *rc, struct co_error *e)
{
	const struct net_found *f;
	struct net_lease l;
	struct net *n = rc->n;
	size_t i;

	if (net_links_scan(n->links, &rc->seen, e) != 0)
		return (-1);
	for (i = 0; i < rc->seen.nfound; i++) {
		f = &rc->seen.found[i];
		if (wanted(rc, f) != NULL)
			continue;
		rc->rep->removed++;
		if (f->addr.family == 0) {
			if (net_links_detach(n->links, f->ifname, NULL, e) !=
			    0)
				return (-1);
			continue;
		}
		net_lease_fill(n, &l, f->id, f->kind,
		    net_addr4_get(&f->addr));
		if (net_links_detach(n->links, f->ifname, &l, e) != 0 ||
		    net_flows_kill(n->flows, &l, NULL, NULL, e) != 0)
			return (-1);
		net_point("reconcile-link");
	}
	return (0);
}

static int
reconcile_rules(struct reconcile *rc, struct co_error *e)
{
	const struct net_plan **keep;
	unsigned removed = 0;
	size_t i, nkeep = 0;
	int r, base;

	if ((base = net_rules_base_ok(rc->n->rules, e)) < 0)
		return (-1);
	if (base == 0)
		return (0);
	if ((keep = calloc(rc->nlive + 1, sizeof(*keep))) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "reconcile"));
	for (i = 0; i < rc->nlive; i++) {
		if ((r = net_rules_verify(rc->n->rules, rc->live[i]->plan,
		    e)) < 0)
			goto err0;
		rc->good[i] = r == 1;
		if (rc->good[i])
			keep[nkeep++] = rc->live[i]->plan;
	}
	if (net_rules_sweep(rc->n->rules, keep, nkeep, &removed, e) != 0)
		goto err0;
	/* Those that will be made anew are not counted. */
	if (removed > rc->nlive - nkeep)
		rc->rep->removed += removed - (unsigned)(rc->nlive - nkeep);
	net_point("reconcile-swept");
	for (i = 0; i < rc->nlive; i++) {
		if (rc->good[i])
			continue;
		if (net_rules_load(rc->n->rules, rc->live[i]->plan, NULL,
		    e) != 0)
			goto err0;
		rc->rep->remade++;
	}
	free(keep);
	return (0);
err0:
	free(keep);
	return (-1);
}

/*
 * A neighbour that is none of our sandboxes: an entry of ours that outlived
 * its sandbox goes, anybody else keeps the address.
 */
static void
reconcile_neighbours(struct reconcile *rc)
{
	static const char nobody[] = "00000000000000000000000000000000";
	const struct net_neighbour *b;
	struct net_usage before, after;
	struct net_lease l;
	struct net *n = rc->n;
	size_t i, k;
	bool gone;

	for (i = 0; i < rc->seen.nneighbour; i++) {
		b = &rc->seen.neighbour[i];
		if (net_find_addr(n, &b->addr) != NULL)
			continue;
		for (k = 0, gone = b->ours; k < rc->seen.nfound && !gone; k++)
			gone = net_addr_cmp(&rc->seen.found[k].addr,
			    &b->addr) == 0;
		if (gone) {
			net_lease_fill(n, &l, nobody, b->kind,
			    net_addr4_get(&b->addr));
			net_links_forget(n->links, &l);
			continue;
		}
		net_usage(n, b->kind, &before);
		net_pool_foreign(n->pool[b->kind], net_addr4_get(&b->addr));
		net_usage(n, b->kind, &after);
		rc->rep->foreign += after.foreign - before.foreign;
	}
}

int
net_reconcile(struct net *n, const struct net_record *r, size_t nr,
    struct net_report *rep, struct co_error *e)
{
	struct reconcile rc = { .n = n, .rep = rep };
	size_t i;
	int k, result = -1;

	memset(rep, 0, sizeof(*rep));
	net_reaper_collect(n->reaper, n->pool, true);
	net_forget_all(n);
	for (k = 0; k < 2; k++)
		net_pool_reset(n->pool[k], co_now());
	rc.live = calloc(nr + 1, sizeof(struct net_sandbox *));
	rc.good = calloc(nr + 1, sizeof(*rc.good));
	if (rc.live == NULL || rc.good == NULL) {
		co_error_errno(e, ENOMEM, NULL, "reconcile");
		goto out;
	}
	if (reconcile_records(&rc, r, nr, e) != 0 ||
	    reconcile_links(&rc, e) != 0 || reconcile_rules(&rc, e) != 0)
		goto out;
	reconcile_neighbours(&rc);
	for (i = 0; i < rc.nlive; i++) {
		if (net_links_present(n->links, &rc.live[i]->lease))
			rep->kept++;
		else
			rep->lost++;
		net_dns_announce(n, rc.live[i]);
	}
	result = 0;
out:
	net_seen_free(&rc.seen);
	free(rc.live);
	free(rc.good);
	return (result);
}
