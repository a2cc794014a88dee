/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of the ns backend share: Linux namespaces.  coppice-ns(7)
 * tells what it isolates.
 *
 * Nothing is ever mounted where the host sees it.  The layers of a sandbox's
 * root are detached mounts, which live as long as a descriptor or the
 * sandbox's own mount namespace holds them; a starter that is killed leaves
 * at most a cgroup and a range of user ids behind, and stop() finds both by
 * the sandbox's id.
 */

#ifndef NS_H
#define NS_H

#include <sys/types.h>
#include <sys/resource.h>

#include <linux/filter.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"

#define	NS_IDS		65536		/* user ids of one sandbox */
#define	NS_RUN		"/run/coppice-ns"
#define	NS_MAXTASKS	5		/* hierarchies of cgroups v1 */
#define	NS_STOP_MS	20000

extern const struct backend backend_ns;

/*
 * ns_slot_linux.c: which range of the host's user ids a sandbox has.
 */
int ns_slot_take(const char *, uid_t *, struct co_error *);
void ns_slot_drop(const char *);

/*
 * ns_cgroup_linux.c, ns_limit_linux.c: one cgroup, coppice/<id>, in each
 * hierarchy that the host has.
 */
enum ns_controller {
	CG_UNIFIED, CG_MEMORY, CG_CPU, CG_CPUACCT, CG_PIDS, CG_FREEZER, CG_N
};

struct ns_cgroup {
	int		 into;		/* for CLONE_INTO_CGROUP, or -1 */
	int		 tasks[NS_MAXTASKS];	/* v1: written by the child */
	size_t		 ntasks;
};

int ns_cgroup_make(const struct sandbox_spec *, struct ns_cgroup *,
    struct co_error *);
void ns_cgroup_close(struct ns_cgroup *);
bool ns_cgroup_has(const char *, pid_t);
int ns_cgroup_freeze(const char *, bool, struct co_error *);
void ns_cgroup_kill(const char *);
int ns_cgroup_remove(const char *, struct co_error *);
void ns_cgroup_probe(backend_finding_fn *, void *);

bool ns_cgroup_there(enum ns_controller);
bool ns_cgroup_v2(enum ns_controller);
int ns_cgroup_write(const char *, enum ns_controller, const char *,
    const char *);
ssize_t ns_cgroup_read(const char *, enum ns_controller, const char *,
    char *, size_t);

int ns_limit_set(const struct sandbox_spec *, bool, struct co_error *);
void ns_limit_usage(const char *, struct sandbox_usage *);

/*
 * ns_seccomp_linux.c: the filter, made once in a process; NULL with the
 * error set.
 */
const struct sock_fprog *ns_seccomp(struct co_error *);

/*
 * ns_disk_linux.c, ns_image_linux.c, ns_tree_linux.c: what a sandbox writes.
 * ns_disk_open() returns a detached mount with upper and work.
 */
int ns_disk_prepare(const struct sandbox_spec *, struct co_error *);
int ns_disk_open(const struct sandbox_spec *, struct co_error *);
void ns_disk_forgive(int);
int ns_disk_remove(const struct sandbox_spec *, struct co_error *);
int ns_disk_dirs(int, const struct sandbox_spec *, struct co_error *);
uint64_t ns_disk_usage(const struct sandbox_spec *);

int ns_image_make(const struct sandbox_spec *, struct co_error *);
int ns_image_mount(const char *, struct co_error *);

int ns_tree_remove(int, const char *, struct co_error *);
uint64_t ns_tree_usage(int, const char *);
int ns_tree_copy_file(int, int, off_t);

/* ns_capture_linux.c */
int ns_capture(const struct sandbox_spec *, int, struct co_error *);

/*
 * ns_start_linux.c, in the daemon; ns_child_linux.c and ns_root_linux.c, in
 * the new process, which is the copy of a program with threads: it may only
 * make system calls.  Everything it needs is made before.
 */
struct ns_child {
	const struct sandbox_spec *spec;
	const struct sock_fprog *filter;
	struct ns_cgroup cgroup;
	int		 go;		/* readable when its ids are mapped */
	int		 status;	/* says what failed; closed by exec */
	int		 template;	/* detached mounts */
	int		 disk;
	int		 shim;
	int		 share[SANDBOX_SHARES];
	rlim_t		 files;		/* 0: as it is */
	char		 shm[64];	/* options of /dev/shm */
};

struct ns_failure {
	int		 errnum;
	char		 what[60];
};

int ns_start(const struct sandbox_spec *, struct sandbox_run *,
    struct co_error *);
void ns_child(struct ns_child *) __attribute__((__noreturn__));
void ns_fail(const struct ns_child *, const char *)
    __attribute__((__noreturn__));
void ns_root(const struct ns_child *);

/*
 * ns_stop_linux.c: finding the first process again, and ending it.
 */
uint64_t ns_birth(pid_t, char *);
int ns_adopt(const struct sandbox_spec *, struct sandbox_run *,
    struct co_error *);
int ns_stop(const struct sandbox_spec *, const struct sandbox_run *,
    struct co_error *);
void ns_reap(int);

/* ns_probe_linux.c */
int ns_probe(backend_finding_fn *, void *, struct co_error *);

#endif /* NS_H */
