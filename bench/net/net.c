/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a sandbox's network costs: to set up and tear down, alone and among
 * 240 others, against the same done by ip(8) and nft(8), and per packet.
 * Everything happens in network namespaces of this program's own.
 */

#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "net_internal.h"
#include "nft_linux.h"

#define	CROWD	240

/* A host with its bridges and rules, an internet, and some sandboxes. */
struct host {
	struct net_conf	 conf;
	struct net	*net;
	int		 ns, inet;
	int		 box;		/* namespace of the one that sends */
};

struct bench_net {
	struct host	 alone, some, many, bare;
	struct net_policy *policy;
	int		 home;
	int		 turns;
	int		 packets;
};

static void
enter(int ns)
{

	if (setns(ns, CLONE_NEWNET) != 0)
		err(2, "setns");
}

static int
here(void)
{
	int fd;

	if ((fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) < 0)
		err(2, "/proc/thread-self/ns/net");
	return (fd);
}

static int
new_ns(int back)
{
	int fd;

	if (unshare(CLONE_NEWNET) != 0)
		err(2, "unshare");
	fd = here();
	enter(back);
	return (fd);
}

/* Run a program by argv; the command is one string, split at blanks. */
static int
tool(const char *command)
{
	char copy[512], *argv[40], *save = NULL;
	int n = 0, status;
	pid_t pid;

	snprintf(copy, sizeof(copy), "%s", command);
	for (argv[n] = strtok_r(copy, " ", &save); argv[n] != NULL && n < 38;)
		argv[++n] = strtok_r(NULL, " ", &save);
	if ((pid = fork()) == 0) {
		execvp(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return (-1);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		warnx("failed: %s", command);
		return (-1);
	}
	return (0);
}

static void
attach(struct host *h, const struct net_policy *p, int ns, char *id)
{
	struct net_attach a;
	struct net_lease l;
	struct co_error e;

	co_id_make(id);
	memset(&a, 0, sizeof(a));
	a.id = id;
	a.kind = NET_PAIR;
	a.netns = ns;
	a.policy = p;
	if (net_attach(h->net, &a, &l, &e) != 0)
		errx(2, "%s", e.message);
}

static void
sysctl_one(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "1", 1) != 1)
		err(2, "%s", path);
	close(fd);
}

/* An uplink to a namespace that takes packets and says nothing. */
static void
uplink(struct host *h, int home)
{
	char cmd[160];

	h->inet = new_ns(h->ns);
	snprintf(cmd, sizeof(cmd), "ip link add uplink0 type veth peer name "
	    "eth0 netns /proc/%d/fd/%d", getpid(), h->inet);
	if (tool(cmd) != 0 ||
	    tool("ip addr add 198.51.100.100/24 dev uplink0") !=
	    0 || tool("ip link set uplink0 up") != 0 ||
	    tool("ip route add default via 198.51.100.1") != 0)
		exit(2);
	enter(h->inet);
	if (tool("ip addr add 198.51.100.1/24 dev eth0") != 0 ||
	    tool("ip link set eth0 up") != 0 || tool("nft add table ip t") !=
	    0 || tool("nft add chain ip t c { type filter hook prerouting "
	    "priority -300 ; policy drop ; }") != 0)
		exit(2);
	enter(home);
}

static void
host_open(struct host *h, const struct net_policy *p, int home, int crowd)
{
	struct co_error e;
	char id[CO_IDSIZE], *text;
	bool changed;
	int i;

	h->ns = new_ns(home);
	enter(h->ns);
	uplink(h, h->ns);
	net_conf_default(&h->conf);
	/* Room for the crowd and for those that come and go. */
	h->conf.subnet[NET_PAIR].range = "10.78.0.0/22";
	h->conf.quarantine_ms = 0;
	if (net_open(&h->conf, &h->net, &e) != 0 ||
	    net_links_bridge(h->net->links, NET_PAIR, &changed, &e) != 0 ||
	    net_links_bridge(h->net->links, NET_TAP, &changed, &e) != 0)
		errx(2, "%s", e.message);
	if ((text = net_render_nft_base(&h->conf)) == NULL ||
	    net_nft_run(text, NULL, &e) != 0)
		errx(2, "%s", e.message);
	free(text);
	sysctl_one("/proc/sys/net/ipv4/ip_forward");
	h->box = new_ns(h->ns);
	for (i = 0; i < crowd; i++)
		attach(h, p, new_ns(h->ns), id);
	enter(home);
}

/*
 * Set-up and tear-down.  The quickest of some turns counts: whatever else
 * the machine does can only add to it.
 */
static double
cycle(struct bench_net *b, struct host *h, bool down)
{
	struct co_error e;
	char id[CO_IDSIZE];
	double t, best = 1e9;
	int i, ns;

	enter(h->ns);
	for (i = 0; i < b->turns; i++) {
		ns = new_ns(h->ns);
		t = bench_now();
		attach(h, b->policy, ns, id);
		if (!down)
			t = bench_now() - t;
		if (net_detach(h->net, id, &e) != 0)
			errx(2, "%s", e.message);
		net_settle(h->net);
		if (down)
			t = bench_now() - t;
		if (t < best)
			best = t;
		close(ns);
	}
	enter(b->home);
	return (best);
}

#define	CYCLE(name, host, down)						\
static double								\
name(void *arg)								\
{									\
	struct bench_net *b = arg;					\
									\
	return (cycle(b, &b->host, down));				\
}

CYCLE(up_alone, alone, false)
CYCLE(up_many, many, false)
CYCLE(both_alone, alone, true)
CYCLE(both_some, some, true)
CYCLE(both_many, many, true)

/* The namespace too, as the tools make one. */
static double
ours(void *arg)
{
	struct bench_net *b = arg;
	struct co_error e;
	char id[CO_IDSIZE];
	double t, best = 1e9;
	int i, ns;

	enter(b->alone.ns);
	for (i = 0; i < b->turns; i++) {
		t = bench_now();
		ns = new_ns(b->alone.ns);
		attach(&b->alone, b->policy, ns, id);
		if (net_detach(b->alone.net, id, &e) != 0)
			errx(2, "%s", e.message);
		net_settle(b->alone.net);
		close(ns);
		if (bench_now() - t < best)
			best = bench_now() - t;
	}
	enter(b->home);
	return (best);
}

static const char up_rules[] =
    "/run/netns/bench-up.nft", down_rules[] = "/run/netns/bench-down.nft";

static double
theirs(void *arg)
{
	struct bench_net *b = arg;
	char nft[2][64];
	double t, best = 1e9;
	int i;

	snprintf(nft[0], sizeof(nft[0]), "nft -f %s", up_rules);
	snprintf(nft[1], sizeof(nft[1]), "nft -f %s", down_rules);
	enter(b->alone.ns);
	for (i = 0; i < b->turns; i++) {
		t = bench_now();
		if (tool("ip netns add bench") != 0 ||
		    tool("ip link add cpbench type veth peer name eth0 "
		    "address 06:00:0a:4e:03:00 netns bench") != 0 ||
		    tool("ip link set cpbench master coppicenet0 up") != 0 ||
		    tool("ip -n bench addr add 10.78.3.0/22 dev eth0") != 0 ||
		    tool("ip -n bench link set eth0 up") != 0 ||
		    tool("ip -n bench route add default via 10.78.0.1") != 0 ||
		    tool(nft[0]) != 0 || tool(nft[1]) != 0 ||
		    tool("ip link del cpbench") != 0 ||
		    tool("ip netns del bench") != 0)
			return (-1);
		if (bench_now() - t < best)
			best = bench_now() - t;
	}
	enter(b->home);
	return (best);
}

static void
put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || co_write_all(fd, text, strlen(text)) != 0)
		err(2, "%s", path);
	close(fd);
}

/* The rules of such a sandbox, as text for nft(8). */
static void
rules_for_tools(struct bench_net *b)
{
	struct net_lease l;
	char *text;

	net_lease_fill(b->alone.net, &l, "00000000000000000000000000000001",
	    NET_PAIR, 0x0a4e0300);
	strcpy(l.ifname, "cpbench");
	if ((text = net_render_nft(&b->alone.conf, &l, b->policy)) == NULL)
		errx(2, "out of memory");
	put(up_rules, text);
	free(text);
	put(down_rules,
	    "delete element inet coppice sandbox4 { 10.78.3.0 }\n"
	    "delete element inet coppice sandbox6 { fd63:6f70:7069:4e::300 }\n"
	    "delete element inet coppice live4 { 10.78.3.0 }\n"
	    "delete element inet coppice live6 { fd63:6f70:7069:4e::300 }\n"
	    "flush set bridge coppice pin4\nflush set bridge coppice pin6\n"
	    "flush chain inet coppice sandbox-000000000000\n"
	    "delete chain inet coppice sandbox-000000000000\n"
	    "flush chain inet coppice sandbox6-000000000000\n"
	    "delete chain inet coppice sandbox6-000000000000\n"
	    "delete counter inet coppice blocked-000000000000\n");
}

/*
 * Packets: datagrams from a sandbox through the host, translated, to an
 * internet that drops them on arrival.
 */
static double
flood(struct bench_net *b, struct host *h)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	char data[64] = "";
	double t, best = 1e9;
	int fd, i, k, chunk = b->packets / 40;

	enter(h->box);
	if ((fd = socket(AF_INET, SOCK_DGRAM, 0)) < 0)
		err(2, "socket");
	in.sin_port = htons(9);
	inet_pton(AF_INET, "198.51.100.1", &in.sin_addr);
	if (connect(fd, (void *)&in, sizeof(in)) != 0)
		err(2, "connect");
	for (k = 0; k < 40; k++) {
		t = bench_now();
		for (i = 0; i < chunk; i++)
			(void)send(fd, data, sizeof(data), 0);
		t = bench_now() - t;
		if (t < best)
			best = t;
	}
	close(fd);
	enter(b->home);
	return (best / chunk);
}

#define	FLOOD(name, host)						\
static double								\
name(void *arg)								\
{									\
	struct bench_net *b = arg;					\
									\
	return (flood(b, &b->host));					\
}

FLOOD(packet_alone, alone)
FLOOD(packet_many, many)
FLOOD(packet_bare, bare)

/* A host that forwards and translates, with no other rule. */
static void
bare(struct bench_net *b)
{
	struct co_error e;

	enter(b->bare.ns);
	if (net_nft_run("delete table inet coppice\n"
	    "delete table bridge coppice\n"
	    "add table ip nat\nadd chain ip nat c { type nat hook postrouting "
	    "priority srcnat; }\nadd rule ip nat c oifname uplink0 "
	    "masquerade\n", NULL, &e) != 0)
		errx(2, "%s", e.message);
	enter(b->home);
}

int
main(int argc, char **argv)
{
	struct bench_net b;
	struct bench *bench;
	struct host *h[4];
	char id[CO_IDSIZE];
	int i;

	bench = bench_open("net", &argc, argv);
	if (geteuid() != 0)
		errx(2, "network namespaces need root");
	memset(&b, 0, sizeof(b));
	b.turns = bench_quick(bench) ? 5 : 20;
	b.packets = bench_quick(bench) ? 50000 : 300000;
	if (unshare(CLONE_NEWNET | CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		err(2, "unshare");
	(void)mkdir("/run/netns", 0755);
	if (mount("tmpfs", "/run/netns", "tmpfs", 0, NULL) != 0)
		err(2, "/run/netns");
	b.home = here();
	if ((b.policy = net_policy_new(NET_OPEN)) == NULL)
		errx(2, "out of memory");
	host_open(&b.alone, b.policy, b.home, 0);
	host_open(&b.some, b.policy, b.home, 100);
	host_open(&b.many, b.policy, b.home, CROWD);
	host_open(&b.bare, b.policy, b.home, 0);
	rules_for_tools(&b);

	bench_ratio(bench, "set-up and tear-down with 100 present",
	    "0 present", BENCH_ATMOST, 1.2, both_some, both_alone, &b);
	bench_ratio(bench, "set-up and tear-down with 240 present",
	    "0 present", BENCH_ATMOST, 1.2, both_many, both_alone, &b);
	/* The kernel's own walks: ports of a bridge, chains of a table. */
	bench_ratio(bench, "set-up alone with 240 present", "0 present",
	    BENCH_REPORT, 0, up_many, up_alone, &b);
	bench_ratio(bench, "set-up and tear-down", "ip(8) and nft(8)",
	    BENCH_ATMOST, 0.5, ours, theirs, &b);

	h[0] = &b.alone;
	h[1] = &b.many;
	h[2] = &b.bare;
	h[3] = NULL;
	for (i = 0; h[i] != NULL; i++) {
		enter(h[i]->ns);
		if (i == 2)
			break;
		attach(h[i], b.policy, h[i]->box, id);
		enter(b.home);
	}
	/* The last one is attached while it has rules to be attached with. */
	attach(&b.bare, b.policy, b.bare.box, id);
	enter(b.home);
	bare(&b);
	bench_ratio(bench, "a packet, with the rules of 240", "of one",
	    BENCH_ATMOST, 1.1, packet_many, packet_alone, &b);
	bench_ratio(bench, "a packet, with our rules", "translation alone",
	    BENCH_REPORT, 0, packet_alone, packet_bare, &b);
	net_policy_free(b.policy);
	return (bench_close(bench));
}
