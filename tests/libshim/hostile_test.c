/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A shim that lies.  Each case asks for a few things, says something that
 * no honest shim would say, and must find the connection over, with no
 * handler called for the lie and no memory taken by it.
 */

#include <sys/socket.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"
#include "shim.h"

static struct shim *s;
static struct co_error e;
static int enemy;
static int calls, fds;

static void
on_ready(void *arg, const struct shim_hello *h)
{

	(void)arg, (void)h;
}

static void
on_started(void *arg, int64_t id, int pid)
{

	(void)arg, (void)id, (void)pid;
	calls++;
}

static void
on_output(void *arg, int64_t id, enum shim_stream stream, uint64_t offset,
    const void *data, size_t n)
{

	(void)arg, (void)id, (void)stream, (void)offset, (void)data, (void)n;
	calls++;
}

static void
on_completed(void *arg, int64_t id, const struct shim_exit *x)
{

	(void)arg, (void)id, (void)x;
	calls++;
}

static void
on_entry(void *arg, uint32_t number, void *cookie, const struct shim_entry *t)
{

	(void)arg, (void)number, (void)cookie, (void)t;
	calls++;
}

static void
on_data(void *arg, uint32_t number, void *cookie, uint64_t offset,
    const void *data, size_t n, bool eof)
{

	(void)arg, (void)number, (void)cookie, (void)offset, (void)data;
	(void)n, (void)eof;
	calls++;
}

static void
on_connected(void *arg, uint32_t number, void *cookie, int fd)
{

	(void)arg, (void)number, (void)cookie;
	calls++;
	if (fd != -1) {
		fds++;
		close(fd);
	}
}

static void
on_reply(void *arg, uint32_t number, void *cookie,
    const struct shim_result *x)
{

	(void)arg, (void)number, (void)cookie, (void)x;
	calls++;
}

static void
on_stats(void *arg, void *cookie, const struct shim_stats *t)
{

	(void)arg, (void)cookie, (void)t;
	calls++;
}

static const struct shim_handlers handlers = {
	.ready = on_ready, .started = on_started, .output = on_output,
	.completed = on_completed, .entry = on_entry, .data = on_data,
	.connected = on_connected, .reply = on_reply, .stats = on_stats,
};

static int
dispatch(void)
{
	struct pollfd p = { .fd = shim_fd(s), .events = POLLIN };
	int r = 0;

	/* All that was said, however many turns that takes. */
	while (r == 0 && poll(&p, 1, 0) == 1)
		r = shim_dispatch(s, p.revents, &e);
	return (r);
}

/* So that a lie of any size is told at once. */
static void
make_pair(int sv[2])
{
	int size = 1 << 20;

	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == 0);
	for (int i = 0; i < 2; i++) {
		(void)setsockopt(sv[i], SOL_SOCKET, SO_SNDBUF, &size,
		    sizeof(size));
		(void)setsockopt(sv[i], SOL_SOCKET, SO_RCVBUF, &size,
		    sizeof(size));
	}
}

static void
say(const char *text)
{

	ATF_REQUIRE(write(enemy, text, strlen(text)) ==
	    (ssize_t)strlen(text));
}

static void
say_fd(const char *text, int fd)
{
	struct iovec iov = { .iov_len = strlen(text) };
	union {
		struct cmsghdr	h;
		char		buf[CMSG_SPACE(sizeof(int))];
	} ctl;
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1,
	    .msg_control = &ctl, .msg_controllen = sizeof(ctl) };

	memset(&ctl, 0, sizeof(ctl));
	memcpy(&iov.iov_base, &text, sizeof(text));
	ctl.h.cmsg_level = SOL_SOCKET;
	ctl.h.cmsg_type = SCM_RIGHTS;
	ctl.h.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&ctl.h), &fd, sizeof(fd));
	ATF_REQUIRE(sendmsg(enemy, &mh, 0) == (ssize_t)strlen(text));
}

/* Say hello back, with the nonce that was given unless another is. */
static void
greet(const char *nonce)
{
	char buf[1024], *p, text[256];
	ssize_t n;

	ATF_REQUIRE_EQ(0, shim_dispatch(s, 0, &e));
	ATF_REQUIRE((n = read(enemy, buf, sizeof(buf) - 1)) > 0);
	buf[n] = '\0';
	ATF_REQUIRE((p = strstr(buf, "\"nonce\":\"")) != NULL);
	p += 9;
	p[strcspn(p, "\"")] = '\0';
	snprintf(text, sizeof(text), "\n{\"type\":\"hello\",\"version\":1,"
	    "\"nonce\":\"%s\"}\n", nonce != NULL ? nonce : p);
	say(text);
	ATF_REQUIRE_EQ(0, dispatch());
	calls = 0;
}

/* A connection with command 1 (started), 2 (not yet), requests 1 to 8. */
static void
begin(void)
{
	struct shim_request reqs[] = {
		{ .op = SHIM_OP_STAT, .path = "/" },
		{ .op = SHIM_OP_LIST, .path = "/" },
		{ .op = SHIM_OP_READ, .path = "/" },
		{ .op = SHIM_OP_WRITE, .path = "/" },
		{ .op = SHIM_OP_DIAL, .port = 1 },
		{ .op = SHIM_OP_DIAL, .port = 1, .want_fd = true },
		{ .op = SHIM_OP_STATS },
		{ .op = SHIM_OP_READ, .path = "/", .has_fd = true },
	};
	uint32_t number;
	int sv[2];

	ATF_REQUIRE((reqs[7].fd = open("/dev/null", O_RDWR)) != -1);
	make_pair(sv);
	enemy = sv[1];
	ATF_REQUIRE((s = shim_new(sv[0], 0, &handlers, NULL, &e)) != NULL);
	greet(NULL);
	ATF_REQUIRE(shim_ready(s));
	for (int id = 1; id <= 2; id++)
		ATF_REQUIRE_EQ(0, shim_exec(s, &(struct shim_exec){ .id = id,
		    .command = "x", .io = { SHIM_PIPE } }, &e));
	for (uint32_t i = 0; i < sizeof(reqs) / sizeof(reqs[0]); i++) {
		ATF_REQUIRE_EQ(0, shim_request(s, &reqs[i], NULL, &number,
		    &e));
		ATF_REQUIRE_EQ(i + 1, number);
	}
	say("{\"type\":\"step_started\",\"id\":1,\"pid\":7}\n");
	ATF_REQUIRE_EQ(0, dispatch());
	ATF_REQUIRE_EQ(1, calls);
	calls = 0;
}

static void
end(void)
{

	shim_free(s);
	close(enemy);
}

ATF_TC_WITHOUT_HEAD(lies);
ATF_TC_BODY(lies, tc)
{
	static const char *const lie[] = {
		"rubbish\n", "\n\n{}\n", "{\"type\":\"exec\",\"id\":1}\n",
		"{\"type\":\"hello\",\"version\":1,\"nonce\":\"x\"}\n",
		"{\"type\":\"step_started\",\"id\":1}\n",
		"{\"type\":\"step_started\",\"id\":99}\n",
		"{\"type\":\"output\",\"id\":2,\"stream\":\"stdout\","
		    "\"offset\":0,\"data\":\"x\"}\n",
		"{\"type\":\"output\",\"id\":99,\"stream\":\"stdout\","
		    "\"offset\":0,\"data\":\"x\"}\n",
		"{\"type\":\"output\",\"id\":1,\"stream\":\"stdin\","
		    "\"offset\":0,\"data\":\"x\"}\n",
		"{\"type\":\"output\",\"id\":1,\"stream\":\"stdout\","
		    "\"offset\":1,\"data\":\"x\"}\n",
		"{\"type\":\"output\",\"id\":1,\"stream\":\"stdout\","
		    "\"offset\":0}\n",
		"{\"type\":\"output\",\"id\":1,\"stream\":\"stdout\","
		    "\"offset\":0,\"bytes\":65537}\n",
		"{\"type\":\"step_completed\",\"id\":2,\"exit_code\":0}\n",
		"{\"type\":\"step_completed\",\"id\":99,\"exit_code\":0}\n",
		"{\"type\":\"step_completed\",\"id\":1,\"exit_code\":0,"
		    "\"offset\":5}\n",
		"{\"type\":\"step_completed\",\"id\":1,"
		    "\"exit_code\":256}\n",
		"{\"type\":\"ack\",\"id\":1,\"offset\":1}\n",
		"{\"type\":\"ack\",\"id\":99,\"offset\":0}\n",
		"{\"type\":\"ack\",\"req\":4,\"offset\":1}\n",
		"{\"type\":\"ack\",\"req\":99,\"offset\":0}\n",
		"{\"type\":\"process\",\"id\":1,\"offset\":0,"
		    "\"running\":true}\n",
		"{\"type\":\"process\",\"req\":1,\"id\":1,\"offset\":0,"
		    "\"running\":true}\n",
		"{\"type\":\"entry\",\"req\":99,\"path\":\"x\"}\n",
		"{\"type\":\"entry\",\"req\":4,\"path\":\"x\"}\n",
		"{\"type\":\"entry\",\"req\":7,\"path\":\"x\"}\n",
		"{\"type\":\"event\",\"req\":2,\"event\":\"create\","
		    "\"path\":\"x\"}\n",
		"{\"type\":\"data\",\"req\":3,\"offset\":0,\"data\":\"x\"}\n",
		"{\"type\":\"data\",\"req\":5,\"offset\":0,\"data\":\"x\"}\n",
		"{\"type\":\"data\",\"req\":1,\"offset\":0,\"data\":\"x\"}\n",
		"{\"type\":\"data\",\"req\":8,\"offset\":0,\"data\":\"x\"}\n",
		"{\"type\":\"data\",\"req\":8,\"offset\":0,\"eof\":true}\n",
		"{\"type\":\"connected\",\"req\":1}\n",
		"{\"type\":\"connected\",\"req\":5,\"fds\":1}\n",
		"{\"type\":\"connected\",\"req\":6}\n",
		"{\"type\":\"connected\",\"req\":6,\"fds\":1}\n",
		"{\"type\":\"reply\",\"req\":99}\n",
		"{\"type\":\"reply\",\"req\":3,\"offset\":1}\n",
		"{\"type\":\"reply\",\"req\":4,\"offset\":0}\n",
		"{\"type\":\"heartbeat\",\"seq\":1}\n",
		"{\"type\":\"heartbeat\",\"seq\":1,\"req\":1}\n",
		"{\"type\":\"heartbeat\",\"seq\":0,\"req\":7}\n",
		"{\"type\":\"error\",\"error\":\"EPROTO\"}\n",
	};

	for (size_t i = 0; i < sizeof(lie) / sizeof(lie[0]); i++) {
		begin();
		say(lie[i]);
		e.message[0] = '\0';
		ATF_CHECK_EQ_MSG(-1, dispatch(), "%s", lie[i]);
		ATF_CHECK(e.code >= CO_EPROTO_MALFORMED &&
		    e.code <= CO_EPROTO_ARGUMENT);
		ATF_CHECK(e.message[0] != '\0');
		ATF_CHECK_EQ_MSG(0, calls, "%s", lie[i]);
		/* Over is over. */
		ATF_CHECK(!shim_ready(s));
		say("{\"type\":\"reply\",\"req\":1}\n");
		ATF_CHECK_EQ(-1, dispatch());
		ATF_CHECK_EQ(-1, shim_cancel(s, 1, 0, &e));
		ATF_CHECK_EQ(0, calls);
		end();
	}
}

/* What was true once is a lie the second time. */
ATF_TC_WITHOUT_HEAD(twice);
ATF_TC_BODY(twice, tc)
{
	static const char *const truth[] = {
		"{\"type\":\"step_started\",\"id\":2}\n",
		"{\"type\":\"step_completed\",\"id\":1,\"exit_code\":0}\n",
		("{\"type\":\"output\",\"id\":1,\"stream\":\"stderr\","
		    "\"offset\":0,\"data\":\"x\"}\n"),
		"{\"type\":\"entry\",\"req\":1,\"path\":\"x\"}\n",
		"{\"type\":\"entry\",\"req\":3,\"path\":\"x\"}\n",
		"{\"type\":\"connected\",\"req\":5}\n",
		"{\"type\":\"reply\",\"req\":2}\n",
		"{\"type\":\"heartbeat\",\"seq\":1,\"req\":7}\n",
	};

	for (size_t i = 0; i < sizeof(truth) / sizeof(truth[0]); i++) {
		begin();
		say(truth[i]);
		ATF_CHECK_EQ_MSG(0, dispatch(), "%s: %s", truth[i],
		    e.message);
		ATF_CHECK_EQ(1, calls);
		say(truth[i]);
		ATF_CHECK_EQ_MSG(-1, dispatch(), "%s", truth[i]);
		ATF_CHECK_EQ(1, calls);
		end();
	}
}

/* More than was granted: output, data, entries. */
ATF_TC_WITHOUT_HEAD(more);
ATF_TC_BODY(more, tc)
{
	static char text[70000];
	size_t at = 0;
	int n;

	begin();
	for (n = 0; n < 10 && dispatch() == 0; n++) {
		at = (size_t)snprintf(text, sizeof(text), "{\"type\":"
		    "\"output\",\"id\":1,\"stream\":\"stdout\","
		    "\"offset\":%d,\"bytes\":65536}\n", n * 65536);
		memset(text + at, 'x', 65536);
		text[at + 65536] = '\0';
		say(text);
	}
	ATF_CHECK_EQ(5, n);
	ATF_CHECK_EQ(4, calls);
	end();
	begin();
	say("{\"type\":\"entry\",\"req\":3,\"path\":\"x\"}\n");
	for (n = 0; n < 10 && dispatch() == 0; n++) {
		at = (size_t)snprintf(text, sizeof(text), "{\"type\":"
		    "\"data\",\"req\":3,\"offset\":%d,\"bytes\":65536}\n",
		    n * 65536);
		memset(text + at, 'x', 65536);
		text[at + 65536] = '\0';
		say(text);
	}
	ATF_CHECK_EQ(3, n);
	ATF_CHECK_EQ(3, calls);
	end();
	begin();
	for (n = 0; n < 1000 && dispatch() == 0; n++)
		say("{\"type\":\"entry\",\"req\":2,\"path\":\"x\"}\n");
	ATF_CHECK_EQ(257, n);
	ATF_CHECK_EQ(256, calls);
	end();
}

ATF_TC_WITHOUT_HEAD(descriptors);
ATF_TC_BODY(descriptors, tc)
{
	int fd, sv[2];

	/* Not asked for. */
	make_pair(sv);
	s = shim_new(sv[0], 0, &handlers, NULL, &e);
	enemy = sv[1];
	greet(NULL);
	ATF_REQUIRE((fd = open("/dev/null", O_RDWR)) != -1);
	say_fd("\n", fd);
	ATF_CHECK_EQ(-1, dispatch());
	end();
	/* Asked for, but no socket. */
	begin();
	say_fd("{\"type\":\"connected\",\"req\":6,\"fds\":1}\n", fd);
	ATF_CHECK_EQ(-1, dispatch());
	ATF_CHECK(calls == 0 && fds == 0);
	end();
	/* As it should be. */
	begin();
	make_pair(sv);
	say_fd("{\"type\":\"connected\",\"req\":6,\"fds\":1}\n", sv[0]);
	ATF_CHECK_EQ(0, dispatch());
	ATF_CHECK(calls == 1 && fds == 1);
	end();
	close(fd);
	close(sv[0]);
	close(sv[1]);
}

/* Old bytes, wrong nonces, and no hello at all. */
ATF_TC_WITHOUT_HEAD(hello);
ATF_TC_BODY(hello, tc)
{
	static char junk[60000];
	int sv[2];

	make_pair(sv);
	enemy = sv[1];
	ATF_REQUIRE((s = shim_new(sv[0], 0, &handlers, NULL, &e)) != NULL);
	ATF_CHECK_EQ(-1, shim_cancel(s, 1, 0, &e));
	ATF_CHECK_EQ(CO_ESANDBOX_STATE, e.code);
	say("tail of a payload\n{\"type\":\"reply\",\"req\":1}\n");
	greet("guessed");
	ATF_CHECK(!shim_ready(s));
	end();
	make_pair(sv);
	enemy = sv[1];
	ATF_REQUIRE((s = shim_new(sv[0], 0, &handlers, NULL, &e)) != NULL);
	memset(junk, 'x', sizeof(junk) - 1);
	for (int i = 0; i < 2000; i++) {
		say(junk);
		if (dispatch() != 0)
			break;
		ATF_REQUIRE(i < 1999);
	}
	ATF_CHECK_EQ(CO_EPROTO_MALFORMED, e.code);
	end();
}

/* It does not read: what is asked is refused in the end, not hoarded. */
ATF_TC_WITHOUT_HEAD(deaf);
ATF_TC_BODY(deaf, tc)
{
	static char path[4000];
	uint32_t number;
	int n;

	memset(path, 'p', sizeof(path) - 1);
	begin();
	for (n = 0; n < 100000; n++)
		if (shim_request(s, &(struct shim_request){
		    .op = SHIM_OP_STAT, .path = path }, NULL, &number,
		    &e) != 0)
			break;
	ATF_CHECK(n > 100 && n < 1000);
	ATF_CHECK_EQ(CO_ESANDBOX_LIMIT, e.code);
	ATF_CHECK_EQ(0, shim_stdin(s, 1, path, sizeof(path), false));
	end();
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, lies);
	ATF_TP_ADD_TC(tp, twice);
	ATF_TP_ADD_TC(tp, more);
	ATF_TP_ADD_TC(tp, descriptors);
	ATF_TP_ADD_TC(tp, hello);
	ATF_TP_ADD_TC(tp, deaf);
	return (atf_no_error());
}
