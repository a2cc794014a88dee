/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A sandbox of the ns backend for tests: a template made of busybox, the
 * spec that an engine would make, and a client of its shim.  Whatever is
 * left when the test ends is stopped and removed.
 */

#ifndef NS_BOX_H
#define NS_BOX_H

#include <limits.h>

#include "backend.h"
#include "client.h"
#include "ns.h"

/* A case that starts sandboxes. */
#define	BOX_TC(name, what)						\
	ATF_TC(name);							\
	ATF_TC_HEAD(name, tc)						\
	{								\
		atf_tc_set_md_var(tc, "descr", what);			\
		atf_tc_set_md_var(tc, "require.user", "root");		\
		atf_tc_set_md_var(tc, "require.progs", "/bin/busybox");	\
		atf_tc_set_md_var(tc, "timeout", "300");		\
	}								\
	ATF_TC_BODY(name, tc)

struct box {
	struct sandbox_spec spec;
	struct sandbox_run run;
	struct client	 client;
	char		 id[CO_IDSIZE];
	char		 dir[PATH_MAX];
	char		 rundir[PATH_MAX];
	char		 template[PATH_MAX];
	struct co_error	 e;
	bool		 live;		/* to be ended at the end */
};

/* A spec, a folder and a template; nothing runs. */
void box_init(struct box *);

/* Prepare and start; the client is connected. */
void box_start(struct box *);

/* Listen where the client connects, and start; connect. */
int box_try(struct box *);
void box_connect(struct box *);
void box_stop(struct box *);
void box_remove(struct box *);

/* Run a shell command in it and return its first line of output. */
const char *box_sh(struct box *, const char *);

/* Require that nothing of it is left on the host. */
void box_gone(const struct box *);

/* Put a file of the host into the template. */
void box_install(struct box *, const char *, const char *, mode_t);
void box_write(const char *, const char *);

#endif /* NS_BOX_H */
