/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * From a message to the stream.  The end of a request and the writing of its
 * reply are one step under out_lock, so that an Rflush that finds the
 * request gone comes after its reply.
 */

#include <sys/uio.h>

#include <errno.h>
#include <stdlib.h>

#include "p9_internal.h"

/* Write all; a client that can't be written to is gone. */
static void
write_all(struct p9 *p, const uint8_t *buf, size_t len)
{
	struct iovec iov;
	ssize_t n;

	while (len > 0 && !p->dead) {
		iov.iov_base = (void *)(uintptr_t)buf;
		iov.iov_len = len;
		n = p->stream.writev(p->stream.arg, &iov, 1);
		if (n <= 0) {
			p->dead = true;
			if (!p->stopping && errno != EPIPE &&
			    errno != ECONNRESET)
				p9_fail(p, CO_ESYS_ERRNO, errno,
				    "write to the client");
			p->stream.stop(p->stream.arg, true);
			return;
		}
		buf += n;
		len -= (size_t)n;
		p->out_bytes += (uint64_t)n;
	}
}

/* The Rflushes that were waiting, as few writes as there can be. */
static void
write_flushes(struct p9 *p, struct p9_tag *t)
{
	struct p9_msg m = { .type = P9_RFLUSH };
	struct p9_tag *next;
	uint8_t buf[P9_HEADER * 64];
	size_t at = 0, len;

	for (; t != NULL; t = next) {
		next = t->flush;
		m.tag = t->tag;
		free(t);
		if (p9_encode(&m, buf + at, sizeof(buf) - at, &len) == 0)
			at += len;
		if (next == NULL || at == sizeof(buf)) {
			write_all(p, buf, at);
			at = 0;
		}
	}
}

static size_t
encode(struct p9 *p, struct p9_req *r, int error)
{
	size_t len;

	r->out.tag = r->in.tag;
	r->out.type = (uint8_t)(r->in.type + 1);
	if (error == 0) {
		size_t cap = r->cap < p->msize ? r->cap : p->msize;

		error = p9_encode(&r->out, r->reply, cap, &len);
	}
	if (error != 0) {
		r->out.type = P9_RLERROR;
		r->out.rlerror.ecode = p9_errno(error);
		p->errors++;
		if (p9_encode(&r->out, r->reply, r->cap, &len) != 0)
			abort();
	}
	return (len);
}

void
p9_reply(struct p9 *p, struct p9_worker *w, int error)
{
	struct p9_req *r = &w->r;
	struct p9_tag *flushes;
	size_t len = encode(p, r, error);
	bool answer;

	pthread_mutex_lock(&p->out_lock);
	flushes = p9_tag_end(p, r, error, &answer);
	if (answer)
		write_all(p, r->reply, len);
	write_flushes(p, flushes);
	pthread_mutex_unlock(&p->out_lock);
	p9_buf_give(p, r->big);
	r->big = NULL;
}

void
p9_send(struct p9 *p, const struct p9_msg *m)
{
	uint8_t buf[64];
	size_t len;

	if (m->type == P9_RLERROR)
		p->errors++;
	if (p9_encode(m, buf, sizeof(buf), &len) != 0)
		return;
	pthread_mutex_lock(&p->out_lock);
	write_all(p, buf, len);
	pthread_mutex_unlock(&p->out_lock);
}
