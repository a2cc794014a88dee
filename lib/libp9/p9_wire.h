/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The 9P2000.L messages as C structures, and the two functions that turn
 * them into bytes and back.  Pure: no system calls, no allocation, the same
 * on every platform.  The server decodes T and encodes R messages, a client
 * does the opposite with the same table.
 *
 * Integers are little-endian on the wire.  Strings have 16-bit lengths and
 * no NUL.  Every message begins with size[4] type[1] tag[2].
 */

#ifndef P9_WIRE_H
#define P9_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define	P9_VERSION	"9P2000.L"
#define	P9_NOTAG	UINT16_MAX
#define	P9_NOFID	UINT32_MAX
#define	P9_NOUID	UINT32_MAX
#define	P9_WALK_MAX	16		/* names in one Twalk */
#define	P9_HEADER	7		/* size, type, tag */
#define	P9_IOHEADER	24		/* room left in msize by an iounit */
#define	P9_RREAD_DATA	11		/* where the data of an Rread begin */
#define	P9_TWRITE_DATA	23		/* and those of a Twrite */

enum p9_type {
	P9_RLERROR = 7,
	P9_TSTATFS = 8,		P9_RSTATFS,
	P9_TLOPEN = 12,		P9_RLOPEN,
	P9_TLCREATE = 14,	P9_RLCREATE,
	P9_TSYMLINK = 16,	P9_RSYMLINK,
	P9_TMKNOD = 18,		P9_RMKNOD,
	P9_TRENAME = 20,	P9_RRENAME,
	P9_TREADLINK = 22,	P9_RREADLINK,
	P9_TGETATTR = 24,	P9_RGETATTR,
	P9_TSETATTR = 26,	P9_RSETATTR,
	P9_TXATTRWALK = 30,	P9_RXATTRWALK,
	P9_TXATTRCREATE = 32,	P9_RXATTRCREATE,
	P9_TREADDIR = 40,	P9_RREADDIR,
	P9_TFSYNC = 50,		P9_RFSYNC,
	P9_TLOCK = 52,		P9_RLOCK,
	P9_TGETLOCK = 54,	P9_RGETLOCK,
	P9_TLINK = 70,		P9_RLINK,
	P9_TMKDIR = 72,		P9_RMKDIR,
	P9_TRENAMEAT = 74,	P9_RRENAMEAT,
	P9_TUNLINKAT = 76,	P9_RUNLINKAT,
	P9_TVERSION = 100,	P9_RVERSION,
	P9_TAUTH = 102,		P9_RAUTH,
	P9_TATTACH = 104,	P9_RATTACH,
	P9_TFLUSH = 108,	P9_RFLUSH,
	P9_TWALK = 110,		P9_RWALK,
	P9_TREAD = 116,		P9_RREAD,
	P9_TWRITE = 118,	P9_RWRITE,
	P9_TCLUNK = 120,	P9_RCLUNK,
	P9_TREMOVE = 122,	P9_RREMOVE,
	P9_TYPES = 128
};

enum p9_qid_type {
	P9_QTDIR = 0x80, P9_QTAPPEND = 0x40, P9_QTEXCL = 0x20,
	P9_QTSYMLINK = 0x02, P9_QTFILE = 0x00
};

enum p9_getattr_mask {
	P9_GETATTR_MODE = 0x0001, P9_GETATTR_NLINK = 0x0002,
	P9_GETATTR_UID = 0x0004, P9_GETATTR_GID = 0x0008,
	P9_GETATTR_RDEV = 0x0010, P9_GETATTR_ATIME = 0x0020,
	P9_GETATTR_MTIME = 0x0040, P9_GETATTR_CTIME = 0x0080,
	P9_GETATTR_INO = 0x0100, P9_GETATTR_SIZE = 0x0200,
	P9_GETATTR_BLOCKS = 0x0400, P9_GETATTR_BTIME = 0x0800,
	P9_GETATTR_GEN = 0x1000, P9_GETATTR_DATA_VERSION = 0x2000,
	P9_GETATTR_BASIC = 0x07ff, P9_GETATTR_ALL = 0x3fff
};

enum p9_setattr_mask {
	P9_SETATTR_MODE = 0x001, P9_SETATTR_UID = 0x002,
	P9_SETATTR_GID = 0x004, P9_SETATTR_SIZE = 0x008,
	P9_SETATTR_ATIME = 0x010, P9_SETATTR_MTIME = 0x020,
	P9_SETATTR_CTIME = 0x040, P9_SETATTR_ATIME_SET = 0x080,
	P9_SETATTR_MTIME_SET = 0x100, P9_SETATTR_ALL = 0x1ff
};

/* Flags of Tlopen and Tlcreate: those of open(2) on Linux/x86. */
enum p9_open_flags {
	P9_O_ACCMODE = 03, P9_O_RDONLY = 00, P9_O_WRONLY = 01, P9_O_RDWR = 02,
	P9_O_CREATE = 0100, P9_O_EXCL = 0200, P9_O_TRUNC = 01000,
	P9_O_APPEND = 02000, P9_O_DSYNC = 010000, P9_O_DIRECT = 040000,
	P9_O_DIRECTORY = 0200000, P9_O_NOFOLLOW = 0400000,
	P9_O_NOATIME = 01000000, P9_O_SYNC = 04000000
};

enum p9_lock_type {
	P9_LOCK_RDLCK, P9_LOCK_WRLCK, P9_LOCK_UNLCK
};
enum p9_lock_flags {
	P9_LOCK_BLOCK = 1, P9_LOCK_RECLAIM = 2
};
enum p9_lock_status {
	P9_LOCK_SUCCESS, P9_LOCK_BLOCKED, P9_LOCK_ERROR, P9_LOCK_GRACE
};

#define	P9_AT_REMOVEDIR		0x200
#define	P9_XATTR_CREATE		1
#define	P9_XATTR_REPLACE	2

/* Bytes of the message; they live as long as its buffer. */
struct p9_str {
	uint16_t	 len;
	const char	*s;
};

struct p9_data {
	uint32_t	 len;
	const void	*p;
};

struct p9_qid {
	uint8_t		type;
	uint32_t	version;
	uint64_t	path;
};

struct p9_names {
	uint16_t	n;
	struct p9_str	name[P9_WALK_MAX];
};

struct p9_qids {
	uint16_t	n;
	struct p9_qid	qid[P9_WALK_MAX];
};

/* Names of members are those of the fields in the protocol's documents. */
struct p9_msg {
	uint8_t		type;
	uint16_t	tag;
	union {
		struct {
			uint32_t	ecode;
		} rlerror;
		struct {
			uint32_t	fid;
		} tstatfs, treadlink, tclunk, tremove;
		struct {
			uint32_t	type;
			uint32_t	bsize;
			uint64_t	blocks;
			uint64_t	bfree;
			uint64_t	bavail;
			uint64_t	files;
			uint64_t	ffree;
			uint64_t	fsid;
			uint32_t	namelen;
		} rstatfs;
		struct {
			uint32_t	fid;
			uint32_t	flags;
		} tlopen;
		struct {
			struct p9_qid	qid;
			uint32_t	iounit;
		} rlopen;		/* and Rlcreate */
		struct {
			uint32_t	fid;
			struct p9_str	name;
			uint32_t	flags;
			uint32_t	mode;
			uint32_t	gid;
		} tlcreate;
		struct {
			uint32_t	fid;
			struct p9_str	name;
			struct p9_str	symtgt;
			uint32_t	gid;
		} tsymlink;
		struct {
			struct p9_qid	qid;
		} rqid;		/* Rsymlink, Rmknod, Rmkdir, Rattach, Rauth */
		struct {
			uint32_t	dfid;
			struct p9_str	name;
			uint32_t	mode;
			uint32_t	major;
			uint32_t	minor;
			uint32_t	gid;
		} tmknod;
		struct {
			uint32_t	fid;
			uint32_t	dfid;
			struct p9_str	name;
		} trename;
		struct {
			struct p9_str	target;
		} rreadlink;
		struct {
			uint32_t	fid;
			uint64_t	request_mask;
		} tgetattr;
		struct {
			uint64_t	valid;
			struct p9_qid	qid;
			uint32_t	mode;
			uint32_t	uid;
			uint32_t	gid;
			uint64_t	nlink;
			uint64_t	rdev;
			uint64_t	size;
			uint64_t	blksize;
			uint64_t	blocks;
			uint64_t	atime_sec;
			uint64_t	atime_nsec;
			uint64_t	mtime_sec;
			uint64_t	mtime_nsec;
			uint64_t	ctime_sec;
			uint64_t	ctime_nsec;
			uint64_t	btime_sec;
			uint64_t	btime_nsec;
			uint64_t	gen;
			uint64_t	data_version;
		} rgetattr;
		struct {
			uint32_t	fid;
			uint32_t	valid;
			uint32_t	mode;
			uint32_t	uid;
			uint32_t	gid;
			uint64_t	size;
			uint64_t	atime_sec;
			uint64_t	atime_nsec;
			uint64_t	mtime_sec;
			uint64_t	mtime_nsec;
		} tsetattr;
		struct {
			uint32_t	fid;
			uint32_t	newfid;
			struct p9_str	name;
		} txattrwalk;
		struct {
			uint64_t	size;
		} rxattrwalk;
		struct {
			uint32_t	fid;
			struct p9_str	name;
			uint64_t	attr_size;
			uint32_t	flags;
		} txattrcreate;
		struct {
			uint32_t	fid;
			uint64_t	offset;
			uint32_t	count;
		} tread;		/* and Treaddir */
		struct {
			struct p9_data	data;
		} rread;		/* and Rreaddir */
		struct {
			uint32_t	fid;
			uint32_t	datasync; /* 0 if the client is old */
		} tfsync;
		struct {
			uint32_t	fid;
			uint8_t		type;
			uint32_t	flags;
			uint64_t	start;
			uint64_t	length;
			uint32_t	proc_id;
			struct p9_str	client_id;
		} tlock;
		struct {
			uint8_t		status;
		} rlock;
		struct {
			uint32_t	fid;	/* not in the R message */
			uint8_t		type;
			uint64_t	start;
			uint64_t	length;
			uint32_t	proc_id;
			struct p9_str	client_id;
		} getlock;
		struct {
			uint32_t	dfid;
			uint32_t	fid;
			struct p9_str	name;
		} tlink;
		struct {
			uint32_t	dfid;
			struct p9_str	name;
			uint32_t	mode;
			uint32_t	gid;
		} tmkdir;
		struct {
			uint32_t	olddirfid;
			struct p9_str	oldname;
			uint32_t	newdirfid;
			struct p9_str	newname;
		} trenameat;
		struct {
			uint32_t	dirfid;
			struct p9_str	name;
			uint32_t	flags;
		} tunlinkat;
		struct {
			uint32_t	msize;
			struct p9_str	version;
		} version;		/* T and R */
		struct {
			uint32_t	fid;	/* Tattach only */
			uint32_t	afid;
			struct p9_str	uname;
			struct p9_str	aname;
			uint32_t	n_uname;
		} tattach;		/* and Tauth */
		struct {
			uint16_t	oldtag;
		} tflush;
		struct {
			uint32_t	fid;
			uint32_t	newfid;
			struct p9_names	wname;
		} twalk;
		struct {
			struct p9_qids	wqid;
		} rwalk;
		struct {
			uint32_t	fid;
			uint64_t	offset;
			struct p9_data	data;
		} twrite;
		struct {
			uint32_t	count;
		} rwrite;
	};
};

/* One entry in the data of an Rreaddir. */
struct p9_dirent {
	struct p9_qid	qid;
	uint64_t	offset;		/* where the next entry begins */
	uint8_t		type;		/* DT_* */
	struct p9_str	name;
};

/**
 * p9_decode(buf, len, m):
 * Take apart the message of ${len} bytes at ${buf}, to which the size field
 * must agree.  Return 0, EINVAL if it is malformed in any way (a field or
 * string beyond the end, more than P9_WALK_MAX names, bytes left over), or
 * EOPNOTSUPP if there is no such type.  Type and tag are stored whenever the
 * header is there.
 */
int p9_decode(const void *, size_t, struct p9_msg *);

/**
 * p9_encode(m, buf, cap, len):
 * Write ${m} and store its length.  Data that are in their place in ${buf}
 * already are not copied.  Return 0, EMSGSIZE if ${cap} is too small, or
 * EOPNOTSUPP if there is no such type.
 */
int p9_encode(const struct p9_msg *, void *, size_t, size_t *);

/**
 * p9_size(buf):
 * The size field of the message at ${buf}, of which four bytes are there.
 */
uint32_t p9_size(const void *);

/**
 * p9_dirent_put(d, buf, cap), p9_dirent_get(buf, len, d):
 * Write or read one entry; return its length, or 0 if it does not fit or is
 * malformed.
 */
size_t p9_dirent_put(const struct p9_dirent *, void *, size_t);
size_t p9_dirent_get(const void *, size_t, struct p9_dirent *);

/**
 * p9_errno(host):
 * The number that Linux has for this host's errno; EIO's for what Linux does
 * not know.
 */
uint32_t p9_errno(int);

#endif /* P9_WIRE_H */
