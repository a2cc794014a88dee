/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Messages and frames: every type there and back, every bound, and bytes
 * that arrive in pieces of any size.
 */

#include <sys/socket.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sf.h"
#include "sw_table.h"

static struct sj_val val[SW_HOSTVALS];
static struct sj_doc doc = { .val = val, .cap = SW_HOSTVALS };
static char line[SW_HOSTLINE + 2], again[SW_HOSTLINE + 2];

static int
decode(const char *text, enum sw_from from)
{
	struct sw_msg m;

	snprintf(line, sizeof(line), "%s", text);
	return (sw_decode(&m, &doc, line, strlen(line), from));
}

/* Give a field its largest or smallest value. */
static void
fill(struct sw_msg *m, enum sw_field f, bool most)
{
	static const char *const list[] = { "x", "", "\xff", NULL };
	static const char *const map[] = { "A=1", "B=", "C==\xff", NULL };
	static const int64_t nums[] = { 1, 65535 };
	const struct sw_fielddef *d = &sw_fields[f];

	switch (d->kind) {
	case SW_NUM:
		sw_set_num(m, f, most ? d->max : d->min);
		break;
	case SW_BOOL:
		sw_set_num(m, f, most);
		break;
	case SW_WORD:
		sw_set_num(m, f, most ? 1 : 0);
		break;
	case SW_STR:
	case SW_BYTES:
		sw_set_bytes(m, f, "some \xe2\x82\xac\xff", most ? 9 : 0);
		break;
	case SW_LIST:
		sw_set_vec(m, f, list, most ? 3 : 0);
		break;
	case SW_MAP:
		sw_set_vec(m, f, map, most ? 3 : 0);
		break;
	case SW_NUMS:
		sw_set_nums(m, f, nums, most ? 2 : 0);
		break;
	}
}

/* Every message with all its fields: encoded, decoded, encoded the same. */
ATF_TC_WITHOUT_HEAD(all);
ATF_TC_BODY(all, tc)
{
	struct sw_msg m, back;
	size_t len, len2;

	for (int t = W_NONE + 1; t < W_MAX; t++)
		for (int most = 0; most < 2; most++) {
			const struct sw_typedef *d = &sw_types[t];

			sw_init(&m, (enum sw_type)t);
			for (const uint8_t *f = d->need; *f != F_NONE; f++)
				fill(&m, *f, most != 0);
			for (const uint8_t *f = d->may; *f != F_NONE; f++)
				if (*f != F_DATA)
					fill(&m, *f, most != 0);
			ATF_REQUIRE_EQ_MSG(0, sw_encode(&m, line,
			    sizeof(line), &len), "%s", d->name);
			ATF_CHECK_EQ('\n', line[len - 1]);
			memcpy(again, line, len);
			ATF_REQUIRE_EQ_MSG(0, sw_decode(&back, &doc, again,
			    len - 1, (d->from & SW_HOST) != 0 ? SW_HOST :
			    SW_SHIM), "%s: %s %s", d->name, back.why,
			    sw_field_name(back.which));
			ATF_CHECK_EQ((enum sw_type)t, back.type);
			ATF_CHECK(memcmp(m.set, back.set,
			    sizeof(m.set)) == 0);
			static char third[SW_HOSTLINE];
			ATF_REQUIRE_EQ(0, sw_encode(&back, third,
			    sizeof(third), &len2));
			ATF_CHECK(len == len2 && memcmp(line, third,
			    len) == 0);
		}
}

/* One step outside of every bound is refused, both ways. */
ATF_TC_WITHOUT_HEAD(bounds);
ATF_TC_BODY(bounds, tc)
{
	char text[256];
	struct sw_msg m;
	size_t len;

	for (int t = W_NONE + 1; t < W_MAX; t++) {
		const struct sw_typedef *d = &sw_types[t];

		for (const uint8_t *f = d->may; *f != F_NONE; f++) {
			const struct sw_fielddef *fd = &sw_fields[*f];

			if (fd->kind != SW_NUM || fd->max == INT64_MAX)
				continue;
			sw_init(&m, (enum sw_type)t);
			for (const uint8_t *n = d->need; *n != F_NONE; n++)
				fill(&m, *n, true);
			sw_set_num(&m, *f, fd->max + 1);
			ATF_CHECK_EQ(EMSGSIZE, sw_encode(&m, line,
			    sizeof(line), &len));
		}
	}
	snprintf(text, sizeof(text), "{\"type\":\"cancel\",\"id\":1,"
	    "\"grace_ms\":%lld}", -1LL);
	ATF_CHECK_EQ(EINVAL, decode(text, SW_HOST));
}

ATF_TC_WITHOUT_HEAD(refused);
ATF_TC_BODY(refused, tc)
{
	static const char *const bad[] = {
		"[]", "{}", "7", "{\"type\":7}", "{\"type\":\"\"}",
		"{\"type\":\"exec\\u0000\",\"id\":1}",
		"{\"type\\u0000\":\"exec\",\"id\":1}",
		"{\"id\":1}", "{\"type\":\"cancel\"}",
		"{\"type\":\"cancel\",\"id\":\"1\"}",
		"{\"type\":\"cancel\",\"id\":true}",
		"{\"type\":\"cancel\",\"id\":[1]}",
		"{\"type\":\"cancel\",\"id\":1,\"id\":1}",
		"{\"type\":\"cancel\",\"type\":\"cancel\",\"id\":1}",
		"{\"type\":\"cancel\",\"id\":1,\"path\":\"x\"}",
		"{\"type\":\"exec\",\"id\":1,\"argv\":\"x\"}",
		"{\"type\":\"exec\",\"id\":1,\"argv\":[1]}",
		"{\"type\":\"exec\",\"id\":1,\"argv\":[[\"a\"],\"b\"]}",
		"{\"type\":\"exec\",\"id\":1,\"argv\":[\"a\\u0000\"]}",
		"{\"type\":\"exec\",\"id\":1,\"env\":[\"A=b\"]}",
		"{\"type\":\"exec\",\"id\":1,\"env\":{\"\":\"b\"}}",
		"{\"type\":\"exec\",\"id\":1,\"env\":{\"A=\":\"b\"}}",
		"{\"type\":\"exec\",\"id\":1,\"env\":{\"A\":{\"b\":\"c\"}}}",
		"{\"type\":\"exec\",\"id\":1,\"stdin\":\"file\"}",
		"{\"type\":\"exec\",\"id\":1,\"pty\":1}",
		"{\"type\":\"ports\",\"req\":1,\"ports\":[0]}",
		"{\"type\":\"ports\",\"req\":1,\"ports\":[65536]}",
		"{\"type\":\"ports\",\"req\":4294967296,\"ports\":[]}",
		"{\"type\":\"reply\",\"req\":1}",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ATF_CHECK_EQ_MSG(EINVAL, decode(bad[i], SW_HOST), "%s",
		    bad[i]);
	ATF_CHECK_EQ(EINVAL, decode("{\"type\":\"exec\",\"id\":1}",
	    SW_SHIM));
	ATF_CHECK_EQ(0, decode("{\"type\":\"exec\",\"id\":1}", SW_HOST));
}

ATF_TC_WITHOUT_HEAD(errors);
ATF_TC_BODY(errors, tc)
{

	ATF_CHECK_STREQ("ENOENT", sw_errname(ENOENT));
	ATF_CHECK_STREQ("EIO", sw_errname(99999));
	ATF_CHECK_EQ(ENOTEMPTY, sw_errno("ENOTEMPTY"));
	ATF_CHECK_EQ(EIO, sw_errno("what"));
}

/* A stream of frames, in pieces of every size, read as it was written. */
ATF_TC_WITHOUT_HEAD(pieces);
ATF_TC_BODY(pieces, tc)
{
	static char all[1 << 20], data[SW_PAYLOAD];
	struct sf_out out;
	struct sf_in in;
	struct sw_msg m, *pm;
	const char *p;
	size_t total = 0, n;
	int sv[2], error;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i % 7 == 0 ? '\n' : i * 31);
	ATF_REQUIRE_EQ(0, sf_out_init(&out, SW_SHIM, sizeof(all)));
	sf_out_reset(&out, false);
	out.raw = true;
	sw_init(&m, W_HELLO);
	sw_set_num(&m, F_VERSION, 1);
	sw_set_str(&m, F_NONCE, "x");
	ATF_REQUIRE_EQ(0, sf_put(&out, &m, NULL, 0, NULL, 0));
	for (int i = 1; i <= 12; i++) {
		n = (size_t)(i * i * i * 37) % sizeof(data);
		sw_init(&m, W_OUTPUT);
		sw_set_num(&m, F_ID, i);
		sw_set_num(&m, F_STREAM, WS_STDOUT);
		sw_set_num(&m, F_OFFSET, (int64_t)n);
		ATF_REQUIRE_EQ(0, sf_put(&out, &m, data, n, NULL, 0));
	}
	total = out.len;
	memcpy(all, out.buf, total);
	for (size_t piece = 1; piece < total; piece = piece * 3 + 1) {
		ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == 0);
		ATF_REQUIRE(fcntl(sv[1], F_SETFL, O_NONBLOCK) == 0);
		ATF_REQUIRE_EQ(0, sf_in_init(&in, SW_SHIM));
		sf_in_reset(&in, true);
		int next = 0;

		for (size_t at = 0; at < total || next <= 12; ) {
			n = piece < total - at ? piece : total - at;
			if (n > 60000)
				n = 60000;
			if (n > 0)
				ATF_REQUIRE(write(sv[0], all + at, n) ==
				    (ssize_t)n);
			at += n;
			error = sf_read(&in, sv[1]);
			ATF_REQUIRE(error == 0);
			while ((error = sf_next(&in, &pm, &p, &n)) == 0) {
				if (next == 0) {
					in.sync = false;
					ATF_CHECK_EQ(W_HELLO, pm->type);
				} else {
					ATF_REQUIRE_EQ(next, sw_num(pm,
					    F_ID, 0));
					ATF_REQUIRE_EQ((int64_t)n,
					    sw_num(pm, F_OFFSET, -1));
					ATF_REQUIRE(memcmp(p, data, n) == 0);
				}
				next++;
			}
			ATF_REQUIRE_EQ(EAGAIN, error);
		}
		ATF_CHECK_EQ(13, next);
		sf_in_free(&in);
		close(sv[0]);
		close(sv[1]);
	}
	sf_out_free(&out);
}

/* Old bytes of any kind before the hello are dropped, not believed. */
ATF_TC_WITHOUT_HEAD(sync);
ATF_TC_BODY(sync, tc)
{
	static char junk[200000];
	static const char hello[] =
	    "\n{\"type\":\"hello\",\"version\":1,\"nonce\":\"x\"}\n";
	struct sf_in in;
	struct sw_msg *m;
	const char *p;
	size_t n, sent = 0;
	int sv[2], error = EAGAIN;

	for (size_t i = 0; i < sizeof(junk); i++)
		junk[i] = (char)(i * 7919 >> 3);
	memset(junk + 50000, 'x', 100000);
	memcpy(junk, "{\"type\":\"output\",\"id\":1,\"stream\":\"stdout\","
	    "\"offset\":0,\"bytes\":9999}\n", 67);
	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == 0);
	ATF_REQUIRE(fcntl(sv[0], F_SETFL, O_NONBLOCK) == 0 &&
	    fcntl(sv[1], F_SETFL, O_NONBLOCK) == 0);
	ATF_REQUIRE_EQ(0, sf_in_init(&in, SW_SHIM));
	sf_in_reset(&in, true);
	while (error == EAGAIN) {
		if (sent < sizeof(junk)) {
			ssize_t w = write(sv[0], junk + sent,
			    sizeof(junk) - sent);

			sent += w > 0 ? (size_t)w : 0;
		} else {
			ATF_REQUIRE(write(sv[0], hello,
			    sizeof(hello) - 1) > 0);
		}
		while ((error = sf_read(&in, sv[1])) == 0 &&
		    (error = sf_next(&in, &m, &p, &n)) == EAGAIN)
			;
	}
	ATF_CHECK_EQ(0, error);
	ATF_CHECK_EQ(W_HELLO, m->type);
	sf_in_free(&in);
	close(sv[0]);
	close(sv[1]);
}

ATF_TC_WITHOUT_HEAD(toolong);
ATF_TC_BODY(toolong, tc)
{
	static char x[30000];
	struct sf_in in;
	struct sw_msg *m;
	const char *p;
	size_t n;
	int sv[2], error = EAGAIN;

	memset(x, 'x', sizeof(x));
	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == 0);
	ATF_REQUIRE(fcntl(sv[1], F_SETFL, O_NONBLOCK) == 0);
	ATF_REQUIRE_EQ(0, sf_in_init(&in, SW_SHIM));
	sf_in_reset(&in, true);
	in.sync = false;
	for (int i = 0; i < 4 && error == EAGAIN; i++) {
		ATF_REQUIRE(write(sv[0], x, sizeof(x)) == sizeof(x));
		ATF_REQUIRE_EQ(0, sf_read(&in, sv[1]));
		error = sf_next(&in, &m, &p, &n);
	}
	ATF_CHECK_EQ(EMSGSIZE, error);
	sf_in_free(&in);
	close(sv[0]);
	close(sv[1]);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, all);
	ATF_TP_ADD_TC(tp, bounds);
	ATF_TP_ADD_TC(tp, refused);
	ATF_TP_ADD_TC(tp, errors);
	ATF_TP_ADD_TC(tp, pieces);
	ATF_TP_ADD_TC(tp, sync);
	ATF_TP_ADD_TC(tp, toolong);
	return (atf_no_error());
}
