/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The shim in a network of its own: configuration, streams to programs that
 * listen on loopback, and the port proxy.  Packets stay in the namespace.
 */

#include <sys/socket.h>

#include <atf-c.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "peer.h"
#include "plat.h"

static struct client c;

/* A small server inside: greets, then echoes. */
static struct run *
serve(const char *addr, const char *port)
{
	const char *argv[] = { plat_self(), "serve", addr, port, NULL };
	struct run *r;

	r = client_exec(&c, (struct shim_exec){ .argv = argv });
	for (int i = 0; i < 600 && r->len[0] == 0 && !r->done; i++)
		client_poll(&c, 100);
	ATF_REQUIRE_MSG(r->len[0] > 0, "the server did not come up: %s",
	    r->out[1] != NULL ? r->out[1] : "");
	return (r);
}

static void
begin(void)
{

	client_start(&c, &(struct start){ .clone = PLAT_NET,
	    .rundir = "run" });
	plat_make_interface(c.pid);
}

static void
configure(void)
{
	struct req *q;

	q = client_do(&c, (struct shim_request){ .op = SHIM_OP_CONFIGURE,
	    .ip = "10.78.0.10", .prefix = 24, .gw = "10.78.0.1",
	    .hostname = "sandbox", .mtu = 1400 });
	ATF_REQUIRE_EQ_MSG(0, q->result.error, "%s", q->message);
}

ATF_TC(address);
ATF_TC_HEAD(address, tc)
{
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(address, tc)
{
	struct run *r;

	begin();
	configure();
	r = client_sh(&c, plat_show_network());
	ATF_CHECK_MSG(strstr(r->out[0], "10.78.0.10") != NULL, "%s",
	    r->out[0]);
	ATF_CHECK_MSG(strstr(r->out[0], "10.78.0.1\n") != NULL ||
	    strstr(r->out[0], "10.78.0.1 ") != NULL, "%s", r->out[0]);
	ATF_CHECK_MSG(strstr(r->out[0], "127.0.0.1") != NULL, "%s",
	    r->out[0]);
	ATF_CHECK_MSG(strstr(r->out[0], "mtu 1400") != NULL, "%s",
	    r->out[0]);
	ATF_CHECK_STREQ("sandbox\n", client_sh(&c, "hostname")->out[0]);
	/* Again is fine. */
	configure();
	client_end(&c);
}

ATF_TC(dial);
ATF_TC_HEAD(dial, tc)
{
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(dial, tc)
{
	struct req *r;

	begin();
	configure();
	serve("127.0.0.1", "8080");
	r = client_request(&c, (struct shim_request){ .op = SHIM_OP_DIAL,
	    .port = 8080 });
	client_wait(&c, &r->connected);
	ATF_CHECK_EQ(-1, r->fd);
	client_send(&c, r, "ping\0pong", 9, false);
	while (r->len < 12 && !r->done)
		client_poll(&c, 50);
	ATF_CHECK(memcmp(r->data, "hi\nping\0pong", 12) == 0);
	client_send(&c, r, "", 0, true);
	client_wait(&c, &r->done);
	ATF_CHECK(r->eof);
	ATF_CHECK_EQ(0, r->result.error);
	/* Nobody there. */
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_DIAL,
	    .port = 9999 });
	ATF_CHECK_EQ(ECONNREFUSED, r->result.error);
	/* The other family. */
	serve("::1", "8081");
	r = client_request(&c, (struct shim_request){ .op = SHIM_OP_DIAL,
	    .port = 8081 });
	client_wait(&c, &r->connected);
	ATF_REQUIRE(shim_close(c.s, r->number, &c.e) == 0);
	client_wait(&c, &r->done);
	client_end(&c);
}

/* Much, both ways at once, and to one who does not take it. */
ATF_TC(bulk);
ATF_TC_HEAD(bulk, tc)
{
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(bulk, tc)
{
	size_t len = 16 << 20;
	char *big = malloc(len);
	struct req *r, *slow;

	ATF_REQUIRE(big != NULL);
	for (size_t i = 0; i < len; i++)
		big[i] = (char)count_byte(i);
	begin();
	configure();
	serve("127.0.0.1", "8080");
	slow = client_request(&c, (struct shim_request){ .op = SHIM_OP_DIAL,
	    .port = 8080 });
	slow->hold = true;
	client_wait(&c, &slow->connected);
	for (int i = 0; i < 50; i++) {
		(void)shim_send(c.s, slow->number, big, len, false);
		client_poll(&c, 10);
	}
	ATF_CHECK(slow->len <= 131072);
	r = client_request(&c, (struct shim_request){ .op = SHIM_OP_DIAL,
	    .port = 8080 });
	client_wait(&c, &r->connected);
	client_send(&c, r, big, len, true);
	client_wait(&c, &r->done);
	ATF_CHECK_EQ(0, r->result.error);
	ATF_REQUIRE_EQ(len + 3, r->len);
	ATF_CHECK(memcmp(r->data + 3, big, len) == 0);
	client_end(&c);
	free(big);
}

ATF_TC(descriptor);
ATF_TC_HEAD(descriptor, tc)
{
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(descriptor, tc)
{
	char buf[16];
	struct req *r;
	ssize_t n = 0, k = 1;

	begin();
	configure();
	serve("127.0.0.1", "8080");
	r = client_request(&c, (struct shim_request){ .op = SHIM_OP_DIAL,
	    .port = 8080, .want_fd = true });
	client_wait(&c, &r->done);
	ATF_CHECK_EQ(0, r->result.error);
	ATF_REQUIRE(r->fd != -1);
	ATF_REQUIRE(write(r->fd, "direct", 6) == 6);
	ATF_REQUIRE(shutdown(r->fd, SHUT_WR) == 0);
	while (n < 9 && k > 0) {
		struct pollfd p = { .fd = r->fd, .events = POLLIN };

		ATF_REQUIRE(poll(&p, 1, WAIT_MS) == 1);
		if ((k = read(r->fd, buf + n, sizeof(buf) - (size_t)n)) > 0)
			n += k;
	}
	ATF_CHECK(n == 9 && memcmp(buf, "hi\ndirect", 9) == 0);
	close(r->fd);
	client_end(&c);
}

/* Ask a port of the sandbox's own address from inside. */
static bool
reachable(const char *port)
{
	const char *argv[] = { plat_self(), "ask", "10.78.0.10", port, NULL };
	struct run *r;

	r = client_exec(&c, (struct shim_exec){ .argv = argv });
	client_done(&c, r);
	return (r->exit.exit_code == 0 &&
	    strcmp(r->out[0], "hi\nquestion") == 0);
}

static bool
becomes(const char *port, bool want)
{

	for (int i = 0; i < 100; i++) {
		if (reachable(port) == want)
			return (true);
		client_poll(&c, 100);
	}
	return (false);
}

ATF_TC(proxy);
ATF_TC_HEAD(proxy, tc)
{
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(proxy, tc)
{
	static const int64_t ports[] = { 8080, 8081, 8082 };
	struct run *loop, *any;
	struct req *q;

	begin();
	q = client_do(&c, (struct shim_request){ .op = SHIM_OP_PORTS,
	    .ports = ports, .nports = 3 });
	ATF_CHECK_EQ(EADDRNOTAVAIL, q->result.error);
	configure();
	q = client_do(&c, (struct shim_request){ .op = SHIM_OP_PORTS,
	    .ports = ports, .nports = 3 });
	ATF_CHECK_EQ(0, q->result.error);
	/* Not exposed: only loopback. */
	serve("127.0.0.1", "9090");
	ATF_CHECK(!reachable("8080"));
	loop = serve("127.0.0.1", "8080");
	ATF_CHECK(becomes("8080", true));
	ATF_CHECK(!reachable("9090"));
	serve("::1", "8082");
	ATF_CHECK(becomes("8082", true));
	/* A program that has all addresses needs no help, and gets them. */
	any = serve("0.0.0.0", "8081");
	ATF_CHECK(reachable("8081"));
	/* Another that wants the port later finds it free. */
	ATF_REQUIRE(shim_cancel(c.s, loop->id, 0, &c.e) == 0);
	client_done(&c, loop);
	ATF_CHECK(becomes("8080", false));
	ATF_REQUIRE(shim_cancel(c.s, any->id, 0, &c.e) == 0);
	client_done(&c, any);
	serve("0.0.0.0", "8080");
	ATF_CHECK(reachable("8080"));
	q = client_do(&c, (struct shim_request){ .op = SHIM_OP_PORTS,
	    .ports = ports, .nports = 0 });
	ATF_CHECK_EQ(0, q->result.error);
	ATF_CHECK(becomes("8082", false));
	client_end(&c);
}

ATF_TC(environment);
ATF_TC_HEAD(environment, tc)
{
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(environment, tc)
{
	static const char *const env[] = { "COPPICE_IP=10.78.0.20/24",
	    "COPPICE_IF=" PLAT_LOOPBACK, "COPPICE_HOST=fromenv", NULL };
	struct run *r;

	if (!plat_namespaces())
		atf_tc_skip("would change this machine");
	client_start(&c, &(struct start){ .clone = PLAT_NET,
	    .rundir = "run", .env = env });
	r = client_sh(&c, plat_show_network());
	ATF_CHECK_MSG(strstr(r->out[0], "10.78.0.20") != NULL, "%s",
	    r->out[0]);
	ATF_CHECK_STREQ("fromenv\n", client_sh(&c, "hostname")->out[0]);
	client_end(&c);
}

static void __attribute__((__constructor__))
in_sandbox(int argc, char **argv)
{

	if (argc == 4 && strcmp(argv[1], "serve") == 0)
		_exit(peer_serve(argv[2], argv[3]));
	if (argc == 4 && strcmp(argv[1], "ask") == 0)
		_exit(peer_ask(argv[2], argv[3]));
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, address);
	ATF_TP_ADD_TC(tp, dial);
	ATF_TP_ADD_TC(tp, bulk);
	ATF_TP_ADD_TC(tp, descriptor);
	ATF_TP_ADD_TC(tp, proxy);
	ATF_TP_ADD_TC(tp, environment);
	return (atf_no_error());
}
