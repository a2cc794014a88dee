/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * FreeBSD: bytes between a file and a pipe.
 */

#include <errno.h>
#include <unistd.h>

#include "file.h"

int
file_copy(int from, int to, uint64_t max, uint64_t *copied)
{
	char buf[CHUNK];
	ssize_t n, done, w;

	while (max > 0) {
		n = read(from, buf, max < sizeof(buf) ? (size_t)max :
		    sizeof(buf));
		if (n == -1)
			return (errno);
		if (n == 0)
			break;
		for (done = 0; done < n; done += w)
			if ((w = write(to, buf + done,
			    (size_t)(n - done))) == -1)
				return (errno);
		*copied += (uint64_t)n;
		max -= (uint64_t)n;
	}
	return (0);
}
