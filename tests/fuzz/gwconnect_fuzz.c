/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Streams of envelopes with messages in JSON, as a client sends them.
 */

#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "connect.h"
#include "pb.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf in = { 0 }, out = { 0 };
	unsigned int flags;
	const char *p;
	json_t *raw, *j;
	size_t len;

	buf_add(&in, data, size);
	while (connect_next(&in, &flags, &p, &len) == 1) {
		if (len > CONNECT_MAX || 5 + len > in.len)
			abort();
		raw = json_loadb(p, len, JSON_REJECT_DUPLICATES, NULL);
		j = raw != NULL ? pb_take(&pb_start_request, raw) : NULL;
		if (j != NULL && pb_encode(&pb_start_request, j, &out) == 0)
			buf_free(&out);
		buf_free(&out);
		json_decref(j);
		json_decref(raw);
		buf_take(&in, 5 + len);
	}
	buf_free(&in);
	return (0);
}
