/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Who asks: the relay's table of sandboxes by source address, with their
 * policies as the daemon announced them, and rates.
 */

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "dnsd.h"

static size_t
box_bucket(const struct net_addr *a)
{
	uint32_t h = 2166136261u;
	size_t i;

	for (i = 0; i < net_addr_len(a); i++)
		h = (h ^ a->b[i]) * 16777619u;
	return (h % DNSD_BUCKETS);
}

struct dnsd_box *
dnsd_find(struct dnsd *d, const struct net_addr *a)
{
	struct dnsd_box *b;
	int six = a->family == 6;

	for (b = d->box[six][box_bucket(a)]; b != NULL; b = b->next[six])
		if (net_addr_cmp(six ? &b->who.addr6 : &b->who.addr, a) == 0)
			return (b);
	return (NULL);
}

static void
box_unlink(struct dnsd *d, struct dnsd_box *b, int six)
{
	const struct net_addr *a = six ? &b->who.addr6 : &b->who.addr;
	struct dnsd_box **p;

	if (a->family == 0)
		return;
	for (p = &d->box[six][box_bucket(a)]; *p != NULL; p = &(*p)->next[six])
		if (*p == b) {
			*p = b->next[six];
			return;
		}
}

void
dnsd_drop(struct dnsd *d, const struct net_addr *a)
{
	struct dnsd_box *b;

	if ((b = dnsd_find(d, a)) == NULL)
		return;
	box_unlink(d, b, 0);
	box_unlink(d, b, 1);
	net_policy_free(b->policy);
	free(b);
}

static void
box_link(struct dnsd *d, struct dnsd_box *b, int six)
{
	const struct net_addr *a = six ? &b->who.addr6 : &b->who.addr;
	struct dnsd_box **p = &d->box[six][box_bucket(a)];

	if (a->family == 0)
		return;
	b->next[six] = *p;
	*p = b;
}

/* A new sandbox, or another policy for one that is known. */
int
dnsd_set(struct dnsd *d, const char *data, size_t len)
{
	struct net_policy *p;
	struct dnsd_box *b;
	struct ctl_set s;

	if (len < sizeof(s))
		return (-1);
	memcpy(&s, data, sizeof(s));
	if (s.addr.family != 4 || net_policy_parse(data + sizeof(s),
	    len - sizeof(s), &p, NULL) != 0)
		return (-1);
	if ((b = dnsd_find(d, &s.addr)) != NULL) {
		net_policy_free(b->policy);
		b->policy = p;
		return (0);
	}
	if ((b = calloc(1, sizeof(*b))) == NULL) {
		net_policy_free(p);
		return (-1);
	}
	b->who = s;
	b->policy = p;
	b->all.left = b->txt.left = -1;
	box_link(d, b, 0);
	box_link(d, b, 1);
	return (0);
}

/* A bucket that fills with time; -1 marks one that was never used. */
bool
dnsd_may(struct dnsd_rate *r, double burst, double persecond)
{
	co_moment now = co_now();

	if (r->left < 0)
		r->left = burst;
	else
		r->left += (double)(now - r->at) / 1e9 * persecond;
	r->at = now;
	if (r->left > burst)
		r->left = burst;
	if (r->left < 1)
		return (false);
	r->left -= 1;
	return (true);
}

bool
dnsd_addr(const struct sockaddr_storage *ss, struct net_addr *a)
{
	const struct sockaddr_in *in = (const void *)ss;
	const struct sockaddr_in6 *in6 = (const void *)ss;

	memset(a, 0, sizeof(*a));
	if (ss->ss_family == AF_INET) {
		a->family = 4;
		memcpy(a->b, &in->sin_addr, 4);
	} else if (ss->ss_family == AF_INET6) {
		a->family = 6;
		memcpy(a->b, &in6->sin6_addr, 16);
	}
	return (a->family != 0);
}
