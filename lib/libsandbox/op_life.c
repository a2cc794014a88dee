/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Operations that start, stop, freeze and change a sandbox.
 */

#include <stdlib.h>
#include <string.h>

#include "engine_internal.h"

static void
start_turn(struct turn *t)
{
	struct sandbox *sb = t->sb;

	switch (sb->state) {
	case BOX_RUNNING:
		turn_done(t, box_show(sb));
		break;
	case BOX_STOPPED:
	case BOX_FAILED:
		if (sb->be != NULL) {
			boot_begin(t, BOOT_START);
			break;
		}
		/* FALLTHROUGH */
	default:
		(void)co_error_set(&t->e, CO_ESANDBOX_STATE, sb->id,
		    "the sandbox is %s, and can't be started",
		    box_state_name(sb->state));
		turn_fail(t, &t->e);
	}
}

/*
 * What the backend, or the network, does to a sandbox that runs.
 */
struct change {
	struct turn	*t;
	struct box_spec	*spec;
	struct sandbox_run r;
	bool		 on;
	char		*policy;
	struct co_error	 e;
	int		(*work)(struct change *);
	void		(*after)(struct turn *);
};

static void
change_work(void *arg)
{
	struct change *g = arg;

	if (g->work(g) == 0)
		g->e.code = CO_OK;
}

static void
shown(struct turn *t)
{

	if (t->e.code != CO_OK)
		turn_fail(t, &t->e);
	else
		turn_done(t, box_show(t->sb));
}

static void
change_after(void *arg)
{
	struct change *g = arg;
	struct turn *t = g->t;
	void (*after)(struct turn *) = g->after;

	t->e = g->e;
	spec_free(g->spec);
	free(g->policy);
	free(g);
	if (t->e.code != CO_OK) {
		turn_fail(t, &t->e);
		return;
	}
	after(t);
	turn_save(t, shown);
}

static void
change_begin(struct turn *t, bool on, const char *policy,
    int (*work)(struct change *), void (*after)(struct turn *))
{
	struct change *g;

	g = calloc(1, sizeof(*g));
	if (g == NULL || (g->spec = spec_new(t->sb, &t->e)) == NULL ||
	    (policy != NULL && (g->policy = strdup(policy)) == NULL)) {
		if (g != NULL)
			spec_free(g->spec);
		free(g);
		(void)co_error_set(&t->e, CO_ESYS_NOMEM, t->sb->id,
		    "out of memory");
		turn_fail(t, &t->e);
		return;
	}
	g->t = t;
	g->r = t->sb->r;
	g->on = on;
	g->work = work;
	g->after = after;
	job_start(t->sb->en, change_work, change_after, g);
}

static int
freeze_work(struct change *g)
{

	return (g->t->sb->be->freeze(&g->spec->s, &g->r, g->on, &g->e));
}

static void
paused(struct turn *t)
{

	box_state(t->sb, BOX_PAUSED, NULL);
	clock_set(t->sb->en);
}

static void
resumed(struct turn *t)
{
	struct sandbox *sb = t->sb;

	box_state(sb, BOX_RUNNING, NULL);
	clock_set(sb->en);
	if (sb->shim == NULL)
		link_revive(sb);
}

void
pause_turn(struct turn *t)
{
	struct sandbox *sb = t->sb;

	if (sb->state == BOX_PAUSED) {
		turn_done(t, box_show(sb));
		return;
	}
	if (sb->state == BOX_RUNNING) {
		change_begin(t, true, NULL, freeze_work, paused);
		return;
	}
	(void)co_error_set(&t->e, CO_ESANDBOX_STATE, sb->id,
	    "the sandbox is %s, and can't be paused",
	    box_state_name(sb->state));
	turn_fail(t, &t->e);
}

static void
resume_turn(struct turn *t)
{
	struct sandbox *sb = t->sb;

	if (sb->state == BOX_RUNNING) {
		turn_done(t, box_show(sb));
		return;
	}
	if (sb->state == BOX_PAUSED) {
		change_begin(t, false, NULL, freeze_work, resumed);
		return;
	}
	(void)co_error_set(&t->e, CO_ESANDBOX_STATE, sb->id,
	    "the sandbox is %s, not paused", box_state_name(sb->state));
	turn_fail(t, &t->e);
}

static bool
alive(const struct sandbox *sb)
{

	return (sb->state == BOX_RUNNING || sb->state == BOX_PAUSED);
}

static void
limits_set(struct turn *t)
{

	op_take_limits(t->sb->rec, t->req);
}

static int
limits_work(struct change *g)
{

	return (g->t->sb->be->limit(&g->spec->s, &g->r, &g->e));
}

/* The record has the new ones only if the backend took them. */
static void
limits_turn(struct turn *t)
{
	struct sandbox *sb = t->sb;
	nvlist_t *old;

	if (!alive(sb)) {
		limits_set(t);
		turn_save(t, shown);
		return;
	}
	old = nvlist_clone(sb->rec);
	limits_set(t);
	change_begin(t, true, NULL, limits_work, limits_set);
	op_take_limits(sb->rec, old);
	nvlist_destroy(old);
}

static int
policy_work(struct change *g)
{
	struct engine *en = g->t->sb->en;
	struct net_policy *p;
	int ret;

	if (net_policy_parse(g->policy, strlen(g->policy), &p, &g->e) != 0)
		return (-1);
	net_lock(en);
	ret = net_policy_set(en->net, g->spec->s.id, p, &g->e);
	net_unlock(en);
	net_policy_free(p);
	return (ret);
}

static void
policy_set(struct turn *t)
{
	struct sandbox *sb = t->sb;
	char *text;

	if (net_policy_of(sb->en, ctl_string(t->req, "policy", ""), &text,
	    &t->e) != 0)
		return;
	rec_string(sb->rec, "policy", text);
	free(text);
	box_tell(sb, box_event(sb, "policy"));
}

static void
policy_turn(struct turn *t)
{
	struct sandbox *sb = t->sb;
	const char *policy = ctl_string(t->req, "policy", "");
	char *text;

	if (*policy == '\0') {
		(void)co_error_set(&t->e, CO_EPROTO_ARGUMENT, "policy",
		    "\"policy\" must be text as in coppice-net(7)");
		turn_fail(t, &t->e);
		return;
	}
	if (net_policy_of(sb->en, policy, &text, &t->e) != 0) {
		turn_fail(t, &t->e);
		return;
	}
	free(text);
	if (alive(sb) && sb->lease.id[0] != '\0') {
		change_begin(t, true, policy, policy_work, policy_set);
		return;
	}
	/* Without a network, it counts from the next start on. */
	policy_set(t);
	turn_save(t, shown);
}

#define	TURN	(OP_BOX | OP_AUDIT | OP_TURN)

const struct op ops_life[] = {
	{ "start", TURN, NULL, start_turn },
	{ "stop", TURN, NULL, down_turn_stop },
	{ "pause", TURN, NULL, pause_turn },
	{ "resume", TURN, NULL, resume_turn },
	{ "destroy", TURN, NULL, down_turn_destroy },
	{ "limits", TURN, NULL, limits_turn },
	{ "policy.set", TURN, NULL, policy_turn },
	{ NULL, 0, NULL, NULL }
};
