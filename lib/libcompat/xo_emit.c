/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * xo_emit and kin: walk the fields of a format and hand each one to what its
 * role asks for.  A format is parsed to its end before anything of it is
 * written.
 */

#include <string.h>

#include "xo_internal.h"

static bool
well_formed(xo_handle_t *xop, const char *fmt)
{
	struct xo_field f;
	const char *p;

	for (p = fmt; *p != '\0';)
		if ((p = xo_format_next(xop, p, &f)) == NULL)
			return (false);
	return (true);
}

static void
emit_title(xo_handle_t *xop, const struct xo_field *f)
{
	const char *fmt = f->flen > 0 ? f->fmt : "%s";
	size_t flen = f->flen > 0 ? f->flen : 2;

	if (xop->style->encodes || f->clen == 0)
		xo_simple(xop, xop->style->encodes, f->content, f->clen, fmt,
		    flen, f->flags);
	else
		xo_conv_fixed(xop, &xop->data, fmt, flen, f->content,
		    f->clen);
}

/* Colors and domains are not for us, but may have arguments. */
static void
emit_nothing(xo_handle_t *xop, const struct xo_field *f)
{
	if (f->clen == 0 && f->flen > 0)
		(void)xo_conv(xop, &xop->data, f->fmt, f->flen, XFF_MUTE);
}

static void
emit_value(xo_handle_t *xop, const struct xo_field *f)
{
	struct xo_value v;

	memset(&v, 0, sizeof(v));
	v.name = f->content;
	v.nlen = f->clen;
	v.fmt = f->fmt;
	v.flen = f->flen;
	v.enc = f->enc;
	v.elen = f->elen;
	v.flags = f->flags;
	xo_value(xop, &v);
}

static void
emit_label(xo_handle_t *xop, const struct xo_field *f)
{
	const char *tag;

	if (f->clen == 0 && f->fmt == NULL)
		return;
	if (f->role == 'T') {
		emit_title(xop, f);
	} else if (f->role == 'U') {
		xo_units(xop, f);
	} else {
		tag = f->role == 'E' ? "__error" :
		    f->role == 'W' ? "__warning" : NULL;
		xo_label(xop, tag, f->content, f->clen, f->fmt, f->flen,
		    f->flags);
	}
}

static void
emit_blank(xo_handle_t *xop)
{
	xo_label(xop, NULL, " ", 1, NULL, 0, 0);
}

static void
emit_field(xo_handle_t *xop, struct xo_field *f)
{
	if ((f->flags & XFF_ARGUMENT) != 0) {
		f->content = va_arg(xop->ap, const char *);
		f->clen = f->content == NULL ? 0 : strlen(f->content);
	}
	if ((f->role == 'N' || f->role == 'U') && (f->flags & XFF_WS) != 0) {
		emit_blank(xop);
		f->flags &= ~XFF_WS;
	}
	switch (f->role) {
	case 'V':
		emit_value(xop, f);
		break;
	case '[':
		xo_anchor_start(xop, f);
		break;
	case ']':
		xo_anchor_stop(xop, f);
		break;
	case 'C':
	case 'G':
		emit_nothing(xop, f);
		break;
	default:
		emit_label(xop, f);
	}
	if (f->role == 'G')
		return;
	if ((f->flags & XFF_COLON) != 0)
		xo_label(xop, NULL, ":", 1, NULL, 0, 0);
	if ((f->flags & XFF_WS) != 0)
		emit_blank(xop);
}

static int
emit_part(xo_handle_t *xop, struct xo_field *f)
{
	switch (f->role) {
	case XO_ROLE_NEWLINE:
		if (!xop->style->encodes)
			xo_buf_append(&xop->data, "\n", 1);
		if ((xop->flags & XOF_FLUSH_LINE) != 0 &&
		    xo_flush_h(xop) < 0)
			return (-1);
		break;
	case XO_ROLE_TEXT:
	case XO_ROLE_BRACES:
		xo_plain(xop, f->content, f->clen);
		break;
	default:
		emit_field(xop, f);
	}
	return (0);
}

static ssize_t
emit_done(xo_handle_t *xop)
{
	if (((xop->flags & XOF_FLUSH) != 0 ||
	    xop->data.len > XO_HIGH_WATER) && xop->write != NULL &&
	    (xop->iflags & XOIF_ANCHOR) == 0 && xo_flush_h(xop) < 0)
		return (-1);
	return (xop->columns);
}

xo_ssize_t
xo_emit_hv(xo_handle_t *xop, const char *fmt, va_list ap)
{
	struct xo_field f;
	const char *p;
	int error, rc;

	error = errno;
	xop = xo_default(xop);
	if (!xo_frames_reserve(xop, xop->depth))
		return (-1);
	xop->columns = 0;
	xop->error = error;
	if (fmt == NULL)
		return (0);
	if (!well_formed(xop, fmt))
		return (-1);
	va_copy(xop->ap, ap);
	for (p = fmt, rc = 0; rc == 0 && *p != '\0';) {
		p = xo_format_next(xop, p, &f);
		rc = emit_part(xop, &f);
	}
	va_end(xop->ap);
	return (rc < 0 ? -1 : emit_done(xop));
}

xo_ssize_t
xo_emit_h(xo_handle_t *xop, const char *fmt, ...)
{
	xo_ssize_t rc;
	va_list ap;

	va_start(ap, fmt);
	rc = xo_emit_hv(xop, fmt, ap);
	va_end(ap);
	return (rc);
}

xo_ssize_t
xo_emit(const char *fmt, ...)
{
	xo_ssize_t rc;
	va_list ap;

	va_start(ap, fmt);
	rc = xo_emit_hv(NULL, fmt, ap);
	va_end(ap);
	return (rc);
}

xo_ssize_t
xo_emit_hvf(xo_handle_t *xop, xo_emit_flags_t flags, const char *fmt,
    va_list ap)
{
	(void)flags;
	return (xo_emit_hv(xop, fmt, ap));
}

xo_ssize_t
xo_emit_hf(xo_handle_t *xop, xo_emit_flags_t flags, const char *fmt, ...)
{
	xo_ssize_t rc;
	va_list ap;

	va_start(ap, fmt);
	rc = xo_emit_hvf(xop, flags, fmt, ap);
	va_end(ap);
	return (rc);
}

xo_ssize_t
xo_emit_f(xo_emit_flags_t flags, const char *fmt, ...)
{
	xo_ssize_t rc;
	va_list ap;

	va_start(ap, fmt);
	rc = xo_emit_hvf(NULL, flags, fmt, ap);
	va_end(ap);
	return (rc);
}

xo_ssize_t
xo_emit_field_hv(xo_handle_t *xop, const char *rolmod, const char *contents,
    const char *fmt, const char *efmt, va_list ap)
{
	struct xo_field f;

	xop = xo_default(xop);
	if (!xo_frames_reserve(xop, xop->depth))
		return (-1);
	memset(&f, 0, sizeof(f));
	if (xo_format_roles(xop, rolmod == NULL ? "V" : rolmod, &f) == NULL)
		return (-1);
	if (fmt == NULL && contents != NULL &&
	    xo_role_has_default_format(f.role))
		fmt = "%s";
	f.content = contents;
	f.clen = contents == NULL ? 0 : strlen(contents);
	f.fmt = fmt;
	f.flen = fmt == NULL ? 0 : strlen(fmt);
	f.enc = efmt;
	f.elen = efmt == NULL ? 0 : strlen(efmt);
	va_copy(xop->ap, ap);
	emit_field(xop, &f);
	va_end(xop->ap);
	return (emit_done(xop));
}

xo_ssize_t
xo_emit_field_h(xo_handle_t *xop, const char *rolmod, const char *contents,
    const char *fmt, const char *efmt, ...)
{
	xo_ssize_t rc;
	va_list ap;

	va_start(ap, efmt);
	rc = xo_emit_field_hv(xop, rolmod, contents, fmt, efmt, ap);
	va_end(ap);
	return (rc);
}

xo_ssize_t
xo_emit_field(const char *rolmod, const char *contents, const char *fmt,
    const char *efmt, ...)
{
	xo_ssize_t rc;
	va_list ap;

	va_start(ap, efmt);
	rc = xo_emit_field_hv(NULL, rolmod, contents, fmt, efmt, ap);
	va_end(ap);
	return (rc);
}

xo_ssize_t
xo_attr_h(xo_handle_t *xop, const char *name, const char *fmt, ...)
{
	xo_ssize_t rc;
	va_list ap;

	va_start(ap, fmt);
	rc = xo_attr_hv(xop, name, fmt, ap);
	va_end(ap);
	return (rc);
}

xo_ssize_t
xo_attr(const char *name, const char *fmt, ...)
{
	xo_ssize_t rc;
	va_list ap;

	va_start(ap, fmt);
	rc = xo_attr_hv(NULL, name, fmt, ap);
	va_end(ap);
	return (rc);
}
