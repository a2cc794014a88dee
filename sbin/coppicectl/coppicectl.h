/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of coppicectl share: the table of commands, requests to
 * coppiced and how things are printed.  A command is a row of the table in
 * commands.c and a function in the file of its noun.
 */

#ifndef COPPICECTL_H
#define COPPICECTL_H

#include <sys/types.h>
#include <sys/nv.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coppice.h"
#include "ctl.h"

#define	COPPICE_VERSION	"0.1"
#define	CONTROL_SOCKET	"/var/run/coppice/control"

/* What the program exits with; coppicectl(8) has them too. */
#define	EXIT_FAILED	1		/* the request failed */
#define	EXIT_USAGE	2		/* it was not understood */
#define	EXIT_TIMEDOUT	124		/* exec: its time was over */
#define	EXIT_OURS	125		/* exec: it failed before or beside */
#define	EXIT_CANTRUN	126		/* exec: it can't be run */
#define	EXIT_NOTFOUND	127		/* exec: there is no such program */

/* A command's name has one word, or two: those of "net" are "net show"... */
struct command {
	const char	*name;
	int		(*run)(int, char **);
	const char	*usage;		/* as the manual's SYNOPSIS has it */
	const char	*summary;
	bool		 exec;		/* errors exit with EXIT_OURS */
};

extern const struct command commands[];
extern const size_t ncommands;

/* The one that runs; set before its function is called. */
extern const struct command *command;

/* main.c */

/**
 * usage():
 * Print how the command that runs is used, and exit.
 */
_Noreturn void usage(void);

/**
 * fail(fmt, ...):
 * Print a message and exit as the command that runs does on errors.
 */
_Noreturn void fail(const char *, ...) CO_PRINTF(1, 2);

/**
 * failure():
 * Return what the command that runs exits with on errors.
 */
int failure(void);

/**
 * number(s, what, min, max):
 * Return the number that ${s}, the argument of ${what}, says, or exit.
 */
uint64_t number(const char *, const char *, uint64_t, uint64_t);

/**
 * size(s, what), seconds(s, what):
 * The same for bytes with a suffix k, m, g or t (powers of 1024), and for
 * seconds with s, m, h or d, as milliseconds; "never" is 0.
 */
uint64_t size(const char *, const char *);
uint64_t seconds(const char *, const char *);

/* ask.c */

extern const char *control_socket;

typedef void event_fn(void *, const nvlist_t *);

/**
 * request(op, id):
 * Return a new request ${op}, about the sandbox ${id} unless that is NULL.
 */
nvlist_t *request(const char *, const char *);

/**
 * connection():
 * Return the connection to coppiced; exit if there is none to be had.
 */
struct ctl *connection(void);

/**
 * ask(nv, fn, arg, answer):
 * Send ${nv}, which is destroyed, and wait for its end; ${fn} is called for
 * its events.  Store the answer, unless ${answer} is NULL.  Return 0, or -1
 * after printing what went wrong.
 */
int ask(nvlist_t *, event_fn *, void *, nvlist_t **);

/**
 * ask_with(nv, fd, fn, arg, answer):
 * The same, with the descriptor ${fd}, unless it is -1, beside the request.
 */
int ask_with(nvlist_t *, int, event_fn *, void *, nvlist_t **);

/**
 * ask_quietly(nv, fn, arg, answer, e):
 * The same, but what went wrong is stored in ${e} and not printed.
 */
int ask_quietly(nvlist_t *, event_fn *, void *, nvlist_t **,
    struct co_error *);

/**
 * ask_feeding(nv, feed, fn, arg):
 * The same, and ${feed} is called with ${arg} and the request's number
 * whenever there is room for more input; it returns whether it sent any.
 */
typedef bool feed_fn(void *, uint64_t);
int ask_feeding(nvlist_t *, feed_fn *, event_fn *, void *);

/**
 * tell(nv, to), acknowledge(event, len):
 * Send ${nv}, which is destroyed, to the request ${to} that goes on; say
 * that ${len} bytes of the data of ${event} were dealt with.
 */
void tell(nvlist_t *, uint64_t);
void acknowledge(const nvlist_t *, size_t);

/**
 * complain(id, e):
 * Print the error ${e} of a request about the sandbox ${id} (or NULL), and
 * what to do next.
 */
void complain(const char *, const struct co_error *);

/**
 * strings(list, n, s):
 * Append ${s} to the array ${list} of ${n} strings; exit if out of memory.
 */
void strings(const char ***, size_t *, const char *);
void add_strings(nvlist_t *, const char *, const char **, size_t);

/* print.c */

/**
 * safe(s):
 * Return ${s} with everything that a terminal or a document could take for
 * something else made visible: control characters, bytes that are not
 * UTF-8.  The result lives until 32 more were made.
 */
const char *safe(const char *);
const char *safe_bytes(const void *, size_t);

/* Strings of answers, made safe; "" if there is none. */
const char *text(const nvlist_t *, const char *);

/* For columns of text; they live as long as safe()'s. */
const char *human(uint64_t);		/* bytes: "1.5G" */
const char *ago(uint64_t);		/* ms since the epoch: "3m" */
const char *date(uint64_t);		/* ms since the epoch, local time */

/**
 * progress(fmt, ...), progress_end():
 * Say on stderr what is going on, in one line that replaces itself, if it
 * is a terminal; take the line away.
 */
void progress(const char *, ...) CO_PRINTF(1, 2);
void progress_end(void);

/**
 * show_progress(arg, nv):
 * An event_fn for "progress" events.
 */
void show_progress(void *, const nvlist_t *);

/**
 * print_box(nv):
 * Print all that a "show" answer says.
 */
void print_box(const nvlist_t *);

/**
 * print_id(nv):
 * Print the id of a "show" answer as text, all of it in a document.
 */
void print_id(const nvlist_t *);

/* relay.c */

/* A request that goes on: a command, a long change of a share. */
struct relay {
	nvlist_t	*request;
	const char	*id;		/* of the sandbox */
	bool		 input;		/* stdin goes to the command */
	bool		 raw;		/* ... from a terminal in raw mode */
	bool		 ask;		/* safeguards ask on the terminal */
	event_fn	*fn;		/* for other events, or NULL */
	void		*arg;
	nvlist_t	*answer;	/* stored */
	uint64_t	 exec;		/* stored when it started */
	bool		 detached;	/* stored: the user left it running */
};

/**
 * relay(r, e):
 * Run the request of ${r}, which is destroyed, until its end, and move
 * input and output.  Return 0, or -1 with ${e} set.
 */
int relay(struct relay *, struct co_error *);

/* term.c */

/**
 * term_raw(), term_restore():
 * Put the terminal at stdin in raw mode; give it back as it was, which also
 * happens at exit and when a signal ends the program.
 */
int term_raw(void);
void term_restore(void);

/**
 * term_size(rows, cols):
 * Store the size of the terminal; false if there is none.
 */
bool term_size(uint64_t *, uint64_t *);

/**
 * term_signals():
 * From now on, return by a descriptor, a byte each, the signals that ask us
 * to do something.
 */
int term_signals(void);

/* The commands. */
int cmd_attach(int, char **);
int cmd_clone(int, char **);
int cmd_cp(int, char **);
int cmd_create(int, char **);
int cmd_destroy(int, char **);
int cmd_diff(int, char **);
int cmd_doctor(int, char **);
int cmd_events(int, char **);
int cmd_exec(int, char **);
int cmd_help(int, char **);
int cmd_history(int, char **);
int cmd_key_create(int, char **);
int cmd_key_list(int, char **);
int cmd_key_revoke(int, char **);
int cmd_kill(int, char **);
int cmd_list(int, char **);
int cmd_logs(int, char **);
int cmd_net_set(int, char **);
int cmd_net_setup(int, char **);
int cmd_net_show(int, char **);
int cmd_net_teardown(int, char **);
int cmd_pause(int, char **);
int cmd_ps(int, char **);
int cmd_redo(int, char **);
int cmd_rename(int, char **);
int cmd_resume(int, char **);
int cmd_safeguard_allow(int, char **);
int cmd_safeguard_deny(int, char **);
int cmd_safeguard_list(int, char **);
int cmd_safeguard_set(int, char **);
int cmd_shell(int, char **);
int cmd_show(int, char **);
int cmd_snapshot(int, char **);
int cmd_start(int, char **);
int cmd_stop(int, char **);
int cmd_template_build(int, char **);
int cmd_template_export(int, char **);
int cmd_template_import(int, char **);
int cmd_template_list(int, char **);
int cmd_template_remove(int, char **);
int cmd_timeout(int, char **);
int cmd_top(int, char **);
int cmd_undo(int, char **);
int cmd_version(int, char **);

#endif /* COPPICECTL_H */
