/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Mounting and unmounting for benchmarks.
 */

#include <sys/stat.h>
#include <sys/wait.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <coppice.h>
#include <ctl.h>

#include "mounts.h"

#define	WAIT_MS	10000

int
mount_places(struct mount *m, const char *base, const char *name)
{
	memset(m, 0, sizeof(*m));
	m->pid = -1;
	(void)snprintf(m->dir, sizeof(m->dir), "%s/%s", base, name);
	(void)snprintf(m->at, sizeof(m->at), "%s/%s.at", base, name);
	if (mkdir(m->dir, 0755) == -1 || mkdir(m->at, 0755) == -1) {
		warn("%s", m->dir);
		return (-1);
	}
	return (0);
}

pid_t
mount_run(const char *const argv[], const char *log)
{
	pid_t pid;
	int fd;

	if ((pid = fork()) != 0)
		return (pid);
	fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (fd != -1)
		(void)dup2(fd, STDERR_FILENO);
	(void)execvp(argv[0], (char *const *)(uintptr_t)argv);
	_exit(127);
}

static int
spawn(struct mount *m, const char *base, const char *const argv[])
{
	char log[PATH_MAX];

	(void)snprintf(log, sizeof(log), "%s/log", base);
	return ((m->pid = mount_run(argv, log)) == -1 ? -1 : 0);
}

int
mount_spawn(struct mount *m, const char *base, const char *const argv[],
    const char *sock)
{
	co_moment end;

	if (spawn(m, base, argv) == -1)
		return (-1);
	for (end = co_after(WAIT_MS); co_left(end) > 0; (void)usleep(20000)) {
		if (access(sock, F_OK) == 0)
			return (0);
		if (waitpid(m->pid, NULL, WNOHANG) == m->pid) {
			m->pid = -1;
			break;
		}
	}
	warnx("%s: not served", sock);
	return (-1);
}

/* It is mounted when it is on another device than its parent. */
static int
wait_mounted(struct mount *m)
{
	struct stat a, b;
	co_moment end;

	for (end = co_after(WAIT_MS); co_left(end) > 0; (void)usleep(20000)) {
		if (stat(m->dir, &a) == 0 && stat(m->at, &b) == 0 &&
		    a.st_dev != b.st_dev)
			return (0);
		if (waitpid(m->pid, NULL, WNOHANG) == m->pid)
			break;
	}
	warnx("%s: not mounted", m->at);
	return (-1);
}

/* The server itself, with its control socket, and a store if asked for. */
static int
serve(struct mount *m, const char *base, const char *name, const char *how,
    bool undo, const char *options)
{
	char sock[PATH_MAX], store[PATH_MAX];
	const char *argv[] = { FSD, "-f", "-l", "warn", "-r", m->dir, "-t",
	    how, "-o", options, "-c", sock, NULL, NULL, NULL };
	struct co_error e;

	(void)snprintf(sock, sizeof(sock), "%s/%s.sock", base, name);
	(void)snprintf(store, sizeof(store), "%s/%s.undo", base, name);
	if (undo) {
		argv[12] = "-u";
		argv[13] = store;
	}
	if (mount_spawn(m, base, argv, sock) == -1)
		return (-1);
	if (undo && ctl_connect(sock, &m->ctl, &e) == -1) {
		warnx("%s", e.message);
		return (-1);
	}
	return (0);
}

int
mount_ours(struct mount *m, const char *base, const char *name, bool undo,
    const char *options)
{
	char how[PATH_MAX + 8];

	if (mount_places(m, base, name) == -1)
		return (-1);
	(void)snprintf(how, sizeof(how), "fuse:%s", m->at);
	if (serve(m, base, name, how, undo, options) == -1)
		return (-1);
	return (wait_mounted(m));
}

int
mount_serve(struct mount *m, const char *base, const char *name,
    const char *kind, const char *sock, const char *options)
{
	char how[PATH_MAX + 16];

	(void)snprintf(how, sizeof(how), "%s%s", kind, sock);
	return (serve(m, base, name, how, true, options));
}

int
mount_bindfs(struct mount *m, const char *base, const char *name)
{
	const char *argv[] = { "bindfs", "-f", m->dir, m->at, NULL };

	if (mount_places(m, base, name) == -1 || spawn(m, base, argv) == -1)
		return (-1);
	return (wait_mounted(m));
}

static int
ask(struct mount *m, const char *op, int64_t id)
{
	struct co_error e;
	nvlist_t *nv;
	int ret;

	if (m->ctl == NULL)
		return (0);
	if ((nv = nvlist_create(0)) == NULL)
		return (-1);
	nvlist_add_string(nv, "op", op);
	nvlist_add_number(nv, "id", (uint64_t)id);
	ret = ctl_call(m->ctl, nv, NULL, NULL, co_after(60000), NULL, &e);
	nvlist_destroy(nv);
	if (ret == -1)
		warnx("%s: %s", op, e.message);
	return (ret);
}

int
mount_begin(struct mount *m)
{

	return (ask(m, "step.begin", ++m->step));
}

int
mount_end(struct mount *m)
{

	if (ask(m, "step.complete", m->step) == -1)
		return (-1);
	return (ask(m, "discard", 0));
}

void
mount_close(struct mount *m)
{

	ctl_free(m->ctl);
	m->ctl = NULL;
	if (m->pid > 0) {
		(void)kill(m->pid, SIGTERM);
		(void)waitpid(m->pid, NULL, 0);
	}
	m->pid = -1;
}
