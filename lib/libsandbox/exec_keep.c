/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What another engine must know of the commands of a sandbox, in the file
 * "commands" of its folder; and the output and the end of those that ended
 * before anybody took note, in files "tail-N".  Commands do not survive the
 * machine, so none of this is forced to the disk.
 */

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"

#define	KEEP_MAX	(1024 * 1024)

static void
keep_file(struct sandbox *sb, const char *name, const nvlist_t *nv)
{
	struct co_ids ids = { .sandbox_id = sb->id };
	struct co_error e;
	void *buf;
	size_t len;

	buf = nvlist_error(nv) == 0 ? nvlist_pack(nv, &len) : NULL;
	if (buf == NULL)
		return;
	if (record_file(sb->dir, name, buf, len, &e) != 0)
		co_log(sb->en->c.log, CO_ERROR, "engine", &ids, "%s",
		    e.message);
	free(buf);
}

static nvlist_t *
keep_read(struct sandbox *sb, const char *name)
{
	nvlist_t *nv = NULL;
	struct co_error e;
	char *data;
	size_t len;
	int fd;

	fd = open(sb->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		return (NULL);
	if (co_file_read(fd, name, KEEP_MAX, &data, &len, &e) == 0) {
		nv = nvlist_unpack(data, len, 0);
		free(data);
	}
	(void)close(fd);
	return (nv);
}

static nvlist_t *
describe(const struct command *cmd)
{
	nvlist_t *nv;

	nv = nvlist_create(0);
	nvlist_add_number(nv, "exec", (uint64_t)cmd->id);
	nvlist_add_number(nv, "step", (uint64_t)cmd->step);
	nvlist_add_number(nv, "began", (uint64_t)cmd->began);
	nvlist_add_number(nv, "acked", cmd->freed);
	nvlist_add_string(nv, "command", cmd->text != NULL ? cmd->text : "");
	nvlist_add_string(nv, "tag", cmd->tag != NULL ? cmd->tag : "");
	nvlist_add_bool(nv, "pty", cmd->pty);
	nvlist_add_bool(nv, "ephemeral", cmd->ephemeral);
	nvlist_add_bool(nv, "log", cmd->log);
	nvlist_add_bool(nv, "in_step", cmd->in_step);
	return (nv);
}

void
keep_save(struct sandbox *sb)
{
	const struct command *cmd;
	nvlist_t *nv, *one;

	if (sb->gone)
		return;
	nv = nvlist_create(0);
	nvlist_add_number(nv, "next", (uint64_t)sb->next_exec);
	nvlist_add_number(nv, "step", sb->step_state == STEP_NONE ? 0 :
	    (uint64_t)sb->step);
	LIST_FOREACH(cmd, &sb->commands, link) {
		if (cmd->ended || cmd->over != NULL)
			continue;
		one = describe(cmd);
		nvlist_append_nvlist_array(nv, "commands", one);
		nvlist_destroy(one);
	}
	for (size_t i = 0; i < sb->nended; i++)
		nvlist_append_nvlist_array(nv, "ended", sb->ended[i]);
	keep_file(sb, "commands", nv);
	nvlist_destroy(nv);
}

static void
tail_name(char buf[48], int64_t id)
{

	(void)snprintf(buf, 48, "tail-%" PRId64, id);
}

static void
forget_oldest(struct sandbox *sb)
{
	char name[48];
	int fd;

	tail_name(name, (int64_t)ctl_uint(sb->ended[0], "exec", 0));
	fd = open(sb->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd != -1) {
		(void)unlinkat(fd, name, 0);
		(void)close(fd);
	}
	nvlist_destroy(sb->ended[0]);
	sb->nended--;
	memmove(&sb->ended[0], &sb->ended[1],
	    sb->nended * sizeof(sb->ended[0]));
}

/* What nobody acknowledged. */
static void
keep_pieces(struct command *cmd)
{
	nvlist_t *nv, *one;
	struct piece *p;
	char name[48];
	size_t skip;

	nv = nvlist_create(0);
	STAILQ_FOREACH(p, &cmd->out, link) {
		skip = p->offset < cmd->freed ?
		    (size_t)(cmd->freed - p->offset) : 0;
		one = nvlist_create(0);
		nvlist_add_number(one, "stream", (uint64_t)p->stream);
		nvlist_add_number(one, "offset", p->offset + skip);
		nvlist_add_binary(one, "data", p->data + skip,
		    p->len - skip);
		nvlist_append_nvlist_array(nv, "pieces", one);
		nvlist_destroy(one);
	}
	tail_name(name, cmd->id);
	keep_file(cmd->sb, name, nv);
	nvlist_destroy(nv);
}

/* It ended: this must be on record before the shim forgets it. */
void
keep_end(struct command *cmd)
{
	struct sandbox *sb = cmd->sb;
	nvlist_t *nv;

	nv = nvlist_create(0);
	nvlist_add_number(nv, "exec", (uint64_t)cmd->id);
	nvlist_add_number(nv, "step", (uint64_t)cmd->step);
	exec_end_add(nv, &cmd->end);
	if (nvlist_error(nv) != 0) {
		nvlist_destroy(nv);
		return;
	}
	if (!STAILQ_EMPTY(&cmd->out))
		keep_pieces(cmd);
	if (sb->nended == ENDED_MAX)
		forget_oldest(sb);
	sb->ended[sb->nended++] = nv;
}

const nvlist_t *
keep_find(struct sandbox *sb, int64_t id)
{

	for (size_t i = 0; i < sb->nended; i++)
		if ((int64_t)ctl_uint(sb->ended[i], "exec", 0) == id)
			return (sb->ended[i]);
	return (NULL);
}

nvlist_t *
keep_tail(struct sandbox *sb, int64_t id)
{
	char name[48];

	tail_name(name, id);
	return (keep_read(sb, name));
}

void
keep_free(struct sandbox *sb)
{

	while (sb->nended > 0)
		nvlist_destroy(sb->ended[--sb->nended]);
}

static void
load_command(struct sandbox *sb, const nvlist_t *nv)
{
	struct command *cmd;
	int64_t id = (int64_t)ctl_uint(nv, "exec", 0);

	if (id <= 0 || command_find(sb, id) != NULL)
		return;
	cmd = command_new(sb, id);
	if (cmd == NULL)
		return;
	cmd->req = nvlist_create(0);
	cmd->asked = true;
	cmd->step = (int64_t)ctl_uint(nv, "step", 0);
	cmd->began = (int64_t)ctl_uint(nv, "began", 0);
	cmd->text = strdup(ctl_string(nv, "command", ""));
	cmd->tag = strdup(ctl_string(nv, "tag", ""));
	cmd->pty = ctl_flag(nv, "pty", false);
	cmd->ephemeral = ctl_flag(nv, "ephemeral", false);
	cmd->log = ctl_flag(nv, "log", false);
	if (ctl_flag(nv, "in_step", false) && cmd->step == sb->step) {
		cmd->in_step = true;
		sb->step_refs++;
	}
}

static const nvlist_t *const *
list_of(const nvlist_t *nv, const char *name, size_t *n)
{

	*n = 0;
	return (nvlist_exists_nvlist_array(nv, name) ?
	    nvlist_get_nvlist_array(nv, name, n) : NULL);
}

void
keep_load(struct sandbox *sb)
{
	const nvlist_t *const *v;
	nvlist_t *nv;
	size_t n;

	nv = keep_read(sb, "commands");
	if (nv == NULL)
		return;
	if ((int64_t)ctl_uint(nv, "next", 0) > sb->next_exec)
		sb->next_exec = (int64_t)ctl_uint(nv, "next", 0);
	sb->step = (int64_t)ctl_uint(nv, "step", 0);
	sb->step_state = sb->step != 0 ? STEP_OPEN : STEP_NONE;
	v = list_of(nv, "commands", &n);
	for (size_t i = 0; i < n && i < COMMANDS_MAX; i++)
		load_command(sb, v[i]);
	v = list_of(nv, "ended", &n);
	for (size_t i = 0; i < n && i < ENDED_MAX; i++)
		sb->ended[sb->nended++] = nvlist_clone(v[i]);
	nvlist_destroy(nv);
}
