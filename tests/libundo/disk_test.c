/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Real disks that are full, and real disks that lose power: the scenes of
 * the crash test on filesystems in image files.
 */

#include <sys/types.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <coppice.h>
#include <undo.h>
#include <undo_fault.h>

#include "ledger.h"
#include "scene.h"
#include "snap.h"
#include "work.h"

#define	MNT	"mnt"

/* What the child tells. */
struct shared {
	bool		 armed;
	unsigned long	 calls;
	unsigned long	 cut;		/* lose power at this call */
	char		 why[4096];
};

static struct shared *shared;

static void
shared_init(void)
{
	void *p;

	p = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANON, -1, 0);
	ATF_REQUIRE(p != MAP_FAILED);
	shared = p;
}

static void
mark(struct stage *s, enum ledger_mark what, unsigned int n)
{
	bool armed;

	armed = shared->armed;
	shared->armed = false;
	ledger_mark(s->arg, s->rootfd, what, n);
	shared->armed = armed;
}

static void
stage_init(struct stage *s, const struct scene *sc, struct ledger *l)
{

	memset(s, 0, sizeof(*s));
	s->scene = sc;
	s->store = MNT "/store";
	s->rootfd = work_fresh(MNT "/root");
	(void)work_remove(AT_FDCWD, s->store);
	s->mark = mark;
	s->arg = l;
	s->tolerant = true;
}

/*
 * Full.
 */
static off_t leave;

/* Take all space but some; smaller and smaller bites. */
static void
fill(void)
{
	static char junk[1 << 20];
	struct stat sb;
	size_t size;
	int fd;

	fd = open(MNT "/filler", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
	    0600);
	if (fd == -1)
		return;
	for (size = sizeof(junk); size >= 4096; size /= 4)
		while (write(fd, junk, size) > 0)
			;
	(void)fsync(fd);
	while (write(fd, junk, 4096) > 0)
		;
	if (fstat(fd, &sb) == 0 && sb.st_size > leave)
		ATF_REQUIRE_EQ(0, ftruncate(fd, sb.st_size - leave));
	(void)fsync(fd);
	(void)close(fd);
}

static void
arm_full(struct stage *s, bool on)
{

	if (on)
		fill();
	else
		(void)unlink(MNT "/filler");
	work_sync(s->rootfd);
}

static void
play_full(const struct scene *sc, uint64_t slack)
{
	static struct ledger l;
	struct stage s;
	struct undo_options o;

	l.slack = slack;
	l.lossy = true;
	stage_init(&s, sc, &l);
	s.arm = arm_full;
	(void)alarm(120);
	scene_set(&s);
	scene_play(&s);
	o = s.o;
	if (s.why[0] != '\0')
		(void)snprintf(shared->why, sizeof(shared->why), "%s", s.why);
	else if (ledger_verify(&l, s.rootfd, s.store, &o))
		_exit(0);
	else
		(void)snprintf(shared->why, sizeof(shared->why), "%s", l.why);
	_exit(1);
}

static void
full(const char *type, unsigned int mb, uint64_t slack)
{
	const struct scene *sc;
	unsigned long k;
	int status;
	pid_t pid;

	if (!work_mount(type, MNT, mb))
		atf_tc_skip("no %s can be made here", type);
	shared_init();
	for (sc = scenes; sc->name != NULL; sc++)
		for (k = 0; k < 4; k++) {
			leave = (off_t)(k * k * 40960);
			(void)unlink(MNT "/filler");
			ATF_REQUIRE((pid = fork()) != -1);
			if (pid == 0)
				play_full(sc, slack);
			ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
			if (WIFSIGNALED(status))
				atf_tc_fail("scene %s, %jd bytes free: "
				    "signal %d", sc->name, (intmax_t)leave,
				    WTERMSIG(status));
			if (WEXITSTATUS(status) != 0)
				atf_tc_fail("scene %s, %jd bytes free: %s",
				    sc->name, (intmax_t)leave, shared->why);
		}
}

/*
 * Power.  The folder is on disk when the scene begins; whatever happens to
 * the unfinished step, the folder must come back to that.
 */
static int rootfd_of_child = -1;

static int
cut(const char *call, unsigned long n, bool after)
{

	(void)call;
	(void)n;
	if (!shared->armed || after || ++shared->calls != shared->cut)
		return (0);
	if (!work_cut(rootfd_of_child))
		_exit(77);
	(void)kill(getpid(), SIGKILL);
	return (0);
}

static void
arm_power(struct stage *s, bool on)
{

	if (on)
		work_sync(s->rootfd);
	shared->armed = on;
}

static void
mark_pipe(struct stage *s, enum ledger_mark what, unsigned int n)
{
	char ack, c;
	int *fd = s->arg;
	bool armed;

	(void)n;
	armed = shared->armed;
	shared->armed = false;
	/* Only what was on disk before the scene is of interest. */
	c = 'x';
	if (what == LEDGER_AT || what == LEDGER_COMMIT)
		if (!armed && (write(fd[1], &c, 1) != 1 ||
		    read(fd[0], &ack, 1) != 1))
			_exit(3);
	shared->armed = armed;
}

/*
 * Take a picture at each sign of the child, which makes the folder anew
 * before the first; how many were taken.
 */
static unsigned int
attend(int in, int out, struct snap **snaps, uint64_t slack)
{
	unsigned int n;
	char c;
	int fd;

	fd = -1;
	for (n = 0; n < 3 && read(in, &c, 1) == 1; n++) {
		if (fd == -1)
			fd = open(MNT "/root", O_RDONLY | O_DIRECTORY |
			    O_CLOEXEC);
		ATF_REQUIRE((snaps[n] = snap_take(fd)) != NULL);
		snap_loose(snaps[n], slack);
		ATF_REQUIRE(write(out, "", 1) == 1);
	}
	if (fd != -1)
		(void)close(fd);
	return (n);
}

static void
child_power(const struct scene *sc, int in, int out)
{
	struct stage s;
	int fd[2] = { in, out };

	stage_init(&s, sc, NULL);
	rootfd_of_child = s.rootfd;
	undo_fault = cut;
	s.o.durability = UNDO_POWER;
	s.arm = arm_power;
	s.mark = mark_pipe;
	s.arg = fd;
	(void)alarm(120);
	scene_set(&s);
	scene_play(&s);
	_exit(0);
}

static int
newest(void *arg, const struct undo_step *s, const struct undo_stamp *b)
{

	(void)b;
	*(int64_t *)arg = s == NULL ? 0 : s->id;
	return (s != NULL);
}

static void
require_same(const struct snap *want, int rootfd, const struct scene *sc,
    unsigned long point, const char *when)
{
	struct snap *t;
	char why[3000];

	ATF_REQUIRE((t = snap_take(rootfd)) != NULL);
	if (!snap_same(want, t, why, sizeof(why)))
		atf_tc_fail("scene %s, power lost at call %lu, %s: %s",
		    sc->name, point, when, why);
	snap_free(t);
}

/* Whether or not the step of the scene made it, back it must go. */
static void
verify_power(const struct scene *sc, unsigned long point, int rootfd,
    struct snap **snaps)
{
	struct undo_options o = { .durability = UNDO_POWER };
	struct co_error e;
	struct undo *u;
	int64_t id;

	if (undo_open(rootfd, MNT "/store", &o, &u, &e) == -1)
		atf_tc_fail("scene %s, power lost at call %lu: open: %s",
		    sc->name, point, e.message);
	for (;;) {
		id = 0;
		(void)undo_history(u, newest, &id, &e);
		if (id <= 2)
			break;
		if (undo_rollback(u, 1, true, NULL, NULL, &e) == -1)
			atf_tc_fail("scene %s, power lost at call %lu: "
			    "rollback of %jd: %s", sc->name, point,
			    (intmax_t)id, e.message);
	}
	require_same(snaps[2], rootfd, sc, point, "after recovery");
	ATF_REQUIRE_MSG(undo_rollback(u, 2, true, NULL, NULL, &e) == 0,
	    "scene %s, power lost at call %lu: rollback: %s", sc->name,
	    point, e.message);
	require_same(snaps[0], rootfd, sc, point, "rolled back");
	undo_close(u);
}

static bool
visit_power(const struct scene *sc, unsigned long point, uint64_t slack)
{
	struct snap *snaps[3] = { NULL, NULL, NULL };
	int ours[2], rootfd, status, theirs[2];
	unsigned int i;
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	shared->cut = point;
	ATF_REQUIRE(pipe(ours) == 0 && pipe(theirs) == 0);
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		(void)close(ours[0]);
		(void)close(theirs[1]);
		child_power(sc, theirs[0], ours[1]);
	}
	(void)close(ours[1]);
	(void)close(theirs[0]);
	i = attend(ours[0], theirs[1], snaps, slack);
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	(void)close(ours[0]);
	(void)close(theirs[1]);
	ATF_REQUIRE_MSG(i == 3, "scene %s: not set", sc->name);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		atf_tc_skip("this filesystem can't lose power");
	if (WIFSIGNALED(status)) {
		ATF_REQUIRE_EQ(SIGKILL, WTERMSIG(status));
		ATF_REQUIRE(work_again(MNT));
		rootfd = open(MNT "/root", O_RDONLY | O_DIRECTORY |
		    O_CLOEXEC);
		ATF_REQUIRE(rootfd != -1);
		verify_power(sc, point, rootfd, snaps);
		(void)close(rootfd);
	}
	for (i = 0; i < 3; i++)
		snap_free(snaps[i]);
	return (WIFSIGNALED(status));
}

/* Scenes that only add steps; where they lose power is spread evenly. */
static void
power(const char *type, uint64_t slack)
{
	static const char *const names[] = {
		"write", "truncate", "allocate", "make", "unlink", "rmtree",
		"rename", "exchange", "attributes", "steps"
	};
	const struct scene *sc;
	unsigned long calls, n, point, step;
	size_t i;

	if (!work_mount(type, MNT, 400))
		atf_tc_skip("no %s can be made here", type);
	shared_init();
	n = 0;
	for (sc = scenes; sc->name != NULL; sc++) {
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (strcmp(sc->name, names[i]) == 0)
				break;
		if (i == sizeof(names) / sizeof(names[0]))
			continue;
		ATF_REQUIRE(!visit_power(sc, 0, slack));
		calls = shared->calls;
		step = calls / work_number("COPPICE_POWER_POINTS", 12) + 1;
		for (point = 1 + i % 3; point <= calls; point += step, n++)
			if (!visit_power(sc, point, slack))
				break;
	}
	(void)printf("%lu losses of power\n", n);
}

#define	CASE(name, text, body)						\
ATF_TC_WITH_CLEANUP(name);						\
ATF_TC_HEAD(name, tc)							\
{									\
									\
	atf_tc_set_md_var(tc, "descr", text);				\
	atf_tc_set_md_var(tc, "require.user", "root");			\
	atf_tc_set_md_var(tc, "timeout", "1800");			\
}									\
ATF_TC_BODY(name, tc)							\
{									\
									\
	body;								\
}									\
ATF_TC_CLEANUP(name, tc)						\
{									\
									\
	work_unmount(MNT);						\
}

CASE(full_ext4, "A full ext4", full("ext4", 48, 0))
CASE(full_xfs, "A full XFS", full("xfs", 320, 1 << 20))
CASE(full_btrfs, "A full btrfs", full("btrfs", 160, 0))
CASE(power_ext4, "Losses of power on ext4", power("ext4", 0))
CASE(power_xfs, "Losses of power on XFS", power("xfs", 1 << 20))

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, full_ext4);
	ATF_TP_ADD_TC(tp, full_xfs);
	ATF_TP_ADD_TC(tp, full_btrfs);
	ATF_TP_ADD_TC(tp, power_ext4);
	ATF_TP_ADD_TC(tp, power_xfs);
	return (atf_no_error());
}
