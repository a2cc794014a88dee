/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Text that is changed after it was written: "{[:20}...{]:}" pads everything
 * between, and "{U:bytes}" goes back into the XML element before it.
 * xo_emit.c calls it.
 */

#include <string.h>

#include "xo_internal.h"

void
xo_anchor_clear(xo_handle_t *xop)
{
	xop->iflags &= ~XOIF_ANCHOR;
	xop->anchor_at = 0;
	xop->anchor_columns = 0;
	xop->anchor_width = 0;
}

/* The width an anchor asks for: its content, or its format's arguments. */
static ssize_t
anchor_width(xo_handle_t *xop, const struct xo_field *f)
{
	struct xo_buf tmp = { 0 };
	ssize_t columns;
	const char *s;
	unsigned iflags;
	char *end;
	long n;

	if (f->clen == 0 && f->flen == 0)
		return (0);
	iflags = xop->iflags;
	columns = xop->columns;
	xop->iflags &= ~XOIF_ANCHOR;
	if (f->clen > 0)
		xo_buf_append(&tmp, f->content, f->clen);
	else
		(void)xo_conv(xop, &tmp, f->fmt, f->flen, 0);
	xop->iflags = iflags;
	xop->columns = columns;

	s = xo_buf_cstr(&tmp);
	n = strtol(s, &end, 0);
	if (n == LONG_MIN || n == LONG_MAX || end == s || *end != '\0') {
		xo_failure(xop, "not a width: '%s'", s);
		n = 0;
	}
	xo_buf_free(&tmp);
	return (n);
}

void
xo_anchor_start(xo_handle_t *xop, const struct xo_field *f)
{
	if ((xop->iflags & XOIF_ANCHOR) != 0)
		xo_failure(xop, "an anchor inside of an anchor");
	xop->iflags |= XOIF_ANCHOR;
	xop->anchor_at = xop->data.len;
	xop->anchor_columns = 0;
	xop->anchor_width = anchor_width(xop, f);
}

void
xo_anchor_stop(xo_handle_t *xop, const struct xo_field *f)
{
	ssize_t pad, width;
	size_t stop;

	if ((xop->iflags & XOIF_ANCHOR) == 0) {
		xo_failure(xop, "an anchor that was not started");
		return;
	}
	xop->iflags &= ~XOIF_UNITS_PENDING;
	if ((width = anchor_width(xop, f)) == 0)
		width = xop->anchor_width;
	pad = (width < 0 ? -width : width) - xop->anchor_columns;
	if (pad > 0 && width >= -XO_WIDTH_MAX && width <= XO_WIDTH_MAX &&
	    !xop->style->encodes) {
		stop = xop->data.len;
		xo_buf_fill(&xop->data, ' ', (size_t)pad);
		xo_count_columns(xop, pad);
		if (width > 0)
			xo_buf_rotate(&xop->data, xop->anchor_at, stop);
	}
	xo_anchor_clear(xop);
}

void
xo_units(xo_handle_t *xop, const struct xo_field *f)
{
	size_t stop;

	if ((xop->iflags & XOIF_UNITS_PENDING) == 0) {
		xo_label(xop, NULL, f->content, f->clen, f->fmt, f->flen,
		    f->flags);
		return;
	}
	stop = xop->data.len;
	xo_buf_str(&xop->data, " units=\"");
	if (f->clen > 0)
		xop->style->escape(&xop->data, f->content, f->clen);
	else
		(void)xo_conv(xop, &xop->data, f->fmt, f->flen, f->flags);
	xo_buf_append(&xop->data, "\"", 1);
	xo_buf_rotate(&xop->data, xop->units_at, stop);
}
