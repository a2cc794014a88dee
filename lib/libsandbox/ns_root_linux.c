/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The root of a sandbox, made by its first process in its own mount
 * namespace, before it gives up its privileges.  The disk may hold what an
 * earlier run of the sandbox left there: a place to mount on is made a real
 * directory, whatever it was.
 */

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "ns.h"

/* Directories that each host has and a sandbox does not need. */
#define	DISK		"/sys/block"
#define	LOWER		"/sys/class"
#define	ROOT		"/sys/kernel"
#define	SAFE		(MS_NOSUID | MS_NODEV | MS_NOEXEC)

static const char overlay[] = "lowerdir=" LOWER ",upperdir=" DISK
    "/upper,workdir=" DISK "/work,userxattr,volatile";

static void
directory(const struct ns_child *c, const char *path, mode_t mode)
{
	struct stat st;

	if (mkdir(path, mode) == 0)
		return;
	if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return;
	if (unlink(path) != 0 || mkdir(path, mode) != 0)
		ns_fail(c, path);
}

static void
fresh(const struct ns_child *c, const char *type, const char *path,
    unsigned long flags, const char *opts)
{

	directory(c, path, 0755);
	if (mount(type, path, type, flags, opts) != 0)
		ns_fail(c, path);
}

static void
attach(const struct ns_child *c, int fd, const char *path)
{

	if (move_mount(fd, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) != 0)
		ns_fail(c, path);
}

/* The layers, the root made of them, and there we are. */
static void
layers(const struct ns_child *c)
{

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		ns_fail(c, "private mounts");
	attach(c, c->disk, DISK);
	attach(c, c->template, LOWER);
	if (mount("overlay", ROOT, "overlay",
	    MS_NOSUID | MS_NODEV, overlay) != 0)
		ns_fail(c, "overlay");
	if (chdir(ROOT) != 0)
		ns_fail(c, "root");
}

static void
device(const struct ns_child *c, const char *host)
{
	const char *path = host + 1;
	int fd;

	if ((fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666)) == -1)
		ns_fail(c, path);
	close(fd);
	if (mount(host, path, NULL, MS_BIND, NULL) != 0)
		ns_fail(c, path);
}

static void
devices(const struct ns_child *c)
{
	static const char *const nodes[] = { "/dev/null", "/dev/zero",
	    "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty" };
	static const struct {
		const char	*to, *path;
	} links[] = {
		{ "pts/ptmx", "dev/ptmx" },
		{ "/proc/self/fd", "dev/fd" },
		{ "/proc/self/fd/0", "dev/stdin" },
		{ "/proc/self/fd/1", "dev/stdout" },
		{ "/proc/self/fd/2", "dev/stderr" },
	};

	fresh(c, "tmpfs", "dev", MS_NOSUID | MS_NOEXEC,
	    "mode=755,size=64k,nr_inodes=256");
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		device(c, nodes[i]);
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		if (symlink(links[i].to, links[i].path) != 0)
			ns_fail(c, links[i].path);
	fresh(c, "devpts", "dev/pts", MS_NOSUID | MS_NOEXEC,
	    "newinstance,ptmxmode=0666,mode=0620,gid=5,max=256");
	fresh(c, "tmpfs", "dev/shm", SAFE, c->shm);
	/* Kernels need not have message queues. */
	directory(c, "dev/mqueue", 0755);
	(void)mount("mqueue", "dev/mqueue", "mqueue", SAFE, NULL);
}

/* Programs may send echo requests without raw sockets. */
static void
allow_ping(void)
{
	static const char all[] = "0 65535";
	int fd;

	fd = open("proc/sys/net/ipv4/ping_group_range", O_WRONLY | O_CLOEXEC);
	if (fd == -1)
		return;
	(void)!write(fd, all, sizeof(all) - 1);
	close(fd);
}

/*
 * Most of this is closed to a user namespace anyway; but what is not seen
 * can't be wrong.
 */
static void
mask(const struct ns_child *c)
{
	static const char *const files[] = { "kallsyms", "kcore", "key-users",
	    "keys", "kmsg", "latency_stats", "modules", "sched_debug",
	    "slabinfo", "swaps", "sysrq-trigger", "timer_list",
	    "timer_stats", "vmallocinfo", "config.gz" };
	static const char *const dirs[] = { "acpi", "asound", "driver",
	    "dynamic_debug", "scsi", "pressure" };
	static const char *const fixed[] = { "sys", "irq", "bus", "fs" };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (mount("/dev/null", files[i], NULL, MS_BIND, NULL) != 0 &&
		    errno != ENOENT)
			ns_fail(c, files[i]);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (mount("tmpfs", dirs[i], "tmpfs", SAFE | MS_RDONLY,
		    "size=0,nr_inodes=1,mode=555") != 0 && errno != ENOENT)
			ns_fail(c, dirs[i]);
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if ((mount(fixed[i], fixed[i], NULL, MS_BIND, NULL) != 0 ||
		    mount(NULL, fixed[i], NULL, MS_BIND | MS_REMOUNT |
		    MS_RDONLY | SAFE, NULL) != 0) && errno != ENOENT)
			ns_fail(c, fixed[i]);
}

static void
proc(const struct ns_child *c)
{

	fresh(c, "proc", "proc", SAFE, NULL);
	allow_ping();
	if (chdir("proc") != 0)
		ns_fail(c, "proc");
	mask(c);
	if (chdir(ROOT) != 0)
		ns_fail(c, "root");
}

/* One folder is /work; several are below it. */
static void
shares(const struct ns_child *c)
{
	const struct sandbox_spec *s = c->spec;

	if (s->nshares == 0)
		return;
	directory(c, "work", 0755);
	if (s->nshares == 1) {
		attach(c, c->share[0], "work");
		return;
	}
	if (chdir("work") != 0)
		ns_fail(c, "work");
	for (size_t i = 0; i < s->nshares; i++) {
		directory(c, s->share[i].label, 0755);
		attach(c, c->share[i], s->share[i].label);
	}
	if (chdir("..") != 0)
		ns_fail(c, "root");
}

/* The host's tree goes; nothing of it can be reached afterwards. */
static void
pivot(const struct ns_child *c)
{

	if (syscall(SYS_pivot_root, ".", ".") != 0)
		ns_fail(c, "pivot_root");
	if (umount2(".", MNT_DETACH) != 0 || chdir("/") != 0)
		ns_fail(c, "host's root");
}

void
ns_root(const struct ns_child *c)
{

	layers(c);
	devices(c);
	fresh(c, "tmpfs", "run", MS_NOSUID | MS_NODEV,
	    "mode=755,size=32m,nr_inodes=8192");
	directory(c, "tmp", 01777);
	proc(c);
	shares(c);
	pivot(c);
}
