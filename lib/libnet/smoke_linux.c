/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The smoke test's sandbox on Linux: a thread in a network namespace of its
 * own, which ends with it.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "deadman.h"

enum { V_START, V_READY, V_GO, V_LEAVE };

struct visitor {
	pthread_mutex_t	 lock;
	pthread_cond_t	 turn;
	int		 state;
	int		 netns, err, result;
	struct net_lease lease;
	const struct net_smoke *smoke;
	struct co_error	*e;
};

static void
visitor_say(struct visitor *v, int state)
{

	pthread_mutex_lock(&v->lock);
	v->state = state;
	pthread_cond_broadcast(&v->turn);
	pthread_mutex_unlock(&v->lock);
}

static int
visitor_await(struct visitor *v, int state)
{
	int now;

	pthread_mutex_lock(&v->lock);
	while (v->state < state)
		pthread_cond_wait(&v->turn, &v->lock);
	now = v->state;
	pthread_mutex_unlock(&v->lock);
	return (now);
}

static void *
visitor_thread(void *arg)
{
	struct visitor *v = arg;

	if (unshare(CLONE_NEWNET) != 0)
		v->err = errno;
	else if ((v->netns = open("/proc/thread-self/ns/net",
	    O_RDONLY | O_CLOEXEC)) < 0)
		v->err = errno;
	visitor_say(v, V_READY);
	if (v->err != 0 || visitor_await(v, V_GO) == V_LEAVE)
		return (NULL);
	v->result = net_smoke_probe(&v->lease, v->smoke, v->e);
	return (NULL);
}

static int
visit(struct net *n, struct visitor *v, struct co_error *e)
{
	struct net_policy p;
	struct net_attach a;
	char id[CO_IDSIZE];

	memset(&p, 0, sizeof(p));
	p.mode = NET_OPEN;
	co_id_make(id);
	memset(&a, 0, sizeof(a));
	a.id = id;
	a.kind = NET_PAIR;
	a.netns = v->netns;
	a.policy = &p;
	if (net_attach(n, &a, &v->lease, e) != 0)
		return (-1);
	visitor_say(v, V_GO);
	return (0);
}

int
net_smoke_inside(struct net *n, const struct net_smoke *s,
    struct co_error *e)
{
	struct visitor v = { .state = V_START, .netns = -1, .result = -1 };
	pthread_t thread;
	int err, r;

	pthread_mutex_init(&v.lock, NULL);
	pthread_cond_init(&v.turn, NULL);
	v.smoke = s;
	v.e = e;
	if ((err = pthread_create(&thread, NULL, visitor_thread, &v)) != 0)
		return (co_error_errno(e, err, NULL, "smoke test"));
	visitor_await(&v, V_READY);
	if (v.err != 0)
		co_error_errno(e, v.err, NULL, "smoke test: no namespace");
	else if (visit(n, &v, e) != 0)
		visitor_say(&v, V_LEAVE);
	pthread_join(thread, NULL);
	r = v.result;
	if (v.lease.id[0] != '\0') {
		(void)net_detach(n, v.lease.id, NULL);
		net_settle(n);
	}
	if (v.netns >= 0)
		close(v.netns);
	pthread_cond_destroy(&v.turn);
	pthread_mutex_destroy(&v.lock);
	return (r);
}
