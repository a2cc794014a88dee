/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The JSON reader and writer: what is taken, what is refused, and that
 * bytes of any kind survive.
 */

#include <atf-c.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sj.h"

/* Exactly as long as the text, so that a sanitizer sees every step beyond. */
static int
parse(struct sj_doc *d, const char *text, size_t n)
{
	static struct sj_val val[64];
	static char *last;

	free(last);
	last = malloc(n > 0 ? n : 1);
	ATF_REQUIRE(last != NULL);
	memcpy(last, text, n);
	d->val = val;
	d->cap = 64;
	return (sj_parse(d, last, n));
}

static int
check(const char *text)
{
	struct sj_doc d;

	return (parse(&d, text, strlen(text)));
}

ATF_TC_WITHOUT_HEAD(values);
ATF_TC_BODY(values, tc)
{
	struct sj_doc d;
	const char *t = " { \"a\" : [ 1 , -2, true,false, \"\" ] ,"
	    "\"b\":{\"c\":9223372036854775807,\"d\":-9223372036854775808}} ";

	ATF_REQUIRE_EQ(0, parse(&d, t, strlen(t)));
	ATF_CHECK_EQ(14, d.n);
	ATF_CHECK(d.val[0].type == SJ_OBJ && d.val[0].count == 2 &&
	    d.val[0].next == 14);
	ATF_CHECK(d.val[2].type == SJ_ARR && d.val[2].count == 5 &&
	    d.val[2].next == 8);
	ATF_CHECK(d.val[4].num == -2 && d.val[5].num == 1 &&
	    d.val[6].num == 0 && d.val[6].type == SJ_BOOL);
	ATF_CHECK(d.val[7].type == SJ_STR && d.val[7].len == 0);
	ATF_CHECK_EQ(INT64_MAX, d.val[11].num);
	ATF_CHECK_EQ(INT64_MIN, d.val[d.n - 1].num);
	ATF_CHECK_EQ(0, check("[]"));
	ATF_CHECK_EQ(0, check("{}"));
	ATF_CHECK_EQ(0, check("0"));
	ATF_CHECK_EQ(0, check("-0"));
}

ATF_TC_WITHOUT_HEAD(strings);
ATF_TC_BODY(strings, tc)
{
	static const struct {
		const char	*text, *want;
		size_t		 n;
	} good[] = {
		{ "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8 },
		{ "\"\\u0041\\u00e9\\u20AC\"", "A\xc3\xa9\xe2\x82\xac", 6 },
		{ "\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", 4 },
		{ "\"\\udc80\\udcff\"", "\x80\xff", 2 },
		{ "\"a\\u0000b\"", "a\0b", 3 },
		{ "\"\xf4\x8f\xbf\xbf\x7f\"", "\xf4\x8f\xbf\xbf\x7f", 5 },
	};
	struct sj_doc d;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		ATF_REQUIRE_EQ_MSG(0, parse(&d, good[i].text,
		    strlen(good[i].text)), "%s", good[i].text);
		ATF_REQUIRE_EQ(good[i].n, d.val[0].len);
		ATF_CHECK(memcmp(good[i].want, d.val[0].str,
		    good[i].n + 1) == 0);
	}
}

ATF_TC_WITHOUT_HEAD(refused);
ATF_TC_BODY(refused, tc)
{
	static const char *const bad[] = {
		"", " ", "null", "nul", "tru", "truex", "1.0", "1e3", "01",
		"-", "+1", ".5", "9223372036854775808",
		"-9223372036854775809", "99999999999999999999999", "\"",
		"\"abc", "\"\\", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"",
		"\"\\ud800\"", "\"\\ud800x\"", "\"\\ud800\\u0041\"",
		"\"\\udc00\"", "\"\\udc7f\"", "\"\\udd00\"", "\"\n\"",
		"\"\x01\"", "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"",
		"\"\xe2\x82\"", "\"\xf5\x80\x80\x80\"", "\"\x80\"",
		"\"\xf0\x80\x80\x80\"", "[", "[1", "[1,", "[1,]", "[,]",
		"[1 2]", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,}",
		"{a:1}", "{1:2}", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "1 2",
		"[]]", "{}x", "[[[[[1]]]]]",
		"{\"a\":{\"a\":{\"a\":{\"a\":1}}}}",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ATF_CHECK_EQ_MSG(EINVAL, check(bad[i]), "%s", bad[i]);
	ATF_CHECK_EQ(0, check("[[[1]]]"));
}

ATF_TC_WITHOUT_HEAD(bounds);
ATF_TC_BODY(bounds, tc)
{
	struct sj_val val[4];
	struct sj_doc d = { .val = val, .cap = 4 };
	char three[] = "[1,2,3]", four[] = "[1,2,3,4]",
	    keys[] = "{\"a\":1,\"b\":2}";

	ATF_CHECK_EQ(0, sj_parse(&d, three, strlen(three)));
	ATF_CHECK_EQ(EMSGSIZE, sj_parse(&d, four, strlen(four)));
	ATF_CHECK_EQ(EMSGSIZE, sj_parse(&d, keys, strlen(keys)));
}

/* Any bytes, written and read again. */
ATF_TC_WITHOUT_HEAD(roundtrip);
ATF_TC_BODY(roundtrip, tc)
{
	char in[300], out[4000];
	struct sj_doc d;
	struct sj_out o;
	unsigned seed = 1;
	size_t n;

	for (int round = 0; round < 5000; round++) {
		n = (size_t)round % sizeof(in);
		for (size_t i = 0; i < n; i++) {
			seed = seed * 1103515245 + 12345;
			in[i] = (char)(seed >> 16);
		}
		sj_init(&o, out, sizeof(out));
		sj_open(&o, NULL, '{');
		sj_str(&o, "s", in, n);
		sj_int(&o, "n", (int64_t)seed - INT32_MAX);
		sj_close(&o, '}');
		ATF_REQUIRE(!o.bad);
		ATF_REQUIRE_EQ(0, parse(&d, out, o.len));
		ATF_REQUIRE_EQ(n, d.val[2].len);
		ATF_REQUIRE(memcmp(in, d.val[2].str, n) == 0);
		ATF_REQUIRE_EQ((int64_t)seed - INT32_MAX, d.val[4].num);
	}
	sj_init(&o, out, 10);
	sj_str(&o, NULL, "too long for it", 15);
	ATF_CHECK(o.bad && o.len <= 10);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, values);
	ATF_TP_ADD_TC(tp, strings);
	ATF_TP_ADD_TC(tp, refused);
	ATF_TP_ADD_TC(tp, bounds);
	ATF_TP_ADD_TC(tp, roundtrip);
	return (atf_no_error());
}
