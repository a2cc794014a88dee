/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What happens to sandboxes, told to those who follow, and the last of it
 * kept for those who come later.
 */

#include <stdlib.h>
#include <string.h>

#include "engine_internal.h"

struct follower {
	char		 box[CO_IDSIZE];	/* or "" for all */
	bool		 commands;		/* theirs too */
	uint64_t	 lost;
};

nvlist_t *
box_event(struct sandbox *sb, const char *name)
{
	nvlist_t *nv;

	nv = event_new(name);
	nvlist_add_string(nv, "id", sb->id);
	nvlist_add_string(nv, "name", box_name(sb));
	nvlist_add_string(nv, "owner", ctl_string(sb->rec, "owner", ""));
	nvlist_add_number(nv, "time", (uint64_t)engine_wall());
	return (nv);
}

static bool
of_command(const nvlist_t *nv)
{
	const char *event = ctl_string(nv, "event", "");

	return (strcmp(event, "exec") == 0 || strcmp(event, "exit") == 0);
}

static bool
concerns(const struct engine_call *c, const struct follower *f,
    const nvlist_t *nv)
{

	if (!c->admin && strcmp(c->owner, ctl_string(nv, "owner", "")) != 0)
		return (false);
	if (!f->commands && of_command(nv))
		return (false);
	return (f->box[0] == '\0' ||
	    strcmp(f->box, ctl_string(nv, "id", "")) == 0);
}

static void
tell(struct engine_call *c, const nvlist_t *nv)
{
	struct follower *f = c->data;

	if (!concerns(c, f, nv))
		return;
	if (c->held)
		f->lost++;
	else
		call_event(c, nvlist_clone(nv));
}

void
box_tell(struct sandbox *sb, nvlist_t *nv)
{
	struct engine *en = sb->en;
	struct engine_call *c, *next;
	nvlist_t **slot;

	nvlist_add_number(nv, "seq", ++en->seq);
	if (nvlist_error(nv) != 0) {
		nvlist_destroy(nv);
		return;
	}
	slot = &en->kept[en->seq % EVENTS_KEPT];
	nvlist_destroy(*slot);
	*slot = nv;
	for (c = LIST_FIRST(&en->calls); c != NULL; c = next) {
		next = LIST_NEXT(c, link);
		if (c->op != NULL && c->op->run == events_run &&
		    c->data != NULL)
			tell(c, nv);
	}
}

void
events_free(struct engine *en)
{

	for (size_t i = 0; i < EVENTS_KEPT; i++)
		nvlist_destroy(en->kept[i]);
}

static void
events_cancel(struct engine_call *c)
{

	free(c->data);
	c->data = NULL;
}

static void
events_resumed(struct engine_call *c)
{
	struct follower *f = c->data;
	nvlist_t *nv;

	if (f->lost == 0)
		return;
	nv = event_new("lost");
	nvlist_add_number(nv, "count", f->lost);
	f->lost = 0;
	call_event(c, nv);
}

void
events_run(struct engine_call *c)
{
	struct engine *en = c->en;
	struct sandbox *sb = NULL;
	struct follower *f;
	struct co_error e;
	const nvlist_t *nv;

	if (nvlist_exists(c->req, "id") && (sb = call_box(c, &e)) == NULL) {
		call_fail(c, &e);
		return;
	}
	f = calloc(1, sizeof(*f));
	if (f == NULL) {
		call_fault(c, CO_ESYS_NOMEM, "events", "out of memory");
		return;
	}
	if (sb != NULL)
		memcpy(f->box, sb->id, sizeof(f->box));
	f->commands = ctl_flag(c->req, "commands", true);
	for (uint64_t i = 1; i <= EVENTS_KEPT; i++) {
		nv = en->kept[(en->seq + i) % EVENTS_KEPT];
		if (nv != NULL && concerns(c, f, nv))
			call_event(c, nvlist_clone(nv));
	}
	if (!ctl_flag(c->req, "follow", true)) {
		free(f);
		call_done(c, NULL);
		return;
	}
	c->data = f;
	c->cancel = events_cancel;
	c->resumed = events_resumed;
}
