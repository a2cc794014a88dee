/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Lives of sandboxes: many at once, thousands one after another, and what
 * remains when the process that manages them is killed at any step.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deadman.h"
#include "world.h"

/*
 * The library calls this at its marks.  In a child of a kill test the
 * countdown ends the process; everywhere else it is off.
 */
static int countdown;
static volatile char *where;
static struct world *cut_off;		/* from the operator, by a teardown */

void
net_point(const char *name)
{

	if (cut_off != NULL && strcmp(name, "teardown-undone") == 0)
		ATF_REQUIRE_EQ(0, w_run(cut_off, cut_off->home, NULL, 0,
		    "nft", "add table ip cut; add chain ip cut c { type "
		    "filter hook output priority 0; }; add rule ip cut c ip "
		    "daddr " W_LAN4 " drop", NULL));
	if (countdown > 0 && --countdown == 0) {
		if (where != NULL)
			snprintf((char *)(uintptr_t)where, 64, "%s", name);
		kill(getpid(), SIGKILL);
		for (;;)
			pause();
	}
}

#define	NEEDS(tc)							\
	atf_tc_set_md_var(tc, "require.user", "root");			\
	atf_tc_set_md_var(tc, "require.progs", "ip nft ss");		\
	atf_tc_set_md_var(tc, "timeout", "900")

static int
fd_count(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return (n);
}

/* Everything of ours that the kernel has for sandboxes. */
static void
check_clean(struct world *w, const char *when)
{
	char out[65536];

	ATF_CHECK_EQ_MSG(0, w_links(w), "links remain: %s", when);
	ATF_CHECK_EQ_MSG(0, w_rules(w, "sandbox-"), "rules remain: %s", when);
	ATF_CHECK_EQ_MSG(0, w_rules(w, "blocked-"), "rules remain: %s", when);
	ATF_CHECK_EQ_MSG(0, w_rules(w, "06:00:0a"), "pins remain: %s", when);
	ATF_REQUIRE_EQ(0, w_run(w, w->home, out, sizeof(out), "ip", "neigh",
	    "show", "nud", "permanent", NULL));
	ATF_CHECK_MSG(strstr(out, "10.7") == NULL, "neighbours remain: %s: %s",
	    when, out);
	ATF_REQUIRE_EQ(0, w_run(w, w->home, out, sizeof(out), "bridge", "fdb",
	    NULL));
	ATF_CHECK_MSG(strstr(out, "static") == NULL, "fdb remains: %s: %s",
	    when, out);
}

ATF_TC(crowd);
ATF_TC_HEAD(crowd, tc)
{

	NEEDS(tc);
}
ATF_TC_BODY(crowd, tc)
{
	static struct wbox box[241];
	struct net_policy *p = w_policy("mode open\n");
	struct net_attach a;
	struct net_lease l;
	struct net_usage u;
	struct world w;
	struct co_error e;
	char id[CO_IDSIZE], other[NET_ADDRSTR];
	int i;

	w_open(&w, true);
	for (i = 0; i < 241; i++)
		w_box(&w, &box[i], i % 3 == 0 ? "mode open\n" : i % 3 == 1 ?
		    "mode allowlist\nallow " W_INET4 ":8080/tcp\n"
		    "allow example.org:443/tcp\n" : "mode airgap\n");
	net_usage(w.net, NET_PAIR, &u);
	ATF_CHECK_EQ(241, u.live);
	ATF_CHECK_EQ(241, w_links(&w));
	/* The next one is refused, in so many words. */
	memset(&a, 0, sizeof(a));
	co_id_make(id);
	a.id = id;
	a.netns = box[0].ns;
	a.policy = p;
	ATF_REQUIRE_EQ(-1, net_attach(w.net, &a, &l, &e));
	ATF_CHECK_EQ(CO_ENET_EXHAUSTED, e.code);
	ATF_CHECK_STREQ(id, e.what);
	ATF_CHECK_STREQ("no address left in 10.78.0.0/24 (241 in use); widen "
	    "\"net.jail.range\" in coppice.conf", e.message);
	/* The same id twice is refused as well. */
	a.id = box[7].id;
	ATF_REQUIRE_EQ(-1, net_attach(w.net, &a, &l, &e));
	ATF_CHECK_EQ(CO_ENET_INUSE, e.code);
	/* Each still gets what its policy says. */
	for (i = 0; i < 241; i += 40) {
		net_addr_print(&box[(i + 1) % 241].lease.addr, other);
		ATF_CHECK_EQ(i % 3 != 2, w_tcp(&w, box[i].ns, W_INET4,
		    W_PORT));
		ATF_CHECK(w_ping(&w, box[i].ns, "10.78.0.1"));
		ATF_CHECK(!w_ping(&w, box[i].ns, other));
	}
	for (i = 0; i < 241; i++)
		w_unbox(&w, &box[i]);
	net_settle(w.net);
	net_usage(w.net, NET_PAIR, &u);
	ATF_CHECK_EQ(0, u.live);
	check_clean(&w, "after the crowd");
	net_policy_free(p);
	w_close(&w);
}

ATF_TC(quarantine);
ATF_TC_HEAD(quarantine, tc)
{

	NEEDS(tc);
}
ATF_TC_BODY(quarantine, tc)
{
	struct net_conf c;
	struct net *n;
	struct world w;
	struct wbox a;
	struct co_error e;
	struct net_addr first;
	char out[256];

	w_open(&w, true);
	/* A pool of one address, with a quarantine. */
	c = w.conf;
	c.subnet[NET_PAIR].first = c.subnet[NET_PAIR].last = "10.78.0.10";
	c.quarantine_ms = 2000;
	ATF_REQUIRE_EQ(0, net_open(&c, &n, &e));
	net_close(w.net);
	w.net = n;
	w_box(&w, &a, "mode open\n");
	first = a.lease.addr;
	w_unbox(&w, &a);
	net_settle(n);
	{
		struct net_policy *p = w_policy("mode open\n");
		struct net_attach at = { .id = a.id, .policy = p };
		struct net_lease l;

		ATF_REQUIRE_EQ(-1, net_attach(n, &at, &l, &e));
		ATF_CHECK_EQ(CO_ENET_EXHAUSTED, e.code);
		ATF_CHECK_MSG(strstr(e.message, "1 in quarantine") != NULL,
		    "%s", e.message);
		net_policy_free(p);
	}
	sleep(3);
	w_box(&w, &a, "mode open\n");
	ATF_CHECK_EQ(0, net_addr_cmp(&first, &a.lease.addr));
	w_unbox(&w, &a);
	net_settle(n);
	/* One that the host itself has is passed over, also if wanted. */
	ATF_REQUIRE_EQ(0, w_run(&w, w.home, out, sizeof(out), "ip", "addr",
	    "add", "10.78.0.10/32", "dev", "lo", NULL));
	sleep(3);
	{
		struct net_policy *p = w_policy("mode open\n");
		struct net_attach at = { .id = a.id, .policy = p,
		    .want = &first };
		struct net_lease l;

		ATF_REQUIRE_EQ(-1, net_attach(n, &at, &l, &e));
		ATF_CHECK_EQ(CO_ENET_INUSE, e.code);
		at.want = NULL;
		ATF_REQUIRE_EQ(-1, net_attach(n, &at, &l, &e));
		ATF_CHECK_MSG(strstr(e.message, "1 used by others") != NULL,
		    "%s", e.message);
		net_policy_free(p);
	}
	ATF_REQUIRE_EQ(0, w_run(&w, w.home, out, sizeof(out), "ip", "addr",
	    "del", "10.78.0.10/32", "dev", "lo", NULL));
	{
		struct net_report rep;

		ATF_REQUIRE_EQ(0, net_reconcile(n, NULL, 0, &rep, &e));
	}
	/* So is an address that somebody has been heard with. */
	ATF_REQUIRE_EQ(0, w_run(&w, w.home, out, sizeof(out), "ip", "neigh",
	    "add", "10.78.0.10", "lladdr", "02:00:00:00:00:05", "dev",
	    "coppicenet0", "nud", "permanent", NULL));
	sleep(3);
	{
		struct net_policy *p = w_policy("mode open\n");
		struct net_attach at = { .id = a.id, .policy = p };
		struct net_usage u;
		struct net_lease l;

		ATF_REQUIRE_EQ(-1, net_attach(n, &at, &l, &e));
		ATF_CHECK_MSG(strstr(e.message, "1 used by others") != NULL,
		    "%s", e.message);
		net_usage(n, NET_PAIR, &u);
		ATF_CHECK_EQ(1, u.foreign);
		net_policy_free(p);
	}
	w_close(&w);
}

static void
tap_attach(struct world *w, struct wbox *b)
{
	struct net_policy *p = w_policy("mode open\n");
	struct net_attach a;
	struct co_error e;

	memset(b, 0, sizeof(*b));
	memset(&a, 0, sizeof(a));
	co_id_make(b->id);
	a.id = b->id;
	a.kind = NET_TAP;
	a.owner = 65534;
	a.policy = p;
	ATF_REQUIRE_EQ_MSG(0, net_attach(w->net, &a, &b->lease, &e), "%s",
	    e.message);
	net_policy_free(p);
	b->ns = -1;
}

ATF_TC(tap);
ATF_TC_HEAD(tap, tc)
{

	NEEDS(tc);
}
ATF_TC_BODY(tap, tc)
{
	struct world w;
	struct wbox a;
	char out[8192], name[32];

	w_open(&w, true);
	tap_attach(&w, &a);
	ATF_CHECK_EQ(0, memcmp(a.lease.mac, "\x06\x00\x0a\x4d\x00\x0a", 6));
	ATF_REQUIRE_EQ(0, w_run(&w, w.home, out, sizeof(out), "ip", "-d",
	    "link", "show", a.lease.ifname, NULL));
	ATF_CHECK_MSG(strstr(out, "tun type tap") != NULL, "%s", out);
	ATF_CHECK_MSG(strstr(out, "persist on") != NULL, "%s", out);
	ATF_CHECK_MSG(strstr(out, "isolated on") != NULL, "%s", out);
	ATF_CHECK_MSG(strstr(out, "master cubenet0") != NULL, "%s", out);
	snprintf(name, sizeof(name), "alias coppice:coppice:%.8s", a.id);
	ATF_CHECK_MSG(strstr(out, name) != NULL, "%s", out);
	w_unbox(&w, &a);
	net_settle(w.net);
	check_clean(&w, "after a tap");
	w_close(&w);
}

ATF_TC(churn);
ATF_TC_HEAD(churn, tc)
{

	NEEDS(tc);
}
ATF_TC_BODY(churn, tc)
{
	static const char *const policy[] = {
		"mode open\n", "mode airgap\n",
		"mode allowlist\nallow " W_INET4 "\nallow example.org\n"
		"deny 203.0.113.0/24\ndeny 203.0.114.1\ndeny 203.0.115.1\n"
		"deny 203.0.116.1\nup 8m\n",
	};
	const char *many = getenv("COPPICE_CHURN");
	int i, fds, tables, turns = many != NULL ? atoi(many) : 500;
	struct net_usage u;
	struct world w;
	struct wbox a;

	w_open(&w, true);
	w_box(&w, &a, policy[2]);
	w_unbox(&w, &a);
	net_settle(w.net);
	fds = fd_count();
	tables = w_rules(&w, "\n");
	for (i = 0; i < turns; i++) {
		if (i % 7 == 6)
			tap_attach(&w, &a);
		else
			w_box(&w, &a, policy[i % 3]);
		if (i % 5 == 0)
			w_set(&w, &a, policy[(i + 1) % 3]);
		if (i % 100 == 0 && a.ns >= 0)
			ATF_CHECK(w_ping(&w, a.ns, "10.78.0.1"));
		w_unbox(&w, &a);
	}
	net_settle(w.net);
	ATF_CHECK_EQ(fds, fd_count());
	ATF_CHECK_EQ(tables, w_rules(&w, "\n"));
	check_clean(&w, "after the churn");
	net_usage(w.net, NET_PAIR, &u);
	ATF_CHECK_EQ(0, u.live);
	net_usage(w.net, NET_TAP, &u);
	ATF_CHECK_EQ(0, u.live);
	w_close(&w);
}

/*
 * A restart with everything in order, and with everything in disorder.
 */
static void
reopen(struct world *w)
{
	struct co_error e;

	net_close(w->net);
	ATF_REQUIRE_EQ_MSG(0, net_open(&w->conf, &w->net, &e), "%s",
	    e.message);
}

static void
record_of(struct net_record *r, const struct wbox *b, struct net_policy *p,
    bool alive)
{

	memset(r, 0, sizeof(*r));
	r->lease = b->lease;
	r->policy = p;
	r->alive = alive;
}

ATF_TC(restart);
ATF_TC_HEAD(restart, tc)
{

	NEEDS(tc);
}
ATF_TC_BODY(restart, tc)
{
	static const char text[] = "mode allowlist\nallow " W_INET4
	    ":8080/tcp\n";
	struct net_policy *p = w_policy(text), *open = w_policy("mode open\n");
	struct net_record r[4];
	struct net_report rep;
	struct net_usage u;
	struct world w;
	struct wbox a, b, c, d, n;
	struct co_error e;

	w_open(&w, true);
	w_box(&w, &a, text);
	w_box(&w, &b, text);
	w_box(&w, &c, "mode open\n");
	tap_attach(&w, &d);
	reopen(&w);
	record_of(&r[0], &a, p, true);
	record_of(&r[1], &b, p, true);
	record_of(&r[2], &c, open, true);
	record_of(&r[3], &d, open, true);
	ATF_REQUIRE_EQ_MSG(0, net_reconcile(w.net, r, 4, &rep, &e), "%s",
	    e.message);
	ATF_CHECK_EQ(4, rep.kept);
	ATF_CHECK_EQ(0, rep.remade);
	ATF_CHECK_EQ(0, rep.removed);
	ATF_CHECK_EQ(0, rep.lost);
	ATF_CHECK(w_tcp(&w, a.ns, W_INET4, W_PORT));
	/* Their addresses are taken: a new one gets another. */
	w_box(&w, &n, "mode open\n");
	ATF_CHECK(net_addr_cmp(&n.lease.addr, &a.lease.addr) != 0 &&
	    net_addr_cmp(&n.lease.addr, &b.lease.addr) != 0 &&
	    net_addr_cmp(&n.lease.addr, &c.lease.addr) != 0);
	w_unbox(&w, &n);

	/*
	 * Now one has ended, the rules of one were tampered with, and the
	 * interface of one is gone.
	 */
	{
		char chain[32];

		snprintf(chain, sizeof(chain), "sandbox-%.12s", a.id);
		ATF_REQUIRE_EQ(0, w_run(&w, w.home, NULL, 0, "nft", "insert",
		    "rule", "inet", "coppice", chain, "accept", NULL));
	}
	ATF_CHECK(w_tcp(&w, a.ns, W_INET4, W_PORT2));
	ATF_REQUIRE_EQ(0, w_run(&w, w.home, NULL, 0, "ip", "link", "del",
	    b.lease.ifname, NULL));
	reopen(&w);
	r[2].alive = false;
	ATF_REQUIRE_EQ_MSG(0, net_reconcile(w.net, r, 4, &rep, &e), "%s",
	    e.message);
	ATF_CHECK_EQ(2, rep.kept);
	ATF_CHECK_EQ(1, rep.lost);
	ATF_CHECK_EQ(1, rep.remade);
	ATF_CHECK_EQ(2, rep.removed);		/* link and rules of c */
	ATF_CHECK(w_tcp(&w, a.ns, W_INET4, W_PORT));
	ATF_CHECK(!w_tcp(&w, a.ns, W_INET4, W_PORT2));
	/* Once more, and nothing is left to do. */
	ATF_REQUIRE_EQ(0, net_reconcile(w.net, r, 4, &rep, &e));
	ATF_CHECK_EQ(0, rep.remade + rep.removed);
	/* A record without life, and none at all. */
	ATF_REQUIRE_EQ(0, net_reconcile(w.net, NULL, 0, &rep, &e));
	net_settle(w.net);
	check_clean(&w, "nobody is left");
	net_usage(w.net, NET_PAIR, &u);
	ATF_CHECK_EQ(0, u.live);
	net_policy_free(p);
	net_policy_free(open);
	w_close(&w);
}

/*
 * kill -9 at every step.  A child does the work and dies at the k-th mark;
 * then a restart must find its way.
 */
enum work { W_ATTACH, W_TAP, W_DETACH, W_POLICY, W_RECONCILE };

struct job {
	enum work	 work;
	struct world	*w;
	struct wbox	*b;
	int		 k;
};

static int
job_run(struct job *j)
{
	struct net_policy *open = w_policy("mode open\n");
	struct net_policy *list = w_policy("mode allowlist\nallow " W_INET4
	    "\nallow example.org\n");
	struct net_attach a;
	struct net_record r;
	struct net_report rep;
	struct net_lease l;
	struct net *n;

	if (net_open(&j->w->conf, &n, NULL) != 0)
		return (50);
	if (j->work == W_DETACH || j->work == W_POLICY) {
		record_of(&r, j->b, open, true);
		if (net_reconcile(n, &r, 1, &rep, NULL) != 0)
			return (51);
	}
	countdown = j->k;
	memset(&a, 0, sizeof(a));
	a.id = j->b->id;
	a.policy = open;
	a.netns = j->b->ns;
	a.kind = j->work == W_TAP ? NET_TAP : NET_PAIR;
	switch (j->work) {
	case W_ATTACH:
	case W_TAP:
		if (net_attach(n, &a, &l, NULL) != 0)
			return (52);
		break;
	case W_DETACH:
		if (net_detach(n, j->b->id, NULL) != 0)
			return (53);
		break;
	case W_POLICY:
		if (net_policy_set(n, j->b->id, list, NULL) != 0)
			return (54);
		break;
	case W_RECONCILE:
		if (net_reconcile(n, NULL, 0, &rep, NULL) != 0)
			return (55);
		break;
	}
	countdown = 0;
	net_close(n);
	return (0);
}

/* Returns false when the child got through alive. */
static bool
job_killed(struct job *j)
{
	int status;
	pid_t pid;

	where[0] = '\0';
	fflush(NULL);
	ATF_REQUIRE((pid = fork()) >= 0);
	if (pid == 0)
		_exit(job_run(j));
	ATF_REQUIRE_EQ(pid, waitpid(pid, &status, 0));
	if (WIFEXITED(status)) {
		ATF_REQUIRE_EQ_MSG(0, WEXITSTATUS(status), "step %d: %d", j->k,
		    WEXITSTATUS(status));
		return (false);
	}
	return (true);
}

static void
kill_everywhere(enum work work, int least)
{
	struct net_policy *open = w_policy("mode open\n");
	struct net_record r;
	struct net_report rep;
	struct world w;
	struct wbox b;
	struct co_error e;
	struct job j;
	bool killed = true;
	char when[128];

	where = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED |
	    MAP_ANONYMOUS, -1, 0);
	w_open(&w, true);
	for (j.k = 1; killed && j.k < 100; j.k++) {
		j.work = work;
		j.w = &w;
		j.b = &b;
		if (work == W_ATTACH || work == W_TAP) {
			memset(&b, 0, sizeof(b));
			co_id_make(b.id);
			b.ns = w_namespace(&w);
		} else
			w_box(&w, &b, "mode open\n");
		killed = job_killed(&j);
		snprintf(when, sizeof(when), "killed at %d, %s", j.k,
		    killed ? (const char *)(uintptr_t)where : "the end");
		reopen(&w);
		if (work == W_POLICY) {
			/* It runs on; its rules are those of its record. */
			record_of(&r, &b, open, true);
			ATF_REQUIRE_EQ_MSG(0, net_reconcile(w.net, &r, 1,
			    &rep, &e), "%s: %s", when, e.message);
			ATF_CHECK_EQ_MSG(1, rep.kept, "%s", when);
			ATF_CHECK_MSG(w_tcp(&w, b.ns, W_INET4B, W_PORT), "%s",
			    when);
		}
		ATF_REQUIRE_EQ_MSG(0, net_reconcile(w.net, NULL, 0, &rep, &e),
		    "%s: %s", when, e.message);
		net_settle(w.net);
		check_clean(&w, when);
		/* And the next one finds a working network. */
		close(b.ns);
		w_box(&w, &b, "mode open\n");
		ATF_CHECK_MSG(w_ping(&w, b.ns, "10.78.0.1"), "%s", when);
		w_unbox(&w, &b);
		net_settle(w.net);
	}
	ATF_CHECK_MSG(j.k - 1 > least, "only %d steps", j.k - 1);
	net_policy_free(open);
	w_close(&w);
}

#define	KILL(name, work, least)						\
ATF_TC(name);								\
ATF_TC_HEAD(name, tc)							\
{									\
									\
	NEEDS(tc);							\
}									\
ATF_TC_BODY(name, tc)							\
{									\
									\
	kill_everywhere(work, least);					\
}

KILL(kill_attach, W_ATTACH, 9)
KILL(kill_tap, W_TAP, 8)
KILL(kill_detach, W_DETACH, 4)
KILL(kill_policy, W_POLICY, 3)
KILL(kill_reconcile, W_RECONCILE, 2)

/*
 * The same for setting the host up: the dead-man switch must have left the
 * old state or the confirmed new one.
 */
static int
setup_run(struct world *w, int k)
{
	struct net *n;

	if (net_open(&w->conf, &n, NULL) != 0)
		return (50);
	countdown = k;
	if (net_setup(n, NULL, NULL) != 0)
		return (51);
	countdown = 0;
	net_close(n);
	return (0);
}

static void
await_switch(struct world *w)
{
	char path[128];
	int fd, i;

	snprintf(path, sizeof(path), "%s/change/lock", w->dir);
	if ((fd = open(path, O_RDWR)) < 0)
		return;
	for (i = 0; i < 3000 && flock(fd, LOCK_EX | LOCK_NB) != 0; i++)
		usleep(10000);
	ATF_REQUIRE_MSG(i < 3000, "the dead-man switch does not end");
	close(fd);
}

static char
ip_forward(void)
{
	char c = '?';
	int fd = open("/proc/sys/net/ipv4/ip_forward", O_RDONLY);

	ATF_REQUIRE_EQ(1, read(fd, &c, 1));
	close(fd);
	return (c);
}

ATF_TC(kill_setup);
ATF_TC_HEAD(kill_setup, tc)
{

	NEEDS(tc);
}
ATF_TC_BODY(kill_setup, tc)
{
	struct world w;
	struct co_error e;
	char when[128];
	int k, status, rules, old = 0, new = 0;
	bool killed = true;
	pid_t pid;

	where = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED |
	    MAP_ANONYMOUS, -1, 0);
	w_open(&w, false);
	for (k = 1; killed && k < 100; k++) {
		where[0] = '\0';
		fflush(NULL);
		ATF_REQUIRE((pid = fork()) >= 0);
		if (pid == 0)
			_exit(setup_run(&w, k));
		ATF_REQUIRE_EQ(pid, waitpid(pid, &status, 0));
		killed = WIFSIGNALED(status);
		snprintf(when, sizeof(when), "killed at %d, %s", k,
		    (const char *)(uintptr_t)where);
		if (!killed)
			ATF_REQUIRE_EQ(0, WEXITSTATUS(status));
		await_switch(&w);
		rules = w_rules(&w, "chain tohost");
		ATF_CHECK_MSG(rules == 0 || rules == 1, "%s: %d", when, rules);
		ATF_CHECK_EQ_MSG(rules == 1 ? '1' : '0', ip_forward(), "%s",
		    when);
		if (rules == 0)
			old++;
		else
			new++;
		/* An interrupted change is no obstacle to the next. */
		reopen(&w);
		ATF_REQUIRE_EQ_MSG(0, net_setup(w.net, NULL, &e), "%s: %s",
		    when, e.message);
		ATF_CHECK_EQ(1, net_rules_base_ok(w.net->rules, &e));
		{
			struct net_report rep;

			ATF_REQUIRE_EQ(0, net_reconcile(w.net, NULL, 0, &rep,
			    &e));
		}
		ATF_REQUIRE_EQ_MSG(0, net_teardown(w.net, NULL, &e), "%s: %s",
		    when, e.message);
		ATF_CHECK_EQ('0', ip_forward());
		ATF_CHECK_EQ_MSG(0, w_rules(&w, "coppice"), "%s", when);
	}
	ATF_CHECK_MSG(old >= 8, "%d", old);
	ATF_CHECK_MSG(new >= 2, "%d", new);
	w_close(&w);
}

/* What the host shares is all there, or not at all; tell which. */
static bool
is_new(struct world *w, const char *when)
{
	int rules = w_rules(w, "chain tohost"), bridge = w_rules(w,
	    "chain ports");

	ATF_CHECK_MSG((rules == 0 || rules == 1) && rules == bridge,
	    "%s: %d %d", when, rules, bridge);
	ATF_CHECK_EQ_MSG(rules == 1 ? '1' : '0', ip_forward(), "%s", when);
	return (rules == 1);
}

ATF_TC(kill_teardown);
ATF_TC_HEAD(kill_teardown, tc)
{

	NEEDS(tc);
}
ATF_TC_BODY(kill_teardown, tc)
{
	struct net *n;
	struct world w;
	struct co_error e;
	char when[128], out[4096];
	int k, status, old = 0, new = 0;
	bool killed = true;
	pid_t pid;

	where = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED |
	    MAP_ANONYMOUS, -1, 0);
	w_open(&w, false);
	for (k = 1; killed && k < 100; k++) {
		ATF_REQUIRE_EQ_MSG(0, net_setup(w.net, NULL, &e), "%s",
		    e.message);
		where[0] = '\0';
		fflush(NULL);
		ATF_REQUIRE((pid = fork()) >= 0);
		if (pid == 0) {
			if (net_open(&w.conf, &n, NULL) != 0)
				_exit(50);
			countdown = k;
			_exit(net_teardown(n, NULL, NULL) == 0 ? 0 : 51);
		}
		ATF_REQUIRE_EQ(pid, waitpid(pid, &status, 0));
		killed = WIFSIGNALED(status);
		snprintf(when, sizeof(when), "killed at %d, %s", k,
		    (const char *)(uintptr_t)where);
		if (!killed)
			ATF_REQUIRE_EQ(0, WEXITSTATUS(status));
		await_switch(&w);
		if (is_new(&w, when))
			new++;
		else
			old++;
		reopen(&w);
		ATF_REQUIRE_EQ_MSG(0, net_teardown(w.net, NULL, &e), "%s: %s",
		    when, e.message);
		ATF_CHECK_MSG(!is_new(&w, when), "%s", when);
		ATF_REQUIRE_EQ(0, w_run(&w, w.home, out, sizeof(out), "ip",
		    "-o", "link", NULL));
		ATF_CHECK_MSG(strstr(out, "net0") == NULL, "%s: %s", when,
		    out);
	}
	ATF_CHECK_MSG(new >= 4, "%d", new);
	ATF_CHECK_MSG(old >= 3, "%d", old);
	w_close(&w);
}

/* A teardown that cuts the operator off is taken back. */
ATF_TC(lost_operator);
ATF_TC_HEAD(lost_operator, tc)
{

	NEEDS(tc);
}
ATF_TC_BODY(lost_operator, tc)
{
	struct net_smoke sm = { .operator = W_LAN4, .timeout_ms = 600 };
	struct world w;
	struct co_error e;

	w_open(&w, true);
	cut_off = &w;
	ATF_REQUIRE_EQ(-1, net_teardown(w.net, &sm, &e));
	cut_off = NULL;
	ATF_CHECK_EQ(CO_ENET_REVERTED, e.code);
	ATF_CHECK_MSG(strstr(e.message, W_LAN4) != NULL, "%s", e.message);
	ATF_CHECK(is_new(&w, "taken back"));
	ATF_CHECK_EQ(1, net_rules_base_ok(w.net->rules, &e));
	ATF_REQUIRE_EQ(0, w_run(&w, w.home, NULL, 0, "nft", "delete", "table",
	    "ip", "cut", NULL));
	ATF_CHECK_EQ_MSG(0, net_teardown(w.net, &sm, &e), "%s", e.message);
	ATF_CHECK(!is_new(&w, "gone"));
	w_close(&w);
}

/*
 * The switch itself dies at every step: of a set-up that succeeds, and of
 * one of which the maker is killed, so that the switch has to revert.
 */
static int
fine(struct net *n, void *arg, struct co_error *e)
{

	(void)n;
	(void)arg;
	(void)e;
	usleep(100000);
	return (0);
}

static int
suicide(struct net *n, void *arg, struct co_error *e)
{

	(void)n;
	(void)arg;
	(void)e;
	kill(getpid(), SIGKILL);
	return (-1);
}

static int
frail_setup(struct world *w, bool lives)
{
	struct net_setup s = { .probe = lives ? fine : suicide };
	struct net *n;
	int status;
	pid_t pid;

	fflush(NULL);
	ATF_REQUIRE((pid = fork()) >= 0);
	if (pid == 0) {
		if (net_open(&w->conf, &n, NULL) != 0)
			_exit(50);
		_exit(net_setup(n, &s, NULL) == 0 ? 0 : 1);
	}
	ATF_REQUIRE_EQ(pid, waitpid(pid, &status, 0));
	await_switch(w);
	return (status);
}

ATF_TC(kill_switch);
ATF_TC_HEAD(kill_switch, tc)
{

	NEEDS(tc);
}
ATF_TC_BODY(kill_switch, tc)
{
	char number[8], when[64];
	const char *frail[] = { NULL, "frail-helper", number, NULL };
	struct net_deadman *d;
	struct world w;
	struct co_error e;
	int i, k, status, reverted = 0, pending = 0;

	w_open(&w, false);
	frail[0] = w.conf.helper[0];
	w.conf.helper = frail;
	reopen(&w);
	for (i = 0; i < 2; i++)
		for (k = 1; k <= 7; k++) {
			snprintf(number, sizeof(number), "%d", k);
			snprintf(when, sizeof(when), "switch dies at %d, "
			    "maker %s", k, i == 0 ? "lives" : "is killed");
			status = frail_setup(&w, i == 0);
			pending += net_deadman_pending(w.net, &e);
			/* Whoever comes next settles what is open. */
			ATF_REQUIRE_EQ_MSG(0, net_deadman_open(w.net, &d, &e),
			    "%s: %s", when, e.message);
			net_deadman_close(d);
			ATF_CHECK_EQ_MSG(WIFEXITED(status) &&
			    WEXITSTATUS(status) == 0, is_new(&w, when), "%s",
			    when);
			reverted += !is_new(&w, when);
			snprintf(number, sizeof(number), "0");
			ATF_REQUIRE_EQ_MSG(0, net_setup(w.net, NULL, &e),
			    "%s: %s", when, e.message);
			ATF_REQUIRE_EQ_MSG(0, net_teardown(w.net, NULL, &e),
			    "%s: %s", when, e.message);
		}
	ATF_CHECK_MSG(reverted >= 9, "%d", reverted);
	ATF_CHECK_MSG(pending >= 3, "%d", pending);
	w_close(&w);
}

static atf_error_t
add(atf_tp_t *tp)
{

	ATF_TP_ADD_TC(tp, crowd);
	ATF_TP_ADD_TC(tp, quarantine);
	ATF_TP_ADD_TC(tp, tap);
	ATF_TP_ADD_TC(tp, churn);
	ATF_TP_ADD_TC(tp, restart);
	ATF_TP_ADD_TC(tp, kill_attach);
	ATF_TP_ADD_TC(tp, kill_tap);
	ATF_TP_ADD_TC(tp, kill_detach);
	ATF_TP_ADD_TC(tp, kill_policy);
	ATF_TP_ADD_TC(tp, kill_reconcile);
	ATF_TP_ADD_TC(tp, kill_setup);
	ATF_TP_ADD_TC(tp, kill_teardown);
	ATF_TP_ADD_TC(tp, lost_operator);
	ATF_TP_ADD_TC(tp, kill_switch);
	return (atf_no_error());
}

int
main(int argc, char **argv)
{

	if (argc > 3 && strcmp(argv[1], "frail-helper") == 0) {
		countdown = atoi(argv[2]);
		return (net_helper_main(argc - 3, argv + 3));
	}
	return (w_main(argc, argv, add));
}
