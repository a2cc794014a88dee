/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Attributes of a file: taken from it, and put back.  What the process may
 * not set (an owner, an attribute of the system's) is left as it is; all
 * else must succeed.
 *
 * Extended attributes are one blob: for each, two 32-bit lengths, the name
 * with its NUL, and the value.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "undo_internal.h"

#define	XATTR_MAX	((size_t)1 << 20)

#ifdef ENOATTR
#define	NO_ATTRIBUTE	ENOATTR
#else
#define	NO_ATTRIBUTE	ENODATA
#endif

void
meta_set(const struct undo *u, struct meta *m, const struct stat *st)
{

	memset(m, 0, sizeof(*m));
	m->dev = norm_dev(u, st->st_dev);
	m->ino = (uint64_t)st->st_ino;
	m->size = (uint64_t)st->st_size;
	m->mtime = (int64_t)st->st_mtim.tv_sec;
	m->mtime_ns = (uint32_t)st->st_mtim.tv_nsec;
	m->mode = (uint32_t)st->st_mode;
	m->uid = (uint32_t)st->st_uid;
	m->gid = (uint32_t)st->st_gid;
	m->nlink = (uint32_t)st->st_nlink;
	m->rdev = (uint64_t)st->st_rdev;
}

/* All names in memory of their own; NULL and 0 when there are none. */
static int
list_names(const struct os_object *o, char **names, size_t *len)
{
	char small[256];
	size_t size;
	int error;

	*names = NULL;
	error = os_xattr_list(o, small, sizeof(small), len);
	if (error == 0) {
		if (*len == 0)
			return (0);
		if ((*names = malloc(*len)) == NULL)
			return (ENOMEM);
		memcpy(*names, small, *len);
		return (0);
	}
	for (size = 4096; error == ERANGE && size <= XATTR_MAX; size *= 4) {
		free(*names);
		if ((*names = malloc(size)) == NULL)
			return (ENOMEM);
		error = os_xattr_list(o, *names, size, len);
	}
	if (error != 0) {
		free(*names);
		*names = NULL;
	}
	return (error);
}

static int
append_one(const struct os_object *o, const char *name, uint8_t **blob,
    size_t *len)
{
	uint8_t *n, *p;
	size_t got, namelen, size;
	int error;

	namelen = strlen(name) + 1;
	for (size = 512;; size *= 8) {
		if (size > XATTR_MAX)
			return (E2BIG);
		if ((n = realloc(*blob, *len + 8 + namelen + size)) == NULL)
			return (ENOMEM);
		*blob = n;
		p = n + *len;
		error = os_xattr_get(o, name, p + 8 + namelen, size, &got);
		if (error != ERANGE)
			break;
	}
	/* Gone in the meantime, or not for our eyes. */
	if (error == NO_ATTRIBUTE || error == EACCES || error == EPERM ||
	    error == ENOTSUP)
		return (0);
	if (error != 0)
		return (error);
	put32(p, (uint32_t)namelen);
	put32(p + 4, (uint32_t)got);
	memcpy(p + 8, name, namelen);
	*len += 8 + namelen + got;
	return (0);
}

int
meta_xattrs(const struct os_object *o, uint8_t **blob, size_t *len)
{
	char *names;
	size_t i, n;
	int error;

	*blob = NULL;
	*len = 0;
	if ((error = list_names(o, &names, &n)) != 0)
		return (error);
	for (i = 0; error == 0 && i < n; i += strlen(names + i) + 1)
		error = append_one(o, names + i, blob, len);
	free(names);
	if (error != 0 || *len == 0) {
		free(*blob);
		*blob = NULL;
		*len = 0;
	}
	return (error);
}

bool
meta_next(const uint8_t *blob, size_t len, size_t *at, const char **name,
    const uint8_t **value, size_t *vlen)
{
	uint32_t n, v;

	if (blob == NULL || *at > len || len - *at < 8)
		return (false);
	n = get32(blob + *at);
	v = get32(blob + *at + 4);
	if (n == 0 || (uint64_t)n + v > len - *at - 8 ||
	    blob[*at + 8 + n - 1] != '\0')
		return (false);
	*name = (const char *)blob + *at + 8;
	*value = blob + *at + 8 + n;
	*vlen = v;
	*at += 8 + (size_t)n + v;
	return (true);
}

static bool
blob_has(const uint8_t *blob, size_t len, const char *name,
    const uint8_t *value, size_t vlen)
{
	const uint8_t *v;
	const char *n;
	size_t at, l;

	for (at = 0; meta_next(blob, len, &at, &n, &v, &l);)
		if (strcmp(n, name) == 0)
			return (value == NULL ||
			    (l == vlen && memcmp(v, value, l) == 0));
	return (false);
}

/* Not ours to set: the policy of the system decides. */
static bool
forbidden(int error)
{

	return (error == EPERM || error == EACCES || error == ENOTSUP ||
	    error == EINVAL);
}

static int
apply_xattrs(const struct os_object *o, const struct meta *m, bool *changed)
{
	const uint8_t *value;
	const char *name;
	uint8_t *now;
	size_t at, len, vlen;
	int error;

	if ((error = meta_xattrs(o, &now, &len)) != 0)
		return (error);
	for (at = 0; meta_next(now, len, &at, &name, &value, &vlen);)
		if (!blob_has(m->xattrs, m->xlen, name, NULL, 0)) {
			*changed = true;
			error = os_xattr_remove(o, name);
			if (error != 0 && !forbidden(error))
				goto out;
		}
	for (at = 0, error = 0; meta_next(m->xattrs, m->xlen, &at, &name,
	    &value, &vlen);)
		if (!blob_has(now, len, name, value, vlen)) {
			*changed = true;
			error = os_xattr_set(o, name, value, vlen);
			if (error != 0 && !forbidden(error))
				goto out;
		}
	error = 0;
out:
	free(now);
	return (error);
}

static int
apply_owner(const struct os_object *o, const struct meta *m)
{
	int r;

	if (o->fd >= 0)
		r = sys_fchown(o->fd, m->uid, m->gid);
	else
		r = sys_fchownat(o->dir, o->name, m->uid, m->gid);
	if (r == 0)
		return (0);
	if (errno != EPERM)
		return (errno);
	/* Perhaps the group alone. */
	if (o->fd >= 0)
		(void)sys_fchown(o->fd, (uid_t)-1, m->gid);
	else
		(void)sys_fchownat(o->dir, o->name, (uid_t)-1, m->gid);
	return (0);
}

static int
apply_mode(const struct os_object *o, const struct meta *m)
{
	mode_t mode;
	int r;

	mode = (mode_t)(m->mode & 07777);
	if (o->fd >= 0)
		r = sys_fchmod(o->fd, mode);
	else
		r = sys_fchmodat(o->dir, o->name, mode);
	return (r == -1 && errno != EPERM ? errno : 0);
}

static int
apply_mtime(const struct os_object *o, const struct meta *m)
{
	struct timespec ts[2];
	int r;

	memset(ts, 0, sizeof(ts));
	ts[0].tv_nsec = UTIME_OMIT;
	ts[1].tv_sec = (time_t)m->mtime;
	ts[1].tv_nsec = (long)m->mtime_ns;
	if (o->fd >= 0)
		r = sys_futimens(o->fd, ts);
	else
		r = sys_utimensat(o->dir, o->name, ts);
	return (r == -1 && errno != EPERM && errno != EACCES ? errno : 0);
}

int
meta_apply(const struct os_object *o, const struct meta *m, uint32_t flags)
{
	struct stat st;
	bool changed;
	int error, r;

	if (o->fd >= 0)
		r = sys_fstat(o->fd, &st);
	else
		r = sys_fstatat(o->dir, o->name, &st);
	if (r == -1)
		return (errno);
	changed = false;
	if (st.st_uid != m->uid || st.st_gid != m->gid) {
		/* This clears set-id bits and capabilities. */
		if ((error = apply_owner(o, m)) != 0)
			return (error);
		changed = true;
	}
	if ((flags & REC_XATTRS) != 0 &&
	    (error = apply_xattrs(o, m, &changed)) != 0)
		return (error);
	if (!S_ISLNK(st.st_mode) &&
	    (changed || (st.st_mode & 07777) != (m->mode & 07777)) &&
	    (error = apply_mode(o, m)) != 0)
		return (error);
	if (st.st_mtim.tv_sec == (time_t)m->mtime &&
	    st.st_mtim.tv_nsec == (long)m->mtime_ns)
		return (0);
	return (apply_mtime(o, m));
}
