/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of libshare have in common.  Read share.h first, host.h
 * second.
 */

#ifndef SHARE_INTERNAL_H
#define SHARE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "undo.h"

#include "host.h"
#include "share.h"

/*
 * table.c: numbers for objects that a client names.  A number finds its
 * object or nothing; it is a slot and the count of that slot's uses.
 */
#define	TABLE_LOCKS	64
#define	TABLE_CHUNK	1024
#define	TABLE_CHUNKS	8192

struct slot {
	void		*object;
	uint32_t	 uses;
	uint32_t	 next;		/* in the free list, plus one */
};

struct table {
	pthread_mutex_t	 lock[TABLE_LOCKS];	/* of a slot's object */
	pthread_mutex_t	 grow;			/* of the free list */
	struct slot	*_Atomic chunk[TABLE_CHUNKS];
	_Atomic uint32_t nslots;
	uint32_t	 free;
	uint32_t	 tag;		/* in the top bits of numbers */
	uint32_t	 max;
	_Atomic uint64_t count;
};

int share_table_init(struct table *, uint32_t, uint32_t);
void share_table_fini(struct table *);
int share_table_add(struct table *, void *, uint64_t *);
/* Remove if ${last}, called with the slot locked, says so; NULL: always. */
bool share_table_remove(struct table *, uint64_t, bool (*)(void *));
/* Both call hold with the slot locked, before anyone could remove it. */
void *share_table_find(struct table *, uint64_t, void (*)(void *));
void *share_table_at(struct table *, uint32_t, void (*)(void *));

/*
 * node.c: nodes, found by identity; and their descriptors.
 */
#define	NODE_SHARDS	64
#define	NODE_ALIASES	8

/* One name of a node; the list's first was seen last. */
struct alias {
	struct alias		*next;
	struct share_node	*dir;	/* referenced */
	char			 name[];
};

struct share_node {
	_Atomic uint64_t	 refs;	/* of all kinds; 0: going away */
	_Atomic uint64_t	 kept;	/* of those, the client's */
	uint64_t		 number;
	uint64_t		 dev;
	uint64_t		 ino;
	struct timespec		 btime;
	bool			 btime_valid;
	uint32_t		 type;

	/* Twice the users of fd, plus one when it is open. */
	_Atomic uint32_t	 fdstate;
	int			 fd;
	_Atomic bool		 pinned;	/* has no way back */
	_Atomic bool		 used;		/* since the hand passed */
	struct host_handle	*handle;	/* shard lock */

	struct share_node	*hnext;		/* shard lock */
	bool			 hashed;	/* shard lock */
	struct alias		*names;		/* names.c */
	_Atomic bool		 unlinked;	/* a name went away */
	_Atomic int		 caps;		/* file capabilities; io.c */
	uint64_t		 seen;		/* libundo's word */
	struct lockhead		*_Atomic locks;	/* lock.c */
};

struct shard {
	pthread_mutex_t		  lock;
	struct share_node	**bucket;
	size_t			  nbuckets;
	size_t			  nnodes;
};

/* A kind of open object: a file or a directory. */
struct share_file {
	_Atomic uint32_t	 refs;
	_Atomic bool		 closed;
	uint64_t		 number;
	struct share_node	*node;
	int			 fd;
	uint32_t		 flags;
	_Atomic bool		 written;	/* share_flush() has work */
	_Atomic bool		 locked;	/* has set a lock */
};

struct share_dir {
	_Atomic uint32_t	 refs;
	_Atomic bool		 closed;
	uint64_t		 number;
	struct share_node	*node;
	int			 fd;
	pthread_mutex_t		 lock;		/* of all below */
	uint64_t		 place;		/* cookie of the next entry */
	char			*buf;
	size_t			 len;		/* of what is in buf */
	size_t			 off;		/* of the next entry in it */
};

#define	NAME_STRIPES	16
#define	DEVICES_MAX	256

struct share {
	struct host		 host;
	struct share_options	 o;
	struct undo		*undo;
	struct share_node	*root;
	_Atomic bool		 readonly;

	struct shard		 shard[NODE_SHARDS];
	struct table		 nodes;
	struct table		 files;
	struct table		 dirs;

	_Atomic uint64_t	 nfds;		/* of nodes */
	_Atomic uint64_t	 nopen;		/* of files, dirs, locks */
	uint32_t		 max_nodefds;
	uint32_t		 max_open;
	pthread_mutex_t		 evict;		/* of hand */
	uint32_t		 hand;
	_Atomic uint64_t	 reopened;

	pthread_rwlock_t	 names[NAME_STRIPES];

	pthread_mutex_t		 devlock;
	uint64_t		 device[DEVICES_MAX];
	_Atomic uint32_t	 ndevices;

	struct locks		*locks;

	_Atomic uint64_t	 read_bytes;
	_Atomic uint64_t	 written_bytes;
	_Atomic uint64_t	 mutations;
};

int share_node_init(struct share *);
void share_node_fini(struct share *);

/**
 * share_node_get(s, st, fd, dir, name, n):
 * The node of the object ${st}, new or old, with a reference.  ${fd} is a
 * node descriptor of it that is consumed in any case.  ${dir} and ${name}
 * are where it was seen; NULL: nowhere.
 */
int share_node_get(struct share *, const struct host_stat *, int,
    struct share_node *, const char *, struct share_node **);

/* The node that is known for ${st}, with a reference; NULL: none, or not
   sure without a descriptor. */
struct share_node *share_node_known(struct share *,
    const struct host_stat *);

/**
 * share_fd_get(s, n, fd), share_fd_put(n):
 * A descriptor of the node that stays open in between.
 */
int share_fd_get(struct share *, struct share_node *, int *);
void share_fd_put(struct share_node *);

/* Room for ${n} more descriptors of files and directories, or ENFILE. */
int share_open_reserve(struct share *);
void share_open_release(struct share *);

/*
 * name.c: names of nodes.
 */
int share_names_init(struct share *);
void share_names_fini(struct share *);
struct alias *share_alias_new(struct share_node *, const char *);
void share_alias_free(struct share *, struct alias *);
void share_name_seen(struct share *, struct share_node *,
    struct share_node *, const char *);
void share_name_gone(struct share *, struct share_node *,
    struct share_node *, const char *);
void share_name_moved(struct share *, struct share_node *,
    struct share_node *, const char *, struct share_node *, const char *);
int share_name_check(const char *);

/*
 * change.c: what surrounds a mutation.  A change begins with a path (of the
 * node, or of a name in a directory), announces itself by change_ref() and a
 * hook of libundo, and ends.
 */
struct change {
	struct share	*s;
	struct undo_op	 op;
	bool		 announced;
	char		 path[SHARE_PATH_MAX];
	bool		 named;
};

int share_change_node(struct share *, struct change *, struct share_node *,
    enum share_change_kind);
int share_change_name(struct share *, struct change *, struct share_node *,
    const char *, enum share_change_kind);
int share_change_end(struct change *, int);

/**
 * share_enter(s, c, create, saved), share_leave(s, saved):
 * Take the caller's identity as far as the options and the kind of operation
 * (making something, or not) want it.
 */
int share_enter(struct share *, const struct share_cred *, bool,
    struct host_saved *);
void share_leave(struct share *, const struct host_saved *);
int share_give(struct share *, const struct share_cred *,
    struct share_node *, uint32_t, struct host_stat *);

/*
 * entry.c, for rename.c and file.c.
 */
bool share_name_dots(const char *);
/* The directory's descriptor, for a change; ${dots}: the errno for those. */
int share_entry_begin(struct share *, struct share_node *, const char *, int,
    int *);
int share_entry_node(struct share *, struct share_node *, int, const char *,
    struct share_node **, struct host_stat *);
struct share_node *share_doomed(struct share *, const struct host_stat *,
    bool *);
void share_doom(struct share *, struct share_node *, bool, int);

/*
 * ids.c
 */
int share_uid_in(const struct share *, uint32_t, uint32_t *);
int share_gid_in(const struct share *, uint32_t, uint32_t *);
uint32_t share_uid_out(const struct share *, uint32_t);
uint32_t share_gid_out(const struct share *, uint32_t);
/* The mode that what is not a directory may get. */
uint32_t share_file_mode(const struct share *, uint32_t);
/* Map the ids of an ACL in place; out: towards the client. */
int share_acl_map(const struct share *, void *, size_t, bool);

/* attr.c */
void share_attr_fill(struct share *, struct share_node *,
    const struct host_stat *, struct share_attr *);
uint64_t share_ino(struct share *, uint64_t, uint64_t);
int share_kill_suid(struct share *, struct share_node *, int);

/* xattr.c */
int share_kill_caps(struct share *, struct share_node *);

/* file.c */
void share_file_reset(struct share *);

/* dir.c */
void share_dir_reset(struct share *);

/* lock.c */
int share_locks_init(struct share *);
void share_locks_fini(struct share *);
void share_locks_drop(struct share *, struct share_file *);
void share_locks_node(struct share *, struct share_node *);
void share_locks_stats(struct share *, struct share_stats *);

#endif /* SHARE_INTERNAL_H */
