/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Backends: what isolates a sandbox.  Rows of one table; the engine never
 * asks which one it has.  Internal to libsandbox.
 *
 * All functions may block, and are called from libuv's threads, for one
 * sandbox by one thread at a time, for different ones at the same time.
 * They keep nothing in memory: what they need later is in the sandbox's
 * folder, in struct sandbox_run, or found in the kernel by the sandbox's id.
 * The process may be killed within any of them; stop() and remove() then
 * clean up whatever there is, and are fine with anything missing.
 */

#ifndef BACKEND_H
#define BACKEND_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coppice.h"
#include "net.h"

/* Zero: no limit. */
struct sandbox_limits {
	uint64_t	memory;		/* bytes */
	uint64_t	cpu;		/* thousandths of a processor */
	uint64_t	procs;		/* processes and threads */
	uint64_t	disk;		/* bytes that may be written */
	uint64_t	files;		/* open files of a process */
};

/* A folder of the host, served by coppicefsd. */
struct sandbox_share {
	const char	*label;		/* seen at /work/<label> */
	const char	*source;	/* where coppicefsd mounted it on the
					   host, or its vhost-user socket */
	bool		 readonly;
};

#define	SANDBOX_SHARES	8

struct sandbox_spec {
	const char	*id;		/* 32 hex digits */
	const char	*name;		/* hostname inside */
	const char	*dir;		/* state/sandboxes/ID, absolute */
	const char	*run;		/* run/ID, absolute, 0700 */
	const char	*template;	/* root of the template, absolute,
					   read-only, owned as inside */
	const char	*shim;		/* path of coppice-shim */
	int		 listenfd;	/* start(): listening unix socket that
					   the shim serves by --listen;
					   backends without one ignore it */
	struct sandbox_limits limits;
	struct sandbox_share share[SANDBOX_SHARES];
	size_t		 nshares;
	const struct net_lease *lease;	/* of a tap, made before start();
					   a pair is attached after it */
	struct co_log	*log;
};

/* What runs; kept in the record by the engine. */
struct sandbox_run {
	pid_t		 pid;		/* of the first process, as the host
					   sees it, or of the hypervisor */
	uint64_t	 birth;		/* when that began, in the kernel's
					   own units: a pid alone is reused */
	int		 jid;		/* FreeBSD, else 0 */
	int		 netns;		/* Linux: descriptor, the callee of
					   start() and adopt() opens it and
					   the engine closes it; -1: none */
};

struct sandbox_usage {
	uint64_t	memory;		/* bytes in use */
	uint64_t	memory_peak;
	uint64_t	cpu_us;
	uint64_t	procs;
	uint64_t	disk;		/* bytes written, as far as known */
	uint64_t	oom_kills;
};

/* One finding of "doctor": a feature, whether it works, and what to do. */
typedef void backend_finding_fn(void *, const char *what, bool ok,
    const char *advice);

struct backend {
	const char	*name;
	const char	*summary;	/* for people */
	enum net_kind	 kind;

	/* Can it work on this host?  Report each thing that it needs. */
	int	(*probe)(backend_finding_fn *, void *, struct co_error *);

	/* Make the disk: an overlay, a clone, an image. */
	int	(*prepare)(const struct sandbox_spec *, struct co_error *);

	/*
	 * Which user of the host root inside will be; stop() gives it back.
	 * NULL: users are the same inside and outside.
	 */
	int	(*ids)(const struct sandbox_spec *, uid_t *,
		    struct co_error *);

	/*
	 * Start it: isolation, root, limits, and the shim as its first
	 * process.  On failure nothing runs and nothing is mounted.
	 */
	int	(*start)(const struct sandbox_spec *, struct sandbox_run *,
		    struct co_error *);

	/*
	 * After a restart of the engine: does it run?  ${run} is what the
	 * record has, and is completed.  Return 0, or -1 with
	 * CO_ESANDBOX_LOST.
	 */
	int	(*adopt)(const struct sandbox_spec *, struct sandbox_run *,
		    struct co_error *);

	/*
	 * A stream to the shim, non-blocking.  NULL: connect to the unix
	 * socket spec->run/shim.
	 */
	int	(*connect)(const struct sandbox_spec *,
		    const struct sandbox_run *, int *, struct co_error *);

	int	(*freeze)(const struct sandbox_spec *,
		    const struct sandbox_run *, bool, struct co_error *);

	/* Apply spec->limits to what runs. */
	int	(*limit)(const struct sandbox_spec *,
		    const struct sandbox_run *, struct co_error *);
	int	(*usage)(const struct sandbox_spec *,
		    const struct sandbox_run *, struct sandbox_usage *,
		    struct co_error *);

	/* Kill every process and take away every mount; frozen ones too. */
	int	(*stop)(const struct sandbox_spec *,
		    const struct sandbox_run *, struct co_error *);

	/* Remove the disk; only after stop(). */
	int	(*remove)(const struct sandbox_spec *, struct co_error *);

	/*
	 * Write the tree as it is now, stopped or frozen, to the empty
	 * directory ${fd}, to become a template.
	 */
	int	(*capture)(const struct sandbox_spec *, int,
		    struct co_error *);
};

/* Those of this platform, the first one that works is the default. */
extern const struct backend *const backends[];

const struct backend *backend_find(const char *);

#endif /* BACKEND_H */
