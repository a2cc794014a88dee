/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Hooks for what changes bytes or attributes.  The first touch of an inode
 * in a step captures it, without the lock, while others capture theirs; all
 * later ones are told by the table of inodes, or by the caller's own word.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "hook.h"

#define	LARGE		((uint64_t)1 << 20)
/* Content up to this size goes into the journal itself. */
#define	INLINE_MAX	4096

/* The word of the caller: generation of the step, and what is captured. */
#define	SEEN(gen, flags)	((gen) << 4 | (flags))

/* What is captured satisfies what is wanted. */
static bool
enough(uint32_t have, uint32_t want)
{

	return ((have & INO_FRESH) != 0 || (have & want) == want);
}

static bool
seen_fast(struct undo *u, struct undo_op *op, const struct undo_ref *ref,
    uint32_t want)
{
	uint64_t word;

	memset(op, 0, sizeof(*op));
	if (ref->seen == NULL)
		return (false);
	word = __atomic_load_n(ref->seen, __ATOMIC_ACQUIRE);
	if (!enough((uint32_t)word & INO_ALL, want) || !flight_fast(u, op))
		return (false);
	if (word >> 4 == atomic_load(&u->gen)) {
		op->step = u->open_id;
		return (true);
	}
	flight_leave(u, op);
	return (false);
}

static void
seen_set(struct undo *u, const struct undo_ref *ref, uint32_t flags)
{

	if (ref->seen != NULL)
		__atomic_store_n(ref->seen, SEEN(atomic_load(&u->gen), flags),
		    __ATOMIC_RELEASE);
}

/* An open descriptor of the very file, readable; ${own}: to be closed. */
static int
readable(struct undo *u, const struct undo_ref *ref, const char *path,
    const struct stat *st, int *fdp, bool *own)
{
	struct stat now;
	int error, fd, mode;

	*own = false;
	if (ref->fd >= 0 && (mode = sys_getfl(ref->fd)) != -1 &&
	    (mode & (O_ACCMODE | O_PATH)) != O_WRONLY &&
	    (O_PATH == 0 || (mode & O_PATH) == 0)) {
		*fdp = ref->fd;
		return (0);
	}
	if (ref->dirfd >= 0 && ref->name != NULL) {
		/* That we read it is of no interest, and costs a write. */
		fd = sys_openat(ref->dirfd, ref->name, O_RDONLY | O_NOFOLLOW |
		    O_NONBLOCK | O_NOATIME, 0);
		if (fd == -1 && errno == EPERM && O_NOATIME != 0)
			fd = sys_openat(ref->dirfd, ref->name, O_RDONLY |
			    O_NOFOLLOW | O_NONBLOCK, 0);
		error = fd == -1 ? errno : 0;
	} else if (path != NULL)
		error = path_open(u, path, strlen(path), O_RDONLY |
		    O_NONBLOCK, &fd);
	else {
		fd = os_reopen(ref->fd, O_RDONLY | O_NONBLOCK);
		error = fd == -1 ? errno : 0;
	}
	if (error != 0)
		return (error);
	if (sys_fstat(fd, &now) == -1 || now.st_ino != st->st_ino ||
	    now.st_dev != st->st_dev) {
		sys_close(fd);
		return (ESTALE);
	}
	*fdp = fd;
	*own = true;
	return (0);
}

struct capture {
	struct rec	 r;
	uint8_t		*xattrs;
	uint8_t		*small;
	uint64_t	 bytes;
	char		*mem;		/* of the path */
	uint32_t	 flags;		/* what it will have captured */
};

static void
capture_free(struct capture *c)
{

	free(c->xattrs);
	free(c->small);
	free(c->mem);
}

static int
capture_bytes(struct undo *u, struct capture *c, int fd,
    const struct stat *st, uint32_t obj)
{
	size_t size;
	int error;

	if (st->st_size == 0)
		return (0);
	if (!heap_takes(fd, st)) {
		c->r.obj = obj;
		return (content_capture(u, u->wal->ofd, obj, fd, st,
		    &c->bytes, &c->r.flags));
	}
	size = (size_t)st->st_size;
	if (size > INLINE_MAX) {
		error = heap_put(u, u->wal, fd, st, &c->r, &c->small);
		c->bytes = heap_part(&c->r);
		return (error);
	}
	if ((c->small = malloc(size)) == NULL)
		return (ENOMEM);
	if ((error = sys_pread_all(fd, c->small, size, 0)) != 0)
		return (error);
	c->r.flags |= REC_INLINE;
	c->r.extra = c->small;
	c->r.extralen = size;
	return (0);
}

/* Attributes of what must not be opened: links, devices, pipes. */
static int
capture_special(struct undo *u, struct capture *c, const struct undo_ref *ref,
    const struct stat *st)
{
	struct os_object o = { -1, -1, NULL, st->st_mode };
	struct undo_ref byname;
	struct loc l;
	size_t xlen;
	int error;

	c->r.type = REC_META;
	if (c->r.path == NULL)
		return (0);
	byname = *ref;
	byname.path = c->r.path;
	if ((error = loc_open(u, &byname, &l)) != 0)
		return (error);
	o.dir = l.dir;
	o.name = l.name;
	error = meta_xattrs(&o, &c->xattrs, &xlen);
	if (error == 0) {
		c->r.m.xattrs = c->xattrs;
		c->r.m.xlen = xlen;
		c->r.flags |= REC_XATTRS;
	}
	loc_close(&l);
	return (error);
}

/* Fill ${c} from the file; the inode is taken, the lock is not. */
static int
capture_file(struct undo *u, struct capture *c, const struct undo_ref *ref,
    const struct stat *st, uint32_t want, uint32_t obj)
{
	struct os_object o = { -1, -1, NULL, st->st_mode };
	size_t xlen;
	bool own;
	int error;

	own = false;
	error = readable(u, ref, c->r.path, st, &o.fd, &own);
	/* Who may not read a file may still change its attributes. */
	if ((error == EACCES || error == EPERM) && (want & INO_CONTENT) == 0)
		return (capture_special(u, c, ref, st));
	if (error != 0)
		return (error);
	c->r.type = (want & INO_CONTENT) != 0 ? REC_CONTENT : REC_META;
	if (c->r.type == REC_CONTENT)
		error = capture_bytes(u, c, o.fd, st, obj);
	if (error == 0) {
		error = meta_xattrs(&o, &c->xattrs, &xlen);
		c->r.m.xattrs = c->xattrs;
		c->r.m.xlen = xlen;
		c->r.flags |= REC_XATTRS;
	}
	if (own)
		sys_close(o.fd);
	return (error);
}

/* Append what was captured.  Locked. */
static int
capture_append(struct undo *u, struct capture *c, const struct stat *st,
    uint32_t had)
{
	uint64_t dev;
	int error;

	dev = norm_dev(u, st->st_dev);
	if ((error = wal_append(u, u->wal, &c->r)) != 0)
		return (error);
	if (u->wal->a.lost) {
		if (c->r.obj != 0)
			hook_scrap(u, c->r.obj);
		return (0);
	}
	if (had == 0)
		u->wal->a.paths++;
	u->wal->a.bytes += c->bytes;
	u->stats.captured_bytes += c->bytes + c->r.extralen;
	return (inotab_add(&u->wal->tab, dev, (uint64_t)st->st_ino,
	    c->flags));
}

/*
 * Capture the inode, which the slot of ${op} has.  Without a name it matters
 * only if the store keeps a link of it.
 */
static int
capture_do(struct undo *u, struct undo_op *op, const struct undo_ref *ref,
    const struct stat *st, uint32_t want, uint32_t had)
{
	struct capture c;
	uint32_t kept, obj;
	int error;

	memset(&c, 0, sizeof(c));
	c.flags = want | INO_META;
	error = file_path(u, ref, st, &c.r.path, &c.mem);
	if (error != 0)
		return (error);
	(void)pthread_mutex_lock(&u->lock);
	kept = c.r.path != NULL ? 0 : kept_count(&u->kept,
	    norm_dev(u, st->st_dev), (uint64_t)st->st_ino);
	obj = u->wal->nextobj++;
	(void)pthread_mutex_unlock(&u->lock);
	if (c.r.path == NULL && kept == 0) {
		op->flags |= OP_NAMELESS;
		return (0);
	}
	if (c.r.path == NULL)
		c.r.flags |= REC_KEPT;
	c.r.pathlen = c.r.path == NULL ? 0 : strlen(c.r.path);
	meta_set(u, &c.r.m, st);
	if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode))
		error = capture_file(u, &c, ref, st, want, obj);
	else
		error = capture_special(u, &c, ref, st);
	if (error == 0) {
		(void)pthread_mutex_lock(&u->lock);
		error = capture_append(u, &c, st, had);
		(void)pthread_mutex_unlock(&u->lock);
	}
	if (error != 0 && c.r.obj != 0)
		hook_scrap(u, c.r.obj);
	capture_free(&c);
	return (error);
}

static uint32_t
table_get(struct undo *u, const struct stat *st, bool *lost)
{
	uint32_t have;

	(void)pthread_mutex_lock(&u->lock);
	have = inotab_get(&u->wal->tab, norm_dev(u, st->st_dev),
	    (uint64_t)st->st_ino);
	*lost = u->wal->a.lost;
	(void)pthread_mutex_unlock(&u->lock);
	return (have);
}

static bool
is_large(struct undo *u, const struct stat *st)
{
	uint64_t min;

	min = u->o.safeguards.overwrite_size;
	return ((uint64_t)st->st_size >= (min == 0 ? LARGE : min));
}

/* Take the inode, see whether it is still wanted, and capture it. */
static int
capture_slot(struct undo *u, struct undo_op *op, const struct undo_ref *ref,
    const struct stat *st, uint32_t want, uint32_t *have)
{
	struct stat now;
	struct slot *s;
	bool lost;
	int error;

	(void)pthread_mutex_lock(&u->lock);
	if ((s = slot_take(u, op)) == NULL) {
		(void)pthread_mutex_unlock(&u->lock);
		return (ENOMEM);
	}
	slot_keys(u, s);
	hook_whos(u, s, st, NULL);
	(void)pthread_mutex_unlock(&u->lock);
	*have = table_get(u, st, &lost);
	if (lost || enough(*have, want))
		return (0);
	/* What it was before we had to wait is of no interest. */
	if ((error = ref_stat(u, ref, &now)) != 0)
		return (error);
	if (now.st_ino != st->st_ino || now.st_dev != st->st_dev)
		return (ESTALE);
	if ((want & INO_CONTENT) != 0 &&
	    !hook_fits(u, content_size(&now)))
		return (0);
	error = capture_do(u, op, ref, &now, want, *have);
	if (error == 0)
		*have |= want | INO_META;
	return (error);
}

static int
capture(struct undo *u, struct undo_op *op, const struct undo_ref *ref,
    uint32_t want)
{
	struct stat st;
	uint32_t have;
	bool lost;
	int error;

	if ((error = ref_stat(u, ref, &st)) != 0)
		return (error);
	if (!S_ISREG(st.st_mode)) {
		if ((want & INO_META) == 0)
			return (0);
		want &= ~INO_CONTENT;
	}
	have = table_get(u, &st, &lost);
	if (lost)
		return (0);
	if (!enough(have, want)) {
		if ((want & INO_CONTENT) != 0 && is_large(u, &st) &&
		    (error = guard_check(u, op, UNDO_GUARD_OVERWRITE,
		    ref->path)) != 0)
			return (error);
		if ((error = capture_slot(u, op, ref, &st, want,
		    &have)) != 0)
			return (error);
		(void)pthread_mutex_lock(&u->lock);
		slot_drop(u, op);
		(void)pthread_mutex_unlock(&u->lock);
		if ((error = wal_sync(u, u->wal)) != 0)
			return (error);
	}
	if (S_ISREG(st.st_mode))
		seen_set(u, ref, have);
	return (0);
}

static int
content_hook(struct undo *u, struct undo_op *op, const struct undo_ref *ref,
    uint32_t want)
{
	int error;

	if (seen_fast(u, op, ref, want))
		return (0);
again:
	if ((error = flight_enter(u, op)) != 0 || u->foreign)
		return (error);
	error = capture(u, op, ref, want);
	if (error == EAGAIN && (op->flags & OP_FLIGHT) == 0)
		goto again;
	return (error == 0 ? 0 : hook_fail(u, op, error));
}

int
undo_pre_write(struct undo *u, struct undo_op *op, const struct undo_ref *ref)
{

	return (content_hook(u, op, ref, INO_CONTENT));
}

int
undo_pre_open_trunc(struct undo *u, struct undo_op *op,
    const struct undo_ref *ref)
{

	return (content_hook(u, op, ref, INO_CONTENT));
}

int
undo_pre_fallocate(struct undo *u, struct undo_op *op,
    const struct undo_ref *ref)
{

	return (content_hook(u, op, ref, INO_CONTENT));
}

int
undo_pre_copy_range(struct undo *u, struct undo_op *op,
    const struct undo_ref *ref)
{

	return (content_hook(u, op, ref, INO_CONTENT));
}

int
undo_pre_setattr(struct undo *u, struct undo_op *op,
    const struct undo_ref *ref, bool truncate)
{

	return (content_hook(u, op, ref, truncate ? INO_CONTENT | INO_META :
	    INO_META));
}

int
undo_pre_xattr(struct undo *u, struct undo_op *op, const struct undo_ref *ref)
{

	return (content_hook(u, op, ref, INO_META));
}
