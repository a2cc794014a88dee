/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Starting and ending coppicefsd(8), in jobs.  It is a process of its own
 * session that survives us; its control socket is run/ID/fs.LABEL, its mount
 * point run/ID/fs/LABEL, its store sandboxes/ID/undo/LABEL.
 */

#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"

#define	START_MS	20000
#define	STOP_MS		5000

struct paths {
	char		*program, *root, *store, *mount, *control, *log;
	char		*options, *transport;
	char		 user[64];
};

static void
paths_free(struct paths *p)
{

	free(p->program);
	free(p->root);
	free(p->store);
	free(p->mount);
	free(p->control);
	free(p->log);
	free(p->options);
	free(p->transport);
}

static char *
textf(const char *fmt, ...) __attribute__((__format__(__printf__, 1, 2)));

static char *
textf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) == -1)
		s = NULL;
	va_end(ap);
	return (s);
}

/* The words of -o that coppice.conf has. */
char *
fsd_options(const struct engine *en)
{
	const struct co_conf *c = en->c.conf;

	return (textf("log=%" PRId64 ",steps=%" PRId64 ",step=%" PRId64
	    ",quiet=%" PRId64 ",ambient=%" PRId64 ",durability=%s,policy=%s"
	    ",deletes=%" PRId64 ",overwrites=%" PRId64 ",oversize=%" PRId64
	    ",renames=%" PRId64 ",timeout=%" PRId64,
	    co_conf_int(c, "undo.max_log_size"),
	    co_conf_int(c, "undo.max_step_count"),
	    co_conf_int(c, "undo.max_single_step_size"),
	    co_conf_int(c, "undo.quiet"),
	    co_conf_int(c, "undo.ambient_quiet"),
	    co_conf_string(c, "undo.durability"),
	    co_conf_string(c, "undo.external"),
	    co_conf_int(c, "safeguard.deletes"),
	    co_conf_int(c, "safeguard.overwrites"),
	    co_conf_int(c, "safeguard.overwrite_size"),
	    co_conf_int(c, "safeguard.renames_over"),
	    co_conf_int(c, "safeguard.timeout")));
}

static int
paths_make(struct paths *p, const struct engine *en,
    const struct sandbox_spec *sp, const nvlist_t *share,
    const char *options, struct co_error *e)
{
	const char *label = ctl_string(share, "label", "");

	memset(p, 0, sizeof(*p));
	p->program = textf("%s/coppicefsd", en->c.libexec);
	p->root = strdup(ctl_string(share, "path", ""));
	p->store = textf("%s/undo/%s", sp->dir, label);
	p->mount = textf("%s/fs/%s", sp->run, label);
	p->control = textf("%s/fs.%s", sp->run, label);
	p->log = textf("%s/fs.%s.log", sp->dir, label);
	p->transport = textf("fuse:%s", p->mount);
	p->options = textf("%s%s", options, ctl_flag(share, "readonly",
	    false) ? ",ro" : "");
	if (p->program != NULL && p->root != NULL && p->store != NULL &&
	    p->mount != NULL && p->control != NULL && p->log != NULL &&
	    p->transport != NULL && p->options != NULL)
		return (0);
	paths_free(p);
	(void)co_error_set(e, CO_ESYS_NOMEM, label, "out of memory");
	return (-1);
}

/* Serve as the one who may write there, never as more. */
static int
user_of(struct paths *p, const nvlist_t *share, struct co_error *e)
{
	uid_t uid = (uid_t)ctl_uint(share, "uid", 0);
	struct passwd pw, *found = NULL;
	char buf[4096];

	if (uid == 0)
		return (0);
	if (getpwuid_r(uid, &pw, buf, sizeof(buf), &found) != 0 ||
	    found == NULL || strlen(pw.pw_name) >= sizeof(p->user))
		return (co_error_set(e, CO_ESHARE_ROOT, p->root,
		    "the owner of \"%s\", %u, is not a user of this host",
		    p->root, (unsigned)uid));
	(void)snprintf(p->user, sizeof(p->user), "%s", pw.pw_name);
	return (0);
}

static int
make_dir(const char *path, struct co_error *e)
{
	int fd;

	fd = co_mkdirs(path, 0700, e);
	if (fd == -1)
		return (-1);
	(void)close(fd);
	return (0);
}

static int
spawn(const struct paths *p, bool readonly, pid_t *pid)
{
	const char *argv[16] = { p->program, "-r", p->root, "-t",
	    p->transport, "-c", p->control, "-o", p->options };
	char *env[] = { (char *)(uintptr_t)"PATH=/sbin:/bin:/usr/sbin:"
	    "/usr/bin:/usr/local/sbin:/usr/local/bin",
	    (char *)(uintptr_t)"LANG=C", NULL };
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	sigset_t all, none;
	size_t n = 9;
	int error;

	if (!readonly) {
		argv[n++] = "-u";
		argv[n++] = p->store;
	}
	if (p->user[0] != '\0') {
		argv[n++] = "-U";
		argv[n++] = p->user;
	}
	(void)sigfillset(&all);
	(void)sigemptyset(&none);
	(void)posix_spawn_file_actions_init(&fa);
	(void)posix_spawnattr_init(&at);
	(void)posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDWR,
	    0);
	(void)posix_spawn_file_actions_adddup2(&fa, 0, 1);
	(void)posix_spawn_file_actions_addopen(&fa, 2, p->log, O_WRONLY |
	    O_CREAT | O_APPEND, 0600);
	(void)posix_spawnattr_setsigdefault(&at, &all);
	(void)posix_spawnattr_setsigmask(&at, &none);
	(void)posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSIGDEF |
	    POSIX_SPAWN_SETSIGMASK);
	error = posix_spawn(pid, p->program, &fa, &at,
	    (char **)(uintptr_t)argv, env);
	(void)posix_spawnattr_destroy(&at);
	(void)posix_spawn_file_actions_destroy(&fa);
	return (error);
}

/* The last that it logged, for people. */
static void
last_words(const char *log, char *buf, size_t size)
{
	ssize_t n = -1;
	off_t end;
	char *line;
	int fd;

	buf[0] = '\0';
	fd = open(log, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return;
	end = lseek(fd, 0, SEEK_END);
	if (end > (off_t)size - 1)
		end -= (off_t)size - 1;
	else
		end = 0;
	n = pread(fd, buf, size - 1, end);
	(void)close(fd);
	if (n <= 0)
		return;
	buf[n] = '\0';
	while (n > 0 && buf[n - 1] == '\n')
		buf[--n] = '\0';
	line = strrchr(buf, '\n');
	if (line != NULL)
		memmove(buf, line + 1, strlen(line + 1) + 1);
}

/* Its first process ends when it serves, or could not. */
static int
await(pid_t pid, const struct paths *p, struct co_error *e)
{
	co_moment until = co_after(START_MS);
	char words[512];
	int status;
	pid_t got;

	while ((got = waitpid(pid, &status, WNOHANG)) != pid) {
		if (got == -1 && errno != EINTR)
			return (co_error_errno(e, errno, p->root, "wait"));
		if (co_left(until) == 0)
			(void)kill(pid, SIGKILL);
		(void)usleep(1000);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return (0);
	last_words(p->log, words, sizeof(words));
	return (co_error_set(e, CO_ESHARE_MOUNT, p->root,
	    "the file server of \"%s\" did not start: %s", p->root, words));
}

int
fsd_start(const struct engine *en, const struct sandbox_spec *sp,
    const nvlist_t *share, const char *options, struct co_error *e)
{
	struct paths p;
	int error, ret = -1;
	pid_t pid;

	if (paths_make(&p, en, sp, share, options, e) != 0)
		return (-1);
	if (user_of(&p, share, e) != 0 || make_dir(p.mount, e) != 0 ||
	    make_dir(p.store, e) != 0)
		goto out;
	error = spawn(&p, ctl_flag(share, "readonly", false), &pid);
	if (error != 0) {
		ret = co_error_errno(e, error, p.program,
		    "can't run \"%s\"", p.program);
		goto out;
	}
	ret = await(pid, &p, e);
out:
	paths_free(&p);
	return (ret);
}

static void
call_quietly(struct ctl *c, const char *op, int64_t id)
{
	struct co_error e;
	nvlist_t *nv;

	nv = nvlist_create(0);
	nvlist_add_string(nv, "op", op);
	if (id != 0)
		nvlist_add_number(nv, "id", (uint64_t)id);
	(void)ctl_call(c, nv, NULL, NULL, co_after(STOP_MS), NULL, &e);
	nvlist_destroy(nv);
}

/* It unmounts and unlinks when it ends; wait until it did. */
static bool
gone(const char *control)
{
	co_moment until = co_after(STOP_MS);

	while (access(control, F_OK) == 0) {
		if (co_left(until) == 0)
			return (false);
		(void)usleep(1000);
	}
	return (true);
}

void
fsd_stop(const struct engine *en, const char *run, const char *label,
    int64_t step)
{
	struct ctl_peer peer = { .pid = 0 };
	struct co_error e;
	struct ctl *c;
	char *control;

	control = textf("%s/fs.%s", run, label);
	if (control == NULL)
		return;
	if (ctl_connect(control, &c, &e) == 0) {
		(void)ctl_peer(c, &peer, &e);
		if (step != 0)
			call_quietly(c, "step.complete", step);
		call_quietly(c, "stop", 0);
		ctl_free(c);
		if (!gone(control)) {
			co_log(en->c.log, CO_WARN, "share", NULL, "the file "
			    "server of %s does not end; it is killed",
			    control);
			if (peer.pid > 1)
				(void)kill(peer.pid, SIGKILL);
			(void)gone(control);
		}
	}
	free(control);
}
