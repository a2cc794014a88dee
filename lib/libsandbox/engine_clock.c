/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Deadlines: when a sandbox's time is over and no lease keeps it, it is
 * destroyed, stopped or paused.  Times are those of the wall clock, as they
 * must outlive us; so we look at it at least once a minute.
 */

#include <string.h>

#include "engine_internal.h"

#define	LOOK_MS	60000

/* When the time of ${sb} is over, or 0. */
static int64_t
deadline_of(const struct sandbox *sb)
{
	int64_t at, lease;

	if (sb->expiring || (sb->state != BOX_RUNNING &&
	    sb->state != BOX_PAUSED))
		return (0);
	at = (int64_t)ctl_uint(sb->rec, "deadline", 0);
	lease = (int64_t)ctl_uint(sb->rec, "lease", 0);
	return (at != 0 && lease > at ? lease : at);
}

/* It may have been given more time while it waited. */
static void
expire_turn(struct turn *t)
{
	struct sandbox *sb = t->sb;
	const char *how = ctl_string(sb->rec, "on_timeout", "destroy");
	int64_t at;

	sb->expiring = false;
	at = deadline_of(sb);
	if (at == 0 || at > engine_wall()) {
		clock_set(sb->en);
		turn_done(t, NULL);
		return;
	}
	rec_number(sb->rec, "lease", 0);
	if (strcmp(how, "stop") == 0) {
		rec_number(sb->rec, "deadline", 0);
		down_turn_stop(t);
	} else if (strcmp(how, "pause") == 0) {
		rec_number(sb->rec, "deadline", 0);
		pause_turn(t);
	} else
		down_turn_destroy(t);
}

static void
clock_rings(void *arg)
{
	struct engine *en = arg;
	struct sandbox *sb, *next;
	int64_t at, now = engine_wall();

	for (sb = TAILQ_FIRST(&en->boxes); sb != NULL; sb = next) {
		next = TAILQ_NEXT(sb, link);
		at = deadline_of(sb);
		if (at == 0 || at > now)
			continue;
		sb->expiring = true;
		(void)turn_add(sb, NULL, "timeout", expire_turn);
	}
	clock_set(en);
}

/* Something changed: look when the next deadline is. */
void
clock_set(struct engine *en)
{
	int64_t at, first = 0, left = LOOK_MS;
	struct sandbox *sb;

	alarm_free(en->clock);
	en->clock = NULL;
	if (en->closing)
		return;
	TAILQ_FOREACH(sb, &en->boxes, link) {
		at = deadline_of(sb);
		if (at != 0 && (first == 0 || at < first))
			first = at;
	}
	if (first == 0)
		return;
	if (first - engine_wall() < left)
		left = first - engine_wall();
	en->clock = alarm_new(en, left, clock_rings, en);
}
