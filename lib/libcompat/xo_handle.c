/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Handles: making and ending them, where they write to, their style and
 * flags.  The default handle of each thread and the program's name are the
 * only state here that no caller holds; xo(3) is made that way.
 */

#include <string.h>
#include <unistd.h>

#include "xo_internal.h"

static const struct xo_style *const styles[] = {
	&xo_style_text,
	&xo_style_xml,
	&xo_style_json,
};
#define	NSTYLES	(sizeof(styles) / sizeof(styles[0]))

static _Thread_local struct xo_handle_s default_handle;
static _Thread_local bool default_ready;
static const char *program;
static bool locale_ready;

static xo_ssize_t
file_write(void *fp, const char *s)
{
	return (fputs(s, fp) == EOF ? -1 : (xo_ssize_t)strlen(s));
}

static void
file_close(void *fp)
{
	(void)fclose(fp);
}

static int
file_flush(void *fp)
{
	return (fflush(fp));
}

bool
xo_handle_init(xo_handle_t *xop)
{
	if (!locale_ready) {
		locale_ready = true;
		xo_locale_init();
	}
	xop->style = &xo_style_text;
	xop->indent_by = 2;
	xop->opaque = stdout;
	xop->write = file_write;
	xop->flush = file_flush;
	if (isatty(fileno(stdout)))
		xop->flags |= XOF_FLUSH_LINE;
	return (xo_frames_reserve(xop, 0));
}

void
xo_handle_fini(xo_handle_t *xop)
{
	size_t i;

	for (i = 0; i < xop->frames; i++)
		free(xop->stack[i].name);
	free(xop->stack);
	free(xop->version);
	xo_buf_free(&xop->data);
	xo_buf_free(&xop->attrs);
}

xo_handle_t *
xo_default(xo_handle_t *xop)
{
	const char *env;

	if (xop != NULL)
		return (xop);
	if (!default_ready) {
		default_ready = true;
		(void)xo_handle_init(&default_handle);
		if ((default_handle.flags & XOF_NO_ENV) == 0 &&
		    (env = getenv("LIBXO_OPTIONS")) != NULL)
			xo_set_environment(&default_handle, env);
	}
	return (&default_handle);
}

xo_handle_t *
xo_create(xo_style_t style, xo_xof_flags_t flags)
{
	xo_handle_t *xop;

	if ((xop = calloc(1, sizeof(*xop))) == NULL)
		return (NULL);
	if (!xo_handle_init(xop)) {
		free(xop);
		return (NULL);
	}
	xop->flags |= flags;
	xo_set_style(xop, style);
	return (xop);
}

xo_handle_t *
xo_create_to_file(FILE *fp, xo_style_t style, xo_xof_flags_t flags)
{
	xo_handle_t *xop;

	if ((xop = xo_create(style, flags)) != NULL)
		(void)xo_set_file_h(xop, fp);
	return (xop);
}

void
xo_destroy(xo_handle_t *given)
{
	xo_handle_t *xop;

	xop = xo_default(given);
	(void)xo_flush_h(xop);
	if (xop->close != NULL && (xop->flags & XOF_CLOSE_FP) != 0)
		xop->close(xop->opaque);
	xo_handle_fini(xop);
	if (given == NULL) {
		memset(&default_handle, 0, sizeof(default_handle));
		default_ready = false;
	} else {
		free(xop);
	}
}

void
xo_set_writer(xo_handle_t *xop, void *opaque, xo_write_func_t write_func,
    xo_close_func_t close_func, xo_flush_func_t flush_func)
{
	xop = xo_default(xop);
	xop->opaque = opaque;
	xop->write = write_func;
	xop->close = close_func;
	xop->flush = flush_func;
}

int
xo_set_file_h(xo_handle_t *xop, FILE *fp)
{
	xop = xo_default(xop);
	if (fp == NULL) {
		xo_failure(xop, "no file to write to");
		return (-1);
	}
	xo_set_writer(xop, fp, file_write, file_close, file_flush);
	return (0);
}

int
xo_set_file(FILE *fp)
{
	return (xo_set_file_h(NULL, fp));
}

void
xo_set_style(xo_handle_t *xop, xo_style_t style)
{
	size_t i;

	xop = xo_default(xop);
	for (i = 0; i < NSTYLES; i++)
		if (styles[i]->id == style)
			xop->style = styles[i];
}

xo_style_t
xo_get_style(xo_handle_t *xop)
{
	return (xo_default(xop)->style->id);
}

const struct xo_style *
xo_style_by_name(const char *name)
{
	size_t i;

	for (i = 0; i < NSTYLES; i++)
		if (strcmp(styles[i]->name, name) == 0)
			return (styles[i]);
	return (NULL);
}

int
xo_set_style_name(xo_handle_t *xop, const char *name)
{
	const struct xo_style *style;

	if (name == NULL || (style = xo_style_by_name(name)) == NULL)
		return (-1);
	xo_default(xop)->style = style;
	return (0);
}

void
xo_set_flags(xo_handle_t *xop, xo_xof_flags_t flags)
{
	xo_default(xop)->flags |= flags;
}

void
xo_clear_flags(xo_handle_t *xop, xo_xof_flags_t flags)
{
	xo_default(xop)->flags &= ~flags;
}

xo_xof_flags_t
xo_get_flags(xo_handle_t *xop)
{
	return (xo_default(xop)->flags);
}

void
xo_no_setlocale(void)
{
	locale_ready = true;
}

void
xo_set_program(const char *name)
{
	program = name;
}

const char *
xo_program(void)
{
	return (program);
}

void
xo_set_version_h(xo_handle_t *xop, const char *version)
{
	xop = xo_default(xop);
	if (version != NULL && strchr(version, '"') == NULL)
		xop->style->version(xop, version);
}

void
xo_set_version(const char *version)
{
	xo_set_version_h(NULL, version);
}

void
xo_indent(xo_handle_t *xop)
{
	size_t n;

	if (!XO_PRETTY(xop))
		return;
	n = xop->indent;
	if ((xop->iflags & XOIF_TOP_EMITTED) != 0)
		n++;
	xo_buf_fill(&xop->data, ' ', n * xop->indent_by);
}

void
xo_count_columns(xo_handle_t *xop, ssize_t n)
{
	if ((xop->flags & XOF_COLUMNS) != 0)
		xop->columns += n;
	if ((xop->iflags & XOIF_ANCHOR) != 0)
		xop->anchor_columns += n;
}

xo_ssize_t
xo_flush_h(xo_handle_t *xop)
{
	xo_ssize_t rc;

	xop = xo_default(xop);
	rc = 0;
	if (xop->data.len > 0) {
		xo_anchor_clear(xop);
		if (xop->write != NULL)
			rc = xop->write(xop->opaque, xo_buf_cstr(&xop->data));
		xop->data.len = 0;
	}
	xop->iflags &= ~XOIF_UNITS_PENDING;
	if (rc >= 0 && xop->flush != NULL && xop->flush(xop->opaque) < 0)
		return (-1);
	return (rc);
}

xo_ssize_t
xo_flush(void)
{
	return (xo_flush_h(NULL));
}

xo_ssize_t
xo_finish_h(xo_handle_t *xop)
{
	xop = xo_default(xop);
	if ((xop->flags & XOF_NO_CLOSE) == 0)
		xo_close_all(xop);
	xop->style->finish(xop);
	return (xo_flush_h(xop));
}

xo_ssize_t
xo_finish(void)
{
	return (xo_finish_h(NULL));
}

void
xo_finish_atexit(void)
{
	(void)xo_finish_h(NULL);
}
