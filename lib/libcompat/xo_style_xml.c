/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The XML style: containers, instances and values are elements; lists and
 * leaf-lists are only the repetition of theirs.
 */

#include <string.h>

#include "xo_internal.h"

static void
escape(struct xo_buf *b, const char *s, size_t n, bool attribute)
{
	size_t i, from;
	const char *r;

	for (i = from = 0; i < n; i++) {
		r = s[i] == '<' ? "&lt;" : s[i] == '>' ? "&gt;" :
		    s[i] == '&' ? "&amp;" :
		    attribute && s[i] == '"' ? "&quot;" : NULL;
		if (r == NULL)
			continue;
		xo_buf_append(b, s + from, i - from);
		xo_buf_str(b, r);
		from = i + 1;
	}
	xo_buf_append(b, s + from, n - from);
}

static void
xml_escape(struct xo_buf *b, const char *s, size_t n)
{
	escape(b, s, n, false);
}

/* No element's name may start with a digit or the like. */
static void
put_leader(xo_handle_t *xop, const char *name)
{
	if ((*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
	    *name == '_')
		return;
	xo_failure(xop, "not a name for an XML element: '%s'", name);
	xo_buf_append(&xop->data, "_", 1);
}

static void
newline(xo_handle_t *xop)
{
	if (XO_PRETTY(xop))
		xo_buf_append(&xop->data, "\n", 1);
}

static void
put_attributes(xo_handle_t *xop)
{
	xo_buf_append(&xop->data, xop->attrs.data, xop->attrs.len);
	xop->attrs.len = 0;
}

static bool
has_element(enum xo_kind kind)
{
	return (kind == XO_CONTAINER || kind == XO_INSTANCE);
}

static void
xml_open(xo_handle_t *xop, enum xo_kind kind, const char *name)
{
	if (!has_element(kind))
		return;
	xo_indent(xop);
	xo_buf_append(&xop->data, "<", 1);
	put_leader(xop, name);
	xo_buf_str(&xop->data, name);
	put_attributes(xop);
	xo_buf_append(&xop->data, ">", 1);
	newline(xop);
}

static void
xml_close(xo_handle_t *xop, enum xo_kind kind, const char *name,
    bool had_items)
{
	(void)had_items;
	if (!has_element(kind))
		return;
	xo_indent(xop);
	xo_buf_append(&xop->data, "</", 2);
	put_leader(xop, name);
	xo_buf_str(&xop->data, name);
	xo_buf_append(&xop->data, ">", 1);
	newline(xop);
}

static void
put_name(xo_handle_t *xop, const struct xo_value *v)
{
	if (v->nlen == 0) {
		xo_failure(xop, "a value without a name");
		xo_buf_str(&xop->data, "missing-field-name");
		return;
	}
	put_leader(xop, v->name);
	xml_escape(&xop->data, v->name, v->nlen);
}

static void
xml_value(xo_handle_t *xop, const struct xo_value *given)
{
	struct xo_buf scratch = { 0 };
	struct xo_value v = *given;

	if ((v.flags & XFF_DISPLAY_ONLY) != 0) {
		xo_simple(xop, true, v.text, v.tlen, v.fmt, v.flen, v.flags);
		return;
	}
	xo_value_encoding(&v, &scratch);
	xo_indent(xop);
	xo_buf_append(&xop->data, "<", 1);
	put_name(xop, &v);
	put_attributes(xop);
	if ((v.flags & XFF_KEY) != 0 && (xop->flags & XOF_KEYS) != 0)
		xo_buf_str(&xop->data, " key=\"key\"");
	if ((xop->flags & XOF_UNITS) != 0) {
		xop->iflags |= XOIF_UNITS_PENDING;
		xop->units_at = xop->data.len;
	}
	xo_buf_append(&xop->data, ">", 1);
	xo_simple(xop, false, v.text, v.tlen, v.fmt, v.flen, v.flags);
	xo_buf_append(&xop->data, "</", 2);
	put_name(xop, &v);
	xo_buf_append(&xop->data, ">", 1);
	newline(xop);
	xo_buf_free(&scratch);
}

static void
xml_message(xo_handle_t *xop, const char *s, size_t n, bool add_newline,
    int code)
{
	if (XO_PRETTY(xop))
		xo_buf_fill(&xop->data, ' ', xop->indent_by);
	xo_buf_str(&xop->data, "<message>");
	xml_escape(&xop->data, s, n);
	if (add_newline && code > 0) {
		xo_buf_str(&xop->data, ": ");
		xo_buf_str(&xop->data, strerror(code));
	}
	if (add_newline)
		xo_buf_append(&xop->data, "\n", 1);
	xo_buf_str(&xop->data, "</message>");
	newline(xop);
}

static void
xml_version(xo_handle_t *xop, const char *version)
{
	(void)xo_attr_h(xop, "version", "%s", version);
}

static void
xml_finish(xo_handle_t *xop)
{
	(void)xop;
}

xo_ssize_t
xo_attr_hv(xo_handle_t *xop, const char *name, const char *fmt, va_list ap)
{
	struct xo_buf value = { 0 };
	size_t len;

	xop = xo_default(xop);
	if (xop->style != &xo_style_xml)
		return (0);
	len = xop->attrs.len;
	xo_buf_vprintf(&value, fmt, ap);
	xo_buf_append(&xop->attrs, " ", 1);
	xo_buf_str(&xop->attrs, name);
	xo_buf_append(&xop->attrs, "=\"", 2);
	escape(&xop->attrs, value.data, value.len, true);
	xo_buf_append(&xop->attrs, "\"", 1);
	xo_buf_free(&value);
	return ((xo_ssize_t)(xop->attrs.len - len));
}

const struct xo_style xo_style_xml = {
	.name = "xml",
	.id = XO_STYLE_XML,
	.encodes = true,
	.indents = 1u << XO_CONTAINER | 1u << XO_INSTANCE,
	.escape = xml_escape,
	.open = xml_open,
	.close = xml_close,
	.value = xml_value,
	.message = xml_message,
	.version = xml_version,
	.finish = xml_finish,
};
