/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Inside the relay: dnsd.c has its loop and queries, dnsd_tcp.c connections,
 * dnsd_table.c who asks.
 */

#ifndef NET_DNSD_H
#define NET_DNSD_H

#include <sys/socket.h>

#include "dns_internal.h"

#define	DNSD_PENDING	1024
#define	DNSD_CONNS	96
#define	DNSD_PERBOX	4		/* connections of one sandbox */
#define	DNSD_LISTEN	8
#define	DNSD_WAIT	5000		/* ms for unbound */
#define	DNSD_IDLE	10000		/* ms for a connection */
#define	DNSD_BUCKETS	4096

/* A rate: so many at once, so many a second. */
struct dnsd_rate {
	double		left;
	co_moment	at;
};

struct dnsd_box {
	struct ctl_set	 who;
	struct net_policy *policy;
	struct dnsd_rate all, txt;
	int		 conns;
	struct dnsd_box	*next[2];	/* by its address, by its IPv6 one */
};

struct dnsd_conn;

/* A query on its way. */
struct dnsd_pending {
	bool		 used;
	uint16_t	 id;		/* as sent to unbound */
	struct net_dnsq	 q;
	struct net_addr	 from;
	int		 udp;		/* socket it came by, or -1 */
	struct sockaddr_storage peer;
	socklen_t	 peerlen;
	struct dnsd_conn *conn;		/* connection it came by */
	struct dnsd_conn *up;		/* connection to unbound */
	bool		 again;		/* it was asked by a connection */
	uint32_t	 serial;	/* of what the daemon is asked */
	uint8_t		*answer;	/* that waits for it */
	size_t		 alen;
	co_moment	 until;
};

/* A connection, from a sandbox or to unbound. */
struct dnsd_conn {
	int		 fd;		/* -1: free */
	bool		 up, connecting;
	struct net_addr	 from;
	struct dnsd_pending *pending;
	uint8_t		*in, *out;
	size_t		 inlen, outlen, outat;
	co_moment	 until;
};

struct dnsd {
	struct net_ctl	 ctl;
	int		 udp[DNSD_LISTEN], tcp[DNSD_LISTEN];
	int		 nudp, ntcp;
	int		 upfd;
	struct sockaddr_storage up;
	socklen_t	 uplen;
	struct dnsd_box	*box[2][DNSD_BUCKETS];
	struct dnsd_pending pending[DNSD_PENDING];
	unsigned	 npending, next;
	struct dnsd_conn conn[DNSD_CONNS];
	uint32_t	 serial;
	co_moment	 tick;
};

/* dnsd_table.c */
struct dnsd_box *dnsd_find(struct dnsd *, const struct net_addr *);
int dnsd_set(struct dnsd *, const char *, size_t);
void dnsd_drop(struct dnsd *, const struct net_addr *);
bool dnsd_may(struct dnsd_rate *, double burst, double persecond);
bool dnsd_addr(const struct sockaddr_storage *, struct net_addr *);

/* dnsd.c */
void dnsd_query(struct dnsd *, const uint8_t *, size_t,
    const struct net_addr *, int udp, const struct sockaddr_storage *,
    socklen_t, struct dnsd_conn *);
void dnsd_answer(struct dnsd *, struct dnsd_pending *, const uint8_t *,
    size_t);
void dnsd_forget(struct dnsd *, struct dnsd_pending *);
void dnsd_give(struct dnsd *, struct dnsd_pending *, const uint8_t *, size_t);

/* dnsd_tcp.c */
void dnsd_conn_accept(struct dnsd *, int fd);
int dnsd_conn_up(struct dnsd *, struct dnsd_pending *);
void dnsd_conn_event(struct dnsd *, struct dnsd_conn *, short);
void dnsd_conn_send(struct dnsd *, struct dnsd_conn *, const uint8_t *,
    size_t);
void dnsd_conn_close(struct dnsd *, struct dnsd_conn *);
short dnsd_conn_wants(const struct dnsd_conn *);

#endif
