/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Nodes: numbers, references, identity, names, and descriptors that come
 * and go.
 */

#include <sys/stat.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "share_internal.h"

#define	ROOT_ONLY	atf_tc_set_md_var(tc, "require.user", "root")

ATF_TC_WITHOUT_HEAD(numbers);
ATF_TC_BODY(numbers, tc)
{
	struct fixture f;
	struct share_node *a, *b;
	uint64_t first, i;

	fixture_open(&f, NULL, NULL);
	ATF_CHECK_EQ(1, share_number(f.root));
	a = put(&f, f.root, "a", "x");
	first = share_number(a);
	b = share_find(f.s, first);
	ATF_CHECK(a == b);
	share_put(f.s, b);
	share_put(f.s, a);
	ATF_CHECK(share_find(f.s, first) == NULL);

	/* Its slot is used again, the number is not. */
	a = put(&f, f.root, "b", "x");
	ATF_CHECK(share_number(a) != first);
	ATF_CHECK(share_find(f.s, first) == NULL);
	share_put(f.s, a);
	for (i = 0; i < 64; i++) {
		ATF_CHECK(share_find(f.s, UINT64_C(1) << i) == NULL ||
		    i == 0);
		ATF_CHECK(share_find(f.s, ~(UINT64_C(1) << i)) == NULL);
		ATF_CHECK(share_file_find(f.s, UINT64_C(1) << i) == NULL);
		ATF_CHECK(share_dir_find(f.s, ~UINT64_C(0) << i) == NULL);
	}
	share_put(f.s, share_find(f.s, 1));
	fixture_close(&f);
}

ATF_TC_WITHOUT_HEAD(forget);
ATF_TC_BODY(forget, tc)
{
	struct fixture f;
	struct share_node *n;
	uint64_t number;

	fixture_open(&f, NULL, NULL);
	n = put(&f, f.root, "a", "x");
	number = share_number(n);
	share_keep(n);
	n = find(&f, f.root, "a");
	share_keep(n);
	share_forget(f.s, number, 1);
	ATF_REQUIRE((n = share_find(f.s, number)) != NULL);

	/* A client that forgets more than it has takes only its own. */
	share_forget(f.s, number, UINT64_MAX);
	share_forget(f.s, number, UINT64_MAX);
	ATF_REQUIRE(share_find(f.s, number) == n);
	share_put(f.s, n);
	share_put(f.s, n);
	ATF_CHECK(share_find(f.s, number) == NULL);
	share_forget(f.s, 1, UINT64_MAX);
	share_forget(f.s, 12345, 1);
	ATF_CHECK(look(&f, f.root, "a") == 0);
	fixture_close(&f);
}

ATF_TC_WITHOUT_HEAD(identity);
ATF_TC_BODY(identity, tc)
{
	struct share_attr attr;
	struct share_node *a, *b;
	struct fixture f;

	fixture_open(&f, NULL, NULL);
	a = put(&f, f.root, "a", "x");
	REQUIRE_ERR(0, share_link(f.s, &as_root, a, f.root, "b", &attr));
	ATF_CHECK_EQ(2, attr.nlink);
	share_put(f.s, a);
	b = find(&f, f.root, "b");
	ATF_CHECK(a == b);
	share_put(f.s, b);

	/* A new file of the same name is another. */
	REQUIRE_ERR(0, share_unlink(f.s, &as_root, f.root, "a"));
	b = put(&f, f.root, "a", "y");
	ATF_CHECK(a != b);
	ATF_CHECK(holds(&f, a, "x"));
	ATF_CHECK(holds(&f, b, "y"));
	share_put(f.s, a);
	share_put(f.s, b);
	fixture_close(&f);
}

ATF_TC_WITHOUT_HEAD(paths);
ATF_TC_BODY(paths, tc)
{
	struct share_node *a, *d, *dir, *e;
	char name[SHARE_NAME_MAX + 1], path[SHARE_PATH_MAX];
	struct share_attr attr;
	struct fixture f;

	fixture_open(&f, NULL, NULL);
	REQUIRE_ERR(0, share_mkdir(f.s, &as_root, f.root, "d", 0755, &d,
	    &attr));
	REQUIRE_ERR(0, share_mkdir(f.s, &as_root, d, "e", 0755, &e, &attr));
	a = put(&f, e, "a", "x");
	REQUIRE_ERR(0, share_path(f.s, a, path, sizeof(path)));
	ATF_CHECK_STREQ("d/e/a", path);
	REQUIRE_ERR(0, share_path(f.s, f.root, path, sizeof(path)));
	ATF_CHECK_STREQ("", path);
	REQUIRE_ERR(ENAMETOOLONG, share_path(f.s, a, path, 5));

	/* What is below moves with a directory. */
	REQUIRE_ERR(0, share_rename(f.s, &as_root, f.root, "d", f.root,
	    "moved", 0));
	REQUIRE_ERR(0, share_path(f.s, a, path, sizeof(path)));
	ATF_CHECK_STREQ("moved/e/a", path);
	REQUIRE_ERR(0, share_rename(f.s, &as_root, e, "a", f.root, "z", 0));
	REQUIRE_ERR(0, share_path(f.s, a, path, sizeof(path)));
	ATF_CHECK_STREQ("z", path);

	/* Another name is found when the first one goes. */
	REQUIRE_ERR(0, share_link(f.s, &as_root, a, d, "y", &attr));
	share_put(f.s, a);
	REQUIRE_ERR(0, share_unlink(f.s, &as_root, d, "y"));
	REQUIRE_ERR(0, share_name(f.s, a, &dir, name));
	ATF_CHECK(dir == f.root);
	ATF_CHECK_STREQ("z", name);
	share_put(f.s, dir);
	REQUIRE_ERR(0, share_unlink(f.s, &as_root, f.root, "z"));
	REQUIRE_ERR(ENOENT, share_path(f.s, a, path, sizeof(path)));
	REQUIRE_ERR(ENOENT, share_name(f.s, f.root, &dir, name));

	/* Moved by the host, and seen there. */
	ATF_REQUIRE(renameat(f.in, "moved", f.in, "hosts") == 0);
	share_put(f.s, find(&f, f.root, "hosts"));
	REQUIRE_ERR(0, share_path(f.s, e, path, sizeof(path)));
	ATF_CHECK_STREQ("hosts/e", path);
	share_put(f.s, a);
	share_put(f.s, d);
	share_put(f.s, e);
	fixture_close(&f);
}

ATF_TC_WITHOUT_HEAD(exchange);
ATF_TC_BODY(exchange, tc)
{
	char path[SHARE_PATH_MAX];
	struct share_attr attr;
	struct share_node *a, *d;
	struct fixture f;
	int error;

	fixture_open(&f, NULL, NULL);
	REQUIRE_ERR(0, share_mkdir(f.s, &as_root, f.root, "d", 0755, &d,
	    &attr));
	a = put(&f, f.root, "a", "x");
	error = share_rename(f.s, &as_root, f.root, "a", f.root, "d",
	    SHARE_EXCHANGE);
	if (error == EINVAL)
		atf_tc_skip("nothing can be exchanged here");
	REQUIRE_ERR(0, error);
	REQUIRE_ERR(0, share_path(f.s, d, path, sizeof(path)));
	ATF_CHECK_STREQ("a", path);
	REQUIRE_ERR(0, share_path(f.s, a, path, sizeof(path)));
	ATF_CHECK_STREQ("d", path);
	REQUIRE_ERR(EINVAL, share_rename(f.s, &as_root, f.root, "a", f.root,
	    "d", 4));
	share_put(f.s, a);
	share_put(f.s, d);
	fixture_close(&f);
}

/* Many nodes, few descriptors: each is found again, moved or not. */
static void
come_and_go(struct fixture *f)
{
	struct share_node *d, *n[600];
	struct share_stats st;
	struct share_attr a;
	char name[32];
	int i;

	for (i = 0; i < 600; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		n[i] = put(f, f->root, name, name);
	}
	share_stats(f->s, &st);
	ATF_CHECK(st.nodes == 601);
	ATF_CHECK_MSG(st.fds <= 40, "%ju", (uintmax_t)st.fds);
	REQUIRE_ERR(0, share_mkdir(f->s, &as_root, f->root, "d", 0755, &d,
	    &a));
	for (i = 0; i < 600; i += 3) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		REQUIRE_ERR(0, share_rename(f->s, &as_root, f->root, name, d,
		    name, 0));
	}
	for (i = 1; i < 60; i += 3) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		REQUIRE_ERR(0, share_unlink(f->s, &as_root, f->root, name));
	}
	for (i = 0; i < 600; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		ATF_CHECK_MSG(holds(f, n[i], name), "%s", name);
	}
	share_stats(f->s, &st);
	ATF_CHECK(st.reopened > 500);
	for (i = 0; i < 600; i++)
		share_put(f->s, n[i]);
	share_put(f->s, d);
	share_stats(f->s, &st);
	ATF_CHECK_EQ(1, st.nodes);
	ATF_CHECK_EQ(1, st.fds);
}

ATF_TC_WITHOUT_HEAD(few_descriptors);
ATF_TC_BODY(few_descriptors, tc)
{
	struct share_options o = { .max_fds = 64 };
	struct fixture f;

	fixture_open(&f, &o, NULL);
	come_and_go(&f);
	fixture_close(&f);
}

ATF_TC(few_descriptors_unprivileged);
ATF_TC_HEAD(few_descriptors_unprivileged, tc)
{
	ROOT_ONLY;
}
ATF_TC_BODY(few_descriptors_unprivileged, tc)
{
	struct share_options o = { .max_fds = 64 };
	struct fixture f;
	int status;
	pid_t pid;

	ATF_REQUIRE(chmod(".", 0777) == 0);
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		if (setgid(65534) == -1 || setuid(65534) == -1)
			_exit(9);
		fixture_open(&f, &o, NULL);
		come_and_go(&f);
		fixture_close(&f);
		_exit(0);
	}
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	ATF_CHECK_EQ(0, status);
}

/* A node without descriptor whose object was replaced is nobody else's. */
ATF_TC_WITHOUT_HEAD(stale);
ATF_TC_BODY(stale, tc)
{
	struct share_options o = { .max_fds = 64 };
	struct share_node *a, *b, *n[200];
	struct share_file *file;
	struct share_attr attr;
	struct fixture f;
	char name[32];
	int error, i;

	fixture_open(&f, &o, NULL);
	a = put(&f, f.root, "a", "old");
	for (i = 0; i < 200; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		n[i] = put(&f, f.root, name, "");
	}
	ATF_REQUIRE(unlinkat(f.in, "a", 0) == 0);
	host_file(f.in, "a", "new");
	error = share_file_open(f.s, &as_root, a, SHARE_O_READ, &file);
	REQUIRE_ERR(ESTALE, error);
	REQUIRE_ERR(ESTALE, share_getattr(f.s, a, NULL, &attr));
	b = find(&f, f.root, "a");
	ATF_CHECK(a != b);
	ATF_CHECK(holds(&f, b, "new"));
	for (i = 0; i < 200; i++)
		share_put(f.s, n[i]);
	share_put(f.s, a);
	share_put(f.s, b);
	fixture_close(&f);
}

ATF_TC_WITHOUT_HEAD(too_many);
ATF_TC_BODY(too_many, tc)
{
	struct share_options o = { .max_fds = 64, .max_nodes = 10 };
	struct share_node *n[20];
	struct share_file *file[64];
	struct share_attr a;
	struct fixture f;
	char name[32];
	int error, i, k;

	fixture_open(&f, &o, NULL);
	error = 0;
	for (i = 0; i < 20; i++) {
		(void)snprintf(name, sizeof(name), "d%d", i);
		error = share_mkdir(f.s, &as_root, f.root, name, 0755, &n[i],
		    &a);
		if (error != 0)
			break;
	}
	REQUIRE_ERR(ENFILE, error);
	ATF_CHECK_EQ(9, i);
	while (i-- > 0)
		share_put(f.s, n[i]);
	n[0] = put(&f, f.root, "a", "x");
	for (k = 0; k < 64; k++)
		if ((error = share_file_open(f.s, &as_root, n[0],
		    SHARE_O_READ, &file[k])) != 0)
			break;
	REQUIRE_ERR(ENFILE, error);
	while (k-- > 0)
		share_file_close(f.s, file[k]);
	REQUIRE_ERR(0, share_file_open(f.s, &as_root, n[0], SHARE_O_READ,
	    &file[0]));
	share_file_close(f.s, file[0]);
	share_put(f.s, n[0]);
	fixture_close(&f);
}

/* A file's number dies with its closing, also for one who still uses it. */
ATF_TC_WITHOUT_HEAD(files);
ATF_TC_BODY(files, tc)
{
	struct share_file *again, *file;
	struct share_stats st;
	struct share_node *n;
	struct fixture f;
	uint64_t number;
	char c;
	size_t len;

	fixture_open(&f, NULL, NULL);
	n = put(&f, f.root, "a", "x");
	REQUIRE_ERR(0, share_file_open(f.s, &as_root, n, SHARE_O_READ,
	    &file));
	number = share_file_number(file);
	ATF_CHECK(share_dir_find(f.s, number) == NULL);
	ATF_CHECK(share_find(f.s, number) == NULL);
	again = share_file_find(f.s, number);
	ATF_REQUIRE(again == file);
	share_file_close(f.s, file);
	ATF_CHECK(share_file_find(f.s, number) == NULL);
	REQUIRE_ERR(0, share_read(f.s, again, &c, 1, 0, &len));
	share_file_close(f.s, again);
	share_stats(f.s, &st);
	ATF_CHECK_EQ(0, st.files);

	/* A client that leaves closes everything. */
	REQUIRE_ERR(0, share_file_open(f.s, &as_root, n, SHARE_O_READ,
	    &file));
	share_file_put(f.s, file);
	share_keep(n);
	share_reset(f.s);
	share_stats(f.s, &st);
	ATF_CHECK_EQ(0, st.files);
	ATF_CHECK_EQ(1, st.nodes);
	fixture_close(&f);
}

/*
 * Threads that look up, open, rename and forget the same few names.
 */
struct churn {
	struct fixture	*f;
	unsigned int	 seed;
};

static void *
churn(void *arg)
{
	struct churn *c = arg;
	struct share *s = c->f->s;
	struct share_file *file;
	struct share_node *n;
	struct share_attr a;
	char from[8], to[8];
	size_t len;
	int i;

	for (i = 0; i < 4000; i++) {
		c->seed = c->seed * 1103515245 + 12345;
		(void)snprintf(from, sizeof(from), "f%u", c->seed >> 16 & 7);
		(void)snprintf(to, sizeof(to), "f%u", c->seed >> 20 & 7);
		switch (c->seed >> 24 & 3) {
		case 0:
			if (share_create(s, &as_root, c->f->root, from,
			    SHARE_O_WRITE, 0644, &n, &a, &file) != 0)
				break;
			(void)share_write(s, file, from, 2, 0, 0, &len);
			share_file_close(s, file);
			share_put(s, n);
			break;
		case 1:
			(void)share_rename(s, &as_root, c->f->root, from,
			    c->f->root, to, 0);
			break;
		case 2:
			(void)share_unlink(s, &as_root, c->f->root, from);
			break;
		default:
			if (share_lookup(s, &as_root, c->f->root, from, &n,
			    &a) != 0)
				break;
			share_keep(n);
			share_forget(s, share_number(n), 2);
		}
	}
	return (NULL);
}

ATF_TC_WITHOUT_HEAD(threads);
ATF_TC_BODY(threads, tc)
{
	struct share_options o = { .max_fds = 64 };
	struct churn c[4];
	struct share_stats st;
	struct fixture f;
	pthread_t t[4];
	unsigned int i;

	fixture_open(&f, &o, NULL);
	for (i = 0; i < 4; i++) {
		c[i].f = &f;
		c[i].seed = i * 77 + 1;
		ATF_REQUIRE(pthread_create(&t[i], NULL, churn, &c[i]) == 0);
	}
	for (i = 0; i < 4; i++)
		ATF_REQUIRE(pthread_join(t[i], NULL) == 0);
	share_reset(f.s);
	share_stats(f.s, &st);
	ATF_CHECK_EQ(1, st.nodes);
	ATF_CHECK_EQ(1, st.fds);
	ATF_CHECK_EQ(0, st.files);
	fixture_close(&f);
}

static void
only_root(struct fixture *f)
{
	struct share_stats st;

	share_stats(f->s, &st);
	ATF_CHECK_EQ_MSG(1, st.nodes, "%d nodes", (int)st.nodes);
}

ATF_TC_WITHOUT_HEAD(into_each_other);
ATF_TC_BODY(into_each_other, tc)
{
	struct share_node *a, *b;
	struct fixture f;
	char path[64];

	fixture_open(&f, NULL, NULL);
	ATF_REQUIRE(mkdirat(f.in, "a", 0755) == 0);
	ATF_REQUIRE(mkdirat(f.in, "a/b", 0755) == 0);
	a = find(&f, f.root, "a");
	b = find(&f, a, "b");

	/* Who found b in a says so when it is the other way round. */
	REQUIRE_ERR(0, share_rename(f.s, &as_root, a, "b", f.root, "b", 0));
	REQUIRE_ERR(0, share_rename(f.s, &as_root, f.root, "a", b, "a", 0));
	share_name_seen(f.s, b, a, "b");
	REQUIRE_ERR(0, share_path(f.s, a, path, sizeof(path)));
	ATF_CHECK_STREQ("b/a", path);

	/* The host turns them round, and we hear of one half only. */
	ATF_REQUIRE(renameat(f.in, "b/a", f.in, "a") == 0);
	REQUIRE_ERR(0, share_rename(f.s, &as_root, f.root, "b", a, "b", 0));
	REQUIRE_ERR(ENOENT, share_path(f.s, b, path, sizeof(path)));
	share_put(f.s, find(&f, f.root, "a"));
	REQUIRE_ERR(0, share_path(f.s, b, path, sizeof(path)));
	ATF_CHECK_STREQ("a/b", path);

	share_put(f.s, a);
	share_put(f.s, b);
	only_root(&f);
	fixture_close(&f);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, numbers);
	ATF_TP_ADD_TC(tp, forget);
	ATF_TP_ADD_TC(tp, identity);
	ATF_TP_ADD_TC(tp, paths);
	ATF_TP_ADD_TC(tp, exchange);
	ATF_TP_ADD_TC(tp, few_descriptors);
	ATF_TP_ADD_TC(tp, few_descriptors_unprivileged);
	ATF_TP_ADD_TC(tp, stale);
	ATF_TP_ADD_TC(tp, too_many);
	ATF_TP_ADD_TC(tp, files);
	ATF_TP_ADD_TC(tp, threads);
	ATF_TP_ADD_TC(tp, into_each_other);
	return (atf_no_error());
}
