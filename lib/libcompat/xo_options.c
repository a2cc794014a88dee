/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What users say with --libxo: names joined by commas, or one letter each
 * after a colon.
 */

#include <string.h>

#include "xo_internal.h"

/* A flag of 0 is known and has no effect here. */
static const struct option {
	const char	*name;
	char		 letter;
	bool		 env;		/* also good in LIBXO_OPTIONS */
	xo_xof_flags_t	 flag;
} options[] = {
	{ "color", 'c', true, 0 },
	{ "color-force", 0, false, 0 },
	{ "no-color", 0, true, 0 },
	{ "columns", 0, false, XOF_COLUMNS },
	{ "dtrt", 0, false, XOF_DTRT },
	{ "flush", 'f', true, XOF_FLUSH },
	{ "flush-line", 'F', true, XOF_FLUSH_LINE },
	{ "ignore-close", 0, false, XOF_IGNORE_CLOSE },
	{ "info", 'I', false, 0 },
	{ "keys", 'k', false, XOF_KEYS },
	{ "log-gettext", 'g', false, 0 },
	{ "log-syslog", 0, false, 0 },
	{ "no-humanize", 'n', true, XOF_NO_HUMANIZE },
	{ "no-locale", 0, true, XOF_NO_LOCALE },
	{ "no-retain", 0, true, 0 },
	{ "no-top", 0, false, XOF_NO_TOP },
	{ "not-first", 0, false, XOF_NOT_FIRST },
	{ "pretty", 'P', true, XOF_PRETTY },
	{ "retain", 0, true, 0 },
	{ "underscores", 'u', true, XOF_UNDERSCORES },
	{ "units", 'U', false, XOF_UNITS },
	{ "warn", 'W', true, XOF_WARN },
	{ "warn-xml", 0, false, XOF_WARN_XML },
	{ "xpath", 'x', false, 0 },
};
#define	NOPTIONS	(sizeof(options) / sizeof(options[0]))

/* Find a flag by name; as with xo(3), its first letters are enough. */
static const struct option *
find(const char *name, bool env)
{
	size_t i;

	for (i = 0; *name != '\0' && i < NOPTIONS; i++)
		if ((!env || options[i].env) &&
		    strncmp(options[i].name, name, strlen(name)) == 0)
			return (&options[i]);
	return (NULL);
}

static void
set_indent(xo_handle_t *xop, const char *s)
{
	unsigned long n;

	n = strtoul(s, NULL, 10);
	xop->indent_by = n > 64 ? 64 : (unsigned)n;
}

static void
set_letters(xo_handle_t *xop, const char *s)
{
	size_t i;

	for (; *s != '\0'; s++) {
		switch (*s) {
		case 'J':
			xop->style = &xo_style_json;
			break;
		case 'T':
			xop->style = &xo_style_text;
			break;
		case 'X':
			xop->style = &xo_style_xml;
			break;
		case 'i':
			if (s[1] >= '0' && s[1] <= '9')
				set_indent(xop, s + 1);
			break;
		default:
			for (i = 0; i < NOPTIONS; i++)
				if (options[i].letter == *s)
					xop->flags |= options[i].flag;
		}
	}
}

/* One name of a list; false when it is unknown. */
static bool
set_name(xo_handle_t *xop, char *name, const struct xo_style **stylep)
{
	const struct xo_style *style;
	const struct option *op;
	char *value;

	if ((value = strchr(name, '=')) != NULL)
		*value++ = '\0';
	if ((style = xo_style_by_name(name)) != NULL) {
		if (*stylep != NULL)
			xo_warnx("ignoring multiple styles: '%s'", name);
		else
			*stylep = style;
		return (true);
	}
	if (strcmp(name, "indent") == 0) {
		if (value != NULL)
			set_indent(xop, value);
		else
			xo_failure(xop, "missing value for indent option");
		return (true);
	}
	if (strcmp(name, "colors") == 0)
		return (true);
	if ((op = find(name, false)) != NULL) {
		xop->flags |= op->flag;
		return (true);
	}
	xo_warnx("unknown libxo option value: '%s'", name);
	return (false);
}

int
xo_set_options(xo_handle_t *xop, const char *input)
{
	const struct xo_style *style;
	char *comma, *copy, *name;
	int rc;

	if (input == NULL)
		return (0);
	xop = xo_default(xop);
	if (*input == ':') {
		set_letters(xop, input + 1);
		return (0);
	}
	if ((copy = strdup(input)) == NULL)
		return (-1);
	style = NULL;
	rc = 0;
	for (name = copy; name != NULL && *name != '\0'; name = comma) {
		if ((comma = strchr(name, ',')) != NULL)
			*comma++ = '\0';
		if (!set_name(xop, name, &style))
			rc = -1;
	}
	if (style != NULL && style != &xo_style_text)
		xop->style = style;
	free(copy);
	return (rc);
}

void
xo_set_environment(xo_handle_t *xop, const char *input)
{
	const struct option *op;
	char *comma, *copy, *name;

	if ((copy = strdup(input)) == NULL)
		return;
	for (name = copy; name != NULL && *name != '\0'; name = comma) {
		if ((comma = strchr(name, ',')) != NULL)
			*comma++ = '\0';
		if ((op = find(name, true)) == NULL) {
			xo_failure(xop, "not for LIBXO_OPTIONS: %s", name);
			break;
		}
		xop->flags |= op->flag;
	}
	free(copy);
}

/* The program's name is the last part of argv[0]. */
static void
name_program(const char *argv0)
{
	const char *slash;

	if (xo_program() != NULL || argv0 == NULL)
		return;
	slash = strrchr(argv0, '/');
	xo_set_program(slash == NULL ? argv0 : slash + 1);
}

int
xo_parse_args(int argc, char **argv)
{
	static const char option[] = "--libxo";
	const char *p;
	xo_handle_t *xop;
	int i, kept;

	name_program(argv[0]);
	xop = xo_default(NULL);
	for (kept = i = 1; i < argc; i++) {
		if (argv[i] == NULL ||
		    strncmp(argv[i], option, sizeof(option) - 1) != 0) {
			argv[kept++] = argv[i];
			continue;
		}
		p = argv[i] + sizeof(option) - 1;
		if (strcmp(p, "-check") == 0)
			exit(XO_HAS_LIBXO);
		if (*p == '\0' && (p = argv[++i]) == NULL) {
			xo_warnx("missing libxo option");
			return (-1);
		} else if (*p == '=') {
			p++;
		} else if (p != argv[i] && *p != ':') {
			xo_warnx("unknown libxo option: '%s'", argv[i]);
			return (-1);
		}
		if (xo_set_options(xop, p) < 0)
			return (-1);
	}
	argv[kept] = NULL;
	return (kept);
}
