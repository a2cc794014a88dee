/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One command; shared by proc.c, which answers the host, and proc_run.c,
 * which starts commands and moves their bytes.
 */

#ifndef PROC_H
#define	PROC_H

#include "feed.h"
#include "guest.h"
#include "ring.h"

#define	PROC_NAME	256

struct proc {
	struct proc	*next;
	struct guest	*g;
	int64_t		 id;
	pid_t		 pid;
	int64_t		 started;
	struct ev_src	 status;	/* tells why it could not start */
	struct ev_src	 out[2];	/* stdout or the terminal, stderr */
	struct ev_src	 in;		/* stdin; not for a terminal */
	int64_t		 left[2];	/* to be read after the exit; -1: all */
	int64_t		 drain_limit;
	struct ring	 ring;
	struct feed	 feed;
	struct ev_timer	 timeout;
	struct ev_timer	 kill;
	struct ev_timer	 drain;
	struct ev_timer	 check;
	int64_t		 grace;
	enum sw_wait	 wait;
	bool		 pty;
	bool		 running;	/* exec succeeded */
	bool		 exited;
	bool		 ending;	/* its children are given their grace */
	bool		 attached;	/* the host follows it */
	bool		 announced;	/* ... was told step_started */
	bool		 reported;	/* ... was told step_completed */
	bool		 timed_out;
	int		 wstatus;
	int64_t		 cpu_ms;
	int64_t		 maxrss;
	struct spawn_failure failure;
	char		 name[PROC_NAME];
	char		 tag[257];
};

/* proc_run.c */
int proc_start(struct proc *, const struct sw_msg *, int *);
void proc_exited(struct proc *);
void proc_want(struct proc *);
void proc_flush(struct proc *);
void proc_signal_all(struct proc *, int);
bool proc_done(const struct proc *);
void proc_kill(struct proc *, int64_t);
void proc_free(struct proc *);

#endif /* PROC_H */
