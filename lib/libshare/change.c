/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What surrounds a mutation: the refusal of a read-only share, before anyone
 * else hears of it; the path, for libundo and the watcher; the identity in
 * which it happens; and its end.
 */

#include <errno.h>
#include <string.h>

#include "share_internal.h"

static int
change_begin(struct share *s, struct change *ch)
{

	ch->s = s;
	ch->announced = false;
	ch->named = false;
	ch->path[0] = '\0';
	if (atomic_load_explicit(&s->readonly, memory_order_relaxed))
		return (EROFS);
	return (0);
}

/* Nobody asks for the path: do not make one. */
static bool
silent(const struct share *s)
{

	return (s->undo == NULL && s->o.change == NULL);
}

static void
change_tell(struct change *ch, enum share_change_kind kind)
{
	struct share_change c;

	atomic_fetch_add_explicit(&ch->s->mutations, 1, memory_order_relaxed);
	if (ch->s->o.change == NULL)
		return;
	c.kind = kind;
	c.path = ch->named ? ch->path : NULL;
	c.to = NULL;
	ch->s->o.change(ch->s->o.change_arg, &c);
}

int
share_change_node(struct share *s, struct change *ch, struct share_node *n,
    enum share_change_kind kind)
{
	int error;

	if ((error = change_begin(s, ch)) != 0)
		return (error);
	if (!silent(s)) {
		error = share_path(s, n, ch->path, sizeof(ch->path));
		if (error != 0 && error != ENOENT)
			return (error);
		ch->named = error == 0;
	}
	change_tell(ch, kind);
	return (0);
}

int
share_change_name(struct share *s, struct change *ch, struct share_node *dir,
    const char *name, enum share_change_kind kind)
{
	size_t at, len;
	int error;

	if ((error = change_begin(s, ch)) != 0)
		return (error);
	if (!silent(s)) {
		error = share_path(s, dir, ch->path, sizeof(ch->path));
		if (error != 0)
			return (error);
		at = strlen(ch->path);
		len = strlen(name);
		if (at + len + 2 > sizeof(ch->path))
			return (ENAMETOOLONG);
		if (at > 0)
			ch->path[at++] = '/';
		memcpy(ch->path + at, name, len + 1);
		ch->named = true;
	}
	if (kind != SHARE_CH_RENAME)
		change_tell(ch, kind);
	return (0);
}

/* Return ${error}, so that a mutation can end in it. */
int
share_change_end(struct change *ch, int error)
{

	if (ch->announced)
		undo_done(ch->s->undo, &ch->op, error);
	ch->announced = false;
	return (error);
}

static int
persona_of(const struct share *s, const struct share_cred *c,
    struct host_persona *p, uint32_t groups[HOST_GROUPS])
{
	uint32_t i;
	int error;

	if ((error = share_uid_in(s, c->uid, &p->uid)) != 0 ||
	    (error = share_gid_in(s, c->gid, &p->gid)) != 0)
		return (error);
	p->ngroups = 0;
	p->groups = groups;
	p->group = false;
	p->privileged = s->o.checks == SHARE_CHECK_CLIENT || c->uid == 0;
	for (i = 0; i < c->ngroups && i < HOST_GROUPS; i++)
		if (share_gid_in(s, c->groups[i], &groups[p->ngroups]) == 0)
			p->ngroups++;
	return (0);
}

int
share_enter(struct share *s, const struct share_cred *c, bool create,
    struct host_saved *saved)
{
	uint32_t groups[HOST_GROUPS];
	struct host_persona p;
	bool caller;
	int error;

	memset(saved, 0, sizeof(*saved));
	caller = s->o.identity == SHARE_CALLER &&
	    (create || s->o.checks == SHARE_CHECK_HERE);
	if (caller && (error = persona_of(s, c, &p, groups)) != 0)
		return (error);
	if (!caller && !create)
		return (0);
	return (host_enter(&s->host, caller ? &p : NULL,
	    create ? c->umask & 0777 : UINT32_MAX, saved));
}

void
share_leave(struct share *s, const struct host_saved *saved)
{

	host_leave(&s->host, saved);
}

/* Give what was made its owner, where entering can't. */
int
share_give(struct share *s, const struct share_cred *c, struct share_node *n,
    uint32_t mode, struct host_stat *st)
{
	uint32_t groups[HOST_GROUPS];
	struct host_persona p;
	bool caller;
	int error, fd;

	caller = s->o.identity == SHARE_CALLER;
	if (caller) {
		if ((error = persona_of(s, c, &p, groups)) != 0)
			return (error);
		/* A group that the client can't name is not for its files. */
		p.group = s->o.ngids > 0 &&
		    share_gid_out(s, st->gid) == SHARE_ID_NOBODY;
	}
	if ((error = share_fd_get(s, n, &fd)) != 0)
		return (error);
	error = host_give(&s->host, fd, caller ? &p : NULL, mode,
	    c->umask & 0777, st);
	share_fd_put(n);
	return (error);
}
