/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What differs between systems, behind one set of functions; os_linux.c,
 * os_freebsd.c and os_darwin.c implement it.  All return 0 or an errno
 * unless said otherwise; EOPNOTSUPP means "this filesystem or system can't",
 * and the caller has another way.
 */

#ifndef OS_H
#define OS_H

#include <sys/types.h>
#include <sys/stat.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __APPLE__
#define	st_mtim	st_mtimespec
#endif

#ifndef O_PATH
#define	O_PATH	0
#endif
#ifndef O_NOATIME
#define	O_NOATIME	0
#endif

/**
 * os_open_beneath(dir, path, flags):
 * Open ${path} (shorter than PATH_MAX, not empty) below ${dir}, following
 * no symbolic link in any component.  Return a descriptor or -1.
 */
int os_open_beneath(int, const char *, int);
int os_open_walk(int, const char *, int);

/**
 * os_reopen(fd, flags):
 * Open the file of ${fd} once more, another way, without its name.  Return a
 * descriptor or -1.
 */
int os_reopen(int, int);

/**
 * os_rename_new(dir, name, todir, to):
 * Rename, but fail with EEXIST when ${to} exists.
 */
int os_rename_new(int, const char *, int, const char *);

/**
 * os_rename_swap(dir, name, todir, to):
 * Exchange two names in one step.
 */
int os_rename_swap(int, const char *, int, const char *);

/**
 * os_clone_new(src, dir, name, fd):
 * Make ${name} in ${dir} a clone of the content of ${src}, sharing its
 * blocks; store a descriptor of it (or -1) in ${fd}.
 */
int os_clone_new(int, int, const char *, int *);

/**
 * os_clone_into(src, dst):
 * Make the start of ${dst} share the blocks of ${src}; sizes are the
 * caller's business.
 */
int os_clone_into(int, int);

/**
 * os_clone_range(src, dst, off, len):
 * Make ${dst} at ${off} share the first ${len} bytes of ${src}, whole blocks.
 */
int os_clone_range(int, int, off_t, size_t);

/**
 * os_clean(fd, len):
 * Are the first ${len} bytes on the disk as they are in memory, so that a
 * clone has nothing to wait for?  False also if that can't be told.
 */
bool os_clean(int, size_t);

/**
 * os_copy(in, out, off, len):
 * Copy up to ${len} bytes at ${off} inside the kernel.  Return how many, 0
 * at the end of the file, or -1 with errno.
 */
ssize_t os_copy(int, int, off_t, size_t);

/**
 * os_extent(fd, size, off, start, end):
 * Find the first run of data at or after ${off} in a file of ${size} bytes.
 * ${start} is ${size} when there is none.
 */
int os_extent(int, off_t, off_t, off_t *, off_t *);

/**
 * os_in_place(fd):
 * Does the filesystem write in place, as far as is known?  If not, reserved
 * space is no promise: a second store to the same page needs another block.
 */
bool os_in_place(int);

/**
 * os_preallocate(fd, off, len):
 * Reserve space, so that storing there can't fail.
 */
int os_preallocate(int, off_t, off_t);

/**
 * os_forget(addr, len):
 * These pages of a shared mapping will not be needed soon.
 */
void os_forget(void *, size_t);

/**
 * os_fdpath(root, fd, buf, size):
 * Store the path of ${fd} relative to the directory ${root}.  EOPNOTSUPP
 * when the system does not know, ENOENT when it has none below ${root}.
 */
int os_fdpath(int, int, char *, size_t);

/* fdatasync(2), or what comes next to it; -1 with errno. */
int os_datasync(int);

/**
 * os_sync(fd):
 * Write everything of the filesystem of ${fd} to the disk.
 */
int os_sync(int);

/* A number that differs from one start of the system to the next; 0 if it
   can't be had. */
uint64_t os_boot(void);

/* Milliseconds of a cheap monotonic clock; no system call. */
int64_t os_clock_ms(void);

/*
 * Extended attributes and access control lists.  An object is given by a
 * descriptor, or when that is -1 by directory and name (and is no file that
 * may be opened: a symbolic link, a device).  Names are whatever this system
 * can set again; ACLs kept elsewhere get names of their own.
 */
struct os_object {
	int		 fd;
	int		 dir;
	const char	*name;
	mode_t		 type;
};

/**
 * os_xattr_list(o, buf, size, len):
 * Store the names, each with its NUL; ERANGE when ${size} is too small, with
 * the wanted size in ${len}.  No attributes, or no support: ${len} is 0.
 */
int os_xattr_list(const struct os_object *, char *, size_t, size_t *);

/* The value of one; ERANGE likewise. */
int os_xattr_get(const struct os_object *, const char *, void *, size_t,
    size_t *);
int os_xattr_set(const struct os_object *, const char *, const void *,
    size_t);
int os_xattr_remove(const struct os_object *, const char *);

#endif /* OS_H */
