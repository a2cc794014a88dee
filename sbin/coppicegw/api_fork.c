/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Forks of a sandbox, one after the other; each has tokens of its own.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gw.h"

#define	FORKS_MAX	32
#define	TIMEOUT_DEFAULT	15
#define	TIMEOUT_MAX	(30 * 86400)

struct forking {
	json_t		*results;
	json_int_t	 left;
	uint64_t	 timeout_ms;
	nvlist_t	*from;		/* the sandbox */
};

static void next_fork(struct req *);

static void
forking_gone(struct req *r)
{
	struct forking *f = r->data;

	json_decref(f->results);
	nvlist_destroy(f->from);
	free(f);
	r->data = NULL;
}

static const struct req_ops forking_ops = { .gone = forking_gone };

static void
forked(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct forking *f = r->data;
	const char *token, *traffic;
	json_t *j, *box;

	(void)fd;
	if (e != NULL)
		j = json_pack("{s:{s:i, s:s}}", "error", "code",
		    status_of(e), "message", e->message);
	else {
		token = label(nv, "token");
		traffic = label(nv, "traffic");
		box = json_pack("{s:s, s:s, s:s, s:s, s:s*, s:s*}",
		    "sandboxID", ctl_string(nv, "id", ""), "templateID",
		    ctl_string(nv, "template", ""), "clientID", "coppice",
		    "envdVersion", ENVD_VERSION, "envdAccessToken", token,
		    "trafficAccessToken", traffic);
		j = json_pack("{s:o}", "sandbox", box);
	}
	(void)json_array_append_new(f->results, j);
	next_fork(r);
}

static void
own_token(nvlist_t *nv, const char *name)
{
	unsigned char raw[20];
	char text[64];
	size_t n;

	co_random(raw, sizeof(raw));
	n = (size_t)snprintf(text, sizeof(text), "gw.%s=", name);
	for (size_t i = 0; i < sizeof(raw); i++)
		(void)snprintf(text + n + 2 * i, 3, "%02x", raw[i]);
	nvlist_append_string_array(nv, "labels", text);
}

/* What we remember of the first one, but for its secrets. */
static void
copy_labels(nvlist_t *nv, const nvlist_t *from)
{
	const char *const *v;
	size_t n;

	if (!nvlist_exists_string_array(from, "labels"))
		return;
	v = nvlist_get_string_array(from, "labels", &n);
	for (size_t i = 0; i < n; i++)
		if (strncmp(v[i], "gw.token=", 9) == 0)
			own_token(nv, "token");
		else if (strncmp(v[i], "gw.traffic=", 11) == 0)
			own_token(nv, "traffic");
		else
			nvlist_append_string_array(nv, "labels", v[i]);
}

static void
next_fork(struct req *r)
{
	struct forking *f = r->data;
	nvlist_t *nv;

	if (f->left-- == 0) {
		reply_json(r, 201, json_incref(f->results));
		return;
	}
	nv = question("clone", r->box, r->as);
	nvlist_add_number(nv, "timeout_ms", f->timeout_ms);
	copy_labels(nv, f->from);
	(void)ask(r, nv, NULL, forked);
}

static void
shown(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct forking *f = r->data;

	(void)fd;
	if (e != NULL) {
		reply_failure(r, e);
		return;
	}
	f->from = nvlist_clone(nv);
	next_fork(r);
}

static int
number(const json_t *j, const char *name, json_int_t dflt, json_int_t max,
    json_int_t *v)
{
	const json_t *n = json_object_get(j, name);

	*v = json_is_integer(n) ? json_integer_value(n) : dflt;
	return ((n != NULL && !json_is_integer(n) && !json_is_null(n)) ||
	    *v < 1 || *v > max ? -1 : 0);
}

void
api_fork(struct req *r)
{
	struct forking *f;
	json_t *j;
	json_int_t count, timeout;
	int bad;

	if (!co_id_valid(r->param[0])) {
		reply_error(r, 404, "there is no such sandbox");
		return;
	}
	if ((j = body_object(r)) == NULL)
		return;
	bad = number(j, "count", 1, FORKS_MAX, &count) | number(j, "timeout",
	    TIMEOUT_DEFAULT, TIMEOUT_MAX, &timeout);
	json_decref(j);
	if (bad != 0) {
		reply_error(r, 400, "\"count\" must be from 1 to %d, "
		    "\"timeout\" seconds", FORKS_MAX);
		return;
	}
	f = calloc(1, sizeof(*f));
	if (f == NULL || (f->results = json_array()) == NULL) {
		free(f);
		reply_error(r, 500, "out of memory");
		return;
	}
	f->left = count;
	f->timeout_ms = (uint64_t)timeout * 1000;
	(void)snprintf(r->box, sizeof(r->box), "%s", r->param[0]);
	r->data = f;
	r->ops = &forking_ops;
	(void)ask(r, question("show", r->box, r->as), NULL, shown);
}
