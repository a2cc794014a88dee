/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What can be asked for over the control socket: one table, one row an
 * operation.  Each runs in a thread of its own and may take its time.
 */

#include <sys/stat.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppicefsd.h"
#include "ctl.h"
#include "watch.h"

#define	PROGRESS_MS	50	/* between two events of progress */
#define	PATHS_MAX	4096	/* of a barrier that is asked for */
#define	COPY_BYTES	4096	/* fits into a pipe that can be written to */

static int
need_id(const struct request *r, int64_t *id, struct co_error *e)
{

	*id = (int64_t)ctl_uint(r->in, "id", 0);
	if (*id == 0)
		return (co_error_set(e, CO_EPROTO_ARGUMENT, "id",
		    "\"id\" must be the number of a step"));
	return (0);
}

/*
 * Steps.
 */
static int
op_begin(const struct request *r, nvlist_t *out, struct co_error *e)
{
	const char *kind, *name;
	enum undo_kind k;
	int64_t id;

	(void)out;
	if (need_id(r, &id, e) == -1)
		return (-1);
	kind = ctl_string(r->in, "kind", "command");
	if (strcmp(kind, "command") == 0)
		k = UNDO_COMMAND;
	else if (strcmp(kind, "api") == 0)
		k = UNDO_API;
	else
		return (co_error_set(e, CO_EPROTO_ARGUMENT, "kind",
		    "\"kind\" must be command or api"));
	if (id < 0)
		return (co_error_set(e, CO_EPROTO_ARGUMENT, "id",
		    "\"id\" must be positive"));
	name = ctl_string(r->in, "name", "");
	return (undo_step_begin(r->server->undo, id, k, name, e));
}

static int
op_complete(const struct request *r, nvlist_t *out, struct co_error *e)
{
	int64_t id;
	int ret;

	(void)out;
	if (need_id(r, &id, e) == -1)
		return (-1);
	ret = undo_step_complete(r->server->undo, id,
	    (int)(int64_t)ctl_uint(r->in, "exit", 0), e);
	server_poke(r->server);
	return (ret);
}

static int
op_abandon(const struct request *r, nvlist_t *out, struct co_error *e)
{
	int64_t id;
	int ret;

	(void)out;
	if (need_id(r, &id, e) == -1)
		return (-1);
	watch_mute(r->server->watch, true);
	ret = undo_step_abandon(r->server->undo, id, e);
	watch_mute(r->server->watch, false);
	return (ret);
}

/*
 * There and back.
 */
struct progress {
	const struct request *r;
	co_moment	 last;
};

/* Mutations wait meanwhile, so this must not wait for the client. */
static void
tell_progress(void *arg, const struct undo_progress *p)
{
	struct progress *t = arg;
	nvlist_t *nv;
	co_moment now;

	now = co_now();
	if (p->done != p->total &&
	    now - t->last < (co_moment)PROGRESS_MS * 1000000)
		return;
	t->last = now;
	if ((nv = event_new("progress")) == NULL)
		return;
	nv_add_int(nv, "step", p->step);
	nvlist_add_number(nv, "done_paths", p->done);
	nvlist_add_number(nv, "total_paths", p->total);
	(void)request_event(t->r, nv, false);
}

static int
need_count(const struct request *r, unsigned int *n, struct co_error *e)
{
	uint64_t v;

	v = ctl_uint(r->in, "n", 1);
	if (v < 1 || v > UINT32_MAX)
		return (co_error_set(e, CO_EPROTO_ARGUMENT, "n",
		    "\"n\" must be how many steps, at least 1"));
	*n = (unsigned int)v;
	return (0);
}

static int
op_undo(const struct request *r, nvlist_t *out, struct co_error *e)
{
	struct progress p = { .r = r };
	unsigned int n = 0;
	int ret;

	if (need_count(r, &n, e) == -1)
		return (-1);
	watch_mute(r->server->watch, true);
	ret = undo_rollback(r->server->undo, n, ctl_flag(r->in, "force",
	    false), tell_progress, &p, e);
	watch_mute(r->server->watch, false);
	if (ret == 0)
		nvlist_add_number(out, "steps", n);
	return (ret);
}

static int
op_redo(const struct request *r, nvlist_t *out, struct co_error *e)
{
	struct progress p = { .r = r };
	unsigned int n = 0;
	int ret;

	if (need_count(r, &n, e) == -1)
		return (-1);
	watch_mute(r->server->watch, true);
	ret = undo_redo(r->server->undo, n, tell_progress, &p, e);
	watch_mute(r->server->watch, false);
	if (ret == 0)
		nvlist_add_number(out, "steps", n);
	return (ret);
}

/*
 * History.  What libundo tells is collected first: while it tells, mutations
 * may have to wait, and no client shall be able to prolong that.
 */
struct rows {
	nvlist_t	**nv;
	size_t		  n;
	size_t		  cap;
};

static int
rows_add(struct rows *w, nvlist_t *nv)
{
	nvlist_t **grown;
	size_t cap;

	if (nv == NULL)
		return (ENOMEM);
	if (w->n == w->cap) {
		cap = w->cap * 2 + 16;
		if ((grown = realloc(w->nv, cap * sizeof(*grown))) == NULL) {
			nvlist_destroy(nv);
			return (ENOMEM);
		}
		w->nv = grown;
		w->cap = cap;
	}
	w->nv[w->n++] = nv;
	return (0);
}

/* Send them all, or, if ${ret} tells of an error, none. */
static int
rows_send(const struct request *r, struct rows *w, nvlist_t *out, int ret,
    struct co_error *e)
{
	bool ok = ret == 0;
	size_t i;

	for (i = 0; i < w->n; i++) {
		if (ok)
			ok = request_event(r, w->nv[i], true);
		else
			nvlist_destroy(w->nv[i]);
	}
	free(w->nv);
	if (ret == 0)
		nvlist_add_number(out, "count", w->n);
	else if (ret > 0)
		(void)co_error_errno(e, ret, NULL, "cannot tell it all");
	return (ret == 0 ? 0 : -1);
}

static const char *const kinds[] = {
	[UNDO_COMMAND] = "command", [UNDO_AMBIENT] = "ambient",
	[UNDO_API] = "api"
};

static int
add_entry(void *arg, const struct undo_step *s, const struct undo_stamp *b)
{
	nvlist_t *nv;

	if ((nv = event_new(s != NULL ? "step" : "barrier")) == NULL)
		return (ENOMEM);
	if (s != NULL) {
		nv_add_int(nv, "id", s->id);
		nvlist_add_string(nv, "kind", kinds[s->kind]);
		nvlist_add_string(nv, "name", s->command != NULL ?
		    s->command : "");
		nv_add_int(nv, "began_us", s->began_us);
		nv_add_int(nv, "ended_us", s->ended_us);
		nv_add_int(nv, "exit", s->exit);
		nvlist_add_bool(nv, "protected", s->protected);
		nvlist_add_number(nv, "bytes", s->bytes);
		nvlist_add_number(nv, "paths", s->paths);
	} else {
		nvlist_add_number(nv, "id", b->id);
		nv_add_int(nv, "at_us", b->at_us);
		if (b->npaths > 0)
			nvlist_add_string_array(nv, "paths", b->paths,
			    b->npaths);
	}
	return (rows_add(arg, nv));
}

static int
op_history(const struct request *r, nvlist_t *out, struct co_error *e)
{
	struct rows w = { 0 };
	int ret;

	ret = undo_history(r->server->undo, add_entry, &w, e);
	return (rows_send(r, &w, out, ret, e));
}

static int
op_redoable(const struct request *r, nvlist_t *out, struct co_error *e)
{
	struct rows w = { 0 };
	int ret;

	ret = undo_redoable(r->server->undo, add_entry, &w, e);
	return (rows_send(r, &w, out, ret, e));
}

static const char *
type_name(mode_t type)
{

	switch (type & S_IFMT) {
	case S_IFREG:
		return ("file");
	case S_IFDIR:
		return ("directory");
	case S_IFLNK:
		return ("symlink");
	case S_IFIFO:
		return ("fifo");
	case S_IFSOCK:
		return ("socket");
	default:
		return ("device");
	}
}

/* A change, without the weight of a list per path. */
struct row {
	enum undo_change change;
	mode_t		 type;
	uint64_t	 before;
	uint64_t	 after;
	size_t		 from;		/* where it begins in text; 0: none */
	char		 text[];
};

struct table {
	struct row	**row;
	size_t		  n;
	size_t		  cap;
};

static int
add_change(void *arg, const struct undo_path *p)
{
	size_t flen, len, cap;
	struct table *t = arg;
	struct row **grown;
	struct row *w;

	if (t->n == t->cap) {
		cap = t->cap * 2 + 64;
		if ((grown = realloc(t->row, cap * sizeof(*grown))) == NULL)
			return (ENOMEM);
		t->row = grown;
		t->cap = cap;
	}
	len = strlen(p->path) + 1;
	flen = p->from != NULL ? strlen(p->from) + 1 : 0;
	if ((w = malloc(sizeof(*w) + len + flen)) == NULL)
		return (ENOMEM);
	w->change = p->change;
	w->type = p->type;
	w->before = p->before;
	w->after = p->after;
	w->from = flen > 0 ? len : 0;
	memcpy(w->text, p->path, len);
	if (flen > 0)
		memcpy(w->text + len, p->from, flen);
	t->row[t->n++] = w;
	return (0);
}

static nvlist_t *
change_event(const struct row *w)
{
	static const char *const names[] = {
		[UNDO_CREATED] = "created", [UNDO_MODIFIED] = "modified",
		[UNDO_DELETED] = "deleted", [UNDO_RENAMED] = "renamed",
		[UNDO_META] = "meta"
	};
	nvlist_t *nv;

	if ((nv = event_new("change")) == NULL)
		return (NULL);
	nvlist_add_string(nv, "change", names[w->change]);
	nvlist_add_string(nv, "type", type_name(w->type));
	nvlist_add_string(nv, "path", w->text);
	if (w->from != 0)
		nvlist_add_string(nv, "from", w->text + w->from);
	nvlist_add_number(nv, "before", w->before);
	nvlist_add_number(nv, "after", w->after);
	return (nv);
}

static int
op_changes(const struct request *r, nvlist_t *out, struct co_error *e)
{
	struct table t = { 0 };
	int64_t id;
	bool ok;
	size_t i;
	int ret;

	if (need_id(r, &id, e) == -1)
		return (-1);
	ret = undo_changes(r->server->undo, id, add_change, &t, e);
	for (i = 0, ok = ret == 0; i < t.n; i++) {
		if (ok)
			ok = request_event(r, change_event(t.row[i]), true);
		free(t.row[i]);
	}
	free(t.row);
	if (ret == 0)
		nvlist_add_number(out, "count", t.n);
	else if (ret > 0)
		(void)co_error_errno(e, ret, NULL, "cannot tell it all");
	return (ret == 0 ? 0 : -1);
}

/*
 * Write ${len} bytes to what may be a pipe that nobody reads: never more
 * than fits, and not for longer than somebody waits for the answer.
 */
static int
write_patiently(const struct request *r, int fd, const char *p, size_t len)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };
	ssize_t n;

	while (len > 0) {
		if (request_gone(r))
			return (ECANCELED);
		if (poll(&pfd, 1, 200) <= 0)
			continue;
		n = write(fd, p, len);
		if (n == -1 && errno != EINTR && errno != EAGAIN)
			return (errno);
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
	}
	return (0);
}

static int
copy_out(const struct request *r, int from, int to, uint64_t *bytes)
{
	char buf[COPY_BYTES];
	off_t off = 0;
	ssize_t n;
	int error;

	while ((n = pread(from, buf, sizeof(buf), off)) > 0) {
		error = write_patiently(r, to, buf, (size_t)n);
		if (error != 0)
			return (error);
		off += n;
	}
	*bytes = (uint64_t)off;
	return (n == -1 ? errno : 0);
}

static int
op_diff(const struct request *r, nvlist_t *out, struct co_error *e)
{
	uint64_t bytes;
	int64_t id;
	int error, fd;

	if (need_id(r, &id, e) == -1)
		return (-1);
	if (r->nfds != 1)
		return (co_error_set(e, CO_EPROTO_ARGUMENT, "diff",
		    "one descriptor to write to must come beside the "
		    "request"));
	if ((fd = sandbox_scratch()) == -1)
		return (co_error_errno(e, errno, NULL, "no room for a diff"));
	if (undo_diff(r->server->undo, id, fd, ctl_uint(r->in, "max", 0),
	    e) == -1) {
		(void)close(fd);
		return (-1);
	}
	error = copy_out(r, fd, r->fds[0], &bytes);
	(void)close(fd);
	if (error != 0)
		return (co_error_errno(e, error, NULL,
		    "cannot write the diff"));
	nvlist_add_number(out, "bytes", bytes);
	return (0);
}

/*
 * Limits and safeguards: what is given is changed, all is told.
 */
static int
op_limits(const struct request *r, nvlist_t *out, struct co_error *e)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct undo_limits now;
	static bool known;
	struct undo_limits l;
	uint64_t steps;

	(void)pthread_mutex_lock(&lock);
	l = known ? now : r->server->conf->undo.limits;
	l.max_log_size = ctl_uint(r->in, "max_log_size", l.max_log_size);
	l.max_single_step_size = ctl_uint(r->in, "max_single_step_size",
	    l.max_single_step_size);
	steps = ctl_uint(r->in, "max_step_count", l.max_step_count);
	if (steps <= UINT32_MAX) {
		l.max_step_count = (uint32_t)steps;
		undo_configure(r->server->undo, &l, NULL);
		now = l;
		known = true;
	}
	(void)pthread_mutex_unlock(&lock);
	if (steps > UINT32_MAX)
		return (co_error_set(e, CO_EPROTO_ARGUMENT, "max_step_count",
		    "\"max_step_count\" is too large"));
	nvlist_add_number(out, "max_log_size", l.max_log_size);
	nvlist_add_number(out, "max_step_count", l.max_step_count);
	nvlist_add_number(out, "max_single_step_size",
	    l.max_single_step_size);
	return (0);
}

static bool
get32(const struct request *r, const char *name, uint32_t *v)
{
	uint64_t n;

	if ((n = ctl_uint(r->in, name, *v)) > UINT32_MAX)
		return (false);
	*v = (uint32_t)n;
	return (true);
}

static int
op_guard_set(const struct request *r, nvlist_t *out, struct co_error *e)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct undo_safeguards now;
	static bool known;
	struct undo_safeguards g;
	bool ok;

	(void)pthread_mutex_lock(&lock);
	g = known ? now : r->server->conf->undo.safeguards;
	g.overwrite_size = ctl_uint(r->in, "overwrite_size",
	    g.overwrite_size);
	ok = get32(r, "deletes", &g.deletes) &&
	    get32(r, "overwrites", &g.overwrites) &&
	    get32(r, "renames_over", &g.renames_over) &&
	    get32(r, "timeout_ms", &g.timeout_ms) &&
	    get32(r, "max_held", &g.max_held);
	if (ok) {
		undo_configure(r->server->undo, NULL, &g);
		now = g;
		known = true;
	}
	(void)pthread_mutex_unlock(&lock);
	if (!ok)
		return (co_error_set(e, CO_EPROTO_ARGUMENT, "safeguard.set",
		    "a number is too large"));
	nvlist_add_number(out, "deletes", g.deletes);
	nvlist_add_number(out, "overwrites", g.overwrites);
	nvlist_add_number(out, "overwrite_size", g.overwrite_size);
	nvlist_add_number(out, "renames_over", g.renames_over);
	nvlist_add_number(out, "timeout_ms", g.timeout_ms);
	nvlist_add_number(out, "max_held", g.max_held);
	return (0);
}

static int
op_guard_answer(const struct request *r, nvlist_t *out, struct co_error *e)
{
	const char *id;
	bool allow;
	int ret;

	(void)out;
	id = ctl_string(r->in, "id", "");
	if (*id == '\0' || !nvlist_exists_bool(r->in, "allow"))
		return (co_error_set(e, CO_EPROTO_ARGUMENT, "id",
		    "\"id\" must name a safeguard, and \"allow\" be true or "
		    "false"));
	allow = ctl_flag(r->in, "allow", false);
	watch_mute(r->server->watch, true);
	ret = undo_safeguard_answer(r->server->undo, id, allow, e);
	watch_mute(r->server->watch, false);
	event_forget(id);
	return (ret);
}

static int
op_barrier(const struct request *r, nvlist_t *out, struct co_error *e)
{
	static const char *const none[] = { "" };
	const char *const *paths = none;
	size_t n = 0;

	(void)out;
	if (nvlist_exists_string_array(r->in, "paths"))
		paths = nvlist_get_string_array(r->in, "paths", &n);
	if (n > PATHS_MAX)
		return (co_error_set(e, CO_EPROTO_ARGUMENT, "paths",
		    "\"paths\" may have %d paths at most", PATHS_MAX));
	return (undo_barrier(r->server->undo, paths, n, e));
}

static int
op_discard(const struct request *r, nvlist_t *out, struct co_error *e)
{

	(void)out;
	return (undo_discard(r->server->undo, e));
}

/*
 * The rest.
 */
static void
add_share_stats(struct server *s, nvlist_t *out)
{
	struct share_stats st;
	nvlist_t *nv;

	share_stats(s->share, &st);
	if ((nv = nvlist_create(0)) == NULL)
		return;
	nvlist_add_number(nv, "nodes", st.nodes);
	nvlist_add_number(nv, "fds", st.fds);
	nvlist_add_number(nv, "files", st.files);
	nvlist_add_number(nv, "dirs", st.dirs);
	nvlist_add_number(nv, "locks", st.locks);
	nvlist_add_number(nv, "waiters", st.waiters);
	nvlist_add_number(nv, "reopened", st.reopened);
	nvlist_add_number(nv, "read_bytes", st.read_bytes);
	nvlist_add_number(nv, "written_bytes", st.written_bytes);
	nvlist_add_number(nv, "mutations", st.mutations);
	nvlist_move_nvlist(out, "share", nv);
}

static void
add_undo_stats(struct server *s, nvlist_t *out)
{
	struct undo_stats st;
	nvlist_t *nv;

	if (s->undo == NULL || (nv = nvlist_create(0)) == NULL)
		return;
	undo_stats(s->undo, &st);
	nv_add_int(nv, "current", undo_step_current(s->undo));
	nvlist_add_number(nv, "steps", st.steps);
	nvlist_add_number(nv, "store_bytes", st.store_bytes);
	nvlist_add_number(nv, "inflight", st.inflight);
	nvlist_add_number(nv, "held", st.held);
	nvlist_add_number(nv, "captured_bytes", st.captured_bytes);
	nvlist_add_number(nv, "kept", st.kept);
	nvlist_add_number(nv, "cloned", st.cloned);
	nvlist_add_number(nv, "copied", st.copied);
	nvlist_add_bool(nv, "reflinks", st.reflinks);
	nvlist_add_bool(nv, "same_fs", st.same_fs);
	nvlist_move_nvlist(out, "undo", nv);
}

static void
add_watch_stats(struct server *s, nvlist_t *out)
{
	struct watch_stats st;
	nvlist_t *nv;

	if (s->watch == NULL || (nv = nvlist_create(0)) == NULL)
		return;
	watch_stats(s->watch, &st);
	nvlist_add_string(nv, "kind", st.kind);
	nvlist_add_number(nv, "directories", st.directories);
	nvlist_add_number(nv, "events", st.events);
	nvlist_add_number(nv, "own", st.own);
	nvlist_add_number(nv, "external", st.external);
	nvlist_add_number(nv, "overflows", st.overflows);
	nvlist_move_nvlist(out, "watch", nv);
}

static int
op_stats(const struct request *r, nvlist_t *out, struct co_error *e)
{
	struct server *s = r->server;
	nvlist_t *nv;

	(void)e;
	nvlist_add_number(out, "pid", (uint64_t)getpid());
	nvlist_add_string(out, "transport", s->transport->name);
	nvlist_add_bool(out, "readonly", s->conf->share.readonly ||
	    s->locked != 0);
	add_share_stats(s, out);
	add_undo_stats(s, out);
	add_watch_stats(s, out);
	if ((nv = nvlist_create(0)) != NULL) {
		s->transport->stats(s, nv);
		nvlist_move_nvlist(out, s->transport->name, nv);
	}
	return (0);
}

static int
op_events(const struct request *r, nvlist_t *out, struct co_error *e)
{

	(void)out;
	(void)e;
	request_subscribe(r);
	(void)request_event(r, event_new("subscribed"), true);
	return (0);
}

static int
op_readonly(const struct request *r, nvlist_t *out, struct co_error *e)
{
	bool on;

	if (!nvlist_exists_bool(r->in, "on"))
		return (co_error_set(e, CO_EPROTO_ARGUMENT, "on",
		    "\"on\" must be true or false"));
	on = ctl_flag(r->in, "on", true);
	share_readonly(r->server->share, on);
	r->server->locked = on;
	nvlist_add_bool(out, "readonly", on ||
	    r->server->conf->share.readonly);
	return (0);
}

static int
op_stop(const struct request *r, nvlist_t *out, struct co_error *e)
{

	(void)out;
	(void)e;
	server_stop(r->server);
	return (0);
}

static const struct op ops[] = {
	{ "step.begin", op_begin, true, false },
	{ "step.complete", op_complete, true, false },
	{ "step.abandon", op_abandon, true, false },
	{ "undo", op_undo, true, false },
	{ "redo", op_redo, true, false },
	{ "history", op_history, true, false },
	{ "redoable", op_redoable, true, false },
	{ "changes", op_changes, true, false },
	{ "diff", op_diff, true, false },
	{ "limits", op_limits, true, false },
	{ "safeguard.set", op_guard_set, true, false },
	{ "safeguard.answer", op_guard_answer, true, false },
	{ "barrier", op_barrier, true, false },
	{ "discard", op_discard, true, false },
	{ "stats", op_stats, false, false },
	{ "events", op_events, false, true },
	{ "readonly", op_readonly, false, false },
	{ "stop", op_stop, false, false }
};

const struct op *
op_find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (strcmp(ops[i].name, name) == 0)
			return (&ops[i]);
	return (NULL);
}
