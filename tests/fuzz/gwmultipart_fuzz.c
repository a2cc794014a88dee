/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Forms as a client sends them: a line with the type, and then the body, in
 * pieces of the length that the first byte says.
 */

#include <stdlib.h>
#include <string.h>

#include "multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct multipart m;
	enum multipart_event ev;
	const char *nl, *p = (const char *)data + 1, *piece;
	size_t n, len, left, parts = 0, ends = 0, total = 0;
	char *type;

	if (size < 2 || (nl = memchr(p, '\n', size - 1)) == NULL)
		return (0);
	type = strndup(p, (size_t)(nl - p));
	left = size - 1 - (size_t)(nl - p) - 1;
	p = nl + 1;
	if (multipart_init(&m, type) == 0) {
		do {
			ev = multipart_next(&m, &piece, &len);
			if (ev == MULTIPART_MORE) {
				n = data[0] % 64 + 1U;
				n = left < n ? left : n;
				multipart_add(&m, p, n);
				p += n;
				left -= n;
				if (n == 0)
					break;
			}
			parts += ev == MULTIPART_PART;
			ends += ev == MULTIPART_END;
			total += ev == MULTIPART_DATA ? len : 0;
		} while (ev != MULTIPART_DONE && ev != MULTIPART_BAD);
		if (ends > parts || total > size)
			abort();
		multipart_free(&m);
	}
	free(type);
	return (0);
}
