/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The diff of a step: for each file that it changed a header in the manner
 * of git, then the lines, or a line of summary.  All is put together in
 * memory while the folder holds still, and written afterwards.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "undo_internal.h"

#define	MAXTEXT		((uint64_t)1 << 20)

struct diff {
	struct undo	*u;
	struct step	*s;
	struct journal	 j;
	FILE		*f;
	uint64_t	 max;
};

/* A path with its prefix, quoted like a C string if it has to be. */
static void
put_path(FILE *f, const char *prefix, const char *path)
{
	const unsigned char *p;
	bool quote;

	quote = false;
	for (p = (const unsigned char *)path; *p != '\0'; p++)
		if (*p < 0x20 || *p == 0x7f || *p == '"' || *p == '\\')
			quote = true;
	if (!quote) {
		fprintf(f, "%s%s", prefix, path);
		return;
	}
	fprintf(f, "\"%s", prefix);
	for (p = (const unsigned char *)path; *p != '\0'; p++)
		if (*p == '"' || *p == '\\')
			fprintf(f, "\\%c", *p);
		else if (*p == '\n')
			fputs("\\n", f);
		else if (*p == '\t')
			fputs("\\t", f);
		else if (*p < 0x20 || *p == 0x7f)
			fprintf(f, "\\%03o", *p);
		else
			fputc(*p, f);
	fputc('"', f);
}

static void
put_line(FILE *f, const char *word, const char *prefix, const char *path)
{

	fputs(word, f);
	put_path(f, prefix, path);
	fputc('\n', f);
}

static const char *
old_path(const struct change *c)
{

	return (c->from != NULL ? c->from : c->path);
}

static void
put_header(struct diff *d, const struct change *c, uint32_t mode)
{

	fputs("diff --git ", d->f);
	put_path(d->f, "a/", old_path(c));
	fputc(' ', d->f);
	put_path(d->f, "b/", c->path);
	fputc('\n', d->f);
	if (!c->had)
		fprintf(d->f, "new file mode %06o\n", mode);
	else if (!c->has)
		fprintf(d->f, "deleted file mode %06o\n", c->mode);
	else if (c->mode != 0 && mode != 0 && c->mode != mode)
		fprintf(d->f, "old mode %06o\nnew mode %06o\n", c->mode,
		    mode);
	if (c->from != NULL) {
		put_line(d->f, "rename from ", "", c->from);
		put_line(d->f, "rename to ", "", c->path);
	}
}

static bool
is_text(const char *p, size_t len)
{

	return (p != NULL && (len == 0 || memchr(p, '\0', len) == NULL));
}

static int
put_texts(struct diff *d, const struct change *c, const char *a, size_t alen,
    const char *b, size_t blen)
{

	if (!is_text(a, alen) || !is_text(b, blen)) {
		fputs("Binary files ", d->f);
		if (c->had)
			put_path(d->f, "a/", old_path(c));
		else
			fputs("/dev/null", d->f);
		fputs(" and ", d->f);
		if (c->has)
			put_path(d->f, "b/", c->path);
		else
			fputs("/dev/null", d->f);
		fprintf(d->f, " differ (%" PRIu64 " -> %" PRIu64 " bytes)\n",
		    c->had ? c->before : 0, c->has ? c->after : 0);
		return (0);
	}
	if (alen == blen && (alen == 0 || memcmp(a, b, alen) == 0))
		return (0);
	put_line(d->f, "--- ", c->had ? "a/" : "", c->had ? old_path(c) :
	    "/dev/null");
	put_line(d->f, "+++ ", c->has ? "b/" : "", c->has ? c->path :
	    "/dev/null");
	return (udiff(d->f, a, alen, b, blen));
}

/* Directories, devices and pipes have nothing to compare. */
static bool
put_special(struct diff *d, const struct change *c)
{
	static const char *const words[] = {
		"created", "modified", "deleted", "renamed", "attributes of"
	};

	if (c->type == S_IFREG || c->type == S_IFLNK || c->type == 0)
		return (false);
	fprintf(d->f, "# %s %s ", words[c->change],
	    S_ISDIR(c->type) ? "directory" : "special file");
	if (c->from != NULL) {
		put_path(d->f, "", c->from);
		fputs(" to ", d->f);
	}
	put_path(d->f, "", c->path);
	fputc('\n', d->f);
	return (true);
}

static int
put_change(struct diff *d, const struct change *c)
{
	char *a, *b;
	uint32_t mode;
	size_t alen, blen;
	int error;

	if (put_special(d, c))
		return (0);
	a = b = NULL;
	alen = blen = 0;
	mode = 0;
	error = 0;
	if (c->has) {
		error = after_load(d->u, c, d->max, &b, &blen, &mode);
		/* Somebody else removed it since; there is no other side. */
		if (error == ENOENT || error == ENOTDIR)
			error = 0;
	}
	if (error == 0 && c->had && c->pre != 0)
		error = before_load(d->u, d->s, &d->j, c, d->max, &a, &alen);
	if (error == 0) {
		put_header(d, c, mode);
		if (!c->had || (c->has && c->pre == 0)) {
			/* Nothing before, or the same bytes. */
			if (!c->had && b != NULL)
				error = put_texts(d, c, "", 0, b, blen);
			else if (!c->had)
				error = put_texts(d, c, NULL, 0, NULL, 0);
		} else if (!c->has)
			error = put_texts(d, c, a, alen, "", 0);
		else
			error = put_texts(d, c, a, alen, b, blen);
	}
	free(a);
	free(b);
	return (error);
}

/* With the gate shut. */
static int
make(struct undo *u, int64_t id, uint64_t max, FILE *f)
{
	struct changes c;
	struct diff d;
	bool damage;
	size_t i;
	int dir, error;

	memset(&d, 0, sizeof(d));
	d.u = u;
	d.f = f;
	d.max = max == 0 ? MAXTEXT : max;
	if (u->foreign || (d.s = step_find(u, id)) == NULL)
		return (ESRCH);
	if ((dir = step_dir(u, d.s)) == -1)
		return (errno);
	error = journal_open(&d.j, dir, false, &damage);
	sys_close(dir);
	if (error != 0)
		return (error);
	memset(&c, 0, sizeof(c));
	if (d.s->a.lost)
		fprintf(f, "# step %lld is not protected: its preimages were "
		    "given up\n", (long long)id);
	else if ((error = changes_make(&d.j, &c)) == 0)
		error = after_find(u, d.s, &c);
	for (i = 0; error == 0 && i < c.n; i++)
		error = put_change(&d, &c.v[i]);
	changes_free(&c);
	journal_close(&d.j);
	return (error);
}

int
undo_diff(struct undo *u, int64_t id, int fd, uint64_t max,
    struct co_error *e)
{
	char *buf;
	FILE *f;
	size_t len;
	int error;

	if ((f = open_memstream(&buf, &len)) == NULL)
		return (co_error_errno(e, errno, NULL, "can't make a diff"));
	gate_shut(u);
	error = make(u, id, max, f);
	gate_open(u);
	if (fclose(f) != 0 && error == 0)
		error = ENOMEM;
	if (error == 0)
		error = co_write_all(fd, buf, len);
	free(buf);
	if (error == ESRCH)
		return (co_error_set(e, CO_EUNDO_NOSTEP, NULL,
		    "step %lld is not in the undo history", (long long)id));
	if (error != 0)
		return (co_error_errno(e, error, NULL,
		    "can't tell the differences that step %lld made",
		    (long long)id));
	return (0);
}
