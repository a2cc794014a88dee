/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Operations where a share is more than the calls below it: what it refuses,
 * whose files are whose, what it hides, and what it tells libundo.
 */

#include <sys/stat.h>

#include <atf-c.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"
#include "undo.h"

#include "fixture.h"

ATF_TC_WITHOUT_HEAD(names);
ATF_TC_BODY(names, tc)
{
	static const char *const bad[] = { "", "/", "a/b", "../out", "/etc" };
	struct share_file *file;
	struct share_node *n;
	struct share_attr a;
	char name[300];
	struct fixture f;
	size_t i;

	fixture_open(&f, NULL, NULL);
	share_put(f.s, put(&f, f.root, "a", "x"));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		REQUIRE_ERR(EINVAL, look(&f, f.root, bad[i]));
		REQUIRE_ERR(EINVAL, share_mkdir(f.s, &as_root, f.root,
		    bad[i], 0755, &n, &a));
		REQUIRE_ERR(EINVAL, share_unlink(f.s, &as_root, f.root,
		    bad[i]));
		REQUIRE_ERR(EINVAL, share_rename(f.s, &as_root, f.root, "a",
		    f.root, bad[i], 0));
		REQUIRE_ERR(EINVAL, share_create(f.s, &as_root, f.root,
		    bad[i], SHARE_O_WRITE, 0644, &n, &a, &file));
	}
	memset(name, 'n', sizeof(name));
	name[256] = '\0';
	REQUIRE_ERR(ENAMETOOLONG, look(&f, f.root, name));
	REQUIRE_ERR(EEXIST, share_mkdir(f.s, &as_root, f.root, "..", 0755,
	    &n, &a));
	REQUIRE_ERR(EISDIR, share_unlink(f.s, &as_root, f.root, ".."));
	REQUIRE_ERR(ENOTEMPTY, share_rmdir(f.s, &as_root, f.root, ".."));
	REQUIRE_ERR(EINVAL, share_rmdir(f.s, &as_root, f.root, "."));
	REQUIRE_ERR(EBUSY, share_rename(f.s, &as_root, f.root, "..", f.root,
	    "x", 0));
	REQUIRE_ERR(EBUSY, share_rename(f.s, &as_root, f.root, "a", f.root,
	    "..", 0));
	n = find(&f, f.root, "..");
	ATF_CHECK(n == f.root);
	share_put(f.s, n);
	n = find(&f, f.root, ".");
	ATF_CHECK(n == f.root);
	share_put(f.s, n);
	fixture_close(&f);
}

ATF_TC_WITHOUT_HEAD(links_are_data);
ATF_TC_BODY(links_are_data, tc)
{
	struct share_file *file;
	struct share_node *n;
	struct share_dir *dir;
	struct share_attr a;
	char buf[64];
	struct fixture f;
	size_t len;

	fixture_open(&f, NULL, NULL);
	host_file(f.out, "secret", "secret");
	REQUIRE_ERR(0, share_symlink(f.s, &as_root, f.root, "l", "../out",
	    &n, &a));
	ATF_CHECK(S_ISLNK(a.mode));
	REQUIRE_ERR(ENOTDIR, look(&f, n, "secret"));
	REQUIRE_ERR(ENOTDIR, share_opendir(f.s, &as_root, n, &dir));
	REQUIRE_ERR(ELOOP, share_file_open(f.s, &as_root, n, SHARE_O_READ,
	    &file));
	REQUIRE_ERR(ELOOP, share_create(f.s, &as_root, f.root, "l",
	    SHARE_O_WRITE, 0644, &n, &a, &file));
	REQUIRE_ERR(0, share_readlink(f.s, n, buf, sizeof(buf), &len));
	ATF_CHECK_EQ(6, len);
	share_put(f.s, n);

	/* Its attributes change, not those of what it names. */
	REQUIRE_ERR(0, share_symlink(f.s, &as_root, f.root, "m",
	    "../out/secret", &n, &a));
	REQUIRE_ERR(EINVAL, share_setattr(f.s, &as_root, n, NULL,
	    &(struct share_setattr){ .set = SHARE_SET_SIZE }, &a));
	REQUIRE_ERR(0, share_setattr(f.s, &as_root, n, NULL,
	    &(struct share_setattr){ .set = SHARE_SET_MTIME,
	    .mtime = { 5, 5 } }, &a));
	ATF_CHECK_EQ(5, a.mtime.tv_sec);
	share_put(f.s, n);
	fixture_close(&f);
}

ATF_TC(special_files);
ATF_TC_HEAD(special_files, tc)
{
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(special_files, tc)
{
	struct share_options o = { .devices = true };
	struct share_file *file;
	struct share_node *n;
	struct share_attr a;
	struct fixture f;

	fixture_open(&f, NULL, NULL);
	REQUIRE_ERR(EPERM, share_mknod(f.s, &as_root, f.root, "null",
	    S_IFCHR | 0666, 1, 3, &n, &a));
	REQUIRE_ERR(EPERM, share_mknod(f.s, &as_root, f.root, "white",
	    S_IFCHR, 0, 0, &n, &a));
	REQUIRE_ERR(EINVAL, share_mknod(f.s, &as_root, f.root, "d",
	    S_IFDIR | 0755, 0, 0, &n, &a));
	fixture_close(&f);
	fixture_open(&f, &o, NULL);
	REQUIRE_ERR(0, share_mknod(f.s, &as_root, f.root, "null",
	    S_IFCHR | 0666, 1, 3, &n, &a));
	ATF_CHECK(a.rdev_major == 1 && a.rdev_minor == 3);
	REQUIRE_ERR(ENXIO, share_file_open(f.s, &as_root, n, SHARE_O_READ,
	    &file));
	share_put(f.s, n);
	REQUIRE_ERR(0, share_mknod(f.s, &as_root, f.root, "fifo",
	    S_IFIFO | 0666, 0, 0, &n, &a));
	REQUIRE_ERR(ENXIO, share_file_open(f.s, &as_root, n, SHARE_O_READ,
	    &file));
	share_put(f.s, n);
	fixture_close(&f);
}

ATF_TC_WITHOUT_HEAD(readonly);
ATF_TC_BODY(readonly, tc)
{
	struct share_options o = { .readonly = true };
	struct share_setattr set = { .set = SHARE_SET_MODE, .mode = 0600 };
	struct share_file *file;
	struct share_node *n, *m;
	struct share_attr a;
	struct fixture f;
	size_t len;

	fixture_open(&f, &o, NULL);
	host_file(f.in, "a", "x");
	n = find(&f, f.root, "a");
	ATF_CHECK(holds(&f, n, "x"));
	REQUIRE_ERR(EROFS, share_mkdir(f.s, &as_root, f.root, "d", 0755, &m,
	    &a));
	REQUIRE_ERR(EROFS, share_create(f.s, &as_root, f.root, "b",
	    SHARE_O_WRITE, 0644, &m, &a, &file));
	REQUIRE_ERR(EROFS, share_file_open(f.s, &as_root, n, SHARE_O_WRITE,
	    &file));
	REQUIRE_ERR(EROFS, share_unlink(f.s, &as_root, f.root, "a"));
	REQUIRE_ERR(EROFS, share_rename(f.s, &as_root, f.root, "a", f.root,
	    "b", 0));
	REQUIRE_ERR(EROFS, share_link(f.s, &as_root, n, f.root, "b", &a));
	REQUIRE_ERR(EROFS, share_setattr(f.s, &as_root, n, NULL, &set, &a));
	REQUIRE_ERR(EROFS, share_setxattr(f.s, &as_root, n, "user.x", "1", 1,
	    0));
	REQUIRE_ERR(EROFS, share_removexattr(f.s, &as_root, n, "user.x"));
	REQUIRE_ERR(EROFS, share_tmpfile(f.s, &as_root, f.root,
	    SHARE_O_WRITE, 0644, &m, &a, &file));
	REQUIRE_ERR(EROFS, share_access(f.s, &as_root, n, 2));
	share_readonly(f.s, false);
	REQUIRE_ERR(EROFS, share_unlink(f.s, &as_root, f.root, "a"));
	share_put(f.s, n);
	fixture_close(&f);

	/* Locked later, also for files that are open already. */
	fixture_open(&f, NULL, NULL);
	n = find(&f, f.root, "a");
	REQUIRE_ERR(0, share_file_open(f.s, &as_root, n, SHARE_O_WRITE,
	    &file));
	share_readonly(f.s, true);
	REQUIRE_ERR(EROFS, share_write(f.s, file, "y", 1, 0, 0, &len));
	REQUIRE_ERR(EROFS, share_fallocate(f.s, file, 0, 0, 10));
	share_readonly(f.s, false);
	REQUIRE_ERR(0, share_write(f.s, file, "y", 1, 0, 0, &len));
	share_file_close(f.s, file);
	share_put(f.s, n);
	fixture_close(&f);
}

ATF_TC(mapped_ids);
ATF_TC_HEAD(mapped_ids, tc)
{
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(mapped_ids, tc)
{
	struct share_map map = { 0, 100000, 2000 };
	struct share_options o = { .identity = SHARE_CALLER, .uids = &map,
	    .nuids = 1, .gids = &map, .ngids = 1 };
	struct share_cred stranger = { .uid = 5000, .gid = 5000 };
	struct share_setattr set = { .set = SHARE_SET_UID, .uid = 7 };
	struct share_node *d, *n;
	struct share_attr a;
	struct fixture f;
	struct stat st;

	fixture_open(&f, &o, NULL);
	host_file(f.in, "hosts", "x");
	n = find(&f, f.root, "hosts");
	REQUIRE_ERR(0, share_getattr(f.s, n, NULL, &a));
	ATF_CHECK_EQ(SHARE_ID_NOBODY, a.uid);
	share_put(f.s, n);

	/* The client's root is not ours. */
	REQUIRE_ERR(0, share_mkdir(f.s, &as_root, f.root, "d", 0777, &d,
	    &a));
	ATF_CHECK_EQ(0, a.uid);
	ATF_REQUIRE(fstatat(f.in, "d", &st, 0) == 0);
	ATF_CHECK_EQ(100000, st.st_uid);
	ATF_CHECK_EQ(100000, st.st_gid);
	n = put(&f, d, "a", "x");
	share_put(f.s, n);
	REQUIRE_ERR(0, share_symlink(f.s, &as_user, d, "l", "x", &n, &a));
	ATF_CHECK_EQ(1001, a.uid);
	ATF_REQUIRE(fstatat(f.in, "d/l", &st, AT_SYMLINK_NOFOLLOW) == 0);
	ATF_CHECK_EQ(101001, st.st_uid);
	REQUIRE_ERR(0, share_setattr(f.s, &as_root, n, NULL, &set, &a));
	ATF_CHECK_EQ(7, a.uid);
	ATF_REQUIRE(fstatat(f.in, "d/l", &st, AT_SYMLINK_NOFOLLOW) == 0);
	ATF_CHECK_EQ(100007, st.st_uid);

	/* Ids outside of the map do not come in. */
	set.uid = 2000;
	REQUIRE_ERR(EPERM, share_setattr(f.s, &as_root, n, NULL, &set, &a));
	share_put(f.s, n);
	REQUIRE_ERR(EPERM, share_mkdir(f.s, &stranger, d, "no", 0755, &n,
	    &a));
	ATF_CHECK(geteuid() == 0 && umask(022) == 022);
	share_put(f.s, d);
	fixture_close(&f);
}

/* One owner for all, whoever they are, and no set-id bits of ours. */
ATF_TC_WITHOUT_HEAD(owned);
ATF_TC_BODY(owned, tc)
{
	struct share_options o = { .owned = true, .owner = 70000,
	    .group = 70001 };
	struct share_setattr set = { .set = SHARE_SET_UID | SHARE_SET_GID |
	    SHARE_SET_MODE, .uid = 7, .gid = 8, .mode = 06755 };
	struct share_file *file;
	struct share_node *n;
	struct share_attr a;
	struct fixture f;
	struct stat st;

	fixture_open(&f, &o, NULL);
	REQUIRE_ERR(0, share_create(f.s, &as_root, f.root, "a",
	    SHARE_O_WRITE, 06755, &n, &a, &file));
	share_file_close(f.s, file);
	ATF_CHECK_EQ(70000, a.uid);
	ATF_CHECK_EQ(70001, a.gid);
	ATF_CHECK_EQ(0755, a.mode & 07777);
	REQUIRE_ERR(0, share_setattr(f.s, &as_root, n, NULL, &set, &a));
	share_put(f.s, n);
	ATF_CHECK_EQ(70000, a.uid);
	ATF_CHECK_EQ(70001, a.gid);
	REQUIRE_ERR(0, share_mknod(f.s, &as_root, f.root, "p",
	    S_IFIFO | 04700, 0, 0, &n, &a));
	share_put(f.s, n);
	ATF_CHECK_EQ(0700, a.mode & 07777);
	ATF_REQUIRE(fstatat(f.in, "a", &st, 0) == 0);
	ATF_CHECK_EQ(geteuid(), st.st_uid);
	ATF_CHECK_EQ(0755, st.st_mode & 07777);
	fixture_close(&f);
}

ATF_TC_WITHOUT_HEAD(bad_options);
ATF_TC_BODY(bad_options, tc)
{
	struct share_map twice[2] = { { 0, 1000, 10 }, { 5, 2000, 10 } };
	struct share_map wraps = { UINT32_MAX, 0, 2 };
	struct share_options o = { .uids = twice, .nuids = 2 };
	struct co_error e;
	struct share *s;
	int fd;

	ATF_REQUIRE((fd = open(".", O_RDONLY)) != -1);
	ATF_CHECK_EQ(-1, share_open(fd, NULL, &o, &s, &e));
	ATF_CHECK_EQ(CO_ESYS_CONFIG, e.code);
	o.uids = &wraps;
	o.nuids = 1;
	ATF_CHECK_EQ(-1, share_open(fd, NULL, &o, &s, &e));
	o.nuids = 0;
	o.checks = SHARE_CHECK_HERE;
	ATF_CHECK_EQ(-1, share_open(fd, NULL, &o, &s, &e));
	(void)close(fd);
	host_file(AT_FDCWD, "file", "x");
	ATF_REQUIRE((fd = open("file", O_RDONLY)) != -1);
	ATF_CHECK_EQ(-1, share_open(fd, NULL, NULL, &s, &e));
	ATF_CHECK_EQ(CO_ESHARE_ROOT, e.code);
	(void)close(fd);
	share_close(NULL);
}

ATF_TC(checks_here);
ATF_TC_HEAD(checks_here, tc)
{
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(checks_here, tc)
{
	struct share_options o = { .identity = SHARE_CALLER,
	    .checks = SHARE_CHECK_HERE };
	uint32_t groups[1] = { 50 };
	struct share_cred member = { .uid = 1001, .gid = 1001, .ngroups = 1,
	    .groups = groups };
	struct share_file *file;
	struct share_node *d, *n;
	struct share_attr a;
	struct co_error e;
	struct fixture f;
	int fd;

	ATF_REQUIRE((fd = open(".", O_RDONLY)) != -1);
	if (share_open(fd, NULL, &o, &f.s, &e) == -1) {
		ATF_REQUIRE_EQ(CO_ESYS_UNSUPPORTED, e.code);
		atf_tc_skip("threads have no identity here");
	}
	share_close(f.s);
	(void)close(fd);
	fixture_open(&f, &o, NULL);
	REQUIRE_ERR(0, share_mkdir(f.s, &as_root, f.root, "d", 0755, &d,
	    &a));
	n = put(&f, d, "a", "x");
	ATF_REQUIRE(fchmodat(f.in, "d/a", 0640, 0) == 0);
	ATF_REQUIRE(fchownat(f.in, "d/a", 0, 50, 0) == 0);
	REQUIRE_ERR(EACCES, share_file_open(f.s, &as_user, n, SHARE_O_READ,
	    &file));
	REQUIRE_ERR(0, share_file_open(f.s, &member, n, SHARE_O_READ,
	    &file));
	share_file_close(f.s, file);
	REQUIRE_ERR(EACCES, share_unlink(f.s, &as_user, d, "a"));
	REQUIRE_ERR(EACCES, share_create(f.s, &as_user, d, "b",
	    SHARE_O_WRITE, 0644, &n, &a, &file));
	REQUIRE_ERR(EACCES, share_access(f.s, &as_user, d, 2));
	REQUIRE_ERR(0, share_access(f.s, &as_root, d, 2));
	ATF_REQUIRE(fchmodat(f.in, "d", 01777, 0) == 0);
	REQUIRE_ERR(EPERM, share_unlink(f.s, &as_user, d, "a"));
	ATF_REQUIRE(fchmodat(f.in, "d", 0777, 0) == 0);
	REQUIRE_ERR(0, share_unlink(f.s, &as_user, d, "a"));
	share_put(f.s, n);
	share_put(f.s, d);
	fixture_close(&f);
}

static bool
has_name(const char *list, size_t len, const char *name)
{
	size_t off;

	for (off = 0; off < len; off += strlen(list + off) + 1)
		if (strcmp(list + off, name) == 0)
			return (true);
	return (false);
}

ATF_TC_WITHOUT_HEAD(xattrs_are_mapped);
ATF_TC_BODY(xattrs_are_mapped, tc)
{
	struct share_file *file;
	struct share_node *n;
	struct fixture f;
	char list[1024], v[64];
	size_t len;

	fixture_open(&f, NULL, NULL);
	n = put(&f, f.root, "a", "x");
	REQUIRE_ERR(0, share_setxattr(f.s, &as_root, n,
	    "security.capability", "cap", 3, 0));
	REQUIRE_ERR(0, share_setxattr(f.s, &as_root, n, "trusted.t", "tt",
	    2, 0));
	REQUIRE_ERR(0, share_setxattr(f.s, &as_root, n, "user.u", "u", 1,
	    0));
	REQUIRE_ERR(0, share_listxattr(f.s, &as_root, n, list, sizeof(list),
	    &len));
	ATF_CHECK(has_name(list, len, "security.capability"));
	ATF_CHECK(has_name(list, len, "trusted.t"));
	ATF_CHECK(has_name(list, len, "user.u"));
	REQUIRE_ERR(0, share_listxattr(f.s, &as_root, n, list, 0, &len));
	REQUIRE_ERR(ERANGE, share_listxattr(f.s, &as_root, n, list, len - 1,
	    &len));

	/* Our own names are nobody's business. */
	REQUIRE_ERR(EPERM, share_setxattr(f.s, &as_root, n,
	    "user.coppice.security.capability", "x", 1, 0));
	ATF_CHECK(share_getxattr(f.s, &as_root, n, "user.coppice.trusted.t",
	    v, sizeof(v), &len) != 0);
	REQUIRE_ERR(EOPNOTSUPP, share_setxattr(f.s, &as_root, n,
	    "system.other", "x", 1, 0));
	REQUIRE_ERR(EOPNOTSUPP, share_setxattr(f.s, &as_root, n, "nothing",
	    "x", 1, 0));

	/* Who writes to a program takes its capabilities. */
	REQUIRE_ERR(0, share_file_open(f.s, &as_root, n, SHARE_O_WRITE,
	    &file));
	REQUIRE_ERR(0, share_write(f.s, file, "y", 1, 0, 0, &len));
	share_file_close(f.s, file);
	ATF_CHECK(share_getxattr(f.s, &as_root, n, "security.capability", v,
	    sizeof(v), &len) != 0);
	REQUIRE_ERR(0, share_getxattr(f.s, &as_root, n, "trusted.t", v,
	    sizeof(v), &len));
	ATF_CHECK_EQ(2, len);
	share_put(f.s, n);
	fixture_close(&f);
}

/*
 * Directories: cookies.
 */
struct listing {
	uint64_t	cookie;
	char		name[SHARE_NAME_MAX + 1];
	int		left;		/* how many it takes */
	int		taken;
	int		nodes;
	struct share	*s;
};

static bool
take(void *arg, const struct share_dirent *de, struct share_node *n,
    const struct share_attr *a)
{
	struct listing *l = arg;

	if (l->left-- == 0)
		return (false);
	l->taken++;
	l->cookie = de->cookie;
	(void)snprintf(l->name, sizeof(l->name), "%s", de->name);
	ATF_CHECK_EQ(strlen(de->name), de->namelen);
	if (n != NULL) {
		ATF_CHECK_EQ(de->ino, a->ino);
		l->nodes++;
		share_put(l->s, n);
	}
	return (true);
}

ATF_TC_WITHOUT_HEAD(cookies);
ATF_TC_BODY(cookies, tc)
{
	struct listing l = { .left = 10 };
	struct share_dir *d;
	struct fixture f;
	uint64_t tenth;
	char name[SHARE_NAME_MAX + 1];
	int i, total;

	fixture_open(&f, NULL, NULL);
	l.s = f.s;
	for (i = 0; i < 500; i++) {
		(void)snprintf(name, sizeof(name), "a-longer-name-%d", i);
		host_file(f.in, name, "");
	}
	REQUIRE_ERR(0, share_opendir(f.s, &as_root, f.root, &d));
	REQUIRE_ERR(0, share_readdir(f.s, d, 0, take, &l));
	ATF_CHECK_EQ(10, l.taken);
	tenth = l.cookie;
	l.left = 1;
	REQUIRE_ERR(0, share_readdir(f.s, d, tenth, take, &l));
	(void)snprintf(name, sizeof(name), "%s", l.name);

	/* To the end, one by one; then back to that place. */
	for (total = 11;; total++) {
		l.left = 1;
		l.taken = 0;
		REQUIRE_ERR(0, share_readdir(f.s, d, l.cookie, take, &l));
		if (l.taken == 0)
			break;
	}
	ATF_CHECK_EQ(502, total);
	l.left = 1;
	REQUIRE_ERR(0, share_readdir(f.s, d, tenth, take, &l));
	ATF_CHECK_STREQ(name, l.name);

	/* With nodes, all at once. */
	l.left = 100000;
	l.taken = 0;
	REQUIRE_ERR(0, share_readdirplus(f.s, &as_root, d, 0, take, &l));
	ATF_CHECK_EQ(502, l.taken);
	ATF_CHECK_EQ(500, l.nodes);
	ATF_CHECK(share_readdir(f.s, d, UINT64_MAX, take, &l) == EINVAL);
	share_dir_close(f.s, d);
	fixture_close(&f);
}

/*
 * What the watcher and libundo are told.
 */
static char told[1024];

static void
tell(void *arg, const struct share_change *c)
{
	size_t len = strlen(told);

	(void)arg;
	(void)snprintf(told + len, sizeof(told) - len, "%d:%s%s%s ",
	    (int)c->kind, c->path != NULL ? c->path : "-",
	    c->to != NULL ? ">" : "", c->to != NULL ? c->to : "");
}

ATF_TC_WITHOUT_HEAD(changes);
ATF_TC_BODY(changes, tc)
{
	struct share_options o = { .change = tell };
	struct share_node *d, *n;
	struct share_attr a;
	struct fixture f;

	fixture_open(&f, &o, NULL);
	REQUIRE_ERR(0, share_mkdir(f.s, &as_root, f.root, "d", 0755, &d,
	    &a));
	n = put(&f, d, "a", "x");
	REQUIRE_ERR(0, share_rename(f.s, &as_root, d, "a", f.root, "b", 0));
	REQUIRE_ERR(0, share_setattr(f.s, &as_root, n, NULL,
	    &(struct share_setattr){ .set = SHARE_SET_MODE, .mode = 0600 },
	    NULL));
	REQUIRE_ERR(0, share_unlink(f.s, &as_root, f.root, "b"));
	ATF_CHECK_STREQ("2:d 2:d/a 0:d/a 4:d/a>b 1:b 3:b ", told);
	share_put(f.s, n);
	share_put(f.s, d);
	fixture_close(&f);
}

ATF_TC_WITHOUT_HEAD(undone);
ATF_TC_BODY(undone, tc)
{
	struct undo_options uo = { .quiet_ms = 1 };
	struct share_setattr set = { .set = SHARE_SET_MODE, .mode = 0600 };
	struct share_file *file;
	struct share_node *a, *d, *gone;
	struct share_attr attr;
	struct co_error e;
	struct fixture f;
	struct undo *u;
	int in;

	ATF_REQUIRE(mkdir("in", 0755) == 0);
	ATF_REQUIRE((in = open("in", O_RDONLY | O_DIRECTORY)) != -1);
	host_file(in, "a", "first");
	host_file(in, "gone", "kept");
	ATF_REQUIRE_MSG(undo_open(in, "store", &uo, &u, &e) == 0, "%s",
	    e.message);
	fixture_open(&f, NULL, u);
	ATF_REQUIRE(undo_step_begin(u, 1, UNDO_COMMAND, "x", &e) == 0);
	a = put(&f, f.root, "a", "second");
	REQUIRE_ERR(0, share_setattr(f.s, &as_root, a, NULL, &set, NULL));
	REQUIRE_ERR(0, share_setxattr(f.s, &as_root, a, "user.x", "1", 1,
	    0));
	REQUIRE_ERR(0, share_mkdir(f.s, &as_root, f.root, "d", 0755, &d,
	    &attr));
	REQUIRE_ERR(0, share_rename(f.s, &as_root, f.root, "a", d, "moved",
	    0));

	/* An open file lives on; its links are told without libundo's. */
	gone = find(&f, f.root, "gone");
	REQUIRE_ERR(0, share_file_open(f.s, &as_root, gone, SHARE_O_READ,
	    &file));
	REQUIRE_ERR(0, share_unlink(f.s, &as_root, f.root, "gone"));
	REQUIRE_ERR(0, share_getattr(f.s, gone, file, &attr));
	ATF_CHECK_EQ(0, attr.nlink);
	REQUIRE_ERR(ENOENT, share_link(f.s, &as_root, gone, f.root, "back",
	    &attr));
	share_file_close(f.s, file);
	ATF_REQUIRE(undo_step_complete(u, 1, 0, &e) == 0);
	ATF_REQUIRE_MSG(undo_rollback(u, 1, false, NULL, NULL, &e) == 0,
	    "%s", e.message);
	share_put(f.s, a);
	share_put(f.s, d);
	share_put(f.s, gone);
	REQUIRE_ERR(ENOENT, look(&f, f.root, "d"));
	a = find(&f, f.root, "a");
	ATF_CHECK(holds(&f, a, "first"));
	REQUIRE_ERR(0, share_getattr(f.s, a, NULL, &attr));
	ATF_CHECK_EQ(0644, attr.mode & 0777);
	share_put(f.s, a);
	a = find(&f, f.root, "gone");
	ATF_CHECK(holds(&f, a, "kept"));
	REQUIRE_ERR(0, share_getattr(f.s, a, NULL, &attr));
	ATF_CHECK_EQ(1, attr.nlink);
	share_put(f.s, a);
	fixture_close(&f);
	undo_close(u);
	(void)close(in);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, names);
	ATF_TP_ADD_TC(tp, links_are_data);
	ATF_TP_ADD_TC(tp, special_files);
	ATF_TP_ADD_TC(tp, readonly);
	ATF_TP_ADD_TC(tp, mapped_ids);
	ATF_TP_ADD_TC(tp, owned);
	ATF_TP_ADD_TC(tp, bad_options);
	ATF_TP_ADD_TC(tp, checks_here);
	ATF_TP_ADD_TC(tp, xattrs_are_mapped);
	ATF_TP_ADD_TC(tp, cookies);
	ATF_TP_ADD_TC(tp, changes);
	ATF_TP_ADD_TC(tp, undone);
	return (atf_no_error());
}
