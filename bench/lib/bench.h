/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The frame of every benchmark: rows that compare one thing of ours with a
 * named peer, measured in turns, as a ratio with its spread and a bar.
 * Prints by libxo, so "--libxo json" works for each.
 */

#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdint.h>

struct bench;

/* Whether the bar is a ceiling, a floor, or there is none. */
enum bench_bar {
	BENCH_ATMOST, BENCH_ATLEAST, BENCH_REPORT
};

/*
 * Measure once and return a positive amount (seconds, bytes, ...; the unit
 * cancels out in the ratio), or a negative number after a failure that the
 * function has reported on stderr.  Untimed preparation belongs into it.
 */
typedef double bench_fn(void *);

/**
 * bench_open(name, argc, argv):
 * Begin the benchmark ${name}: takes libxo's options, "-r runs" (default 7),
 * "-q" (a quick pass: 2 runs, for trying out) and "-o pattern" (only rows
 * whose name contains it).  Moves ${argv}'s rest to the front, as
 * xo_parse_args(3) does.  Exits on a usage error.
 */
struct bench *bench_open(const char *, int *, char **);

/**
 * bench_quick(b):
 * Tell whether "-q" was given, so that a benchmark can shrink its input.
 */
bool bench_quick(const struct bench *);

/**
 * bench_wants(b, what):
 * Tell whether the row ${what} is to be measured, for what is prepared
 * before bench_ratio() or bench_value() could leave it out.
 */
bool bench_wants(const struct bench *, const char *);

/**
 * bench_ratio(b, what, peer, kind, bar, ours, theirs, arg):
 * Run ${ours} and ${theirs} in turns, once unmeasured and then the number of
 * runs, and add a row: the median of the per-turn ratios ours/theirs, their
 * lowest and highest, and whether ${bar} holds for the median.
 */
void bench_ratio(struct bench *, const char *, const char *, enum bench_bar,
    double, bench_fn *, bench_fn *, void *);

/**
 * bench_value(b, what, peer, kind, bar, value):
 * Add a row with one measured ${value}, such as memory, compared with a
 * limit that ${peer} names.
 */
void bench_value(struct bench *, const char *, const char *, enum bench_bar,
    double, double);

/**
 * bench_now():
 * Seconds of the monotonic clock.
 */
double bench_now(void);

/**
 * bench_close(b):
 * Print the table, free ${b} and return the program's exit status: 0 when
 * every bar held, 1 when one was missed, 2 when a measurement failed.
 */
int bench_close(struct bench *);

#endif /* BENCH_H */
