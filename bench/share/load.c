/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What is measured: calls that programs make.
 */

#include <sys/stat.h>
#include <sys/wait.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bench.h>
#include <coppice.h>

#include "load.h"

#define	PIECE	(1U << 20)
#define	BLOCK	4096U

static char *
piece(void)
{
	static char buf[PIECE];
	uint64_t x = 88172645463325252U;
	size_t i;

	if (buf[0] == 0)
		for (i = 0; i < sizeof(buf); i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			buf[i] = (char)((x >> 32) | 1);
		}
	return (buf);
}

static double
fail(const char *what)
{

	warn("%s", what);
	return (-1);
}

static int
open_in(const char *dir, const char *name, int flags)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return (open(path, flags | O_CLOEXEC, 0644));
}

double
load_storm(const char *dir, unsigned int n)
{
	char from[32], to[32];
	struct stat st;
	unsigned int i;
	double t;
	int d, fd;

	if ((d = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (fail(dir));
	t = bench_now();
	for (i = 0; i < n; i++) {
		(void)snprintf(from, sizeof(from), "f%u", i);
		fd = openat(d, from, O_WRONLY | O_CREAT | O_EXCL, 0644);
		if (fd == -1)
			goto bad;
		(void)close(fd);
	}
	for (i = 0; i < n; i++) {
		(void)snprintf(from, sizeof(from), "f%u", i);
		if (fstatat(d, from, &st, 0) == -1)
			goto bad;
	}
	for (i = 0; i < n; i++) {
		(void)snprintf(from, sizeof(from), "f%u", i);
		(void)snprintf(to, sizeof(to), "g%u", i);
		if (renameat(d, from, d, to) == -1)
			goto bad;
	}
	for (i = 0; i < n; i++) {
		(void)snprintf(to, sizeof(to), "g%u", i);
		if (unlinkat(d, to, 0) == -1)
			goto bad;
	}
	t = bench_now() - t;
	(void)close(d);
	return (t);
bad:
	(void)close(d);
	return (fail(from));
}

static int
run(const char *const *argv)
{
	struct co_run r = { .argv = argv };
	struct co_result res;
	struct co_error e;
	int status;

	if (co_run(&r, &res, &e) == -1) {
		warnx("%s", e.message);
		return (-1);
	}
	if ((status = res.status) != 0)
		warnx("%s: %s", argv[0], res.out);
	free(res.out);
	return (status == 0 ? 0 : -1);
}

int
load_archive(const char *base, unsigned int n)
{
	char tree[PATH_MAX], tar[PATH_MAX], name[64];
	const char *const argv[] = { "tar", "-C", tree, "-cf", tar, ".",
	    NULL };
	unsigned int i;
	int fd;

	(void)snprintf(tree, sizeof(tree), "%s/tree", base);
	(void)snprintf(tar, sizeof(tar), "%s/tree.tar", base);
	if (mkdir(tree, 0755) == -1)
		return (-1);
	for (i = 0; i < n; i++) {
		if (i % 100 == 0) {
			(void)snprintf(name, sizeof(name), "/d%u", i / 100);
			(void)strncat(tree, name, sizeof(tree) -
			    strlen(tree) - 1);
			if (mkdir(tree, 0755) == -1)
				return (-1);
			*strrchr(tree, '/') = '\0';
		}
		(void)snprintf(name, sizeof(name), "d%u/file%u.c", i / 100,
		    i);
		fd = open_in(tree, name, O_WRONLY | O_CREAT);
		if (fd == -1 || write(fd, piece(), 100 + i * 7919U % 4000) ==
		    -1)
			return (-1);
		(void)close(fd);
	}
	return (run(argv));
}

int
load_remove(const char *path)
{
	const char *const argv[] = { "rm", "-rf", path, NULL };

	return (run(argv));
}

double
load_untar(const char *dir, const char *tar)
{
	const char *const argv[] = { "tar", "-C", dir, "-xf", tar, NULL };
	double t;

	t = bench_now();
	if (run(argv) == -1)
		return (-1);
	return (bench_now() - t);
}

static int
write_file(const char *dir, const char *name, size_t size)
{
	size_t done;
	int fd;

	if ((fd = open_in(dir, name, O_WRONLY | O_CREAT | O_TRUNC)) == -1)
		return (-1);
	for (done = 0; done < size; done += PIECE)
		if (write(fd, piece(), PIECE) != PIECE) {
			(void)close(fd);
			return (-1);
		}
	return (close(fd));
}

double
load_write(const char *dir, size_t size)
{
	double t;

	t = bench_now();
	if (write_file(dir, "new", size) == -1)
		return (fail("new"));
	return (bench_now() - t);
}

int
load_big(const char *dir, size_t size)
{

	if (write_file(dir, "big", size) == 0)
		return (0);
	warn("%s/big", dir);
	return (-1);
}

double
load_read(const char *dir, size_t size)
{
	size_t done;
	double t;
	int fd;

	t = bench_now();
	if ((fd = open_in(dir, "big", O_RDONLY)) == -1)
		return (fail("big"));
	for (done = 0; done < size; done += PIECE)
		if (read(fd, piece(), PIECE) != PIECE) {
			(void)close(fd);
			return (fail("big"));
		}
	(void)close(fd);
	return (bench_now() - t);
}

/* Every block at most once, so that no cache helps. */
double
load_random(const char *dir, size_t size, unsigned int n)
{
	uint64_t blocks = size / BLOCK, at = 0;
	char buf[BLOCK];
	unsigned int i;
	double t;
	int fd;

	if ((fd = open_in(dir, "big", O_RDONLY)) == -1)
		return (fail("big"));
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	t = bench_now();
	for (i = 0; i < n; i++) {
		at = (at + 2654435761U) % blocks;
		if (pread(fd, buf, sizeof(buf), (off_t)(at * BLOCK)) !=
		    (ssize_t)sizeof(buf)) {
			(void)close(fd);
			return (fail("big"));
		}
	}
	t = bench_now() - t;
	(void)close(fd);
	return (t);
}

double
load_rewrite(const char *dir, size_t size, unsigned int n)
{
	uint64_t blocks = size / BLOCK, at = 0;
	unsigned int i;
	double t;
	int fd;

	if ((fd = open_in(dir, "new", O_WRONLY)) == -1)
		return (fail("new"));
	t = bench_now();
	for (i = 0; i < n; i++) {
		at = (at + 2654435761U) % blocks;
		if (pwrite(fd, piece(), BLOCK, (off_t)(at * BLOCK)) !=
		    (ssize_t)BLOCK) {
			(void)close(fd);
			return (fail("new"));
		}
	}
	t = bench_now() - t;
	(void)close(fd);
	return (t);
}
