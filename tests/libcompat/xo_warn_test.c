/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * xo(3): command lines, and messages on standard error and in the document.
 * Each case is a little program of its own, run in a child.
 */

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libxo/xo.h>

#include <atf-c.h>

#define	NOENT	"No such file or directory"

/* Run body in a child and compare what it leaves. */
static void
child(void (*body)(void), int status, const char *out, const char *err)
{
	pid_t pid;

	pid = atf_utils_fork();
	if (pid == 0) {
		if (setenv("LC_ALL", "C.UTF-8", 1) != 0 ||
		    unsetenv("LIBXO_OPTIONS") != 0)
			exit(99);
		body();
		exit(0);
	}
	atf_utils_wait(pid, status, out, err);
}

static int
parse(const char *a, const char *b)
{
	static char name[] = "/usr/bin/prog", last[] = "file";
	static char one[64], two[64];
	static char *argv[5];
	int argc;

	argc = 0;
	argv[argc++] = name;
	if (a != NULL)
		argv[argc++] = strcpy(one, a);
	if (b != NULL)
		argv[argc++] = strcpy(two, b);
	argv[argc++] = last;
	argv[argc] = NULL;
	argc = xo_parse_args(argc, argv);
	if (argc >= 0 && (argc != 2 || argv[1] != last || argv[2] != NULL))
		exit(98);
	return (argc);
}

static void
print(void)
{
	(void)xo_open_container("t");
	(void)xo_emit("{Lc:n}{:n/%d}\n", 1);
	(void)xo_close_container("t");
	(void)xo_finish();
}

static void
args_none(void)
{
	if (parse(NULL, NULL) == 2)
		print();
}

static void
args_json(void)
{
	if (parse("--libxo", "json") == 2)
		print();
}

static void
args_equals(void)
{
	if (parse("--libxo=xml,pretty", NULL) == 2)
		print();
}

static void
args_letters(void)
{
	if (parse("--libxo:JP", NULL) == 2)
		print();
}

static void
args_two(void)
{
	if (parse("--libxo=json", "--libxo=pretty,indent=1") == 2)
		print();
}

static void
args_unknown(void)
{
	exit(parse("--libxo=nonsense", NULL) == -1 ? 7 : 8);
}

static void
args_unknown_form(void)
{
	exit(parse("--libxonsense", NULL) == -1 ? 7 : 8);
}

static void
args_missing(void)
{
	char name[] = "prog", option[] = "--libxo";
	char *argv[] = { name, option, NULL };

	exit(xo_parse_args(2, argv) == -1 ? 7 : 8);
}

static void
args_check(void)
{
	(void)parse("--libxo-check", NULL);
}

ATF_TC_WITHOUT_HEAD(arguments);
ATF_TC_BODY(arguments, tc)
{
	child(args_none, 0, "n:1\n", "");
	child(args_json, 0, "{\"t\": {\"n\":1}}\n", "");
	child(args_equals, 0, "<t>\n  <n>1</n>\n</t>\n", "");
	child(args_letters, 0, "{\n  \"t\": {\n    \"n\": 1\n  }\n}\n", "");
	child(args_two, 0, "{\n \"t\": {\n  \"n\": 1\n }\n}\n", "");
	child(args_unknown, 7, "",
	    "prog: unknown libxo option value: 'nonsense'\n");
	child(args_unknown_form, 7, "",
	    "prog: unknown libxo option: '--libxonsense'\n");
	child(args_missing, 7, "", "prog: missing libxo option\n");
	child(args_check, XO_HAS_LIBXO, "", "");
}

static void
warnings(void)
{
	xo_set_style(NULL, XO_STYLE_JSON);
	xo_set_program("prog");
	(void)xo_open_container("t");
	errno = ENOENT;
	xo_warn("one %d", 1);
	xo_warnx("two %s", "x");
	xo_warn_c(ENOENT, "three");
	xo_warn_hc(NULL, -1, "four");
	(void)xo_emit("{:n/%d}", 1);
	(void)xo_finish();
}

static void
warning_without_program(void)
{
	xo_warnx("alone");
}

ATF_TC_WITHOUT_HEAD(warn);
ATF_TC_BODY(warn, tc)
{
	child(warnings, 0, "{\"t\": {\"n\":1}}\n",
	    "prog: one 1: " NOENT "\nprog: two x\nprog: three: " NOENT
	    "\nprog: four\n");
	child(warning_without_program, 0, "", "alone\n");
}

/* An error in the middle still leaves a whole document. */
static void
begin_json(void)
{
	xo_set_style(NULL, XO_STYLE_JSON);
	xo_set_program("prog");
	(void)xo_open_container("t");
	(void)xo_open_list("l");
	(void)xo_open_instance("l");
	(void)xo_emit("{:n/%d}", 1);
}

static void
error_errno(void)
{
	begin_json();
	errno = ENOENT;
	xo_err(3, "no %s", "luck");
}

static void
error_plain(void)
{
	begin_json();
	xo_errx(4, "no %s", "luck");
}

static void
error_code(void)
{
	begin_json();
	xo_errc(5, ENOENT, "no %s", "luck");
}

ATF_TC_WITHOUT_HEAD(err);
ATF_TC_BODY(err, tc)
{
	const char *document = "{\"t\": {\"l\": [{\"n\":1}]}}\n";

	child(error_errno, 3, document, "prog: no luck: " NOENT "\n");
	child(error_plain, 4, document, "prog: no luck\n");
	child(error_code, 5, document, "prog: no luck: " NOENT "\n");
}

static void
errors(xo_style_t style)
{
	xo_set_style(NULL, style);
	(void)xo_open_container("t");
	xo_error("bad %s %d\n", "x<", 1);
	xo_errorn("worse");
	(void)xo_finish();
}

static void
errors_text(void)
{
	errors(XO_STYLE_TEXT);
}

static void
errors_json(void)
{
	errors(XO_STYLE_JSON);
}

static void
errors_xml(void)
{
	errors(XO_STYLE_XML);
}

ATF_TC_WITHOUT_HEAD(error);
ATF_TC_BODY(error, tc)
{
	child(errors_text, 0, "", "bad x< 1\nworse\n");
	child(errors_json, 0,
	    "{\"t\": {\"error\": {\"message\":\"bad x< 1\\n\"}, "
	    "\"error\": {\"message\":\"worse\\n\"}}}\n", "");
	child(errors_xml, 0, "<t><error><message>bad x&lt; 1\n</message>"
	    "</error><error><message>worse\n</message></error></t>", "");
}

static void
messages(xo_style_t style)
{
	xo_set_style(NULL, style);
	(void)xo_open_container("t");
	xo_message("plain <%d>", 1);
	xo_message("line\n");
	xo_message_c(ENOENT, "code");
	errno = ENOENT;
	xo_message_e("errno");
	xo_message("%s", "");
	(void)xo_finish();
}

static void
messages_text(void)
{
	messages(XO_STYLE_TEXT);
}

static void
messages_json(void)
{
	messages(XO_STYLE_JSON);
}

static void
messages_xml(void)
{
	messages(XO_STYLE_XML);
}

ATF_TC_WITHOUT_HEAD(message);
ATF_TC_BODY(message, tc)
{
	child(messages_text, 0, "plain <1>\nline\ncode: " NOENT "\nerrno: "
	    NOENT "\n\n", "");
	child(messages_json, 0, "{\"t\": {}}\n", "");
	child(messages_xml, 0, "<t><message>plain &lt;1&gt;\n</message>"
	    "<message>line\n</message><message>code: " NOENT "\n</message>"
	    "<message>errno: " NOENT "\n</message><message>\n</message></t>",
	    "");
}

static void
emit_warnings(xo_style_t style)
{
	xo_set_style(NULL, style);
	xo_set_program("prog");
	(void)xo_open_container("t");
	(void)xo_emit("{:n/%d}\n", 1);
	xo_emit_warnx("cannot {:verb/%s} {:count/%d}", "eat", 2);
	errno = ENOENT;
	xo_emit_warn("no {:file/%s}", "f");
	(void)xo_emit("{:m/%d}\n", 3);
	(void)xo_finish();
}

static void
emit_warnings_text(void)
{
	emit_warnings(XO_STYLE_TEXT);
}

static void
emit_warnings_json(void)
{
	emit_warnings(XO_STYLE_JSON);
}

static void
emit_warnings_xml(void)
{
	emit_warnings(XO_STYLE_XML);
}

static void
emit_error(void)
{
	begin_json();
	xo_emit_errc(6, ENOENT, "no {:file/%s}", "f");
}

ATF_TC_WITHOUT_HEAD(emit_warn);
ATF_TC_BODY(emit_warn, tc)
{
	child(emit_warnings_text, 0, "1\nprog: cannot eat 2\nprog: no f: "
	    NOENT "\n3\n", "");
	child(emit_warnings_json, 0, "{\"t\": {\"n\":1, \"__warning\": "
	    "{\"program\":\"prog\",\"message\":\"cannot eat 2\","
	    "\"verb\":\"eat\",\"count\":2}, \"__warning\": "
	    "{\"program\":\"prog\",\"message\":\"no f\",\"file\":\"f\","
	    "\"error\":\"" NOENT "\"},\"m\":3}}\n", "");
	child(emit_warnings_xml, 0, "<t><n>1</n><__warning>"
	    "<program>prog</program><message>cannot eat 2</message>"
	    "<verb>eat</verb><count>2</count></__warning><__warning>"
	    "<program>prog</program><message>no f</message><file>f</file>"
	    "<error>" NOENT "</error></__warning><m>3</m></t>", "");
	child(emit_error, 6, "{\"t\": {\"l\": [{\"n\":1, \"__error\": "
	    "{\"program\":\"prog\",\"message\":\"no f\",\"file\":\"f\","
	    "\"error\":\"" NOENT "\"}}]}}\n", "");
}

/* Complaints about wrong calls come only if asked for. */
static void
wrong_calls(void)
{
	(void)xo_emit("{Q:x}");
	(void)xo_close_container("never");
	(void)xo_close_instance("never");
	(void)xo_emit("{:s}{]:}", "ok\n");
	(void)xo_finish();
}

static void
wrong_calls_warned(void)
{
	xo_set_flags(NULL, XOF_WARN);
	wrong_calls();
}

ATF_TC_WITHOUT_HEAD(complaints);
ATF_TC_BODY(complaints, tc)
{
	child(wrong_calls, 0, "ok\n", "");
	child(wrong_calls_warned, 0, "ok\n", "save:complaints");
	ATF_CHECK(atf_utils_grep_file("modifier", "complaints"));
	ATF_CHECK(atf_utils_grep_file("never", "complaints"));
	ATF_CHECK(atf_utils_grep_file("anchor", "complaints"));
}

static void
inside(void)
{
	xo_set_style(NULL, XO_STYLE_XML);
	xo_set_flags(NULL, XOF_WARN_XML);
	xo_set_program("prog");
	xo_warnx("a < \"b\"");
	(void)xo_finish();
}

ATF_TC_WITHOUT_HEAD(warn_inside);
ATF_TC_BODY(warn_inside, tc)
{
	child(inside, 0,
	    "<error><message>prog: a &lt; \"b\"</message></error>\n", "");
}

static void
environment(void)
{
	if (setenv("LIBXO_OPTIONS", "pretty", 1) != 0)
		exit(99);
	xo_set_style(NULL, XO_STYLE_JSON);
	print();
}

/* Another program's data must not change by what a user exports. */
static void
environment_style(void)
{
	if (setenv("LIBXO_OPTIONS", "json", 1) != 0)
		exit(99);
	print();
}

static void
other_locale(void)
{
	if (setenv("LC_ALL", "C", 1) != 0)
		exit(99);
	(void)setlocale(LC_ALL, "C");
	(void)xo_emit("{:s/%-4s}|\n", "ab");
	xo_set_style(NULL, XO_STYLE_JSON);
	(void)xo_open_container("t");
	(void)xo_emit("{:s}", "\u00e9");
	(void)xo_finish();
}

ATF_TC_WITHOUT_HEAD(surroundings);
ATF_TC_BODY(surroundings, tc)
{
	child(environment, 0, "{\n  \"t\": {\n    \"n\": 1\n  }\n}\n", "");
	child(environment_style, 0, "n:1\n", "");
	child(other_locale, 0, "ab  |\n{\"t\": {\"s\":\"\u00e9\"}}\n", "");
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, arguments);
	ATF_TP_ADD_TC(tp, warn);
	ATF_TP_ADD_TC(tp, err);
	ATF_TP_ADD_TC(tp, error);
	ATF_TP_ADD_TC(tp, message);
	ATF_TP_ADD_TC(tp, emit_warn);
	ATF_TP_ADD_TC(tp, complaints);
	ATF_TP_ADD_TC(tp, warn_inside);
	ATF_TP_ADD_TC(tp, surroundings);
	return (atf_no_error());
}
