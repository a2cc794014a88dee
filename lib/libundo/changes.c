/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a step did, all told: the journal is played forward on a model of the
 * names it touches.  Names that it does not touch are not in the model, so a
 * renamed directory is one node, whatever is below it.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "undo_internal.h"

struct node {
	struct node	*up;
	struct node	*next;		/* in its bucket */
	struct node	*all;
	struct node	*wasup;		/* where it was before the step */
	char		*wasname;
	char		*name;
	bool		 old;		/* it was there before the step */
	bool		 absent;	/* nothing is here any more */
	bool		 known;		/* what it was before */
	bool		 written;
	bool		 meta;
	uint64_t	 size;		/* before, if old and known */
	uint32_t	 mode;
	uint64_t	 dev;
	uint64_t	 ino;
	uint64_t	 pre;
};

struct model {
	struct node	*root;
	struct node	*all;
	struct node	**bucket;
	size_t		 size;
	size_t		 used;
	struct changes	*out;
	const struct journal *j;
	struct kepttab	 first;		/* inode: its first REC_CONTENT */
};

static size_t
place_of(const struct model *m, const struct node *up, const char *name,
    size_t len)
{

	return ((size_t)journal_hash(name, len, (uintptr_t)up) &
	    (m->size - 1));
}

static void
link_node(struct model *m, struct node *n)
{
	size_t i;

	i = place_of(m, n->up, n->name, strlen(n->name));
	n->next = m->bucket[i];
	m->bucket[i] = n;
}

static void
unlink_node(struct model *m, struct node *n)
{
	struct node **p;

	p = &m->bucket[place_of(m, n->up, n->name, strlen(n->name))];
	while (*p != NULL && *p != n)
		p = &(*p)->next;
	if (*p == n)
		*p = n->next;
}

static int
grow(struct model *m)
{
	struct node **old, *n, *next;
	size_t i, size;

	old = m->bucket;
	size = m->size;
	m->size = size == 0 ? 256 : size * 4;
	if ((m->bucket = calloc(m->size, sizeof(*m->bucket))) == NULL) {
		m->bucket = old;
		m->size = size;
		return (ENOMEM);
	}
	for (i = 0; i < size; i++)
		for (n = old[i]; n != NULL; n = next) {
			next = n->next;
			link_node(m, n);
		}
	free(old);
	return (0);
}

static struct node *
make_node(struct model *m, struct node *up, const char *name, size_t len)
{
	struct node *n;

	if (m->used >= m->size && grow(m) != 0)
		return (NULL);
	if ((n = calloc(1, sizeof(*n))) == NULL)
		return (NULL);
	if ((n->name = strndup(name, len)) == NULL) {
		free(n);
		return (NULL);
	}
	n->up = up;
	n->all = m->all;
	m->all = n;
	m->used++;
	if (up != NULL)
		link_node(m, n);
	return (n);
}

static struct node *
child(const struct model *m, const struct node *up, const char *name,
    size_t len)
{
	struct node *n;

	n = m->bucket[place_of(m, up, name, len)];
	for (; n != NULL; n = n->next)
		if (n->up == up && strlen(n->name) == len &&
		    memcmp(n->name, name, len) == 0)
			return (n);
	return (NULL);
}

/* The node at a path; what is not known yet was there before. */
static struct node *
find(struct model *m, const char *path, size_t len)
{
	struct node *n, *up;
	const char *end, *slash;
	size_t k;

	n = m->root;
	for (end = path + len; path < end; path += k + 1) {
		slash = memchr(path, '/', (size_t)(end - path));
		k = (size_t)((slash == NULL ? end : slash) - path);
		up = n;
		if ((n = child(m, up, path, k)) != NULL)
			continue;
		if ((n = make_node(m, up, path, k)) == NULL)
			return (NULL);
		n->old = true;
		n->wasup = up;
		n->wasname = n->name;
	}
	return (n);
}

/* Another file takes the place of ${n}: an empty one to begin with. */
static struct node *
vacate(struct model *m, struct node *n)
{
	struct node *hole;

	unlink_node(m, n);
	hole = make_node(m, n->up, n->name, strlen(n->name));
	if (hole == NULL)
		return (NULL);
	hole->absent = true;
	n->absent = true;
	return (hole);
}

/* Put ${n} where ${hole} is, which is forgotten. */
static int
occupy(struct model *m, struct node *n, struct node *hole)
{
	char *name;

	if ((name = strdup(hole->name)) == NULL)
		return (ENOMEM);
	unlink_node(m, hole);
	if (n->name != n->wasname)
		free(n->name);
	n->name = name;
	n->up = hole->up;
	n->absent = false;
	link_node(m, n);
	hole->up = NULL;
	hole->absent = true;
	return (0);
}

static int
play_new(struct model *m, const struct rec *r)
{
	struct node *n;

	if ((n = find(m, r->path, r->pathlen)) == NULL ||
	    (n = vacate(m, n)) == NULL)
		return (ENOMEM);
	n->absent = false;
	n->dev = r->m.dev;
	n->ino = r->later != 0 ? r->later : r->m.ino;
	n->mode = r->m.mode;
	return (0);
}

static char *
path_of(const struct model *m, const struct node *n, bool was)
{
	const struct node *p;
	const char *name;
	size_t len, k;
	char *path;

	for (len = 0, p = n; p != NULL && p != m->root;
	    p = was ? p->wasup : p->up)
		len += strlen(was ? p->wasname : p->name) + 1;
	if (p == NULL || (path = malloc(len + 1)) == NULL)
		return (NULL);
	path[len == 0 ? 0 : len - 1] = '\0';
	for (p = n; p != m->root; p = was ? p->wasup : p->up) {
		name = was ? p->wasname : p->name;
		k = strlen(name);
		len -= k + 1;
		memcpy(path + len, name, k);
		if (len > 0)
			path[len - 1] = '/';
	}
	return (path);
}

static struct change *
add_change(struct changes *c)
{
	struct change *n;
	size_t size;

	if (c->n == c->size) {
		size = c->size == 0 ? 64 : c->size * 2;
		if ((n = realloc(c->v, size * sizeof(*n))) == NULL)
			return (NULL);
		c->v = n;
		c->size = size;
	}
	n = &c->v[c->n++];
	memset(n, 0, sizeof(*n));
	return (n);
}

/*
 * What was before; ${content}: this record has the bytes, too.  A file may
 * have been changed by another of its names, which then knows it better.
 */
static void
before(const struct model *m, struct node *n, const struct rec *r,
    bool content)
{
	struct rec first;
	uint64_t off;
	uint32_t one;

	if (!n->old)
		return;
	if (kept_find(&m->first, r->m.dev, r->m.ino, 0, &off, &one) &&
	    off != r->off && journal_read(m->j, off, &first) == 0) {
		first.off = off;
		r = &first;
		content = true;
	}
	if (!n->known) {
		n->size = r->m.size;
		n->mode = r->m.mode;
		n->dev = r->m.dev;
		n->ino = r->m.ino;
		n->known = true;
	}
	if (content && n->pre == 0)
		n->pre = r->off;
}

static int
play_gone(struct model *m, const struct rec *r)
{
	struct change *c;
	struct node *n;

	if ((n = find(m, r->path, r->pathlen)) == NULL)
		return (ENOMEM);
	before(m, n, r, true);
	if (n->old && !n->absent) {
		if ((c = add_change(m->out)) == NULL)
			return (ENOMEM);
		c->change = UNDO_DELETED;
		c->type = (mode_t)n->mode & S_IFMT;
		c->mode = n->mode;
		c->before = n->size;
		c->had = true;
		c->pre = n->pre;
		c->dev = n->dev;
		c->ino = n->ino;
		if ((c->path = path_of(m, n, true)) == NULL)
			return (ENOMEM);
	}
	return (vacate(m, n) == NULL ? ENOMEM : 0);
}

static int
play_rename(struct model *m, const struct rec *r)
{
	struct node *from, *hole, *other, *to;
	struct rec second;
	int error;

	if ((from = find(m, r->path, r->pathlen)) == NULL ||
	    (to = find(m, r->path2, r->path2len)) == NULL)
		return (ENOMEM);
	if (from == to)
		return (0);
	before(m, from, r, false);
	if ((hole = vacate(m, from)) == NULL)
		return (ENOMEM);
	if ((r->flags & REC_SWAP) == 0) {
		if (!to->absent && (to = vacate(m, to)) == NULL)
			return (ENOMEM);
		return (occupy(m, from, to));
	}
	if (r->extralen == REC_OTHER) {
		second = *r;
		second.m.dev = get64(r->extra);
		second.m.ino = get64(r->extra + 8);
		second.m.size = get64(r->extra + 16);
		second.m.mode = (uint32_t)get64(r->extra + 24);
		before(m, to, &second, false);
	}
	if ((other = vacate(m, to)) == NULL)
		return (ENOMEM);
	if ((error = occupy(m, to, hole)) != 0)
		return (error);
	return (occupy(m, from, other));
}

/* Content of a file that lost its name in this very step. */
static void
play_kept(struct model *m, const struct rec *r)
{
	struct change *c;
	size_t i;

	for (i = 0; i < m->out->n; i++) {
		c = &m->out->v[i];
		if (c->ino == r->m.ino && c->dev == r->m.dev) {
			c->before = r->m.size;
			c->pre = r->off;
		}
	}
}

static int
play_touch(struct model *m, const struct rec *r)
{
	struct node *n;

	if (r->type == REC_CONTENT && kept_count(&m->first, r->m.dev,
	    r->m.ino) == 0 && kept_add(&m->first, r->m.dev, r->m.ino, r->off,
	    1) != 0)
		return (ENOMEM);
	if ((r->flags & REC_KEPT) != 0) {
		if (r->type == REC_CONTENT)
			play_kept(m, r);
		return (0);
	}
	if ((n = find(m, r->path, r->pathlen)) == NULL)
		return (ENOMEM);
	before(m, n, r, r->type == REC_CONTENT);
	if (r->type == REC_CONTENT)
		n->written = true;
	else
		n->meta = true;
	return (0);
}

static int
play(struct model *m, const struct rec *r)
{

	if (r->is_void)
		return (0);
	switch (r->type) {
	case REC_NEW:
	case REC_MKDIR:
		return (play_new(m, r));
	case REC_GONE:
	case REC_COPY:
	case REC_RMDIR:
	case REC_DROP:
		return (play_gone(m, r));
	case REC_RENAME:
		return (play_rename(m, r));
	case REC_CONTENT:
	case REC_META:
		return (play_touch(m, r));
	default:
		return (0);
	}
}

/* Is the node, and everything above it, still there? */
static bool
is_there(const struct model *m, const struct node *n)
{

	for (; n != NULL && n != m->root; n = n->up)
		if (n->absent)
			return (false);
	return (n == m->root);
}

static int
tell(struct model *m, const struct node *n)
{
	struct change *c;
	char *was;
	bool moved;

	moved = n->old && (n->up != n->wasup ||
	    strcmp(n->name, n->wasname) != 0);
	if (!is_there(m, n) || (n->old && !moved && !n->written && !n->meta))
		return (0);
	if ((c = add_change(m->out)) == NULL)
		return (ENOMEM);
	if ((c->path = path_of(m, n, false)) == NULL)
		return (ENOMEM);
	c->type = (mode_t)n->mode & S_IFMT;
	c->dev = n->dev;
	c->ino = n->ino;
	c->has = true;
	if (!n->old) {
		c->change = UNDO_CREATED;
		return (0);
	}
	c->had = true;
	c->before = c->after = n->size;
	c->same = !n->written;
	c->mode = n->mode;
	c->pre = n->pre;
	if ((was = path_of(m, n, true)) == NULL)
		return (ENOMEM);
	if (strcmp(was, c->path) != 0) {
		c->change = UNDO_RENAMED;
		c->from = was;
		return (0);
	}
	free(was);
	c->change = n->written ? UNDO_MODIFIED : UNDO_META;
	return (0);
}

static int
by_path(const void *a, const void *b)
{
	const struct change *x, *y;
	int r;

	x = a;
	y = b;
	if ((r = strcmp(x->path, y->path)) != 0)
		return (r);
	/* What went comes before what came. */
	return ((int)(y->change == UNDO_DELETED) -
	    (int)(x->change == UNDO_DELETED));
}

static void
change_free(struct change *c)
{

	free(c->path);
	free(c->from);
	free(c->now);
}

void
changes_free(struct changes *c)
{
	size_t i;

	for (i = 0; i < c->n; i++)
		change_free(&c->v[i]);
	free(c->v);
	memset(c, 0, sizeof(*c));
}

static bool
same_kind(mode_t a, mode_t b)
{

	return (a == b || a == 0 || b == 0);
}

/* A file deleted and made again is a modified one. */
static void
merge(struct changes *c)
{
	struct change *a, *b, old;
	size_t i, n;

	for (i = n = 0; i < c->n; i++) {
		a = n > 0 ? &c->v[n - 1] : NULL;
		b = &c->v[i];
		if (a == NULL || a->change != UNDO_DELETED ||
		    b->change != UNDO_CREATED ||
		    !same_kind(a->type, b->type) ||
		    strcmp(a->path, b->path) != 0) {
			c->v[n++] = *b;
			continue;
		}
		old = *a;
		*a = *b;
		a->change = UNDO_MODIFIED;
		a->had = true;
		a->before = old.before;
		a->mode = old.mode;
		a->pre = old.pre;
		a->type = a->type == 0 ? old.type : a->type;
		change_free(&old);
	}
	c->n = n;
}

static void
model_free(struct model *m)
{
	struct node *n;

	while ((n = m->all) != NULL) {
		m->all = n->all;
		if (n->wasname != n->name)
			free(n->wasname);
		free(n->name);
		free(n);
	}
	free(m->bucket);
	kept_free(&m->first);
}

int
changes_make(const struct journal *j, struct changes *c)
{
	struct model m;
	struct node *n;
	struct rec r;
	uint64_t off;
	int error;

	memset(c, 0, sizeof(*c));
	memset(&m, 0, sizeof(m));
	m.out = c;
	m.j = j;
	error = ENOMEM;
	if ((m.root = make_node(&m, NULL, "", 0)) != NULL) {
		m.root->old = true;
		m.root->wasup = NULL;
		m.root->wasname = m.root->name;
		error = 0;
	}
	for (off = 0; error == 0 && journal_next(j, &off, &r);)
		error = play(&m, &r);
	for (n = m.all; error == 0 && n != NULL; n = n->all)
		error = tell(&m, n);
	model_free(&m);
	if (error != 0) {
		changes_free(c);
		return (error);
	}
	if (c->n > 0)
		qsort(c->v, c->n, sizeof(*c->v), by_path);
	merge(c);
	return (0);
}

static int
report(const struct changes *c, undo_path_fn *fn, void *arg)
{
	struct undo_path p;
	size_t i;
	int r;

	for (i = 0, r = 0; r == 0 && i < c->n; i++) {
		memset(&p, 0, sizeof(p));
		p.change = c->v[i].change;
		p.type = c->v[i].type;
		p.path = c->v[i].path;
		p.from = c->v[i].from;
		p.before = S_ISDIR(p.type) ? 0 : c->v[i].before;
		p.after = S_ISDIR(p.type) ? 0 : c->v[i].after;
		r = fn(arg, &p);
	}
	return (r);
}

int
undo_changes(struct undo *u, int64_t id, undo_path_fn *fn, void *arg,
    struct co_error *e)
{
	struct changes c;
	struct journal j;
	struct step *s;
	bool damage;
	int dir, error;

	memset(&c, 0, sizeof(c));
	gate_shut(u);
	(void)pthread_mutex_lock(&u->lock);
	s = u->foreign ? NULL : step_find(u, id);
	(void)pthread_mutex_unlock(&u->lock);
	error = s == NULL ? ENOENT : 0;
	if (s != NULL && (dir = step_dir(u, s)) != -1) {
		error = journal_open(&j, dir, false, &damage);
		sys_close(dir);
		if (error == 0) {
			error = changes_make(&j, &c);
			journal_close(&j);
		}
		if (error == 0)
			error = after_find(u, s, &c);
	} else if (s != NULL)
		error = errno;
	gate_open(u);
	if (s == NULL)
		return (co_error_set(e, CO_EUNDO_NOSTEP, NULL,
		    "step %lld is not in the undo history", (long long)id));
	if (error != 0) {
		changes_free(&c);
		return (co_error_errno(e, error, NULL,
		    "can't tell what step %lld changed", (long long)id));
	}
	error = report(&c, fn, arg);
	changes_free(&c);
	return (error);
}
