/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Calls: a request on its way through the engine.  Here it is decided who
 * may ask for what, and written down who did.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"

static const struct op *const tables[] = {
	ops_box, ops_life, ops_exec, ops_file, ops_share, ops_template,
	ops_host
};

static const struct op *
op_find(const char *name)
{
	const struct op *op;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (op = tables[i]; op->name != NULL; op++)
			if (strcmp(op->name, name) == 0)
				return (op);
	return (NULL);
}

static void
audit(struct engine_call *c, const struct co_error *e)
{
	struct co_ids ids = { .request_id = ctl_string(c->req, "request_id",
	    NULL), .sandbox_id = c->box[0] != '\0' ? c->box :
	    NULL };

	if (c->op == NULL || (c->op->flags & OP_AUDIT) == 0)
		return;
	if (e == NULL)
		co_log(c->en->c.log, CO_INFO, "audit", &ids, "%s: %s: done",
		    c->who, c->op->name);
	else
		co_log(c->en->c.log, CO_INFO, "audit", &ids, "%s: %s: %s: %s",
		    c->who, c->op->name, co_error_symbol(e->code),
		    e->message);
}

static void
call_free(struct engine_call *c)
{

	if (c->link.le_prev != NULL)
		LIST_REMOVE(c, link);
	nvlist_destroy(c->req);
	for (size_t i = 0; i < c->nfds; i++)
		if (c->fds[i] != -1)
			(void)close(c->fds[i]);
	free(c->fds);
	free(c->who);
	free(c->owner);
	free(c);
}

nvlist_t *
event_new(const char *name)
{
	nvlist_t *nv;

	nv = nvlist_create(0);
	nvlist_add_string(nv, "event", name);
	return (nv);
}

void
call_event(struct engine_call *c, nvlist_t *nv)
{

	if (c == NULL || nvlist_error(nv) != 0)
		nvlist_destroy(nv);
	else
		c->fn(c->arg, nv, NULL, 0);
}

static void
finish(struct engine_call *c, nvlist_t *nv, int fd)
{
	engine_answer_fn *fn = c->fn;
	void *arg = c->arg;

	call_free(c);
	nvlist_add_bool(nv, "done", true);
	fn(arg, nv, &fd, fd != -1 ? 1 : 0);
}

void
call_done_fd(struct engine_call *c, nvlist_t *nv, int fd)
{

	if (c == NULL) {
		nvlist_destroy(nv);
		if (fd != -1)
			(void)close(fd);
		return;
	}
	audit(c, NULL);
	finish(c, nv != NULL ? nv : nvlist_create(0), fd);
}

void
call_done(struct engine_call *c, nvlist_t *nv)
{

	call_done_fd(c, nv, -1);
}

void
call_fail(struct engine_call *c, const struct co_error *e)
{
	nvlist_t *nv;

	if (c == NULL)
		return;
	audit(c, e);
	nv = nvlist_create(0);
	ctl_error_add(nv, e);
	finish(c, nv, -1);
}

void
call_fault(struct engine_call *c, enum co_code code, const char *what,
    const char *fmt, ...)
{
	struct co_error e;
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)co_error_set(&e, code, what, "%s", text);
	call_fail(c, &e);
}

struct sandbox *
call_box(struct engine_call *c, struct co_error *e)
{
	struct sandbox *sb;

	sb = box_find(c->en, ctl_string(c->req, "id", ""), c, e);
	if (sb != NULL)
		memcpy(c->box, sb->id, sizeof(c->box));
	return (sb);
}

/* The one descriptor that must come beside the request. */
int
call_take_fd(struct engine_call *c, struct co_error *e)
{
	int fd;

	if (c->nfds != 1 || c->fds[0] == -1)
		return (co_error_set(e, CO_EPROTO_ARGUMENT, c->op->name,
		    "one descriptor must come beside the request"));
	fd = c->fds[0];
	c->fds[0] = -1;
	return (fd);
}

static void
dispatch(struct engine_call *c)
{
	struct sandbox *sb = NULL;
	struct co_error e;

	c->op = op_find(ctl_string(c->req, "op", ""));
	if (c->op == NULL) {
		call_fault(c, CO_EPROTO_UNKNOWN, ctl_string(c->req, "op", ""),
		    "there is no such operation; see coppice-control(7)");
		return;
	}
	if ((c->op->flags & OP_ADMIN) != 0 && !c->admin) {
		call_fault(c, CO_EPROTO_DENIED, c->op->name,
		    "only root and members of group coppice may do this");
		return;
	}
	if ((c->op->flags & OP_BOX) != 0 && (sb = call_box(c, &e)) == NULL) {
		call_fail(c, &e);
		return;
	}
	if ((c->op->flags & OP_RUNNING) != 0 && sb != NULL &&
	    sb->state != BOX_RUNNING) {
		call_fault(c, CO_ESANDBOX_STATE, sb->id, "the sandbox is %s; "
		    "%s", box_state_name(sb->state), box_advice(sb));
		return;
	}
	if ((c->op->flags & OP_TURN) != 0)
		(void)turn_add(sb, c, c->op->name, c->op->turn);
	else
		c->op->run(c);
}

static struct engine_call *
call_new(struct engine *en, const struct engine_caller *who,
    const nvlist_t *req)
{
	struct engine_call *c;

	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return (NULL);
	c->en = en;
	c->uid = who->uid;
	c->admin = who->admin;
	c->who = strdup(who->name);
	c->owner = strdup(who->owner);
	c->req = nvlist_clone(req);
	if (c->who != NULL && c->owner != NULL && c->req != NULL)
		return (c);
	call_free(c);
	return (NULL);
}

/* Whatever happens within engine_submit() may end the call. */
struct early {
	engine_answer_fn *fn;
	void		*arg;
	bool		*over;
};

static void
early_answer(void *arg, nvlist_t *nv, const int *fds, size_t nfds)
{
	struct early *early = arg;

	if (ctl_flag(nv, "done", false))
		*early->over = true;
	early->fn(early->arg, nv, fds, nfds);
}

static int
take_fds(struct engine_call *c, const int *fds, size_t nfds)
{

	if (nfds == 0)
		return (0);
	c->fds = malloc(nfds * sizeof(*fds));
	if (c->fds == NULL)
		return (-1);
	memcpy(c->fds, fds, nfds * sizeof(*fds));
	c->nfds = nfds;
	return (0);
}

static void
refuse(engine_answer_fn *fn, void *arg, enum co_code code, const char *text)
{
	struct co_error e;
	nvlist_t *nv;

	nv = nvlist_create(0);
	(void)co_error_set(&e, code, NULL, "%s", text);
	ctl_error_add(nv, &e);
	nvlist_add_bool(nv, "done", true);
	fn(arg, nv, NULL, 0);
}

struct engine_call *
engine_submit(struct engine *en, const struct engine_caller *who,
    const nvlist_t *req, const int *fds, size_t nfds, engine_answer_fn *fn,
    void *arg)
{
	bool over = false;
	struct early early = { .fn = fn, .arg = arg, .over = &over };
	struct engine_call *c;

	if (en->closing) {
		ctl_close_fds(fds, nfds);
		refuse(fn, arg, CO_ESYS_CANCELLED, "the engine is closing");
		return (NULL);
	}
	c = call_new(en, who, req);
	if (c == NULL || take_fds(c, fds, nfds) != 0) {
		ctl_close_fds(fds, nfds);
		if (c != NULL)
			call_free(c);
		refuse(fn, arg, CO_ESYS_NOMEM, "out of memory");
		return (NULL);
	}
	LIST_INSERT_HEAD(&en->calls, c, link);
	c->fn = early_answer;
	c->arg = &early;
	dispatch(c);
	if (over)
		return (NULL);
	c->fn = fn;
	c->arg = arg;
	return (c);
}

void
engine_input(struct engine_call *c, const nvlist_t *nv)
{

	if (c->input != NULL)
		c->input(c, nv);
}

void
engine_hold(struct engine_call *c, bool on)
{

	if (c->held == on)
		return;
	c->held = on;
	if (!on && c->resumed != NULL)
		c->resumed(c);
}

void
engine_cancel(struct engine_call *c)
{
	struct co_error e;

	if (c->cancel != NULL)
		c->cancel(c);
	(void)co_error_set(&e, CO_ESYS_CANCELLED, c->op->name,
	    "cancelled");
	call_fail(c, &e);
}
