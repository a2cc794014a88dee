/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * xo(3) against any format string and any order of opening and closing, in
 * every style.  Whatever conversion a format asks for gets an argument that
 * can be taken as it: all are the address of a text that is a string, a wide
 * string and, in its lower half, a small number.
 */

#include <sys/mman.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include <libxo/xo.h>

int	LLVMFuzzerTestOneInput(const uint8_t *, size_t);

#define	PAGE	((uintptr_t)0x200000000000)
#define	WIDTH	32		/* what the address is as an int */
#define	NAMES	4

/* Arguments for as many conversions as a format of this length can have. */
#define	FORMAT_MAX	48
#define	A4		arg, arg, arg, arg
#define	A16		A4, A4, A4, A4
#define	ARGUMENTS	A16, A16, A16, A16, A16

static char *
make_argument(void)
{
	static char *arg;
	void *page;

	if (arg != NULL)
		return (arg);
	page = mmap((void *)PAGE, 4096, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (page == MAP_FAILED)
		abort();
	arg = (char *)page + WIDTH;
	/* Not NUL in its first wide characters, NUL after. */
	memcpy(arg, "a\0\0\0<\0\0\0", 8);
	memcpy(arg, "ab\"<", 4);
	arg[3] = '\0';
	return (arg);
}

static xo_ssize_t
discard(void *opaque, const char *s)
{
	*(size_t *)opaque += strlen(s);
	return (0);
}

static void
emit(xo_handle_t *x, const uint8_t *p, size_t n)
{
	char fmt[FORMAT_MAX + 1];
	const char *arg;

	arg = make_argument();
	memcpy(fmt, p, n);
	fmt[n] = '\0';
	(void)xo_emit_h(x, fmt, ARGUMENTS);
}

static void
act(xo_handle_t *x, uint8_t op)
{
	static const char *const names[NAMES] = { "a", "b-c", "9", NULL };
	const char *name = names[(op >> 4) % NAMES];

	switch (op % 12) {
	case 0:
		(void)xo_open_container_h(x, name);
		break;
	case 1:
		(void)xo_close_container_h(x, name);
		break;
	case 2:
		(void)xo_open_list_h(x, name);
		break;
	case 3:
		(void)xo_close_list_h(x, name);
		break;
	case 4:
		(void)xo_open_instance_h(x, name);
		break;
	case 5:
		(void)xo_close_instance_h(x, name);
		break;
	case 6:
		(void)xo_open_marker_h(x, name);
		break;
	case 7:
		(void)xo_close_marker_h(x, name);
		break;
	case 8:
		(void)xo_attr_h(x, "at", "%d", op);
		break;
	case 9:
		xo_error_h(x, "error %d", op);
		break;
	case 10:
		xo_emit_warn_hc(x, op % 3, "warning {:n/%d}", op);
		break;
	case 11:
		(void)xo_flush_h(x);
		break;
	}
}

/*
 * An input is a byte of flags, then steps: a byte below 64 is the length of
 * a format that follows, others open, close and the like.
 */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const xo_style_t styles[] = { XO_STYLE_TEXT, XO_STYLE_XML,
		XO_STYLE_JSON };
	static const xo_xof_flags_t flags[] = { 0, XOF_PRETTY,
		XOF_COLUMNS | XOF_UNITS, XOF_UNDERSCORES | XOF_KEYS |
		XOF_PRETTY | XOF_UTF8 };
	xo_handle_t *x;
	size_t i, n, written;

	if (size < 1)
		return (0);
	x = xo_create(styles[data[0] % 3], flags[data[0] / 3 % 4]);
	if (x == NULL)
		abort();
	written = 0;
	xo_set_writer(x, &written, discard, NULL, NULL);
	for (i = 1; i < size; i++) {
		if (data[i] >= 64) {
			act(x, data[i]);
			continue;
		}
		n = data[i] > FORMAT_MAX ? FORMAT_MAX : data[i];
		if (n > size - i - 1)
			n = size - i - 1;
		emit(x, data + i + 1, n);
		i += n;
	}
	(void)xo_finish_h(x);
	xo_destroy(x);
	return (0);
}
