/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The text style: what people read.  Containers leave no trace.
 */

#include <string.h>

#include "xo_internal.h"

static void
text_open(xo_handle_t *xop, enum xo_kind kind, const char *name)
{
	(void)xop;
	(void)kind;
	(void)name;
}

static void
text_close(xo_handle_t *xop, enum xo_kind kind, const char *name,
    bool had_items)
{
	(void)xop;
	(void)kind;
	(void)name;
	(void)had_items;
}

static void
text_value(xo_handle_t *xop, const struct xo_value *v)
{
	ssize_t anchor_columns, columns;
	size_t from;

	from = xop->data.len;
	columns = xop->columns;
	anchor_columns = xop->anchor_columns;
	xo_simple(xop, (v->flags & XFF_ENCODE_ONLY) != 0, v->text, v->tlen,
	    v->fmt, v->flen, v->flags);
	if ((v->flags & XFF_HUMANIZE) == 0 ||
	    (xop->flags & XOF_NO_HUMANIZE) != 0)
		return;
	xo_humanize(&xop->data, from, v->flags);
	xop->columns = columns;
	xop->anchor_columns = anchor_columns;
	xo_count_columns(xop, (ssize_t)(xop->data.len - from));
}

static void
text_message(xo_handle_t *xop, const char *s, size_t n, bool newline,
    int code)
{
	xo_buf_append(&xop->data, s, n);
	xo_count_columns(xop, (ssize_t)n);
	if (newline && code > 0) {
		xo_buf_str(&xop->data, ": ");
		xo_buf_str(&xop->data, strerror(code));
	}
	if (newline)
		xo_buf_append(&xop->data, "\n", 1);
}

static void
text_version(xo_handle_t *xop, const char *version)
{
	(void)xop;
	(void)version;
}

static void
text_finish(xo_handle_t *xop)
{
	(void)xop;
}

const struct xo_style xo_style_text = {
	.name = "text",
	.id = XO_STYLE_TEXT,
	.encodes = false,
	.indents = 0,
	.escape = xo_buf_append,
	.open = text_open,
	.close = text_close,
	.value = text_value,
	.message = text_message,
	.version = text_version,
	.finish = text_finish,
};
