/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Commands that run, and who listens to them.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc.h"

#define	INPUT_MAX	(8 * 1024 * 1024)
#define	PIECE		(32 * 1024)

static void on_event(void *, const nvlist_t *);
static void on_done(void *, const nvlist_t *, int, const struct co_error *);

static struct proc *
proc_new(struct gw *gw, const char *box)
{
	struct proc *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return (NULL);
	p->gw = gw;
	(void)snprintf(p->box, sizeof(p->box), "%s", box);
	TAILQ_INIT(&p->subs);
	TAILQ_INIT(&p->waiters);
	p->window = WINDOW;
	p->began = uv_hrtime();
	LIST_INSERT_HEAD(&gw->procs, p, link);
	return (p);
}

static void
proc_free(struct proc *p)
{

	LIST_REMOVE(p, link);
	free(p->tag);
	json_decref(p->config);
	buf_free(&p->in);
	free(p);
}

struct proc *
proc_known(struct gw *gw, const char *box, uint64_t exec)
{
	struct proc *p;

	LIST_FOREACH(p, &gw->procs, link)
		if (p->started && p->exec == exec && strcmp(p->box, box) == 0)
			return (p);
	return (NULL);
}

/*
 * Listening.
 */
static bool
anybody_full(const struct proc *p)
{
	const struct sub *s;

	TAILQ_FOREACH(s, &p->subs, entry)
		if (s->full)
			return (true);
	return (false);
}

/* What nobody waits for is dealt with. */
static void
settle(struct proc *p)
{
	size_t n = p->unacked;

	if (n == 0 || p->call == NULL || anybody_full(p))
		return;
	p->unacked = 0;
	call_ack(p->call, n);
}

static void
sub_drain(struct req *r)
{
	struct sub *s = rpc_of(r)->data;

	s->full = false;
	if (s->proc != NULL)
		settle(s->proc);
}

static void
sub_gone(struct req *r)
{
	struct sub *s = rpc_of(r)->data;
	struct proc *p = s->proc;

	if (p != NULL) {
		TAILQ_REMOVE(&p->subs, s, entry);
		settle(p);
	}
	free(s);
	rpc_of(r)->data = NULL;
}

static struct sub *
sub_new(struct req *r, struct proc *p)
{
	struct sub *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		rpc_error(r, CONNECT_INTERNAL, "out of memory");
		return (NULL);
	}
	s->req = r;
	s->proc = p;
	TAILQ_INSERT_TAIL(&p->subs, s, entry);
	rpc_of(r)->data = s;
	rpc_of(r)->drain = sub_drain;
	rpc_of(r)->gone = sub_gone;
	return (s);
}

static void
tell_started(struct req *r, const struct proc *p)
{

	rpc_reply(r, json_pack("{s:{s:{s:I}}}", "event", "start", "pid",
	    (json_int_t)p->pid));
}

void
proc_listen(struct req *r, struct proc *p)
{

	if (sub_new(r, p) != NULL)
		tell_started(r, p);
}

/*
 * What coppiced says.
 */
static void
on_output(struct proc *p, const nvlist_t *nv)
{
	const char *stream = ctl_string(nv, "stream", "stdout");
	struct sub *s, *next;
	const void *data;
	size_t len;

	if (!nvlist_exists_binary(nv, "data"))
		return;
	data = nvlist_get_binary(nv, "data", &len);
	p->unacked += len;
	for (s = TAILQ_FIRST(&p->subs); s != NULL; s = next) {
		next = TAILQ_NEXT(s, entry);
		rpc_bytes(s->req, p->pty ? "pty" : strcmp(stream, "stderr") ==
		    0 ? "stderr" : "stdout", data, len);
		s->full = reply_full(s->req);
	}
	settle(p);
}

static void
feed(struct proc *p)
{
	nvlist_t *nv;
	struct waiter *w;
	void (*then)(struct req *);
	struct req *r;
	size_t n;

	while (p->call != NULL && p->started && p->in.len > 0 &&
	    p->window > 0) {
		n = p->in.len < PIECE ? p->in.len : PIECE;
		if (n > p->window)
			n = (size_t)p->window;
		nv = question("input", NULL, NULL);
		nvlist_add_binary(nv, "data", p->in.p, n);
		call_tell(p->call, nv);
		p->window -= n;
		buf_take(&p->in, n);
	}
	if (p->in.len > 0)
		return;
	if (p->eof && !p->eof_sent && p->call != NULL && p->started) {
		p->eof_sent = true;
		nv = question("input", NULL, NULL);
		nvlist_add_bool(nv, "eof", true);
		call_tell(p->call, nv);
	}
	while (p->in.len == 0 && (w = TAILQ_FIRST(&p->waiters)) != NULL) {
		TAILQ_REMOVE(&p->waiters, w, entry);
		then = w->then;
		r = w->req;
		free(w);
		rpc_of(r)->data = NULL;
		rpc_of(r)->gone = NULL;
		then(r);
	}
}

static void
on_started(struct proc *p, const nvlist_t *nv)
{
	struct sub *s;

	p->exec = ctl_uint(nv, "exec", 0);
	p->pid = (uint32_t)ctl_uint(nv, "pid", 0);
	if (p->started)
		return;
	p->started = true;
	TAILQ_FOREACH(s, &p->subs, entry)
		tell_started(s->req, p);
	feed(p);
}

static void
on_event(void *arg, const nvlist_t *nv)
{
	struct proc *p = arg;
	const char *event = ctl_string(nv, "event", "");

	if (strcmp(event, "output") == 0)
		on_output(p, nv);
	else if (strcmp(event, "room") == 0) {
		p->window += ctl_uint(nv, "bytes", 0);
		feed(p);
	} else if (strcmp(event, "started") == 0)
		on_started(p, nv);
}

static json_t *
end_of(const nvlist_t *nv)
{
	int64_t code = (int64_t)ctl_uint(nv, "exit_code", 0);
	int64_t sig = (int64_t)ctl_uint(nv, "signal", 0);
	char status[64];

	if (sig > 0)
		(void)snprintf(status, sizeof(status), "signal: %s",
		    sig == 9 ? "killed" : sig == 15 ? "terminated" :
		    strsignal((int)sig));
	else
		(void)snprintf(status, sizeof(status), "exit status %jd",
		    (intmax_t)code);
	return (json_pack("{s:{s:{s:I, s:b, s:s, s:s*}}}", "event", "end",
	    "exitCode", (json_int_t)(sig > 0 ? -1 : code), "exited", sig <= 0,
	    "status", status, "error", sig > 0 || code != 0 ? status : NULL));
}

static void
tell_end(struct sub *s, const nvlist_t *nv, const struct co_error *e)
{
	struct req *r = s->req;

	s->proc = NULL;
	if (e != NULL)
		rpc_failure(r, e);
	else if (ctl_flag(nv, "timed_out", false))
		rpc_error(r, CONNECT_DEADLINE, "the command took longer than "
		    "it was allowed to");
	else {
		rpc_reply(r, end_of(nv));
		rpc_end(r);
	}
}

static void
on_done(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct proc *p = arg;
	struct waiter *w;
	struct sub *s;

	(void)fd;
	p->call = NULL;
	if (e == NULL)
		metric_add(p->gw, METRIC_EXEC, uv_hrtime() - p->began);
	while ((s = TAILQ_FIRST(&p->subs)) != NULL) {
		TAILQ_REMOVE(&p->subs, s, entry);
		tell_end(s, nv, e);
	}
	while ((w = TAILQ_FIRST(&p->waiters)) != NULL) {
		TAILQ_REMOVE(&p->waiters, w, entry);
		rpc_of(w->req)->data = NULL;
		rpc_of(w->req)->gone = NULL;
		rpc_error(w->req, CONNECT_NOTFOUND, "the process ended");
		free(w);
	}
	proc_free(p);
}

/* Templates without bash have a shell that serves as well. */
static void
add_fallback(nvlist_t *nv)
{
	const char *const *v;
	size_t n;

	v = nvlist_get_string_array(nv, "argv", &n);
	if (strcmp(v[0], "/bin/bash") == 0)
		nvlist_add_string(nv, "fallback", "/bin/sh");
}

void
proc_start(struct req *r, nvlist_t *nv, const json_t *config, bool pty,
    bool has_stdin)
{
	struct proc *p = proc_new(r->gw, r->box);
	struct co_error e;

	if (p == NULL || sub_new(r, p) == NULL) {
		nvlist_destroy(nv);
		if (p != NULL)
			proc_free(p);
		return;
	}
	p->config = json_copy((json_t *)(uintptr_t)config);
	p->tag = strdup(ctl_string(nv, "tag", ""));
	p->pty = pty;
	p->has_stdin = has_stdin;
	nvlist_add_string(nv, "request_id", r->id);
	add_fallback(nv);
	p->call = call_start(r->gw, nv, -1, on_event, on_done, p, &e);
	if (p->call == NULL)
		on_done(p, NULL, -1, &e);
}

/*
 * Finding.
 */
struct search {
	uint64_t	 pid;		/* or by tag */
	char		*tag;
	uint64_t	 exec;		/* found */
	bool		 pty;
	void		(*then)(struct req *, struct proc *);
};

static void
search_gone(struct req *r)
{
	struct search *s = rpc_of(r)->data;

	free(s->tag);
	free(s);
	rpc_of(r)->data = NULL;
}

static void
on_process(void *arg, const nvlist_t *nv)
{
	struct req *r = arg;
	struct search *s = rpc_of(r)->data;

	if (!ctl_flag(nv, "running", false) || s->exec != 0 ||
	    (s->tag != NULL ? strcmp(ctl_string(nv, "tag", ""), s->tag) != 0 :
	    ctl_uint(nv, "pid", 0) != s->pid))
		return;
	s->exec = ctl_uint(nv, "exec", 0);
	s->pid = ctl_uint(nv, "pid", 0);
	s->pty = ctl_flag(nv, "pty", false);
}

static void
found(struct req *r, struct proc *p)
{
	struct search *s = rpc_of(r)->data;
	void (*then)(struct req *, struct proc *) = s->then;

	search_gone(r);
	rpc_of(r)->gone = NULL;
	then(r, p);
}

static void
on_ps(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct search *s = rpc_of(r)->data;
	struct co_error why;
	struct proc *p;
	nvlist_t *q;

	(void)nv;
	(void)fd;
	if (e != NULL) {
		rpc_failure(r, e);
		return;
	}
	if (s->exec == 0) {
		rpc_error(r, CONNECT_NOTFOUND, "there is no such process");
		return;
	}
	if ((p = proc_known(r->gw, r->box, s->exec)) == NULL) {
		p = proc_new(r->gw, r->box);
		if (p == NULL) {
			rpc_error(r, CONNECT_INTERNAL, "out of memory");
			return;
		}
		p->exec = s->exec;
		p->pid = (uint32_t)s->pid;
		p->pty = s->pty;
		p->has_stdin = true;
		p->started = true;
		q = question("attach", r->box, r->as);
		nvlist_add_number(q, "exec", s->exec);
		p->call = call_start(r->gw, q, -1, on_event, on_done, p,
		    &why);
		if (p->call == NULL) {
			proc_free(p);
			rpc_failure(r, &why);
			return;
		}
	}
	found(r, p);
}

static struct proc *
ours(struct req *r, uint64_t pid, const char *tag)
{
	struct proc *p;

	LIST_FOREACH(p, &r->gw->procs, link)
		if (p->started && strcmp(p->box, r->box) == 0 &&
		    (tag != NULL ? p->tag != NULL && strcmp(p->tag, tag) == 0
		    : p->pid == pid))
			return (p);
	return (NULL);
}

void
proc_find(struct req *r, const json_t *selector,
    void (*then)(struct req *, struct proc *))
{
	const json_t *pid = json_object_get(selector, "pid");
	const char *tag = json_string_value(json_object_get(selector, "tag"));
	uint64_t number = (uint64_t)json_integer_value(pid);
	struct search *s;
	struct proc *p;

	if (pid == NULL && tag == NULL) {
		rpc_error(r, CONNECT_INVALID, "no process was named");
		return;
	}
	if ((p = ours(r, number, tag)) != NULL) {
		then(r, p);
		return;
	}
	s = calloc(1, sizeof(*s));
	if (s == NULL || (tag != NULL && (s->tag = strdup(tag)) == NULL)) {
		free(s);
		rpc_error(r, CONNECT_INTERNAL, "out of memory");
		return;
	}
	s->pid = number;
	s->then = then;
	rpc_of(r)->data = s;
	rpc_of(r)->gone = search_gone;
	(void)ask(r, question("ps", r->box, r->as), on_process, on_ps);
}

/*
 * Input.
 */
int
proc_input(struct proc *p, const void *data, size_t len, bool eof)
{

	if (p->in.len + len > INPUT_MAX)
		return (-1);
	if (len > 0)
		buf_add(&p->in, data, len);
	p->eof = p->eof || eof;
	feed(p);
	return (0);
}

static void
waiter_gone(struct req *r)
{

	proc_unwait(r);
}

/* Call then when all input was taken; that may be at once. */
void
proc_wait(struct proc *p, struct req *r, void (*then)(struct req *))
{
	struct waiter *w;

	if (p->in.len == 0) {
		then(r);
		return;
	}
	w = calloc(1, sizeof(*w));
	if (w == NULL) {
		rpc_error(r, CONNECT_INTERNAL, "out of memory");
		return;
	}
	w->req = r;
	w->then = then;
	TAILQ_INSERT_TAIL(&p->waiters, w, entry);
	rpc_of(r)->data = w;
	rpc_of(r)->gone = waiter_gone;
}

void
proc_unwait(struct req *r)
{
	struct waiter *w;
	struct proc *p;

	LIST_FOREACH(p, &r->gw->procs, link)
		TAILQ_FOREACH(w, &p->waiters, entry)
			if (w->req == r) {
				TAILQ_REMOVE(&p->waiters, w, entry);
				free(w);
				return;
			}
}

/*
 * Time: those who listen hear that we are alive; those who attached may
 * have asked for a while only.
 */
void
proc_tick(struct gw *gw)
{
	uint64_t now = uv_now(gw->loop);
	struct proc *p, *nextp;
	struct sub *s, *next;
	struct rpc *c;

	for (p = LIST_FIRST(&gw->procs); p != NULL; p = nextp) {
		nextp = LIST_NEXT(p, link);
		for (s = TAILQ_FIRST(&p->subs); s != NULL; s = next) {
			next = TAILQ_NEXT(s, entry);
			c = rpc_of(s->req);
			if (c->deadline != 0 && now > c->deadline + 1000) {
				TAILQ_REMOVE(&p->subs, s, entry);
				s->proc = NULL;
				rpc_error(s->req, CONNECT_DEADLINE,
				    "the time to listen is over");
			} else if (c->begun && now - c->last >=
			    c->keepalive_ms)
				rpc_reply(s->req, json_pack("{s:{s:{}}}",
				    "event", "keepalive"));
		}
		settle(p);
	}
}
