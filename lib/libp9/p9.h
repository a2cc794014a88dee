/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * libp9: serve a folder of libshare by 9P2000.L over a byte stream, to a
 * client that is not trusted.
 *
 * One struct p9 is one connection.  The stream is anything that carries
 * bytes both ways: a unix or TCP socket, an inherited descriptor, a pair of
 * pipes, the host end of a virtio-serial port, or functions of the caller's.
 * Many connections may serve one share; each has fids, tags and locks of its
 * own.
 *
 *	struct p9_stream st;
 *	struct p9 *p;
 *
 *	if (p9_stream_fd(fd, fd, &st, &e) != 0 ||
 *	    p9_new(share, NULL, &st, &p, &e) != 0)
 *		...
 *	if (p9_serve(p, &e) != 0)
 *		... the client broke the protocol, or the stream failed
 *	p9_free(p);
 *
 * How it works.  The threads of a connection take turns: one reads the next
 * request, lets another read on, does the request and writes the reply, so
 * that a request meets one thread only and replies come in the order in which
 * they are ready.  Requests that never wait for anyone are done by the
 * reading thread without waking another.  A client that sends more than is
 * being worked on, or does not take its replies, is not read from: nothing is
 * queued in memory, and what a connection can take is bounded by its options.
 *
 * Order.  Requests that are in flight at the same time have no order.  A
 * client that wants a Twalk done before the Tlopen of its fid waits for the
 * reply, as all kernels do.  Tflush and Tversion are done when they are read:
 * after an Rflush, nothing more comes for the old tag; a request that was
 * done nevertheless is answered before it.
 *
 * Errors that the client is told are Linux's numbers on any host.
 */

#ifndef P9_H
#define P9_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct co_error;
struct iovec;
struct share;

struct p9;

#define	P9_MSIZE_MIN	4096
#define	P9_MSIZE_MAX	(4 * 1024 * 1024)

/* Zero members choose the default; too high ones are lowered. */
struct p9_options {
	uint32_t	msize;		/* longest message; 4 MiB */
	uint32_t	threads;	/* requests at a time; 8, at most 64.
					   1 serves in the caller's thread */
	uint32_t	waiters;	/* more threads for requests that wait
					   for a lock, so that these never take
					   the others' place; with 1 thread
					   none, else the same number.  When
					   all wait, the next is told to try
					   again, which clients do */
	uint32_t	max_fids;	/* then ENFILE; 262 144 */
	uint32_t	max_xattr;	/* bytes of attributes that are being
					   read or written; 16 MiB */
};

/*
 * A byte stream.  readv and writev block, and return what read(2) and
 * write(2) do, -1 with errno; they may be called at the same time by two
 * threads, each by one at a time.  stop is called from any thread, any number
 * of times: reads, also one in progress, report the end from then on; with
 * ${now} writes fail as well.  free may be NULL.
 */
struct p9_stream {
	ssize_t	(*readv)(void *, const struct iovec *, int);
	ssize_t	(*writev)(void *, const struct iovec *, int);
	void	(*stop)(void *, bool now);
	void	(*free)(void *);
	void	*arg;
};

/**
 * p9_stream_fd(rfd, wfd, st, e):
 * Make a stream of descriptors, which may be the same and are closed by
 * st->free; on failure they stay the caller's.  A socket is left blocking,
 * anything else is made non-blocking.  The caller ignores SIGPIPE if ${wfd}
 * is no socket.  Return 0, or -1 with ${e} set.
 */
int p9_stream_fd(int, int, struct p9_stream *, struct co_error *);

/**
 * p9_new(s, o, st, p, e):
 * Prepare a connection to ${s}, which must outlive it, with the options ${o}
 * (NULL: the defaults), over the stream ${st}, which is the connection's
 * from now on; on failure it stays the caller's.  Return 0, or -1 with ${e}
 * set.
 */
int p9_new(struct share *, const struct p9_options *,
    const struct p9_stream *, struct p9 **, struct co_error *);

/**
 * p9_serve(p, e):
 * Serve until the client hangs up or p9_stop().  Threads besides the caller's
 * are made at the start and gone at the end; they take no signals.  At the
 * end all requests are done, all fids clunked and all locks of the
 * connection dropped.  To be called once.  Return 0, or -1 with ${e} set:
 * CO_EPROTO_MALFORMED or CO_EPROTO_TOOBIG when the client lost the thread,
 * or a system error.
 */
int p9_serve(struct p9 *, struct co_error *);

/**
 * p9_stop(p, now):
 * Make p9_serve() return: read no more, finish what is being done, answer it
 * (or, with ${now}, don't).  From any thread, until p9_free().
 */
void p9_stop(struct p9 *, bool);

/**
 * p9_free(p):
 * Release a connection that is not being served.  NULL is fine.
 */
void p9_free(struct p9 *);

/* Numbers for the control socket. */
struct p9_stats {
	uint64_t	requests;
	uint64_t	errors;		/* replies that were Rlerror */
	uint64_t	malformed;	/* of those, for undecodable ones */
	uint64_t	flushes;
	uint64_t	in_bytes;
	uint64_t	out_bytes;
	uint32_t	msize;		/* agreed on; 0: no session yet */
	uint32_t	fids;
	uint32_t	in_flight;
	uint32_t	waiting;	/* of those, for a lock */
};

/**
 * p9_stats(p, st):
 * Store what has happened so far.  From any thread.
 */
void p9_stats(struct p9 *, struct p9_stats *);

#endif /* P9_H */
