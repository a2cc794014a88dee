/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * File requests.  Each is served by a process of its own, which has become
 * the user it is for: a file system that hangs, as a shared folder does
 * while somebody is asked, hangs only the request.  This file starts those
 * processes and relays what they say, within what the host granted.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "feed.h"
#include "file.h"
#include "sys.h"

#define	FRAME		(sizeof(struct file_head) + SW_SHIMLINE + \
			    SW_PAYLOAD)
#define	KILL_MS		2000

struct work {
	struct work	*next;
	struct guest	*g;
	int64_t		 req;
	pid_t		 pid;		/* 0: reaped */
	struct ev_src	 out;
	struct ev_src	 in;
	struct ev_timer	 kill;
	struct feed	 feed;
	char		*buf;		/* one frame, as far as it came */
	size_t		 len;
	uint64_t	 sent;		/* items or bytes */
	uint64_t	 acked;
	bool		 orphan;	/* no host waits for a reply */
	bool		 closed;	/* the host closed it */
	bool		 replied;
};

static struct work *
find(const struct guest *g, int64_t req)
{
	struct work *w;

	for (w = g->works; w != NULL; w = w->next)
		if (w->req == req && !w->orphan && !w->replied)
			return (w);
	return (NULL);
}

bool
work_busy(const struct guest *g, int64_t req)
{

	return (find(g, req) != NULL);
}

/* How many more bytes make the frame at hand whole; 0: it is. */
static size_t
missing(const struct work *w)
{
	struct file_head h;

	if (w->len < sizeof(h))
		return (sizeof(h) - w->len);
	memcpy(&h, w->buf, sizeof(h));
	return (sizeof(h) + h.line + h.payload - w->len);
}

/* Nothing else than what we wrote ourselves, but look all the same. */
static bool
sane(const struct work *w)
{
	struct file_head h;

	if (w->len < sizeof(h))
		return (true);
	memcpy(&h, w->buf, sizeof(h));
	return (h.line <= SW_SHIMLINE && h.payload <= SW_PAYLOAD);
}

static void
want(struct work *w)
{

	(void)ev_want(w->g->ev, &w->out, missing(w) > 0 ? EV_IN : 0);
	(void)ev_want(w->g->ev, &w->in, w->feed.len > 0 ? EV_OUT : 0);
}

static void
on_out(void *arg, unsigned got)
{
	struct work *w = arg;
	size_t n;
	ssize_t r;

	(void)got;
	while ((n = missing(w)) > 0) {
		r = read(w->out.fd, w->buf + w->len, n);
		if (r == -1 && (errno == EAGAIN || errno == EINTR))
			break;
		if (r <= 0) {
			ev_close(w->g->ev, &w->out);
			break;
		}
		w->len += (size_t)r;
		if (!sane(w)) {
			w->len = 0;
			ev_close(w->g->ev, &w->out);
			break;
		}
	}
	want(w);
}

static void
flush(struct work *w)
{
	int error;

	if (w->in.fd == -1)
		return;
	error = feed_flush(&w->feed, w->in.fd);
	if (error != EAGAIN && (error != 0 || w->feed.eof))
		ev_close(w->g->ev, &w->in);
}

static void
on_in(void *arg, unsigned got)
{

	(void)got;
	flush(arg);
	want(arg);
}

static void
on_kill(void *arg)
{
	struct work *w = arg;

	if (w->pid > 0)
		(void)kill(w->pid, SIGKILL);
}

static void
destroy(struct work *w)
{
	struct guest *g = w->g;
	struct work **at;

	for (at = &g->works; *at != w; at = &(*at)->next)
		;
	*at = w->next;
	g->nworks--;
	ev_close(g->ev, &w->out);
	ev_close(g->ev, &w->in);
	ev_stop(g->ev, &w->kill);
	feed_kill(&w->feed);
	free(w->buf);
	free(w);
}

/* Tell the process to clean up; it dies before it sees its input end. */
static void
stop(struct work *w)
{

	if (w->pid > 0 && w->kill.at == 0) {
		(void)kill(w->pid, SIGTERM);
		ev_start(w->g->ev, &w->kill, KILL_MS);
	}
	ev_close(w->g->ev, &w->in);
	feed_kill(&w->feed);
}

static void
child(struct guest *g, const struct sw_msg *m, int in, int out, int direct)
{
	int fd;

	/* Out of the way of each other first. */
	in = fcntl(direct != -1 && m->type == W_WRITE ? direct : in, F_DUPFD,
	    10);
	out = fcntl(out, F_DUPFD, 10);
	fd = open("/dev/null", O_RDWR);
	if (direct != -1)
		direct = fcntl(direct, F_DUPFD, 10);
	if (in == -1 || out == -1 || dup2(in, 0) == -1 ||
	    dup2(out, 1) == -1 || (fd != -1 && dup2(fd, 2) == -1) ||
	    (direct != -1 && dup2(direct, FILE_DIRECT) == -1))
		_exit(1);
	sys_close_from(direct != -1 && m->type == W_READ ? FILE_DIRECT + 1 :
	    FILE_DIRECT);
	file_run(g, m);
}

static int
start(struct work *w, const struct sw_msg *m, int direct)
{
	int in[2], out[2], error;

	if (pipe2(in, O_CLOEXEC) != 0)
		return (errno);
	if (pipe2(out, O_CLOEXEC) != 0) {
		error = errno;
		goto err0;
	}
	if ((w->pid = spawn_fork()) == -1) {
		error = errno;
		goto err1;
	}
	if (w->pid == 0)
		child(w->g, m, in[0], out[1], direct);
	close(in[0]);
	close(out[1]);
	(void)fcntl(in[1], F_SETFL, O_NONBLOCK);
	(void)fcntl(out[0], F_SETFL, O_NONBLOCK);
	ev_init(&w->in, in[1], on_in, w);
	ev_init(&w->out, out[0], on_out, w);
	want(w);
	return (0);

err1:
	close(out[0]);
	close(out[1]);
err0:
	close(in[0]);
	close(in[1]);
	w->pid = 0;
	return (error);
}

static void
begin(struct guest *g, const struct sw_msg *m, int direct)
{
	int64_t req = sw_num(m, F_REQ, 0);
	struct work *w;
	int error;

	if (g->nworks == MAXWORKS || g->shutdown) {
		session_reply(g, req, EAGAIN, "too many file requests");
		return;
	}
	if ((w = calloc(1, sizeof(*w))) == NULL ||
	    (w->buf = malloc(FRAME)) == NULL) {
		free(w);
		session_reply(g, req, ENOMEM, NULL);
		return;
	}
	w->g = g;
	w->req = req;
	w->in.fd = w->out.fd = -1;
	w->kill = (struct ev_timer){ .fn = on_kill, .arg = w };
	w->next = g->works;
	g->works = w;
	g->nworks++;
	if ((error = start(w, m, direct)) != 0) {
		destroy(w);
		session_reply(g, req, error, NULL);
	}
}

void
work_start(struct guest *g, const struct sw_msg *m)
{
	int fd[SW_FDS] = { -1, -1, -1 }, n = (int)sw_num(m, F_FDS, 0);

	if (n > 1 || sf_claim(&g->chan.in, fd, n) != 0) {
		chan_refuse(g, 0, "fds", "not one, or not there");
		return;
	}
	begin(g, m, fd[0]);
	if (fd[0] != -1)
		close(fd[0]);
}

bool
work_data(struct guest *g, const struct sw_msg *m, const char *data,
    size_t len)
{
	struct work *w;

	if ((w = find(g, sw_num(m, F_REQ, 0))) == NULL)
		return (false);
	if (feed_put(&w->feed, (uint64_t)sw_num(m, F_OFFSET, 0), data, len,
	    sw_num(m, F_EOF, 0) != 0) == EPROTO) {
		chan_refuse(g, 0, "data", "more than was granted");
		return (true);
	}
	g->activity += (int64_t)len;
	flush(w);
	want(w);
	return (true);
}

bool
work_ack(struct guest *g, const struct sw_msg *m)
{
	uint64_t offset = (uint64_t)sw_num(m, F_OFFSET, 0);
	struct work *w;

	if ((w = find(g, sw_num(m, F_REQ, 0))) == NULL)
		return (false);
	if (offset > w->sent)
		chan_refuse(g, 0, "ack", "of what was not sent");
	else if (offset > w->acked)
		w->acked = offset;
	return (true);
}

bool
work_close(struct guest *g, const struct sw_msg *m)
{
	struct work *w;

	if ((w = find(g, sw_num(m, F_REQ, 0))) == NULL)
		return (false);
	w->closed = true;
	stop(w);
	return (true);
}

bool
work_reaped(struct guest *g, pid_t pid)
{

	for (struct work *w = g->works; w != NULL; w = w->next)
		if (w->pid == pid) {
			w->pid = 0;
			ev_stop(g->ev, &w->kill);
			return (true);
		}
	return (false);
}

void
work_detach(struct guest *g)
{

	for (struct work *w = g->works; w != NULL; w = w->next) {
		w->orphan = true;
		stop(w);
		ev_close(g->ev, &w->out);
	}
}

/* Pass on the frame at hand if the host granted it. */
static bool
relay(struct work *w)
{
	struct file_head h;
	uint64_t window;

	if (missing(w) > 0)
		return (false);
	memcpy(&h, w->buf, sizeof(h));
	window = h.class == FILE_ITEM ? SW_ENTRIES : SW_STREAM;
	/* After a close the host only waits for the reply. */
	if (w->closed && h.class != FILE_LAST) {
		w->len = 0;
		return (true);
	}
	if (h.class != FILE_LAST && w->sent + h.cost > w->acked + window)
		return (false);
	w->sent += h.cost;
	w->g->activity += h.payload;
	chan_relay(w->g, w->buf + sizeof(h), h.line + h.payload);
	w->replied = h.class == FILE_LAST;
	w->len = 0;
	return (true);
}

static bool
pump(struct work *w)
{
	struct sw_msg m;
	uint64_t offset;
	bool more;

	if (w->out.fd != -1)
		on_out(w, EV_IN);
	more = relay(w);
	want(w);
	if (!w->replied && feed_tell(&w->feed, &offset)) {
		sw_init(&m, W_ACK);
		sw_set_num(&m, F_REQ, w->req);
		sw_set_num(&m, F_OFFSET, (int64_t)offset);
		chan_send(w->g, &m);
	}
	/* It ended without a word, by itself or by our hand. */
	if (w->out.fd == -1 && missing(w) > 0 && !w->replied) {
		session_reply(w->g, w->req, w->closed ? ECANCELED : EIO,
		    w->closed ? "closed" : "the request's process died");
		w->replied = true;
	}
	return (more);
}

bool
work_pump(struct guest *g)
{
	bool more = false;

	for (struct work *w = g->works; w != NULL && chan_room(g);
	    w = w->next)
		if (!w->orphan && !w->replied)
			more = pump(w) || more;
	return (more);
}

void
work_sweep(struct guest *g)
{
	struct work *w, *next;

	for (w = g->works; w != NULL; w = next) {
		next = w->next;
		if (!w->replied && !w->orphan)
			continue;
		stop(w);
		if (w->pid == 0)
			destroy(w);
	}
}
