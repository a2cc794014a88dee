/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * An exact picture of a folder, taken and compared without any help of the
 * library under test: bytes, types, modes, owners, times, attributes, link
 * targets, which names are one file, and where files have holes.
 */

#ifndef SNAP_H
#define SNAP_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct snap;

/* What a caller may want to know of one name. */
struct snap_name {
	const char	*path;		/* "" is the root */
	mode_t		 mode;		/* only S_IFMT from snap_names() */
	uint64_t	 dev;
	uint64_t	 ino;
	uint64_t	 nlink;		/* as the filesystem says */
	uint64_t	 names;		/* as counted in the folder */
	uint64_t	 size;
};

/**
 * snap_take(fd):
 * Take a picture of the folder ${fd}.  Return NULL with errno set when
 * something in it can't be read.
 */
struct snap *snap_take(int);

/**
 * snap_names(fd):
 * As snap_take(), of names and types only; good for choosing a victim and
 * not for comparing.
 */
struct snap *snap_names(int);

void snap_free(struct snap *);

/**
 * snap_same(want, got, why, size):
 * Tell whether the two pictures are the same: a hole in ${want} must be a
 * hole in ${got}, unless the file takes no more space than it did, and all
 * else must agree.  If not, describe up to eight
 * differences in ${why}.
 */
bool snap_same(const struct snap *, const struct snap *, char *, size_t);

/* How many names, the root included, and the ${i}-th, sorted by path. */
size_t snap_count(const struct snap *);
void snap_get(const struct snap *, size_t, struct snap_name *);

/* Tell whether ${path} is there, and fill in ${n} if not NULL. */
bool snap_has(const struct snap *, const char *, struct snap_name *);

/* Tell whether ${path} is there in both, and the same in both. */
bool snap_same_at(const struct snap *, const struct snap *, const char *);

/* A path of the inode, or NULL. */
const char *snap_path(const struct snap *, uint64_t, uint64_t);

/**
 * snap_loose(t, slack):
 * Let ${slack} bytes of holes get lost in a comparison with ${t}: for
 * filesystems that allocate ahead of what is written.
 */
void snap_loose(struct snap *, uint64_t);

#endif /* SNAP_H */
