/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Warnings and errors with field formats: part of the document in every
 * style, as a "__warning" or "__error" container for programs.
 */

#include <string.h>

#include "xo_internal.h"

/* The message as text, as one value; its fields follow as values too. */
static void
emit_message(xo_handle_t *xop, const char *fmt, va_list ap)
{
	struct xo_handle_s text;
	struct xo_value v;

	memset(&text, 0, sizeof(text));
	if (!xo_handle_init(&text))
		return;
	/* The message stays in the buffer. */
	xo_set_writer(&text, NULL, NULL, NULL, NULL);
	text.flags = 0;
	(void)xo_emit_hv(&text, fmt, ap);
	memset(&v, 0, sizeof(v));
	v.name = "message";
	v.nlen = strlen(v.name);
	v.text = xo_buf_cstr(&text.data);
	v.tlen = text.data.len;
	xo_value(xop, &v);
	xo_handle_fini(&text);
}

void
xo_emit_warn_hcv(xo_handle_t *xop, int as_warning, int code, const char *fmt,
    va_list ap)
{
	va_list copy;
	size_t n;

	if (fmt == NULL)
		return;
	xop = xo_default(xop);
	(void)xo_open_marker_h(xop, "xo_emit_warn_hcv");
	(void)xo_open_container_h(xop, as_warning ? "__warning" : "__error");
	if (xo_program() != NULL)
		(void)xo_emit_h(xop, "{wc:program}", xo_program());
	if (xop->style->encodes) {
		va_copy(copy, ap);
		emit_message(xop, fmt, copy);
		va_end(copy);
	}
	(void)xo_emit_hv(xop, fmt, ap);
	n = strlen(fmt);
	if (n > 0 && fmt[n - 1] != '\n') {
		if (code > 0)
			(void)xo_emit_h(xop, ": {:error/%s}", strerror(code));
		(void)xo_emit_h(xop, "\n");
	}
	(void)xo_close_marker_h(xop, "xo_emit_warn_hcv");
	(void)xo_flush_h(xop);
}

void
xo_emit_warn_hc(xo_handle_t *xop, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	xo_emit_warn_hcv(xop, 1, code, fmt, ap);
	va_end(ap);
}

void
xo_emit_warn_c(int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	xo_emit_warn_hcv(NULL, 1, code, fmt, ap);
	va_end(ap);
}

void
xo_emit_warn(const char *fmt, ...)
{
	int code = errno;
	va_list ap;

	va_start(ap, fmt);
	xo_emit_warn_hcv(NULL, 1, code, fmt, ap);
	va_end(ap);
}

void
xo_emit_warnx(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	xo_emit_warn_hcv(NULL, 1, -1, fmt, ap);
	va_end(ap);
}

void
xo_emit_err_v(int eval, int code, const char *fmt, va_list ap)
{
	xo_emit_warn_hcv(NULL, 0, code, fmt, ap);
	(void)xo_finish();
	exit(eval);
}

void
xo_emit_err(int eval, const char *fmt, ...)
{
	int code = errno;
	va_list ap;

	va_start(ap, fmt);
	xo_emit_err_v(eval, code, fmt, ap);
}

void
xo_emit_errx(int eval, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	xo_emit_err_v(eval, -1, fmt, ap);
}

void
xo_emit_errc(int eval, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	xo_emit_err_v(eval, code, fmt, ap);
}
