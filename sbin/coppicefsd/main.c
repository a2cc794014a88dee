/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * coppicefsd: serve one folder.  The command line, and the two processes:
 * the keeper, which has the rights, and the server, which has the clients.
 */

#include <sys/resource.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppicefsd.h"
#include "server.h"

static void
usage(void)
{

	(void)fprintf(stderr, "usage: coppicefsd [-f] [-c socket] [-l level] "
	    "[-o options] [-U user]\n"
	    "                  [-u store] -r folder -t transport\n");
	exit(2);
}

static void
fail(const struct co_error *e)
{

	(void)fprintf(stderr, "coppicefsd: %s%s%s\n", e->what,
	    e->what[0] != '\0' ? ": " : "", e->message);
	exit(2);
}

static void
take_arguments(struct config *c, int argc, char *argv[])
{
	struct co_error e;
	int ch;

	while ((ch = getopt(argc, argv, "U:c:fl:o:r:t:u:")) != -1)
		switch (ch) {
		case 'U':
			c->user = optarg;
			break;
		case 'c':
			c->control = optarg;
			break;
		case 'f':
			c->foreground = true;
			break;
		case 'l':
			c->level = optarg;
			break;
		case 'o':
			if (options_parse(c, optarg, &e) == -1)
				fail(&e);
			break;
		case 'r':
			c->root = optarg;
			break;
		case 't':
			c->transport = optarg;
			break;
		case 'u':
			c->store = optarg;
			break;
		default:
			usage();
		}
	if (argc != optind || c->root == NULL || c->transport == NULL)
		usage();
}

/* Every node that the client knows may want a descriptor. */
static void
raise_limits(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == 0 && rl.rlim_cur < rl.rlim_max) {
		rl.rlim_cur = rl.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &rl);
	}
}

/* The parent returns only after the server serves, or could not. */
static int
go_background(void)
{
	int fd, p[2];
	char c;

	if (pipe2(p, O_CLOEXEC) == -1)
		return (-1);
	switch (fork()) {
	case -1:
		return (-1);
	case 0:
		break;
	default:
		(void)close(p[1]);
		_exit(read(p[0], &c, 1) == 1 ? 0 : 1);
	}
	(void)close(p[0]);
	(void)setsid();
	if ((fd = open("/dev/null", O_RDWR)) != -1) {
		(void)dup2(fd, STDIN_FILENO);
		(void)dup2(fd, STDOUT_FILENO);
		if (fd > STDERR_FILENO)
			(void)close(fd);
	}
	return (p[1]);
}

static int
run(const struct config *c, const struct transport *t, const char *arg,
    struct co_log *log)
{
	int keeper[2], ready = -1;
	pid_t child, self;

	if (!c->foreground && (ready = go_background()) == -1)
		return (1);
	if (pipe2(keeper, O_CLOEXEC) == -1)
		return (1);
	self = getpid();
	if ((child = fork()) == -1)
		return (1);
	if (child == 0) {
		sandbox_orphan(self);
		(void)close(keeper[0]);
		if (ready != -1)
			(void)close(ready);
		exit(server_run(c, t, arg, log, keeper[1]));
	}
	(void)close(keeper[1]);
	return (keeper_run(child, keeper[0], ready, t, arg, c->control));
}

int
main(int argc, char *argv[])
{
	struct config c = { .sandbox = true, .level = "info" };
	const struct transport *t;
	const char *arg = NULL;
	struct co_log *log;
	struct co_error e;
	int ret;

	take_arguments(&c, argc, argv);
	if ((t = transport_find(c.transport, &arg)) == NULL) {
		(void)co_error_set(&e, CO_ESYS_CONFIG, c.transport,
		    "no such transport; coppicefsd(8) lists them");
		fail(&e);
	}
	(void)co_error_set(&e, CO_ESYS_NOMEM, NULL, "out of memory");
	if ((log = co_log_new(STDERR_FILENO, "coppicefsd")) == NULL ||
	    co_log_level(log, c.level, &e) == -1)
		fail(&e);
	raise_limits();
	ret = run(&c, t, arg, log);
	co_log_free(log);
	options_free(&c);
	return (ret);
}
