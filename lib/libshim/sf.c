/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames in and out of bounded buffers.  The buffers are allocated whole
 * and touched from their beginning, so that a quiet channel costs a page or
 * two of memory.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sf.h"

#define	READMAX		65536		/* one read */

int
sf_in_init(struct sf_in *f, enum sw_from from)
{

	memset(f, 0, sizeof(*f));
	f->from = from;
	f->maxline = from == SW_HOST ? SW_HOSTLINE : SW_SHIMLINE;
	f->cap = f->maxline + SW_PAYLOAD + READMAX;
	f->doc.cap = from == SW_HOST ? SW_HOSTVALS : SW_SHIMVALS;
	f->buf = malloc(f->cap);
	f->doc.val = calloc(f->doc.cap, sizeof(*f->doc.val));
	if (f->buf == NULL || f->doc.val == NULL) {
		sf_in_free(f);
		return (ENOMEM);
	}
	return (0);
}

int
sf_out_init(struct sf_out *f, enum sw_from from, size_t cap)
{

	memset(f, 0, sizeof(*f));
	f->maxline = from == SW_HOST ? SW_HOSTLINE : SW_SHIMLINE;
	f->cap = cap;
	f->buf = malloc(cap);
	return (f->buf != NULL ? 0 : ENOMEM);
}

static void
close_all(const int *fds, int n)
{

	for (int i = 0; i < n; i++)
		sf_io_close(fds[i]);
}

void
sf_in_reset(struct sf_in *f, bool sock)
{

	close_all(f->fds, f->nfds);
	f->nfds = 0;
	f->start = f->len = f->line = f->used = f->scanned = 0;
	f->sync = true;
	f->skip = false;
	f->sock = sock;
}

void
sf_out_reset(struct sf_out *f, bool sock)
{

	for (int i = 0; i < f->nrights; i++)
		close_all(f->rights[i].fd, f->rights[i].n);
	f->nrights = 0;
	f->start = f->len = 0;
	f->raw = false;
	f->sock = sock;
}

void
sf_in_free(struct sf_in *f)
{

	close_all(f->fds, f->nfds);
	free(f->buf);
	free(f->doc.val);
	memset(f, 0, sizeof(*f));
}

void
sf_out_free(struct sf_out *f)
{

	sf_out_reset(f, false);
	free(f->buf);
	memset(f, 0, sizeof(*f));
}

static void
compact(struct sf_in *f)
{

	if (f->start == 0)
		return;
	memmove(f->buf, f->buf + f->start, f->len - f->start);
	f->len -= f->start;
	f->scanned -= f->start;
	f->start = 0;
}

/* Step over the frame that was handed out. */
static void
release(struct sf_in *f)
{

	f->start += f->used;
	if (f->scanned < f->start)
		f->scanned = f->start;
	f->used = 0;
	f->line = 0;
	if (f->start == f->len)
		f->start = f->len = f->scanned = 0;
}

int
sf_read(struct sf_in *f, int fd)
{
	size_t room;
	int fds[SF_FDS], nfds = 0, i;
	long n;

	/* A decoded line must stay where it is. */
	if (f->line == 0)
		compact(f);
	room = f->cap - f->len;
	if (room > READMAX)
		room = READMAX;
	if (room == 0)
		return (EMSGSIZE);
	n = sf_io_recv(fd, f->sock, f->buf + f->len, room, fds, SF_FDS,
	    &nfds);
	for (i = 0; i < nfds && f->nfds < SF_FDS; i++)
		f->fds[f->nfds++] = fds[i];
	if (i < nfds) {
		close_all(fds + i, nfds - i);
		return (EMSGSIZE);
	}
	if (n == -1)
		return (errno == EWOULDBLOCK ? EAGAIN : errno);
	if (n == 0)
		return (EPIPE);
	f->len += (size_t)n;
	f->total += (uint64_t)n;
	return (0);
}

/* Find the end of the line at start. */
static int
find_line(struct sf_in *f)
{
	char *nl;

	nl = memchr(f->buf + f->scanned, '\n', f->len - f->scanned);
	if (nl == NULL) {
		f->scanned = f->len;
		if (f->len - f->start <= f->maxline)
			return (EAGAIN);
		if (!f->sync)
			return (EMSGSIZE);
		f->skip = true;
		f->start = f->len = f->scanned = 0;
		return (EAGAIN);
	}
	f->line = (size_t)(nl - (f->buf + f->start)) + 1;
	if (f->line <= f->maxline + 1)
		return (0);
	if (!f->sync)
		return (EMSGSIZE);
	f->skip = true;
	return (0);
}

/* Drop the line at start. */
static void
drop(struct sf_in *f)
{

	f->used = f->line;
	release(f);
}

static int
decode(struct sf_in *f)
{
	size_t past;
	int error;

	past = f->start + f->line;
	if (f->cap - past < SW_PAYLOAD)
		compact(f);
	error = sw_decode(&f->msg, &f->doc, f->buf + f->start, f->line - 1,
	    f->from);
	f->scanned = f->start + f->line;
	return (error);
}

/* Find and decode the next line that counts. */
static int
next_line(struct sf_in *f)
{
	int error;

	for (;;) {
		if ((error = find_line(f)) != 0)
			return (error);
		if (f->skip || f->line == 1) {
			f->skip = false;
			drop(f);
			continue;
		}
		error = decode(f);
		if (!f->sync)
			return (error);
		if (error == 0 && f->msg.type == W_HELLO)
			return (0);
		drop(f);
	}
}

int
sf_next(struct sf_in *f, struct sw_msg **m, const char **data,
    size_t *len)
{
	size_t need;
	int error;

	*m = &f->msg;
	if (f->used != 0)
		release(f);
	if (f->line == 0 && (error = next_line(f)) != 0)
		return (error);
	need = (size_t)sw_num(&f->msg, F_BYTES, 0);
	if (f->len - f->start - f->line < need)
		return (EAGAIN);
	if (sw_has(&f->msg, F_DATA)) {
		*data = f->msg.val[F_DATA].str.p;
		*len = f->msg.val[F_DATA].str.n;
	} else {
		*data = f->buf + f->start + f->line;
		*len = need;
	}
	f->used = f->line + need;
	f->scanned = f->start + f->used;
	return (0);
}

int
sf_claim(struct sf_in *f, int *fds, int n)
{

	if (n > f->nfds)
		return (EINVAL);
	memcpy(fds, f->fds, (size_t)n * sizeof(*fds));
	f->nfds -= n;
	memmove(f->fds, f->fds + n, (size_t)f->nfds * sizeof(*fds));
	return (0);
}

static void
make_room(struct sf_out *f, size_t n)
{

	if (f->start > 0 && f->cap - f->start - f->len < n) {
		memmove(f->buf, f->buf + f->start, f->len);
		f->start = 0;
	}
}

static void
add_rights(struct sf_out *f, const int *fds, int n)
{
	struct sf_rights *r = &f->rights[f->nrights++];

	r->at = f->pos + f->len;
	r->n = n;
	memcpy(r->fd, fds, (size_t)n * sizeof(*fds));
}

int
sf_put(struct sf_out *f, struct sw_msg *m, const void *data,
    size_t len, const int *fds, int nfds)
{
	size_t room, line;
	char *to;

	if (len > SW_PAYLOAD || nfds > SW_FDS || (nfds > 0 && !f->sock))
		return (EMSGSIZE);
	if (nfds > 0 && f->nrights == SF_RIGHTS)
		return (ENOBUFS);
	if (len > 0 && f->raw)
		sw_set_num(m, F_BYTES, (int64_t)len);
	else if (len > 0)
		sw_set_bytes(m, F_DATA, data, len);
	if (!f->raw)
		len = 0;
	make_room(f, f->maxline + len);
	to = f->buf + f->start + f->len;
	room = f->cap - f->start - f->len;
	if (room > f->maxline + len)
		room = f->maxline + len;
	if (room < len || sw_encode(m, to, room - len, &line) != 0)
		return (room < f->maxline + len ? ENOBUFS : EMSGSIZE);
	if (len > 0)
		memcpy(to + line, data, len);
	if (nfds > 0)
		add_rights(f, fds, nfds);
	f->len += line + len;
	return (0);
}

int
sf_put_raw(struct sf_out *f, const void *bytes, size_t len)
{

	make_room(f, len);
	if (f->cap - f->start - f->len < len)
		return (ENOBUFS);
	memcpy(f->buf + f->start + f->len, bytes, len);
	f->len += len;
	return (0);
}

int
sf_write(struct sf_out *f, int fd)
{
	struct sf_rights *r;
	size_t n;
	long sent;

	while (f->len > 0) {
		r = NULL;
		n = f->len;
		/* Descriptors go with the first byte of their message. */
		if (f->nrights > 0 && f->rights[0].at == f->pos) {
			r = &f->rights[0];
			if (f->nrights > 1)
				n = (size_t)(f->rights[1].at - f->pos);
		} else if (f->nrights > 0)
			n = (size_t)(f->rights[0].at - f->pos);
		sent = sf_io_send(fd, f->sock, f->buf + f->start, n,
		    r != NULL ? r->fd : NULL, r != NULL ? r->n : 0);
		if (sent == -1 && errno == EINTR)
			continue;
		if (sent == -1)
			return (errno == EWOULDBLOCK ? EAGAIN : errno);
		if (r != NULL) {
			close_all(r->fd, r->n);
			f->nrights--;
			memmove(f->rights, f->rights + 1,
			    (size_t)f->nrights * sizeof(*f->rights));
		}
		f->start += (size_t)sent;
		f->len -= (size_t)sent;
		f->pos += (uint64_t)sent;
	}
	f->start = 0;
	return (0);
}
