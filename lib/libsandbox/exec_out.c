/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The output of a command that nobody acknowledged yet.  The shim sends no
 * more than its window, so this is bounded; it is kept until a call
 * acknowledges it, so that whoever attaches next finds it.
 */

#include <stdlib.h>
#include <string.h>

#include "engine_internal.h"
#include "engine_link.h"

static struct piece *
piece_new(struct command *cmd, enum shim_stream stream, uint64_t offset)
{
	struct piece *p;

	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return (NULL);
	p->stream = stream;
	p->offset = offset;
	STAILQ_INSERT_TAIL(&cmd->out, p, link);
	return (p);
}

static bool
piece_grow(struct piece *p, size_t len)
{
	size_t cap = p->cap == 0 ? len : p->cap;
	char *data;

	while (cap < p->len + len)
		cap *= 2;
	if (cap == p->cap)
		return (true);
	data = realloc(p->data, cap);
	if (data == NULL)
		return (false);
	p->data = data;
	p->cap = cap;
	return (true);
}

static void
piece_free(struct piece *p)
{

	free(p->data);
	free(p);
}

/* Small ones of one stream become one, whatever the sandbox does. */
void
out_add(struct command *cmd, enum shim_stream stream, uint64_t offset,
    const void *data, size_t len)
{
	struct piece *p = NULL, *q;

	if (len == 0)
		return;
	STAILQ_FOREACH(q, &cmd->out, link)
		p = q;
	if (p == NULL || p->stream != stream || p->len + len > CHUNK)
		p = piece_new(cmd, stream, offset);
	if (p == NULL || !piece_grow(p, len))
		abort();
	memcpy(p->data + p->len, data, len);
	p->len += len;
	cmd->got = offset + len;
}

/* All before ${upto} was dealt with; the command may write on. */
void
out_ack(struct command *cmd, uint64_t upto)
{
	struct piece *p;
	uint64_t before = cmd->freed, end;

	if (upto > cmd->acked)
		cmd->acked = upto;
	while ((p = STAILQ_FIRST(&cmd->out)) != NULL) {
		end = p->offset + p->len;
		if (end > cmd->acked)
			break;
		cmd->freed = end;
		STAILQ_REMOVE_HEAD(&cmd->out, link);
		piece_free(p);
	}
	if (p != NULL && cmd->acked > cmd->freed)
		cmd->freed = cmd->acked;
	if (cmd->freed == before)
		return;
	if (!cmd->ended && link_up(cmd->sb)) {
		shim_consumed(cmd->sb->shim->shim, cmd->id,
		    (size_t)(cmd->freed - before));
		link_kick(cmd->sb);
	}
}

void
out_free(struct command *cmd)
{
	struct piece *p;

	while ((p = STAILQ_FIRST(&cmd->out)) != NULL) {
		STAILQ_REMOVE_HEAD(&cmd->out, link);
		piece_free(p);
	}
}
