/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Much output and slow readers: nothing is lost, nobody's memory grows, and
 * one busy command does not starve another.  COPPICE_SHIM_FLOOD_MB makes
 * the flood larger than 64 MiB.
 */

#include <atf-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "plat.h"

static struct client c;

static uint64_t
flood_size(void)
{
	const char *s = getenv("COPPICE_SHIM_FLOOD_MB");

	return ((s != NULL ? strtoull(s, NULL, 10) : 64) << 20);
}

/* A sanitizer's own memory is not what is measured. */
static long
limit(long kib)
{

	return (getenv("COPPICE_NO_RSS") != NULL || plat_sanitized() ?
	    1L << 40 : kib);
}

static struct run *
flood(uint64_t bytes)
{
	static char size[32];
	static const char *argv[] = { NULL, "flood", size, NULL };
	struct run *r;

	argv[0] = plat_self();
	snprintf(size, sizeof(size), "%llu", (unsigned long long)bytes);
	r = client_exec(&c, (struct shim_exec){ .argv = argv });
	r->keep = false;
	r->counting = true;
	return (r);
}

/* In the sandbox: write the pattern, in pieces of odd sizes. */
static int
write_pattern(uint64_t bytes)
{
	static unsigned char buf[70001];
	uint64_t at = 0;
	size_t n, done;
	ssize_t w;

	while (at < bytes) {
		n = 1 + (size_t)(at * 31 % sizeof(buf));
		if (n > bytes - at)
			n = (size_t)(bytes - at);
		for (size_t i = 0; i < n; i++)
			buf[i] = count_byte(at + i);
		for (done = 0; done < n; done += (size_t)w)
			if ((w = write(1, buf + done, n - done)) <= 0)
				return (1);
		at += n;
	}
	return (0);
}

ATF_TC_WITHOUT_HEAD(large);
ATF_TC_BODY(large, tc)
{
	uint64_t bytes = flood_size();
	long shim = 0, host = 0, rss;
	struct run *r;

	client_start(&c, NULL);
	r = flood(bytes);
	while (!r->done && !c.lost) {
		client_poll(&c, 1000);
		if ((rss = plat_rss(c.pid)) > shim)
			shim = rss;
		if ((rss = plat_rss(getpid())) > host)
			host = rss;
	}
	ATF_CHECK(!c.lost);
	ATF_CHECK_EQ(bytes, r->next);
	ATF_CHECK_EQ(0, r->mismatches);
	ATF_CHECK_EQ(0, r->exit.exit_code);
	printf("%llu bytes; resident: shim %ld KiB, host %ld KiB\n",
	    (unsigned long long)bytes, shim, host);
	ATF_CHECK_MSG(shim < limit(4096), "shim: %ld KiB", shim);
	ATF_CHECK_MSG(host < limit(16384), "host: %ld KiB", host);
	client_end(&c);
}

/* Take a little now and then; the writer waits, others do not. */
ATF_TC_WITHOUT_HEAD(slow);
ATF_TC_BODY(slow, tc)
{
	uint64_t bytes = 4 << 20, consumed = 0;
	struct run *r, *other;
	long before;

	client_start(&c, NULL);
	r = flood(bytes);
	r->hold = true;
	for (int i = 0; i < 1000 && r->next < 262144; i++)
		client_poll(&c, 50);
	for (int i = 0; i < 5; i++)
		client_poll(&c, 20);
	ATF_CHECK_EQ(262144, r->next);
	other = client_sh(&c, "echo not me");
	ATF_CHECK_STREQ("not me\n", other->out[0]);
	ATF_CHECK_EQ(262144, r->next);
	before = plat_rss(c.pid);
	while (!r->done && !c.lost) {
		client_poll(&c, 100);
		ATF_REQUIRE(r->next - consumed <= 262144);
		if (r->next > consumed) {
			uint64_t n = r->next - consumed;

			n = n > 100000 ? 100000 : n;
			consumed += n;
			shim_consumed(c.s, r->id, (size_t)n);
		}
	}
	ATF_CHECK_EQ(bytes, r->next);
	ATF_CHECK_EQ(0, r->mismatches);
	ATF_CHECK(plat_rss(c.pid) < before + limit(1024));
	client_end(&c);
}

/* A host that does not read at all, and then does. */
ATF_TC_WITHOUT_HEAD(stuck);
ATF_TC_BODY(stuck, tc)
{
	struct run *r[8];

	client_start(&c, NULL);
	for (int i = 0; i < 8; i++)
		r[i] = flood(3 << 20);
	ATF_REQUIRE(shim_dispatch(c.s, 0, &c.e) == 0);
	sleep(1);
	ATF_CHECK(plat_rss(c.pid) < limit(8192));
	for (int i = 0; i < 8; i++) {
		client_done(&c, r[i]);
		ATF_CHECK_EQ(3 << 20, r[i]->next);
		ATF_CHECK_EQ(0, r[i]->mismatches);
	}
	client_end(&c);
}

/* Two streams in turns of a byte: neither is mixed up. */
ATF_TC_WITHOUT_HEAD(interleaved);
ATF_TC_BODY(interleaved, tc)
{
	struct run *r;

	client_start(&c, NULL);
	r = client_sh(&c, "i=0; while [ $i -lt 3000 ]; do printf a; "
	    "printf b >&2; i=$((i+1)); done");
	ATF_CHECK_EQ(3000, r->len[0]);
	ATF_CHECK_EQ(3000, r->len[1]);
	ATF_CHECK_EQ(3000, strspn(r->out[0], "a"));
	ATF_CHECK_EQ(3000, strspn(r->out[1], "b"));
	r = client_exec(&c, (struct shim_exec){ .command = "i=0; "
	    "while [ $i -lt 3000 ]; do printf a; printf b >&2; "
	    "i=$((i+1)); done", .window = 4096 });
	r->hold = true;
	for (int i = 0; i < 10; i++)
		client_poll(&c, 50);
	ATF_CHECK(!r->done && r->next <= 4096);
	while (!r->done && !c.lost) {
		shim_consumed(c.s, r->id, 1024);
		client_poll(&c, 10);
	}
	ATF_CHECK_EQ(3000, r->len[0]);
	ATF_CHECK_EQ(3000, r->len[1]);
	client_end(&c);
}

ATF_TC_WITHOUT_HEAD(idle);
ATF_TC_BODY(idle, tc)
{
	long rss;

	client_start(&c, NULL);
	client_sh(&c, "true");
	rss = plat_rss(c.pid);
	printf("resident: %ld KiB\n", rss);
	ATF_CHECK_MSG(rss < limit(2048), "%ld KiB", rss);
	client_end(&c);
}

static void __attribute__((__constructor__))
in_sandbox(int argc, char **argv)
{

	if (argc == 3 && strcmp(argv[1], "flood") == 0)
		_exit(write_pattern(strtoull(argv[2], NULL, 10)));
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, large);
	ATF_TP_ADD_TC(tp, slow);
	ATF_TP_ADD_TC(tp, stuck);
	ATF_TP_ADD_TC(tp, interleaved);
	ATF_TP_ADD_TC(tp, idle);
	return (atf_no_error());
}
