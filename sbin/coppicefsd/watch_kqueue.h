/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * kqueue(2), for systems that have nothing better.
 */

#ifndef WATCH_KQUEUE_H
#define WATCH_KQUEUE_H

extern const struct watcher watch_kqueue;

#endif /* WATCH_KQUEUE_H */
