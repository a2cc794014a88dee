/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sandboxes of the jail backend, real ones, in FreeBSD: they start, run
 * commands, keep to their limits, are paused, adopted and ended, leave
 * nothing, and are not left by what runs in them.
 */

#include <sys/param.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend.h"
#include "client.h"
#include "jail_internal.h"

struct box {
	struct sandbox_spec spec;
	struct sandbox_run run;
	struct client	 client;
	char		 id[CO_IDSIZE];
	char		 dir[PATH_MAX];
	char		 template[PATH_MAX];
	struct co_error	 e;
};

static struct box *live;

static void
at_exit(void)
{

	if (live == NULL)
		return;
	(void)backend_jail.stop(&live->spec, &live->run, NULL);
	(void)backend_jail.remove(&live->spec, NULL);
}

static void
run(const char *const *argv)
{

	if (jail_run(argv, -1, NULL) != 0)
		atf_tc_fail("%s failed", argv[0]);
}

/* The rescue programs are one static file with many names. */
static void
make_template(const char *root)
{
	char script[2048];
	const char *argv[] = { "/bin/sh", "-c", script, NULL };

	snprintf(script, sizeof(script), "set -e; r=%s; "
	    "mkdir -p $r/bin $r/sbin $r/etc $r/tmp $r/dev $r/var/run $r/root "
	    "$r/lib $r/libexec; chmod 1777 $r/tmp; "
	    "cp -p /libexec/ld-elf.so.1 $r/libexec/; "
	    "cp -p /lib/*.so.* $r/lib/; "
	    "for p in sh cat echo ls ps sleep dd rm mkdir mv hostname kill "
	    "pwd chmod ln test; do cp -p /bin/$p $r/bin/; done; "
	    "for p in mount umount sysctl ping ifconfig mknod kldload "
	    "route; do [ ! -f /sbin/$p ] || cp -p /sbin/$p $r/sbin/; done; "
	    "echo 'root:*:0:0::0:0:r:/root:/bin/sh' > $r/etc/master.passwd; "
	    "echo 'root:*:0:0:r:/root:/bin/sh' > $r/etc/passwd; "
	    "echo 'wheel:*:0:root' > $r/etc/group", root);
	run(argv);
}

static void
box_init(struct box *b)
{
	char cwd[PATH_MAX / 2];

	memset(b, 0, sizeof(*b));
	co_id_make(b->id);
	ATF_REQUIRE(getcwd(cwd, sizeof(cwd)) != NULL);
	snprintf(b->dir, sizeof(b->dir), "%s/box.%s", cwd, b->id);
	snprintf(b->template, sizeof(b->template), "%s/template/root", cwd);
	ATF_REQUIRE_EQ(0, mkdir(b->dir, 0700));
	if (access(b->template, F_OK) != 0)
		make_template(b->template);
	b->spec = (struct sandbox_spec){ .id = b->id, .name = "box",
	    .dir = b->dir, .run = b->dir, .template = b->template,
	    .shim = SHIM_PROG, .listenfd = -1 };
	live = b;
	atexit(at_exit);
}

static int
listener(void)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd;

	snprintf(sun.sun_path, sizeof(sun.sun_path), "shim.%d.sock",
	    (int)getpid());
	(void)unlink(sun.sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ATF_REQUIRE_EQ(0, bind(fd, (struct sockaddr *)&sun, sizeof(sun)));
	ATF_REQUIRE_EQ(0, listen(fd, 4));
	return (fd);
}

static int
box_try(struct box *b)
{
	int dir, ret;

	/* As the daemon does, which no jail admits with it. */
	ATF_REQUIRE((dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0);
	b->spec.listenfd = listener();
	ret = backend_jail.start(&b->spec, &b->run, &b->e);
	close(b->spec.listenfd);
	close(dir);
	return (ret);
}

static void
box_start(struct box *b)
{

	ATF_REQUIRE_MSG(backend_jail.prepare(&b->spec, &b->e) == 0, "%s: %s",
	    b->e.what, b->e.message);
	ATF_REQUIRE_MSG(box_try(b) == 0, "%s: %s", b->e.what, b->e.message);
	client_connect(&b->client);
}

/* Mounts at or below the sandbox's folder. */
static int
mounts(const struct box *b)
{
	struct statfs *sf;
	int count = 0, n;

	n = getmntinfo(&sf, MNT_NOWAIT);
	for (int i = 0; i < n; i++)
		count += strstr(sf[i].f_mntonname, b->id) != NULL;
	return (count);
}

static void
box_end(struct box *b)
{

	client_disconnect(&b->client);
	ATF_REQUIRE_MSG(backend_jail.stop(&b->spec, &b->run, &b->e) == 0,
	    "%s: %s", b->e.what, b->e.message);
	ATF_REQUIRE_EQ(-1, jail_find(b->id, JAIL_OUTER));
	ATF_REQUIRE_EQ(-1, jail_find(b->id, JAIL_INNER));
	ATF_REQUIRE_EQ(0, mounts(b));
	ATF_REQUIRE_MSG(backend_jail.remove(&b->spec, &b->e) == 0, "%s: %s",
	    b->e.what, b->e.message);
	live = NULL;
}

/* Run a shell command in it and return its first line of output. */
static const char *
box_sh(struct box *b, const char *command)
{
	struct run *r = client_sh(&b->client, command);

	r->out[0][strcspn(r->out[0], "\n")] = '\0';
	return (r->out[0]);
}

static struct box box;

#define	CASE(name)							\
	ATF_TC(name);							\
	ATF_TC_HEAD(name, tc)						\
	{								\
		atf_tc_set_md_var(tc, "require.user", "root");		\
	}								\
	ATF_TC_BODY(name, tc)

CASE(start)
{

	box_init(&box);
	box_start(&box);
	ATF_CHECK(box.run.pid > 0 && box.run.birth > 0 && box.run.jid > 0);
	ATF_CHECK_STREQ("hello", box_sh(&box, "echo hello"));
	ATF_CHECK_STREQ("box", box_sh(&box, "hostname"));
	ATF_CHECK_STREQ("kept", box_sh(&box, "echo kept > /root/f; "
	    "cat /root/f"));
	/* What it wrote is its own: the template is as it was. */
	ATF_CHECK(access("template/root/root/f", F_OK) != 0);
	box_end(&box);
}

/* What is written stays over a stop; another start of it goes on there. */
CASE(again)
{

	box_init(&box);
	box_start(&box);
	ATF_CHECK_STREQ("1", box_sh(&box, "echo 1 > /root/n; cat /root/n"));
	ATF_CHECK_STREQ("gone", box_sh(&box, "rm /etc/group; "
	    "test -e /etc/group || echo gone"));
	client_disconnect(&box.client);
	ATF_REQUIRE_EQ(0, backend_jail.stop(&box.spec, &box.run, &box.e));
	ATF_REQUIRE_EQ(0, backend_jail.stop(&box.spec, &box.run, &box.e));
	ATF_REQUIRE_MSG(box_try(&box) == 0, "%s", box.e.message);
	memset(&box.client, 0, sizeof(box.client));
	client_connect(&box.client);
	ATF_CHECK_STREQ("1", box_sh(&box, "cat /root/n"));
	ATF_CHECK_STREQ("gone", box_sh(&box, "test -e /etc/group || "
	    "echo gone"));
	box_end(&box);
}

CASE(shares)
{
	char here[PATH_MAX], path[PATH_MAX + 8];
	int fd;

	box_init(&box);
	ATF_REQUIRE(getcwd(here, sizeof(here)) != NULL);
	snprintf(path, sizeof(path), "%s/one", here);
	ATF_REQUIRE_EQ(0, mkdir("one", 0755));
	box.spec.share[0] = (struct sandbox_share){ .label = "one",
	    .source = path };
	box.spec.share[1] = (struct sandbox_share){ .label = "two",
	    .source = path, .readonly = true };
	box.spec.nshares = 2;
	box_start(&box);
	ATF_CHECK_STREQ("x", box_sh(&box, "echo x > /work/one/f; "
	    "cat /work/two/f"));
	ATF_CHECK_STREQ("no", box_sh(&box, "echo y 2>/dev/null "
	    "> /work/two/g || echo no"));
	ATF_REQUIRE((fd = open("one/f", O_RDONLY)) != -1);
	close(fd);
	box_end(&box);
	ATF_CHECK_EQ(0, access("one/f", F_OK));
}

CASE(adopt)
{
	struct sandbox_run other;

	box_init(&box);
	box_start(&box);
	other = (struct sandbox_run){ .pid = box.run.pid,
	    .birth = box.run.birth };
	ATF_REQUIRE_EQ(0, backend_jail.adopt(&box.spec, &other, &box.e));
	ATF_CHECK_EQ(box.run.jid, other.jid);
	/* The same pid, begun at another time, is somebody else. */
	other.birth++;
	ATF_REQUIRE_EQ(-1, backend_jail.adopt(&box.spec, &other, &box.e));
	ATF_CHECK_EQ(CO_ESANDBOX_LOST, box.e.code);
	box_end(&box);
	other.birth--;
	ATF_REQUIRE_EQ(-1, backend_jail.adopt(&box.spec, &other, &box.e));
}

CASE(freeze)
{
	struct sandbox_usage a, b;
	struct run *r;

	box_init(&box);
	box_start(&box);
	r = client_exec(&box.client, (struct shim_exec){ .id = 900,
	    .command = "while :; do :; done" });
	client_wait(&box.client, &r->started);
	ATF_REQUIRE_MSG(backend_jail.freeze(&box.spec, &box.run, true,
	    &box.e) == 0, "%s", box.e.message);
	ATF_REQUIRE_EQ(0, backend_jail.usage(&box.spec, &box.run, &a,
	    &box.e));
	sleep(3);
	ATF_REQUIRE_EQ(0, backend_jail.usage(&box.spec, &box.run, &b,
	    &box.e));
	ATF_CHECK(b.cpu_us - a.cpu_us <= 1000000);
	ATF_REQUIRE_EQ(0, backend_jail.freeze(&box.spec, &box.run, false,
	    &box.e));
	ATF_CHECK_STREQ("on", box_sh(&box, "echo on"));
	/* One that is paused can be ended too. */
	ATF_REQUIRE_EQ(0, backend_jail.freeze(&box.spec, &box.run, true,
	    &box.e));
	box_end(&box);
}

CASE(limits)
{
	struct sandbox_usage u;

	box_init(&box);
	box.spec.limits.procs = 20;
	box_start(&box);
	ATF_REQUIRE_EQ(0, backend_jail.usage(&box.spec, &box.run, &u,
	    &box.e));
	ATF_CHECK(u.procs >= 1 && u.procs <= 20);
	ATF_CHECK_STREQ("stopped", box_sh(&box, "i=0; while [ $i -lt 60 ]; "
	    "do sleep 5 & i=$((i+1)); done 2>/dev/null; "
	    "ps -ax | { n=0; while read l; do n=$((n+1)); done; "
	    "[ $n -lt 40 ] && echo stopped; } || echo stopped"));
	box_end(&box);
}

/* Each of these must fail in the sandbox. */
static const struct {
	const char	*name;
	const char	*command;
} attacks[] = {
	{ "raw socket", "ping -c 1 -t 1 127.0.0.1" },
	{ "new interface", "ifconfig epair create" },
	{ "change of address", "ifconfig lo0 inet 127.9.9.9/32 alias" },
	{ "route", "route add default 127.0.0.1" },
	{ "mount of tmpfs", "mount -t tmpfs tmpfs /tmp" },
	{ "mount of devfs", "mount -t devfs devfs /tmp" },
	{ "mount of nullfs", "mount -t nullfs / /tmp" },
	{ "unmount of its devices", "umount -f /dev" },
	{ "unmount of its root", "umount -f /" },
	{ "write of a sysctl", "sysctl kern.maxproc=10" },
	{ "securelevel", "sysctl kern.securelevel=-1" },
	{ "hostname", "hostname other" },
	{ "kernel module", "kldload if_gre" },
	{ "device node", "mknod /tmp/mem c 0 14 && cat /tmp/mem" },
	{ "kernel memory", "cat /dev/mem" },
	{ "kernel's memory", "cat /dev/kmem" },
	{ "packet filter", "cat /dev/pf" },
	{ "packets", "cat /dev/bpf" },
	{ "disk", "cat /dev/vtbd0" },
	{ "fuse device", "cat /dev/fuse" },
	{ "console", "echo x > /dev/console" },
	{ "signal to init", "kill -0 1" },
};

CASE(escapes)
{
	char command[256];

	box_init(&box);
	box_start(&box);
	for (size_t i = 0; i < nitems(attacks); i++) {
		snprintf(command, sizeof(command), "{ %s; } >/dev/null 2>&1 "
		    "&& echo worked || echo failed", attacks[i].command);
		ATF_CHECK_MSG(strcmp(box_sh(&box, command), "failed") == 0,
		    "%s worked", attacks[i].name);
	}
	/* No process but its own is to be seen, no file above its root. */
	snprintf(command, sizeof(command), "kill -0 %d 2>/dev/null || "
	    "echo hidden", (int)getpid());
	ATF_CHECK_STREQ("hidden", box_sh(&box, command));
	ATF_CHECK_STREQ("bin", box_sh(&box, "cd /; cd ../../..; ls"));
	box_end(&box);
}

/* Killed anywhere in start(): stop() and remove() leave nothing. */
CASE(killed)
{
	pid_t pid;
	int status;

	box_init(&box);
	for (int i = 0; i < 25; i++) {
		if ((pid = fork()) == 0) {
			live = NULL;
			(void)backend_jail.prepare(&box.spec, NULL);
			(void)box_try(&box);
			_exit(0);
		}
		usleep((useconds_t)i * 20000);
		(void)kill(pid, SIGKILL);
		ATF_REQUIRE_EQ(pid, waitpid(pid, &status, 0));
		memset(&box.run, 0, sizeof(box.run));
		ATF_REQUIRE_MSG(backend_jail.stop(&box.spec, &box.run,
		    &box.e) == 0, "%s", box.e.message);
		ATF_REQUIRE_EQ(-1, jail_find(box.id, JAIL_OUTER));
		ATF_REQUIRE_EQ(0, mounts(&box));
		ATF_REQUIRE_MSG(backend_jail.remove(&box.spec, &box.e) == 0,
		    "%s", box.e.message);
	}
	box_start(&box);
	ATF_CHECK_STREQ("well", box_sh(&box, "echo well"));
	box_end(&box);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, start);
	ATF_TP_ADD_TC(tp, again);
	ATF_TP_ADD_TC(tp, shares);
	ATF_TP_ADD_TC(tp, adopt);
	ATF_TP_ADD_TC(tp, freeze);
	ATF_TP_ADD_TC(tp, limits);
	ATF_TP_ADD_TC(tp, escapes);
	ATF_TP_ADD_TC(tp, killed);
	return (atf_no_error());
}
