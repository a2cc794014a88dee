/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * FreeBSD: mounting /dev/fuse by fusefs(4).
 */

#include <sys/param.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"

#include "fused.h"
#include "mount.h"

#define	DEV_FUSE	"/dev/fuse"
#define	OPTIONS		32

uint32_t
fused_rdev(uint32_t major, uint32_t minor)
{

	return ((uint32_t)makedev(major, minor));
}

void
fused_rdev_split(uint32_t rdev, uint32_t *maj, uint32_t *min)
{

	*maj = (uint32_t)major((dev_t)rdev);
	*min = (uint32_t)minor((dev_t)rdev);
}

/* Any thread may read from the one descriptor. */
int
fused_os_clone(int fd, int *nfd)
{
	int n;

	if ((n = fcntl(fd, F_DUPFD_CLOEXEC, 0)) == -1)
		return (errno);
	*nfd = n;
	return (0);
}

/*
 * Names and values, as nmount(2) wants them; it changes neither.  Those of
 * fusefs(4) that have a value end in "=", but for "fd".
 */
struct options {
	struct iovec	iov[OPTIONS];
	unsigned int	n;
};

static void
option(struct options *o, const char *name, const char *value)
{
	struct iovec *v = &o->iov[o->n];

	v[0].iov_base = (void *)(uintptr_t)name;
	v[0].iov_len = strlen(name) + 1;
	v[1].iov_base = (void *)(uintptr_t)value;
	v[1].iov_len = value != NULL ? strlen(value) + 1 : 0;
	o->n += 2;
}

int
fused_os_mount(const char *path, const struct fused_mount_options *mo,
    uint32_t max_read, int *fdp, struct co_error *e)
{
	char errmsg[256] = "", fdtext[16], maxtext[16];
	struct options o = { .n = 0 };
	int fd, flags;

	if ((fd = open(DEV_FUSE, O_RDWR | O_CLOEXEC)) == -1)
		return (co_error_errno(e, errno, DEV_FUSE,
		    "cannot open it; load it with \"kldload fusefs\""));
	(void)snprintf(fdtext, sizeof(fdtext), "%d", fd);
	(void)snprintf(maxtext, sizeof(maxtext), "%u", max_read);
	option(&o, "fstype", "fusefs");
	option(&o, "fspath", path);
	option(&o, "from", mo->name != NULL ? mo->name : DEV_FUSE);
	option(&o, "fd", fdtext);
	option(&o, "subtype=", "coppice");
	option(&o, "max_read=", maxtext);
	option(&o, "intr", NULL);
	if (mo->allow_other || geteuid() == 0)
		option(&o, "allow_other", NULL);
	if (!mo->checks_here)
		option(&o, "default_permissions", NULL);
	o.iov[o.n].iov_base = (void *)(uintptr_t)"errmsg";
	o.iov[o.n].iov_len = sizeof("errmsg");
	o.iov[o.n + 1].iov_base = errmsg;
	o.iov[o.n + 1].iov_len = sizeof(errmsg);
	flags = (mo->suid ? 0 : MNT_NOSUID) | (mo->noexec ? MNT_NOEXEC : 0) |
	    (mo->readonly ? MNT_RDONLY : 0);
	if (nmount(o.iov, o.n + 2, flags) == -1) {
		(void)co_error_errno(e, errno, path,
		    "cannot mount the share there%s%s",
		    errmsg[0] != '\0' ? ": " : "", errmsg);
		(void)close(fd);
		return (-1);
	}
	*fdp = fd;
	return (0);
}

int
fused_os_unmount(const char *path, struct co_error *e)
{

	if (unmount(path, MNT_FORCE) == 0)
		return (0);
	return (co_error_errno(e, errno, path, "cannot unmount"));
}
