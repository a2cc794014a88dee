/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The ledger of a crash test and the verdict after it.
 */

#include <sys/types.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <coppice.h>
#include <undo.h>

#include "fsops.h"
#include "ledger.h"
#include "snap.h"

static bool fail(struct ledger *, const char *, ...)
    __attribute__((__format__(__printf__, 2, 3)));

static bool
fail(struct ledger *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(l->why, sizeof(l->why), fmt, ap);
	va_end(ap);
	return (false);
}

static void
picture(struct ledger *l, unsigned int i, int rootfd)
{

	if (i >= LEDGER_MAX)
		abort();
	snap_free(l->snaps[i]);
	if ((l->snaps[i] = snap_take(rootfd)) == NULL)
		abort();
	snap_loose(l->snaps[i], l->slack);
}

void
ledger_clear(struct ledger *l)
{
	unsigned int i;

	for (i = 0; i < LEDGER_MAX; i++)
		snap_free(l->snaps[i]);
	memset(l, 0, sizeof(*l));
}

void
ledger_mark(struct ledger *l, int rootfd, enum ledger_mark what,
    unsigned int n)
{

	switch (what) {
	case LEDGER_VOID:
		l->top = l->pos;
		break;
	case LEDGER_CANDIDATE:
		picture(l, l->pos + 1, rootfd);
		l->ids[l->pos + 1] = n;
		l->top = l->hi = l->pos + 1;
		break;
	case LEDGER_COMMIT:
		l->lo = l->pos = l->hi;
		break;
	case LEDGER_BACK:
		l->lo = l->pos - n;
		l->moving = true;
		break;
	case LEDGER_FORTH:
		l->hi = l->pos + n;
		l->moving = true;
		break;
	case LEDGER_AT:
		if (l->snaps[n] == NULL)
			picture(l, n, rootfd);
		l->lo = l->hi = l->pos = n;
		l->moving = false;
		break;
	case LEDGER_NEED:
		l->need = n;
		break;
	}
}

/*
 * The verdict.
 */
struct verdict {
	struct ledger	*l;
	int		 rootfd;
	const char	*store;
	struct undo	*u;
	unsigned int	 at;
	int64_t		 history[LEDGER_MAX];
	unsigned int	 nhistory;
	int64_t		 redo[LEDGER_MAX];
	unsigned int	 nredo;
	bool		 skip;		/* redo is not what is tested */
	unsigned int	 damage;
	unsigned int	 recoveries;
};

static void
on_event(void *arg, const struct undo_event *ev)
{
	struct verdict *v = arg;

	v->damage += ev->type == UNDO_EV_DAMAGE;
	v->recoveries += ev->type == UNDO_EV_RECOVERY;
}

static bool
same(struct verdict *v, unsigned int i, char *why, size_t size)
{
	struct snap *t;
	bool ok;

	if (v->l->snaps[i] == NULL) {
		(void)snprintf(why, size, "no picture of position %u", i);
		return (false);
	}
	if ((t = snap_take(v->rootfd)) == NULL) {
		(void)snprintf(why, size, "folder: %s", strerror(errno));
		return (false);
	}
	ok = snap_same(v->l->snaps[i], t, why, size);
	snap_free(t);
	return (ok);
}

static bool
require(struct verdict *v, unsigned int i, const char *when)
{
	char why[2000];

	if (same(v, i, why, sizeof(why)))
		return (true);
	return (fail(v->l, "%s, at %u of %u-%u: %s", when, i, v->l->lo,
	    v->l->hi, why));
}

/* Which of the allowed positions is it? */
static bool
locate(struct verdict *v)
{
	char lo[1500], hi[1500];
	unsigned int i;

	for (i = v->l->lo; i <= v->l->hi; i++)
		if (same(v, i, lo, sizeof(lo))) {
			v->at = i;
			return (true);
		}
	(void)same(v, v->l->lo, lo, sizeof(lo));
	(void)same(v, v->l->hi, hi, sizeof(hi));
	return (fail(v->l, "folder is at no boundary of %u-%u: not the "
	    "first: %s; not the last: %s", v->l->lo, v->l->hi, lo, hi));
}

struct ids {
	int64_t		*ids;
	unsigned int	*n;
};

static int
collect(void *arg, const struct undo_step *s, const struct undo_stamp *b)
{
	struct ids *i = arg;

	(void)b;
	if (s != NULL && *i->n < LEDGER_MAX)
		i->ids[(*i->n)++] = s->id;
	return (0);
}

/* The steps listed must lead from here back, and from here forth. */
static bool
lists(struct verdict *v)
{
	struct ids h = { v->history, &v->nhistory }, r = { v->redo, &v->nredo };
	struct co_error e;
	unsigned int i;

	v->nhistory = v->nredo = 0;
	if (undo_history(v->u, collect, &h, &e) == -1 ||
	    undo_redoable(v->u, collect, &r, &e) == -1)
		return (fail(v->l, "history: %s", e.message));
	for (i = 0; i < v->nhistory; i++)
		if (i >= v->at || v->history[i] != v->l->ids[v->at - i])
			return (fail(v->l, "at %u, %u-th of history is %jd",
			    v->at, i, (intmax_t)v->history[i]));
	if (v->at > v->l->need && v->nhistory < v->at - v->l->need)
		return (fail(v->l, "at %u, only %u steps of history are left, "
		    "%u needed", v->at, v->nhistory, v->at - v->l->need));
	/* A step without effect may stand beside what can be redone. */
	if (v->l->lossy && v->nredo > 0 && (v->at + v->nredo > v->l->top ||
	    v->redo[0] != v->l->ids[v->at + 1]))
		v->skip = true;
	else if (v->at + v->nredo > v->l->top)
		return (fail(v->l, "at %u, %u steps to redo, top is %u",
		    v->at, v->nredo, v->l->top));
	for (i = 0; i < v->nredo && !v->skip; i++)
		if (v->redo[i] != v->l->ids[v->at + 1 + i])
			return (fail(v->l, "at %u, %u-th to redo is %jd",
			    v->at, i, (intmax_t)v->redo[i]));
	if (v->l->moving && !v->l->lossy &&
	    v->at + v->nredo != v->l->top)
		return (fail(v->l, "at %u, only %u steps to redo, top is %u",
		    v->at, v->nredo, v->l->top));
	return (true);
}

/* Below which names a store may hold things while no step is open. */
static bool
is_garbage(const struct verdict *v, const struct snap *virgin,
    const char *path)
{
	const char *slash;
	unsigned int i;
	long id;

	if (snap_has(virgin, path, NULL))
		return (false);
	if (strncmp(path, "steps/", 6) != 0 && strncmp(path, "redo/", 5) != 0)
		return (strcmp(path, "steps") != 0 &&
		    strcmp(path, "redo") != 0);
	slash = strchr(path, '/') + 1;
	id = strtol(slash, NULL, 10);
	for (i = 0; i < v->nhistory; i++)
		if (*path == 's' && v->history[i] == id)
			return (false);
	for (i = 0; i < v->nredo; i++)
		if (*path == 'r' && v->redo[i] == id)
			return (false);
	return (true);
}

/* A store that never saw a step, for comparison. */
static struct snap *
virgin(struct verdict *v)
{
	struct undo_options o;
	struct co_error e;
	struct undo *u;
	struct snap *t;
	char path[4096];
	int fd;

	memset(&o, 0, sizeof(o));
	(void)snprintf(path, sizeof(path), "%s.virgin", v->store);
	if (undo_open(v->rootfd, path, &o, &u, &e) == -1)
		return (NULL);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	t = snap_names(fd);
	(void)close(fd);
	undo_close(u);
	return (t);
}

static bool
no_garbage(struct verdict *v, const char *when)
{
	struct snap *t, *clean;
	struct snap_name n;
	size_t i;
	bool ok;
	int fd;

	/* What is in the trash goes bit by bit. */
	for (i = 0; i < 100 && undo_tick(v->u) >= 0; i++)
		;
	if ((clean = virgin(v)) == NULL)
		return (fail(v->l, "no store to compare with"));
	fd = open(v->store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1 || (t = snap_names(fd)) == NULL) {
		snap_free(clean);
		return (fail(v->l, "store: %s", strerror(errno)));
	}
	for (i = 0, ok = true; i < snap_count(t) && ok; i++) {
		snap_get(t, i, &n);
		if (is_garbage(v, clean, n.path))
			ok = fail(v->l, "%s: garbage in the store: %s", when,
			    n.path);
	}
	(void)close(fd);
	snap_free(t);
	snap_free(clean);
	return (ok);
}

/* One step back at a time, then forth to where redo leads. */
static bool
back_and_forth(struct verdict *v)
{
	struct co_error e;
	unsigned int i, n;

	for (i = 1; i <= v->nhistory; i++) {
		if (undo_rollback(v->u, 1, false, NULL, NULL, &e) == -1)
			return (fail(v->l, "rollback to %u: %s", v->at - i,
			    e.message));
		if (!require(v, v->at - i, "after rollback"))
			return (false);
	}
	if (v->skip)
		v->nredo = 0;
	n = v->nhistory + v->nredo;
	if (n > 0 && undo_redo(v->u, n, NULL, NULL, &e) == -1)
		return (fail(v->l, "redo of %u: %s", n, e.message));
	if (!require(v, v->at + v->nredo, "after redo"))
		return (false);
	n = v->nredo;
	if (n > 0 && undo_rollback(v->u, n, false, NULL, NULL, &e) == -1)
		return (fail(v->l, "rollback of %u: %s", n, e.message));
	return (require(v, v->at, "after redo and rollback"));
}

static bool
new_step(struct verdict *v)
{
	struct co_error e;
	struct fsops *fs;
	int error;

	fs = fsops_new(v->rootfd, v->u);
	if (undo_step_begin(v->u, 1000, UNDO_API, "after the crash", &e) ==
	    -1)
		return (fail(v->l, "begin: %s", e.message));
	if ((error = fsops_mkdir(fs, "after the crash", 0755)) != 0 ||
	    (error = fsops_create(fs, "after the crash/x", 0644, NULL)) != 0)
		return (fail(v->l, "a new step: %s", strerror(error)));
	fsops_free(fs);
	if (undo_step_complete(v->u, 1000, 0, &e) == -1 ||
	    undo_rollback(v->u, 1, false, NULL, NULL, &e) == -1)
		return (fail(v->l, "a new step: %s", e.message));
	return (require(v, v->at, "after a new step"));
}

static bool
verdict_open(struct verdict *v, const struct undo_options *o)
{
	struct undo_options mine = *o;
	struct co_error e;

	mine.event = on_event;
	mine.event_arg = v;
	if (undo_open(v->rootfd, v->store, &mine, &v->u, &e) == -1)
		return (fail(v->l, "open: %s", e.message));
	return (true);
}

bool
ledger_verify(struct ledger *l, int rootfd, const char *store,
    const struct undo_options *o)
{
	struct verdict v = { .l = l, .rootfd = rootfd, .store = store };
	bool ok;

	if (!verdict_open(&v, o))
		return (false);
	ok = locate(&v) && lists(&v) && no_garbage(&v, "after recovery") &&
	    back_and_forth(&v);
	undo_close(v.u);
	l->events = v.recoveries;
	if (!ok || !verdict_open(&v, o))
		return (false);
	if (v.recoveries != l->events)
		ok = fail(l, "recovered once more although all was done");
	if (v.damage != 0)
		ok = fail(l, "damage was reported");
	ok = ok && lists(&v) && require(&v, v.at, "opened again") &&
	    new_step(&v);
	undo_close(v.u);
	return (ok);
}
