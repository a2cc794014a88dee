/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Extended attributes.  What would mean something to the host, such as file
 * capabilities, is kept under other names unless the options say otherwise;
 * ids in ACLs are mapped on their way.
 */

#include <sys/stat.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "share_internal.h"

#define	OURS		"user.coppice."
#define	OURS_LEN	(sizeof(OURS) - 1)
#define	CAPABILITY	"security.capability"
#define	LIST_MAX	65536

/* node->caps: has the client given it file capabilities? */
enum { CAPS_UNKNOWN, CAPS_NONE, CAPS_SOME };

static bool
is_acl(const char *name)
{

	return (strcmp(name, "system.posix_acl_access") == 0 ||
	    strcmp(name, "system.posix_acl_default") == 0);
}

static bool
is_user(const char *name)
{

	return (strncmp(name, "user.", 5) == 0);
}

/* The host's name for the client's ${name}; ${hidden} for what it has not. */
static int
name_in(const struct share *s, const char *name, int hidden,
    char out[SHARE_NAME_MAX + 1])
{
	size_t len;

	len = strlen(name);
	if (s->o.xattrs == SHARE_XATTR_NONE)
		return (EOPNOTSUPP);
	if (len == 0 || len > SHARE_NAME_MAX)
		return (ERANGE);
	if (strncmp(name, OURS, OURS_LEN) == 0)
		return (hidden);
	if (s->o.xattrs == SHARE_XATTR_PLAIN || is_user(name) ||
	    is_acl(name)) {
		memcpy(out, name, len + 1);
		return (0);
	}
	if (strncmp(name, "system.", 7) == 0 || strchr(name, '.') == NULL)
		return (EOPNOTSUPP);
	if (len + OURS_LEN > SHARE_NAME_MAX)
		return (ERANGE);
	memcpy(out, OURS, OURS_LEN);
	memcpy(out + OURS_LEN, name, len + 1);
	return (0);
}

/* The client's name for the host's; NULL: it does not see that. */
static const char *
name_out(const struct share *s, const char *name)
{

	if (strncmp(name, OURS, OURS_LEN) == 0)
		return (s->o.xattrs == SHARE_XATTR_MAPPED ?
		    name + OURS_LEN : NULL);
	if (s->o.xattrs == SHARE_XATTR_PLAIN || is_user(name) ||
	    is_acl(name))
		return (name);
	return (NULL);
}

int
share_getxattr(struct share *s, const struct share_cred *c,
    struct share_node *n, const char *name, void *buf, size_t size,
    size_t *len)
{
	char host[SHARE_NAME_MAX + 1];
	struct host_saved saved;
	int error, fd;

	if ((error = name_in(s, name, host_nodata(), host)) != 0 ||
	    (error = share_fd_get(s, n, &fd)) != 0)
		return (error);
	if ((error = share_enter(s, c, false, &saved)) == 0) {
		error = host_getxattr(&s->host, fd, n->type, host, buf, size,
		    len);
		share_leave(s, &saved);
	}
	share_fd_put(n);
	if (error == 0 && size > 0 && is_acl(name))
		error = share_acl_map(s, buf, *len, true);
	return (error);
}

int
share_listxattr(struct share *s, const struct share_cred *c,
    struct share_node *n, char *buf, size_t size, size_t *len)
{
	const char *name, *out;
	size_t all, l, off;
	char *list;
	int error, fd;

	(void)c;
	*len = 0;
	if (s->o.xattrs == SHARE_XATTR_NONE)
		return (EOPNOTSUPP);
	if ((list = malloc(LIST_MAX)) == NULL)
		return (ENOMEM);
	if ((error = share_fd_get(s, n, &fd)) != 0)
		goto out;
	error = host_listxattr(&s->host, fd, n->type, list, LIST_MAX, &all);
	share_fd_put(n);
	if (error != 0)
		goto out;
	for (off = 0; off < all; off += strlen(name) + 1) {
		name = list + off;
		if ((out = name_out(s, name)) == NULL)
			continue;
		l = strlen(out) + 1;
		if (size > 0 && size - *len < l) {
			error = ERANGE;
			break;
		}
		if (size > 0)
			memcpy(buf + *len, out, l);
		*len += l;
	}
out:
	free(list);
	return (error);
}

static int
change_begin(struct share *s, struct share_node *n, int fd,
    struct change *ch)
{
	struct undo_ref ref = { .dirfd = -1, .fd = fd, .seen = &n->seen };
	int error;

	error = share_change_node(s, ch, n, SHARE_CH_ATTR);
	if (error != 0 || s->undo == NULL)
		return (error);
	ref.path = ch->named ? ch->path : NULL;
	if ((error = undo_pre_xattr(s->undo, &ch->op, &ref)) == 0)
		ch->announced = true;
	return (error);
}

static int
set_at(struct share *s, const struct share_cred *c, struct share_node *n,
    int fd, const char *host, const void *value, size_t size, uint32_t flags)
{
	struct host_saved saved;
	struct change ch;
	int error;

	if ((error = change_begin(s, n, fd, &ch)) != 0)
		return (error);
	if ((error = share_enter(s, c, false, &saved)) == 0) {
		error = host_setxattr(&s->host, fd, n->type, host, value,
		    size, flags);
		share_leave(s, &saved);
	}
	return (share_change_end(&ch, error));
}

/* An ACL by one who is not in the group: not for a set-gid file. */
static int
kill_sgid(struct share *s, struct share_node *n)
{
	struct share_cred self = { .uid = 0 };
	struct share_setattr set = { .set = SHARE_SET_MODE };
	struct share_attr a;
	int error;

	if ((error = share_getattr(s, n, NULL, &a)) != 0 ||
	    (a.mode & S_ISGID) == 0 || n->type == S_IFDIR)
		return (error);
	set.mode = a.mode & 07777 & ~(uint32_t)S_ISGID;
	return (share_setattr(s, &self, n, NULL, &set, NULL));
}

int
share_setxattr(struct share *s, const struct share_cred *c,
    struct share_node *n, const char *name, const void *value, size_t size,
    uint32_t flags)
{
	char host[SHARE_NAME_MAX + 1];
	void *copy;
	int error, fd;

	if ((error = name_in(s, name, EPERM, host)) != 0)
		return (error);
	if (atomic_load(&s->readonly))
		return (EROFS);
	copy = NULL;
	if (is_acl(name) && size > 0) {
		if ((copy = malloc(size)) == NULL)
			return (ENOMEM);
		memcpy(copy, value, size);
		if ((error = share_acl_map(s, copy, size, false)) != 0)
			goto out;
		value = copy;
	}
	if (strcmp(name, CAPABILITY) == 0)
		atomic_store(&n->caps, CAPS_SOME);
	if ((error = share_fd_get(s, n, &fd)) != 0)
		goto out;
	error = set_at(s, c, n, fd, host, value, size, flags);
	share_fd_put(n);
	if (error == 0 && (flags & SHARE_X_KILL_SGID) != 0)
		error = kill_sgid(s, n);
out:
	free(copy);
	return (error);
}

static int
remove_host(struct share *s, const struct share_cred *c,
    struct share_node *n, const char *host)
{
	struct host_saved saved;
	struct change ch;
	int error, fd;

	if ((error = share_fd_get(s, n, &fd)) != 0)
		return (error);
	if ((error = change_begin(s, n, fd, &ch)) == 0) {
		if (c == NULL)
			error = host_removexattr(&s->host, fd, n->type, host);
		else if ((error = share_enter(s, c, false, &saved)) == 0) {
			error = host_removexattr(&s->host, fd, n->type, host);
			share_leave(s, &saved);
		}
		(void)share_change_end(&ch, error);
	}
	share_fd_put(n);
	return (error);
}

int
share_removexattr(struct share *s, const struct share_cred *c,
    struct share_node *n, const char *name)
{
	char host[SHARE_NAME_MAX + 1];
	int error;

	if ((error = name_in(s, name, host_nodata(), host)) != 0)
		return (error);
	if (atomic_load(&s->readonly))
		return (EROFS);
	return (remove_host(s, c, n, host));
}

/*
 * The host's kernel takes file capabilities from what is written to; those
 * that are kept under another name, we take.  Whether there are any is asked
 * once per node.
 */
int
share_kill_caps(struct share *s, struct share_node *n)
{
	int caps, error, fd;
	size_t len;

	if (s->o.xattrs != SHARE_XATTR_MAPPED ||
	    (caps = atomic_load(&n->caps)) == CAPS_NONE)
		return (0);
	if (caps == CAPS_UNKNOWN) {
		if ((error = share_fd_get(s, n, &fd)) != 0)
			return (error);
		error = host_getxattr(&s->host, fd, n->type, OURS CAPABILITY,
		    NULL, 0, &len);
		share_fd_put(n);
		if (error != 0) {
			(void)atomic_compare_exchange_strong(&n->caps, &caps,
			    CAPS_NONE);
			return (0);
		}
	}
	error = remove_host(s, NULL, n, OURS CAPABILITY);
	if (error == 0 || error == host_nodata()) {
		atomic_store(&n->caps, CAPS_NONE);
		error = 0;
	}
	return (error);
}
