/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The network on FreeBSD, with real jails, bridges, pairs and pf: who
 * reaches whom, names, host set-up and its revert, restarts.  The host is a
 * vnet jail, into which the test moves, with interfaces, routes and pf of
 * its own; so are the sandboxes and the internet, behind a pair.
 */

#include <sys/param.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/jail.h>
#include <sys/procctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <arpa/inet.h>
#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <jail.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deadman.h"

#define	INET4	"198.51.100.1"
#define	INET4B	"198.51.100.2"
#define	HOST4	"198.51.100.100"
#define	INET6	"2001:db8:1::1"
#define	HOST6	"2001:db8:1::100"
#define	PORT	8080
#define	PORT2	9090
#define	SERVICE	49983		/* of the gateway */

static char self[1024];
static int countdown;

void
net_point(const char *name)
{

	(void)name;
	if (countdown > 0 && --countdown == 0) {
		kill(getpid(), SIGKILL);
		for (;;)
			pause();
	}
}

struct world {
	struct net_conf	 conf;
	struct net	*net;
	char		 dir[64], pfconf[96];
	const char	*helper[3];
	int		 inet;		/* jail id of the internet */
	pid_t		 pids[64];
	int		 npids;
};

/* A sandbox is a jail that one process holds. */
struct box {
	char		 id[CO_IDSIZE];
	struct net_lease lease;
	int		 jid;
	pid_t		 pid;
};

static int
run(int jid, char *out, size_t size, const char *prog, ...)
{
	const char *argv[32];
	int fd[2], n = 0, status;
	size_t len = 0;
	ssize_t got;
	char sink[4096];
	va_list ap;
	pid_t pid;

	argv[n++] = prog;
	va_start(ap, prog);
	while ((argv[n] = va_arg(ap, const char *)) != NULL)
		ATF_REQUIRE(++n < 31);
	va_end(ap);
	ATF_REQUIRE_EQ(0, pipe(fd));
	if ((pid = fork()) == 0) {
		dup2(fd[1], 1);
		dup2(fd[1], 2);
		/* A jail admits nobody who holds a directory open. */
		closefrom(3);
		if (jid > 0 && jail_attach(jid) != 0)
			_exit(126);
		execv(prog, (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(fd[1]);
	while ((got = read(fd[0], sink, sizeof(sink))) > 0)
		if (out != NULL && len + (size_t)got < size) {
			memcpy(out + len, sink, (size_t)got);
			len += (size_t)got;
		}
	if (out != NULL)
		out[len] = '\0';
	close(fd[0]);
	waitpid(pid, &status, 0);
	return (WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

/* The same where success matters: then its output does otherwise. */
#define	RUN(jid, ...)	do {						\
	static char said[65536];					\
									\
	ATF_REQUIRE_EQ_MSG(0, run(jid, said, sizeof(said),		\
	    __VA_ARGS__, NULL), "%s", said);				\
} while (0)
#define	IFCONFIG(jid, ...) RUN(jid, "/sbin/ifconfig", __VA_ARGS__)

/* In a child that serves: end with the test, and hold none of its files. */
static void
servant(void)
{
	int fd = open("/dev/null", O_RDWR), sig = SIGKILL;

	(void)procctl(P_PID, 0, PROC_PDEATHSIG_CTL, &sig);
	dup2(fd, 1);
	dup2(fd, 2);
}

/* Start a process in a new vnet jail; it runs ${fn} there. */
static int
jail_start(struct world *w, void (*fn)(void), pid_t *pid)
{
	char name[64];
	int fd[2], jid;

	ATF_REQUIRE_EQ(0, pipe(fd));
	if ((*pid = fork()) == 0) {
		servant();
		if (fd[1] != 3)
			dup2(fd[1], 3);
		closefrom(4);
		snprintf(name, sizeof(name), "coppice-test-%d", getpid());
		jid = jail_setv(JAIL_CREATE | JAIL_ATTACH, "name", name,
		    "path", "/", "vnet", "new", "allow.raw_sockets", NULL,
		    NULL);
		if (jid < 0)
			jid = -errno;
		(void)!write(3, &jid, sizeof(jid));
		close(3);
		fn();
		_exit(0);
	}
	close(fd[1]);
	ATF_REQUIRE_EQ(sizeof(jid), read(fd[0], &jid, sizeof(jid)));
	close(fd[0]);
	ATF_REQUIRE_MSG(jid > 0, "no jail: %s", strerror(-jid));
	w->pids[w->npids++] = *pid;
	return (jid);
}

static void
idle(void)
{

	for (;;)
		pause();
}

static int
bound(int type, uint16_t port)
{
	struct sockaddr_in6 six = { .sin6_len = sizeof(six),
	    .sin6_family = AF_INET6 };
	int fd = socket(AF_INET6, type, 0), one = 1, zero = 0;

	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	six.sin6_port = htons(port);
	if (bind(fd, (void *)&six, sizeof(six)) != 0 ||
	    (type == SOCK_STREAM && listen(fd, 16) != 0))
		_exit(98);
	return (fd);
}

/* Echo by TCP and UDP on these ports. */
static void
echo(void)
{
	static const uint16_t ports[] = { PORT, PORT2, SERVICE };
	struct pollfd p[128];
	struct sockaddr_storage ss;
	socklen_t len;
	char buf[8192];
	ssize_t n;
	int i, count = 2 * (int)nitems(ports);

	for (i = 0; i < count; i++)
		p[i] = (struct pollfd){ bound(i % 2 == 0 ? SOCK_STREAM :
		    SOCK_DGRAM, ports[i / 2]), POLLIN, 0 };
	while (poll(p, (nfds_t)count, -1) >= 0 || errno == EINTR) {
		for (i = 0; i < 2 * (int)nitems(ports); i++) {
			if (p[i].revents == 0)
				continue;
			if (i % 2 == 0 && count < 128) {
				p[count++] = (struct pollfd){ accept(p[i].fd,
				    NULL, NULL), POLLIN, 0 };
				continue;
			}
			len = sizeof(ss);
			n = recvfrom(p[i].fd, buf, sizeof(buf), 0,
			    (void *)&ss, &len);
			if (n >= 0)
				(void)sendto(p[i].fd, buf, (size_t)n, 0,
				    (void *)&ss, len);
		}
		for (; i < count; i++) {
			if (p[i].revents == 0)
				continue;
			n = recv(p[i].fd, buf, sizeof(buf), 0);
			if (n > 0)
				(void)send(p[i].fd, buf, (size_t)n,
				    MSG_NOSIGNAL);
			else {
				close(p[i].fd);
				p[i--] = p[--count];
			}
		}
	}
}

/* Also when a check has ended the test: nothing of it may stay. */
static struct world *current;
static pid_t owner;

static void
sweep(void)
{
	struct net_report rep;
	int i;

	if (current == NULL || getpid() != owner)
		return;
	for (i = 0; i < current->npids; i++) {
		kill(current->pids[i], SIGKILL);
		waitpid(current->pids[i], NULL, 0);
	}
	if (current->net != NULL) {
		(void)net_reconcile(current->net, NULL, 0, &rep, NULL);
		(void)net_teardown(current->net, NULL, NULL);
	}
	(void)run(0, NULL, 0, "/sbin/ifconfig", "uplink0", "destroy", NULL);
	(void)run(0, NULL, 0, "/bin/rm", "-rf", current->dir, NULL);
	current = NULL;
}

/* Be the host: a jail with a network stack, and thus a pf, of its own. */
static void
become_host(void)
{
	static const char *const modules[] = { "pf", "if_bridge", "if_epair",
	    "if_tuntap", "pflog" };
	char name[64];
	size_t i;

	for (i = 0; i < nitems(modules); i++)
		(void)run(0, NULL, 0, "/sbin/kldload", "-nq", modules[i],
		    NULL);
	if (access("/dev/pf", F_OK) != 0)
		atf_tc_skip("pf is not in the kernel");
	snprintf(name, sizeof(name), "coppice-test-host-%d", getpid());
	ATF_REQUIRE_MSG(jail_setv(JAIL_CREATE | JAIL_ATTACH, "name", name,
	    "path", "/", "vnet", "new", "children.max", "64",
	    "allow.raw_sockets", NULL, NULL) > 0, "%s", jail_errmsg);
	IFCONFIG(0, "lo0", "inet", "127.0.0.1/8", "up");
}

/* Names are looked up within the deadline, by a host that may be slow. */
static bool slow;

static void
world_open(struct world *w, bool set_up)
{
	struct co_error e;
	char line[80], *nl;
	pid_t pid;

	become_host();
	memset(w, 0, sizeof(*w));
	current = w;
	owner = getpid();
	atexit(sweep);
	snprintf(w->dir, sizeof(w->dir), "/tmp/coppice-net.%d", getpid());
	ATF_REQUIRE_EQ(0, mkdir(w->dir, 0700));
	snprintf(w->pfconf, sizeof(w->pfconf), "%s/pf.conf", w->dir);
	w->inet = jail_start(w, echo, &pid);
	ATF_REQUIRE_EQ(0, run(0, line, sizeof(line), "/sbin/ifconfig",
	    "epair", "create", NULL));
	if ((nl = strchr(line, '\n')) != NULL)
		*nl = '\0';
	IFCONFIG(0, line, "name", "uplink0");
	IFCONFIG(0, "uplink0", "inet", HOST4 "/24", "up");
	IFCONFIG(0, "uplink0", "inet6", HOST6 "/64", "no_dad");
	line[strlen(line) - 1] = 'b';
	{
		char jid[16];

		snprintf(jid, sizeof(jid), "%d", w->inet);
		IFCONFIG(0, line, "vnet", jid);
	}
	IFCONFIG(w->inet, line, "inet", INET4 "/24", "up");
	IFCONFIG(w->inet, line, "inet", INET4B "/32", "alias");
	IFCONFIG(w->inet, line, "inet6", INET6 "/64", "no_dad");
	IFCONFIG(w->inet, "lo0", "inet", "127.0.0.1/8", "up");
	RUN(0, "/sbin/route", "-q", "add", "default", INET4);
	RUN(0, "/sbin/route", "-q", "-6", "add", "default", INET6);
	net_conf_default(&w->conf);
	w->helper[0] = self;
	w->helper[1] = "net-helper";
	w->conf.helper = w->helper;
	w->conf.statedir = w->dir;
	w->conf.pf_conf = w->pfconf;
	w->conf.quarantine_ms = 0;
	if (slow)
		w->conf.deadman_ms = 300000;
	ATF_REQUIRE_EQ_MSG(0, net_open(&w->conf, &w->net, &e), "%s",
	    e.message);
	if (set_up)
		ATF_REQUIRE_EQ_MSG(0, net_setup(w->net, NULL, &e), "%s",
		    e.message);
}

static void
world_close(struct world *w)
{
	struct net_report rep;
	struct co_error e;
	int i;

	for (i = 0; i < w->npids; i++) {
		kill(w->pids[i], SIGKILL);
		waitpid(w->pids[i], NULL, 0);
	}
	ATF_CHECK_EQ_MSG(0, net_reconcile(w->net, NULL, 0, &rep, &e), "%s",
	    e.message);
	ATF_CHECK_EQ_MSG(0, net_teardown(w->net, NULL, &e), "%s", e.message);
	net_close(w->net);
	(void)run(0, NULL, 0, "/sbin/ifconfig", "uplink0", "destroy", NULL);
	(void)run(0, NULL, 0, "/bin/rm", "-rf", w->dir, NULL);
	current = NULL;
}

static struct net_policy *
policy_of(const char *text)
{
	struct net_policy *p;
	struct co_error e;

	ATF_REQUIRE_EQ_MSG(0, net_policy_parse(text, strlen(text), &p, &e),
	    "%s", e.message);
	return (p);
}

static void
box_open(struct world *w, struct box *b, const char *policy)
{
	struct net_policy *p = policy_of(policy);
	struct net_attach a;
	struct co_error e;

	memset(b, 0, sizeof(*b));
	memset(&a, 0, sizeof(a));
	co_id_make(b->id);
	b->jid = jail_start(w, echo, &b->pid);
	a.id = b->id;
	a.jid = b->jid;
	a.policy = p;
	ATF_REQUIRE_EQ_MSG(0, net_attach(w->net, &a, &b->lease, &e), "%s",
	    e.message);
	net_policy_free(p);
}

static void
box_set(struct world *w, struct box *b, const char *policy)
{
	struct net_policy *p = policy_of(policy);
	struct co_error e;

	ATF_REQUIRE_EQ_MSG(0, net_policy_set(w->net, b->id, p, &e), "%s",
	    e.message);
	net_policy_free(p);
}

static int
dial(const char *addr, uint16_t port, int type)
{
	struct sockaddr_in6 six = { .sin6_len = sizeof(six),
	    .sin6_family = AF_INET6 };
	struct sockaddr_in in = { .sin_len = sizeof(in),
	    .sin_family = AF_INET };
	bool v6 = strchr(addr, ':') != NULL;
	int fd = socket(v6 ? AF_INET6 : AF_INET, type | SOCK_NONBLOCK, 0);

	in.sin_port = six.sin6_port = htons(port);
	inet_pton(v6 ? AF_INET6 : AF_INET, addr, v6 ? (void *)&six.sin6_addr :
	    (void *)&in.sin_addr);
	if (connect(fd, v6 ? (void *)&six : (void *)&in, v6 ? sizeof(six) :
	    sizeof(in)) != 0 && errno != EINPROGRESS)
		return (-1);
	return (fd);
}

enum probe { TCP, UDP, PING };

/*
 * Whether an echo comes back.  A handshake alone proves nothing: pf may
 * answer by itself, with a cookie, before it looks at its rules.
 */
static int
probe_inside(enum probe what, const char *addr, uint16_t port)
{
	struct net_addr a;
	struct pollfd p;
	char c = 'x';

	if (what == PING)
		return (net_addr_parse(addr, &a) == 0 &&
		    net_smoke_ping(&a, 1500));
	p.fd = dial(addr, port, what == TCP ? SOCK_STREAM : SOCK_DGRAM);
	if (p.fd < 0)
		return (0);
	p.events = POLLOUT;
	if (poll(&p, 1, 1500) != 1 || send(p.fd, &c, 1, MSG_NOSIGNAL) != 1)
		return (0);
	p.events = POLLIN;
	return (poll(&p, 1, 1500) == 1 && recv(p.fd, &c, 1, 0) == 1);
}

static bool
probe(int jid, enum probe what, const char *addr, uint16_t port)
{
	int status;
	pid_t pid;

	if ((pid = fork()) == 0) {
		closefrom(3);
		if (jid > 0 && jail_attach(jid) != 0)
			_exit(99);
		_exit(probe_inside(what, addr, port));
	}
	waitpid(pid, &status, 0);
	ATF_REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
	return (WEXITSTATUS(status) == 1);
}

#define	HEAD(name)							\
ATF_TC(name);								\
ATF_TC_HEAD(name, tc)							\
{									\
									\
	atf_tc_set_md_var(tc, "require.user", "root");			\
	atf_tc_set_md_var(tc, "timeout", "1800");			\
}

/* Columns as on Linux: see matrix_test.c. */
struct row {
	const char	*policy;
	bool		 tcp, udp, ping, six, gateway;
};

static const struct row rows[] = {
	{ "mode open\n", true, true, true, true, true },
	{ "mode allowlist\nallow " INET4 ":8080/tcp\n", true, false, false,
	    false, true },
	{ "mode allowlist\nallow 198.51.100.0/30:8080/udp\n"
	    "allow [2001:db8:1::/64]:8080/tcp\n", false, true, false, true,
	    true },
	{ "mode allowlist\nallow 198.51.100.0/24\ndeny " INET4 "\n", false,
	    false, false, false, true },
	{ "mode airgap\nallow 198.51.100.0/24\n", false, false, false, false,
	    true },
	{ "mode disabled\n", false, false, false, false, false },
};

HEAD(matrix);
ATF_TC_BODY(matrix, tc)
{
	char ip[NET_ADDRSTR], six[NET_ADDRSTR], mine[NET_ADDRSTR];
	const struct row *r;
	struct world w;
	struct box a, b;
	size_t i;
	pid_t host;

	world_open(&w, true);
	/* The host itself serves, at all its addresses. */
	if ((host = fork()) == 0) {
		servant();
		echo();
		_exit(0);
	}
	w.pids[w.npids++] = host;
	box_open(&w, &a, "mode open\n");
	box_open(&w, &b, "mode open\n");
	net_addr_print(&b.lease.addr, ip);
	net_addr_print(&b.lease.addr6, six);
	net_addr_print(&a.lease.addr, mine);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		r = &rows[i];
		box_set(&w, &a, r->policy);
		ATF_CHECK_EQ_MSG(r->tcp, probe(a.jid, TCP, INET4, PORT), "%s",
		    r->policy);
		ATF_CHECK_EQ_MSG(r->udp, probe(a.jid, UDP, INET4, PORT), "%s",
		    r->policy);
		ATF_CHECK_EQ_MSG(r->ping, probe(a.jid, PING, INET4, 0), "%s",
		    r->policy);
		ATF_CHECK_EQ_MSG(r->six, probe(a.jid, TCP, INET6, PORT), "%s",
		    r->policy);
		ATF_CHECK_EQ_MSG(r->gateway, probe(a.jid, PING, "10.78.0.1",
		    0), "%s", r->policy);
		ATF_CHECK_EQ_MSG(r->gateway, probe(a.jid, TCP, "10.78.0.1",
		    SERVICE), "%s", r->policy);
		ATF_CHECK_MSG(!probe(a.jid, TCP, "10.78.0.1", PORT), "%s",
		    r->policy);
		ATF_CHECK_MSG(!probe(a.jid, TCP, "10.77.0.1", PORT), "%s",
		    r->policy);
		ATF_CHECK_MSG(!probe(a.jid, TCP, HOST4, PORT), "%s",
		    r->policy);
		ATF_CHECK_MSG(!probe(a.jid, TCP, HOST6, PORT), "%s",
		    r->policy);
		ATF_CHECK_MSG(!probe(a.jid, TCP, ip, PORT), "%s", r->policy);
		ATF_CHECK_MSG(!probe(a.jid, PING, ip, 0), "%s", r->policy);
		ATF_CHECK_MSG(!probe(a.jid, PING, six, 0), "%s", r->policy);
		ATF_CHECK_EQ_MSG(r->gateway, probe(0, PING, mine, 0), "%s",
		    r->policy);
	}
	/* The neighbour was never affected. */
	ATF_CHECK(probe(b.jid, TCP, INET4, PORT));
	world_close(&w);
}

/* A jail that gives itself another address is not heard. */
HEAD(spoofing);
ATF_TC_BODY(spoofing, tc)
{
	struct world w;
	struct box a, b;

	world_open(&w, true);
	box_open(&w, &a, "mode open\n");
	box_open(&w, &b, "mode open\n");
	ATF_CHECK(probe(a.jid, UDP, INET4, PORT));
	IFCONFIG(a.jid, "vnet0", "inet", "10.78.0.200/32", "alias");
	{
		char ip[NET_ADDRSTR];

		net_addr_print(&a.lease.addr, ip);
		IFCONFIG(a.jid, "vnet0", "inet", ip, "-alias");
	}
	(void)run(a.jid, NULL, 0, "/sbin/ifconfig", "vnet0", "inet",
	    "10.78.0.200/24", "alias", NULL);
	(void)run(a.jid, NULL, 0, "/sbin/route", "-q", "add", "default",
	    "10.78.0.1", NULL);
	ATF_CHECK(!probe(a.jid, UDP, INET4, PORT));
	ATF_CHECK(!probe(a.jid, PING, "10.78.0.1", 0));
	/* Nor one that takes the neighbour's hardware address. */
	IFCONFIG(a.jid, "vnet0", "ether", "06:00:0a:4e:00:0b");
	ATF_CHECK(!probe(a.jid, PING, "10.78.0.1", 0));
	ATF_CHECK(probe(b.jid, UDP, INET4, PORT));
	world_close(&w);
}

static int
bad_probe(struct net *n, void *arg, struct co_error *e)
{

	(void)n;
	(void)arg;
	return (co_error_set(e, CO_ENET_RULES, "probe", "it smells burnt"));
}

static void
put_conf(struct world *w, const char *text)
{
	struct co_error e;
	int fd = open(w->dir, O_RDONLY | O_DIRECTORY);

	ATF_REQUIRE_EQ(0, co_file_replace(fd, "pf.conf", text, strlen(text),
	    0600, &e));
	close(fd);
}

static void
expect_conf(struct world *w, const char *want)
{
	struct co_error e;
	char *text;
	size_t len;

	ATF_REQUIRE_EQ(0, co_file_read(AT_FDCWD, w->pfconf, 65536, &text,
	    &len, &e));
	ATF_CHECK_STREQ(want, text);
	free(text);
}

HEAD(setup);
ATF_TC_BODY(setup, tc)
{
	static const char mine[] = "set skip on lo0\n"
	    "block in quick on uplink0 proto tcp to port 23\npass all\n";
	struct net_setup s = { .probe = bad_probe };
	static char before[65536], after[65536];
	struct world w;
	struct co_error e;

	world_open(&w, false);
	put_conf(&w, mine);
	RUN(0, "/sbin/pfctl", "-qf", w.pfconf);
	RUN(0, "/sbin/pfctl", "-qe");
	ATF_REQUIRE_EQ(0, run(0, before, sizeof(before), "/sbin/pfctl", "-qs",
	    "rules", NULL));
	/* A change that fails its test leaves no trace. */
	ATF_REQUIRE_EQ(-1, net_setup(w.net, &s, &e));
	ATF_CHECK_EQ_MSG(CO_ENET_REVERTED, e.code, "%s", e.message);
	ATF_REQUIRE_EQ(0, run(0, after, sizeof(after), "/sbin/pfctl", "-qs",
	    "rules", NULL));
	ATF_CHECK_STREQ(before, after);
	expect_conf(&w, mine);
	/* One that holds adds two lines and keeps the others. */
	ATF_REQUIRE_EQ_MSG(0, net_setup(w.net, NULL, &e), "%s", e.message);
	expect_conf(&w, "set skip on lo0\n# coppice nat begin\n"
	    "nat-anchor \"cube/*\"\n# coppice nat end\n"
	    "# coppice filter begin\nanchor \"cube/*\"\n"
	    "# coppice filter end\n"
	    "block in quick on uplink0 proto tcp to port 23\npass all\n");
	ATF_REQUIRE_EQ(0, run(0, after, sizeof(after), "/sbin/pfctl", "-qs",
	    "rules", NULL));
	ATF_CHECK(strstr(after, "port = telnet") != NULL ||
	    strstr(after, "port = 23") != NULL);
	/* Again: nothing to do, and no probe is asked. */
	ATF_CHECK_EQ(0, net_setup(w.net, &s, &e));
	ATF_REQUIRE_EQ_MSG(0, net_teardown(w.net, NULL, &e), "%s", e.message);
	expect_conf(&w, mine);
	ATF_REQUIRE_EQ(0, run(0, after, sizeof(after), "/sbin/pfctl", "-qs",
	    "rules", NULL));
	ATF_CHECK_STREQ(before, after);
	/* A skipped uplink is found out. */
	put_conf(&w, "set skip on uplink0\npass all\n");
	RUN(0, "/sbin/pfctl", "-qf", w.pfconf);
	ATF_CHECK_EQ(-1, net_setup(w.net, NULL, &e));
	ATF_CHECK_MSG(strstr(e.message, "set skip on uplink0") != NULL, "%s",
	    e.message);
	/* Rules that are loaded but stand nowhere are not overwritten. */
	put_conf(&w, "pass all\nblock in proto udp to port 9\n");
	RUN(0, "/sbin/pfctl", "-qf", w.pfconf);
	put_conf(&w, "pass all\n");
	ATF_CHECK_EQ(-1, net_setup(w.net, NULL, &e));
	ATF_CHECK_MSG(strstr(e.message, "are not those of") != NULL, "%s",
	    e.message);
	(void)run(0, NULL, 0, "/sbin/pfctl", "-qf", w.pfconf, NULL);
	(void)run(0, NULL, 0, "/sbin/pfctl", "-qd", NULL);
	world_close(&w);
}

/* Flows go on, or end, with a change of policy. */
static bool
alive(int fd)
{
	struct pollfd p = { fd, POLLIN, 0 };
	char c = 'x';

	return (send(fd, &c, 1, MSG_NOSIGNAL) == 1 && poll(&p, 1, 2000) == 1 &&
	    recv(fd, &c, 1, 0) == 1);
}

HEAD(live_change);
ATF_TC_BODY(live_change, tc)
{
	struct net_counters k;
	struct world w;
	struct box a;
	struct co_error e;
	int to[2], from[2], result, one, two, status;
	char c;
	pid_t pid;

	world_open(&w, true);
	box_open(&w, &a, "mode open\n");
	ATF_REQUIRE_EQ(0, pipe(to));
	ATF_REQUIRE_EQ(0, pipe(from));
	if ((pid = fork()) == 0) {
		dup2(from[1], 60);
		dup2(to[0], 61);
		dup2(60, 3);
		dup2(61, 4);
		closefrom(5);
		if (jail_attach(a.jid) != 0)
			_exit(99);
		one = dial(INET4, PORT, SOCK_STREAM);
		two = dial(INET4B, PORT, SOCK_STREAM);
		sleep(1);
		if (!alive(one) || !alive(two))
			_exit(64);
		(void)!write(3, "r", 1);
		(void)!read(4, &c, 1);
		result = alive(one) ? 1 : 0;
		result |= alive(two) ? 2 : 0;
		_exit(result);
	}
	ATF_REQUIRE_EQ(1, read(from[0], &c, 1));
	box_set(&w, &a, "mode allowlist\nallow " INET4 ":8080/tcp\n");
	ATF_REQUIRE_EQ(1, write(to[1], "g", 1));
	waitpid(pid, &status, 0);
	ATF_CHECK_EQ(1, WEXITSTATUS(status));
	ATF_REQUIRE_EQ_MSG(0, net_counters(w.net, a.id, &k, &e), "%s",
	    e.message);
	ATF_CHECK(k.in_packets > 0 && k.out_packets > 0);
	ATF_CHECK(k.blocked_packets > 0);
	world_close(&w);
}

static int
count_links(void)
{
	char out[65536], *p = out;
	int n = 0;

	ATF_REQUIRE_EQ(0, run(0, out, sizeof(out), "/sbin/ifconfig", "-l",
	    NULL));
	while ((p = strstr(p, "cp")) != NULL) {
		if ((p == out || p[-1] == ' ') && strspn(p + 2,
		    "0123456789abcdef") == 12)
			n++;
		p += 2;
	}
	return (n);
}

/* Restart, disorder, and kill -9 at every step of attaching. */
HEAD(restart);
ATF_TC_BODY(restart, tc)
{
	struct net_policy *p = policy_of("mode open\n");
	struct net_record r[2];
	struct net_report rep;
	struct net_attach at;
	struct net_lease l;
	struct world w;
	struct box a, b;
	struct co_error e;
	int k, status;
	bool killed = true;
	char out[4096];
	pid_t pid;

	world_open(&w, true);
	box_open(&w, &a, "mode open\n");
	box_open(&w, &b, "mode open\n");
	net_close(w.net);
	ATF_REQUIRE_EQ(0, net_open(&w.conf, &w.net, &e));
	memset(r, 0, sizeof(r));
	r[0].lease = a.lease;
	r[1].lease = b.lease;
	r[0].policy = r[1].policy = p;
	r[0].alive = r[1].alive = true;
	ATF_REQUIRE_EQ_MSG(0, net_reconcile(w.net, r, 2, &rep, &e), "%s",
	    e.message);
	ATF_CHECK_EQ(2, rep.kept);
	ATF_CHECK_EQ(0, rep.remade);
	ATF_CHECK_EQ(0, rep.removed);
	ATF_CHECK_EQ(0, rep.foreign);
	ATF_CHECK(probe(a.jid, UDP, INET4, PORT));
	r[1].alive = false;
	ATF_REQUIRE_EQ(0, net_reconcile(w.net, r, 2, &rep, &e));
	ATF_CHECK_EQ(1, rep.kept);
	ATF_CHECK_EQ(2, rep.removed);
	ATF_CHECK_EQ(1, count_links());
	for (k = 1; killed && k < 40; k++) {
		if ((pid = fork()) == 0) {
			struct net *n;

			if (net_open(&w.conf, &n, &e) != 0)
				_exit(50);
			r[0].alive = true;
			if (net_reconcile(n, r, 1, &rep, &e) != 0)
				_exit(51);
			memset(&at, 0, sizeof(at));
			at.id = b.id;
			at.jid = b.jid;
			at.policy = p;
			countdown = k;
			_exit(net_attach(n, &at, &l, &e) == 0 ? 0 : 52);
		}
		waitpid(pid, &status, 0);
		killed = WIFSIGNALED(status);
		if (!killed)
			ATF_CHECK_EQ_MSG(0, WEXITSTATUS(status), "step %d", k);
		ATF_REQUIRE_EQ_MSG(0, net_reconcile(w.net, r, 1, &rep, &e),
		    "step %d: %s", k, e.message);
		net_settle(w.net);
		ATF_CHECK_EQ_MSG(1, count_links(), "step %d", k);
		ATF_REQUIRE_EQ(0, run(0, out, sizeof(out), "/sbin/pfctl",
		    "-qa", "cube", "-s", "Anchors", NULL));
		ATF_CHECK_MSG(strstr(out, b.id) == NULL, "%s", out);
		ATF_REQUIRE_EQ(0, run(0, out, sizeof(out), "/sbin/ifconfig",
		    "-l", NULL));
		ATF_CHECK_MSG(strstr(out, "epair2") == NULL, "step %d: %s", k,
		    out);
	}
	ATF_CHECK_MSG(k > 8, "%d", k);
	net_policy_free(p);
	world_close(&w);
}

/*
 * The dead-man switch: the maker of a change, or the switch, is killed at
 * every step; the operator's rules are then there without ours or with.
 */
static const char operators[] = "block in quick on uplink0 proto tcp to "
    "port 23\npass all\n";

static void
await_switch(struct world *w)
{
	char path[128];
	int fd, i;

	snprintf(path, sizeof(path), "%s/change/lock", w->dir);
	if ((fd = open(path, O_RDWR | O_CLOEXEC)) < 0)
		return;
	for (i = 0; i < 6000 && flock(fd, LOCK_EX | LOCK_NB) != 0; i++)
		usleep(10000);
	ATF_REQUIRE_MSG(i < 6000, "the dead-man switch does not end");
	close(fd);
}

/* Whether the new rules are there; all of them are, or none. */
static bool
is_new(const char *when)
{
	static char rules[65536];
	bool nat, filter;

	ATF_REQUIRE_EQ(0, run(0, rules, sizeof(rules), "/sbin/pfctl", "-qs",
	    "rules", NULL));
	ATF_CHECK_MSG(strstr(rules, "telnet") != NULL ||
	    strstr(rules, "port = 23") != NULL, "%s: %s", when, rules);
	filter = strstr(rules, "anchor \"cube/*\"") != NULL;
	ATF_REQUIRE_EQ(0, run(0, rules, sizeof(rules), "/sbin/pfctl", "-qs",
	    "nat", NULL));
	nat = strstr(rules, "nat-anchor \"cube/*\"") != NULL;
	ATF_CHECK_EQ_MSG(nat, filter, "%s", when);
	ATF_REQUIRE_EQ(0, run(0, rules, sizeof(rules), "/sbin/sysctl", "-n",
	    "net.inet.ip.forwarding", NULL));
	ATF_CHECK_EQ_MSG(filter ? '1' : '0', rules[0], "%s", when);
	ATF_REQUIRE_EQ(0, run(0, rules, sizeof(rules), "/sbin/pfctl", "-qs",
	    "info", NULL));
	ATF_CHECK_MSG(strstr(rules, "Status: Enabled") != NULL, "%s", when);
	return (filter);
}

static void
operator_rules(struct world *w)
{

	put_conf(w, operators);
	RUN(0, "/sbin/pfctl", "-qf", w->pfconf);
	RUN(0, "/sbin/pfctl", "-qe");
}

HEAD(kill_change);
ATF_TC_BODY(kill_change, tc)
{
	struct net *n;
	struct world w;
	struct co_error e;
	int i, k, status, old = 0, new = 0;
	bool killed;
	char when[64];
	pid_t pid;

	world_open(&w, false);
	operator_rules(&w);
	for (i = 0; i < 2; i++) {
		killed = true;
		for (k = 1; killed && k < 60; k++) {
			snprintf(when, sizeof(when), "%s killed at %d",
			    i == 0 ? "setup" : "teardown", k);
			if (i == 1)
				ATF_REQUIRE_EQ_MSG(0, net_setup(w.net, NULL,
				    &e), "%s: %s", when, e.message);
			if ((pid = fork()) == 0) {
				if (net_open(&w.conf, &n, &e) != 0)
					_exit(50);
				countdown = k;
				_exit((i == 0 ? net_setup(n, NULL, &e) :
				    net_teardown(n, NULL, &e)) == 0 ? 0 : 51);
			}
			waitpid(pid, &status, 0);
			killed = WIFSIGNALED(status);
			if (!killed)
				ATF_CHECK_EQ_MSG(0, WEXITSTATUS(status), "%s",
				    when);
			await_switch(&w);
			if (is_new(when))
				new++;
			else
				old++;
			ATF_REQUIRE_EQ_MSG(0, net_setup(w.net, NULL, &e),
			    "%s: %s", when, e.message);
			ATF_CHECK_MSG(is_new(when), "%s", when);
			{
				struct net_report rep;

				ATF_REQUIRE_EQ_MSG(0, net_reconcile(w.net,
				    NULL, 0, &rep, &e), "%s: %s", when,
				    e.message);
			}
			ATF_REQUIRE_EQ_MSG(0, net_teardown(w.net, NULL, &e),
			    "%s: %s", when, e.message);
			ATF_CHECK_MSG(!is_new(when), "%s", when);
			expect_conf(&w, operators);
		}
	}
	ATF_CHECK_MSG(old >= 8 && new >= 4, "%d %d", old, new);
	world_close(&w);
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

/* The maker is killed, and then the switch while it reverts. */
HEAD(kill_switch);
ATF_TC_BODY(kill_switch, tc)
{
	struct net_setup s = { .probe = suicide };
	const char *frail[] = { self, "frail-helper", NULL, NULL };
	char number[8], when[64];
	struct net_deadman *d;
	struct net *n;
	struct world w;
	struct co_error e;
	int k, pending = 0;
	pid_t pid;

	world_open(&w, false);
	operator_rules(&w);
	frail[2] = number;
	for (k = 1; k <= 7; k++) {
		snprintf(number, sizeof(number), "%d", k);
		snprintf(when, sizeof(when), "switch killed at %d", k);
		if ((pid = fork()) == 0) {
			w.conf.helper = frail;
			if (net_open(&w.conf, &n, &e) == 0)
				(void)net_setup(n, &s, &e);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
		await_switch(&w);
		pending += net_deadman_pending(w.net, &e) == 1;
		ATF_REQUIRE_EQ_MSG(0, net_deadman_open(w.net, &d, &e),
		    "%s: %s", when, e.message);
		net_deadman_close(d);
		ATF_CHECK_MSG(!is_new(when), "%s", when);
		expect_conf(&w, operators);
	}
	ATF_CHECK_MSG(pending >= 3, "%d", pending);
	world_close(&w);
}

/*
 * Names: behind the relay a real local_unbound with our fragment, and
 * another one that plays the internet; or a resolver that knows few names.
 */
static const char unbound[] = "/usr/sbin/local-unbound";

static const struct {
	const char	*name;
	int		 type, ttl;
	const char	*addr;
} known[] = {
	{ "good.example", 1, 2, INET4 },
	{ "good.example", 28, 60, INET6 },
	{ "other.example", 1, 60, INET4B },
	{ "rebind.example", 1, 60, "192.168.7.2" },
};

static size_t
dns_name(uint8_t *p, const char *s)
{
	size_t at = 0, n;

	for (; *s != '\0'; s += n + (s[n] == '.')) {
		n = strcspn(s, ".");
		p[at++] = (uint8_t)n;
		memcpy(p + at, s, n);
		at += n;
	}
	p[at++] = 0;
	return (at);
}

/* The answer to ${q}, which has one question, in its place. */
static size_t
dns_answer(uint8_t *q, size_t n)
{
	uint8_t name[256];
	struct net_addr a;
	uint8_t record[12] = { 0xc0, 12, 0, 0, 0, 1 };
	size_t i, k, len;

	q[2] |= 0x80;
	q[3] = 0x80 | 3;
	q[10] = q[11] = 0;		/* no options */
	for (i = 0; i < nitems(known); i++) {
		k = dns_name(name, known[i].name);
		if (n < 12 + k + 4 || memcmp(q + 12, name, k) != 0)
			continue;
		q[3] = 0x80;
		n = 12 + k + 4;
		if (q[12 + k + 1] != known[i].type ||
		    net_addr_parse(known[i].addr, &a) != 0)
			continue;
		len = net_addr_len(&a);
		q[7] = 1;
		record[3] = (uint8_t)known[i].type;
		record[9] = (uint8_t)known[i].ttl;
		record[11] = (uint8_t)len;
		memcpy(q + n, record, sizeof(record));
		memcpy(q + n + 12, a.b, len);
		return (n + 12 + len);
	}
	return (n);
}

static void
resolver(void)
{
	struct sockaddr_storage ss;
	uint8_t q[1500];
	socklen_t len;
	ssize_t n;
	int fd = bound(SOCK_DGRAM, 5335);

	for (;;) {
		len = sizeof(ss);
		n = recvfrom(fd, q, 600, 0, (void *)&ss, &len);
		if (n > 12)
			(void)sendto(fd, q, dns_answer(q, (size_t)n), 0,
			    (void *)&ss, len);
	}
}

static void
put_file(struct world *w, const char *name, const char *text)
{
	struct co_error e;
	int fd = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ATF_REQUIRE_EQ(0, co_file_replace(fd, name, text, strlen(text), 0644,
	    &e));
	close(fd);
}

static void
unbound_start(struct world *w, int jid, const char *conf)
{
	char path[160];
	pid_t pid;
	int i;

	snprintf(path, sizeof(path), "%s/%s", w->dir, conf);
	RUN(0, "/usr/sbin/local-unbound-checkconf", path);
	if ((pid = fork()) == 0) {
		servant();
		closefrom(3);
		if (jid > 0 && jail_attach(jid) != 0)
			_exit(99);
		execl(unbound, unbound, "-d", "-c", path, NULL);
		_exit(97);
	}
	w->pids[w->npids++] = pid;
	for (i = 0; i < 600; i++) {
		if (run(jid, NULL, 0, "/usr/bin/drill", "-Q", "-p",
		    "5399", "@127.0.0.1", "up.example", NULL) == 0)
			return;
		ATF_REQUIRE_EQ_MSG(0, waitpid(pid, NULL, WNOHANG),
		    "unbound ended");
		usleep(100000);
	}
	ATF_REQUIRE_MSG(false, "unbound does not answer");
}

/* Ask the gateway; the rcode, or 16 and more: what the address is. */
enum { NXDOMAIN = 3, REFUSED = 5, SILENCE = 15, NOTHING, INSIDE, RIGHT };

static int
ask_inside(const char *name, int type, const char *want)
{
	uint8_t q[300] = { 0x55, 0x66, 1, 0, 0, 1 }, r[1500];
	struct net_addr a;
	size_t n = 12 + dns_name(q + 12, name);
	struct pollfd p = { dial("10.78.0.1", 53, SOCK_DGRAM), POLLIN, 0 };
	ssize_t got;

	q[n + 1] = (uint8_t)type;
	q[n + 3] = 1;
	if (send(p.fd, q, n + 4, 0) < 0 || poll(&p, 1, 5000) != 1 ||
	    (got = recv(p.fd, r, sizeof(r), 0)) < 12)
		return (SILENCE);
	if ((r[3] & 15) != 0)
		return (r[3] & 15);
	if (r[7] == 0)
		return (NOTHING);
	return (net_addr_parse(want, &a) == 0 && (size_t)got >=
	    net_addr_len(&a) && memcmp(r + got - net_addr_len(&a), a.b,
	    net_addr_len(&a)) == 0 ? RIGHT : INSIDE);
}

/* From a sandbox, while the relay is served. */
static int
ask(struct world *w, struct box *b, const char *name, int type,
    const char *want)
{
	struct co_error e;
	int status;
	pid_t pid;

	if ((pid = fork()) == 0) {
		closefrom(3);
		if (jail_attach(b->jid) != 0)
			_exit(99);
		_exit(ask_inside(name, type, want));
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		ATF_REQUIRE_EQ_MSG(0, net_dns_dispatch(w->net, &e), "%s",
		    e.message);
		usleep(5000);
	}
	ATF_REQUIRE(WIFEXITED(status));
	return (WEXITSTATUS(status));
}

static const char common[] = "server:\n\tusername: \"\"\n\tchroot: \"\"\n"
    "\tpidfile: \"\"\n\tuse-syslog: no\n\tdo-daemonize: no\n"
    "\tmodule-config: \"iterator\"\n\tnum-threads: 1\n"
    "\tinterface: 127.0.0.1@5399\n\tlocal-data: \"up.example. A 192.0.2.1\""
    "\n";

static void
names_open(struct world *w)
{
	char text[4096], *fragment;
	struct co_error e;

	snprintf(text, sizeof(text), "%s\tinterface: " INET4 "\n"
	    "\taccess-control: 0.0.0.0/0 allow\n"
	    "\tlocal-zone: \".\" static\n"
	    "\tlocal-data: \"good.example. 2 A " INET4 "\"\n"
	    "\tlocal-data: \"good.example. 60 AAAA " INET6 "\"\n"
	    "\tlocal-data: \"other.example. 60 A " INET4B "\"\n"
	    "\tlocal-data: \"rebind.example. 60 A 192.168.7.2\"\n", common);
	put_file(w, "inet.conf", text);
	unbound_start(w, w->inet, "inet.conf");
	w->conf.forwarders = INET4;
	ATF_REQUIRE((fragment = net_render_unbound(&w->conf, "")) != NULL);
	snprintf(text, sizeof(text), "%s%s", common, fragment);
	free(fragment);
	put_file(w, "host.conf", text);
	unbound_start(w, 0, "host.conf");
	w->net->conf.dns_floor_ms = 1000;
	ATF_REQUIRE_EQ_MSG(0, net_dns_start(w->net, &e), "%s", e.message);
}

static void
resolver_open(struct world *w)
{
	struct co_error e;
	pid_t pid;

	if ((pid = fork()) == 0) {
		servant();
		resolver();
	}
	w->pids[w->npids++] = pid;
	w->net->conf.dns_floor_ms = 1000;
	ATF_REQUIRE_EQ_MSG(0, net_dns_start(w->net, &e), "%s", e.message);
}

static void
check_names(struct world *w)
{
	struct box a, b;

	box_open(w, &a, "mode allowlist\nallow good.example:8080/tcp\n");
	box_open(w, &b, "mode airgap\n");
	ATF_CHECK_EQ(NXDOMAIN, ask(w, &b, "good.example", 1, INET4));
	ATF_CHECK_EQ(RIGHT, ask(w, &b, "gateway.internal", 1, "10.78.0.1"));
	ATF_CHECK_EQ(NXDOMAIN, ask(w, &a, "other.example", 1, INET4B));
	ATF_CHECK_EQ(REFUSED, ask(w, &a, "good.example", 10, ""));
	/* A name opens the way, for its time (two seconds). */
	ATF_CHECK(!probe(a.jid, TCP, INET4, PORT));
	ATF_CHECK_EQ(RIGHT, ask(w, &a, "good.example", 1, INET4));
	ATF_CHECK(probe(a.jid, TCP, INET4, PORT));
	sleep(4);
	ATF_CHECK(!probe(a.jid, TCP, INET4, PORT));
	ATF_CHECK_EQ(RIGHT, ask(w, &a, "good.example", 28, INET6));
	ATF_CHECK(probe(a.jid, TCP, INET6, PORT));
	ATF_CHECK(!probe(a.jid, TCP, INET6, PORT2));
	/* And a change of policy is one of names, too. */
	box_set(w, &b, "mode open\n");
	ATF_CHECK_EQ(RIGHT, ask(w, &b, "other.example", 1, INET4B));
	ATF_CHECK_EQ(NOTHING, ask(w, &b, "rebind.example", 1, "192.168.7.2"));
	net_dns_stop(w->net);
}

HEAD(names);
ATF_TC_BODY(names, tc)
{
	struct world w;

	world_open(&w, true);
	resolver_open(&w);
	check_names(&w);
	world_close(&w);
}

HEAD(local_unbound);
ATF_TC_BODY(local_unbound, tc)
{
	struct world w;

	if (access(unbound, X_OK) != 0)
		atf_tc_skip("no local-unbound");
	slow = true;
	world_open(&w, true);
	names_open(&w);
	check_names(&w);
	world_close(&w);
}

/* Milliseconds until so many bytes have gone to an echo and come back. */
static int
volley_inside(size_t total)
{
	struct pollfd p = { dial(INET4, PORT, SOCK_STREAM), 0, 0 };
	co_moment begin = co_now();
	size_t sent = 0, back = 0;
	char buf[4096] = "";
	ssize_t n;

	while (back < total) {
		p.events = POLLIN | (sent < total ? POLLOUT : 0);
		if (poll(&p, 1, 20000) != 1)
			return (-1);
		if ((p.revents & POLLOUT) != 0 && (n = send(p.fd, buf,
		    MIN(sizeof(buf), total - sent), MSG_NOSIGNAL)) > 0)
			sent += (size_t)n;
		if ((p.revents & POLLIN) != 0) {
			if ((n = recv(p.fd, buf, sizeof(buf), 0)) <= 0)
				return (-1);
			back += (size_t)n;
		}
	}
	return ((int)((co_now() - begin) / 1000000));
}

static int
volley(int jid, size_t total)
{
	int fd[2], ms = -1;
	pid_t pid;

	ATF_REQUIRE_EQ(0, pipe(fd));
	if ((pid = fork()) == 0) {
		dup2(fd[1], 3);
		closefrom(4);
		if (jail_attach(jid) == 0)
			ms = volley_inside(total);
		(void)!write(3, &ms, sizeof(ms));
		_exit(0);
	}
	close(fd[1]);
	ATF_REQUIRE_EQ(sizeof(ms), read(fd[0], &ms, sizeof(ms)));
	close(fd[0]);
	waitpid(pid, NULL, 0);
	ATF_REQUIRE_MSG(ms >= 0, "the echo does not come back");
	return (ms);
}

/* 400,000 bytes at 800 kbit/s are four seconds, however slow the host. */
HEAD(bandwidth);
ATF_TC_BODY(bandwidth, tc)
{
	static char out[65536];
	struct world w;
	struct box a, b;
	struct co_error e;
	int free_ms, up, down, other;

	world_open(&w, true);
	box_open(&w, &a, "mode open\n");
	box_open(&w, &b, "mode open\n");
	free_ms = volley(a.jid, 400000);
	box_set(&w, &a, "mode open\nup 800k\n");
	up = volley(a.jid, 400000);
	box_set(&w, &a, "mode open\ndown 800k\n");
	down = volley(a.jid, 400000);
	other = volley(b.jid, 400000);
	printf("free %d ms, up %d ms, down %d ms, neighbour %d ms\n", free_ms,
	    up, down, other);
	ATF_CHECK_MSG(free_ms < 2500, "%d ms without a limit", free_ms);
	ATF_CHECK_MSG(up > 3000 && up < 8000, "up: %d ms", up);
	ATF_CHECK_MSG(down > 3000 && down < 8000, "down: %d ms", down);
	ATF_CHECK_MSG(other < 2500, "a neighbour: %d ms", other);
	/* No limit any more, and no pipe without a sandbox. */
	box_set(&w, &a, "mode open\n");
	ATF_CHECK(volley(a.jid, 400000) < 2500);
	ATF_REQUIRE_EQ(0, run(0, out, sizeof(out), "/sbin/dnctl", "pipe",
	    "list", NULL));
	ATF_CHECK_MSG(strstr(out, "bit/s") == NULL, "%s", out);
	box_set(&w, &a, "mode open\nup 1m\ndown 2m\n");
	ATF_REQUIRE_EQ(0, run(0, out, sizeof(out), "/sbin/dnctl", "pipe",
	    "list", NULL));
	ATF_CHECK_MSG(strstr(out, "1.000 Mbit/s") != NULL &&
	    strstr(out, "2.000 Mbit/s") != NULL, "%s", out);
	ATF_REQUIRE_EQ_MSG(0, net_detach(w.net, a.id, &e), "%s", e.message);
	net_settle(w.net);
	ATF_REQUIRE_EQ(0, run(0, out, sizeof(out), "/sbin/dnctl", "pipe",
	    "list", NULL));
	ATF_CHECK_MSG(out[0] == '\0', "%s", out);
	world_close(&w);
}

HEAD(churn);
ATF_TC_BODY(churn, tc)
{
	struct net_policy *p = policy_of("mode open\n");
	struct net_attach at;
	struct net_lease l;
	struct world w;
	struct box a;
	struct co_error e;
	char id[CO_IDSIZE], out[65536];
	int i;

	world_open(&w, true);
	a.jid = jail_start(&w, idle, &a.pid);
	for (i = 0; i < 20; i++) {
		memset(&at, 0, sizeof(at));
		co_id_make(id);
		at.id = id;
		at.kind = i % 4 == 3 ? NET_TAP : NET_PAIR;
		at.jid = a.jid;
		at.policy = p;
		ATF_REQUIRE_EQ_MSG(0, net_attach(w.net, &at, &l, &e), "%d: %s",
		    i, e.message);
		if (at.kind == NET_TAP) {
			char dev[32];

			snprintf(dev, sizeof(dev), "/dev/%s", l.device);
			ATF_CHECK_EQ(0, access(dev, F_OK));
		}
		ATF_REQUIRE_EQ_MSG(0, net_detach(w.net, id, &e), "%s",
		    e.message);
		net_settle(w.net);
	}
	ATF_CHECK_EQ(0, count_links());
	ATF_REQUIRE_EQ(0, run(0, out, sizeof(out), "/usr/sbin/arp", "-an",
	    NULL));
	ATF_CHECK_MSG(strstr(out, "06:00:0a:4e:00:0") == NULL ||
	    strstr(out, "(10.78.0.1)") != NULL, "%s", out);
	net_policy_free(p);
	world_close(&w);
}

int atf_tp_main(int, char **, atf_error_t (*)(atf_tp_t *));

static atf_error_t
add(atf_tp_t *tp)
{

	ATF_TP_ADD_TC(tp, matrix);
	ATF_TP_ADD_TC(tp, spoofing);
	ATF_TP_ADD_TC(tp, setup);
	ATF_TP_ADD_TC(tp, live_change);
	ATF_TP_ADD_TC(tp, restart);
	ATF_TP_ADD_TC(tp, kill_change);
	ATF_TP_ADD_TC(tp, kill_switch);
	ATF_TP_ADD_TC(tp, names);
	ATF_TP_ADD_TC(tp, local_unbound);
	ATF_TP_ADD_TC(tp, bandwidth);
	ATF_TP_ADD_TC(tp, churn);
	return (atf_no_error());
}

int
main(int argc, char **argv)
{

	if (argc > 1 && strcmp(argv[1], "net-helper") == 0)
		return (net_helper_main(argc - 2, argv + 2));
	if (argc > 3 && strcmp(argv[1], "frail-helper") == 0) {
		countdown = atoi(argv[2]);
		return (net_helper_main(argc - 3, argv + 3));
	}
	if (realpath(argv[0], self) == NULL)
		snprintf(self, sizeof(self), "%s", argv[0]);
	return (atf_tp_main(argc, argv, add));
}
