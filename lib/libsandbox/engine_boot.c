/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * From a record to a sandbox that runs: a table of stages, of which some
 * block and are done by jobs, and some wait on the loop.  Whatever fails,
 * everything made so far is taken away again.
 */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"

#define	PROBE_MS	100	/* between two looks at a port */
#define	READY_MS	30000
#define	SHIM_MS		15000
#define	MACHINE_MS	120000	/* for one that has to boot */

struct boot {
	struct turn	*t;
	struct sandbox	*sb;
	struct engine	*en;
	bool		 create, cold;
	size_t		 stage;

	/* The jobs'. */
	struct box_spec	*spec;
	nvlist_t	*shares[SANDBOX_SHARES];
	size_t		 nshares;
	const struct backend *be;
	struct template	*tpl;
	char		*template;
	char		*clone;		/* name of what is only for it */
	char		*policy;
	char		*options;	/* of the file servers */
	char		*user;		/* "": the template's */
	bool		 net;
	struct sandbox_run r;
	struct net_lease lease;
	struct co_error	 e;

	/* Readiness. */
	struct alarm	*alarm;
	co_moment	 until;
};

struct stage {
	const char	*name;
	int		(*work)(struct boot *);		/* in a job, or */
	void		(*loop)(struct boot *);		/* on the loop */
};

static void boot_next(struct boot *);

static void
boot_free(struct boot *b)
{

	for (size_t i = 0; i < b->nshares; i++)
		nvlist_destroy(b->shares[i]);
	spec_free(b->spec);
	template_free(b->tpl);
	alarm_free(b->alarm);
	free(b->template);
	free(b->clone);
	free(b->policy);
	free(b->options);
	free(b->user);
	free(b);
}

static void
undone(struct turn *t)
{
	struct co_error e = *(struct co_error *)t->data;
	struct sandbox *sb = t->sb;

	free(t->data);
	t->data = NULL;
	if (t->e.code == CO_OK && !sb->gone) {
		box_state(sb, BOX_STOPPED, e.message);
		(void)record_save(sb, NULL);
	}
	turn_fail(t, &e);
}

/* Back to what was before, which for a new one is nothing. */
static void
boot_fail(struct boot *b, const struct co_error *e)
{
	struct turn *t = b->t;
	struct co_error *copy;
	bool create = b->create;

	copy = malloc(sizeof(*copy));
	if (copy == NULL)
		abort();
	*copy = *e;
	/* The backend must clean up what may run. */
	b->sb->r = b->r;
	boot_free(b);
	t->data = copy;
	down_begin(t, 0, create, undone);
}

/*
 * The stages that are jobs.
 */
static int
stage_template(struct boot *b)
{
	const char *run = b->spec->s.run;

	if (mkdir(run, 0700) != 0 && errno != EEXIST)
		return (co_error_errno(&b->e, errno, run,
		    "can't make \"%s\"", run));
	if (template_open(b->en->c.state, b->template, &b->tpl, &b->e) != 0)
		return (-1);
	/* From here on the record keeps it. */
	if (b->clone != NULL)
		template_unname(b->en->c.state, b->clone);
	return (0);
}

static int
stage_disk(struct boot *b)
{

	if (!b->create)
		return (0);
	return (b->be->prepare(&b->spec->s, &b->e));
}

static int
stage_shares(struct boot *b)
{

	char *options;
	uid_t root = 0, uid;
	gid_t gid;
	int ret = 0;

	if (b->nshares == 0)
		return (0);
	if (b->be->ids != NULL && b->be->ids(&b->spec->s, &root, &b->e) != 0)
		return (-1);
	/* All of it belongs to the one whom commands run as. */
	template_user(b->tpl, *b->user != '\0' ? b->user : b->tpl->user,
	    &uid, &gid);
	if (asprintf(&options, "owner=%u:%u,%s", (unsigned)(root + uid),
	    (unsigned)(root + gid), b->options) == -1)
		return (co_error_set(&b->e, CO_ESYS_NOMEM, NULL,
		    "out of memory"));
	for (size_t i = 0; ret == 0 && i < b->nshares; i++)
		ret = fsd_start(b->en, &b->spec->s, b->shares[i], options,
		    &b->e);
	free(options);
	return (ret);
}

/* The socket is ours, so that its name is out of the sandbox's reach. */
static int
listen_shim(struct boot *b)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	const char *run = b->spec->s.run;
	int fd, n;

	n = snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/shim", run);
	if (n < 0 || (size_t)n >= sizeof(sun.sun_path))
		return (co_error_set(&b->e, CO_ESYS_CONFIG, run,
		    "\"%s/shim\" is too long for a socket; choose a shorter "
		    "\"run\" in coppice.conf", run));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return (co_error_errno(&b->e, errno, run, "no socket"));
	(void)unlink(sun.sun_path);
	if (bind(fd, (struct sockaddr *)&sun, sizeof(sun)) != 0 ||
	    chmod(sun.sun_path, 0600) != 0 || listen(fd, 8) != 0) {
		n = errno;
		(void)close(fd);
		return (co_error_errno(&b->e, n, run,
		    "can't listen at \"%s\"", sun.sun_path));
	}
	b->spec->s.listenfd = fd;
	return (0);
}

static int
attach(struct boot *b)
{
	struct net_attach a = { .id = b->spec->s.id, .kind = b->be->kind,
	    .netns = b->r.netns, .jid = b->r.jid };
	struct net_policy *p;
	int ret;

	if (net_policy_parse(b->policy, strlen(b->policy), &p, &b->e) != 0)
		return (-1);
	a.policy = p;
	net_lock(b->en);
	ret = net_attach(b->en->net, &a, &b->lease, &b->e);
	net_unlock(b->en);
	net_policy_free(p);
	return (ret);
}

static int
stage_start(struct boot *b)
{
	int ret;

	if (b->net && b->be->kind == NET_TAP) {
		if (attach(b) != 0)
			return (-1);
		b->spec->lease = b->lease;
		b->spec->s.lease = &b->spec->lease;
	}
	if (listen_shim(b) != 0)
		return (-1);
	b->r = (struct sandbox_run){ .netns = -1 };
	ret = b->be->start(&b->spec->s, &b->r, &b->e);
	(void)close(b->spec->s.listenfd);
	b->spec->s.listenfd = -1;
	return (ret);
}

static int
stage_network(struct boot *b)
{

	int ret = 0;

	if (b->net && b->be->kind != NET_TAP)
		ret = attach(b);
	if (b->r.netns != -1)
		(void)close(b->r.netns);
	b->r.netns = -1;
	return (ret);
}

/*
 * The stages that wait on the loop.
 */
static void
configured(struct ask *a, const struct shim_result *r)
{
	struct boot *b = a->arg;

	if (r != NULL && r->error == 0) {
		boot_next(b);
		return;
	}
	ask_error(&b->e, b->sb, "configure", r);
	boot_fail(b, &b->e);
}

/* Both lists, of the template and of the request, in one. */
static const char **
env_of(struct boot *b)
{
	const char *const *v = NULL;
	const char **env;
	size_t n = 0, m = 0, i;

	if (nvlist_exists_string_array(b->sb->rec, "env"))
		v = nvlist_get_string_array(b->sb->rec, "env", &n);
	while (b->tpl->env != NULL && b->tpl->env[m] != NULL)
		m++;
	env = calloc(n + m + 1, sizeof(*env));
	if (env == NULL)
		return (NULL);
	for (i = 0; i < m; i++)
		env[i] = b->tpl->env[i];
	for (i = 0; i < n; i++)
		env[m + i] = v[i];
	return (env);
}

static void
configure(struct boot *b)
{
	const nvlist_t *rec = b->sb->rec;
	char gw[NET_ADDRSTR];
	const char *dns[] = { gw, NULL };
	struct shim_request q = { .op = SHIM_OP_CONFIGURE };
	const char **env;
	struct ask *a;
	int ret = -1;

	env = env_of(b);
	a = ask_new(b->sb, NULL);
	(void)co_error_set(&b->e, CO_ESYS_NOMEM, b->sb->id, "out of memory");
	if (env != NULL && a != NULL) {
		a->arg = b;
		a->end = configured;
		q.env = env;
		q.user = ctl_string(rec, "user", b->tpl->user);
		q.cwd = ctl_string(rec, "cwd", b->tpl->cwd);
		if (*q.cwd == '\0')
			q.cwd = NULL;
		(void)net_addr_print(&b->lease.gateway, gw);
		if (b->lease.id[0] != '\0')
			q.dns = dns;
		ret = ask_request(a, &q, &b->e);
	}
	free(env);
	if (ret == 0)
		return;
	if (a != NULL)
		ask_free(a);
	boot_fail(b, &b->e);
}

static void
hello(void *arg, const struct co_error *e)
{
	struct boot *b = arg;

	if (e != NULL)
		boot_fail(b, e);
	else
		configure(b);
}

static void
stage_shim(struct boot *b)
{

	link_open(b->sb, b->be->connect != NULL ? MACHINE_MS : SHIM_MS,
	    hello, b);
}

static void
ports_set(struct ask *a, const struct shim_result *r)
{

	(void)a;
	(void)r;
}

void
box_ports(struct sandbox *sb)
{
	struct shim_request q = { .op = SHIM_OP_PORTS };
	const uint64_t *v = NULL;
	struct co_error e;
	int64_t ports[64];
	struct ask *a;
	size_t n = 0;

	if (nvlist_exists_number_array(sb->rec, "ports"))
		v = nvlist_get_number_array(sb->rec, "ports", &n);
	if (n > sizeof(ports) / sizeof(ports[0]))
		n = sizeof(ports) / sizeof(ports[0]);
	for (size_t i = 0; i < n; i++)
		ports[i] = (int64_t)v[i];
	q.ports = ports;
	q.nports = n;
	a = ask_new(sb, NULL);
	if (a == NULL)
		return;
	a->end = ports_set;
	if (ask_request(a, &q, &e) != 0)
		ask_free(a);
}

static struct command *
internal_command(struct boot *b, char **argv, const char *tag)
{
	struct command *cmd;
	size_t n = 0;

	cmd = command_new(b->sb, command_id(b->sb));
	if (cmd == NULL)
		return (NULL);
	while (argv[n] != NULL)
		n++;
	cmd->req = nvlist_create(0);
	nvlist_add_string_array(cmd->req, "argv",
	    (const char *const *)argv, n);
	nvlist_add_bool(cmd->req, "step", false);
	cmd->tag = strdup(tag);
	cmd->text = strdup(argv[0]);
	cmd->log = true;
	return (cmd);
}

static void
stage_command(struct boot *b)
{
	struct command *cmd;

	fsds_open(b->sb);
	b->sb->settled = true;
	if (nvlist_exists_number_array(b->sb->rec, "ports"))
		box_ports(b->sb);
	if (b->tpl->start != NULL) {
		cmd = internal_command(b, b->tpl->start, "start");
		if (cmd == NULL) {
			(void)co_error_set(&b->e, CO_ESYS_NOMEM, b->sb->id,
			    "out of memory");
			boot_fail(b, &b->e);
			return;
		}
		command_begin(cmd);
	}
	boot_next(b);
}

static void probe(struct boot *);

static void
probe_rings(void *arg)
{
	struct boot *b = arg;

	alarm_free(b->alarm);
	b->alarm = NULL;
	probe(b);
}

/* One look is over. */
static void
probed(struct boot *b, bool good)
{

	if (good) {
		boot_next(b);
		return;
	}
	if (b->t->cancelled || b->sb->en->closing) {
		(void)co_error_set(&b->e, CO_ESYS_CANCELLED, b->sb->id,
		    "cancelled");
		boot_fail(b, &b->e);
	} else if (co_left(b->until) == 0 || !link_up(b->sb)) {
		(void)co_error_set(&b->e, CO_ESANDBOX_TIMEOUT, b->sb->id,
		    "the template's service did not become ready in time");
		boot_fail(b, &b->e);
	} else
		b->alarm = alarm_new(b->en, PROBE_MS, probe_rings, b);
}

static void
port_probed(struct ask *a, const struct shim_result *r)
{

	(void)r;
	probed(a->arg, a->closed);
}

static void
port_connected(struct ask *a, int fd)
{

	if (fd != -1)
		(void)close(fd);
	ask_close(a);
}

static void
command_probed(struct command *cmd, void *arg)
{

	probed(arg, cmd->end.error == 0 && cmd->end.exit_code == 0);
}

static void
probe(struct boot *b)
{
	struct shim_request q = { .op = SHIM_OP_DIAL,
	    .port = b->tpl->ready_port };
	struct command *cmd;
	struct ask *a;

	if (b->tpl->ready != NULL) {
		cmd = internal_command(b, b->tpl->ready, "ready");
		if (cmd == NULL) {
			probed(b, false);
			return;
		}
		nvlist_add_number(cmd->req, "timeout_ms",
		    (uint64_t)co_left(b->until) + 1);
		cmd->over = command_probed;
		cmd->arg = b;
		command_begin(cmd);
		return;
	}
	a = ask_new(b->sb, NULL);
	if (a != NULL) {
		a->arg = b;
		a->connected = port_connected;
		a->end = port_probed;
		if (ask_request(a, &q, &b->e) == 0)
			return;
		ask_free(a);
	}
	probed(b, false);
}

static void
stage_ready(struct boot *b)
{

	if (b->tpl->ready == NULL && b->tpl->ready_port == 0) {
		boot_next(b);
		return;
	}
	b->until = co_after(b->tpl->ready_ms > 0 ? b->tpl->ready_ms :
	    READY_MS);
	probe(b);
}

static void
boot_saved(struct turn *t)
{
	struct boot *b = t->data;

	if (t->e.code != CO_OK) {
		boot_fail(b, &t->e);
		return;
	}
	clock_set(b->en);
	t->data = NULL;
	boot_free(b);
	turn_done(t, box_show(t->sb));
}

/* Only now it is said to run. */
static void
stage_running(struct boot *b)
{
	struct sandbox *sb = b->sb;

	rec_number(sb->rec, "started", b->cold ? 0 :
	    (uint64_t)engine_wall());
	if (b->create)
		nvlist_add_bool(sb->rec, "made", true);
	if (b->create)
		box_tell(sb, box_event(sb, "created"));
	box_state(sb, b->cold ? BOX_STOPPED : BOX_RUNNING, NULL);
	if (b->cold) {
		turn_save(b->t, boot_saved);
		return;
	}
	/* What runs does not survive the machine, nor need its record. */
	exec_reserve(sb);
	b->t->e.code = CO_OK;
	(void)record_save(sb, &b->t->e);
	boot_saved(b->t);
}

static const struct stage stages[] = {
	{ "template", stage_template, NULL },
	{ "disk", stage_disk, NULL },
	{ "shares", stage_shares, NULL },
	{ "start", stage_start, NULL },
	{ "network", stage_network, NULL },
	{ "shim", NULL, stage_shim },
	{ "command", NULL, stage_command },
	{ "ready", NULL, stage_ready },
	{ "running", NULL, stage_running },
};

#define	STAGE_COLD	2	/* here, one that is not to run is made */

/* One that is not to run is made when the next stage would be this. */
static bool
boot_cold(const struct boot *b)
{

	return (b->cold && b->stage == STAGE_COLD);
}

/* All that can be done in one go: each way to the loop and back costs. */
static void
boot_work(void *arg)
{
	struct boot *b = arg;

	for (; stages[b->stage].work != NULL && !boot_cold(b); b->stage++)
		if (stages[b->stage].work(b) != 0)
			return;
	b->e.code = CO_OK;
}

static void
boot_after(void *arg)
{
	struct boot *b = arg;

	if (b->e.code != CO_OK) {
		boot_fail(b, &b->e);
		return;
	}
	/*
	 * The record learns of this when it runs.  Until then it says that it
	 * is being made, and what there is of it is found by its id.
	 */
	b->sb->r = b->r;
	b->sb->lease = b->lease;
	boot_next(b);
}

static int boot_spec(struct boot *);

static void
boot_next(struct boot *b)
{
	const struct stage *st;

	if (b->t->cancelled || b->en->closing) {
		(void)co_error_set(&b->e, CO_ESYS_CANCELLED, b->sb->id,
		    "cancelled");
		boot_fail(b, &b->e);
		return;
	}
	if (boot_cold(b))
		b->stage = sizeof(stages) / sizeof(stages[0]) - 1;
	st = &stages[b->stage];
	turn_progress(b->t, st->name);
	if (st->work == NULL) {
		b->stage++;
		st->loop(b);
		return;
	}
	if (boot_spec(b) != 0)
		boot_fail(b, &b->e);
	else
		job_start(b->en, boot_work, boot_after, b);
}

/* A spec of what the record says now. */
static int
boot_spec(struct boot *b)
{
	struct box_spec *bs;

	bs = spec_new(b->sb, &b->e);
	if (bs == NULL)
		return (-1);
	spec_free(b->spec);
	b->spec = bs;
	return (0);
}

static bool
wants_net(const struct engine *en, const char *policy)
{

	if (en->net == NULL)
		return (false);
	return (en->net_up || strncmp(policy, "mode disabled", 13) != 0);
}

static void
boot_shares(struct boot *b)
{
	const nvlist_t *const *v;
	size_t n;

	if (!nvlist_exists_nvlist_array(b->sb->rec, "shares"))
		return;
	v = nvlist_get_nvlist_array(b->sb->rec, "shares", &n);
	for (size_t i = 0; i < n && i < SANDBOX_SHARES; i++)
		b->shares[b->nshares++] = nvlist_clone(v[i]);
}

void
boot_begin(struct turn *t, enum boot_how how)
{
	bool create = how != BOOT_START;
	struct sandbox *sb = t->sb;
	struct boot *b;

	b = calloc(1, sizeof(*b));
	if (b == NULL) {
		(void)co_error_set(&t->e, CO_ESYS_NOMEM, sb->id,
		    "out of memory");
		turn_fail(t, &t->e);
		return;
	}
	t->data = b;
	b->t = t;
	b->sb = sb;
	b->en = sb->en;
	b->be = sb->be;
	b->create = create;
	b->cold = how == BOOT_CREATE_STOPPED;
	b->r.netns = -1;
	/* A template may be renamed; a sandbox stays with what it has. */
	b->template = strdup(ctl_string(sb->rec, "hash", ""));
	if (create && nvlist_exists_string(sb->rec, "clone"))
		b->clone = strdup(nvlist_get_string(sb->rec, "clone"));
	b->policy = strdup(ctl_string(sb->rec, "policy", "mode disabled\n"));
	b->net = wants_net(sb->en, b->policy);
	boot_shares(b);
	b->options = fsd_options(sb->en);
	b->user = strdup(ctl_string(sb->rec, "user", ""));
	box_state(sb, BOX_CREATING, NULL);
	(void)record_save(sb, NULL);
	boot_next(b);
}
