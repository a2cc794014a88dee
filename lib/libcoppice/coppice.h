/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * libcoppice: what every part of coppice shares and no part should write
 * again: errors with stable codes, the structured log, typed configuration,
 * ids, atomic files, child processes and deadlines.
 *
 * No function here prints to standard output.  Unless a comment says
 * otherwise, functions are safe to call from any thread, strings are UTF-8
 * or bytes that are never interpreted, and a result that must be freed says
 * so.
 */

#ifndef COPPICE_H
#define COPPICE_H

#include <sys/types.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define	CO_PRINTF(f, a)	__attribute__((__format__(__printf__, f, a)))
#else
#define	CO_PRINTF(f, a)
#endif

/*
 * Errors.
 *
 * Every error that leaves coppice by any door has a number that never
 * changes its meaning, a symbol, a message for a person and the thing it is
 * about.  Numbers are grouped by a thousand; co_error.c holds the table, and
 * coppice-errors(7) documents it.
 */
enum co_code {
	CO_OK = 0,

	/* 1000: session */
	CO_ESESSION_NONE = 1001,
	CO_ESESSION_EXISTS = 1002,
	CO_ESESSION_STATE = 1003,

	/* 2000: sandbox */
	CO_ESANDBOX_NOTFOUND = 2001,
	CO_ESANDBOX_STATE = 2002,
	CO_ESANDBOX_LIMIT = 2003,
	CO_ESANDBOX_START = 2004,
	CO_ESANDBOX_EXEC = 2005,
	CO_ESANDBOX_TIMEOUT = 2006,
	CO_ESANDBOX_LOST = 2007,

	/* 3000: network */
	CO_ENET_EXHAUSTED = 3001,
	CO_ENET_INUSE = 3002,
	CO_ENET_BADADDR = 3003,
	CO_ENET_POLICY = 3004,
	CO_ENET_LINK = 3005,
	CO_ENET_RULES = 3006,
	CO_ENET_VERIFY = 3007,
	CO_ENET_REVERTED = 3008,
	CO_ENET_DNS = 3009,
	CO_ENET_UPLINK = 3010,

	/* 4000: undo */
	CO_EUNDO_NOSTEP = 4001,
	CO_EUNDO_BARRIER = 4002,
	CO_EUNDO_VERSION = 4003,
	CO_EUNDO_UNPROTECTED = 4004,
	CO_EUNDO_CORRUPT = 4005,
	CO_EUNDO_BUSY = 4006,
	CO_EUNDO_NOREDO = 4007,
	CO_EUNDO_CONFLICT = 4008,
	CO_EUNDO_STORE = 4009,

	/* 5000: share */
	CO_ESHARE_ROOT = 5001,
	CO_ESHARE_ESCAPE = 5002,
	CO_ESHARE_READONLY = 5003,
	CO_ESHARE_MOUNT = 5004,

	/* 6000: safeguard */
	CO_ESAFEGUARD_DENIED = 6001,
	CO_ESAFEGUARD_TIMEOUT = 6002,
	CO_ESAFEGUARD_UNKNOWN = 6003,

	/* 7000: template */
	CO_ETEMPLATE_NOTFOUND = 7001,
	CO_ETEMPLATE_BAD = 7002,
	CO_ETEMPLATE_BUILD = 7003,

	/* 8000: protocol */
	CO_EPROTO_MALFORMED = 8001,
	CO_EPROTO_TOOBIG = 8002,
	CO_EPROTO_UNKNOWN = 8003,
	CO_EPROTO_VERSION = 8004,
	CO_EPROTO_DENIED = 8005,
	CO_EPROTO_ARGUMENT = 8006,

	/* 9000: system */
	CO_ESYS_ERRNO = 9001,
	CO_ESYS_NOMEM = 9002,
	CO_ESYS_CONFIG = 9003,
	CO_ESYS_UNSUPPORTED = 9004,
	CO_ESYS_PERMISSION = 9005,
	CO_ESYS_NOSPACE = 9006,
	CO_ESYS_CANCELLED = 9007,
	CO_ESYS_DEADLINE = 9008,
	CO_ESYS_PROGRAM = 9009
};

/* One error, owned by the caller, filled in by the callee; no heap. */
struct co_error {
	enum co_code	code;
	int		errnum;		/* errno behind it, or 0 */
	char		what[256];	/* the thing concerned: path, id, key */
	char		message[768];	/* what happened and what to do next */
};

/**
 * co_error_set(e, code, what, fmt, ...):
 * Fill ${e} with ${code}, the thing concerned ${what} (may be NULL) and a
 * message; remember errno when ${code} is CO_ESYS_ERRNO.  Long strings are
 * cut at a character boundary.  ${e} may be NULL.  Return -1 always, so that
 * a failing function can end in "return (co_error_set(...));".
 */
int co_error_set(struct co_error *, enum co_code, const char *,
    const char *, ...) CO_PRINTF(4, 5);

/**
 * co_error_errno(e, errnum, what, fmt, ...):
 * Like co_error_set(), with the code that suits ${errnum} (CO_ESYS_NOMEM,
 * CO_ESYS_NOSPACE, CO_ESYS_PERMISSION or CO_ESYS_ERRNO) and its description
 * appended to the message.
 */
int co_error_errno(struct co_error *, int, const char *,
    const char *, ...) CO_PRINTF(4, 5);

/**
 * co_error_symbol(code):
 * Return the stable symbol of ${code}, such as "ENET_EXHAUSTED", or
 * "UNKNOWN".
 */
const char *co_error_symbol(enum co_code);

/**
 * co_error_category(code):
 * Return the name of ${code}'s range, such as "network".
 */
const char *co_error_category(enum co_code);

/**
 * co_error_summary(code):
 * Return the one-line meaning of ${code} that coppice-errors(7) gives.
 */
const char *co_error_summary(enum co_code);

/**
 * co_error_next(code):
 * Return the code after ${code} in the table (the first one for CO_OK), or
 * CO_OK after the last.
 */
enum co_code co_error_next(enum co_code);

/*
 * Log: one JSON object a line, on a descriptor or to syslog, with the fields
 * timestamp, level, component, message and, where set, request_id, step_id
 * and sandbox_id.  A line is written by one write(2).
 */
enum co_level {
	CO_DEBUG, CO_INFO, CO_WARN, CO_ERROR
};

struct co_log;

/* Correlation fields; a NULL or zero member is left out of the line. */
struct co_ids {
	const char	*request_id;
	const char	*sandbox_id;
	int64_t		step_id;
};

/**
 * co_log_new(fd, ident):
 * Make a log that writes to ${fd} (which stays the caller's), or to syslog
 * as ${ident} when ${fd} is -1.  Return NULL when out of memory.
 */
struct co_log *co_log_new(int, const char *);

/**
 * co_log_level(l, spec, e):
 * Set levels from ${spec}: "info" for all, or a list such as
 * "info,net=debug,undo=warn".  Return -1 with ${e} set, and nothing changed,
 * if a name is not a level.  Not to be called while other threads log.
 */
int co_log_level(struct co_log *, const char *, struct co_error *);

/**
 * co_log_on(l, level, component):
 * Tell whether a line of ${level} from ${component} would be written.
 */
bool co_log_on(const struct co_log *, enum co_level, const char *);

/**
 * co_log(l, level, component, ids, fmt, ...):
 * Write one line.  ${ids} may be NULL; a NULL ${l} writes nothing.  Bytes
 * that are not UTF-8 appear as U+FFFD.  errno is kept.
 */
void co_log(struct co_log *, enum co_level, const char *,
    const struct co_ids *, const char *, ...) CO_PRINTF(5, 6);
void co_vlog(struct co_log *, enum co_level, const char *,
    const struct co_ids *, const char *, va_list) CO_PRINTF(5, 0);

/**
 * co_log_free(l):
 * Free ${l}; NULL is fine.
 */
void co_log_free(struct co_log *);

/*
 * Configuration: UCL, described by a table.  Every key has a type, a range
 * and a default; what the table does not know is refused with file, line,
 * key and what was expected.
 */
enum co_type {
	CO_BOOL, CO_INT, CO_SIZE, CO_SECONDS, CO_STRING, CO_ENUM, CO_LIST
};

/*
 * One key: a dotted path such as "net.jail.range".  For CO_INT, CO_SIZE
 * (bytes, with k/m/g suffixes) and CO_SECONDS (fractions allowed, kept in
 * milliseconds) min and max bound the value.  words lists what a CO_ENUM
 * may be, separated by '|'.  A string must pass check (NULL: anything),
 * which returns NULL or what was expected instead.  dflt is written as in
 * the file; a CO_LIST is separated by spaces there.
 */
struct co_key {
	const char	*name;
	enum co_type	type;
	const char	*dflt;
	int64_t		min;
	int64_t		max;
	const char	*words;
	const char	*(*check)(const char *);
	const char	*help;
};

struct co_conf;

/**
 * co_conf_load(path, keys, nkeys, c, e):
 * Read the file at ${path} (NULL: defaults only) against the ${nkeys} keys
 * of ${keys}, which must outlive the result.  On success store the
 * configuration in ${c} and return 0, else return -1 with ${e} set.
 */
int co_conf_load(const char *, const struct co_key *, size_t,
    struct co_conf **, struct co_error *);

/**
 * co_conf_parse(text, len, name, keys, nkeys, c, e):
 * As co_conf_load(), from ${len} bytes at ${text}; ${name} stands for the
 * file in messages.
 */
int co_conf_parse(const char *, size_t, const char *, const struct co_key *,
    size_t, struct co_conf **, struct co_error *);

/*
 * The value of a key.  Asking for a key that is not in the table, or by
 * another type, is a programming error and aborts.  Results live as long as
 * the configuration.  co_conf_int() serves CO_INT, CO_SIZE and CO_SECONDS
 * (as milliseconds), co_conf_string() serves CO_STRING and CO_ENUM;
 * co_conf_list() returns a NULL-terminated array.
 */
bool co_conf_bool(const struct co_conf *, const char *);
int64_t co_conf_int(const struct co_conf *, const char *);
const char *co_conf_string(const struct co_conf *, const char *);
const char *const *co_conf_list(const struct co_conf *, const char *);

/**
 * co_conf_isset(c, key):
 * Tell whether the file, and not the default, gave ${key}.
 */
bool co_conf_isset(const struct co_conf *, const char *);

void co_conf_free(struct co_conf *);

/*
 * The keys of coppice.conf(5), one table for every program.
 */
extern const struct co_key co_keys[];
extern const size_t co_nkeys;

/*
 * Ids: 128 random bits as 32 lower-case hex digits.
 */
#define	CO_IDLEN	32
#define	CO_IDSIZE	(CO_IDLEN + 1)
#define	CO_SHORTID	12

/**
 * co_random(buf, len):
 * Fill ${buf} with ${len} bytes from the kernel's generator; abort if it
 * has none to give.
 */
void co_random(void *, size_t);

/**
 * co_id_make(id):
 * Store a new random id, NUL-terminated, in ${id}.
 */
void co_id_make(char[CO_IDSIZE]);

/**
 * co_id_valid(s):
 * Tell whether ${s} is 32 lower-case hex digits and nothing else.
 */
bool co_id_valid(const char *);

/*
 * Files.
 */

/**
 * co_file_replace(dirfd, name, data, len, mode, e):
 * Make the file ${name} in the directory ${dirfd} hold exactly the ${len}
 * bytes of ${data}, with ${mode}: write a temporary beside it, fsync,
 * rename, fsync the directory.  A crash leaves the old or the new content.
 */
int co_file_replace(int, const char *, const void *, size_t, mode_t,
    struct co_error *);

/**
 * co_file_read(dirfd, name, max, data, len, e):
 * Read a regular file of at most ${max} bytes into memory that the caller
 * frees, with a NUL after its last byte that ${len} does not count.  A
 * symbolic link is not followed.
 */
int co_file_read(int, const char *, size_t, char **, size_t *,
    struct co_error *);

/**
 * co_file_sweep(dirfd):
 * Remove what a killed co_file_replace() left behind in ${dirfd}; return
 * how many files, or -1.
 */
int co_file_sweep(int);

/**
 * co_mkdirs(path, mode, e):
 * Make the directory ${path} and any missing parents.  Return a descriptor
 * of it, or -1.
 */
int co_mkdirs(const char *, mode_t, struct co_error *);

/**
 * co_write_all(fd, data, len):
 * Write all of it, going on after short writes and EINTR.  Return 0 or an
 * errno.
 */
int co_write_all(int, const void *, size_t);

/*
 * A growing text, all zeros to begin with.  After a failed allocation it
 * swallows everything, and co_buf_take() returns NULL, so that who writes
 * needs no checks.
 */
struct co_buf {
	char	*p;
	size_t	 len, cap;
	bool	 failed;
};

void co_buf_printf(struct co_buf *, const char *, ...) CO_PRINTF(2, 3);
void co_buf_add(struct co_buf *, const void *, size_t);

/**
 * co_buf_take(b):
 * Return the text, which the caller frees, or NULL; ${b} is empty again.
 */
char *co_buf_take(struct co_buf *);

/*
 * Time.  A moment is nanoseconds of the monotonic clock.
 */
typedef int64_t co_moment;
#define	CO_NEVER	INT64_MAX

co_moment co_now(void);

/**
 * co_after(ms):
 * Return the moment ${ms} milliseconds from now; CO_NEVER for a negative
 * ${ms}.
 */
co_moment co_after(int64_t);

/**
 * co_left(m):
 * Return the whole milliseconds until ${m}, rounded up: 0 when it passed,
 * -1 for CO_NEVER, at most INT_MAX; made for poll(2).
 */
int co_left(co_moment);

/**
 * co_time_iso(buf, size, sec, usec):
 * Write the UTC time as 2026-01-31T23:59:59.000001Z; 28 bytes suffice.
 */
void co_time_iso(char *, size_t, int64_t, int32_t);

/*
 * Programs.
 */
struct co_run {
	const char *const *argv;	/* argv[0]: absolute, or in path */
	const char *const *env;		/* NULL: PATH, LANG=C and TZ only */
	const char	*input;		/* written to its stdin; NULL: none */
	size_t		 inputlen;
	size_t		 maxout;	/* keep this much output; 0: 64 KiB */
	co_moment	 deadline;	/* 0: never */
	int		 dir;		/* working directory; 0 or -1: "/" */
};

struct co_result {
	int		 status;	/* exit status, or 128 + signal */
	bool		 timedout;	/* the deadline passed; it was killed */
	char		*out;		/* stdout then stderr, NUL-terminated */
	size_t		 outlen;
	bool		 cut;		/* there was more than maxout */
};

/**
 * co_run(r, res, e):
 * Run a program by argv with closed descriptors, default signals and a
 * clean environment; wait for it; kill it and its process group when the
 * deadline passes.  Return 0 when it ran, whatever its status, and fill in
 * ${res}, whose out the caller frees; -1 when it could not be started.
 */
int co_run(const struct co_run *, struct co_result *, struct co_error *);

#endif /* COPPICE_H */
