/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a shim says, held against what it was asked.  Form and size are
 * checked already; here is what a hostile shim would get wrong: ids nobody
 * gave out, answers to nothing, answers twice, gaps, more than was granted.
 */

#include <sys/stat.h>

#include <errno.h>
#include <string.h>

#include "shim_internal.h"

#define	CALL(s, fn, ...) \
	do { \
		if ((s)->h->fn != NULL) \
			(s)->h->fn((s)->arg, __VA_ARGS__); \
	} while (0)

static int
violation(const struct sw_msg *m, struct co_error *e, const char *what)
{

	return (co_error_set(e, CO_EPROTO_DENIED, sw_type_name(m->type),
	    "the shim broke the protocol: %s", what));
}

static struct command *
command_of(struct shim *s, const struct sw_msg *m)
{

	return (shim_find_command(s, sw_num(m, F_ID, 0)));
}

static struct request *
request_of(struct shim *s, const struct sw_msg *m)
{

	return (shim_find_request(s, (uint32_t)sw_num(m, F_REQ, 0)));
}

static int
hello(struct shim *s, const struct sw_msg *m, struct co_error *e)
{
	struct shim_hello h = {
		.version = (int)sw_num(m, F_VERSION, 0),
		.pid = (int)sw_num(m, F_PID, 0),
		.instance = sw_str(m, F_INSTANCE, ""),
		.platform = sw_str(m, F_PLATFORM, ""),
	};

	if (s->ready)
		return (violation(m, e, "a second hello"));
	/* Of an earlier connection over the same port. */
	if (strcmp(sw_str(m, F_NONCE, ""), s->nonce) != 0)
		return (0);
	if (h.version != SW_VERSION)
		return (co_error_set(e, CO_EPROTO_VERSION, "hello",
		    "the shim speaks version %d, not %d; update the template",
		    h.version, SW_VERSION));
	s->ready = true;
	s->in.sync = false;
	CALL(s, ready, &h);
	return (0);
}

static int
started(struct shim *s, const struct sw_msg *m, struct co_error *e)
{
	struct command *c;

	if ((c = command_of(s, m)) == NULL || c->started || c->attaching)
		return (violation(m, e, "nothing to be started"));
	c->started = true;
	CALL(s, started, c->id, (int)sw_num(m, F_PID, 0));
	return (0);
}

static int
output(struct shim *s, const struct sw_msg *m, const char *data,
    size_t len, struct co_error *e)
{
	int64_t stream = sw_num(m, F_STREAM, 0);
	uint64_t offset = (uint64_t)sw_num(m, F_OFFSET, 0);
	struct command *c;

	if ((c = command_of(s, m)) == NULL || !c->started)
		return (violation(m, e, "output of nothing that runs"));
	if (len == 0 || stream == WS_STDIN || offset != c->got)
		return (violation(m, e, "output out of order"));
	if (len > c->window - (c->got - c->acked))
		return (violation(m, e, "more output than was granted"));
	c->got += len;
	c->messages++;
	if (s->h->output == NULL) {
		shim_consumed(s, c->id, len);
		return (0);
	}
	s->h->output(s->arg, c->id, (enum shim_stream)stream, offset, data,
	    len);
	return (0);
}

/* The id is free for the caller before the handler hears of it. */
static void
finish(struct shim *s, struct command *c, const struct shim_exit *x)
{
	int64_t id = c->id;

	shim_drop_command(s, c);
	CALL(s, completed, id, x);
}

static int
completed(struct shim *s, const struct sw_msg *m, struct co_error *e)
{
	struct shim_exit x = {
		.exit_code = (int)sw_num(m, F_EXIT_CODE, 0),
		.signal = (int)sw_num(m, F_SIGNAL, 0),
		.timed_out = sw_num(m, F_TIMED_OUT, 0) != 0,
		.message = sw_str(m, F_MESSAGE, ""),
		.output = (uint64_t)sw_num(m, F_OFFSET, 0),
		.cpu_ms = sw_num(m, F_CPU_MS, 0),
		.maxrss = sw_num(m, F_MEM_USED, 0),
	};
	struct command *c;

	if (sw_has(m, F_ERROR))
		x.error = sw_errno(sw_str(m, F_ERROR, ""));
	if ((c = command_of(s, m)) == NULL || c->attaching)
		return (violation(m, e, "nothing to be completed"));
	if (!c->started && x.error == 0)
		return (violation(m, e, "completed before it was started"));
	if (x.output != c->got)
		return (violation(m, e, "completed without all its output"));
	shim_forget(s, c->id);
	finish(s, c, &x);
	return (0);
}

/* The answer to attach: from here on it is as if it was started here. */
static int
attached(struct shim *s, const struct sw_msg *m,
    const struct shim_process *p, struct co_error *e)
{
	struct command *c;

	if ((c = command_of(s, m)) == NULL || !c->attaching)
		return (violation(m, e, "nobody asked"));
	if (c->got != UINT64_MAX && c->got != p->offset)
		return (violation(m, e, "attached at another place"));
	c->attaching = false;
	c->started = true;
	c->got = c->consumed = c->acked = p->offset;
	c->window = (size_t)sw_num(m, F_WINDOW, SW_WINDOW);
	c->in.sent = p->stdin_offset;
	CALL(s, process, NULL, p);
	return (0);
}

static int
process(struct shim *s, const struct sw_msg *m, struct co_error *e)
{
	struct shim_process p = {
		.id = sw_num(m, F_ID, 0),
		.pid = (int)sw_num(m, F_PID, 0),
		.running = sw_num(m, F_RUNNING, 0) != 0,
		.pty = sw_num(m, F_PTY, 0) != 0,
		.command = sw_str(m, F_COMMAND, ""),
		.tag = sw_str(m, F_TAG, ""),
		.offset = (uint64_t)sw_num(m, F_OFFSET, 0),
		.stdin_offset = (uint64_t)sw_num(m, F_STDIN_OFFSET, 0),
		.age_ms = sw_num(m, F_UPTIME_MS, 0),
	};
	struct request *r;

	if (!sw_has(m, F_REQ))
		return (attached(s, m, &p, e));
	if ((r = request_of(s, m)) == NULL || r->type != W_PS ||
	    ++r->got > SHIM_PROCS)
		return (violation(m, e, "nobody asked"));
	CALL(s, process, r->cookie, &p);
	return (0);
}

static int
advance(struct sender *to, uint64_t offset)
{

	if (offset > to->sent || offset < to->acked)
		return (-1);
	to->acked = offset;
	return (0);
}

static int
ack(struct shim *s, const struct sw_msg *m, struct co_error *e)
{
	uint64_t offset = (uint64_t)sw_num(m, F_OFFSET, 0);
	struct command *c;
	struct request *r;
	int error = -1;

	if (sw_has(m, F_ID)) {
		if ((c = command_of(s, m)) != NULL && !c->attaching)
			error = advance(&c->in, offset);
	} else if ((r = request_of(s, m)) != NULL) {
		error = advance(&r->out, offset);
	}
	if (error != 0)
		return (violation(m, e, "of what was not sent"));
	return (0);
}

/* An entry or event: counted, but for the one that comes before data. */
static int
item(struct shim *s, const struct sw_msg *m, struct request **rp,
    struct co_error *e)
{
	struct request *r;

	*rp = r = request_of(s, m);
	if (r == NULL)
		return (violation(m, e, "nobody asked"));
	if (r->type == W_READ) {
		if (r->connected)
			return (violation(m, e, "a second entry"));
		r->connected = true;
		return (0);
	}
	if (r->type != W_LIST && r->got > 0 && m->type == W_ENTRY)
		return (violation(m, e, "a second entry"));
	if (r->got - r->acked >= SW_ENTRIES)
		return (violation(m, e, "more than was granted"));
	r->got++;
	return (0);
}

static int
entry(struct shim *s, const struct sw_msg *m, struct co_error *e)
{
	struct shim_entry t = {
		.path = sw_str(m, F_PATH, ""),
		.kind = (enum shim_kind)sw_num(m, F_KIND, WK_OTHER),
		.size = sw_num(m, F_SIZE, 0),
		.mode = (unsigned)sw_num(m, F_MODE, 0),
		.uid = (unsigned)sw_num(m, F_UID, 0),
		.gid = (unsigned)sw_num(m, F_GID, 0),
		.owner = sw_str(m, F_OWNER, ""),
		.group = sw_str(m, F_TEAM, ""),
		.mtime_ns = sw_num(m, F_MTIME_NS, 0),
		.target = sw_str(m, F_TARGET, ""),
	};
	struct request *r;

	if (item(s, m, &r, e) != 0)
		return (-1);
	if (r->type != W_STAT && r->type != W_LIST && r->type != W_READ &&
	    r->type != W_WATCH)
		return (violation(m, e, "nobody asked"));
	if (r->closed || s->h->entry == NULL)
		shim_entry_consumed(s, r->number);
	else
		s->h->entry(s->arg, r->number, r->cookie, &t);
	return (0);
}

static int
event(struct shim *s, const struct sw_msg *m, struct co_error *e)
{
	struct request *r;

	if ((r = request_of(s, m)) == NULL || r->type != W_WATCH)
		return (violation(m, e, "nobody asked"));
	if (item(s, m, &r, e) != 0)
		return (-1);
	if (r->closed || s->h->event == NULL)
		shim_entry_consumed(s, r->number);
	else
		s->h->event(s->arg, r->number, r->cookie,
		    (enum shim_event)sw_num(m, F_EVENT, 0),
		    sw_str(m, F_PATH, ""));
	return (0);
}

static int
data(struct shim *s, const struct sw_msg *m, const char *bytes, size_t len,
    struct co_error *e)
{
	uint64_t offset = (uint64_t)sw_num(m, F_OFFSET, 0);
	bool eof = sw_num(m, F_EOF, 0) != 0;
	struct request *r;

	r = request_of(s, m);
	if (r == NULL || r->ended || !r->connected || r->want_fd || r->direct ||
	    (r->type != W_READ && r->type != W_DIAL))
		return (violation(m, e, "nobody asked"));
	if (offset != r->got || (len == 0 && !eof))
		return (violation(m, e, "data out of order"));
	if (len > SW_STREAM - (r->got - r->acked))
		return (violation(m, e, "more data than was granted"));
	r->got += len;
	r->ended = eof;
	if (r->closed || s->h->data == NULL)
		shim_request_consumed(s, r->number, len);
	else
		s->h->data(s->arg, r->number, r->cookie, offset, bytes, len,
		    eof);
	return (0);
}

/* The socket may be anything; the caller is told only about sockets. */
static int
connected(struct shim *s, const struct sw_msg *m, struct co_error *e)
{
	int64_t nfds = sw_num(m, F_FDS, 0);
	struct request *r;
	int fd = -1;

	r = request_of(s, m);
	if (r == NULL || r->type != W_DIAL || r->connected ||
	    nfds != (r->want_fd ? 1 : 0))
		return (violation(m, e, "nobody asked"));
	if (nfds == 1 && sf_claim(&s->in, &fd, 1) != 0)
		return (violation(m, e, "a descriptor that did not come"));
	if (r->want_fd)
		s->want_fds--;
	r->connected = true;
	if (fd != -1 && !sf_is_socket(fd)) {
		sf_io_close(fd);
		return (violation(m, e, "a descriptor that is no socket"));
	}
	if (r->closed || s->h->connected == NULL) {
		if (fd != -1)
			sf_io_close(fd);
		return (0);
	}
	s->h->connected(s->arg, r->number, r->cookie, fd);
	return (0);
}

static int
reply(struct shim *s, const struct sw_msg *m, struct co_error *e)
{
	struct shim_result x = {
		.message = sw_str(m, F_MESSAGE, ""),
		.bytes = (uint64_t)sw_num(m, F_OFFSET, 0),
	};
	struct request *r;
	uint32_t number;
	void *cookie;

	if (sw_has(m, F_ERROR))
		x.error = sw_errno(sw_str(m, F_ERROR, ""));
	if ((r = request_of(s, m)) == NULL)
		return (violation(m, e, "nobody asked"));
	if (x.error == 0 && !r->closed && !r->direct &&
	    ((r->type == W_READ && x.bytes != r->got) ||
	    (r->type == W_WRITE && (x.bytes != r->out.sent || !r->out.eof))))
		return (violation(m, e, "done without all its bytes"));
	number = r->number;
	cookie = r->cookie;
	shim_drop_request(s, r);
	CALL(s, reply, number, cookie, &x);
	return (0);
}

static int
heartbeat(struct shim *s, const struct sw_msg *m, struct co_error *e)
{
	struct shim_stats t = {
		.seq = sw_num(m, F_SEQ, 0),
		.uptime_ms = sw_num(m, F_UPTIME_MS, 0),
		.procs = sw_num(m, F_PROCS, 0),
		.cpus = sw_num(m, F_CPUS, 0),
		.cpu_ms = sw_num(m, F_CPU_MS, 0),
		.mem_total = sw_num(m, F_MEM_TOTAL, 0),
		.mem_used = sw_num(m, F_MEM_USED, 0),
		.disk_total = sw_num(m, F_DISK_TOTAL, 0),
		.disk_used = sw_num(m, F_DISK_USED, 0),
		.tcp = sw_num(m, F_TCP, 0),
		.rx_bytes = sw_num(m, F_RX_BYTES, 0),
		.tx_bytes = sw_num(m, F_TX_BYTES, 0),
		.activity = sw_num(m, F_ACTIVITY, 0),
	};
	struct request *r;
	co_moment now = co_now();

	if (t.seq <= s->seq)
		return (violation(m, e, "out of order"));
	s->seq = t.seq;
	if (sw_has(m, F_REQ)) {
		if ((r = request_of(s, m)) == NULL || r->type != W_STATS ||
		    r->got++ > 0)
			return (violation(m, e, "nobody asked"));
		CALL(s, stats, r->cookie, &t);
		return (0);
	}
	if (s->beat_ms == 0)
		return (violation(m, e, "nobody asked"));
	/* A flood of them is not worth a call each. */
	if (s->last_beat != 0 &&
	    now - s->last_beat < s->beat_ms * 1000000 / 2)
		return (0);
	s->last_beat = now;
	CALL(s, stats, NULL, &t);
	return (0);
}

/* About a command: it can't be attached to.  Otherwise: about us. */
static int
error(struct shim *s, const struct sw_msg *m, struct co_error *e)
{
	struct shim_exit x = { .exit_code = 126,
	    .message = sw_str(m, F_MESSAGE, "") };
	struct command *c;

	if ((c = command_of(s, m)) == NULL || !c->attaching)
		return (co_error_set(e, CO_EPROTO_DENIED, "error",
		    "the shim ended the connection: %s", x.message));
	x.error = sw_errno(sw_str(m, F_ERROR, ""));
	finish(s, c, &x);
	return (0);
}

int
shim_receive(struct shim *s, const struct sw_msg *m, const char *bytes,
    size_t len, struct co_error *e)
{

	if (!s->ready && m->type != W_HELLO)
		return (violation(m, e, "no hello"));
	switch (m->type) {
	case W_HELLO:
		return (hello(s, m, e));
	case W_STEP_STARTED:
		return (started(s, m, e));
	case W_OUTPUT:
		return (output(s, m, bytes, len, e));
	case W_STEP_COMPLETED:
		return (completed(s, m, e));
	case W_PROCESS:
		return (process(s, m, e));
	case W_ACK:
		return (ack(s, m, e));
	case W_ENTRY:
		return (entry(s, m, e));
	case W_EVENT:
		return (event(s, m, e));
	case W_DATA:
		return (data(s, m, bytes, len, e));
	case W_CONNECTED:
		return (connected(s, m, e));
	case W_REPLY:
		return (reply(s, m, e));
	case W_HEARTBEAT:
		return (heartbeat(s, m, e));
	case W_ERROR:
		return (error(s, m, e));
	default:
		return (violation(m, e, "not for the shim to say"));
	}
}
