/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The parser of field formats, "{modifiers:content/format/encoding}".  It
 * looks at one part of a format string at a time, keeps pointers into it,
 * writes nothing and takes no arguments; a malformed format is an error
 * before anything is emitted.
 */

#include <ctype.h>
#include <string.h>

#include "xo_internal.h"

struct word {
	const char	*name;
	unsigned	 value;
};

static const struct word roles[] = {
	{ "color", 'C' }, { "decoration", 'D' }, { "error", 'E' },
	{ "label", 'L' }, { "note", 'N' }, { "padding", 'P' },
	{ "title", 'T' }, { "units", 'U' }, { "value", 'V' },
	{ "warning", 'W' }, { "start-anchor", '[' }, { "stop-anchor", ']' },
	{ NULL, 0 }
};

static const struct word modifiers[] = {
	{ "argument", XFF_ARGUMENT }, { "colon", XFF_COLON },
	{ "comma", XFF_COMMA }, { "display", XFF_DISPLAY_ONLY },
	{ "encoding", XFF_ENCODE_ONLY }, { "gettext", XFF_GETTEXT },
	{ "humanize", XFF_HUMANIZE }, { "hn", XFF_HUMANIZE },
	{ "hn-space", XFF_HN_SPACE }, { "hn-decimal", XFF_HN_DECIMAL },
	{ "hn-1000", XFF_HN_1000 }, { "key", XFF_KEY },
	{ "leaf-list", XFF_LEAF_LIST }, { "list", XFF_LEAF_LIST },
	{ "no-quotes", XFF_NOQUOTE }, { "no-quote", XFF_NOQUOTE },
	{ "plural", XFF_PLURAL }, { "quotes", XFF_QUOTE },
	{ "quote", XFF_QUOTE }, { "trim", XFF_TRIM }, { "white", XFF_WS },
	{ NULL, 0 }
};

/* Modifiers of one letter. */
static const struct {
	char		letter;
	unsigned	flag;
} letters[] = {
	{ 'a', XFF_ARGUMENT }, { 'c', XFF_COLON }, { 'd', XFF_DISPLAY_ONLY },
	{ 'e', XFF_ENCODE_ONLY }, { 'g', XFF_GETTEXT },
	{ 'h', XFF_HUMANIZE }, { 'k', XFF_KEY }, { 'l', XFF_LEAF_LIST },
	{ 'n', XFF_NOQUOTE }, { 'p', XFF_PLURAL }, { 'q', XFF_QUOTE },
	{ 't', XFF_TRIM }, { 'w', XFF_WS },
};

bool
xo_role_has_default_format(int role)
{
	return (strchr("CG[]", role) == NULL);
}

/* Look up a word, of which the first letters are enough. */
static unsigned
lookup(const struct word *w, const char *s, size_t n)
{
	for (; w->name != NULL; w++)
		if (strncmp(w->name, s, n) == 0)
			return (w->value);
	return (0);
}

/* A word after a comma: a role or a modifier by its long name. */
static const char *
long_name(xo_handle_t *xop, const char *p, struct xo_field *f)
{
	const char *s;
	unsigned value;
	size_t n;

	n = strcspn(p, ":/},");
	for (s = p; s < p + n && isspace((unsigned char)*s); s++)
		;
	if (s == p + n)
		return (p + n);
	if ((value = lookup(roles, s, (size_t)(p + n - s))) != 0)
		f->role = (int)value;
	else if ((value = lookup(modifiers, s, (size_t)(p + n - s))) != 0)
		f->flags |= value;
	else
		xo_failure(xop, "unknown keyword: '%.*s'", (int)n, p);
	return (p + n);
}

static bool
letter(xo_handle_t *xop, char c, struct xo_field *f)
{
	size_t i;

	if (strchr("CDEGLNPTUVW[]", c) != NULL) {
		if (f->role != 0) {
			xo_failure(xop, "a field with more than one role");
			return (false);
		}
		f->role = c;
		return (true);
	}
	if (c >= '0' && c <= '9')
		return (true);	/* field numbers are for translators */
	for (i = 0; i < sizeof(letters) / sizeof(letters[0]); i++) {
		if (letters[i].letter == c) {
			f->flags |= letters[i].flag;
			return (true);
		}
	}
	xo_failure(xop, "unknown modifier: '%c'", c);
	return (false);
}

const char *
xo_format_roles(xo_handle_t *xop, const char *p, struct xo_field *f)
{
	while (*p != '\0' && strchr(":/}", *p) == NULL) {
		if (*p == '\\') {
			if (p[1] == '\0') {
				xo_failure(xop, "backslash at the end");
				return (NULL);
			}
			p += 2;
		} else if (*p == ',') {
			p = long_name(xop, p + 1, f);
		} else {
			if (!letter(xop, *p, f))
				return (NULL);
			p++;
		}
		if (f->role == 'N' || f->role == 'U')
			f->flags &= ~XFF_COLON;
	}
	if (f->role == 0)
		f->role = 'V';
	return (p);
}

/* Find one of the stop characters, stepping over what is backslashed. */
static const char *
section(xo_handle_t *xop, const char *p, const char *stop)
{
	for (; *p != '\0' && strchr(stop, *p) == NULL; p++) {
		if (*p != '\\')
			continue;
		if (p[1] == '\0') {
			xo_failure(xop, "backslash at the end");
			return (NULL);
		}
		p++;
	}
	return (p);
}

/* A field; p is past its opening brace. */
static const char *
field(xo_handle_t *xop, const char *p, struct xo_field *f)
{
	const char *q;

	if ((p = xo_format_roles(xop, p, f)) == NULL)
		return (NULL);
	if (*p != ':') {
		xo_failure(xop, "a field without ':'");
		return (NULL);
	}
	if ((q = section(xop, ++p, "/}")) == NULL)
		return (NULL);
	f->clen = (size_t)(q - p);
	f->content = f->clen > 0 ? p : NULL;
	if (*q == '/') {
		p = q + 1;
		if ((q = section(xop, p, "/}")) == NULL)
			return (NULL);
		f->fmt = p;
		f->flen = (size_t)(q - p);
	}
	if (*q == '/') {
		p = q + 1;
		q = p + strcspn(p, "}");
		f->enc = p;
		f->elen = (size_t)(q - p);
	}
	if (*q != '}') {
		xo_failure(xop, "a field without closing brace");
		return (NULL);
	}
	if (f->fmt == NULL && xo_role_has_default_format(f->role) &&
	    (f->clen > 0 || (f->flags & XFF_ARGUMENT) != 0)) {
		f->fmt = "%s";
		f->flen = 2;
	}
	return (q + 1);
}

const char *
xo_format_next(xo_handle_t *xop, const char *p, struct xo_field *f)
{
	const char *q;

	memset(f, 0, sizeof(*f));
	f->content = p;
	if (*p == '\n') {
		f->role = XO_ROLE_NEWLINE;
		return (p + 1);
	}
	if (*p != '{') {
		f->role = XO_ROLE_TEXT;
		f->clen = strcspn(p, "{\n");
		return (p + f->clen);
	}
	if (p[1] != '{')
		return (field(xop, p + 1, f));

	/* "{{text}}" is "{text}" */
	if ((q = strstr(p + 2, "}}")) == NULL) {
		xo_failure(xop, "'{{' without '}}'");
		return (NULL);
	}
	f->role = XO_ROLE_BRACES;
	f->content = p + 1;
	f->clen = (size_t)(q - p);
	return (q + 2);
}

bool
xo_format_is_numeric(const char *fmt, size_t len)
{
	const char *end, *p;

	end = fmt + len;
	p = fmt;
	if (len == 0 || *p++ != '%')
		return (false);
	while (p < end && *p != '\0' && strchr("0123456789.*+ -", *p) != NULL)
		p++;
	while (p < end && *p != '\0' && strchr("hljtqz", *p) != NULL)
		p++;
	return (end - p == 1 && *p != '\0' &&
	    strchr("diouDOUeEfFgG", *p) != NULL);
}
