/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Greedy sandboxes: what takes all of something takes it from its own
 * sandbox only.  Beside each there is another one, and the host, that go on
 * as before.
 */

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ns_box.h"

#define	MB	(1024ULL * 1024)

static struct box box, neighbour;

static struct sandbox_usage
usage(struct box *b)
{
	struct sandbox_usage u;

	ATF_REQUIRE_EQ(0, backend_ns.usage(&b->spec, &b->run, &u, &b->e));
	return (u);
}

static void
begin(struct sandbox_limits l)
{

	box_init(&neighbour);
	box_start(&neighbour);
	box_init(&box);
	box.spec.limits = l;
	box_start(&box);
}

/* The neighbour is well, the greedy one can be ended. */
static void
end(void)
{

	ATF_CHECK_STREQ("fine", box_sh(&neighbour, "(echo fine | cat)"));
	ATF_CHECK_STREQ("4194304", box_sh(&neighbour,
	    "dd if=/dev/zero of=/root/m bs=1M count=4 2>/dev/null; "
	    "stat -c %s /root/m"));
	box_stop(&neighbour);
	box_stop(&box);
	box_remove(&box);
	box_gone(&box);
}

/* Run it for a while; it need not end by itself. */
static struct run *
unleash(const char *command, int ms)
{
	co_moment until = co_after(ms);
	struct run *r;

	r = client_exec(&box.client, (struct shim_exec){
	    .command = command });
	while (!r->done && !box.client.lost && co_left(until) > 0)
		client_poll(&box.client, 50);
	return (r);
}

BOX_TC(fork_bomb, "no more processes than it may have")
{
	co_moment until = co_after(60000);
	uint64_t most = 0, n;
	int more = 20;

	begin((struct sandbox_limits){ .procs = 30 });
	/* Whoever cannot fork ends; what it made stays. */
	client_exec(&box.client, (struct shim_exec){ .command =
	    "(while :; do sleep 100 & done) 2>/dev/null; exec sleep 100" });
	while (more > 0 && co_left(until) > 0) {
		client_poll(&box.client, 50);
		n = usage(&box).procs;
		most = n > most ? n : most;
		more -= most > 25;
	}
	ATF_CHECK_MSG(most > 25 && most <= 30, "%d processes", (int)most);
	end();
}

BOX_TC(memory_hog, "no more memory than it may have")
{
	struct sandbox_usage u;
	struct run *r;

	begin((struct sandbox_limits){ .memory = 32 * MB });
	r = unleash("dd if=/dev/zero of=/dev/null bs=256M count=1; echo $?",
	    60000);
	u = usage(&box);
	ATF_CHECK(r->done);
	ATF_CHECK_MSG(u.oom_kills > 0, "%d kills", (int)u.oom_kills);
	ATF_CHECK(u.memory_peak <= 33 * MB);
	/* It goes on. */
	ATF_CHECK_STREQ("alive", box_sh(&box, "echo alive"));
	end();
}

BOX_TC(tmpfs_hog, "what is in memory file systems counts as memory")
{

	begin((struct sandbox_limits){ .memory = 64 * MB });
	unleash("for d in /dev/shm /run /dev; do "
	    "dd if=/dev/zero of=$d/x bs=1M count=200 2>/dev/null; done",
	    60000);
	ATF_CHECK(usage(&box).memory_peak <= 65 * MB);
	end();
}

BOX_TC(fd_hog, "no more open files than it may have")
{

	begin((struct sandbox_limits){ .files = 64 });
	ATF_CHECK_STREQ("64", box_sh(&box, "ulimit -n"));
	ATF_CHECK_STREQ("no", box_sh(&box,
	    "ulimit -n 65 2>/dev/null || echo no"));
	ATF_CHECK_STREQ("no", box_sh(&box,
	    "(exec 70</dev/null) 2>/dev/null || echo no"));
	end();
}

BOX_TC(disk_filler, "no more on disk than it may have")
{
	struct statvfs before, after;
	struct sandbox_usage u;
	uint64_t used;

	ATF_REQUIRE_EQ(0, statvfs(".", &before));
	begin((struct sandbox_limits){ .disk = 24 * MB });
	unleash("dd if=/dev/zero of=/root/big bs=1M count=400 2>/dev/null; "
	    "i=0; while test $i -lt 50; do dd if=/dev/zero of=/tmp/$i "
	    "bs=1M count=4 2>/dev/null; i=$((i+1)); done; sync", 120000);
	u = usage(&box);
	ATF_CHECK_MSG(u.disk > 16 * MB && u.disk <= 25 * MB,
	    "%ju bytes on disk", (uintmax_t)u.disk);
	ATF_REQUIRE_EQ(0, statvfs(".", &after));
	used = (uint64_t)(before.f_bfree - after.f_bfree) * before.f_frsize;
	/* Others write here too; but nobody 400 MB. */
	ATF_CHECK_MSG((int64_t)used < (int64_t)(300 * MB), "%ju bytes",
	    (uintmax_t)used);
	/* Room that is freed is room again. */
	ATF_CHECK_STREQ("0", box_sh(&box, "rm -f /root/big /tmp/*; "
	    "dd if=/dev/zero of=/root/x bs=1M count=8 2>/dev/null; echo $?"));
	box_stop(&box);
	/* It is all there after a restart. */
	ATF_REQUIRE_EQ_MSG(0, box_try(&box), "%s", box.e.message);
	box_connect(&box);
	ATF_CHECK_STREQ("8388608", box_sh(&box, "stat -c %s /root/x"));
	end();
}

BOX_TC(inode_filler, "no more files than fit")
{

	begin((struct sandbox_limits){ .disk = 8 * MB });
	unleash("cd /tmp; i=0; while : > $i; do i=$((i+1)); "
	    "test $i -lt 50000 || break; done 2>/dev/null", 120000);
	ATF_CHECK(usage(&box).disk <= 9 * MB);
	end();
}

BOX_TC(cpu_hog, "no more of a processor than it may have")
{
	uint64_t before, after;
	co_moment start;
	int64_t ms;

	begin((struct sandbox_limits){ .cpu = 200 });
	unleash("while :; do :; done & while :; do :; done", 500);
	before = usage(&box).cpu_us;
	start = co_now();
	unleash("sleep 2", 2000);
	after = usage(&box).cpu_us;
	ms = (co_now() - start) / 1000000;
	ATF_CHECK_MSG((int64_t)(after - before) / 1000 < ms * 35 / 100,
	    "%ju us in %jd ms", (uintmax_t)(after - before), (intmax_t)ms);
	end();
}

BOX_TC(change, "limits of what runs are changed, and taken away")
{

	begin((struct sandbox_limits){ .procs = 5 });
	ATF_CHECK_STREQ("no", box_sh(&box,
	    "(sleep 1 & sleep 1 & sleep 1 & sleep 1 & sleep 1 & sleep 1 &) "
	    "2>/dev/null; echo no"));
	box.spec.limits.procs = 0;
	box.spec.limits.memory = 64 * MB;
	ATF_REQUIRE_EQ_MSG(0, backend_ns.limit(&box.spec, &box.run, &box.e),
	    "%s", box.e.message);
	ATF_CHECK_STREQ("yes", box_sh(&box,
	    "sleep 1 & sleep 1 & sleep 1 & sleep 1 & sleep 1 & sleep 1 & "
	    "echo yes"));
	box.spec.limits.memory = 128 * MB;
	ATF_REQUIRE_EQ_MSG(0, backend_ns.limit(&box.spec, &box.run, &box.e),
	    "%s", box.e.message);
	box.spec.limits.memory = 32 * MB;
	ATF_REQUIRE_EQ_MSG(0, backend_ns.limit(&box.spec, &box.run, &box.e),
	    "%s", box.e.message);
	end();
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, fork_bomb);
	ATF_TP_ADD_TC(tp, memory_hog);
	ATF_TP_ADD_TC(tp, tmpfs_hog);
	ATF_TP_ADD_TC(tp, fd_hog);
	ATF_TP_ADD_TC(tp, disk_filler);
	ATF_TP_ADD_TC(tp, inode_filler);
	ATF_TP_ADD_TC(tp, cpu_hog);
	ATF_TP_ADD_TC(tp, change);
	return (atf_no_error());
}
