/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Statistics, of the backend, the network and the shim; and logs.
 */

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"

#define	FOLLOW_MS	200

struct usage {
	struct box_spec	*spec;
	struct sandbox_run r;
	const struct backend *be;
	bool		 net;
};

static int
usage_work(struct task *t, struct co_error *e)
{
	struct usage *u = t->data;
	struct sandbox_usage su = { 0 };
	struct net_counters n = { 0 };
	nvlist_t *nv = t->answer;
	int ret;

	if (u->be->usage(&u->spec->s, &u->r, &su, e) != 0)
		return (-1);
	nvlist_add_number(nv, "memory", su.memory);
	nvlist_add_number(nv, "memory_peak", su.memory_peak);
	nvlist_add_number(nv, "cpu_us", su.cpu_us);
	nvlist_add_number(nv, "procs", su.procs);
	nvlist_add_number(nv, "disk", su.disk);
	nvlist_add_number(nv, "oom_kills", su.oom_kills);
	if (!u->net)
		return (0);
	net_lock(t->en);
	ret = net_counters(t->en->net, u->spec->s.id, &n, e);
	net_unlock(t->en);
	if (ret != 0)
		return (0);
	nvlist_add_number(nv, "rx_bytes", n.in_bytes);
	nvlist_add_number(nv, "rx_packets", n.in_packets);
	nvlist_add_number(nv, "tx_bytes", n.out_bytes);
	nvlist_add_number(nv, "tx_packets", n.out_packets);
	nvlist_add_number(nv, "blocked_packets", n.blocked_packets);
	return (0);
}

static void
add_shim(nvlist_t *nv, const struct shim_stats *s)
{

	if (s->uptime_ms == 0)
		return;
	nvlist_add_number(nv, "uptime_ms", (uint64_t)s->uptime_ms);
	nvlist_add_number(nv, "mem_total", (uint64_t)s->mem_total);
	nvlist_add_number(nv, "mem_used", (uint64_t)s->mem_used);
	nvlist_add_number(nv, "disk_total", (uint64_t)s->disk_total);
	nvlist_add_number(nv, "disk_used", (uint64_t)s->disk_used);
	nvlist_add_number(nv, "cpus", (uint64_t)s->cpus);
	nvlist_add_number(nv, "tcp", (uint64_t)s->tcp);
	nvlist_add_number(nv, "activity", (uint64_t)s->activity);
}

static void
usage_after(struct task *t)
{
	struct usage *u = t->data;
	const struct command *cmd;
	struct sandbox *sb;
	struct co_error e;
	uint64_t n = 0;

	/* It may be gone by now. */
	sb = box_find(t->en, u->spec->s.id, NULL, &e);
	if (sb != NULL && !t->failed) {
		LIST_FOREACH(cmd, &sb->commands, link)
			n++;
		nvlist_add_number(t->answer, "commands", n);
		add_shim(t->answer, &sb->stats);
	}
	spec_free(u->spec);
	free(u);
	task_end(t);
}

static void
usage_begin(struct engine_call *c)
{
	struct sandbox *sb;
	struct usage *u;
	struct co_error e;

	sb = call_box(c, &e);
	if (sb == NULL || (sb->state != BOX_RUNNING &&
	    sb->state != BOX_PAUSED)) {
		call_fault(c, CO_ESANDBOX_STATE, c->box,
		    "the sandbox does not run");
		return;
	}
	u = calloc(1, sizeof(*u));
	if (u == NULL || (u->spec = spec_new(sb, &e)) == NULL) {
		free(u);
		call_fault(c, CO_ESYS_NOMEM, NULL, "out of memory");
		return;
	}
	u->r = sb->r;
	u->be = sb->be;
	u->net = sb->lease.id[0] != '\0';
	task_start(c, -1, u, usage_work, usage_after);
}

/* The numbers of the shim come by themselves, or now. */
static void
shim_end(struct ask *a, const struct shim_result *r)
{
	struct engine_call *c = a->call;

	(void)r;
	if (c == NULL)
		return;
	c->cancel = NULL;
	usage_begin(c);
}

static void
shim_cancelled(struct engine_call *c)
{
	struct ask *a = c->data;

	a->call = NULL;
}

void
stats_run(struct engine_call *c)
{
	struct shim_request q = { .op = SHIM_OP_STATS };
	struct sandbox *sb;
	struct co_error e;
	struct ask *a;

	sb = call_box(c, &e);
	if (sb->state == BOX_RUNNING && link_up(sb) &&
	    (a = ask_new(sb, c)) != NULL) {
		a->end = shim_end;
		c->data = a;
		c->cancel = shim_cancelled;
		if (ask_request(a, &q, &e) == 0)
			return;
		c->cancel = NULL;
		ask_free(a);
	}
	usage_begin(c);
}

/*
 * Logs.
 */
struct reader {
	struct engine_call *call;
	char		*dir;
	bool		 follow;
	bool		 older;		/* is being read */
	int		 fd;
	int		 times;		/* its marks, or -1 */
	uint64_t	 place;		/* where it is read */
	struct log_mark	 mark, next;	/* of this place; time 0: none */
	off_t		 marks;		/* where the next one is */
	uint64_t	 unacked;
	struct alarm	*alarm;
};

static void reader_go(struct reader *);

static void
reader_free(struct reader *r)
{

	alarm_free(r->alarm);
	if (r->fd != -1)
		(void)close(r->fd);
	if (r->times != -1)
		(void)close(r->times);
	free(r->dir);
	free(r);
}

static void
reader_cancel(struct engine_call *c)
{

	reader_free(c->data);
}

static void
reader_rings(void *arg)
{
	struct reader *r = arg;

	alarm_free(r->alarm);
	r->alarm = NULL;
	reader_go(r);
}

static void
reader_open(struct reader *r, const char *name, const char *times)
{
	int dir;

	if (r->fd != -1)
		(void)close(r->fd);
	if (r->times != -1)
		(void)close(r->times);
	r->fd = r->times = -1;
	r->place = 0;
	r->marks = 0;
	r->mark = r->next = (struct log_mark){ 0 };
	dir = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir == -1)
		return;
	r->fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	r->times = openat(dir, times, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	(void)close(dir);
}

/* How much may be read that is of one time. */
static size_t
reader_time(struct reader *r, size_t max)
{

	for (;;) {
		if (r->next.time == 0 && (r->times == -1 || pread(r->times,
		    &r->next, sizeof(r->next), r->marks) !=
		    (ssize_t)sizeof(r->next))) {
			r->next.time = 0;
			return (max);
		}
		if (r->next.place > r->place)
			break;
		r->mark = r->next;
		r->next.time = 0;
		r->marks += (off_t)sizeof(r->next);
	}
	return (r->next.place - r->place < max ?
	    (size_t)(r->next.place - r->place) : max);
}

/* What is new, as far as it may be sent. */
static void
reader_go(struct reader *r)
{
	struct engine_call *c = r->call;
	char buf[16384];
	nvlist_t *nv;
	ssize_t n;

	while (!c->held && r->unacked + sizeof(buf) <= CALL_WINDOW) {
		n = r->fd != -1 ? read(r->fd, buf, reader_time(r,
		    sizeof(buf))) : 0;
		if (n <= 0 && r->older) {
			r->older = false;
			reader_open(r, "log", "log.times");
			continue;
		}
		if (n <= 0 && !r->follow) {
			c->cancel = NULL;
			reader_free(r);
			call_done(c, NULL);
			return;
		}
		if (n <= 0) {
			if (r->fd == -1)
				reader_open(r, "log", "log.times");
			r->alarm = alarm_new(c->en, FOLLOW_MS, reader_rings,
			    r);
			return;
		}
		r->unacked += (uint64_t)n;
		r->place += (uint64_t)n;
		nv = event_new("data");
		nvlist_add_number(nv, "time", r->mark.time);
		nvlist_add_binary(nv, "data", buf, (size_t)n);
		call_event(c, nv);
	}
}

static void
reader_resumed(struct engine_call *c)
{
	struct reader *r = c->data;

	if (r->alarm == NULL)
		reader_go(r);
}

static void
reader_input(struct engine_call *c, const nvlist_t *nv)
{
	struct reader *r = c->data;
	uint64_t n = ctl_uint(nv, "bytes", 0);

	if (strcmp(ctl_string(nv, "op", ""), "ack") != 0)
		return;
	r->unacked -= n < r->unacked ? n : r->unacked;
	reader_resumed(c);
}

void
logs_run(struct engine_call *c)
{
	struct sandbox *sb;
	struct reader *r;
	struct co_error e;

	sb = call_box(c, &e);
	r = calloc(1, sizeof(*r));
	if (r == NULL || (r->dir = strdup(sb->dir)) == NULL) {
		free(r);
		call_fault(c, CO_ESYS_NOMEM, NULL, "out of memory");
		return;
	}
	r->call = c;
	r->fd = r->times = -1;
	r->follow = ctl_flag(c->req, "follow", false);
	r->older = true;
	reader_open(r, "log.1", "log.1.times");
	c->data = r;
	c->cancel = reader_cancel;
	c->input = reader_input;
	c->resumed = reader_resumed;
	reader_go(r);
}
