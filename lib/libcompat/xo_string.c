/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Strings on their way to the output: from UTF-8, the locale or wide
 * characters to what the style wants, escaped, with columns counted.
 * xo_conv.c and xo_value.c call it.  It never reads past a NUL or past the
 * size it was given.
 */

#include <string.h>
#include <wchar.h>

#include "xo_internal.h"

enum xo_enc
xo_encoding(xo_handle_t *xop)
{
	if ((xop->flags & XOF_UTF8) != 0 || xop->style->encodes)
		return (XO_ENC_UTF8);
	return (XO_ENC_LOCALE);
}

/*
 * Take one character off the string: > 0 bytes (or wide characters) taken,
 * 0 at its end, -1 when it makes no sense.
 */
static int
take(xo_handle_t *xop, struct xo_string *st, int32_t *chp)
{
	size_t avail;
	int n;

	if (st->enc == XO_ENC_WIDE) {
		if (*st->w == L'\0')
			return (0);
		*chp = (int32_t)*st->w++;
		return (1);
	}
	avail = strnlen(st->s, st->size >= 0 ? (size_t)st->size : MB_LEN_MAX);
	if (avail == 0)
		return (0);
	if (st->enc == XO_ENC_LOCALE) {
		if ((n = xo_locale_get(chp, st->s, avail)) < 0) {
			*chp = '?';
			n = 1;
		}
	} else {
		n = xo_utf8_len((unsigned char)*st->s);
		if (n > 0 && st->size >= 0 && st->size < n)
			return (0);
		if (n < 0 || (*chp = xo_utf8_get(st->s, n)) < 0) {
			xo_failure(xop, "invalid UTF-8 byte: %02x",
			    (unsigned)(unsigned char)*st->s);
			return (-1);
		}
	}
	st->s += n;
	return (n);
}

/* Write one character as the style wants it; returns its width. */
static int
put(xo_handle_t *xop, struct xo_buf *b, int32_t ch, int width)
{
	char tmp[XO_LOCALE_MAX];
	int n;

	if (xo_encoding(xop) == XO_ENC_UTF8) {
		n = (int)xo_utf8_put(tmp, ch);
		if (n == 0) {
			xo_failure(xop, "no such character: %lx",
			    (unsigned long)ch);
			return (0);
		}
		xop->style->escape(b, tmp, (size_t)n);
		return (width);
	}
	if ((n = xo_locale_put(tmp, ch)) <= 0) {
		xo_failure(xop, "not in this locale: %lx", (unsigned long)ch);
		tmp[0] = '?';
		n = width = 1;
	}
	xo_buf_append(b, tmp, (size_t)n);
	return (width);
}

/* Step over the backslash or percent sign that quotes the next byte. */
static void
unquote(struct xo_string *st)
{
	if (st->size == 0 || (*st->s != '\\' && *st->s != '%'))
		return;
	st->s++;
	if (st->size > 0)
		st->size--;
}

int
xo_string(xo_handle_t *xop, struct xo_buf *b, const struct xo_string *from,
    unsigned flags)
{
	struct xo_string st = *from;
	int cols, n, width;
	int32_t ch;

	for (cols = 0; st.size != 0;) {
		if ((flags & XFF_UNESCAPE) != 0)
			unquote(&st);
		if ((n = take(xop, &st, &ch)) < 0)
			return (-1);
		if (n == 0)
			break;
		if (st.size > 0)
			st.size = st.size > n ? st.size - n : 0;
		if ((width = xo_width(ch)) < 0)
			width = 0;
		if (!xop->style->encodes && st.max > 0 &&
		    cols + width > st.max)
			break;
		cols += put(xop, b, ch, width);
	}
	return (cols);
}

/*
 * "sandbox,sandboxes" becomes the one that suits the last number written
 * before it.
 */
static void
plural(struct xo_buf *b, size_t start)
{
	unsigned long n, digit;
	char *comma;
	size_t i;

	if (b->len == start ||
	    (comma = memchr(b->data + start, ',', b->len - start)) == NULL ||
	    comma == b->data + start)
		return;
	for (i = start; i > 0; i--)
		if (b->data[i - 1] >= '0' && b->data[i - 1] <= '9')
			break;
	for (n = 0, digit = 1; i > 0; i--, digit *= 10) {
		if (b->data[i - 1] < '0' || b->data[i - 1] > '9')
			break;
		n += (unsigned long)(b->data[i - 1] - '0') * digit;
	}
	if (n == 1) {
		b->len = (size_t)(comma - b->data);
	} else {
		i = (size_t)(b->data + b->len - (comma + 1));
		memmove(b->data + start, comma + 1, i);
		b->len = start + i;
	}
}

void
xo_content(xo_handle_t *xop, const char *s, size_t n, unsigned flags)
{
	struct xo_string st;
	size_t start;
	int cols;

	memset(&st, 0, sizeof(st));
	st.enc = XO_ENC_UTF8;
	st.s = s;
	st.size = (ssize_t)n;
	start = xop->data.len;
	cols = xo_string(xop, &xop->data, &st, flags | XFF_UNESCAPE);
	if ((flags & XFF_PLURAL) != 0) {
		plural(&xop->data, start);
		cols = (int)(xop->data.len - start);
	}
	xo_count_columns(xop, cols);
}

void
xo_plain(xo_handle_t *xop, const char *s, size_t n)
{
	char tmp[XO_LOCALE_MAX];
	size_t i, start;
	ssize_t cols;
	int32_t ch;
	int len, put_len;

	if (xop->style->encodes)
		return;
	start = xop->data.len;
	for (cols = 0, i = 0; i < n; i += (size_t)len) {
		len = xo_utf8_len((unsigned char)s[i]);
		if (len < 0 || (size_t)len > n - i ||
		    (ch = xo_utf8_get(s + i, len)) < 0) {
			xo_failure(xop, "invalid UTF-8 in a format");
			xop->data.len = start;
			return;
		}
		if (len == 1 || (xop->flags & XOF_NO_LOCALE) != 0) {
			xo_buf_append(&xop->data, s + i, (size_t)len);
			cols += len == 1 ? 1 : xo_width(ch);
		} else if ((put_len = xo_locale_put(tmp, ch)) > 0) {
			xo_buf_append(&xop->data, tmp, (size_t)put_len);
			cols += xo_width(ch);
		}
	}
	xo_count_columns(xop, cols);
}
