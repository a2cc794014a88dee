/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A frame is one line and the raw payload that its "bytes" announces.  Two
 * bounded buffers, one for each way, between a non-blocking descriptor and
 * messages.  Compiled into libshim and into coppice-shim.
 */

#ifndef SF_H
#define	SF_H

#include "sw.h"

#define	SF_FDS	8		/* descriptors that came, unclaimed */
#define	SF_RIGHTS	128		/* messages with descriptors, unsent */

struct sf_in {
	char		*buf;
	size_t		 cap;
	size_t		 start;		/* of the frame at hand */
	size_t		 len;		/* bytes in buf, counted from 0 */
	size_t		 line;		/* length of its line; 0: not found */
	size_t		 used;		/* length of the frame handed out */
	size_t		 scanned;	/* no newline before this */
	size_t		 maxline;
	enum sw_from	 from;
	bool		 sock;
	bool		 sync;		/* drop everything but a hello */
	bool		 skip;		/* ... and the rest of this line */
	struct sj_doc	 doc;
	struct sw_msg	 msg;
	int		 fds[SF_FDS];
	int		 nfds;
	uint64_t	 total;		/* bytes ever read */
};

/* Descriptors to go with the byte at position at. */
struct sf_rights {
	uint64_t	 at;
	int		 fd[SW_FDS];
	int		 n;
};

struct sf_out {
	char		*buf;
	size_t		 cap;
	size_t		 start;
	size_t		 len;		/* bytes to send from start on */
	size_t		 maxline;
	bool		 sock;
	bool		 raw;		/* payload after the line, not in it */
	uint64_t	 pos;		/* bytes ever written */
	struct sf_rights rights[SF_RIGHTS];
	int		 nrights;
};

/* Make the buffers for what the named side sends.  Return 0 or ENOMEM. */
int sf_in_init(struct sf_in *, enum sw_from);
int sf_out_init(struct sf_out *, enum sw_from, size_t);

/* Forget everything in a buffer; open descriptors in it are closed. */
void sf_in_reset(struct sf_in *, bool);
void sf_out_reset(struct sf_out *, bool);

void sf_in_free(struct sf_in *);
void sf_out_free(struct sf_out *);

/**
 * sf_read(f, fd):
 * Read once from ${fd} into ${f}.  Return 0, EAGAIN, EPIPE at the end of the
 * stream, EMSGSIZE if descriptors came that nobody asked for, or another
 * errno.
 */
int sf_read(struct sf_in *, int);

/**
 * sf_next(f, m, data, len):
 * Store the next whole message in ${m} and its payload in ${data} and
 * ${len}; they stay until the next call.  Return 0, EAGAIN if there is none
 * yet, EINVAL or EMSGSIZE for what is no message (m says why).  While
 * f->sync is set, whatever is not a hello is dropped.
 */
int sf_next(struct sf_in *, struct sw_msg **, const char **,
    size_t *);

/**
 * sf_claim(f, fds, n):
 * Take the next ${n} descriptors that came into ${fds}.  Return 0, or EINVAL
 * if there are fewer.
 */
int sf_claim(struct sf_in *, int *, int);

/**
 * sf_put(f, m, data, len, fds, nfds):
 * Append ${m}, its payload of ${len} bytes (0: none) and ${nfds} descriptors,
 * which are closed when they were sent or dropped.  Return 0, EMSGSIZE for
 * what can never be sent, or ENOBUFS when there is no room now; then the
 * descriptors stay the caller's.
 */
int sf_put(struct sf_out *, struct sw_msg *, const void *, size_t,
    const int *, int);

/**
 * sf_put_raw(f, bytes, len):
 * Append a frame that is encoded already.  Return 0 or ENOBUFS.
 */
int sf_put_raw(struct sf_out *, const void *, size_t);

/**
 * sf_write(f, fd):
 * Write what ${fd} takes.  Return 0 when nothing is left, EAGAIN when
 * something is, or another errno.
 */
int sf_write(struct sf_out *, int);

/*
 * What the system does; sf_io*.c.  Receiving and sending return the count
 * or -1 with errno and raise no SIGPIPE on a socket.
 */
bool sf_is_socket(int);
int sf_nonblock(int);
long sf_io_recv(int, bool, void *, size_t, int *, int, int *);
long sf_io_send(int, bool, const void *, size_t, const int *, int);
void sf_io_close(int);

#endif /* SF_H */
