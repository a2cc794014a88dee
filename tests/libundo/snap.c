/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Pictures of folders for comparison.  Walks by descriptors, so paths of any
 * depth work, and reads only the data of sparse files.
 */

#include <sys/types.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plat.h"
#include "snap.h"

#define	BLOCK		4096
#define	HEAD		256
#define	MAXDIFFS	8

struct range {
	off_t		 from;
	off_t		 to;
};

struct entry {
	char		*path;
	struct stat	 sb;
	uint64_t	 hash[2];	/* of blocks that are not zero */
	char		*text;		/* symlink target or first bytes */
	size_t		 textlen;
	char		*xattrs;	/* "name=hex\n", sorted */
	struct range	*holes;
	size_t		 nholes;
	size_t		 leader;	/* first entry of the same inode */
	uint64_t	 names;
};

struct snap {
	struct entry	*e;
	size_t		 n;
	size_t		 room;
	uint64_t	 slack;
	bool		 light;
};

static uint64_t
mix(uint64_t x)
{

	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93U;
	x ^= x >> 29;
	x *= 0x9fb21c651e98df25U;
	x ^= x >> 32;
	return (x);
}

static void
hash_add(uint64_t *h, uint64_t w)
{

	h[0] = mix(h[0] ^ w);
	h[1] = mix(h[1] + w * 0x9e3779b97f4a7c15U);
}

static bool
is_zero(const char *p, size_t n)
{

	return (n == 0 || (*p == 0 && memcmp(p, p + 1, n - 1) == 0));
}

/* Hash a block with its place, unless it reads as a hole would. */
static void
hash_block(struct entry *e, uint64_t off, const char *p, size_t n)
{
	uint64_t w;
	size_t i;

	if (is_zero(p, n))
		return;
	hash_add(e->hash, off);
	for (i = 0; i < n; i += sizeof(w)) {
		w = 0;
		memcpy(&w, p + i, n - i < sizeof(w) ? n - i : sizeof(w));
		hash_add(e->hash, w);
	}
}

static int
hole_add(struct entry *e, off_t from, off_t to)
{
	struct range *r;

	from = (from + BLOCK - 1) & ~(off_t)(BLOCK - 1);
	if (to != e->sb.st_size)
		to &= ~(off_t)(BLOCK - 1);
	if (from >= to)
		return (0);
	if ((r = realloc(e->holes, (e->nholes + 1) * sizeof(*r))) == NULL)
		return (-1);
	e->holes = r;
	r[e->nholes].from = from;
	r[e->nholes++].to = to;
	return (0);
}

static int
data_hash(struct entry *e, int fd, off_t off, off_t end)
{
	static _Thread_local char buf[16 * BLOCK];
	ssize_t n;
	size_t i, m;

	/* Whole blocks, each of them once. */
	off &= ~(off_t)(BLOCK - 1);
	end = (end + BLOCK - 1) & ~(off_t)(BLOCK - 1);
	while (off < end) {
		m = (uint64_t)(end - off) < sizeof(buf) ?
		    (size_t)(end - off) : sizeof(buf);
		if ((n = pread(fd, buf, m, off)) == -1)
			return (-1);
		if (n == 0)
			break;
		if (off == 0 && e->text == NULL) {
			e->textlen = (size_t)n < HEAD ? (size_t)n : HEAD;
			if ((e->text = malloc(HEAD)) == NULL)
				return (-1);
			memcpy(e->text, buf, e->textlen);
		}
		for (i = 0; i < (size_t)n; i += m) {
			m = (size_t)n - i < BLOCK ? (size_t)n - i : BLOCK;
			hash_block(e, (uint64_t)off + i, buf + i, m);
		}
		off += n;
	}
	return (0);
}

static int
take_content(struct entry *e, int dirfd, const char *name)
{
	off_t data, hole, off;
	int fd;

	fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	for (off = 0; off < e->sb.st_size; off = hole) {
		if ((data = lseek(fd, off, SEEK_DATA)) == -1) {
			if (errno != ENXIO)
				goto err0;
			data = e->sb.st_size;
		}
		if (hole_add(e, off, data) == -1)
			goto err0;
		if (data >= e->sb.st_size)
			break;
		if ((hole = lseek(fd, data, SEEK_HOLE)) == -1)
			goto err0;
		if (data_hash(e, fd, data, hole) == -1)
			goto err0;
	}
	(void)close(fd);
	return (0);

err0:
	(void)close(fd);
	return (-1);
}

static int
compare_strings(const void *a, const void *b)
{

	return (strcmp(*(const char *const *)a, *(const char *const *)b));
}

static int
xattr_print(FILE *f, int dirfd, const char *name, const char *attr)
{
	static _Thread_local unsigned char val[65536];
	ssize_t i, n;

	if ((n = plat_xattr_get(dirfd, name, attr, val, sizeof(val))) == -1)
		return (-1);
	(void)fprintf(f, "%s=", attr);
	for (i = 0; i < n; i++)
		(void)fprintf(f, "%02x", val[i]);
	(void)fprintf(f, "\n");
	return (0);
}

static int
take_xattrs(struct entry *e, int dirfd, const char *name)
{
	static _Thread_local char list[65536];
	const char *names[256];
	size_t i, n, size;
	ssize_t len;
	char *p;
	FILE *f;

	len = plat_xattr_list(dirfd, name, list, sizeof(list));
	if (len == -1)
		return (errno == ENOTSUP ? 0 : -1);
	if (len == 0)
		return (0);
	for (n = 0, p = list; p < list + len && n < 256; p += strlen(p) + 1)
		names[n++] = p;
	qsort(names, n, sizeof(names[0]), compare_strings);
	if ((f = open_memstream(&e->xattrs, &size)) == NULL)
		return (-1);
	for (i = 0; i < n; i++)
		if (xattr_print(f, dirfd, name, names[i]) == -1) {
			(void)fclose(f);
			return (-1);
		}
	return (fclose(f));
}

static int
take_details(struct entry *e, int dirfd, const char *name)
{
	ssize_t n;

	if (S_ISREG(e->sb.st_mode)) {
		if (take_content(e, dirfd, name) == -1)
			return (-1);
	} else if (S_ISLNK(e->sb.st_mode)) {
		if ((e->text = malloc(BLOCK)) == NULL)
			return (-1);
		if ((n = readlinkat(dirfd, name, e->text, BLOCK)) == -1)
			return (-1);
		e->textlen = (size_t)n;
	}
	return (take_xattrs(e, dirfd, name));
}

static struct entry *
entry_new(struct snap *t, const char *dir, const char *name)
{
	struct entry *e;
	size_t n;

	if (t->n == t->room) {
		t->room = t->room == 0 ? 32 : t->room * 2;
		if ((e = realloc(t->e, t->room * sizeof(*e))) == NULL)
			return (NULL);
		t->e = e;
	}
	e = &t->e[t->n];
	memset(e, 0, sizeof(*e));
	n = strlen(dir) + strlen(name) + 2;
	if ((e->path = malloc(n)) == NULL)
		return (NULL);
	(void)snprintf(e->path, n, "%s%s%s", dir, *dir == '\0' ? "" : "/",
	    name);
	t->n++;
	return (e);
}

static int walk(struct snap *, int, const char *);

static int
take_entry(struct snap *t, int dirfd, const char *dir, const char *name)
{
	struct entry *e;
	char *path;
	int error, fd;

	if ((e = entry_new(t, dir, name)) == NULL)
		return (-1);
	path = e->path;
	if (fstatat(dirfd, name, &e->sb, AT_SYMLINK_NOFOLLOW) == -1)
		return (-1);
	if (!t->light && take_details(e, dirfd, name) == -1)
		return (-1);
	if (!S_ISDIR(e->sb.st_mode))
		return (0);
	fd = openat(dirfd, name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	error = walk(t, fd, path);
	(void)close(fd);
	return (error);
}

static int
walk(struct snap *t, int fd, const char *path)
{
	struct dirent *de;
	DIR *d;
	int error, nfd;

	if ((nfd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (-1);
	if ((d = fdopendir(nfd)) == NULL) {
		(void)close(nfd);
		return (-1);
	}
	for (error = 0; error == 0;) {
		errno = 0;
		if ((de = readdir(d)) == NULL) {
			error = errno == 0 ? 0 : -1;
			break;
		}
		if (strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0)
			continue;
		error = take_entry(t, fd, path, de->d_name);
	}
	nfd = errno;
	(void)closedir(d);
	errno = nfd;
	return (error);
}

static int
compare_paths(const void *a, const void *b)
{

	return (strcmp(((const struct entry *)a)->path,
	    ((const struct entry *)b)->path));
}

struct inode {
	uint64_t	dev, ino;
	size_t		i;
};

static int
compare_inodes(const void *va, const void *vb)
{
	const struct inode *a = va, *b = vb;

	if (a->dev != b->dev)
		return (a->dev < b->dev ? -1 : 1);
	if (a->ino != b->ino)
		return (a->ino < b->ino ? -1 : 1);
	return (a->i < b->i ? -1 : a->i > b->i);
}

/* Find out which names are one file. */
static int
group(struct snap *t)
{
	struct inode *v;
	size_t i, j, k;

	if ((v = malloc(t->n * sizeof(*v))) == NULL)
		return (-1);
	for (i = 0; i < t->n; i++) {
		v[i].dev = (uint64_t)t->e[i].sb.st_dev;
		v[i].ino = (uint64_t)t->e[i].sb.st_ino;
		v[i].i = i;
	}
	qsort(v, t->n, sizeof(*v), compare_inodes);
	for (i = 0; i < t->n; i = j) {
		for (j = i; j < t->n && v[j].dev == v[i].dev &&
		    v[j].ino == v[i].ino; j++)
			;
		for (k = i; k < j; k++) {
			t->e[v[k].i].leader = v[i].i;
			t->e[v[k].i].names = j - i;
		}
	}
	free(v);
	return (0);
}

static struct snap *
take(int fd, bool light)
{
	struct snap *t;
	struct entry *e;

	if ((t = calloc(1, sizeof(*t))) == NULL)
		return (NULL);
	t->light = light;
	if ((e = entry_new(t, "", "")) == NULL || fstat(fd, &e->sb) == -1 ||
	    (!light && take_xattrs(e, fd, "") == -1))
		goto err0;
	if (walk(t, fd, "") == -1)
		goto err0;
	qsort(t->e, t->n, sizeof(*t->e), compare_paths);
	if (group(t) == -1)
		goto err0;
	return (t);

err0:
	snap_free(t);
	return (NULL);
}

struct snap *
snap_take(int fd)
{

	return (take(fd, false));
}

struct snap *
snap_names(int fd)
{

	return (take(fd, true));
}

void
snap_free(struct snap *t)
{
	size_t i;

	if (t == NULL)
		return;
	for (i = 0; i < t->n; i++) {
		free(t->e[i].path);
		free(t->e[i].text);
		free(t->e[i].xattrs);
		free(t->e[i].holes);
	}
	free(t->e);
	free(t);
}

void
snap_loose(struct snap *t, uint64_t slack)
{

	t->slack = slack;
}

size_t
snap_count(const struct snap *t)
{

	return (t->n);
}

void
snap_get(const struct snap *t, size_t i, struct snap_name *n)
{
	const struct entry *e = &t->e[i];

	n->path = e->path;
	n->mode = e->sb.st_mode;
	n->dev = (uint64_t)e->sb.st_dev;
	n->ino = (uint64_t)e->sb.st_ino;
	n->nlink = (uint64_t)e->sb.st_nlink;
	n->names = e->names;
	n->size = (uint64_t)e->sb.st_size;
}

/* The index of ${path}, or the number of names. */
static size_t
look_up(const struct snap *t, const char *path)
{
	size_t hi, lo, mid;
	int c;

	for (lo = 0, hi = t->n; lo < hi;) {
		mid = lo + (hi - lo) / 2;
		if ((c = strcmp(path, t->e[mid].path)) == 0)
			return (mid);
		if (c < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return (t->n);
}

bool
snap_has(const struct snap *t, const char *path, struct snap_name *n)
{
	size_t i;

	if ((i = look_up(t, path)) == t->n)
		return (false);
	if (n != NULL)
		snap_get(t, i, n);
	return (true);
}

const char *
snap_path(const struct snap *t, uint64_t dev, uint64_t ino)
{
	size_t i;

	for (i = 0; i < t->n; i++)
		if ((uint64_t)t->e[i].sb.st_dev == dev &&
		    (uint64_t)t->e[i].sb.st_ino == ino)
			return (t->e[i].path);
	return (NULL);
}

/*
 * Comparison.
 */
struct diff {
	char		*why;
	size_t		 size;
	size_t		 len;
	unsigned int	 n;
};

/* Names with bytes that a terminal would not like, cut when very long. */
static const char *
printable(const char *s, size_t len, char *buf, size_t size)
{
	size_t i, o;

	for (i = o = 0; i < len && o + 8 < size; i++) {
		if (s[i] > ' ' && s[i] < 0x7f && s[i] != '\\')
			buf[o++] = s[i];
		else
			o += (size_t)snprintf(buf + o, 5, "\\x%02x",
			    (unsigned char)s[i]);
	}
	(void)snprintf(buf + o, size - o, "%s", i < len ? "..." : "");
	return (buf);
}

static void differ(struct diff *, const struct entry *, const char *, ...)
    __attribute__((__format__(__printf__, 3, 4)));

static void
differ(struct diff *d, const struct entry *e, const char *fmt, ...)
{
	char name[96];
	va_list ap;
	int n;

	if (d->n++ >= MAXDIFFS || d->len >= d->size)
		return;
	n = snprintf(d->why + d->len, d->size - d->len, "%s\"%s\": ",
	    d->len == 0 ? "" : "; ",
	    printable(e->path, strlen(e->path), name, sizeof(name)));
	d->len += (size_t)n;
	if (d->len >= d->size)
		return;
	va_start(ap, fmt);
	n = vsnprintf(d->why + d->len, d->size - d->len, fmt, ap);
	va_end(ap);
	d->len += (size_t)n;
}

/* Bytes of holes of ${a} that ${b} has filled. */
static uint64_t
filled(const struct entry *a, const struct entry *b)
{
	off_t from, to;
	uint64_t lost;
	size_t i, j;

	lost = 0;
	for (i = j = 0; i < a->nholes; i++) {
		from = a->holes[i].from;
		to = a->holes[i].to;
		while (from < to) {
			while (j < b->nholes && b->holes[j].to <= from)
				j++;
			if (j == b->nholes || b->holes[j].from >= to) {
				lost += (uint64_t)(to - from);
				break;
			}
			if (b->holes[j].from > from)
				lost += (uint64_t)(b->holes[j].from - from);
			from = b->holes[j].to;
		}
	}
	return (lost);
}

/*
 * Space that was reserved and not written reads like a hole; to fill that is
 * no harm, as long as the file takes no more space than before.
 */
static void
same_content(struct diff *d, const struct entry *a, const struct entry *b,
    uint64_t slack)
{
	char abuf[64], bbuf[64];
	uint64_t lost;

	if (a->sb.st_size != b->sb.st_size)
		differ(d, a, "size %jd, is %jd", (intmax_t)a->sb.st_size,
		    (intmax_t)b->sb.st_size);
	if (memcmp(a->hash, b->hash, sizeof(a->hash)) != 0)
		differ(d, a, "content differs (began %s, is %s)",
		    printable(a->text, a->textlen, abuf, sizeof(abuf)),
		    printable(b->text, b->textlen, bbuf, sizeof(bbuf)));
	else if ((lost = filled(a, b)) > slack &&
	    b->sb.st_blocks > a->sb.st_blocks)
		differ(d, a, "%ju bytes of holes were filled (first hole "
		    "%jd-%jd, of %zu; has %zu)", (uintmax_t)lost,
		    (intmax_t)a->holes[0].from, (intmax_t)a->holes[0].to,
		    a->nholes, b->nholes);
}

static bool
same_text(const char *a, const char *b)
{

	if (a == NULL || b == NULL)
		return (a == b);
	return (strcmp(a, b) == 0);
}

static void
same_meta(struct diff *d, const struct entry *a, const struct entry *b)
{

	if ((a->sb.st_mode & 07777) != (b->sb.st_mode & 07777))
		differ(d, a, "mode %04o, is %04o",
		    (unsigned int)(a->sb.st_mode & 07777),
		    (unsigned int)(b->sb.st_mode & 07777));
	if (a->sb.st_uid != b->sb.st_uid || a->sb.st_gid != b->sb.st_gid)
		differ(d, a, "owner %ju:%ju, is %ju:%ju",
		    (uintmax_t)a->sb.st_uid, (uintmax_t)a->sb.st_gid,
		    (uintmax_t)b->sb.st_uid, (uintmax_t)b->sb.st_gid);
	if (a->sb.st_mtim.tv_sec != b->sb.st_mtim.tv_sec ||
	    a->sb.st_mtim.tv_nsec != b->sb.st_mtim.tv_nsec)
		differ(d, a, "mtime %jd.%09ld, is %jd.%09ld",
		    (intmax_t)a->sb.st_mtim.tv_sec, a->sb.st_mtim.tv_nsec,
		    (intmax_t)b->sb.st_mtim.tv_sec, b->sb.st_mtim.tv_nsec);
	if (!same_text(a->xattrs, b->xattrs))
		differ(d, a, "attributes [%s], are [%s]",
		    a->xattrs != NULL ? a->xattrs : "",
		    b->xattrs != NULL ? b->xattrs : "");
}

static void
same_entry(struct diff *d, const struct snap *ta, const struct entry *a,
    const struct snap *tb, const struct entry *b)
{
	char abuf[96], bbuf[96];
	const char *al, *bl;

	if ((a->sb.st_mode & S_IFMT) != (b->sb.st_mode & S_IFMT)) {
		differ(d, a, "type %07o, is %07o",
		    (unsigned int)(a->sb.st_mode & S_IFMT),
		    (unsigned int)(b->sb.st_mode & S_IFMT));
		return;
	}
	same_meta(d, a, b);
	if (S_ISREG(a->sb.st_mode))
		same_content(d, a, b, ta->slack);
	else if (S_ISLNK(a->sb.st_mode) && (a->textlen != b->textlen ||
	    memcmp(a->text, b->text, a->textlen) != 0))
		differ(d, a, "link to %s, is to %s",
		    printable(a->text, a->textlen, abuf, sizeof(abuf)),
		    printable(b->text, b->textlen, bbuf, sizeof(bbuf)));
	else if ((S_ISCHR(a->sb.st_mode) || S_ISBLK(a->sb.st_mode)) &&
	    a->sb.st_rdev != b->sb.st_rdev)
		differ(d, a, "another device");
	al = ta->e[a->leader].path;
	bl = tb->e[b->leader].path;
	if (strcmp(al, bl) != 0 || a->names != b->names)
		differ(d, a, "one of %ju names with \"%s\", is one of %ju "
		    "with \"%s\"", (uintmax_t)a->names,
		    printable(al, strlen(al), abuf, sizeof(abuf)),
		    (uintmax_t)b->names,
		    printable(bl, strlen(bl), bbuf, sizeof(bbuf)));
}

bool
snap_same(const struct snap *a, const struct snap *b, char *why, size_t size)
{
	struct diff d = { .why = why, .size = size };
	size_t i, j;
	int c;

	if (size > 0)
		why[0] = '\0';
	for (i = j = 0; i < a->n || j < b->n;) {
		c = i == a->n ? 1 : j == b->n ? -1 :
		    strcmp(a->e[i].path, b->e[j].path);
		if (c < 0)
			differ(&d, &a->e[i++], "is missing");
		else if (c > 0)
			differ(&d, &b->e[j++], "should not exist");
		else {
			same_entry(&d, a, &a->e[i], b, &b->e[j]);
			i++;
			j++;
		}
	}
	return (d.n == 0);
}

bool
snap_same_at(const struct snap *a, const struct snap *b, const char *path)
{
	struct diff d = { .why = NULL };
	size_t i, j;

	if ((i = look_up(a, path)) == a->n || (j = look_up(b, path)) == b->n)
		return (false);
	same_entry(&d, a, &a->e[i], b, &b->e[j]);
	return (d.n == 0);
}
