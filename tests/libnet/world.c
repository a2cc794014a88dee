/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The world of world.h, on Linux.
 */

#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deadman.h"
#include "world.h"

static char self[4096];

int atf_tp_main(int, char **, atf_error_t (*)(atf_tp_t *));

int
w_main(int argc, char **argv, atf_error_t (*add)(atf_tp_t *))
{

	if (argc > 1 && strcmp(argv[1], "net-helper") == 0)
		return (net_helper_main(argc - 2, argv + 2));
	return (atf_tp_main(argc, argv, add));
}

int
w_namespace(struct world *w)
{
	int fd;

	ATF_REQUIRE_EQ(0, unshare(CLONE_NEWNET));
	ATF_REQUIRE((fd = open("/proc/thread-self/ns/net",
	    O_RDONLY | O_CLOEXEC)) >= 0);
	ATF_REQUIRE_EQ(0, setns(w->home, CLONE_NEWNET));
	return (fd);
}

/* In the child: go there, and die with the test. */
static void
child(int ns)
{

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (setns(ns, CLONE_NEWNET) != 0)
		_exit(99);
}

int
w_in(struct world *w, int ns, int (*fn)(void *), void *arg)
{
	struct pollfd pfd;
	co_moment until = co_after(60000);
	int status;
	pid_t pid;

	fflush(NULL);
	ATF_REQUIRE((pid = fork()) >= 0);
	if (pid == 0) {
		child(ns);
		_exit(fn(arg) & 127);
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		pfd.fd = w->net == NULL ? -1 : net_dns_fd(w->net);
		pfd.events = POLLIN;
		if (poll(&pfd, 1, 2) > 0)
			(void)net_dns_dispatch(w->net, NULL);
		if (co_left(until) == 0) {
			kill(pid, SIGKILL);
			until = CO_NEVER;
		}
	}
	return (WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

int
w_serve(struct world *w, int ns, void (*fn)(void *), void *arg)
{
	pid_t pid;

	ATF_REQUIRE(w->npids < 64);
	fflush(NULL);
	ATF_REQUIRE((pid = fork()) >= 0);
	if (pid == 0) {
		child(ns);
		fn(arg);
		_exit(0);
	}
	w->pids[w->npids++] = pid;
	return (pid);
}

int
w_run(struct world *w, int ns, char *out, size_t size, const char *prog, ...)
{
	const char *argv[40];
	int fd[2], n = 0, status;
	size_t len = 0;
	char sink[4096];
	ssize_t got;
	va_list ap;
	pid_t pid;

	(void)w;
	argv[n++] = prog;
	va_start(ap, prog);
	while ((argv[n] = va_arg(ap, const char *)) != NULL)
		ATF_REQUIRE(++n < 39);
	va_end(ap);
	ATF_REQUIRE_EQ(0, pipe(fd));
	fflush(NULL);
	ATF_REQUIRE((pid = fork()) >= 0);
	if (pid == 0) {
		child(ns);
		dup2(fd[1], 1);
		dup2(fd[1], 2);
		close(fd[0]);
		close(fd[1]);
		execvp(prog, (char *const *)(uintptr_t)argv);
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

/* One "ip ..." command line, split at spaces, in a namespace. */
static void
ip(struct world *w, int ns, const char *words)
{
	char copy[256], out[512], *arg[24], *save = NULL;
	int n = 0;

	snprintf(copy, sizeof(copy), "%s", words);
	for (arg[n] = strtok_r(copy, " ", &save); arg[n] != NULL && n < 22;
	    arg[++n] = strtok_r(NULL, " ", &save))
		;
	for (; n < 24; n++)
		arg[n] = NULL;
	ATF_REQUIRE_EQ_MSG(0, w_run(w, ns, out, sizeof(out), "ip", arg[0],
	    arg[1], arg[2], arg[3], arg[4], arg[5], arg[6], arg[7], arg[8],
	    arg[9], arg[10], arg[11], arg[12], arg[13], arg[14], NULL),
	    "ip %s: %s", words, out);
}

/* A cable from the host to a namespace. */
static void
cable(struct world *w, int ns, const char *name)
{
	char words[128];

	snprintf(words, sizeof(words), "link add %s type veth peer name eth0 "
	    "netns /proc/%d/fd/%d", name, getpid(), ns);
	ip(w, w->home, words);
	snprintf(words, sizeof(words), "link set %s up", name);
	ip(w, w->home, words);
	ip(w, ns, "link set lo up");
	ip(w, ns, "link set eth0 up");
}

static void
geography(struct world *w)
{

	ip(w, w->home, "link set lo up");
	cable(w, w->inet, "uplink0");
	cable(w, w->lan, "lan0");
	ip(w, w->home, "addr add " W_HOST4 "/24 dev uplink0");
	ip(w, w->home, "addr add " W_HOST6 "/64 dev uplink0 nodad");
	ip(w, w->home, "addr add " W_HOSTLAN4 "/24 dev lan0");
	ip(w, w->inet, "addr add " W_INET4 "/24 dev eth0");
	ip(w, w->inet, "addr add " W_INET4B "/24 dev eth0");
	ip(w, w->inet, "addr add " W_DNS4 "/24 dev eth0");
	ip(w, w->inet, "addr add " W_INET6 "/64 dev eth0 nodad");
	ip(w, w->lan, "addr add " W_LAN4 "/24 dev eth0");
	ip(w, w->home, "route add default via " W_INET4);
	ip(w, w->home, "-6 route add default via " W_INET6);
	/* The LAN knows the way back, so that only rules can stop us. */
	ip(w, w->lan, "route add default via " W_HOSTLAN4);
}

void
w_open(struct world *w, bool set_up)
{
	static const uint16_t ports[] = { W_PORT, W_PORT2 };
	struct co_error e;
	ssize_t n;

	memset(w, 0, sizeof(*w));
	ATF_REQUIRE((n = readlink("/proc/self/exe", self,
	    sizeof(self) - 1)) > 0);
	self[n] = '\0';
	snprintf(w->dir, sizeof(w->dir), "/tmp/coppice-net.%d", getpid());
	ATF_REQUIRE_EQ(0, mkdir(w->dir, 0700));
	/* The host of this world is a namespace of its own. */
	ATF_REQUIRE_EQ(0, unshare(CLONE_NEWNET | CLONE_NEWNS));
	ATF_REQUIRE_EQ(0, mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	ATF_REQUIRE_EQ(0, mount("tmpfs", w->dir, "tmpfs", 0, NULL));
	ATF_REQUIRE((w->home = open("/proc/thread-self/ns/net",
	    O_RDONLY | O_CLOEXEC)) >= 0);
	w->inet = w_namespace(w);
	w->lan = w_namespace(w);
	geography(w);
	w_echo(w, w->inet, NULL, ports, 2);
	w_echo(w, w->lan, NULL, ports, 2);
	net_conf_default(&w->conf);
	w->helper[0] = self;
	w->helper[1] = "net-helper";
	w->conf.helper = w->helper;
	w->conf.statedir = w->dir;
	w->conf.quarantine_ms = 0;
	w->conf.deadman_ms = 20000;
	w->conf.unbound_dir = w->dir;
	w->conf.unbound_main = w->dir;
	w->conf.unbound_check = w->conf.unbound_reload =
	    w->conf.unbound_restart = NULL;
	ATF_REQUIRE_EQ_MSG(0, net_open(&w->conf, &w->net, &e), "%s",
	    e.message);
	if (set_up)
		ATF_REQUIRE_EQ_MSG(0, net_setup(w->net, NULL, &e), "%s",
		    e.message);
}

void
w_close(struct world *w)
{
	int i;

	net_close(w->net);
	w->net = NULL;
	for (i = 0; i < w->npids; i++) {
		kill(w->pids[i], SIGKILL);
		waitpid(w->pids[i], NULL, 0);
	}
	(void)umount2(w->dir, MNT_DETACH);
	(void)rmdir(w->dir);
}

struct net_policy *
w_policy(const char *text)
{
	struct net_policy *p;
	struct co_error e;

	ATF_REQUIRE_EQ_MSG(0, net_policy_parse(text, strlen(text), &p, &e),
	    "%s", e.message);
	return (p);
}

void
w_box(struct world *w, struct wbox *b, const char *policy)
{
	struct net_policy *p = w_policy(policy);
	struct net_attach a;
	struct co_error e;

	memset(b, 0, sizeof(*b));
	co_id_make(b->id);
	b->ns = w_namespace(w);
	memset(&a, 0, sizeof(a));
	a.id = b->id;
	a.kind = NET_PAIR;
	a.netns = b->ns;
	a.policy = p;
	ATF_REQUIRE_EQ_MSG(0, net_attach(w->net, &a, &b->lease, &e), "%s",
	    e.message);
	net_policy_free(p);
}

void
w_unbox(struct world *w, struct wbox *b)
{
	struct co_error e;

	ATF_REQUIRE_EQ_MSG(0, net_detach(w->net, b->id, &e), "%s", e.message);
	close(b->ns);
}

void
w_set(struct world *w, struct wbox *b, const char *policy)
{
	struct net_policy *p = w_policy(policy);
	struct co_error e;

	ATF_REQUIRE_EQ_MSG(0, net_policy_set(w->net, b->id, p, &e), "%s",
	    e.message);
	net_policy_free(p);
}

/*
 * Servers.
 */
struct echo {
	const char	*addr;
	const uint16_t	*port;
	int		 n;
};

static int
echo_socket(const char *addr, uint16_t port, int type)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct sockaddr_in in = { .sin_family = AF_INET };
	int fd, one = 1, zero = 0;

	if (addr == NULL) {
		fd = socket(AF_INET6, type, 0);
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
		six.sin6_port = htons(port);
	} else {
		fd = socket(AF_INET, type, 0);
		in.sin_port = htons(port);
		inet_pton(AF_INET, addr, &in.sin_addr);
	}
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, addr == NULL ? (void *)&six : (void *)&in,
	    addr == NULL ? sizeof(six) : sizeof(in)) != 0 ||
	    (type == SOCK_STREAM && listen(fd, 64) != 0))
		_exit(98);
	return (fd);
}

static void
echo_one(int fd, bool stream)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	char buf[8192];
	ssize_t n;

	if (stream) {
		n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (n > 0)
			(void)send(fd, buf, (size_t)n, MSG_NOSIGNAL);
		else if (n == 0 || errno != EAGAIN)
			close(fd);
		return;
	}
	n = recvfrom(fd, buf, sizeof(buf), 0, (void *)&ss, &len);
	if (n >= 0)
		(void)sendto(fd, buf, (size_t)n, 0, (void *)&ss, len);
}

static void
echo_serve(void *arg)
{
	struct echo *e = arg;
	struct pollfd pfd[256];
	int i, n = 0, first;

	for (i = 0; i < e->n; i++) {
		pfd[n++] = (struct pollfd){ echo_socket(e->addr, e->port[i],
		    SOCK_STREAM), POLLIN, 0 };
		pfd[n++] = (struct pollfd){ echo_socket(e->addr, e->port[i],
		    SOCK_DGRAM), POLLIN, 0 };
	}
	first = n;
	while (poll(pfd, (nfds_t)n, -1) >= 0 || errno == EINTR) {
		for (i = 0; i < first; i++) {
			if (pfd[i].revents == 0)
				continue;
			if (i % 2 == 1)
				echo_one(pfd[i].fd, false);
			else if (n < 256)
				pfd[n++] = (struct pollfd){ accept(pfd[i].fd,
				    NULL, NULL), POLLIN, 0 };
		}
		for (i = first; i < n; i++)
			if (pfd[i].revents != 0) {
				echo_one(pfd[i].fd, true);
				if (fcntl(pfd[i].fd, F_GETFD) < 0)
					pfd[i--] = pfd[--n];
			}
	}
}

static bool
listening(struct world *w, int ns, uint16_t port)
{
	char out[16384], word[16];

	snprintf(word, sizeof(word), ":%u ", port);
	return (w_run(w, ns, out, sizeof(out), "ss", "-Hlntu", NULL) == 0 &&
	    strstr(out, word) != NULL);
}

void
w_echo(struct world *w, int ns, const char *addr, const uint16_t *port, int n)
{
	struct echo e = { addr, port, n };
	int i;

	w_serve(w, ns, echo_serve, &e);
	for (i = 0; i < 500 && !listening(w, ns, port[n - 1]); i++)
		usleep(10000);
	ATF_REQUIRE(i < 500);
}

/*
 * Probes.
 */
struct probe {
	const char	*addr;
	uint16_t	 port;
	size_t		 size;
};

static int
probe_socket(const struct probe *p, int type)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct sockaddr_in in = { .sin_family = AF_INET };
	bool v6 = strchr(p->addr, ':') != NULL;
	int fd = socket(v6 ? AF_INET6 : AF_INET, type | SOCK_NONBLOCK, 0);

	six.sin6_port = in.sin_port = htons(p->port);
	inet_pton(v6 ? AF_INET6 : AF_INET, p->addr, v6 ?
	    (void *)&six.sin6_addr : (void *)&in.sin_addr);
	if (connect(fd, v6 ? (void *)&six : (void *)&in,
	    v6 ? sizeof(six) : sizeof(in)) != 0 && errno != EINPROGRESS)
		return (-1);
	return (fd);
}

#define	PATIENCE	400	/* ms; all of this is one machine */

static int
probe_tcp(void *arg)
{
	struct pollfd pfd;
	socklen_t len = sizeof(int);
	int err = ETIMEDOUT;

	if ((pfd.fd = probe_socket(arg, SOCK_STREAM)) < 0)
		return (0);
	pfd.events = POLLOUT;
	if (poll(&pfd, 1, PATIENCE) == 1)
		getsockopt(pfd.fd, SOL_SOCKET, SO_ERROR, &err, &len);
	/* A refusal has been there and back as well. */
	return (err == 0 || err == ECONNREFUSED);
}

static int
probe_udp(void *arg)
{
	const struct probe *p = arg;
	struct pollfd pfd;
	char out[8192] = "probe", in[8192];

	if ((pfd.fd = probe_socket(p, SOCK_DGRAM)) < 0)
		return (0);
	pfd.events = POLLIN;
	(void)send(pfd.fd, out, p->size, 0);
	return (poll(&pfd, 1, PATIENCE) == 1 &&
	    recv(pfd.fd, in, sizeof(in), 0) == (ssize_t)p->size);
}

static int
probe_ping(void *arg)
{
	const struct probe *p = arg;
	struct net_addr a;

	return (net_addr_parse(p->addr, &a) == 0 &&
	    net_smoke_ping(&a, PATIENCE));
}

bool
w_tcp(struct world *w, int ns, const char *addr, uint16_t port)
{
	struct probe p = { addr, port, 0 };

	return (w_in(w, ns, probe_tcp, &p) == 1);
}

bool
w_udp(struct world *w, int ns, const char *addr, uint16_t port)
{
	struct probe p = { addr, port, 6 };

	return (w_in(w, ns, probe_udp, &p) == 1);
}

bool
w_udp_big(struct world *w, int ns, const char *addr, uint16_t port)
{
	struct probe p = { addr, port, 5000 };

	return (w_in(w, ns, probe_udp, &p) == 1);
}

bool
w_ping(struct world *w, int ns, const char *addr)
{
	struct probe p = { addr, 0, 0 };

	return (w_in(w, ns, probe_ping, &p) == 1);
}

static int
count_lines(const char *text, const char *word)
{
	int n = 0;

	while ((text = strstr(text, word)) != NULL) {
		n++;
		text += strlen(word);
	}
	return (n);
}

int
w_links(struct world *w)
{
	static char out[1 << 20];

	ATF_REQUIRE_EQ(0, w_run(w, w->home, out, sizeof(out), "ip", "-o",
	    "link", NULL));
	return (count_lines(out, ": cp"));
}

int
w_rules(struct world *w, const char *word)
{
	static char out[8 << 20];

	ATF_REQUIRE_EQ(0, w_run(w, w->home, out, sizeof(out), "nft", "list",
	    "ruleset", NULL));
	return (count_lines(out, word));
}
