/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Linux: finding and changing objects.  Node descriptors are O_PATH; an
 * object is reached from one by its entry of /proc/self/fd, a link that the
 * kernel resolves to the very object, symbolic links too.  The directory of
 * those links is opened once, so that a sandbox without /proc can follow.
 */

#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <linux/magic.h>
#include <linux/openat2.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"

#include "host.h"
#include "host_linux.h"

#ifndef STATX_MNT_ID
#define	STATX_MNT_ID	0x1000U
#endif

#ifndef SYS_fchmodat2
#define	SYS_fchmodat2	452
#endif

#define	NODE_FLAGS	(O_PATH | O_NOFOLLOW | O_CLOEXEC)
#define	STATX_WANT	(STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID)

/* The name of a descriptor's link in procfd. */
void
host_proc_name(int fd, char name[HOST_PROC_NAME])
{

	(void)snprintf(name, HOST_PROC_NAME, "%d", fd);
}

static void
stat_from(const struct statx *x, struct host_stat *st)
{

	st->dev = makedev(x->stx_dev_major, x->stx_dev_minor);
	st->ino = x->stx_ino;
	st->size = x->stx_size;
	st->blocks = x->stx_blocks;
	st->blksize = x->stx_blksize;
	st->mode = x->stx_mode;
	st->nlink = x->stx_nlink;
	st->uid = x->stx_uid;
	st->gid = x->stx_gid;
	st->rdev_major = x->stx_rdev_major;
	st->rdev_minor = x->stx_rdev_minor;
	st->atime.tv_sec = x->stx_atime.tv_sec;
	st->atime.tv_nsec = x->stx_atime.tv_nsec;
	st->mtime.tv_sec = x->stx_mtime.tv_sec;
	st->mtime.tv_nsec = x->stx_mtime.tv_nsec;
	st->ctime.tv_sec = x->stx_ctime.tv_sec;
	st->ctime.tv_nsec = x->stx_ctime.tv_nsec;
	st->btime_valid = (x->stx_mask & STATX_BTIME) != 0;
	st->btime.tv_sec = st->btime_valid ? x->stx_btime.tv_sec : 0;
	st->btime.tv_nsec = st->btime_valid ? x->stx_btime.tv_nsec : 0;
}

static int
stat_at(const struct host *h, int fd, const char *name, int flags,
    struct host_stat *st)
{
	struct statx x;

	if (statx(fd, name, flags | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
	    STATX_WANT, &x) == -1)
		return (errno);
	if (!h->cross && (x.stx_mask & STATX_MNT_ID) != 0 &&
	    x.stx_mnt_id != h->mount)
		return (EXDEV);
	stat_from(&x, st);
	return (0);
}

int
host_stat_name(const struct host *h, int dirfd, const char *name,
    struct host_stat *st)
{

	return (stat_at(h, dirfd, name, 0, st));
}

int
host_stat_fd(const struct host *h, int fd, struct host_stat *st)
{

	return (stat_at(h, fd, "", AT_EMPTY_PATH, st));
}

int
host_node_open(const struct host *h, int dirfd, const char *name, int *fdp)
{
	struct open_how how = {
		.flags = NODE_FLAGS,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS |
		    RESOLVE_NO_SYMLINKS | (h->cross ? 0 : RESOLVE_NO_XDEV)
	};
	long fd;

	fd = syscall(SYS_openat2, dirfd, name, &how, sizeof(how));
	if (fd == -1)
		return (errno);
	*fdp = (int)fd;
	return (0);
}

static int
proc_open(const struct host *h, int fd, int flags, int *fdp)
{
	char name[HOST_PROC_NAME];
	int nfd;

	host_proc_name(fd, name);
	if ((nfd = openat(h->procfd, name, flags | O_CLOEXEC)) == -1)
		return (errno);
	*fdp = nfd;
	return (0);
}

int
host_node_dup(const struct host *h, int fd, int *fdp)
{

	long nfd;

	/* The same as by /proc, with nothing to look up there. */
	nfd = syscall(SYS_open_tree, fd, "", AT_EMPTY_PATH | O_CLOEXEC);
	if (nfd == -1)
		return (proc_open(h, fd, O_PATH, fdp));
	*fdp = (int)nfd;
	return (0);
}

int
host_reopen(const struct host *h, int fd, int flags, int *fdp)
{

	return (proc_open(h, fd, (flags & ~O_NOFOLLOW) | O_NOCTTY |
	    O_NONBLOCK, fdp));
}

/* Room for struct file_handle, whose last member has no size. */
union handle_buf {
	struct file_handle	fh;
	char			room[sizeof(struct file_handle) + 128];
};

int
host_handle_get(const struct host *h, int fd, struct host_handle *out)
{
	union handle_buf b;
	int mount;

	(void)h;
	memset(&b, 0, sizeof(b));
	b.fh.handle_bytes = sizeof(out->data);
	if (name_to_handle_at(fd, "", &b.fh, &mount, AT_EMPTY_PATH) == -1)
		return (errno);
	if (b.fh.handle_bytes > sizeof(out->data))
		return (EOVERFLOW);
	out->type = b.fh.handle_type;
	out->len = b.fh.handle_bytes;
	memcpy(out->data, b.room + sizeof(b.fh), out->len);
	return (0);
}

int
host_handle_open(const struct host *h, const struct host_handle *in,
    int *fdp)
{
	union handle_buf b;
	int fd;

	if (!h->handles)
		return (EOPNOTSUPP);
	b.fh.handle_type = in->type;
	b.fh.handle_bytes = in->len;
	memcpy(b.room + sizeof(b.fh), in->data, in->len);
	if ((fd = open_by_handle_at(h->rootfd, &b.fh, NODE_FLAGS)) == -1)
		return (errno);
	*fdp = fd;
	return (0);
}

int
host_chmod(const struct host *h, int fd, uint32_t mode)
{
	char name[HOST_PROC_NAME];

	if (h->chmodat)
		return (syscall(SYS_fchmodat2, fd, "", mode,
		    AT_EMPTY_PATH) == -1 ? errno : 0);
	host_proc_name(fd, name);
	return (fchmodat(h->procfd, name, mode, 0) == -1 ? errno : 0);
}

int
host_chown(const struct host *h, int fd, uint32_t uid, uint32_t gid)
{

	(void)h;
	return (fchownat(fd, "", uid, gid, AT_EMPTY_PATH |
	    AT_SYMLINK_NOFOLLOW) == -1 ? errno : 0);
}

int
host_utimens(const struct host *h, int fd, const struct timespec ts[2])
{
	char name[HOST_PROC_NAME];

	if (h->timesat)
		return (utimensat(fd, "", ts, AT_EMPTY_PATH) == -1 ? errno :
		    0);
	host_proc_name(fd, name);
	return (utimensat(h->procfd, name, ts, 0) == -1 ? errno : 0);
}

int
host_link(const struct host *h, int fd, int dirfd, const char *to)
{
	char name[HOST_PROC_NAME];

	host_proc_name(fd, name);
	return (linkat(h->procfd, name, dirfd, to, AT_SYMLINK_FOLLOW) == -1 ?
	    errno : 0);
}

int
host_access(const struct host *h, int fd, uint32_t mask)
{
	char name[HOST_PROC_NAME];

	host_proc_name(fd, name);
	return (faccessat(h->procfd, name, (int)mask, AT_EACCESS) == -1 ?
	    errno : 0);
}

int
host_readlink(const struct host *h, int fd, char *buf, size_t size,
    size_t *len)
{
	ssize_t n;

	(void)h;
	if ((n = readlinkat(fd, "", buf, size)) == -1)
		return (errno == ENOENT ? EINVAL : errno);
	*len = (size_t)n;
	return (0);
}

int
host_rename(const struct host *h, int dirfd, const char *name, int todir,
    const char *to, uint32_t flags)
{
	unsigned int f;

	(void)h;
	if ((flags & ~(uint32_t)(SHARE_NOREPLACE | SHARE_EXCHANGE)) != 0)
		return (EINVAL);
	f = (flags & SHARE_NOREPLACE) != 0 ? RENAME_NOREPLACE : 0;
	f |= (flags & SHARE_EXCHANGE) != 0 ? RENAME_EXCHANGE : 0;
	return (renameat2(dirfd, name, todir, to, f) == -1 ? errno : 0);
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
	f |= (flags & SHARE_O_NOATIME) != 0 ? O_NOATIME : 0;
	return (f);
}

int
host_create(const struct host *h, int dirfd, const char *name, int flags,
    uint32_t mode, int *fdp)
{
	int fd;

	(void)h;
	fd = openat(dirfd, name, flags | O_CREAT | O_EXCL | O_NOFOLLOW |
	    O_NOCTTY | O_CLOEXEC, mode);
	if (fd == -1)
		return (errno);
	*fdp = fd;
	return (0);
}

int
host_mkdir(const struct host *h, int dirfd, const char *name, uint32_t mode)
{

	(void)h;
	return (mkdirat(dirfd, name, mode) == -1 ? errno : 0);
}

int
host_mknod(const struct host *h, int dirfd, const char *name, uint32_t mode,
    uint32_t major, uint32_t minor)
{

	(void)h;
	return (mknodat(dirfd, name, mode, makedev(major, minor)) == -1 ?
	    errno : 0);
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
	int fd;

	(void)h;
	fd = openat(dirfd, ".", flags | O_TMPFILE | O_CLOEXEC, mode);
	if (fd == -1)
		return (errno == EISDIR ? EOPNOTSUPP : errno);
	*fdp = fd;
	return (0);
}

int
host_statfs(int fd, struct share_statfs *out)
{
	struct statfs st;
	int32_t id[2];

	if (fstatfs(fd, &st) == -1)
		return (errno);
	memset(out, 0, sizeof(*out));
	out->blocks = st.f_blocks;
	out->bfree = st.f_bfree;
	out->bavail = st.f_bavail;
	out->files = st.f_files;
	out->ffree = st.f_ffree;
	out->bsize = (uint32_t)st.f_bsize;
	out->frsize = (uint32_t)(st.f_frsize != 0 ? st.f_frsize : st.f_bsize);
	out->namelen = (uint32_t)st.f_namelen;
	out->type = (uint32_t)st.f_type;
	memcpy(id, &st.f_fsid, sizeof(id));
	out->fsid = (uint64_t)(uint32_t)id[1] << 32 | (uint32_t)id[0];
	return (0);
}

/* Can a handle of the root be opened?  Then all can, of its filesystem. */
static bool
handles_work(struct host *h)
{
	struct host_handle hd = { .len = 0 };
	int fd = -1;

	h->handles = true;
	if (host_handle_get(h, h->rootfd, &hd) != 0 ||
	    host_handle_open(h, &hd, &fd) != 0)
		return (false);
	(void)close(fd);
	return (true);
}

/* Calls that take a node descriptor itself; older kernels don't. */
static void
learn_calls(struct host *h)
{
	const struct timespec ts[2] = { { 0, UTIME_NOW }, { 0, UTIME_NOW } };

	h->chmodat = syscall(SYS_fchmodat2, -1, "", 0, AT_EMPTY_PATH) == -1 &&
	    errno == EBADF;
	h->timesat = utimensat(-1, "", ts, AT_EMPTY_PATH) == -1 &&
	    errno == EBADF;
	h->xattrat = host_has_xattrat(h);
}

/* Those of which it is known that they write nothing when a file closes. */
static bool
closes_quietly(int fd)
{
	static const unsigned long types[] = { EXT4_SUPER_MAGIC,
	    XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
	    TMPFS_MAGIC };
	struct statfs st;
	size_t i;

	if (fstatfs(fd, &st) == -1)
		return (false);
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if ((unsigned long)st.f_type == types[i])
			return (true);
	return (false);
}

int
host_init(struct host *h, int rootfd, bool caller, struct co_error *e)
{
	struct statx x;

	h->rootfd = openat(rootfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (h->rootfd == -1)
		return (co_error_errno(e, errno, NULL,
		    "cannot open the folder to share"));
	h->procfd = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (h->procfd == -1) {
		(void)co_error_errno(e, errno, "/proc/self/fd",
		    "a share needs /proc; mount it");
		goto err0;
	}
	if (statx(h->rootfd, "", AT_EMPTY_PATH, STATX_WANT, &x) == -1) {
		(void)co_error_errno(e, errno, NULL,
		    "cannot stat the folder to share");
		goto err1;
	}
	h->mount = x.stx_mnt_id;
	if ((x.stx_mask & STATX_MNT_ID) == 0)
		h->mount = 0;
	h->handles = handles_work(h);
	learn_calls(h);
	h->flushes = !closes_quietly(h->rootfd);
	if (caller && host_persona_check(e) == -1)
		goto err1;
	return (0);
err1:
	(void)close(h->procfd);
err0:
	(void)close(h->rootfd);
	return (-1);
}

void
host_fini(struct host *h)
{

	(void)close(h->procfd);
	(void)close(h->rootfd);
}
