/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Requests about attributes, extended attributes and locks.
 */

#include <sys/stat.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
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

ATF_TC_WITHOUT_HEAD(getattr);
ATF_TC_BODY(getattr, tc)
{
	struct world w;
	struct client c;
	struct p9_msg r;
	struct stat st;

	begin(&w, &c, NULL);
	must_create(&c, 1, "f", "hello");
	ATF_REQUIRE(fstatat(w.dir, "f", &st, 0) == 0);
	ATF_REQUIRE_EQ(0, c_getattr(&c, 1, P9_GETATTR_BASIC, &r));
	ATF_CHECK_EQ(P9_GETATTR_BASIC, r.rgetattr.valid);
	ATF_CHECK_EQ(st.st_mode, r.rgetattr.mode);
	ATF_CHECK_EQ(st.st_uid, r.rgetattr.uid);
	ATF_CHECK_EQ(st.st_gid, r.rgetattr.gid);
	ATF_CHECK_EQ(1, r.rgetattr.nlink);
	ATF_CHECK_EQ(5, r.rgetattr.size);
	ATF_CHECK_EQ((uint64_t)st.st_blocks, r.rgetattr.blocks);
	ATF_CHECK_EQ((uint64_t)st.st_mtim.tv_sec, r.rgetattr.mtime_sec);
	ATF_CHECK_EQ((uint64_t)st.st_mtim.tv_nsec, r.rgetattr.mtime_nsec);
	ATF_CHECK_EQ((uint64_t)st.st_ctim.tv_nsec, r.rgetattr.ctime_nsec);
	/* More if asked for, but nothing that is not known. */
	ATF_REQUIRE_EQ(0, c_getattr(&c, 1, UINT64_MAX, &r));
	ATF_CHECK_EQ(P9_GETATTR_BASIC | P9_GETATTR_DATA_VERSION,
	    r.rgetattr.valid & ~(uint64_t)P9_GETATTR_BTIME);
	ATF_REQUIRE_EQ(0, c_getattr(&c, 1, 0, &r));
	ATF_CHECK_EQ(P9_GETATTR_BASIC, r.rgetattr.valid);
	ATF_CHECK_EQ(L_EBADF, c_getattr(&c, 2, 0, &r));
	end(&w, &c);
}

/* The version in a qid tells that the object changed. */
ATF_TC_WITHOUT_HEAD(qid);
ATF_TC_BODY(qid, tc)
{
	struct world w;
	struct client c;
	struct p9_qids a, b;
	uint32_t n = 1;

	begin(&w, &c, NULL);
	must_create(&c, 1, "f", "x");
	ATF_REQUIRE_EQ(0, c_walk(&c, ROOT, 2, "f", &a));
	ATF_REQUIRE_EQ(0, c_walk(&c, ROOT, 3, "f", &b));
	ATF_CHECK_EQ(a.qid[0].path, b.qid[0].path);
	ATF_CHECK_EQ(a.qid[0].version, b.qid[0].version);
	usleep(20000);
	ATF_REQUIRE_EQ(0, c_write(&c, 1, 0, "y", &n));
	ATF_REQUIRE_EQ(0, c_walk(&c, ROOT, 4, "f", &b));
	ATF_CHECK_EQ(a.qid[0].path, b.qid[0].path);
	ATF_CHECK(a.qid[0].version != b.qid[0].version);
	end(&w, &c);
}

ATF_TC_WITHOUT_HEAD(setattr);
ATF_TC_BODY(setattr, tc)
{
	struct world w;
	struct client c;
	struct p9_msg r, t = { .type = P9_TSETATTR };
	struct stat st;
	time_t before = time(NULL);

	begin(&w, &c, NULL);
	must_create(&c, 1, "f", "hello");
	ATF_REQUIRE_EQ(0, c_walk(&c, ROOT, 2, "f", NULL));
	t.tsetattr.fid = 2;
	t.tsetattr.valid = P9_SETATTR_MODE | P9_SETATTR_SIZE |
	    P9_SETATTR_ATIME | P9_SETATTR_ATIME_SET | P9_SETATTR_MTIME |
	    P9_SETATTR_MTIME_SET;
	t.tsetattr.mode = 0100751;
	t.tsetattr.size = 3;
	t.tsetattr.atime_sec = 1000000000;
	t.tsetattr.atime_nsec = 123456789;
	t.tsetattr.mtime_sec = 1100000000;
	t.tsetattr.mtime_nsec = 987654321;
	ATF_CHECK_EQ(0, rpc(&c, &t, &r));
	ATF_REQUIRE(fstatat(w.dir, "f", &st, 0) == 0);
	ATF_CHECK_EQ(S_IFREG | 0751, st.st_mode);
	ATF_CHECK_EQ(3, st.st_size);
	ATF_CHECK_EQ(1000000000, st.st_atim.tv_sec);
	ATF_CHECK_EQ(123456789, st.st_atim.tv_nsec);
	ATF_CHECK_EQ(1100000000, st.st_mtim.tv_sec);
	ATF_CHECK_EQ(987654321, st.st_mtim.tv_nsec);
	/* Without _SET it is now; the other time stays. */
	t.tsetattr.valid = P9_SETATTR_MTIME;
	ATF_CHECK_EQ(0, rpc(&c, &t, &r));
	ATF_REQUIRE(fstatat(w.dir, "f", &st, 0) == 0);
	ATF_CHECK(st.st_mtim.tv_sec >= before);
	ATF_CHECK_EQ(1000000000, st.st_atim.tv_sec);
	/* A time from before 1970. */
	t.tsetattr.valid = P9_SETATTR_MTIME | P9_SETATTR_MTIME_SET;
	t.tsetattr.mtime_sec = (uint64_t)-5;
	ATF_CHECK_EQ(0, rpc(&c, &t, &r));
	ATF_REQUIRE(fstatat(w.dir, "f", &st, 0) == 0);
	ATF_CHECK_EQ(-5, st.st_mtim.tv_sec);
	t.tsetattr.valid = P9_SETATTR_CTIME;
	ATF_CHECK_EQ(0, rpc(&c, &t, &r));
	t.tsetattr.valid = 0;
	ATF_CHECK_EQ(0, rpc(&c, &t, &r));
	/* Refused. */
	t.tsetattr.valid = 0x200;
	ATF_CHECK_EQ(L_EINVAL, rpc(&c, &t, &r));
	t.tsetattr.valid = P9_SETATTR_MTIME | P9_SETATTR_MTIME_SET;
	t.tsetattr.mtime_nsec = 1000000000;
	ATF_CHECK_EQ(L_EINVAL, rpc(&c, &t, &r));
	t.tsetattr.valid = P9_SETATTR_SIZE;
	t.tsetattr.size = UINT64_MAX;
	ATF_CHECK_EQ(L_EFBIG, rpc(&c, &t, &r));
	/* By an open file, also one that is open for reading only. */
	t.tsetattr.size = 10;
	t.tsetattr.fid = 1;
	ATF_CHECK_EQ(0, rpc(&c, &t, &r));
	must_open(&c, 3, "f", P9_O_RDONLY);
	t.tsetattr.size = 20;
	t.tsetattr.fid = 3;
	ATF_CHECK_EQ(0, rpc(&c, &t, &r));
	ATF_REQUIRE(fstatat(w.dir, "f", &st, 0) == 0);
	ATF_CHECK_EQ(20, st.st_size);
	end(&w, &c);
}

ATF_TC_WITHOUT_HEAD(statfs);
ATF_TC_BODY(statfs, tc)
{
	struct world w;
	struct client c;
	struct p9_msg r, t = { .type = P9_TSTATFS };

	begin(&w, &c, NULL);
	ATF_REQUIRE_EQ(0, rpc(&c, &t, &r));
	ATF_CHECK(r.rstatfs.type != 0);
	ATF_CHECK(r.rstatfs.bsize >= 512);
	ATF_CHECK(r.rstatfs.blocks >= r.rstatfs.bfree);
	ATF_CHECK_EQ(255, r.rstatfs.namelen);
	t.tstatfs.fid = 1;
	ATF_CHECK_EQ(L_EBADF, rpc(&c, &t, &r));
	end(&w, &c);
}

static uint32_t
set_xattr(struct client *c, const char *path, const char *name,
    const void *value, uint32_t size, uint32_t flags)
{
	uint32_t error, n = size;

	ATF_REQUIRE_EQ(0, c_walk(c, ROOT, 900, path, NULL));
	error = c_xattrcreate(c, 900, name, size, flags);
	if (error == 0 && size > 0)
		ATF_REQUIRE_EQ(0, c_write(c, 900, 0, value, &n));
	if (error == 0)
		return (c_clunk(c, 900));
	ATF_REQUIRE_EQ(0, c_clunk(c, 900));
	return (error);
}

static uint32_t
get_xattr(struct client *c, const char *path, const char *name, void *value,
    uint32_t *size)
{
	uint32_t error;
	uint64_t size64;

	ATF_REQUIRE_EQ(0, c_walk(c, ROOT, 900, path, NULL));
	error = c_xattrwalk(c, 900, 901, name, &size64);
	ATF_REQUIRE_EQ(0, c_clunk(c, 900));
	if (error != 0)
		return (error);
	ATF_REQUIRE(size64 <= *size);
	*size = (uint32_t)size64;
	ATF_REQUIRE_EQ(0, c_read(c, 901, 0, value, size));
	ATF_CHECK_EQ(size64, *size);
	ATF_REQUIRE_EQ(0, c_clunk(c, 901));
	return (0);
}

ATF_TC_WITHOUT_HEAD(xattr);
ATF_TC_BODY(xattr, tc)
{
	struct world w;
	struct client c;
	char buf[4096];
	uint32_t n, error;
	uint64_t size;

	begin(&w, &c, NULL);
	must_create(&c, 1, "f", "x");
	error = set_xattr(&c, "f", "user.a", "value", 5, 0);
	if (error == L_EOPNOTSUPP) {
		end(&w, &c);
		atf_tc_skip("no extended attributes on this filesystem");
	}
	ATF_CHECK_EQ(0, error);
	n = sizeof(buf);
	ATF_CHECK_EQ(0, get_xattr(&c, "f", "user.a", buf, &n));
	ATF_CHECK(n == 5 && memcmp(buf, "value", 5) == 0);
	ATF_CHECK_EQ(L_EEXIST, set_xattr(&c, "f", "user.a", "v", 1,
	    P9_XATTR_CREATE));
	ATF_CHECK_EQ(L_ENODATA, set_xattr(&c, "f", "user.b", "v", 1,
	    P9_XATTR_REPLACE));
	/* Nothing is a value, unless it replaces one. */
	ATF_CHECK_EQ(0, set_xattr(&c, "f", "user.b", "", 0, 0));
	n = sizeof(buf);
	ATF_CHECK_EQ(0, get_xattr(&c, "f", "user.b", buf, &n));
	ATF_CHECK_EQ(0, n);
	n = sizeof(buf);
	ATF_CHECK_EQ(0, get_xattr(&c, "f", "", buf, &n));
	ATF_CHECK_MSG(n == 14 && memmem(buf, n, "user.a", 7) != NULL &&
	    memmem(buf, n, "user.b", 7) != NULL, "list of %u", n);
	ATF_CHECK_EQ(0, set_xattr(&c, "f", "user.b", "", 0,
	    P9_XATTR_REPLACE));
	n = sizeof(buf);
	ATF_CHECK_EQ(L_ENODATA, get_xattr(&c, "f", "user.b", buf, &n));
	/* The value is that of the walk, also in pieces. */
	ATF_REQUIRE_EQ(0, c_walk(&c, ROOT, 2, "f", NULL));
	ATF_REQUIRE_EQ(0, c_xattrwalk(&c, 2, 3, "user.a", &size));
	ATF_CHECK_EQ(0, set_xattr(&c, "f", "user.a", "other", 5, 0));
	n = 2;
	ATF_CHECK_EQ(0, c_read(&c, 3, 3, buf, &n));
	ATF_CHECK(n == 2 && memcmp(buf, "ue", 2) == 0);
	ATF_CHECK_EQ(0, c_read(&c, 3, 5, buf, &n));
	ATF_CHECK_EQ(0, n);
	ATF_CHECK_EQ(0, c_read(&c, 3, UINT64_MAX, buf, &n));
	ATF_CHECK_EQ(0, n);
	end(&w, &c);
}

ATF_TC_WITHOUT_HEAD(xattr_refused);
ATF_TC_BODY(xattr_refused, tc)
{
	struct p9_options o = { .max_xattr = 200000 };
	struct world w;
	struct client c;
	struct p9_msg r;
	char buf[256];
	uint64_t size;
	uint32_t n;

	begin(&w, &c, &o);
	must_create(&c, 1, "f", "x");
	ATF_REQUIRE_EQ(0, c_walk(&c, ROOT, 2, "f", NULL));
	ATF_CHECK_EQ(L_E2BIG, c_xattrcreate(&c, 2, "user.a", 65537, 0));
	ATF_CHECK_EQ(L_E2BIG, c_xattrcreate(&c, 2, "user.a", UINT64_MAX, 0));
	ATF_CHECK_EQ(L_EINVAL, c_xattrcreate(&c, 2, "user.a", 1, 4));
	ATF_CHECK_EQ(L_EINVAL, c_xattrcreate(&c, 2, "", 1, 0));
	memset(buf, 'x', 255);
	buf[255] = '\0';
	ATF_CHECK(c_xattrwalk(&c, 2, 3, buf, &size) != 0);
	ATF_CHECK_EQ(L_EBADF, c_xattrwalk(&c, 2, 2, "user.a", &size));
	ATF_CHECK_EQ(L_EBADF, c_xattrwalk(&c, 2, 1, "user.a", &size));
	ATF_CHECK_EQ(L_EBADF, c_xattrcreate(&c, 1, "user.a", 1, 0));
	/* A value that did not come whole is not set. */
	ATF_REQUIRE_EQ(0, c_xattrcreate(&c, 2, "user.a", 10, 0));
	n = 4;
	ATF_CHECK_EQ(0, c_write(&c, 2, 0, "1234", &n));
	ATF_CHECK_EQ(L_EINVAL, c_write(&c, 2, 5, "1234", &n));
	ATF_CHECK_EQ(L_ENOSPC, c_write(&c, 2, 7, "1234", &n));
	ATF_CHECK_EQ(L_ENOSPC, c_write(&c, 2, UINT64_MAX, "1234", &n));
	/* Such a fid is good for nothing else. */
	ATF_CHECK_EQ(L_EBADF, c_read(&c, 2, 0, buf, &n));
	ATF_CHECK_EQ(L_EBADF, c_getattr(&c, 2, 0, &r));
	ATF_CHECK_EQ(L_EBADF, c_walk(&c, 2, 5, "", NULL));
	ATF_CHECK_EQ(L_EBADF, c_open(&c, 2, 0));
	ATF_CHECK_EQ(L_EINVAL, c_clunk(&c, 2));
	ATF_CHECK_EQ(L_EBADF, c_clunk(&c, 2));
	/* Memory for values has an end, and comes back. */
	for (uint32_t i = 0; i < 3; i++) {
		ATF_REQUIRE_EQ(0, c_walk(&c, ROOT, 10 + i, "f", NULL));
		ATF_CHECK_EQ(0, c_xattrcreate(&c, 10 + i, "user.a", 65536,
		    0));
	}
	ATF_REQUIRE_EQ(0, c_walk(&c, ROOT, 20, "f", NULL));
	ATF_CHECK_EQ(L_ENOMEM, c_xattrcreate(&c, 20, "user.a", 65536, 0));
	ATF_CHECK_EQ(L_EINVAL, c_clunk(&c, 10));
	ATF_CHECK_EQ(0, c_xattrcreate(&c, 20, "user.a", 65536, 0));
	end(&w, &c);
}

ATF_TC_WITHOUT_HEAD(locks);
ATF_TC_BODY(locks, tc)
{
	struct world w;
	struct client c;
	struct p9_msg r, t = { .type = P9_TGETLOCK };
	uint8_t status;

	begin(&w, &c, NULL);
	must_create(&c, 1, "f", "0123456789");
	must_open(&c, 2, "f", P9_O_RDWR);
	ATF_REQUIRE_EQ(0, c_lock(&c, 1, P9_LOCK_WRLCK, 0, 2, 4, 11, &status));
	ATF_CHECK_EQ(P9_LOCK_SUCCESS, status);
	ATF_CHECK_EQ(0, c_lock(&c, 2, P9_LOCK_RDLCK, 0, 5, 1, 12, &status));
	ATF_CHECK_EQ(P9_LOCK_BLOCKED, status);
	ATF_CHECK_EQ(0, c_lock(&c, 2, P9_LOCK_RDLCK, 0, 6, 0, 12, &status));
	ATF_CHECK_EQ(P9_LOCK_SUCCESS, status);
	/* Who stops it? */
	t.getlock.fid = 2;
	t.getlock.type = P9_LOCK_WRLCK;
	t.getlock.start = 0;
	t.getlock.length = 4;
	t.getlock.proc_id = 12;
	t.getlock.client_id = str("guest");
	ATF_REQUIRE_EQ(0, rpc(&c, &t, &r));
	ATF_CHECK_EQ(P9_LOCK_WRLCK, r.getlock.type);
	ATF_CHECK_EQ(2, r.getlock.start);
	ATF_CHECK_EQ(4, r.getlock.length);
	ATF_CHECK_EQ(11, r.getlock.proc_id);
	t.getlock.proc_id = 11;
	t.getlock.start = 8;
	ATF_REQUIRE_EQ(0, rpc(&c, &t, &r));
	ATF_CHECK_EQ(P9_LOCK_RDLCK, r.getlock.type);
	ATF_CHECK_EQ(0, r.getlock.length);
	t.getlock.start = 0;
	t.getlock.length = 2;
	ATF_REQUIRE_EQ(0, rpc(&c, &t, &r));
	ATF_CHECK_EQ(P9_LOCK_UNLCK, r.getlock.type);
	/* Refused. */
	ATF_CHECK_EQ(L_EINVAL, c_lock(&c, 1, 3, 0, 0, 1, 11, &status));
	ATF_CHECK_EQ(L_EINVAL, c_lock(&c, 1, 0, 4, 0, 1, 11, &status));
	ATF_CHECK_EQ(L_EINVAL, c_lock(&c, 1, 0, 0, UINT64_MAX, 1, 11,
	    &status));
	ATF_CHECK_EQ(L_EOVERFLOW, c_lock(&c, 1, 0, 0, 2, INT64_MAX, 11,
	    &status));
	ATF_CHECK_EQ(L_EBADF, c_lock(&c, ROOT, 0, 0, 0, 1, 11, &status));
	/* A clunk drops what came through the fid. */
	ATF_REQUIRE_EQ(0, c_clunk(&c, 1));
	ATF_CHECK_EQ(0, c_lock(&c, 2, P9_LOCK_WRLCK, 0, 0, 0, 12, &status));
	ATF_CHECK_EQ(P9_LOCK_SUCCESS, status);
	ATF_CHECK_EQ(0, c_lock(&c, 2, P9_LOCK_UNLCK, 0, 0, 0, 12, &status));
	ATF_CHECK_EQ(P9_LOCK_SUCCESS, status);
	end(&w, &c);
}

/* Two connections with processes of the same number are not one owner. */
ATF_TC_WITHOUT_HEAD(lock_clients);
ATF_TC_BODY(lock_clients, tc)
{
	struct world w;
	struct client c, d;
	uint8_t status;

	begin(&w, &c, NULL);
	hello(&d, &w, NULL);
	must_create(&c, 1, "f", "x");
	must_open(&d, 1, "f", P9_O_RDWR);
	ATF_REQUIRE_EQ(0, c_lock(&c, 1, P9_LOCK_WRLCK, 0, 0, 0, 5, &status));
	ATF_CHECK_EQ(P9_LOCK_SUCCESS, status);
	ATF_REQUIRE_EQ(0, c_lock(&d, 1, P9_LOCK_WRLCK, 0, 0, 0, 5, &status));
	ATF_CHECK_EQ(P9_LOCK_BLOCKED, status);
	/* The end of a connection is the end of its locks. */
	client_close(&c);
	ATF_REQUIRE_EQ(0, c_lock(&d, 1, P9_LOCK_WRLCK, 0, 0, 0, 5, &status));
	ATF_CHECK_EQ(P9_LOCK_SUCCESS, status);
	end(&w, &d);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, getattr);
	ATF_TP_ADD_TC(tp, qid);
	ATF_TP_ADD_TC(tp, setattr);
	ATF_TP_ADD_TC(tp, statfs);
	ATF_TP_ADD_TC(tp, xattr);
	ATF_TP_ADD_TC(tp, xattr_refused);
	ATF_TP_ADD_TC(tp, locks);
	ATF_TP_ADD_TC(tp, lock_clients);
	return (atf_no_error());
}
