/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What hooks.c, hook_keep.c, hook_rename.c, hook_content.c and hook_done.c
 * share.  Functions marked so want the lock held.
 */

#ifndef HOOK_H
#define HOOK_H

#include "undo_internal.h"

int hook_fail(struct undo *, struct undo_op *, int);
void hook_rec(struct rec *, enum rec_type, const struct loc *);
int ref_stat(struct undo *, const struct undo_ref *, struct stat *);
bool hook_fits(struct undo *, uint64_t);
void hook_scrap(struct undo *, uint32_t);
void hook_key(struct undo *, struct slot *, unsigned int,
    const struct loc *);
void hook_whos(struct undo *, struct slot *, const struct stat *,
    const struct stat *);					/* locked */
int hook_touch(struct undo *, const struct loc *);		/* locked */
void hook_slot_rec(struct slot *, const struct rec *);		/* locked */
void hook_void(struct undo *, struct slot *);			/* locked */

/*
 * What is to become of a file that goes?  FRESH: nothing; LOST: nothing is
 * recorded; MOVE or COPY.
 */
enum fate { FATE_FRESH, FATE_LOST, FATE_MOVE, FATE_COPY };

int keep_decide(struct undo *, struct undo_op *, const struct loc *,
    enum fate *, uint32_t *);
int keep_copy(struct undo *, struct undo_op *, struct loc *, uint32_t);
int keep_move(struct undo *, struct undo_op *, struct loc *, uint32_t,
    uint32_t);
int keep_gone(struct undo *, struct slot *, const struct loc *,
    uint32_t, uint32_t);					/* locked */
int keep_now(struct undo *, const struct stat *, uint32_t);	/* locked */
bool keep_not(struct undo *, const struct stat *, int);		/* locked */
void keep_mixed(struct undo *, const struct loc *);		/* locked */
int keep_rmdir(struct undo *, struct undo_op *, struct loc *);
int keep_unlink(struct undo *, struct undo_op *, struct loc *, bool *);

#endif /* HOOK_H */
