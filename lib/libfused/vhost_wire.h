/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * vhost-user, split virtqueues and virtio-fs as they are on the wire and in
 * the guest's memory.  With VIRTIO_F_VERSION_1, which is asked for, all is
 * little-endian; so is every host that this is built for.
 */

#ifndef VHOST_WIRE_H
#define VHOST_WIRE_H

#include <stdint.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
    "rings are little-endian");

/* Messages that a VMM sends. */
enum vw_request {
	VW_GET_FEATURES = 1, VW_SET_FEATURES = 2, VW_SET_OWNER = 3,
	VW_RESET_OWNER = 4, VW_SET_MEM_TABLE = 5, VW_SET_LOG_BASE = 6,
	VW_SET_LOG_FD = 7, VW_SET_VRING_NUM = 8, VW_SET_VRING_ADDR = 9,
	VW_SET_VRING_BASE = 10, VW_GET_VRING_BASE = 11,
	VW_SET_VRING_KICK = 12, VW_SET_VRING_CALL = 13,
	VW_SET_VRING_ERR = 14, VW_GET_PROTOCOL_FEATURES = 15,
	VW_SET_PROTOCOL_FEATURES = 16, VW_GET_QUEUE_NUM = 17,
	VW_SET_VRING_ENABLE = 18, VW_GET_CONFIG = 24, VW_SET_CONFIG = 25,
	VW_GET_INFLIGHT_FD = 31, VW_SET_INFLIGHT_FD = 32,
	VW_RESET_DEVICE = 34, VW_GET_MAX_MEM_SLOTS = 36, VW_ADD_MEM_REG = 37,
	VW_REM_MEM_REG = 38, VW_SET_STATUS = 39, VW_GET_STATUS = 40,
	VW_REQUESTS = 41
};

#define	VW_VERSION	0x1U
#define	VW_VERSION_MASK	0x3U
#define	VW_REPLY	0x4U
#define	VW_NEED_REPLY	0x8U

/* Features of the ring and the device. */
#define	VW_F_INDIRECT	(UINT64_C(1) << 28)
#define	VW_F_EVENT_IDX	(UINT64_C(1) << 29)
#define	VW_F_PROTOCOL	(UINT64_C(1) << 30)
#define	VW_F_VERSION_1	(UINT64_C(1) << 32)

/* Features of the protocol. */
#define	VW_P_MQ		(UINT64_C(1) << 0)
#define	VW_P_REPLY_ACK	(UINT64_C(1) << 3)
#define	VW_P_CONFIG	(UINT64_C(1) << 9)
#define	VW_P_INFLIGHT	(UINT64_C(1) << 12)
#define	VW_P_RESET	(UINT64_C(1) << 13)
#define	VW_P_MEM_SLOTS	(UINT64_C(1) << 15)
#define	VW_P_STATUS	(UINT64_C(1) << 16)

#define	VW_SLOTS	64	/* regions of memory that we take */
#define	VW_TABLE_MAX	8	/* of them in one VW_SET_MEM_TABLE */
#define	VW_NUM_MAX	32768	/* entries of a ring */
#define	VW_INDEX_MASK	0xffU	/* in VW_SET_VRING_KICK and its like */
#define	VW_NO_FD	0x100U
#define	VW_CONFIG_MAX	256

struct vw_head {
	uint32_t	request;
	uint32_t	flags;
	uint32_t	size;		/* of what follows */
};

struct vw_region {
	uint64_t	guest;		/* address there */
	uint64_t	size;
	uint64_t	user;		/* address in the VMM */
	uint64_t	offset;		/* in the descriptor */
};

struct vw_table {
	uint32_t		count;
	uint32_t		padding;
	struct vw_region	region[VW_TABLE_MAX];
};

struct vw_slot {
	uint64_t		padding;
	struct vw_region	region;
};

struct vw_state {
	uint32_t	index;
	uint32_t	num;
};

struct vw_addr {
	uint32_t	index;
	uint32_t	flags;
	uint64_t	desc;		/* addresses in the VMM */
	uint64_t	used;
	uint64_t	avail;
	uint64_t	log;
};

struct vw_config {
	uint32_t	offset;
	uint32_t	size;
	uint32_t	flags;
	uint8_t		data[VW_CONFIG_MAX];
};
#define	VW_CONFIG_HEAD	12

struct vw_inflight {
	uint64_t	size;
	uint64_t	offset;
	uint16_t	queues;
	uint16_t	num;		/* entries of each */
	uint32_t	padding;
};

union vw_body {
	uint64_t		u64;
	struct vw_table		table;
	struct vw_slot		slot;
	struct vw_state		state;
	struct vw_addr		addr;
	struct vw_config	config;
	struct vw_inflight	inflight;
};

/* The device's own configuration. */
#define	VW_TAG_MAX	36
struct vw_fs_config {
	char		tag[VW_TAG_MAX];
	uint32_t	queues;		/* for requests */
};

/* A split virtqueue. */
#define	VW_D_NEXT	1
#define	VW_D_WRITE	2	/* by the device */
#define	VW_D_INDIRECT	4
struct vw_desc {
	uint64_t	addr;
	uint32_t	len;
	uint16_t	flags;
	uint16_t	next;
};

#define	VW_A_NO_INTERRUPT	1
struct vw_avail {
	uint16_t	flags;
	uint16_t	idx;
	uint16_t	ring[];		/* then used_event */
};

#define	VW_U_NO_NOTIFY		1
struct vw_used_elem {
	uint32_t	id;
	uint32_t	len;
};

struct vw_used {
	uint16_t		flags;
	uint16_t		idx;
	struct vw_used_elem	ring[];	/* then avail_event */
};

/* What is in flight, in memory that outlives either side. */
#define	VW_INFLIGHT_VERSION	1
struct vw_inflight_desc {
	uint8_t		inflight;
	uint8_t		padding[5];
	uint16_t	next;
	uint64_t	counter;
};

struct vw_inflight_queue {
	uint64_t	features;
	uint16_t	version;
	uint16_t	num;
	uint16_t	last;		/* answered last */
	uint16_t	used;		/* the used index before that, or
					   after, if all went well */
	struct vw_inflight_desc desc[];
};

#endif /* VHOST_WIRE_H */
