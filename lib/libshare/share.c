/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A share's beginning and end, its options and its numbers.
 */

#include <sys/resource.h>
#include <sys/stat.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"

#include "share_internal.h"

#define	FDS_MIN		64	/* less is no use */
#define	FDS_SPARE	64	/* for the program around us */
#define	FDS_DEFAULT	1024	/* where the system has no limit to tell */
#define	NODES_DEFAULT	(4U << 20)

#define	TAG_NODE	0
#define	TAG_FILE	(UINT32_C(1) << 30)
#define	TAG_DIR		(UINT32_C(1) << 31)

/* Half for nodes, whose descriptors come and go, half for what is open. */
static void
divide_fds(struct share *s)
{
	struct rlimit rl;
	uint64_t fds;

	fds = s->o.max_fds;
	if (fds == 0) {
		fds = FDS_DEFAULT;
		if (getrlimit(RLIMIT_NOFILE, &rl) == 0 &&
		    rl.rlim_cur != RLIM_INFINITY)
			fds = (uint64_t)rl.rlim_cur;
		if (fds > UINT32_MAX)
			fds = UINT32_MAX;
		fds = fds > FDS_MIN + FDS_SPARE ? fds - FDS_SPARE : FDS_MIN;
	}
	if (fds < FDS_MIN)
		fds = FDS_MIN;
	s->max_nodefds = (uint32_t)(fds / 2);
	s->max_open = (uint32_t)(fds - fds / 2);
	if (s->o.max_nodes == 0)
		s->o.max_nodes = NODES_DEFAULT;
}

static int
copy_map(const struct share_map **mp, size_t n)
{
	struct share_map *copy;
	size_t i, k;

	for (i = 0; i < n; i++) {
		const struct share_map *a = &(*mp)[i];

		if (a->count == 0 || a->guest + (a->count - 1) < a->guest ||
		    a->host + (a->count - 1) < a->host)
			return (EINVAL);
		for (k = 0; k < i; k++) {
			const struct share_map *b = &(*mp)[k];

			if ((a->guest <= b->guest + (b->count - 1) &&
			    b->guest <= a->guest + (a->count - 1)) ||
			    (a->host <= b->host + (b->count - 1) &&
			    b->host <= a->host + (a->count - 1)))
				return (EINVAL);
		}
	}
	copy = NULL;
	if (n > 0) {
		if ((copy = calloc(n, sizeof(*copy))) == NULL)
			return (ENOMEM);
		memcpy(copy, *mp, n * sizeof(*copy));
	}
	*mp = copy;
	return (0);
}

static void
free_maps(struct share *s)
{

	free((void *)(uintptr_t)s->o.uids);
	free((void *)(uintptr_t)s->o.gids);
}

static int
take_options(struct share *s, const struct share_options *o,
    struct co_error *e)
{
	int error;

	if (o != NULL)
		s->o = *o;
	if (s->o.owned && s->o.identity != SHARE_SELF)
		return (co_error_set(e, CO_ESYS_CONFIG, "owner",
		    "files have one owner only when not acting as the "
		    "caller"));
	if (s->o.checks == SHARE_CHECK_HERE && s->o.identity != SHARE_CALLER)
		return (co_error_set(e, CO_ESHARE_ROOT, "checks",
		    "permissions can be checked here only when acting as "
		    "the caller"));
	if (s->o.checks == SHARE_CHECK_HERE && !host_personas())
		return (co_error_set(e, CO_ESYS_UNSUPPORTED, "checks",
		    "permissions can't be checked here on this system; let "
		    "the client check them"));
	if ((error = copy_map(&s->o.uids, s->o.nuids)) != 0) {
		s->o.uids = s->o.gids = NULL;
		goto bad;
	}
	if ((error = copy_map(&s->o.gids, s->o.ngids)) != 0) {
		s->o.gids = NULL;
		free_maps(s);
		goto bad;
	}
	divide_fds(s);
	atomic_init(&s->readonly, s->o.readonly);
	s->host.cross = s->o.cross;
	return (0);
bad:
	if (error == EINVAL)
		return (co_error_set(e, CO_ESYS_CONFIG, "map",
		    "ranges of ids must not be empty or overlap"));
	return (co_error_errno(e, error, NULL, "cannot share the folder"));
}

static int
open_root(struct share *s, struct co_error *e)
{
	struct host_stat st;
	int error, fd;

	if ((error = host_node_dup(&s->host, s->host.rootfd, &fd)) != 0)
		goto bad;
	if ((error = host_stat_fd(&s->host, fd, &st)) != 0) {
		(void)close(fd);
		goto bad;
	}
	s->device[0] = st.dev;
	atomic_init(&s->ndevices, 1);
	error = share_node_get(s, &st, fd, NULL, NULL, &s->root);
	if (error == 0) {
		atomic_store(&s->root->pinned, true);
		return (0);
	}
bad:
	return (co_error_errno(e, error, NULL, "cannot share the folder"));
}

int
share_open(int rootfd, struct undo *u, const struct share_options *o,
    struct share **sp, struct co_error *e)
{
	struct share *s;
	struct stat st;
	int error;

	if (fstat(rootfd, &st) == -1 || !S_ISDIR(st.st_mode))
		return (co_error_set(e, CO_ESHARE_ROOT, NULL,
		    "what is to be shared is not a directory"));
	if ((s = calloc(1, sizeof(*s))) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "cannot share"));
	s->undo = u;
	if (take_options(s, o, e) == -1)
		goto err0;
	if (host_init(&s->host, rootfd, s->o.identity == SHARE_CALLER,
	    e) == -1)
		goto err1;
	if ((error = share_node_init(s)) != 0 ||
	    (error = share_table_init(&s->nodes, TAG_NODE,
	    s->o.max_nodes)) != 0 ||
	    (error = share_table_init(&s->files, TAG_FILE,
	    s->max_open)) != 0 ||
	    (error = share_table_init(&s->dirs, TAG_DIR, s->max_open)) != 0 ||
	    (error = share_names_init(s)) != 0 ||
	    (error = share_locks_init(s)) != 0) {
		(void)co_error_errno(e, error, NULL, "cannot share");
		goto err2;
	}
	(void)pthread_mutex_init(&s->evict, NULL);
	(void)pthread_mutex_init(&s->devlock, NULL);
	if (open_root(s, e) == -1)
		goto err3;
	*sp = s;
	return (0);
err3:
	share_locks_fini(s);
	share_names_fini(s);
	share_table_fini(&s->dirs);
	share_table_fini(&s->files);
	share_table_fini(&s->nodes);
err2:
	share_node_fini(s);
	host_fini(&s->host);
err1:
	free_maps(s);
err0:
	free(s);
	return (-1);
}

void
share_close(struct share *s)
{

	if (s == NULL)
		return;
	share_reset(s);
	share_node_fini(s);
	share_locks_fini(s);
	share_names_fini(s);
	share_table_fini(&s->dirs);
	share_table_fini(&s->files);
	share_table_fini(&s->nodes);
	(void)pthread_mutex_destroy(&s->evict);
	(void)pthread_mutex_destroy(&s->devlock);
	host_fini(&s->host);
	free_maps(s);
	free(s);
}

static void
hold_node(void *n)
{

	share_hold(n);
}

void
share_reset(struct share *s)
{
	struct share_node *n;
	uint32_t i;

	share_file_reset(s);
	share_dir_reset(s);
	for (i = 0; i < atomic_load(&s->nodes.nslots); i++) {
		n = share_table_at(&s->nodes, i, hold_node);
		if (n == NULL)
			continue;
		share_forget(s, n->number, UINT64_MAX);
		share_put(s, n);
	}
}

void
share_readonly(struct share *s, bool on)
{

	atomic_store(&s->readonly, on || s->o.readonly);
}

void
share_stats(struct share *s, struct share_stats *st)
{

	memset(st, 0, sizeof(*st));
	st->nodes = atomic_load(&s->nodes.count);
	st->fds = atomic_load(&s->nfds);
	st->files = atomic_load(&s->files.count);
	st->dirs = atomic_load(&s->dirs.count);
	st->reopened = atomic_load(&s->reopened);
	st->read_bytes = atomic_load(&s->read_bytes);
	st->written_bytes = atomic_load(&s->written_bytes);
	st->mutations = atomic_load(&s->mutations);
	share_locks_stats(s, st);
}
