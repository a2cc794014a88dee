/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A folder "in" beside a folder "out" that must never be reached, and a
 * share of the former.
 */

#ifndef FIXTURE_H
#define FIXTURE_H

#include "share.h"

struct undo;

struct fixture {
	struct share		*s;
	struct share_node	*root;
	int			 in;
	int			 out;
};

extern const struct share_cred as_root;
extern const struct share_cred as_user;		/* 1001, 1001, umask 022 */

/* Options may be NULL.  Directories are made in the working directory. */
void fixture_open(struct fixture *, const struct share_options *,
    struct undo *);
void fixture_close(struct fixture *);

/* Look a name up; fail the test when it is not there. */
struct share_node *find(struct fixture *, struct share_node *, const char *);

/* What looking it up says. */
int look(struct fixture *, struct share_node *, const char *);

/* Make a file with this content, through the share. */
struct share_node *put(struct fixture *, struct share_node *, const char *,
    const char *);

/* Does the node hold just this? */
bool holds(struct fixture *, struct share_node *, const char *);

/* Write a file of the host's. */
void host_file(int, const char *, const char *);

#define	REQUIRE_ERR(want, expr) do {					\
	int e_ = (expr);						\
	ATF_REQUIRE_MSG(e_ == (want), "%s: %s, not %s", #expr,		\
	    strerror(e_), strerror(want));				\
} while (0)

#endif /* FIXTURE_H */
