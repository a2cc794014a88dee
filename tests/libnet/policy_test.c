/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Policies: what entries mean, which are refused, the canonical text, and
 * that a plan says the same as the policy that it was made from.
 */

#include <atf-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net_internal.h"

static struct net_policy *
policy_of(const char *text)
{
	struct net_policy *p;
	struct co_error e;

	ATF_REQUIRE_EQ_MSG(0, net_policy_parse(text, strlen(text), &p, &e),
	    "%s", e.message);
	return (p);
}

static bool
permits(const struct net_policy *p, const char *addr, uint8_t proto,
    uint16_t port)
{
	struct net_addr a;

	ATF_REQUIRE_EQ(0, net_addr_parse(addr, &a));
	return (net_policy_permits(p, &a, proto, port));
}

ATF_TC_WITHOUT_HEAD(canonical);
ATF_TC_BODY(canonical, tc)
{
	static const char in[] =
	    "# a comment\n\n  mode   allowlist\r\n"
	    "deny 198.51.100.7\n"
	    "allow Example.ORG.\n"
	    "allow *.example.net:443/tcp\n"
	    "allow 198.51.100.0/24:443/tcp\n"
	    "allow 198.51.100.0/24:443/tcp\n"
	    "allow 203.0.113.5:53\n"
	    "allow [2001:db8::/32]:8000-8099/udp\n"
	    "allow 2001:db8:1::1\n"
	    "allow 2001:db8:2::/48/icmp\n"
	    "allow 192.0.2.0/25/icmp\n"
	    "allow bad.cafe\n"
	    "up 8m\ndown 1g\nforwards yes\n";
	static const char out[] =
	    "mode allowlist\n"
	    "allow 192.0.2.0/25/icmp\n"
	    "allow 203.0.113.5:53/tcp\n"
	    "allow 198.51.100.0/24:443/tcp\n"
	    "allow 203.0.113.5:53/udp\n"
	    "allow [2001:db8:1::1]\n"
	    "allow [2001:db8::/32]:8000-8099/udp\n"
	    "allow [2001:db8:2::/48]/icmp6\n"
	    "allow bad.cafe\n"
	    "allow example.org\n"
	    "allow *.example.net:443/tcp\n"
	    "deny 198.51.100.7\n"
	    "up 8000000\ndown 1000000000\nforwards yes\n";
	struct net_policy *p = policy_of(in), *q;
	char *text = net_policy_print(p);

	ATF_CHECK_STREQ(out, text);
	q = policy_of(text);
	ATF_CHECK(net_policy_equal(p, q));
	q->mode = NET_OPEN;
	ATF_CHECK(!net_policy_equal(p, q));
	net_policy_free(q);
	q = net_policy_copy(p);
	ATF_CHECK(net_policy_equal(p, q));
	net_policy_free(q);
	net_policy_free(p);
	free(text);
}

ATF_TC_WITHOUT_HEAD(refused);
ATF_TC_BODY(refused, tc)
{
	static const char *const bad[] = {
		"allow", "allow 1.2.3.4/33", "allow 1.2.3.4/24",
		"allow 1.2.3.0/24:0/tcp", "allow 1.2.3.4:65536/tcp",
		"allow 1.2.3.4:90-80/tcp", "allow 1.2.3.4:80/icmp",
		"allow 1.2.3.4/bird", "allow 1.2.3.4/0/tcp/x",
		"allow [1.2.3.4]:80/tcp", "allow [2001:db8::1",
		"allow [2001:db8::1]x", "allow 2001:db8::1/129",
		"allow 127.0.0.1", "allow 127.0.0.0/8", "allow ::1",
		"allow 224.0.0.1", "allow 255.255.255.255", "allow ff02::1",
		"allow a..b", "allow .", "allow *.", "allow -", "allow a b/c",
		"allow foo!bar", "allow 1.2.3", "allow 1.2.3.4.5",
		"allow exa mple", "mode", "mode shut", "up 7k", "up 1t",
		"up -1", "up 99999999999g", "forwards maybe", "colour blue",
		"allow 1.2.3.4:", "allow 1.2.3.4:80-/tcp", "allow :80/tcp",
		"allow 1.2.3.4/256", "allow 1.2.3.4/24/0",
	};
	struct net_policy *p;
	struct co_error e;
	char line[80];
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(line, sizeof(line), "mode open\n%s\n", bad[i]);
		if (strcmp(bad[i], "allow a b/c") == 0 ||
		    strcmp(bad[i], "allow exa mple") == 0 ||
		    strcmp(bad[i], "allow -") == 0)
			continue;
		ATF_CHECK_EQ_MSG(-1, net_policy_parse(line, strlen(line), &p,
		    &e), "accepted: %s", bad[i]);
		ATF_CHECK_EQ(CO_ENET_POLICY, e.code);
		ATF_CHECK_MSG(strstr(e.message, "line 2") != NULL, "%s",
		    e.message);
	}
	ATF_CHECK_EQ(-1, net_policy_parse("mode o\0pen\n", 11, &p, &e));
}

ATF_TC_WITHOUT_HEAD(limit);
ATF_TC_BODY(limit, tc)
{
	struct net_policy *p = net_policy_new(NET_OPEN);
	struct co_error e;
	char entry[32];
	int i, r = 0;

	for (i = 0; i < 2000 && r == 0; i++) {
		snprintf(entry, sizeof(entry), "198.51.%d.%d", i / 250,
		    i % 250);
		r = net_policy_add(p, NET_DENY, entry, &e);
	}
	ATF_CHECK_EQ(-1, r);
	ATF_CHECK(p->ndest[NET_DENY] <= NET_MAXENTRIES);
	ATF_CHECK(p->ndest[NET_DENY] >= NET_MAXENTRIES - 2);
	net_policy_free(p);
}

ATF_TC_WITHOUT_HEAD(meaning);
ATF_TC_BODY(meaning, tc)
{
	struct net_policy *p;

	p = policy_of("mode open\ndeny 198.51.100.0/24:25/tcp\n"
	    "allow 192.168.1.7\nallow 0.0.0.0/0\n");
	ATF_CHECK(permits(p, "203.0.113.1", 6, 25));
	ATF_CHECK(!permits(p, "198.51.100.3", 6, 25));
	ATF_CHECK(permits(p, "198.51.100.3", 6, 26));
	ATF_CHECK(permits(p, "198.51.100.3", 1, 0));
	ATF_CHECK(permits(p, "192.168.1.7", 6, 22));
	ATF_CHECK(!permits(p, "192.168.1.8", 6, 22));
	ATF_CHECK(!permits(p, "10.78.0.10", 6, 22));
	ATF_CHECK(!permits(p, "127.0.0.1", 6, 22));
	ATF_CHECK(!permits(p, "169.254.169.254", 6, 80));
	ATF_CHECK(!permits(p, "::ffff:10.0.0.1", 6, 80));
	ATF_CHECK(!permits(p, "64:ff9b::a00:1", 6, 80));
	ATF_CHECK(!permits(p, "fe80::1", 6, 80));
	ATF_CHECK(permits(p, "2001:db8::1", 6, 80));
	net_policy_free(p);

	p = policy_of("mode allowlist\nallow 198.51.100.0/24:443/tcp\n"
	    "allow 10.9.0.0/16\ndeny 198.51.100.9\ndeny 10.9.9.0/24\n");
	ATF_CHECK(permits(p, "198.51.100.1", 6, 443));
	ATF_CHECK(!permits(p, "198.51.100.1", 17, 443));
	ATF_CHECK(!permits(p, "198.51.100.1", 6, 80));
	ATF_CHECK(!permits(p, "198.51.100.9", 6, 443));
	ATF_CHECK(permits(p, "10.9.1.1", 17, 9));
	ATF_CHECK(!permits(p, "10.9.9.1", 17, 9));
	ATF_CHECK(!permits(p, "203.0.113.1", 6, 443));
	net_policy_free(p);

	p = policy_of("mode airgap\nallow 198.51.100.0/24\n");
	ATF_CHECK(!permits(p, "198.51.100.1", 6, 443));
	p->mode = NET_DISABLED;
	ATF_CHECK(!permits(p, "198.51.100.1", 6, 443));
	net_policy_free(p);
}

ATF_TC_WITHOUT_HEAD(names);
ATF_TC_BODY(names, tc)
{
	struct net_policy *p;

	p = policy_of("mode allowlist\nallow example.org\n"
	    "allow *.example.net\ndeny bad.example.net\n");
	ATF_CHECK(net_policy_resolves(p, "example.org"));
	ATF_CHECK(net_policy_resolves(p, "EXAMPLE.org"));
	ATF_CHECK(!net_policy_resolves(p, "www.example.org"));
	ATF_CHECK(!net_policy_resolves(p, "notexample.org"));
	ATF_CHECK(net_policy_resolves(p, "a.b.example.net"));
	ATF_CHECK(!net_policy_resolves(p, "example.net"));
	ATF_CHECK(!net_policy_resolves(p, ".example.net"));
	ATF_CHECK(!net_policy_resolves(p, "bad.example.net"));
	p->mode = NET_OPEN;
	ATF_CHECK(net_policy_resolves(p, "anything.else"));
	ATF_CHECK(!net_policy_resolves(p, "bad.example.net"));
	p->mode = NET_AIRGAP;
	ATF_CHECK(!net_policy_resolves(p, "example.org"));
	net_policy_free(p);
}

/* What the plan's first match says, as the kernel would find it. */
static bool
plan_permits(const struct net_plan *pl, const struct net_addr *a,
    uint8_t proto, uint16_t port)
{
	const struct net_rule *r;
	const struct net_set *s;
	size_t i, k;
	bool hit;

	for (i = 0; i < pl->through.n; i++) {
		r = &pl->through.rule[i];
		if ((r->family != 0 && r->family != a->family) ||
		    !net_flow_has(&r->flow, proto, port))
			continue;
		hit = r->match == NET_M_ANY;
		if (r->match == NET_M_SPECIAL)
			hit = net_special(a, net_addr_bits(a));
		if (r->match == NET_M_PREFIX)
			hit = net_prefix_has(&r->prefix.addr, r->prefix.plen,
			    a);
		if (r->match == NET_M_SET) {
			s = &pl->set[r->set];
			for (k = 0; k < s->nprefix && !hit; k++)
				hit = net_prefix_has(&s->prefix[k].addr,
				    s->prefix[k].plen, a);
		}
		if (hit)
			return (r->pass);
	}
	ATF_REQUIRE_MSG(false, "a plan must decide");
	return (false);
}

static void
random_addr(struct net_addr *a)
{
	static const char *const pool[] = {
		"198.51.100.0", "10.9.0.0", "192.168.1.0", "203.0.113.0",
		"2001:db8::", "fd00::", "0.0.0.0", "::",
	};
	int i;

	net_addr_parse(pool[random() % 8], a);
	for (i = 0; i < 2; i++)
		a->b[net_addr_len(a) - 1] ^= (uint8_t)(random() % 8);
	if (random() % 4 == 0)
		a->b[1] ^= (uint8_t)(random() & 3);
}

static void
random_entry(char *buf, size_t size)
{
	static const char *const tail[] = {
		"", "/tcp", "/udp", ":80/tcp", ":80-90/tcp", ":53", "/icmp",
	};
	struct co_buf b = { 0 };
	struct net_prefix p;
	unsigned bit;
	char *s;

	random_addr(&p.addr);
	p.plen = (uint8_t)((unsigned long)random() %
	    (net_addr_bits(&p.addr) + 1));
	if (random() % 2 == 0)
		p.plen = (uint8_t)net_addr_bits(&p.addr);
	for (bit = p.plen; bit < net_addr_bits(&p.addr); bit++)
		p.addr.b[bit / 8] &= (uint8_t)~(0x80 >> (bit % 8));
	net_prefix_print(&b, &p);
	s = co_buf_take(&b);
	snprintf(buf, size, p.addr.family == 6 ? "[%s]%s" : "%s%s", s,
	    tail[random() % 7]);
	free(s);
}

ATF_TC_WITHOUT_HEAD(plan);
ATF_TC_BODY(plan, tc)
{
	static const uint8_t protos[] = { 6, 17, 1, 58, 47 };
	struct net_policy *p;
	struct net_plan *pl;
	struct net_lease l;
	struct net_addr a;
	struct co_error e;
	char entry[80];
	uint8_t proto;
	uint16_t port;
	int turn, i, n, passed = 0;

	memset(&l, 0, sizeof(l));
	strcpy(l.id, "0123456789abcdef0123456789abcdef");
	net_addr_parse("10.78.0.42", &l.addr);
	net_addr_parse("fd63::2a", &l.addr6);
	srandom(11);
	for (turn = 0; turn < 3000; turn++) {
		p = net_policy_new(random() % 4 == 0 ? NET_AIRGAP :
		    random() % 2 ? NET_OPEN : NET_ALLOWLIST);
		n = (int)(random() % 12);
		for (i = 0; i < n; i++) {
			random_entry(entry, sizeof(entry));
			(void)net_policy_add(p, random() % 2 ? NET_ALLOW :
			    NET_DENY, entry, &e);
		}
		ATF_REQUIRE((pl = net_plan_new(&l, p)) != NULL);
		for (i = 0; i < 60; i++) {
			random_addr(&a);
			proto = protos[random() % 5];
			port = (uint16_t)(random() % 2 ? 80 : random() % 100);
			if (proto != 6 && proto != 17)
				port = 0;
			ATF_REQUIRE_EQ(net_policy_permits(p, &a, proto, port),
			    plan_permits(pl, &a, proto, port));
			passed += net_policy_permits(p, &a, proto, port);
		}
		net_plan_free(pl);
		net_policy_free(p);
	}
	ATF_CHECK(passed > 1000);	/* it was not all "no" */
}

ATF_TC_WITHOUT_HEAD(mac);
ATF_TC_BODY(mac, tc)
{
	struct net_addr a, ll;
	uint8_t m[NET_MACLEN];
	char s[NET_ADDRSTR];

	net_addr_parse("10.77.0.42", &a);
	net_mac_of(&a, m);
	ATF_CHECK_EQ(0, memcmp(m, "\x06\x00\x0a\x4d\x00\x2a", 6));
	net_linklocal_of(m, &ll);
	ATF_CHECK_STREQ("fe80::400:aff:fe4d:2a", net_addr_print(&ll, s));
}

ATF_TC_WITHOUT_HEAD(cmdline);
ATF_TC_BODY(cmdline, tc)
{
	struct net_lease l;
	char buf[160];

	memset(&l, 0, sizeof(l));
	net_addr_parse("10.77.0.10", &l.addr);
	net_addr_parse("10.77.0.1", &l.gateway);
	l.plen = 24;
	ATF_CHECK_EQ(0, net_cmdline(&l, buf, sizeof(buf)));
	ATF_CHECK_STREQ("coppice.ip=10.77.0.10 coppice.gw=10.77.0.1 "
	    "coppice.mask=24", buf);
	net_addr_parse("fd00::a", &l.addr6);
	net_addr_parse("fd00::1", &l.gateway6);
	l.plen6 = 64;
	ATF_CHECK_EQ(0, net_cmdline(&l, buf, sizeof(buf)));
	ATF_CHECK_STREQ("coppice.ip=10.77.0.10 coppice.gw=10.77.0.1 "
	    "coppice.mask=24 coppice.ip6=fd00::a coppice.gw6=fd00::1 "
	    "coppice.mask6=64", buf);
	ATF_CHECK_EQ(-1, net_cmdline(&l, buf, 80));
	ATF_CHECK_EQ(-1, net_cmdline(&l, buf, 10));
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, canonical);
	ATF_TP_ADD_TC(tp, refused);
	ATF_TP_ADD_TC(tp, limit);
	ATF_TP_ADD_TC(tp, meaning);
	ATF_TP_ADD_TC(tp, names);
	ATF_TP_ADD_TC(tp, plan);
	ATF_TP_ADD_TC(tp, mac);
	ATF_TP_ADD_TC(tp, cmdline);
	return (atf_no_error());
}
