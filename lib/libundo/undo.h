/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * libundo: the write interceptor.  A file server tells it of every mutation
 * of one folder before it happens; it keeps, per step, a journal of inverse
 * operations in a store on disk, and can play any of the last steps back,
 * exactly, also after the process was killed at any instruction.
 *
 * It knows nothing of protocols and has no event loop and no thread of its
 * own.  All functions are thread-safe.  Paths are bytes, relative to the
 * root, without "." or ".." components, never with a leading slash; "" is
 * the root itself.  Symbolic links are never followed.
 *
 * Functions on the path of a file operation return 0 or an errno that the
 * server hands to its client.  Functions of management return 0, or -1 with
 * a struct co_error filled in.
 */

#ifndef UNDO_H
#define UNDO_H

#include <sys/types.h>
#include <sys/stat.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct co_error;
struct undo;

/* The format that this library writes; the store's file "version". */
#define	UNDO_VERSION	1

/*
 * Opening and closing.
 */

/* What to do when the folder changes behind the server's back. */
enum undo_policy {
	UNDO_BARRIER,		/* stamp a barrier that rollback refuses */
	UNDO_WARN,		/* tell, and let rollback cross */
	UNDO_LOCK		/* as a barrier; the server locks the folder */
};

/* How much survives: the death of the process, or of the machine. */
enum undo_durability {
	UNDO_PROCESS, UNDO_POWER
};

/* Zero in a member that has a default means that default. */
struct undo_limits {
	uint64_t	max_log_size;		/* 1 GiB */
	uint32_t	max_step_count;		/* 100 */
	uint64_t	max_single_step_size;	/* 200 MiB */
};

/* Thresholds of the safeguards; 0 turns one off. */
struct undo_safeguards {
	uint32_t	deletes;	/* hold the n-th delete of a step */
	uint32_t	overwrites;	/* hold the n-th overwrite of a ... */
	uint64_t	overwrite_size;	/* ... file this large; 0: 1 MiB */
	uint32_t	renames_over;	/* hold the n-th rename over a file */
	uint32_t	timeout_ms;	/* then deny; 0: 30 000 */
	uint32_t	max_held;	/* then ENOSPC; 0: 10 000 */
};

struct undo_event;
typedef void undo_event_fn(void *, const struct undo_event *);

struct undo_options {
	struct undo_limits	 limits;
	struct undo_safeguards	 safeguards;
	enum undo_policy	 policy;
	enum undo_durability	 durability;
	uint32_t		 quiet_ms;	/* before a completed step is
						   final; 0: 100 */
	uint32_t		 ambient_ms;	/* quiet that ends an ambient
						   step; 0: 5 000 */
	undo_event_fn		*event;		/* may be NULL */
	void			*event_arg;
};

/**
 * undo_open(rootfd, store, o, u, e):
 * Open the undo store in the directory ${store} (made with mode 0700 when
 * missing) for the folder ${rootfd}, which is duplicated.  An unfinished
 * step is rolled back and an unfinished rollback or redo is finished before
 * this returns, each with a UNDO_EV_RECOVERY event.  A store of another
 * version opens too, but keeps its history untouched and refuses undo with
 * CO_EUNDO_VERSION, and mutations pass unrecorded, until undo_discard().
 * A store that another process has open is refused with CO_EUNDO_BUSY; one
 * that lies inside the folder, with CO_EUNDO_STORE.
 */
int undo_open(int, const char *, const struct undo_options *, struct undo **,
    struct co_error *);

/**
 * undo_close(u):
 * Finish a completed or ambient step, leave an open one as it is (the next
 * undo_open() rolls it back), and free ${u}.  NULL is fine.  No hook may be
 * in flight.
 */
void undo_close(struct undo *);

/**
 * undo_configure(u, limits, safeguards):
 * Change limits and thresholds from the next operation on; NULL keeps.
 */
void undo_configure(struct undo *, const struct undo_limits *,
    const struct undo_safeguards *);

/**
 * undo_tick(u):
 * Do what time asks for: finalize a quiet step, close a quiet ambient step,
 * deny a safeguard that was not answered.  Return the milliseconds until it
 * wants to be called again, or -1 for not before the next event.
 */
int undo_tick(struct undo *);

/*
 * Steps.  Ids come from the caller and are positive and growing; ambient
 * steps get -1, -2, ... from the library.
 */
enum undo_kind {
	UNDO_COMMAND, UNDO_AMBIENT, UNDO_API
};

/**
 * undo_step_begin(u, id, kind, command, e):
 * Open the step ${id}; mutations belong to it until it completes.
 * ${command} is text for people.  An ambient step in progress is closed
 * first.  Fails with CO_EUNDO_BUSY while another step is open.
 */
int undo_step_begin(struct undo *, int64_t, enum undo_kind, const char *,
    struct co_error *);

/**
 * undo_step_complete(u, id, exit, e):
 * The command of step ${id} ended with ${exit}.  The step still takes the
 * mutations that arrive until none was in flight for the quiescence window;
 * then undo_tick() (or the next begin, rollback or close, which wait for
 * mutations in flight) makes it final and emits UNDO_EV_STEP.  If no
 * mutation was tried it leaves nothing behind, and a redo stays possible.
 */
int undo_step_complete(struct undo *, int64_t, int, struct co_error *);

/**
 * undo_step_abandon(u, id, e):
 * Roll the open step ${id} back and forget it.
 */
int undo_step_abandon(struct undo *, int64_t, struct co_error *);

/**
 * undo_step_current(u):
 * Return the id of the step that takes mutations now; 0 for none.
 */
int64_t undo_step_current(struct undo *);

/*
 * Hooks.  The server calls undo_pre_*() right before a mutation, performs
 * it, and calls undo_done() with what came of it.  From the one to the other
 * the mutation is in flight: steps do not end, and rollbacks do not start.
 *
 * A hook may block: while a rollback runs, or while a safeguard asks.  It
 * returns 0 when the mutation may proceed, ENOSPC or EDQUOT when it can't be
 * recorded, EPERM when a safeguard denied it, or another errno; after an
 * error the mutation must not happen and undo_done() is not called.
 */

/*
 * What is about to change.  path names it in journals and messages.  dirfd
 * and name are where it is in fact, the parent's descriptor and the last
 * component; dirfd -1 means from the root by path.  fd is a descriptor of
 * the object itself, readable if its content is to be captured, or -1.
 * Whatever the server acts on, it passes here, so that what is captured is
 * what is changed.
 *
 * An open file without a name (unlinked, or O_TMPFILE) has path NULL and
 * only fd.
 *
 * seen, when not NULL, is a word of the server's, zero at first, one per
 * inode object: the library remembers there what it has captured, and a
 * second write in the same step costs no system call.
 */
struct undo_ref {
	const char	*path;
	int		 dirfd;
	const char	*name;
	int		 fd;
	uint64_t	*seen;
};

/* A mutation in flight; lives on the server's stack, nothing to free. */
struct undo_op {
	int64_t		 step;
	uint32_t	 record;
	uint32_t	 flags;
	uint64_t	 cookie[2];
};

/* Content: the file keeps its name and identity, its bytes may change. */
int undo_pre_write(struct undo *, struct undo_op *, const struct undo_ref *);
int undo_pre_open_trunc(struct undo *, struct undo_op *,
    const struct undo_ref *);
int undo_pre_fallocate(struct undo *, struct undo_op *,
    const struct undo_ref *);
int undo_pre_copy_range(struct undo *, struct undo_op *,
    const struct undo_ref *);

/*
 * Attributes.  ${truncate} tells that the size will change too, which
 * captures the content.
 */
int undo_pre_setattr(struct undo *, struct undo_op *,
    const struct undo_ref *, bool);
int undo_pre_xattr(struct undo *, struct undo_op *, const struct undo_ref *);

/*
 * New names.  ${ref} is the name to be made, fd -1; nothing is there yet (a
 * create that would truncate an existing file is undo_pre_open_trunc()).
 * For a link, ${target} is the existing file.
 */
int undo_pre_create(struct undo *, struct undo_op *, const struct undo_ref *);
int undo_pre_mkdir(struct undo *, struct undo_op *, const struct undo_ref *);
int undo_pre_mknod(struct undo *, struct undo_op *, const struct undo_ref *);
int undo_pre_symlink(struct undo *, struct undo_op *,
    const struct undo_ref *);
int undo_pre_link(struct undo *, struct undo_op *, const struct undo_ref *,
    const struct undo_ref *);

/*
 * Names that go away.  On success *${taken} tells that the library has
 * already removed the name, by moving the file into its store, and that the
 * server must not do it again, only report success.
 */
int undo_pre_unlink(struct undo *, struct undo_op *, const struct undo_ref *,
    bool *);
int undo_pre_rmdir(struct undo *, struct undo_op *, const struct undo_ref *);

/* ${flags} are those of undo_rename_flags. */
enum undo_rename_flags {
	UNDO_NOREPLACE = 1, UNDO_EXCHANGE = 2
};
int undo_pre_rename(struct undo *, struct undo_op *, const struct undo_ref *,
    const struct undo_ref *, unsigned int);

/**
 * undo_done(u, op, error):
 * The mutation announced by ${op} has happened (${error} 0), or failed with
 * ${error} and left things as they were.
 */
void undo_done(struct undo *, struct undo_op *, int);

/**
 * undo_kept_links(u, dev, ino):
 * How many hard links of this inode are in the store and not in the folder;
 * a server subtracts them from the link count that it reports.
 */
uint32_t undo_kept_links(struct undo *, uint64_t, uint64_t);

/*
 * Rollback and redo.
 */
struct undo_progress {
	int64_t		step;
	uint64_t	done;		/* journal entries, of ... */
	uint64_t	total;
};
typedef void undo_progress_fn(void *, const struct undo_progress *);

/**
 * undo_rollback(u, n, force, progress, arg, e):
 * Undo the newest ${n} steps (ambient ones count), newest first; each leaves
 * the history and can be redone.  Refused as a whole, before anything
 * changed, with CO_EUNDO_NOSTEP, CO_EUNDO_BARRIER (unless ${force}),
 * CO_EUNDO_UNPROTECTED, CO_EUNDO_VERSION or CO_EUNDO_BUSY (a step is open).
 * Mutations that arrive meanwhile wait.  ${progress} may be NULL.
 */
int undo_rollback(struct undo *, unsigned int, bool, undo_progress_fn *,
    void *, struct co_error *);

/**
 * undo_redo(u, n, progress, arg, e):
 * Apply the ${n} steps rolled back last again; they return to the history.
 * CO_EUNDO_NOREDO when there are not so many: any mutation since the
 * rollback ends the possibility.
 */
int undo_redo(struct undo *, unsigned int, undo_progress_fn *, void *,
    struct co_error *);

/**
 * undo_discard(u, e):
 * Throw all history away and begin anew in the current version.
 */
int undo_discard(struct undo *, struct co_error *);

/**
 * undo_barrier(u, paths, n, e):
 * The caller saw ${n} paths change from outside.  Stamps a barrier (or, by
 * policy, only warns); consecutive ones with no step between are merged.
 */
int undo_barrier(struct undo *, const char *const *, size_t,
    struct co_error *);

/*
 * History, without touching the folder.
 */
enum undo_change {
	UNDO_CREATED, UNDO_MODIFIED, UNDO_DELETED, UNDO_RENAMED, UNDO_META
};

struct undo_path {
	enum undo_change change;
	mode_t		 type;		/* S_IFMT bits */
	const char	*path;
	const char	*from;		/* UNDO_RENAMED: the old name */
	uint64_t	 before;	/* size before the step; 0 if none */
	uint64_t	 after;		/* size after the step; 0 if none */
};

struct undo_step {
	int64_t		 id;
	enum undo_kind	 kind;
	const char	*command;
	int64_t		 began_us;	/* since the epoch */
	int64_t		 ended_us;
	int		 exit;
	bool		 protected;	/* can be rolled back */
	uint64_t	 bytes;		/* that it takes in the store */
	uint64_t	 paths;		/* how many it affected */
};

struct undo_stamp {
	uint64_t	 id;		/* barrier_id, growing */
	int64_t		 at_us;
	const char *const *paths;
	size_t		 npaths;
};

/*
 * An entry is a step or a barrier; the other pointer is NULL.  What it
 * points to lives until the callback returns.  A callback that returns
 * non-zero ends the walk, and its value is returned.
 */
typedef int undo_history_fn(void *, const struct undo_step *,
    const struct undo_stamp *);
typedef int undo_path_fn(void *, const struct undo_path *);

/**
 * undo_history(u, fn, arg, e):
 * Call ${fn} for every step and barrier, newest first; undo_redoable()
 * lists what a redo would bring back, next one first.
 */
int undo_history(struct undo *, undo_history_fn *, void *, struct co_error *);
int undo_redoable(struct undo *, undo_history_fn *, void *,
    struct co_error *);

/**
 * undo_changes(u, id, fn, arg, e):
 * Call ${fn} for every path that the step ${id} affected, sorted by path.
 */
int undo_changes(struct undo *, int64_t, undo_path_fn *, void *,
    struct co_error *);

/**
 * undo_diff(u, id, fd, max, e):
 * Write what the step ${id} changed to ${fd}: a unified diff where both
 * sides are text and under ${max} bytes (0: 1 MiB), else a line of summary.
 * The other side is the state after the step, taken from later preimages
 * where later steps changed the file again, else from the folder.
 */
int undo_diff(struct undo *, int64_t, int, uint64_t, struct co_error *);

/*
 * Events.  Called without locks held, from the thread in which they arise;
 * the callback may call any function but undo_close().
 */
enum undo_event_type {
	UNDO_EV_STEP,		/* a step became final */
	UNDO_EV_RECOVERY,	/* an unfinished step was rolled back */
	UNDO_EV_DAMAGE,		/* part of the store could not be read */
	UNDO_EV_EVICTED,	/* an old step was dropped for space */
	UNDO_EV_UNPROTECTED,	/* the step grew too large to be kept */
	UNDO_EV_BARRIER,	/* external modification */
	UNDO_EV_VERSION,	/* the store is of another version */
	UNDO_EV_SAFEGUARD,	/* an operation is held, waiting for answer */
	UNDO_EV_ROLLBACK,	/* a step was rolled back */
	UNDO_EV_REDO		/* a step was applied again */
};

enum undo_guard {
	UNDO_GUARD_DELETE, UNDO_GUARD_OVERWRITE, UNDO_GUARD_RENAME
};

struct undo_event {
	enum undo_event_type type;
	int64_t		 step;
	uint64_t	 count;		/* paths, or operations counted */
	const char	*message;	/* for people */
	const char	*safeguard;	/* UNDO_EV_SAFEGUARD: its id */
	enum undo_guard	 guard;
	const char *const *paths;	/* samples */
	size_t		 npaths;
};

/**
 * undo_safeguard_answer(u, id, allow, e):
 * Answer the safeguard ${id}.  Allowed: held operations proceed, and that
 * guard does not ask again in this step.  Denied: the step is rolled back;
 * held and later operations of the step fail with EPERM until it completes.
 */
int undo_safeguard_answer(struct undo *, const char *, bool,
    struct co_error *);

/*
 * Statistics for the control socket.
 */
struct undo_stats {
	uint64_t	steps;
	uint64_t	store_bytes;
	uint64_t	inflight;
	uint64_t	held;
	uint64_t	captured_bytes;	/* since open */
	uint64_t	kept;		/* names moved instead of copied */
	uint64_t	cloned;		/* contents captured by reflink */
	uint64_t	copied;		/* contents captured by copying */
	bool		reflinks;	/* the filesystem clones */
	bool		same_fs;	/* the store is on the folder's fs */
};
void undo_stats(struct undo *, struct undo_stats *);

#endif /* UNDO_H */
