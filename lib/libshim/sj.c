/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Strict JSON, read in place and written into a fixed buffer.  Every byte
 * read here may come from an enemy; nothing here allocates or recurses
 * deeper than SJ_DEPTH.
 */

#include <errno.h>
#include <string.h>

#include "sj.h"

struct reader {
	struct sj_doc	*doc;
	char		*p;
	char		*end;
};

static int value(struct reader *, int);

/* The length of the valid UTF-8 sequence at s, or 0. */
static size_t
utf8(const unsigned char *s, size_t n)
{
	size_t len;
	unsigned lo = 0x80, hi = 0xbf;

	if (s[0] < 0x80)
		return (1);
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		len = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		len = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		len = 4;
	else
		return (0);
	if (n < len)
		return (0);
	if (s[0] == 0xe0)
		lo = 0xa0;
	else if (s[0] == 0xed)
		hi = 0x9f;
	else if (s[0] == 0xf0)
		lo = 0x90;
	else if (s[0] == 0xf4)
		hi = 0x8f;
	if (s[1] < lo || s[1] > hi)
		return (0);
	for (size_t i = 2; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return (0);
	return (len);
}

static void
space(struct reader *r)
{

	while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' ||
	    *r->p == '\r' || *r->p == '\n'))
		r->p++;
}

static int
hex4(struct reader *r, unsigned *out)
{
	unsigned v = 0;

	if (r->end - r->p < 4)
		return (EINVAL);
	for (int i = 0; i < 4; i++) {
		char c = *r->p++;

		v <<= 4;
		if (c >= '0' && c <= '9')
			v |= (unsigned)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v |= (unsigned)(c - 'a' + 10);
		else if (c >= 'A' && c <= 'F')
			v |= (unsigned)(c - 'A' + 10);
		else
			return (EINVAL);
	}
	*out = v;
	return (0);
}

static char *
put_utf8(char *to, unsigned v)
{

	if (v < 0x80) {
		*to++ = (char)v;
	} else if (v < 0x800) {
		*to++ = (char)(0xc0 | v >> 6);
		*to++ = (char)(0x80 | (v & 0x3f));
	} else if (v < 0x10000) {
		*to++ = (char)(0xe0 | v >> 12);
		*to++ = (char)(0x80 | (v >> 6 & 0x3f));
		*to++ = (char)(0x80 | (v & 0x3f));
	} else {
		*to++ = (char)(0xf0 | v >> 18);
		*to++ = (char)(0x80 | (v >> 12 & 0x3f));
		*to++ = (char)(0x80 | (v >> 6 & 0x3f));
		*to++ = (char)(0x80 | (v & 0x3f));
	}
	return (to);
}

/* What follows "\u": never longer in UTF-8 than it is escaped. */
static int
unicode(struct reader *r, char **to)
{
	unsigned v, low;

	if (hex4(r, &v) != 0)
		return (EINVAL);
	if (v >= 0xdc80 && v <= 0xdcff) {
		*(*to)++ = (char)(v & 0xff);
		return (0);
	}
	if (v >= 0xd800 && v <= 0xdbff) {
		if (r->end - r->p < 6 || r->p[0] != '\\' || r->p[1] != 'u')
			return (EINVAL);
		r->p += 2;
		if (hex4(r, &low) != 0 || low < 0xdc00 || low > 0xdfff)
			return (EINVAL);
		v = 0x10000 + ((v - 0xd800) << 10) + (low - 0xdc00);
	} else if (v >= 0xdc00 && v <= 0xdfff) {
		return (EINVAL);
	}
	*to = put_utf8(*to, v);
	return (0);
}

static int
escape(struct reader *r, char **to)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	const char *at;

	if (r->p == r->end || *r->p == '\0')
		return (EINVAL);
	if (*r->p == 'u') {
		r->p++;
		return (unicode(r, to));
	}
	if ((at = strchr(from, *r->p)) == NULL)
		return (EINVAL);
	*(*to)++ = into[at - from];
	r->p++;
	return (0);
}

/* A string after its opening quote; the closing one becomes the NUL. */
static int
string(struct reader *r, struct sj_val *v)
{
	char *to = r->p;
	size_t n;

	v->type = SJ_STR;
	v->str = to;
	for (;;) {
		if (r->p == r->end || (unsigned char)*r->p < 0x20)
			return (EINVAL);
		if (*r->p == '"')
			break;
		if (*r->p == '\\') {
			r->p++;
			if (escape(r, &to) != 0)
				return (EINVAL);
			continue;
		}
		n = utf8((const unsigned char *)r->p,
		    (size_t)(r->end - r->p));
		if (n == 0)
			return (EINVAL);
		memmove(to, r->p, n);
		to += n;
		r->p += n;
	}
	r->p++;
	*to = '\0';
	v->len = (size_t)(to - v->str);
	return (0);
}

static int
integer(struct reader *r, struct sj_val *v)
{
	bool minus = false;
	int64_t n = 0;
	char *first;

	if (*r->p == '-') {
		minus = true;
		r->p++;
	}
	first = r->p;
	for (; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_sub_overflow(n, *r->p - '0', &n))
			return (EINVAL);
	if (r->p == first || (*first == '0' && r->p - first > 1))
		return (EINVAL);
	if (r->p < r->end && (*r->p == '.' || *r->p == 'e' || *r->p == 'E'))
		return (EINVAL);
	/* Counted downwards, as the negative range is the larger one. */
	if (!minus && __builtin_sub_overflow(0, n, &n))
		return (EINVAL);
	v->type = SJ_INT;
	v->num = n;
	return (0);
}

static int
word(struct reader *r, struct sj_val *v)
{

	v->type = SJ_BOOL;
	if (r->end - r->p >= 4 && memcmp(r->p, "true", 4) == 0) {
		v->num = 1;
		r->p += 4;
		return (0);
	}
	if (r->end - r->p >= 5 && memcmp(r->p, "false", 5) == 0) {
		v->num = 0;
		r->p += 5;
		return (0);
	}
	return (EINVAL);
}

/* A key and its colon. */
static int
key(struct reader *r)
{
	struct sj_doc *d = r->doc;
	struct sj_val *v;

	if (d->n == d->cap)
		return (EMSGSIZE);
	space(r);
	if (r->p == r->end || *r->p != '"')
		return (EINVAL);
	r->p++;
	v = &d->val[d->n++];
	memset(v, 0, sizeof(*v));
	if (string(r, v) != 0)
		return (EINVAL);
	v->next = d->n;
	space(r);
	if (r->p == r->end || *r->p++ != ':')
		return (EINVAL);
	return (0);
}

/* The members of an array or object after its opening bracket. */
static int
members(struct reader *r, uint32_t self, char close, int depth)
{
	struct sj_doc *d = r->doc;
	int error;

	d->val[self].type = close == ']' ? SJ_ARR : SJ_OBJ;
	space(r);
	if (r->p < r->end && *r->p == close) {
		r->p++;
		return (0);
	}
	for (;;) {
		if (close == '}' && (error = key(r)) != 0)
			return (error);
		if ((error = value(r, depth + 1)) != 0)
			return (error);
		d->val[self].count++;
		space(r);
		if (r->p == r->end || (*r->p != ',' && *r->p != close))
			return (EINVAL);
		if (*r->p++ == close)
			return (0);
	}
}

static int
value(struct reader *r, int depth)
{
	struct sj_doc *d = r->doc;
	uint32_t self = d->n;
	int error;

	if (depth > SJ_DEPTH)
		return (EINVAL);
	if (d->n == d->cap)
		return (EMSGSIZE);
	space(r);
	if (r->p == r->end)
		return (EINVAL);
	memset(&d->val[self], 0, sizeof(d->val[self]));
	d->n++;
	switch (*r->p) {
	case '{':
		r->p++;
		error = members(r, self, '}', depth);
		break;
	case '[':
		r->p++;
		error = members(r, self, ']', depth);
		break;
	case '"':
		r->p++;
		error = string(r, &d->val[self]);
		break;
	case 't':
	case 'f':
		error = word(r, &d->val[self]);
		break;
	default:
		error = integer(r, &d->val[self]);
		break;
	}
	d->val[self].next = d->n;
	return (error);
}

int
sj_parse(struct sj_doc *d, char *text, size_t len)
{
	struct reader r = { .doc = d, .p = text, .end = text + len };
	int error;

	d->n = 0;
	if ((error = value(&r, 1)) != 0)
		return (error);
	space(&r);
	return (r.p == r.end ? 0 : EINVAL);
}

static void
put(struct sj_out *o, const char *s, size_t n)
{

	if (o->bad || n > o->cap - o->len) {
		o->bad = true;
		return;
	}
	memcpy(o->buf + o->len, s, n);
	o->len += n;
}

static void
put_escaped(struct sj_out *o, unsigned v)
{
	static const char hex[] = "0123456789abcdef";
	char s[6] = { '\\', 'u', hex[v >> 12 & 15], hex[v >> 8 & 15],
	    hex[v >> 4 & 15], hex[v & 15] };

	put(o, s, sizeof(s));
}

static void
put_string(struct sj_out *o, const char *s, size_t n)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t len;

	put(o, "\"", 1);
	for (size_t i = 0; i < n && !o->bad; i += len) {
		len = 1;
		if (u[i] == '"' || u[i] == '\\') {
			put(o, "\\", 1);
			put(o, s + i, 1);
		} else if (u[i] == '\n') {
			put(o, "\\n", 2);
		} else if (u[i] < 0x20) {
			put_escaped(o, u[i]);
		} else if ((len = utf8(u + i, n - i)) == 0) {
			put_escaped(o, 0xdc00U | u[i]);
			len = 1;
		} else {
			put(o, s + i, len);
		}
	}
	put(o, "\"", 1);
}

static void
start(struct sj_out *o, const char *name)
{

	if (o->comma)
		put(o, ",", 1);
	o->comma = true;
	if (name != NULL) {
		put_string(o, name, strlen(name));
		put(o, ":", 1);
	}
}

void
sj_init(struct sj_out *o, char *buf, size_t cap)
{

	memset(o, 0, sizeof(*o));
	o->buf = buf;
	o->cap = cap;
}

void
sj_open(struct sj_out *o, const char *name, char c)
{

	start(o, name);
	put(o, &c, 1);
	o->comma = false;
}

void
sj_close(struct sj_out *o, char c)
{

	put(o, &c, 1);
	o->comma = true;
}

void
sj_int(struct sj_out *o, const char *name, int64_t n)
{
	char s[21], *p = s + sizeof(s);
	uint64_t u = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

	start(o, name);
	do {
		*--p = (char)('0' + u % 10);
		u /= 10;
	} while (u != 0);
	if (n < 0)
		*--p = '-';
	put(o, p, (size_t)(s + sizeof(s) - p));
}

void
sj_bool(struct sj_out *o, const char *name, bool b)
{

	start(o, name);
	put(o, b ? "true" : "false", b ? 4 : 5);
}

void
sj_str(struct sj_out *o, const char *name, const char *s, size_t n)
{

	start(o, name);
	put_string(o, s, n);
}
