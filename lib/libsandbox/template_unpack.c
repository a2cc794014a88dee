/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Reading archives that anybody may have made.  libarchive takes them
 * apart; what becomes of a member is decided in template_member.c.  Only
 * compressions that the library itself knows are read: no archive makes us
 * run a program.
 */

#include <errno.h>
#include <sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include "template_internal.h"

#define	CHUNK		(64 * 1024)
#define	MAXMEMBERS	4000000
#define	MAXBYTES	((uint64_t)256 << 30)

struct reader {
	const struct template_source *source;
	SHA256_CTX	 ctx;
	uint64_t	 done;
	int		 percent;
	char		 buf[CHUNK];
};

/* Read on, counting and hashing all that is read. */
static ssize_t
pull(struct reader *r)
{
	ssize_t n;
	int percent;

	do
		n = read(r->source->fd, r->buf, sizeof(r->buf));
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return (n);
	SHA256_Update(&r->ctx, (const uint8_t *)r->buf, (size_t)n);
	r->done += (uint64_t)n;
	if (r->source->progress != NULL && r->source->size > 0) {
		percent = r->done >= r->source->size ? 100 :
		    (int)(r->done * 100 / r->source->size);
		if (percent != r->percent)
			r->source->progress(r->source->arg, r->source->what,
			    percent);
		r->percent = percent;
	}
	return (n);
}

static la_ssize_t
on_read(struct archive *a, void *arg, const void **buf)
{
	struct reader *r = arg;
	ssize_t n;

	n = pull(r);
	if (n < 0) {
		archive_set_error(a, errno, "%s", strerror(errno));
		return (ARCHIVE_FATAL);
	}
	*buf = r->buf;
	return (n);
}

static int
bad(struct archive *a, const struct template_source *s, struct co_error *e)
{
	const char *why = archive_error_string(a);

	return (co_error_set(e, CO_ETEMPLATE_BAD, s->what,
	    "%s: not an archive that can be read: %s", s->what,
	    why != NULL ? why : "unknown error"));
}

/* The rest of the file counts for its digest too. */
static int
check_digest(struct reader *r, struct co_error *e)
{
	uint8_t digest[32];
	char hex[65];
	ssize_t n;

	if (r->source->sha256 == NULL)
		return (0);
	while ((n = pull(r)) > 0)
		;
	SHA256_Final(digest, &r->ctx);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	if (n < 0 || strcmp(hex, r->source->sha256) != 0)
		return (co_error_set(e, CO_ETEMPLATE_BAD, r->source->what,
		    "%s: its content does not have the digest that names it; "
		    "get the image again", r->source->what));
	return (0);
}

/* The first member may be a manifest of ours. */
static int
read_manifest(struct archive *a, struct archive_entry *entry,
    struct template **t, struct co_error *e)
{
	int64_t size = archive_entry_size(entry);
	la_ssize_t n;
	char *text;
	int ret;

	if (size < 0 || size > TEMPLATE_MANIFEST)
		return (co_error_set(e, CO_ETEMPLATE_BAD, TEMPLATE_MEMBER,
		    "the manifest in the archive is too large"));
	text = malloc((size_t)size + 1);
	if (text == NULL)
		return (co_error_set(e, CO_ESYS_NOMEM, NULL,
		    "out of memory"));
	n = archive_read_data(a, text, (size_t)size);
	if (n != size)
		ret = co_error_set(e, CO_ETEMPLATE_BAD, TEMPLATE_MEMBER,
		    "the manifest in the archive is cut short");
	else
		ret = template_manifest_read(text, (size_t)size,
		    TEMPLATE_MEMBER, t, e);
	free(text);
	return (ret);
}

static int
members(struct archive *a, struct reader *r, int root,
    enum template_pass pass, struct template **t, struct co_error *e)
{
	struct archive_entry *entry;
	const char *name;
	uint64_t bytes = 0;
	int64_t n;
	int got;

	for (n = 0;; n++) {
		got = archive_read_next_header(a, &entry);
		if (got == ARCHIVE_EOF)
			return (0);
		if (got != ARCHIVE_OK && got != ARCHIVE_WARN)
			return (bad(a, r->source, e));
		name = archive_entry_pathname(entry);
		if (n == 0 && t != NULL && name != NULL &&
		    strcmp(name, TEMPLATE_MEMBER) == 0) {
			if (read_manifest(a, entry, t, e) != 0)
				return (-1);
			continue;
		}
		if (template_member(a, entry, root, pass, &bytes, e) != 0)
			return (-1);
		if (n >= MAXMEMBERS || bytes > MAXBYTES)
			return (co_error_set(e, CO_ETEMPLATE_BAD,
			    r->source->what, "%s: too large for a template",
			    r->source->what));
	}
}

static struct archive *
open_archive(struct reader *r)
{
	struct archive *a;

	a = archive_read_new();
	if (a == NULL)
		return (NULL);
	(void)archive_read_support_filter_gzip(a);
	(void)archive_read_support_filter_bzip2(a);
	(void)archive_read_support_filter_xz(a);
	(void)archive_read_support_filter_lzma(a);
	(void)archive_read_support_filter_lz4(a);
	(void)archive_read_support_filter_zstd(a);
	(void)archive_read_support_filter_compress(a);
	(void)archive_read_support_format_tar(a);
	/* Names are bytes, whatever the locale. */
	(void)archive_read_set_options(a, "hdrcharset=BINARY");
	(void)archive_read_open(a, r, NULL, on_read, NULL);
	return (a);
}

int
template_unpack(const struct template_source *source, int root,
    enum template_pass pass, struct template **t, struct co_error *e)
{
	struct archive *a;
	struct reader *r;
	int ret;

	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return (co_error_set(e, CO_ESYS_NOMEM, NULL,
		    "out of memory"));
	r->source = source;
	SHA256_Init(&r->ctx);
	a = open_archive(r);
	if (a == NULL)
		ret = co_error_set(e, CO_ESYS_NOMEM, NULL, "out of memory");
	else
		ret = members(a, r, root, pass, t, e);
	if (ret == 0)
		ret = check_digest(r, e);
	(void)archive_read_free(a);
	free(r);
	return (ret);
}
