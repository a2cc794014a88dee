/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Names that render_pf.c writes and rules_pf.c looks up again.
 */

#ifndef NET_PF_INTERNAL_H
#define NET_PF_INTERNAL_H

#define	NET_PF_BASE	"jail-nat"
#define	NET_PF_LAST	"zz-last"

void net_pf_table(const struct net_plan *, const struct net_set *, char *,
    size_t);
unsigned net_pf_pipe(const struct net_lease *, bool);

#endif
