/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Windows has no syslog(3): the lines go to the debugger's log, which
 * services use as well.
 */

#include <windows.h>

#include <string.h>

#include "co_syslog.h"

void
co_syslog_open(const char *ident)
{

	(void)ident;
}

void
co_syslog_close(void)
{
}

void
co_syslog_line(enum co_level level, const char *line, size_t len)
{
	char buf[8192];

	(void)level;
	if (len >= sizeof(buf))
		len = sizeof(buf) - 1;
	memcpy(buf, line, len);
	buf[len] = '\0';
	OutputDebugStringA(buf);
}
