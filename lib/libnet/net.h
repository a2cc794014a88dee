/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * libnet: the network of coppice.  Every sandbox has an address of its own,
 * reaches what its policy allows and nothing else, and no mistake made here
 * locks the operator out of the host.
 *
 * The picture:
 *
 *	 sandbox            host                                outside
 *	+--------+   pair  +-------------+  forward   +------+
 *	|  eth0 =|=========|= cp<12 hex> |            |uplink|--- internet
 *	+--------+         | coppicenet0 |--- NAT ----|      |--- LAN
 *	+--------+   tap   |  10.78.0.1  |            +------+
 *	| VM  = =|=========|= cubenet0   |
 *	+--------+         |  10.77.0.1  |--- relay :53 --- unbound
 *	                   +-------------+
 *
 * A sandbox is attached (net_attach), given another policy while it runs
 * (net_policy_set) and detached (net_detach).  Whatever is made in the
 * kernel for it carries its id: the interface in its name and label, the
 * rules in their names.  So nothing has to be kept by this library across a
 * restart: the owner hands in its records and net_reconcile() makes the
 * kernel agree with them.
 *
 * Rules live in pf anchors cube/sandbox-<12 hex> (FreeBSD) or in chains of
 * the tables "inet coppice" and "bridge coppice" (Linux).  Both are written
 * from the same plan, and both start from "nothing passes".
 *
 * Threads: a struct net and all that hangs on it is for one thread at a
 * time.  Functions that take no struct net are safe from any thread.  The
 * library never prints; it logs to the co_log of its configuration.
 * Descriptors that it opens are close-on-exec.
 */

#ifndef NET_H
#define NET_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coppice.h"

/*
 * Addresses.
 */
#define	NET_ADDRSTR	46		/* room for one in text */
#define	NET_IFNAME	16		/* room for an interface's name */
#define	NET_MACLEN	6

/* An IPv4 address in b[0..3] or an IPv6 one, in network order. */
struct net_addr {
	uint8_t		family;		/* 4, 6, or 0 for none */
	uint8_t		b[16];
};

/**
 * net_addr_parse(s, a):
 * Read the IPv4 or IPv6 address ${s}, without zone or prefix, into ${a}.
 * Return 0, or -1 if it is not one.
 */
int net_addr_parse(const char *, struct net_addr *);

/**
 * net_addr_print(a, buf):
 * Write ${a} in its shortest form, or "-" when there is none; return ${buf}.
 */
const char *net_addr_print(const struct net_addr *, char[NET_ADDRSTR]);

/*
 * Policy.
 *
 * NET_OPEN	 the internet, but not private ranges, the LAN, the host or
 *		 other sandboxes
 * NET_ALLOWLIST only what the allow list names
 * NET_AIRGAP	 only the services of the gateway
 * NET_DISABLED	 nothing, not even the gateway
 *
 * Deny wins over allow.  An allow entry opens a part of a private range only
 * if it lies within one: "allow 0.0.0.0/0" does not open the LAN, "allow
 * 192.168.1.7" does.  An address of the host itself other than the gateway's
 * is opened only by naming it alone (/32 or /128).  No entry opens a way to
 * another sandbox.
 *
 * A name in the allow list permits the addresses that our resolver gave
 * this sandbox for it, for as long as the answer's time to live; names match
 * in open mode too (there they decide nothing but the rebinding filter).  A
 * name in the deny list does not resolve.
 *
 * Rates are bits per second as seen by the sandbox, enforced where its
 * packets pass the host; zero means no limit.
 */
enum net_mode {
	NET_OPEN, NET_ALLOWLIST, NET_AIRGAP, NET_DISABLED
};

enum net_list {
	NET_ALLOW, NET_DENY
};

#define	NET_NAMELEN	254		/* a domain name in text, with NUL */
#define	NET_MAXENTRIES	1024		/* of one list of one policy */

/* What a list entry says of transport: proto 0 is any, ports inclusive. */
struct net_flow {
	uint8_t		proto;
	uint16_t	lo, hi;		/* 0 and 65535: any port, or none */
};

struct net_dest {
	struct net_addr	addr;		/* host bits are zero */
	uint8_t		plen;
	struct net_flow	flow;
};

struct net_name {
	char		name[NET_NAMELEN]; /* lower case, no final dot */
	bool		below;		/* "*.name": names below it, not it */
	struct net_flow	flow;
};

struct net_policy {
	enum net_mode	 mode;
	struct net_dest	*dest[2];	/* by enum net_list; sorted, unique */
	size_t		 ndest[2];
	struct net_name	*name[2];
	size_t		 nname[2];
	uint64_t	 up, down;	/* bits per second; 0: no limit */
	bool		 forwards;	/* may be reached by port forwards */
};

/**
 * net_policy_new(mode):
 * Return a policy with empty lists, or NULL when out of memory.
 */
struct net_policy *net_policy_new(enum net_mode);

/**
 * net_policy_copy(p):
 * Return a copy of ${p}, or NULL when out of memory.
 */
struct net_policy *net_policy_copy(const struct net_policy *);

/**
 * net_policy_add(p, list, entry, e):
 * Add ${entry} to ${list}: an address or range with optional port and
 * protocol, or a domain name with the same.
 *
 *	198.51.100.7		198.51.100.0/24:443/tcp
 *	2001:db8::/32		[2001:db8::1]:8000-8099/udp
 *	example.org		*.example.org:443/tcp
 *
 * Protocols are tcp, udp, icmp, sctp or a number; a port without a protocol
 * means tcp and udp, and adds an entry for each.  Host bits behind the
 * prefix, ports of a protocol that has none, and loopback or multicast
 * addresses in the allow list are refused.
 */
int net_policy_add(struct net_policy *, enum net_list, const char *,
    struct co_error *);

/**
 * net_policy_parse(text, len, p, e):
 * Read a policy from ${len} bytes of lines "mode M", "allow ENTRY", "deny
 * ENTRY", "up RATE", "down RATE" and "forwards yes|no"; blank lines and
 * lines that start with '#' are skipped.  RATE is in bits per second with an
 * optional k, m or g (powers of ten).  Store it in ${p}, which the caller
 * frees.  The message of a failure names the line.
 */
int net_policy_parse(const char *, size_t, struct net_policy **,
    struct co_error *);

/**
 * net_policy_print(p):
 * Return the canonical text of ${p} in malloc'd memory, which
 * net_policy_parse() reads back to an equal policy; NULL when out of memory.
 */
char *net_policy_print(const struct net_policy *);

/**
 * net_policy_equal(a, b):
 * Tell whether both permit exactly the same by the same entries.
 */
bool net_policy_equal(const struct net_policy *, const struct net_policy *);

/**
 * net_policy_permits(p, dst, proto, port):
 * Tell whether ${p} lets a sandbox open a flow through the host to ${dst}
 * by its ranges alone (names are not considered).
 */
bool net_policy_permits(const struct net_policy *, const struct net_addr *,
    uint8_t, uint16_t);

/**
 * net_policy_resolves(p, name):
 * Tell whether ${p} lets its sandbox resolve ${name} (text, any case).
 */
bool net_policy_resolves(const struct net_policy *, const char *);

const char *net_mode_name(enum net_mode);
int net_mode_parse(const char *, enum net_mode *);
void net_policy_free(struct net_policy *);

/*
 * Configuration.  Strings are borrowed and must outlive the struct net.
 */
enum net_kind {
	NET_PAIR,	/* jails and namespaces: epair or veth */
	NET_TAP		/* virtual machines */
};

/* One bridge and its range.  IPv4 ranges are /16 to /29. */
struct net_subnet {
	const char	*bridge;	/* "coppicenet0" */
	const char	*range;		/* "10.78.0.0/24" */
	const char	*gateway;	/* NULL: the first address, .1 */
	const char	*first, *last;	/* NULL: .10 and, in a /24, .250 */
	const char	*reserved;	/* "10.78.0.40-10.78.0.49 10.78.0.99" */
	const char	*range6;	/* a /64, or NULL: no IPv6 here */
	const char	*key;		/* configuration key, for messages */
};

/* A service on the gateway that sandboxes may reach. */
struct net_service {
	uint8_t		proto;
	uint16_t	port;
};

struct net_conf {
	const char	*instance;	/* "coppice": names the nft tables */
	const char	*anchor;	/* "cube": names the pf anchors */
	const char	*prefix;	/* "cp": begins interface names */
	const char	*statedir;	/* "/var/db/coppice/net" */
	struct net_subnet subnet[2];	/* by enum net_kind */
	bool		 ip6;		/* give out IPv6 at all */
	int		 quarantine_ms;	/* default 5000 */
	const char	*uplink;	/* NULL: found by the default route */
	const struct net_service *service;	/* default: DNS, 49983 */
	size_t		 nservice;
	const char	*inner;		/* interface name in a sandbox */

	const char	*unbound_dir;	/* directory of fragments */
	const char	*unbound_main;	/* main file, read only */
	uint16_t	 unbound_port;	/* on the gateway; default 5335 */
	const char	*forwarders;	/* "192.0.2.53 2001:db8::53"; NULL */
	const char *const *unbound_check;   /* argv, takes the main file */
	const char *const *unbound_reload;  /* argv to reload it; NULL: none */
	const char *const *unbound_restart; /* argv to restart it */
	const char	*dns_user;	/* the relay runs as; NULL: as we are */
	int		 dns_floor_ms;	/* shortest life of a learnt address */

	const char	*pf_conf;	/* "/etc/pf.conf" */
	const char *const *helper;	/* argv of a program that calls
					   net_helper_main() on the rest */
	int		 deadman_ms;	/* default 30000 */
	struct co_log	*log;		/* may be NULL */
};

/**
 * net_conf_default(c):
 * Fill ${c} with the defaults of coppice.conf(5).
 */
void net_conf_default(struct net_conf *);

/*
 * The network itself.
 */
struct net;

/**
 * net_open(c, n, e):
 * Check ${c}, open the kernel's interfaces and store a handle in ${n}.
 * Changes nothing in the kernel.  Every address counts as free until
 * net_reconcile() has been called, which must come first after a restart.
 */
int net_open(const struct net_conf *, struct net **, struct co_error *);

/**
 * net_close(n):
 * Free ${n}; attached sandboxes stay attached.  NULL is fine.
 */
void net_close(struct net *);

/*
 * What a sandbox got.  The owner keeps it in the sandbox's record and hands
 * it back to net_reconcile().
 */
struct net_lease {
	char		id[CO_IDSIZE];
	enum net_kind	kind;
	struct net_addr	addr, gateway;
	uint8_t		plen;
	struct net_addr	addr6, gateway6;	/* family 0: no IPv6 */
	uint8_t		plen6;
	uint8_t		mac[NET_MACLEN];	/* of the sandbox's end */
	char		ifname[NET_IFNAME];	/* host's end */
	char		inner[NET_IFNAME];	/* sandbox's end, of a pair */
	char		device[NET_IFNAME];	/* node in /dev of a tap */
};

/* What to attach. */
struct net_attach {
	const char	*id;		/* 32 hex digits */
	enum net_kind	 kind;
	int		 netns;		/* Linux pair: descriptor of the
					   sandbox's network namespace */
	int		 jid;		/* FreeBSD pair: the vnet jail */
	uid_t		 owner;		/* tap: who may open it */
	const struct net_addr *want;	/* this address, or NULL: any */
	const struct net_policy *policy;
};

/**
 * net_attach(n, a, l, e):
 * Give the sandbox ${a}->id an address, load its rules and read them back,
 * make its interface and, for a pair, configure the other end inside the
 * sandbox (address, routes, loopback) after the hand-off.  Fill in ${l}.
 * Rules come before the interface, so there is no moment at which a packet
 * could pass unfiltered.  On failure nothing is left behind.
 *
 * CO_ENET_EXHAUSTED when the pool is empty, CO_ENET_INUSE when the id (or
 * its first twelve digits) or the wanted address is taken.
 */
int net_attach(struct net *, const struct net_attach *, struct net_lease *,
    struct co_error *);

/**
 * net_detach(n, id, e):
 * Remove the rules, the interface and the flows of ${id}, and put its
 * address into quarantine.  The sandbox's processes (jail, namespace, VM)
 * should be gone already.  When this returns nothing passes any more; the
 * kernel's slow part of the work goes on in a thread of the library.  An id
 * that is not attached is no error.
 */
int net_detach(struct net *, const char *, struct co_error *);

/**
 * net_settle(n):
 * Wait until everything that was detached is really gone from the kernel.
 */
void net_settle(struct net *);

/**
 * net_policy_set(n, id, p, e):
 * Replace the policy of ${id} in one transaction.  Established flows that
 * ${p} still allows go on undisturbed; all others end.  On failure the old
 * policy is in force.
 */
int net_policy_set(struct net *, const char *, const struct net_policy *,
    struct co_error *);

/* Traffic as the sandbox sees it, since it was attached. */
struct net_counters {
	uint64_t	in_packets, in_bytes;
	uint64_t	out_packets, out_bytes;
	uint64_t	blocked_packets, blocked_bytes;
};

/**
 * net_counters(n, id, c, e):
 * Read the counters of ${id} into ${c}.
 */
int net_counters(struct net *, const char *, struct net_counters *,
    struct co_error *);

/**
 * net_lease_get(n, id, l):
 * Copy the lease of ${id} to ${l}; return 0, or -1 if it is not attached.
 */
int net_lease_get(const struct net *, const char *, struct net_lease *);

/**
 * net_policy_get(n, id):
 * Return the policy in force for ${id}, or NULL; it lives until the next
 * call that changes it.
 */
const struct net_policy *net_policy_get(const struct net *, const char *);

/* Addresses of one pool. */
struct net_usage {
	unsigned	total, live, quarantined, foreign;
};

void net_usage(const struct net *, enum net_kind, struct net_usage *);

/**
 * net_cmdline(l, buf, size):
 * Write the kernel command line words that tell a VM its address:
 * "coppice.ip=10.77.0.10 coppice.gw=10.77.0.1 coppice.mask=24", and
 * coppice.ip6, coppice.gw6, coppice.mask6 when it has IPv6.  Return 0, or
 * -1 if ${size} is too small.
 */
int net_cmdline(const struct net_lease *, char *, size_t);

/*
 * Restart.
 */
struct net_record {
	struct net_lease lease;
	const struct net_policy *policy;
	bool		 alive;		/* its jail, namespace or VM runs */
};

/* What net_reconcile() found and did. */
struct net_report {
	unsigned	kept;		/* complete, or completed */
	unsigned	remade;		/* rules missing or different */
	unsigned	lost;		/* alive, but the interface is gone */
	unsigned	removed;	/* interfaces and rules of nobody */
	unsigned	foreign;	/* addresses used by somebody else */
};

/**
 * net_reconcile(n, r, nr, rep, e):
 * Make the kernel and the pools agree with the ${nr} records at ${r}:
 * records that are alive keep their address, interface and flows and get
 * their rules verified or remade; everything else that carries our labels
 * is removed; addresses that others use on our bridges are set aside.  A
 * record of which the interface is gone is counted as lost, keeps its
 * address, and is the caller's to detach.  Called once after net_open(), and
 * again whenever in doubt; it changes nothing when all is well.
 */
int net_reconcile(struct net *, const struct net_record *, size_t,
    struct net_report *, struct co_error *);

/*
 * The host.
 *
 * net_setup() makes the bridges, turns forwarding on, loads the rules that
 * all sandboxes share and configures unbound; everything is recorded in the
 * state directory, so that net_teardown() restores what was there before.
 * Both can be repeated at will.
 *
 * Changes of what the host shares (pf's main rules, our base tables, the
 * forwarding switch) are made under a dead-man switch: a process of its own,
 * started before the change, puts the previous state back unless the change
 * is confirmed in time by a smoke test that sends real packets.  Whoever is
 * killed, and whenever, either the old or the confirmed new state remains.
 */
struct net_smoke {
	const char	*target;	/* "192.0.2.1:443": reached through the
					   bridge and NAT; NULL: gateway only */
	const char	*name;		/* resolved through the gateway; NULL */
	const char	*operator;	/* address that must answer a ping from
					   the host, as it did before; NULL */
	int		 timeout_ms;	/* of each probe; default 3000 */
};

struct net_setup {
	const struct net_smoke *smoke;	/* NULL: the gateway only */
	bool		 dns;		/* write unbound's fragment, too */
	/* Called instead of the smoke test when not NULL. */
	int		(*probe)(struct net *, void *, struct co_error *);
	void		*arg;
};

/**
 * net_setup(n, s, e):
 * Set the host up.  If nothing had to be changed no rule is touched and no
 * dead-man switch is armed.  CO_ENET_REVERTED when the smoke test failed and
 * the previous state was put back; the message says which probe failed.
 */
int net_setup(struct net *, const struct net_setup *, struct co_error *);

/**
 * net_teardown(n, s, e):
 * Undo net_setup(), under the same switch; of ${s}, which may be NULL, only
 * the operator matters.  Refused with CO_ENET_INUSE while sandboxes are
 * attached.
 */
int net_teardown(struct net *, const struct net_smoke *, struct co_error *);

/* One finding of net_check(), for "coppicectl doctor" and "net show". */
enum net_health {
	NET_GOOD, NET_WARN, NET_BAD
};

typedef void net_finding(void *, enum net_health, const char *name,
    const char *message);

/**
 * net_check(n, f, arg):
 * Look at the host and call ${f} for every finding: bridges, forwarding,
 * rules against what they should be, uplink and pf's "set skip" on it, other
 * packet filters that drop what we forward (naming the rule), resolver,
 * a change that awaits confirmation.  Changes nothing.
 */
void net_check(struct net *, net_finding *, void *);

/**
 * net_uplink(n, name, e):
 * Store the interface that carries the default route in ${name}.
 */
int net_uplink(struct net *, char[NET_IFNAME], struct co_error *);

/*
 * Rules as text.  Pure functions of their arguments; results are malloc'd,
 * NULL when out of memory.  The same plan is loaded into the kernel.
 *
 * net_render_pf()	the anchor cube/sandbox-<12 hex> of one sandbox
 * net_render_pf_base()	the anchor cube/jail-nat: translation and the rules
 *			that all sandboxes share
 * net_render_nft()	chains and sets of one sandbox
 * net_render_nft_base() the two tables
 * net_render_unbound()	the fragment for unbound; ${main} is the text of its
 *			main configuration, to tell whether it names
 *			interfaces of its own
 */
char *net_render_pf(const struct net_conf *, const struct net_lease *,
    const struct net_policy *);
char *net_render_pf_base(const struct net_conf *, const char *uplink);
char *net_render_nft(const struct net_conf *, const struct net_lease *,
    const struct net_policy *);
char *net_render_nft_base(const struct net_conf *);
char *net_render_unbound(const struct net_conf *, const char *main);

/**
 * net_pf_conf_merge(text, anchor, drop, out, e):
 * Return in ${out} the pf.conf ${text} with our anchor lines (between
 * sentinel comments) in the places where pf wants them, or without them when
 * ${drop}; every other byte stays as it was.
 */
int net_pf_conf_merge(const char *, const char *, bool, char **,
    struct co_error *);

/*
 * DNS.
 *
 * unbound does what it is good at (recursion or forwarding, caching,
 * validation) and listens on the gateway's address at a port of its own,
 * which only the host may ask.  In front of it, at port 53, stands a relay
 * of ours.  Views of unbound itself could tell sandboxes apart, but a view
 * changes only by a reload of the whole server, and no view tells anyone
 * which addresses it answered, which a TTL-bound allow list needs.  The
 * relay applies the policy of the asking sandbox's address, refuses query
 * types that serve tunnels, strips private and loopback addresses from
 * answers unless the policy allows them, and has the addresses of allowed
 * names entered into the sandbox's rules before it passes the answer on.
 *
 * The relay is a child process without privileges: it decodes packets of
 * untrusted senders and asks this process, over a socket, for entries that
 * are checked again here.
 *
 * open		resolves all names but denied ones
 * allowlist	resolves the names of the allow list
 * airgap, disabled  NXDOMAIN
 *
 * "gateway.internal" and "proxy.internal" are the gateway in every mode.
 */

/**
 * net_dns_start(n, e):
 * Bind port 53 of the gateways and start the relay.  Sandboxes that are
 * attached, and those that will be, are announced to it.
 */
int net_dns_start(struct net *, struct co_error *);

/**
 * net_dns_fd(n):
 * Return a descriptor that becomes readable when the relay wants something,
 * or -1 when none runs.
 */
int net_dns_fd(const struct net *);

/**
 * net_dns_dispatch(n, e):
 * Serve what the relay wants, without blocking.  Return -1 if the relay has
 * died, after which net_dns_start() may be called again.
 */
int net_dns_dispatch(struct net *, struct co_error *);

void net_dns_stop(struct net *);

/**
 * net_helper_main(argc, argv):
 * Run one of the processes of this library: the dead-man switch or the DNS
 * relay.  A program that sets net_conf.helper calls this with the arguments
 * behind its own, and exits with what it returns.
 */
int net_helper_main(int, char **);

#endif /* NET_H */
