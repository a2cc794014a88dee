/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One file request, served by a process that has become the user it is for
 * and does nothing else: plain blocking calls from beginning to end.
 */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"

/* Set when the request was closed; what is half done is undone. */
static volatile sig_atomic_t stopped;

static void
on_term(int sig)
{

	(void)sig;
	stopped = 1;
}

static int
write_all(int fd, const void *data, size_t len)
{
	const char *p = data;
	ssize_t n;

	while (len > 0) {
		n = write(fd, p, len);
		if (n == -1 && errno == EINTR && !stopped)
			continue;
		if (n == -1)
			return (errno);
		p += n;
		len -= (size_t)n;
	}
	return (0);
}

void
file_emit(struct file *f, enum file_class class, struct sw_msg *m,
    const void *data, size_t len)
{
	struct file_head h = { .class = class };
	const char *nl;

	f->out.start = f->out.len = 0;
	sw_set_num(m, F_REQ, f->req);
	if (sf_put(&f->out, m, data, len, NULL, 0) != 0)
		_exit(1);
	nl = memchr(f->out.buf, '\n', f->out.len);
	h.line = (uint32_t)(nl - f->out.buf + 1);
	h.payload = (uint32_t)(f->out.len - h.line);
	h.cost = class == FILE_ITEM ? 1 : (uint32_t)len;
	if (write_all(1, &h, sizeof(h)) != 0 ||
	    write_all(1, f->out.buf, f->out.len) != 0)
		_exit(1);
}

void
file_event(struct file *f, enum sw_event event, const char *path)
{
	struct sw_msg m;

	if (strlen(path) > 4096)
		return;
	sw_init(&m, W_EVENT);
	sw_set_num(&m, F_EVENT, (int64_t)event);
	sw_set_str(&m, F_PATH, path);
	file_emit(f, FILE_ITEM, &m, NULL, 0);
}

static enum sw_kind
kind(mode_t mode)
{

	switch (mode & S_IFMT) {
	case S_IFREG:
		return (WK_FILE);
	case S_IFDIR:
		return (WK_DIR);
	case S_IFLNK:
		return (WK_LINK);
	case S_IFIFO:
		return (WK_FIFO);
	case S_IFSOCK:
		return (WK_SOCKET);
	case S_IFCHR:
		return (WK_CHAR);
	case S_IFBLK:
		return (WK_BLOCK);
	default:
		return (WK_OTHER);
	}
}

/* Names are looked up once for runs of files of the same owner. */
static const char *
owner(uid_t uid)
{
	static char name[65];
	static uid_t last;

	if (name[0] == '\0' || last != uid)
		user_name(uid, name, sizeof(name));
	last = uid;
	return (name);
}

static const char *
team(gid_t gid)
{
	static char name[65];
	static gid_t last;

	if (name[0] == '\0' || last != gid)
		user_group(gid, name, sizeof(name));
	last = gid;
	return (name);
}

void
file_entry(struct file *f, int dirfd, const char *name, const char *path,
    const struct stat *st)
{
	char target[4097];
	struct sw_msg m;
	ssize_t n;

	sw_init(&m, W_ENTRY);
	sw_set_str(&m, F_PATH, path);
	sw_set_num(&m, F_KIND, (int64_t)kind(st->st_mode));
	sw_set_num(&m, F_SIZE, st->st_size);
	sw_set_num(&m, F_MODE, st->st_mode & 07777);
	sw_set_num(&m, F_UID, st->st_uid);
	sw_set_num(&m, F_GID, st->st_gid);
	sw_set_str(&m, F_OWNER, owner(st->st_uid));
	sw_set_str(&m, F_TEAM, team(st->st_gid));
	sw_set_num(&m, F_MTIME_NS, (int64_t)st->st_mtim.tv_sec *
	    1000000000 + st->st_mtim.tv_nsec);
	if (S_ISLNK(st->st_mode) && (n = readlinkat(dirfd, name, target,
	    sizeof(target) - 1)) > 0)
		sw_set_bytes(&m, F_TARGET, target, (size_t)n);
	file_emit(f, FILE_ITEM, &m, NULL, 0);
}

/* Who asked for a relative path does not know the user's home. */
static const char *
file_path(const struct file *f)
{
	static char full[4097];
	const char *path = sw_str(f->m, F_PATH, "");

	if (path[0] == '/' || snprintf(full, sizeof(full), "%s/%s",
	    f->user.home, path) >= (int)sizeof(full))
		return (path);
	return (full);
}

static int
do_stat(struct file *f)
{
	const char *path = sw_str(f->m, F_PATH, "");
	struct stat st;

	if (fstatat(AT_FDCWD, path, &st, sw_num(f->m, F_FOLLOW, 0) != 0 ?
	    0 : AT_SYMLINK_NOFOLLOW) != 0)
		return (errno);
	file_entry(f, AT_FDCWD, path, file_path(f), &st);
	return (0);
}

static int
do_read(struct file *f)
{
	uint64_t left = (uint64_t)sw_num(f->m, F_LENGTH, INT64_MAX);
	size_t chunk = f->out.raw ? CHUNK : SW_TEXT;
	off_t at = (off_t)sw_num(f->m, F_OFFSET, 0);
	struct sw_msg m;
	char buf[CHUNK];
	struct stat st;
	ssize_t n;
	int fd;

	fd = open(sw_str(f->m, F_PATH, ""), O_RDONLY | O_CLOEXEC);
	if (fd == -1 || fstat(fd, &st) != 0)
		return (errno);
	if (S_ISDIR(st.st_mode))
		return (EISDIR);
	if (at != 0 && lseek(fd, at, SEEK_SET) == -1)
		return (errno);
	file_entry(f, AT_FDCWD, "", file_path(f), &st);
	if (sw_has(f->m, F_FDS))
		return (file_copy(fd, FILE_DIRECT, left, &f->offset));
	while (left > 0) {
		n = read(fd, buf, left < chunk ? (size_t)left : chunk);
		if (n == -1)
			return (errno);
		if (n == 0)
			break;
		sw_init(&m, W_DATA);
		sw_set_num(&m, F_OFFSET, (int64_t)f->offset);
		file_emit(f, FILE_BYTES, &m, buf, (size_t)n);
		f->offset += (uint64_t)n;
		left -= (uint64_t)n;
	}
	return (0);
}

/* Make the directories that lead to path, and path itself if all. */
static int
make_dirs(const char *path, mode_t mode, bool all)
{
	char s[4097];
	size_t n = strlen(path);

	memcpy(s, path, n + 1);
	for (size_t i = 1; i < n; i++) {
		if (s[i] != '/')
			continue;
		s[i] = '\0';
		if (mkdir(s, 0777) != 0 && errno != EEXIST &&
		    errno != EISDIR && access(s, F_OK) != 0)
			return (errno);
		s[i] = '/';
	}
	if (all && mkdir(s, mode) != 0 && errno != EEXIST)
		return (errno);
	return (0);
}

static int
do_mkdir(struct file *f)
{
	const char *path = sw_str(f->m, F_PATH, "");
	mode_t mode = (mode_t)sw_num(f->m, F_MODE, 0777);
	struct stat st;
	int error;

	if (sw_num(f->m, F_PARENTS, 0) == 0)
		return (mkdir(path, mode) == 0 ? 0 : errno);
	if ((error = make_dirs(path, mode, true)) != 0)
		return (error);
	if (stat(path, &st) != 0)
		return (errno);
	return (S_ISDIR(st.st_mode) ? 0 : ENOTDIR);
}

/* Copy the input to fd until it ends; the request may be closed before. */
static int
copy_in(struct file *f, int fd)
{
	char buf[CHUNK];
	ssize_t n;
	int error;

	for (;;) {
		n = read(0, buf, sizeof(buf));
		if (stopped)
			return (ECANCELED);
		if (n == 0)
			return (0);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return (errno);
		if ((error = write_all(fd, buf, (size_t)n)) != 0)
			return (error);
		f->offset += (uint64_t)n;
	}
}

static int
write_direct(struct file *f, const char *path, mode_t mode)
{
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC, fd, error;

	flags |= sw_num(f->m, F_APPEND, 0) != 0 ? O_APPEND : O_TRUNC;
	if ((fd = open(path, flags, mode)) == -1)
		return (errno);
	if (sw_has(f->m, F_MODE) && fchmod(fd, mode) != 0)
		error = errno;
	else if (sw_has(f->m, F_FDS))
		error = file_copy(0, fd, UINT64_MAX, &f->offset);
	else
		error = copy_in(f, fd);
	if (error == EINTR && stopped)
		error = ECANCELED;
	if (close(fd) != 0 && error == 0)
		error = errno;
	return (error);
}

/* Beside the file, then in its place: whole or not at all. */
static int
write_atomic(struct file *f, const char *path, mode_t mode)
{
	char tmp[4097 + 32];
	struct stat st;
	int fd, error;

	(void)snprintf(tmp, sizeof(tmp), "%s.coppice-%d", path,
	    (int)getpid());
	if (!sw_has(f->m, F_MODE) && stat(path, &st) == 0)
		mode = st.st_mode & 07777;
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	    0600);
	if (fd == -1)
		return (errno);
	error = copy_in(f, fd);
	if (error == 0 && (fchmod(fd, mode) != 0 || fsync(fd) != 0))
		error = errno;
	if (close(fd) != 0 && error == 0)
		error = errno;
	if (error == 0 && stopped)
		error = ECANCELED;
	if (error == 0 && rename(tmp, path) != 0)
		error = errno;
	if (error != 0)
		(void)unlink(tmp);
	return (error);
}

static int
do_write(struct file *f)
{
	const char *path = sw_str(f->m, F_PATH, "");
	mode_t mode = (mode_t)sw_num(f->m, F_MODE, 0644);
	bool atomic = sw_num(f->m, F_ATOMIC, 0) != 0;
	int error;

	if (atomic && (sw_num(f->m, F_APPEND, 0) != 0 ||
	    sw_has(f->m, F_FDS)))
		return (EINVAL);
	if (sw_num(f->m, F_PARENTS, 0) != 0 &&
	    (error = make_dirs(path, 0777, false)) != 0)
		return (error);
	return (atomic ? write_atomic(f, path, mode) :
	    write_direct(f, path, mode));
}

static int
do_move(struct file *f)
{

	return (rename(sw_str(f->m, F_PATH, ""), sw_str(f->m, F_TO,
	    "")) == 0 ? 0 : errno);
}

static int
do_chmod(struct file *f)
{

	return (chmod(sw_str(f->m, F_PATH, ""), (mode_t)sw_num(f->m,
	    F_MODE, 0)) == 0 ? 0 : errno);
}

static int (*const serve[W_MAX])(struct file *) = {
	[W_STAT] = do_stat,
	[W_LIST] = file_list,
	[W_READ] = do_read,
	[W_WRITE] = do_write,
	[W_MKDIR] = do_mkdir,
	[W_MOVE] = do_move,
	[W_REMOVE] = file_remove,
	[W_CHMOD] = do_chmod,
	[W_WATCH] = file_watch,
};

static void
reply(struct file *f, int error)
{
	struct sw_msg m;

	sw_init(&m, W_REPLY);
	if (error != 0) {
		sw_set_str(&m, F_ERROR, sw_errname(error));
		sw_set_str(&m, F_MESSAGE, strerror(error));
	} else if (f->m->type == W_READ || f->m->type == W_WRITE) {
		sw_set_num(&m, F_OFFSET, (int64_t)f->offset);
	}
	file_emit(f, FILE_LAST, &m, NULL, 0);
}

void
file_run(const struct guest *g, const struct sw_msg *m)
{
	struct sigaction sa = { .sa_handler = on_term };
	struct file f = { .g = g, .m = m, .req = sw_num(m, F_REQ, 0) };
	int error;

	if (sf_out_init(&f.out, SW_SHIM, SW_SHIMLINE +
	    SW_PAYLOAD) != 0)
		_exit(1);
	f.out.raw = g->chan.out.raw;
	umask(022);
	/* Only a file that is being written needs tidying up. */
	if (m->type == W_WRITE)
		(void)sigaction(SIGTERM, &sa, NULL);
	if ((error = spawn_user(g, m, &f.user)) == 0 &&
	    (error = spawn_become(&f.user)) == 0) {
		/* Relative paths are the user's own. */
		if (chdir(f.user.home) != 0)
			(void)!chdir("/");
		error = serve[m->type](&f);
	}
	reply(&f, error);
	_exit(0);
}
