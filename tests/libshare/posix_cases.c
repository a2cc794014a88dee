/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Runs the cases in a directory and tells of each whether it passed, one
 * line per case.  What a directory can't do, such as extended attributes on
 * some file systems, fails; it is for the caller to compare two directories.
 *
 * usage: posix_cases [-l] [-v] directory [case ...]
 */

#include <sys/stat.h>
#include <sys/wait.h>

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "posix_cases.h"

#define	CASE_SECONDS	30
#define	WIPE_MAX	8192

static int root;	/* the directory */

void
fail(const char *fmt, ...)
{
	int error = errno;
	va_list ap;

	va_start(ap, fmt);
	(void)vprintf(fmt, ap);
	va_end(ap);
	(void)printf(" (%s)\n", strerror(error));
	(void)fflush(stdout);
	_exit(1);
}

/* Remove a tree, whatever its modes; what can't be removed stays. */
static void
wipe(int at, const char *name)
{
	struct dirent *de;
	char **list;
	size_t i, n;
	DIR *d;
	int fd;

	if (unlinkat(at, name, 0) == 0)
		return;
	if (fchmodat(at, name, 0700, 0) == -1 && errno == ENOENT)
		return;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	if (fd == -1 || (d = fdopendir(fd)) == NULL)
		return;
	if ((list = calloc(WIPE_MAX, sizeof(*list))) == NULL)
		err(1, NULL);
	for (n = 0; n < WIPE_MAX && (de = readdir(d)) != NULL;)
		if (strcmp(de->d_name, ".") != 0 &&
		    strcmp(de->d_name, "..") != 0 &&
		    (list[n] = strdup(de->d_name)) != NULL)
			n++;
	for (i = 0; i < n; i++) {
		wipe(fd, list[i]);
		free(list[i]);
	}
	free(list);
	(void)closedir(d);
	(void)unlinkat(at, name, AT_REMOVEDIR);
}

static void
child(const char *name, const char *text, void (*fn)(void), bool verbose)
{
	int fd;

	if (!verbose && (fd = open("/dev/null", O_WRONLY)) != -1)
		(void)dup2(fd, STDOUT_FILENO);
	(void)alarm(CASE_SECONDS);
	(void)umask(0);
	if (fchdir(root) == -1 || mkdir(name, 0777) == -1 ||
	    chdir(name) == -1)
		fail("%s", name);
	if (text != NULL)
		words_run(text);
	else
		fn();
	_exit(0);
}

static bool
run(const char *name, const char *text, void (*fn)(void), bool verbose)
{
	int status;
	pid_t pid;

	(void)fflush(stdout);
	wipe(root, name);
	if ((pid = fork()) == -1)
		err(1, "fork");
	if (pid == 0)
		child(name, text, fn, verbose);
	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	wipe(root, name);
	(void)printf("%s %s\n", status == 0 ? "pass" : "FAIL", name);
	return (status == 0);
}

static bool
wanted(const char *name, int argc, char *argv[])
{
	int i;

	for (i = 0; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return (true);
	return (argc == 0);
}

int
main(int argc, char *argv[])
{
	bool list = false, verbose = false;
	unsigned int failed = 0;
	const struct program *p;
	const struct script *s;
	int ch;

	while ((ch = getopt(argc, argv, "lv")) != -1)
		if (ch == 'l')
			list = true;
		else if (ch == 'v')
			verbose = true;
		else
			return (2);
	argc -= optind;
	argv += optind;
	if (!list && argc < 1)
		errx(2, "usage: posix_cases [-lv] directory [case ...]");
	if (!list && (root = open(argv[0], O_RDONLY | O_DIRECTORY)) == -1)
		err(1, "%s", argv[0]);
	argc -= argc > 0;
	argv++;
	for (s = scripts; s->name != NULL; s++)
		if (list)
			(void)printf("%s\n", s->name);
		else if (wanted(s->name, argc, argv))
			failed += !run(s->name, s->text, NULL, verbose);
	for (p = programs; p->name != NULL; p++)
		if (list)
			(void)printf("%s\n", p->name);
		else if (wanted(p->name, argc, argv))
			failed += !run(p->name, NULL, p->fn, verbose);
	return (failed > 0);
}
