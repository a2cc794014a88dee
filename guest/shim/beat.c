/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Heartbeats: that the sandbox is alive, whether anything goes on in it,
 * and what it uses.
 */

#include <sys/statvfs.h>

#include "guest.h"
#include "sys.h"

static void
count_tcp(const struct sys_tcp *t, void *arg)
{
	int64_t *n = arg;

	if (!t->listening && !t->loopback)
		(*n)++;
}

void
beat_stats(struct guest *g, int64_t req)
{
	struct sys_stats st = { 0 };
	struct statvfs vfs;
	struct sw_msg m;
	int64_t tcp = 0;

	sys_stats(&st);
	sw_init(&m, W_HEARTBEAT);
	sw_set_num(&m, F_SEQ, ++g->seq);
	if (req != 0)
		sw_set_num(&m, F_REQ, req);
	sw_set_num(&m, F_UPTIME_MS, ev_now() - g->started);
	sw_set_num(&m, F_PROCS, proc_running(g));
	sw_set_num(&m, F_CPUS, st.cpus);
	sw_set_num(&m, F_CPU_MS, st.cpu_ms);
	sw_set_num(&m, F_MEM_TOTAL, st.mem_total);
	sw_set_num(&m, F_MEM_USED, st.mem_used);
	sw_set_num(&m, F_RX_BYTES, st.rx_bytes);
	sw_set_num(&m, F_TX_BYTES, st.tx_bytes);
	sw_set_num(&m, F_ACTIVITY, g->activity);
	if (statvfs("/", &vfs) == 0) {
		sw_set_num(&m, F_DISK_TOTAL,
		    (int64_t)(vfs.f_blocks * vfs.f_frsize));
		sw_set_num(&m, F_DISK_USED,
		    (int64_t)((vfs.f_blocks - vfs.f_bfree) * vfs.f_frsize));
	}
	if (sys_tcp_each(count_tcp, &tcp) == 0)
		sw_set_num(&m, F_TCP, tcp);
	chan_send(g, &m);
}

static void
on_beat(void *arg)
{
	struct guest *g = arg;

	/* A host that does not read gets no more of them. */
	if (chan_room(g))
		beat_stats(g, 0);
	ev_start(g->ev, &g->beat, g->beat_ms);
}

void
beat_start(struct guest *g, int64_t ms)
{

	ev_stop(g->ev, &g->beat);
	g->beat.fn = on_beat;
	g->beat.arg = g;
	g->beat_ms = ms;
	if (ms > 0)
		ev_start(g->ev, &g->beat, ms);
}
