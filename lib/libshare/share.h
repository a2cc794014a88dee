/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * libshare: contained file operations on one folder, for servers whose
 * clients are not trusted.  Codecs (FUSE, 9P2000.L) sit on top and know of
 * nothing else; the interceptor, libundo, sits below and is told of every
 * mutation before it happens, on the descriptors that the mutation uses.
 *
 * Containment.  Every operation starts from a descriptor and takes at most
 * one name, a single component.  Symbolic links are data: made, read and
 * moved, never followed.  Device nodes, FIFOs and sockets are made and
 * removed, never opened.  No race of renames or links, by the client or by
 * a process of the host, leads outside the folder.  A mount below the folder
 * is refused with EXDEV unless the options say otherwise.
 *
 * Conventions.  Functions return 0 or an errno of this host, which the codec
 * translates if its client speaks another dialect.  Results are stored
 * through the last pointers, and only on success.  All functions may be
 * called from any thread at any time, also with objects that another thread
 * is about to release, as long as the caller holds a reference itself; no
 * lock of the whole share is taken by reads and writes.  Ids, modes, flags
 * and times are those of the client; the library maps ids.
 *
 * A function that takes a name refuses "" and names with a slash with
 * EINVAL, longer than SHARE_NAME_MAX with ENAMETOOLONG, and "." and ".."
 * (except in share_lookup()) with what the system call would say.
 */

#ifndef SHARE_H
#define SHARE_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct co_error;
struct iovec;
struct undo;

struct share;
struct share_node;	/* an object of the folder, whatever its names */
struct share_file;	/* an open regular file */
struct share_dir;	/* an open directory */

#define	SHARE_NAME_MAX	255
#define	SHARE_PATH_MAX	4096	/* a path in share_change, with its NUL */
#define	SHARE_ID_NOBODY	65534	/* how an id without mapping is shown */

/*
 * Opening and closing.
 */

/*
 * Whose identity operations have.  SHARE_SELF: the server's own; what is
 * created belongs to the server's user, and changing owners fails unless
 * nothing would change.  SHARE_CALLER: the caller's, after mapping; the
 * server needs the privileges for it (root, or the capabilities CHOWN,
 * DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, FSETID, SETUID and SETGID).
 */
enum share_identity {
	SHARE_SELF, SHARE_CALLER
};

/*
 * Who checks permissions.  SHARE_CHECK_CLIENT: the client did already, as
 * kernels do (FUSE with default_permissions, 9P with access=client); the
 * server only gives new files their owner.  SHARE_CHECK_HERE: the host's
 * kernel does, as the mapped caller, for each operation; a caller with the
 * uid 0 keeps the server's rights over files.  The latter needs
 * SHARE_CALLER and per-thread credentials, which Linux has and FreeBSD has
 * not (CO_ESYS_UNSUPPORTED).
 */
enum share_checks {
	SHARE_CHECK_CLIENT, SHARE_CHECK_HERE
};

/*
 * Extended attributes.  user.* and the POSIX ACLs are always the file's.
 * SHARE_XATTR_MAPPED keeps all other names of the client (security.*,
 * trusted.*) in user.coppice.*, so that they mean nothing to the host: a
 * client's file capabilities are not the host's.  SHARE_XATTR_PLAIN passes
 * them, SHARE_XATTR_NONE refuses all with EOPNOTSUPP.
 */
enum share_xattrs {
	SHARE_XATTR_MAPPED, SHARE_XATTR_PLAIN, SHARE_XATTR_NONE
};

/* count ids from guest are those from host; both sides' ranges disjoint. */
struct share_map {
	uint32_t	guest;
	uint32_t	host;
	uint32_t	count;
};

/* A mutation that is about to happen; paths are relative to the root. */
enum share_change_kind {
	SHARE_CH_DATA, SHARE_CH_ATTR, SHARE_CH_CREATE, SHARE_CH_REMOVE,
	SHARE_CH_RENAME
};

struct share_change {
	enum share_change_kind kind;
	const char	*path;		/* NULL: a file that has no name */
	const char	*to;		/* SHARE_CH_RENAME: the new name */
};
typedef void share_change_fn(void *, const struct share_change *);

/* All zero is a good choice for an unprivileged server. */
struct share_options {
	bool			 readonly;	/* EROFS for any mutation */
	bool			 devices;	/* allow making device nodes */
	bool			 cross;		/* enter mounts in the folder */
	enum share_identity	 identity;
	enum share_checks	 checks;
	enum share_xattrs	 xattrs;
	const struct share_map	*uids;		/* copied; none: the same */
	size_t			 nuids;
	const struct share_map	*gids;
	size_t			 ngids;
	bool			 owned;		/* with SHARE_SELF: everything
						   is shown as owner's and
						   group's, changes of owners
						   are taken and forgotten,
						   and no file gets set-id
						   bits, which would be those
						   of the server */
	uint32_t		 owner, group;
	uint32_t		 max_fds;	/* descriptors that it may hold;
						   0: by RLIMIT_NOFILE */
	uint32_t		 max_nodes;	/* then ENFILE; 0: 4 194 304 */
	share_change_fn		*change;	/* NULL, or called before each
						   mutation, in its thread,
						   with locks held: it must
						   not call the library */
	void			*change_arg;
};

/**
 * share_open(rootfd, u, o, s, e):
 * Serve the directory ${rootfd}, which is duplicated, with the interceptor
 * ${u}, which must outlive the share; NULL for none.  ${o} may be NULL for
 * all defaults.  What the library needs of the system besides the folder
 * (on Linux, /proc/self/fd) is opened here, so that the caller can enter a
 * sandbox afterwards.  Fails with CO_ESHARE_ROOT, CO_ESYS_PERMISSION, or a
 * system error.
 */
int share_open(int, struct undo *, const struct share_options *,
    struct share **, struct co_error *);

/**
 * share_close(s):
 * Release everything, also what the client has not.  No call may be in
 * progress, and all objects of the share are gone afterwards.  NULL is fine.
 */
void share_close(struct share *);

/**
 * share_reset(s):
 * The one client is gone or begins anew: close all files and directories,
 * drop all locks and all references of share_keep().  No other call may be
 * in progress.
 */
void share_reset(struct share *);

/* Numbers for the control socket. */
struct share_stats {
	uint64_t	nodes;
	uint64_t	fds;		/* descriptors kept for nodes */
	uint64_t	files;
	uint64_t	dirs;
	uint64_t	locks;
	uint64_t	waiters;	/* threads that wait for a lock */
	uint64_t	reopened;	/* nodes whose descriptor was closed
					   to save it and opened again */
	uint64_t	read_bytes;
	uint64_t	written_bytes;
	uint64_t	mutations;
};
void share_stats(struct share *, struct share_stats *);

/**
 * share_readonly(s, on):
 * Refuse mutations from now on, or no longer; UNDO_LOCK's means.  A share
 * opened with readonly stays so.
 */
void share_readonly(struct share *, bool);

/*
 * Credentials: who asks.  Ids are the client's.  groups are supplementary
 * ones, used where the host checks permissions; at most 64 count.  umask is
 * applied by the library to what is created (or a default ACL instead).
 */
struct share_cred {
	uint32_t	 uid;
	uint32_t	 gid;
	uint32_t	 umask;
	uint32_t	 ngroups;
	const uint32_t	*groups;
};

/*
 * Nodes.
 *
 * A node stands for one object as long as anyone refers to it, whatever
 * happens to its names.  Every function that stores or returns a node adds
 * one reference for the caller, which share_put() takes back; a 9P fid is
 * such a reference.  Objects are recognised by device and inode number, and,
 * where the node's descriptor had to be closed in between, by file handle or
 * birth time too.  A node whose object can't be found again answers ESTALE.
 *
 * A node has a number, never used twice in the life of a share, that may go
 * over the wire; the root's is 1.  share_find() takes any number.  A client
 * that is told numbers and counts them itself (FUSE) is not believed: its
 * references are counted apart, see share_keep().
 */

/* Attributes; ids are the client's.  nlink leaves out what libundo keeps. */
struct share_attr {
	uint64_t	ino;		/* unique in the share */
	uint64_t	size;
	uint64_t	blocks;		/* of 512 bytes */
	uint32_t	blksize;
	uint32_t	mode;		/* S_IFMT and permissions */
	uint32_t	nlink;
	uint32_t	uid;
	uint32_t	gid;
	uint32_t	rdev_major;
	uint32_t	rdev_minor;
	uint32_t	btime_valid;
	struct timespec	atime;
	struct timespec	mtime;
	struct timespec	ctime;
	struct timespec	btime;
	uint64_t	version;	/* differs when the object changed */
};

/**
 * share_root(s):
 * Return the root, with a new reference.
 */
struct share_node *share_root(struct share *);

/**
 * share_find(s, number):
 * Return the node ${number} with a new reference, or NULL.
 */
struct share_node *share_find(struct share *, uint64_t);
uint64_t share_number(const struct share_node *);

/**
 * share_hold(n), share_put(s, n):
 * Add one reference; take one back.  NULL is fine for share_put().
 */
void share_hold(struct share_node *);
void share_put(struct share *, struct share_node *);

/**
 * share_keep(n), share_forget(s, number, count):
 * Hand the caller's reference over to the client; take back up to ${count}
 * of those that the client has of the node ${number}, if there is one.
 */
void share_keep(struct share_node *);
void share_forget(struct share *, uint64_t, uint64_t);

/* S_IFMT bits of the object; they never change. */
uint32_t share_type(const struct share_node *);

/**
 * share_name(s, n, dir, name):
 * Store the directory (with a reference) and the name under which ${n} was
 * last seen.  ENOENT for the root and for a node without name.
 */
int share_name(struct share *, struct share_node *, struct share_node **,
    char[SHARE_NAME_MAX + 1]);

/**
 * share_path(s, n, buf, size):
 * Store the path of ${n} relative to the root, "" for the root itself.
 */
int share_path(struct share *, struct share_node *, char *, size_t);

/**
 * share_lookup(s, c, dir, name, n, a):
 * Find ${name} in ${dir}.  "." is ${dir}, ".." its parent, and the root's
 * ".." the root.
 */
int share_lookup(struct share *, const struct share_cred *,
    struct share_node *, const char *, struct share_node **,
    struct share_attr *);

/**
 * share_getattr(s, n, f, a):
 * ${f} is an open file of the node, or NULL.
 */
int share_getattr(struct share *, struct share_node *, struct share_file *,
    struct share_attr *);

/* What share_setattr() changes: members whose flag is set. */
enum share_set {
	SHARE_SET_MODE = 0x01, SHARE_SET_UID = 0x02, SHARE_SET_GID = 0x04,
	SHARE_SET_SIZE = 0x08,
	SHARE_SET_ATIME = 0x10, SHARE_SET_MTIME = 0x20,	/* to atime, mtime */
	SHARE_SET_ATIME_NOW = 0x40, SHARE_SET_MTIME_NOW = 0x80,
	SHARE_SET_CTIME = 0x100,	/* only so that the ctime is now */
	SHARE_SET_KILL = 0x200		/* also drop set-id bits, as a write by
					   an unprivileged user does */
};

struct share_setattr {
	uint32_t	set;
	uint32_t	mode;		/* permission bits */
	uint32_t	uid;
	uint32_t	gid;
	uint64_t	size;
	struct timespec	atime;
	struct timespec	mtime;
};

/**
 * share_setattr(s, c, n, f, set, a):
 * Change attributes, through ${f} if not NULL (a size then needs no right
 * to open the file).  ${a} (may be NULL) gets the new attributes.
 */
int share_setattr(struct share *, const struct share_cred *,
    struct share_node *, struct share_file *, const struct share_setattr *,
    struct share_attr *);

/**
 * share_access(s, c, n, mask):
 * May the caller do ${mask} (bits of access(2): 4 read, 2 write, 1 execute,
 * 0 exist)?  With SHARE_CHECK_CLIENT, the answer for the server itself.
 */
int share_access(struct share *, const struct share_cred *,
    struct share_node *, uint32_t);

/**
 * share_readlink(s, n, buf, size, len):
 * Store the target of a symbolic link, not NUL-terminated.
 */
int share_readlink(struct share *, struct share_node *, char *, size_t,
    size_t *);

/*
 * Names.
 */
int share_mkdir(struct share *, const struct share_cred *,
    struct share_node *, const char *, uint32_t, struct share_node **,
    struct share_attr *);

/**
 * share_mknod(s, c, dir, name, mode, major, minor, n, a):
 * Make a regular file, FIFO, socket or, where allowed, a device.  A device
 * 0, 0 of type character (a whiteout) counts as a device.
 */
int share_mknod(struct share *, const struct share_cred *,
    struct share_node *, const char *, uint32_t, uint32_t, uint32_t,
    struct share_node **, struct share_attr *);

/**
 * share_symlink(s, c, dir, name, target, n, a):
 * ${target} is kept byte for byte and never looked at.
 */
int share_symlink(struct share *, const struct share_cred *,
    struct share_node *, const char *, const char *, struct share_node **,
    struct share_attr *);

/**
 * share_link(s, c, n, dir, name, a):
 * Give ${n} another name.  A reference is added to ${n} itself.
 */
int share_link(struct share *, const struct share_cred *,
    struct share_node *, struct share_node *, const char *,
    struct share_attr *);

int share_unlink(struct share *, const struct share_cred *,
    struct share_node *, const char *);
int share_rmdir(struct share *, const struct share_cred *,
    struct share_node *, const char *);

enum share_rename_flags {
	SHARE_NOREPLACE = 1, SHARE_EXCHANGE = 2
};

/**
 * share_rename(s, c, dir, name, todir, toname, flags):
 * EINVAL for flags that this system does not have.
 */
int share_rename(struct share *, const struct share_cred *,
    struct share_node *, const char *, struct share_node *, const char *,
    uint32_t);

/*
 * Open files.  Reference counted like nodes, with numbers of their own.
 * A file keeps its node.
 */
enum share_open_flags {
	SHARE_O_READ = 0x001, SHARE_O_WRITE = 0x002, SHARE_O_TRUNC = 0x004,
	SHARE_O_APPEND = 0x008,	/* each write goes to the end */
	SHARE_O_EXCL = 0x010,	/* share_create() only: must be new */
	SHARE_O_DIRECT = 0x020,	/* a wish: taken, and I/O may be cached */
	SHARE_O_SYNC = 0x040, SHARE_O_DSYNC = 0x080,
	SHARE_O_NOATIME = 0x100, SHARE_O_EXEC = 0x200, /* read, to execute */
	SHARE_O_KILL = 0x400	/* with SHARE_O_TRUNC: drop set-id bits */
};

/**
 * share_file_open(s, c, n, flags, f):
 * Open a regular file.  EISDIR for a directory, ELOOP for a symbolic link,
 * ENXIO for anything else.
 */
int share_file_open(struct share *, const struct share_cred *,
    struct share_node *, uint32_t, struct share_file **);

/**
 * share_create(s, c, dir, name, flags, mode, n, a, f):
 * Create and open in one step, or, without SHARE_O_EXCL, open what is there.
 */
int share_create(struct share *, const struct share_cred *,
    struct share_node *, const char *, uint32_t, uint32_t,
    struct share_node **, struct share_attr *, struct share_file **);

/**
 * share_tmpfile(s, c, dir, flags, mode, n, a, f):
 * Create a file without name; share_link() can give it one.  EOPNOTSUPP
 * where the system can't.
 */
int share_tmpfile(struct share *, const struct share_cred *,
    struct share_node *, uint32_t, uint32_t, struct share_node **,
    struct share_attr *, struct share_file **);

/**
 * share_file_find(s, number), share_file_number(f):
 * As for nodes.  The number of a directory is never that of a file.
 */
struct share_file *share_file_find(struct share *, uint64_t);
uint64_t share_file_number(const struct share_file *);
struct share_node *share_file_node(const struct share_file *);
uint32_t share_file_flags(const struct share_file *);

/**
 * share_file_close(s, f), share_file_put(s, f):
 * Close: the number is no longer found, the locks that came through this
 * file are dropped, and the caller's reference is given back.  Put: give
 * back a reference got by share_file_find().  Both return nothing, as an
 * error of close(2) comes with share_flush().
 */
void share_file_close(struct share *, struct share_file *);
void share_file_put(struct share *, struct share_file *);

/**
 * share_file_fd(f):
 * The descriptor, for a kernel that does I/O on it by itself; for reading
 * only, as writes must be told to libundo.  It lives as long as ${f}.
 */
int share_file_fd(const struct share_file *);

/**
 * share_read(s, f, buf, len, off, n), share_readv(s, f, iov, count, off, n):
 * Store up to ${len} bytes and how many there were; 0 at the end.
 */
int share_read(struct share *, struct share_file *, void *, size_t,
    uint64_t, size_t *);
int share_readv(struct share *, struct share_file *, const struct iovec *,
    int, uint64_t, size_t *);

/**
 * share_write(s, f, buf, len, off, flags, n), share_writev(...):
 * ${flags} SHARE_W_KILL: drop set-id bits, the writer is unprivileged.
 */
enum share_write_flags {
	SHARE_W_KILL = 1
};
int share_write(struct share *, struct share_file *, const void *, size_t,
    uint64_t, uint32_t, size_t *);
int share_writev(struct share *, struct share_file *, const struct iovec *,
    int, uint64_t, uint32_t, size_t *);

/**
 * share_flush(s, f):
 * What close(2) would report, without closing.
 */
int share_flush(struct share *, struct share_file *);
int share_fsync(struct share *, struct share_file *, bool);	/* data only */

enum share_falloc {
	SHARE_F_KEEP_SIZE = 0x01, SHARE_F_PUNCH_HOLE = 0x02,
	SHARE_F_COLLAPSE = 0x08, SHARE_F_ZERO = 0x10, SHARE_F_INSERT = 0x20,
	SHARE_F_UNSHARE = 0x40
};
int share_fallocate(struct share *, struct share_file *, uint32_t, uint64_t,
    uint64_t);

/**
 * share_copy(s, in, inoff, out, outoff, len, n):
 * copy_file_range(2); both may be the same file.
 */
int share_copy(struct share *, struct share_file *, uint64_t,
    struct share_file *, uint64_t, uint64_t, uint64_t *);

enum share_whence {
	SHARE_SEEK_DATA, SHARE_SEEK_HOLE
};
int share_seek(struct share *, struct share_file *, uint64_t,
    enum share_whence, uint64_t *);

/*
 * Advisory locks.  Owners are numbers of the client's.  Locks of different
 * owners in one share exclude each other; where the system allows (flock(2)
 * everywhere, record locks on Linux) they exclude processes of the host too.
 * The two kinds do not see each other.
 */
enum share_lock_type {
	SHARE_UNLOCK, SHARE_RDLOCK, SHARE_WRLOCK
};

struct share_lock {
	enum share_lock_type type;
	uint64_t	start;
	uint64_t	end;		/* the last byte; UINT64_MAX: to the
					   end of all files */
	uint32_t	pid;		/* told to others; 0: not known */
};

/*
 * A wait that another thread can end: {0} before use, one wait at a time,
 * on the waiting request's stack.  The rest is the library's.
 */
struct share_wait {
	_Atomic int	cancelled;
};

/**
 * share_lock(s, f, owner, l, w):
 * Set or release a record lock.  ${w} NULL: EAGAIN when another has it;
 * else wait until it is free, EINTR after share_cancel(), or EDEADLK.
 * ENOLCK when too many wait already.
 */
int share_lock(struct share *, struct share_file *, uint64_t,
    const struct share_lock *, struct share_wait *);

/**
 * share_flock(s, f, owner, type, w):
 * The same for the lock of flock(2).
 */
int share_flock(struct share *, struct share_file *, uint64_t,
    enum share_lock_type, struct share_wait *);

/**
 * share_getlock(s, f, owner, l):
 * Overwrite ${l} with a record lock that would stop it, or set its type to
 * SHARE_UNLOCK.
 */
int share_getlock(struct share *, struct share_file *, uint64_t,
    struct share_lock *);

/**
 * share_unlock_owner(s, f, owner):
 * Drop all record locks of ${owner} on the node of ${f}, as the closing of
 * any descriptor of a process does.
 */
void share_unlock_owner(struct share *, struct share_file *, uint64_t);

/**
 * share_cancel(s, w):
 * End the wait ${w} now or, if it has not begun, when it does.  Fine also
 * when the wait is over, as long as ${w} is there.
 */
void share_cancel(struct share *, struct share_wait *);

/*
 * Open directories.  A cookie names a place between two entries and stays
 * good while the directory is open, whatever is made or removed; 0 is the
 * start.  "." and ".." are among the entries.
 */
struct share_dirent {
	uint64_t	 ino;		/* as in share_attr */
	uint64_t	 cookie;	/* of the place after this entry */
	uint32_t	 type;		/* DT_*; 0: not known */
	uint32_t	 namelen;
	const char	*name;		/* NUL-terminated */
};

/*
 * Take one entry; false: it did not fit, stop, and it is not consumed.  With
 * share_readdirplus(), ${n} and ${a} are what share_lookup() would store,
 * and a taken entry leaves its reference with the callee; they are NULL for
 * "." and ".." and for what could not be looked up.
 */
typedef bool share_dirent_fn(void *, const struct share_dirent *,
    struct share_node *, const struct share_attr *);

int share_opendir(struct share *, const struct share_cred *,
    struct share_node *, struct share_dir **);
struct share_dir *share_dir_find(struct share *, uint64_t);
uint64_t share_dir_number(const struct share_dir *);
struct share_node *share_dir_node(const struct share_dir *);
void share_dir_close(struct share *, struct share_dir *);
void share_dir_put(struct share *, struct share_dir *);

/**
 * share_readdir(s, d, cookie, fn, arg), share_readdirplus(s, c, d, ...):
 * Call ${fn} for the entries after ${cookie} until it returns false or there
 * are no more.
 */
int share_readdir(struct share *, struct share_dir *, uint64_t,
    share_dirent_fn *, void *);
int share_readdirplus(struct share *, const struct share_cred *,
    struct share_dir *, uint64_t, share_dirent_fn *, void *);
int share_fsyncdir(struct share *, struct share_dir *, bool);

/*
 * Extended attributes.  Names are the client's (Linux namespaces on every
 * host); ids inside POSIX ACLs are mapped.  A ${size} of 0 asks for the
 * length only; ERANGE when the buffer is too small.  ENODATA is ENOATTR on
 * systems that have that.
 */
enum share_xattr_flags {
	SHARE_X_CREATE = 1, SHARE_X_REPLACE = 2,
	SHARE_X_KILL_SGID = 4	/* an ACL set by one not in the group */
};
int share_getxattr(struct share *, const struct share_cred *,
    struct share_node *, const char *, void *, size_t, size_t *);
int share_listxattr(struct share *, const struct share_cred *,
    struct share_node *, char *, size_t, size_t *);
int share_setxattr(struct share *, const struct share_cred *,
    struct share_node *, const char *, const void *, size_t, uint32_t);
int share_removexattr(struct share *, const struct share_cred *,
    struct share_node *, const char *);

/*
 * The filesystem below.
 */
struct share_statfs {
	uint64_t	blocks;		/* of frsize */
	uint64_t	bfree;
	uint64_t	bavail;
	uint64_t	files;
	uint64_t	ffree;
	uint64_t	fsid;
	uint32_t	bsize;
	uint32_t	frsize;
	uint32_t	namelen;
	uint32_t	type;		/* f_type on Linux, else 0 */
};
int share_statfs(struct share *, struct share_node *, struct share_statfs *);
int share_syncfs(struct share *);

#endif /* SHARE_H */
