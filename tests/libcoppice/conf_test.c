/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Configuration: syntax, types, ranges and what is refused, with the words
 * that a person reads; the sample and the man page agree with the table.
 */

#include <atf-c.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coppice.h"

static const char *
even(const char *s)
{

	return (strlen(s) % 2 == 0 ? NULL : "a string of even length");
}

static const struct co_key keys[] = {
	{ "flag", CO_BOOL, "true", 0, 0, NULL, NULL, "" },
	{ "count", CO_INT, "5", -10, 100, NULL, NULL, "" },
	{ "a.size", CO_SIZE, "64kb", 1, 1 << 30, NULL, NULL, "" },
	{ "a.b.wait", CO_SECONDS, "1.5", 0, 60000, NULL, NULL, "" },
	{ "a.name", CO_STRING, "some", 0, 0, NULL, even, "" },
	{ "a.mode", CO_ENUM, "open", 0, 0, "open|shut", NULL, "" },
	{ "words", CO_LIST, "x yy", 0, 0, NULL, NULL, "" },
	{ "pairs", CO_LIST, "", 0, 0, NULL, even, "" },
};
#define	NKEYS	(sizeof(keys) / sizeof(keys[0]))

static struct co_conf *
good(const char *text)
{
	struct co_conf *c;
	struct co_error e;

	ATF_REQUIRE_EQ_MSG(0, co_conf_parse(text, strlen(text), "t.conf",
	    keys, NKEYS, &c, &e), "%s", e.message);
	return (c);
}

ATF_TC_WITHOUT_HEAD(defaults);
ATF_TC_BODY(defaults, tc)
{
	struct co_conf *c = good("");

	ATF_CHECK(co_conf_bool(c, "flag"));
	ATF_CHECK_EQ(5, co_conf_int(c, "count"));
	ATF_CHECK_EQ(65536, co_conf_int(c, "a.size"));
	ATF_CHECK_EQ(1500, co_conf_int(c, "a.b.wait"));
	ATF_CHECK_STREQ("some", co_conf_string(c, "a.name"));
	ATF_CHECK_STREQ("open", co_conf_string(c, "a.mode"));
	ATF_CHECK_STREQ("x", co_conf_list(c, "words")[0]);
	ATF_CHECK_STREQ("yy", co_conf_list(c, "words")[1]);
	ATF_CHECK(co_conf_list(c, "words")[2] == NULL);
	ATF_CHECK(co_conf_list(c, "pairs")[0] == NULL);
	ATF_CHECK(!co_conf_isset(c, "flag"));
	co_conf_free(c);
	co_conf_free(NULL);
}

ATF_TC_WITHOUT_HEAD(syntax);
ATF_TC_BODY(syntax, tc)
{
	struct co_conf *c;

	c = good("# comment\n"
	    "flag = off; count: -3\n"
	    "a { size 2m /* inner /* nested */ */ b { wait = 250ms } }\n"
	    "a { name = \"\\u20ac\\n\", mode = shut }\n"
	    "words = [ one, 'two \\three', \"fo\\\"ur\" ] # end\n"
	    "\"pairs\" = solo\n");
	ATF_CHECK(!co_conf_bool(c, "flag"));
	ATF_CHECK(co_conf_isset(c, "flag"));
	ATF_CHECK_EQ(-3, co_conf_int(c, "count"));
	ATF_CHECK_EQ(2000000, co_conf_int(c, "a.size"));
	ATF_CHECK_EQ(250, co_conf_int(c, "a.b.wait"));
	ATF_CHECK_STREQ("\xe2\x82\xac\n", co_conf_string(c, "a.name"));
	ATF_CHECK_STREQ("shut", co_conf_string(c, "a.mode"));
	ATF_CHECK_STREQ("one", co_conf_list(c, "words")[0]);
	ATF_CHECK_STREQ("two \\three", co_conf_list(c, "words")[1]);
	ATF_CHECK_STREQ("fo\"ur", co_conf_list(c, "words")[2]);
	ATF_CHECK(co_conf_list(c, "words")[3] == NULL);
	ATF_CHECK_STREQ("solo", co_conf_list(c, "pairs")[0]);
	co_conf_free(c);
	c = good("{ \"count\": 7, \"a\": { \"size\": 1gb, }, }\n");
	ATF_CHECK_EQ(7, co_conf_int(c, "count"));
	co_conf_free(c);
}

/* Each line: a text, and what the message must contain. */
static const struct {
	const char	*text;
	const char	*want;
} refused[] = {
	{ "\n\ncuont = 3", "t.conf:3: unknown key \"cuont\"" },
	{ "a {\n  sizes = 3 }", "t.conf:2: unknown key \"a.sizes\" (did you "
	    "mean \"a.size\"?)" },
	{ "count = 101", "t.conf:1: count: \"101\" is not valid; expected a "
	    "number from -10 to 100" },
	{ "count = 3x", "expected a number from -10 to 100" },
	{ "count = 0x10", "expected a number from -10 to 100" },
	{ "count = 99999999999999999999", "expected a number" },
	{ "count = \"5\"", "expected a number" },
	{ "count = [ 5 ]", "expected a number" },
	{ "count = 1\ncount = 2", "t.conf:2: \"count\" is given twice" },
	{ "flag = maybe", "expected true or false" },
	{ "a { size = nan }", "bytes, such as 64mb" },
	{ "a { size = inf }", "bytes, such as 64mb" },
	{ "a { size = 1e9 }", "bytes, such as 64mb" },
	{ "a { size = -1 }", "from 1 to 1073741824 bytes" },
	{ "a { size = 1.5 }", "bytes" },
	{ "a { b { wait = 61 } }", "from 0 to 60 seconds, such as 30s" },
	{ "a { b { wait = 2y } }", "seconds" },
	{ "a { name = odd }", "a.name: \"odd\" is not valid; expected a "
	    "string of even length" },
	{ "a { mode = ajar }", "expected one of open|shut" },
	{ "a { mode = op }", "expected one of open|shut" },
	{ "pairs = [ ab, c ]", "pairs: \"c\" is not valid" },
	{ "a = 5", "unknown key \"a\"" },
	{ "a.size = 5", "unknown key \"a\"" },
	{ "a {\n", "\"{\" without \"}\"" },
	{ "count = 1 }", "\"}\" without \"{\"" },
	{ "count =", "expected a value" },
	{ "count = ;", "expected a value" },
	{ "a { name = \"open\n }", "t.conf:1: string without an end" },
	{ "a { name = \"\\q\" }", "unknown escape" },
	{ "a { name = \"\\u12\" }", "four hex digits" },
	{ "a { name = \"\\u0000\" }", "not allowed" },
	{ "a { name = \"\\ud800\" }", "not allowed" },
	{ "words = [ a, b", "list without an end" },
	{ "/* no end", "comment without an end" },
	{ ".include \"x\"", "macros are not supported" },
	{ "a { name = <<EOD\n", "here documents are not supported" },
	{ "a { name = $HOME }", "must quote" },
	{ "{ count = 1 } x", "text after the closing brace" },
	{ "a{a{a{a{a{a{a{a{a{a{", "nested too deeply" },
	{ "= 3", "expected a key" },
	{ "\"a b\" = 3", "expected a key" },
};

ATF_TC_WITHOUT_HEAD(refusals);
ATF_TC_BODY(refusals, tc)
{
	struct co_conf *c;
	struct co_error e;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		ATF_CHECK_EQ_MSG(-1, co_conf_parse(refused[i].text,
		    strlen(refused[i].text), "t.conf", keys, NKEYS, &c, &e),
		    "accepted: %s", refused[i].text);
		ATF_CHECK_EQ(CO_ESYS_CONFIG, e.code);
		ATF_CHECK_MSG(strstr(e.message, refused[i].want) != NULL,
		    "%s: wanted: %s, got: %s", refused[i].text,
		    refused[i].want, e.message);
	}
	ATF_CHECK_EQ(-1, co_conf_parse("a { name = \"x\0y\" }", 19, "t",
	    keys, NKEYS, &c, &e));
	ATF_CHECK_EQ(-1, co_conf_load("/nonexistent.conf", keys, NKEYS, &c,
	    &e));
	ATF_CHECK_EQ(CO_ESYS_ERRNO, e.code);
}

/* Every limit of the reader is met by an error, not by a crash. */
ATF_TC_WITHOUT_HEAD(bounds);
ATF_TC_BODY(bounds, tc)
{
	static char text[100000];
	struct co_conf *c;
	struct co_error e;
	size_t n;

	memset(text, 'k', 5000);
	ATF_CHECK_EQ(-1, co_conf_parse(text, 5000, "t", keys, NKEYS, &c, &e));
	n = (size_t)snprintf(text, sizeof(text), "a { name = \"%05000d\" }",
	    0);
	ATF_CHECK_EQ(-1, co_conf_parse(text, n, "t", keys, NKEYS, &c, &e));
	n = (size_t)snprintf(text, sizeof(text), "a { name = %05000d }", 0);
	ATF_CHECK_EQ(-1, co_conf_parse(text, n, "t", keys, NKEYS, &c, &e));
	strcpy(text, "words = [");
	for (n = 9; n < 9000; n += 2)
		memcpy(text + n, "x,", 2);
	text[n++] = ']';
	ATF_CHECK_EQ(-1, co_conf_parse(text, n, "t", keys, NKEYS, &c, &e));
	ATF_CHECK(strstr(e.message, "list too long") != NULL);
}

/* The product's own table: defaults hold, the sample and the page agree. */
ATF_TC_WITHOUT_HEAD(product);
ATF_TC_BODY(product, tc)
{
	struct co_conf *c;
	struct co_error e;
	char *page, *sample, want[256], leaf[64];
	size_t len;

	ATF_REQUIRE_EQ_MSG(0, co_conf_load(NULL, co_keys, co_nkeys, &c, &e),
	    "%s", e.message);
	ATF_CHECK_STREQ("10.78.0.0/24", co_conf_string(c, "net.jail.range"));
	ATF_CHECK_EQ(INT64_C(1) << 30, co_conf_int(c, "undo.max_log_size"));
	co_conf_free(c);
	ATF_REQUIRE_EQ_MSG(0, co_conf_load(TEST_SRCDIR
	    "/../../etc/coppice.conf.sample", co_keys, co_nkeys, &c, &e),
	    "%s", e.message);
	co_conf_free(c);
	ATF_REQUIRE_EQ(0, co_file_read(AT_FDCWD, TEST_SRCDIR
	    "/../../man/coppice.conf.5", 1 << 20, &page, &len, &e));
	ATF_REQUIRE_EQ(0, co_file_read(AT_FDCWD, TEST_SRCDIR
	    "/../../etc/coppice.conf.sample", 1 << 20, &sample, &len, &e));
	for (size_t i = 0; i < co_nkeys; i++) {
		const char *dot = strrchr(co_keys[i].name, '.');

		snprintf(want, sizeof(want), "\n.It Cm %s ",
		    co_keys[i].name);
		ATF_CHECK_MSG(strstr(page, want) != NULL,
		    "coppice.conf(5) lacks %s", co_keys[i].name);
		snprintf(leaf, sizeof(leaf), "%s = ", dot != NULL ? dot + 1 :
		    co_keys[i].name);
		ATF_CHECK_MSG(strstr(sample, leaf) != NULL,
		    "the sample lacks %s", co_keys[i].name);
	}
	free(page);
	free(sample);
}

ATF_TC_WITHOUT_HEAD(product_ranges);
ATF_TC_BODY(product_ranges, tc)
{
	static const char *const bad[] = {
		"net { jail { range = 10.78.0.0 } }",
		"net { jail { range = 10.78.0.0/30 } }",
		"net { jail { range = 10.78.0.0/8 } }",
		"net { jail { range = 10.78.0.256/24 } }",
		"net { jail { range = 10.78.0/24 } }",
		"net { jail { range = 10.78.0.0/24x } }",
		"net { jail { bridge = \"a b\" } }",
		"net { jail { bridge = sixteenletters00 } }",
		"net { jail { bridge = \"\" } }",
		"net { default_policy = closed }",
		"state = relative",
		"log { level = loud }",
		"net { confirm = 500ms }",
	};
	struct co_conf *c;
	struct co_error e;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ATF_CHECK_EQ_MSG(-1, co_conf_parse(bad[i], strlen(bad[i]), "t",
		    co_keys, co_nkeys, &c, &e), "accepted: %s", bad[i]);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, defaults);
	ATF_TP_ADD_TC(tp, syntax);
	ATF_TP_ADD_TC(tp, refusals);
	ATF_TP_ADD_TC(tp, bounds);
	ATF_TP_ADD_TC(tp, product);
	ATF_TP_ADD_TC(tp, product_ranges);
	return (atf_no_error());
}
