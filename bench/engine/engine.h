/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A daemon of our own to be measured, and what it is measured against.
 */

#ifndef ENGINE_H
#define ENGINE_H

#include <sys/nv.h>

struct ctl;

/*
 * host.c: namespaces, a prefix, a coppiced in them and a connection to it.
 */
struct host {
	char		 dir[64];	/* the prefix, and all else */
	char		*root;		/* of the template "tiny" */
	struct ctl	*ctl;
	int		 daemon;
};

/**
 * host_open(h, objtop), host_close(h):
 * Make it, with its network, and take it away again.  Exits when it can't.
 */
void host_open(struct host *, const char *);
void host_close(struct host *);

/**
 * host_ask(h, op, id, answer):
 * Ask the daemon for ${op}, of the sandbox ${id} unless that is NULL.  Store
 * the answer, unless that is NULL.  Return 0, or -1 after a complaint.
 */
int host_ask(struct host *, const char *, const char *, nvlist_t **);

/* Bytes of the host that are not to be had any more. */
double host_memory(void);

/* Run a program by argv, quietly; return its exit status. */
int host_run(const char *const *, int mountns);

/*
 * peer.c: crun(1), and namespaces without anything in them.
 */
struct peer {
	int		 mountns;	/* where crun finds cgroups it likes */
	char		 bundle[128];
	char		 id[32];
};

void peer_open(struct peer *, const struct host *);
int peer_run(struct peer *);		/* crun run, of /bin/true */
int peer_start(struct peer *);		/* one that stays, for peer_exec() */
int peer_exec(struct peer *);
void peer_stop(struct peer *);

/* A process in new namespaces of every kind that sleeps; its number. */
int peer_unshare(void);

#endif /* ENGINE_H */
