/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files host_linux*.c have in common.
 */

#ifndef HOST_LINUX_H
#define HOST_LINUX_H

#include "host.h"

#define	HOST_PROC_NAME	16

void host_proc_name(int, char[HOST_PROC_NAME]);
bool host_has_xattrat(const struct host *);

/* Can a thread here take other identities?  0, or -1 with ${e} set. */
int host_persona_check(struct co_error *);

#endif /* HOST_LINUX_H */
