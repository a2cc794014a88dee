/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Commands on a terminal.
 */

#include <atf-c.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

static struct client c;

static void
expect(struct run *r, const char *text)
{
	co_moment end = co_after(WAIT_MS);

	while ((r->out[0] == NULL || strstr(r->out[0], text) == NULL) &&
	    !r->done && !c.lost && co_left(end) > 0)
		client_poll(&c, 100);
	ATF_REQUIRE_MSG(r->out[0] != NULL && strstr(r->out[0], text) != NULL,
	    "no '%s' in '%s'", text, r->out[0] != NULL ? r->out[0] : "");
}

ATF_TC_WITHOUT_HEAD(terminal);
ATF_TC_BODY(terminal, tc)
{
	struct run *r;

	client_start(&c, NULL);
	r = client_exec(&c, (struct shim_exec){ .command =
	    "test -t 0 && test -t 1 && test -t 2 && echo all; stty size; "
	    "echo $TERM; : </dev/tty && echo controlling", .pty = true,
	    .rows = 33, .cols = 101 });
	client_done(&c, r);
	ATF_CHECK_STREQ("all\r\n33 101\r\nxterm-256color\r\ncontrolling\r\n",
	    r->out[0]);
	ATF_CHECK_EQ(0, r->exit.exit_code);
	client_end(&c);
}

ATF_TC_WITHOUT_HEAD(typing);
ATF_TC_BODY(typing, tc)
{
	struct run *r;

	client_start(&c, NULL);
	r = client_exec(&c, (struct shim_exec){ .command =
	    "trap 'echo resized; stty size' WINCH; echo up; "
	    "while read l; do echo got $l; done; echo end", .pty = true });
	expect(r, "up");
	client_stdin(&c, r, "hello\n", 6, false);
	expect(r, "got hello");
	ATF_REQUIRE(shim_resize(c.s, r->id, 50, 132, &c.e) == 0);
	client_stdin(&c, r, "again\n", 6, false);
	expect(r, "50 132");
	/* The end of the input is typed. */
	client_stdin(&c, r, "", 0, true);
	client_done(&c, r);
	expect(r, "end");
	ATF_CHECK_EQ(0, r->exit.exit_code);
	client_end(&c);
}

ATF_TC_WITHOUT_HEAD(interrupt);
ATF_TC_BODY(interrupt, tc)
{
	struct run *r;

	client_start(&c, NULL);
	r = client_exec(&c, (struct shim_exec){ .command =
	    "echo up; exec sleep 1000", .pty = true });
	expect(r, "up");
	client_stdin(&c, r, "\003", 1, false);
	client_done(&c, r);
	ATF_CHECK_EQ(SIGINT, r->exit.signal);
	client_end(&c);
}

/* The last bytes before the end, and many, all arrive. */
ATF_TC_WITHOUT_HEAD(tail);
ATF_TC_BODY(tail, tc)
{
	struct run *r;

	client_start(&c, NULL);
	for (int i = 0; i < 20; i++) {
		r = client_exec(&c, (struct shim_exec){ .command =
		    "i=0; while [ $i -lt 2000 ]; do echo line $i; "
		    "i=$((i+1)); done; printf last", .pty = true });
		client_done(&c, r);
		ATF_CHECK_STREQ("last", r->out[0] + r->len[0] - 4);
		ATF_CHECK_EQ(10 * 8 + 90 * 9 + 900 * 10 + 1000 * 11 + 4,
		    r->len[0]);
	}
	/* Somebody else on the terminal does not keep the command alive. */
	r = client_exec(&c, (struct shim_exec){ .command =
	    "trap '' HUP; sleep 5 & echo $!", .pty = true });
	client_done(&c, r);
	ATF_CHECK_EQ(0, r->exit.exit_code);
	client_end(&c);
}

ATF_TC(owner);
ATF_TC_HEAD(owner, tc)
{
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(owner, tc)
{
	struct run *r;

	client_start(&c, NULL);
	r = client_exec(&c, (struct shim_exec){ .command =
	    "test -O $(tty) && : <$(tty) && echo mine", .user = "nobody",
	    .pty = true });
	client_done(&c, r);
	ATF_CHECK_STREQ("mine\r\n", r->out[0]);
	client_end(&c);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, terminal);
	ATF_TP_ADD_TC(tp, typing);
	ATF_TP_ADD_TC(tp, interrupt);
	ATF_TP_ADD_TC(tp, tail);
	ATF_TP_ADD_TC(tp, owner);
	return (atf_no_error());
}
