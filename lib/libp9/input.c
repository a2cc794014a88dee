/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * From the stream to one message, for the thread whose turn it is.  Short
 * messages come by way of the connection's input buffer, many at one read;
 * what is missing of a long one is read to its place.
 */

#include <sys/uio.h>

#include <errno.h>
#include <string.h>

#include "p9_internal.h"

/* Why the connection ends; the first reason counts. */
void
p9_fail(struct p9 *p, enum co_code code, int errnum, const char *message)
{

	pthread_mutex_lock(&p->t.lock);
	if (!p->failed) {
		p->failed = true;
		if (code == CO_ESYS_ERRNO)
			co_error_errno(&p->error, errnum, "9p", "%s", message);
		else
			co_error_set(&p->error, code, "9p", "%s", message);
	}
	pthread_mutex_unlock(&p->t.lock);
}

/* Read into iov, at least a byte; 0 at the end. */
static size_t
fill(struct p9 *p, const struct iovec *iov, int n)
{
	ssize_t got;

	if (p->stopping)
		return (0);
	got = p->stream.readv(p->stream.arg, iov, n);
	if (got < 0 && !p->stopping)
		p9_fail(p, CO_ESYS_ERRNO, errno, "read from the client");
	if (got <= 0)
		return (0);
	p->in_bytes += (uint64_t)got;
	return ((size_t)got);
}

/* Have at least need bytes in the input buffer. */
static bool
want(struct p9 *p, size_t need)
{
	struct p9_in *in = &p->in;
	struct iovec iov;
	size_t got;

	if (in->len >= need)
		return (true);
	if (in->at != 0) {
		memmove(in->buf, in->buf + in->at, in->len);
		in->at = 0;
	}
	while (in->len < need) {
		iov.iov_base = in->buf + in->len;
		iov.iov_len = sizeof(in->buf) - in->len;
		got = fill(p, &iov, 1);
		if (got == 0) {
			if (in->len > 0 && !p->stopping)
				p9_fail(p, CO_EPROTO_MALFORMED, 0,
				    "the stream ended inside a message");
			return (false);
		}
		in->len += got;
	}
	return (true);
}

static void
consume(struct p9_in *in, void *to, size_t n)
{

	memcpy(to, in->buf + in->at, n);
	in->at += n;
	in->len -= n;
	if (in->len == 0)
		in->at = 0;
}

/* The rest of a long message; what comes after it is input. */
static bool
read_long(struct p9 *p, uint8_t *to, size_t size)
{
	struct p9_in *in = &p->in;
	struct iovec iov[2];
	size_t have = in->len < size ? in->len : size, got;

	consume(in, to, have);
	while (have < size) {
		iov[0].iov_base = to + have;
		iov[0].iov_len = size - have;
		iov[1].iov_base = in->buf;
		iov[1].iov_len = sizeof(in->buf);
		got = fill(p, iov, 2);
		if (got == 0) {
			if (!p->stopping)
				p9_fail(p, CO_EPROTO_MALFORMED, 0,
				    "the stream ended inside a message");
			return (false);
		}
		have += got;
	}
	/* Only who has emptied the input above can have filled it again. */
	if (have > size)
		in->len = have - size;
	return (true);
}

bool
p9_input(struct p9 *p, struct p9_worker *w)
{
	struct p9_req *r = &w->r;
	uint32_t size, most = p->msize;
	uint8_t *to;

	if (!want(p, 4))
		return (false);
	size = p9_size(p->in.buf + p->in.at);
	if (most == 0)
		most = P9_SMALL;
	if (size < P9_HEADER || size > most) {
		p9_fail(p, size > most ? CO_EPROTO_TOOBIG :
		    CO_EPROTO_MALFORMED, 0,
		    "the client sent a message of a length that can't be");
		return (false);
	}
	r->len = size;
	r->reply = w->reply;
	r->cap = sizeof(w->reply);
	r->big = NULL;
	if (size <= sizeof(w->small)) {
		if (!want(p, size))
			return (false);
		consume(&p->in, w->small, size);
		r->msg = w->small;
		return (true);
	}
	if (p9_buf_take(p, &r->big) != 0) {
		p9_fail(p, CO_ESYS_NOMEM, 0, "no memory for a message");
		return (false);
	}
	to = r->big->mem + P9_PAGE - P9_TWRITE_DATA;
	r->msg = to;
	if (read_long(p, to, size))
		return (true);
	p9_buf_give(p, r->big);
	r->big = NULL;
	return (false);
}
