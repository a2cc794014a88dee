/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A tree reaches the disk before the name that stands for all of it does.
 */

#include <sys/stat.h>

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "template_internal.h"

static int
sync_one(void *arg, int dir, const char *name, const char *path,
    const struct stat *st, struct co_error *e)
{
	int fd;

	(void)arg;
	(void)path;
	(void)e;
	if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
		return (0);
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
	    O_CLOEXEC);
	if (fd == -1)
		return (0);
	(void)fsync(fd);
	close(fd);
	return (0);
}

void
template_sync(int root)
{

	(void)template_walk(root, sync_one, NULL, NULL);
}
