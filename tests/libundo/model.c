/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The model: an array of pictures of the folder, a position in it, and how
 * far back and forth one may go.  Each action has its own random numbers, so
 * that leaving one out does not change the others.
 */

#include <sys/types.h>

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <coppice.h>
#include <undo.h>

#include "chaos.h"
#include "fsops.h"
#include "look.h"
#include "model.h"
#include "snap.h"
#include "work.h"

#define	MAXSNAPS	(MODEL_ACTIONS + 2)

struct model {
	struct model_run *run;
	const char	*store;
	int		 rootfd;
	uint64_t	 rng;
	struct undo_options o;
	struct undo	*u;
	struct fsops	*fs;
	struct chaos	*chaos;
	struct snap	*snaps[MAXSNAPS];
	int64_t		 ids[MAXSNAPS];	/* that led to the picture */
	unsigned int	 pos;		/* where the folder is */
	unsigned int	 top;		/* how far redo goes */
	unsigned int	 floor;		/* how far rollback goes */
	unsigned int	 barrier;	/* position of one that was not
					   crossed yet, or 0 */
	bool		 barred;	/* there was one at all */
	int64_t		 nextid;
	int64_t		 step;		/* that takes mutations, or 0 */
	bool		 open;		/* it has not completed */
	bool		 closed;	/* it must take no more */
	bool		 sure;		/* it changed something for sure */
	bool		 late;		/* mutations after completion */
	bool		 mutated;	/* since the step began */
	bool		 failed;
};

static void fail(struct model *, const char *, ...)
    __attribute__((__format__(__printf__, 2, 3)));
static void note(struct model *, const char *, ...)
    __attribute__((__format__(__printf__, 2, 3)));

static void
fail(struct model *m, const char *fmt, ...)
{
	va_list ap;

	if (m->failed)
		return;
	m->failed = true;
	va_start(ap, fmt);
	(void)vsnprintf(m->run->why, sizeof(m->run->why), fmt, ap);
	va_end(ap);
}

static void
note(struct model *m, const char *fmt, ...)
{
	va_list ap;

	if (m->run->trace == NULL)
		return;
	va_start(ap, fmt);
	(void)vfprintf(m->run->trace, fmt, ap);
	va_end(ap);
	(void)fputc('\n', m->run->trace);
}

static uint64_t
below(struct model *m, uint64_t n)
{

	return (chaos_below(&m->rng, n));
}

/*
 * Checks.
 */
static struct snap *
picture(struct model *m)
{
	struct snap *t;

	if ((t = snap_take(m->rootfd)) == NULL)
		fail(m, "can't read the folder: %s", strerror(errno));
	else
		snap_loose(t, m->run->slack);
	return (t);
}

/* Links that the library keeps must be told, or a server shows them. */
static void
check_links(struct model *m, const struct snap *t, const char *when)
{
	struct snap_name n;
	uint32_t kept;
	size_t i;

	for (i = 0; i < snap_count(t); i++) {
		snap_get(t, i, &n);
		if (S_ISDIR(n.mode) || n.nlink == n.names)
			continue;
		kept = undo_kept_links(m->u, n.dev, n.ino);
		if (n.nlink != n.names + kept) {
			fail(m, "%s: %s has %ju links, %ju names and %u kept",
			    when, n.path, (uintmax_t)n.nlink,
			    (uintmax_t)n.names, kept);
			return;
		}
	}
}

static void
check_tree(struct model *m, const char *when)
{
	struct snap *t;
	char why[3000];

	if (m->failed || (t = picture(m)) == NULL)
		return;
	if (!snap_same(m->snaps[m->pos], t, why, sizeof(why)))
		fail(m, "%s: %s", when, why);
	check_links(m, t, when);
	snap_free(t);
}

struct list {
	int64_t		 ids[MAXSNAPS];
	unsigned int	 n;
};

static int
list_add(void *arg, const struct undo_step *s, const struct undo_stamp *b)
{
	struct list *l = arg;

	(void)b;
	if (s != NULL && l->n < MAXSNAPS)
		l->ids[l->n++] = s->id;
	return (0);
}

/* Call only when no step is pending. */
static void
check_history(struct model *m, const char *when)
{
	struct list h = { .n = 0 }, r = { .n = 0 };
	struct co_error e;
	unsigned int i;

	if (m->failed)
		return;
	if (undo_history(m->u, list_add, &h, &e) == -1 ||
	    undo_redoable(m->u, list_add, &r, &e) == -1) {
		fail(m, "%s: history: %s", when, e.message);
		return;
	}
	if (h.n != m->pos - m->floor)
		fail(m, "%s: %u steps in the history, not %u", when, h.n,
		    m->pos - m->floor);
	if (r.n != m->top - m->pos)
		fail(m, "%s: %u steps to redo, not %u", when, r.n,
		    m->top - m->pos);
	for (i = 0; i < h.n && !m->failed; i++)
		if (h.ids[i] != m->ids[m->pos - i])
			fail(m, "%s: step %jd in the history, not %jd", when,
			    (intmax_t)h.ids[i], (intmax_t)m->ids[m->pos - i]);
	for (i = 0; i < r.n && !m->failed; i++)
		if (r.ids[i] != m->ids[m->pos + 1 + i])
			fail(m, "%s: step %jd to redo, not %jd", when,
			    (intmax_t)r.ids[i],
			    (intmax_t)m->ids[m->pos + 1 + i]);
}

static void
check(struct model *m, const char *when)
{

	check_tree(m, when);
	check_history(m, when);
}

/*
 * Keeping the model.
 */

/* A mutation happened: what was rolled back is gone. */
static void
forget_redo(struct model *m)
{

	for (; m->top > m->pos; m->top--) {
		snap_free(m->snaps[m->top]);
		m->snaps[m->top] = NULL;
	}
}

/* The step that is pending will be final with the next call. */
static void
boundary(struct model *m)
{
	struct snap *t;

	if (m->failed || m->step == 0 || m->open ||
	    (t = picture(m)) == NULL)
		return;
	forget_redo(m);
	m->pos = ++m->top;
	m->snaps[m->pos] = t;
	m->ids[m->pos] = m->step;
	m->step = 0;
	m->closed = false;
	if (m->o.limits.max_step_count != 0 &&
	    m->pos - m->floor > m->o.limits.max_step_count)
		m->floor = m->pos - m->o.limits.max_step_count;
}

/*
 * Redo may still be there after operations that failed, or that changed only
 * files without a name; where it then leads is checked.
 */
static void
ask_redo(struct model *m)
{
	struct list r = { .n = 0 };
	struct co_error e;

	if (undo_redoable(m->u, list_add, &r, &e) == -1)
		fail(m, "redoable: %s", e.message);
	if (r.n == 0)
		forget_redo(m);
}

static void
dropped(struct model *m, const char *when)
{

	m->step = 0;
	m->open = false;
	ask_redo(m);
	check(m, when);
}

/* Change something that a step can't overlook. */
static void
force(struct model *m)
{
	struct timespec t[2];
	int error;

	t[0].tv_sec = t[1].tv_sec = (time_t)below(m, 1000000000);
	t[0].tv_nsec = t[1].tv_nsec = (long)below(m, 1000000000);
	fsops_how(m->fs, 0);
	if ((error = fsops_utimens(m->fs, "", t)) != 0)
		fail(m, "utimens of the root: %s", strerror(error));
	m->sure = true;
	m->mutated = true;
	forget_redo(m);
}

/*
 * Actions.
 */
static void
act_begin(struct model *m)
{
	struct co_error e;

	boundary(m);
	m->step = m->nextid++;
	m->open = true;
	m->sure = m->mutated = m->closed = false;
	note(m, "begin %jd", (intmax_t)m->step);
	if (undo_step_begin(m->u, m->step, UNDO_COMMAND, "a command", &e) ==
	    -1)
		fail(m, "begin: %s", e.message);
	else if (undo_step_current(m->u) != m->step)
		fail(m, "step %jd begun, but current is %jd",
		    (intmax_t)m->step, (intmax_t)undo_step_current(m->u));
}

/* Refusals that the operation itself would not have met. */
static void
check_refusal(struct model *m, uint64_t before, const char *what)
{
	int errnum;

	if (fsops_refused(m->fs, &errnum) == before)
		return;
	switch (errnum) {
	case EEXIST:
	case EINVAL:
	case EISDIR:
	case ENOTDIR:
	case ENOTEMPTY:
	case EPERM:
		return;
	default:
		fail(m, "refused by the hook: %s (%s)", what,
		    strerror(errnum));
	}
}

static void
act_op(struct model *m)
{
	uint64_t mutations, refused;
	char what[1500];
	int errnum;
	bool sure;

	if (m->step == 0)
		m->sure = m->mutated = false;
	mutations = fsops_mutations(m->fs);
	refused = fsops_refused(m->fs, &errnum);
	sure = chaos_op(m->chaos, chaos_random(&m->rng), what, sizeof(what));
	note(m, "  %s", what);
	check_refusal(m, refused, what);
	m->sure = m->sure || sure;
	if (fsops_mutations(m->fs) != mutations) {
		m->mutated = true;
		ask_redo(m);
	}
	if (m->step != 0 || m->failed)
		return;
	if (undo_step_current(m->u) == 0 && !m->mutated)
		return;
	if (!m->sure)
		force(m);
	m->step = undo_step_current(m->u);
	note(m, "  (ambient %jd)", (intmax_t)m->step);
	if (m->step >= 0)
		fail(m, "a mutation outside of a step went to step %jd",
		    (intmax_t)m->step);
}

/* Let a completed step become final by time. */
static void
settle(struct model *m)
{
	struct timespec t = { .tv_nsec = 1000000 };
	unsigned int i;

	for (i = 0; i < 5000 && undo_step_current(m->u) != 0; i++) {
		(void)undo_tick(m->u);
		if (undo_step_current(m->u) != 0)
			(void)nanosleep(&t, NULL);
	}
	if (i == 5000)
		fail(m, "step %jd does not become final", (intmax_t)m->step);
	boundary(m);
	check(m, "after completion");
}

static void
act_complete(struct model *m)
{
	struct co_error e;

	if (!m->sure)
		force(m);
	note(m, "complete %jd", (intmax_t)m->step);
	if (undo_step_complete(m->u, m->step, 0, &e) == -1) {
		fail(m, "complete: %s", e.message);
		return;
	}
	m->open = false;
	m->closed = !m->late;
	if (!m->late && below(m, 2) == 0)
		settle(m);
}

static void
act_abandon(struct model *m)
{
	struct co_error e;

	note(m, "abandon %jd", (intmax_t)m->step);
	if (undo_step_abandon(m->u, m->step, &e) == -1)
		fail(m, "abandon: %s", e.message);
	else
		dropped(m, "after abandoning");
}

static int
reopen(struct model *m)
{
	struct co_error e;

	undo_close(m->u);
	m->u = NULL;
	if (undo_open(m->rootfd, m->store, &m->o, &m->u, &e) == -1) {
		m->u = NULL;
		fail(m, "open: %s", e.message);
		return (-1);
	}
	fsops_undo(m->fs, m->u);
	return (0);
}

/* Close and open; a step that is open gets lost by it. */
static void
act_reopen(struct model *m)
{

	if (below(m, 3) == 0)
		chaos_close(m->chaos);
	note(m, m->open ? "reopen in the step" : "reopen");
	boundary(m);
	if (m->failed || reopen(m) == -1)
		return;
	if (m->open)
		dropped(m, "after reopening in a step");
	else
		check(m, "after reopening");
}

static int
rollback(struct model *m, unsigned int n, bool force_it, struct co_error *e)
{

	memset(e, 0, sizeof(*e));
	return (undo_rollback(m->u, n, force_it, NULL, NULL, e));
}

static void
act_rollback(struct model *m)
{
	struct co_error e;
	unsigned int n;
	bool crosses;

	boundary(m);
	if (m->failed)
		return;
	n = 1 + (unsigned int)below(m, below(m, 2) == 0 ? 2 :
	    m->pos - m->floor + 1);
	note(m, "rollback %u", n);
	if (n > m->pos - m->floor) {
		if (rollback(m, n, true, &e) == 0)
			fail(m, "rollback of %u steps, of %u, succeeded", n,
			    m->pos - m->floor);
		else if (e.code != CO_EUNDO_NOSTEP)
			fail(m, "rollback: not NOSTEP but %s", e.message);
		check(m, "after a rollback that was too far");
		return;
	}
	crosses = m->barrier != 0 && m->pos - n < m->barrier;
	if (crosses)
		m->barrier = 0;
	if (rollback(m, n, false, &e) == 0) {
		if (crosses)
			fail(m, "rollback across a barrier");
	} else if (e.code != CO_EUNDO_BARRIER || !m->barred)
		fail(m, "rollback: %s", e.message);
	else {
		check(m, "after a rollback refused by a barrier");
		if (!m->failed && rollback(m, n, true, &e) == -1)
			fail(m, "forced rollback: %s", e.message);
	}
	m->pos -= n;
	check(m, "after rollback");
}

static void
act_redo(struct model *m)
{
	struct co_error e;
	unsigned int n;

	boundary(m);
	if (m->failed)
		return;
	memset(&e, 0, sizeof(e));
	n = 1 + (unsigned int)below(m, m->top - m->pos +
	    (below(m, 10) == 0 || m->top == m->pos ? 1 : 0));
	note(m, "redo %u", n);
	if (n > m->top - m->pos) {
		if (undo_redo(m->u, n, NULL, NULL, &e) == 0)
			fail(m, "redo of %u steps, of %u, succeeded", n,
			    m->top - m->pos);
		else if (e.code != CO_EUNDO_NOREDO)
			fail(m, "redo: not NOREDO but %s", e.message);
		check(m, "after a redo that was too far");
		return;
	}
	if (undo_redo(m->u, n, NULL, NULL, &e) == -1)
		fail(m, "redo: %s", e.message);
	m->pos += n;
	check(m, "after redo");
}

static void
act_barrier(struct model *m)
{
	const char *const paths[] = { "a", "\xff\xfe" };
	struct co_error e;

	if (m->step != 0 || m->top != m->pos || m->pos == m->floor)
		return;
	note(m, "barrier");
	if (undo_barrier(m->u, paths, 2, &e) == -1)
		fail(m, "barrier: %s", e.message);
	m->barrier = m->pos;
	m->barred = true;
	check_tree(m, "after a barrier");
}

/* What an open step forbids. */
static void
act_busy(struct model *m)
{
	struct co_error e;

	note(m, "busy");
	if (rollback(m, 1, true, &e) == 0 || e.code != CO_EUNDO_BUSY)
		fail(m, "rollback in an open step: %s", e.message);
	memset(&e, 0, sizeof(e));
	if (undo_step_begin(m->u, m->step + 1000, UNDO_API, "x", &e) == 0 ||
	    e.code != CO_EUNDO_BUSY)
		fail(m, "a second step: %s", e.message);
}

/* Reading the history must tell the truth, and not touch the folder. */
static void
act_look(struct model *m)
{
	struct co_error e;
	unsigned int pos;
	char why[1024];
	int fd;

	if (m->step != 0 || m->pos == m->floor)
		return;
	pos = m->pos - (unsigned int)below(m, m->pos - m->floor);
	note(m, "look at %jd", (intmax_t)m->ids[pos]);
	if (!look_changes(m->u, m->ids[pos], m->snaps[pos - 1],
	    m->snaps[pos], why, sizeof(why)))
		fail(m, "changes of %jd: %s", (intmax_t)m->ids[pos], why);
	if ((fd = open("/dev/null", O_WRONLY | O_CLOEXEC)) != -1) {
		if (undo_diff(m->u, m->ids[pos], fd, 0, &e) == -1)
			fail(m, "diff of %jd: %s", (intmax_t)m->ids[pos],
			    e.message);
		(void)close(fd);
	}
	check(m, "after reading history");
}

/*
 * The sequence.
 */
struct choice {
	unsigned int	 weight;
	void		(*act)(struct model *);
};

static const struct choice in_step[] = {
	{ 80, act_op }, { 12, act_complete }, { 2, act_abandon },
	{ 2, act_reopen }, { 1, act_busy }, { 0, NULL }
};

static const struct choice between[] = {
	{ 44, act_begin }, { 12, act_op }, { 18, act_rollback },
	{ 14, act_redo }, { 5, act_reopen }, { 4, act_look },
	{ 3, act_barrier }, { 0, NULL }
};

static void
act(struct model *m, unsigned int i)
{
	const struct choice *c;
	unsigned int sum, w;

	m->rng = m->run->seed * 1000003 + i * 7727;
	c = m->open ? in_step : between;
	for (w = sum = 0; c[w].act != NULL; w++)
		sum += c[w].weight;
	w = (unsigned int)below(m, sum);
	for (; w >= c->weight; c++)
		w -= c->weight;
	/* A completed step that is about to be final would take it. */
	if (c->act == act_op && m->closed)
		act_begin(m);
	else
		c->act(m);
}

/* Back to the oldest state, and forth to the newest. */
static void
finale(struct model *m)
{
	struct co_error e;
	unsigned int n;

	if (m->open)
		act_complete(m);
	boundary(m);
	note(m, "all back and forth");
	if (m->failed || (n = m->pos - m->floor) == 0)
		return;
	if (rollback(m, n, true, &e) == -1)
		fail(m, "rollback: %s", e.message);
	m->pos = m->floor;
	check(m, "after rollback of all");
	n = m->top - m->pos;
	if (!m->failed && undo_redo(m->u, n, NULL, NULL, &e) == -1)
		fail(m, "redo: %s", e.message);
	m->pos += n;
	check(m, "after redo of all");
}

static void
options(struct model *m)
{
	uint64_t v;
	unsigned int flags;

	m->rng = m->run->seed;
	v = chaos_random(&m->rng);
	m->late = v & 1;
	m->o.quiet_ms = m->late ? 600000 : 1;
	m->o.ambient_ms = 600000;
	if ((v >> 1 & 7) == 0)
		m->o.limits.max_step_count = 3;
	if ((v >> 4 & 31) == 0)
		m->o.durability = UNDO_POWER;
	m->store = m->run->store;
	if ((v >> 9 & 7) == 0 && m->run->elsewhere != NULL)
		m->store = m->run->elsewhere;
	flags = geteuid() == 0 ? CHAOS_ROOT : 0;
	if ((v >> 12 & 31) == 0)
		flags |= CHAOS_DEEP;
	if ((v >> 17 & 63) == 0)
		flags |= CHAOS_LARGE;
	m->chaos = chaos_new(m->rootfd, m->fs, flags);
	note(m, "options: %s, store %s, keep %u, %s, flags %u",
	    m->late ? "late mutations" : "quiet",
	    m->store == m->run->store ? "beside" : "elsewhere",
	    m->o.limits.max_step_count,
	    m->o.durability == UNDO_POWER ? "power" : "process", flags);
}

bool
model_run(struct model_run *r)
{
	struct model *m;
	struct co_error e;
	unsigned int i, n;
	bool ok;

	if ((m = calloc(1, sizeof(*m))) == NULL)
		abort();
	m->run = r;
	m->nextid = 1;
	m->rootfd = work_fresh(r->root);
	m->fs = fsops_new(m->rootfd, NULL);
	options(m);
	(void)work_remove(AT_FDCWD, m->store);
	chaos_fill(m->chaos, chaos_random(&m->rng));
	n = 20 + (unsigned int)below(m, MODEL_ACTIONS - 20);
	if (undo_open(m->rootfd, m->store, &m->o, &m->u, &e) == -1)
		fail(m, "open: %s", e.message);
	else
		fsops_undo(m->fs, m->u);
	m->snaps[0] = picture(m);
	for (i = 0; i < n && !m->failed; i++)
		if (r->skip == NULL || !r->skip[i])
			act(m, i);
	finale(m);
	chaos_free(m->chaos);
	fsops_free(m->fs);
	undo_close(m->u);
	for (i = 0; i < MAXSNAPS; i++)
		snap_free(m->snaps[i]);
	(void)close(m->rootfd);
	ok = !m->failed;
	free(m);
	return (ok);
}
