/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The codec alone: bytes written down by hand from the protocol's documents,
 * round trips of every message with random contents, and every way to cut
 * one short.
 */

#include <atf-c.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "p9_wire.h"

/* A message and its bytes.  Strings are "name", "target" and so on. */
struct golden {
	struct p9_msg	 m;
	size_t		 len;
	const char	*bytes;
};

#define	S(s)		{ sizeof(s) - 1, s }
#define	BYTES(s)	sizeof(s) - 1, s

static const struct golden golden[] = {
	{ { .type = P9_TVERSION, .tag = P9_NOTAG,
	    .version = { 0x00010203, S("9P2000.L") } },
	    BYTES("\x15\0\0\0\x64\xff\xff\x03\x02\x01\0\x08\0" "9P2000.L") },
	{ { .type = P9_RVERSION, .tag = P9_NOTAG,
	    .version = { 8192, S("unknown") } },
	    BYTES("\x14\0\0\0\x65\xff\xff\0\x20\0\0\x07\0unknown") },
	{ { .type = P9_TATTACH, .tag = 1, .tattach = { 7, P9_NOFID,
	    S("me"), S("/x"), 1000 } },
	    BYTES("\x1b\0\0\0\x68\x01\0\x07\0\0\0\xff\xff\xff\xff"
	    "\x02\0me\x02\0/x\xe8\x03\0\0") },
	{ { .type = P9_RATTACH, .tag = 1,
	    .rqid = { { P9_QTDIR, 0x11223344, 0x5566778899aabbcc } } },
	    BYTES("\x14\0\0\0\x69\x01\0\x80\x44\x33\x22\x11"
	    "\xcc\xbb\xaa\x99\x88\x77\x66\x55") },
	{ { .type = P9_TAUTH, .tag = 2, .tattach = { .afid = 9,
	    .uname = S("u"), .aname = S(""), .n_uname = P9_NOUID } },
	    BYTES("\x14\0\0\0\x66\x02\0\x09\0\0\0\x01\0u\0\0"
	    "\xff\xff\xff\xff") },
	{ { .type = P9_RLERROR, .tag = 3, .rlerror = { 2 } },
	    BYTES("\x0b\0\0\0\x07\x03\0\x02\0\0\0") },
	{ { .type = P9_TFLUSH, .tag = 4, .tflush = { 0x0102 } },
	    BYTES("\x09\0\0\0\x6c\x04\0\x02\x01") },
	{ { .type = P9_RFLUSH, .tag = 4 }, BYTES("\x07\0\0\0\x6d\x04\0") },
	{ { .type = P9_TWALK, .tag = 5, .twalk = { 1, 2, { 2,
	    { S("a"), S("bcd") } } } },
	    BYTES("\x19\0\0\0\x6e\x05\0\x01\0\0\0\x02\0\0\0\x02\0"
	    "\x01\0a\x03\0bcd") },
	{ { .type = P9_RWALK, .tag = 5, .rwalk = { { 1,
	    { { P9_QTSYMLINK, 1, 2 } } } } },
	    BYTES("\x16\0\0\0\x6f\x05\0\x01\0\x02\x01\0\0\0"
	    "\x02\0\0\0\0\0\0\0") },
	{ { .type = P9_TREAD, .tag = 6, .tread = { 1, 0x0102030405, 16 } },
	    BYTES("\x17\0\0\0\x74\x06\0\x01\0\0\0\x05\x04\x03\x02\x01\0\0\0"
	    "\x10\0\0\0") },
	{ { .type = P9_RREAD, .tag = 6, .rread = { { 3, "xyz" } } },
	    BYTES("\x0e\0\0\0\x75\x06\0\x03\0\0\0xyz") },
	{ { .type = P9_TWRITE, .tag = 7, .twrite = { 1, 2, { 2, "ab" } } },
	    BYTES("\x19\0\0\0\x76\x07\0\x01\0\0\0\x02\0\0\0\0\0\0\0"
	    "\x02\0\0\0ab") },
	{ { .type = P9_RWRITE, .tag = 7, .rwrite = { 2 } },
	    BYTES("\x0b\0\0\0\x77\x07\0\x02\0\0\0") },
	{ { .type = P9_TCLUNK, .tag = 8, .tclunk = { 3 } },
	    BYTES("\x0b\0\0\0\x78\x08\0\x03\0\0\0") },
	{ { .type = P9_TREMOVE, .tag = 8, .tremove = { 3 } },
	    BYTES("\x0b\0\0\0\x7a\x08\0\x03\0\0\0") },
	{ { .type = P9_TLOPEN, .tag = 9, .tlopen = { 1, P9_O_RDWR |
	    P9_O_TRUNC } },
	    BYTES("\x0f\0\0\0\x0c\x09\0\x01\0\0\0\x02\x02\0\0") },
	{ { .type = P9_RLOPEN, .tag = 9, .rlopen = { { 0, 1, 2 }, 4096 } },
	    BYTES("\x18\0\0\0\x0d\x09\0\0\x01\0\0\0\x02\0\0\0\0\0\0\0"
	    "\0\x10\0\0") },
	{ { .type = P9_TLCREATE, .tag = 10, .tlcreate = { 1, S("f"), 0x42,
	    0644, 5 } },
	    BYTES("\x1a\0\0\0\x0e\x0a\0\x01\0\0\0\x01\0f\x42\0\0\0"
	    "\xa4\x01\0\0\x05\0\0\0") },
	{ { .type = P9_TSYMLINK, .tag = 11, .tsymlink = { 1, S("l"),
	    S("to"), 5 } },
	    BYTES("\x16\0\0\0\x10\x0b\0\x01\0\0\0\x01\0l\x02\0to"
	    "\x05\0\0\0") },
	{ { .type = P9_TMKNOD, .tag = 12, .tmknod = { 1, S("n"), 010644, 8,
	    1, 5 } },
	    BYTES("\x1e\0\0\0\x12\x0c\0\x01\0\0\0\x01\0n\xa4\x11\0\0"
	    "\x08\0\0\0\x01\0\0\0\x05\0\0\0") },
	{ { .type = P9_TRENAME, .tag = 13, .trename = { 1, 2, S("n") } },
	    BYTES("\x12\0\0\0\x14\x0d\0\x01\0\0\0\x02\0\0\0\x01\0n") },
	{ { .type = P9_TREADLINK, .tag = 14, .treadlink = { 1 } },
	    BYTES("\x0b\0\0\0\x16\x0e\0\x01\0\0\0") },
	{ { .type = P9_RREADLINK, .tag = 14, .rreadlink = { S("/etc") } },
	    BYTES("\x0d\0\0\0\x17\x0e\0\x04\0/etc") },
	{ { .type = P9_TGETATTR, .tag = 15, .tgetattr = { 1, 0x7ff } },
	    BYTES("\x13\0\0\0\x18\x0f\0\x01\0\0\0\xff\x07\0\0\0\0\0\0") },
	{ { .type = P9_TXATTRWALK, .tag = 16, .txattrwalk = { 1, 2,
	    S("user.a") } },
	    BYTES("\x17\0\0\0\x1e\x10\0\x01\0\0\0\x02\0\0\0\x06\0user.a") },
	{ { .type = P9_RXATTRWALK, .tag = 16, .rxattrwalk = { 258 } },
	    BYTES("\x0f\0\0\0\x1f\x10\0\x02\x01\0\0\0\0\0\0") },
	{ { .type = P9_TXATTRCREATE, .tag = 17, .txattrcreate = { 1,
	    S("user.a"), 3, 1 } },
	    BYTES("\x1f\0\0\0\x20\x11\0\x01\0\0\0\x06\0user.a"
	    "\x03\0\0\0\0\0\0\0\x01\0\0\0") },
	{ { .type = P9_TREADDIR, .tag = 18, .tread = { 1, 2, 3 } },
	    BYTES("\x17\0\0\0\x28\x12\0\x01\0\0\0\x02\0\0\0\0\0\0\0"
	    "\x03\0\0\0") },
	{ { .type = P9_TFSYNC, .tag = 19, .tfsync = { 1, 1 } },
	    BYTES("\x0f\0\0\0\x32\x13\0\x01\0\0\0\x01\0\0\0") },
	{ { .type = P9_TLOCK, .tag = 20, .tlock = { 1, 1, 1, 2, 3, 4,
	    S("h") } },
	    BYTES("\x27\0\0\0\x34\x14\0\x01\0\0\0\x01\x01\0\0\0"
	    "\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x04\0\0\0\x01\0h") },
	{ { .type = P9_RLOCK, .tag = 20, .rlock = { 1 } },
	    BYTES("\x08\0\0\0\x35\x14\0\x01") },
	{ { .type = P9_TGETLOCK, .tag = 21, .getlock = { 1, 1, 2, 3, 4,
	    S("h") } },
	    BYTES("\x23\0\0\0\x36\x15\0\x01\0\0\0\x01"
	    "\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x04\0\0\0\x01\0h") },
	{ { .type = P9_RGETLOCK, .tag = 21, .getlock = { 0, 2, 2, 3, 4,
	    S("h") } },
	    BYTES("\x1f\0\0\0\x37\x15\0\x02"
	    "\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x04\0\0\0\x01\0h") },
	{ { .type = P9_TLINK, .tag = 22, .tlink = { 1, 2, S("n") } },
	    BYTES("\x12\0\0\0\x46\x16\0\x01\0\0\0\x02\0\0\0\x01\0n") },
	{ { .type = P9_TMKDIR, .tag = 23, .tmkdir = { 1, S("d"), 0755, 5 } },
	    BYTES("\x16\0\0\0\x48\x17\0\x01\0\0\0\x01\0d\xed\x01\0\0"
	    "\x05\0\0\0") },
	{ { .type = P9_TRENAMEAT, .tag = 24, .trenameat = { 1, S("a"), 2,
	    S("b") } },
	    BYTES("\x15\0\0\0\x4a\x18\0\x01\0\0\0\x01\0a\x02\0\0\0"
	    "\x01\0b") },
	{ { .type = P9_TUNLINKAT, .tag = 25, .tunlinkat = { 1, S("a"),
	    P9_AT_REMOVEDIR } },
	    BYTES("\x12\0\0\0\x4c\x19\0\x01\0\0\0\x01\0a\0\x02\0\0") },
	{ { .type = P9_TSTATFS, .tag = 26, .tstatfs = { 1 } },
	    BYTES("\x0b\0\0\0\x08\x1a\0\x01\0\0\0") },
	{ { .type = P9_RSTATFS, .tag = 26, .rstatfs = { 1, 2, 3, 4, 5, 6, 7,
	    8, 9 } },
	    BYTES("\x43\0\0\0\x09\x1a\0\x01\0\0\0\x02\0\0\0"
	    "\x03\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0"
	    "\x06\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0"
	    "\x09\0\0\0") },
	{ { .type = P9_TSETATTR, .tag = 27, .tsetattr = { 1, 0x1ff, 0644, 2,
	    3, 4, 5, 6, 7, 8 } },
	    BYTES("\x43\0\0\0\x1a\x1b\0\x01\0\0\0\xff\x01\0\0\xa4\x01\0\0"
	    "\x02\0\0\0\x03\0\0\0\x04\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0"
	    "\x06\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0") },
};

ATF_TC_WITHOUT_HEAD(vectors);
ATF_TC_BODY(vectors, tc)
{
	uint8_t buf[256], again[256];
	struct p9_msg m;
	size_t len;

	for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
		const struct golden *g = &golden[i];

		ATF_REQUIRE_EQ(0, p9_encode(&g->m, buf, sizeof(buf), &len));
		ATF_CHECK_EQ_MSG(g->len, len, "type %u: %zu bytes, not %zu",
		    g->m.type, len, g->len);
		ATF_CHECK_MSG(memcmp(buf, g->bytes, len) == 0,
		    "type %u: other bytes", g->m.type);
		memset(&m, 0xa5, sizeof(m));
		ATF_REQUIRE_EQ_MSG(0, p9_decode(g->bytes, g->len, &m),
		    "type %u is not decoded", g->m.type);
		ATF_REQUIRE_EQ(0, p9_encode(&m, again, sizeof(again), &len));
		ATF_CHECK(len == g->len && memcmp(again, g->bytes, len) == 0);
	}
}

ATF_TC_WITHOUT_HEAD(getattr);
ATF_TC_BODY(getattr, tc)
{
	struct p9_msg m = { .type = P9_RGETATTR, .tag = 1, .rgetattr = {
	    .valid = 0x7ff, .qid = { P9_QTDIR, 2, 3 }, .mode = 040755,
	    .uid = 5, .gid = 6, .nlink = 7, .rdev = 8, .size = 9,
	    .blksize = 10, .blocks = 11, .atime_sec = 12, .atime_nsec = 13,
	    .mtime_sec = 14, .mtime_nsec = 15, .ctime_sec = 16,
	    .ctime_nsec = 17, .btime_sec = 18, .btime_nsec = 19, .gen = 20,
	    .data_version = 21 } };
	uint8_t buf[256];
	size_t len;

	/* Header, valid, qid, three short and fifteen long numbers. */
	ATF_REQUIRE_EQ(0, p9_encode(&m, buf, sizeof(buf), &len));
	ATF_CHECK_EQ(7 + 8 + 13 + 12 + 15 * 8, len);
	ATF_CHECK_EQ(0xff, buf[7]);
	ATF_CHECK_EQ(P9_QTDIR, buf[15]);
	ATF_CHECK_EQ(0xed, buf[28]);
	ATF_CHECK_EQ(0x41, buf[29]);
	ATF_CHECK_EQ(5, buf[32]);
	for (uint8_t i = 0; i < 15; i++)
		ATF_CHECK_EQ(7 + i, buf[40 + 8 * i]);
}

/* Cut at every place, with the size made to agree, and one byte too long. */
ATF_TC_WITHOUT_HEAD(cut);
ATF_TC_BODY(cut, tc)
{
	struct p9_msg m;
	uint8_t *buf;

	for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
		const struct golden *g = &golden[i];

		for (size_t len = 0; len <= g->len + 1; len++) {
			/* Its own block, so that a checker sees the end. */
			buf = calloc(1, len + 1);
			ATF_REQUIRE(buf != NULL);
			memcpy(buf, g->bytes, len < g->len ? len : g->len);
			if (len >= 4)
				buf[0] = (uint8_t)len;
			buf = realloc(buf, len == 0 ? 1 : len);
			ATF_REQUIRE(buf != NULL);
			if (len == g->len || (g->m.type == P9_TFSYNC &&
			    len == 11))
				ATF_CHECK_EQ(0, p9_decode(buf, len, &m));
			else
				ATF_CHECK_EQ_MSG(EINVAL, p9_decode(buf, len,
				    &m), "type %u of %zu bytes", g->m.type,
				    len);
			free(buf);
		}
	}
}

ATF_TC_WITHOUT_HEAD(types);
ATF_TC_BODY(types, tc)
{
	static const uint8_t unknown[] = { 0, 6, 10, 11, 28, 98, 106, 107,
	    112, 114, 124, 126, 128, 200, 255 };
	uint8_t buf[7] = { 7 };
	struct p9_msg m;
	size_t len;

	for (size_t i = 0; i < sizeof(unknown); i++) {
		buf[4] = unknown[i];
		ATF_CHECK_EQ_MSG(EOPNOTSUPP, p9_decode(buf, 7, &m),
		    "type %u", unknown[i]);
		m.type = unknown[i];
		ATF_CHECK_EQ(EOPNOTSUPP, p9_encode(&m, buf, 7, &len));
	}
}

ATF_TC_WITHOUT_HEAD(size_disagrees);
ATF_TC_BODY(size_disagrees, tc)
{
	uint8_t buf[11] = { 11, 0, 0, 0, P9_TCLUNK, 1, 0, 9, 0, 0, 0 };
	struct p9_msg m;

	ATF_CHECK_EQ(0, p9_decode(buf, 11, &m));
	buf[0] = 12;
	ATF_CHECK_EQ(EINVAL, p9_decode(buf, 11, &m));
	ATF_CHECK_EQ(1, m.tag);
	buf[0] = 10;
	ATF_CHECK_EQ(EINVAL, p9_decode(buf, 11, &m));
	buf[0] = 11;
	buf[3] = 1;
	ATF_CHECK_EQ(EINVAL, p9_decode(buf, 11, &m));
}

ATF_TC_WITHOUT_HEAD(walk_names);
ATF_TC_BODY(walk_names, tc)
{
	uint8_t buf[128] = { 0, 0, 0, 0, P9_TWALK };
	struct p9_msg m;

	for (uint8_t n = 0; n < 20; n++) {
		buf[0] = (uint8_t)(17 + 2 * n);
		buf[15] = n;
		ATF_CHECK_EQ_MSG(n <= 16 ? 0 : EINVAL,
		    p9_decode(buf, buf[0], &m), "%u names", n);
	}
	buf[15] = 0;
	buf[16] = 1;
	ATF_CHECK_EQ(EINVAL, p9_decode(buf, 17, &m));
}

ATF_TC_WITHOUT_HEAD(no_room);
ATF_TC_BODY(no_room, tc)
{
	uint8_t *buf;
	size_t len;

	for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++)
		for (size_t cap = 0; cap < golden[i].len; cap++) {
			buf = malloc(cap == 0 ? 1 : cap);
			ATF_REQUIRE(buf != NULL);
			ATF_CHECK_EQ(EMSGSIZE, p9_encode(&golden[i].m, buf,
			    cap, &len));
			free(buf);
		}
}

ATF_TC_WITHOUT_HEAD(in_place);
ATF_TC_BODY(in_place, tc)
{
	uint8_t buf[64];
	struct p9_msg m = { .type = P9_RREAD,
	    .rread = { { 4, buf + P9_RREAD_DATA } } };
	size_t len;

	memcpy(buf + P9_RREAD_DATA, "data", 4);
	ATF_REQUIRE_EQ(0, p9_encode(&m, buf, sizeof(buf), &len));
	ATF_CHECK_EQ(P9_RREAD_DATA + 4, len);
	ATF_CHECK(memcmp(buf + P9_RREAD_DATA, "data", 4) == 0);
}

ATF_TC_WITHOUT_HEAD(dirent);
ATF_TC_BODY(dirent, tc)
{
	struct p9_dirent d = { { P9_QTDIR, 0, 0x1122 }, 0x33445566, 4,
	    S("name") }, e;
	uint8_t buf[28];

	for (size_t cap = 0; cap < sizeof(buf); cap++)
		ATF_CHECK_EQ(0, p9_dirent_put(&d, buf, cap));
	ATF_REQUIRE_EQ(28, p9_dirent_put(&d, buf, sizeof(buf)));
	ATF_CHECK(memcmp(buf, "\x80\0\0\0\0\x22\x11\0\0\0\0\0\0"
	    "\x66\x55\x44\x33\0\0\0\0\x04\x04\0name", 28) == 0);
	for (size_t len = 0; len < sizeof(buf); len++)
		ATF_CHECK_EQ(0, p9_dirent_get(buf, len, &e));
	ATF_REQUIRE_EQ(28, p9_dirent_get(buf, sizeof(buf), &e));
	ATF_CHECK(e.offset == d.offset && e.qid.path == d.qid.path &&
	    e.name.len == 4 && memcmp(e.name.s, "name", 4) == 0);
}

/* Random bytes decode to something that encodes to the same, or not at all. */
ATF_TC_WITHOUT_HEAD(random_bytes);
ATF_TC_BODY(random_bytes, tc)
{
	uint8_t buf[96], again[96];
	struct p9_msg m;
	size_t len, out, good = 0;
	uint64_t seed = 88172645463325252;

	for (int i = 0; i < 300000; i++) {
		len = 7 + seed % (sizeof(buf) - 7);
		for (size_t j = 0; j < len; j++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			/* Mostly small numbers, so that lengths fit. */
			buf[j] = (uint8_t)(seed >> 40 & 7 ? seed >> 50 & 3 :
			    seed);
		}
		buf[0] = (uint8_t)len;
		buf[1] = buf[2] = buf[3] = 0;
		buf[4] = (uint8_t)(seed >> 20 & 127);
		if (p9_decode(buf, len, &m) != 0)
			continue;
		good++;
		ATF_REQUIRE_EQ(0, p9_encode(&m, again, sizeof(again), &out));
		if (m.type == P9_TFSYNC && len == 11)
			continue;
		ATF_REQUIRE_EQ(len, out);
		ATF_REQUIRE(memcmp(buf, again, len) == 0);
	}
	ATF_CHECK_MSG(good > 100, "only %zu were good", good);
}

ATF_TC_WITHOUT_HEAD(numbers);
ATF_TC_BODY(numbers, tc)
{
	static const struct {
		int		host;
		uint32_t	wire;
	} known[] = {
		{ EPERM, 1 }, { ENOENT, 2 }, { EAGAIN, 11 }, { EEXIST, 17 },
		{ EINVAL, 22 }, { EDEADLK, 35 }, { ENAMETOOLONG, 36 },
		{ ENOSYS, 38 }, { ENOTEMPTY, 39 }, { ELOOP, 40 },
		{ EOVERFLOW, 75 }, { EMSGSIZE, 90 }, { EOPNOTSUPP, 95 },
		{ ENOTSUP, 95 }, { ESTALE, 116 }, { EDQUOT, 122 },
#ifdef ENOATTR
		{ ENOATTR, 61 },
#else
		{ ENODATA, 61 },
#endif
		{ 0x7fff, 5 }
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		ATF_CHECK_EQ_MSG(known[i].wire, p9_errno(known[i].host),
		    "%d becomes %u", known[i].host, p9_errno(known[i].host));
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, vectors);
	ATF_TP_ADD_TC(tp, getattr);
	ATF_TP_ADD_TC(tp, cut);
	ATF_TP_ADD_TC(tp, types);
	ATF_TP_ADD_TC(tp, size_disagrees);
	ATF_TP_ADD_TC(tp, walk_names);
	ATF_TP_ADD_TC(tp, no_room);
	ATF_TP_ADD_TC(tp, in_place);
	ATF_TP_ADD_TC(tp, dirent);
	ATF_TP_ADD_TC(tp, random_bytes);
	ATF_TP_ADD_TC(tp, numbers);
	return (atf_no_error());
}
