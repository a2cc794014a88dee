/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sandboxes of the ns backend, real ones: they start, run commands, keep
 * their disks, have their shares, are frozen, adopted and ended, and leave
 * nothing.
 */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ns_box.h"

static struct box box, other;

static int
open_files(void)
{
	struct dirent *de;
	int n = 0;
	DIR *d;

	ATF_REQUIRE((d = opendir("/proc/self/fd")) != NULL);
	while ((de = readdir(d)) != NULL)
		n++;
	closedir(d);
	return (n);
}

BOX_TC(start, "it starts, runs commands, stops, and leaves nothing")
{
	int before;

	box_init(&box);
	box_start(&box);
	box_stop(&box);
	before = open_files();
	box_start(&box);
	ATF_CHECK(box.run.pid > 0 && box.run.birth > 0);
	ATF_CHECK(box.run.netns != -1);
	ATF_CHECK_STREQ("hello", box_sh(&box, "echo hello"));
	ATF_CHECK_STREQ("box", box_sh(&box, "hostname"));
	ATF_CHECK_STREQ("0", box_sh(&box, "id -u"));
	ATF_CHECK_STREQ("1", box_sh(&box, "readlink /proc/1/exe >/dev/null; "
	    "cd /proc/1 && echo 1"));
	box_stop(&box);
	ATF_CHECK_EQ(before, open_files());
	box_remove(&box);
	box_gone(&box);
	/* There may be nothing to do any more. */
	ATF_CHECK_EQ(0, backend_ns.stop(&box.spec, &box.run, &box.e));
	ATF_CHECK_EQ(0, backend_ns.remove(&box.spec, &box.e));
}

BOX_TC(inside, "what a sandbox sees")
{

	box_init(&box);
	box_start(&box);
	ATF_CHECK_STREQ("/", box_sh(&box,
	    "cut -d' ' -f5 /proc/self/mountinfo | head -1"));
	ATF_CHECK_STREQ("/dev /proc /run", box_sh(&box,
	    "cut -d' ' -f5 /proc/self/mountinfo | grep '^/[^/]*$' | "
	    "grep -v '^/$' | sort | tr '\\n' ' ' | sed 's/ $//'"));
	ATF_CHECK_STREQ("0", box_sh(&box,
	    "ls -A /sys 2>/dev/null | wc -l"));
	ATF_CHECK_STREQ("", box_sh(&box, "cat /proc/kcore /proc/kallsyms"));
	ATF_CHECK_STREQ("ok", box_sh(&box, "for f in null zero full random "
	    "urandom tty ptmx fd stdin pts shm; do "
	    "test -e /dev/$f || echo $f; done; echo ok"));
	ATF_CHECK_STREQ("lo", box_sh(&box,
	    "ip link | grep UP | cut -d' ' -f2 | cut -d: -f1"));
	ATF_CHECK_STREQ("0", box_sh(&box, "stat -c %u /bin/busybox"));
	ATF_CHECK_STREQ("0", box_sh(&box, "stat -c %u /"));
	ATF_CHECK_STREQ("1", box_sh(&box, "grep core /proc/self/limits | "
	    "tr -s ' ' | cut -d' ' -f5"));
	ATF_CHECK_STREQ("0::/", box_sh(&box,
	    "grep ^0: /proc/self/cgroup || echo 0::/"));
	ATF_CHECK_STREQ("1777", box_sh(&box, "stat -c %a /tmp"));
}

BOX_TC(users, "commands run as any user of the sandbox")
{
	struct run *r;

	box_init(&box);
	box_start(&box);
	r = client_exec(&box.client, (struct shim_exec){
	    .command = "id -u; touch ~/mine && stat -c %u ~/mine; "
	    "touch /etc/x 2>/dev/null || echo no", .user = "user" });
	client_done(&box.client, r);
	ATF_CHECK_STREQ("1000\n1000\nno\n", r->out[0]);
	/* Root of the sandbox owns it all. */
	ATF_CHECK_STREQ("7 8", box_sh(&box,
	    "chown 7:8 /home/user/mine && stat -c '%u %g' /home/user/mine"));
}

BOX_TC(disk, "the disk outlives a stop; the template never changes")
{
	char path[PATH_MAX + 64];
	struct stat st;

	box_init(&box);
	box_start(&box);
	box_sh(&box, "echo kept > /root/file; rm /bin/yes; rm -r /home; "
	    "chmod 700 /etc; echo more >> /etc/passwd");
	box_stop(&box);
	ATF_REQUIRE_EQ_MSG(0, box_try(&box), "%s", box.e.message);
	box_connect(&box);
	ATF_CHECK_STREQ("kept", box_sh(&box, "cat /root/file"));
	ATF_CHECK_STREQ("gone", box_sh(&box,
	    "test -e /bin/yes -o -e /home || echo gone"));
	snprintf(path, sizeof(path), "%s/home/user", box.template);
	ATF_CHECK_EQ(0, stat(path, &st));
	snprintf(path, sizeof(path), "%s/etc", box.template);
	ATF_CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0755);
	/* On disk, owners are as inside. */
	snprintf(path, sizeof(path), "%s/disk/upper/root/file", box.dir);
	ATF_CHECK(stat(path, &st) == 0 && st.st_uid == 0);
}

BOX_TC(traps, "what a sandbox leaves on its disk does not misdirect mounts")
{

	box_init(&box);
	box_start(&box);
	/* As if they had been there before: only mounts hide them. */
	box_stop(&box);
	ATF_REQUIRE_EQ(0, chdir(box.dir));
	ATF_REQUIRE_EQ(0, chdir("disk/upper"));
	(void)rmdir("dev");
	(void)rmdir("run");
	ATF_REQUIRE_EQ(0, symlink("/etc", "dev"));
	ATF_REQUIRE_EQ(0, symlink("../../../etc", "run"));
	ATF_REQUIRE_EQ(0, symlink("/", "work"));
	box_write("sys", "a file");
	ATF_REQUIRE_EQ(0, chdir("../../.."));
	box.spec.share[0] = (struct sandbox_share){ .label = "x",
	    .source = box.rundir };
	box.spec.nshares = 1;
	ATF_REQUIRE_EQ_MSG(0, box_try(&box), "%s", box.e.message);
	box_connect(&box);
	ATF_CHECK_STREQ("/dev /proc /run /work", box_sh(&box,
	    "cut -d' ' -f5 /proc/self/mountinfo | grep '^/[^/]*$' | "
	    "grep -v '^/$' | sort | tr '\\n' ' ' | sed 's/ $//'"));
	ATF_CHECK_STREQ("yes", box_sh(&box, "test -f /etc/passwd && "
	    "test ! -L /dev -a ! -L /run -a ! -L /work && echo yes"));
}

BOX_TC(shares, "folders of the host")
{
	struct stat st;
	char cwd[PATH_MAX / 2], a[PATH_MAX], b[PATH_MAX];

	ATF_REQUIRE(getcwd(cwd, sizeof(cwd)) != NULL);
	snprintf(a, sizeof(a), "%s/a", cwd);
	snprintf(b, sizeof(b), "%s/b", cwd);
	ATF_REQUIRE(mkdir(a, 0755) == 0 && mkdir(b, 0755) == 0);
	box_write("a/file", "in a\n");
	box_write("b/file", "in b\n");
	box_init(&box);
	box.spec.share[0] = (struct sandbox_share){ .label = "a",
	    .source = a };
	box.spec.nshares = 1;
	box_start(&box);
	ATF_CHECK_STREQ("in a", box_sh(&box, "cat /work/file"));
	box_sh(&box, "echo new > /work/new; cp /bin/true /work/; "
	    "chmod 4755 /work/new");
	ATF_CHECK(stat("a/new", &st) == 0 && st.st_uid == 0);
	box_stop(&box);

	box.spec.share[1] = (struct sandbox_share){ .label = "b",
	    .source = b, .readonly = true };
	box.spec.nshares = 2;
	ATF_REQUIRE_EQ_MSG(0, box_try(&box), "%s", box.e.message);
	box_connect(&box);
	ATF_CHECK_STREQ("in a", box_sh(&box, "cat /work/a/file"));
	ATF_CHECK_STREQ("in b", box_sh(&box, "cat /work/b/file"));
	ATF_CHECK_STREQ("no", box_sh(&box,
	    "{ echo > /work/b/x; } 2>/dev/null || echo no"));
	ATF_CHECK_STREQ("no", box_sh(&box,
	    "{ rm -f /work/b/file; } 2>/dev/null || echo no"));
	box_stop(&box);

	box.spec.share[0].label = "../up";
	ATF_CHECK(box_try(&box) != 0);
	ATF_CHECK_EQ(CO_EPROTO_ARGUMENT, box.e.code);
	box_gone(&box);
}

BOX_TC(freeze, "it stands still, goes on, and dies frozen too")
{
	struct run *r;
	bool done;

	box_init(&box);
	box_start(&box);
	ATF_REQUIRE_EQ_MSG(0, backend_ns.freeze(&box.spec, &box.run, true,
	    &box.e), "%s", box.e.message);
	r = client_exec(&box.client, (struct shim_exec){
	    .command = "echo thawed" });
	for (int i = 0; i < 5; i++)
		client_poll(&box.client, 100);
	done = r->started;
	ATF_CHECK(!done);
	ATF_REQUIRE_EQ_MSG(0, backend_ns.freeze(&box.spec, &box.run, false,
	    &box.e), "%s", box.e.message);
	client_done(&box.client, r);
	ATF_CHECK_STREQ("thawed\n", r->out[0]);
	ATF_REQUIRE_EQ(0, backend_ns.freeze(&box.spec, &box.run, true,
	    &box.e));
	box_stop(&box);
	box_remove(&box);
	box_gone(&box);
}

/* In another process, which knows only what a record has. */
static void
adopt(struct sandbox_run run)
{
	struct co_error e;
	pid_t pid;
	int status;

	run.netns = -1;
	if ((pid = fork()) == 0) {
		if (backend_ns.adopt(&box.spec, &run, &e) != 0)
			_exit(1);
		if (run.netns == -1)
			_exit(2);
		run.birth++;
		if (backend_ns.adopt(&box.spec, &run, &e) == 0 ||
		    e.code != CO_ESANDBOX_LOST)
			_exit(3);
		run.pid = getpid();
		run.birth = ns_birth(run.pid, NULL);
		if (backend_ns.adopt(&box.spec, &run, &e) == 0)
			_exit(4);
		run = box.run;
		_exit(backend_ns.stop(&box.spec, &run, &e) == 0 ? 0 : 5);
	}
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	ATF_CHECK_EQ(0, status);
}

BOX_TC(adoption, "another process finds it again, and ends it")
{

	box_init(&box);
	box_start(&box);
	adopt(box.run);
	ATF_CHECK(backend_ns.adopt(&box.spec, &box.run, &box.e) != 0);
	ATF_CHECK_EQ(CO_ESANDBOX_LOST, box.e.code);
	box_stop(&box);
	box_remove(&box);
	box_gone(&box);
}

BOX_TC(orphan, "it outlives whoever started it")
{
	struct sandbox_run run;
	int p[2], status;
	pid_t pid;

	box_init(&box);
	ATF_REQUIRE_EQ(0, backend_ns.prepare(&box.spec, &box.e));
	ATF_REQUIRE_EQ(0, pipe(p));
	if ((pid = fork()) == 0) {
		if (box_try(&box) == 0)
			(void)!write(p[1], &box.run, sizeof(box.run));
		_exit(0);
	}
	ATF_REQUIRE(read(p[0], &run, sizeof(run)) == sizeof(run));
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	ATF_CHECK_EQ_MSG(0, backend_ns.adopt(&box.spec, &run, &box.e), "%s",
	    box.e.message);
	box.run = run;
	box_stop(&box);
	box_remove(&box);
	box_gone(&box);
}

BOX_TC(failure, "a start that fails leaves nothing, and says why")
{
	int before;

	box_init(&box);
	box.spec.shim = "/nowhere/shim";
	ATF_REQUIRE_EQ(0, backend_ns.prepare(&box.spec, &box.e));
	ATF_CHECK(box_try(&box) != 0);
	ATF_CHECK_STREQ("/nowhere/shim", box.e.what);
	before = open_files();
	ATF_CHECK(box_try(&box) != 0);
	ATF_CHECK_EQ(before, open_files());
	box_gone(&box);
	/* Not a program. */
	box.spec.shim = "/etc/passwd";
	ATF_CHECK(box_try(&box) != 0);
	ATF_CHECK(strstr(box.e.message, "shim") != NULL);
	ATF_CHECK_EQ(CO_ESYS_PERMISSION, box.e.code);
	box_gone(&box);
	box.spec.shim = SHIM_PROG;
	box.spec.template = "/nowhere/template";
	ATF_CHECK(box_try(&box) != 0);
	box_gone(&box);
	box_remove(&box);
}

static void
capture(struct box *b, const char *to)
{
	int fd;

	ATF_REQUIRE_EQ(0, mkdir(to, 0755));
	fd = open(to, O_RDONLY | O_DIRECTORY);
	ATF_REQUIRE_EQ_MSG(0, backend_ns.capture(&b->spec, fd, &b->e),
	    "%s: %s", b->e.what, b->e.message);
	close(fd);
}

static void
change(struct box *b)
{

	box_sh(b, "cd /root; echo one > a; ln a b; ln -s a c; mkdir d; "
	    "chmod 711 d; chown 5:6 d; dd if=/dev/zero of=sparse bs=1 "
	    "count=1 seek=10000000 2>/dev/null; rm /bin/yes; rm -r /home; "
	    "mkdir -p /home/new; echo x >> /etc/group; sync");
}

static void
look(const char *to)
{
	struct stat st, st2;
	char buf[64];

	ATF_REQUIRE_EQ(0, chdir(to));
	ATF_CHECK(lstat("root/a", &st) == 0 && lstat("root/b", &st2) == 0);
	ATF_CHECK(st.st_ino == st2.st_ino && st.st_nlink == 2);
	ATF_CHECK_EQ(0, st.st_uid);
	ATF_CHECK_EQ(1, readlink("root/c", buf, sizeof(buf)));
	ATF_CHECK(lstat("root/d", &st) == 0 && st.st_uid == 5 &&
	    st.st_gid == 6 && (st.st_mode & 0777) == 0711);
	ATF_CHECK(lstat("root/sparse", &st) == 0 && st.st_size == 10000001 &&
	    st.st_blocks < 1000);
	ATF_CHECK(lstat("bin/yes", &st) != 0 && errno == ENOENT);
	ATF_CHECK_EQ(0, lstat("bin/busybox", &st));
	ATF_CHECK(lstat("home/user", &st) != 0 && errno == ENOENT);
	ATF_CHECK_EQ(0, lstat("home/new", &st));
	ATF_CHECK(lstat("tmp", &st) == 0 && (st.st_mode & 07777) == 01777);
	ATF_REQUIRE_EQ(0, chdir(".."));
}

BOX_TC(captured, "the tree becomes a template, frozen or stopped")
{

	box_init(&box);
	box_start(&box);
	change(&box);
	ATF_REQUIRE_EQ(0, backend_ns.freeze(&box.spec, &box.run, true,
	    &box.e));
	capture(&box, "frozen");
	look("frozen");
	box_stop(&box);
	capture(&box, "stopped");
	look("stopped");
	/* It is one: a sandbox starts from it. */
	box_init(&other);
	snprintf(other.template, sizeof(other.template), "%s",
	    box.template);
	strcpy(strrchr(other.template, '/'), "/stopped");
	box_start(&other);
	ATF_CHECK_STREQ("one", box_sh(&other, "cat /root/b"));
}

BOX_TC(captured_image, "likewise when the disk is limited")
{

	box_init(&box);
	box.spec.limits.disk = 32 << 20;
	box_start(&box);
	change(&box);
	ATF_REQUIRE_EQ(0, backend_ns.freeze(&box.spec, &box.run, true,
	    &box.e));
	capture(&box, "frozen");
	look("frozen");
	ATF_REQUIRE_EQ(0, backend_ns.freeze(&box.spec, &box.run, false,
	    &box.e));
	ATF_CHECK_STREQ("one", box_sh(&box, "cat /root/a"));
	box_stop(&box);
	box_gone(&box);
	capture(&box, "stopped");
	look("stopped");
	box_gone(&box);
}

BOX_TC(deep, "a disk of any depth is removed")
{

	box_init(&box);
	box_start(&box);
	/* Well beyond PATH_MAX, and any number of descriptors. */
	box_sh(&box, "cd /root; i=0; while test $i -lt 3000; do "
	    "mkdir ddddddddd; cd ddddddddd; : > f; i=$((i+1)); done");
	box_stop(&box);
	box_remove(&box);
	box_gone(&box);
	ATF_CHECK_EQ(0, rmdir(box.dir));
}

#define	THREADS	6
#define	ROUNDS	5

static int
listener(int i)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd;

	snprintf(sun.sun_path, sizeof(sun.sun_path), "thread.%d", i);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ATF_REQUIRE_EQ(0, bind(fd, (struct sockaddr *)&sun, sizeof(sun)));
	ATF_REQUIRE_EQ(0, listen(fd, 4));
	return (fd);
}

static void *
life(void *arg)
{
	struct box *b = arg;

	for (int i = 0; i < ROUNDS; i++) {
		if (backend_ns.prepare(&b->spec, &b->e) != 0 ||
		    backend_ns.start(&b->spec, &b->run, &b->e) != 0)
			return (b);
		close(b->run.netns);
		if (backend_ns.adopt(&b->spec, &b->run, &b->e) != 0)
			return (b);
		close(b->run.netns);
		if (backend_ns.stop(&b->spec, &b->run, &b->e) != 0 ||
		    backend_ns.remove(&b->spec, &b->e) != 0)
			return (b);
	}
	return (NULL);
}

BOX_TC(threads, "many at once, from the threads of one process")
{
	static struct box many[THREADS];
	pthread_t t[THREADS];
	void *failed;

	for (int i = 0; i < THREADS; i++) {
		box_init(&many[i]);
		many[i].spec.listenfd = listener(i);
		many[i].spec.limits.disk = i % 2 == 0 ? 0 : 8 << 20;
	}
	for (int i = 0; i < THREADS; i++)
		ATF_REQUIRE_EQ(0, pthread_create(&t[i], NULL, life,
		    &many[i]));
	for (int i = 0; i < THREADS; i++) {
		ATF_REQUIRE_EQ(0, pthread_join(t[i], &failed));
		ATF_CHECK_MSG(failed == NULL, "%s: %s", many[i].e.what,
		    many[i].e.message);
		box_gone(&many[i]);
		many[i].live = failed != NULL;
	}
}

static void
found(void *arg, const char *what, bool ok, const char *advice)
{
	int *n = arg;

	(*n)++;
	ATF_CHECK_MSG(ok, "%s: %s", what, advice);
}

BOX_TC(probe, "this host can do it")
{
	struct co_error e;
	int n = 0;

	ATF_CHECK_EQ(0, backend_ns.probe(found, &n, &e));
	ATF_CHECK(n > 8);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, start);
	ATF_TP_ADD_TC(tp, inside);
	ATF_TP_ADD_TC(tp, users);
	ATF_TP_ADD_TC(tp, disk);
	ATF_TP_ADD_TC(tp, traps);
	ATF_TP_ADD_TC(tp, shares);
	ATF_TP_ADD_TC(tp, freeze);
	ATF_TP_ADD_TC(tp, adoption);
	ATF_TP_ADD_TC(tp, orphan);
	ATF_TP_ADD_TC(tp, failure);
	ATF_TP_ADD_TC(tp, captured);
	ATF_TP_ADD_TC(tp, captured_image);
	ATF_TP_ADD_TC(tp, deep);
	ATF_TP_ADD_TC(tp, threads);
	ATF_TP_ADD_TC(tp, probe);
	return (atf_no_error());
}
