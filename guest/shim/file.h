/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Between the process that serves one file request and the loop that
 * relays: frames, each after a head that says how long it is and what it
 * counts for.
 */

#ifndef FILE_H
#define	FILE_H

#include <sys/stat.h>

#include "guest.h"

enum file_class {
	FILE_ITEM,		/* an entry or event */
	FILE_BYTES,		/* data */
	FILE_LAST		/* the reply */
};

struct file_head {
	uint32_t	class;
	uint32_t	line;
	uint32_t	payload;
	uint32_t	cost;		/* of what the host granted */
};

/* Where the bytes of a file that is read go, if the host said where. */
#define	FILE_DIRECT	3

/* In the serving process; its output is descriptor 1, its input 0. */
struct file {
	const struct guest	*g;
	const struct sw_msg	*m;
	struct sf_out	 out;
	int64_t			 req;
	uint64_t		 offset;	/* bytes sent or written */
	struct user		 user;
};

/* Send a message on; ends the process if nobody listens. */
void file_emit(struct file *, enum file_class, struct sw_msg *,
    const void *, size_t);

/* Send an event about path, which is relative to what is watched. */
void file_event(struct file *, enum sw_event, const char *);

/**
 * file_copy(from, to, max, copied):
 * Copy up to ${max} bytes until ${from} ends, one of both being a pipe, and
 * add their number to ${copied}.  Return 0 or an errno.
 */
int file_copy(int, int, uint64_t, uint64_t *);

/* Return 0 or an errno; the reply follows from it. */
int file_list(struct file *);
int file_remove(struct file *);
int file_watch(struct file *);

/* Describe what st says in an entry. */
void file_entry(struct file *, int, const char *, const char *,
    const struct stat *);

#endif /* FILE_H */
