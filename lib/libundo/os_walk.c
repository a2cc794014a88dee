/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Opening a path below a directory one component at a time, for systems
 * that can't do it in one call without following symbolic links.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "os.h"
#include "sys.h"

int
os_open_walk(int dir, const char *path, int flags)
{
	char name[NAME_MAX + 1];
	const char *end;
	size_t len;
	int at, fd, saved;

	for (at = dir;; at = fd, path = end + 1) {
		if ((end = strchr(path, '/')) == NULL)
			end = path + strlen(path);
		len = (size_t)(end - path);
		if (len > NAME_MAX) {
			errno = ENAMETOOLONG;
			fd = -1;
		} else {
			memcpy(name, path, len);
			name[len] = '\0';
			fd = sys_openat(at, name, (*end == '\0' ? flags :
			    O_RDONLY | O_DIRECTORY) | O_NOFOLLOW, 0);
		}
		saved = errno;
		if (at != dir)
			sys_close(at);
		errno = saved;
		if (fd == -1 || *end == '\0')
			return (fd);
	}
}
