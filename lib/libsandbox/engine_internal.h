/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The engine from within: what its files know of each other.  All of it is
 * the loop's thread alone, but for what a job does, which touches only what
 * it was given.
 */

#ifndef ENGINE_INTERNAL_H
#define ENGINE_INTERNAL_H

#include <sys/queue.h>

#include "backend.h"
#include "coppice.h"
#include "ctl.h"
#include "net.h"
#include "sandbox.h"
#include "shim.h"
#include "template.h"

#define	BOX_MAX		4096		/* sandboxes */
#define	CALL_WINDOW	(256 * 1024)	/* data that nobody acknowledged */
#define	CHUNK		(64 * 1024)	/* data of one message */
#define	NAME_MAXLEN	63		/* a hostname */
#define	COMMANDS_MAX	256		/* of a sandbox at once */
#define	ENDED_MAX	64		/* ends that are kept */
#define	EXEC_BLOCK	1000		/* ids that a record reserves */
#define	GRACE_MS	2000

struct alarm;
struct ask;
struct command;
struct fsd;
struct link;
struct turn;
struct watch;

/*
 * Sandboxes.
 */
enum box_state {
	BOX_CREATING, BOX_RUNNING, BOX_PAUSED, BOX_STOPPING, BOX_STOPPED,
	BOX_FAILED
};

/* The undo step that all running commands of a sandbox are part of. */
enum step_state {
	STEP_NONE, STEP_BEGINNING, STEP_OPEN, STEP_COMPLETING
};

LIST_HEAD(ask_list, ask);
LIST_HEAD(command_list, command);
STAILQ_HEAD(turn_list, turn);

struct sandbox {
	TAILQ_ENTRY(sandbox) link;
	struct engine	*en;
	nvlist_t	*rec;		/* what restarts need; record.c */
	char		 id[CO_IDSIZE];
	char		*dir, *run;	/* its two folders */
	const struct backend *be;
	enum box_state	 state;
	struct sandbox_run r;		/* while it runs */
	struct net_lease lease;		/* id[0] == 0: no network */

	struct turn_list turns;		/* the first one has begun */
	bool		 gone;		/* destroyed: out of the list */

	struct link	*shim;		/* NULL: not connected */
	void		(*parted)(struct sandbox *);	/* it is to end */
	void		*downing;
	unsigned int	 attempts;	/* to connect, in vain */
	struct alarm	*retry;
	struct ask_list	 asks;

	struct command_list commands;
	nvlist_t	*ended[ENDED_MAX];	/* oldest first */
	size_t		 nended;
	size_t		 notes, notes_full;	/* of "commands" */
	int64_t		 next_exec;
	bool		 settled;	/* commands were looked for */

	struct fsd	*fsd[SANDBOX_SHARES];
	size_t		 nfsd;
	enum step_state	 step_state;
	int64_t		 step;		/* while not STEP_NONE */
	unsigned int	 step_refs;	/* commands that are part of it */
	unsigned int	 step_waits;	/* answers that are awaited */
	struct co_error	 step_error;
	int		 step_exit;

	bool		 expiring;
	bool		 alive;		/* when we looked for it */
	struct shim_stats stats;
	int64_t		 logged;	/* when the log was marked last */
};
TAILQ_HEAD(box_list, sandbox);

/*
 * The engine.
 */
#define	EVENTS_KEPT	256

struct engine {
	uv_loop_t	*loop;
	struct engine_conf c;
	int		 lockfd, statefd, boxesfd;
	struct box_list	 boxes;
	size_t		 nboxes;
	LIST_HEAD(, engine_call) calls;

	struct net_conf	 netconf;
	struct net_service service[64];
	char		*net_text[32];	/* what netconf borrows */
	size_t		 nnet_text;
	struct net	*net;		/* under netlock; NULL: none */
	uv_mutex_t	 netlock;
	bool		 net_up;	/* net_setup() was done */
	struct watch	*dns;
	bool		 dns_busy;
	struct alarm	*dns_retry;

	nvlist_t	*kept[EVENTS_KEPT];
	uint64_t	 seq;

	const struct backend *dflt;	/* the first that works */
	struct alarm	*clock;
	unsigned int	 busy;		/* jobs and handles */
	bool		 closing;
	void		(*then)(void *);
	void		*then_arg;
};

/*
 * Jobs, descriptors and time; engine_loop.c.
 */

/**
 * job_start(en, work, after, arg):
 * Call ${work} in a thread and then ${after} on the loop.
 */
void job_start(struct engine *, void (*)(void *), void (*)(void *), void *);

/* Call ${fn} whenever ${fd} is ready for what watch_want() said. */
struct watch *watch_new(struct engine *, int, void (*)(void *, int), void *);
void watch_want(struct watch *, int);
void watch_free(struct watch *);

/* Call ${fn} once, after ${ms}; alarm_free() may come before or after. */
struct alarm *alarm_new(struct engine *, int64_t, void (*)(void *), void *);
void alarm_free(struct alarm *);

/* One jobs or handle less; the engine may end with it. */
void engine_unbusy(struct engine *);

int64_t engine_wall(void);		/* milliseconds since the epoch */

/*
 * Calls; engine_call.c.
 */
enum op_flags {
	OP_BOX = 1,		/* has an "id" */
	OP_RUNNING = 2,		/* of a sandbox that runs */
	OP_ADMIN = 4,
	OP_AUDIT = 8,
	OP_TURN = 16		/* waits for those before */
};

struct op {
	const char	*name;
	unsigned int	 flags;
	void		(*run)(struct engine_call *);
	void		(*turn)(struct turn *);
};

struct engine_call {
	LIST_ENTRY(engine_call) link;
	struct engine	*en;
	uid_t		 uid;
	bool		 admin;
	char		*who, *owner;
	const struct op	*op;
	nvlist_t	*req;
	int		*fds;
	size_t		 nfds;
	engine_answer_fn *fn;
	void		*arg;
	bool		 held;
	char		 box[CO_IDSIZE];	/* for the audit log */

	/* Set by what works for it; all may be NULL. */
	void		*data;
	void		(*input)(struct engine_call *, const nvlist_t *);
	void		(*resumed)(struct engine_call *);
	void		(*cancel)(struct engine_call *);
};

/* Tables of operations, ended by a row without name. */
extern const struct op ops_box[], ops_exec[], ops_file[], ops_host[],
    ops_life[], ops_share[], ops_template[];

nvlist_t *event_new(const char *);
void call_event(struct engine_call *, nvlist_t *);
/* The end; ${nv} may be NULL, and is taken.  The call is gone. */
void call_done(struct engine_call *, nvlist_t *);
void call_done_fd(struct engine_call *, nvlist_t *, int);
void call_fail(struct engine_call *, const struct co_error *);
void call_fault(struct engine_call *, enum co_code, const char *,
    const char *, ...) CO_PRINTF(4, 5);
struct sandbox *call_box(struct engine_call *, struct co_error *);
int call_take_fd(struct engine_call *, struct co_error *);

/*
 * Turns: what changes a sandbox, one after the other; engine_turn.c.
 */
struct turn {
	STAILQ_ENTRY(turn) link;
	struct sandbox	*sb;
	struct engine_call *call;	/* NULL: nobody waits any more */
	const char	*what;		/* op, for the log */
	nvlist_t	*req;		/* the request, or NULL */
	void		(*run)(struct turn *);
	bool		 begun;
	bool		 cancelled;
	struct co_error	 e;
	void		*data;
	/* turn_save() */
	void		*buf;
	size_t		 len;
	void		(*saved)(struct turn *);
};

/* With ${call} NULL, it is the engine itself that wants ${what}. */
struct turn *turn_add(struct sandbox *, struct engine_call *, const char *,
    void (*)(struct turn *));
void turn_done(struct turn *, nvlist_t *);
void turn_fail(struct turn *, const struct co_error *);
void turn_progress(struct turn *, const char *);
/* Write the record, durably, and go on on the loop; t->e tells how it was. */
void turn_save(struct turn *, void (*)(struct turn *));
void turns_cancel(struct sandbox *);

/*
 * Work for a call that belongs to no sandbox's turn; engine_task.c.
 */
struct task {
	struct engine	*en;
	struct engine_call *call;	/* NULL: nobody waits any more */
	nvlist_t	*req;
	nvlist_t	*answer;	/* for the work to fill in */
	int		 fd;		/* of the call, or -1 */
	void		*data;
	int		(*work)(struct task *, struct co_error *);
	void		(*after)(struct task *);	/* or NULL */
	bool		 failed;
	struct co_error	 e;
	uv_async_t	 async;
	uv_mutex_t	 lock;
	nvlist_t	*events[64];	/* on their way to the loop */
	size_t		 nevents;
};

/*
 * Do ${work} in a thread for the call, with ${data}; then ${after} on the
 * loop, if there is one, which ends the call with task_end().
 */
void task_start(struct engine_call *, int fd, void *data,
    int (*work)(struct task *, struct co_error *),
    void (*after)(struct task *));
void task_end(struct task *);
/* From the thread: an event for the call; taken.  Some may be dropped. */
void task_event(struct task *, nvlist_t *);
void task_progress(void *, const char *, int);

/*
 * Sandboxes; engine_box.c.
 */
struct sandbox *box_new(struct engine *, nvlist_t *);
void box_free(struct sandbox *);
/* Out of the list; freed when its turns are over. */
void box_drop(struct sandbox *);
struct sandbox *box_find(struct engine *, const char *,
    const struct engine_call *, struct co_error *);
bool box_visible(const struct sandbox *, const struct engine_call *);
const char *box_state_name(enum box_state);
const char *box_advice(const struct sandbox *);	/* how it gets to run */
void box_state(struct sandbox *, enum box_state, const char *failure);
nvlist_t *box_show(const struct sandbox *);
bool box_direct(const struct sandbox *);	/* takes descriptors */
const char *box_name(const struct sandbox *);
/* What only a running sandbox has: connections, commands, requests. */
void box_disconnect(struct sandbox *, const struct co_error *);

/* A spec that owns its strings, for a job. */
struct box_spec {
	struct sandbox_spec s;
	char		*text[8 + 2 * SANDBOX_SHARES];
	size_t		 ntext;
	struct net_lease lease;
};
/* Hashes of templates that others use, for template_remove(); or NULL. */
char *box_templates(const struct engine *, const struct sandbox *but);
bool box_template_used(void *, const char *);
struct box_spec *spec_new(const struct sandbox *, struct co_error *);
void spec_free(struct box_spec *);

/*
 * Records; record.c.
 */
void rec_string(nvlist_t *, const char *, const char *);
void rec_number(nvlist_t *, const char *, uint64_t);
void rec_copy(nvlist_t *, const nvlist_t *, const char *);
void rec_limits(const nvlist_t *, struct sandbox_limits *);
void rec_lease_put(nvlist_t *, const struct net_lease *);
bool rec_lease_get(const nvlist_t *, struct net_lease *);
void *record_pack(struct sandbox *, size_t *);
int record_write(const char *, const void *, size_t, bool,
    struct co_error *);
/* Now, and without waiting for the disk: survives us, not the machine. */
int record_save(struct sandbox *, struct co_error *);
int record_load(int, const char *, nvlist_t **, struct co_error *);
int record_file(const char *, const char *, const void *, size_t,
    struct co_error *);

/*
 * Up and down; engine_boot.c and engine_down.c.
 */
enum boot_how {
	BOOT_CREATE, BOOT_CREATE_STOPPED, BOOT_START
};
void boot_begin(struct turn *, enum boot_how);
/* Tell the shim which ports are exposed. */
void box_ports(struct sandbox *);

/*
 * Stop ${sb} by all means and, with ${remove}, take it off the disk; then
 * ${then} is called, with t->e.code CO_OK or what could not be done.
 */
void down_begin(struct turn *, int64_t grace, bool remove,
    void (*then)(struct turn *));
void down_turn_destroy(struct turn *);
void down_turn_stop(struct turn *);
/* It does not run any more, for the reason t->e. */
void down_turn_lost(struct turn *);
void pause_turn(struct turn *);
void trash_sweep(struct engine *);

/* Remove a tree by openat(2) alone. */
int engine_rmtree(int, const char *);

/*
 * After a restart; engine_adopt.c.
 */
int adopt_all(struct engine *, struct co_error *);
void adopt_begin(struct engine *);
/* The shim of an adopted sandbox said hello: look for its commands. */
void adopt_commands(struct sandbox *);

/*
 * The network; engine_net.c.
 */
int net_begin(struct engine *, struct co_error *);
void net_end(struct engine *);
void net_dns_begin(struct engine *);
void net_lock(struct engine *);
void net_unlock(struct engine *);
/* The policy of ${text}, or the default of the configuration. */
int net_policy_of(struct engine *, const char *, char **,
    struct co_error *);
void net_mark(struct engine *, bool up);

/*
 * Creating, of which clone is a kind; op_create.c.  ${rec} has what the new
 * one inherits, or is NULL.
 */
void create_run(struct engine_call *);
void create_like(struct engine_call *, const nvlist_t *rec,
    const char *template);
bool op_name_valid(const char *);
bool op_name_taken(const struct engine *, const char *,
    const struct sandbox *but);
int op_take_ports(nvlist_t *, const nvlist_t *, struct co_error *);
void op_take_limits(nvlist_t *, const nvlist_t *);
void stats_run(struct engine_call *);
void logs_run(struct engine_call *);

/*
 * Events; engine_event.c.
 */
nvlist_t *box_event(struct sandbox *, const char *);
void box_tell(struct sandbox *, nvlist_t *);
void events_free(struct engine *);
void events_run(struct engine_call *);

/*
 * Deadlines; engine_clock.c.
 */
void clock_set(struct engine *);

/*
 * The connection to a shim; engine_link.c.
 */

/*
 * Connect; ${then} is called once, with an error or NULL when both said
 * hello.  Whatever happens later is the link's to deal with.
 */
void link_open(struct sandbox *, int64_t timeout,
    void (*then)(void *, const struct co_error *), void *);
void link_close(struct sandbox *, const struct co_error *);
/* Send what was queued; to be called after every use. */
void link_kick(struct sandbox *);
/* NULL with the error set if it does not answer. */
struct shim *link_shim(struct sandbox *, struct co_error *);
bool link_up(const struct sandbox *);
/* An adopted one, or one whose connection was lost, comes back. */
void link_revive(struct sandbox *);

/*
 * A request to a shim, on behalf of a call or of the engine; engine_ask.c.
 */
struct ask {
	LIST_ENTRY(ask)	 link;
	struct sandbox	*sb;
	struct engine_call *call;	/* NULL: nobody waits any more */
	uint32_t	 number;
	bool		 closed;
	void		*arg;

	/* Any may be NULL; ${end} comes last, result NULL: connection lost */
	void	(*entry)(struct ask *, const struct shim_entry *);
	void	(*event)(struct ask *, enum shim_event, const char *);
	void	(*data)(struct ask *, uint64_t, const void *, size_t, bool);
	void	(*connected)(struct ask *, int);
	void	(*sendable)(struct ask *);
	void	(*process)(struct ask *, const struct shim_process *);
	void	(*stats)(struct ask *, const struct shim_stats *);
	void	(*end)(struct ask *, const struct shim_result *);
};

struct ask *ask_new(struct sandbox *, struct engine_call *);
int ask_request(struct ask *, const struct shim_request *,
    struct co_error *);
int ask_ps(struct ask *, struct co_error *);
/* Have enough; ${end} still comes. */
void ask_close(struct ask *);
void ask_free(struct ask *);
void asks_lost(struct sandbox *);
void ask_error(struct co_error *, const struct sandbox *, const char *,
    const struct shim_result *);
extern const struct shim_handlers link_handlers;

/*
 * Commands; exec.c, exec_out.c, exec_step.c, exec_keep.c.
 */
struct exec_end {
	int		 exit_code;
	int		 signal;
	bool		 timed_out;
	int		 error;
	char		 message[256];
	uint64_t	 output;
	int64_t		 cpu_ms, maxrss;
};

/* Output that was not acknowledged. */
struct piece {
	STAILQ_ENTRY(piece) link;
	enum shim_stream stream;
	uint64_t	 offset;
	size_t		 len, cap;
	char		*data;
};
STAILQ_HEAD(piece_list, piece);

struct command {
	LIST_ENTRY(command) link;
	struct sandbox	*sb;
	int64_t		 id;
	int64_t		 step;		/* 0: none */
	bool		 in_step;	/* counted in step_refs */
	bool		 waiting;	/* for the step before to end */
	bool		 settling;	/* for its own step to end */
	char		*text, *tag;
	nvlist_t	*req;		/* until it is asked for */
	bool		 pty, ephemeral, detach, log;
	bool		 asked, started, ended, running;
	bool		 known;		/* to the shim, when we looked */
	bool		 linked;	/* this connection has heard of it */
	bool		 doomed;	/* its end was asked for early */
	int		 pid;
	int64_t		 began;
	struct exec_end	 end;

	struct engine_call *call;
	struct piece_list out;		/* from freed to got */
	uint64_t	 got;		/* offset: all before was received, */
	uint64_t	 sent;		/* sent to the call, */
	uint64_t	 acked;		/* acknowledged by a call, */
	uint64_t	 freed;		/* and by us to the shim */

	char		*in;		/* stdin that was not taken yet */
	size_t		 inlen;
	bool		 ineof, inclosed;

	/* For commands of the engine itself. */
	void		(*over)(struct command *, void *);
	void		*arg;
};

struct command *command_new(struct sandbox *, int64_t id);
struct command *command_find(struct sandbox *, int64_t);
void command_free(struct command *);
/* Begin a step if need be, and run it. */
void command_begin(struct command *);
void command_run(struct command *);
void command_failed(struct command *, const struct co_error *);
void command_flush(struct command *);
void command_attach(struct command *, struct engine_call *);
void command_feed(struct command *);
void command_over(struct command *);
void command_stop(struct command *, int64_t grace);
void exec_end_add(nvlist_t *, const struct exec_end *);
void commands_lost(struct sandbox *, const struct co_error *);
int64_t command_id(struct sandbox *);
/* Set ids aside if none are left; true: the record is to be saved. */
bool exec_reserve(struct sandbox *);

void exec_started(struct sandbox *, int64_t, int);
void exec_output(struct sandbox *, int64_t, enum shim_stream, uint64_t,
    const void *, size_t);
void exec_room(struct sandbox *, int64_t);
void exec_completed(struct sandbox *, int64_t, const struct shim_exit *);
void exec_process(struct sandbox *, const struct shim_process *);

void out_add(struct command *, enum shim_stream, uint64_t, const void *,
    size_t);
void out_ack(struct command *, uint64_t);
void out_free(struct command *);

bool step_wanted(const struct command *);
void step_join(struct command *);
/* True if the end of the command is to be told when the step ended. */
bool step_leave(struct command *);
void step_settle(struct sandbox *);

/* What survives the engine, but not the machine. */
void keep_save(struct sandbox *);
void keep_load(struct sandbox *);
void keep_begin(const struct command *);
void keep_gone(struct sandbox *, int64_t);
void keep_step(struct sandbox *);
void keep_end(struct command *);
const nvlist_t *keep_find(struct sandbox *, int64_t);
/* The output of an ended command that nobody acknowledged; may be NULL. */
nvlist_t *keep_tail(struct sandbox *, int64_t);
void keep_free(struct sandbox *);

/* The log of a sandbox: what its start command wrote. */
void log_append(struct sandbox *, const void *, size_t);

/* In "log.times": what is at this place of "log", and after, is so old. */
struct log_mark {
	uint64_t	 place;
	uint64_t	 time;		/* ms since the epoch */
};

/*
 * File servers; fsd.c and fsd_start.c.
 */
struct fsd_ask;
typedef void fsd_event_fn(void *, nvlist_t *);
typedef void fsd_done_fn(void *, nvlist_t *, const struct co_error *);

void fsds_open(struct sandbox *);
void fsds_close(struct sandbox *);
bool fsd_alive(const struct fsd *);
bool fsd_writable(const struct fsd *);
const char *fsd_label(const struct fsd *);
struct fsd *fsd_find(struct sandbox *, const char *, struct co_error *);

/*
 * Ask for ${nv}, which is taken; ${event} gets what comes (and destroys it),
 * ${done} the end, with the answer or an error.  Return the request, or NULL
 * after ${done} was called.
 */
struct fsd_ask *fsd_request(struct fsd *, nvlist_t *, const int *, size_t,
    fsd_event_fn *, fsd_done_fn *, void *);
void fsd_forget(struct fsd_ask *);

/*
 * Steps become final a moment after they are complete; call ${fn} when what
 * the server told last is, which may be now.  fsd_unwait() takes it back.
 */
void fsd_expect(struct fsd *, int64_t step);
void fsd_wait(struct fsd *, void (*)(void *), void *);
void fsd_unwait(struct fsd *, void *);
const nvlist_t *const *fsd_guards(const struct fsd *, size_t *);

/* In a job. */
int fsd_start(const struct engine *, const struct sandbox_spec *,
    const nvlist_t *share, const char *options, struct co_error *);
/* End it, after its step ${step} unless that is 0. */
void fsd_stop(const struct engine *, const char *run, const char *label,
    int64_t step);

/* The words of coppice.conf for -o; on the loop. */
char *fsd_options(const struct engine *);

#endif /* ENGINE_INTERNAL_H */
