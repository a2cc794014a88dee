/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The Connect protocol's codes and envelopes.
 */

#include "buf.h"
#include "connect.h"

static const struct {
	const char	*name;
	int		 status;
} codes[] = {
	[CONNECT_OK] = { "ok", 200 },
	[CONNECT_CANCELED] = { "canceled", 499 },
	[CONNECT_UNKNOWN] = { "unknown", 500 },
	[CONNECT_INVALID] = { "invalid_argument", 400 },
	[CONNECT_DEADLINE] = { "deadline_exceeded", 504 },
	[CONNECT_NOTFOUND] = { "not_found", 404 },
	[CONNECT_EXISTS] = { "already_exists", 409 },
	[CONNECT_DENIED] = { "permission_denied", 403 },
	[CONNECT_EXHAUSTED] = { "resource_exhausted", 429 },
	[CONNECT_PRECONDITION] = { "failed_precondition", 400 },
	[CONNECT_ABORTED] = { "aborted", 409 },
	[CONNECT_RANGE] = { "out_of_range", 400 },
	[CONNECT_UNIMPLEMENTED] = { "unimplemented", 501 },
	[CONNECT_INTERNAL] = { "internal", 500 },
	[CONNECT_UNAVAILABLE] = { "unavailable", 503 },
	[CONNECT_DATALOSS] = { "data_loss", 500 },
	[CONNECT_UNAUTHENTICATED] = { "unauthenticated", 401 },
};

const char *
connect_name(enum connect_code c)
{

	return (codes[c].name);
}

int
connect_status(enum connect_code c)
{

	return (codes[c].status);
}

int
connect_next(const struct buf *in, unsigned int *flags, const char **data,
    size_t *len)
{
	const unsigned char *p = (const unsigned char *)in->p;
	uint32_t n;

	if (in->len < 5)
		return (0);
	n = (uint32_t)p[1] << 24 | (uint32_t)p[2] << 16 |
	    (uint32_t)p[3] << 8 | p[4];
	if (n > CONNECT_MAX || (p[0] & CONNECT_COMPRESSED) != 0)
		return (-1);
	if (in->len - 5 < n)
		return (0);
	*flags = p[0];
	*data = in->p + 5;
	*len = n;
	return (1);
}

void
connect_add(struct buf *b, unsigned int flags, const void *data, size_t len)
{
	unsigned char head[5] = { (unsigned char)flags,
	    (unsigned char)(len >> 24 & 255), (unsigned char)(len >> 16 & 255),
	    (unsigned char)(len >> 8 & 255), (unsigned char)(len & 255) };

	buf_add(b, head, sizeof(head));
	buf_add(b, data, len);
}
