/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Bytes that grow, and base64.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"

static bool
room(struct buf *b, size_t more)
{
	size_t cap = b->cap != 0 ? b->cap : 256;
	char *p;

	if (b->failed || more > SIZE_MAX / 4 || b->len > SIZE_MAX / 4)
		return (false);
	if (b->cap - b->len > more)
		return (true);
	while (cap - b->len <= more)
		cap *= 2;
	p = realloc(b->p, cap);
	if (p == NULL) {
		b->failed = true;
		return (false);
	}
	b->p = p;
	b->cap = cap;
	return (true);
}

void
buf_add(struct buf *b, const void *data, size_t len)
{

	if (!room(b, len))
		return;
	if (len > 0)
		memcpy(b->p + b->len, data, len);
	b->len += len;
	b->p[b->len] = '\0';
}

void
buf_str(struct buf *b, const char *s)
{

	buf_add(b, s, strlen(s));
}

void
buf_fmt(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !room(b, (size_t)n + 1)) {
		b->failed = true;
		return;
	}
	va_start(ap, fmt);
	(void)vsnprintf(b->p + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnop"
    "qrstuvwxyz0123456789+/";

void
buf_base64(struct buf *b, const void *data, size_t len)
{
	const unsigned char *s = data;
	unsigned int v;
	char *p;

	if (!room(b, (len + 2) / 3 * 4))
		return;
	p = b->p + b->len;
	for (; len >= 3; len -= 3, s += 3) {
		v = (unsigned)s[0] << 16 | (unsigned)s[1] << 8 | s[2];
		*p++ = digits[v >> 18];
		*p++ = digits[v >> 12 & 63];
		*p++ = digits[v >> 6 & 63];
		*p++ = digits[v & 63];
	}
	if (len > 0) {
		v = (unsigned)s[0] << 16 | (len > 1 ? (unsigned)s[1] << 8 : 0);
		*p++ = digits[v >> 18];
		*p++ = digits[v >> 12 & 63];
		*p++ = len > 1 ? digits[v >> 6 & 63] : '=';
		*p++ = '=';
	}
	b->len = (size_t)(p - b->p);
	*p = '\0';
}

void
buf_take(struct buf *b, size_t n)
{

	if (n >= b->len) {
		buf_free(b);
		return;
	}
	memmove(b->p, b->p + n, b->len - n);
	b->len -= n;
	b->p[b->len] = '\0';
}

void
buf_free(struct buf *b)
{

	free(b->p);
	*b = (struct buf){ 0 };
}

static int
digit(char c)
{
	const char *at;

	if (c == '-')
		return (62);
	if (c == '_')
		return (63);
	at = c != '\0' ? strchr(digits, c) : NULL;
	return (at != NULL ? (int)(at - digits) : -1);
}

int
base64_decode(const char *s, size_t len, char **out, size_t *outlen)
{
	unsigned int v = 0, bits = 0;
	size_t n = 0;
	char *p;
	int d;

	for (int i = 0; i < 2 && len > 0 && s[len - 1] == '='; i++)
		len--;
	if (len % 4 == 1 || (p = malloc(len / 4 * 3 + 4)) == NULL)
		return (-1);
	for (size_t i = 0; i < len; i++) {
		if ((d = digit(s[i])) == -1) {
			free(p);
			return (-1);
		}
		v = (v << 6 | (unsigned)d) & 0xffffff;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			p[n++] = (char)(v >> bits & 255);
		}
	}
	p[n] = '\0';
	*out = p;
	*outlen = n;
	return (0);
}
