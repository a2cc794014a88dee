/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Linux: from a pipe to a socket without passing through here.
 */

#include <fcntl.h>

#include "gw.h"

#define	WIDE	(512 * 1024)

ssize_t
flow_splice(int from, int to, size_t max)
{

	return (splice(from, NULL, to, NULL, max, SPLICE_F_MOVE |
	    SPLICE_F_NONBLOCK));
}

/* One that stays as it is will do as well. */
void
flow_widen(int fd)
{

	(void)fcntl(fd, F_SETPIPE_SZ, WIDE);
}
