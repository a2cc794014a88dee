/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The whole stack with the interceptor below: what a client did in a step is
 * gone after its rollback, and back after the redo.
 */

#include <sys/stat.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "undo.h"

#include "client.h"

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

static void
check_file(struct world *w, const char *path, const char *content)
{
	char buf[256];
	ssize_t n;
	int fd;

	fd = openat(w->dir, path, O_RDONLY | O_NOFOLLOW);
	if (content == NULL) {
		ATF_CHECK_MSG(fd == -1, "%s is there", path);
		if (fd != -1)
			close(fd);
		return;
	}
	ATF_REQUIRE_MSG(fd != -1, "%s: %s", path, strerror(errno));
	n = read(fd, buf, sizeof(buf));
	ATF_CHECK_MSG(n == (ssize_t)strlen(content) &&
	    memcmp(buf, content, (size_t)n) == 0, "%s: other content", path);
	close(fd);
}

/* One of each kind of change. */
static void
mutate(struct client *c)
{
	struct p9_msg r, t;
	uint32_t n = 3;

	must_open(c, 1, "written", P9_O_RDWR);
	ATF_REQUIRE_EQ(0, c_write(c, 1, 0, "NEW", &n));
	must_open(c, 2, "truncated", P9_O_RDWR | P9_O_TRUNC);
	ATF_REQUIRE_EQ(0, c_unlink(c, ROOT, "removed", 0));
	ATF_REQUIRE_EQ(0, c_rename(c, ROOT, "moved", ROOT, "target"));
	must_create(c, 3, "created", "fresh");
	ATF_REQUIRE_EQ(0, c_mkdir(c, ROOT, "dir", 0755));
	ATF_REQUIRE_EQ(0, c_symlink(c, ROOT, "link", "nowhere"));
	ATF_REQUIRE_EQ(0, c_unlink(c, ROOT, "old", P9_AT_REMOVEDIR));
	ATF_REQUIRE_EQ(0, c_walk(c, ROOT, 4, "attr", NULL));
	t = (struct p9_msg){ .type = P9_TSETATTR, .tsetattr = { .fid = 4,
	    .valid = P9_SETATTR_MODE | P9_SETATTR_SIZE, .mode = 0600,
	    .size = 1 } };
	ATF_REQUIRE_EQ(0, rpc(c, &t, &r));
	t = (struct p9_msg){ .type = P9_TLINK, .tlink = { ROOT, 4,
	    str("hard") } };
	ATF_REQUIRE_EQ(0, rpc(c, &t, &r));
	for (uint32_t fid = 1; fid <= 4; fid++)
		ATF_REQUIRE_EQ(0, c_clunk(c, fid));
}

static void
check_before(struct world *w)
{
	struct stat st;

	check_file(w, "written", "old content");
	check_file(w, "truncated", "something");
	check_file(w, "removed", "precious");
	check_file(w, "moved", "m");
	check_file(w, "target", "t");
	check_file(w, "attr", "attr");
	check_file(w, "created", NULL);
	check_file(w, "hard", NULL);
	ATF_CHECK(fstatat(w->dir, "dir", &st, 0) != 0);
	ATF_CHECK(fstatat(w->dir, "link", &st, AT_SYMLINK_NOFOLLOW) != 0);
	ATF_CHECK(fstatat(w->dir, "old", &st, 0) == 0);
	ATF_REQUIRE(fstatat(w->dir, "attr", &st, 0) == 0);
	ATF_CHECK_EQ(0644, st.st_mode & 07777);
}

static void
check_after(struct world *w)
{
	struct stat st;

	check_file(w, "written", "NEW content");
	check_file(w, "truncated", "");
	check_file(w, "removed", NULL);
	check_file(w, "moved", NULL);
	check_file(w, "target", "m");
	check_file(w, "created", "fresh");
	check_file(w, "attr", "a");
	check_file(w, "hard", "a");
	ATF_CHECK(fstatat(w->dir, "old", &st, 0) != 0);
	ATF_CHECK(fstatat(w->dir, "dir", &st, 0) == 0);
}

static void
prepare(struct world *w)
{

	umask(022);
	world_open(w, NULL, true);
	put_file(w, "written", "old content");
	put_file(w, "truncated", "something");
	put_file(w, "removed", "precious");
	put_file(w, "moved", "m");
	put_file(w, "target", "t");
	put_file(w, "attr", "attr");
	ATF_REQUIRE(mkdirat(w->dir, "old", 0755) == 0);
}

ATF_TC_WITHOUT_HEAD(rollback);
ATF_TC_BODY(rollback, tc)
{
	struct co_error e;
	struct world w;
	struct client c;

	prepare(&w);
	hello(&c, &w, NULL);
	ATF_REQUIRE(undo_step_begin(w.undo, 1, UNDO_COMMAND, "x", &e) == 0);
	mutate(&c);
	ATF_REQUIRE(undo_step_complete(w.undo, 1, 0, &e) == 0);
	check_after(&w);
	usleep(200000);
	undo_tick(w.undo);
	ATF_REQUIRE_MSG(undo_rollback(w.undo, 1, false, NULL, NULL, &e) == 0,
	    "%s", e.message);
	check_before(&w);
	ATF_REQUIRE_MSG(undo_redo(w.undo, 1, NULL, NULL, &e) == 0, "%s",
	    e.message);
	check_after(&w);
	client_close(&c);
	world_close(&w);
}

/* A client that stays connected sees the tree of the rollback. */
ATF_TC_WITHOUT_HEAD(connected);
ATF_TC_BODY(connected, tc)
{
	struct co_error e;
	struct world w;
	struct client c;
	struct p9_msg r;
	char buf[32];
	uint32_t n = sizeof(buf);

	prepare(&w);
	hello(&c, &w, NULL);
	ATF_REQUIRE(undo_step_begin(w.undo, 1, UNDO_COMMAND, "x", &e) == 0);
	mutate(&c);
	ATF_REQUIRE(undo_step_complete(w.undo, 1, 0, &e) == 0);
	usleep(200000);
	undo_tick(w.undo);
	ATF_REQUIRE(undo_rollback(w.undo, 1, false, NULL, NULL, &e) == 0);
	must_open(&c, 5, "removed", P9_O_RDONLY);
	ATF_REQUIRE_EQ(0, c_read(&c, 5, 0, buf, &n));
	ATF_CHECK(n == 8 && memcmp(buf, "precious", 8) == 0);
	ATF_CHECK_EQ(0, c_getattr(&c, 5, P9_GETATTR_BASIC, &r));
	ATF_CHECK_EQ(1, r.rgetattr.nlink);
	ATF_CHECK_EQ(L_ENOENT, c_walk(&c, ROOT, 6, "created", NULL));
	client_close(&c);
	world_close(&w);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, rollback);
	ATF_TP_ADD_TC(tp, connected);
	return (atf_no_error());
}
