/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The FUSE protocol, version 7, as it is on the wire: what a kernel sends
 * from 7.31 on and what it wants to hear.  All integers are the host's.
 */

#ifndef WIRE_H
#define WIRE_H

#include <stdint.h>

#define	FW_MAJOR	7
#define	FW_MINOR	38	/* the newest that we know all about */
#define	FW_MINOR_MIN	31
#define	FW_ROOT		1	/* the root's node */

enum fw_opcode {
	FW_LOOKUP = 1, FW_FORGET = 2, FW_GETATTR = 3, FW_SETATTR = 4,
	FW_READLINK = 5, FW_SYMLINK = 6, FW_MKNOD = 8, FW_MKDIR = 9,
	FW_UNLINK = 10, FW_RMDIR = 11, FW_RENAME = 12, FW_LINK = 13,
	FW_OPEN = 14, FW_READ = 15, FW_WRITE = 16, FW_STATFS = 17,
	FW_RELEASE = 18, FW_FSYNC = 20, FW_SETXATTR = 21, FW_GETXATTR = 22,
	FW_LISTXATTR = 23, FW_REMOVEXATTR = 24, FW_FLUSH = 25, FW_INIT = 26,
	FW_OPENDIR = 27, FW_READDIR = 28, FW_RELEASEDIR = 29,
	FW_FSYNCDIR = 30, FW_GETLK = 31, FW_SETLK = 32, FW_SETLKW = 33,
	FW_ACCESS = 34, FW_CREATE = 35, FW_INTERRUPT = 36, FW_BMAP = 37,
	FW_DESTROY = 38, FW_IOCTL = 39, FW_POLL = 40, FW_NOTIFY_REPLY = 41,
	FW_BATCH_FORGET = 42, FW_FALLOCATE = 43, FW_READDIRPLUS = 44,
	FW_RENAME2 = 45, FW_LSEEK = 46, FW_COPY_FILE_RANGE = 47,
	FW_SETUPMAPPING = 48, FW_REMOVEMAPPING = 49, FW_SYNCFS = 50,
	FW_TMPFILE = 51, FW_STATX = 52, FW_COPY_FILE_RANGE_64 = 53,
	FW_OPCODES = 54
};

/* What both sides can, in the 64 bits of FW_INIT. */
#define	FW_BIT(n)		(UINT64_C(1) << (n))
#define	FW_ASYNC_READ		FW_BIT(0)
#define	FW_POSIX_LOCKS		FW_BIT(1)
#define	FW_ATOMIC_O_TRUNC	FW_BIT(3)
#define	FW_EXPORT_SUPPORT	FW_BIT(4)
#define	FW_BIG_WRITES		FW_BIT(5)
#define	FW_DONT_MASK		FW_BIT(6)
#define	FW_FLOCK_LOCKS		FW_BIT(10)
#define	FW_AUTO_INVAL_DATA	FW_BIT(12)
#define	FW_DO_READDIRPLUS	FW_BIT(13)
#define	FW_READDIRPLUS_AUTO	FW_BIT(14)
#define	FW_ASYNC_DIO		FW_BIT(15)
#define	FW_PARALLEL_DIROPS	FW_BIT(18)
#define	FW_POSIX_ACL		FW_BIT(20)
#define	FW_MAX_PAGES		FW_BIT(22)
#define	FW_CACHE_SYMLINKS	FW_BIT(23)
#define	FW_HANDLE_KILLPRIV_V2	FW_BIT(28)
#define	FW_SETXATTR_EXT		FW_BIT(29)
#define	FW_INIT_EXT		FW_BIT(30)
#define	FW_DIRECT_IO_MMAP	FW_BIT(36)

struct fw_in_header {
	uint32_t	len;
	uint32_t	opcode;
	uint64_t	unique;
	uint64_t	nodeid;
	uint32_t	uid;
	uint32_t	gid;
	uint32_t	pid;
	uint16_t	extlen;		/* of extensions, in 8 bytes */
	uint16_t	padding;
};

struct fw_out_header {
	uint32_t	len;
	int32_t		error;		/* 0, or an errno made negative */
	uint64_t	unique;
};

struct fw_attr {
	uint64_t	ino;
	uint64_t	size;
	uint64_t	blocks;
	uint64_t	atime;
	uint64_t	mtime;
	uint64_t	ctime;
	uint32_t	atimensec;
	uint32_t	mtimensec;
	uint32_t	ctimensec;
	uint32_t	mode;
	uint32_t	nlink;
	uint32_t	uid;
	uint32_t	gid;
	uint32_t	rdev;
	uint32_t	blksize;
	uint32_t	flags;
};

struct fw_entry_out {
	uint64_t	nodeid;
	uint64_t	generation;
	uint64_t	entry_valid;
	uint64_t	attr_valid;
	uint32_t	entry_valid_nsec;
	uint32_t	attr_valid_nsec;
	struct fw_attr	attr;
};

struct fw_attr_out {
	uint64_t	attr_valid;
	uint32_t	attr_valid_nsec;
	uint32_t	dummy;
	struct fw_attr	attr;
};

struct fw_init_in {
	uint32_t	major;
	uint32_t	minor;
	uint32_t	max_readahead;
	uint32_t	flags;
	/* From 7.36 on. */
	uint32_t	flags2;
	uint32_t	unused[11];
};
#define	FW_INIT_IN_OLD	16

struct fw_init_out {
	uint32_t	major;
	uint32_t	minor;
	uint32_t	max_readahead;
	uint32_t	flags;
	uint16_t	max_background;
	uint16_t	congestion_threshold;
	uint32_t	max_write;
	uint32_t	time_gran;
	uint16_t	max_pages;
	uint16_t	map_alignment;
	uint32_t	flags2;
	uint32_t	unused[7];
};

#define	FW_GETATTR_FH	1
struct fw_getattr_in {
	uint32_t	flags;
	uint32_t	dummy;
	uint64_t	fh;
};

#define	FW_FATTR_MODE		0x001
#define	FW_FATTR_UID		0x002
#define	FW_FATTR_GID		0x004
#define	FW_FATTR_SIZE		0x008
#define	FW_FATTR_ATIME		0x010
#define	FW_FATTR_MTIME		0x020
#define	FW_FATTR_FH		0x040
#define	FW_FATTR_ATIME_NOW	0x080
#define	FW_FATTR_MTIME_NOW	0x100
#define	FW_FATTR_CTIME		0x400
#define	FW_FATTR_KILL_SUIDGID	0x800
struct fw_setattr_in {
	uint32_t	valid;
	uint32_t	padding;
	uint64_t	fh;
	uint64_t	size;
	uint64_t	lock_owner;
	uint64_t	atime;
	uint64_t	mtime;
	uint64_t	ctime;
	uint32_t	atimensec;
	uint32_t	mtimensec;
	uint32_t	ctimensec;
	uint32_t	mode;
	uint32_t	unused4;
	uint32_t	uid;
	uint32_t	gid;
	uint32_t	unused5;
};

struct fw_mknod_in {
	uint32_t	mode;
	uint32_t	rdev;
	uint32_t	umask;
	uint32_t	padding;
};

struct fw_mkdir_in {
	uint32_t	mode;
	uint32_t	umask;
};

struct fw_rename_in {
	uint64_t	newdir;
};

struct fw_rename2_in {
	uint64_t	newdir;
	uint32_t	flags;
	uint32_t	padding;
};

struct fw_link_in {
	uint64_t	oldnodeid;
};

#define	FW_OPEN_KILL_SUIDGID	1
struct fw_open_in {
	uint32_t	flags;
	uint32_t	open_flags;
};

struct fw_create_in {
	uint32_t	flags;
	uint32_t	mode;
	uint32_t	umask;
	uint32_t	open_flags;
};

#define	FW_FOPEN_DIRECT_IO		0x01
#define	FW_FOPEN_KEEP_CACHE		0x02
#define	FW_FOPEN_CACHE_DIR		0x08
#define	FW_FOPEN_PARALLEL_WRITES	0x40
struct fw_open_out {
	uint64_t	fh;
	uint32_t	open_flags;
	int32_t		backing_id;
};

#define	FW_RELEASE_FLUSH		1
#define	FW_RELEASE_FLOCK_UNLOCK		2
struct fw_release_in {
	uint64_t	fh;
	uint32_t	flags;
	uint32_t	release_flags;
	uint64_t	lock_owner;
};

struct fw_flush_in {
	uint64_t	fh;
	uint32_t	unused;
	uint32_t	padding;
	uint64_t	lock_owner;
};

struct fw_read_in {
	uint64_t	fh;
	uint64_t	offset;
	uint32_t	size;
	uint32_t	read_flags;
	uint64_t	lock_owner;
	uint32_t	flags;
	uint32_t	padding;
};

#define	FW_WRITE_CACHE		1
#define	FW_WRITE_LOCKOWNER	2
#define	FW_WRITE_KILL_SUIDGID	4
struct fw_write_in {
	uint64_t	fh;
	uint64_t	offset;
	uint32_t	size;
	uint32_t	write_flags;
	uint64_t	lock_owner;
	uint32_t	flags;
	uint32_t	padding;
};

struct fw_write_out {
	uint32_t	size;
	uint32_t	padding;
};

struct fw_statfs_out {
	uint64_t	blocks;
	uint64_t	bfree;
	uint64_t	bavail;
	uint64_t	files;
	uint64_t	ffree;
	uint32_t	bsize;
	uint32_t	namelen;
	uint32_t	frsize;
	uint32_t	padding;
	uint32_t	spare[6];
};

#define	FW_FSYNC_DATA	1
struct fw_fsync_in {
	uint64_t	fh;
	uint32_t	flags;
	uint32_t	padding;
};

#define	FW_SETXATTR_ACL_KILL_SGID	1
struct fw_setxattr_in {
	uint32_t	size;
	uint32_t	flags;
	/* With FW_SETXATTR_EXT. */
	uint32_t	setxattr_flags;
	uint32_t	padding;
};
#define	FW_SETXATTR_IN_OLD	8

struct fw_getxattr_in {
	uint32_t	size;
	uint32_t	padding;
};

struct fw_getxattr_out {
	uint32_t	size;
	uint32_t	padding;
};

struct fw_lock {
	uint64_t	start;
	uint64_t	end;
	uint32_t	type;
	uint32_t	pid;
};

#define	FW_LK_FLOCK	1
struct fw_lk_in {
	uint64_t	fh;
	uint64_t	owner;
	struct fw_lock	lk;
	uint32_t	lk_flags;
	uint32_t	padding;
};

struct fw_access_in {
	uint32_t	mask;
	uint32_t	padding;
};

struct fw_interrupt_in {
	uint64_t	unique;
};

struct fw_forget_in {
	uint64_t	nlookup;
};

struct fw_batch_forget_in {
	uint32_t	count;
	uint32_t	dummy;
};

struct fw_forget_one {
	uint64_t	nodeid;
	uint64_t	nlookup;
};

/* Followed by the name, then up to the next multiple of 8. */
struct fw_dirent {
	uint64_t	ino;
	uint64_t	off;
	uint32_t	namelen;
	uint32_t	type;
};

struct fw_fallocate_in {
	uint64_t	fh;
	uint64_t	offset;
	uint64_t	length;
	uint32_t	mode;
	uint32_t	padding;
};

struct fw_lseek_in {
	uint64_t	fh;
	uint64_t	offset;
	uint32_t	whence;
	uint32_t	padding;
};

struct fw_lseek_out {
	uint64_t	offset;
};

struct fw_copy_in {
	uint64_t	fh_in;
	uint64_t	off_in;
	uint64_t	nodeid_out;
	uint64_t	fh_out;
	uint64_t	off_out;
	uint64_t	len;
	uint64_t	flags;
};

struct fw_copy_out {
	uint64_t	bytes;
};

#endif /* WIRE_H */
