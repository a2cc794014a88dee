/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Heads, bodies and addresses of HTTP: what is understood, and what is
 * refused because somebody else could understand it differently.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atf-c.h>

#include "gw.h"
#include "http.h"

static int
parse(struct http_head *h, const char *text)
{

	return (http_request_parse(h, text, strlen(text)));
}

ATF_TC_WITHOUT_HEAD(request);
ATF_TC_BODY(request, tc)
{
	struct http_head h;

	ATF_REQUIRE_EQ(0, parse(&h, "POST /a/b?c=d HTTP/1.1\r\nHost: x\r\n"
	    "Content-Length: 12\r\nX-Thing:  a b \t\r\nEmpty:\r\n"
	    "Expect: 100-continue\r\n\r\n"));
	ATF_CHECK_STREQ("POST", h.method);
	ATF_CHECK_STREQ("/a/b?c=d", h.target);
	ATF_CHECK_EQ(HTTP_LENGTH, h.framing);
	ATF_CHECK_EQ(12, h.length);
	ATF_CHECK_STREQ("a b", http_field(&h, "x-thing"));
	ATF_CHECK_STREQ("", http_field(&h, "empty"));
	ATF_CHECK(http_field(&h, "none") == NULL);
	ATF_CHECK(h.keep && h.expect && !h.upgrade);
	http_head_free(&h);
	ATF_REQUIRE_EQ(0, parse(&h, "GET / HTTP/1.0\r\n\r\n"));
	ATF_CHECK(!h.keep);
	ATF_CHECK_EQ(HTTP_NONE, h.framing);
	http_head_free(&h);
	ATF_REQUIRE_EQ(0, parse(&h, "GET /ws HTTP/1.1\r\nHost: x\r\n"
	    "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n"));
	ATF_CHECK(h.upgrade && h.keep);
	http_head_free(&h);
}

ATF_TC_WITHOUT_HEAD(smuggling);
ATF_TC_BODY(smuggling, tc)
{
	static const struct {
		const char	*text;
		int		 status;
	} bad[] = {
		/* two opinions on the length */
		{ "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n"
		    "Transfer-Encoding: chunked\r\n\r\n", 400 },
		{ "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n"
		    "Content-Length: 4\r\n\r\n", 400 },
		{ "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4, 4\r\n"
		    "\r\n", 400 },
		{ "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked"
		    "\r\nTransfer-Encoding: identity\r\n\r\n", 400 },
		{ "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, "
		    "chunked\r\n\r\n", 501 },
		{ "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\vchunked"
		    "\r\n\r\n", 400 },
		{ "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
		    400 },
		{ "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +4\r\n\r\n",
		    400 },
		{ "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x4\r\n\r\n",
		    400 },
		{ "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
		    400 },
		{ "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: "
		    "99999999999999999999\r\n\r\n", 400 },
		/* fields that hide */
		{ "GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: x\r\nA: b\nC: d\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: x\r\nA: b\rC: d\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: x\r\nnocolon\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n\r\n", 400 },
		/* first lines */
		{ "GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
		{ "GET /\t HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
		{ "GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505 },
		{ "GET / HTTP/1.12\r\nHost: x\r\n\r\n", 400 },
		{ "GET / http/1.1\r\nHost: x\r\n\r\n", 400 },
		{ "G(T / HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
		{ "\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
		{ "GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
		{ "GET /\r\nHost: x\r\n\r\n", 400 },
	};
	struct http_head h;

	for (size_t i = 0; i < COUNT(bad); i++) {
		ATF_CHECK_MSG(parse(&h, bad[i].text) == bad[i].status,
		    "%s", bad[i].text);
		http_head_free(&h);
	}
}

ATF_TC_WITHOUT_HEAD(oversized);
ATF_TC_BODY(oversized, tc)
{
	struct buf b = { 0 };
	struct http_head h;

	buf_str(&b, "GET / HTTP/1.1\r\nHost: x\r\n");
	for (int i = 0; i < 200; i++)
		buf_fmt(&b, "f%d: v\r\n", i);
	buf_str(&b, "\r\n");
	ATF_CHECK_EQ(431, http_request_parse(&h, b.p, b.len));
	http_head_free(&h);
	buf_free(&b);
	buf_str(&b, "GET / HTTP/1.1\r\nHost: x\r\nlong: ");
	for (int i = 0; i < 4000; i++)
		buf_str(&b, "0123456789");
	buf_str(&b, "\r\n\r\n");
	ATF_CHECK_EQ(431, http_request_parse(&h, b.p, b.len));
	http_head_free(&h);
	ATF_CHECK_EQ(400, http_request_parse(&h, "GET / HTTP/1.1\r\nA: \0\r\n"
	    "\r\n", 25));
	http_head_free(&h);
	buf_free(&b);
}

ATF_TC_WITHOUT_HEAD(response);
ATF_TC_BODY(response, tc)
{
	static const char text[] = "HTTP/1.1 304 \r\nContent-Length: 5\r\n"
	    "\r\n";
	struct http_head h;

	ATF_REQUIRE_EQ(0, http_response_parse(&h, text, strlen(text),
	    false));
	ATF_CHECK_EQ(304, h.status);
	ATF_CHECK_EQ(HTTP_NONE, h.framing);
	http_head_free(&h);
	ATF_REQUIRE_EQ(0, http_response_parse(&h, "HTTP/1.0 200 OK\r\n\r\n",
	    19, false));
	ATF_CHECK_EQ(HTTP_EOF, h.framing);
	http_head_free(&h);
	ATF_CHECK_EQ(400, http_response_parse(&h, "HTTP/1.1 20 OK\r\n\r\n",
	    18, false));
	http_head_free(&h);
}

/* Feed a body in pieces of n bytes; return what is in it, or NULL. */
static char *
body(const char *text, size_t n, bool *done)
{
	struct http_head h = { .framing = HTTP_CHUNKED };
	struct http_body b;
	struct buf out = { 0 };
	size_t len = strlen(text), left, m;
	const char *p = text, *piece;

	http_body_init(&b, &h);
	buf_str(&out, "");
	while (len > 0 && !b.done) {
		left = len < n ? len : n;
		len -= left;
		while (left > 0 && !b.done) {
			if (http_body_next(&b, &p, &left, &piece, &m) != 0) {
				buf_free(&out);
				return (NULL);
			}
			buf_add(&out, piece, m);
		}
	}
	*done = b.done;
	return (out.p);
}

ATF_TC_WITHOUT_HEAD(chunks);
ATF_TC_BODY(chunks, tc)
{
	static const char good[] = "5\r\nhello\r\n1;x=\"y\"\r\n \r\n"
	    "0006\r\nworld!\r\n0\r\nTrailer: x\r\n\r\n";
	static const char *const bad[] = {
		"5\nhello\r\n0\r\n\r\n", "5\r\nhello0\r\n\r\n",
		"x\r\n", "\r\n", " 5\r\nhello\r\n", "-1\r\n", "0x5\r\n",
		"5 \r\nhello", "fffffffffffffffff\r\n", "5\r\nhello\r\r\n",
		"0\r\nA: b\nC: d\r\n\r\n", "0\r\n\rx"
	};
	bool done;
	char *s;

	for (size_t n = 1; n < sizeof(good); n++) {
		s = body(good, n, &done);
		ATF_REQUIRE(s != NULL);
		ATF_CHECK_STREQ("hello world!", s);
		ATF_CHECK(done);
		free(s);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		s = body(bad[i], 1, &done);
		ATF_CHECK_MSG(s == NULL, "%s", bad[i]);
		free(s);
	}
	s = body("5\r\nhello\r\n0\r\n", 64, &done);
	ATF_CHECK(s != NULL && !done);
	free(s);
}

ATF_TC_WITHOUT_HEAD(length);
ATF_TC_BODY(length, tc)
{
	struct http_head h = { .framing = HTTP_LENGTH, .length = 5 };
	const char *p = "helloGET", *piece;
	struct http_body b;
	size_t len = 8, n;

	http_body_init(&b, &h);
	ATF_REQUIRE_EQ(0, http_body_next(&b, &p, &len, &piece, &n));
	ATF_CHECK_EQ(5, n);
	ATF_CHECK(b.done);
	ATF_CHECK_EQ(3, len);
	h.length = 0;
	http_body_init(&b, &h);
	ATF_CHECK(b.done);
}

ATF_TC_WITHOUT_HEAD(address);
ATF_TC_BODY(address, tc)
{
	static const char *const bad[] = { "a", "http://x/", "/%", "/%0",
	    "/%zz", "/%00", "/?a=%00", "/a#b", "*",
	    "/1/2/3/4/5/6/7/8/9" };
	struct http_url u;

	ATF_REQUIRE_EQ(0, http_url_parse(&u, "/files/a%2Fb?path=%2Fx+y&"
	    "empty&z=%C3%A9"));
	ATF_CHECK_EQ(2, u.nsegments);
	ATF_CHECK_STREQ("a/b", u.segment[1]);
	ATF_CHECK_STREQ("/x y", http_param(&u, "path"));
	ATF_CHECK_STREQ("", http_param(&u, "empty"));
	ATF_CHECK_STREQ("\xc3\xa9", http_param(&u, "z"));
	ATF_CHECK(http_param(&u, "q") == NULL);
	http_url_free(&u);
	for (size_t i = 0; i < COUNT(bad); i++) {
		ATF_CHECK_MSG(http_url_parse(&u, bad[i]) != 0, "%s", bad[i]);
		http_url_free(&u);
	}
}

ATF_TC_WITHOUT_HEAD(tokens);
ATF_TC_BODY(tokens, tc)
{

	ATF_CHECK(http_has_token("keep-alive, Upgrade", "upgrade"));
	ATF_CHECK(http_has_token("close", "close"));
	ATF_CHECK(http_has_token("a;q=1,b", "a"));
	ATF_CHECK(!http_has_token("closed", "close"));
	ATF_CHECK(!http_has_token("", "close"));
	ATF_CHECK(!http_has_token(NULL, "close"));
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, request);
	ATF_TP_ADD_TC(tp, smuggling);
	ATF_TP_ADD_TC(tp, oversized);
	ATF_TP_ADD_TC(tp, response);
	ATF_TP_ADD_TC(tp, chunks);
	ATF_TP_ADD_TC(tp, length);
	ATF_TP_ADD_TC(tp, address);
	ATF_TP_ADD_TC(tp, tokens);
	return (atf_no_error());
}
