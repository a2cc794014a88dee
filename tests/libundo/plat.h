/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the tests of libundo need and POSIX does not name: extended
 * attributes by directory and name, renames with flags, allocation modes.
 * Written apart from the library, so that one mistake is not made twice.
 */

#ifndef PLAT_H
#define PLAT_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

/* Attributes of ${dirfd}/${name}, which is not followed.  Names of
   attributes carry their namespace, as in "user.x". */
ssize_t plat_xattr_list(int, const char *, char *, size_t);
ssize_t plat_xattr_get(int, const char *, const char *, void *, size_t);
int plat_xattr_set(int, const char *, const char *, const void *, size_t);
int plat_xattr_remove(int, const char *, const char *);

/**
 * plat_xattr_special(dir, i, attr, val, len):
 * Give the ${i}-th attribute that the kernel interprets (ACLs, file
 * capabilities), for a directory if ${dir}; false when there is none.
 */
#define	PLAT_XATTR_MAX	64
bool plat_xattr_special(bool, unsigned int, const char **, void *, size_t *);

/* flags as in enum undo_rename_flags; ENOTSUP where there is no such call. */
int plat_rename(int, const char *, int, const char *, unsigned int);

/* Give the open file ${fd} the name ${dirfd}/${name}. */
int plat_linkfd(int, int, const char *);

/* Open a file without a name in ${dirfd}. */
int plat_tmpfile(int, mode_t);

enum plat_alloc {
	PLAT_EXTEND, PLAT_KEEP, PLAT_PUNCH, PLAT_ZERO, PLAT_COLLAPSE,
	PLAT_INSERT, PLAT_NALLOC
};
int plat_allocate(int, enum plat_alloc, off_t, off_t);

/* A device number. */
dev_t plat_dev(unsigned int, unsigned int);

/* A descriptor that only names the object, not followed. */
int plat_name(int, const char *);

#endif /* PLAT_H */
