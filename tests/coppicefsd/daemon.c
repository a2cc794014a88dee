/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Starting, asking and ending a coppicefsd.
 */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <netinet/in.h>

#include <arpa/inet.h>
#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"
#include "ctl.h"

#include "daemon.h"

static pid_t child = -1;

static void
run(const char *transport, int keep)
{
	int fd;

	fd = open("err", O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (fd == -1 || dup2(fd, STDERR_FILENO) == -1)
		_exit(99);
	if (keep != -1)
		(void)fcntl(keep, F_SETFD, 0);
	/* Who gave up all rights can't look for leaks of its own either. */
	(void)setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
	/* As much at once as the VMM of the tests has room for. */
	(void)execl(FSD, FSD, "-f", "-r", "tree", "-u", "store", "-c",
	    "sock", "-o", "iosize=64k", "-t", transport, (char *)NULL);
	_exit(98);
}

static void
note_pid(void)
{
	FILE *f;

	ATF_REQUIRE((f = fopen("pid", "w")) != NULL);
	(void)fprintf(f, "%d\n", (int)child);
	ATF_REQUIRE(fclose(f) == 0);
}

void
daemon_start(const char *transport, int keep)
{
	struct co_error e;
	struct ctl *c;
	nvlist_t *nv;
	int i;

	(void)mkdir("tree", 0755);
	ATF_REQUIRE((child = fork()) != -1);
	if (child == 0)
		run(transport, keep);
	note_pid();
	for (i = 0; i < 100; i++) {
		if (ctl_connect("sock", &c, &e) == 0) {
			nv = daemon_ask(c, daemon_request("stats"), 0);
			nvlist_destroy(nv);
			ctl_free(c);
			return;
		}
		ATF_REQUIRE_EQ(0, waitpid(child, NULL, WNOHANG));
		(void)usleep(100000);
	}
	atf_tc_fail("it does not answer");
}

int
daemon_wait(void)
{
	int status;

	ATF_REQUIRE_EQ(child, waitpid(child, &status, 0));
	(void)unlink("pid");
	return (WIFEXITED(status) ? WEXITSTATUS(status) :
	    128 + WTERMSIG(status));
}

void
daemon_end(void)
{

	ATF_REQUIRE(kill(child, SIGTERM) == 0);
	ATF_REQUIRE_EQ(0, daemon_wait());
}

void
daemon_kill(void)
{
	FILE *f;
	int pid;

	if ((f = fopen("pid", "r")) == NULL)
		return;
	if (fscanf(f, "%d", &pid) == 1 && pid > 1)
		(void)kill(pid, SIGKILL);
	(void)fclose(f);
}

struct ctl *
daemon_connect(void)
{
	struct co_error e;
	struct ctl *c;

	if (ctl_connect("sock", &c, &e) == -1)
		atf_tc_fail("%s", e.message);
	return (c);
}

nvlist_t *
daemon_request(const char *op)
{
	nvlist_t *nv;

	ATF_REQUIRE((nv = nvlist_create(0)) != NULL);
	nvlist_add_string(nv, "op", op);
	return (nv);
}

nvlist_t *
daemon_ask(struct ctl *c, nvlist_t *nv, int code)
{
	nvlist_t *answer = NULL;
	struct co_error e;
	int ret;

	ret = ctl_call(c, nv, NULL, NULL, co_after(20000), &answer, &e);
	nvlist_destroy(nv);
	if (code == 0) {
		if (ret == -1)
			atf_tc_fail("%d: %s", (int)e.code, e.message);
		ATF_REQUIRE(answer != NULL);
		return (answer);
	}
	ATF_REQUIRE_EQ_MSG(-1, ret, "%d was expected", code);
	ATF_CHECK_EQ_MSG(code, (int)e.code, "%d: %s", (int)e.code,
	    e.message);
	nvlist_destroy(answer);
	return (NULL);
}

int
daemon_dial(const char *path, int port)
{
	struct timeval minute = { .tv_sec = 60 };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct sockaddr_in in = { .sin_family = AF_INET };
	int fd;

	fd = socket(path != NULL ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
	ATF_REQUIRE(fd != -1);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &minute,
	    sizeof(minute));
	if (path != NULL) {
		(void)snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
		ATF_REQUIRE(connect(fd, (struct sockaddr *)&un,
		    sizeof(un)) == 0);
	} else {
		in.sin_port = htons((uint16_t)port);
		in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		ATF_REQUIRE(connect(fd, (struct sockaddr *)&in,
		    sizeof(in)) == 0);
	}
	return (fd);
}
