/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The 'h' modifier: a number that was already written is written again, as
 * "44M" for "46137344", rounded as humanize_number(3) of FreeBSD does it.
 */

#include <string.h>

#include "xo_internal.h"

void
xo_humanize(struct xo_buf *b, size_t from, unsigned flags)
{
	static const char binary[] = " KMGTPE", decimal[] = " kMGTPE";
	unsigned long long divisor, n, rest, tenths;
	char prefix[2], *end;
	const char *s, *space;
	unsigned scale;

	s = xo_buf_cstr(b);
	if (b->len == from)
		return;
	errno = 0;
	n = strtoull(s + from, &end, 0);
	if (end == s + from || errno == ERANGE)
		return;
	divisor = (flags & XFF_HN_1000) != 0 ? 1000 : 1024;
	for (scale = 0, rest = 0; n >= divisor; scale++) {
		rest = n % divisor;
		n /= divisor;
	}
	prefix[0] = (flags & XFF_HN_1000) != 0 ? decimal[scale] :
	    binary[scale];
	prefix[1] = '\0';
	if (scale == 0)
		prefix[0] = '\0';
	space = (flags & XFF_HN_SPACE) != 0 ? " " : "";
	b->len = from;
	if ((flags & XFF_HN_DECIMAL) != 0 && scale > 0 &&
	    (n < 9 || (n == 9 && rest < (divisor * 95 + 99) / 100))) {
		tenths = (rest * 10 + divisor / 2) / divisor;
		xo_buf_printf(b, "%llu.%llu%s%s", n + tenths / 10,
		    tenths % 10, space, prefix);
	} else {
		xo_buf_printf(b, "%llu%s%s", n + (rest + divisor / 2) /
		    divisor, space, prefix);
	}
}
