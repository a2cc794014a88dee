/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See watch.h: by inotify(7).
 */

#include <sys/inotify.h>

#include <atf-c.h>
#include <stdlib.h>
#include <unistd.h>

#include "watch.h"

struct watch {
	int	fd;
};

struct watch *
watch_open(const char *a, const char *b)
{
	struct watch *w;

	ATF_REQUIRE((w = calloc(1, sizeof(*w))) != NULL);
	w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	ATF_REQUIRE(w->fd != -1);
	ATF_REQUIRE(inotify_add_watch(w->fd, a, IN_ALL_EVENTS) != -1);
	ATF_REQUIRE(inotify_add_watch(w->fd, b, IN_ALL_EVENTS) != -1);
	return (w);
}

unsigned int
watch_events(struct watch *w)
{
	char buf[4096];
	unsigned int n;

	for (n = 0; read(w->fd, buf, sizeof(buf)) > 0;)
		n++;
	(void)close(w->fd);
	free(w);
	return (n);
}
