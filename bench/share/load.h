/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Work for a mounted folder.  Each leaves the folder as it was, and returns
 * the seconds that the measured part took, or -1 after a warning.
 */

#ifndef LOAD_H
#define LOAD_H

#include <stddef.h>

/* ${n} files are created, looked at, renamed and removed. */
double load_storm(const char *, unsigned int);

/* An archive of small files is made, once; and unpacked. */
int load_archive(const char *, unsigned int);
double load_untar(const char *, const char *);

/* ${size} bytes of a new file; ${size} bytes of "big"; blocks of it. */
double load_write(const char *, size_t);
double load_read(const char *, size_t);
double load_random(const char *, size_t, unsigned int);

/* Blocks of "big" are written over, which the step has seen before. */
double load_rewrite(const char *, size_t, unsigned int);

/* Make "big", in the folder itself. */
int load_big(const char *, size_t);
int load_remove(const char *);

#endif /* LOAD_H */
