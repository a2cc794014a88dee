/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Between net.c, which owns the table of sandboxes, and reconcile.c, which
 * builds it anew.
 */

#ifndef NET_SANDBOX_INTERNAL_H
#define NET_SANDBOX_INTERNAL_H

struct net_sandbox *net_sandbox_new(const struct net_lease *,
    const struct net_policy *);
void net_insert(struct net *, struct net_sandbox *);
void net_forget_all(struct net *);

#endif
