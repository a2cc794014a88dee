/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Ways out of the folder, tried: links that appear where a directory was,
 * mounts, magic links.  Beside the folder lies another whose files nobody
 * may reach; the checker looks at what was found, and at whether anything
 * was read or changed there.
 */

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fixture.h"
#include "watch.h"

#define	GUESTS	3

/* What is outside: a file and a directory with a file, by these names. */
static const char *const outside[] = { ".", "secret", "sub", "sub/secret" };
#define	NOUTSIDE	(sizeof(outside) / sizeof(outside[0]))

struct arena {
	struct fixture	 f;
	struct stat	 before[NOUTSIDE];
	_Atomic bool	 over;
	_Atomic uint64_t tries;
	_Atomic uint64_t reached;	/* must stay 0 */
};

static int
seconds(void)
{
	const char *s;

	s = getenv("ESCAPE_SECONDS");
	return (s != NULL ? atoi(s) : 3);
}

/* Old atimes, so that a read would be seen even with relatime. */
static void
arena_open(struct arena *a)
{
	struct timespec ts[2] = { { 1000, 0 }, { 2000, 0 } };
	size_t i;

	memset(a, 0, sizeof(*a));
	fixture_open(&a->f, NULL, NULL);
	host_file(a->f.out, "secret", "secret");
	ATF_REQUIRE(mkdirat(a->f.out, "sub", 0777) == 0);
	host_file(a->f.out, "sub/secret", "secret");
	ATF_REQUIRE(mkdirat(a->f.in, "d", 0777) == 0);
	ATF_REQUIRE(mkdirat(a->f.in, "d/sub", 0777) == 0);
	host_file(a->f.in, "d/secret", "mine");
	for (i = NOUTSIDE; i-- > 0;) {
		ATF_REQUIRE(utimensat(a->f.out, outside[i], ts, 0) == 0);
		ATF_REQUIRE(fstatat(a->f.out, outside[i], &a->before[i],
		    0) == 0);
	}
}

static void
arena_check(struct arena *a)
{
	struct stat st;
	size_t i;

	ATF_CHECK_EQ(0, atomic_load(&a->reached));
	ATF_CHECK(atomic_load(&a->tries) > 100);
	for (i = 0; i < NOUTSIDE; i++) {
		ATF_REQUIRE(fstatat(a->f.out, outside[i], &st, 0) == 0);
		ATF_CHECK_EQ(a->before[i].st_atim.tv_sec, st.st_atim.tv_sec);
		ATF_CHECK_EQ(a->before[i].st_mtim.tv_sec, st.st_mtim.tv_sec);
		ATF_CHECK_EQ(a->before[i].st_ctim.tv_sec, st.st_ctim.tv_sec);
		ATF_CHECK_EQ(a->before[i].st_ctim.tv_nsec,
		    st.st_ctim.tv_nsec);
		ATF_CHECK_EQ(a->before[i].st_nlink, st.st_nlink);
	}
}

static bool
is_outside(const struct arena *a, const struct share_attr *attr)
{
	size_t i;

	for (i = 0; i < NOUTSIDE; i++)
		if (a->before[i].st_ino == attr->ino)
			return (true);
	return (false);
}

/* Use what was found, in every way. */
static void
use(struct arena *a, struct share_node *d, unsigned int how)
{
	struct share_setattr set = { .set = SHARE_SET_MODE, .mode = 0700 };
	struct share *s = a->f.s;
	struct share_file *file;
	struct share_node *n;
	struct share_attr attr;
	char buf[64];
	size_t len;

	switch (how % 8) {
	case 0:
		if (share_create(s, &as_root, d, "new", SHARE_O_WRITE, 0644,
		    &n, &attr, &file) == 0) {
			share_file_close(s, file);
			share_put(s, n);
		}
		break;
	case 1:
		(void)share_unlink(s, &as_root, d, "secret");
		break;
	case 2:
		(void)share_rename(s, &as_root, d, "secret", a->f.root,
		    "stolen", 0);
		(void)share_rename(s, &as_root, a->f.root, "stolen", d,
		    "secret", 0);
		break;
	case 3:
		if (share_mkdir(s, &as_root, d, "made", 0755, &n,
		    &attr) == 0)
			share_put(s, n);
		(void)share_rmdir(s, &as_root, d, "made");
		break;
	case 4:
		(void)share_setattr(s, &as_root, d, NULL, &set, NULL);
		break;
	case 5:
		(void)share_setxattr(s, &as_root, d, "user.x", "y", 1, 0);
		break;
	default:
		if (share_lookup(s, &as_root, d, "secret", &n, &attr) != 0)
			break;
		if (is_outside(a, &attr))
			atomic_fetch_add(&a->reached, 1);
		if (share_file_open(s, &as_root, n, SHARE_O_READ |
		    SHARE_O_WRITE, &file) == 0) {
			if (share_read(s, file, buf, sizeof(buf), 0,
			    &len) == 0 && len == 6 &&
			    memcmp(buf, "secret", 6) == 0)
				atomic_fetch_add(&a->reached, 1);
			(void)share_write(s, file, "mine", 4, 0, 0, &len);
			share_file_close(s, file);
		}
		share_put(s, n);
	}
}

static void *
guest(void *arg)
{
	struct arena *a = arg;
	struct share_node *d, *sub;
	struct share_attr attr;
	unsigned int x;

	for (x = 1; !atomic_load(&a->over); x++) {
		atomic_fetch_add(&a->tries, 1);
		if (share_lookup(a->f.s, &as_root, a->f.root, "d", &d,
		    &attr) != 0)
			continue;
		if (is_outside(a, &attr))
			atomic_fetch_add(&a->reached, 1);
		use(a, d, x);
		if (share_lookup(a->f.s, &as_root, d, "sub", &sub,
		    &attr) == 0) {
			if (is_outside(a, &attr))
				atomic_fetch_add(&a->reached, 1);
			use(a, sub, x / 8);
			share_put(a->f.s, sub);
		}
		share_put(a->f.s, d);
	}
	return (NULL);
}

/* A directory and a link outwards change places, as fast as can be. */
static void
swap(int in)
{

	if (symlinkat("../out", in, "l") == -1)
		_exit(1);
	for (;;) {
		(void)renameat(in, "d", in, "x");
		(void)renameat(in, "l", in, "d");
		(void)renameat(in, "d", in, "l");
		(void)renameat(in, "x", in, "d");
		(void)renameat(in, "d/sub", in, "y");
		if (symlinkat("../../out/sub", in, "d/sub") == 0)
			(void)unlinkat(in, "d/sub", 0);
		(void)renameat(in, "y", in, "d/sub");
	}
}

ATF_TC_WITHOUT_HEAD(host_race);
ATF_TC_BODY(host_race, tc)
{
	struct watch *w;
	struct arena a;
	pthread_t t[GUESTS];
	pid_t pid;
	int i;

	arena_open(&a);
	w = watch_open("out", "out/sub");
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		(void)alarm((unsigned)seconds() + 30);
		swap(a.f.in);
	}
	for (i = 0; i < GUESTS; i++)
		ATF_REQUIRE(pthread_create(&t[i], NULL, guest, &a) == 0);
	(void)sleep((unsigned)seconds());
	atomic_store(&a.over, true);
	for (i = 0; i < GUESTS; i++)
		ATF_REQUIRE(pthread_join(t[i], NULL) == 0);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	ATF_CHECK_EQ(0, watch_events(w));
	arena_check(&a);
	fixture_close(&a.f);
}

/* The same by the guest itself: exchange a directory with a link. */
static void *
guest_swap(void *arg)
{
	struct arena *a = arg;
	struct share_node *n;
	struct share_attr attr;

	if (share_symlink(a->f.s, &as_root, a->f.root, "l", "../out", &n,
	    &attr) == 0)
		share_put(a->f.s, n);
	while (!atomic_load(&a->over)) {
		(void)share_rename(a->f.s, &as_root, a->f.root, "d",
		    a->f.root, "l", SHARE_EXCHANGE);
		(void)share_rename(a->f.s, &as_root, a->f.root, "l",
		    a->f.root, "x", 0);
		(void)share_rename(a->f.s, &as_root, a->f.root, "d",
		    a->f.root, "l", 0);
		(void)share_rename(a->f.s, &as_root, a->f.root, "x",
		    a->f.root, "d", 0);
	}
	return (NULL);
}

ATF_TC_WITHOUT_HEAD(guest_race);
ATF_TC_BODY(guest_race, tc)
{
	struct watch *w;
	struct arena a;
	pthread_t t[GUESTS + 1];
	int i;

	arena_open(&a);
	w = watch_open("out", "out/sub");
	ATF_REQUIRE(pthread_create(&t[GUESTS], NULL, guest_swap, &a) == 0);
	for (i = 0; i < GUESTS; i++)
		ATF_REQUIRE(pthread_create(&t[i], NULL, guest, &a) == 0);
	(void)sleep((unsigned)seconds());
	atomic_store(&a.over, true);
	for (i = 0; i <= GUESTS; i++)
		ATF_REQUIRE(pthread_join(t[i], NULL) == 0);
	ATF_CHECK_EQ(0, watch_events(w));
	arena_check(&a);
	fixture_close(&a.f);
}

/* A directory that the host moves out has no way up into what is there. */
ATF_TC_WITHOUT_HEAD(moved_out);
ATF_TC_BODY(moved_out, tc)
{
	struct share_attr attr;
	struct share_node *d, *n;
	struct arena a;

	arena_open(&a);
	d = find(&a.f, a.f.root, "d");
	ATF_REQUIRE(renameat(a.f.in, "d", a.f.out, "d") == 0);
	REQUIRE_ERR(0, share_lookup(a.f.s, &as_root, d, "..", &n, &attr));
	ATF_CHECK(n == a.f.root);
	share_put(a.f.s, n);
	share_put(a.f.s, d);
	REQUIRE_ERR(ENOENT, look(&a.f, a.f.root, "d"));
	fixture_close(&a.f);
}

#ifdef __linux__
ATF_TC_WITH_CLEANUP(mounts);
ATF_TC_HEAD(mounts, tc)
{
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(mounts, tc)
{
	struct share_options o = { .cross = true };
	struct share_node *m, *n, *self;
	struct share_file *file;
	struct share_attr a;
	struct share_dir *d;
	struct fixture f;

	fixture_open(&f, NULL, NULL);
	ATF_REQUIRE(mkdirat(f.in, "m", 0755) == 0);
	if (mount("proc", "in/m", "proc", 0, NULL) == -1)
		atf_tc_skip("cannot mount here");
	REQUIRE_ERR(EXDEV, look(&f, f.root, "m"));
	REQUIRE_ERR(EBUSY, share_rmdir(f.s, &as_root, f.root, "m"));
	REQUIRE_ERR(EBUSY, share_rename(f.s, &as_root, f.root, "m", f.root,
	    "x", 0));
	fixture_close(&f);

	/* Entered when allowed; its links are still only data. */
	fixture_open(&f, &o, NULL);
	REQUIRE_ERR(0, share_lookup(f.s, &as_root, f.root, "m", &m, &a));
	self = find(&f, m, "1");
	n = find(&f, self, "root");
	REQUIRE_ERR(ELOOP, share_file_open(f.s, &as_root, n, SHARE_O_READ,
	    &file));
	REQUIRE_ERR(ENOTDIR, share_opendir(f.s, &as_root, n, &d));
	REQUIRE_ERR(ENOTDIR, look(&f, n, "etc"));
	share_put(f.s, n);
	n = find(&f, self, "exe");
	REQUIRE_ERR(ELOOP, share_file_open(f.s, &as_root, n, SHARE_O_READ,
	    &file));
	share_put(f.s, n);
	share_put(f.s, self);
	share_put(f.s, m);
	fixture_close(&f);
}
ATF_TC_CLEANUP(mounts, tc)
{

	(void)umount2("in/m", MNT_DETACH);
}
#endif

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, host_race);
	ATF_TP_ADD_TC(tp, guest_race);
	ATF_TP_ADD_TC(tp, moved_out);
#ifdef __linux__
	ATF_TP_ADD_TC(tp, mounts);
#endif
	return (atf_no_error());
}
