/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Random bytes from a POSIX kernel.
 */

#include <sys/random.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "coppice.h"

#define	MOST	256		/* what getentropy(3) gives a call */

void
co_random(void *buf, size_t len)
{
	unsigned char *p = buf;

	while (len > 0) {
		size_t n = len < MOST ? len : MOST;

		if (getentropy(p, n) != 0) {
			if (errno == EINTR)
				continue;
			abort();
		}
		p += n;
		len -= n;
	}
}
