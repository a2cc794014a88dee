/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A VMM and its guest for tests.
 */

#include <sys/types.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "vhost_master.h"

#define	SOCKET	"vhost.sock"
#define	WAIT_MS	20000

static void
on_ended(void *arg, const struct co_error *e)
{
	struct server *s = arg;

	(void)pthread_mutex_lock(&s->lock);
	s->ended++;
	s->last = *e;
	(void)pthread_cond_broadcast(&s->cond);
	(void)pthread_mutex_unlock(&s->lock);
}

static void *
serve(void *arg)
{
	struct server *s = arg;
	struct co_error e;

	return (fused_vhost_serve(s->v, &e) == 0 ? NULL : s);
}

void
server_start(struct server *s, uint32_t threads)
{
	struct fused_vhost_options o = { .tag = "folder",
	    .queues = M_QUEUES - 1, .ended = on_ended, .arg = s };
	struct fused_options fo = { .max_threads = threads,
	    .max_write = 65536 };
	struct co_error e;
	int dir, fd;

	memset(s, 0, sizeof(*s));
	(void)pthread_mutex_init(&s->lock, NULL);
	(void)pthread_cond_init(&s->cond, NULL);
	ATF_REQUIRE(mkdir("in", 0755) == 0 || errno == EEXIST);
	ATF_REQUIRE((dir = open("in", O_RDONLY | O_DIRECTORY)) != -1);
	ATF_REQUIRE(share_open(dir, NULL, NULL, &s->s, &e) == 0);
	(void)close(dir);
	ATF_REQUIRE(fused_new(s->s, &fo, &s->f, &e) == 0);
	ATF_REQUIRE_MSG(fused_vhost_listen(SOCKET, &fd, &e) == 0, "%s",
	    e.message);
	ATF_REQUIRE(fused_vhost_new(s->f, fd, &o, &s->v, &e) == 0);
	ATF_REQUIRE(pthread_create(&s->thread, NULL, serve, s) == 0);
}

void
server_stop(struct server *s)
{
	void *failed;

	fused_vhost_stop(s->v);
	ATF_REQUIRE(pthread_join(s->thread, &failed) == 0);
	ATF_CHECK(failed == NULL);
	fused_vhost_free(s->v);
	fused_free(s->f);
	share_close(s->s);
	(void)unlink(SOCKET);
}

void
server_wait_end(struct server *s, unsigned int n)
{

	(void)pthread_mutex_lock(&s->lock);
	while (s->ended < n)
		(void)pthread_cond_wait(&s->cond, &s->lock);
	(void)pthread_mutex_unlock(&s->lock);
}

static void
send_fds(int fd, struct iovec *iov, const int *fds, size_t n)
{
	union {
		struct cmsghdr	h;
		char		room[CMSG_SPACE(2 * sizeof(int))];
	} u;
	struct msghdr h = { .msg_iov = iov, .msg_iovlen = 2 };

	memset(&u, 0, sizeof(u));
	if (n > 0) {
		h.msg_control = u.room;
		h.msg_controllen = (socklen_t)CMSG_SPACE(n * sizeof(int));
		u.h.cmsg_level = SOL_SOCKET;
		u.h.cmsg_type = SCM_RIGHTS;
		u.h.cmsg_len = (socklen_t)CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(&u.h), fds, n * sizeof(int));
	}
	ATF_REQUIRE_EQ((ssize_t)(iov[0].iov_len + iov[1].iov_len),
	    sendmsg(fd, &h, MSG_NOSIGNAL));
}

static void
send_message(struct master *m, uint32_t request, uint32_t flags,
    const void *body, size_t len, const int *fds, size_t n)
{
	struct vw_head h = { .request = request,
	    .flags = VW_VERSION | flags, .size = (uint32_t)len };
	char copy[sizeof(union vw_body)];
	struct iovec iov[2] = {
		{ .iov_base = &h, .iov_len = sizeof(h) },
		{ .iov_base = copy, .iov_len = len }
	};

	if (len > 0)
		memcpy(copy, body, len);
	send_fds(m->fd, iov, fds, n);
}

void
master_send(struct master *m, uint32_t request, const void *body, size_t len,
    int fd)
{

	send_message(m, request, 0, body, len, &fd, fd != -1);
}

static size_t
receive(struct master *m, uint32_t request, union vw_body *b, int *fd)
{
	union {
		struct cmsghdr	h;
		char		room[CMSG_SPACE(sizeof(int))];
	} u;
	struct vw_head head;
	struct iovec iov = { .iov_base = &head, .iov_len = sizeof(head) };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1,
	    .msg_control = u.room, .msg_controllen = sizeof(u.room) };

	ATF_REQUIRE_EQ((ssize_t)sizeof(head), recvmsg(m->fd, &h,
	    MSG_WAITALL));
	ATF_REQUIRE_EQ(request, head.request);
	ATF_REQUIRE_EQ(VW_VERSION | VW_REPLY, head.flags);
	ATF_REQUIRE(head.size <= sizeof(*b));
	if (fd != NULL) {
		ATF_REQUIRE(CMSG_FIRSTHDR(&h) != NULL);
		memcpy(fd, CMSG_DATA(CMSG_FIRSTHDR(&h)), sizeof(*fd));
	}
	memset(b, 0, sizeof(*b));
	if (head.size > 0)
		ATF_REQUIRE_EQ((ssize_t)head.size, recv(m->fd, b, head.size,
		    MSG_WAITALL));
	return (head.size);
}

uint64_t
master_ack(struct master *m, uint32_t request, const void *body, size_t len,
    int fd)
{
	union vw_body b;

	send_message(m, request, VW_NEED_REPLY, body, len, &fd, fd != -1);
	ATF_REQUIRE_EQ(8, receive(m, request, &b, NULL));
	return (b.u64);
}

size_t
master_ask(struct master *m, uint32_t request, const void *body, size_t len,
    union vw_body *b, int *fd)
{

	master_send(m, request, body, len, -1);
	return (receive(m, request, b, fd));
}

static void
make_memory(struct master *m)
{
	int i;

	m->mem = mmap(NULL, M_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANON, -1, 0);
	ATF_REQUIRE(m->mem != MAP_FAILED);
	for (i = 0; i < 2; i++) {
		m->memfd[i] = memfd_create("guest", MFD_CLOEXEC);
		ATF_REQUIRE(m->memfd[i] != -1);
		/* The second begins inside its file. */
		ATF_REQUIRE(ftruncate(m->memfd[i], (off_t)(M_REGION +
		    (i == 1 ? 8192 : 0))) == 0);
		ATF_REQUIRE(mmap(m->mem + (uint64_t)i * M_REGION, M_REGION,
		    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		    m->memfd[i], i == 1 ? 8192 : 0) != MAP_FAILED);
	}
}

void
master_memory(struct master *m, unsigned int n)
{
	struct vw_table t = { .count = n };
	unsigned int i;

	for (i = 0; i < n; i++) {
		t.region[i].guest = M_GUEST + i * M_REGION;
		t.region[i].user = M_USER + i * M_REGION;
		t.region[i].size = M_REGION;
		t.region[i].offset = i == 1 ? 8192 : 0;
	}
	send_message(m, VW_SET_MEM_TABLE, 0, &t, 8 + n * 32, m->memfd, n);
}

static void
reconnect(struct master *m)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX,
	    .sun_path = SOCKET };

	m->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ATF_REQUIRE(m->fd != -1);
	ATF_REQUIRE(connect(m->fd, (struct sockaddr *)&sun, sizeof(sun)) == 0);
}

void
master_hello(struct master *m)
{
	union vw_body b;
	uint64_t v;

	reconnect(m);
	master_send(m, VW_SET_OWNER, NULL, 0, -1);
	ATF_REQUIRE_EQ(8, master_ask(m, VW_GET_FEATURES, NULL, 0, &b, NULL));
	ATF_REQUIRE_EQ(m->features, m->features & b.u64);
	ATF_REQUIRE_EQ(8, master_ask(m, VW_GET_PROTOCOL_FEATURES, NULL, 0, &b,
	    NULL));
	v = VW_P_MQ | VW_P_REPLY_ACK | VW_P_CONFIG | VW_P_INFLIGHT |
	    VW_P_RESET | VW_P_MEM_SLOTS;
	ATF_REQUIRE_EQ(v, b.u64);
	master_send(m, VW_SET_PROTOCOL_FEATURES, &v, 8, -1);
	ATF_REQUIRE_EQ(0, master_ack(m, VW_SET_FEATURES, &m->features, 8, -1));
	if (m->inflight_fd != -1)
		ATF_REQUIRE_EQ(0, master_ack(m, VW_SET_INFLIGHT_FD,
		    &m->inflight, sizeof(m->inflight), m->inflight_fd));
	master_memory(m, 2);
}

static void
make_queue(struct master *m, unsigned int i)
{
	struct mqueue *q = &m->q[i];
	char *p = m->mem + i * 0x10000;

	q->desc = (struct vw_desc *)(void *)p;
	q->avail = (struct vw_avail *)(void *)(p + 0x4000);
	q->used = (struct vw_used *)(void *)(p + 0x8000);
	memset(p, 0, 0x10000);
	q->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	q->call = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	q->err = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ATF_REQUIRE(q->kick != -1 && q->call != -1 && q->err != -1);
}

void
master_connect(struct master *m, uint64_t features, bool inflight)
{
	struct vw_inflight want = { .queues = M_QUEUES, .num = M_NUM };
	union vw_body b;
	unsigned int i;

	memset(m, 0, sizeof(*m));
	m->features = features | VW_F_VERSION_1 | VW_F_PROTOCOL;
	m->inflight_fd = -1;
	make_memory(m);
	for (i = 0; i < M_QUEUES; i++)
		make_queue(m, i);
	master_hello(m);
	if (inflight) {
		ATF_REQUIRE_EQ(sizeof(want), master_ask(m, VW_GET_INFLIGHT_FD,
		    &want, sizeof(want), &b, &m->inflight_fd));
		m->inflight = b.inflight;
		ATF_REQUIRE_EQ(0, master_ack(m, VW_SET_INFLIGHT_FD,
		    &m->inflight, sizeof(m->inflight), m->inflight_fd));
	}
	for (i = 0; i < M_QUEUES; i++)
		master_start(m, i, 0);
}

void
master_start(struct master *m, unsigned int i, uint16_t base)
{
	struct mqueue *q = &m->q[i];
	struct vw_state s = { .index = i, .num = M_NUM };
	struct vw_addr a = { .index = i };
	uint64_t index = i;

	a.desc = M_USER + (uint64_t)((char *)q->desc - m->mem);
	a.avail = M_USER + (uint64_t)((char *)q->avail - m->mem);
	a.used = M_USER + (uint64_t)((char *)q->used - m->mem);
	master_send(m, VW_SET_VRING_NUM, &s, sizeof(s), -1);
	s.num = base;
	master_send(m, VW_SET_VRING_BASE, &s, sizeof(s), -1);
	master_send(m, VW_SET_VRING_ADDR, &a, sizeof(a), -1);
	master_send(m, VW_SET_VRING_ERR, &index, 8, q->err);
	master_send(m, VW_SET_VRING_CALL, &index, 8, q->call);
	ATF_REQUIRE_EQ(0, master_ack(m, VW_SET_VRING_KICK, &index, 8,
	    q->kick));
	s.num = 1;
	ATF_REQUIRE_EQ(0, master_ack(m, VW_SET_VRING_ENABLE, &s, sizeof(s),
	    -1));
}

uint16_t
master_pause(struct master *m, unsigned int i)
{
	struct vw_state s = { .index = i };
	union vw_body b;

	ATF_REQUIRE_EQ(8, master_ask(m, VW_GET_VRING_BASE, &s, sizeof(s), &b,
	    NULL));
	ATF_REQUIRE_EQ(i, b.state.index);
	return ((uint16_t)b.state.num);
}

void
master_close(struct master *m)
{

	(void)close(m->fd);
	m->fd = -1;
}

void
master_free(struct master *m)
{
	unsigned int i;

	if (m->fd != -1)
		(void)close(m->fd);
	for (i = 0; i < M_QUEUES; i++) {
		(void)close(m->q[i].kick);
		(void)close(m->q[i].call);
		(void)close(m->q[i].err);
	}
	(void)munmap(m->mem, M_SIZE);
	(void)close(m->memfd[0]);
	(void)close(m->memfd[1]);
	if (m->inflight_fd != -1)
		(void)close(m->inflight_fd);
}

uint64_t
m_addr(const struct master *m, const void *p)
{

	return (M_GUEST + (uint64_t)((const char *)p - m->mem));
}

/* Slots of the queues alternate, so that each has some in both regions. */
char *
m_in(struct master *m, unsigned int q, uint16_t slot)
{

	return (m->mem + M_DATA + ((uint64_t)slot % 16 * M_QUEUES + q) * 2 *
	    M_SLOT);
}

char *
m_out(struct master *m, unsigned int q, uint16_t slot)
{

	return (m_in(m, q, slot) + M_SLOT);
}

void
m_post(struct master *m, unsigned int i, uint16_t head)
{
	struct mqueue *q = &m->q[i];
	uint16_t idx = q->avail->idx;

	q->avail->ring[idx % M_NUM] = head;
	__atomic_store_n(&q->avail->idx, (uint16_t)(idx + 1),
	    __ATOMIC_SEQ_CST);
}

void
m_kick(struct master *m, unsigned int i)
{
	static const uint64_t one = 1;

	ATF_REQUIRE_EQ(8, write(m->q[i].kick, &one, sizeof(one)));
}

bool
m_called(struct master *m, unsigned int i, int ms)
{
	struct pollfd p = { .fd = m->q[i].call, .events = POLLIN };
	uint64_t n;

	if (poll(&p, 1, ms) != 1)
		return (false);
	ATF_REQUIRE_EQ(8, read(m->q[i].call, &n, sizeof(n)));
	return (true);
}

bool
m_used(struct master *m, unsigned int i, struct vw_used_elem *e, int ms)
{
	const struct timespec nap = { 0, 200000 };
	struct mqueue *q = &m->q[i];
	co_moment end = co_after(ms);

	while (__atomic_load_n(&q->used->idx, __ATOMIC_ACQUIRE) == q->seen) {
		if (co_left(end) == 0)
			return (false);
		(void)nanosleep(&nap, NULL);
	}
	*e = q->used->ring[q->seen++ % M_NUM];
	return (true);
}

static void
set_desc(struct vw_desc *d, uint64_t addr, size_t len, uint16_t flags,
    uint16_t next)
{

	d->addr = addr;
	d->len = (uint32_t)len;
	d->flags = flags;
	d->next = next;
}

/* Header, arguments and data; the answer's header, and the rest of it. */
static uint16_t
chain(struct master *m, struct vw_desc *d, uint16_t first, const char *in,
    size_t arglen, size_t datalen, const char *out, size_t room)
{
	const uint64_t a = m_addr(m, in), o = m_addr(m, out);
	uint16_t n = 0;

	set_desc(&d[n++], a, sizeof(struct fw_in_header), 0, 0);
	if (arglen > 0)
		set_desc(&d[n++], a + sizeof(struct fw_in_header), arglen, 0,
		    0);
	if (datalen > 0)
		set_desc(&d[n++], a + sizeof(struct fw_in_header) + arglen,
		    datalen, 0, 0);
	if (room > 0)
		set_desc(&d[n++], o, room < 16 ? room : 16, VW_D_WRITE, 0);
	if (room > 16)
		set_desc(&d[n++], o + 16, room - 16, VW_D_WRITE, 0);
	for (uint16_t i = 0; i + 1 < n; i++) {
		d[i].flags |= VW_D_NEXT;
		d[i].next = (uint16_t)(first + i + 1);
	}
	return (n);
}

uint16_t
m_send(struct master *m, unsigned int i, uint32_t opcode, uint64_t node,
    const void *args, size_t arglen, const void *data, size_t datalen,
    size_t room)
{
	struct mqueue *q = &m->q[i];
	struct fw_in_header h = { .opcode = opcode, .nodeid = node,
	    .len = (uint32_t)(sizeof(h) + arglen + datalen) };
	uint16_t slot = q->free++ % 16, head, n;
	char *in = m_in(m, i, slot);
	struct vw_desc *table;

	h.unique = ++m->unique;
	memcpy(in, &h, sizeof(h));
	if (arglen > 0)
		memcpy(in + sizeof(h), args, arglen);
	if (datalen > 0)
		memcpy(in + sizeof(h) + arglen, data, datalen);
	memset(m_out(m, i, slot), 0xee, M_SLOT);
	/* Four descriptors for a slot; five of data go to a table. */
	head = (uint16_t)(slot * 4);
	if ((m->features & VW_F_INDIRECT) != 0) {
		table = (struct vw_desc *)(void *)(in + M_SLOT - 256);
		n = chain(m, table, 0, in, arglen, datalen, m_out(m, i, slot),
		    room);
		set_desc(&q->desc[head], m_addr(m, table), n * sizeof(*table),
		    VW_D_INDIRECT, 0);
	} else {
		ATF_REQUIRE(datalen == 0 || arglen == 0 || room <= 16);
		(void)chain(m, &q->desc[head], head, in, arglen, datalen,
		    m_out(m, i, slot), room);
	}
	m_post(m, i, head);
	m_kick(m, i);
	return (head);
}

/* The errno of the answer; its body is copied.  Others may come before. */
int
m_wait(struct master *m, unsigned int i, uint16_t head, void *body,
    size_t len)
{
	struct fw_out_header h;
	struct vw_used_elem e;

	ATF_REQUIRE_MSG(m_used(m, i, &e, WAIT_MS), "no answer");
	ATF_REQUIRE_EQ(head, e.id);
	ATF_REQUIRE(e.len >= sizeof(h));
	memcpy(&h, m_out(m, i, head / 4), sizeof(h));
	ATF_REQUIRE_EQ(e.len, h.len);
	if (h.error == 0) {
		ATF_REQUIRE_MSG(e.len - sizeof(h) >= len, "%zu, not %zu",
		    e.len - sizeof(h), len);
		if (len > 0)
			memcpy(body, m_out(m, i, head / 4) + sizeof(h), len);
	}
	return (-h.error);
}

int
m_do(struct master *m, unsigned int i, uint32_t opcode, uint64_t node,
    const void *args, size_t arglen, const void *data, size_t datalen,
    void *body, size_t len)
{
	size_t room = sizeof(struct fw_out_header) + len;
	uint16_t head;

	/* There must not be five parts without a table. */
	if ((m->features & VW_F_INDIRECT) == 0 && datalen > 0 && len > 0) {
		char both[M_SLOT];

		memcpy(both, args, arglen);
		memcpy(both + arglen, data, datalen);
		head = m_send(m, i, opcode, node, both, arglen + datalen,
		    NULL, 0, room);
	} else {
		head = m_send(m, i, opcode, node, args, arglen, data, datalen,
		    room);
	}
	return (m_wait(m, i, head, body, len));
}

void
m_init(struct master *m)
{
	struct fw_init_in in = { .major = 7, .minor = 38,
	    .flags = UINT32_MAX, .flags2 = UINT32_MAX };
	struct fw_init_out out;

	ATF_REQUIRE_EQ(0, m_do(m, 1, FW_INIT, 0, &in, sizeof(in), NULL, 0,
	    &out, sizeof(out)));
	ATF_REQUIRE_EQ(7, out.major);
	ATF_REQUIRE_EQ(65536, out.max_write);
}

uint64_t
m_create(struct master *m, unsigned int i, const char *name, uint64_t *fh)
{
	struct fw_create_in in = { .flags = O_RDWR, .mode = S_IFREG | 0644 };
	struct {
		struct fw_entry_out	e;
		struct fw_open_out	o;
	} out;

	ATF_REQUIRE_EQ(0, m_do(m, i, FW_CREATE, FW_ROOT, &in, sizeof(in),
	    name, strlen(name) + 1, &out, sizeof(out)));
	*fh = out.o.fh;
	return (out.e.nodeid);
}
