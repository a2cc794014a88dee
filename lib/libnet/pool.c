/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The addresses of one subnet.  Every slot is in one of two queues (free,
 * quarantine) or in none (live, foreign, reserved); all operations take
 * constant time, and the longest unused address is given out first.  Knows
 * nothing of the kernel: net_reconcile() tells it what exists.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net_internal.h"

enum slot_state {
	SLOT_RESERVED, SLOT_FREE, SLOT_LIVE, SLOT_QUARANTINE, SLOT_FOREIGN
};

#define	NIL	UINT32_MAX

struct slot {
	uint32_t	prev, next;	/* in the queue of its state */
	co_moment	until;		/* end of quarantine */
	uint8_t		state;
};

struct queue {
	uint32_t	head, tail, n;
};

struct net_pool {
	struct net_range range;
	uint32_t	 base, nslots;
	int		 quarantine_ms;
	struct queue	 q[2];		/* SLOT_FREE, SLOT_QUARANTINE */
	uint32_t	 live, foreign, total;
	struct slot	 slot[];
};

static struct queue *
pool_queue(struct net_pool *p, uint8_t state)
{

	if (state == SLOT_FREE)
		return (&p->q[0]);
	return (state == SLOT_QUARANTINE ? &p->q[1] : NULL);
}

static void
pool_unlink(struct net_pool *p, uint32_t i)
{
	struct slot *s = &p->slot[i];
	struct queue *q;

	if (s->state == SLOT_LIVE)
		p->live--;
	if (s->state == SLOT_FOREIGN)
		p->foreign--;
	if ((q = pool_queue(p, s->state)) == NULL)
		return;
	if (s->prev != NIL)
		p->slot[s->prev].next = s->next;
	else
		q->head = s->next;
	if (s->next != NIL)
		p->slot[s->next].prev = s->prev;
	else
		q->tail = s->prev;
	q->n--;
}

static void
pool_move(struct net_pool *p, uint32_t i, uint8_t state)
{
	struct slot *s = &p->slot[i];
	struct queue *q;

	pool_unlink(p, i);
	s->state = state;
	if (state == SLOT_LIVE)
		p->live++;
	if (state == SLOT_FOREIGN)
		p->foreign++;
	if ((q = pool_queue(p, state)) == NULL)
		return;
	s->prev = q->tail;
	s->next = NIL;
	if (q->tail != NIL)
		p->slot[q->tail].next = i;
	else
		q->head = i;
	q->tail = i;
	q->n++;
}

static void
pool_reserve(struct net_pool *p, uint32_t from, uint32_t to)
{
	uint32_t i;

	for (i = from; i <= to; i++)
		if (i >= p->base && i - p->base < p->nslots &&
		    p->slot[i - p->base].state != SLOT_RESERVED) {
			pool_move(p, i - p->base, SLOT_RESERVED);
			p->total--;
		}
}

/* Read "A-B C ..." and take those addresses out of the pool. */
static int
pool_reserved(struct net_pool *p, const char *list, struct co_error *e)
{
	char word[2 * NET_ADDRSTR], *dash;
	struct net_addr a, b;
	size_t n;

	while (list != NULL && *(list += strspn(list, " \t,")) != '\0') {
		n = strcspn(list, " \t,");
		if (n >= sizeof(word))
			goto bad;
		memcpy(word, list, n);
		word[n] = '\0';
		if ((dash = strchr(word, '-')) != NULL)
			*dash++ = '\0';
		if (net_addr_parse(word, &a) != 0 || a.family != 4)
			goto bad;
		b = a;
		if (dash != NULL &&
		    (net_addr_parse(dash, &b) != 0 || b.family != 4))
			goto bad;
		if (net_addr_cmp(&a, &b) > 0 ||
		    !net_prefix_has(&p->range.net.addr, p->range.net.plen,
		    &a) || !net_prefix_has(&p->range.net.addr,
		    p->range.net.plen, &b))
			goto bad;
		pool_reserve(p, net_addr4_get(&a), net_addr4_get(&b));
		list += n;
	}
	return (0);
bad:
	return (co_error_set(e, CO_ESYS_CONFIG, list,
	    "\"%s.reserved\" must be a list of addresses or ranges such as "
	    "10.78.0.40-10.78.0.49 within the range; correct it in "
	    "coppice.conf", p->range.key));
}

int
net_pool_new(const struct net_range *r, const char *reserved, int ms,
    struct net_pool **out, struct co_error *e)
{
	struct net_pool *p;
	uint32_t i, n;

	n = r->last - r->first + 1;
	if ((p = calloc(1, sizeof(*p) + n * sizeof(p->slot[0]))) == NULL)
		return (co_error_set(e, CO_ESYS_NOMEM, r->bridge,
		    "out of memory for the pool of %u addresses", n));
	p->range = *r;
	p->base = r->first;
	p->nslots = n;
	p->quarantine_ms = ms;
	p->q[0].head = p->q[0].tail = p->q[1].head = p->q[1].tail = NIL;
	p->total = n;
	for (i = 0; i < n; i++)
		pool_move(p, i, SLOT_FREE);
	pool_reserve(p, net_addr4_get(&r->gateway), net_addr4_get(&r->gateway));
	if (pool_reserved(p, reserved, e) != 0) {
		net_pool_free(p);
		return (-1);
	}
	*out = p;
	return (0);
}

static int
pool_exhausted(const struct net_pool *p, struct co_error *e)
{
	char range[NET_ADDRSTR], extra[96] = "";

	net_addr_print(&p->range.net.addr, range);
	if (p->q[1].n > 0)
		snprintf(extra, sizeof(extra),
		    ", %u in quarantine for at most %d ms", p->q[1].n,
		    p->quarantine_ms);
	if (p->foreign > 0)
		snprintf(extra + strlen(extra), sizeof(extra) - strlen(extra),
		    ", %u used by others", p->foreign);
	return (co_error_set(e, CO_ENET_EXHAUSTED, p->range.bridge,
	    "no address left in %s/%u (%u in use%s); %swiden \"%s.range\" in "
	    "coppice.conf", range, p->range.net.plen, p->live, extra,
	    p->q[1].n > 0 ? "wait, or " : "", p->range.key));
}

/* Give out the address that has been free for the longest time. */
int
net_pool_alloc(struct net_pool *p, co_moment now, uint32_t *host,
    struct co_error *e)
{
	uint32_t i;

	while ((i = p->q[1].head) != NIL && p->slot[i].until <= now)
		pool_move(p, i, SLOT_FREE);
	if ((i = p->q[0].head) == NIL)
		return (pool_exhausted(p, e));
	pool_move(p, i, SLOT_LIVE);
	*host = p->base + i;
	return (0);
}

/* Take this very address, also out of quarantine: its owner is back. */
int
net_pool_take(struct net_pool *p, uint32_t host, struct co_error *e)
{
	struct net_addr a = net_addr4(host);
	char s[NET_ADDRSTR];
	uint32_t i = host - p->base;

	net_addr_print(&a, s);
	if (host < p->base || i >= p->nslots ||
	    p->slot[i].state == SLOT_RESERVED)
		return (co_error_set(e, CO_ENET_BADADDR, s,
		    "%s is not an address of the pool on %s; choose one in "
		    "\"%s\" that is not reserved", s, p->range.bridge,
		    p->range.key));
	if (p->slot[i].state == SLOT_LIVE)
		return (co_error_set(e, CO_ENET_INUSE, s,
		    "%s is in use by another sandbox; let the pool choose one",
		    s));
	pool_move(p, i, SLOT_LIVE);
	return (0);
}

void
net_pool_release(struct net_pool *p, uint32_t host, co_moment now)
{
	uint32_t i = host - p->base;

	if (host < p->base || i >= p->nslots || p->slot[i].state != SLOT_LIVE)
		return;
	p->slot[i].until = now + (co_moment)p->quarantine_ms * 1000000;
	pool_move(p, i, p->quarantine_ms > 0 ? SLOT_QUARANTINE : SLOT_FREE);
}

/* Somebody else answers on this address: never give it out. */
void
net_pool_foreign(struct net_pool *p, uint32_t host)
{
	uint32_t i = host - p->base;

	if (host >= p->base && i < p->nslots &&
	    p->slot[i].state != SLOT_RESERVED)
		pool_move(p, i, SLOT_FOREIGN);
}

/*
 * Forget who is live or foreign; both go through quarantine, as we do not
 * know when they ended.
 */
void
net_pool_reset(struct net_pool *p, co_moment now)
{
	uint32_t i;

	for (i = 0; i < p->nslots; i++) {
		if (p->slot[i].state == SLOT_FOREIGN)
			pool_move(p, i, SLOT_LIVE);
		net_pool_release(p, p->base + i, now);
	}
}

void
net_pool_usage(const struct net_pool *p, struct net_usage *u)
{

	u->total = p->total;
	u->live = p->live;
	u->quarantined = p->q[1].n;
	u->foreign = p->foreign;
}

void
net_pool_free(struct net_pool *p)
{

	free(p);
}
