/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Open directories.  Cookies are the filesystem's own, which it keeps good
 * while entries come and go; entries are read ahead into a buffer, which is
 * dropped when the client wants to be elsewhere.
 */

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share_internal.h"

#define	DIR_BUF		32768

static void
hold_dir(void *object)
{
	struct share_dir *d = object;

	atomic_fetch_add(&d->refs, 1);
}

int
share_opendir(struct share *s, const struct share_cred *c,
    struct share_node *n, struct share_dir **dp)
{
	struct host_saved saved;
	struct share_dir *d;
	int error, nfd;

	if (n->type != S_IFDIR)
		return (ENOTDIR);
	if ((error = share_open_reserve(s)) != 0)
		return (error);
	error = ENOMEM;
	if ((d = calloc(1, sizeof(*d))) == NULL)
		goto err0;
	if ((d->buf = malloc(DIR_BUF)) == NULL)
		goto err1;
	if ((error = share_fd_get(s, n, &nfd)) != 0)
		goto err2;
	if ((error = share_enter(s, c, false, &saved)) == 0) {
		error = host_reopen(&s->host, nfd, O_RDONLY | O_DIRECTORY,
		    &d->fd);
		share_leave(s, &saved);
	}
	share_fd_put(n);
	if (error != 0)
		goto err2;
	atomic_init(&d->refs, 2);
	d->node = n;
	(void)pthread_mutex_init(&d->lock, NULL);
	if ((error = share_table_add(&s->dirs, d, &d->number)) != 0)
		goto err3;
	share_hold(n);
	*dp = d;
	return (0);
err3:
	(void)pthread_mutex_destroy(&d->lock);
	(void)close(d->fd);
err2:
	free(d->buf);
err1:
	free(d);
err0:
	share_open_release(s);
	return (error);
}

struct share_dir *
share_dir_find(struct share *s, uint64_t number)
{

	return (share_table_find(&s->dirs, number, hold_dir));
}

uint64_t
share_dir_number(const struct share_dir *d)
{

	return (d->number);
}

struct share_node *
share_dir_node(const struct share_dir *d)
{

	return (d->node);
}

/* Take ${n} references back. */
static void
dir_drop(struct share *s, struct share_dir *d, uint32_t n)
{

	if (atomic_fetch_sub(&d->refs, n) != n)
		return;
	(void)close(d->fd);
	(void)pthread_mutex_destroy(&d->lock);
	share_open_release(s);
	share_put(s, d->node);
	free(d->buf);
	free(d);
}

void
share_dir_put(struct share *s, struct share_dir *d)
{

	if (d != NULL)
		dir_drop(s, d, 1);
}

/* The first to close it also gives back the table's reference. */
void
share_dir_close(struct share *s, struct share_dir *d)
{
	uint32_t n;

	n = 1;
	if (!atomic_exchange(&d->closed, true)) {
		(void)share_table_remove(&s->dirs, d->number, NULL);
		n = 2;
	}
	dir_drop(s, d, n);
}

void
share_dir_reset(struct share *s)
{
	struct share_dir *d;
	uint32_t i;

	for (i = 0; i < atomic_load(&s->dirs.nslots); i++)
		if ((d = share_table_at(&s->dirs, i, hold_dir)) != NULL)
			share_dir_close(s, d);
}

/* Read on from where the descriptor is. */
static int
dir_fill(struct share_dir *d)
{

	d->len = d->off = 0;
	return (host_getdents(d->fd, d->buf, DIR_BUF, &d->len));
}

/* Be at ${cookie}: there already, in the buffer, or elsewhere. */
static int
dir_seek(struct share_dir *d, uint64_t cookie)
{
	struct share_dirent de;
	size_t next, off;

	if (cookie != 0 && cookie == d->place)
		return (0);
	if (cookie > INT64_MAX)
		return (EINVAL);
	for (off = 0; cookie != 0 &&
	    (next = host_dirent(d->buf, d->len, off, &de)) != 0; off = next)
		if (de.cookie == cookie) {
			d->off = next;
			d->place = cookie;
			return (0);
		}
	if (lseek(d->fd, (off_t)cookie, SEEK_SET) == -1)
		return (errno);
	d->len = d->off = 0;
	d->place = cookie;
	return (0);
}

static bool
is_dots(const struct share_dirent *de)
{

	return (strcmp(de->name, ".") == 0 || strcmp(de->name, "..") == 0);
}

/* Give one entry to the callee, with its node if ${c}. */
static bool
dir_give(struct share *s, const struct share_cred *c, struct share_dir *d,
    struct share_dirent *de, share_dirent_fn *fn, void *arg)
{
	struct share_node *n;
	struct share_attr a;
	bool taken;

	n = NULL;
	if (d->node == s->root && strcmp(de->name, "..") == 0)
		de->ino = s->root->ino;
	de->ino = share_ino(s, d->node->dev, de->ino);
	if (c != NULL && !is_dots(de) &&
	    share_lookup(s, c, d->node, de->name, &n, &a) != 0)
		n = NULL;
	taken = fn(arg, de, n, n != NULL ? &a : NULL);
	if (!taken)
		share_put(s, n);
	return (taken);
}

static int
dir_read(struct share *s, const struct share_cred *c, struct share_dir *d,
    uint64_t cookie, share_dirent_fn *fn, void *arg)
{
	struct share_dirent de;
	size_t next;
	int error;

	(void)pthread_mutex_lock(&d->lock);
	if ((error = dir_seek(d, cookie)) != 0)
		goto out;
	for (;;) {
		next = host_dirent(d->buf, d->len, d->off, &de);
		if (next == 0) {
			if ((error = dir_fill(d)) != 0 || d->len == 0)
				break;
			continue;
		}
		if (!dir_give(s, c, d, &de, fn, arg))
			break;
		d->off = next;
		d->place = de.cookie;
	}
out:
	(void)pthread_mutex_unlock(&d->lock);
	/* A directory that was removed is empty. */
	return (error == ENOENT ? 0 : error);
}

int
share_readdir(struct share *s, struct share_dir *d, uint64_t cookie,
    share_dirent_fn *fn, void *arg)
{

	return (dir_read(s, NULL, d, cookie, fn, arg));
}

int
share_readdirplus(struct share *s, const struct share_cred *c,
    struct share_dir *d, uint64_t cookie, share_dirent_fn *fn, void *arg)
{

	return (dir_read(s, c, d, cookie, fn, arg));
}

int
share_fsyncdir(struct share *s, struct share_dir *d, bool data)
{

	(void)s;
	if (data)
		return (host_datasync(d->fd));
	return (fsync(d->fd) == -1 ? errno : 0);
}
