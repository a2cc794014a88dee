/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The shim's one loop: descriptors that become ready and timers that run
 * out, each with a function to call.  ev_linux.c and ev_freebsd.c ask the
 * kernel; ev.c has the timers.  Sources and timers are the caller's memory.
 */

#ifndef EV_H
#define	EV_H

#include <stdbool.h>
#include <stdint.h>

#define	EV_IN	1
#define	EV_OUT	2

struct ev;

/* A descriptor; fd is -1 when there is none. */
struct ev_src {
	int		 fd;
	unsigned	 want;		/* what the kernel was asked for */
	void		(*fn)(void *, unsigned);
	void		*arg;
};

/* A timer; off while at is 0. */
struct ev_timer {
	int64_t		 at;
	void		(*fn)(void *);
	void		*arg;
	struct ev_timer	*next;
};

struct ev *ev_new(void);

/* The monotonic clock in milliseconds, never 0. */
int64_t ev_now(void);

/**
 * ev_init(s, fd, fn, arg):
 * Prepare ${s}; nothing is asked for yet.
 */
void ev_init(struct ev_src *, int, void (*)(void *, unsigned), void *);

/**
 * ev_want(e, s, want):
 * Call s->fn when ${s} is ready for ${want}, EV_IN and EV_OUT or 0.  The end
 * of a stream and errors count as ready.  Return 0 or an errno.
 */
int ev_want(struct ev *, struct ev_src *, unsigned);

/**
 * ev_close(e, s):
 * Ask for nothing more and close the descriptor; s->fd becomes -1.  Its
 * function is not called again, even for what was already found ready.
 */
void ev_close(struct ev *, struct ev_src *);

/* Start a timer anew, in ms milliseconds from now; stop it. */
void ev_start(struct ev *, struct ev_timer *, int64_t);
void ev_stop(struct ev *, struct ev_timer *);

/**
 * ev_run(e):
 * Wait for something to become ready or run out, and call its function.
 * Return 0 or an errno.
 */
int ev_run(struct ev *);

#endif /* EV_H */
