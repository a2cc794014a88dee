/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Programs run by argv: what they see, and what holds when they misbehave.
 */

#include <sys/stat.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"

static struct co_result
sh(const char *script, struct co_run r)
{
	const char *argv[] = { "sh", "-c", script, NULL };
	struct co_result res;
	struct co_error e;

	r.argv = argv;
	ATF_REQUIRE_EQ_MSG(0, co_run(&r, &res, &e), "%s", e.message);
	return (res);
}

ATF_TC_WITHOUT_HEAD(status);
ATF_TC_BODY(status, tc)
{
	struct co_result res;

	res = sh("echo out; echo err >&2; exit 3", (struct co_run){ 0 });
	ATF_CHECK_EQ(3, res.status);
	ATF_CHECK_STREQ("out\nerr\n", res.out);
	ATF_CHECK_EQ(8, res.outlen);
	ATF_CHECK(!res.timedout && !res.cut);
	free(res.out);
	res = sh("kill -TERM $$", (struct co_run){ 0 });
	ATF_CHECK_EQ(128 + SIGTERM, res.status);
	free(res.out);
}

/* Only stdin, stdout and stderr; a clean environment; default signals. */
ATF_TC_WITHOUT_HEAD(clean);
ATF_TC_BODY(clean, tc)
{
	struct co_result res;
	int fd;

	setenv("SECRET", "1", 1);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	fd = open("/", O_RDONLY);
	ATF_REQUIRE(dup2(fd, 77) == 77);
	res = sh("test -e /dev/fd/77 && echo leaked; "
	    "(: >&77) 2>/dev/null && echo leaked; env | sort; pwd; "
	    "kill -TERM $$; echo ignored", (struct co_run){ 0 });
	ATF_CHECK_EQ(128 + SIGTERM, res.status);
	ATF_CHECK_MSG(strstr(res.out, "leaked") == NULL, "%s", res.out);
	ATF_CHECK_MSG(strstr(res.out, "SECRET") == NULL, "%s", res.out);
	ATF_CHECK(strstr(res.out, "LANG=C\n") != NULL);
	ATF_CHECK(strstr(res.out, "TZ=UTC\n") != NULL);
	ATF_CHECK(strstr(res.out, "\n/\n") != NULL);
	free(res.out);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
}

ATF_TC_WITHOUT_HEAD(options);
ATF_TC_BODY(options, tc)
{
	static const char *const env[] = { "X=7", "PATH=/usr/bin:/bin", NULL };
	struct co_result res;
	int fd;

	ATF_REQUIRE_EQ(0, close(open("mark", O_CREAT | O_WRONLY, 0600)));
	fd = open(".", O_RDONLY | O_DIRECTORY);
	res = sh("ls mark; echo $X", (struct co_run){ .env = env,
	    .dir = fd });
	ATF_CHECK_STREQ("mark\n7\n", res.out);
	free(res.out);
	close(fd);
}

/* Far more than a pipe holds, both ways at once. */
ATF_TC_WITHOUT_HEAD(large);
ATF_TC_BODY(large, tc)
{
	size_t len = 3 << 20;
	char *data = malloc(len);
	struct co_result res;

	ATF_REQUIRE(data != NULL);
	for (size_t i = 0; i < len; i++)
		data[i] = (char)(i * 31 >> 3);
	res = sh("cat", (struct co_run){ .input = data, .inputlen = len,
	    .maxout = len });
	ATF_REQUIRE_EQ(len, res.outlen);
	ATF_CHECK(memcmp(res.out, data, len) == 0);
	ATF_CHECK(!res.cut);
	free(res.out);
	res = sh("cat", (struct co_run){ .input = data, .inputlen = len,
	    .maxout = 1000 });
	ATF_CHECK_EQ(1000, res.outlen);
	ATF_CHECK(res.cut);
	ATF_CHECK_EQ(0, res.status);
	free(res.out);
	/* A program that reads nothing does not hold or kill us. */
	res = sh("exit 0", (struct co_run){ .input = data, .inputlen = len });
	ATF_CHECK_EQ(0, res.status);
	free(res.out);
	free(data);
}

/* The deadline ends the whole process group: its end of the FIFO closes. */
ATF_TC_WITHOUT_HEAD(timeout);
ATF_TC_BODY(timeout, tc)
{
	struct co_result res;
	struct pollfd fd = { .events = POLLIN };
	int dir;

	ATF_REQUIRE_EQ(0, mkfifo("p", 0600));
	fd.fd = open("p", O_RDONLY | O_NONBLOCK);
	ATF_REQUIRE(fd.fd != -1);
	dir = open(".", O_RDONLY | O_DIRECTORY);
	res = sh("sleep 1000 > p & sleep 0.1; echo x > p; sleep 1000",
	    (struct co_run){ .deadline = co_after(1000), .dir = dir });
	ATF_CHECK(res.timedout);
	ATF_CHECK_EQ(128 + SIGKILL, res.status);
	ATF_REQUIRE_EQ(1, poll(&fd, 1, 10000));
	while (read(fd.fd, &(char){ 0 }, 1) > 0)
		;
	ATF_CHECK_EQ(1, poll(&fd, 1, 10000));
	ATF_CHECK((fd.revents & POLLHUP) != 0);
	close(fd.fd);
	close(dir);
	free(res.out);
}

/* A grandchild that keeps the output open does not hold us. */
ATF_TC_WITHOUT_HEAD(lingering);
ATF_TC_BODY(lingering, tc)
{
	struct co_result res;
	pid_t pid;

	res = sh("sleep 1000 & echo $!", (struct co_run){
	    .deadline = co_after(60000) });
	ATF_CHECK(!res.timedout);
	ATF_CHECK_EQ(0, res.status);
	pid = (pid_t)strtol(res.out, NULL, 10);
	ATF_REQUIRE(pid > 1);
	ATF_CHECK_EQ(0, kill(pid, SIGKILL));
	free(res.out);
}

ATF_TC_WITHOUT_HEAD(missing);
ATF_TC_BODY(missing, tc)
{
	const char *argv[] = { "no-such-program-here", NULL };
	struct co_run r = { .argv = argv };
	struct co_result res;
	struct co_error e;

	ATF_CHECK_EQ(-1, co_run(&r, &res, &e));
	ATF_CHECK_EQ(ENOENT, e.errnum);
	ATF_CHECK_STREQ("no-such-program-here", e.what);
	argv[0] = "/dev/null";
	ATF_CHECK_EQ(-1, co_run(&r, &res, &e));
	ATF_CHECK_EQ(CO_ESYS_PERMISSION, e.code);
}

/* Hundreds of runs leave no descriptor behind. */
ATF_TC_WITHOUT_HEAD(leaks);
ATF_TC_BODY(leaks, tc)
{
	struct co_result res;
	int before, after;

	before = dup(0);
	close(before);
	for (int i = 0; i < 100; i++) {
		res = sh("exit 1", (struct co_run){ 0 });
		ATF_REQUIRE_EQ(1, res.status);
		free(res.out);
	}
	after = dup(0);
	close(after);
	ATF_CHECK_EQ(before, after);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, status);
	ATF_TP_ADD_TC(tp, clean);
	ATF_TP_ADD_TC(tp, options);
	ATF_TP_ADD_TC(tp, large);
	ATF_TP_ADD_TC(tp, timeout);
	ATF_TP_ADD_TC(tp, lingering);
	ATF_TP_ADD_TC(tp, missing);
	ATF_TP_ADD_TC(tp, leaks);
	return (atf_no_error());
}
