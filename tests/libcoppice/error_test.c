/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The error table and how errors are filled in; the man page must list the
 * same rows.
 */

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coppice.h"

ATF_TC_WITHOUT_HEAD(table);
ATF_TC_BODY(table, tc)
{
	enum co_code c, last = CO_OK;
	int n = 0;

	for (c = co_error_next(CO_OK); c != CO_OK; c = co_error_next(c)) {
		ATF_CHECK_MSG(c > last, "%d after %d", (int)c, (int)last);
		ATF_CHECK(strcmp(co_error_symbol(c), "UNKNOWN") != 0);
		ATF_CHECK(strcmp(co_error_summary(c), "unknown error") != 0);
		ATF_CHECK(strcmp(co_error_category(c), "unknown") != 0);
		last = c;
		n++;
	}
	ATF_CHECK_EQ(CO_ESYS_PROGRAM, last);
	ATF_CHECK(n > 40);
	ATF_CHECK_STREQ("ENET_EXHAUSTED", co_error_symbol(CO_ENET_EXHAUSTED));
	ATF_CHECK_STREQ("network", co_error_category(CO_ENET_EXHAUSTED));
	ATF_CHECK_STREQ("safeguard", co_error_category(CO_ESAFEGUARD_DENIED));
	ATF_CHECK_STREQ("UNKNOWN", co_error_symbol((enum co_code)1));
	ATF_CHECK_STREQ("unknown", co_error_category((enum co_code)99999));
}

/* Each row of the table stands in coppice-errors(7) as number and symbol. */
ATF_TC_WITHOUT_HEAD(manual);
ATF_TC_BODY(manual, tc)
{
	struct co_error e;
	char *text, want[128];
	size_t len, rows = 0, items = 0;

	ATF_REQUIRE_EQ_MSG(0, co_file_read(AT_FDCWD, TEST_SRCDIR
	    "/../../man/coppice-errors.7", 1 << 20, &text, &len, &e),
	    "%s", e.message);
	for (enum co_code c = co_error_next(CO_OK); c != CO_OK;
	    c = co_error_next(c)) {
		snprintf(want, sizeof(want), ".It %d Ta Dv %s Ta %s\n",
		    (int)c, co_error_symbol(c), co_error_summary(c));
		ATF_CHECK_MSG(strstr(text, want) != NULL,
		    "the page lacks: %s", want);
		rows++;
	}
	for (char *p = text; (p = strstr(p, "\n.It ")) != NULL; p++)
		items += p[5] >= '0' && p[5] <= '9';
	ATF_CHECK_EQ(rows, items);
	free(text);
}

ATF_TC_WITHOUT_HEAD(set);
ATF_TC_BODY(set, tc)
{
	struct co_error e;

	ATF_CHECK_EQ(-1, co_error_set(&e, CO_ENET_EXHAUSTED, "10.78.0.0/24",
	    "no address left in %s (%d in use)", "10.78.0.0/24", 241));
	ATF_CHECK_EQ(CO_ENET_EXHAUSTED, e.code);
	ATF_CHECK_EQ(0, e.errnum);
	ATF_CHECK_STREQ("10.78.0.0/24", e.what);
	ATF_CHECK_STREQ("no address left in 10.78.0.0/24 (241 in use)",
	    e.message);
	ATF_CHECK_EQ(-1, co_error_set(NULL, CO_ENET_LINK, NULL, "x"));
	ATF_CHECK_EQ(-1, co_error_set(&e, CO_ENET_LINK, NULL, "x"));
	ATF_CHECK_STREQ("", e.what);
	errno = EIO;
	co_error_set(&e, CO_ESYS_ERRNO, "disk", "read");
	ATF_CHECK_EQ(EIO, e.errnum);
}

ATF_TC_WITHOUT_HEAD(from_errno);
ATF_TC_BODY(from_errno, tc)
{
	static const struct {
		int		errnum;
		enum co_code	code;
	} cases[] = {
		{ ENOMEM, CO_ESYS_NOMEM }, { ENOSPC, CO_ESYS_NOSPACE },
		{ EDQUOT, CO_ESYS_NOSPACE }, { EPERM, CO_ESYS_PERMISSION },
		{ EACCES, CO_ESYS_PERMISSION }, { EIO, CO_ESYS_ERRNO },
	};
	struct co_error e;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ATF_CHECK_EQ(-1, co_error_errno(&e, cases[i].errnum, "f",
		    "can't write \"%s\"", "f"));
		ATF_CHECK_EQ(cases[i].code, e.code);
		ATF_CHECK_EQ(cases[i].errnum, e.errnum);
		ATF_CHECK(strncmp(e.message, "can't write \"f\": ", 17) == 0);
		ATF_CHECK(strstr(e.message, strerror(e.errnum)) != NULL);
	}
}

/* Too long a text is cut between characters. */
ATF_TC_WITHOUT_HEAD(cut);
ATF_TC_BODY(cut, tc)
{
	char longer[2000];
	struct co_error e;
	size_t n;

	for (size_t i = 0; i + 3 < sizeof(longer); i += 3)
		memcpy(longer + i, "\xe2\x82\xac", 3);
	longer[1998] = '\0';
	co_error_set(&e, CO_EPROTO_TOOBIG, longer, "%s", longer);
	n = strlen(e.what);
	ATF_CHECK(n > sizeof(e.what) - 4);
	ATF_CHECK_EQ(0, n % 3);
	n = strlen(e.message);
	ATF_CHECK(n > sizeof(e.message) - 4);
	ATF_CHECK_EQ(0, n % 3);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, table);
	ATF_TP_ADD_TC(tp, manual);
	ATF_TP_ADD_TC(tp, set);
	ATF_TP_ADD_TC(tp, from_errno);
	ATF_TP_ADD_TC(tp, cut);
	return (atf_no_error());
}
