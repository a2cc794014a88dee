/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * After a restart: records say what should be, backends and the network
 * what is.  What runs is taken over with its commands; what is half made or
 * half destroyed is finished off.
 */

#include <sys/stat.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"

/* A folder without a record is what a create got to before its first one. */
static void
no_record(struct engine *en, const char *name, const struct co_error *e)
{
	struct stat st;
	char path[300];

	(void)snprintf(path, sizeof(path), "%s/record", name);
	if (fstatat(en->boxesfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		co_log(en->c.log, CO_ERROR, "engine", NULL,
		    "%s; it is left alone", e->message);
		return;
	}
	(void)engine_rmtree(en->boxesfd, name);
}

static int
load_all(struct engine *en, struct co_error *e)
{
	struct co_error why;
	struct dirent *de;
	nvlist_t *rec;
	DIR *d;
	int fd;

	fd = openat(en->boxesfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1 || (d = fdopendir(fd)) == NULL)
		return (co_error_set(e, CO_ESYS_ERRNO, en->c.state,
		    "can't read the sandboxes"));
	while ((de = readdir(d)) != NULL) {
		if (!co_id_valid(de->d_name))
			continue;
		if (record_load(en->boxesfd, de->d_name, &rec, &why) != 0)
			no_record(en, de->d_name, &why);
		else
			(void)box_new(en, rec);
	}
	(void)closedir(d);
	return (0);
}

/* In the order of their creation, as they were. */
static void
sort_all(struct engine *en)
{
	struct box_list sorted = TAILQ_HEAD_INITIALIZER(sorted);
	struct sandbox *sb, *at;

	while ((sb = TAILQ_FIRST(&en->boxes)) != NULL) {
		TAILQ_REMOVE(&en->boxes, sb, link);
		TAILQ_FOREACH(at, &sorted, link)
			if (ctl_uint(at->rec, "created", 0) >
			    ctl_uint(sb->rec, "created", 0))
				break;
		if (at != NULL)
			TAILQ_INSERT_BEFORE(at, sb, link);
		else
			TAILQ_INSERT_TAIL(&sorted, sb, link);
	}
	TAILQ_CONCAT(&en->boxes, &sorted, link);
}

/* Does it run?  Then it keeps what it has. */
static void
adopt_one(struct sandbox *sb)
{
	struct co_ids ids = { .sandbox_id = sb->id };
	struct box_spec *spec;
	struct co_error e;

	sb->alive = false;
	if (sb->be == NULL || (sb->state != BOX_RUNNING &&
	    sb->state != BOX_PAUSED))
		return;
	spec = spec_new(sb, &e);
	if (spec == NULL)
		return;
	sb->alive = sb->be->adopt(&spec->s, &sb->r, &e) == 0;
	spec_free(spec);
	if (sb->r.netns != -1)
		(void)close(sb->r.netns);
	sb->r.netns = -1;
	if (!sb->alive)
		co_log(sb->en->c.log, CO_WARN, "engine", &ids,
		    "it does not run any more: %s", e.message);
}

static int
reconcile(struct engine *en, struct co_error *e)
{
	struct net_record *r;
	struct net_policy *p;
	struct net_report rep;
	struct sandbox *sb;
	struct co_error why;
	const char *text;
	size_t n = 0;
	int ret;

	if (en->net == NULL)
		return (0);
	r = calloc(en->nboxes + 1, sizeof(*r));
	if (r == NULL)
		return (co_error_set(e, CO_ESYS_NOMEM, NULL,
		    "out of memory"));
	TAILQ_FOREACH(sb, &en->boxes, link) {
		text = ctl_string(sb->rec, "policy", "");
		if (!sb->alive || sb->lease.id[0] == '\0' ||
		    net_policy_parse(text, strlen(text), &p, &why) != 0)
			continue;
		r[n++] = (struct net_record){ .lease = sb->lease,
		    .policy = p, .alive = true };
	}
	ret = net_reconcile(en->net, r, n, &rep, e);
	if (ret == 0 && (n > 0 || rep.removed > 0))
		co_log(en->c.log, CO_INFO, "net", NULL, "%u kept, %u remade, "
		    "%u lost, %u removed, %u foreign", rep.kept, rep.remade,
		    rep.lost, rep.removed, rep.foreign);
	while (n > 0)
		net_policy_free((void *)(uintptr_t)r[--n].policy);
	free(r);
	return (ret);
}

/* Templates that only a sandbox or a call had, which is gone. */
static void
collect(struct engine *en)
{
	char *used;

	used = box_templates(en, NULL);
	if (used != NULL)
		template_collect(en->c.state, box_template_used, used);
	free(used);
}

int
adopt_all(struct engine *en, struct co_error *e)
{
	struct sandbox *sb;

	if (load_all(en, e) != 0)
		return (-1);
	sort_all(en);
	collect(en);
	TAILQ_FOREACH(sb, &en->boxes, link)
		adopt_one(sb);
	/* Without a network, sandboxes can still be looked at and ended. */
	if (reconcile(en, e) != 0)
		co_log(en->c.log, CO_ERROR, "net", NULL, "%s", e->message);
	return (0);
}

static void
lost_turn(struct turn *t)
{

	(void)co_error_set(&t->e, CO_ESANDBOX_LOST, t->sb->id,
	    "it ended while the engine did not run");
	down_turn_lost(t);
}

static void
halt_saved(struct turn *t)
{

	turn_done(t, NULL);
}

static void
halted(struct turn *t)
{

	if (t->e.code != CO_OK) {
		turn_fail(t, &t->e);
		return;
	}
	box_state(t->sb, BOX_STOPPED, NULL);
	turn_save(t, halt_saved);
}

/* Its start or its stop was cut short. */
static void
halt_turn(struct turn *t)
{

	down_begin(t, 0, false, halted);
}

static void
settle(struct sandbox *sb)
{
	bool made = ctl_flag(sb->rec, "made", false);

	if (ctl_flag(sb->rec, "destroying", false) || !made)
		(void)turn_add(sb, NULL, "clean up", down_turn_destroy);
	else if (sb->state == BOX_CREATING || sb->state == BOX_STOPPING)
		(void)turn_add(sb, NULL, "stop", halt_turn);
	else if ((sb->state == BOX_RUNNING || sb->state == BOX_PAUSED) &&
	    !sb->alive)
		(void)turn_add(sb, NULL, "clean up", lost_turn);
	else if (sb->alive) {
		keep_load(sb);
		fsds_open(sb);
		if (sb->state == BOX_RUNNING)
			link_revive(sb);
	}
}

void
adopt_begin(struct engine *en)
{
	struct sandbox *sb, *next;

	for (sb = TAILQ_FIRST(&en->boxes); sb != NULL; sb = next) {
		next = TAILQ_NEXT(sb, link);
		settle(sb);
	}
	trash_sweep(en);
	clock_set(en);
	net_dns_begin(en);
}

/*
 * Commands.
 */
static void
on_process(struct ask *a, const struct shim_process *p)
{
	struct command *cmd;

	cmd = command_find(a->sb, p->id);
	if (cmd != NULL && cmd->asked && !cmd->ended)
		cmd->known = true;
}

/* Those that the shim knows are followed; others ended, or never began. */
static void
on_end(struct ask *a, const struct shim_result *r)
{
	struct sandbox *sb = a->sb;
	struct command *cmd, *next;
	struct co_error e;
	struct shim *s;

	s = link_shim(sb, &e);
	if (r == NULL || s == NULL)
		return;
	for (cmd = LIST_FIRST(&sb->commands); cmd != NULL; cmd = next) {
		next = LIST_NEXT(cmd, link);
		if (!cmd->asked || cmd->ended)
			continue;
		if (cmd->known && shim_attach(s, cmd->id, -1, &e) == 0)
			continue;
		(void)co_error_set(&e, CO_ESANDBOX_LOST, cmd->text,
		    "the command is not known to the sandbox any more");
		command_failed(cmd, &e);
	}
	sb->settled = true;
	step_settle(sb);
	link_kick(sb);
}

void
adopt_commands(struct sandbox *sb)
{
	struct command *cmd;
	struct co_error e;
	struct ask *a;

	LIST_FOREACH(cmd, &sb->commands, link)
		cmd->known = cmd->linked = false;
	a = ask_new(sb, NULL);
	if (a == NULL)
		return;
	a->process = on_process;
	a->end = on_end;
	if (ask_ps(a, &e) != 0)
		ask_free(a);
}
