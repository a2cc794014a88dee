/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The smoke test's sandbox on FreeBSD: a jail with a network stack of its
 * own, made for the purpose, and a child that probes from inside.
 */

#include <sys/param.h>
#include <sys/jail.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "deadman.h"

static void
param(struct iovec *v, const char *name, const void *value, size_t len)
{

	v[0].iov_base = (void *)(uintptr_t)name;
	v[0].iov_len = strlen(name) + 1;
	v[1].iov_base = (void *)(uintptr_t)value;
	v[1].iov_len = len;
}

static int
visitor_jail(const char *id, struct co_error *e)
{
	char name[32], why[256] = "";
	int32_t vnet = 1;	/* "new" */
	struct iovec v[12];
	int jid;

	snprintf(name, sizeof(name), "coppice-smoke-%.12s", id);
	param(v, "name", name, strlen(name) + 1);
	param(v + 2, "path", "/", 2);
	param(v + 4, "persist", NULL, 0);
	param(v + 6, "vnet", &vnet, sizeof(vnet));
	param(v + 8, "allow.raw_sockets", NULL, 0);
	param(v + 10, "errmsg", why, sizeof(why));
	if ((jid = jail_set(v, nitems(v), JAIL_CREATE)) < 0)
		return (co_error_errno(e, errno, name,
		    "smoke test: no jail: %s", why));
	return (jid);
}

/* What the child found, in one write: no more than a pipe takes at once. */
struct verdict {
	int		 result;
	struct co_error	 e;
};

static int
visit(int jid, const struct net_lease *l, const struct net_smoke *s,
    struct co_error *e)
{
	struct verdict v;
	size_t at = 0;
	ssize_t n;
	pid_t pid;
	int p[2];

	memset(&v, 0, sizeof(v));
	if (pipe2(p, O_CLOEXEC) != 0)
		return (co_error_errno(e, errno, NULL, "smoke test"));
	if ((pid = fork()) < 0) {
		close(p[0]);
		close(p[1]);
		return (co_error_errno(e, errno, NULL, "smoke test"));
	}
	if (pid == 0) {
		/* A jail admits nobody who holds a directory open. */
		if (p[1] != 3)
			(void)dup2(p[1], 3);
		closefrom(4);
		if (jail_attach(jid) != 0)
			v.result = co_error_errno(&v.e, errno, NULL,
			    "smoke test: can't enter the jail");
		else
			v.result = net_smoke_probe(l, s, &v.e);
		(void)co_write_all(3, &v, sizeof(v));
		_exit(0);
	}
	close(p[1]);
	while (at < sizeof(v)) {
		n = read(p[0], (char *)&v + at, sizeof(v) - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	close(p[0]);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (at < sizeof(v))
		return (co_error_set(e, CO_ENET_RULES, "smoke test",
		    "smoke test: the probe died"));
	if (v.result != 0 && e != NULL)
		*e = v.e;
	return (v.result);
}

int
net_smoke_inside(struct net *n, const struct net_smoke *s,
    struct co_error *e)
{
	struct net_policy p;
	struct net_attach a;
	struct net_lease l;
	char id[CO_IDSIZE];
	int jid, r = -1;

	co_id_make(id);
	if ((jid = visitor_jail(id, e)) < 0)
		return (-1);
	memset(&p, 0, sizeof(p));
	p.mode = NET_OPEN;
	memset(&a, 0, sizeof(a));
	a.id = id;
	a.kind = NET_PAIR;
	a.netns = -1;
	a.jid = jid;
	a.policy = &p;
	if (net_attach(n, &a, &l, e) == 0) {
		r = visit(jid, &l, s, e);
		(void)jail_remove(jid);
		(void)net_detach(n, id, NULL);
		net_settle(n);
	} else
		(void)jail_remove(jid);
	return (r);
}
