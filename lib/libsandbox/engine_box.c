/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The sandbox object: made from a record, found by id or name, shown.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"

#define	PREFIX_MIN	4	/* digits of an id that may stand for it */

static const char *const states[] = {
	[BOX_CREATING] = "creating", [BOX_RUNNING] = "running",
	[BOX_PAUSED] = "paused", [BOX_STOPPING] = "stopping",
	[BOX_STOPPED] = "stopped", [BOX_FAILED] = "failed"
};

const char *
box_advice(const struct sandbox *sb)
{

	switch (sb->state) {
	case BOX_PAUSED:
		return ("\"coppicectl resume\" lets it go on");
	case BOX_STOPPED:
	case BOX_FAILED:
		return ("\"coppicectl start\" starts it");
	default:
		return ("try again in a moment");
	}
}

const char *
box_state_name(enum box_state s)
{

	return (states[s]);
}

static enum box_state
state_of(const nvlist_t *rec)
{
	const char *name = ctl_string(rec, "state", "");

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (strcmp(states[i], name) == 0)
			return ((enum box_state)i);
	return (BOX_FAILED);
}

const char *
box_name(const struct sandbox *sb)
{

	return (ctl_string(sb->rec, "name", ""));
}

/* Take ${rec}, also on failure. */
struct sandbox *
box_new(struct engine *en, nvlist_t *rec)
{
	struct sandbox *sb;

	sb = calloc(1, sizeof(*sb));
	if (sb == NULL) {
		nvlist_destroy(rec);
		return (NULL);
	}
	sb->en = en;
	sb->rec = rec;
	sb->r.netns = -1;
	sb->r.pid = (pid_t)ctl_uint(rec, "pid", 0);
	sb->r.birth = ctl_uint(rec, "birth", 0);
	sb->r.jid = (int)ctl_uint(rec, "jid", 0);
	sb->state = state_of(rec);
	sb->be = backend_find(ctl_string(rec, "backend", ""));
	(void)rec_lease_get(rec, &sb->lease);
	(void)snprintf(sb->id, sizeof(sb->id), "%s",
	    ctl_string(rec, "id", ""));
	STAILQ_INIT(&sb->turns);
	LIST_INIT(&sb->asks);
	LIST_INIT(&sb->commands);
	sb->next_exec = (int64_t)ctl_uint(rec, "reserved", 1);
	if (asprintf(&sb->dir, "%s/sandboxes/%s", en->c.state, sb->id) == -1)
		sb->dir = NULL;
	if (asprintf(&sb->run, "%s/%s", en->c.run, sb->id) == -1)
		sb->run = NULL;
	TAILQ_INSERT_TAIL(&en->boxes, sb, link);
	en->nboxes++;
	if (sb->dir != NULL && sb->run != NULL)
		return (sb);
	box_drop(sb);
	return (NULL);
}

void
box_free(struct sandbox *sb)
{

	if (sb->r.netns != -1)
		(void)close(sb->r.netns);
	alarm_free(sb->retry);
	keep_free(sb);
	nvlist_destroy(sb->rec);
	free(sb->dir);
	free(sb->run);
	free(sb);
}

void
box_drop(struct sandbox *sb)
{
	struct co_error e;

	(void)co_error_set(&e, CO_ESANDBOX_NOTFOUND, sb->id,
	    "the sandbox was destroyed");
	box_disconnect(sb, &e);
	TAILQ_REMOVE(&sb->en->boxes, sb, link);
	sb->en->nboxes--;
	sb->gone = true;
	clock_set(sb->en);
	if (STAILQ_EMPTY(&sb->turns))
		box_free(sb);
}

void
box_disconnect(struct sandbox *sb, const struct co_error *e)
{

	link_close(sb, e);
	commands_lost(sb, e);
	fsds_close(sb);
	sb->step_state = STEP_NONE;
	sb->step_refs = 0;
	if (sb->r.netns != -1)
		(void)close(sb->r.netns);
	sb->r.netns = -1;
}

bool
box_visible(const struct sandbox *sb, const struct engine_call *c)
{

	return (c == NULL || c->admin || strcmp(c->owner,
	    ctl_string(sb->rec, "owner", "")) == 0);
}

static bool
is_prefix(const char *word, const char *id)
{
	size_t n = strlen(word);

	return (n >= PREFIX_MIN && n <= CO_IDLEN &&
	    strncmp(word, id, n) == 0);
}

/* What others own is not there. */
struct sandbox *
box_find(struct engine *en, const char *word, const struct engine_call *c,
    struct co_error *e)
{
	struct sandbox *sb, *found = NULL;
	size_t n = 0;

	TAILQ_FOREACH(sb, &en->boxes, link) {
		if (!box_visible(sb, c))
			continue;
		if (strcmp(word, sb->id) == 0 ||
		    (*word != '\0' && strcmp(word, box_name(sb)) == 0))
			return (sb);
		if (is_prefix(word, sb->id)) {
			found = sb;
			n++;
		}
	}
	if (n == 1)
		return (found);
	if (n > 1)
		(void)co_error_set(e, CO_ESANDBOX_NOTFOUND, word,
		    "%zu sandboxes have ids that begin with \"%s\"; give "
		    "more digits", n, word);
	else
		(void)co_error_set(e, CO_ESANDBOX_NOTFOUND, word,
		    "there is no sandbox \"%s\"; \"coppicectl list\" shows "
		    "those that are", word);
	return (NULL);
}

void
box_state(struct sandbox *sb, enum box_state s, const char *failure)
{
	nvlist_t *nv;

	sb->state = s;
	rec_string(sb->rec, "failure", failure != NULL ? failure : "");
	nv = box_event(sb, "state");
	nvlist_add_string(nv, "state", states[s]);
	nvlist_add_string(nv, "failure", failure != NULL ? failure : "");
	box_tell(sb, nv);
}

static const char *const shown[] = {
	"id", "name", "template", "hash", "backend", "owner", "failure",
	"created", "started", "deadline", "lease", "on_timeout", "memory",
	"cpu", "procs", "disk", "files", "env", "labels", "metadata", "ports"
};

static void
show_shares(const struct sandbox *sb, nvlist_t *nv)
{
	const nvlist_t *const *v;
	nvlist_t *share;
	const char *label;
	size_t n;
	bool alive;

	if (!nvlist_exists_nvlist_array(sb->rec, "shares"))
		return;
	v = nvlist_get_nvlist_array(sb->rec, "shares", &n);
	for (size_t i = 0; i < n; i++) {
		share = nvlist_create(0);
		label = ctl_string(v[i], "label", "");
		rec_copy(share, v[i], "path");
		rec_copy(share, v[i], "readonly");
		nvlist_add_string(share, "label", label);
		if (n == 1)
			nvlist_add_string(share, "target", "/work");
		else
			nvlist_add_stringf(share, "target", "/work/%s",
			    label);
		alive = i < sb->nfsd && fsd_alive(sb->fsd[i]);
		nvlist_add_bool(share, "alive", alive);
		nvlist_append_nvlist_array(nv, "shares", share);
		nvlist_destroy(share);
	}
}

static void
show_net(const struct sandbox *sb, nvlist_t *nv)
{
	const char *policy = ctl_string(sb->rec, "policy", "");
	char buf[NET_ADDRSTR], mode[16];

	if (sscanf(policy, "mode %15s", mode) != 1)
		(void)snprintf(mode, sizeof(mode), "disabled");
	nvlist_add_string(nv, "mode", mode);
	if (sb->lease.id[0] == '\0')
		return;
	nvlist_add_string(nv, "ip", net_addr_print(&sb->lease.addr, buf));
	nvlist_add_string(nv, "gateway",
	    net_addr_print(&sb->lease.gateway, buf));
	if (sb->lease.addr6.family != 0)
		nvlist_add_string(nv, "ip6",
		    net_addr_print(&sb->lease.addr6, buf));
}

bool
box_direct(const struct sandbox *sb)
{

	return (sb->be->connect == NULL);
}

nvlist_t *
box_show(const struct sandbox *sb)
{
	const struct command *cmd;
	nvlist_t *nv;
	uint64_t n = 0;

	nv = nvlist_create(0);
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		rec_copy(nv, sb->rec, shown[i]);
	nvlist_add_string(nv, "state", states[sb->state]);
	nvlist_add_number(nv, "pid", (uint64_t)sb->r.pid);
	nvlist_add_bool(nv, "connected", link_up(sb));
	nvlist_add_bool(nv, "direct", box_direct(sb));
	LIST_FOREACH(cmd, &sb->commands, link)
		n++;
	nvlist_add_number(nv, "commands", n);
	show_net(sb, nv);
	show_shares(sb, nv);
	return (nv);
}

char *
box_templates(const struct engine *en, const struct sandbox *but)
{
	const size_t len = TEMPLATE_HASHSIZE - 1;
	const struct sandbox *sb;
	const char *hash;
	char *used, *to;

	used = to = calloc(en->nboxes + 1, len);
	if (used == NULL)
		return (NULL);
	TAILQ_FOREACH(sb, &en->boxes, link) {
		hash = ctl_string(sb->rec, "hash", "");
		if (sb == but || strlen(hash) != len ||
		    nvlist_exists(sb->rec, "destroying"))
			continue;
		memcpy(to, hash, len);
		to += len;
	}
	return (used);
}

bool
box_template_used(void *arg, const char *hash)
{

	for (const char *p = arg; *p != '\0'; p += TEMPLATE_HASHSIZE - 1)
		if (strncmp(p, hash, TEMPLATE_HASHSIZE - 1) == 0)
			return (true);
	return (false);
}

static const char *
spec_text(struct box_spec *bs, char *text)
{

	if (text == NULL)
		return (NULL);
	bs->text[bs->ntext++] = text;
	return (text);
}

static char *
join(const char *between, const char *a, const char *b)
{
	size_t len = strlen(between) + strlen(a) + strlen(b) + 1;
	char *s;

	s = malloc(len);
	if (s != NULL)
		(void)snprintf(s, len, "%s%s%s", a, between, b);
	return (s);
}

static bool
spec_shares(struct box_spec *bs, const struct sandbox *sb)
{
	struct sandbox_share *to;
	const nvlist_t *const *v;
	size_t n;

	if (!nvlist_exists_nvlist_array(sb->rec, "shares"))
		return (true);
	v = nvlist_get_nvlist_array(sb->rec, "shares", &n);
	for (size_t i = 0; i < n && i < SANDBOX_SHARES; i++) {
		to = &bs->s.share[bs->s.nshares++];
		to->label = spec_text(bs, strdup(ctl_string(v[i], "label",
		    "")));
		to->readonly = ctl_flag(v[i], "readonly", false);
		to->source = spec_text(bs, join("/fs/", sb->run,
		    to->label != NULL ? to->label : ""));
		if (to->label == NULL || to->source == NULL)
			return (false);
	}
	return (true);
}

struct box_spec *
spec_new(const struct sandbox *sb, struct co_error *e)
{
	const struct engine *en = sb->en;
	struct box_spec *bs;
	char *root;

	bs = calloc(1, sizeof(*bs));
	if (bs == NULL)
		goto err;
	bs->s.id = spec_text(bs, strdup(sb->id));
	bs->s.name = spec_text(bs, strdup(box_name(sb)));
	bs->s.dir = spec_text(bs, strdup(sb->dir));
	bs->s.run = spec_text(bs, strdup(sb->run));
	if (asprintf(&root, "%s/templates/%s/root", en->c.state,
	    ctl_string(sb->rec, "hash", "")) == -1)
		root = NULL;
	bs->s.template = spec_text(bs, root);
	bs->s.shim = spec_text(bs, join("/", en->c.libexec,
	    "coppice-shim"));
	bs->s.listenfd = -1;
	bs->s.log = en->c.log;
	rec_limits(sb->rec, &bs->s.limits);
	bs->lease = sb->lease;
	if (bs->lease.id[0] != '\0')
		bs->s.lease = &bs->lease;
	if (spec_shares(bs, sb) && bs->ntext == 6 + 2 * bs->s.nshares)
		return (bs);
err:
	spec_free(bs);
	(void)co_error_set(e, CO_ESYS_NOMEM, sb->id, "out of memory");
	return (NULL);
}

void
spec_free(struct box_spec *bs)
{

	if (bs == NULL)
		return;
	for (size_t i = 0; i < bs->ntext; i++)
		free(bs->text[i]);
	free(bs);
}
