/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The renderers against golden files, and pf's text against a parser of its
 * grammar.  On a system with pfctl(8), that reads it as well.
 */

#include "golden.h"
#include "net_internal.h"
#include "pfparse.h"

static const char *const names[] = {
	"open", "open_lists", "allowlist", "allowlist_sets", "airgap",
	"disabled", "limited", "noip6",
};

static void
lease_of(struct net_lease *l, bool six)
{

	memset(l, 0, sizeof(*l));
	strcpy(l->id, "0123456789abcdef0123456789abcdef");
	l->kind = NET_PAIR;
	net_addr_parse("10.78.0.42", &l->addr);
	net_addr_parse("10.78.0.1", &l->gateway);
	l->plen = 24;
	net_mac_of(&l->addr, l->mac);
	strcpy(l->ifname, "cp0123456789ab");
	strcpy(l->inner, "eth0");
	if (!six)
		return;
	net_addr_parse("fd63:6f70:7069:4e::2a", &l->addr6);
	net_addr_parse("fd63:6f70:7069:4e::1", &l->gateway6);
	l->plen6 = 64;
}

static void
golden(const char *name, const char *ext, char *got)
{
	char file[64];

	snprintf(file, sizeof(file), "%s.%s", name, ext);
	golden_check(file, got);
}

static char *
slurp(const char *name, const char *ext)
{
	char file[64];

	snprintf(file, sizeof(file), "%s.%s", name, ext);
	return (golden_read(file));
}

static void
each(void (*f)(const char *, const struct net_conf *,
    const struct net_lease *, const struct net_policy *))
{
	struct net_policy *p;
	struct net_conf c;
	struct net_lease l;
	struct co_error e;
	char *text;
	size_t i;

	net_conf_default(&c);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		text = slurp(names[i], "policy");
		ATF_REQUIRE_EQ_MSG(0, net_policy_parse(text, strlen(text), &p,
		    &e), "%s: %s", names[i], e.message);
		free(text);
		lease_of(&l, strcmp(names[i], "noip6") != 0);
		f(names[i], &c, &l, p);
		net_policy_free(p);
	}
}

static void
one_nft(const char *name, const struct net_conf *c, const struct net_lease *l,
    const struct net_policy *p)
{

	golden(name, "nft", net_render_nft(c, l, p));
}

static void
one_pf(const char *name, const struct net_conf *c, const struct net_lease *l,
    const struct net_policy *p)
{

	golden(name, "pf", net_render_pf(c, l, p));
}

ATF_TC_WITHOUT_HEAD(nft);
ATF_TC_BODY(nft, tc)
{
	struct net_conf c;

	each(one_nft);
	net_conf_default(&c);
	golden("base", "nft", net_render_nft_base(&c));
	c.ip6 = false;
	golden("base_noip6", "nft", net_render_nft_base(&c));
}

ATF_TC_WITHOUT_HEAD(pf);
ATF_TC_BODY(pf, tc)
{
	struct net_conf c;

	each(one_pf);
	net_conf_default(&c);
	golden("base", "pf", net_render_pf_base(&c, "vm-public"));
	golden("last", "pf", net_render_pf_last(&c));
}

static void
one_parse(const char *name, const struct net_conf *c,
    const struct net_lease *l, const struct net_policy *p)
{
	struct pf_stats st;
	char err[64], *text;
	unsigned line;

	ATF_REQUIRE((text = net_render_pf(c, l, p)) != NULL);
	line = pf_parse(text, &st, err, sizeof(err));
	ATF_CHECK_EQ_MSG(0, line, "%s.pf line %u: %s\n%s", name, line, err,
	    text);
	ATF_CHECK_EQ_MSG(0, st.unscoped, "%s has a rule for everybody", name);
	ATF_CHECK(st.blocks > 0);
	ATF_CHECK_EQ(0, st.nats);
	free(text);
}

ATF_TC_WITHOUT_HEAD(grammar);
ATF_TC_BODY(grammar, tc)
{
	static const char *const bad[] = {
		"pass quick inet from 10.0.0.1 to <nobody>\n",
		"pass quick inet from fd00::1 to any\n",
		"pass quick inet proto tcp from 10.0.0.1 port 9:8 to any\n",
		"pass quick inet proto icmp6 from 10.0.0.1 to any\n",
		"block drop quick from 10.0.0.1 to any keep state\n",
		"pass from any\n", "pass from any to any to any\n",
		"pass out quick on re0 all tag\n", "nat on re0 to any\n",
		"table <t> { }\n", "table <t> { 10.0.0.1 10.0.0.2 }\n",
		"block all\nnat on re0 from any to any -> (re0)\n",
		"block all\ntable <t> { 10.0.0.1 }\n", "let it be\n",
		"pass all dnpipe (1)\n", "anchor cube\n",
		"table <a23456789012345678901234567890123> { 1.2.3.4 }\n",
	};
	struct pf_stats st;
	struct net_conf c;
	char err[64], *text;
	size_t i;

	each(one_parse);
	net_conf_default(&c);
	text = net_render_pf_base(&c, "vm-public");
	ATF_CHECK_EQ_MSG(0, pf_parse(text, &st, err, sizeof(err)), "%s", err);
	ATF_CHECK_EQ(4, st.nats);
	free(text);
	text = net_render_pf_last(&c);
	ATF_CHECK_EQ_MSG(0, pf_parse(text, &st, err, sizeof(err)), "%s", err);
	ATF_CHECK_EQ(2, st.blocks);
	free(text);
	/* The parser must be able to say no. */
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ATF_CHECK_MSG(pf_parse(bad[i], &st, err, sizeof(err)) != 0,
		    "accepted: %s", bad[i]);
}

static void
one_pfctl(const char *name, const struct net_conf *c,
    const struct net_lease *l, const struct net_policy *p)
{
	const char *argv[] = { "/sbin/pfctl", "-nf", "-", NULL };
	struct co_run r = { .argv = argv };
	struct co_result res;
	struct co_error e;
	char *text;

	ATF_REQUIRE((text = net_render_pf(c, l, p)) != NULL);
	r.input = text;
	r.inputlen = strlen(text);
	r.deadline = co_after(60000);
	ATF_REQUIRE_EQ_MSG(0, co_run(&r, &res, &e), "%s", e.message);
	ATF_CHECK_EQ_MSG(0, res.status, "%s: %s\n%s", name, res.out, text);
	free(res.out);
	free(text);
}

ATF_TC(pfctl);
ATF_TC_HEAD(pfctl, tc)
{

	atf_tc_set_md_var(tc, "require.progs", "/sbin/pfctl");
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(pfctl, tc)
{

	each(one_pfctl);
}

ATF_TC_WITHOUT_HEAD(pfconf);
ATF_TC_BODY(pfconf, tc)
{
	static const char plain[] =
	    "ext=\"re0\"\nset skip on lo0\nscrub in all\n"
	    "nat on $ext from 192.168.0.0/16 to any -> ($ext)\n"
	    "block in all\npass out all\n";
	struct co_error e;
	char *out, *again, *back;

	ATF_REQUIRE_EQ_MSG(0, net_pf_conf_merge(plain, "cube", false, &out,
	    &e), "%s", e.message);
	ATF_CHECK_STREQ("ext=\"re0\"\nset skip on lo0\nscrub in all\n"
	    "# coppice nat begin\nnat-anchor \"cube/*\"\n"
	    "# coppice nat end\n"
	    "nat on $ext from 192.168.0.0/16 to any -> ($ext)\n"
	    "# coppice filter begin\nanchor \"cube/*\"\n"
	    "# coppice filter end\nblock in all\npass out all\n", out);
	ATF_REQUIRE_EQ(0, net_pf_conf_merge(out, "cube", false, &again, &e));
	ATF_CHECK_STREQ(out, again);
	ATF_REQUIRE_EQ(0, net_pf_conf_merge(out, "cube", true, &back, &e));
	ATF_CHECK_STREQ(plain, back);
	free(out);
	free(again);
	free(back);

	/* Hand-made lines are left to whoever made them. */
	ATF_REQUIRE_EQ(0, net_pf_conf_merge("nat-anchor \"cube/*\"\n"
	    "anchor \"cube/*\"\npass all\n", "cube", false, &out, &e));
	ATF_CHECK_STREQ("nat-anchor \"cube/*\"\nanchor \"cube/*\"\n"
	    "pass all\n", out);
	free(out);
	/* No translation, no newline at the end, a continued line. */
	ATF_REQUIRE_EQ(0, net_pf_conf_merge("set skip on \\\n lo0\npass all",
	    "cube", false, &out, &e));
	ATF_CHECK_STREQ("set skip on \\\n lo0\n"
	    "# coppice nat begin\nnat-anchor \"cube/*\"\n# coppice nat end\n"
	    "# coppice filter begin\nanchor \"cube/*\"\n"
	    "# coppice filter end\npass all", out);
	free(out);
	ATF_REQUIRE_EQ(0, net_pf_conf_merge("", "cube", false, &out, &e));
	ATF_CHECK_STREQ("# coppice nat begin\nnat-anchor \"cube/*\"\n"
	    "# coppice nat end\n# coppice filter begin\nanchor \"cube/*\"\n"
	    "# coppice filter end\n", out);
	free(out);
	/* A begin without an end is refused, not guessed at. */
	ATF_CHECK_EQ(-1, net_pf_conf_merge("# coppice nat begin\npass all\n",
	    "cube", false, &out, &e));
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, nft);
	ATF_TP_ADD_TC(tp, pf);
	ATF_TP_ADD_TC(tp, grammar);
	ATF_TP_ADD_TC(tp, pfctl);
	ATF_TP_ADD_TC(tp, pfconf);
	return (atf_no_error());
}
