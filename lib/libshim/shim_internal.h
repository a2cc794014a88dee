/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A connection's state; shim.c runs it, shim_send.c asks, shim_recv.c
 * judges what comes back.
 */

#ifndef SHIM_INTERNAL_H
#define	SHIM_INTERNAL_H

#include "coppice.h"
#include "sf.h"
#include "shim.h"

#define	SHIM_OUTCAP	(2 << 20)	/* all that waits to be sent */
#define	SHIM_BULK	(256 << 10)	/* no more bulk data after this */
#define	SHIM_PROCS	4096		/* answers to one ps */

/* A stream towards the sandbox: stdin, a file, a port. */
struct sender {
	uint64_t	sent;
	uint64_t	acked;
	bool		eof;
	bool		starved;	/* somebody waits for room */
};

struct command {
	struct command	*next;
	int64_t		 id;
	bool		 attaching;
	bool		 started;
	uint64_t	 got;		/* output received, */
	uint64_t	 consumed;	/* needed no more, */
	uint64_t	 acked;		/* and the shim knows it */
	size_t		 window;
	unsigned	 messages;	/* of output, not all acknowledged */
	struct sender	 in;
};

struct request {
	struct request	*next;
	uint32_t	 number;
	void		*cookie;
	enum sw_type	 type;
	bool		 want_fd;
	bool		 direct;	/* its bytes go another way */
	bool		 connected;
	bool		 ended;		/* eof came */
	bool		 closed;	/* by us; what comes is dropped */
	uint64_t	 got;		/* bytes, or entries and events */
	uint64_t	 consumed;
	uint64_t	 acked;
	struct sender	 out;
};

struct shim {
	int		 fd;
	const struct shim_handlers *h;
	void		*arg;
	struct sf_in	 in;
	struct sf_out out;
	bool		 ready;
	bool		 dead;
	char		 nonce[CO_IDSIZE];
	struct command	*commands;
	struct request	*requests;
	uint32_t	 number;
	int		 want_fds;	/* requests that wait for one */
	int64_t		 beat_ms;
	co_moment	 last_beat;
	int64_t		 seq;
};

/* shim.c */
struct command *shim_find_command(struct shim *, int64_t);
struct request *shim_find_request(struct shim *, uint32_t);
struct command *shim_add_command(struct shim *, int64_t);
void shim_drop_command(struct shim *, struct command *);
void shim_drop_request(struct shim *, struct request *);

/* shim_send.c */
void shim_ack_command(struct shim *, struct command *);
void shim_ack_request(struct shim *, struct request *);
void shim_forget(struct shim *, int64_t);
void shim_wake_senders(struct shim *);

/* shim_recv.c: 0, or -1 with the error set when the connection is over. */
int shim_receive(struct shim *, const struct sw_msg *, const char *,
    size_t, struct co_error *);

#endif /* SHIM_INTERNAL_H */
