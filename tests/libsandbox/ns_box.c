/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sandboxes for tests.
 */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atf-c.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ns_box.h"

#define	MAXBOXES	64

static struct box *boxes[MAXBOXES];
static size_t nboxes;
static pid_t owner;

static void
at_exit(void)
{

	if (getpid() != owner)
		return;
	for (size_t i = 0; i < nboxes; i++)
		if (boxes[i]->live) {
			(void)backend_ns.stop(&boxes[i]->spec,
			    &boxes[i]->run, NULL);
			(void)backend_ns.remove(&boxes[i]->spec, NULL);
		}
}

void
box_write(const char *path, const char *text)
{
	int fd;

	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	ATF_REQUIRE_MSG(fd != -1, "%s: %s", path, strerror(errno));
	ATF_REQUIRE(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

void
box_install(struct box *b, const char *from, const char *to, mode_t mode)
{
	char path[PATH_MAX + 64], buf[65536];
	ssize_t n;
	int in, out;

	snprintf(path, sizeof(path), "%s/%s", b->template, to);
	in = open(from, O_RDONLY);
	ATF_REQUIRE_MSG(in != -1, "%s: %s", from, strerror(errno));
	out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	ATF_REQUIRE_MSG(out != -1, "%s: %s", path, strerror(errno));
	while ((n = read(in, buf, sizeof(buf))) > 0)
		ATF_REQUIRE(write(out, buf, (size_t)n) == n);
	ATF_REQUIRE(fchmod(out, mode) == 0);
	close(in);
	close(out);
}

static void
make_template(struct box *b)
{
	static const char *const dirs[] = { "", "bin", "etc", "tmp", "proc",
	    "home", "home/user", "root", "usr" };
	static const char *const applets[] = { "sh", "cat", "echo", "ls",
	    "id", "mount", "ps", "sleep", "head", "dd", "rm", "mkdir", "mv",
	    "hostname", "true", "false", "stat", "grep", "wc", "tail", "ln",
	    "yes", "chmod", "chown", "touch", "ip", "cut", "sync", "test",
	    "du", "df", "sort", "readlink", "find", "sed", "tr", "kill",
	    "cp", "nc", "ping" };
	char path[PATH_MAX + 64];

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", b->template, dirs[i]);
		ATF_REQUIRE(mkdir(path, 0755) == 0);
	}
	snprintf(path, sizeof(path), "%s/tmp", b->template);
	ATF_REQUIRE(chmod(path, 01777) == 0);
	snprintf(path, sizeof(path), "%s/home/user", b->template);
	ATF_REQUIRE(chown(path, 1000, 1000) == 0);
	box_install(b, "/bin/busybox", "bin/busybox", 0755);
	for (size_t i = 0; i < sizeof(applets) / sizeof(applets[0]); i++) {
		snprintf(path, sizeof(path), "%s/bin/%s", b->template,
		    applets[i]);
		ATF_REQUIRE(symlink("busybox", path) == 0);
	}
	snprintf(path, sizeof(path), "%s/etc/passwd", b->template);
	box_write(path, "root:x:0:0::/root:/bin/sh\n"
	    "user:x:1000:1000::/home/user:/bin/sh\n");
	snprintf(path, sizeof(path), "%s/etc/group", b->template);
	box_write(path, "root:x:0:\nuser:x:1000:\n");
}

void
box_init(struct box *b)
{
	char cwd[PATH_MAX / 2];

	memset(b, 0, sizeof(*b));
	co_id_make(b->id);
	ATF_REQUIRE(getcwd(cwd, sizeof(cwd)) != NULL);
	snprintf(b->dir, sizeof(b->dir), "%s/box.%s", cwd, b->id);
	snprintf(b->rundir, sizeof(b->rundir), "%s/run.%s", cwd, b->id);
	snprintf(b->template, sizeof(b->template), "%s/template", cwd);
	ATF_REQUIRE(mkdir(b->dir, 0700) == 0);
	ATF_REQUIRE(mkdir(b->rundir, 0700) == 0);
	if (access(b->template, F_OK) != 0)
		make_template(b);
	b->spec = (struct sandbox_spec){ .id = b->id, .name = "box",
	    .dir = b->dir, .run = b->rundir, .template = b->template,
	    .shim = SHIM_PROG, .listenfd = -1 };
	b->run = (struct sandbox_run){ .netns = -1 };
	if (nboxes == 0) {
		owner = getpid();
		atexit(at_exit);
	}
	ATF_REQUIRE(nboxes < MAXBOXES);
	boxes[nboxes++] = b;
	b->live = true;
}

static struct sockaddr_un
address(const struct box *b)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };

	snprintf(sun.sun_path, sizeof(sun.sun_path), "run.%s/shim", b->id);
	return (sun);
}

static int
listener(const struct box *b)
{
	struct sockaddr_un sun = address(b);
	int fd;

	(void)unlink(sun.sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ATF_REQUIRE(bind(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0);
	ATF_REQUIRE(listen(fd, 4) == 0);
	return (fd);
}

int
box_try(struct box *b)
{
	int error;

	b->spec.listenfd = listener(b);
	error = backend_ns.start(&b->spec, &b->run, &b->e);
	close(b->spec.listenfd);
	b->spec.listenfd = -1;
	return (error);
}

/* As client_connect() does, to one of many. */
void
box_connect(struct box *b)
{
	struct sockaddr_un sun = address(b);
	struct client *c = &b->client;
	int fd;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ATF_REQUIRE(connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0);
	c->ready = c->lost = false;
	c->s = shim_new(fd, 0, &client_handlers, c, &c->e);
	ATF_REQUIRE_MSG(c->s != NULL, "%s", c->e.message);
	client_wait(c, &c->ready);
}

void
box_start(struct box *b)
{

	ATF_REQUIRE_MSG(backend_ns.prepare(&b->spec, &b->e) == 0, "%s: %s",
	    b->e.what, b->e.message);
	ATF_REQUIRE_MSG(box_try(b) == 0, "%s: %s", b->e.what, b->e.message);
	box_connect(b);
}

void
box_stop(struct box *b)
{

	if (b->client.s != NULL)
		client_disconnect(&b->client);
	ATF_REQUIRE_MSG(backend_ns.stop(&b->spec, &b->run, &b->e) == 0,
	    "%s: %s", b->e.what, b->e.message);
	if (b->run.netns != -1)
		close(b->run.netns);
	b->run = (struct sandbox_run){ .netns = -1 };
}

void
box_remove(struct box *b)
{

	ATF_REQUIRE_MSG(backend_ns.remove(&b->spec, &b->e) == 0, "%s: %s",
	    b->e.what, b->e.message);
	b->live = false;
}

const char *
box_sh(struct box *b, const char *command)
{
	struct run *r = client_sh(&b->client, command);

	r->out[0][strcspn(r->out[0], "\n")] = '\0';
	return (r->out[0]);
}

static void
no_cgroup(const struct box *b)
{
	static const char *const at[] = { "", "unified", "memory", "cpu",
	    "cpuacct", "pids", "freezer" };
	char path[256];

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/coppice/%s",
		    at[i], b->id);
		ATF_CHECK_MSG(access(path, F_OK) != 0, "%s is left", path);
	}
}

static void
no_slot(const struct box *b)
{
	char got[64];
	struct dirent *de;
	ssize_t n;
	DIR *d;

	ATF_REQUIRE((d = opendir(NS_RUN)) != NULL);
	while ((de = readdir(d)) != NULL) {
		n = readlinkat(dirfd(d), de->d_name, got, sizeof(got) - 1);
		got[n > 0 ? n : 0] = '\0';
		ATF_CHECK_MSG(strcmp(got, b->id) != 0, "slot %s is left",
		    de->d_name);
	}
	closedir(d);
}

/* A line of the file has the sandbox's id in it. */
static bool
mentions(const char *path, const char *id)
{
	char line[8192];
	bool found = false;
	FILE *fp;

	if ((fp = fopen(path, "re")) == NULL)
		return (false);
	while (!found && fgets(line, sizeof(line), fp) != NULL)
		found = strstr(line, id) != NULL;
	fclose(fp);
	return (found);
}

void
box_gone(const struct box *b)
{
	char path[512], state;
	struct dirent *de;
	DIR *d;

	no_cgroup(b);
	no_slot(b);
	ATF_CHECK_MSG(!mentions("/proc/self/mountinfo", b->id),
	    "a mount is left");
	/* No process is in its cgroup, or has its mounts. */
	ATF_REQUIRE((d = opendir("/proc")) != NULL);
	while ((de = readdir(d)) != NULL) {
		if (de->d_name[0] < '1' || de->d_name[0] > '9')
			continue;
		/* Dead ones may wait for a parent that is not us. */
		state = 'Z';
		(void)ns_birth((pid_t)strtol(de->d_name, NULL, 10), &state);
		if (state == 'Z')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/cgroup", de->d_name);
		ATF_CHECK_MSG(!mentions(path, b->id), "%s lives",
		    de->d_name);
		snprintf(path, sizeof(path), "/proc/%s/mountinfo",
		    de->d_name);
		ATF_CHECK_MSG(!mentions(path, b->id), "%s has its mounts",
		    de->d_name);
	}
	closedir(d);
	ATF_REQUIRE((d = opendir("/sys/block")) != NULL);
	while ((de = readdir(d)) != NULL) {
		snprintf(path, sizeof(path),
		    "/sys/block/%s/loop/backing_file", de->d_name);
		/* The kernel lets go of it when it gets round to that. */
		for (int i = 0; i < 100 && mentions(path, b->id); i++)
			(void)usleep(50000);
		ATF_CHECK_MSG(!mentions(path, b->id), "%s is left",
		    de->d_name);
	}
	closedir(d);
}
