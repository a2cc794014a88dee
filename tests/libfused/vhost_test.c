/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The vhost-user transport against a VMM of our own: rings well made and
 * badly, queues at once, machines that are paused, reset, and come back.
 */

#include <sys/types.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "vhost_master.h"

#define	ALL	(VW_F_INDIRECT | VW_F_EVENT_IDX)

static struct server srv;
static struct master vmm;

static void
start(uint64_t features, bool inflight)
{

	server_start(&srv, 12);
	master_connect(&vmm, features, inflight);
	m_init(&vmm);
}

static void
finish(void)
{

	master_free(&vmm);
	server_stop(&srv);
}

static int
lookup(struct master *m, unsigned int q, const char *name,
    struct fw_entry_out *eo)
{

	return (m_do(m, q, FW_LOOKUP, FW_ROOT, name, strlen(name) + 1, NULL,
	    0, eo, sizeof(*eo)));
}

static int
getattr(struct master *m, unsigned int q, uint64_t node)
{
	struct fw_getattr_in in = { .flags = 0 };
	struct fw_attr_out out;

	return (m_do(m, q, FW_GETATTR, node, &in, sizeof(in), NULL, 0, &out,
	    sizeof(out)));
}

static void
lock_in(struct fw_lk_in *in, uint64_t fh, uint64_t owner, short type)
{

	memset(in, 0, sizeof(*in));
	in->fh = fh;
	in->owner = owner;
	in->lk.end = INT64_MAX;
	in->lk.type = (uint32_t)type;
}

static int
lock(struct master *m, unsigned int q, uint64_t node, uint64_t fh,
    uint64_t owner, short type)
{
	struct fw_lk_in in;

	lock_in(&in, fh, owner, type);
	return (m_do(m, q, FW_SETLK, node, &in, sizeof(in), NULL, 0, NULL,
	    0));
}

/* A file that owner 1 has locked, and owner 2 that waits on queue 1. */
static uint16_t
waiting_lock(struct master *m, uint64_t *node, uint64_t *fh)
{
	struct vw_used_elem e;
	struct fw_lk_in in;
	uint16_t head;

	*node = m_create(m, 1, "locked", fh);
	ATF_REQUIRE_EQ(0, lock(m, 1, *node, *fh, 1, F_WRLCK));
	lock_in(&in, *fh, 2, F_WRLCK);
	head = m_send(m, 1, FW_SETLKW, *node, &in, sizeof(in), NULL, 0, 16);
	ATF_REQUIRE(!m_used(m, 1, &e, 100));
	return (head);
}

ATF_TC_WITHOUT_HEAD(handshake);
ATF_TC_BODY(handshake, tc)
{
	struct vw_config c = { .size = sizeof(struct vw_fs_config) };
	struct vw_state st = { .index = M_QUEUES, .num = 1 };
	struct vw_fs_config fs;
	union vw_body b;

	server_start(&srv, 4);
	master_connect(&vmm, ALL, false);
	ATF_CHECK_EQ(8, master_ask(&vmm, VW_GET_QUEUE_NUM, NULL, 0, &b,
	    NULL));
	ATF_CHECK_EQ(M_QUEUES, b.u64);
	ATF_CHECK_EQ(8, master_ask(&vmm, VW_GET_MAX_MEM_SLOTS, NULL, 0, &b,
	    NULL));
	ATF_CHECK_EQ(VW_SLOTS, b.u64);
	ATF_CHECK_EQ(VW_CONFIG_HEAD + sizeof(fs), master_ask(&vmm,
	    VW_GET_CONFIG, &c, VW_CONFIG_HEAD + sizeof(fs), &b, NULL));
	memcpy(&fs, b.config.data, sizeof(fs));
	ATF_CHECK_STREQ("folder", fs.tag);
	ATF_CHECK_EQ(M_QUEUES - 1, fs.queues);
	c.offset = 10000;
	ATF_CHECK_EQ(0, master_ask(&vmm, VW_GET_CONFIG, &c, VW_CONFIG_HEAD,
	    &b, NULL));
	c.offset = 0;
	ATF_CHECK(master_ack(&vmm, VW_SET_CONFIG, &c, VW_CONFIG_HEAD + 4,
	    -1) != 0);
	/* What is not there, and queues that are not. */
	ATF_CHECK(master_ack(&vmm, 99, NULL, 0, -1) != 0);
	ATF_CHECK(master_ack(&vmm, VW_SET_LOG_FD, NULL, 0, -1) != 0);
	ATF_CHECK(master_ack(&vmm, VW_SET_VRING_ENABLE, &st, sizeof(st),
	    -1) != 0);
	ATF_CHECK(master_ack(&vmm, VW_SET_VRING_NUM, &st, 4, -1) != 0);
	finish();
}

/* What a VMM says wrong and asks no answer for ends the connection. */
ATF_TC_WITHOUT_HEAD(bad_messages);
ATF_TC_BODY(bad_messages, tc)
{
	static const struct {
		uint32_t	request;
		uint32_t	flags;
		uint32_t	size;
	} bad[] = {
		{ 77, VW_VERSION, 0 }, { VW_SET_FEATURES, VW_VERSION, 4 },
		{ VW_GET_FEATURES, 2, 0 }, { VW_GET_FEATURES, 1, 1 << 20 },
		{ VW_SET_MEM_TABLE, VW_VERSION, 8 },
		{ VW_SET_VRING_KICK, VW_VERSION, 8 },
		{ VW_SET_FEATURES, VW_VERSION, 8 },
		{ VW_SET_INFLIGHT_FD, VW_VERSION, 20 },
		{ VW_GET_INFLIGHT_FD, VW_VERSION, 20 }
	};
	char zero[64] = { 0 };
	struct vw_head h;
	unsigned int i;

	server_start(&srv, 4);
	master_connect(&vmm, ALL, false);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		h.request = bad[i].request;
		h.flags = bad[i].flags;
		h.size = bad[i].size;
		ATF_REQUIRE_EQ((ssize_t)sizeof(h), send(vmm.fd, &h, sizeof(h),
		    0));
		if (h.size > 0 && h.size <= sizeof(zero))
			(void)send(vmm.fd, zero, h.size, MSG_NOSIGNAL);
		ATF_CHECK_EQ_MSG(0, recv(vmm.fd, zero, 1, 0), "message %u",
		    i);
		server_wait_end(&srv, i + 1);
		ATF_CHECK_EQ_MSG(CO_EPROTO_MALFORMED, srv.last.code, "%u", i);
		master_close(&vmm);
		master_hello(&vmm);
	}
	finish();
}

static void
round_trip(uint64_t features)
{
	struct fw_write_in wi = { .offset = 3 };
	struct fw_read_in ri = { .offset = 0 };
	char data[9000], got[9003];
	struct fw_write_out wo;
	struct fw_entry_out eo;
	struct stat st;
	uint64_t fh, node;
	size_t i;

	start(features, false);
	ATF_CHECK_EQ(ENOENT, lookup(&vmm, 1, "none", &eo));
	node = m_create(&vmm, 2, "file", &fh);
	for (i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 7 + i / 256);
	wi.fh = fh;
	wi.size = sizeof(data);
	ATF_REQUIRE_EQ(0, m_do(&vmm, 3, FW_WRITE, node, &wi, sizeof(wi), data,
	    sizeof(data), &wo, sizeof(wo)));
	ATF_CHECK_EQ(sizeof(data), wo.size);
	ATF_REQUIRE(stat("in/file", &st) == 0);
	ATF_CHECK_EQ(sizeof(data) + 3, (size_t)st.st_size);
	ri.fh = fh;
	ri.size = sizeof(got);
	ATF_REQUIRE_EQ(0, m_do(&vmm, 1, FW_READ, node, &ri, sizeof(ri), NULL,
	    0, got, sizeof(got)));
	ATF_CHECK(memcmp(got, "\0\0\0", 3) == 0);
	ATF_CHECK(memcmp(got + 3, data, sizeof(data)) == 0);
	/* A write of nothing, and reads at and over the end. */
	wi.size = 0;
	ATF_CHECK_EQ(0, m_do(&vmm, 3, FW_WRITE, node, &wi, sizeof(wi), NULL,
	    0, &wo, sizeof(wo)));
	ri.offset = sizeof(got) - 5;
	ATF_CHECK_EQ(0, m_do(&vmm, 1, FW_READ, node, &ri, sizeof(ri), NULL,
	    0, got, 5));
	ATF_CHECK(memcmp(got, data + sizeof(data) - 5, 5) == 0);
	ri.offset = 1 << 20;
	ATF_CHECK_EQ(0, m_do(&vmm, 1, FW_READ, node, &ri, sizeof(ri), NULL,
	    0, NULL, 0));
	ATF_CHECK_EQ(0, lookup(&vmm, 1, "file", &eo));
	ATF_CHECK_EQ(node, eo.nodeid);
	finish();
}

ATF_TC_WITHOUT_HEAD(direct);
ATF_TC_BODY(direct, tc)
{

	round_trip(0);
}

ATF_TC_WITHOUT_HEAD(indirect);
ATF_TC_BODY(indirect, tc)
{

	round_trip(VW_F_INDIRECT);
}

ATF_TC_WITHOUT_HEAD(event_index);
ATF_TC_BODY(event_index, tc)
{

	round_trip(ALL);
}

/* Data that begins in one region of memory and ends in the next. */
ATF_TC_WITHOUT_HEAD(two_regions);
ATF_TC_BODY(two_regions, tc)
{
	struct mqueue *q = &vmm.q[1];
	struct fw_in_header h = { .opcode = FW_WRITE, .unique = 77 };
	struct fw_write_in wi = { .size = 1000 };
	struct vw_used_elem e;
	char *edge, *in;
	uint64_t fh, node;
	char got[1000];
	int fd;

	start(ALL, false);
	node = m_create(&vmm, 1, "file", &fh);
	edge = vmm.mem + M_REGION - 333;
	memset(edge, 'x', 333);
	memset(edge + 333, 'y', 667);
	in = vmm.mem + M_REGION - 4096;
	h.nodeid = node;
	h.len = 80 + 1000;
	wi.fh = fh;
	memcpy(in, &h, sizeof(h));
	memcpy(in + sizeof(h), &wi, sizeof(wi));
	q->desc[40] = (struct vw_desc){ m_addr(&vmm, in), 80, VW_D_NEXT, 41 };
	q->desc[41] = (struct vw_desc){ m_addr(&vmm, edge), 1000, VW_D_NEXT,
	    42 };
	q->desc[42] = (struct vw_desc){ m_addr(&vmm, vmm.mem + M_REGION - 7),
	    24, VW_D_WRITE, 0 };
	m_post(&vmm, 1, 40);
	m_kick(&vmm, 1);
	ATF_REQUIRE(m_used(&vmm, 1, &e, 10000));
	ATF_CHECK_EQ(40, e.id);
	ATF_CHECK_EQ(24, e.len);
	ATF_REQUIRE((fd = open("in/file", O_RDONLY)) != -1);
	ATF_CHECK_EQ(1000, read(fd, got, sizeof(got)));
	(void)close(fd);
	/* The answer was written over a part of it, but after. */
	ATF_CHECK(got[0] == 'x' && got[332] == 'x' && got[333] == 'y' &&
	    got[999] == 'y');
	finish();
}

/* Calls come when the guest said, and kicks are wanted when idle only. */
ATF_TC_WITHOUT_HEAD(notifications);
ATF_TC_BODY(notifications, tc)
{
	struct fw_getattr_in in = { .flags = 0 };
	struct mqueue *q = &vmm.q[1];
	struct vw_used_elem e;
	uint16_t *event, *kicks, i;

	start(ALL, false);
	event = &q->avail->ring[M_NUM];
	kicks = (uint16_t *)(void *)&q->used->ring[M_NUM];
	(void)m_called(&vmm, 1, 1000);
	__atomic_store_n(event, (uint16_t)(q->seen + 2), __ATOMIC_SEQ_CST);
	for (i = 0; i < 2; i++) {
		(void)m_send(&vmm, 1, FW_GETATTR, 1, &in, sizeof(in), NULL, 0,
		    16 + sizeof(struct fw_attr_out));
		ATF_REQUIRE(m_used(&vmm, 1, &e, 10000));
		ATF_CHECK(!m_called(&vmm, 1, 50));
	}
	(void)m_send(&vmm, 1, FW_GETATTR, 1, &in, sizeof(in), NULL, 0,
	    16 + sizeof(struct fw_attr_out));
	ATF_CHECK(m_called(&vmm, 1, 10000));
	ATF_REQUIRE(m_used(&vmm, 1, &e, 10000));
	/* Idle soon: it wants to be kicked for the next. */
	for (i = 0; i < 1000 && __atomic_load_n(kicks, __ATOMIC_SEQ_CST) !=
	    q->avail->idx; i++)
		(void)usleep(1000);
	ATF_CHECK_EQ(q->avail->idx, *kicks);
	finish();

	/* Without event index: by flags. */
	start(0, false);
	q->avail->flags = VW_A_NO_INTERRUPT;
	(void)m_called(&vmm, 1, 1000);
	ATF_CHECK_EQ(0, getattr(&vmm, 1, 1));
	ATF_CHECK(!m_called(&vmm, 1, 50));
	q->avail->flags = 0;
	ATF_CHECK_EQ(0, getattr(&vmm, 1, 1));
	ATF_CHECK(m_called(&vmm, 1, 10000));
	finish();
}

/* Requests that wait hold up nobody, and only so many may. */
ATF_TC_WITHOUT_HEAD(locks);
ATF_TC_BODY(locks, tc)
{
	struct fw_lk_in in;
	struct vw_used_elem e;
	uint64_t fh, node;
	uint16_t head;
	int i, no = 0;

	start(ALL, false);
	head = waiting_lock(&vmm, &node, &fh);
	for (i = 0; i < 30; i++)
		ATF_CHECK_EQ(0, getattr(&vmm, 1 + (unsigned)i % 3, node));
	/* Half of twelve threads may wait. */
	for (i = 0; i < 8; i++) {
		lock_in(&in, fh, 10 + (uint64_t)i, F_WRLCK);
		(void)m_send(&vmm, 2, FW_SETLKW, node, &in, sizeof(in), NULL,
		    0, 16);
	}
	for (i = 0; i < 3; i++) {
		ATF_REQUIRE(m_used(&vmm, 2, &e, 10000));
		no += ((struct fw_out_header *)(void *)m_out(&vmm, 2,
		    (uint16_t)(e.id / 4)))->error == -ENOLCK;
	}
	ATF_CHECK_EQ(3, no);
	ATF_CHECK(!m_used(&vmm, 2, &e, 50));
	ATF_CHECK_EQ(0, getattr(&vmm, 1, node));
	ATF_CHECK_EQ(0, lock(&vmm, 3, node, fh, 1, F_UNLCK));
	/* One of the waiters has it now, and then the next. */
	for (i = 0; i < 6; i++) {
		uint64_t owner;

		if (m_used(&vmm, 1, &e, 20)) {
			ATF_CHECK_EQ(head, e.id);
			owner = 2;
		} else {
			ATF_REQUIRE(m_used(&vmm, 2, &e, 10000));
			owner = ((struct fw_lk_in *)(void *)(m_in(&vmm, 2,
			    (uint16_t)(e.id / 4)) + 40))->owner;
		}
		ATF_CHECK_EQ(0, lock(&vmm, 3, node, fh, owner, F_UNLCK));
	}
	finish();
}

static void
hostile_reset(struct mqueue *q)
{

	memset(q->desc, 0, M_NUM * sizeof(*q->desc));
	memset(q->avail, 0, sizeof(*q->avail) + 2 * M_NUM + 2);
	memset(q->used, 0, sizeof(*q->used) + 8 * M_NUM + 2);
	q->seen = q->free = 0;
}

/* One way to be wrong, on a ring that is empty otherwise. */
static void
hostile_make(struct master *m, unsigned int kind)
{
	struct mqueue *q = &m->q[1];
	uint64_t a = m_addr(m, m_in(m, 1, 0));
	struct vw_desc *table = (struct vw_desc *)(void *)m_in(m, 1, 1);
	uint64_t t = m_addr(m, table);
	struct vw_desc *d = q->desc;
	uint16_t head = 0, n = 1;

	memset(table, 0, 4096);
	d[0] = (struct vw_desc){ a, 40, VW_D_NEXT, 1 };
	d[1] = (struct vw_desc){ a + 4096, 200, VW_D_WRITE, 0 };
	switch (kind) {
	case 0:		/* no such head */
		head = M_NUM;
		break;
	case 1:		/* more than the ring has */
		n = M_NUM + 1;
		break;
	case 2:		/* a loop */
		d[1].flags |= VW_D_NEXT;
		d[1].next = 1;
		break;
	case 3:		/* a loop of two, of readable ones */
		d[1] = (struct vw_desc){ a, 40, VW_D_NEXT, 0 };
		break;
	case 4:		/* outside */
		d[0].addr = M_GUEST + M_SIZE;
		break;
	case 5:
		d[0].addr = 0;
		break;
	case 6:		/* over the end */
		d[1].addr = M_GUEST + M_SIZE - 199;
		break;
	case 7:
		d[1].addr = UINT64_MAX - 100;
		break;
	case 8:
		d[1].len = UINT32_MAX;
		break;
	case 9:		/* readable after writable */
		d[0].flags |= VW_D_WRITE;
		d[1].flags = 0;
		break;
	case 10:	/* next is none */
		d[0].next = M_NUM;
		break;
	case 11:	/* a table within a table */
		d[0] = (struct vw_desc){ t, 32, VW_D_INDIRECT, 0 };
		table[0] = (struct vw_desc){ t, 32, VW_D_INDIRECT, 0 };
		break;
	case 12:	/* a table that goes on */
		d[0] = (struct vw_desc){ t, 32, VW_D_INDIRECT | VW_D_NEXT,
		    1 };
		table[0] = (struct vw_desc){ a, 40, 0, 0 };
		break;
	case 13:	/* not a number of descriptors */
		d[0] = (struct vw_desc){ t, 31, VW_D_INDIRECT, 0 };
		break;
	case 14:
		d[0] = (struct vw_desc){ t, 0, VW_D_INDIRECT, 0 };
		break;
	case 15:	/* a table outside, or partly so */
		d[0] = (struct vw_desc){ UINT64_MAX - 15, 32, VW_D_INDIRECT,
		    0 };
		break;
	case 16:
		d[0] = (struct vw_desc){ M_GUEST + M_SIZE - 24, 32,
		    VW_D_INDIRECT, 0 };
		((struct vw_desc *)(void *)(vmm.mem + M_SIZE - 24))[0] =
		    (struct vw_desc){ a, 40, VW_D_NEXT, 1 };
		break;
	case 17:	/* a loop in a table, and out of it */
		d[0] = (struct vw_desc){ t, 64, VW_D_INDIRECT, 0 };
		table[0] = (struct vw_desc){ a, 40, VW_D_NEXT, 0 };
		break;
	case 18:
		d[0] = (struct vw_desc){ t, 64, VW_D_INDIRECT, 0 };
		table[0] = (struct vw_desc){ a, 40, VW_D_NEXT, 4 };
		break;
	case 19:	/* too many pieces */
		d[0] = (struct vw_desc){ t, 16 * 1100, VW_D_INDIRECT, 0 };
		for (uint16_t i = 0; i < 1100; i++)
			table[i] = (struct vw_desc){ a, 1, VW_D_NEXT,
			    (uint16_t)(i + 1) };
		break;
	default:	/* too long, together: 4 GiB */
		d[0] = (struct vw_desc){ t, 16 * 1024, VW_D_INDIRECT, 0 };
		for (uint16_t i = 0; i < 1024; i++)
			table[i] = (struct vw_desc){ M_GUEST, M_SIZE,
			    VW_D_NEXT | VW_D_WRITE, (uint16_t)(i + 1) };
		table[1023].flags = VW_D_WRITE;
		break;
	}
	q->avail->ring[0] = head;
	__atomic_store_n(&q->avail->idx, n, __ATOMIC_SEQ_CST);
}
#define	HOSTILE	21

ATF_TC_WITHOUT_HEAD(hostile);
ATF_TC_BODY(hostile, tc)
{
	struct pollfd p = { .events = POLLIN };
	struct vw_used_elem e;
	unsigned int kind;
	uint64_t n;

	start(ALL, false);
	for (kind = 0; kind < HOSTILE; kind++) {
		(void)master_pause(&vmm, 1);
		hostile_reset(&vmm.q[1]);
		master_start(&vmm, 1, 0);
		hostile_make(&vmm, kind);
		m_kick(&vmm, 1);
		p.fd = vmm.q[1].err;
		ATF_CHECK_EQ_MSG(1, poll(&p, 1, 10000), "%u was taken", kind);
		ATF_CHECK_EQ(8, read(p.fd, &n, 8));
		/* It stays alone, and others do not notice. */
		m_kick(&vmm, 1);
		ATF_CHECK(!m_used(&vmm, 1, &e, 5));
		ATF_CHECK_EQ(0, getattr(&vmm, 2, 1));
	}
	(void)master_pause(&vmm, 1);
	hostile_reset(&vmm.q[1]);
	master_start(&vmm, 1, 0);
	ATF_CHECK_EQ(0, getattr(&vmm, 1, 1));
	finish();
}

/* Tables where the feature was not agreed on. */
ATF_TC_WITHOUT_HEAD(hostile_indirect);
ATF_TC_BODY(hostile_indirect, tc)
{
	struct pollfd p = { .events = POLLIN };

	start(0, false);
	p.fd = vmm.q[2].err;
	vmm.features |= VW_F_INDIRECT;
	(void)m_send(&vmm, 2, FW_STATFS, 1, NULL, 0, NULL, 0, 96);
	ATF_CHECK_EQ(1, poll(&p, 1, 10000));
	finish();
}

/* Rings where there is no memory, or not enough, or none at all. */
ATF_TC_WITHOUT_HEAD(bad_rings);
ATF_TC_BODY(bad_rings, tc)
{
	static const struct {
		uint64_t	desc, avail, used;
	} bad[] = {
		{ 0, 0x1000, 0x2000 },
		{ M_USER + M_SIZE - 16, M_USER, M_USER },
		{ M_USER, M_USER + M_REGION - 100, M_USER },
		{ M_USER, M_USER, M_USER + M_SIZE - 4 },
		{ M_USER + 8, M_USER, M_USER }, { M_USER, M_USER + 1, M_USER },
		{ M_USER, M_USER, M_USER + 2 },
		{ UINT64_MAX - 8, M_USER, M_USER }
	};
	struct vw_state st = { .index = 1, .num = M_NUM };
	struct vw_addr a = { .index = 1 };
	uint64_t one = 1;
	unsigned int i;

	start(ALL, false);
	(void)master_pause(&vmm, 1);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		a.desc = bad[i].desc;
		a.avail = bad[i].avail;
		a.used = bad[i].used;
		ATF_CHECK_EQ(0, master_ack(&vmm, VW_SET_VRING_ADDR, &a,
		    sizeof(a), -1));
		ATF_CHECK_MSG(master_ack(&vmm, VW_SET_VRING_KICK, &one, 8,
		    vmm.q[1].kick) != 0, "%u was taken", i);
	}
	for (st.num = 0; st.num < 200000; st.num += 65535 / 3)
		ATF_CHECK(master_ack(&vmm, VW_SET_VRING_NUM, &st, sizeof(st),
		    -1) != 0);
	st.num = 65536;
	ATF_CHECK(master_ack(&vmm, VW_SET_VRING_BASE, &st, sizeof(st),
	    -1) != 0);
	ATF_CHECK_EQ(0, getattr(&vmm, 2, 1));
	finish();
}

/* Requests that are well put but lie about themselves. */
ATF_TC_WITHOUT_HEAD(lies);
ATF_TC_BODY(lies, tc)
{
	struct fw_in_header h = { .len = 40, .opcode = FW_GETATTR };
	struct fw_write_in wi = { .size = 100 };
	struct fw_write_out wo;
	struct vw_used_elem e;
	struct share_stats st;
	char data[100] = { 0 };
	uint64_t fh, files, node;
	uint16_t head;

	start(ALL, false);
	node = m_create(&vmm, 1, "file", &fh);
	share_stats(srv.s, &st);
	files = st.files;
	/* Not even a header; nothing at all. */
	vmm.q[1].desc[60] = (struct vw_desc){ m_addr(&vmm, m_in(&vmm, 1, 15)),
	    39, 0, 0 };
	m_post(&vmm, 1, 60);
	m_kick(&vmm, 1);
	ATF_REQUIRE(m_used(&vmm, 1, &e, 10000));
	ATF_CHECK_EQ(0, e.len);
	vmm.q[1].desc[60].flags = VW_D_WRITE;
	m_post(&vmm, 1, 60);
	m_kick(&vmm, 1);
	ATF_REQUIRE(m_used(&vmm, 1, &e, 10000));
	ATF_CHECK_EQ(0, e.len);
	/* More data than there is, or than is allowed. */
	wi.fh = fh;
	wi.size = 101;
	ATF_CHECK_EQ(EINVAL, m_do(&vmm, 1, FW_WRITE, node, &wi, sizeof(wi),
	    data, 100, &wo, sizeof(wo)));
	wi.size = UINT32_MAX;
	ATF_CHECK_EQ(EINVAL, m_do(&vmm, 1, FW_WRITE, node, &wi, sizeof(wi),
	    data, 100, &wo, sizeof(wo)));
	/* Less than there is: no more is taken. */
	wi.size = 10;
	ATF_CHECK_EQ(0, m_do(&vmm, 1, FW_WRITE, node, &wi, sizeof(wi), data,
	    100, &wo, sizeof(wo)));
	ATF_CHECK_EQ(10, wo.size);
	/* A length that is not that of the chain. */
	head = m_send(&vmm, 0, FW_FORGET, node, data, 8, NULL, 0, 0);
	ATF_REQUIRE(m_used(&vmm, 0, &e, 10000));
	ATF_CHECK(e.id == head && e.len == 0);
	memcpy(m_in(&vmm, 1, 15), &h, sizeof(h));
	vmm.q[1].desc[60].flags = VW_D_NEXT;
	vmm.q[1].desc[60].next = 61;
	vmm.q[1].desc[60].len = 40;
	vmm.q[1].desc[61] = (struct vw_desc){ m_addr(&vmm, m_out(&vmm, 1,
	    15)), 16, VW_D_WRITE, 0 };
	m_post(&vmm, 1, 60);
	m_kick(&vmm, 1);
	ATF_CHECK_EQ(EINVAL, m_wait(&vmm, 1, 60, NULL, 0));
	/* No room for the answer: what it gave is taken back. */
	struct fw_create_in ci = { .flags = O_RDWR, .mode = S_IFREG | 0644 };

	head = m_send(&vmm, 1, FW_CREATE, FW_ROOT, &ci, sizeof(ci), "x", 2,
	    40);
	ATF_CHECK_EQ(EIO, m_wait(&vmm, 1, head, NULL, 0));
	head = m_send(&vmm, 1, FW_CREATE, FW_ROOT, &ci, sizeof(ci), "y", 2,
	    8);
	ATF_REQUIRE(m_used(&vmm, 1, &e, 10000));
	ATF_CHECK_EQ(0, e.len);
	share_stats(srv.s, &st);
	ATF_CHECK_EQ(files, st.files);
	finish();
}

/* A paused machine: no answer meanwhile, and all of them later. */
ATF_TC_WITHOUT_HEAD(paused);
ATF_TC_BODY(paused, tc)
{
	struct vw_used_elem e;
	uint64_t fh, node;
	uint16_t base, head;
	co_moment end;

	start(ALL, false);
	head = waiting_lock(&vmm, &node, &fh);
	end = co_after(2000);
	base = master_pause(&vmm, 1);
	ATF_CHECK_MSG(co_left(end) > 0, "the VMM had to wait");
	ATF_CHECK_EQ(vmm.q[1].avail->idx, base);
	ATF_CHECK_EQ(0, lock(&vmm, 2, node, fh, 1, F_UNLCK));
	ATF_CHECK(!m_used(&vmm, 1, &e, 100));
	ATF_CHECK_EQ('\xee', m_out(&vmm, 1, head / 4)[0]);
	master_start(&vmm, 1, base);
	ATF_CHECK_EQ(0, m_wait(&vmm, 1, head, NULL, 0));
	ATF_CHECK_EQ(0, getattr(&vmm, 1, node));
	finish();
}

/* A machine that begins anew: what it asked before is not answered. */
ATF_TC_WITHOUT_HEAD(restarted);
ATF_TC_BODY(restarted, tc)
{
	struct vw_used_elem e;
	uint64_t fh, node;
	uint16_t head;

	start(ALL, false);
	head = waiting_lock(&vmm, &node, &fh);
	(void)master_pause(&vmm, 1);
	hostile_reset(&vmm.q[1]);
	master_start(&vmm, 1, 0);
	ATF_CHECK_EQ(0, lock(&vmm, 2, node, fh, 1, F_UNLCK));
	ATF_CHECK(!m_used(&vmm, 1, &e, 100));
	ATF_CHECK_EQ('\xee', m_out(&vmm, 1, head / 4)[0]);
	m_init(&vmm);
	ATF_CHECK_EQ(ESTALE, getattr(&vmm, 1, node));
	ATF_CHECK_EQ(0, getattr(&vmm, 1, 1));
	finish();
}

/* The VMM dies: locks and files of its guest are gone, the next is served. */
ATF_TC_WITHOUT_HEAD(reconnect);
ATF_TC_BODY(reconnect, tc)
{
	struct share_stats st;
	uint64_t fh, node;
	unsigned int i;

	server_start(&srv, 12);
	for (i = 0; i < 5; i++) {
		master_connect(&vmm, ALL, false);
		/* Nothing is left of the one before. */
		ATF_CHECK_EQ(EIO, getattr(&vmm, 1, 1));
		m_init(&vmm);
		(void)waiting_lock(&vmm, &node, &fh);
		share_stats(srv.s, &st);
		ATF_CHECK_EQ(1, st.files);
		master_free(&vmm);
		server_wait_end(&srv, i + 1);
		share_stats(srv.s, &st);
		ATF_CHECK_EQ(0, st.files);
		ATF_CHECK_EQ(0, st.locks);
		ATF_CHECK_EQ(CO_OK, srv.last.code);
		ATF_REQUIRE(unlink("in/locked") == 0);
	}
	server_stop(&srv);
}

/* A VMM that keeps track of what is in flight finds all as it was. */
ATF_TC_WITHOUT_HEAD(inflight);
ATF_TC_BODY(inflight, tc)
{
	struct vw_inflight_queue *left;
	struct fw_write_in wi = { .size = 5 };
	struct vw_used_elem e;
	struct share_stats st;
	uint64_t fh, node;
	uint16_t head, idx;
	char *map, got[6] = "";
	int fd;

	start(ALL, true);
	node = m_create(&vmm, 1, "file", &fh);
	map = mmap(NULL, vmm.inflight.size, PROT_READ | PROT_WRITE,
	    MAP_SHARED, vmm.inflight_fd, (off_t)vmm.inflight.offset);
	ATF_REQUIRE(map != MAP_FAILED);
	left = (struct vw_inflight_queue *)(void *)(map +
	    vmm.inflight.size / M_QUEUES);
	ATF_CHECK_EQ(M_NUM, left->num);
	ATF_CHECK_EQ(vmm.q[1].used->idx, left->used);
	for (idx = 0; idx < M_NUM; idx++)
		ATF_CHECK_EQ(0, left->desc[idx].inflight);
	/* It goes, and posts what nobody takes; that was "in flight". */
	master_close(&vmm);
	server_wait_end(&srv, 1);
	share_stats(srv.s, &st);
	ATF_CHECK_EQ(1, st.files);
	wi.fh = fh;
	head = m_send(&vmm, 1, FW_WRITE, node, &wi, sizeof(wi), "later", 5,
	    24);
	left->desc[head].counter = 1;
	left->desc[head].inflight = 1;
	/* An answer that was given, but not noted any more. */
	left->desc[(head + 4) % 64].inflight = 1;
	left->last = (uint16_t)((head + 4) % 64);
	left->used--;
	master_hello(&vmm);
	/* As QEMU does: the base is what was used. */
	master_start(&vmm, 1, vmm.q[1].used->idx);
	ATF_CHECK_EQ(0, m_wait(&vmm, 1, head, got, 0));
	ATF_CHECK(!m_used(&vmm, 1, &e, 20));
	ATF_CHECK_EQ(0, left->desc[head].inflight);
	ATF_REQUIRE((fd = open("in/file", O_RDONLY)) != -1);
	ATF_CHECK_EQ(5, read(fd, got, 5));
	(void)close(fd);
	ATF_CHECK_STREQ("later", got);
	ATF_CHECK_EQ(0, getattr(&vmm, 1, node));
	(void)munmap(map, vmm.inflight.size);
	/* Another VMM gets nothing of that. */
	master_free(&vmm);
	master_connect(&vmm, ALL, true);
	ATF_CHECK_EQ(EIO, getattr(&vmm, 1, 1));
	finish();
}

/* Memory comes and goes while the machine runs. */
ATF_TC_WITHOUT_HEAD(memory);
ATF_TC_BODY(memory, tc)
{
	struct vw_slot s = { .region = { .guest = UINT64_C(1) << 40,
	    .user = UINT64_C(1) << 41, .size = 65536 } };
	struct fw_in_header h = { .len = 40, .opcode = FW_STATFS,
	    .nodeid = 1, .unique = 5 };
	struct pollfd p = { .events = POLLIN };
	struct vw_used_elem e;
	char *more;
	int fd, i;

	start(ALL, false);
	ATF_REQUIRE((fd = memfd_create("more", MFD_CLOEXEC)) != -1);
	ATF_REQUIRE(ftruncate(fd, 65535) == 0);
	ATF_CHECK_MSG(master_ack(&vmm, VW_ADD_MEM_REG, &s, sizeof(s),
	    fd) != 0, "more than the file has");
	ATF_REQUIRE(ftruncate(fd, 65536) == 0);
	more = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ATF_REQUIRE(more != MAP_FAILED);
	memcpy(more, &h, sizeof(h));
	vmm.q[1].desc[62] = (struct vw_desc){ s.region.guest, 40, VW_D_NEXT,
	    63 };
	vmm.q[1].desc[63] = (struct vw_desc){ s.region.guest + 4096, 96,
	    VW_D_WRITE, 0 };
	for (i = 0; i < 20; i++) {
		ATF_CHECK_EQ(0, master_ack(&vmm, VW_ADD_MEM_REG, &s,
		    sizeof(s), fd));
		ATF_CHECK_MSG(master_ack(&vmm, VW_ADD_MEM_REG, &s, sizeof(s),
		    fd) != 0, "twice");
		memset(more + 4096, 0, 96);
		m_post(&vmm, 1, 62);
		m_kick(&vmm, 1);
		ATF_REQUIRE(m_used(&vmm, 1, &e, 10000));
		ATF_CHECK_EQ(96, e.len);
		ATF_CHECK_EQ(96, *(uint32_t *)(void *)(more + 4096));
		ATF_CHECK_EQ(0, master_ack(&vmm, VW_REM_MEM_REG, &s,
		    sizeof(s), -1));
		ATF_CHECK_EQ(0, getattr(&vmm, 1, 1));
	}
	ATF_CHECK(master_ack(&vmm, VW_REM_MEM_REG, &s, sizeof(s), -1) != 0);
	p.fd = vmm.q[1].err;
	m_post(&vmm, 1, 62);
	m_kick(&vmm, 1);
	ATF_CHECK_EQ(1, poll(&p, 1, 10000));
	/* The whole table again, then one without the rings. */
	master_memory(&vmm, 2);
	ATF_CHECK_EQ(0, getattr(&vmm, 2, 1));
	s.region.guest = M_GUEST;
	s.region.user = M_USER;
	s.region.size = M_REGION;
	ATF_CHECK_EQ(0, master_ack(&vmm, VW_REM_MEM_REG, &s, sizeof(s), -1));
	m_kick(&vmm, 2);
	(void)munmap(more, 65536);
	(void)close(fd);
	finish();
}

/* Requests in progress are answered when the server is told to stop. */
ATF_TC_WITHOUT_HEAD(stop);
ATF_TC_BODY(stop, tc)
{
	uint64_t fh, node;
	uint16_t head;

	start(ALL, false);
	head = waiting_lock(&vmm, &node, &fh);
	server_stop(&srv);
	ATF_CHECK_EQ(EINTR, m_wait(&vmm, 1, head, NULL, 0));
	master_free(&vmm);
}

struct pump {
	unsigned int	q;
	unsigned int	rounds;
	unsigned int	answered;
};

/* Keep a queue full, with requests of which some reset the share. */
static void *
pump(void *arg)
{
	static const uint32_t ops[] = { FW_GETATTR, FW_LOOKUP, FW_CREATE,
	    FW_UNLINK, FW_STATFS, FW_OPENDIR, FW_INIT, FW_GETATTR };
	struct pump *p = arg;
	struct vw_used_elem e;
	struct {
		struct fw_create_in	c;
		char			name[8];
	} in = { .c = { .flags = O_RDWR, .mode = S_IFREG | 0600 },
	    .name = "x" };
	struct fw_init_in init = { .major = 7, .minor = 38 };
	unsigned int flying = 0, i = 0;
	uint32_t op;

	(void)snprintf(in.name, sizeof(in.name), "x%u", p->q);
	while (p->answered < p->rounds) {
		if (flying < 12 && i < p->rounds) {
			op = ops[i++ % (p->q == 1 ? 8 : 6)];
			if (op == FW_INIT)
				(void)m_send(&vmm, p->q, op, 1, &init,
				    sizeof(init), NULL, 0, 256);
			else if (op == FW_CREATE)
				(void)m_send(&vmm, p->q, op, 1, &in,
				    sizeof(in), NULL, 0, 256);
			else
				(void)m_send(&vmm, p->q, op, 1, in.name,
				    sizeof(in.name), NULL, 0, 256);
			flying++;
			continue;
		}
		if (!m_used(&vmm, p->q, &e, 20000))
			return (p);
		flying--;
		p->answered++;
	}
	return (NULL);
}

ATF_TC(storm);
ATF_TC_HEAD(storm, tc)
{

	atf_tc_set_md_var(tc, "timeout", "120");
}
ATF_TC_BODY(storm, tc)
{
	struct pump p[M_QUEUES];
	pthread_t t[M_QUEUES];
	unsigned int i;
	void *failed;

	start(ALL, true);
	for (i = 1; i < M_QUEUES; i++) {
		p[i] = (struct pump){ .q = i, .rounds = 3000 };
		ATF_REQUIRE(pthread_create(&t[i], NULL, pump, &p[i]) == 0);
	}
	for (i = 1; i < M_QUEUES; i++) {
		ATF_REQUIRE(pthread_join(t[i], &failed) == 0);
		ATF_CHECK_MSG(failed == NULL, "queue %u: %u answers", i,
		    p[i].answered);
	}
	finish();
}

/* The socket's place. */
ATF_TC_WITHOUT_HEAD(socket_name);
ATF_TC_BODY(socket_name, tc)
{
	struct co_error e;
	struct stat st;
	char name[200];
	int fd, other;

	ATF_REQUIRE(fused_vhost_listen("s", &fd, &e) == 0);
	ATF_REQUIRE(stat("s", &st) == 0);
	ATF_CHECK_EQ(0600, st.st_mode & 07777);
	ATF_CHECK(fused_vhost_listen("s", &other, &e) == -1);
	(void)close(fd);
	ATF_REQUIRE(fused_vhost_listen("s", &fd, &e) == 0);
	(void)close(fd);
	ATF_REQUIRE((fd = open("file", O_WRONLY | O_CREAT, 0600)) != -1);
	(void)close(fd);
	ATF_CHECK(fused_vhost_listen("file", &fd, &e) == -1);
	ATF_CHECK(stat("file", &st) == 0 && S_ISREG(st.st_mode));
	memset(name, 'x', sizeof(name));
	name[199] = '\0';
	ATF_CHECK(fused_vhost_listen(name, &fd, &e) == -1);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, handshake);
	ATF_TP_ADD_TC(tp, bad_messages);
	ATF_TP_ADD_TC(tp, direct);
	ATF_TP_ADD_TC(tp, indirect);
	ATF_TP_ADD_TC(tp, event_index);
	ATF_TP_ADD_TC(tp, two_regions);
	ATF_TP_ADD_TC(tp, notifications);
	ATF_TP_ADD_TC(tp, locks);
	ATF_TP_ADD_TC(tp, hostile);
	ATF_TP_ADD_TC(tp, hostile_indirect);
	ATF_TP_ADD_TC(tp, bad_rings);
	ATF_TP_ADD_TC(tp, lies);
	ATF_TP_ADD_TC(tp, paused);
	ATF_TP_ADD_TC(tp, restarted);
	ATF_TP_ADD_TC(tp, reconnect);
	ATF_TP_ADD_TC(tp, inflight);
	ATF_TP_ADD_TC(tp, memory);
	ATF_TP_ADD_TC(tp, stop);
	ATF_TP_ADD_TC(tp, storm);
	ATF_TP_ADD_TC(tp, socket_name);
	return (atf_no_error());
}
