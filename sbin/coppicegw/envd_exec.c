/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * process.Process: starting, listing and ending processes.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc.h"

#define	ARGS_MAX	4096

static int
take_argv(nvlist_t *nv, const json_t *config)
{
	const char *cmd = json_string_value(json_object_get(config, "cmd"));
	const json_t *args = json_object_get(config, "args"), *v;
	size_t i;

	if (cmd == NULL || *cmd == '\0' || json_array_size(args) > ARGS_MAX)
		return (-1);
	nvlist_append_string_array(nv, "argv", cmd);
	json_array_foreach((json_t *)(uintptr_t)args, i, v) {
		/* A NUL would cut the argument short. */
		if (strlen(json_string_value(v)) != json_string_length(v))
			return (-1);
		nvlist_append_string_array(nv, "argv", json_string_value(v));
	}
	return (0);
}

static int
take_env(nvlist_t *nv, const json_t *config)
{
	const json_t *envs = json_object_get(config, "envs"), *v;
	struct buf b = { 0 };
	const char *key;
	int ret = 0;

	json_object_foreach((json_t *)(uintptr_t)envs, key, v) {
		if (*key == '\0' || strchr(key, '=') != NULL) {
			ret = -1;
			break;
		}
		b.len = 0;
		buf_fmt(&b, "%s=%s", key, json_string_value(v));
		nvlist_append_string_array(nv, "env", b.p);
	}
	buf_free(&b);
	return (ret);
}

static void
take_pty(nvlist_t *nv, const json_t *pty)
{
	const json_t *size = json_object_get(pty, "size");
	json_int_t cols = json_integer_value(json_object_get(size, "cols"));
	json_int_t rows = json_integer_value(json_object_get(size, "rows"));

	nvlist_add_bool(nv, "pty", true);
	nvlist_add_number(nv, "cols", cols > 0 && cols < 65536 ?
	    (uint64_t)cols : 80);
	nvlist_add_number(nv, "rows", rows > 0 && rows < 65536 ?
	    (uint64_t)rows : 24);
}

void
rpc_start(struct req *r, const json_t *in)
{
	const json_t *config = json_object_get(in, "process");
	const json_t *pty = json_object_get(in, "pty");
	const json_t *wants = json_object_get(in, "stdin");
	const char *cwd, *tag, *user = envd_user(r);
	bool has_stdin = pty != NULL || wants == NULL || json_is_true(wants);
	nvlist_t *nv = question("exec", r->box, r->as);

	if (take_argv(nv, config) != 0 || take_env(nv, config) != 0) {
		nvlist_destroy(nv);
		rpc_error(r, CONNECT_INVALID, "the command or its environment"
		    " is malformed");
		return;
	}
	cwd = json_string_value(json_object_get(config, "cwd"));
	tag = json_string_value(json_object_get(in, "tag"));
	/* Below home, as no other folder was named. */
	nvlist_add_string(nv, "cwd", cwd != NULL && *cwd != '\0' ? cwd : ".");
	if (tag != NULL)
		nvlist_add_string(nv, "tag", tag);
	if (user != NULL)
		nvlist_add_string(nv, "user", user);
	if (pty != NULL)
		take_pty(nv, pty);
	nvlist_add_string(nv, "stdin", has_stdin ? "pipe" : "null");
	if (rpc_of(r)->timeout_ms != 0) {
		nvlist_add_number(nv, "timeout_ms", rpc_of(r)->timeout_ms);
		nvlist_add_number(nv, "grace_ms", 1);
	}
	proc_start(r, nv, config, pty != NULL, has_stdin);
}

void
rpc_connect(struct req *r, const json_t *in)
{

	proc_find(r, json_object_get(in, "process"), proc_listen);
}

/*
 * List.
 */
static void
list_gone(struct req *r)
{

	json_decref(rpc_of(r)->data);
	rpc_of(r)->data = NULL;
}

static void
on_process(void *arg, const nvlist_t *nv)
{
	struct req *r = arg;
	json_t *list = rpc_of(r)->data, *config, *j;
	const char *tag = ctl_string(nv, "tag", "");
	struct proc *p;

	if (!ctl_flag(nv, "running", false))
		return;
	p = proc_known(r->gw, r->box, ctl_uint(nv, "exec", 0));
	config = p != NULL && p->config != NULL ? json_incref(p->config) :
	    json_pack("{s:s}", "cmd", ctl_string(nv, "command", ""));
	j = json_pack("{s:o, s:I}", "config", config, "pid",
	    (json_int_t)ctl_uint(nv, "pid", 0));
	if (*tag != '\0')
		(void)json_object_set_new(j, "tag", json_string(tag));
	(void)json_array_append_new(list, j);
}

static void
listed(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	json_t *list = rpc_of(r)->data;

	(void)nv;
	(void)fd;
	if (e != NULL)
		rpc_failure(r, e);
	else
		rpc_reply(r, json_pack("{s:O}", "processes", list));
}

void
rpc_list(struct req *r, const json_t *in)
{

	(void)in;
	rpc_of(r)->data = json_array();
	rpc_of(r)->gone = list_gone;
	(void)ask(r, question("ps", r->box, r->as), on_process, listed);
}

/*
 * Update and SendSignal.
 */
static void
resize(struct req *r, struct proc *p)
{
	const uint64_t *size = rpc_of(r)->number;
	nvlist_t *nv;

	if (size[0] > 0 && size[1] > 0 && p->call != NULL) {
		nv = question("resize", NULL, NULL);
		nvlist_add_number(nv, "rows", size[0]);
		nvlist_add_number(nv, "cols", size[1]);
		call_tell(p->call, nv);
	}
	rpc_reply(r, json_object());
}

void
rpc_update(struct req *r, const json_t *in)
{
	const json_t *size = json_object_get(json_object_get(in, "pty"),
	    "size");

	rpc_of(r)->number[0] = (uint64_t)json_integer_value(json_object_get(
	    size, "rows")) & 65535;
	rpc_of(r)->number[1] = (uint64_t)json_integer_value(json_object_get(
	    size, "cols")) & 65535;
	proc_find(r, json_object_get(in, "process"), resize);
}

static void
signalled(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;

	(void)nv;
	(void)fd;
	if (e != NULL && e->code == CO_ESANDBOX_NOTFOUND)
		rpc_error(r, CONNECT_NOTFOUND, "%s", e->message);
	else if (e != NULL)
		rpc_failure(r, e);
	else
		rpc_reply(r, json_object());
}

static void
send_signal(struct req *r, struct proc *p)
{
	nvlist_t *nv = question("kill", r->box, r->as);

	nvlist_add_number(nv, "exec", p->exec);
	nvlist_add_number(nv, "signal", rpc_of(r)->number[0]);
	nvlist_add_bool(nv, "group", true);
	(void)ask(r, nv, NULL, signalled);
}

void
rpc_signal(struct req *r, const json_t *in)
{
	const char *s = json_string_value(json_object_get(in, "signal"));
	uint64_t signal = s != NULL && strcmp(s, "SIGNAL_SIGKILL") == 0 ? 9 :
	    s != NULL && strcmp(s, "SIGNAL_SIGTERM") == 0 ? 15 : 0;

	rpc_of(r)->number[0] = signal;
	if (signal == 0)
		rpc_error(r, CONNECT_INVALID, "the signal must be SIGTERM or "
		    "SIGKILL");
	else
		proc_find(r, json_object_get(in, "process"), send_signal);
}
