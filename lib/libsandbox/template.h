/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Templates: root filesystems that sandboxes start from.  Internal to
 * libsandbox; blocking, called from libuv's threads.
 *
 * On disk: state/templates/<hash>/ with root/ (the tree), manifest (UCL) and
 * nothing else; <hash> is of the manifest and of the tree's names, modes and
 * contents, so that the same template is there once.  It never changes.
 * state/templates/names/NAME is a symbolic link to a hash, replaced
 * atomically.  A template is made in state/templates/tmp and renamed into
 * place, so that half a template is never seen.
 */

#ifndef TEMPLATE_H
#define TEMPLATE_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"

#define	TEMPLATE_HASHSIZE	65

/* What a manifest says. */
struct template {
	char		 hash[TEMPLATE_HASHSIZE];
	char		*name;		/* as asked for, or "" */
	char		*root;		/* absolute path of the tree */
	char		*backend;	/* wanted, or "" */
	char		*user;		/* that commands run as; "root" */
	char		*cwd;
	char		**env;		/* "K=V", ended by NULL */
	char		**start;	/* argv of what to start, or NULL */
	uint16_t	 ready_port;	/* readiness: TCP port, or */
	char		**ready;	/* argv of a command, or NULL */
	int64_t		 ready_ms;	/* how long to wait for that */
	struct sandbox_limits limits;
	uint64_t	 size;		/* bytes of the tree */
	int64_t		 created;	/* seconds since the epoch */
};

/**
 * template_open(state, name, t, e):
 * Look up ${name}, a name, a hash or its unique prefix of 6 or more digits.
 * "tiny", the embedded default, is made when it is missing.
 */
int template_open(const char *, const char *, struct template **,
    struct co_error *);
void template_free(struct template *);

/**
 * template_user(t, user, uid, gid):
 * The numbers of ${user}, a name, "uid" or "uid:gid", in the template; those
 * of root for one that it does not know.
 */
void template_user(const struct template *, const char *, uid_t *, gid_t *);

/* Called for each template, with all names that it has, ended by NULL. */
typedef void template_list_fn(void *, const struct template *,
    const char *const *);
int template_list(const char *, template_list_fn *, void *,
    struct co_error *);

/* For people: what is being done, and how much of it, 0 to 100 or -1. */
typedef void template_progress_fn(void *, const char *, int);

/**
 * template_build(state, kind, name, progress, arg, e):
 * Make a template by the bootstrap tool of the distribution ${kind}: "tiny",
 * "debian", "debian:bookworm", "alpine", "freebsd".  What is missing for it
 * is said with how to install it.
 */
int template_build(const char *, const char *, const char *,
    template_progress_fn *, void *, struct co_error *);

/**
 * template_import(state, path, name, progress, arg, e):
 * From a tarball (any compression that tar(1) knows), an OCI image layout
 * directory, or FreeBSD's base.txz.  Names that lead outside, devices and
 * absolute or climbing links on the way of a name are refused.
 */
int template_import(const char *, const char *, const char *,
    template_progress_fn *, void *, struct co_error *);

/**
 * template_export(state, name, fd, e):
 * Write the tree, with its manifest as the first member ".coppice", to
 * ${fd} as a tar archive.
 */
int template_export(const char *, const char *, int, struct co_error *);

/**
 * template_remove(state, name, inuse, arg, e):
 * Remove a name, and the template if it was its last and ${inuse}, called
 * with its hash, says false.
 */
int template_remove(const char *, const char *,
    bool (*)(void *, const char *), void *, struct co_error *);

/**
 * template_release(state, hash, inuse, arg), template_collect(state, ...):
 * Remove the template ${hash}, or all, without name that ${inuse} says
 * nobody uses; the latter also forgets names of clones.  To be called when a
 * sandbox is gone, and at a start.
 */
void template_release(const char *, const char *,
    bool (*)(void *, const char *), void *);
void template_collect(const char *, bool (*)(void *, const char *), void *);

/**
 * template_unname(state, name):
 * Let ${name}, TEMPLATE_CLONE and more, mean nothing any more.
 */
#define	TEMPLATE_CLONE	"clone-"
void template_unname(const char *, const char *);

/**
 * template_capture(state, name, from, fill, arg, e):
 * Make a template from a tree that ${fill} writes into the empty directory
 * that it is given; the manifest is that of ${from}.
 */
int template_capture(const char *, const char *, const struct template *,
    int (*)(void *, int, struct co_error *), void *, struct co_error *);

/**
 * template_sweep(state):
 * Remove what a killed process left in tmp.
 */
void template_sweep(const char *);

#endif /* TEMPLATE_H */
