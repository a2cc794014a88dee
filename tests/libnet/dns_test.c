/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The resolver as sandboxes see it: our relay in front of a real unbound on
 * the host, which forwards to another one that plays the internet.
 */

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dns_msg.h"
#include "world.h"

#define	HEAD(name)							\
ATF_TC(name);								\
ATF_TC_HEAD(name, tc)							\
{									\
									\
	atf_tc_set_md_var(tc, "require.user", "root");			\
	atf_tc_set_md_var(tc, "require.progs", "ip nft ss unbound");	\
}

static void
put_file(const char *dir, const char *name, const char *text)
{
	struct co_error e;
	int fd = open(dir, O_RDONLY | O_DIRECTORY);

	ATF_REQUIRE_EQ(0, co_file_replace(fd, name, text, strlen(text), 0644,
	    &e));
	close(fd);
}

static void
run_unbound(void *arg)
{
	char *argv[] = { (char[]){ "unbound" }, (char[]){ "-d" },
	    (char[]){ "-c" }, arg, NULL };
	int fd = open("/dev/null", O_RDWR);

	dup2(fd, 1);
	dup2(fd, 2);
	execvp("unbound", argv);
	_exit(97);
}

static const char common[] =
    "server:\n"
    "\tusername: \"\"\n\tchroot: \"\"\n\tpidfile: \"\"\n"
    "\tuse-syslog: no\n\tdo-daemonize: no\n\tmodule-config: \"iterator\"\n"
    "\tnum-threads: 1\n";

static void
await_port(struct world *w, int ns, const char *word)
{
	char out[16384];
	int i;

	for (i = 0; i < 1000; i++) {
		if (w_run(w, ns, out, sizeof(out), "ss", "-Hlntu", NULL) == 0 &&
		    strstr(out, word) != NULL)
			return;
		usleep(10000);
	}
	ATF_REQUIRE_MSG(false, "nothing listens at %s: %s", word, out);
}

/* Names of the internet, and the host's unbound with our fragment. */
static void
servers(struct world *w)
{
	static char conf[2][128];
	char text[8192], *fragment;
	int i, n;

	n = snprintf(text, sizeof(text), "%s\tinterface: " W_DNS4 "\n"
	    "\taccess-control: 0.0.0.0/0 allow\n"
	    "\tlocal-zone: \".\" static\n"
	    "\tlocal-data: \"good.example. 2 A " W_INET4 "\"\n"
	    "\tlocal-data: \"good.example. 60 AAAA " W_INET6 "\"\n"
	    "\tlocal-data: \"other.example. 60 A " W_INET4B "\"\n"
	    "\tlocal-data: \"www.sub.example. 60 A " W_INET4B "\"\n"
	    "\tlocal-data: \"rebind.example. 60 A " W_LAN4 "\"\n"
	    "\tlocal-data: \"rebind.example. 60 A " W_INET4 "\"\n"
	    "\tlocal-data: \"loop.example. 60 A 127.0.0.1\"\n"
	    "\tlocal-data: \"alias.example. 60 CNAME good.example.\"\n"
	    "\tlocal-data: 'txt.example. 60 TXT \"hello\"'\n"
	    "\tlocal-data: \"null.example. 60 TYPE10 \\# 4 41424344\"\n",
	    common);
	for (i = 0; i < 40; i++)	/* more than a datagram holds */
		n += snprintf(text + n, sizeof(text) - (size_t)n,
		    "\tlocal-data: 'big.example. 60 TXT \"%d-%s\"'\n", i,
		    "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz");
	put_file(w->dir, "inet.conf", text);
	snprintf(conf[0], sizeof(conf[0]), "%s/inet.conf", w->dir);
	w_serve(w, w->inet, run_unbound, conf[0]);
	w->conf.forwarders = W_DNS4;
	ATF_REQUIRE((fragment = net_render_unbound(&w->conf, "")) != NULL);
	snprintf(text, sizeof(text), "%s\tdo-not-query-localhost: no\n%s",
	    common, fragment);
	free(fragment);
	put_file(w->dir, "host.conf", text);
	snprintf(conf[1], sizeof(conf[1]), "%s/host.conf", w->dir);
	w_serve(w, w->home, run_unbound, conf[1]);
	await_port(w, w->inet, W_DNS4 ":53 ");
	await_port(w, w->home, "10.78.0.1:5335 ");
	/* The host itself asks its own address, as ever. */
	await_port(w, w->home, "127.0.0.1:53 ");
}

/* And the relay. */
static void
resolver(struct world *w)
{
	struct co_error e;

	servers(w);
	w->net->conf.dns_floor_ms = 1000;
	ATF_REQUIRE_EQ_MSG(0, net_dns_start(w->net, &e), "%s", e.message);
	await_port(w, w->home, "10.78.0.1:53 ");
}

/*
 * One query from a namespace.
 */
struct ask {
	const char	*server, *name;
	unsigned	 type;
	bool		 tcp;
	/* shared with the child */
	struct result {
		int	rcode;		/* -1: no answer */
		int	answers;
		bool	truncated;
		uint8_t	last[16];	/* data of the last record */
		int	lastlen, lasttype;
	}		*r;
};

static size_t
skip_name(const uint8_t *p, size_t at)
{

	while (p[at] != 0 && (p[at] & 0xc0) == 0)
		at += (size_t)p[at] + 1;
	return (at + ((p[at] & 0xc0) ? 2 : 1));
}

static void
read_answer(const uint8_t *p, size_t n, struct result *r)
{
	size_t at = 12, len;
	int i;

	r->rcode = p[3] & 15;
	r->truncated = (p[2] & 2) != 0;
	r->answers = p[6] << 8 | p[7];
	at = skip_name(p, at) + 4;
	for (i = 0; i < r->answers && at < n; i++) {
		at = skip_name(p, at);
		r->lasttype = p[at] << 8 | p[at + 1];
		len = (size_t)(p[at + 8] << 8 | p[at + 9]);
		r->lastlen = (int)len;
		memcpy(r->last, p + at + 10, len < 16 ? len : 16);
		at += 10 + len;
	}
}

static int
ask_child(void *arg)
{
	struct ask *a = arg;
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct pollfd pfd;
	uint8_t q[300] = { 0x55, 0x66, 1, 0, 0, 1 }, r[70000];
	const char *s = a->name;
	size_t n = 14, len, got = 0;
	ssize_t k;
	int fd;

	a->r->rcode = -1;
	/* A TCP length goes before it; a datagram leaves that out. */
	memmove(q + 2, q, 12);
	for (; *s != '\0'; s += len + (s[len] == '.')) {
		len = strcspn(s, ".");
		q[n++] = (uint8_t)len;
		memcpy(q + n, s, len);
		n += len;
	}
	q[n++] = 0;
	q[n++] = (uint8_t)(a->type >> 8);
	q[n++] = (uint8_t)a->type;
	q[n++] = 0;
	q[n++] = 1;
	q[0] = 0;
	q[1] = (uint8_t)(n - 2);
	in.sin_port = htons(53);
	inet_pton(AF_INET, a->server, &in.sin_addr);
	fd = socket(AF_INET, a->tcp ? SOCK_STREAM : SOCK_DGRAM, 0);
	if (connect(fd, (void *)&in, sizeof(in)) != 0)
		return (1);
	if (send(fd, a->tcp ? q : q + 2, a->tcp ? n : n - 2, 0) < 0)
		return (1);
	pfd.fd = fd;
	pfd.events = POLLIN;
	while (poll(&pfd, 1, 3000) == 1) {
		if ((k = recv(fd, r + got, sizeof(r) - got, 0)) <= 0)
			return (1);
		got += (size_t)k;
		if (!a->tcp) {
			read_answer(r, got, a->r);
			return (0);
		}
		if (got >= 2 && got == 2u + (unsigned)(r[0] << 8 | r[1])) {
			read_answer(r + 2, got - 2, a->r);
			return (0);
		}
	}
	return (1);
}

static struct result *
ask(struct world *w, int ns, const char *name, unsigned type, bool tcp)
{
	static struct result *r;
	struct ask a = { "10.78.0.1", name, type, tcp, NULL };

	if (r == NULL)
		r = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED |
		    MAP_ANONYMOUS, -1, 0);
	memset(r, 0, sizeof(*r));
	a.r = r;
	(void)w_in(w, ns, ask_child, &a);
	return (r);
}

static void
expect_addr(struct result *r, const char *want)
{
	struct net_addr a;

	net_addr_parse(want, &a);
	ATF_CHECK_EQ(0, r->rcode);
	ATF_CHECK_EQ((int)net_addr_len(&a), r->lastlen);
	ATF_CHECK_EQ(0, memcmp(a.b, r->last, net_addr_len(&a)));
}

HEAD(modes);
ATF_TC_BODY(modes, tc)
{
	struct world w;
	struct wbox a, b;
	struct result *r;

	w_open(&w, true);
	resolver(&w);
	w_box(&w, &a, "mode open\ndeny other.example\n");
	w_box(&w, &b, "mode airgap\nallow good.example\n");
	expect_addr(ask(&w, a.ns, "good.example", DNS_A, false), W_INET4);
	expect_addr(ask(&w, a.ns, "GOOD.example", DNS_AAAA, false), W_INET6);
	expect_addr(ask(&w, a.ns, "good.example", DNS_A, true), W_INET4);
	expect_addr(ask(&w, a.ns, "alias.example", DNS_A, false), W_INET4);
	ATF_CHECK_EQ(3, ask(&w, a.ns, "other.example", DNS_A, false)->rcode);
	ATF_CHECK_EQ(3, ask(&w, a.ns, "nothing.example", DNS_A,
	    false)->rcode);
	/* The gateway has names in every mode. */
	expect_addr(ask(&w, a.ns, "gateway.internal", DNS_A, false),
	    "10.78.0.1");
	expect_addr(ask(&w, b.ns, "proxy.internal", DNS_A, true),
	    "10.78.0.1");
	r = ask(&w, b.ns, "gateway.internal", DNS_TXT, false);
	ATF_CHECK_EQ(0, r->rcode);
	ATF_CHECK_EQ(0, r->answers);
	/* In the air gap there is nothing else. */
	ATF_CHECK_EQ(3, ask(&w, b.ns, "good.example", DNS_A, false)->rcode);
	ATF_CHECK_EQ(3, ask(&w, b.ns, "secret.evil.example", DNS_TXT,
	    false)->rcode);
	/* A change is in force at once. */
	w_set(&w, &b, "mode open\n");
	expect_addr(ask(&w, b.ns, "good.example", DNS_A, false), W_INET4);
	w_set(&w, &b, "mode disabled\n");
	ATF_CHECK_EQ(-1, ask(&w, b.ns, "gateway.internal", DNS_A,
	    false)->rcode);
	/* unbound itself is not to be asked. */
	ATF_CHECK(!w_udp(&w, a.ns, "10.78.0.1", 5335));
	ATF_CHECK(!w_tcp(&w, a.ns, "10.78.0.1", 5335));
	w_close(&w);
}

/* Names open the way to their addresses, for their time and no longer. */
HEAD(learning);
ATF_TC_BODY(learning, tc)
{
	struct world w;
	struct wbox a, b;

	w_open(&w, true);
	resolver(&w);
	w_box(&w, &a, "mode allowlist\nallow good.example:8080/tcp\n"
	    "allow *.sub.example\nallow alias.example:9090/udp\n");
	w_box(&w, &b, "mode allowlist\nallow good.example\n");
	ATF_CHECK(!w_tcp(&w, a.ns, W_INET4, W_PORT));
	expect_addr(ask(&w, a.ns, "good.example", DNS_A, false), W_INET4);
	ATF_CHECK(w_tcp(&w, a.ns, W_INET4, W_PORT));
	/* The port belongs to it; the neighbour has asked for nothing. */
	ATF_CHECK(!w_tcp(&w, a.ns, W_INET4, W_PORT2));
	ATF_CHECK(!w_udp(&w, a.ns, W_INET4, W_PORT));
	ATF_CHECK(!w_tcp(&w, b.ns, W_INET4, W_PORT));
	/* Its time (two seconds) is over. */
	sleep(4);
	ATF_CHECK(!w_tcp(&w, a.ns, W_INET4, W_PORT));
	expect_addr(ask(&w, a.ns, "good.example", DNS_A, true), W_INET4);
	expect_addr(ask(&w, a.ns, "good.example", DNS_A, false), W_INET4);
	ATF_CHECK(w_tcp(&w, a.ns, W_INET4, W_PORT));
	/* IPv6, an alias, a name below a name. */
	ATF_CHECK(!w_tcp(&w, a.ns, W_INET6, W_PORT));
	expect_addr(ask(&w, a.ns, "good.example", DNS_AAAA, false), W_INET6);
	ATF_CHECK(w_tcp(&w, a.ns, W_INET6, W_PORT));
	ATF_CHECK(!w_udp(&w, a.ns, W_INET4, W_PORT2));
	expect_addr(ask(&w, a.ns, "alias.example", DNS_A, false), W_INET4);
	ATF_CHECK(w_udp(&w, a.ns, W_INET4, W_PORT2));
	ATF_CHECK(!w_ping(&w, a.ns, W_INET4B));
	expect_addr(ask(&w, a.ns, "www.sub.example", DNS_A, false), W_INET4B);
	ATF_CHECK(w_ping(&w, a.ns, W_INET4B));
	/* What is not on the list does not resolve, nor its parent. */
	ATF_CHECK_EQ(3, ask(&w, a.ns, "other.example", DNS_A, false)->rcode);
	ATF_CHECK_EQ(3, ask(&w, a.ns, "sub.example", DNS_A, false)->rcode);
	/* A change keeps what it still permits, and only that. */
	w_set(&w, &a, "mode allowlist\nallow *.sub.example\n");
	ATF_CHECK(w_ping(&w, a.ns, W_INET4B));
	ATF_CHECK(!w_udp(&w, a.ns, W_INET4, W_PORT2));
	w_set(&w, &a, "mode allowlist\nallow *.sub.example\n"
	    "deny " W_INET4B "\n");
	ATF_CHECK(!w_ping(&w, a.ns, W_INET4B));
	w_close(&w);
}

/* Answers that point inside. */
HEAD(rebinding);
ATF_TC_BODY(rebinding, tc)
{
	struct world w;
	struct wbox a, b;
	struct result *r;

	w_open(&w, true);
	resolver(&w);
	w_box(&w, &a, "mode open\n");
	w_box(&w, &b, "mode allowlist\nallow rebind.example\n"
	    "allow " W_LAN4 ":8080/tcp\n");
	r = ask(&w, a.ns, "rebind.example", DNS_A, false);
	ATF_CHECK_EQ(1, r->answers);
	expect_addr(r, W_INET4);
	r = ask(&w, a.ns, "loop.example", DNS_A, false);
	ATF_CHECK_EQ(0, r->rcode);
	ATF_CHECK_EQ(0, r->answers);
	/* One whose allow list has the address is told, and reaches it. */
	r = ask(&w, b.ns, "rebind.example", DNS_A, false);
	ATF_CHECK_EQ(2, r->answers);
	ATF_CHECK(w_tcp(&w, b.ns, W_LAN4, W_PORT));
	/* But a name alone never opens what is private. */
	ATF_CHECK(!w_tcp(&w, b.ns, W_LAN4, W_PORT2));
	w_close(&w);
}

/* Types that carry more than names, and too many of them. */
HEAD(tunnels);
ATF_TC_BODY(tunnels, tc)
{
	struct world w;
	struct wbox a, b;
	struct result *r;
	int i, refused = 0;

	w_open(&w, true);
	resolver(&w);
	w_box(&w, &a, "mode open\n");
	ATF_CHECK_EQ(5, ask(&w, a.ns, "null.example", DNS_NULL,
	    false)->rcode);
	ATF_CHECK_EQ(5, ask(&w, a.ns, "good.example", 255, false)->rcode);
	ATF_CHECK_EQ(5, ask(&w, a.ns, "good.example", 65400, true)->rcode);
	r = ask(&w, a.ns, "txt.example", DNS_TXT, false);
	ATF_CHECK_EQ(0, r->rcode);
	ATF_CHECK_EQ(1, r->answers);
	/* Big ones say so, and come whole by TCP. */
	r = ask(&w, a.ns, "big.example", DNS_TXT, false);
	ATF_CHECK(r->truncated);
	ATF_CHECK_EQ(0, r->answers);
	r = ask(&w, a.ns, "big.example", DNS_TXT, true);
	ATF_CHECK(!r->truncated);
	ATF_CHECK_EQ(40, r->answers);
	/* A stream of them is cut off; other queries are not. */
	for (i = 0; i < 20; i++)
		refused += ask(&w, a.ns, "txt.example", DNS_TXT,
		    false)->rcode == 5;
	ATF_CHECK_MSG(refused >= 5, "%d", refused);
	expect_addr(ask(&w, a.ns, "good.example", DNS_A, false), W_INET4);
	/* In the other modes nothing is left to tunnel through. */
	for (i = 0; i < 3; i++) {
		static const char *const policy[] = {
			"mode allowlist\nallow good.example\n",
			"mode airgap\n", "mode disabled\n"
		};
		static const int none[] = { 3, 3, -1 };

		w_box(&w, &b, policy[i]);
		r = ask(&w, b.ns, "txt.example", DNS_TXT, false);
		ATF_CHECK_EQ_MSG(none[i], r->rcode, "%s", policy[i]);
		ATF_CHECK_EQ_MSG(0, r->answers, "%s", policy[i]);
		r = ask(&w, b.ns, "c2VjcmV0.null.example", DNS_NULL, false);
		ATF_CHECK_MSG(r->rcode != 0 && r->answers == 0, "%s: %d",
		    policy[i], r->rcode);
		r = ask(&w, b.ns, "c2VjcmV0.txt.example", DNS_A, i < 2);
		ATF_CHECK_MSG(r->rcode != 0 && r->answers == 0, "%s: %d",
		    policy[i], r->rcode);
		w_unbox(&w, &b);
	}
	w_close(&w);
}

/* A host that was never set up: the smoke test resolves all the same. */
HEAD(smoke_name);
ATF_TC_BODY(smoke_name, tc)
{
	struct net_smoke sm = { .target = W_INET4 ":8080",
	    .name = "good.example", .timeout_ms = 2000 };
	struct net_setup s = { .smoke = &sm };
	struct world w;
	struct co_error e;

	w_open(&w, false);
	servers(&w);
	ATF_REQUIRE_EQ_MSG(0, net_setup(w.net, &s, &e), "%s", e.message);
	ATF_CHECK_EQ(-1, net_dns_fd(w.net));
	ATF_REQUIRE_EQ(0, net_teardown(w.net, NULL, &e));
	sm.name = "nothing.example";
	ATF_CHECK_EQ(-1, net_setup(w.net, &s, &e));
	ATF_CHECK_EQ(CO_ENET_REVERTED, e.code);
	ATF_CHECK_MSG(strstr(e.message, "nothing.example") != NULL, "%s",
	    e.message);
	ATF_CHECK_EQ(-1, net_dns_fd(w.net));
	w_close(&w);
}

/* The relay dies; it can be started again, and knows everybody. */
HEAD(relay_dies);
ATF_TC_BODY(relay_dies, tc)
{
	struct world w;
	struct wbox a;
	struct co_error e;
	char out[65536], *line, *save = NULL;
	int i, r = 0;

	w_open(&w, true);
	resolver(&w);
	w_box(&w, &a, "mode open\n");
	expect_addr(ask(&w, a.ns, "good.example", DNS_A, false), W_INET4);
	ATF_REQUIRE_EQ(0, w_run(&w, w.home, out, sizeof(out), "ps", "-eo",
	    "pid=,ppid=,user=,args=", NULL));
	for (line = strtok_r(out, "\n", &save); line != NULL;
	    line = strtok_r(NULL, "\n", &save)) {
		int pid, ppid;

		if (strstr(line, " net-helper dns ") == NULL ||
		    sscanf(line, "%d %d", &pid, &ppid) != 2 ||
		    ppid != getpid())
			continue;
		/* It runs as nobody. */
		ATF_CHECK_MSG(strstr(line, " nobody ") != NULL, "%s", line);
		kill(pid, SIGKILL);
		r++;
	}
	ATF_CHECK_EQ(1, r);
	for (i = 0; i < 200; i++) {
		if (net_dns_dispatch(w.net, &e) != 0)
			break;
		usleep(10000);
	}
	ATF_CHECK_EQ(CO_ENET_DNS, e.code);
	ATF_CHECK_EQ(-1, net_dns_fd(w.net));
	ATF_REQUIRE_EQ_MSG(0, net_dns_start(w.net, &e), "%s", e.message);
	expect_addr(ask(&w, a.ns, "good.example", DNS_A, false), W_INET4);
	/* Two of them can't be. */
	w_close(&w);
}

/* Hostile bytes at the port itself. */
static int
garbage(void *arg)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), i, k, t;
	uint8_t buf[600];

	(void)arg;
	srandom(5);
	in.sin_port = htons(53);
	inet_pton(AF_INET, "10.78.0.1", &in.sin_addr);
	for (i = 0; i < 3000; i++) {
		for (k = 0; k < 600; k++)
			buf[k] = (uint8_t)random();
		if (i % 2) {
			memset(buf + 2, 0, 10);
			buf[5] = 1;
		}
		(void)sendto(fd, buf, (size_t)(random() % 600), 0,
		    (void *)&in, sizeof(in));
	}
	for (i = 0; i < 50; i++) {
		t = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(t, (void *)&in, sizeof(in)) == 0)
			(void)send(t, buf, (size_t)(random() % 600),
			    MSG_NOSIGNAL);
		if (i % 2)
			close(t);
	}
	return (0);
}

HEAD(hostile);
ATF_TC_BODY(hostile, tc)
{
	struct world w;
	struct wbox a, b;

	w_open(&w, true);
	resolver(&w);
	w_box(&w, &a, "mode open\n");
	w_box(&w, &b, "mode open\n");
	ATF_CHECK_EQ(0, w_in(&w, a.ns, garbage, NULL));
	/* The neighbour notices nothing. */
	expect_addr(ask(&w, b.ns, "good.example", DNS_A, false), W_INET4);
	expect_addr(ask(&w, b.ns, "good.example", DNS_A, true), W_INET4);
	w_close(&w);
}

static atf_error_t
add(atf_tp_t *tp)
{

	ATF_TP_ADD_TC(tp, modes);
	ATF_TP_ADD_TC(tp, learning);
	ATF_TP_ADD_TC(tp, rebinding);
	ATF_TP_ADD_TC(tp, tunnels);
	ATF_TP_ADD_TC(tp, smoke_name);
	ATF_TP_ADD_TC(tp, relay_dies);
	ATF_TP_ADD_TC(tp, hostile);
	return (atf_no_error());
}

W_MAIN(add)
