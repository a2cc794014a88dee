/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What libundo and the watcher have to tell, as events of the control
 * socket, and the safeguards that wait for an answer.
 */

#include <stdlib.h>
#include <string.h>

#include "coppicefsd.h"

#define	PENDING_MAX	64
#define	SAMPLES_MAX	64	/* paths in an event */

static const char *const type_names[] = {
	[UNDO_EV_STEP] = "step", [UNDO_EV_RECOVERY] = "recovery",
	[UNDO_EV_DAMAGE] = "damage", [UNDO_EV_EVICTED] = "evicted",
	[UNDO_EV_UNPROTECTED] = "unprotected", [UNDO_EV_BARRIER] = "barrier",
	[UNDO_EV_VERSION] = "version", [UNDO_EV_SAFEGUARD] = "safeguard",
	[UNDO_EV_ROLLBACK] = "rollback", [UNDO_EV_REDO] = "redo"
};

static const char *const guard_names[] = {
	[UNDO_GUARD_DELETE] = "delete", [UNDO_GUARD_OVERWRITE] = "overwrite",
	[UNDO_GUARD_RENAME] = "rename"
};

/* Safeguards that nobody has answered yet, as far as we know. */
static struct {
	pthread_mutex_t	 lock;
	char		*id[PENDING_MAX];
	unsigned int	 n;
} pending = { .lock = PTHREAD_MUTEX_INITIALIZER };

void
nv_add_int(nvlist_t *nv, const char *name, int64_t value)
{

	nvlist_add_number(nv, name, (uint64_t)value);
}

nvlist_t *
event_new(const char *name)
{
	nvlist_t *nv;

	if ((nv = nvlist_create(0)) != NULL)
		nvlist_add_string(nv, "event", name);
	return (nv);
}

static void
remember(const char *id)
{
	char *copy;

	if ((copy = strdup(id)) == NULL)
		return;
	(void)pthread_mutex_lock(&pending.lock);
	if (pending.n == PENDING_MAX) {
		free(pending.id[0]);
		memmove(pending.id, pending.id + 1,
		    --pending.n * sizeof(pending.id[0]));
	}
	pending.id[pending.n++] = copy;
	(void)pthread_mutex_unlock(&pending.lock);
}

void
event_forget(const char *id)
{
	unsigned int i;

	(void)pthread_mutex_lock(&pending.lock);
	for (i = 0; i < pending.n; i++)
		if (strcmp(pending.id[i], id) == 0) {
			free(pending.id[i]);
			pending.id[i] = pending.id[--pending.n];
			break;
		}
	(void)pthread_mutex_unlock(&pending.lock);
}

void
event_deny_all(struct server *s)
{
	struct co_error e;
	char *id;

	for (;;) {
		(void)pthread_mutex_lock(&pending.lock);
		id = pending.n > 0 ? pending.id[--pending.n] : NULL;
		(void)pthread_mutex_unlock(&pending.lock);
		if (id == NULL)
			return;
		(void)undo_safeguard_answer(s->undo, id, false, &e);
		free(id);
	}
}

void
event_undo(void *arg, const struct undo_event *ev)
{
	struct server *s = arg;
	nvlist_t *nv;
	size_t n;

	if ((nv = event_new(type_names[ev->type])) == NULL)
		return;
	nv_add_int(nv, "step", ev->step);
	nvlist_add_number(nv, "count", ev->count);
	nvlist_add_string(nv, "message", ev->message != NULL ? ev->message :
	    "");
	n = ev->npaths < SAMPLES_MAX ? ev->npaths : SAMPLES_MAX;
	if (n > 0)
		nvlist_add_string_array(nv, "paths", ev->paths, n);
	if (ev->type == UNDO_EV_SAFEGUARD) {
		nvlist_add_string(nv, "id", ev->safeguard);
		nvlist_add_string(nv, "guard", guard_names[ev->guard]);
		remember(ev->safeguard);
	}
	server_log(s, ev->type == UNDO_EV_STEP ? CO_DEBUG : CO_INFO, "%s: %s",
	    type_names[ev->type], ev->message != NULL ? ev->message : "");
	control_event(s->control, nv);
	server_poke(s);
	/* Held operations wait: whoever holds them must not wait for us. */
	if (ev->type == UNDO_EV_SAFEGUARD && s->stopping)
		event_deny_all(s);
}
