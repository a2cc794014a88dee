/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What becomes of a field's content: values, which styles render, and the
 * labels round them, which only people see.  xo_emit.c calls it, and so do
 * the styles.
 */

#include <ctype.h>
#include <string.h>

#include "xo_internal.h"

void
xo_simple(xo_handle_t *xop, bool mute, const char *text, size_t tlen,
    const char *fmt, size_t flen, unsigned flags)
{
	if (mute)
		flags |= XFF_MUTE;
	if (tlen == 0)
		(void)xo_conv(xop, &xop->data, fmt, flen, flags);
	else if (!mute)
		xo_content(xop, text, tlen, flags);
}

/* Does the frame on top already hold this sort of value? */
static bool
frame_ready(xo_handle_t *xop, const struct xo_value *v)
{
	unsigned f = XO_TOP(xop)->flags;

	if ((v->flags & XFF_LEAF_LIST) != 0)
		return ((f & (XSF_EMIT | XSF_EMIT_KEY)) == 0 &&
		    (f & XSF_EMIT_LEAF_LIST) != 0);
	if ((v->flags & XFF_KEY) != 0) {
		if ((f & XSF_EMIT) != 0 &&
		    (v->flags & XFF_DISPLAY_ONLY) == 0) {
			xo_failure(xop, "key after a plain value: '%.*s'",
			    (int)v->nlen, v->name == NULL ? "" : v->name);
			return (true);
		}
		return ((f & XSF_EMIT_KEY) != 0);
	}
	return ((f & XSF_EMIT_LEAF_LIST) == 0 && (f & XSF_EMIT) != 0);
}

static void
frame_prepare(xo_handle_t *xop, struct xo_value *v)
{
	struct xo_buf name = { 0 };
	enum xo_want want;
	unsigned mark;
	ssize_t rc;

	if (frame_ready(xop, v))
		return;
	want = XO_EMIT;
	mark = XSF_EMIT;
	if ((v->flags & XFF_LEAF_LIST) != 0) {
		want = XO_EMIT_LEAF_LIST;
		mark = XSF_EMIT_LEAF_LIST;
	} else if ((v->flags & XFF_KEY) != 0) {
		mark = XSF_EMIT_KEY;
	}
	xo_buf_append(&name, v->name, v->nlen);
	rc = xo_transition(xop, 0, xo_buf_cstr(&name), want);
	xo_buf_free(&name);
	if (rc < 0)
		v->flags |= XFF_DISPLAY_ONLY | XFF_ENCODE_ONLY;
	if (rc >= 0 || want == XO_EMIT)
		XO_TOP(xop)->flags |= mark;
}

void
xo_value(xo_handle_t *xop, struct xo_value *v)
{
	frame_prepare(xop, v);
	/* A leaf-list goes by the name it was opened with. */
	if ((v->flags & XFF_LEAF_LIST) != 0 && XO_TOP(xop)->name != NULL) {
		v->name = XO_TOP(xop)->name;
		v->nlen = strlen(v->name);
	}
	xop->style->value(xop, v);
}

void
xo_value_encoding(struct xo_value *v, struct xo_buf *scratch)
{
	size_t i;

	if (v->enc != NULL) {
		v->fmt = v->enc;
		v->flen = v->elen;
		return;
	}
	if (v->flen < 2 || v->fmt[0] != '%' ||
	    !isdigit((unsigned char)v->fmt[1]))
		return;
	for (i = 2; i < v->flen && isdigit((unsigned char)v->fmt[i]); i++)
		;
	xo_buf_append(scratch, "%", 1);
	xo_buf_append(scratch, v->fmt + i, v->flen - i);
	v->fmt = xo_buf_cstr(scratch);
	v->flen = scratch->len;
}

void
xo_label(xo_handle_t *xop, const char *tag, const char *text, size_t tlen,
    const char *fmt, size_t flen, unsigned flags)
{
	struct xo_value v;

	if (!xop->style->encodes || tag == NULL) {
		xo_simple(xop, xop->style->encodes, text, tlen, fmt, flen,
		    flags);
		return;
	}
	memset(&v, 0, sizeof(v));
	v.name = "message";
	v.nlen = strlen(v.name);
	v.text = text;
	v.tlen = tlen;
	v.fmt = fmt;
	v.flen = flen;
	v.flags = flags;
	(void)xo_open_container_h(xop, tag);
	xo_value(xop, &v);
	(void)xo_close_container_h(xop, tag);
}
