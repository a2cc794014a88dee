/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A request that goes on while we move its input and output, forward
 * signals and the size of the terminal, and ask what safeguards want to
 * know.
 */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "coppicectl.h"

#define	WINDOW		(256 * 1024)	/* of input, before it is granted */
#define	CHUNK		(32 * 1024)
#define	BACKLOG		(512 * 1024)
#define	ESCAPE		0x1d		/* Ctrl-] */
#define	QUESTIONS	16

struct question {
	char	*safeguard;
	char	*share;
	char	*text;
};

struct state {
	struct relay	*r;
	struct ctl	*c;
	uint64_t	 req;		/* of the command */
	uint64_t	 watch;		/* of the events, or 0 */
	uint64_t	 window;	/* bytes of input that may be sent */
	uint64_t	 since;		/* older events are not our matter */
	bool		 eof;		/* no more input */
	bool		 escaped;	/* after Ctrl-] */
	bool		 done;
	bool		 deaf[2];	/* nobody reads our output */
	int		 killed;	/* signals that were forwarded */
	struct question	 q[QUESTIONS];
	size_t		 nq;
};

static void
input(struct state *s, const char *data, size_t len, bool eof)
{
	nvlist_t *nv = request("input", NULL);

	if (len > 0)
		nvlist_add_binary(nv, "data", data, len);
	if (eof)
		nvlist_add_bool(nv, "eof", true);
	s->window -= len;
	tell(nv, s->req);
}

static void
forward(struct state *s, int sig)
{
	nvlist_t *nv = request("signal", NULL);

	nvlist_add_number(nv, "signal", (uint64_t)sig);
	nvlist_add_bool(nv, "group", true);
	tell(nv, s->req);
}

static void
resize(struct state *s)
{
	uint64_t rows, cols;
	nvlist_t *nv;

	if (!s->r->raw || !term_size(&rows, &cols))
		return;
	nv = request("resize", NULL);
	nvlist_add_number(nv, "rows", rows);
	nvlist_add_number(nv, "cols", cols);
	tell(nv, s->req);
}

static void on_message(void *, nvlist_t *, int *, size_t);

/* Send what is queued, as far as that goes within a moment. */
static void
flush(struct state *s)
{
	struct pollfd pfd = { .fd = ctl_fd(s->c), .events = POLLOUT };
	struct co_error e;

	for (int i = 0; i < 10 && ctl_backlog(s->c) > 0; i++) {
		(void)poll(&pfd, 1, 100);
		if (ctl_dispatch(s->c, 0, on_message, s, &e) != 0)
			return;
	}
}

static void
output(struct state *s, const nvlist_t *nv)
{
	const void *data;
	size_t len;
	int fd;

	if (!nvlist_exists_binary(nv, "data"))
		return;
	data = nvlist_get_binary(nv, "data", &len);
	fd = strcmp(ctl_string(nv, "stream", ""), "stderr") == 0 ?
	    STDERR_FILENO : STDOUT_FILENO;
	/*
	 * When nobody reads it any more the command learns that as we did.
	 * We stay to the end, as a hang-up may overtake the signal.
	 */
	if (!s->deaf[fd - STDOUT_FILENO] &&
	    co_write_all(fd, data, len) == EPIPE) {
		s->deaf[fd - STDOUT_FILENO] = true;
		forward(s, SIGPIPE);
	}
	acknowledge(nv, len);
}

/* Ask the first question that is open. */
static void
pose(struct state *s)
{

	if (s->nq == 0)
		return;
	(void)term_raw();
	fprintf(stderr, "\r\ncoppicectl: %s; allow it? [y/n] ", s->q[0].text);
	fflush(stderr);
}

static void
on_safeguard(struct state *s, const nvlist_t *nv)
{
	const char *message = ctl_string(nv, "message", "");
	struct question *q = &s->q[s->nq];
	char buf[512];

	if (s->nq == QUESTIONS || ctl_uint(nv, "time", UINT64_MAX) < s->since)
		return;
	if (*message != '\0')
		snprintf(buf, sizeof(buf), "%s", safe(message));
	else
		snprintf(buf, sizeof(buf), "a command wants to do \"%s\" %ju "
		    "times, now with %s", text(nv, "kind"),
		    (uintmax_t)ctl_uint(nv, "count", 1), text(nv, "path"));
	q->safeguard = strdup(ctl_string(nv, "safeguard", ""));
	q->share = strdup(ctl_string(nv, "share", ""));
	q->text = strdup(buf);
	if (q->safeguard == NULL || q->share == NULL || q->text == NULL)
		fail("out of memory");
	if (s->nq++ == 0)
		pose(s);
}

static void
reply(struct state *s, bool allow)
{
	nvlist_t *nv = request("safeguard.answer", s->r->id);

	fprintf(stderr, "%s\r\n", allow ? "yes" : "no");
	nvlist_add_string(nv, "safeguard", s->q[0].safeguard);
	if (*s->q[0].share != '\0')
		nvlist_add_string(nv, "share", s->q[0].share);
	nvlist_add_bool(nv, "allow", allow);
	nvlist_add_number(nv, "req", ctl_number(s->c));
	(void)ctl_send(s->c, nv, NULL, 0, NULL);
	nvlist_destroy(nv);
	free(s->q[0].safeguard);
	free(s->q[0].share);
	free(s->q[0].text);
	memmove(s->q, s->q + 1, --s->nq * sizeof(s->q[0]));
	if (s->nq > 0)
		pose(s);
	else if (!s->r->raw)
		term_restore();
}

static void
on_event(struct state *s, const nvlist_t *nv)
{
	const char *event = ctl_string(nv, "event", "");

	if (strcmp(event, "output") == 0)
		output(s, nv);
	else if (strcmp(event, "room") == 0)
		s->window += ctl_uint(nv, "bytes", 0);
	else if (strcmp(event, "started") == 0)
		s->r->exec = ctl_uint(nv, "exec", 0);
	else if (s->r->fn != NULL)
		s->r->fn(s->r->arg, nv);
}

static void
on_message(void *arg, nvlist_t *nv, int *fds, size_t nfds)
{
	struct state *s = arg;
	uint64_t req = ctl_uint(nv, "req", 0);

	ctl_close_fds(fds, nfds);
	if (req == s->req && !s->done) {
		if (ctl_flag(nv, "done", false)) {
			s->done = true;
			s->r->answer = nv;
			return;
		}
		on_event(s, nv);
	} else if (req == s->watch && req != 0 &&
	    strcmp(ctl_string(nv, "event", ""), "safeguard") == 0)
		on_safeguard(s, nv);
	nvlist_destroy(nv);
}

/* A key after Ctrl-]; true if it ends the relay. */
static bool
escape(struct state *s, char key)
{
	static const char again = ESCAPE;

	s->escaped = false;
	if (key == 'd' || key == '.') {
		s->r->detached = true;
		return (true);
	}
	if (key == ESCAPE)
		input(s, &again, 1, false);
	else
		fprintf(stderr, "\r\nCtrl-] d detaches, Ctrl-] Ctrl-] sends "
		    "Ctrl-]\r\n");
	return (false);
}

/* Keys of a terminal in raw mode; true if one ends the relay. */
static bool
keys(struct state *s, const char *buf, size_t len)
{
	const char *p;
	size_t n;

	while (len > 0) {
		if (s->nq > 0) {
			if (strchr("yYnN\003", *buf) != NULL && *buf != '\0')
				reply(s, *buf == 'y' || *buf == 'Y');
			n = 1;
		} else if (s->escaped) {
			if (escape(s, *buf))
				return (true);
			n = 1;
		} else if (*buf == ESCAPE) {
			s->escaped = true;
			n = 1;
		} else {
			p = memchr(buf, ESCAPE, len);
			n = p != NULL ? (size_t)(p - buf) : len;
			if (s->r->input)
				input(s, buf, n, false);
		}
		buf += n;
		len -= n;
	}
	return (false);
}

/* Move what is at stdin; true if that ends the relay. */
static bool
on_input(struct state *s)
{
	char buf[CHUNK];
	size_t room = sizeof(buf);
	ssize_t n;

	if (s->nq == 0 && s->window < room)
		room = (size_t)s->window;
	n = read(STDIN_FILENO, buf, s->nq > 0 ? 1 : room);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return (false);
	if (n <= 0) {
		s->eof = true;
		if (s->r->input)
			input(s, NULL, 0, true);
		return (false);
	}
	if (s->r->raw || s->nq > 0)
		return (keys(s, buf, (size_t)n));
	input(s, buf, (size_t)n, false);
	return (false);
}

static void
suspend(struct state *s)
{

	term_restore();
	(void)raise(SIGSTOP);
	if (s->r->raw)
		(void)term_raw();
	resize(s);
}

/* Deal with a signal that came; true if it ends the relay. */
static bool
on_signal(struct state *s, int sig)
{

	switch (sig) {
	case SIGWINCH:
		resize(s);
		return (false);
	case SIGTSTP:
		suspend(s);
		return (false);
	case SIGCONT:
		return (false);
	default:
		break;
	}
	if (s->r->exec != 0)
		forward(s, sig);
	else
		tell(request("cancel", NULL), s->req);
	/* Whoever asks again means us, and a terminal that is gone too. */
	if (sig != SIGHUP && s->killed++ == 0)
		return (false);
	flush(s);
	term_restore();
	exit(128 + sig);
}

static bool
wants_input(const struct state *s)
{

	if (s->eof)
		return (false);
	return (s->nq > 0 || (s->r->input && s->window > 0 &&
	    ctl_backlog(s->c) < BACKLOG));
}

/* Wait once and deal with what came.  1: the relay ended, -1: error. */
static int
turn(struct state *s, int signals, struct co_error *e)
{
	struct pollfd p[3] = {
		{ .fd = ctl_fd(s->c), .events = (short)ctl_want(s->c) },
		{ .fd = signals, .events = POLLIN },
		{ .fd = wants_input(s) ? STDIN_FILENO : -1, .events = POLLIN },
	};
	unsigned char sig;

	if (poll(p, 3, -1) == -1 && errno != EINTR)
		return (co_error_errno(e, errno, NULL, "poll"));
	while (read(signals, &sig, 1) == 1)
		if (on_signal(s, sig))
			return (1);
	if (ctl_dispatch(s->c, p[0].revents, on_message, s, e) != 0 &&
	    !s->done) {
		if (e->code == CO_OK)
			co_error_set(e, CO_ESYS_CANCELLED, NULL,
			    "coppiced hung up; the command goes on if it ran, "
			    "and can be attached to when coppiced is back");
		return (-1);
	}
	if (!s->done && p[2].revents != 0 && on_input(s))
		return (1);
	return (s->done ? 1 : 0);
}

static int
begin(struct state *s, struct co_error *e)
{
	struct relay *r = s->r;
	struct timespec now;
	nvlist_t *nv;
	int ret = 0;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	s->since = (uint64_t)now.tv_sec * 1000 +
	    (uint64_t)now.tv_nsec / 1000000;
	if (r->ask && isatty(STDIN_FILENO) && isatty(STDERR_FILENO)) {
		s->watch = ctl_number(s->c);
		nv = request("events", r->id);
		nvlist_add_bool(nv, "follow", true);
		nvlist_add_number(nv, "req", s->watch);
		ret = ctl_send(s->c, nv, NULL, 0, e);
		nvlist_destroy(nv);
	}
	s->req = ctl_number(s->c);
	nvlist_add_number(r->request, "req", s->req);
	if (ret == 0)
		ret = ctl_send(s->c, r->request, NULL, 0, e);
	nvlist_destroy(r->request);
	return (ret);
}

int
relay(struct relay *r, struct co_error *e)
{
	struct state s = { .r = r, .c = connection(), .window = WINDOW };
	int ret, signals;

	*e = (struct co_error){ 0 };
	signals = term_signals();
	if (begin(&s, e) != 0)
		return (-1);
	if (r->raw && term_raw() != 0)
		r->raw = false;
	do
		ret = turn(&s, signals, e);
	while (ret == 0);
	term_restore();
	progress_end();
	for (size_t i = 0; i < s.nq; i++) {
		free(s.q[i].safeguard);
		free(s.q[i].share);
		free(s.q[i].text);
	}
	if (ret < 0)
		return (-1);
	if (r->answer != NULL && ctl_error_get(r->answer, e)) {
		nvlist_destroy(r->answer);
		r->answer = NULL;
		return (-1);
	}
	return (0);
}
