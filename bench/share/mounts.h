/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Folders that are mounted side by side, each by another server, to be
 * measured in turns.
 */

#ifndef MOUNTS_H
#define MOUNTS_H

#include <sys/types.h>

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct ctl;

struct mount {
	char		 dir[PATH_MAX];		/* what is served */
	char		 at[PATH_MAX];		/* where */
	pid_t		 pid;
	struct ctl	*ctl;			/* NULL: nothing to undo */
	int64_t		 step;
};

/**
 * mount_ours(m, base, name, undo, options):
 * Serve ${base}/${name} by coppicefsd, with a store if ${undo} says so.
 */
int mount_ours(struct mount *, const char *, const char *, bool,
    const char *);

/**
 * mount_bindfs(m, base, name):
 * The same by bindfs(1), as it comes.
 */
int mount_bindfs(struct mount *, const char *, const char *);

/**
 * mount_serve(m, base, name, kind, sock, options):
 * Serve ${m}, whose places are made, by coppicefsd with a store at ${sock},
 * by the transport ${kind}, such as "vhost:".
 */
int mount_serve(struct mount *, const char *, const char *, const char *,
    const char *, const char *);

/* Make the folder and where it is to be mounted. */
int mount_places(struct mount *, const char *, const char *);

/* Run another server, and wait until its socket is there. */
int mount_spawn(struct mount *, const char *, const char *const [],
    const char *);

/* Run a program; what it says goes to the file. */
pid_t mount_run(const char *const [], const char *);

/* A measured run is one step; its history is thrown away afterwards. */
int mount_begin(struct mount *);
int mount_end(struct mount *);
void mount_close(struct mount *);

#endif /* MOUNTS_H */
