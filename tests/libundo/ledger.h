/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a folder may look like after a crash: pictures at step boundaries and
 * the range of them that is allowed at this moment, kept by the process that
 * survives, from marks of the one that may not.
 */

#ifndef LEDGER_H
#define LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct undo_options;

#define	LEDGER_MAX	24

enum ledger_mark {
	LEDGER_VOID,		/* there is no redo from here */
	LEDGER_CANDIDATE,	/* the step n is about to become final */
	LEDGER_COMMIT,		/* it is final */
	LEDGER_BACK,		/* about to roll n steps back */
	LEDGER_FORTH,		/* about to redo n steps */
	LEDGER_AT,		/* arrived at position n */
	LEDGER_NEED		/* history older than n need not be there */
};

/* Positions count steps from the first picture. */
struct ledger {
	struct snap	*snaps[LEDGER_MAX];
	int64_t		 ids[LEDGER_MAX];	/* of the step that led there */
	unsigned int	 pos;
	unsigned int	 top;		/* how far a redo may go */
	unsigned int	 lo, hi;	/* where the folder may be found */
	unsigned int	 need;		/* as far back history must go */
	bool		 moving;	/* in a rollback or redo */
	bool		 lossy;		/* calls failed: redo may be lost */
	uint64_t	 slack;		/* see snap_loose() */
	uint64_t	 events;	/* recoveries seen when verifying */
	char		 why[4096];
};

/* Begin with the folder ${rootfd} at position 0, or at a mark. */
void ledger_mark(struct ledger *, int, enum ledger_mark, unsigned int);
void ledger_clear(struct ledger *);

/**
 * ledger_verify(l, rootfd, store, o):
 * Open the store, and require that the folder is at an allowed position,
 * that the history reaches back as far as it must and each step of it leads
 * to the picture of old, that redo leads forth again, that a new step works,
 * and that nothing is left over in the store.  False with l->why filled in.
 */
bool ledger_verify(struct ledger *, int, const char *,
    const struct undo_options *);

#endif /* LEDGER_H */
