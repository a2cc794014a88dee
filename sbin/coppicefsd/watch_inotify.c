/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Watching by inotify: a watch on every directory, and the ledger to tell
 * our own changes.
 */

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "coppicefsd.h"
#include "watch.h"
#include "watch_inotify.h"

#define	BUF_SIZE	65536
#define	LOOK_BYTES	(16 * BUF_SIZE)	/* at most, before a rest */
#define	NAMES		(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)
#define	MASK		(NAMES | IN_MODIFY | IN_ATTRIB | IN_ONLYDIR | \
	IN_DONT_FOLLOW | IN_EXCL_UNLINK)

static int
in_open(struct watch *w)
{

	w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	return (w->fd == -1 ? errno : 0);
}

static int
in_add(struct watch *w, int fd, uint64_t *key)
{
	int wd;

	if ((wd = inotify_os_add(w->fd, fd, MASK)) == -1)
		return (errno);
	*key = (uint64_t)wd;
	return (0);
}

static void
in_drop(struct watch *w, uint64_t key)
{

	(void)inotify_rm_watch(w->fd, (int)key);
}

static void
in_event(struct watch *w, const struct inotify_event *ev)
{
	uint64_t key = (uint64_t)ev->wd;

	if ((ev->mask & IN_Q_OVERFLOW) != 0)
		watch_overflow(w);
	else if ((ev->mask & IN_IGNORED) != 0)
		watch_gone(w, key);
	else
		watch_event(w, key, ev->len > 0 ? ev->name : "",
		    (ev->mask & IN_ISDIR) != 0 && (ev->mask & NAMES) != 0 ?
		    WATCH_DIRECTORY : WATCH_ENTRY, false);
}

static int
in_take(struct watch *w, int wait)
{
	_Alignas(struct inotify_event) char buf[BUF_SIZE];
	struct pollfd p = { .fd = w->fd, .events = POLLIN };
	const struct inotify_event *ev;
	size_t all = 0;
	ssize_t at, len;
	int n = 0;

	if (poll(&p, 1, wait) <= 0)
		return (0);
	while (all < LOOK_BYTES &&
	    (len = read(w->fd, buf, sizeof(buf))) > 0) {
		for (at = 0; at < len; n++,
		    at += (ssize_t)(sizeof(*ev) + ev->len)) {
			ev = (const void *)(buf + at);
			in_event(w, ev);
		}
		all += (size_t)len;
	}
	return (n);
}

static void
in_close(struct watch *w)
{

	(void)close(w->fd);
	w->fd = -1;
}

const struct watcher watch_inotify = {
	.name = "inotify",
	.author = false,
	.open = in_open,
	.add = in_add,
	.drop = in_drop,
	.take = in_take,
	.close = in_close
};
