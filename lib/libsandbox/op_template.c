/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Operations on templates, and those that make one of a sandbox.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_internal.h"

static void
one_template(void *arg, const struct template *t, const char *const *names)
{
	size_t n = 0;
	nvlist_t *nv;

	while (names[n] != NULL)
		n++;
	nv = event_new("template");
	nvlist_add_string(nv, "hash", t->hash);
	nvlist_add_string(nv, "backend", t->backend);
	nvlist_add_string(nv, "user", t->user);
	if (n > 0)
		nvlist_add_string_array(nv, "names", names, n);
	nvlist_add_number(nv, "size", t->size);
	nvlist_add_number(nv, "created", (uint64_t)t->created);
	task_event(arg, nv);
}

static int
list_work(struct task *t, struct co_error *e)
{

	return (template_list(t->en->c.state, one_template, t, e));
}

static void
list_run(struct engine_call *c)
{

	task_start(c, -1, NULL, list_work, NULL);
}

/* The answer has the hash of what the name now stands for. */
static int
answer_hash(struct task *t, const char *name, struct co_error *e)
{
	struct template *tpl;

	if (template_open(t->en->c.state, name, &tpl, e) != 0)
		return (-1);
	nvlist_add_string(t->answer, "hash", tpl->hash);
	template_free(tpl);
	return (0);
}

static int
build_work(struct task *t, struct co_error *e)
{
	const char *kind = ctl_string(t->req, "kind", "");
	const char *name = ctl_string(t->req, "name", kind);

	if (template_build(t->en->c.state, kind, name, task_progress, t,
	    e) != 0)
		return (-1);
	return (answer_hash(t, name, e));
}

static void
build_run(struct engine_call *c)
{

	task_start(c, -1, NULL, build_work, NULL);
}

static int
import_work(struct task *t, struct co_error *e)
{
	const char *path = ctl_string(t->req, "path", "");
	const char *name = ctl_string(t->req, "name", "");

	if (*path != '/')
		return (co_error_set(e, CO_EPROTO_ARGUMENT, "path",
		    "\"path\" must be an absolute path on this host"));
	if (template_import(t->en->c.state, path, name, task_progress, t,
	    e) != 0)
		return (-1);
	return (answer_hash(t, name, e));
}

static void
import_run(struct engine_call *c)
{

	task_start(c, -1, NULL, import_work, NULL);
}

static int
export_work(struct task *t, struct co_error *e)
{

	return (template_export(t->en->c.state, ctl_string(t->req,
	    "template", ""), t->fd, e));
}

static void
export_run(struct engine_call *c)
{
	struct co_error e;
	int fd;

	fd = call_take_fd(c, &e);
	if (fd == -1)
		call_fail(c, &e);
	else
		task_start(c, fd, NULL, export_work, NULL);
}

static int
remove_work(struct task *t, struct co_error *e)
{

	return (template_remove(t->en->c.state, ctl_string(t->req,
	    "template", ""), box_template_used, t->data, e));
}

static void
remove_after(struct task *t)
{

	free(t->data);
	task_end(t);
}

static void
remove_run(struct engine_call *c)
{
	char *used;

	used = box_templates(c->en, NULL);
	if (used == NULL)
		call_fault(c, CO_ESYS_NOMEM, NULL, "out of memory");
	else
		task_start(c, -1, used, remove_work, remove_after);
}

/*
 * Snapshots: frozen, captured, thawed, in one job of the sandbox's turn.
 */
struct shot {
	struct turn	*t;
	const struct backend *be;
	struct box_spec	*spec;
	struct sandbox_run r;
	char		*state;
	char		*hash, *name;
	bool		 thaw;
	bool		 replace;	/* what has the name */
	char		 made[TEMPLATE_HASHSIZE];
	struct co_error	 e;
	void		(*then)(struct turn *, const char *);
};

static int
fill(void *arg, int fd, struct co_error *e)
{
	struct shot *s = arg;

	return (s->be->capture(&s->spec->s, fd, e));
}

static int
capture(struct shot *s)
{
	struct template *from, *made;
	int ret;

	if (!s->replace && template_open(s->state, s->name, &made,
	    &s->e) == 0) {
		template_free(made);
		return (co_error_set(&s->e, CO_ESESSION_EXISTS, s->name,
		    "there is a template \"%s\" already; choose another "
		    "name", s->name));
	}
	if (template_open(s->state, s->hash, &from, &s->e) != 0)
		return (-1);
	ret = template_capture(s->state, s->name, from, fill, s, &s->e);
	template_free(from);
	if (ret != 0 || template_open(s->state, s->name, &made, &s->e) != 0)
		return (-1);
	memcpy(s->made, made->hash, sizeof(s->made));
	template_free(made);
	return (0);
}

static void
shot_work(void *arg)
{
	struct shot *s = arg;
	struct co_error e;
	int ret;

	if (s->thaw && s->be->freeze(&s->spec->s, &s->r, true, &s->e) != 0)
		return;
	ret = capture(s);
	if (s->thaw && s->be->freeze(&s->spec->s, &s->r, false, &e) != 0 &&
	    ret == 0) {
		s->e = e;
		ret = -1;
	}
	if (ret == 0)
		s->e.code = CO_OK;
}

static void
shot_free(struct shot *s)
{

	spec_free(s->spec);
	free(s->state);
	free(s->hash);
	free(s->name);
	free(s);
}

static void
shot_after(void *arg)
{
	struct shot *s = arg;
	struct turn *t = s->t;
	void (*then)(struct turn *, const char *) = s->then;
	char made[TEMPLATE_HASHSIZE];

	t->e = s->e;
	memcpy(made, s->made, sizeof(made));
	shot_free(s);
	if (t->e.code == CO_OK) {
		then(t, made);
		return;
	}
	free(t->data);
	t->data = NULL;
	turn_fail(t, &t->e);
}

static struct shot *
shot_new(struct turn *t, const char *name)
{
	struct sandbox *sb = t->sb;
	struct shot *s;

	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return (NULL);
	s->t = t;
	s->be = sb->be;
	s->r = sb->r;
	s->thaw = sb->state == BOX_RUNNING;
	s->replace = t->call != NULL && t->call->admin;
	s->spec = spec_new(sb, &t->e);
	s->state = strdup(sb->en->c.state);
	s->hash = strdup(ctl_string(sb->rec, "hash", ""));
	s->name = strdup(name);
	if (s->spec != NULL && s->state != NULL && s->hash != NULL &&
	    s->name != NULL)
		return (s);
	shot_free(s);
	return (NULL);
}

static void
shot_begin(struct turn *t, const char *name,
    void (*then)(struct turn *, const char *))
{
	struct sandbox *sb = t->sb;
	struct shot *s;

	if (sb->be == NULL || (sb->state != BOX_RUNNING &&
	    sb->state != BOX_PAUSED && sb->state != BOX_STOPPED)) {
		(void)co_error_set(&t->e, CO_ESANDBOX_STATE, sb->id,
		    "the sandbox is %s; it must be running, paused or "
		    "stopped", box_state_name(sb->state));
		turn_fail(t, &t->e);
		return;
	}
	s = shot_new(t, name);
	if (s == NULL) {
		(void)co_error_set(&t->e, CO_ESYS_NOMEM, sb->id,
		    "out of memory");
		turn_fail(t, &t->e);
		return;
	}
	s->then = then;
	job_start(sb->en, shot_work, shot_after, s);
}

static void
snapshot_made(struct turn *t, const char *hash)
{
	nvlist_t *nv;

	nv = nvlist_create(0);
	nvlist_add_string(nv, "hash", hash);
	turn_done(t, nv);
}

static void
snapshot_turn(struct turn *t)
{
	const char *name = ctl_string(t->req, "name", "");

	if (*name == '\0') {
		(void)co_error_set(&t->e, CO_EPROTO_ARGUMENT, "name",
		    "\"name\" must be that of the template to make");
		turn_fail(t, &t->e);
		return;
	}
	shot_begin(t, name, snapshot_made);
}

/* The source's turn is over; the rest is a create. */
static void
clone_made(struct turn *t, const char *hash)
{
	struct engine_call *c = t->call;
	nvlist_t *from;
	char name[TEMPLATE_HASHSIZE];

	(void)snprintf(name, sizeof(name), "%s", hash);
	from = nvlist_clone(t->sb->rec);
	rec_string(from, "clone", t->data);
	free(t->data);
	t->data = NULL;
	t->call = NULL;
	turn_done(t, NULL);
	if (c != NULL) {
		c->cancel = NULL;
		create_like(c, from, name);
	}
	nvlist_destroy(from);
}

static void
clone_turn(struct turn *t)
{
	char name[32], id[CO_IDSIZE];

	co_id_make(id);
	(void)snprintf(name, sizeof(name), TEMPLATE_CLONE "%.12s", id);
	t->data = strdup(name);
	if (t->data == NULL)
		abort();
	shot_begin(t, name, clone_made);
}

const struct op ops_template[] = {
	{ "template.list", 0, list_run, NULL },
	{ "template.build", OP_ADMIN | OP_AUDIT, build_run, NULL },
	{ "template.import", OP_ADMIN | OP_AUDIT, import_run, NULL },
	{ "template.export", OP_ADMIN, export_run, NULL },
	{ "template.remove", OP_ADMIN | OP_AUDIT, remove_run, NULL },
	{ "snapshot", OP_BOX | OP_AUDIT | OP_TURN, NULL, snapshot_turn },
	{ "clone", OP_BOX | OP_AUDIT | OP_TURN, NULL, clone_turn },
	{ NULL, 0, NULL, NULL }
};
