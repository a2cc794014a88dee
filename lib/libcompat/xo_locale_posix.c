/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Characters of the user's locale, on systems that have locale(1).  Text
 * output goes through here; JSON and XML are UTF-8 and never do.
 */

#include <locale.h>
#include <string.h>
#include <wchar.h>

#include "xo_internal.h"

void
xo_locale_init(void)
{
	(void)setlocale(LC_CTYPE, "");
}

int
xo_locale_put(char dst[XO_LOCALE_MAX], int32_t ch)
{
	char tmp[MB_LEN_MAX];
	mbstate_t state;
	size_t n;

	memset(&state, 0, sizeof(state));
	n = wcrtomb(tmp, (wchar_t)ch, &state);
	if (n == (size_t)-1 || n > XO_LOCALE_MAX)
		return (-1);
	memcpy(dst, tmp, n);
	return ((int)n);
}

int
xo_locale_get(int32_t *chp, const char *s, size_t len)
{
	mbstate_t state;
	wchar_t wc;
	size_t n;

	memset(&state, 0, sizeof(state));
	n = mbrtowc(&wc, s, len, &state);
	if (n == (size_t)-1 || n == (size_t)-2)
		return (-1);
	*chp = (int32_t)wc;
	return ((int)n);
}
