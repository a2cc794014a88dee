/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A control client that means no good: whatever it sends, and whatever it
 * does not take, the server answers the others.
 */

#include <sys/socket.h>
#include <sys/stat.h>

#include <atf-c.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"
#include "ctl.h"

#include "daemon.h"

static void
still_there(void)
{
	struct ctl *c;

	c = daemon_connect();
	nvlist_destroy(daemon_ask(c, daemon_request("stats"), 0));
	ctl_free(c);
}

static uint64_t
server_pid(void)
{
	struct ctl *c;
	nvlist_t *nv;
	uint64_t pid;

	c = daemon_connect();
	nv = daemon_ask(c, daemon_request("stats"), 0);
	pid = nvlist_get_number(nv, "pid");
	nvlist_destroy(nv);
	ctl_free(c);
	return (pid);
}

/* How many descriptors the server has; -1 where that can't be told. */
static int
count_fds(uint64_t pid)
{
	char path[64];
	DIR *d;
	int n;

	(void)snprintf(path, sizeof(path), "/proc/%ju/fd", (uintmax_t)pid);
	if ((d = opendir(path)) == NULL)
		return (-1);
	for (n = 0; readdir(d) != NULL; n++)
		;
	(void)closedir(d);
	return (n);
}

/* The connection must be ended by the other side, soon. */
static void
dropped(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char buf[4096];
	ssize_t n;

	do {
		ATF_REQUIRE_MSG(poll(&p, 1, 10000) == 1, "not dropped");
		n = read(fd, buf, sizeof(buf));
	} while (n > 0);
	(void)close(fd);
}

static void
frame(int fd, uint32_t len, const void *data, size_t size)
{
	uint8_t head[4] = { (uint8_t)len, (uint8_t)(len >> 8),
	    (uint8_t)(len >> 16), (uint8_t)(len >> 24) };

	(void)send(fd, head, 4, MSG_NOSIGNAL);
	(void)send(fd, data, size, MSG_NOSIGNAL);
}

ATF_TC_WITH_CLEANUP(garbage);
ATF_TC_HEAD(garbage, tc)
{

	atf_tc_set_md_var(tc, "descr", "bytes that are no message");
}
ATF_TC_BODY(garbage, tc)
{
	uint8_t buf[4096];
	unsigned int i, k;
	int fd;

	daemon_start("9p:unix:9p", -1);
	for (i = 0; i < 50; i++) {
		srandom(i);
		for (k = 0; k < sizeof(buf); k++)
			buf[k] = (uint8_t)random();
		fd = daemon_dial("sock", 0);
		if (i % 2 == 0)
			(void)send(fd, buf, sizeof(buf), MSG_NOSIGNAL);
		else
			frame(fd, sizeof(buf), buf, sizeof(buf));
		(void)shutdown(fd, SHUT_WR);
		dropped(fd);
	}
	fd = daemon_dial("sock", 0);
	frame(fd, UINT32_MAX, buf, sizeof(buf));
	dropped(fd);
	fd = daemon_dial("sock", 0);
	frame(fd, CTL_MAX_MESSAGE + 1, buf, 16);
	dropped(fd);
	/* Half a frame keeps nobody waiting. */
	fd = daemon_dial("sock", 0);
	frame(fd, 1000, buf, 10);
	still_there();
	(void)close(fd);
	still_there();
	daemon_end();
}
ATF_TC_CLEANUP(garbage, tc)
{

	daemon_kill();
}

/* Messages of the right form with the wrong things in them. */
ATF_TC_WITH_CLEANUP(arguments);
ATF_TC_HEAD(arguments, tc)
{

	atf_tc_set_md_var(tc, "descr", "requests that make no sense");
}
ATF_TC_BODY(arguments, tc)
{
	static const char *const needs_id[] = { "step.begin",
	    "step.complete", "step.abandon", "changes", "diff" };
	char *paths[5000];
	struct ctl *c;
	nvlist_t *nv;
	size_t i;

	daemon_start("9p:unix:9p", -1);
	c = daemon_connect();
	nv = nvlist_create(0);
	(void)daemon_ask(c, nv, CO_EPROTO_UNKNOWN);
	(void)daemon_ask(c, daemon_request("rm -rf"), CO_EPROTO_UNKNOWN);
	nv = nvlist_create(0);
	nvlist_add_number(nv, "op", 1);
	(void)daemon_ask(c, nv, CO_EPROTO_UNKNOWN);
	for (i = 0; i < sizeof(needs_id) / sizeof(needs_id[0]); i++) {
		(void)daemon_ask(c, daemon_request(needs_id[i]),
		    CO_EPROTO_ARGUMENT);
		nv = daemon_request(needs_id[i]);
		nvlist_add_string(nv, "id", "1");
		(void)daemon_ask(c, nv, CO_EPROTO_ARGUMENT);
	}
	nv = daemon_request("step.begin");
	nvlist_add_number(nv, "id", (uint64_t)-5);
	(void)daemon_ask(c, nv, CO_EPROTO_ARGUMENT);
	nv = daemon_request("undo");
	nvlist_add_number(nv, "n", 0);
	(void)daemon_ask(c, nv, CO_EPROTO_ARGUMENT);
	nv = daemon_request("undo");
	nvlist_add_number(nv, "n", UINT64_MAX);
	(void)daemon_ask(c, nv, CO_EPROTO_ARGUMENT);
	nv = daemon_request("limits");
	nvlist_add_number(nv, "max_step_count", UINT64_MAX);
	(void)daemon_ask(c, nv, CO_EPROTO_ARGUMENT);
	nv = daemon_request("safeguard.set");
	nvlist_add_number(nv, "deletes", UINT64_MAX);
	(void)daemon_ask(c, nv, CO_EPROTO_ARGUMENT);
	nv = daemon_request("safeguard.answer");
	nvlist_add_string(nv, "id", "nonsense");
	nvlist_add_bool(nv, "allow", true);
	(void)daemon_ask(c, nv, CO_ESAFEGUARD_UNKNOWN);
	for (i = 0; i < 5000; i++)
		ATF_REQUIRE((paths[i] = strdup("p")) != NULL);
	nv = daemon_request("barrier");
	nvlist_add_string_array(nv, "paths", (const char *const *)paths,
	    5000);
	(void)daemon_ask(c, nv, CO_EPROTO_ARGUMENT);
	for (i = 0; i < 5000; i++)
		free(paths[i]);
	ctl_free(c);
	daemon_end();
}
ATF_TC_CLEANUP(arguments, tc)
{

	daemon_kill();
}

/* Descriptors that nobody asked for are closed. */
ATF_TC_WITH_CLEANUP(descriptors);
ATF_TC_HEAD(descriptors, tc)
{

	atf_tc_set_md_var(tc, "descr", "no descriptor is left");
}
ATF_TC_BODY(descriptors, tc)
{
	int before, fds[CTL_MAX_FDS], i, k;
	struct co_error e;
	struct pollfd p;
	struct ctl *c;
	uint64_t pid;
	nvlist_t *nv;

	daemon_start("9p:unix:9p", -1);
	pid = server_pid();
	if ((before = count_fds(pid)) == -1)
		atf_tc_skip("this system does not tell");
	for (k = 0; k < CTL_MAX_FDS; k++)
		ATF_REQUIRE((fds[k] = open("/dev/null", O_RDWR)) != -1);
	c = daemon_connect();
	for (i = 0; i < 200; i++) {
		nv = daemon_request(i % 2 == 0 ? "stats" : "nothing");
		nvlist_add_number(nv, "req", ctl_number(c));
		while (ctl_send(c, nv, fds, CTL_MAX_FDS, &e) == -1)
			ATF_REQUIRE_EQ(CO_ESYS_NOSPACE, e.code);
		nvlist_destroy(nv);
		p = (struct pollfd){ .fd = ctl_fd(c), .events = POLLOUT };
		ATF_REQUIRE(poll(&p, 1, 10000) == 1);
		ATF_REQUIRE(ctl_dispatch(c, 0, NULL, NULL, &e) == 0);
	}
	ctl_free(c);
	for (i = 0; i < 50 && count_fds(pid) > before; i++)
		(void)usleep(100000);
	/* Less, if a connection that asked before was not yet let go of. */
	ATF_CHECK_MSG(count_fds(pid) <= before, "%d before, %d after",
	    before, count_fds(pid));
	daemon_end();
}
ATF_TC_CLEANUP(descriptors, tc)
{

	daemon_kill();
}

/* Many connections, and one that never reads, keep nobody else waiting. */
ATF_TC_WITH_CLEANUP(crowd);
ATF_TC_HEAD(crowd, tc)
{

	atf_tc_set_md_var(tc, "descr", "connections, and requests, en masse");
}
ATF_TC_BODY(crowd, tc)
{
	struct ctl *deaf, *other;
	struct co_error e;
	int fds[100], i;
	nvlist_t *nv;

	daemon_start("9p:unix:9p", -1);
	other = daemon_connect();
	nvlist_destroy(daemon_ask(other, daemon_request("stats"), 0));
	deaf = daemon_connect();
	for (i = 0; i < 20000; i++) {
		nv = daemon_request(i % 3 == 0 ? "history" : "stats");
		nvlist_add_number(nv, "req", (uint64_t)i + 1);
		if (ctl_send(deaf, nv, NULL, 0, &e) == -1)
			i = 20000;
		nvlist_destroy(nv);
		if (i % 100 == 0 && ctl_dispatch(deaf, 0, NULL, NULL,
		    &e) == -1)
			break;
	}
	nvlist_destroy(daemon_ask(other, daemon_request("stats"), 0));
	for (i = 0; i < 100; i++)
		fds[i] = daemon_dial("sock", 0);
	nvlist_destroy(daemon_ask(other, daemon_request("history"), 0));
	for (i = 0; i < 100; i++)
		(void)close(fds[i]);
	nvlist_destroy(daemon_ask(other, daemon_request("stats"), 0));
	ctl_free(deaf);
	(void)usleep(300000);
	still_there();
	ctl_free(other);
	daemon_end();
}
ATF_TC_CLEANUP(crowd, tc)
{

	daemon_kill();
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, garbage);
	ATF_TP_ADD_TC(tp, arguments);
	ATF_TP_ADD_TC(tp, descriptors);
	ATF_TP_ADD_TC(tp, crowd);
	return (atf_no_error());
}
