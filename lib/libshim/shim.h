/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * libshim: the host's side of the protocol that coppice-shim(8) speaks in
 * every sandbox; coppice-shim(7) has its messages.
 *
 * One struct shim is one connection, over any stream descriptor.  It has no
 * event loop and no thread: wait for shim_fd() to become what shim_want()
 * says, call shim_dispatch(), and handlers are called from within it.  It
 * never blocks and its memory is bounded.  A struct shim may be used by one
 * thread at a time.
 *
 * The other side is an enemy.  What arrives is checked for its form, its
 * size, and whether it answers something that was asked, in the order and
 * amount that was granted.  The first violation ends the connection.  Paths,
 * names and messages that reach a handler are still the sandbox's own words:
 * bytes without NUL, of any encoding, that may say anything.
 *
 * Commands have ids that the caller makes; "started" is only the shim's
 * acknowledgement.  Other requests have numbers that libshim makes, and a
 * cookie of the caller's that comes back with everything about them.
 */

#ifndef SHIM_H
#define	SHIM_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct co_error;
struct shim;

enum shim_stream {
	SHIM_STDOUT, SHIM_STDERR
};

/* What a command's stdin, stdout or stderr is. */
enum shim_stdio {
	SHIM_DEFAULT,	/* stdin: /dev/null; the others: relayed */
	SHIM_PIPE,	/* relayed to and from here */
	SHIM_NULL,	/* /dev/null */
	SHIM_FD,	/* a descriptor of ours, over a unix socket only */
	SHIM_SAME	/* stderr: where stdout goes */
};

enum shim_kind {
	SHIM_FILE, SHIM_DIR, SHIM_LINK, SHIM_FIFO, SHIM_SOCKET, SHIM_CHAR,
	SHIM_BLOCK, SHIM_OTHER
};

enum shim_event {
	SHIM_CREATE, SHIM_WRITE, SHIM_REMOVE, SHIM_RENAME, SHIM_CHMOD,
	SHIM_OVERFLOW	/* events were lost: look for yourself */
};

enum shim_how {
	SHIM_EXIT, SHIM_POWEROFF, SHIM_REBOOT
};

/* What the shim says about itself. */
struct shim_hello {
	int		 version;
	int		 pid;		/* in the sandbox; 0: not said */
	const char	*instance;	/* another one after a restart */
	const char	*platform;	/* "linux", "freebsd" */
};

/* A command to run.  What is zero is as described, or not there. */
struct shim_exec {
	int64_t		 id;		/* unique, of the caller's making */
	const char	*command;	/* for /bin/sh -c; or */
	const char *const *argv;	/* ended by NULL */
	const char	*fallback;	/* if argv[0] is not there */
	const char *const *env;		/* "K=V", ended by NULL; added */
	const char	*cwd;		/* home of the user */
	const char	*user;		/* name, uid or uid:gid; configured */
	const char	*tag;		/* comes back with shim_ps() */
	enum shim_stdio	 io[3];
	int		 fd[3];		/* for SHIM_FD; taken on success */
	bool		 pty;		/* a terminal; io is not looked at */
	int		 rows, cols;	/* 24, 80 */
	int64_t		 timeout_ms;	/* none */
	int64_t		 grace_ms;	/* SIGTERM to SIGKILL; 5000 */
	bool		 until_eof;	/* ends when its output does */
	size_t		 window;	/* unconsumed output; 256 KiB */
};

struct shim_exit {
	int		 exit_code;	/* 128 + signal, 126 and 127 as sh */
	int		 signal;	/* that ended it, or 0 */
	bool		 timed_out;
	int		 error;		/* errno: it was never started */
	const char	*message;	/* why; "" */
	uint64_t	 output;	/* bytes of output in all */
	int64_t		 cpu_ms;
	int64_t		 maxrss;
};

/* A command that is known to the shim. */
struct shim_process {
	int64_t		 id;
	int		 pid;
	bool		 running;
	bool		 pty;
	const char	*command;	/* its beginning, for people */
	const char	*tag;
	uint64_t	 offset;	/* output is kept from here on */
	uint64_t	 stdin_offset;	/* bytes of stdin that arrived */
	int64_t		 age_ms;
};

struct shim_entry {
	const char	*path;		/* below what was listed; or as asked */
	enum shim_kind	 kind;
	int64_t		 size;
	unsigned	 mode;		/* permission bits */
	unsigned	 uid;
	unsigned	 gid;
	const char	*owner;
	const char	*group;
	int64_t		 mtime_ns;
	const char	*target;	/* of a link; "" */
};

struct shim_stats {
	int64_t	seq;
	int64_t	uptime_ms;
	int64_t	procs;			/* commands running */
	int64_t	cpus, cpu_ms;		/* of the machine it sees */
	int64_t	mem_total, mem_used;
	int64_t	disk_total, disk_used;
	int64_t	tcp;			/* connections to the outside */
	int64_t	rx_bytes, tx_bytes;
	int64_t	activity;		/* bytes to and from programs */
};

/* How a request ended. */
struct shim_result {
	int		 error;		/* errno, or 0 */
	const char	*message;	/* ""; or what the error was about */
	uint64_t	 bytes;		/* read or written */
};

/*
 * What happens; a NULL handler lets it pass.  Handlers may call every
 * function of this header but shim_dispatch() and shim_free().  Pointers are
 * good for the call only.  The first argument is the one of shim_new(),
 * (number, cookie) are those of the request.
 */
struct shim_handlers {
	/* Both sides said hello; only now may anything be asked. */
	void	(*ready)(void *, const struct shim_hello *);

	void	(*started)(void *, int64_t id, int pid);

	/*
	 * Output, in order and without gaps, at ${offset} over both streams.
	 * Say shim_consumed() when it needs no memory any more; the command
	 * stops when its window is full.
	 */
	void	(*output)(void *, int64_t id, enum shim_stream,
		    uint64_t offset, const void *, size_t);

	/* More stdin may be sent. */
	void	(*room)(void *, int64_t id);

	/* It ended, or could not be attached to; the id is free again. */
	void	(*completed)(void *, int64_t id, const struct shim_exit *);

	/* Answers to shim_ps() (with its cookie) and shim_attach(). */
	void	(*process)(void *, void *cookie, const struct shim_process *);

	/* SHIM_OP_STAT, _LIST, _READ (first) and _WATCH (when it is on). */
	void	(*entry)(void *, uint32_t number, void *cookie,
		    const struct shim_entry *);
	void	(*event)(void *, uint32_t number, void *cookie,
		    enum shim_event, const char *path);

	/* Of _READ and _DIAL; consumed as output is.  The last has eof. */
	void	(*data)(void *, uint32_t number, void *cookie,
		    uint64_t offset, const void *, size_t, bool eof);

	/* Of _DIAL; the socket itself if that was asked for, else -1. */
	void	(*connected)(void *, uint32_t number, void *cookie, int fd);

	/* More may be sent to _WRITE or _DIAL. */
	void	(*sendable)(void *, uint32_t number, void *cookie);

	/* The last that is said about any request. */
	void	(*reply)(void *, uint32_t number, void *cookie,
		    const struct shim_result *);

	void	(*stats)(void *, void *cookie, const struct shim_stats *);
};

/**
 * shim_new(fd, heartbeat_ms, handlers, arg, e):
 * Begin to talk over ${fd}, which is made non-blocking and closed by
 * shim_free(), and ask for a heartbeat every ${heartbeat_ms} (0: none).
 * ${handlers} must outlive the result.  Return NULL with ${e} set on
 * failure; ${fd} is then untouched.
 */
struct shim *shim_new(int, int64_t, const struct shim_handlers *, void *,
    struct co_error *);
void shim_free(struct shim *);

int shim_fd(const struct shim *);

/**
 * shim_want(s):
 * Return what to wait for on shim_fd(): POLLIN, and POLLOUT if something is
 * left to be sent.
 */
int shim_want(const struct shim *);

/**
 * shim_dispatch(s, revents, e):
 * Send and receive, a bounded amount at a time, and call handlers.
 * ${revents} is what poll(2) found; 0 only sends.  Return 0, or -1 with ${e}
 * set when the connection is over; no handler is called any more, whatever
 * was asked has no answer, and commands go on in the sandbox.
 */
int shim_dispatch(struct shim *, int, struct co_error *);

/**
 * shim_flush(s):
 * Send what the shim takes now, for those who do not want to wait for
 * poll(2) to say that it would.  No handler is called; what goes wrong is
 * told by the next shim_dispatch().
 */
void shim_flush(struct shim *);

/**
 * shim_ready(s):
 * Tell whether the shim said hello and the connection stands.
 */
bool shim_ready(const struct shim *);

/*
 * Commands.  These return 0, or -1 with the error set: CO_EPROTO_ARGUMENT
 * for what can't be sent, CO_ESANDBOX_STATE before hello and after the end,
 * CO_ESANDBOX_LIMIT when the shim does not read what it was already sent.
 */
int shim_exec(struct shim *, const struct shim_exec *, struct co_error *);

/**
 * shim_attach(s, id, offset, e):
 * Follow the command ${id}, started over an earlier connection, from the
 * ${offset}th byte of its output on, which must not have been consumed, or
 * from the oldest there is if ${offset} is -1.
 */
int shim_attach(struct shim *, int64_t, int64_t, struct co_error *);

/**
 * shim_consumed(s, id, n):
 * ${n} more bytes of the output of ${id} need no memory any more.  Unknown
 * ids are fine.
 */
void shim_consumed(struct shim *, int64_t, size_t);

/**
 * shim_stdin(s, id, data, len, eof):
 * Send to the stdin of ${id}.  Return how many bytes were taken, which may
 * be 0; the rest after "room".  ${eof} counts when all were taken.  Return
 * -1 if there is no such command, or its stdin has ended.
 */
ssize_t shim_stdin(struct shim *, int64_t, const void *, size_t, bool);

/* End it: SIGTERM and, after grace_ms (-1: 5000), SIGKILL, to its session. */
int shim_cancel(struct shim *, int64_t, int64_t, struct co_error *);

/* Send a signal to its session, or to the process alone. */
int shim_signal(struct shim *, int64_t, int, bool, struct co_error *);
int shim_resize(struct shim *, int64_t, int, int, struct co_error *);

/* Ask for all commands that the shim knows. */
int shim_ps(struct shim *, void *, uint32_t *, struct co_error *);

/*
 * Other requests.
 */
enum shim_op {
	SHIM_OP_STAT,		/* path; follow */
	SHIM_OP_LIST,		/* path; depth */
	SHIM_OP_READ,		/* path; offset, length, fd */
	SHIM_OP_WRITE,		/* path; mode, append, atomic, parents, fd */
	SHIM_OP_MKDIR,		/* path; mode, parents */
	SHIM_OP_MOVE,		/* path, to */
	SHIM_OP_REMOVE,		/* path; recursive */
	SHIM_OP_CHMOD,		/* path, mode */
	SHIM_OP_WATCH,		/* path; recursive; until shim_close() */
	SHIM_OP_DIAL,		/* port; want_fd */
	SHIM_OP_PORTS,		/* ports, nports: behind the port proxy */
	SHIM_OP_STATS,
	SHIM_OP_CONFIGURE	/* ip, prefix, gw, dns, env, ... */
};

struct shim_request {
	enum shim_op	 op;
	const char	*path;		/* relative ones to the user's home */
	const char	*to;
	const char	*user;		/* who does it; configured, or root */
	int		 mode;		/* 0: 0644, 0777; as it was */
	int		 depth;		/* 1 */
	int64_t		 offset;
	int64_t		 length;	/* 0: to the end */
	bool		 follow, append, atomic, parents, recursive;
	bool		 want_fd;
	/*
	 * Where _READ writes the bytes, or _WRITE reads them from until it
	 * ends (not with atomic, as an end may be an accident), instead of
	 * data, over a unix socket only; taken on success.
	 */
	bool		 has_fd;
	int		 fd;
	int		 port;
	const int64_t	*ports;
	size_t		 nports;
	/* SHIM_OP_CONFIGURE; user is then the default for commands */
	const char	*interface;	/* the first that is not loopback */
	const char	*ip, *gw;
	const char *const *dns;		/* ended by NULL */
	const char *const *env;		/* "K=V", for all commands */
	const char	*hostname;
	const char	*cwd;
	int		 prefix;	/* 24 */
	int		 mtu;
};

/**
 * shim_request(s, r, cookie, number, e):
 * Ask for ${r}; store the request's number in ${number} unless it is NULL.
 * Errors as for commands.
 */
int shim_request(struct shim *, const struct shim_request *, void *,
    uint32_t *, struct co_error *);

/**
 * shim_send(s, number, data, len, eof):
 * Send to a _WRITE or _DIAL; as shim_stdin().  Nothing is sent to a dialled
 * port before it is connected.
 */
ssize_t shim_send(struct shim *, uint32_t, const void *, size_t, bool);

/* As shim_consumed(), for the data of a request. */
void shim_request_consumed(struct shim *, uint32_t, size_t);

/* An entry or event of a request was dealt with. */
void shim_entry_consumed(struct shim *, uint32_t);

/* Have enough of a request; its reply still comes, with ECANCELED. */
int shim_close(struct shim *, uint32_t, struct co_error *);

/* Tell programs that step_id was rolled back. */
int shim_rollback(struct shim *, int64_t, struct co_error *);

/* End the sandbox; grace as for shim_cancel(). */
int shim_shutdown(struct shim *, int64_t, enum shim_how, struct co_error *);

#endif /* SHIM_H */
