/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the library tells of a step, against pictures of the folder before
 * and after it.
 */

#include <sys/types.h>
#include <sys/stat.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <coppice.h>
#include <undo.h>

#include "look.h"
#include "snap.h"

struct look {
	char		*why;
	size_t		 size;
	bool		 failed;
	const struct snap *before;
	const struct snap *after;
	struct undo_path *v;
	size_t		 n;
};

static void fail(struct look *, const char *, ...)
    __attribute__((__format__(__printf__, 2, 3)));

static void
fail(struct look *l, const char *fmt, ...)
{
	va_list ap;

	if (l->failed)
		return;
	l->failed = true;
	va_start(ap, fmt);
	(void)vsnprintf(l->why, l->size, fmt, ap);
	va_end(ap);
}

static int
look_path(void *arg, const struct undo_path *p)
{
	struct look *l = arg;
	struct undo_path *v;

	if (p->path == NULL ||
	    (p->change == UNDO_RENAMED) != (p->from != NULL)) {
		fail(l, "no path, or from in the wrong place");
		return (0);
	}
	if (l->n > 0 && strcmp(l->v[l->n - 1].path, p->path) > 0)
		fail(l, "%s is not in order", p->path);
	if ((v = realloc(l->v, (l->n + 1) * sizeof(*v))) == NULL)
		abort();
	l->v = v;
	v[l->n] = *p;
	v[l->n].path = strdup(p->path);
	v[l->n++].from = p->from == NULL ? NULL : strdup(p->from);
	return (0);
}

/* A size, if there is a file to have one. */
static void
look_size(struct look *l, const struct snap *t, const char *path,
    uint64_t size, const char *when)
{
	struct snap_name n;

	if (snap_has(t, path, &n) && S_ISREG(n.mode) && n.size != size)
		fail(l, "%s had %ju bytes %s, not %ju", path,
		    (uintmax_t)n.size, when, (uintmax_t)size);
}

static void
look_entry(struct look *l, const struct undo_path *p)
{
	const char *from;
	bool was, is;

	from = p->from != NULL ? p->from : p->path;
	was = p->change != UNDO_CREATED;
	is = p->change != UNDO_DELETED;
	if (was && !snap_has(l->before, from, NULL))
		fail(l, "%s was not there before", from);
	if (is && !snap_has(l->after, p->path, NULL))
		fail(l, "%s is not there after", p->path);
	if (was && S_ISREG(p->type))
		look_size(l, l->before, from, p->before, "before");
	if (is && S_ISREG(p->type))
		look_size(l, l->after, p->path, p->after, "after");
}

static bool
is_below(const char *path, const char *dir)
{
	size_t n;

	n = strlen(dir);
	return (strncmp(path, dir, n) == 0 && path[n] == '/');
}

/* Is ${path} listed, or below something that was renamed? */
static bool
is_listed(const struct look *l, const char *path)
{
	const struct undo_path *p;

	for (p = l->v; p < l->v + l->n; p++)
		if (strcmp(path, p->path) == 0 || (p->from != NULL &&
		    (strcmp(path, p->from) == 0 || is_below(path, p->path) ||
		    is_below(path, p->from))))
			return (true);
	return (false);
}

/* What differs must be listed; times of folders need not be. */
static void
look_covers(struct look *l, const struct snap *a, const struct snap *b)
{
	struct snap_name n, o;
	size_t i;

	for (i = 0; i < snap_count(a); i++) {
		snap_get(a, i, &n);
		if (snap_has(b, n.path, &o) && ((S_ISDIR(n.mode) &&
		    S_ISDIR(o.mode)) || snap_same_at(a, b, n.path)))
			continue;
		/* A file of several names is listed by one of them. */
		if (n.names > 1 || (snap_has(b, n.path, &o) && o.names > 1))
			continue;
		if (!is_listed(l, n.path))
			fail(l, "%s is not listed", n.path);
	}
}

bool
look_changes(struct undo *u, int64_t id, const struct snap *before,
    const struct snap *after, char *why, size_t size)
{
	struct look l = {
		.why = why, .size = size, .before = before, .after = after
	};
	struct co_error e;
	size_t i;

	if (undo_changes(u, id, look_path, &l, &e) == -1)
		fail(&l, "%s", e.message);
	for (i = 0; i < l.n; i++)
		look_entry(&l, &l.v[i]);
	look_covers(&l, before, after);
	look_covers(&l, after, before);
	for (i = 0; i < l.n; i++) {
		free((void *)(uintptr_t)l.v[i].path);
		free((void *)(uintptr_t)l.v[i].from);
	}
	free(l.v);
	return (!l.failed);
}
