/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * FreeBSD: pipes have the size they need, and are read by hand.
 */

#include <errno.h>

#include "gw.h"

ssize_t
flow_splice(int from, int to, size_t max)
{

	(void)from;
	(void)to;
	(void)max;
	errno = EINVAL;
	return (-1);
}

void
flow_widen(int fd)
{

	(void)fd;
}
