/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The log of a sandbox: what its start command, and others that asked for
 * it, wrote.  Of two files, each at most half a megabyte, the older one goes
 * when the newer one is full.
 */

#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include "engine_internal.h"

#define	LOG_MAX	(512 * 1024)

/* How much of it ends with the end of a line; all of it if no line ends. */
static size_t
whole_lines(const char *data, size_t len)
{
	size_t n;

	for (n = len; n > 0 && data[n - 1] != '\n'; n--)
		continue;
	return (n > 0 ? n : len);
}

/* Returns whether the file is full. */
static bool
append(int dir, const void *data, size_t len)
{
	struct stat st;
	bool full;
	int fd;

	if (len == 0)
		return (false);
	fd = openat(dir, "log", O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	if (fd == -1)
		return (false);
	(void)co_write_all(fd, data, len);
	full = fstat(fd, &st) == 0 && st.st_size > LOG_MAX;
	(void)close(fd);
	return (full);
}

void
log_append(struct sandbox *sb, const void *data, size_t len)
{
	size_t n = whole_lines(data, len);
	int dir;

	dir = open(sb->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir == -1)
		return;
	if (append(dir, data, n))
		(void)renameat(dir, "log", dir, "log.1");
	(void)append(dir, (const char *)data + n, len - n);
	(void)close(dir);
}
