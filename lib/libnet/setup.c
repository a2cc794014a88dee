/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Setting the host up and taking it down again.  What only coppice has
 * (bridges) is made directly; what the host shares is changed under the
 * dead-man switch and confirmed by a smoke test.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deadman.h"
#include "dns_internal.h"

static int
setup_bridges(struct net *n, bool *changed, struct co_error *e)
{
	int i;

	for (i = 0; i < 2; i++)
		if (net_links_bridge(n->links, (enum net_kind)i, changed, e) !=
		    0)
			return (-1);
	net_point("setup-bridges");
	return (0);
}

static int
setup_smoke(struct net *n, const struct net_setup *s, bool operator,
    struct co_error *e)
{
	static const struct net_smoke gateway_only;
	bool relay;
	int r;

	if (s->probe != NULL)
		return (s->probe(n, s->arg, e));
	/* A name is asked for at the relay; the owner may have none yet. */
	relay = s->smoke != NULL && s->smoke->name != NULL &&
	    net_dns_fd(n) < 0;
	if (relay && net_dns_start(n, e) != 0)
		return (-1);
	r = net_smoke_run(n, s->smoke != NULL ? s->smoke : &gateway_only,
	    operator, e);
	if (relay)
		net_dns_stop(n);
	return (r);
}

/* Whether the operator answered before we touched anything. */
static bool
operator_answers(const struct net_smoke *s)
{
	struct net_addr a;

	return (s != NULL && s->operator != NULL &&
	    net_addr_parse(s->operator, &a) == 0 &&
	    net_smoke_ping(&a, net_smoke_ms(s)));
}

static int
setup_change(struct net *n, const struct net_setup *s, struct net_deadman *d,
    struct co_error *e)
{
	bool operator = operator_answers(s->smoke);
	bool fresh = s->dns && !net_unbound_there(n);

	if (net_host_save(n, net_deadman_dir(d), e) != 0)
		return (-1);
	net_point("setup-saved");
	if (net_deadman_arm(d, &n->conf, e) != 0)
		return (-1);
	net_point("setup-armed");
	if (net_host_apply(n, e) != 0)
		return (net_deadman_revert(d, e));
	net_point("setup-applied");
	if ((s->dns && net_unbound_install(n, e) != 0) ||
	    setup_smoke(n, s, operator, e) != 0) {
		(void)net_deadman_revert(d, e);
		if (fresh)
			(void)net_unbound_remove(n, NULL);
		return (-1);
	}
	net_point("setup-proven");
	return (net_deadman_confirm(d, e));
}

int
net_setup(struct net *n, const struct net_setup *s, struct co_error *e)
{
	static const struct net_setup plain;
	struct net_deadman *d;
	bool ready = false, changed = false;
	int r = 0;

	if (s == NULL)
		s = &plain;
	if (net_statefd(n, e) < 0 || setup_bridges(n, &changed, e) != 0 ||
	    net_deadman_open(n, &d, e) != 0)
		return (-1);
	if ((r = net_host_ready(n, &ready, e)) == 0 && !ready)
		r = setup_change(n, s, d, e);
	net_deadman_close(d);
	/* What must last over a boot is written only when it is proven. */
	if (r == 0)
		r = net_host_commit(n, e);
	if (r == 0 && s->dns)
		r = net_unbound_install(n, e);
	return (r);
}

/* No sandbox can try what is left then, but the operator can be asked. */
static int
teardown_change(struct net *n, const struct net_smoke *s,
    struct net_deadman *d, struct co_error *e)
{
	bool operator = operator_answers(s);

	if (net_host_save(n, net_deadman_dir(d), e) != 0)
		return (-1);
	net_point("teardown-saved");
	if (net_deadman_arm(d, &n->conf, e) != 0)
		return (-1);
	net_point("teardown-armed");
	if (net_host_undo(n, e) != 0)
		return (net_deadman_revert(d, e));
	net_point("teardown-undone");
	if (operator && net_smoke_operator(s, e) != 0)
		return (net_deadman_revert(d, e));
	return (net_deadman_confirm(d, e));
}

int
net_teardown(struct net *n, const struct net_smoke *s, struct co_error *e)
{
	struct net_deadman *d;
	int i, r = 0;

	if (n->nsandbox > 0)
		return (co_error_set(e, CO_ENET_INUSE, "net teardown",
		    "%zu sandboxes are attached; remove them first",
		    n->nsandbox));
	net_settle(n);
	if (net_statefd(n, e) < 0 || net_deadman_open(n, &d, e) != 0)
		return (-1);
	if (net_host_touched(n))
		r = teardown_change(n, s, d, e);
	net_deadman_close(d);
	if (r != 0 || net_unbound_remove(n, e) != 0 ||
	    net_host_forget(n, e) != 0)
		return (-1);
	net_point("teardown-forgotten");
	for (i = 0; i < 2; i++)
		if (net_links_unbridge(n->links, (enum net_kind)i, e) != 0)
			return (-1);
	return (0);
}

static void
check_bridges(struct net *n, net_finding *f, void *arg)
{
	char text[128];
	int i;

	for (i = 0; i < 2; i++) {
		bool there = net_links_ready(n->links, (enum net_kind)i);

		snprintf(text, sizeof(text), there ? "%s is up" :
		    "%s is missing or lacks its address; run \"coppicectl net "
		    "setup\"", n->range[i].bridge);
		f(arg, there ? NET_GOOD : NET_BAD, "bridge", text);
	}
}

static void
check_pool(struct net *n, net_finding *f, void *arg)
{
	struct net_usage u;
	char text[160];
	int i;

	for (i = 0; i < 2; i++) {
		net_usage(n, (enum net_kind)i, &u);
		snprintf(text, sizeof(text), "%s: %u of %u addresses in use, "
		    "%u in quarantine, %u used by others",
		    n->conf.subnet[i].range, u.live, u.total, u.quarantined,
		    u.foreign);
		f(arg, u.live + u.foreign >= u.total ? NET_WARN : NET_GOOD,
		    "pool", text);
	}
}

void
net_check(struct net *n, net_finding *f, void *arg)
{
	struct co_error e;
	char name[NET_IFNAME], text[128];
	int r;

	check_bridges(n, f, arg);
	check_pool(n, f, arg);
	if (net_uplink(n, name, &e) != 0)
		f(arg, NET_BAD, "uplink", e.message);
	else {
		snprintf(text, sizeof(text), "%s carries the uplink", name);
		f(arg, NET_GOOD, "uplink", text);
	}
	if ((r = net_deadman_pending(n, &e)) < 0)
		f(arg, NET_WARN, "change", e.message);
	else if (r == 1)
		f(arg, NET_WARN, "change", "a change of the host's rules "
		    "awaits confirmation, or was interrupted; \"coppicectl "
		    "net setup\" settles it");
	net_host_check(n, f, arg);
	net_unbound_check(n, f, arg);
}

int
net_helper_main(int argc, char **argv)
{

	if (argc >= 1 && strcmp(argv[0], "deadman") == 0)
		return (net_deadman_main(argc, argv));
	if (argc >= 1 && strcmp(argv[0], "dns") == 0)
		return (net_dnsd_main(argc, argv));
	return (64);
}
