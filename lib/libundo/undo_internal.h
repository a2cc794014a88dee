/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of libundo share.  Read undo.h first.
 *
 * A wal is a step being recorded (wal/in_progress); a step is one that is
 * finished, in steps/ or, rolled back, in redo/.  One lock guards all that
 * is in memory; it is not held while file content is copied.  The gate keeps
 * mutations out while a step ends or a rollback runs; slots keep mutations
 * that touch the same names or inodes apart from the record to the deed.
 */

#ifndef UNDO_INTERNAL_H
#define UNDO_INTERNAL_H

#include <sys/queue.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "coppice.h"
#include "journal.h"
#include "os.h"
#include "sys.h"
#include "undo.h"

#define	OBJ_NAMESIZE	32
#define	OBJ_PATHSIZE	(OBJ_NAMESIZE + 256)

/*
 * Tables of inodes (inotab.c).  The first one is a set with flags, for the
 * step being recorded; the second one maps an inode to where the store keeps
 * links of it.
 */
#define	INO_FRESH	0x1u	/* made in this step */
#define	INO_CONTENT	0x2u	/* content is captured */
#define	INO_META	0x4u	/* attributes are captured */
#define	INO_TIME	0x8u	/* a directory, its mtime is captured */
#define	INO_ALL		0xfu

struct ino_entry {
	uint64_t	ino;
	uint32_t	dev;
	uint32_t	flags;
};

struct inotab {
	struct ino_entry *slot;
	size_t		 size;
	size_t		 used;
};

struct kept_entry {
	uint64_t	ino;
	uint32_t	dev;
	uint32_t	obj;		/* 0: empty */
	uint64_t	place;		/* of a wal or step */
};

struct kepttab {
	struct kept_entry *slot;
	size_t		 size;
	size_t		 used;
};

uint32_t inotab_get(const struct inotab *, uint64_t, uint64_t);
int inotab_add(struct inotab *, uint64_t, uint64_t, uint32_t);
void inotab_del(struct inotab *, uint64_t, uint64_t);
void inotab_free(struct inotab *);

int kept_add(struct kepttab *, uint64_t, uint64_t, uint64_t, uint32_t);
void kept_del(struct kepttab *, uint64_t, uint64_t, uint64_t, uint32_t);
uint32_t kept_count(const struct kepttab *, uint64_t, uint64_t);
/* The n-th place of an inode; false when there are not so many. */
bool kept_find(const struct kepttab *, uint64_t, uint64_t, uint32_t,
    uint64_t *, uint32_t *);
void kept_free(struct kepttab *);

/*
 * What a wal is for, in its BEGIN record.
 */
enum purpose {
	FOR_STEP, FOR_ROLLBACK, FOR_REDO
};

/* What history tells of a step. */
struct about {
	int64_t		 id;
	uint64_t	 seq;		/* the order of steps, of any kind */
	enum undo_kind	 kind;
	char		*command;
	int64_t		 began;
	int64_t		 ended;
	int		 exit;
	uint64_t	 bytes;		/* captured, and the journal */
	uint64_t	 kept;		/* in inodes moved to the store */
	uint64_t	 paths;
	uint32_t	 records;
	bool		 lost;		/* unprotected */
};

struct wal {
	struct about	 a;
	enum purpose	 purpose;
	uint64_t	 place;
	int		 dirfd;
	int		 ofd;
	struct journal	 j;
	struct inotab	 tab;
	struct inotab	 dirs;		/* what becomes of their files */
	uint32_t	 nextobj;
	bool		 tried;		/* a mutation, whatever came of it */
	int		 heapfd;	/* -1: not made yet */
	uint64_t	 heapend;
};

struct step {
	TAILQ_ENTRY(step) link;
	struct about	 a;
	uint64_t	 place;
	bool		 redo;		/* in redo/, not in steps/ */
	bool		 packed;	/* nothing left to compress */
	bool		 packing;	/* its heap, and went on later */
};
TAILQ_HEAD(steplist, step);

/* A mutation between record and deed (flight.c). */
struct slot {
	bool		 busy;
	bool		 alone;		/* moves a directory */
	unsigned int	 nkeys;
	uint64_t	 key[2];	/* names: hash of parent and name */
	uint64_t	 par[2];	/* parents: hash of their inodes */
	unsigned int	 nwho;
	uint64_t	 who[2];	/* inodes, hashed */
	/* For undo_done(): */
	unsigned int	 nrecs;
	uint64_t	 rec[3];
	uint64_t	 newrec;	/* a REC_NEW that wants its inode */
	int		 dir;
	char		*name;		/* of what was made */
	bool		 mkdir;
	bool		 made;		/* learn the inode when done */
	uint64_t	 dropdev;	/* fresh inode that goes for good */
	uint64_t	 dropino;
	bool		 unmade;	/* what this step made, it unmakes */
	uint32_t	 obj;		/* link to take back on failure */
	bool		 moved;		/* it was renamed, not linked */
	struct stat	 objst;
	int		 objdir;
	char		*objname;
	unsigned int	 count;		/* added to the paths of the step */
};

/* gate */
#define	GATE_SHUT	0x1u	/* one thread needs the folder for itself */
#define	GATE_GUARD	0x2u	/* a safeguard waits for its answer */
#define	GATE_ENDED	0x4u	/* the step is completed, look at the clock */

/* op->flags */
#define	OP_FLIGHT	0x1u	/* counted as in flight */
#define	OP_SLOT		0x2u	/* record is the number of a slot */
#define	OP_NAMELESS	0x4u	/* of a file that has no name */

#define	GUARDS		3
#define	SAMPLES		10

struct guard {
	uint32_t	 count;
	bool		 allowed;
	char		*sample[SAMPLES];
	size_t		 nsamples;
};

struct question {
	char		 id[24];	/* "" when none is asked */
	enum undo_guard	 guard;
	int64_t		 deadline;	/* os_clock_ms() */
	uint64_t	 held;
	uint32_t	 number;
	bool		 no;		/* what the last answer was */
};

struct stamp {
	TAILQ_ENTRY(stamp) link;
	uint64_t	 id;
	int64_t		 at;
	uint64_t	 after;		/* the newest seq when it was seen */
	char		**paths;
	size_t		 npaths;
};
TAILQ_HEAD(stamplist, stamp);

struct event {
	TAILQ_ENTRY(event) link;
	struct undo_event e;
	char		*message;
	char		*safeguard;
	char		*paths[SAMPLES];
};
TAILQ_HEAD(eventlist, event);

/* What a filesystem can do, found by trying. */
#define	FS_SLOTS	8
struct fsinfo {
	uint64_t	 dev;
	bool		 used;
	bool		 noclone;
	bool		 clones;
	bool		 nokeep;	/* no rename into the store */
};

/* Which directories have been seen to have which path. */
#define	VERIFIED	64
struct verified {
	uint64_t	 dev;
	uint64_t	 ino;
	uint64_t	 hash;
	uint64_t	 epoch;
};

/* One name of a file that has several. */
struct name {
	uint64_t	 dev;
	uint64_t	 ino;
	char		*path;
};

struct undo {
	pthread_mutex_t	 lock;
	pthread_cond_t	 cond;		/* gate, flight, answers */
	pthread_cond_t	 slotcond;
	pthread_mutex_t	 synclock;
	_Atomic uint32_t gate;
	_Atomic uint64_t inflight;
	_Atomic uint64_t gen;		/* of what "seen" remembers */
	_Atomic int64_t	 last;		/* os_clock_ms() of the last done */
	_Atomic uint32_t pending;	/* events */

	int		 rootfd;
	uint64_t	 rootdev;
	int		 storefd;
	int		 walfd;
	int		 stepsfd;
	int		 redofd;
	int		 trashfd;
	char		*store;
	struct undo_options o;
	bool		 foreign;	/* another version, hands off */
	bool		 stuck;		/* a rollback failed half-way */
	bool		 same_fs;
	bool		 spares;	/* a rename that spares what is there
					   works in the store */

	struct wal	*wal;
	_Atomic int64_t	 open_id;	/* of the step; 0: none is open */
	bool		 ended;		/* completed, not final */
	bool		 denied;	/* a safeguard said no; no wal then */
	int64_t		 denied_at;
	struct guard	 guard[GUARDS];
	struct question	 q;

	struct steplist	 steps;		/* oldest first */
	struct steplist	 redo;		/* next to redo first */
	bool		 doomed;	/* redo was dropped in part */
	size_t		 nsteps;
	uint64_t	 total;		/* bytes in steps and redo */
	uint64_t	 seq;
	int64_t		 ambient;	/* id of the last ambient step */
	uint64_t	 places;
	uint32_t	 trash;		/* number of the last */
	bool		 sweeping;
	bool		 rubbish;	/* trash/ has something */

	struct stamplist stamps;	/* oldest first */
	uint64_t	 stampid;
	struct eventlist events;

	struct kepttab	 kept;
	struct slot	**slots;
	unsigned int	 nslots;
	unsigned int	 busy;
	bool		 alone;		/* a directory is being moved */
	unsigned int	 lonely;	/* how many want to */
	struct fsinfo	 fs[FS_SLOTS];
	struct verified	 verified[VERIFIED];
	uint64_t	 epoch;
	pthread_mutex_t	 namelock;
	struct name	*names;		/* sorted by inode */
	size_t		 nnames;
	struct undo_stats stats;
	struct step	 shadow;	/* the wal, seen as a step */
};

/*
 * path.c: where things are.
 */
struct loc {
	int		 dir;
	bool		 own;		/* dir is ours to close */
	const char	*name;
	const char	*path;		/* checked, relative to the root */
	size_t		 pathlen;
	char		*fixed;		/* path, when the caller's was stale */
	struct stat	 dst;		/* of dir */
	struct stat	 st;
	bool		 exists;
};

uint64_t norm_dev(const struct undo *, dev_t);
uint64_t hash_ino(uint64_t, uint64_t);
size_t path_parent(const char *, size_t);
const char *path_name(const char *);
int path_open(const struct undo *, const char *, size_t, int, int *);
int path_stat(const struct undo *, const char *, struct stat *);
int loc_open(struct undo *, const struct undo_ref *, struct loc *);
int loc_stat(struct loc *);
int loc_verify(struct undo *, struct loc *);
void loc_close(struct loc *);
/* The true path of an open file; *pathp NULL when it has no name. */
int file_path(struct undo *, const struct undo_ref *, const struct stat *,
    const char **, char **);
void forget_dir(struct undo *, uint64_t, uint64_t);

/*
 * tree.c: walks.
 */
int tree_find(const struct undo *, uint64_t, uint64_t, char **);
int tree_other(struct undo *, const struct stat *, const char *, char **);
void tree_forget(struct undo *);

/*
 * meta.c: attributes.
 */
void meta_set(const struct undo *, struct meta *, const struct stat *);
int meta_xattrs(const struct os_object *, uint8_t **, size_t *);
/* Set what differs; with REC_XATTRS in flags, the attributes too. */
int meta_apply(const struct os_object *, const struct meta *, uint32_t);
bool meta_next(const uint8_t *, size_t, size_t *, const char **,
    const uint8_t **, size_t *);

/*
 * content.c: bytes.
 */
void obj_name(char[OBJ_NAMESIZE], uint32_t);
bool obj_path(char[OBJ_PATHSIZE], uint32_t, const char *);
bool obj_of(char[OBJ_PATHSIZE], const struct rec *);
uint64_t content_size(const struct stat *);
bool content_dense(int, const struct stat *);
int content_capture(struct undo *, int, uint32_t, int, const struct stat *,
    uint64_t *, uint32_t *);
int content_restore(struct undo *, int, uint32_t, int, uint64_t);
/* A descriptor of the plain bytes of an object, unpacked if need be. */
int content_open(int, int, uint32_t, uint64_t, int *);
int copy_sparse(int, int, off_t, bool);
struct fsinfo *fs_info(struct undo *, uint64_t);

/*
 * pack.c: zstd.
 */
int pack_object(struct undo *, int, uint32_t, uint64_t *);
bool pack_yields(struct undo *);
int unpack_object(int, uint32_t, int);
int unpack_check(int, uint32_t);

/*
 * heap.c: small files in one.
 */
#define	HEAP_MAX	65536

struct heap_piece {
	uint64_t	 off;		/* in the heap as it was */
	uint64_t	 at;
	uint32_t	 len;
	uint32_t	 zlen;
};

struct heap {
	int		 fd;
	bool		 packed;
	struct heap_piece *v;		/* if packed */
	size_t		 n;
	size_t		 size;
	uint64_t	 end;
};

bool heap_takes(int, const struct stat *);
int heap_put(struct undo *, struct wal *, int, const struct stat *,
    struct rec *, uint8_t **);
size_t heap_part(const struct rec *);
int heap_open(struct heap *, int);
void heap_close(struct heap *);
int heap_get(const struct heap *, const struct rec *, uint8_t *);
int heap_pack(int, const struct journal *, bool, bool, int64_t,
    uint64_t *);

/*
 * wal.c: recording.  wal_append() and what is built on it want the lock.
 */
int wal_create(struct undo *, const struct about *, enum purpose,
    struct wal **);
int wal_open(struct undo *, struct wal **, bool *);
void wal_close(struct undo *, struct wal *);
void wal_forget(struct undo *, struct wal *);
int wal_append(struct undo *, struct wal *, struct rec *);
int wal_touch(struct undo *, struct wal *, const struct stat *, const char *,
    size_t);
int wal_sync(struct undo *, struct wal *);
void wal_lost(struct undo *, struct wal *);
bool wal_fits(struct undo *, const struct wal *, uint64_t);
int begin_decode(const struct rec *, struct about *, enum purpose *);

/*
 * flight.c: who may go when.
 */
bool flight_fast(struct undo *, struct undo_op *);
int flight_enter(struct undo *, struct undo_op *);
void flight_leave(struct undo *, struct undo_op *);
void flight_pause(struct undo *, struct undo_op *);	/* lock held */
void gate_shut(struct undo *);
void gate_open(struct undo *);
struct slot *slot_take(struct undo *, struct undo_op *);
void slot_keys(struct undo *, struct slot *);
void slot_whos(struct undo *, struct slot *);
void slot_alone(struct undo *, struct slot *);
void slot_drop(struct undo *, struct undo_op *);
struct slot *slot_of(struct undo *, const struct undo_op *);

/*
 * guard.c: safeguards.  EAGAIN: it was held and allowed, begin again.
 */
int guard_check(struct undo *, struct undo_op *, enum undo_guard,
    const char *);
int guard_wait(struct undo *);
void guard_reset(struct undo *);
void guard_deny(struct undo *, uint32_t);

/*
 * step.c
 */
int step_ambient(struct undo *);
int step_finish(struct undo *, struct co_error *);
void step_close(struct undo *);
int step_settle(struct undo *, struct co_error *);
bool step_due(struct undo *);
void step_finish_due(struct undo *);
int64_t now_us(void);

/*
 * apply.c: play a journal back.  k records the inverse, or is NULL.
 */
struct apply {
	struct undo	*u;
	struct journal	*j;
	int		 ofd;
	uint64_t	 place;
	struct wal	*k;
	int		 back;		/* where objects go back to, or -1, */
	uint64_t	 backplace;	/* and its place */
	int		 dir;		/* the last parent that was opened */
	char		*dirpath;
	size_t		 dirlen;
	bool		 touched;	/* k knows its mtime */
	struct inotab	 dropped;	/* inodes that are no more */
	bool		 copies;	/* the journal has REC_COPY, */
	bool		 nameless;	/* REC_KEPT, */
	bool		 links;		/* or hard links */
	const uint32_t	*offs;		/* where its records are */
	uint32_t	*chain;		/* of those in one folder the next, */
	struct inotab	 first;		/* and the first, by folder */
	struct inotab	 whole;		/* folders that are back */
	struct heap	 heap;
	bool		 hasheap;	/* it is open */
	struct inotab	 names;		/* touched since the last sync */
	uint32_t	 since;		/* records since then */
	uint64_t	 conflicts;
	uint64_t	 paths;
	undo_progress_fn *progress;
	void		*arg;
	int64_t		 id;
	char		 where[256];	/* what was being done when it failed */
};
int apply_run(struct apply *);
/* apply_dir.c, apply_file.c */
int apply_parent(struct apply *, const char *, size_t, const char **);
int apply_parents(struct apply *, const char *, size_t, const char **);
void apply_forget(struct apply *);
void apply_init(struct apply *, struct undo *);
bool apply_keeps(const struct apply *);
int apply_away(struct apply *, const char *, size_t, const char *,
    const struct stat *);
int apply_new(struct apply *, const struct rec *);
int apply_mkdir(struct apply *, const struct rec *);
int apply_gone(struct apply *, const struct rec *);
int apply_copy(struct apply *, const struct rec *);
int apply_rmdir(struct apply *, const struct rec *);
int apply_rename(struct apply *, const struct rec *);
int apply_content(struct apply *, const struct rec *);
int apply_meta(struct apply *, const struct rec *);
int apply_time(struct apply *, const struct rec *);
int apply_drop(struct apply *, const struct rec *);
bool apply_is(struct apply *, uint64_t, uint64_t, const struct stat *);
int apply_take(struct apply *, const char *, size_t, const char *,
    const struct stat *);
int apply_record(struct apply *, struct rec *);
void apply_fresh(struct apply *, const struct rec *, const struct stat *);
int apply_touch(struct apply *);
int apply_lose(struct apply *, int);				/* locked */

/*
 * rollback.c
 */
int rollback_wal(struct undo *, struct wal *, uint64_t *, struct co_error *);
int play_step(struct undo *, struct step *, struct wal *, struct apply *);
int exchange_step(struct undo *, struct step *, struct wal *);
int take_back(struct undo *, struct step *, struct wal *);
void stick(struct undo *, struct wal *);

/*
 * recover.c
 */
int recover(struct undo *, struct co_error *);
int unstick(struct undo *, struct co_error *);

/*
 * store.c: the folders.
 */
struct step *step_new(struct undo *, const struct about *, bool);
void step_insert(struct undo *, struct step *);
void step_remove(struct undo *, struct step *);
void step_free(struct step *);
struct step *step_find(struct undo *, int64_t);
int step_dir(struct undo *, const struct step *);
int step_load(struct undo *, struct step *);
int store_promote(struct undo *, struct wal *, bool);
int store_trash(struct undo *, int, const char *);
int store_trash_objects(struct undo *, const struct wal *);
int store_drop_redo(struct undo *);
void store_evict(struct undo *);
bool store_sweep(struct undo *, unsigned int);
int store_aside(struct undo *, int, const char *);
int place_ofd(struct undo *, uint64_t);
int store_layout(struct undo *, struct co_error *);
int store_init(struct undo *, struct co_error *);
int store_history(struct undo *, struct co_error *);
void about_free(struct about *);
int about_copy(struct about *, const struct about *);
void step_dirname(char[32], int64_t);

/*
 * manifest.c
 */
int manifest_write(struct undo *, int, const struct about *);
int manifest_read(int, struct about *);
int manifest_parse(const char *, size_t, struct about *);

/*
 * barrier.c
 */
int barrier_load(struct undo *);
int barrier_parse(struct stamplist *, const uint8_t *, size_t, bool *);
void barrier_prune(struct undo *);
const struct stamp *barrier_over(struct undo *, uint64_t);
void stamps_free(struct stamplist *);

/*
 * changes.c: what a step did, all told.  The caller has shut the gate.
 */
struct change {
	enum undo_change change;
	mode_t		 type;
	char		*path;
	char		*from;
	uint64_t	 before;	/* sizes */
	uint64_t	 after;
	uint32_t	 mode;		/* before; 0: not known */
	uint64_t	 dev;		/* inode after */
	uint64_t	 ino;
	bool		 had;		/* there was a file before */
	bool		 has;		/* there is one after */
	bool		 same;		/* its size did not change */
	uint64_t	 pre;		/* offset of the record that has what
					   was before; 0: as after */
	/* Where the state after the step is, found by after_find(): */
	char		*now;		/* in the folder, by this path; or */
	struct step	*in;		/* in this step, and this record */
	uint64_t	 off;
	bool		 kept;		/* its object is the inode itself */
};

struct changes {
	struct change	*v;
	size_t		 n;
	size_t		 size;
};

int changes_make(const struct journal *, struct changes *);
void changes_free(struct changes *);

/* after.c: what became of the files since. */
int after_find(struct undo *, struct step *, struct changes *);
/* The bytes, or NULL if they are more than max. */
int after_load(struct undo *, const struct change *, uint64_t, char **,
    size_t *, uint32_t *);
int before_load(struct undo *, struct step *, const struct journal *,
    const struct change *, uint64_t, char **, size_t *);

/* udiff.c: a unified diff of two texts, without the header. */
int udiff(FILE *, const char *, size_t, const char *, size_t);

/*
 * event.c
 */
void event_post(struct undo *, enum undo_event_type, int64_t, uint64_t,
    const char *, ...) CO_PRINTF(5, 6);
void event_guard(struct undo *, enum undo_guard);
void event_paths(struct undo *, const char *const *, size_t);
void event_fire(struct undo *);
void event_free(struct undo *);

#endif /* UNDO_INTERNAL_H */
