/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The dead-man switch: see deadman.h.  The process that reverts is started
 * before the change and hears of the end of the one that makes it by the end
 * of a pipe; that one hears of the switch's death the same way and then
 * reverts by itself.
 */

#include <sys/file.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deadman.h"

#define	DIRNAME	"change"

struct net_deadman {
	char		*path;
	int		 dir, lock;
	int		 tell;		/* its end tells the switch of ours */
	int		 hear;		/* its end tells us of the switch's */
	pid_t		 pid;
	bool		 armed;
};

static int
deadman_dirfd(struct net *n, char **path, struct co_error *e)
{
	size_t len = strlen(n->conf.statedir) + sizeof(DIRNAME) + 2;
	int fd;

	if ((*path = malloc(len)) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "dead-man switch"));
	snprintf(*path, len, "%s/%s", n->conf.statedir, DIRNAME);
	if ((fd = co_mkdirs(*path, 0700, e)) < 0)
		free(*path);
	return (fd);
}

/*
 * Whoever holds the lock is responsible for the change.  The switch
 * inherits it, so it is free only when both are gone.
 */
static int
deadman_lock(int dir, struct co_error *e)
{
	int fd;

	if ((fd = openat(dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600)) < 0)
		return (co_error_errno(e, errno, "lock",
		    "can't lock the dead-man switch"));
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		close(fd);
		return (co_error_set(e, CO_ENET_INUSE, "net setup",
		    "another change of the host's rules awaits confirmation; "
		    "wait for it to end"));
	}
	return (fd);
}

static int
deadman_win(int dir, const char *as)
{

	return (renameat(dir, "armed", dir, as) == 0 ? 0 : errno);
}

static int
deadman_restore(int dir, struct co_error *e)
{

	if (net_host_restore(dir, e) != 0)
		return (-1);
	net_point("deadman-restored");
	(void)unlinkat(dir, "reverting", 0);
	return (0);
}

/* What a killed run left: unconfirmed or half reverted. */
static int
deadman_recover(int dir, struct co_error *e)
{

	if (deadman_win(dir, "reverting") == ENOENT &&
	    faccessat(dir, "reverting", F_OK, 0) != 0)
		return (0);
	return (deadman_restore(dir, e));
}

int
net_deadman_open(struct net *n, struct net_deadman **out, struct co_error *e)
{
	struct net_deadman *d;

	if ((d = calloc(1, sizeof(*d))) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "dead-man switch"));
	d->tell = d->hear = -1;
	if ((d->dir = deadman_dirfd(n, &d->path, e)) < 0)
		goto err0;
	if ((d->lock = deadman_lock(d->dir, e)) < 0)
		goto err1;
	if (deadman_recover(d->dir, e) != 0)
		goto err2;
	(void)unlinkat(d->dir, "confirmed", 0);
	*out = d;
	return (0);
err2:
	close(d->lock);
err1:
	close(d->dir);
	free(d->path);
err0:
	free(d);
	return (-1);
}

int
net_deadman_pending(struct net *n, struct co_error *e)
{
	char *path;
	int dir, r;

	if ((dir = deadman_dirfd(n, &path, e)) < 0)
		return (-1);
	r = faccessat(dir, "armed", F_OK, 0) == 0 ||
	    faccessat(dir, "reverting", F_OK, 0) == 0;
	close(dir);
	free(path);
	return (r);
}

int
net_deadman_dir(const struct net_deadman *d)
{

	return (d->dir);
}

/*
 * Descriptors 3, 4 and 5 of the switch: the pipe that ends with us, the one
 * that ends with it, and the lock.
 */
static int
deadman_spawn(struct net_deadman *d, const struct net_conf *c, int hear,
    int tell, struct co_error *e)
{
	const int fd[3] = { hear, tell, d->lock };
	char ms[16];
	const char *args[] = { "deadman", d->path, ms, NULL };

	snprintf(ms, sizeof(ms), "%d", c->deadman_ms);
	return (net_spawn(c->helper, args, fd, 3, &d->pid, e));
}

/* Wait for its first byte: from then on it is watching. */
static int
deadman_wait(struct net_deadman *d, struct co_error *e)
{
	struct pollfd pfd = { .fd = d->hear, .events = POLLIN };
	char c = 0;

	if (poll(&pfd, 1, 10000) == 1 && read(d->hear, &c, 1) == 1 &&
	    c == 'a')
		return (0);
	return (co_error_set(e, CO_ENET_RULES, "dead-man switch",
	    "the dead-man switch did not start, so nothing was changed; check "
	    "that the helper program can be run"));
}

int
net_deadman_arm(struct net_deadman *d, const struct net_conf *c,
    struct co_error *e)
{
	int a[2], b[2];

	if (c->helper == NULL)
		return (co_error_set(e, CO_ESYS_CONFIG, "helper",
		    "no helper program is known, so a change could not be "
		    "taken back; nothing was changed"));
	if (pipe2(a, O_CLOEXEC) != 0)
		return (co_error_errno(e, errno, NULL, "dead-man switch"));
	if (pipe2(b, O_CLOEXEC) != 0) {
		co_error_errno(e, errno, NULL, "dead-man switch");
		goto err0;
	}
	if (co_file_replace(d->dir, "armed", "armed\n", 6, 0600, e) != 0 ||
	    deadman_spawn(d, c, a[0], b[1], e) != 0)
		goto err1;
	close(a[0]);
	close(b[1]);
	d->tell = a[1];
	d->hear = b[0];
	d->armed = true;
	net_point("deadman-spawned");
	return (deadman_wait(d, e));
err1:
	(void)unlinkat(d->dir, "armed", 0);
	close(b[0]);
	close(b[1]);
err0:
	close(a[0]);
	close(a[1]);
	return (-1);
}

static bool
deadman_alive(const struct net_deadman *d)
{
	struct pollfd pfd = { .fd = d->hear, .events = POLLIN };

	return (poll(&pfd, 1, 0) == 0);
}

static void
deadman_dismiss(struct net_deadman *d)
{

	if (d->tell >= 0)
		close(d->tell);
	d->tell = -1;
	if (d->pid > 0)
		while (waitpid(d->pid, NULL, 0) < 0 && errno == EINTR)
			;
	d->pid = 0;
	d->armed = false;
}

int
net_deadman_confirm(struct net_deadman *d, struct co_error *e)
{
	int err;

	if (!deadman_alive(d)) {
		co_error_set(e, CO_ENET_REVERTED, "dead-man switch",
		    "the dead-man switch died before the change was "
		    "confirmed, so it was taken back; try again");
		return (net_deadman_revert(d, e));
	}
	if ((err = deadman_win(d->dir, "confirmed")) != 0) {
		deadman_dismiss(d);
		return (co_error_set(e, CO_ENET_REVERTED, "dead-man switch",
		    "the change was not confirmed in time and was taken "
		    "back"));
	}
	net_point("deadman-confirmed");
	deadman_dismiss(d);
	(void)unlinkat(d->dir, "confirmed", 0);
	return (0);
}

int
net_deadman_revert(struct net_deadman *d, struct co_error *e)
{
	struct co_error why;

	if (e != NULL && e->code != CO_ENET_REVERTED) {
		why = *e;
		co_error_set(e, CO_ENET_REVERTED, why.what,
		    "%s; the previous state was put back", why.message);
	}
	/* Ours to revert, unless the switch has begun already. */
	if (deadman_win(d->dir, "reverting") == 0 &&
	    deadman_restore(d->dir, &why) != 0)
		co_error_set(e, CO_ENET_REVERTED, why.what,
		    "the change failed and could not be taken back: %.500s",
		    why.message);
	deadman_dismiss(d);
	return (-1);
}

void
net_deadman_close(struct net_deadman *d)
{

	if (d == NULL)
		return;
	if (d->armed)
		(void)net_deadman_revert(d, NULL);
	if (d->hear >= 0)
		close(d->hear);
	close(d->lock);
	close(d->dir);
	free(d->path);
	free(d);
}

/*
 * The switch itself.
 */
static volatile sig_atomic_t told;

static void
on_signal(int sig)
{

	(void)sig;
	told = 1;
}

static void
switch_signals(void)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = on_signal;
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Wait for the maker's end, a signal or the time, whichever comes first. */
static void
switch_wait(int ms)
{
	struct pollfd pfd = { .fd = 3, .events = POLLIN };
	co_moment until = co_after(ms);
	int r;

	for (;;) {
		r = poll(&pfd, 1, co_left(until));
		if (r >= 0 || told)
			return;
	}
}

int
net_deadman_main(int argc, char **argv)
{
	struct co_error e;
	int dir, ms;

	if (argc != 3 || (ms = atoi(argv[2])) <= 0)
		return (64);
	(void)setsid();
	switch_signals();
	if ((dir = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return (1);
	net_point("switch-opened");
	if (write(4, "a", 1) != 1)
		return (1);
	net_point("switch-watching");
	switch_wait(ms);
	net_point("switch-told");
	if (deadman_win(dir, "reverting") != 0)
		return (0);		/* confirmed */
	net_point("switch-won");
	return (deadman_restore(dir, &e) == 0 ? 0 : 1);
}
