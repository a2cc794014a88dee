/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Cgroups: where the host has them, and the one of each sandbox, named
 * coppice/<id> in every hierarchy.  Hosts have version 2, version 1, or
 * version 1 with an empty version 2 beside it, which still freezes and kills.
 */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ns.h"

#define	PATHSIZE	256

static const char *const controllers[CG_N] = {
	"", "memory", "cpu", "cpuacct", "pids", "freezer"
};

/* Where each controller is; empty: nowhere.  Written once. */
static char at[CG_N][128];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
nap(long us)
{
	struct timespec ts = { .tv_nsec = us * 1000 };

	(void)nanosleep(&ts, NULL);
}

static int
put(const char *path, const char *text)
{
	int fd, error = 0;

	if ((fd = open(path, O_WRONLY | O_CLOEXEC)) == -1)
		return (errno);
	if (write(fd, text, strlen(text)) == -1)
		error = errno;
	close(fd);
	return (error);
}

static ssize_t
get(const char *path, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n = 0;
	int fd;

	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return (-1);
	while (len < size - 1 &&
	    (n = read(fd, buf + len, size - 1 - len)) > 0)
		len += (size_t)n;
	close(fd);
	buf[len] = '\0';
	return (n == -1 ? -1 : (ssize_t)len);
}

/* Is the word in a list that commas or spaces separate? */
static bool
listed(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; (p = strstr(p, word)) != NULL; p += n)
		if ((p == list || p[-1] == ',' || p[-1] == ' ') &&
		    strchr(", \n", p[n]) != NULL)
			return (true);
	return (false);
}

/* "36 35 98:0 / /where options - cgroup2 source superoptions" */
static void
look(char *line)
{
	char root[8], where[sizeof(at[0])], type[16], opts[256];
	char *rest;

	if (sscanf(line, "%*s %*s %*s %7s %127s", root, where) != 2 ||
	    strcmp(root, "/") != 0 || (rest = strstr(line, " - ")) == NULL ||
	    sscanf(rest, " - %15s %*s %255s", type, opts) != 2)
		return;
	if (strcmp(type, "cgroup2") == 0)
		memcpy(at[CG_UNIFIED], where, sizeof(where));
	if (strcmp(type, "cgroup") != 0)
		return;
	for (int c = CG_MEMORY; c < CG_N; c++)
		if (listed(opts, controllers[c]))
			memcpy(at[c], where, sizeof(where));
}

/* What version 2 controls; the rest may be with version 1. */
static void
look_unified(void)
{
	char path[PATHSIZE], have[512];

	(void)snprintf(path, sizeof(path), "%.127s/cgroup.controllers",
	    at[CG_UNIFIED]);
	if (get(path, have, sizeof(have)) == -1)
		return;
	for (int c = CG_MEMORY; c <= CG_PIDS; c++)
		if (listed(have, controllers[c == CG_CPUACCT ? CG_CPU : c]))
			memcpy(at[c], at[CG_UNIFIED], sizeof(at[c]));
}

/* The folder of all sandboxes, with its controllers handed down. */
static void
parents(void)
{
	static const char *const down[] = { "+memory", "+cpu", "+pids" };
	char path[PATHSIZE];

	for (int c = 0; c < CG_N; c++) {
		if (at[c][0] == '\0')
			continue;
		(void)snprintf(path, sizeof(path), "%.127s/coppice", at[c]);
		(void)mkdir(path, 0755);
	}
	for (size_t i = 0; i < 3 && ns_cgroup_v2(CG_MEMORY); i++) {
		(void)snprintf(path, sizeof(path),
		    "%.127s/cgroup.subtree_control", at[CG_UNIFIED]);
		(void)put(path, down[i]);
		(void)snprintf(path, sizeof(path),
		    "%.127s/coppice/cgroup.subtree_control", at[CG_UNIFIED]);
		(void)put(path, down[i]);
	}
}

static void
find(void)
{
	char line[1024];
	FILE *fp;

	if ((fp = fopen("/proc/self/mountinfo", "re")) == NULL)
		return;
	while (fgets(line, sizeof(line), fp) != NULL)
		look(line);
	fclose(fp);
	if (at[CG_UNIFIED][0] != '\0')
		look_unified();
	parents();
}

bool
ns_cgroup_there(enum ns_controller c)
{

	return (at[c][0] != '\0');
}

bool
ns_cgroup_v2(enum ns_controller c)
{

	return (at[c][0] != '\0' && strcmp(at[c], at[CG_UNIFIED]) == 0);
}

/* Another controller before this one has the same hierarchy. */
static bool
again(int c)
{

	for (int i = 0; i < c; i++)
		if (strcmp(at[i], at[c]) == 0)
			return (true);
	return (false);
}

static void
place(char *path, const char *id, int c, const char *file)
{

	(void)snprintf(path, PATHSIZE, "%.127s/coppice/%.32s%s%s", at[c], id,
	    file[0] != '\0' ? "/" : "", file);
}

int
ns_cgroup_write(const char *id, enum ns_controller c, const char *file,
    const char *text)
{
	char path[PATHSIZE];

	place(path, id, (int)c, file);
	return (put(path, text));
}

ssize_t
ns_cgroup_read(const char *id, enum ns_controller c, const char *file,
    char *buf, size_t size)
{
	char path[PATHSIZE];

	place(path, id, (int)c, file);
	return (get(path, buf, size));
}

static int
make(const char *id, int c, struct ns_cgroup *cg)
{
	char path[PATHSIZE];
	int fd;

	place(path, id, c, "");
	if (mkdir(path, 0755) != 0 && errno == ENOENT) {
		parents();
		(void)mkdir(path, 0755);
	}
	if (c != CG_UNIFIED)
		place(path, id, c, "tasks");
	fd = open(path, (c == CG_UNIFIED ? O_RDONLY | O_DIRECTORY :
	    O_WRONLY) | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	if (c == CG_UNIFIED)
		cg->into = fd;
	else
		cg->tasks[cg->ntasks++] = fd;
	return (0);
}

int
ns_cgroup_make(const struct sandbox_spec *s, struct ns_cgroup *cg,
    struct co_error *e)
{

	pthread_once(&once, find);
	cg->into = -1;
	cg->ntasks = 0;
	for (int c = 0; c < CG_N; c++) {
		if (at[c][0] == '\0' || again(c))
			continue;
		/* Version 2 freezes better. */
		if (c == CG_FREEZER && ns_cgroup_there(CG_UNIFIED))
			continue;
		if (make(s->id, c, cg) != 0)
			return (co_error_errno(e, errno, at[c],
			    "can't make a cgroup"));
	}
	if (cg->into == -1 && cg->ntasks == 0)
		return (co_error_set(e, CO_ESYS_UNSUPPORTED, "/sys/fs/cgroup",
		    "no cgroups are mounted; mount them"));
	return (ns_limit_set(s, false, e));
}

void
ns_cgroup_close(struct ns_cgroup *cg)
{

	if (cg->into != -1)
		close(cg->into);
	for (size_t i = 0; i < cg->ntasks; i++)
		close(cg->tasks[i]);
	cg->into = -1;
	cg->ntasks = 0;
}

bool
ns_cgroup_has(const char *id, pid_t pid)
{
	char path[64], want[64], buf[4096];

	(void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	(void)snprintf(want, sizeof(want), "/coppice/%s\n", id);
	return (get(path, buf, sizeof(buf)) > 0 && strstr(buf, want) != NULL);
}

static bool
frozen(const char *id, bool v2, bool on)
{
	char buf[256];

	if (ns_cgroup_read(id, v2 ? CG_UNIFIED : CG_FREEZER,
	    v2 ? "cgroup.events" : "freezer.state", buf, sizeof(buf)) == -1)
		return (true);
	if (v2)
		return ((strstr(buf, "frozen 1") != NULL) == on);
	return (strncmp(buf, on ? "FROZEN" : "THAWED", 6) == 0);
}

int
ns_cgroup_freeze(const char *id, bool on, struct co_error *e)
{
	co_moment until = co_after(10000);
	bool v2;
	int error;

	pthread_once(&once, find);
	v2 = ns_cgroup_there(CG_UNIFIED);
	if (v2)
		error = ns_cgroup_write(id, CG_UNIFIED, "cgroup.freeze",
		    on ? "1" : "0");
	else
		error = ns_cgroup_write(id, CG_FREEZER, "freezer.state",
		    on ? "FROZEN" : "THAWED");
	if (error != 0)
		return (co_error_errno(e, error, id, "can't %s the sandbox",
		    on ? "freeze" : "thaw"));
	while (!frozen(id, v2, on)) {
		if (co_left(until) == 0)
			return (co_error_set(e, CO_ESANDBOX_TIMEOUT, id,
			    "the sandbox does not %s",
			    on ? "freeze" : "thaw"));
		nap(500);
	}
	return (0);
}

/* One by one, where the kernel can't do it at once. */
static void
kill_each(const char *id, int c)
{
	char buf[65536], *p, *end;
	long pid;

	if (ns_cgroup_read(id, (enum ns_controller)c, "cgroup.procs", buf,
	    sizeof(buf)) <= 0)
		return;
	for (p = buf; (pid = strtol(p, &end, 10)) > 0; p = end)
		(void)kill((pid_t)pid, SIGKILL);
}

void
ns_cgroup_kill(const char *id)
{

	pthread_once(&once, find);
	if (ns_cgroup_there(CG_UNIFIED) && ns_cgroup_write(id, CG_UNIFIED,
	    "cgroup.kill", "1") == 0)
		return;
	for (int c = 0; c < CG_N; c++)
		if (at[c][0] != '\0' && !again(c))
			kill_each(id, c);
}

int
ns_cgroup_remove(const char *id, struct co_error *e)
{
	co_moment until = co_after(NS_STOP_MS);
	char path[PATHSIZE];
	long wait = 100;

	pthread_once(&once, find);
	for (int c = 0; c < CG_N; c++) {
		if (at[c][0] == '\0' || again(c))
			continue;
		place(path, id, c, "");
		while (rmdir(path) != 0 && errno != ENOENT) {
			if (errno != EBUSY || co_left(until) == 0)
				return (co_error_errno(e, errno, path,
				    "can't remove the cgroup"));
			ns_cgroup_kill(id);
			nap(wait);
			wait = wait < 10000 ? wait * 2 : wait;
		}
	}
	return (0);
}

void
ns_cgroup_probe(backend_finding_fn *fn, void *arg)
{
	static const int wanted[] = { CG_MEMORY, CG_CPU, CG_PIDS };
	char what[64];

	pthread_once(&once, find);
	for (size_t i = 0; i < 3; i++) {
		(void)snprintf(what, sizeof(what), "cgroup controller %s",
		    controllers[wanted[i]]);
		fn(arg, what, ns_cgroup_there((enum ns_controller)wanted[i]),
		    "mount cgroups with it, or limits won't hold");
	}
	fn(arg, "freezing cgroups", ns_cgroup_there(CG_UNIFIED) ||
	    ns_cgroup_there(CG_FREEZER),
	    "mount cgroup2, or the freezer, to pause sandboxes");
}
