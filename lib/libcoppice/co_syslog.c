/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The system's log, by syslog(3).
 */

#include <syslog.h>

#include "co_syslog.h"

void
co_syslog_open(const char *ident)
{

	openlog(ident, LOG_PID, LOG_DAEMON);
}

void
co_syslog_close(void)
{

	closelog();
}

void
co_syslog_line(enum co_level level, const char *line, size_t len)
{
	static const int priorities[] = {
		[CO_DEBUG] = LOG_DEBUG, [CO_INFO] = LOG_INFO,
		[CO_WARN] = LOG_WARNING, [CO_ERROR] = LOG_ERR
	};

	syslog(priorities[level], "%.*s", (int)len, line);
}
