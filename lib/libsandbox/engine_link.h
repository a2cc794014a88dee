/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A connection to a shim, as engine_link.c and engine_ask.c have it.
 */

#ifndef ENGINE_LINK_H
#define ENGINE_LINK_H

#include "engine_internal.h"

struct link {
	struct sandbox	*sb;		/* NULL: nobody's any more */
	struct engine	*en;
	struct shim	*shim;
	struct watch	*watch;
	bool		 connecting;	/* in a job */
	bool		 dispatching;
	bool		 ready;
	struct alarm	*alarm;
	void		(*then)(void *, const struct co_error *);
	void		*arg;

	/* The job's. */
	const struct backend *be;
	struct box_spec	*spec;
	struct sandbox_run r;
	co_moment	 deadline;
	int		 fd;
	struct co_error	 e;
};

void link_hello(void *, const struct shim_hello *);

#endif /* ENGINE_LINK_H */
