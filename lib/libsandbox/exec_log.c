/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The log of a sandbox: what its start command, and others that asked for
 * it, wrote.  Of two files, each at most half a megabyte, the older one goes
 * when the newer one is full.  Beside each is one that says when what was
 * written: marks, in the order of their places.
 */

#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include "engine_internal.h"

#define	LOG_MAX	(512 * 1024)
#define	MARK_MS	100		/* as exactly as this */

/* How much of it ends with the end of a line; all of it if no line ends. */
static size_t
whole_lines(const char *data, size_t len)
{
	size_t n;

	for (n = len; n > 0 && data[n - 1] != '\n'; n--)
		continue;
	return (n > 0 ? n : len);
}

static int
open_log(int dir, const char *name)
{

	return (openat(dir, name, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW |
	    O_CLOEXEC, 0600));
}

/* What follows at this place is of now. */
static void
mark(struct sandbox *sb, int dir, uint64_t place)
{
	int64_t now = engine_wall();
	struct log_mark m = { .place = place, .time = (uint64_t)now };
	int fd;

	if (place > 0 && now >= sb->logged && now - sb->logged < MARK_MS)
		return;
	sb->logged = now;
	fd = open_log(dir, "log.times");
	if (fd == -1)
		return;
	(void)co_write_all(fd, &m, sizeof(m));
	(void)close(fd);
}

/* Returns whether the file is full. */
static bool
append(struct sandbox *sb, int dir, const void *data, size_t len)
{
	struct stat st;
	bool full;
	int fd;

	if (len == 0)
		return (false);
	fd = open_log(dir, "log");
	if (fd == -1)
		return (false);
	if (fstat(fd, &st) == 0)
		mark(sb, dir, (uint64_t)st.st_size);
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
	if (append(sb, dir, data, n)) {
		(void)renameat(dir, "log", dir, "log.1");
		(void)renameat(dir, "log.times", dir, "log.1.times");
	}
	(void)append(sb, dir, (const char *)data + n, len - n);
	(void)close(dir);
}
