/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Steps: each command of a sandbox with shares is one undo step on all that
 * it can write to.  A share has one open step at a time, so commands that
 * overlap share a step, which ends when the last of them does.
 */

#include <stdlib.h>
#include <string.h>

#include "engine_internal.h"

static void step_opened(struct sandbox *);
static void step_closed(struct sandbox *);

bool
step_wanted(const struct command *cmd)
{
	const struct sandbox *sb = cmd->sb;

	if (!ctl_flag(cmd->req, "step", true))
		return (false);
	for (size_t i = 0; i < sb->nfsd; i++)
		if (fsd_writable(sb->fsd[i]))
			return (true);
	return (false);
}

/* An answer of one of the servers; the last one moves us on. */
static void
answered(void *arg, nvlist_t *nv, const struct co_error *e)
{
	struct sandbox *sb = arg;

	(void)nv;
	if (e != NULL && sb->step_error.code == CO_OK)
		sb->step_error = *e;
	if (--sb->step_waits > 0)
		return;
	if (sb->step_state == STEP_BEGINNING)
		step_opened(sb);
	else if (sb->step_state == STEP_COMPLETING)
		step_closed(sb);
}

static void
ask_all(struct sandbox *sb, const char *op, const char *name)
{
	nvlist_t *nv;

	sb->step_error.code = CO_OK;
	/* One more, so that answers on the way do not end it early. */
	sb->step_waits = 1;
	for (size_t i = 0; i < sb->nfsd; i++) {
		if (!fsd_writable(sb->fsd[i]))
			continue;
		nv = nvlist_create(0);
		nvlist_add_string(nv, "op", op);
		nvlist_add_number(nv, "id", (uint64_t)sb->step);
		if (name != NULL)
			nvlist_add_string(nv, "name", name);
		else
			nvlist_add_number(nv, "exit",
			    (uint64_t)(int64_t)sb->step_exit);
		sb->step_waits++;
		if (name == NULL)
			fsd_expect(sb->fsd[i], sb->step);
		(void)fsd_request(sb->fsd[i], nv, NULL, 0, NULL, answered,
		    sb);
	}
	answered(sb, NULL, NULL);
}

static void
enter(struct command *cmd)
{

	cmd->in_step = true;
	cmd->waiting = false;
	cmd->step = cmd->sb->step;
	cmd->sb->step_refs++;
	keep_begin(cmd);
}

void
step_join(struct command *cmd)
{
	struct sandbox *sb = cmd->sb;

	switch (sb->step_state) {
	case STEP_NONE:
		sb->step = cmd->id;
		sb->step_exit = 0;
		sb->step_refs = 0;
		sb->step_state = STEP_BEGINNING;
		enter(cmd);
		ask_all(sb, "step.begin", cmd->text != NULL ? cmd->text : "");
		break;
	case STEP_BEGINNING:
		enter(cmd);
		break;
	case STEP_OPEN:
		enter(cmd);
		command_run(cmd);
		break;
	case STEP_COMPLETING:
		cmd->waiting = true;
		break;
	}
}

/* Run those that waited, or tell them why not. */
static void
step_opened(struct sandbox *sb)
{
	struct co_error e = sb->step_error;
	struct command *cmd, *next;

	sb->step_state = STEP_OPEN;
	for (cmd = LIST_FIRST(&sb->commands); cmd != NULL; cmd = next) {
		next = LIST_NEXT(cmd, link);
		if (!cmd->in_step || cmd->asked || cmd->ended)
			continue;
		if (e.code != CO_OK)
			command_failed(cmd, &e);
		else
			command_run(cmd);
	}
}

static void
step_close(struct sandbox *sb)
{

	sb->step_state = STEP_COMPLETING;
	ask_all(sb, "step.complete", NULL);
}

bool
step_leave(struct command *cmd)
{
	struct sandbox *sb = cmd->sb;

	if (!cmd->in_step)
		return (false);
	cmd->in_step = false;
	if (cmd->end.exit_code != 0)
		sb->step_exit = cmd->end.exit_code;
	if (--sb->step_refs > 0 || sb->step_state != STEP_OPEN)
		return (false);
	step_close(sb);
	/* Unless it is closed already, and perhaps another one begun. */
	cmd->settling = sb->step_state == STEP_COMPLETING &&
	    sb->step == cmd->step;
	return (cmd->settling);
}

static struct command *
find(struct sandbox *sb, bool settling)
{
	struct command *cmd;

	LIST_FOREACH(cmd, &sb->commands, link)
		if (settling ? cmd->settling : cmd->waiting)
			return (cmd);
	return (NULL);
}

static void
step_closed(struct sandbox *sb)
{
	struct co_ids ids = { .sandbox_id = sb->id, .step_id = sb->step };
	struct command *cmd;

	if (sb->step_error.code != CO_OK)
		co_log(sb->en->c.log, CO_WARN, "undo", &ids, "%s",
		    sb->step_error.message);
	sb->step_state = STEP_NONE;
	sb->step = 0;
	while ((cmd = find(sb, true)) != NULL) {
		cmd->settling = false;
		command_over(cmd);
	}
	keep_step(sb);
	while ((cmd = find(sb, false)) != NULL &&
	    sb->step_state != STEP_COMPLETING)
		step_join(cmd);
}

/* After a restart: the step that was open, if nothing of it runs any more. */
void
step_settle(struct sandbox *sb)
{

	if (sb->step_state == STEP_OPEN && sb->step_refs == 0)
		step_close(sb);
}
