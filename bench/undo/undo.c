/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What undo costs: the same work of a file server with and without hooks,
 * rolling back against copying, capturing against cp(1), and memory.  Runs
 * in the folder given (default: here), and as root also on filesystems with
 * reflinks in image files there.
 */

#include <sys/types.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bench.h>
#include <coppice.h>
#include <undo.h>

#include "work.h"

/* One place to measure in. */
struct place {
	char		 dir[PATH_MAX - 64];
	char		 root[PATH_MAX];
	char		 store[PATH_MAX];
	char		 copy[PATH_MAX];
	const char	*fs;		/* what it is called in rows */
	bool		 reflinks;
	unsigned int	 nfiles;	/* of a tree to remove */
	unsigned int	 nsources;	/* to rewrite */
	uint64_t	 large;		/* size of the file to touch */
	bool		 text;		/* its content shrinks */
	unsigned int	 npaths;	/* of the step for memory */
	int		 rootfd;
	struct undo	*u;
	int64_t		 id;
	char		 rows[6][64];	/* names, until the table is printed */
};

static char buffer[1 << 20];

static void
buffer_fill(bool text)
{
	uint64_t x;
	size_t i;

	for (i = 0, x = 88172645463325252U; i < sizeof(buffer); i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		buffer[i] = text ? "static int\nfoo(void)\n{\n\t"[x % 24] :
		    (char)(x >> 32);
	}
}

static double
fail(const char *what)
{

	warn("%s", what);
	return (-1);
}

/*
 * Folders.
 */
static int
make_file(int dirfd, const char *name, size_t size)
{
	size_t n;
	int fd;

	fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
	    0644);
	if (fd == -1)
		return (-1);
	for (; size > 0; size -= n) {
		n = size < sizeof(buffer) ? size : sizeof(buffer);
		if (write(fd, buffer, n) != (ssize_t)n) {
			(void)close(fd);
			return (-1);
		}
	}
	return (close(fd));
}

/* ${n} files of ${size} bytes, a hundred to a folder. */
static int
make_tree(struct place *p, unsigned int n, size_t size)
{
	char name[32];
	unsigned int i;
	int fd;

	fd = -1;
	for (i = 0; i < n; i++) {
		if (i % 100 == 0) {
			if (fd != -1)
				(void)close(fd);
			(void)snprintf(name, sizeof(name), "d%u", i / 100);
			if ((mkdirat(p->rootfd, name, 0755) == -1 &&
			    errno != EEXIST) || (fd = openat(p->rootfd, name,
			    O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
				return (-1);
		}
		(void)snprintf(name, sizeof(name), "file%u.c", i % 100);
		if (make_file(fd, name, size != 0 ? size :
		    4096 + (i * 7919U) % 61440) == -1)
			return (-1);
	}
	if (fd != -1)
		(void)close(fd);
	return (0);
}

/* An empty folder, and with ${undo} an open store and step. */
static int
place_begin(struct place *p, bool undo)
{
	struct undo_options o;
	struct co_error e;

	if (p->rootfd > 0)
		(void)close(p->rootfd);
	p->rootfd = work_fresh(p->root);
	(void)work_remove(AT_FDCWD, p->store);
	p->u = NULL;
	if (!undo)
		return (0);
	memset(&o, 0, sizeof(o));
	o.limits.max_single_step_size = 4ULL << 30;
	o.limits.max_log_size = 8ULL << 30;
	if (undo_open(p->rootfd, p->store, &o, &p->u, &e) == -1) {
		warnx("%s", e.message);
		return (-1);
	}
	return (0);
}

static int
step_begin(struct place *p)
{
	struct co_error e;

	p->id++;
	if (undo_step_begin(p->u, p->id, UNDO_COMMAND, "bench", &e) == 0)
		return (0);
	warnx("%s", e.message);
	return (-1);
}

static int
step_end(struct place *p)
{
	struct co_error e;

	if (undo_step_complete(p->u, p->id, 0, &e) == 0)
		return (0);
	warnx("%s", e.message);
	return (-1);
}

static void
place_end(struct place *p)
{

	undo_close(p->u);
	p->u = NULL;
	(void)close(p->rootfd);
	p->rootfd = -1;
	(void)work_remove(AT_FDCWD, p->root);
	(void)work_remove(AT_FDCWD, p->store);
	(void)work_remove(AT_FDCWD, p->copy);
}

/*
 * Removing a tree, by the calls of rm -rf.
 */
static int
remove_file(struct place *p, const char *path, int dirfd, const char *name)
{
	struct undo_ref r = {
		.path = path, .dirfd = dirfd, .name = name, .fd = -1
	};
	struct undo_op op;
	bool taken;
	int error;

	taken = false;
	if (p->u != NULL &&
	    (error = undo_pre_unlink(p->u, &op, &r, &taken)) != 0) {
		errno = error;
		return (-1);
	}
	error = taken || unlinkat(dirfd, name, 0) == 0 ? 0 : errno;
	if (p->u != NULL)
		undo_done(p->u, &op, error);
	return (error == 0 ? 0 : -1);
}

static int
remove_dir(struct place *p, const char *path)
{
	struct undo_ref r = {
		.path = path, .dirfd = p->rootfd, .name = path, .fd = -1
	};
	struct undo_op op;
	int error;

	if (p->u != NULL &&
	    (error = undo_pre_rmdir(p->u, &op, &r)) != 0) {
		errno = error;
		return (-1);
	}
	error = unlinkat(p->rootfd, path, AT_REMOVEDIR) == 0 ? 0 : errno;
	if (p->u != NULL)
		undo_done(p->u, &op, error);
	return (error == 0 ? 0 : -1);
}

static int
remove_below(struct place *p, const char *dir)
{
	char path[PATH_MAX];
	struct dirent *de;
	DIR *d;
	int error, fd;

	fd = openat(p->rootfd, dir,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1 || (d = fdopendir(fd)) == NULL)
		return (-1);
	error = 0;
	while (error == 0 && (de = readdir(d)) != NULL) {
		if (de->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", dir, de->d_name);
		error = remove_file(p, path, fd, de->d_name);
	}
	(void)closedir(d);
	return (error == 0 ? remove_dir(p, dir) : -1);
}

static int
remove_tree(struct place *p)
{
	struct dirent *de;
	DIR *d;
	int error, fd;

	fd = openat(p->rootfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1 || (d = fdopendir(fd)) == NULL)
		return (-1);
	error = 0;
	while (error == 0 && (de = readdir(d)) != NULL)
		if (de->d_name[0] != '.')
			error = remove_below(p, de->d_name);
	(void)closedir(d);
	return (error);
}

static double
time_remove(struct place *p, bool undo)
{
	double t;

	if (place_begin(p, undo) == -1 ||
	    make_tree(p, p->nfiles, 1024) == -1)
		return (fail("tree"));
	work_sync(p->rootfd);
	t = bench_now();
	if ((undo && step_begin(p) == -1) || remove_tree(p) == -1 ||
	    (undo && step_end(p) == -1))
		return (fail("remove"));
	t = bench_now() - t;
	place_end(p);
	return (t);
}

static double
remove_with(void *arg)
{

	return (time_remove(arg, true));
}

static double
remove_without(void *arg)
{

	return (time_remove(arg, false));
}

static double
roll_back(void *arg)
{
	struct place *p = arg;
	struct co_error e;
	double t;

	if (place_begin(p, true) == -1 ||
	    make_tree(p, p->nfiles, 1024) == -1 || step_begin(p) == -1 ||
	    remove_tree(p) == -1 || step_end(p) == -1)
		return (fail("tree"));
	work_sync(p->rootfd);
	t = bench_now();
	if (undo_rollback(p->u, 1, false, NULL, NULL, &e) == -1) {
		warnx("%s", e.message);
		return (-1);
	}
	t = bench_now() - t;
	if (faccessat(p->rootfd, "d0/file0.c", F_OK, 0) == -1)
		return (fail("rolled back"));
	place_end(p);
	return (t);
}

static double
copy_tree(void *arg)
{
	struct place *p = arg;
	const char *argv[] = { "cp", "-a", p->root, p->copy, NULL };
	double t;

	if (place_begin(p, false) == -1 ||
	    make_tree(p, p->nfiles, 1024) == -1)
		return (fail("tree"));
	work_sync(p->rootfd);
	t = bench_now();
	if (work_run(argv) != 0)
		return (fail("cp -a"));
	t = bench_now() - t;
	place_end(p);
	return (t);
}

/*
 * Rewriting sources: truncate on opening, write, close.  With undo the file
 * is opened first and truncated after the hook, as libshare does it, which
 * has a descriptor to give to the hook then.
 */
static int
rewrite_plainly(int dirfd, const char *name, size_t size)
{
	int error, fd;

	fd = openat(dirfd, name, O_RDWR | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	error = write(fd, buffer, size) == (ssize_t)size ? 0 : -1;
	(void)close(fd);
	return (error);
}

static int
rewrite_file(struct place *p, const char *path, int dirfd, const char *name,
    size_t size)
{
	uint64_t seen;
	struct undo_ref r = { .path = path, .dirfd = -1, .seen = &seen };
	struct undo_op op;
	int error, fd;

	if (p->u == NULL)
		return (rewrite_plainly(dirfd, name, size));
	seen = 0;
	fd = openat(dirfd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	r.fd = fd;
	if ((error = undo_pre_open_trunc(p->u, &op, &r)) == 0) {
		error = ftruncate(fd, 0) == 0 ? 0 : errno;
		undo_done(p->u, &op, error);
	}
	if (error == 0 && (error = undo_pre_write(p->u, &op, &r)) == 0) {
		error = write(fd, buffer, size) == (ssize_t)size ? 0 : errno;
		undo_done(p->u, &op, error);
	}
	(void)close(fd);
	errno = error;
	return (error == 0 ? 0 : -1);
}

static int
rewrite_tree(struct place *p)
{
	char dir[32], name[32], path[80];
	unsigned int i;
	int error, fd;

	for (i = 0, fd = -1, error = 0; i < p->nsources && error == 0; i++) {
		if (i % 100 == 0) {
			if (fd != -1)
				(void)close(fd);
			(void)snprintf(dir, sizeof(dir), "d%u", i / 100);
			fd = openat(p->rootfd, dir,
			    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		}
		(void)snprintf(name, sizeof(name), "file%u.c", i % 100);
		(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
		error = rewrite_file(p, path, fd, name,
		    4096 + (i * 104729U) % 61440);
	}
	(void)close(fd);
	return (error);
}

static double
time_rewrite(struct place *p, bool undo)
{
	double t;

	if (place_begin(p, undo) == -1 ||
	    make_tree(p, p->nsources, 0) == -1)
		return (fail("tree"));
	work_sync(p->rootfd);
	t = bench_now();
	if ((undo && step_begin(p) == -1) || rewrite_tree(p) == -1 ||
	    (undo && step_end(p) == -1))
		return (fail("rewrite"));
	t = bench_now() - t;
	place_end(p);
	return (t);
}

static double
rewrite_with(void *arg)
{

	return (time_rewrite(arg, true));
}

static double
rewrite_without(void *arg)
{

	return (time_rewrite(arg, false));
}

/*
 * A large file touched in one page, against copying it.
 */
static double
touch(void *arg)
{
	struct place *p = arg;
	struct undo_ref r = {
		.path = "large", .name = "large"
	};
	struct undo_op op;
	double t;
	int error;

	if (place_begin(p, true) == -1 ||
	    make_file(p->rootfd, "large", p->large) == -1)
		return (fail("large file"));
	r.dirfd = p->rootfd;
	if ((r.fd = openat(p->rootfd, "large", O_RDWR | O_CLOEXEC)) == -1)
		return (fail("large file"));
	work_sync(p->rootfd);
	t = bench_now();
	if (step_begin(p) == -1)
		return (-1);
	if ((error = undo_pre_write(p->u, &op, &r)) != 0) {
		errno = error;
		return (fail("capture"));
	}
	error = pwrite(r.fd, buffer, 4096, 1 << 20) == 4096 ? 0 : errno;
	undo_done(p->u, &op, error);
	t = bench_now() - t;
	(void)close(r.fd);
	place_end(p);
	return (t);
}

static double
copy_large(void *arg)
{
	struct place *p = arg;
	char from[PATH_MAX + 8];
	const char *argv[] = {
		"cp", p->reflinks ? "--reflink=always" : "--reflink=auto",
		from, p->copy, NULL
	};
	double t;

	if (place_begin(p, false) == -1 ||
	    make_file(p->rootfd, "large", p->large) == -1)
		return (fail("large file"));
	(void)snprintf(from, sizeof(from), "%s/large", p->root);
	work_sync(p->rootfd);
	t = bench_now();
	if (work_run(argv) != 0)
		return (fail("cp"));
	t = bench_now() - t;
	place_end(p);
	return (t);
}

/*
 * Memory of a large step, by the kernel's account of a process.
 */
static double
peak_memory(void)
{
	struct rusage ru;

	if (getrusage(RUSAGE_SELF, &ru) == -1)
		return (-1);
	return ((double)ru.ru_maxrss / 1024);
}

/* Change the mode of every file, in a step of their own. */
static int
chmod_tree(struct place *p)
{
	char name[32], path[80];
	struct undo_ref r = { .path = path, .dirfd = -1, .fd = -1 };
	struct undo_op op;
	unsigned int i;
	int error;

	for (i = 0; i < p->npaths / 2; i++) {
		(void)snprintf(name, sizeof(name), "d%u", i / 100);
		(void)snprintf(path, sizeof(path), "%s/file%u.c", name,
		    i % 100);
		if ((error = undo_pre_setattr(p->u, &op, &r, false)) != 0) {
			errno = error;
			return (-1);
		}
		error = fchmodat(p->rootfd, path, 0600, 0) == 0 ? 0 : errno;
		undo_done(p->u, &op, error);
	}
	return (0);
}

/* Two hundred thousand paths: half of them made, all removed or changed. */
static int
measure_step(struct place *p, double *before, double *after)
{

	if (place_begin(p, true) == -1 ||
	    make_tree(p, p->npaths, 1) == -1)
		return (-1);
	*before = peak_memory();
	if (step_begin(p) == -1 || chmod_tree(p) == -1 ||
	    remove_tree(p) == -1)
		return (-1);
	*after = peak_memory();
	if (step_end(p) == -1)
		return (-1);
	place_end(p);
	return (0);
}

static double
memory(struct place *p)
{
	double v[2], r;
	int fd[2], status;
	pid_t pid;

	if (pipe(fd) == -1 || (pid = fork()) == -1)
		return (fail("fork"));
	if (pid == 0) {
		if (measure_step(p, &v[0], &v[1]) == -1 ||
		    write(fd[1], v, sizeof(v)) != sizeof(v))
			_exit(1);
		_exit(0);
	}
	(void)close(fd[1]);
	r = read(fd[0], v, sizeof(v)) == sizeof(v) ? v[1] - v[0] : -1;
	(void)close(fd[0]);
	if (waitpid(pid, &status, 0) == -1 || status != 0)
		return (fail("memory"));
	return (r);
}

/*
 * Rows.
 */
/* The rows of a place, by name. */
enum {
	REMOVE, BACK, REWRITE, TOUCH, TOUCH_TEXT, MEMORY
};

static void row(struct place *, unsigned int, const char *, ...)
    __attribute__((__format__(__printf__, 3, 4)));

/* The name of a row, with that of the filesystem. */
static void
row(struct place *p, unsigned int i, const char *fmt, ...)
{
	char *name = p->rows[i];
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	(void)vsnprintf(name, sizeof(p->rows[0]), fmt, ap);
	va_end(ap);
	n = strlen(name);
	(void)snprintf(name + n, sizeof(p->rows[0]) - n, ", %s", p->fs);
}

static void
place_init(struct place *p, const char *dir, const char *fs, bool reflinks,
    bool quick)
{

	memset(p, 0, sizeof(*p));
	(void)snprintf(p->dir, sizeof(p->dir), "%s", dir);
	(void)snprintf(p->root, sizeof(p->root), "%s/root", dir);
	(void)snprintf(p->store, sizeof(p->store), "%s/store", dir);
	(void)snprintf(p->copy, sizeof(p->copy), "%s/copy", dir);
	p->fs = fs;
	p->reflinks = reflinks;
	p->nfiles = quick ? 2000 : 20000;
	p->nsources = quick ? 200 : 2000;
	p->large = quick ? 64 << 20 : 1 << 30;
	p->npaths = quick ? 20000 : 200000;
	p->rootfd = -1;
	row(p, REMOVE, "rm -rf of %u files", p->nfiles);
	row(p, BACK, "roll that back");
	row(p, REWRITE, "rewrite %u sources", p->nsources);
	row(p, TOUCH, "touch a page of %ju MiB", (uintmax_t)p->large >> 20);
	row(p, TOUCH_TEXT, "touch a page of %ju MiB text",
	    (uintmax_t)p->large >> 20);
	row(p, MEMORY, "MiB for a step of %u paths", p->npaths);
}

static void
rows(struct bench *b, struct place *p)
{

	buffer_fill(false);
	bench_ratio(b, p->rows[REMOVE], "without undo", BENCH_ATMOST, 1.5,
	    remove_with, remove_without, p);
	bench_ratio(b, p->rows[BACK], "cp -a of the tree", BENCH_ATMOST, 0.3,
	    roll_back, copy_tree, p);
	buffer_fill(true);
	bench_ratio(b, p->rows[REWRITE], "without undo", BENCH_ATMOST,
	    p->reflinks ? 1.5 : 2.5, rewrite_with, rewrite_without, p);
	buffer_fill(false);
	bench_ratio(b, p->rows[TOUCH], p->reflinks ? "cp --reflink=always" :
	    "cp", BENCH_ATMOST, 1.1, touch, copy_large, p);
	if (p->reflinks)
		return;
	buffer_fill(true);
	bench_ratio(b, p->rows[TOUCH_TEXT], "cp", BENCH_REPORT, 0, touch,
	    copy_large, p);
	if (bench_wants(b, p->rows[MEMORY]))
		bench_value(b, p->rows[MEMORY], "64 MiB", BENCH_ATMOST, 64,
		    memory(p));
}

static void
rows_mounted(struct bench *b, const char *dir, const char *type,
    struct place *p)
{
	char mnt[PATH_MAX];
	unsigned int i;

	(void)snprintf(mnt, sizeof(mnt), "%s/%s", dir, type);
	place_init(p, mnt, type, true, bench_quick(b));
	for (i = REMOVE; i <= TOUCH && !bench_wants(b, p->rows[i]); i++)
		;
	if (i > TOUCH)
		return;
	if (!work_mount(type, mnt, 6000)) {
		warnx("no %s can be made here; its rows are left out", type);
		return;
	}
	rows(b, p);
	work_unmount(mnt);
}

int
main(int argc, char *argv[])
{
	static struct place p[3];
	struct bench *b;
	char dir[PATH_MAX - 64];
	int status;

	b = bench_open("undo", &argc, argv);
	(void)snprintf(dir, sizeof(dir), "%.3900s/undo-bench.%jd",
	    argc > 1 ? argv[1] : ".", (intmax_t)getpid());
	if (mkdir(dir, 0700) == -1)
		err(2, "%s", dir);
	place_init(&p[0], dir, "no reflinks", false, bench_quick(b));
	rows(b, &p[0]);
	rows_mounted(b, dir, "xfs", &p[1]);
	rows_mounted(b, dir, "btrfs", &p[2]);
	status = bench_close(b);
	(void)work_remove(AT_FDCWD, dir);
	return (status);
}
