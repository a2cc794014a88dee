/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A client of the gateway that sends anything: heads, bodies and where they
 * lead.  The first byte says in pieces of what length the body comes.
 */

#include <stdlib.h>
#include <string.h>

#include "gw.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* What the tables of routes point to is not called. */
static void
never(struct req *r)
{

	(void)r;
	abort();
}

static const struct route table[] = {
	{ "GET", "/health", SCOPE_NONE, false, never },
	{ "POST", "/sandboxes/*/timeout", SCOPE_USE, false, never },
	{ "GET", "/sandboxes/*", SCOPE_READ, false, never },
	{ "POST", "/process.Process/*", SCOPE_NONE, true, never },
};

static void
run_body(struct req *r, const char *p, size_t len, size_t piece)
{
	size_t left, n, total = 0;
	const char *data;

	http_body_init(&r->body, &r->head);
	while (len > 0 && !r->body.done) {
		left = len < piece ? len : piece;
		len -= left;
		while (left > 0 && !r->body.done) {
			if (http_body_next(&r->body, &p, &left, &data, &n) !=
			    0)
				return;
			total += n;
		}
	}
	if (r->head.framing == HTTP_LENGTH && total > r->head.length)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct req r = { 0 };
	const char *text = (const char *)data + 1, *host;
	char id[CO_IDSIZE];
	size_t n, piece;
	int port;

	if (size < 2)
		return (0);
	piece = data[0] % 32 + 1U;
	size--;
	n = http_head_end(text, size);
	if (n > size)
		abort();
	if (n != 0 && http_request_parse(&r.head, text, n) == 0 &&
	    http_url_parse(&r.url, r.head.target) == 0) {
		(void)route_find(table, COUNT(table), &r);
		host = http_field(&r.head, "host");
		if (host != NULL && dispatch_host(host, "e2b.test", &port,
		    id) && (!co_id_valid(id) || port < 1 || port > 65535))
			abort();
		run_body(&r, text + n, size - n, piece);
	}
	http_head_free(&r.head);
	http_url_free(&r.url);
	if (n != 0)
		(void)http_response_parse(&r.head, text, n, false);
	http_head_free(&r.head);
	return (0);
}
