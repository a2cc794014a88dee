/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The address pool against a model, its limits, its messages.
 */

#include <atf-c.h>
#include <stdlib.h>
#include <string.h>

#include "net_internal.h"

static void
range_of(struct net_range *r, const char *range, const char *first,
    const char *last)
{
	struct net_conf c;
	struct co_error e;

	net_conf_default(&c);
	c.subnet[NET_PAIR].range = range;
	c.subnet[NET_PAIR].first = first;
	c.subnet[NET_PAIR].last = last;
	ATF_REQUIRE_EQ_MSG(0, net_range_parse(&c, NET_PAIR, r, &e), "%s",
	    e.message);
}

static struct net_pool *
pool_of(const char *range, const char *reserved, int ms)
{
	struct net_range r;
	struct net_pool *p;
	struct co_error e;

	range_of(&r, range, NULL, NULL);
	ATF_REQUIRE_EQ_MSG(0, net_pool_new(&r, reserved, ms, &p, &e), "%s",
	    e.message);
	return (p);
}

ATF_TC_WITHOUT_HEAD(defaults);
ATF_TC_BODY(defaults, tc)
{
	struct net_usage u;
	struct net_pool *p = pool_of("10.78.0.0/24", NULL, 5000);
	struct co_error e;
	uint32_t host;

	net_pool_usage(p, &u);
	ATF_CHECK_EQ(241, u.total);
	ATF_CHECK_EQ(0, u.live);
	ATF_CHECK_EQ(0, net_pool_alloc(p, 0, &host, &e));
	ATF_CHECK_EQ(0x0a4e000a, host);		/* .10 comes first */
	ATF_CHECK_EQ(0, net_pool_take(p, 0x0a4e00fa, &e));
	ATF_CHECK_EQ(-1, net_pool_take(p, 0x0a4e00fb, &e));
	ATF_CHECK_EQ(CO_ENET_BADADDR, e.code);
	ATF_CHECK_EQ(-1, net_pool_take(p, 0x0a4e0001, &e));
	ATF_CHECK_EQ(-1, net_pool_take(p, 0x0a4e000a, &e));
	ATF_CHECK_EQ(CO_ENET_INUSE, e.code);
	net_pool_free(p);
}

ATF_TC_WITHOUT_HEAD(exhaustion);
ATF_TC_BODY(exhaustion, tc)
{
	struct net_pool *p = pool_of("10.78.0.0/24", NULL, 5000);
	struct co_error e;
	uint32_t host;
	int i;

	for (i = 0; i < 241; i++)
		ATF_REQUIRE_EQ(0, net_pool_alloc(p, 0, &host, &e));
	ATF_REQUIRE_EQ(-1, net_pool_alloc(p, 0, &host, &e));
	ATF_CHECK_EQ(CO_ENET_EXHAUSTED, e.code);
	ATF_CHECK_STREQ("no address left in 10.78.0.0/24 (241 in use); widen "
	    "\"net.jail.range\" in coppice.conf", e.message);
	net_pool_release(p, 0x0a4e0010, 0);
	ATF_REQUIRE_EQ(-1, net_pool_alloc(p, 1, &host, &e));
	ATF_CHECK_STREQ("no address left in 10.78.0.0/24 (240 in use, 1 in "
	    "quarantine for at most 5000 ms); wait, or widen "
	    "\"net.jail.range\" in coppice.conf", e.message);
	ATF_REQUIRE_EQ(0, net_pool_alloc(p, 5000000000, &host, &e));
	ATF_CHECK_EQ(0x0a4e0010, host);
	net_pool_free(p);
}

ATF_TC_WITHOUT_HEAD(reserved);
ATF_TC_BODY(reserved, tc)
{
	struct net_pool *p;
	struct net_range r;
	struct net_usage u;
	struct co_error e;
	uint32_t host;
	unsigned i;

	p = pool_of("10.78.0.0/24", "10.78.0.40-10.78.0.49, 10.78.0.99 "
	    "10.78.0.2", 0);
	net_pool_usage(p, &u);
	ATF_CHECK_EQ(230, u.total);
	for (i = 0; i < u.total; i++) {
		ATF_REQUIRE_EQ(0, net_pool_alloc(p, 0, &host, &e));
		ATF_CHECK((host < 0x0a4e0028 || host > 0x0a4e0031) &&
		    host != 0x0a4e0063);
	}
	ATF_CHECK_EQ(-1, net_pool_alloc(p, 0, &host, &e));
	net_pool_free(p);
	range_of(&r, "10.78.0.0/24", NULL, NULL);
	ATF_CHECK_EQ(-1, net_pool_new(&r, "10.79.0.1", 0, &p, &e));
	ATF_CHECK_EQ(CO_ESYS_CONFIG, e.code);
	ATF_CHECK_EQ(-1, net_pool_new(&r, "10.78.0.9-10.78.0.3", 0, &p, &e));
	ATF_CHECK_EQ(-1, net_pool_new(&r, "bird", 0, &p, &e));
}

ATF_TC_WITHOUT_HEAD(ranges);
ATF_TC_BODY(ranges, tc)
{
	static const char *const bad[] = {
		"10.78.0.0/15", "10.78.0.0/30", "10.78.0.1/24", "10.78.0.0",
		"fd00::/64", "", "10.78.0.0/24x", "10.78.0.0/+24",
	};
	struct net_conf c;
	struct net_range r;
	struct net_pool *p;
	struct net_usage u;
	struct co_error e;
	size_t i;

	net_conf_default(&c);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		c.subnet[0].range = bad[i];
		ATF_CHECK_EQ_MSG(-1, net_range_parse(&c, NET_PAIR, &r, &e),
		    "%s", bad[i]);
		ATF_CHECK_EQ(CO_ESYS_CONFIG, e.code);
		ATF_CHECK(strstr(e.message, "net.jail.range") != NULL);
	}
	p = pool_of("10.0.0.0/16", NULL, 0);
	net_pool_usage(p, &u);
	ATF_CHECK_EQ(65536 - 10 - 5, u.total);
	net_pool_free(p);
	p = pool_of("10.0.0.0/29", NULL, 0);
	net_pool_usage(p, &u);
	ATF_CHECK_EQ(5, u.total);
	net_pool_free(p);
	c.subnet[0].range = "10.0.0.0/24";
	c.subnet[0].first = "10.0.0.200";
	c.subnet[0].last = "10.0.0.100";
	ATF_CHECK_EQ(-1, net_range_parse(&c, NET_PAIR, &r, &e));
	c.subnet[0].last = "10.0.1.1";
	ATF_CHECK_EQ(-1, net_range_parse(&c, NET_PAIR, &r, &e));
	c.subnet[0].last = "10.0.0.255";
	ATF_CHECK_EQ(-1, net_range_parse(&c, NET_PAIR, &r, &e));
}

/*
 * Random operations against a plain array.  The pool must agree on who is
 * live, and never give out what is quarantined, foreign or live.
 */
enum { M_FREE, M_LIVE, M_QUAR, M_FOREIGN };

ATF_TC_WITHOUT_HEAD(model);
ATF_TC_BODY(model, tc)
{
	struct net_pool *p = pool_of("10.9.0.0/26", NULL, 1);
	int state[64] = { 0 };
	co_moment until[64] = { 0 }, now = 0;
	uint32_t base = 0x0a090000, host;
	unsigned i, n, live, turn;
	struct net_usage u;
	struct co_error e;
	int r;

	srandom(7);
	for (turn = 0; turn < 200000; turn++) {
		now += random() % 60000;
		n = (unsigned)(10 + random() % 49);	/* .10 to .58 */
		switch (random() % 6) {
		case 0:
		case 1:
			r = net_pool_alloc(p, now, &host, &e);
			if (r != 0) {
				for (i = 10; i <= 58; i++)
					ATF_REQUIRE(state[i] != M_FREE &&
					    (state[i] != M_QUAR ||
					    until[i] > now));
				break;
			}
			i = host - base;
			ATF_REQUIRE(i >= 10 && i <= 58);
			ATF_REQUIRE(state[i] == M_FREE ||
			    (state[i] == M_QUAR && until[i] <= now));
			state[i] = M_LIVE;
			break;
		case 2:
		case 3:
			net_pool_release(p, base + n, now);
			if (state[n] == M_LIVE) {
				state[n] = M_QUAR;
				until[n] = now + 1000000;
			}
			break;
		case 4:
			r = net_pool_take(p, base + n, &e);
			ATF_REQUIRE_EQ(state[n] == M_LIVE ? -1 : 0, r);
			state[n] = M_LIVE;
			break;
		case 5:
			if (random() % 20 == 0) {
				net_pool_foreign(p, base + n);
				state[n] = M_FOREIGN;
			}
			break;
		}
		for (i = live = 0; i < 64; i++)
			live += state[i] == M_LIVE;
		net_pool_usage(p, &u);
		ATF_REQUIRE_EQ(live, u.live);
	}
	net_pool_free(p);
}

ATF_TC_WITHOUT_HEAD(order);
ATF_TC_BODY(order, tc)
{
	struct net_pool *p = pool_of("10.78.0.0/24", NULL, 0);
	struct co_error e;
	uint32_t host, last = 0;
	int i;

	/* A freed address comes back as late as possible. */
	ATF_REQUIRE_EQ(0, net_pool_alloc(p, 0, &host, &e));
	net_pool_release(p, host, 0);
	for (i = 0; i < 240; i++) {
		ATF_REQUIRE_EQ(0, net_pool_alloc(p, 0, &last, &e));
		ATF_REQUIRE(last != host);
	}
	ATF_REQUIRE_EQ(0, net_pool_alloc(p, 0, &last, &e));
	ATF_CHECK_EQ(host, last);
	net_pool_free(p);
}

ATF_TC_WITHOUT_HEAD(reset);
ATF_TC_BODY(reset, tc)
{
	struct net_pool *p = pool_of("10.78.0.0/24", NULL, 5000);
	struct net_usage u;
	struct co_error e;
	uint32_t host;

	ATF_REQUIRE_EQ(0, net_pool_alloc(p, 0, &host, &e));
	net_pool_foreign(p, 0x0a4e0020);
	net_pool_reset(p, 0);
	net_pool_usage(p, &u);
	ATF_CHECK_EQ(0, u.live);
	ATF_CHECK_EQ(0, u.foreign);
	ATF_CHECK_EQ(2, u.quarantined);
	net_pool_free(p);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, defaults);
	ATF_TP_ADD_TC(tp, exhaustion);
	ATF_TP_ADD_TC(tp, reserved);
	ATF_TP_ADD_TC(tp, ranges);
	ATF_TP_ADD_TC(tp, model);
	ATF_TP_ADD_TC(tp, order);
	ATF_TP_ADD_TC(tp, reset);
	return (atf_no_error());
}
