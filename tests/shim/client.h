/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The real shim and a host beside it: starts coppice-shim, talks to it
 * through libshim, and keeps what it said.  Every wait is bounded.
 */

#ifndef CLIENT_H
#define	CLIENT_H

#include <sys/types.h>

#include "coppice.h"
#include "shim.h"

#define	NRUNS		512
#define	NREQS		512
#define	WAIT_MS		60000

/* A command and what is known of it. */
struct run {
	int64_t		 id;
	char		*out[2];
	size_t		 len[2];
	uint64_t	 next;		/* offset of the next byte */
	bool		 keep;		/* bytes are kept in out */
	bool		 hold;		/* nothing is consumed by itself */
	bool		 started;
	bool		 done;
	int		 pid;
	int		 room;
	int		 mismatches;	/* bytes that were not expected */
	bool		 counting;	/* expect the pattern of count_byte() */
	struct shim_exit exit;
	char		 message[256];
};

struct item {
	int		 event;		/* -1: an entry */
	enum shim_kind	 kind;
	int64_t		 size;
	unsigned	 mode, uid;
	char		 path[512];
	char		 owner[64];
	char		 target[256];
};

struct req {
	uint32_t	 number;
	bool		 done;
	bool		 connected;
	bool		 eof;
	bool		 hold;
	int		 fd;
	int		 sendable;
	struct shim_result result;
	char		 message[256];
	struct item	*item;
	size_t		 nitems;
	char		*data;
	size_t		 len;
	uint64_t	 got;
	bool		 discard;	/* count the bytes, don't keep them */
};

struct client {
	struct shim	*s;
	pid_t		 pid;		/* of the shim */
	bool		 ready;
	bool		 lost;
	struct co_error	 e;
	char		 instance[64];
	struct run	 run[NRUNS];
	size_t		 nruns;
	struct req	 req[NREQS];
	size_t		 nreqs;
	struct shim_process process[64];
	char		 tags[64][64];
	size_t		 nprocesses;
	struct shim_stats stats;
	int		 nstats;
	int		 listener;
	int		 beat_ms;
};

/* How to start the shim. */
struct start {
	int		 clone;		/* CLONE_NEW* */
	bool		 listen;	/* connections by a listening socket */
	const char	*rundir;
	const char *const *args;	/* further ones */
	const char *const *env;
};

extern const struct shim_handlers client_handlers;

void client_start(struct client *, const struct start *);
void client_connect(struct client *);	/* again, to a listening one */
void client_end(struct client *);	/* hang up and wait for its end */
void client_disconnect(struct client *);

/* One round of at most ms; then until *flag is set, which must happen. */
void client_poll(struct client *, int);
void client_wait(struct client *, const bool *);

struct run *client_exec(struct client *, struct shim_exec);
struct run *client_sh(struct client *, const char *);	/* and wait */
struct run *client_run(struct client *, int64_t);
void client_done(struct client *, struct run *);
struct req *client_request(struct client *, struct shim_request);
struct req *client_do(struct client *, struct shim_request); /* and wait */

/* Send it all, as room comes. */
void client_stdin(struct client *, struct run *, const void *, size_t, bool);
void client_send(struct client *, struct req *, const void *, size_t, bool);


/* The n-th byte of a pattern in which nothing goes missing unseen. */
unsigned char count_byte(uint64_t);

#endif /* CLIENT_H */
