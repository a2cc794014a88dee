/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Places for tests to work in: folders that are made and removed, and
 * filesystems in image files.  Paths are relative to the working directory,
 * which the test runner gives to each test alone.
 */

#ifndef WORK_H
#define WORK_H

#include <stdbool.h>

/* Remove ${dirfd}/${name} with all below it, however deep; 0 or an errno. */
int work_remove(int, const char *);

/* Make the folder ${path} anew, empty; return a descriptor or abort. */
int work_fresh(const char *);

/* Run a program by argv, output discarded; its exit status or -1. */
int work_run(const char *const *);

/**
 * work_mount(type, path, mb):
 * Make an image of ${mb} MiB beside ${path}, a filesystem of ${type} ("xfs"
 * with reflinks, "btrfs", "ext4") in it, and mount it on ${path}.  Return
 * false where programs or the permission for it are missing.
 */
bool work_mount(const char *, const char *, unsigned int);

/* Unmount ${path} if it is mounted, and remove the image. */
void work_unmount(const char *);

/**
 * work_cut(fd):
 * Stop the filesystem of ${fd} as a loss of power would: what is not on disk
 * is lost.  work_again() then mounts what is on ${path} once more.
 */
bool work_cut(int);
bool work_again(const char *);

/* Bring the filesystem of ${fd} to disk. */
void work_sync(int);

/* A folder on another filesystem than ${fd} that can be written, or NULL. */
const char *work_elsewhere(int);

/* The number in the environment variable ${name}, or ${dflt}. */
unsigned long work_number(const char *, unsigned long);

#endif /* WORK_H */
