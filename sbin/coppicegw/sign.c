/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Signed addresses of files: "v1_" and the SHA-256 of path, operation, user,
 * token and, if it has one, the time when it expires.
 */

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/evp.h>

#include "gw.h"

static const char *
or_empty(const char *s)
{

	return (s != NULL ? s : "");
}

bool
sign_valid(const struct req *r, const char *token, bool write)
{
	const char *given = http_param(&r->url, "signature");
	const char *expires = http_param(&r->url, "signature_expiration");
	unsigned char hash[EVP_MAX_MD_SIZE];
	struct buf raw = { 0 }, want = { 0 };
	unsigned int n = 0;
	bool ok;

	if (given == NULL)
		return (false);
	if (expires != NULL && (strlen(expires) > 15 || *expires == '\0' ||
	    strspn(expires, "0123456789") != strlen(expires) ||
	    strtoll(expires, NULL, 10) < (long long)time(NULL)))
		return (false);
	buf_fmt(&raw, "%s:%s:%s:%s%s%s", or_empty(http_param(&r->url,
	    "path")), write ? "write" : "read", or_empty(http_param(&r->url,
	    "username")), token, expires != NULL ? ":" : "",
	    or_empty(expires));
	ok = !raw.failed && EVP_Digest(raw.p, raw.len, hash, &n, EVP_sha256(),
	    NULL) == 1;
	buf_str(&want, "v1_");
	buf_base64(&want, hash, n);
	while (want.len > 0 && want.p[want.len - 1] == '=')
		want.p[--want.len] = '\0';
	ok = ok && !want.failed && same_secret(given, want.p);
	buf_free(&raw);
	buf_free(&want);
	return (ok);
}
