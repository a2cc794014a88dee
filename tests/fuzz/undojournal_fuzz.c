/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Arbitrary bytes as the files of an undo store.  The first byte says which:
 * 'j' a journal, 's' a journal of well-formed records with arbitrary fields,
 * 'm' a manifest, 'b' barriers.  Whatever is accepted must hold what the
 * decoders promise, and the model of changes must take it.
 */

#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "undo_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

#define	HEADER	64

/* Everything that is done with a journal that was accepted. */
static void
use(const struct journal *j)
{
	struct changes c;
	const uint8_t *value;
	const char *name;
	struct rec r;
	uint64_t off;
	uint32_t *offs;
	size_t at, vlen;

	for (off = 0; journal_next(j, &off, &r);) {
		if (strlen(r.path) > r.pathlen)
			abort();
		if (r.type != REC_BEGIN &&
		    !record_path_ok(r.path, r.pathlen))
			abort();
		for (at = 0; meta_next(r.m.xattrs, r.m.xlen, &at, &name,
		    &value, &vlen);)
			if (at > r.m.xlen)
				abort();
	}
	if (journal_undone(j) > j->count)
		abort();
	if (journal_index(j, &offs) == 0)
		free(offs);
	if (changes_make(j, &c) == 0)
		changes_free(&c);
}

static void
raw_journal(const uint8_t *data, size_t size)
{
	struct journal j;
	uint8_t *copy;
	bool damage;

	/* Of its own size, so that a step too far is seen. */
	if ((copy = malloc(size + 1)) == NULL)
		return;
	memcpy(copy, data, size);
	if (journal_parse(&j, copy, size, &damage) == 0)
		use(&j);
	free(copy);
}

/* Make a record of what the input has; return how much of it that was. */
static size_t
make_record(const uint8_t *p, size_t left, struct rec *r)
{
	size_t n;

	memset(r, 0, sizeof(*r));
	if (left < 12)
		return (0);
	r->type = (enum rec_type)(REC_NEW + p[0] % (REC_MAX - REC_NEW));
	r->flags = p[1];
	r->m.mode = (uint32_t)p[2] << 8 | p[3];
	r->m.ino = p[4];
	r->m.size = p[5];
	r->m.nlink = p[6];
	r->obj = p[7];
	n = 12;
	r->pathlen = p[8] < left - n ? p[8] : left - n;
	r->path = (const char *)p + n;
	n += r->pathlen;
	r->path2len = p[9] < left - n ? p[9] : left - n;
	r->path2 = (const char *)p + n;
	n += r->path2len;
	r->m.xlen = p[10] < left - n ? p[10] : left - n;
	r->m.xattrs = p + n;
	n += r->m.xlen;
	r->extralen = p[11] < left - n ? p[11] : left - n;
	r->extra = p + n;
	return (n + r->extralen);
}

static void
made_journal(const uint8_t *data, size_t size)
{
	struct journal j;
	struct rec r;
	uint8_t *buf;
	bool damage;
	size_t len, n, space, used;
	uint32_t no;

	space = HEADER + 4096 + 32 * size;
	if ((buf = calloc(1, space)) == NULL)
		return;
	memcpy(buf, "CPUNDOJ1", 8);
	put32(buf + 8, 1);
	memset(&r, 0, sizeof(r));
	r.type = REC_BEGIN;
	r.path = r.path2 = "";
	for (used = HEADER, no = 0;; no++) {
		len = record_size(&r);
		if (used + len + 8 > space)
			break;
		r.no = no;
		record_encode(&r, buf + used, len);
		used += len;
		if ((n = make_record(data, size, &r)) == 0)
			break;
		data += n;
		size -= n;
	}
	if (journal_parse(&j, buf, used, &damage) != 0 || j.count == 0)
		abort();
	use(&j);
	free(buf);
}

static void
manifest(const uint8_t *data, size_t size)
{
	struct about a;

	if (manifest_parse((const char *)data, size, &a) != 0)
		return;
	if (a.id == 0 || a.command == NULL)
		abort();
	about_free(&a);
}

static void
barriers(const uint8_t *data, size_t size)
{
	struct stamplist l;
	struct stamp *s;
	bool damage;
	size_t i;

	TAILQ_INIT(&l);
	(void)barrier_parse(&l, data, size, &damage);
	TAILQ_FOREACH(s, &l, link)
		for (i = 0; i < s->npaths; i++)
			if (s->paths[i] == NULL)
				abort();
	stamps_free(&l);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{

	if (size == 0)
		return (0);
	switch (data[0]) {
	case 'j':
		raw_journal(data + 1, size - 1);
		break;
	case 's':
		made_journal(data + 1, size - 1);
		break;
	case 'm':
		manifest(data + 1, size - 1);
		break;
	case 'b':
		barriers(data + 1, size - 1);
		break;
	}
	return (0);
}
