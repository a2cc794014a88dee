/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The jail backend: FreeBSD's VNET jails.  This file makes, finds and ends
 * the two jails of a sandbox and starts the shim in the inner one.
 */

#include <sys/param.h>
#include <sys/jail.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/sysctl.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "jail_internal.h"

#define	STOP_MS		10000

/* The jail of the name ${fmt}, JAIL_OUTER or JAIL_INNER, or -1. */
int
jail_find(const char *id, const char *fmt)
{
	struct jail_vec v = { .n = 0 };
	char name[JAIL_NAMESIZE];

	if (strcmp(fmt, JAIL_OUTER) == 0)
		(void)snprintf(name, sizeof(name), JAIL_OUTER, id);
	else
		(void)snprintf(name, sizeof(name), JAIL_INNER, id);
	jail_vec_string(&v, "name", name);
	return (jail_get(v.v, v.n, 0));
}

static int
set(struct jail_vec *v, const char *what, struct co_error *e)
{
	char msg[256] = "";
	int jid;

	jail_vec_add(v, "errmsg", msg, sizeof(msg));
	if ((jid = jail_set(v->v, v->n, JAIL_CREATE)) != -1)
		return (jid);
	return (co_error_errno(e, errno, what, "can't make the jail%s%s",
	    msg[0] != '\0' ? ": " : "", msg));
}

static int
make_outer(const struct sandbox_spec *s, struct co_error *e)
{
	const int new = JAIL_SYS_NEW, one = 1, statfs_all = 2;
	struct jail_vec v = { .n = 0 };
	char name[JAIL_NAMESIZE];

	(void)snprintf(name, sizeof(name), JAIL_OUTER, s->id);
	jail_vec_string(&v, "name", name);
	jail_vec_string(&v, "path", "/var/empty");
	jail_vec_string(&v, "host.hostname", s->name);
	jail_vec_add(&v, "vnet", &new, sizeof(new));
	jail_vec_add(&v, "children.max", &one, sizeof(one));
	jail_vec_add(&v, "enforce_statfs", &statfs_all, sizeof(statfs_all));
	jail_vec_flag(&v, "persist");
	return (set(&v, name, e));
}

/* Is there such a parameter?  Some come with modules. */
static bool
known(const char *param)
{
	char mib[64];
	size_t len;

	(void)snprintf(mib, sizeof(mib), "security.jail.param.%s", param);
	return (sysctlbyname(mib, NULL, &len, NULL, 0) == 0);
}

static int
make_inner(const struct sandbox_spec *s, const char *root, struct co_error *e)
{
	static const char *const off[] = { "allow.raw_sockets",
	    "allow.set_hostname", "allow.sysvipc", "allow.mount",
	    "allow.quotas", "allow.socket_af", "allow.chflags", "allow.mlock",
	    "allow.read_msgbuf", "allow.nfsd", "allow.vmm",
	    "allow.settime", "allow.routing" };
	static const char *const no[] = { "allow.noraw_sockets",
	    "allow.noset_hostname", "allow.nosysvipc", "allow.nomount",
	    "allow.noquotas", "allow.nosocket_af", "allow.nochflags",
	    "allow.nomlock", "allow.noread_msgbuf", "allow.nonfsd",
	    "allow.novmm", "allow.nosettime", "allow.norouting" };
	static const char *const ipc[] = { "sysvmsg", "sysvsem", "sysvshm" };
	const int inherit = JAIL_SYS_INHERIT, level = 3, new = JAIL_SYS_NEW;
	const int rules = atoi(JAIL_RULESET), statfs_all = 2, zero = 0;
	struct jail_vec v = { .n = 0 };
	char name[JAIL_NAMESIZE];

	(void)snprintf(name, sizeof(name), JAIL_INNER, s->id);
	jail_vec_string(&v, "name", name);
	jail_vec_string(&v, "path", root);
	jail_vec_string(&v, "host.hostname", s->name);
	jail_vec_add(&v, "ip4", &inherit, sizeof(inherit));
	jail_vec_add(&v, "ip6", &inherit, sizeof(inherit));
	jail_vec_add(&v, "children.max", &zero, sizeof(zero));
	jail_vec_add(&v, "securelevel", &level, sizeof(level));
	jail_vec_add(&v, "enforce_statfs", &statfs_all, sizeof(statfs_all));
	jail_vec_add(&v, "devfs_ruleset", &rules, sizeof(rules));
	for (size_t i = 0; i < nitems(off); i++)
		if (known(off[i]))
			jail_vec_flag(&v, no[i]);
	for (size_t i = 0; i < nitems(ipc); i++)
		if (known(ipc[i]))
			jail_vec_add(&v, ipc[i], &new, sizeof(new));
	jail_vec_flag(&v, "persist");
	return (set(&v, name, e));
}

/* What the shim gets of us. */
struct launch {
	int		 jid;
	int		 shim;
	int		 listen;
	int		 log;
	int		 report;	/* pid, or a negative errno */
	rlim_t		 files;
};

/* In the grandchild: system calls only, the parent has threads. */
static void
become_shim(const struct launch *l)
{
	static char *const argv[] = { __DECONST(char *, "coppice-shim"),
	    __DECONST(char *, "--listen"), __DECONST(char *, "3"),
	    __DECONST(char *, "--run"),
	    __DECONST(char *, "/var/run/coppice"), NULL };
	static char *const envv[] = { NULL };
	struct rlimit rl = { l->files, l->files };
	sigset_t none;
	int null, pid, report;

	pid = (int)getpid();
	report = l->report;
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	for (int i = 1; i < NSIG; i++)
		(void)signal(i, SIG_DFL);
	(void)setsid();
	if (l->files != 0)
		(void)setrlimit(RLIMIT_NOFILE, &rl);
	if ((null = open("/dev/null", O_RDWR)) == -1 ||
	    dup2(null, 0) == -1 || dup2(l->log, 1) == -1 ||
	    dup2(l->log, 2) == -1 || dup2(l->listen, 3) == -1 ||
	    dup2(l->report, 4) == -1 || dup2(l->shim, 5) == -1)
		goto out;
	/* A jail admits nobody who holds a directory open. */
	closefrom(6);
	report = 4;
	if (chdir("/") == 0 && jail_attach(l->jid) == 0 &&
	    write(4, &pid, sizeof(pid)) == sizeof(pid) &&
	    close_range(4, 5, CLOSE_RANGE_CLOEXEC) == 0)
		(void)fexecve(5, argv, envv);
out:
	pid = -errno;
	(void)write(report, &pid, sizeof(pid));
	_exit(127);
}

/* Out of the way of the descriptors that the shim is to have. */
static int
above(int fd)
{
	int high;

	if (fd == -1 || fd > 9)
		return (fd);
	high = fcntl(fd, F_DUPFD_CLOEXEC, 10);
	(void)close(fd);
	return (high);
}

/*
 * The shim is nobody's child here, so that it outlives us and is reaped by
 * init(8).
 */
static int
launch(struct launch *l, pid_t *pid, struct co_error *e)
{
	int end[2], got, n;
	pid_t child;

	if (pipe2(end, O_CLOEXEC) != 0)
		return (co_error_errno(e, errno, "shim", "pipe"));
	if ((l->report = end[1] = above(end[1])) == -1) {
		(void)close(end[0]);
		return (co_error_errno(e, errno, "shim", "pipe"));
	}
	if ((child = fork()) == 0) {
		if ((child = fork()) == 0)
			become_shim(l);
		_exit(child == -1);
	}
	(void)close(end[1]);
	*pid = 0;
	n = 0;
	if (child != -1) {
		while (waitpid(child, NULL, 0) == -1 && errno == EINTR)
			continue;
		/* The pipe ends when the shim has begun. */
		while ((n = (int)read(end[0], &got, sizeof(got))) ==
		    (int)sizeof(got)) {
			if (got < 0)
				break;
			*pid = got;
		}
	}
	(void)close(end[0]);
	if (n == (int)sizeof(got))
		return (co_error_errno(e, -got, "coppice-shim",
		    "can't start it in the jail"));
	if (child == -1 || *pid == 0)
		return (co_error_set(e, CO_ESANDBOX_START, "coppice-shim",
		    "it ended before it began"));
	return (0);
}

static int
open_log(const struct sandbox_spec *s)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/shim.log", s->dir);
	return (above(open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
	    0600)));
}

static int
start_shim(const struct sandbox_spec *s, int inner, struct sandbox_run *run,
    struct co_error *e)
{
	struct launch l = { .jid = inner, .listen = s->listenfd,
	    .files = (rlim_t)s->limits.files };
	int ret;

	if ((l.shim = above(open(s->shim, O_EXEC | O_CLOEXEC))) == -1)
		return (co_error_errno(e, errno, s->shim, "can't open it"));
	if ((l.log = open_log(s)) == -1) {
		ret = co_error_errno(e, errno, s->dir, "can't make its log");
		goto out;
	}
	ret = launch(&l, &run->pid, e);
	(void)close(l.log);
	if (ret == 0 && (run->birth = jail_proc_birth(run->pid, inner)) == 0)
		ret = co_error_set(e, CO_ESANDBOX_START, s->id,
		    "the shim ended at once; see %s/shim.log", s->dir);
out:
	(void)close(l.shim);
	return (ret);
}

static int
jail_stop(const struct sandbox_spec *s, const struct sandbox_run *run,
    struct co_error *e)
{
	const struct timespec nap = { 0, 2000000 };
	char name[JAIL_NAMESIZE];
	co_moment until;
	int inner, outer;

	(void)run;
	outer = jail_find(s->id, JAIL_OUTER);
	inner = jail_find(s->id, JAIL_INNER);
	if (outer != -1 && jail_remove(outer) != 0 && errno != EINVAL)
		return (co_error_errno(e, errno, s->id,
		    "can't remove its jail"));
	until = co_after(STOP_MS);
	while (inner != -1 && jail_proc_count(inner) > 0) {
		if (co_left(until) == 0)
			return (co_error_set(e, CO_ESANDBOX_TIMEOUT, s->id,
			    "processes of its jail do not end; see "
			    "ps -J %d", inner));
		(void)jail_proc_signal(inner, SIGKILL, NULL);
		(void)nanosleep(&nap, NULL);
	}
	(void)snprintf(name, sizeof(name), JAIL_OUTER, s->id);
	jail_limit_clear(name);
	return (jail_root_unmount(s, e));
}

static int
jail_start(const struct sandbox_spec *s, struct sandbox_run *run,
    struct co_error *e)
{
	char root[PATH_MAX];
	int inner;

	memset(run, 0, sizeof(*run));
	run->netns = -1;
	if (jail_stop(s, run, e) != 0 || jail_root_mount(s, root, e) != 0)
		return (-1);
	if ((run->jid = make_outer(s, e)) == -1 ||
	    (inner = make_inner(s, root, e)) == -1 ||
	    jail_limit(s, run, e) != 0 ||
	    start_shim(s, inner, run, e) != 0) {
		(void)jail_stop(s, run, NULL);
		return (-1);
	}
	return (0);
}

static int
jail_adopt(const struct sandbox_spec *s, struct sandbox_run *run,
    struct co_error *e)
{
	int inner, outer;

	outer = jail_find(s->id, JAIL_OUTER);
	inner = jail_find(s->id, JAIL_INNER);
	run->netns = -1;
	if (outer == -1 || inner == -1 || run->birth == 0 ||
	    jail_proc_birth(run->pid, inner) != run->birth)
		return (co_error_set(e, CO_ESANDBOX_LOST, s->id,
		    "it does not run any more"));
	run->jid = outer;
	return (0);
}

static bool
feature(const char *name)
{
	char mib[64];
	size_t len;
	int on;

	(void)snprintf(mib, sizeof(mib), "kern.features.%s", name);
	len = sizeof(on);
	return (sysctlbyname(mib, &on, &len, NULL, 0) == 0 && on != 0);
}

static int
jail_probe(backend_finding_fn *fn, void *arg, struct co_error *e)
{
	struct xvfsconf vfc;
	bool ok, racct;
	size_t len;
	int on;

	len = sizeof(on);
	racct = sysctlbyname("kern.racct.enable", &on, &len, NULL, 0) == 0 &&
	    on != 0;
	ok = geteuid() == 0;
	fn(arg, "root", ok, "jails are made by root; run coppiced as root");
	fn(arg, "VNET jails", feature("vimage"),
	    "use a kernel with \"options VIMAGE\", as GENERIC is");
	ok = ok && feature("vimage");
	fn(arg, "limits", racct,
	    "put kern.racct.enable=1 into /boot/loader.conf and restart");
	fn(arg, "union of folders", getvfsbyname("unionfs", &vfc) == 0,
	    "kldload unionfs, else roots are copied (or cloned, on ZFS)");
	fn(arg, "nullfs", getvfsbyname("nullfs", &vfc) == 0,
	    "kldload nullfs");
	fn(arg, "fusefs", getvfsbyname("fusefs", &vfc) == 0,
	    "kldload fusefs, which shared folders need");
	if (!ok)
		return (co_error_set(e, CO_ESYS_UNSUPPORTED, "jail",
		    "VNET jails can't be made here"));
	return (0);
}

const struct backend backend_jail = {
	.name = "jail",
	.summary = "VNET jail, sharing the host's kernel",
	.kind = NET_PAIR,
	.probe = jail_probe,
	.prepare = jail_root_prepare,
	.start = jail_start,
	.adopt = jail_adopt,
	.freeze = jail_freeze,
	.limit = jail_limit,
	.usage = jail_usage,
	.stop = jail_stop,
	.remove = jail_root_remove,
	.capture = jail_root_capture,
};
