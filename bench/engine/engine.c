/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a sandbox costs: to be made, used once and destroyed, with an address
 * and a policy, against crun(1) running the same root without a network; a
 * command in one that runs, against crun exec; and the memory of many,
 * against bare namespaces.  We ask the daemon over its socket, crun is
 * started as a program, which is how either is used.
 */

#include <sys/wait.h>

#include <err.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "coppice.h"
#include "ctl.h"
#include "engine.h"

#define	LIVES	20		/* of one turn */
#define	EXECS	100
#define	TAIL	500
#define	CROWD	200
#define	ROUNDS	3

struct bench_engine {
	struct host	 host;
	struct peer	 peer;
	char		 box[CO_IDSIZE];
	int		 lives, execs, tail, crowd;
};

static int
create(struct bench_engine *b, char id[CO_IDSIZE])
{
	nvlist_t *nv;

	if (host_ask(&b->host, "create", NULL, &nv) != 0)
		return (-1);
	(void)snprintf(id, CO_IDSIZE, "%s", ctl_string(nv, "id", ""));
	nvlist_destroy(nv);
	return (0);
}

static double
one_life(struct bench_engine *b)
{
	double began = bench_now();
	char id[CO_IDSIZE];

	if (create(b, id) != 0 || host_ask(&b->host, "exec", id, NULL) != 0 ||
	    host_ask(&b->host, "destroy", id, NULL) != 0)
		return (-1);
	return (bench_now() - began);
}

static double
one_run(struct bench_engine *b)
{
	double began = bench_now();

	if (peer_run(&b->peer) != 0) {
		warnx("crun run failed");
		return (-1);
	}
	return (bench_now() - began);
}

static double
our_lives(void *arg)
{
	struct bench_engine *b = arg;
	double sum = 0, x;

	for (int i = 0; i < b->lives; i++, sum += x)
		if ((x = one_life(b)) < 0)
			return (-1);
	return (sum);
}

static double
their_lives(void *arg)
{
	struct bench_engine *b = arg;
	double sum = 0, x;

	for (int i = 0; i < b->lives; i++, sum += x)
		if ((x = one_run(b)) < 0)
			return (-1);
	return (sum);
}

static double
our_execs(void *arg)
{
	struct bench_engine *b = arg;
	double began = bench_now();

	for (int i = 0; i < b->execs; i++)
		if (host_ask(&b->host, "exec", b->box, NULL) != 0)
			return (-1);
	return (bench_now() - began);
}

static double
their_execs(void *arg)
{
	struct bench_engine *b = arg;
	double began = bench_now();

	for (int i = 0; i < b->execs; i++)
		if (peer_exec(&b->peer) != 0)
			return (-1);
	return (bench_now() - began);
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return ((x > y) - (x < y));
}

/* The 99th of a hundred, of either, which went in turns. */
static double
tail_ratio(struct bench_engine *b)
{
	double *ours, *theirs, ratio = -1;
	int n = b->tail;

	ours = calloc((size_t)n, sizeof(*ours));
	theirs = calloc((size_t)n, sizeof(*theirs));
	if (ours == NULL || theirs == NULL)
		err(2, "calloc");
	for (int i = 0; i < n; i++)
		if ((ours[i] = one_life(b)) < 0 ||
		    (theirs[i] = one_run(b)) < 0)
			goto out;
	qsort(ours, (size_t)n, sizeof(*ours), compare);
	qsort(theirs, (size_t)n, sizeof(*theirs), compare);
	(void)fprintf(stderr, "ours: median %.1f ms, p99 %.1f ms; crun: "
	    "median %.1f ms, p99 %.1f ms\n", ours[n / 2] * 1e3,
	    ours[n * 99 / 100] * 1e3, theirs[n / 2] * 1e3,
	    theirs[n * 99 / 100] * 1e3);
	ratio = ours[n * 99 / 100] / theirs[n * 99 / 100];
out:
	free(ours);
	free(theirs);
	return (ratio);
}

static double
settled(void)
{

	/* What was freed is told with delay. */
	(void)sleep(2);
	return (host_memory());
}

static double
our_crowd(struct bench_engine *b)
{
	char (*ids)[CO_IDSIZE];
	double before, after;

	ids = calloc((size_t)b->crowd, sizeof(*ids));
	if (ids == NULL)
		err(2, "calloc");
	before = settled();
	for (int i = 0; i < b->crowd; i++)
		if (create(b, ids[i]) != 0)
			exit(2);
	after = settled();
	for (int i = 0; i < b->crowd; i++)
		(void)host_ask(&b->host, "destroy", ids[i], NULL);
	free(ids);
	return (after - before);
}

static double
their_crowd(struct bench_engine *b)
{
	double before, after;
	int *pids;

	pids = calloc((size_t)b->crowd, sizeof(*pids));
	if (pids == NULL)
		err(2, "calloc");
	before = settled();
	for (int i = 0; i < b->crowd; i++)
		pids[i] = peer_unshare();
	after = settled();
	for (int i = 0; i < b->crowd; i++) {
		(void)kill(pids[i], SIGKILL);
		(void)waitpid(pids[i], NULL, 0);
	}
	free(pids);
	return (after - before);
}

/* Mebibytes of one, beyond those of its namespaces. */
static double
memory(struct bench_engine *b)
{
	double each[ROUNDS], ours, theirs;

	for (int i = 0; i < ROUNDS; i++) {
		ours = our_crowd(b);
		theirs = their_crowd(b);
		each[i] = (ours - theirs) / b->crowd / (1 << 20);
		(void)fprintf(stderr, "%d sandboxes: %.0f KiB each; bare "
		    "namespaces: %.0f KiB\n", b->crowd, ours / b->crowd /
		    1024, theirs / b->crowd / 1024);
	}
	qsort(each, ROUNDS, sizeof(each[0]), compare);
	/* Less than nothing is noise, and no failure. */
	return (each[ROUNDS / 2] > 0 ? each[ROUNDS / 2] : 0);
}

static void
execs(struct bench *bench, struct bench_engine *b)
{

	if (create(b, b->box) != 0 || peer_start(&b->peer) != 0)
		exit(2);
	bench_ratio(bench, "exec in one that runs", "crun exec",
	    BENCH_ATMOST, 0.3, our_execs, their_execs, b);
	peer_stop(&b->peer);
	(void)host_ask(&b->host, "destroy", b->box, NULL);
}

int
main(int argc, char *argv[])
{
	struct bench_engine b = { .lives = LIVES, .execs = EXECS,
	    .tail = TAIL, .crowd = CROWD };
	struct bench *bench;
	char *path, *top;

	path = realpath(argv[0], NULL);
	bench = bench_open("engine", &argc, argv);
	if (path == NULL || geteuid() != 0)
		errx(2, "run it by its path, as root");
	top = dirname(dirname(dirname(path)));
	if (bench_quick(bench)) {
		b.lives = b.execs = 5;
		b.tail = 20;
		b.crowd = 20;
	}
	host_open(&b.host, top);
	peer_open(&b.peer, &b.host);
	bench_ratio(bench, "create, first command, destroy: median",
	    "crun run, without network", BENCH_ATMOST, 2.0, our_lives,
	    their_lives, &b);
	if (bench_wants(bench, "p99"))
		bench_value(bench, "the same: p99 over 500",
		    "crun run, without network", BENCH_ATMOST, 3.0,
		    tail_ratio(&b));
	if (bench_wants(bench, "exec"))
		execs(bench, &b);
	if (bench_wants(bench, "memory"))
		bench_value(bench, "memory of an idle one of 200, MiB",
		    "unshare of all namespaces", BENCH_ATMOST, 2.0,
		    memory(&b));
	host_close(&b.host);
	free(path);
	return (bench_close(bench));
}
