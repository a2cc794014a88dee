/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * FreeBSD has none of the filesystems that the tests ask for by name; those
 * tests are skipped there.
 */

#include <stddef.h>
#include <unistd.h>

#include "work.h"

bool
work_mount(const char *type, const char *path, unsigned int mb)
{

	(void)type;
	(void)path;
	(void)mb;
	return (false);
}

void
work_unmount(const char *path)
{

	(void)path;
}

bool
work_cut(int fd)
{

	(void)fd;
	return (false);
}

bool
work_again(const char *path)
{

	(void)path;
	return (false);
}

void
work_sync(int fd)
{

	(void)fd;
	sync();
}

const char *
work_elsewhere(int fd)
{

	(void)fd;
	return (NULL);
}
