/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The root of a jail: a ZFS clone of its template, or a union of the
 * template and a folder that takes what is written, or a copy; which of them
 * is written down in the file "disk" when it is made.  And what is mounted
 * on it: devices, shares.
 */

#include <sys/param.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jail_internal.h"

#define	DISK		"disk"

void
jail_vec_add(struct jail_vec *v, const char *name, const void *val, size_t len)
{

	if (v->n + 2 > nitems(v->v))
		abort();
	v->v[v->n].iov_base = __DECONST(char *, name);
	v->v[v->n++].iov_len = strlen(name) + 1;
	v->v[v->n].iov_base = __DECONST(void *, val);
	v->v[v->n++].iov_len = len;
}

void
jail_vec_string(struct jail_vec *v, const char *name, const char *val)
{

	jail_vec_add(v, name, val, strlen(val) + 1);
}

void
jail_vec_flag(struct jail_vec *v, const char *name)
{

	jail_vec_add(v, name, NULL, 0);
}

/* Run a program; what it said is the error's message. */
int
jail_run(const char *const *argv, int dir, struct co_error *e)
{
	struct co_run r = { .argv = argv, .dir = dir };
	struct co_result res;
	int ret;

	if (co_run(&r, &res, e) != 0)
		return (-1);
	ret = 0;
	if (res.status != 0)
		ret = co_error_set(e, CO_ESYS_PROGRAM, argv[0],
		    "%s %s ended with status %d: %.400s", argv[0],
		    argv[1] != NULL ? argv[1] : "", res.status, res.out);
	free(res.out);
	return (ret);
}

static int
mount_on(const char *type, const char *from, const char *on,
    const char *extra, const char *value, int flags, struct co_error *e)
{
	struct jail_vec v = { .n = 0 };
	char msg[256] = "";

	jail_vec_string(&v, "fstype", type);
	jail_vec_string(&v, "fspath", on);
	jail_vec_string(&v, "from", from);
	if (strcmp(type, "devfs") != 0)
		jail_vec_string(&v, "target", from);
	if (extra != NULL)
		jail_vec_string(&v, extra, value);
	jail_vec_add(&v, "errmsg", msg, sizeof(msg));
	if (nmount(v.v, v.n, flags) == 0)
		return (0);
	return (co_error_errno(e, errno, on, "can't mount %s there%s%s", type,
	    msg[0] != '\0' ? ": " : "", msg));
}

static int
path_in(const struct sandbox_spec *s, const char *name, char path[PATH_MAX],
    struct co_error *e)
{

	if (snprintf(path, PATH_MAX, "%s/%s", s->dir, name) >= PATH_MAX)
		return (co_error_errno(e, ENAMETOOLONG, name, "path"));
	return (0);
}

static int
make_dir(const struct sandbox_spec *s, const char *name, struct co_error *e)
{
	char path[PATH_MAX];

	if (path_in(s, name, path, e) != 0)
		return (-1);
	if (mkdir(path, 0755) != 0 && errno != EEXIST)
		return (co_error_errno(e, errno, path, "can't make it"));
	return (0);
}

static const char *
choose(const struct sandbox_spec *s)
{
	struct xvfsconf vfc;

	if (jail_zfs_has(s))
		return ("zfs");
	if (getvfsbyname("unionfs", &vfc) == 0 &&
	    getvfsbyname("nullfs", &vfc) == 0)
		return ("union");
	return ("copy");
}

/* What the sandbox's folder says it has; "" before it was made. */
static void
chosen(const struct sandbox_spec *s, char kind[16])
{
	char *text;
	size_t len;
	int fd;

	kind[0] = '\0';
	if ((fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return;
	if (co_file_read(fd, DISK, 15, &text, &len, NULL) == 0) {
		(void)strlcpy(kind, text, 16);
		free(text);
	}
	(void)close(fd);
}

static int
note(const struct sandbox_spec *s, const char *kind, struct co_error *e)
{
	int fd, ret;

	if ((fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (co_error_errno(e, errno, s->dir, "can't open it"));
	ret = co_file_replace(fd, DISK, kind, strlen(kind), 0600, e);
	(void)close(fd);
	return (ret);
}

int
jail_root_prepare(const struct sandbox_spec *s, struct co_error *e)
{
	char from[PATH_MAX], root[PATH_MAX];
	const char *copy[] = { "/bin/cp", "-a", from, root, NULL };
	const char *kind;

	kind = choose(s);
	if (s->limits.disk != 0 && strcmp(kind, "zfs") != 0)
		return (co_error_set(e, CO_ESYS_UNSUPPORTED, s->id,
		    "a limit of the disk needs ZFS below %s; create the "
		    "sandbox without one, or move \"state\" to ZFS", s->dir));
	if (note(s, kind, e) != 0 || make_dir(s, "root", e) != 0 ||
	    path_in(s, "root", root, e) != 0)
		return (-1);
	if (strcmp(kind, "zfs") == 0)
		return (jail_zfs_prepare(s, root, e));
	if (strcmp(kind, "union") == 0)
		return (make_dir(s, "upper", e));
	(void)snprintf(from, sizeof(from), "%s/.", s->template);
	return (jail_run(copy, -1, e));
}

/* Our set of devices, made once; other sets are not touched. */
static int
ruleset(struct co_error *e)
{
	static const char rules[] =
	    "hide\n"
	    "path null unhide\npath zero unhide\n"
	    "path random unhide\npath urandom unhide\n"
	    "path fd unhide\npath fd/* unhide\n"
	    "path stdin unhide\npath stdout unhide\npath stderr unhide\n"
	    "path ptmx unhide\npath pts unhide\npath pts/* unhide\n"
	    "path tty unhide\n";
	static const char *const show[] = { "/sbin/devfs", "rule", "-s",
	    JAIL_RULESET, "show", NULL };
	static const char *const load[] = { "/sbin/devfs", "rule", "-s",
	    JAIL_RULESET, "add", "-", NULL };
	struct co_run r = { .argv = show };
	struct co_result res;
	int ret;

	if (co_run(&r, &res, e) != 0)
		return (-1);
	ret = res.status == 0 && res.outlen > 0;
	free(res.out);
	if (ret)
		return (0);
	r.argv = load;
	r.input = rules;
	r.inputlen = sizeof(rules) - 1;
	if (co_run(&r, &res, e) != 0)
		return (-1);
	ret = 0;
	if (res.status != 0)
		ret = co_error_set(e, CO_ESYS_PROGRAM, "/sbin/devfs",
		    "can't load ruleset " JAIL_RULESET ": %.300s", res.out);
	free(res.out);
	return (ret);
}

/*
 * A directory below the root, made component by component: the sandbox may
 * have put links there when it ran before.
 */
static int
dir_below(const char *root, const char *path, struct co_error *e)
{
	char name[NAME_MAX + 1];
	const char *p, *q;
	int dir, next;

	dir = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (p = path; dir != -1 && *p != '\0'; p = *q == '/' ? q + 1 : q) {
		for (q = p; *q != '/' && *q != '\0'; q++)
			continue;
		if ((size_t)(q - p) >= sizeof(name)) {
			(void)close(dir);
			return (co_error_errno(e, ENAMETOOLONG, path, "path"));
		}
		memcpy(name, p, (size_t)(q - p));
		name[q - p] = '\0';
		(void)mkdirat(dir, name, 0755);
		next = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC);
		(void)close(dir);
		dir = next;
	}
	if (dir == -1)
		return (co_error_errno(e, errno, path, "no such folder in the "
		    "root, and none could be made"));
	(void)close(dir);
	return (0);
}

/* One folder is /work; several are below it. */
static int
mount_shares(const struct sandbox_spec *s, const char *root,
    struct co_error *e)
{
	char on[PATH_MAX], rel[NAME_MAX + 8];

	for (size_t i = 0; i < s->nshares; i++) {
		(void)snprintf(rel, sizeof(rel), "work%s%s",
		    s->nshares == 1 ? "" : "/",
		    s->nshares == 1 ? "" : s->share[i].label);
		if (snprintf(on, sizeof(on), "%s/%s", root, rel) >=
		    (int)sizeof(on))
			return (co_error_errno(e, ENAMETOOLONG, rel, "path"));
		if (dir_below(root, rel, e) != 0 ||
		    mount_on("nullfs", s->share[i].source, on, NULL, NULL,
		    MNT_NOSUID | (s->share[i].readonly ? MNT_RDONLY : 0),
		    e) != 0)
			return (-1);
	}
	return (0);
}

static int
mount_disk(const struct sandbox_spec *s, const char *root, struct co_error *e)
{
	char kind[16], upper[PATH_MAX];

	chosen(s, kind);
	if (kind[0] == '\0')
		return (co_error_set(e, CO_ESANDBOX_LOST, s->id,
		    "its disk was never made"));
	if (strcmp(kind, "union") != 0)
		return (0);
	if (path_in(s, "upper", upper, e) != 0 ||
	    mount_on("nullfs", s->template, root, NULL, NULL, MNT_RDONLY,
	    e) != 0)
		return (-1);
	return (mount_on("unionfs", upper, root, "copymode", "transparent", 0,
	    e));
}

/* Mount everything and store the path of the root. */
int
jail_root_mount(const struct sandbox_spec *s, char root[PATH_MAX],
    struct co_error *e)
{
	char dev[PATH_MAX];

	if (path_in(s, "root", root, e) != 0 ||
	    path_in(s, "root/dev", dev, e) != 0 || ruleset(e) != 0 ||
	    jail_root_unmount(s, e) != 0)
		return (-1);
	if (mount_disk(s, root, e) == 0 && dir_below(root, "dev", e) == 0 &&
	    mount_on("devfs", "devfs", dev, "ruleset", JAIL_RULESET,
	    MNT_NOSUID, e) == 0 && mount_shares(s, root, e) == 0)
		return (0);
	(void)jail_root_unmount(s, NULL);
	return (-1);
}

/* Is the mount at or below the root, and ours to take away? */
static bool
below(const struct statfs *sf, const char *root, size_t n)
{

	return (strncmp(sf->f_mntonname, root, n) == 0 &&
	    (sf->f_mntonname[n] == '\0' || sf->f_mntonname[n] == '/') &&
	    !(sf->f_mntonname[n] == '\0' &&
	    strcmp(sf->f_fstypename, "zfs") == 0));
}

int
jail_root_unmount(const struct sandbox_spec *s, struct co_error *e)
{
	char id[64], root[PATH_MAX];
	struct statfs *sf;
	size_t len;
	int error, n;

	if (path_in(s, "root", root, e) != 0)
		return (-1);
	len = strlen(root);
	if ((n = getfsstat(NULL, 0, MNT_NOWAIT)) == -1)
		return (co_error_errno(e, errno, root, "can't list mounts"));
	n += 16;
	if ((sf = calloc((size_t)n, sizeof(*sf))) == NULL)
		return (co_error_errno(e, ENOMEM, root, "mounts"));
	n = getfsstat(sf, (long)((size_t)n * sizeof(*sf)), MNT_NOWAIT);
	error = 0;
	/* The newest first: what lies on top goes before what is below. */
	for (int i = n; i-- > 0;) {
		if (!below(&sf[i], root, len))
			continue;
		(void)snprintf(id, sizeof(id), "FSID:%d:%d",
		    sf[i].f_fsid.val[0], sf[i].f_fsid.val[1]);
		if (unmount(id, MNT_BYFSID | MNT_FORCE) != 0 &&
		    errno != EINVAL && errno != ENOENT)
			error = errno;
	}
	free(sf);
	if (error != 0)
		return (co_error_errno(e, error, root, "can't unmount all "
		    "that is below it; see mount(8)"));
	return (0);
}

static int
remove_tree(const char *path, struct co_error *e)
{
	char *argv[] = { __DECONST(char *, path), NULL };
	FTSENT *f;
	FTS *fts;
	int error, ret;

	/* What was removed from the template left a whiteout here. */
	if ((fts = fts_open(argv, FTS_PHYSICAL | FTS_XDEV |
	    FTS_WHITEOUT, NULL)) == NULL)
		return (co_error_errno(e, errno, path, "can't remove it"));
	error = 0;
	while ((f = fts_read(fts)) != NULL) {
		if (f->fts_info == FTS_D)
			continue;
		if (f->fts_info == FTS_NS && f->fts_errno == ENOENT)
			continue;
		if (f->fts_info == FTS_W)
			ret = undelete(f->fts_accpath);
		else if (f->fts_info == FTS_DP)
			ret = rmdir(f->fts_accpath);
		else
			ret = unlink(f->fts_accpath);
		if (ret != 0 && errno != ENOENT)
			error = errno;
	}
	(void)fts_close(fts);
	if (error != 0)
		return (co_error_errno(e, error, path, "can't remove it"));
	return (0);
}

int
jail_root_remove(const struct sandbox_spec *s, struct co_error *e)
{
	static const char *const parts[] = { "root", "upper" };
	char path[PATH_MAX];

	if (jail_root_unmount(s, e) != 0 || jail_zfs_remove(s, e) != 0)
		return (-1);
	for (size_t i = 0; i < nitems(parts); i++)
		if (path_in(s, parts[i], path, e) != 0 ||
		    remove_tree(path, e) != 0)
			return (-1);
	return (0);
}

/* The tree as the sandbox sees it, without what is mounted on it. */
int
jail_root_capture(const struct sandbox_spec *s, int fd, struct co_error *e)
{
	char from[PATH_MAX], root[PATH_MAX];
	const char *plain[] = { "/bin/cp", "-a", "-x", from, ".", NULL };
	struct statfs sf;
	bool mounted;
	int ret;

	if (path_in(s, "root", root, e) != 0)
		return (-1);
	mounted = statfs(root, &sf) == 0 && strcmp(sf.f_mntonname, root) == 0;
	if (!mounted && mount_disk(s, root, e) != 0)
		return (-1);
	(void)snprintf(from, sizeof(from), "%s/.", root);
	ret = jail_run(plain, fd, e);
	if (!mounted)
		(void)jail_root_unmount(s, NULL);
	return (ret);
}
