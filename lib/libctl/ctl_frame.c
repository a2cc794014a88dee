/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames: the one place where bytes of a peer become a message.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl_internal.h"

#define	CHUNK	65536

static uint32_t
get32(const uint8_t *p)
{

	return ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
	    (uint32_t)p[3] << 24);
}

static void
put32(uint8_t *p, uint32_t v)
{

	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)(v >> 16);
	p[3] = (uint8_t)(v >> 24);
}

void
ctl_close_fds(const int *fds, size_t n)
{

	for (size_t i = 0; i < n; i++)
		(void)close(fds[i]);
}

int
ctl_in_room(struct ctl_in *in, uint8_t **p, size_t *room)
{
	uint8_t *buf;
	size_t size;

	if (in->off == in->len)
		in->off = in->len = 0;
	if (in->off > 0) {
		memmove(in->buf, in->buf + in->off, in->len - in->off);
		in->len -= in->off;
		in->off = 0;
	}
	size = CHUNK;
	/* A frame that was announced, checked by ctl_in_take(). */
	if (in->len >= CTL_HEAD && get32(in->buf) + CTL_HEAD > size)
		size = get32(in->buf) + CTL_HEAD;
	if (in->len >= size)
		size = in->len + CHUNK;
	if (size != in->size) {
		if ((buf = realloc(in->buf, size)) == NULL)
			return (ENOMEM);
		in->buf = buf;
		in->size = size;
	}
	*p = in->buf + in->len;
	*room = in->size - in->len;
	return (0);
}

static int
bad(const char **why, const char *what)
{

	*why = what;
	return (EPROTO);
}

int
ctl_in_take(struct ctl_in *in, nvlist_t **nv, int fds[CTL_MAX_FDS],
    size_t *nfds, const char **why)
{
	const uint8_t *p;
	size_t have, len, n;

	if ((have = in->len - in->off) < CTL_HEAD)
		return (EAGAIN);
	p = in->buf + in->off;
	len = get32(p);
	n = get32(p + 4);
	if (len == 0 || len > CTL_MAX_MESSAGE)
		return (bad(why, "a message of a length that is not allowed"));
	if (n > CTL_MAX_FDS)
		return (bad(why, "too many descriptors"));
	if (n > in->nfds)
		return (bad(why, "descriptors that did not come"));
	if (have - CTL_HEAD < len)
		return (EAGAIN);
	if ((*nv = nvlist_unpack(p + CTL_HEAD, len, 0)) == NULL)
		return (bad(why, "a message that can't be read"));
	in->off += CTL_HEAD + len;
	memcpy(fds, in->fds, n * sizeof(fds[0]));
	in->nfds -= n;
	memmove(in->fds, in->fds + n, in->nfds * sizeof(fds[0]));
	*nfds = n;
	return (0);
}

bool
ctl_in_settled(const struct ctl_in *in)
{
	size_t have = in->len - in->off;

	if (have == 0)
		return (in->nfds == 0);
	/* Its head, not complete, may still announce them. */
	if (have < CTL_HEAD)
		return (in->nfds <= CTL_MAX_FDS);
	return (in->nfds == get32(in->buf + in->off + 4));
}

void
ctl_in_free(struct ctl_in *in)
{

	ctl_close_fds(in->fds, in->nfds);
	free(in->buf);
}

int
ctl_out_make(const nvlist_t *nv, const int *fds, size_t nfds,
    struct ctl_out **op)
{
	struct ctl_out *o;
	size_t len;
	void *packed;
	int error;

	if (nfds > CTL_MAX_FDS)
		return (EMSGSIZE);
	/* Packing a list that could not be made would abort. */
	if ((error = nvlist_error(nv)) != 0)
		return (error);
	if ((packed = nvlist_pack(nv, &len)) == NULL)
		return (errno != 0 ? errno : EINVAL);
	if (len > CTL_MAX_MESSAGE) {
		free(packed);
		return (EMSGSIZE);
	}
	o = malloc(sizeof(*o) + CTL_HEAD + len);
	if (o == NULL) {
		free(packed);
		return (ENOMEM);
	}
	memset(o, 0, sizeof(*o));
	put32(o->data, (uint32_t)len);
	put32(o->data + 4, (uint32_t)nfds);
	memcpy(o->data + CTL_HEAD, packed, len);
	o->len = CTL_HEAD + len;
	free(packed);
	for (; o->nfds < nfds; o->nfds++)
		if ((o->fds[o->nfds] = fcntl(fds[o->nfds], F_DUPFD_CLOEXEC,
		    3)) == -1) {
			error = errno;
			ctl_out_free(o);
			return (error);
		}
	*op = o;
	return (0);
}

void
ctl_out_free(struct ctl_out *o)
{

	ctl_close_fds(o->fds, o->nfds);
	free(o);
}
