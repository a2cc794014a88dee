/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The structured log.  A line is built on the stack and leaves by one
 * write(2), so that lines of several threads and processes never mix.
 */

#include <sys/time.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "co_syslog.h"

#define	LINEMAX		8192
#define	IDMAX		256	/* of an id or a name in a line */
#define	MESSAGEMAX	7000	/* of a message, escaped */
#define	MAXRULES	32
#define	NAMEMAX		24

struct rule {
	char		component[NAMEMAX];
	enum co_level	level;
};

struct co_log {
	int		 fd;
	char		*ident;
	enum co_level	 level;
	size_t		 nrules;
	struct rule	 rules[MAXRULES];
};

static const char *const levels[] = {
	[CO_DEBUG] = "debug", [CO_INFO] = "info", [CO_WARN] = "warn",
	[CO_ERROR] = "error"
};
#define	NLEVELS	(sizeof(levels) / sizeof(levels[0]))

/*
 * A line that grows within bounds.  Every string has a bound of its own, so
 * that none can crowd out the ones after it, and the line stays JSON.
 */
struct line {
	char	buf[LINEMAX];
	size_t	len;
};

static void
put(struct line *l, const char *s, size_t n)
{

	memcpy(l->buf + l->len, s, n);
	l->len += n;
}

/* The length of the UTF-8 character at s, or 0 if it is not one. */
static size_t
utf8(const unsigned char *s)
{
	unsigned int c = s[0], min;
	size_t n;

	if (c < 0x80)
		return (1);
	if (c >= 0xc2 && c < 0xe0) {
		n = 2, min = 0x80, c &= 0x1f;
	} else if (c >= 0xe0 && c < 0xf0) {
		n = 3, min = 0x800, c &= 0x0f;
	} else if (c >= 0xf0 && c < 0xf5) {
		n = 4, min = 0x10000, c &= 0x07;
	} else
		return (0);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return (0);
		c = c << 6 | (s[i] & 0x3fU);
	}
	if (c < min || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return (0);
	return (n);
}

/* At most max bytes of s, escaped, in quotes. */
static void
put_string(struct line *l, const char *s, size_t max)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t end = l->len + max;
	char esc[8];
	size_t n;

	put(l, "\"", 1);
	for (; *p != '\0' && l->len + 6 <= end; p += n) {
		n = utf8(p);
		if (n == 0) {
			n = 1;
			put(l, "\xef\xbf\xbd", 3);
		} else if (*p == '"' || *p == '\\') {
			esc[0] = '\\';
			esc[1] = (char)*p;
			put(l, esc, 2);
		} else if (*p < 0x20 || *p == 0x7f) {
			snprintf(esc, sizeof(esc), "\\u%04x", *p);
			put(l, esc, 6);
		} else
			put(l, (const char *)p, n);
	}
	put(l, "\"", 1);
}

static void
put_field(struct line *l, const char *name, const char *value, size_t max)
{

	if (value == NULL)
		return;
	put(l, l->len == 1 ? "\"" : ",\"", l->len == 1 ? 1 : 2);
	put(l, name, strlen(name));
	put(l, "\":", 2);
	put_string(l, value, max);
}

static void
put_number(struct line *l, const char *name, int64_t value)
{
	char buf[64];
	int n;

	n = snprintf(buf, sizeof(buf), ",\"%s\":%lld", name,
	    (long long)value);
	put(l, buf, (size_t)n);
}

struct co_log *
co_log_new(int fd, const char *ident)
{
	struct co_log *l;

	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return (NULL);
	l->fd = fd;
	l->level = CO_INFO;
	l->ident = strdup(ident);
	if (l->ident == NULL) {
		free(l);
		return (NULL);
	}
	if (fd == -1)
		co_syslog_open(l->ident);
	return (l);
}

static int
parse_level(const char *s, size_t n, enum co_level *level)
{

	for (size_t i = 0; i < NLEVELS; i++)
		if (strlen(levels[i]) == n &&
		    memcmp(levels[i], s, n) == 0) {
			*level = (enum co_level)i;
			return (0);
		}
	return (-1);
}

/* One word of a specification: "level" or "component=level". */
static int
parse_word(struct co_log *l, const char *w, size_t n)
{
	const char *eq;
	struct rule *r;
	size_t name;

	eq = memchr(w, '=', n);
	if (eq == NULL)
		return (parse_level(w, n, &l->level));
	name = (size_t)(eq - w);
	if (name == 0 || name >= NAMEMAX || l->nrules == MAXRULES)
		return (-1);
	r = &l->rules[l->nrules];
	memcpy(r->component, w, name);
	r->component[name] = '\0';
	if (parse_level(eq + 1, n - name - 1, &r->level) != 0)
		return (-1);
	l->nrules++;
	return (0);
}

int
co_log_level(struct co_log *l, const char *spec, struct co_error *e)
{
	struct co_log old = *l;
	const char *p = spec;
	size_t n;

	l->nrules = 0;
	for (;;) {
		n = strcspn(p, ",");
		if (parse_word(l, p, n) != 0) {
			*l = old;
			return (co_error_set(e, CO_ESYS_CONFIG, spec,
			    "log level \"%.*s\": expected debug, info, warn "
			    "or error, or component=level", (int)n, p));
		}
		if (p[n] == '\0')
			return (0);
		p += n + 1;
	}
}

bool
co_log_on(const struct co_log *l, enum co_level level, const char *component)
{

	if (l == NULL)
		return (false);
	for (size_t i = 0; i < l->nrules; i++)
		if (strcmp(l->rules[i].component, component) == 0)
			return (level >= l->rules[i].level);
	return (level >= l->level);
}

void
co_vlog(struct co_log *l, enum co_level level, const char *component,
    const struct co_ids *ids, const char *fmt, va_list ap)
{
	struct line line = { .len = 0 };
	struct timeval tv;
	char when[32], message[4096];
	int saved = errno;

	if (!co_log_on(l, level, component))
		return;
	gettimeofday(&tv, NULL);
	co_time_iso(when, sizeof(when), tv.tv_sec, (int32_t)tv.tv_usec);
	vsnprintf(message, sizeof(message), fmt, ap);
	put(&line, "{", 1);
	put_field(&line, "timestamp", when, IDMAX);
	put_field(&line, "level", levels[level], IDMAX);
	put_field(&line, "component", component, IDMAX);
	if (ids != NULL) {
		put_field(&line, "request_id", ids->request_id,
		    IDMAX);
		put_field(&line, "sandbox_id", ids->sandbox_id,
		    IDMAX);
		if (ids->step_id != 0)
			put_number(&line, "step_id", ids->step_id);
	}
	put_field(&line, "message", message, MESSAGEMAX);
	put(&line, "}\n", 2);
	if (l->fd == -1)
		co_syslog_line(level, line.buf, line.len - 1);
	else
		(void)co_write_all(l->fd, line.buf, line.len);
	errno = saved;
}

void
co_log(struct co_log *l, enum co_level level, const char *component,
    const struct co_ids *ids, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	co_vlog(l, level, component, ids, fmt, ap);
	va_end(ap);
}

void
co_log_free(struct co_log *l)
{

	if (l == NULL)
		return;
	if (l->fd == -1)
		co_syslog_close();
	free(l->ident);
	free(l);
}
