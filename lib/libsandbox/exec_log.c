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

void
log_append(struct sandbox *sb, const void *data, size_t len)
{
	struct stat st;
	int dir, fd;

	dir = open(sb->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir == -1)
		return;
	fd = openat(dir, "log", O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	if (fd != -1) {
		(void)co_write_all(fd, data, len);
		if (fstat(fd, &st) == 0 && st.st_size > LOG_MAX)
			(void)renameat(dir, "log", dir, "log.1");
		(void)close(fd);
	}
	(void)close(dir);
}
