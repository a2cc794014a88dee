/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Running commands in a sandbox, and coming back to them.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libxo/xo.h>

#include "coppicectl.h"

/* What we exit with when a command could not even be run. */
static int
refused(const char *id, const struct co_error *e)
{

	complain(id, e);
	if (e->code != CO_ESANDBOX_EXEC)
		return (EXIT_OURS);
	return (e->errnum == ENOENT ? EXIT_NOTFOUND : EXIT_CANTRUN);
}

static int
status(const nvlist_t *nv)
{
	uint64_t sig = ctl_uint(nv, "signal", 0);

	if (ctl_flag(nv, "timed_out", false))
		return (EXIT_TIMEDOUT);
	if (sig != 0)
		return (sig < 128 ? (int)(128 + sig) : 255);
	return ((int)(ctl_uint(nv, "exit_code", 0) & 0xff));
}

/* Relay until the end; return the exit status. */
static int
finish(struct relay *r)
{
	struct co_error e;
	int ret;

	if (relay(r, &e) != 0)
		return (refused(r->id, &e));
	if (r->detached) {
		fprintf(stderr, "\r\ncoppicectl: detached; \"coppicectl "
		    "attach -i %s %ju\" comes back\r\n", safe(r->id),
		    (uintmax_t)r->exec);
		return (0);
	}
	ret = status(r->answer);
	if (ctl_flag(r->answer, "timed_out", false))
		fprintf(stderr, "coppicectl: sandbox %s: the command took "
		    "longer than its time and was ended\n", safe(r->id));
	nvlist_destroy(r->answer);
	return (ret);
}

/* Give the request a terminal like ours. */
static void
add_pty(nvlist_t *nv)
{
	uint64_t rows = 24, cols = 80;

	(void)term_size(&rows, &cols);
	nvlist_add_bool(nv, "pty", true);
	nvlist_add_number(nv, "rows", rows);
	nvlist_add_number(nv, "cols", cols);
}

static int
detach(nvlist_t *nv)
{
	nvlist_t *answer;

	nvlist_add_bool(nv, "detach", true);
	if (ask(nv, NULL, NULL, &answer) != 0)
		return (EXIT_OURS);
	xo_open_container("process");
	xo_emit("{:exec/%ju}{e:pid/%ju}\n",
	    (uintmax_t)ctl_uint(answer, "exec", 0),
	    (uintmax_t)ctl_uint(answer, "pid", 0));
	xo_close_container("process");
	nvlist_destroy(answer);
	return (0);
}

struct options {
	nvlist_t	*nv;
	const char	**env;
	size_t		 nenv;
	bool		 detach, input, pty;
};

static void
option(struct options *o, int ch)
{

	switch (ch) {
	case 'D':
		o->detach = true;
		break;
	case 'd':
		nvlist_add_string(o->nv, "cwd", optarg);
		break;
	case 'e':
		if (strchr(optarg, '=') == NULL || *optarg == '=')
			fail("-e: \"%s\" is not of the form name=value",
			    optarg);
		strings(&o->env, &o->nenv, optarg);
		break;
	case 'i':
		o->input = true;
		break;
	case 'T':
		nvlist_add_number(o->nv, "timeout_ms", seconds(optarg, "-T"));
		break;
	case 't':
		o->pty = true;
		break;
	case 'u':
		nvlist_add_string(o->nv, "user", optarg);
		break;
	default:
		usage();
	}
}

static int
run(struct options *o, const char *id, char **argv, size_t argc)
{
	struct relay r = { .request = o->nv, .id = id, .ask = true };
	const char *kind = getenv("TERM");
	char term[128];

	if (o->pty && kind != NULL && strlen(kind) < 64) {
		snprintf(term, sizeof(term), "TERM=%s", kind);
		for (size_t i = 0; i < o->nenv; i++)
			if (strncmp(o->env[i], "TERM=", 5) == 0)
				term[0] = '\0';
		if (term[0] != '\0')
			strings(&o->env, &o->nenv, term);
	}
	nvlist_add_string(o->nv, "id", id);
	nvlist_add_string_array(o->nv, "argv", (const char *const *)argv,
	    argc);
	add_strings(o->nv, "env", o->env, o->nenv);
	if (o->pty)
		add_pty(o->nv);
	nvlist_add_string(o->nv, "stdin", o->input ? "pipe" : "null");
	if (nvlist_error(o->nv) != 0)
		fail("an option was given twice; give it once");
	if (o->detach)
		return (detach(o->nv));
	r.input = o->input;
	r.raw = o->input && o->pty && isatty(STDIN_FILENO);
	return (finish(&r));
}

int
cmd_exec(int argc, char **argv)
{
	struct options o = { .nv = request("exec", NULL) };
	const char *id;
	int ch;

	while ((ch = getopt(argc, argv, "+Dd:e:iT:tu:")) != -1)
		option(&o, ch);
	argc -= optind;
	argv += optind;
	if (argc < 2)
		usage();
	id = argv[0];
	argc--;
	argv++;
	if (strcmp(argv[0], "--") == 0) {
		argc--;
		argv++;
	}
	if (argc < 1)
		usage();
	return (run(&o, id, argv, (size_t)argc));
}

int
cmd_shell(int argc, char **argv)
{
	static char sh[] = "/bin/sh", login[] = "-l";
	struct options o = { .nv = request("exec", NULL), .input = true };
	char *command_[] = { sh, login, NULL };
	int ch;

	while ((ch = getopt(argc, argv, "+d:e:u:")) != -1)
		option(&o, ch);
	argc -= optind;
	argv += optind;
	if (argc < 1 || argc > 2)
		usage();
	if (argc == 2)
		command_[0] = argv[1];
	o.pty = isatty(STDIN_FILENO) != 0;
	return (run(&o, argv[0], command_, 2));
}

struct search {
	uint64_t	exec;
	bool		pty;
};

static void
find_pty(void *arg, const nvlist_t *nv)
{
	struct search *s = arg;

	if (ctl_uint(nv, "exec", UINT64_MAX) == s->exec)
		s->pty = ctl_flag(nv, "pty", false);
}

int
cmd_attach(int argc, char **argv)
{
	struct relay r = { .ask = true };
	struct search s = { 0 };
	int ch;

	while ((ch = getopt(argc, argv, "+i")) != -1)
		if (ch == 'i')
			r.input = true;
		else
			usage();
	if (argc - optind != 2)
		usage();
	r.id = argv[optind];
	s.exec = r.exec = number(argv[optind + 1], "exec", 0, UINT64_MAX / 2);
	if (ask(request("ps", r.id), find_pty, &s, NULL) != 0)
		return (EXIT_OURS);
	r.raw = r.input && s.pty && isatty(STDIN_FILENO);
	r.request = request("attach", r.id);
	nvlist_add_number(r.request, "exec", s.exec);
	return (finish(&r));
}
