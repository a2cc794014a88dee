/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The terminal.  However the program ends, it leaves the terminal as it
 * found it; only SIGKILL can prevent that.
 */

#include <sys/ioctl.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include "coppicectl.h"

static struct termios before;
static volatile sig_atomic_t raw;
static int pipe_in = -1;

void
term_restore(void)
{

	if (raw != 0) {
		raw = 0;
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
	}
}

static void
on_fatal(int sig)
{

	if (raw != 0)
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
	(void)signal(sig, SIG_DFL);
	(void)raise(sig);
}

int
term_raw(void)
{
	static const int fatal[] = { SIGSEGV, SIGBUS, SIGABRT, SIGILL,
	    SIGFPE };
	static bool known;
	struct termios t;

	if (raw != 0)
		return (0);
	if (tcgetattr(STDIN_FILENO, &before) != 0)
		return (-1);
	if (!known) {
		known = true;
		(void)atexit(term_restore);
		for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
			(void)signal(fatal[i], on_fatal);
	}
	t = before;
	cfmakeraw(&t);
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &t) != 0)
		return (-1);
	raw = 1;
	return (0);
}

bool
term_size(uint64_t *rows, uint64_t *cols)
{
	struct winsize w;

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &w) != 0 &&
	    ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0)
		return (false);
	*rows = w.ws_row != 0 ? w.ws_row : 24;
	*cols = w.ws_col != 0 ? w.ws_col : 80;
	return (true);
}

static void
on_signal(int sig)
{
	int error = errno;
	unsigned char c = (unsigned char)sig;

	(void)!write(pipe_in, &c, 1);
	errno = error;
}

int
term_signals(void)
{
	static const int list[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT,
	    SIGWINCH, SIGTSTP, SIGCONT };
	struct sigaction sa = { .sa_handler = on_signal };
	int fds[2];

	if (pipe(fds) != 0)
		fail("can't make a pipe");
	for (int i = 0; i < 2; i++) {
		(void)fcntl(fds[i], F_SETFD, FD_CLOEXEC);
		(void)fcntl(fds[i], F_SETFL, O_NONBLOCK);
	}
	pipe_in = fds[1];
	sigemptyset(&sa.sa_mask);
	sa.sa_flags = SA_RESTART;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		(void)sigaction(list[i], &sa, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	return (fds[0]);
}
