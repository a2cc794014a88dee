/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A peer of the control socket that sends anything; the first byte says into
 * pieces of what length it is cut.
 */

#include <sys/socket.h>

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"
#include "ctl.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
look(void *arg, nvlist_t *nv, int *fds, size_t nfds)
{
	struct co_error e;

	(void)arg;
	if (nfds != 0)
		abort();
	ctl_close_fds(fds, nfds);
	(void)ctl_uint(nv, "req", 0);
	(void)ctl_flag(nv, "done", false);
	if (strlen(ctl_string(nv, "op", "")) > CTL_MAX_MESSAGE)
		abort();
	if (ctl_error_get(nv, &e) && e.code == CO_OK)
		abort();
	nvlist_destroy(nv);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct co_error e;
	struct ctl *c;
	size_t n, piece;
	int s[2];

	if (size < 1 || socketpair(AF_UNIX, SOCK_STREAM, 0, s) != 0)
		return (0);
	if (ctl_new(s[0], &c, NULL) != 0)
		abort();
	piece = (size_t)data[0] * 16 + 1;
	data++;
	size--;
	while (size > 0) {
		n = size < piece ? size : piece;
		if (write(s[1], data, n) != (ssize_t)n)
			break;
		data += n;
		size -= n;
		if (ctl_dispatch(c, POLLIN, look, NULL, &e) != 0)
			break;
	}
	(void)close(s[1]);
	ctl_free(c);
	return (0);
}
