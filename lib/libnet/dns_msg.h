/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * DNS messages, as far as the relay needs them.  Both sides are hostile: a
 * query comes from a sandbox, and an answer holds what some server on the
 * internet made up.  Nothing is passed on as it came; queries and answers
 * are decoded here, once, and built anew.
 */

#ifndef NET_DNS_MSG_H
#define NET_DNS_MSG_H

#include "net_internal.h"

#define	DNS_HEADER	12
#define	DNS_MAXMSG	65535
#define	DNS_UDPSIZE	1232		/* what we offer and accept by UDP */
#define	DNS_MAXLEARN	64

enum {
	DNS_NOERROR = 0, DNS_FORMERR = 1, DNS_SERVFAIL = 2, DNS_NXDOMAIN = 3,
	DNS_NOTIMP = 4, DNS_REFUSED = 5
};

enum {
	DNS_A = 1, DNS_NS = 2, DNS_CNAME = 5, DNS_SOA = 6, DNS_NULL = 10,
	DNS_PTR = 12, DNS_MX = 15, DNS_TXT = 16, DNS_AAAA = 28, DNS_SRV = 33,
	DNS_NAPTR = 35, DNS_OPT = 41, DNS_SVCB = 64, DNS_HTTPS = 65,
	DNS_CAA = 257
};

/* A decoded query. */
struct net_dnsq {
	uint16_t	id, type;
	bool		rd, edns;
	uint16_t	size;		/* of an answer by UDP */
	char		name[NET_NAMELEN];
	uint8_t		question[NET_NAMELEN + 8];	/* as it was sent */
	size_t		qlen;
};

/* An address that an answer gave, with its time to live in seconds. */
struct net_dnsaddr {
	struct net_addr	addr;
	uint32_t	ttl;
};

/*
 * Decode ${n} bytes at ${p} into ${q}.  Return 0; or an rcode with which to
 * answer, when the question could be read; or -1 when it deserves none.
 */
int net_dns_parse(const uint8_t *p, size_t n, struct net_dnsq *q);

/* Build the query that goes to unbound; return its length. */
size_t net_dns_ask(const struct net_dnsq *, uint16_t id, uint8_t *, size_t);

/* Build an answer of our own, with an address or without. */
size_t net_dns_reply(const struct net_dnsq *, int rcode,
    const struct net_addr *, uint32_t ttl, uint8_t *, size_t);

/*
 * Rebuild unbound's answer ${p} to the query ${q} that was sent as ${id}:
 * leave out addresses that ${ok} does not want, and keep those it wants in
 * ${got} (at most DNS_MAXLEARN, ${ngot}) if they belong to the name asked
 * for.  At most ${cap} bytes go to ${out}; what does not fit is replaced by
 * an empty answer marked truncated.  Sets ${tc} if unbound's was truncated.
 * Return the length, or 0 when the answer is not one to that query or is
 * malformed.
 */
typedef bool net_dns_ok(void *, const struct net_addr *);

size_t net_dns_rebuild(const uint8_t *p, size_t n, const struct net_dnsq *q,
    uint16_t id, net_dns_ok *ok, void *arg, uint8_t *out, size_t cap,
    struct net_dnsaddr *got, size_t *ngot, bool *tc);

/* Whether a query of this type is served at all. */
bool net_dns_type_ok(uint16_t);

#endif
