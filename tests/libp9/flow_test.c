/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Many requests at a time: pipelines, waits, Tflush, back-pressure, the ends
 * of a connection, and streams of all kinds.
 */

#include <sys/socket.h>
#include <sys/stat.h>

#include <netinet/in.h>
#include <arpa/inet.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

static void
begin(struct world *w, struct client *c, const struct p9_options *o)
{

	world_open(w, NULL, false);
	hello(c, w, o);
}

static void
end(struct world *w, struct client *c)
{

	client_close(c);
	world_close(w);
}

/* Two opens of one file; the first has it locked, for process 1. */
static void
locked_file(struct client *c)
{
	uint8_t status;

	must_create(c, 1, "f", "x");
	must_open(c, 2, "f", P9_O_RDWR);
	ATF_REQUIRE_EQ(0, c_lock(c, 1, P9_LOCK_WRLCK, 0, 0, 0, 1, &status));
	ATF_REQUIRE_EQ(P9_LOCK_SUCCESS, status);
}

/* Ask for it, for process proc, and wait until the server waits. */
static void
send_wait(struct client *c, uint16_t tag, uint32_t fid, uint32_t proc)
{
	struct p9_msg t = { .type = P9_TLOCK, .tag = tag, .tlock = { fid,
	    P9_LOCK_WRLCK, P9_LOCK_BLOCK, 0, 0, proc, str("guest") } };
	struct p9_stats st;
	uint32_t before;

	p9_stats(c->p9, &st);
	before = st.waiting;
	send_msg(c, &t);
	for (int i = 0; i < 5000; i++) {
		p9_stats(c->p9, &st);
		if (st.waiting > before)
			return;
		usleep(1000);
	}
	atf_tc_fail("the server does not wait");
}

static void
send_flush(struct client *c, uint16_t tag, uint16_t old)
{
	struct p9_msg t = { .type = P9_TFLUSH, .tag = tag,
	    .tflush = { old } };

	send_msg(c, &t);
}

static void
expect(struct client *c, uint8_t type, uint16_t tag)
{
	struct p9_msg r;

	ATF_REQUIRE(recv_msg(c, &r));
	ATF_REQUIRE_EQ_MSG(tag, r.tag, "type %u with tag %u, not %u", r.type,
	    r.tag, tag);
	ATF_REQUIRE_EQ_MSG(type, r.type, "type %u, not %u", r.type, type);
}

ATF_TC_WITHOUT_HEAD(pipeline);
ATF_TC_BODY(pipeline, tc)
{
	struct world w;
	struct client c;
	struct p9_msg r, t = { .type = P9_TREAD };
	uint32_t numbers[1000], got;
	bool seen[1000];
	uint32_t n = sizeof(numbers);

	begin(&w, &c, NULL);
	must_create(&c, 1, "f", "");
	for (uint32_t i = 0; i < 1000; i++)
		numbers[i] = i * 7;
	ATF_REQUIRE_EQ(0, c_write(&c, 1, 0, numbers, &n));
	for (int round = 0; round < 5; round++) {
		memset(seen, 0, sizeof(seen));
		for (uint16_t i = 0; i < 1000; i++) {
			t.tag = i;
			t.tread.fid = 1;
			t.tread.offset = i * 4u;
			t.tread.count = 4;
			send_msg(&c, &t);
		}
		for (int i = 0; i < 1000; i++) {
			ATF_REQUIRE(recv_msg(&c, &r));
			ATF_REQUIRE_EQ(P9_RREAD, r.type);
			ATF_REQUIRE(r.tag < 1000 && !seen[r.tag]);
			seen[r.tag] = true;
			ATF_REQUIRE_EQ(4, r.rread.data.len);
			memcpy(&got, r.rread.data.p, 4);
			ATF_REQUIRE_EQ(r.tag * 7u, got);
		}
	}
	end(&w, &c);
}

/* Byte by byte, and many messages at once across the buffers' ends. */
ATF_TC_WITHOUT_HEAD(fragments);
ATF_TC_BODY(fragments, tc)
{
	struct world w;
	struct client c;
	struct p9_msg t = { .type = P9_TGETATTR, .tag = 3 };
	uint8_t *all, buf[64];
	size_t len, at = 0;

	begin(&w, &c, NULL);
	ATF_REQUIRE_EQ(0, p9_encode(&t, buf, sizeof(buf), &len));
	for (size_t i = 0; i < len; i++) {
		send_bytes(&c, buf + i, 1);
		usleep(500);
	}
	expect(&c, P9_RGETATTR, 3);
	must_create(&c, 1, "f", "");
	all = malloc(1024 * 1024);
	ATF_REQUIRE(all != NULL);
	/* Long and short ones in turns, 300 KiB. */
	for (uint16_t i = 0; i < 30; i++) {
		t = (struct p9_msg){ .type = P9_TWRITE, .tag = i,
		    .twrite = { 1, 0, { 8000u + i * 150u, c.out } } };
		ATF_REQUIRE_EQ(0, p9_encode(&t, all + at, 65536, &len));
		at += len;
		t = (struct p9_msg){ .type = P9_TGETATTR,
		    .tag = (uint16_t)(100 + i) };
		ATF_REQUIRE_EQ(0, p9_encode(&t, all + at, 65536, &len));
		at += len;
	}
	send_bytes(&c, all, at);
	for (int i = 0; i < 60; i++) {
		ATF_REQUIRE(recv_msg(&c, &t));
		ATF_REQUIRE_EQ(t.tag < 100 ? P9_RWRITE : P9_RGETATTR, t.type);
		if (t.tag < 100)
			ATF_REQUIRE_EQ(8000u + t.tag * 150u, t.rwrite.count);
	}
	free(all);
	end(&w, &c);
}

ATF_TC_WITHOUT_HEAD(out_of_order);
ATF_TC_BODY(out_of_order, tc)
{
	struct world w;
	struct client c;
	struct p9_msg r, t = { .type = P9_TLOCK, .tag = 501, .tlock = { 1,
	    P9_LOCK_UNLCK, 0, 0, 0, 1, str("guest") } };

	begin(&w, &c, NULL);
	locked_file(&c);
	send_wait(&c, 500, 2, 2);
	/* Others are served meanwhile, and the wait ends with the unlock. */
	for (int i = 0; i < 100; i++)
		ATF_REQUIRE_EQ(0, c_getattr(&c, ROOT, 0, &r));
	send_msg(&c, &t);
	for (int i = 0; i < 2; i++) {
		ATF_REQUIRE(recv_msg(&c, &r));
		ATF_CHECK(r.tag == 500 || r.tag == 501);
		ATF_REQUIRE_EQ(P9_RLOCK, r.type);
		ATF_CHECK_EQ(P9_LOCK_SUCCESS, r.rlock.status);
	}
	end(&w, &c);
}

ATF_TC_WITHOUT_HEAD(flush);
ATF_TC_BODY(flush, tc)
{
	struct world w;
	struct client c;
	struct p9_msg r;
	uint8_t status;

	begin(&w, &c, NULL);
	locked_file(&c);
	/* A tag that is not there. */
	send_flush(&c, 500, 600);
	expect(&c, P9_RFLUSH, 500);
	/* Its own. */
	send_flush(&c, 500, 500);
	expect(&c, P9_RFLUSH, 500);
	/* One that waits: no answer to it. */
	send_wait(&c, 600, 2, 2);
	send_flush(&c, 500, 600);
	expect(&c, P9_RFLUSH, 500);
	ATF_REQUIRE_EQ(0, c_getattr(&c, ROOT, 0, &r));
	/* The lock was not given, and both tags are free again. */
	ATF_REQUIRE_EQ(0, c_lock(&c, 1, P9_LOCK_UNLCK, 0, 0, 0, 1, &status));
	ATF_REQUIRE_EQ(0, c_lock(&c, 1, P9_LOCK_WRLCK, 0, 0, 0, 1, &status));
	ATF_CHECK_EQ(P9_LOCK_SUCCESS, status);
	send_wait(&c, 600, 2, 2);
	send_flush(&c, 500, 600);
	expect(&c, P9_RFLUSH, 500);
	end(&w, &c);
}

/* Sent at once: whatever the threads do, the Rflush is last. */
ATF_TC_WITHOUT_HEAD(flush_race);
ATF_TC_BODY(flush_race, tc)
{
	struct world w;
	struct client c;
	struct p9_msg r, t;
	uint8_t buf[256];
	size_t len, at;
	int answered = 0;

	begin(&w, &c, NULL);
	must_create(&c, 1, "f", "x");
	for (int i = 0; i < 3000; i++) {
		t = (struct p9_msg){ .type = P9_TSETATTR, .tag = 7,
		    .tsetattr = { .fid = 1, .valid = P9_SETATTR_MODE,
		    .mode = 0600 } };
		ATF_REQUIRE_EQ(0, p9_encode(&t, buf, sizeof(buf), &at));
		t = (struct p9_msg){ .type = P9_TFLUSH, .tag = 8,
		    .tflush = { 7 } };
		ATF_REQUIRE_EQ(0, p9_encode(&t, buf + at, sizeof(buf) - at,
		    &len));
		send_bytes(&c, buf, at + len);
		ATF_REQUIRE(recv_msg(&c, &r));
		if (r.tag == 7) {
			answered++;
			ATF_REQUIRE_EQ(P9_RSETATTR, r.type);
			ATF_REQUIRE(recv_msg(&c, &r));
		}
		ATF_REQUIRE_EQ(8, r.tag);
		ATF_REQUIRE_EQ(P9_RFLUSH, r.type);
		/* The tag can be used at once. */
		t = (struct p9_msg){ .type = P9_TGETATTR, .tag = 7 };
		send_msg(&c, &t);
		expect(&c, P9_RGETATTR, 7);
	}
	/* Nothing here waits for a lock, so that all were done. */
	ATF_CHECK_EQ(3000, answered);
	end(&w, &c);
}

ATF_TC_WITHOUT_HEAD(flush_twice);
ATF_TC_BODY(flush_twice, tc)
{
	struct world w;
	struct client c;
	struct p9_msg r, t = { .type = P9_TFLUSH };
	uint8_t buf[256];
	size_t at = 0, len;

	begin(&w, &c, NULL);
	locked_file(&c);
	send_wait(&c, 600, 2, 2);
	/* Two for the request and one for the first of them, in one go. */
	for (uint16_t i = 0; i < 3; i++) {
		t.tag = (uint16_t)(500 + i);
		t.tflush.oldtag = i < 2 ? 600 : 500;
		ATF_REQUIRE_EQ(0, p9_encode(&t, buf + at, sizeof(buf) - at,
		    &len));
		at += len;
	}
	send_bytes(&c, buf, at);
	expect(&c, P9_RFLUSH, 500);
	expect(&c, P9_RFLUSH, 501);
	expect(&c, P9_RFLUSH, 502);
	ATF_REQUIRE_EQ(0, c_getattr(&c, ROOT, 0, &r));
	end(&w, &c);
}

ATF_TC_WITHOUT_HEAD(duplicate_tag);
ATF_TC_BODY(duplicate_tag, tc)
{
	struct world w;
	struct client c;
	struct p9_msg r, t = { .type = P9_TGETATTR, .tag = 600 };

	begin(&w, &c, NULL);
	locked_file(&c);
	send_wait(&c, 600, 2, 2);
	send_msg(&c, &t);
	ATF_REQUIRE(recv_msg(&c, &r));
	ATF_CHECK_EQ(600, r.tag);
	ATF_CHECK_EQ(P9_RLERROR, r.type);
	ATF_CHECK_EQ(L_EINVAL, r.rlerror.ecode);
	send_flush(&c, 500, 600);
	expect(&c, P9_RFLUSH, 500);
	end(&w, &c);
}

ATF_TC_WITHOUT_HEAD(clunk_ends_wait);
ATF_TC_BODY(clunk_ends_wait, tc)
{
	struct world w;
	struct client c;
	struct p9_msg r, t = { .type = P9_TCLUNK, .tag = 700,
	    .tclunk = { 2 } };

	begin(&w, &c, NULL);
	locked_file(&c);
	send_wait(&c, 600, 2, 2);
	send_msg(&c, &t);
	for (int i = 0; i < 2; i++) {
		ATF_REQUIRE(recv_msg(&c, &r));
		if (r.tag == 700)
			ATF_CHECK_EQ(P9_RCLUNK, r.type);
		else
			ATF_CHECK(r.tag == 600 && r.type == P9_RLERROR);
	}
	end(&w, &c);
}

ATF_TC_WITHOUT_HEAD(version_ends_wait);
ATF_TC_BODY(version_ends_wait, tc)
{
	struct world w;
	struct client c;
	struct p9_msg r;

	begin(&w, &c, NULL);
	locked_file(&c);
	send_wait(&c, 600, 2, 2);
	send_wait(&c, 601, 2, 3);
	/* Only the version is answered. */
	ATF_REQUIRE_EQ(0, c_version(&c, 65536, P9_VERSION));
	ATF_REQUIRE_EQ(0, c_attach(&c, ROOT, 0, ""));
	ATF_REQUIRE_EQ(0, c_getattr(&c, ROOT, 0, &r));
	end(&w, &c);
}

ATF_TC_WITHOUT_HEAD(hangup_ends_wait);
ATF_TC_BODY(hangup_ends_wait, tc)
{
	struct world w;
	struct client c;

	begin(&w, &c, NULL);
	locked_file(&c);
	send_wait(&c, 600, 2, 2);
	send_wait(&c, 601, 2, 3);
	end(&w, &c);
}

ATF_TC_WITHOUT_HEAD(many_waits);
ATF_TC_BODY(many_waits, tc)
{
	struct p9_options o = { .threads = 2, .waiters = 3 };
	struct world w;
	struct client c;
	struct p9_msg r;
	uint8_t status;

	begin(&w, &c, &o);
	locked_file(&c);
	for (uint16_t i = 0; i < 3; i++)
		send_wait(&c, (uint16_t)(600 + i), 2, 2u + i);
	/* One more is told to come again, and all else goes on. */
	ATF_REQUIRE_EQ(0, c_lock(&c, 2, P9_LOCK_WRLCK, P9_LOCK_BLOCK, 0, 0,
	    9, &status));
	ATF_CHECK_EQ(P9_LOCK_BLOCKED, status);
	ATF_REQUIRE_EQ(0, c_getattr(&c, ROOT, 0, &r));
	for (uint16_t i = 0; i < 3; i++) {
		send_flush(&c, 500, (uint16_t)(600 + i));
		expect(&c, P9_RFLUSH, 500);
	}
	end(&w, &c);
}

ATF_TC_WITHOUT_HEAD(one_thread);
ATF_TC_BODY(one_thread, tc)
{
	struct p9_options o = { .threads = 1 };
	struct world w;
	struct client c;
	uint8_t status;

	begin(&w, &c, &o);
	locked_file(&c);
	ATF_REQUIRE_EQ(0, c_lock(&c, 2, P9_LOCK_WRLCK, P9_LOCK_BLOCK, 0, 0,
	    9, &status));
	ATF_CHECK_EQ(P9_LOCK_BLOCKED, status);
	end(&w, &c);
}

/* A change that takes as long as a person thinks it over. */
struct held {
	pthread_mutex_t	lock;
	pthread_cond_t	cond;
	bool		begun;
	bool		may_go;
};

static void
hold_change(void *arg, const struct share_change *ch)
{
	struct held *h = arg;

	if (ch->kind != SHARE_CH_CREATE || strcmp(ch->path, "held") != 0)
		return;
	pthread_mutex_lock(&h->lock);
	h->begun = true;
	pthread_cond_broadcast(&h->cond);
	while (!h->may_go)
		pthread_cond_wait(&h->cond, &h->lock);
	pthread_mutex_unlock(&h->lock);
}

/*
 * Whether a request is done by the thread that has read it or not: while it
 * is held up, others are served, and its Tflush is answered after it.
 */
ATF_TC_WITHOUT_HEAD(held_up);
ATF_TC_BODY(held_up, tc)
{
	struct held h = { .lock = PTHREAD_MUTEX_INITIALIZER,
	    .cond = PTHREAD_COND_INITIALIZER };
	struct share_options so = { .change = hold_change, .change_arg = &h };
	struct p9_msg r, t = { .type = P9_TMKDIR, .tag = 700,
	    .tmkdir = { 5, str("held"), 0755, 0 } };
	struct world w;
	struct client c;

	world_open(&w, &so, false);
	hello(&c, &w, NULL);
	must_create(&c, 1, "f", "x");
	ATF_REQUIRE_EQ(0, c_mkdir(&c, ROOT, "d", 0755));
	ATF_REQUIRE_EQ(0, c_walk(&c, ROOT, 5, "", NULL));
	for (int i = 0; i < 40; i++) {
		h.begun = h.may_go = false;
		send_msg(&c, &t);
		pthread_mutex_lock(&h.lock);
		while (!h.begun)
			pthread_cond_wait(&h.cond, &h.lock);
		pthread_mutex_unlock(&h.lock);
		send_flush(&c, 701, 700);
		for (int j = 0; j < 3; j++)
			ATF_REQUIRE_EQ(0, c_getattr(&c, 1, 0, &r));
		pthread_mutex_lock(&h.lock);
		h.may_go = true;
		pthread_cond_broadcast(&h.cond);
		pthread_mutex_unlock(&h.lock);
		expect(&c, P9_RMKDIR, 700);
		expect(&c, P9_RFLUSH, 701);
		ATF_REQUIRE_EQ(0, c_unlink(&c, ROOT, "held",
		    P9_AT_REMOVEDIR));
	}
	end(&w, &c);
}

/* A client that does not take its replies is not read from. */
ATF_TC_WITHOUT_HEAD(back_pressure);
ATF_TC_BODY(back_pressure, tc)
{
	struct p9_options o = { .threads = 4, .waiters = 2 };
	struct world w;
	struct client c;
	struct p9_msg r, t = { .type = P9_TREAD };
	struct p9_stats st;
	int fd;

	begin(&w, &c, &o);
	must_create(&c, 1, "f", "");
	fd = openat(w.dir, "f", O_RDWR);
	ATF_REQUIRE(fd != -1 && ftruncate(fd, 8 << 20) == 0);
	close(fd);
	t.tread.fid = 1;
	t.tread.count = 1 << 20;
	/* No more than the socket takes while the server does not read. */
	for (t.tag = 0; t.tag < 200; t.tag++)
		send_msg(&c, &t);
	usleep(200000);
	p9_stats(c.p9, &st);
	ATF_CHECK_MSG(st.in_flight <= 6, "%u in flight", st.in_flight);
	ATF_CHECK_MSG(st.out_bytes < 16 << 20, "%ju bytes out",
	    (uintmax_t)st.out_bytes);
	for (int i = 0; i < 200; i++) {
		ATF_REQUIRE(recv_msg(&c, &r));
		ATF_REQUIRE_EQ(P9_RREAD, r.type);
		ATF_REQUIRE_EQ(1 << 20, r.rread.data.len);
	}
	end(&w, &c);
}

ATF_TC_WITHOUT_HEAD(stop);
ATF_TC_BODY(stop, tc)
{
	struct world w;
	struct client c;
	struct p9_msg r;

	begin(&w, &c, NULL);
	locked_file(&c);
	send_wait(&c, 600, 2, 2);
	/* What is in flight is answered, then comes the end. */
	p9_stop(c.p9, false);
	ATF_REQUIRE(recv_msg(&c, &r));
	ATF_CHECK(r.tag == 600 && r.type == P9_RLERROR);
	ATF_CHECK_EQ(L_EINTR, r.rlerror.ecode);
	ATF_CHECK(!recv_msg(&c, &r));
	end(&w, &c);
}

ATF_TC_WITHOUT_HEAD(stop_now);
ATF_TC_BODY(stop_now, tc)
{
	struct world w;
	struct client c;
	struct p9_msg t = { .type = P9_TREAD };
	int fd;

	begin(&w, &c, NULL);
	must_create(&c, 1, "f", "");
	fd = openat(w.dir, "f", O_RDWR);
	ATF_REQUIRE(ftruncate(fd, 8 << 20) == 0);
	close(fd);
	t.tread.fid = 1;
	t.tread.count = 4 << 20;
	for (t.tag = 0; t.tag < 20; t.tag++)
		send_msg(&c, &t);
	usleep(50000);
	/* All of its threads want to write and can't. */
	p9_stop(c.p9, true);
	end(&w, &c);
}

static void *
serve(void *arg)
{
	struct client *c = arg;

	c->result = p9_serve(c->p9, &c->error);
	return (NULL);
}

/* A pair of pipes, which know no shutdown. */
ATF_TC_WITHOUT_HEAD(pipes);
ATF_TC_BODY(pipes, tc)
{
	struct p9_msg t = { .type = P9_TVERSION, .tag = P9_NOTAG,
	    .version = { 65536, str(P9_VERSION) } };
	struct p9_stream st;
	struct co_error e;
	struct world w;
	struct client c = { 0 };
	int to[2], from[2];
	uint8_t buf[64];
	size_t len;

	signal(SIGPIPE, SIG_IGN);
	world_open(&w, NULL, false);
	for (int i = 0; i < 2; i++) {
		ATF_REQUIRE(pipe(to) == 0 && pipe(from) == 0);
		ATF_REQUIRE(p9_stream_fd(to[0], from[1], &st, &e) == 0);
		ATF_REQUIRE(p9_new(w.share, NULL, &st, &c.p9, &e) == 0);
		ATF_REQUIRE(pthread_create(&c.thread, NULL, serve, &c) == 0);
		ATF_REQUIRE(p9_encode(&t, buf, sizeof(buf), &len) == 0);
		ATF_REQUIRE(write(to[1], buf, len) == (ssize_t)len);
		ATF_REQUIRE(read(from[0], buf, len) == (ssize_t)len);
		ATF_CHECK_EQ(P9_RVERSION, buf[4]);
		/* Ended by us, then by the other side. */
		if (i == 0)
			p9_stop(c.p9, false);
		else
			close(to[1]);
		ATF_REQUIRE(pthread_join(c.thread, NULL) == 0);
		ATF_CHECK_EQ(0, c.result);
		p9_free(c.p9);
		if (i == 0)
			close(to[1]);
		close(from[0]);
	}
	world_close(&w);
}

ATF_TC_WITHOUT_HEAD(tcp);
ATF_TC_BODY(tcp, tc)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
	    .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t slen = sizeof(sin);
	struct p9_stream st;
	struct p9_msg r;
	struct co_error e;
	struct world w;
	struct client c = { 0 };
	int lfd, fd;

	world_open(&w, NULL, false);
	lfd = socket(AF_INET, SOCK_STREAM, 0);
	ATF_REQUIRE(bind(lfd, (struct sockaddr *)&sin, sizeof(sin)) == 0 &&
	    listen(lfd, 1) == 0 &&
	    getsockname(lfd, (struct sockaddr *)&sin, &slen) == 0);
	c.fd = socket(AF_INET, SOCK_STREAM, 0);
	ATF_REQUIRE(connect(c.fd, (struct sockaddr *)&sin, slen) == 0);
	fd = accept(lfd, NULL, NULL);
	ATF_REQUIRE(fd != -1);
	close(lfd);
	c.out = malloc(P9_MSIZE_MAX + 64);
	c.in = malloc(P9_MSIZE_MAX + 64);
	ATF_REQUIRE(p9_stream_fd(fd, fd, &st, &e) == 0);
	ATF_REQUIRE(p9_new(w.share, NULL, &st, &c.p9, &e) == 0);
	ATF_REQUIRE(pthread_create(&c.thread, NULL, serve, &c) == 0);
	ATF_REQUIRE_EQ(0, c_version(&c, 65536, P9_VERSION));
	ATF_REQUIRE_EQ(0, c_attach(&c, ROOT, 0, ""));
	ATF_REQUIRE_EQ(0, c_getattr(&c, ROOT, 0, &r));
	end(&w, &c);
}

/* One of several threads that use one share, each by its connection. */
struct storm {
	struct world	*w;
	pthread_t	 thread;
	uint32_t	 number;
};

static void
storm_round(struct client *c, uint32_t number, uint32_t i)
{
	char name[32], other[32];
	struct p9_msg r;
	uint32_t n = 5;

	snprintf(name, sizeof(name), "n%u", (number + i) % 7);
	snprintf(other, sizeof(other), "n%u", (number * 3 + i) % 7);
	if (c_walk(c, ROOT, 1, "", NULL) == 0) {
		if (c_create(c, 1, name, P9_O_RDWR | P9_O_CREATE, 0644) == 0) {
			c_write(c, 1, 0, "hello", &n);
			c_getattr(c, 1, P9_GETATTR_ALL, &r);
		}
		ATF_REQUIRE_EQ(0, c_clunk(c, 1));
	}
	c_rename(c, ROOT, name, ROOT, other);
	if (c_walk(c, ROOT, 2, other, NULL) == 0) {
		c_open(c, 2, P9_O_RDONLY);
		n = 5;
		c_read(c, 2, 0, name, &n);
		if (i % 2)
			c_remove(c, 2);
		else
			ATF_REQUIRE_EQ(0, c_clunk(c, 2));
	}
	c_mkdir(c, ROOT, other, 0755);
	c_unlink(c, ROOT, other, P9_AT_REMOVEDIR);
}

static void *
storm(void *arg)
{
	struct storm *s = arg;
	struct client c;

	hello(&c, s->w, NULL);
	for (uint32_t i = 0; i < 300; i++)
		storm_round(&c, s->number, i);
	client_close(&c);
	return (NULL);
}

ATF_TC_WITHOUT_HEAD(connections);
ATF_TC_BODY(connections, tc)
{
	struct storm s[6];
	struct world w;

	world_open(&w, NULL, false);
	for (uint32_t i = 0; i < 6; i++) {
		s[i] = (struct storm){ .w = &w, .number = i };
		ATF_REQUIRE(pthread_create(&s[i].thread, NULL, storm,
		    &s[i]) == 0);
	}
	for (uint32_t i = 0; i < 6; i++)
		ATF_REQUIRE(pthread_join(s[i].thread, NULL) == 0);
	world_close(&w);
}

/*
 * One connection, all of its threads on the same few fids: opened, walked,
 * clunked and used at the same time.
 */
ATF_TC_WITHOUT_HEAD(same_fids);
ATF_TC_BODY(same_fids, tc)
{
	static const uint8_t types[] = { P9_TLOPEN, P9_TWALK, P9_TCLUNK,
	    P9_TGETATTR, P9_TREAD, P9_TXATTRCREATE, P9_TREMOVE, P9_TWALK };
	struct world w;
	struct client c;
	struct p9_msg r, t;
	uint64_t seed = 4711;

	begin(&w, &c, NULL);
	must_create(&c, 9, "f", "content");
	for (int round = 0; round < 100; round++) {
		for (uint16_t tag = 0; tag < 64; tag++) {
			seed = seed * 6364136223846793005 + 1442695040888963407;
			t = (struct p9_msg){ .tag = tag,
			    .type = types[seed >> 40 & 7] };
			/* The fid is first in all of these. */
			t.tclunk.fid = 1 + (uint32_t)(seed >> 50 & 1);
			if (t.type == P9_TWALK) {
				t.twalk.fid = ROOT;
				t.twalk.newfid = 1 + (uint32_t)(seed >> 50 &
				    1);
				t.twalk.wname.n = 1;
				t.twalk.wname.name[0] = str("f");
			} else if (t.type == P9_TREAD)
				t.tread.count = 4;
			else if (t.type == P9_TXATTRCREATE)
				t.txattrcreate.name = str("user.x");
			send_msg(&c, &t);
		}
		for (int i = 0; i < 64; i++)
			ATF_REQUIRE(recv_msg(&c, &r));
		must_create(&c, 10, "f", "content");
		ATF_REQUIRE_EQ(0, c_clunk(&c, 10));
	}
	end(&w, &c);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, pipeline);
	ATF_TP_ADD_TC(tp, fragments);
	ATF_TP_ADD_TC(tp, out_of_order);
	ATF_TP_ADD_TC(tp, flush);
	ATF_TP_ADD_TC(tp, flush_race);
	ATF_TP_ADD_TC(tp, flush_twice);
	ATF_TP_ADD_TC(tp, duplicate_tag);
	ATF_TP_ADD_TC(tp, clunk_ends_wait);
	ATF_TP_ADD_TC(tp, version_ends_wait);
	ATF_TP_ADD_TC(tp, hangup_ends_wait);
	ATF_TP_ADD_TC(tp, many_waits);
	ATF_TP_ADD_TC(tp, one_thread);
	ATF_TP_ADD_TC(tp, held_up);
	ATF_TP_ADD_TC(tp, back_pressure);
	ATF_TP_ADD_TC(tp, stop);
	ATF_TP_ADD_TC(tp, stop_now);
	ATF_TP_ADD_TC(tp, pipes);
	ATF_TP_ADD_TC(tp, tcp);
	ATF_TP_ADD_TC(tp, connections);
	ATF_TP_ADD_TC(tp, same_fids);
	return (atf_no_error());
}
