/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One random sequence of steps, rollbacks, redos and restarts on a folder,
 * checked against pictures taken at every step boundary.
 */

#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define	MODEL_ACTIONS	90

struct model_run {
	uint64_t	 seed;
	const char	*root;		/* folder and store, made anew */
	const char	*store;
	const char	*elsewhere;	/* on another filesystem, or NULL */
	uint64_t	 slack;		/* of holes; see snap_loose() */
	const bool	*skip;		/* actions to leave out, or NULL */
	FILE		*trace;		/* or NULL */
	char		 why[4096];	/* after a failure */
};

/**
 * model_run(r):
 * Run the sequence; false with r->why filled in if it failed.
 */
bool model_run(struct model_run *);

#endif /* MODEL_H */
