/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Readiness by kqueue(2).
 */

#include <sys/types.h>
#include <sys/event.h>
#include <sys/time.h>

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>

#include "ev_internal.h"

int
ev_kernel_open(void)
{
	int fd;

	if ((fd = kqueue()) != -1)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	return (fd);
}

static int
change(int kq, struct ev_src *s, short filter, unsigned bit, unsigned want)
{
	struct kevent ke;

	if ((s->want & bit) == (want & bit))
		return (0);
	EV_SET(&ke, (uintptr_t)s->fd, filter,
	    (want & bit) != 0 ? EV_ADD : EV_DELETE, 0, 0, s);
	return (kevent(kq, &ke, 1, NULL, 0, NULL) == 0 ? 0 : errno);
}

int
ev_kernel_want(int kq, struct ev_src *s, unsigned want)
{
	int error;

	if ((error = change(kq, s, EVFILT_READ, EV_IN, want)) != 0)
		return (error);
	return (change(kq, s, EVFILT_WRITE, EV_OUT, want));
}

int
ev_kernel_wait(int kq, struct ev_ready ready[EV_BATCH], int ms)
{
	struct timespec ts = { .tv_sec = ms / 1000,
	    .tv_nsec = (long)(ms % 1000) * 1000000 };
	struct kevent ke[EV_BATCH];
	int n;

	n = kevent(kq, NULL, 0, ke, EV_BATCH, ms < 0 ? NULL : &ts);
	for (int i = 0; i < n; i++) {
		ready[i].src = ke[i].udata;
		ready[i].got = ke[i].filter == EVFILT_READ ? EV_IN : EV_OUT;
	}
	return (n);
}
