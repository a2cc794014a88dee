/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The codec, without a kernel: requests made by hand, well and badly.
 */

#include <sys/stat.h>
#include <sys/uio.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "coppice.h"
#include "fused.h"
#include "share.h"

#include "../../lib/libfused/wire.h"

#define	ROOM	65536

struct client {
	struct share	*s;
	struct fused	*f;
	uint64_t	 unique;
	union {
		struct fw_in_header	h;
		char			bytes[ROOM];
	} req;
	size_t		 len;
	union {
		struct fw_out_header	h;
		char			bytes[ROOM];
	} rep;
	struct fused_call call;
};

static void
begin(struct client *c, uint32_t opcode, uint64_t node)
{

	memset(&c->req.h, 0, sizeof(c->req.h));
	c->req.h.opcode = opcode;
	c->req.h.nodeid = node;
	c->req.h.unique = ++c->unique;
	c->len = sizeof(c->req.h);
}

static void
add(struct client *c, const void *p, size_t len)
{

	memcpy(c->req.bytes + c->len, p, len);
	c->len += len;
}

/* Send what was begun; the errno of the reply, or -1 for none. */
static int
go(struct client *c)
{

	c->req.h.len = (uint32_t)c->len;
	memset(&c->call, 0, sizeof(c->call));
	c->call.req = c->req.bytes;
	c->call.reqlen = c->len;
	c->call.rep = c->rep.bytes;
	c->call.repsize = sizeof(c->rep);
	fused_handle(c->f, &c->call);
	if (c->call.replen == 0)
		return (-1);
	ATF_REQUIRE(c->call.replen >= sizeof(c->rep.h));
	ATF_REQUIRE_EQ(c->call.replen, c->rep.h.len);
	ATF_REQUIRE_EQ(c->unique, c->rep.h.unique);
	return (-c->rep.h.error);
}

static const void *
body(const struct client *c)
{

	return (c->rep.bytes + sizeof(struct fw_out_header));
}

static int
send_init(struct client *c, uint32_t major, uint32_t minor)
{
	struct fw_init_in in = { .major = major, .minor = minor,
	    .flags = UINT32_MAX, .flags2 = UINT32_MAX };

	begin(c, FW_INIT, 0);
	add(c, &in, sizeof(in));
	return (go(c));
}

static void
client_raw(struct client *c, enum fused_cache cache)
{
	struct fused_options o = { .cache = cache };
	struct co_error e;
	int fd;

	memset(c, 0, sizeof(*c));
	ATF_REQUIRE(mkdir("in", 0755) == 0 || errno == EEXIST);
	ATF_REQUIRE((fd = open("in", O_RDONLY | O_DIRECTORY)) != -1);
	ATF_REQUIRE(share_open(fd, NULL, NULL, &c->s, &e) == 0);
	ATF_REQUIRE(fused_new(c->s, &o, &c->f, &e) == 0);
	(void)close(fd);
}

static void
client_open(struct client *c)
{

	client_raw(c, FUSED_NONE);
	ATF_REQUIRE_EQ(0, send_init(c, 7, 38));
}

static void
client_close(struct client *c)
{

	fused_free(c->f);
	share_close(c->s);
}

static uint64_t
create(struct client *c, const char *name, uint64_t *fh)
{
	struct fw_create_in in = { .flags = O_RDWR, .mode = S_IFREG | 0644 };
	struct fw_entry_out eo;
	struct fw_open_out oo;

	begin(c, FW_CREATE, FW_ROOT);
	add(c, &in, sizeof(in));
	add(c, name, strlen(name) + 1);
	ATF_REQUIRE_EQ(0, go(c));
	memcpy(&eo, body(c), sizeof(eo));
	memcpy(&oo, (const char *)body(c) + sizeof(eo), sizeof(oo));
	*fh = oo.fh;
	return (eo.nodeid);
}

static int
lookup(struct client *c, const char *name)
{

	begin(c, FW_LOOKUP, FW_ROOT);
	add(c, name, strlen(name) + 1);
	return (go(c));
}

ATF_TC_WITHOUT_HEAD(negotiation);
ATF_TC_BODY(negotiation, tc)
{
	struct fw_init_out out;
	struct client c;

	client_raw(&c, FUSED_NONE);
	ATF_CHECK_EQ(EIO, lookup(&c, "a"));
	ATF_CHECK_EQ(EPROTO, send_init(&c, 6, 38));
	ATF_CHECK_EQ(EPROTO, send_init(&c, 7, 30));
	ATF_CHECK_EQ(EIO, lookup(&c, "a"));
	ATF_CHECK_EQ(0, send_init(&c, 8, 0));
	memcpy(&out, body(&c), sizeof(out));
	ATF_CHECK_EQ(7, out.major);
	ATF_CHECK_EQ(EIO, lookup(&c, "a"));
	ATF_CHECK_EQ(0, send_init(&c, 7, 31));
	memcpy(&out, body(&c), sizeof(out));
	ATF_CHECK_EQ(31, out.minor);
	ATF_CHECK_EQ(ENOENT, lookup(&c, "a"));
	ATF_CHECK_EQ(0, send_init(&c, 7, 45));
	memcpy(&out, body(&c), sizeof(out));
	ATF_CHECK_EQ(FW_MINOR, out.minor);
	ATF_CHECK_EQ(1U << 20, out.max_write);
	ATF_CHECK_EQ(256, out.max_pages);
	ATF_CHECK((out.flags & FW_POSIX_LOCKS) != 0);
	/* No writeback cache, ever. */
	ATF_CHECK((out.flags & (1U << 16)) == 0);
	client_close(&c);
}

ATF_TC_WITHOUT_HEAD(lengths);
ATF_TC_BODY(lengths, tc)
{
	struct fw_batch_forget_in batch = { .count = UINT32_MAX };
	struct fw_setxattr_in sx = { .size = 100 };
	struct fw_write_in wr = { .size = 100 };
	struct client c;
	uint32_t op;
	uint64_t fh;
	size_t n;

	client_open(&c);
	(void)create(&c, "a", &fh);

	/* Any operation, cut anywhere. */
	for (op = 0; op < 70; op++)
		for (n = 0; n < 120; n++) {
			if (op == FW_INIT || op == FW_DESTROY)
				continue;
			begin(&c, op, FW_ROOT);
			memset(c.req.bytes + c.len, 'x', n);
			c.len += n;
			(void)go(&c);
		}
	begin(&c, FW_LOOKUP, FW_ROOT);
	add(&c, "abc", 3);
	ATF_CHECK_EQ(EINVAL, go(&c));
	begin(&c, FW_RENAME, FW_ROOT);
	add(&c, "\1\0\0\0\0\0\0\0a\0b", 11);
	ATF_CHECK_EQ(EINVAL, go(&c));
	begin(&c, FW_BATCH_FORGET, 0);
	add(&c, &batch, sizeof(batch));
	ATF_CHECK_EQ(-1, go(&c));
	begin(&c, FW_SETXATTR, FW_ROOT);
	add(&c, &sx, sizeof(sx));
	add(&c, "user.x\0y", 8);
	ATF_CHECK_EQ(EINVAL, go(&c));
	wr.fh = fh;
	begin(&c, FW_WRITE, FW_ROOT);
	add(&c, &wr, sizeof(wr));
	add(&c, "short", 5);
	ATF_CHECK_EQ(EINVAL, go(&c));

	/* The length in the header is more, or less, than what came. */
	begin(&c, FW_LOOKUP, FW_ROOT);
	add(&c, "a", 2);
	c.req.h.len = 1000;
	c.call = (struct fused_call){ .req = c.req.bytes, .reqlen = c.len,
	    .rep = c.rep.bytes, .repsize = sizeof(c.rep) };
	fused_handle(c.f, &c.call);
	ATF_CHECK_EQ(-EINVAL, c.rep.h.error);
	c.req.h.len = 10;
	fused_handle(c.f, &c.call);
	ATF_CHECK_EQ(-EINVAL, c.rep.h.error);
	c.call.reqlen = 39;
	fused_handle(c.f, &c.call);
	ATF_CHECK_EQ(0, c.call.replen);

	/* Extensions that are longer than the request. */
	begin(&c, FW_LOOKUP, FW_ROOT);
	add(&c, "a", 2);
	c.req.h.extlen = 1;
	ATF_CHECK_EQ(EINVAL, go(&c));
	client_close(&c);
}

ATF_TC_WITHOUT_HEAD(numbers);
ATF_TC_BODY(numbers, tc)
{
	struct fw_getattr_in ga = { 0 };
	struct fw_release_in rel = { 0 };
	struct fw_forget_in fo = { .nlookup = UINT64_MAX };
	struct fw_read_in rd = { .size = 10 };
	struct fw_open_in op = { .flags = O_RDONLY };
	struct share_stats st;
	struct client c;
	uint64_t fh, node;

	client_open(&c);
	node = create(&c, "a", &fh);
	begin(&c, FW_GETATTR, 0xdeadbeef);
	add(&c, &ga, sizeof(ga));
	ATF_CHECK_EQ(ESTALE, go(&c));
	rd.fh = fh ^ 0xffffffff;
	begin(&c, FW_READ, node);
	add(&c, &rd, sizeof(rd));
	ATF_CHECK_EQ(EBADF, go(&c));
	rd.fh = node;
	begin(&c, FW_READ, node);
	add(&c, &rd, sizeof(rd));
	ATF_CHECK_EQ(EBADF, go(&c));

	/* A file is no directory, and the other way round. */
	rd.fh = fh;
	begin(&c, FW_READDIR, FW_ROOT);
	add(&c, &rd, sizeof(rd));
	ATF_CHECK_EQ(EBADF, go(&c));
	begin(&c, FW_OPENDIR, node);
	add(&c, &op, sizeof(op));
	ATF_CHECK_EQ(ENOTDIR, go(&c));
	begin(&c, FW_OPEN, FW_ROOT);
	add(&c, &op, sizeof(op));
	ATF_CHECK_EQ(EISDIR, go(&c));

	/* Forgotten too often, closed too often. */
	begin(&c, FW_FORGET, node);
	add(&c, &fo, sizeof(fo));
	ATF_CHECK_EQ(-1, go(&c));
	ATF_CHECK_EQ(-1, go(&c));
	rel.fh = fh;
	begin(&c, FW_RELEASE, node);
	add(&c, &rel, sizeof(rel));
	ATF_CHECK_EQ(0, go(&c));
	begin(&c, FW_RELEASE, node);
	add(&c, &rel, sizeof(rel));
	ATF_CHECK_EQ(EBADF, go(&c));
	begin(&c, FW_FORGET, FW_ROOT);
	add(&c, &fo, sizeof(fo));
	(void)go(&c);
	ATF_CHECK_EQ(0, lookup(&c, "a"));
	share_stats(c.s, &st);
	ATF_CHECK_EQ(2, st.nodes);
	ATF_CHECK_EQ(0, st.files);

	/* The one that was not delivered is taken back. */
	begin(&c, FW_FORGET, ((const struct fw_entry_out *)body(&c))->nodeid);
	add(&c, &fo, sizeof(fo));
	(void)go(&c);
	(void)create(&c, "b", &fh);
	fused_unsent(c.f, &c.call);
	share_stats(c.s, &st);
	ATF_CHECK_EQ(1, st.nodes);
	ATF_CHECK_EQ(0, st.files);
	client_close(&c);
}

ATF_TC_WITHOUT_HEAD(entries);
ATF_TC_BODY(entries, tc)
{
	struct fw_open_in op = { .flags = O_RDONLY };
	struct fw_read_in rd = { 0 };
	struct fw_entry_out eo;
	struct share_stats st;
	struct fw_dirent de;
	const char *p;
	struct client c;
	char name[32];
	size_t left, n;
	uint64_t fh;
	int i, total;

	client_open(&c);
	for (i = 0; i < 300; i++) {
		(void)snprintf(name, sizeof(name), "in/file-%d", i);
		(void)close(open(name, O_WRONLY | O_CREAT, 0644));
	}
	begin(&c, FW_OPENDIR, FW_ROOT);
	add(&c, &op, sizeof(op));
	ATF_REQUIRE_EQ(0, go(&c));
	memcpy(&fh, body(&c), sizeof(fh));
	rd.fh = fh;
	rd.size = 4096;
	for (total = 0;;) {
		begin(&c, FW_READDIRPLUS, FW_ROOT);
		add(&c, &rd, sizeof(rd));
		ATF_REQUIRE_EQ(0, go(&c));
		left = c.call.replen - sizeof(struct fw_out_header);
		ATF_REQUIRE(left <= rd.size);
		if (left == 0)
			break;
		/* Full pages: another entry would not have fitted. */
		for (p = body(&c); left > 0; p += n, left -= n, total++) {
			memcpy(&eo, p, sizeof(eo));
			memcpy(&de, p + sizeof(eo), sizeof(de));
			n = (sizeof(eo) + sizeof(de) + de.namelen + 7) &
			    ~(size_t)7;
			ATF_REQUIRE(n <= left);
			rd.offset = de.off;
			ATF_CHECK(p[sizeof(eo) + sizeof(de)] == '.' ?
			    eo.nodeid == 0 : eo.nodeid != 0);
		}
	}
	ATF_CHECK_EQ(302, total);
	share_stats(c.s, &st);
	ATF_CHECK_EQ(301, st.nodes);

	/* Room for nothing. */
	rd.offset = 0;
	rd.size = 10;
	begin(&c, FW_READDIR, FW_ROOT);
	add(&c, &rd, sizeof(rd));
	ATF_CHECK_EQ(0, go(&c));
	ATF_CHECK_EQ(sizeof(struct fw_out_header), c.call.replen);
	begin(&c, FW_DESTROY, 0);
	ATF_CHECK_EQ(0, go(&c));
	ATF_CHECK(fused_destroyed(c.f));
	share_stats(c.s, &st);
	ATF_CHECK_EQ(1, st.nodes);
	ATF_CHECK_EQ(0, st.dirs);
	client_close(&c);
}

/*
 * Interrupts.
 */
static int
send_lock(struct client *c, uint32_t op, uint64_t fh, uint64_t owner)
{
	struct fw_lk_in lk = { .fh = fh, .owner = owner };

	lk.lk.type = F_WRLCK;
	lk.lk.end = INT64_MAX;
	begin(c, op, FW_ROOT);
	add(c, &lk, sizeof(lk));
	return (go(c));
}

static void
send_interrupt(struct client *c, uint64_t unique)
{
	struct fw_interrupt_in in = { .unique = unique };

	begin(c, FW_INTERRUPT, 0);
	add(c, &in, sizeof(in));
	ATF_CHECK_EQ(-1, go(c));
}

struct second {
	struct client	c;
	uint64_t	fh;
	int		error;
};

static void *
wait_lock(void *arg)
{
	struct second *t = arg;

	t->error = send_lock(&t->c, FW_SETLKW, t->fh, 2);
	return (NULL);
}

ATF_TC_WITHOUT_HEAD(interrupts);
ATF_TC_BODY(interrupts, tc)
{
	static struct client c;
	static struct second t;
	struct share_stats st;
	struct timespec ts = { 0, 1000000 };
	pthread_t thread;
	uint64_t fh;
	int i;

	client_open(&c);
	(void)create(&c, "a", &fh);
	ATF_REQUIRE_EQ(0, send_lock(&c, FW_SETLK, fh, 1));
	ATF_CHECK_EQ(EAGAIN, send_lock(&c, FW_SETLK, fh, 2));
	t.c.s = c.s;
	t.c.f = c.f;
	t.c.unique = 5000;
	t.fh = fh;
	ATF_REQUIRE(pthread_create(&thread, NULL, wait_lock, &t) == 0);
	for (i = 0; i < 10000; i++) {
		share_stats(c.s, &st);
		if (st.waiters > 0)
			break;
		(void)nanosleep(&ts, NULL);
	}
	send_interrupt(&c, 4999);
	send_interrupt(&c, 5001);
	ATF_REQUIRE(pthread_join(thread, NULL) == 0);
	ATF_CHECK_EQ(EINTR, t.error);

	/* It came before its request. */
	send_interrupt(&c, 7000);
	c.unique = 6999;
	ATF_CHECK_EQ(EINTR, send_lock(&c, FW_SETLKW, fh, 2));
	client_close(&c);
}

ATF_TC_WITHOUT_HEAD(data_apart);
ATF_TC_BODY(data_apart, tc)
{
	struct fw_write_in wr = { .size = 6, .offset = 1 };
	struct fw_read_in rd = { .size = 7 };
	char a[3] = "abc", b[3] = "def", x[4], y[4];
	struct iovec out[2] = { { a, 3 }, { b, 3 } };
	struct iovec in[2] = { { x, 4 }, { y, 4 } };
	struct client c;
	uint64_t fh;

	client_open(&c);
	(void)create(&c, "a", &fh);
	wr.fh = rd.fh = fh;
	begin(&c, FW_WRITE, FW_ROOT);
	add(&c, &wr, sizeof(wr));
	c.req.h.len = (uint32_t)c.len;
	c.call = (struct fused_call){ .req = c.req.bytes, .reqlen = c.len,
	    .wdata = out, .nwdata = 2, .rep = c.rep.bytes,
	    .repsize = sizeof(c.rep) };
	fused_handle(c.f, &c.call);
	ATF_CHECK_EQ(0, c.rep.h.error);
	begin(&c, FW_READ, FW_ROOT);
	add(&c, &rd, sizeof(rd));
	c.req.h.len = (uint32_t)c.len;
	c.call = (struct fused_call){ .req = c.req.bytes, .reqlen = c.len,
	    .rdata = in, .nrdata = 2, .rep = c.rep.bytes,
	    .repsize = sizeof(c.rep) };
	fused_handle(c.f, &c.call);
	ATF_CHECK_EQ(0, c.rep.h.error);
	ATF_CHECK_EQ(7, c.call.rdatalen);
	ATF_CHECK_EQ(16 + 7, c.rep.h.len);
	ATF_CHECK(x[0] == 0 && memcmp(x + 1, "abc", 3) == 0 &&
	    memcmp(y, "def", 3) == 0);
	client_close(&c);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, negotiation);
	ATF_TP_ADD_TC(tp, lengths);
	ATF_TP_ADD_TC(tp, numbers);
	ATF_TP_ADD_TC(tp, entries);
	ATF_TP_ADD_TC(tp, interrupts);
	ATF_TP_ADD_TC(tp, data_apart);
	return (atf_no_error());
}
