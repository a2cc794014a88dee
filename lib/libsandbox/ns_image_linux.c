/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A disk that can't grow: a sparse file of the limit's size with an ext4 on
 * it, behind a loop device.  The mount is never attached on the host, and the
 * device lets go of the file with it, so that whatever ends a sandbox or its
 * starter ends these too.
 */

#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <linux/loop.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ns.h"

#define	LEAST		(4U << 20)	/* that an ext4 is useful with */
#define	TRIES		100
#define	STATE_AT	(1024 + 58)	/* s_state of the superblock */

/* Formatting takes longer than a sandbox may: once per size and boot. */
static int
format(const char *path, uint64_t size, struct co_error *e)
{
	char tmp[128], blocks[32];
	const char *const argv[] = { "mke2fs", "-q", "-F", "-t", "ext4", "-m",
	    "0", "-O", "^has_journal,^resize_inode", "-E",
	    "lazy_itable_init=1,nodiscard,root_owner=0:0", tmp, blocks,
	    NULL };
	struct co_run r = { .argv = argv, .deadline = co_after(60000) };
	struct co_result res;

	(void)mkdir(NS_RUN, 0700);
	(void)snprintf(tmp, sizeof(tmp), "%s.%d.%lx", path, (int)getpid(),
	    (unsigned long)co_now());
	(void)snprintf(blocks, sizeof(blocks), "%" PRIu64 "k", size / 1024);
	if (co_run(&r, &res, e) != 0)
		return (-1);
	if (res.status != 0) {
		(void)co_error_set(e, CO_ESYS_PROGRAM, "mke2fs",
		    "can't make a disk of %s: %s", blocks, res.out);
		free(res.out);
		(void)unlink(tmp);
		return (-1);
	}
	free(res.out);
	if (rename(tmp, path) != 0)
		return (co_error_errno(e, errno, path, "can't keep it"));
	return (0);
}

static int
prototype(uint64_t size, struct co_error *e)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), NS_RUN "/ext4-%" PRIu64, size);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) != -1)
		return (fd);
	if (format(path, size, e) != 0)
		return (-1);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		(void)co_error_errno(e, errno, path, "can't open it");
	return (fd);
}

int
ns_image_make(const struct sandbox_spec *s, struct co_error *e)
{
	uint64_t size = s->limits.disk < LEAST ? LEAST : s->limits.disk;
	char tmp[4096], path[4096];
	int from, to, error;

	size &= ~(uint64_t)4095;
	(void)snprintf(path, sizeof(path), "%s/disk.img", s->dir);
	(void)snprintf(tmp, sizeof(tmp), "%s/disk.new", s->dir);
	if (access(path, F_OK) == 0)
		return (0);
	if ((from = prototype(size, e)) == -1)
		return (-1);
	to = open(tmp, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	error = to == -1 ? errno : ns_tree_copy_file(from, to, (off_t)size);
	close(from);
	if (to != -1)
		close(to);
	if (error == 0 && rename(tmp, path) != 0)
		error = errno;
	if (error != 0)
		return (co_error_errno(e, error, path, "can't make the disk"));
	return (0);
}

static bool
backs(const char *dev, const struct stat *st)
{
	struct loop_info64 li;
	bool same;
	int fd;

	if ((fd = open(dev, O_RDONLY | O_CLOEXEC)) == -1)
		return (false);
	same = ioctl(fd, LOOP_GET_STATUS64, &li) == 0 &&
	    li.lo_device == st->st_dev && li.lo_inode == st->st_ino;
	close(fd);
	return (same);
}

/* The device that has the file already, so that none gets it twice. */
static bool
attached(int file, char *dev, size_t size)
{
	struct dirent *de;
	bool found = false;
	char used[64];
	struct stat st;
	DIR *d;

	if (fstat(file, &st) != 0 || (d = opendir("/sys/block")) == NULL)
		return (false);
	while (!found && (de = readdir(d)) != NULL) {
		if (strncmp(de->d_name, "loop", 4) != 0)
			continue;
		(void)snprintf(used, sizeof(used), "/sys/block/%.16s/loop",
		    de->d_name);
		(void)snprintf(dev, size, "/dev/%.16s", de->d_name);
		found = access(used, F_OK) == 0 && backs(dev, &st);
	}
	closedir(d);
	return (found);
}

/* Take a free device; another process may be quicker. */
static int
attach(int file, char *dev, size_t size)
{
	struct loop_config lc = { .fd = (uint32_t)file,
	    .info.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO };
	int ctl, fd = -1, n, error = EBUSY;

	if ((ctl = open("/dev/loop-control", O_RDWR | O_CLOEXEC)) == -1)
		return (-1);
	for (int i = 0; i < TRIES && error == EBUSY; i++) {
		if ((n = ioctl(ctl, LOOP_CTL_GET_FREE)) == -1) {
			error = errno;
			break;
		}
		(void)snprintf(dev, size, "/dev/loop%d", n);
		if ((fd = open(dev, O_RDWR | O_CLOEXEC)) == -1) {
			error = errno;
			break;
		}
		error = ioctl(fd, LOOP_CONFIGURE, &lc) == 0 ? 0 : errno;
		if (error != 0)
			close(fd);
	}
	close(ctl);
	errno = error;
	return (error == 0 ? fd : -1);
}

/* A host that went down with it mounted leaves it unclean. */
static int
check(const char *path, int file, struct co_error *e)
{
	const char *const argv[] = { "e2fsck", "-p", "-f", path, NULL };
	struct co_run r = { .argv = argv };
	struct co_result res;
	unsigned char state[2];
	int status;

	if (pread(file, state, sizeof(state), STATE_AT) != sizeof(state))
		return (co_error_set(e, CO_ESANDBOX_START, path,
		    "the sandbox's disk is not whole"));
	if ((state[0] & 3) == 1)
		return (0);
	if (co_run(&r, &res, e) != 0)
		return (-1);
	status = res.status;
	free(res.out);
	if (status > 2)
		return (co_error_set(e, CO_ESANDBOX_START, path,
		    "the sandbox's disk is damaged; see e2fsck(8)"));
	return (0);
}

static int
mount_ext4(const char *dev)
{
	int fs, fd;

	if ((fs = fsopen("ext4", FSOPEN_CLOEXEC)) == -1)
		return (-1);
	fd = -1;
	if (fsconfig(fs, FSCONFIG_SET_STRING, "source", dev, 0) == 0 &&
	    fsconfig(fs, FSCONFIG_SET_FLAG, "discard", NULL, 0) == 0 &&
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID |
		    MOUNT_ATTR_NODEV | MOUNT_ATTR_NOATIME);
	close(fs);
	return (fd);
}

/*
 * A detached mount of the image at ${path}.  If it is attached by a sandbox
 * that runs, this is the same file system once more.
 */
int
ns_image_mount(const char *path, struct co_error *e)
{
	int file, loop = -1, fd = -1;
	char dev[64];

	if ((file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)) == -1)
		return (co_error_errno(e, errno, path, "can't open it"));
	if (attached(file, dev, sizeof(dev)) && (fd = mount_ext4(dev)) != -1)
		goto out;
	if (check(path, file, e) != 0)
		goto out;
	if ((loop = attach(file, dev, sizeof(dev))) == -1) {
		(void)co_error_errno(e, errno, "/dev/loop-control",
		    "no loop device for the sandbox's disk");
		goto out;
	}
	if ((fd = mount_ext4(dev)) == -1)
		(void)co_error_errno(e, errno, path,
		    "can't mount the sandbox's disk");
	/* From here on only the mount keeps the device. */
	close(loop);
out:
	close(file);
	return (fd);
}
