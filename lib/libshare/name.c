/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Where nodes were last seen: directory and name, which journals and
 * messages want.  A rename changes one pointer, whatever is below.  Names
 * are hints; whoever relies on one checks it against a descriptor.
 *
 * The names of a file change under its stripe, those of a directory under
 * all; so whoever holds the stripe of a node may walk up from it.  The way
 * up ends, even when directories are moved into each other while others
 * find them where they were: such a hint is not taken.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "share_internal.h"

int
share_names_init(struct share *s)
{
	int error, i;

	for (i = 0; i < NAME_STRIPES; i++)
		if ((error = pthread_rwlock_init(&s->names[i], NULL)) != 0)
			return (error);
	return (0);
}

void
share_names_fini(struct share *s)
{
	int i;

	for (i = 0; i < NAME_STRIPES; i++)
		(void)pthread_rwlock_destroy(&s->names[i]);
}

/* A single component that could be made: what all names must be. */
int
share_name_check(const char *name)
{
	size_t len;

	len = strlen(name);
	if (len == 0 || memchr(name, '/', len) != NULL)
		return (EINVAL);
	if (len > SHARE_NAME_MAX)
		return (ENAMETOOLONG);
	return (0);
}

static pthread_rwlock_t *
stripe(struct share *s, const struct share_node *n)
{

	return (&s->names[n->ino % NAME_STRIPES]);
}

static void
names_wrlock(struct share *s, const struct share_node *n)
{
	int i;

	if (n->type != S_IFDIR) {
		(void)pthread_rwlock_wrlock(stripe(s, n));
		return;
	}
	for (i = 0; i < NAME_STRIPES; i++)
		(void)pthread_rwlock_wrlock(&s->names[i]);
}

static void
names_unlock(struct share *s, const struct share_node *n)
{
	int i;

	if (n->type != S_IFDIR) {
		(void)pthread_rwlock_unlock(stripe(s, n));
		return;
	}
	for (i = NAME_STRIPES; i-- > 0;)
		(void)pthread_rwlock_unlock(&s->names[i]);
}

struct alias *
share_alias_new(struct share_node *dir, const char *name)
{
	struct alias *a;
	size_t size;

	size = strlen(name) + 1;
	if ((a = malloc(sizeof(*a) + size)) == NULL)
		return (NULL);
	a->next = NULL;
	a->dir = dir;
	memcpy(a->name, name, size);
	share_hold(dir);
	return (a);
}

void
share_alias_free(struct share *s, struct alias *a)
{
	struct alias *next;

	for (; a != NULL; a = next) {
		next = a->next;
		share_put(s, a->dir);
		free(a);
	}
}

static bool
alias_is(const struct alias *a, const struct share_node *dir,
    const char *name)
{

	return (a != NULL && a->dir == dir && strcmp(a->name, name) == 0);
}

/* Unlink the alias from the node and return it. */
static struct alias *
alias_take(struct share_node *n, const struct share_node *dir,
    const char *name)
{
	struct alias *a, **ap;

	for (ap = &n->names; *ap != NULL; ap = &(*ap)->next)
		if (alias_is(*ap, dir, name)) {
			a = *ap;
			*ap = a->next;
			a->next = NULL;
			return (a);
		}
	return (NULL);
}

/* Put it first; return those that are too many, or too old. */
static struct alias *
alias_push(struct share_node *n, struct alias *a)
{
	struct alias **ap, *rest;
	int i;

	a->next = n->names;
	n->names = a;
	ap = &a->next;
	for (i = 1; n->type != S_IFDIR && i < NODE_ALIASES && *ap != NULL; i++)
		ap = &(*ap)->next;
	rest = *ap;
	*ap = NULL;
	return (rest);
}

/*
 * The node on the way up from ${dir} that was last seen in ${n}; NULL: ${n}
 * is not above it.  The names of a directory are locked.
 */
static struct share_node *
below(struct share *s, const struct share_node *n, struct share_node *dir)
{
	struct share_node *at;

	for (at = dir; at != s->root && at->names != NULL;
	    at = at->names->dir)
		if (at->names->dir == n)
			return (at);
	return (NULL);
}

static bool
leads_up(struct share *s, const struct share_node *n,
    struct share_node *dir)
{

	return (n->type == S_IFDIR && (n == dir || below(s, n, dir) != NULL));
}

/* The node was found as ${name} in ${dir}.  Without memory, it was not. */
void
share_name_seen(struct share *s, struct share_node *n,
    struct share_node *dir, const char *name)
{
	struct alias *a, *old, *rest;
	bool known;

	(void)pthread_rwlock_rdlock(stripe(s, n));
	known = alias_is(n->names, dir, name);
	(void)pthread_rwlock_unlock(stripe(s, n));
	if (known || n == s->root ||
	    (a = share_alias_new(dir, name)) == NULL)
		return;
	names_wrlock(s, n);
	old = alias_take(n, dir, name);
	rest = leads_up(s, n, dir) ? a : alias_push(n, a);
	names_unlock(s, n);
	share_alias_free(s, old);
	share_alias_free(s, rest);
}

void
share_name_gone(struct share *s, struct share_node *n,
    struct share_node *dir, const char *name)
{
	struct alias *old;

	names_wrlock(s, n);
	old = alias_take(n, dir, name);
	names_unlock(s, n);
	share_alias_free(s, old);
}

void
share_name_moved(struct share *s, struct share_node *n,
    struct share_node *dir, const char *name, struct share_node *todir,
    const char *to)
{
	struct alias *a, *old, *rest, *stale;
	struct share_node *at;

	rest = stale = NULL;
	a = share_alias_new(todir, to);
	names_wrlock(s, n);
	old = alias_take(n, dir, name);
	/* This is newer than what says that it leads to itself. */
	if (n->type == S_IFDIR && (at = below(s, n, todir)) != NULL) {
		stale = at->names;
		at->names = NULL;
	}
	if (a != NULL)
		rest = alias_push(n, a);
	names_unlock(s, n);
	share_alias_free(s, old);
	share_alias_free(s, rest);
	share_alias_free(s, stale);
}

int
share_name(struct share *s, struct share_node *n, struct share_node **dir,
    char name[SHARE_NAME_MAX + 1])
{
	int error;

	error = ENOENT;
	(void)pthread_rwlock_rdlock(stripe(s, n));
	if (n->names != NULL) {
		*dir = n->names->dir;
		share_hold(*dir);
		memcpy(name, n->names->name, strlen(n->names->name) + 1);
		error = 0;
	}
	(void)pthread_rwlock_unlock(stripe(s, n));
	return (error);
}

/* From the end of the buffer backwards; its stripe is held. */
static int
path_build(struct share *s, struct share_node *n, char *buf, size_t size)
{
	const struct alias *a;
	size_t at, len;

	if (size == 0)
		return (ENAMETOOLONG);
	at = size - 1;
	buf[at] = '\0';
	for (; n != s->root; n = a->dir) {
		if ((a = n->names) == NULL)
			return (ENOENT);
		len = strlen(a->name);
		if (at < len + 1)
			return (ENAMETOOLONG);
		if (at != size - 1)
			buf[--at] = '/';
		at -= len;
		memcpy(buf + at, a->name, len);
	}
	memmove(buf, buf + at, size - at);
	return (0);
}

int
share_path(struct share *s, struct share_node *n, char *buf, size_t size)
{
	int error;

	(void)pthread_rwlock_rdlock(stripe(s, n));
	error = path_build(s, n, buf, size);
	(void)pthread_rwlock_unlock(stripe(s, n));
	return (error);
}
