/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The client of client.h.  Waits for a reply no longer than a minute.
 */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "undo.h"

#include "client.h"

#define	BUFFER	(P9_MSIZE_MAX + 64)

static int
make_dir(int at, const char *name)
{
	int fd;

	if (mkdirat(at, name, 0755) != 0 && errno != EEXIST)
		atf_tc_fail("mkdir %s: %s", name, strerror(errno));
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		atf_tc_fail("open %s: %s", name, strerror(errno));
	return (fd);
}

void
world_open(struct world *w, const struct share_options *o, bool undo)
{
	struct undo_options uo;
	struct co_error e;

	memset(w, 0, sizeof(*w));
	w->outside = make_dir(AT_FDCWD, "world");
	w->dir = make_dir(w->outside, "tree");
	if (undo) {
		memset(&uo, 0, sizeof(uo));
		if (undo_open(w->dir, "world/undo", &uo, &w->undo, &e) != 0)
			atf_tc_fail("undo_open: %s", e.message);
	}
	if (share_open(w->dir, w->undo, o, &w->share, &e) != 0)
		atf_tc_fail("share_open: %s", e.message);
}

void
world_close(struct world *w)
{
	struct share_stats st;

	share_stats(w->share, &st);
	ATF_CHECK_EQ_MSG(0, st.files, "%ju files open", (uintmax_t)st.files);
	ATF_CHECK_EQ_MSG(0, st.dirs, "%ju dirs open", (uintmax_t)st.dirs);
	ATF_CHECK_EQ_MSG(0, st.locks, "%ju locks", (uintmax_t)st.locks);
	ATF_CHECK_EQ_MSG(1, st.nodes, "%ju nodes", (uintmax_t)st.nodes);
	share_close(w->share);
	undo_close(w->undo);
	close(w->dir);
	close(w->outside);
}

static void *
serve(void *arg)
{
	struct client *c = arg;

	c->result = p9_serve(c->p9, &c->error);
	return (NULL);
}

void
client_open(struct client *c, struct world *w, const struct p9_options *o)
{
	struct timeval minute = { .tv_sec = 60 };
	struct p9_stream st;
	struct co_error e;
	int sv[2];

	memset(c, 0, sizeof(*c));
	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == 0);
	setsockopt(sv[0], SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof(minute));
	setsockopt(sv[0], SOL_SOCKET, SO_SNDTIMEO, &minute, sizeof(minute));
	c->fd = sv[0];
	c->out = malloc(BUFFER);
	c->in = malloc(BUFFER);
	ATF_REQUIRE(c->out != NULL && c->in != NULL);
	if (p9_stream_fd(sv[1], sv[1], &st, &e) != 0 ||
	    p9_new(w->share, o, &st, &c->p9, &e) != 0)
		atf_tc_fail("p9_new: %s", e.message);
	ATF_REQUIRE(pthread_create(&c->thread, NULL, serve, c) == 0);
}

void
hello(struct client *c, struct world *w, const struct p9_options *o)
{

	client_open(c, w, o);
	ATF_REQUIRE_EQ(0, c_version(c, P9_MSIZE_MAX, P9_VERSION));
	ATF_REQUIRE_EQ(0, c_attach(c, ROOT, 0, ""));
}

int
client_end(struct client *c)
{

	close(c->fd);
	ATF_REQUIRE(pthread_join(c->thread, NULL) == 0);
	p9_free(c->p9);
	free(c->out);
	free(c->in);
	return (c->result);
}

void
client_close(struct client *c)
{

	if (client_end(c) != 0)
		atf_tc_fail("p9_serve: %s", c->error.message);
}

struct p9_str
str(const char *s)
{

	return ((struct p9_str){ (uint16_t)strlen(s), s });
}

void
send_bytes(struct client *c, const void *buf, size_t len)
{
	const char *p = buf;
	ssize_t n;

	while (len > 0) {
		n = send(c->fd, p, len, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return;		/* the reply will be missing */
		p += n;
		len -= (size_t)n;
	}
}

void
send_msg(struct client *c, const struct p9_msg *m)
{
	size_t len;

	ATF_REQUIRE_EQ(0, p9_encode(m, c->out, BUFFER, &len));
	send_bytes(c, c->out, len);
}

static bool
recv_all(struct client *c, uint8_t *to, size_t len)
{
	ssize_t n;

	while (len > 0) {
		n = recv(c->fd, to, len, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != ECONNRESET && errno != EPIPE)
			atf_tc_fail("no reply: %s", strerror(errno));
		if (n <= 0)
			return (false);
		to += n;
		len -= (size_t)n;
	}
	return (true);
}

bool
recv_msg(struct client *c, struct p9_msg *m)
{

	if (!recv_all(c, c->in, 4))
		return (false);
	c->inlen = p9_size(c->in);
	ATF_REQUIRE(c->inlen >= P9_HEADER && c->inlen <= BUFFER);
	ATF_REQUIRE(c->msize == 0 || c->inlen <= c->msize);
	if (!recv_all(c, c->in + 4, c->inlen - 4))
		return (false);
	ATF_REQUIRE_EQ(0, p9_decode(c->in, c->inlen, m));
	return (true);
}

uint32_t
rpc(struct client *c, struct p9_msg *t, struct p9_msg *r)
{

	if (t->type != P9_TVERSION)
		t->tag = ++c->tag == P9_NOTAG ? ++c->tag : c->tag;
	send_msg(c, t);
	if (!recv_msg(c, r))
		atf_tc_fail("the server hung up at type %u", t->type);
	ATF_REQUIRE_EQ_MSG(t->tag, r->tag, "tag %u, not %u", r->tag, t->tag);
	if (r->type == P9_RLERROR)
		return (r->rlerror.ecode);
	ATF_REQUIRE_EQ_MSG(t->type + 1, r->type, "reply %u to %u", r->type,
	    t->type);
	return (0);
}

uint32_t
c_version(struct client *c, uint32_t msize, const char *version)
{
	struct p9_msg r, t = { .type = P9_TVERSION, .tag = P9_NOTAG,
	    .version = { msize, str(version) } };
	uint32_t error;

	c->msize = 0;
	error = rpc(c, &t, &r);
	if (error == 0 && r.version.version.len == strlen(version) &&
	    memcmp(r.version.version.s, version, strlen(version)) == 0)
		c->msize = r.version.msize;
	return (error);
}

uint32_t
c_attach(struct client *c, uint32_t fid, uint32_t uid, const char *aname)
{
	struct p9_msg r, t = { .type = P9_TATTACH,
	    .tattach = { fid, P9_NOFID, str(""), str(aname), uid } };

	return (rpc(c, &t, &r));
}

uint32_t
c_walk(struct client *c, uint32_t fid, uint32_t newfid, const char *path,
    struct p9_qids *qids)
{
	struct p9_msg r, t = { .type = P9_TWALK,
	    .twalk = { .fid = fid, .newfid = newfid } };
	struct p9_names *w = &t.twalk.wname;
	const char *end;
	uint32_t error;

	while (*path != '\0') {
		end = strchr(path, '/');
		if (end == NULL)
			end = path + strlen(path);
		ATF_REQUIRE(w->n < P9_WALK_MAX);
		w->name[w->n].s = path;
		w->name[w->n++].len = (uint16_t)(end - path);
		path = *end == '/' ? end + 1 : end;
	}
	error = rpc(c, &t, &r);
	if (error == 0 && qids != NULL)
		*qids = r.rwalk.wqid;
	if (error == 0 && qids == NULL && r.rwalk.wqid.n != w->n)
		error = L_ENOENT;
	return (error);
}

uint32_t
c_clunk(struct client *c, uint32_t fid)
{
	struct p9_msg r, t = { .type = P9_TCLUNK, .tclunk = { fid } };

	return (rpc(c, &t, &r));
}

uint32_t
c_remove(struct client *c, uint32_t fid)
{
	struct p9_msg r, t = { .type = P9_TREMOVE, .tremove = { fid } };

	return (rpc(c, &t, &r));
}

uint32_t
c_open(struct client *c, uint32_t fid, uint32_t flags)
{
	struct p9_msg r, t = { .type = P9_TLOPEN, .tlopen = { fid, flags } };

	return (rpc(c, &t, &r));
}

uint32_t
c_create(struct client *c, uint32_t fid, const char *name, uint32_t flags,
    uint32_t mode)
{
	struct p9_msg r, t = { .type = P9_TLCREATE,
	    .tlcreate = { fid, str(name), flags, mode, 0 } };

	return (rpc(c, &t, &r));
}

uint32_t
c_mkdir(struct client *c, uint32_t dfid, const char *name, uint32_t mode)
{
	struct p9_msg r, t = { .type = P9_TMKDIR,
	    .tmkdir = { dfid, str(name), mode, 0 } };

	return (rpc(c, &t, &r));
}

uint32_t
c_symlink(struct client *c, uint32_t dfid, const char *name,
    const char *target)
{
	struct p9_msg r, t = { .type = P9_TSYMLINK,
	    .tsymlink = { dfid, str(name), str(target), 0 } };

	return (rpc(c, &t, &r));
}

uint32_t
c_unlink(struct client *c, uint32_t dfid, const char *name, uint32_t flags)
{
	struct p9_msg r, t = { .type = P9_TUNLINKAT,
	    .tunlinkat = { dfid, str(name), flags } };

	return (rpc(c, &t, &r));
}

uint32_t
c_rename(struct client *c, uint32_t dfid, const char *name, uint32_t todfid,
    const char *toname)
{
	struct p9_msg r, t = { .type = P9_TRENAMEAT,
	    .trenameat = { dfid, str(name), todfid, str(toname) } };

	return (rpc(c, &t, &r));
}

uint32_t
c_read(struct client *c, uint32_t fid, uint64_t off, void *to,
    uint32_t *count)
{
	struct p9_msg r, t = { .type = P9_TREAD,
	    .tread = { fid, off, *count } };
	uint32_t error;

	error = rpc(c, &t, &r);
	if (error == 0) {
		ATF_REQUIRE(r.rread.data.len <= *count);
		*count = r.rread.data.len;
		memcpy(to, r.rread.data.p, *count);
	}
	return (error);
}

uint32_t
c_write(struct client *c, uint32_t fid, uint64_t off, const void *from,
    uint32_t *count)
{
	struct p9_msg r, t = { .type = P9_TWRITE,
	    .twrite = { fid, off, { *count, from } } };
	uint32_t error;

	error = rpc(c, &t, &r);
	if (error == 0)
		*count = r.rwrite.count;
	return (error);
}

uint32_t
c_getattr(struct client *c, uint32_t fid, uint64_t mask, struct p9_msg *r)
{
	struct p9_msg t = { .type = P9_TGETATTR, .tgetattr = { fid, mask } };

	return (rpc(c, &t, r));
}

uint32_t
c_lock(struct client *c, uint32_t fid, uint8_t type, uint32_t flags,
    uint64_t start, uint64_t length, uint32_t proc, uint8_t *status)
{
	struct p9_msg r, t = { .type = P9_TLOCK, .tlock = { fid, type, flags,
	    start, length, proc, str("guest") } };
	uint32_t error;

	error = rpc(c, &t, &r);
	if (error == 0)
		*status = r.rlock.status;
	return (error);
}

uint32_t
c_xattrwalk(struct client *c, uint32_t fid, uint32_t newfid,
    const char *name, uint64_t *size)
{
	struct p9_msg r, t = { .type = P9_TXATTRWALK,
	    .txattrwalk = { fid, newfid, str(name) } };
	uint32_t error;

	error = rpc(c, &t, &r);
	if (error == 0)
		*size = r.rxattrwalk.size;
	return (error);
}

uint32_t
c_xattrcreate(struct client *c, uint32_t fid, const char *name,
    uint64_t size, uint32_t flags)
{
	struct p9_msg r, t = { .type = P9_TXATTRCREATE,
	    .txattrcreate = { fid, str(name), size, flags } };

	return (rpc(c, &t, &r));
}

void
must_open(struct client *c, uint32_t fid, const char *path, uint32_t flags)
{

	ATF_REQUIRE_EQ(0, c_walk(c, ROOT, fid, path, NULL));
	ATF_REQUIRE_EQ(0, c_open(c, fid, flags));
}

void
must_create(struct client *c, uint32_t fid, const char *name,
    const char *content)
{
	uint32_t n = (uint32_t)strlen(content);

	ATF_REQUIRE_EQ(0, c_walk(c, ROOT, fid, "", NULL));
	ATF_REQUIRE_EQ(0, c_create(c, fid, name, P9_O_RDWR | P9_O_CREATE,
	    0644));
	if (n > 0)
		ATF_REQUIRE_EQ(0, c_write(c, fid, 0, content, &n));
	ATF_REQUIRE_EQ(strlen(content), n);
}
