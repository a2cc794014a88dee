/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a file system must do, case by case.  A case runs in a process of its
 * own, in an empty directory of its own.
 */

#ifndef POSIX_CASES_H
#define POSIX_CASES_H

#include <stddef.h>

/*
 * A case in words: commands separated by ";", each with its arguments, to be
 * found in posix_words.c.  A command succeeds, or fails with the errno that
 * is written before it ("ENOENT:unlink a").
 */
struct script {
	const char	*name;
	const char	*text;
};
extern const struct script scripts[];

/* A case in C: it returns when all is well, else calls fail(). */
struct program {
	const char	*name;
	void		(*fn)(void);
};
extern const struct program programs[];

void fail(const char *, ...)
    __attribute__((__noreturn__, __format__(__printf__, 1, 2)));

/* fail() unless; with errno. */
#define	MUST(x) do {						\
	if (!(x))						\
		fail("%s:%d: %s", __FILE__, __LINE__, #x);	\
} while (0)

/* Run the text of a script here. */
void words_run(const char *);

#endif /* POSIX_CASES_H */
