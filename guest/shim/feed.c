/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A bounded queue to a descriptor that may be slow.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "feed.h"
#include "sw.h"

static void
empty(struct feed *f)
{

	free(f->buf);
	f->buf = NULL;
	f->start = f->len = 0;
}

void
feed_kill(struct feed *f)
{

	empty(f);
	f->dead = true;
}

int
feed_put(struct feed *f, uint64_t offset, const char *data, size_t len,
    bool eof)
{

	if (offset != f->total || f->total + len > f->told + SW_STREAM)
		return (EPROTO);
	f->total += len;
	/* A host that came later does not know that this had ended. */
	if (f->eof)
		return (0);
	f->eof = eof;
	if (f->dead || len == 0)
		return (0);
	if (f->buf == NULL && (f->buf = malloc(SW_STREAM)) == NULL) {
		feed_kill(f);
		return (ENOMEM);
	}
	if (SW_STREAM - f->start - f->len < len) {
		memmove(f->buf, f->buf + f->start, f->len);
		f->start = 0;
	}
	memcpy(f->buf + f->start + f->len, data, len);
	f->len += len;
	return (0);
}

int
feed_flush(struct feed *f, int fd)
{
	ssize_t n;

	while (f->len > 0) {
		n = write(fd, f->buf + f->start, f->len);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return (EAGAIN);
		if (n == -1) {
			int error = errno;

			feed_kill(f);
			return (error);
		}
		f->start += (size_t)n;
		f->len -= (size_t)n;
	}
	empty(f);
	return (0);
}

bool
feed_tell(struct feed *f, uint64_t *offset)
{
	uint64_t passed = f->total - f->len;

	/* A quarter of the window, or all there was. */
	if (passed == f->told ||
	    (passed - f->told < SW_STREAM / 4 && f->len > 0))
		return (false);
	*offset = f->told = passed;
	return (true);
}
