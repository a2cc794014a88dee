/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * libctl: messages and descriptors both ways, whole or in pieces, and peers
 * that break the rules.
 */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"
#include "ctl.h"

/* What a connection handed over. */
struct got {
	struct ctl	*c;
	nvlist_t	*nv[64];
	size_t		 n;
	int		 fds[64];
	size_t		 nfds;
	size_t		 pause_at;	/* pause after so many */
};

static void
keep(void *arg, nvlist_t *nv, int *fds, size_t nfds)
{
	struct got *g = arg;

	ATF_REQUIRE(g->n < 64 && g->nfds + nfds <= 64);
	g->nv[g->n++] = nv;
	for (size_t i = 0; i < nfds; i++)
		g->fds[g->nfds++] = fds[i];
	if (g->n == g->pause_at)
		ctl_pause(g->c, true);
}

static void
drop(struct got *g)
{

	for (size_t i = 0; i < g->n; i++)
		nvlist_destroy(g->nv[i]);
	ctl_close_fds(g->fds, g->nfds);
	g->n = g->nfds = 0;
}

static void
pair(int s[2])
{

	ATF_REQUIRE_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, s));
}

static void
connections(struct ctl **a, struct ctl **b)
{
	int s[2];

	pair(s);
	ATF_REQUIRE_EQ(0, ctl_new(s[0], a, NULL));
	ATF_REQUIRE_EQ(0, ctl_new(s[1], b, NULL));
}

static nvlist_t *
message(const char *op, uint64_t req)
{
	nvlist_t *nv;

	ATF_REQUIRE((nv = nvlist_create(0)) != NULL);
	nvlist_add_string(nv, "op", op);
	nvlist_add_number(nv, "req", req);
	return (nv);
}

static void
post(struct ctl *c, const char *op, uint64_t req, const int *fds, size_t n)
{
	nvlist_t *nv = message(op, req);

	ATF_REQUIRE_EQ(0, ctl_send(c, nv, fds, n, NULL));
	nvlist_destroy(nv);
}

/* Descriptors that are open here, at most 1024. */
static int
open_fds(void)
{
	int n = 0;

	for (int i = 0; i < 1024; i++)
		n += fcntl(i, F_GETFD) != -1;
	return (n);
}

ATF_TC_WITHOUT_HEAD(round_trip);
ATF_TC_BODY(round_trip, tc)
{
	struct got g = { 0 };
	struct ctl *a, *b;
	struct stat one, two;
	int before, fd, fds[2];

	before = open_fds();
	connections(&a, &b);
	ATF_REQUIRE((fd = open("/dev/null", O_RDONLY)) != -1);
	fds[0] = fds[1] = fd;
	post(a, "first", 1, NULL, 0);
	post(a, "second", 2, fds, 2);
	post(a, "third", 3, fds, 1);
	post(a, "fourth", 4, NULL, 0);
	ATF_REQUIRE_EQ(POLLIN | POLLOUT, ctl_want(a));
	ATF_REQUIRE(ctl_backlog(a) > 0);
	ATF_REQUIRE_EQ(0, ctl_dispatch(a, 0, keep, &g, NULL));
	ATF_REQUIRE_EQ(0, ctl_backlog(a));
	ATF_REQUIRE_EQ(POLLIN, ctl_want(a));
	for (int i = 0; i < 4; i++)
		ATF_REQUIRE_EQ(0, ctl_dispatch(b, POLLIN, keep, &g, NULL));
	ATF_REQUIRE_EQ(4, g.n);
	ATF_REQUIRE_EQ(3, g.nfds);
	ATF_REQUIRE_STREQ("second", ctl_string(g.nv[1], "op", ""));
	ATF_REQUIRE_EQ(4, ctl_uint(g.nv[3], "req", 0));
	ATF_REQUIRE_EQ(0, fstat(fd, &one));
	for (size_t i = 0; i < 3; i++) {
		ATF_REQUIRE_EQ(0, fstat(g.fds[i], &two));
		ATF_REQUIRE_EQ(one.st_ino, two.st_ino);
		ATF_REQUIRE_EQ(FD_CLOEXEC, fcntl(g.fds[i], F_GETFD));
	}
	drop(&g);
	close(fd);
	ctl_free(a);
	ctl_free(b);
	ATF_REQUIRE_EQ(before, open_fds());
}

/* The bytes of a few messages, as they go over the wire. */
static size_t
wire(char *buf, size_t size)
{
	struct ctl *c;
	ssize_t n;
	int s[2];

	pair(s);
	ATF_REQUIRE_EQ(0, ctl_new(s[0], &c, NULL));
	for (uint64_t i = 1; i <= 3; i++)
		post(c, "bytes", i, NULL, 0);
	ATF_REQUIRE_EQ(0, ctl_dispatch(c, 0, NULL, NULL, NULL));
	n = read(s[1], buf, size);
	ATF_REQUIRE(n > 24 && (size_t)n < size);
	ctl_free(c);
	close(s[1]);
	return ((size_t)n);
}

ATF_TC_WITHOUT_HEAD(byte_by_byte);
ATF_TC_BODY(byte_by_byte, tc)
{
	struct got g = { 0 };
	struct co_error e;
	struct ctl *c;
	char buf[4096];
	size_t len;
	int s[2];

	len = wire(buf, sizeof(buf));
	pair(s);
	ATF_REQUIRE_EQ(0, ctl_new(s[0], &c, NULL));
	for (size_t i = 0; i < len; i++) {
		ATF_REQUIRE_EQ(1, write(s[1], buf + i, 1));
		ATF_REQUIRE_EQ(0, ctl_dispatch(c, POLLIN, keep, &g, NULL));
		ATF_REQUIRE(g.n < 3 || i == len - 1);
	}
	ATF_REQUIRE_EQ(3, g.n);
	ATF_REQUIRE_EQ(3, ctl_uint(g.nv[2], "req", 0));
	close(s[1]);
	ATF_REQUIRE_EQ(-1, ctl_dispatch(c, POLLIN, keep, &g, &e));
	ATF_REQUIRE_EQ(CO_OK, e.code);
	drop(&g);
	ctl_free(c);
}

/* Send ${len} bytes to a connection and hang up: what becomes of it? */
static enum co_code
feed(const void *bytes, size_t len)
{
	struct got g = { 0 };
	struct co_error e;
	struct ctl *c;
	int s[2];

	pair(s);
	ATF_REQUIRE_EQ(0, ctl_new(s[0], &c, NULL));
	ATF_REQUIRE_EQ((ssize_t)len, write(s[1], bytes, len));
	close(s[1]);
	e.code = CO_OK;
	while (ctl_dispatch(c, POLLIN, keep, &g, &e) == 0)
		continue;
	ATF_REQUIRE_EQ(0, g.n);
	ctl_free(c);
	return (e.code);
}

ATF_TC_WITHOUT_HEAD(no_frames);
ATF_TC_BODY(no_frames, tc)
{
	static const unsigned char empty[8] = { 0 };
	static const unsigned char huge[8] = { 0xff, 0xff, 0xff, 0xff };
	static const unsigned char above[8] = { 1, 0, 0x10, 0 };
	static const unsigned char fds[8] = { 19, 0, 0, 0, 9, 0, 0, 0 };
	static const unsigned char none[8] = { 19, 0, 0, 0, 1, 0, 0, 0 };
	static const unsigned char junk[12] = { 4, 0, 0, 0, 0, 0, 0, 0,
	    'j', 'u', 'n', 'k' };

	ATF_REQUIRE_EQ(CO_EPROTO_MALFORMED, feed(empty, sizeof(empty)));
	ATF_REQUIRE_EQ(CO_EPROTO_MALFORMED, feed(huge, sizeof(huge)));
	ATF_REQUIRE_EQ(CO_EPROTO_MALFORMED, feed(above, sizeof(above)));
	ATF_REQUIRE_EQ(CO_EPROTO_MALFORMED, feed(fds, sizeof(fds)));
	ATF_REQUIRE_EQ(CO_EPROTO_MALFORMED, feed(none, sizeof(none)));
	ATF_REQUIRE_EQ(CO_EPROTO_MALFORMED, feed(junk, sizeof(junk)));
	/* Half a message, and half a header. */
	ATF_REQUIRE_EQ(CO_EPROTO_MALFORMED, feed(junk, 10));
	ATF_REQUIRE_EQ(CO_EPROTO_MALFORMED, feed(junk, 3));
	ATF_REQUIRE_EQ(CO_OK, feed(junk, 0));
}

/* Send bytes with four descriptors beside them. */
static void
send_with_fds(int s, void *bytes, size_t len)
{
	union {
		struct cmsghdr	h;
		char		buf[CMSG_SPACE(4 * sizeof(int))];
	} u;
	struct iovec iov = { bytes, len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fds[4] = { s, s, s, s };

	memset(&u, 0, sizeof(u));
	m.msg_control = u.buf;
	m.msg_controllen = sizeof(u.buf);
	u.h.cmsg_level = SOL_SOCKET;
	u.h.cmsg_type = SCM_RIGHTS;
	u.h.cmsg_len = CMSG_LEN(4 * sizeof(int));
	memcpy(CMSG_DATA(&u.h), fds, sizeof(fds));
	ATF_REQUIRE_EQ((ssize_t)len, sendmsg(s, &m, 0));
}

/* Descriptors that no frame announces are bounded and closed. */
ATF_TC_WITHOUT_HEAD(stray_descriptors);
ATF_TC_BODY(stray_descriptors, tc)
{
	struct got g = { 0 };
	struct co_error e;
	struct ctl *c;
	char buf[4096], zero[] = { 100 };
	size_t len;
	int before, ret, s[2];

	before = open_fds();
	pair(s);
	ATF_REQUIRE_EQ(0, ctl_new(s[0], &c, NULL));
	ret = 0;
	for (int i = 0; i < 7 && ret == 0; i++) {
		send_with_fds(s[1], zero, 1);
		ret = ctl_dispatch(c, POLLIN, keep, &g, &e);
	}
	ATF_REQUIRE_EQ(-1, ret);
	ATF_REQUIRE_EQ(CO_EPROTO_MALFORMED, e.code);
	ctl_free(c);
	close(s[1]);

	/* Beside whole frames that have none, so that the next can't. */
	len = wire(buf, sizeof(buf));
	pair(s);
	ATF_REQUIRE_EQ(0, ctl_new(s[0], &c, NULL));
	send_with_fds(s[1], buf, len);
	ATF_REQUIRE_EQ(-1, ctl_dispatch(c, POLLIN, keep, &g, &e));
	ATF_REQUIRE_EQ(CO_EPROTO_MALFORMED, e.code);
	ATF_REQUIRE_EQ(0, g.nfds);
	drop(&g);
	ctl_free(c);
	close(s[1]);
	ATF_REQUIRE_EQ(before, open_fds());
}

ATF_TC_WITHOUT_HEAD(bounds_of_sending);
ATF_TC_BODY(bounds_of_sending, tc)
{
	struct co_error e;
	struct ctl *a, *b;
	nvlist_t *nv;
	void *big;
	int fds[CTL_MAX_FDS + 1] = { 0 };
	int n, ret;

	connections(&a, &b);
	ATF_REQUIRE((big = calloc(1, CTL_MAX_MESSAGE)) != NULL);
	nv = message("big", 1);
	ATF_REQUIRE_EQ(-1, ctl_send(a, nv, fds, CTL_MAX_FDS + 1, &e));
	ATF_REQUIRE_EQ(CO_EPROTO_TOOBIG, e.code);
	nvlist_add_binary(nv, "data", big, CTL_MAX_MESSAGE);
	ATF_REQUIRE_EQ(-1, ctl_send(a, nv, NULL, 0, &e));
	ATF_REQUIRE_EQ(CO_EPROTO_TOOBIG, e.code);
	nvlist_destroy(nv);

	/* Nobody reads: what is queued has an end. */
	nv = message("many", 1);
	nvlist_add_binary(nv, "data", big, CTL_MAX_MESSAGE / 2);
	for (n = 0; n < 1000; n++) {
		if ((ret = ctl_send(a, nv, NULL, 0, &e)) != 0)
			break;
		ATF_REQUIRE_EQ(0, ctl_dispatch(a, 0, NULL, NULL, NULL));
	}
	ATF_REQUIRE_EQ(-1, ret);
	ATF_REQUIRE_EQ(CO_ESYS_NOSPACE, e.code);
	ATF_REQUIRE(ctl_backlog(a) <= CTL_MAX_BACKLOG + CTL_MAX_MESSAGE);
	nvlist_destroy(nv);
	free(big);
	ctl_free(a);
	ctl_free(b);

	/* So have descriptors, and a list that could not be made is told. */
	connections(&a, &b);
	nv = message("fds", 1);
	for (n = 0; n < 1000; n++)
		if (ctl_send(a, nv, fds, 4, &e) != 0)
			break;
	ATF_REQUIRE(n > 4 && n <= 16);
	ATF_REQUIRE_EQ(CO_ESYS_NOSPACE, e.code);
	ATF_REQUIRE_EQ(0, ctl_dispatch(a, 0, NULL, NULL, NULL));
	ATF_REQUIRE_EQ(0, ctl_send(a, nv, fds, 4, &e));
	nvlist_destroy(nv);
	ATF_REQUIRE_EQ(-1, ctl_send(a, NULL, NULL, 0, &e));
	ATF_REQUIRE_EQ(CO_ESYS_NOMEM, e.code);
	ctl_free(a);
	ctl_free(b);
}

ATF_TC_WITHOUT_HEAD(pausing);
ATF_TC_BODY(pausing, tc)
{
	struct got g = { .pause_at = 2 };
	struct pollfd pfd;
	struct co_error e;
	struct ctl *a, *b;

	connections(&a, &b);
	for (uint64_t i = 1; i <= 5; i++)
		post(a, "one", i, NULL, 0);
	ATF_REQUIRE_EQ(0, ctl_dispatch(a, 0, keep, &g, NULL));
	g.c = b;
	ATF_REQUIRE_EQ(0, ctl_dispatch(b, POLLIN, keep, &g, NULL));
	ATF_REQUIRE_EQ(2, g.n);
	ATF_REQUIRE_EQ(0, ctl_want(b));
	ATF_REQUIRE_EQ(0, ctl_dispatch(b, POLLIN, keep, &g, NULL));
	ATF_REQUIRE_EQ(2, g.n);
	ctl_pause(b, false);
	ATF_REQUIRE_EQ(0, ctl_dispatch(b, 0, keep, &g, NULL));
	ATF_REQUIRE_EQ(5, g.n);
	drop(&g);
	ctl_free(a);

	/* Nobody is there any more: that is told, paused or not. */
	ctl_pause(b, true);
	pfd.fd = ctl_fd(b);
	pfd.events = (short)ctl_want(b);
	ATF_REQUIRE_EQ(1, poll(&pfd, 1, 20000));
	ATF_REQUIRE_EQ(-1, ctl_dispatch(b, pfd.revents, keep, &g, &e));
	ATF_REQUIRE_EQ(CO_OK, e.code);
	ctl_free(b);
}

ATF_TC_WITHOUT_HEAD(peer);
ATF_TC_BODY(peer, tc)
{
	struct ctl_peer p;
	struct ctl *a, *b;

	connections(&a, &b);
	ATF_REQUIRE_EQ(0, ctl_peer(a, &p, NULL));
	ATF_REQUIRE_EQ(geteuid(), p.uid);
	ATF_REQUIRE_EQ(getegid(), p.gid);
	ATF_REQUIRE(p.ngroups >= 1);
	ATF_REQUIRE_EQ(getegid(), p.groups[0]);
	ctl_free(a);
	ctl_free(b);
}

ATF_TC_WITHOUT_HEAD(listening);
ATF_TC_BODY(listening, tc)
{
	struct co_error e;
	struct stat st;
	struct ctl *c;
	int fd, other;

	ATF_REQUIRE_EQ(-1, ctl_connect("sock", &c, &e));
	ATF_REQUIRE(strstr(e.message, "coppiced") != NULL);
	ATF_REQUIRE_EQ(0, ctl_listen("sock", 0620, (gid_t)-1, &fd, &e));
	ATF_REQUIRE_EQ(0, lstat("sock", &st));
	ATF_REQUIRE_EQ(0620, st.st_mode & 07777);
	ATF_REQUIRE_EQ(-1, ctl_listen("sock", 0600, (gid_t)-1, &other, &e));
	ATF_REQUIRE_EQ(CO_ESESSION_EXISTS, e.code);
	ATF_REQUIRE_EQ(0, ctl_connect("sock", &c, &e));
	ctl_free(c);
	close(fd);
	/* Its process is gone: the name is free again. */
	ATF_REQUIRE_EQ(-1, ctl_connect("sock", &c, &e));
	ATF_REQUIRE_EQ(0, ctl_listen("sock", 0600, (gid_t)-1, &fd, &e));
	close(fd);
	ATF_REQUIRE_EQ(0, unlink("sock"));
	/* What is no socket is left alone. */
	ATF_REQUIRE((fd = open("sock", O_CREAT | O_WRONLY, 0600)) != -1);
	close(fd);
	ATF_REQUIRE_EQ(-1, ctl_listen("sock", 0600, (gid_t)-1, &fd, &e));
	ATF_REQUIRE_EQ(0, lstat("sock", &st));
	ATF_REQUIRE(S_ISREG(st.st_mode));
}

/* A server of the test: answers by what the op says. */
struct server {
	struct ctl	*c;
	bool		 leave;
};

static void
serve(void *arg, nvlist_t *nv, int *fds, size_t nfds)
{
	struct server *s = arg;
	struct co_error e;
	uint64_t req = ctl_uint(nv, "req", 0);
	const char *op = ctl_string(nv, "op", "");
	nvlist_t *out;

	ctl_close_fds(fds, nfds);
	post(s->c, "noise", req + 1000, NULL, 0);
	for (uint64_t i = 0; i < ctl_uint(nv, "events", 0); i++) {
		if (strcmp(op, "endless") == 0) {
			(void)poll(NULL, 0, 10);
			(void)ctl_dispatch(s->c, 0, NULL, NULL, NULL);
		}
		out = message("event", req);
		nvlist_add_number(out, "i", i);
		ATF_REQUIRE_EQ(0, ctl_send(s->c, out, NULL, 0, NULL));
		nvlist_destroy(out);
	}
	out = message("answer", req);
	nvlist_add_bool(out, "done", true);
	if (strcmp(op, "fail") == 0) {
		(void)co_error_set(&e, CO_EUNDO_NOSTEP, "7", "no step 7");
		ctl_error_add(out, &e);
	}
	if (strcmp(op, "die") == 0)
		s->leave = true;
	else if (strcmp(op, "mute") != 0)
		ATF_REQUIRE_EQ(0, ctl_send(s->c, out, NULL, 0, NULL));
	nvlist_destroy(out);
	nvlist_destroy(nv);
}

static struct ctl *
with_server(void)
{
	struct server srv = { NULL, false };
	struct pollfd pfd;
	struct ctl *c;
	int s[2];

	pair(s);
	if (fork() == 0) {
		close(s[0]);
		if (ctl_new(s[1], &srv.c, NULL) != 0)
			_exit(1);
		while (!srv.leave) {
			pfd.fd = ctl_fd(srv.c);
			pfd.events = (short)ctl_want(srv.c);
			if (poll(&pfd, 1, 20000) <= 0 ||
			    ctl_dispatch(srv.c, pfd.revents, serve, &srv,
			    NULL) != 0)
				break;
		}
		_exit(0);
	}
	close(s[1]);
	ATF_REQUIRE_EQ(0, ctl_new(s[0], &c, NULL));
	return (c);
}

static void
count(void *arg, nvlist_t *nv, int *fds, size_t nfds)
{
	uint64_t *next = arg;

	ATF_REQUIRE_EQ(*next, ctl_uint(nv, "i", 99));
	(*next)++;
	nvlist_destroy(nv);
	ctl_close_fds(fds, nfds);
}

ATF_TC_WITHOUT_HEAD(calls);
ATF_TC_BODY(calls, tc)
{
	struct co_error e;
	struct ctl *c;
	nvlist_t *answer, *nv;
	uint64_t n = 0;

	c = with_server();
	nv = message("count", 0);
	nvlist_add_number(nv, "events", 40);
	ATF_REQUIRE_EQ(0, ctl_call(c, nv, count, &n, co_after(20000),
	    &answer, &e));
	ATF_REQUIRE_EQ(40, n);
	ATF_REQUIRE_STREQ("answer", ctl_string(answer, "op", ""));
	nvlist_destroy(answer);
	nvlist_destroy(nv);

	nv = message("fail", 0);
	ATF_REQUIRE_EQ(-1, ctl_call(c, nv, NULL, NULL, co_after(20000),
	    &answer, &e));
	ATF_REQUIRE_EQ(CO_EUNDO_NOSTEP, e.code);
	ATF_REQUIRE_STREQ("no step 7", e.message);
	ATF_REQUIRE_STREQ("7", e.what);
	nvlist_destroy(nv);

	nv = message("mute", 0);
	ATF_REQUIRE_EQ(-1, ctl_call(c, nv, NULL, NULL, co_after(50), NULL,
	    &e));
	ATF_REQUIRE_EQ(CO_ESYS_DEADLINE, e.code);
	nvlist_destroy(nv);

	/* Events that keep coming do not move the deadline. */
	nv = message("endless", 0);
	nvlist_add_number(nv, "events", 300);
	n = 0;
	ATF_REQUIRE_EQ(-1, ctl_call(c, nv, count, &n, co_after(100), NULL,
	    &e));
	ATF_REQUIRE_EQ(CO_ESYS_DEADLINE, e.code);
	ATF_REQUIRE(n < 300);
	nvlist_destroy(nv);

	nv = message("die", 0);
	ATF_REQUIRE_EQ(-1, ctl_call(c, nv, NULL, NULL, co_after(20000), NULL,
	    &e));
	ATF_REQUIRE_EQ(CO_ESESSION_NONE, e.code);
	nvlist_destroy(nv);
	ctl_free(c);
	(void)wait(NULL);
}

/* An "error" that is not one of ours is an error all the same. */
ATF_TC_WITHOUT_HEAD(odd_errors);
ATF_TC_BODY(odd_errors, tc)
{
	struct co_error e;
	nvlist_t *nv;

	nv = nvlist_create(0);
	ATF_REQUIRE(!ctl_error_get(nv, &e));
	nvlist_add_string(nv, "error", "text");
	ATF_REQUIRE(ctl_error_get(nv, &e));
	ATF_REQUIRE_EQ(CO_EPROTO_MALFORMED, e.code);
	nvlist_destroy(nv);
	nv = nvlist_create(0);
	nvlist_move_nvlist(nv, "error", nvlist_create(0));
	ATF_REQUIRE(ctl_error_get(nv, &e));
	ATF_REQUIRE_EQ(CO_EPROTO_MALFORMED, e.code);
	ATF_REQUIRE_EQ(5, ctl_uint(nv, "error", 5));
	ATF_REQUIRE_STREQ("x", ctl_string(nv, "error", "x"));
	ATF_REQUIRE(ctl_flag(nv, "error", true));
	nvlist_destroy(nv);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, round_trip);
	ATF_TP_ADD_TC(tp, byte_by_byte);
	ATF_TP_ADD_TC(tp, no_frames);
	ATF_TP_ADD_TC(tp, stray_descriptors);
	ATF_TP_ADD_TC(tp, bounds_of_sending);
	ATF_TP_ADD_TC(tp, pausing);
	ATF_TP_ADD_TC(tp, peer);
	ATF_TP_ADD_TC(tp, listening);
	ATF_TP_ADD_TC(tp, calls);
	ATF_TP_ADD_TC(tp, odd_errors);
	return (atf_no_error());
}
