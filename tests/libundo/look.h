/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Checks what the history says of a step.
 */

#ifndef LOOK_H
#define LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct snap;
struct undo;

/**
 * look_changes(u, id, before, after, why, size):
 * Tell whether the changes of the step ${id} are in order, true of the two
 * pictures, and complete; else say what is wrong in ${why}.
 */
bool look_changes(struct undo *, int64_t, const struct snap *,
    const struct snap *, char *, size_t);

#endif /* LOOK_H */
