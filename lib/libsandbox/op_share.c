/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Operations on shares: asked of their file servers, whose words are
 * translated to those of coppice-control(7).
 */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"

/* A request that was passed on. */
struct relay {
	struct engine_call *call;
	struct fsd	*fsd;
	struct fsd_ask	*ask;
	nvlist_t	*nv;		/* until it is asked for */
	int		 fd;
};

/* How a field is called there, and here. */
struct word {
	const char	*event, *from, *to;
};

static const struct word words[] = {
	{ "step", "id", "step" }, { "step", "name", "command" },
	{ "barrier", "id", "barrier" },
	{ "progress", "done_paths", "done_entries" },
	{ "progress", "total_paths", "total" }
};

static void
rename_field(nvlist_t *nv, const char *from, const char *to)
{

	if (!nvlist_exists(nv, from) || nvlist_exists(nv, to))
		return;
	if (nvlist_exists_number(nv, from))
		nvlist_add_number(nv, to, nvlist_get_number(nv, from));
	else if (nvlist_exists_string(nv, from))
		nvlist_add_string(nv, to, nvlist_get_string(nv, from));
	nvlist_free(nv, from);
}

static const char *
type_of(const char *type)
{

	if (strcmp(type, "directory") == 0)
		return ("dir");
	if (strcmp(type, "symlink") == 0)
		return ("link");
	return (strcmp(type, "file") == 0 ? "file" : "other");
}

static void
on_event(void *arg, nvlist_t *nv)
{
	struct relay *r = arg;
	const char *event = ctl_string(nv, "event", "");

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i].event, event) == 0)
			rename_field(nv, words[i].from, words[i].to);
	if (strcmp(event, "change") == 0) {
		rec_string(nv, "type", type_of(ctl_string(nv, "type", "")));
		rec_string(nv, "event", "path");
	}
	if (nvlist_exists(nv, "req"))
		nvlist_free(nv, "req");
	call_event(r->call, nv);
}

static void
relay_free(struct relay *r)
{

	nvlist_destroy(r->nv);
	if (r->fd != -1)
		(void)close(r->fd);
	free(r);
}

static void
on_done(void *arg, nvlist_t *nv, const struct co_error *e)
{
	struct relay *r = arg;
	struct engine_call *c = r->call;
	nvlist_t *answer;

	relay_free(r);
	c->cancel = NULL;
	if (e != NULL) {
		call_fail(c, e);
		return;
	}
	answer = nvlist_create(0);
	rec_copy(answer, nv, "steps");
	rec_copy(answer, nv, "bytes");
	rec_copy(answer, nv, "count");
	call_done(c, answer);
}

static void
on_cancel(struct engine_call *c)
{
	struct relay *r = c->data;

	if (r->ask != NULL)
		fsd_forget(r->ask);
	else
		fsd_unwait(r->fsd, r);
	relay_free(r);
}

/* The relay may be gone when the server is. */
static void
relay_go(void *arg)
{
	struct relay *r = arg;
	nvlist_t *nv = r->nv;
	struct fsd_ask *a;

	r->nv = NULL;
	a = fsd_request(r->fsd, nv, &r->fd, r->fd != -1 ? 1 : 0, on_event,
	    on_done, r);
	if (a != NULL)
		r->ask = a;
}

static void
relay_to(struct engine_call *c, struct fsd *f, nvlist_t *nv, int fd)
{
	struct relay *r;

	r = calloc(1, sizeof(*r));
	if (r == NULL) {
		nvlist_destroy(nv);
		if (fd != -1)
			(void)close(fd);
		call_fault(c, CO_ESYS_NOMEM, NULL, "out of memory");
		return;
	}
	r->call = c;
	r->fsd = f;
	r->nv = nv;
	r->fd = fd;
	c->data = r;
	c->cancel = on_cancel;
	if (strcmp(c->op->name, "safeguard.answer") == 0)
		relay_go(r);
	else
		fsd_wait(f, relay_go, r);
}

/* Which server is meant; on failure the call has ended. */
static struct fsd *
share_of(struct engine_call *c)
{
	struct sandbox *sb;
	struct co_error e;
	struct fsd *f;

	sb = call_box(c, &e);
	f = fsd_find(sb, ctl_string(c->req, "share", ""), &e);
	if (f == NULL)
		call_fail(c, &e);
	return (f);
}

static nvlist_t *
request(const char *op)
{
	nvlist_t *nv;

	nv = nvlist_create(0);
	nvlist_add_string(nv, "op", op);
	return (nv);
}

static void
history_run(struct engine_call *c)
{
	struct fsd *f;

	f = share_of(c);
	if (f != NULL)
		relay_to(c, f, request(ctl_flag(c->req, "redo", false) ?
		    "redoable" : "history"), -1);
}

static void
changes_run(struct engine_call *c)
{
	struct fsd *f;
	nvlist_t *nv;

	f = share_of(c);
	if (f == NULL)
		return;
	nv = request("changes");
	nvlist_add_number(nv, "id", ctl_uint(c->req, "step", 0));
	relay_to(c, f, nv, -1);
}

static void
diff_run(struct engine_call *c)
{
	struct co_error e;
	struct fsd *f;
	nvlist_t *nv;
	int fd;

	f = share_of(c);
	if (f == NULL)
		return;
	fd = call_take_fd(c, &e);
	if (fd == -1) {
		call_fail(c, &e);
		return;
	}
	nv = request("diff");
	nvlist_add_number(nv, "id", ctl_uint(c->req, "step", 0));
	rec_copy(nv, c->req, "max");
	relay_to(c, f, nv, fd);
}

static void
undo_run(struct engine_call *c)
{
	struct fsd *f;
	nvlist_t *nv;

	f = share_of(c);
	if (f == NULL)
		return;
	nv = request(c->op->name);
	rec_copy(nv, c->req, "n");
	rec_copy(nv, c->req, "force");
	relay_to(c, f, nv, -1);
}

static void
guard_list_run(struct engine_call *c)
{
	const nvlist_t *const *v;
	struct sandbox *sb;
	struct co_error e;
	size_t n;

	sb = call_box(c, &e);
	for (size_t i = 0; i < sb->nfsd; i++) {
		v = fsd_guards(sb->fsd[i], &n);
		for (size_t j = 0; j < n; j++)
			call_event(c, nvlist_clone(v[j]));
	}
	call_done(c, NULL);
}

/* Without a share, the one that asks. */
static struct fsd *
guard_share(struct engine_call *c, const char *id)
{
	const nvlist_t *const *v;
	struct sandbox *sb;
	struct co_error e;
	size_t n;

	sb = call_box(c, &e);
	if (nvlist_exists_string(c->req, "share"))
		return (share_of(c));
	for (size_t i = 0; i < sb->nfsd; i++) {
		v = fsd_guards(sb->fsd[i], &n);
		for (size_t j = 0; j < n; j++)
			if (strcmp(ctl_string(v[j], "safeguard", ""),
			    id) == 0)
				return (sb->fsd[i]);
	}
	return (share_of(c));
}

static void
guard_answer_run(struct engine_call *c)
{
	const char *id = ctl_string(c->req, "safeguard", "");
	struct fsd *f;
	nvlist_t *nv;

	f = guard_share(c, id);
	if (f == NULL)
		return;
	nv = request("safeguard.answer");
	nvlist_add_string(nv, "id", id);
	rec_copy(nv, c->req, "allow");
	relay_to(c, f, nv, -1);
}

static void
guard_set_run(struct engine_call *c)
{
	static const char *const names[] = { "deletes", "overwrites",
	    "overwrite_size", "renames_over", "timeout_ms" };
	struct fsd *f;
	nvlist_t *nv;

	f = share_of(c);
	if (f == NULL)
		return;
	nv = request("safeguard.set");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		rec_copy(nv, c->req, names[i]);
	relay_to(c, f, nv, -1);
}

const struct op ops_share[] = {
	{ "history", OP_BOX, history_run, NULL },
	{ "changes", OP_BOX, changes_run, NULL },
	{ "diff", OP_BOX, diff_run, NULL },
	{ "undo", OP_BOX | OP_AUDIT, undo_run, NULL },
	{ "redo", OP_BOX | OP_AUDIT, undo_run, NULL },
	{ "safeguard.list", OP_BOX, guard_list_run, NULL },
	{ "safeguard.answer", OP_BOX | OP_AUDIT, guard_answer_run, NULL },
	{ "safeguard.set", OP_BOX | OP_AUDIT, guard_set_run, NULL },
	{ NULL, 0, NULL, NULL }
};
