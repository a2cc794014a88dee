/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Opening and closing the engine.
 */

#include <sys/file.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"

/* The lock ends with the process that has it. */
static int
lock_state(struct engine *en, struct co_error *e)
{

	en->lockfd = openat(en->statefd, "lock", O_RDWR | O_CREAT | O_CLOEXEC,
	    0600);
	if (en->lockfd == -1)
		return (co_error_errno(e, errno, en->c.state,
		    "can't open \"%s/lock\"", en->c.state));
	if (flock(en->lockfd, LOCK_EX | LOCK_NB) == 0)
		return (0);
	(void)close(en->lockfd);
	return (co_error_set(e, CO_ESESSION_EXISTS, en->c.state,
	    "another engine has \"%s\" open", en->c.state));
}

static int
open_folders(struct engine *en, struct co_error *e)
{
	int fd;

	en->statefd = co_mkdirs(en->c.state, 0711, e);
	if (en->statefd == -1)
		return (-1);
	if (lock_state(en, e) != 0)
		goto err1;
	fd = co_mkdirs(en->c.run, 0755, e);
	if (fd == -1)
		goto err0;
	(void)close(fd);
	(void)mkdirat(en->statefd, "sandboxes", 0711);
	(void)mkdirat(en->statefd, "trash", 0700);
	en->boxesfd = openat(en->statefd, "sandboxes", O_RDONLY |
	    O_DIRECTORY | O_CLOEXEC);
	if (en->boxesfd != -1)
		return (0);
	(void)co_error_errno(e, errno, en->c.state,
	    "can't open \"%s/sandboxes\"", en->c.state);
err0:
	(void)close(en->lockfd);
err1:
	(void)close(en->statefd);
	return (-1);
}

int
engine_open(uv_loop_t *loop, const struct engine_conf *c,
    struct engine **enp, struct co_error *e)
{
	struct engine *en;

	en = calloc(1, sizeof(*en));
	if (en == NULL)
		return (co_error_set(e, CO_ESYS_NOMEM, NULL,
		    "out of memory"));
	en->loop = loop;
	en->c = *c;
	TAILQ_INIT(&en->boxes);
	LIST_INIT(&en->calls);
	if (open_folders(en, e) != 0)
		goto err2;
	if (net_begin(en, e) != 0)
		goto err1;
	if (adopt_all(en, e) != 0)
		goto err0;
	adopt_begin(en);
	*enp = en;
	return (0);
err0:
	net_end(en);
err1:
	(void)close(en->boxesfd);
	(void)close(en->lockfd);
	(void)close(en->statefd);
err2:
	free(en);
	return (-1);
}

void
engine_reconf(struct engine *en, const struct co_conf *conf)
{

	en->c.conf = conf;
}

static void
engine_free(struct engine *en)
{
	void (*then)(void *) = en->then;
	void *arg = en->then_arg;
	struct sandbox *sb;

	while ((sb = TAILQ_FIRST(&en->boxes)) != NULL) {
		TAILQ_REMOVE(&en->boxes, sb, link);
		box_free(sb);
	}
	events_free(en);
	net_end(en);
	(void)close(en->boxesfd);
	(void)close(en->lockfd);
	(void)close(en->statefd);
	free(en);
	then(arg);
}

void
engine_unbusy(struct engine *en)
{

	if (--en->busy == 0 && en->closing)
		engine_free(en);
}

/* Connections and calls end; records stay as they are. */
static void
let_go(struct sandbox *sb)
{
	struct command *cmd;

	turns_cancel(sb);
	/* What a turn is about to undo, it undoes. */
	if (!STAILQ_EMPTY(&sb->turns))
		return;
	LIST_FOREACH(cmd, &sb->commands, link)
		cmd->call = NULL;
	link_close(sb, NULL);
	fsds_close(sb);
	while ((cmd = LIST_FIRST(&sb->commands)) != NULL)
		command_free(cmd);
}

void
engine_close(struct engine *en, void (*then)(void *), void *arg)
{
	struct engine_call *c;
	struct sandbox *sb, *next;

	en->closing = true;
	en->then = then;
	en->then_arg = arg;
	/* Not while we are within. */
	en->busy++;
	while ((c = LIST_FIRST(&en->calls)) != NULL)
		engine_cancel(c);
	for (sb = TAILQ_FIRST(&en->boxes); sb != NULL; sb = next) {
		next = TAILQ_NEXT(sb, link);
		let_go(sb);
	}
	alarm_free(en->clock);
	en->clock = NULL;
	alarm_free(en->dns_retry);
	en->dns_retry = NULL;
	watch_free(en->dns);
	en->dns = NULL;
	engine_unbusy(en);
}
