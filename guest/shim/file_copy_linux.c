/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Linux: bytes between a file and a pipe, moved by the kernel where it can.
 */

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "file.h"

#define	PIECE	(1024 * 1024)

/* What can't be spliced, such as files of /proc, goes by hand. */
static ssize_t
by_hand(int from, int to, size_t len)
{
	char buf[CHUNK];
	ssize_t n, done, w;

	n = read(from, buf, len < sizeof(buf) ? len : sizeof(buf));
	for (done = 0; done < n; done += w)
		if ((w = write(to, buf + done, (size_t)(n - done))) == -1)
			return (-1);
	return (n);
}

int
file_copy(int from, int to, uint64_t max, uint64_t *copied)
{
	bool splices = true;
	ssize_t n;
	size_t len;

	while (max > 0) {
		len = max < PIECE ? (size_t)max : PIECE;
		n = splices ? splice(from, NULL, to, NULL, len,
		    SPLICE_F_MOVE) : by_hand(from, to, len);
		if (n == -1 && errno == EINVAL && splices) {
			splices = false;
			continue;
		}
		if (n == -1)
			return (errno);
		if (n == 0)
			break;
		*copied += (uint64_t)n;
		max -= (uint64_t)n;
	}
	return (0);
}
