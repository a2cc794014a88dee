/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The history of a share: steps, what they changed, going back and forth,
 * and the safeguards that hold operations until somebody answers.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libxo/xo.h>

#include "coppicectl.h"

static void
add_share(nvlist_t *nv, const char *label)
{

	if (label != NULL)
		nvlist_add_string(nv, "share", label);
}

static void
print_step(const nvlist_t *nv)
{
	uint64_t began = ctl_uint(nv, "began_us", 0);

	xo_open_instance("step");
	xo_emit("{k:step/%6ju/%ju} {d:/%-19s}{e:began-us/%ju}"
	    "{e:ended-us/%ju} {:kind/%-8s/%s} {:paths/%6ju/%ju} ",
	    (uintmax_t)ctl_uint(nv, "step", 0), date(began / 1000),
	    (uintmax_t)began, (uintmax_t)ctl_uint(nv, "ended_us", 0),
	    text(nv, "kind"), (uintmax_t)ctl_uint(nv, "paths", 0));
	xo_emit("{d:/%6s}{e:bytes/%ju} {:exit/%4jd/%jd} {d:/%s}"
	    "{en:protected/%s}{:command/%s}\n",
	    human(ctl_uint(nv, "bytes", 0)),
	    (uintmax_t)ctl_uint(nv, "bytes", 0),
	    (intmax_t)(int64_t)ctl_uint(nv, "exit", 0),
	    ctl_flag(nv, "protected", true) ? "" : "(not protected) ",
	    ctl_flag(nv, "protected", true) ? "true" : "false",
	    text(nv, "command"));
	xo_close_instance("step");
}

/* A barrier: what somebody else changed in the folder. */
static void
print_barrier(const nvlist_t *nv)
{
	const char *const *list = NULL;
	size_t n = 0;

	if (nvlist_exists_string_array(nv, "paths"))
		list = nvlist_get_string_array(nv, "paths", &n);
	xo_open_instance("step");
	xo_emit("{d:/%6s} {d:/%-19s}{e:barrier/%ju}{e:at-us/%ju} "
	    "{D:changed from outside, undo stops here:}", "--",
	    date(ctl_uint(nv, "at_us", 0) / 1000),
	    (uintmax_t)ctl_uint(nv, "barrier", 0),
	    (uintmax_t)ctl_uint(nv, "at_us", 0));
	xo_open_list("path");
	for (size_t i = 0; i < n; i++)
		if (i < 3 || xo_get_style(NULL) != XO_STYLE_TEXT)
			xo_emit("{P: }{l:path/%s}", safe(list[i]));
	xo_close_list("path");
	xo_emit("{d:/%s}\n", n > 3 ? " ..." : "");
	xo_close_instance("step");
}

static void
history_one(void *arg, const nvlist_t *nv)
{
	const char *event = ctl_string(nv, "event", "");
	bool *any = arg;

	if (!*any)
		xo_emit("{T:STEP/%6s} {T:BEGAN/%-19s} {T:KIND/%-8s} "
		    "{T:PATHS/%6s} {T:KEPT/%6s} {T:EXIT/%4s} "
		    "{T:COMMAND/%s}\n");
	*any = true;
	if (strcmp(event, "step") == 0)
		print_step(nv);
	else if (strcmp(event, "barrier") == 0)
		print_barrier(nv);
}

int
cmd_history(int argc, char **argv)
{
	const char *share = NULL;
	bool any = false, redo = false;
	nvlist_t *nv;
	int ch, ret;

	while ((ch = getopt(argc, argv, "+rw:")) != -1)
		switch (ch) {
		case 'r':
			redo = true;
			break;
		case 'w':
			share = optarg;
			break;
		default:
			usage();
		}
	if (argc - optind != 1)
		usage();
	nv = request("history", argv[optind]);
	add_share(nv, share);
	if (redo)
		nvlist_add_bool(nv, "redo", true);
	xo_open_list("step");
	ret = ask(nv, history_one, &any, NULL);
	xo_close_list("step");
	return (ret == 0 ? 0 : failure());
}

static void
newest(void *arg, const nvlist_t *nv)
{
	uint64_t *step = arg;

	if (*step == 0 && strcmp(ctl_string(nv, "event", ""), "step") == 0)
		*step = ctl_uint(nv, "step", 0);
}

static void
change_one(void *arg, const nvlist_t *nv)
{
	const char *change = ctl_string(nv, "change", "");
	const char *from = text(nv, "from");

	(void)arg;
	if (strcmp(ctl_string(nv, "event", ""), "path") != 0)
		return;
	xo_open_instance("change");
	xo_emit("{:change/%-8s/%s} {:type/%-5s/%s} {:path/%s}", safe(change),
	    text(nv, "type"), text(nv, "path"));
	if (*from != '\0')
		xo_emit("{D: (from }{:from/%s}{D:)}", from);
	xo_emit("{e:before/%ju}{e:after/%ju}\n",
	    (uintmax_t)ctl_uint(nv, "before", 0),
	    (uintmax_t)ctl_uint(nv, "after", 0));
	xo_close_instance("change");
}

static int
list_changes(const char *id, const char *share, uint64_t step)
{
	nvlist_t *nv = request("changes", id);
	int ret;

	add_share(nv, share);
	nvlist_add_number(nv, "step", step);
	xo_open_list("change");
	ret = ask(nv, change_one, NULL, NULL);
	xo_close_list("change");
	return (ret == 0 ? 0 : failure());
}

/* Text of files of a sandbox: for a terminal it is made safe. */
static int
show_diff(const char *id, const char *share, uint64_t step)
{
	nvlist_t *nv = request("diff", id);
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	FILE *f;
	int ret;

	add_share(nv, share);
	nvlist_add_number(nv, "step", step);
	if (!isatty(STDOUT_FILENO))
		return (ask_with(nv, STDOUT_FILENO, NULL, NULL, NULL) == 0 ?
		    0 : failure());
	f = tmpfile();
	if (f == NULL)
		fail("can't make a temporary file");
	ret = ask_with(nv, fileno(f), NULL, NULL, NULL);
	rewind(f);
	while (ret == 0 && (n = getline(&line, &room, f)) > 0) {
		if (line[n - 1] == '\n')
			n--;
		for (char *p = line; p < line + n; p++)
			if (*p == '\t')
				*p = ' ';
		printf("%s\n", safe_bytes(line, (size_t)n));
	}
	free(line);
	fclose(f);
	return (ret == 0 ? 0 : failure());
}

int
cmd_diff(int argc, char **argv)
{
	const char *id, *share = NULL;
	bool names = xo_get_style(NULL) != XO_STYLE_TEXT;
	uint64_t step = 0;
	nvlist_t *nv;
	int ch;

	while ((ch = getopt(argc, argv, "+lw:")) != -1)
		switch (ch) {
		case 'l':
			names = true;
			break;
		case 'w':
			share = optarg;
			break;
		default:
			usage();
		}
	if (argc - optind < 1 || argc - optind > 2)
		usage();
	id = argv[optind];
	if (argc - optind == 2)
		step = number(argv[optind + 1], "step", 1, INT64_MAX);
	else {
		nv = request("history", id);
		add_share(nv, share);
		if (ask(nv, newest, &step, NULL) != 0)
			return (failure());
		if (step == 0)
			fail("sandbox %s: no step to show; every command that "
			    "changes a shared folder is one", id);
	}
	return (names ? list_changes(id, share, step) :
	    show_diff(id, share, step));
}

static int
travel(int argc, char **argv, const char *op, const char *opts)
{
	struct relay r = { .ask = true, .fn = show_progress };
	const char *share = NULL;
	uint64_t n = 1;
	bool force = false;
	struct co_error e;
	int ch;

	while ((ch = getopt(argc, argv, opts)) != -1)
		switch (ch) {
		case 'f':
			force = true;
			break;
		case 'n':
			n = number(optarg, "-n", 1, INT32_MAX);
			break;
		case 'w':
			share = optarg;
			break;
		default:
			usage();
		}
	if (argc - optind != 1)
		usage();
	r.id = argv[optind];
	r.request = request(op, r.id);
	nvlist_add_number(r.request, "n", n);
	add_share(r.request, share);
	if (force)
		nvlist_add_bool(r.request, "force", true);
	if (relay(&r, &e) != 0) {
		complain(r.id, &e);
		if (e.code == CO_EUNDO_BARRIER && !force)
			fprintf(stderr, "coppicectl: \"coppicectl diff\" "
			    "shows the step, \"coppicectl undo -f\" "
			    "overwrites what changed\n");
		return (failure());
	}
	n = ctl_uint(r.answer, "steps", n);
	xo_open_container(op);
	xo_emit("{:steps/%ju}{P: }{Np:step,steps}{P: }{d:/%s}\n",
	    (uintmax_t)n, *op == 'u' ? "undone" : "done again");
	xo_close_container(op);
	nvlist_destroy(r.answer);
	return (0);
}

int
cmd_undo(int argc, char **argv)
{

	return (travel(argc, argv, "undo", "+fn:w:"));
}

int
cmd_redo(int argc, char **argv)
{

	return (travel(argc, argv, "redo", "+n:w:"));
}

static void
safeguard_one(void *arg, const nvlist_t *nv)
{

	(void)arg;
	if (strcmp(ctl_string(nv, "event", ""), "safeguard") != 0)
		return;
	xo_open_instance("safeguard");
	xo_emit("{k:safeguard/%s} {:share/%s} {:kind/%s} {:count/%ju} "
	    "{:path/%s} {:message/%s}{e:step/%ju}{e:timeout-ms/%ju}\n",
	    text(nv, "safeguard"), text(nv, "share"), text(nv, "kind"),
	    (uintmax_t)ctl_uint(nv, "count", 0), text(nv, "path"),
	    text(nv, "message"), (uintmax_t)ctl_uint(nv, "step", 0),
	    (uintmax_t)ctl_uint(nv, "timeout_ms", 0));
	xo_close_instance("safeguard");
}

int
cmd_safeguard_list(int argc, char **argv)
{
	int ret;

	if (argc != 2)
		usage();
	xo_open_list("safeguard");
	ret = ask(request("safeguard.list", argv[1]), safeguard_one, NULL,
	    NULL);
	xo_close_list("safeguard");
	return (ret == 0 ? 0 : failure());
}

static int
answer(int argc, char **argv, bool allow)
{
	const char *share = NULL;
	nvlist_t *nv;
	int ch;

	while ((ch = getopt(argc, argv, "+w:")) != -1)
		if (ch == 'w')
			share = optarg;
		else
			usage();
	if (argc - optind != 2)
		usage();
	nv = request("safeguard.answer", argv[optind]);
	add_share(nv, share);
	nvlist_add_string(nv, "safeguard", argv[optind + 1]);
	nvlist_add_bool(nv, "allow", allow);
	return (ask(nv, NULL, NULL, NULL) == 0 ? 0 : failure());
}

int
cmd_safeguard_allow(int argc, char **argv)
{

	return (answer(argc, argv, true));
}

int
cmd_safeguard_deny(int argc, char **argv)
{

	return (answer(argc, argv, false));
}

int
cmd_safeguard_set(int argc, char **argv)
{
	nvlist_t *nv = request("safeguard.set", NULL);
	int ch;

	while ((ch = getopt(argc, argv, "+d:o:r:s:T:w:")) != -1)
		switch (ch) {
		case 'd':
			nvlist_add_number(nv, "deletes", number(optarg, "-d",
			    0, INT32_MAX));
			break;
		case 'o':
			nvlist_add_number(nv, "overwrites", number(optarg,
			    "-o", 0, INT32_MAX));
			break;
		case 'r':
			nvlist_add_number(nv, "renames_over", number(optarg,
			    "-r", 0, INT32_MAX));
			break;
		case 's':
			nvlist_add_number(nv, "overwrite_size", size(optarg,
			    "-s"));
			break;
		case 'T':
			nvlist_add_number(nv, "timeout_ms", seconds(optarg,
			    "-T"));
			break;
		case 'w':
			add_share(nv, optarg);
			break;
		default:
			usage();
		}
	if (argc - optind != 1)
		usage();
	nvlist_add_string(nv, "id", argv[optind]);
	return (ask(nv, NULL, NULL, NULL) == 0 ? 0 : failure());
}
