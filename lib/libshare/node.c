/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Nodes, found by identity.  A node goes away when its last reference does,
 * under the locks of both tables that could find it.  While a node's
 * descriptor is open its inode can't be reused, so device and inode number
 * name it; a node without descriptor is recognised by birth time or handle.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share_internal.h"

#define	BUCKETS_MIN	64
#define	REOPEN_DEPTH	256	/* directories, each found in the next */

int
share_node_init(struct share *s)
{
	int i;

	for (i = 0; i < NODE_SHARDS; i++) {
		struct shard *sh = &s->shard[i];

		sh->bucket = calloc(BUCKETS_MIN, sizeof(sh->bucket[0]));
		if (sh->bucket == NULL)
			return (ENOMEM);
		sh->nbuckets = BUCKETS_MIN;
		(void)pthread_mutex_init(&sh->lock, NULL);
	}
	return (0);
}

static uint64_t
hash(uint64_t dev, uint64_t ino)
{
	uint64_t h;

	h = (ino ^ dev << 40) * UINT64_C(0x9E3779B97F4A7C15);
	return (h ^ h >> 29);
}

static struct shard *
shard_of(struct share *s, uint64_t h)
{

	return (&s->shard[h % NODE_SHARDS]);
}

static struct share_node **
bucket_of(struct shard *sh, uint64_t h)
{

	return (&sh->bucket[h / NODE_SHARDS % sh->nbuckets]);
}

/* A table that can't grow only gets slower. */
static void
shard_grow(struct shard *sh)
{
	struct share_node **b, **old, *n, *next, **to;
	size_t i, nold;

	nold = sh->nbuckets;
	if ((b = calloc(nold * 2, sizeof(*b))) == NULL)
		return;
	old = sh->bucket;
	sh->bucket = b;
	sh->nbuckets = nold * 2;
	for (i = 0; i < nold; i++)
		for (n = old[i]; n != NULL; n = next) {
			next = n->hnext;
			to = bucket_of(sh, hash(n->dev, n->ino));
			n->hnext = *to;
			*to = n;
		}
	free(old);
}

static void
shard_insert(struct shard *sh, struct share_node *n)
{
	struct share_node **b;

	if (sh->nnodes >= sh->nbuckets * 2)
		shard_grow(sh);
	b = bucket_of(sh, hash(n->dev, n->ino));
	n->hnext = *b;
	*b = n;
	n->hashed = true;
	sh->nnodes++;
}

static void
shard_remove(struct shard *sh, struct share_node *n)
{
	struct share_node **np;

	if (!n->hashed)
		return;
	for (np = bucket_of(sh, hash(n->dev, n->ino)); *np != n;
	    np = &(*np)->hnext)
		;
	*np = n->hnext;
	n->hashed = false;
	sh->nnodes--;
}

static struct share_node *
shard_find(struct shard *sh, uint64_t dev, uint64_t ino)
{
	struct share_node *n;

	for (n = *bucket_of(sh, hash(dev, ino)); n != NULL; n = n->hnext)
		if (n->ino == ino && n->dev == dev)
			return (n);
	return (NULL);
}

static bool
same_birth(const struct share_node *n, const struct host_stat *st)
{

	return (n->btime_valid && st->btime_valid &&
	    n->btime.tv_sec == st->btime.tv_sec &&
	    n->btime.tv_nsec == st->btime.tv_nsec);
}

/* Is ${n}, of the same device and number, the object ${st}? */
static bool
same_object(const struct share_node *n, const struct host_stat *st)
{

	return (n->type == (st->mode & S_IFMT) &&
	    ((atomic_load(&n->fdstate) & 1) != 0 || same_birth(n, st)));
}

static void
hold_node(void *n)
{

	share_hold(n);
}

void
share_hold(struct share_node *n)
{

	atomic_fetch_add(&n->refs, 1);
}

static void
node_free(struct share *s, struct share_node *n)
{

	share_locks_node(s, n);
	if ((atomic_load(&n->fdstate) & 1) != 0) {
		(void)close(n->fd);
		atomic_fetch_sub(&s->nfds, 1);
	}
	free(n->handle);
	free(n);
}

/* The last reference, with both locks held: nobody can find it any more. */
static bool
last_reference(void *object)
{
	struct share_node *n = object;
	uint64_t one = 1;

	return (atomic_compare_exchange_strong(&n->refs, &one, 0));
}

/* Take one reference; true when the node is out of all tables. */
static bool
node_drop(struct share *s, struct share_node *n)
{
	struct shard *sh;
	uint64_t refs;
	bool gone;

	sh = shard_of(s, hash(n->dev, n->ino));
	do {
		refs = atomic_load(&n->refs);
		while (refs > 1)
			if (atomic_compare_exchange_weak(&n->refs, &refs,
			    refs - 1))
				return (false);
		(void)pthread_mutex_lock(&sh->lock);
		gone = share_table_remove(&s->nodes, n->number,
		    last_reference);
		if (gone)
			shard_remove(sh, n);
		(void)pthread_mutex_unlock(&sh->lock);
	} while (!gone);
	return (true);
}

/*
 * A node refers to its directories, whose last reference this may be; a
 * loop, as a tree may be deep.
 */
void
share_put(struct share *s, struct share_node *n)
{
	struct alias *a, *left;

	left = NULL;
	while (n != NULL) {
		if (node_drop(s, n)) {
			while ((a = n->names) != NULL) {
				n->names = a->next;
				a->next = left;
				left = a;
			}
			node_free(s, n);
		}
		n = NULL;
		if ((a = left) != NULL) {
			left = a->next;
			n = a->dir;
			free(a);
		}
	}
}

void
share_keep(struct share_node *n)
{

	atomic_fetch_add(&n->kept, 1);
}

void
share_forget(struct share *s, uint64_t number, uint64_t count)
{
	struct share_node *n;
	uint64_t kept, take;

	if ((n = share_find(s, number)) == NULL)
		return;
	kept = atomic_load(&n->kept);
	do {
		take = count < kept ? count : kept;
	} while (!atomic_compare_exchange_weak(&n->kept, &kept, kept - take));
	/* Our own reference makes sure that these are not the last ones. */
	atomic_fetch_sub(&n->refs, take);
	share_put(s, n);
}

struct share_node *
share_find(struct share *s, uint64_t number)
{

	return (share_table_find(&s->nodes, number, hold_node));
}

uint64_t
share_number(const struct share_node *n)
{

	return (n->number);
}

uint32_t
share_type(const struct share_node *n)
{

	return (n->type);
}

struct share_node *
share_root(struct share *s)
{

	share_hold(s->root);
	return (s->root);
}

struct share_node *
share_node_known(struct share *s, const struct host_stat *st)
{
	struct share_node *n;
	struct shard *sh;

	sh = shard_of(s, hash(st->dev, st->ino));
	(void)pthread_mutex_lock(&sh->lock);
	n = shard_find(sh, st->dev, st->ino);
	if (n != NULL && same_object(n, st))
		share_hold(n);
	else
		n = NULL;
	(void)pthread_mutex_unlock(&sh->lock);
	return (n);
}

static struct share_node *
node_new(const struct host_stat *st, int fd, struct share_node *dir,
    const char *name)
{
	struct share_node *n;

	if ((n = calloc(1, sizeof(*n))) == NULL)
		return (NULL);
	if (dir != NULL && (n->names = share_alias_new(dir, name)) == NULL) {
		free(n);
		return (NULL);
	}
	atomic_init(&n->refs, 1);
	n->dev = st->dev;
	n->ino = st->ino;
	n->type = st->mode & S_IFMT;
	n->btime = st->btime;
	n->btime_valid = st->btime_valid;
	n->fd = fd;
	atomic_init(&n->fdstate, 1);
	return (n);
}

static bool
same_handle(const struct share *s, const struct share_node *n, int fd)
{
	struct host_handle h;

	return (n->handle != NULL && host_handle_get(&s->host, fd, &h) == 0 &&
	    h.type == n->handle->type && h.len == n->handle->len &&
	    memcmp(h.data, n->handle->data, h.len) == 0);
}

/* Find the object or put ${new} in; what is stale there makes room. */
static int
node_enter(struct share *s, const struct host_stat *st,
    struct share_node *new, struct share_node **np)
{
	struct share_node *n;
	struct shard *sh;
	int error;

	error = 0;
	sh = shard_of(s, hash(st->dev, st->ino));
	(void)pthread_mutex_lock(&sh->lock);
	n = shard_find(sh, st->dev, st->ino);
	if (n != NULL && (same_object(n, st) || same_handle(s, n, new->fd))) {
		share_hold(n);
		*np = n;
		goto out;
	}
	if ((error = share_table_add(&s->nodes, new, &new->number)) != 0)
		goto out;
	if (n != NULL)
		shard_remove(sh, n);
	shard_insert(sh, new);
	*np = new;
out:
	(void)pthread_mutex_unlock(&sh->lock);
	return (error);
}

static void evict(struct share *);

int
share_node_get(struct share *s, const struct host_stat *st, int fd,
    struct share_node *dir, const char *name, struct share_node **np)
{
	struct share_node *n, *new;
	int error;

	if ((new = node_new(st, fd, dir, name)) == NULL) {
		(void)close(fd);
		return (ENOMEM);
	}
	if ((error = node_enter(s, st, new, &n)) == 0 && n == new) {
		if (atomic_fetch_add(&s->nfds, 1) >= s->max_nodefds)
			evict(s);
		*np = n;
		return (0);
	}
	share_alias_free(s, new->names);
	(void)close(new->fd);
	free(new);
	if (error != 0)
		return (error);
	if (dir != NULL)
		share_name_seen(s, n, dir, name);
	*np = n;
	return (0);
}

/*
 * Descriptors.
 */

static int fd_get(struct share *, struct share_node *, int *, int);

/* Find the object again by the kernel's name for it, else by its name. */
static int
node_find_again(struct share *s, struct share_node *n, int *fdp, int depth)
{
	char name[SHARE_NAME_MAX + 1];
	struct host_handle h;
	struct share_node *dir;
	struct shard *sh;
	int dirfd, error;

	sh = shard_of(s, hash(n->dev, n->ino));
	(void)pthread_mutex_lock(&sh->lock);
	h.len = 0;
	if (n->handle != NULL)
		h = *n->handle;
	(void)pthread_mutex_unlock(&sh->lock);
	if (h.len > 0 && host_handle_open(&s->host, &h, fdp) == 0)
		return (0);
	if (depth == 0 || share_name(s, n, &dir, name) != 0)
		return (ESTALE);
	if ((error = fd_get(s, dir, &dirfd, depth - 1)) == 0) {
		error = host_node_open(&s->host, dirfd, name, fdp);
		share_fd_put(dir);
	}
	share_put(s, dir);
	return (error == ENOENT || error == ENOTDIR || error == ELOOP ?
	    ESTALE : error);
}

static int
node_reopen(struct share *s, struct share_node *n, int depth)
{
	struct host_stat st;
	struct shard *sh;
	int error, fd;

	if ((error = node_find_again(s, n, &fd, depth)) != 0)
		return (error);
	if ((error = host_stat_fd(&s->host, fd, &st)) != 0)
		goto err0;
	error = ESTALE;
	if (st.dev != n->dev || st.ino != n->ino ||
	    (st.mode & S_IFMT) != n->type ||
	    (!same_birth(n, &st) && !same_handle(s, n, fd)))
		goto err0;
	sh = shard_of(s, hash(n->dev, n->ino));
	(void)pthread_mutex_lock(&sh->lock);
	if ((atomic_load(&n->fdstate) & 1) == 0) {
		n->fd = fd;
		atomic_fetch_or(&n->fdstate, 1);
		fd = -1;
	}
	(void)pthread_mutex_unlock(&sh->lock);
	if (fd != -1)
		(void)close(fd);
	else if (atomic_fetch_add(&s->nfds, 1) >= s->max_nodefds)
		evict(s);
	atomic_fetch_add(&s->reopened, 1);
	return (0);
err0:
	(void)close(fd);
	return (error);
}

static int
fd_get(struct share *s, struct share_node *n, int *fdp, int depth)
{
	uint32_t state;
	int error;

	if (!atomic_load_explicit(&n->used, memory_order_relaxed))
		atomic_store_explicit(&n->used, true, memory_order_relaxed);
	for (;;) {
		state = atomic_load(&n->fdstate);
		while ((state & 1) != 0)
			if (atomic_compare_exchange_weak(&n->fdstate, &state,
			    state + 2)) {
				*fdp = n->fd;
				return (0);
			}
		if ((error = node_reopen(s, n, depth)) != 0)
			return (error);
	}
}

int
share_fd_get(struct share *s, struct share_node *n, int *fdp)
{

	return (fd_get(s, n, fdp, REOPEN_DEPTH));
}

void
share_fd_put(struct share_node *n)
{

	atomic_fetch_sub(&n->fdstate, 2);
}

/* Close one node's descriptor if nobody needs it and it can come back. */
static void
evict_node(struct share *s, struct share_node *n)
{
	struct host_handle h, *hp;
	struct shard *sh;
	uint32_t idle = 1;
	int fd;

	if (n == s->root || atomic_load(&n->pinned) ||
	    (atomic_load(&n->fdstate) & 1) == 0 ||
	    atomic_exchange(&n->used, false))
		return;
	hp = NULL;
	sh = shard_of(s, hash(n->dev, n->ino));
	(void)pthread_mutex_lock(&sh->lock);
	if (n->handle == NULL && s->host.handles &&
	    (atomic_load(&n->fdstate) & 1) != 0 &&
	    host_handle_get(&s->host, n->fd, &h) == 0 &&
	    (hp = malloc(sizeof(*hp))) != NULL) {
		*hp = h;
		n->handle = hp;
	}
	fd = n->fd;
	if ((n->handle != NULL || n->btime_valid) &&
	    !atomic_load(&n->pinned) &&
	    atomic_compare_exchange_strong(&n->fdstate, &idle, 0)) {
		(void)close(fd);
		atomic_fetch_sub(&s->nfds, 1);
	}
	(void)pthread_mutex_unlock(&sh->lock);
}

/*
 * Too many descriptors: pass over the nodes in the order of their numbers,
 * sparing what was used since the last time, until there is room again.
 */
static void
evict(struct share *s)
{
	struct share_node *n;
	uint32_t i, slots;

	if (pthread_mutex_trylock(&s->evict) != 0)
		return;
	slots = atomic_load(&s->nodes.nslots);
	for (i = 0; i < slots * 2 && i < 65536; i++) {
		if (atomic_load(&s->nfds) + s->max_nodefds / 16 <
		    s->max_nodefds)
			break;
		if (s->hand >= slots)
			s->hand = 0;
		n = share_table_at(&s->nodes, s->hand++, hold_node);
		if (n == NULL)
			continue;
		evict_node(s, n);
		share_put(s, n);
	}
	(void)pthread_mutex_unlock(&s->evict);
}

int
share_open_reserve(struct share *s)
{

	if (atomic_fetch_add(&s->nopen, 1) < s->max_open)
		return (0);
	atomic_fetch_sub(&s->nopen, 1);
	return (ENFILE);
}

void
share_open_release(struct share *s)
{

	atomic_fetch_sub(&s->nopen, 1);
}

/* All are dropped, whoever refers to them: the share is going away. */
void
share_node_fini(struct share *s)
{
	struct share_node *n;
	struct alias *a;
	size_t i;

	for (i = 0; i < NODE_SHARDS; i++) {
		if (s->shard[i].bucket == NULL)
			continue;
		free(s->shard[i].bucket);
		(void)pthread_mutex_destroy(&s->shard[i].lock);
	}
	for (i = 0; i < atomic_load(&s->nodes.nslots); i++) {
		n = share_table_at(&s->nodes, (uint32_t)i, hold_node);
		if (n == NULL)
			continue;
		while ((a = n->names) != NULL) {
			n->names = a->next;
			free(a);
		}
		node_free(s, n);
	}
}
