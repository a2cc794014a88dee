/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What ev.c asks of the kernel's own interface.
 */

#ifndef EV_INTERNAL_H
#define	EV_INTERNAL_H

#include "ev.h"

#define	EV_BATCH	64

struct ev_ready {
	struct ev_src	*src;
	unsigned	 got;
};

int ev_kernel_open(void);

/* Change what is asked of a source from s->want to want. */
int ev_kernel_want(int, struct ev_src *, unsigned);

/* Wait at most ms (-1: for ever); return how many are ready, or -1. */
int ev_kernel_wait(int, struct ev_ready[EV_BATCH], int);

#endif /* EV_INTERNAL_H */
