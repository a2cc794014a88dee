/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The model test: many random sequences, in as many processes as there are
 * processors.  A failure is made smaller and printed with its seed.
 *
 *	COPPICE_MODEL_SEQUENCES	how many (2000)
 *	COPPICE_SEED		run this one sequence alone, and tell of it
 *	COPPICE_MODEL_FIRST	seed of the first sequence (1)
 */

#include <sys/types.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model.h"
#include "work.h"

#define	MAXWORKERS	8
#define	SHRINK_RUNS	600
#define	SEQUENCES	2000
#define	TIMEOUT		120	/* seconds for one, lest it hang */

/* Shared by the test and its processes. */
struct shared {
	uint64_t	 seed;		/* that failed, or 0 */
	uint64_t	 now[MAXWORKERS];	/* that each one is at */
	unsigned long	 done;
	char		 why[4096];
};

static struct shared *
shared_new(void)
{
	void *p;

	p = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANON, -1, 0);
	ATF_REQUIRE(p != MAP_FAILED);
	memset(p, 0, sizeof(struct shared));
	return (p);
}

struct place {
	char		 root[PATH_MAX];
	char		 store[PATH_MAX];
	char		 other[PATH_MAX];
	uint64_t	 slack;
};

static void
place_init(struct place *p, const char *dir, unsigned int w, uint64_t slack)
{
	const char *elsewhere;
	int fd;

	(void)snprintf(p->root, sizeof(p->root), "%s/root.%u", dir, w);
	(void)snprintf(p->store, sizeof(p->store), "%s/store.%u", dir, w);
	p->other[0] = '\0';
	p->slack = slack;
	if ((fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return;
	if ((elsewhere = work_elsewhere(fd)) != NULL)
		(void)snprintf(p->other, sizeof(p->other),
		    "%s/coppice-model-%jd", elsewhere, (intmax_t)getpid());
	(void)close(fd);
}

static void
place_clean(const struct place *p)
{

	(void)work_remove(AT_FDCWD, p->root);
	(void)work_remove(AT_FDCWD, p->store);
	if (p->other[0] != '\0')
		(void)work_remove(AT_FDCWD, p->other);
}

static bool
one(const struct place *p, uint64_t seed, const bool *skip, FILE *trace,
    char *why, size_t size)
{
	struct model_run r = {
		.seed = seed, .root = p->root, .store = p->store,
		.elsewhere = p->other[0] == '\0' ? NULL : p->other,
		.slack = p->slack, .skip = skip, .trace = trace
	};

	if (model_run(&r))
		return (true);
	(void)snprintf(why, size, "%s", r.why);
	return (false);
}

static void
worker(struct shared *s, const char *dir, unsigned int w, unsigned int nw,
    uint64_t first, unsigned long n, uint64_t slack)
{
	struct place p;
	unsigned long i;
	char why[sizeof(s->why)];

	place_init(&p, dir, w, slack);
	for (i = w; i < n && s->seed == 0; i += nw) {
		s->now[w] = first + i;
		(void)alarm(TIMEOUT);
		if (!one(&p, first + i, NULL, NULL, why, sizeof(why))) {
			s->seed = first + i;
			memcpy(s->why, why, sizeof(why));
			break;
		}
		__atomic_add_fetch(&s->done, 1, __ATOMIC_RELAXED);
	}
	place_clean(&p);
	_exit(0);
}

/* Run in a process of its own; a crash of it is a failure too. */
static bool
isolated(const char *dir, uint64_t seed, const bool *skip, FILE *trace,
    uint64_t slack, char *why, size_t size)
{
	struct shared *s;
	struct place p;
	pid_t pid;
	int status;
	bool ok;

	s = shared_new();
	(void)fflush(NULL);
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		place_init(&p, dir, MAXWORKERS, slack);
		(void)alarm(TIMEOUT);
		ok = one(&p, seed, skip, trace, s->why, sizeof(s->why));
		if (trace != NULL)
			(void)fflush(trace);
		place_clean(&p);
		_exit(ok ? 0 : 1);
	}
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	if (WIFSIGNALED(status))
		(void)snprintf(s->why, sizeof(s->why), "killed by signal %d",
		    WTERMSIG(status));
	(void)snprintf(why, size, "%s", s->why);
	(void)munmap(s, sizeof(*s));
	return (ok);
}

/* Leave out what the failure does not need, larger parts first. */
static unsigned int
shrink(const char *dir, uint64_t seed, uint64_t slack, bool *skip)
{
	bool before[MODEL_ACTIONS];
	unsigned int from, i, left, runs, size;
	char why[64];

	memset(skip, 0, MODEL_ACTIONS * sizeof(*skip));
	for (size = MODEL_ACTIONS / 2, runs = 0; size > 0; size /= 2)
		for (from = 0; from < MODEL_ACTIONS && runs < SHRINK_RUNS;
		    from += size) {
			memcpy(before, skip, sizeof(before));
			for (i = from; i < from + size && i < MODEL_ACTIONS;
			    i++)
				skip[i] = true;
			if (memcmp(before, skip, sizeof(before)) == 0)
				continue;
			runs++;
			if (isolated(dir, seed, skip, NULL, slack, why,
			    sizeof(why)))
				memcpy(skip, before, sizeof(before));
		}
	for (i = left = 0; i < MODEL_ACTIONS; i++)
		left += !skip[i];
	return (left);
}

static void
explain(const char *dir, uint64_t seed, uint64_t slack)
{
	bool skip[MODEL_ACTIONS];
	char why[4096];

	if (isolated(dir, seed, NULL, NULL, slack, why, sizeof(why))) {
		(void)fprintf(stderr, "seed %ju passes when run alone\n",
		    (uintmax_t)seed);
		return;
	}
	(void)fprintf(stderr, "seed %ju fails alone: %s\n", (uintmax_t)seed,
	    why);
	(void)fprintf(stderr, "%u actions suffice:\n",
	    shrink(dir, seed, slack, skip));
	(void)isolated(dir, seed, skip, stderr, slack, why, sizeof(why));
	(void)fprintf(stderr, "=> %s\n", why);
}

static void
sequences(const char *dir, unsigned long n, uint64_t slack)
{
	struct shared *s;
	char why[4096];
	unsigned int i, nw;
	uint64_t first, seed;
	long cpus;
	pid_t pids[MAXWORKERS];
	int status;

	if ((seed = work_number("COPPICE_SEED", 0)) != 0) {
		if (isolated(dir, seed, NULL, stderr, slack, why, sizeof(why)))
			return;
		explain(dir, seed, slack);
		atf_tc_fail("seed %ju: %s", (uintmax_t)seed, why);
	}
	first = work_number("COPPICE_MODEL_FIRST", 1);
	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	nw = cpus < 1 ? 1 : cpus > MAXWORKERS ? MAXWORKERS :
	    (unsigned int)cpus;
	s = shared_new();
	for (i = 0; i < nw; i++) {
		ATF_REQUIRE((pids[i] = fork()) != -1);
		if (pids[i] == 0)
			worker(s, dir, i, nw, first, n, slack);
	}
	for (i = 0; i < nw; i++) {
		ATF_REQUIRE(waitpid(pids[i], &status, 0) == pids[i]);
		if (WIFEXITED(status) || s->seed != 0)
			continue;
		s->seed = s->now[i];
		(void)snprintf(s->why, sizeof(s->why), "signal %d",
		    WTERMSIG(status));
	}
	if (s->seed != 0) {
		explain(dir, s->seed, slack);
		atf_tc_fail("COPPICE_SEED=%ju: %s", (uintmax_t)s->seed,
		    s->why);
	}
	ATF_REQUIRE_MSG(s->done == n, "%lu of %lu sequences done", s->done,
	    n);
	(void)printf("%lu sequences\n", s->done);
}

ATF_TC(sequences);
ATF_TC_HEAD(sequences, tc)
{

	atf_tc_set_md_var(tc, "descr", "Random sequences of all operations, "
	    "with rollback, redo and restarts, match pictures of the folder");
	atf_tc_set_md_var(tc, "timeout", "14400");
}
ATF_TC_BODY(sequences, tc)
{

	sequences(".", work_number("COPPICE_MODEL_SEQUENCES", SEQUENCES), 0);
}

/* The same on a filesystem that has reflinks, and fewer of it. */
static void
mounted(const char *type, uint64_t slack)
{

	if (!work_mount(type, "mnt", 600))
		atf_tc_skip("no %s can be made and mounted here", type);
	sequences("mnt", work_number("COPPICE_MODEL_SEQUENCES", SEQUENCES) /
	    10, slack);
}

ATF_TC_WITH_CLEANUP(xfs);
ATF_TC_HEAD(xfs, tc)
{

	atf_tc_set_md_var(tc, "descr", "The same on XFS with reflinks");
	atf_tc_set_md_var(tc, "require.user", "root");
	atf_tc_set_md_var(tc, "timeout", "7200");
}
ATF_TC_BODY(xfs, tc)
{

	mounted("xfs", 1 << 20);
}
ATF_TC_CLEANUP(xfs, tc)
{

	work_unmount("mnt");
}

ATF_TC_WITH_CLEANUP(btrfs);
ATF_TC_HEAD(btrfs, tc)
{

	atf_tc_set_md_var(tc, "descr", "The same on btrfs");
	atf_tc_set_md_var(tc, "require.user", "root");
	atf_tc_set_md_var(tc, "timeout", "7200");
}
ATF_TC_BODY(btrfs, tc)
{

	mounted("btrfs", 0);
}
ATF_TC_CLEANUP(btrfs, tc)
{

	work_unmount("mnt");
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, sequences);
	ATF_TP_ADD_TC(tp, xfs);
	ATF_TP_ADD_TC(tp, btrfs);
	return (atf_no_error());
}
