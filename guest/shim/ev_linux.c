/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Readiness by epoll(7).
 */

#include <sys/epoll.h>

#include <errno.h>
#include <stddef.h>

#include "ev_internal.h"

int
ev_kernel_open(void)
{

	return (epoll_create1(EPOLL_CLOEXEC));
}

int
ev_kernel_want(int fd, struct ev_src *s, unsigned want)
{
	struct epoll_event ee = { .data.ptr = s };
	int op;

	if ((want & EV_IN) != 0)
		ee.events |= EPOLLIN;
	if ((want & EV_OUT) != 0)
		ee.events |= EPOLLOUT;
	/* With no events asked for, a hang-up would still be reported. */
	op = want == 0 ? EPOLL_CTL_DEL :
	    s->want == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
	return (epoll_ctl(fd, op, s->fd, &ee) == 0 ? 0 : errno);
}

int
ev_kernel_wait(int fd, struct ev_ready ready[EV_BATCH], int ms)
{
	struct epoll_event ee[EV_BATCH];
	int n;

	n = epoll_wait(fd, ee, EV_BATCH, ms);
	for (int i = 0; i < n; i++) {
		ready[i].src = ee[i].data.ptr;
		ready[i].got = 0;
		if ((ee[i].events & ~(unsigned)EPOLLOUT) != 0)
			ready[i].got |= EV_IN;
		if ((ee[i].events & ~(unsigned)EPOLLIN) != 0)
			ready[i].got |= EV_OUT;
	}
	return (n);
}
