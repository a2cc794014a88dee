/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * coppiced: a process around the engine of libsandbox, with a control
 * socket as its door.
 */

#ifndef COPPICED_H
#define COPPICED_H

#include <stdbool.h>

#include <uv.h>

struct co_conf;
struct co_error;
struct co_log;
struct door;
struct engine;

/* What the command line says, and what follows from it; settings.c. */
struct settings {
	bool		 foreground;
	bool		 check;
	const char	*conf_path;	/* -c */
	const char	*prefix;	/* -p */
	const char	*libexec_arg;	/* -L */

	char		*conf_found;	/* NULL: defaults only */
	char		*state, *run, *libexec, *self;
	struct co_conf	*conf;
};

/**
 * settings_load(s, e):
 * Read the configuration and find the folders.  Nothing is changed.
 */
int settings_load(struct settings *, struct co_error *);

/**
 * settings_helpers(s, e):
 * Find coppice-shim and coppicefsd; in a tree of objects, gather them below
 * the run folder.
 */
int settings_helpers(struct settings *, struct co_error *);
void settings_free(struct settings *);

/**
 * door_open(loop, en, path, all, log, d, e):
 * Listen at ${path} and let requests in to ${en}, of root and the group
 * coppice or, with ${all}, of everybody.
 */
int door_open(uv_loop_t *, struct engine *, const char *, bool,
    struct co_log *, struct door **, struct co_error *);

/**
 * door_close(d):
 * Let nobody in, and hang up on all; the rest happens on the loop.
 */
void door_close(struct door *);

#endif /* COPPICED_H */
