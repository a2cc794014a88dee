/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The journal of one step: a file of checksummed records, appended in a
 * shared mapping, which outlives the process without a system call.  On
 * filesystems that can't reserve space every record is a write(2) instead.
 * The format is described in coppice-undo(5).  Not thread-safe: the caller
 * holds the lock of the handle, or is alone.
 */

#ifndef JOURNAL_H
#define JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What happened; in brackets, how it is undone. */
enum rec_type {
	REC_BEGIN = 1,	/* the step began; always the first */
	REC_NEW,	/* path was made, no directory [take it away] */
	REC_MKDIR,	/* path was made, a directory [rmdir] */
	REC_GONE,	/* path went to object obj [bring it back] */
	REC_COPY,	/* path went, its copy is in obj [make it again] */
	REC_RMDIR,	/* the directory path went; obj has what went from it
			   before [mkdir, or bring that back] */
	REC_RENAME,	/* path became path2 [rename back] */
	REC_CONTENT,	/* bytes of path may change [copy obj back] */
	REC_META,	/* attributes of path may change [set them] */
	REC_TIME,	/* entries of path may change [set its mtime] */
	REC_DROP,	/* path, made in this step, went [nothing] */
	REC_MAX
};

/* Flags of a record. */
#define	REC_FRESH	0x01	/* NEW: the inode is new, not only the name */
#define	REC_SWAP	0x02	/* RENAME: an exchange */
#define	REC_KEPT	0x04	/* CONTENT, META: of a file without a name,
				   found in the store by its inode */
#define	REC_INLINE	0x08	/* CONTENT, COPY: the bytes are in extra */
#define	REC_XATTRS	0x10	/* the attributes were captured */
#define	REC_CLONE	0x20	/* CONTENT, COPY: shares blocks */
#define	REC_HEAP	0x40	/* CONTENT: in the heap, at offset rdev */
#define	REC_INDIR	0x80	/* GONE: obj is a folder, and it has the file
				   by the last component of path */

/* Attributes of a file as they were. */
struct meta {
	uint64_t	 dev;		/* 0: that of the folder */
	uint64_t	 ino;
	uint64_t	 size;
	int64_t		 mtime;
	uint32_t	 mtime_ns;
	uint32_t	 mode;
	uint32_t	 uid;
	uint32_t	 gid;
	uint32_t	 nlink;
	uint64_t	 rdev;
	const uint8_t	*xattrs;	/* see meta.c */
	size_t		 xlen;
};

/*
 * One record.  Strings and blobs point into the journal, or on append to
 * what the caller owns.
 */
struct rec {
	enum rec_type	 type;
	uint32_t	 flags;
	uint32_t	 no;		/* its number in the journal, from 0 */
	uint64_t	 off;
	bool		 is_void;	/* the mutation did not happen */
	uint64_t	 later;		/* an inode learnt later; 0: not */
	struct meta	 m;
	uint32_t	 obj;		/* 0: none */
	const char	*path;
	size_t		 pathlen;
	const char	*path2;
	size_t		 path2len;
	const uint8_t	*extra;
	size_t		 extralen;
};

struct journal {
	int		 fd;
	uint8_t		*map;
	size_t		 maplen;
	bool		 direct;	/* pwrite, the map is for reading */
	bool		 readonly;
	uint64_t	 end;		/* where the next record goes */
	uint64_t	 room;		/* bytes that are reserved */
	uint64_t	 cold;		/* pages before this are forgotten */
	uint32_t	 count;
	uint64_t	 synced;	/* on disk up to here */
	uint64_t	 boot;		/* of the system, or 0: not asked */
};

#define	JOURNAL_MAX	((uint64_t)1 << 30)
#define	JOURNAL_PATHMAX	65535

/* States in the header, kept outside of any checksum. */
#define	JOURNAL_LOST	0x1	/* the step is not protected any more */
#define	JOURNAL_BEGUN	0x2	/* it is being undone, by this mark alone */

int journal_create(struct journal *, int);

/* From now on with power durability; once, before anything is undone. */
void journal_power(struct journal *);

/**
 * journal_open(j, dirfd, write, damage):
 * Open the journal in ${dirfd} and check every record; ${damage} tells that
 * something after the last good one is neither a record nor empty.
 */
int journal_open(struct journal *, int, bool, bool *);

/**
 * journal_parse(j, buf, len, damage):
 * The same for a journal in memory, which must outlive ${j}.
 */
int journal_parse(struct journal *, uint8_t *, size_t, bool *);
void journal_close(struct journal *);

/**
 * journal_append(j, r):
 * Append ${r}, and fill in its off and no.
 */
int journal_append(struct journal *, struct rec *);
int journal_read(const struct journal *, uint64_t, struct rec *);

/* Walk forward: 0 to begin; returns false at the end. */
bool journal_next(const struct journal *, uint64_t *, struct rec *);

/**
 * journal_index(j, offs):
 * Make an array, for the caller to free, of where each record begins.
 */
int journal_index(const struct journal *, uint32_t **);

void journal_void(struct journal *, uint64_t);
void journal_later(struct journal *, uint64_t, uint64_t);

/*
 * Records from this number on are undone; the count of records if none.
 * Without power durability that is stored after each one.  With it, there
 * is one number for the running system, and another one for after a power
 * failure, stored when all that it tells is on the disk (${synced}).
 */
uint32_t journal_undone(const struct journal *);
int journal_set_undone(struct journal *, uint32_t, bool);
bool journal_state(const struct journal *, uint32_t);
int journal_set_state(struct journal *, uint32_t);

/**
 * journal_sync(j):
 * Bring what was appended to the disk; and, where a filesystem keeps the
 * order of changes to its names, all that happened before.
 */
int journal_sync(struct journal *);

/* Give back what was reserved and not used. */
int journal_trim(struct journal *);

/* The checksum of the format: XXH64 with seed 0. */
uint64_t journal_hash(const void *, size_t, uint64_t);

#endif /* JOURNAL_H */
