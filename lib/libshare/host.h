/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What differs between systems, behind one set of functions that
 * host_linux.c and host_freebsd.c implement.  Unless said otherwise they
 * return 0 or an errno, a "node descriptor" is one of host_node_open(),
 * which gives no access by itself, and nothing follows a symbolic link.
 */

#ifndef HOST_H
#define HOST_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "share.h"

struct co_error;

#define	HOST_GROUPS	64

struct host {
	int		rootfd;		/* the folder, readable */
	int		procfd;		/* Linux: /proc/self/fd */
	uint64_t	mount;		/* Linux: the root's mount id */
	bool		cross;		/* enter other mounts */
	bool		handles;	/* file handles can be opened */
	bool		xattrat;	/* Linux: has setxattrat(2) and kin */
	bool		chmodat;	/* Linux: has fchmodat2(2) */
	bool		timesat;	/* Linux: utimensat(2) needs no name */
	bool		flushes;	/* closing may tell of failed writes */
};

struct host_stat {
	uint64_t	dev;
	uint64_t	ino;
	uint64_t	size;
	uint64_t	blocks;
	uint32_t	blksize;
	uint32_t	mode;
	uint32_t	nlink;
	uint32_t	uid;
	uint32_t	gid;
	uint32_t	rdev_major;
	uint32_t	rdev_minor;
	bool		btime_valid;
	struct timespec	atime;
	struct timespec	mtime;
	struct timespec	ctime;
	struct timespec	btime;
};

/* A name of an inode for the kernel, good across renames. */
struct host_handle {
	int		type;
	uint32_t	len;
	unsigned char	data[128];
};

/* Whose rights a thread has for the moment. */
struct host_persona {
	uint32_t	uid;
	uint32_t	gid;
	uint32_t	ngroups;
	bool		privileged;	/* keep the server's rights */
	bool		group;		/* host_give(): the group too */
	const uint32_t	*groups;
};

/**
 * host_init(h, rootfd, caller, e):
 * Open what is needed and find out what works; ${h} is zero but for cross.
 * ${caller}: other identities are wanted, fail when they can't be had.
 * ${rootfd} stays the caller's.  Return 0 or -1 with ${e} set.
 */
int host_init(struct host *, int, bool, struct co_error *);

/* Can a thread have another identity than the rest? */
bool host_personas(void);
void host_fini(struct host *);

/*
 * Finding.  EXDEV for another mount, unless h->cross.
 */
int host_stat_name(const struct host *, int, const char *,
    struct host_stat *);
int host_stat_fd(const struct host *, int, struct host_stat *);
int host_node_open(const struct host *, int, const char *, int *);

/**
 * host_node_dup(h, fd, nfd):
 * A node descriptor for the object of any descriptor.
 */
int host_node_dup(const struct host *, int, int *);

/**
 * host_reopen(h, fd, flags, nfd):
 * Open the very object of a node descriptor, a regular file or directory,
 * with the flags of open(2), by the rights of the thread.
 */
int host_reopen(const struct host *, int, int, int *);
int host_handle_get(const struct host *, int, struct host_handle *);
int host_handle_open(const struct host *, const struct host_handle *, int *);

/*
 * Changing, through a node descriptor.
 */
int host_chmod(const struct host *, int, uint32_t);
int host_chown(const struct host *, int, uint32_t, uint32_t); /* UINT32_MAX */
int host_utimens(const struct host *, int, const struct timespec[2]);
int host_link(const struct host *, int, int, const char *);
int host_access(const struct host *, int, uint32_t);
int host_readlink(const struct host *, int, char *, size_t, size_t *);
int host_rename(const struct host *, int, const char *, int, const char *,
    uint32_t);

/*
 * New objects.  With a persona, they belong to it from the first instant,
 * and ${umask} or a default ACL applies.
 */
int host_create(const struct host *, int, const char *, int, uint32_t,
    int *);
int host_mkdir(const struct host *, int, const char *, uint32_t);
int host_mknod(const struct host *, int, const char *, uint32_t, uint32_t,
    uint32_t);
int host_symlink(const struct host *, const char *, int, const char *);
int host_tmpfile(const struct host *, int, int, uint32_t, int *);

/**
 * host_give(h, fd, p, mode, umask, st):
 * Where identities can't be taken by a thread: give what was just made, by
 * its node descriptor, the owner and mode that it should have, and renew
 * ${st}.
 */
int host_give(const struct host *, int, const struct host_persona *,
    uint32_t, uint32_t, struct host_stat *);

/* The open(2) flags for those of enum share_open_flags. */
int host_open_flags(uint32_t);

/**
 * host_enter(h, p, umask, saved), host_leave(h, saved):
 * Take an identity and a umask for this thread only; ${p} NULL: keep one's
 * own identity.  Between the two, only calls on behalf of the caller.
 */
struct host_saved {
	uint32_t	umask;		/* before */
	bool		masked;
	bool		entered;
	bool		groups;
};
int host_enter(const struct host *, const struct host_persona *, uint32_t,
    struct host_saved *);
void host_leave(const struct host *, const struct host_saved *);

/*
 * Open files.
 */
int host_fallocate(int, uint32_t, uint64_t, uint64_t);
int host_copy(int, uint64_t, int, uint64_t, uint64_t, uint64_t *);
int host_seek(int, uint64_t, enum share_whence, uint64_t *);
int host_datasync(int);
int host_syncfs(int);

/**
 * host_rlock(fd, type, start, end), host_rlock_get(fd, l):
 * Set a record lock that belongs to the open file, without waiting, or ask
 * who would stop it.  EOPNOTSUPP where the system has none such.
 */
int host_rlock(int, enum share_lock_type, uint64_t, uint64_t);
int host_rlock_get(int, struct share_lock *);

/**
 * host_getdents(fd, buf, size, len):
 * Read entries at the descriptor's place in the system's format, which
 * host_dirent() takes apart: entry at ${off}, next offset returned.
 */
int host_getdents(int, void *, size_t, size_t *);
size_t host_dirent(const void *, size_t, size_t, struct share_dirent *);

/*
 * Extended attributes, by a node descriptor and the type of its object.
 * Names are Linux's; what the system can't name is EOPNOTSUPP.
 */
int host_getxattr(const struct host *, int, uint32_t, const char *, void *,
    size_t, size_t *);
int host_listxattr(const struct host *, int, uint32_t, char *, size_t,
    size_t *);
int host_setxattr(const struct host *, int, uint32_t, const char *,
    const void *, size_t, uint32_t);
int host_removexattr(const struct host *, int, uint32_t, const char *);
int host_nodata(void);		/* ENODATA or ENOATTR */

int host_statfs(int, struct share_statfs *);

#endif /* HOST_H */
