/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * coppiced(8): start, signals, end.
 */

#include <sys/resource.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"
#include "coppiced.h"
#include "net.h"
#include "sandbox.h"

struct daemon {
	struct settings	 s;
	uv_loop_t	 loop;
	struct engine	*en;
	struct door	*door;
	struct co_log	*log;
	const char	*helper[3];
	uv_signal_t	 term, intr, hup;
	bool		 ending;
};

static void
usage(void)
{

	(void)fprintf(stderr, "usage: coppiced [-fn] [-c conf] [-L libexec] "
	    "[-p prefix]\n");
	exit(2);
}

static void
complain(const struct co_error *e)
{

	(void)fprintf(stderr, "coppiced: %s\n", e->message);
}

static void
take_arguments(struct settings *s, int argc, char **argv)
{
	int ch;

	while ((ch = getopt(argc, argv, "c:fL:np:")) != -1)
		switch (ch) {
		case 'c':
			s->conf_path = optarg;
			break;
		case 'f':
			s->foreground = true;
			break;
		case 'L':
			s->libexec_arg = optarg;
			break;
		case 'n':
			s->check = true;
			break;
		case 'p':
			s->prefix = optarg;
			break;
		default:
			usage();
		}
	if (optind != argc || (s->prefix != NULL && s->prefix[0] != '/'))
		usage();
}

/*
 * The parent stays until the child serves, so that whoever started us knows
 * how it went.
 */
static int
go_background(void)
{
	int fd, p[2];
	char c;

	if (pipe(p) == -1)
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
	(void)fcntl(p[1], F_SETFD, FD_CLOEXEC);
	(void)setsid();
	(void)!chdir("/");
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (fd != -1) {
		(void)dup2(fd, STDIN_FILENO);
		(void)dup2(fd, STDOUT_FILENO);
		(void)close(fd);
	}
	return (p[1]);
}

static void
tell_ready(int fd)
{
	int null;

	if (fd == -1)
		return;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null != -1) {
		(void)dup2(null, STDERR_FILENO);
		(void)close(null);
	}
	(void)!write(fd, "", 1);
	(void)close(fd);
}

static void
write_pid(const struct daemon *d)
{
	struct co_error e;
	char text[32];
	int fd, n;

	fd = co_mkdirs(d->s.run, 0755, &e);
	if (fd == -1)
		return;
	n = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
	if (co_file_replace(fd, "coppiced.pid", text, (size_t)n, 0644,
	    &e) != 0)
		co_log(d->log, CO_WARN, "coppiced", NULL, "%s", e.message);
	(void)close(fd);
}

static void
remove_pid(const struct daemon *d)
{
	char path[1024];

	(void)snprintf(path, sizeof(path), "%s/coppiced.pid", d->s.run);
	(void)unlink(path);
}

/* Each sandbox has a connection or more. */
static void
raise_limits(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == 0 && rl.rlim_cur < rl.rlim_max) {
		rl.rlim_cur = rl.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &rl);
	}
}

/*
 * Signals.
 */
static void
closed(void *arg)
{
	struct daemon *d = arg;

	uv_close((uv_handle_t *)&d->term, NULL);
	uv_close((uv_handle_t *)&d->intr, NULL);
	uv_close((uv_handle_t *)&d->hup, NULL);
}

/* Sandboxes go on; the next coppiced finds them. */
static void
on_end(uv_signal_t *sig, int number)
{
	struct daemon *d = sig->data;

	(void)number;
	if (d->ending)
		return;
	d->ending = true;
	door_close(d->door);
	engine_close(d->en, closed, d);
}

static void
on_reload(uv_signal_t *sig, int number)
{
	struct daemon *d = sig->data;
	struct co_conf *c;
	struct co_error e;

	(void)number;
	if (co_conf_load(d->s.conf_found, co_keys, co_nkeys, &c, &e) != 0) {
		co_log(d->log, CO_ERROR, "coppiced", NULL, "the "
		    "configuration stays as it was: %s", e.message);
		return;
	}
	if (co_log_level(d->log, co_conf_string(c, "log.level"), &e) == 0)
		co_log(d->log, CO_INFO, "coppiced", NULL, "reloaded");
	engine_reconf(d->en, c);
	co_conf_free(d->s.conf);
	d->s.conf = c;
}

static void
catch_signals(struct daemon *d)
{

	(void)signal(SIGPIPE, SIG_IGN);
	(void)uv_signal_init(&d->loop, &d->term);
	(void)uv_signal_init(&d->loop, &d->intr);
	(void)uv_signal_init(&d->loop, &d->hup);
	d->term.data = d->intr.data = d->hup.data = d;
	(void)uv_signal_start(&d->term, on_end, SIGTERM);
	(void)uv_signal_start(&d->intr, on_end, SIGINT);
	(void)uv_signal_start(&d->hup, on_reload, SIGHUP);
}

static int
serve(struct daemon *d, int ready, struct co_error *e)
{
	struct engine_conf c = { .state = d->s.state, .run = d->s.run,
	    .libexec = d->s.libexec, .conf = d->s.conf, .log = d->log };
	char path[1024];

	d->helper[0] = d->s.self;
	d->helper[1] = "helper";
	if (co_conf_bool(d->s.conf, "net.enable"))
		c.net_helper = d->helper;
	(void)snprintf(path, sizeof(path), "%s/control", d->s.run);
	if (engine_open(&d->loop, &c, &d->en, e) != 0)
		return (-1);
	if (door_open(&d->loop, d->en, path, co_conf_bool(d->s.conf,
	    "control.open"), d->log, &d->door, e) != 0)
		return (-1);
	catch_signals(d);
	write_pid(d);
	tell_ready(ready);
	co_log(d->log, CO_INFO, "coppiced", NULL, "serving \"%s\"", path);
	(void)uv_run(&d->loop, UV_RUN_DEFAULT);
	remove_pid(d);
	(void)uv_loop_close(&d->loop);
	return (0);
}

static int
run(struct daemon *d, struct co_error *e)
{
	int ready = -1;

	if (settings_helpers(&d->s, e) != 0)
		return (-1);
	if (!d->s.foreground && (ready = go_background()) == -1)
		return (co_error_errno(e, errno, NULL,
		    "can't become a daemon"));
	raise_limits();
	(void)umask(022);
	if (uv_loop_init(&d->loop) != 0 || (d->log = co_log_new(
	    d->s.foreground ? STDERR_FILENO : -1, "coppiced")) == NULL)
		return (co_error_set(e, CO_ESYS_NOMEM, NULL,
		    "out of memory"));
	if (co_log_level(d->log, co_conf_string(d->s.conf, "log.level"),
	    e) != 0)
		return (-1);
	return (serve(d, ready, e));
}

int
main(int argc, char *argv[])
{
	struct daemon d = { .ending = false };
	struct co_error e;
	int ret;

	if (argc > 1 && strcmp(argv[1], "helper") == 0)
		return (net_helper_main(argc - 2, argv + 2));
	/* Threads wait more than they work. */
	(void)setenv("UV_THREADPOOL_SIZE", "16", 0);
	take_arguments(&d.s, argc, argv);
	ret = settings_load(&d.s, &e);
	if (ret == 0 && !d.s.check)
		ret = run(&d, &e);
	if (ret != 0)
		complain(&e);
	else if (d.s.check && d.s.conf_found != NULL)
		(void)fprintf(stderr, "coppiced: %s is good\n",
		    d.s.conf_found);
	co_log_free(d.log);
	settings_free(&d.s);
	return (ret == 0 ? 0 : 1);
}
