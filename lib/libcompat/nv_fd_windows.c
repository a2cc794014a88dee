/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Descriptors that a list holds, on Windows: there are none, as nothing
 * could be done with them.
 */

#include <errno.h>

#include "nv_internal.h"

int
nv_fd_dup(int fd)
{
	(void)fd;
	errno = EOPNOTSUPP;
	return (-1);
}

void
nv_fd_close(int fd)
{
	(void)fd;
}

bool
nv_fd_valid(int fd)
{
	(void)fd;
	errno = EBADF;
	return (false);
}
