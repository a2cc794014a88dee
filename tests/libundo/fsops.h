/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A file server in miniature: performs operations on a real folder through
 * libundo's hooks, with the descriptors and inode objects that a server of
 * guests has.  All functions may be called from several threads, except
 * those on one open file.  Operations return 0 or an errno.
 */

#ifndef FSOPS_H
#define FSOPS_H

#include <sys/types.h>

#include <stdint.h>
#include <time.h>

#include "plat.h"

struct undo;
struct fsops;
struct fsops_file;

/*
 * How much the server tells the library; any of it may be left out by a
 * server, and the outcome must be the same.
 */
enum fsops_how {
	FSOPS_BYPATH = 1,	/* dirfd -1, only the path */
	FSOPS_NOFD = 2,		/* no descriptor of the object */
	FSOPS_NOSEEN = 4,	/* no word for the library */
	FSOPS_UNCHECKED = 8	/* call the hook although the operation is
				   going to fail, as in a lost race */
};

/* ${u} NULL: operations without undo.  ${rootfd} stays the caller's. */
struct fsops *fsops_new(int, struct undo *);
void fsops_free(struct fsops *);

/* Go on with another handle of the store; NULL for none. */
void fsops_undo(struct fsops *, struct undo *);
void fsops_how(struct fsops *, unsigned int);

/* Drop inode objects of files that are not open, as on FORGET. */
void fsops_forget(struct fsops *);

/* Successful mutations so far, and those that a hook refused although they
   were checked, of which the last one gave *${errnum}. */
uint64_t fsops_mutations(struct fsops *);
uint64_t fsops_refused(struct fsops *, int *);

/* Open files, for reading and writing; the file's pointer may be NULL where
   a new one is made, then it is closed. */
int fsops_open(struct fsops *, const char *, struct fsops_file **);
int fsops_open_trunc(struct fsops *, const char *, struct fsops_file **);
int fsops_create(struct fsops *, const char *, mode_t, struct fsops_file **);
int fsops_tmpfile(struct fsops *, const char *, mode_t,
    struct fsops_file **);
void fsops_close(struct fsops *, struct fsops_file *);

int fsops_write(struct fsops *, struct fsops_file *, const void *, size_t,
    off_t);
int fsops_ftruncate(struct fsops *, struct fsops_file *, off_t);
int fsops_allocate(struct fsops *, struct fsops_file *, enum plat_alloc,
    off_t, off_t);
int fsops_copy(struct fsops *, struct fsops_file *, off_t,
    struct fsops_file *, off_t, size_t);
int fsops_fchmod(struct fsops *, struct fsops_file *, mode_t);

/* Names. */
int fsops_mkdir(struct fsops *, const char *, mode_t);
int fsops_mknod(struct fsops *, const char *, mode_t, dev_t);
int fsops_symlink(struct fsops *, const char *, const char *);
int fsops_link(struct fsops *, const char *, const char *);
int fsops_relink(struct fsops *, struct fsops_file *, const char *);
int fsops_unlink(struct fsops *, const char *);
int fsops_rmdir(struct fsops *, const char *);
int fsops_rename(struct fsops *, const char *, const char *, unsigned int);

/* Attributes, by name. */
int fsops_truncate(struct fsops *, const char *, off_t);
int fsops_chmod(struct fsops *, const char *, mode_t);
int fsops_chown(struct fsops *, const char *, uid_t, gid_t);
int fsops_utimens(struct fsops *, const char *, const struct timespec[2]);
int fsops_setxattr(struct fsops *, const char *, const char *, const void *,
    size_t);
int fsops_removexattr(struct fsops *, const char *, const char *);

#endif /* FSOPS_H */
