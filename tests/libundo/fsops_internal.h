/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the two files of the tests' file server share: its tables, and how it
 * finds what an operation is about.
 */

#ifndef FSOPS_INTERNAL_H
#define FSOPS_INTERNAL_H

#include <sys/types.h>
#include <sys/stat.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <undo.h>

#include "fsops.h"

#define	NOBJECTS	24

/* An inode that the server knows; its descriptor keeps it from reuse. */
struct object {
	uint64_t	 dev;
	uint64_t	 ino;
	uint64_t	 seen;
	int		 fd;
	unsigned int	 refs;
};

struct fsops {
	int		 rootfd;
	struct undo	*undo;
	unsigned int	 how;
	_Atomic uint64_t mutations;
	_Atomic uint64_t refused;
	_Atomic int	 errnum;	/* of the last refusal */
	pthread_mutex_t	 lock;		/* of the objects */
	struct object	*objects[NOBJECTS];
	unsigned int	 hand;
};

struct fsops_file {
	int		 fd;
	struct object	*obj;
	char		*path;		/* where it was last */
};

/* Where a name is: the parent's descriptor and the last component. */
struct place {
	const char	*path;
	const char	*name;
	int		 dirfd;
	bool		 owned;
	struct stat	 sb;
	bool		 there;
	struct object	*obj;
};

/* A place where something must be; or, with false, must not. */
int srv_place_get(struct fsops *, const char *, struct place *);
int srv_place_want(struct fsops *, const char *, bool, struct place *);
void srv_place_put(struct fsops *, struct place *);

/* -1 with errno set if the place holds another file than before. */
int srv_still(const struct place *);

/* What the library is told of it, with a descriptor or as a mere name. */
struct undo_ref srv_place_ref(const struct fsops *, const struct place *,
    int);
struct undo_ref srv_place_name(const struct fsops *, const struct place *);
struct undo_ref srv_file_ref(struct fsops *, struct fsops_file *,
    struct place *);

/* Count what a hook said, and what the operation came to. */
int said(struct fsops *, int);
int came_to(struct fsops *, struct undo_op *, int);

#endif /* FSOPS_INTERNAL_H */
