/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Setting a host up and down, the dead-man switch, the smoke test and what
 * the doctor says.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deadman.h"
#include "dns_internal.h"
#include "world.h"

#define	HEAD(name)							\
ATF_TC(name);								\
ATF_TC_HEAD(name, tc)							\
{									\
									\
	atf_tc_set_md_var(tc, "require.user", "root");			\
	atf_tc_set_md_var(tc, "require.progs", "ip nft ss");		\
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

static int probes;

static int
good_probe(struct net *n, void *arg, struct co_error *e)
{

	(void)n;
	(void)arg;
	(void)e;
	probes++;
	return (0);
}

static int
bad_probe(struct net *n, void *arg, struct co_error *e)
{

	(void)n;
	probes++;
	if (arg != NULL)
		usleep(*(useconds_t *)arg);
	return (co_error_set(e, CO_ENET_RULES, "probe", "it smells burnt"));
}

HEAD(idempotent);
ATF_TC_BODY(idempotent, tc)
{
	struct net_setup s = { .probe = good_probe };
	static char before[1 << 16], after[1 << 16];
	struct world w;
	struct co_error e;
	char foreign[] = "add table ip mine; add chain ip mine c { type filter "
	    "hook forward priority 0; policy accept; }";

	w_open(&w, false);
	ATF_REQUIRE_EQ(0, w_run(&w, w.home, NULL, 0, "nft", foreign, NULL));
	ATF_REQUIRE_EQ(0, w_run(&w, w.home, before, sizeof(before), "nft",
	    "list", "ruleset", NULL));
	ATF_CHECK_EQ('0', ip_forward());
	ATF_REQUIRE_EQ_MSG(0, net_setup(w.net, &s, &e), "%s", e.message);
	ATF_CHECK_EQ(1, probes);
	ATF_CHECK_EQ('1', ip_forward());
	/* Nothing to do: nothing is touched, no switch is armed. */
	ATF_REQUIRE_EQ(0, net_setup(w.net, &s, &e));
	ATF_CHECK_EQ(1, probes);
	ATF_CHECK_EQ(1, w_rules(&w, "table ip mine"));
	/* Somebody changes our rules: they are put right. */
	ATF_REQUIRE_EQ(0, w_run(&w, w.home, NULL, 0, "nft", "insert rule "
	    "inet coppice tohost accept", NULL));
	ATF_CHECK_EQ(0, net_rules_base_ok(w.net->rules, &e));
	ATF_REQUIRE_EQ(0, net_setup(w.net, &s, &e));
	ATF_CHECK_EQ(2, probes);
	ATF_CHECK_EQ(1, net_rules_base_ok(w.net->rules, &e));
	/* And away: all is as it was. */
	ATF_REQUIRE_EQ_MSG(0, net_teardown(w.net, NULL, &e), "%s", e.message);
	ATF_REQUIRE_EQ(0, net_teardown(w.net, NULL, &e));
	ATF_CHECK_EQ('0', ip_forward());
	ATF_REQUIRE_EQ(0, w_run(&w, w.home, after, sizeof(after), "nft",
	    "list", "ruleset", NULL));
	ATF_CHECK_STREQ(before, after);
	ATF_REQUIRE_EQ(0, w_run(&w, w.home, after, sizeof(after), "ip", "-o",
	    "link", NULL));
	ATF_CHECK(strstr(after, "coppicenet0") == NULL);
	ATF_CHECK(strstr(after, "cubenet0") == NULL);
	w_close(&w);
}

HEAD(busy);
ATF_TC_BODY(busy, tc)
{
	struct world w;
	struct wbox a;
	struct co_error e;

	w_open(&w, true);
	w_box(&w, &a, "mode open\n");
	ATF_CHECK_EQ(-1, net_teardown(w.net, NULL, &e));
	ATF_CHECK_EQ(CO_ENET_INUSE, e.code);
	/* A new base keeps those that are attached, without a gap. */
	ATF_REQUIRE_EQ(0, w_run(&w, w.home, NULL, 0, "nft", "insert rule "
	    "inet coppice tohost drop", NULL));
	ATF_CHECK(!w_ping(&w, a.ns, "10.78.0.1"));
	ATF_REQUIRE_EQ_MSG(0, net_setup(w.net, NULL, &e), "%s", e.message);
	ATF_CHECK(w_ping(&w, a.ns, "10.78.0.1"));
	ATF_CHECK(w_tcp(&w, a.ns, W_INET4, W_PORT));
	w_unbox(&w, &a);
	ATF_CHECK_EQ_MSG(0, net_teardown(w.net, NULL, &e), "%s", e.message);
	w_close(&w);
}

/* An address that was forwarding before stays so after teardown. */
HEAD(forwarding);
ATF_TC_BODY(forwarding, tc)
{
	struct world w;
	struct co_error e;
	int fd;

	w_open(&w, false);
	fd = open("/proc/sys/net/ipv4/ip_forward", O_WRONLY);
	ATF_REQUIRE_EQ(1, write(fd, "1", 1));
	close(fd);
	ATF_REQUIRE_EQ(0, net_setup(w.net, NULL, &e));
	ATF_REQUIRE_EQ(0, net_teardown(w.net, NULL, &e));
	ATF_CHECK_EQ('1', ip_forward());
	w_close(&w);
}

HEAD(failing);
ATF_TC_BODY(failing, tc)
{
	struct net_setup s = { .probe = bad_probe };
	struct world w;
	struct co_error e;
	useconds_t late = 3000000;

	w_open(&w, false);
	ATF_REQUIRE_EQ(-1, net_setup(w.net, &s, &e));
	ATF_CHECK_EQ(CO_ENET_REVERTED, e.code);
	ATF_CHECK_MSG(strstr(e.message, "it smells burnt") != NULL, "%s",
	    e.message);
	ATF_CHECK_EQ(0, w_rules(&w, "coppice"));
	ATF_CHECK_EQ('0', ip_forward());
	/* Too late is as bad. */
	s.probe = good_probe;
	w.conf.deadman_ms = 1000;
	net_close(w.net);
	ATF_REQUIRE_EQ(0, net_open(&w.conf, &w.net, &e));
	s.probe = bad_probe;
	s.arg = &late;
	ATF_REQUIRE_EQ(-1, net_setup(w.net, &s, &e));
	ATF_CHECK_EQ(CO_ENET_REVERTED, e.code);
	ATF_CHECK_EQ(0, w_rules(&w, "coppice"));
	/* And then it can be set up all the same. */
	ATF_REQUIRE_EQ_MSG(0, net_setup(w.net, NULL, &e), "%s", e.message);
	ATF_CHECK_EQ(1, w_rules(&w, "chain tohost"));
	ATF_CHECK_EQ(0, net_deadman_pending(w.net, &e));
	w_close(&w);
}

/* While the change is on trial somebody kills the switch. */
static int
kill_the_switch(struct net *n, void *arg, struct co_error *e)
{
	char out[65536], *line, *save = NULL;
	struct world *w = arg;
	bool found = false;

	(void)n;
	(void)e;
	ATF_REQUIRE_EQ(0, w_run(w, w->home, out, sizeof(out), "ps", "-eo",
	    "pid=,ppid=,args=", NULL));
	for (line = strtok_r(out, "\n", &save); line != NULL;
	    line = strtok_r(NULL, "\n", &save))
		if (strstr(line, " net-helper deadman ") != NULL &&
		    strstr(line, w->dir) != NULL) {
			kill(atoi(line), SIGKILL);
			found = true;
		}
	ATF_CHECK(found);
	usleep(100000);
	return (0);
}

HEAD(switch_killed);
ATF_TC_BODY(switch_killed, tc)
{
	struct net_setup s = { .probe = kill_the_switch };
	struct world w;
	struct co_error e;

	w_open(&w, false);
	s.arg = &w;
	ATF_REQUIRE_EQ(-1, net_setup(w.net, &s, &e));
	ATF_CHECK_EQ_MSG(CO_ENET_REVERTED, e.code, "%s", e.message);
	ATF_CHECK_EQ(0, w_rules(&w, "coppice"));
	ATF_CHECK_EQ('0', ip_forward());
	w_close(&w);
}

/* Both are killed: the next run, whenever it comes, settles it. */
static int
kill_both(struct net *n, void *arg, struct co_error *e)
{

	(void)kill_the_switch(n, arg, e);
	kill(getpid(), SIGKILL);
	return (0);
}

HEAD(both_killed);
ATF_TC_BODY(both_killed, tc)
{
	struct net_setup s = { .probe = kill_both };
	struct net *n;
	struct world w;
	struct co_error e;
	struct net_deadman *d;
	int status;
	pid_t pid;

	w_open(&w, false);
	s.arg = &w;
	fflush(NULL);
	if ((pid = fork()) == 0) {
		if (net_open(&w.conf, &n, &e) == 0)
			(void)net_setup(n, &s, &e);
		_exit(1);
	}
	ATF_REQUIRE_EQ(pid, waitpid(pid, &status, 0));
	ATF_REQUIRE(WIFSIGNALED(status));
	ATF_CHECK_EQ(1, net_deadman_pending(w.net, &e));
	ATF_REQUIRE_EQ(0, net_deadman_open(w.net, &d, &e));
	ATF_CHECK_EQ(0, w_rules(&w, "coppice"));
	ATF_CHECK_EQ(0, net_deadman_pending(w.net, &e));
	net_deadman_close(d);
	w_close(&w);
}

/* Two at once: the second is told to wait. */
HEAD(two_at_once);
ATF_TC_BODY(two_at_once, tc)
{
	struct net_deadman *d;
	struct world w;
	struct co_error e;

	w_open(&w, false);
	ATF_REQUIRE_EQ(0, net_deadman_open(w.net, &d, &e));
	ATF_CHECK_EQ(-1, net_setup(w.net, NULL, &e));
	ATF_CHECK_EQ(CO_ENET_INUSE, e.code);
	net_deadman_close(d);
	ATF_CHECK_EQ(0, net_setup(w.net, NULL, &e));
	w_close(&w);
}

HEAD(smoke);
ATF_TC_BODY(smoke, tc)
{
	struct net_smoke sm = { .target = W_INET4 ":8080",
	    .operator = W_LAN4, .timeout_ms = 1500 };
	struct net_setup s = { .smoke = &sm };
	struct world w;
	struct co_error e;

	w_open(&w, false);
	ATF_REQUIRE_EQ_MSG(0, net_setup(w.net, &s, &e), "%s", e.message);
	ATF_REQUIRE_EQ(0, net_teardown(w.net, NULL, &e));
	ATF_CHECK_EQ(0, w_links(&w));
	/* Nobody there. */
	sm.target = "203.0.113.77:80";
	ATF_REQUIRE_EQ(-1, net_setup(w.net, &s, &e));
	ATF_CHECK_EQ(CO_ENET_REVERTED, e.code);
	ATF_CHECK_MSG(strstr(e.message, "203.0.113.77:80") != NULL, "%s",
	    e.message);
	ATF_CHECK_EQ(0, w_rules(&w, "coppice"));
	ATF_CHECK_EQ(0, w_links(&w));
	sm.target = "nonsense";
	ATF_CHECK_EQ(-1, net_setup(w.net, &s, &e));
	/* Nothing answers at the name server's port. */
	sm.target = NULL;
	sm.name = "example.org";
	ATF_CHECK_EQ(-1, net_setup(w.net, &s, &e));
	ATF_CHECK_MSG(strstr(e.message, "example.org") != NULL, "%s",
	    e.message);
	/* An operator who never answered proves nothing. */
	sm.name = NULL;
	sm.operator = "203.0.113.78";
	ATF_CHECK_EQ_MSG(0, net_setup(w.net, &s, &e), "%s", e.message);
	w_close(&w);
}

/* The operator answers before, and not any more after the change. */
static int
cut_off(struct world *w)
{

	return (w_run(w, w->home, NULL, 0, "nft", "add table ip cut; add chain "
	    "ip cut c { type filter hook output priority 0; }; add rule ip "
	    "cut c ip daddr " W_LAN4 " drop", NULL));
}

HEAD(operator_lost);
ATF_TC_BODY(operator_lost, tc)
{
	struct net_smoke sm = { .operator = W_LAN4, .timeout_ms = 600 };
	struct world w;
	struct co_error e;

	w_open(&w, true);
	ATF_CHECK_EQ_MSG(0, net_smoke_run(w.net, &sm, true, &e), "%s",
	    e.message);
	ATF_REQUIRE_EQ(0, cut_off(&w));
	ATF_CHECK_EQ(-1, net_smoke_run(w.net, &sm, true, &e));
	ATF_CHECK_MSG(strstr(e.message, W_LAN4) != NULL, "%s", e.message);
	ATF_CHECK_EQ(0, net_smoke_run(w.net, &sm, false, &e));
	w_close(&w);
}

/*
 * The doctor.
 */
struct findings {
	char		text[16384];
	int		bad;
};

static void
finding(void *arg, enum net_health h, const char *name, const char *message)
{
	struct findings *f = arg;
	size_t n = strlen(f->text);

	snprintf(f->text + n, sizeof(f->text) - n, "%s: %s\n", name, message);
	f->bad += h == NET_BAD;
}

static void
doctor(struct world *w, struct findings *f)
{

	memset(f, 0, sizeof(*f));
	net_check(w->net, finding, f);
}

HEAD(doctor_says);
ATF_TC_BODY(doctor_says, tc)
{
	static const struct {
		const char	*rules, *want;
	} others[] = {
		{ "add table ip filter; add chain ip filter FORWARD { type "
		    "filter hook forward priority 0; policy drop; }",
		  "policy drop of chain \"ip filter FORWARD\"" },
		{ "add table ip filter; add chain ip filter DOCKER-USER; add "
		    "chain ip filter FORWARD { type filter hook forward "
		    "priority 0; policy drop; }; add rule ip filter FORWARD "
		    "jump DOCKER-USER",
		  "iptables -I DOCKER-USER -i coppicenet0 -j ACCEPT" },
		{ "add table ip filter; add chain ip filter ufw-x; add chain "
		    "ip filter FORWARD { type filter hook forward priority 0; "
		    "policy drop; }; add rule ip filter FORWARD jump ufw-x",
		  "ufw route allow in on coppicenet0" },
		{ "add table inet firewalld; add chain inet firewalld "
		    "filter_FORWARD { type filter hook forward priority 10; }; "
		    "add rule inet firewalld filter_FORWARD reject with icmpx "
		    "type admin-prohibited",
		  "firewall-cmd --permanent --zone=trusted "
		  "--add-interface=coppicenet0" },
	};
	struct findings f;
	struct world w;
	struct wbox a;
	size_t i;

	w_open(&w, false);
	doctor(&w, &f);
	ATF_CHECK_MSG(strstr(f.text, "coppicenet0 is missing") != NULL, "%s",
	    f.text);
	ATF_CHECK_MSG(strstr(f.text, "uplink0 carries the uplink") != NULL,
	    "%s", f.text);
	ATF_REQUIRE_EQ(0, net_setup(w.net, NULL, NULL));
	doctor(&w, &f);
	ATF_CHECK_EQ_MSG(0, f.bad, "%s", f.text);
	w_box(&w, &a, "mode open\n");
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		ATF_REQUIRE_EQ(0, w_run(&w, w.home, NULL, 0, "nft",
		    others[i].rules, NULL));
		/* It is true: this is what stops the sandbox. */
		ATF_CHECK(!w_tcp(&w, a.ns, W_INET4, W_PORT));
		doctor(&w, &f);
		ATF_CHECK(f.bad >= 1);
		ATF_CHECK_MSG(strstr(f.text, others[i].want) != NULL, "%s",
		    f.text);
		ATF_REQUIRE_EQ(0, w_run(&w, w.home, NULL, 0, "nft", "delete",
		    "table", i == 3 ? "inet" : "ip", i == 3 ? "firewalld" :
		    "filter", NULL));
	}
	/* What it advises helps. */
	ATF_REQUIRE_EQ(0, w_run(&w, w.home, NULL, 0, "nft", others[0].rules,
	    NULL));
	ATF_REQUIRE_EQ(0, w_run(&w, w.home, NULL, 0, "nft", "insert rule ip "
	    "filter FORWARD iifname coppicenet0 accept", NULL));
	ATF_REQUIRE_EQ(0, w_run(&w, w.home, NULL, 0, "nft", "insert rule ip "
	    "filter FORWARD oifname coppicenet0 accept", NULL));
	ATF_CHECK(w_tcp(&w, a.ns, W_INET4, W_PORT));
	doctor(&w, &f);
	ATF_CHECK_MSG(strstr(f.text, "what coppicenet0") == NULL, "%s",
	    f.text);
	w_close(&w);
}

HEAD(no_uplink);
ATF_TC_BODY(no_uplink, tc)
{
	struct world w;
	struct co_error e;
	char name[NET_IFNAME];

	w_open(&w, false);
	ATF_REQUIRE_EQ(0, net_uplink(w.net, name, &e));
	ATF_CHECK_STREQ("uplink0", name);
	ATF_REQUIRE_EQ(0, w_run(&w, w.home, NULL, 0, "ip", "route", "add",
	    "default", "via", W_LAN4, "dev", "lan0", "metric", "10", NULL));
	ATF_REQUIRE_EQ(0, net_uplink(w.net, name, &e));
	ATF_CHECK_STREQ("uplink0", name);	/* metric 0 wins */
	ATF_REQUIRE_EQ(0, w_run(&w, w.home, NULL, 0, "ip", "route", "del",
	    "default", "dev", "uplink0", NULL));
	ATF_REQUIRE_EQ(0, net_uplink(w.net, name, &e));
	ATF_CHECK_STREQ("lan0", name);
	ATF_REQUIRE_EQ(0, w_run(&w, w.home, NULL, 0, "ip", "route", "flush",
	    "default", NULL));
	ATF_REQUIRE_EQ(0, w_run(&w, w.home, NULL, 0, "ip", "-6", "route",
	    "flush", "default", NULL));
	ATF_CHECK_EQ(-1, net_uplink(w.net, name, &e));
	ATF_CHECK_EQ(CO_ENET_UPLINK, e.code);
	w_close(&w);
}

/*
 * The fragment of unbound: installed, reloaded or restarted as needed, taken
 * back when unbound refuses it.
 */
static void
put_file(const char *dir, const char *name, const char *text, mode_t mode)
{
	struct co_error e;
	int fd = open(dir, O_RDONLY | O_DIRECTORY);

	ATF_REQUIRE_EQ(0, co_file_replace(fd, name, text, strlen(text), mode,
	    &e));
	close(fd);
}

static char *
get_file(const char *dir, const char *name)
{
	char path[256], *text = NULL;
	struct co_error e;
	size_t len;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (co_file_read(AT_FDCWD, path, 65536, &text, &len, &e) != 0)
		return (strdup(""));
	return (text);
}

static void
expect_file(const char *dir, const char *name, const char *want)
{
	char *have = get_file(dir, name);

	ATF_CHECK_STREQ(want, have);
	free(have);
}

HEAD(fragment);
ATF_TC_BODY(fragment, tc)
{
	char dir[128], main[160], check[192], reload[192], restart[192];
	const char *ccheck[] = { check, NULL };
	const char *creload[] = { reload, NULL };
	const char *crestart[] = { restart, NULL };
	char script[256], *text;
	struct world w;
	struct co_error e;

	w_open(&w, true);
	snprintf(dir, sizeof(dir), "%s/unbound.d", w.dir);
	ATF_REQUIRE_EQ(0, mkdir(dir, 0755));
	snprintf(main, sizeof(main), "%s/main.conf", w.dir);
	snprintf(check, sizeof(check), "%s/check", w.dir);
	snprintf(reload, sizeof(reload), "%s/reload", w.dir);
	snprintf(restart, sizeof(restart), "%s/restart", w.dir);
	snprintf(script, sizeof(script), "#!/bin/sh\n! test -e %s/refuse\n",
	    w.dir);
	put_file(w.dir, "check", script, 0755);
	snprintf(script, sizeof(script), "#!/bin/sh\necho l >> %s/log\n",
	    w.dir);
	put_file(w.dir, "reload", script, 0755);
	snprintf(script, sizeof(script), "#!/bin/sh\necho s >> %s/log\n",
	    w.dir);
	put_file(w.dir, "restart", script, 0755);
	put_file(w.dir, "main.conf", "server:\n\tverbosity: 1\n", 0644);
	put_file(dir, "lan.conf", "forward-zone:\n\tname: \"lan\"\n"
	    "\tforward-addr: 192.168.7.2\n", 0644);
	w.net->conf.unbound_dir = dir;
	w.net->conf.unbound_main = main;
	w.net->conf.unbound_check = ccheck;
	w.net->conf.unbound_reload = creload;
	w.net->conf.unbound_restart = crestart;

	ATF_REQUIRE_EQ_MSG(0, net_unbound_install(w.net, &e), "%s",
	    e.message);
	expect_file(dir, "coppice.conf",
	    "# coppice begin (written by \"coppicectl net setup\")\n"
	    "server:\n"
	    "\tinterface: 127.0.0.1\n\tinterface: ::1\n"
	    "\tinterface: 10.78.0.1@5335\n\tip-transparent: yes\n"
	    "\taccess-control: 10.78.0.1/32 allow\n"
	    "\taccess-control: 10.78.0.0/24 refuse\n"
	    "\taccess-control: 10.77.0.0/24 refuse\n"
	    "# coppice end\n");
	expect_file(w.dir, "log", "s\n");	/* a new interface: restart */
	ATF_REQUIRE_EQ(0, net_unbound_install(w.net, &e));
	expect_file(w.dir, "log", "s\n");	/* no change: nothing */
	w.net->conf.forwarders = "198.51.100.53 2001:db8::53";
	ATF_REQUIRE_EQ(0, net_unbound_install(w.net, &e));
	expect_file(w.dir, "log", "s\nl\n");	/* no interface: reload */
	text = get_file(dir, "coppice.conf");
	ATF_CHECK(strstr(text, "\tforward-addr: 198.51.100.53\n"
	    "\tforward-addr: 2001:db8::53\n") != NULL);
	/* The host's own zones are not ours to change. */
	expect_file(dir, "lan.conf", "forward-zone:\n\tname: \"lan\"\n"
	    "\tforward-addr: 192.168.7.2\n");
	put_file(dir, "all.conf", "forward-zone:\n\tname: \".\"\n", 0644);
	w.net->conf.forwarders = "198.51.100.54";
	ATF_CHECK_EQ(-1, net_unbound_install(w.net, &e));
	ATF_CHECK_EQ(CO_ENET_DNS, e.code);
	expect_file(dir, "coppice.conf", text);
	ATF_REQUIRE_EQ(0, w_run(&w, w.home, NULL, 0, "rm", "-f", dir, "-r",
	    NULL));
	ATF_REQUIRE_EQ(0, mkdir(dir, 0755));
	put_file(dir, "coppice.conf", text, 0644);
	/* A refused fragment leaves the old one. */
	put_file(w.dir, "refuse", "", 0644);
	ATF_CHECK_EQ(-1, net_unbound_install(w.net, &e));
	expect_file(dir, "coppice.conf", text);
	ATF_REQUIRE_EQ(0, w_run(&w, w.home, NULL, 0, "rm", "-f",
	    check, NULL));
	ATF_CHECK_EQ(-1, net_unbound_install(w.net, &e));
	expect_file(dir, "coppice.conf", text);
	free(text);
	/* With interfaces of its own the server keeps those only. */
	put_file(w.dir, "main.conf", "server:\n  interface: 127.0.0.1\n",
	    0644);
	w.net->conf.unbound_check = NULL;
	ATF_REQUIRE_EQ(0, net_unbound_install(w.net, &e));
	text = get_file(dir, "coppice.conf");
	ATF_CHECK(strstr(text, "interface: 127.0.0.1") == NULL);
	free(text);
	ATF_REQUIRE_EQ(0, net_unbound_remove(w.net, &e));
	expect_file(dir, "coppice.conf", "");
	w_close(&w);
}

static atf_error_t
add(atf_tp_t *tp)
{

	ATF_TP_ADD_TC(tp, idempotent);
	ATF_TP_ADD_TC(tp, busy);
	ATF_TP_ADD_TC(tp, forwarding);
	ATF_TP_ADD_TC(tp, failing);
	ATF_TP_ADD_TC(tp, switch_killed);
	ATF_TP_ADD_TC(tp, both_killed);
	ATF_TP_ADD_TC(tp, two_at_once);
	ATF_TP_ADD_TC(tp, smoke);
	ATF_TP_ADD_TC(tp, operator_lost);
	ATF_TP_ADD_TC(tp, doctor_says);
	ATF_TP_ADD_TC(tp, no_uplink);
	ATF_TP_ADD_TC(tp, fragment);
	return (atf_no_error());
}

W_MAIN(add)
