/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A coppiced that has no sandboxes, but says what a test wants to hear: it
 * answers each operation from the table below, and writes what it was asked,
 * a line for each message, to a log.
 *
 * usage: fake_coppiced socket log
 */

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "coppice.h"
#include "ctl.h"

#define	ID	"9f2c1d3e4f5a6b7c8d9e0f1a2b3c4d5e"
#define	WINDOW	(256 * 1024)

static FILE *logfile;
static struct ctl *conn;
static uint64_t watcher;		/* of events */

/* The command that runs, if one does. */
static struct {
	uint64_t	req;
	uint64_t	sent, acked;	/* of its output */
	uint64_t	left;		/* to be sent still */
	uint64_t	taken;		/* of its input */
	uint64_t	granted;
	bool		echo;		/* input comes back */
	bool		sink;		/* a file that is written */
	bool		hold;		/* until a safeguard is answered */
} run;

static void
log_value(const nvlist_t *nv, const char *name, int type)
{
	const char *const *list;
	const nvlist_t *const *lists;
	const uint64_t *numbers;
	size_t n;

	switch (type) {
	case NV_TYPE_STRING:
		fprintf(logfile, " %s=%s", name, nvlist_get_string(nv, name));
		break;
	case NV_TYPE_NUMBER:
		fprintf(logfile, " %s=%" PRIu64, name,
		    nvlist_get_number(nv, name));
		break;
	case NV_TYPE_BOOL:
		fprintf(logfile, " %s=%s", name,
		    nvlist_get_bool(nv, name) ? "true" : "false");
		break;
	case NV_TYPE_BINARY:
		(void)nvlist_get_binary(nv, name, &n);
		fprintf(logfile, " %s=<%zu>", name, n);
		break;
	case NV_TYPE_STRING_ARRAY:
		list = nvlist_get_string_array(nv, name, &n);
		fprintf(logfile, " %s=[", name);
		for (size_t i = 0; i < n; i++)
			fprintf(logfile, "%s%s", i > 0 ? "," : "", list[i]);
		fprintf(logfile, "]");
		break;
	case NV_TYPE_NUMBER_ARRAY:
		numbers = nvlist_get_number_array(nv, name, &n);
		fprintf(logfile, " %s=[", name);
		for (size_t i = 0; i < n; i++)
			fprintf(logfile, "%s%" PRIu64, i > 0 ? "," : "",
			    numbers[i]);
		fprintf(logfile, "]");
		break;
	case NV_TYPE_NVLIST_ARRAY:
		lists = nvlist_get_nvlist_array(nv, name, &n);
		for (size_t i = 0; i < n; i++) {
			void *cookie = NULL;
			const char *key;
			int t;

			fprintf(logfile, " %s{", name);
			while ((key = nvlist_next(lists[i], &t, &cookie))
			    != NULL)
				log_value(lists[i], key, t);
			fprintf(logfile, " }");
		}
		break;
	default:
		break;
	}
}

static void
log_message(const nvlist_t *nv)
{
	void *cookie = NULL;
	const char *name;
	int type;

	fprintf(logfile, "op=%s", ctl_string(nv, "op", "?"));
	while ((name = nvlist_next(nv, &type, &cookie)) != NULL)
		if (strcmp(name, "op") != 0 && strcmp(name, "req") != 0 &&
		    strcmp(name, "to") != 0)
			log_value(nv, name, type);
	fprintf(logfile, "\n");
	fflush(logfile);
}

static void
send_nv(nvlist_t *nv)
{
	struct co_error e;

	if (ctl_send(conn, nv, NULL, 0, &e) != 0)
		fprintf(stderr, "fake_coppiced: %s\n", e.message);
	nvlist_destroy(nv);
}

static nvlist_t *
event(uint64_t req, const char *name)
{
	nvlist_t *nv = nvlist_create(0);

	nvlist_add_number(nv, "req", req);
	nvlist_add_string(nv, "event", name);
	return (nv);
}

static nvlist_t *
done(uint64_t req)
{
	nvlist_t *nv = nvlist_create(0);

	nvlist_add_number(nv, "req", req);
	nvlist_add_bool(nv, "done", true);
	return (nv);
}

static void
refuse(uint64_t req, enum co_code code, int errnum, const char *message)
{
	struct co_error e = { 0 };
	nvlist_t *nv = done(req);

	co_error_set(&e, code, "it", "%s", message);
	e.errnum = errnum;
	ctl_error_add(nv, &e);
	send_nv(nv);
}

/* A sandbox, whose strings are as bad as they can be. */
static void
add_box(nvlist_t *nv, const char *name)
{
	const char *env[] = { "A=1", "B=\033[31mred" };
	uint64_t ports[] = { 80, 443 };
	nvlist_t *share = nvlist_create(0);

	nvlist_add_string(nv, "id", ID);
	nvlist_add_string(nv, "name", name);
	nvlist_add_string(nv, "template", "tiny");
	nvlist_add_string(nv, "hash", "abcdef0123456789");
	nvlist_add_string(nv, "backend", "ns");
	nvlist_add_string(nv, "owner", "uid:0");
	nvlist_add_string(nv, "state", "running");
	nvlist_add_string(nv, "ip", "10.78.0.10");
	nvlist_add_string(nv, "mode", "open");
	nvlist_add_number(nv, "created", 1700000000000);
	nvlist_add_number(nv, "memory", 1536);
	nvlist_add_number(nv, "cpu", 500);
	nvlist_add_string_array(nv, "env", env, 2);
	nvlist_add_number_array(nv, "ports", ports, 2);
	nvlist_add_string(share, "label", "src");
	nvlist_add_string(share, "path", "/home/a");
	nvlist_add_string(share, "target", "/work/src");
	nvlist_add_bool(share, "readonly", true);
	nvlist_add_bool(share, "alive", true);
	nvlist_add_nvlist_array(nv, "shares", (const nvlist_t *const *)&share,
	    1);
	nvlist_destroy(share);
	nvlist_add_number(nv, "pid", 4242);
	nvlist_add_bool(nv, "connected", true);
	nvlist_add_number(nv, "commands", 2);
}

static void
op_show(uint64_t req, const nvlist_t *q, int fd)
{
	nvlist_t *nv;

	(void)fd;
	if (strcmp(ctl_string(q, "id", "web"), "nobody") == 0) {
		refuse(req, CO_ESANDBOX_NOTFOUND, 0, "there is no such one");
		return;
	}
	nv = done(req);
	add_box(nv, "web");
	send_nv(nv);
}

static void
op_list(uint64_t req, const nvlist_t *q, int fd)
{
	nvlist_t *nv;

	(void)q;
	(void)fd;
	nv = event(req, "sandbox");
	add_box(nv, "web");
	send_nv(nv);
	nv = event(req, "sandbox");
	add_box(nv, "e\033]0;vil\007\xff");
	send_nv(nv);
	send_nv(done(req));
}

static void
pump(void)
{
	static const char block[16384];
	nvlist_t *nv;
	size_t n;

	while (run.left > 0 && run.sent - run.acked < WINDOW) {
		n = run.left < sizeof(block) ? (size_t)run.left :
		    sizeof(block);
		if (n > WINDOW - (run.sent - run.acked))
			n = (size_t)(WINDOW - (run.sent - run.acked));
		nv = event(run.req, "output");
		nvlist_add_string(nv, "stream", "stdout");
		nvlist_add_number(nv, "offset", run.sent);
		nvlist_add_binary(nv, "data", block, n);
		send_nv(nv);
		run.sent += n;
		run.left -= n;
	}
}

static void
say(uint64_t req, const char *stream, const void *data, size_t len)
{
	nvlist_t *nv = event(req, "output");

	nvlist_add_string(nv, "stream", stream);
	nvlist_add_binary(nv, "data", data, len);
	send_nv(nv);
	run.sent += len;
}

static void
finish(uint64_t code, uint64_t sig, bool late)
{
	nvlist_t *nv = done(run.req);

	nvlist_add_number(nv, "exec", 12);
	nvlist_add_number(nv, "exit_code", code);
	nvlist_add_number(nv, "signal", sig);
	nvlist_add_bool(nv, "timed_out", late);
	send_nv(nv);
	memset(&run, 0, sizeof(run));
}

/* Ask on behalf of "risky"; so far in the future that it counts as news. */
static void
send_safeguard(uint64_t req)
{
	nvlist_t *nv = event(req, "safeguard");

	nvlist_add_string(nv, "id", ID);
	nvlist_add_string(nv, "safeguard", "sg1");
	nvlist_add_string(nv, "share", "src");
	nvlist_add_string(nv, "message", "delete 50 files");
	nvlist_add_number(nv, "time", 9999999999999);
	send_nv(nv);
}

static void
op_exec(uint64_t req, const nvlist_t *q, int fd)
{
	const char *what = "cat";
	nvlist_t *nv;
	size_t n;

	(void)fd;
	if (nvlist_exists_string_array(q, "argv"))
		what = nvlist_get_string_array(q, "argv", &n)[0];
	if (strcmp(what, "none") == 0) {
		refuse(req, CO_ESANDBOX_EXEC, ENOENT, "no such program");
		return;
	}
	if (strcmp(what, "denied") == 0) {
		refuse(req, CO_ESANDBOX_EXEC, EACCES, "not for you");
		return;
	}
	if (strcmp(ctl_string(q, "id", ""), "nobody") == 0) {
		refuse(req, CO_ESANDBOX_NOTFOUND, 0, "there is no such one");
		return;
	}
	if (ctl_flag(q, "detach", false)) {
		nv = done(req);
		nvlist_add_number(nv, "exec", 12);
		nvlist_add_number(nv, "pid", 77);
		send_nv(nv);
		return;
	}
	memset(&run, 0, sizeof(run));
	run.req = req;
	run.granted = WINDOW;
	nv = event(req, "started");
	nvlist_add_number(nv, "exec", 12);
	send_nv(nv);
	if (strcmp(what, "cat") == 0 || strcmp(what, "/bin/sh") == 0) {
		run.echo = true;
		say(req, "stdout", "ready\n", 6);
	} else if (strcmp(what, "both") == 0) {
		say(req, "stdout", "out\n", 4);
		say(req, "stderr", "err\n", 4);
		finish(3, 0, false);
	} else if (strcmp(what, "killed") == 0)
		finish(0, 9, false);
	else if (strcmp(what, "slow") == 0)
		finish(0, 15, true);
	else if (strcmp(what, "big") == 0) {
		run.left = 3 * 1024 * 1024 + 5;
		pump();
	} else if (strcmp(what, "hang") == 0)
		say(req, "stdout", "ready\n", 6);
	else if (strcmp(what, "risky") == 0) {
		run.hold = true;
		send_safeguard(watcher);
	} else
		finish(0, 0, false);
}

static void
op_events(uint64_t req, const nvlist_t *q, int fd)
{
	nvlist_t *nv;

	(void)fd;
	nv = event(req, "exit");
	nvlist_add_string(nv, "id", ID);
	nvlist_add_string(nv, "name", "web");
	nvlist_add_number(nv, "time", 1700000000000);
	nvlist_add_number(nv, "seq", 7);
	nvlist_add_number(nv, "exit_code", 1);
	nvlist_add_string(nv, "command", "ls\007");
	send_nv(nv);
	if (ctl_flag(q, "follow", true) &&
	    strcmp(ctl_string(q, "op", ""), "events") == 0) {
		watcher = req;
		return;
	}
	send_safeguard(req);
	send_nv(done(req));
}

static void
op_answer(uint64_t req, const nvlist_t *q, int fd)
{

	(void)fd;
	send_nv(done(req));
	if (run.hold)
		finish(ctl_flag(q, "allow", false) ? 0 : 1, 0, false);
}

static void
op_history(uint64_t req, const nvlist_t *q, int fd)
{
	const char *paths[] = { "a", "b\033[2J" };
	nvlist_t *nv;

	(void)q;
	(void)fd;
	nv = event(req, "barrier");
	nvlist_add_number(nv, "barrier", 1);
	nvlist_add_number(nv, "at_us", 1700000000000000);
	nvlist_add_string_array(nv, "paths", paths, 2);
	send_nv(nv);
	nv = event(req, "step");
	nvlist_add_number(nv, "step", 12);
	nvlist_add_string(nv, "kind", "command");
	nvlist_add_string(nv, "command", "rm -rf\n/work");
	nvlist_add_number(nv, "began_us", 1700000000000000);
	nvlist_add_number(nv, "exit", 1);
	nvlist_add_number(nv, "bytes", 2048);
	nvlist_add_number(nv, "paths", 3);
	nvlist_add_bool(nv, "protected", true);
	send_nv(nv);
	send_nv(done(req));
}

static void
op_changes(uint64_t req, const nvlist_t *q, int fd)
{
	nvlist_t *nv = event(req, "path");

	(void)q;
	(void)fd;
	nvlist_add_string(nv, "change", "renamed");
	nvlist_add_string(nv, "type", "file");
	nvlist_add_string(nv, "path", "new");
	nvlist_add_string(nv, "from", "old");
	send_nv(nv);
	send_nv(done(req));
}

static void
op_diff(uint64_t req, const nvlist_t *q, int fd)
{

	(void)q;
	if (fd == -1)
		refuse(req, CO_EPROTO_ARGUMENT, 0, "no descriptor");
	else {
		dprintf(fd, "--- a/f\n+++ b/f\n-old\n+new\n");
		send_nv(done(req));
	}
}

static void
op_undo(uint64_t req, const nvlist_t *q, int fd)
{
	nvlist_t *nv;

	(void)fd;
	if (!ctl_flag(q, "force", false) && ctl_uint(q, "n", 0) > 1) {
		refuse(req, CO_EUNDO_BARRIER, 0, "a barrier is in the way");
		return;
	}
	nv = done(req);
	nvlist_add_number(nv, "steps", ctl_uint(q, "n", 1));
	send_nv(nv);
}

static void
op_ps(uint64_t req, const nvlist_t *q, int fd)
{
	nvlist_t *nv = event(req, "process");

	(void)q;
	(void)fd;
	nvlist_add_number(nv, "exec", 12);
	nvlist_add_number(nv, "pid", 9);
	nvlist_add_number(nv, "age_ms", 61000);
	nvlist_add_string(nv, "command", "sleep \"1\"");
	nvlist_add_bool(nv, "running", true);
	nvlist_add_bool(nv, "pty", true);
	send_nv(nv);
	send_nv(done(req));
}

static void
op_stat(uint64_t req, const nvlist_t *q, int fd)
{
	const char *path = ctl_string(q, "path", "");
	nvlist_t *nv;

	(void)fd;
	if (strstr(path, "new") != NULL) {
		refuse(req, CO_ESYS_ERRNO, ENOENT, "no such file");
		return;
	}
	nv = done(req);
	nvlist_add_string(nv, "kind", strstr(path, "dir") != NULL ? "dir" :
	    "file");
	nvlist_add_number(nv, "mode", 04751);
	send_nv(nv);
}

/* Names that want to get out, and some that may come. */
static void
op_file_list(uint64_t req, const nvlist_t *q, int fd)
{
	static const char *const names[][3] = {
		{ "../escape", "file", "" }, { "/etc/escape", "file", "" },
		{ "..", "dir", "" }, { "good", "file", "" },
		{ "link", "link", "/etc" }, { "link/x", "file", "" },
		{ "node", "char", "" },
	};
	const char *dir = ctl_string(q, "path", "");
	char path[1024];
	nvlist_t *nv;

	(void)fd;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		nv = event(req, "entry");
		snprintf(path, sizeof(path), "%s%s%s",
		    names[i][0][0] == '/' ? "" : dir,
		    names[i][0][0] == '/' ? "" : "/", names[i][0]);
		nvlist_add_string(nv, "path", path);
		nvlist_add_string(nv, "kind", names[i][1]);
		nvlist_add_string(nv, "target", names[i][2]);
		nvlist_add_number(nv, "mode", 06755);
		send_nv(nv);
	}
	send_nv(done(req));
}

static void
op_read(uint64_t req, const nvlist_t *q, int fd)
{
	nvlist_t *nv;

	(void)q;
	(void)fd;
	nv = event(req, "data");
	nvlist_add_binary(nv, "data", "a\0b\377", 4);
	send_nv(nv);
	send_nv(done(req));
}

static void
op_write(uint64_t req, const nvlist_t *q, int fd)
{

	(void)q;
	(void)fd;
	memset(&run, 0, sizeof(run));
	run.req = req;
	run.granted = WINDOW;
	run.sink = true;
}

static void
op_policy(uint64_t req, const nvlist_t *q, int fd)
{
	nvlist_t *nv = done(req);

	(void)q;
	(void)fd;
	nvlist_add_string(nv, "policy",
	    "mode open\nallow 192.0.2.1\nup 5m\n");
	send_nv(nv);
}

static void
op_doctor(uint64_t req, const nvlist_t *q, int fd)
{
	nvlist_t *nv = event(req, "finding");

	(void)q;
	(void)fd;
	nvlist_add_string(nv, "area", "net");
	nvlist_add_string(nv, "name", "nftables");
	nvlist_add_bool(nv, "ok", false);
	nvlist_add_string(nv, "message", "load the module nf_tables");
	send_nv(nv);
	nv = done(req);
	nvlist_add_bool(nv, "ok", false);
	send_nv(nv);
}

static void
op_net_show(uint64_t req, const nvlist_t *q, int fd)
{
	nvlist_t *nv = event(req, "finding"), *pool = nvlist_create(0);

	(void)q;
	(void)fd;
	nvlist_add_string(nv, "health", "good");
	nvlist_add_string(nv, "name", "bridge");
	nvlist_add_string(nv, "message", "up");
	send_nv(nv);
	nv = done(req);
	nvlist_add_string(nv, "uplink", "em0");
	nvlist_add_string(pool, "kind", "pair");
	nvlist_add_string(pool, "range", "10.78.0.0/24");
	nvlist_add_string(pool, "bridge", "coppicenet0");
	nvlist_add_number(pool, "total", 241);
	nvlist_add_number(pool, "live", 3);
	nvlist_add_nvlist_array(nv, "pools", (const nvlist_t *const *)&pool,
	    1);
	nvlist_destroy(pool);
	send_nv(nv);
}

static void
op_templates(uint64_t req, const nvlist_t *q, int fd)
{
	const char *names[] = { "tiny", "small" };
	nvlist_t *nv = event(req, "template");

	(void)q;
	(void)fd;
	nvlist_add_string(nv, "hash", "abcdef0123456789");
	nvlist_add_string(nv, "user", "root");
	nvlist_add_string_array(nv, "names", names, 2);
	nvlist_add_number(nv, "size", 2048);
	nvlist_add_number(nv, "created", 1700000000);
	send_nv(nv);
	send_nv(done(req));
}

static void
op_make(uint64_t req, const nvlist_t *q, int fd)
{
	nvlist_t *nv = event(req, "progress");

	(void)q;
	if (fd != -1)
		dprintf(fd, "archive");
	nvlist_add_string(nv, "message", "unpacking");
	nvlist_add_number(nv, "percent", 50);
	send_nv(nv);
	nv = done(req);
	nvlist_add_string(nv, "hash", "abcdef0123456789");
	send_nv(nv);
}

static void
op_logs(uint64_t req, const nvlist_t *q, int fd)
{
	nvlist_t *nv = event(req, "data");

	(void)q;
	(void)fd;
	nvlist_add_binary(nv, "data", "line\n", 5);
	send_nv(nv);
	send_nv(done(req));
}

static void
op_stats(uint64_t req, const nvlist_t *q, int fd)
{
	nvlist_t *nv = done(req);

	(void)q;
	(void)fd;
	nvlist_add_number(nv, "memory", 1048576);
	nvlist_add_number(nv, "cpu_us", 5000);
	nvlist_add_number(nv, "procs", 4);
	send_nv(nv);
}

static void
op_version(uint64_t req, const nvlist_t *q, int fd)
{
	nvlist_t *nv = done(req);

	(void)q;
	(void)fd;
	nvlist_add_string(nv, "version", "9.9");
	nvlist_add_number(nv, "protocol", 1);
	nvlist_add_number(nv, "pid", 1);
	nvlist_add_number(nv, "sandboxes", 2);
	send_nv(nv);
}

static const struct op {
	const char	*name;
	void		(*fn)(uint64_t, const nvlist_t *, int);
} ops[] = {
	{ "show", op_show }, { "create", op_show }, { "clone", op_show },
	{ "start", op_show }, { "stop", op_show }, { "pause", op_show },
	{ "resume", op_show }, { "destroy", op_show }, { "rename", op_show },
	{ "timeout", op_show }, { "list", op_list }, { "exec", op_exec },
	{ "attach", op_exec }, { "ps", op_ps }, { "kill", op_show },
	{ "events", op_events }, { "logs", op_logs }, { "stats", op_stats },
	{ "history", op_history }, { "changes", op_changes },
	{ "diff", op_diff }, { "undo", op_undo }, { "redo", op_undo },
	{ "safeguard.list", op_events }, { "safeguard.answer", op_answer },
	{ "safeguard.set", op_show }, { "policy.get", op_policy },
	{ "policy.set", op_policy }, { "net.show", op_net_show },
	{ "net.setup", op_net_show }, { "net.teardown", op_show },
	{ "template.list", op_templates }, { "template.build", op_make },
	{ "template.import", op_make }, { "template.export", op_make },
	{ "template.remove", op_make }, { "snapshot", op_make },
	{ "doctor", op_doctor }, { "version", op_version },
	{ "file.stat", op_stat }, { "file.list", op_file_list },
	{ "file.read", op_read }, { "file.write", op_write },
	{ "file.mkdir", op_show },
};

/* What belongs to the command that runs. */
static void
on_more(const char *op, const nvlist_t *q)
{
	const void *data = NULL;
	nvlist_t *nv;
	size_t n = 0;

	if (ctl_uint(q, "to", 0) != run.req)
		return;
	if (strcmp(op, "ack") == 0) {
		run.acked += ctl_uint(q, "bytes", 0);
		if (run.acked > run.sent)
			fprintf(logfile, "BAD acknowledged too much\n");
		pump();
		if (run.sent > 1024 * 1024 && run.left == 0 &&
		    run.acked == run.sent && !run.echo)
			finish(0, 0, false);
	} else if (strcmp(op, "signal") == 0) {
		finish(0, ctl_uint(q, "signal", 0), false);
	} else if (strcmp(op, "input") == 0) {
		if (nvlist_exists_binary(q, "data"))
			data = nvlist_get_binary(q, "data", &n);
		run.taken += n;
		if (run.taken > run.granted)
			fprintf(logfile, "BAD sent more than the window\n");
		if (n > 0 && run.echo)
			say(run.req, "stdout", data, n);
		if (n > 0) {
			nv = event(run.req, "room");
			nvlist_add_number(nv, "bytes", n);
			run.granted += n;
			send_nv(nv);
		}
		if (!ctl_flag(q, "eof", false))
			return;
		if (run.sink) {
			fprintf(logfile, "file of %" PRIu64 " bytes\n",
			    run.taken);
			fflush(logfile);
			send_nv(done(run.req));
		} else
			finish(0, 0, false);
	}
}

static void
on_message(void *arg, nvlist_t *q, int *fds, size_t nfds)
{
	const char *op = ctl_string(q, "op", "");
	uint64_t req = ctl_uint(q, "req", 0);
	size_t i;

	(void)arg;
	log_message(q);
	if (nvlist_exists_number(q, "to"))
		on_more(op, q);
	else {
		for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
			if (strcmp(ops[i].name, op) == 0)
				break;
		if (i < sizeof(ops) / sizeof(ops[0]))
			ops[i].fn(req, q, nfds > 0 ? fds[0] : -1);
		else
			refuse(req, CO_EPROTO_UNKNOWN, 0, "what is that");
	}
	ctl_close_fds(fds, nfds);
	nvlist_destroy(q);
}

static void
serve(int fd)
{
	struct pollfd p = { .fd = fd };
	struct co_error e;

	if (ctl_new(fd, &conn, &e) != 0)
		return;
	memset(&run, 0, sizeof(run));
	do {
		p.events = (short)ctl_want(conn);
		(void)poll(&p, 1, -1);
	} while (ctl_dispatch(conn, p.revents, on_message, NULL, &e) == 0);
	fprintf(logfile, "hung up\n");
	fflush(logfile);
	ctl_free(conn);
}

int
main(int argc, char **argv)
{
	struct co_error e;
	struct pollfd p;
	int fd, one;

	(void)signal(SIGPIPE, SIG_IGN);
	if (argc != 3 || (logfile = fopen(argv[2], "w")) == NULL) {
		fprintf(stderr, "usage: fake_coppiced socket log\n");
		return (1);
	}
	if (ctl_listen(argv[1], 0600, (gid_t)-1, &fd, &e) != 0) {
		fprintf(stderr, "fake_coppiced: %s\n", e.message);
		return (1);
	}
	p = (struct pollfd){ .fd = fd, .events = POLLIN };
	for (;;) {
		(void)poll(&p, 1, -1);
		one = accept(fd, NULL, NULL);
		if (one != -1)
			serve(one);
	}
}
