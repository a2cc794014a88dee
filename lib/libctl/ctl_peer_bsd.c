/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Who is at the other end, as the BSDs say.
 */

#include <sys/types.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "ctl_internal.h"
#include "ctl_groups.h"

int
ctl_peer(const struct ctl *c, struct ctl_peer *p, struct co_error *e)
{

	memset(p, 0, sizeof(*p));
	if (getpeereid(c->fd, &p->uid, &p->gid) != 0)
		return (co_error_errno(e, errno, "control socket",
		    "can't tell who is there"));
	ctl_groups(p);
	return (0);
}
