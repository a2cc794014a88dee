/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A host for tests.
 */

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "plat.h"

static void
on_ready(void *arg, const struct shim_hello *h)
{
	struct client *c = arg;

	c->ready = true;
	snprintf(c->instance, sizeof(c->instance), "%s", h->instance);
}

struct run *
client_run(struct client *c, int64_t id)
{

	for (size_t i = 0; i < c->nruns; i++)
		if (c->run[i].id == id)
			return (&c->run[i]);
	ATF_REQUIRE(c->nruns < NRUNS);
	memset(&c->run[c->nruns], 0, sizeof(c->run[0]));
	c->run[c->nruns].id = id;
	c->run[c->nruns].keep = true;
	return (&c->run[c->nruns++]);
}

static struct req *
find_req(struct client *c, uint32_t number)
{

	for (size_t i = 0; i < c->nreqs; i++)
		if (c->req[i].number == number)
			return (&c->req[i]);
	ATF_REQUIRE(c->nreqs < NREQS);
	memset(&c->req[c->nreqs], 0, sizeof(c->req[0]));
	c->req[c->nreqs].number = number;
	c->req[c->nreqs].fd = -1;
	return (&c->req[c->nreqs++]);
}

static void
on_started(void *arg, int64_t id, int pid)
{
	struct run *r = client_run(arg, id);

	ATF_CHECK(!r->started);
	r->started = true;
	r->pid = pid;
}

static void
append(char **to, size_t *len, const void *data, size_t n)
{

	size_t cap = 4096;

	/* The size is always the same function of the length. */
	while (cap < *len + 1)
		cap *= 2;
	if (*to == NULL || *len + n + 1 > cap) {
		while (cap < *len + n + 1)
			cap *= 2;
		*to = realloc(*to, cap);
	}
	ATF_REQUIRE(*to != NULL);
	memcpy(*to + *len, data, n);
	*len += n;
	(*to)[*len] = '\0';
}

unsigned char
count_byte(uint64_t n)
{

	return ((unsigned char)(n ^ n >> 8 ^ n >> 16 ^ n >> 24));
}

static void
on_output(void *arg, int64_t id, enum shim_stream stream, uint64_t offset,
    const void *data, size_t n)
{
	struct client *c = arg;
	struct run *r = client_run(c, id);
	const unsigned char *p = data;

	ATF_CHECK_EQ(r->next, offset);
	for (size_t i = 0; r->counting && i < n; i++)
		r->mismatches += p[i] != count_byte(offset + i);
	r->next = offset + n;
	if (r->keep)
		append(&r->out[stream], &r->len[stream], data, n);
	if (!r->hold)
		shim_consumed(c->s, id, n);
}

static void
on_room(void *arg, int64_t id)
{

	client_run(arg, id)->room++;
}

static void
on_completed(void *arg, int64_t id, const struct shim_exit *x)
{
	struct run *r = client_run(arg, id);

	ATF_CHECK(!r->done);
	r->done = true;
	r->exit = *x;
	snprintf(r->message, sizeof(r->message), "%s", x->message);
	r->exit.message = r->message;
}

static void
on_process(void *arg, void *cookie, const struct shim_process *p)
{
	struct client *c = arg;

	if (cookie == NULL) {
		client_run(c, p->id)->next = p->offset;
		return;
	}
	ATF_REQUIRE(c->nprocesses < 64);
	snprintf(c->tags[c->nprocesses], 64, "%s", p->tag);
	c->process[c->nprocesses] = *p;
	c->process[c->nprocesses].tag = c->tags[c->nprocesses];
	c->process[c->nprocesses++].command = NULL;
}

static struct item *
add_item(struct req *r)
{

	r->item = realloc(r->item, (r->nitems + 1) * sizeof(*r->item));
	ATF_REQUIRE(r->item != NULL);
	memset(&r->item[r->nitems], 0, sizeof(*r->item));
	return (&r->item[r->nitems++]);
}

static void
on_entry(void *arg, uint32_t number, void *cookie,
    const struct shim_entry *e)
{
	struct client *c = arg;
	struct req *r = find_req(c, number);
	struct item *t = add_item(r);

	(void)cookie;
	t->event = -1;
	t->kind = e->kind;
	t->size = e->size;
	t->mode = e->mode;
	t->uid = e->uid;
	snprintf(t->path, sizeof(t->path), "%s", e->path);
	snprintf(t->owner, sizeof(t->owner), "%s", e->owner);
	snprintf(t->target, sizeof(t->target), "%s", e->target);
	if (!r->hold)
		shim_entry_consumed(c->s, number);
}

static void
on_event(void *arg, uint32_t number, void *cookie, enum shim_event event,
    const char *path)
{
	struct client *c = arg;
	struct item *t = add_item(find_req(c, number));

	(void)cookie;
	t->event = (int)event;
	snprintf(t->path, sizeof(t->path), "%s", path);
	shim_entry_consumed(c->s, number);
}

static void
on_data(void *arg, uint32_t number, void *cookie, uint64_t offset,
    const void *data, size_t n, bool eof)
{
	struct client *c = arg;
	struct req *r = find_req(c, number);

	(void)cookie;
	ATF_CHECK_EQ(r->got, offset);
	r->got += n;
	r->eof |= eof;
	if (!r->discard)
		append(&r->data, &r->len, data, n);
	if (!r->hold)
		shim_request_consumed(c->s, number, n);
}

static void
on_connected(void *arg, uint32_t number, void *cookie, int fd)
{
	struct req *r = find_req(arg, number);

	(void)cookie;
	r->connected = true;
	r->fd = fd;
}

static void
on_sendable(void *arg, uint32_t number, void *cookie)
{

	(void)cookie;
	find_req(arg, number)->sendable++;
}

static void
on_reply(void *arg, uint32_t number, void *cookie,
    const struct shim_result *x)
{
	struct req *r = find_req(arg, number);

	(void)cookie;
	ATF_CHECK(!r->done);
	r->done = true;
	r->result = *x;
	snprintf(r->message, sizeof(r->message), "%s", x->message);
	r->result.message = r->message;
}

static void
on_stats(void *arg, void *cookie, const struct shim_stats *t)
{
	struct client *c = arg;

	(void)cookie;
	c->stats = *t;
	c->nstats++;
}

const struct shim_handlers client_handlers = {
	.ready = on_ready, .started = on_started, .output = on_output,
	.room = on_room, .completed = on_completed, .process = on_process,
	.entry = on_entry, .event = on_event, .data = on_data,
	.connected = on_connected, .sendable = on_sendable,
	.reply = on_reply, .stats = on_stats,
};

/* In the child: the shim's arguments, environment and descriptor 3. */
static void
run_shim(const struct start *st, int fd)
{
	const char *argv[24] = { "coppice-shim", st->listen ? "--listen" :
	    "--fd", "3", "--run", st->rundir }, *env[16] = { NULL };
	const char *prog = getenv("COPPICE_SHIM");
	size_t n = 5;

	for (size_t i = 0; st->args != NULL && st->args[i] != NULL; i++)
		argv[n++] = st->args[i];
	for (size_t i = 0; st->env != NULL && st->env[i] != NULL; i++)
		env[i] = st->env[i];
	if (fd != 3 && dup2(fd, 3) != 3)
		_exit(1);
	(void)fcntl(3, F_SETFD, 0);
	plat_exec(prog != NULL ? prog : SHIM_PROG, argv, env);
	_exit(1);
}

static int
listener(struct sockaddr_un *sun)
{
	int fd;

	memset(sun, 0, sizeof(*sun));
	sun->sun_family = AF_UNIX;
	snprintf(sun->sun_path, sizeof(sun->sun_path), "shim.%d.sock",
	    (int)getpid());
	unlink(sun->sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	ATF_REQUIRE(bind(fd, (struct sockaddr *)sun, sizeof(*sun)) == 0);
	ATF_REQUIRE(listen(fd, 4) == 0);
	return (fd);
}

static void
attach(struct client *c, int fd)
{

	c->ready = c->lost = false;
	c->s = shim_new(fd, c->beat_ms, &client_handlers, c, &c->e);
	ATF_REQUIRE_MSG(c->s != NULL, "%s", c->e.message);
	client_wait(c, &c->ready);
}

void
client_connect(struct client *c)
{
	struct sockaddr_un sun;
	int fd;

	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	snprintf(sun.sun_path, sizeof(sun.sun_path), "shim.%d.sock",
	    (int)getpid());
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	ATF_REQUIRE(connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0);
	attach(c, fd);
}

void
client_start(struct client *c, const struct start *st)
{
	static const struct start none = { .rundir = "run" };
	struct sockaddr_un sun;
	int sv[2];

	signal(SIGPIPE, SIG_DFL);
	if (st == NULL)
		st = &none;
	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == 0);
	(void)fcntl(sv[0], F_SETFD, FD_CLOEXEC);
	if (st->listen) {
		close(sv[0]);
		close(sv[1]);
		sv[1] = listener(&sun);
	}
	c->pid = plat_fork(st->clone);
	ATF_REQUIRE(c->pid != -1);
	if (c->pid == 0)
		run_shim(st, sv[1]);
	close(sv[1]);
	if (st->listen)
		client_connect(c);
	else
		attach(c, sv[0]);
}

void
client_poll(struct client *c, int ms)
{
	struct pollfd p = { .fd = shim_fd(c->s),
	    .events = (short)shim_want(c->s) };

	(void)poll(&p, 1, ms);
	if (!c->lost && shim_dispatch(c->s, p.revents, &c->e) != 0)
		c->lost = true;
}

void
client_wait(struct client *c, const bool *flag)
{
	co_moment end = co_after(WAIT_MS);

	while (!*flag && !c->lost && co_left(end) > 0)
		client_poll(c, 100);
	ATF_REQUIRE_MSG(*flag, "not in time, or lost: %s",
	    c->lost ? c->e.message : "time");
}

void
client_disconnect(struct client *c)
{

	shim_free(c->s);
	c->s = NULL;
}

void
client_end(struct client *c)
{
	int status = -1;
	pid_t pid = 0;

	client_disconnect(c);
	for (int i = 0; i < 3000 && pid == 0; i++) {
		pid = waitpid(c->pid, &status, WNOHANG);
		usleep(10000);
	}
	if (pid == 0) {
		kill(c->pid, SIGKILL);
		waitpid(c->pid, &status, 0);
	}
	ATF_CHECK_EQ_MSG(0, status, "the shim ended with %#x", status);
	for (size_t i = 0; i < c->nruns; i++) {
		free(c->run[i].out[0]);
		free(c->run[i].out[1]);
	}
	for (size_t i = 0; i < c->nreqs; i++) {
		free(c->req[i].item);
		free(c->req[i].data);
	}
}

struct run *
client_exec(struct client *c, struct shim_exec x)
{
	static int64_t ids;
	struct run *r;

	if (x.id == 0)
		x.id = 1000 + ++ids;
	r = client_run(c, x.id);
	ATF_REQUIRE_MSG(shim_exec(c->s, &x, &c->e) == 0, "%s", c->e.message);
	return (r);
}

void
client_done(struct client *c, struct run *r)
{

	client_wait(c, &r->done);
	if (r->out[0] == NULL)
		r->out[0] = calloc(1, 4096);
	if (r->out[1] == NULL)
		r->out[1] = calloc(1, 4096);
}

struct run *
client_sh(struct client *c, const char *command)
{
	struct run *r;

	r = client_exec(c, (struct shim_exec){ .command = command });
	client_done(c, r);
	return (r);
}

struct req *
client_request(struct client *c, struct shim_request q)
{
	uint32_t number;

	ATF_REQUIRE_MSG(shim_request(c->s, &q, c, &number, &c->e) == 0, "%s",
	    c->e.message);
	return (find_req(c, number));
}

struct req *
client_do(struct client *c, struct shim_request q)
{
	struct req *r = client_request(c, q);

	client_wait(c, &r->done);
	return (r);
}

void
client_stdin(struct client *c, struct run *r, const void *data, size_t len,
    bool eof)
{
	const char *p = data;
	co_moment end = co_after(WAIT_MS);
	ssize_t n;

	for (;;) {
		n = shim_stdin(c->s, r->id, p, len, eof);
		ATF_REQUIRE(n >= 0);
		p += n;
		len -= (size_t)n;
		if (len == 0)
			break;
		ATF_REQUIRE(co_left(end) > 0 && !c->lost);
		client_poll(c, 100);
	}
}

void
client_send(struct client *c, struct req *r, const void *data, size_t len,
    bool eof)
{
	const char *p = data;
	co_moment end = co_after(WAIT_MS);
	ssize_t n;

	for (;;) {
		if ((n = shim_send(c->s, r->number, p, len, eof)) == -1)
			return;
		p += n;
		len -= (size_t)n;
		if (len == 0)
			break;
		ATF_REQUIRE(co_left(end) > 0 && !c->lost);
		client_poll(c, 100);
	}
}
