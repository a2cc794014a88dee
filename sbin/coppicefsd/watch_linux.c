/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Linux: watching by fanotify(7), which tells the process that made a
 * change, and may be used by anyone on directories that they can read.
 */

#include <sys/fanotify.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

#include <linux/openat2.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "coppicefsd.h"
#include "watch.h"
#include "watch_inotify.h"

#define	BUF_SIZE	65536
#define	LOOK_BYTES	(16 * BUF_SIZE)	/* at most, before a rest */
#define	MASK		(FAN_MODIFY | FAN_ATTRIB | FAN_CREATE | FAN_DELETE | \
	FAN_MOVED_FROM | FAN_MOVED_TO | FAN_ONDIR | FAN_EVENT_ON_CHILD)
#define	NAMES		(FAN_CREATE | FAN_DELETE | FAN_MOVED_FROM | \
	FAN_MOVED_TO)

int
watch_os_open(int dirfd, const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
		    RESOLVE_NO_XDEV
	};

	return ((int)syscall(SYS_openat2, dirfd, path[0] != '\0' ? path : ".",
	    &how, sizeof(how)));
}

/* Those of root have no limits; others must do with what the system gives. */
static int
fan_open(struct watch *w)
{
	const unsigned int flags = FAN_CLASS_NOTIF | FAN_CLOEXEC |
	    FAN_NONBLOCK | FAN_REPORT_DFID_NAME;

	w->fd = fanotify_init(flags | FAN_UNLIMITED_QUEUE |
	    FAN_UNLIMITED_MARKS, O_RDONLY);
	if (w->fd == -1)
		w->fd = fanotify_init(flags, O_RDONLY);
	return (w->fd == -1 ? errno : 0);
}

/* A directory is known by its file handle. */
static uint64_t
key_of(const void *fsid, const struct file_handle *fh)
{
	unsigned char buf[8 + sizeof(fh->handle_type) + MAX_HANDLE_SZ];
	size_t len;

	len = fh->handle_bytes < MAX_HANDLE_SZ ? fh->handle_bytes :
	    MAX_HANDLE_SZ;
	memcpy(buf, fsid, 8);
	memcpy(buf + 8, &fh->handle_type, sizeof(fh->handle_type));
	memcpy(buf + 8 + sizeof(fh->handle_type), fh->f_handle, len);
	return (ledger_hash(buf, 8 + sizeof(fh->handle_type) + len));
}

static int
fan_add(struct watch *w, int fd, uint64_t *key)
{
	union {
		struct file_handle	fh;
		char			room[sizeof(struct file_handle) +
					    MAX_HANDLE_SZ];
	} h;
	struct statfs sf;
	int id;

	h.fh.handle_bytes = MAX_HANDLE_SZ;
	if (name_to_handle_at(fd, "", &h.fh, &id, AT_EMPTY_PATH) == -1 ||
	    fstatfs(fd, &sf) == -1)
		return (errno);
	*key = key_of(&sf.f_fsid, &h.fh);
	if (fanotify_mark(w->fd, FAN_MARK_ADD | FAN_MARK_ONLYDIR, MASK, fd,
	    NULL) == -1)
		return (errno);
	return (0);
}

/* The mark goes with the directory; one that was moved away says nothing. */
static void
fan_drop(struct watch *w, uint64_t key)
{

	(void)w;
	(void)key;
}

/* ${m} is the head of the event at ${event}. */
static void
fan_info(struct watch *w, const struct fanotify_event_metadata *m,
    const char *event, bool own)
{
	const struct fanotify_event_info_fid *f;
	const struct file_handle *fh;
	enum watch_what what;
	const char *name;
	size_t left;

	f = (const void *)(event + m->metadata_len);
	left = m->event_len - m->metadata_len;
	if (left < sizeof(*f) + sizeof(*fh) || f->hdr.len > left ||
	    f->hdr.info_type != FAN_EVENT_INFO_TYPE_DFID_NAME)
		return;
	fh = (const void *)f->handle;
	name = (const char *)fh->f_handle + fh->handle_bytes;
	if (strcmp(name, ".") == 0)
		name = "";
	what = (m->mask & FAN_ONDIR) != 0 && (m->mask & NAMES) != 0 ?
	    WATCH_DIRECTORY : WATCH_ENTRY;
	watch_event(w, key_of(&f->fsid, fh), name, what, own);
}

/*
 * Return how many events there were.  Behind a name they are aligned to four
 * bytes only, which is less than their head wants.
 */
static int
fan_read(struct watch *w, const char *buf, size_t len, pid_t self)
{
	struct fanotify_event_metadata m;
	int n = 0;

	for (; len >= sizeof(m); buf += m.event_len, len -= m.event_len, n++) {
		memcpy(&m, buf, sizeof(m));
		if (m.event_len < sizeof(m) || m.event_len > len)
			break;
		if (m.vers != FANOTIFY_METADATA_VERSION)
			continue;
		if ((m.mask & FAN_Q_OVERFLOW) != 0)
			watch_overflow(w);
		/* Most are our own, and of no interest. */
		else if (m.pid == self && (m.mask & FAN_ONDIR) == 0) {
			w->events++;
			w->own++;
		} else
			fan_info(w, &m, buf, m.pid == self);
	}
	return (n);
}

static int
fan_take(struct watch *w, int wait)
{
	_Alignas(struct fanotify_event_metadata) char buf[BUF_SIZE];
	struct pollfd p = { .fd = w->fd, .events = POLLIN };
	pid_t self = getpid();
	size_t all = 0;
	ssize_t len;
	int n = 0;

	if (poll(&p, 1, wait) <= 0)
		return (0);
	while (all < LOOK_BYTES &&
	    (len = read(w->fd, buf, sizeof(buf))) > 0) {
		n += fan_read(w, buf, (size_t)len, self);
		all += (size_t)len;
	}
	return (n);
}

static void
fan_close(struct watch *w)
{

	(void)close(w->fd);
	w->fd = -1;
}

static const struct watcher fanotify = {
	.name = "fanotify",
	.author = true,
	.open = fan_open,
	.add = fan_add,
	.drop = fan_drop,
	.take = fan_take,
	.close = fan_close
};

/* The way that goes through /proc needs no path of the folder. */
int
inotify_os_add(int fd, int dirfd, uint32_t mask)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", dirfd);
	return (inotify_add_watch(fd, path, mask &
	    ~(uint32_t)IN_DONT_FOLLOW));
}

const struct watcher *const watchers[] = { &fanotify, &watch_inotify, NULL };
