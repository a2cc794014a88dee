/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The ledger of the server's own changes: when did we last touch that path?
 * Paths are kept as hashes, in a table that grows and is swept when the
 * watcher has heard everything up to some time.
 */

#include <stdlib.h>
#include <string.h>

#include "watch.h"

#define	SIZE_MIN	1024

struct entry {
	uint64_t	hash;		/* 0: free */
	co_moment	when;
};

struct ledger {
	pthread_mutex_t	 lock;
	struct entry	*entry;
	size_t		 size;		/* a power of two */
	size_t		 used;
};

/* FNV-1a; never 0. */
uint64_t
ledger_hash(const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t h = UINT64_C(14695981039346656037);

	for (; len > 0; len--)
		h = (h ^ *p++) * UINT64_C(1099511628211);
	return (h != 0 ? h : 1);
}

struct ledger *
ledger_new(void)
{
	struct ledger *l;

	if ((l = calloc(1, sizeof(*l))) == NULL)
		return (NULL);
	l->size = SIZE_MIN;
	if ((l->entry = calloc(l->size, sizeof(*l->entry))) == NULL) {
		free(l);
		return (NULL);
	}
	(void)pthread_mutex_init(&l->lock, NULL);
	return (l);
}

void
ledger_free(struct ledger *l)
{

	if (l == NULL)
		return;
	(void)pthread_mutex_destroy(&l->lock);
	free(l->entry);
	free(l);
}

static struct entry *
slot(struct entry *table, size_t size, uint64_t hash)
{
	size_t i;

	for (i = (size_t)hash & (size - 1);
	    table[i].hash != 0 && table[i].hash != hash;
	    i = (i + 1) & (size - 1))
		;
	return (&table[i]);
}

/* Move what is not older than ${when} to a table of ${size}. */
static void
rebuild(struct ledger *l, size_t size, co_moment when)
{
	struct entry *table;
	size_t i;

	if ((table = calloc(size, sizeof(*table))) == NULL)
		return;
	l->used = 0;
	for (i = 0; i < l->size; i++)
		if (l->entry[i].hash != 0 && l->entry[i].when >= when) {
			*slot(table, size, l->entry[i].hash) = l->entry[i];
			l->used++;
		}
	free(l->entry);
	l->entry = table;
	l->size = size;
}

void
ledger_add(struct ledger *l, uint64_t hash)
{
	struct entry *en;

	(void)pthread_mutex_lock(&l->lock);
	if (l->used * 2 >= l->size)
		rebuild(l, l->size * 2, 0);
	en = slot(l->entry, l->size, hash);
	if (en->hash != 0 || l->used + 1 < l->size) {
		if (en->hash == 0)
			l->used++;
		en->hash = hash;
		en->when = co_now();
	}
	(void)pthread_mutex_unlock(&l->lock);
}

bool
ledger_has(struct ledger *l, uint64_t hash)
{
	bool has;

	(void)pthread_mutex_lock(&l->lock);
	has = slot(l->entry, l->size, hash)->hash == hash;
	(void)pthread_mutex_unlock(&l->lock);
	return (has);
}

void
ledger_expire(struct ledger *l, co_moment when)
{
	size_t live, i, size;

	(void)pthread_mutex_lock(&l->lock);
	if (l->used > 0) {
		for (i = live = 0; i < l->size; i++)
			if (l->entry[i].hash != 0 && l->entry[i].when >= when)
				live++;
		for (size = SIZE_MIN; size < live * 4; size *= 2)
			;
		if (live < l->used)
			rebuild(l, size, when);
	}
	(void)pthread_mutex_unlock(&l->lock);
}
