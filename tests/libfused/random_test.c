/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Clients that know the protocol and mean no good: long random sequences of
 * requests that look right, with names and links that lead outwards, from
 * several threads at once.  Nothing beside the folder may be found, read or
 * changed, and what they leave in it must stay in it.
 */

#include <sys/stat.h>

#include <atf-c.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"
#include "fused.h"

#include "../../lib/libfused/wire.h"
#include "../libshare/fixture.h"
#include "../libshare/watch.h"

#define	CLIENTS		3
#define	KEEP		24
#define	ROOM		32768
#define	SECRET		"secret"

static const char *const outside[] = { ".", "secret", "sub", "sub/secret" };
#define	NOUTSIDE	(sizeof(outside) / sizeof(outside[0]))

static const char *const names[] = { "a", "b", "c", "d", "e", "f", "sub",
    "secret", "out", "in", "..", ".", "../out", "a/b", "" };
static const char *const targets[] = { "../out", "../out/secret", "..",
    "../../out/sub", "/", "/proc/self/root", "/proc/self/cwd/out", "a",
    "b/secret", "../in" };
#define	PICK(c, v)	((v)[below((c), sizeof(v) / sizeof((v)[0]))])

struct client {
	struct fused	*f;
	const struct stat *before;
	uint64_t	 random;
	uint64_t	 unique;
	uint64_t	 ops, good;
	uint64_t	 node[KEEP];
	uint64_t	 fh[KEEP];
	uint64_t	 dir[KEEP];
	union {
		struct fw_in_header	h;
		char			bytes[ROOM];
	} req;
	size_t		 len;
	union {
		struct fw_out_header	h;
		char			bytes[ROOM];
	} rep;
	size_t		 replen;
	const char	*wrong;		/* must stay NULL */
};

static uint64_t
below(struct client *c, uint64_t n)
{

	c->random ^= c->random << 13;
	c->random ^= c->random >> 7;
	c->random ^= c->random << 17;
	return ((c->random >> 20) % n);
}

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

static void
add_name(struct client *c)
{
	const char *s = PICK(c, names);

	add(c, s, strlen(s) + 1);
}

static const char *
body(const struct client *c)
{

	return (c->rep.bytes + sizeof(struct fw_out_header));
}

/* Send what was begun; 0, an errno, or -1 when there is no reply. */
static int
go(struct client *c)
{
	struct fused_call call = { .req = c->req.bytes, .reqlen = c->len,
	    .rep = c->rep.bytes, .repsize = sizeof(c->rep) };

	c->req.h.len = (uint32_t)c->len;
	fused_handle(c->f, &call);
	c->ops++;
	c->replen = call.replen;
	if (call.replen == 0)
		return (-1);
	if (call.replen < sizeof(c->rep.h) || call.replen != c->rep.h.len ||
	    c->rep.h.unique != c->unique)
		c->wrong = "a reply that is none";
	if (c->rep.h.error == 0)
		c->good++;
	return (-c->rep.h.error);
}

static void
check_ino(struct client *c, uint64_t ino)
{
	size_t i;

	for (i = 0; i < NOUTSIDE; i++)
		if ((uint64_t)c->before[i].st_ino == ino)
			c->wrong = "an inode of outside";
}

static uint64_t *
any(struct client *c, uint64_t *v)
{

	return (&v[below(c, KEEP)]);
}

/* One that a reply gave, the root, or (seldom) one that is nobody's. */
static uint64_t
a_node(struct client *c)
{
	uint64_t n = *any(c, c->node);

	if (below(c, 200) == 0)
		return (c->random);
	return (n == 0 || below(c, 4) == 0 ? FW_ROOT : n);
}

static void
forget(struct client *c, uint64_t node)
{
	struct fw_forget_in in = { .nlookup = 1 };

	begin(c, FW_FORGET, node);
	add(c, &in, sizeof(in));
	(void)go(c);
}

/* The reply begins with an entry: keep it in place of another. */
static void
got_entry(struct client *c)
{
	struct fw_entry_out eo;
	uint64_t *n = any(c, c->node), old = *n;

	memcpy(&eo, body(c), sizeof(eo));
	check_ino(c, eo.attr.ino);
	*n = eo.nodeid;
	if (old != 0)
		forget(c, old);
}

static void
release(struct client *c, uint32_t opcode, uint64_t fh)
{
	struct fw_release_in in = { .fh = fh };

	begin(c, opcode, FW_ROOT);
	add(c, &in, sizeof(in));
	(void)go(c);
}

static void
got_open(struct client *c, uint64_t *v, size_t at)
{
	struct fw_open_out oo;
	uint64_t *n = any(c, v), old = *n;

	memcpy(&oo, body(c) + at, sizeof(oo));
	*n = oo.fh;
	if (old != 0)
		release(c, v == c->dir ? FW_RELEASEDIR : FW_RELEASE, old);
}

static void
do_lookup(struct client *c)
{

	begin(c, FW_LOOKUP, a_node(c));
	add_name(c);
	if (go(c) == 0)
		got_entry(c);
}

static uint32_t
a_flags(struct client *c)
{
	static const int flags[] = { O_RDONLY, O_RDWR, O_WRONLY,
	    O_RDWR | O_TRUNC, O_WRONLY | O_APPEND, O_RDWR | O_EXCL };

	return ((uint32_t)PICK(c, flags));
}

static void
do_create(struct client *c)
{
	struct fw_create_in in = { .flags = a_flags(c),
	    .mode = S_IFREG | 0644, .umask = 022 };

	begin(c, FW_CREATE, a_node(c));
	add(c, &in, sizeof(in));
	add_name(c);
	if (go(c) != 0)
		return;
	got_open(c, c->fh, sizeof(struct fw_entry_out));
}

static void
do_mkdir(struct client *c)
{
	struct fw_mkdir_in in = { .mode = 0755 };

	begin(c, FW_MKDIR, a_node(c));
	add(c, &in, sizeof(in));
	add_name(c);
	if (go(c) == 0)
		got_entry(c);
}

static void
do_mknod(struct client *c)
{
	static const uint32_t modes[] = { S_IFREG | 0644, S_IFIFO | 0600,
	    S_IFSOCK | 0600, S_IFCHR | 0666, S_IFBLK | 0666, S_IFDIR | 0755 };
	struct fw_mknod_in in = { .mode = PICK(c, modes), .rdev = 0x103 };

	begin(c, FW_MKNOD, a_node(c));
	add(c, &in, sizeof(in));
	add_name(c);
	if (go(c) == 0)
		got_entry(c);
}

static void
do_symlink(struct client *c)
{
	const char *s = PICK(c, targets);

	begin(c, FW_SYMLINK, a_node(c));
	add_name(c);
	add(c, s, strlen(s) + 1);
	if (go(c) == 0)
		got_entry(c);
}

static void
do_link(struct client *c)
{
	struct fw_link_in in = { .oldnodeid = a_node(c) };

	begin(c, FW_LINK, a_node(c));
	add(c, &in, sizeof(in));
	add_name(c);
	if (go(c) == 0)
		got_entry(c);
}

static void
do_remove(struct client *c)
{

	begin(c, below(c, 3) == 0 ? FW_RMDIR : FW_UNLINK, a_node(c));
	add_name(c);
	(void)go(c);
}

static void
do_rename(struct client *c)
{
	struct fw_rename2_in in = { .newdir = a_node(c),
	    .flags = (uint32_t)below(c, 4) };

	begin(c, FW_RENAME2, a_node(c));
	add(c, &in, sizeof(in));
	add_name(c);
	add_name(c);
	(void)go(c);
}

static void
do_open(struct client *c)
{
	struct fw_open_in in = { .flags = a_flags(c) };
	bool dir = below(c, 3) == 0;

	begin(c, dir ? FW_OPENDIR : FW_OPEN, a_node(c));
	add(c, &in, sizeof(in));
	if (go(c) == 0)
		got_open(c, dir ? c->dir : c->fh, 0);
}

static void
do_read(struct client *c)
{
	struct fw_read_in in = { .fh = *any(c, c->fh),
	    .offset = below(c, 4096), .size = 4096 };

	begin(c, FW_READ, FW_ROOT);
	add(c, &in, sizeof(in));
	if (go(c) == 0 && memmem(body(c), c->replen -
	    sizeof(struct fw_out_header), SECRET, strlen(SECRET)) != NULL)
		c->wrong = "bytes of outside";
}

static void
do_write(struct client *c)
{
	struct fw_write_in in = { .fh = *any(c, c->fh),
	    .offset = below(c, 65536), .size = 512 };
	char data[512];

	memset(data, 'w', sizeof(data));
	begin(c, FW_WRITE, FW_ROOT);
	add(c, &in, sizeof(in));
	add(c, data, sizeof(data));
	(void)go(c);
}

static void
do_readdir(struct client *c)
{
	struct fw_read_in in = { .fh = *any(c, c->dir),
	    .offset = below(c, 4), .size = 8192 };
	struct fw_dirent d;
	const char *p, *end;

	begin(c, FW_READDIR, FW_ROOT);
	add(c, &in, sizeof(in));
	if (go(c) != 0)
		return;
	end = c->rep.bytes + c->replen;
	for (p = body(c); p < end; p += (sizeof(d) + d.namelen + 7) & ~7UL) {
		if ((size_t)(end - p) < sizeof(d)) {
			c->wrong = "half an entry";
			return;
		}
		memcpy(&d, p, sizeof(d));
		if ((size_t)(end - p) < sizeof(d) + d.namelen ||
		    memchr(p + sizeof(d), '/', d.namelen) != NULL)
			c->wrong = "a name that is none";
		/* What ".." is, the client's kernel knows better. */
		if (d.namelen != 2 || memcmp(p + sizeof(d), "..", 2) != 0)
			check_ino(c, d.ino);
	}
}

static void
do_attr(struct client *c)
{
	struct fw_setattr_in in = { .valid = FW_FATTR_MODE,
	    .mode = (uint32_t)below(c, 010000) | 0700 };
	struct fw_getattr_in get = { .fh = *any(c, c->fh) };
	struct fw_attr_out out;

	if (below(c, 2) == 0) {
		begin(c, FW_GETATTR, a_node(c));
		add(c, &get, sizeof(get));
	} else {
		if (below(c, 3) == 0) {
			in.valid = FW_FATTR_SIZE;
			in.size = below(c, 65536);
		}
		begin(c, FW_SETATTR, a_node(c));
		add(c, &in, sizeof(in));
	}
	if (go(c) != 0)
		return;
	memcpy(&out, body(c), sizeof(out));
	check_ino(c, out.attr.ino);
}

static void
do_xattr(struct client *c)
{
	static const char value[] = "user.x\0value";
	struct fw_setxattr_in in = { .size = 5 };
	struct fw_getxattr_in get = { .size = 256 };
	bool set = below(c, 2) == 0;

	begin(c, set ? FW_SETXATTR : FW_GETXATTR, a_node(c));
	if (set)
		add(c, &in, sizeof(in));
	else
		add(c, &get, sizeof(get));
	add(c, value, set ? sizeof(value) - 1 : sizeof("user.x"));
	(void)go(c);
}

static void
do_other(struct client *c)
{
	struct fw_lk_in lk = { .fh = *any(c, c->fh), .owner = c->random % 3,
	    .lk = { .end = 100, .type = F_WRLCK } };
	struct fw_copy_in copy = { .fh_in = *any(c, c->fh),
	    .fh_out = *any(c, c->fh), .nodeid_out = a_node(c), .len = 4096 };

	switch (below(c, 3)) {
	case 0:
		begin(c, FW_READLINK, a_node(c));
		break;
	case 1:
		begin(c, FW_SETLK, a_node(c));
		add(c, &lk, sizeof(lk));
		break;
	default:
		begin(c, FW_COPY_FILE_RANGE, FW_ROOT);
		add(c, &copy, sizeof(copy));
	}
	(void)go(c);
}

static void *
client_main(void *arg)
{
	static void (*const deeds[])(struct client *) = { do_lookup,
	    do_lookup, do_lookup, do_create, do_mkdir, do_mknod, do_symlink,
	    do_link, do_remove, do_remove, do_rename, do_rename, do_open,
	    do_open, do_read, do_write, do_readdir, do_attr, do_xattr,
	    do_other };
	struct client *c = arg;
	const char *s = getenv("RANDOM_REQUESTS");
	uint64_t n = 20000;

	if (s != NULL)
		n = strtoull(s, NULL, 10);
	while (c->ops < n && c->wrong == NULL)
		PICK(c, deeds)(c);
	return (NULL);
}

/* Seen from the host: nothing below is, or is a name of, what is outside. */
static void
check_tree(int fd, struct client *c)
{
	struct dirent *de;
	struct stat st;
	DIR *d;
	int sub;

	ATF_REQUIRE((d = fdopendir(fd)) != NULL);
	while ((de = readdir(d)) != NULL) {
		if (strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0)
			continue;
		ATF_REQUIRE(fstatat(fd, de->d_name, &st,
		    AT_SYMLINK_NOFOLLOW) == 0);
		check_ino(c, (uint64_t)st.st_ino);
		ATF_CHECK_MSG(!S_ISCHR(st.st_mode) && !S_ISBLK(st.st_mode),
		    "a device: %s", de->d_name);
		if (!S_ISDIR(st.st_mode))
			continue;
		ATF_REQUIRE((sub = openat(fd, de->d_name, O_RDONLY |
		    O_DIRECTORY | O_NOFOLLOW)) != -1);
		check_tree(sub, c);
	}
	(void)closedir(d);
}

static void
look_outside(int out, struct stat *st)
{
	size_t i;

	for (i = 0; i < NOUTSIDE; i++)
		ATF_REQUIRE(fstatat(out, outside[i], &st[i], 0) == 0);
}

static void
check_outside(const struct stat *a, const struct stat *b)
{
	size_t i;

	for (i = 0; i < NOUTSIDE; i++) {
		ATF_CHECK_EQ(a[i].st_ino, b[i].st_ino);
		ATF_CHECK_EQ(a[i].st_nlink, b[i].st_nlink);
		ATF_CHECK_EQ(a[i].st_mode, b[i].st_mode);
		ATF_CHECK_EQ(a[i].st_size, b[i].st_size);
		ATF_CHECK_EQ(a[i].st_ctim.tv_sec, b[i].st_ctim.tv_sec);
		ATF_CHECK_EQ(a[i].st_ctim.tv_nsec, b[i].st_ctim.tv_nsec);
	}
}

static void
hello(struct client *c)
{
	struct fw_init_in in = { .major = 7, .minor = 38,
	    .flags = UINT32_MAX, .flags2 = UINT32_MAX };

	begin(c, FW_INIT, 0);
	add(c, &in, sizeof(in));
	ATF_REQUIRE_EQ(0, go(c));
}

ATF_TC(sequences);
ATF_TC_HEAD(sequences, tc)
{
	atf_tc_set_md_var(tc, "timeout", "600");
}
ATF_TC_BODY(sequences, tc)
{
	static struct client c[CLIENTS];
	struct stat before[NOUTSIDE], after[NOUTSIDE];
	struct share_stats stats;
	pthread_t t[CLIENTS];
	struct fixture f;
	struct watch *w;
	struct fused *fused;
	struct co_error e;
	const char *s = getenv("RANDOM_SEED");
	uint64_t seed;
	int i;

	seed = (uint64_t)getpid();
	if (s != NULL)
		seed = strtoull(s, NULL, 10);
	printf("RANDOM_SEED=%llu\n", (unsigned long long)seed);
	fixture_open(&f, NULL, NULL);
	host_file(f.out, "secret", SECRET);
	ATF_REQUIRE(mkdirat(f.out, "sub", 0755) == 0);
	host_file(f.out, "sub/secret", SECRET);
	look_outside(f.out, before);
	w = watch_open("out", "out/sub");
	ATF_REQUIRE(fused_new(f.s, NULL, &fused, &e) == 0);
	for (i = 0; i < CLIENTS; i++) {
		c[i].f = fused;
		c[i].before = before;
		c[i].random = (seed + (uint64_t)i + 1) *
		    UINT64_C(0x9E3779B97F4A7C15);
	}
	hello(&c[0]);
	for (i = 0; i < CLIENTS; i++)
		ATF_REQUIRE(pthread_create(&t[i], NULL, client_main,
		    &c[i]) == 0);
	for (i = 0; i < CLIENTS; i++) {
		ATF_REQUIRE(pthread_join(t[i], NULL) == 0);
		ATF_CHECK_MSG(c[i].wrong == NULL, "%s", c[i].wrong);
		printf("%llu requests, %llu done\n",
		    (unsigned long long)c[i].ops,
		    (unsigned long long)c[i].good);
		/* Else nothing was tried. */
		ATF_CHECK(c[i].good > c[i].ops / 20);
	}
	ATF_CHECK_EQ(0, watch_events(w));
	look_outside(f.out, after);
	check_outside(before, after);
	check_tree(dup(f.in), &c[0]);
	ATF_CHECK_MSG(c[0].wrong == NULL, "in the tree: %s", c[0].wrong);
	begin(&c[0], FW_DESTROY, 0);
	ATF_CHECK_EQ(0, go(&c[0]));
	share_stats(f.s, &stats);
	ATF_CHECK_EQ(1, stats.nodes);
	ATF_CHECK_EQ(0, stats.files);
	ATF_CHECK_EQ(0, stats.dirs);
	ATF_CHECK_EQ(0, stats.locks);
	fused_free(fused);
	fixture_close(&f);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, sequences);
	return (atf_no_error());
}
