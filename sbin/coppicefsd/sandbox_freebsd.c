/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * FreeBSD: another user, and capability mode, in which nothing can be named
 * that is not reached from an open descriptor.
 */

#include <sys/types.h>
#include <sys/capsicum.h>
#include <sys/mman.h>
#include <sys/procctl.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include "coppicefsd.h"

/* Standard error is for the log, the pipe for the keeper. */
static int
limit(int fd)
{
	cap_rights_t rights;

	(void)cap_rights_init(&rights, CAP_WRITE, CAP_FSTAT);
	return (cap_rights_limit(fd, &rights) == -1 && errno != ENOSYS ? -1 :
	    0);
}

static struct passwd *
user_of(const struct config *c, struct co_error *e)
{
	struct passwd *pw;

	if ((pw = getpwnam(c->user)) == NULL)
		(void)co_error_set(e, CO_ESYS_CONFIG, c->user,
		    "there is no such user");
	return (pw);
}

int
sandbox_as(const struct config *c, bool on, struct co_error *e)
{
	struct passwd *pw;

	if (c->user == NULL)
		return (0);
	if ((pw = user_of(c, e)) == NULL)
		return (-1);
	if (on ? setegid(pw->pw_gid) == -1 || seteuid(pw->pw_uid) == -1 :
	    seteuid(getuid()) == -1 || setegid(getgid()) == -1)
		return (co_error_errno(e, errno, c->user,
		    "cannot act as this user"));
	return (0);
}

int
sandbox_peer(int fd, uid_t *uid)
{
	gid_t gid;

	return (getpeereid(fd, uid, &gid));
}

int
sandbox_enter(struct server *s, struct co_error *e)
{
	struct passwd *pw;

	if (s->conf->user != NULL) {
		if ((pw = user_of(s->conf, e)) == NULL)
			return (-1);
		/* Only root can act as others, or make devices. */
		if (s->conf->share.identity == SHARE_CALLER ||
		    s->conf->share.devices)
			return (co_error_set(e, CO_ESYS_UNSUPPORTED,
			    s->conf->user, "-U can't be with -o caller or "
			    "devices on this system"));
		if (setgroups(0, NULL) == -1 ||
		    setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) == -1 ||
		    setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid) == -1)
			return (co_error_errno(e, errno, s->conf->user,
			    "cannot become this user"));
	}
	if (!s->conf->sandbox)
		return (0);
	if (limit(STDERR_FILENO) == -1 || limit(s->keeper) == -1 ||
	    (cap_enter() == -1 && errno != ENOSYS))
		return (co_error_errno(e, errno, NULL,
		    "cannot enter capability mode; -o nosandbox does "
		    "without"));
	return (0);
}

void
sandbox_orphan(pid_t parent)
{
	int sig = SIGKILL;

	(void)procctl(P_PID, 0, PROC_PDEATHSIG_CTL, &sig);
	if (getppid() != parent)
		(void)raise(SIGKILL);
}

int
sandbox_scratch(void)
{

	return (shm_open(SHM_ANON, O_RDWR, 0600));
}
