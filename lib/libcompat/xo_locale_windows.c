/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Characters of the user's locale on Windows, where text output is UTF-8 for
 * whatever console or pipe there is.
 */

#include "xo_internal.h"

void
xo_locale_init(void)
{
}

int
xo_locale_put(char dst[XO_LOCALE_MAX], int32_t ch)
{
	size_t n;

	n = xo_utf8_put(dst, ch);
	return (n == 0 ? -1 : (int)n);
}

int
xo_locale_get(int32_t *chp, const char *s, size_t len)
{
	int n;

	n = xo_utf8_len((unsigned char)*s);
	if (n < 0 || (size_t)n > len || (*chp = xo_utf8_get(s, n)) < 0)
		return (-1);
	return (*chp == 0 ? 0 : n);
}
