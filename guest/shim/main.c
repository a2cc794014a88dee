/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * coppice-shim: the first process of every sandbox.  Reads its arguments,
 * finds its channel to the host, reaps whoever dies, and runs the loop.
 */

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"
#include "sys.h"

#define	RUNDIR		"/run/coppice"

/* The writing end of the pipe that wakes the loop; for the handler only. */
static int wake = -1;

static void
usage(void)
{
	static const char text[] =
	    "usage: coppice-shim [--init] [--run dir] "
	    "[--fd n] [--listen n] [--serial port]\n"
	    "                    [--vsock cid:port] [--vsock-listen port]\n";

	(void)!write(2, text, sizeof(text) - 1);
	exit(2);
}

static void
complain(const char *what, int error)
{

	dprintf(2, "coppice-shim: %s: %s\n", what, strerror(error));
}

static void
on_signal(int sig)
{
	int saved = errno;
	char c = (char)sig;

	(void)!write(wake, &c, 1);
	errno = saved;
}

static void
on_wake(void *arg, unsigned got)
{
	struct guest *g = arg;
	char buf[64];
	ssize_t n;

	(void)got;
	n = read(g->signals.fd, buf, sizeof(buf));
	for (ssize_t i = 0; i < n; i++)
		if (buf[i] != SIGCHLD)
			session_shutdown(g, GRACE_MS,
			    g->init ? WH_POWEROFF : WH_EXIT);
	/* Nobody left that a shutdown would have to wait for. */
	if (reap_all(g) && g->shutdown)
		session_leave(g);
}

static int
catch_signals(struct guest *g)
{
	static const int caught[] = { SIGCHLD, SIGTERM, SIGINT };
	struct sigaction sa = { .sa_handler = on_signal,
	    .sa_flags = SA_RESTART };
	int p[2];

	if (pipe2(p, O_CLOEXEC | O_NONBLOCK) != 0)
		return (errno);
	wake = p[1];
	ev_init(&g->signals, p[0], on_wake, g);
	sigfillset(&sa.sa_mask);
	for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		(void)sigaction(caught[i], &sa, NULL);
	sa.sa_handler = SIG_IGN;
	(void)sigaction(SIGPIPE, &sa, NULL);
	(void)sigaction(SIGHUP, &sa, NULL);
	return (ev_want(g->ev, &g->signals, EV_IN));
}

static int
number(const char *s, int64_t max)
{
	int64_t n;

	if (conf_number(s, 0, max, &n) != 0)
		usage();
	return (n <= INT_MAX ? (int)n : INT_MAX);
}

static void
vsock(struct guest *g, char *s)
{
	char *colon;

	if ((colon = strchr(s, ':')) == NULL)
		usage();
	*colon = '\0';
	g->chan.kind = CHAN_VSOCK;
	g->chan.cid = (unsigned)number(s, UINT_MAX);
	g->chan.port = (unsigned)number(colon + 1, UINT_MAX);
}

static void
vsock_listen(struct guest *g, const char *s)
{

	g->chan.listen.fd = chan_vsock_listen((unsigned)number(s, UINT_MAX));
	if (g->chan.listen.fd == -1) {
		complain("vsock", errno);
		exit(1);
	}
}

/* A channel in words, as the environment and the kernel give it. */
static void
channel(struct guest *g, char *s)
{

	if (strncmp(s, "serial:", 7) == 0) {
		g->chan.kind = CHAN_SERIAL;
		g->chan.path = s + 7;
	} else if (strncmp(s, "vsock:", 6) == 0) {
		vsock(g, s + 6);
	} else if (strncmp(s, "vsock-listen:", 13) == 0) {
		vsock_listen(g, s + 13);
	} else {
		usage();
	}
}

static void
arguments(struct guest *g, int argc, char **argv)
{
	static const struct option opts[] = {
		{ "fd", required_argument, NULL, 'f' },
		{ "init", no_argument, NULL, 'i' },
		{ "listen", required_argument, NULL, 'l' },
		{ "run", required_argument, NULL, 'r' },
		{ "serial", required_argument, NULL, 's' },
		{ "vsock", required_argument, NULL, 'v' },
		{ "vsock-listen", required_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", opts, NULL)) != -1)
		switch (c) {
		case 'f':
			g->chan.src.fd = number(optarg, 65535);
			break;
		case 'i':
			g->init = true;
			break;
		case 'l':
			g->chan.listen.fd = number(optarg, 65535);
			break;
		case 'r':
			g->rundir = optarg;
			break;
		case 's':
			g->chan.kind = CHAN_SERIAL;
			g->chan.path = optarg;
			break;
		case 'v':
			vsock(g, optarg);
			break;
		case 'V':
			vsock_listen(g, optarg);
			break;
		default:
			usage();
		}
	if (optind != argc)
		usage();
}

/* Descriptors 0 to 2 are always somebody's. */
static void
standard_fds(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd != -1 && fd < 3);
	if (fd != -1)
		close(fd);
}

/* What the kernel's command line and the environment say. */
static void
surroundings(struct guest *g)
{
	static char line[8192];
	char *s, word[8192];
	const char *what = NULL;
	int error;

	conf_environ(g);
	if ((s = getenv("COPPICE_CHANNEL")) != NULL)
		channel(g, s);
	if (g->init && sys_cmdline(line, sizeof(line))) {
		memcpy(word, line, sizeof(word));
		conf_cmdline(g, word);
		if ((s = strstr(line, "coppice.channel=")) != NULL) {
			s[strcspn(s, " \n")] = '\0';
			channel(g, strchr(s, '=') + 1);
		}
	}
	if ((g->init || getpid() == 1 || g->conf.ip[0] != '\0') &&
	    (error = conf_apply(g, &what)) != 0)
		complain(what != NULL ? what : "configuration", error);
}

static void
instance(struct guest *g)
{
	unsigned char id[16];

	sys_random(id, sizeof(id));
	for (size_t i = 0; i < sizeof(id); i++)
		(void)snprintf(g->instance + 2 * i, 3, "%02x", id[i]);
}

int
main(int argc, char **argv)
{
	static struct guest guest = { .rundir = RUNDIR, .how = WH_EXIT };
	struct guest *g = &guest;
	int error;

	standard_fds();
	g->chan.src.fd = g->chan.listen.fd = g->signals.fd = -1;
	g->conf.prefix = 24;
	g->started = ev_now();
	arguments(g, argc, argv);
	if ((g->ev = ev_new()) == NULL) {
		complain("event queue", errno);
		return (1);
	}
	instance(g);
	if (g->init)
		sys_boot();
	sys_become_init();
	surroundings(g);
	if (g->chan.kind == CHAN_FD && g->chan.src.fd == -1 &&
	    g->chan.listen.fd == -1)
		usage();
	if ((error = catch_signals(g)) != 0 || (error = chan_open(g)) != 0) {
		complain("start", error);
		return (1);
	}
	for (;;) {
		if ((error = ev_run(g->ev)) != 0) {
			complain("event queue", error);
			return (1);
		}
		chan_flush(g, session_pump(g));
		work_sweep(g);
	}
}
