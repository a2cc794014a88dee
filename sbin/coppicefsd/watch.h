/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The watcher: who else changes the folder?  A thread that hears of every
 * change from the system and tells those that the server did not make, by
 * what the system says of the author or, where it says nothing, by a ledger
 * of the server's own recent changes.
 */

#ifndef WATCH_H
#define WATCH_H

#include <sys/types.h>
#include <sys/queue.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coppice.h"

struct server;
struct share_change;
struct watch;

/**
 * watch_new(s, rootfd, kind, w, e):
 * Prepare to watch the folder ${rootfd}, which is duplicated, by the means
 * ${kind} (NULL: the best that works).  Before the sandbox is entered.
 */
int watch_new(struct server *, int, const char *, struct watch **,
    struct co_error *);

/**
 * watch_start(w, e), watch_stop(w):
 * Look at all directories there are, and watch from then on; end.
 */
int watch_start(struct watch *, struct co_error *);
void watch_stop(struct watch *);
void watch_free(struct watch *);

/**
 * watch_own(w, c):
 * The server is about to make the change ${c}; for share_options.
 */
void watch_own(void *, const struct share_change *);

/**
 * watch_mute(w, on):
 * The server begins to make changes that it does not announce; or has made
 * them.  Nests.  NULL is fine.
 */
void watch_mute(struct watch *, bool);

struct watch_stats {
	const char	*kind;
	uint64_t	 directories;
	uint64_t	 events;
	uint64_t	 own;
	uint64_t	 external;
	uint64_t	 overflows;
};
void watch_stats(struct watch *, struct watch_stats *);

/*
 * For the means of watching: one row of a table each.
 */
struct watcher {
	const char	*name;
	bool		 author;	/* the system tells who it was */
	/* Before the sandbox; 0 or an errno. */
	int		(*open)(struct watch *);
	/* Watch the directory and tell what its events will be known by. */
	int		(*add)(struct watch *, int, uint64_t *);
	/* It is not ours any more. */
	void		(*drop)(struct watch *, uint64_t);
	/* Wait up to so many milliseconds; hand all events over. */
	int		(*take)(struct watch *, int);
	void		(*close)(struct watch *);
};

/* A directory that is watched. */
struct wdir {
	LIST_ENTRY(wdir)	 hash;
	LIST_ENTRY(wdir)	 sibling;
	LIST_HEAD(, wdir)	 children;
	STAILQ_ENTRY(wdir)	 work;
	struct wdir		*parent;	/* NULL: root, or an orphan */
	uint64_t		 key;
	bool			 queued;
	void			*priv;		/* the watcher's */
	char			 name[];
};

#define	WATCH_BUCKETS	16384
#define	WATCH_BATCH	256		/* paths told at once */

struct ledger;

struct watch {
	struct server		*server;
	const struct watcher	*by;
	int			 rootfd;
	int			 fd;		/* the watcher's, like priv */
	void			*priv;
	struct wdir		*root;
	LIST_HEAD(, wdir)	*buckets;
	LIST_HEAD(, wdir)	 orphans;
	STAILQ_HEAD(, wdir)	 work;
	struct ledger		*ledger;
	char			*batch[WATCH_BATCH];
	size_t			 nbatch;
	co_moment		 since;		/* the first of the batch */
	co_moment		 held;		/* something was, then */
	_Atomic int		 muted;
	_Atomic int		 was_muted;	/* until all is heard */
	_Atomic int		 stopping;
	_Atomic uint64_t	 directories;
	_Atomic uint64_t	 events;
	_Atomic uint64_t	 own;
	_Atomic uint64_t	 external;
	_Atomic uint64_t	 overflows;
	pthread_t		 thread;
	bool			 running;
};

extern const struct watcher *const watchers[];

enum watch_what {
	WATCH_ENTRY,		/* something else about that name */
	WATCH_DIRECTORY		/* a directory came to, or left, that name */
};

/**
 * watch_event(w, key, name, what, own):
 * In the directory ${key}, ${name} changed; "" is the directory itself.
 */
void watch_event(struct watch *, uint64_t, const char *, enum watch_what,
    bool);

/* The directory itself is no more. */
void watch_gone(struct watch *, uint64_t);
void watch_overflow(struct watch *);
struct wdir *watch_find(struct watch *, uint64_t);

/**
 * watch_path(d, name, buf, size):
 * The path of ${name} in ${d}; false if it is too long or has none.
 */
bool watch_path(const struct wdir *, const char *, char *, size_t);

/*
 * What the system has to give; watch_linux.c and watch_freebsd.c.
 */

/* Open a directory below ${dirfd}, over no link; -1 with errno. */
int watch_os_open(int, const char *);

/*
 * The ledger; ledger.c.
 */
struct ledger *ledger_new(void);
void ledger_free(struct ledger *);
void ledger_add(struct ledger *, uint64_t);
bool ledger_has(struct ledger *, uint64_t);
/* All events that were caused before ${when} have been heard. */
void ledger_expire(struct ledger *, co_moment);
uint64_t ledger_hash(const void *, size_t);

#endif /* WATCH_H */
