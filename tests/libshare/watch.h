/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Has anything been opened, read or changed in these directories?  Linux
 * tells; elsewhere nothing is ever seen, and times must do.
 */

#ifndef WATCH_H
#define WATCH_H

struct watch;

struct watch *watch_open(const char *, const char *);

/* How much happened since; frees the watch. */
unsigned int watch_events(struct watch *);

#endif /* WATCH_H */
