/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Files that are replaced as a whole or not at all, and the few helpers
 * around them.  Everything is relative to a directory's descriptor.
 */

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"

/* Temporaries are ".new-" and an id, which no caller uses for a name. */
#define	TEMPPREFIX	".new-"

static int
write_temp(int dirfd, const char *temp, const void *data, size_t len,
    mode_t mode)
{
	int error, fd;

	fd = openat(dirfd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	if (fd == -1)
		return (errno);
	error = co_write_all(fd, data, len);
	if (error == 0 && fchmod(fd, mode) != 0)
		error = errno;
	if (error == 0 && fsync(fd) != 0)
		error = errno;
	if (close(fd) != 0 && error == 0)
		error = errno;
	return (error);
}

int
co_file_replace(int dirfd, const char *name, const void *data, size_t len,
    mode_t mode, struct co_error *e)
{
	char temp[sizeof(TEMPPREFIX) + CO_IDLEN] = TEMPPREFIX;
	int error;

	co_id_make(temp + sizeof(TEMPPREFIX) - 1);
	error = write_temp(dirfd, temp, data, len, mode);
	if (error != 0)
		goto err1;
	if (renameat(dirfd, temp, dirfd, name) != 0) {
		error = errno;
		goto err1;
	}
	if (fsync(dirfd) != 0) {
		error = errno;
		goto err0;
	}
	return (0);

err1:
	(void)unlinkat(dirfd, temp, 0);
err0:
	return (co_error_errno(e, error, name, "can't write \"%s\"", name));
}

static int
read_all(int fd, size_t max, char **data, size_t *len)
{
	size_t size = 4096, used = 0;
	char *buf = NULL, *p;
	ssize_t n;
	int error;

	for (;;) {
		if (used + 1 >= size || buf == NULL) {
			if (buf != NULL)
				size *= 2;
			p = realloc(buf, size);
			if (p == NULL) {
				error = ENOMEM;
				break;
			}
			buf = p;
		}
		n = read(fd, buf + used, size - used - 1);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			error = errno;
			break;
		}
		if (n == 0) {
			buf[used] = '\0';
			*data = buf;
			*len = used;
			return (0);
		}
		used += (size_t)n;
		if (used > max) {
			error = EFBIG;
			break;
		}
	}
	free(buf);
	return (error);
}

int
co_file_read(int dirfd, const char *name, size_t max, char **data,
    size_t *len, struct co_error *e)
{
	struct stat st;
	int error, fd;

	/* Not to wait for the other end of a FIFO. */
	fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC |
	    O_NONBLOCK);
	if (fd == -1)
		return (co_error_errno(e, errno, name, "can't open \"%s\"",
		    name));
	if (fstat(fd, &st) != 0)
		error = errno;
	else if (!S_ISREG(st.st_mode))
		error = EINVAL;
	else
		error = read_all(fd, max, data, len);
	close(fd);
	if (error == EFBIG)
		return (co_error_set(e, CO_EPROTO_TOOBIG, name,
		    "\"%s\" is larger than the %zu bytes allowed", name,
		    max));
	if (error != 0)
		return (co_error_errno(e, error, name, "can't read \"%s\"",
		    name));
	return (0);
}

int
co_file_sweep(int dirfd)
{
	struct dirent *d;
	DIR *dir;
	int fd, n = 0;

	fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	dir = fdopendir(fd);
	if (dir == NULL) {
		close(fd);
		return (-1);
	}
	while ((d = readdir(dir)) != NULL)
		if (strncmp(d->d_name, TEMPPREFIX,
		    sizeof(TEMPPREFIX) - 1) == 0 &&
		    co_id_valid(d->d_name + sizeof(TEMPPREFIX) - 1) &&
		    unlinkat(dirfd, d->d_name, 0) == 0)
			n++;
	closedir(dir);
	return (n);
}

int
co_mkdirs(const char *path, mode_t mode, struct co_error *e)
{
	char buf[PATH_MAX], *p;
	int fd;

	if (strlen(path) >= sizeof(buf))
		return (co_error_errno(e, ENAMETOOLONG, path, "\"%s\"",
		    path));
	strcpy(buf, path);
	for (p = buf + 1; *buf != '\0' && *p != '\0'; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(buf, mode) != 0 && errno != EEXIST)
			return (co_error_errno(e, errno, buf,
			    "can't make directory \"%s\"", buf));
		*p = '/';
	}
	if (mkdir(buf, mode) != 0 && errno != EEXIST)
		return (co_error_errno(e, errno, path,
		    "can't make directory \"%s\"", path));
	fd = open(buf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		return (co_error_errno(e, errno, path,
		    "can't open directory \"%s\"", path));
	return (fd);
}
