/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Downloads.  What the client does not take is not read: at most a window
 * of a file is in memory.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "gw.h"

#define	PIECE	(1024 * 1024)
#define	PIECES	4		/* before others get their turn */

struct download {
	struct flow	*flow;		/* NULL: it comes in messages */
	uint64_t	 got, total;	/* by the flow */
	bool		 over;		/* nothing more is written to it */
	size_t		 unacked;
	uint64_t	 from, to;	/* of a range */
	uint64_t	 left;		/* that was promised */
	bool		 range, counted, gzip;
	z_stream	 z;
};

static void pump(void *);

static void
download_gone(struct req *r)
{
	struct download *d = r->data;

	if (r->call != NULL && r->status != 0 && !r->finished)
		call_cancel(r->call);
	if (d->gzip)
		(void)deflateEnd(&d->z);
	flow_free(d->flow);
	free(d);
	r->data = NULL;
}

static void
download_drain(struct req *r)
{
	struct download *d = r->data;
	size_t n = d->unacked;

	if (d->flow != NULL) {
		pump(r);
		return;
	}
	d->unacked = 0;
	if (r->call != NULL)
		call_ack(r->call, n);
}

static const struct req_ops download_ops = { .drain = download_drain,
    .gone = download_gone };

static nvlist_t *
file_question(struct req *r, const char *op)
{
	const char *path = http_param(&r->url, "path");
	const char *user = envd_user(r);
	nvlist_t *nv = question(op, r->box, r->as);

	nvlist_add_string(nv, "path", path != NULL ? path : "");
	if (user != NULL)
		nvlist_add_string(nv, "user", user);
	return (nv);
}

/* Names of any kind go into the address' form. */
static void
add_name(struct buf *b, const char *path)
{
	const char *slash = strrchr(path, '/');
	const unsigned char *p = (const unsigned char *)(slash != NULL ?
	    slash + 1 : path);

	buf_str(b, "Content-Disposition: inline; filename*=utf-8''");
	for (; *p != '\0'; p++)
		if ((*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') ||
		    (*p >= 'A' && *p <= 'Z') || strchr("._-", *p) != NULL)
			buf_add(b, p, 1);
		else
			buf_fmt(b, "%%%02X", *p);
	buf_str(b, "\r\n");
}

/* Everybody accepts it by default; who names it alone wants it. */
static bool
wants_gzip(const struct req *r)
{
	const struct download *d = r->data;
	const char *coding = http_field(&r->head, "accept-encoding");

	return (coding != NULL && strcmp(coding, "gzip") == 0 && !d->range);
}

static bool
gzip_begin(struct download *d)
{

	/* 16 asks for gzip's own head and tail. */
	return (deflateInit2(&d->z, 1, Z_DEFLATED, 15 + 16, 8,
	    Z_DEFAULT_STRATEGY) == Z_OK);
}

static void
begin(struct req *r, uint64_t size)
{
	struct download *d = r->data;
	struct buf b = { 0 };

	if (wants_gzip(r))
		d->gzip = gzip_begin(d);
	add_name(&b, http_param(&r->url, "path"));
	if (d->gzip)
		buf_str(&b, "Content-Encoding: gzip\r\n");
	else
		buf_str(&b, "Accept-Ranges: bytes\r\n");
	buf_str(&b, "Vary: Accept-Encoding\r\n");
	if (d->range)
		buf_fmt(&b, "Content-Range: bytes %" PRIu64 "-%" PRIu64
		    "/%" PRIu64 "\r\n", d->from, d->to, size);
	/* What says it is empty may not be, in /proc. */
	d->counted = !d->gzip && (d->range || size > 0);
	d->left = d->range ? d->to - d->from + 1 : size;
	reply_begin(r, d->range ? 206 : 200, "application/octet-stream",
	    d->counted ? (int64_t)d->left : -1, b.p);
	buf_free(&b);
}

static void
squeeze(struct req *r, const void *data, size_t len, int flush)
{
	struct download *d = r->data;
	unsigned char out[16 * 1024];
	int ret;

	d->z.next_in = (unsigned char *)(uintptr_t)data;
	d->z.avail_in = (unsigned)len;
	do {
		d->z.next_out = out;
		d->z.avail_out = sizeof(out);
		ret = deflate(&d->z, flush);
		reply_data(r, out, sizeof(out) - d->z.avail_out);
	} while (ret == Z_OK && d->z.avail_out == 0);
}

static void
send_data(struct req *r, const char *data, size_t len)
{
	struct download *d = r->data;
	size_t n = len;

	if (d->gzip)
		squeeze(r, data, len, Z_NO_FLUSH);
	else {
		/* A file that grows meanwhile is cut where it was. */
		if (d->counted && n > d->left)
			n = (size_t)d->left;
		d->left -= d->counted ? n : 0;
		reply_data(r, data, n);
	}
	d->unacked += len;
	if (!reply_full(r))
		download_drain(r);
}

static void
finish(struct req *r)
{
	struct download *d = r->data;

	/* Promised bytes that do not come can only be told by hanging up. */
	if (d->counted && d->left > 0) {
		conn_drop(r->conn);
		return;
	}
	if (d->gzip)
		squeeze(r, "", 0, Z_FINISH);
	metric_add(r->gw, METRIC_FILE, uv_hrtime() - r->began);
	reply_end(r);
}

/* What has no length is sent in chunks, which are made by hand. */
static ssize_t
pour_chunk(struct req *r, int fd)
{
	char buf[32 * 1024];
	ssize_t n;

	if (reply_full(r)) {
		errno = EBUSY;
		return (-1);
	}
	n = read(fd, buf, sizeof(buf));
	if (n > 0)
		reply_data(r, buf, (size_t)n);
	return (n);
}

static ssize_t
pour(struct req *r)
{
	struct download *d = r->data;
	size_t max = d->left < PIECE ? (size_t)d->left : PIECE;
	ssize_t n;

	if (!d->counted)
		n = pour_chunk(r, flow_fd(d->flow));
	else {
		n = conn_pour(r->conn, flow_fd(d->flow), max);
		d->left -= n > 0 ? (uint64_t)n : 0;
		r->sent += n > 0 ? (uint64_t)n : 0;
	}
	d->got += n > 0 ? (uint64_t)n : 0;
	return (n);
}

/* Send what there is, as far as the client takes it. */
static void
pump(void *arg)
{
	struct req *r = arg;
	struct download *d = r->data;
	ssize_t n = 1;
	bool empty;

	/* A file that grows meanwhile is cut where it was. */
	for (int i = 0; i < PIECES && n > 0 && (!d->counted || d->left > 0);
	    i++)
		n = pour(r);
	empty = n == -1 && errno == EAGAIN;
	if (n == -1 && !empty && errno != EBUSY) {
		conn_drop(r->conn);
		return;
	}
	if (n != 0 && !(d->counted && d->left == 0) && !(empty && d->over &&
	    d->got >= d->total)) {
		flow_wait(d->flow, n > 0 || empty);
		return;
	}
	flow_wait(d->flow, false);
	if (d->over)
		finish(r);
}

static void
on_event(void *arg, const nvlist_t *nv)
{
	struct req *r = arg;
	struct download *d = r->data;
	const char *event = ctl_string(nv, "event", "");
	const void *data;
	size_t len;

	if (strcmp(event, "entry") == 0 && r->status == 0) {
		begin(r, ctl_uint(nv, "size", 0));
		if (d->flow != NULL)
			flow_wait(d->flow, true);
	} else if (strcmp(event, "data") == 0 && r->status != 0 &&
	    nvlist_exists_binary(nv, "data")) {
		data = nvlist_get_binary(nv, "data", &len);
		send_data(r, data, len);
	}
}

static void
on_done(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct download *d = r->data;

	(void)fd;
	if (r->status == 0) {
		if (e != NULL)
			reply_failure(r, e);
		else
			reply_error(r, 500, "the file can't be read");
	} else if (e != NULL)
		conn_drop(r->conn);
	else if (d->flow == NULL)
		finish(r);
	else {
		d->over = true;
		d->total = ctl_uint(nv, "bytes", 0);
		pump(r);
	}
}

static void
read_file(struct req *r)
{
	struct download *d = r->data;
	const struct box *b = box_known(r->gw, r->box);
	nvlist_t *nv = file_question(r, "file.read");
	int fd = -1;

	if (d->range) {
		nvlist_add_number(nv, "offset", d->from);
		nvlist_add_number(nv, "length", d->to - d->from + 1);
	}
	if (b != NULL && b->direct && !wants_gzip(r))
		d->flow = flow_new(r->gw, true, &fd, pump, r);
	(void)ask_fd(r, nv, fd, on_event, on_done);
	if (fd != -1)
		(void)close(fd);
}

static bool
number(const char **s, uint64_t *v)
{
	char *end;

	if (**s < '0' || **s > '9')
		return (false);
	errno = 0;
	*v = strtoull(*s, &end, 10);
	*s = end;
	return (errno == 0 && *v < INT64_MAX);
}

/* "bytes=a-b", "bytes=a-" or "bytes=-n"; others are not for us. */
static int
take_range(struct download *d, const char *s, uint64_t size)
{
	uint64_t a = 0, b = 0;

	if (strncmp(s, "bytes=", 6) != 0)
		return (0);
	s += 6;
	if (*s == '-') {
		s++;
		if (!number(&s, &b) || *s != '\0')
			return (0);
		if (b == 0 || size == 0)
			return (-1);
		a = b < size ? size - b : 0;
		b = size - 1;
	} else {
		if (!number(&s, &a) || *s++ != '-')
			return (0);
		b = size - 1;
		if (*s != '\0' && (!number(&s, &b) || *s != '\0' || b < a))
			return (0);
		if (a >= size)
			return (-1);
		if (b >= size)
			b = size - 1;
	}
	d->range = true;
	d->from = a;
	d->to = b;
	return (0);
}

static void
stated(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct download *d = r->data;
	const char *range = http_field(&r->head, "range");
	uint64_t size;
	char fields[64];

	(void)fd;
	if (e != NULL) {
		reply_failure(r, e);
		return;
	}
	if (strcmp(ctl_string(nv, "kind", ""), "dir") == 0) {
		reply_error(r, 400, "it is a directory");
		return;
	}
	size = ctl_uint(nv, "size", 0);
	if (range != NULL && take_range(d, range, size) != 0) {
		(void)snprintf(fields, sizeof(fields), "Content-Range: bytes "
		    "*/%" PRIu64 "\r\n", size);
		reply(r, 416, "application/json", fields, "{\"code\":416,"
		    "\"message\":\"there are no such bytes\"}", 48);
		return;
	}
	if (strcmp(r->head.method, "HEAD") == 0) {
		begin(r, size);
		reply_end(r);
	} else
		read_file(r);
}

void
envd_download(struct req *r)
{
	const char *path = http_param(&r->url, "path");
	struct download *d;
	nvlist_t *nv;

	if (path == NULL || *path == '\0') {
		reply_error(r, 400, "\"path\" must be the path of a file");
		return;
	}
	d = calloc(1, sizeof(*d));
	if (d == NULL) {
		reply_error(r, 500, "out of memory");
		return;
	}
	r->data = d;
	r->ops = &download_ops;
	if (http_field(&r->head, "range") == NULL &&
	    strcmp(r->head.method, "HEAD") != 0) {
		read_file(r);
		return;
	}
	nv = file_question(r, "file.stat");
	nvlist_add_bool(nv, "follow", true);
	(void)ask(r, nv, NULL, stated);
}
