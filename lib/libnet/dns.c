/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The daemon's side of the resolver: starts the relay, tells it who the
 * sandboxes are, and admits the addresses that it reports, after checking
 * each of them against the policy once more.
 */

#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dns_internal.h"

#define	MAXSOCKS	8

struct net_dns {
	struct net_ctl	 ctl;
	pid_t		 pid;
	bool		 dead;
};

static int
dns_socket(const struct net_addr *a, int type, int *out, struct co_error *e)
{
	struct sockaddr_storage ss;
	struct sockaddr_in *in = (void *)&ss;
	struct sockaddr_in6 *in6 = (void *)&ss;
	char s[NET_ADDRSTR];
	socklen_t len;
	int fd, one = 1;

	memset(&ss, 0, sizeof(ss));
	if (a->family == 4) {
		in->sin_family = AF_INET;
		in->sin_port = htons(53);
		memcpy(&in->sin_addr, a->b, 4);
		len = sizeof(*in);
	} else {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(53);
		memcpy(&in6->sin6_addr, a->b, 16);
		len = sizeof(*in6);
	}
	if ((fd = socket(ss.ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    0)) < 0)
		return (co_error_errno(e, errno, NULL, "resolver socket"));
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
	    bind(fd, (struct sockaddr *)&ss, len) != 0 ||
	    (type == SOCK_STREAM && listen(fd, 64) != 0)) {
		co_error_errno(e, errno, net_addr_print(a, s),
		    "can't listen on port 53 of the gateway %s; if unbound "
		    "or another resolver listens there, let it listen "
		    "elsewhere", net_addr_print(a, s));
		if (e != NULL)
			e->code = CO_ENET_DNS;
		close(fd);
		return (-1);
	}
	*out = fd;
	return (0);
}

/* First all datagram sockets, then all listening ones. */
static int
dns_sockets(struct net *n, int fd[MAXSOCKS], int *count, struct co_error *e)
{
	static const int types[2] = { SOCK_DGRAM, SOCK_STREAM };
	int i, k;

	*count = 0;
	for (k = 0; k < 2; k++)
		for (i = 0; i < 2; i++) {
			if (dns_socket(&n->range[i].gateway, types[k],
			    &fd[*count], e) != 0)
				return (-1);
			++*count;
			if (n->range[i].net6.addr.family == 0)
				continue;
			if (dns_socket(&n->range[i].gateway6, types[k],
			    &fd[*count], e) != 0)
				return (-1);
			++*count;
		}
	return (0);
}

static int
dns_spawn(struct net *n, struct net_dns *d, int ctl, const int *sock,
    int count, struct co_error *e)
{
	char addr[NET_ADDRSTR], port[8], num[16];
	const char *args[] = { "dns", addr, port, n->conf.dns_user != NULL ?
	    n->conf.dns_user : "-", num, num, NULL };
	int fd[MAXSOCKS + 1], i;

	fd[0] = ctl;
	for (i = 0; i < count; i++)
		fd[1 + i] = sock[i];
	net_addr_print(&n->range[NET_PAIR].gateway, addr);
	snprintf(port, sizeof(port), "%u", n->conf.unbound_port);
	snprintf(num, sizeof(num), "%d", count / 2);
	return (net_spawn(n->conf.helper, args, fd, count + 1, &d->pid, e));
}

static void
dns_send_set(struct net_dns *d, const struct net_sandbox *s)
{
	struct ctl_set set;
	char *text;

	memset(&set, 0, sizeof(set));
	set.addr = s->lease.addr;
	set.addr6 = s->lease.addr6;
	set.gateway = s->lease.gateway;
	set.gateway6 = s->lease.gateway6;
	if ((text = net_policy_print(s->policy)) == NULL ||
	    net_ctl_send(d->ctl.fd, CTL_SET, &set, sizeof(set), text,
	    strlen(text)) != 0)
		d->dead = true;
	free(text);
}

void
net_dns_announce(struct net *n, const struct net_sandbox *s)
{

	if (n->dns != NULL && !n->dns->dead)
		dns_send_set(n->dns, s);
}

void
net_dns_forget(struct net *n, const struct net_lease *l)
{

	if (n->dns != NULL && !n->dns->dead &&
	    net_ctl_send(n->dns->ctl.fd, CTL_DROP, &l->addr, sizeof(l->addr),
	    NULL, 0) != 0)
		n->dns->dead = true;
}

int
net_dns_start(struct net *n, struct co_error *e)
{
	struct timeval limit = { 2, 0 };
	struct net_sandbox *s;
	struct net_dns *d;
	int ctl[2], sock[MAXSOCKS] = { 0 }, count, i, r = -1;
	size_t k;

	net_dns_stop(n);
	if ((d = calloc(1, sizeof(*d))) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "resolver"));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ctl) != 0) {
		co_error_errno(e, errno, NULL, "resolver");
		free(d);
		return (-1);
	}
	/* A relay that does not listen must not hold up the daemon. */
	(void)setsockopt(ctl[0], SOL_SOCKET, SO_SNDTIMEO, &limit,
	    sizeof(limit));
	if (dns_sockets(n, sock, &count, e) == 0)
		r = dns_spawn(n, d, ctl[1], sock, count, e);
	for (i = 0; i < count; i++)
		close(sock[i]);
	close(ctl[1]);
	if (r != 0) {
		close(ctl[0]);
		free(d);
		return (-1);
	}
	d->ctl.fd = ctl[0];
	n->dns = d;
	for (k = 0; k < NET_BUCKETS; k++)
		for (s = n->bucket[k]; s != NULL; s = s->next)
			dns_send_set(d, s);
	return (0);
}

int
net_dns_fd(const struct net *n)
{

	return (n->dns == NULL ? -1 : n->dns->ctl.fd);
}

/* Enter one address for every flow that the name is allowed for. */
static int
dns_admit(struct net *n, const struct net_sandbox *s, const char *name,
    const struct net_dnsaddr *got)
{
	const struct net_policy *p = s->policy;
	const struct net_name *w = p->name[NET_ALLOW];
	uint64_t ms = (uint64_t)got->ttl * 1000;
	const struct net_flow *last = NULL;
	size_t i;

	if ((got->addr.family != 4 && got->addr.family != 6) ||
	    !net_dns_tellable(p, &got->addr))
		return (-1);
	/* One that is told as a private address needs no entry by name. */
	if (net_special(&got->addr, net_addr_bits(&got->addr)) ||
	    (got->addr.family == 6 && s->lease.addr6.family == 0))
		return (0);
	if (ms < (uint64_t)n->conf.dns_floor_ms)
		ms = (uint64_t)n->conf.dns_floor_ms;
	if (ms > 86400000)
		ms = 86400000;
	for (i = 0; i < p->nname[NET_ALLOW]; i++) {
		if (!net_name_matches(&w[i], name) ||
		    (last != NULL && net_flow_equal(last, &w[i].flow)))
			continue;
		last = &w[i].flow;
		if (net_rules_learn(n->rules, s->plan, &w[i].flow, &got->addr,
		    ms, NULL) != 0)
			return (-1);
	}
	return (0);
}

static void
dns_learn(struct net *n, const char *data, size_t len)
{
	struct ctl_learnt back = { 0, 0 };
	struct net_sandbox *s;
	struct ctl_learn l;
	uint32_t i;

	if (len != sizeof(l))
		return;
	memcpy(&l, data, sizeof(l));
	back.serial = l.serial;
	l.name[sizeof(l.name) - 1] = '\0';
	s = net_find_addr(n, &l.sandbox);
	if (s != NULL && s->policy->mode == NET_ALLOWLIST &&
	    l.n <= DNS_MAXLEARN && net_policy_resolves(s->policy, l.name)) {
		back.ok = 1;
		for (i = 0; i < l.n; i++)
			if (dns_admit(n, s, l.name, &l.got[i]) != 0)
				back.ok = 0;
	}
	if (net_ctl_send(n->dns->ctl.fd, CTL_LEARNT, &back, sizeof(back),
	    NULL, 0) != 0)
		n->dns->dead = true;
}

int
net_dns_dispatch(struct net *n, struct co_error *e)
{
	struct net_dns *d = n->dns;
	struct ctl_head h;
	const char *data;
	int type = 0;

	if (d == NULL)
		return (0);
	if (net_ctl_fill(&d->ctl) != 0)
		d->dead = true;
	while (!d->dead && (type = net_ctl_next(&d->ctl, &h, &data)) > 0) {
		if (type == CTL_LEARN)
			dns_learn(n, data, h.len);
		else if (type == CTL_TICK)
			net_rules_expire(n->rules);
		net_ctl_done(&d->ctl, &h);
	}
	if (!d->dead && type == 0)
		return (0);
	net_dns_stop(n);
	return (co_error_set(e, CO_ENET_DNS, "relay",
	    "the DNS relay has ended; sandboxes can't resolve names until it "
	    "is started again"));
}

void
net_dns_stop(struct net *n)
{
	struct net_dns *d = n->dns;

	if (d == NULL)
		return;
	n->dns = NULL;
	close(d->ctl.fd);
	d->ctl.fd = -1;
	/* It ends with its socket; one that hangs is ended. */
	if (d->dead)
		(void)kill(d->pid, SIGKILL);
	while (waitpid(d->pid, NULL, 0) < 0 && errno == EINTR)
		;
	net_ctl_free(&d->ctl);
	free(d);
}
