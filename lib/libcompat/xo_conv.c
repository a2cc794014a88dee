/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The printf-like formats inside of fields: each conversion is parsed, its
 * arguments are taken off the handle, and it is rendered by snprintf(3), or
 * by xo_string.c when it is a string.  %n is refused.
 */

#include <stddef.h>
#include <string.h>
#include <wchar.h>

#include "xo_internal.h"

/* Numbers in a conversion: %[width].[size].[max]s. */
enum { WIDTH, SIZE, MAX, NUMBERS };

enum length { L_INT, L_CHAR, L_SHORT, L_LONG, L_LLONG, L_MAX, L_PTR, L_SIZE,
	L_LDOUBLE };

struct spec {
	char		 flags[8];	/* of "-+ #0'" */
	int		 num[NUMBERS];	/* -1: not given */
	bool		 star[NUMBERS];
	enum length	 length;
	bool		 dot;		/* "%.f" is "%.0f" */
	char		 conv;
};

/* What a conversion took off the arguments. */
struct arg {
	enum { A_INT, A_UINT, A_DOUBLE, A_LDOUBLE, A_CHAR, A_WCHAR, A_PTR }
			 kind;
	union {
		intmax_t	 i;
		uintmax_t	 u;
		double		 d;
		long double	 ld;
		int		 c;
		wint_t		 wc;
		void		*p;
	} v;
};

static void
spec_flag(struct spec *sp, char c)
{
	size_t n;

	n = strlen(sp->flags);
	if (n + 1 < sizeof(sp->flags) && strchr(sp->flags, c) == NULL)
		sp->flags[n] = c;
}

static void
spec_digit(struct spec *sp, unsigned dots, char c)
{
	int *np = &sp->num[dots];

	if (dots == WIDTH && *np < 0 && c == '0') {
		spec_flag(sp, '0');
		return;
	}
	*np = (*np < 0 ? 0 : *np) * 10 + (c - '0');
	if (*np > XO_WIDTH_MAX)
		*np = XO_WIDTH_MAX;
}

static void
spec_length(struct spec *sp, char c)
{
	switch (c) {
	case 'h':
		sp->length = sp->length == L_SHORT ? L_CHAR : L_SHORT;
		break;
	case 'l':
		sp->length = sp->length == L_LONG ? L_LLONG : L_LONG;
		break;
	case 'q':
		sp->length = L_LLONG;
		break;
	case 'j':
		sp->length = L_MAX;
		break;
	case 't':
		sp->length = L_PTR;
		break;
	case 'z':
		sp->length = L_SIZE;
		break;
	case 'L':
		sp->length = L_LDOUBLE;
		break;
	}
}

/* "%@...@" is for others; a '*' inside takes an argument. */
static const char *
skip_at(xo_handle_t *xop, const char *p, const char *end)
{
	if (p >= end || *p != '@')
		return (p);
	for (p++; p < end && *p != '@'; p++)
		if (*p == '*')
			(void)va_arg(xop->ap, int);
	return (p < end ? p + 1 : p);
}

/*
 * Parse a conversion; p is past its '%'.  Returns past its last character,
 * or NULL when it has none or is not supported.
 */
static const char *
spec_parse(xo_handle_t *xop, struct spec *sp, const char *p, const char *end)
{
	unsigned dots;

	memset(sp, 0, sizeof(*sp));
	sp->num[WIDTH] = sp->num[SIZE] = sp->num[MAX] = -1;
	p = skip_at(xop, p, end);
	for (dots = 0; p < end && *p != '\0'; p++) {
		if (strchr("diouxXDOUeEfFgGaAcCsSpm", *p) != NULL) {
			sp->conv = *p;
			return (p + 1);
		}
		if (*p == 'n' || *p == 'v')
			break;
		if (*p >= '0' && *p <= '9')
			spec_digit(sp, dots, *p);
		else if (strchr("-+ #'", *p) != NULL)
			spec_flag(sp, *p);
		else if (strchr("hlqjtzL", *p) != NULL)
			spec_length(sp, *p);
		else if (*p == '*')
			sp->star[dots] = true;
		else if (*p == '.') {
			sp->dot = true;
			if (++dots == NUMBERS)
				break;
		}
	}
	xo_failure(xop, "format not supported: '%.*s'", (int)(end - p), p);
	return (NULL);
}

/* Replace every '*' by the argument it stands for. */
static void
spec_stars(xo_handle_t *xop, struct spec *sp)
{
	int i, n;

	for (i = 0; i < NUMBERS; i++) {
		if (!sp->star[i])
			continue;
		n = va_arg(xop->ap, int);
		if (n < 0 && i == WIDTH) {
			spec_flag(sp, '-');
			n = n < -XO_WIDTH_MAX ? XO_WIDTH_MAX : -n;
		}
		sp->num[i] = n < 0 ? -1 : n > XO_WIDTH_MAX ? XO_WIDTH_MAX : n;
	}
}

static void
take_int(xo_handle_t *xop, struct spec *sp, struct arg *a)
{
	a->kind = A_INT;
	switch (sp->length) {
	case L_CHAR:
		a->v.i = (signed char)va_arg(xop->ap, int);
		break;
	case L_SHORT:
		a->v.i = (short)va_arg(xop->ap, int);
		break;
	case L_LONG:
		a->v.i = va_arg(xop->ap, long);
		break;
	case L_LLONG:
		a->v.i = va_arg(xop->ap, long long);
		break;
	case L_MAX:
		a->v.i = va_arg(xop->ap, intmax_t);
		break;
	case L_PTR:
		a->v.i = va_arg(xop->ap, ptrdiff_t);
		break;
	case L_SIZE:
		a->v.i = va_arg(xop->ap, ssize_t);
		break;
	default:
		a->v.i = va_arg(xop->ap, int);
	}
}

static void
take_uint(xo_handle_t *xop, struct spec *sp, struct arg *a)
{
	a->kind = A_UINT;
	switch (sp->length) {
	case L_CHAR:
		a->v.u = (unsigned char)va_arg(xop->ap, unsigned);
		break;
	case L_SHORT:
		a->v.u = (unsigned short)va_arg(xop->ap, unsigned);
		break;
	case L_LONG:
		a->v.u = va_arg(xop->ap, unsigned long);
		break;
	case L_LLONG:
		a->v.u = va_arg(xop->ap, unsigned long long);
		break;
	case L_MAX:
		a->v.u = va_arg(xop->ap, uintmax_t);
		break;
	case L_PTR:
		a->v.u = (uintmax_t)va_arg(xop->ap, ptrdiff_t);
		break;
	case L_SIZE:
		a->v.u = va_arg(xop->ap, size_t);
		break;
	default:
		a->v.u = va_arg(xop->ap, unsigned);
	}
}

/* Take the argument; D, O and U are old names of ld, lo and lu. */
static void
take_arg(xo_handle_t *xop, struct spec *sp, struct arg *a)
{
	if (strchr("DOU", sp->conv) != NULL) {
		sp->length = L_LONG;
		sp->conv = (char)(sp->conv - 'A' + 'a');
	}
	if (strchr("di", sp->conv) != NULL) {
		take_int(xop, sp, a);
	} else if (strchr("ouxX", sp->conv) != NULL) {
		take_uint(xop, sp, a);
	} else if (sp->conv == 'p') {
		a->kind = A_PTR;
		a->v.p = va_arg(xop->ap, void *);
	} else if (sp->conv == 'C' ||
	    (sp->conv == 'c' && sp->length == L_LONG)) {
		/* However small it is elsewhere, it is passed as this. */
		a->kind = A_WCHAR;
		a->v.wc = (wint_t)va_arg(xop->ap, unsigned);
	} else if (sp->conv == 'c') {
		a->kind = A_CHAR;
		a->v.c = va_arg(xop->ap, int);
	} else if (sp->length == L_LDOUBLE) {
		a->kind = A_LDOUBLE;
		a->v.ld = va_arg(xop->ap, long double);
	} else {
		a->kind = A_DOUBLE;
		a->v.d = va_arg(xop->ap, double);
	}
}

/* The conversion again, for snprintf(3) and the widest type of its kind. */
static void
spec_print(const struct spec *sp, const struct arg *a, char *dst, size_t n)
{
	static const char *const mod[] = { "j", "j", "", "L", "", "l", "" };
	char conv, width[16], prec[16];

	width[0] = prec[0] = '\0';
	if (sp->num[WIDTH] >= 0)
		(void)snprintf(width, sizeof(width), "%d", sp->num[WIDTH]);
	if (sp->num[SIZE] >= 0)
		(void)snprintf(prec, sizeof(prec), ".%d", sp->num[SIZE]);
	else if (sp->dot && !sp->star[SIZE])
		(void)snprintf(prec, sizeof(prec), ".0");
	conv = sp->conv == 'C' ? 'c' : sp->conv;
	(void)snprintf(dst, n, "%%%s%s%s%s%c", sp->flags, width, prec,
	    mod[a->kind], conv);
}

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#endif
static int
arg_print(char *dst, size_t n, const char *fmt, const struct arg *a)
{
	switch (a->kind) {
	case A_INT:
		return (snprintf(dst, n, fmt, a->v.i));
	case A_UINT:
		return (snprintf(dst, n, fmt, a->v.u));
	case A_DOUBLE:
		return (snprintf(dst, n, fmt, a->v.d));
	case A_LDOUBLE:
		return (snprintf(dst, n, fmt, a->v.ld));
	case A_CHAR:
		return (snprintf(dst, n, fmt, a->v.c));
	case A_WCHAR:
		return (snprintf(dst, n, fmt, a->v.wc));
	case A_PTR:
		return (snprintf(dst, n, fmt, a->v.p));
	}
	return (-1);
}
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

/* Leave out blanks at both ends. */
static void
trim(const char **sp, size_t *np)
{
	while (*np > 0 && **sp == ' ') {
		(*sp)++;
		(*np)--;
	}
	while (*np > 0 && (*sp)[*np - 1] == ' ')
		(*np)--;
}

static void
number(xo_handle_t *xop, struct xo_buf *b, struct spec *sp, unsigned flags)
{
	struct xo_buf tmp = { 0 };
	struct arg a;
	const char *s;
	char fmt[48], *p;
	size_t len;
	int n;

	spec_stars(xop, sp);
	take_arg(xop, sp, &a);
	if ((flags & XFF_MUTE) != 0)
		return;
	spec_print(sp, &a, fmt, sizeof(fmt));
	n = arg_print(NULL, 0, fmt, &a);
	if (n <= 0 || (p = xo_buf_reserve(&tmp, (size_t)n)) == NULL)
		return;
	(void)arg_print(p, (size_t)n + 1, fmt, &a);
	s = p;
	len = (size_t)n;
	if ((flags & XFF_TRIM) != 0 && xop->style->encodes)
		trim(&s, &len);
	xo_count_columns(xop, (ssize_t)len);
	xop->style->escape(b, s, len);
	xo_buf_free(&tmp);
}

/* Find the string: an argument, or the text of an errno. */
static bool
take_string(xo_handle_t *xop, const struct spec *sp, unsigned flags,
    struct xo_string *st)
{
	memset(st, 0, sizeof(*st));
	st->size = sp->num[SIZE];
	st->max = sp->num[MAX] >= 0 ? sp->num[MAX] : sp->num[SIZE];
	if (sp->conv == 'm') {
		st->s = strerror(xop->error);
	} else if (sp->conv == 'S' || sp->length == L_LONG) {
		st->enc = XO_ENC_WIDE;
		st->w = va_arg(xop->ap, const wchar_t *);
	} else {
		st->enc = sp->length == L_SHORT || sp->length == L_CHAR ?
		    XO_ENC_LOCALE : XO_ENC_UTF8;
		st->s = va_arg(xop->ap, const char *);
	}
	if ((flags & XFF_MUTE) != 0)
		return (false);
	if (st->s == NULL && st->w == NULL) {
		st->enc = XO_ENC_UTF8;
		st->s = (flags & XFF_NOQUOTE) != 0 && xop->style->encodes ?
		    "null" : "(null)";
		st->size = (ssize_t)strlen(st->s);
	}
	return (true);
}

static void
string(xo_handle_t *xop, struct xo_buf *b, struct spec *sp, unsigned flags)
{
	struct xo_buf tmp = { 0 };
	struct xo_string st;
	const char *s;
	size_t len, pad;
	bool left;
	int cols;

	spec_stars(xop, sp);
	if (!take_string(xop, sp, flags, &st))
		return;
	if (st.enc == xo_encoding(xop) && st.s != NULL &&
	    sp->num[WIDTH] < 0 && sp->num[SIZE] < 0 && sp->num[MAX] < 0 &&
	    (xop->iflags & XOIF_ANCHOR) == 0 &&
	    (xop->flags & XOF_COLUMNS) == 0) {
		/* Nothing to count: bytes go out as they are. */
		len = strlen(st.s);
		xop->style->escape(&tmp, st.s, len);
		cols = 0;
	} else if ((cols = xo_string(xop, &tmp, &st, flags)) < 0) {
		xo_buf_free(&tmp);
		return;
	}
	pad = sp->num[WIDTH] > cols ? (size_t)(sp->num[WIDTH] - cols) : 0;
	left = strchr(sp->flags, '-') != NULL;
	if (pad > 0) {
		len = tmp.len;
		xo_buf_fill(&tmp, strchr(sp->flags, '0') != NULL ? '0' : ' ',
		    pad);
		if (!left)
			xo_buf_rotate(&tmp, 0, len);
	}
	xo_count_columns(xop, cols + (ssize_t)pad);
	s = xo_buf_cstr(&tmp);
	len = tmp.len;
	if ((flags & XFF_TRIM) != 0 && xop->style->encodes)
		trim(&s, &len);
	xo_buf_append(b, s, len);
	xo_buf_free(&tmp);
}

/* The text between conversions. */
static void
literal(xo_handle_t *xop, struct xo_buf *b, const char *s, size_t n,
    unsigned flags)
{
	struct xo_string st;

	if (n == 0 || (flags & XFF_MUTE) != 0)
		return;
	memset(&st, 0, sizeof(st));
	st.enc = XO_ENC_UTF8;
	st.s = s;
	st.size = (ssize_t)n;
	xo_count_columns(xop, xo_string(xop, b, &st, flags | XFF_UNESCAPE));
}

/*
 * Where the text that starts at p ends: at a conversion or at the end.  As in
 * xo(3), a "%%" that a text starts with is lost, which is why units are
 * written "{U:%%}".
 */
static const char *
literal_end(const char **startp, const char *end)
{
	const char *p = *startp;

	if (end - p > 1 && p[0] == '%' && p[1] == '%') {
		*startp = p + 1;
		p += 2;
	}
	for (; p < end; p++) {
		if (*p == '%' && !(end - p > 1 && p[1] == '%'))
			break;
		if ((*p == '%' || *p == '\\') && end - p > 1)
			p++;
	}
	return (p);
}

int
xo_conv(xo_handle_t *xop, struct xo_buf *b, const char *fmt, size_t flen,
    unsigned flags)
{
	const char *end, *p, *q;
	struct spec sp;

	if (flen == 0)
		return (0);
	for (p = fmt, end = fmt + flen; p < end;) {
		q = literal_end(&p, end);
		literal(xop, b, p, (size_t)(q - p), flags);
		if (q == end)
			break;
		if ((p = spec_parse(xop, &sp, q + 1, end)) == NULL)
			return (-1);
		if (strchr("sSm", sp.conv) != NULL)
			string(xop, b, &sp, flags);
		else
			number(xop, b, &sp, flags);
	}
	return (0);
}

void
xo_conv_fixed(xo_handle_t *xop, struct xo_buf *b, const char *fmt,
    size_t flen, const char *str, size_t n)
{
	const char *end, *p, *q;
	struct spec sp;
	size_t len, pad;

	for (p = fmt, end = fmt + flen; p < end;) {
		q = literal_end(&p, end);
		literal(xop, b, p, (size_t)(q - p), 0);
		if (q == end ||
		    (p = spec_parse(xop, &sp, q + 1, end)) == NULL)
			break;
		if (sp.conv != 's')
			continue;
		len = sp.num[SIZE] >= 0 && (size_t)sp.num[SIZE] < n ?
		    (size_t)sp.num[SIZE] : n;
		pad = sp.num[WIDTH] > 0 && (size_t)sp.num[WIDTH] > len ?
		    (size_t)sp.num[WIDTH] - len : 0;
		if (strchr(sp.flags, '-') == NULL)
			xo_buf_fill(b, ' ', pad);
		xo_buf_append(b, str, len);
		if (strchr(sp.flags, '-') != NULL)
			xo_buf_fill(b, ' ', pad);
		xo_count_columns(xop, (ssize_t)(len + pad));
	}
}
