/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The state after a step, when others have followed: the preimage that a
 * later step took of the same inode, or what is in the folder now.  The gate
 * is shut, and nothing here changes anything.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "undo_internal.h"

/* Changes whose present place is looked for, by inode. */
struct search {
	struct change	**v;
	size_t		 n;
	bool		 bypath;	/* inodes do not outlive a rollback */
};

static int
by_inode(const void *a, const void *b)
{
	const struct change *x, *y;

	x = *(const struct change *const *)a;
	y = *(const struct change *const *)b;
	if (x->ino != y->ino)
		return (x->ino < y->ino ? -1 : 1);
	return (x->dev < y->dev ? -1 : x->dev > y->dev);
}

/* The first of those with this inode. */
static size_t
search_inode(const struct search *s, uint64_t ino)
{
	size_t lo, hi, mid;

	for (lo = 0, hi = s->n; lo < hi;) {
		mid = (lo + hi) / 2;
		if (s->v[mid]->ino < ino)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (lo);
}

/* path, if it is old or below it, with new in its place; else NULL. */
static char *
moved(const char *path, const char *old, size_t oldlen, const char *new)
{
	size_t size;
	char *p;

	if (strncmp(path, old, oldlen) != 0 ||
	    (path[oldlen] != '\0' && path[oldlen] != '/'))
		return (NULL);
	size = strlen(new) + strlen(path + oldlen) + 1;
	if ((p = malloc(size)) != NULL)
		(void)snprintf(p, size, "%s%s", new, path + oldlen);
	return (p);
}

static void
follow_rename(struct search *s, const struct rec *r)
{
	struct change *c;
	size_t i;
	char *p;

	for (i = 0; i < s->n; i++) {
		c = s->v[i];
		p = moved(c->now, r->path, r->pathlen, r->path2);
		if (p == NULL && (r->flags & REC_SWAP) != 0)
			p = moved(c->now, r->path2, r->path2len, r->path);
		if (p != NULL) {
			free(c->now);
			c->now = p;
		}
	}
}

/* This record has what ${c} was after its step, if nothing before has. */
static void
settle(struct change *c, struct step *in, const struct rec *r)
{

	if (c->in != NULL && !(c->kept && r->type == REC_CONTENT))
		return;
	c->in = in;
	c->off = r->off;
	c->kept = r->type == REC_GONE;
	c->after = r->m.size;
}

static void
follow_file(struct search *s, struct step *in, const struct rec *r)
{
	size_t i;

	for (i = search_inode(s, r->m.ino); i < s->n &&
	    s->v[i]->ino == r->m.ino; i++)
		if (s->v[i]->dev == r->m.dev)
			settle(s->v[i], in, r);
	for (i = 0; s->bypath && i < s->n; i++)
		if (strcmp(s->v[i]->now, r->path) == 0)
			settle(s->v[i], in, r);
}

static void
follow(struct search *s, struct step *in, const struct journal *j)
{
	struct rec r;
	uint64_t off;

	for (off = 0; journal_next(j, &off, &r);) {
		if (r.is_void || r.type == REC_BEGIN)
			continue;
		if (r.type == REC_RENAME)
			follow_rename(s, &r);
		else if (r.type == REC_CONTENT || r.type == REC_GONE ||
		    r.type == REC_COPY)
			follow_file(s, in, &r);
	}
}

/* The step that is still open comes after all others. */
static struct step *
open_as_step(struct undo *u, struct step *mem)
{

	memset(mem, 0, sizeof(*mem));
	mem->place = u->wal->place;
	return (mem);
}

static int
follow_all(struct undo *u, struct step *s, struct search *q)
{
	struct journal j;
	struct step *t;
	bool damage;
	int dir, error;

	for (t = TAILQ_NEXT(s, link); t != NULL; t = TAILQ_NEXT(t, link)) {
		if (t->a.lost)
			continue;
		if ((dir = step_dir(u, t)) == -1)
			return (errno);
		error = journal_open(&j, dir, false, &damage);
		sys_close(dir);
		if (error != 0)
			return (error);
		follow(q, t, &j);
		journal_close(&j);
	}
	if (u->wal != NULL && !u->wal->a.lost)
		follow(q, open_as_step(u, &u->shadow), &u->wal->j);
	return (0);
}

static void
look(struct undo *u, struct change *c)
{
	struct stat st;

	if (path_stat(u, c->now, &st) != 0)
		return;
	if (c->type == 0)
		c->type = st.st_mode & S_IFMT;
	if ((st.st_mode & S_IFMT) == c->type)
		c->after = (uint64_t)st.st_size;
}

int
after_find(struct undo *u, struct step *s, struct changes *c)
{
	struct search q;
	size_t i;
	int error;

	q.n = 0;
	q.bypath = !u->same_fs;
	if ((q.v = calloc(c->n + 1, sizeof(*q.v))) == NULL)
		return (ENOMEM);
	error = 0;
	for (i = 0; error == 0 && i < c->n; i++) {
		if (!c->v[i].has)
			continue;
		if ((c->v[i].now = strdup(c->v[i].path)) == NULL)
			error = ENOMEM;
		q.v[q.n++] = &c->v[i];
	}
	qsort(q.v, q.n, sizeof(*q.v), by_inode);
	if (error == 0)
		error = follow_all(u, s, &q);
	for (i = 0; error == 0 && i < q.n; i++)
		if (q.v[i]->in == NULL)
			look(u, q.v[i]);
	for (i = 0; error == 0 && i < c->n; i++)
		if (c->v[i].same && c->v[i].mode == 0)
			c->v[i].before = c->v[i].after;
	free(q.v);
	return (error);
}

/*
 * Loading what a side of a diff needs.
 */
static int
load_fd(int fd, uint64_t max, char **buf, size_t *len)
{
	struct stat st;
	int error;

	*buf = NULL;
	*len = 0;
	if (sys_fstat(fd, &st) == -1)
		return (errno);
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > max)
		return (0);
	*len = (size_t)st.st_size;
	if ((*buf = malloc(*len + 1)) == NULL)
		return (ENOMEM);
	if ((error = sys_pread_all(fd, *buf, *len, 0)) != 0) {
		free(*buf);
		*buf = NULL;
	}
	return (error);
}

static int
load_bytes(const void *p, size_t n, uint64_t max, char **buf, size_t *len)
{

	*buf = NULL;
	*len = n;
	if (n > max)
		return (0);
	if ((*buf = malloc(n + 1)) == NULL)
		return (ENOMEM);
	if (n > 0)
		memcpy(*buf, p, n);
	return (0);
}

static int
load_link(int dir, const char *name, uint64_t max, char **buf, size_t *len)
{
	char target[PATH_MAX];
	ssize_t n;

	if ((n = sys_readlinkat(dir, name, target, sizeof(target))) == -1)
		return (errno);
	return (load_bytes(target, (size_t)n, max, buf, len));
}

static int
load_heap(int ofd, const struct rec *r, uint64_t max, char **buf,
    size_t *len)
{
	struct heap h;
	int error;

	*buf = NULL;
	*len = 0;
	if (r->m.size > max)
		return (0);
	if (r->m.size > HEAP_MAX)
		return (EIO);
	if ((error = heap_open(&h, ofd)) != 0)
		return (error);
	*len = (size_t)r->m.size;
	if ((*buf = malloc(*len + 1)) == NULL)
		error = ENOMEM;
	else
		error = heap_get(&h, r, (uint8_t *)*buf);
	if (error != 0) {
		free(*buf);
		*buf = NULL;
	}
	heap_close(&h);
	return (error);
}

/* The object of a record: kept inode, captured content or nothing. */
static int
load_object(struct undo *u, int ofd, const struct rec *r, uint64_t max,
    char **buf, size_t *len)
{
	char name[OBJ_PATHSIZE];
	int error, fd;

	if (r->type == REC_GONE && !obj_of(name, r))
		return (EIO);
	if ((r->flags & REC_HEAP) != 0)
		return (load_heap(ofd, r, max, buf, len));
	if ((r->flags & REC_INLINE) != 0 || S_ISLNK(r->m.mode & S_IFMT) ||
	    r->obj == 0 || r->m.size == 0) {
		if (r->type == REC_GONE && S_ISLNK(r->m.mode))
			return (load_link(ofd, name, max, buf, len));
		return (load_bytes(r->extra, r->extralen, max, buf, len));
	}
	*buf = NULL;
	*len = 0;
	if (!S_ISREG(r->m.mode) || r->m.size > max)
		return (0);
	if ((r->flags & REC_INDIR) != 0) {
		fd = sys_openat(ofd, name, O_RDONLY | O_NOFOLLOW, 0);
		error = fd == -1 ? errno : 0;
	} else
		error = content_open(ofd, u->trashfd, r->obj, r->m.size,
		    &fd);
	if (error != 0)
		return (error);
	error = load_fd(fd, max, buf, len);
	sys_close(fd);
	return (error);
}

static int
load_now(struct undo *u, const struct change *c, uint64_t max, char **buf,
    size_t *len, uint32_t *mode)
{
	struct stat st;
	size_t plen;
	int dir, error, fd;

	plen = path_parent(c->now, strlen(c->now));
	error = path_open(u, c->now, plen, O_RDONLY | O_DIRECTORY, &dir);
	if (error != 0)
		return (error);
	if (sys_fstatat(dir, path_name(c->now), &st) == -1)
		error = errno;
	else if (S_ISLNK(st.st_mode))
		error = load_link(dir, path_name(c->now), max, buf, len);
	else if (S_ISREG(st.st_mode)) {
		fd = sys_openat(dir, path_name(c->now), O_RDONLY |
		    O_NOFOLLOW | O_NONBLOCK, 0);
		error = fd == -1 ? errno : load_fd(fd, max, buf, len);
		if (fd != -1)
			sys_close(fd);
	}
	if (error == 0)
		*mode = (uint32_t)st.st_mode;
	sys_close(dir);
	return (error);
}

int
after_load(struct undo *u, const struct change *c, uint64_t max, char **buf,
    size_t *len, uint32_t *mode)
{
	struct journal j;
	struct rec r;
	bool damage;
	int dir, error, ofd;

	*buf = NULL;
	*len = 0;
	if (c->in == NULL)
		return (load_now(u, c, max, buf, len, mode));
	if ((ofd = place_ofd(u, c->in->place)) == -1)
		return (errno);
	if (c->in == &u->shadow)
		error = journal_read(&u->wal->j, c->off, &r);
	else {
		if ((dir = step_dir(u, c->in)) == -1) {
			sys_close(ofd);
			return (errno);
		}
		error = journal_open(&j, dir, false, &damage);
		sys_close(dir);
		if (error == 0)
			error = journal_read(&j, c->off, &r);
	}
	if (error == 0) {
		*mode = r.m.mode;
		error = load_object(u, ofd, &r, max, buf, len);
	}
	if (c->in != &u->shadow)
		journal_close(&j);
	sys_close(ofd);
	return (error);
}

int
before_load(struct undo *u, struct step *s, const struct journal *j,
    const struct change *c, uint64_t max, char **buf, size_t *len)
{
	struct rec r;
	int error, ofd;

	*buf = NULL;
	*len = 0;
	if ((error = journal_read(j, c->pre, &r)) != 0)
		return (error);
	if ((ofd = place_ofd(u, s->place)) == -1)
		return (errno);
	error = load_object(u, ofd, &r, max, buf, len);
	sys_close(ofd);
	return (error);
}
