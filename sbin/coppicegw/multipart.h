/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * multipart/form-data as it comes: parts with their names, and pieces of
 * their content.
 */

#ifndef MULTIPART_H
#define MULTIPART_H

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"

#define	MULTIPART_BOUNDARY	70	/* characters, says RFC 2046 */
#define	MULTIPART_HEAD		(16 * 1024)
#define	MULTIPART_NAME		4096

struct multipart {
	char		 boundary[MULTIPART_BOUNDARY + 5];	/* CRLF -- */
	size_t		 len;
	struct buf	 in;
	size_t		 taken;		/* of it, by who calls */
	int		 state;
	bool		 done;
	char		 name[256];	/* of the part */
	char		 filename[MULTIPART_NAME];
};

enum multipart_event {
	MULTIPART_MORE,			/* is needed */
	MULTIPART_PART,			/* one began: name, filename */
	MULTIPART_DATA,			/* a piece of it */
	MULTIPART_END,			/* of the part */
	MULTIPART_DONE,			/* of all parts */
	MULTIPART_BAD
};

/**
 * multipart_init(m, type):
 * Begin with the value ${type} of Content-Type.  Return 0, or -1 if that is
 * no form, or has no boundary.
 */
int multipart_init(struct multipart *, const char *);

/**
 * multipart_add(m, data, len):
 * More bytes came.
 */
void multipart_add(struct multipart *, const char *, size_t);

/**
 * multipart_next(m, data, len):
 * Return what comes next; the piece of MULTIPART_DATA is stored, and lives
 * until the next call.
 */
enum multipart_event multipart_next(struct multipart *, const char **,
    size_t *);

void multipart_free(struct multipart *);

#endif /* MULTIPART_H */
