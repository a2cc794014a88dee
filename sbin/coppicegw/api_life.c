/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Pause, resume, connect and fork.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gw.h"

#define	TIMEOUT_RESUME	15
#define	TIMEOUT_CONNECT	300
#define	TIMEOUT_MAX	(30 * 86400)

static bool
has_id(struct req *r)
{

	if (co_id_valid(r->param[0])) {
		(void)snprintf(r->box, sizeof(r->box), "%s", r->param[0]);
		return (true);
	}
	reply_error(r, 404, "there is no sandbox \"%.64s\"", r->param[0]);
	return (false);
}

/* The body, unless it wants that memory is forgotten: we freeze it. */
static json_t *
with_memory(struct req *r)
{
	json_t *j = body_object(r);

	if (!json_is_false(json_object_get(j, "memory")))
		return (j);
	json_decref(j);
	reply_error(r, 400, "a sandbox can't pause or resume without its "
	    "memory");
	return (NULL);
}

/*
 * Pause: what is paused already is a conflict, as the SDK expects.
 */
static void
paused(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;

	(void)nv;
	(void)fd;
	if (e != NULL)
		reply_failure(r, e);
	else
		reply_empty(r, 204);
}

static void
pause_shown(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;

	(void)fd;
	if (e != NULL)
		reply_failure(r, e);
	else if (strcmp(ctl_string(nv, "state", ""), "paused") == 0)
		reply_error(r, 409, "the sandbox is paused already");
	else
		(void)ask(r, question("pause", r->box, r->as), NULL, paused);
}

void
api_pause(struct req *r)
{
	json_t *j;

	if (!has_id(r) || (j = with_memory(r)) == NULL)
		return;
	json_decref(j);
	(void)ask(r, question("show", r->box, r->as), NULL, pause_shown);
}

/*
 * Resume and connect.  Connecting never makes the time left shorter.
 */
struct resuming {
	uint64_t	 timeout_ms;
	uint64_t	 deadline;	/* that it had */
	bool		 connect;
	bool		 was_paused;
};

static void
resuming_gone(struct req *r)
{

	free(r->data);
	r->data = NULL;
}

static const struct req_ops resuming_ops = { .gone = resuming_gone };

static void
up(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct resuming *s = r->data;

	(void)fd;
	if (e != NULL)
		reply_failure(r, e);
	else
		sandbox_created(r, nv, s->connect && !s->was_paused ? 200 :
		    201);
}

static void
timed(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;

	(void)nv;
	(void)fd;
	if (e != NULL)
		reply_failure(r, e);
	else
		(void)ask(r, question("show", r->box, r->as), NULL, up);
}

static void
awake(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct resuming *s = r->data;
	nvlist_t *q;

	(void)nv;
	(void)fd;
	if (e != NULL) {
		reply_failure(r, e);
		return;
	}
	if (s->connect && !s->was_paused && (s->deadline == 0 ||
	    s->deadline >= wall_ms() + s->timeout_ms)) {
		(void)ask(r, question("show", r->box, r->as), NULL, up);
		return;
	}
	q = question("timeout", r->box, r->as);
	nvlist_add_number(q, "timeout_ms", s->timeout_ms);
	(void)ask(r, q, NULL, timed);
}

static void
resume_shown(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct resuming *s = r->data;
	const char *state;

	if (e != NULL) {
		reply_failure(r, e);
		return;
	}
	state = ctl_string(nv, "state", "");
	s->was_paused = strcmp(state, "paused") == 0;
	s->deadline = ctl_uint(nv, "deadline", 0);
	if (s->was_paused)
		(void)ask(r, question("resume", r->box, r->as), NULL, awake);
	else if (strcmp(state, "running") != 0)
		reply_error(r, 404, "the sandbox is %s", state);
	else if (!s->connect)
		reply_error(r, 409, "the sandbox runs already");
	else
		awake(arg, nv, fd, NULL);
}

static void
resume(struct req *r, bool connect)
{
	struct resuming *s;
	const json_t *v;
	json_t *j;
	json_int_t secs = connect ? TIMEOUT_CONNECT : TIMEOUT_RESUME;

	if (!has_id(r) || (j = with_memory(r)) == NULL)
		return;
	v = json_object_get(j, "timeout");
	if (json_is_integer(v))
		secs = json_integer_value(v);
	if ((v != NULL && !json_is_integer(v) && !json_is_null(v)) ||
	    secs < 0 || secs > TIMEOUT_MAX) {
		json_decref(j);
		reply_error(r, 400, "\"timeout\" must be seconds, from 0 to "
		    "%d", TIMEOUT_MAX);
		return;
	}
	json_decref(j);
	s = calloc(1, sizeof(*s));
	if (s == NULL) {
		reply_error(r, 500, "out of memory");
		return;
	}
	s->connect = connect;
	s->timeout_ms = secs == 0 ? 1 : (uint64_t)secs * 1000;
	r->data = s;
	r->ops = &resuming_ops;
	(void)ask(r, question("show", r->box, r->as), NULL, resume_shown);
}

void
api_resume(struct req *r)
{

	resume(r, false);
}

void
api_connect(struct req *r)
{

	resume(r, true);
}
