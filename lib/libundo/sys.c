/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The system calls of libundo.  Nothing here knows what it is used for.
 */

#include <sys/file.h>
#include <sys/mman.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdint.h>
#include <unistd.h>

#include "os.h"
#include "sys.h"

#ifdef UNDO_FAULTS
#include <stdatomic.h>

#include "undo_fault.h"

int (*undo_fault)(const char *, unsigned long, bool);
static atomic_ulong sys_count;

int
sys_before(const char *name)
{
	unsigned long n;

	n = atomic_fetch_add(&sys_count, 1) + 1;
	return (undo_fault == NULL ? 0 : undo_fault(name, n, false));
}

void
sys_after(const char *name)
{
	int saved;

	saved = errno;
	if (undo_fault != NULL)
		(void)undo_fault(name, atomic_load(&sys_count), true);
	errno = saved;
}

/* The length that a write gets: all, or a part when the hook says so. */
static size_t
short_length(int *fault, const char *name, size_t len)
{

	*fault = sys_before(name);
	if (*fault == UNDO_FAULT_SHORT) {
		*fault = 0;
		return (len > 1 ? len / 2 : len);
	}
	return (len);
}
#define	SHORT_LENGTH(fault, name, len)	short_length(&(fault), name, len)
#else
#define	SHORT_LENGTH(fault, name, len)	((fault) = 0, (len))
#endif

int
sys_openat(int dir, const char *name, int flags, mode_t mode)
{
	int r;

	SYS_CALL(r, "openat", openat(dir, name, flags | O_CLOEXEC, mode));
	return (r);
}

void
sys_close(int fd)
{

	/* Nothing to do about its failure: data is never only in close. */
	(void)SYS_BEFORE("close");
	(void)close(fd);
	SYS_AFTER("close");
}

int
sys_fstat(int fd, struct stat *st)
{
	int r;

	SYS_CALL(r, "fstat", fstat(fd, st));
	return (r);
}

int
sys_fstatat(int dir, const char *name, struct stat *st)
{
	int r;

	SYS_CALL(r, "fstatat", fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW));
	return (r);
}

int
sys_mkdirat(int dir, const char *name, mode_t mode)
{
	int r;

	SYS_CALL(r, "mkdirat", mkdirat(dir, name, mode));
	return (r);
}

int
sys_mknodat(int dir, const char *name, mode_t mode, dev_t dev)
{
	int r;

	SYS_CALL(r, "mknodat", mknodat(dir, name, mode, dev));
	return (r);
}

int
sys_unlinkat(int dir, const char *name, int flags)
{
	int r;

	SYS_CALL(r, "unlinkat", unlinkat(dir, name, flags));
	return (r);
}

int
sys_renameat(int dir, const char *name, int todir, const char *to)
{
	int r;

	SYS_CALL(r, "renameat", renameat(dir, name, todir, to));
	return (r);
}

int
sys_linkat(int dir, const char *name, int todir, const char *to)
{
	int r;

	SYS_CALL(r, "linkat", linkat(dir, name, todir, to, 0));
	return (r);
}

int
sys_symlinkat(const char *target, int dir, const char *name)
{
	int r;

	SYS_CALL(r, "symlinkat", symlinkat(target, dir, name));
	return (r);
}

ssize_t
sys_readlinkat(int dir, const char *name, char *buf, size_t size)
{
	ssize_t r;

	SYS_CALL(r, "readlinkat", readlinkat(dir, name, buf, size));
	return (r);
}

int
sys_fchmod(int fd, mode_t mode)
{
	int r;

	SYS_CALL(r, "fchmod", fchmod(fd, mode));
	return (r);
}

int
sys_fchmodat(int dir, const char *name, mode_t mode)
{
	int r;

	SYS_CALL(r, "fchmodat", fchmodat(dir, name, mode, 0));
	return (r);
}

int
sys_fchown(int fd, uid_t uid, gid_t gid)
{
	int r;

	SYS_CALL(r, "fchown", fchown(fd, uid, gid));
	return (r);
}

int
sys_fchownat(int dir, const char *name, uid_t uid, gid_t gid)
{
	int r;

	SYS_CALL(r, "fchownat",
	    fchownat(dir, name, uid, gid, AT_SYMLINK_NOFOLLOW));
	return (r);
}

int
sys_futimens(int fd, const struct timespec ts[2])
{
	int r;

	SYS_CALL(r, "futimens", futimens(fd, ts));
	return (r);
}

int
sys_utimensat(int dir, const char *name, const struct timespec ts[2])
{
	int r;

	SYS_CALL(r, "utimensat",
	    utimensat(dir, name, ts, AT_SYMLINK_NOFOLLOW));
	return (r);
}

int
sys_ftruncate(int fd, off_t size)
{
	int r;

	SYS_CALL(r, "ftruncate", ftruncate(fd, size));
	return (r);
}

ssize_t
sys_read(int fd, void *buf, size_t len)
{
	ssize_t r;

	SYS_CALL(r, "read", read(fd, buf, len));
	return (r);
}

ssize_t
sys_pread(int fd, void *buf, size_t len, off_t off)
{
	ssize_t r;

	SYS_CALL(r, "pread", pread(fd, buf, len, off));
	return (r);
}

ssize_t
sys_write(int fd, const void *buf, size_t len)
{
	ssize_t r;
	int fault;

	len = SHORT_LENGTH(fault, "write", len);
	if (fault > 0) {
		errno = fault;
		return (-1);
	}
	do
		r = write(fd, buf, len);
	while (r == -1 && errno == EINTR);
	SYS_AFTER("write");
	return (r);
}

ssize_t
sys_pwrite(int fd, const void *buf, size_t len, off_t off)
{
	ssize_t r;
	int fault;

	len = SHORT_LENGTH(fault, "pwrite", len);
	if (fault > 0) {
		errno = fault;
		return (-1);
	}
	do
		r = pwrite(fd, buf, len, off);
	while (r == -1 && errno == EINTR);
	SYS_AFTER("pwrite");
	return (r);
}

off_t
sys_lseek(int fd, off_t off, int whence)
{
	off_t r;

	SYS_CALL(r, "lseek", lseek(fd, off, whence));
	return (r);
}

int
sys_fsync(int fd)
{
	int r;

	SYS_CALL(r, "fsync", fsync(fd));
	return (r);
}

int
sys_fdatasync(int fd)
{
	int r;

	SYS_CALL(r, "fdatasync", os_datasync(fd));
	return (r);
}

void *
sys_mmap(size_t len, int prot, int fd)
{
	void *p;
	int fault;

	if ((fault = SYS_BEFORE("mmap")) > 0) {
		errno = fault;
		return (NULL);
	}
	p = mmap(NULL, len, prot, MAP_SHARED, fd, 0);
	SYS_AFTER("mmap");
	return (p == MAP_FAILED ? NULL : p);
}

void
sys_munmap(void *p, size_t len)
{

	(void)munmap(p, len);
}

int
sys_msync(void *p, size_t len)
{
	int r;

	SYS_CALL(r, "msync", msync(p, len, MS_SYNC));
	return (r);
}

int
sys_flock(int fd)
{
	int r;

	SYS_CALL(r, "flock", flock(fd, LOCK_EX | LOCK_NB));
	return (r);
}

int
sys_getfl(int fd)
{
	int r;

	SYS_CALL(r, "fcntl", fcntl(fd, F_GETFL));
	return (r);
}

DIR *
sys_opendirat(int dir, const char *name)
{
	DIR *d;
	int fd;

	fd = sys_openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (fd == -1)
		return (NULL);
	if ((d = fdopendir(fd)) == NULL)
		sys_close(fd);
	return (d);
}

struct dirent *
sys_readdir(DIR *d)
{
	struct dirent *de;
	int fault;

	if ((fault = SYS_BEFORE("readdir")) > 0) {
		errno = fault;
		return (NULL);
	}
	do {
		errno = 0;
		de = readdir(d);
	} while (de != NULL && de->d_name[0] == '.' &&
	    (de->d_name[1] == '\0' ||
	    (de->d_name[1] == '.' && de->d_name[2] == '\0')));
	SYS_AFTER("readdir");
	return (de);
}

void
sys_closedir(DIR *d)
{

	(void)closedir(d);
}

int
sys_journal_before(void)
{

	return (SYS_BEFORE("journal"));
}

void
sys_journal_after(void)
{

	SYS_AFTER("journal");
}

int
sys_pwrite_all(int fd, const void *buf, size_t len, off_t off)
{
	const uint8_t *p;
	ssize_t n;

	for (p = buf; len > 0; p += n, off += n, len -= (size_t)n) {
		if ((n = sys_pwrite(fd, p, len, off)) == -1)
			return (errno);
		if (n == 0)
			return (EIO);
	}
	return (0);
}

int
sys_pread_all(int fd, void *buf, size_t len, off_t off)
{
	uint8_t *p;
	ssize_t n;

	for (p = buf; len > 0; p += n, off += n, len -= (size_t)n) {
		if ((n = sys_pread(fd, p, len, off)) == -1)
			return (errno);
		if (n == 0)
			return (EIO);
	}
	return (0);
}
