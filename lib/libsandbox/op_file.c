/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Operations on files in a sandbox, and connections into it.  All are asked
 * of the shim, which does them as the user inside.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"
#include "engine_link.h"

/* A request under way. */
struct transfer {
	struct ask	*ask;
	struct engine_call *call;
	char		*path;
	nvlist_t	*answer;	/* file.stat */
	/* file.list and file.watch: answers that are not sent yet */
	uint32_t	 unconsumed;
	/* file.read */
	uint64_t	 unacked;
	/* file.write */
	char		*in;
	size_t		 inlen;
	bool		 eof, all_sent;
	int		 fd;		/* dial */
};

static const char *const kinds[] = {
	[SHIM_FILE] = "file", [SHIM_DIR] = "dir", [SHIM_LINK] = "link",
	[SHIM_FIFO] = "fifo", [SHIM_SOCKET] = "socket",
	[SHIM_CHAR] = "char", [SHIM_BLOCK] = "block", [SHIM_OTHER] = "other"
};

static const char *const changes[] = {
	[SHIM_CREATE] = "create", [SHIM_WRITE] = "write",
	[SHIM_REMOVE] = "remove", [SHIM_RENAME] = "rename",
	[SHIM_CHMOD] = "chmod", [SHIM_OVERFLOW] = "overflow"
};

static void
transfer_free(struct transfer *t)
{

	nvlist_destroy(t->answer);
	if (t->fd != -1)
		(void)close(t->fd);
	free(t->path);
	free(t->in);
	free(t);
}

static void
on_cancel(struct engine_call *c)
{
	struct transfer *t = c->data;

	t->call = NULL;
	ask_close(t->ask);
}

static void
on_end(struct ask *a, const struct shim_result *r)
{
	struct transfer *t = a->arg;
	struct engine_call *c = t->call;
	nvlist_t *nv = t->answer;
	struct co_error e;
	int fd = t->fd;

	t->answer = NULL;
	t->fd = -1;
	if (c == NULL)
		nvlist_destroy(nv);
	else if (r != NULL && (r->error == 0 || fd != -1)) {
		c->cancel = NULL;
		if (nv == NULL)
			nv = nvlist_create(0);
		nvlist_add_number(nv, "bytes", r->bytes);
		call_done_fd(c, nv, fd);
		fd = -1;
	} else {
		nvlist_destroy(nv);
		c->cancel = NULL;
		ask_error(&e, a->sb, t->path, r);
		call_fail(c, &e);
	}
	if (fd != -1)
		(void)close(fd);
	transfer_free(t);
}

static nvlist_t *
entry_list(const struct shim_entry *en, const char *event)
{
	nvlist_t *nv;

	nv = event != NULL ? event_new(event) : nvlist_create(0);
	nvlist_add_string(nv, "path", en->path);
	nvlist_add_string(nv, "kind", kinds[en->kind]);
	nvlist_add_string(nv, "owner", en->owner);
	nvlist_add_string(nv, "group", en->group);
	nvlist_add_string(nv, "target", en->target);
	nvlist_add_number(nv, "size", (uint64_t)en->size);
	nvlist_add_number(nv, "mode", en->mode);
	nvlist_add_number(nv, "uid", en->uid);
	nvlist_add_number(nv, "gid", en->gid);
	nvlist_add_number(nv, "mtime_ns", (uint64_t)en->mtime_ns);
	return (nv);
}

static void
entry_dealt(struct transfer *t)
{

	if (t->call != NULL && t->call->held)
		t->unconsumed++;
	else
		shim_entry_consumed(t->ask->sb->shim->shim, t->ask->number);
}

static void
on_stat_entry(struct ask *a, const struct shim_entry *en)
{
	struct transfer *t = a->arg;

	nvlist_destroy(t->answer);
	t->answer = entry_list(en, NULL);
	entry_dealt(t);
}

static void
on_entry(struct ask *a, const struct shim_entry *en)
{
	struct transfer *t = a->arg;

	if (t->call != NULL)
		call_event(t->call, entry_list(en, "entry"));
	entry_dealt(t);
}

static void
on_change(struct ask *a, enum shim_event ev, const char *path)
{
	struct transfer *t = a->arg;
	nvlist_t *nv;

	if (t->call != NULL) {
		nv = event_new("change");
		nvlist_add_string(nv, "kind", changes[ev]);
		nvlist_add_string(nv, "path", path);
		call_event(t->call, nv);
	}
	entry_dealt(t);
}

static void
on_data(struct ask *a, uint64_t offset, const void *data, size_t len,
    bool eof)
{
	struct transfer *t = a->arg;
	nvlist_t *nv;

	(void)eof;
	if (t->call == NULL) {
		shim_request_consumed(a->sb->shim->shim, a->number, len);
		return;
	}
	if (len == 0)
		return;
	t->unacked += len;
	nv = event_new("data");
	nvlist_add_number(nv, "offset", offset);
	nvlist_add_binary(nv, "data", data, len);
	call_event(t->call, nv);
}

/* Send what was taken; grant as much again. */
static void
feed(struct transfer *t)
{
	struct ask *a = t->ask;
	struct co_error e;
	struct shim *s;
	nvlist_t *nv;
	ssize_t n;

	s = link_shim(a->sb, &e);
	if (s == NULL || t->all_sent || (t->inlen == 0 && !t->eof))
		return;
	n = shim_send(s, a->number, t->in, t->inlen, t->eof);
	link_kick(a->sb);
	if (n < 0)
		return;
	if (n > 0)
		memmove(t->in, t->in + n, t->inlen - (size_t)n);
	t->inlen -= (size_t)n;
	t->all_sent = t->inlen == 0 && t->eof;
	if (n == 0 || t->call == NULL)
		return;
	nv = event_new("room");
	nvlist_add_number(nv, "bytes", (uint64_t)n);
	call_event(t->call, nv);
}

static void
on_sendable(struct ask *a)
{

	feed(a->arg);
}

static void
take(struct transfer *t, const nvlist_t *nv, bool eof)
{
	struct engine_call *c = t->call;
	const void *data = NULL;
	size_t len = 0;
	char *in;

	if (nvlist_exists_binary(nv, "data"))
		data = nvlist_get_binary(nv, "data", &len);
	if (t->eof)
		return;
	if (t->inlen + len > CTL_MAX_MESSAGE) {
		t->call = NULL;
		c->cancel = NULL;
		ask_close(t->ask);
		call_fault(c, CO_EPROTO_TOOBIG, "input",
		    "more input than was granted");
		return;
	}
	if (len > 0) {
		in = realloc(t->in, t->inlen + len);
		if (in == NULL)
			return;
		memcpy(in + t->inlen, data, len);
		t->in = in;
		t->inlen += len;
	}
	t->eof = eof;
	feed(t);
}

static void
on_input(struct engine_call *c, const nvlist_t *nv)
{
	struct transfer *t = c->data;
	const char *op = ctl_string(nv, "op", "");
	struct co_error e;
	uint64_t n;

	if (strcmp(op, "input") == 0 && t->ask->sendable != NULL)
		take(t, nv, ctl_flag(nv, "eof", false));
	if (strcmp(op, "ack") != 0 || link_shim(t->ask->sb, &e) == NULL)
		return;
	n = ctl_uint(nv, "bytes", 0);
	if (n > t->unacked)
		n = t->unacked;
	t->unacked -= n;
	shim_request_consumed(t->ask->sb->shim->shim, t->ask->number,
	    (size_t)n);
	link_kick(t->ask->sb);
}

static void
on_resumed(struct engine_call *c)
{
	struct transfer *t = c->data;
	struct co_error e;
	struct shim *s;

	s = link_shim(t->ask->sb, &e);
	for (; s != NULL && t->unconsumed > 0; t->unconsumed--)
		shim_entry_consumed(s, t->ask->number);
	link_kick(t->ask->sb);
}

static void
on_connected(struct ask *a, int fd)
{
	struct transfer *t = a->arg;

	t->fd = fd;
}

/*
 * The table: what each takes from the request.
 */
struct file_op {
	const char	*name;
	enum shim_op	 op;
};

static const struct file_op file_ops[] = {
	{ "file.stat", SHIM_OP_STAT }, { "file.list", SHIM_OP_LIST },
	{ "file.read", SHIM_OP_READ }, { "file.write", SHIM_OP_WRITE },
	{ "file.mkdir", SHIM_OP_MKDIR }, { "file.move", SHIM_OP_MOVE },
	{ "file.remove", SHIM_OP_REMOVE }, { "file.chmod", SHIM_OP_CHMOD },
	{ "file.watch", SHIM_OP_WATCH }, { "dial", SHIM_OP_DIAL }
};

static enum shim_op
op_of(const char *name)
{
	size_t i = 0;

	while (strcmp(file_ops[i].name, name) != 0)
		i++;
	return (file_ops[i].op);
}

static int
number_of(const nvlist_t *q, const char *name, uint64_t max)
{
	uint64_t v = ctl_uint(q, name, 0);

	return ((int)(v > max ? max : v));
}

static void
request_of(const nvlist_t *q, struct shim_request *r)
{

	r->op = op_of(ctl_string(q, "op", ""));
	r->path = ctl_string(q, "path", NULL);
	r->to = ctl_string(q, "to", NULL);
	r->user = ctl_string(q, "user", NULL);
	r->mode = number_of(q, "mode", 07777);
	r->depth = number_of(q, "depth", 1000);
	if (r->op == SHIM_OP_LIST && r->depth == 0)
		r->depth = 1;
	r->offset = (int64_t)(ctl_uint(q, "offset", 0) & INT64_MAX);
	r->length = (int64_t)(ctl_uint(q, "length", 0) & INT64_MAX);
	r->follow = ctl_flag(q, "follow", false);
	r->append = ctl_flag(q, "append", false);
	r->atomic = ctl_flag(q, "atomic", false);
	r->parents = ctl_flag(q, "parents", false);
	r->recursive = ctl_flag(q, "recursive", false);
	r->port = number_of(q, "port", 65535);
	r->want_fd = r->op == SHIM_OP_DIAL;
}

static void
handlers_of(struct ask *a, enum shim_op op)
{

	a->end = on_end;
	a->entry = op == SHIM_OP_STAT ? on_stat_entry : on_entry;
	a->event = on_change;
	a->data = on_data;
	if (op == SHIM_OP_WRITE)
		a->sendable = on_sendable;
	if (op == SHIM_OP_DIAL)
		a->connected = on_connected;
}

/* The bytes of a file may go by a descriptor of the caller's. */
static int
take_fd(struct engine_call *c, const struct sandbox *sb,
    struct shim_request *r, struct co_error *e)
{

	if (c->nfds == 0 || (r->op != SHIM_OP_READ && r->op !=
	    SHIM_OP_WRITE))
		return (0);
	if (!box_direct(sb))
		return (co_error_set(e, CO_ESYS_UNSUPPORTED, sb->id,
		    "no descriptor can be passed to this sandbox"));
	if (r->atomic || nvlist_exists(c->req, "data"))
		return (co_error_set(e, CO_EPROTO_ARGUMENT, "atomic",
		    "what comes by a descriptor can't be written atomically, "
		    "nor beside other data"));
	r->fd = call_take_fd(c, e);
	r->has_fd = r->fd != -1;
	return (r->has_fd ? 0 : -1);
}

static int
check(const struct shim_request *r, struct co_error *e)
{

	if (r->op == SHIM_OP_DIAL && r->port == 0)
		return (co_error_set(e, CO_EPROTO_ARGUMENT, "port",
		    "\"port\" must be from 1 to 65535"));
	if (r->op != SHIM_OP_DIAL && (r->path == NULL || *r->path == '\0'))
		return (co_error_set(e, CO_EPROTO_ARGUMENT, "path",
		    "\"path\" must be there"));
	if (r->op == SHIM_OP_MOVE && (r->to == NULL || *r->to == '\0'))
		return (co_error_set(e, CO_EPROTO_ARGUMENT, "to",
		    "\"to\" must be there"));
	return (0);
}

static struct transfer *
transfer_new(struct engine_call *c, struct sandbox *sb, const char *path)
{
	struct transfer *t;

	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return (NULL);
	t->fd = -1;
	t->path = strdup(path != NULL ? path : "dial");
	t->ask = ask_new(sb, c);
	if (t->path == NULL || t->ask == NULL) {
		if (t->ask != NULL)
			ask_free(t->ask);
		transfer_free(t);
		return (NULL);
	}
	t->call = c;
	t->ask->arg = t;
	return (t);
}

static void
file_run(struct engine_call *c)
{
	struct shim_request r = { .op = SHIM_OP_STAT };
	struct sandbox *sb;
	struct transfer *t;
	struct co_error e;

	sb = call_box(c, &e);
	request_of(c->req, &r);
	if (check(&r, &e) != 0 || take_fd(c, sb, &r, &e) != 0) {
		call_fail(c, &e);
		return;
	}
	t = transfer_new(c, sb, r.path);
	if (t == NULL) {
		if (r.has_fd)
			(void)close(r.fd);
		call_fault(c, CO_ESYS_NOMEM, NULL, "out of memory");
		return;
	}
	handlers_of(t->ask, r.op);
	if (r.has_fd)
		t->ask->sendable = NULL;
	if (ask_request(t->ask, &r, &e) != 0) {
		if (r.has_fd)
			(void)close(r.fd);
		ask_free(t->ask);
		transfer_free(t);
		call_fail(c, &e);
		return;
	}
	c->data = t;
	c->cancel = on_cancel;
	c->input = on_input;
	c->resumed = on_resumed;
	if (r.op == SHIM_OP_WRITE && nvlist_exists_binary(c->req, "data"))
		take(t, c->req, true);
}

#define	LOOK	(OP_BOX | OP_RUNNING)
#define	CHANGE	(OP_BOX | OP_RUNNING | OP_AUDIT)

const struct op ops_file[] = {
	{ "file.stat", LOOK, file_run, NULL },
	{ "file.list", LOOK, file_run, NULL },
	{ "file.read", LOOK, file_run, NULL },
	{ "file.write", CHANGE, file_run, NULL },
	{ "file.mkdir", CHANGE, file_run, NULL },
	{ "file.move", CHANGE, file_run, NULL },
	{ "file.remove", CHANGE, file_run, NULL },
	{ "file.chmod", CHANGE, file_run, NULL },
	{ "file.watch", LOOK, file_run, NULL },
	{ "dial", CHANGE, file_run, NULL },
	{ NULL, 0, NULL, NULL }
};
