/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Addresses of requests.
 */

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "http.h"

static int
hex(char c)
{

	if (c >= '0' && c <= '9')
		return (c - '0');
	c = (char)(c | 32);
	return (c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1);
}

int
http_unescape(char *s, bool plus)
{
	char *to = s;
	int hi, lo;

	for (; *s != '\0'; s++) {
		if (*s == '+' && plus)
			*to++ = ' ';
		else if (*s != '%')
			*to++ = *s;
		else {
			if ((hi = hex(s[1])) == -1 || (lo = hex(s[2])) == -1 ||
			    (hi == 0 && lo == 0))
				return (-1);
			*to++ = (char)(hi << 4 | lo);
			s += 2;
		}
	}
	*to = '\0';
	return (0);
}

static int
parse_params(struct http_url *u, char *s)
{
	char *next, *eq;

	for (; s != NULL; s = next) {
		next = strchr(s, '&');
		if (next != NULL)
			*next++ = '\0';
		if (*s == '\0')
			continue;
		if (u->nparams == HTTP_PARAMS)
			return (-1);
		eq = strchr(s, '=');
		if (eq != NULL)
			*eq++ = '\0';
		else
			eq = s + strlen(s);
		if (http_unescape(s, true) != 0 ||
		    http_unescape(eq, true) != 0)
			return (-1);
		u->name[u->nparams] = s;
		u->value[u->nparams++] = eq;
	}
	return (0);
}

int
http_url_parse(struct http_url *u, const char *target)
{
	char *query, *s, *next;

	*u = (struct http_url){ 0 };
	if (target[0] != '/' || strchr(target, '#') != NULL)
		return (-1);
	u->text = strdup(target + 1);
	if (u->text == NULL)
		return (-1);
	query = strchr(u->text, '?');
	if (query != NULL)
		*query++ = '\0';
	for (s = u->text; s != NULL && *s != '\0'; s = next) {
		next = strchr(s, '/');
		if (next != NULL)
			*next++ = '\0';
		if (u->nsegments == HTTP_SEGMENTS ||
		    http_unescape(s, false) != 0)
			return (-1);
		u->segment[u->nsegments++] = s;
	}
	return (parse_params(u, query));
}

const char *
http_param(const struct http_url *u, const char *name)
{

	for (size_t i = 0; i < u->nparams; i++)
		if (strcmp(u->name[i], name) == 0)
			return (u->value[i]);
	return (NULL);
}

void
http_url_free(struct http_url *u)
{

	free(u->text);
	*u = (struct http_url){ 0 };
}
