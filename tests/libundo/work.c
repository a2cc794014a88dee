/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Folders and programs of tests; filesystems are in the file of the
 * platform.
 */

#include <sys/types.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "work.h"

extern char **environ;

static int
remove_below(int fd)
{
	struct dirent *de;
	DIR *d;
	int error;

	if ((d = fdopendir(fd)) == NULL) {
		error = errno;
		(void)close(fd);
		return (error);
	}
	error = 0;
	while ((de = readdir(d)) != NULL)
		if (strcmp(de->d_name, ".") != 0 &&
		    strcmp(de->d_name, "..") != 0 &&
		    work_remove(dirfd(d), de->d_name) != 0)
			error = errno;
	(void)closedir(d);
	return (error);
}

int
work_remove(int dirfd, const char *name)
{
	int fd;

	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return (0);
	fd = openat(dirfd, name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1 && (fchmodat(dirfd, name, 0700, 0) == -1 ||
	    (fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC)) == -1))
		return (errno);
	(void)remove_below(fd);
	return (unlinkat(dirfd, name, AT_REMOVEDIR) == -1 ? errno : 0);
}

int
work_fresh(const char *path)
{
	int fd;

	if (work_remove(AT_FDCWD, path) != 0 || mkdir(path, 0755) == -1 ||
	    (fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		abort();
	return (fd);
}

int
work_run(const char *const *argv)
{
	posix_spawn_file_actions_t fa;
	int error, status;
	pid_t pid;

	(void)posix_spawn_file_actions_init(&fa);
	(void)posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDWR, 0);
	(void)posix_spawn_file_actions_adddup2(&fa, 0, 1);
	(void)posix_spawn_file_actions_adddup2(&fa, 0, 2);
	error = posix_spawnp(&pid, argv[0], &fa, NULL,
	    (char *const *)(uintptr_t)argv, environ);
	(void)posix_spawn_file_actions_destroy(&fa);
	if (error != 0 || waitpid(pid, &status, 0) == -1 || !WIFEXITED(status))
		return (-1);
	return (WEXITSTATUS(status));
}

unsigned long
work_number(const char *name, unsigned long dflt)
{
	const char *s;
	char *end;
	unsigned long n;

	if ((s = getenv(name)) == NULL || *s == '\0')
		return (dflt);
	n = strtoul(s, &end, 0);
	return (*end == '\0' ? n : dflt);
}
