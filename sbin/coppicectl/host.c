/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The host: doctor and version.
 */

#include <stdio.h>
#include <string.h>

#include <libxo/xo.h>

#include "coppicectl.h"

static void
finding_one(void *arg, const nvlist_t *nv)
{
	bool ok = ctl_flag(nv, "ok", false), *all = arg;

	if (strcmp(ctl_string(nv, "event", ""), "finding") != 0)
		return;
	if (!ok)
		*all = false;
	xo_open_instance("finding");
	xo_emit("{d:/%-4s}{en:ok/%s} {k:area/%-14s/%s} {k:name/%s}",
	    !ok ? "BAD" : strcmp(text(nv, "health"), "warn") == 0 ? "warn" :
	    "ok", ok ? "true" : "false", text(nv, "area"),
	    text(nv, "name"));
	if (*text(nv, "message") != '\0')
		xo_emit("{P:\n\t\t    }{:message/%s}", text(nv, "message"));
	xo_emit("\n");
	xo_close_instance("finding");
}

int
cmd_doctor(int argc, char **argv)
{
	bool all = true, ok;
	nvlist_t *nv;
	int ret;

	(void)argv;
	if (argc != 1)
		usage();
	xo_open_list("finding");
	ret = ask(request("doctor", NULL), finding_one, &all, &nv);
	xo_close_list("finding");
	if (ret != 0)
		return (failure());
	ok = ctl_flag(nv, "ok", all);
	nvlist_destroy(nv);
	xo_emit("{en:ok/%s}{d:/%s}\n", ok ? "true" : "false", ok ?
	    "sandboxes can be made here" :
	    "something is to be done before sandboxes can be made here");
	return (ok ? 0 : EXIT_FAILED);
}

int
cmd_version(int argc, char **argv)
{
	struct co_error e;
	nvlist_t *nv;

	(void)argv;
	if (argc != 1)
		usage();
	xo_open_container("version");
	xo_emit("{Lc:coppicectl}{P: }{:coppicectl/%s}\n", COPPICE_VERSION);
	if (ask_quietly(request("version", NULL), NULL, NULL, &nv, &e) != 0) {
		xo_close_container("version");
		complain(NULL, &e);
		return (failure());
	}
	xo_emit("{Lc:coppiced}{P: }{:coppiced/%s}{D:, protocol }"
	    "{:protocol/%ju}{D:, process }{:pid/%ju}{D:, }{:sandboxes/%ju}"
	    "{D: sandboxes}\n", text(nv, "version"),
	    (uintmax_t)ctl_uint(nv, "protocol", 0),
	    (uintmax_t)ctl_uint(nv, "pid", 0),
	    (uintmax_t)ctl_uint(nv, "sandboxes", 0));
	xo_close_container("version");
	nvlist_destroy(nv);
	return (0);
}
