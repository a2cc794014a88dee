/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Operations that look at sandboxes, or change what only their records have.
 */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"

static void
version_run(struct engine_call *c)
{
	nvlist_t *nv;

	nv = nvlist_create(0);
	nvlist_add_string(nv, "version", "0.1");
	nvlist_add_number(nv, "protocol", 1);
	nvlist_add_number(nv, "pid", (uint64_t)getpid());
	nvlist_add_number(nv, "sandboxes", c->en->nboxes);
	call_done(c, nv);
}

static bool
has_word(const nvlist_t *rec, const char *word)
{
	const char *const *v;
	size_t n;

	if (!nvlist_exists_string_array(rec, "labels"))
		return (false);
	v = nvlist_get_string_array(rec, "labels", &n);
	for (size_t i = 0; i < n; i++)
		if (strcmp(v[i], word) == 0)
			return (true);
	return (false);
}

static bool
matches(const struct sandbox *sb, const nvlist_t *q)
{
	const char *const *v;
	const char *state = ctl_string(q, "state", "");
	size_t n;

	if (*state != '\0' && strcmp(state, box_state_name(sb->state)) != 0)
		return (false);
	if (!nvlist_exists_string_array(q, "label"))
		return (true);
	v = nvlist_get_string_array(q, "label", &n);
	for (size_t i = 0; i < n; i++)
		if (!has_word(sb->rec, v[i]))
			return (false);
	return (true);
}

static void
list_run(struct engine_call *c)
{
	struct sandbox *sb;
	nvlist_t *nv;

	TAILQ_FOREACH(sb, &c->en->boxes, link) {
		if (!box_visible(sb, c) || !matches(sb, c->req))
			continue;
		nv = box_show(sb);
		nvlist_add_string(nv, "event", "sandbox");
		call_event(c, nv);
	}
	call_done(c, NULL);
}

static void
show_run(struct engine_call *c)
{
	struct sandbox *sb;
	struct co_error e;

	sb = call_box(c, &e);
	call_done(c, box_show(sb));
}

/*
 * Changes of the record.
 */
static void
saved(struct turn *t)
{
	nvlist_t *nv = t->data;

	t->data = NULL;
	if (t->e.code == CO_OK) {
		turn_done(t, nv);
		return;
	}
	nvlist_destroy(nv);
	turn_fail(t, &t->e);
}

static void
save_and_answer(struct turn *t, const char *name)
{
	nvlist_t *nv;

	nv = nvlist_create(0);
	rec_copy(nv, t->sb->rec, name);
	t->data = nv;
	turn_save(t, saved);
}

static void
rename_turn(struct turn *t)
{
	struct sandbox *sb = t->sb;
	const char *name = ctl_string(t->req, "name", "");

	if (!op_name_valid(name))
		(void)co_error_set(&t->e, CO_EPROTO_ARGUMENT, "name",
		    "\"name\" must be 1 to 63 of a-z, 0-9 and, within, -");
	else if (op_name_taken(sb->en, name, sb))
		(void)co_error_set(&t->e, CO_ESESSION_EXISTS, name,
		    "there is already a sandbox named \"%s\"", name);
	else {
		rec_string(sb->rec, "name", name);
		box_tell(sb, box_event(sb, "renamed"));
		save_and_answer(t, "name");
		return;
	}
	turn_fail(t, &t->e);
}

static void
timeout_turn(struct turn *t)
{
	uint64_t ms = ctl_uint(t->req, "timeout_ms", UINT64_MAX);

	if (ms > INT64_MAX / 2) {
		(void)co_error_set(&t->e, CO_EPROTO_ARGUMENT, "timeout_ms",
		    "\"timeout_ms\" must be a number of milliseconds");
		turn_fail(t, &t->e);
		return;
	}
	rec_number(t->sb->rec, "deadline", ms == 0 ? 0 :
	    (uint64_t)engine_wall() + ms);
	clock_set(t->sb->en);
	save_and_answer(t, "deadline");
}

static void
lease_turn(struct turn *t)
{
	uint64_t ms = ctl_uint(t->req, "timeout_ms", UINT64_MAX), until;

	if (ms > INT64_MAX / 2) {
		(void)co_error_set(&t->e, CO_EPROTO_ARGUMENT, "timeout_ms",
		    "\"timeout_ms\" must be a number of milliseconds");
		turn_fail(t, &t->e);
		return;
	}
	until = ms == 0 ? 0 : (uint64_t)engine_wall() + ms;
	if (until == 0 || until > ctl_uint(t->sb->rec, "lease", 0))
		rec_number(t->sb->rec, "lease", until);
	clock_set(t->sb->en);
	save_and_answer(t, "lease");
}

static void
ports_turn(struct turn *t)
{
	struct sandbox *sb = t->sb;

	if (op_take_ports(sb->rec, t->req, &t->e) != 0) {
		turn_fail(t, &t->e);
		return;
	}
	if (sb->state == BOX_RUNNING && nvlist_exists(t->req, "ports"))
		box_ports(sb);
	save_and_answer(t, "ports");
}

static void
policy_get_run(struct engine_call *c)
{
	struct sandbox *sb;
	struct co_error e;
	nvlist_t *nv;

	sb = call_box(c, &e);
	nv = nvlist_create(0);
	rec_copy(nv, sb->rec, "policy");
	call_done(c, nv);
}

#define	TURN	(OP_BOX | OP_AUDIT | OP_TURN)

const struct op ops_box[] = {
	{ "version", 0, version_run, NULL },
	{ "create", OP_AUDIT, create_run, NULL },
	{ "list", 0, list_run, NULL },
	{ "show", OP_BOX, show_run, NULL },
	{ "rename", TURN, NULL, rename_turn },
	{ "timeout", TURN, NULL, timeout_turn },
	{ "lease", TURN, NULL, lease_turn },
	{ "ports", TURN, NULL, ports_turn },
	{ "policy.get", OP_BOX, policy_get_run, NULL },
	{ "stats", OP_BOX, stats_run, NULL },
	{ "events", 0, events_run, NULL },
	{ "logs", OP_BOX, logs_run, NULL },
	{ NULL, 0, NULL, NULL }
};
