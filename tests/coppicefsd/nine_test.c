/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * coppicefsd's 9P transport: unix and TCP sockets and inherited descriptors,
 * undo below them, and what a client that wants out gets.
 */

#include <sys/socket.h>
#include <sys/stat.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "coppice.h"
#include "ctl.h"

#include "client.h"
#include "daemon.h"

#define	BUFFER	(P9_MSIZE_MAX + 65536)
#define	RACE_S	5

/* A connection to a server of another process. */
static void
join(struct client *c, int fd)
{

	memset(c, 0, sizeof(*c));
	c->fd = fd;
	c->out = malloc(BUFFER);
	c->in = malloc(BUFFER);
	ATF_REQUIRE(c->out != NULL && c->in != NULL);
	ATF_REQUIRE_EQ(0, c_version(c, P9_MSIZE_MAX, P9_VERSION));
	ATF_REQUIRE_EQ(0, c_attach(c, ROOT, 0, ""));
}

static void
leave(struct client *c)
{

	(void)close(c->fd);
	free(c->out);
	free(c->in);
}

static void
put_file(const char *path, const char *content)
{
	FILE *f;

	ATF_REQUIRE((f = fopen(path, "w")) != NULL);
	ATF_REQUIRE(fputs(content, f) >= 0);
	ATF_REQUIRE(fclose(f) == 0);
}

static void
check_file(const char *path, const char *content)
{

	if (content == NULL)
		ATF_CHECK_MSG(access(path, F_OK) == -1, "%s exists", path);
	else
		ATF_CHECK_MSG(atf_utils_compare_file(path, content),
		    "%s is not as it was", path);
}

static void
step(struct ctl *c, const char *op, int64_t id)
{
	nvlist_t *nv;

	nv = daemon_request(op);
	nvlist_add_number(nv, "id", (uint64_t)id);
	nvlist_destroy(daemon_ask(c, nv, 0));
}

ATF_TC_WITH_CLEANUP(unix_undo);
ATF_TC_HEAD(unix_undo, tc)
{

	atf_tc_set_md_var(tc, "descr", "a step over 9P, and back");
}
ATF_TC_BODY(unix_undo, tc)
{
	struct client c;
	struct ctl *ctl;
	uint32_t n = 3;

	ATF_REQUIRE(mkdir("tree", 0755) == 0);
	put_file("tree/written", "old content");
	put_file("tree/removed", "precious");
	daemon_start("9p:unix:9p", -1);
	ctl = daemon_connect();
	join(&c, daemon_dial("9p", 0));
	step(ctl, "step.begin", 1);
	must_open(&c, 1, "written", P9_O_RDWR);
	ATF_REQUIRE_EQ(0, c_write(&c, 1, 0, "NEW", &n));
	ATF_REQUIRE_EQ(0, c_unlink(&c, ROOT, "removed", 0));
	must_create(&c, 2, "created", "fresh");
	ATF_REQUIRE_EQ(0, c_mkdir(&c, ROOT, "dir", 0755));
	step(ctl, "step.complete", 1);
	check_file("tree/written", "NEW content");
	check_file("tree/removed", NULL);
	nvlist_destroy(daemon_ask(ctl, daemon_request("undo"), 0));
	check_file("tree/written", "old content");
	check_file("tree/removed", "precious");
	check_file("tree/created", NULL);
	check_file("tree/dir", NULL);
	/* The client sees it, with what it has open. */
	ATF_CHECK_EQ(L_ENOENT, c_walk(&c, ROOT, 5, "created", NULL));
	ATF_CHECK_EQ(0, c_walk(&c, ROOT, 6, "removed", NULL));
	nvlist_destroy(daemon_ask(ctl, daemon_request("redo"), 0));
	check_file("tree/written", "NEW content");
	check_file("tree/created", "fresh");
	leave(&c);
	ctl_free(ctl);
	daemon_end();
	check_file("9p", NULL);
	check_file("sock", NULL);
}
ATF_TC_CLEANUP(unix_undo, tc)
{

	daemon_kill();
}

/* Many at once, with locks between them. */
ATF_TC_WITH_CLEANUP(two_clients);
ATF_TC_HEAD(two_clients, tc)
{

	atf_tc_set_md_var(tc, "descr", "two clients of one folder");
}
ATF_TC_BODY(two_clients, tc)
{
	struct client a, b;
	struct ctl *ctl;
	nvlist_t *nv;
	uint8_t st;
	int i;

	daemon_start("9p:unix:9p", -1);
	join(&a, daemon_dial("9p", 0));
	join(&b, daemon_dial("9p", 0));
	must_create(&a, 1, "f", "of a");
	must_open(&b, 1, "f", P9_O_RDWR);
	ATF_REQUIRE_EQ(0, c_lock(&a, 1, P9_LOCK_WRLCK, 0, 0, 0, 1, &st));
	ATF_REQUIRE_EQ(P9_LOCK_SUCCESS, st);
	ATF_REQUIRE_EQ(0, c_lock(&b, 1, P9_LOCK_WRLCK, 0, 0, 0, 1, &st));
	ATF_CHECK_EQ(P9_LOCK_BLOCKED, st);
	ctl = daemon_connect();
	nv = daemon_ask(ctl, daemon_request("stats"), 0);
	ATF_CHECK_EQ(2, nvlist_get_number(nvlist_get_nvlist(nv, "9p"),
	    "clients"));
	nvlist_destroy(nv);
	/* One that is gone has no locks. */
	leave(&a);
	for (i = 0; i < 50; i++) {
		ATF_REQUIRE_EQ(0, c_lock(&b, 1, P9_LOCK_WRLCK, 0, 0, 0, 1,
		    &st));
		if (st == P9_LOCK_SUCCESS)
			break;
		(void)usleep(100000);
	}
	ATF_CHECK_EQ(P9_LOCK_SUCCESS, st);
	leave(&b);
	ctl_free(ctl);
	daemon_end();
}
ATF_TC_CLEANUP(two_clients, tc)
{

	daemon_kill();
}

ATF_TC_WITH_CLEANUP(tcp);
ATF_TC_HEAD(tcp, tc)
{

	atf_tc_set_md_var(tc, "descr", "a port of one address");
}
ATF_TC_BODY(tcp, tc)
{
	const char *address;
	struct client c;
	struct ctl *ctl;
	char buf[16];
	uint32_t n = sizeof(buf);
	nvlist_t *nv;
	int port;

	ATF_REQUIRE(mkdir("tree", 0755) == 0);
	put_file("tree/a", "over tcp");
	daemon_start("9p:tcp:127.0.0.1:0", -1);
	ctl = daemon_connect();
	nv = daemon_ask(ctl, daemon_request("stats"), 0);
	address = nvlist_get_string(nvlist_get_nvlist(nv, "9p"), "address");
	ATF_REQUIRE_EQ_MSG(1, sscanf(address, "tcp:127.0.0.1:%d", &port),
	    "%s", address);
	nvlist_destroy(nv);
	join(&c, daemon_dial(NULL, port));
	must_open(&c, 1, "a", P9_O_RDONLY);
	ATF_REQUIRE_EQ(0, c_read(&c, 1, 0, buf, &n));
	ATF_CHECK(n == 8 && memcmp(buf, "over tcp", 8) == 0);
	leave(&c);
	ctl_free(ctl);
	daemon_end();
}
ATF_TC_CLEANUP(tcp, tc)
{

	daemon_kill();
}

/* One connection, from whoever started it; it ends with it. */
ATF_TC_WITH_CLEANUP(inherited);
ATF_TC_HEAD(inherited, tc)
{

	atf_tc_set_md_var(tc, "descr", "a descriptor that was inherited");
}
ATF_TC_BODY(inherited, tc)
{
	char transport[32];
	struct client c;
	int sv[2];

	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == 0);
	(void)fcntl(sv[0], F_SETFD, FD_CLOEXEC);
	(void)snprintf(transport, sizeof(transport), "9p:fd:%d", sv[1]);
	daemon_start(transport, sv[1]);
	(void)close(sv[1]);
	join(&c, sv[0]);
	must_create(&c, 1, "f", "x");
	leave(&c);
	ATF_CHECK_EQ(0, daemon_wait());
	check_file("tree/f", "x");
	check_file("sock", NULL);
}
ATF_TC_CLEANUP(inherited, tc)
{

	daemon_kill();
}

/* A client that says what no kernel would. */
ATF_TC_WITH_CLEANUP(escape);
ATF_TC_HEAD(escape, tc)
{

	atf_tc_set_md_var(tc, "descr", "no name leads out of the folder");
}
ATF_TC_BODY(escape, tc)
{
	static const char *const links[] = { "../canary", "/etc/passwd",
	    "/proc/self/root", "..", "/" };
	struct stat before, after;
	struct p9_msg r;
	struct client c;
	char name[16];
	uint32_t fid = 10;
	size_t i;

	put_file("canary", "bird");
	ATF_REQUIRE(stat("canary", &before) == 0);
	daemon_start("9p:unix:9p", -1);
	join(&c, daemon_dial("9p", 0));
	for (i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		(void)snprintf(name, sizeof(name), "l%zu", i);
		ATF_REQUIRE_EQ(0, c_symlink(&c, ROOT, name, links[i]));
		ATF_REQUIRE_EQ(0, c_walk(&c, ROOT, fid, name, NULL));
		ATF_CHECK(c_open(&c, fid, P9_O_RDONLY) != 0);
		ATF_CHECK(c_walk(&c, fid, fid + 1, "x", NULL) != 0);
		ATF_CHECK(c_create(&c, fid, "x", P9_O_RDWR, 0600) != 0);
		ATF_CHECK(c_unlink(&c, fid, "canary", 0) != 0);
		ATF_REQUIRE_EQ(0, c_clunk(&c, fid));
	}
	/* The root's parent is the root. */
	ATF_REQUIRE_EQ(0, c_walk(&c, ROOT, 20, "..", NULL));
	ATF_CHECK_EQ(L_ENOENT, c_walk(&c, 20, 21, "canary", NULL));
	ATF_REQUIRE_EQ(0, c_getattr(&c, 20, P9_GETATTR_BASIC, &r));
	ATF_CHECK(c_unlink(&c, ROOT, "../canary", 0) != 0);
	ATF_CHECK(c_rename(&c, ROOT, "../canary", ROOT, "in") != 0);
	ATF_CHECK(c_mkdir(&c, ROOT, "../made", 0755) != 0);
	ATF_CHECK(c_symlink(&c, ROOT, "a/../../made", "x") != 0);
	leave(&c);
	daemon_end();
	ATF_REQUIRE(stat("canary", &after) == 0);
	ATF_CHECK_EQ(before.st_ctime, after.st_ctime);
	ATF_CHECK_EQ(before.st_atime, after.st_atime);
	check_file("made", NULL);
}
ATF_TC_CLEANUP(escape, tc)
{

	daemon_kill();
}

/* A directory of the folder becomes a link to the outside, and back. */
static _Atomic bool racing;

static void *
swap(void *arg)
{

	(void)arg;
	while (racing) {
		(void)rename("tree/d", "tree/d.old");
		(void)!symlink("../outside", "tree/d");
		(void)unlink("tree/d");
		(void)rename("tree/d.old", "tree/d");
	}
	return (NULL);
}

static void
race_once(struct client *c, unsigned int *met)
{
	char buf[16];
	uint32_t n = sizeof(buf), m = 6;

	if (c_walk(c, ROOT, 1, "d/file", NULL) == 0) {
		if (c_open(c, 1, P9_O_RDWR) == 0) {
			ATF_REQUIRE_EQ(0, c_read(c, 1, 0, buf, &n));
			ATF_REQUIRE_MSG(n == 6 && memcmp(buf, "inside",
			    6) == 0, "it read outside");
			ATF_REQUIRE_EQ(0, c_write(c, 1, 0, "inside", &m));
			(*met)++;
		}
		(void)c_clunk(c, 1);
	}
	if (c_walk(c, ROOT, 2, "d", NULL) == 0) {
		if (c_create(c, 2, "made", P9_O_RDWR, 0600) == 0) {
			(void)c_walk(c, ROOT, 3, "d", NULL);
			(void)c_unlink(c, 3, "made", 0);
			(void)c_clunk(c, 3);
		}
		(void)c_clunk(c, 2);
	}
}

ATF_TC_WITH_CLEANUP(race);
ATF_TC_HEAD(race, tc)
{

	atf_tc_set_md_var(tc, "descr", "links that come and go lead nowhere");
	atf_tc_set_md_var(tc, "timeout", "120");
}
ATF_TC_BODY(race, tc)
{
	unsigned int met = 0, rounds = 0;
	time_t end;
	struct client c;
	pthread_t t;

	ATF_REQUIRE(mkdir("tree", 0755) == 0);
	ATF_REQUIRE(mkdir("tree/d", 0755) == 0);
	ATF_REQUIRE(mkdir("outside", 0755) == 0);
	put_file("tree/d/file", "inside");
	put_file("outside/file", "outside");
	daemon_start("9p:unix:9p", -1);
	join(&c, daemon_dial("9p", 0));
	racing = true;
	ATF_REQUIRE(pthread_create(&t, NULL, swap, NULL) == 0);
	for (end = time(NULL) + RACE_S; time(NULL) < end; rounds++)
		race_once(&c, &met);
	racing = false;
	(void)pthread_join(t, NULL);
	ATF_CHECK_MSG(rounds > 200, "%u rounds", rounds);
	ATF_CHECK_MSG(met > 10, "it was met %u times", met);
	check_file("outside/file", "outside");
	check_file("outside/made", NULL);
	leave(&c);
	daemon_end();
}
ATF_TC_CLEANUP(race, tc)
{

	daemon_kill();
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, unix_undo);
	ATF_TP_ADD_TC(tp, two_clients);
	ATF_TP_ADD_TC(tp, tcp);
	ATF_TP_ADD_TC(tp, inherited);
	ATF_TP_ADD_TC(tp, escape);
	ATF_TP_ADD_TC(tp, race);
	return (atf_no_error());
}
