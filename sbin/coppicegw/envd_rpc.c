/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Connect RPC: from requests to methods and back.  Messages are JSON or
 * protocol buffers; streams have them in envelopes.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rpc.h"

static const struct method methods[] = {
	{ "process.Process", "List", RPC_UNARY, &pb_empty, &pb_list_response,
	    rpc_list, NULL },
	{ "process.Process", "Connect", RPC_SERVER, &pb_connect_request,
	    &pb_process_response, rpc_connect, NULL },
	{ "process.Process", "Start", RPC_SERVER, &pb_start_request,
	    &pb_process_response, rpc_start, NULL },
	{ "process.Process", "Update", RPC_UNARY, &pb_update_request,
	    &pb_empty, rpc_update, NULL },
	{ "process.Process", "StreamInput", RPC_CLIENT,
	    &pb_stream_input_request, &pb_empty, rpc_stream_input,
	    rpc_stream_input_end },
	{ "process.Process", "SendInput", RPC_UNARY, &pb_send_input_request,
	    &pb_empty, rpc_send_input, NULL },
	{ "process.Process", "SendSignal", RPC_UNARY,
	    &pb_send_signal_request, &pb_empty, rpc_signal, NULL },
	{ "process.Process", "CloseStdin", RPC_UNARY,
	    &pb_close_stdin_request, &pb_empty, rpc_close_stdin, NULL },
	{ "filesystem.Filesystem", "Stat", RPC_UNARY, &pb_stat_request,
	    &pb_entry_response, rpc_stat, NULL },
	{ "filesystem.Filesystem", "MakeDir", RPC_UNARY, &pb_stat_request,
	    &pb_entry_response, rpc_mkdir, NULL },
	{ "filesystem.Filesystem", "Move", RPC_UNARY, &pb_move_request,
	    &pb_entry_response, rpc_move, NULL },
	{ "filesystem.Filesystem", "ListDir", RPC_UNARY,
	    &pb_list_dir_request, &pb_list_dir_response, rpc_list_dir, NULL },
	{ "filesystem.Filesystem", "Remove", RPC_UNARY, &pb_stat_request,
	    &pb_empty, rpc_remove, NULL },
	{ "filesystem.Filesystem", "WatchDir", RPC_SERVER,
	    &pb_watch_dir_request, &pb_watch_dir_response, rpc_watch_dir,
	    NULL },
	{ "filesystem.Filesystem", "CreateWatcher", RPC_UNARY,
	    &pb_watch_dir_request, &pb_watcher_id, rpc_create_watcher, NULL },
	{ "filesystem.Filesystem", "GetWatcherEvents", RPC_UNARY,
	    &pb_watcher_id, &pb_watcher_events, rpc_watcher_events, NULL },
	{ "filesystem.Filesystem", "RemoveWatcher", RPC_UNARY,
	    &pb_watcher_id, &pb_empty, rpc_remove_watcher, NULL },
};

/*
 * Answers.
 */
static const char *
type_of(const struct rpc *c)
{

	if (c->m->kind == RPC_UNARY)
		return (c->proto ? "application/proto" : "application/json");
	return (c->proto ? "application/connect+proto" :
	    "application/connect+json");
}

static void
begin_stream(struct req *r)
{
	struct rpc *c = rpc_of(r);

	if (c->begun)
		return;
	c->begun = true;
	reply_begin(r, 200, type_of(c), -1, NULL);
}

static void
send_envelope(struct req *r, unsigned int flags, const void *data,
    size_t len)
{
	struct buf b = { 0 };

	begin_stream(r);
	connect_add(&b, flags, data, len);
	if (!b.failed)
		reply_data(r, b.p, b.len);
	buf_free(&b);
	rpc_of(r)->last = uv_now(r->gw->loop);
}

void
rpc_reply(struct req *r, json_t *j)
{
	struct rpc *c = rpc_of(r);
	struct buf b = { 0 };
	char *text = NULL;

	if (j != NULL && c->proto) {
		if (pb_encode(c->m->out, j, &b) != 0)
			b.failed = true;
	} else if (j != NULL && (text = json_dumps(j, JSON_COMPACT)) != NULL) {
		b.p = text;
		b.len = strlen(text);
	} else
		b.failed = true;
	json_decref(j);
	if (b.failed) {
		rpc_error(r, CONNECT_INTERNAL, "the answer can't be written");
		buf_free(&b);
		return;
	}
	if (c->m->kind == RPC_UNARY)
		reply(r, 200, type_of(c), NULL, b.p != NULL ? b.p : "", b.len);
	else
		send_envelope(r, 0, b.p != NULL ? b.p : "", b.len);
	buf_free(&b);
	if (c->m->kind == RPC_CLIENT)
		rpc_end(r);
}

/* The same by hand: this is what most bytes are. */
void
rpc_bytes(struct req *r, const char *kind, const void *data, size_t len)
{
	struct rpc *c = rpc_of(r);
	struct buf b = { 0 }, head = { 0 };
	json_t *j;

	if (c->proto) {
		buf_base64(&head, data, len);
		j = json_pack("{s:{s:{s:s}}}", "event", "data", kind,
		    head.p != NULL ? head.p : "");
		buf_free(&head);
		rpc_reply(r, j);
		return;
	}
	buf_fmt(&b, "{\"event\":{\"data\":{\"%s\":\"", kind);
	buf_base64(&b, data, len);
	buf_str(&b, "\"}}}");
	if (!b.failed)
		send_envelope(r, 0, b.p, b.len);
	buf_free(&b);
}

void
rpc_end(struct req *r)
{

	send_envelope(r, CONNECT_END, "{}", 2);
	reply_end(r);
}

void
rpc_error(struct req *r, enum connect_code code, const char *fmt, ...)
{
	struct rpc *c = rpc_of(r);
	char message[1024], *text;
	json_t *j, *s;
	va_list ap;

	if (r->finished)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	s = json_string(message);
	j = json_pack("{s:s, s:o}", "code", connect_name(code), "message",
	    s != NULL ? s : json_string("error"));
	if (c->m != NULL && c->m->kind != RPC_UNARY)
		j = json_pack("{s:o}", "error", j);
	text = json_dumps(j, JSON_COMPACT);
	json_decref(j);
	r->discard = true;
	if (c->m != NULL && c->m->kind != RPC_UNARY) {
		send_envelope(r, CONNECT_END, text, strlen(text));
		reply_end(r);
	} else
		reply(r, connect_status(code), "application/json", NULL, text,
		    strlen(text));
	free(text);
}

static const struct {
	enum co_code	 code;
	enum connect_code as;
} codes[] = {
	{ CO_ESANDBOX_NOTFOUND, CONNECT_UNAVAILABLE },
	{ CO_ESANDBOX_STATE, CONNECT_UNAVAILABLE },
	{ CO_ESANDBOX_LOST, CONNECT_UNAVAILABLE },
	{ CO_ESANDBOX_LIMIT, CONNECT_EXHAUSTED },
	{ CO_ESANDBOX_TIMEOUT, CONNECT_DEADLINE },
	{ CO_ESANDBOX_EXEC, CONNECT_INVALID },
	{ CO_EPROTO_ARGUMENT, CONNECT_INVALID },
	{ CO_EPROTO_TOOBIG, CONNECT_EXHAUSTED },
	{ CO_EPROTO_DENIED, CONNECT_DENIED },
	{ CO_ESYS_PERMISSION, CONNECT_DENIED },
	{ CO_ESYS_NOSPACE, CONNECT_EXHAUSTED },
	{ CO_ESYS_CANCELLED, CONNECT_UNAVAILABLE },
};

static const struct {
	int		 error;
	enum connect_code as;
} errnos[] = {
	{ ENOENT, CONNECT_NOTFOUND }, { EEXIST, CONNECT_EXISTS },
	{ ENOTEMPTY, CONNECT_PRECONDITION }, { EINVAL, CONNECT_INVALID },
	{ ENOTDIR, CONNECT_INVALID }, { EISDIR, CONNECT_INVALID },
	{ ENAMETOOLONG, CONNECT_INVALID }, { ELOOP, CONNECT_INVALID },
	{ ENOSPC, CONNECT_EXHAUSTED }, { EDQUOT, CONNECT_EXHAUSTED },
};

void
rpc_failure(struct req *r, const struct co_error *e)
{
	enum connect_code code = CONNECT_INTERNAL;

	for (size_t i = 0; i < COUNT(codes); i++)
		if (codes[i].code == e->code)
			code = codes[i].as;
	if (e->code != CO_ESANDBOX_EXEC)
		for (size_t i = 0; i < COUNT(errnos); i++)
			if (errnos[i].error == e->errnum)
				code = errnos[i].as;
	rpc_error(r, code, "%s", e->message);
}

/*
 * Requests.
 */
static void
run(struct req *r, const char *data, size_t len)
{
	struct rpc *c = rpc_of(r);
	json_t *j = NULL, *raw;

	if (c->proto)
		j = pb_decode(c->m->in, data, len);
	else {
		raw = len == 0 ? json_object() : json_loadb(data, len,
		    JSON_REJECT_DUPLICATES, NULL);
		if (raw != NULL)
			j = pb_take(c->m->in, raw);
		json_decref(raw);
	}
	if (j == NULL) {
		rpc_error(r, CONNECT_INVALID, "the message is malformed");
		return;
	}
	c->ran = true;
	c->m->run(r, j);
	json_decref(j);
}

/* Envelopes that are complete. */
static void
run_stream(struct req *r)
{
	struct rpc *c = rpc_of(r);
	unsigned int flags;
	const char *data;
	size_t len;
	int ret;

	while (!r->finished && !r->paused && (ret = connect_next(&c->in,
	    &flags, &data, &len)) != 0) {
		if (ret < 0 || (c->m->kind == RPC_SERVER && c->ran)) {
			rpc_error(r, CONNECT_INVALID, "the envelope is "
			    "malformed, compressed or longer than %d bytes",
			    CONNECT_MAX);
			return;
		}
		if ((flags & CONNECT_END) == 0)
			run(r, data, len);
		buf_take(&c->in, 5 + len);
	}
}

static void
rpc_body(struct req *r, const char *data, size_t len)
{
	struct rpc *c = rpc_of(r);

	if (r->finished)
		return;
	if (c->m->kind == RPC_UNARY && c->in.len + len > CONNECT_MAX) {
		rpc_error(r, CONNECT_EXHAUSTED, "the message is longer than "
		    "%d bytes", CONNECT_MAX);
		return;
	}
	buf_add(&c->in, data, len);
	if (c->m->kind != RPC_UNARY)
		run_stream(r);
}

static void
rpc_body_end(struct req *r)
{
	struct rpc *c = rpc_of(r);

	if (c->m->kind == RPC_UNARY) {
		run(r, c->in.p, c->in.len);
		return;
	}
	run_stream(r);
	if (r->finished)
		return;
	if (c->in.len > 0 || (c->m->kind == RPC_SERVER && !c->ran))
		rpc_error(r, CONNECT_INVALID, "the stream ended too early");
	else if (c->m->kind == RPC_CLIENT)
		c->m->end(r);
}

static void
rpc_drain(struct req *r)
{
	struct rpc *c = rpc_of(r);

	if (c->drain != NULL)
		c->drain(r);
}

static void
rpc_gone(struct req *r)
{
	struct rpc *c = rpc_of(r);

	if (c->gone != NULL)
		c->gone(r);
	buf_free(&c->in);
	free(c);
	r->data = NULL;
}

static const struct req_ops rpc_ops = { .body = rpc_body,
    .end = rpc_body_end, .drain = rpc_drain, .gone = rpc_gone };

static const struct method *
method_of(const struct req *r)
{

	for (size_t i = 0; i < COUNT(methods); i++)
		if (strcmp(methods[i].service, r->url.segment[0]) == 0 &&
		    strcmp(methods[i].name, r->param[0]) == 0)
			return (&methods[i]);
	return (NULL);
}

static int
take_type(struct req *r, struct rpc *c)
{
	const char *type = http_field(&r->head, "content-type");
	size_t n = type != NULL ? strcspn(type, "; ") : 0;
	static const char *const types[] = { "application/json",
	    "application/proto", "application/connect+json",
	    "application/connect+proto" };

	for (size_t i = 0; i < COUNT(types); i++)
		if (n == strlen(types[i]) &&
		    strncasecmp(type, types[i], n) == 0) {
			c->proto = i % 2 == 1;
			return ((i >= 2) == (c->m->kind != RPC_UNARY) ? 0 :
			    -1);
		}
	return (-1);
}

static uint64_t
milliseconds(const char *s, uint64_t unit)
{

	if (s == NULL || *s == '\0' || strlen(s) > 10 ||
	    strspn(s, "0123456789") != strlen(s))
		return (0);
	return (strtoull(s, NULL, 10) * unit);
}

void
envd_rpc(struct req *r)
{
	const struct method *m = method_of(r);
	const char *coding;
	struct rpc *c;

	if (m == NULL) {
		reply_error(r, 404, "there is no such method");
		return;
	}
	c = calloc(1, sizeof(*c));
	if (c == NULL) {
		reply_error(r, 500, "out of memory");
		return;
	}
	c->m = m;
	r->data = c;
	r->ops = &rpc_ops;
	if (take_type(r, c) != 0) {
		reply(r, 415, "application/json", "Accept-Post: "
		    "application/json, application/proto, "
		    "application/connect+json, application/connect+proto\r\n",
		    "{}", 2);
		return;
	}
	coding = http_field(&r->head, m->kind == RPC_UNARY ?
	    "content-encoding" : "connect-content-encoding");
	if (coding != NULL && strcasecmp(coding, "identity") != 0) {
		rpc_error(r, CONNECT_UNIMPLEMENTED,
		    "compressed messages are not understood");
		return;
	}
	c->timeout_ms = milliseconds(http_field(&r->head,
	    "connect-timeout-ms"), 1);
	c->deadline = c->timeout_ms != 0 ? uv_now(r->gw->loop) +
	    c->timeout_ms : 0;
	c->keepalive_ms = milliseconds(http_field(&r->head,
	    "keepalive-ping-interval"), 1000);
	if (c->keepalive_ms == 0)
		c->keepalive_ms = 90000;
	conn_soon(r->conn);
}
