/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The commands that run in a sandbox: listing and signalling them.
 */

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <libxo/xo.h>

#include "coppicectl.h"

static void
ps_one(void *arg, const nvlist_t *nv)
{
	bool *any = arg;
	uint64_t age = ctl_uint(nv, "age_ms", 0);

	if (strcmp(ctl_string(nv, "event", ""), "process") != 0)
		return;
	if (!*any)
		xo_emit("{T:EXEC/%6s} {T:PID/%6s} {T:STEP/%6s} {T:TTY/%-3s} "
		    "{T:AGE/%7s} {T:STATE/%-8s} {T:COMMAND/%s}\n");
	*any = true;
	xo_open_instance("process");
	xo_emit("{k:exec/%6ju/%ju} {:pid/%6ju/%ju} {:step/%6ju/%ju} ",
	    (uintmax_t)ctl_uint(nv, "exec", 0),
	    (uintmax_t)ctl_uint(nv, "pid", 0),
	    (uintmax_t)ctl_uint(nv, "step", 0));
	xo_emit("{d:/%-3s} {d:/%6jus} {d:/%-8s} {:command/%s}{e:tag/%s}",
	    ctl_flag(nv, "pty", false) ? "yes" : "no",
	    (uintmax_t)(age / 1000),
	    !ctl_flag(nv, "running", true) ? "ended" :
	    ctl_flag(nv, "attached", false) ? "attached" : "alone",
	    text(nv, "command"), text(nv, "tag"));
	xo_emit("{e:age-ms/%ju}{en:pty/%s}{en:running/%s}{en:attached/%s}\n",
	    (uintmax_t)age, ctl_flag(nv, "pty", false) ? "true" : "false",
	    ctl_flag(nv, "running", true) ? "true" : "false",
	    ctl_flag(nv, "attached", false) ? "true" : "false");
	xo_close_instance("process");
}

int
cmd_ps(int argc, char **argv)
{
	bool any = false;
	int ret;

	if (argc != 2)
		usage();
	xo_open_list("process");
	ret = ask(request("ps", argv[1]), ps_one, &any, NULL);
	xo_close_list("process");
	return (ret == 0 ? 0 : failure());
}

/* The numbers that both FreeBSD and Linux give to these. */
static const struct {
	const char	*name;
	int		 number;
} signals[] = {
	{ "HUP", 1 }, { "INT", 2 }, { "QUIT", 3 }, { "KILL", 9 },
	{ "ALRM", 14 }, { "TERM", 15 }, { "USR1", SIGUSR1 },
	{ "USR2", SIGUSR2 }, { "STOP", SIGSTOP }, { "CONT", SIGCONT },
	{ "TSTP", SIGTSTP }, { "WINCH", SIGWINCH },
};

static uint64_t
signal_number(const char *s)
{
	const char *name = strncasecmp(s, "SIG", 3) == 0 ? s + 3 : s;

	if (isdigit((unsigned char)*s))
		return (number(s, "-s", 1, 128));
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (strcasecmp(name, signals[i].name) == 0)
			return ((uint64_t)signals[i].number);
	fail("-s: \"%s\" is not a signal; give a number, or a name like TERM",
	    s);
}

int
cmd_kill(int argc, char **argv)
{
	uint64_t sig = 15;
	nvlist_t *nv;
	int ch, ret = 0;

	while ((ch = getopt(argc, argv, "+s:")) != -1)
		if (ch == 's')
			sig = signal_number(optarg);
		else
			usage();
	if (argc - optind < 2)
		usage();
	for (int i = optind + 1; i < argc; i++) {
		nv = request("kill", argv[optind]);
		nvlist_add_number(nv, "exec", number(argv[i], "exec", 0,
		    UINT64_MAX / 2));
		nvlist_add_number(nv, "signal", sig);
		if (ask(nv, NULL, NULL, NULL) != 0)
			ret = failure();
	}
	return (ret);
}
