/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A unified diff of two texts, by the greedy algorithm of Myers on lines
 * that are numbered by content.  Texts that differ in more than a bound of
 * lines are shown as one replaced block between what they share at the ends.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "undo_internal.h"

#define	MAXD		1200
#define	CONTEXT		3

struct line {
	const char	*p;
	size_t		 len;
	uint64_t	 hash;
};

struct text {
	struct line	*v;
	size_t		 n;
	bool		 nonl;		/* the last line has no newline */
	uint8_t		*gone;		/* line i is not in the other text */
};

static int
split(const char *p, size_t len, struct text *t)
{
	const char *end, *nl;
	size_t i, n;

	for (n = i = 0; i < len; i++)
		n += p[i] == '\n';
	memset(t, 0, sizeof(*t));
	t->nonl = len > 0 && p[len - 1] != '\n';
	n += t->nonl;
	t->v = calloc(n + 1, sizeof(*t->v));
	t->gone = calloc(n + 1, 1);
	if (t->v == NULL || t->gone == NULL)
		return (ENOMEM);
	for (end = p + len; p < end; p = nl + 1, t->n++) {
		if ((nl = memchr(p, '\n', (size_t)(end - p))) == NULL)
			nl = end;
		t->v[t->n].p = p;
		t->v[t->n].len = (size_t)(nl - p);
		t->v[t->n].hash = journal_hash(p, (size_t)(nl - p),
		    nl == end);
		if (nl == end)
			nl = end - 1;
	}
	return (0);
}

static bool
equal(const struct line *a, const struct line *b)
{

	return (a->hash == b->hash && a->len == b->len &&
	    memcmp(a->p, b->p, a->len) == 0);
}

static void
text_free(struct text *t)
{

	free(t->v);
	free(t->gone);
}

/*
 * The middle parts [lo, ahi) and [lo, bhi).  Row d of the trace has the
 * furthest x on diagonals -d .. d.
 */
struct middle {
	struct text	*a;
	struct text	*b;
	size_t		 lo;
	int		 n;
	int		 m;
	int		**trace;
};

/* The previous row, widened so that its neighbours can be asked for. */
static int
row_at(const int *prev, int d, int k)
{

	return (k < -(d - 1) || k > d - 1 ? -1 : prev[k + d - 1]);
}

/* How far does diagonal k come with d edits, beginning at x? */
static int
slide(const struct middle *w, int k, int x)
{
	int y;

	for (y = x - k; x < w->n && y < w->m && y >= 0 &&
	    equal(&w->a->v[w->lo + (size_t)x], &w->b->v[w->lo + (size_t)y]);
	    y++)
		x++;
	return (x);
}

/* Is the best way to diagonal k down from k + 1, not right from k - 1? */
static bool
from_above(const int *prev, int d, int k)
{

	return (k == -d || (k != d && row_at(prev, d, k - 1) <
	    row_at(prev, d, k + 1)));
}

/* Walk the trace back, marking lines that have no partner. */
static void
mark(struct middle *w, int d)
{
	const int *prev;
	int k, pk, px, py, x, y;

	x = w->n;
	y = w->m;
	for (; d > 0; d--) {
		k = x - y;
		prev = w->trace[d - 1];
		pk = from_above(prev, d, k) ? k + 1 : k - 1;
		px = row_at(prev, d, pk);
		py = px - pk;
		if (pk == k + 1)
			w->b->gone[w->lo + (size_t)py] = 1;
		else
			w->a->gone[w->lo + (size_t)px] = 1;
		x = px;
		y = py;
	}
}

/* A row of diagonals; -1 marks one that can't be reached. */
static int
next_row(struct middle *w, int d, bool *done)
{
	int k, x, *row;

	if ((row = malloc((size_t)(2 * d + 1) * sizeof(*row))) == NULL)
		return (ENOMEM);
	w->trace[d] = row;
	for (k = -d; k <= d; k++)
		row[k + d] = -1;
	for (k = -d; k <= d && !*done; k += 2) {
		x = 0;
		if (d > 0 && from_above(w->trace[d - 1], d, k))
			x = row_at(w->trace[d - 1], d, k + 1);
		else if (d > 0)
			x = row_at(w->trace[d - 1], d, k - 1) + 1;
		x = slide(w, k, x);
		row[k + d] = x;
		*done = x >= w->n && x - k >= w->m;
	}
	return (0);
}

static int
compare(struct middle *w)
{
	bool done;
	size_t i;
	int d, error;

	if ((w->trace = calloc(MAXD + 1, sizeof(*w->trace))) == NULL)
		return (ENOMEM);
	done = false;
	error = 0;
	for (d = 0; d <= MAXD && d <= w->n + w->m && !done && error == 0; d++)
		error = next_row(w, d, &done);
	if (error == 0 && done)
		mark(w, d - 1);
	else if (error == 0) {
		for (i = 0; i < (size_t)w->n; i++)
			w->a->gone[w->lo + i] = 1;
		for (i = 0; i < (size_t)w->m; i++)
			w->b->gone[w->lo + i] = 1;
	}
	for (d = 0; d <= MAXD; d++)
		free(w->trace[d]);
	free(w->trace);
	return (error);
}

static int
match(struct text *a, struct text *b)
{
	struct middle w;
	size_t ahi, bhi, lo;

	for (lo = 0; lo < a->n && lo < b->n && equal(&a->v[lo], &b->v[lo]);)
		lo++;
	for (ahi = a->n, bhi = b->n; ahi > lo && bhi > lo &&
	    equal(&a->v[ahi - 1], &b->v[bhi - 1]); ahi--)
		bhi--;
	if (ahi - lo > INT32_MAX / 4 || bhi - lo > INT32_MAX / 4)
		return (EFBIG);
	memset(&w, 0, sizeof(w));
	w.a = a;
	w.b = b;
	w.lo = lo;
	w.n = (int)(ahi - lo);
	w.m = (int)(bhi - lo);
	return (compare(&w));
}

static void
put(FILE *f, char sign, const struct text *t, size_t i)
{

	fputc(sign, f);
	fwrite(t->v[i].p, 1, t->v[i].len, f);
	fputc('\n', f);
	if (t->nonl && i == t->n - 1)
		fputs("\\ No newline at end of file\n", f);
}

static void
put_range(FILE *f, char sign, size_t from, size_t n)
{

	if (n == 1)
		fprintf(f, "%c%zu", sign, from + 1);
	else
		fprintf(f, "%c%zu,%zu", sign, n == 0 ? from : from + 1, n);
}

/* Where the next changed lines are; false when there are none. */
static bool
next_change(const struct text *a, const struct text *b, size_t *i, size_t *k)
{

	while (*i < a->n || *k < b->n) {
		if ((*i < a->n && a->gone[*i]) || (*k < b->n && b->gone[*k]))
			return (true);
		(*i)++;
		(*k)++;
	}
	return (false);
}

/* Print one hunk that begins with a change at i, k; move them past it. */
static void
hunk(FILE *f, const struct text *a, const struct text *b, size_t *ip,
    size_t *kp)
{
	size_t ae, as, be, bs, i, k, lead, same;

	lead = *ip < CONTEXT ? *ip : CONTEXT;
	as = *ip - lead;
	bs = *kp - lead;
	i = ae = *ip;
	k = be = *kp;
	/* Changes with little between them are one hunk. */
	while (next_change(a, b, &i, &k)) {
		same = i - ae;
		if (ae != *ip && same > 2 * CONTEXT)
			break;
		if (be != *kp && ae == *ip && same > 2 * CONTEXT)
			break;
		while (i < a->n && a->gone[i])
			i++;
		while (k < b->n && b->gone[k])
			k++;
		ae = i;
		be = k;
	}
	*ip = ae;
	*kp = be;
	same = a->n - ae < CONTEXT ? a->n - ae : CONTEXT;
	ae += same;
	be += same;
	fputs("@@ ", f);
	put_range(f, '-', as, ae - as);
	fputc(' ', f);
	put_range(f, '+', bs, be - bs);
	fputs(" @@\n", f);
	for (i = as, k = bs; i < ae || k < be;) {
		if (i < ae && a->gone[i])
			put(f, '-', a, i++);
		else if (k < be && b->gone[k])
			put(f, '+', b, k++);
		else {
			put(f, ' ', a, i++);
			k++;
		}
	}
}

int
udiff(FILE *f, const char *old, size_t oldlen, const char *new,
    size_t newlen)
{
	struct text a, b;
	size_t i, k;
	int error;

	memset(&b, 0, sizeof(b));
	if ((error = split(old, oldlen, &a)) == 0 &&
	    (error = split(new, newlen, &b)) == 0 &&
	    (error = match(&a, &b)) == 0) {
		for (i = k = 0; next_change(&a, &b, &i, &k);)
			hunk(f, &a, &b, &i, &k);
	}
	text_free(&a);
	text_free(&b);
	return (error);
}
