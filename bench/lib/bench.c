/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The frame of the benchmarks: turns, ratios, their spread, and the table.
 */

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <libxo/xo.h>

#include "bench.h"

#define	MAXROWS	64
#define	MAXRUNS	100

struct row {
	const char	*what;
	const char	*peer;
	enum bench_bar	 kind;
	double		 bar;
	double		 median;
	double		 low;
	double		 high;
	int		 runs;
	bool		 failed;
};

struct bench {
	const char	*name;
	const char	*only;
	int		 runs;
	bool		 quick;
	size_t		 nrows;
	struct row	 rows[MAXROWS];
};

struct bench *
bench_open(const char *name, int *argcp, char **argv)
{
	struct bench *b;
	int c, argc;

	argc = xo_parse_args(*argcp, argv);
	if (argc < 0)
		exit(2);
	b = calloc(1, sizeof(*b));
	if (b == NULL)
		err(2, "calloc");
	b->name = name;
	b->runs = 7;
	while ((c = getopt(argc, argv, "o:qr:")) != -1)
		switch (c) {
		case 'o':
			b->only = optarg;
			break;
		case 'q':
			b->quick = true;
			b->runs = 2;
			break;
		case 'r':
			b->runs = (int)strtol(optarg, NULL, 10);
			if (b->runs >= 1 && b->runs <= MAXRUNS)
				break;
			errx(2, "-r takes a number from 1 to %d", MAXRUNS);
		default:
			fprintf(stderr, "usage: %s [--libxo options] [-q] "
			    "[-o pattern] [-r runs]\n", name);
			exit(2);
		}
	for (int i = optind; i < argc; i++)
		argv[1 + i - optind] = argv[i];
	*argcp = 1 + argc - optind;
	argv[*argcp] = NULL;
	return (b);
}

bool
bench_quick(const struct bench *b)
{

	return (b->quick);
}

double
bench_now(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_MONOTONIC, &ts) != 0)
		err(2, "clock_gettime");
	return ((double)ts.tv_sec + (double)ts.tv_nsec / 1e9);
}

bool
bench_wants(const struct bench *b, const char *what)
{

	return (b->only == NULL || strstr(what, b->only) != NULL);
}

static struct row *
add(struct bench *b, const char *what, const char *peer, enum bench_bar kind,
    double bar)
{
	struct row *r;

	if (b->nrows == MAXROWS)
		errx(2, "more than %d rows", MAXROWS);
	r = &b->rows[b->nrows++];
	r->what = what;
	r->peer = peer;
	r->kind = kind;
	r->bar = bar;
	return (r);
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return ((x > y) - (x < y));
}

void
bench_ratio(struct bench *b, const char *what, const char *peer,
    enum bench_bar kind, double bar, bench_fn *ours, bench_fn *theirs,
    void *arg)
{
	double ratios[MAXRUNS], x, y;
	struct row *r;

	if (!bench_wants(b, what))
		return;
	r = add(b, what, peer, kind, bar);
	/* The first turn warms both up and is not counted. */
	for (int i = -1; i < b->runs; i++) {
		/* Whoever goes first has no lasting advantage. */
		if (i % 2 == 0) {
			x = ours(arg);
			y = theirs(arg);
		} else {
			y = theirs(arg);
			x = ours(arg);
		}
		if (x < 0 || y <= 0) {
			r->failed = true;
			return;
		}
		if (i >= 0)
			ratios[r->runs++] = x / y;
	}
	qsort(ratios, (size_t)r->runs, sizeof(ratios[0]), compare);
	r->low = ratios[0];
	r->high = ratios[r->runs - 1];
	r->median = r->runs % 2 == 1 ? ratios[r->runs / 2] :
	    (ratios[r->runs / 2 - 1] + ratios[r->runs / 2]) / 2;
}

void
bench_value(struct bench *b, const char *what, const char *peer,
    enum bench_bar kind, double bar, double value)
{
	struct row *r;

	if (!bench_wants(b, what))
		return;
	r = add(b, what, peer, kind, bar);
	r->runs = 1;
	r->failed = value < 0;
	r->median = r->low = r->high = value;
}

static bool
holds(const struct row *r)
{

	return (!r->failed && (r->kind == BENCH_REPORT ||
	    (r->kind == BENCH_ATMOST ? r->median <= r->bar :
	    r->median >= r->bar)));
}

static void
print(const struct row *r)
{
	static const char *const kinds[] = {
		[BENCH_ATMOST] = "<=", [BENCH_ATLEAST] = ">=",
		[BENCH_REPORT] = ""
	};

	xo_open_instance("row");
	xo_emit("{k:what/%-44s} {:peer/%-30s} ", r->what, r->peer);
	if (r->failed)
		xo_emit("{:verdict/%s}\n", "failed");
	else {
		xo_emit("{:ratio/%8.3f} {:low/%8.3f} {:high/%8.3f} "
		    "{:runs/%4d} ", r->median, r->low, r->high, r->runs);
		if (r->kind == BENCH_REPORT)
			xo_emit("{P:/%9s} ", "");
		else
			xo_emit("{:kind/%2s} {:bar/%6.2f} ", kinds[r->kind],
			    r->bar);
		xo_emit("{:verdict/%s}\n", holds(r) ? "ok" : "missed");
	}
	xo_close_instance("row");
}

int
bench_close(struct bench *b)
{
	int status = 0;

	xo_open_container("benchmark");
	xo_emit("{ek:name/%s}", b->name);
	xo_emit("{T:/%-44s} {T:/%-30s} {T:/%8s} {T:/%8s} {T:/%8s} {T:/%4s} "
	    "{T:/%9s}\n", b->name, "against", "ratio", "low", "high", "runs",
	    "bar");
	xo_open_list("row");
	for (size_t i = 0; i < b->nrows; i++) {
		print(&b->rows[i]);
		if (b->rows[i].failed)
			status = 2;
		else if (!holds(&b->rows[i]) && status == 0)
			status = 1;
	}
	xo_close_list("row");
	xo_close_container("benchmark");
	xo_finish();
	free(b);
	return (status);
}
