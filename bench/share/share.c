/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The shared folder: coppicefsd by /dev/fuse with undo on against bindfs(1)
 * beside it, by what is done in a second; and undo on against off, by time.
 * Then in a virtual machine, by vhost-user against QEMU's virtiofsd, and by
 * 9P against diod(8), both over TCP, and against what QEMU has built in.
 * Runs as root, in the folder given (default: /var/tmp), where nothing is
 * left, also when it is interrupted: the work is a child's, and its parent
 * ends the child's group and removes the folder.
 */

#include <sys/stat.h>
#include <sys/wait.h>

#include <err.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bench.h>
#include <coppice.h>

#include "load.h"
#include "machine.h"
#include "mounts.h"

/* As much memory of the client's kernel as bindfs asks for. */
#define	OPTIONS	"cache=auto,step=64g,log=128g,steps=1000"

#define	GRACE_MS 10000	/* to end in, when asked to */

static struct mount on, off, peer;
static struct mount guest[M_MAX];
static int booted;		/* -1: it failed */
static bool has_big[M_MAX];
static char base[PATH_MAX];
static char archive[PATH_MAX + 16];
static unsigned int files = 10000, blocks = 20000;
static size_t size = (size_t)1 << 30;
static bool over;		/* seconds are asked for, not speed */

/* The row decides which: work per second, or seconds. */
static double
result(double t)
{

	return (t < 0 || over ? t : 1 / t);
}

static double
cleaned(struct mount *m, const char *what, double t)
{
	char path[PATH_MAX + 16];

	(void)snprintf(path, sizeof(path), "%s/%s", m->at, what);
	if (load_remove(path) == -1 || mount_end(m) == -1)
		return (-1);
	return (result(t));
}

static double
storm(struct mount *m)
{
	double t;

	if (mount_begin(m) == -1)
		return (-1);
	t = load_storm(m->at, files);
	return (mount_end(m) == -1 ? -1 : result(t));
}

static double
untar(struct mount *m)
{
	char path[PATH_MAX + 16];
	double t;

	(void)snprintf(path, sizeof(path), "%s/out", m->at);
	if (mkdir(path, 0755) == -1 || mount_begin(m) == -1)
		return (-1);
	t = load_untar(path, archive);
	return (cleaned(m, "out", t));
}

static double
sequential_write(struct mount *m)
{
	double t;

	if (mount_begin(m) == -1)
		return (-1);
	t = load_write(m->at, size);
	return (cleaned(m, "new", t));
}

/* The first touch is another row's; a file of the step's own has none. */
static double
rewrite(struct mount *m)
{
	double t;

	if (mount_begin(m) == -1 || load_write(m->at, size / 16) < 0)
		return (-1);
	t = load_rewrite(m->at, size / 16, blocks);
	return (cleaned(m, "new", t));
}

static double
sequential_read(struct mount *m)
{

	return (result(load_read(m->at, size)));
}

static double
random_read(struct mount *m)
{

	return (result(load_random(m->at, size, blocks)));
}

#define	ROW(work)							\
static double								\
work ## _on(void *arg)							\
{									\
									\
	(void)arg;							\
	return (work(&on));						\
}									\
static double								\
work ## _off(void *arg)							\
{									\
									\
	(void)arg;							\
	return (work(&off));						\
}									\
static double								\
work ## _peer(void *arg)						\
{									\
									\
	(void)arg;							\
	return (work(&peer));						\
}

ROW(storm)
ROW(untar)
ROW(sequential_write)
ROW(sequential_read)
ROW(random_read)
ROW(rewrite)

/* In the machine, which is started by the first row that needs it. */
struct job {
	const char	*load;
	unsigned int	 n;
	size_t		 size;
	int		 ours;
	int		 theirs;
};

static double
in_guest(const struct job *j, int which)
{
	struct mount *m = &guest[which];
	double t;

	if (booted == 0)
		booted = machine_start(base, guest) == 0 && machine_load(
		    "archive", "/tmp", files / 10, 0) >= 0 ? 1 : -1;
	if (booted == -1)
		return (-1);
	if (j->size != 0 && !has_big[which] && load_big(m->dir, j->size) == -1)
		return (-1);
	has_big[which] = has_big[which] || j->size != 0;
	if (mount_begin(m) == -1)
		return (-1);
	t = machine_load(j->load, m->at, j->n, j->size);
	return (mount_end(m) == -1 ? -1 : result(t));
}

static double
guest_ours(void *arg)
{
	const struct job *j = arg;

	return (in_guest(j, j->ours));
}

static double
guest_theirs(void *arg)
{
	const struct job *j = arg;

	return (in_guest(j, j->theirs));
}

static void
guest_rows(struct bench *b)
{
	static const struct {
		const char	*name, *peer;
		int		 ours, theirs;
	} pairs[] = {
		{ "vhost-user", "virtiofsd", M_VHOST, M_VIRTIOFSD },
		{ "9P", "diod", M_NINE, M_DIOD },
		{ "9P", "virtio-9p", M_NINE, M_VIRTIO9P },
	};
	const struct job loads[] = {
		{ .load = "storm", .n = files / 20 },
		{ .load = "untar" },
		{ .load = "read", .size = size / 16 },
		{ .load = "write", .size = size / 16 },
		{ .load = "random", .n = blocks / 10, .size = size / 16 },
	};
	static char what[sizeof(pairs) / sizeof(pairs[0])][sizeof(loads) /
	    sizeof(loads[0])][64];
	struct job j;
	size_t i, k;

	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		for (k = 0; k < sizeof(loads) / sizeof(loads[0]); k++) {
			j = loads[k];
			j.ours = pairs[i].ours;
			j.theirs = pairs[i].theirs;
			(void)snprintf(what[i][k], sizeof(what[i][k]),
			    "%s: %s, per second", pairs[i].name, j.load);
			bench_ratio(b, what[i][k], pairs[i].peer,
			    BENCH_ATLEAST, 1, guest_ours, guest_theirs, &j);
		}
}

static int
prepare(void)
{

	(void)snprintf(archive, sizeof(archive), "%s/tree.tar", base);
	if (mount_ours(&on, base, "on", true, OPTIONS) == -1 ||
	    mount_ours(&off, base, "off", false, OPTIONS) == -1 ||
	    mount_bindfs(&peer, base, "peer") == -1 ||
	    load_archive(base, files * 2) == -1)
		return (-1);
	if (load_big(on.dir, size) == -1 || load_big(off.dir, size) == -1 ||
	    load_big(peer.dir, size) == -1)
		return (-1);
	return (0);
}

static void
rows(struct bench *b)
{
	const char *them = "bindfs";

	bench_ratio(b, "storm of metadata, per second", them, BENCH_ATLEAST,
	    1, storm_on, storm_peer, NULL);
	bench_ratio(b, "tar x, per second", them, BENCH_ATLEAST, 1, untar_on,
	    untar_peer, NULL);
	bench_ratio(b, "sequential read, per second", them, BENCH_ATLEAST, 1,
	    sequential_read_on, sequential_read_peer, NULL);
	bench_ratio(b, "sequential write, per second", them, BENCH_ATLEAST,
	    1, sequential_write_on, sequential_write_peer, NULL);
	bench_ratio(b, "random read, per second", them, BENCH_ATLEAST, 1,
	    random_read_on, random_read_peer, NULL);
	bench_ratio(b, "4 KiB rewrite, per second", them, BENCH_ATLEAST, 1,
	    rewrite_on, rewrite_peer, NULL);
	over = true;
	bench_ratio(b, "sequential read, undo on", "undo off", BENCH_ATMOST,
	    1.05, sequential_read_on, sequential_read_off, NULL);
	bench_ratio(b, "random read, undo on", "undo off", BENCH_ATMOST, 1.05,
	    random_read_on, random_read_off, NULL);
	bench_ratio(b, "sequential write, undo on", "undo off", BENCH_ATMOST,
	    1.15, sequential_write_on, sequential_write_off, NULL);
	bench_ratio(b, "4 KiB rewrite, undo on", "undo off", BENCH_ATMOST,
	    1.15, rewrite_on, rewrite_off, NULL);
	bench_ratio(b, "tar x, undo on", "undo off", BENCH_ATMOST, 1.15,
	    untar_on, untar_off, NULL);
	bench_ratio(b, "storm of metadata, undo on", "undo off", BENCH_REPORT,
	    0, storm_on, storm_off, NULL);
}

static int
measure(struct bench *b)
{
	int ret;
	bool ready;

	if ((ready = prepare() == 0)) {
		rows(b);
		over = false;
		guest_rows(b);
	}
	machine_stop(guest);
	mount_close(&on);
	mount_close(&off);
	mount_close(&peer);
	ret = bench_close(b);
	return (ready ? ret : 2);
}

/* End all of the group, in peace if they can: servers unmount. */
static void
end_group(pid_t group)
{
	co_moment end;

	(void)kill(-group, SIGTERM);
	for (end = co_after(GRACE_MS); co_left(end) > 0; (void)usleep(20000))
		if (kill(-group, 0) == -1)
			return;
	(void)kill(-group, SIGKILL);
}

static void
unmount(const char *name)
{
	char path[PATH_MAX + 16];
	const char *const argv[] = { "umount", "-l", path, NULL };
	struct co_run r = { .argv = argv };
	struct co_result res;
	struct co_error e;

	(void)snprintf(path, sizeof(path), "%s/%s.at", base, name);
	if (co_run(&r, &res, &e) == 0)
		free(res.out);
}

/* The signals, which are blocked, are all that there is to wait for. */
static int
supervise(pid_t pid, const sigset_t *set, const sigset_t *old)
{
	int asked, sig, status;

	(void)setpgid(pid, pid);
	asked = 0;
	while (waitpid(pid, &status, WNOHANG) == 0)
		if (sigwait(set, &sig) == 0 && sig != SIGCHLD) {
			asked = sig;
			end_group(pid);
		}
	(void)sigprocmask(SIG_SETMASK, old, NULL);
	end_group(pid);
	/* Of a server that was killed. */
	unmount("on");
	unmount("off");
	unmount("peer");
	(void)load_remove(base);
	if (asked != 0)
		return (128 + asked);
	return (WIFEXITED(status) ? WEXITSTATUS(status) : 2);
}

int
main(int argc, char *argv[])
{
	sigset_t old, set;
	struct bench *b;
	pid_t pid;

	b = bench_open("share", &argc, argv);
	if (geteuid() != 0)
		errx(2, "mounting needs root");
	if (bench_quick(b)) {
		files = 2000;
		blocks = 5000;
		size >>= 3;
	}
	(void)snprintf(base, sizeof(base), "%s/share.XXXXXX", argc > 1 ?
	    argv[1] : "/var/tmp");
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &set, &old);
	if (mkdtemp(base) == NULL)
		err(2, "%s", base);
	if ((pid = fork()) == -1)
		err(2, "fork");
	if (pid == 0) {
		(void)setpgid(0, 0);
		(void)sigprocmask(SIG_SETMASK, &old, NULL);
		return (measure(b));
	}
	return (supervise(pid, &set, &old));
}
