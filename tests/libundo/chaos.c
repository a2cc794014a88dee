/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Random operations.  Names come from a small pool, so that operations meet
 * on the same files; about one in ten is meant to fail.
 */

#include <sys/types.h>
#include <sys/stat.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <undo.h>

#include "chaos.h"
#include "fsops.h"
#include "snap.h"

#define	NFILES		6
#define	MAXPATH		8192
#define	MAXLARGE	(6 * 1024 * 1024)

struct chaos {
	int		 rootfd;
	struct fsops	*fs;
	unsigned int	 flags;
	struct fsops_file *files[NFILES];
	uint64_t	 rng;
	struct snap	*names;
	char		 from[MAXPATH];
	char		 to[MAXPATH];
	char		*why;
	size_t		 size;
	char		*data;
};

static const char *const pool[] = {
	"a", "b", "c", "d", "e", "file.c", "dir", "-rf", ".hidden", "two words",
	"new\nline", "\xff\xfe\x80", "\xc3\x28", "back\\slash", "o", "wal",
	"z\x01\x7f", "%s%n"
};
#define	NPOOL	(sizeof(pool) / sizeof(pool[0]))

uint64_t
chaos_random(uint64_t *state)
{
	uint64_t z;

	z = (*state += 0x9e3779b97f4a7c15U);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
	return (z ^ (z >> 31));
}

uint64_t
chaos_below(uint64_t *state, uint64_t n)
{

	return (chaos_random(state) % n);
}

static uint64_t
below(struct chaos *c, uint64_t n)
{

	return (chaos_below(&c->rng, n));
}

struct chaos *
chaos_new(int rootfd, struct fsops *fs, unsigned int flags)
{
	struct chaos *c;

	if ((c = calloc(1, sizeof(*c))) == NULL ||
	    (c->data = malloc(MAXLARGE)) == NULL)
		abort();
	c->rootfd = rootfd;
	c->fs = fs;
	c->flags = flags;
	return (c);
}

void
chaos_close(struct chaos *c)
{
	size_t i;

	for (i = 0; i < NFILES; i++) {
		fsops_close(c->fs, c->files[i]);
		c->files[i] = NULL;
	}
}

void
chaos_free(struct chaos *c)
{

	if (c == NULL)
		return;
	chaos_close(c);
	free(c->data);
	free(c);
}

static void say(struct chaos *, int, const char *, ...)
    __attribute__((__format__(__printf__, 3, 4)));

/* Describe the operation and what came of it, in printable bytes. */
static void
say(struct chaos *c, int error, const char *fmt, ...)
{
	char buf[600];
	va_list ap;
	size_t i, o;

	if (c->size == 0)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	for (i = o = 0; buf[i] != '\0' && o + 40 < c->size; i++) {
		if (buf[i] >= ' ' && buf[i] < 0x7f)
			c->why[o++] = buf[i];
		else
			o += (size_t)snprintf(c->why + o, 5, "\\x%02x",
			    (unsigned char)buf[i]);
	}
	if (error != 0)
		(void)snprintf(c->why + o, c->size - o, ": %.30s",
		    strerror(error));
	else
		c->why[o] = '\0';
}

/*
 * Choosing.
 */
static bool
type_fits(mode_t mode, char type)
{

	switch (type) {
	case 'd':
		return (S_ISDIR(mode));
	case 'f':
		return (S_ISREG(mode));
	case 'n':
		return (!S_ISDIR(mode));
	default:
		return (true);
	}
}

/* Copy the path of something of ${type} to ${buf}; never the root. */
static bool
pick(struct chaos *c, char type, char *buf)
{
	struct snap_name n;
	size_t i, tries;

	if (snap_count(c->names) < 2)
		return (false);
	for (tries = 0; tries < 20; tries++) {
		i = 1 + below(c, snap_count(c->names) - 1);
		snap_get(c->names, i, &n);
		if (type_fits(n.mode, type) && strlen(n.path) < MAXPATH - 300) {
			strcpy(buf, n.path);
			return (true);
		}
	}
	return (false);
}

static unsigned int
depth(const char *path)
{
	unsigned int n;

	for (n = 0; *path != '\0'; path++)
		n += *path == '/';
	return (n);
}

/* A name that may or may not be taken, in some folder. */
static void
pick_new(struct chaos *c, char *buf)
{
	char name[256];
	size_t n;

	if (below(c, 3) == 0 || !pick(c, 'd', buf) ||
	    (depth(buf) > 12 && (c->flags & CHAOS_DEEP) == 0))
		buf[0] = '\0';
	if (below(c, 40) == 0) {
		memset(name, (int)('A' + below(c, 3)), 255);
		name[255] = '\0';
	} else
		strcpy(name, pool[below(c, NPOOL)]);
	n = strlen(buf);
	(void)snprintf(buf + n, MAXPATH - n, "%s%s", n > 0 ? "/" : "", name);
}

static size_t
make_data(struct chaos *c)
{
	size_t i, len;
	uint64_t kind, w;

	if (c->flags & CHAOS_LARGE && below(c, 6) == 0)
		len = (size_t)below(c, MAXLARGE);
	else if (below(c, 12) == 0)
		len = (size_t)below(c, 200000);
	else
		len = (size_t)below(c, 6000);
	len++;
	kind = below(c, 4);
	w = chaos_random(&c->rng);
	for (i = 0; i < len; i++) {
		if (kind == 0 && i % 8 == 0)
			w = chaos_random(&c->rng);
		c->data[i] = (char)(kind == 1 ? 0 : kind == 2 ?
		    'a' + (int)(i / 64 % 20) : (int)(w >> (i % 8 * 8)));
	}
	return (len);
}

static off_t
pick_offset(struct chaos *c)
{

	switch (below(c, 16)) {
	case 0:
		return ((off_t)below(c, 1 << 20));
	case 1:
		return ((off_t)below(c, 64) * 65536);
	case 2:
		return ((off_t)below(c, 1U << 30));
	case 3:
		return (below(c, 8) == 0 ? (off_t)below(c, 1ULL << 40) : 4096);
	case 4:
	case 5:
		return ((off_t)below(c, 20000));
	default:
		return (0);
	}
}

/* An open file: one of those that are, or one opened for now. */
static struct fsops_file *
file_get(struct chaos *c, size_t *slot)
{
	struct fsops_file *f;

	*slot = below(c, NFILES);
	if (below(c, 3) > 0 && c->files[*slot] != NULL) {
		(void)snprintf(c->from, sizeof(c->from), "<open %zu>", *slot);
		return (c->files[*slot]);
	}
	*slot = NFILES;
	if (!pick(c, 'f', c->from) || fsops_open(c->fs, c->from, &f) != 0)
		return (NULL);
	return (f);
}

static void
file_put(struct chaos *c, struct fsops_file *f, size_t slot)
{

	if (slot == NFILES)
		fsops_close(c->fs, f);
}

/* Keep a file open in some slot, closing the one that was there. */
static void
file_keep(struct chaos *c, struct fsops_file *f)
{
	size_t slot;

	slot = below(c, NFILES);
	fsops_close(c->fs, c->files[slot]);
	c->files[slot] = f;
}

/*
 * Operations on content.
 */
static bool
op_open(struct chaos *c)
{
	struct fsops_file *f;
	int error;

	if (!pick(c, 'f', c->from))
		return (false);
	if ((error = fsops_open(c->fs, c->from, &f)) == 0)
		file_keep(c, f);
	say(c, error, "open %s", c->from);
	return (false);
}

static bool
op_write(struct chaos *c)
{
	struct fsops_file *f;
	size_t len, slot;
	off_t off;
	int error;

	if ((f = file_get(c, &slot)) == NULL)
		return (false);
	len = make_data(c);
	off = pick_offset(c);
	error = fsops_write(c->fs, f, c->data, len, off);
	file_put(c, f, slot);
	say(c, error, "write %s %zu@%jd", c->from, len, (intmax_t)off);
	return (false);
}

static bool
op_truncate(struct chaos *c)
{
	struct fsops_file *f;
	size_t slot;
	off_t size;
	int error;

	size = below(c, 2) == 0 ? pick_offset(c) : (off_t)below(c, 5000);
	if (below(c, 2) == 0) {
		if (!pick(c, 'f', c->from))
			return (false);
		error = fsops_truncate(c->fs, c->from, size);
	} else {
		if ((f = file_get(c, &slot)) == NULL)
			return (false);
		error = fsops_ftruncate(c->fs, f, size);
		file_put(c, f, slot);
	}
	say(c, error, "truncate %s %jd", c->from, (intmax_t)size);
	return (false);
}

static bool
op_open_trunc(struct chaos *c)
{
	struct fsops_file *f;
	int error;

	if (!pick(c, 'f', c->from))
		return (false);
	if ((error = fsops_open_trunc(c->fs, c->from, &f)) == 0)
		file_keep(c, f);
	say(c, error, "open-trunc %s", c->from);
	return (false);
}

static bool
op_allocate(struct chaos *c)
{
	struct fsops_file *f;
	enum plat_alloc how;
	off_t len, off;
	size_t slot;
	int error;

	if ((f = file_get(c, &slot)) == NULL)
		return (false);
	how = (enum plat_alloc)below(c, PLAT_NALLOC);
	off = (off_t)below(c, 8) * 4096;
	len = (off_t)(1 + below(c, 4)) * 4096;
	if (how != PLAT_COLLAPSE && how != PLAT_INSERT && below(c, 2) == 0)
		off += (off_t)below(c, 4096);
	error = fsops_allocate(c->fs, f, how, off, len);
	file_put(c, f, slot);
	say(c, error, "fallocate(%d) %s %jd@%jd", (int)how, c->from,
	    (intmax_t)len, (intmax_t)off);
	return (false);
}

static bool
op_copy(struct chaos *c)
{
	struct fsops_file *f, *g;
	size_t len, slot;
	int error;

	if (!pick(c, 'f', c->to) || fsops_open(c->fs, c->to, &g) != 0)
		return (false);
	if ((f = file_get(c, &slot)) != NULL) {
		len = below(c, 2) == 0 ? (size_t)below(c, 16) * 4096 :
		    (size_t)below(c, 9000);
		error = fsops_copy(c->fs, g, (off_t)below(c, 2) * 4096, f,
		    (off_t)below(c, 4) * 4096, len);
		file_put(c, f, slot);
		say(c, error, "copy %zu from %s to %s", len, c->to, c->from);
	}
	fsops_close(c->fs, g);
	return (false);
}

/*
 * Operations on names.
 */
static bool
op_create(struct chaos *c)
{
	struct fsops_file *f;
	size_t len;
	int error;

	pick_new(c, c->to);
	error = fsops_create(c->fs, c->to, (mode_t)(below(c, 01000) | 0600),
	    &f);
	say(c, error, "create %s", c->to);
	if (error != 0)
		return (false);
	if (below(c, 2) == 0) {
		len = make_data(c);
		(void)fsops_write(c->fs, f, c->data, len, pick_offset(c));
	}
	if (below(c, 3) == 0)
		file_keep(c, f);
	else
		fsops_close(c->fs, f);
	return (true);
}

static bool
op_tmpfile(struct chaos *c)
{
	struct fsops_file *f;
	size_t len;
	int error;

	if (!pick(c, 'd', c->from))
		return (false);
	error = fsops_tmpfile(c->fs, c->from, 0644, &f);
	say(c, error, "tmpfile in %s", c->from);
	if (error != 0)
		return (false);
	len = make_data(c);
	(void)fsops_write(c->fs, f, c->data, len, 0);
	file_keep(c, f);
	return (false);
}

static bool
op_relink(struct chaos *c)
{
	struct fsops_file *f;
	size_t slot;
	int error;

	if ((f = file_get(c, &slot)) == NULL)
		return (false);
	pick_new(c, c->to);
	error = fsops_relink(c->fs, f, c->to);
	file_put(c, f, slot);
	say(c, error, "relink %s as %s", c->from, c->to);
	return (error == 0);
}

static bool
op_mkdir(struct chaos *c)
{
	int error;

	pick_new(c, c->to);
	error = fsops_mkdir(c->fs, c->to,
	    (mode_t)(below(c, 02000) & 01777) | 0700);
	say(c, error, "mkdir %s", c->to);
	return (error == 0);
}

static bool
op_mknod(struct chaos *c)
{
	mode_t mode;
	dev_t dev;
	int error;

	pick_new(c, c->to);
	mode = below(c, 2) == 0 ? S_IFIFO : S_IFSOCK;
	dev = 0;
	if (c->flags & CHAOS_ROOT && below(c, 3) == 0) {
		mode = below(c, 2) == 0 ? S_IFCHR : S_IFBLK;
		dev = plat_dev((unsigned int)below(c, 200) + 1,
		    (unsigned int)below(c, 200));
	}
	error = fsops_mknod(c->fs, c->to,
	    mode | 0600 | (mode_t)below(c, 0100), dev);
	say(c, error, "mknod %o %s", (unsigned int)mode, c->to);
	return (error == 0);
}

static bool
op_symlink(struct chaos *c)
{
	int error;

	if (!pick(c, 'a', c->from) || strlen(c->from) > 2000)
		strcpy(c->from, "../\xff/dangling");
	pick_new(c, c->to);
	error = fsops_symlink(c->fs, c->from, c->to);
	say(c, error, "symlink %s -> %s", c->to, c->from);
	return (error == 0);
}

static bool
op_link(struct chaos *c)
{
	int error;

	if (!pick(c, below(c, 12) == 0 ? 'd' : 'n', c->from))
		return (false);
	pick_new(c, c->to);
	error = fsops_link(c->fs, c->from, c->to);
	say(c, error, "link %s to %s", c->from, c->to);
	return (error == 0);
}

static bool
op_unlink(struct chaos *c)
{
	int error;

	if (!pick(c, below(c, 15) == 0 ? 'd' : 'n', c->from))
		return (false);
	error = fsops_unlink(c->fs, c->from);
	say(c, error, "unlink %s", c->from);
	return (error == 0);
}

static bool
op_rmdir(struct chaos *c)
{
	int error;

	if (!pick(c, below(c, 15) == 0 ? 'n' : 'd', c->from))
		return (false);
	error = fsops_rmdir(c->fs, c->from);
	say(c, error, "rmdir %s", c->from);
	return (error == 0);
}

/* As many files in one folder as it takes to keep them together. */
static bool
op_many(struct chaos *c)
{
	size_t i, len, n;
	int error;

	if (!pick(c, 'd', c->to) || depth(c->to) > 12)
		return (false);
	len = strlen(c->to);
	n = 3 + below(c, 8);
	error = 0;
	for (i = 0; i < n; i++) {
		(void)snprintf(c->to + len, MAXPATH - len, "/%s",
		    pool[below(c, NPOOL)]);
		error = fsops_create(c->fs, c->to, 0644, NULL);
	}
	c->to[len] = '\0';
	say(c, error, "create %zu files in %s", n, c->to);
	return (error == 0);
}

/* Remove the files of a folder, and leave it for what comes next. */
static bool
op_empty(struct chaos *c)
{
	struct snap_name n;
	size_t i, len;
	int error;

	if (!pick(c, 'd', c->from))
		return (false);
	len = strlen(c->from);
	for (i = 1, error = ENOENT; i < snap_count(c->names); i++) {
		snap_get(c->names, i, &n);
		if (strncmp(n.path, c->from, len) == 0 &&
		    n.path[len] == '/' && !S_ISDIR(n.mode) &&
		    strchr(n.path + len + 1, '/') == NULL)
			error = fsops_unlink(c->fs, n.path);
	}
	say(c, error, "unlink %s/*", c->from);
	return (error == 0);
}

/* Remove a folder with all below it, as rm -r does. */
static bool
op_rmtree(struct chaos *c)
{
	struct snap_name n;
	size_t i, len;
	int error;

	if (!pick(c, 'd', c->from))
		return (false);
	len = strlen(c->from);
	error = 0;
	for (i = snap_count(c->names); i-- > 0 && error == 0;) {
		snap_get(c->names, i, &n);
		if (strncmp(n.path, c->from, len) != 0 ||
		    (n.path[len] != '/' && n.path[len] != '\0'))
			continue;
		error = S_ISDIR(n.mode) ? fsops_rmdir(c->fs, n.path) :
		    fsops_unlink(c->fs, n.path);
	}
	say(c, error, "rm -r %s", c->from);
	return (error == 0);
}

static bool
op_rename(struct chaos *c)
{
	unsigned int flags;
	char type;
	int error;

	type = below(c, 2) == 0 ? 'd' : 'a';
	if (!pick(c, type, c->from))
		return (false);
	if (below(c, 2) == 0 || !pick(c, type, c->to))
		pick_new(c, c->to);
	if (depth(c->from) + depth(c->to) > 24 &&
	    (c->flags & CHAOS_DEEP) == 0)
		return (false);
	flags = 0;
	if (below(c, 5) == 0)
		flags = UNDO_NOREPLACE;
	else if (below(c, 3) == 0)
		flags = UNDO_EXCHANGE;
	error = fsops_rename(c->fs, c->from, c->to, flags);
	say(c, error, "rename(%u) %s to %s", flags, c->from, c->to);
	return (false);
}

/*
 * Operations on attributes.
 */
static bool
op_chmod(struct chaos *c)
{
	struct fsops_file *f;
	size_t slot;
	mode_t mode;
	int error;

	mode = (mode_t)below(c, 010000) | 0600;
	if (below(c, 3) == 0) {
		if ((f = file_get(c, &slot)) == NULL)
			return (false);
		error = fsops_fchmod(c->fs, f, mode);
		file_put(c, f, slot);
	} else {
		if (below(c, 15) == 0)
			c->from[0] = '\0';
		else if (!pick(c, 'a', c->from))
			return (false);
		error = fsops_chmod(c->fs, c->from, mode | 0700);
	}
	say(c, error, "chmod %o %s", (unsigned int)mode, c->from);
	return (false);
}

static bool
op_chown(struct chaos *c)
{
	uid_t uid;
	gid_t gid;
	int error;

	if (!pick(c, 'a', c->from))
		return (false);
	uid = c->flags & CHAOS_ROOT ? (uid_t)below(c, 3) * 1000 : getuid();
	gid = c->flags & CHAOS_ROOT ? (gid_t)below(c, 3) * 1001 : getgid();
	error = fsops_chown(c->fs, c->from, uid, gid);
	say(c, error, "chown %ju:%ju %s", (uintmax_t)uid, (uintmax_t)gid,
	    c->from);
	return (false);
}

static bool
op_utimens(struct chaos *c)
{
	struct timespec t[2];
	int error;

	if (below(c, 15) == 0)
		c->from[0] = '\0';
	else if (!pick(c, 'a', c->from))
		return (false);
	t[0].tv_sec = t[1].tv_sec = (time_t)below(c, 4000000000U);
	t[0].tv_nsec = t[1].tv_nsec = (long)below(c, 1000000000);
	error = fsops_utimens(c->fs, c->from, t);
	say(c, error, "utimens %s", c->from);
	return (false);
}

static bool
op_xattr(struct chaos *c)
{
	static const char *const attrs[] = {
		"user.one", "user.two", "user.with space", "trusted.t"
	};
	const char *attr;
	unsigned char val[4096];
	struct snap_name n;
	size_t i, len;
	int error;

	if (snap_count(c->names) < 2)
		return (false);
	i = below(c, snap_count(c->names));
	snap_get(c->names, i, &n);
	attr = attrs[below(c, c->flags & CHAOS_ROOT ? 4 : 3)];
	len = below(c, 10) == 0 ? (size_t)below(c, 3000) : below(c, 40);
	for (i = 0; i < len; i++)
		val[i] = (unsigned char)chaos_random(&c->rng);
	if (c->flags & CHAOS_ROOT && below(c, 3) == 0)
		(void)plat_xattr_special(S_ISDIR(n.mode),
		    (unsigned int)below(c, 4), &attr, val, &len);
	if (below(c, 3) == 0)
		error = fsops_removexattr(c->fs, n.path, attr);
	else
		error = fsops_setxattr(c->fs, n.path, attr, val, len);
	say(c, error, "xattr %s of %s, %zu", attr, n.path, len);
	return (false);
}

static const struct {
	unsigned int	  weight;
	bool		(*op)(struct chaos *);
} ops[] = {
	{ 10, op_create },
	{ 4, op_open },
	{ 12, op_write },
	{ 5, op_truncate },
	{ 3, op_open_trunc },
	{ 4, op_allocate },
	{ 3, op_copy },
	{ 1, op_tmpfile },
	{ 2, op_relink },
	{ 6, op_mkdir },
	{ 3, op_mknod },
	{ 4, op_symlink },
	{ 7, op_link },
	{ 10, op_unlink },
	{ 4, op_rmdir },
	{ 2, op_rmtree },
	{ 4, op_many },
	{ 3, op_empty },
	{ 14, op_rename },
	{ 4, op_chmod },
	{ 4, op_chown },
	{ 4, op_utimens },
	{ 6, op_xattr },
};

bool
chaos_op(struct chaos *c, uint64_t seed, char *why, size_t size)
{
	unsigned int how, i, sum, w;
	bool sure;

	c->rng = seed;
	c->why = why;
	c->size = size;
	if (size > 0)
		why[0] = '\0';
	how = (unsigned int)below(c, 8);
	fsops_how(c->fs, how | (below(c, 10) == 0 ? FSOPS_UNCHECKED : 0));
	if (below(c, 30) == 0)
		fsops_forget(c->fs);
	if ((c->names = snap_names(c->rootfd)) == NULL) {
		say(c, errno, "can't read the folder");
		return (false);
	}
	for (i = sum = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		sum += ops[i].weight;
	w = (unsigned int)below(c, sum);
	for (i = 0; w >= ops[i].weight; i++)
		w -= ops[i].weight;
	sure = ops[i].op(c);
	snap_free(c->names);
	c->names = NULL;
	return (sure);
}

/* A chain of folders with long names, deeper than a path can say. */
static void
fill_deep(struct chaos *c)
{
	char path[MAXPATH];
	size_t i, len;

	for (i = len = 0; i < 26; i++) {
		if (i > 0)
			path[len++] = '/';
		memset(path + len, (int)('a' + i), 200);
		len += 200;
		path[len] = '\0';
		(void)fsops_mkdir(c->fs, path, 0755);
	}
	strcpy(path + len, "/bottom");
	(void)fsops_create(c->fs, path, 0644, NULL);
}

void
chaos_fill(struct chaos *c, uint64_t seed)
{
	struct timespec t[2];
	struct snap_name n;
	struct snap *names;
	size_t i;

	if (c->flags & CHAOS_DEEP)
		fill_deep(c);
	for (i = 0; i < 40; i++)
		(void)chaos_op(c, seed + i * 7919, NULL, 0);
	c->rng = seed;
	if ((names = snap_names(c->rootfd)) == NULL)
		return;
	for (i = snap_count(names); i-- > 0;) {
		snap_get(names, i, &n);
		t[0].tv_sec = t[1].tv_sec = (time_t)below(c, 1500000000);
		t[0].tv_nsec = t[1].tv_nsec = (long)below(c, 1000000000);
		(void)fsops_utimens(c->fs, n.path, t);
	}
	snap_free(names);
}
