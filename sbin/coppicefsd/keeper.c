/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The process that stays outside the sandbox: it has the rights to unmount
 * and to unlink, reads nothing but one byte from the server, and outlives it
 * however that ends.
 */

#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "coppicefsd.h"

static int told[2];

static void
on_signal(int sig)
{
	int saved = errno;

	(void)sig;
	(void)!write(told[1], "", 1);
	errno = saved;
}

static void
clean(const struct transport *t, const char *arg, const char *control)
{

	t->clean(arg);
	if (control != NULL)
		(void)unlink(control);
}

static int
status_of(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) == -1)
		if (errno != EINTR)
			return (1);
	return (WIFEXITED(status) ? WEXITSTATUS(status) :
	    128 + WTERMSIG(status));
}

static void
catch_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal };
	sigset_t set;

	(void)sigemptyset(&sa.sa_mask);
	(void)sigaction(SIGTERM, &sa, NULL);
	(void)sigaction(SIGINT, &sa, NULL);
	(void)sigaction(SIGHUP, &sa, NULL);
	(void)sigemptyset(&set);
	(void)pthread_sigmask(SIG_SETMASK, &set, NULL);
}

int
keeper_run(pid_t child, int fd, int ready, const struct transport *t,
    const char *arg, const char *control)
{
	struct pollfd p[2];
	bool opened = false;
	ssize_t n;
	char what;

	if (pipe2(told, O_CLOEXEC | O_NONBLOCK) == -1)
		told[0] = told[1] = -1;
	catch_signals();
	p[0] = (struct pollfd){ .fd = fd, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = told[0], .events = POLLIN };
	for (;;) {
		if (poll(p, 2, -1) == -1)
			continue;
		if (p[1].revents != 0 && read(told[0], &what, 1) == 1)
			(void)kill(child, SIGTERM);
		if (p[0].revents == 0)
			continue;
		if ((n = read(fd, &what, 1)) == -1 && errno == EINTR)
			continue;
		if (n != 1)
			break;
		if (what == KEEPER_OPENED[0])
			opened = true;
		if (what == KEEPER_CLEAN[0] && opened) {
			clean(t, arg, control);
			opened = false;
		}
		if (what == KEEPER_READY[0] && ready != -1) {
			(void)!write(ready, "", 1);
			(void)close(ready);
			ready = -1;
		}
	}
	if (opened)
		clean(t, arg, control);
	return (status_of(child));
}
