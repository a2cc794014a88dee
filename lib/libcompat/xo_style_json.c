/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The JSON style.  The outermost braces come with the first container or
 * list and go with xo_finish.
 */

#include <string.h>

#include "xo_internal.h"

static void
json_escape(struct xo_buf *b, const char *s, size_t n)
{
	size_t i, from;
	const char *r;

	for (i = from = 0; i < n; i++) {
		r = s[i] == '"' ? "\\\"" : s[i] == '\\' ? "\\\\" :
		    s[i] == '\n' ? "\\n" : s[i] == '\r' ? "\\r" : NULL;
		if (r == NULL)
			continue;
		xo_buf_append(b, s + from, i - from);
		xo_buf_str(b, r);
		from = i + 1;
	}
	xo_buf_append(b, s + from, n - from);
}

static void
newline(xo_handle_t *xop)
{
	if (XO_PRETTY(xop))
		xo_buf_append(&xop->data, "\n", 1);
}

static void
put_top(xo_handle_t *xop, bool with_version)
{
	if ((xop->flags & XOF_NO_TOP) != 0 ||
	    (xop->iflags & XOIF_TOP_EMITTED) != 0)
		return;
	xo_indent(xop);
	xo_buf_append(&xop->data, "{", 1);
	newline(xop);
	xop->iflags |= XOIF_TOP_EMITTED;
	if (with_version && xop->version != NULL) {
		xo_indent(xop);
		xo_buf_printf(&xop->data, "\"__version\": \"%s\", ",
		    xop->version);
		newline(xop);
		free(xop->version);
		xop->version = NULL;
	}
}

/* From at on, '-' becomes '_' if the user wants names of C. */
static void
underscores(xo_handle_t *xop, size_t at)
{
	if ((xop->flags & XOF_UNDERSCORES) == 0)
		return;
	for (; at < xop->data.len; at++)
		if (xop->data.data[at] == '-')
			xop->data.data[at] = '_';
}

static void
put_comma(xo_handle_t *xop)
{
	if ((XO_TOP(xop)->flags & XSF_NOT_FIRST) != 0)
		xo_buf_str(&xop->data, XO_PRETTY(xop) ? ",\n" : ", ");
	XO_TOP(xop)->flags |= XSF_NOT_FIRST;
}

static void
json_open(xo_handle_t *xop, enum xo_kind kind, const char *name)
{
	size_t at;

	xo_note_not_first(xop);
	if (kind != XO_INSTANCE)
		put_top(xop, kind != XO_LEAF_LIST);
	put_comma(xop);
	xo_indent(xop);
	if (kind != XO_INSTANCE) {
		xo_buf_append(&xop->data, "\"", 1);
		at = xop->data.len;
		xo_buf_str(&xop->data, name);
		if (kind != XO_LEAF_LIST)
			underscores(xop, at);
		xo_buf_append(&xop->data, "\": ", 3);
	}
	xo_buf_append(&xop->data,
	    kind == XO_LIST || kind == XO_LEAF_LIST ? "[" : "{", 1);
	newline(xop);
}

static void
json_close(xo_handle_t *xop, enum xo_kind kind, const char *name,
    bool had_items)
{
	bool list;

	(void)name;
	list = kind == XO_LIST || kind == XO_LEAF_LIST;
	if (!list || had_items)
		newline(xop);
	xo_indent(xop);
	xo_buf_append(&xop->data, list ? "]" : "}", 1);
}

static void
put_name(xo_handle_t *xop, const struct xo_value *v)
{
	size_t at;

	xo_buf_append(&xop->data, "\"", 1);
	at = xop->data.len;
	if (v->nlen == 0) {
		xo_failure(xop, "a value without a name");
		xo_buf_str(&xop->data, "missing-field-name");
	} else {
		json_escape(&xop->data, v->name, v->nlen);
	}
	underscores(xop, at);
	xo_buf_append(&xop->data, "\":", 2);
	if (XO_PRETTY(xop))
		xo_buf_append(&xop->data, " ", 1);
}

static bool
needs_quotes(struct xo_value *v)
{
	if ((v->flags & XFF_QUOTE) != 0)
		return (true);
	if ((v->flags & XFF_NOQUOTE) != 0)
		return (false);
	if (v->tlen != 0)
		return (true);
	if (v->flen == 0) {
		/* A value that says nothing but its name is true. */
		v->fmt = "true";
		v->flen = strlen(v->fmt);
		return (false);
	}
	return (!xo_format_is_numeric(v->fmt, v->flen));
}

static void
json_value(xo_handle_t *xop, const struct xo_value *given)
{
	struct xo_buf scratch = { 0 };
	struct xo_value v = *given;
	bool leaf, quotes;

	if ((v.flags & XFF_DISPLAY_ONLY) != 0) {
		xo_simple(xop, true, v.text, v.tlen, v.fmt, v.flen, v.flags);
		return;
	}
	xo_value_encoding(&v, &scratch);
	xo_note_not_first(xop);
	leaf = (v.flags & XFF_LEAF_LIST) != 0;
	if ((XO_TOP(xop)->flags & XSF_NOT_FIRST) != 0) {
		xo_buf_append(&xop->data, ",", 1);
		newline(xop);
	}
	XO_TOP(xop)->flags |= XSF_NOT_FIRST;
	quotes = needs_quotes(&v);
	xo_indent(xop);
	if (!leaf)
		put_name(xop, &v);
	if (quotes)
		xo_buf_append(&xop->data, "\"", 1);
	xo_simple(xop, false, v.text, v.tlen, v.fmt, v.flen, v.flags);
	if (quotes)
		xo_buf_append(&xop->data, "\"", 1);
	xo_buf_free(&scratch);
}

/* JSON has no place for a message. */
static void
json_message(xo_handle_t *xop, const char *s, size_t n, bool add_newline,
    int code)
{
	(void)xop;
	(void)s;
	(void)n;
	(void)add_newline;
	(void)code;
}

static void
json_version(xo_handle_t *xop, const char *version)
{
	free(xop->version);
	xop->version = strdup(version);
}

static void
json_finish(xo_handle_t *xop)
{
	if ((xop->flags & XOF_NO_TOP) != 0)
		return;
	if ((xop->iflags & XOIF_TOP_EMITTED) != 0) {
		xop->iflags &= ~XOIF_TOP_EMITTED;
		newline(xop);
		xo_indent(xop);
	} else if ((xop->iflags & XOIF_MADE_OUTPUT) == 0) {
		xo_indent(xop);
		xo_buf_append(&xop->data, "{ ", 2);
	} else {
		newline(xop);
		xo_indent(xop);
	}
	xo_buf_append(&xop->data, "}\n", 2);
}

const struct xo_style xo_style_json = {
	.name = "json",
	.id = XO_STYLE_JSON,
	.encodes = true,
	.indents = 1u << XO_CONTAINER | 1u << XO_LIST | 1u << XO_INSTANCE |
	    1u << XO_LEAF_LIST,
	.escape = json_escape,
	.open = json_open,
	.close = json_close,
	.value = json_value,
	.message = json_message,
	.version = json_version,
	.finish = json_finish,
};
