/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Netlink in batches, on top of libmnl: many messages, one send.
 */

#ifndef NET_NL_LINUX_H
#define NET_NL_LINUX_H

#include <libmnl/libmnl.h>

#include "net_internal.h"

struct net_nl {
	struct mnl_socket *sock;
	unsigned	 portid;
	uint32_t	 seq;		/* of the last message */
	char		*buf;		/* the batch being built */
	size_t		 len, cap;
	uint32_t	 first;		/* sequence of its first message */
	int		 failed;	/* index of the message that failed */
	char		 why[128];	/* what the kernel said about it */
};

/* Open a socket on ${bus}, in the namespace ${netns} unless that is -1. */
struct net_nl *net_nl_open(int bus, int netns, struct co_error *);
void net_nl_close(struct net_nl *);

/* Begin a batch; begin a message in it and return its header. */
void net_nl_begin(struct net_nl *);
struct nlmsghdr *net_nl_msg(struct net_nl *, uint16_t type, uint16_t flags);
/* The message is complete; take it into the batch. */
void net_nl_end(struct net_nl *, struct nlmsghdr *);
/* Space left behind what is built, for one message. */
size_t net_nl_room(const struct net_nl *);
/* Send it; return 0 or the errno of the first message that failed. */
int net_nl_commit(struct net_nl *);
/* Send one request and feed all answers to ${cb}; 0 or an errno. */
int net_nl_query(struct net_nl *, mnl_cb_t cb, void *arg);

#endif
