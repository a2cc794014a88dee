/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Names of hosts that say which sandbox, and which port of it.
 */

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "gw.h"

bool
host_id(const char *s, size_t len, char id[CO_IDSIZE])
{

	if (len != CO_IDLEN)
		return (false);
	(void)snprintf(id, CO_IDSIZE, "%.*s", (int)len, s);
	return (co_id_valid(id));
}

bool
host_port(const char *s, size_t len, int *port)
{
	int v = 0;

	if (len == 0 || len > 5)
		return (false);
	for (size_t i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return (false);
		v = v * 10 + (s[i] - '0');
	}
	*port = v;
	return (v > 0 && v <= 65535);
}

bool
dispatch_host(const char *host, const char *domain, int *port,
    char id[CO_IDSIZE])
{
	const char *dash, *dot;
	size_t n = strcspn(host, ":"), len = strlen(domain);

	dash = memchr(host, '-', n);
	dot = memchr(host, '.', n);
	if (len == 0 || dash == NULL || dot == NULL || dot < dash ||
	    (size_t)(host + n - (dot + 1)) != len ||
	    strncasecmp(dot + 1, domain, len) != 0)
		return (false);
	return (host_port(host, (size_t)(dash - host), port) &&
	    host_id(dash + 1, (size_t)(dot - dash - 1), id));
}
