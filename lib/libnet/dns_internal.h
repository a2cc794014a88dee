/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Between the files of the resolver: dns.c in the daemon, dnsd.c in the
 * relay, dns_rules.c in both, unbound.c for the server behind them.
 */

#ifndef NET_DNS_INTERNAL_H
#define NET_DNS_INTERNAL_H

#include "dns_msg.h"

/*
 * Messages between daemon and relay, on a stream socket: a header, then
 * ${len} bytes.  Both are of one build, so structs go as they are; lengths
 * are checked all the same.
 */
enum net_ctl_type {
	CTL_SET = 1,		/* to the relay: struct ctl_set, policy text */
	CTL_DROP,		/* to the relay: struct net_addr */
	CTL_LEARN,		/* from it: struct ctl_learn */
	CTL_LEARNT,		/* to it: struct ctl_learnt */
	CTL_TICK		/* from it, about every second: nothing */
};

#define	CTL_MAX		(1024 * 1024)

struct ctl_head {
	uint32_t	len, type;
};

struct ctl_set {
	struct net_addr	addr, addr6, gateway, gateway6;
};

struct ctl_learn {
	uint32_t	serial;
	struct net_addr	sandbox;
	char		name[NET_NAMELEN];
	uint32_t	n;
	struct net_dnsaddr got[DNS_MAXLEARN];
};

struct ctl_learnt {
	uint32_t	serial;
	uint32_t	ok;
};

/* A stream of messages, read piece by piece. */
struct net_ctl {
	int		 fd;
	char		*buf;
	size_t		 len, cap;
};

/* Read what is there; 0, or -1 at the end or on an error. */
int net_ctl_fill(struct net_ctl *);
/*
 * Point ${data} to the next complete message and return its type; 0 when
 * there is none yet, -1 when the stream makes no sense.
 */
int net_ctl_next(struct net_ctl *, struct ctl_head *, const char **data);
void net_ctl_done(struct net_ctl *, const struct ctl_head *);
int net_ctl_send(int fd, uint32_t type, const void *, size_t, const void *,
    size_t);
void net_ctl_free(struct net_ctl *);

/* What to do with a query. */
enum net_dns_verdict {
	DNS_V_FORWARD, DNS_V_GATEWAY, DNS_V_NXDOMAIN, DNS_V_REFUSED
};

enum net_dns_verdict net_dns_decide(const struct net_policy *,
    const struct net_dnsq *);
/* Whether an answer may tell this sandbox this address. */
bool net_dns_tellable(const struct net_policy *, const struct net_addr *);

int net_dnsd_main(int, char **);

int net_unbound_install(struct net *, struct co_error *);
bool net_unbound_there(const struct net *);
int net_unbound_remove(struct net *, struct co_error *);
void net_unbound_check(struct net *, net_finding *, void *);

#endif
