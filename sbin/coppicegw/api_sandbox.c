/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sandboxes by the API: create, get, delete, and their time.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gw.h"

#define	TIMEOUT_DEFAULT	15		/* seconds, by the first version */
#define	TIMEOUT_V2	300		/* ... and by the second */
#define	TIMEOUT_MAX	(30 * 86400)
#define	PAIRS_MAX	256
#define	TOKEN_BYTES	20

struct creation {
	uint64_t	 memory;	/* bytes of the key's sandboxes */
	uint64_t	 count;
	nvlist_t	*nv;
};

json_t *
body_object(struct req *r)
{
	json_error_t je;
	json_t *j;

	if (r->text.len == 0)
		return (json_object());
	j = json_loadb(r->text.p, r->text.len, JSON_REJECT_DUPLICATES, &je);
	if (j == NULL)
		reply_error(r, 400, "the body is not JSON: %s at line %d",
		    je.text, je.line);
	else if (!json_is_object(j)) {
		json_decref(j);
		j = NULL;
		reply_error(r, 400, "the body must be a JSON object");
	}
	return (j);
}

uint64_t
wall_ms(void)
{
	uv_timeval64_t tv;

	(void)uv_gettimeofday(&tv);
	return ((uint64_t)tv.tv_sec * 1000 + (uint64_t)tv.tv_usec / 1000);
}

void
iso_time(char out[32], uint64_t ms)
{

	co_time_iso(out, 32, (int64_t)(ms / 1000), (int32_t)(ms % 1000) *
	    1000);
}

static json_t *
metadata_of(const nvlist_t *nv)
{
	json_t *j = json_object();
	const char *const *v;
	const char *eq;
	size_t n = 0;

	v = nvlist_exists_string_array(nv, "metadata") ?
	    nvlist_get_string_array(nv, "metadata", &n) : NULL;
	for (size_t i = 0; i < n; i++) {
		eq = strchr(v[i], '=');
		if (eq != NULL)
			(void)json_object_setn_new(j, v[i], (size_t)(eq -
			    v[i]), json_string(eq + 1));
	}
	return (j);
}

static const char *
template_of(const nvlist_t *nv)
{
	const char *asked = label(nv, "template");

	return (asked != NULL ? asked : ctl_string(nv, "template", ""));
}

/* What lists have of a sandbox. */
json_t *
sandbox_brief(const struct gw *gw, const nvlist_t *nv)
{
	uint64_t cpu = ctl_uint(nv, "cpu", 0);
	uint64_t deadline = ctl_uint(nv, "deadline", 0);
	char began[32], ends[32];

	(void)gw;
	iso_time(began, ctl_uint(nv, "started", ctl_uint(nv, "created", 0)));
	/* "Never" has no word in this protocol. */
	iso_time(ends, deadline != 0 ? deadline : UINT64_C(253370764800000));
	return (json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I,"
	    " s:s, s:o, s:[]}", "sandboxID", ctl_string(nv, "id", ""),
	    "templateID", template_of(nv), "alias", ctl_string(nv,
	    "template", ""), "clientID", "coppice", "startedAt", began,
	    "endAt", ends, "envdVersion", ENVD_VERSION, "cpuCount",
	    (json_int_t)(cpu == 0 ? 1 : (cpu + 999) / 1000), "memoryMB",
	    (json_int_t)(ctl_uint(nv, "memory", 0) >> 20), "diskSizeMB",
	    (json_int_t)(ctl_uint(nv, "disk", 0) >> 20), "state",
	    strcmp(ctl_string(nv, "state", ""), "paused") == 0 ? "paused" :
	    "running", "metadata", metadata_of(nv), "volumeMounts"));
}

static void
set_text(json_t *j, const char *name, const char *value)
{

	if (value != NULL)
		(void)json_object_set_new(j, name, json_string(value));
}

/* What "create" and "connect" answer. */
void
sandbox_created(struct req *r, const nvlist_t *nv, int status)
{
	json_t *j;

	j = json_pack("{s:s, s:s, s:s, s:s}", "sandboxID", ctl_string(nv,
	    "id", ""), "templateID", template_of(nv), "clientID", "coppice",
	    "envdVersion", ENVD_VERSION);
	set_text(j, "envdAccessToken", label(nv, "token"));
	set_text(j, "trafficAccessToken", label(nv, "traffic"));
	set_text(j, "alias", ctl_string(nv, "template", ""));
	if (r->gw->s.domain[0] != '\0')
		set_text(j, "domain", r->gw->s.domain);
	(void)snprintf(r->box, sizeof(r->box), "%s", ctl_string(nv, "id",
	    ""));
	reply_json(r, status, j);
}

/*
 * Create.
 */
static int
pairs(struct req *r, nvlist_t *nv, const char *to, const json_t *j,
    const char *name)
{
	const json_t *o = json_object_get(j, name), *v;
	struct buf b = { 0 };
	const char *key;
	int ret = 0;

	if (o == NULL || json_is_null(o))
		return (0);
	if (!json_is_object(o) || json_object_size(o) > PAIRS_MAX) {
		reply_error(r, 400, "\"%s\" must be an object of at most %d "
		    "strings", name, PAIRS_MAX);
		return (-1);
	}
	json_object_foreach((json_t *)(uintptr_t)o, key, v) {
		if (!json_is_string(v) || *key == '\0' ||
		    strchr(key, '=') != NULL) {
			reply_error(r, 400, "\"%s\" must be an object of "
			    "strings, with names without \"=\"", name);
			ret = -1;
			break;
		}
		b.len = 0;
		buf_fmt(&b, "%s=%s", key, json_string_value(v));
		nvlist_append_string_array(nv, to, b.p);
	}
	buf_free(&b);
	return (ret);
}

static void
remember(nvlist_t *nv, const char *name, const char *value)
{
	struct buf b = { 0 };

	buf_fmt(&b, "gw.%s=%s", name, value);
	nvlist_append_string_array(nv, "labels", b.p);
	buf_free(&b);
}

static void
new_token(nvlist_t *nv, const char *name)
{
	unsigned char raw[TOKEN_BYTES];
	char text[2 * TOKEN_BYTES + 1];

	co_random(raw, sizeof(raw));
	for (size_t i = 0; i < sizeof(raw); i++)
		(void)snprintf(text + 2 * i, 3, "%02x", raw[i]);
	remember(nv, name, text);
}

/* Seconds, as a number from 0 up; -1 with an answer if it is no such. */
static int64_t
seconds(struct req *r, const json_t *j, const char *name, int64_t dflt)
{
	const json_t *v = json_object_get(j, name);

	if (v == NULL || json_is_null(v))
		return (dflt);
	if (!json_is_integer(v) || json_integer_value(v) < 0 ||
	    json_integer_value(v) > TIMEOUT_MAX) {
		reply_error(r, 400, "\"%s\" must be seconds, from 0 to %d",
		    name, TIMEOUT_MAX);
		return (-1);
	}
	return (json_integer_value(v));
}

static int
refuse_unknown(struct req *r, const json_t *j)
{
	static const char *const unable[][2] = {
		{ "volumeMounts", "volumes are not supported; share a folder "
		    "by coppicectl(8) instead" },
		{ "iam", "tokens of identities are not supported" },
	};
	const json_t *v;

	for (size_t i = 0; i < COUNT(unable); i++) {
		v = json_object_get(j, unable[i][0]);
		if ((json_is_array(v) && json_array_size(v) > 0) ||
		    (json_is_object(v) && json_object_size(v) > 0)) {
			reply_error(r, 400, "\"%s\": %s", unable[i][0],
			    unable[i][1]);
			return (-1);
		}
	}
	return (0);
}

static int
take_network(struct req *r, nvlist_t *nv, const json_t *j)
{
	const json_t *net = json_object_get(j, "network");
	const json_t *allow = json_object_get(j, "allow_internet_access");
	const json_t *pub = json_object_get(net, "allowPublicTraffic");
	const char *why, *mask;
	struct buf policy = { 0 };
	char *text;

	if ((net != NULL && !json_is_null(net) && !json_is_object(net)) ||
	    (allow != NULL && !json_is_null(allow) &&
	    !json_is_boolean(allow))) {
		reply_error(r, 400, "\"network\" must be an object and "
		    "\"allow_internet_access\" a bool");
		return (-1);
	}
	if (policy_of(net, json_is_boolean(allow) ? json_is_true(allow) : -1,
	    &policy, &why) != 0) {
		buf_free(&policy);
		reply_error(r, 400, "\"network\": %s", why);
		return (-1);
	}
	if (policy.len > 0)
		nvlist_add_string(nv, "policy", policy.p);
	buf_free(&policy);
	if (json_is_boolean(allow))
		remember(nv, "internet", json_is_true(allow) ? "1" : "0");
	if (json_is_false(pub))
		new_token(nv, "traffic");
	mask = json_string_value(json_object_get(net, "maskRequestHost"));
	if (mask != NULL && strlen(mask) < 256 &&
	    strpbrk(mask, "\r\n \t") == NULL)
		remember(nv, "mask", mask);
	if (json_is_object(net) && (text = json_dumps(net,
	    JSON_COMPACT)) != NULL) {
		remember(nv, "network", text);
		free(text);
	}
	return (0);
}

static int
take_lifecycle(struct req *r, nvlist_t *nv, const json_t *j, int64_t dflt)
{
	const json_t *wakes = json_object_get(json_object_get(j,
	    "autoResume"), "enabled");
	int64_t timeout = seconds(r, j, "timeout", dflt);
	char text[24];

	if (timeout < 0)
		return (-1);
	if (json_is_false(json_object_get(j, "autoPauseMemory"))) {
		reply_error(r, 400, "a sandbox can't pause without its "
		    "memory");
		return (-1);
	}
	nvlist_add_number(nv, "timeout_ms", timeout == 0 ? 1 :
	    (uint64_t)timeout * 1000);
	nvlist_add_string(nv, "on_timeout", json_is_true(json_object_get(j,
	    "autoPause")) ? "pause" : "destroy");
	(void)snprintf(text, sizeof(text), "%jd", (intmax_t)timeout * 1000);
	remember(nv, "timeout", text);
	if (json_is_boolean(wakes))
		remember(nv, "wakes", json_is_true(wakes) ? "1" : "0");
	return (0);
}

static nvlist_t *
creation_of(struct req *r, const json_t *j, bool secure, int64_t timeout)
{
	const char *template = json_string_value(json_object_get(j,
	    "templateID"));
	nvlist_t *nv;

	if (template == NULL || *template == '\0' || strlen(template) > 64) {
		reply_error(r, 400, "\"templateID\" must be the name of a "
		    "template");
		return (NULL);
	}
	if (refuse_unknown(r, j) != 0)
		return (NULL);
	nv = question("create", NULL, r->as);
	nvlist_add_string(nv, "template", strcmp(template, "base") == 0 ?
	    r->gw->s.template : template);
	remember(nv, "template", template);
	if (secure)
		new_token(nv, "token");
	if (pairs(r, nv, "env", j, "envVars") == 0 &&
	    pairs(r, nv, "metadata", j, "metadata") == 0 &&
	    take_network(r, nv, j) == 0 &&
	    take_lifecycle(r, nv, j, timeout) == 0)
		return (nv);
	nvlist_destroy(nv);
	return (NULL);
}

static void
created(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;

	(void)fd;
	if (e != NULL && e->code == CO_ETEMPLATE_NOTFOUND)
		reply_error(r, 404, "%s", e->message);
	else if (e != NULL)
		reply_failure(r, e);
	else {
		metric_add(r->gw, METRIC_CREATE, uv_hrtime() - r->began);
		box_met(r->gw, nv);
		sandbox_created(r, nv, 201);
	}
}

static void
creation_gone(struct req *r)
{
	struct creation *c = r->data;

	(*key_creating(r->key))--;
	nvlist_destroy(c->nv);
	free(c);
	r->data = NULL;
}

static const struct req_ops creating = { .gone = creation_gone };

static void
counted(void *arg, const nvlist_t *nv)
{
	struct req *r = arg;
	struct creation *c = r->data;

	c->count++;
	c->memory += ctl_uint(nv, "memory", 0);
}

static void
quota_known(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	struct creation *c = r->data;
	uint64_t most = key_max_sandboxes(r->gw, r->key);
	uint64_t memory = key_max_memory(r->gw, r->key);
	nvlist_t *q = c->nv;

	(void)nv;
	(void)fd;
	/* Those being created may be in the list or not: count them. */
	if (e != NULL)
		reply_failure(r, e);
	else if (most != 0 && c->count + *key_creating(r->key) > most)
		reply_error(r, 429, "the key has %ju sandboxes of the %ju "
		    "that it may have", (uintmax_t)c->count, (uintmax_t)most);
	else if (memory != 0 && c->memory >= memory)
		reply_error(r, 429, "the sandboxes of the key have all of "
		    "the memory that it may have");
	else {
		c->nv = NULL;
		(void)ask(r, q, NULL, created);
	}
}

static void
create(struct req *r, bool v2)
{
	struct creation *c;
	json_t *j = body_object(r);
	nvlist_t *nv;

	if (j == NULL)
		return;
	nv = creation_of(r, j, v2 || json_is_true(json_object_get(j,
	    "secure")), v2 ? TIMEOUT_V2 : TIMEOUT_DEFAULT);
	json_decref(j);
	if (nv == NULL)
		return;
	c = calloc(1, sizeof(*c));
	if (c == NULL) {
		nvlist_destroy(nv);
		reply_error(r, 500, "out of memory");
		return;
	}
	c->nv = nv;
	r->data = c;
	r->ops = &creating;
	(*key_creating(r->key))++;
	if (key_max_sandboxes(r->gw, r->key) != 0 ||
	    key_max_memory(r->gw, r->key) != 0)
		(void)ask(r, question("list", NULL, r->as), counted,
		    quota_known);
	else {
		c->nv = NULL;
		(void)ask(r, nv, NULL, created);
	}
}

void
api_create(struct req *r)
{

	create(r, false);
}

void
api_create_v2(struct req *r)
{

	create(r, true);
}

/*
 * Get and delete.
 */
static bool
has_id(struct req *r)
{

	if (co_id_valid(r->param[0])) {
		(void)snprintf(r->box, sizeof(r->box), "%s", r->param[0]);
		return (true);
	}
	reply_error(r, 404, "there is no sandbox \"%.64s\"", r->param[0]);
	return (false);
}

static void
detailed(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;
	const char *internet, *network, *wakes;
	json_t *j;

	(void)fd;
	if (e != NULL) {
		reply_failure(r, e);
		return;
	}
	j = sandbox_brief(r->gw, nv);
	set_text(j, "envdAccessToken", label(nv, "token"));
	if (r->gw->s.domain[0] != '\0')
		set_text(j, "domain", r->gw->s.domain);
	internet = label(nv, "internet");
	if (internet != NULL)
		(void)json_object_set_new(j, "allowInternetAccess",
		    json_boolean(*internet == '1'));
	network = label(nv, "network");
	if (network != NULL)
		(void)json_object_set_new(j, "network", json_loads(network,
		    0, NULL));
	wakes = label(nv, "wakes");
	(void)json_object_set_new(j, "lifecycle", json_pack("{s:s, s:b}",
	    "onTimeout", strcmp(ctl_string(nv, "on_timeout", ""), "pause") ==
	    0 ? "pause" : "kill", "autoResume", wakes != NULL &&
	    *wakes == '1'));
	reply_json(r, 200, j);
}

void
api_get(struct req *r)
{

	if (has_id(r))
		(void)ask(r, question("show", r->box, r->as), NULL,
		    detailed);
}

static void
done_empty(void *arg, const nvlist_t *nv, int fd, const struct co_error *e)
{
	struct req *r = arg;

	(void)nv;
	(void)fd;
	if (e != NULL)
		reply_failure(r, e);
	else
		reply_empty(r, 204);
}

void
api_delete(struct req *r)
{
	nvlist_t *nv;

	if (!has_id(r))
		return;
	nv = question("destroy", r->box, r->as);
	nvlist_add_number(nv, "grace_ms", 0);
	(void)ask(r, nv, NULL, done_empty);
}

/*
 * Time.
 */
static void
set_time(struct req *r, const char *op, const char *name, int64_t dflt)
{
	json_t *j;
	nvlist_t *nv;
	int64_t s;

	if (!has_id(r) || (j = body_object(r)) == NULL)
		return;
	s = seconds(r, j, name, dflt);
	json_decref(j);
	if (s < 0)
		return;
	nv = question(op, r->box, r->as);
	nvlist_add_number(nv, "timeout_ms", s == 0 ? 1 : (uint64_t)s * 1000);
	(void)ask(r, nv, NULL, done_empty);
}

void
api_timeout(struct req *r)
{

	set_time(r, "timeout", "timeout", TIMEOUT_DEFAULT);
}

/* A refresh only ever makes it longer, as a lease does. */
void
api_refresh(struct req *r)
{

	set_time(r, "lease", "duration", 60);
}
