/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of the xo(3) subset share: the handle, its buffer and
 * stack, a parsed field, and the table of functions that is a style.
 * Nothing outside libcompat includes this.
 */

#ifndef XO_INTERNAL_H
#define	XO_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <libxo/xo.h>

#define	XO_PRINTF(f, a)	__attribute__((__format__(__printf__, f, a)))

/* A field wider than this is a mistake; it is clamped. */
#define	XO_WIDTH_MAX	8192

/* Pending output that xo_emit writes without being told to. */
#define	XO_HIGH_WATER	(8192 - 512)

/* The name of something that was opened without one. */
#define	XO_NONAME	"failure"

/*
 * A growing string of bytes.  Zeroed memory is an empty one.  When memory
 * runs out, what does not fit is dropped, as xo(3) does.
 */
struct xo_buf {
	char	*data;
	size_t	 len;
	size_t	 cap;
};

/* Make room for n more bytes and a NUL; NULL when out of memory. */
char	*xo_buf_reserve(struct xo_buf *, size_t n);
void	 xo_buf_append(struct xo_buf *, const char *, size_t);
void	 xo_buf_str(struct xo_buf *, const char *);
void	 xo_buf_fill(struct xo_buf *, char, size_t n);
void	 xo_buf_vprintf(struct xo_buf *, const char *, va_list)
	    XO_PRINTF(2, 0);
void	 xo_buf_printf(struct xo_buf *, const char *, ...) XO_PRINTF(2, 3);
/* Move everything from tail on to position at. */
void	 xo_buf_rotate(struct xo_buf *, size_t at, size_t tail);
/* The bytes, NUL-terminated; never NULL. */
const char *xo_buf_cstr(struct xo_buf *);
void	 xo_buf_free(struct xo_buf *);

/* Flags of a field (modifiers), and of how one is being rendered. */
#define	XFF_COLON		0x00001u
#define	XFF_WS			0x00002u
#define	XFF_ENCODE_ONLY		0x00004u
#define	XFF_DISPLAY_ONLY	0x00008u
#define	XFF_QUOTE		0x00010u
#define	XFF_NOQUOTE		0x00020u
#define	XFF_KEY			0x00040u
#define	XFF_LEAF_LIST		0x00080u
#define	XFF_TRIM		0x00100u
#define	XFF_HUMANIZE		0x00200u
#define	XFF_HN_SPACE		0x00400u
#define	XFF_HN_DECIMAL		0x00800u
#define	XFF_HN_1000		0x01000u
#define	XFF_PLURAL		0x02000u
#define	XFF_GETTEXT		0x04000u
#define	XFF_ARGUMENT		0x08000u
#define	XFF_COMMA		0x10000u
#define	XFF_MUTE		0x20000u	/* take arguments only */
#define	XFF_UNESCAPE		0x40000u	/* undo \x and %% */

/* Roles that have no letter in a format. */
#define	XO_ROLE_TEXT		'+'
#define	XO_ROLE_BRACES		'{'
#define	XO_ROLE_NEWLINE		'\n'

/* A part of a format string; pointers point into that string. */
struct xo_field {
	int		 role;
	unsigned	 flags;
	const char	*content;
	size_t		 clen;
	const char	*fmt;		/* NULL: none */
	size_t		 flen;
	const char	*enc;		/* NULL: none */
	size_t		 elen;
};

/* States of the stack, and what a caller may want to do. */
enum xo_kind {
	XO_INIT, XO_CONTAINER, XO_LIST, XO_INSTANCE, XO_LEAF_LIST, XO_MARKER,
	XO_KINDS
};
enum xo_want {
	XO_OPEN_CONTAINER, XO_CLOSE_CONTAINER, XO_OPEN_LIST, XO_CLOSE_LIST,
	XO_OPEN_INSTANCE, XO_CLOSE_INSTANCE, XO_EMIT, XO_EMIT_LEAF_LIST,
	XO_WANTS
};

#define	XSF_NOT_FIRST		0x01u	/* a comma comes before the next */
#define	XSF_DTRT		0x02u	/* may be closed without a name */
#define	XSF_EMIT		0x04u	/* a value was written */
#define	XSF_EMIT_KEY		0x08u	/* a key was written */
#define	XSF_EMIT_LEAF_LIST	0x10u	/* a leaf-list was written */
#define	XSF_MARKER_FLAGS	(XSF_NOT_FIRST | XSF_EMIT | XSF_EMIT_KEY | \
				    XSF_EMIT_LEAF_LIST)

struct xo_frame {
	enum xo_kind	 kind;
	unsigned	 flags;
	char		*name;
};

/* A value on its way to a style: a name, and text or a format for it. */
struct xo_value {
	const char	*name;
	size_t		 nlen;
	const char	*text;
	size_t		 tlen;
	const char	*fmt;
	size_t		 flen;
	const char	*enc;
	size_t		 elen;
	unsigned	 flags;
};

/*
 * A style of output.  The core calls these and never asks which style it
 * has; xo_styles in xo_handle.c is the list of them.
 */
struct xo_style {
	const char	*name;
	xo_style_t	 id;
	bool		 encodes;	/* for programs, not for people */
	unsigned	 indents;	/* bit per xo_kind that indents */
	void	(*escape)(struct xo_buf *, const char *, size_t);
	/* Write what opens or closes a kind; the stack is the core's work. */
	void	(*open)(xo_handle_t *, enum xo_kind, const char *name);
	void	(*close)(xo_handle_t *, enum xo_kind, const char *name,
		    bool had_items);
	void	(*value)(xo_handle_t *, const struct xo_value *);
	/* A message that already is text; code > 0 adds strerror(3). */
	void	(*message)(xo_handle_t *, const char *, size_t, bool newline,
		    int code);
	void	(*version)(xo_handle_t *, const char *);
	void	(*finish)(xo_handle_t *);
};

extern const struct xo_style xo_style_text;
extern const struct xo_style xo_style_xml;
extern const struct xo_style xo_style_json;

/* Internal flags of a handle. */
#define	XOIF_TOP_EMITTED	0x01u	/* JSON's outermost brace is out */
#define	XOIF_ANCHOR		0x02u	/* between {[:} and {]:} */
#define	XOIF_UNITS_PENDING	0x04u	/* units_at is valid */
#define	XOIF_MADE_OUTPUT	0x08u

struct xo_handle_s {
	xo_xof_flags_t		 flags;
	unsigned		 iflags;
	const struct xo_style	*style;
	unsigned		 indent;
	unsigned		 indent_by;
	xo_write_func_t		 write;
	xo_close_func_t		 close;
	xo_flush_func_t		 flush;
	void			*opaque;
	struct xo_buf		 data;		/* output not yet written */
	struct xo_buf		 attrs;		/* for the next XML element */
	struct xo_frame		*stack;
	size_t			 depth;		/* index of the top frame */
	size_t			 frames;	/* allocated */
	va_list			 ap;		/* arguments of this emit */
	int			 error;		/* errno, for %m */
	ssize_t			 columns;
	size_t			 anchor_at;
	ssize_t			 anchor_columns;
	ssize_t			 anchor_width;
	size_t			 units_at;
	char			*version;
};

#define	XO_PRETTY(xop)	(((xop)->flags & XOF_PRETTY) != 0)
#define	XO_TOP(xop)	(&(xop)->stack[(xop)->depth])

/* xo_handle.c */
xo_handle_t	*xo_default(xo_handle_t *);
bool		 xo_handle_init(xo_handle_t *);
void		 xo_handle_fini(xo_handle_t *);
const struct xo_style *xo_style_by_name(const char *);
/* A complaint about a wrong call, shown only with XOF_WARN. */
void		 xo_failure(xo_handle_t *, const char *, ...) XO_PRINTF(2, 3);
void		 xo_indent(xo_handle_t *);
void		 xo_count_columns(xo_handle_t *, ssize_t);
const char	*xo_program(void);

/* xo_options.c */
/* What LIBXO_OPTIONS may say: flags that change no data. */
void		 xo_set_environment(xo_handle_t *, const char *);

/* xo_format.c */
/*
 * Parse the part of a format string at p into *f and return where the next
 * part starts, or NULL when the format is malformed.  *p must not be NUL.
 */
const char	*xo_format_next(xo_handle_t *, const char *p,
		    struct xo_field *f);
/* Roles and modifiers alone; returns where they end, or NULL. */
const char	*xo_format_roles(xo_handle_t *, const char *p,
		    struct xo_field *f);
bool		 xo_role_has_default_format(int role);
/* Is this one plain numeric conversion, which JSON need not quote? */
bool		 xo_format_is_numeric(const char *fmt, size_t len);

/* xo_conv.c */
/*
 * Render a printf-like format with the handle's arguments into buf, escaped
 * for the handle's style.  Returns -1 when the format is not supported.
 */
int		 xo_conv(xo_handle_t *, struct xo_buf *, const char *fmt,
		    size_t flen, unsigned flags);
/* Render it with one string as the argument, widths counted in bytes. */
void		 xo_conv_fixed(xo_handle_t *, struct xo_buf *,
		    const char *fmt, size_t flen, const char *str, size_t n);

/* xo_string.c */
enum xo_enc { XO_ENC_UTF8, XO_ENC_LOCALE, XO_ENC_WIDE };
struct xo_string {
	enum xo_enc	 enc;
	const char	*s;		/* unless wide */
	const wchar_t	*w;
	ssize_t		 size;		/* bytes to look at; < 0: to the NUL */
	int		 max;		/* columns to write; <= 0: any */
};
enum xo_enc	 xo_encoding(xo_handle_t *);
/* Convert, escape and append; returns columns, or -1 on invalid UTF-8. */
int		 xo_string(xo_handle_t *, struct xo_buf *,
		    const struct xo_string *, unsigned flags);
/* Append text of the format itself: undo escapes, count columns. */
void		 xo_content(xo_handle_t *, const char *, size_t,
		    unsigned flags);
/* Append text outside of fields. */
void		 xo_plain(xo_handle_t *, const char *, size_t);

/* xo_utf8.c */
/* Length by the first byte (1 to 4), or -1. */
int		 xo_utf8_len(unsigned char);
/* Decode n bytes; -1 when a continuation byte is none. */
int32_t		 xo_utf8_get(const char *, int n);
/* Encode into 4 bytes of room; returns the length, 0 if it has none. */
size_t		 xo_utf8_put(char *, int32_t);
/* Columns a character takes, -1 for control characters. */
int		 xo_width(int32_t);

/* xo_locale_posix.c, xo_locale_windows.c */
#define	XO_LOCALE_MAX	16
void		 xo_locale_init(void);
/* As wcrtomb(3) and mbrtowc(3), without state; <= 0 on failure. */
int		 xo_locale_put(char dst[XO_LOCALE_MAX], int32_t);
int		 xo_locale_get(int32_t *, const char *, size_t);

/* xo_humanize.c */
void		 xo_humanize(struct xo_buf *, size_t from, unsigned flags);

/* xo_value.c */
/* Text if there is any, else the format with the handle's arguments. */
void		 xo_simple(xo_handle_t *, bool mute, const char *text,
		    size_t tlen, const char *fmt, size_t flen, unsigned);
/* Make the stack ready for a value and hand it to the style. */
void		 xo_value(xo_handle_t *, struct xo_value *);
/* Choose the format for an encoding style; widths go away. */
void		 xo_value_encoding(struct xo_value *, struct xo_buf *scratch);
/* A label or the like; with a tag, encoding styles make it a container. */
void		 xo_label(xo_handle_t *, const char *tag, const char *text,
		    size_t tlen, const char *fmt, size_t flen, unsigned);

/* xo_anchor.c */
void		 xo_anchor_clear(xo_handle_t *);
void		 xo_anchor_start(xo_handle_t *, const struct xo_field *);
void		 xo_anchor_stop(xo_handle_t *, const struct xo_field *);
void		 xo_units(xo_handle_t *, const struct xo_field *);

/* xo_stack.c */
ssize_t		 xo_transition(xo_handle_t *, xo_xof_flags_t,
		    const char *name, enum xo_want);
void		 xo_close_all(xo_handle_t *);
void		 xo_note_not_first(xo_handle_t *);
bool		 xo_frames_reserve(xo_handle_t *, size_t);

#endif /* XO_INTERNAL_H */
