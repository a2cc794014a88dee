/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Finding the row of a table that a request is for.
 */

#include <string.h>

#include "gw.h"

static bool
matches(const char *path, struct req *r)
{
	const struct http_url *u = &r->url;
	size_t n = 0, params = 0, len;
	const char *p;

	for (p = path + 1; *p != '\0'; p += len + (p[len] == '/')) {
		len = strcspn(p, "/");
		if (n == u->nsegments)
			return (false);
		if (len == 1 && *p == '*')
			r->param[params++] = u->segment[n];
		else if (strlen(u->segment[n]) != len ||
		    memcmp(u->segment[n], p, len) != 0)
			return (false);
		n++;
	}
	return (n == u->nsegments);
}

int
route_find(const struct route *t, size_t n, struct req *r)
{
	int status = 404;

	for (size_t i = 0; i < n; i++) {
		if (!matches(t[i].path, r))
			continue;
		if (strcmp(t[i].method, r->head.method) == 0 ||
		    (strcmp(t[i].method, "GET") == 0 &&
		    strcmp(r->head.method, "HEAD") == 0)) {
			r->route = &t[i];
			return (0);
		}
		status = 405;
	}
	return (status);
}
