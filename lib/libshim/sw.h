/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The messages of the shim's protocol, once for both sides: which there
 * are, who may send them, which fields they need and may have, and within
 * which bounds.  coppice-shim(7) describes what they mean.  Compiled into
 * libshim and into coppice-shim; allocates nothing.
 */

#ifndef SW_H
#define	SW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sj.h"

#define	SW_VERSION	1
#define	SW_PAYLOAD	65536		/* raw bytes after one line */
#define	SW_HOSTLINE	262144		/* a line of the host */
#define	SW_SHIMLINE	65536		/* a line of the shim */
#define	SW_HOSTVALS	16384		/* JSON values in a line of the host */
#define	SW_SHIMVALS	256		/* ... of the shim */
#define	SW_MINWINDOW	4096		/* unacknowledged output: least, */
#define	SW_MAXWINDOW	1048576		/* most, */
#define	SW_WINDOW	262144		/* and unless exec says otherwise */
#define	SW_STREAM	131072		/* window of stdin and of requests */
#define	SW_ENTRIES	256		/* window of entries and events */
#define	SW_SEGS	256		/* runs of output of one stream */
#define	SW_FDS	3		/* descriptors with one message */
#define	SW_TEXT	4096		/* payload bytes in one "data" string */

enum sw_from {
	SW_HOST = 1, SW_SHIM = 2
};

enum sw_type {
	W_NONE,
	/* host to shim */
	W_EXEC, W_CANCEL, W_ROLLBACK_NOTIFY, W_SIGNAL, W_RESIZE, W_STDIN,
	W_ATTACH, W_FORGET, W_CONFIGURE, W_PORTS, W_PS, W_STATS, W_STAT,
	W_LIST, W_READ, W_WRITE, W_MKDIR, W_MOVE, W_REMOVE, W_CHMOD, W_WATCH,
	W_DIAL, W_CLOSE, W_SHUTDOWN,
	/* both ways */
	W_HELLO, W_ACK, W_DATA,
	/* shim to host */
	W_STEP_STARTED, W_OUTPUT, W_STEP_COMPLETED, W_PROCESS, W_ENTRY,
	W_EVENT, W_CONNECTED, W_REPLY, W_HEARTBEAT, W_ERROR,
	W_MAX
};

enum sw_field {
	F_NONE,
	F_ACTIVITY, F_APPEND, F_ARGV, F_ATOMIC, F_BYTES, F_COLS, F_COMMAND,
	F_CPU_MS, F_CPUS, F_CWD, F_DATA, F_DEPTH, F_DISK_TOTAL, F_DISK_USED,
	F_DNS, F_ENV, F_EOF, F_ERROR, F_EVENT, F_EXIT_CODE, F_FALLBACK,
	F_FDS, F_FOLLOW, F_GID, F_GRACE_MS, F_GROUP, F_GW, F_HEARTBEAT_MS,
	F_HOSTNAME, F_HOW,
	F_ID, F_INSTANCE, F_INTERFACE, F_IP, F_KIND, F_LENGTH, F_MEM_TOTAL,
	F_MEM_USED, F_MESSAGE, F_MODE, F_MTIME_NS, F_MTU, F_NONCE, F_OFFSET,
	F_OWNER, F_PARENTS, F_PATH, F_PID, F_PLATFORM, F_PORT, F_PORTS,
	F_PREFIX, F_PROCS, F_PTY, F_RAW, F_RECURSIVE, F_REQ, F_ROWS,
	F_RUNNING, F_RX_BYTES, F_SEQ, F_SIGNAL, F_SIZE, F_STDERR, F_STDIN,
	F_STDIN_OFFSET, F_STDOUT, F_STEP_ID, F_STREAM, F_TAG, F_TARGET,
	F_TCP, F_TEAM, F_TIMED_OUT, F_TIMEOUT_MS, F_TO, F_TX_BYTES, F_UID,
	F_UPTIME_MS, F_USER, F_VERSION, F_WAIT, F_WINDOW,
	F_MAX
};

/* Values of the fields that are one of a few words. */
enum sw_stream { WS_STDOUT, WS_STDERR, WS_STDIN };
enum sw_stdio { WI_PIPE, WI_NULL, WI_FD, WI_STDOUT };
enum sw_wait { WW_EXIT, WW_EOF };
enum sw_how { WH_EXIT, WH_POWEROFF, WH_REBOOT };
enum sw_kind {
	WK_FILE, WK_DIR, WK_LINK, WK_FIFO, WK_SOCKET, WK_CHAR, WK_BLOCK,
	WK_OTHER
};
enum sw_event {
	WE_CREATE, WE_WRITE, WE_REMOVE, WE_RENAME, WE_CHMOD, WE_OVERFLOW
};

/*
 * A list as decoded (val) or as given for encoding (vec or nums).  An
 * object of strings is decoded into pairs of values and given as "K=V".
 */
struct sw_list {
	const struct sj_val	*val;
	const char *const	*vec;
	const int64_t		*nums;
	size_t			 n;
};

struct sw_str {
	const char	*p;
	size_t		 n;
};

union sw_val {
	int64_t			num;	/* number, bool, index of the word */
	struct sw_str		str;
	struct sw_list	list;
};

struct sw_msg {
	enum sw_type	 type;
	uint64_t	 set[2];	/* one bit for each field */
	union sw_val	 val[F_MAX];
	const char	*why;		/* what sw_decode() did not like */
	enum sw_field	 which;		/* the field that it did not like */
};

/**
 * sw_decode(m, doc, line, len, from):
 * Decode the ${len} bytes of ${line}, which are overwritten and to which
 * ${m} then points, as a message that ${from} may send; ${doc} is room for
 * the values.  Return 0, or an errno with m->why set: EINVAL, EMSGSIZE.
 * Every number is within its field's bounds, every string but "data" free
 * of NUL and at most as long as its field allows.
 */
int sw_decode(struct sw_msg *, struct sj_doc *, char *, size_t,
    enum sw_from);

/**
 * sw_encode(m, buf, cap, len):
 * Encode ${m} as a line with its newline into ${buf}, its length into
 * ${len}.  Return 0, or EMSGSIZE if ${cap} is too small or a value is
 * outside of its field's bounds.
 */
int sw_encode(const struct sw_msg *, char *, size_t, size_t *);

/* Begin a message of type t. */
void sw_init(struct sw_msg *, enum sw_type);

bool sw_has(const struct sw_msg *, enum sw_field);
void sw_set_num(struct sw_msg *, enum sw_field, int64_t);
void sw_set_str(struct sw_msg *, enum sw_field, const char *);
void sw_set_bytes(struct sw_msg *, enum sw_field, const void *,
    size_t);
void sw_set_vec(struct sw_msg *, enum sw_field, const char *const *,
    size_t);
void sw_set_nums(struct sw_msg *, enum sw_field, const int64_t *,
    size_t);

/* The value of a field, or what to take when it is absent. */
int64_t sw_num(const struct sw_msg *, enum sw_field, int64_t);
const char *sw_str(const struct sw_msg *, enum sw_field, const char *);

/**
 * sw_list(m, f):
 * Return the list of field ${f}, empty if it is absent.
 */
struct sw_list sw_list(const struct sw_msg *, enum sw_field);

const char *sw_type_name(enum sw_type);
const char *sw_field_name(enum sw_field);

/*
 * Errors travel by name, since numbers differ between systems.
 * sw_errname() gives "EIO" for what it does not know, and
 * sw_errno() EIO.
 */
const char *sw_errname(int);
int sw_errno(const char *);

#endif /* SW_H */
