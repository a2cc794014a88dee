/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * inotify(2) of Linux and, from version 15 on, of FreeBSD.
 */

#ifndef WATCH_INOTIFY_H
#define WATCH_INOTIFY_H

#include <sys/inotify.h>

#include <stdint.h>
#include <stdio.h>

extern const struct watcher watch_inotify;

/**
 * inotify_os_add(fd, dirfd, mask):
 * Watch the directory ${dirfd}; return the number of the watch, or -1.
 */
int inotify_os_add(int, int, uint32_t);

#endif /* WATCH_INOTIFY_H */
