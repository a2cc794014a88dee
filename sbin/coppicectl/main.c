/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * coppicectl: options, finding the command, help and exit codes.
 */

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libxo/xo.h>

#include "coppicectl.h"

const struct command *command;

int
failure(void)
{

	return (command != NULL && command->exec ? EXIT_OURS : EXIT_FAILED);
}

static _Noreturn void
leave(int status)
{

	term_restore();
	progress_end();
	(void)xo_finish();
	exit(status);
}

void
fail(const char *fmt, ...)
{
	char buf[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	term_restore();
	progress_end();
	xo_warnx("%s", safe(buf));
	leave(failure());
}

static _Noreturn void
general_usage(void)
{

	fprintf(stderr, "usage: coppicectl [--libxo options] [-s socket] "
	    "command [argument ...]\n"
	    "\"coppicectl help\" lists the commands\n");
	exit(EXIT_USAGE);
}

void
usage(void)
{

	fprintf(stderr, "usage: coppicectl %s\n", command->usage);
	leave(command->exec ? EXIT_OURS : EXIT_USAGE);
}

uint64_t
number(const char *s, const char *what, uint64_t min, uint64_t max)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(s, &end, 10);
	if (!isdigit((unsigned char)*s) || *end != '\0' || errno != 0 ||
	    v < min || v > max)
		fail("%s: \"%s\" is not a number from %ju to %ju", what, s,
		    (uintmax_t)min, (uintmax_t)max);
	return (v);
}

struct unit {
	char	name;
	double	factor;
};

static double
with_unit(const char *s, const char *what, const struct unit *units,
    const char *such)
{
	char *end;
	double v;

	v = strtod(s, &end);
	if ((isdigit((unsigned char)*s) || *s == '.') && end != s &&
	    v >= 0 && v < 9e15) {
		if (*end == '\0')
			return (v * units->factor);
		for (; units->name != '\0'; units++)
			if (tolower((unsigned char)*end) == units->name &&
			    end[1] == '\0' && v * units->factor < 9e15)
				return (v * units->factor);
	}
	fail("%s: \"%s\" is not understood; write it like %s", what, s, such);
}

uint64_t
size(const char *s, const char *what)
{
	static const struct unit units[] = {
		{ 'b', 1 }, { 'k', 1024 }, { 'm', 1048576 },
		{ 'g', 1073741824 }, { 't', 1099511627776 }, { '\0', 0 }
	};

	return ((uint64_t)with_unit(s, what, units, "512m or 2g"));
}

uint64_t
seconds(const char *s, const char *what)
{
	static const struct unit units[] = {
		{ 's', 1e3 }, { 'm', 6e4 }, { 'h', 3.6e6 }, { 'd', 8.64e7 },
		{ '\0', 0 }
	};

	if (strcmp(s, "never") == 0)
		return (0);
	return ((uint64_t)with_unit(s, what, units, "90, 15m, 2h or never"));
}

/*
 * Whether the word w stands for the word of a name that begins at s: 2 when
 * it is the same, 1 when it begins it.
 */
static int
matches(const char *w, const char *s)
{
	size_t n = strlen(w), len = strcspn(s, " ");

	if (n == 0 || n > len || strncmp(w, s, n) != 0)
		return (0);
	return (n == len ? 2 : 1);
}

/* The second word of a command's name, or "". */
static const char *
second(const char *name)
{
	const char *p = strchr(name, ' ');

	return (p != NULL ? p + 1 : "");
}

static bool
same_noun(const struct command *a, const struct command *b)
{
	size_t n = strcspn(a->name, " ");

	return (strcspn(b->name, " ") == n &&
	    strncmp(a->name, b->name, n) == 0);
}

/* Say which commands, of noun or else all, a word could mean. */
static void
ambiguous(const char *w, const struct command *noun)
{
	const struct command *last = NULL;

	fprintf(stderr, "coppicectl: \"%s\" can mean", safe(w));
	for (size_t i = 0; i < ncommands; i++) {
		const struct command *c = &commands[i];

		if (noun != NULL ? !same_noun(noun, c) ||
		    matches(w, second(c->name)) == 0 :
		    matches(w, c->name) == 0 ||
		    (last != NULL && same_noun(last, c)))
			continue;
		fprintf(stderr, "%s %.*s", last != NULL ? "," : "",
		    noun == NULL ? (int)strcspn(c->name, " ") : 64, c->name);
		last = c;
	}
	fprintf(stderr, "; give more of it\n");
	exit(EXIT_USAGE);
}

/* The first row whose first word w stands for; NULL if there is none. */
static const struct command *
find_noun(const char *w)
{
	const struct command *found = NULL;

	for (size_t i = 0; i < ncommands; i++) {
		const struct command *c = &commands[i];
		int m = matches(w, c->name);

		if (m == 2)
			return (c);
		if (m == 0 || (found != NULL && same_noun(found, c)))
			continue;
		if (found != NULL)
			ambiguous(w, NULL);
		found = c;
	}
	return (found);
}

static const struct command *
find_verb(const struct command *noun, const char *w)
{
	const struct command *found = NULL;

	for (const struct command *c = noun; c < commands + ncommands &&
	    same_noun(noun, c); c++) {
		int m = matches(w, second(c->name));

		if (m == 2)
			return (c);
		if (m == 0)
			continue;
		if (found != NULL)
			ambiguous(w, noun);
		found = c;
	}
	return (found);
}

static _Noreturn void
noun_usage(const struct command *noun)
{
	const struct command *c;

	for (c = noun; c < commands + ncommands && same_noun(noun, c); c++)
		fprintf(stderr, "%s coppicectl %s\n",
		    c == noun ? "usage:" : "      ", c->usage);
	exit(EXIT_USAGE);
}

/* Find the command that argv begins with; store how many words it took. */
static const struct command *
find(int argc, char **argv, int *words)
{
	const struct command *c, *noun;

	noun = find_noun(argv[0]);
	*words = 1;
	if (noun == NULL) {
		fprintf(stderr, "coppicectl: no command \"%s\"; "
		    "\"coppicectl help\" lists them\n", safe(argv[0]));
		exit(EXIT_USAGE);
	}
	if (*second(noun->name) == '\0')
		return (noun);
	*words = 2;
	c = argc > 1 ? find_verb(noun, argv[1]) : NULL;
	if (c == NULL)
		noun_usage(noun);
	return (c);
}

static void
help_line(const struct command *c)
{

	xo_open_instance("command");
	xo_emit("{k:name/%-17s/%s}{:summary/%s}{e:usage/%s}\n", c->name,
	    c->summary, c->usage);
	xo_close_instance("command");
}

int
cmd_help(int argc, char **argv)
{
	const struct command *c;
	int words;

	if (argc > 3)
		usage();
	if (argc > 1) {
		c = find_noun(argv[1]);
		if (c != NULL && argc == 2 && *second(c->name) != '\0')
			noun_usage(c);
		c = find(argc - 1, argv + 1, &words);
		xo_open_container("command");
		xo_emit("{L:usage}{Lc:}{P: }{d:program/%s}{P: }{:usage/%s}\n",
		    "coppicectl", c->usage);
		xo_close_container("command");
		return (0);
	}
	xo_open_list("command");
	for (size_t i = 0; i < ncommands; i++)
		help_line(&commands[i]);
	xo_close_list("command");
	return (0);
}

/* Take the options before the command; return how many words they were. */
static int
options(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && argv[i][0] == '-'; i++)
		if (strcmp(argv[i], "--") == 0)
			return (i + 1);
		else if (strcmp(argv[i], "-s") == 0 && i + 1 < argc)
			control_socket = argv[++i];
		else if (strncmp(argv[i], "-s", 2) == 0 &&
		    argv[i][2] != '\0')
			control_socket = argv[i] + 2;
		else
			general_usage();
	return (i);
}

int
main(int argc, char **argv)
{
	const char *env = getenv("COPPICE_SOCKET");
	int n, words;

	(void)signal(SIGPIPE, SIG_DFL);
	xo_set_program("coppicectl");
	argc = xo_parse_args(argc, argv);
	if (argc < 0)
		exit(EXIT_USAGE);
	if (env != NULL && *env != '\0')
		control_socket = env;
	n = options(argc, argv);
	argc -= n;
	argv += n;
	if (argc < 1)
		general_usage();
	command = find(argc, argv, &words);
	leave(command->run(argc - words + 1, argv + words - 1));
}
