/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A small world made of network namespaces, for tests that send packets:
 * "the host" (the namespace that the test itself moves into), "the internet"
 * behind its uplink, "another host on the LAN", and sandboxes.  Nothing of
 * it is connected to the machine's own network, and all of it ends with the
 * test's process.
 */

#ifndef WORLD_H
#define WORLD_H

#include <atf-c.h>
#include <stdbool.h>
#include <stdint.h>

#include "net_internal.h"

/* Addresses of the world. */
#define	W_INET4		"198.51.100.1"	/* the internet */
#define	W_INET4B	"198.51.100.2"
#define	W_INET6		"2001:db8:1::1"
#define	W_HOST4		"198.51.100.100" /* the host's uplink */
#define	W_HOST6		"2001:db8:1::100"
#define	W_LAN4		"192.168.7.2"	/* another host on the LAN */
#define	W_HOSTLAN4	"192.168.7.1"
#define	W_DNS4		"198.51.100.53"	/* the internet's name server */

/* Ports that are served, by TCP and UDP, everywhere. */
#define	W_PORT		8080
#define	W_PORT2		9090

struct world {
	struct net_conf	 conf;
	struct net	*net;
	int		 home, inet, lan;	/* namespaces */
	char		 dir[64];		/* scratch directory */
	int		 pids[64];		/* servers, to be ended */
	int		 npids;
	const char	*helper[3];
};

struct wbox {
	char		 id[CO_IDSIZE];
	int		 ns;
	struct net_lease lease;
};

/* Make it; on failure the test ends.  ${set_up} also runs net_setup(). */
void w_open(struct world *, bool set_up);
void w_close(struct world *);
int w_namespace(struct world *);

/* The policy of this text. */
struct net_policy *w_policy(const char *);

/* A sandbox with this policy text, as a pair. */
void w_box(struct world *, struct wbox *, const char *policy);
void w_unbox(struct world *, struct wbox *);
void w_set(struct world *, struct wbox *, const char *policy);

/*
 * Run ${fn} in a child in the namespace ${ns}, for at most 60 s, serving the
 * DNS relay meanwhile; return what it returned.
 */
int w_in(struct world *, int ns, int (*fn)(void *), void *);
/* Start a child that serves until the end of the test. */
int w_serve(struct world *, int ns, void (*fn)(void *), void *);
/* Serve TCP and UDP echo on ${addr} (NULL: any), on these ports. */
void w_echo(struct world *, int ns, const char *addr, const uint16_t *,
    int nports);

/* Probes from a namespace: whether something came back. */
bool w_tcp(struct world *, int ns, const char *addr, uint16_t port);
bool w_udp(struct world *, int ns, const char *addr, uint16_t port);
bool w_udp_big(struct world *, int ns, const char *addr, uint16_t port);
bool w_ping(struct world *, int ns, const char *addr);

/* Run a program by argv in a namespace; return its status. */
int w_run(struct world *, int ns, char *out, size_t size, const char *, ...)
    __attribute__((__sentinel__));

/* Names as in "ip link"; how many interfaces the host has that are ours. */
int w_links(struct world *);
/* Lines of "nft list ruleset" that contain ${word}. */
int w_rules(struct world *, const char *word);

/* main() of a test program that can also be the library's helper. */
#define	W_MAIN(add)							\
int main(int argc, char **argv)						\
{									\
									\
	return (w_main(argc, argv, add));				\
}
int w_main(int, char **, atf_error_t (*)(atf_tp_t *));

#endif
