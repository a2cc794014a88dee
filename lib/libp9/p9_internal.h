/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of libp9 have in common.  Read p9.h and p9_wire.h first.
 *
 * Locks: out_lock comes before t.lock and before lock; otherwise a thread has
 * one at a time.
 */

#ifndef P9_INTERNAL_H
#define P9_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "coppice.h"
#include "share.h"

#include "p9.h"
#include "p9_wire.h"

#define	P9_SMALL	8192	/* messages up to this need no p9_buf */
#define	P9_INPUT	16384
#define	P9_PAGE		4096
#define	P9_THREADS_MAX	64
#define	P9_TAG_HASH	256
#define	P9_XATTR_MAX	65536
#define	P9_TARGET_MAX	4096	/* of a symbolic link, with a NUL */

/* The value of an attribute on its way. */
struct p9_xattr {
	pthread_mutex_t	lock;		/* of done and data */
	uint32_t	size;
	uint32_t	done;		/* written from the start on */
	uint32_t	flags;
	char		name[SHARE_NAME_MAX + 1];
	uint8_t		data[];
};

/* What a fid is good for. */
enum p9_use {
	P9_PLAIN, P9_FILE, P9_DIR, P9_XREAD, P9_XWRITE
};

/*
 * A fid never changes: opening one puts another in its place.  So a request
 * that has got it needs no lock while others open or clunk it.
 */
struct p9_fid {
	struct p9_fid		*next;
	_Atomic uint32_t	 refs;
	uint32_t		 num;
	uint32_t		 uid;
	enum p9_use		 use;
	uint64_t		 root;	/* number of the node attached to */
	struct share_node	*node;
	struct share_node	*dir;	/* and name: as walked; or NULL */
	union {
		struct share_file	*file;
		struct share_dir	*stream;
		struct p9_xattr		*xattr;
	};
	char			 name[];
};

struct p9_fids {
	pthread_mutex_t	  lock;
	struct p9_fid	**bucket;
	uint32_t	  nbuckets;	/* a power of two */
	uint32_t	  n;
	uint32_t	  max;
};

/* A tag in use, by a request or by a Tflush that waits for one. */
struct p9_tag {
	struct p9_tag	*next;		/* in the hash */
	struct p9_tag	*flush;		/* the next that waits for req */
	struct p9_req	*req;
	uint16_t	 tag;
};

/* A long message, placed so that its payload begins at a page. */
struct p9_buf {
	struct p9_buf	*next;
	size_t		 cap;		/* of a message */
	uint8_t		*mem;
};

/* A request that is being done; part of its thread. */
struct p9_req {
	struct p9_tag	  tag;
	struct p9_tag	**flush_end;
	struct p9_msg	  in;
	struct p9_msg	  out;
	struct p9_buf	 *big;
	const uint8_t	 *msg;		/* the request's bytes */
	uint32_t	  len;
	uint8_t		 *reply;	/* where to encode to, and its room */
	size_t		  cap;
	/* Below: under p9.lock. */
	bool		  active;
	bool		  flushed;
	uint64_t	  session;
	const struct p9_fid *waiting;	/* for a lock on this */
	struct share_wait wait;
};

struct p9_worker {
	struct p9	*p;
	pthread_t	 thread;
	struct p9_req	 r;
	bool		 leading;
	uint8_t		 small[P9_SMALL];
	uint8_t		 reply[P9_SMALL];
};

struct p9_in {
	uint8_t	buf[P9_INPUT];
	size_t	at;
	size_t	len;		/* from at on */
};

/*
 * turn.c: one thread, the leader, reads.  It may do what it has read before
 * it reads on; a deputy, which looks every few milliseconds while there is
 * something to do, takes the turn from a leader that is stuck with that.
 */
struct p9_turn {
	pthread_mutex_t		 lock;
	pthread_cond_t		 free;		/* for those in line */
	pthread_cond_t		 look;		/* for the deputy */
	const struct p9_worker	*leader;
	bool			 inside;	/* it does a request */
	bool			 over;
	bool			 deputy;	/* there is one ... */
	bool			 asleep;	/* ... with nothing to do */
	uint32_t		 in_line;
	uint64_t		 rounds;	/* requests done inside */
};

struct p9 {
	struct share		*share;
	struct p9_options	 o;
	struct p9_stream	 stream;
	uint64_t		 lock_key;	/* makes lock owners ours */

	/* Whose turn it is to read; what it reads is the leader's. */
	struct p9_turn		 t;
	struct co_error		 error;		/* why it is over */
	bool			 failed;
	struct p9_in		 in;
	_Atomic uint32_t	 msize;		/* 0: no session */
	_Atomic bool		 stopping;

	pthread_mutex_t		 out_lock;
	_Atomic bool		 dead;		/* the client can't be told */

	pthread_mutex_t		 lock;		/* of tags and requests */
	pthread_cond_t		 drained;
	struct p9_tag		*tags[P9_TAG_HASH];
	uint64_t		 session;
	uint32_t		 in_flight;
	uint32_t		 waiting;
	uint32_t		 overlap;	/* leader: expect others for
						   so many requests */
	uint32_t		 probe;		/* leader: requests so far */

	pthread_mutex_t		 buf_lock;
	pthread_cond_t		 buf_free;
	struct p9_buf		*bufs;
	uint32_t		 nbufs;		/* made */

	struct p9_fids		 fids;
	_Atomic uint32_t	 xattr_bytes;

	_Atomic uint64_t	 requests;
	_Atomic uint64_t	 errors;
	_Atomic uint64_t	 malformed;
	_Atomic uint64_t	 flushes;
	_Atomic uint64_t	 in_bytes;
	_Atomic uint64_t	 out_bytes;

	uint32_t		 nworkers;
	struct p9_worker	*worker[2 * P9_THREADS_MAX];
};

/*
 * fid.c
 */
int p9_fids_init(struct p9_fids *, uint32_t);
void p9_fids_fini(struct p9_fids *);
void p9_fid_clear(struct p9 *);

/**
 * p9_fid_new(p, num, uid, root, node, dir, name, fid):
 * Make a fid that is in no table yet, with one reference.  ${node} and
 * ${dir} are referenced anew; ${dir} may be NULL.
 */
int p9_fid_new(uint32_t, uint32_t, uint64_t, struct share_node *,
    struct share_node *, const char *, struct p9_fid **);

/* The fid ${num} with a reference, EBADF if there is none. */
int p9_fid_get(struct p9 *, uint32_t, struct p9_fid **);
/* The same, and EBADF for one that stands for an attribute. */
int p9_fid_object(struct p9 *, uint32_t, struct p9_fid **);
void p9_fid_put(struct p9 *, struct p9_fid *);

/**
 * p9_fid_add(p, fid), p9_fid_replace(p, old, fid), p9_fid_take(p, num, fid):
 * Put ${fid} in the table with a reference of the table's own, EBADF if the
 * number is taken and ENFILE if the table is full; in the place of ${old},
 * EBADF if that is not there any more; remove it, with the table's reference
 * passed to the caller.
 */
int p9_fid_add(struct p9 *, struct p9_fid *);
int p9_fid_replace(struct p9 *, struct p9_fid *, struct p9_fid *);
int p9_fid_take(struct p9 *, uint32_t, struct p9_fid **);
bool p9_fid_known(struct p9 *, uint32_t);

/*
 * tag.c: requests in flight.
 */

/**
 * p9_tag_begin(p, r):
 * Enter the request ${r} with the tag of r->in; EINVAL if it is in use.
 */
int p9_tag_begin(struct p9 *, struct p9_req *);

/**
 * p9_tag_end(p, r, error, answer):
 * The request is done.  Store whether the client wants an answer, and return
 * the Tflushes to be answered after it, for the caller to free.  To be
 * called with out_lock held until the answers are written.
 */
struct p9_tag *p9_tag_end(struct p9 *, struct p9_req *, int, bool *);

/**
 * p9_tag_flush(p, tag, old, wait):
 * Cancel the request with the tag ${old}.  Store whether the answer comes
 * with the end of that request; else it is due now.
 */
int p9_tag_flush(struct p9 *, uint16_t, uint16_t, bool *);

/* Cancel all; and wait for their end, after which nothing answers them. */
void p9_tag_cancel(struct p9 *);
void p9_tag_reset(struct p9 *);
/* Cancel those that wait for a lock by ${fid}. */
void p9_tag_clunk(struct p9 *, const struct p9_fid *);

/**
 * p9_wait_begin(p, r, fid), p9_wait_end(p, r):
 * A request is going to wait for a lock; false if too many do.
 */
bool p9_wait_begin(struct p9 *, struct p9_req *, const struct p9_fid *);
void p9_wait_end(struct p9 *, struct p9_req *);

/*
 * turn.c
 */
void p9_turn_init(struct p9_turn *);
void p9_turn_fini(struct p9_turn *);

/* Wait for the turn; false when all is over. */
bool p9_turn_take(struct p9_turn *, struct p9_worker *);
void p9_turn_pass(struct p9_turn *, struct p9_worker *);
void p9_turn_end(struct p9_turn *, struct p9_worker *);

/**
 * p9_turn_enter(t), p9_turn_leave(t, w):
 * The leader does something other than reading, and may lose the turn over
 * it: w->leading tells afterwards.
 */
void p9_turn_enter(struct p9_turn *);
void p9_turn_leave(struct p9_turn *, struct p9_worker *);

/*
 * wait.c, wait_darwin.c: a wait of some milliseconds, whatever happens to the
 * time of day.
 */
void p9_cond_init(pthread_cond_t *);
void p9_cond_wait(pthread_cond_t *, pthread_mutex_t *, unsigned);

/*
 * buf.c: long messages, at most one for each of o.threads.
 */
int p9_buf_take(struct p9 *, struct p9_buf **);
void p9_buf_give(struct p9 *, struct p9_buf *);
void p9_buf_fini(struct p9 *);

/*
 * input.c: the next message; out.c: replies.
 */

/**
 * p9_input(p, w):
 * Read a message, for the thread that has the turn.  Return false when there
 * are no more, with p->error set if that is an error.
 */
bool p9_input(struct p9 *, struct p9_worker *);
void p9_fail(struct p9 *, enum co_code, int, const char *);

/**
 * p9_reply(p, w, error):
 * End a request and send r->out, or an Rlerror.
 */
void p9_reply(struct p9 *, struct p9_worker *, int);
/* Send a message that belongs to no request in flight. */
void p9_send(struct p9 *, const struct p9_msg *);

/*
 * ops.c: what to do.
 */
typedef int p9_op_fn(struct p9 *, struct p9_req *);

/*
 * Whether the thread that has read a request lets another read on before it
 * does it, which costs waking that one: no; if requests have come while
 * others were being done; yes, as it is meant to take long.
 */
enum p9_pace {
	P9_AT_ONCE, P9_ADAPT, P9_APART
};

struct p9_op {
	p9_op_fn	*fn;
	enum p9_pace	 pace;
};
extern const struct p9_op p9_ops[P9_TYPES];

/* Handlers, ops_*.c: r->in to r->out, 0 or an errno. */
p9_op_fn p9_op_attach, p9_op_auth, p9_op_clunk, p9_op_fsync, p9_op_getattr,
    p9_op_getlock, p9_op_lcreate, p9_op_link, p9_op_lock, p9_op_lopen,
    p9_op_mkdir, p9_op_mknod, p9_op_read, p9_op_readdir, p9_op_readlink,
    p9_op_remove, p9_op_rename, p9_op_renameat, p9_op_setattr, p9_op_statfs,
    p9_op_symlink, p9_op_unlinkat, p9_op_walk, p9_op_write,
    p9_op_xattrcreate, p9_op_xattrwalk;

/**
 * p9_name(s, name):
 * Copy a name that may be in a directory: EINVAL for an empty one or one
 * with a slash or NUL, ENAMETOOLONG.
 */
int p9_name(const struct p9_str *, char[SHARE_NAME_MAX + 1]);
void p9_qid_of(const struct share_attr *, struct p9_qid *);
struct share_cred p9_cred(const struct p9_fid *);
struct share_cred p9_cred_gid(const struct p9_fid *, uint32_t);

/**
 * p9_room(p, r, need):
 * Make r->reply hold a message of ${need} bytes.  The request's strings and
 * data are gone if that takes a long buffer.
 */
int p9_room(struct p9 *, struct p9_req *, size_t);

/* An xattr fid's share of the requests. */
int p9_xattr_read(struct p9_fid *, uint64_t, uint8_t *, uint32_t,
    uint32_t *);
int p9_xattr_write(struct p9_fid *, uint64_t, const void *, uint32_t);
int p9_xattr_commit(struct p9 *, struct p9_fid *);
void p9_xattr_free(struct p9 *, struct p9_xattr *);

#endif /* P9_INTERNAL_H */
