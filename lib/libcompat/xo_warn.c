/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Messages to people: warnings and errors on standard error, messages inside
 * the document, and the complaints about wrong calls that XOF_WARN asks for.
 */

#include <string.h>

#include "xo_internal.h"

/* A message as it stands in the document with XOF_WARN_XML. */
static void
warn_inside(xo_handle_t *xop, const char *s, size_t n, int code)
{
	xo_buf_str(&xop->data, "<error><message>");
	xo_style_xml.escape(&xop->data, s, n);
	xo_buf_str(&xop->data, "</message></error>");
	if (code >= 0)
		xo_buf_printf(&xop->data, ": %s", strerror(code));
	xo_buf_append(&xop->data, "\n", 1);
	(void)xo_flush_h(xop);
}

static void XO_PRINTF(3, 0)
warn_hcv(xo_handle_t *xop, int code, const char *fmt, va_list ap)
{
	struct xo_buf b = { 0 };

	if (fmt == NULL)
		return;
	xop = xo_default(xop);
	if (xo_program() != NULL && *xo_program() != '\0')
		xo_buf_printf(&b, "%s: ", xo_program());
	xo_buf_vprintf(&b, fmt, ap);
	if ((xop->flags & XOF_WARN_XML) != 0)
		warn_inside(xop, b.data, b.len, code);
	else if (code >= 0)
		fprintf(stderr, "%s: %s\n", xo_buf_cstr(&b), strerror(code));
	else
		fprintf(stderr, "%s\n", xo_buf_cstr(&b));
	xo_buf_free(&b);
}

void
xo_failure(xo_handle_t *xop, const char *fmt, ...)
{
	va_list ap;

	if ((xop->flags & XOF_WARN) == 0)
		return;
	va_start(ap, fmt);
	warn_hcv(xop, -1, fmt, ap);
	va_end(ap);
}

void
xo_warn_hc(xo_handle_t *xop, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	warn_hcv(xop, code, fmt, ap);
	va_end(ap);
}

void
xo_warn_c(int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	warn_hcv(NULL, code, fmt, ap);
	va_end(ap);
}

void
xo_warn(const char *fmt, ...)
{
	int code = errno;
	va_list ap;

	va_start(ap, fmt);
	warn_hcv(NULL, code, fmt, ap);
	va_end(ap);
}

void
xo_warnx(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	warn_hcv(NULL, -1, fmt, ap);
	va_end(ap);
}

void
xo_err(int eval, const char *fmt, ...)
{
	int code = errno;
	va_list ap;

	va_start(ap, fmt);
	warn_hcv(NULL, code, fmt, ap);
	va_end(ap);
	(void)xo_finish();
	exit(eval);
}

void
xo_errx(int eval, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	warn_hcv(NULL, -1, fmt, ap);
	va_end(ap);
	(void)xo_finish();
	exit(eval);
}

void
xo_errc(int eval, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	warn_hcv(NULL, code, fmt, ap);
	va_end(ap);
	(void)xo_finish();
	exit(eval);
}

void
xo_errorn_hv(xo_handle_t *xop, int need_newline, const char *fmt, va_list ap)
{
	struct xo_buf b = { 0 };
	struct xo_value v;
	size_t n;

	xop = xo_default(xop);
	n = strlen(fmt);
	if (!xop->style->encodes) {
		xo_buf_vprintf(&b, fmt, ap);
		if (need_newline && n > 0 && fmt[n - 1] != '\n')
			xo_buf_append(&b, "\n", 1);
		fputs(xo_buf_cstr(&b), stderr);
		xo_buf_free(&b);
		return;
	}
	xo_buf_append(&b, fmt, n);
	if (need_newline && n > 0 && fmt[n - 1] != '\n')
		xo_buf_append(&b, "\n", 1);
	memset(&v, 0, sizeof(v));
	v.name = "message";
	v.nlen = strlen(v.name);
	v.fmt = xo_buf_cstr(&b);
	v.flen = b.len;
	va_copy(xop->ap, ap);
	(void)xo_open_container_h(xop, "error");
	xo_value(xop, &v);
	(void)xo_close_container_h(xop, "error");
	va_end(xop->ap);
	xo_buf_free(&b);
}

void
xo_error_hv(xo_handle_t *xop, const char *fmt, va_list ap)
{
	xo_errorn_hv(xop, 0, fmt, ap);
}

void
xo_error_h(xo_handle_t *xop, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	xo_errorn_hv(xop, 0, fmt, ap);
	va_end(ap);
}

void
xo_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	xo_errorn_hv(NULL, 0, fmt, ap);
	va_end(ap);
}

void
xo_errorn_h(xo_handle_t *xop, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	xo_errorn_hv(xop, 1, fmt, ap);
	va_end(ap);
}

void
xo_errorn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	xo_errorn_hv(NULL, 1, fmt, ap);
	va_end(ap);
}

void
xo_message_hcv(xo_handle_t *xop, int code, const char *fmt, va_list ap)
{
	struct xo_buf b = { 0 };

	if (fmt == NULL || *fmt == '\0')
		return;
	xop = xo_default(xop);
	xo_buf_vprintf(&b, fmt, ap);
	xop->style->message(xop, xo_buf_cstr(&b), b.len,
	    fmt[strlen(fmt) - 1] != '\n', code);
	xo_buf_free(&b);
	(void)xo_flush_h(xop);
}

void
xo_message_hc(xo_handle_t *xop, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	xo_message_hcv(xop, code, fmt, ap);
	va_end(ap);
}

void
xo_message_c(int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	xo_message_hcv(NULL, code, fmt, ap);
	va_end(ap);
}

void
xo_message_e(const char *fmt, ...)
{
	int code = errno;
	va_list ap;

	va_start(ap, fmt);
	xo_message_hcv(NULL, code, fmt, ap);
	va_end(ap);
}

void
xo_message(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	xo_message_hcv(NULL, 0, fmt, ap);
	va_end(ap);
}
