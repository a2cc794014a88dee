/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Lines of the structured log: their fields, escapes, levels and length.
 */

#include <sys/wait.h>

#include <atf-c.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"

static struct co_log *
open_log(int fds[2])
{
	struct co_log *l;

	ATF_REQUIRE_EQ(0, pipe(fds));
	l = co_log_new(fds[1], "test");
	ATF_REQUIRE(l != NULL);
	return (l);
}

/* Everything written so far. */
static char *
lines(int fds[2])
{
	static char buf[65536];
	ssize_t n;

	close(fds[1]);
	n = read(fds[0], buf, sizeof(buf) - 1);
	ATF_REQUIRE(n >= 0);
	buf[n] = '\0';
	close(fds[0]);
	return (buf);
}

ATF_TC_WITHOUT_HEAD(fields);
ATF_TC_BODY(fields, tc)
{
	struct co_ids ids = { .request_id = "r1", .sandbox_id = "s1",
	    .step_id = -2 };
	struct co_log *l;
	char *got;
	int fds[2];

	l = open_log(fds);
	errno = EXDEV;
	co_log(l, CO_WARN, "net", &ids, "%d of %s", 3, "x");
	ATF_CHECK_EQ(EXDEV, errno);
	co_log(l, CO_INFO, "net", NULL, "plain");
	co_log(NULL, CO_ERROR, "net", NULL, "nowhere");
	co_log_free(l);
	got = lines(fds);
	ATF_CHECK(strncmp(got, "{\"timestamp\":\"20", 16) == 0);
	ATF_CHECK_MSG(strstr(got, "Z\",\"level\":\"warn\","
	    "\"component\":\"net\","
	    "\"request_id\":\"r1\",\"sandbox_id\":\"s1\",\"step_id\":-2,"
	    "\"message\":\"3 of x\"}\n{") != NULL, "%s", got);
	ATF_CHECK(strstr(got, "\"level\":\"info\",\"component\":\"net\","
	    "\"message\":\"plain\"}\n") != NULL);
	ATF_CHECK(strstr(got, "nowhere") == NULL);
}

ATF_TC_WITHOUT_HEAD(escapes);
ATF_TC_BODY(escapes, tc)
{
	struct co_log *l;
	char *got;
	int fds[2];

	l = open_log(fds);
	co_log(l, CO_INFO, "x", NULL, "%s",
	    "q\" b\\ n\n e\x1b \x7f g\xc3\xbc bad\xff\xc0\xaf"
	    "\xed\xa0\x80 euro\xe2\x82\xac cut\xe2\x82");
	co_log_free(l);
	got = lines(fds);
	ATF_CHECK_MSG(strstr(got, "\"message\":\"q\\\" b\\\\ n\\u000a e\\u001b "
	    "\\u007f g\xc3\xbc bad\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
	    "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd euro\xe2\x82\xac "
	    "cut\xef\xbf\xbd\xef\xbf\xbd\"}\n") != NULL, "%s", got);
}

ATF_TC_WITHOUT_HEAD(levels);
ATF_TC_BODY(levels, tc)
{
	struct co_error e;
	struct co_log *l;
	int fds[2];

	l = open_log(fds);
	ATF_CHECK(!co_log_on(l, CO_DEBUG, "a"));
	ATF_CHECK(co_log_on(l, CO_INFO, "a"));
	ATF_CHECK_EQ(0, co_log_level(l, "warn,net=debug,undo=error", &e));
	ATF_CHECK(!co_log_on(l, CO_INFO, "a"));
	ATF_CHECK(co_log_on(l, CO_WARN, "a"));
	ATF_CHECK(co_log_on(l, CO_DEBUG, "net"));
	ATF_CHECK(!co_log_on(l, CO_WARN, "undo"));
	ATF_CHECK(!co_log_on(NULL, CO_ERROR, "undo"));
	/* A bad specification changes nothing. */
	ATF_CHECK_EQ(-1, co_log_level(l, "debug,net=loud", &e));
	ATF_CHECK_EQ(CO_ESYS_CONFIG, e.code);
	ATF_CHECK(strstr(e.message, "net=loud") != NULL);
	ATF_CHECK(co_log_on(l, CO_DEBUG, "net"));
	ATF_CHECK(!co_log_on(l, CO_INFO, "a"));
	ATF_CHECK_EQ(-1, co_log_level(l, "", &e));
	ATF_CHECK_EQ(-1, co_log_level(l, "info,", &e));
	ATF_CHECK_EQ(-1, co_log_level(l, "=info", &e));
	ATF_CHECK_EQ(-1, co_log_level(l,
	    "a-name-that-is-far-too-long-to-be-one=info", &e));
	co_log_free(l);
	co_log_free(NULL);
	lines(fds);
}

/* However long the parts, a line stays one JSON object. */
ATF_TC_WITHOUT_HEAD(bounds);
ATF_TC_BODY(bounds, tc)
{
	char *big = malloc(20000), *got;
	struct co_ids ids = { .request_id = big };
	struct co_log *l;
	size_t n;
	int fds[2];

	memset(big, '"', 19999);
	big[19999] = '\0';
	l = open_log(fds);
	co_log(l, CO_INFO, "x", &ids, "%s", big);
	co_log_free(l);
	got = lines(fds);
	n = strlen(got);
	ATF_CHECK(n > 7000 && n <= 8192);
	ATF_CHECK(strstr(got, "\\\"\",\"message\":\"\\\"") != NULL);
	ATF_CHECK_STREQ("\"}\n", got + n - 3);
	ATF_CHECK(strchr(got, '\n') == got + n - 1);
	free(big);
}

static void *
chatter(void *arg)
{

	for (int i = 0; i < 200; i++)
		co_log(arg, CO_INFO, "thread", NULL, "%040d", i);
	return (NULL);
}

/* Lines of several threads do not mix. */
ATF_TC_WITHOUT_HEAD(threads);
ATF_TC_BODY(threads, tc)
{
	pthread_t t[4];
	struct co_log *l;
	char line[512];
	int fds[2], n = 0;
	FILE *f;

	l = open_log(fds);
	f = fdopen(fds[0], "r");
	for (int i = 0; i < 4; i++)
		ATF_REQUIRE_EQ(0, pthread_create(&t[i], NULL, chatter, l));
	for (n = 0; n < 800; n++) {
		ATF_REQUIRE(fgets(line, sizeof(line), f) != NULL);
		ATF_REQUIRE_EQ(0, strncmp(line, "{\"timestamp\":", 13));
		ATF_REQUIRE_STREQ("\"}\n", line + strlen(line) - 3);
		ATF_REQUIRE_EQ(sizeof("{'timestamp':"
		    "'0000-00-00T00:00:00.000000Z',"
		    "'level':'info','component':'thread','message':''}\n") - 1 +
		    40, strlen(line));
	}
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	co_log_free(l);
	close(fds[1]);
	ATF_CHECK(fgets(line, sizeof(line), f) == NULL);
	fclose(f);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, fields);
	ATF_TP_ADD_TC(tp, escapes);
	ATF_TP_ADD_TC(tp, levels);
	ATF_TP_ADD_TC(tp, bounds);
	ATF_TP_ADD_TC(tp, threads);
	return (atf_no_error());
}
