/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Atomic replacement and bounded reading of files.
 */

#include <sys/stat.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"

static int
here(void)
{
	int fd;

	fd = open(".", O_RDONLY | O_DIRECTORY);
	ATF_REQUIRE(fd != -1);
	return (fd);
}

ATF_TC_WITHOUT_HEAD(replace);
ATF_TC_BODY(replace, tc)
{
	int dir = here();
	struct co_error e;
	struct stat st;
	char *data;
	size_t len;

	ATF_REQUIRE_EQ(0, co_file_replace(dir, "f", "one", 3, 0640, &e));
	ATF_REQUIRE_EQ(0, co_file_replace(dir, "f", "a\0b", 3, 0600, &e));
	ATF_REQUIRE_EQ(0, co_file_read(dir, "f", 100, &data, &len, &e));
	ATF_CHECK_EQ(3, len);
	ATF_CHECK(memcmp(data, "a\0b", 4) == 0);
	free(data);
	ATF_REQUIRE_EQ(0, fstatat(dir, "f", &st, 0));
	ATF_CHECK_EQ(0600, st.st_mode & 07777);
	ATF_REQUIRE_EQ(0, co_file_replace(dir, "f", NULL, 0, 0600, &e));
	ATF_REQUIRE_EQ(0, co_file_read(dir, "f", 0, &data, &len, &e));
	ATF_CHECK_EQ(0, len);
	free(data);
	ATF_CHECK_EQ(0, co_file_sweep(dir));
	close(dir);
}

/* A symbolic link in the way is replaced, not written through. */
ATF_TC_WITHOUT_HEAD(replace_link);
ATF_TC_BODY(replace_link, tc)
{
	int dir = here();
	struct co_error e;
	struct stat st;

	ATF_REQUIRE_EQ(0, co_file_replace(dir, "victim", "v", 1, 0600, &e));
	ATF_REQUIRE_EQ(0, symlink("victim", "f"));
	ATF_REQUIRE_EQ(0, co_file_replace(dir, "f", "new", 3, 0600, &e));
	ATF_REQUIRE_EQ(0, lstat("f", &st));
	ATF_CHECK(S_ISREG(st.st_mode));
	ATF_REQUIRE_EQ(0, stat("victim", &st));
	ATF_CHECK_EQ(1, st.st_size);
	close(dir);
}

ATF_TC_WITHOUT_HEAD(errors);
ATF_TC_BODY(errors, tc)
{
	int dir = here();
	struct co_error e;
	char *data;
	size_t len;

	ATF_REQUIRE_EQ(0, co_file_replace(dir, "f", "12345", 5, 0600, &e));
	ATF_CHECK_EQ(-1, co_file_read(dir, "f", 4, &data, &len, &e));
	ATF_CHECK_EQ(CO_EPROTO_TOOBIG, e.code);
	ATF_CHECK_STREQ("f", e.what);
	ATF_CHECK_EQ(-1, co_file_read(dir, "gone", 4, &data, &len, &e));
	ATF_CHECK_EQ(ENOENT, e.errnum);
	ATF_REQUIRE_EQ(0, symlink("f", "l"));
	ATF_CHECK_EQ(-1, co_file_read(dir, "l", 9, &data, &len, &e));
	ATF_REQUIRE_EQ(0, mkfifo("p", 0600));
	ATF_CHECK_EQ(-1, co_file_read(dir, "p", 9, &data, &len, &e));
	ATF_CHECK_EQ(-1, co_file_read(dir, ".", 9, &data, &len, &e));
	ATF_REQUIRE_EQ(0, mkdir("d", 0700));
	ATF_CHECK_EQ(-1, co_file_replace(dir, "d", "x", 1, 0600, &e));
	/* A failure leaves no temporary behind. */
	ATF_CHECK_EQ(0, co_file_sweep(dir));
	close(dir);
}

/*
 * Kill a writer many times: a reader finds one of the two contents whole,
 * and the sweep removes what is left over.
 */
ATF_TC_WITHOUT_HEAD(killed);
ATF_TC_BODY(killed, tc)
{
	static char a[20000], b[20000];
	int dir = here(), status;
	struct co_error e;
	char *data;
	size_t len;
	pid_t pid;

	memset(a, 'a', sizeof(a));
	memset(b, 'b', sizeof(b));
	ATF_REQUIRE_EQ(0, co_file_replace(dir, "f", a, sizeof(a), 0600, &e));
	for (int i = 0; i < 40; i++) {
		pid = fork();
		ATF_REQUIRE(pid != -1);
		if (pid == 0)
			for (;;) {
				co_file_replace(dir, "f", b, sizeof(b), 0600,
				    &e);
				co_file_replace(dir, "f", a, sizeof(a), 0600,
				    &e);
			}
		usleep((useconds_t)(500 + 137 * i));
		kill(pid, SIGKILL);
		ATF_REQUIRE_EQ(pid, waitpid(pid, &status, 0));
		ATF_REQUIRE_EQ(0, co_file_read(dir, "f", 1 << 20, &data, &len,
		    &e));
		ATF_REQUIRE_EQ(sizeof(a), len);
		ATF_CHECK(memcmp(data, a, len) == 0 ||
		    memcmp(data, b, len) == 0);
		free(data);
		ATF_CHECK(co_file_sweep(dir) <= 1);
	}
	ATF_CHECK_EQ(0, co_file_sweep(dir));
	close(dir);
}

/* The sweep touches nothing but temporaries. */
ATF_TC_WITHOUT_HEAD(sweep);
ATF_TC_BODY(sweep, tc)
{
	int dir = here();
	struct co_error e;

	ATF_REQUIRE_EQ(0, co_file_replace(dir, ".new-mine", "", 0, 0600, &e));
	ATF_REQUIRE_EQ(0, co_file_replace(dir,
	    ".new-00000000000000000000000000000000", "", 0, 0600, &e));
	ATF_CHECK_EQ(1, co_file_sweep(dir));
	ATF_CHECK_EQ(0, access(".new-mine", F_OK));
	close(dir);
}

ATF_TC_WITHOUT_HEAD(mkdirs);
ATF_TC_BODY(mkdirs, tc)
{
	struct co_error e;
	struct stat st;
	int fd;

	fd = co_mkdirs("a/b/c", 0700, &e);
	ATF_REQUIRE_MSG(fd != -1, "%s", e.message);
	close(fd);
	fd = co_mkdirs("a/b/c", 0700, &e);
	ATF_REQUIRE(fd != -1);
	ATF_REQUIRE_EQ(0, fstat(fd, &st));
	ATF_CHECK_EQ(0700, st.st_mode & 07777);
	close(fd);
	ATF_REQUIRE_EQ(0, symlink("nowhere", "a/l"));
	ATF_CHECK_EQ(-1, co_mkdirs("a/l/d", 0700, &e));
	ATF_CHECK_EQ(-1, co_mkdirs("", 0700, &e));
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, replace);
	ATF_TP_ADD_TC(tp, replace_link);
	ATF_TP_ADD_TC(tp, errors);
	ATF_TP_ADD_TC(tp, killed);
	ATF_TP_ADD_TC(tp, sweep);
	ATF_TP_ADD_TC(tp, mkdirs);
	return (atf_no_error());
}
