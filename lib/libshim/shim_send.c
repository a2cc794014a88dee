/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the host asks of a shim.  Nothing is sent that was not granted, and
 * what can't be sent is refused here.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim_internal.h"

#define	RESERVE		(512 << 10)	/* always left for small messages */

/* Why nothing can be asked now, if so. */
static int
check(const struct shim *s, struct co_error *e)
{

	if (s->dead)
		return (co_error_set(e, CO_ESANDBOX_STATE, NULL,
		    "the shim's channel is over"));
	if (!s->ready)
		return (co_error_set(e, CO_ESANDBOX_STATE, NULL,
		    "the shim has not said hello yet"));
	return (0);
}

static int
explain(int error, const struct sw_msg *m, struct co_error *e)
{

	if (error == ENOBUFS)
		return (co_error_set(e, CO_ESANDBOX_LIMIT,
		    sw_type_name(m->type), "the shim does not read what it "
		    "was already sent; wait for it"));
	return (co_error_set(e, CO_EPROTO_ARGUMENT, sw_type_name(m->type),
	    "a value is too long or out of its bounds"));
}

static int
put(struct shim *s, struct sw_msg *m, const int *fds, int nfds,
    struct co_error *e)
{
	int error;

	if (check(s, e) != 0)
		return (-1);
	if (s->out.len > SHIM_OUTCAP - RESERVE)
		return (explain(ENOBUFS, m, e));
	if ((error = sf_put(&s->out, m, NULL, 0, fds, nfds)) != 0)
		return (explain(error, m, e));
	return (0);
}

/* For what the library says by itself, out of the reserve. */
static void
put_own(struct shim *s, struct sw_msg *m)
{

	if (!s->dead && sf_put(&s->out, m, NULL, 0, NULL, 0) != 0)
		s->dead = true;
}

static size_t
count(const char *const *v)
{
	size_t n = 0;

	while (v != NULL && v[n] != NULL)
		n++;
	return (n);
}

static void
opt_str(struct sw_msg *m, enum sw_field f, const char *s)
{

	if (s != NULL && s[0] != '\0')
		sw_set_str(m, f, s);
}

static void
opt_num(struct sw_msg *m, enum sw_field f, int64_t n)
{

	if (n != 0)
		sw_set_num(m, f, n);
}

static void
opt_vec(struct sw_msg *m, enum sw_field f, const char *const *v)
{

	if (v != NULL)
		sw_set_vec(m, f, v, count(v));
}

/* The three standard streams; the descriptors among them into fds. */
static int
stdio(struct sw_msg *m, const struct shim_exec *x, int *fds)
{
	static const enum sw_field field[3] = { F_STDIN, F_STDOUT,
	    F_STDERR };
	static const enum sw_stdio how[] = { [SHIM_PIPE] = WI_PIPE,
	    [SHIM_NULL] = WI_NULL, [SHIM_FD] = WI_FD,
	    [SHIM_SAME] = WI_STDOUT };
	int n = 0;

	for (int i = 0; i < 3; i++) {
		if (x->io[i] == SHIM_DEFAULT)
			continue;
		sw_set_num(m, field[i], (int64_t)how[x->io[i]]);
		if (x->io[i] == SHIM_FD)
			fds[n++] = x->fd[i];
	}
	if (n > 0)
		sw_set_num(m, F_FDS, n);
	return (n);
}

static void
exec_message(struct sw_msg *m, const struct shim_exec *x)
{

	sw_init(m, W_EXEC);
	sw_set_num(m, F_ID, x->id);
	if (x->command != NULL)
		sw_set_str(m, F_COMMAND, x->command);
	opt_vec(m, F_ARGV, x->argv);
	opt_str(m, F_FALLBACK, x->fallback);
	opt_vec(m, F_ENV, x->env);
	opt_str(m, F_CWD, x->cwd);
	opt_str(m, F_USER, x->user);
	opt_str(m, F_TAG, x->tag);
	opt_num(m, F_TIMEOUT_MS, x->timeout_ms);
	opt_num(m, F_GRACE_MS, x->grace_ms);
	opt_num(m, F_WINDOW, (int64_t)x->window);
	if (x->until_eof)
		sw_set_num(m, F_WAIT, WW_EOF);
	if (x->pty) {
		sw_set_num(m, F_PTY, 1);
		opt_num(m, F_ROWS, x->rows);
		opt_num(m, F_COLS, x->cols);
	}
}

int
shim_exec(struct shim *s, const struct shim_exec *x, struct co_error *e)
{
	struct command *c;
	struct sw_msg m;
	int fds[3], nfds = 0;

	if (check(s, e) != 0)
		return (-1);
	if ((x->command == NULL) == (count(x->argv) == 0) ||
	    x->io[0] == SHIM_SAME || x->io[1] == SHIM_SAME)
		return (co_error_set(e, CO_EPROTO_ARGUMENT, "exec",
		    "give one of command and argv, and only stderr the same "
		    "place as stdout"));
	if (shim_find_command(s, x->id) != NULL)
		return (co_error_set(e, CO_EPROTO_ARGUMENT, "exec",
		    "id %lld is in use", (long long)x->id));
	if ((c = shim_add_command(s, x->id)) == NULL)
		return (co_error_errno(e, ENOMEM, "exec", "shim"));
	exec_message(&m, x);
	if (!x->pty)
		nfds = stdio(&m, x, fds);
	if (put(s, &m, fds, nfds, e) != 0) {
		shim_drop_command(s, c);
		return (-1);
	}
	if (x->window != 0)
		c->window = x->window;
	/* What can't take any is as good as ended. */
	c->in.eof = !x->pty && x->io[0] != SHIM_PIPE;
	return (0);
}

int
shim_attach(struct shim *s, int64_t id, int64_t offset, struct co_error *e)
{
	struct command *c;
	struct sw_msg m;

	if (check(s, e) != 0)
		return (-1);
	if (shim_find_command(s, id) != NULL)
		return (co_error_set(e, CO_EPROTO_ARGUMENT, "attach",
		    "id %lld is attached to", (long long)id));
	if ((c = shim_add_command(s, id)) == NULL)
		return (co_error_errno(e, ENOMEM, "attach", "shim"));
	sw_init(&m, W_ATTACH);
	sw_set_num(&m, F_ID, id);
	if (offset != -1)
		sw_set_num(&m, F_OFFSET, offset);
	if (put(s, &m, NULL, 0, e) != 0) {
		shim_drop_command(s, c);
		return (-1);
	}
	c->attaching = true;
	c->got = offset != -1 ? (uint64_t)offset : UINT64_MAX;
	return (0);
}

void
shim_forget(struct shim *s, int64_t id)
{
	struct sw_msg m;

	sw_init(&m, W_FORGET);
	sw_set_num(&m, F_ID, id);
	put_own(s, &m);
}

static void
ack(struct shim *s, enum sw_field f, int64_t which, uint64_t offset)
{
	struct sw_msg m;

	sw_init(&m, W_ACK);
	sw_set_num(&m, f, which);
	sw_set_num(&m, F_OFFSET, (int64_t)offset);
	put_own(s, &m);
}

void
shim_ack_command(struct shim *s, struct command *c)
{

	/* The shim keeps only so many changes between the streams. */
	if (c->consumed - c->acked < c->window / 4 &&
	    (c->messages < SW_SEGS / 4 || c->consumed < c->got))
		return;
	c->acked = c->consumed;
	if (c->acked == c->got)
		c->messages = 0;
	ack(s, F_ID, c->id, c->acked);
}

void
shim_ack_request(struct shim *s, struct request *r)
{
	bool bytes = r->type == W_READ || r->type == W_DIAL;

	if (r->consumed - r->acked < (bytes ? SW_STREAM : SW_ENTRIES) / 4)
		return;
	r->acked = r->consumed;
	ack(s, F_REQ, r->number, r->acked);
}

void
shim_consumed(struct shim *s, int64_t id, size_t n)
{
	struct command *c;

	if ((c = shim_find_command(s, id)) == NULL)
		return;
	c->consumed += n <= c->got - c->consumed ? n : c->got - c->consumed;
	shim_ack_command(s, c);
}

void
shim_request_consumed(struct shim *s, uint32_t number, size_t n)
{
	struct request *r;

	if ((r = shim_find_request(s, number)) == NULL)
		return;
	r->consumed += n <= r->got - r->consumed ? n : r->got - r->consumed;
	shim_ack_request(s, r);
}

void
shim_entry_consumed(struct shim *s, uint32_t number)
{
	struct request *r = shim_find_request(s, number);

	/* The entry before data is not counted. */
	if (r != NULL && r->type != W_READ)
		shim_request_consumed(s, number, 1);
}

/* Send what was granted and there is room for; m says where to. */
static ssize_t
feed(struct shim *s, struct sender *to, struct sw_msg *m, const char *data,
    size_t len, bool eof)
{
	size_t done = 0, n;
	uint64_t left;
	bool last;

	for (;;) {
		left = to->acked + SW_STREAM;
		left = left > to->sent ? left - to->sent : 0;
		n = len - done;
		if (n > left)
			n = (size_t)left;
		if (n > SW_PAYLOAD)
			n = SW_PAYLOAD;
		if (s->out.len >= SHIM_BULK)
			n = 0;
		last = eof && done + n == len;
		if (n == 0 && !last)
			break;
		sw_set_num(m, F_OFFSET, (int64_t)to->sent);
		if (last)
			sw_set_num(m, F_EOF, 1);
		if (sf_put(&s->out, m, data + done, n, NULL, 0) != 0)
			break;
		to->sent += n;
		done += n;
		to->eof = last;
		if (last || done == len)
			break;
	}
	to->starved = done < len || (eof && !to->eof);
	return ((ssize_t)done);
}

ssize_t
shim_stdin(struct shim *s, int64_t id, const void *data, size_t len,
    bool eof)
{
	struct command *c = shim_find_command(s, id);
	struct sw_msg m;

	if (check(s, NULL) != 0 || c == NULL || c->in.eof)
		return (-1);
	sw_init(&m, W_STDIN);
	sw_set_num(&m, F_ID, id);
	if (c->attaching) {
		c->in.starved = true;
		return (0);
	}
	return (feed(s, &c->in, &m, data, len, eof));
}

ssize_t
shim_send(struct shim *s, uint32_t number, const void *data, size_t len,
    bool eof)
{
	struct request *r = shim_find_request(s, number);
	struct sw_msg m;

	if (check(s, NULL) != 0 || r == NULL || r->closed || r->out.eof ||
	    (r->type != W_WRITE && r->type != W_DIAL))
		return (-1);
	if (r->type == W_DIAL && !r->connected) {
		r->out.starved = true;
		return (0);
	}
	sw_init(&m, W_DATA);
	sw_set_num(&m, F_REQ, number);
	return (feed(s, &r->out, &m, data, len, eof));
}

static bool
hungry(const struct shim *s, struct sender *to)
{

	if (!to->starved || to->sent >= to->acked + SW_STREAM ||
	    s->out.len >= SHIM_BULK)
		return (false);
	to->starved = false;
	return (true);
}

/* Call who waits to send; a handler may drop any of the lists' members. */
void
shim_wake_senders(struct shim *s)
{
	struct command *c;
	struct request *r;

	do {
		for (c = s->commands; c != NULL; c = c->next)
			if (!c->attaching && hungry(s, &c->in))
				break;
		if (c != NULL && s->h->room != NULL)
			s->h->room(s->arg, c->id);
	} while (c != NULL);
	do {
		for (r = s->requests; r != NULL; r = r->next)
			if ((r->type != W_DIAL || r->connected) &&
			    hungry(s, &r->out))
				break;
		if (r != NULL && s->h->sendable != NULL)
			s->h->sendable(s->arg, r->number, r->cookie);
	} while (r != NULL);
}

static int
about(struct shim *s, enum sw_type type, int64_t id, struct sw_msg *m,
    struct co_error *e)
{

	sw_init(m, type);
	sw_set_num(m, F_ID, id);
	if (check(s, e) != 0)
		return (-1);
	if (shim_find_command(s, id) == NULL)
		return (co_error_set(e, CO_EPROTO_ARGUMENT,
		    sw_type_name(type), "no command %lld", (long long)id));
	return (0);
}

int
shim_cancel(struct shim *s, int64_t id, int64_t grace, struct co_error *e)
{
	struct sw_msg m;

	if (about(s, W_CANCEL, id, &m, e) != 0)
		return (-1);
	if (grace >= 0)
		sw_set_num(&m, F_GRACE_MS, grace);
	return (put(s, &m, NULL, 0, e));
}

int
shim_signal(struct shim *s, int64_t id, int sig, bool group,
    struct co_error *e)
{
	struct sw_msg m;

	if (about(s, W_SIGNAL, id, &m, e) != 0)
		return (-1);
	sw_set_num(&m, F_SIGNAL, sig);
	sw_set_num(&m, F_GROUP, group);
	return (put(s, &m, NULL, 0, e));
}

int
shim_resize(struct shim *s, int64_t id, int rows, int cols,
    struct co_error *e)
{
	struct sw_msg m;

	if (about(s, W_RESIZE, id, &m, e) != 0)
		return (-1);
	sw_set_num(&m, F_ROWS, rows);
	sw_set_num(&m, F_COLS, cols);
	return (put(s, &m, NULL, 0, e));
}

/* Number a request, send it, and remember it. */
static int
ask(struct shim *s, struct sw_msg *m, const int *fd, void *cookie,
    uint32_t *number, struct co_error *e)
{
	struct request *r;

	if (check(s, e) != 0)
		return (-1);
	if ((r = calloc(1, sizeof(*r))) == NULL)
		return (co_error_errno(e, ENOMEM, sw_type_name(m->type),
		    "shim"));
	do
		r->number = ++s->number;
	while (r->number == 0 || shim_find_request(s, r->number) != NULL);
	sw_set_num(m, F_REQ, r->number);
	if (fd != NULL)
		sw_set_num(m, F_FDS, 1);
	if (put(s, m, fd, fd != NULL ? 1 : 0, e) != 0) {
		free(r);
		return (-1);
	}
	r->cookie = cookie;
	r->type = m->type;
	r->want_fd = m->type == W_DIAL && sw_has(m, F_FDS);
	r->direct = fd != NULL;
	r->out.eof = r->direct;
	s->want_fds += r->want_fd;
	r->next = s->requests;
	s->requests = r;
	if (number != NULL)
		*number = r->number;
	return (0);
}

int
shim_ps(struct shim *s, void *cookie, uint32_t *number, struct co_error *e)
{
	struct sw_msg m;

	sw_init(&m, W_PS);
	return (ask(s, &m, NULL, cookie, number, e));
}

static void
configure(struct sw_msg *m, const struct shim_request *r)
{

	opt_str(m, F_INTERFACE, r->interface);
	opt_str(m, F_IP, r->ip);
	opt_str(m, F_GW, r->gw);
	opt_vec(m, F_DNS, r->dns);
	opt_vec(m, F_ENV, r->env);
	opt_str(m, F_HOSTNAME, r->hostname);
	opt_str(m, F_CWD, r->cwd);
	opt_num(m, F_PREFIX, r->prefix);
	opt_num(m, F_MTU, r->mtu);
}

/* The fields of a file request that its type has. */
static void
file_fields(struct sw_msg *m, const struct shim_request *r)
{
	bool write = r->op == SHIM_OP_WRITE;

	sw_set_str(m, F_PATH, r->path != NULL ? r->path : "");
	if (r->op == SHIM_OP_MOVE)
		sw_set_str(m, F_TO, r->to != NULL ? r->to : "");
	if (r->op == SHIM_OP_CHMOD)
		sw_set_num(m, F_MODE, r->mode);
	else if (write || r->op == SHIM_OP_MKDIR)
		opt_num(m, F_MODE, r->mode);
	if (r->op == SHIM_OP_LIST)
		opt_num(m, F_DEPTH, r->depth);
	if (r->op == SHIM_OP_READ) {
		opt_num(m, F_OFFSET, r->offset);
		opt_num(m, F_LENGTH, r->length);
	}
	opt_num(m, F_FOLLOW, r->op == SHIM_OP_STAT && r->follow);
	opt_num(m, F_APPEND, write && r->append);
	opt_num(m, F_ATOMIC, write && r->atomic);
	opt_num(m, F_PARENTS, (write || r->op == SHIM_OP_MKDIR) &&
	    r->parents);
	opt_num(m, F_RECURSIVE, (r->op == SHIM_OP_REMOVE ||
	    r->op == SHIM_OP_WATCH) && r->recursive);
}

int
shim_request(struct shim *s, const struct shim_request *r, void *cookie,
    uint32_t *number, struct co_error *e)
{
	static const enum sw_type types[] = {
		[SHIM_OP_STAT] = W_STAT, [SHIM_OP_LIST] = W_LIST,
		[SHIM_OP_READ] = W_READ, [SHIM_OP_WRITE] = W_WRITE,
		[SHIM_OP_MKDIR] = W_MKDIR, [SHIM_OP_MOVE] = W_MOVE,
		[SHIM_OP_REMOVE] = W_REMOVE, [SHIM_OP_CHMOD] = W_CHMOD,
		[SHIM_OP_WATCH] = W_WATCH, [SHIM_OP_DIAL] = W_DIAL,
		[SHIM_OP_PORTS] = W_PORTS, [SHIM_OP_STATS] = W_STATS,
		[SHIM_OP_CONFIGURE] = W_CONFIGURE,
	};
	struct sw_msg m;

	if (r->has_fd && ((r->op != SHIM_OP_READ && r->op !=
	    SHIM_OP_WRITE) || r->atomic))
		return (co_error_set(e, CO_EPROTO_ARGUMENT, "fd",
		    "only what is read, or written but not atomically, can "
		    "go by a descriptor"));
	sw_init(&m, types[r->op]);
	switch (r->op) {
	case SHIM_OP_DIAL:
		sw_set_num(&m, F_PORT, r->port);
		opt_num(&m, F_FDS, r->want_fd);
		break;
	case SHIM_OP_PORTS:
		sw_set_nums(&m, F_PORTS, r->ports, r->nports);
		break;
	case SHIM_OP_STATS:
		break;
	case SHIM_OP_CONFIGURE:
		configure(&m, r);
		opt_str(&m, F_USER, r->user);
		break;
	default:
		file_fields(&m, r);
		opt_str(&m, F_USER, r->user);
		break;
	}
	return (ask(s, &m, r->has_fd ? &r->fd : NULL, cookie, number, e));
}

int
shim_close(struct shim *s, uint32_t number, struct co_error *e)
{
	struct request *r = shim_find_request(s, number);
	struct sw_msg m;

	sw_init(&m, W_CLOSE);
	sw_set_num(&m, F_REQ, number);
	if (r == NULL)
		return (co_error_set(e, CO_EPROTO_ARGUMENT, "close",
		    "no request %u", number));
	if (r->closed)
		return (0);
	if (put(s, &m, NULL, 0, e) != 0)
		return (-1);
	r->closed = true;
	return (0);
}

int
shim_rollback(struct shim *s, int64_t step, struct co_error *e)
{
	struct sw_msg m;

	sw_init(&m, W_ROLLBACK_NOTIFY);
	sw_set_num(&m, F_STEP_ID, step);
	return (put(s, &m, NULL, 0, e));
}

int
shim_shutdown(struct shim *s, int64_t grace, enum shim_how how,
    struct co_error *e)
{
	struct sw_msg m;

	sw_init(&m, W_SHUTDOWN);
	if (grace >= 0)
		sw_set_num(&m, F_GRACE_MS, grace);
	sw_set_num(&m, F_HOW, (int64_t)how);
	return (put(s, &m, NULL, 0, e));
}
