/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The fault hook of libundo, for tests only: included when the library is
 * compiled with -DUNDO_FAULTS.  The product build knows nothing of it.
 */

#ifndef UNDO_FAULT_H
#define UNDO_FAULT_H

#include <stdbool.h>

/* Returned by the hook: let a write through, but only a part of it. */
#define	UNDO_FAULT_SHORT	(-1)

/*
 * Called before (after == false) and after each system call of the library;
 * call is its name, n counts the calls of this process from 1.  Returns 0 to
 * go on, an errno to make the call fail with (before only), or
 * UNDO_FAULT_SHORT for a short write (before a call that writes; elsewhere
 * it means 0).  The call "journal" is the append of one record, which goes
 * to a shared mapping and is no system call in fact.  NULL: no faults.
 */
extern int (*undo_fault)(const char *call, unsigned long n, bool after);

#endif /* UNDO_FAULT_H */
