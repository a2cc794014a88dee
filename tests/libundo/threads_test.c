/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Eight writers, an observer and a thread that begins, completes, rolls back
 * and redoes steps, all at once; built with the thread sanitizer where the
 * compiler has it.  In the end all is rolled back to the very beginning.
 */

#include <sys/types.h>
#include <sys/stat.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <coppice.h>
#include <undo.h>

#include "chaos.h"
#include "fsops.h"
#include "snap.h"
#include "work.h"

#define	NWRITERS	8
#define	NSHARED		4
#define	NOPS		400

struct arena {
	int		 rootfd;
	struct undo	*u;
	struct fsops	*fs;
	atomic_uint	 running;	/* writers */
	uint64_t	 seed;
};

struct writer {
	struct arena	*a;
	unsigned int	 i;
	uint64_t	 rng;
	pthread_t	 thread;
};

/* A path in the writer's own folder; the pool is small. */
static void
own(struct writer *w, char *buf, size_t size)
{
	unsigned int n;

	n = (unsigned int)chaos_below(&w->rng, 12);
	(void)snprintf(buf, size, "w%u/%s%u", w->i, n < 6 ? "d/" : "", n % 6);
}

static void
scribble(struct writer *w, const char *path)
{
	struct fsops_file *f;
	char buf[3000];

	memset(buf, (int)('a' + w->i), sizeof(buf));
	if (fsops_open(w->a->fs, path, &f) != 0)
		return;
	(void)fsops_write(w->a->fs, f, buf, chaos_below(&w->rng, sizeof(buf)),
	    (off_t)chaos_below(&w->rng, 10000));
	if (chaos_below(&w->rng, 4) == 0)
		(void)fsops_ftruncate(w->a->fs, f,
		    (off_t)chaos_below(&w->rng, 6000));
	fsops_close(w->a->fs, f);
}

/* Files that all writers write, and nobody moves. */
static void
common(struct writer *w)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "shared/%u",
	    (unsigned int)chaos_below(&w->rng, NSHARED));
	switch (chaos_below(&w->rng, 4)) {
	case 0:
		(void)fsops_chmod(w->a->fs, path,
		    (mode_t)(0600 | chaos_below(&w->rng, 0100)));
		break;
	case 1:
		(void)fsops_setxattr(w->a->fs, path, "user.w", &w->i,
		    sizeof(w->i));
		break;
	default:
		scribble(w, path);
	}
}

static void
operate(struct writer *w)
{
	struct fsops *fs = w->a->fs;
	char a[64], b[64];

	own(w, a, sizeof(a));
	own(w, b, sizeof(b));
	switch (chaos_below(&w->rng, 12)) {
	case 0:
	case 1:
		(void)fsops_create(fs, a, 0644, NULL);
		break;
	case 2:
	case 3:
		scribble(w, a);
		break;
	case 4:
		(void)fsops_unlink(fs, a);
		break;
	case 5:
		(void)fsops_rename(fs, a, b, 0);
		break;
	case 6:
		(void)fsops_rename(fs, a, b, UNDO_EXCHANGE);
		break;
	case 7:
		(void)fsops_link(fs, a, b);
		break;
	case 8:
		(void)fsops_symlink(fs, b, a);
		break;
	case 9:
		(void)snprintf(b, sizeof(b), "w%u/d", w->i);
		(void)fsops_mkdir(fs, b, 0755);
		break;
	case 10:
		(void)fsops_open_trunc(fs, a, NULL);
		break;
	default:
		common(w);
	}
}

static void *
write_all(void *arg)
{
	struct writer *w = arg;
	unsigned int i, n;

	n = (unsigned int)work_number("COPPICE_THREAD_OPS", NOPS);
	for (i = 0; i < n; i++)
		operate(w);
	atomic_fetch_sub(&w->a->running, 1);
	return (NULL);
}

static int
ignore_step(void *arg, const struct undo_step *s, const struct undo_stamp *b)
{

	(void)b;
	if (s != NULL)
		*(int64_t *)arg = s->id;
	return (0);
}

static int
ignore_path(void *arg, const struct undo_path *p)
{

	(void)arg;
	(void)p;
	return (0);
}

/* Looks at everything that may be looked at, all the time. */
static void *
observe(void *arg)
{
	struct arena *a = arg;
	struct timespec t = { .tv_nsec = 2000000 };
	struct undo_stats st;
	struct co_error e;
	int64_t id;

	while (atomic_load(&a->running) > 0) {
		id = 0;
		undo_stats(a->u, &st);
		(void)undo_history(a->u, ignore_step, &id, &e);
		if (id != 0)
			(void)undo_changes(a->u, id, ignore_path, NULL, &e);
		(void)undo_redoable(a->u, ignore_step, &id, &e);
		(void)undo_kept_links(a->u, 1, 2);
		(void)undo_step_current(a->u);
		(void)undo_tick(a->u);
		(void)nanosleep(&t, NULL);
	}
	return (NULL);
}

/* Begin and end steps, and now and then go back, while writers write. */
static void
conduct(struct arena *a)
{
	struct timespec t = { .tv_nsec = 3000000 };
	struct co_error e;
	uint64_t rng;
	int64_t id;

	rng = a->seed;
	for (id = 1; atomic_load(&a->running) > 0; id++) {
		ATF_REQUIRE_MSG(undo_step_begin(a->u, id, UNDO_COMMAND, "x",
		    &e) == 0, "begin: %s", e.message);
		(void)nanosleep(&t, NULL);
		if (chaos_below(&rng, 10) == 0) {
			ATF_REQUIRE_MSG(undo_step_abandon(a->u, id, &e) == 0,
			    "abandon: %s", e.message);
			continue;
		}
		ATF_REQUIRE_MSG(undo_step_complete(a->u, id, 0, &e) == 0,
		    "complete: %s", e.message);
		if (chaos_below(&rng, 3) == 0)
			(void)nanosleep(&t, NULL);
		if (chaos_below(&rng, 3) != 0)
			continue;
		memset(&e, 0, sizeof(e));
		if (undo_rollback(a->u, 1 + (unsigned int)chaos_below(&rng,
		    2), false, NULL, NULL, &e) == -1)
			ATF_REQUIRE_MSG(e.code == CO_EUNDO_NOSTEP,
			    "rollback: %s", e.message);
		/* A writer may well have been quicker. */
		if (undo_redo(a->u, 1, NULL, NULL, &e) == -1)
			ATF_REQUIRE_MSG(e.code == CO_EUNDO_NOREDO,
			    "redo: %s", e.message);
	}
}

static int
count_step(void *arg, const struct undo_step *s, const struct undo_stamp *b)
{

	(void)b;
	*(unsigned int *)arg += s != NULL;
	return (0);
}

static void
require_same(const struct snap *want, int rootfd, const char *when)
{
	struct snap *t;
	char why[4000];

	ATF_REQUIRE((t = snap_take(rootfd)) != NULL);
	if (!snap_same(want, t, why, sizeof(why)))
		atf_tc_fail("%s: %s", when, why);
	snap_free(t);
}

/* All the way back, and forth again. */
static void
verify(struct arena *a, const struct snap *first)
{
	struct snap *last;
	struct co_error e;
	unsigned int n;

	ATF_REQUIRE((last = snap_take(a->rootfd)) != NULL);
	/* Close what is open, so that it counts. */
	ATF_REQUIRE(undo_step_begin(a->u, 1000000, UNDO_API, "", &e) == 0);
	ATF_REQUIRE(undo_step_abandon(a->u, 1000000, &e) == 0);
	n = 0;
	ATF_REQUIRE(undo_history(a->u, count_step, &n, &e) == 0);
	(void)printf("%u steps, %ju mutations\n", n,
	    (uintmax_t)fsops_mutations(a->fs));
	ATF_REQUIRE(n > 0);
	ATF_REQUIRE_MSG(undo_rollback(a->u, n, false, NULL, NULL, &e) == 0,
	    "rollback of %u: %s", n, e.message);
	require_same(first, a->rootfd, "all rolled back");
	ATF_REQUIRE_MSG(undo_redo(a->u, n, NULL, NULL, &e) == 0,
	    "redo of %u: %s", n, e.message);
	require_same(last, a->rootfd, "all redone");
	snap_free(last);
}

static void
populate(struct fsops *fs)
{
	char path[64];
	unsigned int i, j;

	ATF_REQUIRE(fsops_mkdir(fs, "shared", 0755) == 0);
	for (i = 0; i < NSHARED; i++) {
		(void)snprintf(path, sizeof(path), "shared/%u", i);
		ATF_REQUIRE(fsops_create(fs, path, 0644, NULL) == 0);
	}
	for (i = 0; i < NWRITERS; i++) {
		(void)snprintf(path, sizeof(path), "w%u", i);
		ATF_REQUIRE(fsops_mkdir(fs, path, 0755) == 0);
		for (j = 0; j < 4; j++) {
			(void)snprintf(path, sizeof(path), "w%u/%u", i, j);
			ATF_REQUIRE(fsops_create(fs, path, 0644, NULL) == 0);
		}
	}
}

ATF_TC(writers);
ATF_TC_HEAD(writers, tc)
{

	atf_tc_set_md_var(tc, "descr", "Eight writers with steps, rollbacks "
	    "and redos meanwhile end in an exact rollback");
	atf_tc_set_md_var(tc, "timeout", "1200");
}
ATF_TC_BODY(writers, tc)
{
	struct undo_options o = { .quiet_ms = 2, .ambient_ms = 5 };
	struct writer w[NWRITERS];
	struct arena a;
	struct snap *first;
	struct co_error e;
	pthread_t observer;
	unsigned int i;

	memset(&a, 0, sizeof(a));
	a.seed = work_number("COPPICE_SEED", 1);
	a.rootfd = work_fresh("root");
	a.fs = fsops_new(a.rootfd, NULL);
	populate(a.fs);
	o.limits.max_step_count = 100000;
	ATF_REQUIRE_MSG(undo_open(a.rootfd, "store", &o, &a.u, &e) == 0,
	    "open: %s", e.message);
	fsops_undo(a.fs, a.u);
	ATF_REQUIRE((first = snap_take(a.rootfd)) != NULL);
	a.running = NWRITERS;
	for (i = 0; i < NWRITERS; i++) {
		w[i].a = &a;
		w[i].i = i;
		w[i].rng = a.seed * 100 + i;
		ATF_REQUIRE(pthread_create(&w[i].thread, NULL, write_all,
		    &w[i]) == 0);
	}
	ATF_REQUIRE(pthread_create(&observer, NULL, observe, &a) == 0);
	conduct(&a);
	for (i = 0; i < NWRITERS; i++)
		ATF_REQUIRE(pthread_join(w[i].thread, NULL) == 0);
	ATF_REQUIRE(pthread_join(observer, NULL) == 0);
	verify(&a, first);
	snap_free(first);
	fsops_free(a.fs);
	undo_close(a.u);
	(void)close(a.rootfd);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, writers);
	return (atf_no_error());
}
