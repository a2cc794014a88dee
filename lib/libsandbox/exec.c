/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Commands: from the request to the shim and back.  A command is the
 * engine's; a call that began it, or attached to it, only listens.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_internal.h"
#include "engine_link.h"

struct command *
command_new(struct sandbox *sb, int64_t id)
{
	struct command *cmd;

	cmd = calloc(1, sizeof(*cmd));
	if (cmd == NULL)
		return (NULL);
	cmd->sb = sb;
	cmd->id = id;
	cmd->began = engine_wall();
	STAILQ_INIT(&cmd->out);
	LIST_INSERT_HEAD(&sb->commands, cmd, link);
	return (cmd);
}

struct command *
command_find(struct sandbox *sb, int64_t id)
{
	struct command *cmd;

	LIST_FOREACH(cmd, &sb->commands, link)
		if (cmd->id == id)
			return (cmd);
	return (NULL);
}

void
command_free(struct command *cmd)
{

	LIST_REMOVE(cmd, link);
	out_free(cmd);
	nvlist_destroy(cmd->req);
	free(cmd->in);
	free(cmd->text);
	free(cmd->tag);
	free(cmd);
}

/* Ids grow over restarts of the engine and of the machine. */
int64_t
command_id(struct sandbox *sb)
{

	if (exec_reserve(sb))
		(void)record_save(sb, NULL);
	return (sb->next_exec++);
}

bool
exec_reserve(struct sandbox *sb)
{

	if ((uint64_t)sb->next_exec < ctl_uint(sb->rec, "reserved", 0))
		return (false);
	rec_number(sb->rec, "reserved", (uint64_t)sb->next_exec +
	    EXEC_BLOCK);
	return (true);
}

void
exec_end_add(nvlist_t *nv, const struct exec_end *x)
{

	nvlist_add_number(nv, "exit_code", (uint64_t)(int64_t)x->exit_code);
	nvlist_add_number(nv, "signal", (uint64_t)(int64_t)x->signal);
	nvlist_add_bool(nv, "timed_out", x->timed_out);
	nvlist_add_number(nv, "cpu_ms", (uint64_t)x->cpu_ms);
	nvlist_add_number(nv, "maxrss", (uint64_t)x->maxrss);
	nvlist_add_number(nv, "output", x->output);
	if (x->error == 0)
		return;
	nvlist_add_number(nv, "errnum", (uint64_t)(int64_t)x->error);
	nvlist_add_string(nv, "message", x->message);
}

void
command_begin(struct command *cmd)
{

	if (step_wanted(cmd)) {
		step_join(cmd);
		return;
	}
	keep_begin(cmd);
	command_run(cmd);
}

static int
signed_of(const nvlist_t *nv, const char *name, int dflt)
{
	uint64_t v = ctl_uint(nv, name, (uint64_t)dflt);

	return (v > INT32_MAX ? INT32_MAX : (int)v);
}

static const char **
list_of(const nvlist_t *nv, const char *name)
{
	const char *const *v;
	const char **list;
	size_t n;

	if (!nvlist_exists_string_array(nv, name))
		return (NULL);
	v = nvlist_get_string_array(nv, name, &n);
	list = calloc(n + 1, sizeof(*list));
	for (size_t i = 0; list != NULL && i < n; i++)
		list[i] = v[i];
	return (list);
}

static int
ask_shim(struct command *cmd, struct co_error *e)
{
	const nvlist_t *q = cmd->req;
	struct shim_exec x = { .id = cmd->id, .pty = cmd->pty,
	    .tag = cmd->tag, .rows = signed_of(q, "rows", 0),
	    .cols = signed_of(q, "cols", 0), .window = CALL_WINDOW,
	    .timeout_ms = signed_of(q, "timeout_ms", 0),
	    .grace_ms = signed_of(q, "grace_ms", 0) };
	const char **argv, **env;
	struct shim *s;
	int ret = -1;

	argv = list_of(q, "argv");
	env = list_of(q, "env");
	x.argv = argv;
	x.env = env;
	if (argv == NULL)
		x.command = ctl_string(q, "command", NULL);
	x.fallback = ctl_string(q, "fallback", NULL);
	x.cwd = ctl_string(q, "cwd", NULL);
	x.user = ctl_string(q, "user", NULL);
	if (strcmp(ctl_string(q, "stdin", "null"), "pipe") == 0)
		x.io[0] = SHIM_PIPE;
	s = link_shim(cmd->sb, e);
	if (s != NULL)
		ret = shim_exec(s, &x, e);
	free(argv);
	free(env);
	return (ret);
}

void
command_run(struct command *cmd)
{
	struct sandbox *sb = cmd->sb;
	struct co_error e;
	nvlist_t *nv;

	if (cmd->doomed) {
		(void)co_error_set(&e, CO_ESYS_CANCELLED, "exec",
		    "cancelled");
		command_failed(cmd, &e);
		return;
	}
	cmd->asked = true;
	if (ask_shim(cmd, &e) != 0) {
		command_failed(cmd, &e);
		return;
	}
	cmd->linked = true;
	link_kick(sb);
	command_feed(cmd);
	nv = box_event(sb, "exec");
	nvlist_add_number(nv, "exec", (uint64_t)cmd->id);
	nvlist_add_string(nv, "command", cmd->text != NULL ? cmd->text : "");
	nvlist_add_number(nv, "step", (uint64_t)cmd->step);
	box_tell(sb, nv);
}

/* It never ran, or nothing more will be heard of it. */
void
command_failed(struct command *cmd, const struct co_error *e)
{
	struct sandbox *sb = cmd->sb;
	struct engine_call *c = cmd->call;
	void (*over)(struct command *, void *) = cmd->over;
	struct co_error copy = *e;
	int64_t id = cmd->id;

	cmd->ended = true;
	cmd->end.error = e->errnum != 0 ? e->errnum : EIO;
	cmd->end.exit_code = 255;
	cmd->call = NULL;
	cmd->over = NULL;
	cmd->waiting = false;
	(void)step_leave(cmd);
	cmd->settling = false;
	if (c != NULL) {
		c->cancel = NULL;
		c->data = NULL;
		call_fail(c, &copy);
	}
	if (over != NULL)
		over(cmd, cmd->arg);
	command_free(cmd);
	keep_gone(sb, id);
}

/* Everything was told: the end of a call, and of the command. */
static void
finish(struct command *cmd)
{
	struct engine_call *c = cmd->call;
	nvlist_t *nv;

	nv = nvlist_create(0);
	nvlist_add_number(nv, "exec", (uint64_t)cmd->id);
	nvlist_add_number(nv, "step", (uint64_t)cmd->step);
	exec_end_add(nv, &cmd->end);
	c->cancel = NULL;
	c->data = NULL;
	command_free(cmd);
	call_done(c, nv);
}

/* Send what may be sent. */
void
command_flush(struct command *cmd)
{
	struct engine_call *c = cmd->call;
	struct piece *p;
	nvlist_t *nv;
	size_t skip;

	if (c == NULL || cmd->detach)
		return;
	STAILQ_FOREACH(p, &cmd->out, link) {
		if (p->offset + p->len <= cmd->sent)
			continue;
		if (c->held)
			return;
		skip = p->offset < cmd->sent ?
		    (size_t)(cmd->sent - p->offset) : 0;
		nv = event_new("output");
		nvlist_add_string(nv, "stream", p->stream == SHIM_STDOUT ?
		    "stdout" : "stderr");
		nvlist_add_number(nv, "offset", p->offset + skip);
		nvlist_add_binary(nv, "data", p->data + skip, p->len - skip);
		cmd->sent = p->offset + p->len;
		call_event(c, nv);
	}
	if (cmd->ended && !cmd->settling && !c->held)
		finish(cmd);
}

/* Nothing comes any more; who listens is told, else it is kept. */
void
command_over(struct command *cmd)
{
	void (*over)(struct command *, void *) = cmd->over;

	if (cmd->detach || (cmd->call == NULL && over == NULL)) {
		if (cmd->call == NULL)
			command_free(cmd);
		return;
	}
	if (over == NULL) {
		command_flush(cmd);
		return;
	}
	cmd->over = NULL;
	over(cmd, cmd->arg);
	command_free(cmd);
}

void
command_feed(struct command *cmd)
{
	nvlist_t *nv;
	struct co_error e;
	struct shim *s;
	ssize_t n;

	s = link_shim(cmd->sb, &e);
	if (s == NULL || !cmd->linked || cmd->ended || cmd->inclosed ||
	    (cmd->inlen == 0 && !cmd->ineof))
		return;
	n = shim_stdin(s, cmd->id, cmd->in, cmd->inlen, cmd->ineof);
	link_kick(cmd->sb);
	if (n < 0) {
		cmd->inclosed = true;
		n = (ssize_t)cmd->inlen;
	}
	if (n > 0)
		memmove(cmd->in, cmd->in + n, cmd->inlen - (size_t)n);
	cmd->inlen -= (size_t)n;
	if (cmd->inlen == 0 && cmd->ineof)
		cmd->inclosed = true;
	if (n == 0 || cmd->call == NULL)
		return;
	nv = event_new("room");
	nvlist_add_number(nv, "bytes", (uint64_t)n);
	call_event(cmd->call, nv);
}

void
command_stop(struct command *cmd, int64_t grace)
{
	struct co_error e;
	struct shim *s;

	cmd->doomed = true;
	s = link_shim(cmd->sb, &e);
	if (s == NULL || !cmd->asked || cmd->ended)
		return;
	(void)shim_cancel(s, cmd->id, grace, &e);
	link_kick(cmd->sb);
}

/*
 * What the shim says.
 */
static void
tell_started(struct command *cmd)
{
	struct engine_call *c = cmd->call;
	nvlist_t *nv;

	if (c == NULL)
		return;
	if (!cmd->detach) {
		nv = event_new("started");
		nvlist_add_number(nv, "exec", (uint64_t)cmd->id);
		nvlist_add_number(nv, "pid", (uint64_t)cmd->pid);
		call_event(c, nv);
		return;
	}
	nv = nvlist_create(0);
	nvlist_add_number(nv, "exec", (uint64_t)cmd->id);
	nvlist_add_number(nv, "pid", (uint64_t)cmd->pid);
	nvlist_add_number(nv, "step", (uint64_t)cmd->step);
	cmd->call = NULL;
	cmd->detach = false;
	c->cancel = NULL;
	call_done(c, nv);
}

void
exec_started(struct sandbox *sb, int64_t id, int pid)
{
	struct command *cmd;

	cmd = command_find(sb, id);
	if (cmd == NULL)
		return;
	cmd->started = cmd->running = true;
	cmd->pid = pid;
	if (cmd->doomed)
		command_stop(cmd, -1);
	tell_started(cmd);
}

void
exec_output(struct sandbox *sb, int64_t id, enum shim_stream stream,
    uint64_t offset, const void *data, size_t len)
{
	struct command *cmd;

	cmd = command_find(sb, id);
	if (cmd == NULL || cmd->log) {
		if (cmd != NULL)
			log_append(sb, data, len);
		shim_consumed(sb->shim->shim, id, len);
		return;
	}
	out_add(cmd, stream, offset, data, len);
	out_ack(cmd, cmd->acked);
	command_flush(cmd);
}

void
exec_room(struct sandbox *sb, int64_t id)
{
	struct command *cmd;

	cmd = command_find(sb, id);
	if (cmd != NULL)
		command_feed(cmd);
}

static void
tell_exit(struct command *cmd)
{
	nvlist_t *nv;

	nv = box_event(cmd->sb, "exit");
	nvlist_add_number(nv, "exec", (uint64_t)cmd->id);
	nvlist_add_number(nv, "step", (uint64_t)cmd->step);
	exec_end_add(nv, &cmd->end);
	box_tell(cmd->sb, nv);
}

void
exec_completed(struct sandbox *sb, int64_t id, const struct shim_exit *x)
{
	struct command *cmd;
	struct co_error e;

	cmd = command_find(sb, id);
	if (cmd == NULL)
		return;
	cmd->end = (struct exec_end){ .exit_code = x->exit_code,
	    .signal = x->signal, .timed_out = x->timed_out,
	    .error = x->error, .output = x->output, .cpu_ms = x->cpu_ms,
	    .maxrss = x->maxrss };
	(void)snprintf(cmd->end.message, sizeof(cmd->end.message), "%s",
	    x->message);
	if (x->error != 0 && !cmd->started) {
		(void)co_error_errno(&e, x->error, cmd->text, "%s%s%s",
		    cmd->text != NULL ? cmd->text : "exec",
		    *x->message != '\0' ? ": " : "", x->message);
		e.code = CO_ESANDBOX_EXEC;
		/* It was the user or the directory that is not there. */
		if (x->exit_code != 127 && e.errnum == ENOENT)
			e.errnum = 0;
		command_failed(cmd, &e);
		return;
	}
	cmd->ended = true;
	cmd->running = false;
	keep_end(cmd);
	tell_exit(cmd);
	if (!step_leave(cmd))
		command_over(cmd);
}

/* The answer to an attach, after we or the connection came back. */
void
exec_process(struct sandbox *sb, const struct shim_process *p)
{
	struct command *cmd;
	bool first;

	cmd = command_find(sb, p->id);
	if (cmd == NULL)
		return;
	first = !cmd->started;
	cmd->started = cmd->running = cmd->linked = true;
	cmd->pid = p->pid;
	out_free(cmd);
	cmd->freed = cmd->got = p->offset;
	if (cmd->acked < cmd->freed)
		cmd->acked = cmd->freed;
	if (cmd->sent < cmd->freed)
		cmd->sent = cmd->freed;
	if (cmd->ephemeral && cmd->call == NULL)
		command_stop(cmd, -1);
	/* Somebody may have been faster than the shim's answer. */
	if (first)
		tell_started(cmd);
	command_feed(cmd);
}

void
command_attach(struct command *cmd, struct engine_call *c)
{

	cmd->call = c;
	cmd->sent = cmd->freed;
	if (cmd->started)
		tell_started(cmd);
	command_flush(cmd);
}

/* Nothing more will be heard of any of them. */
void
commands_lost(struct sandbox *sb, const struct co_error *e)
{
	struct command *cmd;

	sb->step_state = STEP_NONE;
	while ((cmd = LIST_FIRST(&sb->commands)) != NULL) {
		/* The one that failed is not in the list any more. */
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		cmd->in_step = false;
		command_failed(cmd, e);
	}
}
