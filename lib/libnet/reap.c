/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The slow part of detaching: removing the interface, for which the kernel
 * waits until nobody uses it, and ending flows, which takes a walk through
 * the whole connection table.  A thread, begun with the first of them, does
 * both behind the caller's back, for all that have gone meanwhile at once.
 * An address does not begin its quarantine before that.
 */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "net_internal.h"

struct gone {
	struct net_lease lease;
	struct gone	*next;
};

struct net_reaper {
	pthread_t	 thread;
	pthread_mutex_t	 lock;
	pthread_cond_t	 wake, idle;
	struct gone	*waiting, *done;
	struct gone	*doing;
	bool		 begun, busy, stop;
	struct net_links *links;
	struct net_flows *flows;
};

static void
gone_free(struct gone *g)
{
	struct gone *next;

	for (; g != NULL; g = next) {
		next = g->next;
		free(g);
	}
}

/* One walk for a list; a failed one is tried again with the next. */
static int
reap_list(struct net_reaper *r, const struct gone *list)
{
	const struct net_lease **l;
	const struct gone *g;
	size_t n = 0;
	int err;

	for (g = list; g != NULL; g = g->next)
		n++;
	if ((l = calloc(n, sizeof(struct net_lease *))) == NULL)
		return (-1);
	n = 0;
	for (g = list; g != NULL; g = g->next)
		l[n++] = &g->lease;
	if ((err = net_links_reap(r->links, l, n, NULL)) == 0)
		err = net_flows_end(r->flows, l, n, NULL);
	free(l);
	return (err);
}

static void
reap_finish(struct net_reaper *r, struct gone *list, int err)
{
	struct gone **tail, *g;

	g = list;
	for (tail = &list; *tail != NULL; tail = &(*tail)->next)
		;
	if (err == 0) {
		*tail = r->done;
		r->done = g;
	} else {
		*tail = r->waiting;
		r->waiting = g;
	}
}

static void *
reap_thread(void *arg)
{
	struct net_reaper *r = arg;
	struct gone *list;
	int err;

	pthread_mutex_lock(&r->lock);
	while (!r->stop) {
		if (r->waiting == NULL) {
			r->busy = false;
			pthread_cond_broadcast(&r->idle);
			pthread_cond_wait(&r->wake, &r->lock);
			continue;
		}
		r->busy = true;
		list = r->doing = r->waiting;
		r->waiting = NULL;
		pthread_mutex_unlock(&r->lock);
		err = reap_list(r, list);
		pthread_mutex_lock(&r->lock);
		r->doing = NULL;
		reap_finish(r, list, err);
		if (err != 0) {
			r->busy = false;
			pthread_cond_broadcast(&r->idle);
			pthread_cond_wait(&r->wake, &r->lock);
		}
	}
	pthread_mutex_unlock(&r->lock);
	return (NULL);
}

int
net_reaper_new(const struct net_conf *c, const struct net_range *range,
    struct net_reaper **out, struct co_error *e)
{
	struct net_reaper *r;

	if ((r = calloc(1, sizeof(*r))) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "flows"));
	if (net_links_open(c, range, &r->links, e) != 0)
		goto err0;
	if (net_flows_open(&r->flows, e) != 0)
		goto err1;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->wake, NULL);
	pthread_cond_init(&r->idle, NULL);
	*out = r;
	return (0);
err1:
	net_links_close(r->links);
err0:
	free(r);
	return (-1);
}

/* Take over a lease that nobody uses any more. */
int
net_reaper_add(struct net_reaper *r, const struct net_lease *l)
{
	struct gone *g;

	if ((g = calloc(1, sizeof(*g))) == NULL)
		return (-1);
	g->lease = *l;
	pthread_mutex_lock(&r->lock);
	if (!r->begun) {
		r->begun = pthread_create(&r->thread, NULL, reap_thread,
		    r) == 0;
		if (!r->begun) {
			pthread_mutex_unlock(&r->lock);
			free(g);
			return (-1);
		}
	}
	g->next = r->waiting;
	r->waiting = g;
	r->busy = true;
	pthread_cond_signal(&r->wake);
	pthread_mutex_unlock(&r->lock);
	return (0);
}

static bool
gone_has(const struct gone *g, const char *id)
{

	for (; g != NULL; g = g->next)
		if (strncmp(g->lease.id, id, CO_SHORTID) == 0)
			return (true);
	return (false);
}

/* Whether an interface of this name is still on its way out. */
bool
net_reaper_has(struct net_reaper *r, const char *id)
{
	bool has;

	pthread_mutex_lock(&r->lock);
	has = gone_has(r->waiting, id) || gone_has(r->doing, id);
	pthread_mutex_unlock(&r->lock);
	return (has);
}

/*
 * Release the addresses whose flows have ended; with ${wait}, of all that
 * were added before.
 */
void
net_reaper_collect(struct net_reaper *r, struct net_pool *pool[2], bool wait)
{
	struct gone *list, *g;

	pthread_mutex_lock(&r->lock);
	while (wait && r->busy)
		pthread_cond_wait(&r->idle, &r->lock);
	list = r->done;
	r->done = NULL;
	pthread_mutex_unlock(&r->lock);
	for (g = list; g != NULL; g = g->next)
		net_pool_release(pool[g->lease.kind],
		    net_addr4_get(&g->lease.addr), co_now());
	gone_free(list);
}

void
net_reaper_free(struct net_reaper *r)
{

	if (r == NULL)
		return;
	pthread_mutex_lock(&r->lock);
	while (r->busy)
		pthread_cond_wait(&r->idle, &r->lock);
	r->stop = true;
	pthread_cond_signal(&r->wake);
	pthread_mutex_unlock(&r->lock);
	if (r->begun)
		pthread_join(r->thread, NULL);
	gone_free(r->waiting);
	gone_free(r->done);
	pthread_cond_destroy(&r->idle);
	pthread_cond_destroy(&r->wake);
	pthread_mutex_destroy(&r->lock);
	net_flows_close(r->flows);
	net_links_close(r->links);
	free(r);
}
