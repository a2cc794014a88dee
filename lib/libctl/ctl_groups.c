/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The groups of a user.  A socket's credentials may leave some out, and
 * their number differs from system to system.  Root may do everything, so
 * nobody looks up root's.
 */

#include <sys/types.h>

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include "ctl_groups.h"

#define	MAXGROUPS	(int)(sizeof(((struct ctl_peer *)0)->groups) / \
			    sizeof(gid_t))

#ifdef __APPLE__
typedef int group_t;
#else
typedef gid_t group_t;
#endif

void
ctl_groups(struct ctl_peer *p)
{
	group_t list[MAXGROUPS];
	struct passwd pw, *found;
	char buf[4096];
	int n;

	p->groups[0] = p->gid;
	p->ngroups = 1;
	if (p->uid == 0 ||
	    getpwuid_r(p->uid, &pw, buf, sizeof(buf), &found) != 0 ||
	    found == NULL)
		return;
	n = MAXGROUPS;
	/* Too many: those that fit. */
	if (getgrouplist(pw.pw_name, (group_t)p->gid, list, &n) == -1)
		n = MAXGROUPS;
	for (int i = 0; i < n && p->ngroups < MAXGROUPS; i++)
		if ((gid_t)list[i] != p->gid)
			p->groups[p->ngroups++] = (gid_t)list[i];
}
