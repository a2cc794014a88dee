/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A wait on a condition by the monotonic clock, as POSIX has it.
 */

#include <time.h>

#include "p9_internal.h"

void
p9_cond_init(pthread_cond_t *c)
{
	pthread_condattr_t a;

	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(c, &a);
	pthread_condattr_destroy(&a);
}

void
p9_cond_wait(pthread_cond_t *c, pthread_mutex_t *m, unsigned ms)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_nsec += (long)(ms % 1000) * 1000000;
	ts.tv_sec += (time_t)(ms / 1000) + ts.tv_nsec / 1000000000;
	ts.tv_nsec %= 1000000000;
	pthread_cond_timedwait(c, m, &ts);
}
