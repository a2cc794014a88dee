/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A wait on a condition for a length of time, as macOS has it.
 */

#include <time.h>

#include "p9_internal.h"

void
p9_cond_init(pthread_cond_t *c)
{

	pthread_cond_init(c, NULL);
}

void
p9_cond_wait(pthread_cond_t *c, pthread_mutex_t *m, unsigned ms)
{
	struct timespec ts = { (time_t)(ms / 1000),
	    (long)(ms % 1000) * 1000000 };

	pthread_cond_timedwait_relative_np(c, m, &ts);
}
