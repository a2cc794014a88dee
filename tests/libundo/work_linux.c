/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Filesystems in images, by mount(8) with a loop device that goes away by
 * itself on unmounting.  They are mounted where nobody else sees them: in a
 * copy of our mounts that some other process makes they would live on.
 */

#include <sys/types.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "work.h"

/* Of XFS at first, and taken over by others; no header has it for all. */
#define	IOC_SHUTDOWN	_IOR('X', 125, uint32_t)
#define	SHUTDOWN_LOSE	2

static const struct {
	const char	*type;
	const char	*argv[10];	/* the image is added */
} makers[] = {
	{ "xfs", { "mkfs.xfs", "-q", "-f", "-m", "reflink=1" } },
	{ "btrfs", { "mkfs.btrfs", "-q", "-f" } },
	{ "ext4", { "mkfs.ext4", "-q", "-F" } },
};

static void
image_of(const char *path, char *buf, size_t size)
{

	(void)snprintf(buf, size, "%s.img", path);
}

static bool
image_make(const char *image, unsigned int mb)
{
	int error, fd;

	fd = open(image, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd == -1)
		return (false);
	error = ftruncate(fd, (off_t)mb << 20);
	(void)close(fd);
	return (error == 0);
}

static bool
image_mount(const char *image, const char *path)
{
	const char *argv[] = { "mount", "-o", "loop", image, path, NULL };
	static bool alone;

	if (!alone)
		alone = unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL,
		    MS_REC | MS_PRIVATE, NULL) == 0;
	return (work_run(argv) == 0);
}

bool
work_mount(const char *type, const char *path, unsigned int mb)
{
	const char *argv[12];
	char image[256];
	size_t i, n;

	image_of(path, image, sizeof(image));
	for (i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
		if (strcmp(makers[i].type, type) == 0)
			break;
	if (i == sizeof(makers) / sizeof(makers[0]) || geteuid() != 0 ||
	    (mkdir(path, 0755) == -1 && errno != EEXIST) ||
	    !image_make(image, mb))
		return (false);
	memset(argv, 0, sizeof(argv));
	for (n = 0; makers[i].argv[n] != NULL; n++)
		argv[n] = makers[i].argv[n];
	argv[n] = image;
	if (work_run(argv) == 0 && image_mount(image, path))
		return (true);
	work_unmount(path);
	return (false);
}

/* Somebody else may look at mounts just now: be patient. */
static void
image_unmount(const char *path)
{
	struct timespec t = { .tv_nsec = 50000000 };
	int i;

	for (i = 0; i < 40 && umount2(path, 0) == -1 && errno == EBUSY; i++)
		(void)nanosleep(&t, NULL);
	if (i == 40)
		(void)umount2(path, MNT_DETACH);
}

bool
work_cut(int fd)
{
	uint32_t how;

	how = SHUTDOWN_LOSE;
	return (ioctl(fd, IOC_SHUTDOWN, &how) == 0);
}

bool
work_again(const char *path)
{
	char image[256];

	image_unmount(path);
	image_of(path, image, sizeof(image));
	return (image_mount(image, path));
}

void
work_unmount(const char *path)
{
	char image[256];

	image_unmount(path);
	image_of(path, image, sizeof(image));
	(void)unlink(image);
	(void)rmdir(path);
}

void
work_sync(int fd)
{

	(void)syncfs(fd);
}

const char *
work_elsewhere(int fd)
{
	struct stat a, b;

	if (fstat(fd, &a) == -1 || stat("/dev/shm", &b) == -1 ||
	    a.st_dev == b.st_dev || access("/dev/shm", W_OK) == -1)
		return (NULL);
	return ("/dev/shm");
}
