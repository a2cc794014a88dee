/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * FreeBSD: finding and changing objects.  Node descriptors are O_PATH; an
 * object is reached from one by an empty path.  Threads have no identity of
 * their own here: what is made for a caller is given to it afterwards.
 */

#include <sys/param.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"

#include "host.h"

#define	NODE_FLAGS	(O_PATH | O_NOFOLLOW | O_CLOEXEC)

static int
stat_at(const struct host *h, int fd, const char *name, int flags,
    struct host_stat *out)
{
	struct stat st;

	if (fstatat(fd, name, &st, flags) == -1)
		return (errno);
	if (!h->cross && (uint64_t)st.st_dev != h->mount)
		return (EXDEV);
	memset(out, 0, sizeof(*out));
	out->dev = (uint64_t)st.st_dev;
	out->ino = (uint64_t)st.st_ino;
	out->size = (uint64_t)st.st_size;
	out->blocks = (uint64_t)st.st_blocks;
	out->blksize = (uint32_t)st.st_blksize;
	out->mode = st.st_mode;
	out->nlink = (uint32_t)st.st_nlink;
	out->uid = st.st_uid;
	out->gid = st.st_gid;
	out->rdev_major = (uint32_t)major(st.st_rdev);
	out->rdev_minor = (uint32_t)minor(st.st_rdev);
	out->atime = st.st_atim;
	out->mtime = st.st_mtim;
	out->ctime = st.st_ctim;
	out->btime = st.st_birthtim;
	out->btime_valid = st.st_birthtim.tv_sec > 0;
	return (0);
}

int
host_stat_name(const struct host *h, int dirfd, const char *name,
    struct host_stat *st)
{

	return (stat_at(h, dirfd, name, AT_SYMLINK_NOFOLLOW |
	    AT_RESOLVE_BENEATH, st));
}

int
host_stat_fd(const struct host *h, int fd, struct host_stat *st)
{

	return (stat_at(h, fd, "", AT_EMPTY_PATH, st));
}

static int
open_at(int dirfd, const char *name, int flags, mode_t mode, int *fdp)
{
	int fd;

	if ((fd = openat(dirfd, name, flags | O_CLOEXEC, mode)) == -1)
		return (errno);
	*fdp = fd;
	return (0);
}

int
host_node_open(const struct host *h, int dirfd, const char *name, int *fdp)
{
	struct host_stat st;
	int error, fd;

	error = open_at(dirfd, name, NODE_FLAGS | O_RESOLVE_BENEATH, 0, &fd);
	if (error != 0)
		return (error);
	/* A mount that appeared since it was last looked at. */
	if ((error = host_stat_fd(h, fd, &st)) != 0) {
		(void)close(fd);
		return (error);
	}
	*fdp = fd;
	return (0);
}

int
host_node_dup(const struct host *h, int fd, int *fdp)
{

	(void)h;
	return (open_at(fd, "", O_PATH | O_EMPTY_PATH, 0, fdp));
}

int
host_reopen(const struct host *h, int fd, int flags, int *fdp)
{

	(void)h;
	return (open_at(fd, "", (flags & ~O_NOFOLLOW) | O_EMPTY_PATH |
	    O_NOCTTY | O_NONBLOCK, 0, fdp));
}

int
host_handle_get(const struct host *h, int fd, struct host_handle *out)
{

	(void)h;
	(void)fd;
	(void)out;
	return (EOPNOTSUPP);
}

int
host_handle_open(const struct host *h, const struct host_handle *in,
    int *fdp)
{

	(void)h;
	(void)in;
	(void)fdp;
	return (EOPNOTSUPP);
}

int
host_chmod(const struct host *h, int fd, uint32_t mode)
{

	(void)h;
	return (fchmodat(fd, "", (mode_t)mode, AT_EMPTY_PATH) == -1 ?
	    errno : 0);
}

int
host_chown(const struct host *h, int fd, uint32_t uid, uint32_t gid)
{

	(void)h;
	return (fchownat(fd, "", uid, gid, AT_EMPTY_PATH) == -1 ? errno : 0);
}

int
host_utimens(const struct host *h, int fd, const struct timespec ts[2])
{

	(void)h;
	return (utimensat(fd, "", ts, AT_EMPTY_PATH) == -1 ? errno : 0);
}

int
host_link(const struct host *h, int fd, int dirfd, const char *to)
{

	(void)h;
	return (linkat(fd, "", dirfd, to, AT_EMPTY_PATH) == -1 ? errno : 0);
}

int
host_access(const struct host *h, int fd, uint32_t mask)
{

	(void)h;
	return (faccessat(fd, "", (int)mask, AT_EACCESS | AT_EMPTY_PATH) ==
	    -1 ? errno : 0);
}

int
host_readlink(const struct host *h, int fd, char *buf, size_t size,
    size_t *len)
{
	ssize_t n;

	(void)h;
	if ((n = readlinkat(fd, "", buf, size)) == -1)
		return (errno);
	*len = (size_t)n;
	return (0);
}

int
host_rename(const struct host *h, int dirfd, const char *name, int todir,
    const char *to, uint32_t flags)
{

	(void)h;
	if (flags != 0)
		return (EINVAL);
	return (renameat(dirfd, name, todir, to) == -1 ? errno : 0);
}

int
host_open_flags(uint32_t flags)
{
	int f;

	f = O_RDONLY;
	if ((flags & SHARE_O_WRITE) != 0)
		f = (flags & (SHARE_O_READ | SHARE_O_EXEC)) != 0 ?
		    O_RDWR : O_WRONLY;
	f |= (flags & SHARE_O_TRUNC) != 0 ? O_TRUNC : 0;
	f |= (flags & SHARE_O_APPEND) != 0 ? O_APPEND : 0;
	f |= (flags & SHARE_O_SYNC) != 0 ? O_SYNC : 0;
	f |= (flags & SHARE_O_DSYNC) != 0 ? O_DSYNC : 0;
	return (f);
}

int
host_create(const struct host *h, int dirfd, const char *name, int flags,
    uint32_t mode, int *fdp)
{

	(void)h;
	return (open_at(dirfd, name, flags | O_CREAT | O_EXCL | O_NOFOLLOW |
	    O_NOCTTY, (mode_t)mode, fdp));
}

int
host_mkdir(const struct host *h, int dirfd, const char *name, uint32_t mode)
{

	(void)h;
	return (mkdirat(dirfd, name, (mode_t)mode) == -1 ? errno : 0);
}

/* Nothing makes a socket but binding one. */
static int
make_socket(int dirfd, const char *name)
{
	struct sockaddr_un sun;
	int error, s;

	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	sun.sun_len = sizeof(sun);
	if (strlcpy(sun.sun_path, name, sizeof(sun.sun_path)) >=
	    sizeof(sun.sun_path))
		return (ENAMETOOLONG);
	if ((s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1)
		return (errno);
	error = 0;
	if (bindat(dirfd, s, (struct sockaddr *)&sun, sizeof(sun)) == -1)
		error = errno == EADDRINUSE ? EEXIST : errno;
	(void)close(s);
	return (error);
}

int
host_mknod(const struct host *h, int dirfd, const char *name, uint32_t mode,
    uint32_t major, uint32_t minor)
{
	int error, fd;

	switch (mode & S_IFMT) {
	case S_IFREG:
		error = host_create(h, dirfd, name, O_WRONLY, mode & 07777,
		    &fd);
		if (error == 0)
			(void)close(fd);
		return (error);
	case S_IFIFO:
		return (mkfifoat(dirfd, name, (mode_t)(mode & 07777)) == -1 ?
		    errno : 0);
	case S_IFSOCK:
		return (make_socket(dirfd, name));
	default:
		return (mknodat(dirfd, name, (mode_t)mode, makedev(major,
		    minor)) == -1 ? errno : 0);
	}
}

int
host_symlink(const struct host *h, const char *target, int dirfd,
    const char *name)
{

	(void)h;
	return (symlinkat(target, dirfd, name) == -1 ? errno : 0);
}

int
host_tmpfile(const struct host *h, int dirfd, int flags, uint32_t mode,
    int *fdp)
{

	(void)h;
	(void)dirfd;
	(void)flags;
	(void)mode;
	(void)fdp;
	return (EOPNOTSUPP);
}

bool
host_personas(void)
{

	return (false);
}

int
host_enter(const struct host *h, const struct host_persona *p,
    uint32_t mask, struct host_saved *saved)
{

	(void)h;
	(void)p;
	(void)mask;
	memset(saved, 0, sizeof(*saved));
	return (0);
}

void
host_leave(const struct host *h, const struct host_saved *saved)
{

	(void)h;
	(void)saved;
}

static bool
may_setgid(const struct host_persona *p, uint32_t gid)
{
	uint32_t i;

	if (p->uid == 0 || p->gid == gid)
		return (true);
	for (i = 0; i < p->ngroups; i++)
		if (p->groups[i] == gid)
			return (true);
	return (false);
}

/* The group stays the directory's, as everywhere here, unless told. */
int
host_give(const struct host *h, int fd, const struct host_persona *p,
    uint32_t mode, uint32_t mask, struct host_stat *st)
{
	uint32_t want;
	int error;

	if (p != NULL && (p->uid != st->uid || p->group) &&
	    (error = host_chown(h, fd, p->uid, p->group ? p->gid :
	    UINT32_MAX)) != 0)
		return (error);
	want = mode & 07777 & ~mask;
	if (p != NULL && !S_ISDIR(st->mode) && !may_setgid(p, st->gid))
		want &= ~(uint32_t)S_ISGID;
	if ((st->mode & 07777) != want &&
	    (error = host_chmod(h, fd, want)) != 0)
		return (error);
	return (host_stat_fd(h, fd, st));
}

int
host_statfs(int fd, struct share_statfs *out)
{
	struct statfs st;

	if (fstatfs(fd, &st) == -1)
		return (errno);
	memset(out, 0, sizeof(*out));
	out->blocks = st.f_blocks;
	out->bfree = st.f_bfree;
	out->bavail = st.f_bavail > 0 ? (uint64_t)st.f_bavail : 0;
	out->files = st.f_files;
	out->ffree = st.f_ffree > 0 ? (uint64_t)st.f_ffree : 0;
	out->bsize = (uint32_t)st.f_iosize;
	out->frsize = (uint32_t)st.f_bsize;
	out->namelen = st.f_namemax;
	out->fsid = (uint64_t)(uint32_t)st.f_fsid.val[1] << 32 |
	    (uint32_t)st.f_fsid.val[0];
	return (0);
}

int
host_init(struct host *h, int rootfd, bool caller, struct co_error *e)
{
	struct stat st;

	h->procfd = -1;
	h->rootfd = openat(rootfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (h->rootfd == -1 || fstat(h->rootfd, &st) == -1) {
		(void)co_error_errno(e, errno, NULL,
		    "cannot open the folder to share");
		goto err0;
	}
	h->mount = (uint64_t)st.st_dev;
	h->flushes = true;
	if (caller && geteuid() != 0) {
		(void)co_error_set(e, CO_ESYS_PERMISSION, NULL,
		    "acting as the caller needs root; serve as yourself");
		goto err0;
	}
	return (0);
err0:
	if (h->rootfd != -1)
		(void)close(h->rootfd);
	return (-1);
}

void
host_fini(struct host *h)
{

	(void)close(h->rootfd);
}
