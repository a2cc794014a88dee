/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Who is at the other end, as Linux says.
 */

#include <sys/socket.h>

#include <errno.h>
#include <string.h>

#include "ctl_internal.h"
#include "ctl_groups.h"

int
ctl_peer(const struct ctl *c, struct ctl_peer *p, struct co_error *e)
{
	struct ucred u;
	socklen_t len;

	len = sizeof(u);
	if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &u, &len) != 0)
		return (co_error_errno(e, errno, "control socket",
		    "can't tell who is there"));
	memset(p, 0, sizeof(*p));
	p->uid = u.uid;
	p->gid = u.gid;
	p->pid = u.pid;
	ctl_groups(p);
	return (0);
}
