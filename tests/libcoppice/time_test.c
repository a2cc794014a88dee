/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Moments, deadlines, ISO times and random ids.
 */

#include <atf-c.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "coppice.h"

ATF_TC_WITHOUT_HEAD(iso);
ATF_TC_BODY(iso, tc)
{
	static const struct {
		int64_t		 sec;
		int32_t		 usec;
		const char	*want;
	} cases[] = {
		{ 0, 0, "1970-01-01T00:00:00.000000Z" },
		{ -1, 999999, "1969-12-31T23:59:59.999999Z" },
		{ 951782399, 1, "2000-02-28T23:59:59.000001Z" },
		{ 951782400, 0, "2000-02-29T00:00:00.000000Z" },
		{ 4107542399, 5, "2100-02-28T23:59:59.000005Z" },
		{ 4107542400, 0, "2100-03-01T00:00:00.000000Z" },
	};
	char buf[28];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		co_time_iso(buf, sizeof(buf), cases[i].sec, cases[i].usec);
		ATF_CHECK_STREQ(cases[i].want, buf);
	}
}

/* Every day for 600 years agrees with the C library. */
ATF_TC_WITHOUT_HEAD(iso_calendar);
ATF_TC_BODY(iso_calendar, tc)
{
	char ours[32], theirs[32];
	struct tm tm;
	time_t t;

	for (int64_t day = -110000; day < 110000; day++) {
		t = (time_t)(day * 86400 + 3661);
		co_time_iso(ours, sizeof(ours), t, 0);
		gmtime_r(&t, &tm);
		strftime(theirs, sizeof(theirs), "%Y-%m-%dT%H:%M:%S.000000Z",
		    &tm);
		ATF_REQUIRE_STREQ(theirs, ours);
	}
}

ATF_TC_WITHOUT_HEAD(deadline);
ATF_TC_BODY(deadline, tc)
{
	co_moment a = co_now();

	ATF_CHECK(co_now() >= a);
	ATF_CHECK(co_after(-1) == CO_NEVER);
	ATF_CHECK(co_after(INT64_MAX) == CO_NEVER);
	ATF_CHECK(co_after(INT64_MAX / 1000000) == CO_NEVER);
	ATF_CHECK_EQ(-1, co_left(CO_NEVER));
	ATF_CHECK_EQ(0, co_left(a));
	ATF_CHECK_EQ(0, co_left(0));
	ATF_CHECK_EQ(INT_MAX, co_left(CO_NEVER - 1));
	/* Rounded up: what is left of a millisecond is one. */
	ATF_CHECK(co_left(co_now() + 3600LL * 1000000000 + 1) > 3599000);
	ATF_CHECK(co_left(co_after(1000)) <= 1000);
	ATF_CHECK(co_left(co_after(100000)) > 0);
}

ATF_TC_WITHOUT_HEAD(ids);
ATF_TC_BODY(ids, tc)
{
	char a[CO_IDSIZE], b[CO_IDSIZE];

	co_id_make(a);
	co_id_make(b);
	ATF_CHECK(co_id_valid(a));
	ATF_CHECK(co_id_valid(b));
	ATF_CHECK(strcmp(a, b) != 0);
	ATF_CHECK(!co_id_valid(""));
	ATF_CHECK(!co_id_valid("0123456789abcdef0123456789abcde"));
	ATF_CHECK(!co_id_valid("0123456789abcdef0123456789abcdef0"));
	ATF_CHECK(!co_id_valid("0123456789ABCDEF0123456789abcdef"));
	ATF_CHECK(!co_id_valid("../3456789abcdef0123456789abcdef"));
}

/* More than one call of the kernel's generator; no run of zeroes stays. */
ATF_TC_WITHOUT_HEAD(random);
ATF_TC_BODY(random, tc)
{
	unsigned char buf[1000];
	int zeroes = 0;

	memset(buf, 0, sizeof(buf));
	co_random(buf, sizeof(buf));
	for (size_t i = 0; i < sizeof(buf); i++)
		zeroes += buf[i] == 0;
	ATF_CHECK_MSG(zeroes < 40, "%d zero bytes of 1000", zeroes);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, iso);
	ATF_TP_ADD_TC(tp, iso_calendar);
	ATF_TP_ADD_TC(tp, deadline);
	ATF_TP_ADD_TC(tp, ids);
	ATF_TP_ADD_TC(tp, random);
	return (atf_no_error());
}
