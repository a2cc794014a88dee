/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Scenes for crash tests: short scripts of operations and of the life of
 * steps, each to be interrupted at every system call.
 */

#ifndef SCENE_H
#define SCENE_H

#include <stdbool.h>

#include <undo.h>

#include "ledger.h"

struct fsops;
struct scene;

/* The stage that a scene plays on, in the process that may die. */
struct stage {
	const struct scene *scene;
	int		 rootfd;
	const char	*store;
	struct undo_options o;
	struct undo	*u;
	struct fsops	*fs;
	unsigned int	 pos;		/* steps in force */
	int64_t		 nextid;
	bool		 tolerant;	/* management calls may fail ... */
	bool		 broken;	/* ... and then the scene ends */
	void		(*arm)(struct stage *, bool);
	void		(*mark)(struct stage *, enum ledger_mark,
			    unsigned int);
	void		*arg;		/* of whoever set the two */
	char		 why[1024];	/* a failure that faults don't excuse */
};

struct scene {
	const char	*name;
	void		(*play)(struct stage *);
	unsigned int	 keep;		/* max_step_count, 0: default */
	bool		 names;		/* worth playing with the store on
					   another filesystem */
};

extern const struct scene scenes[];	/* up to one without a name */

/**
 * scene_set(s):
 * Make the folder, open the store and perform two steps, all before any
 * fault.  scene_play() then plays with faults armed and closes the store.
 */
void scene_set(struct stage *);
void scene_play(struct stage *);

#endif /* SCENE_H */
