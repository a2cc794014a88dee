/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * xo(3) for hosts that lack it: the part of FreeBSD's libxo that writes text,
 * JSON and XML.  Same names, same arguments, same bytes on the output; code
 * written against this header links FreeBSD's library unchanged.
 *
 * What the real library has and this one has not: the HTML, SDPARAMS and
 * encoder styles, colors (a {C:} field is accepted and ignored), gettext
 * (plurals work), retained formats, custom formatters and allocators, syslog.
 *
 * A NULL handle, and every function without "_h", means the default handle,
 * of which each thread has its own; it writes to standard output.  A handle
 * may be used by one thread at a time.  Format strings must be constants of
 * the program: as with printf(3), a wrong one reads arguments that are not
 * there.  A format that cannot be parsed writes nothing and returns -1.
 *
 * xo(3) leaves control characters other than CR and LF as they are in JSON
 * and XML strings; who prints bytes from elsewhere must clean them first.
 */

#ifndef COMPAT_LIBXO_XO_H
#define	COMPAT_LIBXO_XO_H

#include <sys/types.h>

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* This header is the subset, not FreeBSD's own. */
#define	COMPAT_XO	1

#define	COMPAT_XO_DEAD		__attribute__((__noreturn__))
#define	COMPAT_XO_PRINTF(f, a)	__attribute__((__format__(__printf__, f, a)))

/* Styles of output. */
typedef unsigned short xo_style_t;
#define	XO_STYLE_TEXT		0
#define	XO_STYLE_XML		1
#define	XO_STYLE_JSON		2

/* Flags of a handle; the numbers are those of the real library. */
typedef unsigned long long xo_xof_flags_t;
#define	XOF_BIT(n)		((xo_xof_flags_t)1 << (n))
#define	XOF_CLOSE_FP		XOF_BIT(0)	/* xo_destroy closes the file */
#define	XOF_PRETTY		XOF_BIT(1)	/* indent, one item a line */
#define	XOF_WARN		XOF_BIT(4)	/* complain of wrong calls */
#define	XOF_WARN_XML		XOF_BIT(7)	/* ... inside the document */
#define	XOF_NO_ENV		XOF_BIT(8)	/* ignore LIBXO_OPTIONS */
#define	XOF_DTRT		XOF_BIT(10)	/* remember names for closing */
#define	XOF_KEYS		XOF_BIT(11)	/* mark keys in XML */
#define	XOF_IGNORE_CLOSE	XOF_BIT(12)	/* close nothing in peace */
#define	XOF_NOT_FIRST		XOF_BIT(13)	/* a comma comes next */
#define	XOF_NO_LOCALE		XOF_BIT(14)	/* plain text stays UTF-8 */
#define	XOF_NO_TOP		XOF_BIT(16)	/* no outermost JSON braces */
#define	XOF_UNITS		XOF_BIT(18)	/* units as XML attributes */
#define	XOF_UNDERSCORES		XOF_BIT(20)	/* '-' to '_' in JSON names */
#define	XOF_COLUMNS		XOF_BIT(21)	/* xo_emit returns columns */
#define	XOF_FLUSH		XOF_BIT(22)	/* flush after each call */
#define	XOF_FLUSH_LINE		XOF_BIT(23)	/* flush after each line */
#define	XOF_NO_CLOSE		XOF_BIT(24)	/* xo_finish closes nothing */
#define	XOF_NO_HUMANIZE		XOF_BIT(27)	/* ignore the 'h' modifier */
#define	XOF_UTF8		XOF_BIT(29)	/* text is always UTF-8 */

typedef unsigned xo_emit_flags_t;
#define	XOEF_RETAIN		(1 << 0)	/* accepted, no effect */

/* What "program --libxo-check" exits with. */
#define	XO_HAS_LIBXO		121

typedef struct xo_handle_s xo_handle_t;
typedef ssize_t xo_ssize_t;

/* A writer gets its opaque pointer and a NUL-terminated string. */
typedef xo_ssize_t (*xo_write_func_t)(void *, const char *);
typedef void (*xo_close_func_t)(void *);
typedef int (*xo_flush_func_t)(void *);

/*
 * Handles.
 *
 * xo_create and xo_create_to_file return NULL when out of memory.  A new
 * handle writes to standard output, or to fp, which stays the caller's unless
 * XOF_CLOSE_FP is given.  xo_destroy writes what is pending; with NULL the
 * default handle starts afresh.
 */
xo_handle_t	*xo_create(xo_style_t style, xo_xof_flags_t flags);
xo_handle_t	*xo_create_to_file(FILE *fp, xo_style_t style,
		    xo_xof_flags_t flags);
void		 xo_destroy(xo_handle_t *xop);
void		 xo_set_writer(xo_handle_t *xop, void *opaque,
		    xo_write_func_t write_func, xo_close_func_t close_func,
		    xo_flush_func_t flush_func);
int		 xo_set_file_h(xo_handle_t *xop, FILE *fp);
int		 xo_set_file(FILE *fp);
void		 xo_set_style(xo_handle_t *xop, xo_style_t style);
xo_style_t	 xo_get_style(xo_handle_t *xop);
int		 xo_set_style_name(xo_handle_t *xop, const char *style);
void		 xo_set_flags(xo_handle_t *xop, xo_xof_flags_t flags);
void		 xo_clear_flags(xo_handle_t *xop, xo_xof_flags_t flags);
xo_xof_flags_t	 xo_get_flags(xo_handle_t *xop);

/* Do not call setlocale(3) when the first handle is made. */
void		 xo_no_setlocale(void);

/*
 * Options: "json,pretty", "xml,indent=4", or one letter each, ":JP".
 * xo_set_options returns -1 on an unknown one.  xo_parse_args takes every
 * "--libxo ..." out of argv, applies it to the default handle and returns
 * the new argc, or -1 after a message on standard error.
 */
int		 xo_set_options(xo_handle_t *xop, const char *input);
int		 xo_parse_args(int argc, char **argv);

/* The name that messages start with; kept by reference. */
void		 xo_set_program(const char *name);

/* A version of the data, put at the top of XML and JSON documents. */
void		 xo_set_version_h(xo_handle_t *xop, const char *version);
void		 xo_set_version(const char *version);

/*
 * Emit fields.
 *
 * fmt is text with fields "{modifiers:content/print-format/encode-format}".
 * Roles: V value (the default; content is its name), T title, L label,
 * D decoration, P padding, N note, U units, E error, W warning, C color,
 * G gettext domain, [ and ] anchors.  Modifiers: a content is an argument,
 * c colon, d display styles only, e encoding styles only, h humanize, k key,
 * l leaf-list, n no quotes, q quotes, p plural, t trim, w blank; long names
 * follow a comma ("{k,no-quote:name}").  "{{x}}" prints "{x}".
 *
 * They return -1 on error, otherwise the columns if XOF_COLUMNS is set.
 */
xo_ssize_t	xo_emit_hv(xo_handle_t *xop, const char *fmt, va_list vap);
xo_ssize_t	xo_emit_h(xo_handle_t *xop, const char *fmt, ...);
xo_ssize_t	xo_emit(const char *fmt, ...);
xo_ssize_t	xo_emit_hvf(xo_handle_t *xop, xo_emit_flags_t flags,
		    const char *fmt, va_list vap);
xo_ssize_t	xo_emit_hf(xo_handle_t *xop, xo_emit_flags_t flags,
		    const char *fmt, ...);
xo_ssize_t	xo_emit_f(xo_emit_flags_t flags, const char *fmt, ...);

/* One field, its parts given apart; any of them may be NULL. */
xo_ssize_t	xo_emit_field_hv(xo_handle_t *xop, const char *rolmod,
		    const char *contents, const char *fmt, const char *efmt,
		    va_list vap);
xo_ssize_t	xo_emit_field_h(xo_handle_t *xop, const char *rolmod,
		    const char *contents, const char *fmt, const char *efmt,
		    ...);
xo_ssize_t	xo_emit_field(const char *rolmod, const char *contents,
		    const char *fmt, const char *efmt, ...);

/*
 * Containers, lists and their instances.  The "_d" variants remember the
 * name, so that closing needs none.  A close that skips levels closes them.
 */
xo_ssize_t	xo_open_container_hf(xo_handle_t *xop, xo_xof_flags_t flags,
		    const char *name);
xo_ssize_t	xo_open_container_h(xo_handle_t *xop, const char *name);
xo_ssize_t	xo_open_container(const char *name);
xo_ssize_t	xo_open_container_hd(xo_handle_t *xop, const char *name);
xo_ssize_t	xo_open_container_d(const char *name);
xo_ssize_t	xo_close_container_h(xo_handle_t *xop, const char *name);
xo_ssize_t	xo_close_container(const char *name);
xo_ssize_t	xo_close_container_hd(xo_handle_t *xop);
xo_ssize_t	xo_close_container_d(void);

xo_ssize_t	xo_open_list_hf(xo_handle_t *xop, xo_xof_flags_t flags,
		    const char *name);
xo_ssize_t	xo_open_list_h(xo_handle_t *xop, const char *name);
xo_ssize_t	xo_open_list(const char *name);
xo_ssize_t	xo_open_list_hd(xo_handle_t *xop, const char *name);
xo_ssize_t	xo_open_list_d(const char *name);
xo_ssize_t	xo_close_list_h(xo_handle_t *xop, const char *name);
xo_ssize_t	xo_close_list(const char *name);
xo_ssize_t	xo_close_list_hd(xo_handle_t *xop);
xo_ssize_t	xo_close_list_d(void);

xo_ssize_t	xo_open_instance_hf(xo_handle_t *xop, xo_xof_flags_t flags,
		    const char *name);
xo_ssize_t	xo_open_instance_h(xo_handle_t *xop, const char *name);
xo_ssize_t	xo_open_instance(const char *name);
xo_ssize_t	xo_open_instance_hd(xo_handle_t *xop, const char *name);
xo_ssize_t	xo_open_instance_d(const char *name);
xo_ssize_t	xo_close_instance_h(xo_handle_t *xop, const char *name);
xo_ssize_t	xo_close_instance(const char *name);
xo_ssize_t	xo_close_instance_hd(xo_handle_t *xop);
xo_ssize_t	xo_close_instance_d(void);

/* A marker keeps closes from reaching below it. */
xo_ssize_t	xo_open_marker_h(xo_handle_t *xop, const char *name);
xo_ssize_t	xo_open_marker(const char *name);
xo_ssize_t	xo_close_marker_h(xo_handle_t *xop, const char *name);
xo_ssize_t	xo_close_marker(const char *name);

/* An attribute of the next XML element; nothing in other styles. */
xo_ssize_t	xo_attr_hv(xo_handle_t *xop, const char *name,
		    const char *fmt, va_list vap) COMPAT_XO_PRINTF(3, 0);
xo_ssize_t	xo_attr_h(xo_handle_t *xop, const char *name,
		    const char *fmt, ...) COMPAT_XO_PRINTF(3, 4);
xo_ssize_t	xo_attr(const char *name, const char *fmt, ...)
		    COMPAT_XO_PRINTF(2, 3);

/* Output is buffered until one of these.  xo_finish closes what is open. */
xo_ssize_t	xo_flush_h(xo_handle_t *xop);
xo_ssize_t	xo_flush(void);
xo_ssize_t	xo_finish_h(xo_handle_t *xop);
xo_ssize_t	xo_finish(void);
void		xo_finish_atexit(void);

/*
 * Messages.
 *
 * xo_warn, xo_err and kin are err(3) on standard error; the err ones finish
 * the document and exit.  xo_error is text on standard error, or an "error"
 * container in the document.  xo_message is part of the output.  The
 * xo_emit_warn family takes field formats, and puts a "__warning" or
 * "__error" container into the document.
 */
void	xo_warn_hc(xo_handle_t *xop, int code, const char *fmt, ...)
	    COMPAT_XO_PRINTF(3, 4);
void	xo_warn_c(int code, const char *fmt, ...) COMPAT_XO_PRINTF(2, 3);
void	xo_warn(const char *fmt, ...) COMPAT_XO_PRINTF(1, 2);
void	xo_warnx(const char *fmt, ...) COMPAT_XO_PRINTF(1, 2);
void	xo_err(int eval, const char *fmt, ...)
	    COMPAT_XO_DEAD COMPAT_XO_PRINTF(2, 3);
void	xo_errx(int eval, const char *fmt, ...)
	    COMPAT_XO_DEAD COMPAT_XO_PRINTF(2, 3);
void	xo_errc(int eval, int code, const char *fmt, ...)
	    COMPAT_XO_DEAD COMPAT_XO_PRINTF(3, 4);

void	xo_error_hv(xo_handle_t *xop, const char *fmt, va_list vap)
	    COMPAT_XO_PRINTF(2, 0);
void	xo_error_h(xo_handle_t *xop, const char *fmt, ...)
	    COMPAT_XO_PRINTF(2, 3);
void	xo_error(const char *fmt, ...) COMPAT_XO_PRINTF(1, 2);
void	xo_errorn_hv(xo_handle_t *xop, int need_newline, const char *fmt,
	    va_list vap) COMPAT_XO_PRINTF(3, 0);
void	xo_errorn_h(xo_handle_t *xop, const char *fmt, ...)
	    COMPAT_XO_PRINTF(2, 3);
void	xo_errorn(const char *fmt, ...) COMPAT_XO_PRINTF(1, 2);

void	xo_message_hcv(xo_handle_t *xop, int code, const char *fmt,
	    va_list vap) COMPAT_XO_PRINTF(3, 0);
void	xo_message_hc(xo_handle_t *xop, int code, const char *fmt, ...)
	    COMPAT_XO_PRINTF(3, 4);
void	xo_message_c(int code, const char *fmt, ...) COMPAT_XO_PRINTF(2, 3);
void	xo_message_e(const char *fmt, ...) COMPAT_XO_PRINTF(1, 2);
void	xo_message(const char *fmt, ...) COMPAT_XO_PRINTF(1, 2);

void	xo_emit_warn_hcv(xo_handle_t *xop, int as_warning, int code,
	    const char *fmt, va_list vap);
void	xo_emit_warn_hc(xo_handle_t *xop, int code, const char *fmt, ...);
void	xo_emit_warn_c(int code, const char *fmt, ...);
void	xo_emit_warn(const char *fmt, ...);
void	xo_emit_warnx(const char *fmt, ...);
void	xo_emit_err_v(int eval, int code, const char *fmt, va_list vap)
	    COMPAT_XO_DEAD;
void	xo_emit_err(int eval, const char *fmt, ...) COMPAT_XO_DEAD;
void	xo_emit_errx(int eval, const char *fmt, ...) COMPAT_XO_DEAD;
void	xo_emit_errc(int eval, int code, const char *fmt, ...)
	    COMPAT_XO_DEAD;

#ifdef __cplusplus
}
#endif

#endif /* COMPAT_LIBXO_XO_H */
