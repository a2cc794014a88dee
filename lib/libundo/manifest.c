/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The manifest of a step: JSON that a person can read, one flat object.  The
 * reader takes numbers, strings and booleans, skips members that it does not
 * know, and trusts nothing.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "undo_internal.h"

#define	MANIFEST	"manifest"
#define	MANIFEST_MAX	((off_t)1 << 20)

static const char *const kinds[] = { "command", "ambient", "api" };

/* Length of the UTF-8 sequence at ${p}, 0 if it is none. */
static size_t
utf8(const unsigned char *p)
{
	size_t i, n;

	if (p[0] < 0x80)
		return (1);
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return (0);
	n = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	for (i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return (0);
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return (0);
	return (n);
}

static void
put_string(FILE *f, const char *s)
{
	const unsigned char *p;
	size_t n;

	fputc('"', f);
	for (p = (const unsigned char *)s; *p != '\0'; p += n == 0 ? 1 : n) {
		n = utf8(p);
		if (n == 0)
			fputs("\\ufffd", f);
		else if (*p == '"' || *p == '\\')
			fprintf(f, "\\%c", *p);
		else if (*p < 0x20 || *p == 0x7f)
			fprintf(f, "\\u%04x", *p);
		else
			fwrite(p, 1, n, f);
	}
	fputc('"', f);
}

static int
render(const struct about *a, char **buf, size_t *len)
{
	char when[32];
	FILE *f;

	if ((f = open_memstream(buf, len)) == NULL)
		return (ENOMEM);
	co_time_iso(when, sizeof(when), a->began / 1000000,
	    (int32_t)(a->began % 1000000));
	fprintf(f, "{\n\t\"version\": %d,\n\t\"id\": %" PRId64
	    ",\n\t\"seq\": %" PRIu64 ",\n\t\"kind\": \"%s\",\n\t\"command\": ",
	    UNDO_VERSION, a->id, a->seq, kinds[a->kind]);
	put_string(f, a->command == NULL ? "" : a->command);
	fprintf(f, ",\n\t\"began\": \"%s\",\n\t\"began_us\": %" PRId64
	    ",\n\t\"ended_us\": %" PRId64 ",\n\t\"exit\": %d,\n\t\"protected\":"
	    " %s,\n\t\"bytes\": %" PRIu64 ",\n\t\"kept\": %" PRIu64
	    ",\n\t\"paths\": %" PRIu64 ",\n\t\"records\": %" PRIu32 "\n}\n",
	    when, a->began, a->ended, a->exit, a->lost ? "false" : "true",
	    a->bytes, a->kept, a->paths, a->records);
	if (fclose(f) != 0) {
		free(*buf);
		return (ENOMEM);
	}
	return (0);
}

int
manifest_write(struct undo *u, int dirfd, const struct about *a)
{
	char *buf;
	size_t len;
	int error, fd;

	if ((error = render(a, &buf, &len)) != 0)
		return (error);
	fd = sys_openat(dirfd, MANIFEST, O_WRONLY | O_CREAT | O_TRUNC |
	    O_NOFOLLOW, 0600);
	if (fd == -1)
		error = errno;
	else {
		error = sys_pwrite_all(fd, buf, len, 0);
		if (error == 0 && u->o.durability == UNDO_POWER &&
		    sys_fsync(fd) == -1)
			error = errno;
		sys_close(fd);
	}
	free(buf);
	return (error);
}

/*
 * Reading.
 */
struct reader {
	const char	*p;
	const char	*end;
};

static void
skip_space(struct reader *r)
{

	while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' ||
	    *r->p == '\n' || *r->p == '\r'))
		r->p++;
}

static bool
take(struct reader *r, char c)
{

	skip_space(r);
	if (r->p >= r->end || *r->p != c)
		return (false);
	r->p++;
	return (true);
}

static size_t
put_utf8(char *out, unsigned int c)
{

	if (c < 0x80) {
		out[0] = (char)(c == 0 ? '?' : c);
		return (1);
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return (2);
	}
	out[0] = (char)(0xe0 | c >> 12);
	out[1] = (char)(0x80 | (c >> 6 & 0x3f));
	out[2] = (char)(0x80 | (c & 0x3f));
	return (3);
}

static bool
take_escape(struct reader *r, char *out, size_t *n)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *at;
	unsigned int c;
	int i;

	if (r->p >= r->end)
		return (false);
	if (*r->p != 'u') {
		if ((at = memchr(from, *r->p, sizeof(from) - 1)) == NULL)
			return (false);
		out[(*n)++] = to[at - from];
		r->p++;
		return (true);
	}
	r->p++;
	for (c = 0, i = 0; i < 4; i++, r->p++) {
		if (r->p >= r->end)
			return (false);
		c <<= 4;
		if (*r->p >= '0' && *r->p <= '9')
			c |= (unsigned int)(*r->p - '0');
		else if (*r->p >= 'a' && *r->p <= 'f')
			c |= (unsigned int)(*r->p - 'a' + 10);
		else if (*r->p >= 'A' && *r->p <= 'F')
			c |= (unsigned int)(*r->p - 'A' + 10);
		else
			return (false);
	}
	*n += put_utf8(out + *n, c);
	return (true);
}

/* A string, in memory for the caller to free; never longer than its text. */
static char *
take_string(struct reader *r)
{
	char *out;
	size_t n;

	if (!take(r, '"'))
		return (NULL);
	if ((out = malloc((size_t)(r->end - r->p) + 4)) == NULL)
		return (NULL);
	for (n = 0; r->p < r->end && *r->p != '"';) {
		if ((unsigned char)*r->p < 0x20)
			goto bad;
		if (*r->p != '\\') {
			out[n++] = *r->p++;
			continue;
		}
		r->p++;
		if (!take_escape(r, out, &n))
			goto bad;
	}
	if (r->p >= r->end)
		goto bad;
	r->p++;
	out[n] = '\0';
	return (out);
bad:
	free(out);
	return (NULL);
}

static bool
take_number(struct reader *r, int64_t *v)
{
	bool minus;
	int64_t n;
	int digits;

	skip_space(r);
	minus = r->p < r->end && *r->p == '-';
	if (minus)
		r->p++;
	for (n = 0, digits = 0; r->p < r->end && *r->p >= '0' &&
	    *r->p <= '9'; digits++, r->p++) {
		if (n > (INT64_MAX - (*r->p - '0')) / 10)
			return (false);
		n = n * 10 + (*r->p - '0');
	}
	*v = minus ? -n : n;
	return (digits > 0);
}

static bool
take_word(struct reader *r, const char *word)
{
	size_t len;

	len = strlen(word);
	if ((size_t)(r->end - r->p) < len || memcmp(r->p, word, len) != 0)
		return (false);
	r->p += len;
	return (true);
}

static bool
set_string(struct about *a, const char *key, char *s)
{
	size_t i;

	if (strcmp(key, "command") == 0) {
		free(a->command);
		a->command = s;
		return (true);
	}
	if (strcmp(key, "kind") == 0) {
		for (i = 0; i < 3; i++)
			if (strcmp(s, kinds[i]) == 0)
				break;
		free(s);
		a->kind = (enum undo_kind)i;
		return (i < 3);
	}
	free(s);
	return (true);
}

static bool
set_number(struct about *a, const char *key, int64_t v, bool *id)
{

	if (strcmp(key, "id") == 0) {
		a->id = v;
		*id = v != 0;
		return (*id);
	}
	if (strcmp(key, "began_us") == 0)
		a->began = v;
	else if (strcmp(key, "ended_us") == 0)
		a->ended = v;
	else if (strcmp(key, "exit") == 0) {
		if (v < INT32_MIN || v > INT32_MAX)
			return (false);
		a->exit = (int)v;
	} else if (v < 0)
		return (false);
	else if (strcmp(key, "version") == 0)
		return (v == UNDO_VERSION);
	else if (strcmp(key, "seq") == 0)
		a->seq = (uint64_t)v;
	else if (strcmp(key, "bytes") == 0)
		a->bytes = (uint64_t)v;
	else if (strcmp(key, "kept") == 0)
		a->kept = (uint64_t)v;
	else if (strcmp(key, "paths") == 0)
		a->paths = (uint64_t)v;
	else if (strcmp(key, "records") == 0) {
		if (v > UINT32_MAX)
			return (false);
		a->records = (uint32_t)v;
	}
	return (true);
}

static bool
take_member(struct reader *r, struct about *a, bool *id)
{
	char *key, *s;
	int64_t v;
	bool ok;

	if ((key = take_string(r)) == NULL)
		return (false);
	ok = take(r, ':');
	skip_space(r);
	if (!ok || r->p >= r->end)
		ok = false;
	else if (*r->p == '"')
		ok = (s = take_string(r)) != NULL && set_string(a, key, s);
	else if (take_word(r, "true") || take_word(r, "false")) {
		if (strcmp(key, "protected") == 0)
			a->lost = r->p[-2] == 's';
	} else
		ok = take_number(r, &v) && set_number(a, key, v, id);
	free(key);
	return (ok);
}

int
manifest_parse(const char *buf, size_t len, struct about *a)
{
	struct reader r = { buf, buf + len };
	bool id;

	memset(a, 0, sizeof(*a));
	a->lost = true;
	id = false;
	if (!take(&r, '{'))
		goto bad;
	do {
		if (!take_member(&r, a, &id))
			goto bad;
	} while (take(&r, ','));
	if (!take(&r, '}'))
		goto bad;
	skip_space(&r);
	if (r.p != r.end || !id)
		goto bad;
	if (a->command == NULL && (a->command = strdup("")) == NULL)
		return (ENOMEM);
	return (0);
bad:
	about_free(a);
	return (EINVAL);
}

int
manifest_read(int dirfd, struct about *a)
{
	struct stat st;
	char *buf;
	int error, fd;

	memset(a, 0, sizeof(*a));
	fd = sys_openat(dirfd, MANIFEST, O_RDONLY | O_NOFOLLOW, 0);
	if (fd == -1)
		return (errno);
	buf = NULL;
	if (sys_fstat(fd, &st) == -1)
		error = errno;
	else if (!S_ISREG(st.st_mode) || st.st_size > MANIFEST_MAX)
		error = EINVAL;
	else if ((buf = malloc((size_t)st.st_size + 1)) == NULL)
		error = ENOMEM;
	else
		error = sys_pread_all(fd, buf, (size_t)st.st_size, 0);
	if (error == 0)
		error = manifest_parse(buf, (size_t)st.st_size, a);
	free(buf);
	sys_close(fd);
	return (error);
}
