/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What main.c needs of server.c.
 */

#ifndef SERVER_H
#define SERVER_H

struct co_log;
struct config;
struct transport;

/**
 * server_run(c, t, arg, log, keeper):
 * Serve by the transport ${t} with its argument ${arg} until the end, in
 * this process, whose keeper listens on ${keeper}.  Return an exit status.
 */
int server_run(const struct config *, const struct transport *,
    const char *, struct co_log *, int);

#endif /* SERVER_H */
