/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * coppicefsd: one process that serves one folder.  This is what its parts
 * know of each other: the configuration, the server, the transports, the
 * control socket and the sandbox.
 *
 * The order of its life: everything that has a path is opened; the sandbox
 * is entered; only then threads are made and the first byte of a client is
 * read.
 */

#ifndef COPPICEFSD_H
#define COPPICEFSD_H

#include <sys/types.h>
#include <sys/nv.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coppice.h"
#include "fused.h"
#include "share.h"
#include "undo.h"

struct control;
struct ctl;
struct server;
struct watch;

/*
 * What the command line says; options.c.
 */
enum seccomp_mode {
	SECCOMP_ERRNO, SECCOMP_KILL, SECCOMP_OFF
};

struct config {
	const char	*root;
	const char	*store;		/* NULL: no undo */
	const char	*control;	/* NULL: no control socket */
	const char	*user;		/* NULL: stay who we are */
	const char	*transport;
	const char	*watcher;	/* NULL: the best there is */
	const char	*level;
	bool		 foreground;
	bool		 sandbox;
	bool		 suid;
	bool		 noexec;
	enum seccomp_mode seccomp;
	struct share_options share;
	struct fused_options fused;
	struct undo_options undo;
	struct share_map *maps;
};

/**
 * options_parse(c, text, e):
 * Take the words of an -o, separated by commas, into ${c}.
 */
int options_parse(struct config *, const char *, struct co_error *);
void options_free(struct config *);

/*
 * Transports; one row of the table each.
 */
struct transport {
	const char	*name;
	/* Open what has a path, as the user who started us. */
	int		(*open)(struct server *, const char *,
			    struct co_error *);
	/* Serve until the end; the threads are its own. */
	int		(*serve)(struct server *, struct co_error *);
	/* Make serve return when what is being done is done. */
	void		(*stop)(struct server *);
	void		(*stats)(struct server *, nvlist_t *);
	void		(*close)(struct server *);
	/*
	 * Take away what open left in the filesystem.  Called once, in
	 * another process, which has the rights for it.
	 */
	void		(*clean)(const char *);
};

extern const struct transport transport_fuse;
extern const struct transport transport_p9;
extern const struct transport transport_vhost;

/**
 * transport_find(spec, arg):
 * The transport of ${spec}, "name:arg", or NULL.
 */
const struct transport *transport_find(const char *, const char **);

/*
 * The server.
 */
struct server {
	const struct config	*conf;
	struct co_log		*log;
	struct undo		*undo;		/* NULL: nothing to undo */
	struct share		*share;
	struct watch		*watch;		/* NULL: nobody watches */
	struct control		*control;
	const struct transport	*transport;
	const char		*arg;		/* the transport's */
	void			*tr;		/* the transport's own */
	uid_t			 owner;		/* who may command us */
	int			 keeper;	/* pipe: please clean up */
	_Atomic int		 stopping;
	_Atomic int		 locked;	/* by an external change */
	pthread_mutex_t		 ticklock;
	pthread_cond_t		 tickcond;
	bool			 ticked;	/* undo_tick() is wanted */
};

/**
 * server_stop(s):
 * End the server, from any thread but the one in a signal handler.
 */
void server_stop(struct server *);

/**
 * server_poke(s):
 * Something happened that undo_tick() may want to know.
 */
void server_poke(struct server *);

/**
 * server_external(s, paths, n):
 * ${n} paths changed that nobody changed through us.
 */
void server_external(struct server *, const char *const *, size_t);

/**
 * server_log(s, level, fmt, ...):
 */
void server_log(struct server *, enum co_level, const char *, ...)
    CO_PRINTF(3, 4);

/*
 * The control socket; control.c takes requests, ops.c knows them.
 */
struct conn;

/* A request in progress, in a thread of its own. */
struct request {
	struct server	*server;
	struct conn	*conn;
	const nvlist_t	*in;
	const int	*fds;
	size_t		 nfds;
	uint64_t	 req;
};

/**
 * control_new(s, c, e):
 * Listen where the configuration says; without a path, events are taken and
 * nobody is told.
 */
int control_new(struct server *, struct control **, struct co_error *);

/**
 * control_start(c, e), control_stop(c), control_free(c):
 * Serve in a thread; end it, with all requests in progress.
 */
int control_start(struct control *, struct co_error *);
void control_stop(struct control *);
void control_free(struct control *);

/**
 * control_adopt(c, fd, e):
 * Serve the connected socket ${fd} too, which is taken over.
 */
int control_adopt(struct control *, int, struct co_error *);

/**
 * control_event(c, nv):
 * Tell ${nv}, which is taken over, to all who subscribed.  Never blocks.
 */
void control_event(struct control *, nvlist_t *);

/**
 * request_event(r, nv, wait):
 * Send an event of the request and destroy ${nv}.  With ${wait}, block while
 * the client does not take what was sent before, else drop it then.  Return
 * false when the client is gone.
 */
bool request_event(const struct request *, nvlist_t *, bool);

/* Let the connection hear of everything from now on, and of what was. */
void request_subscribe(const struct request *);

/* True when nobody waits for the answer any more. */
bool request_gone(const struct request *);

/*
 * One operation: adds its results to ${out} and returns 0, or -1 with ${e}
 * set.
 */
struct op {
	const char	*name;
	int		(*run)(const struct request *, nvlist_t *,
			    struct co_error *);
	bool		 undo;		/* needs an undo store */
	bool		 open;		/* events only, no end */
};

/**
 * op_find(name):
 * The operation, or NULL.
 */
const struct op *op_find(const char *);

/**
 * event_undo(arg, ev):
 * The callback for libundo; ${arg} is the server.
 */
void event_undo(void *, const struct undo_event *);

/**
 * event_new(name):
 * An event of our own.
 */
nvlist_t *event_new(const char *);

/* Deny whatever waits for an answer, as nobody will give one. */
void event_deny_all(struct server *);
void event_forget(const char *);

/* Numbers with a sign travel as they are in memory. */
void nv_add_int(nvlist_t *, const char *, int64_t);

/*
 * Confinement; sandbox_linux.c and sandbox_freebsd.c.
 */

/**
 * sandbox_enter(s, e):
 * Give up everything that serving does not need.  No thread was made yet,
 * and all descriptors are open.
 */
int sandbox_enter(struct server *, struct co_error *);

/**
 * sandbox_as(c, on, e):
 * Before sandbox_enter(): let what is made belong to the user whom we shall
 * become; and no longer.
 */
int sandbox_as(const struct config *, bool, struct co_error *);

/**
 * sandbox_peer(fd, uid):
 * Who is at the other end of the socket ${fd}; -1 if that is not known.  No
 * database of users is asked, as there is none in a sandbox.
 */
int sandbox_peer(int, uid_t *);

/**
 * sandbox_orphan(parent):
 * Die when the process ${parent} does.
 */
void sandbox_orphan(pid_t);

/**
 * sandbox_scratch():
 * A file without name, or -1.
 */
int sandbox_scratch(void);

/**
 * seccomp_enter(s, e):
 * Linux: allow the system calls that serving needs and no other.
 */
int seccomp_enter(struct server *, struct co_error *);

/*
 * The process that stays outside; keeper.c.
 */

/* What the server writes to it. */
#define	KEEPER_OPENED	"o"	/* there is something to clean up */
#define	KEEPER_READY	"r"	/* it serves */
#define	KEEPER_CLEAN	"c"	/* please do it now */

/**
 * keeper_run(child, fd, ready, t, arg, control):
 * Wait for ${child}, pass signals on to it, and clean up when it says so on
 * the pipe ${fd} or is gone.  ${ready} is written to and closed when it
 * serves, unless it is -1.  Return its exit status.
 */
int keeper_run(pid_t, int, int, const struct transport *, const char *,
    const char *);

#endif /* COPPICEFSD_H */
