/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Hosts that go and come back: commands go on, and not one byte of their
 * output is lost or seen twice.
 */

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
static const struct start listening = { .listen = true, .rundir = "run" };

static void
finish(void)
{

	ATF_REQUIRE(shim_shutdown(c.s, 1000, SHIM_EXIT, &c.e) == 0);
	for (int i = 0; i < 300 && !c.lost; i++)
		client_poll(&c, 100);
	client_end(&c);
}

ATF_TC_WITHOUT_HEAD(reconnect);
ATF_TC_BODY(reconnect, tc)
{
	static const char *argv[] = { NULL, "count", "30000000", NULL };
	struct run *r;
	char instance[64];
	int rounds = 0;

	argv[0] = plat_self();
	client_start(&c, &listening);
	snprintf(instance, sizeof(instance), "%s", c.instance);
	r = client_exec(&c, (struct shim_exec){ .id = 77, .argv = argv,
	    .tag = "the tag" });
	r->keep = false;
	r->counting = true;
	while (!r->done && rounds < 200) {
		/* A host reads a while, then dies at any moment. */
		for (int i = 0; i < rounds % 5 + 1 && !r->done; i++)
			client_poll(&c, 100);
		if (r->done)
			break;
		client_disconnect(&c);
		client_connect(&c);
		ATF_CHECK_STREQ(instance, c.instance);
		ATF_REQUIRE(shim_attach(c.s, 77, (int64_t)r->next,
		    &c.e) == 0);
		rounds++;
	}
	client_done(&c, r);
	printf("%d reconnections\n", rounds);
	ATF_CHECK(rounds > 10);
	ATF_CHECK_EQ(30000000, r->next);
	ATF_CHECK_EQ(0, r->mismatches);
	ATF_CHECK_EQ(0, r->exit.exit_code);
	finish();
}

/* It ended while nobody was there. */
ATF_TC_WITHOUT_HEAD(alone);
ATF_TC_BODY(alone, tc)
{
	struct run *r;
	uint32_t number;

	client_start(&c, &listening);
	r = client_exec(&c, (struct shim_exec){ .id = 5, .command =
	    "echo first; sleep 0.5; echo second; exit 9", .tag = "five" });
	while (r->len[0] < 6)
		client_poll(&c, 100);
	client_disconnect(&c);
	sleep(1);
	client_connect(&c);
	ATF_REQUIRE(shim_ps(c.s, &c, &number, &c.e) == 0);
	for (int i = 0; i < 100 && c.nprocesses == 0; i++)
		client_poll(&c, 100);
	ATF_REQUIRE_EQ(1, c.nprocesses);
	ATF_CHECK_EQ(5, c.process[0].id);
	ATF_CHECK_STREQ("five", c.process[0].tag);
	ATF_CHECK(!c.process[0].running);
	ATF_REQUIRE(shim_attach(c.s, 5, 6, &c.e) == 0);
	client_done(&c, r);
	ATF_CHECK_STREQ("first\nsecond\n", r->out[0]);
	ATF_CHECK_EQ(9, r->exit.exit_code);
	/* It was told, so it is forgotten. */
	r->done = false;
	ATF_REQUIRE(shim_attach(c.s, 5, -1, &c.e) == 0);
	client_done(&c, r);
	ATF_CHECK_EQ(ESRCH, r->exit.error);
	finish();
}

/* From the oldest byte there is, for who remembers nothing. */
ATF_TC_WITHOUT_HEAD(oldest);
ATF_TC_BODY(oldest, tc)
{
	struct run *r;

	client_start(&c, &listening);
	r = client_exec(&c, (struct shim_exec){ .id = 6, .command =
	    "echo first; read x; echo $x", .io = { SHIM_PIPE } });
	r->hold = true;
	while (r->len[0] < 6)
		client_poll(&c, 100);
	client_stdin(&c, r, "half", 4, false);
	client_poll(&c, 100);
	client_disconnect(&c);
	client_connect(&c);
	r->len[0] = 0;
	r->next = 0;
	ATF_REQUIRE(shim_attach(c.s, 6, -1, &c.e) == 0);
	client_stdin(&c, r, " line\n", 6, true);
	client_done(&c, r);
	ATF_CHECK_STREQ("first\nhalf line\n", r->out[0]);
	/* What is not there can't be had. */
	r = client_exec(&c, (struct shim_exec){ .id = 7,
	    .command = "sleep 1000" });
	while (!r->started)
		client_poll(&c, 100);
	client_disconnect(&c);
	client_connect(&c);
	ATF_REQUIRE(shim_attach(c.s, 7, 12345, &c.e) == 0);
	client_done(&c, r);
	ATF_CHECK_EQ(ERANGE, r->exit.error);
	finish();
}

/* The newest connection is the host. */
ATF_TC_WITHOUT_HEAD(newest);
ATF_TC_BODY(newest, tc)
{
	struct shim *old;
	struct run *r;

	client_start(&c, &listening);
	r = client_exec(&c, (struct shim_exec){ .id = 8,
	    .command = "sleep 0.5; echo here" });
	while (!r->started)
		client_poll(&c, 100);
	old = c.s;
	client_connect(&c);
	ATF_REQUIRE(shim_attach(c.s, 8, 0, &c.e) == 0);
	client_done(&c, r);
	ATF_CHECK_STREQ("here\n", r->out[0]);
	ATF_CHECK_EQ(-1, shim_dispatch(old, 1, &c.e));
	shim_free(old);
	finish();
}

static void __attribute__((__constructor__))
in_sandbox(int argc, char **argv)
{
	static unsigned char buf[5000];
	uint64_t at = 0, bytes;
	size_t n;

	if (argc != 3 || strcmp(argv[1], "count") != 0)
		return;
	bytes = strtoull(argv[2], NULL, 10);
	for (; at < bytes; at += n) {
		n = sizeof(buf) < bytes - at ? sizeof(buf) :
		    (size_t)(bytes - at);
		for (size_t i = 0; i < n; i++)
			buf[i] = count_byte(at + i);
		if (write(1, buf, n) != (ssize_t)n)
			_exit(1);
	}
	_exit(0);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, reconnect);
	ATF_TP_ADD_TC(tp, alone);
	ATF_TP_ADD_TC(tp, oldest);
	ATF_TP_ADD_TC(tp, newest);
	return (atf_no_error());
}
