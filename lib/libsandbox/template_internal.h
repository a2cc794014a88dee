/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of the template store share.  A tree is reached by the
 * descriptor of its root and nothing in it by a joined path.
 */

#ifndef TEMPLATE_INTERNAL_H
#define TEMPLATE_INTERNAL_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coppice.h"
#include "template.h"

#define	TEMPLATE_DEPTH		256	/* directories within each other */
#define	TEMPLATE_MANIFEST	(64 * 1024)	/* bytes of a manifest */
#define	TEMPLATE_MEMBER		".coppice"	/* the manifest in a tar */

/* template_manifest.c */

/**
 * template_new():
 * Return a template with the defaults of a manifest, or NULL.
 */
struct template *template_new(void);

/**
 * template_copy(t):
 * Return a copy of what the manifest of ${t} says, or NULL.
 */
struct template *template_copy(const struct template *);

/**
 * template_manifest_read(text, len, name, t, e):
 * Make a template of a manifest's text; ${name} stands for it in messages.
 */
int template_manifest_read(const char *, size_t, const char *,
    struct template **, struct co_error *);

/**
 * template_manifest_text(t):
 * Return the canonical text of the manifest of ${t} in malloc'd memory, or
 * NULL when out of memory.
 */
char *template_manifest_text(const struct template *);

/**
 * template_list_copy(list):
 * Return a copy of a list that NULL ends, or NULL; template_list_free()
 * frees one.
 */
char **template_list_copy(const char *const *);
void template_list_free(char **);

/* template_store.c */

/* A template that is being made, in templates/tmp. */
struct template_work {
	int	 store;		/* templates/ */
	int	 tmp;		/* templates/tmp */
	int	 dir;		/* templates/tmp/ID */
	int	 root;		/* templates/tmp/ID/root */
	char	 id[CO_IDSIZE];
	char	*path;		/* of root, absolute, for other programs */
};

/**
 * template_name_valid(name):
 * Tell whether ${name} can be a template's.
 */
bool template_name_valid(const char *);

/**
 * template_store_open(state, e):
 * Return a descriptor of the store below ${state}, made if it is missing.
 */
int template_store_open(const char *, struct co_error *);

/**
 * template_work_begin(state, w, e):
 * Make an empty tree.  Every one that was begun is ended by
 * template_work_end(), which removes what was not committed.
 */
int template_work_begin(const char *, struct template_work *,
    struct co_error *);
void template_work_end(struct template_work *);

/**
 * template_work_commit(w, t, name, progress, arg, e):
 * Make the tree of ${w} a template with the manifest of ${t}, and let
 * ${name} mean it.
 */
int template_work_commit(struct template_work *, struct template *,
    const char *, template_progress_fn *, void *, struct co_error *);

/* template_tree.c */

struct stat;

/* Called for each thing of a tree: its directory, name and path. */
typedef int template_walk_fn(void *, int, const char *, const char *,
    const struct stat *, struct co_error *);

/**
 * template_walk(root, fn, arg, e):
 * Call ${fn} for the directory ${root} (with "." as name and path) and for
 * all that is in it, a directory before its contents, in the order of the
 * names' bytes.
 */
int template_walk(int, template_walk_fn *, void *, struct co_error *);

/**
 * template_remove_at(dir, name):
 * Remove ${name} and all that is in it, however deep.  Return 0 or an errno.
 */
int template_remove_at(int, const char *);

/**
 * template_empty(dir):
 * Remove all that is in ${dir}.
 */
int template_empty(int);

/**
 * template_parent(root, path, make, dir, name, e):
 * Find the directory of ${path} below ${root}, and its last component,
 * which is stored in ${name} ("" for the root itself).  Symbolic links on
 * the way are followed if they are relative and do not climb.  With ${make},
 * missing directories are made.  Store a descriptor in ${dir}.
 */
int template_parent(int, const char *, bool, int *, char[256],
    struct co_error *);

/* template_hash.c */

/**
 * template_hash(root, manifest, hash, e):
 * Compute the name of a template.
 */
int template_hash(int, const char *, char[TEMPLATE_HASHSIZE],
    struct co_error *);

/**
 * template_size(root, size, e):
 * Add up the bytes of the files below ${root}.
 */
int template_size(int, uint64_t *, struct co_error *);

/* template_tar.c, template_unpack.c */

/* Where an archive's bytes come from. */
struct template_source {
	int		 fd;
	const char	*what;		/* for messages and progress */
	uint64_t	 size;		/* bytes, or 0: not known */
	const char	*sha256;	/* that they must have, or NULL */
	template_progress_fn *progress;
	void		*arg;
};

/* What is taken of an archive. */
enum template_pass {
	TEMPLATE_PLAIN,			/* everything */
	TEMPLATE_WHITEOUTS,		/* of an OCI layer: what it removes */
	TEMPLATE_LAYER			/* and what it adds */
};

/**
 * template_unpack(source, root, pass, t, e):
 * Unpack a tar archive below ${root}.  If ${t} is not NULL and the first
 * member is a manifest, it is read into a new ${t} and not unpacked.
 */
int template_unpack(const struct template_source *, int, enum template_pass,
    struct template **, struct co_error *);

/* One member of an archive, checked. */
struct archive;
struct archive_entry;
int template_member(struct archive *, struct archive_entry *, int,
    enum template_pass, uint64_t *, struct co_error *);

/* template_oci.c */

/**
 * template_oci(layout, root, t, progress, arg, e):
 * Unpack the image in the OCI layout directory ${layout} below ${root}, and
 * make the manifest ${t} of its configuration.
 */
int template_oci(int, int, struct template **, template_progress_fn *, void *,
    struct co_error *);

/* template_build.c */

/* How a distribution is bootstrapped; a row for each tool that can. */
struct template_recipe {
	const char	*kind;
	const char	*variant;	/* unless one is given */
	const char	*tool;		/* absolute, or looked for */
	const char	*const *argv;	/* "%v": variant, "%r": the tree */
	const char	*missing;	/* what to do when there is none */
};

/**
 * template_bootstrap(state, recipe, variant, name, progress, arg, e):
 * Make a template by running the tool of ${recipe}.
 */
int template_bootstrap(const char *, const struct template_recipe *,
    const char *, const char *, template_progress_fn *, void *,
    struct co_error *);

/* template_tiny.c, and of the platform the programs in it. */
int template_tiny(int, const char *, struct co_error *);
int template_tiny_programs(int, int, const char *, struct co_error *);

/**
 * template_copy_file(from, dir, name, mode, e):
 * Copy the file at the absolute path ${from}.
 */
int template_copy_file(const char *, int, const char *, mode_t,
    struct co_error *);

/* template_sync_linux.c, template_sync_freebsd.c: before the rename. */
void template_sync(int);

#endif /* TEMPLATE_INTERNAL_H */
