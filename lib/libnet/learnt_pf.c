/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The time that learnt addresses have in pf's tables, which know none: a
 * list by deadline and a thread that removes what is due.  The daemon learns
 * and changes policies from its own thread; one lock guards the list and the
 * table together, so that an entry renewed is never removed by its old time.
 */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pf_freebsd.h"

struct entry {
	char		 anchor[NET_PF_ANCHOR];
	char		 table[NET_SETNAME];
	struct net_addr	 addr;
	co_moment	 until;
};

struct net_learnt {
	pthread_t	 thread;
	pthread_mutex_t	 lock;
	pthread_cond_t	 wake;
	struct entry	*entry;
	size_t		 n, cap;
	int		 dev;
	bool		 stop;
};

/* Remove what is due; return when the next one is. */
static co_moment
learnt_due(struct net_learnt *l)
{
	co_moment now = co_now(), next = CO_NEVER;
	size_t i;

	for (i = 0; i < l->n;) {
		struct entry *x = &l->entry[i];

		if (x->until > now) {
			if (x->until < next)
				next = x->until;
			i++;
			continue;
		}
		(void)net_pf_table_del(l->dev, x->anchor, x->table, &x->addr);
		*x = l->entry[--l->n];
	}
	return (next);
}

static void *
learnt_thread(void *arg)
{
	struct net_learnt *l = arg;
	struct timespec ts;
	co_moment next;

	pthread_mutex_lock(&l->lock);
	while (!l->stop) {
		next = learnt_due(l);
		if (next == CO_NEVER) {
			pthread_cond_wait(&l->wake, &l->lock);
			continue;
		}
		ts.tv_sec = (time_t)(next / 1000000000);
		ts.tv_nsec = (long)(next % 1000000000);
		pthread_cond_timedwait(&l->wake, &l->lock, &ts);
	}
	pthread_mutex_unlock(&l->lock);
	return (NULL);
}

int
net_learnt_new(struct net_learnt **out, struct co_error *e)
{
	pthread_condattr_t at;
	struct net_learnt *l;
	int err;

	if ((l = calloc(1, sizeof(*l))) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "rules"));
	if ((l->dev = net_pf_open(e)) < 0) {
		free(l);
		return (-1);
	}
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&at);
	pthread_condattr_setclock(&at, CLOCK_MONOTONIC);
	pthread_cond_init(&l->wake, &at);
	pthread_condattr_destroy(&at);
	if ((err = pthread_create(&l->thread, NULL, learnt_thread, l)) != 0) {
		pthread_cond_destroy(&l->wake);
		pthread_mutex_destroy(&l->lock);
		close(l->dev);
		free(l);
		return (co_error_errno(e, err, NULL, "can't start a thread"));
	}
	*out = l;
	return (0);
}

void
net_learnt_free(struct net_learnt *l)
{

	if (l == NULL)
		return;
	pthread_mutex_lock(&l->lock);
	l->stop = true;
	pthread_cond_signal(&l->wake);
	pthread_mutex_unlock(&l->lock);
	pthread_join(l->thread, NULL);
	pthread_cond_destroy(&l->wake);
	pthread_mutex_destroy(&l->lock);
	close(l->dev);
	free(l->entry);
	free(l);
}

static struct entry *
learnt_find(struct net_learnt *l, const char *anchor, const char *table,
    const struct net_addr *a)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (net_addr_cmp(&l->entry[i].addr, a) == 0 &&
		    strcmp(l->entry[i].table, table) == 0 &&
		    strcmp(l->entry[i].anchor, anchor) == 0)
			return (&l->entry[i]);
	return (NULL);
}

static struct entry *
learnt_room(struct net_learnt *l)
{
	size_t cap = l->cap == 0 ? 64 : l->cap * 2;
	struct entry *x;

	if (l->n == l->cap) {
		if ((x = realloc(l->entry, cap * sizeof(*x))) == NULL)
			return (NULL);
		l->entry = x;
		l->cap = cap;
	}
	x = &l->entry[l->n++];
	memset(x, 0, sizeof(*x));
	return (x);
}

static struct entry *
learnt_put(struct net_learnt *l, const char *anchor, const char *table,
    const struct net_addr *a)
{
	struct entry *x;

	if ((x = learnt_room(l)) == NULL)
		return (NULL);
	strlcpy(x->anchor, anchor, sizeof(x->anchor));
	strlcpy(x->table, table, sizeof(x->table));
	x->addr = *a;
	return (x);
}

/* A later answer never shortens the time of an earlier one. */
int
net_learnt_add(struct net_learnt *l, const char *anchor, const char *table,
    const struct net_addr *a, uint64_t ms)
{
	co_moment until = co_after((int64_t)ms);
	struct entry *x;
	int err = 0;

	pthread_mutex_lock(&l->lock);
	if ((x = learnt_find(l, anchor, table, a)) == NULL &&
	    (x = learnt_put(l, anchor, table, a)) == NULL)
		err = ENOMEM;
	if (err == 0 && x->until < until)
		x->until = until;
	if (err == 0)
		err = net_pf_table_add(l->dev, anchor, table, a);
	pthread_cond_signal(&l->wake);
	pthread_mutex_unlock(&l->lock);
	return (err);
}

int
net_learnt_adopt(struct net_learnt *l, const char *anchor, const char *table,
    uint64_t ms)
{
	struct net_prefix *list = NULL;
	struct entry *x;
	size_t i, n;
	int err;

	pthread_mutex_lock(&l->lock);
	err = net_pf_table_get(l->dev, anchor, table, &list, &n);
	for (i = 0; err == 0 && i < n; i++) {
		if (learnt_find(l, anchor, table, &list[i].addr) != NULL)
			continue;
		if ((x = learnt_put(l, anchor, table, &list[i].addr)) == NULL)
			err = ENOMEM;
		else
			x->until = co_after((int64_t)ms);
	}
	free(list);
	pthread_cond_signal(&l->wake);
	pthread_mutex_unlock(&l->lock);
	return (err);
}

void
net_learnt_drop(struct net_learnt *l, const char *anchor, const char *table)
{
	size_t i;

	pthread_mutex_lock(&l->lock);
	for (i = 0; i < l->n;)
		if (strcmp(l->entry[i].anchor, anchor) == 0 &&
		    (table == NULL || strcmp(l->entry[i].table, table) == 0))
			l->entry[i] = l->entry[--l->n];
		else
			i++;
	pthread_mutex_unlock(&l->lock);
}
