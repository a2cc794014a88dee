/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Arbitrary bytes as a 9P client.  The first byte chooses: a message for the
 * decoder alone, a raw stream for the server, a stream behind a good
 * beginning (Tversion, Tattach), or a program that is made into well-formed
 * requests.  The server serves a folder of its own; it must answer every
 * whole request with a message that decodes, release all that it took, and
 * leave alone what lies beside the folder.
 */

#include <sys/stat.h>
#include <sys/uio.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"
#include "p9.h"
#include "p9_wire.h"
#include "share.h"

#define	STREAM_MAX	(256 * 1024)
#define	FIDS		8

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);
int LLVMFuzzerInitialize(int *, char ***);

static struct share	*the_share;
static int		 outside = -1;
static int		 tree = -1;
static struct stat	 outside_st;
static struct stat	 canary_st;
static char		 path[] = "/tmp/p9fuzzXXXXXX";

/* The client's end: what it says, and what it has heard. */
struct peer {
	uint8_t	*say;
	size_t	 len;
	size_t	 at;
	size_t	 piece;		/* given at a time */
	uint8_t	*heard;
	size_t	 nheard;
	size_t	 cap;
};

static void
fail(const char *what)
{

	fprintf(stderr, "p9_fuzz: %s\n", what);
	abort();
}

static void
empty_dir(int dir)
{
	struct dirent *d;
	DIR *dp;
	int fd;

	dp = fdopendir(dup(dir));
	if (dp == NULL)
		fail("fdopendir");
	rewinddir(dp);
	while ((d = readdir(dp)) != NULL) {
		if (strcmp(d->d_name, ".") == 0 ||
		    strcmp(d->d_name, "..") == 0)
			continue;
		if (unlinkat(dir, d->d_name, 0) == 0)
			continue;
		fchmodat(dir, d->d_name, 0700, 0);
		fd = openat(dir, d->d_name, O_RDONLY | O_DIRECTORY |
		    O_NOFOLLOW);
		if (fd != -1) {
			empty_dir(fd);
			close(fd);
		}
		if (unlinkat(dir, d->d_name, AT_REMOVEDIR) != 0)
			fail("the folder can't be emptied");
	}
	closedir(dp);
}

static void
cleanup(void)
{

	if (tree != -1)
		empty_dir(tree);
	if (outside != -1) {
		unlinkat(outside, "tree", AT_REMOVEDIR);
		unlinkat(outside, "canary", 0);
	}
	rmdir(path);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct co_error e;
	int fd;

	(void)argc;
	(void)argv;
	if (mkdtemp(path) == NULL)
		fail("mkdtemp");
	outside = open(path, O_RDONLY | O_DIRECTORY);
	if (outside == -1 || mkdirat(outside, "tree", 0755) != 0)
		fail("mkdir");
	tree = openat(outside, "tree", O_RDONLY | O_DIRECTORY);
	fd = openat(outside, "canary", O_WRONLY | O_CREAT, 0600);
	if (tree == -1 || fd == -1 || write(fd, "bird", 4) != 4)
		fail("canary");
	close(fd);
	atexit(cleanup);
	fstat(outside, &outside_st);
	fstatat(outside, "canary", &canary_st, 0);
	if (share_open(tree, NULL, NULL, &the_share, &e) != 0)
		fail(e.message);
	return (0);
}

/* A little of everything, as at the start of every input. */
static void
furnish(void)
{
	int fd;

	empty_dir(tree);
	fchmod(tree, 0755);
	fd = openat(tree, "f", O_WRONLY | O_CREAT, 0644);
	if (fd == -1 || write(fd, "0123456789", 10) != 10)
		fail("furnish");
	close(fd);
	mkdirat(tree, "d", 0755);
	symlinkat("../canary", tree, "l");
}

static void
check_outside(void)
{
	struct stat a, b;

	if (fstat(outside, &a) != 0 ||
	    fstatat(outside, "canary", &b, AT_SYMLINK_NOFOLLOW) != 0)
		fail("the outside is gone");
	if (a.st_mtim.tv_sec != outside_st.st_mtim.tv_sec ||
	    a.st_mtim.tv_nsec != outside_st.st_mtim.tv_nsec ||
	    b.st_ctim.tv_sec != canary_st.st_ctim.tv_sec ||
	    b.st_ctim.tv_nsec != canary_st.st_ctim.tv_nsec ||
	    b.st_ino != canary_st.st_ino)
		fail("something changed outside");
}

static ssize_t
peer_readv(void *arg, const struct iovec *iov, int n)
{
	struct peer *p = arg;
	size_t done = 0, take;

	for (int i = 0; i < n && done < p->piece; i++) {
		take = iov[i].iov_len;
		if (take > p->piece - done)
			take = p->piece - done;
		if (take > p->len - p->at)
			take = p->len - p->at;
		memcpy(iov[i].iov_base, p->say + p->at, take);
		p->at += take;
		done += take;
	}
	return ((ssize_t)done);
}

static ssize_t
peer_writev(void *arg, const struct iovec *iov, int n)
{
	struct peer *p = arg;
	size_t done = 0;

	for (int i = 0; i < n; i++) {
		while (p->nheard + iov[i].iov_len > p->cap) {
			p->cap = p->cap * 2 + 4096;
			p->heard = realloc(p->heard, p->cap);
			if (p->heard == NULL)
				fail("memory");
		}
		memcpy(p->heard + p->nheard, iov[i].iov_base,
		    iov[i].iov_len);
		p->nheard += iov[i].iov_len;
		done += iov[i].iov_len;
	}
	return ((ssize_t)done);
}

static void
peer_stop(void *arg, bool now)
{

	(void)arg;
	(void)now;
}

/* How many whole messages there are; all must be replies. */
static size_t
count_replies(const uint8_t *p, size_t len)
{
	struct p9_msg m;
	size_t n = 0, size;

	for (; len > 0; p += size, len -= size, n++) {
		if (len < 4)
			fail("a reply is cut");
		size = p9_size(p);
		if (size > len || p9_decode(p, size, &m) != 0)
			fail("a reply does not decode");
		if (m.type % 2 == 0)
			fail("a reply is a request");
	}
	return (n);
}

static size_t
count_requests(const uint8_t *p, size_t len)
{
	size_t n = 0, size;

	for (; len >= 4; p += size, len -= size, n++) {
		size = p9_size(p);
		if (size < P9_HEADER || size > len)
			break;
	}
	return (n);
}

static void
check_released(void)
{
	struct share_stats st;

	share_stats(the_share, &st);
	if (st.nodes != 1 || st.files != 0 || st.dirs != 0 || st.locks != 0)
		fail("something is left open");
}

static void
serve(uint8_t *say, size_t len, size_t piece)
{
	struct p9_options o = { .threads = 1, .msize = 65536,
	    .max_fids = 64, .max_xattr = 300000 };
	struct peer peer = { .say = say, .len = len, .piece = piece };
	struct p9_stream st = { peer_readv, peer_writev, peer_stop, NULL,
	    &peer };
	struct co_error e;
	struct p9 *p;
	int result;

	furnish();
	if (p9_new(the_share, &o, &st, &p, &e) != 0)
		fail(e.message);
	result = p9_serve(p, &e);
	p9_free(p);
	if (result != 0 && e.message[0] == '\0')
		fail("an error without a word");
	/* Requests after one of a wrong length are not read. */
	if (count_replies(peer.heard, peer.nheard) >
	    count_requests(say, len) || (result == 0 &&
	    count_replies(peer.heard, peer.nheard) !=
	    count_requests(say, len)))
		fail("not as many replies as requests");
	free(peer.heard);
	check_released();
	check_outside();
}

static void
decode_only(const uint8_t *data, size_t size)
{
	struct p9_msg m;
	uint8_t *copy, *again;
	size_t len;

	copy = malloc(size + 1);
	again = malloc(size + 8);
	if (copy == NULL || again == NULL)
		fail("memory");
	memcpy(copy, data, size);
	if (size >= 4) {
		copy[0] = (uint8_t)size;
		copy[1] = (uint8_t)(size >> 8);
		copy[2] = (uint8_t)(size >> 16);
		copy[3] = (uint8_t)(size >> 24);
	}
	if (p9_decode(copy, size, &m) == 0) {
		if (p9_encode(&m, again, size + 8, &len) != 0)
			fail("what decodes does not encode");
		if (!(m.type == P9_TFSYNC && size == 11) &&
		    (len != size || memcmp(copy, again, len) != 0))
			fail("it encodes to other bytes");
	}
	free(copy);
	free(again);
}

/* A program: bytes that are taken from the front, zero at the end. */
struct prog {
	const uint8_t	*p;
	size_t		 left;
};

static uint8_t
byte(struct prog *g)
{

	if (g->left == 0)
		return (0);
	g->left--;
	return (*g->p++);
}

static uint32_t
word(struct prog *g)
{
	uint32_t v = byte(g);

	/* Mostly small. */
	if (v >= 0xf0)
		for (int i = 0; i < 4; i++)
			v = v << 8 | byte(g);
	return (v);
}

static struct p9_str
name(struct prog *g)
{
	static const char *const names[] = { "f", "d", "l", "a", "b", "..",
	    ".", "", "a/b", "../canary", "user.x", "user.y",
	    "security.capability", "system.posix_acl_access", "/", "f" };
	uint8_t b = byte(g);
	struct p9_str s;

	if (b & 0x80) {
		s.len = b & 0x7f;
		if (s.len > g->left)
			s.len = (uint16_t)g->left;
		s.s = (const char *)g->p;
		g->p += s.len;
		g->left -= s.len;
		return (s);
	}
	s.s = names[b & 15];
	s.len = (uint16_t)strlen(s.s);
	return (s);
}

static uint32_t
fid(struct prog *g)
{

	return (byte(g) % FIDS);
}

static void
make_name_request(struct p9_msg *m, struct prog *g)
{

	switch (m->type) {
	case P9_TLCREATE:
		m->tlcreate.fid = fid(g);
		m->tlcreate.name = name(g);
		m->tlcreate.flags = word(g);
		m->tlcreate.mode = word(g);
		break;
	case P9_TSYMLINK:
		m->tsymlink.fid = fid(g);
		m->tsymlink.name = name(g);
		m->tsymlink.symtgt = name(g);
		break;
	case P9_TMKNOD:
		m->tmknod.dfid = fid(g);
		m->tmknod.name = name(g);
		m->tmknod.mode = (uint32_t)byte(g) << 12 | byte(g);
		m->tmknod.major = word(g);
		break;
	case P9_TRENAME:
		m->trename.fid = fid(g);
		m->trename.dfid = fid(g);
		m->trename.name = name(g);
		break;
	case P9_TLINK:
		m->tlink.dfid = fid(g);
		m->tlink.fid = fid(g);
		m->tlink.name = name(g);
		break;
	case P9_TMKDIR:
		m->tmkdir.dfid = fid(g);
		m->tmkdir.name = name(g);
		m->tmkdir.mode = 0700 | byte(g);
		break;
	case P9_TRENAMEAT:
		m->trenameat.olddirfid = fid(g);
		m->trenameat.oldname = name(g);
		m->trenameat.newdirfid = fid(g);
		m->trenameat.newname = name(g);
		break;
	case P9_TUNLINKAT:
		m->tunlinkat.dirfid = fid(g);
		m->tunlinkat.name = name(g);
		m->tunlinkat.flags = byte(g) & 1 ? P9_AT_REMOVEDIR : 0;
		break;
	}
}

static void
make_attr_request(struct p9_msg *m, struct prog *g)
{

	switch (m->type) {
	case P9_TSETATTR:
		m->tsetattr.fid = fid(g);
		m->tsetattr.valid = word(g);
		m->tsetattr.mode = 0700 | byte(g);
		m->tsetattr.uid = word(g);
		m->tsetattr.gid = word(g);
		m->tsetattr.size = word(g);
		m->tsetattr.atime_sec = word(g);
		m->tsetattr.mtime_nsec = word(g);
		break;
	case P9_TXATTRWALK:
		m->txattrwalk.fid = fid(g);
		m->txattrwalk.newfid = fid(g);
		m->txattrwalk.name = name(g);
		break;
	case P9_TXATTRCREATE:
		m->txattrcreate.fid = fid(g);
		m->txattrcreate.name = name(g);
		m->txattrcreate.attr_size = word(g);
		m->txattrcreate.flags = byte(g) & 3;
		break;
	case P9_TLOCK:
		m->tlock.fid = fid(g);
		m->tlock.type = byte(g) & 3;
		m->tlock.flags = byte(g) & 3;
		m->tlock.start = word(g);
		m->tlock.length = word(g);
		m->tlock.proc_id = byte(g) & 3;
		m->tlock.client_id = name(g);
		break;
	case P9_TGETLOCK:
		m->getlock.fid = fid(g);
		m->getlock.type = byte(g) & 3;
		m->getlock.start = word(g);
		m->getlock.length = word(g);
		m->getlock.client_id = name(g);
		break;
	}
}

static void
make_request(struct p9_msg *m, struct prog *g)
{

	switch (m->type) {
	case P9_TVERSION:
		m->version.msize = 4090 + word(g);
		m->version.version.s = P9_VERSION;
		m->version.version.len = 8 - (byte(g) & 1);
		break;
	case P9_TATTACH:
		m->tattach.fid = fid(g);
		m->tattach.afid = P9_NOFID;
		m->tattach.uname = name(g);
		m->tattach.aname = name(g);
		m->tattach.n_uname = word(g);
		break;
	case P9_TFLUSH:
		m->tflush.oldtag = byte(g);
		break;
	case P9_TWALK:
		m->twalk.fid = fid(g);
		m->twalk.newfid = fid(g);
		m->twalk.wname.n = byte(g) & 3;
		for (uint16_t i = 0; i < m->twalk.wname.n; i++)
			m->twalk.wname.name[i] = name(g);
		break;
	case P9_TREAD:
	case P9_TREADDIR:
		m->tread.fid = fid(g);
		m->tread.offset = word(g);
		m->tread.count = word(g);
		break;
	case P9_TWRITE:
		m->twrite.fid = fid(g);
		m->twrite.offset = word(g);
		m->twrite.data.len = byte(g);
		m->twrite.data.p = path;
		if (m->twrite.data.len > sizeof(path))
			m->twrite.data.len = sizeof(path);
		break;
	case P9_TLOPEN:
	case P9_TGETATTR:
	case P9_TFSYNC:
		m->tlopen.fid = fid(g);
		m->tlopen.flags = word(g);
		break;
	default:
		m->tclunk.fid = fid(g);
		break;
	}
}

static size_t
make_stream(const uint8_t *data, size_t size, uint8_t *to)
{
	static const uint8_t types[] = { P9_TSTATFS, P9_TLOPEN, P9_TLCREATE,
	    P9_TSYMLINK, P9_TMKNOD, P9_TRENAME, P9_TREADLINK, P9_TGETATTR,
	    P9_TSETATTR, P9_TXATTRWALK, P9_TXATTRCREATE, P9_TREADDIR,
	    P9_TFSYNC, P9_TLOCK, P9_TGETLOCK, P9_TLINK, P9_TMKDIR,
	    P9_TRENAMEAT, P9_TUNLINKAT, P9_TVERSION, P9_TATTACH, P9_TFLUSH,
	    P9_TWALK, P9_TREAD, P9_TWRITE, P9_TCLUNK, P9_TREMOVE };
	struct prog g = { data, size };
	size_t at = 0, len;
	struct p9_msg m;

	while (g.left > 0 && at < STREAM_MAX - 4096) {
		memset(&m, 0, sizeof(m));
		m.type = types[byte(&g) % sizeof(types)];
		m.tag = byte(&g) & 3;
		make_request(&m, &g);
		make_name_request(&m, &g);
		make_attr_request(&m, &g);
		if (p9_encode(&m, to + at, STREAM_MAX - at, &len) == 0)
			at += len;
	}
	return (at);
}

/* The beginning of a session, with fid 0 attached. */
static size_t
make_hello(uint8_t *to)
{
	struct p9_msg m = { .type = P9_TVERSION, .tag = P9_NOTAG,
	    .version = { 65536, { 8, P9_VERSION } } };
	size_t a, b;

	p9_encode(&m, to, 64, &a);
	m = (struct p9_msg){ .type = P9_TATTACH, .tattach = { 0, P9_NOFID,
	    { 0, "" }, { 0, "" }, 0 } };
	p9_encode(&m, to + a, 64, &b);
	return (a + b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t stream[STREAM_MAX];
	size_t len = 0;

	if (size < 1 || size > STREAM_MAX / 2)
		return (0);
	if ((data[0] & 3) == 0) {
		decode_only(data + 1, size - 1);
		return (0);
	}
	if ((data[0] & 3) > 1)
		len = make_hello(stream);
	if ((data[0] & 3) == 3)
		len += make_stream(data + 1, size - 1, stream + len);
	else {
		memcpy(stream + len, data + 1, size - 1);
		len += size - 1;
	}
	serve(stream, len, data[0] & 4 ? 7 : 65536);
	return (0);
}
