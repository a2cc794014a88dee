/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sandboxes: what there are, and the changes of their state.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libxo/xo.h>

#include "coppicectl.h"

/* One line of text, or a leaf, for a string that is there. */
#define	LINE(label, fmt, ...)						\
	xo_emit("{L:" label "}{Lc:}{P:\t}" fmt "\n", __VA_ARGS__)

static void
print_strings(const nvlist_t *nv, const char *name, const char *label)
{
	const char *const *list;
	size_t n;

	if (!nvlist_exists_string_array(nv, name))
		return;
	list = nvlist_get_string_array(nv, name, &n);
	if (n == 0)
		return;
	xo_open_list(name);
	for (size_t i = 0; i < n; i++) {
		xo_emit("{La:}{P:\t}", i == 0 ? label : "\t");
		xo_emit_field("Vl", name, "%s", NULL, safe(list[i]));
		xo_emit("\n");
	}
	xo_close_list(name);
}

static void
print_ports(const nvlist_t *nv)
{
	const uint64_t *list;
	size_t n;

	if (!nvlist_exists_number_array(nv, "ports"))
		return;
	list = nvlist_get_number_array(nv, "ports", &n);
	if (n == 0)
		return;
	xo_emit("{L:ports}{Lc:}{P:\t\t}");
	xo_open_list("port");
	for (size_t i = 0; i < n; i++)
		xo_emit("{P:/%s}{l:port/%ju}", i > 0 ? " " : "",
		    (uintmax_t)list[i]);
	xo_close_list("port");
	xo_emit("\n");
}

static void
print_shares(const nvlist_t *nv)
{
	const nvlist_t *const *list;
	size_t n;

	if (!nvlist_exists_nvlist_array(nv, "shares"))
		return;
	list = nvlist_get_nvlist_array(nv, "shares", &n);
	xo_open_list("share");
	for (size_t i = 0; i < n; i++) {
		xo_open_instance("share");
		xo_emit("{L:share}{Lc:}{P:\t\t}{k:label/%s}{P: }{:path/%s}"
		    "{P: }{D:at}{P: }{:target/%s}{d:/%s}{d:/%s}"
		    "{en:readonly/%s}{en:alive/%s}\n",
		    text(list[i], "label"), text(list[i], "path"),
		    text(list[i], "target"),
		    ctl_flag(list[i], "readonly", false) ?
		    ", read-only" : "",
		    ctl_flag(list[i], "alive", true) ? "" :
		    ", its server is gone",
		    ctl_flag(list[i], "readonly", false) ? "true" : "false",
		    ctl_flag(list[i], "alive", true) ? "true" : "false");
		xo_close_instance("share");
	}
	xo_close_list("share");
}

static void
print_limits(const nvlist_t *nv)
{
	uint64_t v;

	if ((v = ctl_uint(nv, "memory", 0)) != 0)
		LINE("memory", "{P:\t}{d:/%s}{e:memory/%ju}", human(v),
		    (uintmax_t)v);
	if ((v = ctl_uint(nv, "cpu", 0)) != 0)
		LINE("processors", "{d:/%.3g}{e:cpu/%ju}", (double)v / 1000,
		    (uintmax_t)v);
	if ((v = ctl_uint(nv, "procs", 0)) != 0)
		LINE("processes", "{:procs/%ju}", (uintmax_t)v);
	if ((v = ctl_uint(nv, "disk", 0)) != 0)
		LINE("disk", "{P:\t}{d:/%s}{e:disk/%ju}", human(v),
		    (uintmax_t)v);
	if ((v = ctl_uint(nv, "files", 0)) != 0)
		LINE("open files", "{:files/%ju}", (uintmax_t)v);
}

static void
print_times(const nvlist_t *nv)
{
	static const char *const names[][2] = {
		{ "created", "created:" }, { "started", "started:" },
		{ "deadline", "ends:\t" }, { "lease", "kept until:" },
	};
	uint64_t v;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		v = ctl_uint(nv, names[i][0], 0);
		if (v == 0)
			continue;
		xo_emit("{La:}{P:\t}{d:/%s}", names[i][1], date(v));
		xo_emit_field("e", names[i][0], "%ju", NULL, (uintmax_t)v);
		xo_emit("\n");
	}
	if (ctl_uint(nv, "deadline", 0) != 0)
		LINE("at its end", "{:on-timeout/%s}", text(nv, "on_timeout"));
}

void
print_box(const nvlist_t *nv)
{

	LINE("id", "{P:\t}{k:id/%s}", text(nv, "id"));
	LINE("name", "{P:\t}{:name/%s}", text(nv, "name"));
	LINE("state", "{P:\t}{:state/%s}", text(nv, "state"));
	if (*text(nv, "failure") != '\0')
		LINE("failure", "{:failure/%s}", text(nv, "failure"));
	LINE("template", "{:template/%s}{P: }{D:(}{:hash/%.12s/%s}{D:)}",
	    text(nv, "template"), text(nv, "hash"));
	LINE("backend", "{:backend/%s}", text(nv, "backend"));
	LINE("owner", "{P:\t}{:owner/%s}", text(nv, "owner"));
	if (*text(nv, "ip") != '\0')
		LINE("address", "{:ip/%s}", text(nv, "ip"));
	if (*text(nv, "ip6") != '\0')
		LINE("address", "{:ip6/%s}", text(nv, "ip6"));
	if (*text(nv, "gateway") != '\0')
		LINE("gateway", "{:gateway/%s}", text(nv, "gateway"));
	if (*text(nv, "mode") != '\0')
		LINE("network", "{:mode/%s}", text(nv, "mode"));
	print_times(nv);
	print_limits(nv);
	print_strings(nv, "env", "env:\t");
	print_strings(nv, "labels", "labels:\t");
	print_strings(nv, "metadata", "metadata:");
	print_ports(nv);
	print_shares(nv);
	if (ctl_uint(nv, "pid", 0) != 0)
		LINE("process", "{:pid/%ju}",
		    (uintmax_t)ctl_uint(nv, "pid", 0));
	LINE("commands", "{:commands/%ju}{d:/%s}{en:connected/%s}",
	    (uintmax_t)ctl_uint(nv, "commands", 0),
	    ctl_flag(nv, "connected", true) ? "" : ", no answer from it",
	    ctl_flag(nv, "connected", true) ? "true" : "false");
}

void
print_id(const nvlist_t *nv)
{

	if (xo_get_style(NULL) == XO_STYLE_TEXT) {
		xo_emit("{:id/%s}\n", text(nv, "id"));
		return;
	}
	xo_open_container("sandbox");
	print_box(nv);
	xo_close_container("sandbox");
}

int
cmd_show(int argc, char **argv)
{
	nvlist_t *nv;

	if (argc != 2)
		usage();
	if (ask(request("show", argv[1]), NULL, NULL, &nv) != 0)
		return (failure());
	xo_open_container("sandbox");
	print_box(nv);
	xo_close_container("sandbox");
	nvlist_destroy(nv);
	return (0);
}

struct listing {
	bool	quiet;
	bool	any;
};

static void
list_one(void *arg, const nvlist_t *nv)
{
	struct listing *l = arg;

	if (strcmp(ctl_string(nv, "event", ""), "sandbox") != 0)
		return;
	if (l->quiet && xo_get_style(NULL) == XO_STYLE_TEXT) {
		xo_emit("{:name/%s}\n", *text(nv, "name") != '\0' ?
		    text(nv, "name") : text(nv, "id"));
		return;
	}
	if (!l->any)
		xo_emit("{T:ID/%-12s} {T:NAME/%-16s} {T:STATE/%-8s} "
		    "{T:TEMPLATE/%-12s} {T:BACKEND/%-8s} {T:ADDRESS/%-15s} "
		    "{T:AGE/%s}\n");
	l->any = true;
	xo_open_instance("sandbox");
	xo_emit("{k:id/%-12.12s/%s} {:name/%-16s/%s} {:state/%-8s/%s} "
	    "{:template/%-12.12s/%s} {:backend/%-8s/%s} ",
	    text(nv, "id"), text(nv, "name"), text(nv, "state"),
	    text(nv, "template"), text(nv, "backend"));
	xo_emit("{:ip/%-15s/%s} {d:age/%s}{e:created/%ju}{e:owner/%s}\n",
	    *text(nv, "ip") != '\0' ? text(nv, "ip") : "-",
	    ago(ctl_uint(nv, "created", 0)),
	    (uintmax_t)ctl_uint(nv, "created", 0), text(nv, "owner"));
	xo_close_instance("sandbox");
}

int
cmd_list(int argc, char **argv)
{
	nvlist_t *nv = request("list", NULL);
	struct listing l = { 0 };
	const char **labels = NULL;
	size_t n = 0;
	int ch, ret;

	while ((ch = getopt(argc, argv, "+l:qs:")) != -1)
		switch (ch) {
		case 'l':
			strings(&labels, &n, optarg);
			break;
		case 'q':
			l.quiet = true;
			break;
		case 's':
			nvlist_add_string(nv, "state", optarg);
			break;
		default:
			usage();
		}
	if (optind != argc)
		usage();
	add_strings(nv, "label", labels, n);
	xo_open_list("sandbox");
	ret = ask(nv, list_one, &l, NULL);
	xo_close_list("sandbox");
	return (ret == 0 ? 0 : failure());
}

/*
 * Do op to every sandbox named; go on after a failure.  With ${all}, one that
 * is gone is as it should be.
 */
static int
each(const char *op, char **ids, uint64_t grace, bool all)
{
	struct co_error e;
	nvlist_t *nv;
	int ret = 0;

	for (; *ids != NULL; ids++) {
		nv = request(op, *ids);
		if (grace != UINT64_MAX)
			nvlist_add_number(nv, "grace_ms", grace);
		if (ask_quietly(nv, show_progress, NULL, NULL, &e) == 0 ||
		    (all && e.code == CO_ESANDBOX_NOTFOUND))
			continue;
		complain(*ids, &e);
		ret = failure();
	}
	return (ret);
}

static int
simple(int argc, char **argv, const char *op)
{

	if (argc < 2 || argv[1][0] == '-')
		usage();
	return (each(op, argv + 1, UINT64_MAX, false));
}

int
cmd_start(int argc, char **argv)
{

	return (simple(argc, argv, "start"));
}

int
cmd_pause(int argc, char **argv)
{

	return (simple(argc, argv, "pause"));
}

int
cmd_resume(int argc, char **argv)
{

	return (simple(argc, argv, "resume"));
}

int
cmd_stop(int argc, char **argv)
{
	uint64_t grace = UINT64_MAX;
	int ch;

	while ((ch = getopt(argc, argv, "+g:")) != -1)
		if (ch == 'g')
			grace = seconds(optarg, "-g");
		else
			usage();
	if (optind == argc)
		usage();
	return (each("stop", argv + optind, grace, false));
}

static void
collect(void *arg, const nvlist_t *nv)
{
	char ***list = arg;
	size_t n;

	if (strcmp(ctl_string(nv, "event", ""), "sandbox") != 0)
		return;
	for (n = 0; (*list)[n] != NULL; n++)
		;
	*list = realloc(*list, (n + 2) * sizeof(**list));
	if (*list == NULL)
		fail("out of memory");
	(*list)[n] = strdup(ctl_string(nv, "id", ""));
	(*list)[n + 1] = NULL;
}

int
cmd_destroy(int argc, char **argv)
{
	uint64_t grace = UINT64_MAX;
	bool all = false;
	char **list;
	int ch, ret;

	while ((ch = getopt(argc, argv, "+ag:")) != -1)
		switch (ch) {
		case 'a':
			all = true;
			break;
		case 'g':
			grace = seconds(optarg, "-g");
			break;
		default:
			usage();
		}
	if (all != (optind == argc))
		usage();
	if (!all)
		return (each("destroy", argv + optind, grace, false));
	list = calloc(1, sizeof(*list));
	if (list == NULL)
		fail("out of memory");
	if (ask(request("list", NULL), collect, &list, NULL) != 0)
		return (failure());
	ret = each("destroy", list, grace, true);
	for (char **p = list; *p != NULL; p++)
		free(*p);
	free(list);
	return (ret);
}

int
cmd_rename(int argc, char **argv)
{
	nvlist_t *nv;

	if (argc != 3)
		usage();
	nv = request("rename", argv[1]);
	nvlist_add_string(nv, "name", argv[2]);
	return (ask(nv, NULL, NULL, NULL) == 0 ? 0 : failure());
}

int
cmd_timeout(int argc, char **argv)
{
	nvlist_t *nv;
	uint64_t at;

	if (argc != 3)
		usage();
	nv = request("timeout", argv[1]);
	nvlist_add_number(nv, "timeout_ms", seconds(argv[2], "time"));
	if (ask(nv, NULL, NULL, &nv) != 0)
		return (failure());
	at = ctl_uint(nv, "deadline", 0);
	xo_open_container("timeout");
	if (at != 0)
		xo_emit("{Lc:ends}{P: }{d:/%s}{e:deadline/%ju}\n", date(at),
		    (uintmax_t)at);
	else
		xo_emit("{D:it has no end}{e:deadline/%d}\n", 0);
	xo_close_container("timeout");
	nvlist_destroy(nv);
	return (0);
}

int
cmd_snapshot(int argc, char **argv)
{
	nvlist_t *nv;

	if (argc != 3)
		usage();
	nv = request("snapshot", argv[1]);
	nvlist_add_string(nv, "name", argv[2]);
	if (ask(nv, show_progress, NULL, &nv) != 0)
		return (failure());
	xo_open_container("template");
	xo_emit("{:hash/%s}\n", text(nv, "hash"));
	xo_close_container("template");
	nvlist_destroy(nv);
	return (0);
}
