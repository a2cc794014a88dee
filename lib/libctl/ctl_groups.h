/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The groups of a peer, from the system's database.
 */

#ifndef CTL_GROUPS_H
#define CTL_GROUPS_H

#include "ctl.h"

/* Fill in groups and ngroups from uid and gid. */
void ctl_groups(struct ctl_peer *);

#endif /* CTL_GROUPS_H */
