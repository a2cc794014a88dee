/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * process.Process: input, in one message or as a stream.
 */

#include <stdlib.h>
#include <string.h>

#include "rpc.h"

static void
done(struct req *r)
{

	rpc_reply(r, json_object());
}

static int
take_input(struct req *r, const json_t *input, char **data, size_t *len,
    bool *pty)
{
	const json_t *v = json_object_get(input, "stdin");

	*pty = v == NULL;
	if (v == NULL)
		v = json_object_get(input, "pty");
	if (v != NULL && base64_decode(json_string_value(v),
	    json_string_length(v), data, len) == 0)
		return (0);
	rpc_error(r, CONNECT_INVALID, "there is no input, or it is not "
	    "base64");
	return (-1);
}

/* Tell the process; 0, or -1 with an answer. */
static int
say(struct req *r, struct proc *p, const char *data, size_t len, bool pty,
    bool eof)
{

	if (!p->has_stdin || p->eof || (pty && !p->pty))
		rpc_error(r, CONNECT_PRECONDITION, "the process has no "
		    "%s that is open", pty ? "terminal" : "stdin");
	else if (eof && p->pty)
		rpc_error(r, CONNECT_PRECONDITION, "a terminal can't be "
		    "closed; send it Ctrl-D");
	else if (proc_input(p, data, len, eof) != 0)
		rpc_error(r, CONNECT_EXHAUSTED, "the process does not read "
		    "its input");
	else
		return (0);
	return (-1);
}

/*
 * SendInput and CloseStdin.  The bytes wait in the rpc's buffer.
 */
static void
say_it(struct req *r, struct proc *p)
{
	struct rpc *c = rpc_of(r);

	if (say(r, p, c->in.p, c->in.len, c->number[0] != 0,
	    c->number[1] != 0) == 0)
		proc_wait(p, r, done);
}

void
rpc_send_input(struct req *r, const json_t *in)
{
	struct rpc *c = rpc_of(r);
	char *data;
	size_t len;
	bool pty;

	if (take_input(r, json_object_get(in, "input"), &data, &len,
	    &pty) != 0)
		return;
	buf_free(&c->in);
	buf_add(&c->in, data, len);
	free(data);
	c->number[0] = pty;
	proc_find(r, json_object_get(in, "process"), say_it);
}

void
rpc_close_stdin(struct req *r, const json_t *in)
{

	buf_free(&rpc_of(r)->in);
	rpc_of(r)->number[1] = 1;
	proc_find(r, json_object_get(in, "process"), say_it);
}

/*
 * StreamInput: the first message names the process, the others have bytes.
 */
static void
go_on(struct req *r)
{

	if (r->finished)
		return;
	r->paused = false;
	/* What came meanwhile is looked at again when the body ends. */
	if (r->ops->body != NULL)
		r->ops->body(r, "", 0);
	conn_soon(r->conn);
}

static void
pour_to(struct req *r, struct proc *p)
{

	rpc_of(r)->number[0] = p->exec;
	go_on(r);
}

static void
pour(struct req *r, const json_t *event)
{
	struct proc *p = proc_known(r->gw, r->box, rpc_of(r)->number[0]);
	char *data;
	size_t len;
	bool pty;

	if (p == NULL) {
		rpc_error(r, CONNECT_NOTFOUND, "the process ended, or none "
		    "was named");
		return;
	}
	if (take_input(r, json_object_get(event, "input"), &data, &len,
	    &pty) != 0)
		return;
	if (say(r, p, data, len, pty, false) == 0 && p->in.len > 0) {
		r->paused = true;
		proc_wait(p, r, go_on);
	}
	free(data);
}

void
rpc_stream_input(struct req *r, const json_t *in)
{
	const json_t *start = json_object_get(in, "start");
	const json_t *data = json_object_get(in, "data");

	if (start != NULL) {
		r->paused = true;
		proc_find(r, json_object_get(start, "process"), pour_to);
	} else if (data != NULL)
		pour(r, data);
}

void
rpc_stream_input_end(struct req *r)
{

	done(r);
}
