/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Moments of the monotonic clock, and the wall clock as text.
 */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "coppice.h"

#define	NS_PER_MS	1000000

co_moment
co_now(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_MONOTONIC, &ts) != 0)
		abort();
	return ((co_moment)ts.tv_sec * 1000000000 + ts.tv_nsec);
}

co_moment
co_after(int64_t ms)
{
	co_moment now;

	if (ms < 0)
		return (CO_NEVER);
	now = co_now();
	if (ms > (CO_NEVER - now) / NS_PER_MS)
		return (CO_NEVER);
	return (now + ms * NS_PER_MS);
}

int
co_left(co_moment m)
{
	co_moment now;
	int64_t ms;

	if (m == CO_NEVER)
		return (-1);
	now = co_now();
	if (m <= now)
		return (0);
	ms = (m - now - 1) / NS_PER_MS + 1;
	return (ms > INT_MAX ? INT_MAX : (int)ms);
}

/* The Gregorian date of a day counted from 1970-01-01, for any year. */
static void
civil(int64_t days, int64_t *y, int *m, int *d)
{
	int64_t era, doe, yoe, doy, mp;

	days += 719468;		/* from 0000-03-01, so leap days come last */
	era = (days >= 0 ? days : days - 146096) / 146097;
	doe = days - era * 146097;
	yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	mp = (5 * doy + 2) / 153;
	*d = (int)(doy - (153 * mp + 2) / 5 + 1);
	*m = (int)(mp < 10 ? mp + 3 : mp - 9);
	*y = yoe + era * 400 + (*m <= 2);
}

void
co_time_iso(char *buf, size_t size, int64_t sec, int32_t usec)
{
	int64_t days, rest, y;
	int m, d;

	days = sec / 86400;
	rest = sec % 86400;
	if (rest < 0) {
		rest += 86400;
		days--;
	}
	civil(days, &y, &m, &d);
	snprintf(buf, size, "%04lld-%02d-%02dT%02d:%02d:%02d.%06dZ",
	    (long long)y, m, d, (int)(rest / 3600), (int)(rest / 60 % 60),
	    (int)(rest % 60), (int)usec);
}
