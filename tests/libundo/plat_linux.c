/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The Linux side of plat.h.  Attributes are reached through the directory's
 * link in /proc, as the kernels of today have no call with a descriptor and
 * a name.
 */

#include <sys/types.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plat.h"

static void
proc_path(char *buf, size_t size, int dirfd, const char *name)
{

	(void)snprintf(buf, size, "/proc/self/fd/%d%s%s", dirfd,
	    *name == '\0' ? "/." : "/", name);
}

ssize_t
plat_xattr_list(int dirfd, const char *name, char *buf, size_t size)
{
	char path[320];

	proc_path(path, sizeof(path), dirfd, name);
	return (llistxattr(path, buf, size));
}

ssize_t
plat_xattr_get(int dirfd, const char *name, const char *attr, void *buf,
    size_t size)
{
	char path[320];

	proc_path(path, sizeof(path), dirfd, name);
	return (lgetxattr(path, attr, buf, size));
}

int
plat_xattr_set(int dirfd, const char *name, const char *attr, const void *buf,
    size_t size)
{
	char path[320];

	proc_path(path, sizeof(path), dirfd, name);
	return (lsetxattr(path, attr, buf, size, 0));
}

int
plat_xattr_remove(int dirfd, const char *name, const char *attr)
{
	char path[320];

	proc_path(path, sizeof(path), dirfd, name);
	return (lremovexattr(path, attr));
}

/* An access list in the form of the xattr: version, then tag/perm/id. */
static size_t
acl_make(uint8_t *p, unsigned int other)
{
	static const uint8_t tags[] = { 0x01, 0x02, 0x04, 0x10, 0x20 };
	uint32_t id;
	size_t i;

	memset(p, 0, 4 + 8 * sizeof(tags));
	p[0] = 2;
	for (i = 0; i < sizeof(tags); i++) {
		p[4 + 8 * i] = tags[i];
		p[4 + 8 * i + 2] = (uint8_t)(i == 4 ? other : 7 - i);
		id = tags[i] == 0x02 ? 1000 : UINT32_MAX;
		memcpy(&p[4 + 8 * i + 4], &id, sizeof(id));
	}
	return (4 + 8 * sizeof(tags));
}

bool
plat_xattr_special(bool dir, unsigned int i, const char **attr, void *val,
    size_t *len)
{
	/* VFS_CAP_REVISION_2, cap_net_bind_service effective. */
	static const uint8_t cap[20] = {
		0x01, 0x00, 0x00, 0x02, 0x00, 0x04
	};

	switch (i) {
	case 0:
	case 1:
		*attr = "system.posix_acl_access";
		*len = acl_make(val, i);
		return (true);
	case 2:
	case 3:
		if (dir) {
			*attr = "system.posix_acl_default";
			*len = acl_make(val, i);
		} else {
			*attr = "security.capability";
			memcpy(val, cap, sizeof(cap));
			*len = sizeof(cap);
		}
		return (true);
	default:
		return (false);
	}
}

int
plat_rename(int fromfd, const char *from, int tofd, const char *to,
    unsigned int flags)
{

	return ((int)syscall(SYS_renameat2, fromfd, from, tofd, to, flags));
}

int
plat_linkfd(int fd, int dirfd, const char *name)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return (linkat(AT_FDCWD, path, dirfd, name, AT_SYMLINK_FOLLOW));
}

int
plat_tmpfile(int dirfd, mode_t mode)
{

	return (openat(dirfd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode));
}

int
plat_allocate(int fd, enum plat_alloc how, off_t off, off_t len)
{
	static const int modes[PLAT_NALLOC] = {
		[PLAT_EXTEND] = 0,
		[PLAT_KEEP] = FALLOC_FL_KEEP_SIZE,
		[PLAT_PUNCH] = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		[PLAT_ZERO] = FALLOC_FL_ZERO_RANGE,
		[PLAT_COLLAPSE] = FALLOC_FL_COLLAPSE_RANGE,
		[PLAT_INSERT] = FALLOC_FL_INSERT_RANGE,
	};

	return (fallocate(fd, modes[how], off, len));
}

dev_t
plat_dev(unsigned int major, unsigned int minor)
{

	return (makedev(major, minor));
}

int
plat_name(int dirfd, const char *name)
{

	return (openat(dirfd, *name == '\0' ? "." : name,
	    O_PATH | O_NOFOLLOW | O_CLOEXEC));
}
