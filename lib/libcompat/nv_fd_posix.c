/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Descriptors that a list holds, on POSIX systems.
 */

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "nv_internal.h"

int
nv_fd_dup(int fd)
{
	return (fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

void
nv_fd_close(int fd)
{
	int error = errno;

	if (fd >= 0)
		(void)close(fd);
	errno = error;
}

bool
nv_fd_valid(int fd)
{
	return (fcntl(fd, F_GETFD) != -1 || errno != EBADF);
}
