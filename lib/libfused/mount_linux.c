/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Linux: mounting /dev/fuse, by root itself, for others by fusermount3(1),
 * which sends the descriptor over a socket.
 */

#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"

#include "fused.h"
#include "mount.h"

#define	DEV_FUSE	"/dev/fuse"
#define	DEV_CLONE	_IOR(229, 0, uint32_t)

/* The kernel's 32-bit form of a device number. */
uint32_t
fused_rdev(uint32_t major, uint32_t minor)
{

	return ((minor & 0xff) | (major & 0xfff) << 8 |
	    (minor & ~UINT32_C(0xff)) << 12);
}

void
fused_rdev_split(uint32_t rdev, uint32_t *major, uint32_t *minor)
{

	*major = rdev >> 8 & 0xfff;
	*minor = (rdev & 0xff) | (rdev >> 12 & 0xfff00);
}

int
fused_os_clone(int fd, int *nfd)
{
	uint32_t master;
	int n;

	master = (uint32_t)fd;
	if ((n = open(DEV_FUSE, O_RDWR | O_CLOEXEC)) != -1) {
		if (ioctl(n, DEV_CLONE, &master) == 0) {
			*nfd = n;
			return (0);
		}
		(void)close(n);
	}
	if ((n = fcntl(fd, F_DUPFD_CLOEXEC, 0)) == -1)
		return (errno);
	*nfd = n;
	return (0);
}

static const char *
name_of(const struct fused_mount_options *o)
{

	return (o->name != NULL ? o->name : "coppice");
}

static int
mount_self(const char *path, const struct fused_mount_options *o,
    uint32_t max_read, int *fdp, struct co_error *e)
{
	unsigned long flags;
	char data[256];
	struct stat st;
	int fd;

	if (stat(path, &st) == -1)
		return (co_error_errno(e, errno, path, "cannot mount there"));
	if ((fd = open(DEV_FUSE, O_RDWR | O_CLOEXEC)) == -1)
		return (co_error_errno(e, errno, DEV_FUSE,
		    "cannot open it; is the module \"fuse\" loaded?"));
	(void)snprintf(data, sizeof(data), "fd=%d,rootmode=%o,user_id=%u,"
	    "group_id=%u,allow_other,max_read=%u%s", fd,
	    (unsigned)(st.st_mode & S_IFMT), (unsigned)geteuid(),
	    (unsigned)getegid(), max_read, o->checks_here ? "" :
	    ",default_permissions");
	flags = (o->suid ? 0 : MS_NOSUID) | (o->dev ? 0 : MS_NODEV) |
	    (o->noexec ? MS_NOEXEC : 0) | (o->readonly ? MS_RDONLY : 0);
	if (mount(name_of(o), path, "fuse.coppice", flags, data) == -1) {
		(void)co_error_errno(e, errno, path,
		    "cannot mount the share there");
		(void)close(fd);
		return (-1);
	}
	*fdp = fd;
	return (0);
}

/* The descriptor that fusermount3 sends. */
static int
receive_fd(int sock)
{
	union {
		struct cmsghdr	head;
		char		room[CMSG_SPACE(sizeof(int))];
	} control;
	struct cmsghdr *cm;
	struct msghdr m;
	struct iovec iov;
	char byte;
	int fd;

	memset(&m, 0, sizeof(m));
	iov.iov_base = &byte;
	iov.iov_len = 1;
	m.msg_iov = &iov;
	m.msg_iovlen = 1;
	m.msg_control = control.room;
	m.msg_controllen = sizeof(control.room);
	if (recvmsg(sock, &m, MSG_CMSG_CLOEXEC) <= 0 ||
	    (cm = CMSG_FIRSTHDR(&m)) == NULL ||
	    cm->cmsg_level != SOL_SOCKET || cm->cmsg_type != SCM_RIGHTS ||
	    cm->cmsg_len != CMSG_LEN(sizeof(int)))
		return (-1);
	memcpy(&fd, CMSG_DATA(cm), sizeof(fd));
	return (fd);
}

static int
run_fusermount(char *const argv[], int sock, pid_t *pid)
{
	char env[] = "_FUSE_COMMFD=3";
	char path[] = "PATH=/usr/bin:/bin:/usr/local/bin";
	char *envp[] = { env, path, NULL };
	posix_spawn_file_actions_t fa;
	int error;

	if ((error = posix_spawn_file_actions_init(&fa)) != 0)
		return (error);
	if (sock != -1)
		error = posix_spawn_file_actions_adddup2(&fa, sock, 3);
	if (error == 0)
		error = posix_spawnp(pid, argv[0], &fa, NULL, argv, envp);
	(void)posix_spawn_file_actions_destroy(&fa);
	return (error);
}

static int
wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			return (-1);
	return (WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1);
}

static int
mount_by_helper(const char *path, const struct fused_mount_options *o,
    uint32_t max_read, int *fdp, struct co_error *e)
{
	char prog[] = "fusermount3", dash_o[] = "-o", end[] = "--";
	char opts[512], where[4096];
	char *argv[] = { prog, dash_o, opts, end, where, NULL };
	int error, sv[2];
	pid_t pid;

	(void)snprintf(opts, sizeof(opts), "fsname=%s,subtype=coppice,"
	    "max_read=%u%s%s%s%s", name_of(o), max_read,
	    o->checks_here ? "" : ",default_permissions",
	    o->allow_other ? ",allow_other" : "",
	    o->noexec ? ",noexec" : "", o->readonly ? ",ro" : "");
	if ((size_t)snprintf(where, sizeof(where), "%s", path) >=
	    sizeof(where))
		return (co_error_errno(e, ENAMETOOLONG, path,
		    "cannot mount there"));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) == -1)
		return (co_error_errno(e, errno, NULL, "cannot mount"));
	error = run_fusermount(argv, sv[1], &pid);
	(void)close(sv[1]);
	*fdp = -1;
	if (error == 0) {
		*fdp = receive_fd(sv[0]);
		(void)wait_for(pid);
	}
	(void)close(sv[0]);
	if (error != 0)
		return (co_error_errno(e, error, prog,
		    "mounting without root needs fusermount3; install the "
		    "package \"fuse3\""));
	if (*fdp == -1)
		return (co_error_set(e, CO_ESHARE_MOUNT, path,
		    "fusermount3 did not mount the share there"));
	return (0);
}

int
fused_os_mount(const char *path, const struct fused_mount_options *o,
    uint32_t max_read, int *fdp, struct co_error *e)
{

	if (geteuid() == 0)
		return (mount_self(path, o, max_read, fdp, e));
	return (mount_by_helper(path, o, max_read, fdp, e));
}

int
fused_os_unmount(const char *path, struct co_error *e)
{
	char prog[] = "fusermount3", dash_u[] = "-uz", end[] = "--";
	char where[4096];
	char *argv[] = { prog, dash_u, end, where, NULL };
	pid_t pid;

	if (geteuid() == 0) {
		if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
			return (0);
		return (co_error_errno(e, errno, path, "cannot unmount"));
	}
	(void)snprintf(where, sizeof(where), "%s", path);
	if (run_fusermount(argv, -1, &pid) == 0 && wait_for(pid) == 0)
		return (0);
	return (co_error_set(e, CO_ESHARE_MOUNT, path,
	    "fusermount3 did not unmount it"));
}
