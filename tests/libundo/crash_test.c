/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Crash injection: every scene is played once for every system call that the
 * library makes in it, and killed, or made to fail, right there.  The moment
 * after a call is that before the next one, and not visited twice, unless
 * the server did something in between.
 *
 * By default some cases visit every n-th point only.
 *
 *	COPPICE_CRASH_ALL	visit every point in every case
 *	COPPICE_CRASH_STRIDE	visit every n-th point in every case
 *	COPPICE_CRASH_SCENE	play this scene only
 *	COPPICE_CRASH_POINT	start at this point
 */

#include <sys/types.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <undo.h>
#include <undo_fault.h>

#include "fsops.h"
#include "ledger.h"
#include "scene.h"
#include "work.h"

#define	MAXCALLS	8192
#define	MAXWORKERS	8

/* How a point is visited. */
enum mode {
	KILL_BEFORE, KILL_AFTER, FAIL_ONCE, FAIL_ON, NMODES
};

/* One visit: where, and what happens there. */
struct visit {
	const struct scene *scene;
	enum mode	 mode;
	int		 error;		/* to fail with */
	unsigned long	 point;		/* 0: none, only count */
	enum undo_durability durability;
	char		 root[PATH_MAX];
	char		 store[PATH_MAX];
	uint64_t	 slack;
};

/* What the processes of a visit share. */
struct shared {
	unsigned long	 calls;		/* made while armed */
	bool		 armed;
	bool		 reached;
	uint64_t	 deeds;		/* of the server */
	bool		 deed[MAXCALLS];	/* one came after this call */
	char		 call[32];	/* at the point */
	char		 why[4096];
};

/* What the workers of a tour share with the test. */
struct result {
	unsigned long	 visits;
	char		 why[4096];
};

static struct shared *shared;
static struct result *result;
static const struct visit *visiting;
static const struct stage *playing;

static void bad(const char *, ...)
    __attribute__((__format__(__printf__, 1, 2), __noreturn__));

/* A worker has found what it was looking for. */
static void
bad(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(result->why, sizeof(result->why), fmt, ap);
	va_end(ap);
	_exit(1);
}

static void *
map_shared(size_t size)
{
	void *p;

	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON,
	    -1, 0);
	ATF_REQUIRE(p != MAP_FAILED);
	memset(p, 0, size);
	return (p);
}

/* Remember after which calls the server did something itself. */
static void
note_deeds(void)
{
	uint64_t deeds;

	deeds = playing == NULL || playing->fs == NULL ? 0 :
	    fsops_mutations(playing->fs);
	if (deeds != shared->deeds && shared->calls < MAXCALLS)
		shared->deed[shared->calls] = true;
	shared->deeds = deeds;
}

struct message {
	enum ledger_mark what;
	unsigned int	 n;
};

/*
 * The hook, in the process that may die.
 */
static int
fault(const char *call, unsigned long n, bool after)
{
	const struct visit *v = visiting;

	(void)n;
	if (!shared->armed)
		return (0);
	if (!after) {
		note_deeds();
		shared->calls++;
	}
	if (v->point == 0 || shared->calls < v->point ||
	    (v->mode != FAIL_ON && shared->calls > v->point))
		return (0);
	if (shared->calls == v->point) {
		(void)snprintf(shared->call, sizeof(shared->call), "%s",
		    call);
		shared->reached = true;
	}
	switch (v->mode) {
	case KILL_BEFORE:
	case KILL_AFTER:
		if (after == (v->mode == KILL_AFTER))
			(void)kill(getpid(), SIGKILL);
		return (0);
	default:
		return (after ? 0 : v->error);
	}
}

static void
stage_arm(struct stage *s, bool on)
{

	(void)s;
	shared->armed = on;
}

static void
stage_init(struct stage *s, const struct visit *v, int rootfd)
{

	memset(s, 0, sizeof(*s));
	s->scene = v->scene;
	s->rootfd = rootfd;
	s->store = v->store;
	s->o.durability = v->durability;
	s->arm = stage_arm;
	playing = s;
}

/*
 * Killing: the parent keeps the ledger, by messages over a socket.
 */
static void
mark_remote(struct stage *s, enum ledger_mark what, unsigned int n)
{
	struct message m;
	bool armed;
	char ack;
	int fd;

	memset(&m, 0, sizeof(m));
	m.what = what;
	m.n = n;
	fd = *(int *)s->arg;
	armed = shared->armed;
	shared->armed = false;
	if (write(fd, &m, sizeof(m)) != sizeof(m) || read(fd, &ack, 1) != 1)
		_exit(3);
	shared->armed = armed;
}

static void
child_play(const struct visit *v, int rootfd, int sock)
{
	struct stage s;

	visiting = v;
	undo_fault = fault;
	stage_init(&s, v, rootfd);
	s.mark = mark_remote;
	s.arg = &sock;
	(void)alarm(60);
	scene_set(&s);
	scene_play(&s);
	if (s.why[0] != '\0') {
		(void)snprintf(shared->why, sizeof(shared->why), "%s", s.why);
		_exit(2);
	}
	_exit(0);
}

/* Keep the ledger until the child is gone; return how it went. */
static int
attend(struct ledger *l, int rootfd, int sock, pid_t pid)
{
	struct message m;
	int status;

	while (read(sock, &m, sizeof(m)) == sizeof(m)) {
		ledger_mark(l, rootfd, m.what, m.n);
		if (write(sock, "", 1) != 1)
			break;
	}
	if (waitpid(pid, &status, 0) != pid)
		abort();
	return (status);
}

/* Play with the ledger kept here. */
static int
play(const struct visit *v, struct ledger *l, int *rootfd)
{
	int sock[2], status;
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	*rootfd = work_fresh(v->root);
	(void)work_remove(AT_FDCWD, v->store);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sock) == -1 ||
	    (pid = fork()) == -1)
		abort();
	if (pid == 0) {
		(void)close(sock[0]);
		child_play(v, *rootfd, sock[1]);
	}
	(void)close(sock[1]);
	l->slack = v->slack;
	status = attend(l, *rootfd, sock[0], pid);
	(void)close(sock[0]);
	shared->armed = false;
	return (status);
}

static void
options(const struct visit *v, struct undo_options *o)
{

	memset(o, 0, sizeof(*o));
	o->durability = v->durability;
	o->quiet_ms = 1;
	o->limits.max_step_count = v->scene->keep;
}

static const char *
describe(const struct visit *v, char *buf, size_t size)
{
	static const char *const modes[NMODES] = {
		"killed before", "killed after", "failed once at",
		"failing from"
	};

	(void)snprintf(buf, size, "scene %s, %s call %lu (%s)%s%s",
	    v->scene->name, modes[v->mode], v->point, shared->call,
	    v->mode >= FAIL_ONCE ? ", " : "", v->mode < FAIL_ONCE ? "" :
	    v->error == UNDO_FAULT_SHORT ? "short" : strerror(v->error));
	return (buf);
}

/*
 * Visit one point with a kill.  Returns false when the scene ended before
 * it.
 */
static bool
visit_kill(const struct visit *v)
{
	struct undo_options o;
	struct ledger l;
	char where[200];
	int rootfd, status;

	memset(&l, 0, sizeof(l));
	status = play(v, &l, &rootfd);
	if (!WIFSIGNALED(status) && (!WIFEXITED(status) ||
	    WEXITSTATUS(status) != 0))
		bad("%s: status %#x: %s", describe(v, where,
		    sizeof(where)), (unsigned int)status, shared->why);
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		bad("%s: signal %d", describe(v, where,
		    sizeof(where)), WTERMSIG(status));
	options(v, &o);
	if (!ledger_verify(&l, rootfd, v->store, &o))
		bad("%s: %s", describe(v, where, sizeof(where)),
		    l.why);
	ledger_clear(&l);
	(void)close(rootfd);
	return (WIFSIGNALED(status));
}

/*
 * Failing: the child keeps the ledger itself, and verifies.
 */
static void
mark_local(struct stage *s, enum ledger_mark what, unsigned int n)
{
	bool armed;

	armed = shared->armed;
	shared->armed = false;
	ledger_mark(s->arg, s->rootfd, what, n);
	shared->armed = armed;
}

static void
child_fail(const struct visit *v, int rootfd)
{
	static struct ledger l;
	struct undo_options o;
	struct stage s;

	visiting = v;
	undo_fault = fault;
	l.slack = v->slack;
	l.lossy = true;
	stage_init(&s, v, rootfd);
	s.tolerant = true;
	s.mark = mark_local;
	s.arg = &l;
	(void)alarm(60);
	scene_set(&s);
	scene_play(&s);
	options(v, &o);
	if (s.why[0] != '\0')
		(void)snprintf(shared->why, sizeof(shared->why), "%s", s.why);
	else if (!ledger_verify(&l, rootfd, v->store, &o))
		(void)snprintf(shared->why, sizeof(shared->why), "%s", l.why);
	else
		_exit(0);
	_exit(2);
}

static bool
visit_fail(const struct visit *v)
{
	char where[200];
	int rootfd, status;
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	rootfd = work_fresh(v->root);
	(void)work_remove(AT_FDCWD, v->store);
	if ((pid = fork()) == -1)
		abort();
	if (pid == 0)
		child_fail(v, rootfd);
	if (waitpid(pid, &status, 0) != pid)
		abort();
	(void)close(rootfd);
	if (WIFSIGNALED(status))
		bad("%s: signal %d", describe(v, where,
		    sizeof(where)), WTERMSIG(status));
	if (WEXITSTATUS(status) != 0)
		bad("%s: %s", describe(v, where, sizeof(where)),
		    shared->why);
	return (shared->reached);
}

/*
 * Killing recovery: after the scene was killed, processes that open the
 * store are killed one after the other, at points that go up and then at
 * half of that.
 */
static int
recover(const struct visit *v, int rootfd, unsigned long point, bool after)
{
	struct visit w = *v;
	struct undo_options o;
	struct co_error *none = NULL;
	struct undo *u;
	int status;
	pid_t pid;

	w.point = point;
	w.mode = after ? KILL_AFTER : KILL_BEFORE;
	memset(shared, 0, sizeof(*shared));
	if ((pid = fork()) == -1)
		abort();
	if (pid == 0) {
		visiting = &w;
		undo_fault = fault;
		options(v, &o);
		shared->armed = true;
		if (undo_open(rootfd, v->store, &o, &u, none) == 0)
			undo_close(u);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		abort();
	shared->armed = false;
	return (status);
}

static bool
visit_recovery(const struct visit *v, unsigned long point, bool after)
{
	struct undo_options o;
	struct ledger l;
	char where[200];
	int rootfd, status;

	memset(&l, 0, sizeof(l));
	if (!WIFSIGNALED(play(v, &l, &rootfd))) {
		ledger_clear(&l);
		(void)close(rootfd);
		return (false);
	}
	(void)describe(v, where, sizeof(where));
	status = recover(v, rootfd, point, after);
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		bad("%s: recovery: signal %d", where,
		    WTERMSIG(status));
	if (WIFSIGNALED(status)) {
		(void)recover(v, rootfd, point, !after);
		(void)recover(v, rootfd, point / 2 + 1, after);
	}
	options(v, &o);
	if (!ledger_verify(&l, rootfd, v->store, &o))
		bad("%s, recovery killed %s call %lu: %s", where,
		    after ? "after" : "before", point, l.why);
	ledger_clear(&l);
	(void)close(rootfd);
	return (WIFSIGNALED(status));
}

/*
 * Tours.
 */
struct tour {
	const char	*dir;
	enum undo_durability durability;
	uint64_t	 slack;
	unsigned long	 stride;	/* of points */
	unsigned long	 first;		/* of them */
	bool		 elsewhere;	/* store on another filesystem ... */
	const char	*other;		/* ... here */
	bool		 keep;		/* folders until the end; on ext4 new
					   files are slow to come after many
					   went */
	enum mode	 mode;
	int		 error;
};

/* Folders of a visit that nobody used before. */
static void
tour_place(const struct tour *t, struct visit *v)
{
	static unsigned long n;

	if (t->keep)
		n++;
	(void)snprintf(v->root, sizeof(v->root), "%s/root.%jd.%lu", t->dir,
	    (intmax_t)getpid(), n);
	if (!t->elsewhere)
		(void)snprintf(v->store, sizeof(v->store),
		    "%s/store.%jd.%lu", t->dir, (intmax_t)getpid(), n);
}

static bool
tour_scene(const struct tour *t, const struct scene *sc, struct visit *v)
{
	const char *only;

	only = getenv("COPPICE_CRASH_SCENE");
	if ((only != NULL && strcmp(only, sc->name) != 0) ||
	    (t->elsewhere && !sc->names))
		return (false);
	memset(v, 0, sizeof(*v));
	v->scene = sc;
	v->durability = t->durability;
	v->slack = t->slack;
	v->error = t->error;
	if (t->elsewhere)
		(void)snprintf(v->store, sizeof(v->store),
		    "%s/coppice-crash-%jd", t->other, (intmax_t)getpid());
	return (true);
}

/* How many calls the scene makes when nothing happens to it. */
static unsigned long
tour_count(const struct tour *t, struct visit *v, bool *deed)
{

	tour_place(t, v);
	v->point = 0;
	(void)visit_kill(v);
	memcpy(deed, shared->deed, sizeof(shared->deed));
	return (shared->calls);
}

static void
scene_kill(const struct tour *t, struct visit *v)
{
	bool deed[MAXCALLS];
	unsigned long calls, point;

	calls = tour_count(t, v, deed);
	for (point = t->first; point <= calls; point += t->stride) {
		v->point = point;
		v->mode = KILL_BEFORE;
		tour_place(t, v);
		if (!visit_kill(v))
			break;
		__atomic_add_fetch(&result->visits, 1, __ATOMIC_RELAXED);
		if (point >= MAXCALLS || !deed[point])
			continue;
		v->mode = KILL_AFTER;
		tour_place(t, v);
		(void)visit_kill(v);
		__atomic_add_fetch(&result->visits, 1, __ATOMIC_RELAXED);
	}
}

static void
scene_fail(const struct tour *t, struct visit *v)
{

	v->mode = t->mode;
	for (v->point = t->first;; v->point += t->stride) {
		tour_place(t, v);
		if (!visit_fail(v))
			break;
		__atomic_add_fetch(&result->visits, 1, __ATOMIC_RELAXED);
	}
}

/* Four deaths of the scene, and each recovery from it killed all along. */
static void
scene_recovery(const struct tour *t, struct visit *v)
{
	bool deed[MAXCALLS];
	unsigned long calls, point;
	unsigned int i;

	calls = tour_count(t, v, deed);
	for (i = 1; i <= 4; i++)
		for (point = t->first;; point += t->stride) {
			v->point = calls * i / 4 - 1;
			v->mode = i & 1 ? KILL_AFTER : KILL_BEFORE;
			tour_place(t, v);
			if (!visit_recovery(v, point, point & 1))
				break;
			__atomic_add_fetch(&result->visits, 1,
			    __ATOMIC_RELAXED);
		}
}

typedef void scene_fn(const struct tour *, struct visit *);

/* Every worker plays the scene that is next. */
static void
tour_worker(const struct tour *t, scene_fn *fn, unsigned int *next)
{
	struct visit v;
	unsigned int i, n;

	shared = map_shared(sizeof(*shared));
	for (n = 0; scenes[n].name != NULL; n++)
		;
	while ((i = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED)) < n)
		if (result->why[0] == '\0' && tour_scene(t, &scenes[i], &v))
			fn(t, &v);
	if (t->elsewhere) {
		(void)work_remove(AT_FDCWD, v.store);
		(void)strncat(v.store, ".virgin", sizeof(v.store) -
		    strlen(v.store) - 1);
		(void)work_remove(AT_FDCWD, v.store);
	}
	_exit(0);
}

static void
tour(struct tour *t, scene_fn *fn, const char *dir)
{
	unsigned int *next, i, nw;
	pid_t pids[MAXWORKERS];
	long cpus;
	int fd, status;

	t->dir = dir;
	if (t->stride == 0 || getenv("COPPICE_CRASH_ALL") != NULL)
		t->stride = 1;
	t->stride = work_number("COPPICE_CRASH_STRIDE", t->stride);
	t->first = work_number("COPPICE_CRASH_POINT", 1);
	(void)printf("points %lu, %lu, ... of every scene\n", t->first,
	    t->first + t->stride);
	ATF_REQUIRE((fd = open(dir, O_RDONLY | O_DIRECTORY)) != -1);
	if (t->elsewhere && (t->other = work_elsewhere(fd)) == NULL)
		atf_tc_skip("no other filesystem to write to");
	(void)close(fd);
	result = map_shared(sizeof(*result));
	next = map_shared(sizeof(*next));
	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	nw = cpus < 1 ? 1 : cpus > MAXWORKERS ? MAXWORKERS :
	    (unsigned int)cpus;
	for (i = 0; i < nw; i++) {
		ATF_REQUIRE((pids[i] = fork()) != -1);
		if (pids[i] == 0)
			tour_worker(t, fn, next);
	}
	for (i = 0; i < nw; i++) {
		ATF_REQUIRE(waitpid(pids[i], &status, 0) == pids[i]);
		if (status != 0 && result->why[0] == '\0')
			(void)snprintf(result->why, sizeof(result->why),
			    "a worker ended with %#x", (unsigned int)status);
	}
	(void)printf("%lu points visited\n", result->visits);
	if (result->why[0] != '\0')
		atf_tc_fail("%s", result->why);
	ATF_REQUIRE(result->visits > 0);
}

static void
tour_kill(struct tour *t, const char *dir)
{

	tour(t, scene_kill, dir);
}

static void
tour_recovery(struct tour *t, const char *dir)
{

	tour(t, scene_recovery, dir);
}

static void
tour_fail(struct tour *t, enum mode mode, int error, const char *dir)
{

	t->mode = mode;
	t->error = error;
	tour(t, scene_fail, dir);
}

#define	CASE(name, text, body)						\
ATF_TC(name);								\
ATF_TC_HEAD(name, tc)							\
{									\
									\
	atf_tc_set_md_var(tc, "descr", text);				\
	atf_tc_set_md_var(tc, "timeout", "7200");			\
}									\
ATF_TC_BODY(name, tc)							\
{									\
	struct tour t = { .keep = true };				\
									\
	body;								\
}

/* With a filesystem of its own; each kind of fault in turn. */
#define	MOUNTED(name, type, slk, text, body)				\
ATF_TC_WITH_CLEANUP(name);						\
ATF_TC_HEAD(name, tc)							\
{									\
									\
	atf_tc_set_md_var(tc, "descr", text);				\
	atf_tc_set_md_var(tc, "require.user", "root");			\
	atf_tc_set_md_var(tc, "timeout", "7200");			\
}									\
ATF_TC_BODY(name, tc)							\
{									\
	struct tour t = { .slack = slk };				\
									\
	if (!work_mount(type, "mnt", 600))				\
		atf_tc_skip("no %s can be made here", type);		\
	body;								\
}									\
ATF_TC_CLEANUP(name, tc)						\
{									\
									\
	work_unmount("mnt");						\
}

CASE(kill_points, "Killed before and after every call of the library",
    tour_kill(&t, "."))
CASE(kill_recovery, "Killed in recovery from a kill, repeatedly",
    t.stride = 16; tour_recovery(&t, "."))
CASE(kill_power, "Killed at every call, with durability=power",
    t.stride = 32; t.durability = UNDO_POWER; tour_kill(&t, "."))
CASE(kill_elsewhere, "Killed at every call, store on another filesystem",
    t.stride = 8; t.elsewhere = true; tour_kill(&t, "."))
CASE(fail_nospace, "Every call in turn fails with ENOSPC",
    t.stride = 13; tour_fail(&t, FAIL_ONCE, ENOSPC, "."))
CASE(fail_full, "Every call from one on fails with ENOSPC",
    t.stride = 15; tour_fail(&t, FAIL_ON, ENOSPC, "."))
CASE(fail_io, "Every call in turn fails with EIO",
    t.stride = 7; tour_fail(&t, FAIL_ONCE, EIO, "."))
CASE(fail_quota, "Every call from one on fails with EDQUOT",
    t.stride = 23; tour_fail(&t, FAIL_ON, EDQUOT, "."))
CASE(fail_short, "Every write in turn is short",
    t.stride = 12; tour_fail(&t, FAIL_ONCE, UNDO_FAULT_SHORT, "."))
CASE(fail_elsewhere, "Calls fail, store on another filesystem",
    t.stride = 6; t.elsewhere = true; tour_fail(&t, FAIL_ONCE, EIO, "."))

MOUNTED(xfs_kill, "xfs", 1 << 20, "Kills on XFS with reflinks",
    t.stride = 16; tour_kill(&t, "mnt"))
MOUNTED(xfs_fail, "xfs", 1 << 20, "Failures on XFS with reflinks",
    t.stride = 24; tour_fail(&t, FAIL_ONCE, EIO, "mnt");
    tour_fail(&t, FAIL_ON, ENOSPC, "mnt"))
MOUNTED(xfs_power, "xfs", 1 << 20, "Kills on XFS with durability=power",
    t.stride = 64; t.durability = UNDO_POWER; tour_kill(&t, "mnt"))
MOUNTED(btrfs_kill, "btrfs", 0, "Kills on btrfs",
    t.stride = 8; tour_kill(&t, "mnt"))
MOUNTED(btrfs_fail, "btrfs", 0, "Failures on btrfs",
    t.stride = 24; tour_fail(&t, FAIL_ONCE, EIO, "mnt");
    tour_fail(&t, FAIL_ON, ENOSPC, "mnt"))

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, kill_points);
	ATF_TP_ADD_TC(tp, kill_recovery);
	ATF_TP_ADD_TC(tp, kill_power);
	ATF_TP_ADD_TC(tp, kill_elsewhere);
	ATF_TP_ADD_TC(tp, fail_nospace);
	ATF_TP_ADD_TC(tp, fail_full);
	ATF_TP_ADD_TC(tp, fail_io);
	ATF_TP_ADD_TC(tp, fail_quota);
	ATF_TP_ADD_TC(tp, fail_short);
	ATF_TP_ADD_TC(tp, fail_elsewhere);
	ATF_TP_ADD_TC(tp, xfs_kill);
	ATF_TP_ADD_TC(tp, xfs_fail);
	ATF_TP_ADD_TC(tp, xfs_power);
	ATF_TP_ADD_TC(tp, btrfs_kill);
	ATF_TP_ADD_TC(tp, btrfs_fail);
	return (atf_no_error());
}
