/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the RPCs of envd share: envd_rpc.c reads and answers them, and calls
 * the rows of its table, which are in envd_*.c.
 */

#ifndef RPC_H
#define RPC_H

#include "connect.h"
#include "gw.h"
#include "pb.h"

enum rpc_kind { RPC_UNARY, RPC_SERVER, RPC_CLIENT };

struct method {
	const char	*service, *name;
	enum rpc_kind	 kind;
	const struct pb_message *in, *out;
	/* A message came; it stays the caller's. */
	void		(*run)(struct req *, const json_t *);
	/* Of RPC_CLIENT: there are no more. */
	void		(*end)(struct req *);
};

/* Of a request, as its data. */
struct rpc {
	const struct method *m;
	bool		 proto;		/* not JSON */
	bool		 begun;		/* the stream of answers */
	bool		 ran;		/* the one message came */
	struct buf	 in;
	uint64_t	 timeout_ms;	/* 0: none was given */
	uint64_t	 deadline;	/* ms of the loop */
	uint64_t	 keepalive_ms;
	uint64_t	 last;		/* ms: something was sent */
	uint64_t	 number[2];	/* the method's, */
	void		*data;		/* and its data */
	void		(*drain)(struct req *);
	void		(*gone)(struct req *);
};

static inline struct rpc *
rpc_of(struct req *r)
{

	return (r->data);
}

/**
 * rpc_reply(r, j):
 * Answer with ${j}, which is taken: all there is, or of RPC_SERVER one of
 * many.
 */
void rpc_reply(struct req *, json_t *);

/**
 * rpc_bytes(r, kind, data, len):
 * Send output of a process, ${kind} being "stdout", "stderr" or "pty".
 */
void rpc_bytes(struct req *, const char *, const void *, size_t);

/**
 * rpc_end(r):
 * End the stream of answers.
 */
void rpc_end(struct req *);

/**
 * rpc_error(r, code, fmt, ...), rpc_failure(r, e):
 * Answer, or end the stream, with an error.
 */
void rpc_error(struct req *, enum connect_code, const char *, ...)
    CO_PRINTF(3, 4);
void rpc_failure(struct req *, const struct co_error *);

/*
 * proc.c: the commands that run.  We hold the request of each, whoever
 * listens: many may, nobody may, and their input comes by other requests.
 */
struct sub {
	TAILQ_ENTRY(sub) entry;
	struct proc	*proc;		/* NULL: it ended */
	struct req	*req;
	bool		 full;
};

struct waiter {
	TAILQ_ENTRY(waiter) entry;
	struct req	*req;
	void		(*then)(struct req *);
};

struct proc {
	LIST_ENTRY(proc) link;
	struct gw	*gw;
	char		 box[CO_IDSIZE];
	uint64_t	 exec;
	uint32_t	 pid;
	char		*tag;
	json_t		*config;	/* as it was asked for, or NULL */
	struct call	*call;
	TAILQ_HEAD(, sub) subs;
	TAILQ_HEAD(, waiter) waiters;	/* for their input to be taken */
	struct buf	 in;
	uint64_t	 window;	/* of input */
	size_t		 unacked;
	uint64_t	 began;
	bool		 started, pty, has_stdin, eof, eof_sent, retried;
};

/**
 * proc_start(r, nv, config, pty, stdin):
 * Run the command of the request ${nv}, which is taken, and let ${r} listen.
 */
void proc_start(struct req *, nvlist_t *, const json_t *, bool, bool);

/**
 * proc_find(r, selector, then):
 * Find the process that ${selector} names, taking it over from coppiced if
 * we do not have it, and call ${then}; or answer that there is none.
 */
void proc_find(struct req *, const json_t *,
    void (*)(struct req *, struct proc *));

void proc_listen(struct req *, struct proc *);

/**
 * proc_input(p, data, len, eof):
 * Queue input.  Return -1 if there is too much of it.
 */
int proc_input(struct proc *, const void *, size_t, bool);
void proc_wait(struct proc *, struct req *, void (*)(struct req *));
void proc_unwait(struct req *);
void proc_tick(struct gw *);
struct proc *proc_known(struct gw *, const char *, uint64_t);

/* envd_watch.c */
void watch_tick(struct gw *);

/* entry of a "file.stat" answer, as JSON */
json_t *entry_json(const nvlist_t *);

void rpc_list(struct req *, const json_t *);
void rpc_connect(struct req *, const json_t *);
void rpc_start(struct req *, const json_t *);
void rpc_update(struct req *, const json_t *);
void rpc_signal(struct req *, const json_t *);
void rpc_send_input(struct req *, const json_t *);
void rpc_stream_input(struct req *, const json_t *);
void rpc_stream_input_end(struct req *);
void rpc_close_stdin(struct req *, const json_t *);
void rpc_stat(struct req *, const json_t *);
void rpc_mkdir(struct req *, const json_t *);
void rpc_move(struct req *, const json_t *);
void rpc_list_dir(struct req *, const json_t *);
void rpc_remove(struct req *, const json_t *);
void rpc_watch_dir(struct req *, const json_t *);
void rpc_create_watcher(struct req *, const json_t *);
void rpc_watcher_events(struct req *, const json_t *);
void rpc_remove_watcher(struct req *, const json_t *);

#endif /* RPC_H */
