/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A real QEMU takes the arguments as they are: it opens every disk, socket
 * and port, makes every device, and waits on its monitor.
 */

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machines.h"

/* In the test's own folder, which has a name that is short enough. */
struct place {
	char	dir[64], kernel[96], disk[96], share[96], control[96],
		monitor[96];
};

static int
unix_socket(const char *path, bool server)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int s;

	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
	ATF_REQUIRE((s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) >=
	    0);
	if (server ? bind(s, (struct sockaddr *)&sun, sizeof(sun)) != 0 ||
	    listen(s, 1) != 0 :
	    connect(s, (struct sockaddr *)&sun, sizeof(sun)) != 0) {
		close(s);
		return (-1);
	}
	return (s);
}

static void
place_make(struct place *p)
{
	int fd;

	snprintf(p->dir, sizeof(p->dir), "/tmp/vm.XXXXXX");
	ATF_REQUIRE(mkdtemp(p->dir) != NULL);
	snprintf(p->kernel, sizeof(p->kernel), "%s/kernel", p->dir);
	snprintf(p->disk, sizeof(p->disk), "%s/a,disk", p->dir);
	snprintf(p->share, sizeof(p->share), "%s/share,1", p->dir);
	snprintf(p->control, sizeof(p->control), "%s/control", p->dir);
	snprintf(p->monitor, sizeof(p->monitor), "%s/monitor", p->dir);
	ATF_REQUIRE((fd = open(p->disk, O_RDWR | O_CREAT, 0600)) >= 0);
	ATF_REQUIRE_EQ(0, ftruncate(fd, 1 << 20));
	close(fd);
	/* As much of a kernel as QEMU looks at before it runs. */
	ATF_REQUIRE((fd = open(p->kernel, O_RDWR | O_CREAT, 0600)) >= 0);
	ATF_REQUIRE_EQ(0, ftruncate(fd, 1 << 20));
	ATF_REQUIRE_EQ(2, pwrite(fd, "\x55\xaa", 2, 0x1fe));
	ATF_REQUIRE_EQ(8, pwrite(fd, "HdrS\x0f\x02\0\0", 8, 0x202));
	ATF_REQUIRE_EQ(1, pwrite(fd, "\x01", 1, 0x211));
	close(fd);
}

static void
place_remove(const struct place *p)
{
	const char *const files[] = { p->kernel, p->disk, p->share,
	    p->control, p->monitor };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		(void)unlink(files[i]);
	(void)rmdir(p->dir);
}

/* What the monitor says within a while. */
static void
expect(int s, const char *text)
{
	char buf[8192];
	size_t len = 0;
	ssize_t n;

	buf[0] = '\0';
	while (strstr(buf, text) == NULL && len < sizeof(buf) - 1) {
		n = read(s, buf + len, sizeof(buf) - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
		buf[len] = '\0';
	}
	ATF_CHECK_MSG(strstr(buf, text) != NULL, "%s", buf);
}

static int
monitor(const char *path, pid_t pid)
{
	struct timeval tv = { .tv_sec = 60 };
	int s = -1, status;

	for (int i = 0; i < 600 && s == -1; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			atf_tc_fail("QEMU ended: see its output");
		s = unix_socket(path, false);
		usleep(100000);
	}
	ATF_REQUIRE(s != -1);
	(void)setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	return (s);
}

static void
say(int s, const char *text)
{

	ATF_REQUIRE_EQ((ssize_t)strlen(text), write(s, text, strlen(text)));
}

static void
try(enum vm_machine machine)
{
	const struct vm_qemu q = { .program = "qemu-system-x86_64",
	    .machine = machine };
	struct vmspec vm = MACHINE_SMALL;
	struct vm_args a;
	struct co_error e;
	struct place p;
	int s, share, status;
	pid_t pid;

	place_make(&p);
	vm.kernel = p.kernel;
	vm.control = p.control;
	vm.monitor = p.monitor;
	vm.disk[0] = (struct vm_disk){ .tag = "root", .path = p.disk,
	    .readonly = true };
	vm.disk[1] = (struct vm_disk){ .tag = "data", .path = p.disk };
	vm.ndisks = 2;
	vm.share[0] = (struct vm_share){ .tag = "work", .socket = p.share,
	    .stream = true };
	vm.nshares = 1;
	/* Two writers of one file are refused by QEMU itself. */
	vm.disk[1].readonly = true;
	ATF_REQUIRE((share = unix_socket(p.share, true)) >= 0);
	ATF_REQUIRE_EQ_MSG(0, vm_check(&vm, &e), "%s", e.message);
	ATF_REQUIRE_EQ(0, vm_qemu(&vm, &q, &a, &e));
	if ((pid = fork()) == 0) {
		/* Made, not begun. */
		a.v = realloc(a.v, (a.n + 2) * sizeof(*a.v));
		a.v[a.n] = strdup("-S");
		a.v[a.n + 1] = NULL;
		(void)execvp(a.v[0], a.v);
		_exit(127);
	}
	s = monitor(p.monitor, pid);
	expect(s, "\"QMP\"");
	say(s, "{\"execute\":\"qmp_capabilities\"}\n");
	expect(s, "\"return\"");
	say(s, "{\"execute\":\"query-chardev\"}\n");
	expect(s, "\"share0\"");
	say(s, "{\"execute\":\"query-name\"}\n");
	expect(s, "coppice-0123456789ab");
	say(s, "{\"execute\":\"query-status\"}\n");
	expect(s, "\"prelaunch\"");
	say(s, "{\"execute\":\"quit\"}\n");
	ATF_CHECK(waitpid(pid, &status, 0) == pid);
	ATF_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	close(s);
	close(share);
	vm_args_free(&a);
	place_remove(&p);
}

ATF_TC(q35);
ATF_TC_HEAD(q35, tc)
{

	atf_tc_set_md_var(tc, "require.progs", "qemu-system-x86_64");
}
ATF_TC_BODY(q35, tc)
{

	try(VM_MACHINE_PCI);
}

ATF_TC(microvm);
ATF_TC_HEAD(microvm, tc)
{

	atf_tc_set_md_var(tc, "require.progs", "qemu-system-x86_64");
}
ATF_TC_BODY(microvm, tc)
{

	try(VM_MACHINE_MICROVM);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, q35);
	ATF_TP_ADD_TC(tp, microvm);
	return (atf_no_error());
}
