/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of the jail backend share.
 *
 * A sandbox is two jails.  The outer one, coppice_<id>, owns the network
 * stack and nothing runs in it.  The inner one, coppice_<id>.box, inherits
 * that stack and holds every process: a jail that owns its stack may use raw
 * sockets and change interfaces whatever its parameters say, one that
 * inherits it may not.
 */

#ifndef JAIL_INTERNAL_H
#define JAIL_INTERNAL_H

#include <sys/param.h>
#include <sys/uio.h>

#include <stdbool.h>
#include <stddef.h>

#include "backend.h"

#define	JAIL_OUTER	"coppice_%s"
#define	JAIL_INNER	"coppice_%s.box"
#define	JAIL_NAMESIZE	64
#define	JAIL_RULESET	"7800"		/* of devfs(8) */

extern const struct backend backend_jail;

/* Names and values for nmount(2) and jail_set(2); strings are borrowed. */
struct jail_vec {
	struct iovec	v[64];
	unsigned	n;
};

void jail_vec_add(struct jail_vec *, const char *, const void *, size_t);
void jail_vec_string(struct jail_vec *, const char *, const char *);
void jail_vec_flag(struct jail_vec *, const char *);

/*
 * jail_root_freebsd.c: the disk, and what is mounted on it.
 */
int jail_root_prepare(const struct sandbox_spec *, struct co_error *);
int jail_root_mount(const struct sandbox_spec *, char[PATH_MAX],
    struct co_error *);
int jail_root_unmount(const struct sandbox_spec *, struct co_error *);
int jail_root_remove(const struct sandbox_spec *, struct co_error *);
int jail_root_capture(const struct sandbox_spec *, int, struct co_error *);
int jail_run(const char *const *, int, struct co_error *);

/*
 * jail_zfs_freebsd.c: clones, where the state is on ZFS.
 */
bool jail_zfs_has(const struct sandbox_spec *);
int jail_zfs_prepare(const struct sandbox_spec *, const char *,
    struct co_error *);
int jail_zfs_remove(const struct sandbox_spec *, struct co_error *);

/*
 * jail_limit_freebsd.c: limits, use, and stopping the clock.
 */
int jail_limit(const struct sandbox_spec *, const struct sandbox_run *,
    struct co_error *);
void jail_limit_clear(const char *);
int jail_usage(const struct sandbox_spec *, const struct sandbox_run *,
    struct sandbox_usage *, struct co_error *);
int jail_freeze(const struct sandbox_spec *, const struct sandbox_run *,
    bool, struct co_error *);

/*
 * jail_proc_freebsd.c: processes of a jail.
 */
int jail_proc_count(int);
int jail_proc_signal(int, int, bool *);
uint64_t jail_proc_birth(pid_t, int);

/* jail_freebsd.c */
int jail_find(const char *, const char *);

#endif /* JAIL_INTERNAL_H */
