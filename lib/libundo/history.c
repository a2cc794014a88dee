/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * History as the caller sees it: steps and barriers in order.  It is copied
 * under the lock, so that the callback may take its time or call us again.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "undo_internal.h"

/* One entry, with strings of its own. */
struct entry {
	bool		 barrier;
	uint64_t	 order;		/* steps are even, barriers odd */
	struct undo_step s;
	struct undo_stamp b;
	char		*command;
	char		**paths;
};

struct listing {
	struct entry	*v;
	size_t		 n;
	size_t		 size;
};

static void
listing_free(struct listing *l)
{
	size_t i, k;

	for (i = 0; i < l->n; i++) {
		free(l->v[i].command);
		for (k = 0; l->v[i].paths != NULL && k < l->v[i].b.npaths;
		    k++)
			free(l->v[i].paths[k]);
		free(l->v[i].paths);
	}
	free(l->v);
}

static struct entry *
listing_add(struct listing *l)
{
	struct entry *n;
	size_t size;

	if (l->n == l->size) {
		size = l->size == 0 ? 32 : l->size * 2;
		if ((n = realloc(l->v, size * sizeof(*n))) == NULL)
			return (NULL);
		l->v = n;
		l->size = size;
	}
	n = &l->v[l->n++];
	memset(n, 0, sizeof(*n));
	return (n);
}

static int
add_step(struct listing *l, const struct step *s)
{
	struct entry *n;

	if ((n = listing_add(l)) == NULL)
		return (ENOMEM);
	n->order = s->a.seq * 2;
	n->command = strdup(s->a.command);
	if (n->command == NULL)
		return (ENOMEM);
	n->s.id = s->a.id;
	n->s.kind = s->a.kind;
	n->s.command = n->command;
	n->s.began_us = s->a.began;
	n->s.ended_us = s->a.ended;
	n->s.exit = s->a.exit;
	n->s.protected = !s->a.lost;
	n->s.bytes = s->a.bytes + s->a.kept;
	n->s.paths = s->a.paths;
	return (0);
}

static int
add_stamp(struct listing *l, const struct stamp *b)
{
	struct entry *n;
	size_t i;

	if ((n = listing_add(l)) == NULL)
		return (ENOMEM);
	n->barrier = true;
	n->order = b->after * 2 + 1;
	n->b.id = b->id;
	n->b.at_us = b->at;
	n->paths = calloc(b->npaths + 1, sizeof(*n->paths));
	if (n->paths == NULL)
		return (ENOMEM);
	for (i = 0; i < b->npaths; i++) {
		if ((n->paths[i] = strdup(b->paths[i])) == NULL)
			return (ENOMEM);
		n->b.npaths = i + 1;
	}
	n->b.paths = (const char *const *)n->paths;
	return (0);
}

static int
newest_first(const void *a, const void *b)
{
	const struct entry *x, *y;

	x = a;
	y = b;
	return (x->order < y->order ? 1 : x->order > y->order ? -1 : 0);
}

static int
walk(struct undo *u, bool redoable, undo_history_fn *fn, void *arg,
    struct co_error *e)
{
	struct listing l;
	struct step *s;
	struct stamp *b;
	size_t i;
	int r;

	memset(&l, 0, sizeof(l));
	r = 0;
	(void)pthread_mutex_lock(&u->lock);
	if (redoable) {
		TAILQ_FOREACH(s, &u->redo, link)
			r = r != 0 ? r : add_step(&l, s);
	} else {
		TAILQ_FOREACH(s, &u->steps, link)
			r = r != 0 ? r : add_step(&l, s);
		TAILQ_FOREACH(b, &u->stamps, link)
			r = r != 0 ? r : add_stamp(&l, b);
	}
	(void)pthread_mutex_unlock(&u->lock);
	if (r != 0)
		r = co_error_errno(e, r, u->store,
		    "can't list the history of the undo store %s", u->store);
	else if (!redoable && l.n > 0)
		qsort(l.v, l.n, sizeof(*l.v), newest_first);
	for (i = 0; r == 0 && i < l.n; i++)
		r = fn(arg, l.v[i].barrier ? NULL : &l.v[i].s,
		    l.v[i].barrier ? &l.v[i].b : NULL);
	listing_free(&l);
	return (r);
}

static int
version_check(struct undo *u, struct co_error *e)
{

	if (!u->foreign)
		return (0);
	return (co_error_set(e, CO_EUNDO_VERSION, u->store,
	    "the undo store %s was written by another version; its history "
	    "can't be read by this one", u->store));
}

int
undo_history(struct undo *u, undo_history_fn *fn, void *arg,
    struct co_error *e)
{

	if (version_check(u, e) != 0)
		return (-1);
	return (walk(u, false, fn, arg, e));
}

int
undo_redoable(struct undo *u, undo_history_fn *fn, void *arg,
    struct co_error *e)
{

	if (version_check(u, e) != 0)
		return (-1);
	return (walk(u, true, fn, arg, e));
}
