/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The shim as the first process: reaping, figures, notices and the end.
 */

#include <sys/stat.h>

#include <atf-c.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "plat.h"

static struct client c;

/* Orphans of orphans, many of them, all reaped by the first process. */
ATF_TC(zombies);
ATF_TC_HEAD(zombies, tc)
{
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(zombies, tc)
{
	struct run *r;

	client_start(&c, &(struct start){ .clone = PLAT_PID,
	    .rundir = "run" });
	r = client_sh(&c, "for i in 1 2 3 4 5 6 7 8 9 10; do "
	    "sh -c '(sleep 0.1 & sleep 0.1 & sleep 0.1 &)' & done; wait; "
	    "sleep 0.5");
	ATF_CHECK_EQ(0, r->exit.exit_code);
	r = client_sh(&c, "ps -o stat= -A 2>/dev/null | grep -c '^Z'");
	ATF_CHECK_STREQ("0\n", r->out[0]);
	/* Being killed by its own sandbox is not among what can happen. */
	r = client_sh(&c, "ps -o ppid= -p $$; test $PPID -ne 1 || "
	    "kill -9 1; echo $?");
	ATF_CHECK(strstr(r->out[0], "0\n") != NULL ||
	    strstr(r->out[0], "1\n") != NULL);
	ATF_CHECK_STREQ("alive\n", client_sh(&c, "echo alive")->out[0]);
	client_end(&c);
}

/* As a child of somebody else's it still gets the orphans. */
ATF_TC_WITHOUT_HEAD(reaper);
ATF_TC_BODY(reaper, tc)
{
	char want[32];
	struct run *r;

	client_start(&c, NULL);
	r = client_sh(&c, "(sh -c 'sleep 0.3; echo $(ps -o ppid= -p $$)' &); "
	    "sleep 1");
	snprintf(want, sizeof(want), "%d\n", (int)c.pid);
	ATF_CHECK_STREQ(want, r->out[0]);
	client_end(&c);
}

ATF_TC(shutdown);
ATF_TC_HEAD(shutdown, tc)
{
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(shutdown, tc)
{
	struct run *good, *bad;

	client_start(&c, &(struct start){ .clone = PLAT_PID,
	    .rundir = "run" });
	good = client_exec(&c, (struct shim_exec){ .command =
	    "trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.1; "
	    "done" });
	bad = client_exec(&c, (struct shim_exec){ .command =
	    "trap '' TERM; echo up; while :; do sleep 0.1; done" });
	while (good->len[0] < 3 || bad->len[0] < 3)
		client_poll(&c, 50);
	ATF_REQUIRE(shim_shutdown(c.s, 1000, SHIM_EXIT, &c.e) == 0);
	for (int i = 0; i < 300 && !c.lost; i++)
		client_poll(&c, 50);
	ATF_CHECK(c.lost);
	ATF_CHECK(good->done);
	ATF_CHECK_EQ(5, good->exit.exit_code);
	ATF_CHECK_STREQ("up\nbye\n", good->out[0]);
	client_end(&c);
}

/* When its one channel closes, so does the sandbox. */
ATF_TC_WITHOUT_HEAD(orphaned);
ATF_TC_BODY(orphaned, tc)
{
	struct run *r;
	pid_t pid;

	client_start(&c, NULL);
	r = client_exec(&c, (struct shim_exec){ .command =
	    "echo $$; exec sleep 1000" });
	while (r->len[0] == 0)
		client_poll(&c, 50);
	pid = (pid_t)atoi(r->out[0]);
	client_end(&c);
	for (int i = 0; i < 300 && kill(pid, 0) == 0; i++)
		usleep(10000);
	ATF_CHECK(kill(pid, 0) == -1 && errno == ESRCH);
}

ATF_TC_WITHOUT_HEAD(heartbeat);
ATF_TC_BODY(heartbeat, tc)
{
	struct req *r;

	c.beat_ms = 50;
	client_start(&c, NULL);
	for (int i = 0; i < 1000 && c.nstats < 3; i++)
		client_poll(&c, 50);
	ATF_CHECK(c.nstats >= 3);
	ATF_CHECK(c.stats.seq >= 3);
	ATF_CHECK(c.stats.cpus >= 1);
	ATF_CHECK(c.stats.cpu_ms > 0);
	ATF_CHECK(c.stats.mem_total > c.stats.mem_used);
	ATF_CHECK(c.stats.mem_used > 0);
	ATF_CHECK(c.stats.disk_total > 0);
	client_sh(&c, "echo busy");
	r = client_do(&c, (struct shim_request){ .op = SHIM_OP_STATS });
	ATF_CHECK_EQ(0, r->result.error);
	ATF_CHECK_EQ(5, c.stats.activity);
	ATF_CHECK_EQ(0, c.stats.procs);
	client_end(&c);
}

ATF_TC_WITHOUT_HEAD(rollback);
ATF_TC_BODY(rollback, tc)
{
	char dir[1024], run[1100], cmd[1200];
	struct run *r;

	ATF_REQUIRE(getcwd(dir, sizeof(dir)) != NULL);
	snprintf(run, sizeof(run), "%s/run", dir);
	snprintf(cmd, sizeof(cmd), "cat %s/rollback", run);
	client_start(&c, &(struct start){ .rundir = run });
	ATF_REQUIRE(shim_rollback(c.s, 41, &c.e) == 0);
	r = client_sh(&c, cmd);
	ATF_CHECK_STREQ("{\"step_id\":41,\"count\":1}\n", r->out[0]);
	ATF_REQUIRE(shim_rollback(c.s, 40, &c.e) == 0);
	r = client_sh(&c, cmd);
	ATF_CHECK_STREQ("{\"step_id\":40,\"count\":2}\n", r->out[0]);
	client_end(&c);
}

ATF_TC_WITHOUT_HEAD(configured);
ATF_TC_BODY(configured, tc)
{
	static const char *const env[] = { "FROM=configure", "BOTH=c", NULL };
	static const char *const own[] = { "BOTH=e", NULL };
	struct run *r;
	struct req *q;

	client_start(&c, NULL);
	q = client_do(&c, (struct shim_request){ .op = SHIM_OP_CONFIGURE,
	    .env = env, .cwd = "/usr" });
	ATF_CHECK_EQ_MSG(0, q->result.error, "%s", q->message);
	r = client_exec(&c, (struct shim_exec){ .command =
	    "echo $FROM $BOTH; pwd", .env = own });
	client_done(&c, r);
	ATF_CHECK_STREQ("configure e\n/usr\n", r->out[0]);
	q = client_do(&c, (struct shim_request){ .op = SHIM_OP_CONFIGURE,
	    .ip = "300.1.1.1" });
	ATF_CHECK_EQ(EINVAL, q->result.error);
	client_end(&c);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, zombies);
	ATF_TP_ADD_TC(tp, reaper);
	ATF_TP_ADD_TC(tp, shutdown);
	ATF_TP_ADD_TC(tp, orphaned);
	ATF_TP_ADD_TC(tp, heartbeat);
	ATF_TP_ADD_TC(tp, rollback);
	ATF_TP_ADD_TC(tp, configured);
	return (atf_no_error());
}
