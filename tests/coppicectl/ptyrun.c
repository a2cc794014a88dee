/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Run a program on a terminal, do things when its output has come so far,
 * and tell in which state it left the terminal.
 *
 * usage: ptyrun [-w text] [-i keys] [-k signal] [-r rows] ... program ...
 *
 * The options are done in their order: wait until text was printed, type
 * keys, send a signal, change the size.  Exits as the program does; the last
 * line is "terminal: same" or "terminal: changed".
 */

#include <sys/ioctl.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static int master;
static char seen[65536];
static size_t nseen, mark;

/* Read what there is, for at most ms; false at the end. */
static bool
pull(int ms)
{
	struct pollfd p = { .fd = master, .events = POLLIN };
	ssize_t n;

	if (poll(&p, 1, ms) <= 0)
		return (true);
	n = read(master, seen + nseen, sizeof(seen) - 1 - nseen);
	if (n <= 0)
		return (false);
	(void)!write(STDOUT_FILENO, seen + nseen, (size_t)n);
	nseen += (size_t)n;
	seen[nseen] = '\0';
	return (true);
}

static void
wait_text(const char *s)
{
	const char *p;

	for (int i = 0; i < 200; i++) {
		p = strstr(seen + mark, s);
		if (p != NULL) {
			mark = (size_t)(p - seen) + strlen(s);
			return;
		}
		(void)pull(50);
	}
	fprintf(stderr, "ptyrun: \"%s\" did not come\n", s);
}

static void
step(int ch, const char *arg, pid_t pid)
{
	struct winsize w = { .ws_col = 100 };

	switch (ch) {
	case 'w':
		wait_text(arg);
		break;
	case 'i':
		(void)!write(master, arg, strlen(arg));
		break;
	case 'k':
		(void)kill(pid, atoi(arg));
		(void)pull(200);
		break;
	case 'r':
		w.ws_row = (unsigned short)atoi(arg);
		(void)ioctl(master, TIOCSWINSZ, &w);
		(void)pull(200);
		break;
	default:
		break;
	}
}

static pid_t
begin(int slave, char **argv)
{
	pid_t pid = fork();

	if (pid != 0)
		return (pid);
	(void)setsid();
	(void)ioctl(slave, TIOCSCTTY, 0);
	for (int i = 0; i < 3; i++)
		(void)dup2(slave, i);
	execvp(argv[0], argv);
	_exit(127);
}

int
main(int argc, char **argv)
{
	struct termios before, after;
	int ch, slave, status, end;
	pid_t pid, done = 0;

	for (end = 1; end + 1 < argc && argv[end][0] == '-'; end += 2)
		;
	master = posix_openpt(O_RDWR | O_NOCTTY);
	if (master == -1 || grantpt(master) != 0 || unlockpt(master) != 0 ||
	    (slave = open(ptsname(master), O_RDWR | O_NOCTTY)) == -1 ||
	    tcgetattr(slave, &before) != 0) {
		fprintf(stderr, "ptyrun: no terminal: %s\n", strerror(errno));
		return (125);
	}
	pid = begin(slave, argv + end);
	while ((ch = getopt(argc, argv, "+w:i:k:r:")) != -1)
		step(ch, optarg, pid);
	for (int i = 0; i < 400 && done == 0; i++) {
		(void)pull(50);
		done = waitpid(pid, &status, WNOHANG);
	}
	if (done == 0) {
		fprintf(stderr, "ptyrun: it does not end\n");
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, &status, 0);
	}
	(void)pull(0);
	(void)tcgetattr(slave, &after);
	printf("\nterminal: %s\n", before.c_lflag == after.c_lflag &&
	    before.c_iflag == after.c_iflag &&
	    before.c_oflag == after.c_oflag ? "same" : "changed");
	return (WIFEXITED(status) ? WEXITSTATUS(status) :
	    128 + WTERMSIG(status));
}
