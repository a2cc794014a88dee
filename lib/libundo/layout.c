/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Opening a store: its folders, its version, the history in it.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "undo_internal.h"

#define	VERSION		"version"

static const char *const folders[] = { "wal", "steps", "redo", "trash" };

static int
fail(struct undo *u, struct co_error *e, int error, const char *what)
{

	return (co_error_errno(e, error, u->store,
	    "can't %s in the undo store %s", what, u->store));
}

/*
 * The number in the version file: -1 when there is no such file, -2 when it
 * holds no number.
 */
static int
read_version(struct undo *u, int *version)
{
	char buf[32], *end;
	long v;
	ssize_t n;
	int error, fd;

	*version = -1;
	fd = sys_openat(u->storefd, VERSION, O_RDONLY | O_NOFOLLOW, 0);
	if (fd == -1)
		return (errno == ENOENT ? 0 : errno);
	n = sys_pread(fd, buf, sizeof(buf) - 1, 0);
	error = n == -1 ? errno : 0;
	sys_close(fd);
	if (error != 0)
		return (error);
	buf[n] = '\0';
	v = strtol(buf, &end, 10);
	*version = end == buf || v < 0 || v > 1000000 ? -2 : (int)v;
	return (0);
}

static int
write_version(struct undo *u)
{
	char buf[16];
	int error, fd, len;

	len = snprintf(buf, sizeof(buf), "%d\n", UNDO_VERSION);
	fd = sys_openat(u->storefd, VERSION ".new", O_WRONLY | O_CREAT |
	    O_TRUNC | O_NOFOLLOW, 0600);
	if (fd == -1)
		return (errno);
	error = sys_pwrite_all(fd, buf, (size_t)len, 0);
	if (error == 0 && u->o.durability == UNDO_POWER &&
	    sys_fsync(fd) == -1)
		error = errno;
	sys_close(fd);
	if (error == 0 && sys_renameat(u->storefd, VERSION ".new",
	    u->storefd, VERSION) == -1)
		error = errno;
	if (error == 0 && u->o.durability == UNDO_POWER &&
	    sys_fsync(u->storefd) == -1)
		error = errno;
	return (error);
}

static int
open_folder(struct undo *u, const char *name, int *fd)
{

	if (sys_mkdirat(u->storefd, name, 0700) == -1 && errno != EEXIST)
		return (errno);
	*fd = sys_openat(u->storefd, name, O_RDONLY | O_DIRECTORY |
	    O_NOFOLLOW, 0);
	return (*fd == -1 ? errno : 0);
}

/* Make and open the folders, and say what version this is. */
int
store_init(struct undo *u, struct co_error *e)
{
	int *fds[] = { &u->walfd, &u->stepsfd, &u->redofd, &u->trashfd };
	size_t i;
	int error, v;

	for (i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (*fds[i] != -1)
			continue;
		error = open_folder(u, folders[i], fds[i]);
		if (error != 0)
			return (fail(u, e, error, "make folders"));
	}
	if ((error = read_version(u, &v)) != 0)
		return (fail(u, e, error, "read the version"));
	if (v != UNDO_VERSION && (error = write_version(u)) != 0)
		return (fail(u, e, error, "write the version"));
	return (0);
}

/* Does the store without a version have anything in it? */
static int
store_empty(struct undo *u, bool *empty)
{
	DIR *d;
	size_t i;
	int error;

	*empty = true;
	for (i = 0; *empty && i < 3; i++) {
		if ((d = sys_opendirat(u->storefd, folders[i])) == NULL) {
			if (errno != ENOENT)
				return (errno);
			continue;
		}
		*empty = sys_readdir(d) == NULL;
		error = *empty ? errno : 0;
		sys_closedir(d);
		if (error != 0)
			return (error);
	}
	return (0);
}

int
store_layout(struct undo *u, struct co_error *e)
{
	bool empty;
	int error, v;

	empty = false;
	if ((error = read_version(u, &v)) != 0 ||
	    (v == -1 && (error = store_empty(u, &empty)) != 0))
		return (fail(u, e, error, "read the version"));
	if (v == UNDO_VERSION || empty)
		return (store_init(u, e));
	u->foreign = true;
	event_post(u, UNDO_EV_VERSION, 0, 0,
	    "the undo store %s is of version %d and this program writes %d; "
	    "its history is kept and nothing is recorded until it is "
	    "discarded", u->store, v < 0 ? 0 : v, UNDO_VERSION);
	return (0);
}

/* A step whose manifest can't be read: the journal still knows its name. */
static int
salvage(int dir, struct about *a)
{
	struct journal j;
	enum purpose purpose;
	struct rec r;
	uint64_t off;
	bool damage;
	int error;

	if ((error = journal_open(&j, dir, false, &damage)) != 0)
		return (error);
	off = 0;
	error = EINVAL;
	if (journal_next(&j, &off, &r))
		error = begin_decode(&r, a, &purpose);
	if (error == 0)
		a->records = j.count;
	journal_close(&j);
	return (error);
}

static int
load_one(struct undo *u, int at, const char *name, bool redo)
{
	struct about a;
	struct step *s;
	bool bad;
	char want[32];
	int dir, error;

	dir = sys_openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (dir == -1)
		return (errno);
	error = manifest_read(dir, &a);
	bad = error == EINVAL || error == ENOENT;
	if (bad)
		error = salvage(dir, &a);
	sys_close(dir);
	if (error != 0)
		return (error);
	step_dirname(want, a.id);
	s = strcmp(want, name) == 0 ? step_new(u, &a, redo) : NULL;
	about_free(&a);
	if (s == NULL)
		return (EINVAL);
	if (bad)
		s->a.lost = true;
	if ((error = step_load(u, s)) != 0) {
		if (error != EINVAL && error != ENOENT) {
			step_free(s);
			return (error);
		}
		/* Its records can't be trusted; it stays to be seen. */
		s->a.lost = true;
		bad = true;
	}
	step_insert(u, s);
	if (bad)
		event_post(u, UNDO_EV_DAMAGE, s->a.id, 0,
		    "step %s in the undo store is damaged and can't be "
		    "rolled back", name);
	return (0);
}

static int
load_all(struct undo *u, int at, bool redo)
{
	struct dirent *de;
	DIR *d;
	int error;

	if ((d = sys_opendirat(at, ".")) == NULL)
		return (errno);
	error = 0;
	while (error == 0 && (de = sys_readdir(d)) != NULL) {
		error = load_one(u, at, de->d_name, redo);
		if (error == EINVAL || error == ENOENT || error == ENOTDIR) {
			event_post(u, UNDO_EV_DAMAGE, 0, 0,
			    "\"%s\" in the undo store is not a step and was "
			    "left alone", de->d_name);
			error = 0;
		}
	}
	if (error == 0)
		error = errno;
	sys_closedir(d);
	return (error);
}

/*
 * Ask for the rename of a name that does not exist: only a filesystem that
 * knows how to spare what is there gets as far as missing it.
 */
static void
try_rename(struct undo *u)
{

	u->spares = os_rename_new(u->trashfd, "none", u->trashfd,
	    "nothing") == ENOENT;
}

int
store_history(struct undo *u, struct co_error *e)
{
	int error;

	/*
	 * What a former process threw away goes at once: links in there are
	 * known to nobody.
	 */
	try_rename(u);
	u->rubbish = true;
	(void)store_sweep(u, UINT_MAX);
	if ((error = load_all(u, u->stepsfd, false)) != 0 ||
	    (error = load_all(u, u->redofd, true)) != 0 ||
	    (error = barrier_load(u)) != 0)
		return (fail(u, e, error, "read the history"));
	return (0);
}
