/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Clients that mean no good: messages of wrong lengths, garbage, too many
 * fids, and long random sequences of requests that look right, with a watch
 * kept on what lies outside the folder.
 */

#include <sys/stat.h>

#include <atf-c.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

static uint64_t
next(uint64_t *seed)
{

	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (*seed);
}

/* Bytes after which the server hangs up, telling why. */
static void
fatal(const void *bytes, size_t len, bool version, enum co_code code)
{
	struct world w;
	struct client c;
	struct p9_msg r;

	world_open(&w, NULL, false);
	if (version)
		hello(&c, &w, NULL);
	else
		client_open(&c, &w, NULL);
	send_bytes(&c, bytes, len);
	if (code != CO_EPROTO_MALFORMED || len >= 4)
		ATF_CHECK(len < 7 || !recv_msg(&c, &r));
	ATF_CHECK_EQ(-1, client_end(&c));
	ATF_CHECK_EQ_MSG(code, c.error.code, "%s", c.error.message);
	world_close(&w);
}

ATF_TC_WITHOUT_HEAD(lengths);
ATF_TC_BODY(lengths, tc)
{

	fatal("\0\0\0\0\x64\0\0", 7, false, CO_EPROTO_MALFORMED);
	fatal("\x06\0\0\0\x64\0\0", 7, false, CO_EPROTO_MALFORMED);
	fatal("\xff\xff\xff\xff\x64\0\0", 7, false, CO_EPROTO_TOOBIG);
	fatal("\x01\x20\0\0\x64\0\0", 7, false, CO_EPROTO_TOOBIG);
	fatal("\0\0\0\0\x64\0\0", 7, true, CO_EPROTO_MALFORMED);
	fatal("\x01\0\x40\0\x76\0\0", 7, true, CO_EPROTO_TOOBIG);
	fatal("\xff\xff\xff\x7f\x76\0\0", 7, true, CO_EPROTO_TOOBIG);
	/* An end in the middle of one. */
	fatal("\x20\0", 2, true, CO_EPROTO_MALFORMED);
	fatal("\x20\0\0\0\x76", 5, true, CO_EPROTO_MALFORMED);
	fatal("\0\0\x40\0\x76", 5, true, CO_EPROTO_MALFORMED);
}

/* What is whole but wrong inside is answered, and the connection lives. */
ATF_TC_WITHOUT_HEAD(malformed);
ATF_TC_BODY(malformed, tc)
{
	static const struct {
		size_t		 len;
		const char	*bytes;
		uint32_t	 ecode;
	} bad[] = {
#define	B(s)	sizeof(s) - 1, s
		{ B("\x07\0\0\0\x78\x05\0"), L_EINVAL },
		{ B("\x0c\0\0\0\x78\x05\0\0\0\0\0\0"), L_EINVAL },
		{ B("\x11\0\0\0\x6e\x05\0\0\0\0\0\x01\0\0\0\x11\0"),
		    L_EINVAL },
		{ B("\x13\0\0\0\x6e\x05\0\0\0\0\0\x01\0\0\0\x01\0\xff\xff"),
		    L_EINVAL },
		{ B("\x17\0\0\0\x76\x05\0\0\0\0\0\0\0\0\0\0\0\0\0"
		    "\xff\xff\xff\xff"), L_EINVAL },
		{ B("\x07\0\0\0\x00\x05\0"), L_EOPNOTSUPP },
		{ B("\x07\0\0\0\x6a\x05\0"), L_EOPNOTSUPP },
		{ B("\x07\0\0\0\xff\x05\0"), L_EOPNOTSUPP },
		/* The protocol before, and replies. */
		{ B("\x0c\0\0\0\x70\x05\0\0\0\0\0\0"), L_EOPNOTSUPP },
		{ B("\x0b\0\0\0\x7c\x05\0\0\0\0\0"), L_EOPNOTSUPP },
		{ B("\x07\0\0\0\x79\x05\0"), L_EOPNOTSUPP },
		{ B("\x0b\0\0\0\x07\x05\0\x01\0\0\0"), L_EOPNOTSUPP },
	};
	struct p9_stats st;
	struct world w;
	struct client c;
	struct p9_msg r;

	world_open(&w, NULL, false);
	hello(&c, &w, NULL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		send_bytes(&c, bad[i].bytes, bad[i].len);
		ATF_REQUIRE(recv_msg(&c, &r));
		ATF_CHECK_EQ(P9_RLERROR, r.type);
		ATF_CHECK_EQ(5, r.tag);
		ATF_CHECK_EQ_MSG(bad[i].ecode, r.rlerror.ecode,
		    "case %zu: %u", i, r.rlerror.ecode);
	}
	ATF_CHECK_EQ(0, c_getattr(&c, ROOT, 0, &r));
	p9_stats(c.p9, &st);
	ATF_CHECK_EQ(10, st.malformed);
	client_close(&c);
	world_close(&w);
}

ATF_TC_WITHOUT_HEAD(fids);
ATF_TC_BODY(fids, tc)
{
	struct p9_options o = { .max_fids = 1000 };
	struct p9_stats st;
	struct world w;
	struct client c;

	world_open(&w, NULL, false);
	hello(&c, &w, &o);
	for (uint32_t i = 1; i < 1000; i++)
		ATF_REQUIRE_EQ(0, c_walk(&c, ROOT, i * 2654435761u, "",
		    NULL));
	ATF_CHECK_EQ(L_ENFILE, c_walk(&c, ROOT, 7, "", NULL));
	ATF_CHECK_EQ(L_ENFILE, c_attach(&c, 7, 0, ""));
	p9_stats(c.p9, &st);
	ATF_CHECK_EQ(1000, st.fids);
	for (uint32_t i = 1; i < 1000; i++)
		ATF_REQUIRE_EQ(0, c_clunk(&c, i * 2654435761u));
	ATF_CHECK_EQ(0, c_walk(&c, ROOT, 7, "", NULL));
	client_close(&c);
	world_close(&w);
}

ATF_TC_WITHOUT_HEAD(garbage);
ATF_TC_BODY(garbage, tc)
{
	uint64_t seed = 20261118;
	struct world w;
	struct client c;
	uint8_t buf[512];

	world_open(&w, NULL, false);
	for (int i = 0; i < 300; i++) {
		if (i % 2)
			hello(&c, &w, NULL);
		else
			client_open(&c, &w, NULL);
		for (size_t j = 0; j < sizeof(buf); j++)
			buf[j] = (uint8_t)next(&seed);
		/* Half of them with a length that can be. */
		if (i & 2)
			memset(buf + 1, 0, 3);
		send_bytes(&c, buf, sizeof(buf));
		client_end(&c);
	}
	world_close(&w);
}

/* Names, good ones and bad ones, from a small stock. */
static struct p9_str
some_name(uint64_t r)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f",
	    "..", ".", "", "a/b", "/", "../canary", "../../etc", "\xff\xfe",
	    "user.x", "user.y", "security.capability", "g", "h", "up" };
	const char *s = names[r % (sizeof(names) / sizeof(names[0]))];

	return (str(s));
}

static void
fill(struct p9_msg *m, uint64_t *seed)
{
	static const uint8_t types[] = { P9_TSTATFS, P9_TLOPEN, P9_TLOPEN,
	    P9_TLCREATE, P9_TSYMLINK, P9_TMKNOD, P9_TRENAME, P9_TREADLINK,
	    P9_TGETATTR, P9_TSETATTR, P9_TXATTRWALK, P9_TXATTRCREATE,
	    P9_TREADDIR, P9_TFSYNC, P9_TLOCK, P9_TGETLOCK, P9_TLINK,
	    P9_TMKDIR, P9_TRENAMEAT, P9_TUNLINKAT, P9_TATTACH, P9_TWALK,
	    P9_TWALK, P9_TWALK, P9_TREAD, P9_TWRITE, P9_TCLUNK, P9_TCLUNK,
	    P9_TREMOVE };
	uint64_t r = next(seed);
	uint32_t f1 = (uint32_t)(r & 15), f2 = (uint32_t)(r >> 4 & 15);
	uint32_t x = (uint32_t)next(seed);

	m->type = types[(r >> 8) % sizeof(types)];
	memset(&m->twalk, 0, sizeof(m->twalk));
	switch (m->type) {
	case P9_TLOPEN:
		m->tlopen.fid = f1;
		m->tlopen.flags = x & 0x7ffff & ~(uint32_t)P9_O_SYNC;
		break;
	case P9_TLCREATE:
		m->tlcreate.fid = f1;
		m->tlcreate.name = some_name(r >> 20);
		m->tlcreate.flags = P9_O_CREATE | (x & 0xfff);
		m->tlcreate.mode = x >> 8;
		m->tlcreate.gid = x;
		break;
	case P9_TSYMLINK:
		m->tsymlink.fid = f1;
		m->tsymlink.name = some_name(r >> 20);
		m->tsymlink.symtgt = some_name(r >> 30);
		break;
	case P9_TMKNOD:
		m->tmknod.dfid = f1;
		m->tmknod.name = some_name(r >> 20);
		m->tmknod.mode = x & 0177777;
		m->tmknod.major = x >> 16;
		m->tmknod.minor = x >> 20;
		break;
	case P9_TRENAME:
		m->trename.fid = f1;
		m->trename.dfid = f2;
		m->trename.name = some_name(r >> 20);
		break;
	case P9_TGETATTR:
		m->tgetattr.fid = f1;
		m->tgetattr.request_mask = x;
		break;
	case P9_TSETATTR:
		m->tsetattr.fid = f1;
		m->tsetattr.valid = x & (P9_SETATTR_ALL & ~6u);
		m->tsetattr.mode = 0700 | (x >> 10 & 077);
		m->tsetattr.size = x & 0xffff;
		m->tsetattr.mtime_nsec = x;
		break;
	case P9_TXATTRWALK:
		m->txattrwalk.fid = f1;
		m->txattrwalk.newfid = f2;
		m->txattrwalk.name = some_name(r >> 20);
		break;
	case P9_TXATTRCREATE:
		m->txattrcreate.fid = f1;
		m->txattrcreate.name = some_name(r >> 20);
		m->txattrcreate.attr_size = x & 3;
		m->txattrcreate.flags = x >> 4 & 3;
		break;
	case P9_TLOCK:
		m->tlock.fid = f1;
		m->tlock.type = x & 3;
		m->tlock.flags = x >> 2 & 1;
		m->tlock.start = x >> 8 & 15;
		m->tlock.length = x >> 12 & 15;
		m->tlock.proc_id = x >> 16 & 3;
		m->tlock.client_id = some_name(r >> 20);
		break;
	case P9_TGETLOCK:
		m->getlock.fid = f1;
		m->getlock.type = x & 3;
		m->getlock.length = x >> 12 & 15;
		m->getlock.client_id = some_name(r >> 20);
		break;
	case P9_TLINK:
		m->tlink.dfid = f1;
		m->tlink.fid = f2;
		m->tlink.name = some_name(r >> 20);
		break;
	case P9_TMKDIR:
		m->tmkdir.dfid = f1;
		m->tmkdir.name = some_name(r >> 20);
		m->tmkdir.mode = 0700 | (x & 077);
		break;
	case P9_TRENAMEAT:
		m->trenameat.olddirfid = f1;
		m->trenameat.oldname = some_name(r >> 20);
		m->trenameat.newdirfid = f2;
		m->trenameat.newname = some_name(r >> 30);
		break;
	case P9_TUNLINKAT:
		m->tunlinkat.dirfid = f1;
		m->tunlinkat.name = some_name(r >> 20);
		m->tunlinkat.flags = x & 1 ? P9_AT_REMOVEDIR : 0;
		break;
	case P9_TATTACH:
		m->tattach.fid = f1;
		m->tattach.afid = P9_NOFID;
		m->tattach.aname = x & 3 ? str("") : some_name(r >> 20);
		m->tattach.uname = str("");
		m->tattach.n_uname = x >> 8 & 1 ? 0 : x;
		break;
	case P9_TWALK:
		m->twalk.fid = f1;
		m->twalk.newfid = f2;
		m->twalk.wname.n = x & 3;
		for (uint16_t i = 0; i < m->twalk.wname.n; i++)
			m->twalk.wname.name[i] = some_name(next(seed));
		break;
	case P9_TREAD:
	case P9_TREADDIR:
		m->tread.fid = f1;
		m->tread.offset = x & 0x80 ? (uint64_t)x << 32 : x & 15;
		m->tread.count = x >> 8 & 1 ? x >> 10 : x >> 20;
		break;
	case P9_TWRITE:
		m->twrite.fid = f1;
		m->twrite.offset = x & 0xfff;
		m->twrite.data.p = "0123456789abcdef";
		m->twrite.data.len = x >> 16 & 15;
		break;
	default:
		m->tclunk.fid = f1;	/* the only field, or the first */
		break;
	}
}

/* What lies beside the folder must be as it was. */
static void
check_outside(struct world *w)
{
	struct dirent *d;
	char buf[16];
	DIR *dir;
	int fd, entries = 0;

	fd = openat(w->outside, "canary", O_RDONLY);
	ATF_REQUIRE(fd != -1);
	ATF_CHECK(read(fd, buf, sizeof(buf)) == 4 &&
	    memcmp(buf, "bird", 4) == 0);
	close(fd);
	dir = fdopendir(openat(w->outside, ".", O_RDONLY));
	ATF_REQUIRE(dir != NULL);
	while ((d = readdir(dir)) != NULL)
		entries++;
	closedir(dir);
	ATF_CHECK_EQ_MSG(4, entries, "%d entries outside", entries);
}

static void
canary(struct world *w)
{
	int fd;

	fd = openat(w->outside, "canary", O_WRONLY | O_CREAT, 0600);
	ATF_REQUIRE(fd != -1 && write(fd, "bird", 4) == 4);
	close(fd);
	ATF_REQUIRE(symlinkat("..", w->dir, "up") == 0);
}

ATF_TC_WITHOUT_HEAD(sequences);
ATF_TC_BODY(sequences, tc)
{
	uint64_t seed = 12345;
	struct p9_stats st;
	struct p9_msg r, t;
	struct world w;
	struct client c;

	world_open(&w, NULL, false);
	canary(&w);
	for (int run = 0; run < 20; run++) {
		hello(&c, &w, NULL);
		for (int i = 0; i < 400; i++) {
			/* In batches, as many as there are threads. */
			for (t.tag = 0; t.tag < 8; t.tag++) {
				fill(&t, &seed);
				/* Who waits here might do so for ever. */
				if (t.type == P9_TLOCK)
					t.tlock.flags = 0;
				send_msg(&c, &t);
			}
			for (int j = 0; j < 8; j++)
				ATF_REQUIRE(recv_msg(&c, &r));
			if (i % 50 == 0)
				c_attach(&c, ROOT, 0, "");
		}
		p9_stats(c.p9, &st);
		ATF_CHECK_MSG(st.errors < st.requests * 95 / 100,
		    "nearly all were errors");
		client_close(&c);
		check_outside(&w);
	}
	world_close(&w);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, lengths);
	ATF_TP_ADD_TC(tp, malformed);
	ATF_TP_ADD_TC(tp, fids);
	ATF_TP_ADD_TC(tp, garbage);
	ATF_TP_ADD_TC(tp, sequences);
	return (atf_no_error());
}
