/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The heap of a step: captured content of many small files in one, since
 * making a file for each costs more than copying it.  Records say where in
 * the heap their bytes are.
 *
 * In idle time the heap becomes heap.z: for each piece its offset in the
 * heap (8), its length (4), how many bytes follow (4), and those, a zstd
 * frame or, if they are as many as the length, the bytes themselves.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "record.h"
#include "undo_internal.h"

#define	LEVEL		3
#define	HEAD		16
#define	BLOCK		4096

/* Does the file belong in the heap? */
bool
heap_takes(int fd, const struct stat *st)
{

	return (st->st_size > 0 && st->st_size <= HEAP_MAX &&
	    content_dense(fd, st));
}

static int
heap_reserve(struct undo *u, struct wal *w, size_t size, uint64_t *off,
    int *fd)
{
	int error;

	error = 0;
	(void)pthread_mutex_lock(&u->lock);
	if (w->heapfd == -1) {
		w->heapfd = sys_openat(w->ofd, "heap", O_RDWR | O_CREAT |
		    O_NOFOLLOW, 0600);
		if (w->heapfd == -1)
			error = errno;
	}
	*fd = w->heapfd;
	*off = w->heapend;
	if (error == 0)
		w->heapend += size;
	(void)pthread_mutex_unlock(&u->lock);
	return (error);
}

static int
put_copy(int fd, int heap, size_t size, size_t room, uint64_t off)
{
	uint8_t buf[HEAP_MAX];
	int error;

	if ((error = sys_pread_all(fd, buf, size, 0)) != 0)
		return (error);
	memset(buf + size, 0, room - size);
	return (sys_pwrite_all(heap, buf, room, (off_t)off));
}

/*
 * Is a clone the quicker way?  Where a filesystem writes in place, keeping
 * count of who shares a block costs more than so few bytes; and a file that
 * was just written would have to go to the disk first.
 */
static bool
heap_clones(struct undo *u, const struct wal *w, int fd,
    const struct stat *st)
{
	bool no;

	if (!w->j.direct || st->st_size < BLOCK)
		return (false);
	(void)pthread_mutex_lock(&u->lock);
	no = fs_info(u, (uint64_t)st->st_dev)->noclone;
	(void)pthread_mutex_unlock(&u->lock);
	return (!no && os_clean(fd, (size_t)st->st_size));
}

/* EOPNOTSUPP: it has to be copied. */
static int
put_clone(struct undo *u, struct wal *w, int fd, const struct stat *st,
    struct rec *r, uint8_t **tail, int *heap)
{
	size_t len, rest;
	int error;

	rest = (size_t)st->st_size % BLOCK;
	len = (size_t)st->st_size - rest;
	if ((error = heap_reserve(u, w, len, &r->m.rdev, heap)) != 0 ||
	    (error = os_clone_range(fd, *heap, (off_t)r->m.rdev, len)) != 0)
		return (error);
	if (rest == 0)
		return (0);
	if ((*tail = malloc(rest)) == NULL)
		return (ENOMEM);
	r->extra = *tail;
	r->extralen = rest;
	return (sys_pread_all(fd, *tail, rest, (off_t)len));
}

static void
heap_count(struct undo *u, const struct stat *st, bool cloned, bool tried)
{
	struct fsinfo *fs;

	(void)pthread_mutex_lock(&u->lock);
	fs = fs_info(u, (uint64_t)st->st_dev);
	if (cloned) {
		fs->clones = true;
		u->stats.cloned++;
		if (norm_dev(u, st->st_dev) == 0)
			u->stats.reflinks = true;
	} else {
		u->stats.copied++;
		if (tried && !fs->clones)
			fs->noclone = true;
	}
	(void)pthread_mutex_unlock(&u->lock);
}

/*
 * Take the content of ${fd} into the heap of ${w}; ${r} learns where.  Of a
 * clone the end that fills no block is in ${tail}, for the caller to free
 * when ${r} was appended.
 */
int
heap_put(struct undo *u, struct wal *w, int fd, const struct stat *st,
    struct rec *r, uint8_t **tail)
{
	size_t room, size;
	bool cloned, tried;
	int error, heap;

	*tail = NULL;
	r->flags |= REC_HEAP;
	tried = heap_clones(u, w, fd, st);
	error = tried ? put_clone(u, w, fd, st, r, tail, &heap) : EOPNOTSUPP;
	cloned = error == 0;
	if (error == EOPNOTSUPP) {
		/* Where clones may follow, they have to begin at a block. */
		size = room = (size_t)st->st_size;
		if (w->j.direct)
			room = (size + BLOCK - 1) / BLOCK * BLOCK;
		error = heap_reserve(u, w, room, &r->m.rdev, &heap);
		if (error == 0)
			error = put_copy(fd, heap, size, room, r->m.rdev);
	}
	if (error == 0 && u->o.durability == UNDO_POWER &&
	    sys_fdatasync(heap) == -1)
		error = errno;
	if (error == 0)
		heap_count(u, st, cloned, tried);
	return (error);
}

/* How much of it is in the heap. */
size_t
heap_part(const struct rec *r)
{

	return (r->m.size > HEAP_MAX || r->extralen > r->m.size ? 0 :
	    (size_t)r->m.size - r->extralen);
}

/*
 * Reading.
 */
static int
index_add(struct heap *h, uint64_t off, uint64_t at, uint32_t len,
    uint32_t zlen)
{
	struct heap_piece *n;
	size_t size;

	if (h->n == h->size) {
		size = h->size == 0 ? 64 : h->size * 2;
		if ((n = realloc(h->v, size * sizeof(*n))) == NULL)
			return (ENOMEM);
		h->v = n;
		h->size = size;
	}
	h->v[h->n++] = (struct heap_piece){ off, at, len, zlen };
	return (0);
}

/* Pieces are in the order of their offsets. */
static int
index_load(struct heap *h)
{
	uint8_t head[HEAD];
	uint64_t at, off, size;
	uint32_t len, zlen;
	struct stat st;
	int error;

	if (sys_fstat(h->fd, &st) == -1)
		return (errno);
	size = (uint64_t)st.st_size;
	for (at = 0; size - at >= HEAD; at += HEAD + zlen) {
		if ((error = sys_pread_all(h->fd, head, HEAD, (off_t)at)) !=
		    0)
			return (error);
		off = get64(head);
		len = get32(head + 8);
		zlen = get32(head + 12);
		if (zlen > len || zlen > size - at - HEAD ||
		    len > HEAP_MAX || (h->n > 0 && off <= h->v[h->n -
		    1].off))
			break;
		if ((error = index_add(h, off, at + HEAD, len, zlen)) != 0)
			return (error);
	}
	h->end = at;
	return (0);
}

int
heap_open(struct heap *h, int ofd)
{
	int error;

	memset(h, 0, sizeof(*h));
	h->fd = sys_openat(ofd, "heap", O_RDONLY | O_NOFOLLOW, 0);
	if (h->fd != -1)
		return (0);
	if (errno != ENOENT)
		return (errno);
	h->packed = true;
	h->fd = sys_openat(ofd, "heap.z", O_RDONLY | O_NOFOLLOW, 0);
	if (h->fd == -1)
		return (errno);
	if ((error = index_load(h)) != 0)
		heap_close(h);
	return (error);
}

void
heap_close(struct heap *h)
{

	if (h->fd != -1)
		sys_close(h->fd);
	free(h->v);
	h->fd = -1;
	h->v = NULL;
}

static int
by_offset(const void *a, const void *b)
{
	uint64_t x, y;

	x = ((const struct heap_piece *)a)->off;
	y = ((const struct heap_piece *)b)->off;
	return (x < y ? -1 : x > y);
}

static int
get_piece(const struct heap *h, uint64_t off, uint8_t *buf, size_t len)
{
	struct heap_piece key, *p;
	uint8_t *z;
	size_t n;
	int error;

	if (off > INT64_MAX || len > HEAP_MAX)
		return (EIO);
	if (!h->packed)
		return (sys_pread_all(h->fd, buf, len, (off_t)off));
	key.off = off;
	p = h->n == 0 ? NULL : bsearch(&key, h->v, h->n, sizeof(*p),
	    by_offset);
	if (p == NULL || p->len != len)
		return (EIO);
	if (p->zlen == p->len)
		return (sys_pread_all(h->fd, buf, len, (off_t)p->at));
	if ((z = malloc(p->zlen + 1)) == NULL)
		return (ENOMEM);
	error = sys_pread_all(h->fd, z, p->zlen, (off_t)p->at);
	if (error == 0) {
		n = ZSTD_decompress(buf, len, z, p->zlen);
		if (ZSTD_isError(n) || n != len)
			error = EIO;
	}
	free(z);
	return (error);
}

/* The bytes of ${r}, in ${buf}, which has room for all of them. */
int
heap_get(const struct heap *h, const struct rec *r, uint8_t *buf)
{
	size_t len;
	int error;

	if ((len = heap_part(r)) == 0)
		return (EIO);
	if ((error = get_piece(h, r->m.rdev, buf, len)) == 0 &&
	    r->extralen > 0)
		memcpy(buf + len, r->extra, r->extralen);
	return (error);
}

/*
 * Packing, a part at a time: heap.t grows until it has all pieces.
 */
struct heap_pack {
	struct heap	 from;
	struct heap	 to;
	struct heap	 all;		/* pieces that records tell of */
	ZSTD_CCtx	*z;
	uint8_t		 raw[HEAP_MAX];
	uint8_t		 out[HEAD + HEAP_MAX + 1024];
};

/* Threads append in another order than they reserve. */
static int
pack_list(struct heap_pack *p, const struct journal *j)
{
	struct rec r;
	uint64_t off;
	int error;

	for (off = 0; journal_next(j, &off, &r);) {
		if ((r.flags & REC_HEAP) == 0 || r.is_void)
			continue;
		if (heap_part(&r) == 0)
			return (EIO);
		if ((error = index_add(&p->all, r.m.rdev, 0,
		    (uint32_t)heap_part(&r), 0)) != 0)
			return (error);
	}
	if (p->all.n > 0)
		qsort(p->all.v, p->all.n, sizeof(*p->all.v), by_offset);
	return (0);
}

static int
pack_piece(struct heap_pack *p, uint64_t off, uint32_t len)
{
	size_t n;
	int error;

	if ((error = get_piece(&p->from, off, p->raw, len)) != 0)
		return (error);
	n = ZSTD_compressCCtx(p->z, p->out + HEAD, sizeof(p->out) - HEAD,
	    p->raw, len, LEVEL);
	if (ZSTD_isError(n) || n >= len) {
		n = len;
		memcpy(p->out + HEAD, p->raw, len);
	}
	put64(p->out, off);
	put32(p->out + 8, len);
	put32(p->out + 12, (uint32_t)n);
	error = sys_pwrite_all(p->to.fd, p->out, HEAD + n,
	    (off_t)p->to.end);
	p->to.end += HEAD + n;
	return (error);
}

/* All is in heap.t: let it take the place of the heap, if it is smaller. */
static int
pack_done(struct heap_pack *p, int ofd, bool sync, uint64_t *saved)
{
	struct stat st;

	if (sys_fstat(p->from.fd, &st) == -1)
		return (errno);
	if (p->to.end + BLOCK > (uint64_t)st.st_size)
		return (sys_unlinkat(ofd, "heap.t", 0) == -1 ? errno : 0);
	if (sys_ftruncate(p->to.fd, (off_t)p->to.end) == -1 ||
	    (sync && sys_fsync(p->to.fd) == -1) ||
	    sys_renameat(ofd, "heap.t", ofd, "heap.z") == -1 ||
	    (sync && sys_fsync(ofd) == -1) ||
	    sys_unlinkat(ofd, "heap", 0) == -1)
		return (errno);
	*saved = (uint64_t)st.st_size - p->to.end;
	return (0);
}

static int
pack_run(struct heap_pack *p, int ofd, const struct journal *j, bool sync,
    int64_t until, uint64_t *saved)
{
	uint64_t last;
	bool any;
	size_t i;
	int error;

	if ((error = pack_list(p, j)) != 0)
		return (error);
	any = p->to.n > 0;
	last = any ? p->to.v[p->to.n - 1].off : 0;
	for (i = 0; i < p->all.n; i++) {
		if (any && p->all.v[i].off <= last)
			continue;
		if (os_clock_ms() >= until)
			return (EAGAIN);
		error = pack_piece(p, p->all.v[i].off, p->all.v[i].len);
		if (error != 0)
			return (error);
		any = true;
		last = p->all.v[i].off;
	}
	return (any ? pack_done(p, ofd, sync, saved) : 0);
}

/*
 * Compress the heap of a finished step until the moment ${until}; EAGAIN
 * when there is more to do.  Unless ${again}, what is there of heap.t is
 * some former process's, which a loss of power may have spoilt.
 */
int
heap_pack(int ofd, const struct journal *j, bool again, bool sync,
    int64_t until, uint64_t *saved)
{
	struct heap_pack *p;
	int error;

	*saved = 0;
	if ((p = malloc(sizeof(*p))) == NULL)
		return (ENOMEM);
	memset(&p->to, 0, sizeof(p->to));
	memset(&p->all, 0, sizeof(p->all));
	p->to.fd = p->all.fd = -1;
	p->z = ZSTD_createCCtx();
	error = heap_open(&p->from, ofd);
	if (error == 0 && !p->from.packed && p->z != NULL) {
		p->to.fd = sys_openat(ofd, "heap.t", O_RDWR | O_CREAT |
		    O_NOFOLLOW | (again ? 0 : O_TRUNC), 0600);
		error = p->to.fd == -1 ? errno : index_load(&p->to);
		if (error == 0)
			error = pack_run(p, ofd, j, sync, until, saved);
		if (error != 0 && error != EAGAIN)
			(void)sys_unlinkat(ofd, "heap.t", 0);
	}
	heap_close(&p->from);
	heap_close(&p->to);
	heap_close(&p->all);
	ZSTD_freeCCtx(p->z);
	free(p);
	return (error == ENOENT ? 0 : error);
}
