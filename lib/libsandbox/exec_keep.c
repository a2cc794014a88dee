/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What another engine must know of the commands of a sandbox, in the file
 * "commands" of its folder; and the output and the end of those that ended
 * before anybody took note, in files "tail-N".  Commands do not survive the
 * machine, so none of this is forced to the disk.
 *
 * The file is a row of notes, each a packed nvlist after its length in four
 * bytes; the first one tells everything and each other one what changed
 * since.  Replacing a file costs more than a whole command does, so that is
 * done only when many notes have come together.
 */

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"

#define	KEEP_MAX	(1024 * 1024)
#define	NOTES_MAX	(64 * 1024)	/* then they become one */
#define	NOTES_LIMIT	(16 * 1024 * 1024)

static void
complain(struct sandbox *sb, const struct co_error *e)
{
	struct co_ids ids = { .sandbox_id = sb->id };

	co_log(sb->en->c.log, CO_ERROR, "engine", &ids, "%s", e->message);
}

static void
keep_file(struct sandbox *sb, const char *name, const void *buf, size_t len)
{
	struct co_error e;

	if (record_file(sb->dir, name, buf, len, &e) != 0)
		complain(sb, &e);
}

static int
read_file(struct sandbox *sb, const char *name, size_t max, char **data,
    size_t *len)
{
	struct co_error e;
	int fd, ret;

	fd = open(sb->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	ret = co_file_read(fd, name, max, data, len, &e);
	(void)close(fd);
	return (ret);
}

static nvlist_t *
describe(const struct command *cmd)
{
	nvlist_t *nv;

	nv = nvlist_create(0);
	nvlist_add_number(nv, "exec", (uint64_t)cmd->id);
	nvlist_add_number(nv, "step", (uint64_t)cmd->step);
	nvlist_add_number(nv, "began", (uint64_t)cmd->began);
	nvlist_add_string(nv, "command", cmd->text != NULL ? cmd->text : "");
	nvlist_add_string(nv, "tag", cmd->tag != NULL ? cmd->tag : "");
	nvlist_add_bool(nv, "pty", cmd->pty);
	nvlist_add_bool(nv, "ephemeral", cmd->ephemeral);
	nvlist_add_bool(nv, "log", cmd->log);
	nvlist_add_bool(nv, "in_step", cmd->in_step);
	return (nv);
}

/* The note in memory that the caller frees, with its length before it. */
static char *
pack_note(struct sandbox *sb, nvlist_t *nv, size_t *len)
{
	uint32_t size;
	char *buf = NULL;
	void *packed;
	size_t n;

	nvlist_add_number(nv, "next", (uint64_t)sb->next_exec);
	nvlist_add_number(nv, "step", sb->step_state == STEP_NONE ? 0 :
	    (uint64_t)sb->step);
	packed = nvlist_error(nv) == 0 ? nvlist_pack(nv, &n) : NULL;
	if (packed == NULL || n > NOTES_LIMIT / 2)
		goto out;
	buf = malloc(sizeof(size) + n);
	if (buf == NULL)
		goto out;
	size = (uint32_t)n;
	memcpy(buf, &size, sizeof(size));
	memcpy(buf + sizeof(size), packed, n);
	*len = sizeof(size) + n;
out:
	free(packed);
	return (buf);
}

void
keep_save(struct sandbox *sb)
{
	const struct command *cmd;
	nvlist_t *nv, *one;
	char *buf;
	size_t len;

	if (sb->gone)
		return;
	nv = nvlist_create(0);
	LIST_FOREACH(cmd, &sb->commands, link) {
		if (cmd->ended || cmd->over != NULL)
			continue;
		one = describe(cmd);
		nvlist_append_nvlist_array(nv, "commands", one);
		nvlist_destroy(one);
	}
	for (size_t i = 0; i < sb->nended; i++)
		nvlist_append_nvlist_array(nv, "ended", sb->ended[i]);
	buf = pack_note(sb, nv, &len);
	nvlist_destroy(nv);
	if (buf == NULL)
		return;
	keep_file(sb, "commands", buf, len);
	sb->notes = len;
	sb->notes_full = len + NOTES_MAX;
	free(buf);
}

/* Add to the file; false if it should be written anew. */
static bool
append_note(struct sandbox *sb, const char *buf, size_t len)
{
	char path[PATH_MAX];
	int error, fd;

	if (sb->notes == 0 || sb->notes + len > sb->notes_full)
		return (false);
	(void)snprintf(path, sizeof(path), "%s/commands", sb->dir);
	fd = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return (false);
	error = co_write_all(fd, buf, len);
	(void)close(fd);
	sb->notes += len;
	return (error == 0);
}

/* What changed, which the sandbox in memory has already; frees it. */
static void
keep_note(struct sandbox *sb, nvlist_t *nv)
{
	char *buf;
	size_t len;

	if (!sb->gone) {
		buf = pack_note(sb, nv, &len);
		if (buf == NULL || !append_note(sb, buf, len))
			keep_save(sb);
		free(buf);
	}
	nvlist_destroy(nv);
}

void
keep_begin(const struct command *cmd)
{
	nvlist_t *nv, *one;

	if (cmd->over != NULL)
		return;
	nv = nvlist_create(0);
	one = describe(cmd);
	nvlist_append_nvlist_array(nv, "commands", one);
	nvlist_destroy(one);
	keep_note(cmd->sb, nv);
}

void
keep_gone(struct sandbox *sb, int64_t id)
{
	nvlist_t *nv;

	nv = nvlist_create(0);
	nvlist_add_number(nv, "gone", (uint64_t)id);
	keep_note(sb, nv);
}

void
keep_step(struct sandbox *sb)
{

	keep_note(sb, nvlist_create(0));
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

static void
add_end(struct sandbox *sb, nvlist_t *nv)
{

	if (sb->nended == ENDED_MAX)
		forget_oldest(sb);
	sb->ended[sb->nended++] = nv;
}

/* What nobody acknowledged. */
static void
keep_pieces(struct command *cmd)
{
	nvlist_t *nv, *one;
	struct piece *p;
	char name[48];
	size_t len, skip;
	void *buf;

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
	buf = nvlist_error(nv) == 0 ? nvlist_pack(nv, &len) : NULL;
	if (buf != NULL)
		keep_file(cmd->sb, name, buf, len);
	free(buf);
	nvlist_destroy(nv);
}

/* It ended: this must be on record before the shim forgets it. */
void
keep_end(struct command *cmd)
{
	struct sandbox *sb = cmd->sb;
	nvlist_t *all, *nv;

	if (cmd->over != NULL)
		return;
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
	add_end(sb, nv);
	all = nvlist_create(0);
	nvlist_append_nvlist_array(all, "ended", nv);
	keep_note(sb, all);
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
	nvlist_t *nv;
	char *data, name[48];
	size_t len;

	tail_name(name, id);
	if (read_file(sb, name, KEEP_MAX, &data, &len) != 0)
		return (NULL);
	nv = nvlist_unpack(data, len, 0);
	free(data);
	return (nv);
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
	cmd->in_step = ctl_flag(nv, "in_step", false);
}

static void
load_gone(struct sandbox *sb, int64_t id)
{
	struct command *cmd;

	cmd = command_find(sb, id);
	if (cmd != NULL)
		command_free(cmd);
}

static void
load_end(struct sandbox *sb, const nvlist_t *nv)
{
	nvlist_t *copy;

	load_gone(sb, (int64_t)ctl_uint(nv, "exec", 0));
	copy = nvlist_clone(nv);
	if (copy != NULL)
		add_end(sb, copy);
}

static void
load_list(struct sandbox *sb, const nvlist_t *nv, const char *name,
    size_t max, void (*load)(struct sandbox *, const nvlist_t *))
{
	const nvlist_t *const *v;
	size_t n;

	if (!nvlist_exists_nvlist_array(nv, name))
		return;
	v = nvlist_get_nvlist_array(nv, name, &n);
	for (size_t i = 0; i < n && i < max; i++)
		load(sb, v[i]);
}

static void
load_note(struct sandbox *sb, const nvlist_t *nv)
{

	if ((int64_t)ctl_uint(nv, "next", 0) > sb->next_exec)
		sb->next_exec = (int64_t)ctl_uint(nv, "next", 0);
	sb->step = (int64_t)ctl_uint(nv, "step", 0);
	load_list(sb, nv, "commands", COMMANDS_MAX, load_command);
	load_list(sb, nv, "ended", ENDED_MAX, load_end);
	load_gone(sb, (int64_t)ctl_uint(nv, "gone", 0));
}

/* The last note may be torn; what comes next is written anew. */
static void
load_notes(struct sandbox *sb, const char *data, size_t len)
{
	nvlist_t *nv;
	uint32_t size;

	while (len > sizeof(size)) {
		memcpy(&size, data, sizeof(size));
		data += sizeof(size);
		len -= sizeof(size);
		nv = size <= len ? nvlist_unpack(data, size, 0) : NULL;
		if (nv == NULL)
			return;
		load_note(sb, nv);
		nvlist_destroy(nv);
		data += size;
		len -= size;
	}
}

void
keep_load(struct sandbox *sb)
{
	struct command *cmd;
	char *data;
	size_t len;

	if (read_file(sb, "commands", NOTES_LIMIT, &data, &len) != 0)
		return;
	load_notes(sb, data, len);
	free(data);
	sb->step_state = sb->step != 0 ? STEP_OPEN : STEP_NONE;
	LIST_FOREACH(cmd, &sb->commands, link) {
		cmd->in_step = cmd->in_step && cmd->step == sb->step;
		sb->step_refs += cmd->in_step;
	}
}
