/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Words of the cases that differ between systems: posix_os_linux.c and
 * posix_os_freebsd.c.
 */

#ifndef POSIX_OS_H
#define POSIX_OS_H

#include <sys/types.h>

struct word {
	const char	*name;
	int		 args;		/* at least */
	int		(*fn)(char **, int);
};

dev_t os_makedev(unsigned int, unsigned int);
int os_setgroups(int, const gid_t *);

/* setx path name value [c|r]; getx path name value; rmx path name;
   listx path a,b,c */
int os_setx(char **, int);
int os_getx(char **, int);
int os_rmx(char **, int);
int os_listx(char **, int);

/* rename2 a b n|x: without replacing, or exchanging. */
int os_rename2(char **, int);

/* The number of an errno's name; aborts when there is none. */
int os_errno(const char *);

/* More words, or NULL. */
const struct word *os_words(const char *);

/* Of posix_words.c. */
int word_fd(const char *);
void word_slot(const char *, int);

#endif /* POSIX_OS_H */
