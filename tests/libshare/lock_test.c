/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Locks: against a model, against processes of the host, and the waits.
 */

#include <sys/file.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fixture.h"

#define	BYTES	40
#define	OWNERS	4

static struct share_file *
open_file(struct fixture *f, struct share_node *n)
{
	struct share_file *file;

	REQUIRE_ERR(0, share_file_open(f->s, &as_root, n,
	    SHARE_O_READ | SHARE_O_WRITE, &file));
	return (file);
}

static int
set(struct fixture *f, struct share_file *file, uint64_t owner,
    enum share_lock_type type, uint64_t start, uint64_t end)
{
	struct share_lock l = { .type = type, .start = start, .end = end };

	return (share_lock(f->s, file, owner, &l, NULL));
}

#ifdef F_OFD_SETLK
#define	HOST_SEES	true

/* May a process of the host have this byte? */
static bool
host_may(const char *path, short type, off_t at)
{
	struct flock fl;
	int fd;

	memset(&fl, 0, sizeof(fl));
	fl.l_type = type;
	fl.l_whence = SEEK_SET;
	fl.l_start = at;
	fl.l_len = 1;
	ATF_REQUIRE((fd = open(path, O_RDWR)) != -1);
	ATF_REQUIRE(fcntl(fd, F_OFD_GETLK, &fl) == 0);
	(void)close(fd);
	return (fl.l_type == F_UNLCK);
}

static void
host_lock(int fd, off_t start, off_t len)
{
	struct flock fl;

	memset(&fl, 0, sizeof(fl));
	fl.l_type = F_WRLCK;
	fl.l_whence = SEEK_SET;
	fl.l_start = start;
	fl.l_len = len;
	ATF_REQUIRE(fcntl(fd, F_OFD_SETLK, &fl) == 0);
}
#else
/* No record lock of the client's is seen by the host, nor its by ours. */
#define	HOST_SEES	false

static bool
host_may(const char *path, short type, off_t at)
{

	(void)path;
	(void)type;
	(void)at;
	return (true);
}

static void
host_lock(int fd, off_t start, off_t len)
{

	(void)fd;
	(void)start;
	(void)len;
}
#endif

/* Random locks, compared byte by byte with an array of what each has. */
ATF_TC_WITHOUT_HEAD(model);
ATF_TC_BODY(model, tc)
{
	enum share_lock_type has[OWNERS][BYTES] = { 0 }, type;
	struct share_file *file[OWNERS];
	unsigned int i, k, o, x = 1;
	uint64_t b, end, start;
	struct share_stats st;
	struct share_node *n;
	struct share_lock l;
	struct fixture f;
	bool free_, rd, wr;
	int error;

	fixture_open(&f, NULL, NULL);
	n = put(&f, f.root, "a", "x");
	for (k = 0; k < OWNERS; k++)
		file[k] = open_file(&f, n);
	for (i = 0; i < 3000; i++) {
		x = x * 1103515245 + 12345;
		o = x >> 8 & 3;
		type = (enum share_lock_type)((x >> 12) % 3);
		start = (x >> 16) % BYTES;
		end = start + (x >> 22) % (BYTES - start);
		free_ = true;
		for (k = 0; k < OWNERS && type != SHARE_UNLOCK; k++)
			for (b = start; b <= end && k != o; b++)
				if (has[k][b] != SHARE_UNLOCK &&
				    (has[k][b] == SHARE_WRLOCK ||
				    type == SHARE_WRLOCK))
					free_ = false;
		error = set(&f, file[o], o, type, start, end);
		ATF_REQUIRE_MSG(error == (free_ ? 0 : EAGAIN),
		    "step %u: %d", i, error);
		for (b = start; b <= end && free_; b++)
			has[o][b] = type;
		if (i % 10 != 0)
			continue;
		/* What the host sees is the strongest of all. */
		b = (x >> 5) % BYTES;
		for (rd = wr = true, k = 0; k < OWNERS; k++) {
			rd &= has[k][b] != SHARE_WRLOCK;
			wr &= has[k][b] == SHARE_UNLOCK;
		}
		ATF_REQUIRE_EQ(rd || !HOST_SEES,
		    host_may("in/a", F_RDLCK, (off_t)b));
		ATF_REQUIRE_EQ(wr || !HOST_SEES,
		    host_may("in/a", F_WRLCK, (off_t)b));
		l.type = SHARE_WRLOCK;
		l.start = l.end = b;
		REQUIRE_ERR(0, share_getlock(f.s, file[o], o, &l));
		for (free_ = true, k = 0; k < OWNERS; k++)
			free_ &= k == o || has[k][b] == SHARE_UNLOCK;
		ATF_REQUIRE_EQ(free_, l.type == SHARE_UNLOCK);
	}
	for (k = 0; k < OWNERS; k++)
		share_file_close(f.s, file[k]);
	share_stats(f.s, &st);
	ATF_CHECK_EQ(0, st.locks);
	ATF_CHECK(host_may("in/a", F_WRLCK, 0));
	share_put(f.s, n);
	fixture_close(&f);
}

ATF_TC_WITHOUT_HEAD(host_process);
ATF_TC_BODY(host_process, tc)
{
	struct share_file *file;
	struct share_node *n;
	struct share_lock l = { .type = SHARE_RDLOCK, .end = UINT64_MAX };
	struct fixture f;
	int fd;

	fixture_open(&f, NULL, NULL);
	n = put(&f, f.root, "a", "x");
	file = open_file(&f, n);
	ATF_REQUIRE((fd = open("in/a", O_RDWR)) != -1);
	host_lock(fd, 5, 5);
	REQUIRE_ERR(HOST_SEES ? EAGAIN : 0, set(&f, file, 1, SHARE_RDLOCK, 0,
	    100));
	REQUIRE_ERR(0, set(&f, file, 1, SHARE_WRLOCK, 20, 30));
	REQUIRE_ERR(0, share_getlock(f.s, file, 1, &l));
	ATF_CHECK(l.type == SHARE_UNLOCK ? !HOST_SEES :
	    l.type == SHARE_WRLOCK && l.start == 5 && l.end == 9);
	ATF_REQUIRE(flock(fd, LOCK_SH) == 0);
	REQUIRE_ERR(0, share_flock(f.s, file, 1, SHARE_RDLOCK, NULL));
	REQUIRE_ERR(EWOULDBLOCK, share_flock(f.s, file, 1, SHARE_WRLOCK,
	    NULL));
	(void)close(fd);
	REQUIRE_ERR(0, set(&f, file, 1, SHARE_RDLOCK, 0, 100));
	REQUIRE_ERR(0, share_flock(f.s, file, 1, SHARE_WRLOCK, NULL));
	ATF_REQUIRE((fd = open("in/a", O_RDWR)) != -1);
	ATF_CHECK(flock(fd, LOCK_SH | LOCK_NB) == -1);
	share_file_close(f.s, file);
	ATF_CHECK(flock(fd, LOCK_EX | LOCK_NB) == 0);
	(void)close(fd);
	share_put(f.s, n);
	fixture_close(&f);
}

/*
 * Waits.
 */
struct waiting {
	struct fixture		*f;
	struct share_file	*file;
	uint64_t		 owner;
	uint64_t		 at;
	bool			 flock;
	struct share_wait	 wait;
	int			 error;
};

static void *
wait_lock(void *arg)
{
	struct waiting *w = arg;
	struct share_lock l = { .type = SHARE_WRLOCK, .start = w->at,
	    .end = w->at };

	w->error = w->flock ? share_flock(w->f->s, w->file, w->owner,
	    SHARE_WRLOCK, &w->wait) : share_lock(w->f->s, w->file, w->owner,
	    &l, &w->wait);
	return (NULL);
}

static void
await_waiters(struct fixture *f, uint64_t n)
{
	struct timespec ts = { 0, 1000000 };
	struct share_stats st;
	int i;

	for (i = 0; i < 10000; i++) {
		share_stats(f->s, &st);
		if (st.waiters >= n)
			return;
		(void)nanosleep(&ts, NULL);
	}
	atf_tc_fail("nobody waits");
}

static void
waits(bool flocks)
{
	struct share_file *a, *b;
	struct share_node *n;
	struct waiting w;
	struct fixture f;
	pthread_t t;

	fixture_open(&f, NULL, NULL);
	n = put(&f, f.root, "a", "x");
	a = open_file(&f, n);
	b = open_file(&f, n);
	REQUIRE_ERR(0, flocks ? share_flock(f.s, a, 1, SHARE_WRLOCK, NULL) :
	    set(&f, a, 1, SHARE_WRLOCK, 0, 10));

	/* Until the other lets go. */
	memset(&w, 0, sizeof(w));
	w = (struct waiting){ .f = &f, .file = b, .owner = 2,
	    .flock = flocks };
	ATF_REQUIRE(pthread_create(&t, NULL, wait_lock, &w) == 0);
	await_waiters(&f, 1);
	REQUIRE_ERR(0, flocks ? share_flock(f.s, a, 1, SHARE_UNLOCK, NULL) :
	    set(&f, a, 1, SHARE_UNLOCK, 0, 10));
	ATF_REQUIRE(pthread_join(t, NULL) == 0);
	REQUIRE_ERR(0, w.error);

	/* Until it is told not to. */
	w = (struct waiting){ .f = &f, .file = a, .owner = 1,
	    .flock = flocks };
	ATF_REQUIRE(pthread_create(&t, NULL, wait_lock, &w) == 0);
	await_waiters(&f, 1);
	share_cancel(f.s, &w.wait);
	ATF_REQUIRE(pthread_join(t, NULL) == 0);
	REQUIRE_ERR(EINTR, w.error);

	/* Told before it began. */
	w = (struct waiting){ .f = &f, .file = a, .owner = 1,
	    .flock = flocks };
	share_cancel(f.s, &w.wait);
	(void)wait_lock(&w);
	REQUIRE_ERR(EINTR, w.error);

	/* Until its own file is closed. */
	w = (struct waiting){ .f = &f, .file = a, .owner = 1,
	    .flock = flocks };
	ATF_REQUIRE(share_file_find(f.s, share_file_number(a)) == a);
	ATF_REQUIRE(pthread_create(&t, NULL, wait_lock, &w) == 0);
	await_waiters(&f, 1);
	share_file_close(f.s, a);
	share_cancel(f.s, &w.wait);
	ATF_REQUIRE(pthread_join(t, NULL) == 0);
	ATF_CHECK(w.error != 0);
	share_file_put(f.s, a);
	share_file_close(f.s, b);
	share_put(f.s, n);
	fixture_close(&f);
}

ATF_TC_WITHOUT_HEAD(record_waits);
ATF_TC_BODY(record_waits, tc)
{

	waits(false);
}

ATF_TC_WITHOUT_HEAD(flock_waits);
ATF_TC_BODY(flock_waits, tc)
{

	waits(true);
}

ATF_TC_WITHOUT_HEAD(deadlock);
ATF_TC_BODY(deadlock, tc)
{
	struct share_lock l = { .type = SHARE_WRLOCK, .start = 1, .end = 1 };
	struct share_wait none = { 0 };
	struct share_file *a, *b;
	struct share_node *n;
	struct waiting w;
	struct fixture f;
	pthread_t t;

	fixture_open(&f, NULL, NULL);
	n = put(&f, f.root, "a", "x");
	a = open_file(&f, n);
	b = open_file(&f, n);
	REQUIRE_ERR(0, set(&f, a, 1, SHARE_WRLOCK, 0, 0));
	REQUIRE_ERR(0, set(&f, b, 2, SHARE_WRLOCK, 1, 1));
	w = (struct waiting){ .f = &f, .file = b, .owner = 2, .at = 0 };
	ATF_REQUIRE(pthread_create(&t, NULL, wait_lock, &w) == 0);
	await_waiters(&f, 1);
	REQUIRE_ERR(EDEADLK, share_lock(f.s, a, 1, &l, &none));
	share_unlock_owner(f.s, a, 1);
	ATF_REQUIRE(pthread_join(t, NULL) == 0);
	REQUIRE_ERR(0, w.error);
	share_file_close(f.s, a);
	share_file_close(f.s, b);
	share_put(f.s, n);
	fixture_close(&f);
}

/* A process of the host lets go: found by asking again. */
ATF_TC_WITHOUT_HEAD(host_wait);
ATF_TC_BODY(host_wait, tc)
{
	struct timespec ts = { 0, 50000000 };
	struct share_node *n;
	struct waiting w;
	struct fixture f;
	pthread_t t;
	int fd;

	fixture_open(&f, NULL, NULL);
	n = put(&f, f.root, "a", "x");
	w = (struct waiting){ .f = &f, .file = open_file(&f, n), .owner = 2,
	    .flock = true };
	ATF_REQUIRE((fd = open("in/a", O_RDWR)) != -1);
	ATF_REQUIRE(flock(fd, LOCK_EX) == 0);
	ATF_REQUIRE(pthread_create(&t, NULL, wait_lock, &w) == 0);
	await_waiters(&f, 1);
	(void)nanosleep(&ts, NULL);
	(void)close(fd);
	ATF_REQUIRE(pthread_join(t, NULL) == 0);
	REQUIRE_ERR(0, w.error);
	share_file_close(f.s, w.file);
	share_put(f.s, n);
	fixture_close(&f);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, model);
	ATF_TP_ADD_TC(tp, host_process);
	ATF_TP_ADD_TC(tp, record_waits);
	ATF_TP_ADD_TC(tp, flock_waits);
	ATF_TP_ADD_TC(tp, deadlock);
	ATF_TP_ADD_TC(tp, host_wait);
	return (atf_no_error());
}
