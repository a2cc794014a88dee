/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A coppiced with a prefix in /tmp, in network and mount namespaces of this
 * program's own.
 */

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"
#include "ctl.h"
#include "engine.h"

#define	START_MS	20000
#define	ASK_MS		60000

int
host_run(const char *const *argv, int mountns)
{
	int null, status;
	pid_t pid;

	if ((pid = fork()) == 0) {
		null = open("/dev/null", O_RDWR);
		(void)dup2(null, 0);
		(void)dup2(null, 1);
		if (mountns != -1 && setns(mountns, CLONE_NEWNS) != 0)
			_exit(126);
		execvp(argv[0], (char **)(uintptr_t)argv);
		_exit(127);
	}
	if (pid == -1)
		err(2, "fork");
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			err(2, "waitpid");
	return (WIFEXITED(status) ? WEXITSTATUS(status) : 255);
}

int
host_ask(struct host *h, const char *op, const char *id, nvlist_t **answer)
{
	struct co_error e;
	nvlist_t *nv;
	int ret;

	nv = nvlist_create(0);
	nvlist_add_string(nv, "op", op);
	if (id != NULL)
		nvlist_add_string(nv, "id", id);
	if (strcmp(op, "exec") == 0) {
		nvlist_add_string_array(nv, "argv",
		    (const char *const[]){ "/bin/true" }, 1);
	} else if (strcmp(op, "destroy") == 0)
		nvlist_add_number(nv, "grace_ms", 0);
	else if (strcmp(op, "net.setup") == 0)
		nvlist_add_bool(nv, "dns", false);
	ret = ctl_call(h->ctl, nv, NULL, NULL, co_after(ASK_MS), answer, &e);
	nvlist_destroy(nv);
	if (ret != 0)
		warnx("%s: %s", op, e.message);
	return (ret);
}

/* Addresses rest for a while, so that more are needed than at once. */
static void
configure(const struct host *h)
{
	char path[128];
	FILE *fp;

	(void)snprintf(path, sizeof(path), "%s/coppice.conf", h->dir);
	fp = fopen(path, "w");
	if (fp == NULL || fputs("net { jail { range = \"10.78.0.0/20\" } }\n",
	    fp) == EOF || fclose(fp) != 0)
		err(2, "%s", path);
}

static void
start(struct host *h, const char *objtop)
{
	char program[1024], path[128], log[128];
	co_moment until = co_after(START_MS);
	struct co_error e;
	int fd;

	(void)snprintf(program, sizeof(program), "%s/sbin/coppiced/coppiced",
	    objtop);
	(void)snprintf(path, sizeof(path), "%s/run/control", h->dir);
	(void)snprintf(log, sizeof(log), "%s/log", h->dir);
	if ((h->daemon = fork()) == 0) {
		fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
		(void)dup2(fd, 2);
		(void)execl(program, "coppiced", "-f", "-p", h->dir,
		    (char *)NULL);
		_exit(127);
	}
	while (ctl_connect(path, &h->ctl, &e) != 0) {
		if (co_left(until) == 0)
			errx(2, "%s: %s", program, e.message);
		(void)usleep(20000);
	}
}

/* What a sandbox is made of, for who runs it otherwise. */
static void
find_root(struct host *h)
{
	nvlist_t *nv;

	if (host_ask(h, "create", NULL, &nv) != 0)
		exit(2);
	if (asprintf(&h->root, "%s/state/templates/%s/root", h->dir,
	    ctl_string(nv, "hash", "")) == -1)
		err(2, "asprintf");
	if (host_ask(h, "destroy", ctl_string(nv, "id", ""), NULL) != 0)
		exit(2);
	nvlist_destroy(nv);
}

/* The child goes on; its end is ours. */
static void
become(void)
{
	int status;
	pid_t pid;

	if ((pid = fork()) == -1)
		err(2, "fork");
	if (pid == 0)
		return;
	while (waitpid(pid, &status, 0) == -1)
		;
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 2);
}

/* What ends the first process in there ends all; then the folder goes. */
static void
enclose(struct host *h)
{
	const char *rm[] = { "rm", "-rf", h->dir, NULL };
	int status;
	pid_t pid;

	if ((pid = fork()) == -1)
		err(2, "fork");
	if (pid != 0) {
		while (waitpid(pid, &status, 0) == -1)
			;
		(void)host_run(rm, -1);
		exit(WIFEXITED(status) ? WEXITSTATUS(status) : 2);
	}
	if (unshare(CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		err(2, "namespaces");
	become();
	if (mount("proc", "/proc", "proc", 0, NULL) != 0)
		err(2, "/proc");
}

void
host_open(struct host *h, const char *objtop)
{
	const char *lo[] = { "ip", "link", "set", "lo", "up", NULL };

	(void)snprintf(h->dir, sizeof(h->dir), "/tmp/coppice-bench.XXXXXX");
	if (mkdtemp(h->dir) == NULL)
		err(2, "%s", h->dir);
	enclose(h);
	(void)host_run(lo, -1);
	configure(h);
	start(h, objtop);
	if (host_ask(h, "net.setup", NULL, NULL) != 0)
		exit(2);
	find_root(h);
}

void
host_close(struct host *h)
{
	int status;

	ctl_free(h->ctl);
	(void)kill(h->daemon, SIGTERM);
	(void)waitpid(h->daemon, &status, 0);
	free(h->root);
}

double
host_memory(void)
{
	double total = 0, available = 0;
	char line[128];
	FILE *fp;

	fp = fopen("/proc/meminfo", "r");
	if (fp == NULL)
		err(2, "/proc/meminfo");
	while (fgets(line, sizeof(line), fp) != NULL)
		if (sscanf(line, "MemTotal: %lf", &total) == 0)
			(void)sscanf(line, "MemAvailable: %lf", &available);
	(void)fclose(fp);
	return ((total - available) * 1024);
}
