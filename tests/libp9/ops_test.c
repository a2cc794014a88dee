/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Every request about names, files and directories, with what it must do in
 * the folder and what it must refuse.
 */

#include <sys/stat.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

#define	CASE(name)							\
	ATF_TC_WITHOUT_HEAD(name);					\
	static void name##_in(struct world *, struct client *);		\
	ATF_TC_BODY(name, tc)						\
	{								\
		struct world w;						\
		struct client c;					\
									\
		world_open(&w, NULL, false);				\
		hello(&c, &w, NULL);					\
		name##_in(&w, &c);					\
		client_close(&c);					\
		world_close(&w);					\
	}								\
	static void							\
	name##_in(__attribute__((__unused__)) struct world *w,		\
	    struct client *c)

/* What a file of the folder holds, seen from the host. */
static void
check_file(struct world *w, const char *path, const char *content)
{
	char buf[256];
	ssize_t n;
	int fd;

	fd = openat(w->dir, path, O_RDONLY);
	ATF_REQUIRE_MSG(fd != -1, "%s: %s", path, strerror(errno));
	n = read(fd, buf, sizeof(buf));
	ATF_CHECK_MSG(n == (ssize_t)strlen(content) &&
	    memcmp(buf, content, (size_t)n) == 0, "%s: other content", path);
	close(fd);
}

static bool
exists(struct world *w, const char *path)
{
	struct stat st;

	return (fstatat(w->dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0);
}

static void
put_file(struct world *w, const char *path, const char *content)
{
	int fd;

	fd = openat(w->dir, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	ATF_REQUIRE(fd != -1);
	ATF_REQUIRE(write(fd, content, strlen(content)) ==
	    (ssize_t)strlen(content));
	close(fd);
}

ATF_TC_WITHOUT_HEAD(version);
ATF_TC_BODY(version, tc)
{
	struct world w;
	struct client c;
	struct p9_msg r, t = { .type = P9_TVERSION, .tag = P9_NOTAG };

	world_open(&w, NULL, false);
	client_open(&c, &w, NULL);
	/* Nothing works before a version is agreed on. */
	ATF_CHECK_EQ(L_EPROTO, c_attach(&c, 0, 0, ""));
	t.version.msize = 65536;
	t.version.version = str("9P2000");
	ATF_REQUIRE_EQ(0, rpc(&c, &t, &r));
	ATF_CHECK(r.version.version.len == 7 &&
	    memcmp(r.version.version.s, "unknown", 7) == 0);
	ATF_CHECK_EQ(L_EPROTO, c_attach(&c, 0, 0, ""));
	ATF_CHECK_EQ(L_EMSGSIZE, c_version(&c, 4095, P9_VERSION));
	ATF_CHECK_EQ(0, c_version(&c, 4096, P9_VERSION));
	ATF_CHECK_EQ(4096, c.msize);
	ATF_CHECK_EQ(0, c_version(&c, UINT32_MAX, P9_VERSION));
	ATF_CHECK_EQ(P9_MSIZE_MAX, c.msize);
	client_close(&c);
	world_close(&w);
}

ATF_TC_WITHOUT_HEAD(version_resets);
ATF_TC_BODY(version_resets, tc)
{
	struct world w;
	struct client c;
	struct share_stats st;
	struct p9_stats ps;

	world_open(&w, NULL, false);
	hello(&c, &w, NULL);
	must_create(&c, 1, "f", "x");
	ATF_REQUIRE_EQ(0, c_walk(&c, ROOT, 2, "", NULL));
	ATF_REQUIRE_EQ(0, c_open(&c, 2, P9_O_RDONLY));
	p9_stats(c.p9, &ps);
	ATF_CHECK_EQ(3, ps.fids);
	ATF_REQUIRE_EQ(0, c_version(&c, 65536, P9_VERSION));
	share_stats(w.share, &st);
	ATF_CHECK_EQ(0, st.files);
	ATF_CHECK_EQ(0, st.dirs);
	ATF_CHECK_EQ(L_EBADF, c_clunk(&c, ROOT));
	ATF_CHECK_EQ(L_EBADF, c_clunk(&c, 1));
	ATF_CHECK_EQ(0, c_attach(&c, 1, 0, ""));
	client_close(&c);
	world_close(&w);
}

CASE(attach)
{
	struct p9_msg r, t = { .type = P9_TAUTH, .tattach = { .afid = 1 } };

	ATF_REQUIRE(mkdirat(w->dir, "sub", 0755) == 0);
	ATF_REQUIRE(mkdirat(w->dir, "sub/deep", 0755) == 0);
	put_file(w, "file", "");
	put_file(w, "sub/inner", "");
	ATF_CHECK_EQ(L_ENOENT, rpc(c, &t, &r));
	ATF_CHECK_EQ(L_EBADF, c_attach(c, ROOT, 0, ""));
	ATF_CHECK_EQ(L_EBADF, c_attach(c, P9_NOFID, 0, ""));
	ATF_CHECK_EQ(0, c_attach(c, 1, 0, "/"));
	ATF_CHECK_EQ(0, c_walk(c, 1, 2, "file", NULL));
	ATF_CHECK_EQ(0, c_attach(c, 3, 0, "/sub//deep/"));
	ATF_CHECK_EQ(0, c_walk(c, 3, 4, "..", NULL));
	/* Up from where the attach began is there. */
	ATF_CHECK_EQ(L_ENOENT, c_walk(c, 4, 5, "inner", NULL));
	ATF_CHECK_EQ(L_ENOENT, c_attach(c, 6, 0, "none"));
	ATF_CHECK_EQ(L_ENOTDIR, c_attach(c, 6, 0, "file"));
	ATF_CHECK_EQ(L_EINVAL, c_attach(c, 6, 0, "sub/.."));
	ATF_CHECK_EQ(L_EINVAL, c_attach(c, 6, 0, ".."));
	t = (struct p9_msg){ .type = P9_TATTACH, .tattach = { 7, 3, str(""),
	    str(""), 0 } };
	ATF_CHECK_EQ(L_EINVAL, rpc(c, &t, &r));
	t.tattach.afid = P9_NOFID;
	t.tattach.uname = str("1000");
	t.tattach.n_uname = P9_NOUID;
	ATF_CHECK_EQ(0, rpc(c, &t, &r));
	ATF_CHECK_EQ(P9_QTDIR, r.rqid.qid.type);
}

CASE(walk)
{
	struct p9_qids q;
	struct p9_msg r, t = { .type = P9_TWALK };
	char longest[257];

	ATF_REQUIRE(mkdirat(w->dir, "a", 0755) == 0);
	ATF_REQUIRE(mkdirat(w->dir, "a/b", 0755) == 0);
	put_file(w, "a/b/f", "");
	ATF_REQUIRE(symlinkat("/", w->dir, "l") == 0);
	ATF_CHECK_EQ(0, c_walk(c, ROOT, 1, "a/b/f", &q));
	ATF_CHECK_EQ(3, q.n);
	ATF_CHECK_EQ(P9_QTDIR, q.qid[1].type);
	ATF_CHECK_EQ(P9_QTFILE, q.qid[2].type);
	/* As far as it goes; the fid is not made. */
	ATF_CHECK_EQ(0, c_walk(c, ROOT, 2, "a/none/f", &q));
	ATF_CHECK_EQ(1, q.n);
	ATF_CHECK_EQ(L_EBADF, c_clunk(c, 2));
	ATF_CHECK_EQ(L_ENOENT, c_walk(c, ROOT, 2, "none/f", &q));
	/* In place, and a fid that is taken. */
	ATF_CHECK_EQ(0, c_walk(c, ROOT, 3, "", NULL));
	ATF_CHECK_EQ(0, c_walk(c, 3, 3, "a/b", NULL));
	ATF_CHECK_EQ(0, c_walk(c, 3, 4, "f", NULL));
	ATF_CHECK_EQ(L_EBADF, c_walk(c, 3, 4, "f", NULL));
	ATF_CHECK_EQ(L_EBADF, c_walk(c, 99, 5, "", NULL));
	ATF_CHECK_EQ(L_EBADF, c_walk(c, ROOT, P9_NOFID, "", NULL));
	/* Not through files, nor through links. */
	ATF_CHECK_EQ(L_ENOTDIR, c_walk(c, 4, 5, "x", NULL));
	ATF_CHECK_EQ(0, c_walk(c, ROOT, 5, "l", &q));
	ATF_CHECK_EQ(P9_QTSYMLINK, q.qid[0].type);
	ATF_CHECK_EQ(L_ENOTDIR, c_walk(c, 5, 6, "etc", NULL));
	/* Up, and never out. */
	ATF_CHECK_EQ(0, c_walk(c, 3, 6, "..", NULL));
	ATF_CHECK_EQ(0, c_walk(c, ROOT, 7, "../../a", &q));
	ATF_CHECK_EQ(3, q.n);
	/* Names that are none. */
	t.twalk.newfid = 8;
	t.twalk.wname.n = 1;
	t.twalk.wname.name[0] = str("a/b");
	ATF_CHECK_EQ(L_EINVAL, rpc(c, &t, &r));
	t.twalk.wname.name[0] = str("");
	ATF_CHECK_EQ(L_EINVAL, rpc(c, &t, &r));
	t.twalk.wname.name[0] = (struct p9_str){ 2, "a" };
	ATF_CHECK_EQ(L_EINVAL, rpc(c, &t, &r));
	memset(longest, 'x', 256);
	longest[256] = '\0';
	ATF_CHECK_EQ(L_ENAMETOOLONG, c_walk(c, ROOT, 8, longest, NULL));
	longest[255] = '\0';
	ATF_CHECK_EQ(L_ENOENT, c_walk(c, ROOT, 8, longest, NULL));
}

CASE(open_read_write)
{
	struct p9_msg r, t = { .type = P9_TLOPEN };
	char buf[64];
	uint32_t n;

	put_file(w, "f", "hello");
	t.tlopen.fid = 1;
	t.tlopen.flags = P9_O_RDWR;
	ATF_REQUIRE_EQ(0, c_walk(c, ROOT, 1, "f", NULL));
	ATF_REQUIRE_EQ(0, rpc(c, &t, &r));
	ATF_CHECK_EQ((P9_MSIZE_MAX - 24) / 4096 * 4096, r.rlopen.iounit);
	n = sizeof(buf);
	ATF_CHECK_EQ(0, c_read(c, 1, 1, buf, &n));
	ATF_CHECK(n == 4 && memcmp(buf, "ello", 4) == 0);
	n = sizeof(buf);
	ATF_CHECK_EQ(0, c_read(c, 1, 1000, buf, &n));
	ATF_CHECK_EQ(0, n);
	n = 3;
	ATF_CHECK_EQ(0, c_write(c, 1, 4, "p!\n", &n));
	ATF_CHECK_EQ(3, n);
	check_file(w, "f", "hellp!\n");
	n = 1;
	ATF_CHECK_EQ(L_EFBIG, c_write(c, 1, INT64_MAX, "x", &n));
	ATF_CHECK_EQ(L_EINVAL, c_read(c, 1, UINT64_MAX, buf, &n));
	/* Twice, and what does not fit the mode. */
	ATF_CHECK_EQ(L_EBADF, c_open(c, 1, P9_O_RDONLY));
	must_open(c, 2, "f", P9_O_RDONLY);
	n = 1;
	ATF_CHECK_EQ(L_EBADF, c_write(c, 2, 0, "x", &n));
	must_open(c, 3, "f", P9_O_WRONLY);
	ATF_CHECK_EQ(L_EBADF, c_read(c, 3, 0, buf, &n));
	ATF_REQUIRE_EQ(0, c_walk(c, ROOT, 4, "f", NULL));
	ATF_CHECK_EQ(L_EBADF, c_read(c, 4, 0, buf, &n));
	ATF_CHECK_EQ(L_EBADF, c_write(c, 4, 0, "x", &n));
	ATF_CHECK_EQ(L_ENOTDIR, c_open(c, 4, P9_O_DIRECTORY));
	ATF_CHECK_EQ(0, c_open(c, 4, P9_O_WRONLY | P9_O_TRUNC));
	check_file(w, "f", "");
	/* Appends go to the end, wherever the client says. */
	must_open(c, 5, "f", P9_O_WRONLY | P9_O_APPEND);
	n = 2;
	ATF_CHECK_EQ(0, c_write(c, 5, 0, "ab", &n));
	ATF_CHECK_EQ(0, c_write(c, 5, 0, "cd", &n));
	check_file(w, "f", "abcd");
	/* O_DIRECT is a wish. */
	must_open(c, 6, "f", P9_O_RDONLY | P9_O_DIRECT);
	n = 3;
	ATF_CHECK_EQ(0, c_read(c, 6, 1, buf, &n));
	ATF_CHECK(n == 3 && memcmp(buf, "bcd", 3) == 0);
}

/* Sizes around those of the buffers, both ways. */
CASE(sizes)
{
	static const uint32_t sizes[] = { 0, 1, 4095, 4096, 8168, 8169, 8170,
	    8181, 8182, 16361, 16384, 65536, 131072, 1048576,
	    P9_MSIZE_MAX - 24, P9_MSIZE_MAX - 23 };
	uint8_t *a, *b;
	uint32_t n;

	a = malloc(P9_MSIZE_MAX);
	b = malloc(P9_MSIZE_MAX);
	ATF_REQUIRE(a != NULL && b != NULL);
	for (uint32_t i = 0; i < P9_MSIZE_MAX; i++)
		a[i] = (uint8_t)(i * 2654435761u >> 13);
	must_create(c, 1, "f", "");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		n = sizes[i];
		ATF_REQUIRE_EQ(0, c_write(c, 1, i, a, &n));
		ATF_REQUIRE_EQ(sizes[i], n);
		memset(b, 0, sizes[i]);
		ATF_REQUIRE_EQ(0, c_read(c, 1, i, b, &n));
		ATF_REQUIRE_EQ(sizes[i], n);
		ATF_REQUIRE(memcmp(a, b, n) == 0);
	}
	/* More than a message can hold is cut. */
	n = UINT32_MAX;
	ATF_REQUIRE_EQ(0, c_read(c, 1, 0, b, &n));
	ATF_CHECK_EQ(P9_MSIZE_MAX - 11, n);
	free(a);
	free(b);
}

CASE(create)
{
	struct p9_msg r;
	uint32_t n = 1;
	char buf[4];

	umask(0);
	ATF_REQUIRE_EQ(0, c_walk(c, ROOT, 1, "", NULL));
	ATF_CHECK_EQ(0, c_create(c, 1, "new", P9_O_RDWR | P9_O_CREATE |
	    P9_O_EXCL, 0640));
	/* The fid is the file now. */
	ATF_CHECK_EQ(0, c_write(c, 1, 0, "x", &n));
	ATF_CHECK_EQ(0, c_read(c, 1, 0, buf, &n));
	ATF_CHECK_EQ(0, c_getattr(c, 1, P9_GETATTR_BASIC, &r));
	ATF_CHECK_EQ(S_IFREG | 0640, r.rgetattr.mode);
	ATF_CHECK_EQ(1, r.rgetattr.size);
	ATF_CHECK_EQ(L_EBADF, c_create(c, 1, "y", P9_O_RDWR, 0600));
	ATF_REQUIRE_EQ(0, c_walk(c, ROOT, 2, "", NULL));
	ATF_CHECK_EQ(L_EEXIST, c_create(c, 2, "new", P9_O_RDWR |
	    P9_O_CREATE | P9_O_EXCL, 0600));
	ATF_CHECK_EQ(L_EINVAL, c_create(c, 2, "a/b", P9_O_RDWR, 0600));
	ATF_CHECK_EQ(L_EINVAL, c_create(c, 2, "", P9_O_RDWR, 0600));
	ATF_CHECK(c_create(c, 2, "..", P9_O_RDWR, 0600) != 0);
	ATF_CHECK(c_create(c, 2, ".", P9_O_RDWR, 0600) != 0);
	/* Without O_EXCL what is there is opened, and truncated if told. */
	ATF_CHECK_EQ(0, c_create(c, 2, "new", P9_O_RDWR | P9_O_CREATE, 0600));
	check_file(w, "new", "x");
	ATF_REQUIRE_EQ(0, c_walk(c, ROOT, 3, "", NULL));
	ATF_CHECK_EQ(0, c_create(c, 3, "new", P9_O_RDWR | P9_O_CREATE |
	    P9_O_TRUNC, 0600));
	check_file(w, "new", "");
	/* A link in the way is not followed. */
	ATF_REQUIRE(symlinkat("../outside", w->dir, "trap") == 0);
	ATF_REQUIRE_EQ(0, c_walk(c, ROOT, 4, "", NULL));
	ATF_CHECK(c_create(c, 4, "trap", P9_O_RDWR | P9_O_CREATE, 0600) != 0);
	ATF_CHECK(faccessat(w->outside, "outside", F_OK, 0) != 0);
	/* Not in a file. */
	ATF_REQUIRE_EQ(0, c_walk(c, ROOT, 5, "new", NULL));
	ATF_CHECK_EQ(L_ENOTDIR, c_create(c, 5, "x", P9_O_RDWR, 0600));
}

CASE(unlinked_file_lives)
{
	struct p9_msg r;
	char buf[8];
	uint32_t n = 4;

	must_create(c, 1, "f", "data");
	ATF_REQUIRE_EQ(0, c_unlink(c, ROOT, "f", 0));
	ATF_CHECK(!exists(w, "f"));
	ATF_CHECK_EQ(0, c_read(c, 1, 0, buf, &n));
	ATF_CHECK(n == 4 && memcmp(buf, "data", 4) == 0);
	ATF_CHECK_EQ(0, c_getattr(c, 1, P9_GETATTR_BASIC, &r));
	ATF_CHECK_EQ(0, r.rgetattr.nlink);
	ATF_CHECK_EQ(0, c_clunk(c, 1));
}

CASE(make)
{
	struct p9_msg r, t = { .type = P9_TMKNOD };
	struct stat st;

	umask(0);
	ATF_CHECK_EQ(0, c_mkdir(c, ROOT, "d", 0750));
	ATF_REQUIRE(fstatat(w->dir, "d", &st, 0) == 0);
	ATF_CHECK_EQ(S_IFDIR | 0750, st.st_mode);
	ATF_CHECK_EQ(L_EEXIST, c_mkdir(c, ROOT, "d", 0750));
	ATF_CHECK_EQ(L_EINVAL, c_mkdir(c, ROOT, "d/e", 0750));
	ATF_CHECK_EQ(L_EBADF, c_mkdir(c, 99, "e", 0750));
	t.tmknod.name = str("fifo");
	t.tmknod.mode = S_IFIFO | 0600;
	ATF_CHECK_EQ(0, rpc(c, &t, &r));
	ATF_REQUIRE(fstatat(w->dir, "fifo", &st, 0) == 0);
	ATF_CHECK(S_ISFIFO(st.st_mode));
	/* Made, and never opened. */
	ATF_REQUIRE_EQ(0, c_walk(c, ROOT, 1, "fifo", NULL));
	ATF_CHECK_EQ(L_ENXIO, c_open(c, 1, P9_O_RDWR));
	t.tmknod.name = str("null");
	t.tmknod.mode = S_IFCHR | 0600;
	t.tmknod.major = 1;
	t.tmknod.minor = 3;
	ATF_CHECK_EQ(L_EPERM, rpc(c, &t, &r));
	t.tmknod.name = str("reg");
	t.tmknod.mode = S_IFREG | 0600;
	ATF_CHECK_EQ(0, rpc(c, &t, &r));
	ATF_CHECK_EQ(P9_QTFILE, r.rqid.qid.type);
}

CASE(symlinks)
{
	struct p9_msg r, t = { .type = P9_TREADLINK };
	char target[4097], got[4097];
	ssize_t n;

	ATF_CHECK_EQ(0, c_symlink(c, ROOT, "l", "../../../etc/passwd"));
	n = readlinkat(w->dir, "l", got, sizeof(got));
	ATF_CHECK(n == 19 && memcmp(got, "../../../etc/passwd", 19) == 0);
	ATF_REQUIRE_EQ(0, c_walk(c, ROOT, 1, "l", NULL));
	t.treadlink.fid = 1;
	ATF_REQUIRE_EQ(0, rpc(c, &t, &r));
	ATF_CHECK(r.rreadlink.target.len == 19 &&
	    memcmp(r.rreadlink.target.s, got, 19) == 0);
	ATF_CHECK_EQ(L_ELOOP, c_open(c, 1, P9_O_RDONLY));
	t.treadlink.fid = ROOT;
	ATF_CHECK_EQ(L_EINVAL, rpc(c, &t, &r));
	ATF_CHECK_EQ(L_EEXIST, c_symlink(c, ROOT, "l", "x"));
	ATF_CHECK_EQ(L_ENOENT, c_symlink(c, ROOT, "m", ""));
	memset(target, 't', sizeof(target) - 1);
	target[4096] = '\0';
	ATF_CHECK_EQ(L_ENAMETOOLONG, c_symlink(c, ROOT, "m", target));
	t = (struct p9_msg){ .type = P9_TSYMLINK, .tsymlink = { ROOT,
	    str("m"), { 3, "a\0b" }, 0 } };
	ATF_CHECK_EQ(L_EINVAL, rpc(c, &t, &r));
}

CASE(links)
{
	struct p9_msg r, t = { .type = P9_TLINK };

	must_create(c, 1, "a", "x");
	t.tlink.dfid = ROOT;
	t.tlink.fid = 1;
	t.tlink.name = str("b");
	ATF_CHECK_EQ(0, rpc(c, &t, &r));
	ATF_CHECK_EQ(0, c_getattr(c, 1, P9_GETATTR_BASIC, &r));
	ATF_CHECK_EQ(2, r.rgetattr.nlink);
	ATF_CHECK_EQ(L_EEXIST, rpc(c, &t, &r));
	t.tlink.fid = ROOT;
	t.tlink.name = str("c");
	ATF_CHECK_EQ(L_EPERM, rpc(c, &t, &r));
	/* Each fid removes the name that it was walked to by. */
	ATF_REQUIRE_EQ(0, c_walk(c, ROOT, 2, "a", NULL));
	ATF_REQUIRE_EQ(0, c_walk(c, ROOT, 3, "b", NULL));
	ATF_CHECK_EQ(0, c_remove(c, 2));
	ATF_CHECK(!exists(w, "a"));
	ATF_CHECK(exists(w, "b"));
	ATF_CHECK_EQ(0, c_remove(c, 3));
	ATF_CHECK(!exists(w, "b"));
}

CASE(remove)
{
	ATF_REQUIRE(mkdirat(w->dir, "d", 0755) == 0);
	put_file(w, "d/f", "");
	ATF_CHECK_EQ(L_EISDIR, c_unlink(c, ROOT, "d", 0));
	ATF_CHECK_EQ(L_ENOTEMPTY, c_unlink(c, ROOT, "d", P9_AT_REMOVEDIR));
	ATF_CHECK_EQ(L_EINVAL, c_unlink(c, ROOT, "d", 1));
	ATF_CHECK_EQ(L_ENOENT, c_unlink(c, ROOT, "none", 0));
	ATF_CHECK_EQ(L_EINVAL, c_unlink(c, ROOT, "d/f", 0));
	/* Tremove ends the fid also when it fails. */
	ATF_REQUIRE_EQ(0, c_walk(c, ROOT, 1, "d", NULL));
	ATF_CHECK_EQ(L_ENOTEMPTY, c_remove(c, 1));
	ATF_CHECK_EQ(L_EBADF, c_clunk(c, 1));
	ATF_REQUIRE_EQ(0, c_walk(c, ROOT, 1, "d", NULL));
	ATF_REQUIRE_EQ(0, c_walk(c, 1, 2, "f", NULL));
	ATF_CHECK_EQ(L_ENOTDIR, c_unlink(c, 1, "f", P9_AT_REMOVEDIR));
	ATF_CHECK_EQ(0, c_remove(c, 2));
	ATF_CHECK_EQ(0, c_remove(c, 1));
	ATF_CHECK(!exists(w, "d"));
	ATF_REQUIRE_EQ(0, c_walk(c, ROOT, 1, "", NULL));
	ATF_CHECK(c_remove(c, 1) != 0);
	ATF_CHECK_EQ(L_EBADF, c_remove(c, 1));
}

CASE(rename)
{
	struct p9_msg r, t = { .type = P9_TRENAME };

	ATF_REQUIRE(mkdirat(w->dir, "d", 0755) == 0);
	ATF_REQUIRE(mkdirat(w->dir, "d/e", 0755) == 0);
	put_file(w, "a", "a");
	put_file(w, "b", "b");
	ATF_REQUIRE_EQ(0, c_walk(c, ROOT, 1, "d", NULL));
	ATF_REQUIRE_EQ(0, c_walk(c, ROOT, 2, "a", NULL));
	ATF_CHECK_EQ(0, c_rename(c, ROOT, "a", 1, "c"));
	check_file(w, "d/c", "a");
	/* Trename finds the name of now, not the one of the walk. */
	t.trename.fid = 2;
	t.trename.dfid = ROOT;
	t.trename.name = str("b");
	ATF_CHECK_EQ(0, rpc(c, &t, &r));
	check_file(w, "b", "a");
	ATF_CHECK(!exists(w, "d/c"));
	ATF_CHECK_EQ(0, c_remove(c, 2));
	ATF_CHECK(!exists(w, "b"));
	ATF_CHECK_EQ(L_ENOENT, c_rename(c, ROOT, "none", 1, "c"));
	ATF_CHECK_EQ(L_EINVAL, c_rename(c, ROOT, "d/e", 1, "c"));
	ATF_CHECK_EQ(L_EINVAL, c_rename(c, ROOT, "d", 1, "x/y"));
	ATF_CHECK_EQ(L_EBADF, c_rename(c, ROOT, "d", 99, "x"));
	/* A directory not into itself. */
	ATF_REQUIRE_EQ(0, c_walk(c, ROOT, 3, "d/e", NULL));
	ATF_CHECK_EQ(L_EINVAL, c_rename(c, ROOT, "d", 3, "x"));
	t.trename.fid = ROOT;
	t.trename.name = str("x");
	ATF_CHECK(rpc(c, &t, &r) != 0);
}

/* All entries, each once, in any size of reply. */
static uint32_t
list(struct client *c, uint32_t fid, uint32_t count, char seen[1000],
    uint32_t *replies)
{
	struct p9_msg r, t = { .type = P9_TREADDIR };
	struct p9_dirent d;
	uint32_t total = 0, left, len;
	const uint8_t *p;
	char digits[4];

	memset(seen, 0, 1000);
	*replies = 0;
	t.tread.fid = fid;
	t.tread.count = count;
	for (;;) {
		ATF_REQUIRE_EQ(0, rpc(c, &t, &r));
		p = r.rread.data.p;
		left = r.rread.data.len;
		ATF_REQUIRE(left <= count);
		if (left == 0)
			return (total);
		++*replies;
		for (; left > 0; left -= len, p += len, total++) {
			len = (uint32_t)p9_dirent_get(p, left, &d);
			ATF_REQUIRE(len > 0);
			t.tread.offset = d.offset;
			if (d.name.s[0] == '.') {
				ATF_CHECK_EQ(P9_QTDIR, d.qid.type);
				continue;
			}
			ATF_REQUIRE(d.name.len == 4);
			ATF_CHECK_EQ(8, d.type);
			memcpy(digits, d.name.s + 1, 3);
			digits[3] = '\0';
			ATF_REQUIRE(seen[atoi(digits)]++ == 0);
		}
	}
}

CASE(readdir)
{
	struct p9_msg r, t = { .type = P9_TREADDIR };
	char name[8], seen[1000];
	uint32_t replies, n = 1;

	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "f%03d", i);
		put_file(w, name, "");
	}
	ATF_REQUIRE_EQ(0, c_walk(c, ROOT, 1, "", NULL));
	t.tread.fid = 1;
	t.tread.count = 4096;
	ATF_CHECK_EQ(L_EBADF, rpc(c, &t, &r));
	ATF_CHECK_EQ(L_EISDIR, c_open(c, 1, P9_O_RDWR));
	ATF_REQUIRE_EQ(0, c_open(c, 1, P9_O_RDONLY | P9_O_DIRECTORY));
	ATF_CHECK_EQ(L_EISDIR, c_read(c, 1, 0, name, &n));
	ATF_CHECK_EQ(1002, list(c, 1, 65536, seen, &replies));
	ATF_CHECK_EQ(1, replies);
	/* Packed full: 28 bytes an entry, 25 and 26 for the dots. */
	ATF_CHECK_EQ(1002, list(c, 1, 280, seen, &replies));
	ATF_CHECK_MSG(replies <= 101, "%u replies", replies);
	ATF_CHECK_EQ(1002, list(c, 1, 28, seen, &replies));
	t.tread.count = 20;
	ATF_CHECK_EQ(L_EINVAL, rpc(c, &t, &r));
	must_open(c, 2, "f000", P9_O_RDONLY);
	t.tread.fid = 2;
	ATF_CHECK_EQ(L_ENOTDIR, rpc(c, &t, &r));
}

/* A client that removes what it has read meets all the others. */
CASE(readdir_remove)
{
	struct p9_msg r, t = { .type = P9_TREADDIR };
	struct p9_dirent d[16];
	char name[8];
	const uint8_t *p;
	uint32_t left, len, n, removed = 0;

	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "f%03d", i);
		put_file(w, name, "");
	}
	must_open(c, 1, "", P9_O_RDONLY);
	t.tread.fid = 1;
	t.tread.count = 280;
	for (;;) {
		char names[16][8];

		ATF_REQUIRE_EQ(0, rpc(c, &t, &r));
		p = r.rread.data.p;
		left = r.rread.data.len;
		if (left == 0)
			break;
		for (n = 0; left > 0; left -= len, p += len, n++) {
			ATF_REQUIRE(n < 16);
			len = (uint32_t)p9_dirent_get(p, left, &d[n]);
			ATF_REQUIRE(len > 0 && d[n].name.len < 8);
			memcpy(names[n], d[n].name.s, d[n].name.len);
			names[n][d[n].name.len] = '\0';
			t.tread.offset = d[n].offset;
		}
		for (uint32_t i = 0; i < n; i++)
			if (names[i][0] == 'f') {
				ATF_REQUIRE_EQ(0, c_unlink(c, ROOT, names[i],
				    0));
				removed++;
			}
	}
	ATF_CHECK_EQ(500, removed);
}

CASE(fsync)
{
	struct p9_msg r, t = { .type = P9_TFSYNC };
	static const uint8_t old[] = { 11, 0, 0, 0, P9_TFSYNC, 9, 0,
	    1, 0, 0, 0 };

	must_create(c, 1, "f", "x");
	t.tfsync.fid = 1;
	ATF_CHECK_EQ(0, rpc(c, &t, &r));
	t.tfsync.datasync = 1;
	ATF_CHECK_EQ(0, rpc(c, &t, &r));
	send_bytes(c, old, sizeof(old));
	ATF_REQUIRE(recv_msg(c, &r));
	ATF_CHECK_EQ(P9_RFSYNC, r.type);
	ATF_CHECK_EQ(9, r.tag);
	t.tfsync.fid = ROOT;
	ATF_CHECK_EQ(L_EBADF, rpc(c, &t, &r));
	ATF_REQUIRE_EQ(0, c_walk(c, ROOT, 2, "", NULL));
	ATF_REQUIRE_EQ(0, c_open(c, 2, P9_O_RDONLY));
	t.tfsync.fid = 2;
	ATF_CHECK_EQ(0, rpc(c, &t, &r));
}

ATF_TC_WITHOUT_HEAD(readonly);
ATF_TC_BODY(readonly, tc)
{
	struct share_options o = { .readonly = true };
	struct p9_msg r, t = { .type = P9_TSETATTR };
	struct world w;
	struct client c;

	world_open(&w, &o, false);
	put_file(&w, "f", "x");
	hello(&c, &w, NULL);
	ATF_REQUIRE_EQ(0, c_walk(&c, ROOT, 1, "", NULL));
	ATF_CHECK_EQ(L_EROFS, c_mkdir(&c, ROOT, "d", 0755));
	ATF_CHECK_EQ(L_EROFS, c_create(&c, 1, "n", P9_O_RDWR | P9_O_CREATE,
	    0644));
	ATF_CHECK_EQ(L_EROFS, c_unlink(&c, ROOT, "f", 0));
	ATF_CHECK_EQ(L_EROFS, c_symlink(&c, ROOT, "l", "x"));
	ATF_CHECK_EQ(L_EROFS, c_rename(&c, ROOT, "f", ROOT, "g"));
	ATF_REQUIRE_EQ(0, c_walk(&c, ROOT, 2, "f", NULL));
	ATF_CHECK_EQ(L_EROFS, c_open(&c, 2, P9_O_RDWR));
	t.tsetattr.fid = 2;
	t.tsetattr.valid = P9_SETATTR_MODE;
	ATF_CHECK_EQ(L_EROFS, rpc(&c, &t, &r));
	ATF_CHECK_EQ(0, c_open(&c, 2, P9_O_RDONLY));
	client_close(&c);
	world_close(&w);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, version);
	ATF_TP_ADD_TC(tp, version_resets);
	ATF_TP_ADD_TC(tp, attach);
	ATF_TP_ADD_TC(tp, walk);
	ATF_TP_ADD_TC(tp, open_read_write);
	ATF_TP_ADD_TC(tp, sizes);
	ATF_TP_ADD_TC(tp, create);
	ATF_TP_ADD_TC(tp, unlinked_file_lives);
	ATF_TP_ADD_TC(tp, make);
	ATF_TP_ADD_TC(tp, symlinks);
	ATF_TP_ADD_TC(tp, links);
	ATF_TP_ADD_TC(tp, remove);
	ATF_TP_ADD_TC(tp, rename);
	ATF_TP_ADD_TC(tp, readdir);
	ATF_TP_ADD_TC(tp, readdir_remove);
	ATF_TP_ADD_TC(tp, fsync);
	ATF_TP_ADD_TC(tp, readonly);
	return (atf_no_error());
}
