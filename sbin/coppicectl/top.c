/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * top: what every sandbox uses, again and again on a terminal.
 */

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libxo/xo.h>

#include "coppicectl.h"

struct row {
	char		 id[CO_IDSIZE];
	char		*name;
	char		*state;
	uint64_t	 cpu;		/* microseconds when last seen */
	co_moment	 seen;
	bool		 here;		/* in the list that was just read */
};

struct table {
	struct row	*rows;
	size_t		 n;
};

static struct row *
find(struct table *t, const char *id)
{
	struct row *p;

	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->rows[i].id, id) == 0)
			return (&t->rows[i]);
	p = realloc(t->rows, (t->n + 1) * sizeof(*p));
	if (p == NULL)
		fail("out of memory");
	t->rows = p;
	p += t->n++;
	*p = (struct row){ 0 };
	snprintf(p->id, sizeof(p->id), "%s", id);
	return (p);
}

static void
note(void *arg, const nvlist_t *nv)
{
	struct row *r;

	if (strcmp(ctl_string(nv, "event", ""), "sandbox") != 0)
		return;
	r = find(arg, ctl_string(nv, "id", ""));
	free(r->name);
	free(r->state);
	r->name = strdup(ctl_string(nv, "name", ""));
	r->state = strdup(ctl_string(nv, "state", ""));
	if (r->name == NULL || r->state == NULL)
		fail("out of memory");
	r->here = true;
}

static void
print_row(struct row *r)
{
	uint64_t cpu;
	char percent[16] = "-";
	struct co_error e;
	nvlist_t *nv;
	co_moment now;

	if (ask_quietly(request("stats", r->id), NULL, NULL, &nv, &e) != 0)
		return;
	cpu = ctl_uint(nv, "cpu_us", 0);
	now = co_now();
	if (r->seen != 0 && now > r->seen && cpu >= r->cpu)
		snprintf(percent, sizeof(percent), "%.1f",
		    (double)(cpu - r->cpu) * 1e5 / (double)(now - r->seen));
	r->cpu = cpu;
	r->seen = now;
	xo_open_instance("sandbox");
	xo_emit("{k:id/%-12.12s/%s} {:name/%-16.16s/%s} {:state/%-8s/%s} "
	    "{d:/%6s}{e:cpu-us/%ju} {d:/%6s}{e:memory/%ju}", r->id,
	    safe(r->name), safe(r->state), percent, (uintmax_t)cpu,
	    human(ctl_uint(nv, "memory", 0)),
	    (uintmax_t)ctl_uint(nv, "memory", 0));
	xo_emit(" {d:/%6s}{e:memory-peak/%ju} {:procs/%5ju/%ju} "
	    "{d:/%6s}{e:disk/%ju}",
	    human(ctl_uint(nv, "memory_peak", 0)),
	    (uintmax_t)ctl_uint(nv, "memory_peak", 0),
	    (uintmax_t)ctl_uint(nv, "procs", 0),
	    human(ctl_uint(nv, "disk", 0)),
	    (uintmax_t)ctl_uint(nv, "disk", 0));
	xo_emit(" {d:/%6s}{e:rx-bytes/%ju} {d:/%6s}{e:tx-bytes/%ju} "
	    "{:blocked-packets/%7ju/%ju}{e:oom-kills/%ju}\n",
	    human(ctl_uint(nv, "rx_bytes", 0)),
	    (uintmax_t)ctl_uint(nv, "rx_bytes", 0),
	    human(ctl_uint(nv, "tx_bytes", 0)),
	    (uintmax_t)ctl_uint(nv, "tx_bytes", 0),
	    (uintmax_t)ctl_uint(nv, "blocked_packets", 0),
	    (uintmax_t)ctl_uint(nv, "oom_kills", 0));
	xo_close_instance("sandbox");
	nvlist_destroy(nv);
}

static int
once(struct table *t)
{

	for (size_t i = 0; i < t->n; i++)
		t->rows[i].here = false;
	if (ask(request("list", NULL), note, t, NULL) != 0)
		return (-1);
	xo_emit("{T:ID/%-12s} {T:NAME/%-16s} {T:STATE/%-8s} {T:CPU%/%6s} "
	    "{T:MEMORY/%6s} {T:PEAK/%6s} {T:PROCS/%5s} {T:DISK/%6s} "
	    "{T:RX/%6s} {T:TX/%6s} {T:BLOCKED/%7s}\n");
	xo_open_list("sandbox");
	for (size_t i = 0; i < t->n; i++)
		if (t->rows[i].here)
			print_row(&t->rows[i]);
	xo_close_list("sandbox");
	(void)xo_flush();
	return (0);
}

int
cmd_top(int argc, char **argv)
{
	struct table t = { 0 };
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	uint64_t every = 2000;
	bool one = xo_get_style(NULL) != XO_STYLE_TEXT ||
	    !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO);
	int ch, ret;

	while ((ch = getopt(argc, argv, "+1s:")) != -1)
		switch (ch) {
		case '1':
			one = true;
			break;
		case 's':
			every = seconds(optarg, "-s");
			break;
		default:
			usage();
		}
	if (optind != argc)
		usage();
	if (every < 100 || every > 3600000)
		every = 2000;
	for (;;) {
		if (!one)
			printf("\033[H\033[2J");
		ret = once(&t);
		if (ret != 0 || one || poll(&p, 1, (int)every) != 0)
			break;
	}
	for (size_t i = 0; i < t.n; i++) {
		free(t.rows[i].name);
		free(t.rows[i].state);
	}
	free(t.rows);
	return (ret == 0 ? 0 : failure());
}
