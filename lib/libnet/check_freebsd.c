/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What on this FreeBSD host would keep sandboxes from working, in words that
 * name the rule.  Looks, never touches.
 */

#include <sys/types.h>
#include <sys/sysctl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deadman.h"
#include "pf_freebsd.h"

static void
check_skip(struct net *n, net_finding *f, void *arg)
{
	char uplink[NET_IFNAME], text[256];
	int i;

	if (net_pf_uplink(&n->conf, uplink, NULL) == 0 &&
	    net_pf_skipped(uplink)) {
		snprintf(text, sizeof(text), "\"set skip on %s\" hides the "
		    "uplink from pf, so nothing is translated there; set "
		    "\"net.uplink\" to the interface that carries it past pf, "
		    "or take %s out of \"set skip\"", uplink, uplink);
		f(arg, NET_BAD, "skip", text);
	}
	for (i = 0; i < 2; i++) {
		if (!net_pf_skipped(n->range[i].bridge))
			continue;
		snprintf(text, sizeof(text), "\"set skip on %s\" lets every "
		    "sandbox pass unfiltered; take it out of pf.conf",
		    n->range[i].bridge);
		f(arg, NET_BAD, "skip", text);
	}
}

/* The first unconditional "block quick" before our anchor, if any. */
static void
check_order(struct net *n, net_finding *f, void *arg)
{
	char word[NET_PF_ANCHOR], out[400], *line, *save = NULL, *text;

	if (net_pf_rules(NULL, &text, NULL) != 0)
		return;
	snprintf(word, sizeof(word), "anchor \"%s/*\"", n->conf.anchor);
	for (line = strtok_r(text, "\n", &save); line != NULL;
	    line = strtok_r(NULL, "\n", &save)) {
		if (strncmp(line, word, strlen(word)) == 0)
			break;
		if (strncmp(line, "block", 5) != 0 ||
		    strstr(line, " quick ") == NULL ||
		    strstr(line, " all") == NULL)
			continue;
		snprintf(out, sizeof(out), "the main rule \"%.200s\" stands "
		    "before %s and decides first; move it behind", line,
		    word);
		f(arg, NET_WARN, "filter", out);
	}
	free(text);
}

static void
check_others(net_finding *f, void *arg)
{
	size_t len = sizeof(int);
	int on = 0;

	if (sysctlbyname("net.inet.ip.fw.enable", &on, &len, NULL, 0) == 0 &&
	    on != 0)
		f(arg, NET_WARN, "filter", "ipfw is on as well and may drop "
		    "what we forward; see \"ipfw list\"");
}

void
net_host_check(struct net *n, net_finding *f, void *arg)
{
	struct co_error e;
	bool ready;
	int r;

	if ((r = net_rules_base_ok(n->rules, &e)) < 0)
		f(arg, NET_BAD, "rules", e.message);
	else if (r == 0)
		f(arg, NET_BAD, "rules", "pf is off, or our anchors are "
		    "missing or were changed by somebody; run \"coppicectl "
		    "net setup\"");
	else
		f(arg, NET_GOOD, "rules", "our anchors are as they should "
		    "be");
	if (r == 1 && net_host_ready(n, &ready, &e) == 0 && !ready)
		f(arg, NET_BAD, "forwarding", "the kernel does not forward, "
		    "or pf does not see the ports of bridges; run "
		    "\"coppicectl net setup\"");
	check_skip(n, f, arg);
	check_order(n, f, arg);
	check_others(f, arg);
}
