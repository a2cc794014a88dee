/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Messages of the VMM.  Each kind is a row: how long it is at least, how
 * many descriptors it brings, who takes it, whether it is answered.
 */

#include <sys/types.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"

#include "vhost.h"

#ifndef MSG_CMSG_CLOEXEC
#define	MSG_CMSG_CLOEXEC	0
#endif

#define	FEATURES	(VW_F_INDIRECT | VW_F_EVENT_IDX | VW_F_PROTOCOL | \
	VW_F_VERSION_1)
#define	PROTOCOL	(VW_P_MQ | VW_P_REPLY_ACK | VW_P_CONFIG |	  \
	VW_P_INFLIGHT | VW_P_RESET | VW_P_MEM_SLOTS)

struct vmsg {
	struct vw_head	 h;
	union vw_body	 b;
	int		 fd[VHOST_FDS];		/* -1: none, or taken */
	int		 nfds;
	int		 send;			/* with the reply, or -1 */
};

/* Take a message; what is left in b is the reply.  0 or an errno. */
typedef int vmsg_fn(struct fused_vhost *, struct vmsg *);

static void
reply(struct vmsg *m, size_t size)
{

	m->h.size = (uint32_t)size;
}

static int
reply_u64(struct vmsg *m, uint64_t v)
{

	m->b.u64 = v;
	reply(m, sizeof(m->b.u64));
	return (0);
}

static int
take_fd(struct vmsg *m)
{
	int fd = m->fd[0];

	m->fd[0] = -1;
	return (fd);
}

static struct vqueue *
queue(struct fused_vhost *v, uint64_t index)
{

	return (index < v->nqueues ? &v->q[index] : NULL);
}

static int
nothing(struct fused_vhost *v, struct vmsg *m)
{

	(void)v;
	(void)m;
	return (0);
}

static int
get_features(struct fused_vhost *v, struct vmsg *m)
{

	(void)v;
	return (reply_u64(m, FEATURES));
}

static int
set_features(struct fused_vhost *v, struct vmsg *m)
{
	unsigned int i;

	if ((m->b.u64 & ~FEATURES) != 0 || (m->b.u64 & VW_F_VERSION_1) == 0)
		return (EINVAL);
	v->features = m->b.u64;
	/* Who does not know of enabling has all queues enabled. */
	for (i = 0; i < v->nqueues; i++)
		if ((v->features & VW_F_PROTOCOL) == 0)
			vqueue_enable(&v->q[i], true);
	return (0);
}

static int
get_protocol(struct fused_vhost *v, struct vmsg *m)
{

	(void)v;
	return (reply_u64(m, PROTOCOL));
}

static int
set_protocol(struct fused_vhost *v, struct vmsg *m)
{

	if ((m->b.u64 & ~PROTOCOL) != 0)
		return (EINVAL);
	v->protocol = m->b.u64;
	return (0);
}

static int
get_queue_num(struct fused_vhost *v, struct vmsg *m)
{

	return (reply_u64(m, v->nqueues));
}

static int
get_slots(struct fused_vhost *v, struct vmsg *m)
{

	(void)v;
	return (reply_u64(m, VW_SLOTS));
}

/* The set of memory is another from now on; the old one goes with its users. */
static void
memory(struct fused_vhost *v, struct vmem *mem)
{
	unsigned int i;

	for (i = 0; i < v->nqueues; i++)
		vqueue_remap(&v->q[i], mem);
	vmem_put(v->mem);
	v->mem = mem;
}

static int
set_table(struct fused_vhost *v, struct vmsg *m)
{
	const struct vw_table *t = &m->b.table;
	struct vmem *mem = NULL, *more;
	uint32_t i;
	int error;

	if (t->count == 0 || t->count > VW_TABLE_MAX ||
	    (int)t->count != m->nfds || m->h.size < offsetof(struct vw_table,
	    region) + t->count * sizeof(t->region[0]))
		return (EINVAL);
	for (i = 0; i < t->count; i++) {
		error = vmem_new(mem, NULL, &t->region[i], m->fd[i], &more);
		vmem_put(mem);
		if (error != 0)
			return (error);
		mem = more;
	}
	memory(v, mem);
	return (0);
}

static int
add_region(struct fused_vhost *v, struct vmsg *m)
{
	struct vmem *mem;
	int error;

	if (m->nfds != 1)
		return (EINVAL);
	error = vmem_new(v->mem, NULL, &m->b.slot.region, m->fd[0], &mem);
	if (error == 0)
		memory(v, mem);
	return (error);
}

static int
remove_region(struct fused_vhost *v, struct vmsg *m)
{
	struct vmem *mem;
	int error;

	error = vmem_new(v->mem, &m->b.slot.region, NULL, -1, &mem);
	if (error == 0)
		memory(v, mem);
	return (error);
}

static int
set_num(struct fused_vhost *v, struct vmsg *m)
{
	struct vqueue *q = queue(v, m->b.state.index);
	uint32_t n = m->b.state.num;

	if (q == NULL || n == 0 || n > VW_NUM_MAX || (n & (n - 1)) != 0 ||
	    q->started)
		return (EINVAL);
	q->num = n;
	return (0);
}

static int
set_base(struct fused_vhost *v, struct vmsg *m)
{
	struct vqueue *q = queue(v, m->b.state.index);

	if (q == NULL || m->b.state.num > UINT16_MAX || q->started)
		return (EINVAL);
	q->base = m->b.state.num;
	return (0);
}

static int
set_addr(struct fused_vhost *v, struct vmsg *m)
{
	struct vqueue *q = queue(v, m->b.addr.index);

	if (q == NULL || m->b.addr.flags != 0)
		return (EINVAL);
	(void)pthread_mutex_lock(&q->lock);
	q->addr = m->b.addr;
	q->have_addr = true;
	(void)pthread_mutex_unlock(&q->lock);
	if (q->started)
		vqueue_remap(q, v->mem);
	return (0);
}

static int
get_base(struct fused_vhost *v, struct vmsg *m)
{
	struct vqueue *q = queue(v, m->b.state.index);

	if (q == NULL)
		return (EINVAL);
	vqueue_stop(q, &m->b.state.num);
	reply(m, sizeof(m->b.state));
	return (0);
}

/* A ring is started by the descriptor that will be kicked. */
static int
set_kick(struct fused_vhost *v, struct vmsg *m)
{
	struct vqueue *q = queue(v, m->b.u64 & VW_INDEX_MASK);

	if (q == NULL || m->nfds != ((m->b.u64 & VW_NO_FD) == 0))
		return (EINVAL);
	/* What the last VMM left is not this one's. */
	if (v->kept && v->inflight.map == NULL)
		vcall_reset(v);
	v->kept = false;
	vqueue_set_fd(q, &q->kick, m->nfds > 0 ? take_fd(m) : -1);
	return (vqueue_start(q));
}

static int
set_call(struct fused_vhost *v, struct vmsg *m)
{
	struct vqueue *q = queue(v, m->b.u64 & VW_INDEX_MASK);

	if (q == NULL)
		return (EINVAL);
	vqueue_set_fd(q, &q->call, m->nfds > 0 ? take_fd(m) : -1);
	return (0);
}

static int
set_err(struct fused_vhost *v, struct vmsg *m)
{
	struct vqueue *q = queue(v, m->b.u64 & VW_INDEX_MASK);

	if (q == NULL)
		return (EINVAL);
	vqueue_set_fd(q, &q->err, m->nfds > 0 ? take_fd(m) : -1);
	return (0);
}

static int
set_enable(struct fused_vhost *v, struct vmsg *m)
{
	struct vqueue *q = queue(v, m->b.state.index);

	if (q == NULL || m->b.state.num > 1)
		return (EINVAL);
	vqueue_enable(q, m->b.state.num != 0);
	return (0);
}

static int
get_config(struct fused_vhost *v, struct vmsg *m)
{
	struct vw_fs_config fs = { .queues = v->nqueues - 1 };
	struct vw_config *c = &m->b.config;
	size_t n;

	memcpy(fs.tag, v->tag, sizeof(fs.tag));
	/* A size of 0 tells the VMM that this was not to be had. */
	if (c->size > VW_CONFIG_MAX || c->offset > sizeof(fs)) {
		reply(m, 0);
		return (0);
	}
	n = sizeof(fs) - c->offset;
	if (n > c->size)
		n = c->size;
	memset(c->data, 0, sizeof(c->data));
	memcpy(c->data, (const char *)&fs + c->offset, n);
	reply(m, VW_CONFIG_HEAD + c->size);
	return (0);
}

/* There is nothing in it that a guest may write. */
static int
set_config(struct fused_vhost *v, struct vmsg *m)
{

	(void)v;
	(void)m;
	return (EPERM);
}

static int
get_inflight(struct fused_vhost *v, struct vmsg *m)
{
	struct vw_inflight *i = &m->b.inflight;

	if (i->queues == 0 || i->queues > v->nqueues || i->num == 0 ||
	    i->num > VW_NUM_MAX)
		return (EINVAL);
	/* Nothing is in flight for this one: it begins anew. */
	if (v->kept)
		vcall_reset(v);
	v->kept = false;
	i->offset = 0;
	i->size = i->queues * vring_inflight_size(i->num);
	m->send = memfd_create("inflight", MFD_CLOEXEC);
	if (m->send == -1 || ftruncate(m->send, (off_t)i->size) == -1)
		return (errno);
	reply(m, sizeof(*i));
	return (0);
}

static void
inflight_drop(struct fused_vhost *v)
{

	if (v->inflight.map != NULL)
		(void)munmap(v->inflight.map, v->inflight.len);
	memset(&v->inflight, 0, sizeof(v->inflight));
}

static int
set_inflight(struct fused_vhost *v, struct vmsg *m)
{
	const struct vw_inflight *i = &m->b.inflight;
	struct stat st;
	unsigned int n;
	void *map;

	for (n = 0; n < v->nqueues; n++)
		if (v->q[n].started)
			return (EBUSY);
	if (m->nfds != 1 || i->queues == 0 || i->queues > v->nqueues ||
	    i->num == 0 || i->num > VW_NUM_MAX ||
	    i->size < i->queues * vring_inflight_size(i->num) ||
	    i->size > INT64_MAX || i->offset > INT64_MAX - i->size ||
	    fstat(m->fd[0], &st) == -1 ||
	    i->offset + i->size > (uint64_t)st.st_size)
		return (EINVAL);
	map = mmap(NULL, (size_t)i->size, PROT_READ | PROT_WRITE, MAP_SHARED,
	    m->fd[0], (off_t)i->offset);
	if (map == MAP_FAILED)
		return (errno);
	inflight_drop(v);
	v->inflight.map = map;
	v->inflight.len = (size_t)i->size;
	v->inflight.queues = i->queues;
	v->inflight.num = i->num;
	v->inflight_new = true;
	return (0);
}

static int
reset_device(struct fused_vhost *v, struct vmsg *m)
{
	unsigned int i;

	(void)m;
	for (i = 0; i < v->nqueues; i++) {
		vqueue_stop(&v->q[i], NULL);
		vqueue_enable(&v->q[i], false);
	}
	vcall_reset(v);
	return (0);
}

struct row {
	vmsg_fn		*fn;
	uint16_t	 size;		/* at least */
	bool		 replies;
};

static const struct row rows[VW_REQUESTS] = {
	[VW_GET_FEATURES] = { get_features, 0, true },
	[VW_SET_FEATURES] = { set_features, 8, false },
	[VW_SET_OWNER] = { nothing, 0, false },
	[VW_RESET_OWNER] = { nothing, 0, false },
	[VW_SET_MEM_TABLE] = { set_table, 8, false },
	[VW_SET_VRING_NUM] = { set_num, 8, false },
	[VW_SET_VRING_ADDR] = { set_addr, 40, false },
	[VW_SET_VRING_BASE] = { set_base, 8, false },
	[VW_GET_VRING_BASE] = { get_base, 8, true },
	[VW_SET_VRING_KICK] = { set_kick, 8, false },
	[VW_SET_VRING_CALL] = { set_call, 8, false },
	[VW_SET_VRING_ERR] = { set_err, 8, false },
	[VW_GET_PROTOCOL_FEATURES] = { get_protocol, 0, true },
	[VW_SET_PROTOCOL_FEATURES] = { set_protocol, 8, false },
	[VW_GET_QUEUE_NUM] = { get_queue_num, 0, true },
	[VW_SET_VRING_ENABLE] = { set_enable, 8, false },
	[VW_GET_CONFIG] = { get_config, VW_CONFIG_HEAD, true },
	[VW_SET_CONFIG] = { set_config, VW_CONFIG_HEAD, false },
	[VW_GET_INFLIGHT_FD] = { get_inflight, 20, true },
	[VW_SET_INFLIGHT_FD] = { set_inflight, 20, false },
	[VW_RESET_DEVICE] = { reset_device, 0, false },
	[VW_GET_MAX_MEM_SLOTS] = { get_slots, 0, true },
	[VW_ADD_MEM_REG] = { add_region, 40, false },
	[VW_REM_MEM_REG] = { remove_region, 40, false }
};

/* Wait for the VMM; false: the end was asked for. */
static bool
ready(struct fused_vhost *v)
{
	struct pollfd p[2] = {
		{ .fd = v->fd, .events = POLLIN },
		{ .fd = v->stop[0], .events = POLLIN }
	};

	while (poll(p, 2, -1) == -1)
		if (errno != EINTR)
			return (false);
	return (p[1].revents == 0);
}

static void
take_fds(struct msghdr *h, struct vmsg *m)
{
	struct cmsghdr *c;
	size_t i, n;
	int fd;

	for (c = CMSG_FIRSTHDR(h); c != NULL; c = CMSG_NXTHDR(h, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(fd);
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd),
			    sizeof(fd));
			if (m->nfds < VHOST_FDS)
				m->fd[m->nfds++] = fd;
			else
				(void)close(fd);
		}
	}
}

/* All of ${len} bytes: 0, ECANCELED, ECONNRESET at the end, or an errno. */
static int
receive(struct fused_vhost *v, struct vmsg *m, void *buf, size_t len)
{
	union {
		struct cmsghdr	h;
		char		room[CMSG_SPACE(VHOST_FDS * sizeof(int))];
	} u;
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct msghdr h;
	ssize_t n;

	while (iov.iov_len > 0) {
		if (!ready(v))
			return (ECANCELED);
		memset(&h, 0, sizeof(h));
		h.msg_iov = &iov;
		h.msg_iovlen = 1;
		h.msg_control = u.room;
		h.msg_controllen = sizeof(u.room);
		n = recvmsg(v->fd, &h, MSG_CMSG_CLOEXEC);
		if (n == -1 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return (n == 0 ? ECONNRESET : errno);
		take_fds(&h, m);
		iov.iov_base = (char *)iov.iov_base + n;
		iov.iov_len -= (size_t)n;
	}
	return (0);
}

static int
transmit(struct fused_vhost *v, struct vmsg *m)
{
	union {
		struct cmsghdr	h;
		char		room[CMSG_SPACE(sizeof(int))];
	} u;
	struct iovec iov[2] = {
		{ .iov_base = &m->h, .iov_len = sizeof(m->h) },
		{ .iov_base = &m->b, .iov_len = m->h.size }
	};
	struct msghdr h = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t n;

	m->h.flags = VW_VERSION | VW_REPLY;
	if (m->send != -1) {
		memset(&u, 0, sizeof(u));
		h.msg_control = u.room;
		h.msg_controllen = sizeof(u.room);
		u.h.cmsg_level = SOL_SOCKET;
		u.h.cmsg_type = SCM_RIGHTS;
		u.h.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&u.h), &m->send, sizeof(int));
	}
	do
		n = sendmsg(v->fd, &h, MSG_NOSIGNAL);
	while (n == -1 && errno == EINTR);
	if (n == -1)
		return (errno);
	return ((size_t)n == sizeof(m->h) + m->h.size ? 0 : EIO);
}

static int
run(struct fused_vhost *v, struct vmsg *m, struct co_error *e)
{
	bool ack = (m->h.flags & VW_NEED_REPLY) != 0 &&
	    (v->protocol & VW_P_REPLY_ACK) != 0;
	const struct row *row = NULL;
	int error;

	if (m->h.request < VW_REQUESTS)
		row = &rows[m->h.request];
	if (row == NULL || row->fn == NULL)
		error = ENOSYS;
	else if (m->h.size < row->size)
		error = EINVAL;
	else
		error = row->fn(v, m);
	if (error != 0)
		(void)co_error_set(e, CO_EPROTO_MALFORMED, "vhost-user",
		    "the VMM's message %u can't be obeyed: %s",
		    m->h.request, strerror(error));
	/* One that gets no answer learns by the end of the connection. */
	if (error != 0 && (!ack || (row != NULL && row->replies)))
		return (error);
	if (row != NULL && row->replies)
		return (transmit(v, m));
	if (!ack)
		return (0);
	(void)reply_u64(m, error != 0);
	return (transmit(v, m));
}

int
vmsg_next(struct fused_vhost *v, struct co_error *e)
{
	struct vmsg m;
	int error, i;

	memset(&m, 0, sizeof(m));
	for (i = 0; i < VHOST_FDS; i++)
		m.fd[i] = -1;
	m.send = -1;
	error = receive(v, &m, &m.h, sizeof(m.h));
	if (error == 0 && (m.h.size > sizeof(m.b) ||
	    (m.h.flags & VW_VERSION_MASK) != VW_VERSION)) {
		error = EPROTO;
		(void)co_error_set(e, CO_EPROTO_MALFORMED, "vhost-user",
		    "not a message: %u bytes, flags %#x", m.h.size,
		    m.h.flags);
	}
	if (error == 0)
		error = receive(v, &m, &m.b, m.h.size);
	if (error == 0)
		error = run(v, &m, e);
	for (i = 0; i < VHOST_FDS; i++)
		if (m.fd[i] != -1)
			(void)close(m.fd[i]);
	if (m.send != -1)
		(void)close(m.send);
	return (error);
}

void
vmsg_reset(struct fused_vhost *v)
{

	vmem_put(v->mem);
	v->mem = NULL;
	v->features = v->protocol = 0;
	v->inflight_new = false;
	inflight_drop(v);
}
