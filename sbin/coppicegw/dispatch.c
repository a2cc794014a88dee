/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * From a request to its handler: which door it is for (the API, envd of a
 * sandbox, a port of a sandbox), whether whoever sent it may, and its body.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "gw.h"

/* What SDKs say in their debug mode, where they create no sandbox. */
#define	DEBUG_ID	"debug_sandbox_id"

static const struct req_ops collecting;

/*
 * Bodies that are collected first.
 */
static void
collect(struct req *r, const char *data, size_t len)
{

	if (r->text.len + len > JSON_BODY_MAX) {
		r->ops = NULL;
		r->discard = true;
		reply_error(r, 413, "the body is longer than %d bytes",
		    JSON_BODY_MAX);
		return;
	}
	buf_add(&r->text, data, len);
}

static void
collected(struct req *r)
{

	r->ops = NULL;
	r->route->run(r);
}

static const struct req_ops collecting = { .body = collect,
    .end = collected };

static void
serve(struct req *r)
{

	if (r->head.expect && !r->body.done)
		conn_send(r->conn, "HTTP/1.1 100 Continue\r\n\r\n", 25);
	if (r->route->stream) {
		r->route->run(r);
		return;
	}
	r->ops = &collecting;
	conn_soon(r->conn);
}

/*
 * The API.
 */
static void
keyed(struct req *r)
{

	if (!key_may(r->key, r->route->scope))
		reply_error(r, 403, "the API key is not allowed to do that");
	else
		serve(r);
}

static void
to_api(struct req *r)
{
	int status = route_find(api_routes, api_nroutes, r);

	if (status == 405)
		reply_error(r, 405, "that can't be done there");
	else if (status != 0)
		reply_error(r, 404, "there is nothing there");
	else if (r->route->scope == SCOPE_NONE)
		serve(r);
	else
		keys_check(r, keyed);
}

/*
 * envd.
 */
static void
awake(struct req *r)
{

	serve(r);
}

static void
envd_box(struct req *r, struct box *b)
{
	const char *token = http_field(&r->head, "x-access-token");

	(void)snprintf(r->box, sizeof(r->box), "%s", b->id);
	(void)snprintf(r->as, sizeof(r->as), "%s", b->owner);
	if (r->route->run == envd_health) {
		r->data = NULL;
		if (strcmp(b->state, "running") == 0)
			reply_empty(r, 204);
		else
			reply_error(r, 502, "the sandbox is %s", b->state);
		return;
	}
	if (b->token != NULL && (token == NULL ||
	    !same_secret(token, b->token)) &&
	    !((r->route->run == envd_upload ||
	    r->route->run == envd_download) && sign_valid(r, b->token,
	    r->route->run == envd_upload))) {
		reply_error(r, 401, "the access token of the sandbox is "
		    "missing or not right");
		return;
	}
	box_awake(r, b, false, awake);
}

static void
to_envd(struct req *r, const char *id)
{
	int status = route_find(envd_routes, envd_nroutes, r);

	if (status == 405)
		reply_error(r, 405, "that can't be done there");
	else if (status != 0)
		reply_error(r, 404, "there is nothing there");
	else
		box_find(r, id, envd_box);
}

/* Browsers ask whether they may. */
static void
preflight(struct req *r)
{
	const char *want = http_field(&r->head,
	    "access-control-request-headers");
	struct buf b = { 0 };

	buf_fmt(&b, "Access-Control-Allow-Methods: GET, POST, PUT, PATCH, "
	    "DELETE\r\nAccess-Control-Max-Age: 7200\r\n"
	    "Access-Control-Allow-Headers: %.4000s\r\n",
	    want != NULL ? want : "*");
	reply(r, 204, NULL, b.p, "", 0);
	buf_free(&b);
}

void
dispatch(struct req *r)
{
	const char *host = http_field(&r->head, "host");
	const char *id = http_field(&r->head, "e2b-sandbox-id");
	const char *at = http_field(&r->head, "e2b-sandbox-port");
	char box[CO_IDSIZE];
	int port = ENVD_PORT;
	bool found;

	found = host != NULL && dispatch_host(host, r->gw->s.domain, &port,
	    box);
	if (!found && id != NULL && !(conn_envd(r->conn) &&
	    strcmp(id, DEBUG_ID) == 0)) {
		if (!host_id(id, strlen(id), box) || (at != NULL &&
		    !host_port(at, strlen(at), &port))) {
			reply_error(r, 502, "there is no such sandbox");
			return;
		}
		found = true;
	}
	if (found && port != ENVD_PORT) {
		(void)snprintf(r->box, sizeof(r->box), "%s", box);
		proxy_run(r, port);
		return;
	}
	if (strcmp(r->head.method, "OPTIONS") == 0)
		preflight(r);
	else if (strcmp(r->head.method, "CONNECT") == 0)
		reply_error(r, 405, "CONNECT is not served");
	else if (found)
		to_envd(r, box);
	else if (conn_envd(r->conn) || (r->url.nsegments == 1 &&
	    strcmp(r->url.segment[0], "files") == 0 &&
	    http_param(&r->url, "signature") != NULL))
		to_envd(r, NULL);
	else
		to_api(r);
}
