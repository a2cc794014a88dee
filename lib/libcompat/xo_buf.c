/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The growing string that all of xo(3) writes into.  Running out of memory
 * loses text, never memory safety: every append checks its room.
 */

#include <stdint.h>
#include <string.h>

#include "xo_internal.h"

char *
xo_buf_reserve(struct xo_buf *b, size_t n)
{
	size_t cap;
	char *p;

	if (n >= SIZE_MAX / 2 - b->len)
		return (NULL);
	if (b->cap < b->len + n + 1) {
		cap = b->cap < 128 ? 128 : b->cap;
		while (cap < b->len + n + 1)
			cap *= 2;
		if ((p = realloc(b->data, cap)) == NULL)
			return (NULL);
		b->data = p;
		b->cap = cap;
	}
	return (b->data + b->len);
}

void
xo_buf_append(struct xo_buf *b, const char *s, size_t n)
{
	char *p;

	if (n == 0 || (p = xo_buf_reserve(b, n)) == NULL)
		return;
	memcpy(p, s, n);
	b->len += n;
}

void
xo_buf_str(struct xo_buf *b, const char *s)
{
	xo_buf_append(b, s, strlen(s));
}

void
xo_buf_fill(struct xo_buf *b, char c, size_t n)
{
	char *p;

	if (n == 0 || (p = xo_buf_reserve(b, n)) == NULL)
		return;
	memset(p, c, n);
	b->len += n;
}

void
xo_buf_vprintf(struct xo_buf *b, const char *fmt, va_list ap)
{
	va_list copy;
	char *p;
	int n;

	va_copy(copy, ap);
	n = vsnprintf(NULL, 0, fmt, copy);
	va_end(copy);
	if (n <= 0 || (p = xo_buf_reserve(b, (size_t)n)) == NULL)
		return;
	(void)vsnprintf(p, (size_t)n + 1, fmt, ap);
	b->len += (size_t)n;
}

void
xo_buf_printf(struct xo_buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	xo_buf_vprintf(b, fmt, ap);
	va_end(ap);
}

void
xo_buf_rotate(struct xo_buf *b, size_t at, size_t tail)
{
	size_t n;
	char *copy;

	if (at >= tail || tail >= b->len)
		return;
	n = b->len - tail;
	if ((copy = malloc(n)) == NULL)
		return;
	memcpy(copy, b->data + tail, n);
	memmove(b->data + at + n, b->data + at, tail - at);
	memcpy(b->data + at, copy, n);
	free(copy);
}

const char *
xo_buf_cstr(struct xo_buf *b)
{
	char *p;

	if ((p = xo_buf_reserve(b, 0)) == NULL)
		return ("");
	*p = '\0';
	return (b->data);
}

void
xo_buf_free(struct xo_buf *b)
{
	free(b->data);
	memset(b, 0, sizeof(*b));
}
