/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The disk of a sandbox: the writable layer over its template, in
 * dir/disk, or, when it has a limit, in the image dir/disk.img.  Owners are
 * on disk what they are inside.
 */

#include <sys/mount.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ns.h"

static int
open_dir(const struct sandbox_spec *s, struct co_error *e)
{
	int fd;

	fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		(void)co_error_errno(e, errno, s->dir, "can't open it");
	return (fd);
}

/*
 * The folders in it: what is written, and where overlayfs works.  The root
 * of the sandbox looks as the template's does.
 */
int
ns_disk_dirs(int fd, const struct sandbox_spec *s, struct co_error *e)
{
	struct stat st;

	if (faccessat(fd, "work", F_OK, 0) == 0)
		return (0);
	if (mkdirat(fd, "upper", 0700) != 0 && errno != EEXIST)
		return (co_error_errno(e, errno, s->dir,
		    "can't make the disk"));
	if (stat(s->template, &st) != 0 ||
	    fchownat(fd, "upper", st.st_uid, st.st_gid, 0) != 0 ||
	    fchmodat(fd, "upper", st.st_mode & 07777, 0) != 0)
		return (co_error_errno(e, errno, s->template,
		    "can't look at the template"));
	/* Last, as it tells that the rest is there. */
	if (mkdirat(fd, "work", 0700) != 0)
		return (co_error_errno(e, errno, s->dir,
		    "can't make the disk"));
	return (0);
}

int
ns_disk_prepare(const struct sandbox_spec *s, struct co_error *e)
{
	int dir, fd = -1, error = -1;

	if (s->limits.disk != 0)
		return (ns_image_make(s, e));
	if ((dir = open_dir(s, e)) == -1)
		return (-1);
	if ((mkdirat(dir, "disk", 0700) != 0 && errno != EEXIST) ||
	    (fd = openat(dir, "disk", O_RDONLY | O_DIRECTORY | O_CLOEXEC |
	    O_NOFOLLOW)) == -1)
		(void)co_error_errno(e, errno, s->dir, "can't make the disk");
	else
		error = ns_disk_dirs(fd, s, e);
	if (fd != -1)
		close(fd);
	close(dir);
	return (error);
}

/*
 * overlayfs marks a disk that it did not flush, and won't have it again.
 * Only a crash of the host loses what was not flushed.
 */
void
ns_disk_forgive(int fd)
{

	if (unlinkat(fd, "work/work/incompat/volatile/dirty", 0) == 0 ||
	    errno == ENOENT)
		(void)unlinkat(fd, "work/work/incompat/volatile",
		    AT_REMOVEDIR);
}

int
ns_disk_open(const struct sandbox_spec *s, struct co_error *e)
{
	char path[4096];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/disk.img", s->dir);
	if (access(path, F_OK) == 0) {
		if ((fd = ns_image_mount(path, e)) != -1 &&
		    ns_disk_dirs(fd, s, e) != 0) {
			close(fd);
			return (-1);
		}
	} else {
		(void)snprintf(path, sizeof(path), "%s/disk", s->dir);
		fd = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE |
		    OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
		if (fd == -1)
			(void)co_error_errno(e, errno, path,
			    "can't open the sandbox's disk");
	}
	return (fd);
}

int
ns_disk_remove(const struct sandbox_spec *s, struct co_error *e)
{
	int dir, error;

	if ((dir = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (errno == ENOENT ? 0 : co_error_errno(e, errno, s->dir,
		    "can't open it"));
	(void)unlinkat(dir, "disk.new", 0);
	if (unlinkat(dir, "disk.img", 0) != 0 && errno != ENOENT)
		error = co_error_errno(e, errno, s->dir,
		    "can't remove the sandbox's disk");
	else
		error = ns_tree_remove(dir, "disk", e);
	close(dir);
	return (error);
}

uint64_t
ns_disk_usage(const struct sandbox_spec *s)
{
	uint64_t n = 0;
	struct stat st;
	int dir;

	if ((dir = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (0);
	if (fstatat(dir, "disk.img", &st, AT_SYMLINK_NOFOLLOW) == 0)
		n = (uint64_t)st.st_blocks * 512;
	else
		n = ns_tree_usage(dir, "disk/upper");
	close(dir);
	return (n);
}
