/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Growing text.  A failed allocation is remembered and reported once, at the
 * end.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coppice.h"

static bool
buf_room(struct co_buf *b, size_t n)
{
	size_t cap;
	char *p;

	if (b->failed)
		return (false);
	if (b->cap - b->len > n)
		return (true);
	cap = b->cap < 256 ? 256 : b->cap;
	while (cap - b->len <= n)
		cap *= 2;
	if ((p = realloc(b->p, cap)) == NULL) {
		b->failed = true;
		return (false);
	}
	b->p = p;
	b->cap = cap;
	return (true);
}

void
co_buf_add(struct co_buf *b, const void *data, size_t len)
{

	if (!buf_room(b, len) || b->p == NULL)
		return;
	memcpy(b->p + b->len, data, len);
	b->len += len;
	b->p[b->len] = '\0';
}

void
co_buf_printf(struct co_buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (!buf_room(b, 128))
		return;
	va_start(ap, fmt);
	n = vsnprintf(b->p + b->len, b->cap - b->len, fmt, ap);
	va_end(ap);
	if (n < 0) {
		b->failed = true;
		return;
	}
	if ((size_t)n >= b->cap - b->len) {
		if (!buf_room(b, (size_t)n))
			return;
		va_start(ap, fmt);
		(void)vsnprintf(b->p + b->len, b->cap - b->len, fmt, ap);
		va_end(ap);
	}
	b->len += (size_t)n;
}

char *
co_buf_take(struct co_buf *b)
{
	char *p;

	if (b->p == NULL && !b->failed)
		co_buf_add(b, "", 0);
	p = b->p;
	if (b->failed) {
		free(p);
		p = NULL;
	}
	memset(b, 0, sizeof(*b));
	return (p);
}
