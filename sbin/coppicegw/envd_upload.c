/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Uploads: one file as it is, or many as a form.  They are written as they
 * come, one after the other; what coppiced does not take is not read.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <zlib.h>

#include "gw.h"
#include "multipart.h"

#define	PIECE		(64 * 1024)
#define	FILES_MAX	1000

struct upload {
	struct multipart *form;		/* NULL: the body is the file */
	z_stream	*inflate;	/* NULL: it comes as it is */
	struct buf	 in;		/* to be inflated or parsed */
	struct buf	 out;		/* to be written */
	struct flow	*flow;		/* where it goes, or NULL */
	char		*path;
	uint64_t	 window, total;
	json_t		*results;
	bool		 open;		/* a file is being written */
	bool		 eof;		/* all of it is in out */
	bool		 eof_sent;
	bool		 body_end;	/* the client sent all */
	bool		 skip;		/* a part that is no file */
	bool		 inflated;
	bool		 direct;	/* by a flow, not by messages */
	bool		 broken;	/* nobody reads it any more */
};

static void go_on(struct req *);

static void
upload_gone(struct req *r)
{
	struct upload *u = r->data;

	if (u->open && r->call != NULL)
		call_cancel(r->call);
	if (u->form != NULL)
		multipart_free(u->form);
	free(u->form);
	if (u->inflate != NULL)
		(void)inflateEnd(u->inflate);
	free(u->inflate);
	buf_free(&u->in);
	buf_free(&u->out);
	flow_free(u->flow);
	free(u->path);
	json_decref(u->results);
	free(u);
	r->data = NULL;
}

static void
fail(struct req *r, int status, const char *why)
{

	r->discard = true;
	reply_error(r, status, "%s", why);
}

/*
 * One file.
 */
static size_t
pour(struct upload *u, const char *data, size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (done < len && u->flow != NULL && !u->broken) {
		n = write(flow_fd(u->flow), data + done, len - done);
		if (n > 0)
			done += (size_t)n;
		else if (n == -1 && errno == EAGAIN)
			return (done);
		else
			u->broken = n != -1 || errno != EINTR;
	}
	/* Why nobody takes it is what the request will be answered by. */
	return (len);
}

static void
feed_flow(struct upload *u)
{

	buf_take(&u->out, pour(u, u->out.p, u->out.len));
	if (u->flow == NULL)
		return;
	flow_wait(u->flow, u->out.len > 0);
	if (u->out.len > 0 || !u->eof)
		return;
	u->eof_sent = true;
	flow_free(u->flow);
	u->flow = NULL;
}

static void
feed(struct req *r)
{
	struct upload *u = r->data;
	nvlist_t *nv;
	size_t n, at = 0;

	if (u->direct) {
		feed_flow(u);
		return;
	}
	while (r->call != NULL && at < u->out.len && u->window > 0) {
		n = u->out.len - at < PIECE ? u->out.len - at : PIECE;
		if (n > u->window)
			n = (size_t)u->window;
		nv = question("input", NULL, NULL);
		nvlist_add_binary(nv, "data", u->out.p + at, n);
		call_tell(r->call, nv);
		u->window -= n;
		at += n;
	}
	buf_take(&u->out, at);
	if (u->out.len == 0 && u->eof && !u->eof_sent && r->call != NULL) {
		u->eof_sent = true;
		nv = question("input", NULL, NULL);
		nvlist_add_bool(nv, "eof", true);
		call_tell(r->call, nv);
	}
}

static void
on_event(void *arg, const nvlist_t *nv)
{
	struct req *r = arg;
	struct upload *u = r->data;

	if (strcmp(ctl_string(nv, "event", ""), "room") != 0)
		return;
	u->window += ctl_uint(nv, "bytes", 0);
	feed(r);
	go_on(r);
}

static void
on_flow(void *arg)
{

	feed(arg);
	go_on(arg);
}

static void
stated(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct upload *u = r->data;
	const char *path, *slash;

	(void)fd;
	if (e != NULL) {
		r->discard = true;
		reply_failure(r, e);
		return;
	}
	path = ctl_string(nv, "path", "");
	slash = strrchr(path, '/');
	(void)json_array_append_new(u->results, json_pack("{s:s, s:s, s:s}",
	    "name", slash != NULL ? slash + 1 : path, "type", "file", "path",
	    path));
	u->open = false;
	go_on(r);
}

static nvlist_t *
file_question(struct req *r, const char *op)
{
	struct upload *u = r->data;
	const char *user = envd_user(r);
	nvlist_t *nv = question(op, r->box, r->as);

	nvlist_add_string(nv, "path", u->path);
	if (user != NULL)
		nvlist_add_string(nv, "user", user);
	return (nv);
}

static void
written(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;

	(void)nv;
	(void)fd;
	if (e != NULL) {
		r->discard = true;
		reply_failure(r, e);
		return;
	}
	metric_add(r->gw, METRIC_FILE, uv_hrtime() - r->began);
	(void)ask(r, file_question(r, "file.stat"), NULL, stated);
}

static void
open_file(struct req *r, const char *path)
{
	struct upload *u = r->data;
	const struct box *b = box_known(r->gw, r->box);
	nvlist_t *nv;
	int fd = -1;

	if (path == NULL || *path == '\0') {
		fail(r, 400, "the file has no path");
		return;
	}
	if (json_array_size(u->results) >= FILES_MAX) {
		fail(r, 400, "there are too many files");
		return;
	}
	free(u->path);
	u->path = strdup(path);
	u->open = true;
	u->eof = u->eof_sent = false;
	u->window = WINDOW;
	nv = file_question(r, "file.write");
	nvlist_add_bool(nv, "parents", true);
	flow_free(u->flow);
	u->flow = b != NULL && b->direct ? flow_new(r->gw, false, &fd,
	    on_flow, r) : NULL;
	u->direct = u->flow != NULL;
	u->broken = false;
	(void)ask_fd(r, nv, fd, on_event, written);
	if (fd != -1)
		(void)close(fd);
}

/*
 * From the body to files.
 */
static void
take_form(struct req *r)
{
	struct upload *u = r->data;
	const char *path, *data;
	size_t len;

	while (!r->finished && u->out.len == 0) {
		/* The next part waits for this file to be complete. */
		if (u->open && u->eof)
			return;
		switch (multipart_next(u->form, &data, &len)) {
		case MULTIPART_PART:
			u->skip = strcmp(u->form->name, "file") != 0 &&
			    u->form->filename[0] == '\0';
			path = http_param(&r->url, "path");
			if (!u->skip)
				open_file(r, path != NULL && *path != '\0' ?
				    path : u->form->filename);
			break;
		case MULTIPART_DATA:
			if (!u->skip)
				buf_add(&u->out, data, len);
			feed(r);
			break;
		case MULTIPART_END:
			u->eof = true;
			feed(r);
			break;
		case MULTIPART_BAD:
			fail(r, 400, "the form is malformed");
			return;
		default:
			return;
		}
	}
}

static void
take_inflated(struct req *r)
{
	struct upload *u = r->data;
	unsigned char out[PIECE];
	int ret = Z_OK;

	u->inflate->next_in = (unsigned char *)u->in.p;
	u->inflate->avail_in = (unsigned)u->in.len;
	while (ret == Z_OK && u->inflate->avail_in > 0 && !u->inflated &&
	    u->out.len < WINDOW) {
		u->inflate->next_out = out;
		u->inflate->avail_out = sizeof(out);
		ret = inflate(u->inflate, Z_NO_FLUSH);
		buf_add(&u->out, out, sizeof(out) - u->inflate->avail_out);
		u->total += sizeof(out) - u->inflate->avail_out;
		u->inflated = ret == Z_STREAM_END;
	}
	buf_take(&u->in, u->in.len - u->inflate->avail_in);
	if (ret != Z_OK && ret != Z_STREAM_END && ret != Z_BUF_ERROR)
		fail(r, 400, "the body is not gzip");
	else if (u->inflated && u->in.len > 0)
		fail(r, 400, "there is something after the gzip");
	else if (u->total > (uint64_t)r->gw->s.body_max)
		fail(r, 413, "the file is too long");
}

static void
answer(struct req *r)
{
	struct upload *u = r->data;

	if (u->form != NULL && !u->form->done)
		fail(r, 400, "the form ended too early");
	else if (u->inflate != NULL && !u->inflated)
		fail(r, 400, "the gzip ended too early");
	else if (json_array_size(u->results) == 0)
		fail(r, 400, "there is no file in the form");
	else
		reply_json(r, 200, json_incref(u->results));
}

/* Do what can be done, and read more only when there is room. */
static void
go_on(struct req *r)
{
	struct upload *u = r->data;
	bool paused = r->paused;

	if (r->finished)
		return;
	if (u->form != NULL)
		take_form(r);
	/* Few bytes may be many; those that were taken make room for more. */
	while (u->form == NULL && u->inflate != NULL && u->in.len > 0 &&
	    u->out.len == 0 && !r->finished) {
		take_inflated(r);
		if (!r->finished)
			feed(r);
	}
	if (r->finished)
		return;
	if (u->body_end && u->form == NULL && u->open && !u->eof &&
	    u->in.len == 0) {
		u->eof = true;
		feed(r);
	}
	if (u->body_end && !u->open) {
		answer(r);
		return;
	}
	r->paused = u->out.len > 0 || u->in.len > 0 || (u->form != NULL &&
	    u->open && u->eof);
	if (paused && !r->paused)
		conn_soon(r->conn);
}

static void
upload_body(struct req *r, const char *data, size_t len)
{
	struct upload *u = r->data;
	size_t n;

	if (r->finished)
		return;
	if (u->inflate == NULL)
		u->total += len;
	if (u->total > (uint64_t)r->gw->s.body_max) {
		fail(r, 413, "the file is too long");
		return;
	}
	if (u->form != NULL)
		multipart_add(u->form, data, len);
	else if (u->inflate != NULL)
		buf_add(&u->in, data, len);
	else {
		n = u->direct && u->out.len == 0 ? pour(u, data, len) : 0;
		buf_add(&u->out, data + n, len - n);
	}
	if (u->form == NULL && u->inflate == NULL)
		feed(r);
	go_on(r);
}

static void
upload_end(struct req *r)
{
	struct upload *u = r->data;

	u->body_end = true;
	go_on(r);
}

static const struct req_ops upload_ops = { .body = upload_body,
    .end = upload_end, .gone = upload_gone };

static bool
has_metadata(const struct req *r)
{

	for (size_t i = 0; i < r->head.nfields; i++)
		if (strncmp(r->head.field[i].name, "x-metadata-", 11) == 0)
			return (true);
	return (false);
}

static int
take_coding(struct req *r, struct upload *u)
{
	const char *coding = http_field(&r->head, "content-encoding");

	if (coding == NULL || strcasecmp(coding, "identity") == 0)
		return (0);
	if (strcasecmp(coding, "gzip") != 0 || u->form != NULL)
		return (-1);
	u->inflate = calloc(1, sizeof(*u->inflate));
	if (u->inflate == NULL || inflateInit2(u->inflate, 15 + 16) != Z_OK) {
		free(u->inflate);
		u->inflate = NULL;
		return (-1);
	}
	return (0);
}

static int
take_type(struct req *r, struct upload *u)
{
	const char *type = http_field(&r->head, "content-type");
	static const char plain[] = "application/octet-stream";

	if (type != NULL && strncasecmp(type, plain, strlen(plain)) == 0)
		return (0);
	u->form = calloc(1, sizeof(*u->form));
	return (u->form != NULL ? multipart_init(u->form, type) : -1);
}

void
envd_upload(struct req *r)
{
	struct upload *u = calloc(1, sizeof(*u));

	if (u == NULL || (u->results = json_array()) == NULL) {
		free(u);
		reply_error(r, 500, "out of memory");
		return;
	}
	r->data = u;
	r->ops = &upload_ops;
	if (has_metadata(r))
		fail(r, 400, "metadata of files is not kept here");
	else if (take_type(r, u) != 0)
		fail(r, 400, "the body must be application/octet-stream or "
		    "multipart/form-data with a boundary");
	else if (take_coding(r, u) != 0)
		fail(r, 400, "the coding of the body is not understood");
	else if (u->form == NULL)
		open_file(r, http_param(&r->url, "path"));
	if (!r->finished)
		conn_soon(r->conn);
}
