/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The decoder and builder of DNS messages: see dns_msg.h.  Every length and
 * pointer is checked here, before its use.
 */

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "dns_msg.h"

struct reader {
	const uint8_t	*p;
	size_t		 n, at;
	bool		 bad;
};

struct writer {
	uint8_t		*p;
	size_t		 cap, n;
	bool		 full;
};

static uint16_t
get16(struct reader *r)
{
	uint16_t v;

	if (r->bad || r->n - r->at < 2) {
		r->bad = true;
		return (0);
	}
	v = (uint16_t)(r->p[r->at] << 8 | r->p[r->at + 1]);
	r->at += 2;
	return (v);
}

static uint32_t
get32(struct reader *r)
{
	uint32_t hi = get16(r);

	return (hi << 16 | get16(r));
}

static void
put(struct writer *w, const void *data, size_t n)
{

	if (w->full || w->cap - w->n < n) {
		w->full = true;
		return;
	}
	memcpy(w->p + w->n, data, n);
	w->n += n;
}

static void
put16(struct writer *w, unsigned v)
{
	uint8_t b[2] = { (uint8_t)(v >> 8), (uint8_t)v };

	put(w, b, 2);
}

static void
put32(struct writer *w, uint32_t v)
{

	put16(w, v >> 16);
	put16(w, v & 0xffff);
}

/*
 * Read a name into wire form without pointers.  A pointer must lead
 * backwards, behind the header, so it can't loop.  Return its length, 0 if
 * it is malformed.
 */
static size_t
get_name(struct reader *r, bool pointers, uint8_t wire[256])
{
	size_t at = r->at, low = r->at, n = 0, to;
	bool jumped = false;
	uint8_t len;

	for (;;) {
		if (at >= r->n)
			break;
		len = r->p[at];
		if ((len & 0xc0) == 0xc0) {
			if (!pointers || r->n - at < 2)
				break;
			to = (size_t)(len & 0x3f) << 8 | r->p[at + 1];
			if (to < DNS_HEADER || to >= low)
				break;
			if (!jumped)
				r->at = at + 2;
			jumped = true;
			at = low = to;
			continue;
		}
		if (len > 63 || r->n - at < (size_t)len + 1 ||
		    n + len + 1 > 255)
			break;
		memcpy(wire + n, r->p + at, (size_t)len + 1);
		n += (size_t)len + 1;
		at += (size_t)len + 1;
		if (len == 0) {
			if (!jumped)
				r->at = at;
			return (n);
		}
	}
	r->bad = true;
	return (0);
}

/* A wire name as lower-case text; false if it has bytes that names lack. */
static bool
name_text(const uint8_t *wire, char text[NET_NAMELEN])
{
	size_t n = 0;
	uint8_t len;

	while ((len = *wire++) != 0) {
		if (n + len + 2 > NET_NAMELEN)
			return (false);
		if (n > 0)
			text[n++] = '.';
		for (; len > 0; len--, wire++) {
			if (!isalnum(*wire) && *wire != '-' && *wire != '_')
				return (false);
			text[n++] = (char)tolower(*wire);
		}
	}
	text[n] = '\0';
	return (true);
}

bool
net_dns_type_ok(uint16_t type)
{

	switch (type) {
	case DNS_A:
	case DNS_NS:
	case DNS_CNAME:
	case DNS_SOA:
	case DNS_PTR:
	case DNS_MX:
	case DNS_TXT:
	case DNS_AAAA:
	case DNS_SRV:
	case DNS_NAPTR:
	case DNS_SVCB:
	case DNS_HTTPS:
	case DNS_CAA:
		return (true);
	default:
		return (false);
	}
}

/* The one additional record that a query may have: EDNS. */
static int
parse_opt(struct reader *r, struct net_dnsq *q)
{
	uint8_t wire[256];
	uint16_t type, size, len;
	uint32_t ttl;

	if (get_name(r, false, wire) != 1)
		return (DNS_FORMERR);
	type = get16(r);
	size = get16(r);
	ttl = get32(r);
	len = get16(r);
	if (r->bad || type != DNS_OPT || r->n - r->at < len ||
	    (ttl >> 16 & 0xff) != 0)
		return (DNS_FORMERR);
	r->at += len;
	q->edns = true;
	if (size > q->size)
		q->size = size > DNS_UDPSIZE ? DNS_UDPSIZE : size;
	return (0);
}

int
net_dns_parse(const uint8_t *p, size_t n, struct net_dnsq *q)
{
	struct reader r = { p, n, 0, false };
	uint16_t flags, qd, an, ns, ar;
	uint8_t wire[256];
	size_t wn;

	memset(q, 0, sizeof(*q));
	q->size = 512;
	q->id = get16(&r);
	flags = get16(&r);
	qd = get16(&r);
	an = get16(&r);
	ns = get16(&r);
	ar = get16(&r);
	if (r.bad || (flags & 0x8000))
		return (-1);
	q->rd = (flags & 0x0100) != 0;
	if (qd != 1 || (wn = get_name(&r, false, wire)) == 0)
		return (-1);
	q->type = get16(&r);
	if (get16(&r) != 1 || r.bad)
		return (r.bad ? -1 : DNS_REFUSED);
	q->qlen = r.at - DNS_HEADER;
	memcpy(q->question, p + DNS_HEADER, q->qlen);
	if ((flags & 0x7800) != 0)
		return (DNS_NOTIMP);
	if (an != 0 || ns != 0 || ar > 1)
		return (DNS_FORMERR);
	if (!name_text(wire, q->name))
		return (DNS_NXDOMAIN);
	if (ar == 1 && parse_opt(&r, q) != 0)
		return (DNS_FORMERR);
	return (r.at == n ? 0 : DNS_FORMERR);
}

static void
put_header(struct writer *w, uint16_t id, unsigned flags, unsigned an,
    unsigned ns, unsigned ar)
{

	put16(w, id);
	put16(w, flags);
	put16(w, 1);
	put16(w, an);
	put16(w, ns);
	put16(w, ar);
}

/* EDNS without options: those could carry anything, either way. */
static void
put_opt(struct writer *w, unsigned size)
{

	put(w, "", 1);
	put16(w, DNS_OPT);
	put16(w, size);
	put32(w, 0);
	put16(w, 0);
}

size_t
net_dns_ask(const struct net_dnsq *q, uint16_t id, uint8_t *out, size_t cap)
{
	struct writer w = { out, cap, 0, false };

	put_header(&w, id, 0x0100, 0, 0, 1);
	put(&w, q->question, q->qlen);
	put_opt(&w, DNS_UDPSIZE);
	return (w.full ? 0 : w.n);
}

static unsigned
reply_flags(const struct net_dnsq *q, int rcode)
{

	return (0x8080u | (q->rd ? 0x0100u : 0) | (unsigned)(rcode & 15));
}

size_t
net_dns_reply(const struct net_dnsq *q, int rcode, const struct net_addr *a,
    uint32_t ttl, uint8_t *out, size_t cap)
{
	struct writer w = { out, cap, 0, false };

	put_header(&w, q->id, reply_flags(q, rcode), a != NULL, 0, q->edns);
	put(&w, q->question, q->qlen);
	if (a != NULL) {
		put16(&w, 0xc000 | DNS_HEADER);
		put16(&w, a->family == 4 ? DNS_A : DNS_AAAA);
		put16(&w, 1);
		put32(&w, ttl);
		put16(&w, (unsigned)net_addr_len(a));
		put(&w, a->b, net_addr_len(a));
	}
	if (q->edns)
		put_opt(&w, DNS_UDPSIZE);
	return (w.full ? 0 : w.n);
}

/*
 * Rebuilding an answer.
 */
struct rebuild {
	struct reader	 r;
	struct writer	 w;
	net_dns_ok	*ok;
	void		*arg;
	uint8_t		 current[256];	/* the name asked for, or its alias */
	struct net_dnsaddr *got;
	size_t		 ngot;
	unsigned	 count;		/* records written in this section */
};

/* Names compare without regard to case; length bytes are below 'A'. */
static bool
name_same(const uint8_t *a, size_t an, const uint8_t *b, size_t bn)
{

	return (an == bn && strncasecmp((const char *)a, (const char *)b,
	    an) == 0 && memchr(a, 0, an) == a + an - 1 &&
	    memchr(b, 0, bn) == b + bn - 1);
}

static size_t
wire_len(const uint8_t *wire)
{
	size_t n = 0;

	while (wire[n] != 0)
		n += (size_t)wire[n] + 1;
	return (n + 1);
}

static void
rebuild_learn(struct rebuild *b, const struct net_addr *a, uint32_t ttl)
{

	if (b->ngot == DNS_MAXLEARN)
		return;
	b->got[b->ngot].addr = *a;
	b->got[b->ngot++].ttl = ttl;
}

/* How many bytes precede the first name in the data of a type. */
static int
names_in(uint16_t type, size_t *before, int *names)
{

	*before = 0;
	*names = 1;
	switch (type) {
	case DNS_CNAME:
	case DNS_NS:
	case DNS_PTR:
		return (1);
	case DNS_MX:
		*before = 2;
		return (1);
	case DNS_SRV:
		*before = 6;
		return (1);
	case DNS_SOA:
		*names = 2;
		return (1);
	default:
		*names = 0;
		return (0);
	}
}

/* Copy a record's data with its names written out. */
static void
rebuild_data(struct rebuild *b, uint16_t type, size_t end, bool answer,
    bool mine)
{
	uint8_t wire[256];
	size_t before, lenat = b->w.n, wn, rest;
	int i, names;

	put16(&b->w, 0);
	names_in(type, &before, &names);
	if (end - b->r.at < before) {
		b->r.bad = true;
		return;
	}
	put(&b->w, b->r.p + b->r.at, before);
	b->r.at += before;
	for (i = 0; i < names; i++) {
		wn = get_name(&b->r, true, wire);
		if (b->r.bad || b->r.at > end) {
			b->r.bad = true;
			return;
		}
		put(&b->w, wire, wn);
		if (answer && mine && type == DNS_CNAME)
			memcpy(b->current, wire, wn);
	}
	rest = end - b->r.at;
	put(&b->w, b->r.p + b->r.at, rest);
	b->r.at = end;
	if (b->w.full)
		return;
	rest = b->w.n - lenat - 2;
	b->w.p[lenat] = (uint8_t)(rest >> 8);
	b->w.p[lenat + 1] = (uint8_t)rest;
}

/* One record: take it over, or leave it out. */
static void
rebuild_record(struct rebuild *b, bool answer)
{
	uint8_t owner[256];
	struct net_addr a;
	uint16_t type, class, len;
	uint32_t ttl;
	size_t on, end;
	bool mine, keep;

	on = get_name(&b->r, true, owner);
	type = get16(&b->r);
	class = get16(&b->r);
	ttl = get32(&b->r);
	len = get16(&b->r);
	if (b->r.bad || b->r.n - b->r.at < len) {
		b->r.bad = true;
		return;
	}
	end = b->r.at + len;
	mine = name_same(owner, on, b->current, wire_len(b->current));
	keep = class == 1 && net_dns_type_ok(type) &&
	    (answer || type == DNS_SOA);
	if (keep && (type == DNS_A || type == DNS_AAAA)) {
		memset(&a, 0, sizeof(a));
		a.family = type == DNS_A ? 4 : 6;
		if (len != net_addr_len(&a)) {
			b->r.bad = true;
			return;
		}
		memcpy(a.b, b->r.p + b->r.at, len);
		keep = b->ok(b->arg, &a);
		if (keep && mine)
			rebuild_learn(b, &a, ttl);
	}
	if (!keep) {
		b->r.at = end;
		return;
	}
	put(&b->w, owner, on);
	put16(&b->w, type);
	put16(&b->w, class);
	put32(&b->w, ttl);
	rebuild_data(b, type, end, answer, mine);
	b->count++;
}

static size_t
rebuild_finish(struct rebuild *b, const struct net_dnsq *q, unsigned flags,
    const unsigned count[2])
{
	struct writer h = { b->w.p, b->w.cap, 0, false };
	bool full;

	if (q->edns)
		put_opt(&b->w, DNS_UDPSIZE);
	full = b->w.full;
	if (full) {
		b->w.n = DNS_HEADER + q->qlen;
		b->w.full = false;
		if (q->edns)
			put_opt(&b->w, DNS_UDPSIZE);
	}
	put_header(&h, q->id, flags | (full ? 0x0200u : 0),
	    full ? 0 : count[0], full ? 0 : count[1], q->edns);
	return (b->w.full || h.full ? 0 : b->w.n);
}

size_t
net_dns_rebuild(const uint8_t *p, size_t n, const struct net_dnsq *q,
    uint16_t id, net_dns_ok *ok, void *arg, uint8_t *out, size_t cap,
    struct net_dnsaddr *got, size_t *ngot, bool *tc)
{
	struct rebuild b = { .r = { p, n, 0, false },
	    .w = { out, cap, 0, false }, .ok = ok, .arg = arg, .got = got };
	uint16_t rid, flags, qd, num[2];
	unsigned count[2];
	uint8_t wire[256];
	size_t wn;
	int s, i;

	*ngot = 0;
	rid = get16(&b.r);
	flags = get16(&b.r);
	qd = get16(&b.r);
	num[0] = get16(&b.r);
	num[1] = get16(&b.r);
	(void)get16(&b.r);
	wn = get_name(&b.r, false, wire);
	if (b.r.bad || rid != id || !(flags & 0x8000) || qd != 1 ||
	    wn + 4 != q->qlen || !name_same(wire, wn, q->question, wn) ||
	    get16(&b.r) != q->type || get16(&b.r) != 1 || b.r.bad)
		return (0);
	memcpy(b.current, wire, wn);
	*tc = (flags & 0x0200) != 0;
	b.w.n = DNS_HEADER;
	if (cap < DNS_HEADER)
		return (0);
	put(&b.w, q->question, q->qlen);
	for (s = 0; s < 2; s++) {
		b.count = 0;
		for (i = 0; i < num[s] && !b.r.bad; i++)
			rebuild_record(&b, s == 0);
		count[s] = b.count;
	}
	if (b.r.bad && !*tc)
		return (0);
	*ngot = b.ngot;
	return (rebuild_finish(&b, q, reply_flags(q, flags & 15), count));
}
