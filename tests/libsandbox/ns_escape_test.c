/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The escape suite: each attack of ns_attack.c is a test case.  It must work
 * outside, where the kernel has what it needs, and must not work as root in
 * a sandbox, which must still be there afterwards, as must its baits.
 */

#include <sys/mount.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <netinet/in.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ns_attack.h"
#include "ns_box.h"

#define	NVARS	16

static struct box box;
static char vars[NVARS][PATH_MAX + 64];
static size_t nvars;
static char share[PATH_MAX];
static pid_t bait_pid;
static int bait_shm = -1;
static char queue[64];

static void set(const char *, const char *, ...)
    __attribute__((__format__(printf, 2, 3)));

static void
set(const char *name, const char *fmt, ...)
{
	char *p = vars[nvars++];
	va_list ap;
	int n;

	ATF_REQUIRE(nvars < NVARS);
	n = snprintf(p, sizeof(vars[0]), "%s=", name);
	va_start(ap, fmt);
	vsnprintf(p + n, sizeof(vars[0]) - (size_t)n, fmt, ap);
	va_end(ap);
	(void)putenv(p);
}

static void
unbait(void)
{

	if (bait_pid > 0) {
		(void)kill(bait_pid, SIGKILL);
		(void)waitpid(bait_pid, NULL, 0);
	}
	if (bait_shm != -1)
		(void)shmctl(bait_shm, IPC_RMID, NULL);
	if (queue[0] != '\0')
		(void)mq_unlink(queue);
}

static void
bait_process(void)
{

	if ((bait_pid = fork()) == 0)
		for (;;)
			(void)pause();
	set("BAIT_PID", "%d", (int)bait_pid);
}

static void
bait_file(const char *cwd)
{
	union {
		struct file_handle h;
		char		 room[sizeof(struct file_handle) + 128];
	} u;
	char hex[300];
	int mount;

	box_write("secret", "of the host\n");
	set("BAIT_FILE", "%s/secret", cwd);
	memset(&u, 0, sizeof(u));
	u.h.handle_bytes = 128;
	ATF_REQUIRE_EQ(0, name_to_handle_at(AT_FDCWD, "secret", &u.h, &mount,
	    0));
	for (unsigned i = 0; i < u.h.handle_bytes; i++)
		snprintf(hex + 2 * i, 3, "%02x", u.h.f_handle[i]);
	set("BAIT_HANDLE", "%d:%s", u.h.handle_type, hex);
}

static void
bait_sockets(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(sin);
	int fd, n;

	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ATF_REQUIRE_EQ(0, bind(fd, (struct sockaddr *)&sin, sizeof(sin)));
	ATF_REQUIRE_EQ(0, listen(fd, 4));
	ATF_REQUIRE_EQ(0, getsockname(fd, (struct sockaddr *)&sin, &len));
	set("BAIT_PORT", "%d", ntohs(sin.sin_port));

	n = snprintf(sun.sun_path + 1, sizeof(sun.sun_path) - 1,
	    "coppice-bait-%d", (int)getpid());
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ATF_REQUIRE_EQ(0, bind(fd, (struct sockaddr *)&sun,
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
	    (size_t)n)));
	ATF_REQUIRE_EQ(0, listen(fd, 4));
	set("BAIT_SOCKET", "%s", sun.sun_path + 1);
}

static void
bait_objects(void)
{
	key_t key = 0x70000000 + getpid();

	bait_shm = shmget(key, 4096, IPC_CREAT | IPC_EXCL | 0666);
	ATF_REQUIRE(bait_shm != -1);
	set("BAIT_SHM", "%d", (int)key);
	snprintf(queue, sizeof(queue), "/coppice-bait-%d", (int)getpid());
	ATF_REQUIRE(mq_open(queue, O_RDONLY | O_CREAT, 0666, NULL) !=
	    (mqd_t)-1);
	set("BAIT_QUEUE", "%s", queue);
}

/* The share holds what a careless or hostile user may have put there. */
static void
make_share(const char *cwd)
{
	char path[PATH_MAX + 16];

	snprintf(share, sizeof(share), "%s/share", cwd);
	ATF_REQUIRE_EQ(0, mkdir(share, 0777));
	snprintf(path, sizeof(path), "%s/node", share);
	ATF_REQUIRE_EQ(0, mknod(path, S_IFCHR | 0666, 1 << 8 | 3));
	box_install(&box, ATTACK_PROG, "bin/ns_attack", 0755);
	box_install(&box, ATTACK_PROG, "bin/suid", 04755);
	box_install(&box, ATTACK_PROG, "../share/suid", 04755);
}

static void
set_baits(void)
{
	char cwd[PATH_MAX / 2];

	ATF_REQUIRE(getcwd(cwd, sizeof(cwd)) != NULL);
	atexit(unbait);
	box_init(&box);
	make_share(cwd);
	bait_process();
	bait_file(cwd);
	bait_sockets();
	bait_objects();
	set("BAIT_DISK", "%s/disk/upper", box.dir);
}

/* Errors of a kernel that has not got it at all. */
static bool
absent(int error)
{

	return (error == ENOSYS || error == ENOENT || error == ENODEV ||
	    error == ENXIO || error == EAFNOSUPPORT ||
	    error == EPROTONOSUPPORT || error == EOPNOTSUPP);
}

/* In a process of its own, which may spoil itself but not the host. */
static void
prove(const struct attack *a)
{
	int status;
	pid_t pid;

	if (a->proof == NEVER)
		return;
	if ((pid = fork()) == 0) {
		if (unshare(CLONE_NEWNS) != 0 ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		    (a->proof == HOST_OWN &&
		    unshare(CLONE_NEWNET | CLONE_NEWUTS) != 0))
			_exit(255);
		_exit(a->run());
	}
	ATF_REQUIRE(pid != -1 && waitpid(pid, &status, 0) == pid);
	ATF_REQUIRE_MSG(WIFEXITED(status), "outside: killed");
	status = WEXITSTATUS(status);
	if (absent(status))
		printf("this kernel has not got it: %s\n", strerror(status));
	else
		ATF_CHECK_MSG(status == 0, "outside it does not work: %s",
		    strerror(status));
}

static void
attack(const struct attack *a)
{
	const char *argv[] = { "/bin/ns_attack", a->name, NULL };
	const char *env[NVARS + 1];
	struct run *r;

	for (size_t i = 0; i < nvars; i++)
		env[i] = vars[i];
	env[nvars] = NULL;
	r = client_exec(&box.client, (struct shim_exec){ .argv = argv,
	    .env = env });
	client_done(&box.client, r);
	printf("inside: %s%s", r->out[0], r->out[1]);
	ATF_CHECK_MSG(r->exit.exit_code == 0, "inside: %s (%d)", r->out[0],
	    r->exit.exit_code);
}

static void
body(const atf_tc_t *tc)
{
	const struct attack *a = NULL;
	size_t mark;

	for (size_t i = 0; i < nattacks; i++)
		if (strcmp(attacks[i].name, atf_tc_get_ident(tc)) == 0)
			a = &attacks[i];
	ATF_REQUIRE(a != NULL);
	set_baits();
	box.spec.share[0] = (struct sandbox_share){ .label = "share",
	    .source = share };
	box.spec.nshares = 1;
	box_start(&box);
	/* The same names, with what they stand for on either side. */
	mark = nvars;
	set("TARGET", "%d", (int)bait_pid);
	set("SHARE", "%s", share);
	set("SUID", "%s/bin/suid", box.template);
	prove(a);
	nvars = mark;
	set("TARGET", "1");
	set("SHARE", "/work");
	set("SUID", "/bin/suid");
	attack(a);
	ATF_CHECK_STREQ("alive", box_sh(&box, "echo alive"));
	ATF_CHECK_EQ(0, kill(bait_pid, 0));
	box_stop(&box);
	box_remove(&box);
	box_gone(&box);
}

static void
head(atf_tc_t *tc)
{

	atf_tc_set_md_var(tc, "require.user", "root");
	atf_tc_set_md_var(tc, "require.progs", "/bin/busybox");
}

ATF_TP_ADD_TCS(tp)
{
	static atf_tc_t tcs[200];
	static const char *const config[] = { NULL };
	atf_error_t e;

	for (size_t i = 0; i < nattacks; i++) {
		e = atf_tc_init(&tcs[i], attacks[i].name, head, body, NULL,
		    config);
		if (atf_is_error(e))
			return (e);
		if (atf_is_error(e = atf_tp_add_tc(tp, &tcs[i])))
			return (e);
	}
	return (atf_no_error());
}
