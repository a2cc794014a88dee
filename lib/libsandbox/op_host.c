/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Operations on the host: its network, and whether it is fit for this.
 */

#include <sys/statvfs.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"

#define	LITTLE	(1024u * 1024 * 1024)	/* of free space */

static int
no_net(struct co_error *e)
{

	return (co_error_set(e, CO_ESYS_UNSUPPORTED, "net",
	    "this engine has no network"));
}

static int
setup_work(struct task *t, struct co_error *e)
{
	struct net_smoke smoke = {
		.target = ctl_string(t->req, "target", NULL),
		.name = ctl_string(t->req, "resolve", NULL),
		.operator = ctl_string(t->req, "operator", NULL)
	};
	struct net_setup s = { .smoke = &smoke,
	    .dns = ctl_flag(t->req, "dns", true) };
	int ret;

	if (t->en->net == NULL)
		return (no_net(e));
	net_lock(t->en);
	ret = net_setup(t->en->net, &s, e);
	net_unlock(t->en);
	return (ret);
}

static void
setup_after(struct task *t)
{

	if (!t->failed) {
		net_mark(t->en, true);
		net_dns_begin(t->en);
	}
	task_end(t);
}

static void
setup_run(struct engine_call *c)
{

	task_start(c, -1, NULL, setup_work, setup_after);
}

static int
teardown_work(struct task *t, struct co_error *e)
{
	struct net_smoke smoke = {
		.operator = ctl_string(t->req, "operator", NULL)
	};
	int ret;

	if (t->en->net == NULL)
		return (no_net(e));
	net_lock(t->en);
	net_dns_stop(t->en->net);
	ret = net_teardown(t->en->net, &smoke, e);
	net_unlock(t->en);
	return (ret);
}

static void
teardown_after(struct task *t)
{

	if (!t->failed)
		net_mark(t->en, false);
	else
		net_dns_begin(t->en);
	task_end(t);
}

static void
teardown_run(struct engine_call *c)
{

	/* The relay is started again if it fails. */
	watch_free(c->en->dns);
	c->en->dns = NULL;
	task_start(c, -1, NULL, teardown_work, teardown_after);
}

static void
net_found(void *arg, enum net_health health, const char *name,
    const char *message)
{
	static const char *const words[] = {
		[NET_GOOD] = "good", [NET_WARN] = "warn", [NET_BAD] = "bad"
	};
	struct task *t = arg;
	nvlist_t *nv;

	nv = event_new("finding");
	nvlist_add_string(nv, "area", "net");
	nvlist_add_string(nv, "health", words[health]);
	nvlist_add_string(nv, "name", name);
	nvlist_add_bool(nv, "ok", health != NET_BAD);
	nvlist_add_string(nv, "message", message);
	task_event(t, nv);
}

static void
add_pool(struct task *t, enum net_kind kind, const char *name)
{
	const struct net_subnet *s = &t->en->netconf.subnet[kind];
	struct net_usage u;
	nvlist_t *nv;

	net_usage(t->en->net, kind, &u);
	nv = nvlist_create(0);
	nvlist_add_string(nv, "kind", name);
	nvlist_add_string(nv, "range", s->range);
	nvlist_add_string(nv, "bridge", s->bridge);
	nvlist_add_number(nv, "total", u.total);
	nvlist_add_number(nv, "live", u.live);
	nvlist_add_number(nv, "quarantined", u.quarantined);
	nvlist_add_number(nv, "foreign", u.foreign);
	nvlist_append_nvlist_array(t->answer, "pools", nv);
	nvlist_destroy(nv);
}

static int
show_work(struct task *t, struct co_error *e)
{
	char uplink[NET_IFNAME];

	if (t->en->net == NULL)
		return (no_net(e));
	net_lock(t->en);
	net_check(t->en->net, net_found, t);
	if (net_uplink(t->en->net, uplink, e) == 0)
		nvlist_add_string(t->answer, "uplink", uplink);
	add_pool(t, NET_PAIR, "jail");
	add_pool(t, NET_TAP, "vm");
	net_unlock(t->en);
	return (0);
}

static void
show_run(struct engine_call *c)
{

	task_start(c, -1, NULL, show_work, NULL);
}

/*
 * Doctor.
 */
struct patient {
	struct task	*t;
	char		 area[64];
	bool		 sick;
};

static void
found(void *arg, const char *what, bool ok, const char *advice)
{
	struct patient *p = arg;
	nvlist_t *nv;

	nv = event_new("finding");
	nvlist_add_string(nv, "area", p->area);
	nvlist_add_string(nv, "name", what);
	nvlist_add_bool(nv, "ok", ok);
	nvlist_add_string(nv, "message", advice != NULL ? advice : "");
	task_event(p->t, nv);
}

/* Advice is for what does not work. */
static void
probed(void *arg, const char *what, bool ok, const char *advice)
{

	found(arg, what, ok, ok ? "" : advice);
}

static void
look_at_program(struct patient *p, const char *name)
{
	char path[1024];
	bool ok;

	(void)snprintf(path, sizeof(path), "%s/%s", p->t->en->c.libexec,
	    name);
	ok = access(path, X_OK) == 0;
	p->sick = p->sick || !ok;
	found(p, name, ok, ok ? path : "not found; install it, or tell "
	    "coppiced by -L where it is");
}

static void
look_at_host(struct patient *p)
{
	struct statvfs sv;
	bool ok;

	(void)snprintf(p->area, sizeof(p->area), "host");
	look_at_program(p, "coppice-shim");
	look_at_program(p, "coppicefsd");
	ok = geteuid() == 0;
	p->sick = p->sick || !ok;
	found(p, "root", ok, ok ? "" : "run coppiced as root");
	ok = statvfs(p->t->en->c.state, &sv) == 0 &&
	    (uint64_t)sv.f_bavail * sv.f_frsize >= LITTLE;
	found(p, "disk", ok, ok ? p->t->en->c.state :
	    "less than 1 GiB is free in the state directory");
}

static int
doctor_work(struct task *t, struct co_error *e)
{
	struct patient p = { .t = t };
	struct co_error why;
	bool works = false;

	(void)e;
	look_at_host(&p);
	for (size_t i = 0; backends[i] != NULL; i++) {
		(void)snprintf(p.area, sizeof(p.area), "backend.%s",
		    backends[i]->name);
		if (backends[i]->probe(probed, &p, &why) == 0) {
			works = true;
			found(&p, backends[i]->name, true,
			    backends[i]->summary);
		} else
			found(&p, backends[i]->name, false, why.message);
	}
	if (t->en->net != NULL) {
		net_lock(t->en);
		net_check(t->en->net, net_found, t);
		net_unlock(t->en);
	}
	nvlist_add_bool(t->answer, "ok", works && !p.sick);
	return (0);
}

static void
doctor_run(struct engine_call *c)
{

	task_start(c, -1, NULL, doctor_work, NULL);
}

const struct op ops_host[] = {
	{ "net.setup", OP_ADMIN | OP_AUDIT, setup_run, NULL },
	{ "net.teardown", OP_ADMIN | OP_AUDIT, teardown_run, NULL },
	{ "net.show", OP_ADMIN, show_run, NULL },
	{ "doctor", 0, doctor_run, NULL },
	{ NULL, 0, NULL, NULL }
};
