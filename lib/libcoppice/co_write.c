/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Writing all of something.
 */

#include <errno.h>
#include <unistd.h>

#include "coppice.h"

#define	MOST	(1024 * 1024)	/* a count of any system's type */

int
co_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;
	unsigned int some;
	ssize_t n;

	while (len > 0) {
		some = len < MOST ? (unsigned int)len : MOST;
		n = write(fd, p, some);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			return (errno);
		}
		p += n;
		len -= (size_t)n;
	}
	return (0);
}
