/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the shim asks of the system it runs on; sys_linux.c and
 * sys_freebsd.c, shim_net_linux.c and shim_net_freebsd.c.
 */

#ifndef SYS_H
#define	SYS_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sys_stats {
	int64_t	cpus;
	int64_t	cpu_ms;		/* of all processors since boot */
	int64_t	mem_total;
	int64_t	mem_used;
	int64_t	rx_bytes;	/* of all interfaces but loopback */
	int64_t	tx_bytes;
};

/* A TCP socket: IPv4 addresses in network order, IPv6 as below. */
struct sys_tcp {
	uint32_t	addr;		/* local */
	uint16_t	port;
	bool		listening;
	bool		any;		/* any address, of either family */
	bool		loopback;
	bool		six;
};

struct sys_net {
	const char	*interface;	/* "": the first that is not loopback */
	uint32_t	 ip;		/* network order */
	uint32_t	 gw;		/* 0: none */
	int		 prefix;
	int		 mtu;		/* 0: as it is */
};

const char *sys_platform(void);

/* Orphans of the sandbox become our children; survive its memory. */
void sys_become_init(void);

/* In a child that is to be somebody else's program. */
void sys_before_exec(void);
void sys_close_from(int);
int sys_set_groups(const gid_t *, int);

/**
 * sys_signal_session(sid, sig):
 * Signal every process of the session ${sid} that is not of the group
 * ${sid}.
 */
void sys_signal_session(pid_t, int);

/* Tell whether anybody of a session is alive. */
bool sys_session_alive(pid_t);

/* Signal every process of the sandbox but this one. */
void sys_signal_all(int);

void sys_stats(struct sys_stats *);

/**
 * sys_tcp_each(fn, arg):
 * Call ${fn} for every TCP socket of the network stack.  Return 0 or an
 * errno.
 */
int sys_tcp_each(void (*)(const struct sys_tcp *, void *), void *);

/**
 * sys_net_up(n, what):
 * Bring up loopback and, if n->ip is set, the interface with its address
 * and default route.  Return 0, or an errno with ${what} saying which step.
 */
int sys_net_up(const struct sys_net *, const char **);

/* Return 0 or an errno. */
int sys_set_hostname(const char *);

/* As the first process of a machine: mount what programs expect. */
void sys_boot(void);

/* Read the kernel's command line; false if there is none. */
bool sys_cmdline(char *, size_t);

/* Stop the machine; returns only on failure. */
void sys_poweroff(bool);

void sys_random(void *, size_t);

#endif /* SYS_H */
