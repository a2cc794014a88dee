/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Creating a sandbox: the request is read into a record, in a thread, as
 * templates and folders are looked at; from there on it is a start.
 */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"

#define	PORTS_MAX	64
#define	WORDS_MAX	1024
#define	WORD_MAX	(128 * 1024)
#define	LABEL_MAX	32

/* What the thread works on. */
struct making {
	nvlist_t	*rec;
	bool		 admin;
	uid_t		 uid;
	const struct backend *be, *dflt;
	uint64_t	 limits[5];	/* of the configuration */
};

static int
bad(struct co_error *e, const char *what, const char *expected)
{

	return (co_error_set(e, CO_EPROTO_ARGUMENT, what,
	    "\"%s\" must be %s", what, expected));
}

bool
op_name_valid(const char *s)
{
	size_t n = strlen(s);

	return (n > 0 && n <= NAME_MAXLEN && *s != '-' && s[n - 1] != '-' &&
	    strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == n);
}

static bool
label_valid(const char *s)
{
	size_t n = strlen(s);

	return (n > 0 && n <= LABEL_MAX && *s != '.' &&
	    strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "0123456789._-") == n);
}

/* Lists of "K=V". */
static int
take_words(nvlist_t *rec, const nvlist_t *q, const char *name,
    struct co_error *e)
{
	const char *const *v;
	const char *eq;
	size_t n;

	if (!nvlist_exists(q, name))
		return (0);
	if (!nvlist_exists_string_array(q, name))
		return (bad(e, name, "a list of strings"));
	v = nvlist_get_string_array(q, name, &n);
	if (n > WORDS_MAX)
		return (bad(e, name, "a shorter list"));
	for (size_t i = 0; i < n; i++) {
		eq = strchr(v[i], '=');
		if (eq == NULL || eq == v[i] || strlen(v[i]) > WORD_MAX)
			return (bad(e, name, "a list of K=V"));
	}
	rec_copy(rec, q, name);
	return (0);
}

int
op_take_ports(nvlist_t *rec, const nvlist_t *q, struct co_error *e)
{
	const uint64_t *v;
	size_t n;

	if (!nvlist_exists(q, "ports"))
		return (0);
	if (!nvlist_exists_number_array(q, "ports"))
		return (bad(e, "ports", "a list of numbers"));
	v = nvlist_get_number_array(q, "ports", &n);
	if (n > PORTS_MAX)
		return (bad(e, "ports", "at most 64"));
	for (size_t i = 0; i < n; i++)
		if (v[i] == 0 || v[i] > 65535)
			return (bad(e, "ports", "from 1 to 65535"));
	rec_copy(rec, q, "ports");
	return (0);
}

static const char *const limit_names[] = {
	"memory", "cpu", "procs", "disk", "files"
};

static const char *const limit_keys[] = {
	"limits.memory", "limits.cpu", "limits.processes", "limits.disk",
	"limits.files"
};

void
op_take_limits(nvlist_t *rec, const nvlist_t *q)
{

	for (size_t i = 0; i < 5; i++)
		if (nvlist_exists_number(q, limit_names[i]))
			rec_copy(rec, q, limit_names[i]);
}

static int
take_timeout(nvlist_t *rec, const nvlist_t *q, struct co_error *e)
{
	const char *how = ctl_string(q, "on_timeout", "destroy");
	uint64_t ms = ctl_uint(q, "timeout_ms", 0);

	if (strcmp(how, "destroy") != 0 && strcmp(how, "stop") != 0 &&
	    strcmp(how, "pause") != 0)
		return (bad(e, "on_timeout", "destroy, stop or pause"));
	if (ms > INT64_MAX / 2)
		return (bad(e, "timeout_ms", "smaller"));
	rec_string(rec, "on_timeout", how);
	rec_number(rec, "deadline", ms == 0 ? 0 :
	    (uint64_t)engine_wall() + ms);
	rec_number(rec, "lease", 0);
	return (0);
}

bool
op_name_taken(const struct engine *en, const char *name,
    const struct sandbox *but)
{
	const struct sandbox *sb;

	TAILQ_FOREACH(sb, &en->boxes, link)
		if (sb != but && strcmp(box_name(sb), name) == 0)
			return (true);
	return (false);
}

static int
take_name(struct engine_call *c, nvlist_t *rec, struct co_error *e)
{
	const char *name = ctl_string(c->req, "name", "");
	char brief[CO_SHORTID + 1];

	(void)snprintf(brief, sizeof(brief), "%s", ctl_string(rec, "id",
	    ""));
	if (*name == '\0')
		name = brief;
	if (!op_name_valid(name))
		return (bad(e, "name", "1 to 63 of a-z, 0-9 and, within, -"));
	if (op_name_taken(c->en, name, NULL))
		return (co_error_set(e, CO_ESESSION_EXISTS, name,
		    "there is already a sandbox named \"%s\"", name));
	rec_string(rec, "name", name);
	return (0);
}

static int
take_policy(struct engine_call *c, nvlist_t *rec, struct co_error *e)
{
	const char *text = ctl_string(c->req, "policy", NULL);
	char *policy;

	if (text == NULL && nvlist_exists_string(rec, "policy"))
		return (0);
	if (net_policy_of(c->en, text, &policy, e) != 0)
		return (-1);
	rec_string(rec, "policy", policy);
	free(policy);
	return (0);
}

/* What can be told without looking at anything. */
static int
take_request(struct engine_call *c, nvlist_t *rec, const char *template,
    struct co_error *e)
{
	const nvlist_t *q = c->req;

	if (c->en->nboxes >= BOX_MAX)
		return (co_error_set(e, CO_ESANDBOX_LIMIT, NULL,
		    "there are %d sandboxes already", BOX_MAX));
	if (take_name(c, rec, e) != 0 || take_policy(c, rec, e) != 0 ||
	    take_words(rec, q, "env", e) != 0 ||
	    take_words(rec, q, "labels", e) != 0 ||
	    take_words(rec, q, "metadata", e) != 0 ||
	    op_take_ports(rec, q, e) != 0 || take_timeout(rec, q, e) != 0)
		return (-1);
	op_take_limits(rec, q);
	rec_string(rec, "template", template);
	rec_string(rec, "owner", c->owner);
	rec_string(rec, "state", "creating");
	rec_number(rec, "created", (uint64_t)engine_wall());
	rec_number(rec, "started", 0);
	if (nvlist_exists_string(q, "backend"))
		rec_copy(rec, q, "backend");
	if (nvlist_exists_string(q, "user"))
		rec_copy(rec, q, "user");
	if (nvlist_exists_string(q, "cwd"))
		rec_copy(rec, q, "cwd");
	return (0);
}

/*
 * In the thread.
 */
static int
share_label(nvlist_t *to, const nvlist_t *q, const char *path,
    struct co_error *e)
{
	const char *label, *slash = strrchr(path, '/');
	char made[LABEL_MAX + 1];
	size_t n;

	label = ctl_string(q, "label", NULL);
	if (label == NULL) {
		(void)snprintf(made, sizeof(made), "%s", slash[1] != '\0' ?
		    slash + 1 : "root");
		for (n = 0; made[n] != '\0'; n++)
			if (!label_valid((char[]){ made[n], '\0' }) &&
			    (n == 0 || made[n] != '.'))
				made[n] = '_';
		label = made;
	}
	if (!label_valid(label))
		return (bad(e, "label", "1 to 32 letters, digits, . _ -"));
	nvlist_add_string(to, "label", label);
	return (0);
}

static int
share_owner(nvlist_t *to, const struct making *m, const char *path,
    struct co_error *e)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return (co_error_errno(e, errno, path, "can't share it"));
	if (!S_ISDIR(st.st_mode))
		return (co_error_set(e, CO_ESHARE_ROOT, path,
		    "\"%s\" is not a folder", path));
	if (!m->admin && st.st_uid != m->uid)
		return (co_error_set(e, CO_EPROTO_DENIED, path,
		    "\"%s\" is not yours", path));
	nvlist_add_string(to, "path", path);
	nvlist_add_number(to, "uid", st.st_uid);
	return (0);
}

static bool
label_taken(const nvlist_t *rec, const char *label)
{
	const nvlist_t *const *v;
	size_t n;

	if (!nvlist_exists_nvlist_array(rec, "shares"))
		return (false);
	v = nvlist_get_nvlist_array(rec, "shares", &n);
	for (size_t i = 0; i < n; i++)
		if (strcmp(ctl_string(v[i], "label", ""), label) == 0)
			return (true);
	return (false);
}

static int
take_share(const struct making *m, const nvlist_t *q, struct co_error *e)
{
	const char *asked = ctl_string(q, "path", "");
	nvlist_t *to;
	char *path;
	int ret;

	if (*asked != '/')
		return (bad(e, "path", "the absolute path of a folder"));
	path = realpath(asked, NULL);
	if (path == NULL)
		return (co_error_errno(e, errno, asked, "can't share \"%s\"",
		    asked));
	to = nvlist_create(0);
	ret = share_label(to, q, path, e);
	if (ret == 0)
		ret = share_owner(to, m, path, e);
	if (ret == 0 && label_taken(m->rec, nvlist_get_string(to, "label")))
		ret = bad(e, "label", "different for each share");
	if (ret == 0) {
		nvlist_add_bool(to, "readonly", ctl_flag(q, "readonly",
		    false));
		nvlist_append_nvlist_array(m->rec, "shares", to);
	}
	nvlist_destroy(to);
	free(path);
	return (ret);
}

static int
take_shares(const struct making *m, const nvlist_t *q, struct co_error *e)
{
	const nvlist_t *const *v;
	size_t n;

	if (!nvlist_exists(q, "shares"))
		return (0);
	if (!nvlist_exists_nvlist_array(q, "shares"))
		return (bad(e, "shares", "a list of lists"));
	v = nvlist_get_nvlist_array(q, "shares", &n);
	if (n > SANDBOX_SHARES)
		return (bad(e, "shares", "at most 8"));
	for (size_t i = 0; i < n; i++)
		if (take_share(m, v[i], e) != 0)
			return (-1);
	return (0);
}

static void
no_finding(void *arg, const char *what, bool ok, const char *advice)
{

	(void)arg;
	(void)what;
	(void)ok;
	(void)advice;
}

static int
choose_backend(struct making *m, const struct template *t,
    struct co_error *e)
{
	const char *name = ctl_string(m->rec, "backend", t->backend);

	if (*name != '\0') {
		m->be = backend_find(name);
		if (m->be == NULL)
			return (co_error_set(e, CO_ESYS_UNSUPPORTED, name,
			    "this host has no backend \"%s\"; \"coppicectl "
			    "doctor\" lists them", name));
		return (0);
	}
	(void)co_error_set(e, CO_ESYS_UNSUPPORTED, "backend",
	    "this host has no backend");
	for (size_t i = 0; m->dflt == NULL && backends[i] != NULL; i++)
		if (backends[i]->probe(no_finding, NULL, e) == 0)
			m->dflt = backends[i];
	m->be = m->dflt;
	return (m->be != NULL ? 0 : -1);
}

/* For what the request does not say. */
static void
other_limits(const struct making *m, const struct template *t)
{
	const uint64_t from[] = { t->limits.memory, t->limits.cpu,
	    t->limits.procs, t->limits.disk, t->limits.files };

	for (size_t i = 0; i < 5; i++)
		if (!nvlist_exists_number(m->rec, limit_names[i]))
			nvlist_add_number(m->rec, limit_names[i],
			    from[i] != 0 ? from[i] : m->limits[i]);
}

static int
make_work(struct task *t, struct co_error *e)
{
	struct making *m = t->data;
	struct template *tpl;
	int ret;

	if (take_shares(m, t->req, e) != 0 || template_open(t->en->c.state,
	    ctl_string(m->rec, "template", ""), &tpl, e) != 0)
		return (-1);
	ret = choose_backend(m, tpl, e);
	if (ret == 0) {
		rec_string(m->rec, "backend", m->be->name);
		rec_string(m->rec, "hash", tpl->hash);
		other_limits(m, tpl);
	}
	template_free(tpl);
	return (ret);
}

/*
 * A clone's template has a name until the clone has begun; if it does not,
 * nobody wants it.
 */
struct forget {
	char		*state, *name, *used;
};

static void
forget_work(void *arg)
{
	struct forget *f = arg;
	struct co_error e;

	(void)template_remove(f->state, f->name, box_template_used, f->used,
	    &e);
}

static void
forget_after(void *arg)
{
	struct forget *f = arg;

	free(f->state);
	free(f->name);
	free(f->used);
	free(f);
}

static void
clone_forget(struct engine *en, const nvlist_t *rec)
{
	const char *name = ctl_string(rec, "clone", "");
	struct forget *f;

	if (*name == '\0' || (f = calloc(1, sizeof(*f))) == NULL)
		return;
	f->state = strdup(en->c.state);
	f->name = strdup(name);
	f->used = box_templates(en, NULL);
	if (f->state != NULL && f->name != NULL && f->used != NULL)
		job_start(en, forget_work, forget_after, f);
	else
		forget_after(f);
}

static void
create_turn(struct turn *t)
{

	boot_begin(t, ctl_flag(t->req, "start", true) ? BOOT_CREATE :
	    BOOT_CREATE_STOPPED);
}

/* On the loop again; meanwhile another one may have taken the name. */
static void
made(struct engine_call *c, struct making *m)
{
	struct sandbox *sb;
	struct co_error e;

	if (op_name_taken(c->en, ctl_string(m->rec, "name", ""), NULL)) {
		call_fault(c, CO_ESESSION_EXISTS, ctl_string(m->rec, "name",
		    ""), "there is already a sandbox of that name");
		return;
	}
	sb = box_new(c->en, m->rec);
	m->rec = NULL;
	if (sb == NULL) {
		call_fault(c, CO_ESYS_NOMEM, NULL, "out of memory");
		return;
	}
	memcpy(c->box, sb->id, sizeof(c->box));
	if (mkdir(sb->dir, 0700) != 0) {
		(void)co_error_errno(&e, errno, sb->dir, "can't make \"%s\"",
		    sb->dir);
		box_drop(sb);
		call_fail(c, &e);
		return;
	}
	(void)turn_add(sb, c, "create", create_turn);
}

static void
make_after(struct task *t)
{
	struct making *m = t->data;
	struct engine_call *c = t->call;

	if (m->dflt != NULL)
		t->en->dflt = m->dflt;
	if (!t->failed && c != NULL && !t->en->closing) {
		t->call = NULL;
		c->cancel = NULL;
		made(c, m);
	}
	if (m->rec != NULL)
		clone_forget(t->en, m->rec);
	nvlist_destroy(m->rec);
	free(m);
	task_end(t);
}

void
create_like(struct engine_call *c, const nvlist_t *from,
    const char *template)
{
	static const char *const inherited[] = { "backend", "memory", "cpu",
	    "procs", "disk", "files", "env", "labels", "metadata", "policy",
	    "ports", "user", "cwd", "clone" };
	struct making *m;
	struct co_error e;
	char id[CO_IDSIZE];

	m = calloc(1, sizeof(*m));
	if (m == NULL) {
		call_fault(c, CO_ESYS_NOMEM, NULL, "out of memory");
		return;
	}
	m->rec = nvlist_create(0);
	for (size_t i = 0; from != NULL &&
	    i < sizeof(inherited) / sizeof(inherited[0]); i++)
		rec_copy(m->rec, from, inherited[i]);
	co_id_make(id);
	nvlist_add_string(m->rec, "id", id);
	nvlist_add_number(m->rec, "reserved", 1);
	m->admin = c->admin;
	m->uid = c->uid;
	m->dflt = c->en->dflt;
	for (size_t i = 0; i < 5; i++)
		m->limits[i] = (uint64_t)co_conf_int(c->en->c.conf,
		    limit_keys[i]);
	if (take_request(c, m->rec, template, &e) != 0) {
		clone_forget(c->en, m->rec);
		nvlist_destroy(m->rec);
		free(m);
		call_fail(c, &e);
		return;
	}
	task_start(c, -1, m, make_work, make_after);
}

void
create_run(struct engine_call *c)
{

	create_like(c, NULL, ctl_string(c->req, "template", "tiny"));
}
