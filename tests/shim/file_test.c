/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Files inside, served by the real shim.
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

static struct client c;
static char dir[1024];

/* A path in the test's own directory; a few may be in use at once. */
static const char *
at(const char *name)
{
	static char path[8][2048];
	static int n;

	n = (n + 1) % 8;
	snprintf(path[n], sizeof(path[n]), "%s/%s", dir, name);
	return (path[n]);
}

static void
begin(void)
{

	ATF_REQUIRE(getcwd(dir, sizeof(dir)) != NULL);
	client_start(&c, NULL);
}

static void
put(const char *name, const char *text)
{
	FILE *fp = fopen(name, "w");

	ATF_REQUIRE(fp != NULL);
	ATF_REQUIRE(fwrite(text, 1, strlen(text), fp) == strlen(text));
	ATF_REQUIRE(fclose(fp) == 0);
}

static struct req *
write_file(struct shim_request q, const void *data, size_t len)
{
	struct req *r;

	q.op = SHIM_OP_WRITE;
	r = client_request(&c, q);
	client_send(&c, r, data, len, true);
	client_wait(&c, &r->done);
	return (r);
}

static const struct item *
find(const struct req *r, const char *path)
{

	for (size_t i = 0; i < r->nitems; i++)
		if (strcmp(r->item[i].path, path) == 0)
			return (&r->item[i]);
	return (NULL);
}

ATF_TC_WITHOUT_HEAD(stat);
ATF_TC_BODY(stat, tc)
{
	struct req *r;

	put("f", "12345");
	ATF_REQUIRE(chmod("f", 0640) == 0);
	ATF_REQUIRE(symlink("f", "l") == 0);
	begin();
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_STAT,
	    .path = at("f") });
	ATF_REQUIRE_EQ(0, r->result.error);
	ATF_REQUIRE_EQ(1, r->nitems);
	ATF_CHECK_EQ(SHIM_FILE, r->item[0].kind);
	ATF_CHECK_EQ(5, r->item[0].size);
	ATF_CHECK_EQ(0640, r->item[0].mode);
	ATF_CHECK_EQ(getuid(), r->item[0].uid);
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_STAT,
	    .path = at("l") });
	ATF_CHECK_EQ(SHIM_LINK, r->item[0].kind);
	ATF_CHECK_STREQ("f", r->item[0].target);
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_STAT,
	    .path = at("l"), .follow = true });
	ATF_CHECK_EQ(SHIM_FILE, r->item[0].kind);
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_STAT,
	    .path = at("none") });
	ATF_CHECK_EQ(ENOENT, r->result.error);
	ATF_CHECK_EQ(0, r->nitems);
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_STAT,
	    .path = at("f/x") });
	ATF_CHECK_EQ(ENOTDIR, r->result.error);
	client_end(&c);
}

ATF_TC_WITHOUT_HEAD(list);
ATF_TC_BODY(list, tc)
{
	const struct item *t;
	struct req *r;
	char name[64];

	ATF_REQUIRE(mkdir("d", 0755) == 0 && mkdir("d/a", 0700) == 0 &&
	    mkdir("d/a/b", 0755) == 0);
	put("d/a/b/deep", "x");
	put("d/top", "");
	put("d/\xff\xfe \xe2\x82\xac\n\"", "");
	ATF_REQUIRE(symlink("..", "d/up") == 0);
	begin();
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_LIST,
	    .path = at("d") });
	ATF_CHECK_EQ(0, r->result.error);
	ATF_CHECK_EQ(4, r->nitems);
	ATF_CHECK(find(r, "\xff\xfe \xe2\x82\xac\n\"") != NULL);
	ATF_REQUIRE((t = find(r, "a")) != NULL);
	ATF_CHECK(t->kind == SHIM_DIR && t->mode == 0700);
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_LIST,
	    .path = at("d"), .depth = 2 });
	ATF_CHECK_EQ(5, r->nitems);
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_LIST,
	    .path = at("d"), .depth = 32 });
	ATF_CHECK_EQ(6, r->nitems);
	ATF_CHECK(find(r, "a/b/deep") != NULL);
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_LIST,
	    .path = at("d/top") });
	ATF_CHECK_EQ(ENOTDIR, r->result.error);
	/* More entries than the window has, to somebody who is slow. */
	ATF_REQUIRE(mkdir("many", 0755) == 0);
	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "many/%d", i);
		put(name, "");
	}
	r = client_request(&c, (struct shim_request){ .op = SHIM_OP_LIST,
	    .path = at("many") });
	r->hold = true;
	for (int i = 0; i < 1000 && r->nitems < 256; i++)
		client_poll(&c, 50);
	for (int i = 0; i < 5; i++)
		client_poll(&c, 20);
	ATF_CHECK_EQ(256, r->nitems);
	r->hold = false;
	for (int i = 0; i < 256; i++)
		shim_entry_consumed(c.s, r->number);
	client_wait(&c, &r->done);
	ATF_CHECK_EQ(3000, r->nitems);
	client_end(&c);
}

ATF_TC_WITHOUT_HEAD(readwrite);
ATF_TC_BODY(readwrite, tc)
{
	struct stat st;
	struct req *r;

	begin();
	r = write_file((struct shim_request){ .path = at("new") },
	    "hello\0world", 11);
	ATF_CHECK_EQ(0, r->result.error);
	ATF_CHECK_EQ(11, r->result.bytes);
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_READ,
	    .path = at("new") });
	ATF_CHECK_EQ(0, r->result.error);
	ATF_REQUIRE_EQ(11, r->len);
	ATF_CHECK(memcmp(r->data, "hello\0world", 11) == 0);
	ATF_CHECK_EQ(1, r->nitems);
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_READ,
	    .path = at("new"), .offset = 6, .length = 3 });
	ATF_CHECK(r->len == 3 && memcmp(r->data, "wor", 3) == 0);
	write_file((struct shim_request){ .path = at("new"),
	    .append = true }, "+", 1);
	ATF_CHECK(stat("new", &st) == 0 && st.st_size == 12);
	write_file((struct shim_request){ .path = at("new"), .mode = 0600 },
	    "x", 1);
	ATF_CHECK(stat("new", &st) == 0 && st.st_size == 1 &&
	    (st.st_mode & 07777) == 0600);
	r = write_file((struct shim_request){ .path = at("p/q/r"),
	    .parents = true }, "", 0);
	ATF_CHECK_EQ(0, r->result.error);
	ATF_CHECK(stat("p/q/r", &st) == 0 && st.st_size == 0);
	r = write_file((struct shim_request){ .path = at("no/way") }, "x", 1);
	ATF_CHECK_EQ(ENOENT, r->result.error);
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_READ,
	    .path = at("p") });
	ATF_CHECK_EQ(EISDIR, r->result.error);
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_READ,
	    .path = at("none") });
	ATF_CHECK_EQ(ENOENT, r->result.error);
	client_end(&c);
}

/* All or nothing: also when the host changes its mind, or goes. */
ATF_TC_WITHOUT_HEAD(atomic);
ATF_TC_BODY(atomic, tc)
{
	static char block[100000];
	struct dirent *de;
	struct stat st;
	struct req *r;
	int n = 0;
	DIR *d;

	ATF_REQUIRE(mkdir("d", 0755) == 0);
	put("d/f", "old");
	ATF_REQUIRE(chmod("d/f", 0604) == 0);
	begin();
	r = client_request(&c, (struct shim_request){ .op = SHIM_OP_WRITE,
	    .path = at("d/f"), .atomic = true });
	client_send(&c, r, block, sizeof(block), false);
	for (int i = 0; i < 10; i++)
		client_poll(&c, 20);
	ATF_CHECK(stat("d/f", &st) == 0 && st.st_size == 3);
	ATF_REQUIRE(shim_close(c.s, r->number, &c.e) == 0);
	client_wait(&c, &r->done);
	ATF_CHECK_EQ(ECANCELED, r->result.error);
	ATF_CHECK(stat("d/f", &st) == 0 && st.st_size == 3);
	ATF_CHECK_EQ(-1, shim_send(c.s, r->number, "x", 1, false));
	r = write_file((struct shim_request){ .path = at("d/f"),
	    .atomic = true }, block, sizeof(block));
	ATF_CHECK_EQ(0, r->result.error);
	ATF_CHECK(stat("d/f", &st) == 0 && st.st_size == sizeof(block) &&
	    (st.st_mode & 07777) == 0604);
	/* Begun, and left alone. */
	r = client_request(&c, (struct shim_request){ .op = SHIM_OP_WRITE,
	    .path = at("d/f"), .atomic = true });
	client_send(&c, r, "new", 3, false);
	client_poll(&c, 100);
	client_end(&c);
	ATF_CHECK(stat("d/f", &st) == 0 && st.st_size == sizeof(block));
	d = opendir("d");
	while ((de = readdir(d)) != NULL)
		n += de->d_name[0] != '.';
	closedir(d);
	ATF_CHECK_EQ_MSG(1, n, "something was left behind");
}

/* The bytes go by a pipe; what is said about them goes as ever. */
static struct req *
by_pipe(struct shim_request q, int *end)
{
	struct req *r;
	int p[2];

	ATF_REQUIRE(pipe2(p, O_CLOEXEC) == 0);
	*end = p[q.op == SHIM_OP_WRITE];
	q.has_fd = true;
	q.fd = p[q.op != SHIM_OP_WRITE];
	r = client_request(&c, q);
	return (r);
}

ATF_TC_WITHOUT_HEAD(direct);
ATF_TC_BODY(direct, tc)
{
	size_t len = 8 << 20, got = 0;
	char *big = malloc(len), *back = malloc(len + 1);
	struct co_error e;
	struct stat st;
	struct req *r;
	ssize_t n;
	int fd;

	ATF_REQUIRE(big != NULL && back != NULL);
	for (size_t i = 0; i < len; i++)
		big[i] = (char)count_byte(i);
	begin();
	r = by_pipe((struct shim_request){ .op = SHIM_OP_WRITE,
	    .path = at("p/big"), .parents = true, .mode = 0600 }, &fd);
	client_poll(&c, 20);
	for (size_t i = 0; i < len; i += (size_t)n)
		ATF_REQUIRE((n = write(fd, big + i, len - i)) > 0);
	client_poll(&c, 50);
	ATF_CHECK(!r->done);
	ATF_REQUIRE(close(fd) == 0);
	client_wait(&c, &r->done);
	ATF_CHECK_EQ(0, r->result.error);
	ATF_CHECK_EQ(len, r->result.bytes);
	ATF_CHECK(stat("p/big", &st) == 0 && (size_t)st.st_size == len &&
	    (st.st_mode & 07777) == 0600);
	r = by_pipe((struct shim_request){ .op = SHIM_OP_READ,
	    .path = at("p/big"), .offset = 1 }, &fd);
	client_poll(&c, 20);
	while ((n = read(fd, back + got, len + 1 - got)) > 0)
		got += (size_t)n;
	client_wait(&c, &r->done);
	ATF_CHECK_EQ(0, r->result.error);
	ATF_CHECK_EQ(len - 1, r->result.bytes);
	ATF_REQUIRE_EQ(len - 1, got);
	ATF_CHECK(memcmp(back, big + 1, got) == 0);
	ATF_CHECK_EQ(0, r->len);
	ATF_REQUIRE_EQ(1, r->nitems);
	ATF_CHECK_EQ((int64_t)len, r->item[0].size);
	close(fd);
	/* Files that can't be spliced are copied. */
	r = by_pipe((struct shim_request){ .op = SHIM_OP_READ,
	    .path = "/proc/self/mounts", .length = 5 }, &fd);
	client_wait(&c, &r->done);
	ATF_CHECK_EQ(0, r->result.error);
	ATF_CHECK_EQ(5, read(fd, back, 100));
	close(fd);
	/* Who does not read any more, or closes it, ends it. */
	r = by_pipe((struct shim_request){ .op = SHIM_OP_READ,
	    .path = at("p/big") }, &fd);
	close(fd);
	client_wait(&c, &r->done);
	ATF_CHECK(r->result.error != 0);
	r = by_pipe((struct shim_request){ .op = SHIM_OP_WRITE,
	    .path = at("p/other") }, &fd);
	client_poll(&c, 20);
	ATF_REQUIRE(shim_close(c.s, r->number, &c.e) == 0);
	client_wait(&c, &r->done);
	ATF_CHECK_EQ(ECANCELED, r->result.error);
	close(fd);
	r = by_pipe((struct shim_request){ .op = SHIM_OP_READ,
	    .path = at("none") }, &fd);
	client_wait(&c, &r->done);
	ATF_CHECK_EQ(ENOENT, r->result.error);
	ATF_CHECK_EQ(0, read(fd, back, 1));
	close(fd);
	ATF_CHECK_EQ(-1, shim_request(c.s, &(struct shim_request){
	    .op = SHIM_OP_WRITE, .path = "x", .atomic = true,
	    .has_fd = true, .fd = 0 }, NULL, NULL, &e));
	ATF_CHECK_EQ(CO_EPROTO_ARGUMENT, e.code);
	client_end(&c);
	free(big);
	free(back);
}

ATF_TC_WITHOUT_HEAD(large);
ATF_TC_BODY(large, tc)
{
	size_t len = 64 << 20;
	char *big = malloc(len);
	struct req *r, *slow;

	ATF_REQUIRE(big != NULL);
	for (size_t i = 0; i < len; i++)
		big[i] = (char)count_byte(i);
	begin();
	r = write_file((struct shim_request){ .path = at("big") }, big, len);
	ATF_CHECK_EQ(0, r->result.error);
	ATF_CHECK_EQ(len, r->result.bytes);
	slow = client_request(&c, (struct shim_request){ .op = SHIM_OP_READ,
	    .path = at("big") });
	slow->hold = true;
	slow->discard = true;
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_READ,
	    .path = at("big") });
	ATF_REQUIRE_EQ(len, r->len);
	ATF_CHECK(memcmp(r->data, big, len) == 0);
	ATF_CHECK(!slow->done && slow->got <= 131072);
	ATF_REQUIRE(shim_close(c.s, slow->number, &c.e) == 0);
	client_wait(&c, &slow->done);
	ATF_CHECK_EQ(ECANCELED, slow->result.error);
	client_end(&c);
	free(big);
}

ATF_TC_WITHOUT_HEAD(change);
ATF_TC_BODY(change, tc)
{
	struct stat st;
	struct req *r;

	begin();
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_MKDIR,
	    .path = at("a"), .mode = 0700 });
	ATF_CHECK_EQ(0, r->result.error);
	ATF_CHECK(stat("a", &st) == 0 && (st.st_mode & 07777) == 0700);
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_MKDIR,
	    .path = at("a") });
	ATF_CHECK_EQ(EEXIST, r->result.error);
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_MKDIR,
	    .path = at("a/b/c"), .parents = true });
	ATF_CHECK_EQ(0, r->result.error);
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_MKDIR,
	    .path = at("a/b/c"), .parents = true });
	ATF_CHECK_EQ(0, r->result.error);
	put("a/b/f", "x");
	put("keep", "x");
	ATF_REQUIRE(symlink("../../keep", "a/b/link") == 0);
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_CHMOD,
	    .path = at("a/b/f"), .mode = 0 });
	ATF_CHECK_EQ(0, r->result.error);
	ATF_CHECK(stat("a/b/f", &st) == 0 && (st.st_mode & 07777) == 0);
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_MOVE,
	    .path = at("a/b"), .to = at("moved") });
	ATF_CHECK_EQ(0, r->result.error);
	ATF_CHECK(stat("moved/f", &st) == 0);
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_REMOVE,
	    .path = at("moved") });
	ATF_CHECK_EQ(ENOTEMPTY, r->result.error);
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_REMOVE,
	    .path = at("moved"), .recursive = true });
	ATF_CHECK_EQ_MSG(0, r->result.error, "%s", r->message);
	ATF_CHECK(stat("moved", &st) != 0);
	ATF_CHECK(stat("keep", &st) == 0);
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_REMOVE,
	    .path = at("a") });
	ATF_CHECK_EQ(0, r->result.error);
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_REMOVE,
	    .path = at("keep") });
	ATF_CHECK_EQ(0, r->result.error);
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_REMOVE,
	    .path = at("keep") });
	ATF_CHECK_EQ(ENOENT, r->result.error);
	client_end(&c);
}

/* Done by the user it is done for. */
ATF_TC(users);
ATF_TC_HEAD(users, tc)
{
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(users, tc)
{
	char base[] = "/tmp/shim-users.XXXXXX", path[64], link[64];
	struct stat st;
	struct req *r;

	ATF_REQUIRE(mkdtemp(base) != NULL && chmod(base, 01777) == 0);
	snprintf(path, sizeof(path), "%s/f", base);
	snprintf(link, sizeof(link), "%s/l", base);
	ATF_REQUIRE(symlink("/etc/passwd", link) == 0);
	begin();
	r = write_file((struct shim_request){ .path = path,
	    .user = "nobody" }, "x", 1);
	ATF_CHECK_EQ(0, r->result.error);
	ATF_CHECK(stat(path, &st) == 0 && st.st_uid == 65534);
	r = write_file((struct shim_request){ .path = link,
	    .user = "nobody" }, "x", 1);
	ATF_CHECK_EQ(EACCES, r->result.error);
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_READ,
	    .path = "/etc/shadow", .user = "nobody" });
	ATF_CHECK(r->result.error != 0);
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_READ,
	    .path = path, .user = "no such user" });
	ATF_CHECK_EQ(ENOENT, r->result.error);
	client_end(&c);
	unlink(path);
	unlink(link);
	rmdir(base);
}

static bool
seen(const struct req *r, int event, const char *path)
{

	for (size_t i = 0; i < r->nitems; i++)
		if (r->item[i].event == event &&
		    strcmp(r->item[i].path, path) == 0)
			return (true);
	return (false);
}

static void
expect(struct req *r, enum shim_event event, const char *path)
{
	co_moment end = co_after(WAIT_MS);

	while (!seen(r, (int)event, path) && !r->done && co_left(end) > 0)
		client_poll(&c, 50);
	ATF_CHECK_MSG(seen(r, (int)event, path), "no event %d of %s",
	    (int)event, path);
}

ATF_TC_WITHOUT_HEAD(watch);
ATF_TC_BODY(watch, tc)
{
	struct req *r, *deep;

	ATF_REQUIRE(mkdir("w", 0755) == 0 && mkdir("w/sub", 0755) == 0);
	put("w/old", "x");
	begin();
	r = client_request(&c, (struct shim_request){ .op = SHIM_OP_WATCH,
	    .path = at("w") });
	deep = client_request(&c, (struct shim_request){ .op = SHIM_OP_WATCH,
	    .path = at("w"), .recursive = true });
	while ((r->nitems == 0 || deep->nitems == 0) && !c.lost)
		client_poll(&c, 50);
	put("w/new", "");
	expect(r, SHIM_CREATE, "new");
	put("w/old", "changed");
	expect(r, SHIM_WRITE, "old");
	ATF_REQUIRE(chmod("w/old", 0600) == 0);
	expect(r, SHIM_CHMOD, "old");
	ATF_REQUIRE(rename("w/old", "w/other") == 0);
	expect(r, SHIM_CREATE, "other");
	ATF_REQUIRE(unlink("w/other") == 0);
	expect(r, SHIM_REMOVE, "other");
	put("w/sub/inner", "x");
	expect(deep, SHIM_CREATE, "sub/inner");
	ATF_REQUIRE(mkdir("w/sub/more", 0755) == 0);
	expect(deep, SHIM_CREATE, "sub/more");
	put("w/sub/more/most", "x");
	expect(deep, SHIM_CREATE, "sub/more/most");
	ATF_CHECK(!seen(r, SHIM_CREATE, "sub/inner"));
	ATF_REQUIRE(shim_close(c.s, r->number, &c.e) == 0);
	client_wait(&c, &r->done);
	ATF_CHECK_EQ(ECANCELED, r->result.error);
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_WATCH,
	    .path = at("nowhere") });
	ATF_CHECK_EQ(ENOENT, r->result.error);
	client_end(&c);
}

/* A request that hangs for ever hangs nothing else, and can be closed. */
ATF_TC_WITHOUT_HEAD(hanging);
ATF_TC_BODY(hanging, tc)
{
	struct req *r[10], *other;

	ATF_REQUIRE(mkfifo("fifo", 0600) == 0);
	begin();
	for (int i = 0; i < 10; i++)
		r[i] = client_request(&c, (struct shim_request){
		    .op = SHIM_OP_READ, .path = at("fifo") });
	other = client_do(&c, (struct shim_request){ .op = SHIM_OP_STAT,
	    .path = at("fifo") });
	ATF_CHECK_EQ(SHIM_FIFO, other->item[0].kind);
	ATF_CHECK_STREQ("fine\n", client_sh(&c, "echo fine")->out[0]);
	for (int i = 0; i < 10; i++) {
		ATF_CHECK(!r[i]->done);
		ATF_REQUIRE(shim_close(c.s, r[i]->number, &c.e) == 0);
		client_wait(&c, &r[i]->done);
		ATF_CHECK_EQ(ECANCELED, r[i]->result.error);
	}
	client_end(&c);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, stat);
	ATF_TP_ADD_TC(tp, list);
	ATF_TP_ADD_TC(tp, readwrite);
	ATF_TP_ADD_TC(tp, atomic);
	ATF_TP_ADD_TC(tp, direct);
	ATF_TP_ADD_TC(tp, large);
	ATF_TP_ADD_TC(tp, change);
	ATF_TP_ADD_TC(tp, users);
	ATF_TP_ADD_TC(tp, watch);
	ATF_TP_ADD_TC(tp, hanging);
	return (atf_no_error());
}
