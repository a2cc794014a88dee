/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * UTF-8 and the width of characters, apart from any locale.  xo_string.c and
 * xo_locale_*.c call it.  Decoding is as lenient as xo(3) is: the length
 * comes from the first byte, the rest must be continuation bytes.
 */

#include "xo_internal.h"

int
xo_utf8_len(unsigned char c)
{
	if (c < 0x80)
		return (1);
	if ((c & 0xe0) == 0xc0)
		return (2);
	if ((c & 0xf0) == 0xe0)
		return (3);
	if ((c & 0xf8) == 0xf0)
		return (4);
	return (-1);
}

int32_t
xo_utf8_get(const char *s, int n)
{
	static const unsigned char mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	int32_t ch;
	int i;

	ch = (unsigned char)s[0] & mask[n];
	for (i = 1; i < n; i++) {
		if (((unsigned char)s[i] & 0xc0) != 0x80)
			return (-1);
		ch = ch << 6 | ((unsigned char)s[i] & 0x3f);
	}
	return (ch);
}

size_t
xo_utf8_put(char *dst, int32_t ch)
{
	static const unsigned char mark[] = { 0, 0x00, 0xc0, 0xe0, 0xf0 };
	size_t i, n;

	if (ch < 0 || ch > 0x1fffff)
		return (0);
	n = ch < 0x80 ? 1 : ch < 0x800 ? 2 : ch < 0x10000 ? 3 : 4;
	for (i = n - 1; i > 0; i--) {
		dst[i] = (char)(0x80 | (ch & 0x3f));
		ch >>= 6;
	}
	dst[0] = (char)(mark[n] | ch);
	return (n);
}

struct range {
	int32_t	lo, hi;
};

/* Marks that sit on the character before them, and invisible ones. */
static const struct range zero[] = {
	{ 0x0300, 0x036f }, { 0x0483, 0x0489 }, { 0x0591, 0x05bd },
	{ 0x05bf, 0x05bf }, { 0x05c1, 0x05c2 }, { 0x05c4, 0x05c5 },
	{ 0x0600, 0x0603 }, { 0x0610, 0x0615 }, { 0x064b, 0x065e },
	{ 0x0670, 0x0670 }, { 0x06d6, 0x06e4 }, { 0x06e7, 0x06e8 },
	{ 0x06ea, 0x06ed }, { 0x093c, 0x093c }, { 0x0941, 0x0948 },
	{ 0x094d, 0x094d }, { 0x0e31, 0x0e31 }, { 0x0e34, 0x0e3a },
	{ 0x0e47, 0x0e4e }, { 0x1160, 0x11ff }, { 0x200b, 0x200f },
	{ 0x202a, 0x202e }, { 0x2060, 0x2063 }, { 0x206a, 0x206f },
	{ 0x20d0, 0x20ef }, { 0x302a, 0x302f }, { 0x3099, 0x309a },
	{ 0xfb1e, 0xfb1e }, { 0xfe00, 0xfe0f }, { 0xfe20, 0xfe23 },
	{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0001, 0xe0001 },
	{ 0xe0020, 0xe007f }, { 0xe0100, 0xe01ef },
};

/* Characters of East Asia, two columns wide. */
static const struct range wide[] = {
	{ 0x1100, 0x115f }, { 0x2329, 0x232a }, { 0x2e80, 0x303e },
	{ 0x3040, 0xa4cf }, { 0xac00, 0xd7a3 }, { 0xf900, 0xfaff },
	{ 0xfe10, 0xfe19 }, { 0xfe30, 0xfe6f }, { 0xff00, 0xff60 },
	{ 0xffe0, 0xffe6 }, { 0x20000, 0x2fffd }, { 0x30000, 0x3fffd },
};

static bool
within(int32_t ch, const struct range *r, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (ch >= r[i].lo && ch <= r[i].hi)
			return (true);
	return (false);
}

int
xo_width(int32_t ch)
{
	if (ch == 0)
		return (0);
	if (ch < 0x20 || (ch >= 0x7f && ch < 0xa0))
		return (-1);
	if (ch < 0x300)
		return (1);
	if (within(ch, zero, sizeof(zero) / sizeof(zero[0])))
		return (0);
	if (within(ch, wide, sizeof(wide) / sizeof(wide[0])))
		return (2);
	return (1);
}
