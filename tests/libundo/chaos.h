/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Random operations on a folder, made by the file server of the tests, and
 * reproducible: what happens depends on the seed and the folder alone.
 */

#ifndef CHAOS_H
#define CHAOS_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fsops;
struct chaos;

/* What a folder may be like. */
enum chaos_flags {
	CHAOS_DEEP = 1,		/* paths longer than PATH_MAX */
	CHAOS_LARGE = 2,	/* files of some MiB */
	CHAOS_ROOT = 4		/* owners, devices, trusted attributes */
};

/* Numbers: splitmix64. */
uint64_t chaos_random(uint64_t *);
uint64_t chaos_below(uint64_t *, uint64_t);

struct chaos *chaos_new(int, struct fsops *, unsigned int);
void chaos_free(struct chaos *);

/* Close all open files. */
void chaos_close(struct chaos *);

/**
 * chaos_fill(c, seed):
 * Make a folder to begin with, with times long ago.
 */
void chaos_fill(struct chaos *, uint64_t);

/**
 * chaos_op(c, seed, why, size):
 * Perform one random operation, well possible to fail, and describe it.
 * Return true if it certainly left a trace in the folder.
 */
bool chaos_op(struct chaos *, uint64_t, char *, size_t);

#endif /* CHAOS_H */
