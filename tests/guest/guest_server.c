/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Serve a folder to a machine of the tests, by vhost-user or 9P, and take
 * commands from stdin, a line each, answered with "ok" or what was wrong:
 *
 *	begin N		open the step N
 *	complete N	close it
 *	rollback	undo the newest step
 *
 * Says "ready" when it listens, and ends with stdin.
 *
 * usage: guest_server [-c cache] [-q queues] [-u store] -v | -9 dir socket
 */

#include <sys/types.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"
#include "fused.h"
#include "p9.h"
#include "share.h"
#include "undo.h"

static struct fused_vhost *vhost;
static struct share *share;
static int listener;

static void
die(const struct co_error *e)
{

	errx(1, "%s: %s", e->what, e->message);
}

static void
ended(void *arg, const struct co_error *e)
{

	(void)arg;
	if (e->code != CO_OK)
		warnx("%s", e->message);
}

static void *
serve_vhost(void *arg)
{
	struct co_error e;

	(void)arg;
	if (fused_vhost_serve(vhost, &e) != 0)
		die(&e);
	return (NULL);
}

static void *
serve_p9(void *arg)
{
	struct p9_stream st;
	struct co_error e;
	struct p9 *p;
	int fd;

	(void)arg;
	while ((fd = accept(listener, NULL, NULL)) != -1) {
		if (p9_stream_fd(fd, fd, &st, &e) != 0 ||
		    p9_new(share, NULL, &st, &p, &e) != 0)
			die(&e);
		if (p9_serve(p, &e) != 0)
			warnx("%s", e.message);
		p9_free(p);
	}
	return (NULL);
}

static int
obey(struct undo *u, char *line, struct co_error *e)
{
	int64_t n;

	if (sscanf(line, "begin %jd", (intmax_t *)&n) == 1)
		return (undo_step_begin(u, n, UNDO_COMMAND, "test", e));
	if (sscanf(line, "complete %jd", (intmax_t *)&n) == 1)
		return (undo_step_complete(u, n, 0, e));
	if (strcmp(line, "rollback\n") == 0)
		return (undo_rollback(u, 1, false, NULL, NULL, e));
	return (co_error_set(e, CO_EPROTO_UNKNOWN, line, "what?"));
}

static void
commands(struct undo *u)
{
	struct co_error e;
	char line[128];

	(void)printf("ready\n");
	(void)fflush(stdout);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (u == NULL)
			errx(2, "no undo log");
		if (obey(u, line, &e) == 0)
			(void)printf("ok\n");
		else
			(void)printf("%s\n", e.message);
		(void)fflush(stdout);
	}
}

int
main(int argc, char *argv[])
{
	struct share_options so = { .identity = SHARE_CALLER,
	    .devices = true };
	struct fused_options fo = { .cache = FUSED_NONE };
	struct fused_vhost_options vo = { .tag = "folder", .ended = ended };
	struct undo_options uo = { 0 };
	const char *store = NULL;
	struct undo *u = NULL;
	struct fused *f;
	struct co_error e;
	pthread_t t;
	int ch, mode = 0, root;

	while ((ch = getopt(argc, argv, "9c:q:u:v")) != -1)
		switch (ch) {
		case '9':
		case 'v':
			mode = ch;
			break;
		case 'c':
			fo.cache = strcmp(optarg, "none") == 0 ? FUSED_NONE :
			    strcmp(optarg, "auto") == 0 ? FUSED_AUTO :
			    FUSED_ALWAYS;
			break;
		case 'q':
			vo.queues = (uint32_t)atoi(optarg);
			break;
		case 'u':
			store = optarg;
			break;
		default:
			return (2);
		}
	if (argc - optind != 2 || mode == 0)
		errx(2, "-v or -9, dir and socket");
	(void)signal(SIGPIPE, SIG_IGN);
	if ((root = open(argv[optind], O_RDONLY | O_DIRECTORY)) == -1)
		err(1, "%s", argv[optind]);
	if (store != NULL && undo_open(root, store, &uo, &u, &e) == -1)
		die(&e);
	if (share_open(root, u, &so, &share, &e) == -1 ||
	    fused_new(share, &fo, &f, &e) == -1 ||
	    fused_vhost_listen(argv[optind + 1], &listener, &e) == -1)
		die(&e);
	if (mode == 'v' &&
	    fused_vhost_new(f, listener, &vo, &vhost, &e) == -1)
		die(&e);
	if (pthread_create(&t, NULL, mode == 'v' ? serve_vhost : serve_p9,
	    NULL) != 0)
		errx(1, "no thread");
	commands(u);
	if (mode == 'v') {
		fused_vhost_stop(vhost);
		(void)pthread_join(t, NULL);
		fused_vhost_free(vhost);
		fused_free(f);
		share_close(share);
		undo_close(u);
	}
	return (0);
}
