/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * DNS messages: what the decoder takes, what it refuses, and what remains of
 * an answer.
 */

#include <atf-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dns_internal.h"

struct msg {
	uint8_t	p[2048];
	size_t	n;
};

static void
m16(struct msg *m, unsigned v)
{

	m->p[m->n++] = (uint8_t)(v >> 8);
	m->p[m->n++] = (uint8_t)v;
}

static void
mname(struct msg *m, const char *name)
{
	size_t len;

	for (; *name != '\0'; name += len + (name[len] == '.')) {
		len = strcspn(name, ".");
		m->p[m->n++] = (uint8_t)len;
		memcpy(m->p + m->n, name, len);
		m->n += len;
	}
	m->p[m->n++] = 0;
}

static void
mhead(struct msg *m, unsigned id, unsigned flags, unsigned qd, unsigned an,
    unsigned ns, unsigned ar)
{

	m->n = 0;
	m16(m, id);
	m16(m, flags);
	m16(m, qd);
	m16(m, an);
	m16(m, ns);
	m16(m, ar);
}

static void
mquery(struct msg *m, const char *name, unsigned type)
{

	mhead(m, 0x1234, 0x0100, 1, 0, 0, 0);
	mname(m, name);
	m16(m, type);
	m16(m, 1);
}

static void
mrr(struct msg *m, const char *name, unsigned type, unsigned ttl,
    const void *data, unsigned len)
{

	if (name == NULL)
		m16(m, 0xc00c);
	else
		mname(m, name);
	m16(m, type);
	m16(m, 1);
	m16(m, 0);
	m16(m, ttl);
	m16(m, len);
	memcpy(m->p + m->n, data, len);
	m->n += len;
}

ATF_TC_WITHOUT_HEAD(query);
ATF_TC_BODY(query, tc)
{
	struct net_dnsq q;
	struct msg m;
	uint8_t out[600];
	size_t n;

	mquery(&m, "WWW.Example.ORG", DNS_A);
	ATF_REQUIRE_EQ(0, net_dns_parse(m.p, m.n, &q));
	ATF_CHECK_STREQ("www.example.org", q.name);
	ATF_CHECK_EQ(0x1234, q.id);
	ATF_CHECK_EQ(DNS_A, q.type);
	ATF_CHECK_EQ(512, q.size);
	ATF_CHECK(!q.edns && q.rd);
	/* What goes to unbound: the question as it was, an id of ours. */
	n = net_dns_ask(&q, 0xabcd, out, sizeof(out));
	ATF_CHECK_EQ(m.n + 11, n);
	ATF_CHECK_EQ(0, memcmp(out, "\xab\xcd\x01\x00\x00\x01", 6));
	ATF_CHECK_EQ(0, memcmp(out + 12, m.p + 12, m.n - 12));
	/* EDNS, with an option that is not passed on. */
	m.p[11] = 1;
	memcpy(m.p + m.n, "\0\0\x29\xff\xff\0\0\x80\0\0\x08\0\x0a\0\x04leak",
	    19);
	m.n += 19;
	ATF_REQUIRE_EQ(0, net_dns_parse(m.p, m.n, &q));
	ATF_CHECK(q.edns);
	ATF_CHECK_EQ(DNS_UDPSIZE, q.size);
	n = net_dns_ask(&q, 1, out, sizeof(out));
	ATF_CHECK(memmem(out, n, "leak", 4) == NULL);
	ATF_CHECK_EQ(0, net_dns_ask(&q, 1, out, 20));
}

ATF_TC_WITHOUT_HEAD(bad_query);
ATF_TC_BODY(bad_query, tc)
{
	struct net_dnsq q;
	struct msg m, c;
	size_t i;
	int r;

	mquery(&m, "example.org", DNS_A);
	for (i = 0; i < m.n; i++)	/* cut anywhere */
		ATF_CHECK_EQ(-1, net_dns_parse(m.p, i, &q));
	c = m;
	c.p[c.n++] = 'x';		/* something behind it */
	ATF_CHECK_EQ(DNS_FORMERR, net_dns_parse(c.p, c.n, &q));
	c = m;
	c.p[2] |= 0x80;			/* an answer */
	ATF_CHECK_EQ(-1, net_dns_parse(c.p, c.n, &q));
	c = m;
	c.p[2] |= 0x28;			/* an update */
	ATF_CHECK_EQ(DNS_NOTIMP, net_dns_parse(c.p, c.n, &q));
	c = m;
	c.p[5] = 2;			/* two questions, or none */
	ATF_CHECK_EQ(-1, net_dns_parse(c.p, c.n, &q));
	c.p[5] = 0;
	ATF_CHECK_EQ(-1, net_dns_parse(c.p, c.n, &q));
	c = m;
	c.p[7] = 1;			/* an answer in a query */
	ATF_CHECK_EQ(DNS_FORMERR, net_dns_parse(c.p, c.n, &q));
	c = m;
	c.p[c.n - 1] = 3;		/* class chaos */
	ATF_CHECK_EQ(DNS_REFUSED, net_dns_parse(c.p, c.n, &q));
	c = m;
	c.p[12] = 0xc0;			/* a pointer in a question */
	ATF_CHECK_EQ(-1, net_dns_parse(c.p, c.n, &q));
	c = m;
	c.p[14] = 0;			/* a byte that no name has */
	ATF_CHECK_EQ(DNS_NXDOMAIN, net_dns_parse(c.p, c.n, &q));
	c.p[14] = '.';
	ATF_CHECK_EQ(DNS_NXDOMAIN, net_dns_parse(c.p, c.n, &q));
	/* The longest name there is, and one byte more. */
	mhead(&c, 1, 0x100, 1, 0, 0, 0);
	for (i = 0; i < 3; i++) {
		c.p[c.n++] = 63;
		memset(c.p + c.n, 'a', 63);
		c.n += 63;
	}
	c.p[c.n++] = 61;
	memset(c.p + c.n, 'b', 61);
	c.n += 61;
	c.p[c.n++] = 0;
	m16(&c, 1);
	m16(&c, 1);
	r = net_dns_parse(c.p, c.n, &q);
	ATF_CHECK_EQ(0, r);
	ATF_CHECK_EQ(253, strlen(q.name));
	c.p[12 + 3 * 64] = 62;
	c.p[12 + 3 * 64 + 62] = 'b';
	ATF_CHECK(net_dns_parse(c.p, c.n, &q) != 0);
}

ATF_TC_WITHOUT_HEAD(reply);
ATF_TC_BODY(reply, tc)
{
	struct net_addr a;
	struct net_dnsq q;
	struct msg m;
	uint8_t out[600];
	size_t n;

	mquery(&m, "gateway.internal", DNS_A);
	ATF_REQUIRE_EQ(0, net_dns_parse(m.p, m.n, &q));
	net_addr_parse("10.78.0.1", &a);
	n = net_dns_reply(&q, 0, &a, 60, out, sizeof(out));
	ATF_CHECK_EQ(m.n + 16, n);
	ATF_CHECK_EQ(0, memcmp(out, "\x12\x34\x81\x80\0\1\0\1\0\0\0\0", 12));
	ATF_CHECK_EQ(0, memcmp(out + m.n, "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4"
	    "\x0a\x4e\0\1", 16));
	n = net_dns_reply(&q, DNS_NXDOMAIN, NULL, 0, out, sizeof(out));
	ATF_CHECK_EQ(m.n, n);
	ATF_CHECK_EQ(3, out[3] & 15);
	ATF_CHECK_EQ(0, net_dns_reply(&q, 0, &a, 60, out, 20));
}

static bool
ok_all(void *arg, const struct net_addr *a)
{

	(void)arg;
	(void)a;
	return (true);
}

static bool
ok_policy(void *arg, const struct net_addr *a)
{

	return (net_dns_tellable(arg, a));
}

/* A chain of aliases, addresses good and bad, and things left out. */
static void
manswer(struct msg *m)
{
	struct msg alias = { .n = 0 };

	mquery(m, "www.example.org", DNS_A);
	m->p[2] = 0x81;
	m->p[3] = 0x80;
	m->p[7] = 6;
	m->p[9] = 1;
	mname(&alias, "cdn.example.net");
	mrr(m, NULL, DNS_CNAME, 30, alias.p, (unsigned)alias.n);
	mrr(m, "cdn.example.net", DNS_A, 20, "\xc6\x33\x64\x01", 4);
	mrr(m, "CDN.example.net", DNS_A, 10, "\x0a\x00\x00\x01", 4);
	mrr(m, "evil.example", DNS_A, 10, "\xc6\x33\x64\x09", 4);
	mrr(m, "cdn.example.net", DNS_NULL, 10, "tunnel", 6);
	mrr(m, "cdn.example.net", DNS_A, 10, "\x7f\x00\x00\x01", 4);
	mrr(m, "example.org", DNS_NS, 10, alias.p, (unsigned)alias.n);
}

ATF_TC_WITHOUT_HEAD(rebuild);
ATF_TC_BODY(rebuild, tc)
{
	struct net_dnsaddr got[DNS_MAXLEARN];
	struct net_policy *p = net_policy_new(NET_OPEN);
	struct net_dnsq q;
	struct co_error e;
	struct msg m;
	uint8_t out[1500];
	size_t n, k, ngot;
	char s[NET_ADDRSTR];
	bool tc_;

	mquery(&m, "www.example.org", DNS_A);
	ATF_REQUIRE_EQ(0, net_dns_parse(m.p, m.n, &q));
	manswer(&m);
	n = net_dns_rebuild(m.p, m.n, &q, 0x1234, ok_policy, p, out,
	    sizeof(out), got, &ngot, &tc_);
	ATF_REQUIRE(n > 0);
	ATF_CHECK(!tc_);
	/* One address is the name's own; private ones are gone. */
	ATF_REQUIRE_EQ(1, ngot);
	ATF_CHECK_STREQ("198.51.100.1", net_addr_print(&got[0].addr, s));
	ATF_CHECK_EQ(20, got[0].ttl);
	ATF_CHECK_EQ(3, out[7]);		/* alias, address, stranger */
	ATF_CHECK_EQ(0, out[9]);
	ATF_CHECK(memmem(out, n, "tunnel", 6) == NULL);
	ATF_CHECK(memmem(out, n, "\x0a\x00\x00\x01", 4) == NULL);
	ATF_CHECK(memmem(out, n, "\x7f\x00\x00\x01", 4) == NULL);
	/* Unless they are allowed. */
	ATF_REQUIRE_EQ(0, net_policy_add(p, NET_ALLOW, "10.0.0.0/24", &e));
	n = net_dns_rebuild(m.p, m.n, &q, 0x1234, ok_policy, p, out,
	    sizeof(out), got, &ngot, &tc_);
	ATF_CHECK_EQ(2, ngot);
	ATF_CHECK_EQ(4, out[7]);
	/* The wrong id, another question, a query. */
	ATF_CHECK_EQ(0, net_dns_rebuild(m.p, m.n, &q, 0x1235, ok_all, NULL,
	    out, sizeof(out), got, &ngot, &tc_));
	q.type = DNS_AAAA;
	ATF_CHECK_EQ(0, net_dns_rebuild(m.p, m.n, &q, 0x1234, ok_all, NULL,
	    out, sizeof(out), got, &ngot, &tc_));
	q.type = DNS_A;
	/* Cut anywhere it is no answer. */
	for (k = 0; k < m.n - 30; k++)
		ATF_CHECK_EQ(0, net_dns_rebuild(m.p, k, &q, 0x1234, ok_all,
		    NULL, out, sizeof(out), got, &ngot, &tc_));
	/* Too long for the one who asked: marked, and empty. */
	n = net_dns_rebuild(m.p, m.n, &q, 0x1234, ok_all, NULL, out, 80, got,
	    &ngot, &tc_);
	ATF_CHECK_EQ(12 + q.qlen, n);
	ATF_CHECK(out[2] & 2);
	ATF_CHECK_EQ(0, out[7]);
	net_policy_free(p);
}

ATF_TC_WITHOUT_HEAD(pointers);
ATF_TC_BODY(pointers, tc)
{
	struct net_dnsaddr got[DNS_MAXLEARN];
	struct net_dnsq q;
	struct msg m;
	uint8_t out[1500];
	size_t n, ngot, at;
	bool tc_;

	mquery(&m, "a.example", DNS_MX);
	ATF_REQUIRE_EQ(0, net_dns_parse(m.p, m.n, &q));
	m.p[2] = 0x81;
	m.p[7] = 1;
	/* Data with a pointer in it is written out. */
	at = m.n;
	mrr(&m, NULL, DNS_MX, 5, "\0\x0a\4mail\xc0\x0e", 9);
	n = net_dns_rebuild(m.p, m.n, &q, 0x1234, ok_all, NULL, out,
	    sizeof(out), got, &ngot, &tc_);
	ATF_REQUIRE(n > 0);
	ATF_CHECK(memmem(out, n, "\0\x10\0\x0a\4mail\7example\0", 18) != NULL);
	/* Pointers to themselves, forwards, into the header. */
	m.p[at + 1] = (uint8_t)at;
	ATF_CHECK_EQ(0, net_dns_rebuild(m.p, m.n, &q, 0x1234, ok_all, NULL,
	    out, sizeof(out), got, &ngot, &tc_));
	m.p[at + 1] = (uint8_t)(at + 4);
	ATF_CHECK_EQ(0, net_dns_rebuild(m.p, m.n, &q, 0x1234, ok_all, NULL,
	    out, sizeof(out), got, &ngot, &tc_));
	m.p[at + 1] = 4;
	ATF_CHECK_EQ(0, net_dns_rebuild(m.p, m.n, &q, 0x1234, ok_all, NULL,
	    out, sizeof(out), got, &ngot, &tc_));
	m.p[at + 1] = 12;
	/* An address of the wrong length; data that ends too early. */
	m.p[at + 3] = DNS_A;
	ATF_CHECK_EQ(0, net_dns_rebuild(m.p, m.n, &q, 0x1234, ok_all, NULL,
	    out, sizeof(out), got, &ngot, &tc_));
	m.p[at + 3] = DNS_SRV;
	ATF_CHECK_EQ(0, net_dns_rebuild(m.p, m.n, &q, 0x1234, ok_all, NULL,
	    out, sizeof(out), got, &ngot, &tc_));
}

ATF_TC_WITHOUT_HEAD(decide);
ATF_TC_BODY(decide, tc)
{
	static const struct {
		enum net_mode	 mode;
		const char	*name;
		unsigned	 type;
		int		 want;
	} t[] = {
		{ NET_OPEN, "any.thing", DNS_A, DNS_V_FORWARD },
		{ NET_OPEN, "any.thing", DNS_TXT, DNS_V_FORWARD },
		{ NET_OPEN, "any.thing", DNS_NULL, DNS_V_REFUSED },
		{ NET_OPEN, "any.thing", 255, DNS_V_REFUSED },
		{ NET_OPEN, "any.thing", 65399, DNS_V_REFUSED },
		{ NET_OPEN, "bad.example", DNS_A, DNS_V_NXDOMAIN },
		{ NET_ALLOWLIST, "good.example", DNS_A, DNS_V_FORWARD },
		{ NET_ALLOWLIST, "good.example", DNS_NULL, DNS_V_REFUSED },
		{ NET_ALLOWLIST, "any.thing", DNS_A, DNS_V_NXDOMAIN },
		{ NET_ALLOWLIST, "x.good.example", DNS_TXT, DNS_V_NXDOMAIN },
		{ NET_AIRGAP, "good.example", DNS_A, DNS_V_NXDOMAIN },
		{ NET_AIRGAP, "gateway.internal", DNS_A, DNS_V_GATEWAY },
		{ NET_AIRGAP, "x.gateway.internal", DNS_A, DNS_V_NXDOMAIN },
		{ NET_DISABLED, "good.example", DNS_A, DNS_V_NXDOMAIN },
		{ NET_DISABLED, "proxy.internal", DNS_A, DNS_V_GATEWAY },
	};
	struct net_policy *p = net_policy_new(NET_OPEN);
	struct co_error e;
	struct net_dnsq q;
	struct msg m;
	size_t i;

	ATF_REQUIRE_EQ(0, net_policy_add(p, NET_ALLOW, "good.example", &e));
	ATF_REQUIRE_EQ(0, net_policy_add(p, NET_DENY, "bad.example", &e));
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		mquery(&m, t[i].name, t[i].type);
		ATF_REQUIRE_EQ(0, net_dns_parse(m.p, m.n, &q));
		p->mode = t[i].mode;
		ATF_CHECK_EQ_MSG(t[i].want, (int)net_dns_decide(p, &q),
		    "%s %s %u", net_mode_name(t[i].mode), t[i].name,
		    t[i].type);
	}
	net_policy_free(p);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, query);
	ATF_TP_ADD_TC(tp, bad_query);
	ATF_TP_ADD_TC(tp, reply);
	ATF_TP_ADD_TC(tp, rebuild);
	ATF_TP_ADD_TC(tp, pointers);
	ATF_TP_ADD_TC(tp, decide);
	return (atf_no_error());
}
