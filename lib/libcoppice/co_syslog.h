/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Where log lines go that go to no descriptor: the system's log.
 */

#ifndef CO_SYSLOG_H
#define CO_SYSLOG_H

#include "coppice.h"

/* Begin to log as ${ident}, which must stay; end it; write ${len} bytes. */
void co_syslog_open(const char *);
void co_syslog_close(void);
void co_syslog_line(enum co_level, const char *, size_t);

#endif /* CO_SYSLOG_H */
