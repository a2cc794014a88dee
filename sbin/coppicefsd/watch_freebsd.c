/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * FreeBSD: watching by inotify(2) where the system has it (15 and newer),
 * else by kqueue(2).
 */

#include <errno.h>
#include <fcntl.h>

#include "coppicefsd.h"
#include "watch.h"
#include "watch_kqueue.h"

#if __has_include(<sys/inotify.h>)
#include "watch_inotify.h"
#define	INOTIFY	&watch_inotify,

int
inotify_os_add(int fd, int dirfd, uint32_t mask)
{

	return (inotify_add_watch_at(fd, dirfd, ".", mask));
}
#else
#define	INOTIFY
#endif

int
watch_os_open(int dirfd, const char *path)
{

	return (openat(dirfd, path[0] != '\0' ? path : ".", O_RDONLY |
	    O_DIRECTORY | O_NOFOLLOW | O_RESOLVE_BENEATH | O_CLOEXEC));
}

const struct watcher *const watchers[] = { INOTIFY &watch_kqueue, NULL };
