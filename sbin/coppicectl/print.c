/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How values look.  What a sandbox says reaches us as it is; nothing of it
 * reaches a terminal or a document but by safe().
 */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <libxo/xo.h>

#include "coppicectl.h"

#define	RING	32

/* The next of a few buffers, with room for size bytes. */
static char *
buffer(size_t size_)
{
	static char *ring[RING];
	static size_t next;
	char **p = &ring[next++ % RING];

	free(*p);
	*p = malloc(size_);
	if (*p == NULL) {
		fprintf(stderr, "coppicectl: out of memory\n");
		_exit(failure());
	}
	return (*p);
}

/* How many bytes the character at s has that is UTF-8 and no control. */
static size_t
character(const unsigned char *s, size_t len)
{
	uint32_t c;
	size_t n;

	if (s[0] < 0x80)
		return (s[0] >= 0x20 && s[0] != 0x7f ? 1 : 0);
	n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc2 ? 2 : 0;
	if (n == 0 || n > len || s[0] > 0xf4)
		return (0);
	c = s[0] & (0x7fU >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return (0);
		c = c << 6 | (s[i] & 0x3fU);
	}
	/* Controls, overlong forms, surrogates, and what turns text around. */
	if (c < 0xa0 || (n == 3 && c < 0x800) || (n == 4 && c < 0x10000) ||
	    (c >= 0xd800 && c < 0xe000) || c > 0x10ffff ||
	    (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069))
		return (0);
	return (n);
}

const char *
safe_bytes(const void *data, size_t len)
{
	const unsigned char *s = data;
	char *out = buffer(4 * len + 1), *p = out;
	size_t n;

	while (len > 0) {
		n = character(s, len);
		if (n > 0)
			memcpy(p, s, n);
		else
			snprintf(p, 5, "\\x%02x", *s);
		p += n > 0 ? n : 4;
		s += n > 0 ? n : 1;
		len -= n > 0 ? n : 1;
	}
	*p = '\0';
	return (out);
}

const char *
safe(const char *s)
{

	return (safe_bytes(s, strlen(s)));
}

const char *
text(const nvlist_t *nv, const char *name)
{

	return (safe(ctl_string(nv, name, "")));
}

const char *
human(uint64_t n)
{
	static const char units[] = "BKMGTP";
	char *out = buffer(32);
	double v = (double)n;
	size_t i = 0;

	for (; v >= 999.5 && units[i + 1] != '\0'; i++)
		v /= 1024;
	if (i == 0)
		snprintf(out, 32, "%" PRIu64, n);
	else
		snprintf(out, 32, v < 9.95 ? "%.1f%c" : "%.0f%c", v, units[i]);
	return (out);
}

const char *
ago(uint64_t ms)
{
	char *out = buffer(32);
	int64_t s = (int64_t)time(NULL) - (int64_t)(ms / 1000);

	if (ms == 0)
		strcpy(out, "-");
	else if (s < 0)
		strcpy(out, "0s");
	else if (s < 120)
		snprintf(out, 32, "%" PRId64 "s", s);
	else if (s < 7200)
		snprintf(out, 32, "%" PRId64 "m", s / 60);
	else if (s < 172800)
		snprintf(out, 32, "%" PRId64 "h", s / 3600);
	else
		snprintf(out, 32, "%" PRId64 "d", s / 86400);
	return (out);
}

const char *
date(uint64_t ms)
{
	time_t t = (time_t)(ms / 1000);
	char *out = buffer(32);
	struct tm tm;

	if (ms == 0 || localtime_r(&t, &tm) == NULL ||
	    strftime(out, 32, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		strcpy(out, "-");
	return (out);
}

static bool progress_shown;

void
progress(const char *fmt, ...)
{
	char buf[200];
	va_list ap;

	if (!isatty(STDERR_FILENO))
		return;
	va_start(ap, fmt);
	(void)vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	fprintf(stderr, "\r\033[K%.78s", safe(buf));
	fflush(stderr);
	progress_shown = true;
}

void
progress_end(void)
{

	if (progress_shown)
		fprintf(stderr, "\r\033[K");
	progress_shown = false;
}

void
show_progress(void *arg, const nvlist_t *nv)
{
	uint64_t percent = ctl_uint(nv, "percent", UINT64_MAX);
	uint64_t total = ctl_uint(nv, "total", 0);

	(void)arg;
	if (strcmp(ctl_string(nv, "event", ""), "progress") != 0)
		return;
	if (nvlist_exists_string(nv, "stage"))
		progress("%s...", ctl_string(nv, "stage", ""));
	else if (total > 0)
		progress("step %ju: %ju of %ju",
		    (uintmax_t)ctl_uint(nv, "step", 0),
		    (uintmax_t)ctl_uint(nv, "done_entries", 0),
		    (uintmax_t)total);
	else if (percent <= 100)
		progress("%s: %ju%%", ctl_string(nv, "message", ""),
		    (uintmax_t)percent);
	else
		progress("%s...", ctl_string(nv, "message", ""));
}
