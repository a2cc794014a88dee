/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Whose ids are whose.  Towards the host, an id without mapping is refused;
 * towards the client it is shown as nobody's.  Also in ACLs.
 */

#include <sys/stat.h>

#include <errno.h>
#include <string.h>

#include "share_internal.h"

static int
map_in(const struct share_map *m, size_t n, uint32_t id, uint32_t *out)
{
	size_t i;

	*out = id;
	if (n == 0)
		return (0);
	for (i = 0; i < n; i++)
		if (id >= m[i].guest && id - m[i].guest < m[i].count) {
			*out = m[i].host + (id - m[i].guest);
			return (0);
		}
	return (EPERM);
}

static uint32_t
map_out(const struct share_map *m, size_t n, uint32_t id)
{
	size_t i;

	if (n == 0)
		return (id);
	for (i = 0; i < n; i++)
		if (id >= m[i].host && id - m[i].host < m[i].count)
			return (m[i].guest + (id - m[i].host));
	return (SHARE_ID_NOBODY);
}

int
share_uid_in(const struct share *s, uint32_t id, uint32_t *out)
{

	if (s->o.owned)
		return (EPERM);
	return (map_in(s->o.uids, s->o.nuids, id, out));
}

int
share_gid_in(const struct share *s, uint32_t id, uint32_t *out)
{

	if (s->o.owned)
		return (EPERM);
	return (map_in(s->o.gids, s->o.ngids, id, out));
}

uint32_t
share_uid_out(const struct share *s, uint32_t id)
{

	if (s->o.owned)
		return (s->o.owner);
	return (map_out(s->o.uids, s->o.nuids, id));
}

uint32_t
share_gid_out(const struct share *s, uint32_t id)
{

	if (s->o.owned)
		return (s->o.group);
	return (map_out(s->o.gids, s->o.ngids, id));
}

uint32_t
share_file_mode(const struct share *s, uint32_t mode)
{

	if (s->o.owned)
		mode &= ~(uint32_t)(S_ISUID | S_ISGID);
	return (mode);
}

/*
 * Linux's form of a POSIX ACL: a version, then entries of tag, permissions
 * and id, all little-endian.
 */
#define	ACL_HEAD	4
#define	ACL_ENTRY	8
#define	ACL_TAG_USER	0x02
#define	ACL_TAG_GROUP	0x08

static uint32_t
get_le(const unsigned char *p, int n)
{
	uint32_t v;

	for (v = 0; n-- > 0;)
		v = v << 8 | p[n];
	return (v);
}

static void
put_le32(unsigned char *p, uint32_t v)
{
	int i;

	for (i = 0; i < 4; i++, v >>= 8)
		p[i] = (unsigned char)v;
}

int
share_acl_map(const struct share *s, void *acl, size_t len, bool out)
{
	unsigned char *e, *p = acl;
	uint32_t id, tag;
	size_t off;
	int error;

	if (len < ACL_HEAD || (len - ACL_HEAD) % ACL_ENTRY != 0)
		return (EINVAL);
	for (off = ACL_HEAD; off < len; off += ACL_ENTRY) {
		e = p + off;
		tag = get_le(e, 2);
		id = get_le(e + 4, 4);
		error = 0;
		if (tag == ACL_TAG_USER && out)
			id = share_uid_out(s, id);
		else if (tag == ACL_TAG_USER)
			error = share_uid_in(s, id, &id);
		else if (tag == ACL_TAG_GROUP && out)
			id = share_gid_out(s, id);
		else if (tag == ACL_TAG_GROUP)
			error = share_gid_in(s, id, &id);
		if (error != 0)
			return (error);
		put_le32(e + 4, id);
	}
	return (0);
}
