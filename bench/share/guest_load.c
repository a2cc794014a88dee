/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One load, in the machine: prints the seconds that it took.
 *
 * usage: guest_load storm|untar|write|read|random directory n bytes
 *	archive is made by: guest_load archive directory n 0
 */

#include <sys/stat.h>

#include <err.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bench.h>

#include "load.h"

/* There is no frame of benchmarks here. */
double
bench_now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((double)ts.tv_sec + (double)ts.tv_nsec / 1e9);
}

static double
untar(const char *dir)
{
	char out[PATH_MAX];
	double t;

	(void)snprintf(out, sizeof(out), "%s/out", dir);
	if (mkdir(out, 0755) == -1)
		return (-1);
	t = load_untar(out, "/tmp/tree.tar");
	return (load_remove(out) == -1 ? -1 : t);
}

static double
new_file(const char *dir, size_t size)
{
	char path[PATH_MAX];
	double t;

	t = load_write(dir, size);
	(void)snprintf(path, sizeof(path), "%s/new", dir);
	return (unlink(path) == -1 ? -1 : t);
}

int
main(int argc, char *argv[])
{
	unsigned int n;
	size_t size;
	double t;

	if (argc != 5)
		errx(2, "load, directory, number and bytes");
	n = (unsigned int)strtoul(argv[3], NULL, 10);
	size = (size_t)strtoull(argv[4], NULL, 10);
	if (strcmp(argv[1], "storm") == 0)
		t = load_storm(argv[2], n);
	else if (strcmp(argv[1], "archive") == 0)
		t = load_archive(argv[2], n);
	else if (strcmp(argv[1], "untar") == 0)
		t = untar(argv[2]);
	else if (strcmp(argv[1], "write") == 0)
		t = new_file(argv[2], size);
	else if (strcmp(argv[1], "read") == 0)
		t = load_read(argv[2], size);
	else if (strcmp(argv[1], "random") == 0)
		t = load_random(argv[2], size, n);
	else
		errx(2, "%s: what?", argv[1]);
	if (t < 0)
		return (1);
	(void)printf("%.6f\n", t);
	return (0);
}
