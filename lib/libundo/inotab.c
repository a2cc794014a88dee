/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Two compact hash tables of inodes, with linear probing.  A step of hundred
 * thousands of files has an entry for each of them, so nothing but numbers
 * is kept.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "undo_internal.h"

#define	FIRST	64

static uint32_t
fold(uint64_t dev)
{

	return ((uint32_t)((dev * UINT64_C(0x9E3779B97F4A7C15)) >> 32));
}

static size_t
hash(uint64_t ino, uint32_t dev, size_t size)
{
	uint64_t h;

	h = (ino ^ (uint64_t)dev << 40) * UINT64_C(0x9E3779B97F4A7C15);
	return ((size_t)(h >> 20) & (size - 1));
}

static struct ino_entry *
ino_probe(const struct inotab *t, uint64_t ino, uint32_t dev)
{
	size_t i;

	for (i = hash(ino, dev, t->size);; i = (i + 1) & (t->size - 1))
		if (t->slot[i].flags == 0 ||
		    (t->slot[i].ino == ino && t->slot[i].dev == dev))
			return (&t->slot[i]);
}

uint32_t
inotab_get(const struct inotab *t, uint64_t dev, uint64_t ino)
{

	if (t->size == 0)
		return (0);
	return (ino_probe(t, ino, fold(dev))->flags);
}

static int
ino_grow(struct inotab *t)
{
	struct inotab n;
	size_t i;

	n.size = t->size == 0 ? FIRST : t->size * 2;
	n.used = t->used;
	if ((n.slot = calloc(n.size, sizeof(*n.slot))) == NULL)
		return (ENOMEM);
	for (i = 0; i < t->size; i++)
		if (t->slot[i].flags != 0)
			*ino_probe(&n, t->slot[i].ino, t->slot[i].dev) =
			    t->slot[i];
	free(t->slot);
	*t = n;
	return (0);
}

int
inotab_add(struct inotab *t, uint64_t dev, uint64_t ino, uint32_t flags)
{
	struct ino_entry *e;
	int error;

	if (t->used + 1 > t->size / 4 * 3 && (error = ino_grow(t)) != 0)
		return (error);
	e = ino_probe(t, ino, fold(dev));
	if (e->flags == 0) {
		e->ino = ino;
		e->dev = fold(dev);
		t->used++;
	}
	e->flags |= flags;
	return (0);
}

void
inotab_del(struct inotab *t, uint64_t dev, uint64_t ino)
{
	struct ino_entry *e, moved;
	size_t i;

	if (t->size == 0)
		return;
	e = ino_probe(t, ino, fold(dev));
	if (e->flags == 0)
		return;
	e->flags = 0;
	t->used--;
	/* Put what probed past the hole back in its place. */
	i = (size_t)(e - t->slot);
	for (i = (i + 1) & (t->size - 1); t->slot[i].flags != 0;
	    i = (i + 1) & (t->size - 1)) {
		moved = t->slot[i];
		t->slot[i].flags = 0;
		*ino_probe(t, moved.ino, moved.dev) = moved;
	}
}

void
inotab_free(struct inotab *t)
{

	free(t->slot);
	memset(t, 0, sizeof(*t));
}

/*
 * Kept links: several entries of one inode stand in one run.
 */
static void
kept_put(struct kepttab *t, const struct kept_entry *e)
{
	size_t i;

	i = hash(e->ino, e->dev, t->size);
	while (t->slot[i].obj != 0)
		i = (i + 1) & (t->size - 1);
	t->slot[i] = *e;
}

static int
kept_grow(struct kepttab *t)
{
	struct kepttab n;
	size_t i;

	n.size = t->size == 0 ? FIRST : t->size * 2;
	n.used = t->used;
	if ((n.slot = calloc(n.size, sizeof(*n.slot))) == NULL)
		return (ENOMEM);
	for (i = 0; i < t->size; i++)
		if (t->slot[i].obj != 0)
			kept_put(&n, &t->slot[i]);
	free(t->slot);
	*t = n;
	return (0);
}

int
kept_add(struct kepttab *t, uint64_t dev, uint64_t ino, uint64_t place,
    uint32_t obj)
{
	struct kept_entry e = { ino, fold(dev), obj, place };
	int error;

	if (t->used + 1 > t->size / 4 * 3 && (error = kept_grow(t)) != 0)
		return (error);
	kept_put(t, &e);
	t->used++;
	return (0);
}

void
kept_del(struct kepttab *t, uint64_t dev, uint64_t ino, uint64_t place,
    uint32_t obj)
{
	struct kept_entry moved;
	size_t i;

	if (t->size == 0)
		return;
	for (i = hash(ino, fold(dev), t->size);; i = (i + 1) & (t->size - 1)) {
		if (t->slot[i].obj == 0)
			return;
		if (t->slot[i].ino == ino && t->slot[i].dev == fold(dev) &&
		    t->slot[i].place == place && t->slot[i].obj == obj)
			break;
	}
	t->slot[i].obj = 0;
	t->used--;
	for (i = (i + 1) & (t->size - 1); t->slot[i].obj != 0;
	    i = (i + 1) & (t->size - 1)) {
		moved = t->slot[i];
		t->slot[i].obj = 0;
		kept_put(t, &moved);
	}
}

bool
kept_find(const struct kepttab *t, uint64_t dev, uint64_t ino, uint32_t n,
    uint64_t *place, uint32_t *obj)
{
	size_t i;

	if (t->size == 0)
		return (false);
	for (i = hash(ino, fold(dev), t->size); t->slot[i].obj != 0;
	    i = (i + 1) & (t->size - 1)) {
		if (t->slot[i].ino != ino || t->slot[i].dev != fold(dev))
			continue;
		if (n-- > 0)
			continue;
		*place = t->slot[i].place;
		*obj = t->slot[i].obj;
		return (true);
	}
	return (false);
}

uint32_t
kept_count(const struct kepttab *t, uint64_t dev, uint64_t ino)
{
	uint64_t place;
	uint32_t n, obj;

	for (n = 0; kept_find(t, dev, ino, n, &place, &obj); n++)
		;
	return (n);
}

void
kept_free(struct kepttab *t)
{

	free(t->slot);
	memset(t, 0, sizeof(*t));
}
