/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * libsandbox: the engine.  It owns sandboxes from their creation to their
 * end: their records on disk, their roots, addresses, shares, deadlines and
 * the commands that run in them.
 *
 * It has many doors (coppiced's control socket, the gateway behind it, the
 * developer's agent, which embeds it) and one way in: a request, which is a
 * nvlist with an "op" and its arguments.  What each op takes and answers is
 * in coppice-control(7), and in no other place.  A request is answered by
 * events and ends with exactly one message that has "done".
 *
 * Everything runs on one libuv loop, from whose thread alone these functions
 * may be called; what blocks is done by libuv's threads.  Requests overlap;
 * those about one sandbox that change it follow each other.
 *
 * The engine may be killed at any moment.  Records say what should be;
 * engine_open() looks at what is, adopts what runs, goes on with its
 * commands, and removes what is half made or half destroyed.
 */

#ifndef SANDBOX_H
#define SANDBOX_H

#include <sys/types.h>
#include <sys/nv.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

struct co_conf;
struct co_error;
struct co_log;

struct engine;
struct engine_call;

/* Strings are borrowed and must outlive the engine. */
struct engine_conf {
	const char	*state;		/* "/var/db/coppice" */
	const char	*run;		/* "/var/run/coppice" */
	const char	*libexec;	/* where coppice-shim and coppicefsd
					   are */
	const struct co_conf *conf;	/* coppice.conf(5) */
	struct co_log	*log;
	const char *const *net_helper;	/* as net_conf.helper; NULL: the
					   engine has no network, and only
					   policy "disabled" can be had */
};

/**
 * engine_open(loop, c, en, e):
 * Open the engine with the state of ${c}, adopt what runs, and start to
 * serve deadlines.  One process at a time may have a state directory open
 * (CO_ESESSION_EXISTS).  Return 0, or -1 with ${e} set.
 */
int engine_open(uv_loop_t *, const struct engine_conf *, struct engine **,
    struct co_error *);

/**
 * engine_reconf(en, conf):
 * From now on use ${conf}, which must outlive the engine or the next call of
 * this, for what is not fixed while it runs: limits, safeguards, defaults.
 */
void engine_reconf(struct engine *, const struct co_conf *);

/**
 * engine_close(en, then, arg):
 * Let go of everything: calls end with CO_ESYS_CANCELLED, sandboxes and
 * their commands go on.  ${then} is called from the loop when nothing of the
 * engine is left on it, and the engine is gone.
 */
void engine_close(struct engine *, void (*)(void *), void *);

/* Whoever asks; kept by the callee. */
struct engine_caller {
	uid_t		 uid;
	bool		 admin;		/* sees and changes everything; others
					   what they created */
	const char	*name;		/* for the audit log, e.g. "ctl:0" */
	const char	*owner;		/* what they create belongs to; a key
					   of the gateway, or "uid:1000" */
};

/*
 * An answer: an event, or the last message, which has "done".  ${nv} is the
 * callee's to destroy, ${fds} to close.  After "done" the call is gone.  It
 * may be called from within engine_submit() and engine_input().
 */
typedef void engine_answer_fn(void *, nvlist_t *, const int *, size_t);

/**
 * engine_submit(en, caller, request, fds, nfds, fn, arg):
 * Begin the request ${request}, which stays the caller's; the ${nfds}
 * descriptors at ${fds} are taken.  Return the call, or NULL when it ended
 * already.
 */
struct engine_call *engine_submit(struct engine *,
    const struct engine_caller *, const nvlist_t *, const int *, size_t,
    engine_answer_fn *, void *);

/**
 * engine_input(call, nv):
 * More for a call that goes on: "input" with "data" and "eof" for a command
 * or a file that is being written, "ack" with "bytes" of its data that were
 * dealt with, "resize", "signal".  What does not suit it is ignored.
 */
void engine_input(struct engine_call *, const nvlist_t *);

/**
 * engine_hold(call, on):
 * The door can't take more answers for now: hold back what can wait.
 */
void engine_hold(struct engine_call *, bool);

/**
 * engine_cancel(call):
 * Nobody waits for the answer any more; it ends with CO_ESYS_CANCELLED.  A
 * change that has begun is finished or undone to nothing.  A command goes
 * on, and can be attached to, unless it was begun with "ephemeral".
 */
void engine_cancel(struct engine_call *);

#endif /* SANDBOX_H */
