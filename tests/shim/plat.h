/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What tests need from the system: plat_linux.c, plat_freebsd.c.
 */

#ifndef PLAT_H
#define	PLAT_H

#include <sys/types.h>

#include <stdbool.h>

/* Namespaces for plat_fork(); a system without them ignores them. */
#define	PLAT_PID	1
#define	PLAT_NET	2
#define	PLAT_MOUNT	4

/* The loopback interface. */
#ifdef __FreeBSD__
#define	PLAT_LOOPBACK	"lo0"
#else
#define	PLAT_LOOPBACK	"lo"
#endif

pid_t plat_fork(int);

/* Run prog, which may be outside of the path; returns on failure. */
void plat_exec(const char *, const char *const *, const char *const *);

/* Resident memory in KiB. */
long plat_rss(pid_t);

/* The path of the running test program. */
const char *plat_self(void);

/* Tell whether PLAT_NET and the others mean something. */
bool plat_namespaces(void);

/* Give the network of a process an interface to configure. */
void plat_make_interface(pid_t);

/* A command that prints addresses and routes. */
const char *plat_show_network(void);

/* Tell whether this was built with a sanitizer. */
bool plat_sanitized(void);

#endif /* PLAT_H */
