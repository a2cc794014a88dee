/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Rules of sandboxes in pf: one anchor each, replaced as a whole by one
 * transaction of pfctl(8) and read back.  No call touches the anchor of
 * anybody else.
 */

#include <sys/types.h>
#include <sys/sysctl.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pf_freebsd.h"

struct net_loader {
	const struct net_conf *conf;
	int		 dev;
	struct net_learnt *learnt;
};

int
net_rules_open(const struct net_conf *c, struct net_loader **out,
    struct co_error *e)
{
	struct net_loader *ld;

	if ((ld = calloc(1, sizeof(*ld))) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "rules"));
	ld->conf = c;
	if ((ld->dev = net_pf_open(e)) < 0)
		goto err0;
	if (net_learnt_new(&ld->learnt, e) != 0)
		goto err1;
	*out = ld;
	return (0);
err1:
	close(ld->dev);
err0:
	free(ld);
	return (-1);
}

void
net_rules_close(struct net_loader *ld)
{

	if (ld == NULL)
		return;
	net_learnt_free(ld->learnt);
	close(ld->dev);
	free(ld);
}

static void
sandbox_anchor(const struct net_loader *ld, const struct net_plan *pl,
    char anchor[NET_PF_ANCHOR])
{

	net_pf_anchor(ld->conf, "sandbox-", pl->tag, anchor);
}

/*
 * Rates are pipes of dummynet(4), which pf only names.
 */
static int
pipe_run(const char *const *argv, struct co_error *e)
{
	struct co_run r = { .argv = argv, .deadline = co_after(30000) };
	struct co_result res;
	int status;

	if (co_run(&r, &res, e) != 0)
		return (-1);
	status = res.status;
	if (status != 0)
		co_error_set(e, CO_ENET_RULES, "dnctl", "can't limit the "
		    "bandwidth: %.300s; load dummynet by \"kldload "
		    "dummynet\"", res.out);
	free(res.out);
	return (status == 0 ? 0 : -1);
}

static int
pipe_set(const struct net_plan *pl, bool up, struct co_error *e)
{
	char num[16], rate[40];
	const char *argv[] = { "dnctl", "pipe", num, "config", "bw", rate,
	    NULL };

	snprintf(num, sizeof(num), "%u", net_pf_pipe(&pl->lease, up));
	snprintf(rate, sizeof(rate), "%" PRIu64 "bit/s",
	    (up ? pl->up : pl->down) * 8);
	return (pipe_run(argv, e));
}

static bool
limited(const struct net_plan *pl)
{

	return (pl != NULL && pl->live && (pl->up != 0 || pl->down != 0));
}

/*
 * Flows that began under a limit go on through its pipes, and would end with
 * them; so pipes stay as long as their sandbox, without a limit (a rate of
 * zero) when there is none any more.
 */
static int
pipes_set(const struct net_plan *pl, const struct net_plan *old,
    struct co_error *e)
{

	if (!limited(pl) && !limited(old))
		return (0);
	return (pipe_set(pl, true, e) != 0 || pipe_set(pl, false, e) != 0 ?
	    -1 : 0);
}

/* Whether there is any pipe at all, of this or of an earlier policy. */
static bool
pipes_exist(void)
{
	int n;
	size_t len = sizeof(n);

	return (sysctlbyname("net.inet.ip.dummynet.schk_count", &n, &len,
	    NULL, 0) == 0 && n > 0);
}

static void
pipes_drop(const struct net_plan *pl)
{
	char num[16];
	const char *argv[] = { "dnctl", "pipe", "delete", num, NULL };
	int up;

	if (!pipes_exist())
		return;
	for (up = 0; up < 2; up++) {
		snprintf(num, sizeof(num), "%u",
		    net_pf_pipe(&pl->lease, up == 1));
		(void)pipe_run(argv, NULL);
	}
}

/*
 * Load.
 */
static int
load_text(struct net_loader *ld, const struct net_plan *pl,
    const struct net_plan *old, struct co_error *e)
{
	char anchor[NET_PF_ANCHOR], *text;
	int r;

	sandbox_anchor(ld, pl, anchor);
	if (pipes_set(pl, old, e) != 0)
		return (-1);
	if ((text = net_render_pf_plan(ld->conf, pl)) == NULL)
		return (co_error_errno(e, ENOMEM, pl->lease.id, "rules"));
	r = net_pf_load(anchor, text, e);
	free(text);
	return (r);
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

/* Tables that outlive their rules, and are not wanted by the new plan. */
static void
drop_learnt(struct net_loader *ld, const struct net_plan *old,
    const struct net_plan *new)
{
	char anchor[NET_PF_ANCHOR], table[NET_SETNAME];
	const char *const args[] = { "-t", table, "-T", "kill", NULL };
	size_t i;

	sandbox_anchor(ld, old, anchor);
	for (i = 0; i < old->nset; i++) {
		if (!old->set[i].learnt || has_set(new, old->set[i].name))
			continue;
		net_pf_table(old, &old->set[i], table, sizeof(table));
		net_learnt_drop(ld->learnt, anchor, table);
		(void)net_pf_run(anchor, args, NULL, NULL, NULL);
	}
}

int
net_rules_load(struct net_loader *ld, const struct net_plan *new,
    const struct net_plan *old, struct co_error *e)
{
	int r;

	net_point("rules-begin");
	if (load_text(ld, new, old, e) != 0)
		return (-1);
	net_point("rules-loaded");
	if ((r = net_rules_verify(ld, new, e)) == 1) {
		if (old != NULL)
			drop_learnt(ld, old, new);
		return (0);
	}
	if (r == 0)
		co_error_set(e, CO_ENET_VERIFY, new->lease.id,
		    "the rules of sandbox %s read back from pf differ from "
		    "those loaded; see \"pfctl -a %s/sandbox-%s -s rules\"",
		    new->lease.id, ld->conf->anchor, new->tag);
	if (old == NULL)
		(void)net_rules_unload(ld, new, NULL);
	else
		(void)load_text(ld, old, new, NULL);
	return (-1);
}

int
net_rules_unload(struct net_loader *ld, const struct net_plan *pl,
    struct co_error *e)
{
	char anchor[NET_PF_ANCHOR];

	sandbox_anchor(ld, pl, anchor);
	net_learnt_drop(ld->learnt, anchor, NULL);
	if (net_pf_flush(anchor, e) != 0)
		return (-1);
	pipes_drop(pl);
	return (0);
}

/*
 * Verify: rules in pf's words, constant tables by their entries.
 */
static bool
has_prefix(const struct net_prefix *list, size_t n,
    const struct net_prefix *p)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (list[i].plen == p->plen &&
		    net_addr_cmp(&list[i].addr, &p->addr) == 0)
			return (true);
	return (false);
}

static bool
table_same(struct net_loader *ld, const char *anchor, const char *table,
    const struct net_prefix *want, size_t n)
{
	struct net_prefix *have;
	size_t i, nhave;
	bool same;

	if (net_pf_table_get(ld->dev, anchor, table, &have, &nhave) != 0)
		return (false);
	same = nhave == n;
	for (i = 0; i < n && same; i++)
		same = has_prefix(have, nhave, &want[i]);
	free(have);
	return (same);
}

static bool
own_same(struct net_loader *ld, const struct net_plan *pl,
    const char *anchor)
{
	struct net_prefix own[3];
	size_t n = 1;

	memset(own, 0, sizeof(own));
	own[0].addr = pl->lease.addr;
	own[0].plen = 32;
	if (pl->lease.addr6.family != 0) {
		own[1].addr = pl->lease.addr6;
		net_linklocal_of(pl->lease.mac, &own[2].addr);
		own[1].plen = own[2].plen = 128;
		n = 3;
	}
	return (table_same(ld, anchor, "own", own, n));
}

/* A set that no rule names (denied of the host) is not in the anchor. */
static bool
set_used(const struct net_plan *pl, size_t set)
{
	size_t i;

	for (i = 0; i < pl->through.n; i++)
		if ((pl->through.rule[i].match == NET_M_SET ||
		    pl->through.rule[i].match == NET_M_LEARNT) &&
		    pl->through.rule[i].set == set)
			return (true);
	for (i = 0; i < pl->host.n; i++)
		if (pl->host.rule[i].match == NET_M_SET &&
		    pl->host.rule[i].pass && pl->host.rule[i].set == set)
			return (true);
	return (false);
}

static bool
tables_same(struct net_loader *ld, const struct net_plan *pl,
    const char *anchor)
{
	const struct net_set *s;
	char table[NET_SETNAME];
	size_t i;

	if (!own_same(ld, pl, anchor))
		return (false);
	for (i = 0; i < pl->nset && pl->live; i++) {
		s = &pl->set[i];
		if (!set_used(pl, i))
			continue;
		net_pf_table(pl, s, table, sizeof(table));
		if (s->learnt) {
			/* Of a daemon before us, perhaps. */
			if (net_learnt_adopt(ld->learnt, anchor, table,
			    (uint64_t)ld->conf->dns_floor_ms) != 0)
				return (false);
		} else if (!table_same(ld, anchor, table, s->prefix,
		    s->nprefix))
			return (false);
	}
	return (true);
}

/* One that no rule of ours refers to is not looked at by pf either. */
static bool
special_same(struct net_loader *ld, const struct net_plan *pl,
    const char *anchor)
{
	const struct net_prefix *p;
	size_t i, n;

	for (i = 0; i < pl->through.n && pl->live; i++)
		if (pl->through.rule[i].match == NET_M_SPECIAL)
			break;
	if (!pl->live || i == pl->through.n)
		return (true);
	p = net_special_list(&n);
	return (table_same(ld, anchor, "special", p, n));
}

int
net_rules_verify(struct net_loader *ld, const struct net_plan *pl,
    struct co_error *e)
{
	char anchor[NET_PF_ANCHOR], *text;
	int r;

	sandbox_anchor(ld, pl, anchor);
	if (!tables_same(ld, pl, anchor) || !special_same(ld, pl, anchor))
		return (0);
	if ((text = net_render_pf_plan(ld->conf, pl)) == NULL)
		return (co_error_errno(e, ENOMEM, pl->lease.id, "rules"));
	r = net_pf_same(anchor, text, e);
	free(text);
	return (r);
}

/*
 * Learnt addresses.
 */
static void
learnt_table(const struct net_plan *pl, const struct net_flow *f,
    const struct net_addr *a, char *buf, size_t size)
{
	struct net_set s;

	memset(&s, 0, sizeof(s));
	net_learnt_name(s.name, sizeof(s.name), pl->tag, a->family, f);
	net_pf_table(pl, &s, buf, size);
}

int
net_rules_learn(struct net_loader *ld, const struct net_plan *pl,
    const struct net_flow *f, const struct net_addr *a, uint64_t ms,
    struct co_error *e)
{
	char anchor[NET_PF_ANCHOR], table[NET_SETNAME], s[NET_ADDRSTR];
	int err;

	sandbox_anchor(ld, pl, anchor);
	learnt_table(pl, f, a, table, sizeof(table));
	if ((err = net_learnt_add(ld->learnt, anchor, table, a, ms)) != 0)
		return (co_error_errno(e, err, pl->lease.id,
		    "can't enter %s into the rules of sandbox %s",
		    net_addr_print(a, s), pl->lease.id));
	return (0);
}

/* A thread does it, whether or not the resolver runs. */
void
net_rules_expire(struct net_loader *ld)
{

	(void)ld;
}

bool
net_rules_learnt(struct net_loader *ld, const struct net_plan *pl,
    const struct net_flow *f, const struct net_addr *a)
{
	char anchor[NET_PF_ANCHOR], table[NET_SETNAME];
	struct net_prefix *list, one;
	size_t n;
	bool has;

	memset(&one, 0, sizeof(one));
	one.addr = *a;
	one.plen = (uint8_t)net_addr_bits(a);
	sandbox_anchor(ld, pl, anchor);
	learnt_table(pl, f, a, table, sizeof(table));
	if (net_pf_table_get(ld->dev, anchor, table, &list, &n) != 0)
		return (false);
	has = has_prefix(list, n, &one);
	free(list);
	return (has);
}

/*
 * What the blocking rules have counted; "-v" puts it below each rule:
 *	block drop ...
 *	  [ Evaluations: 9  Packets: 2  Bytes: 168  States: 0 ]
 */
int
net_rules_blocked(struct net_loader *ld, const struct net_plan *pl,
    struct net_counters *c, struct co_error *e)
{
	static const char *const args[] = { "-v", "-s", "rules", NULL };
	char anchor[NET_PF_ANCHOR], *line, *save = NULL, *text;
	uint64_t packets, bytes;
	bool block = false;

	sandbox_anchor(ld, pl, anchor);
	if (net_pf_run(anchor, args, NULL, &text, e) != 0)
		return (-1);
	for (line = strtok_r(text, "\n", &save); line != NULL;
	    line = strtok_r(NULL, "\n", &save)) {
		if (line[0] != ' ')
			block = strncmp(line, "block", 5) == 0;
		else if (block && sscanf(line, " [ Evaluations: %*u Packets: "
		    "%" SCNu64 " Bytes: %" SCNu64, &packets, &bytes) == 2) {
			c->blocked_packets += packets;
			c->blocked_bytes += bytes;
		}
	}
	free(text);
	return (0);
}

/*
 * Sweep.
 */
struct sweep {
	struct net_loader *ld;
	const struct net_plan *const *keep;
	size_t		 nkeep;
	unsigned	*removed;
	struct co_error	*e;
};

static int
sweep_one(void *arg, const char *name)
{
	struct sweep *s = arg;
	char anchor[NET_PF_ANCHOR], *text;
	const char *tag;
	size_t i;
	bool empty;

	if (strncmp(name, "sandbox-", 8) != 0)
		return (0);
	tag = name + 8;
	for (i = 0; i < s->nkeep; i++)
		if (strcmp(s->keep[i]->tag, tag) == 0)
			return (0);
	net_pf_anchor(s->ld->conf, "sandbox-", tag, anchor);
	/* pf takes its time with emptied ones; those don't count. */
	if (net_pf_rules(anchor, &text, NULL) != 0)
		return (0);
	empty = text[0] == '\0';
	free(text);
	if (empty)
		return (0);
	net_learnt_drop(s->ld->learnt, anchor, NULL);
	if (net_pf_flush(anchor, s->e) != 0)
		return (-1);
	++*s->removed;
	return (0);
}

int
net_rules_sweep(struct net_loader *ld, const struct net_plan *const *keep,
    size_t nkeep, unsigned *removed, struct co_error *e)
{
	struct sweep s = { ld, keep, nkeep, removed, e };

	return (net_pf_anchors(ld->dev, ld->conf->anchor, sweep_one, &s, e));
}

static int
anchor_same(const struct net_conf *c, const char *word, char *text,
    struct co_error *e)
{
	char anchor[NET_PF_ANCHOR];
	int r;

	if (text == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "rules"));
	net_pf_anchor(c, word, "", anchor);
	r = net_pf_same(anchor, text, e);
	free(text);
	return (r);
}

int
net_rules_nat_ok(struct net_loader *ld, const char *uplink,
    struct co_error *e)
{

	return (anchor_same(ld->conf, NET_PF_BASE,
	    net_render_pf_base(ld->conf, uplink), e));
}

int
net_rules_base_ok(struct net_loader *ld, struct co_error *e)
{
	const struct net_conf *c = ld->conf;
	char uplink[NET_IFNAME];
	bool nat, filter;
	int r;

	if ((r = net_pf_enabled(e)) != 1)
		return (r);
	if (net_pf_main_hooked(c, &nat, &filter, e) != 0)
		return (-1);
	if (!nat || !filter || net_pf_uplink(c, uplink, NULL) != 0)
		return (0);
	if ((r = net_rules_nat_ok(ld, uplink, e)) != 1)
		return (r);
	return (anchor_same(c, NET_PF_LAST, net_render_pf_last(c), e));
}
