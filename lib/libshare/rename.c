/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Renames: two directories, two names, and what may be at both.
 */

#include <sys/stat.h>

#include <errno.h>
#include <string.h>

#include "share_internal.h"

/* One end of a rename. */
struct end {
	struct share_node	*dir;
	const char		*name;
	int			 fd;
	struct host_stat	 st;
	bool			 exists;
	struct share_node	*n;	/* what is there, if known */
};

static int
end_look(struct share *s, struct end *e)
{
	int error;

	error = host_stat_name(&s->host, e->fd, e->name, &e->st);
	e->exists = error == 0;
	return (error == ENOENT ? 0 : error == EXDEV ? EBUSY : error);
}

static void
tell(struct share *s, const struct change *from, const struct change *to)
{
	struct share_change c;

	atomic_fetch_add_explicit(&s->mutations, 1, memory_order_relaxed);
	if (s->o.change == NULL)
		return;
	c.kind = SHARE_CH_RENAME;
	c.path = from->path;
	c.to = to->path;
	s->o.change(s->o.change_arg, &c);
}

static int
rename_do(struct share *s, const struct share_cred *c, struct end *from,
    struct end *to, uint32_t flags)
{
	struct undo_ref fref = { .dirfd = from->fd, .name = from->name,
	    .fd = -1 };
	struct undo_ref tref = { .dirfd = to->fd, .name = to->name,
	    .fd = -1 };
	struct host_saved saved;
	struct change fch, tch;
	unsigned int uf;
	int error;

	if ((error = share_change_name(s, &fch, from->dir, from->name,
	    SHARE_CH_RENAME)) != 0 ||
	    (error = share_change_name(s, &tch, to->dir, to->name,
	    SHARE_CH_RENAME)) != 0)
		return (error);
	tell(s, &fch, &tch);
	if (s->undo != NULL) {
		fref.path = fch.path;
		tref.path = tch.path;
		uf = (flags & SHARE_NOREPLACE) != 0 ? UNDO_NOREPLACE : 0;
		uf |= (flags & SHARE_EXCHANGE) != 0 ? UNDO_EXCHANGE : 0;
		error = undo_pre_rename(s->undo, &fch.op, &fref, &tref, uf);
		if (error != 0)
			return (error);
		fch.announced = true;
	}
	if ((error = share_enter(s, c, false, &saved)) == 0) {
		error = host_rename(&s->host, from->fd, from->name, to->fd,
		    to->name, flags);
		share_leave(s, &saved);
	}
	return (share_change_end(&fch, error));
}

/* Both names are of one file: POSIX says that nothing happens. */
static bool
same_file(const struct end *a, const struct end *b)
{

	return (a->exists && b->exists && a->st.dev == b->st.dev &&
	    a->st.ino == b->st.ino);
}

static void
rename_names(struct share *s, struct end *from, struct end *to,
    uint32_t flags)
{

	if (from->n != NULL)
		share_name_moved(s, from->n, from->dir, from->name, to->dir,
		    to->name);
	if (to->n == NULL)
		return;
	if ((flags & SHARE_EXCHANGE) != 0)
		share_name_moved(s, to->n, to->dir, to->name, from->dir,
		    from->name);
	else
		share_name_gone(s, to->n, to->dir, to->name);
}

static int
rename_between(struct share *s, const struct share_cred *c, struct end *from,
    struct end *to, uint32_t flags)
{
	bool pinned;
	int error;

	if ((error = end_look(s, from)) != 0 || (error = end_look(s, to)) != 0)
		return (error);
	if (!from->exists)
		return (ENOENT);
	if ((flags & SHARE_EXCHANGE) != 0 && !to->exists)
		return (ENOENT);
	if ((flags & SHARE_NOREPLACE) != 0 && to->exists)
		return (EEXIST);
	if (same_file(from, to))
		return (rename_do(s, c, from, to, flags));
	from->n = share_node_known(s, &from->st);
	pinned = false;
	if (to->exists)
		to->n = (flags & SHARE_EXCHANGE) != 0 ?
		    share_node_known(s, &to->st) :
		    share_doomed(s, &to->st, &pinned);
	if ((error = rename_do(s, c, from, to, flags)) == 0)
		rename_names(s, from, to, flags);
	share_put(s, from->n);
	if ((flags & SHARE_EXCHANGE) != 0)
		share_put(s, to->n);
	else
		share_doom(s, to->n, pinned, error);
	return (error);
}

int
share_rename(struct share *s, const struct share_cred *c,
    struct share_node *dir, const char *name, struct share_node *todir,
    const char *toname, uint32_t flags)
{
	struct end from = { .dir = dir, .name = name };
	struct end to = { .dir = todir, .name = toname };
	int error;

	if ((flags & ~(uint32_t)(SHARE_NOREPLACE | SHARE_EXCHANGE)) != 0 ||
	    flags == (SHARE_NOREPLACE | SHARE_EXCHANGE))
		return (EINVAL);
	if ((error = share_entry_begin(s, dir, name, EBUSY, &from.fd)) != 0)
		return (error);
	error = share_entry_begin(s, todir, toname,
	    (flags & SHARE_NOREPLACE) != 0 ? EEXIST : EBUSY, &to.fd);
	if (error == 0) {
		error = rename_between(s, c, &from, &to, flags);
		share_fd_put(todir);
	}
	share_fd_put(dir);
	return (error);
}
