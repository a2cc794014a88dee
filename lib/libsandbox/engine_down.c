/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * From a sandbox in any state to one that does not run, or to nothing.
 * Everything here can be done twice, and is after a restart.
 */

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"

#define	EXTRA_MS	500	/* for the shim, beyond the grace */
#define	GRACE_MAX	600000

struct down {
	struct turn	*t;
	struct sandbox	*sb;
	struct engine	*en;
	bool		 remove;
	void		(*then)(struct turn *);
	struct alarm	*alarm;

	/* The job's. */
	struct box_spec	*spec;
	struct sandbox_run r;
	int64_t		 step;
	char		*hash;		/* of its template, */
	char		*used;		/* and those of others */
	struct co_error	 e;
};

/* The first error counts; the rest is done nevertheless. */
static void
note(struct down *d, int ret, const struct co_error *e)
{

	if (ret != 0 && d->e.code == CO_OK)
		d->e = *e;
}

static void
remove_run(const struct down *d)
{
	int fd;

	fd = open(d->en->c.run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		return;
	(void)engine_rmtree(fd, d->spec->s.id);
	(void)close(fd);
}

/* One rename takes it out of the list; the rest may take its time. */
static int
remove_state(struct down *d, struct co_error *e)
{
	char from[64], to[64];

	(void)snprintf(from, sizeof(from), "sandboxes/%s", d->spec->s.id);
	(void)snprintf(to, sizeof(to), "trash/%s", d->spec->s.id);
	if (renameat(d->en->statefd, from, d->en->statefd, to) != 0 &&
	    errno != ENOENT)
		return (co_error_errno(e, errno, from,
		    "can't move it to the trash"));
	(void)engine_rmtree(d->en->statefd, to);
	return (0);
}

static void
down_work(void *arg)
{
	struct down *d = arg;
	const struct sandbox_spec *s = &d->spec->s;
	const struct backend *be = d->sb->be;
	struct co_error e;

	if (be != NULL)
		note(d, be->stop(s, &d->r, &e), &e);
	if (d->en->net != NULL) {
		net_lock(d->en);
		note(d, net_detach(d->en->net, s->id, &e), &e);
		net_unlock(d->en);
	}
	if (d->e.code != CO_OK)
		return;
	for (size_t i = 0; i < s->nshares; i++)
		fsd_stop(d->en, s->run, s->share[i].label, d->step);
	remove_run(d);
	if (!d->remove)
		return;
	if (be != NULL)
		note(d, be->remove(s, &e), &e);
	if (d->e.code == CO_OK)
		note(d, remove_state(d, &e), &e);
	if (d->e.code == CO_OK && d->hash != NULL && d->used != NULL)
		template_release(d->en->c.state, d->hash, box_template_used,
		    d->used);
}

static void
down_after(void *arg)
{
	struct down *d = arg;
	struct turn *t = d->t;
	struct sandbox *sb = d->sb;
	void (*then)(struct turn *) = d->then;

	t->e = d->e;
	sb->r = (struct sandbox_run){ .netns = -1 };
	memset(&sb->lease, 0, sizeof(sb->lease));
	if (d->e.code != CO_OK) {
		box_state(sb, BOX_FAILED, d->e.message);
		(void)record_save(sb, NULL);
	} else if (d->remove) {
		box_tell(sb, box_event(sb, "destroyed"));
		box_drop(sb);
	}
	spec_free(d->spec);
	free(d->hash);
	free(d->used);
	free(d);
	then(t);
}

/* The shim is gone, or was asked long enough. */
static void
down_hard(struct down *d)
{
	struct sandbox *sb = d->sb;
	struct co_error e;

	alarm_free(d->alarm);
	d->alarm = NULL;
	sb->parted = NULL;
	if (sb->step_state != STEP_NONE)
		d->step = sb->step;
	(void)co_error_set(&e, CO_ESANDBOX_LOST, sb->id,
	    "the sandbox was stopped");
	box_disconnect(sb, &e);
	if (!d->remove)
		keep_save(sb);
	else {
		d->hash = strdup(ctl_string(sb->rec, "hash", ""));
		d->used = box_templates(d->en, sb);
	}
	job_start(d->en, down_work, down_after, d);
}

static void
down_rings(void *arg)
{

	down_hard(arg);
}

static void
down_parted(struct sandbox *sb)
{

	down_hard(sb->downing);
}

static bool
down_softly(struct down *d, int64_t grace)
{
	struct sandbox *sb = d->sb;
	struct co_error e;
	struct shim *s;

	if (grace <= 0)
		return (false);
	if (grace > GRACE_MAX)
		grace = GRACE_MAX;
	s = link_shim(sb, &e);
	if (s == NULL || shim_shutdown(s, grace, SHIM_EXIT, &e) != 0)
		return (false);
	d->alarm = alarm_new(d->en, grace + EXTRA_MS, down_rings, d);
	sb->downing = d;
	sb->parted = down_parted;
	link_kick(sb);
	return (d->alarm != NULL);
}

void
down_begin(struct turn *t, int64_t grace, bool remove,
    void (*then)(struct turn *))
{
	struct sandbox *sb = t->sb;
	bool runs = sb->state == BOX_RUNNING;
	struct down *d;

	d = calloc(1, sizeof(*d));
	if (d == NULL || (d->spec = spec_new(sb, &t->e)) == NULL) {
		free(d);
		(void)co_error_set(&t->e, CO_ESYS_NOMEM, sb->id,
		    "out of memory");
		then(t);
		return;
	}
	d->t = t;
	d->sb = sb;
	d->en = sb->en;
	d->remove = remove;
	d->then = then;
	d->r = sb->r;
	if (remove && !nvlist_exists(sb->rec, "destroying"))
		nvlist_add_bool(sb->rec, "destroying", true);
	box_state(sb, BOX_STOPPING, NULL);
	(void)record_save(sb, NULL);
	if (!runs || !down_softly(d, grace))
		down_hard(d);
}

/*
 * The turns that end here.
 */
static int64_t
grace_of(const struct turn *t)
{
	uint64_t ms = ctl_uint(t->req, "grace_ms", GRACE_MS);

	return (ms > GRACE_MAX ? GRACE_MAX : (int64_t)ms);
}

static void
destroyed(struct turn *t)
{
	nvlist_t *nv;

	if (t->e.code != CO_OK) {
		turn_fail(t, &t->e);
		return;
	}
	nv = nvlist_create(0);
	nvlist_add_string(nv, "id", t->sb->id);
	turn_done(t, nv);
}

void
down_turn_destroy(struct turn *t)
{

	down_begin(t, grace_of(t), true, destroyed);
}

static void
stop_saved(struct turn *t)
{

	if (t->e.code != CO_OK)
		turn_fail(t, &t->e);
	else
		turn_done(t, box_show(t->sb));
}

static void
stopped(struct turn *t)
{

	if (t->e.code != CO_OK) {
		turn_fail(t, &t->e);
		return;
	}
	box_state(t->sb, BOX_STOPPED, NULL);
	clock_set(t->sb->en);
	turn_save(t, stop_saved);
}

void
down_turn_stop(struct turn *t)
{

	if (t->sb->state == BOX_STOPPED)
		turn_done(t, box_show(t->sb));
	else
		down_begin(t, grace_of(t), false, stopped);
}

static void
lost(struct turn *t)
{
	char *why = t->data;

	t->data = NULL;
	if (t->e.code == CO_OK)
		box_state(t->sb, BOX_FAILED, why != NULL ? why : "");
	free(why);
	clock_set(t->sb->en);
	turn_save(t, stop_saved);
}

void
down_turn_lost(struct turn *t)
{

	t->data = strdup(t->e.message);
	down_begin(t, 0, false, lost);
}

/*
 * What a killed engine left in the trash.
 */
static void
sweep_work(void *arg)
{
	struct engine *en = arg;
	struct dirent *de;
	DIR *d = NULL;
	int fd;

	template_sweep(en->c.state);
	fd = openat(en->statefd, "trash", O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC);
	if (fd != -1 && (d = fdopendir(fd)) == NULL)
		(void)close(fd);
	while (d != NULL && (de = readdir(d)) != NULL)
		if (co_id_valid(de->d_name))
			(void)engine_rmtree(dirfd(d), de->d_name);
	if (d != NULL)
		(void)closedir(d);
}

static void
sweep_after(void *arg)
{

	(void)arg;
}

void
trash_sweep(struct engine *en)
{

	job_start(en, sweep_work, sweep_after, en);
}
