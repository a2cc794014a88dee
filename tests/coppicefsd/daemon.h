/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A coppicefsd for tests in C: serves "tree" by a transport of the test's
 * choice, with an undo store and a control socket beside it.
 */

#ifndef DAEMON_H
#define DAEMON_H

#include <sys/types.h>
#include <sys/nv.h>

struct ctl;

/* ${keep} stays open for it, unless it is -1. */
void daemon_start(const char *transport, int keep);
int daemon_wait(void);		/* its exit status */
void daemon_end(void);		/* by a signal; it must end well */
void daemon_kill(void);		/* for cleanup */

struct ctl *daemon_connect(void);
nvlist_t *daemon_request(const char *op);
/* The answer, or NULL when it is an error of ${code}; else the test fails. */
nvlist_t *daemon_ask(struct ctl *, nvlist_t *, int code);
/* Connect to a unix socket or 127.0.0.1:port. */
int daemon_dial(const char *path, int port);

#endif /* DAEMON_H */
