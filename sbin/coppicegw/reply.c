/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Answers.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gw.h"

#define	HIGH	(256 * 1024)

static const struct {
	int		 status;
	const char	*reason;
} reasons[] = {
	{ 101, "Switching Protocols" }, { 200, "OK" }, { 201, "Created" },
	{ 204, "No Content" }, { 206, "Partial Content" },
	{ 400, "Bad Request" }, { 401, "Unauthorized" },
	{ 403, "Forbidden" }, { 404, "Not Found" },
	{ 405, "Method Not Allowed" }, { 406, "Not Acceptable" },
	{ 409, "Conflict" }, { 411, "Length Required" },
	{ 413, "Content Too Large" }, { 415, "Unsupported Media Type" },
	{ 416, "Range Not Satisfiable" }, { 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" }, { 501, "Not Implemented" },
	{ 502, "Bad Gateway" }, { 503, "Service Unavailable" },
	{ 504, "Gateway Timeout" }, { 507, "Insufficient Storage" },
};

static const char *
reason(int status)
{

	for (size_t i = 0; i < COUNT(reasons); i++)
		if (reasons[i].status == status)
			return (reasons[i].reason);
	return ("Status");
}

/* Pages of any origin may use the SDK; they have no cookies of ours. */
static const char cors[] = "Access-Control-Allow-Origin: *\r\n"
    "Access-Control-Expose-Headers: *\r\n";

static void
head(struct req *r, struct buf *b, int status, const char *type,
    int64_t length, const char *fields)
{
	bool body = status != 204 && status >= 200;

	r->status = status;
	r->bare = strcmp(r->head.method, "HEAD") == 0;
	r->chunked = body && length < 0 && r->head.minor > 0;
	if (body && length < 0 && !r->chunked)
		r->head.keep = false;
	buf_fmt(b, "HTTP/1.1 %d %s\r\n%s", status, reason(status), cors);
	if (type != NULL && body)
		buf_fmt(b, "Content-Type: %s\r\n", type);
	if (r->chunked)
		buf_str(b, "Transfer-Encoding: chunked\r\n");
	else if (body && length >= 0)
		buf_fmt(b, "Content-Length: %jd\r\n", (intmax_t)length);
	if (fields != NULL)
		buf_str(b, fields);
	buf_fmt(b, "X-Request-Id: %s\r\n%s\r\n", r->id, r->head.keep ? "" :
	    "Connection: close\r\n");
}

void
reply_begin(struct req *r, int status, const char *type, int64_t length,
    const char *fields)
{
	struct buf b = { 0 };

	head(r, &b, status, type, length, fields);
	conn_send(r->conn, b.p, b.len);
	buf_free(&b);
}

void
reply_data(struct req *r, const void *data, size_t len)
{
	struct buf b = { 0 };

	if (len == 0 || r->bare)
		return;
	r->sent += len;
	if (!r->chunked) {
		conn_send(r->conn, data, len);
		return;
	}
	buf_fmt(&b, "%zx\r\n", len);
	buf_add(&b, data, len);
	buf_add(&b, "\r\n", 2);
	if (!b.failed)
		conn_send(r->conn, b.p, b.len);
	buf_free(&b);
}

void
reply_end(struct req *r)
{

	if (r->finished)
		return;
	if (r->chunked && !r->bare)
		conn_send(r->conn, "0\r\n\r\n", 5);
	r->finished = true;
	r->paused = false;
	conn_soon(r->conn);
}

void
reply(struct req *r, int status, const char *type, const char *fields,
    const void *data, size_t len)
{
	struct buf b = { 0 };

	head(r, &b, status, type, (int64_t)len, fields);
	if (!r->bare) {
		buf_add(&b, data, len);
		r->sent += len;
	}
	conn_send(r->conn, b.p, b.len);
	buf_free(&b);
	reply_end(r);
}

void
reply_json(struct req *r, int status, json_t *j)
{
	char *text = j != NULL ? json_dumps(j, JSON_COMPACT) : NULL;

	if (text == NULL)
		reply_error(r, 500, "out of memory, or bytes that are not "
		    "text");
	else
		reply(r, status, "application/json", NULL, text,
		    strlen(text));
	free(text);
	json_decref(j);
}

void
reply_empty(struct req *r, int status)
{

	reply(r, status, NULL, NULL, "", 0);
}

void
reply_error(struct req *r, int status, const char *fmt, ...)
{
	char text[1024], fields[64] = "";
	json_t *j, *s;
	char *body;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s = json_string(text);
	if (s == NULL)
		s = json_string("error");
	j = json_pack("{s:i, s:o}", "code", status, "message", s);
	body = j != NULL ? json_dumps(j, JSON_COMPACT) : NULL;
	if (status == 429)
		(void)snprintf(fields, sizeof(fields), "Retry-After: 1\r\n");
	reply(r, status, "application/json", fields, body != NULL ? body :
	    "{}", body != NULL ? strlen(body) : 2);
	free(body);
	json_decref(j);
}

static const struct {
	enum co_code	 code;
	int		 status;
} statuses[] = {
	{ CO_ESANDBOX_NOTFOUND, 404 }, { CO_ETEMPLATE_NOTFOUND, 404 },
	{ CO_ESANDBOX_STATE, 409 }, { CO_ESANDBOX_LIMIT, 429 },
	{ CO_ESESSION_EXISTS, 409 }, { CO_ESANDBOX_TIMEOUT, 504 },
	{ CO_ESANDBOX_LOST, 502 }, { CO_ESANDBOX_EXEC, 400 },
	{ CO_ENET_EXHAUSTED, 503 }, { CO_ENET_POLICY, 400 },
	{ CO_ENET_BADADDR, 400 }, { CO_ETEMPLATE_BAD, 400 },
	{ CO_EPROTO_ARGUMENT, 400 }, { CO_EPROTO_TOOBIG, 413 },
	{ CO_EPROTO_DENIED, 403 }, { CO_EPROTO_UNKNOWN, 501 },
	{ CO_ESYS_UNSUPPORTED, 501 }, { CO_ESYS_CANCELLED, 503 },
	{ CO_ESYS_NOSPACE, 507 }, { CO_ESYS_PERMISSION, 403 },
	{ CO_ESYS_DEADLINE, 504 },
};

int
status_of(const struct co_error *e)
{

	if (e->errnum == ENOENT)
		return (404);
	if (e->errnum == ENOSPC || e->errnum == EDQUOT)
		return (507);
	if (e->errnum == EINVAL || e->errnum == EISDIR ||
	    e->errnum == ENOTDIR || e->errnum == ENAMETOOLONG ||
	    e->errnum == ELOOP)
		return (400);
	for (size_t i = 0; i < COUNT(statuses); i++)
		if (statuses[i].code == e->code)
			return (statuses[i].status);
	return (500);
}

void
reply_failure(struct req *r, const struct co_error *e)
{

	reply_error(r, status_of(e), "%s", e->message);
}

bool
reply_full(struct req *r)
{

	if (conn_backlog(r->conn) < HIGH)
		return (false);
	r->blocked = true;
	return (true);
}
