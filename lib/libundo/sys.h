/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Every system call that libundo makes on files, in one place, so that a
 * test can stop or break the library at each of them.  The calls that differ
 * between systems are in os_*.c, which use SYS_CALL() of this header.  Calls
 * restart after EINTR; otherwise they are the calls they are named after.
 */

#ifndef SYS_H
#define SYS_H

#include <sys/types.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef UNDO_FAULTS
int sys_before(const char *);
void sys_after(const char *);
#define	SYS_BEFORE(name)	sys_before(name)
#define	SYS_AFTER(name)		sys_after(name)
#else
#define	SYS_BEFORE(name)	0
#define	SYS_AFTER(name)		((void)0)
#endif

/* Run ${expr} as the call ${name}, its result in ${ret}; -1 is failure. */
#define	SYS_CALL(ret, name, expr) do {				\
	int fault_ = SYS_BEFORE(name);				\
	if (fault_ > 0) {					\
		errno = fault_;					\
		(ret) = -1;					\
	} else {						\
		do						\
			(ret) = (expr);				\
		while ((ret) == -1 && errno == EINTR);		\
		SYS_AFTER(name);				\
	}							\
} while (0)

int sys_openat(int, const char *, int, mode_t);
void sys_close(int);
int sys_fstat(int, struct stat *);
int sys_fstatat(int, const char *, struct stat *);	/* no symlinks */
int sys_mkdirat(int, const char *, mode_t);
int sys_mknodat(int, const char *, mode_t, dev_t);
int sys_unlinkat(int, const char *, int);
int sys_renameat(int, const char *, int, const char *);
int sys_linkat(int, const char *, int, const char *);
int sys_symlinkat(const char *, int, const char *);
ssize_t sys_readlinkat(int, const char *, char *, size_t);
int sys_fchmod(int, mode_t);
int sys_fchmodat(int, const char *, mode_t);
int sys_fchown(int, uid_t, gid_t);
int sys_fchownat(int, const char *, uid_t, gid_t);	/* no symlinks */
int sys_futimens(int, const struct timespec[2]);
int sys_utimensat(int, const char *, const struct timespec[2]);
int sys_ftruncate(int, off_t);
ssize_t sys_read(int, void *, size_t);
ssize_t sys_pread(int, void *, size_t, off_t);
ssize_t sys_write(int, const void *, size_t);
ssize_t sys_pwrite(int, const void *, size_t, off_t);
off_t sys_lseek(int, off_t, int);
int sys_fsync(int);
int sys_fdatasync(int);
void *sys_mmap(size_t, int, int);	/* shared, from offset 0 */
void sys_munmap(void *, size_t);
int sys_msync(void *, size_t);
int sys_flock(int);			/* exclusive, or EWOULDBLOCK */
int sys_getfl(int);			/* how it was opened */
DIR *sys_opendirat(int, const char *);
struct dirent *sys_readdir(DIR *);
void sys_closedir(DIR *);

/* The append of a journal record: a point to fail at, not a call. */
int sys_journal_before(void);
void sys_journal_after(void);

/*
 * Built on the above.  Write or read all of it, going on after short counts;
 * 0 or an errno (EIO for an early end of file).
 */
int sys_pwrite_all(int, const void *, size_t, off_t);
int sys_pread_all(int, void *, size_t, off_t);

#endif /* SYS_H */
