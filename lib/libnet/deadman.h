/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The dead-man switch.  A change of what the host shares goes like this:
 *
 *	net_deadman_recover()	put back what a killed run left unconfirmed
 *	net_host_save()		write down how things are
 *	net_deadman_arm()	start the process that will put them back
 *	... the change, the smoke test ...
 *	net_deadman_confirm()	or net_deadman_revert()
 *
 * Everything lives in one directory.  The file "armed" decides: whoever
 * renames it, to "confirmed" or to "reverting", has won.
 */

#ifndef NET_DEADMAN_H
#define NET_DEADMAN_H

#include "net_internal.h"

struct net_deadman;

int net_deadman_open(struct net *, struct net_deadman **, struct co_error *);
/* The directory in which net_host_save() writes. */
int net_deadman_dir(const struct net_deadman *);
int net_deadman_arm(struct net_deadman *, const struct net_conf *,
    struct co_error *);
int net_deadman_confirm(struct net_deadman *, struct co_error *);
/* Put the old state back now; always returns -1, with ${e} kept. */
int net_deadman_revert(struct net_deadman *, struct co_error *);
void net_deadman_close(struct net_deadman *);
/* Whether an unconfirmed change is there: 1, 0, or -1. */
int net_deadman_pending(struct net *, struct co_error *);
int net_deadman_main(int, char **);

/* Platform: what to write down, and how to put it back from that alone. */
int net_host_save(struct net *, int dirfd, struct co_error *);
int net_host_restore(int dirfd, struct co_error *);

/* Platform: the host's part of setup and teardown. */
int net_host_ready(struct net *, bool *ready, struct co_error *);
int net_host_apply(struct net *, struct co_error *);
int net_host_commit(struct net *, struct co_error *);
/* Whether there is anything to undo. */
bool net_host_touched(struct net *);
int net_host_undo(struct net *, struct co_error *);
/* The undoing is confirmed: drop what was written down for it. */
int net_host_forget(struct net *, struct co_error *);
void net_host_check(struct net *, net_finding *, void *);

/* smoke.c and the platform's part of it. */
int net_smoke_run(struct net *, const struct net_smoke *, bool operator,
    struct co_error *);
/* Only whether the operator still answers. */
int net_smoke_operator(const struct net_smoke *, struct co_error *);
bool net_smoke_ping(const struct net_addr *, int ms);
int net_smoke_ms(const struct net_smoke *);
int net_smoke_inside(struct net *, const struct net_smoke *,
    struct co_error *);
int net_smoke_probe(const struct net_lease *, const struct net_smoke *,
    struct co_error *);

#endif
