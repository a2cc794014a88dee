/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The policy of a sandbox: its lists, kept sorted and unique, and what they
 * permit.  Text is read and written in policy_text.c; rules are made from a
 * policy in plan.c.
 */

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "net_internal.h"
#include "policy_internal.h"

static const char *const modes[] = {
	[NET_OPEN] = "open", [NET_ALLOWLIST] = "allowlist",
	[NET_AIRGAP] = "airgap", [NET_DISABLED] = "disabled",
};

const char *
net_mode_name(enum net_mode m)
{

	return ((unsigned)m < sizeof(modes) / sizeof(modes[0]) ? modes[m] :
	    "unknown");
}

int
net_mode_parse(const char *s, enum net_mode *m)
{
	unsigned i;

	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(s, modes[i]) == 0) {
			*m = (enum net_mode)i;
			return (0);
		}
	return (-1);
}

struct net_policy *
net_policy_new(enum net_mode mode)
{
	struct net_policy *p;

	if ((p = calloc(1, sizeof(*p))) != NULL)
		p->mode = mode;
	return (p);
}

void
net_policy_free(struct net_policy *p)
{
	int l;

	if (p == NULL)
		return;
	for (l = 0; l < 2; l++) {
		free(p->dest[l]);
		free(p->name[l]);
	}
	free(p);
}

static void *
policy_dup(const void *src, size_t n, size_t size)
{
	void *p;

	if (n == 0)
		return (NULL);
	if ((p = calloc(n, size)) != NULL)
		memcpy(p, src, n * size);
	return (p);
}

struct net_policy *
net_policy_copy(const struct net_policy *p)
{
	struct net_policy *c;
	int l;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		return (NULL);
	*c = *p;
	for (l = 0; l < 2; l++) {
		c->dest[l] = NULL;
		c->name[l] = NULL;
	}
	for (l = 0; l < 2; l++) {
		c->dest[l] = policy_dup(p->dest[l], p->ndest[l],
		    sizeof(*p->dest[l]));
		c->name[l] = policy_dup(p->name[l], p->nname[l],
		    sizeof(*p->name[l]));
		if ((c->dest[l] == NULL && p->ndest[l] > 0) ||
		    (c->name[l] == NULL && p->nname[l] > 0)) {
			net_policy_free(c);
			return (NULL);
		}
	}
	return (c);
}

static int
flow_cmp(const struct net_flow *a, const struct net_flow *b)
{

	if (a->proto != b->proto)
		return (a->proto < b->proto ? -1 : 1);
	if (a->lo != b->lo)
		return (a->lo < b->lo ? -1 : 1);
	if (a->hi != b->hi)
		return (a->hi < b->hi ? -1 : 1);
	return (0);
}

/* By family and flow first: that is how the plan groups them. */
static int
dest_cmp(const void *va, const void *vb)
{
	const struct net_dest *a = va, *b = vb;
	int c;

	if (a->addr.family != b->addr.family)
		return (a->addr.family < b->addr.family ? -1 : 1);
	if ((c = flow_cmp(&a->flow, &b->flow)) != 0)
		return (c);
	if ((c = net_addr_cmp(&a->addr, &b->addr)) != 0)
		return (c);
	return (a->plen < b->plen ? -1 : a->plen > b->plen);
}

static int
name_cmp(const void *va, const void *vb)
{
	const struct net_name *a = va, *b = vb;
	int c;

	if ((c = flow_cmp(&a->flow, &b->flow)) != 0)
		return (c);
	if ((c = strcmp(a->name, b->name)) != 0)
		return (c);
	return (a->below < b->below ? -1 : a->below > b->below);
}

/*
 * Put ${elem} into the sorted array of ${n} elements unless it is there.
 * Return 0, or -1 when out of memory.
 */
static int
policy_insert(void **array, size_t *n, size_t size, const void *elem,
    int (*cmp)(const void *, const void *))
{
	size_t lo = 0, hi = *n, mid;
	char *a;
	int c;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		c = cmp(elem, (char *)*array + mid * size);
		if (c == 0)
			return (0);
		if (c < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	if ((a = realloc(*array, (*n + 1) * size)) == NULL)
		return (-1);
	memmove(a + (lo + 1) * size, a + lo * size, (*n - lo) * size);
	memcpy(a + lo * size, elem, size);
	*array = a;
	++*n;
	return (0);
}

int
net_policy_add_dest(struct net_policy *p, enum net_list l,
    const struct net_dest *d)
{
	void *a = p->dest[l];
	int r;

	r = policy_insert(&a, &p->ndest[l], sizeof(*d), d, dest_cmp);
	p->dest[l] = a;
	return (r);
}

int
net_policy_add_name(struct net_policy *p, enum net_list l,
    const struct net_name *d)
{
	void *a = p->name[l];
	int r;

	r = policy_insert(&a, &p->nname[l], sizeof(*d), d, name_cmp);
	p->name[l] = a;
	return (r);
}

bool
net_policy_equal(const struct net_policy *a, const struct net_policy *b)
{
	size_t i;
	int l;

	if (a->mode != b->mode || a->up != b->up || a->down != b->down ||
	    a->forwards != b->forwards)
		return (false);
	for (l = 0; l < 2; l++) {
		if (a->ndest[l] != b->ndest[l] || a->nname[l] != b->nname[l])
			return (false);
		for (i = 0; i < a->ndest[l]; i++)
			if (dest_cmp(&a->dest[l][i], &b->dest[l][i]) != 0)
				return (false);
		for (i = 0; i < a->nname[l]; i++)
			if (name_cmp(&a->name[l][i], &b->name[l][i]) != 0)
				return (false);
	}
	return (true);
}

bool
net_flow_equal(const struct net_flow *a, const struct net_flow *b)
{

	return (flow_cmp(a, b) == 0);
}

bool
net_flow_has(const struct net_flow *f, uint8_t proto, uint16_t port)
{

	if (f->proto != 0 && f->proto != proto)
		return (false);
	if (f->lo == 0 && f->hi == UINT16_MAX)
		return (true);
	return (port >= f->lo && port <= f->hi);
}

static bool
dest_matches(const struct net_dest *d, const struct net_addr *a,
    uint8_t proto, uint16_t port)
{

	return (net_prefix_has(&d->addr, d->plen, a) &&
	    net_flow_has(&d->flow, proto, port));
}

bool
net_policy_permits(const struct net_policy *p, const struct net_addr *dst,
    uint8_t proto, uint16_t port)
{
	bool special = net_special(dst, net_addr_bits(dst));
	const struct net_dest *d;
	size_t i;

	if (p->mode == NET_AIRGAP || p->mode == NET_DISABLED)
		return (false);
	for (i = 0; i < p->ndest[NET_DENY]; i++)
		if (dest_matches(&p->dest[NET_DENY][i], dst, proto, port))
			return (false);
	if (p->mode == NET_OPEN && !special)
		return (true);
	for (i = 0; i < p->ndest[NET_ALLOW]; i++) {
		d = &p->dest[NET_ALLOW][i];
		if (dest_matches(d, dst, proto, port) &&
		    (!special || net_special(&d->addr, d->plen)))
			return (true);
	}
	return (false);
}

bool
net_name_matches(const struct net_name *n, const char *name)
{
	size_t want = strlen(n->name), have = strlen(name);

	if (!n->below)
		return (want == have && strcasecmp(n->name, name) == 0);
	return (have > want + 1 && name[have - want - 1] == '.' &&
	    strcasecmp(n->name, name + have - want) == 0);
}

bool
net_policy_resolves(const struct net_policy *p, const char *name)
{
	size_t i;

	if (p->mode == NET_AIRGAP || p->mode == NET_DISABLED)
		return (false);
	for (i = 0; i < p->nname[NET_DENY]; i++)
		if (net_name_matches(&p->name[NET_DENY][i], name))
			return (false);
	if (p->mode == NET_OPEN)
		return (true);
	for (i = 0; i < p->nname[NET_ALLOW]; i++)
		if (net_name_matches(&p->name[NET_ALLOW][i], name))
			return (true);
	return (false);
}
