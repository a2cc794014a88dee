/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The reader of configuration text.  It knows the syntax only; what a key
 * means is co_conf.c's matter.  Bounds of depth, name and list length are
 * checked here and nowhere else.
 */

#include <stdlib.h>
#include <string.h>

#include "co_ucl.h"

#define	MAXDEPTH	8
#define	MAXKEY		128
#define	MAXVALUES	1024
#define	MAXTEXT		4096

struct reader {
	const char	*p;
	const char	*end;
	const char	*name;
	unsigned int	 line;
	char		 key[MAXKEY];	/* dotted name of the section */
	size_t		 keylen;
	int		 depth;
	co_ucl_fn	*fn;
	void		*arg;
	struct co_error	*e;
};

static int
fail(struct reader *r, const char *what)
{

	return (co_error_set(r->e, CO_ESYS_CONFIG, r->name, "%s:%u: %s",
	    r->name, r->line, what));
}

static int
peek(const struct reader *r)
{

	return (r->p < r->end ? (unsigned char)*r->p : -1);
}

/* Skip a comment that may hold others: slash star ... star slash. */
static int
skip_comment(struct reader *r)
{
	unsigned int start = r->line;
	int open = 0;

	do {
		if (r->end - r->p < 2) {
			r->line = start;
			return (fail(r, "comment without an end"));
		}
		if (r->p[0] == '/' && r->p[1] == '*') {
			open++;
			r->p += 2;
		} else if (r->p[0] == '*' && r->p[1] == '/') {
			open--;
			r->p += 2;
		} else if (*r->p++ == '\n')
			r->line++;
	} while (open > 0);
	return (0);
}

/* Skip white space and comments; separators too when asked. */
static int
skip(struct reader *r, const char *also)
{
	int c;

	while ((c = peek(r)) != -1) {
		if (c == '\n')
			r->line++;
		if (c == '#') {
			while (peek(r) != -1 && peek(r) != '\n')
				r->p++;
		} else if (c == '/' && r->end - r->p > 1 && r->p[1] == '*') {
			if (skip_comment(r) != 0)
				return (-1);
		} else if (c != '\0' && (strchr(" \t\r\n", c) != NULL ||
		    strchr(also, c) != NULL))
			r->p++;
		else
			break;
	}
	return (0);
}

static size_t
put_utf8(char *dst, unsigned int c)
{

	if (c < 0x80) {
		dst[0] = (char)c;
		return (1);
	}
	if (c < 0x800) {
		dst[0] = (char)(0xc0 | c >> 6);
		dst[1] = (char)(0x80 | (c & 0x3f));
		return (2);
	}
	dst[0] = (char)(0xe0 | c >> 12);
	dst[1] = (char)(0x80 | (c >> 6 & 0x3f));
	dst[2] = (char)(0x80 | (c & 0x3f));
	return (3);
}

/* After a backslash: append what it stands for to buf at *n. */
static int
escape(struct reader *r, char *buf, size_t *n)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *at;
	unsigned int c = 0;
	int d;

	if (peek(r) == -1)
		return (fail(r, "string without an end"));
	if (*r->p != 'u') {
		at = *r->p == '\0' ? NULL : strchr(from, *r->p);
		if (at == NULL)
			return (fail(r, "unknown escape in a string"));
		buf[(*n)++] = to[at - from];
		r->p++;
		return (0);
	}
	r->p++;
	for (int i = 0; i < 4; i++, r->p++) {
		d = peek(r);
		if (d >= '0' && d <= '9')
			d -= '0';
		else if ((d | 32) >= 'a' && (d | 32) <= 'f')
			d = (d | 32) - 'a' + 10;
		else
			return (fail(r, "expected four hex digits after \\u"));
		c = c << 4 | (unsigned int)d;
	}
	if (c == 0 || (c >= 0xd800 && c < 0xe000))
		return (fail(r, "\\u of a character that is not allowed"));
	*n += put_utf8(buf + *n, c);
	return (0);
}

/* A quoted string into buf, which has room for MAXTEXT + 4 bytes. */
static int
quoted(struct reader *r, char *buf)
{
	char quote = *r->p++;
	size_t n = 0;
	int c;

	while ((c = peek(r)) != quote) {
		if (c == -1 || c == '\n')
			return (fail(r, "string without an end"));
		if (c == '\0')
			return (fail(r, "NUL byte in a string"));
		if (n >= MAXTEXT)
			return (fail(r, "string too long"));
		r->p++;
		if (c != '\\' || quote == '\'')
			buf[n++] = (char)c;
		else if (escape(r, buf, &n) != 0)
			return (-1);
	}
	r->p++;
	buf[n] = '\0';
	return (0);
}

/* A bare word: up to a separator, trailing blanks cut. */
static int
bare(struct reader *r, char *buf, const char *stop)
{
	size_t n = 0;
	int c;

	while ((c = peek(r)) != -1 && c != '\n' && c != '#' &&
	    (c == '\0' || strchr(stop, c) == NULL)) {
		if (c == '/' && r->end - r->p > 1 && r->p[1] == '*')
			break;
		if ((c < ' ' && c != '\t' && c != '\r') || c == '$')
			return (fail(r, "character that a value must quote"));
		if (n >= MAXTEXT)
			return (fail(r, "value too long"));
		buf[n++] = (char)c;
		r->p++;
	}
	while (n > 0 && strchr(" \t\r", buf[n - 1]) != NULL)
		n--;
	buf[n] = '\0';
	if (n == 0)
		return (fail(r, "expected a value"));
	return (0);
}

static int
scalar(struct reader *r, struct co_ucl_value *v, const char *stop)
{
	char buf[MAXTEXT + 4];
	int c = peek(r);

	v->quoted = c == '"' || c == '\'';
	if (c == '<' && r->end - r->p > 1 && r->p[1] == '<')
		return (fail(r, "here documents are not supported"));
	if ((v->quoted ? quoted(r, buf) : bare(r, buf, stop)) != 0)
		return (-1);
	v->text = strdup(buf);
	if (v->text == NULL)
		return (co_error_set(r->e, CO_ESYS_NOMEM, r->name,
		    "out of memory"));
	return (0);
}

static int
list(struct reader *r, struct co_ucl_pair *pair)
{
	struct co_ucl_value *p;

	pair->list = true;
	r->p++;
	for (;;) {
		if (skip(r, ",;") != 0)
			return (-1);
		if (peek(r) == -1)
			return (fail(r, "list without an end"));
		if (peek(r) == ']') {
			r->p++;
			return (0);
		}
		if (pair->nvalues == MAXVALUES)
			return (fail(r, "list too long"));
		p = realloc(pair->values, (pair->nvalues + 1) * sizeof(*p));
		if (p == NULL)
			return (co_error_set(r->e, CO_ESYS_NOMEM, r->name,
			    "out of memory"));
		pair->values = p;
		if (scalar(r, &p[pair->nvalues], ",;[]{}") != 0)
			return (-1);
		pair->nvalues++;
	}
}

static int
value(struct reader *r, struct co_ucl_pair *pair)
{

	if (peek(r) == '[')
		return (list(r, pair));
	pair->values = calloc(1, sizeof(*pair->values));
	if (pair->values == NULL)
		return (co_error_set(r->e, CO_ESYS_NOMEM, r->name,
		    "out of memory"));
	if (scalar(r, &pair->values[0], ",;[]{}") != 0)
		return (-1);
	pair->nvalues = 1;
	return (0);
}

static void
pair_free(struct co_ucl_pair *pair)
{

	for (size_t i = 0; i < pair->nvalues; i++)
		free(pair->values[i].text);
	free(pair->values);
}

static bool
keychar(int c)
{

	return ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9') || c == '_' || c == '-');
}

/* Append the key at the reader to the dotted name. */
static int
key(struct reader *r)
{
	size_t n = r->keylen, start;
	bool quote = peek(r) == '"';

	if (quote)
		r->p++;
	if (peek(r) == '.')
		return (fail(r, "macros are not supported"));
	if (n > 0)
		r->key[n++] = '.';
	start = n;
	while (keychar(peek(r))) {
		if (n >= sizeof(r->key) - 2)
			return (fail(r, "key too long"));
		r->key[n++] = *r->p++;
	}
	if (quote && peek(r) == '"')
		r->p++;
	else if (quote)
		return (fail(r, "expected a key of letters, digits, _ and -"));
	if (n == start)
		return (fail(r, peek(r) == '}' ? "\"}\" without \"{\"" :
		    "expected a key of letters, digits, _ and -"));
	r->key[n] = '\0';
	r->keylen = n;
	return (0);
}

static int section(struct reader *);

/* A key and what belongs to it: a section, or a value. */
static int
entry(struct reader *r)
{
	struct co_ucl_pair pair = { .key = r->key };
	size_t outer = r->keylen;
	int ret = -1;

	pair.line = r->line;
	if (key(r) != 0 || skip(r, "") != 0)
		return (-1);
	if (peek(r) == '=' || peek(r) == ':') {
		r->p++;
		if (skip(r, "") != 0)
			return (-1);
	}
	if (peek(r) == '{') {
		if (++r->depth > MAXDEPTH)
			return (fail(r, "sections nested too deeply"));
		r->p++;
		ret = section(r);
		r->depth--;
	} else if (value(r, &pair) == 0)
		ret = r->fn(r->arg, &pair, r->e);
	pair_free(&pair);
	r->keylen = outer;
	r->key[outer] = '\0';
	return (ret);
}

/* Entries up to the closing brace, or to the end of the text at depth 0. */
static int
section(struct reader *r)
{

	for (;;) {
		if (skip(r, ";,") != 0)
			return (-1);
		if (peek(r) == -1)
			return (r->depth == 0 ? 0 :
			    fail(r, "\"{\" without \"}\""));
		if (peek(r) == '}' && r->depth > 0) {
			r->p++;
			return (0);
		}
		if (entry(r) != 0)
			return (-1);
	}
}

int
co_ucl_read(const char *text, size_t len, const char *name, co_ucl_fn *fn,
    void *arg, struct co_error *e)
{
	struct reader r = { .p = text, .end = text + len, .name = name,
	    .line = 1, .fn = fn, .arg = arg, .e = e };

	if (skip(&r, "") != 0)
		return (-1);
	if (peek(&r) != '{')
		return (section(&r));
	r.p++;
	r.depth = 1;
	if (section(&r) != 0 || skip(&r, ";,") != 0)
		return (-1);
	if (peek(&r) != -1)
		return (fail(&r, "text after the closing brace"));
	return (0);
}
