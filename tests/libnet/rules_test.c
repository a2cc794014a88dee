/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the loader puts into the kernel is what the renderer writes: both are
 * loaded, each in a world of its own, and listed by nft(8).
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nft_linux.h"
#include "world.h"

static const char *const names[] = {
	"open", "open_lists", "allowlist", "allowlist_sets", "airgap",
	"disabled", "limited",
};

static void
listing(struct world *w, char *out, size_t size)
{

	ATF_REQUIRE_EQ(0, w_run(w, w->home, out, size, "nft", "-s", "list",
	    "ruleset", NULL));
}

/* Sets and maps keep no order; sort the lines, commas and braces aside. */
static int
line_cmp(const void *a, const void *b)
{

	return (strcmp(*(char *const *)a, *(char *const *)b));
}

static char *
sorted(char *text)
{
	static char *line[65536];
	char *p, *save = NULL, *out;
	size_t n = 0, i, len = strlen(text) + 2;

	for (p = text; *p != '\0'; p++)
		if (*p == ',' || *p == '{' || *p == '}' || *p == '=')
			*p = '\n';
	for (p = strtok_r(text, "\n", &save); p != NULL;
	    p = strtok_r(NULL, "\n", &save)) {
		p += strspn(p, " \t");
		while (*p != '\0' && p[strlen(p) - 1] == ' ')
			p[strlen(p) - 1] = '\0';
		if (*p != '\0' && n < 65536)
			line[n++] = p;
	}
	qsort(line, n, sizeof(line[0]), line_cmp);
	ATF_REQUIRE((out = malloc(len + n)) != NULL);
	for (i = 0, *out = '\0', p = out; i < n; i++)
		p += sprintf(p, "%s\n", line[i]);
	return (out);
}

static struct net_policy *
policy_of(const char *name)
{
	struct net_policy *p;
	struct co_error e;
	char path[512], *text;
	size_t len;

	snprintf(path, sizeof(path), "%s/golden/%s.policy", TEST_SRCDIR, name);
	ATF_REQUIRE_EQ(0, co_file_read(AT_FDCWD, path, 65536, &text, &len,
	    &e));
	ATF_REQUIRE_EQ(0, net_policy_parse(text, len, &p, &e));
	free(text);
	return (p);
}

ATF_TC(same);
ATF_TC_HEAD(same, tc)
{

	atf_tc_set_md_var(tc, "require.user", "root");
	atf_tc_set_md_var(tc, "require.progs", "ip nft ss");
}
ATF_TC_BODY(same, tc)
{
	static char one[1 << 20], two[1 << 20];
	struct net_policy *p;
	struct net_plan *pl;
	struct net_lease l;
	struct world w;
	struct co_error e;
	char *text, *a, *b;
	size_t i;

	w_open(&w, true);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		p = policy_of(names[i]);
		net_lease_fill(w.net, &l, "0123456789abcdef0123456789abcdef",
		    NET_PAIR, 0x0a4e002a);
		ATF_REQUIRE((pl = net_plan_new(&l, p)) != NULL);
		ATF_REQUIRE_EQ_MSG(0, net_rules_load(w.net->rules, pl, NULL,
		    &e), "%s: %s", names[i], e.message);
		listing(&w, one, sizeof(one));
		ATF_REQUIRE_EQ_MSG(0, net_rules_unload(w.net->rules, pl, &e),
		    "%s: %s", names[i], e.message);
		ATF_CHECK_EQ_MSG(0, w_rules(&w, "0123456789ab"), "%s",
		    names[i]);
		ATF_REQUIRE((text = net_render_nft_plan(&w.conf, pl)) !=
		    NULL);
		ATF_REQUIRE_EQ_MSG(0, net_nft_run(text, NULL, &e), "%s: %s",
		    names[i], e.message);
		listing(&w, two, sizeof(two));
		/* The text passes the readback of what the loader sends. */
		ATF_CHECK_EQ_MSG(1, net_rules_verify(w.net->rules, pl, &e),
		    "%s", names[i]);
		a = sorted(one);
		b = sorted(two);
		ATF_CHECK_MSG(strcmp(a, b) == 0, "%s:\n%s\n-----\n%s",
		    names[i], a, b);
		ATF_REQUIRE_EQ(0, net_rules_unload(w.net->rules, pl, &e));
		free(a);
		free(b);
		free(text);
		net_plan_free(pl);
		net_policy_free(p);
	}
	w_close(&w);
}

/* Every policy can be replaced by every other one. */
ATF_TC(replace);
ATF_TC_HEAD(replace, tc)
{

	atf_tc_set_md_var(tc, "require.user", "root");
	atf_tc_set_md_var(tc, "require.progs", "ip nft ss");
}
ATF_TC_BODY(replace, tc)
{
	const size_t n = sizeof(names) / sizeof(names[0]);
	struct net_policy *from, *to;
	struct world w;
	struct wbox b;
	struct co_error e;
	size_t i, k;

	w_open(&w, true);
	w_box(&w, &b, "mode open\n");
	for (i = 0; i < n; i++)
		for (k = 0; k < n; k++) {
			from = policy_of(names[i]);
			to = policy_of(names[k]);
			ATF_REQUIRE_EQ_MSG(0, net_policy_set(w.net, b.id,
			    from, &e), "%s: %s", names[i], e.message);
			ATF_REQUIRE_EQ_MSG(0, net_policy_set(w.net, b.id, to,
			    &e), "%s to %s: %s", names[i], names[k],
			    e.message);
			net_policy_free(from);
			net_policy_free(to);
		}
	w_unbox(&w, &b);
	ATF_CHECK_EQ(0, w_rules(&w, "sandbox-"));
	ATF_CHECK_EQ(0, w_rules(&w, "set learnt"));
	w_close(&w);
}

/* What differs in the kernel is noticed, whatever it is. */
ATF_TC(readback);
ATF_TC_HEAD(readback, tc)
{

	atf_tc_set_md_var(tc, "require.user", "root");
	atf_tc_set_md_var(tc, "require.progs", "ip nft ss");
}
ATF_TC_BODY(readback, tc)
{
	static const char *const harm[] = {
		"flush chain inet coppice sandbox-%s",
		"insert rule inet coppice sandbox-%s accept",
		"delete element inet coppice deny4-%s-0 { 198.51.100.3 }",
		"add element inet coppice allow4-%s-2 { 203.0.113.0/24 }",
		"flush set bridge coppice pin4 # %s",
		"flush set inet coppice live4 # %s",
		"flush map inet coppice sandbox6 # %s",
	};
	struct net_policy *p = policy_of("allowlist_sets");
	struct net_record r;
	struct net_report rep;
	struct world w;
	struct wbox b;
	struct co_error e;
	char cmd[128];
	size_t i;

	w_open(&w, true);
	w_box(&w, &b, "mode open\n");
	ATF_REQUIRE_EQ(0, net_policy_set(w.net, b.id, p, &e));
	memset(&r, 0, sizeof(r));
	r.lease = b.lease;
	r.policy = p;
	r.alive = true;
	for (i = 0; i < sizeof(harm) / sizeof(harm[0]); i++) {
		struct net_plan *pl = net_plan_new(&b.lease, p);

		ATF_REQUIRE_EQ(1, net_rules_verify(w.net->rules, pl, &e));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(cmd, sizeof(cmd), harm[i], pl->tag);
#pragma GCC diagnostic pop
		ATF_REQUIRE_EQ_MSG(0, w_run(&w, w.home, NULL, 0, "nft", cmd,
		    NULL), "%s", cmd);
		ATF_CHECK_EQ_MSG(0, net_rules_verify(w.net->rules, pl, &e),
		    "not noticed: %s", cmd);
		ATF_REQUIRE_EQ_MSG(0, net_reconcile(w.net, &r, 1, &rep, &e),
		    "%s", e.message);
		ATF_CHECK_EQ_MSG(1, rep.remade, "%s", cmd);
		net_plan_free(pl);
	}
	net_policy_free(p);
	w_close(&w);
}

static atf_error_t
add(atf_tp_t *tp)
{

	ATF_TP_ADD_TC(tp, same);
	ATF_TP_ADD_TC(tp, replace);
	ATF_TP_ADD_TC(tp, readback);
	return (atf_no_error());
}

W_MAIN(add)
