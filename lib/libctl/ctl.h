/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * libctl: the control protocol, nvlists over a unix socket, with
 * descriptors.  coppicectl and the gateway speak it with coppiced, coppiced
 * with the file servers that it starts.
 *
 * One struct ctl is one connection.  It has no event loop and no thread:
 * wait for ctl_fd() to become what ctl_want() says, call ctl_dispatch(), and
 * messages are handed over from within it.  It never blocks (but for
 * ctl_call(), made for programs that have nothing else to do) and its memory
 * is bounded.  A struct ctl may be used by one thread at a time.
 *
 * A message is a frame: four bytes of length and four that count its
 * descriptors, both little endian, and then a packed nvlist of that length
 * without descriptors of its own; they come beside the frame's first byte.
 * The peer may send anything: what is no frame, too long, too deep or brings
 * too many descriptors ends the connection.
 *
 * Every request has a number, "req", that its sender makes, unique on the
 * connection while it is open, and an operation, "op".  It is answered by
 * any number of events, with the same "req" and an "event", and one last
 * message with "req" and "done", true, which has either results or an
 * "error", a nvlist (see ctl_error_add()).  coppice-control(7) has them all.
 */

#ifndef CTL_H
#define CTL_H

#include <sys/types.h>
#include <sys/nv.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct co_error;
struct ctl;

#define	CTL_MAX_MESSAGE	(1024 * 1024)	/* bytes of a packed nvlist */
#define	CTL_MAX_FDS	8		/* beside one message */
#define	CTL_MAX_BACKLOG	(16 * 1024 * 1024)	/* queued, not yet taken */

/**
 * ctl_connect(path, c, e):
 * Connect to the socket at ${path}.  Return 0, or -1 with ${e} set; the
 * message tells what to start when nobody listens there.
 */
int ctl_connect(const char *, struct ctl **, struct co_error *);

/**
 * ctl_listen(path, mode, gid, fd, e):
 * Make a listening socket at ${path} with ${mode} and, unless it is -1, the
 * group ${gid}; replace one that nobody listens on any more, but refuse to
 * (CO_ESESSION_EXISTS) while somebody does.  Store it, non-blocking, in
 * ${fd}.
 */
int ctl_listen(const char *, mode_t, gid_t, int *, struct co_error *);

/**
 * ctl_new(fd, c, e):
 * Speak over the connected socket ${fd}, which is made non-blocking and
 * closed by ctl_free(); on failure it stays the caller's.
 */
int ctl_new(int, struct ctl **, struct co_error *);
void ctl_free(struct ctl *);

/* Who is at the other end, as the kernel says. */
struct ctl_peer {
	uid_t		uid;
	gid_t		gid;
	pid_t		pid;		/* 0: not known */
	gid_t		groups[64];	/* all of the user's, of the system's
					   group database; root: one */
	int		ngroups;
};
int ctl_peer(const struct ctl *, struct ctl_peer *, struct co_error *);

int ctl_fd(const struct ctl *);

/**
 * ctl_want(c):
 * Return POLLIN, unless ctl_pause() was called, and POLLOUT if something is
 * left to be sent.
 */
int ctl_want(const struct ctl *);

/**
 * ctl_pause(c, on):
 * Take no more messages for now; those of one read that were not handed
 * over yet are kept until ctl_dispatch() is called with ${on} false again.
 * A peer that hangs up meanwhile ends the connection, and they are dropped.
 */
void ctl_pause(struct ctl *, bool);

/*
 * A message: the nvlist and its descriptors are the callee's, who destroys
 * and closes them (ctl_close_fds()).  The callee may call any function of
 * this header but ctl_dispatch() and ctl_free().
 */
typedef void ctl_message_fn(void *, nvlist_t *, int *, size_t);

/**
 * ctl_dispatch(c, revents, fn, arg, e):
 * Send and receive, a bounded amount at a time, and call ${fn} with ${arg}
 * for each message.  ${revents} is what poll(2) found; 0 only sends.  Return
 * 0, or -1 with ${e} set when the connection is over (CO_OK in e->code: the
 * peer hung up in order).
 */
int ctl_dispatch(struct ctl *, int, ctl_message_fn *, void *,
    struct co_error *);

/**
 * ctl_send(c, nv, fds, nfds, e):
 * Queue the message ${nv}, which stays the caller's, and duplicates of the
 * ${nfds} descriptors at ${fds}.  Fails with CO_EPROTO_TOOBIG for a message
 * that is too long, and with CO_ESYS_NOSPACE when the peer does not take
 * what was queued before; at most 64 descriptors wait at a time.
 */
int ctl_send(struct ctl *, const nvlist_t *, const int *, size_t,
    struct co_error *);

/**
 * ctl_flush(c):
 * Send what the peer takes now, for those who do not want to wait for poll(2)
 * to say that it would.  What goes wrong is told by the next ctl_dispatch().
 */
void ctl_flush(struct ctl *);

/**
 * ctl_backlog(c):
 * Return how many bytes are queued; a sender of much waits until it is low.
 */
size_t ctl_backlog(const struct ctl *);

/**
 * ctl_call(c, request, fn, arg, deadline, answer, e):
 * Send ${request}, which gets a number, and wait for its end; ${fn} (NULL:
 * they are dropped) is called for its events.  Store the last message, whose
 * destruction is the caller's, in ${answer} unless that is NULL.  Return 0,
 * or -1 with ${e} set, also if the answer was an error.  ${deadline} is a
 * co_moment.  Messages of other requests are dropped.
 */
int ctl_call(struct ctl *, nvlist_t *, ctl_message_fn *, void *, int64_t,
    nvlist_t **, struct co_error *);

/**
 * ctl_number(c):
 * Return a number for a request, never the same twice.
 */
uint64_t ctl_number(struct ctl *);

/**
 * ctl_error_add(nv, e), ctl_error_get(nv, e):
 * Put ${e} into ${nv} as "error", a nvlist of "code", "symbol", "message",
 * "what" and "errnum"; read it from there.  The latter returns true if there
 * was one; whatever is wrong with it, ${e} is filled in.
 */
void ctl_error_add(nvlist_t *, const struct co_error *);
bool ctl_error_get(const nvlist_t *, struct co_error *);

/* Reading of untrusted nvlists: the default if there is none of that type. */
const char *ctl_string(const nvlist_t *, const char *, const char *);
uint64_t ctl_uint(const nvlist_t *, const char *, uint64_t);
bool ctl_flag(const nvlist_t *, const char *, bool);

void ctl_close_fds(const int *, size_t);

#endif /* CTL_H */
