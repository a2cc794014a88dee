/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The handle and the life of a sandbox's network: attach, change, count,
 * detach.  Order is everything here: a port without rules is mute, so rules
 * come before the interface and go before it, and the address comes free
 * last of all.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net_internal.h"
#include "sandbox_internal.h"

static int
open_pools(struct net *n, struct co_error *e)
{
	int i;

	for (i = 0; i < 2; i++)
		if (net_range_parse(&n->conf, (enum net_kind)i, &n->range[i],
		    e) != 0 || net_pool_new(&n->range[i],
		    n->conf.subnet[i].reserved, n->conf.quarantine_ms,
		    &n->pool[i], e) != 0)
			return (-1);
	if (net_prefix_has(&n->range[0].net.addr, n->range[0].net.plen,
	    &n->range[1].net.addr) || net_prefix_has(&n->range[1].net.addr,
	    n->range[1].net.plen, &n->range[0].net.addr))
		return (co_error_set(e, CO_ESYS_CONFIG,
		    n->conf.subnet[0].range, "\"%s.range\" and \"%s.range\" "
		    "overlap; choose disjoint ranges in coppice.conf",
		    n->conf.subnet[0].key, n->conf.subnet[1].key));
	return (0);
}

static int
open_names(const struct net_conf *c, struct co_error *e)
{

	if (strlen(c->prefix) == 0 ||
	    strlen(c->prefix) + CO_SHORTID >= NET_IFNAME)
		return (co_error_set(e, CO_ESYS_CONFIG, c->prefix,
		    "the prefix of interface names must have 1 to 3 bytes"));
	if (strlen(c->instance) == 0 || strlen(c->instance) > 40 ||
	    strspn(c->instance, "abcdefghijklmnopqrstuvwxyz0123456789_-") !=
	    strlen(c->instance))
		return (co_error_set(e, CO_ESYS_CONFIG, c->instance,
		    "an instance is named by at most 40 of a-z, 0-9, _ and "
		    "-"));
	return (0);
}

int
net_open(const struct net_conf *c, struct net **out, struct co_error *e)
{
	struct net *n;

	if ((n = calloc(1, sizeof(*n))) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "network"));
	n->conf = *c;
	n->statefd = -1;
	if (open_names(c, e) != 0 || open_pools(n, e) != 0 ||
	    net_links_open(&n->conf, n->range, &n->links, e) != 0 ||
	    net_rules_open(&n->conf, &n->rules, e) != 0 ||
	    net_flows_open(&n->flows, e) != 0 ||
	    net_reaper_new(&n->conf, n->range, &n->reaper, e) != 0) {
		net_close(n);
		return (-1);
	}
	*out = n;
	return (0);
}

static void
sandbox_free(struct net_sandbox *s)
{

	if (s == NULL)
		return;
	net_policy_free(s->policy);
	net_plan_free(s->plan);
	free(s);
}

void
net_forget_all(struct net *n)
{
	struct net_sandbox *s;
	size_t i;

	for (i = 0; i < NET_BUCKETS; i++)
		while ((s = n->bucket[i]) != NULL) {
			n->bucket[i] = s->next;
			sandbox_free(s);
		}
	n->nsandbox = 0;
}

void
net_close(struct net *n)
{

	if (n == NULL)
		return;
	net_dns_stop(n);
	net_forget_all(n);
	net_reaper_free(n->reaper);
	net_flows_close(n->flows);
	net_rules_close(n->rules);
	net_links_close(n->links);
	net_pool_free(n->pool[0]);
	net_pool_free(n->pool[1]);
	if (n->statefd >= 0)
		close(n->statefd);
	free(n);
}

int
net_statefd(struct net *n, struct co_error *e)
{

	if (n->statefd < 0)
		n->statefd = co_mkdirs(n->conf.statedir, 0700, e);
	return (n->statefd);
}

/*
 * Sandboxes by the part of their id that names their interface.
 */
static size_t
bucket_of(const char *id)
{
	uint32_t h = 2166136261u;
	int i;

	for (i = 0; i < CO_SHORTID && id[i] != '\0'; i++)
		h = (h ^ (uint8_t)id[i]) * 16777619u;
	return (h % NET_BUCKETS);
}

static struct net_sandbox *
find_tag(const struct net *n, const char *id)
{
	struct net_sandbox *s;

	for (s = n->bucket[bucket_of(id)]; s != NULL; s = s->next)
		if (strncmp(s->lease.id, id, CO_SHORTID) == 0)
			return (s);
	return (NULL);
}

struct net_sandbox *
net_find(const struct net *n, const char *id)
{
	struct net_sandbox *s = find_tag(n, id);

	return (s != NULL && strcmp(s->lease.id, id) == 0 ? s : NULL);
}

struct net_sandbox *
net_find_addr(const struct net *n, const struct net_addr *a)
{
	struct net_sandbox *s;
	size_t i;

	for (i = 0; i < NET_BUCKETS; i++)
		for (s = n->bucket[i]; s != NULL; s = s->next)
			if (net_addr_cmp(&s->lease.addr, a) == 0 ||
			    net_addr_cmp(&s->lease.addr6, a) == 0)
				return (s);
	return (NULL);
}

void
net_insert(struct net *n, struct net_sandbox *s)
{
	struct net_sandbox **b = &n->bucket[bucket_of(s->lease.id)];

	s->next = *b;
	*b = s;
	n->nsandbox++;
}

static void
net_remove(struct net *n, struct net_sandbox *s)
{
	struct net_sandbox **p = &n->bucket[bucket_of(s->lease.id)];

	for (; *p != NULL; p = &(*p)->next)
		if (*p == s) {
			*p = s->next;
			n->nsandbox--;
			break;
		}
	sandbox_free(s);
}

struct net_sandbox *
net_sandbox_new(const struct net_lease *l, const struct net_policy *p)
{
	struct net_sandbox *s;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		return (NULL);
	s->lease = *l;
	if ((s->policy = net_policy_copy(p)) == NULL ||
	    (s->plan = net_plan_new(l, p)) == NULL) {
		sandbox_free(s);
		return (NULL);
	}
	return (s);
}

/* All of a lease follows from the id, the kind and the address. */
void
net_lease_fill(const struct net *n, struct net_lease *l, const char *id,
    enum net_kind kind, uint32_t host)
{
	const struct net_range *r = &n->range[kind];
	uint32_t index = host - net_addr4_get(&r->net.addr);
	char tag[CO_SHORTID + 1];

	memset(l, 0, sizeof(*l));
	strcpy(l->id, id);
	l->kind = kind;
	l->addr = net_addr4(host);
	l->gateway = r->gateway;
	l->plen = r->net.plen;
	if (r->net6.addr.family != 0) {
		l->addr6 = r->net6.addr;
		l->addr6.b[14] = (uint8_t)(index >> 8);
		l->addr6.b[15] = (uint8_t)index;
		l->gateway6 = r->gateway6;
		l->plen6 = r->net6.plen;
	}
	net_mac_of(&l->addr, l->mac);
	net_tag(id, tag);
	snprintf(l->ifname, sizeof(l->ifname), "%s%s", n->conf.prefix, tag);
	if (kind == NET_PAIR)
		snprintf(l->inner, sizeof(l->inner), "%s", n->conf.inner);
}

/* An address nobody has, as far as the pool and the wire know. */
static int
address_busy(const struct net_attach *a, struct co_error *e)
{
	char s[NET_ADDRSTR];

	net_addr_print(a->want, s);
	return (co_error_set(e, CO_ENET_INUSE, s,
	    "%s is in use by somebody else; let the pool choose one", s));
}

static int
attach_address(struct net *n, const struct net_attach *a, uint32_t *host,
    struct co_error *e)
{
	struct net_pool *pool = n->pool[a->kind];
	struct net_addr addr;

	if (a->want != NULL) {
		if (a->want->family != 4)
			return (co_error_set(e, CO_ENET_BADADDR, a->id,
			    "an IPv4 address must be asked for"));
		*host = net_addr4_get(a->want);
		net_reaper_collect(n->reaper, n->pool, true);
		if (net_links_busy(n->links, a->kind, a->want))
			return (address_busy(a, e));
		return (net_pool_take(pool, *host, e));
	}
	net_reaper_collect(n->reaper, n->pool, false);
	for (;;) {
		if (net_pool_alloc(pool, co_now(), host, e) != 0) {
			/* Perhaps one is only waiting for its flows. */
			net_reaper_collect(n->reaper, n->pool, true);
			if (net_pool_alloc(pool, co_now(), host, e) != 0)
				return (-1);
		}
		addr = net_addr4(*host);
		if (!net_links_busy(n->links, a->kind, &addr))
			return (0);
		net_pool_foreign(pool, *host);
	}
}

static int
attach_check(const struct net *n, const struct net_attach *a,
    struct co_error *e)
{

	if (!co_id_valid(a->id))
		return (co_error_set(e, CO_EPROTO_ARGUMENT, a->id,
		    "a sandbox id is 32 lower-case hex digits"));
	if (a->policy == NULL || (unsigned)a->kind > NET_TAP)
		return (co_error_set(e, CO_EPROTO_ARGUMENT, a->id,
		    "a sandbox needs a policy and a kind of interface"));
	if (find_tag(n, a->id) != NULL)
		return (co_error_set(e, CO_ENET_INUSE, a->id,
		    "sandbox %s, or one whose id begins alike, is attached "
		    "already; detach it first", a->id));
	return (0);
}

int
net_attach(struct net *n, const struct net_attach *a, struct net_lease *l,
    struct co_error *e)
{
	struct net_sandbox *s;
	struct co_error ignore;
	uint32_t host = 0;

	if (attach_check(n, a, e) != 0)
		return (-1);
	if (net_reaper_has(n->reaper, a->id))
		net_settle(n);
	if (attach_address(n, a, &host, e) != 0) {
		if (e != NULL && e->code == CO_ENET_EXHAUSTED)
			strcpy(e->what, a->id);
		return (-1);
	}
	net_lease_fill(n, l, a->id, a->kind, host);
	if ((s = net_sandbox_new(l, a->policy)) == NULL) {
		co_error_errno(e, ENOMEM, a->id, "attach");
		goto err0;
	}
	net_point("attach-address");
	if (net_rules_load(n->rules, s->plan, NULL, e) != 0)
		goto err1;
	if (net_links_attach(n->links, a, &s->lease, e) != 0)
		goto err2;
	*l = s->lease;
	net_insert(n, s);
	net_dns_announce(n, s);
	net_point("attach-done");
	return (0);
err2:
	(void)net_rules_unload(n->rules, s->plan, &ignore);
err1:
	sandbox_free(s);
err0:
	net_pool_release(n->pool[a->kind], host, co_now());
	return (-1);
}

/*
 * Without its rules a port is mute, so those go first, and the slow rest is
 * left to the reaper.
 */
int
net_detach(struct net *n, const char *id, struct co_error *e)
{
	struct net_sandbox *s;

	if ((s = net_find(n, id)) == NULL)
		return (0);
	net_point("detach-begin");
	net_dns_forget(n, &s->lease);
	if (net_rules_unload(n->rules, s->plan, e) != 0)
		return (-1);
	net_point("detach-rules");
	if (net_links_doom(n->links, &s->lease, e) != 0)
		return (-1);
	net_point("detach-link");
	if (net_reaper_add(n->reaper, &s->lease) != 0)
		return (co_error_errno(e, ENOMEM, id, "detach"));
	net_remove(n, s);
	net_point("detach-done");
	return (0);
}

void
net_settle(struct net *n)
{

	net_reaper_collect(n->reaper, n->pool, true);
}

/*
 * A change of policy.
 */
struct verdict {
	const struct net *n;
	const struct net_sandbox *s;
	const struct net_policy *p;
	const struct net_plan *plan;
};

static bool
gateway_flow(const struct net *n, const struct net_lease *l,
    const struct net_addr *a, uint8_t proto, uint16_t port)
{
	size_t i;

	if (net_addr_cmp(a, &l->gateway) != 0 &&
	    net_addr_cmp(a, &l->gateway6) != 0)
		return (false);
	if (proto == 1 || proto == 58)
		return (true);
	for (i = 0; i < n->conf.nservice; i++)
		if (n->conf.service[i].proto == proto &&
		    n->conf.service[i].port == port)
			return (true);
	return (false);
}

static bool
learnt_flow(const struct verdict *v, const struct net_addr *a, uint8_t proto,
    uint16_t port)
{
	unsigned i, n = net_plan_learnt(v->p, 0, NULL);
	struct net_flow f;

	if (v->p->mode != NET_ALLOWLIST)
		return (false);
	for (i = 0; i < n; i++) {
		net_plan_learnt(v->p, i, &f);
		if (net_flow_has(&f, proto, port) &&
		    net_rules_learnt(v->n->rules, v->plan, &f, a))
			return (true);
	}
	return (false);
}

static bool
denied_flow(const struct net_policy *p, const struct net_addr *a,
    uint8_t proto, uint16_t port)
{
	const struct net_dest *d;
	size_t i;

	for (i = 0; i < p->ndest[NET_DENY]; i++) {
		d = &p->dest[NET_DENY][i];
		if (net_prefix_has(&d->addr, d->plen, a) &&
		    net_flow_has(&d->flow, proto, port))
			return (true);
	}
	return (false);
}

static bool
keep_flow(void *arg, bool inward, const struct net_addr *a, uint8_t proto,
    uint16_t port)
{
	const struct verdict *v = arg;
	const struct net_lease *l = &v->s->lease;

	if (!v->plan->live)
		return (false);
	if (inward)
		return (v->plan->forwards ||
		    net_addr_cmp(a, &l->gateway) == 0 ||
		    net_addr_cmp(a, &l->gateway6) == 0);
	if (gateway_flow(v->n, l, a, proto, port) ||
	    net_policy_permits(v->p, a, proto, port))
		return (true);
	return (!denied_flow(v->p, a, proto, port) &&
	    learnt_flow(v, a, proto, port));
}

int
net_policy_set(struct net *n, const char *id, const struct net_policy *p,
    struct co_error *e)
{
	struct net_policy *copy;
	struct net_sandbox *s;
	struct net_plan *plan;
	struct verdict v;

	if ((s = net_find(n, id)) == NULL)
		return (co_error_set(e, CO_ESANDBOX_NOTFOUND, id,
		    "sandbox %s is not attached to the network", id));
	plan = net_plan_new(&s->lease, p);
	copy = net_policy_copy(p);
	if (plan == NULL || copy == NULL) {
		co_error_errno(e, ENOMEM, id, "policy");
		goto err0;
	}
	if (net_rules_load(n->rules, plan, s->plan, e) != 0)
		goto err0;
	net_policy_free(s->policy);
	net_plan_free(s->plan);
	s->policy = copy;
	s->plan = plan;
	net_dns_announce(n, s);
	net_point("policy-loaded");
	v = (struct verdict){ n, s, copy, plan };
	return (net_flows_kill(n->flows, &s->lease, keep_flow, &v, e));
err0:
	net_plan_free(plan);
	net_policy_free(copy);
	return (-1);
}

int
net_counters(struct net *n, const char *id, struct net_counters *c,
    struct co_error *e)
{
	struct net_sandbox *s;

	memset(c, 0, sizeof(*c));
	if ((s = net_find(n, id)) == NULL)
		return (co_error_set(e, CO_ESANDBOX_NOTFOUND, id,
		    "sandbox %s is not attached to the network", id));
	if (net_links_counters(n->links, &s->lease, c, e) != 0)
		return (-1);
	return (net_rules_blocked(n->rules, s->plan, c, e));
}

int
net_lease_get(const struct net *n, const char *id, struct net_lease *l)
{
	struct net_sandbox *s;

	if ((s = net_find(n, id)) == NULL)
		return (-1);
	*l = s->lease;
	return (0);
}

const struct net_policy *
net_policy_get(const struct net *n, const char *id)
{
	struct net_sandbox *s = net_find(n, id);

	return (s == NULL ? NULL : s->policy);
}

void
net_usage(const struct net *n, enum net_kind kind, struct net_usage *u)
{

	net_pool_usage(n->pool[kind], u);
}

int
net_cmdline(const struct net_lease *l, char *buf, size_t size)
{
	char a[NET_ADDRSTR], g[NET_ADDRSTR];
	int len, more = 0;

	len = snprintf(buf, size, "coppice.ip=%s coppice.gw=%s "
	    "coppice.mask=%u", net_addr_print(&l->addr, a),
	    net_addr_print(&l->gateway, g), l->plen);
	if (len >= 0 && (size_t)len < size && l->addr6.family != 0)
		more = snprintf(buf + len, size - (size_t)len,
		    " coppice.ip6=%s coppice.gw6=%s coppice.mask6=%u",
		    net_addr_print(&l->addr6, a),
		    net_addr_print(&l->gateway6, g), l->plen6);
	return (len < 0 || more < 0 || (size_t)(len + more) >= size ? -1 : 0);
}

int
net_uplink(struct net *n, char name[NET_IFNAME], struct co_error *e)
{

	if (n->conf.uplink == NULL)
		return (net_links_uplink(n->links, name, e));
	if (strlen(n->conf.uplink) >= NET_IFNAME)
		return (co_error_set(e, CO_ENET_UPLINK, n->conf.uplink,
		    "\"net.uplink\" is too long for an interface's name"));
	strcpy(name, n->conf.uplink);
	return (0);
}
