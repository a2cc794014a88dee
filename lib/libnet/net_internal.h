/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of libnet share: text buffers, pools, plans, and the seams
 * to the platform (links, rules, flows, host).  Nothing here is for users of
 * the library.
 */

#ifndef NET_INTERNAL_H
#define NET_INTERNAL_H

#include <sys/types.h>

#include "net.h"

/*
 * Addresses.  A prefix has its host bits clear.
 */
struct net_prefix {
	struct net_addr	addr;
	uint8_t		plen;
};

static inline unsigned
net_addr_bits(const struct net_addr *a)
{

	return (a->family == 4 ? 32 : 128);
}

static inline size_t
net_addr_len(const struct net_addr *a)
{

	return (a->family == 4 ? 4 : 16);
}

int net_addr_cmp(const struct net_addr *, const struct net_addr *);
struct net_addr net_addr4(uint32_t);
uint32_t net_addr4_get(const struct net_addr *);
bool net_prefix_has(const struct net_addr *, unsigned,
    const struct net_addr *);
int net_prefix_parse(const char *, struct net_prefix *);
void net_prefix_print(struct co_buf *, const struct net_prefix *);
bool net_special(const struct net_addr *, unsigned);
const struct net_prefix *net_special_list(size_t *);
void net_mac_of(const struct net_addr *, uint8_t[NET_MACLEN]);
void net_linklocal_of(const uint8_t[NET_MACLEN], struct net_addr *);

/*
 * A subnet as read from the configuration.
 */
struct net_range {
	enum net_kind	 kind;
	const char	*bridge, *key;
	struct net_prefix net;
	struct net_addr	 gateway;
	uint32_t	 first, last;		/* host order, inclusive */
	struct net_prefix net6;			/* family 0: none */
	struct net_addr	 gateway6;
	uint8_t		 mac[NET_MACLEN];	/* of the bridge */
};

/* Paths and commands that differ between platforms. */
void net_conf_platform(struct net_conf *);

int net_range_parse(const struct net_conf *, enum net_kind,
    struct net_range *, struct co_error *);

/*
 * The address pool of one subnet.
 */
struct net_pool;

int net_pool_new(const struct net_range *, const char *reserved, int ms,
    struct net_pool **, struct co_error *);
int net_pool_alloc(struct net_pool *, co_moment now, uint32_t *,
    struct co_error *);
int net_pool_take(struct net_pool *, uint32_t, struct co_error *);
void net_pool_release(struct net_pool *, uint32_t, co_moment now);
void net_pool_foreign(struct net_pool *, uint32_t);
void net_pool_reset(struct net_pool *, co_moment now);
void net_pool_usage(const struct net_pool *, struct net_usage *);
void net_pool_free(struct net_pool *);

/*
 * The plan: a policy for one lease as an ordered list of matches, first one
 * decides.  Both renderers and both loaders read it.
 */
#define	NET_SETNAME	64

enum net_match {
	NET_M_SET,	/* destination in a set of prefixes */
	NET_M_PREFIX,	/* destination in this prefix */
	NET_M_LEARNT,	/* destination in a set that the resolver fills */
	NET_M_SPECIAL,	/* destination private, local or reserved */
	NET_M_ANY
};

struct net_set {
	char		 name[NET_SETNAME];
	uint8_t		 family;
	bool		 learnt;
	struct net_prefix *prefix;
	size_t		 nprefix;
};

struct net_rule {
	enum net_match	 match;
	size_t		 set;		/* for SET and LEARNT */
	struct net_prefix prefix;	/* for PREFIX */
	uint8_t		 family;	/* 0: both */
	struct net_flow	 flow;
	bool		 pass;
};

struct net_rules {
	struct net_rule	*rule;
	size_t		 n;
};

struct net_plan {
	struct net_lease lease;
	enum net_mode	 mode;
	char		 tag[CO_SHORTID + 1];
	bool		 live;		/* may talk at all */
	bool		 forwards;
	uint64_t	 up, down;	/* bytes per second; 0: none */
	struct net_set	*set;
	size_t		 nset;
	struct net_rules through;	/* to beyond the host */
	struct net_rules host;		/* to the host's own addresses */
};

struct net_plan *net_plan_new(const struct net_lease *,
    const struct net_policy *);
void net_plan_free(struct net_plan *);
unsigned net_plan_learnt(const struct net_policy *, unsigned,
    struct net_flow *);
void net_learnt_name(char *, size_t, const char *, uint8_t,
    const struct net_flow *);
void net_tag(const char *, char[CO_SHORTID + 1]);
const char *net_proto_name(uint8_t, char[8]);
bool net_flow_equal(const struct net_flow *, const struct net_flow *);
bool net_flow_has(const struct net_flow *, uint8_t, uint16_t);
bool net_name_matches(const struct net_name *, const char *);

char *net_render_nft_plan(const struct net_conf *, const struct net_plan *);
char *net_render_pf_plan(const struct net_conf *, const struct net_plan *);
char *net_render_pf_last(const struct net_conf *);

/*
 * Seams to the platform.  net_linux.c or net_freebsd.c has the links,
 * rules_nft.c or rules_pf.c the rules, flows_*.c the states.
 */
struct net_links;

/* One of our interfaces, as found in the kernel. */
struct net_found {
	char		ifname[NET_IFNAME];
	char		id[CO_IDSIZE];	/* empty: its label is missing */
	char		tag[CO_SHORTID + 1];
	struct net_addr	addr;		/* family 0: not in the label */
	enum net_kind	kind;
};

struct net_seen {
	struct net_found *found;
	size_t		 nfound;
	/* Addresses in the neighbour tables of our bridges. */
	struct net_neighbour {
		enum net_kind	kind;
		struct net_addr	addr;
		bool		ours;	/* an entry such as we make */
	} *neighbour;
	size_t		 nneighbour;
};

int net_links_open(const struct net_conf *, const struct net_range *,
    struct net_links **, struct co_error *);
void net_links_close(struct net_links *);
int net_links_bridge(struct net_links *, enum net_kind, bool *changed,
    struct co_error *);
bool net_links_ready(struct net_links *, enum net_kind);
int net_links_unbridge(struct net_links *, enum net_kind, struct co_error *);
int net_links_attach(struct net_links *, const struct net_attach *,
    struct net_lease *, struct co_error *);
int net_links_detach(struct net_links *, const char *ifname,
    const struct net_lease *, struct co_error *);
/*
 * The slow way out, in two steps: doom it (quick, it is as good as gone),
 * and later remove all that are doomed, on another handle.
 */
int net_links_doom(struct net_links *, const struct net_lease *,
    struct co_error *);
int net_links_reap(struct net_links *, const struct net_lease *const *,
    size_t, struct co_error *);
/* Remove the neighbour entries of an address that nobody has any more. */
void net_links_forget(struct net_links *, const struct net_lease *);
int net_links_counters(struct net_links *, const struct net_lease *,
    struct net_counters *, struct co_error *);
bool net_links_present(struct net_links *, const struct net_lease *);
bool net_links_busy(struct net_links *, enum net_kind,
    const struct net_addr *);
int net_links_scan(struct net_links *, struct net_seen *, struct co_error *);
int net_links_uplink(struct net_links *, char[NET_IFNAME],
    struct co_error *);
void net_seen_free(struct net_seen *);

struct net_loader;

int net_rules_open(const struct net_conf *, struct net_loader **,
    struct co_error *);
void net_rules_close(struct net_loader *);
/* ${old} is the plan in force, or NULL; verified after the commit. */
int net_rules_load(struct net_loader *, const struct net_plan *,
    const struct net_plan *old, struct co_error *);
int net_rules_unload(struct net_loader *, const struct net_plan *,
    struct co_error *);
/* 1: as it should be; 0: not; -1: error */
int net_rules_verify(struct net_loader *, const struct net_plan *,
    struct co_error *);
int net_rules_learn(struct net_loader *, const struct net_plan *,
    const struct net_flow *, const struct net_addr *, uint64_t ms,
    struct co_error *);
/* Take back what was learnt and has had its time; some kernels do it. */
void net_rules_expire(struct net_loader *);
int net_rules_blocked(struct net_loader *, const struct net_plan *,
    struct net_counters *, struct co_error *);
/* Remove what belongs to no tag of the list; count it. */
int net_rules_sweep(struct net_loader *, const struct net_plan *const *,
    size_t, unsigned *removed, struct co_error *);
/* Whether the base is loaded as ${text} has it: 1, 0 or -1. */
int net_rules_base_ok(struct net_loader *, struct co_error *);

/* pf only: whether translation is set up for this uplink. */
int net_rules_nat_ok(struct net_loader *, const char *, struct co_error *);

/*
 * End the flows of a sandbox that ${keep} does not want: it is told who
 * opened the flow (${inward}: the other side), the other side's address, the
 * protocol and the port that was dialled.  NULL keeps none.
 */
typedef bool net_keep_flow(void *, bool inward, const struct net_addr *,
    uint8_t, uint16_t);
struct net_flows;
int net_flows_open(struct net_flows **, struct co_error *);
void net_flows_close(struct net_flows *);
int net_flows_kill(struct net_flows *, const struct net_lease *,
    net_keep_flow *, void *, struct co_error *);
/* End all flows of many leases in one go. */
int net_flows_end(struct net_flows *, const struct net_lease *const *,
    size_t, struct co_error *);

struct net_reaper;
int net_reaper_new(const struct net_conf *, const struct net_range *,
    struct net_reaper **, struct co_error *);
bool net_reaper_has(struct net_reaper *, const char *id);
int net_reaper_add(struct net_reaper *, const struct net_lease *);
void net_reaper_collect(struct net_reaper *, struct net_pool *[2], bool);
void net_reaper_free(struct net_reaper *);
/* Whether the address is in the learnt set of that flow. */
bool net_rules_learnt(struct net_loader *, const struct net_plan *,
    const struct net_flow *, const struct net_addr *);

/*
 * The attached sandboxes.
 */
struct net_sandbox {
	struct net_lease lease;
	struct net_policy *policy;
	struct net_plan	*plan;
	struct net_sandbox *next;	/* in its bucket */
};

#define	NET_BUCKETS	1024

struct net_dns;

struct net {
	struct net_conf	 conf;
	struct net_range range[2];
	struct net_pool	*pool[2];
	struct net_links *links;
	struct net_loader *rules;
	struct net_flows *flows;
	struct net_reaper *reaper;
	struct net_dns	*dns;
	struct net_sandbox *bucket[NET_BUCKETS];
	size_t		 nsandbox;
	int		 statefd;	/* -1 until needed */
};

struct net_sandbox *net_find(const struct net *, const char *);
struct net_sandbox *net_find_addr(const struct net *,
    const struct net_addr *);
int net_statefd(struct net *, struct co_error *);
void net_lease_fill(const struct net *, struct net_lease *, const char *,
    enum net_kind, uint32_t);

/* The relay hears of sandboxes through these; no-ops without one. */
void net_dns_announce(struct net *, const struct net_sandbox *);
void net_dns_forget(struct net *, const struct net_lease *);

/* Start a helper process with these descriptors from 3 upwards. */
int net_spawn(const char *const *helper, const char *const *args,
    const int *fd, int nfd, pid_t *, struct co_error *);

/*
 * A place where a test may kill the process.  Does nothing in the library
 * itself; the test variant supplies its own.
 */
void net_point(const char *);

#endif /* NET_INTERNAL_H */
