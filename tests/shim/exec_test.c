/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Commands run by the real shim: what they are given, what they say, how
 * they end and how they are ended.
 */

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

static struct client c;

static struct run *
run(struct shim_exec x)
{
	struct run *r = client_exec(&c, x);

	client_done(&c, r);
	return (r);
}

ATF_TC_WITHOUT_HEAD(status);
ATF_TC_BODY(status, tc)
{
	struct run *r;

	client_start(&c, NULL);
	ATF_CHECK_EQ(32, strlen(c.instance));
	r = client_sh(&c, "echo out; echo err >&2; exit 3");
	ATF_CHECK(r->started && r->pid > 0);
	ATF_CHECK_STREQ("out\n", r->out[0]);
	ATF_CHECK_STREQ("err\n", r->out[1]);
	ATF_CHECK_EQ(3, r->exit.exit_code);
	ATF_CHECK_EQ(0, r->exit.signal);
	ATF_CHECK_EQ(0, r->exit.error);
	ATF_CHECK_EQ(8, r->exit.output);
	r = client_sh(&c, "kill -KILL $$");
	ATF_CHECK_EQ(128 + SIGKILL, r->exit.exit_code);
	ATF_CHECK_EQ(SIGKILL, r->exit.signal);
	r = client_sh(&c, "exit 255");
	ATF_CHECK_EQ(255, r->exit.exit_code);
	client_end(&c);
}

ATF_TC_WITHOUT_HEAD(surroundings);
ATF_TC_BODY(surroundings, tc)
{
	static const char *const env[] = { "A=1 \"2\"", "B=", "HOME=/h", NULL };
	static const char *const argv[] = { "printf", "%s|", "a b", "",
	    "\xff\xfe", "\xe2\x82\xac", NULL };
	struct run *r;

	setenv("SECRET", "x", 1);
	client_start(&c, NULL);
	r = run((struct shim_exec){ .argv = argv });
	ATF_CHECK_STREQ("a b||\xff\xfe|\xe2\x82\xac|", r->out[0]);
	r = run((struct shim_exec){ .command = "echo \"$A|$B|$HOME|$SECRET\"; "
	    "pwd; umask", .env = env, .cwd = "/usr" });
	ATF_CHECK_STREQ("1 \"2\"||/h|\n/usr\n0022\n", r->out[0]);
	r = run((struct shim_exec){ .command = "true",
	    .cwd = "/nowhere/at/all" });
	ATF_CHECK_EQ(126, r->exit.exit_code);
	ATF_CHECK_EQ(ENOENT, r->exit.error);
	ATF_CHECK(!r->started);
	r = run((struct shim_exec){ .command = "true", .user = "nosuchuser" });
	ATF_CHECK_EQ(126, r->exit.exit_code);
	ATF_CHECK(r->exit.error != 0 && !r->started);
	r = run((struct shim_exec){ .argv = (const char *const[]){
	    "/no/such/program", NULL } });
	ATF_CHECK_EQ(127, r->exit.exit_code);
	ATF_CHECK_EQ(ENOENT, r->exit.error);
	r = run((struct shim_exec){ .argv = (const char *const[]){
	    "/etc/passwd", NULL } });
	ATF_CHECK_EQ(126, r->exit.exit_code);
	ATF_CHECK_EQ(EACCES, r->exit.error);
	client_end(&c);
}

ATF_TC(contained);
ATF_TC_HEAD(contained, tc)
{
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(contained, tc)
{
	struct run *r;
	int fd;

	fd = open("/", O_RDONLY);
	ATF_REQUIRE(dup2(fd, 77) == 77);
	client_start(&c, NULL);
	r = client_sh(&c, "for i in 3 4 5 6 7 8 9 10 11 12 13 77; do "
	    "(: <&$i) 2>/dev/null && echo leaked $i; done; "
	    "kill -TERM $$; echo ignored");
	ATF_CHECK_STREQ("", r->out[0]);
	ATF_CHECK_EQ(SIGTERM, r->exit.signal);
	r = client_sh(&c, "ps -o pid= -o pgid= -o sid= -p $$ | "
	    "awk '$1 == $2 && $2 == $3 { print \"own\" }'");
	ATF_CHECK_STREQ("own\n", r->out[0]);
	r = run((struct shim_exec){ .command = "id -un; id -u; echo $HOME",
	    .user = "nobody" });
	ATF_CHECK_MSG(strncmp(r->out[0], "nobody\n65534\n", 13) == 0, "%s",
	    r->out[0]);
	r = run((struct shim_exec){ .command = "id -u; id -g; id -G",
	    .user = "12345:23456" });
	ATF_CHECK_STREQ("12345\n23456\n23456\n", r->out[0]);
	r = client_sh(&c, "grep -s '^NoNewPrivs:.*0' /proc/self/status");
	ATF_CHECK_STREQ("", r->out[0]);
	client_end(&c);
}

ATF_TC_WITHOUT_HEAD(binary);
ATF_TC_BODY(binary, tc)
{
	char all[4096];
	struct run *r;

	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (char)(i * 7 + i / 256);
	client_start(&c, NULL);
	r = client_exec(&c, (struct shim_exec){ .argv = (const char *const[]){
	    "cat", NULL }, .io = { SHIM_PIPE } });
	client_stdin(&c, r, all, sizeof(all), false);
	client_stdin(&c, r, all, sizeof(all), true);
	client_done(&c, r);
	ATF_REQUIRE_EQ(2 * sizeof(all), r->len[0]);
	ATF_CHECK(memcmp(r->out[0], all, sizeof(all)) == 0);
	ATF_CHECK(memcmp(r->out[0] + sizeof(all), all, sizeof(all)) == 0);
	ATF_CHECK_EQ(0, r->exit.exit_code);
	client_end(&c);
}

/* More than any buffer holds, through stdin and back. */
ATF_TC_WITHOUT_HEAD(roundtrip);
ATF_TC_BODY(roundtrip, tc)
{
	size_t len = 8 << 20;
	char *big = malloc(len);
	struct run *r;

	ATF_REQUIRE(big != NULL);
	for (size_t i = 0; i < len; i++)
		big[i] = (char)count_byte(i);
	client_start(&c, NULL);
	r = client_exec(&c, (struct shim_exec){ .argv = (const char *const[]){
	    "cat", NULL }, .io = { SHIM_PIPE } });
	r->keep = false;
	r->counting = true;
	client_stdin(&c, r, big, len, true);
	client_done(&c, r);
	ATF_CHECK_EQ(len, r->next);
	ATF_CHECK_EQ(0, r->mismatches);
	/* And into one that does not read, but ends. */
	r = client_exec(&c, (struct shim_exec){ .command = "exit 0",
	    .io = { SHIM_PIPE } });
	for (int i = 0; i < 100 && !r->done; i++) {
		(void)shim_stdin(c.s, r->id, big, len, false);
		client_poll(&c, 100);
	}
	client_done(&c, r);
	ATF_CHECK_EQ(0, r->exit.exit_code);
	ATF_CHECK_EQ(-1, shim_stdin(c.s, r->id, big, 1, false));
	client_end(&c);
	free(big);
}

ATF_TC_WITHOUT_HEAD(streams);
ATF_TC_BODY(streams, tc)
{
	struct run *r;
	char buf[64];
	int p[2];

	client_start(&c, NULL);
	r = run((struct shim_exec){ .command = "echo a; echo b >&2",
	    .io = { SHIM_DEFAULT, SHIM_PIPE, SHIM_SAME } });
	ATF_CHECK_STREQ("a\nb\n", r->out[0]);
	r = run((struct shim_exec){ .command = "cat; echo a; echo b >&2",
	    .io = { SHIM_NULL, SHIM_NULL, SHIM_PIPE } });
	ATF_CHECK_STREQ("", r->out[0]);
	ATF_CHECK_STREQ("b\n", r->out[1]);
	/* Descriptors of ours instead: nothing goes over the channel. */
	ATF_REQUIRE(pipe(p) == 0);
	r = run((struct shim_exec){ .command = "cat; echo straight; "
	    "echo relayed >&2", .io = { SHIM_FD, SHIM_FD, SHIM_PIPE },
	    .fd = { open("/dev/null", O_RDONLY), p[1] } });
	ATF_CHECK_EQ(0, r->exit.exit_code);
	ATF_CHECK_STREQ("relayed\n", r->out[1]);
	ATF_CHECK_EQ(0, r->len[0]);
	ATF_CHECK_EQ(9, read(p[0], buf, sizeof(buf)));
	ATF_CHECK(memcmp(buf, "straight\n", 9) == 0);
	ATF_CHECK_EQ(0, read(p[0], buf, sizeof(buf)));
	close(p[0]);
	client_end(&c);
}

/* A command ends when it ends, whoever else has its pipes. */
ATF_TC_WITHOUT_HEAD(background);
ATF_TC_BODY(background, tc)
{
	struct run *r;

	client_start(&c, NULL);
	r = client_sh(&c, "sleep 1000 & echo $!");
	ATF_CHECK_EQ(0, r->exit.exit_code);
	ATF_CHECK(kill((pid_t)atoi(r->out[0]), SIGKILL) == 0);
	r = run((struct shim_exec){ .command = "(sleep 1; echo late) & "
	    "echo early", .until_eof = true });
	ATF_CHECK_STREQ("early\nlate\n", r->out[0]);
	client_end(&c);
}

ATF_TC_WITHOUT_HEAD(timeout);
ATF_TC_BODY(timeout, tc)
{
	struct run *r;

	client_start(&c, NULL);
	r = run((struct shim_exec){ .command = "echo begun; exec sleep 1000",
	    .timeout_ms = 3000 });
	ATF_CHECK_STREQ("begun\n", r->out[0]);
	ATF_CHECK(r->exit.timed_out);
	ATF_CHECK_EQ(SIGTERM, r->exit.signal);
	r = run((struct shim_exec){ .command = "trap '' TERM; while :; do "
	    "sleep 1; done", .timeout_ms = 3000, .grace_ms = 200 });
	ATF_CHECK(r->exit.timed_out);
	ATF_CHECK_EQ(SIGKILL, r->exit.signal);
	r = run((struct shim_exec){ .command = "true", .timeout_ms = 100000 });
	ATF_CHECK(!r->exit.timed_out);
	client_end(&c);
}

static void
wait_output(struct run *r, size_t n)
{
	co_moment end = co_after(WAIT_MS);

	while (r->len[0] < n && co_left(end) > 0)
		client_poll(&c, 100);
	ATF_REQUIRE(r->len[0] >= n);
}

/* Tell whether a process is gone; init or the shim must reap it first. */
static bool
gone(pid_t pid)
{

	for (int i = 0; i < 500; i++) {
		if (kill(pid, 0) != 0)
			return (errno == ESRCH);
		client_poll(&c, 20);
	}
	return (false);
}

ATF_TC_WITHOUT_HEAD(cancel);
ATF_TC_BODY(cancel, tc)
{
	struct run *r;
	int child, job;

	client_start(&c, NULL);
	r = client_exec(&c, (struct shim_exec){ .command =
	    "sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' & "
	    "set -m; sleep 1000 & echo $!; wait" });
	while (r->out[0] == NULL || strchr(r->out[0], '\n') ==
	    strrchr(r->out[0], '\n'))
		wait_output(r, r->len[0] + 1);
	ATF_REQUIRE_EQ(2, sscanf(r->out[0], "%d %d", &child, &job));
	ATF_REQUIRE(shim_cancel(c.s, r->id, 300, &c.e) == 0);
	client_done(&c, r);
	ATF_CHECK(r->exit.signal != 0 || r->exit.exit_code != 0);
	/* What did not care is killed after the grace, in its own group too. */
	client_poll(&c, 500);
	ATF_CHECK(gone(child));
	ATF_CHECK(gone(job));
	client_end(&c);
}

ATF_TC_WITHOUT_HEAD(signals);
ATF_TC_BODY(signals, tc)
{
	struct run *r;

	client_start(&c, NULL);
	r = client_exec(&c, (struct shim_exec){ .command =
	    "trap 'echo one' USR1; trap 'echo two; exit 7' USR2; echo up; "
	    "while :; do sleep 0.1; done" });
	wait_output(r, 3);
	ATF_REQUIRE(shim_signal(c.s, r->id, SIGUSR1, false, &c.e) == 0);
	wait_output(r, 7);
	ATF_REQUIRE(shim_signal(c.s, r->id, SIGUSR2, false, &c.e) == 0);
	client_done(&c, r);
	ATF_CHECK_STREQ("up\none\ntwo\n", r->out[0]);
	ATF_CHECK_EQ(7, r->exit.exit_code);
	ATF_CHECK_EQ(-1, shim_signal(c.s, r->id, SIGUSR2, false, &c.e));
	client_end(&c);
}

ATF_TC_WITHOUT_HEAD(parallel);
ATF_TC_BODY(parallel, tc)
{
	struct run *r[100];
	char cmd[64], want[64];

	client_start(&c, NULL);
	for (int i = 0; i < 100; i++) {
		snprintf(cmd, sizeof(cmd), "sleep 0.2; echo %d; exit %d", i,
		    i);
		r[i] = client_exec(&c, (struct shim_exec){ .command = cmd });
	}
	for (int i = 0; i < 100; i++) {
		client_done(&c, r[i]);
		snprintf(want, sizeof(want), "%d\n", i);
		ATF_CHECK_STREQ(want, r[i]->out[0]);
		ATF_CHECK_EQ(i, r[i]->exit.exit_code);
	}
	/* More than there is place for are refused, and nothing else is. */
	for (int i = 0; i < 300; i++)
		client_exec(&c, (struct shim_exec){ .id = 5000 + i,
		    .command = "sleep 1" });
	for (int i = 0, ok = 0; i < 300; i++) {
		struct run *q = client_run(&c, 5000 + i);

		client_done(&c, q);
		ok += q->exit.error == 0;
		ATF_CHECK(q->exit.error == 0 || q->exit.error == EAGAIN);
		ATF_CHECK(i != 299 || ok >= 200);
	}
	ATF_CHECK_STREQ("still\n", client_sh(&c, "echo still")->out[0]);
	client_end(&c);
}

ATF_TC_WITHOUT_HEAD(arguments);
ATF_TC_BODY(arguments, tc)
{
	static char huge[140000];

	client_start(&c, NULL);
	memset(huge, 'x', sizeof(huge) - 1);
	ATF_CHECK_EQ(-1, shim_exec(c.s, &(struct shim_exec){ .id = 1 },
	    &c.e));
	ATF_CHECK_EQ(-1, shim_exec(c.s, &(struct shim_exec){ .id = 0,
	    .command = "x" }, &c.e));
	ATF_CHECK_EQ(-1, shim_exec(c.s, &(struct shim_exec){ .id = 1,
	    .command = huge }, &c.e));
	ATF_CHECK_EQ(CO_EPROTO_ARGUMENT, c.e.code);
	huge[120000] = '\0';
	memcpy(huge, "echo ", 5);
	ATF_CHECK_EQ(120000 - 4, client_sh(&c, huge)->len[0]);
	client_end(&c);
}

ATF_TC_WITHOUT_HEAD(fallback);
ATF_TC_BODY(fallback, tc)
{
	static const char *const argv[] = { "/no/such/shell", "-c",
	    "echo $0", NULL };
	static const char *const there[] = { "/bin/sh", "-c", "echo $0",
	    NULL };
	struct run *r;

	client_start(&c, NULL);
	r = run((struct shim_exec){ .argv = argv, .fallback = "/bin/sh" });
	ATF_CHECK_EQ(0, r->exit.exit_code);
	ATF_CHECK_STREQ("/bin/sh\n", r->out[0]);
	r = run((struct shim_exec){ .argv = there, .fallback = "/none" });
	ATF_CHECK_STREQ("/bin/sh\n", r->out[0]);
	r = run((struct shim_exec){ .argv = argv, .fallback = "/none" });
	ATF_CHECK_EQ(127, r->exit.exit_code);
	ATF_CHECK_EQ(ENOENT, r->exit.error);
	client_end(&c);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, status);
	ATF_TP_ADD_TC(tp, surroundings);
	ATF_TP_ADD_TC(tp, contained);
	ATF_TP_ADD_TC(tp, binary);
	ATF_TP_ADD_TC(tp, roundtrip);
	ATF_TP_ADD_TC(tp, streams);
	ATF_TP_ADD_TC(tp, background);
	ATF_TP_ADD_TC(tp, timeout);
	ATF_TP_ADD_TC(tp, cancel);
	ATF_TP_ADD_TC(tp, signals);
	ATF_TP_ADD_TC(tp, parallel);
	ATF_TP_ADD_TC(tp, fallback);
	ATF_TP_ADD_TC(tp, arguments);
	return (atf_no_error());
}
