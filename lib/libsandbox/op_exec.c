/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Operations on commands.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_internal.h"

#define	ARGS_MAX	4096
#define	TEXT_MAX	256

static void
take_input(struct command *cmd, const nvlist_t *nv)
{
	const void *data = NULL;
	size_t len = 0;
	char *in;

	if (nvlist_exists_binary(nv, "data"))
		data = nvlist_get_binary(nv, "data", &len);
	if (cmd->inclosed || cmd->ineof)
		return;
	if (cmd->inlen + len > CALL_WINDOW) {
		struct engine_call *c = cmd->call;

		cmd->call = NULL;
		c->cancel = NULL;
		call_fault(c, CO_EPROTO_TOOBIG, "input",
		    "more input than was granted");
		return;
	}
	if (len > 0) {
		in = realloc(cmd->in, cmd->inlen + len);
		if (in == NULL)
			return;
		memcpy(in + cmd->inlen, data, len);
		cmd->in = in;
		cmd->inlen += len;
	}
	cmd->ineof = ctl_flag(nv, "eof", false);
	command_feed(cmd);
}

static void
send_signal(struct command *cmd, int sig, bool group)
{
	struct co_error e;
	struct shim *s;

	s = link_shim(cmd->sb, &e);
	if (s == NULL || !cmd->started || cmd->ended || sig <= 0 || sig > 64)
		return;
	(void)shim_signal(s, cmd->id, sig, group, &e);
	link_kick(cmd->sb);
}

static void
resize(struct command *cmd, const nvlist_t *nv)
{
	uint64_t rows = ctl_uint(nv, "rows", 24);
	uint64_t cols = ctl_uint(nv, "cols", 80);
	struct co_error e;
	struct shim *s;

	s = link_shim(cmd->sb, &e);
	if (s == NULL || !cmd->asked || cmd->ended || rows > 65535 ||
	    cols > 65535)
		return;
	(void)shim_resize(s, cmd->id, (int)rows, (int)cols, &e);
	link_kick(cmd->sb);
}

static void
exec_input(struct engine_call *c, const nvlist_t *nv)
{
	struct command *cmd = c->data;
	const char *op = ctl_string(nv, "op", "");
	uint64_t n;

	if (strcmp(op, "ack") == 0) {
		n = ctl_uint(nv, "bytes", 0);
		if (n > cmd->sent - cmd->acked)
			n = cmd->sent - cmd->acked;
		out_ack(cmd, cmd->acked + n);
	} else if (strcmp(op, "input") == 0)
		take_input(cmd, nv);
	else if (strcmp(op, "resize") == 0)
		resize(cmd, nv);
	else if (strcmp(op, "signal") == 0)
		send_signal(cmd, (int)(ctl_uint(nv, "signal", 0) & 127),
		    ctl_flag(nv, "group", true));
}

/* A command goes on without those who asked for it. */
static void
exec_cancel(struct engine_call *c)
{
	struct command *cmd = c->data;

	cmd->call = NULL;
	cmd->detach = false;
	if (cmd->ephemeral)
		command_stop(cmd, -1);
	if (cmd->ended && !cmd->settling)
		command_free(cmd);
}

static void
exec_resumed(struct engine_call *c)
{

	command_flush(c->data);
}

static void
listen_to(struct engine_call *c, struct command *cmd)
{

	c->data = cmd;
	c->input = exec_input;
	c->cancel = exec_cancel;
	c->resumed = exec_resumed;
}

/* The command in words, for people. */
static char *
text_of(const nvlist_t *q)
{
	const char *const *v;
	char buf[TEXT_MAX] = "";
	size_t n, len = 0;

	if (!nvlist_exists_string_array(q, "argv"))
		return (strndup(ctl_string(q, "command", ""), TEXT_MAX - 1));
	v = nvlist_get_string_array(q, "argv", &n);
	for (size_t i = 0; i < n && len < sizeof(buf) - 1; i++) {
		(void)snprintf(buf + len, sizeof(buf) - len, "%s%s",
		    i > 0 ? " " : "", v[i]);
		len = strlen(buf);
	}
	return (strdup(buf));
}

static int
check(const struct sandbox *sb, const nvlist_t *q, struct co_error *e)
{
	const struct command *cmd;
	size_t n = 0;

	if (nvlist_exists_string_array(q, "argv"))
		(void)nvlist_get_string_array(q, "argv", &n);
	if (n > ARGS_MAX || (n == 0 && *ctl_string(q, "command", "") ==
	    '\0'))
		return (co_error_set(e, CO_EPROTO_ARGUMENT, "argv",
		    "\"argv\" must be a program and its arguments, or "
		    "\"command\" a text for the shell"));
	n = 0;
	LIST_FOREACH(cmd, &sb->commands, link)
		n++;
	if (n >= COMMANDS_MAX)
		return (co_error_set(e, CO_ESANDBOX_LIMIT, sb->id,
		    "the sandbox runs %d commands already", COMMANDS_MAX));
	return (0);
}

static void
exec_run(struct engine_call *c)
{
	const nvlist_t *q = c->req;
	struct sandbox *sb;
	struct command *cmd;
	struct co_error e;

	sb = call_box(c, &e);
	if (check(sb, q, &e) != 0) {
		call_fail(c, &e);
		return;
	}
	cmd = link_shim(sb, &e) == NULL ? NULL : command_new(sb,
	    command_id(sb));
	if (cmd == NULL) {
		call_fail(c, &e);
		return;
	}
	cmd->req = nvlist_clone(q);
	cmd->text = text_of(q);
	cmd->tag = strdup(ctl_string(q, "tag", ""));
	cmd->pty = ctl_flag(q, "pty", false);
	cmd->ephemeral = ctl_flag(q, "ephemeral", false);
	cmd->detach = ctl_flag(q, "detach", false);
	cmd->log = ctl_flag(q, "log", false);
	cmd->call = c;
	listen_to(c, cmd);
	command_begin(cmd);
}

/* One that ended: what is left of it, and its end. */
static void
attach_ended(struct engine_call *c, struct sandbox *sb, const nvlist_t *end)
{
	int64_t id = (int64_t)ctl_uint(end, "exec", 0);
	const nvlist_t *const *v;
	nvlist_t *nv, *tail;
	size_t n;

	tail = keep_tail(sb, id);
	if (tail != NULL && nvlist_exists_nvlist_array(tail, "pieces")) {
		v = nvlist_get_nvlist_array(tail, "pieces", &n);
		for (size_t i = 0; i < n; i++) {
			nv = nvlist_clone(v[i]);
			rec_string(nv, "stream", ctl_uint(v[i], "stream",
			    0) == SHIM_STDOUT ? "stdout" : "stderr");
			nvlist_add_string(nv, "event", "output");
			call_event(c, nv);
		}
	}
	nvlist_destroy(tail);
	call_done(c, nvlist_clone(end));
}

static void
take_over(struct command *cmd)
{
	struct engine_call *c = cmd->call;

	if (c == NULL)
		return;
	cmd->call = NULL;
	cmd->detach = false;
	c->cancel = NULL;
	call_fault(c, CO_ESYS_CANCELLED, "exec",
	    "another request attached to the command");
}

static void
attach_run(struct engine_call *c)
{
	int64_t id = (int64_t)ctl_uint(c->req, "exec", 0);
	const nvlist_t *end;
	struct command *cmd;
	struct sandbox *sb;
	struct co_error e;
	uint64_t offset;

	sb = call_box(c, &e);
	cmd = command_find(sb, id);
	if (cmd != NULL && cmd->over == NULL) {
		take_over(cmd);
		listen_to(c, cmd);
		offset = ctl_uint(c->req, "offset", 0);
		if (offset > cmd->freed && offset <= cmd->got)
			out_ack(cmd, offset);
		command_attach(cmd, c);
		return;
	}
	end = keep_find(sb, id);
	if (end != NULL)
		attach_ended(c, sb, end);
	else
		call_fault(c, CO_ESANDBOX_NOTFOUND, c->box,
		    "the sandbox has no such command; \"coppicectl ps\" "
		    "lists them");
}

static void
ps_run(struct engine_call *c)
{
	const struct command *cmd;
	struct sandbox *sb;
	struct co_error e;
	nvlist_t *nv;

	sb = call_box(c, &e);
	LIST_FOREACH(cmd, &sb->commands, link) {
		nv = event_new("process");
		nvlist_add_number(nv, "exec", (uint64_t)cmd->id);
		nvlist_add_number(nv, "pid", (uint64_t)cmd->pid);
		nvlist_add_number(nv, "age_ms", (uint64_t)(engine_wall() -
		    cmd->began));
		nvlist_add_number(nv, "step", (uint64_t)cmd->step);
		nvlist_add_string(nv, "command", cmd->text != NULL ?
		    cmd->text : "");
		nvlist_add_string(nv, "tag", cmd->tag != NULL ? cmd->tag :
		    "");
		nvlist_add_bool(nv, "running", cmd->running ||
		    (!cmd->started && !cmd->ended));
		nvlist_add_bool(nv, "pty", cmd->pty);
		nvlist_add_bool(nv, "attached", cmd->call != NULL);
		call_event(c, nv);
	}
	call_done(c, NULL);
}

static void
kill_run(struct engine_call *c)
{
	uint64_t grace = ctl_uint(c->req, "grace_ms", 0);
	uint64_t sig = ctl_uint(c->req, "signal", SIGTERM);
	struct command *cmd;
	struct sandbox *sb;
	struct co_error e;

	sb = call_box(c, &e);
	cmd = command_find(sb, (int64_t)ctl_uint(c->req, "exec", 0));
	if (cmd == NULL) {
		call_fault(c, CO_ESANDBOX_NOTFOUND, c->box,
		    "the sandbox has no such command; \"coppicectl ps\" "
		    "lists them");
		return;
	}
	if (link_shim(sb, &e) == NULL) {
		call_fail(c, &e);
		return;
	}
	if (!cmd->started && !cmd->ended) {
		call_fault(c, CO_ESANDBOX_STATE, c->box,
		    "the command has not begun yet, or was not found again "
		    "yet; try again in a moment");
		return;
	}
	if (nvlist_exists_number(c->req, "grace_ms") &&
	    !nvlist_exists(c->req, "signal"))
		command_stop(cmd, grace > 600000 ? 600000 : (int64_t)grace);
	else
		send_signal(cmd, (int)(sig & 127), ctl_flag(c->req, "group",
		    true));
	call_done(c, NULL);
}

const struct op ops_exec[] = {
	{ "exec", OP_BOX | OP_RUNNING | OP_AUDIT, exec_run, NULL },
	{ "attach", OP_BOX | OP_AUDIT, attach_run, NULL },
	{ "ps", OP_BOX, ps_run, NULL },
	{ "kill", OP_BOX | OP_RUNNING | OP_AUDIT, kill_run, NULL },
	{ NULL, 0, NULL, NULL }
};
