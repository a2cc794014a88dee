/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * coppicegw(8): start, signals, end.
 */

#include <sys/resource.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rpc.h"

#ifndef SYSCONF
#define	SYSCONF	"/usr/local/etc"
#endif

struct options {
	const char	*conf, *prefix, *user, *pidfile;
	bool		 foreground, check;
};

static void
usage(void)
{

	(void)fprintf(stderr, "usage: coppicegw [-fn] [-c conf] [-p prefix] "
	    "[-P pidfile] [-u user]\n");
	exit(2);
}

static void
take_arguments(struct options *o, int argc, char **argv)
{
	int ch;

	while ((ch = getopt(argc, argv, "c:fnp:P:u:")) != -1)
		switch (ch) {
		case 'c':
			o->conf = optarg;
			break;
		case 'f':
			o->foreground = true;
			break;
		case 'n':
			o->check = true;
			break;
		case 'p':
			o->prefix = optarg;
			break;
		case 'P':
			o->pidfile = optarg;
			break;
		case 'u':
			o->user = optarg;
			break;
		default:
			usage();
		}
	if (optind != argc || (o->prefix != NULL && o->prefix[0] != '/'))
		usage();
}

static char *
below(const struct settings *s, const struct options *o, const char *key,
    const char *name)
{
	struct buf b = { 0 };

	if (o->prefix != NULL && !co_conf_isset(s->conf, key))
		buf_fmt(&b, "%s/%s/%s", o->prefix, key, name);
	else
		buf_fmt(&b, "%s/%s", co_conf_string(s->conf, key), name);
	return (b.p);
}

static int
load(struct settings *s, const struct options *o, struct co_error *e)
{
	const char *keys;
	struct buf path = { 0 };
	int ret;

	if (o->conf != NULL)
		buf_str(&path, o->conf);
	else
		buf_fmt(&path, "%s/coppice.conf", o->prefix != NULL ?
		    o->prefix : SYSCONF);
	ret = co_conf_load(o->conf != NULL || access(path.p, F_OK) == 0 ?
	    path.p : NULL, co_keys, co_nkeys, &s->conf, e);
	buf_free(&path);
	if (ret != 0)
		return (-1);
	s->control = below(s, o, "run", "control");
	keys = co_conf_string(s->conf, "gateway.keys");
	s->keys = *keys != '\0' ? strdup(keys) : below(s, o, "state",
	    "gateway/keys");
	s->domain = co_conf_string(s->conf, "gateway.domain");
	s->template = co_conf_string(s->conf, "gateway.template");
	s->user = co_conf_string(s->conf, "gateway.user");
	s->head_ms = co_conf_int(s->conf, "gateway.head_timeout");
	s->idle_ms = co_conf_int(s->conf, "gateway.idle_timeout");
	s->stall_ms = co_conf_int(s->conf, "gateway.stall_timeout");
	s->connections = co_conf_int(s->conf, "gateway.max_connections");
	s->body_max = co_conf_int(s->conf, "gateway.max_upload");
	s->rate = co_conf_int(s->conf, "gateway.rate");
	s->sandboxes = co_conf_int(s->conf, "gateway.max_sandboxes");
	s->memory = co_conf_int(s->conf, "gateway.max_memory");
	if (s->control == NULL || s->keys == NULL)
		return (co_error_set(e, CO_ESYS_NOMEM, NULL,
		    "out of memory"));
	return (0);
}

static int
open_doors(struct gw *gw, struct co_error *e)
{
	const char *cert = co_conf_string(gw->s.conf, "gateway.tls_cert");
	const char *key = co_conf_string(gw->s.conf, "gateway.tls_key");
	const char *const *at = co_conf_list(gw->s.conf, "gateway.listen");
	const char *const *envd = co_conf_list(gw->s.conf,
	    "gateway.envd_listen");

	if ((*cert != '\0' || *key != '\0') &&
	    tls_ctx_new(cert, key, &gw->tls, e) != 0)
		return (-1);
	for (; *at != NULL; at++)
		if (conn_listen(gw, *at, false, e) != 0)
			return (-1);
	for (; *envd != NULL; envd++)
		if (conn_listen(gw, *envd, true, e) != 0)
			return (-1);
	return (0);
}

/* Root is needed for low ports and certificates, and no longer. */
static int
drop_root(const char *user, struct co_error *e)
{
	struct passwd *pw;

	if (user == NULL)
		return (0);
	pw = getpwnam(user);
	if (pw == NULL)
		return (co_error_set(e, CO_ESYS_CONFIG, user,
		    "there is no user \"%s\"", user));
	if (initgroups(pw->pw_name, pw->pw_gid) != 0 ||
	    setgid(pw->pw_gid) != 0 || setuid(pw->pw_uid) != 0)
		return (co_error_errno(e, errno, user,
		    "can't become \"%s\"", user));
	return (0);
}

static void
raise_limits(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == 0 && rl.rlim_cur < rl.rlim_max) {
		rl.rlim_cur = rl.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &rl);
	}
}

static void
write_pid(const char *path)
{
	FILE *f;

	if (path == NULL || (f = fopen(path, "we")) == NULL)
		return;
	(void)fprintf(f, "%ld\n", (long)getpid());
	(void)fclose(f);
}

static void
on_tick(uv_timer_t *t)
{

	conn_tick(t->data);
	proc_tick(t->data);
	watch_tick(t->data);
	box_start(t->data);
}

static void
on_end(uv_signal_t *s, int number)
{

	(void)number;
	uv_stop(s->loop);
}

static void
serve(struct gw *gw)
{
	uv_timer_t tick;
	uv_signal_t term, intr;

	(void)uv_timer_init(gw->loop, &tick);
	tick.data = gw;
	(void)uv_timer_start(&tick, on_tick, 500, 500);
	(void)uv_signal_init(gw->loop, &term);
	(void)uv_signal_init(gw->loop, &intr);
	(void)uv_signal_start(&term, on_end, SIGTERM);
	(void)uv_signal_start(&intr, on_end, SIGINT);
	box_start(gw);
	co_log(gw->log, CO_INFO, "gateway", NULL, "serving");
	(void)uv_run(gw->loop, UV_RUN_DEFAULT);
	co_log(gw->log, CO_INFO, "gateway", NULL, "ended");
}

static int
run(struct gw *gw, const struct options *o, struct co_error *e)
{

	raise_limits();
	(void)signal(SIGPIPE, SIG_IGN);
	gw->keys = keys_new(gw->s.keys);
	gw->log = co_log_new(o->foreground ? STDERR_FILENO : -1,
	    "coppicegw");
	if (gw->keys == NULL || gw->log == NULL)
		return (co_error_set(e, CO_ESYS_NOMEM, NULL,
		    "out of memory"));
	if (co_log_level(gw->log, co_conf_string(gw->s.conf, "log.level"),
	    e) != 0)
		return (-1);
	if (!o->foreground && daemon(0, 1) != 0)
		return (co_error_errno(e, errno, NULL,
		    "can't become a daemon"));
	gw->loop = uv_default_loop();
	(void)uv_idle_init(gw->loop, &gw->idle);
	gw->idle.data = gw;
	if (open_doors(gw, e) != 0)
		return (-1);
	write_pid(o->pidfile);
	if (drop_root(o->user, e) != 0)
		return (-1);
	serve(gw);
	if (o->pidfile != NULL)
		(void)unlink(o->pidfile);
	return (0);
}

int
main(int argc, char *argv[])
{
	static struct gw gw;
	struct options o = { 0 };
	struct co_error e;

	take_arguments(&o, argc, argv);
	TAILQ_INIT(&gw.conns);
	TAILQ_INIT(&gw.due);
	TAILQ_INIT(&gw.links);
	if (load(&gw.s, &o, &e) != 0 || (!o.check && run(&gw, &o, &e) != 0)) {
		(void)fprintf(stderr, "coppicegw: %s\n", e.message);
		return (1);
	}
	return (0);
}
