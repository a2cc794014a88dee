/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Between policy.c, which keeps the lists, and policy_text.c, which reads
 * them.
 */

#ifndef NET_POLICY_INTERNAL_H
#define NET_POLICY_INTERNAL_H

int net_policy_add_dest(struct net_policy *, enum net_list,
    const struct net_dest *);
int net_policy_add_name(struct net_policy *, enum net_list,
    const struct net_name *);

#endif
