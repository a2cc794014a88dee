/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The listening socket of a server.
 */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ctl_internal.h"

#define	BACKLOG	128

/* Does somebody listen there? */
static bool
alive(const struct sockaddr_un *sun)
{
	bool yes;
	int fd;

	if ((fd = socket(AF_UNIX, SOCK_STREAM, 0)) == -1)
		return (true);
	/* A full queue must not hold us up. */
	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	yes = connect(fd, (const struct sockaddr *)sun, sizeof(*sun)) == 0 ||
	    errno == EAGAIN || errno == EINPROGRESS;
	(void)close(fd);
	return (yes);
}

/* A socket is made under another name, so that it is never seen too open. */
static int
make(int fd, const struct sockaddr_un *sun, mode_t mode, gid_t gid)
{
	struct sockaddr_un tmp = { .sun_family = AF_UNIX };
	int error, n;

	n = snprintf(tmp.sun_path, sizeof(tmp.sun_path), "%s.%ld",
	    sun->sun_path, (long)getpid());
	if (n < 0 || (size_t)n >= sizeof(tmp.sun_path))
		return (ENAMETOOLONG);
	(void)unlink(tmp.sun_path);
	if (bind(fd, (struct sockaddr *)&tmp, sizeof(tmp)) != 0)
		return (errno);
	error = 0;
	if (chmod(tmp.sun_path, 0600) != 0 ||
	    (gid != (gid_t)-1 && chown(tmp.sun_path, (uid_t)-1, gid) != 0) ||
	    chmod(tmp.sun_path, mode) != 0 || listen(fd, BACKLOG) != 0 ||
	    rename(tmp.sun_path, sun->sun_path) != 0) {
		error = errno;
		(void)unlink(tmp.sun_path);
	}
	return (error);
}

int
ctl_listen(const char *path, mode_t mode, gid_t gid, int *fdp,
    struct co_error *e)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct stat st;
	int error, fd;

	if (strlen(path) >= sizeof(sun.sun_path))
		return (co_error_errno(e, ENAMETOOLONG, path, "socket"));
	memcpy(sun.sun_path, path, strlen(path) + 1);
	if (lstat(path, &st) == 0) {
		if (!S_ISSOCK(st.st_mode))
			return (co_error_errno(e, EEXIST, path,
			    "it is no socket; move it away"));
		if (alive(&sun))
			return (co_error_set(e, CO_ESESSION_EXISTS, path,
			    "another process serves this socket"));
	}
	if ((fd = socket(AF_UNIX, SOCK_STREAM, 0)) == -1)
		return (co_error_errno(e, errno, path, "socket"));
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	if ((error = make(fd, &sun, mode, gid)) != 0) {
		(void)close(fd);
		return (co_error_errno(e, error, path, "can't listen"));
	}
	*fdp = fd;
	return (0);
}
