/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * multipart/form-data.
 */

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "http.h"
#include "multipart.h"

enum state { FIRST, AFTER, HEAD, BODY, TAKEN, CLOSED };

static bool
boundary_char(char c)
{

	return ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	    (c >= 'A' && c <= 'Z') || (c != '\0' &&
	    strchr("'()+_,-./:=? ", c) != NULL));
}

int
multipart_init(struct multipart *m, const char *type)
{
	static const char want[] = "multipart/form-data";
	const char *p, *end;
	size_t n;

	*m = (struct multipart){ .state = FIRST };
	if (type == NULL || strncasecmp(type, want, strlen(want)) != 0)
		return (-1);
	p = strcasestr(type, "boundary=");
	if (p == NULL)
		return (-1);
	p += 9;
	if (*p == '"') {
		p++;
		end = strchr(p, '"');
	} else
		end = p + strcspn(p, "; \t");
	n = end != NULL ? (size_t)(end - p) : 0;
	if (n == 0 || n > MULTIPART_BOUNDARY)
		return (-1);
	for (size_t i = 0; i < n; i++)
		if (!boundary_char(p[i]))
			return (-1);
	m->len = (size_t)snprintf(m->boundary, sizeof(m->boundary),
	    "\r\n--%.*s", (int)n, p);
	/* The first boundary has no line before it. */
	buf_add(&m->in, "\r\n", 2);
	return (0);
}

void
multipart_add(struct multipart *m, const char *data, size_t len)
{

	if (m->state != CLOSED)
		buf_add(&m->in, data, len);
}

void
multipart_free(struct multipart *m)
{

	buf_free(&m->in);
}

/* The value of name="..." in a field, with browsers' escapes undone. */
static int
parameter(const char *value, const char *name, char *to, size_t size)
{
	char want[32];
	const char *p = value;
	size_t n = 0;

	(void)snprintf(want, sizeof(want), "%s=\"", name);
	while ((p = strcasestr(p, want)) != NULL && p > value &&
	    strchr("; \t", p[-1]) == NULL)
		p++;
	if (p == NULL)
		return (-1);
	for (p += strlen(want); *p != '"'; p++) {
		if (*p == '\\' && (p[1] == '"' || p[1] == '\\'))
			p++;
		if (*p == '\0' || n + 1 >= size)
			return (-1);
		if (strncmp(p, "%22", 3) == 0) {
			to[n++] = '"';
			p += 2;
		} else if (strncmp(p, "%0A", 3) == 0 ||
		    strncmp(p, "%0D", 3) == 0) {
			to[n++] = p[2] == 'A' ? '\n' : '\r';
			p += 2;
		} else
			to[n++] = *p;
	}
	to[n] = '\0';
	return (0);
}

static int
disposition(struct multipart *m, char *head)
{
	static const char want[] = "content-disposition:";
	char *line, *next;

	m->name[0] = m->filename[0] = '\0';
	for (line = head; line != NULL && *line != '\0'; line = next) {
		next = strstr(line, "\r\n");
		if (next != NULL) {
			*next = '\0';
			next += 2;
		}
		if (strncasecmp(line, want, strlen(want)) != 0)
			continue;
		line += strlen(want);
		(void)parameter(line, "filename", m->filename,
		    sizeof(m->filename));
		return (parameter(line, "name", m->name, sizeof(m->name)));
	}
	return (-1);
}

/* The end of the part's head; it may have no field at all. */
static enum multipart_event
take_head(struct multipart *m)
{
	char *end;
	size_t n;

	if (m->in.p == NULL)
		return (MULTIPART_MORE);
	if (m->in.len >= 2 && memcmp(m->in.p, "\r\n", 2) == 0)
		return (MULTIPART_BAD);
	end = memmem(m->in.p, m->in.len, "\r\n\r\n", 4);
	if (end == NULL)
		return (m->in.len > MULTIPART_HEAD ? MULTIPART_BAD :
		    MULTIPART_MORE);
	n = (size_t)(end - m->in.p);
	if (n > MULTIPART_HEAD || memchr(m->in.p, '\0', n) != NULL)
		return (MULTIPART_BAD);
	*end = '\0';
	if (disposition(m, m->in.p) != 0)
		return (MULTIPART_BAD);
	buf_take(&m->in, n + 4);
	m->state = BODY;
	return (MULTIPART_PART);
}

/* What surely is content: all before a boundary, or what may become one. */
static enum multipart_event
take_body(struct multipart *m, const char **data, size_t *len)
{
	const char *p = m->in.p, *at;
	size_t n = m->in.len;

	at = n > 0 ? memmem(p, n, m->boundary, m->len) : NULL;
	if (at == p && at != NULL) {
		buf_take(&m->in, m->len);
		m->state = AFTER;
		return (MULTIPART_END);
	}
	if (at == NULL) {
		if (n < m->len)
			return (MULTIPART_MORE);
		*len = n - (m->len - 1);
	} else
		*len = (size_t)(at - p);
	*data = p;
	m->taken = *len;
	m->state = TAKEN;
	return (MULTIPART_DATA);
}

/* After a boundary: another part, or the end. */
static enum multipart_event
take_after(struct multipart *m)
{

	if (m->in.len < 2)
		return (MULTIPART_MORE);
	if (memcmp(m->in.p, "--", 2) == 0) {
		buf_free(&m->in);
		m->state = CLOSED;
		m->done = true;
		return (MULTIPART_DONE);
	}
	if (memcmp(m->in.p, "\r\n", 2) != 0)
		return (MULTIPART_BAD);
	buf_take(&m->in, 2);
	m->state = HEAD;
	return (take_head(m));
}

enum multipart_event
multipart_next(struct multipart *m, const char **data, size_t *len)
{

	if (m->in.failed)
		return (MULTIPART_BAD);
	if (m->state == TAKEN) {
		/* The piece that was handed out is gone now. */
		buf_take(&m->in, m->taken);
		m->state = BODY;
	}
	switch (m->state) {
	case FIRST:
		if (m->in.len < m->len)
			return (MULTIPART_MORE);
		if (memcmp(m->in.p, m->boundary, m->len) != 0)
			return (MULTIPART_BAD);
		buf_take(&m->in, m->len);
		m->state = AFTER;
		return (take_after(m));
	case AFTER:
		return (take_after(m));
	case HEAD:
		return (take_head(m));
	case BODY:
		return (take_body(m, data, len));
	default:
		return (m->done ? MULTIPART_DONE : MULTIPART_BAD);
	}
}
