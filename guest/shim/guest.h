/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * coppice-shim's one state and what its files offer to each other.  The
 * loop that runs all of this never waits for anything but its descriptors:
 * commands and file requests are processes of their own.
 */

#ifndef GUEST_H
#define	GUEST_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ev.h"
#include "sf.h"
#include "user.h"

#define	MAXPROCS	256		/* commands, finished ones included */
#define	MAXWORKS	128		/* file requests at once */
#define	MAXDIALS	512		/* streams to ports, at once */
#define	MAXPORTS	64		/* ports behind the port proxy */
#define	MAXRELAYS	512		/* connections through it */
#define	MAXRINGS	(64 << 20)	/* all windows of output together */
#define	MAXENV		256		/* configured variables */
#define	CHUNK		32768		/* payload of one bulk message */
#define	GRACE_MS	5000		/* between SIGTERM and SIGKILL */

struct proc;
struct work;
struct dial;

/* Where the host is; see chan.c. */
enum chan_kind {
	CHAN_FD, CHAN_SERIAL, CHAN_VSOCK
};

struct chan {
	enum chan_kind	 kind;
	const char	*path;		/* CHAN_SERIAL */
	unsigned	 cid;		/* CHAN_VSOCK */
	unsigned	 port;
	struct ev_src	 src;		/* the connection */
	struct ev_src	 listen;	/* where newer ones come from */
	struct ev_timer	 retry;
	struct ev_timer	 stall;
	struct sf_in	 in;
	struct sf_out out;
	bool		 greeted;	/* both said hello */
	bool		 failing;	/* close when the output has gone */
	bool		 paused;	/* requests wait for room for answers */
};

/* What configure and the environment said about commands and the network. */
struct conf {
	char		*env[MAXENV];	/* "K=V" */
	size_t		 nenv;
	char		 user[65];
	char		 cwd[4097];
	char		 interface[16];
	char		 ip[65];
	char		 gw[65];
	char		 dns[8][65];
	char		 hostname[65];
	int		 ndns;
	int		 prefix;
	int		 mtu;
};

struct guest {
	struct ev	*ev;
	struct chan	 chan;
	struct conf	 conf;
	struct proc	*procs;
	size_t		 nprocs;
	size_t		 rings;		/* bytes promised to windows */
	struct work	*works;
	size_t		 nworks;
	struct dial	*dials;
	size_t		 ndials;
	struct proxy	*proxy;
	struct ev_timer	 beat;
	int64_t		 beat_ms;
	int64_t		 seq;
	unsigned	 rollbacks;
	int64_t		 started;
	int64_t		 activity;	/* bytes to and from programs */
	struct ev_src	 signals;
	struct ev_timer	 dying;
	bool		 shutdown;
	enum sw_how	 how;
	bool		 init;		/* the machine is ours */
	const char	*rundir;
	char		 instance[33];
};

/* chan.c: the connection to the host. */
int chan_open(struct guest *);
/* Send a message; one that must not get lost.  Drops the host if it can't. */
void chan_send(struct guest *, struct sw_msg *);
/* Tell whether bulk data may be sent now; send some. */
bool chan_room(const struct guest *);
void chan_bulk(struct guest *, struct sw_msg *, const void *, size_t);
void chan_relay(struct guest *, const void *, size_t);
/* Send a message with a descriptor, which is taken; 0 or an errno. */
int chan_send_fd(struct guest *, struct sw_msg *, int);
/* Say why, and hang up on a host that broke the protocol. */
void chan_refuse(struct guest *, int64_t, const char *, const char *);
/* After every round of the loop; is there more than there was room for? */
void chan_flush(struct guest *, bool);
/* Largest bulk payload the host takes. */
size_t chan_chunk(const struct guest *);

/* chan_linux.c, chan_freebsd.c: descriptors, or -1 with errno. */
int chan_vsock_connect(unsigned, unsigned);
int chan_vsock_listen(unsigned);
bool chan_peer_ok(int);
int chan_serial_open(const char *);

/* session.c: what the host asks. */
void session_message(struct guest *, const struct sw_msg *, const char *,
    size_t);
void session_end(struct guest *);
bool session_pump(struct guest *);
void session_reply(struct guest *, int64_t, int, const char *);
void session_shutdown(struct guest *, int64_t, enum sw_how);
void session_leave(struct guest *);

/* proc.c: commands. */
void proc_exec(struct guest *, const struct sw_msg *);
void proc_cancel(struct guest *, const struct sw_msg *);
void proc_signal(struct guest *, const struct sw_msg *);
void proc_resize(struct guest *, const struct sw_msg *);
void proc_stdin(struct guest *, const struct sw_msg *, const char *,
    size_t);
void proc_ack(struct guest *, const struct sw_msg *);
void proc_attach(struct guest *, const struct sw_msg *);
void proc_forget(struct guest *, const struct sw_msg *);
void proc_list(struct guest *, const struct sw_msg *);
bool proc_reaped(struct guest *, pid_t, int, int64_t, int64_t);
void proc_detach(struct guest *);
bool proc_pump(struct guest *);
int proc_running(const struct guest *);

/* reap.c: wait for whoever died; true if no child is left. */
bool reap_all(struct guest *);

/* work.c: file requests. */
void work_start(struct guest *, const struct sw_msg *);
bool work_data(struct guest *, const struct sw_msg *, const char *, size_t);
bool work_ack(struct guest *, const struct sw_msg *);
bool work_close(struct guest *, const struct sw_msg *);
bool work_reaped(struct guest *, pid_t);
void work_detach(struct guest *);
bool work_pump(struct guest *);
void work_sweep(struct guest *);
bool work_busy(const struct guest *, int64_t);

/* dial.c: streams to ports on 127.0.0.1. */
void dial_start(struct guest *, const struct sw_msg *);
bool dial_data(struct guest *, const struct sw_msg *, const char *, size_t);
bool dial_ack(struct guest *, const struct sw_msg *);
bool dial_close(struct guest *, const struct sw_msg *);
void dial_detach(struct guest *);
bool dial_pump(struct guest *);
bool dial_busy(const struct guest *, int64_t);

/* proxy.c: ports that programs offer on 127.0.0.1 only. */
int proxy_set(struct guest *, const struct sw_list *);

/* beat.c: figures. */
void beat_start(struct guest *, int64_t);
void beat_stats(struct guest *, int64_t);

/* conf.c: configuration from outside and by message. */
void conf_environ(struct guest *);
void conf_cmdline(struct guest *, char *);
int conf_message(struct guest *, const struct sw_msg *, const char **);
int conf_apply(struct guest *, const char **);
int conf_number(const char *, int64_t, int64_t, int64_t *);

/* spawn.c: what happens in a child, before and instead of exec. */
struct spawn {
	const struct guest	*g;
	const struct sw_msg	*m;
	int			 io[3];		/* stdin, stdout, stderr */
	int			 status;	/* where a failure is told */
	bool			 pty;
};

/* Why a command could not be started. */
enum spawn_stage {
	SPAWN_SETUP, SPAWN_USER, SPAWN_CWD, SPAWN_EXEC
};

struct spawn_failure {
	int	stage;
	int	error;
};

pid_t spawn_fork(void);
void spawn_exec(const struct spawn *) __attribute__((__noreturn__));
int spawn_user(const struct guest *, const struct sw_msg *,
    struct user *);
int spawn_become(const struct user *);

/* file.c: what a file request does, in a process of its own. */
void file_run(const struct guest *, const struct sw_msg *)
    __attribute__((__noreturn__));

#endif /* GUEST_H */
