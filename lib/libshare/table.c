/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Numbers for objects that go over the wire.  Any number may come back, also
 * ones that were never given out and ones whose object is gone: finding is
 * the check.  A slot's count of uses is part of the number, so that no
 * number ever means two things.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "share_internal.h"

#define	SLOT_MASK	UINT32_C(0x3fffffff)

int
share_table_init(struct table *t, uint32_t tag, uint32_t max)
{
	int i;

	memset(t, 0, sizeof(*t));
	t->tag = tag;
	t->max = max < TABLE_CHUNK * TABLE_CHUNKS ? max :
	    TABLE_CHUNK * TABLE_CHUNKS;
	for (i = 0; i < TABLE_LOCKS; i++)
		(void)pthread_mutex_init(&t->lock[i], NULL);
	return (pthread_mutex_init(&t->grow, NULL));
}

void
share_table_fini(struct table *t)
{
	int i;

	for (i = 0; i < TABLE_CHUNKS; i++)
		free(t->chunk[i]);
	for (i = 0; i < TABLE_LOCKS; i++)
		(void)pthread_mutex_destroy(&t->lock[i]);
	(void)pthread_mutex_destroy(&t->grow);
}

static struct slot *
slot_of(struct table *t, uint32_t i)
{
	struct slot *chunk;

	if (i >= atomic_load(&t->nslots))
		return (NULL);
	chunk = atomic_load(&t->chunk[i / TABLE_CHUNK]);
	return (&chunk[i % TABLE_CHUNK]);
}

/* Take a free slot or a new one; the table's grow lock is held. */
static int
slot_take(struct table *t, uint32_t *ip)
{
	struct slot *chunk;
	uint32_t i;

	if (t->free != 0) {
		i = t->free - 1;
		t->free = slot_of(t, i)->next;
		*ip = i;
		return (0);
	}
	i = atomic_load(&t->nslots);
	if (i >= t->max)
		return (ENFILE);
	if (i % TABLE_CHUNK == 0) {
		if ((chunk = calloc(TABLE_CHUNK, sizeof(*chunk))) == NULL)
			return (ENOMEM);
		atomic_store(&t->chunk[i / TABLE_CHUNK], chunk);
	}
	atomic_store(&t->nslots, i + 1);
	*ip = i;
	return (0);
}

int
share_table_add(struct table *t, void *object, uint64_t *number)
{
	struct slot *sl;
	uint32_t i;
	int error;

	(void)pthread_mutex_lock(&t->grow);
	error = slot_take(t, &i);
	(void)pthread_mutex_unlock(&t->grow);
	if (error != 0)
		return (error);
	sl = slot_of(t, i);
	(void)pthread_mutex_lock(&t->lock[i % TABLE_LOCKS]);
	*number = (uint64_t)sl->uses << 32 | t->tag | (i + 1);
	sl->object = object;
	(void)pthread_mutex_unlock(&t->lock[i % TABLE_LOCKS]);
	atomic_fetch_add(&t->count, 1);
	return (0);
}

/* The slot that a number may mean, locked; NULL: none, nothing locked. */
static struct slot *
slot_lock(struct table *t, uint64_t number, uint32_t *ip)
{
	struct slot *sl;
	uint32_t i;

	if ((number & UINT32_MAX & ~SLOT_MASK) != t->tag ||
	    (i = (uint32_t)number & SLOT_MASK) == 0)
		return (NULL);
	i--;
	if ((sl = slot_of(t, i)) == NULL)
		return (NULL);
	(void)pthread_mutex_lock(&t->lock[i % TABLE_LOCKS]);
	if (sl->object == NULL || sl->uses != (uint32_t)(number >> 32)) {
		(void)pthread_mutex_unlock(&t->lock[i % TABLE_LOCKS]);
		return (NULL);
	}
	*ip = i;
	return (sl);
}

bool
share_table_remove(struct table *t, uint64_t number, bool (*last)(void *))
{
	struct slot *sl;
	uint32_t i;
	bool reuse;

	if ((sl = slot_lock(t, number, &i)) == NULL)
		return (false);
	if (last != NULL && !last(sl->object)) {
		(void)pthread_mutex_unlock(&t->lock[i % TABLE_LOCKS]);
		return (false);
	}
	sl->object = NULL;
	reuse = ++sl->uses != 0;
	(void)pthread_mutex_unlock(&t->lock[i % TABLE_LOCKS]);
	atomic_fetch_sub(&t->count, 1);
	if (!reuse)
		return (true);
	(void)pthread_mutex_lock(&t->grow);
	sl->next = t->free;
	t->free = i + 1;
	(void)pthread_mutex_unlock(&t->grow);
	return (true);
}

void *
share_table_find(struct table *t, uint64_t number, void (*hold)(void *))
{
	struct slot *sl;
	void *object;
	uint32_t i;

	if ((sl = slot_lock(t, number, &i)) == NULL)
		return (NULL);
	object = sl->object;
	hold(object);
	(void)pthread_mutex_unlock(&t->lock[i % TABLE_LOCKS]);
	return (object);
}

/* Whatever is in the slot ${i}; the way to visit all. */
void *
share_table_at(struct table *t, uint32_t i, void (*hold)(void *))
{
	struct slot *sl;
	void *object;

	if ((sl = slot_of(t, i)) == NULL)
		return (NULL);
	(void)pthread_mutex_lock(&t->lock[i % TABLE_LOCKS]);
	if ((object = sl->object) != NULL)
		hold(object);
	(void)pthread_mutex_unlock(&t->lock[i % TABLE_LOCKS]);
	return (object);
}
