/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Requests to a shim and what comes back: each handler finds the request by
 * its cookie and lets it do its part.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"
#include "engine_link.h"

struct ask *
ask_new(struct sandbox *sb, struct engine_call *call)
{
	struct ask *a;

	a = calloc(1, sizeof(*a));
	if (a == NULL)
		return (NULL);
	a->sb = sb;
	a->call = call;
	LIST_INSERT_HEAD(&sb->asks, a, link);
	return (a);
}

void
ask_free(struct ask *a)
{

	LIST_REMOVE(a, link);
	free(a);
}

int
ask_request(struct ask *a, const struct shim_request *r, struct co_error *e)
{
	struct shim *s;

	s = link_shim(a->sb, e);
	if (s == NULL || shim_request(s, r, a, &a->number, e) != 0)
		return (-1);
	link_kick(a->sb);
	return (0);
}

int
ask_ps(struct ask *a, struct co_error *e)
{
	struct shim *s;

	s = link_shim(a->sb, e);
	if (s == NULL || shim_ps(s, a, &a->number, e) != 0)
		return (-1);
	link_kick(a->sb);
	return (0);
}

void
ask_close(struct ask *a)
{
	struct co_error e;
	struct shim *s;

	s = link_shim(a->sb, &e);
	if (s == NULL || a->closed)
		return;
	a->closed = true;
	(void)shim_close(s, a->number, &e);
	link_kick(a->sb);
}

/* The connection is gone; nothing will be answered any more. */
void
asks_lost(struct sandbox *sb)
{
	struct ask *a;

	while ((a = LIST_FIRST(&sb->asks)) != NULL) {
		LIST_REMOVE(a, link);
		if (a->end != NULL)
			a->end(a, NULL);
		free(a);
	}
}

void
ask_error(struct co_error *e, const struct sandbox *sb, const char *what,
    const struct shim_result *r)
{

	if (r == NULL)
		(void)co_error_set(e, CO_ESANDBOX_LOST, sb->id,
		    "the connection to the sandbox was lost");
	else
		(void)co_error_errno(e, r->error, what, "%s%s%s", what,
		    r->message[0] != '\0' ? ": " : "", r->message);
}

static void
on_process(void *arg, void *cookie, const struct shim_process *p)
{
	struct ask *a = cookie;
	struct link *l = arg;

	if (l->sb == NULL)
		return;
	if (a == NULL)
		exec_process(l->sb, p);
	else if (a->process != NULL)
		a->process(a, p);
}

static void
on_entry(void *arg, uint32_t number, void *cookie,
    const struct shim_entry *en)
{
	struct ask *a = cookie;
	struct link *l = arg;

	if (l->sb == NULL)
		return;
	if (a->entry != NULL)
		a->entry(a, en);
	else
		shim_entry_consumed(l->shim, number);
}

static void
on_event(void *arg, uint32_t number, void *cookie, enum shim_event ev,
    const char *path)
{
	struct ask *a = cookie;
	struct link *l = arg;

	if (l->sb == NULL)
		return;
	if (a->event != NULL)
		a->event(a, ev, path);
	else
		shim_entry_consumed(l->shim, number);
}

static void
on_data(void *arg, uint32_t number, void *cookie, uint64_t offset,
    const void *data, size_t len, bool eof)
{
	struct ask *a = cookie;
	struct link *l = arg;

	if (l->sb == NULL)
		return;
	if (a->data != NULL)
		a->data(a, offset, data, len, eof);
	else
		shim_request_consumed(l->shim, number, len);
}

static void
on_connected(void *arg, uint32_t number, void *cookie, int fd)
{
	struct ask *a = cookie;
	struct link *l = arg;

	(void)number;
	if (l->sb != NULL && a->connected != NULL)
		a->connected(a, fd);
	else if (fd != -1)
		(void)close(fd);
}

static void
on_sendable(void *arg, uint32_t number, void *cookie)
{
	struct ask *a = cookie;
	struct link *l = arg;

	(void)number;
	if (l->sb != NULL && a->sendable != NULL)
		a->sendable(a);
}

static void
on_reply(void *arg, uint32_t number, void *cookie,
    const struct shim_result *r)
{
	struct ask *a = cookie;
	struct link *l = arg;

	(void)number;
	if (l->sb == NULL)
		return;
	/* It may end the sandbox, which must not end this request again. */
	LIST_REMOVE(a, link);
	if (a->end != NULL)
		a->end(a, r);
	free(a);
}

static void
on_stats(void *arg, void *cookie, const struct shim_stats *s)
{
	struct ask *a = cookie;
	struct link *l = arg;

	if (l->sb == NULL)
		return;
	l->sb->stats = *s;
	if (a != NULL && a->stats != NULL)
		a->stats(a, s);
}

static void
on_started(void *arg, int64_t id, int pid)
{
	struct link *l = arg;

	if (l->sb != NULL)
		exec_started(l->sb, id, pid);
}

static void
on_output(void *arg, int64_t id, enum shim_stream stream, uint64_t offset,
    const void *data, size_t len)
{
	struct link *l = arg;

	if (l->sb != NULL)
		exec_output(l->sb, id, stream, offset, data, len);
}

static void
on_room(void *arg, int64_t id)
{
	struct link *l = arg;

	if (l->sb != NULL)
		exec_room(l->sb, id);
}

static void
on_completed(void *arg, int64_t id, const struct shim_exit *x)
{
	struct link *l = arg;

	if (l->sb != NULL)
		exec_completed(l->sb, id, x);
}

const struct shim_handlers link_handlers = {
	.ready = link_hello,
	.started = on_started,
	.output = on_output,
	.room = on_room,
	.completed = on_completed,
	.process = on_process,
	.entry = on_entry,
	.event = on_event,
	.data = on_data,
	.connected = on_connected,
	.sendable = on_sendable,
	.reply = on_reply,
	.stats = on_stats
};
