/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Users and groups by reading passwd(5) and group(5), since a static
 * program has no name service.  Called in children only: the files belong
 * to the sandbox.
 */

#ifndef USER_H
#define	USER_H

#include <sys/types.h>

#define	USER_GROUPS	64

struct user {
	uid_t	uid;
	gid_t	gid;
	char	name[65];
	char	home[1025];
	char	shell[257];
	gid_t	groups[USER_GROUPS];
	int	ngroups;
};

/**
 * user_find(spec, u):
 * Find the user ${spec}: a name, or "uid" or "uid:gid" in digits, which need
 * no entry in passwd.  Return 0 or ENOENT.
 */
int user_find(const char *, struct user *);

/* The name of a user or group for a number, or its digits. */
void user_name(uid_t, char *, size_t);
void user_group(gid_t, char *, size_t);

#endif /* USER_H */
