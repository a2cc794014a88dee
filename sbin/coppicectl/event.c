/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What happens: events of the engine, and the logs of sandboxes.
 */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <libxo/xo.h>

#include "coppicectl.h"

/* Fields that every event has, and that have columns of their own. */
static bool
has_column(const char *name)
{
	static const char *const columns[] = {
		"req", "event", "id", "name", "time", "seq", "done"
	};

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (strcmp(name, columns[i]) == 0)
			return (true);
	return (false);
}

/* The name of a field as XML and JSON may have it. */
static const char *
field_name(const char *name)
{
	static char buf[64];
	size_t i;

	for (i = 0; name[i] != '\0' && i < sizeof(buf) - 1; i++)
		buf[i] = (name[i] >= 'a' && name[i] <= 'z') ||
		    (i > 0 && name[i] >= '0' && name[i] <= '9') ?
		    name[i] : '-';
	buf[i] = '\0';
	return (i > 0 && buf[0] != '-' ? buf : "field");
}

static void
event_one(void *arg, const nvlist_t *nv)
{
	const char *name;
	void *cookie = NULL;
	uint64_t at = ctl_uint(nv, "time", 0);
	int type;

	(void)arg;
	xo_open_instance("event");
	xo_emit("{d:/%s}{e:time/%ju}{e:seq/%ju} {:id/%.12s/%s} {:name/%s} "
	    "{:event/%s}", date(at), (uintmax_t)at,
	    (uintmax_t)ctl_uint(nv, "seq", 0), text(nv, "id"),
	    text(nv, "name"), text(nv, "event"));
	while ((name = nvlist_next(nv, &type, &cookie)) != NULL) {
		if (has_column(name))
			continue;
		if (type == NV_TYPE_STRING) {
			xo_emit("{P: }{d:/%s}{D:=}", safe(name));
			xo_emit_field("V", field_name(name), "%s", NULL,
			    text(nv, name));
		} else if (type == NV_TYPE_NUMBER) {
			xo_emit("{P: }{d:/%s}{D:=}", safe(name));
			xo_emit_field("V", field_name(name), "%ju", NULL,
			    (uintmax_t)ctl_uint(nv, name, 0));
		} else if (type == NV_TYPE_BOOL) {
			xo_emit("{P: }{d:/%s}{D:=}", safe(name));
			xo_emit_field("Vn", field_name(name), "%s", NULL,
			    ctl_flag(nv, name, false) ? "true" : "false");
		}
	}
	xo_emit("\n");
	xo_close_instance("event");
	(void)xo_flush();
}

int
cmd_events(int argc, char **argv)
{
	bool follow = false;
	nvlist_t *nv;
	int ch, ret;

	while ((ch = getopt(argc, argv, "+f")) != -1)
		if (ch == 'f')
			follow = true;
		else
			usage();
	if (argc - optind > 1)
		usage();
	nv = request("events", argv[optind]);
	nvlist_add_bool(nv, "follow", follow);
	xo_open_list("event");
	ret = ask(nv, event_one, NULL, NULL);
	xo_close_list("event");
	return (ret == 0 ? 0 : failure());
}

/* Bytes go as they are to a file, but made visible to a terminal. */
static void
log_data(const char *data, size_t len)
{
	const char *nl;
	size_t n;

	if (!isatty(STDOUT_FILENO)) {
		(void)co_write_all(STDOUT_FILENO, data, len);
		return;
	}
	for (; len > 0; data += n, len -= n) {
		nl = memchr(data, '\n', len);
		n = nl != NULL ? (size_t)(nl - data) : len;
		fputs(safe_bytes(data, n), stdout);
		if (nl != NULL) {
			putchar('\n');
			n++;
		}
	}
	fflush(stdout);
}

static void
log_one(void *arg, const nvlist_t *nv)
{
	const void *data;
	size_t len;

	(void)arg;
	if (!nvlist_exists_binary(nv, "data"))
		return;
	data = nvlist_get_binary(nv, "data", &len);
	if (xo_get_style(NULL) != XO_STYLE_TEXT)
		xo_emit("{el:text/%s}", safe_bytes(data, len));
	else
		log_data(data, len);
	acknowledge(nv, len);
}

int
cmd_logs(int argc, char **argv)
{
	bool follow = false;
	nvlist_t *nv;
	int ch, ret;

	while ((ch = getopt(argc, argv, "+f")) != -1)
		if (ch == 'f')
			follow = true;
		else
			usage();
	if (argc - optind != 1)
		usage();
	nv = request("logs", argv[optind]);
	nvlist_add_bool(nv, "follow", follow);
	xo_open_list("text");
	ret = ask(nv, log_one, NULL, NULL);
	xo_close_list("text");
	return (ret == 0 ? 0 : failure());
}
