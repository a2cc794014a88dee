/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sockets of this machine's own addresses, for dial.c and proxy.c.
 */

#ifndef TCP_H
#define	TCP_H

#include <stdbool.h>
#include <stdint.h>

/**
 * tcp_dial(port, six):
 * Begin to connect to ${port} of 127.0.0.1 or ::1.  Return a non-blocking
 * descriptor, or -1 with errno.
 */
int tcp_dial(uint16_t, bool);

/* How the attempt ended, once the descriptor is ready for output. */
int tcp_result(int);

/* Listen on an IPv4 address, in network order. */
int tcp_listen(uint32_t, uint16_t);

int tcp_accept(int);

#endif /* TCP_H */
