/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Run a command in a machine of the tests, through its shim: its output is
 * ours, and so is its exit status.  Waits for the machine to come up.
 *
 * usage: guest_run [-p] [-t seconds] socket [command]
 *	-p	power the machine off, after the command if there is one
 */

#include <sys/types.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <err.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"
#include "shim.h"

static struct shim *s;
static bool ready, done;
static struct shim_exit result;

static void
on_ready(void *arg, const struct shim_hello *h)
{

	(void)arg;
	(void)h;
	ready = true;
}

static void
on_output(void *arg, int64_t id, enum shim_stream stream, uint64_t offset,
    const void *data, size_t n)
{

	(void)arg;
	(void)offset;
	if (co_write_all(stream == SHIM_STDOUT ? 1 : 2, data, n) == -1)
		err(125, "write");
	shim_consumed(s, id, n);
}

static void
on_completed(void *arg, int64_t id, const struct shim_exit *x)
{

	(void)arg;
	(void)id;
	result = *x;
	if (x->error != 0)
		warnx("%s", x->message);
	done = true;
}

static const struct shim_handlers handlers = {
	.ready = on_ready, .output = on_output, .completed = on_completed
};

/* Go on until ${flag}; false if the connection ended. */
static bool
wait_for(const bool *flag, co_moment end)
{
	struct co_error e;
	struct pollfd p;

	while (!*flag) {
		if (co_left(end) == 0)
			errx(124, "no answer in time");
		p.fd = shim_fd(s);
		p.events = (short)shim_want(s);
		p.revents = 0;
		(void)poll(&p, 1, 100);
		if (shim_dispatch(s, p.revents, &e) != 0)
			return (false);
	}
	return (true);
}

static int
dial(const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(sun.sun_path))
		errx(125, "%s: too long", path);
	memcpy(sun.sun_path, path, strlen(path) + 1);
	if ((fd = socket(AF_UNIX, SOCK_STREAM, 0)) == -1)
		err(125, "socket");
	if (connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0)
		return (fd);
	(void)close(fd);
	return (-1);
}

/* The socket is there before the machine, and the machine before the shim. */
static void
meet(const char *path, co_moment end)
{
	struct co_error e;
	int fd;

	for (;;) {
		if ((fd = dial(path)) != -1) {
			s = shim_new(fd, 0, &handlers, NULL, &e);
			if (s == NULL)
				errx(125, "%s", e.message);
			if (wait_for(&ready, end))
				return;
			shim_free(s);
		}
		if (co_left(end) == 0)
			errx(124, "%s: no machine", path);
		(void)usleep(50000);
	}
}

int
main(int argc, char *argv[])
{
	static const char *const env[] = { "PATH=/bin:/sbin", NULL };
	struct shim_exec x = { .id = (int64_t)getpid(), .env = env };
	bool never = false, off = false;
	struct co_error e;
	co_moment end;
	int ch, ms = 60000;

	while ((ch = getopt(argc, argv, "pt:")) != -1)
		if (ch == 'p')
			off = true;
		else if (ch == 't')
			ms = 1000 * atoi(optarg);
		else
			return (125);
	if (argc - optind < 1 || argc - optind > 2)
		errx(125, "usage: guest_run [-p] [-t seconds] socket "
		    "[command]");
	(void)signal(SIGPIPE, SIG_IGN);
	end = co_after(ms);
	meet(argv[optind], end);
	if (argc - optind == 2) {
		x.command = argv[optind + 1];
		if (shim_exec(s, &x, &e) != 0)
			errx(125, "%s", e.message);
		if (!wait_for(&done, end))
			errx(125, "the machine is gone");
	}
	if (off) {
		if (shim_shutdown(s, 1000, SHIM_POWEROFF, &e) != 0)
			errx(125, "%s", e.message);
		(void)wait_for(&never, end);
	}
	shim_free(s);
	return (result.exit_code);
}
